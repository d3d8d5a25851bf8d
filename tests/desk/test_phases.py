"""Any sequence of commands on a track: it never comes where the rules do not lead."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import strategies  # noqa: F401 - loads the profile
from quandary.desk import phases
from quandary.desk.reply import actions
from quandary.errors import QuandaryError
from quandary.formats import tracks
from quandary.formats.proof import Given
from quandary.journal import runs
from quandary.journal.entries import Source
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from quandary.journal.entries import Who

TRACKS: tuple[tuple[str, ...], ...] = (
    ("1", "2", "3", "4"),
    ("3", "1", "2.1", "2", "2.2"),
    ("1", "2.A", "2.A.1", "2.B", "2.B.1", "3"),
    ("1.A", "1.B", "1.C.A", "1.C.B"),
    ("0", "4", "9", "10", "10.2"),
)
LABELS = tuple(sorted({*(label for track in TRACKS for label in track), "1.1", "2.3", "2.C", "5"}))
AGENT = Source("agent", "command", "")


def parts(label: str) -> list[tuple[int, int | str]]:
    """The segments of a label, so that they can be compared."""
    return [(0, int(p)) if p.isdigit() else (1, p) for p in label.split(".")]


def is_free(declared: list[str], here: str | None, there: str) -> bool:
    """The rules once more, as a list of cases in the words of the documentation."""
    if here is None:
        return there == min(declared, key=parts)
    if there == here:
        return True
    at, to = parts(here), parts(there)
    fork = next((n for n, (a, b) in enumerate(zip(at, to, strict=False)) if a != b), None)
    changes_branch = fork is not None and at[fork][0] == to[fork][0] == 1
    if to < at or changes_branch:
        return False
    if at[0] == to[0]:
        branches = [".".join(there.split(".")[: n + 1]) for n, p in enumerate(to) if p[0] == 1]
        known = [*declared, here]
        return all(any(f"{k}.".startswith(f"{b}.") for k in known) for b in branches)
    ahead = sorted({parts(label)[0] for label in declared if parts(label)[0] > at[0]})
    return there in declared and to[0] == ahead[0]


def needs_person(track: tuple[str, ...], guarded: str, here: str | None, there: str) -> bool:
    """Whether a move leaves a phase that only a person opens, or goes past it."""
    if here == guarded:
        return there != here

    def fork(one: str, other: str) -> str:
        """The branch of the other, where the two are on different ones."""
        pairs = enumerate(zip(parts(one), parts(other), strict=False), 1)
        part = next((n for n, (a, b) in pairs if a != b and a[0] == b[0] == 1), 0)
        same = all(a == b for a, b in zip(parts(one)[: part - 1], parts(other), strict=False))
        return ".".join(other.split(".")[:part]) if part and same else ""

    def beside(label: str | None) -> bool:
        branch = fork(guarded, label) if label is not None else ""
        return bool(branch) and any(f"{known}.".startswith(f"{branch}.") for known in track)

    def behind(label: str | None) -> bool:
        return label is not None and parts(guarded) < parts(label) and not beside(label)

    untaken = here is not None and beside(here) and not fork(there, here)
    return behind(there) and not behind(here) and not untaken


class Commands(RuleBasedStateMachine):
    """A track, the commands that move it, and somebody who keeps book beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.file = Path(self.folder) / tracks.NAME
        self.store = SqliteStore(Path(self.folder) / ".journal.db")
        self.declared: list[str] = []
        self.proving: tuple[str, ...] = ()
        self.guarded = ""
        self.way: list[str] = []

    def teardown(self) -> None:
        """Nothing is left behind; the journal is whole and has every move."""
        assert verify(self.store).ok
        self.store.close()
        shutil.rmtree(self.folder)

    @initialize(track=st.sampled_from(TRACKS), guarded=st.integers(0, 3))
    def begin(self, track: tuple[str, ...], guarded: int) -> None:
        """A track in which every phase has something to prove and one wants a person."""
        self.declared, self.proving = list(track), track
        self.guarded = track[guarded]
        entries: list[dict[str, Any]] = [
            {"label": label, "name": f"P{label}", "proof": [f"p{label}"]} for label in track
        ]
        entries[guarded]["approval"] = "person"
        given = json.dumps({"keep": [1, {"me": None}], "phases": entries})
        self.file.write_text(tracks.write_new(given, "p", None, "t"), encoding="utf-8")

    @property
    def here(self) -> str | None:
        """Where the track is."""
        return self.way[-1] if self.way else None

    @rule(
        label=st.one_of(st.integers(0, 5), st.sampled_from(LABELS)),
        approved=st.sampled_from(["", "", "", " ", "the user said so", "0"]),
        proven=st.sampled_from([True, True, False]),
    )
    def go(self, label: int | str, approved: str, proven: bool) -> None:
        """A command is carried out just where the rules, the proof and the approval allow it."""
        to = label if isinstance(label, str) else self.declared[label % len(self.declared)]
        here = self.here
        before = self.file.read_bytes()
        free = is_free(self.declared, here, to) or bool(approved.strip())
        forward = here is not None and parts(to) > parts(here)
        shown = proven or not forward or here not in self.proving
        guarded = needs_person(self.proving, self.guarded, here, to)
        refused = ""
        try:
            phases.move_track(
                self.store,
                self.folder,
                f"{to}: Some name",
                approved=approved,
                given=Given({f"p{here}": "done", "extra": 1} if proven else {f"p{here}": "___"}),
                source=AGENT,
            )
        except QuandaryError as error:
            refused = str(error)
        assert bool(refused) == (not (free and shown) or guarded), refused
        if refused:
            assert self.file.read_bytes() == before
        else:
            self._moved(to)

    @rule(
        choice=st.sampled_from(["PRC", "PRC", "BAK", "OTH/RST", "OTH/SKP"]),
        who=st.sampled_from([("person", "terminal"), ("person", "web"), ("agent", "relay")]),
        proven=st.booleans(),
    )
    def gate(self, choice: str, who: tuple[Who, str], proven: bool) -> None:
        """A choice at a gate leads to a neighbour, for the right person, with proof."""
        if not self.way:
            return
        _, kept, _ = phases.open_track(self.store, self.folder, adopting=True)
        before = self.file.read_bytes()
        track = kept.track
        wanted = {
            "PRC": track.next,
            "BAK": track.previous,
            "OTH/RST": track.current,
            "OTH/SKP": track.beyond if track.next else None,
        }[choice]
        terms = {
            "folder": self.folder,
            "track": json.loads(msgspec.json.encode(track)),
            "seen": len(kept.history),
            "proof": {f"p{self.here}": "done"} if proven else {},
        }
        state = runs.begin(self.store, "gate", terms, who="agent", through="command")
        reply = Reply((Answer(str(state.key), (choice,)),))
        do = actions(self.store, state.run)
        there = wanted.label if wanted is not None else "99"
        alone = who[0] != "person" and needs_person(self.proving, self.guarded, self.here, there)
        try:
            state = runs.advance(
                self.store, state.run, reply, to=state.key, who=who[0], through=who[1], deeds=do
            )
        except QuandaryError:
            assert self.file.read_bytes() == before
            assert (wanted is None and choice != "PRC") or self._waits_for_person(who)
            return
        assert (state.status == "failed") == alone, state.error
        if alone:
            assert "only on a person's own word" in str(state.error)
            assert self.file.read_bytes() == before
        elif state.result.get("missing"):
            assert not proven
            assert choice in ("PRC", "OTH/SKP")
            assert self.file.read_bytes() == before
        else:
            self._moved(wanted.label if wanted is not None else str(self.here))

    def _waits_for_person(self, who: tuple[Who, str]) -> bool:
        return self.here == self.guarded and who[0] != "person"

    def _moved(self, target: str) -> None:
        if target not in self.declared:
            self.declared.append(target)
        self.way.append(target)

    @invariant()
    def the_file_explains_itself(self) -> None:
        """The history leads, entry by entry, to the current phase, and each entry is justified."""
        if not self.declared:
            return
        state = json.loads(self.file.read_text(encoding="utf-8"))
        kept = tracks.load(self.folder)
        assert state["keep"] == [1, {"me": None}]
        assert [passage.label for passage in kept.history] == self.way
        assert (kept.track.current.label if kept.track.current else None) == self.here
        assert {phase.label for phase in kept.track.phases} == set(self.declared)
        before = ""
        for passage in kept.history:
            assert passage.source == before
            assert self.store.run(passage.run) is not None
            before = passage.phase


Commands.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestCommands = Commands.TestCase
