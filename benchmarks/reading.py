"""How well and how fast replies are read; ends with status 1 when a threshold is missed.

The replies are those of `tests/reading/replies.jsonl`, each with what it means.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from measuring import Row, table
from quandary.model.asks import question_from_options
from quandary.reading import read

REPLIES = Path(__file__).parent.parent / "tests" / "reading" / "replies.jsonl"
ROUNDS = 5
MILLISECOND = 1000


def main() -> int:
    """Read every reply, print what was right, and judge."""
    right: Counter[str] = Counter()
    count: Counter[str] = Counter()
    wrong = 0
    seconds: list[float] = []
    for line in REPLIES.read_text("utf-8").splitlines():
        case = json.loads(line)
        asked = question_from_options(case["question"], case["options"], case["multi"])
        text, mode, expected = case["reply"], case["mode"], case["expected"]
        found = read(text, asked, mode)
        times: list[float] = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            read(text, asked, mode)
            times.append(time.perf_counter() - begun)
        seconds.append(statistics.median(times))
        count[case["class"]] += 1
        fits = [found.kind, *found.codes] == [expected["kind"], *expected["codes"]]
        right[case["class"]] += fits
        wrong += found.kind == "pick" and not fits
    for name in sorted(count):
        share = right[name] / count[name]
        print(f"      {name:18} {right[name]:4} of {count[name]:4}  {share:7.1%}")
    return judge(right, count, wrong, seconds)


def judge(right: Counter[str], count: Counter[str], wrong: int, seconds: list[float]) -> int:
    """Print each threshold and whether it is kept."""
    share = (right.total() - right["synonym"]) / (count.total() - count["synonym"])
    cuts = statistics.quantiles(seconds, n=100)
    p50, p99 = cuts[49] * MILLISECOND, cuts[98] * MILLISECOND
    rows = [
        Row("replies read right, synonyms apart", f"{share:.1%}", ">= 96 %", share >= 0.96),
        Row("wrong picks", str(wrong), "0", not wrong),
        Row(f"per reply, p50 (p99 {p99:.2f} ms)", f"{p50:.2f} ms", "<= 1 ms", p50 <= 1),
    ]
    return table(rows)


if __name__ == "__main__":
    sys.exit(main())
