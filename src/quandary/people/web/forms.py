"""A form that came back from a page: what was ticked and typed, as a reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.model.ask import Answer, Reply
from quandary.people.reading import read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quandary.model.ask import Ask, Question

OTHER = "\N{WHITE CIRCLE}"
"""What stands for Other in a form; no code looks like that."""
PICK, TEXT, COMMENT = "pick", "text", "comment"


def field(kind: str, number: int) -> str:
    """The name of a field of the question at a place in the Ask."""
    return f"{kind}-{number}"


def reply_from(ask: Ask, fields: Mapping[str, list[str]]) -> Reply:
    """The answers in a form; a question that was left alone has none."""
    answers = []
    for number, question in enumerate(ask.questions):
        picked = fields.get(field(PICK, number), [])
        text = "\n".join(fields.get(field(TEXT, number), [])).strip()
        comment = "\n".join(fields.get(field(COMMENT, number), [])).strip() or None
        answer = _answer(ask, question, picked, text, comment)
        if answer is not None:
            answers.append(answer)
    return Reply(tuple(answers))


def _answer(
    ask: Ask, question: Question, picked: list[str], text: str, comment: str | None
) -> Answer | None:
    known = {choice.code for choice in question.choices}
    codes = tuple(dict.fromkeys(code for code in picked if code in known))
    if text:
        typed = read(text, question, "plain" if ask.kind == "advisory" else "strict").answer(
            question.key, text
        )
        if codes and question.multi and typed.picked:
            every = tuple(dict.fromkeys((*codes, *typed.picked)))
            return Answer(question.key, every, comment=comment or typed.comment, raw=text)
        if codes and question.multi and typed.text:
            return Answer(question.key, codes, text=typed.text, comment=comment, raw=text)
        return typed
    if codes:
        return Answer(question.key, codes, comment=comment)
    return Answer(question.key) if OTHER in picked else None
