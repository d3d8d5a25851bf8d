"""The one driver: every way of asking begins, answers and ends runs through these functions.

A run is its journal. To go on with it, its flow is built again and sent the recorded responses; a
response and the request that follows it are appended as one transaction.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from quandary.errors import AlreadyAnswered, Diverged, NotFound, Rejected
from quandary.journal import entries as clock
from quandary.journal.draft import Draft, Source
from quandary.journal.entries import (
    EMPTY,
    START,
    Answered,
    Asked,
    Began,
    Entry,
    Matter,
    Noted,
    Who,
    document_bytes,
    document_digest,
    stamp,
)
from quandary.journal.ids import find_run, new_id
from quandary.journal.progress import (
    FLOWS,
    Progress,
    heard,
    rebuild,
    require_fit,
    require_person,
    restart,
    start,
    version_of,
)
from quandary.journal.progress import replay as send_recorded
from quandary.journal.states import look_at, state_of
from quandary.journal.store import Last, Moved, Run, State, Store, Taken
from quandary.journal.taking_over import Earlier
from quandary.journal.verify import Report, verify
from quandary.model.ask import Answer, Ask, Note, Outcome, Reply
from quandary.model.call import Do, Done, Output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from quandary.journal.policy import Policy

    Deeds = Callable[[Do], Done]
    Listener = Callable[[Run, Ask], None]

__all__ = [
    "FLOWS",
    "Report",
    "State",
    "advance",
    "amend",
    "begin",
    "find_run",
    "inbox",
    "keep_open",
    "listen",
    "look",
    "note",
    "record_output",
    "retry",
    "verify",
    "wait",
    "withdraw",
]

LOOKS_PER_SECOND = 4


# -- what callers do ---------------------------------------------------------------------------


def begin(
    store: Store,
    flow: str,
    arguments: Mapping[str, Any],
    *,
    documents: Mapping[str, Any] | None = None,
    project: str = "",
    who: Who,
    through: str,
    by: str | None = None,
    expires: datetime | None = None,
    origin: str | None = None,
    name: str = "",
    once: bool = False,
    prefer: bool = True,
    deeds: Deeds | None = None,
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
    given = plain | {name: msgspec.json.decode(text) for name, text in written.items()}
    progress = start(flow, given)
    earlier = Earlier(store, _row(store, origin).id) if origin is not None else None
    source = Source(who, through, by or "")

    draft = Draft(Run(id="", flow=flow, version=version_of(flow), project=project), source)
    until = stamp(expires) if expires is not None else ""
    draft.run = replace(draft.run, began=draft.at, expires=until or None)
    draft.add(
        Began(
            flow=flow,
            version=draft.run.version,
            project=project,
            documents=digests,
            expires=until,
            origin=origin or "",
            name=name,
            **draft.said,
        ),
        Matter(arguments=plain),
    )
    draft.stand(progress)
    if earlier is not None:
        _take_over(draft, progress, earlier)
    if prefer:
        _decide(store, draft, progress)

    def write(last: Last | None) -> tuple[Run, list[Entry]]:
        draft.run = replace(draft.run, id=new_id(clock.now(), last.id if last else None))
        return draft.seal(last.first if last else START)

    kept = {document_digest(text): text for text in written.values()}
    try:
        run = store.create(write, kept, name=name, once=once)
    except Taken as taken:
        return look(store, str(taken))
    _keep(store, run, progress)
    return _do_deeds(store, run, progress, source, deeds, draft.notes)


def advance(
    store: Store,
    run: str,
    response: Reply | Output | tuple[Output, ...] | Outcome | None = None,
    *,
    to: str | None = None,
    who: Who,
    through: str,
    by: str | None = None,
    token: str = "",
    request: str = "",
    deeds: Deeds | None = None,
) -> State:
    """Go on with a run: book a response, if there is one, and say where the run stands then.

    A reply names with `to`, and with the keys of its answers, what it answers; one with a `token`
    that the run has seen before is not booked again, and refused where `request`, the digest of
    what was sent, is another one. The house's own deeds are done by `deeds`;
    without it they wait for somebody who has it.
    """
    if isinstance(response, Outcome):
        return note(store, run, response, to=to, who=who, through=through, by=by)
    if token:
        from quandary.journal.tokens import replied  # noqa: PLC0415 - few replies have one

        before = replied(store, run, token, request)
        if before is not None:
            return before
    source = Source(who, through, by or "")
    known = _remembered(store, run) if response is not None else None
    while True:
        row = known or _row(store, run)
        if response is None and row.status != "waiting":
            return look_at(store, row)
        _require_waiting(store, row, response, to)
        progress = _open(store, row)
        draft = Draft(row, source)
        if response is None:
            if row.waits == "house" and deeds is not None:
                return _do_deeds(store, row, progress, source, deeds)
            _keep(store, row, progress)
            return look_at(store, row)
        try:
            _book(store, draft, progress, response, to, token, request)
            row = draft.append(store)
        except (Moved, AlreadyAnswered, Rejected) as error:
            if known is None and not isinstance(error, Moved):
                raise
            known = None  # somebody else may have been here; look
            continue
        _keep(store, row, progress)
        return _do_deeds(store, row, progress, source, deeds, draft.notes)


def record_output(
    store: Store,
    run: str,
    output: Output,
    *,
    who: Who = "agent",
    through: str,
    by: str | None = None,
    deeds: Deeds | None = None,
) -> State:
    """Book what an agent gave back; with the last output that is waited for, the run goes on."""
    return advance(store, run, output, who=who, through=through, by=by, deeds=deeds)


def note(
    store: Store,
    run: str,
    what: Outcome | Note,
    *,
    to: str | None = None,
    who: Who,
    through: str,
    by: str | None = None,
) -> State:
    """Keep something that is no answer: the question stays open. A decline ends the run."""
    if isinstance(what, Outcome):
        what = Note(what.kind, what.detail)
    while True:
        row = _row(store, run)
        _require_waiting(store, row, what, to)
        if to is not None and not _waits_for(store, row, to):
            raise _already(row, to)
        draft = Draft(row, Source(who, through, by or ""))
        matter = Matter(text=what.text) if what.text else EMPTY
        draft.add(Noted(kind=what.kind, key=row.key or "", item=what.item, **draft.said), matter)
        if what.kind == "declined":
            draft.end("declined", what.text)
        try:
            after = draft.append(store)
        except Moved:
            continue
        kept = _opened.get(store, {}).pop(run, None)
        if kept is not None and kept[0].n == row.n:
            _keep(store, after, kept[1])  # the flow hears nothing of a note
        return look_at(store, after)


def withdraw(
    store: Store, run: str, why: str, *, who: Who, through: str, by: str | None = None
) -> State:
    """End a waiting run that nobody needs any more."""
    while True:
        row = _row(store, run)
        if row.status != "waiting":
            raise Rejected(f"run {run} is {row.status}; only a waiting run can be withdrawn")
        draft = Draft(row, Source(who, through, by or ""))
        draft.end("withdrawn", why)
        try:
            return look_at(store, draft.append(store))
        except Moved:
            continue


def amend(
    store: Store,
    run: str,
    reply: Reply,
    *,
    key: str,
    why: str,
    who: Who,
    through: str,
    by: str | None = None,
    deeds: Deeds | None = None,
    elsewhere: bool = False,
) -> State:
    """Change an earlier answer: the old one is kept, and everything after it is asked again.

    An answer that was given `elsewhere`, in a box that is not ours, is kept whoever gave it.
    """
    source = Source(who, through, by or "")
    while True:
        row = _row(store, run)
        if row.status in ("declined", "withdrawn"):
            raise Rejected(f"run {run} is {row.status}; begin anew with its answers: --from {run}")
        entries = store.entries(run, upto=row.n)
        number, ask = _answered_at(run, entries, key)
        recorded = store.recorded(run, row.n)
        known = heard(run, recorded)
        old = known.responses[ask.key]
        strange = next((a.key for a in reply.answers if ask.question(a.key) is None), None)
        if strange is not None:
            raise Rejected(f"{strange} was not asked together with {ask.key}")
        require_fit(ask, reply)
        if not elsewhere:
            require_person(ask, reply, who, through)
        answers = {a.key: a for a in (old.answers if isinstance(old, Reply) else ())}
        answers |= {a.key: a for a in reply.answers}
        merged = Reply(tuple(answers.values()))
        amendment = known.last + 1
        known.amend(ask.key, merged, amendment)
        progress = send_recorded(run, restart(store, run, recorded, known), known)
        draft = Draft(row, source)
        draft.answer(merged, ask.key, amends=number, amendment=amendment, why=why)
        try:
            return _go_on(store, draft, progress, deeds)
        except Moved:
            continue


def retry(
    store: Store,
    run: str,
    *,
    who: Who,
    through: str,
    by: str | None = None,
    deeds: Deeds | None = None,
) -> State:
    """Take up a failed run at the step that failed: what came of it is kept, and counts no longer.

    Where a budget was used up, the run gets as much once more.
    """
    from quandary.journal.retrying import RETRIED, taken_up  # noqa: PLC0415 - few runs fail

    source = Source(who, through, by or "")
    while True:
        row = _row(store, run)
        again = taken_up(store, row, store.recorded(run, row.n))
        progress = again.progress
        draft = Draft(row, source)
        noted = Noted(
            kind=RETRIED,
            key=again.key,
            takes_back=again.takes_back,
            amendment=again.amendment,
            **draft.said,
        )
        draft.add(noted, Matter(arguments=again.arguments or None, text=again.text))
        try:
            return _go_on(store, draft, progress, deeds)
        except Moved:
            continue


def look(store: Store, run: str) -> State:
    """Where a run stands, as its journal shows it; the flow is not built again."""
    return look_at(store, _row(store, run))


def wait(store: Store, run: str, n: int, seconds: float) -> State:
    """The state once the run has more than `n` entries, or as it is when the time is up."""
    deadline = time.monotonic() + seconds
    while True:
        row = _row(store, run)
        left = deadline - time.monotonic()
        if row.n > n or row.status != "waiting" or left <= 0:
            return look_at(store, row)
        time.sleep(min(1 / LOOKS_PER_SECOND, left))


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
    for run in store.due(stamp(clock.now())):
        _row(store, run)
    return store.runs(waits="person", project=project, after=after, limit=limit)


def keep_open(store: Store, runs: int) -> None:
    """Keep so many more runs of a store open, for a process that drives many at a time."""
    _kept_open[store] = runs


# -- how it is done ----------------------------------------------------------------------------

MOST_OPEN = 32
"""So many waiting runs of a store are kept open, and a few beside those of `keep_open`."""
_kept_open: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
_opened: WeakKeyDictionary[Store, dict[str, tuple[Run, Progress]]] = WeakKeyDictionary()
"""The runs that this process went on with last, a few for each store: as good as rebuilt as long
as nobody else has appended to them."""
_listeners: WeakKeyDictionary[Store, Listener] = WeakKeyDictionary()


def _open(store: Store, row: Run) -> Progress:
    """The flow of a waiting run, standing where the journal says that it stands."""
    kept = _opened.get(store, {}).pop(row.id, None)
    if kept is not None and kept[0].n == row.n:
        return kept[1]
    progress = rebuild(store, row.id, row.n)
    request = progress.request
    keys = {c.key for c in request} if isinstance(request, tuple) else {getattr(request, "key", "")}
    if row.key not in keys:
        raise Diverged(
            f"run {row.id} waits for {row.key}, which its flow no longer asks for; `quandary log "
            f"{row.id}` shows it, --from {row.id} begins anew with the answers that fit"
        )
    return progress


def _remembered(store: Store, run: str) -> Run | None:
    """The row of a run as this process left it.

    Nothing can be booked on the strength of it that does not fit: where somebody else appended
    since, the store refuses, and the row is looked up.
    """
    kept = _opened.get(store, {}).get(run)
    return kept[0] if kept is not None and not kept[0].expires else None


def _keep(store: Store, row: Run, progress: Progress) -> None:
    if row.status == "waiting":
        opened = _opened.setdefault(store, {})
        opened[row.id] = (row, progress)
        while len(opened) > MOST_OPEN + _kept_open.get(store, 0):
            opened.pop(next(iter(opened)), None)


def _take_over(draft: Draft, progress: Progress, earlier: Earlier) -> None:
    """Answer from an earlier run what is asked again, as far as that goes."""
    while True:
        request = progress.request
        if isinstance(request, Ask):
            # What only a person may say, they have to say each time.
            answered = None if request.require else earlier.fitting(request, draft.at)
            if answered is None:
                return
            body, reply = answered
            draft.add(body, Matter(answers=reply.answers))
            progress.take(reply)
        else:
            for output in filter(None, map(earlier.output, progress.calls)):
                draft.add(earlier.returned(output, draft.at), Matter(came=output))
                progress.collect(output)
            if progress.request is request:
                return
        draft.stand(progress)


def _decide(store: Store, draft: Draft, progress: Progress) -> None:
    """Answer what waits by preference, as often as that may be, and say so beside what is next."""
    policy: Policy | None = None
    while isinstance(progress.request, Ask) and all(
        question.decidable for question in progress.request.questions
    ):
        from quandary.journal.policy import policy_of  # noqa: PLC0415 - most recommend nothing

        ask = progress.request
        policy = policy or policy_of(store, draft.run.project)
        verdicts = policy.judge_all(ask)
        if verdicts is None:
            break
        reply = Reply(tuple(Answer(key, (verdict.code,)) for key, verdict in verdicts.items()))
        draft.decide(ask, reply)
        progress.take(reply)
        draft.stand(progress)
    draft.tell_decided()


def _book(
    store: Store,
    draft: Draft,
    progress: Progress,
    response: Reply | Output | tuple[Output, ...],
    to: str | None,
    token: str = "",
    sent: str = "",
) -> None:
    """Put a response into the draft and before the flow, and then where that leads."""
    row, request = draft.run, progress.request
    if isinstance(response, Reply):
        if not isinstance(request, Ask):
            raise _already(row, to)
        asked = {question.key for question in request.questions}
        named = [answer.key for answer in response.answers]
        for key in named if to is None else [to, *named]:
            if key not in asked:
                raise _already(row, key)
        require_fit(request, response)
        require_person(request, response, draft.source.who, draft.source.through)
        draft.answer(response, request.key, token=token, request=sent)
        progress.take(response)
    else:
        for output in response if isinstance(response, tuple) else (response,):
            if output.key not in {call.key for call in progress.calls}:
                raise _already(row, output.key)
            draft.came(output)
            progress.collect(output)
    if progress.request is not request:
        draft.stand(progress)
        _decide(store, draft, progress)


def _go_on(store: Store, draft: Draft, progress: Progress, deeds: Deeds | None) -> State:
    """Append a draft together with where the flow stands now, and say where that is."""
    draft.stand(progress)
    _decide(store, draft, progress)
    row = draft.append(store)
    _keep(store, row, progress)
    return _do_deeds(store, row, progress, draft.source, deeds, draft.notes)


def _do_deeds(
    store: Store,
    row: Run,
    progress: Progress,
    source: Source,
    deeds: Deeds | None,
    decided: tuple[Note, ...] = (),
) -> State:
    """Do what the house has to do itself, one deed after another.

    Each is journalled before it is done and again when it is done, so that after a crash it is
    done once more: a deed must bear being repeated.
    """
    while isinstance(progress.request, Do) and deeds is not None and row.status == "waiting":
        done = deeds(progress.request)
        _opened.get(store, {}).pop(row.id, None)
        draft = Draft(row, source)
        draft.came(done)
        progress.take(done)
        draft.stand(progress)
        _decide(store, draft, progress)
        decided += draft.notes
        try:
            row = draft.append(store)
        except Moved:
            who, through, by = source
            return advance(store, row.id, who=who, through=through, by=by, deeds=deeds)
        _keep(store, row, progress)
    listener = _listeners.get(store)
    if listener is not None and isinstance(progress.request, Ask) and not source.in_person:
        listener(row, progress.request)
    state = state_of(row, progress)
    return replace(state, notes=(*state.notes, *decided)) if decided else state


def _row(store: Store, run: str) -> Run:
    """The row of a run; one whose time is up is withdrawn by being looked at."""
    while True:
        row = store.run(run)
        if row is None:
            raise NotFound(f"there is no run {run}; `quandary runs` lists them")
        if row.status != "waiting" or not row.expires or stamp(clock.now()) < row.expires:
            return row
        draft = Draft(row, Source("policy", "expiry", ""))
        draft.end("withdrawn", f"nobody answered until {row.expires}")
        try:
            return draft.append(store)
        except Moved:
            continue


def _require_waiting(store: Store, row: Run, response: object, to: str | None) -> None:
    if response is not None and row.status != "waiting":
        raise _already(row, to, look_at(store, row).error or "")


def _waits_for(store: Store, row: Run, key: str) -> bool:
    ask = look_at(store, row).ask
    return key == row.key or (ask is not None and ask.question(key) is not None)


def _already(row: Run, key: str | None, why: str = "") -> AlreadyAnswered:
    what = f"already answered: {key}" if key else "already answered"
    if row.status != "waiting":
        reason = f": {why}" if why else ""
        return AlreadyAnswered(f"{what} (run {row.id} is {row.status}{reason})")
    return AlreadyAnswered(f"{what} (run {row.id} now waits for {row.key})")


def _answered_at(run: str, entries: list[Entry], key: str) -> tuple[int, Ask]:
    """The entry with the answer that counts for a key, and the Ask that it answers."""
    standing: dict[str, int] = {}
    asks: dict[str, Ask] = {}
    for entry in entries:
        body = entry.read()
        if entry.pruned:
            raise Diverged(f"run {run} can be shown but not go on: texts of it were pruned")
        if isinstance(body, Asked):
            ask = entry.read_matter().ask
            if ask is not None:
                asks[body.key] = ask
        elif isinstance(body, Answered):
            if body.amends:
                names = list(standing)
                for later in names[names.index(body.key) :]:
                    del standing[later]
            standing[body.key] = entry.n
        elif isinstance(body, Noted):
            for gone in body.takes_back:
                standing.pop(gone, None)
    for name, number in standing.items():
        ask = asks.get(name)
        if ask is not None and (name == key or ask.question(key) is not None):
            return number, ask
    raise Rejected(f"run {run} has no answer to {key}; `quandary log {run}` shows its answers")
