"""`quandary show` for charts: text, JSON and pictures, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from program import DEPLOY, at_terminal, call, start
from quandary.formats import charts
from quandary.formats.charts import mermaid

RELEASE = """\
---
title: Release
---
flowchart TD
  a([Start]) --> b["Build it<br/>Use every option"]
  %% quandary: {"step": "b", "tags": ["CODEX"], "retries": 2}
  b --> c{Does it run?}
  c -->|Yes| d([End])
  c -->|No| b
"""
PAGES = """\
Id,Name,Page ID,Line Source,Line Destination,Destination Arrow,Text Area 1
1,Document,,,,,Both
2,Page,,,,,One
3,Page,,,,,Two
4,Process,2,,,,Do it
5,Process,3,,,,Do that
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two charts and a tree; it is the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    put("quandary.toml", "")
    put("r.mmd", RELEASE)
    put("p.csv", PAGES)
    put("t.md", DEPLOY)
    return tmp_path


def put(path: str, text: str) -> None:
    """A file with this text."""
    Path(path).write_text(text, encoding="utf-8")


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    """For people, the steps and what leads where."""
    drawn = """\
Release

1  Start  terminator
   → 2  Build it
2  Build it
   Use every option
   tags: CODEX
   retries: 2
   → 3  Does it run?
3  Does it run?  decision
   Yes → 4  End
   No  → 2  Build it
4  End  terminator
"""
    assert call(capsys, "show", "r.mmd") == (0, drawn, "")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """For programs, every step with its kind, its data and its routes."""
    status, out, err = call(capsys, "show", "r.mmd", "--format", "json")
    assert (status, err) == (0, "")
    shown = json.loads(out)
    assert list(shown) == ["name", "start", "digest", "pages", "problems"]
    assert (shown["name"], shown["start"], shown["problems"]) == ("Release", "1", [])
    assert shown["digest"] == charts.load("r.mmd").digest
    (page,) = shown["pages"]
    assert (page["id"], page["name"], page["start"], page["also"]) == ("1", "", "a", [])
    assert page["steps"][1] == {
        "id": "b",
        "name": "Build it",
        "kind": "process",
        "shape": "process",
        "text": "Build it\nUse every option",
        "tags": ["CODEX"],
        "metadata": {"retries": "2"},
        "routes": [{"label": "", "to": "c"}],
    }
    assert [step["kind"] for step in page["steps"]] == [
        *("terminator", "process", "decision", "terminator"),
    ]
    assert page["steps"][2]["routes"] == [{"label": "Yes", "to": "d"}, {"label": "No", "to": "b"}]


def test_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    """Mermaid that reads back as the same chart, and a graph for Graphviz."""
    out = call(capsys, "show", "r.mmd", "--format", "mermaid").out
    put("again.mmd", out)
    assert charts.load("again.mmd") == charts.load("r.mmd")
    out = call(capsys, "show", "r.mmd", "--format", "dot").out
    assert out.startswith('digraph "Release" {\n')
    assert 'label="Does it run?" shape=diamond' in out


def test_pages(capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, or the one that is named in either way."""
    assert call(capsys, "show", "p.csv").out == "Both\n\nOne\n\n1  Do it\n\nTwo\n\n1  Do that\n"
    two = "Both\n\nTwo\n\n1  Do that\n"
    assert call(capsys, "show", "p.csv#Two") == (0, two, "")
    assert call(capsys, "show", "p.csv", "--page", "two") == (0, two, "")
    out = call(capsys, "show", "p.csv#Two", "--format", "json").out
    assert [page["name"] for page in json.loads(out)["pages"]] == ["Two"]
    out = call(capsys, "show", "p.csv#Two", "--format", "mermaid").out
    assert [page.name for page in mermaid.read(out, "x")[0].pages] == ["Two"]
    assert "Do it" not in call(capsys, "show", "p.csv#Two", "--format", "dot").out


def test_a_page_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The others are named."""
    status, out, err = call(capsys, "show", "p.csv", "--page", "Three")
    assert (status, out) == (2, "")
    assert err == "quandary: p.csv: no page named Three (2 pages: One, Two)\n"


def test_problems(capsys: pytest.CaptureFixture[str]) -> None:
    """The chart is shown all the same; each problem is a line, and errors make the status 1."""
    put("r.mmd", RELEASE.replace("|No|", "").replace("--> c", "--- c"))
    status, out, err = call(capsys, "show", "r.mmd")
    assert (status, out.startswith("Release\n")) == (1, True)
    assert [line.split(": ")[:2] for line in err.splitlines()] == [
        ["r.mmd:7", "warning no-arrow"],
        ["r.mmd:9", "error label-missing"],
    ]
    shown = json.loads(call(capsys, "show", "r.mmd", "--format", "json").out)
    assert [problem["severity"] for problem in shown["problems"]] == ["warning", "error"]


def test_warnings_alone_are_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """The chart can be walked."""
    put("r.mmd", RELEASE.replace("--> c", "--- c"))
    status, _, err = call(capsys, "show", "r.mmd")
    assert (status, err.count("\n")) == (0, 1)


def test_a_tree_as_a_chart(capsys: pytest.CaptureFixture[str]) -> None:
    """As it would be walked: each level a decision."""
    status, out, err = call(capsys, "show", "t.md", "--chart")
    assert (status, err) == (0, "")
    assert out.startswith("DEPLOY\n\n1  Deploy: which one?  decision\n")
    assert "   Deploy now          → 2  Deploy now\n" in out
    assert call(capsys, "show", "t.md", "--page", "DEPLOY").status == 2


def test_standard_input() -> None:
    """A drawing that is piped in is known by its looks, a tree by its own."""
    assert start("show", "-", stdin=RELEASE).out.startswith("Release\n\n1  Start")
    assert start("show", "-#Two", stdin=PAGES).out == "Both\n\nTwo\n\n1  Do that\n"
    assert start("show", "-", stdin=DEPLOY).out.startswith("DEPLOY\ntrigger")


def test_colour_on_a_terminal() -> None:
    """A terminal gets colours, a pipe gets none."""
    assert "\x1b[36m2\x1b[0m  \x1b[1mBuild it\x1b[0m" in at_terminal("show", "r.mmd").out
    assert "\x1b" not in start("show", "r.mmd").out


@pytest.mark.parametrize("form", ["text", "json", "mermaid", "dot"])
def test_control_characters_are_not_passed_on(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """What a stranger drew cannot drive the terminal of whoever looks at it."""
    put("r.mmd", RELEASE.replace("Build", "\x1b[31m\x07Build").replace("Yes", "Y\x1bes"))
    ended = call(capsys, "show", "--format", form, "r.mmd")
    assert "\x1b" not in ended.out + ended.err
    assert "\x07" not in ended.out + ended.err


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.csv", b"\x89PNG\r\n\x1a\n\x00\x00"),
        ("x.csv", b"prose\n"),
        ("x.json", b"[" * 200_000),
        ("x.json", b'{"pages": {}}'),
        ("x.mmd", b"classDiagram\n"),
        ("x.mmd", b"\xff\xfe"),
    ],
)
def test_what_is_no_chart(capsys: pytest.CaptureFixture[str], name: str, data: bytes) -> None:
    """One line, status 2, no traceback."""
    Path(name).write_bytes(data)
    status, out, err = call(capsys, "show", name)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"quandary: {name}")
