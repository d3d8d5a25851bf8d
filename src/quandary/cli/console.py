"""What the commands about runs share: the store, the caller, asking here, showing a state.

And `quandary reply`: agents call it again and again, so that its usual form is read without click,
which takes longer to load than the reply takes to be recorded. Its options are declared once, for
both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from quandary.cli import complain, is_terminal, put, tell
from quandary.desk import authority, notices
from quandary.desk import reply as desk
from quandary.desk import state as states
from quandary.desk.authority import Caller
from quandary.errors import QuandaryError, Rejected
from quandary.journal import MEMORY, NoStore, open_store, runs
from quandary.model.asks import Outcome
from quandary.settings import project_of
from quandary.settings.files import read_input, read_standard_input, read_text

if TYPE_CHECKING:
    import click

    from quandary.journal.store import State, Store
    from quandary.model.asks import Reply

PERSON = Caller("person", "terminal")
ASKER = Caller("agent", "command")


def open_journal(where: str | None, *, existing: bool = False, notify: bool = True) -> Store:
    """The store that is meant; one that is only looked at is not made. As `[notify]` says, people
    are notified of questions that begin to wait in it. Where it is older than what was seen here,
    that is said.
    """
    store = open_store(where, create=not existing)
    if store.missing:
        complain(store.missing)
    if notify:
        notices.watch_store(store)
    runs.log_walks(store, _write_logs)
    return store


def _write_logs(store: Store, run: str) -> None:
    from quandary.reports import logs  # noqa: PLC0415 - only of walks

    logs.write_anew(store, run, tell)


def open_run(where: str | None, name: str) -> tuple[Store, str]:
    """The store, and the one run in it whose name begins like this."""
    store = open_journal(where, existing=True)
    return store, runs.find_run(store, name)


def view_journal(where: str | None) -> Store:
    """The store for whoever only wants to see what there is; where there is none, an empty one."""
    try:
        return open_journal(where, existing=True, notify=False)
    except NoStore:
        from quandary.journal.sqlite import SqliteStore  # noqa: PLC0415 - rarely needed

        return SqliteStore(MEMORY)


def current_project() -> str:
    """The project at hand."""
    return project_of(os.curdir)


def caller(by: str | None = None) -> Caller:
    """Whoever gives a command: the person at the terminal, or an agent that runs it."""
    return replace(PERSON if is_person() else ASKER, by=by or "")


def is_person() -> bool:
    """Whether a person is at this terminal, as far as one can tell."""
    return is_terminal() and authority.may(PERSON, "answer")


def read_script(path: str) -> list[Any]:
    """The replies of a script, one for each Ask in turn."""
    try:
        entries = msgspec.json.decode(read_input(path).removeprefix("\ufeff"))
    except msgspec.DecodeError as error:
        raise QuandaryError(f"{path}: not JSON ({error})") from None
    if not isinstance(entries, list):
        raise QuandaryError(f"{path}: expected a JSON list with one reply for each Ask")
    return entries


def show(
    store: Store, state: State, began: dict[str, Any] | None = None, *, proof: bool = False
) -> int:
    """Print the state of a run as its caller wanted it, and give the exit status."""
    if proof and state.status == "done":
        put(msgspec.json.encode(states.proof_of(state.flow, state.result)) + b"\n")
    else:
        put(states.encode_state(store, state, began) + b"\n")
    return states.exit_status(state)


def complain_of(meant: Reply | Outcome | None, state: State) -> int:
    """Say so where what came last was no answer, and give the exit status."""
    if isinstance(meant, Outcome) and state.status == "waiting":
        why = f"{meant.kind}: {meant.detail}" if meant.detail else meant.kind
        complain(f"no answer ({why}); the question waits")
    return int(isinstance(meant, Outcome))


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
    """Ask the person who sits here until nothing waits, or they leave, which is no answer."""
    while state.ask is not None:
        before, state = state, ask_once(store, state)
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
    reply = terminal.ask(replace(show_in_text(store, state.run, state.ask), notes=state.notes))
    state = desk.record_reply(store, PERSON, state.run, reply, to=state.key)
    if state.flow != "walk" and state.calls:
        call = state.calls[0]
        tell(f"{call.agent} {'reads what you wrote' if call.expects else 'is asked'} …")
        state = have_replies_read(store, state)
    if isinstance(reply, Outcome) and state.status == "waiting":
        tell(f"The question waits. Answer it with: quandary next {state.run}")
        if reply.detail == INTERRUPTED:
            raise KeyboardInterrupt
    return state


def have_replies_read(store: Store, state: State) -> State:
    """Where a run waits for an agent to read what somebody wrote, have that done now."""
    if state.flow == "walk" or not state.calls:
        return state
    from quandary.agents import read_replies  # noqa: PLC0415 - few have such an agent

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


_VALUES = {
    "--file": ("file", "FILE", "Read the reply from a file."),
    "--to": ("to", "KEY", "The key of the question that is answered."),
    "--proposed": ("proposed", "CODE", "What you think the words mean; the person confirms it."),
    "--by": ("by", "NAME", "Who answered."),
    "--store": ("where", "PATH|URL", "Where runs are kept (also QUANDARY_STORE)."),
}
"""The options that have a value: what each is called here, and how it is explained."""
_PROOF = ("--proof", "When done, print only treeName and chosenItems.")


class Words(msgspec.Struct, frozen=True):
    """What the command was given."""

    run: str
    text: str | None = None
    file: str | None = None
    to: str | None = None
    proposed: str | None = None
    by: str | None = None
    proof: bool = False
    where: str | None = None


def plain_words(words: Sequence[str]) -> Words | None:
    """The words of a reply where nothing about them is unusual; whatever is, click judges."""
    named: dict[str, Any] = {}
    rest: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word == "-" or not word.startswith("-"):
            rest.append(word)
        elif word == _PROOF[0]:
            named["proof"] = True
        else:
            name = _VALUES[word][0] if word in _VALUES else ""
            value = next(remaining, "-")
            if not name or name in named or value.startswith("-"):
                return None
            named[name] = value
    if len(rest) not in (1, 2) or (len(rest) == 2) == ("file" in named):
        return None
    return Words(rest[0], rest[1] if len(rest) > 1 else None, **named)


def answer(words: Words) -> int:
    """Answer the question that a run waits for, print where the run stands, give the status."""
    store, run = open_run(words.where, words.run)
    if words.file:
        data = read_text(words.file)
    else:
        data = read_standard_input() if words.text == "-" else words.text or ""
    caller = Caller("agent", "relay", words.by or "")
    state, meant, began = desk.reply(store, caller, run, data, words.to, words.proposed)
    state = have_replies_read(store, state)
    return show(store, state, began, proof=words.proof) or complain_of(meant, state)


def reply_command() -> click.Command:
    """The command as click knows it, for help, completion and whatever is unusual."""
    import click  # noqa: PLC0415 - slow, and seldom needed

    def command(**given: Any) -> int:  # noqa: ANN401 - whatever click read
        words = Words(**given)
        if (words.text is None) == (words.file is None):
            said = "give the reply as TEXT, as `-` for standard input, or with --file"
            raise click.UsageError(said)
        return answer(words)

    options = [
        click.Option([flag, name], metavar=metavar, help=said)
        for flag, (name, metavar, said) in _VALUES.items()
    ]
    options.insert(4, click.Option([_PROOF[0]], is_flag=True, help=_PROOF[1]))
    return click.Command(
        "reply",
        callback=command,
        params=[click.Argument(["run"]), click.Argument(["text"], required=False), *options],
        epilog="Exit status: 0 recorded, 1 no answer or already answered, 2 wrong usage.",
        help="""Answer the question that RUN waits for, and print where the run stands then.

        TEXT is plain text, the JSON that a host's question tool returned, or our own
        {"answers": [{"key", "picked", "text", "comment", "proposed"}]}; `-` reads it from standard
        input. A reply to a question that no longer waits changes nothing and ends with status 1.

        With --proposed, or "proposed" beside an answer, you say which option you think that words
        mean which name none. That is no answer: the next question asks the person to confirm it.
        """,
    )
