"""The end of a phase: a person lets the work go on, sends it back, or says something else.

The menu is a decision tree like any other. What was chosen is done by the house as a deed, which
holds it to the rules of the track; free text never moves anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.errors import QuandaryError, Rejected
from quandary.flows import decide, gate_menu, wording
from quandary.flows.gate_menu import (
    AHEAD,
    BACK,
    CUSTOM,
    EXTRAS,
    OUTPUT,
    PLAN_REVIEW,
    PROCEED,
    RESTART,
    SKIP,
    SPENT,
    WALK,
    Custom,
    Terms,
)
from quandary.flows.places import Record
from quandary.model import keys
from quandary.model.asks import Answer, Ask, Choice, Item, Limits, Note, Preamble, Question, Reply
from quandary.model.calls import Do, Done
from quandary.model.track import Field, Move, Phase, Track, shown
from quandary.model.tree import OTHER

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from quandary.flows import Flow, Request, Response

    Result = dict[str, Any]
    Steps = Generator[Request, Response, Result | None]
    from collections.abc import Generator

    from quandary.flows import Request, Response


VERSION = 1
PERSON = "Only a person can answer this, at a terminal (quandary next) or in the browser."


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's `began` describes."""
    return _flow(msgspec.convert(arguments, Terms))


def gate(
    track: Track,
    *,
    folder: str = "",
    seen: int = 0,
    since: str = "",
    custom: Custom | None = None,
    items: Sequence[Item] = (),
    require_person: bool = False,
    at_hand: bool = False,
    proof: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> Flow:
    """Ask whether the current phase may be left, and where to.

    The flow yields `move-phase` and `list-artifacts` deeds, which whoever drives it does.
    """
    terms = Terms(
        folder,
        track,
        seen,
        since,
        custom,
        tuple(items),
        "person" if require_person else "",
        at_hand,
        dict(proof or {}),
        limits or Limits(),
    )
    return _flow(terms)


def _flow(terms: Terms) -> Flow:
    if terms.track.current is None:
        first = terms.track.next
        begin = f"begin with quandary phase go DIR '{first.title}'" if first is not None else ""
        raise Rejected(f"no phase has begun; {begin}")
    if terms.custom is not None and not terms.custom.label.strip():
        raise QuandaryError("a custom action needs a label: 'Label | Description'")
    if not terms.context.strip():
        said = gate_menu.context(terms.folder or "The track", terms.track, terms.phase)
        terms = replace(terms, context=said)
    if terms.phase.approval == "person":
        terms = replace(terms, require="person")
    return _Gate(terms).flow()


class _Piece(NamedTuple):
    """Something to walk through."""

    item: Item
    digest: str
    """What it was like: a fingerprint of its content, or the id that the caller gave it."""


class _Gate:
    """One gate, from the first showing of its menu to what came of it."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.phase = terms.phase
        self.place = keys.place(self.phase.label)
        self.menu = gate_menu.menu(terms)
        name = self.phase.name or self.phase.label
        self.item = Item(self.phase.label, label=name, title=self.phase.title)
        self.asking = decide.Decider(
            decide.Terms(
                self.menu,
                terms.context,
                (self.item,),
                gate_menu.question(terms),
                EXTRAS,
                "transition",
                terms.limits,
                values=terms.values,
                require=terms.require,
            ),
            take_only=False,
        )
        self.prover = Prover(self.phase, terms.limits)
        self.proof = dict(terms.proof)
        self.typed: set[str] = set()
        self.reviews: dict[tuple[str, str], str] = {}
        self.turns: dict[str, int] = {}
        self.why = ""

    def flow(self) -> Flow:
        """The menu again and again, until something comes of it."""
        if not self.phase.gate and not self.terms.require:
            result = yield from self._forward()
            if result is not None:
                return result
        while True:
            if self.terms.require:
                self.asking.notes.append(Note("person", PERSON, self.item.id))
            path, label = yield from self._choose()
            result = yield from self._act(path, label)
            if result is not None:
                return result

    def _choose(self) -> Generator[Request, Response, tuple[str, str]]:
        """The path that was chosen, and its words."""
        record = self.asking.records[self.item.id] = Record(self.item)
        level = self.asking.level(self.item, why=self.why)
        self.why = ""
        yield from self.asking.settle([level])
        path = record.path(0)
        option = self.menu.decisions[0].find(path)
        return path, option.label if option is not None else ""

    def _act(self, path: str, label: str) -> Steps:
        """Do what was chosen; nothing comes back where the menu has to be shown again."""
        extra = next((e for e in EXTRAS if path == f"{OTHER}/smart:{e.text}"), None)
        if extra is not None:
            self.why = yield from self._answer(extra.letter)
        elif path == WALK:
            yield from self._review()
        elif path == PROCEED:
            return (yield from self._forward(label))
        elif path in (BACK, RESTART, SKIP):
            return (yield from self._elsewhere(path, label))
        elif (branch := gate_menu.turned(self.terms, path)) is not None:
            words = "went on to another branch"
            return (yield from self._move(branch, "proceed", words, label))
        else:
            return self._handed_over(path, label)
        return None

    def _elsewhere(self, path: str, label: str) -> Steps:
        """Back, ahead past a phase, or the same one anew; the choice is the approval."""
        track = self.terms.track
        target, choice, words = {
            BACK: (track.previous, "back", "went back to the phase before"),
            RESTART: (self.phase, "other", "restarted the current phase"),
            SKIP: (track.beyond, "other", "skipped ahead past one phase"),
        }[path]
        return (yield from self._move(target, choice, words, label))

    def _handed_over(self, path: str, label: str) -> Result:
        """What moves nothing: the custom action, or own words, handed to the caller as they are."""
        if path == CUSTOM:
            return self._result("custom", "handed the custom action over", text=label)
        kind, _, text = path.removeprefix(f"{OTHER}/").partition(":")
        if kind in ("custom", "smart"):
            return self._result("other", "handed the words to the caller", text=text)
        return self._result("other", "left the menu without choosing")

    # -- moving ----------------------------------------------------------------------------------

    def _forward(self, label: str = "") -> Steps:
        """Proceed, or finish where nothing follows; with no label, nobody was asked."""
        following = self.terms.track.next
        words = "went on to the next phase" if label else "passed on without a menu"
        if following is None:
            words = "finished the last phase"
        return (yield from self._move(following, "proceed", words, label))

    def _move(self, target: Phase | None, choice: str, words: str, label: str) -> Steps:
        """Have the house move the track; where it wants proof, get it or say what is missing."""
        terms = self.terms
        reason = f"chose “{label}” at the gate of {self.phase.title}" if label else ""
        while True:
            move = Move(
                terms.folder,
                self.phase.label,
                (target or self.phase).title,
                terms.seen,
                target is None,
                reason,
                self.proof,
                tuple(sorted(self.typed)),
                bool(label),
                terms.base,
            )
            told = yield from self._do("move", "move-phase", move.argument)
            lacking = told.get("lacking")
            if not lacking:
                return self._result(choice, words, target, told.get("proven", 0))
            problems = _problems(lacking)
            if not terms.at_hand:
                return self._unproven(choice, target, problems)
            due = tuple(field for field in self.phase.proof if field.name in problems)
            given = yield from self.prover.ask(due, problems)
            if given is None:
                self.why = "Nothing moved: the proof is incomplete."
                return None
            self.proof |= given
            self.typed |= given.keys()

    def _do(
        self, name: str, deed: Literal["list-artifacts", "move-phase"], argument: str
    ) -> Generator[Request, Response, dict[str, Any]]:
        self.turns[name] = self.turns.get(name, 0) + 1
        done = yield Do(keys.turn(f"{self.place}+{name}", self.turns[name]), deed, argument)
        if not isinstance(done, Done):
            raise TypeError("a deed is answered with what was done")
        if done.error:
            raise Rejected(done.error)
        told: dict[str, Any] = msgspec.json.decode(done.text or "{}")
        return told

    # -- looking ---------------------------------------------------------------------------------

    def _answer(self, letter: str) -> Generator[Request, Response, str]:
        """What the track itself says to one of the extras."""
        if letter == AHEAD.letter:
            return gate_menu.ahead(self.terms.track)
        found = yield from self._do("artifacts", "list-artifacts", self.terms.folder)
        if letter == OUTPUT.letter:
            return gate_menu.output(self.phase, found)
        assert letter == SPENT.letter  # noqa: S101 - there are three
        return gate_menu.spent(self.phase, self.terms.since, found.get("now", ""))

    def _review(self) -> Generator[Request, Response, None]:
        """Ask about every piece of work that was not judged as it is now."""
        pieces = yield from self._pieces()
        waiting = [p for p in pieces if (p.item.title, p.digest) not in self.reviews]
        if waiting:
            terms = replace(
                self.asking.terms,
                tree=PLAN_REVIEW,
                items=tuple(piece.item for piece in waiting),
                question="",
                extras=(),
                context=f"What {self.phase.title} has produced, piece by piece.",
            )
            self.turns["review"] = self.turns.get("review", 0) + 1
            key = keys.turn(self.place, self.turns["review"])
            prefix = keys.within(key, PLAN_REVIEW.name, "")
            result = yield from self.asking.run_inside(terms, prefix)
            for piece, chosen in zip(waiting, result["chosenItems"], strict=True):
                if not chosen["path"].startswith(f"{OTHER}/force:"):
                    self.reviews[piece.item.title, piece.digest] = chosen["path"]
        self.why = self._reviewed(pieces, len(waiting))

    def _pieces(self) -> Generator[Request, Response, list[_Piece]]:
        if self.terms.items:
            return [_Piece(_titled(item), item.id) for item in self.terms.items]
        found = yield from self._do("artifacts", "list-artifacts", self.terms.folder)
        pieces = []
        for number, one in enumerate(found.get("artifacts", []), 1):
            name = one["path"].rpartition("/")[2]
            item = Item(f"{self.phase.label}/{number}", name, one["path"], one["about"])
            pieces.append(_Piece(item, one["digest"]))
            if one.get("reviewed"):
                self.reviews.setdefault((item.title, one["digest"]), one["reviewed"])
        return pieces

    def _reviewed(self, pieces: list[_Piece], asked: int) -> str:
        if not pieces:
            return "There is nothing to walk through yet."
        paths = [self.reviews.get((p.item.title, p.digest), "no answer") for p in pieces]
        said = [f"- {p.item.title}: {path}" for p, path in zip(pieces, paths, strict=True)]
        head = "That was everything" if asked else "Everything was reviewed before"
        return "\n".join([f"{head}. The answers:", *said])

    # -- the end ---------------------------------------------------------------------------------

    def _result(
        self, choice: str, words: str, target: Phase | None = None, proven: int = 0, text: str = ""
    ) -> Result:
        """What the caller goes on with; only what there is to say beside the five names."""
        count = f"{proven} field{'' if proven == 1 else 's'}"
        result: Result = {
            "executed": words,
            "userChoice": choice,
            "phaseGated": self.phase.title,
            "nextPhase": target.title if target is not None else "",
            "proofProvided": f"yes, {count}" if proven else "none was needed",
        }
        if text:
            result["text"] = text
        if comments := self.asking.remarks_on(self.item.id).comments:
            result["comment"] = "\n".join(comments)
        if self.reviews:
            result["review"] = [
                {"item": title, "path": path, "digest": digest}
                for (title, digest), path in self.reviews.items()
            ]
        return result

    def _unproven(self, choice: str, target: Phase | None, problems: dict[str, str]) -> Result:
        """What is missing, handed back: whoever called has to find it and move the track."""
        result = self._result(choice, "left there, for want of proof", target)
        said = "; ".join(f"{name} {why}" for name, why in problems.items())
        return {**result, "proofProvided": f"no: {said}", "missing": list(problems)}


def _titled(item: Item) -> Item:
    return item if item.title else replace(item, title=item.label or item.id)


def _problems(lacking: dict[str, Any]) -> dict[str, str]:
    """Each field that something is wrong with, and what."""
    problems = dict.fromkeys(lacking.get("missing", []), "is missing")
    problems |= dict.fromkeys(lacking.get("unfilled", []), "was left unfilled")
    return problems | dict(lacking.get("wrong", {}))


_ASKED_BACK = ("explain", "deep", "question")


class Prover:
    """Asks for what a phase has to prove. Each showing of a field has a key of its own."""

    def __init__(self, phase: Phase, limits: Limits) -> None:
        self.phase = phase
        self.limits = limits
        self.turns: dict[str, int] = {}

    def ask(
        self, fields: tuple[Field, ...], problems: Mapping[str, str]
    ) -> Generator[Request, Response, dict[str, Any] | None]:
        """The values that a person gives, or nothing once they leave a field blank."""
        given: dict[str, Any] = {}
        waiting = list(fields)
        why = ""
        while waiting:
            batch = waiting[: max(self.limits.questions, 1)]
            asked = [(field, self._question(field, problems[field.name])) for field in batch]
            reply = yield self._ask(asked, why)
            if not isinstance(reply, Reply):
                raise TypeError("an Ask is answered with a Reply")
            why = ""
            for field, question in asked:
                answer = reply.to(question.key)
                if answer is None:
                    continue
                if answer.blank:
                    return None
                if answer.prefix in _ASKED_BACK or answer.among or answer.advice:
                    why = answer.advice or f"{field.described}: this has to be proven."
                    continue
                given[field.name] = _value(field, answer)
                waiting.remove(field)
        return given

    def _question(self, field: Field, problem: str) -> Question:
        place = keys.place(self.phase.label, ("proof", field.name))
        self.turns[place] = self.turns.get(place, 0) + 1
        choices = _choices(field)
        item = Item(self.phase.label, label=field.name)
        return Question(
            key=keys.turn(place, self.turns[place]),
            header=wording.header(item, self.limits.header),
            text=f"{self.phase.title} must prove {field.described}; it {problem}. What proves it?",
            choices=choices[: self.limits.options],
            named=choices[self.limits.options :],
            item=self.phase.label,
            title=field.name,
            menu=True,
            root=False,
        )

    def _ask(self, asked: list[tuple[Field, Question]], why: str) -> Ask:
        questions = tuple(question for _, question in asked)
        names = ", ".join(field.name for field, _ in asked)
        context = f"Before {self.phase.title} can be left, these have to be proven: {names}."
        hints = "Type the proof | ? explains | blank returns to the menu"
        said = [f"- {f.name}: {f.schema['description']}" for f, _ in asked if _told(f)]
        preamble = Preamble(context, tuple(["\n".join(said)] if said else []), why, hints=hints)
        return Ask(questions[0].key, "transition", preamble, questions)


def _told(field: Field) -> bool:
    return isinstance(field.schema.get("description"), str)


def _choices(field: Field) -> tuple[Choice, ...]:
    """What can be picked: the values that are declared, or that it is so."""
    values = field.schema.get("enum", [True] if field.types == ("boolean",) else [])
    labels = ["Yes, confirmed" if value is True else shown(value) for value in values]
    return tuple(Choice(f"V{number}", label) for number, label in enumerate(labels, 1))


def _value(field: Field, answer: Answer) -> Any:  # noqa: ANN401 - whatever is declared
    """What was picked; else the text as it was typed, even where it looks like a prefix."""
    if answer.picked:
        values = field.schema.get("enum", [True])
        return values[int(answer.picked[0][1:]) - 1]
    return answer.raw or answer.text or ""
