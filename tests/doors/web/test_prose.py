"""Texts that others wrote, laid out: what they show, and that nothing in them does harm."""

from __future__ import annotations

import gc
import re
from time import thread_time

import pytest

from quandary.doors.web.prose import (
    LONGEST,
    compare,
    find_host,
    read_diff,
    render,
    render_diff,
    render_json,
    render_line,
    render_lines,
    render_table,
)

PROSE = "Some **bold** text with `code` and [a link](https://example.org/x).\n\n- one\n- two\n\n"
HOSTILE = {
    "brackets": "[" * 100_000,
    "links": "[a](" * 25_000,
    "stars": "*a **b " * 14_000,
    "underscores": "_a" * 50_000,
    "quotes": "> " * 50_000 + "x",
    "nested list": "".join("  " * depth + "- x\n" for depth in range(300)),
    "ticks": "".join("`" * length + " " for length in range(440)),
    "entities": "&amp;" * 20_000,
    "addresses": "<http://a" * 11_000,
    "references": "[a]: /x\n" * 12_000,
    "table": "| a | b |\n|---|---|\n" + "| x | **y** |\n" * 7_000,
    "code": "```python\n" + "x = (1 + 2)\n" * 8_000 + "```\n",
    "diff": "```diff\n--- a\n+++ b\n@@ -1,9999 +1,9999 @@\n" + "-\n" * 5_000 + "+\n" * 5_000,
}
_OPENS = re.compile(r"<(\w+)|\son\w+=|javascript:", re.IGNORECASE)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_written_to_keep_the_layout_busy_does_not(name: str) -> None:
    """It takes no more than a few times what prose takes, and nothing of it is lost."""
    render("warm")
    gc.collect()
    gc.disable()  # what earlier tests left would be looked through in between
    try:
        begun = thread_time()
        render(name + PROSE * (LONGEST // len(PROSE)))  # which was not laid out before
        usual = thread_time() - begun
        begun = thread_time()
        shown = str(render(HOSTILE[name]))
        took = thread_time() - begun
    finally:
        gc.enable()
    assert took < max(8 * usual, 0.5)
    assert len(shown) > 20


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x)",
        "[x](/logout) [y](//evil.example) [z](#asked)",
        "![x](https://evil.example/track.png)",
        "<javascript:alert(1)>",
        '[x](https://a.example/"onmouseover="alert(1))',
        "```html\n<script>alert(1)</script>\n```",
        '```"><script>alert(1)</script>\nx\n```',
        "| <script>a</script> |\n|---|\n| <b onclick=x> |",
        "# <svg onload=alert(1)>",
        "&#x6A;avascript:alert(1)",
    ],
)
def test_hostile_markdown_is_harmless(text: str) -> None:
    """No tag, no event and no address of theirs is in the page."""
    for shown in (str(render(text)), str(render_line(text))):
        tags = {found[1] for found in _OPENS.finditer(shown) if found[1]}
        assert not tags & {"script", "img", "svg", "b", "iframe", "style"}
        links = re.findall(r'href="([^"]*)"', shown)
        assert all(find_host(link) for link in links)
        assert not re.search(r"<[^>]*\son\w+=", shown)


def test_signs_that_hide_or_turn_the_text_are_shown() -> None:
    """Bidi overrides and controls stand there as what they are."""
    shown = str(render("safe \u202egnp.exe\x1b[31m"))
    assert "\\u202e" in shown
    assert "\\u001b" in shown


def test_the_end_of_a_long_text_is_shown_as_it_is() -> None:
    """In a fold, so that nothing is lost."""
    text = PROSE * 600 + "**the end**"
    shown = str(render(text))
    assert "<strong>bold</strong>" in shown
    assert shown.endswith("**the end**</pre></details>")


def test_headings_go_down_one_level_at_a_time() -> None:
    """Whatever their author left out, below the heading of the page."""
    levels = re.findall(r"<h(\d)", str(render("### a\n\n# b\n\n#### c\n\n###### d")))
    assert levels == ["2", "2", "3", "4"]


def test_a_diff_is_read_file_by_file_with_both_numbers() -> None:
    """Lines that went and came stand side by side; new and deleted files have their names."""
    text = (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,3 +3,4 @@ def f\n same\n-old\n+new\n+more\n"
        " same\n--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+--- no header\n\\ No newline\n"
        "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )
    files = read_diff(text)
    assert [(f.name, f.count("added", "changed"), f.count("gone", "changed")) for f in files] == [
        ("x", 2, 1),
        ("made.txt", 1, 0),
        ("gone.txt", 0, 1),
    ]
    assert [tuple(row) for row in files[0].rows[1:]] == [
        ("same", 3, "same", 3, "same"),
        ("changed", 4, "old", 4, "new"),
        ("added", 0, "", 5, "more"),
        ("same", 5, "same", 6, "same"),
    ]
    assert "<pre" in str(render_diff("no diff at all"))
    assert compare("a\n", "a\n", "x") == ""


def test_tables_json_and_code_are_escaped() -> None:
    """Whatever stands in a cell, a string or a line."""
    assert "&lt;x&gt;" in str(render_table('a\n"<x>"\n'))
    assert "&lt;x&gt;" in str(render_json('{"a": ["<x>"]}'))
    assert "&lt;x&gt;" in str(render_lines("<x>", "a.txt"))
    assert "<pre" in str(render_json("{broken"))
    assert '<span class="hl-k">def</span>' in str(render_lines("def f(): pass", "a.py"))
