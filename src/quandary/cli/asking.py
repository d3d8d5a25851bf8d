"""What all commands that put something before a person have in common: how to ask, and to begin.

A command takes the options with `@asking_options` and gets them as one `way: Way`; it makes the
arguments of its flow and calls `begin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.desk import begin as desk
from quandary.desk.authority import Caller
from quandary.desk.begin import Showing
from quandary.desk.reply import play_script
from quandary.formats import items as given

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.desk.begin import Beginning


class Way(NamedTuple):
    """How a run is asked, as the caller wants it."""

    via: str
    """`terminal`, `text` or `relay`."""
    host: str
    header_max: int | None
    pairs: tuple[str, ...]
    answers: str | None
    origin: str | None
    proof: bool
    expires: str | None
    where: str | None

    @property
    def showing(self) -> Showing:
        """How its questions are shown."""
        return Showing(self.via, self.host, self.header_max)

    @property
    def values(self) -> dict[str, str]:
        """What fills slots: the pairs of --set."""
        return given.settings(self.pairs)


_OPTIONS = (
    click.option("--expires", metavar="AGE", help="Withdraw it by itself after 30m, 12h, 2d …"),
    click.option(
        "--via",
        type=click.Choice(["terminal", "text", "relay"]),
        help="Ask here, print text to be shown, or print a form; by default here, if possible.",
    ),
    click.option(
        "--host", type=click.Choice(["claude", "codex"]), default="claude", show_default=True
    ),
    click.option(
        "--header-max", type=click.IntRange(min=1), help="The longest header the host shows."
    ),
    click.option("--set", "pairs", multiple=True, metavar="key=value", help="Fill a {slot}."),
    click.option(
        "--answers", metavar="FILE", help="A JSON list of replies, one for each Ask in turn."
    ),
    click.option(
        "--from", "origin", metavar="RUN", help="Take over the answers of that run that fit."
    ),
    click.option("--proof", is_flag=True, help="When done, print only what the proof asks for."),
    store_option,
)


def asking_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options of every command that asks; the command gets them as `way`."""

    def gathered(**options: Any) -> int:  # noqa: ANN401 - whatever click read
        way = Way(**{name: options.pop(name) for name in Way._fields})
        usual = "terminal" if running.is_terminal() and not way.answers else "relay"
        return command(**options, way=way._replace(via=way.via or usual))

    gathered.__name__, gathered.__doc__ = command.__name__, command.__doc__
    gathered.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]  # click's own
    wrapped: Callable[..., int] = gathered
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def begin(way: Way, beginning: Beginning) -> int:
    """Begin a run, ask as far as it goes here, show where it stands, and give the exit status."""
    entries = running.script(way.answers) if way.answers else []
    here = way.via == "terminal"
    if here:
        running.require_terminal()
    store = running.opened(way.where, telling=False)  # what a script answers, nobody need know
    caller = Caller("api" if way.answers else "agent", "command")
    expires, origin = way.expires or "", way.origin or ""
    state = desk.begin(store, caller, beginning, way.showing, expires=expires, origin=origin)
    if way.answers:
        state = play_script(store, running.SCRIPT, state, entries)
    if here:
        return running.ask_here(store, state, proof=way.proof)
    running.tell_of(store, state)
    return running.show(store, state, proof=way.proof)
