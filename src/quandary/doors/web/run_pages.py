"""The page of a run: its question, its history, its chart or track, and its forms."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, time, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import QueryParameter
from litestar.response import Redirect, Template
from markupsafe import Markup
from msgspec.structs import replace

from quandary.desk import phases, timeline
from quandary.desk import reply as replies
from quandary.desk.authority import may
from quandary.desk.begin import digest_of
from quandary.desk.sheets import tell_question
from quandary.desk.state import conceal, conceal_files, look, outcome_lines
from quandary.desk.timeline import answer_text, given_answers, tell_origin
from quandary.desk.walks import NOT_RESUMED, PARKING, has_begun, is_handed_over, read_parked
from quandary.doors.web.access import (
    Fields,
    RunId,
    Site,
    TheSite,
    Visit,
    one,
    own_form,
    page,
    wanted_part,
)
from quandary.doors.web.inbox import (
    FURTHEST,
    Listing,
    Notice,
    is_one_way,
    list_inbox,
    read_wanted,
    settings_of,
    tell_about,
    tell_answered,
)
from quandary.doors.web.metrics import seconds_since
from quandary.doors.web.prose import render_any
from quandary.doors.web.questions import LONGEST_TEXT, read_fields, sheet, show_question
from quandary.errors import AlreadyAnswered, NotFound, QuandaryError, Rejected, Reused
from quandary.journal import runs
from quandary.journal.chance import now
from quandary.journal.entries import Began, Entry, tell_source
from quandary.journal.history import GivenAnswer, find_last_answer, look_at
from quandary.journal.history import given as counting
from quandary.model.calls import HUMAN
from quandary.model.text import cut as text_cut
from quandary.model.text import reveal
from quandary.model.track import split

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from quandary.formats.tracks import Passage
    from quandary.journal.store import Run, State, Store
    from quandary.reports.story import Stop

MOST_EVENTS = 200
MOST_STOPS = 200
LONGEST, ROOM = 4_000, 60_000
"""As many signs of one text as a page shows, and of all that it lays out; `quandary log` and
`report` have them all."""
SIGNS = {"done": "✓", "current": "▶", "next": "→", "skipped": "↷", "not taken": "×", "ahead": "·"}


def tell_run(
    store: Store, state: State, entries: Sequence[Entry], *, under_way: bool
) -> dict[str, Any]:
    """A run from its beginning to where it stands; with what works, where somebody is at it."""
    events = list(timeline.events(store, state.run, entries))
    walk = _walk(store, state.run, under_way=under_way) if state.flow == "walk" else None
    return {
        "events": events[-MOST_EVENTS:],
        "earlier": max(len(events) - MOST_EVENTS, 0),
        "result": result(state) if walk is None else [],  # a walk's story says it all
        "walk": walk,
        "track": _track(store, state.run) if state.flow in phases.FLOWS else None,
    }


def cut(text: str) -> str:
    """As much of a text as a page shows."""
    return text if len(text) <= LONGEST else f"{text_cut(text, LONGEST)}… ({len(text):,} signs)"


def result(state: State) -> list[str]:
    """What came of a run, for a reader."""
    if state.status != "done" or not isinstance(state.result, dict):
        return [state.error] if state.error else []
    lines: list[str] = []
    with suppress(KeyError, TypeError, AttributeError):  # as some other version wrote it
        lines = outcome_lines(state.flow, state.result)
    return lines or [msgspec.json.encode(state.result).decode()]


def _walk(store: Store, run: str, *, under_way: bool) -> dict[str, Any] | None:
    """The story of a walk, for the template to tell with the words of reports."""
    from quandary.reports import story as words  # noqa: PLC0415 - only for charts
    from quandary.reports.drawing import picture  # noqa: PLC0415 - the same
    from quandary.reports.retelling import retell  # noqa: PLC0415 - the same

    try:
        story, chart = (found := retell(store, run)).story, found.chart
    except QuandaryError:
        return None  # what happened is told all the same, entry by entry
    pages = words.pages_of(chart, story) if chart is not None else []
    pictures = [
        (page.name or story.chart, Markup(drawn))  # noqa: S704 - it escapes what it shows
        for number, page in enumerate(pages, 1)
        if chart is not None and (drawn := picture(page, chart, story, f"page-{number}"))
    ]
    bodies: list[Any] = [entry.read() for entry in store.entries(run, kinds=("noted",))]
    starts = ["", *(body.at for body in bodies if getattr(body, "kind", "") == "started")]

    def working(stop: Stop) -> list[tuple[str, int]]:
        """Who is at work on a step, and for how many seconds."""
        return [
            (words.tell_request(exchange), round(seconds_since(max(exchange.asked, starts[-1]))))
            for exchange in stop.exchanges
            if under_way and not exchange.answered and exchange.agent != HUMAN
        ]

    # Whoever watches wants to see where it stands, and not where it once began.
    shown = story.stops[-MOST_STOPS:] if under_way else story.stops[:MOST_STOPS]
    told = {"words": words, "story": story, "pictures": pictures, "stops": shown}
    left_out = len(story.stops) - len(shown)
    return {**told, "left_out": left_out, "working": working, "lay": _lay_out(ROOM)}


def _lay_out(room: int) -> Callable[[str], Markup]:
    """Lays out what agents wrote, until there is no more room; the rest is shown as it is."""

    def lay(text: str) -> Markup:
        nonlocal room
        room -= len(text)
        if room < 0:
            return Markup("<pre tabindex=0 dir=auto>%s</pre>") % reveal(cut(text))
        return render_any(text)

    return lay


def _track(store: Store, run: str) -> dict[str, Any] | None:
    """The track that a run is about as it stands now, and who let it go on from which phase."""
    from quandary.formats import tracks  # noqa: PLC0415 - only at gates

    folder = replies.arguments_of(store, run).get("folder")
    if not isinstance(folder, str):
        return None
    try:
        kept = tracks.load(folder)
    except QuandaryError:
        return None  # its folder is elsewhere, or gone
    shown = kept.history[-MOST_EVENTS:]
    history = [_tell_passage(store, folder, passage) for passage in shown]
    left = [(passage.phase if passage.finished else passage.source) or "" for passage in shown]
    labels = ((split(phase) or ("",))[0] for phase in left)
    both = zip(labels, history, strict=True)
    passed = {label: told["who"] if told["journalled"] else "" for label, told in both}
    return {"track": kept.track, "passed": passed, "history": history, "signs": SIGNS}


def _tell_passage(store: Store, folder: str, passage: Passage) -> dict[str, Any]:
    """Who let it pass is the journal's word wherever it has one."""
    source, journalled = phases.who_let_pass(store, folder, passage)
    way = f"{passage.source} → {passage.phase}" if passage.source else passage.phase
    return {
        "at": timeline.moment(passage.at),
        "way": f"{passage.phase} finished" if passage.finished else way,
        "who": tell_source(*source) or "somebody",
        "reason": str(passage.reason or ""),
        "journalled": journalled,
    }


# -- how it can be resumed -------------------------------------------------------------------------


class Resumption(NamedTuple):
    """How a run can be resumed, for its page."""

    text: str
    """Where it stands, and what can be done about it."""
    button: str = ""
    """What the button says; there is none where nothing is to be done."""
    command: str = ""
    """The command that does the same."""
    obstacle: str = ""
    """Why it cannot be done from here."""
    under_way: bool = False


_ANEW = Resumption(
    "A step failed. It can be retried, with all its attempts; what was done before it stays.",
    "Retry the step",
)
_FAILED = {
    "budget": Resumption(
        "It stopped because its budget is used up. It can resume with the same budget again.",
        "Resume with the same budget",
    ),
    "visits": Resumption(
        "A step was visited as often as allowed. It can resume with as many visits again.",
        "Resume with as many visits",
    ),
}
_GONE = (
    "It was interrupted: whoever ran it is gone. A call whose end nobody saw counts as an attempt."
)


def resumption(site: Site, row: Run, state: State, entries: Sequence[Entry]) -> Resumption | None:
    """How a run is resumed that does not wait for a person; nothing where it is over."""
    parks = row.flow in PARKING and row.waits != "agent"
    found = _stand_parked(site, row, entries) if parks else _stand(site, row, state)
    if found is None or not found.button:
        return found
    if row.flow != "walk":
        return found if found.command else found._replace(command=f"quandary next {row.id}")
    again = " --retry-failed" if state.status == "failed" else ""
    command = f"quandary walk --resume {row.id}{again}"
    obstacle = site.walks.obstacle(row) if site.walks else "This server resumes no runs."
    return found._replace(command=command, obstacle=obstacle)


def _stand(site: Site, row: Run, state: State) -> Resumption | None:
    if row.flow != "walk":
        at_it = row.waits == "agent" and is_under_way(site, row.id)
        read = Resumption("An agent reads the reply.", "" if at_it else "Resume", under_way=at_it)
        left = Resumption("An action was interrupted and has to be finished.", "Resume")
        return {"agent": read, "house": left}.get(row.waits or "")
    if state.status == "failed":
        result = state.result if isinstance(state.result, dict) else {}
        return _FAILED.get(str(result.get("used_up")), _ANEW)
    if state.status != "waiting" or row.waits == "person":
        return None
    if is_under_way(site, row.id):
        return Resumption("Agents are at work.", under_way=True)
    if site.walks is not None and site.walks.is_queued(row.id):
        return Resumption("It is in the queue of a fleet; a worker resumes it.")
    begun = has_begun(runs.OpenRun(site.store, row))
    return Resumption(
        _GONE if begun else "Agents are next, and nobody has called them yet.", "Resume"
    )


def _stand_parked(site: Site, row: Run, entries: Sequence[Entry]) -> Resumption | None:
    """How the session goes on that was parked with a run, unless it has its answer."""
    began, answered = entries[0].read(), row.waits == "house" or row.status in ("done", "declined")
    if not answered or not isinstance(began, Began):
        return None
    parked = read_parked(began, entries[0].read_matter().arguments or {})
    if is_under_way(site, row.id):
        return Resumption("Its session is being resumed.", under_way=True)
    if parked is None or is_handed_over(entries):
        return None
    obstacle = site.walks.obstacle(row) if site.walks else "This server resumes no sessions."
    why = f"{parked.obstacle}." if parked.obstacle else obstacle
    text = "It was asked by a session that is parked, and goes on with the answer."
    return Resumption(text, "Resume the session", f"quandary resume {row.id}", why)


def is_under_way(site: Site, run: str) -> bool:
    """Whether somebody walks a run at this moment."""
    if site.walks is not None:
        return site.walks.is_under_way(run)
    return site.store.is_locked(run)


# -- the page, and the forms that come back from it ------------------------------------------------

Key = Annotated[str, QueryParameter(max_length=1_000)]
LONGEST_TOKEN = 200
LIST = "inbox_list"
"""The part of a page that lists what waits."""
MORNING = time(9)
"""When something that is put off for days comes back."""
RUN_NAME = re.compile(r"[0-9A-Z]{26}")
FIX = "Fix the problems below, then send again."
NOT_RECORDED = "What you sent was not recorded."


def given(found: GivenAnswer) -> dict[str, str]:
    """An answer that can be changed.

    `seen` is what it is known by, so that nobody changes another answer than the one before them.
    """
    said, asked = (
        answer_text(found.answer, found.question),
        tell_question(found.ask, found.question),
    )
    about = {"key": found.question.key, "question": " › ".join(filter(None, asked))}
    return about | {"answer": said, "seen": digest_of(said)}


def changeable(row: Run, entries: Sequence[Entry]) -> list[dict[str, str]]:
    """The answers of a run that can be changed from its page."""
    with suppress(QuandaryError):  # it can be shown, and not go on
        if row.status not in ("declined", "withdrawn"):
            return [given(found) for found in counting(row.id, entries)[1]]
    return []


@get("/", sync_to_thread=True, include_in_schema=False)
def inbox(request: Visit, site: TheSite) -> Response[Any]:
    """Everything that waits for a person, with the first question open, or the one that follows.

    On a small screen that is shown in place of the list only where one was just answered. Whoever
    searches chooses themselves.
    """
    caller, wanted, site = site.caller(request), read_wanted(request), site.at_a_glance
    past = str(request.query_params.get("past", ""))
    alone = bool(wanted.q) and not past
    listing = list_inbox(site.store, caller, wanted, alone=alone)
    answered = [str(name) for name in request.query_params.getall("answered", [])]
    seen = [name for name in answered[:FURTHEST] if RUN_NAME.fullmatch(name)]
    number, _, project = past.partition(" ")
    is_number = number.isascii() and number.isdigit() and len(number) < 16
    chosen = listing.following(int(number) if is_number else 0, project)
    notice = tell_answered(site.store, seen) if caller.who == "person" else None
    values: dict[str, Any] = {"notice": notice, "opened": bool(past)}
    if wanted_part(request) == LIST:
        return list_part(request, site, listing)
    if chosen is not None and chosen.ask and not alone:
        return run_page(request, site, chosen.run.id, row=chosen.run, listing=listing, **values)
    return page(request, site, "inbox", listing=listing, question=None, **values)


def list_part(request: Visit, site: Site, listing: Listing) -> Response[Any]:
    """The list as an open page asks for it; nothing of it where that page has it."""
    headers = {"ETag": listing.tag}
    if request.headers.get("if-none-match") == listing.tag:
        return Response(None, status_code=304, headers=headers)
    shown = page(request, site, LIST, listing=listing)
    shown.headers |= headers
    return shown


@get("/runs/{run:str}", sync_to_thread=True, include_in_schema=False)
def one_run(request: Visit, site: TheSite, run: RunId) -> Response[Any]:
    """A run: its question, if one waits, beside the others that wait; and what happened so far."""
    site = site.at_a_glance
    if wanted_part(request) == LIST:
        listing = list_inbox(site.store, site.caller(request), read_wanted(request))
        return list_part(request, site, listing)
    return run_page(request, site, site.find_run(request, run))


def run_page(
    request: Visit,
    site: Site,
    run: str,
    problem: str = "",
    status: int = 200,
    fields: Fields | None = None,
    problems: dict[int, str] | None = None,
    *,
    row: Run | None = None,
    listing: Listing | None = None,
    notice: Notice | None = None,
    opened: bool = True,
) -> Template:
    """The page of a run, perhaps with something to say first; what waits stands in the inbox."""
    site = site.at_a_glance
    caller, store, wanted = site.caller(request), site.store, read_wanted(request)
    row = row or runs.open_run(store, run).row
    entries = store.entries(run, upto=row.n)
    state = conceal(store, caller, look_at(store, row, entries=entries))
    going = resumption(site, row, state, entries)
    began = entries[0].read() if entries else None
    beginning = None
    if isinstance(began, Began):
        beginning = began, entries[0].read_matter().arguments or {}
    waits = state.ask is not None
    if waits and listing is None and not wanted_part(request):
        listing = list_inbox(store, caller, wanted, alone=False)
    last = find_last_answer(entries) if may(caller, "amend") and not waits else None
    return page(
        request,
        site,
        "inbox" if waits else "run",
        parts=("parts",),
        status=status,
        listing=listing,
        notice=notice,
        opened=opened,
        wanted=wanted,
        undoable=last is not None and not last.obstacle and row.status == "done",
        origin=tell_origin(began),
        about=_tell_about(store, beginning) if beginning else "",
        one_way=state.ask is not None and is_one_way(settings_of(row.project), state.ask),
        going=going,
        may_drive=may(caller, "start agents"),
        troubles=[note.text for note in state.notes if note.kind == NOT_RESUMED],
        answers=changeable(row, entries),
        state=state,
        row=row,
        question=show_question(store, state, fields or {}, problems or {}, beginning, entries),
        problem=problem,
        **tell_run(store, state, entries, under_way=going is not None and going.under_way),
    )


def _tell_about(store: Store, beginning: tuple[Began, dict[str, Any]]) -> str:
    about = timeline.tell_beginning(store.document, *beginning)
    return tell_about(about, timeline.list_titles(beginning[1]))


def sentence(error: QuandaryError) -> str:
    """What an error says, as a sentence of a page."""
    said = str(error)
    return f"{said[:1].upper()}{said[1:].rstrip('.')}."


def answer(request: Visit, site: Site, run: str, fields: Fields) -> Template | Redirect | None:
    shown, caller = partial(run_page, request, site, run), site.caller(request)
    state = look(site.store, caller, run)
    to, token = one(fields, "to"), one(fields, "token")[:LONGEST_TOKEN]
    sent = digest_of({name: said for name, said in fields.items() if name != "mark"})
    if state.ask is None or state.key != to:
        with suppress(Reused):
            if token and replies.repeat(site.store, caller, run, token, sent) is not None:
                return None if state.ask else onward(request, site, [run])  # it was sent twice
        return shown(f"{sentence(replies.already(state, to))} {NOT_RECORDED}", 409)
    reply, problems = read_fields(state.ask, fields)
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
    return None if state.ask is not None else onward(request, site, [run])


def onward(request: Visit, site: Site, names: Sequence[str], became: str = "answered") -> Redirect:
    """To the question behind those that were answered, with a notice of what they became."""
    row = site.store.run(names[-1])
    said = [(became, run) for run in names]
    said += [("past", f"{row.number} {row.project}")] if row is not None else []
    query = "&".join(filter(None, (read_wanted(request).query, urlencode(said))))
    return Redirect(f"/?{query}", status_code=303)


def undo(request: Visit, site: Site, run: str, _: Fields) -> Template | None:
    try:
        replies.undo(site.store, site.caller(request), run)
    except Rejected as refused:
        return run_page(request, site, run, sentence(refused), 409)
    return None


def snooze(request: Visit, site: Site, run: str, fields: Fields) -> Template | Redirect:
    try:
        until = read_moment(one(fields, "until"), one(fields, "date"))
        to = one(fields, "to") or None
        replies.snooze(site.store, site.caller(request), run, until, to)
    except QuandaryError as refused:
        return run_page(request, site, run, sentence(refused), refused.http)
    return onward(request, site, [run], "later")


def read_moment(until: str, date: str) -> datetime:
    """Until when: an hour from now, or in the morning of tomorrow or of a date, by our clock."""
    if until == "hour":
        return now() + timedelta(hours=1)
    here = now().astimezone()
    day = here.date() + timedelta(days=1)
    if until != "tomorrow":
        try:
            day = datetime.fromisoformat(date).date()
        except ValueError:
            raise QuandaryError(f"{date[:20]!a} is no date; write it like {day}") from None
    return datetime.combine(day, MORNING).astimezone()


def resume(request: Visit, site: Site, run: str, _: Fields) -> Template | None:
    try:
        replies.resume(site.store, site.caller(request), run, site.walks)
    except Rejected as refused:
        return run_page(request, site, run, sentence(refused), refused.http)
    return None


def withdraw(request: Visit, site: Site, run: str, fields: Fields) -> Template | None:
    why = one(fields, "why").strip()
    if not why or len(why) > LONGEST_TEXT:
        return run_page(request, site, run, "Give a short reason for withdrawing the run.", 422)
    try:
        replies.withdraw(site.store, site.caller(request), run, why)
    except Rejected as late:
        return run_page(request, site, run, sentence(late), 409)
    return None


# -- changing an answer --------------------------------------------------------------------------


@get("/runs/{run:str}/amend", include_in_schema=False)
async def amend_form(request: Visit, site: TheSite, run: RunId, to: Key) -> Template:
    """The form in which an answer is changed."""
    name = await asyncio.to_thread(site.find_run, request, run)
    found = await asyncio.to_thread(_standing, site, name, to)
    return await asyncio.to_thread(_form, request, site, name, found)


def amend(request: Visit, site: Site, run: str, fields: Fields) -> Template | None:
    found = _standing(site, run, one(fields, "to"))
    why, caller = one(fields, "why").strip(), site.caller(request)
    reply, problems = read_fields(replace(found.ask, questions=(found.question,)), fields)
    problem, status = "", 422
    if not may(caller, "amend"):
        problem, status = "Only a person can change an answer: log in first.", 403
    elif one(fields, "seen") != given(found)["seen"]:
        problem, status = "Somebody else has changed this answer. Check it again.", 409
    elif is_under_way(site, run):
        problem = "Agents are at work on this run. Change the answer when they are done."
        status = 409
    elif problems:
        problem = FIX
    elif not reply.answers:
        problem = "Nothing was chosen. The answer stays as it is."
    elif not why or len(why) > LONGEST_TEXT:
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
    return _form(request, site, run, found, problem, status, *kept)


def _standing(site: Site, run: str, key: str) -> GivenAnswer:
    """An answer that counts; others cannot be changed."""
    for found in given_answers(site.store, run):
        if found.question.key == key:
            return found
    raise NotFound(f"run {run} has no answer to {key} that counts")


def _form(
    request: Visit,
    site: Site,
    run: str,
    found: GivenAnswer,
    problem: str = "",
    status: int = 200,
    fields: Fields | None = None,
    wrong: str = "",
) -> Template:
    """The page with the question as it was asked, and the answer as it stands."""
    shown = conceal_files(site.store, site.caller(request), run, found.ask)
    return page(
        request,
        site,
        "amend",
        status=status,
        run=run,
        given=given(found),
        preamble=shown.preamble.text,
        sheet=sheet(found.ask, 0, found.question, fields or {}, wrong),
        why=one(fields or {}, "why"),
        problem=problem,
        person=site.visitor(request).is_person,
    )


def _on_form(
    work: Callable[[Visit, Site, str, Fields], Template | Redirect | None],
) -> HTTPRouteHandler:
    """What is done with a form of a run's page that comes back: it says what is wrong, or works."""

    @post(f"/runs/{{run:str}}/{work.__name__}", status_code=303, include_in_schema=False)
    async def handle(request: Visit, site: TheSite, run: RunId) -> Template | Redirect:
        fields = await own_form(request, site)
        name = await asyncio.to_thread(site.find_run, request, run)
        refused = await asyncio.to_thread(work, request, site, name, fields)
        back = read_wanted(request).link(f"/runs/{name}")
        return refused or Redirect(back, status_code=303)

    return handle


_FORMS = (answer, resume, withdraw, amend, undo, snooze)
RUN_PAGES = [inbox, one_run, amend_form, *map(_on_form, _FORMS)]
