"""What acts beside people: hosts that report, agents along a track, walkers, and those who prune,
export, restart servers and set clocks.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec

import walks
from quandary.agents import Driver
from quandary.agents.calling import Surroundings
from quandary.desk import begin, notices, phases
from quandary.desk.state import end_what_expired
from quandary.doors import hosts
from quandary.doors.hosts import hooks
from quandary.errors import QuandaryError, StoreError
from quandary.formats.proof import Given
from quandary.journal import archive, chance, runs
from quandary.journal.verify import Wanted
from quandary.settings.agents import read_catalogue
from simulation.events import HOOK, Act, Wrong
from simulation.people import PHASES, TRACK, Actor
from simulation.world import Loop, Lost, Process

if TYPE_CHECKING:
    from quandary.journal.store import State, Store
    from quandary.model.calls import Call, Output
    from simulation.town import Town


class Host(Actor):
    """A host that asks by itself, and reports what was answered, now and then twice."""

    hand = ("agent", "hook")
    acts = (1, 3)

    def __init__(self, town: Town, name: str) -> None:
        super().__init__(town, name)
        self.caller = hosts.HOOK

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
        act = Act("report", HOOK, to="1:", token=token, answers=(("1:", code),))
        if draw.random() < 0.5:
            self._show(act, call)
            self.world.sleep(draw.uniform(0, 60))

        def work(store: Store) -> None:
            hooks.record(call, store, "sim")

        if draw.random() < 0.5:
            self.world.act(self.name, lambda *_: self.insist(act, work))
        self.insist(act, work)

    def _show(self, act: Act, call: hooks.ToolCall) -> None:
        """Let people answer it in their inbox, for a while."""
        [question] = call.questions
        ask = hooks.make_ask(call, question, "sim")

        def work(store: Store) -> State:
            until = chance.now() + timedelta(seconds=45)
            return hooks.begin_record(store, call, question, "sim", ask=ask, expires=until)

        self.town.oracle.send(act)
        with suppress(StoreError, Lost):
            self.town.runs.append(self.world.call(self.process, work).run)


class Guard(Actor):
    """An agent that works along a track, and has people let it pass at gates."""

    acts = (2, 6)

    def act(self) -> None:
        {0: self.gate, 1: self.gate, 2: self.gate, 3: self.go}[self.random.randrange(4)]()

    def gate(self) -> None:
        """Ask whether the phase may be left."""
        token, showing = self.token(), begin.Showing()

        def work(store: Store) -> State:
            wanted = begin.gate(store, begin.Gating(TRACK), showing)
            return begin.begin(store, self.caller, wanted, showing, key=token)

        came, state = self.insist(self.new("begin", to="gate", token=token), work)
        if came == "ok":
            self.town.runs.append(state.run)

    def go(self) -> None:
        """Move on by a command, as far as that may be."""
        target = PHASES[self.random.randrange(4)]
        how: dict[str, Any] = {"approved": "", "given": Given({}), "source": self.source}

        def work(store: Store) -> object:
            return phases.move_track(store, TRACK, f"{target['label']}: {target['name']}", **how)

        self.ask(self.new("go", to=target["label"]), work)


class Operator(Actor):
    """Whoever restarts servers and the store."""

    acts = (1, 3)
    pause = 60.0

    def act(self) -> None:
        number = self.random.randrange(3)
        if number < 2:
            self.town.server(number).kill()
        else:
            self.world.gone_until = self.world.time + self.random.uniform(1, 20)
            self.world.tell("the store is restarted")


class Keeper(Actor):
    """Somebody who prunes what is over."""

    acts = (1, 4)
    pause = 60.0

    def act(self) -> None:
        keep, age = self.random.choice(["answers", "codes"]), self.random.uniform(1, 40)
        before = chance.stamp(chance.now() - timedelta(seconds=age))
        act = self.new("prune", to=before, answers=(("keep", keep),))
        source = self.source

        def work(store: Store) -> None:
            end_what_expired(store)
            for _ in archive.finish(store, source, lambda _: None):
                pass
            wanted = Wanted(before, keep, None)  # type: ignore[arg-type]  # one of the two
            if next(archive.find_prunable(store, wanted), None) is None:
                return
            archive.prune(store, wanted, "sim", source, lambda _: None)

        self.town.oracle.send(act)
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


class Postman(Actor):
    """A server that delivers what runs have to tell; the receiver is slow, and out now and then."""

    acts = (2, 6)

    def act(self) -> None:
        server = self.town.server(self.random.randrange(2))
        with suppress(StoreError, Lost):
            self.world.call(server, notices.deliver_due)

    def receive(self, told: dict[str, Any]) -> str:
        """Take a letter; what is heard of that."""
        self.world.sleep(self.random.expovariate(1 / 3))
        if self.random.random() < 0.2:
            return "nobody is there"
        self.town.receive(told)
        return "it broke off" if self.random.random() < 0.2 else ""


class Clock(Actor):
    """Whoever sets the clock, and sets it wrong."""

    acts = (1, 2)
    pause = 60.0

    def act(self) -> None:
        jump = self.random.choice([-7200, -60, -1, 30, 7200, 2 * 86400, 400 * 86400, 400 * 86400])
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

        came, state = self.insist(self.new("begin", to="walk", token=token), work)
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
                oracle.stop(process.name)
            self.world.tell(f"{process.name}: {call.key} is done")
            return walks.failed(call) if draw.random() < 0.1 else walks.good(call)

        driver = Driver(store, read_catalogue({}), Surroundings("/", {}))
        driver.make_call = make_call

        def lose_lock() -> None:
            if self.world.locks.get(run) is process:
                del self.world.locks[run]
                self.world.tell(f"{process.name}: the lock of {run[-4:]} is lost")
                oracle.stop(process.name, is_cut_off=True)

        if draw.random() < 0.2:
            loop.call_later(draw.uniform(0, 30), lose_lock)
        patience = draw.uniform(0, 60) if draw.random() < 0.3 else None
        try:
            return loop.run(driver.drive(run, again=self.source), patience)
        except asyncio.CancelledError:
            raise Lost from None
