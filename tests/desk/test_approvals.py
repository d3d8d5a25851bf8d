"""What only a person opens: no transition, file or journal of an agent's gets past it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from phases import Tried
from quandary.desk import phases
from quandary.desk.authority import Caller
from quandary.desk.reply import actions, record_reply, repeat
from quandary.errors import StoreError
from quandary.formats import tracks
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from quandary.journal.store import State

GUARDED: tuple[Any, ...] = ("1", "2.1", {"label": "2.2", "approval": "person"}, "2.3", "3", "4")
PROVING: tuple[Any, ...] = ("1", {"label": "2", "approval": "person", "proof": ["tests"]}, "3")
PERSON = Caller("person", "web", "ada")
WORD = "only on a person's own word"


@pytest.fixture
def fresh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tried:
    """A track in which anybody may go on."""
    return Tried(tmp_path, capsys, monkeypatch)


@pytest.fixture
def tried(fresh: Tried) -> Tried:
    """A track in which only a person opens 2.2, at the phase before."""
    fresh.declare(*GUARDED)
    fresh.stand("1", "2.1")
    return fresh


@pytest.fixture
def proving(fresh: Tried) -> Tried:
    """A track at a phase that only a person opens, once something is proven."""
    fresh.declare(*PROVING)
    fresh.stand("1", "2")
    return fresh


def begin(tried: Tried, *words: str) -> str:
    """A gate that waits, as an agent begins it."""
    ended = tried.run("gate", "rel", *words)
    assert ended.state["status"] == "waiting", ended
    run: str = ended.state["run"]
    return run


def choose(tried: Tried, run: str, code: str) -> State:
    """A person answers what waits."""
    store = SqliteStore(tried.store)
    key = runs.look(store, run).key
    reply, do = Reply((Answer(str(key), (code,)),)), actions(store, run)
    return runs.advance(store, run, reply, to=key, who="person", through="web", deeds=do)


def edit(tried: Tried, **members: object) -> None:
    """Write into the state file, as anybody can."""
    tried.file.write_text(json.dumps(tried.state | members), encoding="utf-8")


def refuse(tried: Tried, target: str, approved: str = "", said: str = WORD) -> None:
    """A move is refused in one line, and nothing is changed."""
    before = tried.file.read_bytes()
    ended = tried.go(target, approved=approved)
    assert (ended.status, ended.out) == (1, ""), ended
    assert said in ended.err.splitlines()[-1], ended.err
    assert tried.file.read_bytes() == before


# -- passing over --------------------------------------------------------------------------------


@pytest.mark.parametrize("approved", ["", "she said yes"])
@pytest.mark.parametrize("target", ["2.3", "2.2.1", "2.9: New", "3"])
def test_a_phase_that_only_a_person_opens_is_not_passed_over(
    tried: Tried, target: str, approved: str
) -> None:
    """Neither by a step within its number, nor to a new phase, nor to the next number."""
    refuse(tried, target, approved)
    tried.stand("2.2")
    refuse(tried, target, approved)


@pytest.mark.parametrize("target", ["4", "9: Elsewhere", "3.X: A branch"])
def test_a_whole_number_is_not_passed_over_for_any_reason(tried: Tried, target: str) -> None:
    """What is said with --user-approved is a claim."""
    tried.stand("1")
    refuse(tried, target, "the user approved")
    refuse(tried, "2.3", "the user approved")


def test_a_track_does_not_begin_behind_what_only_a_person_opens(tried: Tried) -> None:
    """Where nothing has begun, everything lies ahead."""
    tried.declare(*GUARDED)
    for target in ("2.3", "3"):
        refuse(tried, target, "begin there")
    assert tried.go("2.2", approved="begin there").status == 0


def test_back_and_forward_again_takes_another_word(tried: Tried) -> None:
    """What a person let pass once they let pass once."""
    run = begin(tried)
    assert choose(tried, run, "OTH/SKP").result["nextPhase"] == "2.3"
    assert tried.go("2.1", approved="look again").status == 0
    refuse(tried, "2.3", run)
    refuse(tried, "3", "she let it pass before")


def test_a_branch_of_an_agents_own_is_no_way_round(fresh: Tried) -> None:
    """Branches that were declared are alternatives; one that was added is not."""
    tried = fresh
    guarded = {"label": "2.B", "approval": "person"}
    tried.declare("1", "2.A", guarded, "2.B.1", "3")
    tried.stand("1")
    for target in ("2.C", "2.B.1", "3"):
        refuse(tried, target, "a branch")
    phases = [*tried.state["phases"], "2.C"]
    edit(tried, phases=phases)
    refuse(tried, "2.C", "declared in the file")
    tried.stand("2.A")
    refuse(tried, "2.B.1", "switch")
    tried.stand("3")


@pytest.mark.parametrize("words", ["skip ahead", "OTH/SKP", "!OTH/SKP", "!SKP"])
def test_a_choice_at_a_gate_passes_over_only_for_a_person(tried: Tried, words: str) -> None:
    """A relayed one moves nothing, however it was said."""
    before = tried.file.read_bytes()
    ended = tried.run("reply", begin(tried), words)
    assert tried.file.read_bytes() == before
    if words != "!SKP":  # that is no path of the menu
        assert (ended.status, ended.state["status"]) == (1, "failed")
        assert f"2.2 can be passed over {WORD}" in ended.state["error"]
    assert choose(tried, begin(tried), "OTH/SKP").result["nextPhase"] == "2.3"


def test_answers_taken_over_approve_nothing(tried: Tried) -> None:
    """A person's choice of another run is not their choice in this one."""
    run = begin(tried)
    choose(tried, run, "OTH/SKP")
    tried.stand("2.1")
    before = tried.file.read_bytes()
    ended = tried.run("gate", "rel", "--from", run)
    assert tried.file.read_bytes() == before, ended


# -- the file and the journal --------------------------------------------------------------------


def test_an_edited_list_of_phases_passes_nothing(tried: Tried) -> None:
    """What phase start recorded holds, and the difference is said in a line."""
    phases = tried.state["phases"]
    for edited in (
        [*phases[:2], "2.2", *phases[3:]],
        [*phases[:2], *phases[3:]],
        [*phases[:2], {"label": "2.2", "gate": False, "approval": ""}, *phases[3:]],
        ["1", "2.1", "2.3", "3"],
    ):
        edit(tried, phases=edited)
        refuse(tried, "2.3", "the file says so")
        note = tried.go("2.3").err.splitlines()[0]
        assert note.startswith("note: the phases in the state file were edited")
    tried.stand("2.2")
    refuse(tried, "2.3")
    ended = tried.run("gate", "rel")
    assert "Only a person can answer this" in ended.state["notes"][0]["text"]
    assert "was not declared" not in tried.run("phase", "status", "rel").out
    assert tried.status["warnings"]


@pytest.mark.parametrize("current", ["2.3", "3", "4"])
def test_an_edited_place_passes_nothing(tried: Tried, current: str) -> None:
    """Whoever writes a later phase into the file still has to pass what lies before it."""
    history = [*tried.state["phaseHistory"], {"phase": current, "who": "person"}]
    edit(tried, currentPhase=current, phaseHistory=history)
    for target in ("3", "4", "2.3"):
        refuse(tried, target, "it is there already")
    assert f"has the track at {current}, the journal at 2.1" in tried.status["warnings"][0]
    # A person's word heals it, and they see what for.
    shown = tried.run("gate", "rel").state["ask"]["preamble"]
    assert "Nobody has let 2.2 pass yet" in shown
    assert choose(tried, begin(tried), "OTH/RST").status == "done"
    assert "warnings" not in tried.status


def test_a_repaired_record_passes_nothing(tried: Tried) -> None:
    """Of an interrupted command, the file can say that it moved the track, and not where to."""
    tried.killed("phase", "go", "rel", "2.1", after=False)
    [row] = SqliteStore(tried.store).each_run(waits="house")
    forged = {"phase": "3", "from": "2.1", "run": row.id}
    edit(tried, currentPhase="3", phaseHistory=[*tried.state["phaseHistory"], forged])
    refuse(tried, "4")
    assert SqliteStore(tried.store).require_run(row.id).status == "withdrawn"


def test_an_edited_history_makes_no_choice_at_a_gate_come_true(tried: Tried) -> None:
    """That the track has moved already is taken from the journal."""
    run = begin(tried)
    store = SqliteStore(tried.store)
    forged = {"phase": "2.3", "from": "2.1", "run": run}
    edit(tried, currentPhase="2.3", phaseHistory=[*tried.state["phaseHistory"], forged])
    reply, do = Reply((Answer("2.1:", ("OTH/SKP",)),)), actions(store, run)
    state = runs.advance(store, run, reply, who="agent", through="relay", deeds=do)
    assert (state.status, "has moved since" in str(state.error)) == ("failed", True)


def test_a_track_declared_anew_keeps_what_only_a_person_opens(tried: Tried) -> None:
    """Neither deleting the file nor a weaker list of phases gets round it."""
    tried.file.unlink()
    words = ("phase", "start", "rel", "--phases", "-")
    ended = tried.run(*words, stdin='["1", "2.1", "2.2", "2.3"]')
    assert (ended.status, ended.out) == (1, "")
    assert "only a person lets 2.2 pass" in ended.err
    around = json.dumps([*GUARDED, "2.A", "2.B"])
    assert tried.run(*words, stdin=around).status == 1
    assert not tried.file.exists()
    assert tried.run(*words, stdin=json.dumps(["1", GUARDED[2], "2.3"])).status == 0
    tried.stand("1")
    refuse(tried, "2.3", "anew")


def test_another_folder_of_the_same_track_is_the_same(tried: Tried) -> None:
    """A link to the folder is not another track."""
    (tried.folder / "link").symlink_to("rel")
    edit(tried, phases=["1", "2.1", "2.2", "2.3"])
    ended = tried.run("phase", "go", "link", "2.3", "--user-approved", "x")
    assert (ended.status, WORD in ended.err) == (1, True)


# -- once ----------------------------------------------------------------------------------------


def test_an_approval_is_used_once(proving: Tried) -> None:
    """Putting the state file back gives it back to nobody, whoever used it."""
    run, before = begin(proving), proving.file.read_bytes()
    assert choose(proving, run, "PRC").result["missing"] == ["tests"]
    assert proving.go("3", {"tests": "fine"}, run).status == 0
    proving.file.write_bytes(before)
    ended = proving.go("3", {"tests": "fine"}, run)
    assert (ended.status, "was used" in ended.err) == (1, True)
    assert proving.file.read_bytes() == before


def test_an_approval_is_used_by_the_gate_that_asked_for_it(tried: Tried) -> None:
    """Its move is not made once more with the same word."""
    tried.stand("2.2")
    run, other = begin(tried), begin(tried)
    before = tried.file.read_bytes()
    assert choose(tried, run, "PRC").result["nextPhase"] == "2.3"
    tried.file.write_bytes(before)
    refuse(tried, "2.3", run, "was used")
    state = choose(tried, other, "PRC")
    assert (state.status, tried.file.read_bytes()) == ("failed", before)
    assert "the journal has it at 2.3" in str(state.error)


@pytest.mark.parametrize("after", [True, False])
def test_an_interrupted_command_is_given_again_and_its_approval_used_once(
    proving: Tried, after: bool
) -> None:
    """Whether it was killed before the file was changed or after."""
    run, before = begin(proving), proving.file.read_bytes()
    choose(proving, run, "PRC")
    words = ("phase", "go", "rel", "3", "--user-approved", run)
    proving.killed(*words, after=after, stdin='{"tests": 1}')
    proving.file.write_bytes(before)
    assert proving.run("phase", "status", "rel").status == 0
    ended = proving.go("3", {"tests": "fine"})
    assert (ended.status, WORD in ended.err) == (1, True), ended
    ended = proving.go("3", {"tests": "fine"}, run)
    assert ended.status == 0, ended
    *_, last = proving.state["phaseHistory"]
    assert (last["phase"], last["who"], last["proof"]) == ("3", "person", {"tests": 1})
    store = SqliteStore(proving.store)
    [used] = [row for row in store.each_run() if row.id == last["run"]]
    assert used.status == "done"
    proving.file.write_bytes(before)
    ended = proving.go("3", {"tests": "fine"}, run)
    assert (ended.status, "was used" in ended.err) == (1, True)
    assert len([row for row in store.each_run() if row.flow == "phase"]) == 3
    assert verify(store).ok


def test_a_reply_that_is_sent_again_finishes_what_was_interrupted(tried: Tried) -> None:
    """Whoever was killed between the choice at a gate and its move; it is made once."""
    store, run = SqliteStore(tried.store), begin(tried)
    reply = Reply((Answer(str(runs.look(store, run).key), ("OTH/RST",)),))
    sent: dict[str, Any] = {"token": "t", "sent": "d"}
    how: dict[str, Any] = {"token": "t", "request": "d", **PERSON.source}
    killed = runs.advance(store, run, reply, **how)  # nobody does what the house has to
    assert killed.deed is not None
    assert record_reply(store, PERSON, run, reply, **sent).status == "done"
    moves = len(tried.state["phaseHistory"])
    again = repeat(store, PERSON, run, "t", "d")
    assert again is not None
    assert (again.status, len(tried.state["phaseHistory"])) == ("done", moves)


def test_what_moves_a_track_is_not_withdrawn_half_way(tried: Tried) -> None:
    """The journal would have a move that the file never gets; it is carried out instead."""
    store, run = SqliteStore(tried.store), begin(tried)
    reply = Reply((Answer(str(runs.look(store, run).key), ("OTH/RST",)),))
    runs.advance(store, run, reply, **PERSON.source)  # nobody does what the house has to
    ended = tried.run("withdraw", run, "--why", "no need")
    assert (ended.status, f"next {run}" in ended.err) == (1, True)
    assert tried.run("next", run, "--via", "relay").state["status"] == "done"


def test_nobody_goes_on_while_an_interrupted_choice_cannot_be_carried_out(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is gone for a moment would let the next gate move the track from there."""
    store, run = SqliteStore(tried.store), begin(tried)
    reply = Reply((Answer(str(runs.look(store, run).key), ("OTH/RST",)),))
    runs.advance(store, run, reply, **PERSON.source)  # nobody does what the house has to
    with monkeypatch.context() as broken:
        broken.setattr(store, "append", Mock(side_effect=StoreError("it is gone")))
        with pytest.raises(StoreError):
            phases.open_track(store, "rel")
    assert phases.open_track(store, "rel")[2] == []
    assert runs.look(store, run).status == "done"


def test_whoever_finds_a_track_busy_is_told_that_the_choice_is_recorded(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no refusal: the choice stands, and whoever comes next carries it out."""
    store, run = SqliteStore(tried.store), begin(tried)
    reply = Reply((Answer(str(runs.look(store, run).key), ("OTH/RST",)),))
    monkeypatch.setattr(tracks, "PATIENCE", 0.0)
    with tracks.lock("rel"), pytest.raises(StoreError, match=f"is recorded.* next {run}"):
        record_reply(store, PERSON, run, reply)
    assert tried.run("next", run, "--via", "relay").state["status"] == "done"


@pytest.mark.parametrize("forged", [False, True])
def test_an_interrupted_command_is_not_resumed_where_the_track_has_moved(
    proving: Tried, forged: bool
) -> None:
    """Nor does its entry in the file count then, whoever wrote it there."""
    run = begin(proving)
    choose(proving, run, "PRC")
    words = ("phase", "go", "rel", "3", "--user-approved", run)
    proving.killed(*words, after=False, stdin='{"tests": 1}')
    store = SqliteStore(proving.store)
    [row] = store.each_run(waits="house")
    assert proving.go("2").status == 0
    if forged:
        entry = {"phase": "3", "from": "2", "run": row.id}
        edit(proving, currentPhase="3", phaseHistory=[*proving.state["phaseHistory"], entry])
    assert proving.run("phase", "status", "rel").status == 0
    assert store.require_run(row.id).status == "withdrawn"
    ledger = phases.read_ledger(store, str(proving.folder / "rel"))
    assert ledger is not None
    assert ledger.label == "2"


def test_an_interrupted_command_is_not_resumed_with_other_work(proving: Tried) -> None:
    """What was approved of is what was shown."""
    plan = proving.folder / "rel" / "plan.md"
    plan.write_text("Ship it on Monday.", encoding="utf-8")
    run = begin(proving)
    choose(proving, run, "PRC")
    words = ("phase", "go", "rel", "3", "--user-approved", run)
    proving.killed(*words, after=False, stdin='{"tests": 1}')
    plan.write_text("Ship it today.", encoding="utf-8")
    ended = proving.go("3", {"tests": "fine"}, run)
    assert (ended.status, "plan.md changed since run" in ended.err) == (1, True)


def test_an_approval_is_for_the_artifacts_that_were_shown(proving: Tried) -> None:
    """One that was changed or removed since is not what they approved of; new ones do not count."""
    plan, notes = proving.folder / "rel" / "plan.md", proving.folder / "rel" / "notes.md"
    plan.write_text("Ship it on Monday.", encoding="utf-8")
    run = begin(proving)
    assert "`plan.md`" in proving.run("next", run).state["ask"]["preamble"]
    choose(proving, run, "PRC")
    notes.write_text("new", encoding="utf-8")
    for change in ("Ship it today.", ""):
        if change:
            plan.write_text(change, encoding="utf-8")
        else:
            plan.unlink()
        ended = proving.go("3", {"tests": "fine"}, run)
        assert (ended.status, "plan.md changed since run" in ended.err) == (1, True), ended
    plan.write_text("Ship it on Monday.", encoding="utf-8")
    assert proving.go("3", {"tests": "fine"}, run).status == 0


def test_no_artifact_hides_behind_another_or_a_lock(
    proving: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two names can look the same, and what cannot be read may have become anything."""
    hidden, plain = (proving.folder / "rel" / name for name in ("a\u200b.md", r"a\u200b.md"))
    hidden.write_text("one", encoding="utf-8")
    plain.write_text("two", encoding="utf-8")
    run = begin(proving)
    choose(proving, run, "PRC")
    for file in (hidden, plain):
        before = file.read_bytes()
        file.write_text("changed", encoding="utf-8")
        ended = proving.go("3", {"tests": "fine"}, run)
        assert (ended.status, r"a\u200b.md changed since run" in ended.err) == (1, True), ended
        file.write_bytes(before)
    monkeypatch.setattr(phases, "_digest", lambda _: "")
    run = begin(proving)
    choose(proving, run, "PRC")
    assert proving.go("3", {"tests": "fine"}, run).status == 1


def test_what_changed_while_a_gate_waited_is_shown_again(tried: Tried) -> None:
    """A choice counts for what the person walked through last."""
    plan = tried.folder / "rel" / "plan.md"
    plan.write_text("Ship it on Monday.", encoding="utf-8")
    tried.stand("2.2")
    run = begin(tried)
    plan.write_text("Ship it today.", encoding="utf-8")
    state = choose(tried, run, "PRC")
    assert (state.status, state.error) == (
        "failed",
        "plan.md changed since it was shown here; ask again",
    )
    run = begin(tried)
    plan.write_text("Ship it tomorrow.", encoding="utf-8")
    choose(tried, run, "WLK")
    choose(tried, run, "OK")
    assert choose(tried, run, "PRC").result["nextPhase"] == "2.3"


def test_the_journal_itself_is_no_artifact(tried: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is kept beside the work changes with every answer."""
    monkeypatch.setenv("QUANDARY_STORE", str(tried.folder / "rel" / "journal.db"))
    tried.store = tried.folder / "rel" / "journal.db"
    tried.stand("2.2")
    assert choose(tried, begin(tried), "PRC").result["nextPhase"] == "2.3"


def test_a_choice_that_was_taken_back_approves_nothing(proving: Tried) -> None:
    """What a person amended is what they chose."""
    run = begin(proving)
    choose(proving, run, "PRC")
    store = SqliteStore(proving.store)
    reply, do = Reply((Answer("2:", text="No, wait."),)), actions(store, run)
    said: dict[str, Any] = {"who": "person", "through": "web", "deeds": do}
    runs.amend(store, run, reply, key="2:", why="no", **said)
    ended = proving.go("3", {"tests": "fine"}, run)
    assert (ended.status, "no person chose" in ended.err) == (1, True)


def test_an_approval_ends_with_its_declaration(proving: Tried) -> None:
    """Whoever declares the track anew needs another word."""
    run, state = begin(proving), proving.state
    choose(proving, run, "PRC")
    proving.declare("1", {"label": "2", "approval": "person"}, "3")
    edit(proving, currentPhase="2", phaseHistory=state["phaseHistory"])
    refuse(proving, "3", run, "was used, or the track has moved since")


def test_an_approval_does_not_go_by_the_order_of_rows(proving: Tried) -> None:
    """The order of entries of different runs is not sealed; what a gate saw of its track is."""
    run, before = begin(proving), proving.file.read_bytes()
    choose(proving, run, "PRC")
    choose(proving, begin(proving), "OTH/RST")
    begin(proving)
    proving.file.write_bytes(before)
    with closing(sqlite3.connect(proving.store)) as store, store:
        [[gate]] = store.execute("SELECT min(seq) FROM entry WHERE run = ?", (run,))
        [[note]] = store.execute(
            "SELECT max(seq) FROM entry JOIN run ON run = id WHERE flow = 'track'"
        )
        store.execute("UPDATE entry SET seq = -seq WHERE seq BETWEEN ? AND ?", (gate, note))
        store.execute("UPDATE entry SET seq = ? WHERE seq = ?", (gate, -note))
        store.execute("UPDATE entry SET seq = 1 - seq WHERE seq < 0")
    assert verify(SqliteStore(proving.store)).ok
    ended = proving.go("3", {"tests": "fine"}, run)
    assert (ended.status, "the track has moved since" in ended.err) == (1, True), ended


def test_nothing_moves_in_an_older_journal(tried: Tried) -> None:
    """A journal that was put back may not know what was declared or used since."""
    older = tried.folder / "older.db"
    with closing(sqlite3.connect(tried.store)) as store, closing(sqlite3.connect(older)) as copy:
        store.backup(copy)
    tried.stand("2.2")
    for end in ("-wal", "-shm"):
        Path(f"{tried.store}{end}").unlink(missing_ok=True)
    older.replace(tried.store)
    refuse(tried, "2.2", "again", "older than what was seen here")


# -- tracks of before ----------------------------------------------------------------------------


def test_a_track_of_before_is_declared_as_its_file_has_it(tried: Tried) -> None:
    """The journal takes it over with the first command, and from then on it holds."""
    other = tried.folder / "old"
    other.mkdir()
    (other / ".state.json").write_bytes(tried.file.read_bytes())
    tried.file = other / ".state.json"

    def go(target: str, *words: str) -> int:
        return tried.run("phase", "go", "old", target, *words).status

    assert go("2.3", "--user-approved", "x") == 1
    edit(tried, phases=["1", "2.1", "2.2", "2.3"])
    assert go("2.3", "--user-approved", "x") == 1
    run = tried.run("gate", "old").state["run"]
    before = tried.file.read_bytes()
    assert choose(tried, run, "OTH/SKP").result["nextPhase"] == "2.3"
    tried.file.write_bytes(before)
    assert go("2.3", "--user-approved", run) == 1


def test_a_gate_of_before_counts_once(tried: Tried) -> None:
    """A person's choice that is older than the declaration is used by the first move."""
    other = tried.folder / "old"
    other.mkdir()
    phases = ["1", {"label": "2", "approval": "person", "proof": ["tests"]}, "3"]
    at = [{"phase": "1"}, {"phase": "2"}]
    text = json.dumps({"phases": phases, "currentPhase": "2", "phaseHistory": at})
    file = other / ".state.json"
    file.write_text(text, encoding="utf-8")
    declared = [{"label": "2", "approval": "person", "proof": [{"name": "tests"}]}, {"label": "3"}]
    track = {"phases": declared, "current": declared[0]}
    terms = {"folder": str(other), "track": track, "seen": 2}
    store = SqliteStore(tried.store)
    run = runs.begin(store, "gate", terms, who="agent", through="command").run
    assert choose(tried, run, "PRC").result["missing"] == ["tests"]
    words = ("phase", "go", "old", "3", "--user-approved", run)
    assert tried.run(*words, stdin='{"tests": 1}').status == 0
    file.write_text(text, encoding="utf-8")
    assert tried.run(*words, stdin='{"tests": 1}').status == 1
