"""`quandary amend`: change an answer afterwards."""

from __future__ import annotations

import click

from quandary.cli import deeds, running
from quandary.cli.screen import tell
from quandary.cli.timeline import answered
from quandary.errors import QuandaryError, Rejected
from quandary.formats.visible import printable
from quandary.journal import replay
from quandary.journal.ids import find_run
from quandary.model.ask import Outcome


@click.command()
@click.argument("run")
@click.argument("text", required=False)
@click.option("--to", metavar="KEY", help="The question whose answer is to change.")
@click.option("--why", metavar="TEXT", help="The reason; it is kept.")
@click.option("--by", metavar="NAME", help="Who changes it.")
@running.store_option
def amend(
    run: str, text: str | None, to: str | None, why: str | None, by: str | None, where: str | None
) -> int:
    """Change an answer of RUN. The old one is kept, and everything after it is asked again.

    On a terminal you choose the question and answer it anew. Elsewhere give --to, --why and the
    new answer as TEXT.
    """
    store = running.opened(where)
    run = find_run(store, run)
    person = running.is_terminal()
    asks = [ask for _, ask, _ in answered(store, run)]
    if not asks:
        raise Rejected(f"run {run} has no answer yet that could be changed")
    if to is None or why is None or text is None:
        if not person:
            raise click.UsageError("give --to KEY, --why TEXT and the new answer as TEXT")
        for number, ask in enumerate(asks, 1):
            tell(f"{number}. {printable('; '.join(q.text for q in ask.questions))}")
        chosen = click.prompt("Which one", type=click.IntRange(1, len(asks)), err=True)
        to, why = asks[chosen - 1].key, why or click.prompt("Why", err=True)
    found = next((ask for ask in asks if ask.question(to) is not None), None)
    if found is None:
        raise QuandaryError(f"{to} was not answered in run {run}; see quandary log {run}")
    if text is None:
        from quandary.people import terminal  # noqa: PLC0415 - only where a person is

        reply = terminal.ask(found, running.read)
    else:
        reply = running.answered(store, run, found, text, to)
    if isinstance(reply, Outcome):
        tell("nothing was changed")
        return 1
    state = replay.amend(
        store,
        run,
        reply,
        key=to,
        why=why,
        who="person" if person else "agent",
        through="terminal" if person else "command",
        by=by,
        deeds=deeds.do,
    )
    return running.shown(store, state)
