"""The one use of a permit, in every kind of store."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from quandary.desk import begin, permits, reply
from quandary.desk.authority import Caller
from quandary.desk.begin import Showing
from quandary.errors import PersonRequired, Rejected, Reused
from quandary.journal import chance, runs
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from journal.conftest import Place
    from quandary.journal.store import State, Store

AGENT = Caller("agent", "command")
PERSON = Caller("person", "web", "ada")
INPUT = '{"build": 812, "to": "staging"}'


def ask(store: Store, expires: str = "") -> State:
    """A permit that somebody waits for."""
    wanted = begin.Permitting("deploy build 812", INPUT)
    beginning = begin.permit(wanted, Showing())
    return begin.begin(store, AGENT, beginning, Showing(), expires=expires)


def answer(store: Store, state: State, code: str, caller: Caller = PERSON) -> State:
    """What somebody answers."""
    return reply.record_reply(store, caller, state.run, Reply((Answer("1:", (code,)),)))


def test_it_is_used_once(store: Store) -> None:
    """For the same JSON in any spelling; the journal says who used it, and holds."""
    state = answer(store, ask(store), "ONE")
    assert (state.status, state.deed is not None) == ("waiting", True)
    used = permits.use(store, AGENT, state.run, '{"to":"staging","build":8.12e2}')
    assert (used.status, used.result["used"]) == ("done", True)
    with pytest.raises(Rejected, match=r"used already, at .* by agent \(command\)"):
        permits.use(store, AGENT, state.run, INPUT)
    assert verify(store).ok


def test_a_permit_asked_for_twice_with_one_key_is_one(store: Store) -> None:
    """As any question is; something else with that key is refused."""
    wanted = begin.permit(begin.Permitting("deploy build 812", INPUT), Showing())
    once: dict[str, Any] = {"key": "k", "request": "digest"}
    states = [begin.begin(store, AGENT, wanted, Showing(), **once) for _ in range(2)]
    assert states[0].run == states[1].run
    with pytest.raises(Reused):
        begin.begin(store, AGENT, wanted, Showing(), key="k", request="another")


def test_who_allows_it_once_more_is_told_the_same(store: Store) -> None:
    """Also when it was used since: a form that is sent again says what it said before."""
    state, said = ask(store), Reply((Answer("1:", ("ONE",)),))
    sent: dict[str, Any] = {"token": "t", "sent": "digest"}
    told = reply.record_reply(store, PERSON, state.run, said, **sent)
    permits.use(store, AGENT, state.run, INPUT)
    again = reply.record_reply(store, PERSON, state.run, said, **sent)
    assert (again.status, again.deed) == (told.status, told.deed)


@pytest.mark.parametrize("code", ["ONE", "NO"])
def test_only_a_person_takes_back_what_only_a_person_can_answer(store: Store, code: str) -> None:
    """An agent that was denied something cannot have it asked once more that way."""
    state = answer(store, ask(store), code)
    with pytest.raises(PersonRequired, match="only a person"):
        reply.undo(store, AGENT, state.run)
    assert store.require_run(state.run).n == state.n
    assert reply.undo(store, PERSON, state.run).ask is not None


def test_of_many_uses_at_once_one_succeeds(store: Store, place: Place) -> None:
    """The fence that admits one answer admits one use."""
    state = answer(store, ask(store), "ONE")
    came, gate = list[str](), threading.Barrier(4)

    def use() -> None:
        mine = place.open()
        gate.wait()
        try:
            permits.use(mine, AGENT, state.run, INPUT)
            came.append("used")
        except Rejected as error:
            came.append(str(error))
        mine.close()

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert came.count("used") == 1
    assert sum("used already" in one for one in came) == 3


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ('{"build": 813, "to": "staging"}', "build is 813, and 812 was allowed"),
        ('{"build": 812}', "to is nothing, and 'staging' was allowed"),
        ("deploy", "see line 1"),
        ("", "see line 1"),
    ],
)
def test_another_input_is_refused_and_uses_nothing(store: Store, given: str, says: str) -> None:
    """The line says what differs, and the permit is still there for the right input."""
    state = answer(store, ask(store), "ONE")
    with pytest.raises(Rejected, match=says):
        permits.use(store, AGENT, state.run, given)
    assert permits.use(store, AGENT, state.run, INPUT).status == "done"


def test_nothing_is_used_that_nobody_allowed(store: Store) -> None:
    """While it waits, when it was denied, and when it was withdrawn."""
    state = ask(store)
    with pytest.raises(Rejected, match="nobody has allowed it yet"):
        permits.use(store, AGENT, state.run, INPUT)
    answer(store, state, "NO")
    with pytest.raises(Rejected, match="it was denied"):
        permits.use(store, AGENT, state.run, INPUT)
    state = answer(store, ask(store), "ONE")
    reply.withdraw(store, AGENT, state.run, "not needed")
    with pytest.raises(Rejected, match="is withdrawn: not needed"):
        permits.use(store, AGENT, state.run, INPUT)


@pytest.mark.parametrize(
    "caller",
    [
        AGENT,
        Caller("agent", "relay", "ada"),
        Caller("api", "web", "ada"),
        Caller("host", "hook"),
        Caller("person", "mcp", "ada"),
    ],
)
def test_only_a_person_allows(store: Store, caller: Caller) -> None:
    """An agent's own word is none, whatever name it gives, and an amendment is no way around."""
    state = ask(store)
    with pytest.raises(PersonRequired):
        answer(store, state, "ONE", caller)
    answer(store, state, "NO")
    changed = Reply((Answer("1:", ("ONE",)),))
    with pytest.raises(PersonRequired):
        reply.amend(store, caller, state.run, changed, key="1:", why="better")
    assert runs.look(store, state.run).result["decision"] == "deny"


def test_an_answer_is_not_taken_over(store: Store) -> None:
    """A run that begins with the answers of another is asked all the same."""
    first = answer(store, ask(store), "ONE")
    beginning = begin.permit(begin.Permitting("deploy build 812", INPUT), Showing())
    again = begin.begin(store, AGENT, beginning, Showing(), origin=first.run)
    assert again.ask is not None


def test_once_used_nothing_of_it_changes(store: Store) -> None:
    """An amendment would let it be used a second time."""
    state = answer(store, ask(store), "ONE")
    permits.use(store, AGENT, state.run, INPUT)
    for code in ("ONE", "NO"):
        changed = Reply((Answer("1:", (code,)),))
        with pytest.raises(Rejected, match="was used, so nothing of it changes"):
            reply.amend(store, PERSON, state.run, changed, key="1:", why="again")


def test_before_its_use_a_person_can_change_their_mind(store: Store) -> None:
    """Then it is no longer allowed."""
    state = answer(store, ask(store), "ONE")
    changed = Reply((Answer("1:", ("NO",)),))
    reply.amend(store, PERSON, state.run, changed, key="1:", why="no")
    with pytest.raises(Rejected, match="it was denied"):
        permits.use(store, AGENT, state.run, INPUT)


def test_it_can_be_undone_until_it_is_used(store: Store) -> None:
    """The question waits again under another key, and then the same permit is used once."""
    state = answer(store, ask(store), "ONE")
    undone = runs.undo(store, state.run, **PERSON.source)
    assert undone.key == "1:~a1"
    with pytest.raises(Rejected, match="nobody has allowed it yet"):
        permits.use(store, AGENT, state.run, INPUT)
    again = Reply((Answer("1:~a1", ("ONE",)),))
    reply.record_reply(store, PERSON, state.run, again)
    permits.use(store, AGENT, state.run, INPUT)
    with pytest.raises(Rejected, match="the permit was used"):
        runs.undo(store, state.run, **PERSON.source)


def test_after_its_time_it_is_not_used(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even in a store that lay idle for so long that nothing in it expires by itself."""
    for later in (timedelta(hours=1), timedelta(days=400)):
        state = answer(store, ask(store, "30m"), "ONE")
        now = chance.now
        with monkeypatch.context() as patch:
            patch.setattr(chance, "now", lambda now=now, later=later: now() + later)
            with pytest.raises(Rejected, match=r"was up at|not used until"):
                permits.use(store, AGENT, state.run, INPUT)


def test_an_input_that_nobody_could_look_through_is_not_asked_about() -> None:
    """What is allowed has to be seen."""
    with pytest.raises(Exception, match="larger than 256 KiB"):
        begin.permit(begin.Permitting("x", "y" * 300_000), Showing())
