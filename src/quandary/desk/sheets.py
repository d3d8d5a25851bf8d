"""A question as a host's box shows it, and as plain text with numbered choices.

Every fact about the box of a host stands here and nowhere else. Those marked *tested* were tried on
2026-11-15 with Claude Code 2.1.325 and Codex 0.166.0 on Linux; those marked *read* come from
public sources and transcripts of these programs, seen in the same month.
"""

from __future__ import annotations

import re
from itertools import chain, permutations
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from quandary.errors import QuandaryError
from quandary.flows.wording import BLANK
from quandary.model.asks import Limits
from quandary.model.tree import OTHER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from quandary.model.asks import Ask, Choice, Preamble, Question


class Host(NamedTuple):
    """A question box."""

    name: str
    tool: str
    """What the agent calls it."""
    limits: Limits
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

OTHERS = tuple(host.other for host in HOSTS.values())
"""The hosts' own words for Other; no choice is spelt like that."""
_OTHERS = frozenset(other.casefold() for other in OTHERS)

NOTHING_CHOSEN = frozenset({"(notes only)", "(no option selected)"})
"""Read: stands where an answer would, when the person only left a note."""

SEVERAL = "(To choose several, name them under Other.)"
_FILLERS = (
    ("Other", "Say it in your own words, or leave it blank to see what else there is."),
    ("None of these", "Neither; there may be more behind this."),
)
_GAP = re.compile(r"\s*,\s*|\s*\Z")
_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


def find_host(name: str) -> Host:
    """The host of that name."""
    try:
        return HOSTS[name]
    except KeyError:
        raise QuandaryError(f"no host is called {name}; there are {', '.join(HOSTS)}") from None


def limits(name: str, header: int | None = None) -> Limits:
    """What a host's box can hold; `header` is the longest header the caller wants there."""
    box = find_host(name).limits
    return box if header is None else Limits(box.questions, box.options, header)


def is_other(text: str) -> bool:
    """A host's own word for Other, with nothing said beside it."""
    return text.strip().casefold() in _OTHERS


def fold(line: str) -> str:
    """A text on one line."""
    return _BREAKS.sub(" ", line).strip()


def shorten(text: str, longest: int = 200) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


# -- in a host's box -------------------------------------------------------------------------------


class Shown(NamedTuple):
    """An option as a box shows it; without a choice it stands for the host's Other."""

    label: str
    description: str
    choice: Choice | None


class Sheet(NamedTuple):
    """A question as a box shows it."""

    question: Question
    text: str
    options: tuple[Shown, ...]

    @property
    def codes(self) -> dict[str, str]:
        """What each label stands for; Other has no code."""
        return {o.label: o.choice.code if o.choice else "" for o in self.options}


def sheets(ask: Ask) -> tuple[Sheet, ...]:
    """Every question as it is shown: no two texts alike, no two labels of a question alike."""
    texts = _distinct(
        [q.text.strip() or fold(q.title) or q.key for q in ask.questions],
        [q.key for q in ask.questions],
    )
    return tuple(Sheet(q, t, _options(q)) for q, t in zip(ask.questions, texts, strict=True))


def _options(question: Question) -> tuple[Shown, ...]:
    """The choices with labels that can be told apart; Other itself where a box wants two.

    A choice that is called like the host's Other has its code behind it, for the same reason.
    """
    choices: list[Choice | None] = [*question.choices]
    labels = [_label(choice) for choice in question.choices]
    descriptions = [fold(choice.description) for choice in question.choices]
    codes = [choice.code for choice in question.choices]
    for label, description in _FILLERS[: max(2 - len(choices), 0)]:
        choices.append(None)
        labels.append(label)
        descriptions.append(description)
        codes.append(OTHER)
    labels = _distinct(labels, codes)
    if question.multi:
        labels = _separable(labels, codes)
    return tuple(
        Shown(label, description or label, choice)
        for label, description, choice in zip(labels, descriptions, choices, strict=True)
    )


def _label(choice: Choice) -> str:
    label = fold(choice.shown) or choice.code
    return f"{label} ({choice.code})" if is_other(label) or label in NOTHING_CHOSEN else label


def _distinct(texts: list[str], names: Sequence[str]) -> list[str]:
    """Texts of which no two are alike: those that were have their names behind them."""
    for turn in range(len(texts)):
        if len(set(texts)) == len(texts):
            break
        marks = names if turn == 0 else [str(number) for number in range(1, len(texts) + 1)]
        texts = [
            f"{text} ({mark})" if texts.count(text) > 1 else text
            for text, mark in zip(texts, marks, strict=True)
        ]
    return texts


def _separable(labels: list[str], codes: Sequence[str]) -> list[str]:
    """Labels that can be told apart even when a host joins them with commas.

    Where some choice of them could be taken for another one, those with a comma get their codes.
    """
    if len(labels) > 4 or not any("," in label for label in labels):
        return labels
    every = range(len(labels))
    orders = chain.from_iterable(permutations(every, count) for count in range(2, len(labels) + 1))
    for order in chain(((number,) for number in every), orders):
        joined = ", ".join(labels[number] for number in order)
        found, rest = split_labels(joined, [*labels, *OTHERS])
        if rest or set(found) != {labels[number] for number in order}:
            marked = [
                f"{label} ({code})" if "," in label else label
                for label, code in zip(labels, codes, strict=True)
            ]
            return _distinct(marked, codes)
    return labels


def split_labels(text: str, labels: Iterable[str]) -> tuple[list[str], str]:
    """The labels that a host joined with commas, the longest first, and what stands behind them.

    A way to take the whole text as labels goes before one that leaves a rest; a rest begins
    behind the last label that can be read.
    """
    by_length = sorted(set(labels), key=len, reverse=True)
    best: tuple[list[str], int] = ([], 0)
    tried: set[tuple[int, frozenset[str]]] = set()

    def advance(start: int, taken: tuple[str, ...]) -> bool:
        nonlocal best
        if start > best[1]:
            best = ([*taken], start)
        if start == len(text):
            return bool(taken)
        state = (start, frozenset(taken))
        if state in tried:
            return False
        tried.add(state)
        for label in by_length:
            end = start + len(label)
            if label in taken or not text.startswith(label, start):
                continue
            gap = _GAP.match(text, end)
            if gap and advance(gap.end(), (*taken, label)):
                return True
        return False

    advance(0, ())
    return best[0], text[best[1] :]


def tool_input(ask: Ask, host: str = "claude") -> dict[str, Any]:
    """The input for the host's question tool; refused where the box cannot hold the Ask."""
    box = find_host(host)
    if len(ask.questions) > box.limits.questions:
        raise _too_many(box, f"{len(ask.questions)} questions", box.limits.questions)
    questions = []
    for sheet in sheets(ask):
        if len(sheet.options) > box.limits.options:
            raise _too_many(box, f"{len(sheet.options)} options", box.limits.options)
        question = sheet.question
        form: dict[str, Any] = {"id": question.key} if box.ids else {}
        unaided = question.multi and not box.several
        form["question"] = f"{sheet.text} {SEVERAL}" if unaided else sheet.text
        form["header"] = fold(question.header) or question.item or question.key
        if box.several:
            form["multiSelect"] = question.multi
        form["options"] = [{"label": o.label, "description": o.description} for o in sheet.options]
        questions.append(form)
    return {"questions": questions}


def _too_many(box: Host, what: str, room: int) -> QuandaryError:
    return QuandaryError(
        f"{what} wait and {box.tool} holds {room}; start the run with --host {box.name}"
    )


# -- as plain text --------------------------------------------------------------------------------

WHICH = "Which shall it be?"
OWN_WORDS = "something else: say it in your own words, or choose this to see what there is"
SEVERAL_NUMBERS = "You can choose several, such as `1, 2`."

# A lower-case letter behind the full stop is an abbreviation's more often than a sentence's.
_SENTENCE = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+(?=[^\sa-z])")
_CRUMBS = re.compile(r"\[[^\]\s]+\]: ")


def keep_first_question(ask: Ask) -> Ask:
    """The Ask with its first question only; the others wait until that one is answered."""
    question = ask.questions[0]
    if len(ask.questions) == 1:
        return ask
    return replace(ask, questions=(question,), preamble=_about(ask.preamble, question))


def plain_text(ask: Ask) -> str:
    """What happened, what is to be known, the summary, the numbered choices and the question.

    A clarifying question is like any other: its choices are just those that the reply fits.
    """
    ask = keep_first_question(ask)
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
        f"{asked} {SEVERAL_NUMBERS}" if question.multi else asked,
    ]
    return "\n\n".join(part for part in parts if part)


def _about(preamble: Preamble, question: Question) -> Preamble:
    """The preamble without what it says on other items."""
    mark = f"**{question.item}. "
    own = tuple(block for block in preamble.blocks if block.startswith(mark))
    return replace(preamble, blocks=own or preamble.blocks, extras=question.extras)


def _whereabouts(question: Question) -> str:
    """Which item it is about, where the question does not say so itself."""
    title = fold(question.title)
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
        return asked, where + WHICH
    starts = [found.end() for found in _SENTENCE.finditer(asked)]
    last = starts[-1] if starts else 0
    return asked[:last].strip(), where + asked[last:]


def _hints(preamble: Preamble) -> str:
    """What can be typed. To leave Other blank is nothing that text can do; it has a number here."""
    return " | ".join(hint for hint in preamble.hints.split(" | ") if hint != BLANK)


def _told(summary: str, preamble: Preamble) -> bool:
    """Whether the preamble, which stands right above, says just that and no more."""
    blocks = (block.partition(" — ")[2] for block in preamble.blocks)
    return any(fold(summary) == fold(part) for part in (preamble.context, *blocks))


def _choices(question: Question) -> list[str]:
    lines = [_line(choice) for choice in question.choices]
    if question.menu:
        lines.append(f"**Other** — {OWN_WORDS}")
    return [f"{number}. {line}" for number, line in enumerate(lines, 1)]


def _line(choice: Choice) -> str:
    label = _bold(fold(choice.shown) or choice.code)
    description = fold(choice.description)
    return f"{label} — {description}" if description else label


def _bold(label: str) -> str:
    """A label with asterisks of its own stays as it is; more of them would garble it."""
    return label if "*" in label else f"**{label}**"
