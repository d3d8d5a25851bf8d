"""An answer in the making: what a person has marked and typed before it is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from quandary.desk.sheets import check_values, join_ticks, read_typed, take_values, tell_changes
from quandary.errors import Rejected
from quandary.model.asks import BACK, MORE, Answer, Question, Reading
from quandary.model.text import printable
from quandary.model.tree import Extra
from quandary.reading import Mode, read

CLOSED = "the terminal was closed"
INTERRUPTED = "interrupted"
NO_MENU = "These are the first options: there is nothing to go back to."
NOTHING_TICKED = "Nothing is ticked yet: space ticks, enter continues."
NOTHING_TYPED = "Other has no options here: type your own words."
LEFT_OUT = "left out: back to the menu"
SEEN_FIRST = "(to see first; the question stays open)"
BOTH = "Choose an option or type your own words, not both: choose Other, or clear what you typed."


@dataclass
class Draft:
    """One question with the cursor, the ticks and the texts of its answer."""

    question: Question
    mode: Mode = "strict"
    at: int = 0  # the row of the cursor; the row behind the choices is Other
    ticked: set[str] = field(default_factory=set)
    words: str = ""  # what stands on the Other line
    comment: str = ""
    typed: dict[str, Any] = field(default_factory=dict)  # what stands in the fields
    answer: Answer | None = None

    @property
    def other(self) -> int:
        """The row of the Other line."""
        return len(self.question.choices)

    @property
    def on_other(self) -> bool:
        """Whether the cursor stands on the Other line."""
        return self.at == self.other

    @property
    def hint(self) -> str:
        """What the Other line is for."""
        menu = "Other..., or your own words" if self.question.menu else "Other: your own words"
        return self.question.value or menu

    def is_value(self, typed: str) -> bool:
        """Whether what is typed is the value asked for, and no number of a row that spells none."""
        spelt = typed in {choice.label for choice in self.question.options}
        rows = map(str, range(1, self.other + 1))
        return bool(self.question.value) and (spelt or typed not in rows)

    def write(self, words: str) -> None:
        """Type on the Other line; the cursor goes there, or to the row that is named by number."""
        if words != self.words:
            self.words, named = words, self.question.value and not self.is_value(words.strip())
            self.at = int(words) - 1 if named else self.other

    def move(self, step: int) -> None:
        """Up or down, round the ends."""
        self.at = (self.at + step) % (self.other + 1)

    def jump(self, letter: str) -> bool:
        """To the next choice whose code begins with the letter."""
        initials = [choice.code.rpartition("/")[2][:1].upper() for choice in self.question.choices]
        rows = [row for row, initial in enumerate(initials) if initial == letter.upper()]
        self.at = next((row for row in rows if row > self.at), rows[0] if rows else self.at)
        return bool(rows)

    def tick(self) -> None:
        """Mark the choice at the cursor, or take the mark away; what was gathered before stays."""
        code = self.question.choices[self.at].code
        if code not in self.question.gathered:
            self.ticked ^= {code}

    def settle(self, *, up: bool = False) -> str:
        """Make the answer out of what is marked and typed; or say why it is none yet."""
        answer: Answer | str
        if up:
            stays = self.question.multi and not self.question.above[1:]  # on a page, not in a menu
            marks = tuple(c.code for c in self.question.choices if stays and c.code in self.ticked)
            back = Answer(self.question.key, (*marks, BACK), comment=self.words.strip())
            answer = back if self.question.above else NO_MENU
        elif self.question.multi:
            answer = self._join_ticks()
        elif self.on_other:
            answer = self._read_typed()
        elif self.words.strip() and not self.question.value:
            answer = BOTH
        else:
            answer = Answer(self.question.key, picked=(self.question.choices[self.at].code,))
        if isinstance(answer, Answer) and answer.prefix == "unclear":
            answer = answer.argument
        if isinstance(answer, str):
            return answer
        said = filter(None, (answer.comment, self.comment.strip()))
        return self.keep(replace(answer, comment="; ".join(said) or None))

    def keep(self, answer: Answer) -> str:
        """Take an answer, with what stands in the fields; or say what is wrong with that."""
        try:
            values = answer.values | self.typed
            self.answer = check_values(self.question, replace(answer, values=values))
        except Rejected as refused:
            why = str(refused).partition(";")[0]
            return f"{why[:1].upper()}{why[1:]}."
        return ""

    def press(self, letter: str) -> str:
        """Make the answer out of an extra, beside what is ticked; or say that there is none."""
        extra = next((e for e in self.question.extras if e.letter == letter), None)
        if extra is None:
            return f"There is no extra {letter} here."
        said = "; ".join(filter(None, (self.words.strip(), self.comment.strip())))
        ticked = self.ticked if self.question.multi else set()
        return self.keep(
            Answer(
                self.question.key,
                picked=tuple(c.code for c in self.question.choices if c.code in ticked),
                comment=said or None,
                prefix="show" if extra.shows else None,
                extra=letter,
            )
        )

    def _join_ticks(self) -> Answer | str:
        """The ticks, together with what is typed; More… takes both along to its page."""
        picked = tuple(c.code for c in self.question.choices if c.code in self.ticked)
        if not self.on_other and self.question.choices[self.at].code == MORE:
            picked = (*picked, MORE)
        if self.words.strip() or (self.on_other and self.question.menu):
            answer = self._read_typed()
            return answer if isinstance(answer, str) else join_ticks(self.question, picked, answer)
        if picked or self.question.gathered:
            return Answer(self.question.key, picked=picked or self.question.gathered)
        return NOTHING_TYPED if self.on_other else NOTHING_TICKED

    def _read_typed(self) -> Answer | str:
        """Other left blank opens its menu, where there is one."""
        text, key = self.words.strip(), self.question.key
        answer = read_typed(self.question, text, self._read) if text else Answer(key)
        if not answer.blank:
            return answer
        open_ended = self.question.menu or self.question.value
        return Answer(key, raw=text or None) if open_ended else NOTHING_TYPED

    def reading(self) -> Reading:
        """How the Other line would be read as it stands."""
        text = take_values(self.question, self.words.strip())[1]
        return read(text, self.question, self.mode) if text else Reading("blank")

    def _read(self, text: str) -> Answer:
        return read(text, self.question, self.mode).answer(self.question.key, text)

    def preview(self) -> str:
        """What Enter on the Other line would do."""
        values, rest = take_values(self.question, self.words.strip())
        if values and not rest:
            return f"→ fills in {', '.join(values)}; choose after that"
        reading = self.reading()
        if self.question.value:
            return "" if reading.kind == "own-words" else f"→ {LEFT_OUT}"
        if not self.words.strip() and self.ticked and not self.question.behind_other:
            return "→ continues with what is ticked"
        if reading.kind == "blank":
            return "→ more options" if self.question.menu else ""
        told = f"→ {meaning(self.question, reading.answer(self.question.key, self.words))}"
        alone = self.question.multi and self.ticked and reading.prefix == "force"
        return f"{told} (not together with ticks)" if alone else told

    def record(self) -> str:
        """One line on the question and what it was answered with."""
        answer, header = self.answer, self.question.header
        if answer is None:
            return printable(f"○ {header}")
        said = meaning(self.question, answer)
        if answer.text and not answer.among:
            said = ", ".join([*self.question.labels(answer.picked), f"“{answer.text}”"])
        if answer.comment:
            said = f"{said} (“{answer.comment}”)"
        if answer.values and answer.prefix != "fill":
            said = f"{said} ({'; '.join(tell_changes(self.question, answer.values))})"
        settled = answer.settles and not answer.blank
        return printable(f"{'✓' if settled else '→'} {header} — {said}")


def extra_labels(question: Question) -> list[str]:
    """The extras as a door lists them, those that leave the question open told apart."""
    return [f"{e.shown} {SEEN_FIRST}" if e.shows else e.shown for e in question.extras]


def meaning(question: Question, answer: Answer) -> str:
    """How an answer is understood, in a few words."""
    if answer.extra:
        extras = {extra.letter: extra for extra in question.extras}
        extra = extras.get(answer.extra) or Extra(answer.extra, "")
        return f"to see first: {extra.text}" if extra.shows else extra.shown
    if answer.prefix == "fill":
        return f"filled in: {'; '.join(tell_changes(question, answer.values))}"
    if answer.prefix:
        return _describe_prefix(question, answer)
    if answer.tree:
        return f"asks first: {answer.tree}"
    if answer.among:
        asked = "which?" if answer.among[1:] else "asks whether it is"
        return f"{asked} {' or '.join(question.labels(answer.among))}"
    parts = [*question.labels(answer.picked), *(["your own words"] if answer.text else [])]
    return ", ".join(parts) or (LEFT_OUT if question.value else "more options")


def _describe_prefix(question: Question, answer: Answer) -> str:
    argument = answer.argument.strip()
    if answer.prefix == "force":
        ends = {"": "skip it", "skip": "skip it", "dismiss": "dismiss it"}
        return ends.get(argument.casefold(), f"at once: {question.labels([argument.upper()])[0]}")
    return {
        "add": f"adds: {argument}",
        "question": f"asks: {argument}",
        "explain": "asks: explain",
        "deep": "asks: explain in full",
        "tag": f"tags it #{argument.lstrip('#')}",
        "reference": f"shows the file {argument}",
    }[answer.prefix or "question"]
