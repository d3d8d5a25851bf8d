"""A town: one world with its store, its servers, the oracle and everybody who acts, from a seed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

from quandary.desk import authority, begin
from quandary.journal import runs
from quandary.journal.progress import key_of, rebuild
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply
from simulation import people
from simulation.oracle import Oracle, Wrong, read_entry
from simulation.plants import planted
from simulation.store import SimulatedStore, new_database
from simulation.world import Broken, Only, Process, World, played

if TYPE_CHECKING:
    from quandary.desk.begin import Beginning

CROWD: tuple[tuple[str, type[people.Actor], float], ...] = (
    ("agent", people.Asker, 1.0),
    ("ann", people.Visitor, 0.9),
    ("bob", people.Person, 0.6),
    ("cleo", people.Visitor, 0.5),
    ("relay", people.Relay, 0.5),
    ("script", people.Script, 0.4),
    ("host", people.Host, 0.4),
    ("keeper", people.Keeper, 0.4),
    ("archivist", people.Archivist, 0.3),
    ("clock", people.Clock, 0.2),
    ("planner", people.Planner, 0.35),
    ("walker", people.Walker, 0.8),
    ("worker", people.Walker, 0.6),
    ("chat", people.Chat, 0.3),
)
"""Everybody who may act, and how likely they are there."""
_ENTRIES = "SELECT run, n, body, matter, digest FROM entry WHERE seq > ? ORDER BY seq"
_MOST = 20
"""No run asks more often than that when every question is answered."""
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
        self.runs: list[str] = []
        """Those that somebody has heard of."""
        self.begun: dict[str, Beginning] = {}
        """Of some of them, what they were begun with."""
        self.acts = Counter[str]()
        self.database = new_database()
        self.aside = SimulatedStore(self.database)
        """A handle for whoever only looks, at which nothing happens."""
        self.elsewhere = new_database()
        SimulatedStore(self.elsewhere).close()
        self.imported: set[str] = set()
        """The runs that were, or may have been, imported there."""
        self.pruned: set[str] = set()
        places = {"here": self.database, "elsewhere": self.elsewhere}
        self.world.open_store = lambda process: SimulatedStore(places[process.place], process)
        self.world.committed = self.committed
        self.world.killed = lambda process: self.oracle.stop_agents(process.name)
        self._servers: dict[int, Process] = {}
        draw = self.world.random("crowd")
        there = [(name, kind) for name, kind, p in CROWD if draw.random() < p]
        walked = any(kind is people.Planner for _, kind in there)
        self.crowd = [one for one in there if walked or one[1] is not people.Walker]

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
        known = self.oracle.entries
        new = self.database.execute(_ENTRIES, (len(known),)).fetchall()
        for row in new:
            entry = read_entry(*row)
            self.world.tell(f"    {entry['run'][-4:]}/{entry['n']} {row[2].decode()}")
            self.oracle.record(entry)
        self.oracle.settle()
        for (run,) in self.database.execute(_PRUNED).fetchall():
            if run not in self.pruned:
                self.pruned.add(run)
                self.oracle.prune(run)
        for run in {row[0] for row in new}:
            self.check_run(run)
        waits = "SELECT id FROM run WHERE waits = 'person'"
        shown = {row[0] for row in self.database.execute(waits)}
        should = {run.id for run in self.oracle.runs.values() if run.key and run.waits == "person"}
        if shown != should:
            raise Wrong(f"the inbox has {shown}, and {should} waits")

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
        for name, kind in self.crowd:
            if self.world.only is None or name in self.world.only.acts:
                self.world.act(name, kind(self, name).live)
        self.world.run()
        for store in (self.aside, SimulatedStore(self.elsewhere)):
            for problem in verify(store).problems:
                raise Wrong(f"verify: {problem.text} {problem.run}")
        rows = self.database.execute(_ENTRIES, (0,))
        self.oracle.compare(read_entry(*row) for row in rows)
        self.finish()

    def finish(self) -> None:
        """When nothing strikes any more, whatever waits for a person can be answered to its end."""
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
        patch.object(begin, "reading_agent", lambda: ""),
        patch.object(begin, "project_of", lambda _: "sim"),
    ]
    with planted(plant), played(town.world, *patches):
        try:
            town.play()
        except (Wrong, Broken) as found:
            wrong = str(found)
        except Exception as error:  # noqa: BLE001 - whatever it is, the program broke
            wrong = f"it broke: {error!r}"
    world = town.world
    return Played(seed, wrong, world.digest, world.lines, dict(town.acts), world.struck)
