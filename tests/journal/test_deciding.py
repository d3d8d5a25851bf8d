"""`decide` over a real journal: any tree, any replies, crashes, amendments, and other processes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import small_flows
from quandary import reading
from quandary.desk import returns
from quandary.errors import Rejected
from quandary.journal import runs
from quandary.journal.entries import Asked
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Ask, Outcome, Question, Reply
from quandary.model.tree import Tree, walk
from strategies import trees

if TYPE_CHECKING:
    import pytest

    from quandary.journal.store import State

ROOMS = [(4, 4), (3, 3), (1, 4)]
"""How many questions and options a host shows."""
CONTEXT = "The plan has several steps, and each needs a decision before the work goes on."
PERSON: dict[str, Any] = {"who": "person", "through": "terminal"}
WORDS = (
    "",
    "Other",
    "?",
    "???",
    "Q: who wants it?",
    "!",
    "!dismiss",
    "#later",
    "+OTH",
    "own words, with a comma",
    "A",
    "yes, but rename it",
    "the second one",
    "not the first",
)


def asks_of(store: SqliteStore, run: str) -> list[Ask]:
    """Everything that was ever put before a person, in order."""
    found = []
    for entry in store.entries(run, kinds=("asked",)):
        assert isinstance(entry.read(), Asked)
        ask = entry.read_matter().ask
        assert ask is not None
        found.append(ask)
    return found


def words_for(question: Question, number: int) -> str:
    """Something that a person may type: a code, a label, or anything else."""
    named = [text for option in question.options for text in (option.code, option.label)]
    forced = [f"!{option.code}" for option in question.options]
    ways = [*named, *forced, *WORDS]
    return ways[number % len(ways)]


def picks(question: Question, numbers: list[int]) -> dict[str, Any]:
    """Some options of those that are shown; one where only one is allowed."""
    codes = [question.choices[n % len(question.choices)].code for n in numbers or [0]]
    return {"key": question.key, "picked": codes if question.multi else codes[:1]}


class Deciding(RuleBasedStateMachine):
    """A person, an agent and a machine that fails, with one run between them."""

    @initialize(tree=trees(), count=st.integers(1, 5), room=st.sampled_from(ROOMS))
    def begin(self, tree: Tree, count: int, room: tuple[int, int]) -> None:
        """A run of any tree about a few items."""
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "journal.db"
        self.store = SqliteStore(self.path)
        self.tree = tree
        arguments = {
            "context": CONTEXT,
            "items": [{"id": str(n), "label": f"Step {n}"} for n in range(1, count + 1)],
            "limits": {"questions": room[0], "options": room[1]},
        }
        self.state: State = runs.begin(
            self.store,
            "decide",
            arguments,
            documents={"tree": msgspec.to_builtins(tree)},
            who="agent",
            through="command",
        )
        self.settled: dict[str, str] = {}

    @property
    def ask(self) -> Ask:
        """What waits now."""
        assert self.state.ask is not None
        return self.state.ask

    def _waits(self) -> bool:
        return self.state.ask is not None

    def _advance(self, reply: Reply | Outcome) -> None:
        self.state = runs.advance(self.store, self.state.run, reply, to=self.state.key, **PERSON)

    @precondition(_waits)
    @rule(numbers=st.lists(st.integers(0, 20), max_size=4), fewer=st.booleans())
    def tick(self, numbers: list[int], fewer: bool) -> None:
        """Options are ticked; perhaps not for every question."""
        questions = self.ask.questions[: 1 if fewer else None]
        data = {"answers": [picks(question, numbers) for question in questions]}
        reply = returns.parse(msgspec.json.encode(data), self.ask, reading.read)
        self._advance(reply)

    @precondition(_waits)
    @rule(number=st.integers(0, 60), as_text=st.booleans())
    def type(self, number: int, as_text: bool) -> None:
        """Something is typed and read, in either way."""
        question = self.ask.questions[0]
        entry = {"key": question.key, "text": words_for(question, number)}
        data = msgspec.json.encode({"answers": [entry]})
        self._advance(returns.parse(data, self.ask, reading.read, as_text=as_text))

    @precondition(_waits)
    @rule(kind=st.sampled_from(["idle", "dismissed", "unavailable", "error"]))
    def say_nothing(self, kind: str) -> None:
        """What is no answer leaves the question as it is."""
        before = self.state
        self._advance(Outcome(kind))  # type: ignore[arg-type]  # each of them is a kind
        assert (self.state.status, self.state.key) == ("waiting", before.key)
        assert self.state.ask == before.ask

    @rule()
    def crash(self) -> None:
        """The process is gone; another one goes on."""
        self.store.close()
        self.store = SqliteStore(self.path)
        again = runs.advance(self.store, self.state.run, **PERSON)
        assert (again.status, again.key, again.ask) == (
            self.state.status,
            self.state.key,
            self.state.ask,
        )
        assert again.result == self.state.result

    @rule(number=st.integers(0, 20))
    def think_again(self, number: int) -> None:
        """An earlier answer is changed to another of its options."""
        asked = asks_of(self.store, self.state.run)
        earlier = asked[number % len(asked)]
        data = {"answers": [picks(earlier.questions[0], [number])]}
        reply = returns.parse(msgspec.json.encode(data), earlier, reading.read)
        assert isinstance(reply, Reply)
        try:
            self.state = runs.amend(
                self.store, self.state.run, reply, key=earlier.key, why="a new fact", **PERSON
            )
        except Rejected as refused:
            if "has no answer" not in str(refused):  # it still waits, or was taken back before
                raise

    @invariant()
    def nothing_is_shown_twice_under_one_key(self) -> None:
        """A late reply can never meet another question, and every screen fits its host."""
        asked = asks_of(self.store, self.state.run)
        keys = [question.key for ask in asked for question in ask.questions]
        assert len(set(keys)) == len(keys)

    @invariant()
    def the_end_is_a_path_of_the_tree(self) -> None:
        """Nothing is returned that the tree does not have, except the person's own words."""
        if self.state.status != "done":
            assert self.state.status == "waiting"
            return
        known = [
            {"/".join(path) for path, _ in walk(decision.options)}
            for decision in self.tree.decisions
        ]
        for position, chosen in enumerate(self.state.result["chosenItems"]):
            path = chosen["path"]
            assert path
            if any(mark in path for mark in ("custom:", "smart:", "force:")):
                continue
            assert set(path.split(",")) <= known[position % len(known)]

    def teardown(self) -> None:
        """The journal as it stands replays to what was asked, and nobody changed it."""
        if not hasattr(self, "store"):
            return
        asked = asks_of(self.store, self.state.run)
        now = list(small_flows.requests(self.store, self.state.run))
        assert [ask for ask in asked if ask in now] == [r for r in now if isinstance(r, Ask)]
        assert verify(self.store).ok
        self.store.close()
        self.folder.cleanup()


Deciding.TestCase.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestDeciding = Deciding.TestCase

REPLAY = """
import json, sys
import msgspec
sys.path.insert(0, sys.argv[3])
from small_flows import requests
from quandary.journal.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
asked = [msgspec.to_builtins(r) for r in requests(store, sys.argv[2])]
assert "quandary.reading" not in sys.modules
print(json.dumps(asked, sort_keys=True))
"""

TREE = """\
### ¶ASK_STEP
## Decision: Step
- [OK] Keep it
- [NO] Drop it
  - [ALL] All of it
  - [PRT] A part of it
  - [LTR] Later
- [TAG] Tag it
- [OTH] Other
  - [RWK] Rework it
  - [SPL] Split it
"""


def typed(store: SqliteStore) -> State:
    """A run in which a person typed all sorts of things."""
    from quandary.formats.markdown import parse  # noqa: PLC0415 - only for this run

    (tree,) = parse(TREE).trees
    items = [{"id": str(n), "label": f"Step {n}"} for n in range(1, 6)]
    state = runs.begin(
        store,
        "decide",
        {"context": CONTEXT, "items": items},
        documents={"tree": msgspec.to_builtins(tree)},
        who="agent",
        through="command",
    )
    for text in ("keep it", "drop it", "rework it", "my own words", "all of it", "?", "tag", "!NO"):
        if state.ask is None:
            break
        data = [{"key": q.key, "text": text} for q in state.ask.questions]
        reply = returns.parse(msgspec.json.encode({"answers": data}), state.ask, reading.read)
        state = runs.advance(store, state.run, reply, to=state.key, **PERSON)
    return state


def test_another_process_asks_the_same_things(tmp_path: Path) -> None:
    """With another hash seed, and without ever loading the reader."""
    path = tmp_path / "journal.db"
    store = SqliteStore(path)
    state = typed(store)
    shown = [msgspec.to_builtins(ask) for ask in asks_of(store, state.run)]
    for seed in ("1", "2", "77"):
        ended = subprocess.run(
            [sys.executable, "-c", REPLAY, str(path), state.run, str(Path(__file__).parent.parent)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(ended.stdout) == json.loads(json.dumps(shown))


def test_a_reader_that_reads_otherwise_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text was read once; what it meant then is what counts."""
    store = SqliteStore(tmp_path / "journal.db")
    state = typed(store)

    def otherwise(*_: object) -> None:
        raise AssertionError("an old reply was read again")

    monkeypatch.setattr(reading, "read", otherwise)
    runs._opened.clear()
    again = runs.advance(store, state.run, **PERSON)
    assert (again.status, again.key, again.ask) == (state.status, state.key, state.ask)
    assert list(small_flows.requests(store, state.run)) == asks_of(store, state.run)
