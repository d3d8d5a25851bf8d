"""`quandary amend`: change an answer afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from quandary.cli import running
from quandary.cli.options import store_option
from quandary.cli.screen import tell
from quandary.desk import reply as desk
from quandary.desk.timeline import answer_text, standing
from quandary.errors import QuandaryError, Rejected
from quandary.journal.ids import find_run
from quandary.model.asks import Outcome

if TYPE_CHECKING:
    from quandary.journal.history import GivenAnswer
    from quandary.model.asks import Ask


@click.command()
@click.argument("run")
@click.argument("text", required=False)
@click.option("--to", metavar="KEY", help="The question whose answer is to change.")
@click.option("--why", metavar="TEXT", help="The reason; it is kept.")
@click.option("--by", metavar="NAME", help="Who changes it.")
@store_option
def amend(
    run: str, text: str | None, to: str | None, why: str | None, by: str | None, where: str | None
) -> int:
    """Change an answer of RUN. The old one is kept, and everything after it is asked again.

    On a terminal you choose the question and answer it anew. Elsewhere give --to, --why and the
    new answer as TEXT. `quandary log RUN` shows the KEY before each question.
    """
    if why is not None and not why.strip():
        raise click.UsageError("--why needs a reason")
    store = running.opened(where, existing=True)
    run = find_run(store, run)
    person = running.is_terminal()
    answers = standing(store, run)
    if not answers:
        raise Rejected(f"run {run} has no answer yet that could be changed")
    if not person and (to is None or why is None or text is None):
        keys = ", ".join(found.question.key for found in answers)
        raise click.UsageError(f"give --to KEY ({keys}), --why TEXT and the new answer as TEXT")
    found = _chosen(answers, run, to)
    why = why or click.prompt("Why", err=True)
    if text is None:
        from quandary.doors import terminal  # noqa: PLC0415 - only where a person is

        reply = terminal.ask(_alone(found))
    else:
        reply = desk.read_reply(store, run, found.ask, text, found.question.key)
    if isinstance(reply, Outcome):
        raise Rejected("that is no answer; nothing was changed")
    key = found.question.key
    state = desk.amend(store, running.caller(by), run, reply, key=key, why=why)
    if person:
        return running.ask_here(store, state)
    return running.show(store, state)


def _chosen(answers: list[GivenAnswer], run: str, to: str | None) -> GivenAnswer:
    """The answer that is to change: of the question that was named, or of one from a list."""
    if to is None:
        for number, found in enumerate(answers, 1):
            tell(f"{number}. {found.question.text} → {answer_text(found.answer, found.question)}")
        number = click.prompt("Which one", type=click.IntRange(1, len(answers)), err=True)
        return answers[number - 1]
    for found in answers:
        if found.question.key == to:
            return found
    keys = ", ".join(found.question.key for found in answers)
    raise QuandaryError(f"run {run} has no answer to {to} that counts; there are {keys}")


def _alone(found: GivenAnswer) -> Ask:
    """The question without those that it was asked together with; their answers stand."""
    return replace(found.ask, key=found.question.key, questions=(found.question,), notes=())
