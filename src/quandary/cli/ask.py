"""`quandary ask`: put a tree before a person."""

from __future__ import annotations

import click
import msgspec

from quandary.cli import items as given
from quandary.cli import running
from quandary.cli.ages import later
from quandary.errors import ContextRequired
from quandary.flows.asking import Terms
from quandary.formats.sources import load, loaded_beside
from quandary.journal import replay
from quandary.people import hosts


@click.command(epilog="Exit status: 0 waiting or done, 1 declined or failed, 2 wrong usage.")
@click.argument("source")
@click.option("--item", "item_texts", multiple=True, metavar="'ID|Label|Title|Context'")
@click.option(
    "--items", "items_file", metavar="FILE", help="JSON list, JSON lines or CSV of items."
)
@click.option("--context", metavar="TEXT", default="", help="What is decided and why. Required.")
@click.option("--question", metavar="TEXT", default="", help="The question; {slots} are filled.")
@click.option("--extra", "extra_texts", multiple=True, metavar="'A: text'")
@click.option("--kind", type=click.Choice(["transition", "advisory"]))
@click.option("--expires", metavar="AGE", help="Withdraw it by itself after 30m, 12h, 2d …")
@click.option("--via", type=click.Choice(["terminal", "text", "relay"]))
@click.option("--host", type=click.Choice(["claude", "codex"]), default="claude", show_default=True)
@click.option("--header-max", type=click.IntRange(min=1), help="The longest header the host shows.")
@click.option("--set", "pairs", multiple=True, metavar="key=value", help="Fill a {slot}.")
@click.option("--answers", metavar="FILE", help="A JSON list of replies, one for each Ask in turn.")
@click.option("--from", "origin", metavar="RUN", help="Take over the answers of that run that fit.")
@click.option("--proof", is_flag=True, help="When done, print only treeName and chosenItems.")
@running.store_option
def ask(
    source: str,
    item_texts: tuple[str, ...],
    items_file: str | None,
    context: str,
    question: str,
    extra_texts: tuple[str, ...],
    kind: str | None,
    expires: str | None,
    via: str | None,
    host: str,
    header_max: int | None,
    pairs: tuple[str, ...],
    answers: str | None,
    origin: str | None,
    proof: bool,
    where: str | None,
) -> int:
    """Ask a person about one or many items, with the tree that SOURCE names.

    On a terminal the person is asked right here. Elsewhere the state of the run is printed as JSON:
    show its `preamble` and `notes`, call your question tool with `tool_input`, pipe what the tool
    returns to `quandary reply RUN -`, and go on until `status` is done. Every answer is kept.
    """
    if not context.strip():
        raise ContextRequired("--context is missing: say what is to be decided and why")
    via = via or ("terminal" if running.is_terminal() and not answers else "relay")
    tree = load(source)
    limits = hosts.limits(host, header_max)
    if via == "text" or (kind or tree.kind) == "advisory":
        limits = msgspec.structs.replace(limits, questions=1)
    items = given.from_options(item_texts) + (given.from_file(items_file) if items_file else [])
    extras = given.extras(extra_texts)
    terms = Terms(
        tree,
        context,
        tuple(items),
        question,
        None if extras is None else tuple(extras),
        "advisory" if kind == "advisory" else "transition" if kind == "transition" else None,
        limits,
        tuple(loaded_beside(source)),
        values=given.settings(pairs),
    )
    arguments = msgspec.to_builtins(terms)
    documents = {name: arguments.pop(name) for name in ("tree", "trees") if name in arguments}
    store = running.opened(where)
    state = replay.begin(
        store,
        "decide",
        {**arguments, "via": via, "host": host},
        documents=documents,
        project=running.project(),
        who="api" if answers else "agent",
        through="command",
        expires=later(expires) if expires else None,
        origin=origin,
        deeds=running.read_reference,
    )
    if answers:
        state = running.with_answers(store, state, answers)
    if via == "terminal":
        return running.told(running.at_the_terminal(store, state))
    return running.shown(store, state, proof=proof)
