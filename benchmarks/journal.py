"""How fast asks and replies are journalled, as ratios within one run; status 1 on a miss.

The peer of the first rows is sqlite3 itself: the same statements with the same values on a file set
up the same way, and nothing else. Other peers are in `peers.py`.
"""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import asking
import quandary
from asking import CONTEXT, REPLIES, Keep, bare, begin, register, reply
from measuring import Row, at_least, at_most, best, by_turns, table, timed, told, turns
from quandary.journal import runs as driver
from quandary.journal.progress import rebuild
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Item, Reply

if TYPE_CHECKING:
    from quandary.journal.runs import Said

ROUNDS = 5
TREE = quandary.load(str(Path(__file__).parent.parent / "examples/trees/plan-review.md"))
PEAK = """
import re, sys
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
assert verify(SqliteStore(sys.argv[1])).ok
print(*re.findall(r"VmHWM:\\s*([0-9]+)", open("/proc/self/status").read()))
"""
"""The kilobytes that a process took which did nothing but verify a store."""
ITEMS = [Item(str(n), f"Step {n}", f"Step {n} of the plan", CONTEXT) for n in range(1, 5)]


def main() -> int:
    """Measure, print a table, and judge."""
    register()
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as name:
        folder = Path(name)
        rows = [
            journalling(folder, "open", "the run open", 0.7),
            journalling(folder, "replayed", "rebuilt for each reply"),
            rebuilding(folder),
            verifying(folder),
            remembering(folder),
            an_inbox(folder),
        ]
    return table(rows)


def journalling(folder: Path, keep: Keep, words: str, least: float | None = None) -> Row:
    """Ask and reply, on disk each, against the bare statements, which rebuild nothing."""
    chance = random.Random(1)  # noqa: S311 - the order of turns is no secret
    rounds = []
    for number in range(ROUNDS):
        players = {
            name: turns(player(folder / f"{name}-{keep}-{number}.db", keep))
            for name, player in (("ours", asking.quandary), ("bare", bare))
        }
        rounds.append(by_turns(players, REPLIES, chance))
    ratio = statistics.median(taken["bare"] / taken["ours"] for taken in rounds)
    ours, its = (statistics.median(taken[n] for taken in rounds) * 1000 for n in ("ours", "bare"))
    what = f"ask + reply, {words}, against bare sqlite3 ({ours:.2f} against {its:.2f} ms)"
    return told(ratio, what) if least is None else at_least(ratio, least, what)


def rebuilding(folder: Path) -> Row:
    """A run of a thousand answers, from the file to where it waits; in time of the processor."""
    store = SqliteStore(folder / "thousand.db")
    state = begin(store, 1001)
    for number in range(1000):
        state = reply(store, state, number)
    answers = [json.loads(e.body) for e in store.entries(state.run, kinds=("answered",))]
    text = json.dumps([answer["answers"] for answer in answers])
    whole = [msgspec.json.encode(answer).decode() for answer in answers]
    loading, each, again = (
        min(taken)
        for taken in zip(
            *(
                (
                    timed(lambda: json.loads(text), time.process_time),
                    timed(lambda: [json.loads(one) for one in whole], time.process_time),
                    timed(lambda: rebuild(store, state.run), time.process_time),
                )
                for _ in range(100)
            ),
            strict=True,
        )
    )
    store.close()
    what = (
        f"1,000 answers rebuilt ({again * 1000:.1f} ms) against json.loads of them in one list "
        f"({loading * 1000:.2f} ms; {again / each:.1f} x that of the entries as they lie there)"
    )
    return at_most(again / loading, 10, what)


def verifying(folder: Path) -> Row:
    """Everything checked against reading every entry and hashing what was hashed."""
    store = SqliteStore(folder / "verify.db")
    store._rows("PRAGMA synchronous = OFF")
    for _ in range(3000):
        _decide(store)
    pairs = [
        (
            timed(lambda: verify(store), time.process_time),
            timed(lambda: _read_and_hash(store._db), time.process_time),
        )
        for _ in range(5)
    ]
    store.close()
    checked, bare_ = (min(taken) for taken in zip(*pairs, strict=True))
    what = f"3,000 runs verified ({checked * 1000:.0f} ms) against reading and hashing them"
    return at_least(bare_ / checked, 0.6, what)


def remembering(folder: Path) -> Row:
    """How much memory a process takes to verify a million runs, and to verify 50,000."""
    sys.path.append(str(Path(__file__).parent.parent / "tests"))
    from stress.filling import Model  # noqa: PLC0415 - the tests' runs, found only now

    peaks = []
    for size in (50_000, 1_000_000):
        path = folder / f"{size}.db"
        store = SqliteStore(path)
        store._rows("PRAGMA synchronous = OFF")
        store.fill(Model(folder, size, lambda _: None).dump, lambda: None)
        store.close()
        ended = subprocess.run([sys.executable, "-c", PEAK, path], check=True, capture_output=True)
        peaks.append(int(ended.stdout))
        path.unlink()
    what = f"memory to verify 1,000,000 runs ({peaks[1] / 1000:.1f} MB) against 50,000"
    return at_most(peaks[1] / peaks[0], 1.2, what)


def _decide(store: SqliteStore) -> None:
    """A run as people have them: four steps of a plan, and one that is looked at more closely."""
    said: Said = {"who": "person", "through": "terminal"}
    arguments = {"items": msgspec.to_builtins(ITEMS), "context": CONTEXT}
    state = driver.begin(store, "decide", arguments, documents={"tree": TREE}, **said)
    picked = tuple(Answer(f"{item.id}:", ("OK",)) for item in ITEMS[1:])
    for answers in ((Answer("1:"), *picked), (Answer("1:OTH", ("REM",)),)):
        state = driver.advance(store, state.run, Reply(answers), **said)
    assert state.status == "done"


def _read_and_hash(db: sqlite3.Connection) -> None:
    """What nobody who checks a chain can do without: every row, and what the entries hash to."""
    for name in ("run", "document", "name", "last"):
        db.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608 - our own names
    last = ("", b"")
    for _, run, n, _, body, matter, salt, seal, digest in db.execute(
        "SELECT * FROM entry ORDER BY run, n"
    ):
        if seal is not None:
            assert hashlib.sha256(salt + matter).digest() == seal
        said = hashlib.sha256(b"%s %d %s" % (run.encode(), n, body)).digest()
        if last[0] == run:
            assert hashlib.sha256(last[1] + said + (seal or b"")).digest() == digest
        last = (run, digest)


def an_inbox(folder: Path) -> Row:
    """A page of what waits, among a thousand runs and among a million."""
    taken = []
    for runs, waiting in ((1_000, 10), (1_000_000, 10_000)):
        store = SqliteStore(folder / f"inbox-{runs}.db")
        db = sqlite3.connect(folder / f"inbox-{runs}.db")
        db.executemany(
            f"INSERT INTO run VALUES ({', '.join('?' * 15)})",  # noqa: S608 - question marks
            (
                (n, f"{n:026}", "decide", 1, f"p{n % 5}")
                + (
                    ("waiting", "person", "1:")
                    if n % (runs // waiting) == 0
                    else ("done", None, None)
                )
                + (2, 2, b"", b"", "", "", None)
                for n in range(1, runs + 1)
            ),
        )
        db.commit()
        db.close()
        taken.append(best(lambda s=store: driver.inbox(s, limit=10), 200))  # type: ignore[misc]
        store.close()
    what = f"inbox page among 1,000,000 runs ({taken[1] * 1e6:.0f} µs) against 1,000"
    return at_most(taken[1] / taken[0], 2, what)


if __name__ == "__main__":
    sys.exit(main())
