"""Runs in lists: what waits, and all there are."""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from litestar import get
from litestar.params import FromQuery, QueryParameter
from litestar.response import ServerSentEvent, ServerSentEventMessage, Template

from quandary.desk.authority import may, project_seen
from quandary.desk.timeline import words_in
from quandary.doors.web.access import TheSite, Visit, page
from quandary.doors.web.api import Status
from quandary.doors.web.events import following
from quandary.doors.web.inbox import LONGEST_WISH, PAGE, find_runs, tell_rows
from quandary.doors.web.questions import lines
from quandary.errors import QuandaryError
from quandary.formats.markdown import parse
from quandary.formats.rules import short_name
from quandary.formats.sources import tree_files, tree_places
from quandary.journal.chance import now
from quandary.journal.counts import occasions, summarize_questions
from quandary.settings.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quandary.desk.authority import Caller
    from quandary.doors.web.questions import Line
    from quandary.journal.store import Store


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
PATIENCE = 0.2
"""Seconds that somebody waits for figures before they see those of before, or none."""
_kept: WeakKeyDictionary[Store, dict[str | None, tuple[int, dict[str, Any]]]] = WeakKeyDictionary()
"""The last figures of a store, each with the newest entry then: only what is new changes them."""
_counting: dict[tuple[str, str | None], threading.Thread] = {}


def find_figures(store: Store, project: str | None = None) -> tuple[dict[str, Any] | None, bool]:
    """The figures of a project, or of all, and whether they are those of now.

    A thread counts. Where that takes longer than anybody waits, those of before are given, if
    there are any.
    """
    newest, kept = store.newest(), _kept.setdefault(store, {})
    if kept.get(project, (-1,))[0] != newest:
        counting = _counting.get((store.address, project))
        if counting is None or not counting.is_alive():
            counting = threading.Thread(target=_count, args=(store, project, newest), daemon=True)
            _counting[store.address, project] = counting
            counting.start()
        counting.join(PATIENCE)
    seen, figures = kept.get(project, (-1, None))
    return figures, seen >= newest


def _count(store: Store, project: str | None, newest: int) -> None:
    with suppress(Exception):  # the server ends, or the store is away; whoever looks again sees
        _kept[store][project] = newest, gather_figures(store, project)


def gather_figures(store: Store, project: str | None = None) -> dict[str, Any]:
    """Count the questions of a project, or of all."""
    every = list(occasions(store, project, lambda *_: sleep(0.01)))  # others want to read too
    days = Counter(occasion.asked[:10] for occasion in every)
    today = now().date()
    names = [(today - timedelta(days=ago)).isoformat() for ago in range(DAYS - 1, -1, -1)]
    people = [o for o in every if o.answered and o.who != "policy"]
    bounds = [bound for bound, _ in _TIMES]
    spans = Counter(bisect_right(bounds, o.seconds) for o in people if o.seconds is not None)
    labels = [f"< {name}" for _, name in _TIMES] + ["longer"]
    judged = [o.followed for o in every if o.followed is not None]
    return {
        "found": summarize_questions(every),
        "days": _bars([(name, days[name]) for name in names], every_so_many=7),
        "times": _bars([(label, spans[place]) for place, label in enumerate(labels)]),
        "today": days[today.isoformat()],
        "by": Counter(o.who for o in every if o.answered).most_common(),
        "followed": (len(judged), sum(judged)),
    }


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


@get("/runs", sync_to_thread=True, include_in_schema=False)
def runs(
    request: Visit,
    site: TheSite,
    status: FromQuery[Status | None] = None,
    q: Annotated[str, QueryParameter(max_length=LONGEST_WISH)] = "",
    after: After = 0,
) -> Template:
    """Every run, the newest first, or those that have all the words."""
    seen, words, is_whole = project_seen(site.caller(request)), words_in(q), True
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
def trees(request: Visit, site: TheSite) -> Template:
    """The project's trees, drawn, with what is wrong with them."""
    return page(request, site, "trees", found=list(list_trees(site.caller(request))))


@get("/stats", sync_to_thread=True, include_in_schema=False)
def stats(request: Visit, site: TheSite) -> Template:
    """What people make of the questions."""
    shown: dict[str, Any] = {"most": MOST_QUESTIONS, "width": WIDTH, "height": HEIGHT}
    figures, is_new = find_figures(site.store, project_seen(site.caller(request)))
    runs = site.store.count_runs() if figures is None else 0
    return page(request, site, "stats", figures=figures, is_new=is_new, runs=runs, **shown)


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


PAGES = [runs, trees, stats, events]
