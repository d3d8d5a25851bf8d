"""The Claude Code plugin says what `quandary install claude` writes, and has our version.

`python tests/test_plugin.py` writes its files anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quandary import __version__
from quandary.doors import hosts
from quandary.doors.hosts.host_files import CLAUDE, NAME, Servers, places, skill
from quandary.doors.hosts.install import Hooks, carry_out, plan_install

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "plugin"
TIMEOUT = hosts.WAIT + hosts.MARGIN


def wanted() -> dict[str, str]:
    """Every file of the plugin with its text; it knows no settings, so its hook is patient."""
    manifest = {
        "name": NAME,
        "version": __version__,
        "description": "Decisions that are a person's go to that person, and none is lost.",
        "author": {"name": "Quandary"},
        "license": "MIT",
        "keywords": ["decisions", "questions", "approval"],
    }
    marketplace = {
        "name": NAME,
        "description": "The plugin of quandary, from its own repository.",
        "owner": {"name": "Quandary"},
        "plugins": [{"name": NAME, "source": "./plugin", "description": manifest["description"]}],
    }
    servers = {"mcpServers": {NAME: Servers("", "mcpServers").entry(NAME)}}
    return {
        ".claude-plugin/marketplace.json": pretty(marketplace),
        "plugin/.claude-plugin/plugin.json": pretty(manifest),
        "plugin/.mcp.json": pretty(servers),
        "plugin/hooks/hooks.json": pretty(json.loads(Hooks(NAME, TIMEOUT).add(""))),
        "plugin/skills/quandary/SKILL.md": skill(CLAUDE),
    }


def pretty(value: Any) -> str:  # noqa: ANN401 - any JSON
    """JSON as a person would write it."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", list(wanted()))
def test_the_plugin_is_up_to_date(name: str) -> None:
    """Each file is the one that today's program would write."""
    assert (ROOT / name).read_text(encoding="utf-8") == wanted()[name]


def test_there_is_nothing_else_in_it() -> None:
    """No file that nobody looks after."""
    found = {path.relative_to(ROOT).as_posix() for path in PLUGIN.rglob("*") if path.is_file()}
    assert found == {name for name in wanted() if name.startswith("plugin/")}


def test_the_plugin_teaches_what_install_teaches(tmp_path: Path) -> None:
    """The same skill, but for the line by which `uninstall` finds it; the same hooks."""
    carry_out(plan_install(places("claude", str(tmp_path)), NAME, mcp=True, timeout=TIMEOUT))
    skill = (tmp_path / ".claude/skills/quandary/SKILL.md").read_text(encoding="utf-8")
    taught, _, line = skill.rstrip("\n").rpartition("\n")
    assert line.startswith("<!-- quandary:end")
    assert (PLUGIN / "skills/quandary/SKILL.md").read_text(encoding="utf-8") == f"{taught}\n"
    settings = json.loads((tmp_path / ".claude/settings.json").read_text(encoding="utf-8"))
    assert json.loads((PLUGIN / "hooks/hooks.json").read_text(encoding="utf-8")) == settings
    servers = json.loads((tmp_path / ".mcp.json").read_text(encoding="utf-8"))
    assert json.loads((PLUGIN / ".mcp.json").read_text(encoding="utf-8")) == servers


if __name__ == "__main__":
    for file, text in wanted().items():
        (ROOT / file).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / file).write_text(text, encoding="utf-8")
