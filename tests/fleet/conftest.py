"""A camp for each test: a project and an empty schema."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

import databases
from fleets import Camp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    """A worker says where its process logs to; here that holds for one test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def camp(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Camp]:
    """A project with three agents, whose journal is on a server that is left running."""
    with databases.shared().schema() as url:
        yield Camp(tmp_path, capsys, monkeypatch, url)
