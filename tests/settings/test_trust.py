"""What a project names counts when its user has agreed, and only as it was then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from program import consent
from quandary.errors import ParseError, Rejected, Untrusted
from quandary.settings import read_settings, trust

if TYPE_CHECKING:
    from pathlib import Path

AGENTS = """\
[agents.BOT]
argv = ["sh", "tools/bot.sh", "--config=tools/bot.ini"]
prompt = "stdin"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that names agents, of which one is a script of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "project"
    (root / "tools").mkdir(parents=True)
    for name in ("bot.sh", "bot.ini"):
        (root / "tools" / name).write_text("1\n", encoding="utf-8")
    (root / "quandary.toml").write_text(AGENTS, encoding="utf-8")
    return root


def refused(root: Path) -> str:
    """Why the agents of a project do not count; nothing where they do."""
    try:
        trust.require_agents(read_settings(str(root)))
    except Untrusted as error:
        return str(error)
    return ""


def test_agents_count_after_consent(project: Path) -> None:
    """The refusal is one line with the command to type."""
    assert refused(project) == (
        f"{project}/quandary.toml names programs to run ([agents]); "
        f"if you trust that, type: quandary trust {project}"
    )
    consent(project)
    assert refused(project) == ""
    assert trust.take_back(str(project))
    assert not trust.take_back(str(project))
    assert refused(project)


@pytest.mark.parametrize("change", ["settings", "script", "option", "link"])
def test_what_has_changed_since_is_asked_again(project: Path, change: str) -> None:
    """The words of the settings, and the files of the project that they name."""
    consent(project)
    if change == "settings":
        (project / "quandary.toml").write_text(AGENTS.replace("sh", "bash"), encoding="utf-8")
    elif change == "script":
        (project / "tools" / "bot.sh").write_text("2\n", encoding="utf-8")
    elif change == "option":
        (project / "tools" / "bot.ini").write_text("2\n", encoding="utf-8")
    else:
        (project / "tools" / "bot.sh").unlink()
        (project / "tools" / "bot.sh").symlink_to("bot.ini")
    assert "changed since you trusted it" in refused(project)


@pytest.mark.parametrize("copied", [True, False], ids=["there", "not yet there"])
def test_agents_that_name_files_work_where_their_user_agreed_to_them(
    project: Path, copied: bool
) -> None:
    """By the same word, another folder has another file, or somebody puts one there later."""
    consent(project)
    other = project / "docs"
    (other / "tools").mkdir(parents=True)
    if copied:
        (other / "tools" / "bot.sh").write_text("rm -r ~\n", encoding="utf-8")
    settings = read_settings(str(project))
    with pytest.raises(Rejected, match=r"stands for a file .* work in .*project and not in .*docs"):
        trust.require_agents(settings, str(other))
    assert trust.require_agents(settings, str(project)) == settings


def test_agents_that_name_no_file_work_anywhere_in_the_project(project: Path) -> None:
    """Unless the folder has one that is called like a word of theirs."""
    (project / "quandary.toml").write_text('[agents.BOT]\nargv = ["bot.sh"]\n', encoding="utf-8")
    consent(project)
    settings = read_settings(str(project))
    assert trust.require_agents(settings, str(project.parent)) == settings
    with pytest.raises(Rejected):
        trust.require_agents(settings, str(project / "tools"))


def test_what_was_not_agreed_to_may_change(project: Path) -> None:
    """Trees, numbers, and the order of things take no consent."""
    consent(project)
    text = f'trees = ["docs"]\nmax_visits = 3\n{AGENTS}'
    (project / "quandary.toml").write_text(text, encoding="utf-8")
    assert refused(project) == ""


def test_consent_belongs_to_one_real_folder(project: Path, tmp_path: Path) -> None:
    """A link to it is the same folder; a copy of it is another one."""
    consent(project)
    (tmp_path / "link").symlink_to(project)
    assert refused(tmp_path / "link") == ""
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "quandary.toml").symlink_to(project / "quandary.toml")
    assert refused(copy)


def test_hooks_of_a_project_are_ignored_before_consent(project: Path, tmp_path: Path) -> None:
    """The user's own hold then, whichever way the project would turn them."""
    own = tmp_path / "config" / "quandary" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[hooks]\nroute = "inbox"\n', encoding="utf-8")
    (project / "quandary.toml").write_text('[hooks]\nroute = "host"\n', encoding="utf-8")
    assert trust.with_trusted_hooks(read_settings(str(project))).table("hooks") == {
        "route": "inbox"
    }
    consent(project)
    settings = read_settings(str(project))
    assert trust.with_trusted_hooks(settings) == settings


def test_a_damaged_file_of_consents_is_no_consent(project: Path) -> None:
    """It is said which file to delete."""
    consent(project)
    (project.parent / "config" / "quandary" / "trusted.json").write_text("{", encoding="utf-8")
    with pytest.raises(ParseError, match=r"trusted\.json: .*; delete it"):
        trust.require_agents(read_settings(str(project)))
