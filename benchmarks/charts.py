"""How fast a drawing is read: a CSV export of 100,000 shapes, against `csv.reader` on the same one.

Ends with status 1 when a budget is missed.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import at_most, best, table, told
from quandary.formats import charts
from quandary.formats.charts import lucid
from quandary.settings.files import read_text

if TYPE_CHECKING:
    from measuring import Row

SHAPES = 100_000
HEADER = (
    "Id,Name,Shape Library,Page ID,Contained By,Group,Line Source,Line Destination,Source Arrow,"
    "Destination Arrow,Status,Text Area 1,Text Area 2,Comments,Tags,validate_cli,retries"
)


def main() -> int:
    """Measure, print a table, and judge."""
    with tempfile.TemporaryDirectory() as folder:
        return table(reading(Path(folder)))


def reading(folder: Path) -> list[Row]:
    """Reading the export, a smaller one for comparison, and reading and checking it."""
    path = drawn(folder / "large.csv", SHAPES)
    small = drawn(folder / "small.csv", SHAPES // 10)
    rows = best(lambda: only_rows(path), 9)
    read = best(lambda: chart(path), 9)
    growth = read / rows / (best(lambda: chart(small), 9) / best(lambda: only_rows(small), 9))
    checked = best(lambda: charts.load(path), 3)
    shown = f"{read * 1000:.0f} against {rows * 1000:.0f} ms"
    return [
        at_most(read / rows, 4, f"a CSV export of 100,000 shapes against csv.reader ({shown})"),
        at_most(growth, 2, "that ratio against the one with a tenth of the shapes"),
        told(checked / rows, f"the same with every check ({checked * 1000:.0f} ms)"),
    ]


def drawn(path: Path, count: int) -> str:
    """An export with that many shapes in a long line; every fifth has a tag, every seventh data."""
    lines = [HEADER, "1,Document,,,,,,,,,Draft,Large,,,,,", "2,Page,,,,,,,,,,Main,,,,,"]
    for n in range(count):
        tag, data = "CODEX" * (n % 5 == 0), "GEMINI" * (n % 7 == 0)
        lines.append(f"s{n},Process,Flowchart Shapes,2,,,,,,,,Do number {n},,,{tag},{data},")
    lines += (f"l{n},Line,,2,,,s{n},s{n + 1},None,Arrow,,,,,,," for n in range(count - 1))
    path.write_text("\r\n".join(lines), encoding="utf-8", newline="")
    return str(path)


def only_rows(path: str) -> None:
    """What `csv.reader` alone needs."""
    with open(path, encoding="utf-8", newline="") as file:
        for _ in csv.reader(file):
            pass


def chart(path: str) -> None:
    """What a chart needs."""
    found, problems = lucid.read_csv(read_text(path), path)
    assert found.pages[0].steps
    assert not problems


if __name__ == "__main__":
    sys.exit(main())
