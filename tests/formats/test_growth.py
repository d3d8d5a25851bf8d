"""Twice the document takes about twice the time, whatever it is made of."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec
import pytest

from growth import is_linear
from quandary.flows.decide import level_problems
from quandary.formats.markdown import parse

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = "### ¶ASK_T\nTrigger: x\n\n## Decision: D\n"


def code(number: int) -> str:
    """A code of four letters for each number."""
    letters = ""
    for _ in range(4):
        letters += chr(ord("A") + number % 26)
        number //= 26
    return letters


KINDS: dict[str, tuple[int, Callable[[int], str]]] = {
    "options": (8000, lambda n: HEAD + "".join(f"- [{code(i)}] x{i}\n" for i in range(n))),
    "no codes": (2000, lambda n: HEAD + "".join(f"- x{i}\n" for i in range(n))),
    "stray text": (800, lambda n: HEAD + "".join(f"- [{code(i)}] x\n\nt\n\n" for i in range(n))),
    "duplicates": (1500, lambda n: HEAD + "- [OK] x\n" * n),
    "nested": (25, lambda n: HEAD + "".join("  " * i + "- [OK] x\n" for i in range(40)) * n),
    "trees": (
        200,
        lambda n: "".join(HEAD.replace("T", f"T{i}") + "- [OK] x\n\n" for i in range(n)),
    ),
    "trees of one name": (200, lambda n: (HEAD + "- [OK] x\n\n") * n),
    "decisions": (500, lambda n: HEAD + "- [OK] x\n\n## Decision: D\n" * n),
    "a long name": (
        2000,
        lambda n: (
            HEAD.replace("T", "T" * 10 * n, 1) + "".join(f"- [{code(i)}] x\n" for i in range(n))
        ),
    ),
    "names of rules": (
        4000,
        lambda n: (
            HEAD + "".join(f"<!-- quandary: ignore {chr(0x4E00 + i)} -->\n" for i in range(n))
        ),
    ),
    "rules in a line": (4000, lambda n: HEAD + "- [AA] x\n\n" + "`<!-- quandary: ignore a -->" * n),
    "lists": (1500, lambda n: HEAD + "- [OK] x\n> q\n" * n),
    "ignored": (4000, lambda n: HEAD + "- [AA] x\n" + "<!-- quandary: ignore indent -->\n" * n),
    "front matter": (20_000, lambda n: "---\n" + "a" * n + "\n" + HEAD),
    "keys": (8000, lambda n: "### ¶ASK_T\nTrigger: x\n" + "more\n" * n),
    "bullets": (200_000, lambda n: HEAD + "- " * n + "x\n"),
    "open fences": (3000, lambda n: "```\n~~~~\n" * n + HEAD),
    "open comments": (4000, lambda n: HEAD + "- [AA] <!-- x\n" * n),
    "quotes": (4000, lambda n: "> " * 50 + "x\n" + HEAD + "> ### ¶ASK_Q\n" * n),
}


def check(text: str) -> None:
    """Read a document and judge it."""
    assert msgspec.json.encode(parse(text).diagnostics)


@pytest.mark.parametrize("kind", KINDS)
def test_time_grows_with_the_document(kind: str) -> None:
    """Four times as much takes about four times as long."""
    size, make = KINDS[kind]
    assert is_linear(lambda n: partial(check, make(n)), size)


def test_many_options_are_begun_in_time() -> None:
    """Whether two siblings share a code is seen without comparing each with all the others."""

    def prepare(number: int) -> Callable[[], object]:
        [tree] = parse(KINDS["options"][1](number)).trees
        assert level_problems(tree) == []
        return partial(level_problems, tree)

    assert is_linear(prepare, 8_000)
