"""The block structure of Markdown, held against another implementation of CommonMark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from quandary.formats.markdown.blocks import (
    MAX_NESTING,
    Block,
    expand,
    scan,
    source_column,
)
from strategies import split_lines

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

ORACLE = MarkdownIt("commonmark", {"maxNesting": 400})

Shape = tuple[object, ...]


def blocks(text: str) -> list[Shape]:
    """What `scan` sees: kind, lines and content of every block, as nested tuples."""
    return [_shape(block, exact="\t" not in text) for block in scan(split_lines(text)).children]


def _shape(block: Block, *, exact: bool = True) -> Shape:
    kind, line, end = block.kind, block.line, block.end
    if kind in ("item", "quote"):
        return kind, line, [_shape(child, exact=exact) for child in block.children]
    if kind == "heading":
        return kind, line, end, block.level, _stripped(block.text)
    if kind == "paragraph":
        return kind, line, end, _stripped(block.text)
    if kind == "fence":
        return kind, line, end, _raw([text for _, _, text in block.lines], exact=exact)
    if kind == "rule":
        return kind, line
    return kind, line, _words(block.text)


def oracle(text: str) -> list[Shape]:
    """The same as markdown-it-py sees it."""
    tokens = ORACLE.parse(text)
    exact = "\t" not in text
    levels: list[list[Shape]] = [[]]
    for index, token in enumerate(tokens):
        start, end = token.map or (0, 0)
        if token.type in ("list_item_open", "blockquote_open"):
            inner: list[Shape] = []
            levels[-1].append(("item" if token.type[0] == "l" else "quote", start, inner))
            levels.append(inner)
        elif token.type in ("list_item_close", "blockquote_close"):
            levels.pop()
        elif token.type == "heading_open":
            content = _stripped(tokens[index + 1].content)
            levels[-1].append(("heading", start, end - 1, int(token.tag[1]), content))
        elif token.type == "paragraph_open":
            levels[-1].append(("paragraph", start, end - 1, _stripped(tokens[index + 1].content)))
        elif token.type == "fence":
            lines = token.content.split("\n")[:-1]
            levels[-1].append(("fence", start, end - 1, _raw(lines, exact=exact)))
        elif token.type in ("code_block", "html_block"):
            levels[-1].append((token.type.removesuffix("_block"), start, _words(token.content)))
        elif token.type == "hr":
            levels[-1].append(("rule", start))
    return levels[0]


def _stripped(text: str) -> list[str]:
    """Lines of inline text, whose outer blanks mean nothing."""
    return [line.strip(" \t") for line in text.split("\n")]


def _raw(lines: list[str], *, exact: bool) -> list[str]:
    """Lines of a fence to the letter, but for tabs, which the two cut up in different ways."""
    return [line if exact and line.strip() else " ".join(line.split()) for line in lines]


def _words(text: str) -> list[list[str]]:
    """The words of each line of code or HTML that has any."""
    return [line.split() for line in text.split("\n") if line.strip()]


# -- any document ------------------------------------------------------------------------------

BULLETS = ("-", "*", "+", "1.", "1)", "2.", "10)", "007.")
WORDS = (
    "foo",
    "bar baz",
    "a\\",
    "[x] y",
    "*em*",
    "¶ASK_A",
    "日本",
    "f\tg",
    "x  ",
    "a #",
    "1.5",
    "-x",
)
STARTS = (
    *("# h", "#", "###", "## Decision: X ##", "####### no", "#no", "#\tx", "# a # b #", "## \\#"),
    *("```", "````", "~~~", "~~~~~", "``` info", "~~~ `x`", "``` a`b", "``", "```  ", "~~~  "),
    *("---", "===", "--", "=", "***", "_ _ _", "- - -", "---  ", "**", "__", "--- x"),
    *("<!-- c -->", "<!--", "c -->", "<!-- a --> b", "<div>", "</div>", "<b>", '<b x="1">', "</b>"),
    *("<b>no", "<b", "<pre>", "</pre> x", "<?php", "?>", "<!DOCTYPE x>", "<!x", "<![CDATA[", "]]>"),
    *("<script>", "</SCRIPT>", "<Table", "<hr/>", "<a href='x' b>", "<https://x.y>"),
)


_EMPTY_ITEM = re.compile(r"(?:^|\s)(?:[-*+]|\d+[.)])\s*$")


@st.composite
def documents(draw: DrawFn) -> str:
    """Any mixture of blocks, nested in every way, some of it in quotes and with tabs.

    markdown-it-py departs from CommonMark in four corners, which are left out here and pinned to
    what the specification says further down: a block quote is continued by a `>` that is indented
    by four or more columns; a lazy line indented by four or more columns ends its paragraph if it
    looks like the start of a block; a tab that the indent of a fence cuts in two; tabs behind
    a second `>` are counted from the wrong column. So whatever begins a block stands at most three
    columns right of the content of an item above it, and no tab stands on a line with a `>`.
    """
    open_at = [0]
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 9))):
        line, open_at = draw(_lines(open_at))
        if not line.strip() and lines and _EMPTY_ITEM.search(lines[-1]):
            open_at = open_at[:-1] or [0]  # a blank line ends an item that has nothing in it
        lines.append(line)
    for prefix in draw(st.lists(st.sampled_from(("- ", "1.  ", "10) ", "> ")), max_size=2)):
        if lines[0][:1].strip():
            further = "> " if prefix == "> " else " " * len(prefix)
            lines = [prefix + lines[0], *(further + line for line in lines[1:])]
    if draw(st.booleans()):
        lines = [line if ">" in line else _with_tabs(line) for line in lines]
    end = draw(st.sampled_from(("\n", "\r\n", "\r")))
    return "".join(line + end for line in lines)


@st.composite
def _lines(draw: DrawFn, open_at: list[int]) -> tuple[str, list[int]]:
    """A line that belongs somewhere in the items above it, and the columns of their contents."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(("", "  ", "      "))), open_at
    base = draw(st.sampled_from(open_at))
    open_at = [column for column in open_at if column <= base]
    if draw(st.integers(0, 5)) == 0:
        return " " * (base + draw(st.integers(4, 6))) + draw(st.sampled_from(WORDS)), open_at
    line = " " * (base + draw(st.integers(0, 3)))
    quoted = False
    for marker in draw(st.lists(st.sampled_from((*BULLETS, ">", ">")), max_size=3)):
        quoted = quoted or marker == ">"
        spaces = draw(st.sampled_from((1, 1, 1, 2, 3, 4, 5, 7)))
        line += marker + " " * (spaces if marker != ">" else spaces % 3)
        if not quoted:
            open_at.append(len(line) if spaces < 5 else len(line) - spaces + 1)
    return line + draw(st.sampled_from(("", *WORDS, *STARTS, *STARTS))), open_at


def _with_tabs(line: str) -> str:
    """The line with tabs for the spaces before and between its markers that reach a tab stop."""
    lead = re.match(r"(?:[-*+]|\d+[.)]|(?= ))(?: +(?:[-*+]|\d+[.)])(?= ))* +|", line)
    cut = lead.end() if lead else 0
    stops = [line[at : at + 4] for at in range(0, cut - cut % 4, 4)]
    return "".join(re.sub(" +$", "\t", stop) for stop in stops) + line[cut - cut % 4 :]


@settings(max_examples=300)
@given(documents())
def test_any_document_has_the_structure_that_commonmark_gives_it(text: str) -> None:
    """Kinds, nesting, line numbers and contents are those of another implementation."""
    assert oracle(text) == blocks(text.removesuffix("\n").removesuffix("\r"))


# -- what the specification says ---------------------------------------------------------------


def sketch(text: str) -> str:
    """The blocks of a text in short: `item(a|b quote(c)) h2:d fence:e code:f html:g rule`."""
    return " ".join(map(_sketched, scan(split_lines(text)).children))


def _sketched(block: Block) -> str:
    if block.kind in ("item", "quote"):
        return f"{block.kind}({' '.join(map(_sketched, block.children))})"
    name = f"h{block.level}" if block.kind == "heading" else block.kind
    lines = "|".join(text for _, _, text in block.lines)
    if block.kind == "paragraph":
        return lines
    return name if block.kind == "rule" else f"{name}:{lines}"


def check(*cases: tuple[str, str]) -> pytest.MarkDecorator:
    """A table of texts and their blocks."""
    return pytest.mark.parametrize(("text", "expected"), cases)


@check(
    ("- a\n  b", "item(a|b)"),
    ("- a\n\n  b", "item(a b)"),
    ("- a\n\n b", "item(a) b"),
    ("-    a\n\n     b", "item(a b)"),
    ("-    a\n\n   b", "item(a) b"),
    ("-     a\n\n  b", "item(code:a b)"),
    ("1.  a\n\n    b", "item(a b)"),
    ("10) a\n\n    b", "item(a b)"),
    ("   - a\n\n     b", "item(a b)"),
    ("    - a", "code:- a"),
    ("- a\n - b\n  - c\n   - d\n    - e", "item(a) item(b) item(c) item(d|- e)"),
    ("- a\n  - b\n    - c\n- d", "item(a item(b item(c))) item(d)"),
    ("- a\n    - b", "item(a item(b))"),
    ("- a\n      - b", "item(a|- b)"),
    ("1. a\n  - b", "item(a) item(b)"),
    ("1. a\n   - b", "item(a item(b))"),
    ("- - a", "item(item(a))"),
    ("1. - 2. a", "item(item(item(a)))"),
    ("-a", "-a"),
    ("1.a", "1.a"),
    ("-\u00a0a", "-\u00a0a"),
    ("1234567890. a", "1234567890. a"),
    ("-1. a", "-1. a"),
    ("- a\n* b\n+ c", "item(a) item(b) item(c)"),
    ("- # a\n- b\n  ---\n  c", "item(h1:a) item(h2:b c)"),
    ("-\ta\n\n\tb", "item(a b)"),
    ("\t- a", "code:- a"),
    ("- a\n\t- b\n\t\t- c", "item(a item(b item(c)))"),
    (" -\ta\n\n   b", "item(a) b"),
    (" -\ta\n\n    b", "item(a b)"),
)
def test_an_item_holds_what_is_indented_as_far_as_its_content(text: str, expected: str) -> None:
    """Marker and one to four spaces are an item's width; what is indented less is outside."""
    assert expected == sketch(text)


@check(
    ("-\n  a", "item(a)"),
    ("-   \n  a", "item(a)"),
    ("-\n\n  a", "item() a"),
    ("- a\n-\n- b", "item(a) item() item(b)"),
    ("*", "item()"),
    ("1.", "item()"),
    ("a\n*", "a|*"),
    ("a\n1.", "a|1."),
    ("a\n\n*", "a item()"),
    ("- a\n  -\n  b", "item(h2:a b)"),
    ("- a\n  *\n  b", "item(a|*|b)"),
    ("-\n  - a", "item(item(a))"),
)
def test_an_item_may_be_empty_but_not_right_below_text(text: str, expected: str) -> None:
    """An item may begin with one empty line at most, and an empty one interrupts nothing."""
    assert expected == sketch(text)


@check(
    ("a\n1. b", "a item(b)"),
    ("a\n01) b", "a item(b)"),
    ("a\n2. b", "a|2. b"),
    ("a\n0. b", "a|0. b"),
    ("a\n14. b", "a|14. b"),
    ("a\n\n2. b", "a item(b)"),
    ("a\n- b", "a item(b)"),
    ("# a\n2. b", "h1:a item(b)"),
    ("- a\n2. b", "item(a) item(b)"),
    ("- a\n  2. b", "item(a|2. b)"),
    ("> a\n2. b", "quote(a) item(b)"),
)
def test_a_numbered_list_interrupts_a_paragraph_only_from_one(text: str, expected: str) -> None:
    """A line of text that happens to begin with a number stays text."""
    assert expected == sketch(text)


@check(
    ("# a", "h1:a"),
    ("###### a", "h6:a"),
    ("####### a", "####### a"),
    ("#a", "#a"),
    ("#", "h1:"),
    ("#\ta", "h1:a"),
    ("   ## a", "h2:a"),
    ("    ## a", "code:## a"),
    ("a\n    ## b", "a|## b"),
    ("a\n## b\nc", "a h2:b c"),
    ("## a ##", "h2:a"),
    ("## a ########  ", "h2:a"),
    ("## a#", "h2:a#"),
    ("## a # b", "h2:a # b"),
    ("## ##", "h2:"),
    ("\\## a", "\\## a"),
)
def test_headings_begin_with_one_to_six_signs_and_a_space(text: str, expected: str) -> None:
    """Closing signs are left out if a space is before them; four spaces make no heading."""
    assert expected == sketch(text)


@check(
    ("a\n=", "h1:a"),
    ("a\n-", "h2:a"),
    ("a\nb\n   ---  ", "h2:a|b"),
    ("a\n    ---", "a|---"),
    ("a\n= =", "a|= ="),
    ("a\n--- -", "a rule"),
    ("a\n\n---", "a rule"),
    ("a\n\n===", "a ==="),
    ("- a\n---", "item(a) rule"),
    ("- a\n===", "item(a|===)"),
    ("> a\n---", "quote(a) rule"),
    ("> a\n> ---", "quote(h2:a)"),
    ("- a\n  ---", "item(h2:a)"),
)
def test_a_line_below_text_makes_it_a_heading(text: str, expected: str) -> None:
    """It has to stand in the same container as the text, with nothing else on it."""
    assert expected == sketch(text)


@check(
    ("---", "rule"),
    ("***", "rule"),
    (" _  _ _\t", "rule"),
    ("--", "--"),
    ("_-_", "_-_"),
    ("- - -", "rule"),
    ("* * * a", "item(item(item(a)))"),
    ("- a\n***\n- b", "item(a) rule item(b)"),
    ("+++", "+++"),
    ("a\n***", "a rule"),
)
def test_three_of_a_kind_are_a_thematic_break(text: str, expected: str) -> None:
    """Blanks between them do not matter, and a break comes before a list item."""
    assert expected == sketch(text)


@check(
    ("```\na\n```\nb", "fence:a b"),
    ("~~~\na\n~~~\nb", "fence:a b"),
    ("```\na\n~~~\n```", "fence:a|~~~"),
    ("````\na\n```\n````\nb", "fence:a|``` b"),
    ("```\na\n`````\nb", "fence:a b"),
    ("```\na\n``` x\n```", "fence:a|``` x"),
    ("```\na\n   ```  \nb", "fence:a b"),
    ("```\na\n    ```\nb", "fence:a|    ```|b"),
    ("```\na", "fence:a"),
    ("``\na\n``", "``|a|``"),
    ("``` a`b\nc", "``` a`b|c"),
    ("~~~ a`b\nc\n~~~", "fence:c"),
    ("a\n```\nb\n```\nc", "a fence:b c"),
    ("  ```\n    a\n   b\n c\n  ```", "fence:  a| b|c"),
    ("    ```\na", "code:``` a"),
    ("```\n\n\n```", "fence:|"),
    ("```\n```", "fence:"),
    ("- ```\n  a\nb", "item(fence:a) b"),
    ("- ```\n\n  a\n  ```\n  b", "item(fence:|a b)"),
    ("> ```\na", "quote(fence:) a"),
    ("```\n# a\n- b\n> c\n<d>\n```", "fence:# a|- b|> c|<d>"),
)
def test_a_fence_ends_at_a_line_as_long_and_of_its_kind(text: str, expected: str) -> None:
    """The closing line has nothing behind it and at most three spaces before it."""
    assert expected == sketch(text)


@pytest.mark.parametrize(
    ("text", "closed"), [("```\na\n```", True), ("```\na", False), ("- ~~~\na", False)]
)
def test_a_fence_knows_whether_it_was_closed(text: str, closed: bool) -> None:
    """An open fence reaches to the end of its container, and whoever reads on can tell."""
    block = scan(split_lines(text)).children[0]
    fence = block if block.kind == "fence" else block.children[0]
    assert closed == fence.closed


@check(
    ("<script>\n\na\n</script> b\nc", "html:<script>||a|</script> b c"),
    ("<PRE\n\na</textarea>\nb", "html:<PRE||a</textarea> b"),
    ("<style>a</style>\nb", "html:<style>a</style> b"),
    ("<!-- a\n\nb --> c\nd", "html:<!-- a||b --> c d"),
    ("<!-- a -->\nb", "html:<!-- a --> b"),
    ("<?a\n\n?>\nb", "html:<?a||?> b"),
    ("<!DOCTYPE\n\na>\nb", "html:<!DOCTYPE||a> b"),
    ("<![CDATA[\n\n]]>\nb", "html:<![CDATA[||]]> b"),
    ("<div>\na\n\nb", "html:<div>|a b"),
    ("</div\na\n\nb", "html:</div|a b"),
    ("<TABLE/>\na", "html:<TABLE/>|a"),
    ("<divx\na", "<divx|a"),
    ("<b>\na\n\nc", "html:<b>|a c"),
    ("</b >\na", "html:</b >|a"),
    ("<b c='1' d=\"2\" e=3 f />\na", "html:<b c='1' d=\"2\" e=3 f />|a"),
    ("<b>a", "<b>a"),
    ("<b c='1'd>", "<b c='1'd>"),
    ("a\n<div>\nb", "a html:<div>|b"),
    ("a\n<!-- b -->\nc", "a html:<!-- b --> c"),
    ("a\n<b>\nc", "a|<b>|c"),
    ("   <b>\na", "html:<b>|a"),
    ("    <b>", "code:<b>"),
    ("- <div>\na", "item(html:<div>) a"),
    ("<!-- a\n- b\n-->\n- c", "html:<!-- a|- b|--> item(c)"),
    ("<!--> a -->\nb", "html:<!--> a --> b"),
)
def test_html_of_each_kind_ends_where_its_kind_ends(text: str, expected: str) -> None:
    """Five kinds end at their closing mark, two at an empty line; a lone tag interrupts nothing."""
    assert expected == sketch(text)


@check(
    ("> a\n> b", "quote(a|b)"),
    (">a\n>b", "quote(a|b)"),
    ("> a\nb", "quote(a|b)"),
    ("> a\n\nb", "quote(a) b"),
    ("> a\n- b", "quote(a) item(b)"),
    ("> - a\nb", "quote(item(a|b))"),
    ("> - a\n- b", "quote(item(a)) item(b)"),
    ("> a\n\n> b", "quote(a) quote(b)"),
    (">\n> a\n>", "quote(a)"),
    (">     a", "quote(code:a)"),
    ("> > > a\nb", "quote(quote(quote(a|b)))"),
    ("> ## a", "quote(h2:a)"),
    ("    > a", "code:> a"),
    ("- > a\n  > b\n> c", "item(quote(a|b)) quote(c)"),
    ("1. > 2. a\nb", "item(quote(item(a|b)))"),
)
def test_quotes_go_on_while_their_marks_or_their_text_does(text: str, expected: str) -> None:
    """A mark may be left out where the line only goes on with a paragraph."""
    assert expected == sketch(text)


@check(
    ("a\n    b", "a|b"),
    ("a\n\n    b\n\n    c\n", "a code:b|c"),
    ("\ta\n\t\tb", "code:a|\tb"),
    ("  \ta", "code:a"),
    ("    a\nb", "code:a b"),
)
def test_four_spaces_or_a_tab_make_code_but_never_below_text(text: str, expected: str) -> None:
    """Indented text right below a paragraph goes on with it."""
    assert expected == sketch(text)


@check(
    ("> a\n    > b", "quote(a|> b)"),
    (">\n    > a", "quote() code:> a"),
    ("1.   a\n    # b", "item(a|# b)"),
    ("1.   a\n    - b", "item(a|- b)"),
    ("1.   a\n    ---", "item(a|---)"),
    ("1.   a\n    > b", "item(a|> b)"),
    ("1.   a\n    ```", "item(a|```)"),
    ("> ```\n>\ta", "quote(fence:  a)"),
    (" ```\n\ta", "fence:   a"),
    (">\t\ta", "quote(code:  a)"),
    ("-\t\ta", "item(code:  a)"),
    ("> 10.  \ta", "quote(item(a))"),
    (">>> \ta", "quote(quote(quote(code:a)))"),
    (">>- \ta", "quote(quote(item(code:a)))"),
    (">>1. \ta", "quote(quote(item(a)))"),
)
def test_where_the_other_implementation_departs_the_specification_rules(
    text: str, expected: str
) -> None:
    """A `>` or a block's start indented by four columns is text; tabs keep their columns."""
    assert expected == sketch(text)


# -- lines and columns -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x00"]
)
def test_nothing_else_ends_a_line(character: str) -> None:
    """What Python's splitlines takes for the end of a line is text here, as it is in editors."""
    text = f"# a{character}# b"
    assert f"h1:a{character}# b" == sketch(text)


def test_blank_means_spaces_and_tabs_only() -> None:
    """A line with nothing but a no-break space or a form feed on it is text."""
    assert sketch("a\n\u00a0\nb") == "a|\u00a0|b"
    assert sketch("a\n\x0c\nb") == "a|\x0c|b"
    assert sketch("a\n \t \nb") == "a b"


@pytest.mark.parametrize(
    ("written", "expanded"),
    [
        ("a\tb", "a\tb"),
        ("\ta", "    a"),
        (" \ta\tb", "    a\tb"),
        ("-\ta", "-   a"),
        ("-\t>\t1.\ta\t", "-   >   1.  a\t"),
        ("日\ta", "日\ta"),
        ("- a", "- a"),
    ],
)
def test_tabs_among_the_leading_marks_reach_to_the_next_fourth_column(
    written: str, expanded: str
) -> None:
    """Behind the first word a tab is a character like any other."""
    assert expanded == expand(written)


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("- a", 0, 1),
        ("- a", 2, 3),
        ("日本", 1, 2),
        ("\ta", 0, 1),
        ("\ta", 4, 2),
        ("\ta", 5, 3),
        ("\ta", 2, 2),
        ("-\ta", 4, 3),
        ("  \t- a", 4, 4),
        ("\t\t- a", 8, 3),
        ("a", 9, 10),
        ("\ta", 9, 3),
    ],
)
def test_columns_are_counted_in_the_line_as_written(line: str, column: int, expected: int) -> None:
    """A tab is one character, whatever it looks like; past the end is right behind the end."""
    assert expected == source_column(line, column)


def test_a_block_says_where_it_begins() -> None:
    """Line, last line and column of everything, with tabs expanded."""
    root = scan(split_lines("# a\n- b\n\t1. c\n\n\t   d\n"))
    heading, item = root.children
    inner = item.children[1]
    assert (heading.line, heading.end, heading.column) == (0, 0, 0)
    assert (item.line, item.end, item.column) == (1, 4, 0)
    assert (inner.line, inner.end, inner.column) == (2, 4, 4)
    assert [child.lines for child in inner.children] == [[(2, 7, "c")], [(4, 7, "d")]]
    assert (item.marker, item.indent, item.width) == ("-", 2, 2)
    assert (inner.marker, inner.indent, inner.width) == ("1.", 7, 5)


# -- no text is too much -----------------------------------------------------------------------


def depth(block: Block) -> int:
    """How many containers lie one inside the other, the document included."""
    levels, deepest = [block], 0
    while levels:
        deepest += 1
        levels = [child for b in levels for child in b.children if child.kind in ("item", "quote")]
    return deepest


@pytest.mark.parametrize("mark", ["- ", "> ", "1. ", "- > ", ">"])
def test_containers_beyond_the_limit_are_text(mark: str) -> None:
    """Nesting stops at MAX_NESTING, and what is left of the line is a paragraph."""
    root = scan([mark * 10_000 + "a"])
    assert depth(root) == MAX_NESTING
    innermost = root
    while innermost.children:
        innermost = innermost.children[0]
    assert innermost.kind == "paragraph"
    assert innermost.text.endswith("a")


def test_containers_up_to_the_limit_are_kept() -> None:
    """One below the limit is still an item, by its indentation just as on one line."""
    count = MAX_NESTING - 1
    lines = ["  " * level + "- a" for level in range(count)]
    assert depth(scan(lines)) == MAX_NESTING
    assert depth(scan(["- " * count + "a"])) == MAX_NESTING
    assert depth(scan(lines[:-1])) == MAX_NESTING - 1


@given(st.text())
def test_any_text_has_blocks(text: str) -> None:
    """There is no wrong Markdown, and every line with something on it is in some block."""
    lines = split_lines(text)
    root = scan(lines)
    ends = [child.end for child in root.children]
    assert ends == sorted(ends)
    inside = {n for child in root.children for n in range(child.line, child.end + 1)}
    assert {n for n, line in enumerate(lines) if line.strip(" \t")} <= inside
