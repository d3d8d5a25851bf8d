"""The simulated store keeps the rules of every kind of store."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING

import pytest

from journal import test_stores
from simulation.store import SimulatedStore, new_database

if TYPE_CHECKING:
    from quandary.journal.store import Store

globals().update(
    {
        name: test
        for name, test in vars(test_stores).items()
        if name.startswith("test_") and [*signature(test).parameters] == ["store"]
    }
)
"""All that need no second handle by the path of a file; here a database is shared in memory."""


@pytest.fixture
def store() -> Store:
    """A handle of nobody's, at which nothing strikes."""
    return SimulatedStore(new_database())
