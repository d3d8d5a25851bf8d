"""What a run's page can do besides taking answers: go on, withdraw, and change an answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, NamedTuple

from litestar import get, post
from litestar.params import QueryParameter
from litestar.response import Redirect, Template
from msgspec.structs import replace

from quandary.desk import reply as replies
from quandary.desk.authority import may
from quandary.desk.begin import digest_of
from quandary.desk.timeline import answer_text, given_answers
from quandary.doors.web import resume as going_on
from quandary.doors.web.frame import Fields, one, own_form, page
from quandary.doors.web.house import House, TheHouse, Visit
from quandary.doors.web.pages import RunId, run_page, sentence
from quandary.doors.web.questions import LONGEST_TEXT, filled, paragraphs, sheet
from quandary.errors import NotFound, PersonRequired, QuandaryError, Rejected
from quandary.journal.runs import find_run

if TYPE_CHECKING:
    from quandary.journal.history import GivenAnswer

Key = Annotated[str, QueryParameter(max_length=1_000)]


class Given(NamedTuple):
    """An answer that can be changed."""

    key: str
    question: str
    answer: str
    seen: str
    """What it is known by, so that nobody changes another answer than the one before them."""


def given(found: GivenAnswer) -> Given:
    """An answer for its page."""
    said = answer_text(found.answer, found.question)
    return Given(found.question.key, found.question.text, said, digest_of(said))


def changeable(house: House, run: str) -> list[Given]:
    """The answers of a run that can be changed from its page."""
    row = house.store.run(run)
    if row is None or row.status in ("declined", "withdrawn"):
        return []
    try:
        return [given(found) for found in given_answers(house.store, run)]
    except QuandaryError:
        return []  # it can be shown, and not go on


# -- going on, and ending ------------------------------------------------------------------------


@post("/runs/{run:str}/resume", status_code=303, include_in_schema=False)
async def resume(request: Visit, house: TheHouse, run: RunId) -> Template | Redirect:
    """Go on with a run, or try anew what failed."""
    await own_form(request, house)
    return await asyncio.to_thread(_resumed, request, house, run)


def _resumed(request: Visit, house: House, run: str) -> Template | Redirect:
    name = find_run(house.store, run)
    try:
        replies.resume(house.store, house.caller(request), name, house.walks)
    except Rejected as refused:
        status = 403 if isinstance(refused, PersonRequired) else 409
        return run_page(request, house, name, problem=sentence(refused), status=status)
    return Redirect(f"/runs/{name}", status_code=303)


@post("/runs/{run:str}/withdraw", status_code=303, include_in_schema=False)
async def withdraw(request: Visit, house: TheHouse, run: RunId) -> Template | Redirect:
    """End a run that nobody needs any more."""
    fields = await own_form(request, house)
    return await asyncio.to_thread(_withdrawn, request, house, run, fields)


def _withdrawn(request: Visit, house: House, run: str, fields: Fields) -> Template | Redirect:
    name = find_run(house.store, run)
    why = one(fields, "why").strip()
    if not why or len(why) > LONGEST_TEXT:
        problem = "Say in a few words why it is withdrawn."
        return run_page(request, house, name, problem=problem, status=422)
    try:
        replies.withdraw(house.store, house.caller(request), name, why)
    except Rejected as late:
        return run_page(request, house, name, problem=sentence(late), status=409)
    return Redirect(f"/runs/{name}", status_code=303)


# -- changing an answer --------------------------------------------------------------------------


@get("/runs/{run:str}/amend", include_in_schema=False)
async def amending(request: Visit, house: TheHouse, run: RunId, to: Key) -> Template:
    """The form in which an answer is changed."""

    def form() -> Template:
        name = find_run(house.store, run)
        return _form(request, house, name, _standing(house, name, to))

    return await asyncio.to_thread(form)


@post("/runs/{run:str}/amend", status_code=303, include_in_schema=False)
async def amend(request: Visit, house: TheHouse, run: RunId) -> Template | Redirect:
    """The old answer is kept, and everything after it is asked again."""
    fields = await own_form(request, house)
    return await asyncio.to_thread(_amended, request, house, run, fields)


def _amended(request: Visit, house: House, run: str, fields: Fields) -> Template | Redirect:
    name = find_run(house.store, run)
    found = _standing(house, name, one(fields, "to"))
    why = one(fields, "why").strip()
    sent = filled(replace(found.ask, questions=(found.question,)), fields)
    problem, status = "", 422
    if not may(house.caller(request), "amend"):
        problem, status = "Only a person can change an answer: log in first.", 403
    elif one(fields, "seen") != given(found).seen:
        problem, status = "Somebody else has changed this answer. Look at it again.", 409
    elif going_on.is_under_way(house, name):
        problem, status = (
            "Agents are at work on this run. Change the answer when they are done.",
            409,
        )
    elif sent.problems:
        problem = "Something has to be put right before this can be sent."
    elif not sent.reply.answers:
        problem = "Nothing was chosen. The answer stays as it is."
    elif not why or len(why) > LONGEST_TEXT:
        problem = "Say in a few words why the answer changes."
    if not problem:
        caller, key = house.caller(request), found.question.key
        try:
            replies.amend(house.store, caller, name, sent.reply, key=key, why=why)
        except QuandaryError as refused:
            problem, status = sentence(refused), 409
        else:
            return Redirect(f"/runs/{name}", status_code=303)
    shown = fields if status == 422 else None
    problems = sent.problems if status == 422 else None
    return _form(
        request, house, name, found, problem=problem, status=status, fields=shown, wrong=problems
    )


def _standing(house: House, run: str, key: str) -> GivenAnswer:
    """An answer that counts; others cannot be changed."""
    for found in given_answers(house.store, run):
        if found.question.key == key:
            return found
    raise NotFound(f"run {run} has no answer to {key} that counts")


def _form(
    request: Visit,
    house: House,
    run: str,
    found: GivenAnswer,
    *,
    problem: str = "",
    status: int = 200,
    fields: Fields | None = None,
    wrong: dict[int, str] | None = None,
) -> Template:
    """The page with the question as it was asked, and the answer as it stands."""
    return page(
        request,
        house,
        "amend",
        status=status,
        run=run,
        given=given(found),
        paragraphs=paragraphs(found.ask.preamble.text),
        sheet=sheet(0, found.question, fields or {}, (wrong or {}).get(0, "")),
        why=one(fields or {}, "why"),
        problem=problem,
        person=house.visitor(request).is_person,
    )


CHANGES = [resume, withdraw, amending, amend]
