"""A track: the phases of a piece of work, where it stands, and where it may go from there.

Phases are known by their labels alone: `2`, `3.1`, `3.A`, `3.A.2`. Letters that differ in the same
place are alternatives, of which one is taken.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

import msgspec

from quandary.model.asks import Field
from quandary.model.text import is_blank

_LABEL = re.compile(r"[0-9]{1,64}(?:\.(?:[0-9]{1,64}|[A-Z]{1,64}))*")

Mark = Literal["done", "current", "next", "ahead", "skipped", "not taken"]
Kind = Literal["begin", "again", "forward", "back", "finish"]
Order = tuple[tuple[int, int, str], ...]  # numbers before letters; `Z` before `AA`


def split(text: str) -> tuple[str, str] | None:
    """The label and the name in `LABEL: Name` or in a bare `LABEL`; none where no label stands."""
    label, _, name = text.partition(": ")
    if not _LABEL.fullmatch(label.strip()):
        return None
    parts = (str(int(part)) if part.isdigit() else part for part in label.strip().split("."))
    return ".".join(parts), name.strip()


@cache
def order(label: str) -> Order:
    """Where a label stands among others."""
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, len(part), part) for part in label.split(".")
    )


def major(label: str) -> int:
    return order(label)[0][1]


def alternatives(one: str, other: str) -> bool:
    """Whether two labels lie on different branches: they part at two letters."""
    for a, b in zip(order(one), order(other), strict=False):
        if a != b:
            return bool(a[0] and b[0])
    return False


def _branch(label: str, beside: str) -> str:
    """The branch of a label, as far as where it parts from the one beside it."""
    parts, others = label.split("."), beside.split(".")
    fork = next(n for n, (a, b) in enumerate(zip(parts, others, strict=False)) if a != b)
    return ".".join(parts[: fork + 1])


class Phase(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stretch of the work."""

    label: str
    name: str = ""
    proof: tuple[Field, ...] = ()  # what has to be shown on leaving it forward
    gate: bool = True  # whether a menu is put before a person at its end
    approval: Literal["", "person"] = ""  # a person is one at a terminal or in a browser

    @property
    def title(self) -> str:
        """`2: Build`, the way a phase is written."""
        return f"{self.label}: {self.name}" if self.name else self.label


class Track(msgspec.Struct, frozen=True, omit_defaults=True):
    """The declared phases in any order, and the way taken so far."""

    phases: tuple[Phase, ...]
    current: Phase | None = None  # where it stands; not always among the declared ones
    visited: tuple[str, ...] = ()  # the labels that it has stood at, in the order of going there
    finished: bool = False
    added: tuple[str, ...] = ()  # the labels of phases that were not declared when the track began
    recorded: str | None = None
    """The label where the journal has the track, which may not be where its file has it; nothing
    where there is no journal."""
    entry: str = ""  # the digest of the newest entry that the journal has of the track

    @property
    def ordered(self) -> tuple[Phase, ...]:
        return tuple(sorted(self.phases, key=lambda phase: order(phase.label)))

    def find(self, label: str) -> Phase | None:
        return next((phase for phase in self.phases if phase.label == label), None)

    def after(self, label: str) -> Phase | None:
        """The declared phase that follows a label; branches beside it are passed over."""
        later = (phase for phase in self.ordered if order(phase.label) > order(label))
        return next((phase for phase in later if not alternatives(phase.label, label)), None)

    @property
    def next(self) -> Phase | None:
        """The declared phase that comes now: the first one, before any has begun."""
        if self.current is not None:
            return self.after(self.current.label)
        return self.ordered[0] if self.phases else None

    @property
    def beyond(self) -> Phase | None:
        return self.after(self.next.label) if self.next is not None else None

    @property
    def branches(self) -> tuple[Phase, ...]:
        """Where else the way could go on: the first phase of each branch beside the next one."""
        following = self.next
        if following is None:
            return ()
        heads: dict[str, Phase] = {}
        for phase in self.free:
            if alternatives(phase.label, following.label):
                heads.setdefault(_branch(phase.label, following.label), phase)
        return tuple(heads.values())

    @property
    def previous(self) -> Phase | None:
        """The declared phase before this one, on the way that was taken."""
        current = self.current
        if current is None:
            return None
        before = [p for p in self.ordered if order(p.label) < order(current.label)]
        return next((phase for phase in reversed(before) if not self.passed_by(phase)), None)

    def passed_by(self, phase: Phase) -> bool:
        """Whether another branch was taken in place of the phase, and later than it was."""
        way = (*self.visited, self.current.label) if self.current is not None else self.visited
        last = {label: number for number, label in enumerate(way)}
        own = last.get(phase.label, -1)
        return any(n > own and alternatives(label, phase.label) for label, n in last.items())

    @property
    def free(self) -> tuple[Phase, ...]:
        """The declared phases that can be gone to without asking anybody."""
        return tuple(phase for phase in self.ordered if not objection(self, phase.label))

    def mark(self, phase: Phase) -> Mark:
        """What has become of a phase so far."""
        current = self.current
        if current is not None and phase.label == current.label:
            return "done" if self.finished else "current"
        if phase == self.next:
            return "next"
        if self.passed_by(phase):
            return "not taken"
        if current is None or order(phase.label) > order(current.label):
            return "ahead"
        return "done" if phase.label in self.visited or not self.visited else "skipped"


class Transition(msgspec.Struct, frozen=True):
    """A move that the rules allow."""

    kind: Kind
    source: Phase | None
    target: Phase
    added: bool = False  # the target was not declared before
    reason: str = ""  # why the user approved of it, where that was said
    guards: tuple[Phase, ...] = ()  # those on its way that only a person lets pass

    @property
    def due(self) -> tuple[Field, ...]:
        """What has to be proven: the phase that is left forward, never one that is gone back to."""
        forward = self.kind in ("forward", "finish")
        return self.source.proof if forward and self.source is not None else ()

    @property
    def needs_person(self) -> bool:
        return bool(self.guards)


class Move(msgspec.Struct, frozen=True, omit_defaults=True, rename={"source": "from"}):
    """A move as a flow asks for it: the argument of the deed `move-phase`."""

    folder: str
    source: str  # the label that it starts from; nothing where no phase has begun
    target: str  # `LABEL: Name`
    seen: int = 0  # how many moves the track had made when somebody decided on this one
    finish: bool = False
    reason: str = ""
    proof: dict[str, Any] = {}
    typed: tuple[str, ...] = ()  # fields that somebody typed: a number may be text
    menu: bool = True  # whether somebody chose it; a phase may also be declared to pass without
    base: str = ""  # the folder that paths in the proof may start from, beside the track's own
    shown: dict[str, str] = {}  # the artifacts that somebody saw who chose it, with their digests
    entry: str = ""  # the newest entry that the journal had of the track then, by its digest

    @property
    def argument(self) -> str:
        return msgspec.json.encode(self).decode()


class Refusal(msgspec.Struct, frozen=True):
    """A move that the rules forbid: why, and what would be allowed."""

    reason: str


def go(track: Track, label: str, name: str = "", approved: str = "") -> Transition | Refusal:
    """Move to a phase, which needs approval wherever `objection` finds something."""
    declared = track.find(label)
    current = track.current
    target = declared or (current if current and current.label == label else Phase(label, name))
    why = objection(track, label)
    if why and is_blank(approved):
        return Refusal(f"{target.title} {why}; {_allowed(track)}")
    if current is None:
        kind: Kind = "begin"
    elif current.label == label:
        kind = "again"
    else:
        kind = "forward" if order(label) > order(current.label) else "back"
    added = declared is None and kind != "again"
    guards = find_guards(track, label)
    return Transition(kind, _declared(track), target, added, approved.strip(), guards)


def finish(track: Track) -> Transition | Refusal:
    """Be done with the last phase."""
    if (current := _declared(track)) is None:
        return Refusal(f"no phase has begun; {_allowed(track)}")
    if track.next is not None:
        return Refusal(f"{track.next.title} still lies ahead; go there first")
    guards = find_guards(track, current.label, leaving=True)
    return Transition("finish", current, current, guards=guards)


def find_guards(track: Track, label: str, *, leaving: bool = False) -> tuple[Phase, ...]:
    """The phases with `approval: person` that going to a phase leaves or passes over. Passed over
    is what lies on the way to it and was not on the way so far, whether that is told by the file or
    by the journal, so that neither can be edited to have passed. A branch that was not taken is on
    nobody's way, if the one that was taken is declared.
    """
    here = track.current.label if track.current is not None else ""
    stands = {here, here if track.recorded is None else track.recorded}

    def is_passed(guard: str, stand: str) -> bool:
        if guard == stand:
            return leaving or label != stand
        if not _is_before(track, guard, label) or _is_before(track, guard, stand):
            return False
        return not _is_beside(track, guard, stand) or alternatives(label, stand)

    guards = (phase for phase in track.ordered if phase.approval == "person")
    return tuple(p for p in guards if any(is_passed(p.label, stand) for stand in stands))


def _is_before(track: Track, label: str, stand: str) -> bool:
    """Whether a phase lies on the way to where a track stands; nothing lies before the start."""
    if not stand or order(label) >= order(stand):
        return False
    return not _is_beside(track, label, stand)


def _is_beside(track: Track, label: str, stand: str) -> bool:
    """Whether a phase lies on another branch than the declared one where a track stands."""
    if not stand or not alternatives(label, stand):
        return False
    branch = f"{_branch(stand, label)}."
    return any(f"{p.label}.".startswith(branch) for p in track.phases if p.label not in track.added)


def objection(track: Track, label: str) -> str:
    """Why a phase cannot be gone to without approval; nothing where it can. Free are the same
    phase, anything forward in the same major that changes or adds no branch, and whatever is
    declared in the next major; before anything has begun, only the first phase.
    """
    if track.current is None:
        first = track.next
        return "" if first is not None and first.label == label else "is not the first phase"
    here = track.current.label
    if label == here:
        return ""
    if order(label) < order(here):
        return f"goes back from {track.current.title}"
    if alternatives(label, here):
        return f"lies on another branch than {track.current.title}"
    return (_adding if major(label) == major(here) else _skipping)(track, here, label)


def _skipping(track: Track, here: str, label: str) -> str:
    """Only what is declared in the next declared major follows without a gap."""
    if track.find(label) is None:
        return "is not declared"
    between = [p for p in track.ordered if major(here) < major(p.label) < major(label)]
    return f"skips {between[0].title}" if between else ""


def _adding(track: Track, here: str, label: str) -> str:
    """Anybody may add a sub-phase with a higher number; a branch is the user's to add."""
    known = [here, *(phase.label for phase in track.phases)]
    parts = label.split(".")
    if label not in known and re.fullmatch(rf"{re.escape(here)}(\.0)+", label):
        return f"is no higher than {here}"
    for end in range(2, len(parts) + 1):
        branch = ".".join(parts[:end])
        if not branch[-1].isdigit() and not any(f"{k}.".startswith(f"{branch}.") for k in known):
            return f"adds the branch {branch}"
    return ""


def _declared(track: Track) -> Phase | None:
    """The current phase with what was declared of it."""
    current = track.current
    return (track.find(current.label) or current) if current is not None else None


def _allowed(track: Track) -> str:
    free = [phase for phase in track.free if not find_guards(track, phase.label)]
    shown = ", ".join(phase.title for phase in free[:6]) + (", …" if len(free) > 6 else "")
    return f"allowed now: {shown or 'nothing'}; for anything else, --user-approved REASON"
