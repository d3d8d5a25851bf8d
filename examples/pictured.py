"""The journal that the pictures are taken of: weeks of answers, and a few questions that wait.

Every run is begun by the real commands, with the journal's clock set back for the earlier ones.
"""  # noqa: INP001

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
from contextlib import chdir, contextmanager, redirect_stdout
from datetime import timedelta
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import screenshot

from quandary import cli
from quandary.journal import chance, open_store
from quandary.journal import runs as driver
from quandary.model.asks import Answer, Ask, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).resolve().parent
NOTHING: dict[str, str] = {}
real_now = chance.now


class Habit(NamedTuple):
    """A question that has come up again and again, and how it was answered."""

    tree: str
    titles: tuple[str, ...]
    context: str
    answers: tuple[str, ...]
    minutes: float
    """How long an answer takes, more or less."""


HABITS = (
    Habit(
        "dependency-update.md#DEPENDENCY_UPDATE",
        ("msgspec 0.20", "click 8.3", "textual 6.4", "litestar 2.18"),
        "A new version has come out, and its tests have finished.",
        ("TAKE", "TAKE", "TAKE", "TAKE", "WAIT"),
        2,
    ),
    Habit(
        "flaky-test.md",
        ("test_orders_are_sorted", "test_two_logins", "test_upload"),
        "It has failed three times this week, and passed each time it was run again.",
        ("DIG", "PARK", "DIG", "OTH/RACE"),
        9,
    ),
    Habit(
        "support-ticket.md",
        ("Invoice shows the wrong year", "Cannot log in", "Export is empty"),
        "A new ticket has come in, and an answer is drafted.",
        ("ANS", "ANS", "ENG", "ASK", "ANS"),
        0.6,
    ),
    Habit(
        "release.md",
        ("Version 2.0.1", "Version 2.0.2", "Version 2.1.0"),
        "The candidate has passed every check.",
        ("GO", "SOFT", "GO"),
        140,
    ),
)
OFTEN = (5, 3, 8, 1)
"""How often each of them comes up, beside the others."""


class Waiting(NamedTuple):
    """A question that nobody has answered yet."""

    ago: timedelta
    project: str
    tree: str
    context: str
    items: tuple[str, ...]
    values: dict[str, str] = NOTHING


WAITING = (
    Waiting(
        timedelta(days=2, hours=3),
        "website",
        "purchase.md",
        "A search service would take the place of the slow one that we run ourselves.",
        ("1|Search|a hosted search",),
        {"price": "40 a month"},
    ),
    Waiting(
        timedelta(hours=5),
        "billing",
        "migration.md",
        "The rehearsal on a copy took four minutes, and the backup is an hour old.",
        ("1|0042|0042_orders_table",),
        {"database": "billing"},
    ),
    Waiting(
        timedelta(minutes=40),
        "shop",
        "access-request.md",
        "The web team looks for a fault that shows only with real orders.",
        ("1|Orders|the orders of last week",),
    ),
    Waiting(
        timedelta(minutes=3),
        "shop",
        "plan-review.md",
        screenshot.CONTEXT,
        tuple(f"{i.id}|{i.label}|{i.title}|{i.context}" for i in screenshot.ITEMS[:2]),
    ),
)


class House:
    """A folder with projects in it, and one journal for all of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = folder / "journal.db"
        os.environ.update(
            QUANDARY_STORE=str(self.journal),
            XDG_CONFIG_HOME=str(folder / "config"),
            XDG_DATA_HOME=str(folder / "data"),
        )
        for name in ("shop", "website", "billing"):
            shutil.copytree(EXAMPLES / "trees", folder / name)
            (folder / name / ".quandary").mkdir()
        shutil.copytree(EXAMPLES / "walk", folder / "fixes")
        advised = folder / "shop/dependency-update.md"
        text = advised.read_text(encoding="utf-8")
        advised.write_text(text.replace("Take it\n", "Take it (recommended)\n"), encoding="utf-8")

    def run(
        self, project: str, *words: str, ago: timedelta = timedelta(), proof: object = None
    ) -> Any:  # noqa: ANN401 - JSON
        """What a command prints that is run in a project, now or some time ago."""
        out = TextIOWrapper(BytesIO(), encoding="utf-8")
        with tempfile.TemporaryFile("w+", encoding="utf-8") as piped:
            piped.write("" if proof is None else json.dumps(proof))
            piped.seek(0)
            streams = patch.object(sys, "stdin", piped)
            with chdir(self.folder / project), redirect_stdout(out), streams, clock(ago):
                status = cli.run(words)
        if status:
            raise RuntimeError(f"quandary {' '.join(words)} ended with status {status}")
        out.seek(0)
        printed = out.read()
        return json.loads(printed) if printed else None

    def ask(self, asked: Waiting) -> str:
        """Put a tree before nobody in particular; the name of the run."""
        words = [word for item in asked.items for word in ("--item", item)]
        words += [word for pair in asked.values.items() for word in ("--set", "=".join(pair))]
        words += ["--context", asked.context, "--via", "relay"]
        return str(self.run(asked.project, "ask", asked.tree, *words, ago=asked.ago)["run"])

    def answer(self, run: str, code: str, ago: timedelta, through: str) -> None:
        """Book what a person chose."""
        store = open_store(str(self.journal))
        waiting = driver.look(store, run).ask
        if not isinstance(waiting, Ask):
            raise TypeError(f"{run} waits for nothing")
        reply = Reply(tuple(Answer(q.key, picked=(code,)) for q in waiting.questions))
        with clock(ago):
            driver.advance(store, run, reply, who="person", through=through)
        store.close()


@contextmanager
def clock(ago: timedelta) -> Iterator[None]:
    """The journal's clock, set back."""
    with patch.object(chance, "now", lambda: real_now() - ago):
        yield


def fill(house: House, days: int) -> dict[str, str]:
    """Some weeks of answers, a walk that was walked, and what waits now; runs by their names."""
    chance = random.Random(12)  # noqa: S311 - the same journal each time
    for day in range(days, 0, -1):
        busy = (real_now() - timedelta(days=day)).weekday() < 5
        for habit in chance.choices(HABITS, OFTEN, k=chance.randint(0, 5 if busy else 1)):
            ago = timedelta(days=day, minutes=-chance.randint(0, 500))
            item = f"1||{chance.choice(habit.titles)}"
            run = house.ask(Waiting(ago, "shop", habit.tree, habit.context, (item,)))
            taken = timedelta(minutes=habit.minutes * chance.lognormvariate(0, 1))
            through = chance.choice(("terminal", "web"))
            house.answer(run, chance.choice(habit.answers), ago - taken, through)
    runs = {"gate": release(house)}
    runs |= {waiting.project: house.ask(waiting) for waiting in WAITING}
    bug = "7|Dates|Dates are sorted wrongly|Reported by three people."
    return runs | {"walk": house.run("fixes", "walk", "fix.mmd", "--item", bug)["run"]}


def release(house: House) -> str:
    """A release on its way, with a gate that only a person opens."""
    phases = str(EXAMPLES / "release/phases.json")
    house.run("shop", "phase", "start", "release", "--phases", phases, ago=timedelta(days=5))
    for name in ("CHANGELOG.md", "package.tar"):
        (house.folder / "shop/release" / name).write_bytes(b"#\n" * 256)
    prepared = {"version": "2.2.0", "changelog": "CHANGELOG.md"}
    go = ("phase", "go", "release")
    house.run("shop", *go, "1: Prepare", ago=timedelta(days=5))
    house.run("shop", *go, "2: Build", ago=timedelta(days=4), proof=prepared)
    built = {"package": "package.tar", "tests": "412 passed, none failed", "warnings": 0}
    words = ("gate", "release", "--require", "person", "--via", "relay")
    return str(house.run("shop", *words, ago=timedelta(days=3), proof=built)["run"])
