"""Who may do what: one function, for every door alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest

from quandary.desk.authority import (
    NOWHERE,
    Act,
    Caller,
    Scope,
    may,
    may_see_files,
    project_seen,
    require_may,
    require_shown,
    scope_of,
)
from quandary.errors import NotFound, PersonRequired, Rejected
from quandary.journal.entries import Source
from quandary.journal.store import Run
from quandary.settings.files import is_inside

if TYPE_CHECKING:
    from pathlib import Path

HERE = Scope("/project", "/project")
PROGRAM = Caller("api", "web", "token", HERE)
USER = Caller("api", "web", "ada", HERE, is_user=True)
PERSON = Caller("person", "web", "ada", HERE, is_user=True)
AGENT = Caller("agent", "mcp", "client", HERE)
LOCAL = Caller("agent", "command")


def run_of(project: str) -> Run:
    """A run of a project."""
    return Run(1, id="01ARZ3NDEKTSV4RRFFQ69G5FAV", flow="decide", version=1, project=project)


@pytest.mark.parametrize("act", get_args(Act))
def test_whoever_works_on_this_machine_may_do_anything(act: Act) -> None:
    """The system itself decides what they can reach."""
    require_may(LOCAL, act, "/etc/passwd")


@pytest.mark.parametrize("caller", [PROGRAM, USER, PERSON, AGENT])
def test_a_caller_from_elsewhere_is_confined_to_the_project(caller: Caller) -> None:
    """Over HTTP and MCP alike, even for a person who has logged in."""
    require_may(caller, "name a file", "/project/trees/t.md")
    for path in ("/etc/passwd", "/project/../etc/passwd", "/projects", "\0.md"):
        with pytest.raises(NotFound, match="is not in this project"):
            require_may(caller, "name a file", path)


@pytest.mark.parametrize(
    ("caller", "amends", "starts"),
    [(PROGRAM, False, False), (AGENT, False, False), (USER, False, True), (PERSON, True, True)],
)
def test_what_needs_a_person(caller: Caller, amends: bool, starts: bool) -> None:
    """A login amends; a login or a user's own token starts agents; any token begins, answers."""
    assert (may(caller, "amend"), may(caller, "start agents")) == (amends, starts)
    assert may(caller, "begin")
    assert may(caller, "answer")
    if not starts:
        with pytest.raises(PersonRequired, match="only a person can start agents"):
            require_may(caller, "start agents")


@pytest.mark.parametrize("caller", [PROGRAM, USER, AGENT])
def test_only_a_login_sees_other_projects(caller: Caller) -> None:
    """A token, even a user's own, and a chat client see the project that is served."""
    assert project_seen(caller) == project_seen(caller, "/project") == "/project"
    assert project_seen(caller, "/elsewhere") == NOWHERE
    for one in (PERSON, LOCAL):
        assert (project_seen(one), project_seen(one, "/elsewhere")) == (None, "/elsewhere")


def test_files_are_shown_to_logins_and_on_this_machine() -> None:
    """The journal says who asked for them."""
    assert all(map(may_see_files, [PERSON, LOCAL]))
    assert may_see_files(Source("person", "terminal"))
    assert not any(map(may_see_files, [PROGRAM, USER, AGENT]))
    assert not may_see_files(Source("api", "web", "ada"))


def test_a_file_is_shown_only_where_it_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hidden and ignored files and those of others are refused, whatever leads to them."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    project = tmp_path / "project"
    for name in (".git", "deep/.cache", "build", "inner/.git", "../other/.git"):
        (project / name).mkdir(parents=True)
    own = ["plan.md", "deep/notes.txt", "kept.log"]
    hidden = [".env", "deep/.cache/a.txt"]
    ignored = ["secret.key", "build/out.txt", "deep/secret.key", "deep/local.txt", "own.swp"]
    strange = ["inner/a.txt", "../other/a.txt"]
    for name in (*own, *hidden, *ignored, *strange):
        (project / name).write_text("x", encoding="utf-8")
    (project / ".gitignore").write_text("*.key\n/build/\n*.log\n!kept.log\n", encoding="utf-8")
    (project / "deep" / ".gitignore").write_text("local.*\n", encoding="utf-8")
    (tmp_path / "config" / "git").mkdir(parents=True)
    (tmp_path / "config" / "git" / "ignore").write_text("*.swp\n", encoding="utf-8")
    for number, name in enumerate((*hidden, *ignored, *strange)):
        (project / f"link{number}.txt").symlink_to(project / name)
    (project / "way").symlink_to(project / "build")
    run, folder = run_of(str(project)), str(project)
    for name in own:
        require_shown(run, folder, str(project / name))
    links = [f"link{n}.txt" for n in range(len((*hidden, *ignored, *strange)))]
    for name in (*hidden, *ignored, *strange, *links, "way/out.txt"):
        with pytest.raises(Rejected, match=r"hidden|ignored|does not belong"):
            require_shown(run, folder, str(project / name))
    with pytest.raises(Rejected, match="does not belong"):
        require_shown(run_of("/elsewhere"), folder, str(project / "plan.md"))


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
