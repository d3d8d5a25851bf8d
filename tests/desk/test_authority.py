"""Who may do what: one function, for every door alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest

from quandary.desk.authority import Act, Caller, Scope, is_inside, may, require_may, scope_of
from quandary.errors import NotFound, PersonRequired, Rejected
from quandary.journal.store import Run

if TYPE_CHECKING:
    from pathlib import Path

HERE = Scope("/project", "/project")
PROGRAM = Caller("api", "web", "token", HERE)
USER = Caller("api", "web", "ada", HERE, is_user=True)
PERSON = Caller("person", "web", "ada", HERE)
AGENT = Caller("agent", "mcp", "client", HERE)
LOCAL = Caller("agent", "command")


def run_of(project: str) -> Run:
    """A run of a project."""
    return Run(id="01ARZ3NDEKTSV4RRFFQ69G5FAV", flow="decide", version=1, project=project)


@pytest.mark.parametrize("act", get_args(Act))
def test_whoever_works_on_this_machine_may_do_anything(act: Act) -> None:
    """The system itself decides what they can reach."""
    require_may(LOCAL, act, run_of("/elsewhere"), "/etc/passwd")


@pytest.mark.parametrize("caller", [PROGRAM, USER, PERSON, AGENT])
def test_a_caller_from_elsewhere_is_confined_to_the_project(caller: Caller) -> None:
    """Over HTTP and MCP alike, even for a person who has logged in."""
    require_may(caller, "name a file", path="/project/trees/t.md")
    require_may(caller, "show a file", run_of("/project"))
    for path in ("/etc/passwd", "/project/../etc/passwd", "/projects", "\0.md"):
        with pytest.raises(NotFound, match="is not in this project"):
            require_may(caller, "name a file", path=path)
    with pytest.raises(Rejected, match="another project"):
        require_may(caller, "show a file", run_of("/elsewhere"))


@pytest.mark.parametrize(
    ("caller", "amends", "resumes"),
    [(PROGRAM, False, False), (AGENT, False, False), (USER, False, True), (PERSON, True, True)],
)
def test_what_needs_a_person(caller: Caller, amends: bool, resumes: bool) -> None:
    """A login amends; a login or a user's own token spends money; any token begins and answers."""
    assert (may(caller, "amend"), may(caller, "resume")) == (amends, resumes)
    assert may(caller, "begin")
    assert may(caller, "answer")
    if not resumes:
        with pytest.raises(PersonRequired, match="only a person"):
            require_may(caller, "resume")


def test_inside_is_where_a_path_leads(tmp_path: Path) -> None:
    """Links are followed, and what is no path leads nowhere."""
    inner, outside = tmp_path / "inner", tmp_path / "outside.md"
    inner.mkdir()
    outside.write_text("", encoding="utf-8")
    (inner / "link.md").symlink_to(outside)
    (tmp_path / "alias").symlink_to(inner)
    assert is_inside(str(inner), str(inner / "new.md"))
    assert is_inside(str(tmp_path / "alias"), str(inner / "new.md"))
    assert not is_inside(str(inner), str(inner / "link.md"))
    assert not is_inside(str(inner), str(outside))
    assert not is_inside(str(inner), str(inner / "a\0b"))


def test_the_scope_of_a_folder_is_its_project(tmp_path: Path) -> None:
    """The files are those of the checkout at hand."""
    (tmp_path / ".quandary").mkdir()
    (tmp_path / "deep").mkdir()
    assert scope_of(str(tmp_path / "deep")) == Scope(str(tmp_path), str(tmp_path))
