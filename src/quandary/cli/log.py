"""`quandary log`: what was asked and answered."""

from __future__ import annotations

import sys
from textwrap import wrap
from typing import TYPE_CHECKING

import click
import msgspec

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.records import record
from quandary.cli.screen import coloured, put, tell, width
from quandary.desk.ages import end_what_expired
from quandary.desk.timeline import Event, events_with_words, moment
from quandary.journal.archive import find
from quandary.model.text import printable

if TYPE_CHECKING:
    from quandary.journal.store import Store

LONGEST = 2_000
"""As much of an entry as anybody reads in a timeline."""
_COLOURS = {"asked": "cyan", "answered": "green", "ended": "magenta", "noted": "yellow"}


@click.command()
@click.argument("run", required=False)
@click.option("--questions", is_flag=True, help="Each question and its answer, on one line.")
@click.option("--grep", "words", metavar="WORDS", help="Only what has all these words.")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text")
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not only of this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True)
@store_option
def log(
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
    store = running.looked_at(where)
    end_what_expired(store)
    if questions:
        from quandary.cli.asked import show_questions  # noqa: PLC0415 - another kind of log

        if run is not None:
            store, run = find(store, run)
        project = None if everywhere or run is not None else running.project()
        return show_questions(store, form, run=run, project=project, words=words or "", limit=limit)
    if run is not None:
        store, named = find(store, run)
        chosen = [named]
    else:
        project = None if everywhere else running.project()
        size = 10_000 if words else limit
        chosen = [row.id for row in store.runs(project=project, limit=size, newest=True)]
    logs: list[tuple[str, list[Event]]] = []
    for name in chosen:
        found = _matching(store, name, words, whole=form == "markdown")
        if found:
            logs.append((name, found))
        if len(logs) == limit:
            break
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
        rows = _rows(f"{text}  — {who}" if who else text, len(number) + len(kind) + 2)
        lines.append(f"{number}{shown}  {rows}")
    return "\n".join(lines) + "\n"


def _rows(text: str, indent: int) -> str:
    """The text in rows that fit on the screen; in a pipe, an entry is one line."""
    if not sys.stdout.isatty():
        return text
    rows = wrap(text, max(width() - indent, 30), break_on_hyphens=False)
    return ("\n" + " " * indent).join(rows)
