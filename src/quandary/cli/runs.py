"""What the commands about runs have in common: the store, the caller, and showing a state."""

from __future__ import annotations

import os
import sys
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec
from msgspec.structs import replace

from quandary.cli.screen import coloured, complain, put, store_option, tell, width
from quandary.desk import notices
from quandary.desk import reply as desk
from quandary.desk import state as states
from quandary.desk.ages import end_what_expired
from quandary.desk.authority import Caller
from quandary.desk.reply import finish
from quandary.desk.state import encode_runs
from quandary.desk.timeline import about, answer_text, moment, standing
from quandary.errors import ParseError, QuandaryError, Rejected
from quandary.flows.decide import Decider, Terms
from quandary.formats import items as given
from quandary.formats.sources import load
from quandary.journal import runs
from quandary.journal.entries import Status
from quandary.journal.runs import find_run
from quandary.journal.store import NoStore, open_store
from quandary.model.asks import Item, Outcome, Reply
from quandary.model.text import printable
from quandary.reading import question_from_options
from quandary.reading import read as reader
from quandary.settings import project_of
from quandary.settings.files import read_input

if TYPE_CHECKING:
    from quandary.journal.history import GivenAnswer
    from quandary.journal.store import Run, State, Store
    from quandary.model.asks import Ask, Question, Reading

PERSON = Caller("person", "terminal")
SCRIPT = Caller("api", "answers")


def opened(where: str | None, *, existing: bool = False, telling: bool = True) -> Store:
    """The store that is meant; one that is only looked at is not made.

    As `[notify]` says, people are told of questions that begin to wait in it.
    """
    store = open_store(where, create=not existing)
    if telling:
        notices.watch_store(store)
    return store


def looked_at(where: str | None) -> Store:
    """The store for whoever only wants to see what there is; where there is none, an empty one."""
    try:
        return open_store(where, create=False)
    except NoStore:
        from quandary.journal.sqlite import MEMORY, SqliteStore  # noqa: PLC0415 - rarely needed

        return SqliteStore(MEMORY)


def tell_of(store: Store, state: State) -> None:
    """Have people told of what a run waits for, where nobody listened on the way there."""
    row = store.run(state.run)
    if row is not None and state.ask is not None:
        notices.send_notice(row, state.ask)


def current_project() -> str:
    """The project at hand."""
    return project_of(os.curdir)


def caller(by: str | None = None) -> Caller:
    """Whoever gives a command: the person at the terminal, or an agent that runs it."""
    who = PERSON if is_terminal() else Caller("agent", "command")
    return who._replace(by=by or "")


def script(path: str) -> list[Any]:
    """The replies of a script, one for each Ask in turn."""
    from quandary.settings.files import read_input  # noqa: PLC0415 - for scripts

    try:
        entries = msgspec.json.decode(read_input(path))
    except msgspec.DecodeError as error:
        raise QuandaryError(f"{path}: not JSON ({error})") from None
    if not isinstance(entries, list):
        raise QuandaryError(f"{path}: expected a JSON list with one reply for each Ask")
    return entries


# -- showing a state -----------------------------------------------------------------------------


def show(store: Store, state: State, *, proof: bool = False) -> int:
    """Print the state of a run as its caller wanted it, and give the exit status."""
    if proof and state.status == "done":
        put(msgspec.json.encode(states.proof_of(state.flow, state.result)) + b"\n")
    else:
        put(states.encode_state(store, state) + b"\n")
    return states.exit_status(state)


def show_outcome(state: State) -> int:
    """The outcome of a run for the person at the terminal."""
    for note in (*state.notes, *states.next_notes(state)):
        tell(note.text)
    if state.status == "done":
        for line in states.outcome_lines(state.flow, state.result):
            tell(line)
    elif state.status != "waiting":
        complain(f"run {state.run} is {state.status}: {state.error or 'nothing was decided'}")
    return states.exit_status(state)


# -- asking here ---------------------------------------------------------------------------------


def ask_here(store: Store, state: State, *, proof: bool = False) -> int:
    """Ask the person who sits here until nothing waits any more, or they leave; tell the outcome.

    Whoever leaves has not answered, and the exit status says so.
    """
    while state.ask is not None:
        before = state
        state = ask_once(store, state)
        if state.status == "waiting" and state.key == before.key:
            return 1
    if proof or not sys.stdout.isatty():
        return show(store, state, proof=proof)
    return show_outcome(state)


def ask_once(store: Store, state: State) -> State:
    """Ask the person who sits here what waits; where they leave, it still does."""
    from quandary.desk.drafts import INTERRUPTED  # noqa: PLC0415 - the same
    from quandary.doors import terminal  # noqa: PLC0415 - only where a person is

    assert state.ask is not None  # noqa: S101 - nobody calls it otherwise
    reply = terminal.ask(state.ask)
    if isinstance(reply, Reply):
        return desk.record_reply(store, PERSON, state.run, reply, to=state.key)
    state = runs.note(store, state.run, reply, to=state.key, **PERSON.source)
    if state.status == "waiting":
        tell(f"The question waits. Answer it with: quandary next {state.run}")
        if reply.detail == INTERRUPTED:
            raise KeyboardInterrupt
    return state


def is_terminal() -> bool:
    """Whether a person can be asked right here."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def is_pipe() -> bool:
    """Whether nobody is near: neither keys nor a screen."""
    return not is_terminal() and not sys.stderr.isatty()


def require_terminal() -> None:
    """Refuse to ask where nobody can be asked, before anything is begun."""
    from quandary.doors import terminal  # noqa: PLC0415 - only where a person is

    if not terminal.available():
        raise QuandaryError(terminal.NO_TERMINAL)


@click.command()
@click.argument("run")
@click.option(
    "--wait",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Wait that long for something to happen.",
)
@click.option("--via", type=click.Choice(["terminal", "relay"]), help="Ask here, or print JSON.")
@click.option("--proof", is_flag=True, help="When done, print only treeName and chosenItems.")
@store_option
def next_command(
    run: str, seconds: float | None, via: str | None, proof: bool, where: str | None
) -> int:
    """Say what RUN waits for, or what came of it.

    On a terminal the question is asked right here. With --wait the command returns as soon as
    somebody answers, or when the time is up.
    """
    if seconds is not None and isnan(seconds):
        raise click.UsageError("--wait is a number of seconds")
    store = opened(where, existing=True)
    run = find_run(store, run)
    state = finish(store, Caller("policy", "mending"), runs.look(store, run))
    if seconds is not None:
        state = runs.wait(store, run, state.n, seconds)
    elif via == "terminal" or (via is None and is_terminal() and not proof):
        return ask_here(store, state, proof=proof)
    return show(store, state, proof=proof)


@click.command()
@click.argument("run")
@click.argument("text")
@click.option(
    "--option", "offers", multiple=True, metavar="'A: text'", help="Offer it as an extra."
)
@click.option("--to", metavar="KEY", help="The key of the question that the advice is about.")
@store_option
def advise_command(
    run: str, text: str, offers: tuple[str, ...], to: str | None, where: str | None
) -> int:
    """Tell the person who is deciding RUN what they wanted to know.

    TEXT stands above the question when it comes again; each --option joins it as an extra. Advice
    is never an answer.
    """
    if not text.strip():
        raise click.UsageError("TEXT is empty; say what the person wanted to know")
    extras = tuple(given.extras(offers, "--option") or ())
    store = opened(where, existing=True)
    run = find_run(store, run)
    state = desk.advise(store, Caller("agent", "relay"), run, text, extras, to)
    return show(store, state)


@click.command()
@click.argument("source", required=False)
@click.argument("text", required=False)
@click.option("--cases", metavar="FILE.jsonl", help="Read a whole set; JSON lines out.")
@click.option("--mode", type=click.Choice(["strict", "plain"]), default="plain", show_default=True)
def read_command(source: str | None, text: str | None, cases: str | None, mode: str) -> int:
    """Say how TEXT would be read as a reply to the first question of the tree SOURCE."""
    if cases:
        if source or text:
            raise click.UsageError("--cases goes without SOURCE and TEXT")
        _read_cases(cases, mode)
        return 0
    if source is None or text is None:
        raise click.UsageError("give SOURCE and TEXT, or --cases FILE.jsonl")
    put(_line(_read(text, _question(source), mode)))
    return 0


def _question(source: str) -> Question:
    tree = load(source)
    name = tree.decisions[0].name if tree.decisions else tree.name
    decider = Decider(Terms(tree, name))
    return decider.question(decider.level(Item("1", name, name)))


def _read(text: str, question: Question, mode: str) -> Reading:
    return reader(text, question, "strict" if mode == "strict" else "plain")


def _line(reading: Reading, **more: Any) -> bytes:  # noqa: ANN401 - a case's id may be anything
    """The reading as the contract has it: kinds that only a run knows count as prefix or words."""
    kind = {"extra": "prefix", "tree": "prefix", "blank": "own-words"}.get(
        reading.kind, reading.kind
    )
    codes = [code.rpartition("/")[2] for code in reading.codes]
    matched = "Other" if reading.kind == "blank" else reading.matched
    said = {**more, "kind": kind, "codes": codes, "matched": matched}
    if reading.comment:
        said["comment"] = reading.comment
    if reading.prefix:
        said |= {"prefix": reading.prefix, "argument": reading.argument}
    return msgspec.json.encode(said) + b"\n"


def _read_cases(path: str, mode: str) -> None:
    text = read_input(path)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            case = _case(line, f"{path}:{number}")
            options = [msgspec.to_builtins(option) for option in case.options]
            question = question_from_options(case.question or "", options, bool(case.multi))
            put(_line(_read(case.reply, question, case.mode or mode), id=case.id))


class _Case(msgspec.Struct):
    """A reply to a question; further fields, such as what is expected, are none of our business."""

    reply: str
    options: list[_Option]
    question: str | None = None
    multi: bool | None = None
    mode: Literal["strict", "plain"] | None = None
    id: Any = None


class _Option(msgspec.Struct):
    code: str | None = None
    label: str | None = None
    description: str | None = None


def _case(line: str, place: str) -> _Case:
    try:
        return msgspec.json.decode(line, type=_Case)
    except msgspec.DecodeError as error:
        raise ParseError(f"{place}: not a case ({error})") from None


@click.command()
@click.option(
    "--status",
    type=click.Choice(["waiting", "done", "failed", "declined", "withdrawn"]),
    help="Only those.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not only of this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True)
@store_option
def runs_command(
    status: str | None, form: str, everywhere: bool, limit: int, where: str | None
) -> int:
    """List runs, the newest first."""
    store = looked_at(where)
    end_what_expired(store)
    project = None if everywhere else current_project()
    chosen: Status | None = msgspec.convert(status, Status | None)
    rows = store.runs(status=chosen, project=project, limit=limit, newest=True)
    if form == "json":
        put(encode_runs(store, rows) + b"\n")
        return 0
    for row in rows:
        put(_runs_line(row, about(store, row.id)))
    if not rows:
        tell("no runs here yet; `quandary ask` begins one")
    return 0


def _runs_line(row: Run, what: str) -> str:
    """A run on one line, which on a screen ends where the screen does."""
    state = f"{row.status:9}"
    since = moment(row.since)
    room = width() - len(row.id) - len(state) - len(since) - 6
    told = " ".join(printable(what).split())
    if len(told) > room and sys.stdout.isatty():
        told = f"{told[: max(room - 1, 0)]}…"
    shown = click.style(state, bold=row.status == "waiting") if coloured() else state
    return f"{row.id}  {shown}  {since}  {told}".rstrip() + "\n"


@click.command()
@click.argument("run")
@click.argument("text", required=False)
@click.option("--to", metavar="KEY", help="The question whose answer is to change.")
@click.option("--why", metavar="TEXT", help="The reason; it is kept.")
@click.option("--by", metavar="NAME", help="Who changes it.")
@store_option
def amend_command(
    run: str, text: str | None, to: str | None, why: str | None, by: str | None, where: str | None
) -> int:
    """Change an answer of RUN. The old one is kept, and everything after it is asked again.

    On a terminal you choose the question and answer it anew. Elsewhere give --to, --why and the
    new answer as TEXT. `quandary log RUN` shows the KEY before each question.
    """
    if why is not None and not why.strip():
        raise click.UsageError("--why needs a reason")
    store = opened(where, existing=True)
    run = find_run(store, run)
    person = is_terminal()
    answers = standing(store, run)
    if not answers:
        raise Rejected(f"run {run} has no answer yet that could be changed")
    if not person and (to is None or why is None or text is None):
        keys = ", ".join(found.question.key for found in answers)
        raise click.UsageError(f"give --to KEY ({keys}), --why TEXT and the new answer as TEXT")
    found = _chosen(answers, run, to)
    why = why or click.prompt("Why", err=True)
    if text is None:
        from quandary.doors import terminal  # noqa: PLC0415 - only where a person is

        reply = terminal.ask(_alone(found))
    else:
        reply = desk.read_reply(store, run, found.ask, text, found.question.key)
    if isinstance(reply, Outcome):
        raise Rejected("that is no answer; nothing was changed")
    key = found.question.key
    state = desk.amend(store, caller(by), run, reply, key=key, why=why)
    if person:
        return ask_here(store, state)
    return show(store, state)


def _chosen(answers: list[GivenAnswer], run: str, to: str | None) -> GivenAnswer:
    """The answer that is to change: of the question that was named, or of one from a list."""
    if to is None:
        for number, found in enumerate(answers, 1):
            tell(f"{number}. {found.question.text} → {answer_text(found.answer, found.question)}")
        number = click.prompt("Which one", type=click.IntRange(1, len(answers)), err=True)
        return answers[number - 1]
    for found in answers:
        if found.question.key == to:
            return found
    keys = ", ".join(found.question.key for found in answers)
    raise QuandaryError(f"run {run} has no answer to {to} that counts; there are {keys}")


def _alone(found: GivenAnswer) -> Ask:
    """The question without those that it was asked together with; their answers stand."""
    return replace(found.ask, key=found.question.key, questions=(found.question,), notes=())


@click.command()
@click.argument("run")
@click.option("--why", required=True, metavar="TEXT", help="The reason; it is kept.")
@store_option
def withdraw_command(run: str, why: str, where: str | None) -> int:
    """End RUN while it waits. Nothing was decided, and the journal says why."""
    if not why.strip():
        raise click.UsageError("--why needs a reason")
    store = opened(where, existing=True)
    run = find_run(store, run)
    state = desk.withdraw(store, caller(), run, why)
    if not is_terminal():
        show(store, state)
    tell(f"withdrew {run}")
    return 0
