"""A journal, counted: its questions, and the same figures whoever counts them."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import small_flows
from quandary.formats.markdown import parse
from quandary.journal import chance, runs
from quandary.journal import counts as counted
from quandary.journal.counts import (
    MOST_NAMES,
    OTHER,
    Counting,
    Few,
    Following,
    Statistics,
    Sums,
    occasions,
)
from quandary.journal.policy import set_preference
from quandary.model.asks import Answer, Outcome, Reply
from quandary.model.calls import Decision, Output

if TYPE_CHECKING:
    from quandary.journal.store import State, Store

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


def begin(
    store: Store, count: int = 1, project: str = "here", text: str = TREE, reader: str = ""
) -> State:
    """A run about a few services."""
    (tree,) = parse(text).trees
    items = [{"id": str(n), "label": f"Service {n}"} for n in range(1, count + 1)]
    return runs.begin(
        store,
        "decide",
        {
            "context": "Each service has a log, and its level is to be set.",
            "items": items,
            "reader": reader,
        },
        documents={"tree": msgspec.to_builtins(tree)},
        project=project,
        who="agent",
        through="command",
    )


def reply(store: Store, state: State, *codes: str, text: str | None = None) -> State:
    """A person answers the questions in order."""
    assert state.ask is not None
    asked = state.ask.questions
    answers = [
        Answer(q.key, (c,) if c else (), text=text) for q, c in zip(asked, codes, strict=False)
    ]
    return runs.advance(store, state.run, Reply(tuple(answers)), to=state.key, **PERSON)


def test_an_empty_journal_has_no_questions(store: Store) -> None:
    """Nothing to count is no error."""
    found = statistics(store)
    assert (found.asked, found.answered, found.last_hour, found.questions) == (0, 0, 0, ())


def test_each_question_is_counted_with_its_answers(store: Store) -> None:
    """Two of a batch, one left open, one in another project, one that was no answer."""
    reply(store, begin(store, 2), "LOW", "MID")
    state = begin(store)
    runs.note(store, state.run, Outcome("idle"), who="agent", through="relay")
    reply(store, begin(store, project="elsewhere"), "", text="my own")
    here = statistics(store, "here")
    assert (here.asked, here.answered, here.last_hour) == (3, 2, 3)
    (tally,) = here.questions
    assert (tally.id, tally.by, tally.recommended, tally.followed) == ("level", {"person": 2}, 2, 1)
    assert tally.answers == {"Quiet": 1, "As now": 1}
    assert statistics(store).asked == 4
    (other,) = occasions(store, "elsewhere")
    assert (other.answer, other.followed) == (("my own",), False)


def test_what_is_no_answer_yet_is_counted_as_none(store: Store) -> None:
    """Asking back and advice are steps on the way; a letter and a skip are answers."""
    state = begin(store, text=TREE.replace("## D", "Extras: A: Wait a week\n## D"))
    ways: list[dict[str, Any]] = [
        {"prefix": "explain"},
        {"advice": "It is loud enough."},
        {"among": ("LOW", "MID"), "text": "low"},
        {"prefix": "force", "argument": "XYZ"},
        {"extra": "A"},
    ]
    for way in ways:
        answer = Answer(state.key or "", **way)
        state = runs.advance(store, state.run, Reply((answer,)), to=state.key, **PERSON)
    skipped = begin(store)
    force = Answer(skipped.key or "", prefix="force", argument="skip")
    runs.advance(store, skipped.run, Reply((force,)), **PERSON)
    assert [found.answer for found in occasions(store)] == [("Wait a week",), ("!skip",)]
    assert (statistics(store).asked, statistics(store).answered) == (2, 2)


def test_what_is_counted_as_it_comes_is_the_same(store: Store) -> None:
    """Only what is new is read; what was asked back is taken back."""
    following, sums = Following(store), Sums()
    state, other = begin(store, 2), begin(store)
    for way in ({"prefix": "explain"}, {"picked": ("LOW",)}, {"text": "my own"}, {"extra": "A"}):
        for sign, one in following.news():
            sums.count(one, sign)
        assert sums.summarize() == statistics(store)
        answer = Answer(state.key or "", **way)
        state = runs.advance(store, state.run, Reply((answer,)), to=state.key, **PERSON)
        if state.status != "waiting":
            state = other
    assert not list(Following(store, "elsewhere").news())


def test_an_answer_that_was_undone_is_counted_no_more(store: Store) -> None:
    """Its question waits again, and what is answered then counts; also where the run had ended."""
    following, sums = Following(store), Sums()
    state = reply(store, begin(store, 2), "LOW", "MID")
    assert state.status == "done"
    for codes in (None, ("HIG", "LOW"), None):
        for sign, one in following.news():
            sums.count(one, sign)
        assert sums.summarize() == statistics(store)
        state = reply(store, state, *codes) if codes else runs.undo(store, state.run, **PERSON)
        kept = (one for one in occasions(store) if one.answered)
        assert sorted(one.answer for one in kept) == ([("Loud",), ("Quiet",)] if codes else [])


def test_an_undo_looks_once_at_what_was_before_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often somebody has changed their mind: not again at what each undo before it did."""
    state, often, looked = begin(store), 8, list[str]()
    for _ in range(often):
        state = runs.undo(store, reply(store, state, "LOW").run, **PERSON)
    read = store.entries

    def look(run: str, **so: Any) -> Any:  # noqa: ANN401 - as it was
        looked.append(run)
        return read(run, **so)

    monkeypatch.setattr(store, "entries", look)
    assert not [one for one in occasions(store) if one.answered]
    assert len(looked) == often


@pytest.mark.parametrize(("yes", "answer"), [("YES", "Quiet"), ("NO", "hush it"), ("", "As now")])
def test_a_reply_that_an_agent_read_is_counted_once(store: Store, yes: str, answer: str) -> None:
    """With what the person confirms; the other answers of its batch count as they are."""
    state = begin(store, 2, reader="READER")
    words = Answer("1:", text="hush it"), Answer("2:", ("MID",))
    state = runs.advance(store, state.run, Reply(words), to=state.key, **PERSON)
    assert statistics(store).answered == 2
    (call,) = state.calls
    read = Output(call.key, meaning=Decision("LOW: Quiet", route="LOW: Quiet"))
    state = runs.advance(store, state.run, (read,), who="agent", through="driver")
    assert (statistics(store).asked, statistics(store).answered) == (2, 1)
    assert state.ask is not None
    reply(store, state, yes or "MID")
    (tally,) = statistics(store).questions
    assert (tally.asked, tally.answers) == (2, Counter((answer, "As now")))


def test_the_time_people_took_is_measured(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the journal's own clock; a preference takes none."""
    begun = chance.now()
    state = begin(store)
    monkeypatch.setattr(chance, "now", lambda: begun + timedelta(seconds=90))
    reply(store, state, "LOW")
    (tally,) = statistics(store).questions
    assert tally.median_seconds == pytest.approx(90, abs=1)
    monkeypatch.setattr(chance, "now", lambda: begun + timedelta(days=2))
    assert statistics(store).last_hour == 0


def test_a_question_that_never_changed_an_answer_is_a_candidate(store: Store) -> None:
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


def test_what_a_preference_decided_is_no_ones_opinion(store: Store) -> None:
    """It counts as asked and answered, not as a sign that people agree."""
    reply(store, begin(store), "LOW")
    set_preference(store, "level", "never-ask", scope="here", origin="", **PERSON)
    for _ in range(6):
        assert begin(store).status == "done"
    found = statistics(store)
    assert found.questions[0].by == {"person": 1, "policy": 6}
    assert (found.candidates, found.last_hour) == ((), 1)


# -- figures ---

LONG = 60.0


def statistics(store: Store, project: str | None = None) -> Statistics:
    """The questions of a project or of all, counted."""
    return Sums(occasions(store, project)).summarize()


def errand(store: Store, *, error: str = "") -> str:
    """A run that asks agents for something."""
    state = small_flows.answer(store, small_flows.begin(store, "errand"))
    output = Output("1:/run", error=error)
    return runs.advance(store, state.run, output, who="agent", through="agent").run


def test_all_that_happened_is_counted(store: Store) -> None:
    """Answers by whose they are, calls and failures by agent, ends by outcome."""
    small_flows.answer(store, small_flows.begin(store, questions=1))
    runs.withdraw(store, small_flows.begin(store).run, "no need", **PERSON)
    errand(store)
    errand(store, error="no such program")
    counts = Counting(store).up_to_now(LONG)
    assert counts.behind == 0
    assert counts.begun == {"small": 4}
    assert counts.answers == {("person", "terminal"): 3}
    assert counts.ended == {"done": 1, "withdrawn": 1}
    assert counts.calls == {"claude": 8}
    assert counts.failures == {"claude": 1}
    assert counts.under_way == 6
    kinds = Counter(entry.kind for entry in store.history(limit=1000))
    assert counts.entries == kinds


def test_only_what_is_new_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it comes to the same as if all were counted at once."""
    counting = Counting(store)
    monkeypatch.setattr(counted, "PAGE", 3)
    pages: list[int] = []
    happened = store.happened

    def watched(*, after: int = 0, limit: int = 1000) -> list[tuple[int, str, bytes]]:
        pages.append(after)
        return happened(after=after, limit=limit)

    monkeypatch.setattr(store, "happened", watched)
    for _ in range(4):
        errand(store, error="no")
        counting.up_to_now(LONG)
    assert pages == sorted(set(pages))
    monkeypatch.setattr(store, "happened", happened)
    assert counting.up_to_now(LONG) == Counting(store).up_to_now(LONG)


def test_counting_in_pieces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is not through says so; the counts are told as they are by then."""
    small_flows.begin(store)
    counting = Counting(store)
    assert counting.up_to_now(-1).behind == store.newest() == 2
    monkeypatch.setattr(counted, "PAGE", 1)
    before = counting.up_to_now(LONG)
    assert before.behind == 0
    small_flows.begin(store)
    assert counting.up_to_now(LONG).entries == {"began": 2, "asked": 2}
    assert before.entries == {"began": 1, "asked": 1}


def test_an_entry_that_cannot_be_read_stops_nobody(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`verify` tells of it."""
    bodies = b"\xff", b"[]", b'{"entry": 3}', b"{}"
    pages = [[(seq, "r", body) for seq, body in enumerate(bodies, 1)]]
    monkeypatch.setattr(store, "newest", lambda: len(bodies))
    monkeypatch.setattr(store, "happened", lambda **_: pages.pop())
    assert Counting(store).up_to_now(LONG).entries == {OTHER: 4}


def test_calls_that_never_come_back_are_forgotten_with_their_run(store: Store) -> None:
    """Nothing is kept of what is over."""
    run = errand(store)
    counting = Counting(store)
    assert counting.up_to_now(LONG).under_way == 3
    runs.withdraw(store, run, "no need", **PERSON)
    assert counting.up_to_now(LONG).under_way == 0
    assert counting._under_way == {}


def test_names_are_few_and_short() -> None:
    """A journal can hold anything, and every figure has to be kept by somebody."""
    few = Few()
    told = {few[f"agent-{number}"] for number in range(1000)}
    assert len(told) == MOST_NAMES + 1
    assert OTHER in told
    assert few["agent-0"] == "agent-0"
    assert {Few()[name] for name in ("", "a\nb", "x" * 100, '"', "-rf")} == {OTHER}
