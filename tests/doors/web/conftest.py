"""Servers for the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browsers import World, opened
from sites import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server on this machine, in a project of its own."""
    (tmp_path / ".quandary").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = Site(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server that others can reach."""
    monkeypatch.chdir(tmp_path)
    made = Site(tmp_path, strangers=False, addresses=True)
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server with a browser, for all tests of a file."""
    with opened(tmp_path_factory.mktemp("shop")) as made:
        yield made
