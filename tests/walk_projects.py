"""Charts and agents for tests of walking: a project in which the program is called."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from program import Ended, call
from quandary.agents.calling import WHICH_CALL

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

AGENT = Path(__file__).parent / "agents" / "scripted_agent.py"
NAMES = ("ANN", "BEN", "EVA")
"""Agents that say what a test wants; ANN is the one that nobody has to name."""
GOOD = {"fully_completed": True}
DONE = {"completed": True, "comments": "done"}
NONCE_FOLLOWS = WHICH_CALL.split("`")[0]


STOPPING = Path(__file__).parent / "agents" / "stopping_agent.py"
LEVEL = {"question": "Which level?", "options": [{"label": "Info"}, {"label": "Debug"}]}


def stopping(folder: Path) -> str:
    """Settings with an agent that stops for a question, and is done when it has an answer."""
    asks = {"name": "AskUserQuestion", "input": {"questions": [LEVEL]}}
    (folder / "script.json").write_text(json.dumps([[asks], DONE]), encoding="utf-8")
    argv = [sys.executable, str(STOPPING), str(folder)]
    words = {"argv": argv, "resume": [*argv, "--resume", "{session}"], "output": "json:result"}
    words |= {"permissions": "ask", "ask": ["--settings", "{hooks}"], "session": "session_id"}
    words |= {"stopped": "deferred_tool_use", "env": ["XDG_STATE_HOME"]}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in words.items()]
    return "".join(["[agents.STOPPER]\n", *lines])


def bad(*warnings: str, retry: bool = True) -> dict[str, object]:
    """A verdict against a piece of work."""
    return {"fully_completed": False, "should_retry": retry, "warnings": list(warnings)}


def lucid(steps: Mapping[str, str | Mapping[str, str]], lines: str, name: str = "Rounds") -> str:
    """A chart as Lucid exports it.

    A step is its text, or `{"text": …, "tags": …, "retries": …}` with any data fields; lines are
    written `1>2` or `1>2:label`. A `Start` and an `End` are terminators.
    """
    fields = [key for one in steps.values() if not isinstance(one, str) for key in one]
    data = list(dict.fromkeys(key for key in fields if key not in ("text", "tags", "shape")))
    columns = ("Id", "Name", "Page ID", "Line Source", "Line Destination", "Text Area 1", "Tags")
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow([*columns, *data])
    rows.writerow(["900", "Document", "", "", "", name])
    rows.writerow(["901", "Page", "", "", "", "Page 1"])
    for key, given in steps.items():
        step = {"text": given} if isinstance(given, str) else given
        usual = "Terminator" if step["text"] in ("Start", "End") else "Process"
        shape = step.get("shape", usual)
        cells = [key, shape, "901", "", "", step["text"], step.get("tags", "")]
        rows.writerow([*cells, *(step.get(field, "") for field in data)])
    for number, line in enumerate(lines.split(), 1000):
        ends, _, label = line.partition(":")
        source, _, target = ends.partition(">")
        rows.writerow([str(number), "Line", "901", source, target, label.replace("_", " "), ""])
    return out.getvalue()


class WalkProject:
    """A folder with agents, a chart and a store of its own."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self.store = folder / "journal.db"
        self._capsys = capsys
        self.settings()
        for name in [name for name in os.environ if name.startswith("QUANDARY_")]:
            monkeypatch.delenv(name)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("QUANDARY_STORE", str(self.store))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        self.draw(lucid({"1": "Start", "2": "Write the page", "3": "End"}, "1>2 2>3"))

    def settings(self, more: str = "", cli: str = "ANN") -> None:
        """The settings of the project: the agents, and what a test adds."""
        tables = [f"[agents.{name}]\nargv = {json.dumps(self.argv(name))}\n" for name in NAMES]
        default = f'default_cli = "{cli}"\n' if cli else ""
        text = "".join((default, more.partition("[")[0], *tables))
        text += "".join(more.partition("[")[1:])
        (self.folder / "quandary.toml").write_text(text, encoding="utf-8")

    def argv(self, name: str) -> list[str]:
        """The command line of an agent."""
        return [sys.executable, "-IS", str(AGENT), name, str(self.folder)]

    def draw(self, text: str, name: str = "c.csv") -> None:
        """A chart."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def says(self, name: str, *replies: object) -> None:
        """What an agent replies to its first call, its second, …; the last one to all others."""
        (self.folder / f"{name}.json").write_text(json.dumps(replies), encoding="utf-8")

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Every agent that was called with its prompt, in order, without what tells calls apart."""
        path = self.folder / "calls.jsonl"
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        made = [json.loads(line) for line in lines if line]
        return [(one["agent"], one["prompt"].split(NONCE_FOLLOWS)[0]) for one in made]

    @property
    def called(self) -> list[str]:
        """The agents alone."""
        return [agent for agent, _ in self.calls]

    def call(self, *words: str) -> Ended:
        """Call the program."""
        return call(self._capsys, *words)

    def walk(self, *words: str, chart: str = "c.csv", status: int = 0) -> dict[str, Any]:
        """Walk a chart, which has to end with that status, and load what is printed."""
        ended = self.call("walk", chart, *words)
        assert ended.status == status, ended
        loaded: dict[str, Any] = json.loads(ended.out)
        return loaded

    def resume(self, run: str, *words: str, status: int = 0) -> dict[str, Any]:
        """Go on with a run."""
        ended = self.call("walk", "--resume", run, *words)
        assert ended.status == status, ended
        loaded: dict[str, Any] = json.loads(ended.out)
        return loaded

    def reply(self, run: str, text: str) -> dict[str, Any]:
        """Answer what waits."""
        ended = self.call("reply", run, text)
        assert ended.status == 0, ended
        loaded: dict[str, Any] = json.loads(ended.out)
        return loaded
