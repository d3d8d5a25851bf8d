"""The JSON of the API: what is sent and what comes back, as types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from litestar.openapi.datastructures import ResponseSpec
from msgspec import UNSET, Meta, Struct, UnsetType

from quandary.desk.state import encode_state
from quandary.doors.web.house import House
from quandary.journal.store import Run, State

Status = Literal["waiting", "done", "failed", "declined", "withdrawn"]
PROBLEM = "application/problem+json"
LONGEST_TEXT = 20_000
Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Key = Annotated[str, Meta(max_length=1_000)]


class Problem(Struct):
    """Why something was refused, as RFC 9457 has it."""

    type: str
    status: int
    title: str
    detail: str


class NoteOut(Struct):
    """Something that happened on the way."""

    kind: str
    item: str | None
    text: str


class AskOut(Struct):
    """What waits, and how to reply to it."""

    key: str
    kind: Literal["transition", "advisory"]
    preamble: str
    keys: list[str]
    reply_with: list[str]
    tool_input: dict[str, Any] | UnsetType = UNSET
    text: str | UnsetType = UNSET


class HeldOut(Struct):
    """What a chain of questions is held at."""

    option: str
    reason: str


class StateOut(Struct):
    """Where a run stands."""

    run: str
    flow: str
    status: Status
    notes: list[NoteOut]
    n: Annotated[int, Meta(description="How much has happened to it; see `after`.")] = 0
    ask: AskOut | UnsetType = UNSET
    held: HeldOut | UnsetType = UNSET
    result: Any = UNSET
    error: str | UnsetType = UNSET


class RunOut(Struct):
    """A run at a glance."""

    run: str
    flow: str
    status: Status
    project: str
    began: str
    since: str
    key: str | None = None
    waits: str | None = None


class RunsOut(Struct):
    """A page of runs; `next` is where the next page begins, if there is one."""

    runs: list[RunOut]
    next: int | None = None


class AnswerIn(Struct, forbid_unknown_fields=True):
    """The answer to one question; nothing picked and no text is a blank Other."""

    key: Key | None = None
    picked: Annotated[list[Key], Meta(max_length=100)] = []
    text: Text | None = None
    comment: Text | None = None


class ReplyIn(Struct, forbid_unknown_fields=True):
    """A reply: answers by question, or a text for the question that waits."""

    to: Annotated[Key | None, Meta(description="The key that it answers; see `ask`.")] = None
    answers: Annotated[list[AnswerIn], Meta(max_length=100)] = []
    text: Text | None = None
    by: Annotated[str, Meta(max_length=200, description="A name to record it under.")] = ""


class WithdrawIn(Struct, forbid_unknown_fields=True):
    """Why a run is not needed any more."""

    why: Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT)]


class ReadingOut(Struct):
    """How a text would be read."""

    kind: str
    codes: list[str]
    matched: str
    says: Annotated[str, Meta(description="The same for the person who types it.")]
    comment: str | None = None


def state_out(house: House, state: State) -> StateOut:
    """A state in the form of the contract."""
    written = encode_state(house.store, state)
    return msgspec.convert({**msgspec.json.decode(written), "n": state.n}, StateOut)


def runs_out(rows: list[Run], limit: int) -> RunsOut:
    """Rows as a page."""
    found = [
        RunOut(r.id, r.flow, r.status, r.project, r.began, r.since, r.key, r.waits) for r in rows
    ]
    return RunsOut(found, rows[-1].number if len(rows) == limit else None)


_REFUSALS = {
    400: "The request is invalid.",
    401: "A token or a login is needed.",
    403: "It is not allowed, not for you, or not from that page.",
    404: "It was not found.",
    409: "It was already answered, or is no longer possible.",
    413: "The request is too large.",
    421: "The server has another name.",
    422: "The Idempotency-Key was used for another request.",
    429: "Too many wrong tokens from your address.",
    500: "Internal error.",
    503: "The store cannot be used at the moment.",
}


def refusals(*further: int) -> dict[int, ResponseSpec]:
    """The ways in which any request can be refused, and some that only a few can."""
    always = (400, 401, 403, 421, 429, 500, 503)
    return {
        status: ResponseSpec(
            Problem, description=_REFUSALS[status], media_type=PROBLEM, generate_examples=False
        )
        for status in sorted({*always, *further})
    }
