"""The page about reliability, and the table that the long run puts there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stress.__main__ import PARTS
from stress.ground import BEGIN, END, Ground, markdown, put
from stress.soak import rise

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")


def test_every_test_that_is_named_is_there() -> None:
    """In one of the files that its line names."""
    named = 0
    for line in PAGE.splitlines():
        files = [ROOT / name for name in re.findall(r"`(tests/[\w/]+\.py)`", line)]
        texts = [file.read_text(encoding="utf-8") for file in files]
        for test in re.findall(r"`(test_\w+)`", line):
            named += 1
            assert any(f"def {test}(" in text for text in texts), test
    assert named > 15


def test_every_part_of_the_long_run_is_explained() -> None:
    """The page has a word on each."""
    assert re.findall(r"^- \*\*(\w): (\w+)\.\*\*", PAGE, re.MULTILINE) == list(PARTS.items())


def test_a_table_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    """Between the marks of the page, and nowhere else."""
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    for table in ("| one |\n", "| two |\n"):
        put(page, table)
    before, _, rest = PAGE.partition(BEGIN)
    assert page.read_text(encoding="utf-8") == (
        f"{before}{BEGIN}\n| two |\n{END}{rest.partition(END)[2]}"
    )


def test_what_was_missed_is_said_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """A figure beyond its bound is a failure, not a remark."""
    ground = Ground(Path(), None, None)  # type: ignore[arg-type]  # neither is used
    ground.part = "a"
    ground.at_most("slower", 2.5, 2, " ×")
    ground.exactly("lost", 0, 0)
    assert ground.failed
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["FAIL", "ok"]
    assert "| a | slower | 2.5 × | ≤ 2 × | **missed** |" in markdown(ground.rows, "make stress")


@pytest.mark.parametrize("step", [-3.0, 0.0, 0.5])
def test_a_rise_is_that_of_the_line_through_all(step: float) -> None:
    """From the first sample to the last; what goes up and down again is none."""
    assert rise([step * n for n in range(101)]) == pytest.approx(100 * step)
    assert abs(rise([n % 2 for n in range(101)])) < 0.1
