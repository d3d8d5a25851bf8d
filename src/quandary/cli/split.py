"""`quandary split`: decide about many options without losing one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from quandary.cli.asking import Way, asking_options, begin
from quandary.desk import begin as desk
from quandary.desk.begin import Splitting
from quandary.formats.items import read_options

if TYPE_CHECKING:
    from quandary.flows.split import Relation


@click.command(epilog="Exit status: 0 waiting or done, 1 declined or failed, 2 wrong usage.")
@click.argument("options", metavar="OPTIONS.json")
@click.option("--skill", metavar="NAME", default="", help="Who asks; question ids begin with it.")
@click.option(
    "--relation",
    type=click.Choice(["independent", "alternatives", "unsure"]),
    default="unsure",
    show_default=True,
    help="Whether each is decided by itself, or one of them is chosen.",
)
@click.option(
    "--number",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="The N of D<N>, where this is not the first decision.",
)
@click.option("--context", metavar="TEXT", default="", help="What is decided and why.")
@asking_options
def split(options: str, skill: str, relation: Relation, number: int, context: str, way: Way) -> int:
    """Have a person include, defer or cut every option of a list.

    OPTIONS.json is a list of {"key", "title", "scope", "cost", "requires", "conflicts",
    "recommend", "because"}, of which key and title are needed; `-` reads it from standard input.
    Up to four options are asked about at once, more one by one, and none is ever left out. What
    the person puts together is checked against what the options need and rule out.
    """
    rows = msgspec.json.decode(msgspec.json.encode(read_options(options)))
    wanted = Splitting(rows, context, relation, skill, number, way.values)
    return begin(way, desk.split(wanted, way.showing))
