"""What the commands about runs have in common: the store, the project, and showing a state."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from quandary import deeds
from quandary.cli.screen import complain, put, tell
from quandary.desk import notices
from quandary.errors import QuandaryError
from quandary.journal import replay
from quandary.journal.entries import beginning
from quandary.journal.store import NoStore, open_store
from quandary.model.ask import Note, Reply
from quandary.people import outcomes
from quandary.settings import project_of

if TYPE_CHECKING:
    from quandary.journal.store import State, Store
    from quandary.model.ask import Ask, Outcome, Question, Reading


def opened(where: str | None, *, existing: bool = False, telling: bool = True) -> Store:
    """The store that is meant; one that is only looked at is not made.

    As `[notify]` says, people are told of questions that begin to wait in it.
    """
    store = open_store(where, create=not existing)
    if telling:
        notices.watch_store(store)
    return store


def looked_at(where: str | None) -> Store:
    """The store for whoever only wants to see what there is; where there is none, an empty one."""
    try:
        return open_store(where, create=False)
    except NoStore:
        from quandary.journal.sqlite import MEMORY, SqliteStore  # noqa: PLC0415 - rarely needed

        return SqliteStore(MEMORY)


def tell_of(store: Store, state: State) -> None:
    """Have people told of what a run waits for, where nobody listened on the way there."""
    row = store.run(state.run)
    if row is not None and state.ask is not None:
        notices.send_notice(row, state.ask)


def project() -> str:
    """The project at hand."""
    return project_of(os.curdir)


def read(text: str, question: Question, mode: str) -> Reading:
    """The one reader, loaded when there is text to read."""
    from quandary.people.reading import read as reader  # noqa: PLC0415 - many replies are exact

    return reader(text, question, "strict" if mode == "strict" else "plain")


def settings_of(store: Store, run: str) -> dict[str, Any]:
    """How the run is shown: what its caller said when it began."""
    arguments = beginning(store, run).read_matter().arguments
    return dict(arguments) if arguments else {}


def shown(store: Store, state: State, *, proof: bool = False) -> int:
    """Print the state of a run as its caller wanted it, and give the exit status."""
    if proof and state.status == "done":
        put(msgspec.json.encode(outcomes.proof(state.flow, state.result)) + b"\n")
    else:
        put(state_bytes(store, state) + b"\n")
    return _status(state)


def state_bytes(store: Store, state: State, told: dict[str, Any] | None = None) -> bytes:
    """The state of a run as JSON, in the form that its caller `told`, if that is at hand."""
    from quandary.people import states  # noqa: PLC0415 - not every command asks

    told = settings_of(store, state.run) if told is None else told
    return states.state_json(
        state.run,
        state.flow,
        state.status,
        notes=(
            *state.notes[len(state.ask.notes) if state.ask is not None else 0 :],
            *going_on(state, told),
        ),
        ask=state.ask,
        result=state.result,
        error=state.error or "",
        via="text" if told.get("via") == "text" else "relay",
        host=told.get("host", "claude"),
    )


def going_on(state: State, told: dict[str, Any] | None = None) -> tuple[Note, ...]:
    """How a walk goes on whose agents have to be asked: no answer does that, unless in a fleet."""
    if state.flow != "walk" or not state.calls:
        return ()
    if told and told.get("fleet"):
        return (Note("calls", f"A worker goes on with it; see: quandary next {state.run}"),)
    return (Note("calls", f"Agents are next; go on with: quandary walk --resume {state.run}"),)


def answered(
    store: Store, run: str, ask: Ask, data: bytes | str, to: str | None = None
) -> Reply | Outcome:
    """What a reply to an Ask of a run means; plain text answers the question that is named."""
    from quandary.desk import returns  # noqa: PLC0415 - not every command asks

    text = data.decode(errors="replace") if isinstance(data, bytes) else data
    question = ask.question(to) if to is not None else None
    if question is not None and not text.lstrip().startswith(("{", "[")):
        ask = msgspec.structs.replace(ask, key=question.key, questions=(question,))
    as_text = settings_of(store, run).get("via") == "text"
    return returns.parse(data, ask, read, as_text=as_text)


def script(path: str) -> list[Any]:
    """The replies of a script, one for each Ask in turn."""
    from quandary.formats.files import read_standard_input, read_text  # noqa: PLC0415 - for scripts

    try:
        entries = msgspec.json.decode(read_standard_input() if path == "-" else read_text(path))
    except msgspec.DecodeError as error:
        raise QuandaryError(f"{path}: not JSON ({error})") from None
    if not isinstance(entries, list):
        raise QuandaryError(f"{path}: expected a JSON list with one reply for each Ask")
    return entries


def with_answers(store: Store, state: State, entries: list[Any]) -> State:
    """Play a script until it is used up or the run is done."""
    for entry in entries:
        if state.ask is None:
            break
        data = entry if isinstance(entry, str) else msgspec.json.encode(entry)
        state = replay.advance(
            store,
            state.run,
            answered(store, state.run, state.ask, data),
            to=state.key,
            who="api",
            through="answers",
            deeds=deeds.of(store, state.run),
        )
    return state


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
        return shown(store, state, proof=proof)
    return told(state)


def ask_once(store: Store, state: State) -> State:
    """Ask the person who sits here what waits; where they leave, it still does."""
    from quandary.desk.drafts import INTERRUPTED  # noqa: PLC0415 - the same
    from quandary.people import terminal  # noqa: PLC0415 - only where a person is

    assert state.ask is not None  # noqa: S101 - nobody calls it otherwise
    source: dict[str, Any] = {"who": "person", "through": "terminal"}
    reply = terminal.ask(state.ask)
    if isinstance(reply, Reply):
        do = deeds.of(store, state.run)
        return replay.advance(store, state.run, reply, to=state.key, **source, deeds=do)
    state = replay.note(store, state.run, reply, to=state.key, **source)
    if state.status == "waiting":
        tell(f"The question waits. Go on with: quandary next {state.run}")
        if reply.detail == INTERRUPTED:
            raise KeyboardInterrupt
    return state


def is_terminal() -> bool:
    """Whether a person can be asked right here."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def is_pipe() -> bool:
    """Whether nobody is near: neither keys nor a screen."""
    return not is_terminal() and not sys.stderr.isatty()


def require_terminal() -> None:
    """Refuse to ask where nobody can be asked, before anything is begun."""
    from quandary.people import terminal  # noqa: PLC0415 - only where a person is

    if not terminal.available():
        raise QuandaryError(terminal.NO_TERMINAL)


def told(state: State) -> int:
    """The outcome of a run for the person at the terminal."""
    for note in (*state.notes, *going_on(state)):
        tell(note.text)
    if state.status == "done":
        for line in outcomes.lines(state.flow, state.result):
            tell(line)
    elif state.status != "waiting":
        complain(f"run {state.run} is {state.status}: {state.error or 'nothing was decided'}")
    return _status(state)


def _status(state: State) -> int:
    """The exit status: it ends well only where nothing was left undone."""
    undone = state.status == "done" and outcomes.undone(state.flow, state.result)
    return 0 if state.status in ("waiting", "done") and not undone else 1
