"""A run as a decision record in Markdown: what was decided, by whom, and how it came about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from quandary.desk.state import outcome_lines
from quandary.desk.timeline import moment
from quandary.journal import runs
from quandary.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.desk.timeline import Event
    from quandary.journal.store import State, Store

_MEANING = re.compile(r"[\\`*<\[\]]")
"""What would mean something in Markdown, were it not for the backslash before it."""


def record(store: Store, run: str, found: list[Event]) -> str:
    """The record of one run, ready for a pull request."""
    state = runs.look(store, run)
    beginning = next((event for event in found if event.kind == "began"), None)
    name, _, context = (beginning.text if beginning else run).partition(": ")
    lines = [f"## Decision record: {_plain(name)}", ""]
    lines += [f"> {printable(line)}".rstrip() for line in context.strip().splitlines()]
    lines += ["", *_outcome(state, found), "", "How it came about:", "", *_history(found)]
    lines += ["", f"Run `{run}`; `quandary verify {run}` checks that nothing in it was changed."]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _outcome(state: State, found: list[Event]) -> Iterator[str]:
    ended = [event for event in found if event.kind == "ended"]
    if state.status != "done":
        why = f": {_plain(state.error)}" if state.error else ""
        yield f"**{state.status.capitalize()}**{why}"
        return
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


def _history(found: list[Event]) -> Iterator[str]:
    for event in found:
        who = f"{_plain(event.source)}, {moment(event.at)}"
        if event.kind == "asked":
            yield f"- {_plain(event.text)}"
        elif event.kind in ("answered", "noted"):
            yield f"  - {_plain(event.text)} *{who}*"


def _plain(text: str) -> str:
    """A text on one line, with nothing in it that Markdown would take for its own."""
    return _MEANING.sub(r"\\\g<0>", " ".join(printable(text).split()))
