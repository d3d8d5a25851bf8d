"""Who acts: people at all doors with their habits, agents that relay, hosts that report, and those
who prune, export, walk, restart servers and set clocks.

Everybody does what their door would have the desk do, tells the oracle what they send and hear, and
sends the same again when they hear nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

import walks
from quandary.agents.calling import Surroundings
from quandary.agents.driving import Driver
from quandary.desk import begin, reply
from quandary.desk.authority import Caller, Scope
from quandary.desk.state import end_what_expired
from quandary.doors.hosts import hooks
from quandary.errors import (
    AlreadyAnswered,
    Diverged,
    PersonRequired,
    QuandaryError,
    Rejected,
    Reused,
    StoreError,
)
from quandary.journal import archive, chance, pruning, runs
from quandary.journal.entries import Source
from quandary.journal.history import Wanted
from quandary.model.asks import Answer, Outcome, Reply
from quandary.settings.agents import read_catalogue
from simulation.oracle import ADVISED, AGAIN, ASKED_BACK, Sent, View, Wrong
from simulation.world import Loop, Lost, Process

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.desk.begin import Beginning
    from quandary.journal.store import State, Store
    from quandary.model.calls import Call, Output
    from simulation.oracle import Came
    from simulation.town import Town

HERE = Scope("sim", "/")
TREE = """## Decision: Review {}
- [OK] Keep it
- [NO] Drop it
- [OTH] Something else
  - [REM] Take it out
  - [SPL] Make two of it
"""
CAME: tuple[tuple[type[Exception], Came], ...] = (
    (StoreError, "unknown"),
    (Lost, "unknown"),
    (AlreadyAnswered, "already"),
    (PersonRequired, "person"),
    (Reused, "reused"),
    (Diverged, "pruned"),
    (Rejected, "refused"),
)


@cache
def questions(count: int, size: int, tree: int, *, require: bool) -> Beginning:
    """A review of so many items, so many at a time, with one of a few trees."""
    items = [{"id": str(n), "label": f"Part {n}"} for n in range(1, count + 1)]
    asking = begin.Asking(
        "The plan is written.", text=TREE.format(tree), items=items, require_person=require
    )
    found = begin.decide(asking, begin.Showing())
    return found._replace(arguments=found.arguments | {"limits": {"questions": size}})


@cache
def options(count: int) -> Beginning:
    """A list of so many options to include, defer or cut."""
    listed = [{"key": f"k{n}", "title": f"Option {n}"} for n in range(count)]
    return begin.split(begin.Splitting(listed, "The plan is written."), begin.Showing())


def view_of(state: State) -> View:
    """A state as the oracle speaks of it."""
    asks: tuple[tuple[str, str], ...] = ()
    if state.ask is not None and state.flow == "decide":
        asks = tuple(
            (q.item, "OTH" if any(c.code == "REM" for c in q.choices) else "")
            for q in state.ask.questions
        )
    chosen = (state.result or {}).get("chosenItems", ()) if state.status == "done" else ()
    result = tuple((one["itemId"], one["path"], one["by"], one["through"]) for one in chosen)
    return View(state.status, state.key, asks, result)


class Actor:
    """Somebody who acts now and then."""

    hand: ClassVar[tuple[Any, ...]] = ("agent", "command")
    acts = (3, 8)
    pause = 20.0
    scope: Scope | None = None

    def __init__(self, town: Town, name: str) -> None:
        self.town, self.world, self.name = town, town.world, name
        self.random = self.world.random(name)
        who, through = self.hand
        self.caller = Caller(who, through, name, self.scope, is_user=True)
        self.session: Process | None = None
        self.tokens = 0

    def live(self, *_: object) -> None:
        """Act, with pauses, until it is enough; somebody may have cut it short."""
        most = self.random.randint(*self.acts)
        only = self.world.only
        for _number in range(most if only is None else min(most, only.acts.get(self.name, 0))):
            self.town.acts[self.name] += 1
            self.act()
            self.world.sleep(self.random.expovariate(1 / self.pause))

    def act(self) -> None:
        """Do one thing."""
        raise NotImplementedError

    @property
    def process(self) -> Process:
        """The program that works for this actor: of a command, one of its own."""
        if self.session is None or self.session.is_dead:
            self.session = Process(self.world, f"{self.name}'s command")
        return self.session

    @property
    def source(self) -> Source:
        """Who this is, as the journal has it."""
        return Source(*self.caller[:3])

    def sent(self, act: str, run: str = "", **more: Any) -> Sent:  # noqa: ANN401
        """Something to be sent."""
        return Sent(self.name, act, (*self.hand, self.name), run, **more)

    def token(self) -> str:
        """What no two requests have alike."""
        self.tokens += 1
        return f"{self.name}-{self.tokens}"

    def ask(self, sent: Sent, work: Callable[[Store], Any]) -> tuple[Came, Any]:
        """Have something done, and hear what came of it."""
        oracle, since = self.town.oracle, len(self.town.oracle.entries)
        value: Any = None
        oracle.send(sent, self.town.clock)
        answers = " ".join(f"{q}={code or 'blank'}" for q, code in sent.answers.items())
        what = f"{self.name}: {sent.act} {sent.run[-4:]} {answers} {sent.token}".rstrip()
        self.world.tell(what)
        came: Came = "ok"
        try:
            value = self.world.call(self.process, work)
        except (QuandaryError, Lost) as error:
            came = next(name for kind, name in CAME if isinstance(error, kind))
            value = error
        view = view_of(value) if came == "ok" and hasattr(value, "status") else None
        self.world.tell(f"{what} -> {came} {view or value or ''}")
        oracle.hear(sent, came, view, self.town.clock, since)
        return came, value

    def insist(self, sent: Sent, work: Callable[[Store], Any]) -> tuple[Came, Any]:
        """The same, once more whenever nothing was heard."""
        came, value = self.ask(sent, work)
        for _ in range(3):
            if came != "unknown":
                break
            self.world.sleep(self.random.uniform(0, 5))
            came, value = self.ask(sent, work)
        return came, value


class Asker(Actor):
    """An agent that asks, with a key of its own for each question."""

    def act(self) -> None:
        draw, token = self.random, self.token()
        wanted = questions(
            draw.randint(1, 4), draw.randint(1, 3), draw.randint(1, 5), require=draw.random() < 0.2
        )
        if draw.random() < 0.15:
            wanted = options(draw.randint(2, 6))
        expires = draw.choice(["", "", "", "1m", "10m"])
        origin = draw.choice([*self.town.begun]) if self.town.begun and draw.random() < 0.25 else ""
        if origin and draw.random() < 0.8:
            wanted = self.town.begun[origin]
        sent = self.sent("begin", token=token)

        def work(store: Store) -> State:
            how = {"expires": expires, "origin": origin, "key": token, "request": token}
            return begin.begin(store, self.caller, wanted, begin.Showing(), **how)

        came, state = self.insist(sent, work)
        if came == "ok":
            self.town.runs.append(state.run)
            self.town.begun[state.run] = wanted


class Person(Actor):
    """Somebody who answers, changes their mind, and looks."""

    acts = (4, 12)
    hand = ("person", "terminal")
    has_tokens = False

    def act(self) -> None:
        if not self.town.runs:
            return
        habits = {
            self.answer: 10,
            self.amend: 3,
            self.look_around: 2,
            self.withdraw: 1,
            self.leave: 1,
            self.advise: 1,
        }
        self.random.choices([*habits], [*habits.values()])[0]()

    def pick(self) -> str:
        """A run, of those that they know of, the newer the likelier."""
        known = self.town.runs
        return known[max(self.random.randrange(len(known)), self.random.randrange(len(known)))]

    def look(self, run: str) -> State | None:
        """Look at a run."""
        came, state = self.ask(self.sent("look", run), lambda store: runs.look(store, run))
        return state if came == "ok" else None

    def look_around(self) -> None:
        """Look at the inbox."""
        oracle = self.town.oracle
        since = len(oracle.entries)
        try:
            shown = self.world.call(self.process, runs.inbox)
        except (StoreError, Lost):
            return
        self.world.tell(f"{self.name}: inbox {[row.id[-4:] for row in shown]}")
        oracle.judge_inbox([row.id for row in shown], since)

    def choose(self, state: State) -> Reply:
        """What to answer, not always to every question."""
        assert state.ask is not None
        asked, draw = list(state.ask.questions), self.random
        some = [q for q in asked if draw.random() < 0.75] or [draw.choice(asked)]
        answers = []
        for q in some:
            codes = [c.code for c in (*q.choices, *q.named)]
            if state.flow == "decide" and draw.random() < 0.1:
                answers.append(Answer(q.key, prefix="question", argument="Why?"))
                continue
            code = draw.choice([*codes, ""] if state.flow == "decide" else codes)
            answers.append(Answer(q.key, (code,) if code else ()))
        return Reply(tuple(answers))

    def answer(self) -> None:
        """Look, think, answer; with two clicks, now and then."""
        state = self.look(self.pick())
        if state is None or state.ask is None:
            return
        self.world.sleep(self.random.expovariate(1 / 10))
        said = self.choose(state)
        token = self.token() if self.has_tokens else ""
        sent = self.sent("reply", state.run, to=state.key, token=token, answers=coded(said))

        def work(store: Store) -> State:
            return self.reply(store, state, said, token)

        if token and self.random.random() < 0.2:
            self.world.act(self.name, lambda *_: self.insist(sent, work))
        if token:
            self.insist(sent, work)
        else:
            self.ask(sent, work)

    def reply(self, store: Store, state: State, said: Reply, token: str) -> State:
        """As a terminal does it."""
        assert not token
        return reply.record_reply(store, self.caller, state.run, said, to=state.key)

    def amend(self) -> None:
        """Change an answer."""
        run = self.town.oracle.runs[self.pick()]
        if not run.given or run.flow != "decide":
            return
        key = self.random.choice([*run.given])
        some = [q for q in run.asked[key] if self.random.random() < 0.7] or [*run.asked[key]][:1]
        codes = {"": ("OK", "NO", "OTH/SPL", ""), "OTH": ("REM", "SPL", "")}
        new = {q: self.random.choice(codes[run.asked[key][q][1]]) for q in some}
        seen = None
        code = run.given[key].get(some[0], (ASKED_BACK,))[0]
        if code not in AGAIN and self.random.random() < 0.5:
            seen = (some[0], code)
        self.world.sleep(self.random.expovariate(1 / 10))
        sent = self.sent("amend", run.id, to=some[0], answers=new, seen=seen)
        changed = Reply(tuple(answer_to(q, code) for q, code in new.items()))

        def work(store: Store) -> State:
            before = answer_to(*seen) if seen else None
            how: dict[str, Any] = {"key": some[0], "why": "On second thoughts.", "seen": before}
            return reply.amend(store, self.caller, run.id, changed, **how)

        self.ask(sent, work)

    def withdraw(self) -> None:
        """End a run."""
        run = self.pick()
        sent = self.sent("withdraw", run)
        self.ask(sent, lambda store: reply.withdraw(store, self.caller, run, "No need."))

    def advise(self) -> None:
        """Answer what somebody asked back; it is no answer."""
        state = self.look(self.pick())
        if state is None or state.ask is None or state.flow != "decide":
            return
        sent = self.sent("advise", state.run, to=state.key, answers={state.key: ADVISED})
        key = state.key or ""
        self.ask(
            sent, lambda store: reply.advise(store, self.caller, state.run, "Because.", (), key)
        )

    def leave(self) -> None:
        """Decline to answer, or close the box."""
        state = self.look(self.pick())
        if state is None or state.ask is None:
            return
        outcome = self.random.choice(
            [Outcome("declined", "Not now."), Outcome("dismissed"), Outcome("idle")]
        )
        act = "decline" if outcome.kind == "declined" else "dismiss"
        sent = self.sent(act, state.run, to=state.key)

        def work(store: Store) -> State:
            return reply.record_reply(store, self.caller, state.run, outcome, to=state.key)

        self.ask(sent, work)


class Visitor(Person):
    """A person in the browser, at one of two servers; a form is sent with a token."""

    hand = ("person", "web")
    scope = HERE
    has_tokens = True

    @property
    def process(self) -> Process:
        return self.town.server(self.random.randrange(2))

    def reply(self, store: Store, state: State, said: Reply, token: str) -> State:
        """As a server does it."""
        digest = begin.digest_of(self.caller.source, said)
        now = runs.look(store, state.run)
        before = runs.replied(store, state.run, token, digest)
        if before is not None:
            return before
        reply.require_waiting(now, state.key)
        how: dict[str, Any] = {"to": state.key, "token": token, "sent": digest}
        return reply.record_reply(store, self.caller, state.run, said, **how)


class Script(Visitor):
    """A program that uses the HTTP API."""

    hand = ("api", "web")

    def amend(self) -> None:
        """That is for people."""


class Chat(Person):
    """A person in a form that an agent's program shows, which is not their own hand."""

    hand = ("agent", "mcp")
    scope = HERE

    def amend(self) -> None:
        """That is for people."""


class Relay(Person):
    """An agent that passes on what it was told."""

    hand = ("agent", "relay")

    def reply(self, store: Store, state: State, said: Reply, token: str) -> State:
        """As the command does it."""
        assert not token
        answers = [
            {"key": a.key, "text": f"Q: {a.argument}"}
            if a.prefix
            else {"key": a.key, "picked": [*a.picked]}
            for a in said.answers
        ]
        data = msgspec.json.encode({"answers": answers})
        return reply.reply(store, self.caller, state.run, data, state.key)[0]


def coded(said: Reply) -> dict[str, str]:
    """The codes of a reply, by question."""
    return {a.key: ASKED_BACK if a.prefix else "".join(a.picked) for a in said.answers}


def answer_to(question: str, code: str) -> Answer:
    """An answer of one code, or a blank one."""
    return Answer(question, (code,) if code else ())


class Host(Actor):
    """A host that asks by itself, and reports what was answered, now and then twice."""

    hand = ("agent", "hook")
    acts = (1, 3)

    def __init__(self, town: Town, name: str) -> None:
        super().__init__(town, name)
        self.caller = hooks.HOOK

    def act(self) -> None:
        draw, token = self.random, self.token()
        code, label = draw.choice([("A", "SQLite"), ("B", "PostgreSQL")])
        question = "Which store is the journal of this project to be kept in?"
        options = [{"label": one, "description": "A store."} for one in ("SQLite", "PostgreSQL")]
        told: dict[str, Any] = {
            "tool_name": "AskUserQuestion",
            "session_id": "s",
            "tool_use_id": token,
            "tool_input": {"questions": [{"question": question, "options": options}]},
            "tool_response": {"answers": {question: label}},
        }
        call = hooks.read_call(told)
        assert call is not None
        sent = Sent(self.name, "report", ("agent", "hook", ""), token=token, answers={"1:": code})
        if draw.random() < 0.5:
            self._show(sent, call)
            self.world.sleep(draw.uniform(0, 60))

        def work(store: Store) -> None:
            hooks.record(call, store, "sim")

        if draw.random() < 0.5:
            self.world.act(self.name, lambda *_: self.insist(sent, work))
        self.insist(sent, work)

    def _show(self, sent: Sent, call: hooks.ToolCall) -> None:
        """Let people answer it in their inbox, for a while."""
        [question] = call.questions
        ask = hooks._ask_person(call, question, "sim")

        def work(store: Store) -> State:
            until = chance.now() + timedelta(seconds=45)
            return hooks.begin_record(store, call, question, "sim", ask=ask, expires=until)

        self.town.oracle.send(sent, self.town.clock)
        with suppress(StoreError, Lost):
            self.town.runs.append(self.world.call(self.process, work).run)


class Keeper(Actor):
    """Somebody who prunes what is over."""

    acts = (1, 4)
    pause = 60.0

    def act(self) -> None:
        keep, age = self.random.choice(["answers", "codes"]), self.random.uniform(1, 40)
        before = chance.stamp(chance.now() - timedelta(seconds=age))
        sent = self.sent("prune", to=before, answers={"keep": keep})
        source = self.source

        def work(store: Store) -> None:
            end_what_expired(store)
            for _ in pruning.finish(store, source, lambda _: None):
                pass
            wanted = Wanted(before, keep, None)  # type: ignore[arg-type]  # one of the two
            if next(pruning.find_prunable(store, wanted), None) is None:
                return
            pruning.prune(store, wanted, "sim", source, lambda _: None)

        oracle = self.town.oracle
        oracle.send(sent, self.town.clock)
        self.world.tell(f"{self.name}: prune {keep} before {before}")
        with suppress(StoreError, Lost):
            self.world.call(self.process, work)


class Archivist(Actor):
    """Somebody who exports runs and imports them elsewhere; a file may be torn on its way."""

    acts = (1, 4)

    def act(self) -> None:
        if not self.town.runs:
            return
        run, draw = self.random.choice(self.town.runs), self.random
        with suppress(StoreError, Lost):
            exported = self.world.call(self.process, lambda store: archive.fetch(store, run))
            data = archive.write(exported)
            self.world.tell(f"{self.name}: export {run[-4:]} as far as entry {exported.digest[:6]}")
            self.world.sleep(draw.uniform(0, 60))
            is_torn = draw.random() < 0.25
            self._bring(exported, data[: draw.randrange(len(data) - 1)] if is_torn else data)

    def _bring(self, exported: archive.Exported, data: bytes) -> None:
        """Import it, and see that it is there as it was."""
        there = Process(self.world, f"{self.name}'s import", "elsewhere")
        source = self.source

        def work(store: Store) -> bool:
            read = archive.read(data, "the file")
            how: dict[str, Any] = {"about": "a run", "project": "sim", "source": source}
            archive.import_run(store, read, **how)
            kept = archive.fetch(store, exported.run)
            return len(kept.entries) >= len(read.entries)

        is_torn = data != archive.write(exported)
        imported = self.town.imported
        try:
            is_kept = self.world.call(there, work)
        except (StoreError, Lost):
            imported.add(exported.run)
            return
        except QuandaryError as refused:
            self.world.tell(f"{self.name}: import {exported.run[-4:]} -> {refused}")
            if not is_torn and exported.run not in imported:
                raise Wrong(f"a good file of {exported.run} is refused: {refused}") from None
            return
        imported.add(exported.run)
        self.world.tell(f"{self.name}: import {exported.run[-4:]} -> ok")
        if is_torn or not is_kept:
            raise Wrong(f"run {exported.run} is imported from a torn file, or not kept")


class Clock(Actor):
    """Whoever sets the clock, and sets it wrong."""

    acts = (1, 2)
    pause = 60.0

    def act(self) -> None:
        jump = self.random.choice([-7200, -60, -1, 1, 30, 7200, 2 * 86400, 400 * 86400])
        self.world.skew = jump if self.random.random() < 0.7 else 0
        self.world.tell(f"the clock jumps by {self.world.skew}")


class Planner(Actor):
    """Somebody who begins walks."""

    acts = (1, 2)

    def act(self) -> None:
        token = self.token()
        given = {
            "item": {"id": "1", "title": "Version 2"},
            "defaults": {"cli": "CLAUDE", "retries": 1},
            "codenames": ["CLAUDE", "HUMAN"],
        }
        chart = {"chart": msgspec.to_builtins(walks.RELEASE)}
        name, source = f"asked:{self.name} {token}", self.source
        how: dict[str, Any] = {"project": "sim", "name": name, "once": True, **source._asdict()}

        def work(store: Store) -> State:
            return runs.begin(store, "walk", given, documents=chart, **how)

        came, state = self.insist(self.sent("begin", token=token), work)
        if came == "ok":
            self.town.runs.append(state.run)


class Walker(Actor):
    """A program that makes the calls of a run, until a person is asked, or somebody ends it."""

    acts = (3, 8)
    processes = 0

    def act(self) -> None:
        self.processes += 1
        process = Process(self.world, f"{self.name} {self.processes}")
        with suppress(QuandaryError, Lost):
            waiting = self.world.call(process, lambda store: store.runs(waits="agent"))
            failed = self.world.call(
                process, lambda store: store.runs(status="failed", flow="walk")
            )
            if not (waiting or failed):
                return
            run = self.random.choice([*waiting, *failed]).id
            self.world.tell(f"{process.name}: walk {run[-4:]}")
            state = self.world.call(process, lambda store: self._walk(store, process, run))
            self.world.tell(f"{process.name}: walk {run[-4:]} -> {state.status} {state.key}")

    def _walk(self, store: Store, process: Process, run: str) -> State:
        loop, oracle, draw = Loop(self.world), self.town.oracle, self.random

        async def make_call(call: Call, *_: object) -> Output:
            oracle.start_agent(process.name, run, call.key)
            try:
                await asyncio.sleep(draw.uniform(0.1, 20))
            finally:
                oracle.stop_agents(process.name)
            self.world.tell(f"{process.name}: {call.key} is done")
            return walks.failed(call) if draw.random() < 0.1 else walks.good(call)

        driver = Driver(store, read_catalogue({}), Surroundings("/", {}))
        driver.make_call = make_call

        def lose_lock() -> None:
            if self.world.locks.get(run) is process:
                del self.world.locks[run]
                self.world.tell(f"{process.name}: the lock of {run[-4:]} is lost")
                oracle.lose_lock(process.name)

        if draw.random() < 0.2:
            loop.call_later(draw.uniform(0, 30), lose_lock)
        patience = draw.uniform(0, 60) if draw.random() < 0.3 else None
        try:
            return loop.run(driver.drive(run, again=self.source), patience)
        except asyncio.CancelledError:
            raise Lost from None
