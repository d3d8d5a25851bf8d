"""The same things for programs: JSON under /api, described by /api/openapi.json."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec
from litestar import Router, get, post
from litestar.params import FromQuery, HeaderParameter, JSONBody, PathParameter, QueryParameter

from quandary.desk import begin
from quandary.desk import reply as replies
from quandary.desk.authority import Caller
from quandary.desk.begin import Asking, Showing, digest_of
from quandary.desk.drafts import meaning
from quandary.doors.web.house import House, TheHouse, Visit
from quandary.doors.web.resume import resume
from quandary.doors.web.shapes import (
    ReadingOut,
    ReplyIn,
    RunsOut,
    StateOut,
    Status,
    WithdrawIn,
    refusals,
    runs_out,
    state_out,
)
from quandary.errors import QuandaryError
from quandary.journal import runs as driver
from quandary.journal.runs import find_run, replied
from quandary.journal.store import State
from quandary.model.asks import Outcome
from quandary.reading import read as reader

LONGEST_WAIT = 60.0
RunId = Annotated[
    str,
    PathParameter(
        pattern=r"^[0-9A-Za-z]{1,26}$", description="A run's name, or as much as tells it apart."
    ),
]
After = Annotated[int, QueryParameter(ge=0, le=2**53, description="The `next` of the page before.")]
Limit = Annotated[int, QueryParameter(ge=1, le=500)]
Project = Annotated[
    str | None, QueryParameter(max_length=4_096, description="Only of that folder.")
]
Wait = Annotated[
    float,
    QueryParameter(ge=0, le=LONGEST_WAIT, description="Seconds to wait for something to happen."),
]
Until = Annotated[
    Literal["news", "end"],
    QueryParameter(description="What is waited for: anything that happens, or the end of the run."),
]
Once = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        pattern=r"^[!-~]{1,200}$",
        description=(
            "What comes twice with the same key is done once, and gets the same answer. "
            "Something else with that key is refused."
        ),
    ),
]


@get("/inbox", sync_to_thread=True, summary="What waits for a person", responses=refusals())
def inbox(
    house: TheHouse, project: Project = None, after: After = 0, limit: Limit = 100
) -> RunsOut:
    """The runs that wait for a person, those first that began first."""
    return runs_out(driver.inbox(house.store, project=project, after=after, limit=limit), limit)


@get("/runs", sync_to_thread=True, summary="Runs, the newest first", responses=refusals())
def runs(
    house: TheHouse,
    status: FromQuery[Status | None] = None,
    project: Project = None,
    after: After = 0,
    limit: Limit = 100,
) -> RunsOut:
    """A page of runs."""
    rows = house.store.runs(status=status, project=project, after=after, limit=limit, newest=True)
    return runs_out(rows, limit)


@get("/runs/{run:str}", summary="Where a run stands", responses=refusals(404))
async def run_state(
    house: TheHouse,
    run: RunId,
    wait: Wait = 0.0,
    until: Until = "news",
    after: Annotated[
        int | None,
        QueryParameter(ge=0, le=2**53, description="The `n` of the state that you have seen."),
    ] = None,
) -> StateOut:
    """With `wait`, it comes as soon as something happens, or when the time is up."""
    name = await asyncio.to_thread(find_run, house.store, run)
    state = await asyncio.to_thread(driver.look, house.store, name)
    if wait and state.status == "waiting":
        seen = state.n if after is None else after
        await house.events.wait(name, seen, wait, until_end=until == "end")
        state = await asyncio.to_thread(driver.look, house.store, name)
    return await asyncio.to_thread(state_out, house, state)


@post("/asks", summary="Ask a person", responses=refusals(404, 409, 413, 422))
async def ask(
    request: Visit,
    house: TheHouse,
    data: JSONBody[Asking],
    wait: Wait = 0.0,
    idempotency_key: Once = None,
) -> StateOut:
    """Begin a run with a tree of the project, or with one that is sent as Markdown.

    With `wait`, the state comes when the run is over, or when the time is up; then go on with
    `GET /api/runs/{run}?wait=60&until=end`.
    """
    caller = house.caller(request)
    state = await asyncio.to_thread(_begin, house, caller, data, idempotency_key or "")
    if wait and state.status == "waiting":
        await house.events.wait(state.run, state.n, wait, until_end=True)
        state = await asyncio.to_thread(driver.look, house.store, state.run)
    return await asyncio.to_thread(state_out, house, state)


def _begin(house: House, caller: Caller, wanted: Asking, key: str) -> State:
    """A run, on the word of a program even where a person's login sent it."""
    caller, showing = caller._replace(who="api"), Showing()
    beginning = begin.prepare(house.store, caller, wanted, showing)
    request = begin.digest_of(wanted) if key else ""
    return begin.begin(
        house.store,
        caller,
        beginning,
        showing,
        expires=wanted.expires,
        key=key,
        request=request,
        project=house.scope.project,
    )


@post(
    "/runs/{run:str}/reply",
    sync_to_thread=True,
    status_code=200,
    summary="Answer what waits",
    responses=refusals(404, 409, 413, 422),
)
def reply(
    request: Visit,
    house: TheHouse,
    run: RunId,
    data: JSONBody[ReplyIn],
    idempotency_key: Once = None,
) -> StateOut:
    """It is booked as a person's only within a login, and else as `api`."""
    name = find_run(house.store, run)
    caller, token = house.caller(request, data.by), idempotency_key or ""
    sent = digest_of(*caller[:3], data) if token else ""
    if token:
        before = replied(house.store, name, token, sent)
        if before is not None:
            return state_out(house, before)
    state = driver.look(house.store, name)
    ask = replies.require_waiting(state, data.to)
    if data.text is None and not data.answers:
        raise QuandaryError("the reply has neither answers nor a text; the question still waits")
    if data.text is not None and data.answers:
        raise QuandaryError("the reply has both answers and a text; send one of them")
    body = data.text if data.text is not None else _answers(data)
    meant = replies.read_reply(replies.arguments_of(house.store, name), ask, body, data.to)
    if isinstance(meant, Outcome):
        raise QuandaryError(f"no answer ({meant.kind}); the question still waits")
    state = replies.record_reply(
        house.store, caller, name, meant, to=state.key, token=token, sent=sent
    )
    return state_out(house, state)


def _answers(data: ReplyIn) -> bytes:
    answers = [
        {name: value for name, value in msgspec.to_builtins(one).items() if value is not None}
        for one in data.answers
    ]
    return msgspec.json.encode({"answers": answers})


@post(
    "/runs/{run:str}/withdraw",
    sync_to_thread=True,
    status_code=200,
    summary="End a run",
    responses=refusals(404, 409, 413),
)
def withdraw(request: Visit, house: TheHouse, run: RunId, data: JSONBody[WithdrawIn]) -> StateOut:
    """End a run that nobody needs any more."""
    name = find_run(house.store, run)
    return state_out(house, replies.withdraw(house.store, house.caller(request), name, data.why))


@get(
    "/runs/{run:str}/read",
    sync_to_thread=True,
    summary="How a text would be read",
    responses=refusals(404, 409),
)
def read_text(
    house: TheHouse,
    run: RunId,
    key: Annotated[str, QueryParameter(max_length=1_000, description="The question's key.")],
    text: Annotated[str, QueryParameter(max_length=10_000)],
) -> ReadingOut:
    """Nothing is booked."""
    state = driver.look(house.store, find_run(house.store, run))
    ask = replies.require_waiting(state, key)
    question = ask.question(key) or ask.questions[0]
    reading = reader(text, question, "plain" if ask.kind == "advisory" else "strict")
    says = meaning(question, reading.answer(key, text)) if text.strip() else ""
    return ReadingOut(reading.kind, list(reading.codes), reading.matched, says, reading.comment)


api = Router(
    path="/api",
    route_handlers=[inbox, runs, run_state, ask, reply, withdraw, resume, read_text],
    tags=["runs"],
)
