"""A store of its own for each test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import databases
from quandary.journal.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import Store

OF_ANY_STORE = {
    "test_counts",
    "test_crashes",
    "test_archive",
    "test_ids",
    "test_kept_stores",
    "test_permits",
    "test_progress",
    "test_pruning",
    "test_replay",
    "test_search",
    "test_settling",
    "test_stores",
    "test_taking_over",
    "test_tokens",
    "test_verify",
}
"""What these test holds in every kind of store; the others only ever see the embedded one."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have the tests of any store run once for each kind."""
    if "path" in metafunc.fixturenames:
        several = Path(str(metafunc.module.__file__)).stem in OF_ANY_STORE
        kinds = ["embedded", "shared"] if several else ["embedded"]
        metafunc.parametrize("path", kinds, indirect=True)


@pytest.fixture
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Where the store is: a file, or a schema of a real server."""
    if request.param == "embedded":
        yield tmp_path / "journal.db"
    else:
        with databases.shared().schema() as url:
            yield url


@pytest.fixture
def store(path: Path | str) -> Iterator[Store]:
    """A new store."""
    store = open_store(path)
    yield store
    store.close()
