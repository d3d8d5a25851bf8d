"""The report as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import walks
from quandary.desk.timeline import origins
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Outcome, Reply
from quandary.model.chart import Chart, Page, Route, Step
from quandary.model.text import count
from quandary.reports import Exchange, Story, duration, html, lines, report
from quandary.reports.retelling import Told, retell
from walks import answer, begin, go, released

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quandary.journal.store import State


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A new store."""
    store = SqliteStore(tmp_path / "journal.db")
    yield store
    store.close()


def shown(store: SqliteStore, state: State) -> list[str]:
    """The report, line by line."""
    return report(retell(store, state.run)).splitlines()


def test_the_head_says_how_it_ended_and_what_it_cost(store: SqliteStore) -> None:
    """Before anything else."""
    state = released(store)
    text = shown(store, state)
    assert text[0] == "Release: completed"
    assert "  item   Version 2" in text
    assert f"  run    {state.run}" in text
    assert "  spent  7 calls, 6.0 s, 340 tokens" in text


def test_the_chart_is_drawn_with_the_route_in_it(store: SqliteStore) -> None:
    """What was reached, how often, and which of the ways were taken."""
    text = "\n".join(shown(store, released(store)))
    assert (
        "  ● Do the tests pass?  (2 times)\n"
        "      yes ━▶ May it be shipped?\n"
        "      no ━▶ Mend what fails\n"
        "  ● Mend what fails\n"
        "      ━▶ Do the tests pass?\n"
        "  ● May it be shipped?\n"
        "      ship it ━▶ End\n"
        "      not yet ─▷ Mend what fails\n"
        "  ● End\n"
    ) in text


def test_slots_are_filled_in_the_drawing_too(store: SqliteStore) -> None:
    """Steps have the names that they had in the run; what was not reached knows its item."""
    steps = (
        Step("a", "Write {{title}}", tags=("NoValidation",)),
        Step("q", "Is {{steps.a.output}} good?", "decision"),
        Step("y", "Send {{title}}", tags=("NoValidation",)),
        Step("n", "Drop {{title}}", tags=("NoValidation",)),
    )
    ways = (Route("a", "q"), Route("q", "y", "send {{title}}"), Route("q", "n", "drop"))
    state = go(store, begin(store, Chart("C", (Page("1", "", steps, ways),))))
    told = retell(store, state.run)
    assert (
        "  ● Is It is built. good?\n"
        "      send Version 2 ━▶ Send Version 2\n"
        "      drop ─▷ Drop Version 2\n"
    ) in report(told)
    assert "{{title}}" not in html.report(told)


def test_a_persons_step_has_the_name_that_they_were_asked_with(store: SqliteStore) -> None:
    """While it waits, too, whichever steps fill its slots."""
    steps = (
        Step("a", "Write it", tags=("NoValidation",)),
        Step("b", "Sign: {{steps.a.output}} ({{title}})", tags=("HUMAN",)),
    )
    state = go(store, begin(store, Chart("C", (Page("1", "", steps, (Route("a", "b"),)),))))
    text = shown(store, state)
    assert text[0] == "C: waits for a person at “Sign: It is built. (Version 2)”"
    assert "  ● Sign: It is built. (Version 2)" in text


def test_slots_for_earlier_answers_are_filled_in_the_drawing(store: SqliteStore) -> None:
    """In names and routes, also of what is ahead, where nothing is known of it yet."""
    steps = (
        Step("a", "Write it", tags=("NoValidation",)),
        Step("q", "Where?", "decision", ("HUMAN",)),
        Step("y", "Send it", tags=("NoValidation",)),
        Step("n", "Keep {{steps.a.output}} and {{steps.Send it.output}}", tags=("HUMAN",)),
    )
    ways = (Route("a", "q"), Route("q", "y", "as {{steps.a.output}}"), Route("q", "n", "no"))
    drawn = Chart("{{title}}", (Page("1", "", steps, ways),))
    state = go(store, begin(store, drawn))
    assert [line for line in shown(store, state) if "{{" in line] == []
    assert "      as It is built. ─▷ Send it" in shown(store, state)
    assert "  ○ Keep It is built. and …" in shown(store, state)
    state = go(store, answer(store, state, "AS-STEPS-A-O"))
    text = "\n".join(shown(store, state))
    assert ("{{" in text, "chose “as It is built.”" in text) == (False, True)
    assert "Where? [as It is built.] → Send it" in text
    assert origins(store, [state.run])[state.run][0] == "Version 2: Version 2"


def test_each_attempt_is_shown_with_what_was_said(store: SqliteStore) -> None:
    """Prompt, output and feedback, each behind a rule."""
    text = shown(store, released(store))
    at = text.index("2. Build the package")
    assert text[at + 1 : at + 6] == [
        "   2 attempts, validation passed, CLAUDE, 3.5 s, 200 tokens",
        "   attempt 1, not accepted",
        "     CLAUDE does it: done, exit status 0, 1.5 s, 100 tokens",
        "       prompt",
        "       │ Build the package",
    ]
    assert "       feedback" in text
    assert "       │ - The version is missing." in text
    assert "     ada (person, terminal) decides: chose “ship it”" in text


@pytest.mark.parametrize(
    ("way", "line"),
    [
        ("begun", "Release: under way at “Build the package”"),
        ("asked", "Release: waits for a person at “May it be shipped?”"),
        ("failed", "Release: failed at “Build the package”"),
        ("stopped", "Release: stopped at “Do the tests pass?”"),
        ("withdrawn", "Release: withdrawn at “May it be shipped?”"),
    ],
)
def test_the_first_line_says_where_a_run_stands(store: SqliteStore, way: str, line: str) -> None:
    """However far it came."""
    budget = {"max_calls": 2} if way == "stopped" else {}
    state = begin(store, budget=budget)
    if way != "begun":
        state = go(store, state, walks.failed if way == "failed" else walks.good)
    if way == "withdrawn":
        runs.withdraw(store, state.run, "enough", who="person", through="terminal")
    assert shown(store, state)[0] == line


def test_what_was_taken_back_and_noted_is_shown_at_the_end(store: SqliteStore) -> None:
    """It happened, though it does not count."""
    state = go(store, begin(store))
    key = str(state.key)
    no = Outcome("idle", "nobody there")
    runs.note(store, state.run, no, who="agent", through="relay")
    state = answer(store, state, "NOT-YET")
    reply = Reply((Answer(key, ("SHIP-IT",)),))
    runs.amend(store, state.run, reply, key=key, why="", who="person", through="terminal")
    text = shown(store, state)
    at = text.index("Taken back, and tried or answered anew")
    assert text[at + 1] == "  ada (person, terminal) decides: chose “not yet”"
    assert text[-1].endswith(f"Z  idle {key} nobody there")


def test_nothing_in_it_can_disturb_a_terminal() -> None:
    """Controls are spelt out; lines and tabs stay."""
    exchange = Exchange(key="k", agent="A\x1b", prompt="a\tb\n\x1b]0;x\x07\r\nc", answered="x")
    text = report(Told(Story(run="R", chart="C\n\x9b", unplaced=(exchange,))))
    assert "\x1b" not in text
    assert "    │ a\tb\n    │ \\x1b]0;x\\x07\n    │ c\n" in text
    assert text.startswith("C \\x9b: under way")


def test_a_pruned_run_is_shown_with_what_is_left(store: SqliteStore) -> None:
    """Who was asked, for what, and which way it went."""
    state = released(store)
    walks.pruned(store, state.run)
    text = shown(store, state)
    assert text[0] == "Release: completed"
    assert "  pruned  18 entries without texts" in text
    assert "       │ (taken out of the journal)" in text
    assert "      ship it ━▶ End" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 s"),
        (59.94, "59.9 s"),
        (60, "1 min 0 s"),
        (3599.6, "1 h 0 min"),
        (7322, "2 h 2 min"),
    ],
)
def test_times_are_as_exact_as_anybody_needs(seconds: float, words: str) -> None:
    """Seconds, minutes, hours."""
    assert duration(seconds) == words


def test_numbers_and_long_texts() -> None:
    """One is singular, thousands have commas, and what is left out is counted."""
    assert [count(1, "entry"), count(2, "entry"), count(1234, "call")] == [
        "1 entry",
        "2 entries",
        "1,234 calls",
    ]
    assert lines("abcdefgh", 4) == ["ab", "[… 4 characters left out …]", "gh"]
