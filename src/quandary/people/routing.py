"""Questions of a host in our inbox: `[hooks] route = "inbox"`.

The hook that a host runs before it shows a question puts the question before a person here, waits
for as long as `wait` says, and hands back what they answered. Only a person's own hand counts, at a
terminal or in the browser: the agent that asks cannot answer itself. If nobody answers in time, the
question is withdrawn here and the host shows its own form.

A question that an agent only relays, because a run of ours asks it, is in the inbox already. Then
the hook waits for that run, and tells the agent when it was answered there.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from datetime import timedelta
from math import ceil
from typing import TYPE_CHECKING, Any, Self

from quandary.desk.sheets import sheets
from quandary.errors import ParseError, Rejected
from quandary.journal import entries as clock
from quandary.journal import replay
from quandary.journal.entries import Answered, Asked, Noted, Source, stamp
from quandary.journal.replay import answer_of
from quandary.model.ask import Ask, Preamble
from quandary.people import hook

if TYPE_CHECKING:
    from quandary.journal.store import State, Store
    from quandary.model.ask import Answer, Question
    from quandary.people.hook import Told
    from quandary.settings import Settings

WAIT = 600
"""Seconds that a person has, unless the settings say otherwise."""
LONGEST = 24 * 3600
MARGIN = 30
"""Seconds by which the host must be more patient than we are, so that we can say goodbye."""
MANY = 50
"""Of how many waiting runs we see whether a question is theirs, the newest first."""
JUST_NOW = 120
"""Seconds within which an agent shows a question that a run of ours has given it."""
_LOOK = 0.5
"""Seconds after which we see whether the host is still there."""
_GONE = "the host no longer waits for it"


def seconds(settings: Settings) -> float | None:
    """How long a question waits in the inbox; nothing where it does not go there."""
    table = settings.table("hooks")
    route, wait = table.get("route", "host"), table.get("wait", WAIT)
    if route not in ("host", "inbox"):
        raise ParseError(f'[hooks] route is "inbox" or "host", not {route!r}')
    if type(wait) not in (int, float) or not 0 < wait <= LONGEST:
        raise ParseError(f"[hooks] wait is a number of seconds up to {LONGEST}, not {wait!r}")
    return float(wait) if route == "inbox" else None


def host_timeout(settings: Settings) -> int | None:
    """How long the host has to let our hook run; nothing where its own idea of that will do."""
    wait = seconds(settings)
    return None if wait is None else ceil(wait) + MARGIN


def answered(told: Told, store: Store, project: str, wait: float) -> dict[str, Any] | None:
    """What a person answers in the inbox, for the host; nothing where its form is to appear."""
    until = time.monotonic() + wait
    ours = relayed(told, store, project)
    if ours is not None:
        return _answered_by_itself(store, ours, until)
    quicker = overtaken(told, store, project)
    if quicker is not None:
        return _sent_back(quicker)
    if not fits(told):
        return None
    expires = clock.now() + timedelta(seconds=wait + MARGIN)
    why = _GONE
    with _Host() as host:
        try:
            states = [
                hook.kept(
                    store,
                    told,
                    question,
                    project,
                    prefer=False,
                    ask=_ask(told, question, project),
                    expires=expires,
                )
                for question in told.questions
            ]
            why = _waited(store, states, until, host) or (
                f"nobody answered within {wait:g} seconds, so the host asked in its own form"
            )
        finally:
            names = [told.name(question) for question in told.questions]
            runs = [run for name in names for run in store.named(name).values()]
            states = [_closed(store, run, why) for run in runs]
    return _handed_over(told, store, states)


def relayed(told: Told, store: Store, project: str) -> State | None:
    """The run of ours that waits for an answer to just these questions, as the host shows them."""
    shown = _as_told(told)
    for row in store.runs(waits="person", project=project, newest=True, limit=MANY):
        state = replay.look(store, row.id) if row.flow != "question" else None
        if state is not None and state.ask is not None and _as_shown(state.ask) == shown:
            return state
    return None


def overtaken(told: Told, store: Store, project: str) -> str | None:
    """The run of ours whose question a person answered before the agent came to relay it."""
    shown, lately = _as_told(told), stamp(clock.now() - timedelta(seconds=JUST_NOW))
    for row in store.runs(project=project, newest=True, limit=MANY):
        if row.flow == "question" or row.since < lately:
            continue
        answered: set[str] = set()
        for entry in reversed(store.entries(row.id, kinds=("asked", "answered"))):
            body = entry.read()
            if isinstance(body, Answered) and Source(body.who, body.through, body.by).in_person:
                answered.add(body.key)
            elif isinstance(body, Asked) and body.key in answered:
                ask = entry.read_matter().ask
                if ask is not None and _as_shown(ask) == shown:
                    return row.id
    return None


def _as_told(told: Told) -> list[tuple[str, list[str]]]:
    """The questions of a call with their options, to be compared."""
    return [(told.text(q), list(told.labels(q).values())) for q in told.questions]


def _as_shown(ask: Ask) -> list[tuple[str, list[str]]]:
    """The questions of a run with their options, as a host would be told of them."""
    return [(sheet.text, [option.label for option in sheet.options]) for sheet in sheets(ask)]


def _answered_by_itself(store: Store, state: State, until: float) -> dict[str, Any] | None:
    """Wait for a run that asks the question itself, and send the agent there when it goes on."""
    key = state.key
    with _Host() as host:
        while state.key == key and host.waits and (left := until - time.monotonic()) > 0:
            state = replay.wait(store, state.run, state.n, min(left, _LOOK))
    return None if state.key == key else _sent_back(state.run)


def _sent_back(run: str) -> dict[str, Any]:
    """What tells the agent that there is nothing left to show."""
    return hook.decision(
        "deny",
        f"The person answered this in quandary. Run `quandary next {run}` and go on with the state "
        "that it prints.",
    )


def fits(told: Told) -> bool:
    """Whether a call can be answered here, with nothing of it lost."""
    texts = [question.text for question in told.questions]
    options = [len(hook.options(entry)) for entry in told.input["questions"]]
    shown = [len(question.choices) for question in told.questions]
    return bool(told.call) and all(texts) and len(set(texts)) == len(texts) and options == shown


def _ask(told: Told, question: Question, project: str) -> Ask:
    """The question as a person sees it here: where it comes from, and how its options look."""
    number, count = told.questions.index(question) + 1, len(told.questions)
    where = f" at work in {os.path.basename(project)}" if project else ""
    which = f", as question {number} of {count}" if count > 1 else ""
    context = f"An agent{where} asks this{which}. It waits for you to answer."
    blocks = []
    for option in hook.options(told.input["questions"][number - 1]):
        preview = option.get("preview") if isinstance(option, dict) else None
        if isinstance(preview, str) and preview.strip():
            blocks.append(f"**{option.get('label')}**\n\n{preview.strip()}")
    preamble = Preamble(context, tuple(blocks))
    return Ask(question.key, "transition", preamble, (question,), require="person")


# -- waiting ---------------------------------------------------------------------------------------


class _Host:
    """The program that runs the hook. While it is looked at, its signals end the waiting."""

    def __init__(self) -> None:
        self.process = os.getppid()
        self.stopped = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Listen to its signals, where this is possible."""
        if threading.current_thread() is threading.main_thread():
            names = ("SIGTERM", "SIGHUP", "SIGINT")
            numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
            self._before = {number: signal.signal(number, self._stop) for number in numbers}
        return self

    def __exit__(self, *_: object) -> None:
        """Let signals do what they did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, *_: object) -> None:
        self.stopped = True

    @property
    def waits(self) -> bool:
        """Whether it still wants an answer."""
        return not self.stopped and os.getppid() == self.process


def _waited(store: Store, states: list[State], until: float, host: _Host) -> str:
    """Wait until all is answered, or the time is up; why not longer, where it is neither."""
    while all(state.status in ("waiting", "done") for state in states):
        waiting = [state for state in states if state.status == "waiting"]
        left = until - time.monotonic()
        if not waiting or left <= 0:
            return ""
        if not host.waits:
            return _GONE
        replay.wait(store, waiting[0].run, waiting[0].n, min(left, _LOOK))
        states = [replay.look(store, state.run) for state in states]
    return "another question of the same call was not answered"


def _closed(store: Store, run: str, why: str) -> State:
    """The state of a question that waits no longer; where somebody was quicker, theirs counts."""
    with suppress(Rejected):
        return replay.withdraw(store, run, why, who="agent", through="hook")
    return replay.look(store, run)


# -- handing over ----------------------------------------------------------------------------------


def _handed_over(told: Told, store: Store, states: list[State]) -> dict[str, Any] | None:
    """The host's input with all the answers, or the person's refusal; else nothing."""
    if any(_declined(store, state) for state in states):
        return hook.decision(
            "deny", "The person declined to answer in quandary. Nothing was decided; stop here."
        )
    answers: dict[str, str] = {}
    notes: dict[str, dict[str, str]] = {}
    for question, state in zip(told.questions, states, strict=True):
        answer = _own_answer(store, state)
        text = hook.spelt(told, question, answer) if answer is not None else ""
        if answer is None or not text:
            return None
        answers[told.text(question)] = text
        if answer.comment:
            notes[told.text(question)] = {"notes": answer.comment}
    output = hook.allow(told, "The person answered in quandary.", answers)
    if notes:
        given = told.input.get("annotations")
        merged = {**(given if isinstance(given, dict) else {}), **notes}
        output["hookSpecificOutput"]["updatedInput"]["annotations"] = merged
    return output


def _own_answer(store: Store, state: State) -> Answer | None:
    """What a person answered with their own hand, and nothing that was passed on."""
    found = answer_of(store, state.run) if state.status == "done" else None
    return found[1] if found is not None and found[0].in_person else None


def _declined(store: Store, state: State) -> bool:
    """Whether a person said with their own hand that they will not answer."""
    if state.status != "declined":
        return False
    bodies = [entry.read() for entry in store.entries(state.run, kinds=("noted",))]
    return any(
        isinstance(body, Noted)
        and body.kind == "declined"
        and Source(body.who, body.through, body.by).in_person
        for body in bodies
    )
