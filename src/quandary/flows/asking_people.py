"""A person in an agent's place: a step of a chart put before them as a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from quandary.flows.paging import paged
from quandary.flows.wording import summary
from quandary.model import keys, question_ids
from quandary.model.ask import MORE, Ask, Choice, Note, Preamble, Question, Reply
from quandary.model.response import Decision, Process

if TYPE_CHECKING:
    from collections.abc import Generator

    from quandary.flows import Request, Response
    from quandary.flows.planning import Planned
    from quandary.model.ask import Answer, Item, Limits
    from quandary.model.chart import Chart

    Steps = Generator[Request, Response, Any]

DONE, NOT_DONE = "DONE", "NOT"
ACCEPT, AGAIN, REJECT = "ACC", "AGN", "REJ"
STOP = "STP"


class _Around(Protocol):
    @property
    def chart(self) -> Chart: ...
    @property
    def item(self) -> Item: ...
    @property
    def limits(self) -> Limits: ...


class Asking(Protocol):
    """The visit that has something to ask."""

    plan: Planned
    task: str
    prefix: str
    visit: int
    critiques: list[str]

    @property
    def terms(self) -> _Around:
        """The walk that it is part of."""


def do(visit: Asking, name: str) -> Steps:
    """Have a person do the step or choose the route, in the form in which an agent answers."""
    plan = visit.plan
    if plan.routes:
        choices = tuple(Choice(code, label) for code, label in _codes(plan.routes).items())
        answer = yield from _asked(visit, name, choices, "Which way?")
        route = _codes(plan.routes)[answer.picked[0]]
        return route, Decision(route, plan.routes, answer.comment or "", route), ""
    choices = (
        Choice(DONE, "Done", "The step is finished"),
        Choice(NOT_DONE, "Cannot be done", "Say why under Other, or go on without a reason"),
    )
    answer = yield from _asked(visit, name, choices, "Is it done?", own_words=True)
    said = (answer.text or answer.comment or "").strip()
    if NOT_DONE in answer.picked:
        return said, Process(completed=False, comments=said), said or "It cannot be done."
    return said or "Done.", Process(completed=True, comments=said), ""


def judge(visit: Asking, name: str, output: str) -> Steps:
    """Have a person judge the work: nothing if it passes, else a critique and whether to go on."""
    choices = (
        Choice(ACCEPT, "Accept", "Nothing is missing or wrong"),
        Choice(AGAIN, "Try again", "Say under Other what is missing"),
        Choice(REJECT, "Give up", "Another attempt would be in vain"),
    )
    shown = f"What was handed in:\n\n{output.strip() or '(nothing)'}"
    answer = yield from _asked(visit, name, choices, "Is it good?", shown, own_words=True)
    said = (answer.text or answer.comment or "").strip()
    if ACCEPT in answer.picked:
        return None
    return said or "A person was not content with it.", REJECT not in answer.picked


def again(visit: Asking, name: str) -> Steps:
    """Ask whether a call that was interrupted is to be made again."""
    choices = (
        Choice(AGAIN, "Make it again", "It counts as one attempt"),
        Choice(STOP, "Stop here", "The run ends; what was done is kept"),
    )
    shown = "A call of this step was interrupted, and nobody knows what it had done by then."
    answer = yield from _asked(visit, name, choices, "Make it again?", shown)
    return AGAIN in answer.picked


def _codes(routes: tuple[str, ...]) -> dict[str, str]:
    """Codes for routes: their words where these differ, numbered where they do not."""
    found: dict[str, str] = {}
    for number, route in enumerate(routes, 1):
        code = question_ids.slug(route).upper()[:12].strip("-")
        found[code if code and code not in found else f"{code or 'WAY'}-{number}"] = route
    return found


def _asked(
    visit: Asking,
    name: str,
    choices: tuple[Choice, ...],
    ending: str,
    shown: str = "",
    *,
    own_words: bool = False,
) -> Steps:
    """Ask until there is an answer: one of the choices, or own words where those will do."""
    base = f"{visit.prefix}{keys.visit(visit.plan.id, visit.visit, name)}"
    page, turn, why = 0, 1, ""
    while True:
        question = _question(visit, keys.turn(base, turn), choices, page, ending)
        preamble = Preamble(_context(visit, shown), why=why)
        notes = (Note("refused", why),) if why else ()
        reply = yield Ask(question.key, "transition", preamble, (question,), notes)
        if not isinstance(reply, Reply):
            raise TypeError("an Ask is answered with a Reply")
        answer = reply.to(question.key)
        turn += 1
        if answer is not None and MORE in answer.picked:
            page, why = page + 1, ""
        elif answer is not None and _settles(answer, own_words=own_words):
            return answer
        else:
            page, why = 0, _why_not(answer)


def _settles(answer: Answer, *, own_words: bool) -> bool:
    if answer.prefix or answer.extra or answer.tree or answer.advice or answer.among:
        return False
    return len(answer.picked) == 1 or (own_words and bool((answer.text or "").strip()))


def _why_not(answer: Answer | None) -> str:
    if answer is None:
        return "It has no answer yet."
    if answer.advice:
        return answer.advice
    if answer.among:
        return f"“{answer.text}” fits more than one choice. Which is meant?"
    return "One of the choices has to be taken here."


def _question(
    visit: Asking, key: str, choices: tuple[Choice, ...], page: int, ending: str
) -> Question:
    plan, terms = visit.plan, visit.terms
    shown = tuple(paged(choices, page, terms.limits.options))
    title = terms.item.title or terms.item.label or terms.item.id
    return Question(
        key=key,
        header=plan.name[:20],
        text=f"{summary(visit.task) or plan.name} {ending}",
        choices=shown,
        item=terms.item.id,
        title=f"{title}: {plan.name}",
        named=tuple(choice for choice in choices if choice not in shown),
        id=question_ids.joined(terms.chart.name, plan.name),
    )


def _context(visit: Asking, shown: str) -> str:
    terms = visit.terms
    item = terms.item
    about = item.title or item.label
    parts = [
        f"**{terms.chart.name}**, step “{visit.plan.name}”" + (f", for {about}" if about else "")
    ]
    parts += [item.context] if item.context else []
    parts.append(visit.task)
    parts += [shown] if shown else []
    parts += [f"Feedback so far:\n\n{visit.critiques[-1]}"] if visit.critiques else []
    return "\n\n".join(parts)
