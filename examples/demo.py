"""What Quandary does, in five acts: `make demo`, or `python examples/demo.py`."""  # noqa: INP001

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

BROKEN = """\
### ¶ASK_DEPLOY
Trigger: A build has passed every check

## Decision: Deploy
* [NOW] Deploy now
  Users get the new version within minutes
* [EVE] Deploy this evening...
  Fewer people would notice a fault
* [NO] Do not deploy
The build stays where it is
* [OTH] Other
    * [PART] Deploy to one region
      Watch it there before going on
    * [LOOK] Look at the changes first
      Decide afterwards
"""

MENDED = """\
### ¶ASK_DEPLOY
Trigger: A build has passed every check

## Decision: Deploy
- [NOW] Deploy now
  Users get the new version within minutes
- [EVE] Deploy this evening
  Fewer people would notice a fault
- [NO] Do not deploy
  The build stays where it is
- [OTH] Other
  - [PART] Deploy to one region
    Watch it there before going on
  - [LOOK] Look at the changes first
    Decide afterwards
"""


CONTEXT = "The move to the new mail service has five steps. None of them has begun."
STEPS = [
    {"id": "1.1", "label": "Accounts", "title": "Create the accounts", "context": "Takes a day."},
    {"id": "1.2", "label": "Copy", "title": "Copy the old mail", "context": "It is 40 GB."},
    {"id": "1.3", "label": "Rules", "title": "Rebuild the filter rules", "context": "By hand."},
    {"id": "1.4", "label": "Switch", "title": "Switch over on a Friday", "context": "Risky."},
    {"id": "1.5", "label": "Close", "title": "Close the old service", "context": "Saves money."},
]
REPLIES = ["1.1: ok\n1.2: OK, but at night\n1.3: ?\n1.4: RWK", "take it out", "other", "SPL"]


class Unexpected(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """Something did not behave as the demo says it does."""


class Stage:
    """Where the acts are played: what is said, what is run, and when to wait."""

    def __init__(self) -> None:
        at_terminal = sys.stdout.isatty()
        self.coloured = at_terminal and not os.environ.get("NO_COLOR")
        self.pauses = at_terminal and sys.stdin is not None and sys.stdin.isatty()
        self.acts = 0

    def act(self, words: str) -> None:
        """Announce what comes next, once the person has seen what came before."""
        if self.acts:
            self._pause()
        self.acts += 1
        self.say(f"{self.acts}. {words}", "1")

    def say(self, words: str, colour: str = "2") -> None:
        """A paragraph for the person who watches."""
        print(self._paint(words, colour), end="\n\n", flush=True)

    def run(
        self, *arguments: str, folder: Path, status: int = 0, interactive: bool = False
    ) -> None:
        """Run a real command before everyone's eyes; its exit status has to be as expected."""
        print(self._paint(f"$ quandary {' '.join(arguments)}", "32"), flush=True)
        command = [sys.executable, "-m", "quandary", *arguments]
        ended = subprocess.run(  # noqa: S603 - our own program
            command,
            cwd=folder,
            stdin=None if interactive else subprocess.DEVNULL,
            stderr=None if interactive else subprocess.STDOUT,
            check=False,
        )
        print(flush=True)
        if ended.returncode != status:
            raise Unexpected(f"exit status {ended.returncode}, where {status} was expected")

    def may_ask(self) -> bool:
        """Whether somebody is there who wants to answer."""
        if not self.pauses:
            return False
        try:
            return input(self._paint("Answer yourself? y/N ", "2")).strip().lower() == "y"
        except EOFError:
            return False

    def _pause(self) -> None:
        if not self.pauses:
            return
        try:
            input(self._paint("Enter goes on … ", "2"))
        except EOFError:
            self.pauses = False  # nobody is there to press it
        print()

    def _paint(self, words: str, colour: str) -> str:
        return f"\x1b[{colour}m{words}\x1b[0m" if self.coloured else words


def play(stage: Stage, folder: Path) -> None:
    """The acts, the last three on files of their own in a folder that nobody needs."""
    stage.act("Every tree below a folder is found and checked.")
    stage.run("check", "examples/trees", folder=ROOT)

    stage.act("A tree can be looked at as a whole.")
    stage.run("show", "examples/trees/purchase.md", folder=ROOT)

    stage.act("What is wrong is named with line and column.")
    file = folder / "deploy.md"
    file.write_text(BROKEN, encoding="utf-8")
    print(BROKEN)
    stage.run("check", file.name, folder=folder, status=1)

    stage.act("What can be mended without guessing is mended in place.")
    stage.run("check", "--fix", file.name, folder=folder)
    mended = file.read_text(encoding="utf-8")
    print(mended)
    if mended != MENDED:
        raise Unexpected("the tree was mended otherwise")
    stage.run("fmt", "--check", file.name, folder=folder)

    stage.act("A person decides about the five steps of a plan, and every answer is kept.")
    ask(stage, folder)
    stage.run("log", "--store", "journal.db", folder=folder)
    stage.run("verify", "--store", "journal.db", folder=folder)
    stage.say("Next: docs/tutorial.md takes five minutes.")


def ask(stage: Stage, folder: Path) -> None:
    """At a terminal whoever watches may answer; elsewhere a script does."""
    (folder / "steps.json").write_text(json.dumps(STEPS), encoding="utf-8")
    (folder / "replies.json").write_text(json.dumps(REPLIES), encoding="utf-8")
    shutil.copy(ROOT / "examples/trees/plan-review.md", folder)
    words = ["ask", "plan-review.md", "--items", "steps.json", "--context", CONTEXT]
    words += ["--store", "journal.db"]
    if stage.may_ask():
        stage.run(*words, folder=folder, interactive=True)
    else:
        stage.run(*words, "--answers", "replies.json", "--proof", folder=folder)


def main() -> int:
    """Play it; the exit status is 0 if everything behaved as told."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            play(Stage(), Path(folder))
    except Unexpected as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on
        return 1
    except KeyboardInterrupt:
        print()
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
