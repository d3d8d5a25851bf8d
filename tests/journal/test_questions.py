"""The questions of a journal, counted."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from quandary.formats.markdown import parse
from quandary.journal import entries, replay
from quandary.journal.preferences import remember
from quandary.journal.questions import occasions, statistics
from quandary.journal.sqlite import SqliteStore
from quandary.model.ask import Answer, Outcome, Reply

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.journal.store import State

PERSON: dict[str, Any] = {"who": "person", "through": "terminal"}
TREE = """\
### ¶ASK_LEVEL
## Decision: Level
- [LOW] Quiet (recommended)
- [MID] As now
- [HIG] Loud
- [OTH] Other
  - [WAI] Wait
  - [OFF] None at all
"""


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    """An empty journal."""
    return SqliteStore(tmp_path / "journal.db")


def begin(store: SqliteStore, count: int = 1, project: str = "here", text: str = TREE) -> State:
    """A run about a few services."""
    (tree,) = parse(text).trees
    items = [{"id": str(n), "label": f"Service {n}"} for n in range(1, count + 1)]
    return replay.begin(
        store,
        "decide",
        {"context": "Each service has a log, and its level is to be set.", "items": items},
        documents={"tree": msgspec.to_builtins(tree)},
        project=project,
        who="agent",
        through="command",
    )


def reply(store: SqliteStore, state: State, *codes: str, text: str | None = None) -> State:
    """A person answers the questions in order."""
    assert state.ask is not None
    asked = state.ask.questions
    answers = [
        Answer(q.key, (c,) if c else (), text=text) for q, c in zip(asked, codes, strict=False)
    ]
    return replay.advance(store, state.run, Reply(tuple(answers)), to=state.key, **PERSON)


def test_an_empty_journal_has_no_questions(store: SqliteStore) -> None:
    """Nothing to count is no error."""
    found = statistics(store)
    assert (found.asked, found.answered, found.last_hour, found.questions) == (0, 0, 0, ())


def test_each_question_is_counted_with_its_answers(store: SqliteStore) -> None:
    """Two of a batch, one left open, one in another project, one that was no answer."""
    reply(store, begin(store, 2), "LOW", "MID")
    state = begin(store)
    replay.note(store, state.run, Outcome("idle"), who="agent", through="relay")
    reply(store, begin(store, project="elsewhere"), "", text="my own")
    here = statistics(store, "here")
    assert (here.asked, here.answered, here.last_hour) == (3, 2, 3)
    (tally,) = here.questions
    assert (tally.id, tally.by, tally.recommended, tally.followed) == ("level", {"person": 2}, 2, 1)
    assert tally.answers == {"Quiet": 1, "As now": 1}
    assert statistics(store).asked == 4
    (other,) = occasions(store, "elsewhere")
    assert (other.answer, other.followed) == (("my own",), False)


def test_what_is_no_answer_yet_is_counted_as_none(store: SqliteStore) -> None:
    """Asking back and advice are steps on the way; a letter and a skip are answers."""
    state = begin(store, text=TREE.replace("## D", "Extras: A: Wait a week\n## D"))
    ways: list[dict[str, Any]] = [
        {"prefix": "explain"},
        {"advice": "It is loud enough."},
        {"among": ("LOW", "MID"), "text": "low"},
        {"extra": "A"},
    ]
    for way in ways:
        answer = Answer(state.key or "", **way)
        state = replay.advance(store, state.run, Reply((answer,)), to=state.key, **PERSON)
    skipped = begin(store)
    force = Answer(skipped.key or "", prefix="force", argument="skip")
    replay.advance(store, skipped.run, Reply((force,)), **PERSON)
    assert [found.answer for found in occasions(store)] == [("Wait a week",), ("!skip",)]
    assert (statistics(store).asked, statistics(store).answered) == (2, 2)


def test_the_time_people_took_is_measured(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the journal's own clock; a preference takes none."""
    begun = entries.now()
    state = begin(store)
    monkeypatch.setattr(entries, "now", lambda: begun + timedelta(seconds=90))
    reply(store, state, "LOW")
    (tally,) = statistics(store).questions
    assert tally.median_seconds == pytest.approx(90, abs=1)
    monkeypatch.setattr(entries, "now", lambda: begun + timedelta(days=2))
    assert statistics(store).last_hour == 0


def test_a_question_that_never_changed_an_answer_is_a_candidate(store: SqliteStore) -> None:
    """It is named and nothing more; one that cannot be taken back, or varies, is not."""
    for _ in range(5):
        reply(store, begin(store), "LOW")
    danger = TREE.replace("LEVEL", "PURGE").replace("Level", "Purge the log")
    for _ in range(6):
        reply(store, begin(store, text=danger), "LOW")
    varied = TREE.replace("LEVEL", "VARIED")
    for code in ("LOW", "LOW", "LOW", "LOW", "LOW", "MID"):
        reply(store, begin(store, text=varied), code)
    assert statistics(store).candidates == ("level",)
    assert begin(store).status == "waiting"


def test_what_a_preference_decided_is_no_ones_opinion(store: SqliteStore) -> None:
    """It counts as asked and answered, not as a sign that people agree."""
    remember(store, "level", "never-ask", scope="here", origin="", **PERSON)
    for _ in range(6):
        assert begin(store).status == "done"
    found = statistics(store)
    assert found.questions[0].by == {"policy": 6}
    assert (found.candidates, found.last_hour) == ((), 0)
