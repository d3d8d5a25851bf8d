"""`ask --reuse`: a person's answer to the very same question counts once more, and says so."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from quandary.journal import chance, open_store
from quandary.journal import runs as driver
from quandary.journal.entries import Answered
from quandary.model.asks import Answer, Reply
from runs import Project

if TYPE_CHECKING:
    from pathlib import Path

ASK = ("ask", "t.md", "--context", "The plan has a step.", "--reuse", "30d")


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with one tree."""
    return Project(tmp_path, capsys, monkeypatch)


def decide(project: Project, *words: str, who: Any = "person", through: str = "web") -> str:  # noqa: ANN401
    """Ask, and have somebody take the first option."""
    state = project.state(*(words or ASK))
    assert state["status"] == "waiting", state
    reply = Reply((Answer(state["ask"]["keys"][0], ("OK",)),))
    driver.advance(open_store(project.store), state["run"], reply, who=who, through=through)
    return str(state["run"])


def test_a_persons_answer_counts_once_more_and_says_so(project: Project) -> None:
    """The source stays that of the first answer, which is named; no answer is handed on twice."""
    first = decide(project)
    for _ in range(2):
        again = project.state(*ASK)
        assert again["status"] == "done"
        (note,) = (note for note in again["notes"] if note["kind"] == "reused")
        assert f"(run {first})" in note["text"]
        entries = open_store(project.store).entries(again["run"], kinds=("answered",))
        (body,) = (entry.read() for entry in entries)
        assert isinstance(body, Answered)
        assert (body.origin, body.source.who, body.through) == (first, "person", "web")


@pytest.mark.parametrize(
    "words",
    [
        ("ask", "t.md", "--context", "Another plan.", "--reuse", "30d"),
        (*ASK, "--require", "person"),
        (*ASK, "--item", "1.1|Auth|Auth design"),
        ASK[:-2],
    ],
    ids=["context", "person", "item", "not wanted"],
)
def test_it_is_asked_where_anything_differs(project: Project, words: tuple[str, ...]) -> None:
    """Also where a person is required, and where nobody wants earlier answers."""
    decide(project)
    assert project.state(*words)["status"] == "waiting"


def test_another_tree_is_asked(project: Project) -> None:
    """One word of it makes it another."""
    decide(project)
    tree = project.folder / "t.md"
    tree.write_text(tree.read_text(encoding="utf-8").replace("It stays", "It remains"))
    assert project.state(*ASK)["status"] == "waiting"


def test_only_a_persons_own_answer_counts_again(project: Project) -> None:
    """What an agent relayed does not, not even where a person answered before it."""
    decide(project)
    plain = ASK[:-2]
    decide(project, *plain, who="agent", through="relay")
    assert project.state(*ASK)["status"] == "waiting"


def test_a_skip_is_not_reused(project: Project) -> None:
    """It left the question; whoever asks again wants it decided."""
    state = project.state(*ASK)
    skip = Reply((Answer(state["ask"]["keys"][0], prefix="force", argument="skip"),))
    driver.advance(open_store(project.store), state["run"], skip, who="person", through="web")
    assert project.state(*ASK)["status"] == "waiting"


def test_what_leads_one_way_is_always_asked(project: Project) -> None:
    """Whatever was answered before."""
    words = ("ask", "t.md", "--context", "Delete the production database?", "--reuse", "30d")
    decide(project, *words)
    assert project.state(*words)["status"] == "waiting"


def test_an_answer_grows_too_old(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of the answer counts, and not that of the last time it was used."""
    decide(project)
    now = chance.now()
    monkeypatch.setattr(chance, "now", lambda: now + timedelta(days=20))
    assert project.state(*ASK)["status"] == "done"
    monkeypatch.setattr(chance, "now", lambda: now + timedelta(days=31))
    assert project.state(*ASK)["status"] == "waiting"
