"""The pictures of the documentation: they are there, small, and can be taken again."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_MARKDOWN = re.compile(r"!\[(?P<words>[^\]]*)\]\((?P<target>[^)]+)\)")
_HTML = re.compile(r'<img src="(?P<target>[^"]+)"[^>]* alt="(?P<words>[^"]*)">')
PALETTE = 3


def shown(page: Path) -> dict[Path, str]:
    """Every picture that a page shows, with what it says to those who cannot see it."""
    text = page.read_text(encoding="utf-8")
    found = [*_MARKDOWN.finditer(text), *_HTML.finditer(text)]
    assert len(found) == text.count("![") + text.count("<img")
    return {(page.parent / match["target"]).resolve(): match["words"] for match in found}


def head(png: Path) -> tuple[int, int, int]:
    """Width, height and kind of colours of a PNG."""
    data = png.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24]), data[25]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_is_there(page: Path) -> None:
    """A picture exists, and its words say what can be seen on it."""
    for picture, words in shown(page).items():
        assert picture.is_file(), picture
        assert len(words.split()) >= 4, picture


def test_every_picture_is_shown() -> None:
    """Nothing lies in the folder that no page shows; the README shows what Quandary looks like."""
    somewhere = {picture for page in PAGES for picture in shown(page)}
    assert set(FOLDER.iterdir()) == somewhere
    in_front = {picture.stem for picture in shown(ROOT / "README.md")}
    assert {"terminal", "inbox", "question", "walk", "statistics", "phone", "dark"} <= in_front


def test_pictures_are_small() -> None:
    """Nobody waits for a README: a palette for each, 150 KB at most, 700 KB together."""
    for picture in FOLDER.glob("*.png"):
        assert head(picture)[2] == PALETTE
        assert picture.stat().st_size < 150_000
    assert sum(picture.stat().st_size for picture in FOLDER.iterdir()) < 700_000


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium here")
def test_pictures_can_be_taken_again(tmp_path: Path) -> None:
    """The script fills a journal, serves it, and takes all the pictures that there are."""
    script = [sys.executable, str(ROOT / "examples/pictures.py"), "--quick", str(tmp_path / "made")]
    subprocess.run(script, cwd=tmp_path, capture_output=True, timeout=300, check=True)
    made = {path.name: path for path in (tmp_path / "made").iterdir()}
    assert set(made) == {path.name for path in FOLDER.iterdir()}
    for name, picture in made.items():
        if picture.suffix == ".png":
            (width, height, colours), kept = head(picture), head(FOLDER / name)
            assert (colours, width * 3, height * 3) == (PALETTE, kept[0] * 2, kept[1] * 2)
