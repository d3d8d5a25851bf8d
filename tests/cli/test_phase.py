"""`quandary phase`: nobody leaves without proof, and nothing breaks the file."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from phases import EVERYTHING, PLANNED, Tried
from program import at_terminal
from quandary.cli import SILENCE
from quandary.desk import phases
from quandary.errors import Rejected, StoreError
from quandary.formats import tracks
from quandary.journal import runs as driver
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.settings import files

if TYPE_CHECKING:
    from quandary.journal.store import Store


@pytest.fixture
def tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tried:
    """A track that has not begun."""
    return Tried(tmp_path, capsys, monkeypatch)


# -- moving --------------------------------------------------------------------------------------


def test_from_the_first_phase_to_the_last(tried: Tried) -> None:
    """Every move is printed, kept in the file, and journalled as a run of its own."""
    ended = tried.go("1: Plan")
    assert (ended.status, ended.err) == (0, "")
    told = ended.state
    assert told.pop("run") == tried.state["phaseHistory"][0]["run"]
    assert told == {
        "currentPhase": "1: Plan",
        "nextPhase": "2: Build",
        "previousPhase": None,
        "finished": False,
        "proof": [{"name": "scope"}, {"name": "risk", "enum": ["low", "high"]}],
    }
    assert tried.go("2: Build", {**PLANNED, "more": [1]}).status == 0
    assert tried.go("3.B", {"report": "rel"}).status == 0
    assert tried.go("4: whatever it is called").status == 0
    history = tried.state["phaseHistory"]
    assert [entry["phase"] for entry in history] == [
        *("1: Plan", "2: Build", "3.B: At once", "4: Watch")
    ]
    assert history[1]["proof"] == {**PLANNED, "more": [1]}
    store = SqliteStore(tried.store)
    declared, *runs = store.runs()
    assert (declared.flow, declared.status) == ("track", "done")
    assert [run.id for run in runs] == [entry["run"] for entry in history]
    assert {(run.flow, run.status) for run in runs} == {("phase", "done")}
    assert verify(store).ok


def test_all_that_is_wrong_with_a_proof_is_said_at_once(tried: Tried) -> None:
    """Missing, unfilled and wrong fields in one line; nothing changes."""
    tried.declare({"label": "1", "proof": ["a", "b", "c", {"d": {"type": "number"}}]}, "2")
    tried.stand("1")
    before = tried.file.read_bytes()
    ended = tried.go("2", {"a": "  ", "b": "____", "d": "many"}, approved="never waives proof")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.count("\n") == 1
    assert "missing: a, c; unfilled: b; d must be number and is text" in ended.err
    assert tried.file.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "stdin", "status", "said"),
    [
        (("2: Build",), None, 1, "missing: scope, risk"),
        (("2: Build",), "[1]", 1, "the proof is a list"),
        (("2: Build",), '"x"', 1, "the proof is text"),
        (("2: Build",), "{", 1, "not JSON"),
        (("2: Build",), "hello", 1, "says no `key: value`"),
        (("2: Build",), b"\xff\xfe", 1, "not UTF-8"),
        (("3.A: Slowly",), "{}", 1, "skips 2: Build; allowed now: 1: Plan, 2: Build"),
        (("4",), "{}", 1, "skips 2: Build"),
        (("0: Before",), "{}", 1, "goes back"),
        (("9: Elsewhere",), "{}", 1, "is not declared"),
        (("1.A: Branch",), "{}", 1, "adds the branch 1.A"),
        (("4", "--user-approved", " "), "{}", 1, "skips"),
        (("4", "--user-approved", "yes"), "{}", 1, "missing: scope, risk"),
        (("Build",), "{}", 2, "has no label"),
        (("2:Build",), "{}", 2, "has no label"),
        (("",), "{}", 2, "has no label"),
    ],
)
def test_a_rejected_move_changes_nothing(
    tried: Tried, words: tuple[str, ...], stdin: str | None, status: int, said: str
) -> None:
    """One line, the right exit status, the file byte for byte as it was, no run."""
    tried.stand("1")
    before = tried.file.read_bytes()
    ended = tried.run("phase", "go", "rel", *words, stdin=stdin)
    assert (ended.status, ended.out) == (status, "")
    assert said in ended.err
    assert ended.err.startswith("quandary: ")
    assert ended.err.count("\n") == 1
    assert tried.file.read_bytes() == before
    assert [run.flow for run in SqliteStore(tried.store).runs()] == ["track", "phase"]


def test_going_back_needs_a_reason_and_no_proof(tried: Tried) -> None:
    """The reason is kept in the history."""
    tried.stand("1", "2", "3.A")
    assert tried.go("2").status == 1
    assert tried.go("2", approved="the user wants to see it again").status == 0
    entry = tried.state["phaseHistory"][-1]
    assert entry["reason"] == "the user wants to see it again"
    assert "proof" not in entry
    assert (entry["from"], entry["phase"]) == ("3.A: Slowly", "2: Build")


def test_the_same_phase_again_is_kept_too(tried: Tried) -> None:
    """Restarting needs no proof, and the history shows it."""
    tried.stand("1")
    assert tried.go("1: Plan").status == 0
    assert [entry["phase"] for entry in tried.state["phaseHistory"]] == ["1: Plan", "1: Plan"]


def test_a_new_sub_phase_joins_the_list(tried: Tried) -> None:
    """With its name, and with proof of the phase that is left."""
    tried.stand("1")
    assert tried.go("1.1: Ask the others", PLANNED).status == 0
    assert tried.state["phases"][-1] == {"label": "1.1", "name": "Ask the others"}
    assert tried.current == "1.1: Ask the others"


def test_lines_are_understood_with_a_note(tried: Tried) -> None:
    """The old form of a proof works, and whoever uses it is told."""
    tried.stand("1")
    ended = tried.run("phase", "go", "rel", "2", stdin="scope: all\nrisk: high\n")
    assert ended.status == 0
    assert "deprecated" in ended.err
    assert tried.state["phaseHistory"][-1]["proof"] == {"scope": "all", "risk": "high"}


def test_ten_megabytes_of_proof(tried: Tried) -> None:
    """A lot of proof is kept; without end, it is refused."""
    tried.stand("1")
    assert tried.go("2", {**PLANNED, "log": "x" * 10_000_000}).status == 0
    assert len(tried.state["phaseHistory"][-1]["proof"]["log"]) == 10_000_000
    before = tried.file.read_bytes()
    ended = tried.go("3.A", {"report": ".", "log": "x" * 17_000_000})
    assert ended.status == 1
    assert "more than 16 MiB" in ended.err
    assert tried.file.read_bytes() == before


def test_a_path_of_a_proof_lies_below_the_folder_of_the_track(tried: Tried) -> None:
    """It starts there or where the command runs, and no way out of the folder is taken."""
    tried.stand("1", "2")
    (tried.folder / "rel" / "report.md").write_text("fine", encoding="utf-8")
    (tried.folder / "rel" / "link.md").symlink_to("/etc/passwd")
    (tried.folder / "rel" / "out").symlink_to(tried.folder)
    outside = ("/", "/etc/passwd", "../../etc/passwd", "..", "rel/..", "link.md", "out/phases.json")
    for path in ("gone.md", "a\x00b", "phases.json", *outside):
        ended = tried.go("3.A", {"report": path})
        assert (ended.status, "must name a path" in ended.err) == (1, True), path
    for path in ("report.md", "rel/report.md", str(tried.folder / "rel" / "report.md")):
        assert tried.go("3.A", {"report": path}).status == 0
        assert tried.go("2", approved="again").status == 0


def test_no_link_of_a_repository_leads_a_track_out_of_it(
    tried: Tried, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Neither its file nor its folder."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (tried.folder / "quandary.toml").touch()
    (tried.folder / "out").symlink_to(elsewhere)
    (tried.folder / "in").mkdir()
    (tried.folder / "in" / ".state.json").symlink_to(elsewhere / "kept.json")
    for name in ("out", "in"):
        ended = tried.run("phase", "start", name, "--phases", "phases.json")
        assert (ended.status, "leads out of" in ended.err) == (2, True)
    assert list(elsewhere.iterdir()) == []


def test_a_person_at_a_terminal(tried: Tried) -> None:
    """What is done there by hand is kept as a person's, and told in a line."""
    ended = at_terminal("phase", "go", "rel", "1", env={"TERM": "dumb"})
    assert ended.status == 0
    assert ended.out == "Now at 1: Plan. It has to prove: scope, risk (one of low, high).\n"
    entry = tried.status["history"][0]
    assert (entry["who"], entry["through"]) == ("person", "terminal")


# -- standard input ------------------------------------------------------------------------------


def test_an_open_silent_pipe_does_not_hang(tried: Tried) -> None:
    """After a second nobody is taken to be there."""
    tried.stand("1")
    begin = time.monotonic()
    with tried.process("phase", "go", "rel", "2", stdin=subprocess.PIPE) as process:
        assert process.wait(30) == 1
        assert process.stderr is not None
        assert b"missing: scope, risk" in process.stderr.read()
    assert time.monotonic() - begin > SILENCE


def test_what_comes_late_and_in_pieces_is_read(tried: Tried) -> None:
    """A pipe may pause, and stay open when it has said all."""
    tried.stand("1")
    with tried.process("phase", "go", "rel", "2", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for part in (b'{"scope": "al', b'l", "risk":', b' "low"}'):
            process.stdin.write(part)
            process.stdin.flush()
            time.sleep(0.2)
        assert process.wait(30) == 0
    assert tried.current == "2: Build"


def test_no_standard_input_at_all(tried: Tried) -> None:
    """A closed one is no proof."""
    tried.stand("1")
    words = [sys.executable, "-m", "quandary", "phase", "go", "rel", "1"]
    script = 'exec "$@" <&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *words], cwd=tried.folder, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_pipe_without_end_is_refused(tried: Tried) -> None:
    """Somebody who never stops talking is stopped."""
    tried.stand("1")
    script = 'yes "$0" | "$@"'
    words = ["filler", sys.executable, "-m", "quandary", "phase", "go", "rel", "2"]
    done = subprocess.run(
        ["sh", "-c", script, *words], cwd=tried.folder, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"more than 16 MiB" in done.stderr


# -- start ---------------------------------------------------------------------------------------


def test_start_keeps_what_is_there(tried: Tried) -> None:
    """A folder with a track is left alone; other members of the file stay."""
    before = tried.file.read_bytes()
    ended = tried.run("phase", "start", "rel", "--phases", "phases.json")
    assert (ended.status, ended.out) == (1, "")
    assert "there is a track already" in ended.err
    assert tried.file.read_bytes() == before
    other = tried.folder / "deep" / "er"
    other.mkdir(parents=True)
    (other / ".state.json").write_text('{"session": {"id": 1.0}}', encoding="utf-8")
    ended = tried.run("phase", "start", "deep/er", "--phases", "-", stdin='["1: Only"]')
    assert ended.status == 0
    assert ended.state["nextPhase"] == "1: Only"
    assert '"session": {"id": 1.0}' in (other / ".state.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("phases", "said"),
    [
        ("", "not JSON"),
        ("[]", "no phases in it"),
        ('[{"label": "x"}]', "phase 1: label is text"),
        ('[{"label": "1", "proof": [{"name": "a", "maximum": 1}]}]', "asks for maximum"),
    ],
)
def test_start_refuses_what_is_no_list_of_phases(tried: Tried, phases: str, said: str) -> None:
    """A line with the file's name, and no track."""
    ended = tried.run("phase", "start", "new", "--phases", "-", stdin=phases)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err
    assert not (tried.folder / "new" / ".state.json").exists()


@pytest.mark.parametrize("before", [None, '{"session": 1}'])
def test_start_without_a_journal_begins_nothing(
    tried: Tried, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    """A track that could not be recorded is not in the folder either."""
    tried.file.unlink()
    if before is not None:
        tried.file.write_text(before, encoding="utf-8")

    def full(*_: object, **__: object) -> None:
        raise StoreError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "create", full)
        assert tried.run("phase", "start", "rel", "--phases", "phases.json").status == 2
    assert (tried.file.read_text(encoding="utf-8") if tried.file.exists() else None) == before
    assert tried.run("phase", "start", "rel", "--phases", "phases.json").status == 0


def test_start_in_impossible_places(tried: Tried) -> None:
    """A missing file of phases, and a folder that is a file."""
    assert tried.run("phase", "start", "new", "--phases", "gone.json").status == 2
    ended = tried.run("phase", "start", "phases.json", "--phases", "phases.json")
    assert ended.status == 2
    assert ended.err.count("\n") == 1


# -- status --------------------------------------------------------------------------------------


def test_status_draws_the_track(tried: Tried) -> None:
    """Done, current, next, what is to be proven, and who let it pass."""
    tried.stand("1", "2")
    drawn = tried.run("phase", "status", "rel").out.splitlines()
    assert [line.split()[:2] for line in drawn[:5]] == [
        *(["✓", "1"], ["▶", "2"], ["→", "3.A"], ["·", "3.B"], ["·", "4"])
    ]
    assert drawn[1].endswith("current; to prove: report (a path that exists)")
    assert drawn[6] == "How it came here:"
    assert drawn[8].endswith("1: Plan → 2: Build  — agent (command): the test says so")


def test_status_as_json(tried: Tried) -> None:
    """The same for programs."""
    assert tried.status["currentPhase"] is None
    assert tried.status["nextPhase"] == "1: Plan"
    tried.stand("1", "2", "3.B")
    told = tried.status
    assert (told["currentPhase"], told["nextPhase"]) == ("3.B: At once", "4: Watch")
    assert told["previousPhase"] == "2: Build"
    assert [phase["mark"] for phase in told["phases"]] == [
        *("done", "done", "not taken", "current", "next")
    ]
    assert [(e["phase"], e["who"], e["journalled"]) for e in told["history"]] == [
        ("1: Plan", "agent", True),
        ("2: Build", "agent", True),
        ("3.B: At once", "agent", True),
    ]


def test_the_journal_has_the_last_word_on_who(tried: Tried) -> None:
    """A file that claims a person's word is shown as what the journal knows."""
    tried.stand("1", "2")
    claimed = tried.state
    claimed["phaseHistory"][1] |= {"who": "person", "through": "terminal"}
    claimed["phaseHistory"].append({"phase": "3.A: Slowly", "who": "person"})
    claimed["currentPhase"] = "4: Watch"
    tried.file.write_text(json.dumps(claimed), encoding="utf-8")
    history = tried.status["history"]
    assert [(e["who"], e["journalled"]) for e in history[1:]] == [
        ("agent", True),
        ("person", False),
    ]
    drawn = tried.run("phase", "status", "rel").out
    assert "(not in this journal)" in drawn
    assert "the file was edited" in drawn


def test_status_without_a_journal(tried: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the store cannot be read, the track tells its own story, and that is said."""
    tried.stand("1")
    monkeypatch.setenv("QUANDARY_STORE", str(tried.folder / "phases.json"))
    ended = tried.run("phase", "status", "rel", "--format", "json")
    assert ended.status == 0
    assert "the history is shown as the track tells it" in ended.err
    assert ended.state["history"][0]["journalled"] is False
    assert tried.go("2", PLANNED).status == 2
    assert tried.current == "1: Plan"


# -- files that are not as they should be --------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{]", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"phases": 3}', "phases is a list"),
        ('{"phases": ["1"], "currentPhase": 7}', "currentPhase is text"),
    ],
)
@pytest.mark.parametrize("words", [("go", "rel", "1"), ("status", "rel")])
def test_a_file_that_is_no_track(
    tried: Tried, words: tuple[str, ...], text: str, said: str
) -> None:
    """One line, exit status 2, and the file stays as it is."""
    tried.file.write_text(text, encoding="utf-8")
    ended = tried.run("phase", *words)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert tried.file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("words", [("go", "nowhere", "1"), ("status", "phases.json")])
def test_a_folder_that_is_none(tried: Tried, words: tuple[str, ...]) -> None:
    """One line that says how to begin."""
    ended = tried.run("phase", *words)
    assert ended.status == 2
    assert ended.err.count("\n") == 1
    assert tried.run("phase", "go", "a\udcff", "1").status == 2
    assert tried.run("phase", "go", "a\0", "1").status == 2


@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_state(
    tried: Tried, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Whatever step fails, the file is as it was, nothing lies about, and the journal knows."""
    tried.stand("1")
    before = tried.file.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if where == "write":
        monkeypatch.setattr(files, "_replace", full)
    else:
        monkeypatch.setattr(os, where, full)
    ended = tried.go("2", PLANNED)
    monkeypatch.undo()
    assert (ended.status, ended.out) == (2, "")
    assert "cannot be written (no space left on device)" in ended.err
    assert tried.file.read_bytes() == before
    assert os.listdir(tried.file.parent) == [".state.json"]
    last = SqliteStore(tried.store).runs(newest=True)[0]
    assert last.status == "failed"


def test_a_journal_that_fails_after_the_move(tried: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has moved, which is said; the next command completes the record."""
    tried.stand("1")

    def full(*_: object, **__: object) -> None:
        raise StoreError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "append", full)
        ended = tried.go("2", PLANNED)
    assert ended.status == 2
    assert "the track is at 2: Build now" in ended.err
    assert tried.status["history"][-1]["journalled"]
    assert SqliteStore(tried.store).runs(waits="house") == []


def test_no_room_for_the_journal_either(tried: Tried) -> None:
    """Where the intent cannot be kept, nothing is done."""
    tried.stand("1")
    before = tried.file.read_bytes()
    limit = tried.file.stat().st_size + 100

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with tried.process("phase", "go", "rel", "1", preexec_fn=little_room) as process:
        _, err = process.communicate(timeout=30)
    assert process.returncode in (1, 2)
    assert err.count(b"\n") == 1
    assert tried.file.read_bytes() == before
    assert tried.go("1").status == 0
    assert verify(SqliteStore(tried.store)).ok


_AS_NOBODY = """\
import os, random, select, sys
import quandary.cli.phases, quandary.cli.program, quandary.flows, quandary.journal.sqlite
from quandary.cli import run

if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no such rights here")
def test_a_read_only_file_is_respected(tried: Tried) -> None:
    """Permission denied, in a line; the file is as it was."""
    tried.stand("1")
    before = tried.file.read_bytes()
    tried.file.chmod(0o444)
    tried.file.parent.chmod(0o777)
    mine = [tried.folder, *tried.folder.parents]
    opened = [p for p in mine if p.stat().st_uid == os.geteuid() and not p.stat().st_mode & 0o001]
    for path in opened:
        path.chmod(path.stat().st_mode | 0o011)
    tried.folder.chmod(0o777)
    for path in tried.folder.glob("journal.db*"):
        path.chmod(0o666)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, "phase", "go", "rel", "1"],
            cwd=tried.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    finally:
        for path in opened[1:]:
            path.chmod(path.stat().st_mode & ~0o011)
    assert done.returncode == 2, done.stderr
    assert b"cannot be written (permission denied)" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert tried.file.read_bytes() == before


# -- crashes and crowds --------------------------------------------------------------------------


@pytest.mark.parametrize("after", [False, True])
def test_killed_while_moving(tried: Tried, after: bool) -> None:
    """The old state or the new one; the next command completes the record."""
    tried.stand("1")
    before = tried.file.read_bytes()
    tried.killed("phase", "go", "rel", "2", after=after, stdin=json.dumps(PLANNED))
    store = SqliteStore(tried.store)
    assert [run.id for run in store.runs(waits="house")] == [store.runs(newest=True)[0].id]
    assert (tried.file.read_bytes() == before) is not after
    told = tried.status
    assert told["currentPhase"] == ("2: Build" if after else "1: Plan")
    last = store.runs(newest=True)[0]
    assert (last.status, last.waits) == ("done" if after else "withdrawn", None)
    assert all(entry["journalled"] for entry in told["history"])
    assert verify(store).ok
    assert tried.go("2", PLANNED).status == 0


def test_the_next_move_mends_too(tried: Tried) -> None:
    """Whoever moves on after a crash leaves no loose end."""
    tried.stand("1")
    tried.killed("phase", "go", "rel", "2", after=True, stdin=json.dumps(PLANNED))
    tried.killed("phase", "go", "rel", "3.A", after=False, stdin='{"report": "."}')
    assert tried.go("3.B", {"report": "."}).status == 0
    store = SqliteStore(tried.store)
    assert [run.status for run in store.runs()] == ["done", "done", "done", "withdrawn", "done"]


def test_killed_at_any_moment(tried: Tried) -> None:
    """Wherever the knife falls, the file is whole and its history leads to where it stands."""
    tried.declare(*(str(number) for number in range(1, 40)))
    tried.stand("1")
    for number in range(2, 14):
        process = tried.process("phase", "go", "rel", str(number))
        time.sleep(0.02 * number)
        process.kill()
        process.communicate()
        state = tried.state
        assert state["currentPhase"] == state["phaseHistory"][-1]["phase"]
        if state["currentPhase"] != str(number):
            tried.stand(str(number))
    told = tried.status
    assert all(entry["journalled"] for entry in told["history"])
    store = SqliteStore(tried.store)
    assert store.runs(waits="house") == []
    made = {entry["run"] for entry in told["history"]}
    moves = [run for run in store.runs() if run.flow == "phase"]
    assert {run.id for run in moves if run.status == "done"} == made
    assert verify(store).ok


def test_many_at_once(tried: Tried) -> None:
    """Of moves made at the same time each is made as if it were alone, or refused."""
    tried.declare("1", "2")
    tried.stand("1")
    labels = [f"1.{number}" for number in range(1, 7)]
    processes = {label: tried.process("phase", "go", "rel", label) for label in labels}
    statuses = {}
    for label, process in processes.items():
        _, err = process.communicate(timeout=60)
        assert b"Traceback" not in err
        statuses[label] = process.returncode
    history = [entry["phase"] for entry in tried.state["phaseHistory"]][1:]
    assert sorted(history) == history
    assert history == [label for label in labels if statuses[label] == 0]
    assert history[-1] == tried.current == "1.6"
    assert set(statuses.values()) <= {0, 1}
    assert verify(SqliteStore(tried.store)).ok


def test_file_and_journal_are_compared_while_nobody_moves_the_track(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A move of another process, half way between the two, is no difference to be told."""
    tried.stand("1")
    monkeypatch.setattr(tracks, "PATIENCE", 0)
    read, refused = phases.read_ledger, []

    def read_meanwhile(store: Store, folder: str) -> phases.Ledger | None:
        with pytest.raises(Rejected) as busy, tracks.lock(folder):
            pass
        refused.append(busy.value)
        return read(store, folder)

    monkeypatch.setattr(phases, "read_ledger", read_meanwhile)
    store = SqliteStore(tried.store)
    assert phases.find_differences(store, str(tried.file.parent)) == []
    assert len(refused) == 1


# -- how light it is -----------------------------------------------------------------------------


def test_a_move_loads_nothing_that_it_does_not_need(tried: Tried) -> None:
    """No reader, no terminal, no platform folders, no event loop."""
    tried.stand("1")
    script = (
        "import sys\nfrom quandary.cli import run\nstatus = run(sys.argv[1:])\n"
        "heavy = {'rapidfuzz', 'platformdirs', 'rich', 'asyncio', 'textual', 'json', 'tomllib',"
        " 'subprocess', 'pathlib', 'quandary.desk.returns', 'quandary.reading',"
        " 'quandary.flows.gate', 'quandary.flows.decide'}\n"
        "print(status, sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "phase", "go", "rel", "2"],
        cwd=tried.folder,
        input=json.dumps(EVERYTHING).encode(),
        capture_output=True,
        check=False,
    )
    heavy: Any = done.stderr.decode().strip()
    assert heavy in ("0 []", "0 ['json']")


def test_state_of_a_phase_run(tried: Tried) -> None:
    """The run of a move can be looked at like any other."""
    tried.stand("1")
    store = SqliteStore(tried.store)
    state = driver.look(store, store.runs()[1].id)
    assert state.result == {"from": "", "phase": "1: Plan"}
    ended = tried.run("log")
    assert "rel: 1: Plan" in ended.out


# -- the example ---------------------------------------------------------------------------------


def test_the_example_plays(tmp_path: Path) -> None:
    """The release behaves as its script tells, as far as an agent can take it."""
    script = Path(__file__).parents[2] / "examples" / "release" / "play.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "only a person can answer this" in done.stdout
    kept = json.loads((tmp_path / "release" / ".state.json").read_text(encoding="utf-8"))
    assert kept["currentPhase"] == "4: Watch"
