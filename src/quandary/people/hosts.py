"""The programs whose question box the person sees: what it holds, and how it tells what came back.

Every fact about a host stands here and nowhere else. Those marked *tested* were tried on
2026-11-15 with Claude Code 2.1.325 and Codex 0.166.0 on Linux; those marked *read* come from
public sources and transcripts of these programs, seen in the same month.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.errors import ParseError, QuandaryError
from quandary.model.ask import Limits, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable


class Host(NamedTuple):
    """A question box."""

    name: str
    tool: str
    """What the agent calls it."""
    limits: Limits
    least: int = 2
    """A question with fewer options than this is refused."""
    several: bool = True
    """Whether it can let a person tick more than one option."""
    ids: bool = False
    """Whether its questions need an id, by which it then keys the answers."""
    other: str = "Other"
    """What it calls the option that takes the person's own words; it adds that one by itself."""


HOSTS = {
    # Tested: five questions, five options, or one label twice are refused; question texts have to
    # differ too. A header is said to hold 12 characters, yet one of 35 passes, so nothing is cut.
    # Read: a line break in a label or a description is shown as a replacement character.
    "claude": Host("claude", "AskUserQuestion", Limits(questions=4, options=4)),
    # Read: one to three questions of two or three options; a single choice and a note.
    # Tested: a question has id, header, question and options, and its schema allows nothing else;
    # the tool is there in plan mode, and refuses in every other.
    "codex": Host(
        "codex",
        "request_user_input",
        Limits(questions=3, options=3),
        several=False,
        ids=True,
        other="None of the above",
    ),
}

TEXT = Limits(questions=1, options=4)
"""Plain text: one item at a time, and never more than four options at once."""

_OTHERS = frozenset(host.other.casefold() for host in HOSTS.values())

NOTHING_CHOSEN = frozenset({"(notes only)", "(no option selected)"})
"""Read: stands where an answer would, when the person only left a note."""

NOTE = "user_note: "
"""Read: what Codex puts before the note in a list of answers."""

_SAID = (
    # The sentence about declining is what several hosts say when their box was closed, or was
    # never on the screen at all. That is nobody's decision, so it never ends a run.
    ("dismissed", r"\(?(?:the )?user declined to answer\b"),
    ("dismissed", r"(?:the )?user rejected tool use\b"),
    ("dismissed", r"the user doesn't want to proceed with this tool use\b"),
    ("dismissed", r"the user wants to clarify these questions\b"),
    ("dismissed", r"the user did not answer\b"),
    ("dismissed", r"\[user dismissed\b"),
    ("dismissed", r"\[request interrupted by user\b"),
    ("dismissed", r"request_user_input was cancelled\b"),
    ("idle", r"no response after \d+ ?(?:m?s|sec|min)\w*\b"),
    ("unavailable", r"request_user_input is (?:unavailable|not supported)\b"),
    ("unavailable", r"cannot ask user questions in non-interactive mode\b"),
    ("error", r"\[tool result missing due to internal error\]\Z"),
    ("error", r"<tool_use_error>"),
    ("error", r"InputValidationError\b"),
)

_ANSWERED = re.compile(
    r"(?:your questions have been answered|"
    r"(?:the )?user (?:has )?answered(?: your questions)?):\s*",
    re.IGNORECASE,
)
_RESPONDED = re.compile(r"the user responded:\s*", re.IGNORECASE)
_CLOSINGS = ("You can now continue", "Read the answers carefully")
_SEGMENT = re.compile(
    r'(?:"(?P<value>.*?)"|\(no option selected\))'
    r"(?: selected preview:\n.*?)?(?: (?:user )?notes: (?P<notes>.*))?",
    re.DOTALL,
)


def host(name: str) -> Host:
    """The host of that name."""
    try:
        return HOSTS[name]
    except KeyError:
        raise QuandaryError(f"no host is called {name}; there are {', '.join(HOSTS)}") from None


def limits(name: str, header: int | None = None) -> Limits:
    """What a host's box can hold; `header` is the longest header the caller wants there."""
    box = host(name).limits
    return box if header is None else Limits(box.questions, box.options, header)


def is_other(text: str) -> bool:
    """A host's own word for Other, with nothing said beside it."""
    return text.strip().casefold() in _OTHERS


def said(text: str) -> Outcome | None:
    """What a host says in words of its own when there is no answer."""
    if text.startswith("{"):  # no sentence begins like that, and most replies do
        return None
    for kind, pattern in _SAID:
        if re.match(pattern, text, re.IGNORECASE):
            return Outcome(kind, shortened(text))  # type: ignore[arg-type]
    return None


def no_answer(data: dict[str, Any]) -> Outcome | None:
    """What an object says where there is no answer in it: an error, an idle time-out, a refusal."""
    if data.get("is_error") is True or data.get("isError") is True or data.get("error"):
        details = (data.get(name) for name in ("error", "message", "content", "result"))
        detail = next((d for d in details if isinstance(d, str) and d.strip()), "")
        if not detail and isinstance(data.get("error"), dict):
            detail = str(data["error"].get("message") or "")
        return said(detail.strip()) or Outcome("error", shortened(detail))
    if data.get("afkTimeoutMs"):
        return Outcome("idle", f"nobody answered in {shortened(str(data['afkTimeoutMs']))} ms")
    action = data.get("action")
    if action == "decline":
        return Outcome("declined")
    gone = ("cancelled", "canceled", "dismissed")
    if action == "cancel" or any(data.get(name) is True for name in gone):
        return Outcome("dismissed")
    if action not in (None, "accept"):
        raise ParseError("action is accept, decline or cancel")
    return None


def spoken(text: str, questions: Iterable[str]) -> dict[str, Any] | None:
    """The answers that a host tells in a sentence, `… answered: "Question"="Label"`, as JSON.

    This is the form in which an agent sees what its tool gave back. The texts of the questions are
    known, so that quotation marks inside them and inside the answers do no harm.
    """
    responded = _RESPONDED.match(text)
    if responded:
        return {"response": text[responded.end() :]}
    answered = _ANSWERED.match(text)
    if not answered:
        return None
    body = text[answered.end() :]
    cuts = [place for closing in _CLOSINGS if (place := body.rfind(closing)) >= 0]
    body = body[: max(cuts)] if cuts else body
    return _told(body.strip().removesuffix("."), questions)


def _told(body: str, questions: Iterable[str]) -> dict[str, Any]:
    names = "|".join(re.escape(text) for text in sorted(questions, key=len, reverse=True))
    marks = list(re.finditer(rf'(?:\A|(?<=, ))"({names})"=', body))
    answers: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    if not body:
        return {"answers": answers}
    if not marks or marks[0].start() > 0:
        # A question that is not among those that wait; who looks it up will say so.
        return {"answers": {body.partition('"=')[0].removeprefix('"'): ""}}
    ends = [*(mark.start() for mark in marks[1:]), len(body)]
    for mark, end in zip(marks, ends, strict=True):
        found = _SEGMENT.fullmatch(body[mark.end() : end].removesuffix(", "))
        # A question that does not wait, told between two that do, ends up inside an answer.
        hidden = '"=' in (found["value"] or "").partition('", "')[2] if found else True
        if not found or hidden or mark[1] in answers:
            raise QuandaryError("the answers cannot be told apart; pipe the tool's JSON instead")
        answers[mark[1]] = found["value"]
        if found["notes"]:
            notes[mark[1]] = {"notes": found["notes"]}
    return {"answers": answers, "annotations": notes}


def shortened(text: str, longest: int = 200) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
