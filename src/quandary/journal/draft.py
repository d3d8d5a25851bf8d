"""Entries about to be appended to a run, and the row that they lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from quandary.journal import entries as clock
from quandary.journal.entries import (
    EMPTY,
    Answered,
    AnyBody,
    Asked,
    Called,
    Ended,
    Entry,
    Matter,
    Noted,
    Returned,
    Who,
    offered,
    seal_entry,
    stamp,
    without_words,
)
from quandary.model.ask import Ask, Note, Question, Reply
from quandary.model.call import Do, Done, Output

if TYPE_CHECKING:
    from quandary.journal.progress import Progress
    from quandary.journal.store import Run, Store, Waits


class Source(NamedTuple):
    """Who does something, through what, and under which name."""

    who: Who
    through: str
    by: str

    @property
    def in_person(self) -> bool:
        """Whether it is a person's own hand, not something that was passed on or scripted."""
        return self.who == "person" and self.through in ("terminal", "web")


class Draft:
    """What is about to be appended to a run, and the row that it leads to."""

    def __init__(self, run: Run, source: Source) -> None:
        self.run = run
        self.source = source
        self.at = stamp(clock.now())
        self.parts: list[tuple[AnyBody, Matter]] = []
        self.decided: list[tuple[Question, str]] = []
        """Questions that a preference decided, and what to say about it."""

    @property
    def said(self) -> dict[str, Any]:
        """What every body says."""
        who, through, by = self.source
        return {"at": self.at, "who": who, "through": through, "by": by}

    @property
    def n(self) -> int:
        """The number of the last entry so far."""
        return self.run.n + len(self.parts)

    def add(self, body: AnyBody, matter: Matter = EMPTY) -> None:
        """One more entry."""
        self.parts.append((body, matter))

    def answer(
        self,
        reply: Reply,
        key: str,
        *,
        amends: int = 0,
        amendment: int = 0,
        why: str = "",
        token: str = "",
        request: str = "",
    ) -> None:
        """Book a reply: its codes in the body, its words in the matter."""
        answers = without_words(reply)
        spoken = () if answers == reply.answers else reply.answers
        matter = EMPTY
        if spoken or why or request:
            matter = Matter(answers=spoken, why=why, request=request)
        body = Answered(
            key=key,
            answers=answers,
            amends=amends,
            amendment=amendment,
            token=token,
            **self.said,
        )
        self.add(body, matter)

    def decide(self, ask: Ask, reply: Reply) -> None:
        """Book what a preference answered; whoever reads the state is told."""
        source, self.source = self.source, Source("policy", "preference", "")
        self.answer(reply, ask.key)
        for answer in reply.answers:
            question = ask.question(answer.key)
            if question is not None:
                labels = [
                    choice.label for choice in question.choices if choice.code in answer.picked
                ]
                text = f"Decided by your preference for {question.id}: {', '.join(labels)}"
                self.decided.append((question, text))
        self.source = source

    def tell_decided(self) -> None:
        """Book what is to be told beside what waits now, or beside the end."""
        for question, text in self.decided:
            said = {**self.said, "who": "policy", "through": "preference", "by": ""}
            noted = Noted(kind="decided", key=question.key, item=question.item, **said)
            self.add(noted, Matter(text=text))

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is to be told of what a preference decided."""
        return tuple(Note("decided", text, question.item) for question, text in self.decided)

    def came(self, response: Output | Done) -> None:
        """Book what a program or a deed gave back."""
        self.add(
            Returned(key=response.key, ok=not response.error, **self.said), Matter(came=response)
        )

    def stand(self, progress: Progress) -> None:
        """Book where the flow stands now: what waits, or how it ended."""
        request = progress.request
        if request is None:
            error = progress.error
            status: clock.End = "done" if error is None else "failed"
            matter = Matter(result=progress.result, error=error or "")
            self.add(Ended(status=status, **self.said), matter)
            self._move(None, None, status=status)
        elif isinstance(request, Ask):
            codes = {question.key: offered(question) for question in request.questions}
            self._move("person", request.key)
            self.add(
                Asked(
                    key=request.key,
                    offered=codes,
                    assignment=request.assignment,
                    **self.said,
                ),
                Matter(ask=request),
            )
        elif isinstance(request, Do):
            self._move("house", request.key)
            self.add(Called(key=request.key, deed=request.deed, **self.said), Matter(sent=request))
        else:
            calls = progress.calls
            self._move("agent", calls[0].key)
            for call in calls:
                self.add(
                    Called(
                        key=call.key,
                        agent=call.agent,
                        assignment=call.assignment,
                        **self.said,
                    ),
                    Matter(sent=call),
                )

    def end(self, status: clock.End, why: str = "") -> None:
        """Book an end that is not the flow's own."""
        self.add(Ended(status=status, **self.said), Matter(error=why) if why else EMPTY)
        self._move(None, None, status=status)

    def _move(self, waits: Waits | None, key: str | None, status: clock.Status = "waiting") -> None:
        asked = self.n + 1 if waits else 0
        self.run = replace(
            self.run, waits=waits, key=key, asked=asked, status=status, since=self.at
        )

    def seal(self, previous: bytes) -> tuple[Run, list[Entry]]:
        """The entries, each sealed to the one before, and the row."""
        run, entries = self.run, []
        for number, (body, matter) in enumerate(self.parts, run.n + 1):
            entry = seal_entry(run.id, number, previous, body, matter)
            entries.append(entry)
            previous = entry.digest
        first = run.first or entries[0].digest
        return replace(run, n=entries[-1].n, head=previous, first=first), entries

    def append(self, store: Store) -> Run:
        """Write it down, unless somebody else wrote first."""
        run, entries = self.seal(self.run.head)
        store.append(run, entries, seen=self.run.n)
        return run
