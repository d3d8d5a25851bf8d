"""A store of its own for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quandary.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "journal.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """A new store, in a file."""
    store = SqliteStore(path)
    yield store
    store.close()
