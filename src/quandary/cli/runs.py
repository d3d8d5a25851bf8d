"""Commands about runs: next, advise, read, runs, log, decided, amend, withdraw."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from math import isnan
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec
from msgspec.structs import replace

from quandary.cli import console, is_terminal, paint, put, put_json, show_progress, tell, width
from quandary.cli.program import store_option
from quandary.desk import reply as desk
from quandary.desk import timeline
from quandary.desk.authority import Caller
from quandary.desk.decisions import find_decisions
from quandary.desk.state import encode_runs, end_what_expired, hand_over, outcome_lines
from quandary.desk.timeline import Event, moment
from quandary.errors import ParseError, QuandaryError, Rejected
from quandary.flows.decide import Decider, Terms
from quandary.formats import sources
from quandary.formats.drawings import cells
from quandary.journal import runs
from quandary.journal.archive import WHOSE, find
from quandary.journal.counts import occasions
from quandary.journal.entries import Status
from quandary.model.asks import Item, Outcome, Reading, question_from_options
from quandary.model.text import count, cut, one_line, printable, shorten
from quandary.settings.files import read_input, read_standard_input

if TYPE_CHECKING:
    from quandary.journal.history import GivenAnswer
    from quandary.journal.store import Run, State, Store


@click.command()
@click.argument("run")
@click.option(
    "--wait", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait that long for an answer."
)
@click.option("--via", type=click.Choice(["terminal", "relay"]), help="Ask here, or print JSON.")
@click.option("--proof", is_flag=True, help="When done, print only treeName and chosenItems.")
@store_option
def next_command(
    run: str, wait: float | None, via: str | None, proof: bool, where: str | None
) -> int:
    """Show what RUN waits for, or its result.

    On a terminal the question is asked right here. With --wait the command returns as soon as
    somebody answers, or when the time is up.
    """
    if wait is not None and isnan(wait):
        raise click.UsageError("--wait is a number of seconds")
    store, run = console.open_run(where, run)
    state = desk.finish(store, Caller("policy", "mending"), runs.look(store, run))
    state = console.have_replies_read(store, state)
    if wait is not None:
        state = runs.wait(store, run, state.n, wait)
    elif via == "terminal" or (via is None and not proof and console.is_person()):
        return console.ask_here(store, state, proof=proof)
    return console.show(store, hand_over(store, console.caller(), state), proof=proof)


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
    """Answer a follow-up question of the person who is deciding RUN.

    TEXT is shown above the question when it is asked again; each --option is offered as an extra.
    Advice never answers the question itself.
    """
    if not text.strip():
        raise click.UsageError("TEXT is empty; answer what the person asked")
    extras = tuple(sources.extras(offers, "--option") or ())
    store, run = console.open_run(where, run)
    return console.show(store, desk.advise(store, Caller("agent", "relay"), run, text, extras, to))


@click.command()
@click.argument("source", required=False)
@click.argument("text", required=False)
@click.option("--cases", metavar="FILE.jsonl", help="Read a set of cases; print JSON lines.")
@click.option(
    "--mode",
    type=click.Choice(["strict", "plain"]),
    help="As in a form, or as text; else as a run of the tree reads it, and cases as text.",
)
def read_command(source: str | None, text: str | None, cases: str | None, mode: str | None) -> int:
    """Show how TEXT would be read as a reply to the first question of the tree SOURCE."""
    if cases and (source or text):
        raise click.UsageError("--cases goes without SOURCE and TEXT")
    if cases:
        for number, line in enumerate(read_input(cases).removeprefix("\ufeff").split("\n"), 1):
            if line.strip():
                put_json(_read_case(line, mode or "plain", f"{cases}:{number}"))
        return 0
    if source is None or text is None:
        raise click.UsageError("give SOURCE and TEXT, or --cases FILE.jsonl")
    tree, others = sources.load_with_others(source)
    name = tree.decisions[0].name if tree.decisions else tree.name
    decider = Decider(Terms(tree, name, trees=tuple(others)))
    question = decider.question(decider.level(Item("1", name, name)))
    usual = "plain" if decider.kind == "advisory" else "strict"
    put_json(_describe(desk.read_text(text, question, mode or usual)))
    return 0


def _describe(reading: Reading) -> dict[str, Any]:
    """The reading as the contract has it: kinds that only a run knows count as prefix or words."""
    known: dict[str, str] = {"extra": "prefix", "tree": "prefix", "blank": "own-words"}
    kind = known.get(reading.kind, reading.kind)
    codes = [code.rpartition("/")[2] for code in reading.codes]
    matched = "Other" if reading.kind == "blank" else reading.matched
    said = {"kind": kind, "codes": codes, "matched": matched}
    said |= {"comment": reading.comment} if reading.comment else {}
    if reading.prefix:
        said |= {"prefix": reading.prefix, "argument": reading.argument}
    return said


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


def _read_case(line: str, mode: str, place: str) -> dict[str, Any]:
    try:
        case = msgspec.json.decode(line, type=_Case)
    except msgspec.DecodeError as error:
        raise ParseError(f"{place}: not a case ({error})") from None
    options = [msgspec.to_builtins(option) for option in case.options]
    question = question_from_options(case.question or "", options, bool(case.multi))
    return {"id": case.id, **_describe(desk.read_text(case.reply, question, case.mode or mode))}


@click.command()
@click.option(
    "--status",
    type=click.Choice(["waiting", "done", "failed", "declined", "withdrawn"]),
    help="List only runs with this status.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--all", "everywhere", is_flag=True, help="Include every project, not only this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True)
@store_option
def runs_command(
    status: str | None, form: str, everywhere: bool, limit: int, where: str | None
) -> int:
    """List runs, the newest first."""
    store = console.view_journal(where)
    end_what_expired(store)
    project = None if everywhere else console.current_project()
    chosen: Status | None = msgspec.convert(status, Status | None)
    rows = store.runs(status=chosen, project=project, limit=limit, newest=True)
    if form == "json":
        put(encode_runs(store, rows) + b"\n")
        return 0
    names = [_project_name(row) for row in rows] if everywhere else []
    longest = min(max(map(len, names), default=0), _NARROWEST)
    began = timeline.origins(store, [row.id for row in rows])
    put("".join(_run_line(row, *began[row.id][:2], longest) for row in rows))
    if not rows:
        tell(_no_runs(store, chosen, elsewhere=not everywhere))
    return 0


def _no_runs(store: Store, status: Status | None = None, *, elsewhere: bool) -> str:
    """What is said where nothing is listed: how much there is in other projects."""
    if elsewhere and (others := store.count_runs(status)):
        kind = f"{status} run" if status else "run"
        return f"no {kind}s here; {count(others, kind)} elsewhere: --all lists them"
    return f"no {status} runs" if status else "no runs here yet; `quandary ask` begins one"


_NARROWEST = 16  # columns that what a run is about needs at least, and its project at most


def _run_line(row: Run, what: str, by: str, longest: int) -> str:
    """A run on one line; a narrow screen shows neither when nor where, but always what it is."""
    columns = [row.id, f"{row.status:9}", timeline.local_moment(row.since)]
    if longest:
        columns.append(f"{shorten(_project_name(row), longest):{longest}}")
    told = one_line(what if by in (*timeline.WHO.values(), "") else f"{what} — {by}")
    if sys.stdout.isatty():
        while len(columns) > 2 and len("  ".join(columns)) + 2 + _NARROWEST > width():
            del columns[2]
        room = length = max(width() - len("  ".join(columns)) - 2, 1)
        while length and cells(shorten(told, length)) > room:
            length -= 1
        told = shorten(told, length)
    columns[1] = paint(columns[1], bold=row.status == "waiting")
    return "  ".join([*columns, told]).rstrip() + "\n"


def _project_name(row: Run) -> str:
    return printable(os.path.basename(row.project)) or "-"


@click.command()
@click.argument("run")
@click.argument("text", required=False)
@click.option("--to", metavar="KEY", help="The question whose answer is to change.")
@click.option("--why", metavar="TEXT", help="The reason; it is recorded.")
@click.option("--by", metavar="NAME", help="Who changes it.")
@store_option
def amend_command(
    run: str, text: str | None, to: str | None, why: str | None, by: str | None, where: str | None
) -> int:
    """Change an answer of RUN. The old one is kept, and everything after it is asked again.

    On a terminal you choose the question and answer it anew. Elsewhere give --to, --why and the
    new answer as TEXT; `-` reads it from standard input. `quandary log RUN` shows the KEY before
    each question.
    """
    store, run = console.open_run(where, run)
    person = console.is_person()
    if not (answers := timeline.given_answers(store, run)):
        raise Rejected(f"run {run} has no answer yet that could be changed")
    if not person and (to is None or why is None or text is None):
        keys = ", ".join(found.question.key for found in answers)
        raise click.UsageError(f"give --to KEY ({keys}), --why TEXT and the new answer as TEXT")
    found = _choose_answer(answers, run, to)
    why = why or click.prompt("Why", err=True)
    desk.require_reason(why)  # before anybody answers
    if text is None:
        from quandary.doors import terminal  # noqa: PLC0415 - only where a person is

        # Without those that it was asked together with: their answers stand.
        alone = replace(found.ask, key=found.question.key, questions=(found.question,), notes=())
        reply = terminal.ask(alone)
    else:
        text = read_standard_input() if text == "-" else text
        reply = desk.read_reply(desk.arguments_of(store, run), found.ask, text, found.question.key)
    if isinstance(reply, Outcome):
        raise Rejected("that is no answer; nothing was changed")
    state = desk.amend(store, console.caller(by), run, reply, key=found.question.key, why=why)
    return console.ask_here(store, state) if person else console.show(store, state)


def _choose_answer(answers: list[GivenAnswer], run: str, to: str | None) -> GivenAnswer:
    """The answer that is to change: of the question that was named, or of one from a list."""
    if to is None:
        for number, found in enumerate(answers, 1):
            said = timeline.answer_text(found.answer, found.question)
            tell(f"{number}. {found.question.text} → {said}")
        number = click.prompt("Which one", type=click.IntRange(1, len(answers)), err=True)
        return answers[number - 1]
    known = {found.question.key: found for found in answers}
    if to not in known:
        keys = ", ".join(known)
        raise QuandaryError(f"run {run} has no answer to {to} that counts; there are {keys}")
    return known[to]


@click.command()
@click.argument("run")
@click.option("--by", metavar="NAME", help="Who takes it back.")
@store_option
def undo_command(run: str, by: str | None, where: str | None) -> int:
    """Take back the last answer in RUN: its question waits again.

    It is refused once something followed from the answer, or whoever asked has it; then `quandary
    amend` changes it, with a reason.
    """
    store, run = console.open_run(where, run)
    state = desk.undo(store, console.caller(by), run)
    return console.ask_here(store, state) if console.is_person() else console.show(store, state)


@click.command()
@click.argument("run")
@click.option("--why", required=True, metavar="TEXT", help="The reason; it is recorded.")
@store_option
def withdraw_command(run: str, why: str, where: str | None) -> int:
    """End RUN while it waits. Nothing is decided, and the journal records why."""
    store, run = console.open_run(where, run)
    state = desk.withdraw(store, console.caller(), run, why)
    if not is_terminal():
        console.show(store, state)
    tell(f"withdrew {run}")
    return 0


_MEANING = re.compile(r"[\\`*<\[\]]")  # what means something in Markdown without a backslash
LONGEST = 2_000  # as much of an entry as anybody reads in a timeline
_COLOURS = {"asked": "cyan", "answered": "green", "ended": "magenta", "noted": "yellow"}


@click.command()
@click.argument("run", required=False)
@click.option("--questions", is_flag=True, help="Show each question and its answer on one line.")
@click.option("--grep", "words", metavar="WORDS", help="Show only what has all these words.")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text")
@click.option("--all", "everywhere", is_flag=True, help="Include every project, not only this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True)
@store_option
def log_command(
    run: str | None,
    questions: bool,
    words: str | None,
    form: str,
    everywhere: bool,
    limit: int,
    where: str | None,
) -> int:
    """Show what happened to RUN, or to the newest runs of this project.

    With --format markdown the log of a run is a decision record, ready for a pull request.
    """
    store = console.view_journal(where)
    end_what_expired(store)
    imported = False
    if run is not None:
        here, (store, run) = store, find(store, run)
        if imported := store is not here:
            tell(f"note: run {run} was imported; {WHOSE}")
    project = None if everywhere or run is not None else console.current_project()
    if questions:
        return show_questions(store, form, run=run, project=project, words=words or "", limit=limit)
    if run is not None:
        chosen = [run]
    elif words:
        with show_progress() as watch:
            chosen = timeline.search(store, words, project, limit, watch)
    else:
        chosen = [row.id for row in store.runs(project=project, limit=limit, newest=True)]
    wanted, logs = timeline.words_in(words or ""), list[tuple[str, list[Event]]]()
    for name in chosen:  # its entries with all the words; for a record all, if one has them
        every = list(timeline.events_with_words(store, name))
        if found := [e for e, said in every if all(word in said.casefold() for word in wanted)]:
            logs.append((name, [e for e, _ in every] if form == "markdown" else found))
    if form == "json":
        origin = {"imported": True} if imported else {}
        put_json({"runs": [{"run": name, **origin, "entries": found} for name, found in logs]})
    elif form == "markdown":
        put("\n".join(record(store, name, found, imported=imported) for name, found in logs))
    else:
        put("\n".join(_timeline(name, found) for name, found in logs))
    said = f"the newest {limit} runs; --limit shows more" if len(chosen) == limit else ""
    if not logs:
        said = "nothing found" if words else _no_runs(store, elsewhere=not everywhere)
    tell(said) if said else None
    return 0


@click.command()
@click.argument("words", nargs=-1)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True)
@store_option
def decided_command(words: tuple[str, ...], form: str, limit: int, where: str | None) -> int:
    """List what was decided in this project, the newest first, with who and when.

    With WORDS, only decisions that have all of them. What was decided again or amended since is
    marked as superseded.
    """
    store = console.view_journal(where)
    with show_progress() as watch:
        project = console.current_project()
        found = find_decisions(store, project, " ".join(words), limit=limit, watch=watch)
    if form == "json":
        put_json({"decisions": found})
        return 0
    for one in found:
        again = "amended" if one.superseded == one.run else f"superseded by {one.superseded}"
        text = f"{one.question} → {one.answer} — {one.source}"
        text = f"{text} ({again})" if one.superseded else text
        put(f"{moment(one.at)}  {one.run}  {one_line(text)}\n")
    if not found:
        tell("nothing found" if words else "nothing was decided here yet")
    return 0


def _timeline(run: str, found: list[Event]) -> str:
    lines = [f"run {run}"]
    for event in found:
        number = f"{event.n:>4}  {moment(event.at, seconds=True):20}  "
        kind = f"{event.kind:8}"
        shown = paint(kind, fg=_COLOURS.get(event.kind))
        text = one_line(event.text)
        if len(text) > LONGEST:
            text = f"{cut(text, LONGEST)}… ({len(text)} characters; --format json has them all)"
        who = printable(event.source)
        text, indent = f"{text}  — {who}" if who else text, len(number) + len(kind) + 2
        if sys.stdout.isatty():  # in a pipe, an entry is one line
            rows = wrap(text, max(width() - indent, 30), break_on_hyphens=False)
            text = ("\n" + " " * indent).join(rows)
        lines.append(f"{number}{shown}  {text}")
    return "\n".join(lines) + "\n"


def record(store: Store, run: str, found: list[Event], *, imported: bool = False) -> str:
    """The record of one run, ready for a pull request."""
    state = runs.look(store, run)
    beginning = next((event for event in found if event.kind == "began"), None)
    name, _, context = (beginning.text if beginning else run).partition(": ")
    lines = [f"## Decision record: {_plain(name)}", ""]
    lines += [f"> {printable(line)}".rstrip() for line in context.strip().splitlines()]
    lines += ["", *_outcome(state, found), "", "How it came about:", ""]
    for event in found:
        if event.kind == "asked":
            lines.append(f"- {_plain(event.text)}")
        elif event.kind in ("answered", "noted"):
            who = f"{_plain(event.source)}, {moment(event.at)}"
            lines.append(f"  - {_plain(event.text)} *{who}*")
    lines += ["", f"This run was imported; {WHOSE}."] if imported else []
    lines += ["", f"Run `{run}`; `quandary verify {run}` checks that nothing in it was changed."]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _outcome(state: State, found: list[Event]) -> Iterator[str]:
    if state.status != "done":
        why = f": {_plain(state.error)}" if state.error else ""
        yield f"**{state.status.capitalize()}**{why}"
        return
    ended = [event for event in found if event.kind == "ended"]
    yield f"Decided on {moment(ended[-1].at)}:" if ended else "Decided:"
    yield ""
    result = state.result if isinstance(state.result, dict) else {}
    chosen = result.get("chosenItems")
    if isinstance(chosen, list):
        yield from map(_item_line, chosen)
    else:
        yield from (f"- {_plain(line)}" for line in outcome_lines(state.flow, result))


def _item_line(entry: dict[str, Any]) -> str:
    """One item: what was chosen for it, the path that the caller gets, and the comment."""
    name = f"{entry['item']} ({entry['decision']})" if "decision" in entry else entry["item"]
    labels = _plain(", ".join(entry.get("labels", [])))
    comment = f", “{_plain(entry['comment'])}”" if entry.get("comment") else ""
    path = printable(entry["path"]).replace("`", "'")
    return f"- {_plain(name)}: **{labels}** (`{path}`){comment}"


def _plain(text: str) -> str:
    """A text on one line, with nothing in it that Markdown would take for its own."""
    return _MEANING.sub(r"\\\g<0>", one_line(text))


def show_questions(
    store: Store, form: str, *, run: str | None, project: str | None, words: str, limit: int
) -> int:
    """Print the newest questions of a project or of a run, those that have all the words."""
    found = [one for one in occasions(store, project) if run in (None, one.run)]
    for word in words.casefold().split():
        found = [o for o in found if word in f"{o.id} {o.text} {' '.join(o.answer)}".casefold()]
    found = sorted(found, key=lambda occasion: occasion.asked, reverse=True)[:limit]
    if form == "json":
        rows = [{**o._asdict(), "seconds": o.seconds, "followed": o.followed} for o in found]
        put_json({"questions": rows})
    else:
        mark = "- " if form == "markdown" else ""
        advice = {True: ", as recommended", False: ", not as recommended", None: ""}
        for one in found:
            answer = printable("; ".join(one.answer)) or "(blank)"
            outcome = f"{answer}{advice[one.followed]} — {one.who} ({one.through})"
            outcome = outcome if one.answered else "not answered"
            told = f"{one.id or one.key}  {one_line(one.text)} → {outcome}"
            put(f"{mark}{moment(one.asked)}  {told}\n")
    if not found:
        tell("no questions found")
    return 0
