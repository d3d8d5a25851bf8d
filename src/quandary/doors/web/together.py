"""Questions that ask the same of the same tree, answered together: each is recorded on its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from litestar import get, post
from litestar.params import QueryParameter
from litestar.response import Redirect, Template

from quandary.desk import reply as replies
from quandary.desk.begin import digest_of
from quandary.doors.web.access import Site, TheSite, Visit, one, own_form, page
from quandary.doors.web.inbox import PAGE, Wanted, list_inbox, read_wanted
from quandary.doors.web.questions import read_fields, show_question
from quandary.doors.web.run_pages import FIX, onward, sentence
from quandary.errors import QuandaryError, Rejected
from quandary.journal import runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quandary.doors.web.access import Fields
    from quandary.doors.web.inbox import Row

Chosen = Annotated[list[str] | None, QueryParameter(name="run", max_items=PAGE)]


def find_rows(site: Site, request: Visit, names: Sequence[str]) -> list[Row]:
    """The rows that were selected, if they can be answered together; the list says which can.

    What cannot be taken back never can, and neither can what asks something else.
    """
    wanted = read_wanted(request)
    narrowed = wanted._replace(snoozed="", q="") if wanted.is_narrow else Wanted(order=wanted.order)
    listed = list_inbox(site.store, site.caller(request), narrowed._replace(after=wanted.after))
    rows = [row for row in listed.rows if row.run.id in names]
    if len(rows) < len(set(names)):
        raise Rejected("some of the selected questions no longer wait; select them again")
    if not rows or not rows[0].same or len({row.same for row in rows}) > 1:
        raise Rejected(
            "only questions that ask the same of the same tree can be answered together, and none "
            "whose answer cannot be taken back"
        )
    return rows


@get("/together", include_in_schema=False)
async def together(request: Visit, site: TheSite, chosen: Chosen = None) -> Template:
    """The form that answers several questions."""
    rows = await asyncio.to_thread(find_rows, site, request, chosen or [])
    return await asyncio.to_thread(_form, request, site, rows)


def _form(
    request: Visit,
    site: Site,
    rows: Sequence[Row],
    problem: str = "",
    fields: Fields | None = None,
    wrong: dict[int, str] | None = None,
) -> Template:
    state = runs.look(site.store, rows[0].run.id)
    return page(
        request,
        site,
        "together",
        status=422 if problem else 200,
        rows=rows,
        question=show_question(site.store, state, fields or {}, wrong or {}),
        wanted=read_wanted(request),
        problem=problem,
    )


@post("/together", status_code=303, include_in_schema=False)
async def answer_together(request: Visit, site: TheSite) -> Template | Redirect:
    """Record the same answer in each of the runs, on the strength of what each one asks."""
    fields = await own_form(request, site)
    return await asyncio.to_thread(_answer, request, site, fields)


def _answer(request: Visit, site: Site, fields: Fields) -> Template | Redirect:
    rows = find_rows(site, request, [name.partition(" ")[0] for name in fields.get("run", [])])
    keys = dict(name.partition(" ")[::2] for name in fields.get("run", []))
    caller, token = site.caller(request), one(fields, "token")
    done: list[str] = []
    for row in rows:
        assert row.ask is not None  # noqa: S101 - what cannot be read is not like any other
        reply, problems = read_fields(row.ask, fields)
        shown = {choice.code for choice in row.ask.questions[0].choices}
        if problems or not reply.answers or not shown.issuperset(reply.answers[0].picked):
            problem = FIX if problems else "Choose among the options that are shown."
            return _form(request, site, rows, problem, fields, problems)
        sent = {"token": f"{token}:{row.run.id}"[:200], "sent": digest_of(keys, row.run.id)}
        try:
            to = keys[row.run.id]
            replies.record_reply(site.store, caller, row.run.id, reply, to=to, **sent)
        except QuandaryError as refused:
            counted = f" {len(done)} of {len(rows)} were recorded." if done else ""
            return _form(request, site, rows[len(done) :], sentence(refused) + counted, fields)
        done.append(row.run.id)
    return onward(request, site, done)


TOGETHER = [together, answer_together]
