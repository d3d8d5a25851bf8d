"""The one driver: beginning, answering, noting, amending and ending runs."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import small_flows
import walks
from quandary.errors import AlreadyAnswered, ContextRequired, NotFound, Rejected
from quandary.journal import chance, open_store, runs
from quandary.journal.entries import Answered, Asked, Called, Ended, Noted
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Note, Outcome, Reply
from quandary.model.calls import Do, Done, Output

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.journal.store import State, Store

PERSON: dict[str, Any] = {"who": "person", "through": "terminal"}
AGENT: dict[str, Any] = {"who": "agent", "through": "relay"}


def kinds(store: Store, run: str) -> list[str]:
    """What happened to a run, in a word each."""
    return [entry.kind for entry in store.entries(run)]


class Clock:
    """A clock that shows what a test wants."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.moment = datetime(2026, 5, 1, 12, tzinfo=UTC)
        monkeypatch.setattr(chance, "now", lambda: self.moment)

    def pass_(self, **time_: float) -> None:
        """Let time go by, or back."""
        self.moment += timedelta(**time_)


# -- beginning and answering -----------------------------------------------------------------------


def test_a_run_begins_and_waits_for_its_first_answer(store: Store) -> None:
    """The state names the run, what waits and its key."""
    state = small_flows.begin(store)
    assert (state.flow, state.status, state.key, state.n) == ("small", "waiting", "1:", 2)
    assert state.ask is not None
    assert state.ask.key == "1:"
    assert kinds(store, state.run) == ["began", "asked"]
    assert runs.look(store, state.run) == state


def test_an_answer_and_the_ask_that_follows_are_one_transaction(store: Store) -> None:
    """Nobody ever finds a run between the two."""
    state = small_flows.begin(store)
    state = small_flows.answer(store, state)
    assert (state.key, state.n) == ("2:", 4)
    assert kinds(store, state.run) == ["began", "asked", "answered", "asked"]


def test_a_run_ends_with_its_result(store: Store) -> None:
    """Done runs keep their result, and the notes that came with it."""
    state = small_flows.begin(store, questions=1, notes=True)
    state = small_flows.answer(store, state, small_flows.pick("1:", "NO", comment="not now"))
    assert state.status == "done"
    assert state.key is None
    assert state.result["chosen"] == [["1:", "NO", None, "not now"]]
    assert state.notes == (Note("matched", "the last one", "1"),)
    assert runs.look(store, state.run) == state
    assert runs.advance(store, state.run, **PERSON) == state


def test_a_flow_with_nothing_to_ask_is_done_at_once(store: Store) -> None:
    """It is journalled all the same."""
    state = small_flows.begin(store, "empty")
    assert (state.status, state.result) == ("done", {"given": ["kind"]})
    assert kinds(store, state.run) == ["began", "ended"]


def test_what_cannot_be_asked_is_not_begun(store: Store) -> None:
    """A flow that refuses its arguments leaves no trace."""
    with pytest.raises(ContextRequired):
        small_flows.begin(store, context="")
    assert store.runs() == []


def test_an_entry_says_who_through_what_and_by_whom(store: Store) -> None:
    """An answer that an agent relays is never a person's own."""
    state = small_flows.answer(store, small_flows.begin(store))
    runs.advance(store, state.run, small_flows.pick("2:"), **AGENT, by="claude")
    said = [entry.read() for entry in store.entries(state.run, kinds=("answered",))]
    assert [(body.who, body.through, body.by) for body in said] == [
        ("person", "terminal", "ada"),
        ("agent", "relay", "claude"),
    ]


def test_words_and_readings_are_kept_and_sent_again(store: Store) -> None:
    """The raw text stays beside its reading; the flow gets the reading."""
    reply = Reply((Answer("1:", ("OK",), comment="but rename it", raw="ok, but rename it"),))
    state = small_flows.answer(store, small_flows.begin(store), reply)
    (entry,) = store.entries(state.run, kinds=("answered",))
    assert entry.read_matter().answers == reply.answers


def test_a_flow_that_cannot_go_on_fails_with_its_reason(store: Store) -> None:
    """The answer that led there is kept."""
    state = small_flows.begin(store)
    state = small_flows.answer(store, state, Reply((Answer("1:", text="fail"),)))
    assert (state.status, state.error) == ("failed", "it cannot be done")
    assert runs.look(store, state.run) == state
    assert kinds(store, state.run)[-2:] == ["answered", "ended"]


def test_a_fault_in_a_flow_books_nothing(store: Store) -> None:
    """The question still waits, and another answer can be given."""
    state = small_flows.begin(store)
    with pytest.raises(ZeroDivisionError):
        small_flows.answer(store, state, Reply((Answer("1:", text="crash"),)))
    assert runs.look(store, state.run) == state
    assert small_flows.answer(store, state).key == "2:"


def test_another_process_can_go_on_with_a_run(store: Store, path: Path | str) -> None:
    """Whatever one store object still holds, the journal is what counts."""
    state = small_flows.begin(store)
    other = open_store(path)
    state = small_flows.answer(other, state)
    state = small_flows.answer(store, state, "NO")
    state = small_flows.answer(other, state, "SUB")
    assert [chosen[1] for chosen in state.result["chosen"]] == ["OK", "NO", "SUB"]
    other.close()


# -- replies that cannot be booked -----------------------------------------------------------------


def test_a_reply_to_what_no_longer_waits_is_already_answered(store: Store) -> None:
    """Whether `to` or the answers name it; nothing is changed."""
    state = small_flows.begin(store)
    after = small_flows.answer(store, state)
    for reply, to in ((small_flows.pick("1:"), "1:"), (small_flows.pick("1:"), None)):
        with pytest.raises(AlreadyAnswered, match=r"already answered: 1:.*now waits for 2:"):
            runs.advance(store, state.run, reply, to=to, **PERSON)
    with pytest.raises(AlreadyAnswered):
        runs.advance(store, state.run, small_flows.pick("2:"), to="1:", **PERSON)
    assert runs.look(store, state.run) == after


def test_a_reply_to_a_run_that_is_over_is_already_answered(store: Store) -> None:
    """The message says what became of the run."""
    state = small_flows.answer(store, small_flows.begin(store, questions=1))
    with pytest.raises(AlreadyAnswered, match="is done"):
        runs.advance(store, state.run, small_flows.pick("1:"), to="1:", **PERSON)


def test_a_reply_may_name_any_question_of_the_ask(store: Store) -> None:
    """An Ask is known by its first question, and each of its questions belongs to it."""
    state = small_flows.begin(store, "maze", items=["1", "2"], most=9)
    state = runs.advance(store, state.run, small_flows.pick("2:", "NO"), to="2:", **PERSON)
    assert state.key == "1:~2"


@pytest.mark.parametrize("code", ["ZZZ", "ok", "OTH/ZZZ", "MAY"])
def test_a_code_that_was_not_offered_is_rejected(store: Store, code: str) -> None:
    """The message lists what is offered; the question still waits."""
    state = small_flows.begin(store)
    with pytest.raises(Rejected, match="OK, NO, SUB, OTH/MAY"):
        small_flows.answer(store, state, code)
    assert runs.look(store, state.run) == state


@pytest.mark.parametrize("code", ["OK", "OTH/MAY", "OTH"])
def test_what_is_shown_or_can_be_named_may_be_picked(store: Store, code: str) -> None:
    """Options behind Other, and Other itself, count as offered."""
    assert small_flows.answer(store, small_flows.begin(store), code).key == "2:"


def test_a_reply_that_answers_nothing_is_rejected(store: Store) -> None:
    """Silence is never an answer."""
    state = small_flows.begin(store)
    with pytest.raises(Rejected, match="answers nothing"):
        runs.advance(store, state.run, Reply(()), **PERSON)
    twice = Reply((Answer("1:", ("OK",)), Answer("1:", ("NO",))))
    with pytest.raises(Rejected, match="twice"):
        runs.advance(store, state.run, twice, **PERSON)
    assert runs.look(store, state.run) == state


def test_an_unknown_run_is_not_found(store: Store) -> None:
    """Wherever it is named."""
    with pytest.raises(NotFound):
        runs.look(store, "0" * 26)
    with pytest.raises(NotFound):
        runs.advance(store, "0" * 26, small_flows.pick("1:"), **PERSON)


def test_a_note_from_elsewhere_does_not_stand_in_the_way(store: Store, path: Path | str) -> None:
    """Whoever was overtaken by an entry that answers nothing tries again by itself."""
    state = small_flows.begin(store)
    other = open_store(path)
    appended = store.append

    def late(*given: Any, **named: Any) -> None:  # noqa: ANN401
        store.append = appended  # type: ignore[method-assign]
        runs.note(other, state.run, Outcome("idle"), **AGENT)
        appended(*given, **named)

    store.append = late  # type: ignore[method-assign]
    state = small_flows.answer(store, state)
    assert (state.key, state.n) == ("2:", 5)
    assert kinds(store, state.run) == ["began", "asked", "noted", "answered", "asked"]
    other.close()


# -- what is no answer -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dismissed", "unavailable", "idle", "error"])
def test_what_is_no_answer_is_kept_and_the_question_stays_open(
    store: Store,
    kind: Any,  # noqa: ANN401
) -> None:
    """The flow never hears of it; whoever looks does."""
    state = small_flows.begin(store)
    after = runs.advance(store, state.run, Outcome(kind, "why"), to="1:", **AGENT)
    assert (after.status, after.key, after.ask) == ("waiting", "1:", state.ask)
    assert after.notes == (Note(kind, "why"),)
    assert runs.look(store, state.run) == after
    (entry,) = store.entries(state.run, kinds=("noted",))
    body = entry.read()
    assert isinstance(body, Noted)
    assert (body.kind, body.key, body.who) == (kind, "1:", "agent")
    assert small_flows.answer(store, state).notes == ()


def test_a_decline_ends_the_run(store: Store) -> None:
    """An explicit no to being asked at all."""
    state = small_flows.begin(store)
    after = runs.note(store, state.run, Outcome("declined", "not mine"), **PERSON).state
    assert (after.status, after.key, after.ask) == ("declined", None, None)
    assert (after.error, after.notes) == ("not mine", (Note("declined", "not mine"),))
    assert runs.inbox(store) == []


def test_a_note_on_what_no_longer_waits_is_refused(store: Store) -> None:
    """A late decline does not end a run that has gone on."""
    state = small_flows.answer(store, small_flows.begin(store, questions=2))
    with pytest.raises(AlreadyAnswered):
        runs.note(store, state.run, Outcome("declined"), to="1:", **PERSON)
    small_flows.answer(store, state)
    with pytest.raises(AlreadyAnswered):
        runs.note(store, state.run, Outcome("declined"), **PERSON)


def test_a_run_nobody_needs_is_withdrawn(store: Store) -> None:
    """With a reason; only while it waits."""
    state = small_flows.begin(store)
    after = runs.withdraw(store, state.run, "the build is gone", **PERSON, by="ada")
    assert (after.status, after.error) == ("withdrawn", "the build is gone")
    with pytest.raises(Rejected, match="is withdrawn"):
        runs.withdraw(store, state.run, "again", **PERSON)
    with pytest.raises(AlreadyAnswered, match="is withdrawn"):
        small_flows.answer(store, state)


def test_a_question_expires_by_one_look_at_the_clock(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the clock jumps back meanwhile, the journal has the time by which it was judged."""
    time_ = Clock(monkeypatch)
    expires, given = time_.moment + timedelta(minutes=1), {"kind": "chain", "questions": 2}
    run = runs.begin(store, small_flows.NAME, given, expires=expires, **AGENT).run
    moments = iter([expires + timedelta(minutes=1)])
    monkeypatch.setattr(chance, "now", lambda: next(moments, expires - timedelta(hours=1)))
    assert runs.look(store, run).status == "withdrawn"
    assert store.entries(run)[-1].read().at >= chance.stamp(expires)


def test_a_run_withdraws_itself_when_its_time_is_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By being looked at, in whatever way; nothing has to run for it."""
    time_ = Clock(monkeypatch)
    expires = time_.moment + timedelta(days=2)
    given = {"kind": "chain", "questions": 2}
    one, two, three = (
        runs.begin(store, small_flows.NAME, given, expires=expires, **AGENT) for _ in range(3)
    )
    time_.pass_(days=1)
    assert small_flows.answer(store, one).key == "2:"
    time_.pass_(days=1)
    after = runs.look(store, one.run)
    assert after.status == "withdrawn"
    assert after.error is not None
    assert "2026-05-03T12:00:00.000000Z" in after.error
    with pytest.raises(AlreadyAnswered):
        small_flows.answer(store, two)
    assert runs.inbox(store) == []
    row = store.run(three.run)
    assert row is not None
    assert row.status == "withdrawn"
    ended = store.entries(three.run)[-1].read()
    assert isinstance(ended, Ended)
    assert (ended.who, ended.through) == ("policy", "expiry")
    assert verify(store).ok


# -- amending --------------------------------------------------------------------------------------


def amend(store: Store, run: str, key: str, code: str) -> State:
    """A person thinks better of it."""
    reply = small_flows.pick(key, code, comment="now I see")
    return runs.amend(store, run, reply, key=key, why="a new fact", by="ada", **PERSON)


def test_an_amended_answer_has_everything_after_it_asked_again(store: Store) -> None:
    """The old answer is kept; the new entry says who and why."""
    state = small_flows.begin(store)
    for code in ("OK", "NO", "SUB"):
        state = small_flows.answer(store, state, code)
    assert state.status == "done"
    state = amend(store, state.run, "2:", "OK")
    assert (state.status, state.key) == ("waiting", "3:~a1")
    first, old, third, new = store.entries(state.run, kinds=("answered",))
    body = new.read()
    assert isinstance(body, Answered)
    assert (body.amends, body.by, new.read_matter().why) == (old.n, "ada", "a new fact")
    assert first.n < old.n < third.n < new.n
    runs._opened.clear()
    state = small_flows.answer(store, state, "NO")
    assert [chosen[1] for chosen in state.result["chosen"]] == ["OK", "OK", "NO"]
    assert verify(store).ok


def test_an_answer_can_be_amended_again_and_again(store: Store) -> None:
    """Also an earlier one after a later one, and while the run waits."""
    state = small_flows.begin(store)
    for code in ("OK", "NO"):
        state = small_flows.answer(store, state, code)
    turns = (("2:", "SUB", "3:~a1"), ("2:", "OK", "3:~a2"), ("1:", "NO", "2:~a3"))
    for key, code, waiting in turns:
        assert amend(store, state.run, key, code).key == waiting
    with pytest.raises(Rejected, match="no answer to 2:"):
        amend(store, state.run, "2:", "OK")
    state = amend(store, state.run, "1:", "SUB")
    runs._opened.clear()
    for code in ("OK", "OK"):
        state = small_flows.answer(store, state, code)
    assert [chosen[1] for chosen in state.result["chosen"]] == ["SUB", "OK", "OK"]
    assert verify(store).ok


def test_a_reply_to_what_was_shown_before_an_amendment_is_refused(store: Store) -> None:
    """The same place is asked about again, and nobody who saw the first showing saw the second."""
    state = small_flows.begin(store)
    state = small_flows.answer(store, state, "OK")
    late = state.key
    assert late == "2:"
    state = amend(store, state.run, "1:", "NO")
    with pytest.raises(AlreadyAnswered, match="2:~a1"):
        runs.advance(store, state.run, small_flows.pick(late, "OK"), to=late, **PERSON)
    assert runs.look(store, state.run) == state
    assert small_flows.answer(store, state, "OK").key == "3:~a1"


def test_an_answer_after_an_amendment_can_be_amended(store: Store) -> None:
    """Each part of a run follows the amendment that was before it."""
    state = small_flows.begin(store)
    for code in ("OK", "NO"):
        state = small_flows.answer(store, state, code)
    state = small_flows.answer(store, amend(store, state.run, "1:", "NO"), "NO")
    assert state.key == "3:~a1"
    state = amend(store, state.run, "2:~a1", "SUB")
    assert state.key == "3:~a2"
    runs._opened.clear()
    state = small_flows.answer(store, state, "OK")
    assert [chosen[1] for chosen in state.result["chosen"]] == ["NO", "SUB", "OK"]
    assert verify(store).ok


PLAIN_AGENT: dict[str, Any] = {"who": "agent", "through": "relay"}


def test_what_only_a_person_can_answer_is_refused_from_anybody_else(store: Store) -> None:
    """Neither a reply nor an amendment that an agent brought; advice is welcome."""
    state = small_flows.begin(store, require="person")
    reply = small_flows.pick(str(state.key), "OK")
    with pytest.raises(Rejected, match="only a person"):
        runs.advance(store, state.run, reply, to=state.key, **PLAIN_AGENT)
    assert runs.look(store, state.run) == state
    state = runs.advance(store, state.run, reply, to=state.key, **PERSON)
    with pytest.raises(Rejected, match="only a person"):
        runs.amend(
            store, state.run, small_flows.pick("1:", "NO"), key="1:", why="oh", **PLAIN_AGENT
        )


def test_amending_one_question_leaves_the_others_of_its_ask(store: Store) -> None:
    """A batch is not answered anew for the sake of one item."""
    state = small_flows.begin(store, "maze", items=["1", "2"], most=9)
    reply = Reply((Answer("1:", ("OK",)), Answer("2:", ("NO",))))
    state = small_flows.answer(store, state, reply)
    assert amend(store, state.run, "2:", "OK").result == {"paths": {"1": "OK", "2": "OK"}}


def test_what_cannot_be_amended_is_rejected(store: Store) -> None:
    """An answer there never was, a code not offered, a run that was declined."""
    state = small_flows.answer(store, small_flows.begin(store))
    with pytest.raises(Rejected, match="no answer to 2:"):
        amend(store, state.run, "2:", "OK")
    with pytest.raises(Rejected, match="not offered"):
        amend(store, state.run, "1:", "ZZZ")
    with pytest.raises(Rejected, match="not asked together"):
        runs.amend(store, state.run, small_flows.pick("2:"), key="1:", why="", **PERSON)
    runs.note(store, state.run, Outcome("declined"), **PERSON)
    with pytest.raises(Rejected, match=r"is declined; .*--from"):
        amend(store, state.run, "1:", "NO")


# -- calls and deeds -------------------------------------------------------------------------------


def to_the_deed(store: Store) -> State:
    """An errand whose calls have all come back."""
    state = small_flows.answer(store, small_flows.begin(store, "errand"))
    for key in ("1:/run", "1:/vote-2", "1:/vote-1", "1:/vote-3"):
        output = Output(key, f"{key} says yes")
        state = runs.advance(store, state.run, output, who="agent", through="worker")
    return state


def test_calls_are_left_to_the_caller(store: Store) -> None:
    """The state says which wait; with the last output, the run goes on."""
    state = small_flows.answer(store, small_flows.begin(store, "errand"))
    assert (state.status, state.ask, state.key) == ("waiting", None, "1:/run")
    assert [call.prompt for call in state.calls] == ["Do it."]
    assert runs.inbox(store) == []
    state = runs.advance(store, state.run, Output("1:/run", "ran"), who="agent", through="worker")
    assert [call.key for call in state.calls] == ["1:/vote-1", "1:/vote-2", "1:/vote-3"]
    state = runs.advance(
        store, state.run, Output("1:/vote-2", "yes"), who="agent", through="worker"
    )
    assert [call.key for call in state.calls] == ["1:/vote-1", "1:/vote-3"]
    assert runs.look(store, state.run) == state
    rest = (Output("1:/vote-1", "no"), Output("1:/vote-3", error="timed out"))
    state = runs.advance(store, state.run, rest, **AGENT)
    assert state.calls == ()
    assert state.deed == Do("1:/file", "read-file", "notes.md")


def test_an_output_that_nobody_waits_for_is_refused(store: Store) -> None:
    """A job delivered twice does no harm."""
    state = small_flows.answer(store, small_flows.begin(store, "errand"))
    runs.advance(store, state.run, Output("1:/run"), who="agent", through="worker")
    with pytest.raises(AlreadyAnswered, match="1:/run"):
        runs.advance(store, state.run, Output("1:/run"), who="agent", through="worker")
    with pytest.raises(AlreadyAnswered):
        runs.advance(store, state.run, small_flows.pick("1:/vote-1"), **PERSON)


def test_deeds_are_done_by_whoever_can(store: Store) -> None:
    """Each is journalled before it is done and when it is done."""
    state = to_the_deed(store)
    assert runs.look(store, state.run).deed == state.deed
    assert kinds(store, state.run)[-1] == "called"
    done: list[Do] = []

    def deeds(do: Do) -> Done:
        done.append(do)
        return Done(do.key, "the text of the file")

    state = runs.advance(store, state.run, **AGENT, deeds=deeds)
    assert done == [Do("1:/file", "read-file", "notes.md")]
    assert kinds(store, state.run)[-3:] == ["called", "returned", "asked"]
    assert state.ask is not None
    assert state.ask.questions[0].text == "the text of the file"
    state = runs.advance(store, state.run, small_flows.pick("2:"), deeds=deeds, **PERSON)
    assert state.result["votes"] == [f"1:/vote-{n} says yes" for n in (1, 2, 3)]
    assert len(done) == 1


def test_a_deed_cut_short_by_a_crash_is_done_again(store: Store) -> None:
    """It waits, as any request does, until its outcome is journalled."""
    state = to_the_deed(store)

    def crash(_: Do) -> Done:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.advance(store, state.run, **AGENT, deeds=crash)
    assert runs.look(store, state.run) == state
    after = runs.advance(store, state.run, **AGENT, deeds=lambda do: Done(do.key, "text"))
    assert after.key == "2:"


def test_an_output_is_booked_on_what_the_run_has_become_elsewhere(
    store: Store, path: Path | str
) -> None:
    """Whoever has a run open need not look at it again, and is never wrong about it."""
    first = walks.begin(store, walks.line(4))
    other = open_store(path)
    second = walks.send(other, first, walks.did(first.calls[0]))
    with pytest.raises(AlreadyAnswered):
        walks.send(store, first, walks.did(first.calls[0], "It is built twice."))
    third = walks.send(store, second, walks.did(second.calls[0]))
    fourth = walks.send(other, third, walks.did(third.calls[0]))
    runs.withdraw(store, first.run, "no need", who="person", through="terminal")
    with pytest.raises(AlreadyAnswered, match="is withdrawn"):
        walks.send(other, fourth, walks.did(fourth.calls[0]))
    other.close()
    assert len(store.entries(first.run, kinds=("returned",))) == 3
    assert verify(store).ok


def test_an_open_run_is_not_looked_up_for_its_output(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps follow each other with a single write each."""
    state = walks.begin(store, walks.line(3))
    with monkeypatch.context() as patch:
        patch.setattr(store, "run", None)
        for _ in range(3):
            state = walks.send(store, state, walks.did(state.calls[0]))
    assert state.status == "done"


def test_of_two_that_do_a_deed_one_is_heard(store: Store, path: Path | str) -> None:
    """Whoever comes second goes on from what the first one found."""
    state = to_the_deed(store)
    other = open_store(path)

    def slow(do: Do) -> Done:
        runs.advance(other, state.run, **AGENT, deeds=lambda do: Done(do.key, "first"))
        return Done(do.key, "second")

    after = runs.advance(store, state.run, **AGENT, deeds=slow)
    assert after.ask is not None
    assert after.ask.questions[0].text == "first"
    assert kinds(store, state.run).count("returned") == 5
    other.close()


# -- looking and waiting ---------------------------------------------------------------------------


def test_the_inbox_lists_what_waits_for_a_person(store: Store) -> None:
    """Oldest first, page by page, for one project or all."""
    states = [small_flows.begin(store) for _ in range(4)]
    given = {"kind": "chain", "questions": 1}
    there = runs.begin(store, small_flows.NAME, given, project="there", **AGENT)
    small_flows.answer(store, there)
    runs.withdraw(store, states[1].run, "", **PERSON)
    found = runs.inbox(store)
    assert [run.id for run in found] == [states[n].run for n in (0, 2, 3)]
    assert {run.key for run in found} == {"1:"}
    assert runs.inbox(store, after=found[0].number, limit=1) == [found[1]]
    assert runs.inbox(store, project="there") == []


def test_waiting_ends_with_the_next_entry(store: Store, path: Path | str) -> None:
    """Whoever waits for an answer is woken by it, wherever it is given."""
    state = small_flows.begin(store)

    def later() -> None:
        other = open_store(path)
        small_flows.answer(other, state)
        other.close()

    timer = threading.Timer(0.3, later)
    timer.start()
    before = time.monotonic()
    after = runs.wait(store, state.run, state.n, 20)
    assert after.key == "2:"
    assert time.monotonic() - before < 5
    timer.join()


def test_waiting_in_vain_gives_the_state_as_it_is(store: Store) -> None:
    """Silence changes nothing; a run that is over is not waited for."""
    state = small_flows.begin(store, questions=1)
    before = time.monotonic()
    assert runs.wait(store, state.run, state.n, 0.3) == state
    assert 0.3 <= time.monotonic() - before < 3
    done = small_flows.answer(store, state)
    assert runs.wait(store, state.run, done.n, 60) == done


def test_a_clock_that_jumps_back_changes_no_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries and runs are ordered by their numbers; the clock only dates them."""
    time_ = Clock(monkeypatch)
    first = small_flows.begin(store)
    time_.pass_(hours=-5)
    state = small_flows.answer(store, first, "NO")
    second = small_flows.begin(store)
    time_.pass_(days=-400)
    state = small_flows.answer(store, state, "SUB")
    runs._opened.clear()
    state = small_flows.answer(store, state, "OK")
    assert [chosen[1] for chosen in state.result["chosen"]] == ["NO", "SUB", "OK"]
    assert first.run < second.run
    assert [run.id for run in store.runs()] == [first.run, second.run]
    moments = [entry.read().at for entry in store.entries(first.run)]
    assert moments != sorted(moments)
    assert verify(store).ok


def test_entries_of_a_walk_say_which_part_of_it_they_are(store: Store) -> None:
    """Step, visit, role and attempt stand in the body, which outlives the texts."""
    state = walks.released(store)
    bodies = [entry.read() for entry in store.entries(state.run, kinds=("asked", "called"))]
    told = []
    for body in bodies:
        assert isinstance(body, Asked | Called)
        part = body.assignment
        assert part is not None
        told.append((part.step, part.visit, part.name, part.role, part.attempt))
    assert told == [
        ("build", 1, "run", "work", 1),
        ("build", 1, "validate-1", "check", 1),
        ("build", 1, "retry-1", "work", 2),
        ("build", 1, "validate-2", "check", 2),
        ("tests", 1, "run", "work", 1),
        ("mend", 1, "run", "work", 1),
        ("tests", 2, "run", "work", 1),
        ("ship", 1, "run", "work", 1),
    ]


def test_an_open_run_is_looked_up_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read, answered and shown through it reads its row and its beginning one time."""
    state = small_flows.answer(store, small_flows.begin(store))
    runs._opened.clear()
    read: list[str] = []
    find, look_up = store.run, store.entries

    def entries(run: str, **wanted: Any) -> list[Any]:  # noqa: ANN401 - as the store takes it
        read.append("began" if "began" in (wanted.get("kinds") or ()) else "entries")
        return look_up(run, **wanted)

    def row(run: str) -> Any:  # noqa: ANN401 - a row, or nothing
        read.append("row")
        return find(run)

    monkeypatch.setattr(store, "run", row)
    monkeypatch.setattr(store, "entries", entries)
    opened = runs.open_run(store, state.run)
    assert opened.state.ask == state.ask
    assert opened.build().arguments["kind"] == "chain"
    reply = small_flows.pick(str(state.key), "OK")
    after = runs.advance(store, opened, reply, to=state.key, who="person", through="terminal")
    assert (after.key, opened.row.key) == ("3:", "3:")
    assert read == ["row", "entries"]


def test_what_a_server_keeps_open_does_not_grow_with_items(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large runs share a room, the newest always has one, and small runs stay beside them."""
    monkeypatch.setattr(runs, "MOST_OPEN", 8)
    small = [small_flows.begin(store).run for _ in range(4)]
    large = [small_flows.begin(store, pad="x" * 3 * runs.SMALL).run for _ in range(4)]
    assert list(runs._opened[store]) == small + large[-2:]
    huge = small_flows.begin(store, pad="x" * 9 * runs.SMALL).run
    assert list(runs._opened[store]) == [*small, huge]
