"""How fast trees are found, as ratios within one run; ends with status 1 when a budget is missed.

The document is made of trees of many shapes with a little prose between them. markdown-it-py reads
the same text, and both must find the same nesting before any time counts.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from measuring import at_least, at_most, best, table
from quandary.formats.markdown import parse
from quandary.formats.markdown.writing import canonical

if TYPE_CHECKING:
    from quandary.model.tree import Option

MEGABYTE = 1_000_000
PROSE = """review the change before it goes out and tell whoever waits for it what was found in the
logs of yesterday because nobody has looked at them since the last release of the mobile client"""
WORDS = PROSE.split()

CHECK = """
import resource, sys
from quandary.__main__ import main
try:
    main()
except SystemExit as end:
    for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        print(sum(resource.getrusage(whose)[:2]), file=sys.stderr)
    raise
"""
"""Runs a command, and then says the seconds of its own process and of those that it started."""

Nested = list["Nested"]


def main() -> int:
    """Measure, print a table, and judge."""
    text = document(MEGABYTE)
    markdown_it = MarkdownIt("commonmark", {"maxNesting": 100})
    if ours(text) != theirs(markdown_it, text):
        print("the two readers disagree about the nesting")
        return 1
    by_turns = [
        (best(lambda: parse(text), 5), best(lambda: markdown_it.parse(text), 1)) for _ in range(3)
    ]
    fast, slow = (min(taken) for taken in zip(*by_turns, strict=True))
    shown = f"{fast * 1000:.0f} ms against {slow * 1000:.0f} ms"
    rows = [at_least(slow / fast, 30, f"parsing 1 MB against markdown-it-py ({shown})")]

    checking, formatting = (
        best(look, 3) for look in (lambda: parse(text).diagnostics, lambda: canonical(text))
    )
    shown = f"{formatting * 1000:.0f} ms against {checking * 1000:.0f} ms"
    rows.append(at_most(formatting / checking, 1.5, f"fmt --check against check, 1 MB ({shown})"))

    times: dict[int, float] = {}
    for size in (1, 2, 4, 8, 16):
        big = document(size * MEGABYTE)
        times[size] = best(partial(parse, big), 5)
    shown = ", ".join(f"{size} MB {seconds * 1000:.0f} ms" for size, seconds in times.items())
    growth = times[16] / times[1] / 16
    rows.append(at_most(growth, 1.5, f"growth from 1 to 16 MB, beyond linear ({shown})"))

    bare, checked = start_up()
    shown = f"{checked * 1000:.0f} ms against {bare * 1000:.0f} ms"
    rows.append(at_most(checked / bare, 8, f"quandary check against python -c pass ({shown})"))

    what = "of the time of quandary check, 5,000 files, spent by a process for each core"
    rows.append(at_least(shared_part(), 0.6, what))
    return table(rows)


def document(size: int) -> str:
    """A document of about that many characters, always the same one."""
    chance = random.Random(size)  # noqa: S311 - a document, not a secret
    parts: list[str] = []
    length = number = 0
    while length < size:
        part = tree(chance, number)
        parts.append(part)
        length += len(part)
        number += 1
    return "".join(parts)


def tree(chance: random.Random, number: int) -> str:
    """One tree; every third has three levels, every eighth two decisions and prose above it."""
    lines = [sentence(chance, 40) + ".", ""] if number % 8 == 0 else []
    lines += [f"### ¶ASK_TREE_{number}", f"Trigger: {sentence(chance, 9)}"]
    if number % 2:
        lines.append(f"Extras: A: {sentence(chance, 3)} | B: {sentence(chance, 4)}")
    for decision in range(2 if number % 8 == 0 else 1):
        lines += ["", f"## Decision: Number {number} part {decision}"]
        for code in ("OK", "INFO", "RWK"):
            lines += option(chance, 0, code)
            if code == "INFO" and number % 3 == 0:
                for child in ("YES", "NO", "ASK"):
                    lines += option(chance, 1, child)
                lines += ["  - [OTH] Other", *option(chance, 2, "DEF"), *option(chance, 2, "CUT")]
        lines += ["- [OTH] Other", *option(chance, 1, "CHG"), *option(chance, 1, "REM")]
    return "\n".join([*lines, "", ""])


def option(chance: random.Random, depth: int, code: str) -> list[str]:
    """An option's two lines."""
    indent = "  " * depth
    label, description = sentence(chance, 3), sentence(chance, 7)
    return [f"{indent}- [{code}] {label}", f"{indent}  {description}"]


def sentence(chance: random.Random, length: int) -> str:
    """So many words."""
    return " ".join(chance.choices(WORDS, k=length)).capitalize()


def ours(text: str) -> Nested:
    """The nesting of the options as Quandary finds it."""

    def nested(options: tuple[Option, ...]) -> Nested:
        return [nested(option.options) for option in options]

    return [nested(decision.options) for tree in parse(text).trees for decision in tree.decisions]


def theirs(reader: MarkdownIt, text: str) -> Nested:
    """The nesting of the list items as markdown-it-py finds it."""
    lists: Nested = []
    stack: list[Nested] = [lists]
    for token in reader.parse(text):
        if token.type in ("list_item_open", "bullet_list_open"):
            if token.type == "list_item_open" or len(stack) == 1:
                inner: Nested = []
                stack[-1].append(inner)
                stack.append(inner)
            else:
                stack.append(stack[-1])
        elif token.type in ("list_item_close", "bullet_list_close"):
            stack.pop()
    return lists


def start_up() -> tuple[float, float]:
    """Seconds for `python -c pass` and for `quandary check` of a small file, taken by turns."""
    program = str(Path(sys.executable).with_name("quandary"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "small.md")
        file.write_text(tree(random.Random(1), 1), encoding="utf-8")  # noqa: S311
        bare = checked = float("inf")
        for _ in range(15):
            bare = min(bare, best(lambda: run([sys.executable, "-c", "pass"]), 1))
            checked = min(checked, best(lambda: run([program, "check", str(file)]), 1))
    return bare, checked


def shared_part() -> float:
    """The part of the CPU time of `quandary check` that its processes take, and not itself.

    However busy the machine is, that part is what all cores can be used for.
    """
    chance = random.Random(1)  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        for number in range(5_000):
            text = "\n".join(tree(chance, number * 10 + n) for n in range(5))
            Path(folder, f"{number}.md").write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", CHECK, "check", folder]
        told = subprocess.run(command, check=True, capture_output=True, text=True)
    own, others = map(float, told.stderr.split()[-2:])
    return others / (own + others)


def run(command: list[str]) -> None:
    """Run a program that must succeed."""
    subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
