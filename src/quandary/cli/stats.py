"""`quandary stats`: which questions are asked, and what people make of them."""

from __future__ import annotations

import click
import msgspec

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.screen import put, tell
from quandary.journal.counts import Statistics, Tally, occasions, summarize_questions
from quandary.model.text import printable

MANY = 20
"""So many questions in an hour tire anybody."""


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--all", "everywhere", is_flag=True, help="Of every project, not only of this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True)
@store_option
def stats(form: str, everywhere: bool, limit: int, where: str | None) -> int:
    """Count the questions: how often, how long they waited, whether advice was followed.

    A question that always got the same answer is named as one that might be silenced with
    `quandary prefer set`; that is never done by itself.
    """
    store = running.looked_at(where)
    found = summarize_questions(list(occasions(store, None if everywhere else running.project())))
    if form == "json":
        put(msgspec.json.encode(found) + b"\n")
        return 0
    if not found.asked:
        tell("no questions here yet; `quandary ask` asks one")
        return 0
    put(_text(found, limit))
    return 0


def _text(found: Statistics, limit: int) -> str:
    lines = [f"{found.asked} asked, {found.answered} answered, {found.last_hour} in the last hour"]
    if found.last_hour > MANY:
        lines.append("That is a lot for one hour; people who are asked too much stop reading.")
    lines.append("")
    for tally in found.questions[:limit]:
        lines += _tally(tally)
    if len(found.questions) > limit:
        lines.append(f"… and {len(found.questions) - limit} more (--limit)")
    if found.candidates:
        lines.append("")
        lines.append(
            "Always answered alike, and harmless as far as words tell. To be asked no more:"
        )
        lines += [f"  quandary prefer set {id_} never-ask" for id_ in found.candidates]
    return "\n".join(lines) + "\n"


def _tally(tally: Tally) -> list[str]:
    who = ", ".join(f"{count} by {name}" for name, count in tally.by.items())
    parts = [f"asked {tally.asked}", f"answered {tally.answered}" + (f" ({who})" if who else "")]
    if tally.median_seconds is not None:
        parts.append(f"median {_length(tally.median_seconds)}")
    if tally.recommended:
        parts.append(f"advice followed {tally.followed} of {tally.recommended}")
    title = " ".join(printable(tally.text).split())
    answers = "; ".join(f"{said or '(blank)'}: {n}" for said, n in list(tally.answers.items())[:4])
    shown = [printable(tally.id), f"  {title[:96]}", f"  {', '.join(parts)}"]
    return [*shown, f"  {printable(answers)}"] if answers else shown


def _length(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
