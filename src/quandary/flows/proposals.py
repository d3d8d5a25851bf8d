"""Proposals: what somebody who understands them thinks that a person's words mean.

A proposal is never an answer. The person is asked whether it is what they meant, and until they
have said so nothing is chosen. Where they say no, their words count as they were read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from quandary.model.asks import Answer, Choice, Question
from quandary.model.text import shorten

if TYPE_CHECKING:
    from quandary.model.asks import Hand

YES, NO = "YES", "NO"
EMPTY = "Other was left empty; choose Yes or No, or say what you mean."
UNCLEAR = "“{}” is neither Yes nor No, so here is the question again."
LONGEST_WORDS = 200


class Proposal(NamedTuple):
    """What somebody thinks that a reply means."""

    answer: Answer
    """The reply as it was read, which counts where the proposal is declined."""
    codes: tuple[str, ...]
    by: str
    """Who proposes it."""
    hand: Hand | None
    """Whose the reply was."""

    @property
    def why(self) -> str:
        """Why the person is asked about it."""
        return f"Proposed by {self.by}; it counts only if you say Yes."

    @property
    def refusal(self) -> str:
        """What in the words speaks against it; nothing where it can be asked about."""
        barred = self.answer.barred
        return "; ".join(dict.fromkeys(barred[code] for code in self.codes if code in barred))

    def tell(self, outcome: str, **more: str) -> dict[str, str]:
        """What was proposed and what became of it, as results say it."""
        words, codes = self.answer.text or "", ",".join(self.codes)
        told = {"words": words, "proposed": codes, "proposedBy": self.by, "outcome": outcome}
        return told | more


def tell_hand(hand: Hand | None) -> str:
    """A hand in words."""
    return f"{hand[0]} ({hand[1]})" if hand else "somebody"


def confirm(question: Question, proposal: Proposal, *, own_words: bool) -> Question:
    """The question whether a proposal is what was meant; where that is for good, it says so.

    The options of the question are still understood, but for those that look like Yes or No.
    """
    from quandary.model.one_way import one_way  # noqa: PLC0415 - most replies are clear

    labels = {choice.code: choice.label for choice in question.options}
    told = {c.code: c.description for c in question.options if c.code in proposal.codes}
    label, description = ", ".join(labels[code] for code in told), " ".join(told.values()).strip()
    lasts = ""
    if found := one_way(label, *told.values()):
        lasts = f"This cannot be taken back ({found}): {description or label}".rstrip(".") + "."
    elif found := one_way(question.text):
        lasts = f"The question is about what cannot be taken back ({found})."
    kept = "What you wrote is kept as your own words" if own_words else "The question comes again"
    fits = " or ".join(labels[code] for code in proposal.answer.among)
    words = shorten(" ".join((proposal.answer.text or "").split()), LONGEST_WORDS)
    asked = f"You wrote “{words}”; is that *{label}*?"
    yes = Choice(YES, "Yes", lasts or description or label)
    no = Choice(NO, "No", f"You are asked which one you mean: {fits}" if fits else kept)
    return Question(
        key=question.key,
        header=question.header,
        text=" ".join(filter(None, (question.text, lasts, asked))),
        choices=(yes, no),
        item=question.item,
        title=question.title,
        named=tuple(c for c in question.options if not {c.code, c.label.upper()} & {YES, NO}),
        above=question.above,
        root=question.root,
        chain=question.chain,
        confirms=True,
    )


def close(proposal: Proposal, answer: Answer) -> tuple[str, Answer]:
    """What became of a proposal, and what counts then: it, the words, or what is said instead."""
    words = proposal.answer
    comment = "\n".join(filter(None, (words.comment, answer.comment))) or None
    if YES in answer.picked:
        picked = (*words.picked, *proposal.codes)
        return "confirmed", replace(words, picked=picked, text=None, among=(), comment=comment)
    if NO in answer.picked:
        return "declined", replace(words, comment=comment)
    said = "\n".join(filter(None, (words.text, comment)))
    return "replaced", replace(answer, comment=said)
