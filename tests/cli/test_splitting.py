"""`quandary split`, as an agent uses it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from program import call, start

if TYPE_CHECKING:
    from collections.abc import Callable

    State = dict[str, Any]
    Run = Callable[..., State]

OPTIONS = Path(__file__).parents[2] / "examples" / "options"
PLATFORMS = str(OPTIONS / "chat-platforms.json")
RELEASE = str(OPTIONS / "release.json")
VERSIONS = str(OPTIONS / "version-number.json")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the program in a folder and with a store of its own; what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "journal.db"))

    def called(*words: str) -> State:
        ended = call(capsys, *words)
        assert (ended.status, ended.err) == (0, ""), ended
        state: State = json.loads(ended.out)
        return state

    return called


def box(state: State) -> dict[str, Any]:
    """The only question of a state, as the host shows it."""
    (question,) = state["ask"]["tool_input"]["questions"]
    shown: dict[str, Any] = question
    return shown


def labels(state: State) -> list[str]:
    """What the host shows to choose from."""
    return [option["label"] for option in box(state)["options"]]


def test_five_platforms_from_first_to_last(run: Run) -> None:
    """The agent pipes back what its question tool gave, label by label."""
    state = run("split", PLATFORMS, "--skill", "ship", "--relation", "independent", "--number", "3")
    keys = []
    for label in ("Include (recommended)", "Defer (recommended)", "Cut", "Include", "Defer"):
        keys.append(state["ask"]["key"])
        assert box(state)["question"].startswith(f"{keys[-1]}: ")
        chosen = next(shown for shown in labels(state) if shown.startswith(label[:3]))
        response = {"answers": {box(state)["question"]: chosen}}
        state = run("reply", state["run"], json.dumps(response))
    assert keys == [f"D3.{n}" for n in range(1, 6)]
    assert state["ask"]["key"] == "D3.final"
    assert labels(state) == ["Ship this scope (recommended)", "Revise one option", "Cut more"]
    state = run("reply", state["run"], "ship")
    result = state["result"]
    assert (result["include"], result["defer"], result["cut"], result["held"]) == (
        ["E1", "E4"],
        ["E2", "E5"],
        ["E3"],
        None,
    )
    assert [d["id"] for d in result["decisions"]] == [f"ship-split-e{n}" for n in range(1, 6)]


def test_answers_from_a_file(run: Run, tmp_path: Path) -> None:
    """One reply for each question; --proof prints the result and nothing else."""
    answers = ["include", "defer", {"answers": [{"picked": ["CUT"]}]}, "inc", "Cut", "ship"]
    (tmp_path / "a.json").write_text(json.dumps(answers), encoding="utf-8")
    proof = run("split", PLATFORMS, "--answers", "a.json", "--proof")
    assert (proof["include"], proof["defer"], proof["cut"]) == (["E1", "E4"], ["E2"], ["E3", "E5"])


def test_a_chain_is_left_and_taken_up_in_another_process(tmp_path: Path) -> None:
    """After the third answer the program is gone; the next one goes on with the fourth option."""
    env = {"QUANDARY_STORE": str(tmp_path / "journal.db")}

    def process(*words: str, stdin: str = "") -> State:
        ended = start(*words, env=env, stdin=stdin)
        assert (ended.status, ended.err) == (0, "")
        state: State = json.loads(ended.out)
        return state

    listed = Path(PLATFORMS).read_text(encoding="utf-8")
    state = process("split", "-", "--via", "relay", stdin=listed)
    for number in (1, 2, 3):
        assert state["ask"]["key"] == f"D1.{number}"
        state = process("reply", state["run"], "--to", state["ask"]["key"], "cut")
    state = process("next", state["run"])
    assert state["ask"]["key"] == "D1.4"
    for reply in ("include", "include", "ship"):
        state = process("reply", state["run"], reply)
    assert state["result"]["include"] == ["E4", "E5"]
    assert start("verify", env=env).status == 0


def test_a_hold_is_in_the_state(run: Run) -> None:
    """Option and reason, for as long as it lasts; then the run goes on where the person says."""
    state = run("split", PLATFORMS)
    state = run("reply", state["run"], "first I want to see the numbers")
    assert state["status"] == "waiting"
    assert state["held"] == {"option": "E1", "reason": "first I want to see the numbers"}
    assert state["notes"][0]["kind"] == "held"
    assert run("next", state["run"])["held"] == state["held"]
    state = run("reply", state["run"], "let us wait")
    assert state["held"]["reason"] == "first I want to see the numbers"
    state = run("reply", state["run"], "4")
    assert state["ask"]["key"] == "D1.4"
    assert "held" not in state
    state = run("reply", state["run"], "Hold")
    state = run("reply", state["run"], "continue")
    assert state["ask"]["key"] == "D1.4~2"


def test_what_hangs_together_is_asked_about(run: Run) -> None:
    """Nine options with ties: the chain, the breaches, and a broken set that was accepted."""
    state = run("split", RELEASE, "--skill", "plan")
    assert labels(state) == ["Proceed one by one", "Narrow it down first", "Batches of four"]
    state = run("reply", state["run"], "proceed")
    for code in ("CUT", "INC", "CUT", "INC", "INC", "INC", "INC", "DEF", "DEF"):
        state = run("reply", state["run"], code)
    assert state["ask"]["key"] == "D1.conflict-1"
    assert "import “Importing old invoices” is included and needs schema" in box(state)["question"]
    state = run("reply", state["run"], "keep schema")
    assert "dark “Dark colours” and brand “New brand colours” are both" in box(state)["question"]
    state = run("reply", state["run"], "BRK")
    assert labels(state)[0] == "Ship this scope"
    state = run("reply", state["run"], "SHP")
    result = state["result"]
    assert result["include"] == ["schema", "import", "dark", "brand", "pdf", "mail"]
    assert result["accepted_broken"] == [{"option": "dark", "conflicts": "brand"}]


def test_alternatives(run: Run) -> None:
    """Four of five at first, the fifth when Other is left blank."""
    state = run("split", VERSIONS, "--relation", "alternatives")
    assert labels(state) == ["Major", "Minor (recommended)", "Patch", "Preview"]
    blank = {"answers": {box(state)["question"]: "Other"}}
    state = run("reply", state["run"], json.dumps(blank))
    assert labels(state) == ["No release", "None of these"]
    state = run("reply", state["run"], "minor")
    assert state["result"]["include"] == ["minor"]
    assert state["result"]["cut"] == ["major", "patch", "pre", "none"]


def test_a_host_that_shows_three(run: Run) -> None:
    """Every bucket can be reached, and no question is too large for the box."""
    state = run("split", PLATFORMS, "--host", "codex")
    assert labels(state) == ["Include (recommended)", "Defer", "More…"]
    response = {"answers": {state["ask"]["key"]: {"answers": ["More…"]}}}
    state = run("reply", state["run"], json.dumps(response))
    assert labels(state) == ["Cut", "Hold"]
    state = run("reply", state["run"], "include")
    assert state["ask"]["key"] == "D1.2"


def test_plain_text(run: Run) -> None:
    """The numbered choices are in the text, and a number picks one."""
    state = run("split", PLATFORMS, "--via", "text")
    assert "1. **Include (recommended)**" in state["ask"]["text"]
    assert state["ask"]["text"].endswith("What should happen to it?")
    state = run("reply", state["run"], "3")
    assert state["ask"]["key"] == "D1.2"
    assert state["notes"][0]["text"] == "> Matched: Cut"


def test_five_hundred_options(run: Run, tmp_path: Path) -> None:
    """They come through the meta question, narrowed down by their keys, and none is lost."""
    options = [{"key": f"K{n}", "title": f"Thing {n}"} for n in range(1, 501)]
    (tmp_path / "many.json").write_text(json.dumps(options), encoding="utf-8")
    state = run("split", "many.json")
    assert state["ask"]["key"] == "D1.0"
    assert "- K500 “Thing 500”" in state["ask"]["preamble"]
    state = run("reply", state["run"], "narrow")
    assert labels(state) == ["Thing 1", "Thing 2", "Thing 3", "More…"]
    state = run("reply", state["run"], "K7, K77, K400")
    assert "Shall all 497 be deferred?" in box(state)["question"]
    state = run("reply", state["run"], "defer them")
    assert labels(state) == ["Thing 7", "Thing 77", "Thing 400", "None of these"]
    state = run("reply", state["run"], "K77")
    state = run("reply", state["run"], "cut them")
    state = run("reply", state["run"], "ship")
    result = state["result"]
    assert (result["include"], result["cut"], len(result["defer"])) == (
        ["K77"],
        ["K7", "K400"],
        497,
    )


def test_the_context_is_filled(run: Run, tmp_path: Path) -> None:
    """With what --set says, in the context and in the options."""
    (tmp_path / "o.json").write_text('[{"key": "A", "title": "For {team}"}]', encoding="utf-8")
    state = run("split", "o.json", "--context", "Plan of {team}.", "--set", "team=Ops")
    assert state["ask"]["preamble"].startswith("Plan of Ops.\n")
    assert box(state)["question"].startswith("D1.1: A “For Ops”.")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "o.json: there are no options in it; give at least one"),
        ("nothing", "o.json: not JSON"),
        ('[{"key": "A"}]', "o.json: entry 1 (A): its title is missing"),
        (
            '[{"key": "A", "title": "x", "requires": ["B"]}]',
            "o.json: entry 1 (A): requires names 'B', which is not the key of any entry",
        ),
        ('[{"key": "A", "title": "x", "cost": "TBD"}]', "the cost of A still says TBD"),
        ('[{"key": "A", "title": "For {team}"}]', "the title of A still says {team}"),
    ],
)
def test_a_bad_list_is_one_line(
    content: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The exit status is 2, nothing is printed for programs, and no run is begun."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "journal.db"))
    (tmp_path / "o.json").write_text(content, encoding="utf-8")
    ended = call(capsys, "split", "o.json", "--set", "team= ")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"quandary: {message}")
    assert ended.err.count("\n") == 1
    assert json.loads(call(capsys, "runs", "--format", "json").out)["runs"] == []


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """What is no relation or no number is refused."""
    for words in (("--relation", "loose"), ("--number", "0"), ("--number", "x")):
        assert call(capsys, "split", PLATFORMS, *words).status == 2
    assert call(capsys, "split", os.devnull + ".json").status == 2


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ([], "split: Slack DM bot, Discord guild bot, Microsoft Teams and 2 more"),
        (["--context", "**Which** go in?"], "split: Which go in?"),
    ],
)
def test_the_list_of_runs_says_what_a_split_is_about(
    run: Run, capsys: pytest.CaptureFixture[str], said: list[str], shown: str
) -> None:
    """What it was begun for, or the first of its options; without the marks of Markdown."""
    run("split", PLATFORMS, *said)
    assert call(capsys, "runs").out.endswith(f"  {shown}\n")
