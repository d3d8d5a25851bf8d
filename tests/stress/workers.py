"""(a) A great many walks over a few workers, which are killed all the time; the server restarts.

The agent is a small program that appends a line to a file before it says anything: what it is
about, and how long its prompt was, by which one attempt differs from another. That file is compared
with the journal, call by call.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg

from program import PROGRAM, environment
from quandary.agents.calling import NONCE_LENGTH, WHICH_CALL
from quandary.desk.walks import STOPPED
from quandary.flows.responses import NONCE
from quandary.journal import open_store
from quandary.journal.entries import Called, Ended, Noted, Returned
from quandary.journal.verify import verify
from walk_projects import lucid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from quandary.journal.entries import Entry
    from quandary.journal.store import Store
    from stress.ground import Ground

Known = tuple[str, str]
Said = tuple[str, str]
"""What an agent was sent: its first words, and how long it was."""
STEPS = 5
EVERY = 4.0
"""Seconds from one kill to the next."""
RESTARTS = ("fast", "at once")
"""How the server is stopped: in good order once, and once as if it had crashed."""
NONCE_FOLLOWS = WHICH_CALL.format(NONCE, "0" * NONCE_LENGTH)
"""What a prompt ends with when its program is started; the journal does not know of it."""
PATIENCE = 600.0
"""Seconds without the end of a single run after which nobody waits any longer."""
AGENT = """\
#!/bin/sh
printf '%s %s\\n' "${1%%.*}" "${#1}" >> made
printf '{"completed": true, "comments": "It is done."}'
"""
SETTINGS = """\
default_cli = "QUICK"
default_retry_count = 20

[agents.QUICK]
argv = ["./agent.sh", "{prompt}"]
prompt = "argument"
"""


def part(ground: Ground) -> None:
    """Walk all of them, and compare what was done with what was written down."""
    with ground.server.schema() as place:
        folder = ground.folder
        _furnish(folder, ground.given.runs)
        fleet = Crew(ground, place)
        begun = time.monotonic()
        try:
            fleet.go()
        finally:
            fleet.end()
        seconds = time.monotonic() - begun
        store = open_store(place)
        done = sum(status == "done" for status in fleet.statuses().elements())
        ground.tell(f"runs of {STEPS} steps by {ground.given.workers} workers", ground.given.runs)
        ground.tell("steps a second, begun, called, journalled", done * STEPS / seconds)
        ground.tell("workers killed with -9", fleet.killed)
        ground.exactly("restarts of PostgreSQL, one of them a crash", fleet.restarts, len(RESTARTS))
        ground.exactly("workers that ended badly by themselves", fleet.lost, 0)
        ground.tell("workers that found no server when they came", fleet.turned_away)
        for words in fleet.last_words[:3]:
            ground.tell("the last words of one", words)
        _judged(ground, store, folder)
        left = fleet.asked(
            "SELECT 'in the queue', count(*) FROM fleet_run "
            "WHERE due IS NOT NULL OR worker IS NOT NULL OR failed"
        )
        ground.exactly("runs left in the queue", sum(count for _, count in left), 0)
        ground.exactly("the journal verifies", verify(store).ok, wanted=True)
        store.close()


def _furnish(folder: Path, runs: int) -> None:
    agent = folder / "agent.sh"
    agent.write_text(AGENT, encoding="utf-8")
    agent.chmod(0o755)
    (folder / "quandary.toml").write_text(SETTINGS, encoding="utf-8")
    steps: dict[str, str | dict[str, str]] = {
        str(n): {"text": f"{{{{id}}}} {n}. Do part {n} of it", "tags": "NoValidation"}
        for n in range(1, STEPS + 1)
    }
    lines = " ".join(f"{n}>{n + 1}" for n in range(1, STEPS))
    (folder / "chart.csv").write_text(lucid(steps, lines), encoding="utf-8")
    items = "".join(f"{number},Item {number}\n" for number in range(1, runs + 1))
    (folder / "items.csv").write_text(f"id,title\n{items}", encoding="utf-8")


class Crew:
    """The workers, whoever sends them work, and whoever makes their life hard."""

    def __init__(self, ground: Ground, place: str) -> None:
        self.ground = ground
        self.place = place
        self.killed = self.restarts = self.lost = self.turned_away = 0
        self.chance = random.Random(1)  # noqa: S311 - no secret
        self.workers: list[subprocess.Popen[bytes]] = []
        self.sender: subprocess.Popen[bytes] | None = None
        self.said: dict[int, Path] = {}
        """What each process said, by its number."""
        self.last_words: list[str] = []

    def go(self) -> None:
        """Begin all runs, and have them walked to their ends."""
        wanted = self.ground.given.runs
        self.sender = self._start("walk", "chart.csv", "--items", "items.csv", "--fleet")
        while self.sender.poll() is None and not self.statuses():
            time.sleep(0.1)
        self.workers = [self._worker() for _ in range(self.ground.given.workers)]
        ended, last, kill = 0, time.monotonic(), time.monotonic() + EVERY
        while ended < wanted and time.monotonic() < last + PATIENCE:
            time.sleep(0.2)
            if time.monotonic() > kill:
                kill = time.monotonic() + EVERY
                self._kill_one()
            statuses = self.statuses()
            over = statuses.total() - statuses["waiting"]
            if over > ended:
                ended, last = over, time.monotonic()
            if self.restarts < len(RESTARTS) and ended > wanted * (self.restarts + 1) / 3:
                self._restart(RESTARTS[self.restarts])
            self.ground.progress(
                f"{ended:,} of {wanted:,} runs have ended; {self.killed} workers killed"
            )
            if self.sender.poll():
                self._mourn(self.sender)
                return

    def end(self) -> None:
        """Ask everybody to stop."""
        for process in self.workers:
            process.terminate()
        for process in self.workers:
            self._left(process)
        if self.sender is not None:
            self.sender.kill()
            self.sender.wait()

    def _left(self, process: subprocess.Popen[bytes]) -> None:
        """Somebody goes who was told to; one that had not quite come yet goes without a word."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
        if process.poll() not in (0, -signal.SIGTERM):
            self._mourn(process)

    def _mourn(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        said = self.said[process.pid].read_text(encoding="utf-8", errors="replace")
        if "cannot be reached" in said:
            self.turned_away += 1
            return
        self.lost += 1
        self.last_words.append(" / ".join(said.splitlines()[-3:]))

    def statuses(self) -> Counter[str]:
        """How many runs stand where; nothing while the server is away."""
        return Counter(dict(self.asked("SELECT status, count(*) FROM run GROUP BY status")))

    def asked(self, sql: str) -> list[tuple[str, int]]:
        """What the database says."""
        try:
            with psycopg.connect(self.place, autocommit=True) as connection:
                return connection.execute(sql).fetchall()
        except psycopg.Error:
            return []

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        path = self.ground.folder / f"said-{len(self.said)}"
        with path.open("wb") as said:
            process = subprocess.Popen(
                [*PROGRAM, *words, "--store", self.place],
                cwd=self.ground.folder,
                env=environment({"XDG_CONFIG_HOME": str(self.ground.folder)}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
        self.said[process.pid] = path
        return process

    def _worker(self) -> subprocess.Popen[bytes]:
        return self._start("worker", "--heartbeat", "1", "--log-level", "warning")

    def _kill_one(self) -> None:
        """Kill one on the spot, as a power cut would, and let another take its place."""
        number = self.chance.randrange(len(self.workers))
        process = self.workers[number]
        if process.poll() is None:
            process.kill()
            self.killed += 1
        else:
            self._mourn(process)
        process.wait()
        self.workers[number] = self._worker()

    def _restart(self, how: str) -> None:
        self.ground.server.stop(how)
        time.sleep(1)
        self.ground.server.start()
        self.restarts += 1


def _judged(ground: Ground, store: Store, folder: Path) -> None:
    """Compare the journal with itself, and with what the agent did."""
    book = Ledger(store, ground.progress)
    made = Counter(
        (said, length)
        for line in (folder / "made").read_text(encoding="utf-8").splitlines()
        for said, _, length in [line.rpartition(" ")]
    )
    runs, once = ground.given.runs, sum(count == 1 for count in book.ends.values())
    ground.exactly("runs that ended, each of them once", once, runs)
    ground.exactly("runs that ended well", book.well, runs)
    ground.tell("calls in the journal", len(book.sent))
    ground.tell("of them interrupted by the end of their worker", len(book.interrupted))
    ground.exactly("calls that came to no end", len(book.sent.keys() - book.came.keys()), 0)
    ground.exactly("calls that came to two ends", sum(n > 1 for n in book.came.values()), 0)
    told = Counter(book.sent.values())
    ground.exactly("attempts that cannot be told apart", sum(n > 1 for n in told.values()), 0)
    ground.tell("times that the agent was started", made.total())
    ground.tell("times that a worker stopped a call in good order", book.stopped.total())
    ground.exactly("attempts made twice", (made - book.allowed()).total(), 0)
    whole = {said for call, said in book.sent.items() if call not in book.interrupted}
    ground.exactly("results of calls that were never made", len(whole - made.keys()), 0)


class Ledger:
    """What the journal says of all calls. A call is known by its run and its key."""

    def __init__(self, store: Store, progress: Callable[[str], None]) -> None:
        self.ends: Counter[str] = Counter()
        self.well = 0
        self.sent: dict[Known, Said] = {}
        self.came: Counter[Known] = Counter()
        self.interrupted: set[Known] = set()
        self.stopped: Counter[str] = Counter()
        """By run: how often its calls were ended in good order, to be made anew."""
        after = 0
        while entries := store.history(after=after):
            for entry in entries:
                self._read(entry)
            after = entries[-1].seq
            progress(f"{after:,} entries compared")

    def _read(self, entry: Entry) -> None:
        body = entry.read()
        if isinstance(body, Called):
            prompt = getattr(entry.read_matter().sent, "prompt", "") + NONCE_FOLLOWS
            words = prompt.partition(".")[0], str(len(prompt.encode()))
            self.sent[entry.run, body.key] = words
        elif isinstance(body, Returned):
            self.came[entry.run, body.key] += 1
            if getattr(entry.read_matter().came, "interrupted", False):
                self.interrupted.add((entry.run, body.key))
        elif isinstance(body, Noted):
            self.stopped[entry.run] += body.kind == STOPPED
        elif isinstance(body, Ended):
            self.ends[entry.run] += 1
            self.well += body.status == "done"

    def allowed(self) -> Counter[Said]:
        """How often the agent may have been started with what."""
        allowed: Counter[Said] = Counter()
        for (run, _), words in self.sent.items():
            allowed[words] += 1 + self.stopped[run]
        return allowed
