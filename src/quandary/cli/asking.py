"""Commands that ask a person, and what they have in common: how to ask, and to begin.

A command takes the options with `@asking_options` and gets them as one `way: Way`; it makes the
arguments of its flow and calls `begin`. A permit is asked for, and used, below `quandary permit`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click
import msgspec
from msgspec import UNSET

from quandary.cli import complain, console, is_terminal, put, read_pipe, tell
from quandary.cli.program import OneSource, store_option
from quandary.desk import begin as desk
from quandary.desk.attachments import take_files
from quandary.desk.authority import Caller, find_agent, shell_agent
from quandary.desk.notices import send_notice
from quandary.desk.reply import play_script
from quandary.errors import QuandaryError, Rejected
from quandary.formats import proof, sources, tracks
from quandary.journal import chance
from quandary.journal.entries import Asker
from quandary.model.text import printable, shorten
from quandary.settings import user_settings
from quandary.settings.agents import read_catalogue
from quandary.settings.files import read_input

if TYPE_CHECKING:
    from quandary.cli.program import Command
    from quandary.desk.permits import Rule
    from quandary.flows.split import Relation
    from quandary.journal.store import State, Store


class Way(NamedTuple):
    """How a run is asked, as the caller wants it."""

    via: str  # `terminal`, `text` or `relay`
    host: str
    header_max: int | None
    pairs: tuple[str, ...]
    answers: str | None
    origin: str | None
    require: str | None
    proof: bool
    expires: str | None
    by: str | None
    callback: str | None
    where: str | None
    attached: tuple[str, ...] = ()
    reuse: str = ""

    @property
    def showing(self) -> desk.Showing:
        """How its questions are shown."""
        return desk.Showing(self.via, self.host, self.header_max)

    @property
    def values(self) -> dict[str, str]:
        """What fills slots: the pairs of --set."""
        return sources.settings(self.pairs)


_HOSTS, _COUNT = click.Choice(["claude", "codex"]), click.IntRange(min=1)
_via_option = click.option(
    "--via",
    type=click.Choice(["terminal", "text", "relay"]),
    help="Ask here, print text to be shown, or print a form; by default here, if possible.",
)
_OPTIONS = (
    click.option("--expires", metavar="AGE", help="Withdraw the run after 30m, 12h, 2d …"),
    _via_option,
    click.option("--host", type=_HOSTS, default="claude", show_default=True),
    click.option("--header-max", type=_COUNT, help="The longest header the host shows."),
    click.option("--set", "pairs", multiple=True, metavar="key=value", help="Fill a {slot}."),
    click.option(
        "--answers", metavar="FILE", help="A JSON list of replies, one for each Ask in turn."
    ),
    click.option(
        "--from", "origin", metavar="RUN", help="Take over answers of that run, where they fit."
    ),
    click.option(
        "--require",
        type=click.Choice(["person"]),
        help="Only a person's own answer counts, at a terminal or in the browser.",
    ),
    click.option(
        "--attach",
        "attached",
        multiple=True,
        metavar="FILE",
        help="Show a file beside the question; may be repeated.",
    ),
    click.option("--proof", is_flag=True, help="When done, print only what the proof asks for."),
    click.option("--by", metavar="NAME", help="Who asks; it is shown beside the question."),
    click.option("--callback", metavar="URL", help="An address that is told what becomes of it."),
    store_option,
)


def asking_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options of every command that asks; the command gets them as `way`."""

    @wraps(command)
    def gathered(**options: Any) -> int:  # noqa: ANN401 - whatever click read
        way = Way(**{name: options.pop(name) for name in Way._fields if name in options})
        usual = "terminal" if not way.answers and console.is_person() else "relay"
        return command(**options, way=way._replace(via=way.via or usual))

    wrapped: Callable[..., int] = gathered
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def begin_run(store: Store, way: Way, beginning: desk.Beginning, through: str = "command") -> State:
    """Begin a run, which with a script is that of a program, and else of an agent."""
    caller = Caller("api" if way.answers else "agent", through, way.by or "")
    asker = Asker(host=shell_agent()[0].lower())
    url = way.callback or beginning.callback
    beginning = beginning._replace(callback=url, reuse=way.reuse, attached=take_files(way.attached))
    more = {"expires": way.expires or "", "origin": way.origin or ""}
    return desk.begin(store, caller, beginning, way.showing, asker=asker, **more)


def begin(way: Way, beginning: desk.Beginning) -> int:
    """Begin a run, ask as far as it goes here, show where it stands, and give the exit status."""
    entries, missed = console.read_script(way.answers) if way.answers else [], None
    here = way.via == "terminal"
    if here:
        console.require_terminal()
    store = console.open_journal(way.where, notify=False)  # what a script answers, nobody need know
    state = begin_run(store, way, beginning)
    if way.answers:
        state, missed = play_script(store, state, entries)
    state = console.have_replies_read(store, state)  # of a run that was taken over
    if here:
        return console.ask_here(store, state, proof=way.proof)
    row = store.run(state.run)
    if row is not None and state.ask is not None:
        send_notice(store, row, state.ask)  # nobody listened on the way there
    return console.show(store, state, proof=way.proof) or console.complain_of(missed, state)


def item_options(one: str, file: str) -> Callable[[Command], Command]:
    """`--item`, which may be repeated, and `--items`."""
    pattern = "'ID|Label|Title|Context'"
    listed = click.option("--item", "texts", multiple=True, metavar=pattern, help=one)
    filed = click.option("--items", "file", metavar="FILE", help=file)
    return lambda command: listed(filed(command))


def _rows(texts: tuple[str, ...], file: str | None) -> list[dict[str, Any]]:
    return sources.as_rows(sources.from_options(texts) + (sources.from_file(file) if file else []))


@click.command(
    cls=OneSource, epilog="Exit status: 0 waiting or done, 1 declined or failed, 2 wrong usage."
)
@click.argument("source")
@item_options("What to decide about; may be repeated.", "JSON list, JSON lines or CSV of items.")
@click.option("--context", metavar="TEXT", default="", help="What is decided and why. Required.")
@click.option("--question", metavar="TEXT", default="", help="The question; {slots} are filled.")
@click.option(
    "--extra",
    "extra_texts",
    multiple=True,
    metavar="'A: text'",
    help="A further way to answer; 'A? text' only to see something first.",
)
@click.option(
    "--kind",
    type=click.Choice(["transition", "advisory"]),
    help="Ask with a form, or with text that disturbs less.",
)
@click.option(
    "--advisor",
    metavar="CODENAME",
    help="The agent of yours that answers what the person asks back; else whoever asks does.",
)
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="'name: type = default'",
    help="A value to edit, which comes with the answer; may be repeated.",
)
@click.option(
    "--reuse",
    metavar="AGE",
    default="",
    help="Take a person's answer to the very same question, if not older than 30d, 12h …",
)
@asking_options
def ask_command(
    source: str,
    texts: tuple[str, ...],
    file: str | None,
    context: str,
    question: str,
    extra_texts: tuple[str, ...],
    kind: Literal["transition", "advisory"] | None,
    advisor: str | None,
    fields: tuple[str, ...],
    way: Way,
) -> int:
    """Ask a person about one or many items, with the tree that SOURCE names.

    On a terminal the person is asked right here. Elsewhere the state of the run is printed as JSON:
    show its `preamble` and `notes`, call your question tool with `tool_input`, pipe what the tool
    returns to `quandary reply RUN -`, and repeat until `status` is done. An advisory question has
    `text` in place of `tool_input`: show it, and pipe what the person writes. Every answer is kept.
    """
    wanted = desk.Asking(
        context,
        source,
        items=_rows(texts, file),
        question=question,
        extras=list(extra_texts),
        kind=kind or UNSET,
        values=way.values,
        fields=list(fields),
        require_person=bool(way.require),
    )
    if advisor:
        advisor = read_catalogue(user_settings().table("agents")).find(advisor).name
    if way.reuse and way.origin:
        raise click.UsageError("give --from or --reuse, not both")
    return begin(way, desk.decide(wanted, way.showing, advisor or ""))


@click.command(epilog="Exit status: 0 waiting or done, 1 declined or failed, 2 wrong usage.")
@click.argument("options", metavar="OPTIONS.json")
@click.option("--skill", metavar="NAME", default="", help="Who asks; question ids begin with it.")
@click.option(
    "--relation",
    type=click.Choice(["independent", "alternatives", "unsure"]),
    default="unsure",
    show_default=True,
    help="Whether each is decided by itself, or one of them is chosen.",
)
@click.option(
    "--number",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="The N of D<N>, where this is not the first decision.",
)
@click.option("--context", metavar="TEXT", default="", help="What is decided and why.")
@asking_options
def split_command(
    options: str, skill: str, relation: Relation, number: int, context: str, way: Way
) -> int:
    """Ask a person to include, defer or cut every option of a list.

    OPTIONS.json is a list of {"key", "title", "scope", "cost", "requires", "conflicts",
    "recommend", "because"}, of which key and title are needed; `-` reads it from standard input.
    Up to four options are asked about at once, more one by one, and none is ever left out. What
    the person chooses is checked against what the options require and rule out.
    """
    listed = sources.parse_options(read_input(options), options)
    rows = msgspec.json.decode(msgspec.json.encode(listed))
    wanted = desk.Splitting(rows, context, relation, skill, number, way.values, bool(way.require))
    return begin(way, desk.split(wanted, way.showing))


@click.command(epilog="Exit status: 0 waiting or done, 1 refused or not proven, 2 wrong usage.")
@click.argument("folder", metavar="DIR")
@click.option("--custom", metavar="'Label | Description'", help="Offer an action of your own.")
@item_options("What to review, in place of the files in DIR.", "The same from a file.")
@asking_options
def gate_command(
    folder: str, custom: str | None, texts: tuple[str, ...], file: str | None, way: Way
) -> int:
    """Ask a person whether the track in DIR may leave its current phase, and where to.

    Proof of the phase is a JSON object on standard input; on a terminal the person is asked for
    what is missing. The choice is carried out at once and kept in the track's history. Words that
    are none of the choices move nothing: the result hands them back.
    """
    rows = _rows(texts, file)
    shown = proof.read_proof("" if "-" in (file, way.answers) else read_pipe(tracks.LARGEST))
    if shown.lines:
        tell("note: proof as `key: value` lines is deprecated; send a JSON object")
    wanted = desk.Gating(folder, shown.values, custom or "", bool(way.require), rows, way.values)
    typed = shown.values if shown.lines else ()
    beginning = desk.gate(console.open_journal(way.where), wanted, way.showing, typed)
    for stuck in beginning.warnings:
        complain(stuck)
    return begin(way, beginning)


@click.group(subcommand_metavar="ask|use|try|rule")
def permit_command() -> None:
    """Have a person permit one exact action, and use that once.

    Only a person's own answer counts, at a terminal or in the browser. So a deploy script, a CI job
    or a gateway can insist on it: ask, wait with `quandary next RUN --wait`, then use.
    """


@permit_command.command(
    epilog="Exit status: 0 waiting or decided, 1 declined or failed, 2 wrong usage."
)
@click.option("--action", required=True, metavar="TEXT", help="What is to be done, in a line.")
@click.option("--input", "path", metavar="FILE|-", help="The exact input that is permitted.")
@click.option("--reason", metavar="TEXT", default="", help="Why it is to be done.")
@click.option("--expires", metavar="AGE", help="It can be answered and used for 30m, 12h, 2d …")
@_via_option
@click.option("--by", metavar="NAME", help="Who asks; it is shown beside the question.")
@store_option
def ask(
    action: str,
    path: str | None,
    reason: str,
    expires: str | None,
    via: str | None,
    by: str | None,
    where: str | None,
) -> int:
    """Ask a person whether an action may be done, with exactly that input.

    The state of the run is printed as JSON, as by `quandary ask`. When a person has allowed it, the
    run waits to be used. JSON is compared by what it says: spaces, the order of keys and the
    spelling of numbers do not count. Any other input is compared byte by byte.
    """
    wanted = desk.Permitting(action, read_input(path) if path else "", reason, by=by or "")
    via = via or ("terminal" if path != "-" and console.is_person() else "relay")
    asked = (via, "claude", None, (), None, None, None, False)
    way = Way(*asked, expires=expires, by=by, where=where, callback=None)
    return begin(way, desk.permit(wanted, way.showing))


@permit_command.command(
    epilog="Exit status: 0 used, 1 not allowed, used already, too late or another input, "
    "2 wrong usage."
)
@click.argument("run")
@click.option("--input", "path", metavar="FILE|-", help="The input, as it is going to be used.")
@store_option
def use(run: str, path: str | None, where: str | None) -> int:
    """Use what a person allowed: once, for exactly that input, within its time.

    Do what was permitted only if this succeeds.
    """
    from quandary.desk import permits  # noqa: PLC0415 - not where something is asked

    exact = read_input(path) if path else ""
    store, name = console.open_run(where, run)
    return console.show(store, permits.use(store, console.caller(), name, exact))


_since_option = click.option(
    "--since", default="30d", show_default=True, metavar="AGE", help="How far back to look."
)


@permit_command.command("try", epilog="Exit status: 0 tried, 2 no such rule.")
@click.argument("rule")
@_since_option
@store_option
def try_(rule: str, since: str, where: str | None) -> int:
    """Show what a rule would have decided, against the requests that were recorded.

    RULE is the name of one in your settings, or its text: allow Bash command='git status'.
    """
    from quandary.desk.permits import read_rule  # noqa: PLC0415 - not where something is asked
    from quandary.doors.hosts.permissions import user_permissions  # noqa: PLC0415 - the same

    saved = {one.name: one for one in user_permissions().rules}
    _try(saved.get(rule) or read_rule("tried", rule), since, where)
    return 0


def _try(rule: Rule, since: str, where: str | None) -> None:
    """One line for each request that it would have decided; those that differ are marked."""
    from quandary.desk.permits import try_rule  # noqa: PLC0415 - not where something is asked
    from quandary.desk.timeline import moment  # noqa: PLC0415 - the same

    store = console.view_journal(where)
    trials = list(try_rule(store, rule, chance.stamp(chance.now() - desk.age(since))))
    for one in trials:
        what = shorten(" ".join((one.request.command or one.request.path).split()), 80)
        mark = " " if one.was == one.would else "!"
        told = (mark, moment(one.run.began), one.would, f"(was {one.was})", one.request.tool, what)
        put(printable("  ".join(told)) + "\n")
    differ = sum(one.was != one.would for one in trials)
    tell(f"{len(trials)} requests would have been decided so, {differ} of them were not")


@permit_command.group(subcommand_metavar="add")
def rule() -> None:
    """Rules of yours that decide requests of hosts for permission, in your own settings."""


@rule.command(epilog="Exit status: 0 saved, 1 you said no, 2 not possible.")
@click.argument("name")
@click.argument("text", metavar="RULE")
@_since_option
@store_option
def add(name: str, text: str, since: str, where: str | None) -> int:
    """Save a rule, after it was tried and you have agreed to what it would have decided.

    Only a person can, at a terminal. What cannot be taken back is never allowed by a rule.
    """
    from quandary.desk.permits import read_rule, save_rule  # noqa: PLC0415 - not where it is asked
    from quandary.doors.hosts.permissions import user_permissions  # noqa: PLC0415 - the same

    if any(one.name == name for one in user_permissions().rules):
        raise QuandaryError(f"there is a rule {name} already; change it in your config.toml")
    found = read_rule(name, text)
    seen = find_agent() if is_terminal() else "there is no terminal"
    if seen:
        raise Rejected(f"only a person can save a rule, and {seen}")
    _try(found, since, where)
    if not click.confirm(f"Save the rule {name}?", default=False, err=True):
        tell("nothing was saved")
        return 1
    tell(f"saved in {save_rule(found, text)}")
    return 0
