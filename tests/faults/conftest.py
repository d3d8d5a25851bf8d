"""A project in trouble, for every test of this room."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faults.kit import MEMORY, Nursery, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """The program, ready to be started."""
    found = Nursery()
    yield found
    found.close()


@pytest.fixture
def trouble(nursery: Nursery) -> Iterator[Trouble]:
    """A project with a past, in a folder where others may look."""
    with tempfile.TemporaryDirectory(prefix="quandary-", dir=MEMORY) as name:
        Path(name).chmod(0o755)
        yield Trouble(Path(name) / "project", nursery)
