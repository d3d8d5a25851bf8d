"""What agents written in Python stop for; `make adapters` tries the frameworks themselves."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quandary.adapters import Desk, Stop
from quandary.desk import authority, permits
from quandary.desk import reply as replies
from quandary.desk.authority import Caller
from quandary.errors import QuandaryError, Rejected, Reused
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quandary.journal.entries import Who
    from quandary.journal.store import State, Store

ROOT = Path(__file__).parent.parent
MAIL = Stop("tests", "call-1", "send_mail", {"to": "list"}, "Version 2.1 is out.")
EDITED = '{"to": "team"}'


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A desk with a journal of its own; nobody sits at a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("QUANDARY_URL", raising=False)
    monkeypatch.setattr(authority, "find_agent", lambda: "")
    with Desk(tmp_path / "journal.db") as made:
        yield made


class Person(threading.Thread):
    """Somebody who answers whatever comes to wait, in this order, and keeps what they saw."""

    def __init__(self, desk: Desk, *answers: Callable[[str], Answer], who: Who = "person") -> None:
        super().__init__(daemon=True)
        self.path, self.answers = desk.journal.store.address, answers
        self.who = who
        self.seen: list[Any] = []

    def run(self) -> None:
        """Wait for each question and answer it."""
        store = SqliteStore(self.path)
        news = store.news(0.05)
        for answer in self.answers:
            while not (waiting := store.runs(waits="person")):
                next(news)
            state = runs.look(store, waiting[0].id)
            self.seen.append(state)
            reply = Reply((answer(str(state.key)),))
            caller = Caller(self.who, "terminal")
            try:
                replies.record_reply(store, caller, state.run, reply, to=state.key)
            except QuandaryError as error:
                self.seen.append(error)
        store.close()


def pick(code: str) -> Callable[[str], Answer]:
    """Choose an option."""
    return lambda key: Answer(key, picked=(code,))


def say(words: str) -> Callable[[str], Answer]:
    """Write something instead."""
    return lambda key: Answer(key, text=words, raw=words)


def test_a_call_is_made_when_a_person_allows_it(desk: Desk) -> None:
    """They see who wants what, with which arguments and why; the permit is used at once."""
    person = Person(desk, pick("ONE"))
    person.start()
    decision = desk.decide(MAIL)
    assert (decision.allowed, decision.arguments) == (True, None)
    person.join()
    text = person.seen[0].ask.preamble.text
    assert all(word in text for word in ("send_mail", "Version 2.1 is out.", '"list"'))
    assert runs.look(desk.journal.store, decision.run).status == "done"


def test_a_used_permit_is_not_given_twice(desk: Desk) -> None:
    """A program that is started again finds what was said, and allows nothing a second time."""
    Person(desk, pick("ONE")).start()
    first = desk.decide(MAIL)
    again = desk.decide(MAIL)
    assert (again.allowed, again.run) == (False, first.run)
    assert "used already" in again.message


def test_what_was_taken_back_is_asked_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who undoes their yes before it was used is asked anew, and the no counts."""
    use = permits.take_use

    def take_use(store: Store, caller: Caller, state: State) -> State | None:
        monkeypatch.setattr(permits, "take_use", use)
        replies.undo(store, Caller("person", "terminal"), state.run)
        return use(store, caller, state)

    monkeypatch.setattr(permits, "take_use", take_use)
    Person(desk, pick("ONE"), pick("NO")).start()
    assert desk.decide(MAIL).allowed is False


def test_one_id_is_one_call(desk: Desk) -> None:
    """Other arguments under the same id were never shown to anybody."""
    Person(desk, say("Not today.")).start()
    assert desk.decide(MAIL).message == "Not today."
    assert desk.decide(MAIL).message == "Not today."
    with pytest.raises(Reused):
        desk.decide(MAIL._replace(arguments={"to": "everybody"}))


def test_arguments_can_be_changed_where_the_framework_takes_that(desk: Desk) -> None:
    """The person is asked for all of them; elsewhere it is not offered."""
    person = Person(desk, pick("CHG"), say(EDITED))
    person.start()
    assert desk.decide(MAIL._replace(takes_changes=True)).arguments == {"to": "team"}
    person.join()
    other = Person(desk, pick("NO"))
    other.start()
    denied = desk.decide(MAIL._replace(id="call-2"))
    other.join()
    assert (denied.allowed, denied.message) == (False, "The person said no.")
    offered = {choice.code for choice in other.seen[0].ask.questions[0].choices}
    assert offered == {"ONE", "NO"}


def test_only_a_person_allows(desk: Desk) -> None:
    """What an agent says is refused, and the call waits on."""
    agent = Person(desk, pick("ONE"), who="agent")
    agent.start()
    thread = threading.Thread(target=desk.decide, args=(MAIL,), daemon=True)
    thread.start()
    agent.join()
    assert isinstance(agent.seen[1], Rejected)
    Person(desk, pick("NO")).start()
    thread.join()


def test_many_calls_wait_at_once(desk: Desk) -> None:
    """Each in a thread of its own, which the loop does not lack for other work."""
    Person(desk, *[pick("ONE")] * 3).start()

    async def main() -> list[bool]:
        stops = (MAIL._replace(id=f"call-{n}") for n in range(3))
        return [decision.allowed for decision in await asyncio.gather(*map(desk.adecide, stops))]

    assert asyncio.run(main()) == [True, True, True]


def test_what_a_framework_needs_to_go_on_is_kept_beside_the_run(desk: Desk) -> None:
    """The state comes back from the journal, in any process; where there is none, that is said."""
    Person(desk, pick("NO"), pick("NO")).start()
    kept = desk.decide(MAIL._replace(state={"turn": 3, "items": ["a"]})).run
    assert desk.state_of(kept) == {"turn": 3, "items": ["a"]}
    with pytest.raises(QuandaryError, match="nothing was kept"):
        desk.state_of(desk.decide(MAIL._replace(id="call-2")).run)


def test_a_question_of_an_agent_is_answered(desk: Desk) -> None:
    """With an option, several, a text of its own, or words that are none of the options."""
    person = Person(
        desk,
        pick("SHO"),
        say("none of it"),
        lambda key: Answer(key, picked=("SEND",), values={"answer": "a page"}),
        lambda key: Answer(key, picked=("SEND",), values={"option-1": True, "option-2": False}),
    )
    person.start()
    sizes = ["short", "long"]
    assert desk.answer(MAIL, "How long?", sizes) == "short"
    assert desk.answer(MAIL, "How long?", sizes) == "none of it"
    assert desk.answer(MAIL, "How long?") == "a page"
    assert desk.answer(MAIL, "Which?", sizes, several=True) == "short"


def test_a_server_gives_no_permits(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is said before anything is asked."""
    monkeypatch.setenv("QUANDARY_URL", "http://127.0.0.1:9")
    with pytest.raises(QuandaryError, match="in a store"):
        Desk()


def test_adapters_are_short_and_on_the_page() -> None:
    """Each has at most 150 lines, and a program that can be read by Python."""
    page = (ROOT / "docs/adapters.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for program in programs:
        compile(program, "docs/adapters.md", "exec")
    for path in (ROOT / "src/quandary/adapters").glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 150, path.name
        named = path.stem == "__init__" or any(f"import {path.stem}\n" in p for p in programs)
        assert named, path.name
