"""The pages: the inbox, a question, runs, trees and statistics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from litestar import get, post
from litestar.exceptions import HTTPException
from litestar.params import FromQuery, PathParameter, QueryParameter
from litestar.response import Redirect, ServerSentEvent, ServerSentEventMessage, Template

from quandary.desk import reply as replies
from quandary.desk.authority import may
from quandary.desk.begin import digest_of
from quandary.desk.walks import NOT_RESUMED
from quandary.errors import AlreadyAnswered, QuandaryError
from quandary.journal import runs as driver
from quandary.journal.ids import find_run
from quandary.people.web import going_on
from quandary.people.web.asked import show_question
from quandary.people.web.drawn import list_trees
from quandary.people.web.events import following
from quandary.people.web.figures import HEIGHT, MOST_QUESTIONS, WIDTH, gather_figures
from quandary.people.web.forms import filled
from quandary.people.web.frame import Fields, one, own_form, page, wants_part
from quandary.people.web.house import House, TheHouse, Visit
from quandary.people.web.listing import Wanted, list_inbox, list_runs
from quandary.people.web.shapes import Status
from quandary.people.web.told import tell_run

RunId = Annotated[str, PathParameter(pattern=r"^[0-9A-Za-z]{1,26}$")]
After = Annotated[int, QueryParameter(ge=0, le=2**53)]
STATUSES = ("waiting", "done", "failed", "declined", "withdrawn")
LONGEST_TOKEN = 200


def _link(**wanted: str | int | None) -> str:
    """The address of the inbox with these wishes."""
    said = {name: value for name, value in wanted.items() if value not in (None, "", 0)}
    return f"/?{urlencode(said)}" if said else "/"


@get("/", sync_to_thread=True, include_in_schema=False)
def inbox(
    request: Visit,
    house: TheHouse,
    project: Annotated[str | None, QueryParameter(max_length=4_096)] = None,
    flow: Annotated[str | None, QueryParameter(pattern=r"^[a-z]{1,20}$")] = None,
    kind: FromQuery[Literal["transition", "advisory"] | None] = None,
    order: FromQuery[Literal["oldest", "newest"]] = "oldest",
    after: After = 0,
) -> Template:
    """Everything that waits for a person."""
    wanted = Wanted(project, flow, kind, order == "newest")
    found = list_inbox(house.store, wanted, after)
    chosen: dict[str, Any] = {"project": project, "flow": flow, "kind": kind, "order": order}
    if order == "oldest":
        del chosen["order"]
    filters = [
        (name, value, _link(**{**chosen, name: None}))
        for name, value in (("project", project), ("flow", flow), ("kind", kind))
        if value is not None
    ]
    return page(
        request,
        house,
        "inbox_list" if wants_part(request) else "inbox",
        found=found.rows,
        more=_link(**chosen, after=found.more) if found.more else "",
        first=not after,
        filters=filters,
        order=order,
        turned=_link(**{**chosen, "order": "newest" if order == "oldest" else None}),
        narrowed=lambda name, value: _link(**{**chosen, name: value}),
    )


@get("/runs", sync_to_thread=True, include_in_schema=False)
def runs(
    request: Visit, house: TheHouse, status: FromQuery[Status | None] = None, after: After = 0
) -> Template:
    """Every run, the newest first."""
    found = list_runs(house.store, status, after)
    return page(
        request,
        house,
        "runs_list" if wants_part(request) else "runs",
        found=found.rows,
        more=found.more,
        statuses=STATUSES,
        chosen=status,
    )


@get("/runs/{run:str}", sync_to_thread=True, include_in_schema=False)
def one_run(request: Visit, house: TheHouse, run: RunId) -> Template:
    """A run: its question, if one waits, and what happened so far."""
    return run_page(request, house, find_run(house.store, run))


def run_page(
    request: Visit,
    house: House,
    run: str,
    *,
    problem: str = "",
    status: int = 200,
    fields: Fields | None = None,
    problems: dict[int, str] | None = None,
) -> Template:
    """The page of a run, perhaps with something to say first."""
    from quandary.people.web.changing import changeable  # noqa: PLC0415 - it needs this module

    state = driver.look(house.store, run)
    going = going_on.going(house, state)
    return page(
        request,
        house,
        "parts" if wants_part(request) else "run",
        status=status,
        going=going,
        may_drive=may(house.caller(request), "resume"),
        troubles=[note.text for note in state.notes if note.kind == NOT_RESUMED],
        answers=changeable(house, run),
        state=state,
        row=house.store.run(run),
        question=show_question(house.store, state, fields, problems),
        told=tell_run(house.store, state, under_way=going is not None and going.under_way),
        problem=problem,
    )


@post("/runs/{run:str}/answer", status_code=303, include_in_schema=False)
async def answer(request: Visit, house: TheHouse, run: RunId) -> Template | Redirect:
    """A form that came back; what cannot be booked is said on the page, and nothing is lost."""
    fields = await own_form(request, house)
    return await asyncio.to_thread(_answered, request, house, run, fields)


def _answered(request: Visit, house: House, run: str, fields: Fields) -> Template | Redirect:
    name = find_run(house.store, run)
    state = driver.look(house.store, name)
    to, token = one(fields, "to"), one(fields, "token")[:LONGEST_TOKEN]
    sent = digest_of({name: said for name, said in fields.items() if name != "mark"})
    there = Redirect(f"/runs/{name}", status_code=303)
    if state.ask is None or state.key != to:
        if token and replies.is_recorded(house.store, name, token, sent):
            return there  # the same form was sent twice
        problem = f"{sentence(replies.already(state, to))} What you sent was not booked."
        return run_page(request, house, name, problem=problem, status=409)
    found = filled(state.ask, fields)
    if found.problems or not found.reply.answers:
        problem = (
            "Something has to be put right before this can be sent."
            if found.problems
            else "Nothing was chosen. The question still waits."
        )
        return run_page(
            request,
            house,
            name,
            problem=problem,
            status=422,
            fields=fields,
            problems=found.problems,
        )
    try:
        caller = house.caller(request)
        replies.record_reply(house.store, caller, name, found.reply, to=to, token=token, sent=sent)
    except AlreadyAnswered as late:
        problem = f"{sentence(late)} What you sent was not booked."
        return run_page(request, house, name, problem=problem, status=409)
    except QuandaryError as refused:
        return run_page(request, house, name, problem=sentence(refused), status=422, fields=fields)
    return there


def sentence(error: QuandaryError) -> str:
    """What an error says, as a sentence of a page."""
    said = str(error)
    return f"{said[:1].upper()}{said[1:].rstrip('.')}."


@get("/trees", sync_to_thread=True, include_in_schema=False)
def trees(request: Visit, house: TheHouse) -> Template:
    """The project's trees, drawn, with what is wrong with them."""
    return page(request, house, "trees", found=list(list_trees(house.scope.project)))


@get("/stats", sync_to_thread=True, include_in_schema=False)
def stats(request: Visit, house: TheHouse) -> Template:
    """What people make of the questions."""
    return page(
        request,
        house,
        "stats",
        figures=gather_figures(house.store),
        most=MOST_QUESTIONS,
        width=WIDTH,
        height=HEIGHT,
    )


@get("/events", include_in_schema=False)
async def events(
    house: TheHouse, run: Annotated[str, QueryParameter(pattern=r"^[0-9A-Z]{0,26}$")] = ""
) -> ServerSentEvent:
    """News for an open page: of one run, or of all."""
    if house.events.full:
        raise HTTPException("too many pages are open", status_code=503)

    async def news() -> AsyncIterator[ServerSentEventMessage]:
        with house.events.listening(run) as queue:
            yield ServerSentEventMessage(data="hello", event="hello", retry=2000)
            while not house.events.over:
                runs = await following(queue)
                yield ServerSentEventMessage(data=runs, event="news" if runs else "quiet")

    return ServerSentEvent(news())


PAGES = [inbox, runs, one_run, answer, trees, stats, events]
