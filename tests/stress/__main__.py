"""`python -m stress a b`: work hard for a while, print what came of it, and end badly if it broke.

Without names of parts, all of them: a, b, c, d.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
import time
import traceback
from importlib import import_module
from pathlib import Path

from databases import served
from stress.ground import Ground, markdown, put

PARTS = {"a": "workers", "b": "people", "c": "sizes", "d": "soak"}


def main() -> int:
    """Run the parts, each on a server of its own."""
    parser = argparse.ArgumentParser(prog="make stress ARGS=…", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="a, b, c, d; all by default")
    parser.add_argument("--runs", type=int, default=20_000, help="a: runs of a chart")
    parser.add_argument("--workers", type=int, default=4, help="a: processes that walk them")
    parser.add_argument("--questions", type=int, default=1_000, help="b: questions asked")
    parser.add_argument("--people", type=int, default=50, help="b: people who answer them")
    parser.add_argument("--size", type=int, default=1_000_000, help="c: runs of the largest store")
    parser.add_argument(
        "--cycles", type=int, default=3_600, help="d: rounds of questions, pages, answers"
    )
    parser.add_argument(
        "--table",
        type=Path,
        metavar="FILE",
        help="write the table as Markdown, into a page that has marks for it",
    )
    given = parser.parse_args()
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}; there are: {', '.join(PARTS)}")
    rows = []
    failed = False
    for part in given.parts or PARTS:
        with (
            tempfile.TemporaryDirectory(prefix="quandary-stress-") as name,
            served(durable=True) as server,
        ):
            ground = Ground(Path(name), server, given)
            _run(ground, part)
        rows += ground.rows
        failed |= ground.failed
    if given.table is not None:
        put(given.table, markdown(rows, _command(parser, given)))
    return int(failed)


def _run(ground: Ground, part: str) -> None:
    """One part. If it breaks off, that is a failure, and the others are run all the same."""
    ground.part = part
    begun = time.monotonic()
    error = "none"
    try:
        import_module(f"stress.{PARTS[part]}").part(ground)
    except Exception as broken:  # noqa: BLE001 - whatever it is, it is shown and counts
        traceback.print_exc()
        error = repr(broken)
    ground.exactly("what kept it from its end", error, "none")
    ground.tell("all of this part", f"{time.monotonic() - begun:,.0f} s")


def _command(parser: argparse.ArgumentParser, given: argparse.Namespace) -> str:
    """What was asked for, without the file that nobody else needs."""
    words = [*given.parts]
    for name, value in vars(given).items():
        if name not in ("parts", "table") and value != parser.get_default(name):
            words += [f"--{name}", str(value)]
    return f"make stress ARGS='{shlex.join(words)}'" if words else "make stress"


if __name__ == "__main__":
    sys.exit(main())
