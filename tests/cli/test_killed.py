"""The program killed while it replies: what it acknowledged is kept, once."""

from __future__ import annotations

import json
import random
import subprocess
import time
from typing import TYPE_CHECKING

import program
from quandary.journal import runs
from quandary.journal.entries import Answered
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 100


def test_killing_replies_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    """Some die before they have read anything, some while they write, some just after."""
    tree, path = tmp_path / "t.md", str(tmp_path / "journal.db")
    tree.write_text(program.DEPLOY, encoding="utf-8")
    items = json.dumps([{"id": str(n), "label": f"Build {n}"} for n in range(1, 10 * KILLS)])
    (tmp_path / "items.json").write_text(items, encoding="utf-8")
    asking = ("ask", str(tree), "--context", "Builds have passed and wait to go out.")
    began = program.start(*asking, "--items", str(tmp_path / "items.json"), "--store", path)
    run = json.loads(began.out)["run"]
    store = SqliteStore(path)
    state = runs.look(store, run)
    chance = random.Random(7)  # noqa: S311 - when to kill is no secret
    longest, killed = 0.3, 0
    acknowledged: dict[str | None, str] = {}
    for number in range(KILLS):
        token = f"reply {number}"
        assert state.ask is not None
        answers = [{"picked": ["NOW"], "comment": token} for _ in state.ask.questions]
        begun = time.monotonic()
        words = ("reply", run, "--to", str(state.key), "-", "--store", path)
        with subprocess.Popen(
            [*program.PROGRAM, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=program.environment(),
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"answers": answers}).encode())
            process.stdin.close()
            if number % 5:
                time.sleep(chance.uniform(0.4, 1.05) * longest)
                process.kill()
            said = process.stdout.read()
        if process.returncode == 0:
            longest = time.monotonic() - begun
        else:
            assert process.returncode == -9
            killed += 1
        if said.endswith(b"\n"):
            acknowledged[state.key] = token
        state = runs.look(store, run)
    booked: dict[str | None, str | None] = {}
    for entry in store.entries(run, kinds=("answered",)):
        body = entry.read()
        assert isinstance(body, Answered)
        assert body.key not in booked, "booked twice"
        booked[body.key] = entry.read_matter().answers[0].comment
    assert killed >= KILLS / 3
    assert len(acknowledged) >= KILLS / 5
    assert acknowledged.items() <= booked.items()
    assert verify(store).ok
