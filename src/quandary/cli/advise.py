"""`quandary advise`: answer a person's question without answering ours."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

import click

from quandary.cli import items as given
from quandary.cli import running
from quandary.cli.options import store_option
from quandary.errors import AlreadyAnswered, QuandaryError
from quandary.journal import replay
from quandary.journal.ids import find_run
from quandary.model.ask import Answer, Reply

if TYPE_CHECKING:
    from quandary.model.ask import Question
    from quandary.model.tree import Extra


@click.command()
@click.argument("run")
@click.argument("text")
@click.option(
    "--option", "offers", multiple=True, metavar="'A: text'", help="Offer it as an extra."
)
@click.option("--to", metavar="KEY", help="The key of the question that the advice is about.")
@store_option
def advise(run: str, text: str, offers: tuple[str, ...], to: str | None, where: str | None) -> int:
    """Tell the person who is deciding RUN what they wanted to know.

    TEXT stands above the question when it comes again; each --option joins it as an extra. Advice
    is never an answer.
    """
    if not text.strip():
        raise click.UsageError("TEXT is empty; say what the person wanted to know")
    extras = tuple(given.extras(offers, "--option") or ())
    store = running.opened(where, existing=True)
    run = find_run(store, run)
    state = replay.look(store, run)
    if state.ask is None:
        raise AlreadyAnswered(f"already answered: run {run} is {state.status}")
    question = state.ask.question(to) if to else state.ask.questions[0]
    if question is None:
        raise AlreadyAnswered(f"already answered: {to}; run {run} waits for {state.key}")
    _require_free(question, extras)
    advice = Answer(question.key, advice=text, offers=extras)
    state = replay.advance(store, run, Reply((advice,)), to=state.key, who="agent", through="relay")
    return running.shown(store, state)


def _require_free(question: Question, extras: tuple[Extra, ...]) -> None:
    """A letter that stands for something already would be read as that."""
    taken = {extra.letter for extra in question.extras}
    free = [letter for letter in ascii_uppercase if letter not in taken]
    for extra in extras:
        if extra.letter in taken:
            others = ", ".join(free[:3])
            raise QuandaryError(f"--option {extra.letter} is taken already; free are {others} …")
