"""What a program printed, as what an agent said: taken out of its wrapping, and read."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.flows.responses import clean, hear, last_objects
from quandary.model.calls import Output
from quandary.settings.agents import follow, parse_path

if TYPE_CHECKING:
    from quandary.agents.process import Ran
    from quandary.model.calls import Call
    from quandary.settings.agents import Agent

LONGEST_REASON = 300
MOST_TOKENS = 2**53


class Unwrapped(NamedTuple):
    """What an agent said, apart from how its program writes it down."""

    text: str
    tokens: int | None = None
    failure: str = ""


def output_of(call: Call, agent: Agent, ran: Ran) -> Output:
    """What came of a call. A program that ends well has not answered by that alone."""
    said = unwrap(agent, ran.out)
    error = _error(agent, ran, said)
    heard = hear(said.text, call.expects, call.routes) if call.expects and not error else None
    return Output(
        call.key,
        said.text,
        error,
        meaning=heard.meaning if heard else None,
        problem=heard.problem if heard else "",
        stderr=ran.err,
        status=ran.status,
        seconds=round(ran.seconds, 3),
        tokens=said.tokens,
        truncated=ran.truncated,
        timed_out=ran.timed_out,
    )


def _error(agent: Agent, ran: Ran, said: Unwrapped) -> str:
    """Why what was printed cannot count, if so."""
    if ran.timed_out:
        return f"{agent.name} had not ended after {ran.seconds:.0f} s and was ended"
    if ran.status:
        how = f"status {ran.status}" if ran.status > 0 else _signal_name(-ran.status)
        reason = said.failure or _last_line(ran.err) or _last_line(said.text)
        return f"{agent.name} ended with {how}" + (f": {reason}" if reason else "")
    if said.failure:
        return f"{agent.name} failed: {said.failure}"
    if not said.text.strip():
        return f"{agent.name} printed nothing"
    return ""


def _signal_name(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def _last_line(text: str) -> str:
    line = text[-4 * LONGEST_REASON :].rstrip().rpartition("\n")[2].strip()
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


# -- wrappings -----------------------------------------------------------------------------------


def unwrap(agent: Agent, printed: str) -> Unwrapped:
    """The text, the tokens used and the failure that an agent's program wrote down as JSON.

    Where there is no such document, whatever was printed is the text.
    """
    kind, _, paths = agent.output.partition(":")
    if kind == "text":
        return Unwrapped(printed)
    documents = _lines(printed) if kind == "jsonl" else _document(printed)
    if not documents:
        return Unwrapped(printed)
    failures = [reason for path in agent.failure for reason in _leads_to(documents, path) if reason]
    texts: list[Any] = []
    for path in paths.split("|"):
        texts = [found for found in _leads_to(documents, path) if found not in (None, "")]
        if texts:
            break
    text = _as_text(texts[-1]) if texts else ""
    failure = "" if texts else f"there was nothing at {paths} in what it printed"
    if failures:
        told = next((reason for reason in failures if isinstance(reason, str)), text)
        failure = _last_line(clean(told)) or "it does not say why"
    return Unwrapped(text, _tokens(agent, documents), failure)


def _document(printed: str) -> list[Any]:
    """The one document that was printed; the last object, if something stands before it."""
    try:
        return [json.loads(printed)]
    except (ValueError, RecursionError):
        return [found for found, _ in zip(last_objects(printed, ""), range(1), strict=False)]


def _lines(printed: str) -> list[Any]:
    """The documents in the lines that have one."""
    documents = []
    for line in printed.split("\n"):
        if line.lstrip().startswith(("{", "[")):
            try:
                documents.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
    return documents


def _leads_to(documents: list[Any], path: str) -> list[Any]:
    parts = parse_path(path) or ()
    return [found for document in documents for found in follow(document, parts)]


def _as_text(value: Any) -> str:  # noqa: ANN401 - any JSON
    """A text as it is; anything else as it was written."""
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _tokens(agent: Agent, documents: list[Any]) -> int | None:
    numbers = [
        int(found)
        for path in agent.usage
        for found in _leads_to(documents, path)
        if isinstance(found, int | float)
        and not isinstance(found, bool)
        and 0 <= found <= MOST_TOKENS
    ]
    return min(sum(numbers), MOST_TOKENS) if numbers else None
