"""A process that works on a journal: run by tests, killed by tests."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import small_flows
from quandary.errors import AlreadyAnswered, QuandaryError
from quandary.journal import open_store, runs
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from quandary.journal.store import Store


def tell(*words: object) -> None:
    """One line, in one write."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def reply_on_and_on(path: str, run: str) -> None:
    """Answer whatever waits, and say so once it is booked."""
    store = open_store(path)
    while True:
        reply_once(store, run)


def reply_once(store: Store, run: str) -> None:
    """One reply, with words of its own."""
    state = runs.look(store, run)
    token = os.urandom(6).hex()
    reply = small_flows.pick(state.key, "OK", comment=token)
    runs.advance(store, run, reply, to=state.key, who="person", through="terminal")
    tell("booked", run, state.key, token)


def nursery(path: str) -> None:
    """For each run named on a line, a process that replies to it until it is killed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    open_store(path).close()  # what it imports, the children have
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            reply_on_and_on(path, line.strip())
        tell("child", child)


def racer(path: str, run: str) -> None:
    """For each key and token on a line, one reply, and what came of it."""
    store = open_store(path)
    tell("ready")
    for line in sys.stdin:
        key, token = line.split()
        reply = small_flows.pick(key, "OK", comment=token)
        try:
            runs.advance(store, run, reply, to=key, who="person", through="terminal")
            tell("booked")
        except AlreadyAnswered:
            tell("already")


def crowd(path: str, moment: str, seconds: str) -> None:
    """From that moment on, as many replies as can be had in the time."""
    store = open_store(path)
    state = small_flows.begin(store, questions=1_000_000)
    time.sleep(max(0, float(moment) - time.time()))
    until = time.monotonic() + float(seconds)
    count = 0
    while time.monotonic() < until:
        state = small_flows.answer(store, state)
        count += 1
    tell(count)


def retell(path: str) -> None:
    """Every request of every run, made again by the flow."""
    store = open_store(path)
    for run in store.runs(limit=10_000):
        requests = list(small_flows.requests(store, run.id))
        state = runs.look(store, run.id)
        tell(run.id, msgspec.json.encode([requests, state.status, state.result]).decode())


def outsider(path: str) -> None:
    """Someone who may read the journal and its folder, and write neither."""
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        store = SqliteStore(Path(path))
        state = runs.look(store, store.runs()[0].id)
        tell(state.status, state.key, verify(store).ok)
        small_flows.answer(store, state)
        tell("written")
    except QuandaryError as error:
        tell(type(error).__name__, error)


def steady(path: str, run: str, seconds: str) -> None:
    """One reply after another for so long, whatever happens to the store meanwhile."""
    store = open_store(path)
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        reply_once(store, run)


def starter(path: str) -> None:
    """One of many that open a new store at the same time."""
    tell(small_flows.begin(open_store(path)).run)


if __name__ == "__main__":
    tasks = (nursery, racer, crowd, retell, outsider, steady, starter)
    {task.__name__: task for task in tasks}[sys.argv[1]](*sys.argv[2:])
