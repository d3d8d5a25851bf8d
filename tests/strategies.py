"""Hypothesis strategies for well-formed trees, shared by the tests of every room."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from quandary.formats.markdown import Codes
from quandary.model.tree import OTHER, Decision, Extra, Option, Tree

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

LEVELS = 4


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends; only CR, LF and CRLF end a line."""
    return re.split(r"\r\n?|\n", text)


HOSTILE = (
    "",
    '"',
    '"]; n1 --> n2["',
    "`code` and **bold**",
    "#quot; #35; &amp; &#35;",
    "style: #35;",
    "classDef x fill:#fff;",
    "%% not a comment",
    "%%{init: {}}%%",
    "end",
    "subgraph end",
    "a --> b --- c -.-> d ==> e",
    "[a] (b) {c} <d> |e| /f/ \\g\\",
    "<b onclick='x'>bold</b><br/><script>alert(1)</script>",
    "$$x^2$$ fa:fa-car",
    "1. a list",
    "- another",
    "first\nsecond\r\nthird\tfourth",
    "\\N \\G \\l \\",
    "ﬂ°°35¶ß ﬂ°amp¶ß",
    "日本語の選択肢",
    "👩\u200d👩\u200d👧 🇨🇭 👍🏽 ❤\ufe0f",
    "שלום العربية",
    "\x00\x07\x1b[31mred\x1b[0m\x7f\x85\x9b",
    "\u202egnp.exe\u2066\u2028\u2029\ufeff\ufffe\ud800",
    "a" * 10_000,
    "#" * 10_000,
    "&" * 10_000,
)
"""Texts that mean something, somewhere, to some program."""

_CHARACTERS = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@cache
def lines() -> SearchStrategy[str]:
    """A line of any Unicode text with something on it and no space around it."""
    # Plain words first: a failure about words is easier to read than one about runes.
    words = st.text("abcdefgh ijklmnop", min_size=1, max_size=24)
    anything = st.text(_CHARACTERS, min_size=1, max_size=16)
    return st.one_of(words, anything).map(str.strip).filter(bool)


@cache
def headings() -> SearchStrategy[str]:
    """A name that is no placeholder, which only templates have."""
    placeholder = re.compile(r"[\[{<].*[\]}>]$|choose\b", re.IGNORECASE)
    return lines().filter(lambda text: placeholder.match(text) is None)


@cache
def paragraphs() -> SearchStrategy[str]:
    """Nothing, a line, or a few."""
    return st.lists(lines(), max_size=2).map("\n".join)


@cache
def codes() -> SearchStrategy[str]:
    """One to eight capital letters."""
    return st.text(_LETTERS, min_size=1, max_size=8)


@cache
def names() -> SearchStrategy[str]:
    """A tree's name in UPPER_SNAKE."""
    word = st.text(_LETTERS, min_size=1, max_size=6)
    return st.lists(word, min_size=1, max_size=3).map("_".join)


@st.composite
def options(draw: DrawFn, code: str | None = None, levels: int = LEVELS) -> Option:
    """An option with at most `levels` levels, its own included."""
    branch = levels > 1 and draw(st.integers(0, 3)) == 0
    return Option(
        code=draw(codes()) if code is None else code,
        label=draw(lines()),
        description=draw(paragraphs()),
        multi=draw(st.integers(0, 4)) == 0,
        options=draw(siblings(levels - 1)) if branch else (),
    )


@st.composite
def siblings(draw: DrawFn, levels: int = LEVELS) -> tuple[Option, ...]:
    """One to four options with codes of their own, the last of them often OTH."""
    own = draw(st.lists(codes().filter(OTHER.__ne__), min_size=1, max_size=3, unique=True))
    every = [*own, OTHER] if draw(st.booleans()) else own
    return tuple(draw(options(code, levels)) for code in every)


@st.composite
def decisions(draw: DrawFn, name: str | None = None) -> Decision:
    """A decision with something to choose."""
    return Decision(name=draw(headings()) if name is None else name, options=draw(siblings()))


@st.composite
def trees(draw: DrawFn) -> Tree:
    """A bare decision, or a named tree of one to three with some of what its heading may say."""
    if draw(st.integers(0, 3)) == 0:
        decision = draw(decisions())
        return Tree(decision.name, (decision,), bare=True)
    roots = draw(st.lists(headings(), min_size=1, max_size=3, unique=True))
    extras = draw(st.lists(lines().filter(lambda text: "|" not in text), max_size=3))
    return Tree(
        name=draw(names()),
        decisions=tuple(draw(decisions(root)) for root in roots),
        trigger=draw(_sometimes(lines())),
        extras=tuple(Extra(letter, text) for letter, text in zip("ABC", extras, strict=False)),
        kind=draw(_sometimes(st.sampled_from(("transition", "advisory")))),
        question=draw(_sometimes(lines())),
        keywords=tuple(draw(st.lists(st.text("abcdefgh", min_size=1, max_size=8), max_size=3))),
    )


# -- trees as they may stand in Markdown ---------------------------------------------------------

LOOKS_LIKE_MARKDOWN = (
    *("- a list", "-", "* starred", "+ plus", "1. first", "2) second", "> quoted", ">", "* * *"),
    *("# heading", "## Decision: X", "### ¶ASK_X", "---", "===", "```", "~~~ sh", "    code"),
    *("<b>", "<div>", "</pre>", "<!-- open", "<?php", "| a | b |", "|---|---|"),
    *("[A] b", "[ ] c", "[x] d", "[]", "\\[A] b", "\\[ ] c", "\\\\", "[link](x)", "**[A]** b"),
    *("-[A] b", "[A][ ] b", "A] b", "(A) [ ] c", "a [ ]", "☐ b", "• [A] b", "*[A] b", "1.[A] b"),
    *("Trigger: now", "**Kind:** advisory", "a  ", "ends in a sign #", "`", "…", "*", "_ _ _"),
)
"""Lines that mean something to Markdown, or to us, where they stand alone."""


@cache
def marked_lines() -> SearchStrategy[str]:
    """A line of any text, or one that looks like something else than text."""
    return st.one_of(lines(), st.sampled_from(LOOKS_LIKE_MARKDOWN).map(str.strip))


@cache
def descriptions() -> SearchStrategy[str]:
    """Nothing, or paragraphs of lines that look like anything; the second begins in words."""
    below = st.builds(lambda word, text: f"{word} {text}", st.sampled_from("abc"), marked_lines())
    first = st.lists(marked_lines(), max_size=3).map("\n".join)
    further = st.builds(
        lambda a, b: "\n".join([a, *b]), below, st.lists(marked_lines(), max_size=1)
    )
    return st.one_of(
        first, st.builds(lambda a, b: f"{a}\n\n{b}", first.filter(bool), further), st.just("")
    )


@st.composite
def written_siblings(draw: DrawFn, levels: int = 3, first: str = "") -> tuple[Option, ...]:
    """Options with codes, flags and labels of all kinds, some of them without one or the other."""
    real = codes().filter("CODE".__ne__)  # which is a template's
    own = [first] if first else []
    own += draw(st.lists(st.one_of(st.just(""), real), min_size=1, max_size=3))
    written = [code for at, code in enumerate(own) if not code or code not in own[:at]]
    known = Codes(filter(None, written))
    words = lines().filter(lambda text: text[0].isalpha())
    found: list[Option] = []
    for code in written:
        # Where a code is missing, only words begin a label; anything else would begin a block.
        label = draw(st.one_of(marked_lines(), _sometimes(marked_lines())) if code else words)
        made = code or known.derive(label)
        branch = levels > 1 and draw(st.integers(0, 3)) == 0
        found.append(
            Option(
                code=made,
                label=label,
                description=draw(descriptions()),
                multi=draw(st.integers(0, 3)) == 0,
                options=draw(written_siblings(levels - 1)) if branch else (),
                derived=not code,
            )
        )
    return tuple(found)


@st.composite
def written_decisions(draw: DrawFn) -> Decision:
    """A decision with a question of its own or without."""
    return Decision(
        name=draw(headings()),
        options=draw(written_siblings()),
        question=draw(_sometimes(marked_lines())),
    )


@st.composite
def written_trees(draw: DrawFn) -> Tree:
    """Whatever can be said in Markdown: titles, bases, questions, missing codes and labels."""
    bare = draw(st.integers(0, 3)) == 0
    tree = draw(trees())
    decisions = tuple(draw(st.lists(written_decisions(), min_size=int(bare), max_size=2)))
    if bare:
        # Without a heading of its own it takes a code to tell a tree from other prose.
        first = replace(decisions[0], question="", options=draw(written_siblings(first="GO")))
        return replace(tree, name=first.name, decisions=(first,), bare=True)
    return replace(
        tree,
        bare=False,
        name=tree.name if not tree.bare else "WAS_BARE",
        title=draw(_sometimes(headings())),
        extends=draw(_sometimes(names())),
        trigger=draw(_sometimes(marked_lines())),
        decisions=decisions,
    )


def gathered(count: int) -> list[Tree]:
    """About that many trees at once, for judges that are slow to start."""
    found: list[Tree] = []

    @settings(max_examples=count, database=None)
    @given(trees())
    def gather(tree: Tree) -> None:
        found.append(tree)

    gather()
    return found


def _sometimes(text: SearchStrategy[str]) -> SearchStrategy[str]:
    """The text, or nothing."""
    return st.one_of(st.just(""), text)
