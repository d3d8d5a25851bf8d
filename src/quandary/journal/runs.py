"""The one driver: every way of asking begins, answers and ends runs through these functions.

A run is its journal. To resume it, its flow is built again and sent the recorded responses; a
response and the request that follows it are appended as one transaction.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from quandary.errors import AlreadyAnswered, Diverged, NotFound, Rejected, Reused
from quandary.journal import chance
from quandary.journal.entries import (
    EMPTY,
    START,
    Answered,
    Began,
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
    Earlier,
    Given,
    Writer,
    fold,
    given,
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
from quandary.model.asks import Answer, Ask, Note, Outcome, Reply
from quandary.model.calls import Do, Done, Output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NotRequired, TypedDict, Unpack

    from quandary.journal.entries import Entry
    from quandary.journal.policy import Policy

    Deeds = Callable[[Do], Done]
    Response = Reply | Output | tuple[Output, ...]
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
LOOKS_PER_SECOND = 4
ANEW = "The step is tried anew; what came of it so far is kept and no longer counts."
ONCE_MORE = "It resumes with as much once more as it was allowed when it began."


class OpenRun:
    """A run that was looked up once: its row, and what else of it was needed since then.

    Whoever looks at a run, answers it and shows it hands this on, and nothing is read twice. It
    moves along with what is recorded through it. Where somebody else was first, the store refuses
    to append, and the run is looked up again.
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
        return read_beginning(self.store, self.id)[1]

    @cached_property
    def state(self) -> State:
        """Where the run stands, as its journal shows it."""
        return look_at(self.store, self.row)

    @cached_property
    def progress(self) -> Progress:
        """The flow of a waiting run, standing where the journal says that it stands."""
        run, row = self.id, self.row
        recorded = self.store.recorded(run, row.n)
        with readable(run):
            known = heard(run, recorded)
            progress = resume(self.store, run, known)
        request = progress.request
        together = request if isinstance(request, tuple) else (request,)
        if row.key not in {getattr(one, "key", "") for one in together}:
            raise Diverged(
                f"run {run} waits for {row.key}, which its flow no longer asks for; `quandary "
                f"log {run}` shows it, --from {run} begins anew with the answers that fit"
            )
        vars(self).setdefault("arguments", known.arguments)
        return progress

    def build(self) -> OpenRun:
        """Build the flow, unless it is there; what the run was begun with comes with that."""
        _ = self.progress
        return self

    def move(self, row: Run) -> None:
        """Stand where what was appended leads."""
        self.row = row
        vars(self).pop("state", None)


def _until_appended(act: Callable[P, T]) -> Callable[P, T]:
    """Do it once more whenever somebody else appended to the run first; it looks again then."""

    @wraps(act)
    def insist(*args: P.args, **kwargs: P.kwargs) -> T:
        while True:
            with suppress(Moved):
                return act(*args, **kwargs)

    return insist


# -- what callers do -----------------------------------------------------------------------------


class Elsewhere(NotFound):
    """A run that another store wrote: there is a copy to look at, and nothing to resume."""

    def __init__(self, run: str, record: str) -> None:
        self.run, self.record = run, record
        super().__init__(
            f"run {run} was imported and can only be looked at (`quandary log {run}`); "
            "resume it where it came from"
        )


def find_run(store: Store, prefix: str, project: str | None = None) -> str:
    """The one run whose id begins like this, in any case, with I, L and O read as 1, 1 and 0.

    It is looked for in one project, as if there were no others, or in all.
    """
    wanted = prefix.strip().upper().translate(str.maketrans("ILO", "110"))
    if not wanted:
        raise NotFound("name a run; `quandary runs` lists them")
    found = store.between(wanted, f"{wanted}~", 4, project=project)
    if not found:
        copies = store.named(IMPORTED + wanted, f"{IMPORTED}{wanted}~", project=project)
        found = [name.removeprefix(IMPORTED) for name in copies]
        if len(found) == 1:
            raise Elsewhere(found[0], *copies.values())
    if not found:
        raise NotFound(f"there is no run {prefix.strip()}; `quandary runs` lists them")
    if len(found) > 1 and found[0] != wanted:
        some = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        raise NotFound(f"{prefix.strip()} is ambiguous ({some}); type more characters")
    return found[0]


def open_run(store: Store, run: str) -> OpenRun:
    """A run, looked up once for all that is done with it now."""
    row, kept = _row(store, run), _remembered(store, run)
    return kept if kept is not None and kept.row.n == row.n else OpenRun(store, row)


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
    deeds: Deeds | None = None,
    **said: Unpack[Said],
) -> State:
    """Start a flow and journal it. Documents are arguments that are kept once for all runs.

    With `origin`, answers of that run are taken over where the same thing is asked again, and so
    is what came of its calls, until something is asked for the first time. The run can be found by
    its `name`; with `once`, where a run has that name already, nothing is begun and its state is
    given back. Without `prefer`, no preference decides anything at this point.
    """
    written = {name: document_bytes(value) for name, value in (documents or {}).items()}
    digests = {name: document_digest(text) for name, text in written.items()}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(dict(arguments)))
    progress = start(flow, plain | {n: msgspec.json.decode(text) for n, text in written.items()})
    source, until = Source(**said), chance.stamp(expires) if expires is not None else ""
    kind: dict[str, Any] = {"flow": flow, "version": version_of(flow), "project": project}
    writer = Writer(Run(0, id="", expires=until or None, **kind), source)
    kind |= {"expires": until, "origin": origin or "", "name": name, **writer.said}
    writer.add(Began(documents=digests, **kind), Matter(arguments=plain))
    writer.stand(progress)
    if origin is not None:
        _take_over(writer, progress, Earlier(store, _row(store, origin).id))
    if prefer:
        _decide(store, writer, progress)

    def write(last: Last | None) -> tuple[Run, list[Entry]]:
        run = chance.new_id(chance.now(), last.id if last else None)
        writer.run = replace(writer.run, id=run, began=writer.at)
        return writer.seal(last.first if last else START)

    kept = {digests[name]: text for name, text in written.items()}
    try:
        run = store.create(write, kept, name=name, once=once)
    except Taken as taken:
        return look(store, str(taken))
    return _do_deeds(OpenRun(store, run, progress), source, deeds, writer.notes)


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
    """Resume a run: record a response, if there is one, and say where the run stands then.

    A reply names with `to`, and with the keys of its answers, what it answers; one with a `token`
    that the run has seen before is not recorded again, and refused where `request`, the digest of
    what was sent, is another one. The house's own deeds are done by `deeds`;
    without it they wait for somebody who has it.
    """
    if isinstance(response, Outcome):
        return note(store, run, response, to=to, **said)
    known, name = (run, run.id) if isinstance(run, OpenRun) else (None, run)
    if token and (before := replied(store, name, token, request)) is not None:
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
            pending = tuple(call.key for call in handle.progress.calls)
            writer, asked = Writer(handle.row, source, pending), handle.progress.request
            _record(handle, writer, response, to, token=token, request=request)
            handle.move(writer.append(store))
        except (Moved, AlreadyAnswered, Rejected) as error:
            if known is None and not isinstance(error, Moved):
                raise
            known = None  # somebody else may have been here; look
            continue
        if isinstance(asked, Ask) and isinstance(response, Reply):
            _bind(store, writer, asked, response)
        return _do_deeds(handle, source, deeds, writer.notes)


def note(
    store: Store,
    run: str | OpenRun,
    what: Outcome | Note,
    *,
    to: str | None = None,
    **said: Unpack[Said],
) -> State:
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
        writer.add(Noted(kind=what.kind, key=row.key or "", item=what.item, **writer.said), matter)
        if what.kind == "declined":
            writer.end("declined", what.text)
        try:
            handle.move(writer.append(store))
        except Moved:
            handle = open_run(store, handle.id)
            continue
        _keep(handle)  # the flow hears nothing of a note
        return handle.state


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
def withdraw(store: Store, run: str, why: str, **said: Unpack[Said]) -> State:
    """End a waiting run that nobody needs any more."""
    row = _row(store, run)
    if row.status != "waiting":
        raise Rejected(f"run {run} is {row.status}; only a waiting run can be withdrawn")
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
    standing, answers = given(run, entries)
    old = [a for a in answers if key == a.ask.key or a.ask.question(key) is not None]
    if not old:
        raise Rejected(f"run {run} has no answer to {key}; `quandary log {run}` shows its answers")
    ask, known = old[0].ask, {a.answer.key: a.answer for a in old}
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
    recorded = [(entry.body, entry.matter, entry.pruned) for entry in entries]
    progress = resume(store, run, heard(run, recorded + writer.recorded))
    state = _append(store, writer, progress, deeds)
    _bind(store, writer, ask, changed)
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
    text = ANEW if takes_back else ONCE_MORE
    writer.add(note, Matter(arguments=arguments or None, text=text))
    progress = resume(store, run, heard(run, recorded + writer.recorded))
    if progress.request is None:
        raise Rejected(f"run {run} would end in the same way; begin anew: --from {run}")
    key = key_of(progress.request)
    progress.show_again({key: number})
    writer.parts = [(replace(body, key=key), matter) for body, matter in writer.parts]
    return _append(store, writer, progress, deeds)


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
    progress = rebuild(store, run, row.n)
    if not isinstance(progress.request, Ask):
        key = reply.answers[0].key
        return amend(store, run, reply, key=key, why=why, elsewhere=True, **said)
    require_fit(progress.request, reply)
    writer = Writer(row, Source(**said))
    writer.answer(reply, progress.request.key, why=why, seconds=seconds)
    progress.take(_by(writer.source, reply))
    writer.stand(progress)
    return state_of(writer.append(store), progress)


def answer_of(store: Store, run: str) -> tuple[Source, Answer] | None:
    """The answer that a run of one question has, and whose it is; nothing where there is none."""
    _, answers = given(run, store.entries(run))
    return (answers[-1].source, answers[-1].answer) if answers else None


def look(store: Store, run: str) -> State:
    """Where a run stands, as its journal shows it; the flow is not built again."""
    return look_at(store, _row(store, run))


def replied(store: Store, run: str, token: str, request: str = "") -> State | None:
    """Where a run stood after the reply with this token; nothing where it was not recorded.

    A token is recorded with its reply, and beside it the digest of what was sent, in the part of
    the entry that can be pruned. `request` is the digest of what is sent now. What is not what was
    sent the first time is refused, whatever the run waits for by now.
    """
    for entry in store.entries(run, kinds=("answered",)):
        body = entry.read()
        if isinstance(body, Answered) and body.token == token:
            before = entry.read_matter().request
            if before and request and before != request:
                raise Reused(
                    "another reply was sent with that key before; send each with one of its own"
                )
            return _state_after(store, run, entry.n)
    return None


def wait(store: Store, run: str, n: int, seconds: float) -> State:
    """The state once the run has more than `n` entries, or as it is when the time is up."""
    deadline = chance.monotonic() + seconds
    while True:
        row = _row(store, run)
        left = deadline - chance.monotonic()
        if row.n > n or row.status != "waiting" or left <= 0:
            return look_at(store, row)
        chance.sleep(min(1 / LOOKS_PER_SECOND, left))


def listen(store: Store, listener: Listener) -> None:
    """Have somebody told of each question that begins to wait for a person in this store.

    Whoever answers at a terminal or in the browser has the next question before them, so that
    nobody is told of that one.
    """
    _listeners[store] = listener


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


# -- how it is done ------------------------------------------------------------------------------

IDLE = timedelta(days=180)
"""Where nothing was recorded for longer, nothing expires: one look with a wrong clock would
withdraw for good whatever waits. What is recorded next sets it right."""
MOST_OPEN = 32
"""So many waiting runs of a store are kept open, and a few beside those of `keep_open`."""
_kept_open: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
_opened: WeakKeyDictionary[Store, dict[str, dict[str, Any]]] = WeakKeyDictionary()
"""What is known of the runs that this process resumed last, a few for each store: as good as
rebuilt as long as nobody else has appended to them. It must not hold the store itself."""
_listeners: WeakKeyDictionary[Store, Listener] = WeakKeyDictionary()


def _remembered(store: Store, run: str) -> OpenRun | None:
    """A run as this process left it, without a look at its row.

    Nothing can be recorded on the strength of it that does not fit: where somebody else appended
    since, the store refuses, and the row is looked up.
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
        while len(opened) > MOST_OPEN + _kept_open.get(handle.store, 0):
            opened.pop(next(iter(opened)), None)


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


def _bind(store: Store, writer: Writer, ask: Ask, reply: Reply) -> None:
    """Let preferences know what a person has answered with their own hand."""
    if writer.source.in_person and any(question.decidable for question in ask.questions):
        from quandary.journal.policy import bind_preferences  # noqa: PLC0415 - the same

        bind_preferences(store, writer.run.project, ask, reply, **writer.source._asdict())


def _record(
    handle: OpenRun, writer: Writer, response: Response, to: str | None, **sent: str
) -> None:
    """Record a response, send it into the flow, and record where that leads."""
    row, progress, request = handle.row, handle.progress, handle.progress.request
    if isinstance(response, Reply):
        if not isinstance(request, Ask):
            raise _already(row, to)
        asked = {question.key for question in request.questions}
        named = [answer.key for answer in response.answers]
        for key in named if to is None else [to, *named]:
            if key not in asked:
                raise _already(row, key)
        require_fit(request, response)
        require_person(request, response, writer.source)
        writer.answer(response, request.key, **sent)
        progress.take(_by(writer.source, response))
    else:
        for output in response if isinstance(response, tuple) else (response,):
            if output.key not in {call.key for call in progress.calls}:
                raise _already(row, output.key)
            writer.came(output)
            progress.collect(output)
    if progress.request is not request:
        writer.stand(progress)
        _decide(handle.store, writer, progress)


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

    Each is journalled before it is done and again when it is done, so that after a crash it is
    done once more: a deed must bear being repeated.
    """
    store, progress = handle.store, handle.progress
    while isinstance(progress.request, Do) and deeds is not None and handle.row.status == "waiting":
        done = deeds(progress.request)
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
    if not expiring or row.status != "waiting" or not _has_expired(row) or _is_far_ahead(store):
        return row
    writer = Writer(row, Source("policy", "expiry", ""))
    writer.end("withdrawn", f"nobody answered until {row.expires}")
    return writer.append(store)


def _has_expired(row: Run) -> bool:
    return bool(row.expires) and chance.stamp(chance.now()) >= str(row.expires)


def _is_far_ahead(store: Store) -> bool:
    """Whether the clock is so far beyond the newest entry that it is rather wrong than right."""
    newest = [read_body(body).at for _, _, body in store.happened(after=store.newest() - 1)]
    return bool(newest) and chance.stamp(chance.now() - IDLE) > max(newest)


def _require_waiting(handle: OpenRun, to: str | None) -> None:
    if handle.row.status != "waiting":
        raise _already(handle.row, to, handle.state.error or "")


def _already(row: Run, key: str | None, why: str = "") -> AlreadyAnswered:
    what = f"already answered: {key}" if key else "already answered"
    stands = f"now waits for {row.key}" if row.status == "waiting" else f"is {row.status}"
    reason = f": {why}" if why else ""
    return AlreadyAnswered(f"{what} (run {row.id} {stands}{reason})")


def _state_after(store: Store, run: str, n: int) -> State | None:
    """The state as whoever sent the reply numbered `n` was told it: after all that it led to.

    What was appended at once bears one date. Then come the deeds that the house did right away,
    and what these led to. Clocks can stand still, so what somebody else said is told by that.
    """
    row = _row(store, run, expiring=False)
    standing = standing_at(replace(row, n=n - 1, status="waiting", waits=None, key=None, asked=0))
    at = ""
    for entry in store.entries(run, after=n - 1, upto=row.n):
        body = entry.read()
        if isinstance(body, Returned):
            belongs = standing.waits == "house"
        else:
            belongs = body.at == at and not (isinstance(body, Answered) and body.who != "policy")
        if at and not belongs:
            break
        at = body.at
        fold(standing, entry.n, body)
    return look_at(store, standing.row(row), after=n)
