"""A question as a host's box shows it, and as plain text with numbered choices.

Every fact about the box of a host stands here and nowhere else. Those marked *tested* were tried on
2026-11-15 with Claude Code 2.1.325 and Codex 0.166.0 on Linux; those marked *read* come from
public sources and transcripts of these programs, seen in the same month.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, permutations
from typing import Any

import msgspec
from msgspec.structs import replace

from quandary.errors import QuandaryError, Rejected
from quandary.flows.wording import BLANK, sentence
from quandary.model.asks import (
    BACK,
    MORE,
    Answer,
    Ask,
    Choice,
    Field,
    Limits,
    Question,
    find_changes,
    read_annotations,
    read_defaults,
    shown,
)
from quandary.model.text import printable, reveal
from quandary.model.text import shorten as text_shorten
from quandary.model.tree import OTHER


class Host(msgspec.Struct, frozen=True):
    """A question box."""

    tool: str  # what the agent calls it
    limits: Limits
    several: bool = True  # whether it can let a person tick more than one option
    ids: bool = False  # whether its questions need an id, by which it then keys the answers
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
_OTHERS = frozenset(map(str.casefold, OTHERS))

NOTHING_CHOSEN = frozenset({"(notes only)", "(no option selected)"})
"""Read: stands where an answer would, when the person only left a note."""

SEVERAL = "(To choose several, name them under Other.)"
_GAP = re.compile(r"\s*,\s*|\s*\Z")
_BREAKS = r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*"


def find_host(name: str) -> Host:
    """The host of that name."""
    if name not in HOSTS:
        raise QuandaryError(f"no host is called {name}; there are {', '.join(HOSTS)}")
    return HOSTS[name]


def is_other(text: str) -> bool:
    """A host's own word for Other, with nothing said beside it."""
    return text.strip().casefold() in _OTHERS


def one_line(line: str) -> str:
    """A text on one line, with nothing hidden in it."""
    return reveal(line.strip() if line.isprintable() else re.sub(_BREAKS, " ", line).strip())


def shorten(text: str, longest: int = 200) -> str:
    """The beginning of a text, on one line."""
    return text_shorten(" ".join(text[: 4 * longest].split()), longest)


class Shown(msgspec.Struct, frozen=True):
    """An option as a box shows it; without a choice it stands for the host's Other."""

    label: str
    description: str
    choice: Choice | None


class Sheet(msgspec.Struct, frozen=True):
    """A question as a box shows it."""

    question: Question
    text: str
    options: tuple[Shown, ...]

    @property
    def codes(self) -> dict[str, str]:
        """What each label stands for; Other has no code."""
        return {o.label: o.choice.code if o.choice else "" for o in self.options}


def make_sheets(ask: Ask, *, inputs: bool = False) -> tuple[Sheet, ...]:
    """Every question as it is shown: no two texts alike, no two labels of a question alike."""
    named = [reveal(q.text.strip()) or one_line(q.title) or q.key for q in ask.questions]
    for number, q in enumerate(() if inputs else ask.questions):
        if q.fields:
            named[number] += f" [{'; '.join(tell_fields(q))}] {tell_how(q)}"
    texts = _distinct(named, [q.key for q in ask.questions])
    return tuple(Sheet(q, t, _options(q)) for q, t in zip(ask.questions, texts, strict=True))


def _options(question: Question) -> tuple[Shown, ...]:
    """The choices, at least two, with labels that are alike neither to each other nor to Other."""
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
    pairs = zip(labels, options, strict=True)
    return tuple(Shown(label, o.description or label, o.choice) for label, o in pairs)


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
        pairs = zip(texts, marks, strict=True)
        texts = [f"{text} ({mark})" if texts.count(text) > 1 else text for text, mark in pairs]
    return texts


def _separable(labels: list[str], codes: Sequence[str]) -> list[str]:
    """Labels that can be told apart even when a host joins them with commas, else with codes."""
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
    """The labels that a host joined with commas, the longest first, and what stands behind them. A
    way to take the whole text as labels goes before one that leaves a rest; a rest begins behind
    the last label that can be read.
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
    for sheet in shown:
        question, text = sheet.question, sheet.text
        form: dict[str, Any] = {"id": question.key} if box.ids else {}
        form["question"] = f"{text} {SEVERAL}" if question.multi and not box.several else text
        form["header"] = one_line(question.header) or question.item or question.key
        form |= {"multiSelect": question.multi} if box.several else {}
        form["options"] = [{"label": o.label, "description": o.description} for o in sheet.options]
        questions.append(form)
    return {"questions": questions}


WHICH = "Which one do you choose?"
OWN_WORDS = "something else: say it in your own words, or choose this to see more options"
SEEN_TOGETHER = 1000  # characters of a preamble that stand on one screen with the choices
SEVERAL_NUMBERS = "You can choose several, such as `1, 2`."

# A lower-case letter behind the full stop is an abbreviation's more often than a sentence's.
_SENTENCE = r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[^\sa-z])|(?<=[。！？])[”」』）]*\s*(?=[^。！？”」』）])"
_CRUMBS = r"\[[^\]\s]+\]: "
_NUMBER = r"^D\d+(?:\.[\w-]+)*: "  # of a part of a split
_MARKS = r"(?m)\*\*|`+|^~~~\w*|^\s*[-#>|]+\s+"
"""Of Markdown, which a line of a list does without."""


def keep_first_question(ask: Ask) -> Ask:
    """The Ask with its first question only; the others wait until that one is answered."""
    if len(ask.questions) == 1:
        return ask
    question, preamble = ask.questions[0], ask.preamble
    own = tuple(block for block in preamble.blocks if block.startswith(f"**{question.item}. "))
    about = replace(preamble, blocks=own or preamble.blocks, extras=question.extras)
    return replace(ask, questions=(question,), preamble=about)


def plain_text(ask: Ask) -> str:
    """What happened, what is to be known, the summary, the numbered choices and the question."""
    ask = keep_first_question(ask)
    question = ask.questions[0]
    # Text cannot leave Other blank; it has a number here.
    hints = " | ".join(hint for hint in ask.preamble.hints.split(" | ") if hint != BLANK)
    preamble = replace(ask.preamble, hints=hints).text.strip()
    notes = (note.text.strip() for note in ask.notes)
    summary, asked = split_question(question.text)
    summary = _leave_out_said(ask, summary)
    title = one_line(question.title)
    where = f" ({question.item})" if question.item else ""
    said = ((_bold(one_line(c.shown) or c.code), one_line(c.description)) for c in question.choices)
    choices = [" — ".join(filter(None, parts)) for parts in said]
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
    """A summary without what the preamble says just so, if that is seen together with it."""
    if len(ask.preamble.text) > SEEN_TOGETHER:
        return summary
    blocks = (block.partition(" — ")[2] for block in ask.preamble.blocks)
    told = [*filter(None, map(one_line, (ask.preamble.context, *blocks)))]
    told += [plain for said in told if (plain := re.sub(_MARKS, "", said)) != said]
    if _plain(summary) in map(_plain, ask.preamble.context.split("\n\n")):
        return ""
    for said in (*told, *map(sentence, told)):
        rest = one_line(summary).removesuffix(said)
        if rest != one_line(summary) and (not rest or rest.endswith(". ")):
            summary = rest.rstrip()
    return summary


def tell_question(ask: Ask, question: Question) -> tuple[str, str]:
    """The labels that led to a question, and what it asks, less what stands right above it."""
    where, summary, asked = take_apart(ask, question)
    return where, " ".join(filter(None, (summary, asked if asked != WHICH or not summary else "")))


def tell_in_line(ask: Ask) -> tuple[str, str]:
    """What an Ask asks first, as a list shows it, and what it is about, without marks. What it asks
    stands behind what that is about, where it does not name it. What says no more than that is left
    out of the rest.
    """
    first, said = ask.questions[0], ask.preamble
    where, summary, asked = take_apart(ask, first)
    title, head = _plain(first.title), asked
    if title and title in _plain(first.text) and title not in _plain(asked):
        head = f"{title[:1].upper()}{title[1:]} — {asked[:1].lower()}{asked[1:]}"
    elif asked == WHICH or not title:
        head, summary = f"{summary} {asked}" if asked != WHICH or not summary else summary, ""
    items = [block.partition(" — ")[2] for block in said.blocks if block.startswith("**")]
    others = [block for block in said.blocks if not block.startswith("**")]
    about = (summary, *items, *said.context.split("\n\n"), *others)
    rest = dict.fromkeys(_plain(part).removeprefix(f"{title}. ") for part in about)
    more = (p for p in rest if not title or title not in p or len(p.replace(title, "").split()) > 4)
    return _plain(" · ".join(filter(None, (head, where)))), " ".join(filter(None, more))


def _plain(text: str) -> str:
    return " ".join(re.sub(_MARKS, "", text).split())


def take_apart(ask: Ask, question: Question) -> tuple[str, str, str]:
    """Where a question stands in its tree, what it is about, and what it asks."""
    crumbs = re.match(_CRUMBS, question.text.strip())
    path = crumbs[0][1:-3].split("/") if crumbs else []
    behind = {choice.code.rpartition("/")[2]: choice.label for choice in question.above}
    labels = behind | {choice.code: choice.label for choice in question.above}
    codes = [(BACK * (len(path) - depth) + code, code) for depth, code in enumerate(path)]
    where = (labels.get(full, labels.get(code, "Other")) for full, code in codes)
    summary, asked = split_question(question.text)
    asked = asked.removeprefix(crumbs[0] if crumbs else "")
    if summary:
        summary = _leave_out_said(ask, re.sub(_NUMBER, "", summary))
    return " › ".join(where), summary, re.sub(_NUMBER, "", asked)


def split_question(asked: str) -> tuple[str, str]:
    """The summary, and the question behind it, which the place in the tree goes with."""
    asked = asked.strip()
    crumbs = re.match(_CRUMBS, asked)
    where = crumbs[0] if crumbs else ""
    asked = asked.removeprefix(where)
    if not asked.endswith(("?", "？")):
        return asked, where + WHICH
    starts = [0, *(found.end() for found in re.finditer(_SENTENCE, asked))]
    return asked[: starts[-1]].strip(), where + asked[starts[-1] :]


def _bold(label: str) -> str:
    """A label with asterisks of its own stays as it is; more of them would garble it."""
    return label if "*" in label else f"**{label}**"


_LINE = r"(?s)\s*([^:=\n]{1,100}?)\s*[:=](?:\s+|\Z)(.*?)\s*"


def tell_fields(question: Question) -> list[str]:
    """Each field on a line, with what stands in it."""
    now = question.values
    return [
        printable(
            f"{field.described}{'' if field.label == field.name else f', {field.label}'}: "
            f"{shown(now[field.name]) if now.get(field.name) is not None else '(empty)'}"
        )
        for field in question.fields
    ]


def tell_how(question: Question) -> str:
    """How somebody changes a value who has no input for it."""
    name = question.fields[0].name
    line = f"{name}: {printable(shown(question.values.get(name, '…')))}"
    return f"To change one, add a line such as `{line}` to your reply, or to a note beside it."


def tell_changes(question: Question, values: Mapping[str, Any]) -> list[str]:
    """What was changed against what was proposed: `replicas: 3 → 5`."""
    usual = read_defaults(question.fields)
    return [
        f"{name}: {f'{shown(usual[name])} → ' if name in usual else ''}{shown(value)}"
        for name, value in find_changes(question.fields, values).items()
    ]


def _names(question: Question) -> dict[str, str]:
    return {name.casefold(): f.name for f in question.fields for name in (f.label, f.name)}


def name_values(question: Question, given: object) -> dict[str, Any]:
    """The values in an object; nothing where it has anything else."""
    names = _names(question)
    if not isinstance(given, dict) or any(name.casefold() not in names for name in given):
        return {}
    return {names[name.casefold()]: value for name, value in given.items()}


def take_values(question: Question, text: str) -> tuple[dict[str, Any], str]:
    """The values in a text, as `name: value` lines or as a JSON object, and the rest of it."""
    names = _names(question)
    if not names or not text:
        return {}, text
    if text.lstrip().startswith("{"):
        with suppress(msgspec.DecodeError):
            if values := name_values(question, msgspec.json.decode(text)):
                return values, ""
    values, rest = {}, []
    for line in text.splitlines():
        found = re.fullmatch(_LINE, line)
        if found and found[1].casefold() in names:
            values[names[found[1].casefold()]] = found[2]
        else:
            rest.append(line)
    return (values, "\n".join(rest).strip()) if values else ({}, text)


def read_typed(question: Question, text: str, read: Callable[[str], Answer]) -> Answer:
    """What was typed, without the values and remarks in it, which alone choose nothing. Options
    before a `!` count as ticks beside it.
    """
    listed = re.fullmatch(r"(.+?)[\s,;]+(!\w\S*)", text) if question.multi else None
    if listed and (ticks := read(listed[1])).picked and ticks.settles:
        return join_ticks(question, ticks.picked, read(listed[2]))
    found, rest = read_annotations(text) if "@" in text else ([], text)
    values, rest = take_values(question, rest)
    if not values and not found:
        return read(text)
    beside: dict[str, Any] = {"values": values, "annotations": tuple(found), "raw": text}
    if not rest:
        return Answer(question.key, prefix="fill", **beside)
    return replace(read(rest), **beside)


def join_ticks(question: Question, ticked: Sequence[str], typed: Answer) -> Answer:
    """Ticks, with what was typed beside them. Other left blank there opens its menu, where it has
    one. What begins with `!` stands alone, and so does an extra beside More….
    """
    if ticked and (typed.prefix == "force" or (typed.extra and MORE in ticked)):
        labels = ", ".join(question.labels(ticked))
        why = f"“{typed.raw}” cannot be combined with ticks ({labels}). Which is meant?"
        return replace(typed, prefix="unclear", argument=why, extra="")
    also = (question.behind_other,) if ticked and typed.blank else typed.picked
    return replace(typed, picked=tuple(dict.fromkeys(filter(None, (*ticked, *also)))))


def check_values(question: Question, answer: Answer) -> Answer:
    """The answer with those values that somebody changed, each as its field declares it. Text
    stands for what a field asks for. Whoever chooses an option has filled in all that has to be;
    own words, and what is no answer, can go without.
    """
    fields = {field.name: field for field in question.fields}
    now, changed = question.values, {}
    for name, given in answer.values.items():
        if name not in fields:
            known = f"there are {', '.join(fields)}" if fields else "it has none"
            raise Rejected(f"{question.key} has no field {shown(name)}; {known}")
        value, before = _read_value(fields[name], given), now.get(name, ...)
        if before != value or isinstance(before, bool) != isinstance(value, bool):
            changed[name] = value
    now |= changed
    empty = [f.label for f in question.fields if f.required and now.get(f.name) in (None, "")]
    if empty and answer.picked and answer.settles and not answer.extra:
        raise Rejected(f"fill in {', '.join(empty)} first; the question still waits")
    return answer if changed == answer.values else replace(answer, values=changed)


def _read_value(field: Field, given: Any) -> Any:  # noqa: ANN401 - whatever the schema asks for
    from quandary.formats import proof  # noqa: PLC0415 - few questions have fields

    value = proof.read_typed(field, given) if isinstance(given, str) else given
    if value is None or (isinstance(value, str) and not value.strip()):
        return "" if isinstance(value, str) and "string" in (field.types or ("string",)) else None
    if why := proof.find_misfit(field, value):
        raise Rejected(f"{field.label} {why}; the question still waits")
    return value
