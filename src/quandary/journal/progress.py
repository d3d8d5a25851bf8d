"""A flow under way: built from its start, and sent what the journal holds for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from quandary.errors import Diverged, Failed, PersonRequired, QuandaryError, Rejected
from quandary.journal.entries import (
    Answered,
    Matter,
    Noted,
    Source,
    Unreadable,
    offered,
    read_beginning,
    read_bodies,
    read_document,
    read_matter,
    readable,
)
from quandary.journal.history import Given, Standing, history, merge
from quandary.model import keys
from quandary.model.asks import BACK, MARK, Answer, Ask, Reply
from quandary.model.calls import Call, Do, Done, Output

if TYPE_CHECKING:
    from quandary.flows import Flow, Request, Response
    from quandary.journal.store import Recorded, Store

    Sent = Reply | Output | Done

T = TypeVar("T")

_COMPLETING = threading.Lock()
_completed: set[type[msgspec.Struct]] = set()

FLOWS: dict[str, str] = {
    "decide": "quandary.flows.decide",
    "gate": "quandary.flows.gate",
    "permit": "quandary.flows.permit",
    "phase": "quandary.flows:phase",
    "split": "quandary.flows.split",
    "track": "quandary.flows:track",
    "walk": "quandary.flows.walk",
    "question": "quandary.flows:question",
    "prefer": "quandary.flows:prefer",
    "prune": "quandary.flows:prune",
    "imported": "quandary.flows:imported",
}
"""The flows that can be run, and the modules that hold them; `start` begins one, or what is named
behind a colon."""


class Progress:
    """A flow and where it stands: at a request, or at its end."""

    def __init__(self, flow: Flow, size: int) -> None:
        self.flow = flow
        self.size = size  # of what it began with, in bytes
        self.request: Request | None = None  # what it waits for; nothing once it is over
        self.arrived: dict[str, Output] = {}
        """Of calls that were made at once, the outputs that have come."""
        self.asked: dict[str, int] = {}
        """The keys of everything that it asked for, those of one request with one number."""
        self.amendment = 0  # the number of the amendment that this part of the run follows
        self.shown = 0  # the number that the keys of the request bear
        self.result: Any = None
        self.error: str | None = None

    def take(self, response: Response | None, refusal: type[QuandaryError] = QuandaryError) -> None:
        """Go to the next request, or to the first one with nothing; a refusal is how it fails."""
        if self.shown and response is not None:
            response = _renamed(response, keys.unamended, self.shown)
        try:
            self._stand_at(self.flow.send(response))  # type: ignore[arg-type]  # begins with None
        except StopIteration as end:
            self.request, self.result = None, _as_json(end.value)
        except refusal as error:
            self.request, self.error = None, str(error)
            self.result = _as_json(error.result) if isinstance(error, Failed) else None

    def collect(self, output: Output) -> None:
        """Keep one output; with the last one that is waited for, go on."""
        self.arrived[output.key] = output
        if not self.calls:
            calls, arrived, self.arrived = self.request, self.arrived, {}
            several = isinstance(calls, tuple) and tuple(arrived[call.key] for call in calls)
            self.take(several or output)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that have no output yet."""
        calls = self.request if isinstance(self.request, tuple) else (self.request,)
        return tuple(c for c in calls if isinstance(c, Call) and c.key not in self.arrived)

    def show_again(self, anew: Mapping[str, int]) -> None:
        """Where what waits was asked before and is asked anew, let its keys bear that number."""
        while self.request is not None and (number := anew.get(key_of(self.request), 0)):
            self.amendment = number
            self._stand_at(_renamed(self.request, keys.unamended, self.shown))

    def _stand_at(self, request: Request) -> None:
        while isinstance(request, tuple) and not request:
            request = self.flow.send(())
        self.shown = self.amendment
        if self.shown:
            request = _renamed(request, keys.amended, self.shown)
        self.request, asked, number = request, self.asked, len(self.asked)
        for one in request if isinstance(request, tuple) else (request,):
            if one.key in asked:
                raise RuntimeError(f"the flow asks twice under the key {one.key}")
            asked[one.key] = number


def _as_json(result: object) -> Any:  # noqa: ANN401 - any JSON
    """A result as it will be read from the journal."""
    return msgspec.json.decode(msgspec.json.encode(result))


def key_of(request: Request) -> str:
    """What a request is known by; several calls by the first of them."""
    return request[0].key if isinstance(request, tuple) else request.key


def _renamed(thing: T, rename: Callable[[str, int], str], number: int) -> T:
    """A request or a response with every key in it put in another form."""
    if isinstance(thing, tuple):
        return tuple(_renamed(part, rename, number) for part in thing)  # type: ignore[return-value]  # of the same kind
    changes: dict[str, Any] = {}
    if isinstance(thing, Reply):
        changes["answers"] = _renamed(thing.answers, rename, number)
    else:
        changes["key"] = rename(thing.key, number)  # type: ignore[attr-defined]  # all others have one
        if isinstance(thing, Ask):
            changes["questions"] = _renamed(thing.questions, rename, number)
    return replace(thing, **changes)  # type: ignore[type-var]  # they are all Structs


def version_of(flow: str) -> int:
    """The version of a flow's keys and meanings that this Quandary has."""
    return int(module_of(flow).VERSION)


def start(
    flow: str, arguments: dict[str, Any], size: int, heard: dict[str, Sent] | None = None
) -> Progress:
    """A flow at its first request, or at the first that it cannot follow from what was heard."""
    module = module_of(flow)
    recall = getattr(module, "recall", None) if heard is not None else None
    begin = getattr(module, FLOWS[flow].partition(":")[2] or "start")
    progress = Progress(recall(arguments, heard) if recall else begin(arguments), size)
    progress.take(None, Failed)  # one that refuses to begin otherwise is not begun
    return progress


def rebuild(store: Store, run: str, entries: Sequence[Recorded] | None = None) -> Progress:
    """The flow of a run, brought to where its entries lead, all of them or these."""
    with readable(run):
        return resume(store, run, heard(run, store.recorded(run) if entries is None else entries))


def resume(store: Store, run: str, known: Heard) -> Progress:
    """The flow of a run, brought to where what it is sent leads."""
    left = dict(known.responses)
    return replay(run, restart(store, run, known, left), known, left)


def restart(store: Store, run: str, known: Heard, left: dict[str, Sent]) -> Progress:
    """The flow of a run at its first request, as it began, or with the terms it has got since."""
    began = known.standing.began
    if began is None:
        raise Diverged(f"run {run} does not begin with its beginning; see `quandary verify {run}`")
    if began.flow not in FLOWS:
        raise Diverged(f"run {run} is of the flow {began.flow}, which this Quandary lacks")
    version = version_of(began.flow)
    if began.version != version:
        raise Diverged(
            f"run {run} was begun with version {began.version} of {began.flow}, and this Quandary "
            f"has version {version}; begin anew with the answers that fit: --from {run}"
        )
    arguments, size = dict(known.arguments), known.size
    for name, digest in began.documents.items():
        if name.startswith(MARK):
            continue
        if (written := store.document(digest)) is None:
            raise Diverged(f"run {run} began with a document that the store has lost")
        arguments[name] = read_document(written, run)
        size += len(written)
    try:
        changed = known.anew or known.standing.amendments
        return start(began.flow, arguments, size, None if changed else left)
    except QuandaryError as error:
        raise Diverged(f"run {run} cannot be begun again: {error}") from error


class Heard(msgspec.Struct, frozen=True):
    """What the flow of a run is sent again."""

    standing: Standing
    responses: dict[str, Sent]  # what counts, by key, in the order of asking
    anew: dict[str, int]
    """Of what was asked anew after the run had failed, the number, by its key before that."""
    arguments: dict[str, Any]
    """What the run was begun with, without its documents, as it holds since the last retry."""
    size: int  # of what it was begun with, in bytes


def heard(run: str, entries: Sequence[Recorded]) -> Heard:
    """What the flow of a run is sent, from the entries that it is built from."""
    bodies = read_bodies([entry[0] for entry in entries])
    standing = history(bodies)
    if standing.began is None:  # as in a damaged store
        raise Unreadable(run)
    responses: dict[str, Sent] = {}
    for key, n in standing.responses.items():
        body, entry = bodies[n - 1], entries[n - 1]
        if isinstance(body, Answered):
            if key in standing.amended or body.sources:
                parts = [
                    (one, _matter(run, entries[m - 1]).answers or one.answers)
                    for m in standing.entries_of(key)
                    if isinstance(one := bodies[m - 1], Answered)
                ]
                responses[key] = attribute(merge(parts))
            else:  # most are, and there can be thousands
                answers = body.answers
                if entry[1] or entry[2]:
                    answers = _matter(run, entry).answers or answers
                responses[key] = Reply(answers, (body.hand,) * len(answers))
        else:
            came = _matter(run, entry).came
            if came is None:
                raise Diverged(f"run {run} has nothing under {key}; `quandary verify {run}`")
            responses[key] = came
    arguments = _matter(run, entries[0]).arguments or {}
    anew = {}
    for n in standing.retries:
        note = bodies[n - 1]
        assert isinstance(note, Noted)  # noqa: S101 - nothing else takes a run up again
        anew[note.key] = note.amendment
        arguments = arguments | (_matter(run, entries[n - 1]).arguments or {})
    return Heard(standing, responses, anew, arguments, len(entries[0][1] or b""))


def attribute(given: Mapping[str, Given]) -> Reply:
    """A reply as a flow hears it: each answer with the hand that it came from."""
    of_each = given.values()
    return Reply(tuple(one.answer for one in of_each), tuple(one.source[:2] for one in of_each))


def replay(run: str, progress: Progress, recorded: Heard, left: dict[str, Sent]) -> Progress:
    """Send the flow what was recorded: found by key, never by order, and nothing left over."""
    anew = recorded.anew
    amendments = recorded.standing.amendments
    while True:
        if anew:
            progress.show_again(anew)
        request = progress.request
        if isinstance(request, (Ask, Do)):
            key = request.key
            if (sent := left.pop(key, None)) is None:
                break
            fits = (
                isinstance(sent, Reply) and not misfit(request, sent)
                if isinstance(request, Ask)
                else isinstance(sent, Done)
            )
            if not fits:
                raise _diverged(run, key)
            progress.amendment = amendments.get(key, progress.amendment)
            progress.take(sent)
        else:
            for call in progress.calls:
                output = left.pop(call.key, None)
                if isinstance(output, Output):
                    progress.collect(output)
                elif output is not None:
                    raise _diverged(run, call.key)
            if progress.request is request:
                break
    if left:
        raise _diverged(run, next(iter(left)))
    return progress


def way_back(store: Store, run: str, known: Heard) -> tuple[tuple[str, ...], dict[str, Any]]:
    """How a failed run can be tried again: the keys of what counts no longer, and its new terms."""
    ended = resume(store, run, known)
    began, given = read_beginning(store, run)
    again = getattr(module_of(began.flow), "again", None)
    found = again(given, ended.result) if again and isinstance(ended.result, dict) else None
    if found is None:
        raise Rejected(
            f"run {run} failed where nothing can be tried again; begin anew: --from {run}"
        )
    asked, arguments = found
    if not asked:
        return (), arguments
    names = {keys.amended(asked, n) for n in range(known.standing.amendment + 1)}
    first = min(number for key, number in ended.asked.items() if key in names)
    return tuple(key for key in known.responses if ended.asked[key] >= first), arguments


def misfit(ask: Ask, reply: Reply) -> str:
    """What is wrong with a reply to this Ask: a code that none of its questions offers."""
    for answer in reply.answers:
        key, picked, further = answer.key, answer.picked, answer.among + answer.proposed
        if (question := ask.question(key)) is None:
            return f"there is no question {key}"
        codes = [choice.code for choice in question.choices]
        for code in picked + further if further else picked:
            if code not in codes:
                # It may be one that only text can name, or the menu before such.
                known = (f"{one.code}/".startswith(f"{code}/") for one in question.every)
                if code != BACK and not any(known):  # where nothing is before it, the flow says so
                    listed = ", ".join(offered(question))
                    return f"{code} is not offered by {key} (choose from {listed})"
    return ""


def require_fit(ask: Ask, reply: Reply) -> None:
    """Refuse a reply that names what was not offered, or that says nothing at all."""
    if not reply.answers:
        raise Rejected("the reply answers nothing; the question still waits")
    keys = [answer.key for answer in reply.answers]
    if len(set(keys)) < len(keys):
        raise Rejected("the reply answers the same question twice; the question still waits")
    if wrong := misfit(ask, reply):
        raise Rejected(f"{wrong}; the question still waits")


def require_person(ask: Ask, reply: Reply, source: Source) -> None:
    """Refuse what was not answered by a person themselves, where that is asked for."""
    advice = all(
        answer.advice and answer == Answer(answer.key, advice=answer.advice, offers=answer.offers)
        for answer in reply.answers
    )
    if ask.require == "person" and not source.in_person and not advice:
        raise PersonRequired(
            "only a person can answer this, at a terminal or in the browser "
            "(quandary next RUN, quandary serve); the question still waits"
        )


def _matter(run: str, entry: Recorded) -> Matter:
    _, matter, pruned = entry
    if pruned:
        raise Diverged(f"run {run} can be shown but not resumed: texts of it were pruned")
    return read_matter(matter)


def _diverged(run: str, key: str) -> Diverged:
    return Diverged(
        f"run {run} no longer fits its flow: what was answered to {key} is not what is asked there "
        f"now; `quandary log {run}` shows it, --from {run} begins anew with the answers that fit"
    )


def module_of(flow: str) -> Any:  # noqa: ANN401 - a module with VERSION and start
    """The module that holds a flow."""
    if flow not in FLOWS:
        raise QuandaryError(f"there is no flow {flow}; there are: {', '.join(FLOWS)}")
    return import_module(FLOWS[flow].partition(":")[0])


def complete_types() -> None:
    """Load every flow, and have msgspec complete every type of ours that is loaded. It does so when
    a type is first read into, and two threads that do it at once end the process: whoever starts
    threads, or may be called from some, calls this before the first of them reads anything.
    """
    with _COMPLETING:
        for flow in FLOWS:
            module_of(flow)
        for late in ("agents", "trust"):  # which are loaded only where something is asked of them
            import_module(f"quandary.settings.{late}")
        kinds: list[type[msgspec.Struct]] = [msgspec.Struct]
        for kind in kinds:
            kinds += kind.__subclasses__()
            if kind.__module__.startswith("quandary.") and kind not in _completed:
                with suppress(NameError, TypeError):  # one that is never read into
                    msgspec.json.Decoder(kind)
        _completed.update(kinds)
