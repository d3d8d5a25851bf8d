"""Runs in lists: what waits, and all there are."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args
from urllib.parse import urlencode

import msgspec
from litestar import get
from litestar.params import FromQuery, QueryParameter
from litestar.response import ServerSentEvent, ServerSentEventMessage, Template

from quandary.desk import timeline
from quandary.desk.authority import may, project_seen
from quandary.desk.state import end_what_expired
from quandary.doors.web.access import TheSite, Visit, page
from quandary.doors.web.api import Status
from quandary.doors.web.events import following
from quandary.doors.web.metrics import seconds_since
from quandary.doors.web.questions import lines
from quandary.errors import QuandaryError
from quandary.formats.markdown import parse
from quandary.formats.rules import short_name
from quandary.formats.sources import tree_files, tree_places
from quandary.journal.chance import now
from quandary.journal.counts import occasions, summarize_questions
from quandary.model.text import shorten
from quandary.settings.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quandary.desk.authority import Caller
    from quandary.doors.web.questions import Line
    from quandary.journal.store import Run, Store
    from quandary.model.asks import Ask

PAGE = 50
FURTHEST = 1000
"""So many waiting runs are looked through for those that fit a filter before a page is shown."""
LONGEST = 300
UNREADABLE = "its question cannot be read; run `quandary verify`"
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


class Row(NamedTuple):
    """A run in a list: what it waits with, or what it is about."""

    run: Run
    ask: Ask | None = None
    about: str = ""

    @property
    def folder(self) -> str:
        """The last part of the project, which is how people call it."""
        return self.run.project.rstrip("/").rpartition("/")[2]

    @property
    def age(self) -> str:
        """How long ago something happened to it last, in one unit."""
        seconds = seconds_since(self.run.since)
        size, unit = next((unit for unit in _UNITS if seconds >= unit[0]), _UNITS[-1])
        return f"{int(seconds // size)} {unit}"


class Wanted(NamedTuple):
    """What a visitor wants to see of the inbox."""

    project: str | None = None
    flow: str | None = None
    kind: str | None = None
    newest: bool = False


def list_inbox(store: Store, wanted: Wanted, after: int = 0) -> tuple[list[Row], int | None]:
    """What waits for a person, and the number of the run behind which the next page begins.

    No more is read than is shown, unless there are filters.
    """
    end_what_expired(store)
    found: list[Row] = []
    for seen, row in enumerate(_waiting(store, wanted, after), 1):
        ask = _read_ask(store, row)
        if wanted.flow in (None, row.flow) and wanted.kind in (None, ask.kind if ask else ""):
            found.append(Row(row, ask, "" if ask else UNREADABLE))
        if len(found) == PAGE or seen == FURTHEST:
            return found, row.number
    return found, None


def _waiting(store: Store, wanted: Wanted, after: int) -> Iterator[Run]:
    while rows := store.runs(
        waits="person", project=wanted.project, after=after, limit=PAGE, newest=wanted.newest
    ):
        yield from rows
        after = rows[-1].number
        if len(rows) < PAGE:
            return


def _read_ask(store: Store, row: Run) -> Ask | None:
    """The Ask that a run waits with; nothing where it cannot be read."""
    with suppress(QuandaryError, msgspec.DecodeError, UnicodeDecodeError):
        for entry in store.entries(row.id, after=row.asked - 1, upto=row.asked):
            return entry.read_matter().ask
    return None


def short(text: str) -> str:
    """As much of a text as a list shows."""
    return shorten(" ".join(text.split()), LONGEST)


class Drawn(NamedTuple):
    """A tree, or a file that cannot be read; each problem comes with its severity."""

    path: str
    problems: Sequence[tuple[str, str]]
    name: str = ""
    trigger: str = ""
    lines: Sequence[Line] = ()


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
            yield from _in_file(path, os.path.relpath(path, project))


def _in_file(path: str, shown: str) -> Iterator[Drawn]:
    try:
        document = parse(read_text(path))
    except QuandaryError as error:
        yield Drawn(shown, [("error", str(error))])
        return
    problems: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for d in document.diagnostics:
        problems[d.tree].append((d.severity, f"line {d.line}: {d.message} ({d.rule})"))
    for tree in document.trees:
        if not tree.fenced:
            # Those of several trees of one name stand at the first of them.
            found = problems.pop(short_name(tree), [])
            yield Drawn(shown, found, tree.name, tree.trigger, lines(tree))


DAYS = 30
MOST_QUESTIONS = 50
WIDTH, HEIGHT = 600, 120
_TIMES = ((10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (86400, "1 d"))
_kept: dict[tuple[int, int, str | None], dict[str, Any]] = {}
"""The last figures of a store: they only change when something is appended."""


def gather_figures(store: Store, project: str | None = None) -> dict[str, Any]:
    """Count the questions of a project, or of all."""
    state = (id(store), store.newest(), project)
    if known := _kept.get(state):
        return known
    every = list(occasions(store, project))
    days = Counter(occasion.asked[:10] for occasion in every)
    today = now().date()
    names = [(today - timedelta(days=ago)).isoformat() for ago in range(DAYS - 1, -1, -1)]
    people = [o for o in every if o.answered and o.who != "policy"]
    bounds = [bound for bound, _ in _TIMES]
    spans = Counter(bisect_right(bounds, o.seconds) for o in people if o.seconds is not None)
    labels = [f"< {name}" for _, name in _TIMES] + ["longer"]
    judged = [o.followed for o in every if o.followed is not None]
    _kept.clear()
    _kept[state] = {
        "found": summarize_questions(every),
        "days": _bars([(name, days[name]) for name in names], every_so_many=7),
        "times": _bars([(label, spans[place]) for place, label in enumerate(labels)]),
        "today": days[today.isoformat()],
        "by": Counter(o.who for o in every if o.answered).most_common(),
        "followed": (len(judged), sum(judged)),
    }
    return _kept[state]


def _bars(counts: list[tuple[str, int]], every_so_many: int = 1) -> list[dict[str, Any]]:
    """Columns beside one another; the last of them has its name in any case."""
    most = max(count for _, count in counts) or 1
    room = WIDTH / len(counts)
    return [
        {
            "x": round(place * room + room * 0.1, 1),
            "y": round(HEIGHT - (height := round(HEIGHT * count / most, 1)), 1),
            "width": round(room * 0.8, 1),
            "height": height,
            "number": count,
            "name": name,
            "shown": (len(counts) - 1 - place) % every_so_many == 0,
        }
        for place, (name, count) in enumerate(counts)
    ]


After = Annotated[int, QueryParameter(ge=0, le=2**53)]


@get("/", sync_to_thread=True, include_in_schema=False)
def inbox(
    request: Visit,
    site: TheSite,
    project: Annotated[str | None, QueryParameter(max_length=4_096)] = None,
    flow: Annotated[str | None, QueryParameter(pattern=r"^[a-z]{1,20}$")] = None,
    kind: FromQuery[Literal["transition", "advisory"] | None] = None,
    order: FromQuery[Literal["oldest", "newest"]] = "oldest",
    after: After = 0,
) -> Template:
    """Everything that waits for a person."""
    seen = project_seen(site.caller(request), project)
    wanted = Wanted(seen, flow, kind, order == "newest")
    found, more = list_inbox(site.store, wanted, after)
    filters = {"project": project, "flow": flow, "kind": kind}
    chosen = {**filters, "order": "newest" if wanted.newest else None}

    def link(name: str, value: str | int | None) -> str:
        """The address of the inbox with one wish changed."""
        said = {key: wish for key, wish in {**chosen, name: value}.items() if wish}
        return f"/?{urlencode(said)}" if said else "/"

    return page(
        request,
        site,
        "inbox",
        part="inbox_list",
        found=found,
        more=link("after", more) if more else "",
        first=not after,
        filters=[(n, value, link(n, None)) for n, value in filters.items() if value is not None],
        order=order,
        turned=link("order", None if wanted.newest else "newest"),
        narrowed=link,
    )


@get("/runs", sync_to_thread=True, include_in_schema=False)
def runs(
    request: Visit,
    site: TheSite,
    status: FromQuery[Status | None] = None,
    after: After = 0,
) -> Template:
    """Every run, the newest first."""
    seen = project_seen(site.caller(request))
    rows = site.store.runs(status=status, project=seen, after=after, limit=PAGE, newest=True)
    return page(
        request,
        site,
        "runs",
        part="runs_list",
        found=[Row(row, about=timeline.about(site.store, row.id)) for row in rows],
        more=rows[-1].number if len(rows) == PAGE else None,
        statuses=get_args(Status),
        chosen=status,
    )


@get("/trees", sync_to_thread=True, include_in_schema=False)
def trees(request: Visit, site: TheSite) -> Template:
    """The project's trees, drawn, with what is wrong with them."""
    return page(request, site, "trees", found=list(list_trees(site.caller(request))))


@get("/stats", sync_to_thread=True, include_in_schema=False)
def stats(request: Visit, site: TheSite) -> Template:
    """What people make of the questions."""
    shown: dict[str, Any] = {"most": MOST_QUESTIONS, "width": WIDTH, "height": HEIGHT}
    figures = gather_figures(site.store, project_seen(site.caller(request)))
    return page(request, site, "stats", figures=figures, **shown)


@get("/events", include_in_schema=False)
async def events(
    request: Visit,
    site: TheSite,
    run: Annotated[str, QueryParameter(pattern=r"^[0-9A-Z]{0,26}$")] = "",
) -> ServerSentEvent:
    """News for an open page, as long as its login: of one run, or of all that it sees."""
    session, project = site.visitor(request).session, project_seen(site.caller(request))

    async def news() -> AsyncIterator[ServerSentEventMessage]:
        with site.events.listening(run, project) as queue:
            yield ServerSentEventMessage(data="hello", event="hello", retry=2000)
            while site.events.hears(queue):
                runs = await following(queue)
                if session is not None and not site.keys.is_open(session):
                    return
                yield ServerSentEventMessage(data=runs, event="news" if runs else "quiet")

    return ServerSentEvent(news())


PAGES = [inbox, runs, trees, stats, events]
