"""The pages: the inbox, runs, trees and figures; and the forms that come back from them."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, time, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

from litestar import Response, get, post
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Redirect
from litestar.types import ASGIApp, Receive, Scope, Send
from markupsafe import Markup
from msgspec.structs import replace

from quandary.desk import reply as replies
from quandary.desk import timeline
from quandary.desk.attachments import find_media, load
from quandary.desk.authority import Caller, may, project_seen
from quandary.desk.begin import digest_of
from quandary.desk.phases import FLOWS
from quandary.desk.state import conceal, conceal_files, look
from quandary.desk.walks import NOT_RESUMED
from quandary.doors.web import run_pages
from quandary.doors.web.access import (
    Fields,
    Page,
    RunId,
    Site,
    TheSite,
    Visit,
    fill,
    one,
    own_form,
    page,
    wanted_part,
)
from quandary.doors.web.api import Status
from quandary.doors.web.events import Page as OpenPage
from quandary.doors.web.inbox import (
    FURTHEST,
    LARGE,
    LONGEST_WISH,
    PAGE,
    Listing,
    Notice,
    Row,
    Wanted,
    find_runs,
    is_one_way,
    keep_list,
    list_inbox,
    read_wanted,
    settings_of,
    tell_about,
    tell_answered,
    tell_rows,
    tell_snoozed,
    tidy,
)
from quandary.doors.web.metrics import MOST_QUESTIONS, find_figures
from quandary.errors import (
    AlreadyAnswered,
    NotFound,
    PersonRequired,
    QuandaryError,
    Rejected,
    Reused,
)
from quandary.formats.markdown import parse
from quandary.formats.rules import short_name
from quandary.formats.sources import tree_files, tree_places
from quandary.journal import runs as driver
from quandary.journal.chance import now
from quandary.journal.entries import Began
from quandary.journal.history import GivenAnswer, find_last_answer, look_at
from quandary.settings.files import read_text

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from quandary.journal.store import Run

    Typed = tuple[Fields, dict[int, str]]  # what could not stand, and what is wrong with it


class Drawn(NamedTuple):
    """A tree, or a file that cannot be read; each problem comes with its severity."""

    path: str
    problems: Sequence[tuple[str, str]]
    name: str = ""
    trigger: str = ""
    lines: Sequence[run_pages.Line] = ()


def list_trees(caller: Caller) -> Iterator[Drawn]:
    """Every tree of the project that is served, and is no example."""
    project = caller.scope.folder if caller.scope is not None else ""
    for place in tree_places(project) if project else ():
        try:
            paths = list(tree_files(place, project))
        except QuandaryError as error:
            yield Drawn(os.path.relpath(place, project), [("error", str(error))])
            continue
        for path in (path for path in paths if may(caller, "name a file", path)):
            shown = os.path.relpath(path, project)
            try:
                document = parse(read_text(path))
            except QuandaryError as error:
                yield Drawn(shown, [("error", str(error))])
                continue
            problems: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
            for d in document.diagnostics:
                problems[d.tree].append((d.severity, f"line {d.line}: {d.message} ({d.rule})"))
            for tree in (tree for tree in document.trees if not tree.fenced):
                # Those of several trees of one name stand at the first of them.
                found = problems.pop(short_name(tree), [])
                yield Drawn(shown, found, tree.name, tree.trigger, run_pages.lines(tree))


Key = Annotated[str, QueryParameter(max_length=1_000)]
LONGEST_TOKEN = 200
LIST = "inbox_list"
"""The part of a page that lists what waits."""
MORNING = time(9)
"""When something that is put off for days comes back."""
RUN_NAME = re.compile(r"[0-9A-Z]{26}")
FIX = "Fix the problems below, then send again."
MOST_PANES = 256
_panes: dict[tuple[object, ...], tuple[str, str]] = {}
"""Questions that were laid out before, by all that is shown of them, each with its token."""
NOT_RECORDED = "What you sent was not recorded."


@get("/", sync_to_thread=True, include_in_schema=False)
def inbox(request: Visit, site: TheSite) -> Page:
    """Everything that waits for a person, with the first question open, or the one that follows.

    On a small screen that is shown in place of the list only where one was just answered. Whoever
    searches chooses themselves.
    """
    caller, wanted = site.caller(request), read_wanted(request)
    past = str(request.query_params.get("past", ""))
    alone = bool(wanted.q) and not past
    answered = [str(name) for name in request.query_params.getall("answered", [])]
    seen = [name for name in answered[:FURTHEST] if RUN_NAME.fullmatch(name)]
    # Who just answered has changed the list; and who searches adds what is in the store itself.
    listing = (list_inbox if seen else keep_list)(site.store, caller, wanted, alone=alone)
    site = site.at_a_glance
    number, _, project = past.partition(" ")
    is_number = number.isascii() and number.isdigit() and len(number) < 16
    chosen = listing.following(int(number) if is_number else 0, project)
    later = str(request.query_params.get("later", ""))
    notice = tell_answered(site.store, caller, seen)
    if RUN_NAME.fullmatch(later):
        notice = tell_snoozed(site.store, caller, later)
    values: dict[str, Any] = {"notice": notice, "opened": bool(past), "pane": ""}
    if wanted_part(request) == LIST:
        return list_part(request, site, listing)
    if chosen is not None and chosen.ask and not alone:
        values |= {"pane": keep_pane(request, site, chosen, wanted), "row": chosen.run}
    return page(request, site, "inbox", listing=listing, **values)


def list_part(request: Visit, site: Site, listing: Listing) -> Page:
    """The list as an open page asks for it; nothing of it where that page has it."""
    headers = {"ETag": listing.tag}
    if request.headers.get("if-none-match") == listing.tag:
        return Response(None, status_code=304, headers=headers)
    shown = page(request, site, LIST, listing=listing)
    shown.headers |= headers
    return shown


@get("/runs/{run:str}", sync_to_thread=True, include_in_schema=False)
def one_run(request: Visit, site: TheSite, run: RunId) -> Page:
    """A run: its question, if one waits, beside the others that wait; and what happened so far."""
    if wanted_part(request) == LIST:
        listing = keep_list(site.store, site.caller(request), read_wanted(request))
        return list_part(request, site, listing)
    site = site.at_a_glance
    name = site.find_run(request, run)
    is_told = "answered" in request.query_params
    notice = tell_answered(site.store, site.caller(request), [name]) if is_told else None
    return run_page(request, site, name, notice=notice)


def run_page(
    request: Visit,
    site: Site,
    run: str,
    problem: str = "",
    status: int = 200,
    fields: Fields | None = None,
    problems: dict[int, str] | None = None,
    *,
    notice: Notice | None = None,
) -> Page:
    """The page of a run, perhaps with something to say first; what waits stands in the inbox."""
    site, wanted = site.at_a_glance, read_wanted(request)
    row = driver.open_run(site.store, run).row
    told = _tell_run(request, site, row, wanted, (fields or {}, problems or {}))
    told["problem"], question = problem, told["question"]
    if question is None or wanted_part(request):
        shown = {"listing": None, "notice": notice, **told}
        return page(request, site, "run", parts=("parts",), status=status, **shown)
    listing = list_inbox(site.store, site.caller(request), wanted, alone=False)
    shown = {"listing": listing, "notice": notice, "opened": True, "line": question["line"]}
    pane = fill(request, site, "pane", **told)
    return page(request, site, "inbox", status=status, pane=pane, row=row, **shown)


def keep_pane(request: Visit, site: Site, chosen: Row, wanted: Wanted) -> Markup:
    """The question of a row of the inbox, laid out once for as long as nothing happens to it, and
    sent with a new token each time. What files, attachments or those at work say too is laid out
    each time.
    """
    row, mark = chosen.run, site.keys.form_mark(site.visitor(request).session)
    key = (site.caller(request), mark, wanted, row.head, row.project, chosen.one_way)
    if kept := _panes.get(key):
        return Markup(kept[1].replace(kept[0], secrets.token_urlsafe(16)))  # noqa: S704 - it was
    told = _tell_run(request, site.at_a_glance, row, wanted, ({}, {}), chosen)
    pane = fill(request, site, "pane", **told)
    attached, token = told["question"]["attached"], told["question"]["token"]
    if row.flow not in ("walk", *FLOWS) and len(chosen.words) <= LARGE and not attached:
        tidy(_panes, MOST_PANES)
        _panes[key] = token, pane
    return pane


def _tell_run(
    visit: Visit, site: Site, row: Run, wanted: Wanted, typed: Typed, chosen: Row | None = None
) -> dict[str, Any]:
    """All that is shown of a run beside the inbox, or on a page of its own."""
    caller, store = site.caller(visit), site.store
    entries = store.entries(row.id, upto=row.n)
    state = conceal(store, caller, look_at(store, row, entries=entries))
    going = run_pages.resumption(site, row, state, entries)
    began = entries[0].read() if entries else None
    arguments = entries[0].read_matter().arguments or {} if entries else {}
    beginning = (began, arguments) if isinstance(began, Began) else None
    origin = timeline.tell_origin(began, arguments, store.document)
    ask = state.ask
    warns = chosen.one_way if chosen else bool(ask and is_one_way(settings_of(row.project), ask))
    last = find_last_answer(entries) if may(caller, "amend") and state.ask is None else None
    return {
        "wanted": wanted,
        "undoable": last is not None and not last.obstacle and row.status == "done",
        "origin": origin,
        "about": tell_about(origin),
        "one_way": warns,
        "going": going,
        "may_drive": may(caller, "start agents"),
        "troubles": [note.text for note in state.notes if note.kind == NOT_RESUMED],
        "answers": run_pages.changeable(row, entries),
        "state": state,
        "row": row,
        "question": run_pages.show_question(store, state, *typed, beginning, entries),
        "problem": "",
        **run_pages.tell_run(store, state, entries, under_way=bool(going and going.under_way)),
    }


def sentence(error: QuandaryError) -> str:
    """What an error says, as a sentence of a page; whoever reads it is in the browser already."""
    personal = isinstance(error, PersonRequired)
    said = "only a person can do this: log in first" if personal else str(error)
    return f"{said[:1].upper()}{said[1:].rstrip('.')}."


def answer(request: Visit, site: Site, run: str, fields: Fields) -> Page | Redirect:
    shown, caller = partial(run_page, request, site, run), site.caller(request)
    state = look(site.store, caller, run)
    to, token = one(fields, "to"), one(fields, "token")[:LONGEST_TOKEN]
    sent = digest_of({name: said for name, said in fields.items() if name != "mark"})
    if state.ask is None or state.key != to:
        with suppress(Reused):
            if token and replies.repeat(site.store, caller, run, token, sent) is not None:
                return onward(request, site, [run], stays=state.ask is not None)  # sent twice
        return shown(f"{sentence(replies.already(state, to))} {NOT_RECORDED}", 409)
    reply, problems = run_pages.read_fields(state.ask, fields)
    if problems or not reply.answers:
        problem = FIX if problems else "Nothing was chosen. The question still waits."
        return shown(problem, 422, fields, problems)
    try:
        state = replies.record_reply(site.store, caller, run, reply, to=to, token=token, sent=sent)
    except AlreadyAnswered as late:
        return shown(f"{sentence(late)} {NOT_RECORDED}", 409)
    except QuandaryError as refused:
        return shown(sentence(refused), 422, fields)
    replies.have_read(state, site.walks)
    return onward(request, site, [run], stays=state.ask is not None)


def onward(
    request: Visit,
    site: Site,
    names: Sequence[str],
    became: str = "answered",
    *,
    stays: bool = False,
) -> Redirect:
    """To the question behind those that were answered, with a notice of what they became."""
    row = site.store.run(names[-1])
    said = [(became, run) for run in names]
    said += [("past", f"{row.number} {row.project}")] if row is not None and not stays else []
    query = "&".join(filter(None, (read_wanted(request).query, urlencode(said))))
    return Redirect(f"{f'/runs/{names[-1]}' if stays else '/'}?{query}", status_code=303)


def undo(request: Visit, site: Site, run: str, _: Fields) -> None:
    replies.undo(site.store, site.caller(request), run)


def snooze(request: Visit, site: Site, run: str, fields: Fields) -> Redirect:
    until = read_moment(one(fields, "until"), one(fields, "date"), one(fields, "zone"))
    replies.snooze(site.store, site.caller(request), run, until, one(fields, "to") or None)
    return onward(request, site, [run], "later")


def read_moment(until: str, date: str, zone: str = "") -> datetime:
    """Until when: an hour from now, or in the morning of tomorrow or of a date, by the clock of who
    asks for it; by ours where theirs is not known.
    """
    if until == "hour":
        return now() + timedelta(hours=1)
    where = None
    with suppress(KeyError, ValueError, OSError):
        where = ZoneInfo(zone)
    tomorrow = now().astimezone(where).date() + timedelta(days=1)
    try:
        day = tomorrow if until == "tomorrow" else datetime.fromisoformat(date).date()
        return datetime.combine(day, MORNING, where).astimezone()
    except (ValueError, OverflowError):
        raise QuandaryError(f"{date[:20]!a} is no date; write it like {tomorrow}") from None


def resume(request: Visit, site: Site, run: str, _: Fields) -> None:
    replies.resume(site.store, site.caller(request), run, site.walks)


def withdraw(request: Visit, site: Site, run: str, fields: Fields) -> Page | None:
    why = one(fields, "why").strip()
    if not why or len(why) > run_pages.LONGEST_TEXT:
        return run_page(request, site, run, "Give a short reason for withdrawing the run.", 422)
    replies.withdraw(site.store, site.caller(request), run, why)
    return None


@get("/runs/{run:str}/amend", include_in_schema=False)
async def amend_form(request: Visit, site: TheSite, run: RunId, to: Key) -> Page:
    """The form in which an answer is changed."""
    name = await asyncio.to_thread(site.find_run, request, run)
    found = await asyncio.to_thread(_standing, site, name, to)
    return await asyncio.to_thread(_show_amendment, request, site, name, found)


def amend(request: Visit, site: Site, run: str, fields: Fields) -> Page | None:
    found = _standing(site, run, one(fields, "to"))
    why, caller = one(fields, "why").strip(), site.caller(request)
    reply, problems = run_pages.read_fields(replace(found.ask, questions=(found.question,)), fields)
    problem, status = "", 422
    if not may(caller, "amend"):
        problem, status = "Only a person can change an answer: log in first.", 403
    elif one(fields, "seen") != run_pages.given(found)["seen"]:
        problem, status = "Somebody else has changed this answer. Check it again.", 409
    elif run_pages.is_under_way(site, run):
        problem = "Agents are at work on this run. Change the answer when they are done."
        status = 409
    elif problems:
        problem = FIX
    elif not reply.answers:
        problem = "Nothing was chosen. The answer stays as it is."
    elif not why or len(why) > run_pages.LONGEST_TEXT:
        problem = "Give a short reason for the change."
    else:
        try:
            key = found.question.key
            replies.amend(site.store, caller, run, reply, key=key, why=why, seen=found.answer)
        except QuandaryError as refused:
            problem, status = sentence(refused), 409
        else:
            return None
    kept = (fields, problems.get(0, "")) if status == 422 else ({}, "")
    return _show_amendment(request, site, run, found, problem, status, *kept)


def _standing(site: Site, run: str, key: str) -> GivenAnswer:
    """An answer that counts; others cannot be changed."""
    for found in timeline.given_answers(site.store, run):
        if found.question.key == key:
            return found
    raise NotFound(f"run {run} has no answer to {key} that counts")


def _show_amendment(
    request: Visit,
    site: Site,
    run: str,
    found: GivenAnswer,
    problem: str = "",
    status: int = 200,
    fields: Fields | None = None,
    wrong: str = "",
) -> Page:
    """The page with the question as it was asked, and the answer as it stands."""
    return page(
        request,
        site,
        "amend",
        status=status,
        run=run,
        given=run_pages.given(found),
        preamble=conceal_files(site.store, site.caller(request), run, found.ask).preamble.text,
        sheet=run_pages.sheet(found.ask, 0, found.question, fields or {}, wrong),
        why=one(fields or {}, "why"),
        problem=problem,
        person=site.visitor(request).is_person,
    )


def _on_form(
    work: Callable[[Visit, Site, str, Fields], Page | Redirect | None],
) -> HTTPRouteHandler:
    """What is done with a form of a run's page that comes back: it says what is wrong, or works."""

    def act(request: Visit, site: Site, fields: Fields) -> Page | Redirect:
        name = site.find_run(request, request.path_params["run"])
        try:
            back = Redirect(read_wanted(request).link(f"/runs/{name}"), status_code=303)
            return work(request, site, name, fields) or back
        except QuandaryError as refused:
            return run_page(request, site, name, sentence(refused), refused.http)

    return _take(f"/runs/{{run:str}}/{work.__name__}", act)


def _take(path: str, act: Callable[[Visit, Site, Fields], Page | Redirect]) -> HTTPRouteHandler:
    """The route to which a form of ours is sent."""

    @post(path, status_code=303, include_in_schema=False)
    async def handle(request: Visit, site: TheSite) -> Page | Redirect:
        return await asyncio.to_thread(act, request, site, await own_form(request, site))

    return handle


_FORMS = (answer, resume, withdraw, amend, undo, snooze)
HARMLESS = "default-src 'none'; sandbox"


@get("/runs/{run:str}/attachments/{digest:str}", sync_to_thread=True, include_in_schema=False)
def attachment(request: Visit, site: TheSite, run: RunId, digest: FromPath[str]) -> Response[bytes]:
    """An attachment as a file. Whatever it is, it is never a page of ours, and runs nothing."""
    about, data = load(site.store, site.find_run(request, run), digest)
    media = "text/plain; charset=utf-8" if about.is_text else find_media(data)
    way = "inline" if about.is_text or about.shape == "image" else "attachment"
    return Response(
        data,
        media_type=media,
        headers={
            "Content-Security-Policy": HARMLESS,
            "Content-Disposition": f"{way}; filename*=UTF-8''{quote(about.name, safe='')}",
        },
    )


After = Annotated[int, QueryParameter(ge=0, le=2**53)]


@get("/runs", sync_to_thread=True, include_in_schema=False)
def runs(
    request: Visit,
    site: TheSite,
    status: FromQuery[Status | None] = None,
    q: Annotated[str, QueryParameter(max_length=LONGEST_WISH)] = "",
    after: After = 0,
) -> Page:
    """Every run, the newest first, or those that have all the words."""
    seen, words, is_whole = project_seen(site.caller(request)), timeline.words_in(q), True
    if words:
        rows, is_whole = find_runs(site.store, words, seen, PAGE, after or None)
    else:
        rows = site.store.runs(status=status, project=seen, after=after, limit=PAGE, newest=True)
    more = {"status": status, "q": q, "after": rows[-1].number} if len(rows) == PAGE else {}
    rows = [row for row in rows if status in (None, row.status)]
    return page(
        request,
        site,
        "runs",
        parts=("runs_list",),
        found=tell_rows(site.store, rows),
        more=urlencode({name: said for name, said in more.items() if said}),
        statuses=get_args(Status),
        chosen=status,
        q=q,
        indexing=not is_whole,
    )


@get("/trees", sync_to_thread=True, include_in_schema=False)
def trees(request: Visit, site: TheSite) -> Page:
    """The project's trees, drawn, with what is wrong with them."""
    return page(request, site, "trees", found=list(list_trees(site.caller(request))))


@get("/stats", sync_to_thread=True, include_in_schema=False)
def stats(request: Visit, site: TheSite) -> Page:
    """What people make of the questions."""
    project = project_seen(site.caller(request))
    figures, is_new = find_figures(site.store, project)
    runs = site.store.count_runs(project=project) if figures is None else 0
    return page(
        request, site, "stats", figures=figures, is_new=is_new, runs=runs, most=MOST_QUESTIONS
    )


@get("/events", include_in_schema=False)
async def events(
    request: Visit,
    site: TheSite,
    run: Annotated[str, QueryParameter(pattern=r"^[0-9A-Z]{0,26}$")] = "",
) -> ASGIApp:
    """News for an open page, as long as its login: of one run, or of all that it sees."""
    session, project = site.visitor(request).session, project_seen(site.caller(request))

    async def answer(_: Scope, receive: Receive, send: Send) -> None:
        opened = OpenPage(send, run, project, lambda: session is None or site.keys.is_open(session))
        await site.events.stream(opened, receive)

    return answer


Chosen = Annotated[list[str] | None, QueryParameter(name="run", max_items=PAGE)]


def find_rows(site: Site, request: Visit, names: Sequence[str]) -> list[Row]:
    """The selected rows, if they ask the same, and nothing that cannot be taken back."""
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
async def together(request: Visit, site: TheSite, chosen: Chosen = None) -> Page:
    """The form that answers several questions."""
    rows = await asyncio.to_thread(find_rows, site, request, chosen or [])
    return await asyncio.to_thread(_show_together, request, site, rows)


def _show_together(
    request: Visit,
    site: Site,
    rows: Sequence[Row],
    problem: str = "",
    fields: Fields | None = None,
    wrong: dict[int, str] | None = None,
) -> Page:
    state = driver.look(site.store, rows[0].run.id)
    question = run_pages.show_question(site.store, state, fields or {}, wrong or {})
    if question is None:
        raise Rejected(problem or "some of the selected questions no longer wait")
    question["sheets"][0]["where"] = f"The same answer for all {len(rows)}"
    status, wanted = 422 if problem else 200, read_wanted(request)
    values: dict[str, Any] = {"rows": rows, "question": question, "problem": problem}
    return page(request, site, "together", status=status, wanted=wanted, **values)


def answer_together(request: Visit, site: Site, fields: Fields) -> Page | Redirect:
    """Record the same answer in each of the runs, on the strength of what each one asks."""
    rows = find_rows(site, request, [name.partition(" ")[0] for name in fields.get("run", [])])
    keys = dict(name.partition(" ")[::2] for name in fields.get("run", []))
    caller, token = site.caller(request), one(fields, "token")
    done: list[str] = []
    for row in rows:
        assert row.ask is not None  # noqa: S101 - what cannot be read is not like any other
        reply, problems = run_pages.read_fields(row.ask, fields)
        shown = {choice.code for choice in row.ask.questions[0].choices}
        if problems or not reply.answers or not shown.issuperset(reply.answers[0].picked):
            problem = FIX if problems else "Choose among the options that are shown."
            return _show_together(request, site, rows, problem, fields, problems)
        sent = {"token": f"{token}:{row.run.id}"[:200], "sent": digest_of(keys, row.run.id)}
        try:
            replies.record_reply(site.store, caller, row.run.id, reply, to=keys[row.run.id], **sent)
        except QuandaryError as refused:
            counted = f" {len(done)} of {len(rows)} were recorded." if done else ""
            return _show_together(
                request, site, rows[len(done) :], sentence(refused) + counted, fields
            )
        done.append(row.run.id)
    return onward(request, site, done)


def undo_together(request: Visit, site: Site, fields: Fields) -> Page | Redirect:
    """Take back what was answered in several runs at once, and say of how many that was done."""
    names = dict.fromkeys(site.find_run(request, name) for name in fields.get("run", []))
    kept: dict[str, QuandaryError] = {}
    for name in names:
        try:
            replies.undo(site.store, site.caller(request), name)
        except QuandaryError as error:
            kept[name] = error
    for name, refused in kept.items():
        told = f"{sentence(refused)} {len(names) - len(kept)} of {len(names)} were undone."
        return run_page(request, site, name, told, refused.http)
    return Redirect(read_wanted(request).link(f"/runs/{next(iter(names))}" if names else "/"))


PAGES = [inbox, one_run, amend_form, attachment, *map(_on_form, _FORMS)]
PAGES += [runs, trees, stats, events, together]
PAGES += [_take("/together", answer_together), _take("/together/undo", undo_together)]
