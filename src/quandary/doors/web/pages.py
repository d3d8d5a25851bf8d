"""Runs in lists, all there are; and several that ask the same, answered together."""

from __future__ import annotations

import asyncio
import os
import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args
from urllib.parse import urlencode
from weakref import WeakKeyDictionary, proxy

from litestar import get, post
from litestar.params import FromQuery, QueryParameter
from litestar.response import Redirect, Stream, Template

from quandary.desk import reply as replies
from quandary.desk.authority import Caller, may, project_seen
from quandary.desk.begin import digest_of
from quandary.desk.timeline import words_in
from quandary.doors.web.access import Fields, Site, TheSite, Visit, one, own_form, page
from quandary.doors.web.api import Status
from quandary.doors.web.events import following
from quandary.doors.web.inbox import (
    LONGEST_WISH,
    PAGE,
    Row,
    Wanted,
    find_runs,
    list_inbox,
    read_wanted,
    tell_rows,
)
from quandary.doors.web.questions import Line, lines, read_fields, show_question
from quandary.doors.web.run_pages import FIX, onward, sentence
from quandary.errors import QuandaryError, Rejected
from quandary.formats.markdown import parse
from quandary.formats.rules import short_name
from quandary.formats.sources import tree_files, tree_places
from quandary.journal.chance import now
from quandary.journal.counts import Following, Sums
from quandary.journal.runs import look
from quandary.settings.files import read_text

if TYPE_CHECKING:
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
PATIENCE, QUICK = 0.05, 3_000
"""Seconds that somebody waits for figures before they see those of before, or none; and how many
entries are counted at once. With more, whoever opens the page sees it first."""


class _Kept(NamedTuple):
    """What was counted of a store, for one project or for all."""

    following: Following
    sums: Sums
    figures: list[tuple[int, dict[str, Any]]]
    """The last ones, with the newest entry then."""


_kept: WeakKeyDictionary[Store, dict[str | None, _Kept]] = WeakKeyDictionary()
_counting: dict[tuple[str, str | None], threading.Thread] = {}
_one_by_one = threading.Lock()


def find_figures(store: Store, project: str | None = None) -> tuple[dict[str, Any] | None, bool]:
    """The figures of a project, or of all, and whether they are those of now.

    A thread counts what is new. Where that takes longer than anybody waits, those of before are
    given, if there are any.
    """
    newest = store.newest()
    kept = _kept.setdefault(store, {}).setdefault(
        project, _Kept(Following(proxy(store), project), Sums(), [])
    )
    if not kept.figures or kept.figures[-1][0] != newest:
        with _one_by_one:
            counting = _counting.get((store.address, project))
            if counting is None or not counting.is_alive():
                counting = threading.Thread(target=_count, args=(kept, newest), daemon=True)
                _counting[store.address, project] = counting
                counting.start()
        counting.join(PATIENCE)
    seen, figures = kept.figures[-1] if kept.figures else (-1, None)
    return figures, seen >= newest


def _count(kept: _Kept, newest: int) -> None:
    with suppress(Exception):  # the server ends, or the store is away; whoever looks again sees
        sleep(0 if kept.figures or newest <= QUICK else 5 * PATIENCE)
        for sign, one in kept.following.news(lambda *_: sleep(0.01)):  # others want to read too
            kept.sums.count(one, sign)
        kept.figures[:] = [(newest, gather_figures(kept.sums))]


def gather_figures(sums: Sums) -> dict[str, Any]:
    """What was counted, as the page shows it."""
    found, today = sums.summarize(), now().date()
    names = [(today - timedelta(days=ago)).isoformat() for ago in range(DAYS - 1, -1, -1)]
    spans: Counter[str] = Counter()
    for question in sums.questions.values():
        bounds = [0, *(bisect_left(question.times, bound) for bound, _ in _TIMES)]
        labels = (f"< {name}" for _, name in _TIMES)
        spans.update(dict(zip(labels, (b - a for a, b in pairwise(bounds)), strict=True)))
        spans["longer"] += len(question.times) - bounds[-1]
    by = sum((question.by for question in sums.questions.values()), Counter[str]())
    return {
        "found": found,
        "days": _bars([(name, sums.days[name]) for name in names], every_so_many=7),
        "times": _bars(list(spans.items()) or [("longer", 0)]),
        "today": sums.days[today.isoformat()],
        "by": by.most_common(),
        "followed": (
            sum(tally.recommended for tally in found.questions),
            sum(tally.followed for tally in found.questions),
        ),
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
    project = project_seen(site.caller(request))
    figures, is_new = find_figures(site.store, project)
    runs = site.store.count_runs(project=project) if figures is None else 0
    return page(request, site, "stats", figures=figures, is_new=is_new, runs=runs, **shown)


@get("/events", include_in_schema=False)
async def events(
    request: Visit,
    site: TheSite,
    run: Annotated[str, QueryParameter(pattern=r"^[0-9A-Z]{0,26}$")] = "",
) -> Stream:
    """News for an open page, as long as its login: of one run, or of all that it sees."""
    session, project = site.visitor(request).session, project_seen(site.caller(request))

    async def news() -> AsyncIterator[bytes]:
        with site.events.listening(run, project) as queue:
            yield b"event: hello\r\ndata: hello\r\nretry: 2000\r\n\r\n"
            while site.events.hears(queue):
                runs = await following(queue)
                if session is not None and not site.keys.is_open(session):
                    return
                kind = "news" if runs else "quiet"
                yield f"event: {kind}\r\ndata: {runs}\r\n\r\n".encode()

    headers = {"Cache-Control": "no-cache", "Connection": "keep-alive", "X-Accel-Buffering": "no"}
    return Stream(news(), media_type="text/event-stream", headers=headers)


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
    state = look(site.store, rows[0].run.id)
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


PAGES = [runs, trees, stats, events, together, answer_together]
