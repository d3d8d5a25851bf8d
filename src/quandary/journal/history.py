"""History: what the entries of a run come to, worked out by one step.

`fold` is the only place that says which responses still count (after amendments, retries and
answers that were taken over), where a run stands, and what its row says. Writers apply it to the
entries that they append, `verify` to all, and every other reader of a journal uses what it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from quandary.errors import Diverged
from quandary.journal import chance
from quandary.journal.entries import (
    EMPTY,
    Answered,
    AnyBody,
    Asked,
    Began,
    Called,
    End,
    Ended,
    Entry,
    Matter,
    Noted,
    Returned,
    Source,
    Status,
    encode,
    offered,
    seal_entry,
    without_words,
)
from quandary.journal.store import Recorded, Run, State, Store, Waits
from quandary.model import keys
from quandary.model.asks import NO_ANSWER, Answer, Ask, Note, Question, Reply
from quandary.model.calls import READING, Call, Do, Done, Output

if TYPE_CHECKING:
    from quandary.journal.progress import Progress

EARLIER = "earlier"  # what an entry says that came from another run; `by` is that run
BY_PREFERENCE = Source("policy", "preference", "")
HANDED, SNOOZED, UNDONE = "handed over", "snoozed", "undone"
"""Kinds of notes: whoever asked has been given the result; the question is left out of lists for a
while; an answer was taken back."""
Event = Literal["answered", "amended", "undone", "declined", "withdrawn", "expired", "failed"]
"""What a run tells elsewhere, to whoever wants to know what becomes of it."""


_PLACE = ("status", "waits", "key", "asked", "since")
where: Callable[[Run | Standing], tuple[Any, ...]] = attrgetter(*_PLACE)
"""Where a run stands, as its row says it and as its entries do."""


class Standing(Struct):
    """What the entries of a run come to."""

    began: Began | None = None
    n: int = 0
    status: Status = "waiting"
    waits: Waits | None = None
    key: str | None = None
    asked: int = 0  # the entry with which that began to wait
    since: str = ""
    pending: tuple[str, ...] = ()  # the keys of what was asked for and has not come
    responses: dict[str, int] = {}
    """The keys of what was answered or came back and still counts, in the order of asking, each
    with the number of its entry."""
    amendments: dict[str, int] = {}
    """Of those that took the place of another, the number of the amendment."""
    amended: dict[str, tuple[int, ...]] = {}
    """Of the same, the entries before, the oldest first: what was not changed still counts."""
    amendment: int = 0  # the number of the newest amendment, even if it was taken back by another
    retries: tuple[int, ...] = ()  # the notes with which a failed run was taken up again

    @property
    def counting(self) -> set[str]:
        """The keys of every request that still counts, answered or not."""
        return {*self.responses, *self.pending}

    def row(self, run: Run) -> Run:
        """The row of the run, made to say this."""
        return replace(run, n=self.n, **dict(zip(_PLACE, where(self), strict=True)))

    def _wait(self, waits: Waits | None = None, key: str | None = None, asked: int = 0) -> None:
        self.waits, self.key, self.asked = waits, key, asked
        self.pending = () if key is None else (key,)

    def _forget(self, gone: Sequence[str]) -> None:
        for key in gone:
            self.responses.pop(key, None)
            self.amendments.pop(key, None)
            self.amended.pop(key, None)

    def _reopen(self, key: str) -> None:
        """Forget what was answered after this, and keep what made it up so far."""
        if key in self.responses:
            before, names = self.entries_of(key), list(self.responses)
            self._forget(names[names.index(key) :])
            self.amended[key] = before

    def entries_of(self, key: str) -> tuple[int, ...]:
        """The entries that a response which counts is made of, the oldest first."""
        return (*self.amended.get(key, ()), self.responses[key])


def fold(standing: Standing, n: int, body: AnyBody) -> Standing:
    """Add the entry with this number to what the entries before it come to.

    - An answer that amends another takes its place; what it does not change still counts, and
      whatever was answered after that no longer does. A note that takes back says itself what no
      longer counts. Either opens a run again that was over.
    - A run waits for the request that was made last; of several calls made at once the first one
      stands for all until each has come back.
    """
    standing.n = n  # to ask for the very type is quicker than isinstance, and a journal is long
    if type(body) is Answered:
        key = body.key
        if body.amends:
            standing._reopen(key)
            standing.amendment = standing.amendments[key] = body.amendment
        standing.status = "waiting"
        standing.responses[key] = n
        if standing.waits:
            standing._wait()
    elif type(body) is Returned:
        standing.responses[body.key] = n
        standing.pending = tuple(key for key in standing.pending if key != body.key)
        if not standing.pending:
            standing._wait()
    elif type(body) is Asked:
        standing._wait("person", body.key, n)
        standing.since = body.since or body.at
    elif type(body) is Called:
        if standing.pending:
            standing.pending += (body.key,)
        else:
            standing._wait("house" if body.deed else "agent", body.key, n)
            standing.since = body.at
    elif type(body) is Noted and body.amendment:
        standing._forget(body.takes_back)
        standing.amendment = body.amendment
        standing.retries += (n,)
        standing.status = "waiting"
        standing._wait()
    elif type(body) is Ended:
        standing.status, standing.since = body.status, body.at
        standing._wait()
    elif type(body) is Began:
        standing.began, standing.since = body, body.at
    return standing


def history(bodies: Iterable[AnyBody]) -> Standing:
    """What the entries of a run come to, from the first one on."""
    standing = Standing()
    for n, body in enumerate(bodies, 1):
        fold(standing, n, body)
    return standing


def standing_at(row: Run, pending: tuple[str, ...] = ()) -> Standing:
    """Where a run stands as its row says; what counts of it is not known from that."""
    standing = Standing(n=row.n, status=row.status, since=row.since)
    standing._wait(row.waits, row.key, row.asked)
    standing.pending = pending or standing.pending
    return standing


def row_of(entries: Sequence[Entry], number: int = 0) -> Run:
    """The row that sums up a run, from its entries alone."""
    standing = history(entry.read() for entry in entries)
    began = standing.began
    assert began is not None  # noqa: S101 - nothing else begins a run
    first, head = entries[0].digest, entries[-1].digest
    run = Run(number=number, id=entries[0].run, first=first, head=head, **describe_beginning(began))
    return standing.row(run)


def describe_beginning(body: Began) -> dict[str, Any]:
    """What the row of a run says of how it began."""
    return {
        "flow": body.flow,
        "version": body.version,
        "project": body.project,
        "began": body.at,
        "expires": body.expires or None,
    }


class Writer:
    """Entries about to be appended to a run, and the row that they lead to."""

    def __init__(self, run: Run, source: Source, pending: tuple[str, ...] = ()) -> None:
        self.run, self.source = run, source
        self.at = chance.stamp(chance.now())
        self.standing = standing_at(run, pending)
        self.parts: list[tuple[AnyBody, Matter]] = []
        self.told: list[tuple[Question, str, str]] = []
        """Questions that a preference decided, or would have, had the person seen them like this:
        the kind of the note that says so, and its text."""

    @property
    def said(self) -> dict[str, Any]:
        """What every body says."""
        return {"at": self.at, **self.source._asdict()}

    def add(self, body: AnyBody, matter: Matter = EMPTY) -> None:
        """One more entry."""
        self.parts.append((body, matter))
        fold(self.standing, self.standing.n + 1, body)

    def answer(
        self,
        reply: Reply,
        key: str,
        *,
        why: str = "",
        request: str = "",
        **more: str | float | None,
    ) -> None:
        """Record a reply: its codes and what `more` there is in the body, its words apart."""
        answers = without_words(reply)
        spoken = () if answers == reply.answers else reply.answers
        said = Matter(answers=spoken, why=why, request=request)
        body = Answered(key=key, answers=answers, **self.said | more)
        self.add(body, said if spoken or why or request else EMPTY)

    def decide(self, ask: Ask, reply: Reply) -> None:
        """Record what a preference answered; whoever reads the state is told."""
        self.answer(reply, ask.key, **BY_PREFERENCE._asdict())
        for question, answer in zip(ask.questions, reply.answers, strict=True):
            taken = ", ".join(one.label for one in question.choices if one.code in answer.picked)
            text = f"Decided by your preference for {question.id}: {taken}"
            self.told.append((question, "decided", text))

    def tell_decided(self) -> None:
        """Record what is to be told beside what waits now, or beside the end."""
        said = {"at": self.at, **BY_PREFERENCE._asdict()}
        for question, kind, text in self.told:
            noted = Noted(kind=kind, key=question.key, item=question.item, **said)
            self.add(noted, Matter(text=text))

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is to be told of what a preference decided, and of what it did not."""
        return tuple(Note(kind, text, question.item) for question, kind, text in self.told)

    def came(self, response: Output | Done) -> None:
        """Record what a program or a deed gave back."""
        body = Returned(key=response.key, ok=not response.error, **self.said)
        self.add(body, Matter(came=response))

    def stand(self, progress: Progress, since: str = "") -> None:
        """Record where the flow stands now: what waits, since now or before, or how it ended."""
        request = progress.request
        if request is None:
            error = progress.error
            status: End = "done" if error is None else "failed"
            matter = Matter(result=progress.result, error=error or "")
            self.add(Ended(status=status, **self.said), matter)
        elif isinstance(request, Ask):
            codes = {question.key: offered(question) for question in request.questions}
            asked = {"key": request.key, "assignment": request.assignment, **self.said}
            self.add(Asked(offered=codes, since=since, **asked), Matter(ask=request))
        elif isinstance(request, Do):
            self.add(Called(key=request.key, deed=request.deed, **self.said), Matter(sent=request))
        else:
            for call in progress.calls:
                called = {"key": call.key, "assignment": call.assignment, **self.said}
                self.add(Called(agent=call.agent, **called), Matter(sent=call))

    def end(self, status: End, why: str = "") -> None:
        """Record an end that is not the flow's own."""
        self.add(Ended(status=status, **self.said), Matter(error=why) if why else EMPTY)

    def seal(self, previous: bytes) -> tuple[Run, list[Entry]]:
        """The entries, each sealed to the one before, and the row."""
        run, entries = self.run, []
        for number, (body, matter) in enumerate(self.parts, run.n + 1):
            entry = seal_entry(run.id, number, previous, body, matter)
            entries.append(entry)
            previous = entry.digest
        first = run.first or entries[0].digest
        return replace(self.standing.row(run), head=previous, first=first), entries

    @property
    def recorded(self) -> list[Recorded]:
        """As much of it as a flow is built from."""
        return [(encode(body), encode(matter), 0) for body, matter in self.parts]

    def append(self, store: Store) -> Run:
        """Write it down, unless somebody else wrote first."""
        run, entries = self.seal(self.run.head)
        store.append(run, entries, seen=self.run.n, events=self.events)
        return run

    @property
    def events(self) -> list[int]:
        """The numbers of the entries that a run may tell elsewhere."""
        numbered = enumerate(self.parts, self.run.n + 1)
        return [n for n, part in numbered if event_of(*part) is not None]


def event_of(body: AnyBody, matter: Matter) -> Event | None:
    """What an entry tells elsewhere; most tell nothing. Only its words show that one is advice."""
    if isinstance(body, Answered):
        answered = body.amends or any(a.settles for a in matter.answers or body.answers)
        return ("amended" if body.amends else "answered") if answered else None
    if isinstance(body, Noted):
        return "undone" if body.kind == UNDONE else None
    if not isinstance(body, Ended) or body.status == "done":
        return None
    expired = body.status == "withdrawn" and (body.who, body.through) == ("policy", "expiry")
    return "expired" if expired else body.status


class LastAnswer(Struct, frozen=True):
    """The last answer that somebody gave, and what stands against taking it back."""

    key: str
    takes_back: tuple[str, ...]  # it, and what followed from it by itself
    amendment: int  # how many amendments there were so far
    entry: int
    since: str = ""  # since when its question had waited
    obstacle: str = ""


def find_last_answer(entries: Sequence[Entry]) -> LastAnswer | None:
    """The last answer that counts and is no preference's own; nothing where there is none."""
    bodies = [entry.read() for entry in entries]
    standing = history(bodies)
    keys = list(standing.responses)
    for place in reversed(range(len(keys))):
        n = standing.responses[keys[place]]
        body = bodies[n - 1]
        if isinstance(body, Answered) and body.who != "policy":
            since, obstacle = history(bodies[: n - 1]).since, _find_obstacle(body, bodies[n:])
            after, number = tuple(keys[place:]), standing.amendment
            return LastAnswer(keys[place], after, number, n, since, obstacle)
    return None


def _find_obstacle(answered: Answered, later: Iterable[AnyBody]) -> str:
    """Why an answer cannot be taken back: something followed from it, or whoever asked has it."""
    if not is_open_to_undo((answered,)):
        return "whoever asked has it: it came through them"
    if answered.amends:
        return "it took the place of another answer"
    permits = set[str]()
    for body in later:
        if isinstance(body, Called) and body.deed == "use":
            permits.add(body.key)
        elif isinstance(body, Returned) and body.key in permits:
            return "the permit was used"
        elif isinstance(body, Called) and body.deed not in READING:
            return f"{body.agent} was called with it" if body.agent else "it was acted upon"
        if isinstance(body, Noted) and body.kind == HANDED:
            return "whoever asked has it already"
    return ""


def is_open_to_undo(bodies: Iterable[AnyBody]) -> bool:
    """Whether the last answer but a preference's is by a person's own hand, and not handed over."""
    is_open = False
    for body in bodies:
        if isinstance(body, Answered) and body.who != "policy":
            sources = [body.source_of(answer.key) for answer in body.answers]
            is_open = not body.origin and all(source.in_person for source in sources)
        elif isinstance(body, Noted) and body.kind == HANDED:
            is_open = False
    return is_open


def merge(parts: Iterable[tuple[Answered, tuple[Answer, ...]]]) -> dict[str, Given]:
    """The answers to one Ask that count, each with its own source, from its entries in order. An
    amendment changes only what it has otherwise. Those that were written before repeat the answers
    beside it; such a one stays whose it was, so that no source is ever upgraded.
    """
    merged: dict[str, Given] = {}
    for body, answers in parts:
        for answer in answers:
            known = merged.get(answer.key)
            if known is None or known.answer != answer:
                merged[answer.key] = Given(answer, body.source_of(answer.key), body.at)
    return merged


class Given(Struct, frozen=True):
    """An answer, whose it is, and when it was given."""

    answer: Answer
    source: Source
    at: str = ""


class GivenAnswer(Struct, frozen=True):
    """An answer that counts, with the question and the Ask as they were shown."""

    question: Question
    ask: Ask
    answer: Answer
    source: Source
    at: str


def list_answers(
    run: str, entries: Sequence[Entry], *, whole: bool = True
) -> tuple[Standing, list[GivenAnswer]]:
    """What the entries of a run come to, and its answers that count, in the order of asking. A run
    of which texts were pruned is refused, unless it need not be `whole`: then the answers are left
    out that cannot be told any more.
    """
    if whole and any(entry.pruned for entry in entries):
        raise Diverged(f"run {run} can be shown but not resumed: texts of it were pruned")
    bodies = [entry.read() for entry in entries]
    standing = history(bodies)
    asks = {
        body.key: ask
        for entry, body in zip(entries, bodies, strict=True)
        if isinstance(body, Asked) and (ask := entry.read_matter().ask) is not None
    }
    found: list[GivenAnswer] = []
    for key in standing.responses:
        numbers, ask = standing.entries_of(key), asks.get(key)
        if ask is None or any(entries[n - 1].pruned for n in numbers):
            continue
        parts = (
            (body, entries[n - 1].read_matter().answers or body.answers)
            for n in numbers
            if isinstance(body := bodies[n - 1], Answered)
        )
        found += [
            GivenAnswer(question, ask, said.answer, said.source, said.at)
            for said in merge(parts).values()
            if (question := ask.question(said.answer.key)) is not None
        ]
    return standing, found


class Earlier:
    """Answers of an earlier run, of people and of agents, for a run that asks the same again."""

    def __init__(self, store: Store, run: str) -> None:
        self.run = run
        self._answers: dict[str, GivenAnswer] = {}
        self._outputs: dict[tuple[object, ...], list[Output]] = {}
        entries = store.entries(run)
        standing, answers = list_answers(run, entries, whole=False)
        for one in answers:
            if one.source.who == "policy":
                continue  # what preferences decide, they decide by what holds now
            key = one.answer.key
            for number in range(1, standing.amendment + 1):
                key = keys.unamended(key, number)
            self._answers[key] = one
        sent = {call.key: call for e in entries if isinstance(call := e.read_matter().sent, Call)}
        for key, n in standing.responses.items():
            output = entries[n - 1].read_matter().came
            if not isinstance(output, Output) or key not in sent:
                continue
            # Only what could be used is worth being used again; who stopped goes on in its run.
            if not (output.error or output.problem or output.stopped):
                self._outputs.setdefault(_asked(sent[key]), []).append(output)

    def output(self, call: Call, at: str) -> tuple[Returned, Output] | None:
        """What the same agent gave back for the same prompt; each output is used once."""
        if not (found := self._outputs.get(_asked(call))):
            return None
        output = replace(found.pop(0), key=call.key)
        return Returned(key=call.key, at=at, who="agent", through=EARLIER, by=self.run), output

    def fitting(self, ask: Ask, at: str) -> tuple[Answered, Reply] | None:
        """What was answered to the same questions before, each answer used once."""
        found = [
            (question.key, self._answers.pop(question.key))
            for question in ask.questions
            if question.key in self._answers and _fits(self._answers[question.key], question)
        ]
        if not found:
            return None
        reply = Reply(tuple(replace(before.answer, key=key) for key, before in found))
        # Where people and others answered, the entry as a whole is not a person's.
        source = min((before.source for _, before in found), key=lambda one: one.in_person)
        others = {key: before.source for key, before in found if before.source != source}
        said = {"at": at, "origin": self.run, "sources": others or None, **source._asdict()}
        return Answered(key=ask.key, answers=without_words(reply), **said), reply


def _fits(before: GivenAnswer, question: Question) -> bool:
    """Whoever answered must have seen this question, and the options that they named."""
    seen, answer, picked = before.question, before.answer, before.answer.picked
    if (seen.text, seen.title, seen.multi) != (question.text, question.title, question.multi):
        return False
    if (answer.extra and seen.extras != question.extras) or seen.fields != question.fields:
        return False
    if answer.prefix == "force" and "/" in answer.argument:
        return False
    if not picked:
        return seen.options == question.options
    options = {option.code: option for option in (*question.choices, *question.named)}
    earlier = {option.code: option for option in (*seen.choices, *seen.named)}
    return all(code in options and options[code] == earlier.get(code) for code in picked)


def _asked(call: Call) -> tuple[object, ...]:
    """What makes two calls the same, wherever in a run they are made."""
    return call.agent, call.prompt, call.expects, call.routes


def state_of(row: Run, progress: Progress) -> State:
    """The state of a run whose flow is at hand."""
    request = progress.request
    ask = request if isinstance(request, Ask) else None
    sent = (request,) if isinstance(request, Do) else progress.calls
    return _state(row, ask, sent, progress.result, progress.error)


def look_at(
    store: Store, row: Run, *, after: int = 0, entries: Sequence[Entry] | None = None
) -> State:
    """The state of a run from the entries that make it up, where all of them are known, from those.
    Of what happened on the way, a run that is over tells only what came after an entry.
    """
    if entries is not None:
        kinds = ("noted", "ended")
        since = [e for e in entries[max(row.asked - 1, after) :] if row.waits or e.kind in kinds]
    elif row.waits:
        since = store.entries(row.id, after=row.asked - 1, upto=row.n)
    else:
        since = store.entries(row.id, kinds=("noted", "ended"), after=after, upto=row.n)
    ask, result, error = None, None, None
    sent: dict[str, Call | Do] = {}
    notes: list[Note] = []
    for entry in since:
        body, matter = entry.read(), entry.read_matter()
        if isinstance(body, Asked):
            ask = matter.ask
        elif isinstance(body, Called) and matter.sent is not None:
            sent[body.key] = matter.sent
        elif isinstance(body, Returned):
            sent.pop(body.key, None)
        elif isinstance(body, Noted) and (
            body.kind != SNOOZED if row.waits else body.kind in ("decided", "declined")
        ):
            if body.kind in NO_ANSWER:  # the last of them says how it stands
                notes = [note for note in notes if note.kind not in NO_ANSWER]
            notes.append(Note(body.kind, matter.text, body.item))
        elif isinstance(body, Ended):
            result, error = matter.result, matter.error or None
    if row.waits == "person" and ask is None and (now := store.require_run(row.id)).n > row.n:
        return look_at(store, now, after=after)  # it was over and pruned meanwhile
    return _state(row, ask, sent.values(), result, error, notes)


def _state(
    row: Run,
    ask: Ask | None,
    sent: Iterable[Call | Do],
    result: object,
    error: str | None,
    notes: Iterable[Note] = (),
) -> State:
    before = ask.notes if ask is not None else _closing_notes(result)
    return State(
        run=row.id,
        flow=row.flow,
        status=row.status,
        n=row.n,
        key=row.key,
        ask=ask,
        calls=tuple(call for call in sent if isinstance(call, Call)),
        deed=next((do for do in sent if isinstance(do, Do)), None),
        result=result,
        error=error,
        notes=(*before, *notes),
    )


def _closing_notes(result: object) -> tuple[Note, ...]:
    """What a flow has to say with its result."""
    with suppress(ValidationError):  # an imported run can hold anything
        said = result.get("notes") if isinstance(result, dict) else None
        return convert(said, tuple[Note, ...]) if said else ()
    return ()
