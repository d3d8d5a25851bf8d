"""Beginning anew with the answers of an earlier run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import small_flows
import walks
from quandary.errors import NotFound, Rejected
from quandary.formats.markdown import parse
from quandary.journal import runs
from quandary.journal.entries import Answered, Began
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply
from quandary.model.calls import Output, Stopped
from scripted_walks import chart, task

if TYPE_CHECKING:
    from quandary.journal.store import State, Store


def anew(store: Store, origin: str, **arguments: Any) -> State:  # noqa: ANN401
    """A run with the answers of another one."""
    given = {"kind": "chain", "questions": 3, **arguments}
    return runs.begin(store, small_flows.NAME, given, origin=origin, who="agent", through="relay")


@pytest.fixture
def earlier(store: Store) -> State:
    """A run with two answers: a pick with a comment, and own words."""
    state = small_flows.begin(store)
    state = small_flows.answer(store, state, small_flows.pick("1:", "NO", comment="not now"))
    return small_flows.answer(store, state, Reply((Answer("2:", text="my own", raw="my own"),)))


def test_answers_to_the_same_questions_are_taken_over(store: Store, earlier: State) -> None:
    """As whose they were, with a word on where they came from."""
    state = anew(store, earlier.run)
    assert state.key == "3:"
    began = store.entries(state.run)[0].read()
    assert isinstance(began, Began)
    assert began.origin == earlier.run
    for entry in store.entries(state.run, kinds=("answered",)):
        body = entry.read()
        assert isinstance(body, Answered)
        assert (body.who, body.by, body.origin) == ("person", "ada", earlier.run)
    state = small_flows.answer(store, state)
    assert state.result["chosen"][:2] == [["1:", "NO", None, "not now"], ["2:", "my own", None]]
    assert verify(store).ok


def test_a_question_with_another_text_is_asked(store: Store, earlier: State) -> None:
    """Nobody's answer is booked on a question that they did not see."""
    assert anew(store, earlier.run, words={"1:": "Something else?"}).key == "1:"
    assert anew(store, earlier.run, words={"2:": "Something else?"}).key == "2:"


KEEP = """\
### ¶ASK_KEEP
Extras: A: Look at the tests first
Question: What becomes of it?
## Decision: Keep
- [KEP] Keep it
- [CHG] Change it
  - [COL] The colour
  - [SIZ] The size
"""


@pytest.mark.parametrize(
    ("said", "old", "new"),
    [
        ({"extra": "A"}, "Look at the tests first", "Approve it all"),
        ({"prefix": "force", "argument": "CHG/COL"}, "The colour", "The owner"),
        ({"picked": ("KEP",)}, "blue buttons", "corner office"),
    ],
    ids=["extra", "forced", "title"],
)
def test_words_that_mean_something_else_by_now_are_not_taken_over(
    store: Store, said: dict[str, Any], old: str, new: str
) -> None:
    """The letter of an extra, a path behind an option, what it is about: they saw another."""

    def begin(words: tuple[str, str], origin: str | None = None) -> State:
        [tree] = parse(KEEP.replace(*words)).trees
        item = {"id": "1", "title": "blue buttons".replace(*words)}
        given = {"context": "It is there.", "items": [item]}
        documents = {"tree": msgspec.to_builtins(tree)}
        return runs.begin(
            store,
            "decide",
            given,
            documents=documents,
            origin=origin,
            who="agent",
            through="command",
        )

    state = begin((old, old))
    reply = Reply((Answer("1:", **said),))
    assert runs.advance(store, state.run, reply, who="person", through="web").status == "done"
    assert begin((old, new), state.run).status == "waiting"


def test_a_pick_that_is_no_longer_offered_is_asked(
    store: Store, earlier: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Own words fit only where all the options are the same."""
    monkeypatch.setattr(small_flows, "CODES", ("OK", "SUB"))
    assert anew(store, earlier.run).key == "1:"
    monkeypatch.setattr(small_flows, "CODES", ("OK", "NO", "SUB", "NEW"))
    assert anew(store, earlier.run).key == "2:"


def test_a_run_can_be_begun_anew_from_one_that_has_diverged(
    store: Store, earlier: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is what it is for."""
    monkeypatch.setattr(small_flows, "VERSION", 2)
    assert anew(store, earlier.run).key == "3:"


def test_amended_answers_are_taken_over_as_they_stand(store: Store, earlier: State) -> None:
    """And what was asked again since is taken as it was last answered."""
    reply = small_flows.pick("1:", "SUB")
    state = runs.amend(store, earlier.run, reply, key="1:", why="oh", who="person", through="web")
    small_flows.answer(store, state, "OK")
    state = small_flows.answer(store, anew(store, earlier.run))
    assert [chosen[1] for chosen in state.result["chosen"]] == ["SUB", "OK", "OK"]


def test_a_run_with_every_answer_is_done_at_once(store: Store, earlier: State) -> None:
    """Nothing is left to ask."""
    small_flows.answer(store, earlier)
    assert anew(store, earlier.run).status == "done"


def test_an_unknown_origin_is_refused(store: Store) -> None:
    """Nothing is begun."""
    with pytest.raises(NotFound):
        anew(store, "0" * 26)
    assert store.runs() == []


def test_a_session_that_stopped_is_not_taken_over(store: Store) -> None:
    """No other run goes on with it, before or after it has ended; its work is taken over."""
    drawn = chart(task("a"))
    state = walks.begin(store, drawn)
    stopped = Stopped("session-1", "use-1", "Bash", '{"command": "make"}', "/work")
    output = Output(state.calls[0].key, stopped=stopped)
    state = runs.advance(store, state.run, output, who="agent", through="agent")
    assert state.ask is not None
    other = walks.begin(store, drawn, origin=state.run)
    assert [call.resumes for call in other.calls] == [None]
    allowed = Reply((Answer(state.ask.key, ("ONE",)),))
    state = runs.advance(store, state.run, allowed, who="person", through="web")
    came = walks.did(state.calls[0])
    state = runs.advance(store, state.run, came, who="agent", through="agent")
    assert state.status == "done"
    assert walks.begin(store, drawn, origin=state.run).status == "done"


def test_an_answer_with_which_a_session_went_on_is_not_changed(store: Store) -> None:
    """What was allowed was done, and no session comes back to where it stopped."""
    state = walks.begin(store, chart(task("a"), task("b"), routes="a>b"))
    questions = [{"question": text, "options": ["Yes", "No"]} for text in ("Now?", "Here?")]
    given = msgspec.json.encode({"questions": questions}).decode()
    output = Output(state.calls[0].key, stopped=Stopped("s-1", "use-1", "AskUserQuestion", given))
    state = runs.advance(store, state.run, output, who="agent", through="agent")
    person: dict[str, Any] = {"who": "person", "through": "web"}
    assert state.ask is not None
    first = state.ask.questions[0].key
    state = runs.advance(store, state.run, Reply((Answer(first, ("A",)),)), **person)
    other = Reply((Answer(first, ("B",)),))
    state = runs.amend(store, state.run, other, key=first, why="oops", **person)
    assert state.ask is not None
    last = state.ask.questions[0].key
    state = runs.advance(store, state.run, Reply((Answer(last, ("A",)),)), **person)
    assert state.calls
    for key in (first, last):
        changed = Reply((Answer(key, ("B",)),))
        with pytest.raises(Rejected, match="went on with this answer"):
            runs.amend(store, state.run, changed, key=key, why="oops", **person)
