"""Where only a person may answer: trees, lists, charts and commands that say so, at every door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from quandary.errors import PersonRequired
from quandary.formats.markdown import parse
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply
from runs import CONTEXT, TREE, Project

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.journal.store import State

PERSON: dict[str, Any] = {"who": "person", "through": "web"}
OPTIONS = [{"key": "E1", "title": "Slack bot"}]
CHART = 'flowchart TD\n  a([Start]) --> b{"Ship it?"}\n  b -- yes --> c([End])\n  b -- no --> c\n'
HUMAN = '  %% quandary: {"step": "b", "tags": ["HUMAN"]}\n'
HELD = '  %% quandary: {"step": "b", "metadata": {"require": "person"}}\n'


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with a tree, one that only a person may answer, a list, and charts."""
    (tmp_path / "held.md").write_text(
        TREE.replace("STEP\n", "HELD\nRequire: person\n"), encoding="utf-8"
    )
    (tmp_path / "o.json").write_text(json.dumps(OPTIONS), encoding="utf-8")
    (tmp_path / "c.mmd").write_text(CHART + HUMAN, encoding="utf-8")
    (tmp_path / "held.mmd").write_text(CHART + HELD, encoding="utf-8")
    return Project(tmp_path, capsys, monkeypatch)


def begin(project: Project, *words: str) -> dict[str, Any]:
    """A run that waits; a walk tells of itself on standard error."""
    ended = project.call(*words)
    assert ended.status == 0, ended
    state: dict[str, Any] = json.loads(ended.out)
    return state


WAYS = {
    "ask": ("ask", "t.md", "--context", CONTEXT, "--require", "person"),
    "tree": ("ask", "held.md", "--context", CONTEXT),
    "split": ("split", "o.json", "--require", "person"),
    "walk": ("walk", "c.mmd", "--via", "relay", "--require", "person"),
    "step": ("walk", "held.mmd", "--via", "relay", "--cli", "CLAUDE"),
    "walked tree": ("walk", "held.md", "--via", "relay", "--cli", "CLAUDE"),
}


@pytest.mark.parametrize("words", WAYS.values(), ids=WAYS)
def test_only_a_persons_own_answer_counts_where_one_is_required(
    project: Project, words: tuple[str, ...]
) -> None:
    """An agent is told before it tries, and refused when it does; so are scripts and hosts."""
    begun = begin(project, *words)
    run, code = begun["run"], "INC" if words[0] == "split" else None
    assert "person" in [note["kind"] for note in begun["notes"]]
    ended = project.call("reply", run, "1")
    assert (ended.status, ended.out) == (1, "")
    assert "only a person can answer this" in ended.err
    store = SqliteStore(project.store)
    state = runs.look(store, run)
    assert state.ask is not None
    code = code or state.ask.questions[0].choices[0].code
    for who, through in (("agent", "mcp"), ("api", "web"), ("host", "hook"), ("policy", "x")):
        with pytest.raises(PersonRequired):
            _answer(store, state, code, who=who, through=through)
    advised = Answer(state.ask.questions[0].key, (code,), advice="take this")
    with pytest.raises(PersonRequired):
        runs.advance(store, run, Reply((advised,)), who="agent", through="command")
    assert store.entries(run, kinds=("answered",)) == []
    state = _answer(store, state, code, **PERSON)
    assert '"by":"person","through":"web"' in json.dumps(state.result, separators=(",", ":"))
    again = begin(project, *words, "--from", run)
    assert again["status"] == "waiting", "what only a person may say, they have to say each time"
    store.close()


def _answer(store: SqliteStore, state: State, code: str, **said: Any) -> State:  # noqa: ANN401
    assert state.ask is not None
    return runs.advance(store, state.run, Reply((Answer(state.ask.key, (code,)),)), **said)


def test_without_that_the_result_says_through_whose_hands_it_came(project: Project) -> None:
    """Nobody takes an answer that an agent passed on for a person's own."""
    decided = project.state("reply", project.state(*WAYS["ask"][:4])["run"], "OK")["result"]
    (chosen,) = decided["chosenItems"]
    assert (chosen["by"], chosen["through"]) == ("agent", "relay")
    split = project.state("reply", project.state("split", "o.json")["run"], "include")["result"]
    assert (split["decisions"][0]["by"], split["decisions"][0]["through"]) == ("agent", "relay")
    assert (split["by"], split["through"]) == ("agent", "relay")
    walked = project.state("reply", begin(project, *WAYS["walk"][:4])["run"], "yes")["result"]
    (step,) = walked["steps"]
    assert (step["cli"], step["by"], step["through"]) == ("HUMAN", "agent", "relay")


def test_an_agent_cannot_be_named_for_a_step_that_is_a_persons(project: Project) -> None:
    """Nothing is begun, and it says what to do instead."""
    held = HELD.replace("person", 'person", "cli": "CLAUDE')
    (project.folder / "both.mmd").write_text(CHART + held, encoding="utf-8")
    ended = project.call("walk", "both.mmd", "--via", "relay")
    assert ended.status == 1
    assert "require is person, and CLAUDE is none; leave that out, or have HUMAN check" in ended.err


def test_an_aside_does_not_get_round_it(project: Project) -> None:
    """A tree that is asked inside another keeps what either of them says."""
    aside = TREE.replace("STEP\n", "DEPTH\nRequire: person\nKeywords: how deep\n")
    (project.folder / "t.md").write_text(f"{TREE}\n{aside}", encoding="utf-8")
    run = project.state("ask", "t.md#STEP", "--context", CONTEXT)["run"]
    state = project.reply(run, "how deep")
    assert state["ask"]["key"] != "1:"
    assert project.call("reply", run, "OK").status == 1


def test_a_word_that_is_not_understood_still_requires_a_person() -> None:
    """Somebody wanted it held to; `check` says how to write it."""
    document = parse(TREE.replace("Trigger:", "Require: human\nTrigger:"))
    assert document.trees[0].require == "person"
    assert "require-unknown" in {diagnostic.rule for diagnostic in document.diagnostics}
    plain, held = parse(TREE).trees[0], parse(TREE.replace("Extras", "Require: person\nExtras"))
    assert plain.require == ""
    assert held.trees[0].require == "person"
    assert held.trees[0].digest != plain.digest
