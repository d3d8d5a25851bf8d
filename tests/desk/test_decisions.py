"""What was decided: answers that count, the newest first, with those marked that hold no more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from quandary.desk.decisions import find_decisions
from quandary.journal import open_store
from quandary.journal import runs as driver
from runs import ITEMS, Project

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.desk.decisions import Decision


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with one tree."""
    return Project(tmp_path, capsys, monkeypatch)


def found(project: Project, words: str = "", **more: Any) -> list[Decision]:  # noqa: ANN401 - as they are
    """What is found in the store of a project."""
    return find_decisions(open_store(project.store), None, words, **more)


def test_decisions_are_listed_newest_first_with_who_and_when(project: Project) -> None:
    """One line for each; JSON has the same, and the tree's id of the question."""
    run = project.decided()
    lines = project.call("decided").out.splitlines()
    assert len(lines) == 2
    assert all(re.match(rf"\d{{4}}-\d\d-\d\d \d\d:\d\dZ  {run}  ", line) for line in lines)
    assert any("Auth design? → Fine — “rename it” — agent (relay)" in line for line in lines)
    listed = project.state("decided", "--format", "json")["decisions"]
    assert {(one["item"], one["answer"], one["who"]) for one in listed} == {
        ("1.1", "Fine — “rename it”", "agent"),
        ("1.2", "Leave it out", "agent"),
    }
    assert "superseded" not in listed[0]


def test_the_same_question_and_item_decided_again_supersedes(project: Project) -> None:
    """The one before is marked with the run that decided it again; other items stay in force."""
    first = project.decided()
    again = str(project.state("ask", "t.md", "--context", "Anew.", *ITEMS[:2])["run"])
    project.reply(again, "not yet")
    one, *rest = found(project)
    assert (one.run, one.answer, one.superseded) == (again, "Not yet", "")
    assert {(d.item, d.superseded) for d in rest} == {("1.1", again), ("1.2", "")}
    assert f"(superseded by {again})" in project.call("decided").out
    assert {d.run for d in rest} == {first}


TWO = """\
### ¶ASK_TWO
## Decision: What
- [BUG] A bug
- [NO] Nothing
  - [DUP] Known
  - [OLD] Outdated
- [NEW] A wish
- [OTH] Other

## Decision: When
- [NOW] Now
- [SOON] Soon
- [WAIT] Some day
- [OTH] Other
"""


def test_of_several_decisions_each_has_what_was_said_further_on(project: Project) -> None:
    """What is behind an option of the first is asked when the second has its answer."""
    (project.folder / "two.md").write_text(TWO, encoding="utf-8")
    run = str(project.state("ask", "two.md", "--context", "A report.", *ITEMS[:2])["run"])
    project.reply(run, '{"answers": [{"picked": ["NO"]}, {"picked": ["NOW"]}]}')
    assert [one.answer for one in found(project)] == ["Now"]
    project.reply(run, "known")
    assert {one.answer for one in found(project)} == {"Nothing → Known", "Now"}


def test_what_was_gathered_is_a_decision_on_the_question_as_it_was_first_shown(
    project: Project,
) -> None:
    """So that deciding it again supersedes it."""
    text = TWO.replace("[BUG]", "[BUG] [ ]").partition("## Decision: When")[0]
    (project.folder / "many.md").write_text(text, encoding="utf-8")
    words = ("ask", "many.md", "--context", "A report.", *ITEMS[:2])
    first, again = (str(project.state(*words)["run"]) for _ in range(2))
    for reply in ("+BUG", "done"):
        project.reply(first, reply)
    project.reply(again, "NEW")
    assert {(one.run, one.superseded) for one in found(project)} == {(again, ""), (first, again)}


def test_a_skip_decides_nothing_and_supersedes_nothing(project: Project) -> None:
    """What was decided before it still holds; an option that was forced is a decision."""
    first = project.decided()
    for skip in ("!skip", "!", "!dismiss", "!NOSUCH"):
        project.reply(
            str(project.state("ask", "t.md", "--context", "Anew.", *ITEMS[:2])["run"]), skip
        )
    assert {(one.run, one.superseded) for one in found(project)} == {(first, "")}
    again = str(project.state("ask", "t.md", "--context", "Anew.", *ITEMS[:2])["run"])
    project.reply(again, "!OK")
    assert again in {one.run for one in found(project)}


def test_what_holds_is_known_also_where_the_later_decision_has_other_words(
    project: Project,
) -> None:
    """Found by the words of its answer, a decision is marked by one that lacks them."""
    project.decided()
    again = str(project.state("ask", "t.md", "--context", "Anew.", *ITEMS[:2])["run"])
    project.reply(again, "not yet")
    [one] = found(project, "RENAME auth")
    assert one.superseded == again
    [other] = found(project, "leave")
    assert other.superseded == ""
    assert found(project, "nobody said this") == []


def test_an_amended_answer_is_marked(project: Project) -> None:
    """Both are listed: the new answer holds, and the old one bears its own run."""
    run = project.decided()
    project.call("amend", run, "not yet", "--to", "1.1:", "--why", "a typo")
    about = [(d.answer, d.superseded) for d in found(project) if d.item == "1.1"]
    assert about == [("Not yet", ""), ("Fine — “rename it”", run)]
    assert "(amended)" in project.call("decided").out


def test_what_is_said_behind_other_belongs_to_its_question(project: Project) -> None:
    """While the menu behind Other waits, nothing is decided yet."""
    run = str(project.state("ask", "t.md", "--context", "Alone.")["run"])
    project.reply(run, "other")
    assert found(project) == []
    project.reply(run, "move it")
    [one] = found(project)
    assert (one.answer, one.question) == ("Other → Move it", "Alone. Step?")


def test_without_an_item_the_context_tells_questions_apart(project: Project) -> None:
    """Two decisions on different things, asked with the same tree, both hold."""
    for context in ("The first release.", "The second release."):
        run = str(project.state("ask", "t.md", "--context", context, "--question", "Go?")["run"])
        project.reply(run, "fine")
    assert [one.superseded for one in found(project)] == ["", ""]


def test_what_came_to_nothing_and_permits_are_no_decisions(project: Project) -> None:
    """A withdrawn run decided nothing; a permit is for one action alone."""
    run = project.ask()
    project.reply(run, "1.1: ok")
    assert len(found(project)) == 1
    project.call("withdraw", run, "--why", "no longer needed")
    permit = {"request": {"action": "deploy", "input": "812"}}
    driver.begin(open_store(project.store), "permit", permit, who="agent", through="command")
    assert found(project) == []
    assert project.call("decided").err == "nothing was decided here yet\n"


def test_only_the_newest_runs_are_looked_at(project: Project) -> None:
    """However many there are, the work is bounded."""
    _, *newest = (project.decided() for _ in range(3))
    assert {one.run for one in found(project, runs=2)} == set(newest)
    assert {one.run for one in found(project, "auth", runs=1)} == {newest[-1]}
