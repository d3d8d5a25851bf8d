"""Answers of an earlier run, of people and of agents, for a new run that asks the same again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from quandary.journal.entries import Answered, Asked, Called, Noted, Returned, without_words
from quandary.model import keys
from quandary.model.ask import Answer, Ask, Question, Reply
from quandary.model.call import Call, Output

if TYPE_CHECKING:
    from quandary.journal.entries import Kind
    from quandary.journal.store import Store

EARLIER = "earlier"
"""What an entry says that came from another run; `by` is that run."""


class Earlier:
    """What an earlier run was answered, question by question."""

    def __init__(self, store: Store, run: str) -> None:
        self.run = run
        self._answers: dict[str, tuple[Question, Answer, Answered]] = {}
        self._outputs: dict[tuple[object, ...], list[Output]] = {}
        self._amendment = 0
        ask: Ask | None = None
        sent: dict[str, Call] = {}
        kinds: tuple[Kind, ...] = ("asked", "answered", "called", "returned", "noted")
        for entry in store.entries(run, kinds=kinds):
            body, matter = entry.read(), entry.read_matter()
            if isinstance(body, Asked):
                ask = matter.ask
            elif isinstance(body, Called) and isinstance(matter.sent, Call):
                sent[body.key] = matter.sent
            elif isinstance(body, Returned) and isinstance(matter.came, Output):
                self._keep(sent.get(body.key), matter.came)
            elif isinstance(body, Answered) and ask is not None and not entry.pruned:
                self._take(ask, body, matter.answers or body.answers)
                self._amendment = body.amendment or self._amendment
            elif isinstance(body, Noted):
                for key in body.takes_back:
                    self._answers.pop(self._plain(key), None)
                self._amendment = body.amendment or self._amendment

    def _plain(self, key: str) -> str:
        """A key without the numbers of amendments."""
        for number in range(1, self._amendment + 1):
            key = keys.unamended(key, number)
        return key

    def _take(self, ask: Ask, body: Answered, answers: tuple[Answer, ...]) -> None:
        for answer in answers:
            key = self._plain(answer.key)
            known = self._answers.get(key)
            question = known[0] if body.amends and known else ask.question(answer.key)
            if question is not None:
                self._answers[key] = (question, replace(answer, key=key), body)

    def _keep(self, call: Call | None, output: Output) -> None:
        """Only what could be used is worth being used again."""
        if call is not None and not output.error and not output.problem:
            self._outputs.setdefault(_asked(call), []).append(output)

    def output(self, call: Call) -> Output | None:
        """What the same agent gave back for the same prompt; each output is used once."""
        found = self._outputs.get(_asked(call))
        return replace(found.pop(0), key=call.key) if found else None

    def returned(self, output: Output, at: str) -> Returned:
        """The entry that says where an output came from."""
        return Returned(key=output.key, at=at, who="agent", through=EARLIER, by=self.run)

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


def _asked(call: Call) -> tuple[object, ...]:
    """What makes two calls the same, wherever in a run they are made."""
    return call.agent, call.prompt, call.expects, call.routes
