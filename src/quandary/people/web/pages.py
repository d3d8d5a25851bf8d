"""The pages: the inbox, a question, runs, trees, statistics, and logging in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import quote

from litestar import Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.exceptions import HTTPException, PermissionDeniedException
from litestar.params import Parameter
from litestar.response import Redirect, ServerSentEvent, ServerSentEventMessage, Template

from quandary.errors import AlreadyAnswered, QuandaryError
from quandary.journal import replay
from quandary.journal.ids import find_run
from quandary.people.web import showing
from quandary.people.web.doors import COOKIE
from quandary.people.web.forms import reply_from
from quandary.people.web.house import House
from quandary.people.web.keys import SESSION_SECONDS, Keys

RunId = Annotated[str, Parameter(pattern=r"^[0-9A-Za-z]{1,26}$")]
PAGE = 50


def page(
    request: Request[Any, Any, Any],
    house: House,
    name: str,
    **values: Any,  # noqa: ANN401 - whatever the template shows
) -> Template:
    """A page with what all pages have."""
    visitor = house.visitor(request)
    status = values.pop("status", 200)
    return Template(
        f"{name}.html",
        context={
            "visitor": visitor,
            "mark": house.keys.form_mark(visitor.session),
            "here": request.url.path,
            **values,
        },
        status_code=status,
    )


async def own_form(request: Request[Any, Any, Any], house: House) -> dict[str, list[str]]:
    """The fields of a form, if it is one of ours."""
    form = await request.form()
    fields: dict[str, list[str]] = {}
    for name, value in form.multi_items():
        if isinstance(value, str):
            fields.setdefault(name, []).append(value)
    mark = "".join(fields.get("mark", []))
    if not house.keys.is_own_form(house.visitor(request).session, mark):
        raise PermissionDeniedException("this form is too old, or not one of ours; load it again")
    return fields


@get("/", sync_to_thread=True)
def inbox(
    request: Request[Any, Any, Any],
    house: House,
    project: str | None = None,
    flow: str | None = None,
    order: str = "oldest",
    after: Annotated[int, Parameter(ge=0, le=2**53)] = 0,
) -> Template:
    """Everything that waits for a person."""
    rows = replay.inbox(house.store, project=project, after=after, limit=PAGE)
    found = [showing.waiting(house.store, row) for row in rows if flow in (None, row.flow)]
    if order == "newest":
        found.reverse()
    part = request.headers.get("x-part") == "list"
    return page(
        request,
        house,
        "inbox_list" if part else "inbox",
        found=found,
        order=order,
        project=project,
        flow=flow,
        more=rows[-1].number if len(rows) == PAGE else None,
    )


@get("/runs", sync_to_thread=True)
def runs(
    request: Request[Any, Any, Any],
    house: House,
    status: str | None = None,
    after: Annotated[int, Parameter(ge=0, le=2**53)] = 0,
) -> Template:
    """Every run, the newest first."""
    known = ("waiting", "done", "failed", "declined", "withdrawn")
    if status not in (None, *known):
        raise HTTPException("there is no such status", status_code=400)
    rows = house.store.runs(status=status, after=after, limit=PAGE, newest=True)  # type: ignore[arg-type]  # checked above
    return page(
        request,
        house,
        "runs",
        found=[showing.summary(house.store, row) for row in rows],
        statuses=known,
        status=200,
        chosen=status,
        more=rows[-1].number if len(rows) == PAGE else None,
    )


@get("/runs/{run:str}", sync_to_thread=True)
def one_run(request: Request[Any, Any, Any], house: House, run: RunId) -> Template:
    """A run: its question, if one waits, and what happened so far."""
    return run_page(request, house, find_run(house.store, run))


def run_page(
    request: Request[Any, Any, Any],
    house: House,
    run: str,
    *,
    problem: str = "",
    status: int = 200,
) -> Template:
    """The page of a run, perhaps with something to say first."""
    state = replay.look(house.store, run)
    return page(
        request,
        house,
        "run",
        state=state,
        question=showing.asked(house.store, state),
        story=showing.story(house.store, run),
        result=showing.result(state),
        problem=problem,
        status=status,
    )


@post("/runs/{run:str}/answer", status_code=303)
async def answer(request: Request[Any, Any, Any], house: House, run: RunId) -> Template | Redirect:
    """A form that came back; what cannot be booked is said on the page, and nothing is lost."""
    fields = await own_form(request, house)
    name = find_run(house.store, run)
    state = replay.look(house.store, name)
    to = "".join(fields.get("to", []))
    if state.ask is None or state.key != to:
        problem = f"{house.already(state)}. Your answer was not booked."
        return run_page(request, house, name, problem=problem, status=409)
    reply = reply_from(state.ask, fields)
    if not reply.answers:
        problem = "Nothing was chosen. The question still waits."
        return run_page(request, house, name, problem=problem, status=422)
    token = "".join(fields.get("token", []))
    try:
        state = house.advance(request, name, reply, to=to, token=token)
    except AlreadyAnswered as late:
        return run_page(request, house, name, problem=str(late), status=409)
    except QuandaryError as refused:
        return run_page(request, house, name, problem=str(refused), status=422)
    return Redirect(f"/runs/{quote(name)}", status_code=303)


@get("/trees", sync_to_thread=True)
def trees(request: Request[Any, Any, Any], house: House) -> Template:
    """The project's trees, drawn, with what is wrong with them."""
    return page(request, house, "trees", found=showing.trees(house.project))


@get("/stats", sync_to_thread=True)
def stats(request: Request[Any, Any, Any], house: House) -> Template:
    """What people make of the questions."""
    return page(request, house, "stats", **showing.figures(house.store))


@get("/login", sync_to_thread=False)
def login_form(request: Request[Any, Any, Any], house: House, problem: str = "") -> Template:
    """Where a code or a token is typed."""
    return page(request, house, "login", problem=problem)


@post("/login", status_code=303)
async def log_in(request: Request[Any, Any, Any], house: House) -> Response[Any]:
    """Open a login for a person."""
    fields = await own_form(request, house)
    address = request.client.host if request.client else ""
    keys: Keys = house.keys
    if not keys.may_try(address):
        raise HTTPException("too many wrong codes; wait a minute", status_code=429)
    session = keys.log_in("".join(fields.get("code", [])))
    if session is None:
        keys.failed(address)
        answer: Response[Any] = page(
            request,
            house,
            "login",
            problem="That code is not known here. Each works once, for a quarter of an hour.",
            status=401,
        )
        return answer
    secure = request.url.scheme == "https"
    cookie = Cookie(
        key=COOKIE,
        value=keys.seal(session),
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="lax",
        secure=secure,
    )
    return Redirect("/", status_code=303, cookies=[cookie])


@post("/logout", status_code=303)
async def log_out(request: Request[Any, Any, Any], house: House) -> Redirect:
    """Close it."""
    await own_form(request, house)
    gone = Cookie(key=COOKIE, value="", max_age=0, httponly=True, samesite="lax")
    return Redirect("/", status_code=303, cookies=[gone])


@get("/events")
async def events(house: House) -> ServerSentEvent:
    """News for an open page."""

    async def told() -> AsyncIterator[ServerSentEventMessage]:
        yield ServerSentEventMessage(data="hello", event="hello", retry=2000)
        async for news in house.events.listen():
            if news is None:
                yield ServerSentEventMessage(data="", event="quiet")
            else:
                yield ServerSentEventMessage(data=f"{news.run} {news.kind}", event="news")

    return ServerSentEvent(told())


HANDLERS = [inbox, runs, one_run, answer, trees, stats, login_form, log_in, log_out, events]
