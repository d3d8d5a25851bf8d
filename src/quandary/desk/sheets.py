"""A question as a host's box shows it, and as plain text with numbered choices.

Every fact about the box of a host stands here and nowhere else. Those marked *tested* were tried on
2026-11-15 with Claude Code 2.1.325 and Codex 0.166.0 on Linux; those marked *read* come from
public sources and transcripts of these programs, seen in the same month.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, permutations
from typing import Any, NamedTuple

from msgspec.structs import replace

from quandary.desk.values import tell_fields, tell_how
from quandary.errors import QuandaryError
from quandary.flows.wording import BLANK, sentence
from quandary.model.asks import BACK, Ask, Choice, Limits, Question
from quandary.model.text import reveal
from quandary.model.text import shorten as text_shorten
from quandary.model.tree import OTHER


class Host(NamedTuple):
    """A question box."""

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
    "claude": Host("AskUserQuestion", Limits(questions=4, options=4)),
    # Read: one to three questions of two or three options; a single choice and a note.
    # Tested: a question has id, header, question and options, and its schema allows nothing else;
    # the tool is there in plan mode, and refuses in every other.
    "codex": Host(
        "request_user_input",
        Limits(questions=3, options=3),
        several=False,
        ids=True,
        other="None of the above",
    ),
}

OTHERS = tuple(host.other for host in HOSTS.values())
"""The hosts' own words for Other; no choice is spelt like that."""

NOTHING_CHOSEN = frozenset({"(notes only)", "(no option selected)"})
"""Read: stands where an answer would, when the person only left a note."""

SEVERAL = "(To choose several, name them under Other.)"
_GAP = re.compile(r"\s*,\s*|\s*\Z")
_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


def find_host(name: str) -> Host:
    """The host of that name."""
    if name not in HOSTS:
        raise QuandaryError(f"no host is called {name}; there are {', '.join(HOSTS)}")
    return HOSTS[name]


def is_other(text: str) -> bool:
    """A host's own word for Other, with nothing said beside it."""
    return text.strip().casefold() in map(str.casefold, OTHERS)


def one_line(line: str) -> str:
    """A text on one line, with nothing hidden in it."""
    return reveal(_BREAKS.sub(" ", line).strip())


def shorten(text: str, longest: int = 200) -> str:
    """The beginning of a text, on one line."""
    return text_shorten(" ".join(text[: 4 * longest].split()), longest)


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


def make_sheets(ask: Ask, *, inputs: bool = False) -> tuple[Sheet, ...]:
    """Every question as it is shown: no two texts alike, no two labels of a question alike.

    Where there are no `inputs`, the text says which values go with the answer.
    """
    named = [reveal(q.text.strip()) or one_line(q.title) or q.key for q in ask.questions]
    if not inputs:
        named = [_with_fields(q, text) for q, text in zip(ask.questions, named, strict=True)]
    texts = _distinct(named, [q.key for q in ask.questions])
    return tuple(Sheet(q, t, _options(q)) for q, t in zip(ask.questions, texts, strict=True))


def _with_fields(question: Question, text: str) -> str:
    if not question.fields:
        return text
    return f"{text} [{'; '.join(tell_fields(question))}] {tell_how(question)}"


def _options(question: Question) -> tuple[Shown, ...]:
    """The choices with labels that can be told apart, and two at least, since boxes want two.

    A choice that is called like the host's Other has its code behind it, for the same reason.
    """
    options = []
    for choice in question.choices:
        label = one_line(choice.shown) or choice.code
        if is_other(label) or label in NOTHING_CHOSEN:
            label = f"{label} ({choice.code})"
        options.append(Shown(label, one_line(choice.description), choice))
    options += _fillers(question)[: max(2 - len(options), 0)]
    codes = [option.choice.code if option.choice else OTHER for option in options]
    labels = _distinct([option.label for option in options], codes)
    if question.multi:
        labels = _separable(labels, codes)
    return tuple(
        Shown(label, option.description or label, option.choice)
        for label, option in zip(labels, options, strict=True)
    )


def _fillers(question: Question) -> list[Shown]:
    """What stands beside a single choice: the way up where there is one, else Other itself."""
    more = ", or leave it blank to see more options" if question.menu else ""
    return [
        *(Shown(up.label, up.description, up) for up in question.above[:1]),
        Shown("Other", f"Say it in your own words{more}.", None),
        Shown("None of these", "Neither of them.", None),
    ]


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
    counts = range(1, len(labels) + 1)
    for order in chain.from_iterable(permutations(labels, count) for count in counts):
        found, rest = split_labels(", ".join(order), [*labels, *OTHERS])
        if rest or set(found) != set(order):
            pairs = zip(labels, codes, strict=True)
            return _distinct([f"{la} ({co})" if "," in la else la for la, co in pairs], codes)
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
    shown = make_sheets(ask)
    counts = {"questions": len(shown), "options": max(len(sheet.options) for sheet in shown)}
    for what, count in counts.items():
        if count > (room := getattr(box.limits, what)):
            raise QuandaryError(
                f"{count} {what} wait and {box.tool} holds {room}; start the run with --host {host}"
            )
    questions = []
    for question, text, options in shown:
        form: dict[str, Any] = {"id": question.key} if box.ids else {}
        unaided = question.multi and not box.several
        form["question"] = f"{text} {SEVERAL}" if unaided else text
        form["header"] = one_line(question.header) or question.item or question.key
        if box.several:
            form["multiSelect"] = question.multi
        form["options"] = [{"label": o.label, "description": o.description} for o in options]
        questions.append(form)
    return {"questions": questions}


# -- as plain text --------------------------------------------------------------------------------

WHICH = "Which one do you choose?"
OWN_WORDS = "something else: say it in your own words, or choose this to see more options"
SEVERAL_NUMBERS = "You can choose several, such as `1, 2`."

# A lower-case letter behind the full stop is an abbreviation's more often than a sentence's.
_SENTENCE = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+(?=[^\sa-z])")
_CRUMBS = re.compile(r"\[[^\]\s]+\]: ")
_NUMBER = re.compile(r"^D\d+(?:\.[\w-]+)*: ")
"""Of a part of a split."""


def keep_first_question(ask: Ask) -> Ask:
    """The Ask with its first question only; the others wait until that one is answered."""
    if len(ask.questions) == 1:
        return ask
    question, preamble = ask.questions[0], ask.preamble
    own = tuple(block for block in preamble.blocks if block.startswith(f"**{question.item}. "))
    about = replace(preamble, blocks=own or preamble.blocks, extras=question.extras)
    return replace(ask, questions=(question,), preamble=about)


def plain_text(ask: Ask) -> str:
    """What happened, what is to be known, the summary, the numbered choices and the question.

    A clarifying question is like any other: its choices are just those that the reply fits.
    """
    ask = keep_first_question(ask)
    question = ask.questions[0]
    # Text cannot leave Other blank; it has a number here.
    hints = " | ".join(hint for hint in ask.preamble.hints.split(" | ") if hint != BLANK)
    preamble = replace(ask.preamble, hints=hints).text.strip()
    notes = (note.text.strip() for note in ask.notes)
    summary, asked = _split_question(question.text)
    summary = _leave_out_said(ask, summary)
    title = one_line(question.title)
    where = f" ({question.item})" if question.item else ""
    choices = [_choice_line(choice) for choice in question.choices]
    choices += [f"**Other** — {OWN_WORDS}"] if question.menu else []
    parts = [
        "\n".join(note for note in notes if note and note not in preamble),
        preamble,
        "" if not title or title in question.text else _bold(title) + where,
        summary,
        "\n".join(f"{number}. {line}" for number, line in enumerate(choices, 1)),
        "\n".join(f"- {line}" for line in tell_fields(question)),
        f"{asked} {SEVERAL_NUMBERS}" if question.multi else asked,
        tell_how(question) if question.fields else "",
    ]
    return reveal("\n\n".join(part for part in parts if part))


def _leave_out_said(ask: Ask, summary: str) -> str:
    """A summary without what the preamble, right above it, says just so."""
    blocks = (block.partition(" — ")[2] for block in ask.preamble.blocks)
    told = [*filter(None, map(one_line, (ask.preamble.context, *blocks)))]
    for said in (*told, *map(sentence, told)):
        rest = one_line(summary).removesuffix(said)
        if rest != one_line(summary) and (not rest or rest.endswith(". ")):
            summary = rest.rstrip()
    return summary


def tell_question(ask: Ask, question: Question) -> tuple[str, str]:
    """Where a question stands in its tree, by the labels that led there, and what it asks.

    What the preamble right above it says is left out, and its number, which the header has.
    """
    crumbs = _CRUMBS.match(question.text.strip())
    path = crumbs[0][1:-3].split("/") if crumbs else []
    behind = {choice.code.rpartition("/")[2]: choice.label for choice in question.above}
    labels = behind | {choice.code: choice.label for choice in question.above}
    codes = [(BACK * (len(path) - depth) + code, code) for depth, code in enumerate(path)]
    where = (labels.get(full, labels.get(code, "Other")) for full, code in codes)
    summary, asked = _split_question(question.text)
    asked = asked.removeprefix(crumbs[0] if crumbs else "")
    summary = _leave_out_said(ask, summary)
    parts = (summary, asked) if asked != WHICH or not summary else (summary,)
    return " › ".join(where), _NUMBER.sub("", " ".join(filter(None, parts)))


def _split_question(asked: str) -> tuple[str, str]:
    """The summary, and the question behind it, which the place in the tree goes with."""
    asked = asked.strip()
    crumbs = _CRUMBS.match(asked)
    where = crumbs[0] if crumbs else ""
    asked = asked.removeprefix(where)
    if not asked.endswith(("?", "？")):
        return asked, where + WHICH
    starts = [0, *(found.end() for found in _SENTENCE.finditer(asked))]
    return asked[: starts[-1]].strip(), where + asked[starts[-1] :]


def _choice_line(choice: Choice) -> str:
    told = (_bold(one_line(choice.shown) or choice.code), one_line(choice.description))
    return " — ".join(filter(None, told))


def _bold(label: str) -> str:
    """A label with asterisks of its own stays as it is; more of them would garble it."""
    return label if "*" in label else f"**{label}**"
