"""`make fuzz`: every target in turn, each for a while; what is found is a failure.

Where atheris can be imported, libFuzzer looks for inputs that reach new lines of the package, and
keeps them for the next time. Elsewhere Hypothesis makes them out of the examples.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz.target import Target

ROOMS = ("written", "replied", "visited", "kept")
HERE = Path(__file__).parents[2] / ".venv-fuzz"
"""Where inputs are kept from one time to the next."""
_SECONDS = 60
_LONGEST = 4096
_HANGS = 60
"""So many seconds for one input, the machine being busy; then it hangs."""


def main() -> int:
    """Fuzz every target that was named, or all of them; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="which; all by default")
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="for each of them")
    parser.add_argument("--engine", choices=("atheris", "hypothesis"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--again", metavar="FILE", help="feed the first target this one input")
    given = parser.parse_args()
    engine = given.engine or ("atheris" if find_spec("atheris") else "hypothesis")
    if given.one:
        return _fuzz(given.one, given.seconds, engine)
    found = targets()
    unknown = [name for name in given.targets if name not in found]
    if unknown:
        parser.error(f"there is no target {unknown[0]}; there are {', '.join(found)}")
    if given.again:
        found[given.targets[0]].check(Path(given.again).read_bytes())
        return 0
    return _in_turn(given.targets or list(found), given.seconds, engine)


def targets() -> dict[str, Target]:
    """Every target by its name."""
    return {one.name: one for room in ROOMS for one in _in_room(room)}


def _in_room(room: str) -> tuple[Target, ...]:
    found: tuple[Target, ...] = import_module(f"fuzz.{room}").TARGETS
    return found


def _called(name: str) -> Target:
    """The target of that name; the rooms behind its own are not loaded."""
    return next(one for room in ROOMS for one in _in_room(room) if one.name == name)


def _in_turn(names: list[str], seconds: int, engine: str) -> int:
    """Each in a process of its own, so that one that hangs or dies takes no other with it."""
    failed = []
    for name in names:
        begun = time.monotonic()
        words = ["--one", name, "--seconds", str(seconds), "--engine", engine]
        ended = subprocess.run(
            [sys.executable, "-m", "fuzz", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        took = time.monotonic() - begun
        if ended.returncode:
            failed.append(name)
            sys.stdout.write(_without_chatter(ended.stdout))
        last = _figures(ended.stdout)
        verdict = "FOUND SOMETHING" if ended.returncode else "ok"
        sys.stdout.write(f"{name:16} {took:6.0f} s  {engine}  {last:32} {verdict}\n")
        sys.stdout.flush()
    return 1 if failed else 0


def _without_chatter(output: str) -> str:
    """What an engine says of a finding, without what it says of itself."""
    kept = [line for line in output.splitlines() if not line.startswith(("INFO: ", "WARNING: "))]
    return "\n".join(kept)[-8_000:] + "\n"


def _figures(output: str) -> str:
    """How many inputs there were, as the engine tells it."""
    told = [line for line in output.splitlines() if line.startswith(("Done ", "stat::number"))]
    return told[-1] if told else ""


def _fuzz(name: str, seconds: int, engine: str) -> int:
    os.environ.setdefault("QUANDARY_STORE", os.path.join(tempfile.mkdtemp(), "journal.db"))
    try:
        return (_with_atheris if engine == "atheris" else _with_hypothesis)(name, seconds)
    finally:
        if "fuzz.visited" in sys.modules:
            import_module("fuzz.visited").close()


# -- atheris ---------------------------------------------------------------------------------------


def _with_atheris(name: str, seconds: int) -> int:
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["quandary"], enable_loader_override=False):
        target = _called(name)
    from fuzz.target import try_out  # noqa: PLC0415 - behind what is instrumented

    corpus = _corpus(target)
    words = HERE / "words" / f"{name}.txt"
    words.parent.mkdir(parents=True, exist_ok=True)
    words.write_text("".join(_entry(word) for word in target.words), encoding="utf-8")
    found = HERE / "found"
    found.mkdir(exist_ok=True)
    arguments = [
        sys.argv[0],
        f"-max_total_time={seconds}",
        f"-timeout={_HANGS}",
        f"-max_len={_LONGEST}",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={found}/{name}-",
        *([f"-dict={words}"] if target.words else []),
        str(corpus),
    ]
    atheris.Setup(arguments, lambda data: try_out(target, data))
    atheris.Fuzz()
    return 0


def _corpus(target: Target) -> Path:
    """The inputs that were interesting before, and the seeds."""
    folder = HERE / "corpus" / target.name
    folder.mkdir(parents=True, exist_ok=True)
    for seed in target.seeds():
        name = hashlib.sha256(seed).hexdigest()[:16]
        (folder / name).write_bytes(seed[:_LONGEST])
    return folder


def _entry(word: str) -> str:
    """A word as libFuzzer's dictionaries have them."""
    return '"' + "".join(f"\\x{octet:02x}" for octet in word.encode()) + '"\n'


# -- Hypothesis ------------------------------------------------------------------------------------


def _with_hypothesis(name: str, seconds: int) -> int:
    from fuzz.target import try_out  # noqa: PLC0415 - what it imports is not to be instrumented

    target = _called(name)
    ends, count = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        count += rounds(target, try_out, 200, random.randrange(2**32))  # noqa: S311 - no secret
    sys.stdout.write(f"Done {count} runs in {seconds} second(s)\n")
    return 0


def rounds(
    target: Target, feed: Callable[[Target, bytes], None], count: int, seed: int | None = None
) -> int:
    """Feed so many inputs; how many it were. What breaks a rule is shrunk, shown and raised."""
    import hypothesis  # noqa: PLC0415 - not needed by the other engine

    from fuzz.mutations import inputs  # noqa: PLC0415 - the same

    fed = 0

    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(inputs(target))
    def each(data: bytes) -> None:
        nonlocal fed
        fed += 1
        feed(target, data)

    if seed is not None:
        each = hypothesis.seed(seed)(each)
    each()
    return fed


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:  # noqa: BLE001 - libFuzzer's handlers may keep the interpreter from showing it
        traceback.print_exc()
        sys.exit(1)
