"""`quandary reply`: answer what waits."""

from __future__ import annotations

import click

from quandary.cli.options import store_option
from quandary.cli.replying import Words, replied


@click.command(epilog="Exit status: 0 booked, 1 no answer or already answered, 2 wrong usage.")
@click.argument("run")
@click.argument("text", required=False)
@click.option("--file", "file", metavar="FILE", help="Read the reply from a file.")
@click.option("--to", metavar="KEY", help="The key of the question that is answered.")
@click.option("--by", metavar="NAME", help="Who answered.")
@click.option("--proof", is_flag=True, help="When done, print only treeName and chosenItems.")
@store_option
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
    return replied(Words(run, text, file, to, by, proof, where))
