"""The simulated store keeps the rules of every kind of store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from journal.test_stores import (
    test_a_closed_store_says_so,
    test_a_document_is_kept_once,
    test_a_run_that_was_pruned_is_not_taken_up_again,
    test_history_tells_the_entries_of_all_runs_as_they_came,
    test_runs_are_listed_page_by_page,
    test_who_has_not_seen_every_entry_appends_nothing,
)
from simulation.store import SimulatedStore, new_database

if TYPE_CHECKING:
    from quandary.journal.store import Store

__all__ = [
    "test_a_closed_store_says_so",
    "test_a_document_is_kept_once",
    "test_a_run_that_was_pruned_is_not_taken_up_again",
    "test_history_tells_the_entries_of_all_runs_as_they_came",
    "test_runs_are_listed_page_by_page",
    "test_who_has_not_seen_every_entry_appends_nothing",
]


@pytest.fixture
def store() -> Store:
    """A handle of nobody's, at which nothing strikes."""
    return SimulatedStore(new_database())
