"""A form that came back from a page: what was ticked and typed, as a reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from quandary.desk.drafts import Draft
from quandary.model.asks import MORE, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quandary.model.asks import Answer, Ask, Question

OTHER = "\N{WHITE CIRCLE}"
"""What stands for Other in a form; no code looks like that."""
PICK, TEXT, COMMENT, SEEN = "pick", "text", "comment", "seen"
LONGEST_TEXT = 10_000

BOTH = "Choose an option or type your own words, not both: choose Other, or clear the box."
NOT_WITH_MORE = "“More…” shows further options: open it first, then type."
TOO_LONG = f"The text is too long; at most {LONGEST_TEXT:,} characters are allowed."


class Filled(NamedTuple):
    """What a form says, and what is wrong with its parts, by the number of the question."""

    reply: Reply
    problems: dict[int, str]


def field(kind: str, number: int) -> str:
    """The name of a field of the question at a place in the Ask."""
    return f"{kind}-{number}"


def filled(ask: Ask, fields: Mapping[str, list[str]]) -> Filled:
    """The answers in a form; a question that was left alone has none."""
    answers: list[Answer] = []
    problems: dict[int, str] = {}
    for number, question in enumerate(ask.questions):
        problem, answer = _answer(ask, question, fields, number)
        if problem:
            problems[number] = problem
        elif answer is not None:
            answers.append(answer)
    return Filled(Reply(tuple(answers)), problems)


def _answer(
    ask: Ask, question: Question, fields: Mapping[str, list[str]], number: int
) -> tuple[str, Answer | None]:
    picked = fields.get(field(PICK, number), [])
    draft = Draft(question, "plain" if ask.kind == "advisory" else "strict")
    draft.words = _joined(fields, TEXT, number)
    draft.comment = _joined(fields, COMMENT, number)
    if max(len(draft.words), len(draft.comment)) > LONGEST_TEXT:
        return TOO_LONG, None
    codes = [choice.code for choice in question.choices if choice.code in picked]
    draft.ticked = {code for code in codes if code != MORE}
    if not codes and not draft.words and OTHER not in picked:
        if not question.gathered or field(SEEN, number) not in fields:
            return "", None
        draft.at = 0  # what was ticked on earlier pages is the answer
    elif MORE in codes:
        if draft.words:
            return NOT_WITH_MORE, None
        draft.at = [choice.code for choice in question.choices].index(MORE)
    elif question.multi or not codes:
        draft.at = draft.other if draft.words or OTHER in picked else 0
    elif draft.words:
        return BOTH, None
    else:
        draft.at = [choice.code for choice in question.choices].index(codes[0])
    problem = draft.settle()
    return problem, draft.answer


def _joined(fields: Mapping[str, list[str]], kind: str, number: int) -> str:
    return "\n".join(fields.get(field(kind, number), [])).replace("\r\n", "\n").strip()
