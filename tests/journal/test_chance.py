"""The clock, and the ids of runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

import small_flows
from quandary.errors import NotFound
from quandary.journal.chance import ALPHABET, LENGTH, new_id, stamp
from quandary.journal.runs import find_run

if TYPE_CHECKING:
    from quandary.journal.store import Store

MOMENT = datetime(2026, 5, 1, tzinfo=UTC)


def test_a_moment_is_written_in_utc_so_that_texts_sort_like_moments() -> None:
    """Every stamp has the same length and the same zone."""
    moment = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    east = moment.astimezone(timezone(timedelta(hours=5)))
    assert stamp(moment) == "2026-03-01T12:00:00.000000Z"
    assert stamp(moment) == stamp(east)
    assert stamp(moment) < stamp(moment + timedelta(microseconds=1))


def test_a_name_is_26_letters_that_nobody_mixes_up() -> None:
    """No I, L, O or U, so that a name can be read aloud."""
    name = new_id(MOMENT, None)
    assert len(name) == LENGTH == 26
    assert set(name) <= set(ALPHABET)
    assert not set("ILOU") & set(ALPHABET)


def test_names_sort_by_when_the_run_began() -> None:
    """A later millisecond gives a later name."""
    names = [new_id(MOMENT + timedelta(milliseconds=n), None) for n in range(50)]
    assert names == sorted(names)


def test_names_sort_even_when_the_clock_stands_or_jumps_back() -> None:
    """A name is always behind the last one of its store."""
    names = [new_id(MOMENT, None)]
    for step in (0, 0, -1000, 5, -90_000):
        names.append(new_id(MOMENT + timedelta(seconds=step), names[-1]))
    assert names == sorted(set(names))


def test_a_run_is_found_by_a_part_of_its_name(store: Store) -> None:
    """Any prefix that only one run has, in any case, with letters that look alike."""
    run = small_flows.begin(store).run
    assert find_run(store, run) == run
    assert find_run(store, run[:4]) == run
    assert find_run(store, f" {run[:20].lower()} ") == run
    assert find_run(store, "O" + run[1:9]) == run


def test_a_prefix_of_several_runs_is_refused_with_their_names(store: Store) -> None:
    """Nobody acts on a run that was not meant."""
    first, second = small_flows.begin(store).run, small_flows.begin(store).run
    with pytest.raises(NotFound, match="ambiguous") as caught:
        find_run(store, first[:3])
    assert first in str(caught.value)
    assert second in str(caught.value)


@pytest.mark.parametrize("prefix", ["7ZZZ", "é", "%", "", "  "])
def test_an_unknown_name_is_refused(store: Store, prefix: str) -> None:
    """The message says where names are found."""
    small_flows.begin(store)
    with pytest.raises(NotFound, match="quandary runs"):
        find_run(store, prefix)
