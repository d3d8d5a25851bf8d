"""What the commands about runs share: the store, the caller, asking here, and showing a state."""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec
from msgspec.structs import replace

from quandary.cli.screen import complain, is_terminal, put, tell
from quandary.desk import authority, notices
from quandary.desk import reply as desk
from quandary.desk import state as states
from quandary.desk.authority import Caller
from quandary.errors import QuandaryError, Rejected
from quandary.journal import runs
from quandary.journal.store import NoStore, State, Store, open_store
from quandary.model.asks import Outcome
from quandary.settings import project_of
from quandary.settings.files import read_input

PERSON = Caller("person", "terminal")
SCRIPT = Caller("api", "answers")
ASKER = Caller("agent", "command")


def open_journal(where: str | None, *, existing: bool = False, notify: bool = True) -> Store:
    """The store that is meant; one that is only looked at is not made.

    As `[notify]` says, people are notified of questions that begin to wait in it. Where it is older
    than what was seen here, that is said.
    """
    store = open_store(where, create=not existing)
    if store.missing:
        complain(store.missing)
    if notify:
        notices.watch_store(store)
    return store


def open_run(where: str | None, name: str) -> tuple[Store, str]:
    """The store, and the one run in it whose name begins like this."""
    store = open_journal(where, existing=True)
    return store, runs.find_run(store, name)


def view_journal(where: str | None) -> Store:
    """The store for whoever only wants to see what there is; where there is none, an empty one."""
    try:
        return open_journal(where, existing=True, notify=False)
    except NoStore:
        from quandary.journal.sqlite import MEMORY, SqliteStore  # noqa: PLC0415 - rarely needed

        return SqliteStore(MEMORY)


def current_project() -> str:
    """The project at hand."""
    return project_of(os.curdir)


def caller(by: str | None = None) -> Caller:
    """Whoever gives a command: the person at the terminal, or an agent that runs it."""
    who = PERSON if is_person() else ASKER
    return who._replace(by=by or "")


def is_person() -> bool:
    """Whether a person is at this terminal, as far as one can tell."""
    return is_terminal() and authority.may(PERSON, "answer")


def read_script(path: str) -> list[Any]:
    """The replies of a script, one for each Ask in turn."""
    try:
        entries = msgspec.json.decode(read_input(path))
    except msgspec.DecodeError as error:
        raise QuandaryError(f"{path}: not JSON ({error})") from None
    if not isinstance(entries, list):
        raise QuandaryError(f"{path}: expected a JSON list with one reply for each Ask")
    return entries


def show(
    store: Store, state: State, began: dict[str, Any] | None = None, *, proof: bool = False
) -> int:
    """Print the state of a run as its caller wanted it, and give the exit status.

    `began` are the run's arguments, where they are known.
    """
    if proof and state.status == "done":
        put(msgspec.json.encode(states.proof_of(state.flow, state.result)) + b"\n")
    else:
        put(states.encode_state(store, state, began) + b"\n")
    return states.exit_status(state)


def show_outcome(state: State) -> int:
    """The outcome of a run for the person at the terminal."""
    for note in (*state.notes, *states.next_notes(state)):
        tell(note.text)
    if state.status == "done":
        for line in states.outcome_lines(state.flow, state.result):
            tell(line)
    elif state.status != "waiting":
        complain(f"run {state.run} is {state.status}: {state.error or 'nothing was decided'}")
    return states.exit_status(state)


def ask_here(store: Store, state: State, *, proof: bool = False) -> int:
    """Ask the person who sits here until nothing waits any more, or they leave; tell the outcome.

    Whoever leaves has not answered, and the exit status says so.
    """
    while state.ask is not None:
        before = state
        state = ask_once(store, state)
        if state.status == "waiting" and state.key == before.key:
            return 1
    if proof or not sys.stdout.isatty():
        return show(store, states.hand_over(store, ASKER, state), proof=proof)
    return show_outcome(state)


def ask_once(store: Store, state: State) -> State:
    """Ask the person who sits here what waits; where they leave, it still does."""
    from quandary.desk.attachments import show_in_text  # noqa: PLC0415 - the same
    from quandary.desk.drafts import INTERRUPTED  # noqa: PLC0415 - the same
    from quandary.doors import terminal  # noqa: PLC0415 - only where a person is

    assert state.ask is not None  # noqa: S101 - nobody calls it otherwise
    desk.require_may_answer(store, PERSON, state.run)
    shown = show_in_text(store, state.run, state.ask)
    reply = terminal.ask(replace(shown, notes=state.notes))
    state = desk.record_reply(store, PERSON, state.run, reply, to=state.key)
    if state.flow != "walk" and state.calls:
        call = state.calls[0]
        tell(f"{call.agent} {'reads what you wrote' if call.expects else 'is asked'} …")
        state = have_replies_read(store, state)
        terminal.drop_typed_ahead()
    if isinstance(reply, Outcome) and state.status == "waiting":
        tell(f"The question waits. Answer it with: quandary next {state.run}")
        if reply.detail == INTERRUPTED:
            raise KeyboardInterrupt
    return state


def have_replies_read(store: Store, state: State) -> State:
    """Where a run waits for an agent to read what somebody wrote, have that done now."""
    if state.flow == "walk" or not state.calls:
        return state
    from quandary.agents.driving import read_replies  # noqa: PLC0415 - few have such an agent

    try:
        return read_replies(store, state.run)
    except Rejected:  # another process is at it
        return runs.look(store, state.run)


def require_terminal() -> None:
    """Refuse to ask where nobody can be asked, before anything is begun."""
    from quandary.doors import terminal  # noqa: PLC0415 - only where a person is

    if not terminal.available():
        raise QuandaryError(terminal.NO_TERMINAL)
    authority.require_hand(PERSON)
