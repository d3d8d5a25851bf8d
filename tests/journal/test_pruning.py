"""Texts are taken out of old runs; what was decided stays, and nothing shows as changed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import full_stores
import small_flows
import strategies  # noqa: F401 - its profile is patient
import walks
from quandary.desk.timeline import events
from quandary.errors import Diverged
from quandary.journal import archive, chance, policy, runs
from quandary.journal.archive import Amount
from quandary.journal.chance import stamp
from quandary.journal.entries import Answered, Source
from quandary.journal.history import look_at
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import KEEPS, Wanted, verify
from quandary.model.asks import Answer, Reply
from quandary.reports.retelling import retell

if TYPE_CHECKING:
    from journal.conftest import Place
    from quandary.journal.entries import Entry
    from quandary.journal.store import State, Store
    from quandary.journal.verify import Keep

SOURCE = Source("person", "terminal", "grace")
LATER = "9999"
"""A moment before which everything ended."""


def prune(
    store: Store, keep: Keep = "answers", before: str = LATER, project: str | None = None
) -> State:
    """Prune, as `quandary prune` does."""
    wanted = Wanted(before, keep, project)
    return archive.prune(store, wanted, project or "", SOURCE, lambda _: None)


def done(store: Store, **words: Any) -> str:  # noqa: ANN401
    """A run that is done, in which everybody had something to say."""
    state = small_flows.begin(store, questions=1, context=full_stores.WORD)
    return small_flows.answer(store, state, small_flows.pick("1:", "NO", **words)).run


def kept(store: Store) -> dict[str, list[Entry]]:
    """The entries of every run."""
    return {row.id: store.entries(row.id) for row in store.runs(limit=10_000)}


def texts(store: Store, run: str) -> set[str]:
    """The kinds of entries that still have their matter."""
    return {entry.kind for entry in store.entries(run) if entry.matter is not None}


@settings(max_examples=40)
@given(drawn=full_stores.LIVES, keep=st.sampled_from(KEEPS), again=st.booleans())
def test_whatever_is_pruned_every_decision_stays_and_the_journal_verifies(
    drawn: list[Any], keep: Keep, again: bool
) -> None:
    """Bodies, digests and rows are what they were; so is a digest that was kept elsewhere."""
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "j.db")
        full_stores.live(store, drawn)
        before, rows = kept(store), store.runs()
        states = {row.id: runs.look(store, row.id) for row in rows}
        digest = verify(store).digest
        if again:
            prune(store, "answers")
        result = prune(store, keep).result
        report = verify(store, expect=digest)
        assert report.ok, report.problems
        assert store.runs(limit=len(rows)) == rows
        after = kept(store)
        taken = 0
        for row in rows:
            for old, new in zip(before[row.id], after[row.id], strict=True):
                assert msgspec.structs.replace(new, matter=old.matter, salt=old.salt) == old
                assert (new.matter, new.salt) in ((old.matter, old.salt), (None, None))
                taken += new.matter != old.matter
            _stays(keep, row.status, row.flow, before[row.id], after[row.id])
            if keep == "answers" and row.flow != "walk":
                assert runs.look(store, row.id) == states[row.id]
            list(events(store, row.id))
        assert report.pruned == taken
        assert again or result["entries"] == taken
        assert prune(store, keep).result["runs"] == 0
        store.close()


def _stays(keep: Keep, status: str, flow: str, old: list[Entry], new: list[Entry]) -> None:
    """What has to be there still, and what has to be gone."""
    if status == "waiting" or flow == "prefer":
        assert new == old
        return
    left = {entry.kind for entry in new if entry.matter is not None}
    if keep == "codes":
        assert left <= {"called"}
        assert full_stores.WORD.encode() not in b"".join(e.matter or b"" for e in new)
        return
    assert not left & {"began", "asked", "returned"}
    stays = ("answered", "noted") if flow == "walk" else ("answered", "noted", "ended")
    assert [e for e in new if e.kind in stays] == [e for e in old if e.kind in stays]


def test_the_words_of_answers_stay_unless_only_codes_are_kept(store: Store) -> None:
    """Who answered what, and when, is there in both cases."""
    run = done(store, comment="too early")
    prune(store)
    assert texts(store, run) == {"answered", "ended"}
    assert runs.look(store, run).result == {"chosen": [["1:", "NO", None, "too early"]]}
    prune(store, "codes")
    assert texts(store, run) == set()
    (answered,) = (entry.read() for entry in store.entries(run, kinds=("answered",)))
    assert isinstance(answered, Answered)
    assert answered.answers == (Answer("1:", ("NO",)),)
    assert (answered.who, answered.through, answered.by) == ("person", "terminal", "ada")


def test_prompts_and_outputs_go_and_what_the_house_did_stays(store: Store) -> None:
    """A move along a track is an order that somebody gave."""
    run = full_stores.errand(store).run
    prune(store)
    left = [entry for entry in store.entries(run) if entry.matter is not None]
    called = [getattr(entry.read(), "deed", "") for entry in left if entry.kind == "called"]
    assert called == ["read-file"]
    assert "returned" not in {entry.kind for entry in left}


def test_a_pruned_walk_is_reported_with_its_route_and_without_its_outputs(
    store: Store,
) -> None:
    """Its result repeats what agents printed, so that it goes as well."""
    run = walks.released(store).run
    before = retell(store, run)
    prune(store)
    after = retell(store, run)
    assert after.story.path == before.story.path
    assert after.story.outcome == "completed"
    assert b"is built" not in b"".join(e.matter or b"" for e in store.entries(run))
    assert after.chart == before.chart


def test_waiting_runs_are_never_pruned(store: Store) -> None:
    """However long they wait."""
    waiting = small_flows.begin(store)
    before = store.entries(waiting.run)
    prune(store, "codes")
    assert store.entries(waiting.run) == before
    assert small_flows.answer(store, waiting).key == "2:"


def test_only_what_ended_before_the_moment_is_pruned(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts when a run ended, not when it began."""
    begun = chance.now()
    old = done(store)
    late = small_flows.begin(store, questions=1)
    monkeypatch.setattr(chance, "now", lambda: begun + timedelta(days=30))
    small_flows.answer(store, late)
    new = done(store)
    result = prune(store, before=stamp(begun + timedelta(days=10))).result
    assert result["runs"] == 1
    assert "asked" not in texts(store, old)
    assert all("asked" in texts(store, run) for run in (late.run, new))


def test_only_the_project_that_is_meant_is_pruned(store: Store) -> None:
    """Others may have other rules."""
    run = done(store)
    assert prune(store, project="elsewhere").result["runs"] == 0
    assert "asked" in texts(store, run)
    assert prune(store, project="here").result["runs"] == 1


def test_a_preference_holds_for_ever(store: Store) -> None:
    """What it began with is the preference itself."""
    who: dict[str, Any] = {"who": "person", "through": "web"}
    policy.set_preference(store, "an-id", "never-ask", scope="", origin="user", **who)
    prune(store, "codes")
    found = policy.find_preference(store, "an-id", "")
    assert found is not None
    assert found.preference == "never-ask"


def test_a_plan_says_how_much_it_would_be_and_changes_nothing(store: Store) -> None:
    """It is what is done afterwards."""
    done(store, comment="fine")
    full_stores.errand(store)
    before = kept(store)
    plan = archive.plan(store, Wanted(LATER))
    assert kept(store) == before
    assert msgspec.convert(prune(store).result, Amount) == plan
    assert plan.runs == 2
    assert plan.bytes > 0
    assert archive.plan(store, Wanted(LATER)) == Amount()


def test_the_pruning_is_journalled(store: Store) -> None:
    """Who, when, what was wanted and how much it was; and it is never pruned itself."""
    done(store)
    state = prune(store)
    result = runs.look(store, state.run).result
    assert (result["keep"], result["before"], result["runs"]) == ("answers", LATER, 1)
    assert result["entries"] == 2
    bodies = [entry.read() for entry in store.entries(state.run)]
    assert {(body.who, body.by) for body in bodies} == {("person", "grace")}
    prune(store, "codes")
    assert runs.look(store, state.run).result == result
    *_, last = events(store, state.run)
    assert last.text == "done: 1 run, 2 entries, 0 documents"


def test_a_pruned_run_is_shown_and_neither_amended_nor_taken_over(store: Store) -> None:
    """What its flow would need is gone, and the message says so."""
    run = done(store, comment="fine")
    prune(store)
    texts = [event.text for event in events(store, run)]
    assert texts == [
        "small (pruned)",
        "1: (pruned)",
        "1: NO — “fine”",
        "done",
    ]
    reply = Reply((Answer("1:", ("OK",)),))
    with pytest.raises(Diverged, match="pruned"):
        runs.amend(store, run, reply, key="1:", why="oh", who="person", through="web")
    again = runs.begin(
        store,
        small_flows.NAME,
        {"kind": "chain", "questions": 1},
        origin=run,
        who="agent",
        through="relay",
    )
    assert again.key == "1:"


def test_a_run_that_somebody_goes_on_with_meanwhile_is_left_alone(store: Store) -> None:
    """What was seen to be old need not be old any more."""
    run = done(store)
    (take,) = archive.find_prunable(store, Wanted(LATER))
    reply = small_flows.pick("1:", "OK")
    runs.amend(store, run, reply, key="1:", why="oh", who="person", through="web")
    assert store.prune([(take.run, take.numbers)]) == []
    assert "asked" in texts(store, run)


# -- documents -------------------------------------------------------------------------------------


def with_document(store: Store, word: str = "Shall we?") -> State:
    """A run that began with a document."""
    return runs.begin(
        store,
        small_flows.NAME,
        {"kind": "chain", "questions": 1},
        documents={"words": {"1:": word}},
        project="here",
        who="agent",
        through="relay",
    )


def test_documents_go_when_no_run_needs_them(store: Store) -> None:
    """A run needs its own as long as anything of what was said in it is left."""
    one, other = with_document(store), with_document(store)
    alone = with_document(store, "And we?")
    for state in (one, alone):
        small_flows.answer(store, state)
    assert prune(store).result["documents"] == 0
    assert len(dict(store.documents())) == 2
    assert prune(store, "codes").result["documents"] == 1
    assert len(dict(store.documents())) == 1
    assert verify(store).ok
    small_flows.answer(store, other)
    assert prune(store, "codes").result["documents"] == 1
    assert not dict(store.documents())
    assert verify(store).ok


def test_a_document_that_a_new_run_begins_with_stays(store: Store) -> None:
    """Even if it begins after everybody was asked whether they need it."""
    small_flows.answer(store, with_document(store))
    seen = store.newest()
    digests = dict(store.documents())
    with_document(store)
    assert store.forget(digests, seen=seen) == 0
    assert dict(store.documents()) == digests


def test_a_prune_that_is_resumed_takes_what_was_attached(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the run was pruned before somebody killed it."""
    said: dict[str, Any] = {"who": "agent", "through": "relay"}
    given = {"kind": "chain", "questions": 1}
    begun = runs.begin(store, small_flows.NAME, given, documents={"@1": b"evidence"}, **said)
    small_flows.answer(store, begun)

    def kill(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(archive, "_forget", kill)
        with pytest.raises(KeyboardInterrupt):
            prune(store)
    assert len(list(store.documents())) == 1
    assert [state.status for state in archive.finish(store, SOURCE, lambda _: None)] == ["done"]
    assert list(store.documents()) == []


def test_a_document_that_is_gone_too_early_is_missed(store: Store, place: Place) -> None:
    """The end of the run still has its words."""
    small_flows.answer(store, with_document(store))
    prune(store)
    assert verify(store).ok
    place.change("DELETE FROM document")
    assert not verify(store).ok


def test_a_run_that_cannot_be_read_stops_nobody(store: Store, place: Place) -> None:
    """`verify` reports it; the others are pruned."""
    broken, whole = done(store), done(store)
    place.change("UPDATE entry SET body = X'FF00' WHERE seq = 2")
    assert prune(store).result["runs"] == 1
    assert "asked" in texts(store, broken)
    assert "asked" not in texts(store, whole)


def test_a_look_that_a_prune_overtakes_shows_the_end(store: Store) -> None:
    """It found the run waiting; by the time it reads the question, that is gone."""
    state = small_flows.begin(store, questions=1)
    row = store.require_run(state.run)
    small_flows.answer(store, state)
    prune(store)
    assert look_at(store, row) == runs.look(store, state.run)
