"""`quandary read`: how would this reply be read?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from quandary.cli.screen import put
from quandary.errors import ParseError
from quandary.flows.decide import Decider, Terms
from quandary.formats.sources import load
from quandary.model.asks import Item
from quandary.reading import question_from_options
from quandary.reading import read as reader
from quandary.settings.files import read_standard_input, read_text

if TYPE_CHECKING:
    from quandary.model.asks import Question, Reading


@click.command()
@click.argument("source", required=False)
@click.argument("text", required=False)
@click.option("--cases", metavar="FILE.jsonl", help="Read a whole set; JSON lines out.")
@click.option("--mode", type=click.Choice(["strict", "plain"]), default="plain", show_default=True)
def read(source: str | None, text: str | None, cases: str | None, mode: str) -> int:
    """Say how TEXT would be read as a reply to the first question of the tree SOURCE."""
    if cases:
        if source or text:
            raise click.UsageError("--cases goes without SOURCE and TEXT")
        _read_cases(cases, mode)
        return 0
    if source is None or text is None:
        raise click.UsageError("give SOURCE and TEXT, or --cases FILE.jsonl")
    put(_line(_read(text, _question(source), mode)))
    return 0


def _question(source: str) -> Question:
    tree = load(source)
    name = tree.decisions[0].name if tree.decisions else tree.name
    decider = Decider(Terms(tree, name))
    return decider.question(decider.level(Item("1", name, name)))


def _read(text: str, question: Question, mode: str) -> Reading:
    return reader(text, question, "strict" if mode == "strict" else "plain")


def _line(reading: Reading, **more: Any) -> bytes:  # noqa: ANN401 - a case's id may be anything
    """The reading as the contract has it: kinds that only a run knows count as prefix or words."""
    kind = {"extra": "prefix", "tree": "prefix", "blank": "own-words"}.get(
        reading.kind, reading.kind
    )
    codes = [code.rpartition("/")[2] for code in reading.codes]
    matched = "Other" if reading.kind == "blank" else reading.matched
    said = {**more, "kind": kind, "codes": codes, "matched": matched}
    if reading.comment:
        said["comment"] = reading.comment
    if reading.prefix:
        said |= {"prefix": reading.prefix, "argument": reading.argument}
    return msgspec.json.encode(said) + b"\n"


def _read_cases(path: str, mode: str) -> None:
    text = read_standard_input() if path == "-" else read_text(path)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            case = _case(line, f"{path}:{number}")
            options = [msgspec.to_builtins(option) for option in case.options]
            question = question_from_options(case.question or "", options, bool(case.multi))
            put(_line(_read(case.reply, question, case.mode or mode), id=case.id))


class _Case(msgspec.Struct):
    """A reply to a question; further fields, such as what is expected, are none of our business."""

    reply: str
    options: list[_Option]
    question: str | None = None
    multi: bool | None = None
    mode: Literal["strict", "plain"] | None = None
    id: Any = None


class _Option(msgspec.Struct):
    code: str | None = None
    label: str | None = None
    description: str | None = None


def _case(line: str, place: str) -> _Case:
    try:
        return msgspec.json.decode(line, type=_Case)
    except msgspec.DecodeError as error:
        raise ParseError(f"{place}: not a case ({error})") from None
