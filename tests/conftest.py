"""What tests of several rooms share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import databases

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def postgres() -> Iterator[databases.Server]:
    """A PostgreSQL server, started for whoever needs it first."""
    with databases.served() as server:
        yield server
