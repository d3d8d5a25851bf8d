"""`quandary gate`: who may let a phase pass, and what is kept of it."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import pty
import select
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from phases import FIVE, PHASES, PLANNED, SCHEMA, Tried
from program import BY_A_PERSON
from quandary.desk import phases
from quandary.desk.reply import actions
from quandary.desk.state import outcome_lines
from quandary.errors import Rejected
from quandary.journal import runs
from quandary.journal.entries import Answered
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply
from quandary.model.text import count

if TYPE_CHECKING:
    from quandary.journal.entries import Who
    from quandary.journal.store import State

GUARDED: list[dict[str, Any]] = [
    PHASES[0],
    {**PHASES[1], "approval": "person"},
    *PHASES[2:],
]


@pytest.fixture
def tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tried:
    """A track at its first phase."""
    tried = Tried(tmp_path, capsys, monkeypatch)
    tried.stand("1")
    return tried


def begun(tried: Tried, *words: str, proof: object = None) -> str:
    """A gate that waits, as an agent begins it."""
    stdin = None if proof is None else json.dumps(proof)
    ended = tried.run("gate", "rel", *words, stdin=stdin)
    assert (ended.status, ended.err) == (0, "")
    assert ended.state["status"] == "waiting"
    run: str = ended.state["run"]
    return run


def answer(
    tried: Tried, run: str, code: str, who: Who = "person", through: str = "terminal"
) -> State:
    """Answer what waits, as somebody at a terminal does."""
    store = SqliteStore(tried.store)
    key = runs.look(store, run).key
    reply = Reply((Answer(str(key), (code,)),))
    do = actions(store, run)
    return runs.advance(store, run, reply, to=key, who=who, through=through, deeds=do)


def result(ended: Any) -> dict[str, Any]:  # noqa: ANN401 - an Ended
    """The result of a run that is done, which its schema accepts."""
    assert ended.state["status"] == "done", ended
    told: dict[str, Any] = ended.state["result"]
    jsonschema.validate({name: told[name] for name in FIVE}, SCHEMA)
    return told


# -- an agent relays -----------------------------------------------------------------------------


def test_an_agent_asks_and_relays(tried: Tried) -> None:
    """The menu is printed, the reply is carried out, and the history says who passed it on."""
    run = begun(tried, proof=PLANNED)
    ended = tried.run("reply", run, "PRC")
    assert ended.status == 0
    assert result(ended) == {
        "executed": "went on to the next phase",
        "userChoice": "proceed",
        "phaseGated": "1: Plan",
        "nextPhase": "2: Build",
        "proofProvided": "yes, 2 fields",
        "notes": [{"kind": "matched", "text": "> Matched: Proceed to 2: Build", "item": "1"}],
        "by": "agent",
        "through": "relay",
    }
    assert ended.state["notes"] == result(ended)["notes"]
    entry = tried.state["phaseHistory"][-1]
    assert (entry["who"], entry["through"], entry["run"]) == ("agent", "relay", run)
    assert entry["reason"] == "chose “Proceed to 2: Build” at the gate of 1: Plan"
    assert entry["proof"] == PLANNED
    assert tried.status["history"][-1]["journalled"]


def test_proof_prints_the_five_names_alone(tried: Tried) -> None:
    """With --proof the output is what the schema asks for."""
    (tried.folder / "a.json").write_text('["PRC"]', encoding="utf-8")
    words = ("gate", "rel", "--answers", "a.json", "--proof")
    ended = tried.run(*words, stdin=json.dumps(PLANNED))
    jsonschema.validate(ended.state, SCHEMA)
    assert tuple(ended.state) == FIVE
    assert tried.state["phaseHistory"][-1]["who"] == "api"


def test_paths_start_where_the_gate_was_begun(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever answers may sit somewhere else, such as a server."""
    tried.stand("2")
    run = begun(tried, proof={"report": "rel/report.md"})
    (tried.folder / "rel" / "report.md").write_text("fine", encoding="utf-8")
    (tried.folder / "elsewhere").mkdir()
    monkeypatch.chdir(tried.folder / "elsewhere")
    assert answer(tried, run, "PRC", through="web").result["nextPhase"] == "3.A: Slowly"


def test_missing_proof_is_handed_back(tried: Tried) -> None:
    """Nothing moves, it does not end well, and the caller learns what is missing."""
    run = begun(tried, proof={"scope": "___"})
    before = tried.file.read_bytes()
    ended = tried.run("reply", run, "PRC")
    assert ended.status == 1
    assert result(ended)["missing"] == ["risk", "scope"]
    assert tried.file.read_bytes() == before
    assert tried.go("2: Build", PLANNED).status == 0


def test_back_restart_and_skip(tried: Tried) -> None:
    """A choice is the approval; proof is due only on leaving forward."""
    tried.stand("2")
    assert result(tried.run("reply", begun(tried), "BAK"))["nextPhase"] == "1: Plan"
    assert tried.current == "1: Plan"
    assert result(tried.run("reply", begun(tried), "restart this phase"))["userChoice"] == "other"
    run = begun(tried, proof=PLANNED)
    assert result(tried.run("reply", run, "skip ahead"))["nextPhase"] == "3.A: Slowly"
    assert tried.current == "3.A: Slowly"
    reasons = [entry.get("reason", "") for entry in tried.state["phaseHistory"][2:]]
    assert reasons == [
        "chose “Go back to 1: Plan” at the gate of 2: Build",
        "chose “Restart this phase” at the gate of 1: Plan",
        "chose “Skip ahead to 3.A: Slowly” at the gate of 1: Plan",
    ]


def test_a_file_is_looked_for_in_the_folder_of_the_track(tried: Tried) -> None:
    """Then where the gate was begun; what is in it is shown as it is, between fences."""
    (tried.folder / "rel" / "plan.md").write_text("# Ours\n```\nx\n", encoding="utf-8")
    for folder in ("", "rel"):
        (tried.folder / folder / "both.md").write_text(f"in {folder}", encoding="utf-8")
    (tried.folder / "outer.md").write_text("outer", encoding="utf-8")
    run = begun(tried)
    found = {"plan.md": "# Ours\n```\nx\n", "both.md": "in rel", "outer.md": "outer"}
    for name, text in found.items():
        ended = tried.run("reply", run, f"@{name}")
        assert f"{name}:\n\n~~~\n{text}\n~~~\n" in ended.state["ask"]["preamble"]
    for name in ("../outer.md", "/etc/passwd", "nosuch.md"):
        (note,) = tried.run("reply", run, f"@{name}").state["notes"]
        assert note["kind"] == "refused"


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        ({"scope": "___", "risk": "low"}, "and 1 more thing must be proven first"),
        ({"scope": "all", "risk": "medium"}, "and 1 more thing must be proven first"),
        ({"scope": " ", "risk": None}, "and 2 things must be proven first"),
        ({}, "and 2 things must be proven first"),
        (PLANNED, "and its proof is complete"),
    ],
)
def test_the_menu_checks_the_proof_before_it_says_that_it_was_given(
    tried: Tried, proof: dict[str, Any], said: str
) -> None:
    """A field that is there, and unfilled or of the wrong kind, proves nothing."""
    ended = tried.run("gate", "rel", stdin=json.dumps(proof))
    assert said in ended.state["ask"]["tool_input"]["questions"][0]["question"]


def test_a_finished_track_can_only_be_looked_at_or_gone_back_from(tried: Tried) -> None:
    """Through the program: Finish is offered once."""
    tried.stand("2", "3.A", "4")
    finished = tried.run("reply", begun(tried, proof={"hours": 1}), "finish")
    assert finished.state["result"]["executed"] == "finished the last phase"
    before = tried.file.read_bytes()
    ended = tried.run("gate", "rel")
    labels = [o["label"] for o in ended.state["ask"]["tool_input"]["questions"][0]["options"]]
    assert labels == ["Walk through the output", "Go back to 3.A: Slowly"]
    ended = tried.run("reply", ended.state["run"], "finish")
    assert (result(ended)["userChoice"], tried.file.read_bytes()) == ("other", before)


def test_the_menu_of_the_last_phases_invents_nothing(tried: Tried) -> None:
    """Behind Other there is one option, and beside it the way back, in place of another Other."""
    tried.stand("2", "3.A", "4")
    run = begun(tried, proof={"hours": 1})
    ended = tried.run("reply", run, '{"answers": [{"picked": [], "text": ""}]}')
    asked = ended.state["ask"]["tool_input"]["questions"][0]
    assert [o["label"] for o in asked["options"]] == ["Restart this phase", "Back"]
    assert "more options" not in str(ended.state)
    back = tried.run("reply", run, json.dumps({"answers": {asked["question"]: "Back"}}))
    labels = [o["label"] for o in back.state["ask"]["tool_input"]["questions"][0]["options"]]
    assert labels[0] == "Finish"


def test_finish(tried: Tried) -> None:
    """The last phase is proven and done; whoever begins it anew is not done any more."""
    tried.stand("2", "3.A", "4")
    run = begun(tried, proof={"hours": 12})
    assert result(tried.run("reply", run, "finish"))["executed"] == "finished the last phase"
    told = tried.status
    assert (told["finished"], told["currentPhase"]) == (True, "4: Watch")
    assert told["history"][-1]["proof"] == {"hours": 12}
    assert "Finished." in tried.run("phase", "status", "rel").out
    assert tried.go("4").status == 0
    assert tried.status["finished"] is False


def test_words_and_custom_actions_move_nothing(tried: Tried) -> None:
    """They come back as they were said."""
    before = tried.file.read_bytes()
    run = begun(tried, "--custom", "Run benchmarks | Measure before anything else")
    told = result(tried.run("reply", run, "CUS"))
    assert (told["userChoice"], told["text"]) == ("custom", "Run benchmarks")
    run = begun(tried, "--custom", "Run benchmarks")
    told = result(tried.run("reply", run, "please add dark mode | now"))
    assert (told["userChoice"], told["text"]) == ("other", "please add dark mode | now")
    assert tried.file.read_bytes() == before
    ended = tried.run("gate", "rel", "--custom", " | what")
    assert (ended.status, ended.err.count("\n")) == (2, 1)


def test_a_slot_in_the_name_of_a_phase_is_filled_or_refused(tried: Tried) -> None:
    """Nobody is asked about a phase that is called `{area}`."""
    tried.declare(PHASES[0], {"label": "2", "name": "Build {area}"})
    tried.stand("1")
    for words in ((), ("--set", "area= ")):
        ended = tried.run("gate", "rel", *words)
        assert (ended.status, "still says {area}" in ended.err) == (2, True)
    ended = tried.run("gate", "rel", "--set", "area=the barn")
    assert "Proceed to 2: Build the barn" in str(ended.state["ask"]["tool_input"])
    said = {"name": "scope", "description": "what is done in {place}"}
    tried.declare({"label": "1", "name": "Plan", "proof": [said]}, PHASES[1])
    tried.stand("1")
    assert "the proof scope still says {place}" in tried.run("gate", "rel").err
    tried.declare({"label": "1", "name": "Plan {area}"}, PHASES[1])
    tried.stand("1")
    ended = tried.run("gate", "rel", "--set", "area=the barn")
    assert "is at 1: Plan the barn," in ended.state["ask"]["preamble"]
    assert "{area}" not in str(ended.state["ask"])
    ended = tried.run("reply", ended.state["run"], "PRC")
    assert outcome_lines("gate", ended.state["result"]) == [
        "1: Plan the barn: went on to the next phase (now 2: Build)"
    ]
    assert tried.status["history"][-1]["from"] == "1: Plan {area}"


def test_what_nobody_filled_in_is_refused_where_a_track_is_declared_and_not_at_its_gates(
    tried: Tried,
) -> None:
    """A track under way keeps its gate, whatever its phases are called."""
    for name, said in (("Build the TODO app", "TODO"), ("Ship [beta] {area}", "[beta]")):
        declared = json.dumps([{"label": "1", "name": "Plan"}, {"label": "2", "name": name}])
        (tried.folder / "new.json").write_text(declared, encoding="utf-8")
        ended = tried.run("phase", "start", "new", "--phases", "new.json")
        assert (ended.status, f"phase 2: {name} still says {said};" in ended.err) == (2, True)
        assert not (tried.folder / "new" / ".state.json").exists()
        (folder := tried.folder / said).mkdir()
        kept = f'{{"phases": {declared}, "currentPhase": "1"}}'
        (folder / ".state.json").write_text(kept, encoding="utf-8")
        ended = tried.run("gate", said, "--set", "area=it")
        shown = name.replace("{area}", "it")
        assert f"Proceed to 2: {shown}" in str(ended.state["ask"]["tool_input"])


def test_a_gate_in_text(tried: Tried) -> None:
    """The same menu as numbered text."""
    ended = tried.run("gate", "rel", "--via", "text", stdin=json.dumps(PLANNED))
    assert "1. **Proceed to 2: Build**" in ended.state["ask"]["text"]
    assert result(tried.run("reply", ended.state["run"], "1"))["nextPhase"] == "2: Build"


def test_a_phase_without_a_gate(tried: Tried) -> None:
    """It passes at once, by the policy of the track."""
    tried.declare({"label": "1", "gate": False, "proof": ["a"]}, {"label": "2", "gate": False})
    tried.stand("1")
    ended = tried.run("gate", "rel")
    assert (ended.status, ended.state["result"]["missing"]) == (1, ["a"])
    ended = tried.run("gate", "rel", stdin='{"a": 1}')
    assert (ended.status, result(ended)["executed"]) == (0, "passed on without a menu")
    assert tried.current == "2"
    history = tried.status["history"]
    assert (history[-1]["who"], history[-1]["through"]) == ("policy", "track")
    assert result(tried.run("gate", "rel"))["executed"] == "finished the last phase"


def test_what_cannot_be_asked(tried: Tried) -> None:
    """No track, no phase, a proof that is none: one line each."""
    assert tried.run("gate", "nowhere").status == 2
    assert tried.run("gate", "rel", stdin="[1]").status == 1
    tried.declare("1: Only")
    ended = tried.run("gate", "rel")
    assert (ended.status, ended.out) == (1, "")
    assert "quandary phase go rel '1: Only'" in ended.err


# -- only a person -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["option", "phase"])
def test_a_relayed_answer_is_refused_where_a_person_is_required(tried: Tried, how: str) -> None:
    """The reason is said, nothing is booked, and the question still waits."""
    if how == "phase":
        tried.declare(*GUARDED)
        tried.stand("1", "2")
    words = ("--require", "person") if how == "option" else ()
    run = begun(tried, *words, proof={**PLANNED, "report": "rel"})
    before = tried.file.read_bytes()
    for reply in ("PRC", "BAK", "own words", json.dumps({"answers": [{"picked": ["PRC"]}]})):
        ended = tried.run("reply", run, reply)
        assert (ended.status, ended.out) == (1, "")
        assert "only a person can answer this" in ended.err
    (tried.folder / "a.json").write_text('["PRC"]', encoding="utf-8")
    assert tried.run("gate", "rel", *words, "--answers", "a.json").status == 1
    store = SqliteStore(tried.store)
    for who, through in (("agent", "relay"), ("person", "relay"), ("api", "web"), ("policy", "x")):
        with pytest.raises(Rejected, match="still waits"):
            answer(tried, run, "PRC", who, through)  # type: ignore[arg-type]  # each is one
    assert store.entries(run, kinds=("answered",)) == []
    assert tried.file.read_bytes() == before
    state = answer(tried, run, "PRC")
    assert state.result["userChoice"] == "proceed"
    last = tried.status["history"][-1]
    assert (last["who"], last["through"], last["journalled"]) == ("person", "terminal", True)


def test_the_menu_says_that_a_person_is_needed(tried: Tried) -> None:
    """An agent that relays is told before it tries."""
    ended = tried.run("gate", "rel", "--require", "person")
    (note,) = ended.state["notes"]
    assert note["kind"] == "person"
    assert "quandary next" in note["text"]


def test_an_approval_has_to_name_a_run(tried: Tried) -> None:
    """A phase that wants a person is left only with a run in which one chose just that."""
    tried.declare(*GUARDED)
    tried.stand("1", "2")
    proof = {"report": "rel"}
    before = tried.file.read_bytes()
    for reason in ("", "the user said so", "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        ended = tried.go("3.A", proof, reason)
        assert ended.status == 1
        assert "only on a person's own word" in ended.err
    # A person chose, yet where nobody could ask them for proof nothing moved.
    run = begun(tried)
    assert answer(tried, run, "PRC").result["missing"] == ["report"]
    assert tried.file.read_bytes() == before
    # It counts for what they chose, and for nothing else.
    for target in ("3.B", "1", "4"):
        ended = tried.go(target, proof, run)
        assert ended.status == 1
        assert f"in run {run} no person chose" in ended.err
    assert tried.go("3.A", {}, run).status == 1
    assert tried.go("3.A", proof, f"chosen in {run.lower()}, see there").status == 0
    entry = tried.status["history"][-1]
    assert (entry["who"], entry["through"], entry["journalled"]) == ("person", "terminal", True)
    # It counts once.
    tried.stand("2")
    assert tried.go("3.A", proof, run).status == 1
    assert tried.go("2").status == 0


def test_a_relayed_choice_is_no_approval(tried: Tried) -> None:
    """A run in which an agent answered approves of nothing."""
    run = begun(tried)
    assert tried.run("reply", run, "PRC").status == 1
    state = tried.state
    state["phases"][0]["approval"] = "person"
    tried.file.write_text(json.dumps(state), encoding="utf-8")
    assert "no person chose" in tried.go("2", PLANNED, run).err


def test_an_approval_does_not_count_again_in_an_older_store(tried: Tried) -> None:
    """Not even where the track's own file was put back too."""
    tried.declare(*GUARDED)
    tried.stand("1", "2")
    run = begun(tried)
    answer(tried, run, "PRC")
    before, old = tried.file.read_bytes(), tried.folder / "old.db"
    with closing(SqliteStore(tried.store)) as store:
        store.back_up(str(old))
    assert tried.go("3.A", {"report": "."}, run).status == 0
    for name in (tried.store, f"{tried.store}-wal", f"{tried.store}-shm"):
        Path(name).unlink(missing_ok=True)
    old.rename(tried.store)
    tried.file.write_bytes(before)
    ended = tried.go("3.A", {"report": "."}, run)
    assert (ended.status, "older than what was seen here" in ended.err) == (1, True)
    assert tried.file.read_bytes() == before


def test_a_person_of_another_track_does_not_count(tried: Tried) -> None:
    """What was chosen for one folder is not chosen for another."""
    tried.declare(*GUARDED)
    tried.stand("1", "2")
    (tried.folder / "other").mkdir()
    (tried.folder / "other" / ".state.json").write_bytes(tried.file.read_bytes())
    run = begun(tried)
    answer(tried, run, "PRC")
    words = ("phase", "go", "other", "3.A", "--user-approved", run)
    assert tried.run(*words, stdin='{"report": "."}').status == 1
    assert tried.go("3.A", {"report": "."}, run).status == 0


def test_no_answer_is_taken_over_where_a_person_is_required(tried: Tried) -> None:
    """What a person said at one gate does not open the next."""
    tried.declare({"label": "1", "approval": "person"}, "2")
    tried.stand("1")
    run = begun(tried)
    answer(tried, run, "PRC")
    assert tried.current == "2"
    assert tried.go("1", approved="again").status == 0
    ended = tried.run("gate", "rel", "--from", run)
    assert ended.state["status"] == "waiting"
    assert tried.current == "1"


def test_a_choice_that_moved_the_track_is_not_taken_over(tried: Tried) -> None:
    """What was chosen once moves a track once."""
    tried.declare("1", "2", "3")
    tried.stand("1", "2")
    back = begun(tried)
    answer(tried, back, "BAK")
    assert tried.current == "1"
    tried.stand("2")
    ended = tried.run("gate", "rel", "--from", back)
    assert (tried.current, ended.state["status"]) == ("2", "waiting")


def test_a_person_changes_their_mind(tried: Tried) -> None:
    """An answer can be amended by a person alone, and moves nothing that has moved on."""
    tried.declare({"label": "1", "approval": "person"}, "2")
    tried.stand("1")
    run = begun(tried)
    answer(tried, run, "PRC")
    before = tried.file.read_bytes()
    ended = tried.run("amend", run, "--to", "1:", "--why", "no", "own words")
    assert ended.status == 1
    assert "only a person" in ended.err
    store = SqliteStore(tried.store)
    reply = Reply((Answer("1:", ("OTH/RST",)),))
    do = actions(store, run)
    state = runs.amend(
        store, run, reply, key="1:", why="no", who="person", through="terminal", deeds=do
    )
    assert state.status == "failed"
    assert "the track has moved since" in str(state.error)
    assert tried.file.read_bytes() == before


# -- at a terminal -------------------------------------------------------------------------------


def at_terminal(tried: Tried, *words: str, lines: list[str]) -> tuple[int, str]:
    """Type lines at the program, each when it is ready for one."""
    screen, line = pty.openpty()
    process = subprocess.Popen(
        [*BY_A_PERSON, *words],
        cwd=tried.folder,
        stdin=line,
        stdout=line,
        stderr=line,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(line)
    shown, waiting = b"", list(lines)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([screen], [], [], 1)[0]:
            continue
        try:
            shown += os.read(screen, 65536)
        except OSError:  # how Linux says that the other end was closed
            break
        if shown.endswith(b"\r\n> ") and waiting:
            os.write(screen, waiting.pop(0).encode() + b"\n")
    os.close(screen)
    return process.wait(60), shown.decode()


def test_a_person_at_the_terminal(tried: Tried) -> None:
    """They walk through, are asked for proof field by field, and their word counts."""
    (tried.folder / "rel" / "plan.md").write_text("# The plan\n", encoding="utf-8")
    lines = ["walk through", "ok", "PRC", "everything", "2"]
    status, shown = at_terminal(tried, "gate", "rel", "--require", "person", lines=lines)
    assert status == 0, shown
    assert "The plan" in shown
    assert "went on to the next phase (now 2: Build)" in shown
    last = tried.status["history"][-1]
    assert (last["who"], last["through"]) == ("person", "terminal")
    assert last["proof"] == {"scope": "everything", "risk": "high"}


def test_what_is_typed_as_proof_is_the_proof(tried: Tried) -> None:
    """A `1` is no number of a list, and a blank loses nothing that was typed before."""
    lines = ["PRC", "1", "", "go", "High"]
    status, shown = at_terminal(tried, "gate", "rel", lines=lines)
    assert status == 0, shown
    assert "Nothing moved: the proof lacks risk. What was given for scope is kept." in shown
    assert tried.status["history"][-1]["proof"] == {"scope": "1", "risk": "high"}


def test_a_number_is_typed_where_one_is_asked_for(tried: Tried) -> None:
    """Without choices a number is no place in a list."""
    tried.stand("2", "3.A", "4")
    status, shown = at_terminal(tried, "gate", "rel", lines=["PRC", "many", "12"])
    assert status == 0, shown
    assert "must be integer and is text" in shown
    assert tried.status["history"][-1]["proof"] == {"hours": 12}


def test_a_phase_begins_when_the_track_moves(tried: Tried) -> None:
    """Where proof comes after the choice, the time until then belongs to the phase before."""
    tried.stand("2", "3.A", "4")
    status, shown = at_terminal(tried, "gate", "rel", lines=["PRC", "many", "12"])
    assert status == 0, shown
    moved = tried.state["phaseHistory"][-1]
    proven = SqliteStore(tried.store).entries(moved["run"], kinds=("answered",))[-1]
    assert moved["at"] >= proven.read().at


def test_an_agent_begins_and_a_person_ends(tried: Tried) -> None:
    """`quandary next` puts a relayed gate before a person; the proof came with the gate."""
    run = begun(tried, "--require", "person", proof=PLANNED)
    status, shown = at_terminal(tried, "next", run, lines=["1"])
    assert (status, tried.current) == (0, "2: Build"), shown
    last = tried.status["history"][-1]
    assert (last["who"], last["through"]) == ("person", "terminal")


# -- walking through -----------------------------------------------------------------------------


def test_reviews_outlast_a_gate(tried: Tried) -> None:
    """What was looked at and has not changed is not asked about at the next gate either."""
    for name in "abcde":
        (tried.folder / "rel" / f"{name}.md").write_text(name, encoding="utf-8")
    (tried.folder / "rel" / ".hidden").write_text("x", encoding="utf-8")
    run = begun(tried)
    ended = tried.run("reply", run, "WLK")
    assert len(ended.state["ask"]["keys"]) == 4
    tried.run("reply", run, json.dumps({"answers": [{"picked": ["OK"]}] * 4}))
    ended = tried.run("reply", run, "RWK")
    assert "- e.md: Rewrite" in ended.state["ask"]["preamble"]
    told = result(tried.run("reply", run, "let me think"))
    assert [review["path"] for review in told["review"]] == ["OK", "OK", "OK", "OK", "RWK"]
    (tried.folder / "rel" / "b.md").write_text("better", encoding="utf-8")
    run = begun(tried)
    ended = tried.run("reply", run, "WLK")
    assert [q["header"] for q in ended.state["ask"]["tool_input"]["questions"]] == ["1/2. b.md"]


def test_reviews_outlast_whatever_else_was_recorded(tried: Tried) -> None:
    """However many runs came since, what was judged is not asked about again."""
    (tried.folder / "rel" / "a.md").write_text("a", encoding="utf-8")
    run = begun(tried)
    for said in ("WLK", "RWK", "let me think"):
        assert tried.run("reply", run, said).status == 0
    store = SqliteStore(tried.store)
    who: dict[str, Any] = {"who": "agent", "through": "relay"}
    no_track = {"folder": "", "phases": []}
    others = {runs.begin(store, "track", no_track, **who).status for _ in range(201)}
    assert others == {"done"}
    ended = tried.run("reply", begun(tried), "WLK")
    assert "Everything was reviewed before" in ended.state["ask"]["preamble"]


def test_a_walk_through_leaves_no_file_out(tried: Tried) -> None:
    """Also where there are very many; the extra names some of them and says how many more."""
    names = [f"{number:03}.md" for number in range(403)]
    for name in names:
        (tried.folder / "rel" / name).write_text("a", encoding="utf-8")
    run = begun(tried)
    assert "- and 3 more\n" in tried.run("reply", run, "A").state["ask"]["preamble"]
    asked = tried.run("reply", run, "WLK").state["ask"]
    batches = 0
    while asked["key"] != "1:~3":
        batches += 1
        several = {"answers": [{"picked": ["OK"]}] * len(asked["keys"])}
        asked = tried.run("reply", run, json.dumps(several)).state["ask"]
    assert (batches, asked["preamble"].count(".md: Keep it")) == (101, 403)


def test_any_file_can_be_walked_through(tried: Tried) -> None:
    """Binary, unreadable, oddly named, linked, or many: each is listed, or left out on purpose."""
    folder = os.fsencode(tried.folder / "rel")
    for name, content in (
        (b"a\x1b[31m.md", b"\x1b[2Jred \xff"),
        (b"b\xff.bin", b"\0\1\2"),
        (b"c.md", b"\n\n## **Head** ==\n"),
        (b"d.md", b""),
    ):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    os.symlink("/etc/hostname", os.path.join(folder, b"link.md"))
    (tried.folder / "rel" / "node_modules").mkdir()
    (tried.folder / "rel" / "node_modules" / "x.js").write_text("x", encoding="utf-8")
    ended = tried.run("reply", begun(tried), "WLK")
    headers = [q["header"] for q in ended.state["ask"]["tool_input"]["questions"]]
    assert headers == ["1/1. a\\x1b[31m.md", "1/2. b\\udcff.bin", "1/3. c.md", "1/4. d.md"]
    assert "\x1b" not in ended.state["ask"]["preamble"]
    assert ": Head" in ended.state["ask"]["preamble"]


def test_what_changes_while_it_is_listed_is_not_approved(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was shown is what a person lets pass, and what they have judged."""
    tried.declare({**PHASES[0], "proof": [], "approval": "person"}, *PHASES[1:])
    tried.stand("1")
    file = tried.folder / "rel" / "plan.md"
    file.write_text("One bed.", encoding="utf-8")
    run = begun(tried)

    def change(number: int, noun: str) -> str:
        file.write_text("Two beds.", encoding="utf-8")
        return count(number, noun)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(phases, "count", change)
        answer(tried, run, "WLK")
    answer(tried, run, "OK")
    state = answer(tried, run, "PRC")
    assert (state.status, tried.current) == ("failed", "1: Plan")
    assert "plan.md changed since it was shown here" in str(state.error)


def test_items_of_the_caller(tried: Tried) -> None:
    """They take the place of files."""
    run = begun(tried, "--item", "1.1|Auth|Auth design|Tokens expire.", "--item", "1.2|Cache")
    ended = tried.run("reply", run, "WLK")
    questions = ended.state["ask"]["tool_input"]["questions"]
    assert [question["header"] for question in questions] == ["1.1. Auth", "1.2. Cache"]


def test_items_of_the_caller_are_filled_or_refused(tried: Tried) -> None:
    """As those of any other tree: no two with one id, and no slot that nothing fills."""
    run = begun(tried, "--item", "1|Auth|{area} design|Tokens of {area}.", "--set", "area=Login")
    asked = tried.run("reply", run, "WLK").state["ask"]
    assert asked["tool_input"]["questions"][0]["question"] == "Is Login design right as it is?"
    assert "Tokens of Login." in asked["preamble"]
    for items, why in (
        (("1|Auth", "1|Cache"), "two items have the id 1"),
        (("1|Auth|{area} design",), "the title of item 1 still says {area}"),
        (("1|Auth|Auth|See [topic].",), "the context of item 1 still says [topic]"),
    ):
        ended = tried.run("gate", "rel", *(word for one in items for word in ("--item", one)))
        assert ended.status == 2, ended
        assert why in ended.err


def test_what_was_said_of_an_item_is_not_said_of_a_file(tried: Tried) -> None:
    """An item with the name of a file, and its digest for an id, does not stand for the file."""
    file = tried.folder / "rel" / "report.md"
    texts = (f"Three tests fail. {n}" for n in itertools.count())
    digests = ((text, hashlib.sha256(text.encode()).hexdigest()[:16]) for text in texts)
    text, digest = next((text, one) for text, one in digests if one.isdigit())  # an id is a number
    file.write_text(text, encoding="utf-8")
    run = begun(tried, "--item", f"{digest}|Report|report.md|All is well.")
    for said in ("WLK", "OK"):
        assert tried.run("reply", run, said).status == 0
    (review,) = result(tried.run("reply", run, "let me think"))["review"]
    assert (review["item"], review["digest"], review["path"]) == ("report.md", digest, "OK")
    (question,) = tried.run("reply", begun(tried), "WLK").state["ask"]["tool_input"]["questions"]
    assert question["header"] == "1/1. report.md"


# -- crashes, crowds, stale menus ----------------------------------------------------------------


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("mender", ["status", "next", "go", "gate"])
def test_killed_while_moving(tried: Tried, after: bool, mender: str) -> None:
    """What was chosen is done once, by whoever comes next."""
    run = begun(tried, proof=PLANNED)
    tried.killed("reply", run, "PRC", after=after)
    store = SqliteStore(tried.store)
    row = store.run(run)
    assert row is not None
    assert (row.status, row.waits) == ("waiting", "house")
    words = {
        "status": ("phase", "status", "rel"),
        "next": ("next", run),
        "go": ("phase", "go", "rel", "2"),
        "gate": ("gate", "rel"),
    }[mender]
    assert tried.run(*words).status == 0
    history = [entry["phase"] for entry in tried.state["phaseHistory"]]
    assert history[:2] == ["1: Plan", "2: Build"]
    assert len(history) == (3 if mender == "go" else 2)
    assert runs.look(store, run).result["nextPhase"] == "2: Build"
    assert tried.state["phaseHistory"][1]["run"] == run
    assert tried.state["phaseHistory"][1]["who"] == "agent"
    assert verify(store).ok


def test_a_reply_sent_again_says_how_to_complete_what_was_chosen(tried: Tried) -> None:
    """Whoever was killed before the track moved is told the command that moves it."""
    run = begun(tried, proof=PLANNED)
    tried.killed("reply", run, "PRC", after=False)
    again = tried.run("reply", run, "PRC")
    told = f"already answered: run {run} is waiting; continue with: quandary next {run}"
    assert (again.status, again.err) == (1, f"quandary: {told}\n")
    assert tried.run("next", run).state["result"]["nextPhase"] == tried.current == "2: Build"


def test_a_stale_menu_moves_nothing(tried: Tried) -> None:
    """Of two gates at the same place the second answer finds the track moved on."""
    one, two = begun(tried, proof=PLANNED), begun(tried, proof=PLANNED)
    assert tried.run("reply", one, "PRC").status == 0
    before = tried.file.read_bytes()
    ended = tried.run("reply", two, "PRC")
    assert (ended.status, ended.state["status"]) == (1, "failed")
    assert "now stands at 2: Build" in ended.state["error"]
    assert tried.file.read_bytes() == before


def test_a_phase_entered_again_makes_old_menus_stale(tried: Tried) -> None:
    """The same phase is not the same moment."""
    run = begun(tried, proof=PLANNED)
    assert tried.go("1").status == 0
    assert tried.run("reply", run, "PRC").state["status"] == "failed"


def test_a_full_disk_keeps_the_answer(tried: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice is booked; the move is made as soon as there is room."""
    run = begun(tried, proof=PLANNED)
    before = tried.file.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("quandary.settings.files._replace", full)
        ended = tried.run("reply", run, "PRC")
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert tried.file.read_bytes() == before
    (entry,) = SqliteStore(tried.store).entries(run, kinds=("answered",))
    assert isinstance(entry.read(), Answered)
    assert tried.status["currentPhase"] == "2: Build"


def test_a_run_is_found_in_a_reason(tried: Tried) -> None:
    """By its whole id among words, or by the beginning of it alone."""
    run = begun(tried)
    store = SqliteStore(tried.store)
    assert phases.run_named_in(store, f"see {run}.") == run
    assert phases.run_named_in(store, run[:24].lower()) == run
    another = run[:-1] + ("Y" if run.endswith("Z") else "Z")
    for reason in ("because", "", "01", another, f"x{run}"):
        assert phases.run_named_in(store, reason) in (None, run if reason == "01" else None)
