"""What Quandary does, in four acts: `make demo`, or `python examples/demo.py`."""  # noqa: INP001

from __future__ import annotations

import importlib.util
import json
import os
import shlex
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
REPLIES = ["1.1: ok\n1.2: OK, and tell the office\n1.3: ?\n1.4: RWK", "take it out", "other", "SPL"]


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
        self,
        *arguments: str,
        folder: Path,
        status: int = 0,
        proof: object = None,
        interactive: bool = False,
        first: int | None = None,
        into: str = "",
    ) -> None:
        """Run a real command before everyone's eyes; its exit status has to be as expected.

        Somebody who answers may also leave, and the demo goes on. Long output is shown in part, or
        goes into a file.
        """
        piped = "" if proof is None else f"echo {shlex.quote(json.dumps(proof))} | "
        behind = f" | head -n {first}" if first else f" > {into}" if into else ""
        print(self._paint(f"$ {piped}quandary {shlex.join(arguments)}{behind}", "32"), flush=True)
        command = [sys.executable, "-m", "quandary", *arguments]
        ended = subprocess.run(  # noqa: S603 - our own program
            command,
            cwd=folder,
            env={**os.environ, "QUANDARY_STORE": str(folder / "journal.db")},
            input=None if proof is None else json.dumps(proof).encode(),
            stdin=None if interactive or proof is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE if first or into else None,
            stderr=None if interactive else sys.stdout if into else subprocess.STDOUT,
            check=False,
        )
        if into:
            (folder / into).write_bytes(ended.stdout)
        elif first:
            print(*ended.stdout.decode().splitlines()[:first], sep="\n")
        print(flush=True)
        if interactive and ended.returncode == 1:
            self.say("You left, so the question waits; nothing was taken for an answer.")
        elif ended.returncode != status:
            raise Unexpected(f"exit status {ended.returncode}, where {status} was expected")

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
    """The acts, each in a folder that nobody needs."""
    for act in (decide, release, walk, check):
        place = folder / act.__name__
        place.mkdir()
        act(stage, place)
    stage.say("Next: docs/tutorial.md takes ten minutes. The program itself is .venv/bin/quandary.")


def decide(stage: Stage, folder: Path) -> None:
    """At a terminal whoever watches is asked; elsewhere a script answers."""
    stage.act("A person decides about the five steps of a plan, and every answer is kept.")
    (folder / "steps.json").write_text(json.dumps(STEPS), encoding="utf-8")
    (folder / "replies.json").write_text(json.dumps(REPLIES), encoding="utf-8")
    shutil.copy(ROOT / "examples/trees/plan-review.md", folder)
    words = ["ask", "plan-review.md", "--items", "steps.json", "--context", CONTEXT]
    if stage.pauses:
        stage.run(*words, folder=folder, interactive=True)
    else:
        stage.run(*words, "--answers", "replies.json", "--proof", folder=folder)
    stage.run("log", folder=folder)
    stage.run("verify", folder=folder)


def release(stage: Stage, folder: Path) -> None:
    """A release goes from phase to phase, and an agent tries to get round a person."""
    stage.act("A release goes through five phases; nobody passes without proof or a person's word.")
    spec = importlib.util.spec_from_file_location("play", ROOT / "examples/release/play.py")
    if spec is None or spec.loader is None:
        raise Unexpected("examples/release/play.py is not there")
    played = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(played)

    class Player:
        """The same commands, on this stage."""

        def __init__(self) -> None:
            self.folder = folder

        def say(self, words: str) -> None:
            stage.say(words)

        def run(self, *arguments: str, proof: object = None, status: int = 0) -> None:
            stage.run(*arguments, folder=folder, proof=proof, status=status)

    played.play(Player())
    stage.say("What waits is in the inbox: here as a list, and with `quandary serve` in a browser.")
    stage.run("runs", "--status", "waiting", folder=folder)


def walk(stage: Stage, folder: Path) -> None:
    """Agents do the steps of a chart; here one that plays its part from a script."""
    stage.act("A chart is walked by agents: each step is checked, and done again if it has to be.")
    shutil.copytree(ROOT / "examples/walk", folder, dirs_exist_ok=True)
    stage.run("show", "fix.mmd", folder=folder)
    item = "1|Dates|Dates are sorted wrongly|Reported by three people."
    stage.run("walk", "fix.mmd", "--item", item, folder=folder, into="result.json")
    run = json.loads((folder / "result.json").read_text(encoding="utf-8"))["run"]
    stage.run("report", run, folder=folder, first=24)


def check(stage: Stage, folder: Path) -> None:
    """Trees are checked and mended."""
    stage.act("Every tree below a folder is found and checked; what can be mended is mended.")
    stage.run("check", str(ROOT / "examples/trees"), folder=folder)
    file = folder / "deploy.md"
    file.write_text(BROKEN, encoding="utf-8")
    print(BROKEN)
    stage.run("check", file.name, folder=folder, status=1)
    stage.run("check", "--fix", file.name, folder=folder)
    mended = file.read_text(encoding="utf-8")
    print(mended)
    if mended != MENDED:
        raise Unexpected("the tree was mended otherwise")
    stage.run("fmt", "--check", file.name, folder=folder)


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
