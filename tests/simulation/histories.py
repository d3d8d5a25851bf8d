"""`make histories`: real servers, commands and workers with real faults, judged by the same oracle.

Two servers stand before one store, first SQLite, then PostgreSQL. People with logins, programs with
tokens and commands ask, answer, undo, withdraw and look; agents walk. Meanwhile servers, commands
and workers are killed with -9, connections are cut, and PostgreSQL is restarted as if it crashed.
What everybody sent and heard is recorded in one file, with the entries of the journal between. Then
the file is judged: `make histories FILE=…` judges it again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import count, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psycopg

from databases import served
from program import PROGRAM, environment
from quandary.doors.web.tokens import hashed
from quandary.journal import open_store
from quandary.journal.verify import verify
from simulation.events import Act, Wrong, require
from simulation.oracle import Oracle
from simulation.people import TREE
from sites import Server, hidden
from walk_projects import lucid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Server as Database

Json = dict[str, Any]
TREE_FILE = TREE.format(1, " (recommended)")
CONTEXT = "The plan is written."
AGENT = """\
#!/bin/sh
echo "$1" | head -n 1 >> made
sleep 0.2
printf '{"completed": true, "comments": "It is done."}'
"""
SETTINGS = """\
default_cli = "QUICK"
default_retry_count = 20

[agents.QUICK]
argv = ["./agent.sh", "{prompt}"]
prompt = "argument"
"""
STEPS: dict[str, str | dict[str, str]] = {
    "1": "Start",
    "2": {"text": "{{id}} is to be built", "tags": "NoValidation"},
    "3": {"text": "Is it good?", "tags": "HUMAN"},
    "4": "End",
}
_ENTRIES = "SELECT run, n, body, matter, digest FROM entry ORDER BY seq"
_CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND random() < 0.5"
)


class Recorder:
    """Writes down what was sent, committed and heard, in an order in which it can have happened.

    An entry stands behind the sending of what led to it, and before anybody hears of it.
    """

    def __init__(self, file: Path, place: str) -> None:
        self._file, self._place = file.open("w", encoding="utf-8"), place
        self._lock, self._known = threading.RLock(), dict[str, int]()
        self._numbers, self.heard = count(), Counter[str]()

    def send(self, act: Act) -> int:
        """Somebody sends something; the number by which they hear of it."""
        with self._lock:
            self._drain()
            number = next(self._numbers)
            self._write("send", number, act)
            return number

    def hear(self, number: int, act: Act, came: str, view: object) -> None:
        """Somebody heard what came of it."""
        with self._lock:
            self._drain()
            self.heard[f"{act.kind} {came}"] += 1
            self._write("hear", number, came, view, time.time())

    def close(self) -> None:
        """Take down what was written last."""
        with self._lock:
            self._drain()
            self._file.close()

    def _drain(self) -> None:
        new = [row for row in self._read() if row[1] > self._known.get(row[0], 0)]
        names = ("run", "n", "body", "matter", "digest")
        told = [
            dict(zip(names, (r, n, json.loads(b), m and json.loads(m), d.hex()), strict=True))
            for r, n, b, m, d in new
        ]
        # What was appended at once bears one date.
        for _, group in groupby(told, key=lambda entry: (entry["run"], entry["body"]["at"])):
            entries = list(group)
            self._known[entries[0]["run"]] = entries[-1]["n"]
            self._write("commit", entries)

    def _read(self) -> list[tuple[str, int, bytes, bytes | None, bytes]]:
        deadline = time.monotonic() + 60
        while True:
            try:
                if "://" not in self._place:
                    with closing(sqlite3.connect(self._place, timeout=60)) as connection:
                        return connection.execute(_ENTRIES).fetchall()
                with psycopg.connect(self._place) as line:
                    return [tuple(row) for row in line.execute(_ENTRIES).fetchall()]
            except (psycopg.Error, sqlite3.OperationalError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def _write(self, *event: object) -> None:
        self._file.write(json.dumps(event) + "\n")


def judge(file: Path) -> int:
    """Hold a history against the model; how many events it has."""
    oracle, sent = Oracle(), dict[int, tuple[Act, int]]()
    number = 0
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        what, *said = json.loads(line)
        try:
            if what == "commit":
                oracle.commit(said[0])
            elif what == "send":
                act = Act(*map(_tupled, said[1]))
                sent[said[0]] = act, oracle.send(act)
            else:
                act, since = sent[said[0]]
                if act.kind == "inbox" and said[1] == "ok":
                    oracle.judge_inbox(said[2], since)
                else:
                    oracle.hear(act, said[1], _tupled(said[2]), said[3], since)
        except Wrong as wrong:
            raise Wrong(f"{file}, line {number}: {wrong}") from None
    return number


def compare_calls(file: Path, made: Path) -> None:
    """No agent was started more often than a call was recorded, or put back by who stopped it."""
    calls, items = Counter[str](), dict[str, str]()
    for line in file.read_text(encoding="utf-8").splitlines():
        what, *said = json.loads(line)
        for entry in said[0] if what == "commit" else ():
            body, run = entry["body"], entry["run"]
            if body["entry"] == "began" and body["flow"] == "walk":
                items[run] = entry["matter"]["arguments"]["item"]["id"]
            calls[items.get(run, "")] += bool(body.get("agent")) or body.get("kind") == "stopped"
    words = made.read_text(encoding="utf-8").splitlines() if made.exists() else []
    for item, times in Counter(line.split()[0] for line in words).items():
        require(times <= calls[item], f"{item} was built {times} times, and {calls[item]} recorded")


def _tupled(value: Any) -> Any:  # noqa: ANN401 - any JSON
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def view_of(state: Json) -> tuple[Any, ...]:
    """A state as a client sees it: items stand in headers, menus are told by their options."""
    ask = state.get("ask") or {}
    asked = (ask.get("tool_input") or {}).get("questions", ()) if state["flow"] == "decide" else ()
    places = tuple(
        (q["header"].partition(".")[0], "OTH" if "Take it out" in str(q["options"]) else "")
        for q in asked
    )
    chosen = (state.get("result") or {}).get("chosenItems", ())
    result = tuple((one["itemId"], one["path"], one["by"], one["through"]) for one in chosen)
    return state["status"], ask.get("key"), places, result if state["flow"] == "decide" else ()


class Place:
    """A store, two servers before it, and everybody who uses them for a while."""

    def __init__(self, folder: Path, place: str, seconds: float, seed: int) -> None:
        self.folder, self.place = folder, place
        self.seconds = seconds
        self.seed, self.runs = seed, list[str]()
        self.recorder = Recorder(folder / "history.jsonl", place)
        furnish(folder)
        self.env = environment(
            {
                "QUANDARY_STORE": place,
                "XDG_CONFIG_HOME": str(folder),
                "XDG_DATA_HOME": str(folder),
            }
        )
        self.servers = [Server(folder, "--store", place, "--token", "of-nobody") for _ in range(2)]
        self.troubles: list[BaseException] = []
        self.workers: list[subprocess.Popen[Any]] = []

    def run(self, database: Database | None) -> None:
        """Let everybody act, each in a thread."""
        lives = [
            Login(self, "ann"),
            Login(self, "cleo"),
            Program(self, "script"),
            Agent(self, "agent"),
        ]
        lives += [Walker(self, "walker"), Trouble(self, database)]
        for server in self.servers:
            server.start()
        for one in lives:
            one.prepare()
        self.until = time.monotonic() + self.seconds
        threads = [threading.Thread(target=one.live) for one in lives]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in self.troubles:
            raise error

    def end(self) -> None:
        """Leave nothing behind."""
        for server in self.servers:
            server.kill()
        for worker in self.workers:
            worker.kill()
            worker.wait(10)


def furnish(folder: Path) -> None:
    """What they ask, who may log in, and an agent."""
    (folder / "t.md").write_text(TREE_FILE, encoding="utf-8")
    (folder / "c.csv").write_text(lucid(STEPS, "1>2 2>3 3>4"), encoding="utf-8")
    (folder / "quandary.toml").write_text(SETTINGS, encoding="utf-8")
    (folder / "agent.sh").write_text(AGENT, encoding="utf-8")
    (folder / "agent.sh").chmod(0o755)
    tables = (f'[users.{n}]\ntoken = "{hashed(n * 8)}"\n' for n in ("ann", "cleo", "script"))
    (folder / "quandary").mkdir()
    (folder / "quandary" / "config.toml").write_text("\n".join(tables), encoding="utf-8")


class Life:
    """Somebody who acts until the time is up."""

    pause = 0.3

    def __init__(self, place: Place, name: str) -> None:
        self.place, self.name = place, name
        self.random = random.Random(f"{place.seed}/{name}")  # noqa: S311 - no secret
        self.tokens = count(1)

    def live(self) -> None:
        """Act, with pauses; what breaks is told at the end."""
        try:
            while time.monotonic() < self.place.until:
                self.act()
                time.sleep(self.random.expovariate(1 / self.pause))
        except BaseException as error:  # noqa: BLE001 - told by whoever started it
            self.place.troubles.append(error)
            self.place.until = 0

    def prepare(self) -> None:
        """Whatever has to be done while nothing breaks."""

    def act(self) -> None:
        """Do one thing."""
        raise NotImplementedError

    def pick(self) -> str:
        """A run, mostly a new one."""
        known = self.place.runs
        return known[max(self.random.randrange(len(known)), self.random.randrange(len(known)))]

    def choose(self, ask: Json) -> tuple[tuple[str, str], ...]:
        """Some answers to what is asked."""
        codes = {"Keep it": "OK", "Leave it": "NO", "Take it out": "REM", "Make two of it": "SPL"}
        said = []
        for key, q in zip(ask["keys"], ask["tool_input"]["questions"], strict=True):
            labels = [option["label"].removesuffix(" (recommended)") for option in q["options"]]
            said.append((key, self.random.choice([codes.get(one, "DONE") for one in labels])))
        return tuple(said[: self.random.randint(1, len(said))])


class Login(Life):
    """A person who has logged in at one of the servers; they come back when it does."""

    hand: tuple[str, ...] = ("person", "web")

    def __init__(self, place: Place, name: str) -> None:
        super().__init__(place, name)
        self.clients = [
            httpx.Client(base_url=one.address, timeout=30, headers={"Origin": one.address})
            for one in place.servers
        ]

    def prepare(self) -> None:
        """Log in at both servers."""
        for client in self.clients:
            self.log_in(client)

    def log_in(self, client: httpx.Client) -> None:
        """As on the login page."""
        form = hidden(client.get("/login").text)
        client.post("/login", data={**form, "code": self.name * 8})

    def call(self, act: Act, method: str, path: str, data: Json | None = None) -> Json | None:
        """Send a request, say what is sent and what was heard."""
        client, recorder = self.random.choice(self.clients), self.place.recorder
        headers = {"Idempotency-Key": act.token} if act.token else {}
        number = recorder.send(act)
        came, told = "unknown", None
        with suppress(httpx.HTTPError):
            response = client.request(method, path, json=data, headers=headers)
            told = response.json()
            came = came_of(response.status_code, str(told))
        done = told if came == "ok" else None
        if done is not None:
            shown = [run["run"] for run in done["runs"]] if act.kind == "inbox" else view_of(done)
            recorder.hear(number, act, came, shown)
        else:
            recorder.hear(number, act, came, None)
        return done

    def new(self, kind: str, run: str = "", **more: Any) -> Act:  # noqa: ANN401
        """Something to be sent."""
        return Act(kind, (*self.hand, self.name), run, **more)

    def token(self) -> str:
        """What no two requests have alike."""
        return f"{self.name}-{next(self.tokens)}"

    def act(self) -> None:
        if not self.place.runs:
            return
        habits = {self.answer: 8, self.undo: 2, self.withdraw: 1, self.look_around: 1}
        self.random.choices([*habits], [*habits.values()])[0]()

    def look(self, run: str) -> Json | None:
        """Look at a run."""
        return self.call(self.new("look", run), "GET", f"/api/runs/{run}")

    def look_around(self) -> None:
        """Look at the inbox."""
        self.call(self.new("inbox"), "GET", "/api/inbox?limit=100")

    def answer(self) -> None:
        """Look, and answer; once more where nothing was heard, or all the same."""
        state = self.look(self.pick())
        if state is None or "tool_input" not in (state.get("ask") or {}):
            return
        said, to = self.choose(state["ask"]), state["ask"]["key"]
        act = self.new("reply", state["run"], to=to, answers=said, token=self.token())
        answers = [{"key": key, "picked": [code]} for key, code in said]
        for _ in range(4):
            data = {"to": to, "answers": answers}
            came = self.call(act, "POST", f"/api/runs/{state['run']}/reply", data)
            if came is not None and self.random.random() < 0.8:
                break
            time.sleep(self.random.uniform(0, 1))

    def undo(self) -> None:
        """Take back the last answer, as far as that may be."""
        state = self.look(self.pick())
        if state is not None and state["flow"] == "decide":
            act = self.new("undo", state["run"], to="")
            self.call(act, "POST", f"/api/runs/{state['run']}/undo")

    def withdraw(self) -> None:
        """End a run."""
        run = self.pick()
        data = {"why": "No need."}
        self.call(self.new("withdraw", run), "POST", f"/api/runs/{run}/withdraw", data)


class Program(Login):
    """A program with a token, which asks and answers."""

    hand = ("api", "web")

    def log_in(self, client: httpx.Client) -> None:
        client.headers["Authorization"] = f"Bearer {self.name * 8}"

    def look(self, run: str) -> Json | None:
        """Look at a run; whoever asked has its result from then on."""
        return self.call(self.new("collect", run), "GET", f"/api/runs/{run}")

    def undo(self) -> None:
        """Ask something, rather; the same once more where nothing was heard."""
        act, number = self.new("begin", to="decide", token=self.token()), self.random.randint(1, 4)
        items = [{"id": str(n), "label": f"Part {n}"} for n in range(1, number + 1)]
        data = {"context": CONTEXT, "text": TREE_FILE, "items": items}
        for _ in range(4):
            state = self.call(act, "POST", "/api/asks", data)
            if state is not None:
                self.place.runs.append(state["run"])
                return


def came_of(status: int, text: str) -> str:
    """What came of a request, in a word of the oracle's."""
    words = {200: "ok", 201: "ok", 202: "ok", 403: "person", 422: "reused"}
    late = "already" if "lready answered" in text else "refused"
    return late if status == 409 else words.get(status, "unknown")


class Agent(Life):
    """An agent that asks and relays with commands, some of which are killed."""

    def command(self, act: Act, *words: str, stdin: str = "") -> Json | None:
        """Start the program, and kill it now and then."""
        recorder = self.place.recorder
        number = recorder.send(act)
        process = subprocess.Popen(
            [*PROGRAM, *words],
            cwd=self.place.folder,
            env=self.place.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        patience = self.random.uniform(0, 1.0) if self.random.random() < 0.3 else 120
        try:
            out, err = process.communicate(stdin.encode(), timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            recorder.hear(number, act, "unknown", None)
            return None
        state = json.loads(out) if out and process.returncode == 0 else None
        came = "ok" if state else came_of(409 if process.returncode == 1 else 500, err.decode())
        recorder.hear(number, act, came, view_of(state) if state else None)
        return state

    def act(self) -> None:
        """Ask, or relay an answer to what waits."""
        if not self.place.runs or self.random.random() < 0.4:
            self.ask()
            return
        run = self.pick()
        act = Act("collect", ("agent", "command", ""), run)
        state = self.command(act, "next", run, "--via", "relay")
        if state is None or "tool_input" not in (state.get("ask") or {}):
            return
        said, to = self.choose(state["ask"]), state["ask"]["key"]
        answers = json.dumps({"answers": [{"key": key, "picked": [code]} for key, code in said]})
        act = Act("reply", ("agent", "relay", self.name), run, to, said)
        self.command(act, "reply", run, "--to", to, "--by", self.name, "-", stdin=answers)

    def ask(self) -> None:
        """Ask about a few things."""
        items = [w for n in range(self.random.randint(1, 4)) for w in ("--item", f"{n}|Part {n}")]
        act = Act("begin", ("agent", "command", ""), to="decide")
        state = self.command(act, "ask", "t.md", "--context", CONTEXT, "--via", "relay", *items)
        if state is not None:
            self.place.runs.append(state["run"])


class Walker(Agent):
    """Begins walks, and resumes those that were answered or interrupted; with workers, they do."""

    pause = 1.0

    def act(self) -> None:
        """Walk."""
        fleet = ["--fleet"] if "://" in self.place.place else []
        hand = ("agent", "fleet" if fleet else "command", "")
        if self.random.random() < 0.5 or not self.place.runs:
            item = f"{self.name}{next(self.tokens)}"
            words = ("walk", "c.csv", "--item", f"{item}|{item}", "--via", "relay", *fleet)
            state = self.command(Act("begin", hand, to="walk"), *words)
            if state is not None:
                self.place.runs.append(state["run"])
        elif not fleet:
            run = self.pick()
            self.command(Act("collect", hand, run), "walk", "--resume", run, "--via", "relay")


class Trouble(Life):
    """Whoever kills, cuts and restarts."""

    pause = 3.0

    def __init__(self, place: Place, database: Database | None) -> None:
        super().__init__(place, "trouble")
        self.database = database

    def act(self) -> None:
        """One thing breaks, and comes back."""
        kinds = ["server", "server"]
        if self.database is not None:
            kinds += ["worker", "worker", "connections", "connections", "database"]
        kind = self.random.choice(kinds)
        self.place.recorder.heard[f"trouble with a {kind}"] += 1
        if kind == "server":
            server = self.random.choice(self.place.servers)
            server.kill()
            server.start()
        elif kind == "worker":
            if self.place.workers:
                worker = self.place.workers.pop()
                worker.send_signal(signal.SIGKILL)
                worker.wait(10)
            words = [*PROGRAM, "worker", "--heartbeat", "1"]
            how: Json = {"cwd": self.place.folder, "env": self.place.env}
            how |= dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
            self.place.workers.append(subprocess.Popen(words, **how))
        elif kind == "connections" and self.database is not None:
            with suppress(psycopg.Error), self.database.admin() as admin:
                admin.execute(_CUT)
        elif self.database is not None:
            self.database.stop(self.random.choice(["fast", "at once"]))
            self.database.start()


@contextmanager
def stores(kinds: str) -> Iterator[list[tuple[str, Database | None]]]:
    """A folder's own file, and a schema of a server that keeps what it acknowledges."""
    with ExitStack() as stack:
        found: list[tuple[str, Database | None]] = [("", None)] if "sqlite" in kinds else []
        if "postgresql" in kinds:
            database = stack.enter_context(served(durable=True))
            found.append((stack.enter_context(database.schema()), database))
        yield found


def play(place: str, database: Database | None, seconds: float, seed: int) -> None:
    """One store: let everybody act, and judge what they saw."""
    folder = Path(tempfile.mkdtemp(prefix="histories-"))
    town = Place(folder, place or str(folder / "journal.db"), seconds, seed)
    store = open_store(town.place)
    try:
        town.run(database)
    finally:
        town.end()
        town.recorder.close()
    problems = verify(store).problems
    require(not problems, f"verify: {problems[:1]}")
    store.close()
    number = judge(folder / "history.jsonl")
    compare_calls(folder / "history.jsonl", folder / "made")
    shutil.rmtree(folder)  # what does not hold is kept
    print(f"{'PostgreSQL' if database else 'SQLite'}: {number} events hold")
    for what, times in sorted(town.recorder.heard.items()):
        print(f"  {times:5} {what}")


def main() -> int:
    """Play and judge, or judge again; status 1 where anything is wrong."""
    parser = argparse.ArgumentParser(prog="make histories", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="so long for each store")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--store", default="sqlite postgresql")
    parser.add_argument("--file", help="judge this history")
    given = parser.parse_args()
    try:
        if given.file:
            print(f"{judge(Path(given.file))} events hold")
            return 0
        with stores(given.store) as found:
            for place, database in found:
                play(place, database, given.seconds, given.seed)
    except Wrong as wrong:
        print(f"wrong: {wrong}")
        return 1
    return 0


if __name__ == "__main__":
    os.environ.pop("QUANDARY_STORE", None)
    sys.exit(main())
