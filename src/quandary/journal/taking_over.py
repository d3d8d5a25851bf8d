"""Answers of an earlier run, for a new run that asks the same things again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from quandary.journal.entries import Answered, Asked, without_words
from quandary.model import keys
from quandary.model.ask import Answer, Ask, Question, Reply

if TYPE_CHECKING:
    from quandary.journal.store import Store


class Earlier:
    """What an earlier run was answered, question by question."""

    def __init__(self, store: Store, run: str) -> None:
        self.run = run
        self._answers: dict[str, tuple[Question, Answer, Answered]] = {}
        self._amendment = 0
        ask: Ask | None = None
        for entry in store.entries(run, kinds=("asked", "answered")):
            body, matter = entry.read(), entry.read_matter()
            if isinstance(body, Asked):
                ask = matter.ask
            elif isinstance(body, Answered) and ask is not None and not entry.pruned:
                self._take(ask, body, matter.answers or body.answers)
                self._amendment = body.amendment or self._amendment

    def _take(self, ask: Ask, body: Answered, answers: tuple[Answer, ...]) -> None:
        for answer in answers:
            key = answer.key
            for number in range(1, self._amendment + 1):
                key = keys.unamended(key, number)
            known = self._answers.get(key)
            question = known[0] if body.amends and known else ask.question(answer.key)
            if question is not None:
                self._answers[key] = (question, replace(answer, key=key), body)

    def fitting(self, ask: Ask, at: str) -> tuple[Answered, Reply] | None:
        """What was answered to the same questions before, each answer used once."""
        found = [
            self._answers.pop(question.key)
            for question in ask.questions
            if question.key in self._answers and self._fits(question)
        ]
        if not found:
            return None
        reply = Reply(tuple(answer for _, answer, _ in found))
        source = found[0][2]
        body = Answered(
            at=at,
            who=source.who,
            through=source.through,
            by=source.by,
            key=ask.key,
            answers=without_words(reply),
            origin=self.run,
        )
        return body, reply

    def _fits(self, question: Question) -> bool:
        """Whoever answered must have seen this question, and the options that they named."""
        before, answer, _ = self._answers[question.key]
        if before.text != question.text or before.multi != question.multi:
            return False
        if not answer.picked:
            return before.options == question.options
        options = {option.code: option for option in (*question.choices, *question.named)}
        earlier = {option.code: option for option in (*before.choices, *before.named)}
        return all(code in options and options[code] == earlier.get(code) for code in answer.picked)
