"""A town: one world with its store, its servers, the oracle and everybody who acts, from a seed."""

from __future__ import annotations

import json
import logging
import os
import traceback
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from quandary.desk import authority, begin, notices, phases
from quandary.doors.web import inbox
from quandary.errors import Rejected
from quandary.formats import tracks
from quandary.formats.proof import Given
from quandary.journal import archive, policy, runs
from quandary.journal.entries import Source
from quandary.journal.progress import key_of, rebuild
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply
from quandary.settings import Settings
from simulation import machines, people
from simulation.events import Act, Wrong, seconds
from simulation.oracle import Oracle
from simulation.plants import planted
from simulation.store import Database, SimulatedStore
from simulation.world import START, Broken, Only, Process, World, played

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.desk.begin import Beginning

CROWD: tuple[tuple[str, type[people.Actor], float], ...] = (
    ("agent", people.Asker, 1.0),
    ("ann", people.Visitor, 0.9),
    ("bob", people.Person, 0.6),
    ("cleo", people.Visitor, 0.5),
    ("relay", people.Relay, 0.5),
    ("script", people.Script, 0.4),
    ("host", machines.Host, 0.4),
    ("keeper", machines.Keeper, 0.4),
    ("archivist", machines.Archivist, 0.3),
    ("clock", machines.Clock, 0.3),
    ("postman", machines.Postman, 0.5),
    ("operator", machines.Operator, 0.25),
    ("guard", machines.Guard, 0.35),
    ("planner", machines.Planner, 0.35),
    ("walker", machines.Walker, 0.8),
    ("worker", machines.Walker, 0.6),
    ("chat", people.Chat, 0.3),
)
"""Everybody who may act, and how likely they are there."""
_ENTRIES = "SELECT run, n, body, matter, digest FROM entry WHERE seq > ? ORDER BY seq"
_MOST = 20
"""No run asks more often than that when every question is answered."""
_DUE = "SELECT due FROM outbox WHERE due IS NOT NULL ORDER BY due"
_LETTERS = "SELECT run, n, due IS NULL FROM outbox WHERE n > 0"
_PRUNED = "SELECT DISTINCT run FROM entry WHERE matter IS NULL AND seal IS NOT NULL"


class Played(NamedTuple):
    """What came of a seed."""

    seed: int
    wrong: str
    """What is not as it must be; nothing where all is."""
    digest: str
    lines: list[str]
    acts: dict[str, int]
    struck: list[str]

    @property
    def only(self) -> Only:
        """All that was played."""
        return Only(self.acts, frozenset(self.struck))


class Town:
    """One world, and everybody in it."""

    def __init__(self, seed: int, only: Only | None) -> None:
        self.world = World(seed, only)
        self.oracle = Oracle()
        self.files: dict[str, str] = {}
        """What is kept in each folder of a track."""
        self.runs: list[str] = []
        """Those that somebody has heard of."""
        self.begun: dict[str, Beginning] = {}
        """Of some of them, what they were begun with."""
        self.acts = Counter[str]()
        self.database = Database()
        self.aside = SimulatedStore(self.database)
        """A handle for whoever only looks, at which nothing happens."""
        self.elsewhere = Database()
        SimulatedStore(self.elsewhere).close()
        self.imported: set[str] = set()
        """The runs that were, or may have been, imported there."""
        self.pruned: set[str] = set()
        places = {"here": self.database, "elsewhere": self.elsewhere}
        self.world.open_store = lambda process: SimulatedStore(places[process.place], process)
        self.world.locks = self.database.drivers
        self.world.committed = self.committed
        self.world.killed = lambda process: self.oracle.stop(process.name)
        self._servers: dict[int, Process] = {}
        self.postman = machines.Postman(self, "postman")
        draw = self.world.random("crowd")
        there = [(name, kind) for name, kind, p in CROWD if draw.random() < p]
        walked = any(kind is machines.Planner for _, kind in there)
        self.crowd = [one for one in there if walked or one[1] is not machines.Walker]

    @property
    def clock(self) -> float:
        """What the clock says."""
        return self.world.now().timestamp()

    def server(self, number: int) -> Process:
        """A server; one that was killed is started again."""
        if number not in self._servers or self._servers[number].is_dead:
            self._servers[number] = Process(self.world, f"server {number + 1}")
        return self._servers[number]

    def committed(self) -> None:
        """Tell the oracle what was written, and see to what must hold at every moment."""
        new = self.entries(len(self.oracle.entries))
        for entry in new:
            body = json.dumps(entry["body"])
            self.world.tell(f"    {entry['run'][-4:]}/{entry['n']} {body}")
        self.oracle.commit(new)
        for (run,) in self.database.db.execute(_PRUNED).fetchall():
            if run not in self.pruned:
                self.pruned.add(run)
                self.oracle.prune(run)
        for run in dict.fromkeys(entry["run"] for entry in new):
            self.check_run(run)
        waits = "SELECT id FROM run WHERE waits = 'person'"
        shown = [row[0] for row in self.database.db.execute(waits)]
        self.oracle.judge_inbox(shown, len(self.oracle.entries))
        self.oracle.judge_attachments(self.documents())
        letters = self.database.db.execute(_LETTERS).fetchall()
        self.oracle.judge_outbox({(run, n): bool(over) for run, n, over in letters}, self.clock)

    def documents(self) -> list[str]:
        """The names of all documents that are kept."""
        return [row[0] for row in self.database.db.execute("SELECT digest FROM document")]

    def receive(self, told: dict[str, Any]) -> None:
        """A letter has come."""
        run, _, n = told["id"].partition("/")
        self.world.tell(f"    {run[-4:]}/{n} {told['event']} is delivered")
        self.oracle.deliver(run, int(n), told["event"].removeprefix("run."))

    def post(self, _: str, __: str, data: bytes, *___: object) -> str:
        """Send a letter, which is worked on like any other request."""
        request, told = self.world.request, json.loads(data)
        if request is None:  # at last, when nothing strikes any more
            self.receive(told)
            return ""
        return self.postman.receive(told)

    def entries(self, after: int = 0) -> list[dict[str, Any]]:
        """The entries of the journal, as the oracle is told of them."""
        names = ("run", "n", "body", "matter", "digest")
        rows = self.database.db.execute(_ENTRIES, (after,)).fetchall()
        told = [dict(zip(names, row, strict=True)) for row in rows]
        return [
            one | {k: one[k] and json.loads(one[k]) for k in ("body", "matter")} for one in told
        ]

    def check_run(self, run: str) -> None:
        """Its chain holds, and its flow built again stands where the journal says."""
        problems = verify(self.aside, run).problems
        if problems:
            raise Wrong(f"verify: {problems[0].text} (run {run})")
        row = self.aside.require_run(run)
        if row.status == "waiting":
            request = rebuild(self.aside, run).request
            if request is None or key_of(request) != row.key:
                raise Wrong(f"{run} waits for {row.key}, and built again it does not")

    def play(self) -> None:
        """Let everybody act, and look at everything when they have."""
        self.start_track()
        for name, kind in self.crowd:
            if self.world.only is None or name in self.world.only.acts:
                actor = kind(self, name)
                self.postman = actor if isinstance(actor, machines.Postman) else self.postman
                self.world.act(name, actor.live)
        self.world.run()
        self.compare_track()
        for store in (self.aside, SimulatedStore(self.elsewhere)):
            for problem in verify(store).problems:
                raise Wrong(f"verify: {problem.text} {problem.run}")
        self.oracle.compare(self.entries())
        self.finish()

    def start_track(self) -> None:
        """Declare a track, and let it come to its first phase."""
        source = Source("person", "terminal", "founder")
        declared = json.dumps(people.PHASES)
        go: dict[str, Any] = {"approved": "", "given": Given({}), "source": source}
        if not any(kind is machines.Guard for _, kind in self.crowd):
            return
        store = Process(self.world, "founder").store
        self.oracle.send(Act("go", tuple(source)))
        phases.start_track(store, people.TRACK, declared, "phases", source)
        self.oracle.send(Act("go", tuple(source), to="0"))
        phases.move_track(store, people.TRACK, "0: Plan", **go)

    def compare_track(self) -> None:
        """The file of the track has every move once, in order, as soon as somebody looks."""
        if people.TRACK in self.files:
            _, kept, _ = phases.open_track(Process(self.world, "founder").store, people.TRACK)
            moved = [passage.label for passage in kept.history]
            told = [move.item for _, move in self.oracle.moves()]
            if moved != told:
                raise Wrong(f"the track's file has {moved}, the journal {told}")

    @contextmanager
    def lock(self, folder: str) -> Iterator[None]:
        """A track is locked by one; who is killed holds nothing."""
        request, locks = self.world.request, self.world.locks
        until = self.world.time + tracks.PATIENCE
        while request and folder in locks:
            if self.world.time >= until:
                raise Rejected(f"{folder}: another program has been changing the track")
            self.world.sleep(0.5)
        if request:
            locks[folder] = request.process
        try:
            yield
        finally:
            if request and locks.get(folder) is request.process:
                del locks[folder]

    def save(self, folder: str, text: str) -> None:
        """Replace a file, all of it or nothing."""
        self.world.point("file", "saving the track")
        self.files[folder] = text
        self.world.point("file", "what comes after saving the track")

    def finish(self) -> None:
        """When nothing strikes any more and the clock is right, whatever waits for a person can be
        answered to its end.
        """
        self.world.skew = 0.0
        for _ in archive.finish(self.aside, Source("policy", "prune"), lambda _: None):
            pass
        self.committed()
        self.oracle.judge_attachments(self.documents(), at_last=True)
        now = self.world.time
        for (due,) in self.database.db.execute(_DUE).fetchall():
            self.world.time = max(self.world.time, seconds(due) - START.timestamp())
            for _ in range(_MOST):
                notices.deliver_due(self.aside)
        self.committed()
        self.world.time = now
        if left := self.oracle.owed.keys() - self.oracle.told:
            raise Wrong(f"nobody was told of {sorted(left)}")
        for row in self.aside.runs(waits="person"):
            state = runs.look(self.aside, row.id)
            for _ in range(_MOST):
                if state.ask is None:
                    break
                answers = tuple(Answer(q.key, (q.choices[0].code,)) for q in state.ask.questions)
                reply, to = Reply(answers), state.key
                state = runs.advance(self.aside, row.id, reply, to=to, who="person", through="web")
            else:
                raise Wrong(f"{row.id} comes to no end")


def play(seed: int, only: Only | None = None, plant: str = "") -> Played:
    """Play a seed, or as much of it as is wanted; with a fault planted in the program, if any."""
    town = Town(seed, only)
    wrong = ""
    patches = [
        patch.object(authority, "require_hand", lambda _: None),
        patch.object(begin, "user_settings", lambda: Settings(None, ())),
        patch.multiple(
            notices, post=town.post, list_callbacks=lambda _: [], log_trouble=lambda *_: None
        ),
        patch.object(logging.getLogger("quandary.callbacks"), "disabled", True),
        patch.object(inbox, "now", town.world.now),
        *(patch.object(one, "project_of", lambda _: "sim") for one in (begin, phases)),
        *(
            patch.object(one, "read_settings", lambda _: Settings(None, ()))
            for one in (inbox, policy)
        ),
        patch.object(os, "makedirs", lambda *_, **__: None),
        patch.multiple(tracks, read=town.files.get, save=town.save, lock=town.lock),
    ]
    with planted(plant), played(town.world, *patches):
        try:
            town.play()
        except (Wrong, Broken) as found:
            wrong = str(found)
        except Exception as error:  # noqa: BLE001 - whatever it is, the program broke
            where = traceback.extract_tb(error.__traceback__)[-1]
            wrong = f"it broke: {error!r} ({where.name}, line {where.lineno})"
    world = town.world
    return Played(seed, wrong, world.digest, world.lines, dict(town.acts), world.struck)
