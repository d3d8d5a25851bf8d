"""A project with a tree and a store of its own, and runs in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from program import Ended, call

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TREE = """\
### ¶ASK_STEP
Trigger: a step waits
Extras: A: Run the tests first

## Decision: Step
- [OK] Fine
  It stays
- [NO] Not yet
  Something is missing
- [CUT] Leave it out
  Nobody needs it
- [OTH] Other
  - [SPL] Make two of it
    Too much at once
  - [MOV] Move it
    Elsewhere
"""
CONTEXT = "The plan has two steps. None has begun."
ITEMS = ("--item", "1.1|Auth|Auth design|Tokens expire.", "--item", "1.2|Cache|Caching")


class Project:
    """A folder in which the program is called."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self.store = folder / "journal.db"
        self._capsys = capsys
        (folder / ".quandary").mkdir()
        (folder / "t.md").write_text(TREE, encoding="utf-8")
        monkeypatch.chdir(folder)
        monkeypatch.setenv("QUANDARY_STORE", str(self.store))

    def call(self, *words: str) -> Ended:
        """Call the program."""
        return call(self._capsys, *words)

    def state(self, *words: str) -> dict[str, Any]:
        """Call the program, which has to end well, and load what it printed."""
        ended = self.call(*words)
        assert (ended.status, ended.err) == (0, ""), ended
        loaded: dict[str, Any] = json.loads(ended.out)
        return loaded

    def ask(self, *words: str) -> str:
        """Begin a run about two items, and give its name."""
        return str(self.state("ask", "t.md", "--context", CONTEXT, *ITEMS, *words)["run"])

    def reply(self, run: str, text: str, *words: str) -> dict[str, Any]:
        """Answer what waits."""
        return self.state("reply", run, text, *words)

    def decided(self) -> str:
        """A run in which both items were decided, and give its name."""
        run = self.ask()
        self.reply(run, "1.1: ok, but rename it\n1.2: cut")
        return run
