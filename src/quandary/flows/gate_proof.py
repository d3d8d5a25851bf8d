"""Asking a person for proof, field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quandary.flows import wording
from quandary.model import keys
from quandary.model.ask import Answer, Ask, Choice, Item, Limits, Preamble, Question, Reply
from quandary.model.track import Field, Phase, shown

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from quandary.flows import Request, Response

_ASKED_BACK = ("explain", "deep", "question")


class Prover:
    """Asks for what a phase has to prove. Each showing of a field has a key of its own."""

    def __init__(self, phase: Phase, limits: Limits) -> None:
        self.phase = phase
        self.limits = limits
        self.turns: dict[str, int] = {}

    def ask(
        self, fields: tuple[Field, ...], problems: Mapping[str, str]
    ) -> Generator[Request, Response, dict[str, Any] | None]:
        """The values that a person gives, or nothing once they leave a field blank."""
        given: dict[str, Any] = {}
        waiting = list(fields)
        why = ""
        while waiting:
            batch = waiting[: max(self.limits.questions, 1)]
            asked = [(field, self._question(field, problems[field.name])) for field in batch]
            reply = yield self._ask(asked, why)
            if not isinstance(reply, Reply):
                raise TypeError("an Ask is answered with a Reply")
            why = ""
            for field, question in asked:
                answer = reply.to(question.key)
                if answer is None:
                    continue
                if answer.blank:
                    return None
                if answer.prefix in _ASKED_BACK or answer.among or answer.advice:
                    why = answer.advice or f"{field.described}: this is what has to be shown."
                    continue
                given[field.name] = _value(field, answer)
                waiting.remove(field)
        return given

    def _question(self, field: Field, problem: str) -> Question:
        place = keys.place(self.phase.label, ("proof", field.name))
        self.turns[place] = self.turns.get(place, 0) + 1
        choices = _choices(field)
        item = Item(self.phase.label, label=field.name)
        return Question(
            key=keys.turn(place, self.turns[place]),
            header=wording.header(item, self.limits.header),
            text=f"{self.phase.title} has to prove {field.described}; it {problem}. What shows it?",
            choices=choices[: self.limits.options],
            named=choices[self.limits.options :],
            item=self.phase.label,
            title=field.name,
            menu=True,
            root=False,
        )

    def _ask(self, asked: list[tuple[Field, Question]], why: str) -> Ask:
        questions = tuple(question for _, question in asked)
        names = ", ".join(field.name for field, _ in asked)
        context = f"Before {self.phase.title} is left, it has to be shown: {names}."
        hints = "Type what shows it | ?: explain | Blank for the menu"
        said = [f"- {f.name}: {f.schema['description']}" for f, _ in asked if _told(f)]
        preamble = Preamble(context, tuple(["\n".join(said)] if said else []), why, hints=hints)
        return Ask(questions[0].key, "transition", preamble, questions)


def _told(field: Field) -> bool:
    return isinstance(field.schema.get("description"), str)


def _choices(field: Field) -> tuple[Choice, ...]:
    """What can be picked: the values that are declared, or that it is so."""
    values = field.schema.get("enum", [True] if field.types == ("boolean",) else [])
    labels = ["Yes, it is so" if value is True else shown(value) for value in values]
    return tuple(Choice(f"V{number}", label) for number, label in enumerate(labels, 1))


def _value(field: Field, answer: Answer) -> Any:  # noqa: ANN401 - whatever is declared
    """What was picked; else the text as it was typed, even where it looks like a prefix."""
    if answer.picked:
        values = field.schema.get("enum", [True])
        return values[int(answer.picked[0][1:]) - 1]
    return answer.raw or answer.text or ""
