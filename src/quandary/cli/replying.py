"""What `quandary reply` does, and the plain form of its words, which needs no click."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from quandary import deeds
from quandary.cli import running
from quandary.cli.screen import complain
from quandary.errors import AlreadyAnswered
from quandary.formats.files import read_standard_input, read_text
from quandary.journal import replay
from quandary.journal.ids import find_run
from quandary.model.ask import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

_VALUES = {"--file": "file", "--to": "to", "--by": "by", "--store": "where"}
"""The options that have a value."""


class Words(NamedTuple):
    """What the command was given."""

    run: str
    text: str | None = None
    file: str | None = None
    to: str | None = None
    by: str | None = None
    proof: bool = False
    where: str | None = None


def plain(words: Sequence[str]) -> Words | None:
    """The words of a reply where nothing about them is unusual; whatever is, click judges."""
    named: dict[str, str] = {}
    rest: list[str] = []
    proof = False
    remaining = iter(words)
    for word in remaining:
        if word == "-" or not word.startswith("-"):
            rest.append(word)
        elif word == "--proof":
            proof = True
        else:
            name = _VALUES.get(word, "")
            value = next(remaining, "-")
            if not name or name in named or value.startswith("-"):
                return None
            named[name] = value
    texts = len(rest) - 1
    if texts not in (0, 1) or texts == ("file" in named):
        return None
    return Words(
        rest[0],
        rest[1] if texts else None,
        named.get("file"),
        named.get("to"),
        named.get("by"),
        proof,
        named.get("where"),
    )


def replied(words: Words) -> int:
    """Answer the question that a run waits for, print where the run stands, give the status."""
    store = running.opened(words.where, existing=True)
    run = find_run(store, words.run)
    data = _data(words)
    state = replay.look(store, run)
    if state.ask is None:
        reason = f": {state.error}" if state.error else ""
        raise AlreadyAnswered(f"already answered: run {run} is {state.status}{reason}")
    to = words.to
    if to is not None and to != state.key and to not in [q.key for q in state.ask.questions]:
        raise AlreadyAnswered(f"already answered: {to}; run {run} waits for {state.key}")
    meant = running.answered(store, run, state.ask, data, to)
    state = replay.advance(
        store,
        run,
        meant,
        to=state.key,
        who="agent",
        through="relay",
        by=words.by,
        deeds=deeds.of(store, run),
    )
    status = running.shown(store, state, proof=words.proof)
    if isinstance(meant, Outcome):
        if state.status == "waiting":
            why = f"{meant.kind}: {meant.detail}" if meant.detail else meant.kind
            complain(f"no answer ({why}); the question waits")
        return 1
    return status


def _data(words: Words) -> bytes | str:
    if words.file:
        return read_text(words.file)
    return read_standard_input() if words.text == "-" else words.text or ""
