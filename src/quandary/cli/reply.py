"""`quandary reply`: answer what waits."""

from __future__ import annotations

import click

from quandary import deeds
from quandary.cli import running
from quandary.cli.screen import complain
from quandary.errors import AlreadyAnswered
from quandary.formats.files import read_standard_input, read_text
from quandary.journal import replay
from quandary.journal.ids import find_run
from quandary.model.ask import Outcome


@click.command(epilog="Exit status: 0 booked, 1 no answer or already answered, 2 wrong usage.")
@click.argument("run")
@click.argument("text", required=False)
@click.option("--file", "file", metavar="FILE", help="Read the reply from a file.")
@click.option("--to", metavar="KEY", help="The key of the question that is answered.")
@click.option("--by", metavar="NAME", help="Who answered.")
@click.option("--proof", is_flag=True, help="When done, print only treeName and chosenItems.")
@running.store_option
def reply(
    run: str,
    text: str | None,
    file: str | None,
    to: str | None,
    by: str | None,
    proof: bool,
    where: str | None,
) -> int:
    """Answer the question that RUN waits for, and print where the run stands then.

    TEXT is plain text, the JSON that a host's question tool returned, or our own
    {"answers": [{"key", "picked", "text", "comment"}]}; `-` reads it from standard input. A reply
    to a question that no longer waits changes nothing and ends with status 1.
    """
    if (text is None) == (file is None):
        raise click.UsageError("give the reply as TEXT, as `-` for standard input, or with --file")
    store = running.opened(where, existing=True)
    run = find_run(store, run)
    data = read_text(file) if file else read_standard_input() if text == "-" else text or ""
    state = replay.look(store, run)
    if state.ask is None:
        reason = f": {state.error}" if state.error else ""
        raise AlreadyAnswered(f"already answered: run {run} is {state.status}{reason}")
    if to is not None and to != state.key and to not in [q.key for q in state.ask.questions]:
        raise AlreadyAnswered(f"already answered: {to}; run {run} waits for {state.key}")
    meant = running.answered(store, run, state.ask, data, to)
    state = replay.advance(
        store,
        run,
        meant,
        to=state.key,
        who="agent",
        through="relay",
        by=by,
        deeds=deeds.of(store, run),
    )
    status = running.shown(store, state, proof=proof)
    if isinstance(meant, Outcome):
        if state.status == "waiting":
            why = f"{meant.kind}: {meant.detail}" if meant.detail else meant.kind
            complain(f"no answer ({why}); the question waits")
        return 1
    return status
