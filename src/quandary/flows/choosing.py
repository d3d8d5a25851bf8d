"""One question, asked until it has an answer: pages, prefixes, clarifying, and being asked back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.flows import wording
from quandary.flows.paging import paged
from quandary.model import keys
from quandary.model.ask import (
    MORE,
    Answer,
    Ask,
    Choice,
    Item,
    Limits,
    Note,
    Preamble,
    Question,
    Reply,
)
from quandary.model.call import Assignment, Do, Done
from quandary.model.tree import Extra

if TYPE_CHECKING:
    from collections.abc import Generator

    from quandary.flows import Request, Response

FEWEST = 2
"""A host shows at least this many options, or there would be no room for More…"""


class Inquiry(msgspec.Struct, frozen=True):
    """A question with all its choices, however few of them a host can show at once."""

    place: str
    """Its number, such as `D3.1`; it opens the text of a question that is part of a chain."""
    label: str
    """What the header says behind the number."""
    text: str
    """What is to be known; the question itself stands behind it."""
    asked: str
    choices: tuple[Choice, ...]
    id: str = ""
    multi: bool = False
    none: Choice | None = None
    """Says that none of them is meant; shown where there is room, and always understood."""
    blank_is_none: bool = False
    """Other left blank says the same."""
    named: tuple[Choice, ...] = ()
    """What typed text may name besides."""
    own_words: bool = False
    """Whether text that names no choice is an answer."""
    item: str = ""
    title: str = ""
    blocks: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    """What is to be known at every showing."""
    why: str = ""
    chain: bool = True
    """Whether it is one of a chain, which goes by numbers and is never decided by preference."""
    assignment: Assignment | None = None


class Chosen(NamedTuple):
    """A settled answer: codes in the order of the choices, own words, and a remark."""

    codes: tuple[str, ...] = ()
    words: str = ""
    comment: str = ""

    @property
    def code(self) -> str:
        """The only code; nothing where there are just words."""
        return self.codes[0] if self.codes else ""


class _View(msgspec.Struct, frozen=True):
    """How the question stands at the moment."""

    why: str = ""
    page: int = 0
    gathered: tuple[str, ...] = ()
    among: tuple[str, ...] = ()
    """Only these are asked about, because the last reply fits them equally."""
    offers: tuple[Extra, ...] = ()


class Remarks:
    """What people said beside their answers, for each item; "" is the run as a whole."""

    def __init__(self) -> None:
        self.comments: dict[str, list[str]] = {}
        self.tags: dict[str, list[str]] = {}
        self.questions: dict[str, list[str]] = {}

    def comment(self, item: str, text: str) -> None:
        """Keep what was said about an item."""
        self.comments.setdefault(item, []).append(text)

    def of(self, item: str) -> dict[str, str | list[str]]:
        """The remarks on an item, under the names that results have for them."""
        said: dict[str, str | list[str]] = {}
        if item in self.comments:
            said["comment"] = "\n".join(self.comments[item])
        if item in self.tags:
            said["tags"] = self.tags[item]
        if item in self.questions:
            said["questions"] = self.questions[item]
        return said


class Asker:
    """Asks the questions of one run. Each showing has a key of its own."""

    def __init__(self, context: str, limits: Limits) -> None:
        self.context = context
        self.limits = limits
        self.notes: list[Note] = []
        """What the next Ask, or the result, has to say."""
        self.remarks = Remarks()
        self._turns: dict[str, int] = {}

    def choose(self, inquiry: Inquiry) -> Generator[Request, Response, Chosen]:
        """Ask until there is an answer. Whatever else comes back, the question comes again."""
        view = _View(why=inquiry.why)
        while True:
            question = self._question(inquiry, view)
            reply = yield self._ask(inquiry, question, view)
            if not isinstance(reply, Reply):
                raise TypeError("an Ask is answered with a Reply")
            answer = reply.to(question.key)
            if answer is None:
                view = replace(view, why="It has no answer yet.")
                continue
            taken = yield from self._take(inquiry, question, view, answer)
            if isinstance(taken, Chosen):
                return taken
            view = taken

    # -- the question as it is shown -----------------------------------------------------------

    def _question(self, inquiry: Inquiry, view: _View) -> Question:
        turn = self._turns[inquiry.place] = self._turns.get(inquiry.place, 0) + 1
        none = _none(inquiry, view)
        every = (*inquiry.choices, *inquiry.named, *none)
        room = max(self.limits.options, FEWEST)
        fitting = [choice for choice in every if choice.code in view.among]
        shown = paged(fitting or inquiry.choices, view.page, room)
        if len(shown) < room and not fitting:
            shown += none
        codes = {choice.code for choice in shown}
        said = [f"{inquiry.place}: {inquiry.text}" if inquiry.chain else inquiry.text]
        if view.gathered:
            said.append(f"Chosen so far: {', '.join(view.gathered)}.")
        if not view.among:
            said += [f"(“{c.label}” can be typed.)" for c in none if c.code not in codes]
        number = inquiry.place if inquiry.chain else inquiry.item
        return Question(
            key=keys.turn(inquiry.place, turn),
            header=wording.header(Item(number, inquiry.label), self.limits.header),
            text=" ".join([*said, inquiry.asked]),
            choices=tuple(shown),
            multi=inquiry.multi,
            item=inquiry.item,
            title=inquiry.title,
            # Of hundreds of options that are not shown, the names are enough.
            named=tuple(replace(c, description="") for c in every if c.code not in codes),
            menu=inquiry.blank_is_none and not view.among,
            extras=view.offers,
            gathered=view.gathered,
            id=inquiry.id,
            chain=inquiry.chain,
        )

    def _ask(self, inquiry: Inquiry, question: Question, view: _View) -> Ask:
        notes, self.notes = (*self.notes, *inquiry.notes), []
        hints = [wording.BLANK] if question.menu else []
        hints += ["Q: asks something", "? explains", "@path shows a file"]
        if inquiry.multi:
            hints.append("+CODE adds")
        preamble = Preamble(
            context=self.context,
            blocks=inquiry.blocks,
            why=view.why,
            extras=question.extras,
            hints=" | ".join(hints),
        )
        return Ask(
            question.key,
            "transition",
            preamble,
            (question,),
            notes,
            assignment=inquiry.assignment,
        )

    # -- an answer, or what stands in its place ------------------------------------------------

    def _take(
        self, inquiry: Inquiry, question: Question, view: _View, answer: Answer
    ) -> Generator[Request, Response, Chosen | _View]:
        before = view
        view = replace(view, why="", among=(), gathered=_ticked(inquiry, view, answer.picked))
        if answer.comment:
            self.remarks.comment(inquiry.item, answer.comment)
        if answer.prefix == "reference":
            return (yield from self._refer(inquiry, question, view, answer.argument.strip()))
        if answer.prefix:
            return self._prefixed(inquiry, question, view, answer)
        if answer.advice or answer.among or answer.tree or answer.extra or answer.blank:
            return self._beside(inquiry, question, view, answer)
        if MORE in answer.picked and not answer.text:
            return replace(view, page=view.page + 1, among=before.among)
        return self._picked(inquiry, replace(view, gathered=before.gathered), answer)

    def _beside(
        self, inquiry: Inquiry, question: Question, view: _View, answer: Answer
    ) -> Chosen | _View:
        """Advice, a text that fits several, a letter, a blank: no choice of one of the options."""
        if answer.advice:
            self._note("advice", inquiry, answer.advice)
            return replace(view, why=answer.advice, offers=(*view.offers, *answer.offers))
        if answer.among:
            why = f"“{answer.text}” fits more than one option. Which is meant?"
            return replace(view, why=why, among=answer.among, page=0)
        if answer.tree:
            return self._again(inquiry, view, f"There is no tree {answer.tree} at hand.")
        if answer.extra:
            return self._extra(inquiry, question, view, answer)
        return self._blank(inquiry, view)

    def _picked(self, inquiry: Inquiry, view: _View, answer: Answer) -> Chosen | _View:
        """Codes are the answer, and words where they may be."""
        codes = [code for code in dict.fromkeys(answer.picked) if code != MORE]
        if inquiry.multi:
            codes = list(dict.fromkeys((*view.gathered, *codes)))
        words = (answer.text or "").strip()
        kept = replace(view, gathered=_ticked(inquiry, view, tuple(codes)))
        unknown = [code for code in codes if _find(inquiry, code) is None]
        if unknown:
            return self._again(inquiry, view, f"There is no option {', '.join(unknown)} here.")
        if words and not inquiry.own_words:
            return replace(kept, why=self.said(inquiry, words))
        if len(codes) + bool(words) > 1 and not inquiry.multi:
            return self._again(inquiry, view, "Only one of them can be chosen here.")
        if answer.raw is not None and codes:
            labels = ", ".join(c.label for code in codes if (c := _find(inquiry, code)))
            self._note("matched", inquiry, f"> Matched: {labels}")
        return self._settled(inquiry, view, codes, words, answer.comment or "")

    def _settled(
        self, inquiry: Inquiry, view: _View, codes: list[str], words: str, comment: str
    ) -> Chosen | _View:
        """None of them stands alone, unless some were chosen before and it means no more."""
        none = inquiry.none.code if inquiry.none is not None else ""
        if none in codes and len(codes) > 1:
            codes.remove(none)
            if not view.gathered:
                why = f"{inquiry.none.label if inquiry.none else ''} does not go with others."
                return self._again(inquiry, view, why)
        order = {c.code: at for at, c in enumerate((*inquiry.choices, *inquiry.named))}
        codes.sort(key=lambda code: order.get(code, -1))
        return Chosen(tuple(codes), words, comment)

    def _blank(self, inquiry: Inquiry, view: _View) -> Chosen | _View:
        if inquiry.blank_is_none and inquiry.none is not None:
            return Chosen((inquiry.none.code,))
        return self._again(inquiry, view, "Other was left empty, and there is nothing behind it.")

    def _extra(
        self, inquiry: Inquiry, question: Question, view: _View, answer: Answer
    ) -> Chosen | _View:
        """An extra that came with advice says what the person would say."""
        extra = next((e for e in question.extras if e.letter == answer.extra), None)
        if extra is None:
            return self._again(inquiry, view, f"There is no {answer.extra} here.")
        if not inquiry.own_words:
            return replace(view, why=self.said(inquiry, extra.text))
        self._note("matched", inquiry, f"> Matched: {extra.text}")
        return Chosen(words=extra.text, comment=answer.comment or "")

    def said(self, inquiry: Inquiry, words: str) -> str:
        """Words that decide nothing are kept and told; why the question comes again."""
        self.remarks.comment(inquiry.item, words)
        why = f"“{words}” is kept, but it is none of the choices."
        self._note("said", inquiry, why)
        return why

    # -- prefixes ------------------------------------------------------------------------------

    def _prefixed(
        self, inquiry: Inquiry, question: Question, view: _View, answer: Answer
    ) -> Chosen | _View:
        argument = answer.argument.strip()
        if answer.prefix == "force":
            return self._forced(inquiry, view, argument)
        if answer.prefix == "add":
            return self._added(inquiry, view, argument)
        if answer.prefix == "tag":
            return self._tagged(inquiry, view, argument.lstrip("#").strip())
        if answer.prefix == "question":
            return self._questioned(inquiry, view, argument)
        deep = answer.prefix == "deep"
        return self._again(
            inquiry, view, _explained(inquiry, question, deep=deep), kind="explained"
        )

    def _tagged(self, inquiry: Inquiry, view: _View, tag: str) -> _View:
        if not tag:
            return self._again(inquiry, view, "# needs a name behind it.")
        self.remarks.tags.setdefault(inquiry.item, []).append(tag)
        return self._again(inquiry, view, f"Tagged #{tag}.", kind="tagged")

    def _questioned(self, inquiry: Inquiry, view: _View, asked: str) -> _View:
        if not asked:
            return self._again(inquiry, view, "Q: needs a question behind it.")
        self.remarks.questions.setdefault(inquiry.item, []).append(asked)
        self._note("question", inquiry, asked)
        why = f"You asked: {asked}. The question is kept and waits for an answer."
        return replace(view, why=why)

    def _forced(self, inquiry: Inquiry, view: _View, argument: str) -> Chosen | _View:
        """`!CODE` is that choice at once; nothing here can be skipped."""
        if argument.casefold() in ("", "skip", "dismiss"):
            return self._again(inquiry, view, "This cannot be skipped: nothing is decided unasked.")
        found = _resolve(inquiry, argument)
        if found is None:
            return self._again(inquiry, view, f"There is no option {argument} here.")
        return self._settled(inquiry, view, list(dict.fromkeys((*view.gathered, found))), "", "")

    def _added(self, inquiry: Inquiry, view: _View, argument: str) -> _View:
        found = [_resolve(inquiry, word) for word in re.split(r"[\s,]+", argument) if word]
        codes = [code for code in found if code]
        if not inquiry.multi or not codes or len(codes) < len(found):
            return self._again(inquiry, view, f"{argument or '+'} cannot be added here.")
        gathered = tuple(dict.fromkeys((*view.gathered, *codes)))
        return replace(view, gathered=gathered, why=f"Chosen so far: {', '.join(gathered)}.")

    def _refer(
        self, inquiry: Inquiry, question: Question, view: _View, path: str
    ) -> Generator[Request, Response, _View]:
        done = yield Do(f"{question.key}+file", "read-file", path)
        if not isinstance(done, Done):
            raise TypeError("a deed is answered with what was done")
        if done.error:
            return self._again(inquiry, view, done.error)
        return self._again(inquiry, view, f"{path}:\n\n{done.text}", kind="reference")

    def _again(self, inquiry: Inquiry, view: _View, why: str, *, kind: str = "refused") -> _View:
        """The same question once more, saying why it is back."""
        self._note(kind, inquiry, why)
        return replace(view, why=why)

    def _note(self, kind: str, inquiry: Inquiry, text: str) -> None:
        self.notes.append(Note(kind, text, inquiry.item))


def _none(inquiry: Inquiry, view: _View) -> tuple[Choice, ...]:
    """The choice that says none of them; with some chosen before, it says that these are all."""
    if inquiry.none is None:
        return ()
    if not view.gathered:
        return (inquiry.none,)
    chosen = f"Chosen so far: {', '.join(view.gathered)}"
    return (Choice(inquiry.none.code, "That is all", chosen),)


def _ticked(inquiry: Inquiry, view: _View, codes: tuple[str, ...]) -> tuple[str, ...]:
    """What has been chosen so far where several can be; None of them is no such thing."""
    if not inquiry.multi:
        return ()
    none = inquiry.none.code if inquiry.none is not None else ""
    known = [code for code in codes if code != none and _find(inquiry, code) is not None]
    return tuple(dict.fromkeys((*view.gathered, *known)))


def _find(inquiry: Inquiry, code: str) -> Choice | None:
    none = () if inquiry.none is None else (inquiry.none,)
    every = (*inquiry.choices, *inquiry.named, *none)
    return next((choice for choice in every if choice.code == code), None)


def _resolve(inquiry: Inquiry, typed: str) -> str | None:
    """The code that was typed, in any case."""
    none = () if inquiry.none is None else (inquiry.none,)
    by_case = {c.code.casefold(): c.code for c in (*inquiry.choices, *inquiry.named, *none)}
    return by_case.get(typed.casefold())


def _explained(inquiry: Inquiry, question: Question, *, deep: bool) -> str:
    """The question and its choices with their descriptions; deep, those of all pages."""
    choices = inquiry.choices if deep else question.choices
    lines = [question.text, ""]
    for choice in choices:
        said = " ".join(choice.description.split())
        lines.append(f"- [{choice.code}] {choice.shown}" + (f": {said}" if said else ""))
    if deep and inquiry.blocks:
        lines += ["", *inquiry.blocks]
    return "\n".join(lines)
