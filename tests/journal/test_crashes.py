"""Real processes on one journal: killed, racing, crowding."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from typing import TYPE_CHECKING

import processes
import small_flows
from quandary.journal import open_store
from quandary.journal import runs as driver
from quandary.journal.entries import Answered
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.journal.store import Store

EMBEDDED, SHARED = (150, 0.03), (45, 0.12)
"""How many processes are killed, and how long one lives at most before the next one is killed."""


def comments(store: Store, run: str) -> dict[str, list[str]]:
    """What was booked under each key."""
    found: dict[str, list[str]] = {}
    for entry in store.entries(run, kinds=("answered",)):
        body = entry.read()
        assert isinstance(body, Answered)
        (answer,) = entry.read_matter().answers
        found.setdefault(body.key, []).append(str(answer.comment))
    return found


def test_no_answer_is_lost_or_booked_twice_when_processes_are_killed(path: Path | str) -> None:
    """Kill -9 at any moment: what was acknowledged is there, once, and the run goes on."""
    store = open_store(path)
    runs = [small_flows.begin(store, questions=1_000_000).run for _ in range(3)]
    kills, longest = SHARED if isinstance(path, str) else EMBEDDED
    chance = random.Random(20)  # noqa: S311
    lines: list[str] = []
    killed = 0
    with processes.spawn("nursery", path) as nursery:
        children: list[int] = []

        def listen_for_child() -> None:
            while True:
                heard = processes.line(nursery)
                lines.append(heard)
                if heard.startswith("child "):
                    children.append(int(heard.split()[1]))
                    return

        # A busy machine needs longer for the first answer; most of them are to get that far.
        begun = time.monotonic()
        processes.say(nursery, runs[0])
        listen_for_child()
        while not lines[-1].startswith("booked "):
            lines.append(processes.line(nursery))
        longest = max(longest, 1.2 * (time.monotonic() - begun))
        os.kill(children.pop(), signal.SIGKILL)
        for _ in range(kills // len(runs)):
            for run in runs:
                processes.say(nursery, run)
                listen_for_child()
            for child in children:
                time.sleep(chance.uniform(0, longest))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                    killed += 1
            children.clear()
        output, _ = nursery.communicate(timeout=20)
        lines += output.splitlines()
    assert killed >= kills * 2 / 3
    booked = [line.split()[1:] for line in lines if line.startswith("booked ")]
    assert len(booked) > kills / 3
    for run in runs:
        kept = comments(store, run)
        assert all(len(tokens) == 1 for tokens in kept.values())
        assert all(kept[key] == [token] for name, key, token in booked if name == run)
        before = driver.look(store, run)
        after = small_flows.answer(store, before)
        assert f"{len(kept) + 2}:" == after.key
    assert verify(store).ok


def test_of_two_replies_at_once_one_is_booked_and_the_other_told(path: Path | str) -> None:
    """Two processes reply to the same question, 200 times: one wins, the other is told."""
    store = open_store(path)
    state = small_flows.begin(store, questions=300)
    with (
        processes.spawn("racer", path, state.run) as one,
        processes.spawn("racer", path, state.run) as two,
    ):
        assert [processes.line(one), processes.line(two)] == ["ready", "ready"]
        winners = set()
        for number in range(1, 201):
            racers = {"one": one, "two": two} if number % 2 else {"two": two, "one": one}
            for name, racer in racers.items():
                processes.say(racer, f"{number}: {name}-{number}")
                if number % 25 == 0:  # now and then one has a start, so that each wins
                    time.sleep(0.1)
            outcome = {name: processes.line(racer) for name, racer in racers.items()}
            assert sorted(outcome.values()) == ["already", "booked"]
            winner = next(name for name, what in outcome.items() if what == "booked")
            winners.add(winner)
            assert comments(store, state.run)[f"{number}:"] == [f"{winner}-{number}"]
        one.communicate()
        two.communicate()
    assert winners == {"one", "two"}
    assert driver.look(store, state.run).key == "201:"


def test_of_eight_writers_none_starves(path: Path | str) -> None:
    """Eight processes write for two seconds: each gets at least a quarter of a fair share."""
    open_store(path).close()
    moment = time.time() + 2
    writers = [processes.spawn("crowd", path, moment, 2) for _ in range(8)]
    counts = [int(writer.communicate(timeout=60)[0]) for writer in writers]
    assert min(counts) >= sum(counts) / 8 / 4, counts
    assert verify(open_store(path)).ok


def test_many_processes_may_open_a_new_store_at_once(path: Path | str) -> None:
    """Whoever comes first makes the tables; the others find them."""
    starters = [processes.spawn("starter", path) for _ in range(6)]
    runs = [starter.communicate(timeout=60)[0].strip() for starter in starters]
    store = open_store(path)
    assert sorted(runs) == [run.id for run in store.runs()]
    assert verify(store).ok
