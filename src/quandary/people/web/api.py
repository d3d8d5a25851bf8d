"""The same things for programs: JSON under /api, described by /api/openapi.json."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Router, get, post
from litestar.params import Parameter
from msgspec import UNSET, Struct, UnsetType

from quandary.errors import QuandaryError
from quandary.journal import replay
from quandary.journal.ids import find_run
from quandary.journal.store import Run, State
from quandary.model.ask import Outcome
from quandary.people import relay, states
from quandary.people.reading import read as reader
from quandary.people.web.house import House

LONGEST_WAIT = 60.0
RunId = Annotated[str, Parameter(pattern=r"^[0-9A-Za-z]{1,26}$", description="A run's name.")]


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


class StateOut(Struct):
    """Where a run stands."""

    run: str
    flow: str
    status: Literal["waiting", "done", "failed", "declined", "withdrawn"]
    notes: list[NoteOut]
    n: int = 0
    """How much has happened to it; give it to `after` to wait for more."""
    ask: AskOut | UnsetType = UNSET
    held: dict[str, str] | UnsetType = UNSET
    result: Any = UNSET
    error: str | UnsetType = UNSET


class RunOut(Struct):
    """A run at a glance."""

    run: str
    flow: str
    status: str
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

    key: str | None = None
    picked: list[str] = []
    text: str | None = None
    comment: str | None = None


class ReplyIn(Struct, forbid_unknown_fields=True):
    """A reply: answers by question, or a text for the question that waits."""

    to: str | None = None
    answers: list[AnswerIn] = []
    text: str | None = None
    by: str = ""


class WithdrawIn(Struct, forbid_unknown_fields=True):
    """Why a run is not needed any more."""

    why: str


class ReadingOut(Struct):
    """How a text would be read."""

    kind: str
    codes: list[str]
    matched: str
    comment: str | None = None


def state_out(house: House, state: State) -> StateOut:
    """A state in the form of the contract."""
    told = house.told(state.run)
    written = states.state_json(
        state.run,
        state.flow,
        state.status,
        notes=state.notes[len(state.ask.notes) if state.ask is not None else 0 :],
        ask=state.ask,
        result=state.result,
        error=state.error or "",
        via="text" if told.get("via") == "text" else "relay",
        host=told.get("host", "claude"),
    )
    return msgspec.convert({**msgspec.json.decode(written), "n": state.n}, StateOut)


def _run_out(row: Run) -> RunOut:
    return RunOut(
        row.id, row.flow, row.status, row.project, row.began, row.since, row.key, row.waits
    )


@get("/inbox", sync_to_thread=True, summary="What waits for a person")
def inbox(
    house: House,
    project: str | None = None,
    after: Annotated[int, Parameter(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Parameter(ge=1, le=500)] = 100,
) -> RunsOut:
    """The runs that wait for a person, those first that began first."""
    rows = replay.inbox(house.store, project=project, after=after, limit=limit)
    return RunsOut([_run_out(row) for row in rows], rows[-1].number if len(rows) == limit else None)


@get("/runs", sync_to_thread=True, summary="Runs, the newest first")
def runs(
    house: House,
    status: Literal["waiting", "done", "failed", "declined", "withdrawn"] | None = None,
    project: str | None = None,
    after: Annotated[int, Parameter(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Parameter(ge=1, le=500)] = 100,
) -> RunsOut:
    """A page of runs; `after` is the `next` of the page before."""
    rows = house.store.runs(status=status, project=project, after=after, limit=limit, newest=True)
    return RunsOut([_run_out(row) for row in rows], rows[-1].number if len(rows) == limit else None)


@get("/runs/{run:str}", summary="Where a run stands")
async def run_state(
    house: House,
    run: RunId,
    wait: Annotated[float, Parameter(ge=0, le=LONGEST_WAIT)] = 0.0,
    after: Annotated[int | None, Parameter(ge=0, le=2**53)] = None,
) -> StateOut:
    """With `wait`, the answer comes as soon as something happens, or when the time is up."""
    name = await asyncio.to_thread(find_run, house.store, run)
    state = await asyncio.to_thread(replay.look, house.store, name)
    if wait and state.status == "waiting" and state.n <= (state.n if after is None else after):
        await house.events.wait(name, state.n if after is None else after, wait)
        state = await asyncio.to_thread(replay.look, house.store, name)
    return await asyncio.to_thread(state_out, house, state)


@post("/runs/{run:str}/reply", sync_to_thread=True, status_code=200, summary="Answer what waits")
def reply(
    request: Request[Any, Any, Any],
    house: House,
    run: RunId,
    data: ReplyIn,
    idempotency_key: Annotated[
        str | None, Parameter(header="Idempotency-Key", max_length=200)
    ] = None,
) -> StateOut:
    """The same Idempotency-Key never books a reply twice. A late reply is refused with 409."""
    name = find_run(house.store, run)
    state = replay.look(house.store, name)
    if idempotency_key and house.has_seen(name, idempotency_key):
        return state_out(house, state)
    if state.ask is None:
        raise house.already(state)
    if data.text is None and not data.answers:
        raise QuandaryError("the reply has neither answers nor a text; the question still waits")
    body = data.text if data.text is not None else _answers(data)
    ask = state.ask
    if data.to is not None:
        question = ask.question(data.to)
        if question is None:
            raise house.already(state)
        if data.text is not None:
            ask = msgspec.structs.replace(ask, key=question.key, questions=(question,))
    meant = relay.parse(body, ask, reader)
    if isinstance(meant, Outcome):
        raise QuandaryError(f"no answer ({meant.kind}); the question still waits")
    state = house.advance(
        request, name, meant, to=state.key, by=data.by, token=idempotency_key or ""
    )
    return state_out(house, state)


def _answers(data: ReplyIn) -> bytes:
    answers = [
        {name: value for name, value in msgspec.to_builtins(one).items() if value is not None}
        for one in data.answers
    ]
    return msgspec.json.encode({"answers": answers})


@post("/runs/{run:str}/withdraw", sync_to_thread=True, status_code=200, summary="End a run")
def withdraw(
    request: Request[Any, Any, Any], house: House, run: RunId, data: WithdrawIn
) -> StateOut:
    """End a run that nobody needs any more."""
    who, through, by = house.source(request)
    name = find_run(house.store, run)
    state = replay.withdraw(house.store, name, data.why, who=who, through=through, by=by)
    return state_out(house, state)


@get("/runs/{run:str}/read", sync_to_thread=True, summary="How a text would be read")
def read_text(
    house: House, run: RunId, key: str, text: Annotated[str, Parameter(max_length=10_000)]
) -> ReadingOut:
    """Nothing is booked."""
    state = replay.look(house.store, find_run(house.store, run))
    question = state.ask.question(key) if state.ask is not None else None
    if state.ask is None or question is None:
        raise house.already(state)
    reading = reader(text, question, "plain" if state.ask.kind == "advisory" else "strict")
    return ReadingOut(reading.kind, list(reading.codes), reading.matched, reading.comment)


api = Router(
    path="/api", route_handlers=[inbox, runs, run_state, reply, withdraw, read_text], tags=["runs"]
)
