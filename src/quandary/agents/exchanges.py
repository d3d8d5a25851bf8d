"""What an agent or a person was asked and what came back, read out of two entries of a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from msgspec.structs import replace

from quandary.agents.story import Exchange
from quandary.flows.asking_people import ACCEPT, AGAIN, DONE, REJECT, route_codes
from quandary.flows.at_step import meant, tokens_of
from quandary.flows.prompting import critique_of
from quandary.model.ask import MORE
from quandary.model.call import HUMAN, Call, Output
from quandary.model.response import Decision, Validation

if TYPE_CHECKING:
    from quandary.journal.entries import Answered, Asked, Called, Matter, Returned
    from quandary.model.ask import Answer, Ask, Question
    from quandary.model.call import Role


def called(body: Called, matter: Matter) -> Exchange:
    """A call that was made."""
    sent = matter.sent if isinstance(matter.sent, Call) else None
    return Exchange(
        key=body.key,
        agent=body.agent,
        expects=sent.expects if sent else None,
        prompt=sent.prompt if sent else None,
        asked=body.at,
        pruned=sent is None,
    )


def returned(before: Exchange, call: Call | None, body: Returned, matter: Matter) -> Exchange:
    """The same call with its output."""
    after = _open(before, body)
    output = matter.came
    if not isinstance(output, Output):
        return replace(after, pruned=True, accepted=None if body.ok else False)
    routes = call.routes if call is not None else ()
    _, meaning, problem, _ = meant(output, before.expects or "process", routes)
    return replace(
        after,
        output=output.text,
        meaning=meaning,
        problem=critique_of(meaning) if _faulty(meaning) else problem,
        stderr=output.stderr,
        status=output.status,
        seconds=output.seconds,
        tokens=tokens_of(output),
        timed_out=output.timed_out,
        interrupted=output.interrupted,
        truncated=output.truncated,
        route=(meaning.route or meaning.answer) if isinstance(meaning, Decision) else "",
        accepted=meaning is not None and not _faulty(meaning),
        retry=not isinstance(meaning, Validation) or meaning.should_retry,
    )


def asked(body: Asked, matter: Matter) -> Exchange:
    """A question that was put before a person."""
    return Exchange(
        key=body.key,
        agent=HUMAN,
        prompt=_shown(matter.ask) if matter.ask else None,
        asked=body.at,
        pruned=matter.ask is None,
    )


def answered(
    before: Exchange, ask: Ask | None, body: Answered, matter: Matter, routes: tuple[str, ...]
) -> Exchange:
    """The same question with its answer; it chooses a way where its step has several."""
    after = _open(before, body)
    answer = next(iter(matter.answers or body.answers), None)
    if answer is None:
        return after
    question = ask.question(answer.key) if ask is not None else None
    labels, said = _labels(answer, question), _said(answer)
    after = replace(after, picked=answer.picked, output=": ".join(filter(None, (labels, said))))
    code = _code(answer, question)
    if not code:
        return after
    if routes and before.role != "again":
        route = route_codes(routes).get(code, "")
        return replace(after, route=route, accepted=True if route else None)
    accepted = code in (DONE, ACCEPT, AGAIN) and not (before.role == "check" and code == AGAIN)
    problem = "" if accepted else said or labels
    return replace(after, accepted=accepted, problem=problem, retry=code != REJECT)


def _code(answer: Answer, question: Question | None) -> str:
    """The choice that an answer makes; nothing where it is none, and the question comes again."""
    if answer.prefix == "force" and question is not None:
        wanted = answer.argument.strip().casefold()
        codes = (choice.code for choice in question.options)
        return next((code for code in codes if code.casefold() == wanted), "")
    beside = answer.prefix or answer.extra or answer.tree or answer.advice or answer.among
    if beside or len(answer.picked) != 1 or (answer.text or "").strip():
        return ""
    return answer.picked[0] if answer.picked[0] != MORE else ""


def _open(before: Exchange, body: Answered | Returned) -> Exchange:
    """What was asked, with whoever answered now; an answer that was there before is forgotten."""
    return Exchange(
        key=before.key,
        name=before.name,
        role=before.role,
        agent=before.agent,
        expects=before.expects,
        prompt=before.prompt,
        asked=before.asked,
        answered=body.at,
        who=body.who,
        through=body.through,
        by=body.by,
        pruned=before.pruned,
    )


def role_of(name: str) -> Role:
    """What something was asked for, by the name that it has at its step."""
    if "-interrupted" in name:
        return "again"
    if name.startswith("validate-"):
        return "check"
    if name.startswith("vote-"):
        return "vote"
    return "tie" if name == "tie" else "work"


def _faulty(meaning: object) -> TypeGuard[Validation]:
    """A judgement that could be read and is against the work."""
    return isinstance(meaning, Validation) and not meaning.fully_completed


def _shown(ask: Ask) -> str:
    """What the person saw."""
    parts = [ask.preamble.text.strip()]
    for question in ask.questions:
        choices = "\n".join(f"- {choice.shown}" for choice in question.choices)
        parts += [question.text, choices]
    return "\n\n".join(filter(None, parts))


def _labels(answer: Answer, question: Question | None) -> str:
    """What was chosen, in the words that were shown; in codes where those are gone."""
    known = {choice.code: choice.label for choice in question.options} if question else {}
    known[MORE] = "More…"
    return ", ".join(known.get(code, code) for code in answer.picked)


def _said(answer: Answer) -> str:
    """The words of an answer, beside or in place of a choice."""
    raw = "" if answer.picked else answer.raw
    return (answer.text or answer.comment or answer.advice or raw or "").strip()
