"""`quandary log`: what was asked and answered, as a timeline, a record, or question by question."""

from __future__ import annotations

import re
import sys
from itertools import islice
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click
import msgspec

from quandary.cli import console
from quandary.cli.program import store_option
from quandary.cli.screen import coloured, put, tell, width
from quandary.desk.state import end_what_expired, outcome_lines
from quandary.desk.timeline import Event, events_with_words, moment
from quandary.journal import runs
from quandary.journal.archive import find
from quandary.journal.counts import occasions
from quandary.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.counts import Occasion
    from quandary.journal.store import State, Store

_MEANING = re.compile(r"[\\`*<\[\]]")
"""What would mean something in Markdown, were it not for the backslash before it."""
LONGEST = 2_000
"""As much of an entry as anybody reads in a timeline."""
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
    if run is not None:
        store, run = find(store, run)
    project = None if everywhere or run is not None else console.current_project()
    if questions:
        return show_questions(store, form, run=run, project=project, words=words or "", limit=limit)
    size = 10_000 if words else limit
    rows = store.runs(project=project, limit=size, newest=True) if run is None else ()
    chosen = [row.id for row in rows] if run is None else [run]
    each = ((name, _matching(store, name, words, whole=form == "markdown")) for name in chosen)
    logs = list(islice((pair for pair in each if pair[1]), limit))
    if form == "json":
        listed = [{"run": name, "entries": found} for name, found in logs]
        put(msgspec.json.encode({"runs": listed}) + b"\n")
    elif form == "markdown":
        put("\n".join(record(store, name, found) for name, found in logs))
    else:
        put("\n".join(_timeline(name, found) for name, found in logs))
    if not logs:
        tell("nothing found" if words else "no runs here yet; `quandary ask` begins one")
    return 0


def _matching(store: Store, run: str, words: str | None, *, whole: bool) -> list[Event]:
    """The entries with all the words; or all entries, where one of them has the words."""
    wanted = (words or "").casefold().split()
    every = list(events_with_words(store, run))
    found = [e for e, said in every if all(word in said.casefold() for word in wanted)]
    return [event for event, _ in every] if found and whole else found


def _timeline(run: str, found: list[Event]) -> str:
    lines = [f"run {run}"]
    for event in found:
        number = f"{event.n:>4}  {moment(event.at, seconds=True):20}  "
        kind = f"{event.kind:8}"
        shown = click.style(kind, fg=_COLOURS.get(event.kind)) if coloured() else kind
        text = " ".join(printable(event.text).split())
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}… ({len(text)} characters; --format json has them all)"
        who = printable(event.source)
        text, indent = f"{text}  — {who}" if who else text, len(number) + len(kind) + 2
        if sys.stdout.isatty():  # in a pipe, an entry is one line
            rows = wrap(text, max(width() - indent, 30), break_on_hyphens=False)
            text = ("\n" + " " * indent).join(rows)
        lines.append(f"{number}{shown}  {text}")
    return "\n".join(lines) + "\n"


# -- a decision record ---------------------------------------------------------------------------


def record(store: Store, run: str, found: list[Event]) -> str:
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
        yield from map(_chosen, chosen)
    else:
        yield from (f"- {_plain(line)}" for line in outcome_lines(state.flow, result))


def _chosen(entry: dict[str, Any]) -> str:
    """One item: what was chosen for it, the path that the caller gets, and the comment."""
    name = f"{entry['item']} ({entry['decision']})" if "decision" in entry else entry["item"]
    labels = _plain(", ".join(entry.get("labels", [])))
    comment = f", “{_plain(entry['comment'])}”" if entry.get("comment") else ""
    path = printable(entry["path"]).replace("`", "'")
    return f"- {_plain(name)}: **{labels}** (`{path}`){comment}"


def _plain(text: str) -> str:
    """A text on one line, with nothing in it that Markdown would take for its own."""
    return _MEANING.sub(r"\\\g<0>", " ".join(printable(text).split()))


# -- question by question ------------------------------------------------------------------------


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
        put(msgspec.json.encode({"questions": rows}) + b"\n")
    else:
        mark = "- " if form == "markdown" else ""
        put("".join(f"{mark}{_line(occasion)}\n" for occasion in found))
    if not found:
        tell("no questions found")
    return 0


def _line(occasion: Occasion) -> str:
    text = " ".join(printable(occasion.text).split())
    answer = printable("; ".join(occasion.answer)) or "(blank)"
    advice = {True: ", as recommended", False: ", not as recommended", None: ""}
    outcome = f"{answer}{advice[occasion.followed]} — {occasion.who} ({occasion.through})"
    outcome = outcome if occasion.answered else "not answered"
    return f"{moment(occasion.asked)}  {occasion.id or occasion.key}  {text} → {outcome}"
