"""`quandary preview`: what a person will see, before anybody is asked."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from program import BY_A_PERSON, DEPLOY, PROGRAM, at_terminal, call, environment
from quandary.cli.authors import list_levels
from quandary.formats.markdown import parse
from sites import REVIEW

if TYPE_CHECKING:
    from collections.abc import Iterator

CHROMIUM = shutil.which("chromium")
SLOTS = """\
### ¶ASK_SHIP
Trigger: It is built
Question: {title} is {version}. Ship it?
Shape: free

## Decision: Ship
- [YES] Ship {version}
  To {place}
- [NO] Do not
  It stays
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one tree, and a journal that must never come to be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "journal.db"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    Path("quandary.toml").touch()
    Path("t.md").write_text(DEPLOY, encoding="utf-8")
    return tmp_path


def test_every_level_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The first questions and every menu behind an option, as the numbered text shows them."""
    status, out, err = call(capsys, "preview", "t.md")
    assert status == 0
    assert re.findall(r"── (.*) ──", out) == ["DEPLOY", "DEPLOY › Other"]
    first, menu = out.split("── DEPLOY › Other ──")
    assert "  1. Deploy now\n     Users get it within minutes\n" in first
    assert "  1. Deploy to one region\n" in menu
    assert err == ""
    assert not os.path.exists("journal.db")


def test_a_project_names_its_trees(capsys: pytest.CaptureFixture[str]) -> None:
    """A tree is found by its name; what cannot be looked at again is refused."""
    assert "Deploy now" in call(capsys, "preview", "DEPLOY").out
    assert call(capsys, "preview", "-").status == 2
    assert call(capsys, "preview", "NONE").status == 2


def test_levels_are_those_that_choosing_leads_to() -> None:
    """Under named options and under Other, however deep; each once, pages of many included."""
    [tree] = parse(REVIEW).trees
    names = [name for name, _ in list_levels(tree)]
    assert names == ["REVIEW", "REVIEW › Rework", "REVIEW › Other"]
    many = "".join(f"- [OPT{letter}] Option {letter}\n" for letter in "ABCDEFGHI")
    [tree] = parse(f"## Decision: Many\n{many}").trees
    shown = [choice.label for _, ask in list_levels(tree) for choice in ask.questions[0].choices]
    assert [label for label in shown if label.startswith("Option")] == [
        f"Option {letter}" for letter in "ABCDEFGHI"
    ]


def test_slots_are_filled_with_something() -> None:
    """No tree is refused for want of items or values."""
    [tree] = parse(SLOTS).trees
    [(_, ask)] = list_levels(tree)
    assert ask.questions[0].text == "a made-up item is some version. Ship it?"
    assert ask.questions[0].choices[0].description == "To some place"


def test_what_cannot_be_asked_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A tree whose meaning is unclear is refused as `ask` refuses it."""
    Path("t.md").write_text(DEPLOY.replace("[EVE]", "[NOW]"), encoding="utf-8")
    status, _, err = call(capsys, "preview", "t.md")
    assert status == 1
    assert "cannot be asked" in err


def test_a_terminal_shows_the_box() -> None:
    """The box that people get, drawn once for each question, waiting for no key."""
    ended = at_terminal("preview", "t.md")
    assert ended.status == 0
    assert "╭" in ended.out
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", ended.out)
    assert "1 Deploy now  NOW" in plain
    assert "1 Deploy to one region  PART" in plain


def test_watching_shows_it_again_as_it_is_saved() -> None:
    """Also after it was saved with a fault; Ctrl-C ends it."""
    screen, line = pty.openpty()
    command = [*BY_A_PERSON, "preview", "t.md", "--watch"]
    with subprocess.Popen(
        command, stdin=line, stdout=line, stderr=line, env=environment({"TERM": "dumb"})
    ) as process:
        os.close(line)
        _read_until(screen, "is watched")
        Path("t.md").write_text(DEPLOY.replace("[EVE]", "[NOW]"), encoding="utf-8")
        assert "cannot be asked" in _read_until(screen, "is watched")
        Path("t.md").write_text(DEPLOY.replace("this evening", "at midnight"), encoding="utf-8")
        assert "Deploy at midnight" in _read_until(screen, "is watched")
        process.send_signal(signal.SIGINT)
        assert "interrupted" in _read_until(screen, "interrupted")
        assert process.wait(60) == 130
    os.close(screen)
    assert not os.path.exists("journal.db")


@contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[None]:
    """A process that is interrupted in the end, whatever happened."""
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)


def _read_until(screen: int, words: str) -> str:
    shown = ""
    while words not in shown:
        shown += os.read(screen, 65536).decode(errors="replace")
    return shown


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_a_browser_shows_every_level_and_keeps_up() -> None:
    """All levels on one page, renewed as the file is saved; nothing can be sent."""
    command = [*PROGRAM, "preview", "t.md", "--web"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment(), text=True) as process:
        assert process.stderr is not None
        [address] = re.findall(r"http://\S+/", process.stderr.readline())
        assert httpx.get(address, headers={"Host": "evil.example"}).status_code == 400
        with sync_playwright() as playwright, ending(process):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(address)
            expect(page.locator("h2")).to_have_text(["DEPLOY", "DEPLOY › Other"])
            expect(page.locator("fieldset").nth(1)).to_contain_text("Deploy to one region")
            page.get_by_label("Deploy now").check()
            page.get_by_label("Deploy to one region").check()
            expect(page.get_by_label("Deploy now")).to_be_checked()
            page.keyboard.press("Enter")
            expect(page.locator("h2")).to_have_count(2)
            Path("t.md").write_text(DEPLOY.replace("this evening", "at midnight"), encoding="utf-8")
            expect(page.locator("fieldset").first).to_contain_text("Deploy at midnight")
            Path("t.md").write_text(DEPLOY.replace("[EVE]", "[NOW]"), encoding="utf-8")
            expect(page.locator(".problem")).to_contain_text("cannot be asked")
            assert page.url == address
            browser.close()
    assert not os.path.exists("journal.db")
