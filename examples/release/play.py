"""A release in five phases, played by a script: `python examples/release/play.py [FOLDER]`.

Every command is real. The script stands for an agent that does the work and, once, tries to get
round a person. The exit status is 0 if everything behaved as told.
"""  # noqa: INP001

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Unexpected(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """Something did not behave as it is told here."""


class Player:
    """Runs commands before everyone's eyes, in a folder with a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def say(self, words: str) -> None:
        """A line for whoever watches."""
        print(words, end="\n\n", flush=True)

    def run(self, *arguments: str, proof: object = None, status: int = 0) -> None:
        """A command; proof is piped into it, and its exit status has to be as expected."""
        piped = "" if proof is None else f"echo '{json.dumps(proof)}' | "
        quoted = " ".join(f"'{word}'" if " " in word else word for word in arguments)
        print(f"$ {piped}quandary {quoted}", flush=True)
        ended = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "quandary", *arguments],
            cwd=self.folder,
            env={**os.environ, "QUANDARY_STORE": str(self.folder / "journal.db")},
            input=None if proof is None else json.dumps(proof).encode(),
            stdin=subprocess.DEVNULL if proof is None else None,
            stderr=subprocess.STDOUT,
            check=False,
        )
        print(flush=True)
        if ended.returncode != status:
            raise Unexpected(f"exit status {ended.returncode}, where {status} was expected")


def play(player: Player) -> None:
    """From the first phase to where only a person can go on."""
    folder = player.folder
    shutil.copy(HERE / "phases.json", folder)
    player.run("phase", "start", "release", "--phases", "phases.json")
    (folder / "release" / "CHANGELOG.md").write_text("# 2.1.0\n\n- Faster.\n", encoding="utf-8")
    (folder / "release" / "package.tar").write_bytes(bytes(512))

    player.say("A phase is left only with proof, and all that is wrong with it is said at once.")
    player.run("phase", "go", "release", "1: Prepare")
    player.run("phase", "go", "release", "2: Build", proof={"version": "two"}, status=1)
    prepared = {"version": "2.1.0", "changelog": "CHANGELOG.md"}
    player.run("phase", "go", "release", "2: Build", proof=prepared)

    player.say("Nobody skips ahead on their own authority.")
    player.run("phase", "go", "release", "4: Watch", status=1)

    player.say("At the end of a phase a person chooses; here a script does, and takes a branch.")
    (folder / "turn.json").write_text('["switch to 3.B: Roll out everywhere"]', encoding="utf-8")
    (folder / "proceed.json").write_text('["proceed"]', encoding="utf-8")
    built = {"package": "package.tar", "tests": "412 passed, none failed", "warnings": 0}
    player.run("gate", "release", "--answers", "turn.json", "--proof", proof=built)
    player.run("phase", "go", "release", "4: Watch")

    player.say("This phase can be left only by a person, at a terminal or in a browser.")
    watched = {"hours": 24, "verdict": "healthy"}
    words = ("--user-approved", "the user is fine with it")
    player.run("phase", "go", "release", "5: Announce", *words, proof=watched, status=1)
    player.run("gate", "release", "--answers", "proceed.json", proof=watched, status=1)

    player.say("And everyone can see who let it pass so far.")
    player.run("phase", "status", "release")


def main() -> int:
    """Play it in the folder that is named, or in one that nobody needs."""
    try:
        if len(sys.argv) > 1:
            play(Player(Path(sys.argv[1])))
        else:
            with tempfile.TemporaryDirectory() as folder:
                play(Player(Path(folder)))
    except Unexpected as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
