"""What a fuzzer feeds: a reader of ours, and what has to hold whatever it is given."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.errors import QuandaryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"
LONGEST = 4096
"""So many bytes an input has at most."""
GROWN = 16 * LONGEST
"""And so many when it is repeated, to see whether the time grows with it."""
PATIENCE = 20.0
"""Seconds for an input, repeated or not. Whatever takes squares of its length takes far longer."""
_EVERY = 256
"""One input in so many is repeated."""


class Target(NamedTuple):
    """A reader under test."""

    name: str
    check: Callable[[bytes], None]
    """Raises anything but a `QuandaryError` where a rule is broken."""
    seeds: Callable[[], Iterable[bytes]]
    words: Sequence[str] = ()
    """What means something to the reader."""
    grows: bool = True
    """Whether the same input many times over is an input too."""


class Broken(AssertionError):  # noqa: N818 - said of a rule
    """A rule that did not hold."""


def hold(rule: bool, said: str) -> None:
    """Assert, whatever the interpreter was told about assertions."""
    if not rule:
        raise Broken(said)


def try_out(target: Target, data: bytes) -> None:
    """Feed one input, and now and then the same one many times over."""
    _timed(target, data)
    if target.grows and data and zlib.crc32(data) % _EVERY == 0:
        _timed(target, data * (GROWN // len(data)))


def _timed(target: Target, data: bytes) -> None:
    begun = time.process_time()
    try:
        target.check(data)
    except QuandaryError as refused:
        # An error is a line for people, whatever it quotes.
        hold(bool(str(refused).strip()), f"{type(refused).__name__} says nothing")
        str(refused).encode(errors="replace")
    took = time.process_time() - begun
    hold(took < PATIENCE, f"{len(data)} bytes took {took:.1f} s")


def folder() -> Path:
    """A folder that is there until the process ends."""
    name = tempfile.mkdtemp(prefix="quandary-fuzz-")
    atexit.register(shutil.rmtree, name, ignore_errors=True)
    return Path(name)


def text_of(data: bytes) -> str:
    """The text of a file; one that is no UTF-8 would not have come this far."""
    return data.decode(errors="replace")


def files(*patterns: str) -> list[bytes]:
    """What the examples hold."""
    return [path.read_bytes() for pattern in patterns for path in sorted(EXAMPLES.glob(pattern))]


# -- JSON out of any bytes -------------------------------------------------------------------------

_PLAIN: tuple[Any, ...] = (None, True, False, 0, 1, -1, 2**63, 1e308, 0.5, "", " ", "x", [], {})


def document(data: bytes, words: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON
    """A JSON document made of words that mean something, as the bytes say."""
    return _Builder(data, words).value(4)


def shaped(data: bytes, words: Sequence[str]) -> bytes:
    """Half of the inputs as they are, and half as JSON that is made of them."""
    if data[:1] < b"\x80":
        return data[1:]
    return json.dumps(document(data[1:], words)).encode()


class _Builder:
    def __init__(self, data: bytes, words: Sequence[str]) -> None:
        self.data = iter(data)
        self.words = words

    def _next(self) -> int:
        return next(self.data, 0)

    def value(self, depth: int) -> Any:  # noqa: ANN401 - any JSON
        kind = self._next()
        if kind < 60 and depth:
            return {self._word(): self.value(depth - 1) for _ in range(kind % 6)}
        if kind < 100 and depth:
            return [self.value(depth - 1) for _ in range(kind % 5)]
        if kind < 130:
            return _PLAIN[kind % len(_PLAIN)]
        if kind < 150:
            return " ".join(self._word() for _ in range(kind % 6))
        if kind < 160:
            return chr(kind) * (self._next() * 8)
        return self._word()

    def _word(self) -> str:
        return self.words[self._next() % len(self.words)]
