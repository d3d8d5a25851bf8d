"""Commands that only look leave nothing behind: no file, no folder, no table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import databases
from program import call
from quandary.journal import NoStore, open_store

if TYPE_CHECKING:
    from pathlib import Path

LOOKING = (
    ("runs",),
    ("log",),
    ("log", "--questions"),
    ("stats",),
    ("prefer", "list"),
    ("prefer", "stats"),
    ("prefer", "clear"),
)
OF_A_RUN = (
    ("next", "01J"),
    ("log", "01J"),
    ("report", "01J"),
    ("export", "01J"),
    ("verify",),
    ("verify", "01J"),
    ("withdraw", "01J", "--why", "no need"),
    ("reply", "01J", "OK"),
)


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of somebody who has kept nothing yet."""
    (tmp_path / "project" / ".quandary").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.delenv("QUANDARY_STORE", raising=False)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path


def left(folder: Path) -> list[str]:
    """All that is there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
@pytest.mark.parametrize("store", [None, "elsewhere.db"])
def test_there_is_nothing_yet(
    apart: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], store: str | None
) -> None:
    """That is said in one line, and is no mistake."""
    before = left(apart)
    ended = call(capsys, *words, *(["--store", store] if store else []))
    assert ended.status == 0
    assert (ended.out + ended.err).count("\n") == 1
    assert left(apart) == before


@pytest.mark.parametrize("words", [("runs",), ("log",), ("stats",)], ids=" ".join)
def test_programs_get_an_empty_list(
    apart: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """In the form that a full one has."""
    ended = call(capsys, *words, "--format", "json")
    assert ended.status == 0
    found = json.loads(ended.out)
    assert found["questions" if words == ("stats",) else "runs"] == []
    assert not (apart / "XDG_DATA_HOME").exists()


@pytest.mark.parametrize("words", OF_A_RUN, ids=" ".join)
def test_a_run_is_not_found_where_there_is_nothing(
    apart: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """One line says so, and nothing is made in passing."""
    before = left(apart)
    ended = call(capsys, *words)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("quandary: there is no ")
    assert ended.err.count("\n") == 1
    assert left(apart) == before


def test_a_database_stays_empty_too(capsys: pytest.CaptureFixture[str]) -> None:
    """On a server, what would be left behind are tables."""
    with databases.shared().schema() as url:
        for words in (("runs",), ("log",), ("stats",)):
            ended = call(capsys, *words, "--store", url)
            assert (ended.status, ended.out) == (0, ""), ended.err
        ended = call(capsys, "verify", "--store", url)
        assert ended.status == 2
        assert "there is no store postgresql://keeper@" in ended.err
        assert databases.PASSWORD not in ended.err
        with pytest.raises(NoStore):
            open_store(url, create=False)
        open_store(url).close()
        open_store(url, create=False).close()
