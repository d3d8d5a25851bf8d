"""A question as plain text with numbered choices, one item at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from quandary.flows.wording import BLANK

if TYPE_CHECKING:
    from quandary.model.ask import Ask, Choice, Preamble, Question

ASKED = "Which shall it be?"
OTHER = "something else: say it in your own words, or choose this to see what there is"
SEVERAL = "You can choose several, such as `1, 2`."

# A lower-case letter behind the full stop is an abbreviation's more often than a sentence's.
_SENTENCE = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+(?=[^\sa-z])")
_CRUMBS = re.compile(r"\[[^\]\s]+\]: ")
_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


def one_at_a_time(ask: Ask) -> Ask:
    """The Ask with its first question only; the others wait until that one is answered."""
    question = ask.questions[0]
    if len(ask.questions) == 1:
        return ask
    return replace(ask, questions=(question,), preamble=_about(ask.preamble, question))


def text(ask: Ask) -> str:
    """What happened, what is to be known, the summary, the numbered choices and the question.

    A clarifying question is like any other: its choices are just those that the reply fits.
    """
    ask = one_at_a_time(ask)
    question = ask.questions[0]
    preamble = replace(ask.preamble, hints=_hints(ask.preamble)).text.strip()
    notes = (note.text.strip() for note in ask.notes)
    summary, asked = _parted(question.text)
    if _told(summary, ask.preamble):
        summary = ""
    parts = [
        "\n".join(note for note in notes if note and note not in preamble),
        preamble,
        _whereabouts(question),
        summary,
        "\n".join(_choices(question)),
        f"{asked} {SEVERAL}" if question.multi else asked,
    ]
    return "\n\n".join(part for part in parts if part)


def folded(line: str) -> str:
    """A text on one line."""
    return _BREAKS.sub(" ", line).strip()


def _about(preamble: Preamble, question: Question) -> Preamble:
    """The preamble without what it says on other items."""
    mark = f"**{question.item}. "
    own = tuple(block for block in preamble.blocks if block.startswith(mark))
    return replace(preamble, blocks=own or preamble.blocks, extras=question.extras)


def _whereabouts(question: Question) -> str:
    """Which item it is about, where the question does not say so itself."""
    title = folded(question.title)
    if not title or title in question.text:
        return ""
    return f"{_bold(title)} ({question.item})" if question.item else _bold(title)


def _parted(asked: str) -> tuple[str, str]:
    """The summary, and the question behind it, which the place in the tree goes with."""
    asked = asked.strip()
    crumbs = _CRUMBS.match(asked)
    where = crumbs[0] if crumbs else ""
    asked = asked.removeprefix(where)
    if not asked.endswith(("?", "？")):
        return asked, where + ASKED
    starts = [found.end() for found in _SENTENCE.finditer(asked)]
    last = starts[-1] if starts else 0
    return asked[:last].strip(), where + asked[last:]


def _hints(preamble: Preamble) -> str:
    """What can be typed. To leave Other blank is nothing that text can do; it has a number here."""
    return " | ".join(hint for hint in preamble.hints.split(" | ") if hint != BLANK)


def _told(summary: str, preamble: Preamble) -> bool:
    """Whether the preamble, which stands right above, says just that and no more."""
    blocks = (block.partition(" — ")[2] for block in preamble.blocks)
    return any(folded(summary) == folded(part) for part in (preamble.context, *blocks))


def _choices(question: Question) -> list[str]:
    lines = [_line(choice) for choice in question.choices]
    if question.menu:
        lines.append(f"**Other** — {OTHER}")
    return [f"{number}. {line}" for number, line in enumerate(lines, 1)]


def _line(choice: Choice) -> str:
    label = _bold(folded(choice.shown) or choice.code)
    description = folded(choice.description)
    return f"{label} — {description}" if description else label


def _bold(label: str) -> str:
    """A label with asterisks of its own stays as it is; more of them would garble it."""
    return label if "*" in label else f"**{label}**"
