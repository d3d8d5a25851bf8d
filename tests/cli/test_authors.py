"""`quandary new` and `quandary trees`: for those who write trees."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import quandary
from program import DEPLOY, at_terminal, call, start
from quandary.formats.markdown import parse

TWO = ("--option", "[NOW] Now | Users get it at once", "--option", "Later | Nobody notices")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a journal and no trees; its root is the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "journal.db"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    Path("quandary.toml").touch()
    return tmp_path


def is_clean(path: str) -> bool:
    """Whether there is a tree in a file, and `check` has nothing to say about it."""
    document = parse(Path(path).read_text(encoding="utf-8"))
    return len(document.trees) == 1 and document.diagnostics == ()


# new


def test_options_make_a_clean_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """Name, codes and trigger are made where they are not given; the tree asks as it stands."""
    asked = ("--question", "When does it go out?")
    assert call(capsys, "new", "deploy-now.md", *asked, *TWO).status == 0
    assert is_clean("deploy-now.md")
    tree = quandary.load("deploy-now.md")
    assert tree.name == "DEPLOY_NOW"
    assert [option.code for option in tree.decisions[0].options] == ["NOW", "LAT"]
    ask = next(quandary.decide(tree, context="The build has passed."))
    assert isinstance(ask, quandary.Ask)
    assert ask.questions[0].text.endswith("has to be decided. When does it go out?")


def test_a_question_that_tells_the_situation_stays_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Only one that says nothing about it is asked behind its trigger."""
    words = ("--question", "Does {title} go out?", "--trigger", "A build has passed.", *TWO)
    assert call(capsys, "new", "a.md", *words).status == 0
    assert quandary.load("a.md").question == "Does {title} go out?"
    words = ("--question", "Out?", "--trigger", "A build has passed.", *TWO)
    assert call(capsys, "new", "b.md", *words).status == 0
    assert quandary.load("b.md").question == "A build has passed. Out?"


@pytest.mark.parametrize("number", [2, 3, 4, 5, 6])
def test_options_come_from_standard_input(number: int) -> None:
    """One on each line; none is lost: what four cannot hold opens under Other."""
    lines = "".join(f"Way {n} | It leads to {n}\n" for n in range(number))
    assert start("new", "ways.md", "--question", "Which way?", stdin=lines).status == 0
    assert is_clean("ways.md")
    labels = [option.label for _, option in quandary.load("ways.md").decisions[0].walk()]
    assert [label for label in labels if label != "Other"] == [f"Way {n}" for n in range(number)]
    assert ("Other" in labels) == (number > 4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--question", "Go?"), "there is no option; give two with --option"),
        (TWO, "there is no question; give --question"),
        (("--question", "Go?", *TWO[:2]), "has 1 option"),
        (("--question", "Go?", *TWO, "--option", "Bare"), "has no description"),
        (("--question", "Go?", *TWO, "--option", "[NOW] Again | Twice"), "is taken"),
        (("--question", "Go?", *(TWO * 4)), "8 options are more than a tree asks well"),
    ],
)
def test_what_would_not_be_clean_is_not_written(words: tuple[str, ...], said: str) -> None:
    """One line says what is missing, and there is no file."""
    status, out, err = start("new", "a.md", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert not os.path.exists("a.md")


def test_a_file_is_never_overwritten_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is there stays, a dangling link too, but for --force."""
    Path("a.md").write_text("mine", encoding="utf-8")
    Path("b.md").symlink_to("nowhere")
    words = ("--question", "Go?", *TWO)
    assert call(capsys, "new", "a.md", *words).status == 2
    assert call(capsys, "new", "b.md", *words).status == 2
    assert Path("a.md").read_text(encoding="utf-8") == "mine"
    assert call(capsys, "new", "a.md", *words, "--force").status == 0
    assert is_clean("a.md")


def test_a_name_is_taken_once_in_a_project(capsys: pytest.CaptureFixture[str]) -> None:
    """A second tree of the same name would be reported by `check`, so it is refused."""
    Path("t.md").write_text(DEPLOY, encoding="utf-8")
    status, _, err = call(capsys, "new", "deploy.md", "--question", "Go?", *TWO)
    assert (status, os.path.exists("deploy.md")) == (2, False)
    assert "a tree named DEPLOY is at t.md:1" in err


def test_a_person_is_asked_for_what_is_missing() -> None:
    """At a terminal: name, trigger, question, options, and what each leads to."""
    typed = "launch\n\nShall we?\nYes | All of it\nNo\nNothing happens\n\n"
    ended = at_terminal("new", "a.md", typed=typed)
    assert ended.status == 0, ended.out
    assert is_clean("a.md")
    tree = quandary.load("a.md")
    assert (tree.name, tree.trigger) == ("LAUNCH", "Launch has to be decided")
    assert [(o.label, o.description) for o in tree.decisions[0].options] == [
        ("Yes", "All of it"),
        ("No", "Nothing happens"),
    ]


# new --from-questions


def host_asks(number: int, answer: str, *, multi: bool = False, last: str = "Wait...") -> None:
    """A host reports a question of its own, and what was answered."""
    question = "The build is green. When does it go out?"
    options = [
        {"label": "Now, to all (Recommended)", "description": "Users get it"},
        {"label": last, "description": ""},
    ]
    asked = {"question": question, "header": "Out", "multiSelect": multi, "options": options}
    report = {
        "session_id": "s",
        "tool_use_id": f"t{number}",
        "cwd": os.getcwd(),
        "hook_event_name": "PostToolUse",
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": [{**asked, "id": "go-out"}]},
        "tool_response": {"answers": {question: answer}},
    }
    assert start("hook", "post", stdin=json.dumps(report)).status == 0


def test_a_tree_is_drafted_from_what_a_host_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Its options as last shown; the file says how often each was chosen, own words included."""
    host_asks(1, "Now, to all (Recommended)", last="Never")
    host_asks(2, "Now, to all (Recommended)", multi=True)
    host_asks(3, "after lunch", multi=True)
    assert call(capsys, "new", "a.md", "--from-questions", "go-out").status == 0
    assert is_clean("a.md")
    tree = quandary.load("a.md")
    assert (tree.name, tree.question) == ("GO_OUT", "The build is green. When does it go out?")
    assert [(o.label, o.description, o.multi) for o in tree.decisions[0].options] == [
        ("Now; to all", "Users get it", True),
        ("Wait", "Chosen 0 times before", True),
    ]
    told = "“Now, to all” 2, “Wait...” 0, “Never” 0, “after lunch” 1."
    assert f"Drafted from `go-out`, asked 3 times; chosen: {told}" in Path("a.md").read_text()


def test_a_question_nobody_asked_makes_no_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest one is named."""
    host_asks(1, "Wait...")
    status, _, err = call(capsys, "new", "a.md", "--from-questions", "go-outt")
    assert (status, os.path.exists("a.md")) == (2, False)
    assert err.endswith("did you mean go-out?\n")


# trees


def test_the_trees_of_a_project_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Name, file, decisions and trigger, as text and as JSON; examples in fences are none."""
    Path("docs").mkdir()
    Path("docs/t.md").write_text(DEPLOY, encoding="utf-8")
    Path("u.md").write_text(f"```\n{DEPLOY.replace('DEPLOY', 'EXAMPLE')}```\n", encoding="utf-8")
    line = "DEPLOY  docs/t.md:1  Deploy: A build has passed every check\n"
    assert call(capsys, "trees") == (0, line, "")
    shown: dict[str, Any] = json.loads(call(capsys, "trees", "--format", "json").out)
    assert shown == {
        "trees": [
            {
                "name": "DEPLOY",
                "path": "docs/t.md",
                "line": 1,
                "trigger": "A build has passed every check",
                "decisions": [{"name": "Deploy", "options": 6, "depth": 2}],
            }
        ]
    }


def test_a_project_without_trees_says_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    """That is no failure."""
    status, out, err = call(capsys, "trees")
    assert (status, out) == (0, "")
    assert "quandary new" in err
