"""`quandary log`: what was asked and answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from quandary.cli import running
from quandary.cli.screen import coloured, put, tell
from quandary.cli.timeline import Event, events
from quandary.formats.visible import printable
from quandary.journal.ids import find_run

if TYPE_CHECKING:
    from quandary.journal.store import Store

_COLOURS = {"asked": "cyan", "answered": "green", "ended": "magenta", "noted": "yellow"}


@click.command()
@click.argument("run", required=False)
@click.option("--grep", "words", metavar="WORDS", help="Only entries that have all these words.")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text")
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not only of this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True)
@running.store_option
def log(
    run: str | None, words: str | None, form: str, everywhere: bool, limit: int, where: str | None
) -> int:
    """Show what happened to RUN, or to the newest runs of this project.

    With --format markdown the log of a run is a decision record, ready for a pull request.
    """
    store = running.opened(where)
    if run is not None:
        chosen = [find_run(store, run)]
    else:
        project = None if everywhere else running.project()
        size = 10_000 if words else limit
        chosen = [row.id for row in store.runs(project=project, limit=size, newest=True)]
    logs = [(name, _matching(list(events(store, name)), words)) for name in chosen]
    logs = [(name, found) for name, found in logs if found][:limit]
    if form == "json":
        listed = [{"run": name, "entries": found} for name, found in logs]
        put(msgspec.json.encode({"runs": listed}) + b"\n")
    elif form == "markdown":
        put("\n".join(_record(store, name, found) for name, found in logs))
    else:
        put("\n".join(_timeline(name, found) for name, found in logs))
    if not logs:
        tell("nothing found" if words else "no runs here yet; `quandary ask` begins one")
    return 0


def _matching(found: list[Event], words: str | None) -> list[Event]:
    wanted = (words or "").casefold().split()
    return [e for e in found if all(word in e.text.casefold() for word in wanted)]


def _timeline(run: str, found: list[Event]) -> str:
    lines = [f"run {run}"]
    for event in found:
        who = f"{event.by or event.who} ({event.through})"
        kind = f"{event.kind:8}"
        shown = click.style(kind, fg=_COLOURS.get(event.kind)) if coloured() else kind
        lines.append(f"  {event.at[:19]}  {shown}  {printable(event.text)}  — {printable(who)}")
    return "\n".join(lines) + "\n"


def _record(store: Store, run: str, found: list[Event]) -> str:
    """A decision record: what was asked, what was answered, by whom and when."""
    row = store.run(run)
    lines = [f"## Decision record {run}", ""]
    if row is not None:
        lines += [f"Status: {row.status}, since {row.since[:16]}", ""]
    for event in found:
        text = " ".join(printable(event.text).split())
        who = event.by or event.who
        if event.kind == "began":
            lines += [text, ""]
        elif event.kind == "asked":
            lines.append(f"- Asked: {text}")
        elif event.kind == "answered":
            lines.append(f"  - **{text}** ({who}, {event.through}, {event.at[:16]})")
        elif event.kind == "noted":
            lines.append(f"  - Note: {text}")
    return "\n".join(lines) + "\n"
