"""How soon a program that waits continues after the answer, and what waiting costs it.

It waits in a file, in PostgreSQL and on a server, while a process beside it answers; status 1 on a
miss. Arguments name some of the three.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

import databases
import quandary
import sites
from measuring import Row, table
from quandary.desk import reply as desk
from quandary.desk.authority import Caller
from quandary.journal import open_store, runs

ROUNDS = 40
SECONDS = 5.0
SOON = 0.1
"""Seconds from the answer, on disk, to the program that has it."""
COST = 0.005
"""Of a core, while nothing happens."""
PERSON = Caller("person", "web")


def main() -> int:
    """Measure, print a table, and judge."""
    rows: list[Row] = []
    for kind in sys.argv[1:] or ["sqlite", "postgres", "server"]:
        with ExitStack() as stack, tempfile.TemporaryDirectory() as name:
            where = behind = str(Path(name) / "journal.db")
            if kind == "postgres":
                where = behind = stack.enter_context(databases.shared().schema())
            elif kind == "server":
                server = sites.Server(Path(name))
                server.start()
                stack.callback(server.kill)
                where = server.address
            rows += measured(kind, where, behind)
    return table(rows)


def measured(kind: str, where: str, behind: str) -> list[Row]:
    """Both figures of one place."""
    store, answered, taken = open_store(behind), [0.0], []

    def answer() -> None:
        while not (found := runs.inbox(store)):
            time.sleep(0.005)
        time.sleep(0.2)  # by now it is waited for
        desk.reply(store, PERSON, found[0].id, "yes", None)
        answered[0] = time.monotonic()

    with quandary.Client(where) as client:
        for _ in range(ROUNDS):
            beside = threading.Thread(target=answer)
            beside.start()
            client.confirm("Deploy?", context="It passed.", via="inbox")
            ended = time.monotonic()
            beside.join()
            taken.append(max(ended - answered[0], 0.0))
        with suppress(quandary.TimedOut):
            client.confirm("Deploy?", context="It passed.", via="inbox", timeout=0.0)
        (left,), used = runs.inbox(store), time.thread_time()
        client._desk.wait(left.id, SECONDS)
        used = time.thread_time() - used
    store.close()
    late, soon, share = (
        statistics.quantiles(taken, n=20)[-1],
        statistics.median(taken),
        used / SECONDS,
    )
    return [
        Row(f"{kind}: continues within", f"{soon * 1000:.0f} ms", "<= 100 ms", soon <= SOON),
        Row(f"{kind}: 19 of 20 continue within", f"{late * 1000:.0f} ms"),
        Row(f"{kind}: of a core while waiting", f"{share:.2%}", "<= 0.5 %", share <= COST),
    ]


if __name__ == "__main__":
    sys.exit(main())
