"""The inbox: what waits for a person, as a list beside the question that is open."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args
from urllib.parse import urlencode

import msgspec
from litestar.exceptions import ClientException
from markupsafe import Markup
from msgspec.structs import replace

from quandary.desk.authority import Caller, find_run, project_seen
from quandary.desk.sheets import tell_in_line, tell_question
from quandary.desk.state import is_unproven, outcome_lines
from quandary.desk.timeline import (
    Origin,
    answer_text,
    index_some,
    origins,
    tell_answer,
    tell_origin,
    words_in,
)
from quandary.doors.web.metrics import seconds_since
from quandary.errors import QuandaryError, StoreError
from quandary.flows.permit import DENY, REVISE
from quandary.flows.wording import DESCRIPTIONS
from quandary.journal import runs
from quandary.journal.chance import now, stamp
from quandary.journal.entries import Began, Noted, read_body, read_matter, sha256
from quandary.journal.history import SNOOZED, GivenAnswer, find_last_answer, list_answers
from quandary.journal.policy import is_registered_one_way
from quandary.journal.store import Order, Run, Store, Waiting
from quandary.model.one_way import find_final, find_known, one_way
from quandary.model.requests import ONE_WAY
from quandary.model.text import shorten
from quandary.settings import Settings, read_settings

if TYPE_CHECKING:
    from quandary.doors.web.access import Visit
    from quandary.model.asks import Answer, Ask

PAGE = 50
FURTHEST = 1000
"""So many waiting runs are looked through for those that fit a filter before a page is shown."""
LONGEST, LONGEST_WISH = 300, 4_096
ORDER: Order = "oldest"  # how what waits is listed where nobody wishes otherwise
FOUND = 10  # so many earlier runs are shown below what waits, where somebody searches
INDEXING = 0.03  # seconds that a searcher works on the index of words; what is left is done beside
UNREADABLE = "its question cannot be read; run `quandary verify`"
KINDS = {
    "decision": "decide",
    "list": "split",
    "phase": "gate",
    "step": "walk",
    "permission": "permit",
    "question": "question",
}
"""What people call what is asked, and the flows that ask it."""
MOST_SHOWN = 4 * FURTHEST
_read: dict[str, Row] = {}
"""Rows that were read before, by their runs."""
_shown: dict[tuple[object, ...], Markup] = {}
"""Rows that were rendered before, by all that is shown of them."""
FRESH, MOST_LISTS = 2.0, 64
_lists: dict[tuple[object, ...], tuple[int, float, Listing]] = {}
"""Lists that were read before, with the newest entry of the store then, and when that was."""
LARGE = 10_000  # in signs; a longer question is kept in no memory, but read each time
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


class Wanted(NamedTuple):
    """What somebody wants to see of the inbox: it stands in the address of every page of it."""

    project: str = ""
    asker: str = ""
    kind: str = ""
    q: str = ""
    order: str = ""
    snoozed: str = ""
    after: int = 0

    @property
    def is_narrow(self) -> bool:
        """Whether something that waits may be left out."""
        return any((self.project, self.asker, self.kind, self.q, self.snoozed))

    @property
    def query(self) -> str:
        """As it stands in an address."""
        return urlencode({name: said for name, said in self._asdict().items() if said})

    def link(self, path: str = "/", **changes: Any) -> str:  # noqa: ANN401 - of its own fields
        """An address with some wishes changed; another list begins at its first page."""
        other = self._replace(after=0, **changes) if changes else self
        return f"{path}?{query}" if (query := other.query) else path


def read_wanted(request: Visit) -> Wanted:
    """The wishes in the address of a request; what cannot be wished for is refused."""
    said = {name: str(request.query_params.get(name, "")) for name in Wanted._fields}
    after = said.pop("after") or "0"
    if (
        said["kind"] not in ("", *KINDS)
        or said["order"] not in ("", *get_args(Order))
        or not (after.isascii() and after.isdigit() and len(after) < 16)
        or max(map(len, said.values())) > LONGEST_WISH
    ):
        raise ClientException("there is no such filter or order; begin at /")
    said["order"] = said["order"].removeprefix(ORDER)
    return Wanted(**said, after=int(after))


class Row(NamedTuple):
    """A run in a list: what it waits with, or what it is about."""

    run: Run
    question: str  # what is asked, on one line
    context: str = ""  # what it is about, on one line, without the marks of Markdown
    ask: Ask | None = None
    origin: Origin = Origin()
    one_way: bool = False  # people are warned that what it asks about cannot be taken back
    same: str = ""  # what rows have in common that can be answered together; nothing where none can
    until: str = ""  # until when it is snoozed
    words: str = ""  # all that it is found by, in small letters

    @property
    def age(self) -> str:
        """How long ago something happened to it last, in one unit."""
        seconds = seconds_since(self.run.since)
        for size, unit in _UNITS:
            if seconds >= size:
                return f"{int(seconds // size)} {unit}"
        return "0 s"

    @property
    def for_person(self) -> bool:
        """Whether only a person's own answer counts."""
        return self.ask is not None and self.ask.require == "person"

    @property
    def asker(self) -> str:
        """Who asked; where no name was given, what they are."""
        return self.origin.asker or "somebody"


class Listing(NamedTuple):
    """A page of the inbox."""

    wanted: Wanted
    rows: Sequence[Row]
    more: str = ""  # the address of the next page
    due: str = ""  # when the first of those that are snoozed comes back
    snoozed: int = 0  # how many were left out because they are
    earlier: Sequence[Row] = ()  # runs that do not wait, where somebody searches
    indexing: bool = False
    """The index of words has not come to its end yet, so that some may be missing."""
    projects: Mapping[str, int] = {}  # how many wait in each project, whatever is wanted

    @property
    def counted(self) -> str:
        """How many there are, as far as anybody counts."""
        shown, total = len(self.rows), sum(self.projects.values())
        every = f"{total}+" if total >= FURTHEST else str(total)
        found = f"{shown}{'+' if self.more else ''}"
        if self.wanted.snoozed:
            return found
        return f"{found} of {every}" if self.wanted.is_narrow else every

    @property
    def tag(self) -> str:
        """By what it is known again: all that a list shows of it, but for how long ago it was."""
        rows = [(r.run.id, r.run.n, r.until, r.one_way, r.same) for r in self.rows]
        earlier = [(r.run.id, r.run.n) for r in self.earlier]
        shown = (*self.wanted, rows, earlier, *self[2:5], self.indexing, self.projects)
        return f'"{sha256(msgspec.json.encode(shown)).hexdigest()[:32]}"'

    @property
    def groups(self) -> Iterator[tuple[str, Iterator[Row]]]:
        """The rows, project by project where that is the order."""
        by_project = self.wanted.order == "project"
        return groupby(self.rows, lambda row: row.run.project if by_project else "")

    def show(self, rows: Iterable[Row], render: Callable[[Row], Markup], current: str) -> Markup:
        """Rows as they stand on a page; each is rendered once for as long as it stays the same."""
        shown = list[Markup]()
        tidy(_shown)
        for row in rows:
            run = row.run
            about = (run.head, run.project, row.question, row.one_way, row.same)
            key = (self.wanted, run.id == current, row.age, *about)
            shown.append(_shown.get(key) or _shown.setdefault(key, render(row)))
        return Markup("".join(shown))  # noqa: S704 - each of them is

    def following(self, number: int, project: str) -> Row | None:
        """The row behind the run of that number in this order; else the first one."""
        if self.wanted.order == "project":
            behind = [r for r in self.rows if (r.run.project, r.run.number) > (project, number)]
        else:
            newest = self.wanted.order == "newest"
            behind = [row for row in self.rows if (row.run.number < number) == newest]
        return next(iter(behind or self.rows), None)


def keep_list(store: Store, caller: Caller, wanted: Wanted, *, alone: bool = True) -> Listing:
    """The same as `list_inbox`, read once for all who look while nothing happens. That is not for
    long: what a project's settings say may change besides. Where the hour decides what is listed,
    or somebody searches, it is read each time; and from a server, which is asked as often to say
    what is newest.
    """
    if wanted.q or store.shared is not None:
        return list_inbox(store, caller, wanted, alone=alone)
    key = (store.address, project_seen(caller), wanted, alone)
    at, newest = time.monotonic(), store.newest()
    if (kept := _lists.get(key)) and kept[0] == newest and at - kept[1] < FRESH:
        return kept[2]
    found = list_inbox(store, caller, wanted, alone=alone)
    if not found.snoozed and not any(r.run.expires or len(r.words) > LARGE for r in found.rows):
        tidy(_lists, MOST_LISTS)
        _lists[key] = newest, at, found
    return found


def tidy(kept: dict[Any, Any], most: int = MOST_SHOWN) -> None:
    """Begin anew where too much is kept."""
    if len(kept) > most:
        kept.clear()


def list_inbox(store: Store, caller: Caller, wanted: Wanted, *, alone: bool = True) -> Listing:
    """What waits for a person, as far as a caller sees it. No more is read than is shown, unless
    there are filters. Where it stands `alone`, a search also finds what does not wait.
    """
    project = project_seen(caller, wanted.project or None)
    is_sifted = wanted._replace(project="").is_narrow  # the store itself knows projects
    counted, notes = store.count_waiting(FURTHEST, project=project_seen(caller))
    settings: dict[str, Settings | None] = {}
    words, moment = words_in(wanted.q), stamp(now())
    asleep = [(where, until) for (where, _), said in notes.items() if (until := _snoozed(said))]
    asleep = [(where, until) for where, until in asleep if until > moment]
    counts = Counter(counted) - Counter(where for where, _ in asleep)
    snoozed = [until for where, until in asleep if project in (None, where)]
    limit, order = PAGE + 1 + len(snoozed), cast("Order", wanted.order or ORDER)
    limit = FURTHEST if is_sifted else min(limit, FURTHEST)
    page = store.waiting(project=project, after=wanted.after, limit=limit, order=order)
    rows: list[Row] = []
    tidy(_read)
    last = page[-1].run.number if len(page) == limit else 0
    for one in page:
        late = one.run.expires and one.run.expires <= moment
        if late and runs.look(store, one.run.id).status != "waiting":  # by a clock that is right
            continue
        row = _read_row(one)
        if (row.until > moment) != bool(wanted.snoozed) or not _fits(row, wanted, words):
            continue
        if len(rows) == PAGE:
            last = rows[-1].run.number
            break
        where = one.run.project
        if where not in settings:
            settings[where] = settings_of(where)
        known = settings[where]
        registers = known and any("questions" in part.values for part in known.parts)
        rows.append(_judge(row, known) if registers else row)
    alike = Counter(row.same for row in rows)  # whoever is alone has nobody to be selected with
    rows = [row if alike[row.same] > 1 else row._replace(same="") for row in rows]
    more = wanted._replace(after=last).link() if last else ""
    due = min(snoozed) if snoozed else ""
    found = Listing(wanted, rows, more, due, len(snoozed), projects=counts)
    searched = words and alone and not wanted.after
    return _add_earlier(store, project, found, words) if searched else found


def _read_row(one: Waiting) -> Row:
    """A row from what a store has of it, read once until something happens to its run."""
    row = _read.get(one.run.id)
    if row is None or row.run != one.run:
        row = _make_row(one.run, one.began, one.asked, one.notes)
        if row.ask is not None and len(one.asked or b"") <= LARGE:
            _read[one.run.id] = row
    return row


def _make_row(run: Run, began: bytes | None, asked: bytes | None, notes: Sequence[bytes]) -> Row:
    """The same from its parts; where its question cannot be read, that is said."""
    ask, beginning = None, None
    with suppress(QuandaryError, msgspec.DecodeError, UnicodeDecodeError):
        ask = read_matter(asked).ask
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        beginning = read_body(began) if began else None
    origin = tell_origin(beginning)._replace(about="" if ask else UNREADABLE)
    row = Row(run, short(tell_about(origin)) or run.flow, origin=origin, until=_snoozed(notes))
    words = [origin.asker, origin.further, run.project, run.id]
    if ask is None:
        return row._replace(words=" ".join(words).casefold())
    words.append(ask.preamble.text)
    for one in ask.questions:
        words += [one.text, one.header, one.title]
        words += [f"{choice.label} {choice.description}" for choice in one.options]
    asked_first, about = tell_in_line(ask)
    further = f" (+{len(ask.questions) - 1})" if len(ask.questions) > 1 else ""
    tree = beginning.documents.get("tree", "") if isinstance(beginning, Began) else ""
    row = row._replace(
        ask=ask,
        question=short(asked_first) + further,
        context=short(about),
        same=_likeness(ask, tree),
        words=" ".join(words).casefold(),
    )
    return _judge(row, None)


def _snoozed(notes: Sequence[bytes]) -> str:
    """Until when what waits is snoozed, as the last of the notes on it that says so has it."""
    until = ""
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        for note in map(read_body, notes):
            if isinstance(note, Noted) and note.kind == SNOOZED:
                until = note.until
    return until


def _likeness(ask: Ask, tree: str) -> str:
    """What an Ask has in common with those that ask the same question of the same tree."""
    question = ask.questions[0]
    if not tree or len(ask.questions) > 1 or question.gathered or question.fields:
        return ""
    text = question.template or question.text
    text = text.replace(question.title, "{}") if question.title else text
    options = sorted(question.options, key=lambda choice: choice.code)
    asked = (tree, ask.require, text, question.extras, question.multi, options)
    return sha256(msgspec.json.encode(asked)).hexdigest()[:16]


def _fits(row: Row, wanted: Wanted, words: Sequence[str]) -> bool:
    is_kind = KINDS.get(wanted.kind, row.run.flow) == row.run.flow
    return is_kind and wanted.asker in ("", row.asker) and all(word in row.words for word in words)


def _judge(row: Row, settings: Settings | None) -> Row:
    """A row that says whether what it asks about can be taken back. What is warned of stands alone,
    and so does whatever else the net of one-way words catches.
    """
    if row.ask is None:
        return row
    warns = is_one_way(settings, row.ask)
    alone = warns or (row.same and _is_caught(row.ask))
    return row._replace(one_way=warns, same="" if alone else row.same)


def _is_caught(ask: Ask) -> bool:
    """Whether the net catches what is asked of an item, which may have any name, its name, or what
    can be chosen; or whether all of that is known not to be taken back.
    """
    one = ask.questions[0]
    asked = one.text.replace(one.title, "it") if one.title else one.text
    choices = (f"{choice.label}. {choice.description}" for choice in one.choices)
    caught = one_way(one.id, f"{one.title}?", asked, *choices)
    return bool(caught) or any(map(find_known, _words_of(ask)))


def is_one_way(settings: Settings | None, ask: Ask) -> bool:
    """Whether people are warned that what is asked about cannot be taken back. That rests on what
    is asked and on what can be chosen, not on what is told before it; what no preference decides,
    and what is never answered together, is more than that. Of an action a permit itself says it.
    """
    known = is_registered_one_way(settings, ask) or f"**{ONE_WAY}**" in ask.preamble.context
    return known or any(map(find_final, _words_of(ask)))


def _words_of(ask: Ask) -> Iterator[str]:
    """What is asked, and what can be chosen, without our own words for parts of a split."""
    for one in ask.questions:
        yield " › ".join((one.title, *tell_question(ask, one)))
        for choice in one.choices:
            ours = choice.description in DESCRIPTIONS.values()
            yield choice.label if ours else f"{choice.label}. {choice.description}"


def settings_of(project: str) -> Settings | None:
    """The settings that hold in a project; nothing where they cannot be read."""
    with suppress(QuandaryError):
        return read_settings(project or None)
    return None


_indexed_beside: set[str] = set()  # stores whose index of words is brought to its end by a thread
_indexed: dict[str, int] = {}  # the newest entry of stores when their index had come to its end


def find_runs(
    store: Store, words: Sequence[str], project: str | None, limit: int, below: int | None = None
) -> tuple[list[Run], bool]:
    """The newest runs that have all the words, and whether the index has come to its end. It is
    made by those who search. What that leaves to be done is done beside, so that nobody waits for
    it.
    """
    deadline, newest, left = time.monotonic() + INDEXING, store.newest(), 0
    if store.address in _indexed_beside:
        left = newest
    elif _indexed.get(store.address) != newest:
        try:
            while (left := index_some(store)) and time.monotonic() < deadline:
                pass
        except StoreError:  # it cannot be written now
            return [], False
        if left:
            _indexed_beside.add(store.address)
            threading.Thread(target=_index_all, args=(store,), daemon=True).start()
        else:
            _indexed[store.address] = newest
    further = {} if below is None else {"below": below}
    return store.having(words, project=project, limit=limit, **further), not left


def _index_all(store: Store) -> None:
    try:
        with suppress(StoreError):
            while index_some(store):
                time.sleep(0.01)  # others want to write too
    finally:
        _indexed_beside.discard(store.address)


def _add_earlier(
    store: Store, project: str | None, found: Listing, words: Sequence[str]
) -> Listing:
    """What waits, with the newest runs besides that have the words."""
    rows, is_whole = find_runs(store, words, project, FOUND + len(found.rows))
    earlier = [row for row in rows if row.waits != "person"][:FOUND]
    return found._replace(earlier=tell_rows(store, earlier), indexing=not is_whole)


def tell_rows(store: Store, rows: Sequence[Run]) -> list[Row]:
    """Runs as a list tells of them."""
    began = origins(store, [row.id for row in rows])
    return [Row(r, short(tell_about(began[r.id])) or r.flow, origin=began[r.id]) for r in rows]


class Notice(NamedTuple):
    """What is said of what was just answered or snoozed."""

    runs: Sequence[str]
    answer: str = ""
    obstacle: str = ""  # why it cannot be undone
    key: str = ""
    until: str = ""  # when it comes back
    asks: bool = False  # it asks back, or looks something up, and decides nothing


def tell_snoozed(store: Store, caller: Caller, name: str) -> Notice | None:
    """Until when a run that a caller sees is snoozed."""
    with suppress(QuandaryError):
        notes = store.entries(find_run(store, caller, name), kinds=("noted",))
        until = _snoozed([note.body for note in notes])
        return Notice([name], until=until) if until else None
    return None


def tell_answered(store: Store, caller: Caller, names: Sequence[str]) -> Notice | None:
    """What was answered last in the first of the runs, if a caller sees it, and whether that can
    still be undone. Where several were, that is what was answered in each.
    """
    with suppress(QuandaryError, IndexError):
        if project_seen(caller) is not None:  # a login sees them all
            find_run(store, caller, names[0])
        entries = store.entries(names[0])
        last = find_last_answer(entries)
        _, answers = list_answers(names[0], entries, whole=False)
        if last is not None:
            said = [a for a in answers if a.ask.key == last.key]
            parts = ((answer_of(a), a.question) for a in said)
            titled = len(names) == 1
            told = [(answer_text if titled and q.title else tell_answer)(a, q) for a, q in parts]
            key = said[0].question.key if said else last.key
            asks = not any(a.answer.settles for a in said)
            for end in [entry.read_matter() for entry in entries if entry.kind == "ended"][-1:]:
                if is_unproven("gate", end.result):
                    told = outcome_lines("gate", end.result)[:1]
                told = [f"it failed: {end.error}"] if end.error else told
            return Notice(names, "; ".join(told), last.obstacle, key, asks=asks)
    return None


def answer_of(found: GivenAnswer) -> Answer:
    """An answer as it is told: words of one's own in the place of a permit deny it."""
    answer, codes = found.answer, [choice.code for choice in found.question.choices]
    denies = found.question.id.startswith("permit-") and answer.text and not answer.picked
    return replace(answer, picked=(REVISE if REVISE in codes else DENY,)) if denies else answer


def tell_about(origin: Origin) -> str:
    """What a run is about, with the name of its tree, or of what asked, as people write it."""
    name, colon, rest = origin.about.partition(":")
    name = {flow: kind for kind, flow in KINDS.items()}.get(name, name)
    shown = name.replace("_", " ").capitalize() if name.isupper() or name in KINDS else name
    return f"{shown}{origin.titles and f' · {origin.titles}'}{colon}{rest}"


def short(text: str) -> str:
    """As much of a text as a list shows."""
    return shorten(" ".join(text.split()), LONGEST)


def folder_of(project: str) -> str:
    """The last part of a project, which is how people call it."""
    return project.rstrip("/").rpartition("/")[2]
