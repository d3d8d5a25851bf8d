"""How a reply would be read, asked on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from runs import TREE, Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with one tree."""
    return Project(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize(
    ("kind", "text", "codes"),
    [
        ("transition", "2", []),
        ("transition", "not yet", ["NO"]),
        ("transition", "the first one", []),
        ("advisory", "2", ["NO"]),
        ("advisory", "the first one", ["OK"]),
    ],
)
def test_a_text_is_read_as_in_a_run_of_the_tree(
    project: Project, kind: str, text: str, codes: list[str]
) -> None:
    """A form is read strictly and an advisory question as text, unless the mode is given."""
    tree = TREE.replace("Trigger:", f"Kind: {kind}\nTrigger:")
    (project.folder / "t.md").write_text(tree, encoding="utf-8")
    assert project.state("read", "t.md", text)["codes"] == codes
    run = project.state("ask", "t.md", "--context", "One step.")["run"]
    state = project.reply(run, text)
    path = codes[0] if codes else f"OTH/custom:{text}"
    assert state["result"]["chosenItems"][0]["path"] == path
    other = {"transition": "plain", "advisory": "strict"}[kind]
    assert (project.state("read", "t.md", "2", "--mode", other)["codes"] == []) == (
        other == "strict"
    )


def test_another_tree_is_known_as_in_a_run(project: Project) -> None:
    """A keyword of a tree of the same file leads there."""
    more = "\n### ¶ASK_PLACE\nKeywords: where\n\n## Decision: Place\n- [HERE] Here\n- [TO] There\n"
    (project.folder / "t.md").write_text(TREE + more, encoding="utf-8")
    said = {"kind": "prefix", "codes": [], "matched": "PLACE"}
    assert project.state("read", "t.md#STEP", "where") == said


@pytest.mark.parametrize("text", ["4", "other", "the last one"])
def test_other_is_told_from_own_words(project: Project, text: str) -> None:
    """It has no code, and the menu behind it would open."""
    said = {"kind": "own-words", "codes": [], "matched": "Other"}
    assert project.state("read", "t.md", "--mode", "plain", text) == said
    assert project.state("read", "t.md", "let me think")["matched"] == ""


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("[1]", "Expected `object`"),
        ('{"reply": "1"}', "missing required field `options`"),
        ('{"options": []}', "missing required field `reply`"),
        ('{"options": ["A"], "reply": "1"}', "Expected `object`"),
        ('{"options": [], "reply": null}', "Expected `str`"),
        ('{"options": [], "reply": "1", "mode": "loose"}', "Invalid enum value"),
        ("{", "truncated"),
    ],
)
def test_what_is_no_case_is_named_with_its_line(project: Project, case: str, reason: str) -> None:
    """One line that says what is wrong with which one."""
    good = {"id": 1, "options": [{"code": "A", "label": "Go", "more": 1}], "reply": "go", "x": 2}
    (project.folder / "c.jsonl").write_text(f"{json.dumps(good)}\n\n{case}\n", encoding="utf-8")
    ended = project.call("read", "--cases", "c.jsonl")
    assert ended.status == 2
    assert json.loads(ended.out) == {"id": 1, "kind": "pick", "codes": ["A"], "matched": "Go"}
    assert ended.err.startswith("quandary: c.jsonl:3: not a case (")
    assert reason in ended.err
