"""A store of its own for each test."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import databases
from quandary.journal import open_store
from simulation.store import Database, SimulatedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quandary.journal.store import Store

OF_ANY_STORE = {
    "test_archive",
    "test_chance",
    "test_counts",
    "test_crashes",
    "test_kept_stores",
    "test_permits",
    "test_progress",
    "test_pruning",
    "test_search",
    "test_settlement",
    "test_stores",
    "test_taking_over",
    "test_tokens",
    "test_verify",
}
"""What these test holds in every kind of store; the others only ever see the embedded one."""


class Place(NamedTuple):
    """Where a store is."""

    path: Path | str
    """A file, or a schema of a real server; nothing where it is in memory."""
    open: Callable[[], Store]
    """Gives one more handle on it."""
    change: Callable[..., int]
    """Runs statements behind the store's back, in SQLite's words; how many rows they changed."""

    @property
    def is_shared(self) -> bool:
        """Whether it is a server."""
        return isinstance(self.path, str) and self.path != ""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have the tests of any store run once for each kind; those of a path are for real ones."""
    if "place" in metafunc.fixturenames:
        several = Path(str(metafunc.module.__file__)).stem in OF_ANY_STORE
        kinds = ["embedded", "shared"] if several else ["embedded"]
        if several and "path" not in metafunc.fixturenames:
            kinds.append("simulated")
        metafunc.parametrize("place", kinds, indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Where the store is: a file, a schema of a real server, or the memory of a simulation."""
    if request.param == "simulated":
        database = Database()
        yield Place("", partial(SimulatedStore, database), database.change)
    elif request.param == "embedded":
        yield place_at(tmp_path / "journal.db")
    else:
        with databases.shared().schema() as url:
            yield place_at(url)


def place_at(path: Path | str) -> Place:
    """A place that has a path."""
    return Place(path, partial(open_store, path), partial(databases.change, path))


@pytest.fixture
def path(place: Place) -> Path | str:
    """The path of the store, for tests with processes or files beside it."""
    return place.path


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    """A new store."""
    store = place.open()
    yield store
    store.close()
