"""What a step costs beside the agent's own time, as ratios within one run; status 1 on a miss.

The peer is `subprocess.run` of the same program with the same prompt. The program needs some 20 ms,
as no real agent does. The two take turns, so that both share what else the machine is doing.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from quandary.agents.calling import Surroundings, make_call
from quandary.flows.responses import read_response
from quandary.model.calls import Call
from quandary.settings.agents import Catalogue, read_catalogue

STEPS = 100
AT_ONCE = 8
CALLS = 64
RESPONSE = json.dumps({"completed": True, "comments": "All of it is done, and checked twice."})
ENVELOPE = json.dumps({"type": "result", "result": RESPONSE, "usage": {"in": 900, "out": 40}})
PROMPT = "Write down what has changed since the last release, and for whom it matters. " * 40
AGENT = """\
import sys, time
time.sleep({seconds})
sys.stdin.read()
sys.stdout.write({envelope!r})
"""

Row = tuple[str, str, str, bool]
"""What was measured, the figure, the budget, and whether it was kept."""


def main() -> int:
    """Measure, print a table, and judge."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        around = Surroundings(folder, dict(os.environ))
        rows.append(asyncio.run(a_step(around)))
        rows.append(asyncio.run(many_at_once(around)))
    rows.append(a_hostile_output())
    for what, figure, budget, kept in rows:
        print(f"{'ok  ' if kept else 'MISS'} {figure:>8}  {budget:>9}  {what}")
    return 0 if all(kept for *_, kept in rows) else 1


def program(folder: str, seconds: float) -> tuple[list[str], Catalogue]:
    """A program that takes so long, and the catalogue with it as an agent."""
    path = Path(folder) / f"agent-{seconds}.py"
    path.write_text(AGENT.format(seconds=seconds, envelope=ENVELOPE), encoding="utf-8")
    argv = [sys.executable, "-IS", str(path)]
    table = {"argv": argv, "output": "json:result", "usage": ["usage.in", "usage.out"]}
    return argv, read_catalogue({"BENCH": table})


async def a_step(around: Surroundings) -> Row:
    """One call after another, each with prompt, envelope and response, against bare running."""
    argv, catalogue = program(around.folder, 0.005)
    call = Call("S1/run", "BENCH", PROMPT, "process")
    bare, ours = [], []
    for number in range(STEPS):
        for mine in (number % 2 == 0, number % 2 == 1):
            begun = time.perf_counter()
            if mine:
                output = await make_call(call, catalogue, around)
                ours.append(time.perf_counter() - begun)
                assert output.meaning is not None
                assert output.tokens == 940
            else:
                ended = subprocess.run(
                    argv, input=PROMPT.encode(), capture_output=True, check=True, cwd=around.folder
                )
                bare.append(time.perf_counter() - begun)
                assert ended.stdout.decode() == ENVELOPE
    usual = statistics.median(bare)
    ratio = statistics.median(ours) / usual
    what = f"a step, against subprocess.run of a program of {usual * 1000:.0f} ms"
    return what, f"{ratio:.2f} x", "<= 1.2 x", ratio <= 1.2


async def many_at_once(around: Surroundings) -> Row:
    """Calls of a 100 ms agent, eight at a time, against the time of one, eight times over.

    The agent only sleeps: interpreters that start together would wait for each other on few cores,
    and that would be measured instead.
    """
    catalogue = read_catalogue({"SLEEP": {"argv": ["sleep", "0.1"]}})
    call = Call("S1/run", "SLEEP", PROMPT)
    places = asyncio.Semaphore(AT_ONCE)

    async def one() -> float:
        async with places:
            output = await make_call(call, catalogue, around)
            assert output.status == 0
            return output.seconds

    alone = statistics.median([await one() for _ in range(5)])
    begun = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(CALLS)))
    ratio = (time.perf_counter() - begun) / (alone * CALLS / AT_ONCE)
    return f"{CALLS} calls, {AT_ONCE} at once", f"{ratio:.2f} x", "<= 1.2 x", ratio <= 1.2


def a_hostile_output() -> Row:
    """Reading output that is made to be hard to read, four times as long."""
    worst = 0.0
    for piece in ('{"a":', '{"a{"b":"', '{"completed":1}', '{"', "[{},"):
        seconds = []
        for size in (500_000, 2_000_000):
            text = '{"x":[' + piece * (size // len(piece)) + "completed"
            begun = time.process_time()
            assert read_response(text, "process").meaning is None
            seconds.append(time.process_time() - begun)
        worst = max(worst, seconds[1] / seconds[0])
    return "reading four times as much hostile text", f"{worst:.2f} x", "<= 8 x", worst <= 8


if __name__ == "__main__":
    sys.exit(main())
