"""What an agent or a person was asked and what came back, read out of two entries of a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from quandary.agents.story import Exchange
from quandary.flows.asking_people import ACCEPT, AGAIN, NOT_DONE, REJECT
from quandary.flows.at_step import tokens_of
from quandary.flows.prompting import critique_of
from quandary.flows.responding import heard
from quandary.model.ask import MORE
from quandary.model.call import HUMAN, Call, Output
from quandary.model.response import Decision, Process, Validation

if TYPE_CHECKING:
    from quandary.agents.story import Role
    from quandary.journal.entries import Answered, Asked, Called, Matter, Returned
    from quandary.model.ask import Answer, Ask, Question


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
    meaning, problem = heard(call or Call(output.key, "", "", before.expects), output)
    return replace(
        after,
        output=output.text,
        meaning=meaning,
        problem=_problem(meaning) if meaning is not None else problem,
        stderr=output.stderr,
        status=output.status,
        seconds=output.seconds,
        tokens=tokens_of(output),
        timed_out=output.timed_out,
        interrupted=output.interrupted,
        truncated=output.truncated,
        route=(meaning.route or meaning.answer) if isinstance(meaning, Decision) else "",
        accepted=_accepted(meaning),
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
    before: Exchange, ask: Ask | None, body: Answered, matter: Matter, *, decides: bool
) -> Exchange:
    """The same question with its answer; whether it chooses a way is known by its step."""
    answer = next(iter(matter.answers or body.answers), None)
    question = ask.question(answer.key) if ask is not None and answer is not None else None
    after = _open(before, body)
    if answer is None or answer.advice or answer.prefix or answer.extra or answer.among:
        return replace(after, output=_said(answer) or None)
    labels = _labels(answer, question)
    said = _said(answer)
    after = replace(after, picked=answer.picked, output=": ".join(filter(None, (labels, said))))
    if MORE in answer.picked:
        return after
    if decides and before.role != "again":
        known = question is not None and len(answer.picked) == 1
        chosen = bool(answer.picked)
        return replace(after, route=labels if known else "", accepted=chosen or None)
    accepted = _settled(before.role, answer)
    problem = "" if accepted or accepted is None else said or labels
    return replace(after, accepted=accepted, problem=problem, retry=REJECT not in answer.picked)


def _open(before: Exchange, body: Answered | Returned) -> Exchange:
    """What was asked, with whoever answered now; an answer that was there before is forgotten."""
    return Exchange(
        key=before.key,
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


def _settled(role: Role, answer: Answer) -> bool | None:
    """Whether a person's answer accepts: the work, or that it is made again, or that it is done."""
    if not answer.picked and not (answer.text or "").strip():
        return None
    if role == "check":
        return ACCEPT in answer.picked
    return AGAIN in answer.picked if role == "again" else NOT_DONE not in answer.picked


def _accepted(meaning: object) -> bool:
    if isinstance(meaning, Process):
        return meaning.completed
    if isinstance(meaning, Validation):
        return meaning.fully_completed
    return meaning is not None


def _problem(meaning: object) -> str:
    """What a response that could be read says against the work."""
    if isinstance(meaning, Process) and not meaning.completed:
        return meaning.comments.strip() or "It was not completed."
    if isinstance(meaning, Validation) and not meaning.fully_completed:
        return critique_of(meaning)
    return ""


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
    known |= {choice.code: choice.label for choice in question.choices} if question else {}
    return ", ".join(known.get(code, code) for code in answer.picked)


def _said(answer: Answer | None) -> str:
    if answer is None:
        return ""
    raw = "" if answer.picked else answer.raw
    return (answer.text or answer.comment or answer.advice or raw or "").strip()
