"""The one asking: a question is asked until it has an answer.

A `Place` is a question and how it stands. `Asking` shows places, reads what came back, and has the
rules for everything that is no plain choice: pages, prefixes, extras, a blank Other, words that fit
several options. What a choice means is for its two kinds to say: a level of a tree
(`flows.decide`), and an `Inquiry`, which split, gate and walk ask of people.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from quandary.flows import Steps, proposals, send, wording
from quandary.flows.proposals import Proposal
from quandary.model import keys
from quandary.model.asks import (
    BACK,
    MORE,
    Annotation,
    Answer,
    Ask,
    Choice,
    Field,
    Hand,
    Item,
    Kind,
    Limits,
    Note,
    Preamble,
    Question,
    Reply,
    Required,
    find_changes,
    read_defaults,
    shown,
)
from quandary.model.calls import Assignment, Call, Do, Done, Output
from quandary.model.tree import Extra

FEWEST = 2  # a host shows at least this many options, or there would be no room for More…
PERSON = "Only a person can answer this, at a terminal (quandary next) or in the browser."
UP = Choice(BACK, "Back", "To the options before these")
_ASKED = "You asked: {}"
_NO_MORE = "That is all"
NOT_YET = (
    "Whoever asks you this will answer it, with `quandary advise`; leave the question open until "
    "then, or decide without."
)
NO_ANSWER = "This question has no answer yet."
_DECIDING = (None, "force", "add")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A question that is asked about an item until it has an answer, as it stands at the moment."""

    item: Item = Item("")
    blocks: tuple[str, ...] = ()  # what is to be known about it beside the context
    multi: bool = False
    own_words: bool = False  # whether text that names no choice is an answer
    none: Choice | None = None  # says that none is meant; shown where there is room
    page: int = 0
    gathered: tuple[str, ...] = ()  # codes that were chosen before, where several can be
    among: tuple[str, ...] = ()  # only these are asked about: the last reply fits them equally
    turned: int = 0  # how many pages of those have been turned
    why: str = ""  # why it is asked again
    offers: tuple[Extra, ...] = ()  # extras that came with advice
    pending: str = ""  # what the person asked, as long as nobody has answered it
    notes: tuple[Note, ...] = ()  # what is told together with the question
    hands: tuple[Hand, ...] = ()  # whose answers have led here, as far as the flow is told
    proposal: Proposal | None = None  # the person is asked whether that is what they meant
    fields: tuple[Field, ...] = ()  # values that go with the answer
    filled: dict[str, Any] = {}  # those that somebody has changed

    def tell_values(self) -> dict[str, Any]:
        """The values as they go with the answer, and which of them somebody changed."""
        if not self.fields:
            return {}
        changed = find_changes(self.fields, self.filled)
        return {"values": read_defaults(self.fields) | self.filled, "changed": [*changed]}


P = TypeVar("P", bound=Place)


class Remarks(msgspec.Struct):
    """What was said about an item beside the answers."""

    comments: list[str] = []
    tags: list[str] = []
    questions: list[str] = []
    proposals: list[dict[str, str]] = []
    annotations: list[Annotation] = []

    def as_result(self) -> dict[str, Sequence[object]]:
        """The remarks under the names that results have for them."""
        said: dict[str, Sequence[object]] = {"comment": "\n".join(self.comments)}
        said |= {name: getattr(self, name) for name in ("tags", "questions", "proposals")}
        said["annotations"] = [msgspec.to_builtins(one) for one in self.annotations]
        return {name: value for name, value in said.items() if value}


class Asking(ABC, Generic[P]):
    """Asks the questions of one run. Each showing of a place has a key of its own."""

    kind: Kind = "transition"
    advisor: str = ""  # an agent that answers what people ask back
    reader: str = ""  # an agent that proposes what words mean that our reader does not understand
    skips = False  # whether a question can be left without an answer

    def __init__(self, context: str, limits: Limits, require: Required = "") -> None:
        self.context = context
        self.limits = limits
        self.require = require
        self.notes: list[Note] = []  # what the next Ask, or the result, has to say
        self.comment = ""  # what was said beside the last answer
        self._remarks: dict[str, Remarks] = {}
        self._turns: dict[str, int] = {}
        self._readings: dict[str, Output] = {}  # what the reader, asked once, made of a prompt
        self._again: set[str] = set()  # the keys of what was shown before

    def remarks_on(self, item: str) -> Remarks:
        """What was said about an item; about "", what was said of the run as a whole."""
        return self._remarks.setdefault(item, Remarks())

    @abstractmethod
    def question(self, place: P) -> Question:
        """The question on a place, under a key that was not used before."""

    @abstractmethod
    def label(self, place: P, code: str) -> str | None:
        """The label of a choice; nothing where there is no such choice."""

    @abstractmethod
    def resolve(self, place: P, typed: str) -> str | None:
        """The code that was typed, in any case."""

    def gather(self, place: P, codes: Sequence[str]) -> list[P]:
        """The place with these added, and what they open; nothing where only one can be chosen."""
        return [self._tick(place, codes)] if place.multi else []

    @abstractmethod
    def explain(self, place: P, question: Question, *, deep: bool) -> str:
        """What can be said of a question without anyone's help; `deep` says all there is."""

    @abstractmethod
    def choose(self, place: P, codes: Sequence[str], words: str = "", kind: str = "") -> list[P]:
        """Settle a place by choices and words of that kind; the places that this opens."""

    @abstractmethod
    def open_menu(self, place: P) -> list[P] | None:
        """What a blank Other leads to; nothing where there is nothing behind it."""

    @abstractmethod
    def force(self, place: P, code: str) -> list[P]:
        """Settle a place by one code at once, whatever lies behind it."""

    def settle(self, places: Sequence[P]) -> Steps[None]:
        """Ask these together; then what each answer leaves open, one question at a time."""
        while places:
            opened, places = yield from self._show(places)
            while opened:
                proposed = [place for place in opened if place.proposal]
                asked = proposed[: max(self.limits.questions, 1)] or opened[:1]
                more, again = yield from self._show(asked)
                opened = [*more, *again, *(p for p in opened if not any(p is a for a in asked))]

    def _show(self, places: Sequence[P]) -> Steps[tuple[list[P], list[P]]]:
        """Ask once; the places that the answers leave open, and those that got no answer."""
        asked = [(place, self.question(place)) for place in places]
        asked = [(p, proposals.confirm(q, p.proposal, p.own_words)) for p, q in asked]
        reply = yield from send(self.ask(asked), Reply)
        proposed = (yield from self._consult_reader(asked, reply)) if self.reader else {}
        opened: list[P] = []
        missed: list[P] = []
        for place, question in asked:
            if (answer := reply.to(question.key)) is None:
                missed.append(replace(place, why=NO_ANSWER))
            else:
                hand = reply.hand_of(question.key)
                read = proposed.get(question.key)
                now, heard = self._hear(place, read or answer, hand, self.reader if read else "")
                opened += (yield from self._take(now, question, heard, hand)) if heard else [now]
        return opened, missed

    def _consult_reader(
        self, asked: Sequence[tuple[P, Question]], reply: Reply
    ) -> Steps[dict[str, Answer]]:
        """Answers in words, with what an agent proposes that they mean; all are read at once."""
        calls: dict[str, Call] = {}
        for _, question in asked:
            answer, hand = reply.to(question.key), reply.hand_of(question.key)
            call = answer and proposals.make_call(self.reader, question, answer, hand)
            if call:
                calls[question.key] = call
        fresh = {c.prompt: c for c in calls.values() if c.prompt not in self._readings}
        if fresh:
            outputs = yield tuple(fresh.values())
            if not isinstance(outputs, tuple):
                raise TypeError(f"calls are answered with a tuple, not {outputs!r:.60}")
            self._readings |= zip(fresh, outputs, strict=True)
        found: dict[str, Answer] = {}
        for place, question in asked:
            if question.key in calls:
                output, answer = self._readings[calls[question.key].prompt], reply.to(question.key)
                codes = proposals.read_output(question, output)
                if codes and answer:
                    found[question.key] = replace(answer, proposed=codes)
                elif why := output.error or output.problem:
                    self.note("reader", place, f"{self.reader} could not read the reply: {why}")
        return found

    def _hear(
        self, place: P, answer: Answer, hand: Hand | None, by: str = ""
    ) -> tuple[P, Answer | None]:
        """An answer as it counts; nothing where the person is asked about a proposal."""
        if place.proposal is None and not answer.suggested:
            return place, answer
        remarks, known = self.remarks_on(place.item.id), place.proposal
        if known is not None and answer.blank:
            return replace(place, why=proposals.EMPTY), None
        if known is not None and not answer.asks_back:
            outcome, answer = proposals.close(known, answer)
            remarks.proposals.append(known.tell(outcome, by=proposals.tell_hand(hand)))
            kept = outcome == "declined" and known.hand and _decides(answer)
            hands = dict.fromkeys((*place.hands, *([known.hand] if kept else [])))
            place = replace(place, proposal=None, hands=tuple(hands))
            if outcome == "replaced" and answer.text and not (answer.among or answer.proposed):
                remarks.comments += [known.answer.text or "", answer.text]
                why = proposals.UNCLEAR.format(answer.text)
                return self.again(place, why, kind="said")[0], None
        if not (answer.text and (codes := answer.suggested)):
            return place, answer
        by = by or (proposals.tell_hand(hand) if answer.proposed else proposals.READER)
        read = replace(answer, proposed=(), among=() if codes == answer.among else answer.among)
        proposal = Proposal(read, codes, by, hand)
        if not proposal.refusal:
            return replace(place, proposal=proposal, why=proposal.why, notes=()), None
        remarks.proposals.append(proposal.tell("refused", why=proposal.refusal))
        meant = f"{self._labels(place, proposal.codes)} is not proposed for “{read.text}”"
        self.note("refused", place, f"{meant}: {proposal.refusal}.")
        return place, read

    def new_key(self, key: str) -> str:
        """The key of the next showing of a place."""
        turn = self._turns[key] = self._turns.get(key, 0) + 1
        shown = keys.turn(key, turn)
        if turn > 1:
            self._again.add(shown)
        return shown

    def ask(self, asked: Sequence[tuple[P, Question]]) -> Ask:
        """A screenful: what is to be known, and the questions."""
        notes, self.notes = self.notes, []
        notes += [note for place, _ in asked for note in place.notes]
        questions = _unique([question for _, question in asked])
        if self.require:
            notes.append(Note("person", PERSON, questions[0].item))
        extras = dict.fromkeys(extra for question in questions for extra in question.extras)
        hints = [wording.BLANK] if any(question.menu for question in questions) else []
        hints += [wording.UP] if any(question.above for question in questions) else []
        hints += ["Q: asks something", "? explains"]
        hints.append("! skips" if self.skips else "@path shows a file")
        if any(question.multi for question in questions):
            hints.append("+CODE adds")
        preamble = Preamble(
            context=self.context,
            blocks=tuple(dict.fromkeys(block for place, _ in asked for block in place.blocks)),
            why="\n\n".join(dict.fromkeys(place.why for place, _ in asked if place.why)),
            extras=tuple(extras),
            hints=" | ".join(hints),
        )
        back = not self._again.isdisjoint(question.key for question in questions)
        key, said = questions[0].key, tuple(notes)
        return Ask(key, self.kind, preamble, questions, said, self.require, back)

    def _take(
        self, place: P, question: Question, answer: Answer, hand: Hand | None
    ) -> Steps[list[P]]:
        """What an answer leaves open: nothing where it settles the place."""
        among = place.among if {MORE, BACK}.intersection(answer.picked) - {*place.among} else ()
        hands = place.hands
        if hand and hand not in hands and _decides(answer):
            hands = (*hands, hand)
        filled = place.filled | answer.values
        place = replace(place, why="", notes=(), among=among, hands=hands, filled=filled)
        self.comment = answer.comment or ""
        if self.comment:
            self.remarks_on(place.item.id).comments.append(self.comment)
        for remark in answer.annotations:
            self.remarks_on(place.item.id).annotations.append(remark)
            self.note("remark", place, remark.told)
        if answer.prefix or answer.among or answer.tree or answer.advice or answer.extra:
            place = self._tick(place, answer.picked)
        if answer.extra:
            return (yield from self._extra(place, question, answer.extra))
        if answer.prefix:
            return (yield from self._heed_prefix(place, question, answer))
        if answer.tree:
            return (yield from self.ask_aside(place, question, answer.tree))
        if answer.advice:
            self.note("advice", place, answer.advice)
            why = f"{_ASKED.format(place.pending)}\n\n" if place.pending else ""
            offers = (*place.offers, *answer.offers)
            return [replace(place, why=why + answer.advice, pending="", offers=offers)]
        if answer.among:
            # Text that fits several options equally is asked about, with these options only.
            why = f"“{answer.text}” fits more than one option. Which one do you mean?"
            return [replace(place, why=why, among=answer.among, turned=0)]
        return self._blank(place) if answer.blank else self._pick(place, answer)

    def _tick(self, place: P, codes: Iterable[str]) -> P:
        """What was ticked beside something that is no answer stays ticked."""
        none = place.none.code if place.none is not None else MORE
        known = [c for c in codes if c not in (MORE, none) and self.label(place, c) is not None]
        if not place.multi or not known:
            return place
        return replace(place, gathered=tuple(dict.fromkeys((*place.gathered, *known))))

    def _extra(self, place: P, question: Question, letter: str) -> Steps[list[P]]:
        """The letter of an extra says what stands behind it; one that only looks stays open."""
        extra = next((extra for extra in question.extras if extra.letter == letter), None)
        if extra is None:
            return self.again(place, f"There is no extra {letter} here.")
        if extra.shows:
            return (yield from self._ask_asker(place, question, "extra", extra.text))
        if not place.own_words:
            return [replace(place, why=self.keep_words(place, extra.text))]
        self.note("matched", place, f"> Matched: {extra.text}")
        return self.choose(place, place.gathered, extra.text, "smart")

    def _blank(self, place: P) -> list[P]:
        """A blank Other opens its menu; where nothing is behind it, the question comes again."""
        opened = self.open_menu(place)
        why = "Other was left empty, and it has no further options."
        return self.again(place, why) if opened is None else opened

    def _pick(self, place: P, answer: Answer) -> list[P]:
        """Codes are the answer, and words where they may be; More… leads to the next page."""
        words = (answer.text or "").strip()
        codes = [code for code in dict.fromkeys(answer.picked) if code != MORE]
        if words and place.multi and {MORE, BACK}.intersection(answer.picked):
            self.keep_words(place, words)
        if MORE in answer.picked and (place.multi or not words):
            turned = "turned" if place.among else "page"
            at, why = getattr(place, turned) + 1, "More…: here are the further options."
            return [replace(self._tick(place, codes), **{turned: at, "why": why})]
        if BACK in codes:
            return self._turn_back(self._tick(place, codes), announce=answer.raw is not None)
        gathered = tuple(dict.fromkeys((*place.gathered, *codes)))
        if unknown := [code for code in gathered if self.label(place, code) is None]:
            return self.again(place, f"There is no option {', '.join(unknown)} here.")
        if words and not place.own_words:
            return [replace(self._tick(place, codes), why=self.keep_words(place, words))]
        if len(gathered) + bool(words) > 1 and not place.multi:
            return self.again(place, "Only one option can be chosen here.")
        if answer.raw is not None and codes:
            self.note("matched", place, f"> Matched: {self._labels(place, codes)}")
        return self.choose(place, gathered, words, "custom")

    def _turn_back(self, place: P, *, announce: bool) -> list[P]:
        """The page before, or all the options where only some were asked about."""
        if not go_back(place):
            return self.again(place, "There are no options before these.")
        if announce:
            self.note("matched", place, "> Matched: Back")
        page = place.page - (not place.among)
        return [replace(place, page=page, among=(), why="Back to the options before.")]

    def ask_aside(self, place: P, _question: Question, name: str) -> Steps[list[P]]:
        """Ask another tree before the question comes again, where there is one at hand."""
        yield from ()
        return self.again(place, f"There is no tree {name} here.")

    def keep_words(self, place: P, words: str) -> str:
        """Words that decide nothing are kept and told; why the question comes again."""
        self.remarks_on(place.item.id).comments.append(words)
        why = f"“{words}” is recorded, but it is not one of the choices."
        self.note("said", place, why)
        return why

    def chosen(self, *places: P) -> str:
        """What has been gathered there, as every showing says it; an option is named once."""
        found = (self.label(place, code) for place in places for code in place.gathered)
        labels = ", ".join(dict.fromkeys(filter(None, found)))
        return f"Chosen so far: {labels}. " if labels else ""

    def _labels(self, place: P, codes: Iterable[str]) -> str:
        return ", ".join(label for code in codes if (label := self.label(place, code)))

    def again(self, place: P, why: str, *, kind: str = "refused") -> list[P]:
        """The same question once more, for this item only, saying why it is back."""
        self.note(kind, place, why)
        return [replace(place, why=why)]

    def note(self, kind: str, place: P, text: str) -> None:
        """Something that the next Ask, or the result, has to say."""
        self.notes.append(Note(kind, text, place.item.id))

    def _heed_prefix(self, place: P, question: Question, answer: Answer) -> Steps[list[P]]:
        prefix, argument = answer.prefix or "", answer.argument.strip()
        acting = {"force": self._force, "tag": self._tag, "add": self._add, "fill": self._fill}
        asking = {"reference": self._refer, "question": self._ask_back}
        if prefix in acting:
            return acting[prefix](place, argument)
        if prefix in asking:
            return (yield from asking[prefix](place, question, argument))
        if prefix == "unclear":
            return [replace(place, why=argument)]
        why = self.explain(place, question, deep=prefix == "deep")
        said = yield from self._consult(question, f"Explain this question.\n\n{why}")
        return self.again(place, f"{why}\n\n{said}" if said else why, kind="explained")

    def _force(self, place: P, argument: str) -> list[P]:
        """`!CODE` is that choice at once; `!skip` and `!dismiss` leave the question."""
        word = argument.casefold()
        if word in ("", "skip", "dismiss"):
            if not self.skips:
                return self.again(place, "This question cannot be skipped.")
            return self.choose(place, (), word or "skip", "force")
        if (code := self.resolve(place, argument)) is not None:
            self.note("matched", place, f"> Matched: {self.label(place, code)}")
            return self.force(place, code)
        return self.again(place, f"There is no option {argument} here.")

    def _tag(self, place: P, argument: str) -> list[P]:
        """`#one, #two` tag the item, and the question comes again; backticks make a tag inert. A
        tag is one word; what stands behind it is a comment.
        """
        parts = re.split(r"\s+(?:and|&)\s+(?=#)|[,;#]", re.sub(r"`(#?)[^`]*`", r"\1", argument))
        named = [part.split(maxsplit=1) for part in parts if part.strip()]
        if not named:
            return self.again(place, "Type a name after #.")
        remarks, beside = self.remarks_on(place.item.id), [one[1] for one in named if one[1:]]
        remarks.tags += [one[0] for one in named]
        remarks.comments += beside
        told = [f"Tagged {', '.join(f'#{one[0]}' for one in named)}."]
        told += [f"“{words}” is recorded as a comment." for words in beside]
        return self.again(place, " ".join(told), kind="tagged")

    def _add(self, place: P, argument: str) -> list[P]:
        """`+CODE` adds to what has been chosen, where several can be."""
        found = [self.resolve(place, word) or "" for word in re.split(r"[\s,]+", argument) if word]
        if not found or not all(found) or not (opened := self.gather(place, found)):
            return self.again(place, f"{argument or '+'} cannot be added here.")
        why = f"Added: {self._labels(place, found)}. What else?"
        return [replace(opened[0], why=why), *opened[1:]]

    def _fill(self, place: P, _: str) -> list[P]:
        """Values alone decide nothing: they stand, and the question comes again."""
        told = "; ".join(f"{name}: {shown(value)}" for name, value in place.filled.items())
        told = f"Filled in: {told}." if told else "Your remarks are recorded."
        return self.again(place, f"{told} What do you choose?", kind="filled")

    def _refer(self, place: P, question: Question, path: str) -> Steps[list[P]]:
        """`@path` shows a file, and the question comes again."""
        done = yield from send(Do(f"{question.key}+file", "read-file", path), Done)
        if done.error:
            return self.again(place, done.error)
        return self.again(place, wording.show_file(path, done.text), kind="reference")

    def _ask_back(self, place: P, question: Question, asked: str) -> Steps[list[P]]:
        """`Q:` asks something back. It is kept; an advisor answers it, or whoever relays."""
        if not asked:
            return self.again(place, "Type a question after Q:.")
        self.remarks_on(place.item.id).questions.append(asked)
        return (yield from self._ask_asker(place, question, "question", asked))

    def _ask_asker(self, place: P, question: Question, kind: str, asked: str) -> Steps[list[P]]:
        """Something for whoever asks to answer: an advisor at once, else with advice later."""
        if not self.advisor:
            why = f"{_ASKED.format(asked)}\n{NOT_YET}"
            # Told when the item is shown again: whoever answers it, answers what waits then.
            note = Note(kind, asked, place.item.id)
            return [replace(place, why=why, pending=asked, notes=(note,))]
        prompt = f"{self.explain(place, question, deep=True)}\n\nThe person asks: {asked}"
        said = yield from self._consult(question, prompt)
        said = f"{self.advisor}: {said}" if said else f"{self.advisor} gave no answer."
        return self.again(place, f"{_ASKED.format(asked)}\n\n{said}", kind="advice")

    def _consult(self, question: Question, prompt: str) -> Steps[str]:
        if not self.advisor:
            return ""
        output = yield from send(Call(f"{question.key}+advice", self.advisor, prompt), Output)
        return "" if output.error else output.text.strip()


def _decides(answer: Answer) -> bool:
    """Whether an answer has a part in what is decided: turning pages and asking back have none."""
    if answer.picked:
        return answer.picked not in ((MORE,), (BACK,))
    return not (answer.advice or answer.among or answer.tree or answer.prefix not in _DECIDING)


def _unique(questions: list[Question]) -> tuple[Question, ...]:
    """Hosts find answers by the question's text, so no two in an Ask are alike."""
    for field in ("title", "item", "key"):
        texts = [question.text for question in questions]
        if len(set(texts)) == len(texts):
            break
        questions = [
            _tell_apart(q, getattr(q, field)) if texts.count(q.text) > 1 else q for q in questions
        ]
    return tuple(questions)


def _tell_apart(question: Question, value: str) -> Question:
    text, template = f"{question.text} ({value})", ""
    if question.decidable:
        kept = wording.fill_phrases("({value})", {"value": value})
        template = f"{question.template or question.text} {kept}"
    return replace(question, text=text, template=template)


def go_back(place: Place) -> tuple[Choice, ...]:
    """What leads from a further page, or from some of the options, to those shown before."""
    return (UP,) if place.page or place.among else ()


def page_of(
    place: Place, choices: Sequence[Choice], behind: Sequence[Choice], room: int
) -> tuple[tuple[Choice, ...], tuple[Choice, ...]]:
    """The choices of the page at hand, and those that typed text may name besides."""
    every, shown = [*choices, *behind], page_choices(choices, place.page, room)
    if fitting := [c for c in dict.fromkeys((*every, *shown)) if c.code in place.among]:
        shown = page_choices(fitting, place.turned, room)
    codes = {choice.code for choice in shown}
    return tuple(shown), tuple(choice for choice in every if choice.code not in codes)


def page_choices(choices: Sequence[Choice], page: int, room: int) -> list[Choice]:
    """The choices of a page, counted from 0; each page but the last has a place for More…."""
    begin, step = 0, max(room - 1, 1)
    while page > 0 and len(choices) - begin > room:
        begin, page = begin + step, page - 1
    rest = choices[begin:]
    if len(rest) <= room:
        return list(rest)
    return [*rest[:step], Choice(MORE, "More…", f"{len(rest) - step} further options")]


class Inquiry(Place, frozen=True):
    """A question with all its choices, however few of them a host can show at once."""

    key: str  # its number, such as `D3.1`; it opens the text of a question that is part of a chain
    label: str  # what the header says behind the number
    text: str  # what is to be known; the question itself stands behind it
    asked: str
    choices: tuple[Choice, ...]
    id: str = ""
    blank_is_none: bool = False  # Other left blank says the same
    named: tuple[Choice, ...] = ()  # what typed text may name besides
    always: tuple[Note, ...] = ()  # what is told at every showing
    chain: bool = True  # one of a chain goes by numbers, and no preference decides it
    assignment: Assignment | None = None  # which part of a walk it is

    @property
    def every(self) -> tuple[Choice, ...]:
        """All that a reply can name."""
        return (*self.choices, *self.named, *(() if self.none is None else (self.none,)))


class Selection(msgspec.Struct, frozen=True):
    """A settled answer: codes in the order of the choices, own words, and a remark."""

    codes: tuple[str, ...] = ()
    words: str = ""
    comment: str = ""
    hands: tuple[Hand, ...] = ()
    values: dict[str, Any] = {}
    """What stands in the fields, where there are any, and which of it was changed."""

    @property
    def code(self) -> str:
        """The only code; nothing where there are just words."""
        return self.codes[0] if self.codes else ""


class Chooser(Asking[Inquiry]):
    """Asks the inquiries of one run."""

    last = Selection()
    hands: tuple[Hand, ...] = ()  # whose the answers were, all in all

    def inquire(self, inquiry: Inquiry) -> Steps[Selection]:
        """Ask until there is an answer. Whatever else comes back, the question comes again."""
        yield from self.settle([inquiry])
        self.hands = tuple(dict.fromkeys((*self.hands, *self.last.hands)))
        return self.last

    def question(self, place: Inquiry) -> Question:
        none = () if place.none is None else (place.none,)
        if none and place.gathered:
            none = (Choice(none[0].code, _NO_MORE, self.chosen(place).rstrip(". ")),)
        room = max(self.limits.options, FEWEST)
        shown, named = page_of(place, place.choices, (*place.named, *none), room)
        if len(shown) < room and not place.among:
            shown, named = (*shown, *none), tuple(c for c in named if c not in none)
        said = [f"{place.key}: {place.text}" if place.chain else place.text]
        said += [self.chosen(place).rstrip()] if place.gathered else []
        if not place.among:
            said += [f"(“{choice.label}” can be typed.)" for choice in none if choice in named]
        number = place.key if place.chain else place.item.id
        return Question(
            key=self.new_key(place.key),
            header=wording.header(Item(number, place.label), self.limits.header),
            text=" ".join([*said, place.asked]),
            choices=shown,
            multi=place.multi,
            item=place.item.id,
            title=place.item.title,
            # Of hundreds of options that are not shown, the names are enough.
            named=tuple(replace(choice, description="") for choice in named),
            above=go_back(place),
            menu=place.blank_is_none and not place.among,
            narrowed=bool(place.among),
            extras=place.offers,
            gathered=place.gathered,
            fields=place.fields,
            filled=place.filled,
            id=place.id,
            chain=place.chain,
        )

    def ask(self, asked: Sequence[tuple[Inquiry, Question]]) -> Ask:
        ask, inquiry = super().ask(asked), asked[0][0]
        return replace(ask, notes=(*ask.notes, *inquiry.always), assignment=inquiry.assignment)

    def label(self, place: Inquiry, code: str) -> str | None:
        if place.gathered and place.none and code == place.none.code not in place.gathered:
            return _NO_MORE
        return next((choice.label for choice in place.every if choice.code == code), None)

    def resolve(self, place: Inquiry, typed: str) -> str | None:
        return {c.code.casefold(): c.code for c in place.every}.get(typed.casefold())

    def explain(self, place: Inquiry, question: Question, *, deep: bool) -> str:
        """The question and its choices with their descriptions; deep, those of all pages."""
        lines = [question.text, ""]
        for choice in place.choices if deep else question.choices:
            said = " ".join(choice.description.split())
            lines.append(f"- [{choice.code}] {choice.shown}" + (f": {said}" if said else ""))
        if deep and place.blocks:
            lines += ["", *place.blocks]
        return "\n".join(lines)

    def choose(
        self, place: Inquiry, codes: Sequence[str], words: str = "", _kind: str = ""
    ) -> list[Inquiry]:
        """None of them stands alone, unless some were chosen before and it means no more."""
        none = place.none
        if none is not None and none.code in codes and len(codes) > 1:
            if not place.gathered:
                return self.again(place, f"{none.label} cannot be combined with other choices.")
            codes = [code for code in codes if code != none.code]
        order = {choice.code: at for at, choice in enumerate((*place.choices, *place.named))}
        in_order = tuple(sorted(codes, key=lambda code: order.get(code, -1)))
        self.last = Selection(in_order, words, self.comment, place.hands, place.tell_values())
        return []

    def open_menu(self, place: Inquiry) -> list[Inquiry] | None:
        if place.none is None or not place.blank_is_none:
            return None
        self.last = Selection((place.none.code,), hands=place.hands)
        return []

    def force(self, place: Inquiry, code: str) -> list[Inquiry]:
        return self.choose(place, list(dict.fromkeys((*place.gathered, code))))
