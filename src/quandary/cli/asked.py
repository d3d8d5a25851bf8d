"""`quandary log --questions`: every showing of a question, with what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from quandary.cli.screen import put, tell
from quandary.desk.timeline import moment
from quandary.journal.counts import occasions
from quandary.model.text import printable

if TYPE_CHECKING:
    from quandary.journal.counts import Occasion
    from quandary.journal.store import Store


def show_questions(
    store: Store, form: str, *, run: str | None, project: str | None, words: str, limit: int
) -> int:
    """Print the newest questions of a project or of a run, those that have all the words."""
    wanted = words.casefold().split()
    found = [
        occasion
        for occasion in occasions(store, project)
        if run in (None, occasion.run) and all(word in _said(occasion) for word in wanted)
    ]
    found.sort(key=lambda occasion: occasion.asked, reverse=True)
    found = found[:limit]
    if form == "json":
        rows = [
            {**occasion._asdict(), "seconds": occasion.seconds, "followed": occasion.followed}
            for occasion in found
        ]
        put(msgspec.json.encode({"questions": rows}) + b"\n")
    else:
        mark = "- " if form == "markdown" else ""
        put("".join(f"{mark}{_line(occasion)}\n" for occasion in found))
    if not found:
        tell("no questions found")
    return 0


def _said(occasion: Occasion) -> str:
    return f"{occasion.id} {occasion.text} {' '.join(occasion.answer)}".casefold()


def _line(occasion: Occasion) -> str:
    text = " ".join(printable(occasion.text).split())
    answer = printable("; ".join(occasion.answer)) or "(blank)"
    if not occasion.answered:
        outcome = "not answered"
    else:
        advice = {True: ", as recommended", False: ", not as recommended", None: ""}
        source = f"{occasion.who} ({occasion.through})"
        outcome = f"{answer}{advice[occasion.followed]} — {source}"
    return f"{moment(occasion.asked)}  {occasion.id or occasion.key}  {text} → {outcome}"
