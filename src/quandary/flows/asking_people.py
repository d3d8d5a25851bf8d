"""A person in an agent's place: a step of a chart put before them as a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from quandary.flows.asking import Chosen, Inquiry
from quandary.flows.wording import summary
from quandary.model import keys, question_ids
from quandary.model.ask import Choice, Item
from quandary.model.response import Decision, Process

if TYPE_CHECKING:
    from collections.abc import Generator

    from quandary.flows import Request, Response
    from quandary.flows.at_step import Visit
    from quandary.flows.walk_terms import Terms
    from quandary.model.call import Role
    from quandary.model.response import Meaning

DONE, NOT_DONE = "DONE", "NOT"
ACCEPT, AGAIN, REJECT = "ACC", "AGN", "REJ"
STOP = "STP"
LONGEST_SHOWN = 20_000
"""Characters of a text that a person is shown; nobody reads more before an answer."""
_LONGEST_CODE = 12


class Tried(NamedTuple):
    """What came of an attempt."""

    said: str = ""
    meaning: Meaning | None = None
    problem: str = ""
    """Why it does not count."""
    again: bool = True
    """Whether another attempt may be worth it."""


class Verdict(NamedTuple):
    """What was held against a piece of work, and whether another attempt may be worth it."""

    critique: str
    again: bool


def context(terms: Terms) -> str:
    """What everybody who is asked in this run should know."""
    about = terms.item.title or terms.item.label
    head = f"**{terms.chart.name}**" + (f", for {about}" if about else "")
    return "\n\n".join(filter(None, (head, shown(terms.item.context))))


def choose(
    visit: Visit, name: str, role: Role, why: str = ""
) -> Generator[Request, Response, Decision]:
    """Have a person choose the way. Words that name none are kept as their reasons."""
    plan = visit.plan
    codes = route_codes(plan.routes)
    targets = dict(zip(codes, plan.targets, strict=True))
    choices = (Choice(code, label, f"On to: {targets[code]}") for code, label in codes.items())
    chosen, words = yield from _ask(visit, name, role, tuple(choices), "Which way?", why)
    route = codes[chosen.code]
    return Decision(route, plan.routes, words, route)


def do(visit: Visit, name: str) -> Generator[Request, Response, Tried]:
    """Have a person do the step; what they write beside their choice is what they hand in."""
    choices = (
        Choice(DONE, "Done", "The step is finished; what you write under Other is handed on"),
        Choice(NOT_DONE, "Cannot be done", "It is given up; say why under Other"),
    )
    chosen, words = yield from _ask(visit, name, "work", choices, "Is it done?")
    if chosen.code == DONE:
        return Tried(words or "Done.", Process(completed=True, comments=words))
    return Tried(words, None, words or "It cannot be done.", again=False)


def judge(visit: Visit, name: str, work: str) -> Generator[Request, Response, Verdict | None]:
    """Have a person judge the work: nothing if it passes."""
    choices = (
        Choice(ACCEPT, "Accept", "Nothing is missing or wrong"),
        Choice(AGAIN, "Try again", "Say under Other what is missing"),
        Choice(REJECT, "Give up", "Another attempt would be in vain"),
    )
    handed_in = f"What was handed in:\n\n{shown(work) or '(nothing)'}"
    chosen, words = yield from _ask(visit, name, "check", choices, "Is it good?", block=handed_in)
    if chosen.code == ACCEPT:
        return None
    return Verdict(words or "A person was not content with it.", chosen.code == AGAIN)


def again(visit: Visit, name: str, showing: int) -> Generator[Request, Response, bool]:
    """Ask whether a call that was interrupted is to be made again."""
    choices = (
        Choice(AGAIN, "Make it again", "It counts as one more attempt"),
        Choice(STOP, "Stop here", "The run ends; what was done is kept"),
    )
    why = "A call of this step was interrupted, and nobody knows what it had done by then."
    chosen, _ = yield from _ask(
        visit,
        f"{name}-interrupted",
        "again",
        choices,
        "Make it again?",
        why,
        key=visit.key(f"{keys.turn(name, showing)}-interrupted"),
    )
    return chosen.code == AGAIN


def route_codes(routes: tuple[str, ...]) -> dict[str, str]:
    """Codes for routes: their words where these differ, numbered where they do not."""
    found: dict[str, str] = {}
    for route in routes:
        word = question_ids.slug(route).upper()[:_LONGEST_CODE].strip("-") or "WAY"
        code, number = word, 1
        while code in found:
            number += 1
            code = f"{word}-{number}"
        found[code] = route
    return found


def shown(text: str) -> str:
    """As much of a text as a person is shown."""
    text = text.strip()
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[:LONGEST_SHOWN]}\n\n(and {len(text) - LONGEST_SHOWN:,} characters more)"


def _ask(
    visit: Visit,
    name: str,
    role: Role,
    choices: tuple[Choice, ...],
    ending: str,
    why: str = "",
    block: str = "",
    key: str = "",
) -> Generator[Request, Response, tuple[Chosen, str]]:
    """Ask until one of the choices is taken; also what was said on the way to it.

    Own words alone settle nothing: “not yet” and “it is in the file” look the same from here.
    """
    plan, terms, chooser = visit.plan, visit.terms, visit.chooser
    item = terms.item.id
    comments = chooser.remarks_on(item).comments
    before = len(comments)
    feedback = f"Feedback so far:\n\n{shown(visit.critiques[-1])}" if visit.critiques else ""
    step = f"Step “{plan.name}”:\n\n{shown(visit.task)}"
    inquiry = Inquiry(
        key=key or visit.key(name),
        label=plan.name,
        text=summary(shown(visit.task)) or plan.name,
        asked=ending,
        choices=choices,
        id=question_ids.joined(terms.chart.name, plan.name),
        item=Item(item, title=f"{terms.about}: {plan.name}"),
        blocks=tuple(filter(None, (step, block, feedback))),
        why=why,
        chain=False,
        assignment=visit.assign(name, role),
    )
    chosen = yield from chooser.inquire(inquiry)
    return chosen, "\n".join(comments[before:])
