"""JSON for programs under /api, described by /api/openapi.json."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from litestar import MediaType, Response, Router, get, post
from litestar.exceptions import NotFoundException, PermissionDeniedException
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, FromQuery, HeaderParameter, JSONBody, QueryParameter
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from quandary.desk import begin, permits
from quandary.desk import reply as replies
from quandary.desk.authority import Caller, project_seen
from quandary.desk.begin import Asking, Permitting, Showing, digest_of
from quandary.desk.drafts import meaning
from quandary.desk.state import conceal, describe_state, hand_over, look
from quandary.doors.web.access import RUN_ID, RunId, Site, TheSite, Visit
from quandary.doors.web.events import hear_end
from quandary.errors import QuandaryError
from quandary.journal import runs as driver
from quandary.journal.store import Run, State
from quandary.model.asks import Annotation, Outcome
from quandary.model.text import reveal
from quandary.reading import read as reader

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler
    from litestar.types import ASGIApp, Receive, Scope, Send

    Middleware = Callable[[ASGIApp], ASGIApp]

Status = Literal["waiting", "done", "failed", "declined", "withdrawn"]
PROBLEM = "application/problem+json"
LONGEST_TEXT = 20_000
Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Key = Annotated[str, Meta(max_length=1_000)]
PROPOSED = (
    "The code of the option that you think the text means; the person is asked to confirm it."
)


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
    fields: dict[str, list[dict[str, Any]]] | UnsetType = UNSET
    attachments: list[dict[str, Any]] | UnsetType = UNSET


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
    values: Annotated[dict[str, Any], Meta(description="Fields of the question, changed.")] = {}
    annotations: Annotated[list[Annotation], Meta(max_length=1000)] = []
    proposed: Annotated[Key | list[Key] | None, Meta(description=PROPOSED)] = None


class ReplyIn(Struct, forbid_unknown_fields=True):
    """A reply: answers by question, or a text for the question that waits."""

    to: Annotated[Key | None, Meta(description="The key that it answers; see `ask`.")] = None
    answers: Annotated[list[AnswerIn], Meta(max_length=100)] = []
    text: Text | None = None
    proposed: Annotated[Key | None, Meta(description=PROPOSED)] = None
    by: Annotated[str, Meta(max_length=200, description="A name to record it under.")] = ""


class UseIn(Struct, forbid_unknown_fields=True):
    """What a permit is used for."""

    input: Annotated[str, Meta(description="The input, as it is going to be used.")] = ""


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


StateAnswer = Response[StateOut]
"""It is written down once; what is in it, `StateOut` says to whoever reads the schema."""


def state_for_asker(site: Site, caller: Caller, state: State) -> StateAnswer:
    """The same for whoever asked: they have the result from then on."""
    return state_out(site, caller, hand_over(site.store, caller, state))


def state_out(
    site: Site, caller: Caller, state: State, began: dict[str, Any] | None = None
) -> StateAnswer:
    """A state in the form of the contract, as far as a caller may see it."""
    written = describe_state(site.store, conceal(site.store, caller, state), began)
    content: Any = msgspec.json.encode({**written, "n": state.n})
    return Response(content, media_type=MediaType.JSON)


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


def shortcut(work: Callable[..., StateAnswer], kind: type[Struct], status: int) -> Middleware:
    """The short way to do what a body of JSON asks for, behind all that guards its route. It is
    read, done in a thread and answered. What comes with a query or a key of its own, and what
    cannot be read like that, goes the library's way, which says what is wrong with it.
    """
    decode = msgspec.json.Decoder(kind).decode

    def lead(app: ASGIApp) -> ASGIApp:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            names, path = {name for name, _ in scope["headers"]}, scope["path_params"]
            is_plain = b"content-length" in names and b"idempotency-key" not in names
            if scope["query_string"] or not (is_plain and all(map(RUN_ID.match, path.values()))):
                return await app(scope, receive, send)
            came: list[Any] = [await receive()]
            while came[-1].get("more_body"):
                came.append(await receive())

            async def receive_again() -> Any:  # noqa: ANN401 - what the server sends
                return came.pop(0) if came else await receive()

            try:
                data = decode(b"".join(part["body"] for part in came))
            except (KeyError, ValueError, msgspec.DecodeError, RecursionError):
                return await app(scope, receive_again, send)
            request, site = Visit(scope, receive, send), scope["litestar_app"].state["site"]
            do = partial(work, request, site, data=data, **path)
            body: Any = (await asyncio.get_running_loop().run_in_executor(None, do)).content
            size = str(len(body)).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", size)]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body, "more_body": False})
            return None

        return answer

    return lead


def post_state(
    path: str, summary: str, *further: int, kind: type[Struct] | None = None, status: int = 200
) -> Callable[[Callable[..., StateAnswer]], HTTPRouteHandler]:
    """A request that does something to a run, in a thread, and is told where that stands then."""

    def register(work: Callable[..., StateAnswer]) -> HTTPRouteHandler:
        short = [shortcut(work, kind, status)] if kind else []
        told: dict[str, Any] = {"summary": summary, "responses": refusals(*further)}
        return post(path, sync_to_thread=True, status_code=status, middleware=short, **told)(work)

    return register


LONGEST_WAIT = 60.0
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
            "A request that is sent twice with the same key is carried out once and gets "
            "the same response. A different request with that key is refused."
        ),
    ),
]


@get("/inbox", sync_to_thread=True, summary="What waits for a person", responses=refusals())
def inbox(
    request: Visit, site: TheSite, project: Project = None, after: After = 0, limit: Limit = 100
) -> RunsOut:
    """The runs that wait for a person, those first that began first.

    A login sees those of every project, others only those of the project that is served.
    """
    seen = project_seen(site.caller(request), project)
    return runs_out(driver.inbox(site.store, project=seen, after=after, limit=limit), limit)


@get("/runs", sync_to_thread=True, summary="Runs, the newest first", responses=refusals())
def runs(
    request: Visit,
    site: TheSite,
    status: FromQuery[Status | None] = None,
    project: Project = None,
    after: After = 0,
    limit: Limit = 100,
) -> RunsOut:
    """A page of runs: a login sees every project, others only the one that is served."""
    seen = project_seen(site.caller(request), project)
    rows = site.store.runs(status=status, project=seen, after=after, limit=limit, newest=True)
    return runs_out(rows, limit)


@get("/runs/{run:str}", summary="Where a run stands", responses=refusals(404))
async def run_state(
    request: Visit,
    site: TheSite,
    run: RunId,
    wait: Wait = 0.0,
    until: Until = "news",
    after: Annotated[
        int | None,
        QueryParameter(ge=0, le=2**53, description="The `n` of the state that you have seen."),
    ] = None,
) -> StateAnswer:
    """With `wait`, it comes as soon as something happens, or when the time is up."""
    caller = site.caller(request)

    def find() -> State:
        return driver.look(site.store, site.find_run(request, run))

    return await _tell(site, request, caller, find, wait, after=after, until_end=until == "end")


async def _tell(
    site: Site,
    request: Visit,
    caller: Caller,
    find: Callable[[], State],
    wait: float,
    *,
    after: int | None = None,
    until_end: bool,
) -> StateAnswer:
    """A state for whoever asked, at once or when it was waited for; threads do all that takes."""

    def look() -> tuple[State, StateAnswer | None]:
        state = find()
        waits = wait and state.status == "waiting"
        return state, None if waits else state_for_asker(site, caller, state)

    state, answer = await asyncio.to_thread(look)
    if answer is None:
        seen = state.n if after is None else after
        await site.events.wait(state.run, seen, wait, until_end=until_end)
        site.require_login_open(request)
        state = await asyncio.to_thread(driver.look, site.store, state.run)
        answer = await asyncio.to_thread(state_for_asker, site, caller, state)
    return answer


def ask_now(request: Visit, site: Site, data: Asking, key: str = "") -> StateAnswer:
    """Begin a run for somebody who does not wait for its end."""
    caller = site.caller(request, data.by)
    return state_for_asker(site, replace(caller, who="api"), _begin(site, caller, data, key))


@post(
    "/asks",
    summary="Ask a person",
    responses=refusals(404, 409, 413, 422),
    middleware=[shortcut(ask_now, Asking, 201)],
)
async def ask(
    request: Visit,
    site: TheSite,
    data: JSONBody[Asking],
    wait: Wait = 0.0,
    idempotency_key: Once = None,
) -> StateAnswer:
    """Begin a run with a tree of the project, one that is sent as Markdown, or just options.

    With `wait`, the state comes when the run is over, or when the time is up; then continue with
    `GET /api/runs/{run}?wait=60&until=end`.
    """
    caller = site.caller(request, data.by)
    find = partial(_begin, site, caller, data, idempotency_key or "")
    return await _tell(site, request, replace(caller, who="api"), find, wait, until_end=True)


@post_state("/permits", "Ask for a permit", 409, 422, status=201)
def permit(
    request: Visit, site: TheSite, data: JSONBody[Permitting], idempotency_key: Once = None
) -> StateAnswer:
    """Ask a person whether one exact action may be done. Only a login can allow it."""
    caller = site.caller(request, data.by)
    return state_out(site, caller, _begin(site, caller, data, idempotency_key or ""))


@post_state("/runs/{run:str}/use", "Use a permit", 404, 409, 413)
def use(request: Visit, site: TheSite, run: RunId, data: JSONBody[UseIn]) -> StateAnswer:
    """Use what a person allowed, once, for exactly that input; 409 says why it cannot be."""
    name, caller = site.find_run(request, run), site.caller(request)
    return state_out(site, caller, permits.use(site.store, caller, name, data.input))


def _begin(site: Site, caller: Caller, wanted: Asking | Permitting, key: str) -> State:
    """A run, on the word of a program even where a person's login sent it."""
    caller, showing = replace(caller, who="api"), Showing()
    beginning = begin.prepare(site.store, caller, wanted, showing)
    once: dict[str, Any] = {"key": key, "request": digest_of(wanted) if key else ""}
    return begin.begin(site.store, caller, beginning, showing, expires=wanted.expires, **once)


@post_state("/runs/{run:str}/reply", "Answer what waits", 404, 409, 413, 422, kind=ReplyIn)
def reply(
    request: Visit, site: TheSite, run: RunId, data: JSONBody[ReplyIn], idempotency_key: Once = None
) -> StateAnswer:
    """It is recorded as a person's only within a login, and else as `api`."""
    # Looked at first: what is answered in between is found by its token.
    opened = site.open_run(request, run)
    caller, token = site.caller(request, data.by), idempotency_key or ""
    sent = digest_of(*caller.source.values(), data) if token else ""
    state = opened.state
    if token and (before := replies.repeat(site.store, caller, opened.id, token, sent)) is not None:
        return state_out(site, caller, before)
    ask = replies.require_waiting(state, data.to)
    if data.text is None and not data.answers:
        raise QuandaryError("the reply has neither answers nor a text; the question still waits")
    if data.text is not None and data.answers:
        raise QuandaryError("the reply has both answers and a text; send one of them")
    body = {"answers": msgspec.to_builtins(data.answers)} if data.text is None else data.text
    meant = replies.read_reply(opened.prepare().arguments, ask, body, data.to, data.proposed)
    state = replies.record_reply(
        site.store, caller, opened, meant, to=state.key, token=token, sent=sent
    )
    if isinstance(meant, Outcome) and state.status == "waiting":
        raise QuandaryError(f"no answer ({meant.kind}); the question still waits")
    replies.have_read(state, site.walks)
    return state_out(site, caller, state, opened.arguments)


@post_state("/runs/{run:str}/undo", "Take back the last answer", 404, 409)
def undo(request: Visit, site: TheSite, run: RunId) -> StateAnswer:
    """The question waits again. It needs a login; 409 says that something followed already."""
    name, caller = site.find_run(request, run), site.caller(request)
    return state_out(site, caller, replies.undo(site.store, caller, name))


@post_state("/runs/{run:str}/withdraw", "End a run", 404, 409, 413)
def withdraw(request: Visit, site: TheSite, run: RunId, data: JSONBody[WithdrawIn]) -> StateAnswer:
    """End a run that nobody needs any more."""
    name, caller = site.find_run(request, run), site.caller(request)
    return state_out(site, caller, replies.withdraw(site.store, caller, name, data.why))


@post_state("/runs/{run:str}/resume", "Resume a run", 404, 409, status=202)
def resume(request: Visit, site: TheSite, run: RunId) -> StateAnswer:
    """Resume a walk that was interrupted, or retry a failed step.

    It needs a login or a user's own token. The state comes at once; a program behind the server
    calls the agents. 409 says that there is nothing to resume, or that it is being resumed already.
    """
    name, caller = site.find_run(request, run), site.caller(request)
    return state_out(site, caller, replies.resume(site.store, caller, name, site.walks))


@get(
    "/runs/{run:str}/read",
    sync_to_thread=True,
    summary="How a text would be read",
    responses=refusals(404, 409),
)
def read_text(
    request: Visit,
    site: TheSite,
    run: RunId,
    key: Annotated[str, QueryParameter(max_length=1_000, description="The question's key.")],
    text: Annotated[str, QueryParameter(max_length=10_000)],
) -> ReadingOut:
    """Nothing is recorded."""
    state = look(site.store, site.caller(request), site.find_run(request, run))
    ask = replies.require_waiting(state, key)
    question = ask.question(key) or ask.questions[0]
    reading = reader(text, question, "plain" if ask.kind == "advisory" else "strict")
    says = reveal(meaning(question, reading.answer(key, text))) if text.strip() else ""
    return ReadingOut(reading.kind, list(reading.codes), reading.matched, says, reading.comment)


_HOOKS = ThreadPoolExecutor(64, "hook")  # each waits for a person, and so in the way of no request


@post("/hooks/{event:str}", status_code=200, include_in_schema=False)
async def hook(
    request: Visit, site: TheSite, event: FromPath[Literal["permission", "post"]]
) -> Response[bytes]:
    """A hook of the user's own Claude Code, for as long as that stays on the line."""
    if not site.visitor(request).is_hook:
        raise PermissionDeniedException("only a hook that `quandary install` wrote has this token")
    if site.hook is None:
        raise NotFoundException
    data, gone = await request.body(), threading.Event()
    hearing = asyncio.create_task(hear_end(request.receive, gone.set))
    try:
        work = partial(site.hook, event, data, site.store, lambda: not gone.is_set())
        said = await asyncio.get_running_loop().run_in_executor(_HOOKS, work)
    finally:
        gone.set()
        hearing.cancel()
    return Response(said, media_type="application/json")


api = Router(
    path="/api",
    route_handlers=[
        *(inbox, runs, run_state, ask, permit, reply),
        *(use, undo, withdraw, resume, read_text, hook),
    ],
    tags=["runs"],
)
