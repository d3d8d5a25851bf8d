"""The one driver: every way of asking begins, answers and ends runs through these functions.

A run is its journal. To resume it, its flow is built again and sent the recorded responses; a
response and the request that follows it are appended as one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property, wraps
from math import inf
from typing import TYPE_CHECKING, Any, NotRequired, ParamSpec, TypedDict, TypeVar, Unpack
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from quandary.errors import (
    AlreadyAnswered,
    Diverged,
    NotFound,
    PersonRequired,
    ReadOnly,
    Rejected,
    Reused,
)
from quandary.journal import chance
from quandary.journal.entries import (
    EMPTY,
    START,
    Answered,
    Asker,
    Began,
    Called,
    Entry,
    Matter,
    Noted,
    Returned,
    Source,
    Who,
    document_bytes,
    document_digest,
    read_beginning,
    read_body,
    readable,
)
from quandary.journal.history import (
    BY_PREFERENCE,
    HANDED,
    UNDONE,
    Earlier,
    Given,
    Writer,
    find_last_answer,
    fold,
    is_open_to_undo,
    list_answers,
    look_at,
    standing_at,
    state_of,
)
from quandary.journal.progress import (
    Progress,
    attribute,
    heard,
    key_of,
    rebuild,
    require_fit,
    require_person,
    resume,
    start,
    version_of,
    way_back,
)
from quandary.journal.store import Last, Moved, Run, State, Store, Taken
from quandary.model.asks import BACK, MARK, Answer, Ask, Note, Outcome, Reply
from quandary.model.calls import Do, Done, Output

if TYPE_CHECKING:
    from quandary.flows import Request
    from quandary.journal.policy import Policy

    Deeds = Callable[[Do], Done | None]
    """What the house does itself; nothing where it waits for somebody who does it."""
    Response = Reply | Output | tuple[Output, ...] | Done
    Listener = Callable[[Run, Ask], None]

    class Said(TypedDict):
        """What a `Source` is made of: who does it, through what, and under which name."""

        who: Who
        through: str
        by: NotRequired[str]


P = ParamSpec("P")
T = TypeVar("T")

IMPORTED = "imported\n"
"""Begins the name by which the record of an imported run is found; the run's own id follows."""
EXPIRED = "nobody answered until"
"""Begins the reason of a run that was withdrawn because its time was up; the moment follows."""
LONGEST_UNSEEN = 1.0
"""Seconds after which whoever waits for a run looks at it although nothing was written."""
SHORT = 16  # a run of so few entries is read all at once
_MEANT = str.maketrans("ILO", "110")  # letters that no id has
ANEW = "The step is tried anew; what came of it so far is kept and no longer counts."
ONCE_MORE = "It resumes with as much once more as it was allowed when it began."


class OpenRun:
    """A run that was looked up once: its row, and what else of it was needed since then. Whoever
    looks at a run, answers it and shows it hands this on, and nothing is read twice. It moves along
    with what is recorded through it. Where somebody else was first, the store refuses to append,
    and the run is looked up again.
    """

    def __init__(self, store: Store, row: Run, progress: Progress | None = None) -> None:
        self.store, self.row = store, row
        if progress is not None:
            self.progress = progress

    @property
    def id(self) -> str:
        """The name of the run."""
        return self.row.id

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """What the run was begun with, without its documents; empty where that was pruned."""
        if entries := vars(self).get("entries"):
            return entries[0].read_matter().arguments or {}
        return read_beginning(self.store, self.id)[1]

    @cached_property
    def entries(self) -> list[Entry]:
        """All of its entries."""
        return self.store.entries(self.id, upto=self.row.n)

    @cached_property
    def state(self) -> State:
        """Where the run stands, as its journal shows it; of a short run, all is read at once. What
        the flow waits for and nothing was noted beside need not be read.
        """
        if "progress" in vars(self) and self.row.waits == "person" and self.row.asked == self.row.n:
            return state_of(self.row, self.progress)
        entries = self.entries if self.row.n <= SHORT else vars(self).get("entries")
        return look_at(self.store, self.row, entries=entries)

    @cached_property
    def progress(self) -> Progress:
        """The flow of a waiting run, standing where the journal says that it stands."""
        row, progress = self.row, self._resume({})
        request = progress.request
        together = request if isinstance(request, tuple) else (request,)
        if row.key not in {getattr(one, "key", "") for one in together}:
            raise Diverged(
                f"run {row.id} waits for {row.key}, which its flow no longer asks for; `quandary "
                f"log {row.id}` shows it, --from {row.id} begins anew with the answers that fit"
            )
        return progress

    def _resume(self, reply: dict[str, Reply]) -> Progress:
        run, entries = self.id, vars(self).get("entries")
        recorded = entries and [e.recorded for e in entries]
        with readable(run):
            known = heard(run, recorded or self.store.recorded(run, self.row.n))
            known.responses.update(reply)
            progress = resume(self.store, run, known)
        vars(self).setdefault("arguments", known.arguments)
        return progress

    def build(self) -> OpenRun:
        """Build the flow, unless it is there; what the run was begun with comes with that."""
        _ = self.progress
        return self

    def prepare(self) -> OpenRun:
        """Have at hand what a reply needs: the flow, or of a short run the entries from which that
        is built when it is sent the reply.
        """
        _ = self.state if self.row.n <= SHORT else self.progress
        return self

    @property
    def request(self) -> Request | None:
        """What the run waits for: as it was shown, where that was looked at."""
        is_built = "progress" in vars(self) or "state" not in vars(self)
        return self.progress.request if is_built or not self.state.ask else self.state.ask

    def take(self, ask: Ask, reply: Reply) -> None:
        """Send a reply into the flow; one that is built for it need not ask once more."""
        if "progress" in vars(self):
            self.progress.take(reply)
        else:
            self.progress = self._resume({ask.key: reply})

    def move(self, row: Run) -> None:
        """Stand where what was appended leads."""
        self.row = row
        for known in ("state", "entries"):
            vars(self).pop(known, None)


def _until_appended(act: Callable[P, T]) -> Callable[P, T]:
    """Do it once more whenever somebody else appended to the run first; it looks again then."""

    @wraps(act)
    def insist(*args: P.args, **kwargs: P.kwargs) -> T:
        while True:
            with suppress(Moved):
                return act(*args, **kwargs)

    return insist


class Elsewhere(NotFound):
    """A run that another store wrote: there is a copy to look at, and nothing to resume."""

    def __init__(self, run: str, record: str) -> None:
        self.run, self.record = run, record
        super().__init__(
            f"run {run} was imported and can only be looked at (`quandary log {run}`); "
            "resume it where it came from"
        )


def find_run(store: Store, prefix: str, project: str | None = None) -> str:
    """The id of the one run that begins like this."""
    return find_row(store, prefix, project).id


def find_row(store: Store, prefix: str, project: str | None = None) -> Run:
    """The one run, of a project or of all, that begins like this; I, L and O are 1, 1 and 0."""
    if not (wanted := prefix.strip().upper().translate(_MEANT)):
        raise NotFound("name a run; `quandary runs` lists them")
    row = store.run(wanted)
    if row is not None and project in (None, row.project):
        return row
    found = store.between(wanted, f"{wanted}~", 4, project=project)
    if not found:
        copies = store.named(IMPORTED + wanted, f"{IMPORTED}{wanted}~", project=project)
        found = [name.removeprefix(IMPORTED) for name in copies]
        if len(found) == 1:
            raise Elsewhere(found[0], *copies.values())
    if not found:
        raise NotFound(f"there is no run {prefix.strip()}; `quandary runs` lists them")
    if len(found) > 1:
        some = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        raise NotFound(f"{prefix.strip()} is ambiguous ({some}); type more characters")
    return store.require_run(found[0])


def open_run(store: Store, run: str | Run) -> OpenRun:
    """A run, looked up once for all that is done with it now, unless its row was just read."""
    name = run if isinstance(run, str) else run.id
    row = run if isinstance(run, Run) and not run.expires else _row(store, name)
    kept = _remembered(store, name)
    return kept if kept is not None and kept.row.n == row.n else OpenRun(store, row)


def arguments_of(store: Store, run: str) -> dict[str, Any]:
    """What a run was begun with, without its documents."""
    known = _opened.get(store, {}).get(run, {}).get("arguments")
    return read_beginning(store, run)[1] if known is None else known


def open_whole(store: Store, run: str, row: Run | None = None) -> OpenRun:
    """A run with all of its entries; the row that it had before is read again where it moved."""
    if row is not None and not row.expires:
        entries = store.entries(run)
        if len(entries) == row.n:
            handle = OpenRun(store, row)
            handle.entries = entries
            return handle
    return open_run(store, run)


def begin(
    store: Store,
    flow: str,
    arguments: Mapping[str, Any],
    *,
    documents: Mapping[str, Any] | None = None,
    project: str = "",
    expires: datetime | None = None,
    origin: str | None = None,
    name: str = "",
    once: bool = False,
    prefer: bool = True,
    callbacks: Sequence[str] = (),
    asker: Asker = Asker(),  # noqa: B008 - it cannot be changed
    ruled: tuple[Source, str] | None = None,
    deeds: Deeds | None = None,
    **said: Unpack[Said],
) -> State:
    """Start a flow and journal it. Documents are arguments that are kept once for all runs. Those
    whose names begin with `@` are bytes that were attached, of which no flow hears. With `origin`,
    answers of that run are taken over where the same thing is asked again, and so is what came of
    its calls, until something is asked for the first time. The run can be found by its `name`; with
    `once`, where a run has that name already, nothing is begun and its state is given back. Without
    `prefer`, no preference decides anything at this point. Where a rule of the user's decides,
    `ruled` says which, and the code. `callbacks` are told what becomes of it.
    """
    given = documents or {}
    written = {n: v if n.startswith(MARK) else document_bytes(v) for n, v in given.items()}
    digests = {name: document_digest(text) for name, text in written.items()}
    plain: dict[str, Any] = msgspec.json.decode(own := msgspec.json.encode(dict(arguments)))
    read = {n: msgspec.json.decode(t) for n, t in written.items() if not n.startswith(MARK)}
    progress = start(flow, plain | read, len(own) + sum(len(written[name]) for name in read))
    source, until = Source(**said), chance.stamp(expires) if expires is not None else ""
    kind: dict[str, Any] = {"flow": flow, "version": version_of(flow), "project": project}
    writer = Writer(Run(0, id="", expires=until or None, **kind), source)
    kind |= {"expires": until, "origin": origin or "", "name": name, **writer.said}
    writer.add(Began(documents=digests, asker=asker, **kind), Matter(arguments=plain))
    writer.stand(progress)
    if origin is not None:
        earlier = _row(store, origin).id
        # No answer counts for other attachments than were shown with it, or for a track that moved.
        both = (read_beginning(store, earlier)[0].documents, digests)
        old, new = ({d for n, d in e.items() if n[0] == MARK or n == "track"} for e in both)
        if old == new:
            _take_over(writer, progress, Earlier(store, earlier))
    if ruled is not None and isinstance(ask := progress.request, Ask):
        decided = Reply((Answer(ask.questions[0].key, (ruled[1],)),))
        require_fit(ask, decided)
        writer.answer(decided, ask.key, **ruled[0]._asdict())
        progress.take(_by(ruled[0], decided))
        writer.stand(progress)
    if prefer:
        _decide(store, writer, progress)

    def write(last: Last | None) -> tuple[Run, list[Entry]]:
        run = chance.new_id(chance.now(), last.id if last else None)
        writer.run = replace(writer.run, id=run, began=writer.at)
        return writer.seal(last.first if last else START)

    kept = {digests[name]: text for name, text in written.items()}
    try:
        told: dict[str, Any] = {"callbacks": callbacks, "events": writer.events}
        run = store.create(write, kept, name=name, once=once, **told)
    except Taken as taken:
        return look(store, str(taken))
    handle = OpenRun(store, run, progress)
    handle.arguments = plain
    return _do_deeds(handle, source, deeds, writer.notes)


def advance(
    store: Store,
    run: str | OpenRun,
    response: Response | Outcome | None = None,
    *,
    to: str | None = None,
    token: str = "",
    request: str = "",
    deeds: Deeds | None = None,
    **said: Unpack[Said],
) -> State:
    """Resume a run: record a response, if there is one, and say where the run stands then. A reply
    names with `to`, and with the keys of its answers, what it answers; one with a `token` that the
    run has seen before is not recorded again, and refused where `request`, the digest of what was
    sent, is another one. The house's own deeds are done by `deeds`; without it they wait for
    somebody who has it.
    """
    if isinstance(response, Outcome):
        return note(store, run, response, to=to, **said).state
    known, name = (run, run.id) if isinstance(run, OpenRun) else (None, run)
    if token and (before := find_reply(store, name, token, request)) is not None:
        return before
    source = Source(**said)
    if known is None and response is not None:
        known = _remembered(store, name)
    while True:
        handle = known or open_run(store, name)
        if response is None:
            if handle.row.status != "waiting":
                return handle.state
            if handle.row.waits == "house" and deeds is not None:
                return _do_deeds(handle, source, deeds)
            _keep(handle.build())
            return handle.state
        try:
            _require_waiting(handle, to)
            asked = handle.request
            pending = () if isinstance(asked, Ask) else handle.progress.calls
            writer = Writer(handle.row, source, tuple(call.key for call in pending))
            _record(handle, writer, response, to, token=token, request=request)
            _bind(store, writer, asked, response, agreed=False)
            handle.move(writer.append(store))
        except (Moved, AlreadyAnswered, Rejected) as error:
            if known is None and not isinstance(error, Moved):
                raise
            known = None  # somebody else may have been here; look
            continue
        _bind(store, writer, asked, response, agreed=True)
        return _do_deeds(handle, source, deeds, writer.notes)


def note(
    store: Store,
    run: str | OpenRun,
    what: Outcome | Note,
    *,
    to: str | None = None,
    until: str = "",
    **said: Unpack[Said],
) -> OpenRun:
    """Keep something that is no answer: the question stays open. A decline ends the run."""
    if isinstance(what, Outcome):
        what = Note(what.kind, what.detail)
    handle = run if isinstance(run, OpenRun) else open_run(store, run)
    while True:
        _require_waiting(handle, to)
        row, ask = handle.row, handle.state.ask if to is not None else None
        if to not in (None, row.key) and (ask is None or ask.question(str(to)) is None):
            raise _already(row, to)
        writer = Writer(row, Source(**said))
        matter = Matter(text=what.text) if what.text else EMPTY
        kept = {"key": row.key or "", "item": what.item, "until": until, **writer.said}
        writer.add(Noted(kind=what.kind, **kept), matter)
        if what.kind == "declined":
            writer.end("declined", what.text)
        try:
            handle.move(writer.append(store))
        except Moved:
            handle = open_run(store, handle.id)
            continue
        _keep(handle)  # the flow hears nothing of a note
        return handle


def note_behind(
    store: Store, row: Run, kind: str, key: str, item: str, text: str, **said: Unpack[Said]
) -> None:
    """Keep a note behind the end of a run; refused where somebody wrote since its row was read."""
    writer = Writer(row, Source(**said))
    writer.add(Noted(kind=kind, key=key, item=item, **writer.said), Matter(text=text))
    try:
        writer.append(store)
    except Moved:
        raise Rejected("somebody else was quicker; look again, then try again") from None


@_until_appended
def withdraw(
    store: Store, run: str, why: str, *, repairing: bool = False, **said: Unpack[Said]
) -> State:
    """End a waiting run that nobody needs any more.

    What moves a track is not stopped half-way, but by whoever is `repairing` that track.
    """
    row = _row(store, run)
    if row.status != "waiting":
        raise Rejected(f"run {run} is {row.status}; only a waiting run can be withdrawn")
    if _is_moving(row) and not repairing:
        raise Rejected(f"what was chosen is being carried out; `quandary next {run}` completes it")
    writer = Writer(row, Source(**said))
    writer.end("withdrawn", why)
    return look_at(store, writer.append(store))


@_until_appended
def amend(
    store: Store,
    run: str,
    reply: Reply,
    *,
    key: str,
    why: str,
    seen: Answer | None = None,
    deeds: Deeds | None = None,
    elsewhere: bool = False,
    **said: Unpack[Said],
) -> State:
    """Change an earlier answer: the old one is kept, and everything after it is asked again.

    It is refused where the answer that was `seen` no longer counts.
    An answer that was given `elsewhere`, in a box that is not ours, is kept whoever gave it.
    """
    source, row = Source(**said), _row(store, run)
    if row.status in ("declined", "withdrawn"):
        raise Rejected(f"run {run} is {row.status}; begin anew with its answers: --from {run}")
    entries = store.entries(run, upto=row.n)
    standing, answers = list_answers(run, entries)
    old = [a for a in answers if key == a.ask.key or a.ask.question(key) is not None]
    if not old:
        raise Rejected(f"run {run} has no answer to {key}; `quandary log {run}` shows its answers")
    called = (body for entry in entries if isinstance(body := entry.read(), Called))
    if any(body.deed == "use" and body.key in standing.responses for body in called):
        raise Rejected(f"the permit of run {run} was used, so nothing of it changes; ask anew")
    ask, known = old[0].ask, {a.answer.key: a.answer for a in old}
    later = entries[standing.responses[ask.key] :]
    is_stop = ask.assignment is not None and ask.assignment.role == "stop"
    if is_stop and any(entry.kind == "called" for entry in later):
        raise Rejected(
            f"an agent went on with this answer in its session; begin anew: --from {run}"
        )
    if seen is not None and known.get(seen.key) != seen:
        raise Rejected("somebody else has changed this answer; check it again")
    if elsewhere and all(known.get(a.key) == a for a in reply.answers):
        return look_at(store, row)  # it was reported twice at once
    for strange in (a.key for a in reply.answers if ask.question(a.key) is None):
        raise Rejected(f"{strange} was not asked together with {ask.key}")
    require_fit(ask, reply)
    if not elsewhere:
        require_person(ask, reply, source)
    changed = Reply(tuple(a for a in reply.answers if a != known.get(a.key)) or reply.answers)
    writer, number = Writer(row, source), standing.responses[ask.key]
    writer.answer(changed, ask.key, why=why, amends=number, amendment=standing.amendment + 1)
    progress = rebuild(store, run, [e.recorded for e in entries] + writer.recorded)
    _bind(store, writer, ask, changed, agreed=False)
    state = _append(store, writer, progress, deeds)
    _bind(store, writer, ask, changed, agreed=True)
    return state


@_until_appended
def retry(store: Store, run: str, *, deeds: Deeds | None = None, **said: Unpack[Said]) -> State:
    """Take up a failed run at the step that failed: what came of it is kept, and counts no longer.

    Where a budget was used up, the run gets as much once more. Nothing in the journal is changed: a
    note says which responses are taken back, and all that is asked after it bears the number of an
    amendment, so that no late response to an earlier showing fits.
    """
    row = _row(store, run)
    if row.status != "failed":
        raise Rejected(f"run {run} is {row.status}; only a failed run can be tried again")
    if _has_expired(row):
        raise Rejected(f"the time of run {run} was up at {row.expires}; begin anew: --from {run}")
    recorded = store.recorded(run, row.n)
    known = heard(run, recorded)
    takes_back, arguments = way_back(store, run, known)
    writer, number = Writer(row, Source(**said)), known.standing.amendment + 1
    note = Noted(kind="retried", takes_back=takes_back, amendment=number, **writer.said)
    writer.add(note, Matter(arguments=arguments or None, text=ANEW if takes_back else ONCE_MORE))
    progress = rebuild(store, run, recorded + writer.recorded)
    if progress.request is None:
        raise Rejected(f"run {run} would end in the same way; begin anew: --from {run}")
    key = key_of(progress.request)
    progress.show_again({key: number})
    writer.parts = [(replace(body, key=key), matter) for body, matter in writer.parts]
    return _append(store, writer, progress, deeds)


@_until_appended
def undo(store: Store, run: str, *, key: str | None = None, **said: Unpack[Said]) -> State:
    """Take back the last answer: its question waits again, under a new key, and no other does.

    It is the answer to the Ask of that `key`, where one is named. No preference answers what was
    just taken back. What only a person can answer, only a person takes back.
    """
    row = _row(store, run)
    if row.status in ("declined", "withdrawn") or _has_expired(row):
        why = f"run {run} is over ({row.status})"
        raise Rejected(f"{why}; begin anew with its answers: --from {run}")
    entries = store.entries(run, upto=row.n)
    last = find_last_answer(entries)
    if last is None or key not in (None, last.key):
        what = f"the last answer is not to {key}" if last else "there is no answer"
        raise Rejected(f"{what}; `quandary log {run}` shows what was answered")
    if last.obstacle:
        raise Rejected(f"{last.obstacle}, so the answer cannot be undone; change it, with a reason")
    writer = Writer(row, Source(**said))
    taken, number = last.takes_back, last.amendment + 1
    writer.add(Noted(kind=UNDONE, key=last.key, takes_back=taken, amendment=number, **writer.said))
    progress = rebuild(store, run, [e.recorded for e in entries] + writer.recorded)
    if getattr(progress.request, "require", "") == "person" and not writer.source.in_person:
        raise PersonRequired("only a person can take this answer back, where they gave it")
    writer.stand(progress, last.since)
    return _do_deeds(OpenRun(store, writer.append(store), progress), writer.source, None)


@_until_appended
def hand_over(store: Store, run: str, **said: Unpack[Said]) -> State:
    """Where a run stands, for whoever asked. With a result they have what a person answered.

    That is recorded, once: from then on the answer cannot be undone.
    """
    row = _row(store, run)
    state = look_at(store, row)
    entries = store.entries(run, kinds=("answered", "noted"), upto=row.n)
    if row.status == "done" and is_open_to_undo(entry.read() for entry in entries):
        writer = Writer(row, Source(**said))
        writer.add(Noted(kind=HANDED, **writer.said))
        with suppress(ReadOnly):  # where nobody can write, nobody can undo
            return replace(state, n=writer.append(store).n)
    return state


@_until_appended
def settle(
    store: Store,
    run: str,
    reply: Reply,
    *,
    why: str,
    seconds: float | None = None,
    **said: Unpack[Said],
) -> State:
    """Record what was answered elsewhere, in the box of a host, whatever became of the question.

    A run that was withdrawn in the meantime is closed by its answer after all, so that there is
    one record of the question. An answer that was given here before gives way, and is kept. It took
    `seconds` there, as far as that is known.
    """
    row = _row(store, run, expiring=False)
    progress = rebuild(store, run, store.recorded(run, row.n))
    # What was undone here in the meantime waits, or was answered, under another key.
    if not isinstance(progress.request, Ask):
        if row.flow == "permit":  # no report of a host makes a person's no an approval
            raise AlreadyAnswered(f"run {run} was decided already")
        _, answers = list_answers(run, store.entries(run, upto=row.n))
        key = answers[-1].answer.key if answers else reply.answers[0].key
        reply = Reply(tuple(replace(answer, key=key) for answer in reply.answers))
        try:
            return amend(store, run, reply, key=key, why=why, elsewhere=True, **said)
        except Rejected:
            if _row(store, run, expiring=False).n == row.n:
                raise
            return settle(store, run, reply, why=why, seconds=seconds, **said)  # it was undone
    key = progress.request.key
    reply = Reply(tuple(replace(answer, key=key) for answer in reply.answers))
    require_fit(progress.request, reply)
    writer = Writer(row, Source(**said))
    writer.answer(reply, progress.request.key, why=why, seconds=seconds)
    progress.take(_by(writer.source, reply))
    writer.stand(progress)
    if isinstance(do := progress.request, Do) and do.deed == "use":  # it was done there
        done = Done(do.key, text=do.argument)
        writer.came(done)
        progress.take(done)
        writer.stand(progress)
    return state_of(writer.append(store), progress)


def answer_of(store: Store, run: str) -> tuple[Source, Answer] | None:
    """The answer that a run of one question has, and whose it is; nothing where there is none."""
    _, answers = list_answers(run, store.entries(run))
    return (answers[-1].source, answers[-1].answer) if answers else None


def look(store: Store, run: str) -> State:
    """Where a run stands, as its journal shows it; the flow is not built again."""
    return look_at(store, _row(store, run))


def find_reply(store: Store, run: str, token: str, request: str = "") -> State | None:
    """Where a run stood after the reply with this token; nothing where it was not recorded. A token
    is recorded with its reply, and beside it the digest of what was sent, in the part of the entry
    that can be pruned. `request` is the digest of what is sent now. What is not what was sent the
    first time is refused, whatever the run waits for by now.
    """
    for entry in store.entries(run, kinds=("answered",)):
        body = entry.read()
        if isinstance(body, Answered) and body.token == token:
            before = entry.read_matter().request
            if before and request and before != request:
                raise Reused(
                    "another reply was sent with that key before; send each with one of its own"
                )
            return state_after(store, run, entry.n)
    return None


def wait(
    store: Store, run: str, n: int = 0, seconds: float = inf, *, until_end: bool = False
) -> State:
    """The state once the run has more than `n` entries (`until_end`: is over) or time is up."""
    deadline, news = chance.monotonic() + seconds, None
    try:
        while True:
            row, looked = _row(store, run), chance.monotonic()
            if (row.n > n and not until_end) or row.status != "waiting" or looked >= deadline:
                return look_at(store, row)
            news = news or store.news(min(LONGEST_UNSEEN, seconds))
            # What expires is seen by nobody but whoever looks.
            while not next(news) and chance.monotonic() < min(deadline, looked + LONGEST_UNSEEN):
                pass
    finally:
        if news is not None:
            news.close()


def listen(store: Store, listener: Listener) -> None:
    """Have somebody told of each question that begins to wait for a person in this store. Whoever
    answers at a terminal or in the browser has the next question before them, so that nobody is
    told of that one.
    """
    _listeners[store] = listener


def log_walks(store: Store, write: Callable[[Store, str], object]) -> None:
    """From now on have the logs of a walk written whenever it was moved here, or expired."""
    _log_writers[store] = write


def log(store: Store, run: str, flow: str) -> None:
    """Have the logs written of a run that was moved, if it is a walk."""
    if flow == "walk" and (write := _log_writers.get(store)) is not None:
        write(store, run)


def inbox(
    store: Store, *, project: str | None = None, after: int = 0, limit: int = 100
) -> list[Run]:
    """The runs that wait for a person, those first that began first."""
    for run in store.due(chance.stamp(chance.now())):
        _row(store, run)
    return store.runs(waits="person", project=project, after=after, limit=limit)


def keep_open(store: Store, runs: int) -> None:
    """Keep so many more runs of a store open, for a process that drives many at a time."""
    _kept_open[store] = runs


IDLE = timedelta(days=180)
"""Where nothing was recorded for longer, nothing expires: one look with a wrong clock would
withdraw for good whatever waits. What is recorded next sets it right."""
MOST_OPEN = 256
"""So many waiting runs of a store are kept open, and a few beside those of `keep_open`."""
SMALL = 16 * 1024
"""What begins with so many bytes is kept open beside all else; larger runs share as much again."""
_kept_open: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
_opened: WeakKeyDictionary[Store, dict[str, dict[str, Any]]] = WeakKeyDictionary()
"""What is known of the runs that this process resumed last, a few for each store: as good as
rebuilt as long as nobody else has appended to them. It must not hold the store itself."""
_listeners: WeakKeyDictionary[Store, Listener] = WeakKeyDictionary()
_log_writers: WeakKeyDictionary[Store, Callable[[Store, str], object]] = WeakKeyDictionary()


def _remembered(store: Store, run: str) -> OpenRun | None:
    """A run as this process left it, without a look at its row. Nothing can be recorded on the
    strength of it that does not fit: where somebody else appended since, the store refuses, and the
    row is looked up.
    """
    known = _opened.get(store, {}).pop(run, None)
    if known is None or _has_expired(known["row"]):
        return None
    handle = OpenRun(store, known["row"])
    vars(handle).update(known)
    return handle


def _keep(handle: OpenRun) -> None:
    if handle.row.status == "waiting" and "progress" in vars(handle):
        opened = _opened.setdefault(handle.store, {})
        opened[handle.id] = {n: known for n, known in vars(handle).items() if n != "store"}
        most = MOST_OPEN + _kept_open.get(handle.store, 0)
        for oldest in list(opened)[:-most]:  # other threads keep theirs
            opened.pop(oldest, None)
        if handle.progress.size > SMALL:
            sizes = {run: known["progress"].size for run, known in opened.copy().items()}
            large = [run for run, size in sizes.items() if size > SMALL]
            while len(large) > 1 and sum(map(sizes.__getitem__, large)) > most * SMALL:
                opened.pop(large.pop(0), None)


def _take_over(writer: Writer, progress: Progress, earlier: Earlier) -> None:
    """Answer from an earlier run what is asked again, as far as that goes."""
    while True:
        request = progress.request
        if isinstance(request, Ask):
            # What only a person may say, they have to say each time.
            answered = None if request.require else earlier.fitting(request, writer.at)
            if answered is None:
                return
            body, reply = answered
            writer.add(body, Matter(answers=reply.answers))
            said = {a.key: Given(a, body.source_of(a.key)) for a in reply.answers}
            progress.take(attribute(said))
        else:
            for call in progress.calls:
                if (came := earlier.output(call, writer.at)) is not None:
                    writer.add(came[0], Matter(came=came[1]))
                    progress.collect(came[1])
            if progress.request is request:
                return
        writer.stand(progress)


def _decide(store: Store, writer: Writer, progress: Progress) -> None:
    """Answer what waits by preference, as often as that may be, and say so beside what is next."""
    policy: Policy | None = None
    while isinstance(ask := progress.request, Ask) and all(q.decidable for q in ask.questions):
        from quandary.journal.policy import ASK, read_policy  # noqa: PLC0415 - most recommend nothing

        policy = policy or read_policy(store, writer.run.project)
        verdicts = policy.judge_all(ask)
        if not verdicts or not all(verdict.decide for verdict in verdicts.values()):
            writer.told += [
                (question, one.unseen, one.note)
                for question in ask.questions
                if (one := verdicts.get(question.key, ASK)).unseen
            ]
            break
        reply = Reply(tuple(Answer(key, (verdict.code,)) for key, verdict in verdicts.items()))
        writer.decide(ask, reply)
        progress.take(_by(BY_PREFERENCE, reply))
        writer.stand(progress)
    writer.tell_decided()


def _bind(
    store: Store, writer: Writer, ask: Request | None, reply: Response, *, agreed: bool
) -> None:
    """Let preferences know what a person answers with their own hand. Where they do not take what
    is recommended, that is before it is recorded: whatever comes between, nothing is decided that
    they want otherwise.
    """
    if not (writer.source.in_person and isinstance(ask, Ask) and isinstance(reply, Reply)):
        return
    if any(question.decidable for question in ask.questions):
        from quandary.journal.policy import bind_preferences  # noqa: PLC0415 - the same

        said = writer.source._asdict()
        bind_preferences(store, writer.run.project, ask, reply, agreed=agreed, **said)


def _record(
    handle: OpenRun, writer: Writer, response: Response, to: str | None, **sent: str
) -> None:
    """Record a response, send it into the flow, and record where that leads."""
    row, request = handle.row, handle.request
    if isinstance(response, Reply):
        if not isinstance(request, Ask):
            raise _already(row, to)
        asked = {question.key for question in request.questions}
        named = [answer.key for answer in response.answers]
        for key in named if to is None else [to, *named]:
            if key not in asked:
                raise _already(row, key)
        require_fit(request, response)
        if row.flow == "question" and any(BACK in answer.picked for answer in response.answers):
            raise Rejected("a host's question has nothing before it; the question still waits")
        require_person(request, response, writer.source)
        writer.answer(response, request.key, **sent)
        handle.take(request, _by(writer.source, response))
    elif isinstance(response, Done):
        if not isinstance(request, Do) or request.key != response.key:
            raise _already(row, response.key)
        writer.came(response)
        handle.progress.take(response)
    else:
        progress = handle.progress
        for output in response if isinstance(response, tuple) else (response,):
            if output.key not in {call.key for call in progress.calls}:
                raise _already(row, output.key)
            writer.came(output)
            progress.collect(output)
    if handle.progress.request is not request:
        writer.stand(handle.progress)
        _decide(handle.store, writer, handle.progress)


def _by(source: Source, reply: Reply) -> Reply:
    """A reply that is all of one source."""
    return Reply(reply.answers, (source[:2],) * len(reply.answers))


def _append(store: Store, writer: Writer, progress: Progress, deeds: Deeds | None) -> State:
    writer.stand(progress)
    _decide(store, writer, progress)
    handle = OpenRun(store, writer.append(store), progress)
    return _do_deeds(handle, writer.source, deeds, writer.notes)


def _do_deeds(
    handle: OpenRun, source: Source, deeds: Deeds | None, decided: tuple[Note, ...] = ()
) -> State:
    """Do what the house has to do itself, one deed after another, and say where the run stands.
    Each is journalled before it is done and again when it is done, so that after a crash it is done
    once more: a deed must bear being repeated.
    """
    store, progress = handle.store, handle.progress
    while isinstance(progress.request, Do) and deeds is not None and handle.row.status == "waiting":
        if (done := deeds(progress.request)) is None:
            break
        writer = Writer(handle.row, source)
        writer.came(done)
        progress.take(done)
        writer.stand(progress)
        _decide(store, writer, progress)
        decided += writer.notes
        try:
            handle.move(writer.append(store))
        except Moved:
            return advance(store, handle.id, **source._asdict(), deeds=deeds)
    _keep(handle)
    listener = _listeners.get(store)
    if listener is not None and isinstance(progress.request, Ask) and not source.in_person:
        listener(handle.row, progress.request)
    state = state_of(handle.row, progress)
    return replace(state, notes=(*state.notes, *decided)) if decided else state


@_until_appended
def _row(store: Store, run: str, *, expiring: bool = True) -> Run:
    """The row of a run; one whose time is up is withdrawn by being looked at."""
    row = store.require_run(run)
    if not expiring or row.status != "waiting" or not row.expires:
        return row
    writer = Writer(row, Source("policy", "expiry", ""))  # a clock that jumps is read once
    if writer.at < row.expires or _is_moving(row) or _is_far_ahead(store, writer.at):
        return row
    what = "it was not used until" if row.waits == "house" else EXPIRED
    writer.end("withdrawn", f"{what} {row.expires}")
    row = writer.append(store)
    log(store, row.id, row.flow)
    return row


def _is_moving(row: Run) -> bool:
    """Whether a run is moving a track, of which the journal and a file have to say the same."""
    return row.waits == "house" and row.flow in ("gate", "phase")


def _has_expired(row: Run) -> bool:
    return bool(row.expires) and chance.stamp(chance.now()) >= str(row.expires)


def _is_far_ahead(store: Store, at: str) -> bool:
    """Whether a moment is so far beyond the newest entry that the clock is rather wrong."""
    newest = [read_body(body).at for _, _, body in store.happened(after=store.newest() - 1)]
    return bool(newest) and chance.stamp(datetime.fromisoformat(at) - IDLE) > max(newest)


def _require_waiting(handle: OpenRun, to: str | None) -> None:
    if handle.row.status != "waiting":
        raise _already(handle.row, to, handle.state.error or "")


def _already(row: Run, key: str | None, why: str = "") -> AlreadyAnswered:
    what = f"already answered: {key}" if key else "already answered"
    stands = f"now waits for {row.key}" if row.status == "waiting" else f"is {row.status}"
    reason = f": {why}" if why else ""
    return AlreadyAnswered(f"{what} (run {row.id} {stands}{reason})")


def state_after(store: Store, run: str, n: int) -> State | None:
    """The state as whoever sent the reply numbered `n` was told it: after all that it led to. What
    was appended at once bears one date. Then come the deeds that the house did right away, and what
    these led to. Clocks can stand still, so what somebody else said is told by that.
    """
    row = _row(store, run, expiring=False)
    standing = standing_at(replace(row, n=n - 1, status="waiting", waits=None, key=None, asked=0))
    at = ""
    for entry in store.entries(run, after=n - 1, upto=row.n):
        body = entry.read()
        if isinstance(body, Returned):
            belongs = standing.waits == "house" and row.flow != "permit"  # which others use
        else:
            belongs = body.at == at and not (isinstance(body, Answered) and body.who != "policy")
        if at and not belongs:
            break
        at = body.at
        fold(standing, entry.n, body)
    return look_at(store, standing.row(row), after=n)
