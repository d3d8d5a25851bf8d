"""The page of a run: its question, its history, its chart or track, and its forms."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from litestar import get, post
from litestar.params import QueryParameter
from litestar.response import Redirect, Template
from markupsafe import Markup
from msgspec.structs import replace

from quandary.desk import phases, timeline
from quandary.desk import reply as replies
from quandary.desk.authority import may
from quandary.desk.begin import digest_of
from quandary.desk.state import outcome_lines
from quandary.desk.timeline import answer_text, given_answers
from quandary.desk.walks import NOT_RESUMED, has_begun
from quandary.doors.web.questions import LONGEST_TEXT, filled, paragraphs, sheet, show_question
from quandary.doors.web.requests import (
    Fields,
    House,
    RunId,
    TheHouse,
    Visit,
    one,
    own_form,
    page,
    wants_part,
)
from quandary.errors import AlreadyAnswered, NotFound, QuandaryError, Rejected
from quandary.journal import runs as driver
from quandary.journal.chance import now
from quandary.journal.runs import find_run
from quandary.model.calls import HUMAN
from quandary.model.track import split

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from litestar.handlers import HTTPRouteHandler

    from quandary.formats.tracks import Passage
    from quandary.journal.history import GivenAnswer
    from quandary.journal.store import Run, State, Store
    from quandary.model.track import Track
    from quandary.reports.story import Stop, Story

MOST_EVENTS = 200
MOST_STOPS = 200
LONGEST = 4_000
"""As many signs of one text as a page shows; `quandary log` and `report` have them all."""
SIGNS = {
    "done": "✓",
    "current": "▶",
    "next": "→",
    "skipped": "↷",
    "not taken": "×",
    "ahead": "·",
}


class Walk(NamedTuple):
    """A walk through a chart, for the template to tell with the words of reports."""

    words: ModuleType
    story: Story
    pictures: list[tuple[str, Markup]]
    stops: tuple[Stop, ...]
    since: str | None
    """When somebody began to ask the agents that are asked now; nothing where nobody does."""

    @property
    def left_out(self) -> int:
        """How many steps there are besides those."""
        return len(self.story.stops) - len(self.stops)

    def working(self, stop: Stop) -> list[tuple[str, int]]:
        """Who is at work on a step, and for how many seconds."""
        if self.since is None:
            return []
        return [
            (self.words.asked(exchange), _seconds_since(max(exchange.asked, self.since)))
            for exchange in stop.exchanges
            if not exchange.answered and exchange.agent != HUMAN
        ]


class Passed(NamedTuple):
    """How a track came from one phase to another, and who let it."""

    at: str
    way: str
    who: str
    reason: str
    journalled: bool


class Tracked(NamedTuple):
    """A track, and how it came to where it stands."""

    track: Track
    passed: dict[str, str]
    """Who let the track go on from a phase the last time, by the label of the phase."""
    history: list[Passed]
    signs: dict[str, str] = SIGNS


class Told(NamedTuple):
    """All that a page tells of a run."""

    events: list[timeline.Event]
    earlier: int
    """How many events came before those."""
    result: list[str]
    walk: Walk | None
    track: Tracked | None


def tell_run(store: Store, state: State, *, under_way: bool = False) -> Told:
    """A run from its beginning to where it stands; with what works, where somebody is at it."""
    events = list(timeline.events(store, state.run))
    walk = _walk(store, state.run, under_way=under_way) if state.flow == "walk" else None
    return Told(
        events[-MOST_EVENTS:],
        max(len(events) - MOST_EVENTS, 0),
        result(state) if walk is None else [],  # a walk's story says it all
        walk,
        _track(store, state.run) if state.flow in phases.FLOWS else None,
    )


def cut(text: str) -> str:
    """As much of a text as a page shows."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} signs)"


def result(state: State) -> list[str]:
    """What came of a run, for a reader."""
    if state.status != "done" or not isinstance(state.result, dict):
        return [state.error] if state.error else []
    lines: list[str] = []
    with suppress(KeyError, TypeError, AttributeError):  # as some other version wrote it
        lines = outcome_lines(state.flow, state.result)
    return lines or [msgspec.json.encode(state.result).decode()]


def _walk(store: Store, run: str, *, under_way: bool) -> Walk | None:
    """The story of a walk, told by those who tell it in reports."""
    from quandary.reports import story as report_words  # noqa: PLC0415 - only for charts
    from quandary.reports.drawing import picture  # noqa: PLC0415 - the same
    from quandary.reports.retelling import retell  # noqa: PLC0415 - the same

    try:
        found = retell(store, run)
    except QuandaryError:
        return None  # what happened is told all the same, entry by entry
    story, chart = found.story, found.chart
    # Whoever watches wants to see where it stands, and not where it once began.
    shown = story.stops[-MOST_STOPS:] if under_way else story.stops[:MOST_STOPS]
    pages = report_words.pages(chart, story) if chart is not None else []
    pictures = [
        (page.name or story.chart, Markup(drawn))  # noqa: S704 - it escapes what it shows
        for number, page in enumerate(pages, 1)
        if chart is not None and (drawn := picture(page, chart, story, f"page-{number}"))
    ]
    bodies: list[Any] = [entry.read() for entry in store.entries(run, kinds=("noted",))]
    starts = ["", *(body.at for body in bodies if getattr(body, "kind", "") == "started")]
    return Walk(report_words, story, pictures, shown, starts[-1] if under_way else None)


def _seconds_since(at: str) -> int:
    return max(round((now() - datetime.fromisoformat(at)).total_seconds()), 0)


def _track(store: Store, run: str) -> Tracked | None:
    """The track that a run is about, as it stands now."""
    from quandary.formats import tracks  # noqa: PLC0415 - only at gates

    folder = phases.beginning_of(store, run)[1].get("folder")
    if not isinstance(folder, str):
        return None
    try:
        kept = tracks.load(folder)
    except QuandaryError:
        return None  # its folder is elsewhere, or gone
    passed: dict[str, str] = {}
    history: list[Passed] = []
    for passage in kept.history[-MOST_EVENTS:]:
        history.append(_passed(store, passage))
        left = passage.phase if passage.finished else passage.source
        passed[(split(left or "") or ("",))[0]] = history[-1].who
    return Tracked(kept.track, passed, history)


def _passed(store: Store, passage: Passage) -> Passed:
    """Who let it pass is the journal's word wherever it has one."""
    (who, through, by), journalled = phases.who_let_pass(store, passage)
    name = f"{by} ({who}, {through})" if by else f"{who} ({through})" if through else who
    way = f"{passage.source} → {passage.phase}" if passage.source else passage.phase
    if passage.finished:
        way = f"{passage.phase} finished"
    at, reason = timeline.moment(passage.at), str(passage.reason or "")
    return Passed(at, way, name or "somebody", reason, journalled)


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
_UNDER_WAY = Resumption("Agents are at work.", under_way=True)
_QUEUED = Resumption("It is in the queue of a fleet; a worker resumes it.")
_GONE = Resumption(
    "It was interrupted: whoever ran it is gone. A call whose end nobody saw counts as an attempt.",
    "Resume",
)
_NEXT = Resumption("Agents are next, and nobody has called them yet.", "Resume")
_LEFT = Resumption("An action was interrupted and has to be finished.", "Resume")


def resumption(house: House, state: State) -> Resumption | None:
    """How a run is resumed that does not wait for a person; nothing where it is over."""
    row = house.store.run(state.run)
    if row is None:
        return None
    found = _stand(house, row, state)
    if found is None or not found.button:
        return found
    if row.flow != "walk":
        return found._replace(command=f"quandary next {row.id}")
    again = " --retry-failed" if state.status == "failed" else ""
    command = f"quandary walk --resume {row.id}{again}"
    obstacle = house.walks.obstacle(row) if house.walks else "This server resumes no runs."
    return found._replace(command=command, obstacle=obstacle)


def _stand(house: House, row: Run, state: State) -> Resumption | None:
    if row.flow != "walk":
        return _LEFT if row.waits == "house" else None
    if state.status == "failed":
        result = state.result if isinstance(state.result, dict) else {}
        return _FAILED.get(str(result.get("used_up")), _ANEW)
    if state.status != "waiting" or row.waits == "person":
        return None
    if is_under_way(house, row.id):
        return _UNDER_WAY
    if house.walks is not None and house.walks.is_queued(row.id):
        return _QUEUED
    return _GONE if has_begun(house.store, row.id) else _NEXT


def is_under_way(house: House, run: str) -> bool:
    """Whether somebody walks a run at this moment."""
    if house.walks is not None:
        return house.walks.is_under_way(run)
    return house.store.is_locked(run)


# -- the page, and the forms that come back from it ------------------------------------------------

Key = Annotated[str, QueryParameter(max_length=1_000)]
LONGEST_TOKEN = 200


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
    state = driver.look(house.store, run)
    going = resumption(house, state)
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


def sentence(error: QuandaryError) -> str:
    """What an error says, as a sentence of a page."""
    said = str(error)
    return f"{said[:1].upper()}{said[1:].rstrip('.')}."


def answer(request: Visit, house: House, run: str, fields: Fields) -> Template | Redirect:
    name = find_run(house.store, run)
    state = driver.look(house.store, name)
    to, token = one(fields, "to"), one(fields, "token")[:LONGEST_TOKEN]
    sent = digest_of({name: said for name, said in fields.items() if name != "mark"})
    there = Redirect(f"/runs/{name}", status_code=303)
    if state.ask is None or state.key != to:
        if token and replies.is_recorded(house.store, name, token, sent):
            return there  # the same form was sent twice
        problem = f"{sentence(replies.already(state, to))} What you sent was not recorded."
        return run_page(request, house, name, problem=problem, status=409)
    found = filled(state.ask, fields)
    if found.problems or not found.reply.answers:
        problem = (
            "Fix the problems below, then send again."
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
        problem = f"{sentence(late)} What you sent was not recorded."
        return run_page(request, house, name, problem=problem, status=409)
    except QuandaryError as refused:
        return run_page(request, house, name, problem=sentence(refused), status=422, fields=fields)
    return there


def resume(request: Visit, house: House, run: str, _: Fields) -> Template | Redirect:
    name = find_run(house.store, run)
    try:
        replies.resume(house.store, house.caller(request), name, house.walks)
    except Rejected as refused:
        return run_page(request, house, name, problem=sentence(refused), status=refused.http)
    return Redirect(f"/runs/{name}", status_code=303)


def withdraw(request: Visit, house: House, run: str, fields: Fields) -> Template | Redirect:
    name = find_run(house.store, run)
    why = one(fields, "why").strip()
    if not why or len(why) > LONGEST_TEXT:
        problem = "Give a short reason for withdrawing the run."
        return run_page(request, house, name, problem=problem, status=422)
    try:
        replies.withdraw(house.store, house.caller(request), name, why)
    except Rejected as late:
        return run_page(request, house, name, problem=sentence(late), status=409)
    return Redirect(f"/runs/{name}", status_code=303)


# -- changing an answer --------------------------------------------------------------------------


@get("/runs/{run:str}/amend", include_in_schema=False)
async def amend_form(request: Visit, house: TheHouse, run: RunId, to: Key) -> Template:
    """The form in which an answer is changed."""

    def form() -> Template:
        name = find_run(house.store, run)
        return _form(request, house, name, _standing(house, name, to))

    return await asyncio.to_thread(form)


def amend(request: Visit, house: House, run: str, fields: Fields) -> Template | Redirect:
    name = find_run(house.store, run)
    found = _standing(house, name, one(fields, "to"))
    why = one(fields, "why").strip()
    sent = filled(replace(found.ask, questions=(found.question,)), fields)
    problem, status = "", 422
    if not may(house.caller(request), "amend"):
        problem, status = "Only a person can change an answer: log in first.", 403
    elif one(fields, "seen") != given(found).seen:
        problem, status = "Somebody else has changed this answer. Check it again.", 409
    elif is_under_way(house, name):
        problem, status = (
            "Agents are at work on this run. Change the answer when they are done.",
            409,
        )
    elif sent.problems:
        problem = "Fix the problems below, then send again."
    elif not sent.reply.answers:
        problem = "Nothing was chosen. The answer stays as it is."
    elif not why or len(why) > LONGEST_TEXT:
        problem = "Give a short reason for the change."
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


def _on_form(
    name: str, work: Callable[[Visit, House, str, Fields], Template | Redirect]
) -> HTTPRouteHandler:
    """What is done with a form of a run's page that comes back."""

    @post(f"/runs/{{run:str}}/{name}", status_code=303, include_in_schema=False)
    async def handle(request: Visit, house: TheHouse, run: RunId) -> Template | Redirect:
        fields = await own_form(request, house)
        return await asyncio.to_thread(work, request, house, run, fields)

    return handle


RUN_PAGES = [
    one_run,
    amend_form,
    *(_on_form(work.__name__, work) for work in (answer, resume, withdraw, amend)),
]
