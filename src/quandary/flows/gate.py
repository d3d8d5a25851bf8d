"""The end of a phase: a person lets the work go on, sends it back, or says something else.

The menu is a decision tree like any other. What was chosen is done by the house as a deed, which
holds it to the rules of the track; free text never moves anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain, count, dropwhile, product
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from quandary.errors import QuandaryError, Rejected
from quandary.flows import Flow, Steps, decide, send, tell_hands, wording
from quandary.model import keys
from quandary.model.asks import (
    MORE,
    Answer,
    Ask,
    Choice,
    Field,
    Item,
    Limits,
    Preamble,
    Question,
    Reply,
    Required,
    shown,
)
from quandary.model.calls import Do, Done
from quandary.model.text import LETTERS
from quandary.model.text import count as counted
from quandary.model.track import Move, Phase, Track, find_guards, order
from quandary.model.tree import OTHER, Decision, Extra, Option, Tree

if TYPE_CHECKING:
    Result = dict[str, Any]
    Ending = Steps[Result | None]

VERSION = 1
PROCEED, WALK, BACK, CUSTOM = "PRC", "WLK", "BAK", "CUS"
MOST_NAMED, MOST_LISTED = 12, 400  # as many artifacts are named in the context, and by the extra
RESTART, SKIP, TURN = f"{OTHER}/RST", f"{OTHER}/SKP", f"{OTHER}/ALT"
OUTPUT = Extra("A", "Show what this phase has produced so far")
AHEAD = Extra("B", "Show which phases remain")
SPENT = Extra("C", "Show how long this phase has taken")

_OTHERS = (
    Option("CHG", "Change the goal", "It goes in the wrong direction"),
    Option("REM", "Remove it", "It is not needed"),
    Option("SPL", "Split it in two", "It is too large for one piece"),
)
_REVIEW = (
    Option("OK", "Keep it", "It is right as it is"),
    Option("INF", "Explain it further", "Something is unclear"),
    Option("RWK", "Rewrite it", "The goal is right, the approach is not"),
    Option(OTHER, "Other", options=_OTHERS),
)
_RIGHT = "Is {title} right as it is?"
PLAN_REVIEW = Tree("PLAN_REVIEW", (Decision("Plan Review", _REVIEW),), question=_RIGHT)
"""What a walk-through asks about each piece of work."""
_BESIDE = ("comment", "tags", "notes", "proposals", "by", "through")  # kept of a review


class Custom(msgspec.Struct, frozen=True, omit_defaults=True):
    """An action of the caller's own, offered beside the usual ones."""

    label: str
    description: str = ""


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a gate is begun with; plain data, kept in the journal as it is."""

    folder: str
    track: Track
    seen: int = 0  # how many moves the track has made
    since: str = ""  # when it came to the current phase, where that is known
    custom: Custom | None = None
    items: tuple[Item, ...] = ()  # what to walk through, where it is not the files of the folder
    require: Required = ""
    at_hand: bool = False  # whether the person can be asked for proof that is missing
    proof: dict[str, Any] = {}
    limits: Limits = Limits()
    values: dict[str, str] = {}
    context: str = ""
    base: str = ""  # where the caller works, for paths in the proof
    lacking: tuple[str, ...] | None = None  # what the proof lacks, where somebody has checked it
    shown: dict[str, str] = {}  # artifacts with their digests: an approval is for these
    reader: str = ""

    @property
    def phase(self) -> Phase:
        return require_begun(self.track, self.folder or "DIR")


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
    """Ask whether the current phase may be left, and where to; moves are yielded as deeds."""
    who: Required = "person" if require_person else ""
    about, given, room = fill_items(items, {}), dict(proof or {}), limits or Limits()
    return _flow(Terms(folder, track, seen, since, custom, about, who, at_hand, given, room))


def fill_items(items: Sequence[Item], values: dict[str, str]) -> tuple[Item, ...]:
    """The caller's items as a walk-through asks about them; refused as those of any other tree."""
    terms = decide.Terms(PLAN_REVIEW, "What is walked through.", tuple(items), values=values)
    if items:
        decide.require_slots_filled(terms)
        terms = decide.prepare(terms).terms
    return terms.items


def fill_track(track: Track, values: Mapping[str, str]) -> Track:
    """A track as people read it: the slots in its names, and in what is said of its proof, filled.
    The names that it has in its file stay those that its moves and results are known by.
    """

    def fill(phase: Phase) -> Phase:
        proof = tuple(decide.fill_field(field, values) for field in phase.proof)
        return replace(phase, name=wording.fill(phase.name, values), proof=proof)

    current = track.current and fill(track.current)
    return replace(track, phases=tuple(map(fill, track.phases)), current=current)


def require_begun(track: Track, folder: str) -> Phase:
    """The phase at whose end a gate stands, with what was declared of it."""
    if track.current is None:
        first = track.next.title if track.next is not None else "PHASE"
        raise Rejected(f"{folder}: no phase has begun; run quandary phase go {folder} '{first}'")
    return track.find(track.current.label) or track.current


def _flow(terms: Terms) -> Flow:
    if terms.custom is not None and not terms.custom.label.strip():
        raise QuandaryError("a custom action needs a label: 'Label | Description'")
    if terms.phase.approval == "person" or _guards(terms.track, terms.track.next):
        terms = replace(terms, require="person")
    return _Gate(terms).flow()


class _Gate:
    """One gate, from the first showing of its menu to what came of it."""

    def __init__(self, terms: Terms) -> None:
        every = (terms.phase, *terms.track.phases)
        self.titles = {phase.label: phase.title for phase in every}  # before they are filled
        self.terms = terms = replace(terms, track=fill_track(terms.track, terms.values))
        self.phase = terms.phase
        self.place = keys.place(self.phase.label)
        self.item = Item(self.phase.label, self.phase.name or self.phase.label, self.phase.title)
        same = {name: getattr(terms, name) for name in ("limits", "require", "reader")}
        extras, items = (OUTPUT, AHEAD, SPENT), (self.item,)
        about = terms.context or describe(terms.folder or "The track", terms.track, self.phase)
        asked = decide.Terms(menu(terms), about, items, question(terms), extras, **same)
        self.asking = decide.Decider(asked)
        self.asking.take_only, self.asking.idle = False, (WALK, CUSTOM, MORE)
        self.proof = dict(terms.proof)
        self.typed: set[str] = set()
        self.shown = terms.shown
        self.reviews: dict[tuple[str, str], Result] = {}
        """Paths, and what was said with them, by the title of a piece and by its digest, or the id
        that the caller gave it."""
        self.rounds, self.why = 0, ""  # of walking through; why the menu comes again

    def flow(self) -> Flow:
        """The menu again and again, until something comes of it."""
        result = None
        if not (self.phase.gate or self.terms.require or self.terms.track.finished):
            result = yield from self._proceed()
        while result is None:
            record = self.asking.records[self.item.id] = decide.Record(self.item)
            level, self.why = self.asking.level(self.item, why=self.why), ""
            yield from self.asking.settle([level])
            result = yield from self._act(record.path(0))
        return result

    def _act(self, path: str) -> Ending:
        """Do what was chosen, which is its approval; no result means that the menu comes again."""
        track = self.terms.track
        option = self.asking.terms.tree.decisions[0].find(path)
        label = option.label if option is not None else ""
        way, _, text = path.partition(":")  # words stand behind the way to where they were typed
        kind = way.rpartition("/")[2]
        moves = {
            BACK: (track.previous, "back", "went back to the phase before"),
            RESTART: (self.phase, "other", "restarted the current phase"),
            SKIP: (track.beyond, "other", "skipped ahead past one phase"),
        }
        if kind == "smart" and text in (OUTPUT.text, AHEAD.text, SPENT.text):
            self.why = yield from self._show(text)
        elif path == WALK:
            yield from self._review()
        elif path == PROCEED:
            return (yield from self._proceed(label))
        elif path in moves:
            return (yield from self._move(*moves[path], label))
        elif (branch := _branch(track, path)) is not None:
            return (yield from self._move(branch, "proceed", "went on to another branch", label))
        elif path == CUSTOM:
            return self._result("custom", "handed the custom action over", text=label)
        else:  # Free text never moves anything: it is handed to the caller as it is.
            own = kind in ("custom", "smart")
            words = "handed the words to the caller" if own else "left the menu without choosing"
            return self._result("other", words, text=text if own else "")
        return None

    def _proceed(self, label: str = "") -> Ending:
        """Proceed, or finish where nothing follows; with no label, nobody was asked."""
        following = self.terms.track.next
        words = "went on to the next phase" if label else "passed on without a menu"
        if following is None:
            words = "finished the last phase"
        return (yield from self._move(following, "proceed", words, label))

    def _move(self, target: Phase | None, choice: str, words: str, label: str) -> Ending:
        """Have the house move the track; where it wants proof, get it or say what is missing."""
        terms = self.terms
        reason = f"chose “{label}” at the gate of {self.phase.title}" if label else ""
        goal = self.titles[(target or self.phase).label]
        way = (terms.folder, self.phase.label, goal, terms.seen, target is None, reason)
        while True:
            given = (self.proof, tuple(sorted(self.typed)))
            move = Move(*way, *given, bool(label), terms.base, self.shown, terms.track.entry)
            done = yield from self._do("move-phase", move.argument)
            lacking = done.get("lacking")
            if not lacking:
                return self._result(choice, words, target, done.get("proven", 0))
            problems: dict[str, str] = dict.fromkeys(lacking.get("missing", []), "is missing")
            problems |= dict.fromkeys(lacking.get("unfilled", []), "was left unfilled")
            problems |= lacking.get("wrong", {})
            values = (yield from self._ask_proof(problems)) if terms.at_hand else {}
            self.proof |= values
            self.typed |= values.keys()
            left = {name: why for name, why in problems.items() if name not in values}
            if left and not (terms.at_hand and label):
                # There is no menu to return to: whoever called finds it, and moves the track.
                result = self._result(choice, "left there, for want of proof", target)
                said = "; ".join(f"{name} {why}" for name, why in left.items())
                return {**result, "proofProvided": f"no: {said}", "missing": list(left)}
            if left:
                self.asking.reword(question(replace(terms, lacking=tuple(left))))
                kept = f" What was given for {', '.join(values)} is kept." if values else ""
                self.why = f"Nothing moved: the proof lacks {', '.join(left)}.{kept}"
                return None

    def _do(self, deed: Literal["list-artifacts", "move-phase"], argument: str) -> Steps[Result]:
        name = "move" if deed == "move-phase" else "artifacts"
        key = self.asking.new_key(f"{self.place}+{name}")
        done = yield from send(Do(key, deed, argument), Done)
        if done.error:
            raise Rejected(done.error)
        told: Result = msgspec.json.decode(done.text or "{}")
        return told

    def _result(
        self, choice: str, words: str, target: Phase | None = None, proven: int = 0, text: str = ""
    ) -> Result:
        """What the caller goes on with; only what there is to say beside the five names."""
        titles = [self.titles[phase.label] if phase else "" for phase in (self.phase, target)]
        labels = [phase.title if phase else "" for phase in (self.phase, target)]
        further = {
            "labels": labels if labels != titles else [],
            "notes": [msgspec.to_builtins(note) for note in self.asking.notes],
            "text": text,
            **self.asking.remarks_on(self.item.id).as_result(),
            "review": [
                {"item": title, "digest": digest, **review}
                for (title, digest), review in self.reviews.items()
            ],
            **tell_hands(self.asking.record_of(self.item).hands.get(0, ())),
        }
        return {
            "executed": words,
            "userChoice": choice,
            "phaseGated": titles[0],
            "nextPhase": titles[1],
            "proofProvided": f"yes, {counted(proven, 'field')}" if proven else "none was needed",
            **{name: said for name, said in further.items() if said},
        }

    def _ask_proof(self, problems: Mapping[str, str]) -> Steps[Result]:
        """The values that a person gives, until they leave a field blank; no other is lost."""
        given: dict[str, Any] = {}
        waiting = [field for field in self.phase.proof if field.name in problems]
        why = ""
        while waiting:
            batch = waiting[: max(self.terms.limits.questions, 1)]
            asked = [(field, self._proof_question(field, problems[field.name])) for field in batch]
            names = ", ".join(field.name for field in batch)
            about = f"Before {self.phase.title} can be left, these have to be proven: {names}."
            said = "\n".join(f"- {f.name}: {f.description}" for f in batch if f.description)
            hints = "Type what is asked for | blank leaves it unproven"
            preamble = Preamble(about, (said,) if said else (), why, hints=hints)
            questions = tuple(question for _, question in asked)
            ask = Ask(questions[0].key, "transition", preamble, questions, (), self.terms.require)
            reply = yield from send(ask, Reply)
            why = ""
            answers = [(field, reply.to(question.key)) for field, question in asked]
            for field, answer in answers:
                if answer is None or answer.blank:
                    continue
                # Journals of before have questions here; what is typed now is a value.
                asks_back = answer.prefix in ("explain", "deep", "question", "unclear")
                if asks_back or answer.among or answer.advice:
                    told = answer.advice or (answer.argument if answer.prefix == "unclear" else "")
                    why = told or f"{field.described}: this has to be proven."
                else:
                    given[field.name] = _value(field, answer)
                    waiting.remove(field)
            if any(answer is not None and answer.blank for _, answer in answers):
                break
        return given

    def _proof_question(self, field: Field, problem: str) -> Question:
        limits = self.terms.limits
        values = field.schema.get("enum", [True] if field.types == ("boolean",) else [])
        labels = ["Yes, confirmed" if value is True else shown(value) for value in values]
        choices = tuple(Choice(f"V{n}", label) for n, label in enumerate(labels, 1))
        return Question(
            key=self.asking.new_key(keys.place(self.phase.label, ("proof", field.name))),
            header=wording.header(Item(self.phase.label, label=field.name), limits.header),
            text=f"{self.phase.title} must prove {field.described}; it {problem}. What proves it?",
            choices=choices[: limits.options],
            named=choices[limits.options :],
            item=self.phase.label,
            title=field.name,
            value=field.described,
            root=False,
        )

    def _show(self, extra: str) -> Steps[str]:
        """What the track itself says to one of the extras."""
        if extra == AHEAD.text:
            return remaining(self.terms.track)
        found = yield from self._do("list-artifacts", self.terms.folder)
        if extra == SPENT.text:
            return time_spent(self.phase, self.terms.since, found.get("now", ""))
        self.shown = found.get("digests", self.shown)
        artifacts = found.get("artifacts", [])
        lines = [f"- {one['path']}: {one['about']}" for one in artifacts[:MOST_LISTED]]
        # Journals of before have a list that was cut, and how much more there was.
        if more := len(artifacts) - len(lines) + found.get("more", 0):
            lines.append(f"- and {more} more")
        if not lines:
            return "Nothing has been produced yet."
        return "\n".join([f"{self.phase.title} has produced:", *lines])

    def _review(self) -> Steps[None]:
        """Ask about every piece of work that was not judged as it is now."""
        pieces = yield from self._pieces()
        waiting = [(which, item) for which, item in pieces if which not in self.reviews]
        if waiting:
            about = f"What {self.phase.title} has produced, piece by piece."
            own: dict[str, Any] = {"items": tuple(item for _, item in waiting), "question": ""}
            own |= {"extras": (), "context": about, "values": self.terms.values}
            terms = replace(self.asking.terms, tree=PLAN_REVIEW, **own)
            self.rounds += 1
            prefix = keys.within(keys.turn(self.place, self.rounds), PLAN_REVIEW.name)
            result = yield from self.asking.run_inside(terms, prefix)
            for (which, _), chosen in zip(waiting, result["chosenItems"], strict=True):
                if not chosen["path"].startswith(f"{OTHER}/force:"):
                    self._keep_review(which, chosen["path"], chosen)
        if not pieces:
            self.why = "There is nothing to walk through yet."
            return
        head = "That was everything" if waiting else "Everything was reviewed before"
        said = [f"- {which[0]}: {self._tell_review(which)}" for which, _ in pieces]
        self.why = "\n".join([f"{head}. The answers:", *said])

    def _tell_review(self, which: tuple[str, str]) -> str:
        """What was said of a piece of work, as a person would say it."""
        path = self.reviews.get(which, {}).get("path", "")
        option, words = PLAN_REVIEW.decisions[0].find(path), path.partition(":")[2]
        return option.label if option else f"“{words}”" if words else path or "no answer"

    def _keep_review(self, which: tuple[str, str], path: str, said: Mapping[str, Any]) -> None:
        beside = {name: said[name] for name in _BESIDE if name in said}
        self.reviews[which] = {"path": path, **beside}

    def _pieces(self) -> Steps[list[tuple[tuple[str, str], Item]]]:
        """What the caller gave, else the files of the track, with what was said of them before."""
        if self.terms.items:
            return [((i.name, i.id), replace(i, title=i.name)) for i in self.terms.items]
        found = yield from self._do("list-artifacts", self.terms.folder)
        self.shown = found.get("digests", self.shown)
        pieces = []
        for number, one in enumerate(found.get("artifacts", []), 1):
            name = one["path"].rpartition("/")[2]
            item = Item(f"{self.phase.label}/{number}", name, one["path"], one["about"])
            which = (one["path"], one["digest"])
            pieces.append((which, item))
            # Where only a person may answer, what others said before does not spare the question.
            if one.get("reviewed") and (not self.terms.require or one.get("by") == "person"):
                self._keep_review(which, one["reviewed"], one)
        return pieces


def _value(field: Field, answer: Answer) -> Any:  # noqa: ANN401 - whatever is declared
    """What was picked; else the text as it was typed, even where it looks like a prefix."""
    if answer.picked:
        return field.schema.get("enum", [True])[int(answer.picked[0][1:]) - 1]
    return answer.raw or answer.text or ""


def menu(terms: Terms) -> Tree:
    """The choices by position: nothing to go back to at the first phase, to finish at the last."""
    track = terms.track
    following, before, beyond = track.next, track.previous, track.beyond
    label, said = "Finish", "This is the last phase; the track is complete"
    if following is not None:
        label, said = f"Proceed to {following.title}", "Finish this phase and begin that one"
    look = "Review each piece of work, then return to this menu"
    options = [] if track.finished else [Option(PROCEED, label, said)]
    options.append(Option(WALK, "Walk through the output", look))
    if before is not None:
        options.append(Option(BACK, f"Go back to {before.title}", "Return to its work"))
    if terms.custom is not None:
        options.append(Option(CUSTOM, terms.custom.label, terms.custom.description))
    others = [Option("RST", "Restart this phase", "Do its work again from the beginning")]
    if following is not None and track.branches:
        several = {} if len(track.branches) == 1 else _branch_codes(track.branches)
        label = "another branch" if several else track.branches[0].title
        branches = tuple(Option(code, f"Switch to {p.title}") for code, p in several.items())
        said = f"Instead of {following.title}"
        others.append(Option("ALT", f"Switch to {label}", said, options=branches))
    if following is not None and beyond is not None:
        said = f"Skip {following.title}; choosing this approves it"
        if guards := [p for p in _guards(track, beyond) if p != terms.phase]:
            said = f"Skip {following.title}; only a person lets {guards[0].title} pass"
        others.append(Option("SKP", f"Skip ahead to {beyond.title}", said))
    options.append(Option(OTHER, "Other", options=tuple(others)))
    return Tree("PHASE_GATE", (Decision("Phase Gate", tuple(options)),), kind="transition")


def _branch_codes(branches: tuple[Phase, ...]) -> dict[str, Phase]:
    """A code for each of many branches: TA, TB … TZ, TAA, TAB …"""
    letters = (product(LETTERS, repeat=size) for size in count(1))
    codes = map("".join, chain.from_iterable(letters))
    return {f"T{next(codes)}": phase for phase in branches}


def _branch(track: Track, path: str) -> Phase | None:
    if path == TURN and len(track.branches) == 1:
        return track.branches[0]
    return _branch_codes(track.branches).get(path.removeprefix(f"{TURN}/"))


def _guards(track: Track, target: Phase | None) -> tuple[Phase, ...]:
    """What only a person lets pass on the way to a phase, or to the end."""
    label = (target or require_begun(track, "DIR")).label
    return find_guards(track, label, leaving=target is None)


def question(terms: Terms) -> str:
    """One or two sentences from which the menu can be answered: which track, how it stands."""
    name = os.path.basename(terms.folder)
    where = f"{terms.phase.title} of {name}" if name else terms.phase.title
    following = terms.track.next
    ahead = f"{following.title} is next" if following is not None else "it is the last phase"
    if terms.track.finished:
        return f"{where} is finished, and the track with it. What should happen next?"
    required = [field.name for field in terms.phase.proof if field.required]
    missing = [name for name in required if name not in terms.proof]
    due = len(missing if terms.lacking is None else terms.lacking)
    if due:
        things = counted(due, "more thing" if due < len(required) else "thing")
        ahead += f", and {things} must be proven first"
    elif required and terms.lacking is not None:
        ahead += ", and its proof is complete"
    return f"{where} is at its end; {ahead}. What should happen next?"


def describe(name: str, track: Track, phase: Phase, shown: Iterable[str] = ()) -> str:
    """What a person has to know of a track before they let it pass."""
    behind = [p for p in track.ordered if order(p.label) <= order(phase.label)]
    behind = [p for p in behind if not track.passed_by(p)]
    count, following = len(behind), track.next
    while following is not None:
        count, following = count + 1, track.after(following.label)
    at = f", phase {len(behind)} of {count}" if phase in behind else ""
    lines = [f"**{name}** is at {phase.title}{at}."]
    if phase.proof:
        lines.append(f"Required proof: {', '.join(field.described for field in phase.proof)}.")
    if held := ", ".join(p.title for p in _guards(track, track.next) if p.label != phase.label):
        lines.append(f"Nobody has let {held} pass yet; whoever goes on from here does.")
    if names := [f"`{name.replace('`', '')}`" for name in shown]:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        listed = ", ".join(names[:MOST_NAMED]) + more
        lines.append(f"A choice is for its files as they are now: {listed}.")
    return "\n".join(lines)


def remaining(track: Track) -> str:
    """The phases that remain, with what each has to prove."""
    lines = []
    for phase in track.ordered:
        if track.mark(phase) in ("next", "ahead"):
            due = ", ".join(field.name for field in phase.proof)
            lines.append(f"- {phase.title}" + (f" (proof: {due})" if due else ""))
    return "Remaining phases:\n" + "\n".join(lines) if lines else "No phases remain."


def time_spent(phase: Phase, since: str, now: str) -> str:
    """How long the phase has been going on, in the two largest units."""
    try:
        passed = datetime.fromisoformat(now) - datetime.fromisoformat(since)
    except (TypeError, ValueError):
        return f"It was not recorded when {phase.title} began."
    seconds = max(int(passed.total_seconds()), 0)
    numbers = (seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)
    units = zip(numbers, ("day", "hour", "minute", "second"), strict=True)
    largest = [*dropwhile(lambda unit: not unit[0], units)][:2]
    if not largest:
        return f"{phase.title} has only just begun."
    told = " ".join(counted(number, name) for number, name in largest if number)
    return f"{phase.title} has taken {told} so far, since {since[:16].replace('T', ' ')}Z."
