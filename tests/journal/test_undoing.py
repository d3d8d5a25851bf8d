"""Undo: an answer is taken back, and its question waits again; unless something came of it."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from quandary.desk import begin as desk
from quandary.desk import reply as replies
from quandary.desk.authority import Caller, Scope
from quandary.desk.begin import Asking, Showing
from quandary.errors import AlreadyAnswered, PersonRequired, Rejected
from quandary.journal import chance, runs
from quandary.journal.entries import Answered, Noted
from quandary.journal.history import HANDED, is_open_to_undo, row_of, where
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quandary.journal.store import State

TREE = """\
### ¶ASK_SHIP
## Decision: Ship
- [YES] Ship it
  It goes out today
- [NO] Hold it
  Something is wrong
  - [BUG] A bug
    It breaks
  - [DOC] Words
    They are missing
  - [OTH] Other
- [OTH] Other
  - [LAT] Later
    Not today
"""
PERSON = Caller("person", "web")
AGENT = Caller("agent", "command")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """An empty journal."""
    made = SqliteStore(tmp_path / "journal.db")
    yield made
    made.close()


def ask(store: SqliteStore, *titles: str) -> State:
    """Begin a run about some items."""
    items = [{"id": str(n), "title": title} for n, title in enumerate(titles, 1)]
    wanted = Asking(context="A plan of few steps.", text=TREE, items=items)
    return desk.begin(store, AGENT, desk.decide(wanted, Showing()), Showing())


def answer(store: SqliteStore, state: State, code: str, caller: Caller = PERSON) -> State:
    """Answer the one question that waits."""
    reply = Reply((Answer(str(state.key), picked=(code,)),))
    return replies.record_reply(store, caller, state.run, reply, to=state.key)


def test_what_was_undone_waits_again_under_a_new_key(store: SqliteStore) -> None:
    """A reply to the showing before it is refused, and what is answered then counts."""
    asked = ask(store, "Login")
    done = answer(store, asked, "YES")
    again = replies.undo(store, PERSON, asked.run)
    assert (done.status, again.status, again.key) == ("done", "waiting", f"{asked.key}~a1")
    assert again.ask is not None
    assert again.ask.questions[0].text == asked.ask.questions[0].text  # type: ignore[union-attr]  # it waits
    with pytest.raises(AlreadyAnswered):
        answer(store, asked, "YES")
    deeper = answer(store, again, "NO")
    assert answer(store, deeper, "BUG").result["chosenItems"][0]["path"] == "NO/BUG"
    entries = store.entries(asked.run)
    assert where(row_of(entries)) == where(store.require_run(asked.run))
    assert verify(store).ok


def test_what_was_undone_has_waited_since_it_was_first_asked(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often that is; an undo takes no time off its age."""
    asked, since = ask(store, "Login"), ""
    for hours in range(1, 4):
        since = since or store.require_run(asked.run).since
        later = chance.now() + timedelta(hours=hours)
        monkeypatch.setattr(chance, "now", lambda later=later: later)
        answer(store, runs.look(store, asked.run), "YES")
        assert store.require_run(asked.run).since != since
        replies.undo(store, PERSON, asked.run)
        assert store.require_run(asked.run).since == since
    assert verify(store).ok


def test_undo_goes_back_answer_by_answer(store: SqliteStore) -> None:
    """Each takes back the last one, and another process comes to the same."""
    asked = ask(store, "Login")
    deeper = answer(store, asked, "NO")
    assert answer(store, deeper, "BUG").status == "done"
    back = replies.undo(store, PERSON, asked.run)
    assert back.key == f"{deeper.key}~a1"
    first = replies.undo(store, PERSON, asked.run)
    assert first.key == f"{asked.key}~a2"
    with closing(SqliteStore(store.path)) as other:
        assert answer(other, first, "YES").result["chosenItems"][0]["path"] == "YES"


def test_what_whoever_asked_has_is_not_undone(store: SqliteStore) -> None:
    """That they were given the result is recorded once; then it takes an amendment."""
    asked = ask(store, "Login")
    answer(store, asked, "YES")
    given = runs.hand_over(store, asked.run, **AGENT.source)
    assert runs.hand_over(store, asked.run, **AGENT.source).n == given.n
    notes = [entry.read() for entry in store.entries(asked.run, kinds=("noted",))]
    assert [note.kind for note in notes if isinstance(note, Noted)] == ["handed over"]
    with pytest.raises(Rejected, match="whoever asked has it already"):
        replies.undo(store, PERSON, asked.run)


def test_a_preference_behind_an_answer_hides_nothing_from_who_has_it(store: SqliteStore) -> None:
    """What is handed over with it is recorded, or the answer could be undone later."""
    state = answer(store, ask(store, "One"), "YES")
    bodies = [entry.read() for entry in store.entries(state.run)]
    person = next(body for body in bodies if isinstance(body, Answered))
    policy = replace(person, who="policy", through="preference", by="")
    assert is_open_to_undo([person, policy])
    assert not is_open_to_undo([policy])
    assert not is_open_to_undo(
        [person, policy, Noted(kind=HANDED, at="", who="agent", through="x")]
    )


def test_what_was_relayed_is_not_undone(store: SqliteStore) -> None:
    """It came through whoever asked."""
    asked = ask(store, "Login")
    answer(store, asked, "YES", replace(AGENT, through="relay"))
    with pytest.raises(Rejected, match="it came through them"):
        replies.undo(store, PERSON, asked.run)
    with pytest.raises(Rejected, match="there is no answer"):
        replies.undo(store, PERSON, ask(store, "Cache").run)


def test_only_who_may_change_answers_may_undo_them(store: SqliteStore) -> None:
    """A program from elsewhere may not."""
    asked = ask(store, "Login")
    answer(store, asked, "YES")
    with pytest.raises(PersonRequired):
        replies.undo(store, Caller("api", "web", scope=Scope("", "/")), asked.run)


def test_of_undo_and_hand_over_the_first_wins(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asked is never given a result that was taken back just before."""
    asked = ask(store, "Login")
    answer(store, asked, "YES")
    append, undone = store.append, list[bool]()

    def quicker(*args: object, **kwargs: object) -> None:
        if not undone:
            undone.append(True)
            replies.undo(store, PERSON, asked.run)
        append(*args, **kwargs)  # type: ignore[arg-type]  # whatever came

    monkeypatch.setattr(store, "append", quicker)
    assert runs.hand_over(store, asked.run, **AGENT.source).status == "waiting"
