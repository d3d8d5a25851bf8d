"""What all commands that put something before a person have in common: how to ask, and to begin.

A command takes the options with `@asking_options` and gets them as one `way: Way`; it makes the
arguments of its flow and calls `begin`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from quandary import deeds
from quandary.cli import items as given
from quandary.cli import running
from quandary.cli.ages import later
from quandary.cli.options import store_option
from quandary.desk import sheets
from quandary.journal import replay
from quandary.journal.ids import find_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from quandary.journal.entries import Who
    from quandary.model.ask import Limits


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

    def limits(self, *, as_text: bool = False) -> Limits:
        """What fits into one Ask; text is read one question at a time."""
        limits = sheets.limits(self.host, self.header_max)
        if as_text or self.via == "text":
            limits = msgspec.structs.replace(limits, questions=1)
        return limits

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


def begin(
    way: Way,
    flow: str,
    arguments: Mapping[str, Any],
    documents: Mapping[str, Any] | None = None,
) -> int:
    """Begin a run, ask as far as it goes here, show where it stands, and give the exit status."""
    entries = running.script(way.answers) if way.answers else []
    here = way.via == "terminal"
    if here:
        running.require_terminal()
    store = running.opened(way.where, telling=False)  # what a script answers, nobody need know
    who: Who = "api" if way.answers else "agent"
    state = replay.begin(
        store,
        flow,
        {**arguments, "via": way.via, "host": way.host, "cwd": os.getcwd()},
        documents=documents,
        project=running.project(),
        who=who,
        through="command",
        expires=later(way.expires) if way.expires else None,
        origin=find_run(store, way.origin) if way.origin else None,
    )
    if state.deed is not None:
        do = deeds.of(store, state.run)
        state = replay.advance(store, state.run, who=who, through="command", deeds=do)
    if way.answers:
        state = running.with_answers(store, state, entries)
    if here:
        return running.ask_here(store, state, proof=way.proof)
    running.tell_of(store, state)
    return running.shown(store, state, proof=way.proof)
