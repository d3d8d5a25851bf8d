"""`quandary reply`: answer what a run waits for.

Agents call it again and again, so that its usual form is read without click, which takes longer to
load than the reply takes to be recorded. The options are declared once, for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.cli import console
from quandary.cli.screen import complain
from quandary.desk.authority import Caller
from quandary.desk.reply import reply as record
from quandary.model.asks import Outcome
from quandary.settings.files import read_standard_input, read_text

if TYPE_CHECKING:
    import click

_VALUES = {
    "--file": ("file", "FILE", "Read the reply from a file."),
    "--to": ("to", "KEY", "The key of the question that is answered."),
    "--proposed": ("proposed", "CODE", "What you think the words mean; the person confirms it."),
    "--by": ("by", "NAME", "Who answered."),
    "--store": ("where", "PATH|URL", "Where runs are kept (also QUANDARY_STORE)."),
}
"""The options that have a value: what each is called here, and how it is explained."""
_PROOF = ("--proof", "When done, print only treeName and chosenItems.")


class Words(NamedTuple):
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
    store, run = console.open_run(words.where, words.run)
    if words.file:
        data: bytes | str = read_text(words.file)
    else:
        data = read_standard_input() if words.text == "-" else words.text or ""
    caller = Caller("agent", "relay", words.by or "")
    state, meant, began = record(store, caller, run, data, words.to, words.proposed)
    state = console.have_replies_read(store, state)
    status = console.show(store, state, began, proof=words.proof)
    if not isinstance(meant, Outcome):
        return status
    if state.status == "waiting":
        why = f"{meant.kind}: {meant.detail}" if meant.detail else meant.kind
        complain(f"no answer ({why}); the question waits")
    return 1


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
