"""What is decided about, a question for a person, what goes with it, and what came back."""

# Annotations are no texts here: msgspec would compile each of them whenever a program starts.
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, get_args

import msgspec

from quandary.model.calls import Assignment
from quandary.model.text import shorten
from quandary.model.tree import OTHER, Extra

_RECOMMENDED = re.compile(r"\s*[(\[]\s*recommended\s*[)\]]\s*\Z", re.IGNORECASE)
MARK = "@"  # what the names of attachments begin with among the documents of a run
Shape = Literal["text", "markdown", "diff", "json", "csv", "image", "pdf", "file"]


class Attachment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that was attached to a run; what is in it is kept once for each digest."""

    name: str
    digest: str  # the SHA-256 of what is in it
    size: int
    shape: Shape = "text"

    @property
    def is_text(self) -> bool:
        return self.shape not in ("image", "pdf", "file")

    @property
    def told(self) -> str:
        return f"{self.name} ({tell_size(self.size)}, sha256 {self.digest[:12]}…)"


class Annotation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A remark on a line of what is attached, or of a file in a diff."""

    file: str
    line: int
    text: str

    @property
    def told(self) -> str:
        """As it is typed and told: `plan.md:12 too short`."""
        return f"{self.file}:{self.line} {self.text}"


_SAID = r"(?P<line>\d{1,7})[: \t]\s*(?P<text>\S.*)"
_MARKED = rf"\s*@(?P<file>\S.*?):{_SAID}"
_UNMARKED = rf"\s*(?:@?(?P<file>\S.*?):)?{_SAID}"


def read_annotations(text: str, file: str = "") -> tuple[list[Annotation], str]:
    """The remarks among the lines of a text, `@plan.md:12 …` or `12: …`, and the rest of it."""
    found, rest = [], []
    for line in text.splitlines():
        if remark := re.fullmatch(_UNMARKED if file else _MARKED, line[:10_000]):
            about = remark["file"] or file
            found.append(Annotation(about, int(remark["line"]), remark["text"].strip()))
        else:
            rest.append(line)
    return found, "\n".join(rest).strip()


def tell_size(size: int) -> str:
    """A number of bytes, rounded."""
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.1f} KB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


PATH_EXISTS = "path-exists"


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a phase has to prove, and what its value must be like."""

    name: str
    schema: dict[str, Any] = {}
    required: bool = True

    @property
    def types(self) -> tuple[Any, ...]:
        """The types that a value may have; none named means any."""
        kinds = self.schema.get("type", [])
        return tuple(kinds) if isinstance(kinds, list) else (kinds,)

    @property
    def label(self) -> str:
        return str(self.schema.get("title") or self.name)

    @property
    def description(self) -> str:
        return str(self.schema.get("description") or "")

    @property
    def described(self) -> str:
        """The field and what it must be, in a few words."""
        schema, choices = self.schema, ", ".join(map(shown, self.schema.get("enum") or ()))
        kinds = " or ".join(kind for kind in self.types if kind != "string")
        said = (
            f"one of {choices}" if schema.get("enum") else kinds,
            f"at least {schema['minLength']} characters" if schema.get("minLength") else "",
            f"like {schema['pattern']}" if schema.get("pattern") else "",
            "a path that exists" if schema.get(PATH_EXISTS) else "",
            "" if self.required else "optional",
        )
        return f"{self.name} ({', '.join(filter(None, said))})" if any(said) else self.name


def read_defaults(fields: Iterable[Field]) -> dict[str, Any]:
    """What stands in fields until somebody changes it; one without a default stands empty."""
    return {f.name: f.schema["default"] for f in fields if "default" in f.schema}


def find_changes(fields: Iterable[Field], values: Mapping[str, Any]) -> dict[str, Any]:
    usual = read_defaults(fields)
    return {n: v for n, v in values.items() if n not in usual or usual[n] != v}


def shown(value: object) -> str:
    """A value of a proof on one line, not too long."""
    return shorten(value if isinstance(value, str) else msgspec.json.encode(value).decode())


Kind = Literal["transition", "advisory"]
Required = Literal["", "person"]  # only a person themselves, or also on their behalf
MORE = "…"  # the code of the choice that leads to the next page
BACK = "<"  # the choice that leads one level up; before another code, a level further up


class Item(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A thing to be decided about."""

    id: str
    label: str = ""
    title: str = ""
    context: str = ""
    question: str = ""
    fields: dict[str, str] = {}  # whatever else the caller knows; fills `{slots}`

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.title or self.label or self.id


class Choice(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An option as it is shown, or as typed text may name it."""

    code: str  # its path from the level that is asked about: `OK`, or `OTH/RWK` behind Other
    label: str
    description: str = ""
    branch: bool = False  # choosing it leads to a further question
    recommended: bool = False  # whoever asks would choose it
    also: tuple[str, ...] = ()
    """What else names it, where it is an action: its letter, and wordings of which a reply may have
    the first word; behind one that ends with `…`, anything may follow."""

    @property
    def shown(self) -> str:
        """The label with the dots that say that more is to come, and the recommendation."""
        label = f"{self.label}..." if self.branch else self.label
        return f"{label} (recommended)" if self.recommended else label


YES, NO = "YES", "NO"  # the codes of the two answers to a suggestion


class Suggestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a reply to a question may mean, with as much of the question as tells it."""

    codes: tuple[str, ...]
    words: str = ""  # what was written, where it is kept if the suggestion is declined
    id: str = ""
    text: str = ""


class Question(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One question of an Ask, with all that is needed to read a reply to it."""

    key: str
    header: str
    text: str
    choices: tuple[Choice, ...]  # what is shown, in order; Other is the host's own and always there
    multi: bool = False
    item: str = ""  # the id of the item it is about
    title: str = ""
    named: tuple[Choice, ...] = ()
    """What typed text may name beside what is shown: options of other pages, and those behind
    Other."""
    above: tuple[Choice, ...] = ()
    """The way up (`<`) and the options of the levels above (`<OK`, `<<OK`), which typed text may
    name where it means nothing of the level itself."""
    menu: bool = False  # whether there is anything behind Other
    other: str = "Other"  # what its author calls Other, which people see by the host's name
    narrowed: bool = False  # it asks which of a few is meant: a number is a place among these
    outright: tuple[str, ...] = ()
    """Codes that only a name, the word that the label begins with, or a number picks: at a gate,
    what moves a phase. The names of phases in such labels tell nothing."""
    value: str = ""
    """What is to be typed, where a value is asked for: it is read as nothing else, and a blank
    leaves it out."""
    extras: tuple[Extra, ...] = ()
    keywords: dict[str, str] = {}  # words, case folded, and the trees that they lead to
    gathered: tuple[str, ...] = ()  # codes that were added to a multi-select answer before
    root: bool = True
    id: str = ""  # what preferences and statistics know the question by; the same in every run
    chain: bool = False  # it is part of a split, so that no preference ever decides it
    confirms: Suggestion | None = None  # it asks whether that is what the person meant
    fields: tuple[Field, ...] = ()
    """Values that the answer carries; each stands as its default says until somebody changes it."""
    filled: dict[str, Any] = {}  # those that were changed already, at an earlier showing
    template: str = ""
    """The text with the names of slots in place of values without a space, which can differ from
    one asking to the next; nothing where that is the text itself."""
    templates: tuple[Choice, ...] = ()  # the same of its options; nothing where they have no slots

    @property
    def decidable(self) -> bool:
        """Whether a preference could decide it at all: one recommendation and no values."""
        known = bool(self.id) and not self.chain and not self.fields
        return known and any(c.recommended for c in self.choices)

    @property
    def values(self) -> dict[str, Any]:
        """What stands in its fields when it is shown."""
        return read_defaults(self.fields) | self.filled

    @property
    def recommended(self) -> tuple[str, ...]:
        return tuple(choice.code for choice in self.options if choice.recommended)

    @property
    def content(self) -> tuple[object, ...]:
        """What a preference is bound to: the question, and each option with its recommendation. On
        which page of a host's box an option stands is no part of it. A phrase that says what it is
        about is one, where the question leaves that to its header.
        """
        options = sorted((c.code, c.shown, c.description) for c in self.templates or self.options)
        about = (self.title,) if " " in self.title and self.title not in self.text else ()
        return self.template or self.text, self.multi, options, *about

    def settle(self, answer: "Answer") -> "Answer":
        """What an answer comes to: a Yes to a suggestion is that, and a No the words it was for."""
        if self.confirms is not None and answer.picked == (YES,):
            return msgspec.structs.replace(answer, picked=self.confirms.codes)
        if self.confirms is not None and answer.picked == (NO,) and self.confirms.words:
            return msgspec.structs.replace(answer, picked=(), text=self.confirms.words)
        return answer

    @property
    def options(self) -> tuple[Choice, ...]:
        """Every option that a reply can name, the shown ones first."""
        return (*(c for c in self.choices if c.code != MORE), *self.named)

    @property
    def rows(self) -> tuple[str, ...]:
        """What the numbers of the list stand for: the choices, then Other where it has a menu."""
        return (*(choice.code for choice in self.choices), *[OTHER] * self.menu)

    @property
    def behind_other(self) -> str:
        """The code of the menu behind Other, beside others; nothing where there is none."""
        parts = (choice.code.partition("/") for choice in self.options if self.menu)
        return next((code for code, slash, _ in parts if slash), "")

    @property
    def every(self) -> tuple[Choice, ...]:
        """All that a reply can name, also what leads to other pages and levels."""
        return (*self.choices, *self.named, *self.above)

    def labels(self, codes: Iterable[str]) -> list[str]:
        """What the codes of a reply are called, that of the menu behind Other among them."""
        known = {c.code: c.label for c in self.every} | {self.behind_other: "Other"}
        return [known.get(code, code) for code in codes]


def question_from_options(
    question: str, options: list[dict[str, Any]], multi: bool = False
) -> Question:
    """A question made of a text and options as `{"code", "label", "description"}`."""
    choices = []
    for number, option in enumerate(options, 1):
        label, recommended = split_label(str(option.get("label") or option.get("code") or ""))
        code, description = option.get("code") or label or number, option.get("description") or ""
        choices.append(Choice(str(code), label, str(description), recommended=recommended))
    return Question(key="", header="", text=question, choices=tuple(choices), multi=multi)


def split_label(text: str) -> tuple[str, bool]:
    """A label as it is shown, and whether `(recommended)` stands behind it."""
    label, marks = _RECOMMENDED.subn("", text)
    return label or text, bool(marks and label)


class Note(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Something that happened on the way and that the person or the caller should see."""

    kind: str
    text: str
    item: str = ""


class Preamble(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a person reads before the questions: enough to answer without opening a file."""

    context: str
    blocks: tuple[str, ...] = ()  # one for each item that has a context of its own
    why: str = ""  # why a question is back
    extras: tuple[Extra, ...] = ()
    hints: str = ""

    @property
    def text(self) -> str:
        """The preamble as Markdown; an empty line stands at its end."""
        parts = [part for part in (self.why, self.context, *self.blocks) if part]
        legend = [
            f"**{name}:** {' | '.join(extras)}"
            for name, shows in (("Also", False), ("See first", True))
            if (extras := [extra.shown for extra in self.extras if extra.shows == shows])
        ]
        legend += [f"**Try:** {self.hints}"] if self.hints else []
        return "\n\n".join([*parts, "\n".join(legend)] if legend else parts) + "\n\n"


class Ask(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="ask"):
    """A screenful for a person: a preamble and one to four questions."""

    key: str
    kind: Kind
    preamble: Preamble
    questions: tuple[Question, ...]
    notes: tuple[Note, ...] = ()  # what happened since the Ask before
    require: Required = ""
    back: bool = False  # some of it was shown before, so that no preference decides it
    assignment: Assignment | None = None  # which part of a walk it is

    def question(self, key: str) -> Question | None:
        return next((q for q in self.questions if q.key == key), None)


Prefix = Literal[
    "question", "explain", "deep", "force", "tag", "reference", "add", "show", "fill", "unclear"
]
"""What is asked for in place of an answer; `show` is an extra that only wants to see something,
`fill` fills in fields before anything is chosen, and `unclear` is two things of which one is meant.
"""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What was meant in reply to one question. With nothing in it, Other was left blank."""

    key: str
    picked: tuple[str, ...] = ()  # codes of choices
    text: str | None = None  # the person's own words, where they are the answer
    comment: str | None = None  # what the person said beside a pick
    prefix: Prefix | None = None
    argument: str = ""  # what stood behind the prefix
    extra: str = ""  # the letter of an extra
    tree: str = ""  # the name of another tree that the text asked for
    among: tuple[str, ...] = ()
    """Codes that the text fits equally well, so that it has to be asked which, or whether."""
    proposed: tuple[str, ...] = ()
    """Codes that somebody thinks that the text means; the person is asked whether it does."""
    values: dict[str, Any] = {}  # what was filled in that differs from what stood there
    annotations: tuple[Annotation, ...] = ()  # remarks on lines of what was shown
    barred: dict[str, str] = {}  # codes that the text cannot mean, as our reader sees it, and why
    advice: str = ""  # what an agent says to a question of the person's; it is no answer to ours
    offers: tuple[Extra, ...] = ()  # further extras that come with the advice
    raw: str | None = None  # the text as it was typed, kept beside its reading

    @property
    def blank(self) -> bool:
        """Other was chosen and left empty."""
        said = self.picked or self.prefix or self.extra or self.tree or self.among or self.advice
        return not said and not (self.text or "").strip()

    @property
    def asks_back(self) -> bool:
        """Whether it asks back, looks something up or is told by an agent."""
        return self.prefix not in (None, "force") or bool(self.advice or self.tree)

    @property
    def settles(self) -> bool:
        """Whether it answers, and nothing has to be asked about it."""
        turns = MORE in self.picked or BACK in self.picked
        unclear = self.prefix is None and (self.among or self.proposal or turns)
        return not (self.asks_back or unclear)

    @property
    def suggested(self) -> tuple[str, ...]:
        """What somebody thinks that the text means; our reader does where it fits one alone."""
        return self.proposed or (self.among if len(self.among) == 1 else ())

    @property
    def proposal(self) -> tuple[str, ...]:
        """What the person is asked to confirm: only what nothing in their words speaks against."""
        return () if any(code in self.barred for code in self.suggested) else self.suggested


Hand = tuple[str, str]  # who gave an answer, and through what


class Reply(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="reply"):
    """The answers to the questions of one Ask; a question without one is asked again."""

    answers: tuple[Answer, ...]
    hands: tuple[Hand, ...] = ()  # whose the answers are, in their order, by the driver

    def to(self, key: str) -> Answer | None:
        return next((a for a in self.answers if a.key == key), None)

    def hand_of(self, key: str) -> Hand | None:
        of_each = zip(self.answers, self.hands, strict=False)
        return next((hand for answer, hand in of_each if answer.key == key), None)


NoAnswer = Literal["declined", "dismissed", "unavailable", "idle", "error"]
NO_ANSWER = get_args(NoAnswer)


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that came back and is no answer. Only a decline ends the run."""

    kind: NoAnswer
    detail: str = ""


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a typed text means as a reply to a question."""

    kind: Literal["pick", "ambiguous", "own-words", "prefix", "extra", "tree", "blank"]
    codes: tuple[str, ...] = ()
    matched: str = ""  # the label or text that it was matched to, for telling the person
    comment: str | None = None
    prefix: Prefix | None = None
    argument: str = ""
    extra: str = ""
    tree: str = ""

    def answer(self, key: str, text: str) -> Answer:
        """The answer that a reply with this text gives."""
        raw = text or None
        if self.kind in ("own-words", "ambiguous"):
            return Answer(key, among=self.codes, text=text.strip(), raw=raw)
        same = (self.comment, self.prefix, self.argument, self.extra, self.tree)
        return Answer(key, self.codes, None, *same, raw=raw)


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a host's question box can hold."""

    questions: int = 4
    options: int = 4
    header: int | None = None


Bucket = Literal["include", "defer", "cut"]
BUCKETS: tuple[Bucket, ...] = get_args(Bucket)


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the options that somebody has to decide about."""

    key: str
    title: str
    scope: str = ""  # what it takes in
    cost: str = ""
    requires: tuple[str, ...] = ()  # the keys of those that it cannot do without
    conflicts: tuple[str, ...] = ()  # keys that it cannot go with; one side is enough
    recommend: Bucket | None = None
    because: str = ""

    @property
    def name(self) -> str:
        """Key and title, for use in a sentence."""
        title = " ".join(self.title.split())
        return title if title == self.key else f"{self.key} “{title}”"


def problem(candidates: Sequence[Candidate]) -> str:
    """Why a list cannot be decided about, naming the entry; nothing where it can."""
    if not candidates:
        return "there are no options in it; give at least one"
    for number, text in chain(_unnamed(candidates), _twice(candidates), _astray(candidates)):
        key = " ".join(candidates[number - 1].key.split())
        return f"entry {number} ({key}): {text}" if key else f"entry {number}: {text}"
    from graphlib import CycleError, TopologicalSorter  # noqa: PLC0415 - only lists need it

    keys = [c.key for c in candidates]
    try:
        TopologicalSorter({c.key: c.requires for c in candidates}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1][:0:-1]  # each requires the next
        first = min(circle, key=keys.index)
        at = circle.index(first)
        way = " requires ".join([*circle[at:], *circle[:at], first])
        return f"entry {keys.index(first) + 1} ({first}): it requires itself in the end ({way})"
    return ""


def _unnamed(candidates: Sequence[Candidate]) -> Iterator[tuple[int, str]]:
    for number, candidate in enumerate(candidates, 1):
        key = candidate.key
        if not key.strip():
            yield number, "its key is missing; give it a short one, such as E1"
        elif key != " ".join(key.split()) or "{" in key or not re.search(r"\w", key):
            yield number, "its key cannot be typed; give it a short one on one line, such as E1"
        if not candidate.title.strip():
            yield number, "its title is missing; say in a few words what it is"


def _twice(candidates: Sequence[Candidate]) -> Iterator[tuple[int, str]]:
    """Typed text names keys in any case, so that case alone tells no two of them apart."""
    first: dict[str, int] = {}
    for number, candidate in enumerate(candidates, 1):
        before = first.setdefault(candidate.key.casefold(), number)
        if before != number:
            key = candidates[before - 1].key
            yield number, f"entry {before} has the key {key} too; each needs its own"


def _astray(candidates: Sequence[Candidate]) -> Iterator[tuple[int, str]]:
    known = {c.key: c for c in candidates}
    for number, candidate in enumerate(candidates, 1):
        for field in ("requires", "conflicts"):
            for key in getattr(candidate, field):
                if key == candidate.key:
                    yield number, f"{field} names the entry itself"
                elif key not in known:
                    yield number, f"{field} names {key!r}, which is not the key of any entry"
        for key in candidate.requires:
            if key in candidate.conflicts or candidate.key in known[key].conflicts:
                yield number, f"it requires {key} and conflicts with it; only one of the two can be"
