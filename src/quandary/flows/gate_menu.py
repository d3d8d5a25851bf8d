"""What is put before a person at the end of a phase: the menu, and the words around it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from quandary.model.asks import Item, Limits
from quandary.model.track import Phase, Track, order
from quandary.model.tree import OTHER, Decision, Extra, Option, Tree

PROCEED, WALK, BACK, CUSTOM = "PRC", "WLK", "BAK", "CUS"
RESTART, SKIP, TURN = f"{OTHER}/RST", f"{OTHER}/SKP", f"{OTHER}/ALT"
OUTPUT = Extra("A", "Show what this phase has produced so far")
AHEAD = Extra("B", "Show which phases remain")
SPENT = Extra("C", "Show how long this phase has taken")
EXTRAS = (OUTPUT, AHEAD, SPENT)

PLAN_REVIEW = Tree(
    "PLAN_REVIEW",
    (
        Decision(
            "Plan Review",
            (
                Option("OK", "Keep it", "It is right as it is"),
                Option("INF", "Explain it further", "Something is unclear"),
                Option("RWK", "Rewrite it", "The goal is right, the approach is not"),
                Option(
                    OTHER,
                    "Other",
                    options=(
                        Option("CHG", "Change the goal", "It goes in the wrong direction"),
                        Option("REM", "Remove it", "It is not needed"),
                        Option("SPL", "Split it in two", "It is too large for one piece"),
                    ),
                ),
            ),
        ),
    ),
    question="Is {title} right as it is?",
)
"""What a walk-through asks about each piece of work."""


class Custom(msgspec.Struct, frozen=True, omit_defaults=True):
    """An action of the caller's own, offered beside the usual ones."""

    label: str
    description: str = ""


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a gate is begun with; plain data, kept in the journal as it is."""

    folder: str
    track: Track
    seen: int = 0
    """How many moves the track has made."""
    since: str = ""
    """When it came to the current phase, where that is known."""
    custom: Custom | None = None
    items: tuple[Item, ...] = ()
    """What to walk through, where it is not the files of the folder."""
    require: Literal["", "person"] = ""
    at_hand: bool = False
    """Whether the person can be asked for proof; else what is missing is handed back."""
    proof: dict[str, Any] = {}
    limits: Limits = Limits()
    values: dict[str, str] = {}
    context: str = ""
    base: str = ""
    """Where the caller works, for paths in the proof."""

    @property
    def phase(self) -> Phase:
        """The phase whose end this is."""
        current = self.track.current
        assert current is not None  # noqa: S101 - a gate is refused before any phase has begun
        return self.track.find(current.label) or current


def menu(terms: Terms) -> Tree:
    """The choices by position: nothing to go back to at the first phase, to finish at the last."""
    track = terms.track
    following, before, beyond = track.next, track.previous, track.beyond
    if following is None:
        options = [Option(PROCEED, "Finish", "This is the last phase; the track is complete")]
    else:
        said = "Finish this phase and begin that one"
        options = [Option(PROCEED, f"Proceed to {following.title}", said)]
    said = "Review each piece of work, then return to this menu"
    options.append(Option(WALK, "Walk through the output", said))
    if before is not None:
        said = "Resume the work of that phase"
        options.append(Option(BACK, f"Go back to {before.title}", said))
    if terms.custom is not None:
        options.append(Option(CUSTOM, terms.custom.label, terms.custom.description))
    others = [Option("RST", "Restart this phase", "Do its work again from the beginning")]
    if following is not None and track.branches:
        others.append(_turn(following, track.branches))
    if following is not None and beyond is not None:
        said = f"Skip {following.title}; choosing this approves it"
        others.append(Option("SKP", f"Skip ahead to {beyond.title}", said))
    options.append(Option(OTHER, "Other", options=tuple(others)))
    return Tree("PHASE_GATE", (Decision("Phase Gate", tuple(options)),), kind="transition")


def _turn(following: Phase, branches: tuple[Phase, ...]) -> Option:
    """The way to the branches beside the next phase."""
    said = f"Instead of {following.title}"
    if len(branches) == 1:
        return Option("ALT", f"Switch to {branches[0].title}", said)
    options = [Option(c, f"Switch to {p.title}") for c, p in _branch_codes(branches).items()]
    return Option("ALT", "Switch to another branch", said, options=tuple(options))


def _branch_codes(branches: tuple[Phase, ...]) -> dict[str, Phase]:
    """A code for each of many branches: TA, TB … TZ, TAA, TAB …"""
    codes = {}
    for number, phase in enumerate(branches):
        letters, left = "", number
        while left >= 0:
            letters = chr(ord("A") + left % 26) + letters
            left = left // 26 - 1
        codes[f"T{letters}"] = phase
    return codes


def turned(terms: Terms, path: str) -> Phase | None:
    """The branch that was chosen in place of the next phase."""
    branches = terms.track.branches
    if path == TURN and len(branches) == 1:
        return branches[0]
    return _branch_codes(branches).get(path.removeprefix(f"{TURN}/"))


def question(terms: Terms) -> str:
    """One or two sentences from which the menu can be answered."""
    following = terms.track.next
    ahead = f"{following.title} is next" if following is not None else "it is the last phase"
    return f"{terms.phase.title} is at its end; {ahead}{_due(terms)}. What should happen next?"


def _due(terms: Terms) -> str:
    """What has to be proven yet, as the end of a sentence."""
    required = [field.name for field in terms.phase.proof if field.required]
    due = len([name for name in required if name not in terms.proof])
    if not due:
        return ", and its proof is complete" if required else ""
    more = " more" if due < len(required) else ""
    return f", and {due}{more} thing{'s' if due > 1 else ''} must be proven first"


def context(name: str, track: Track, phase: Phase) -> str:
    """What a person has to know of a track before they let it pass."""
    behind = [
        p for p in track.ordered if order(p.label) <= order(phase.label) and not track.passed_by(p)
    ]
    count, following = len(behind), track.next
    while following is not None:
        count, following = count + 1, track.after(following.label)
    at = f", phase {len(behind)} of {count}" if phase in behind else ""
    lines = [f"**{name}** is at {phase.title}{at}."]
    if phase.proof:
        due = ", ".join(field.described for field in phase.proof)
        lines.append(f"Required proof: {due}.")
    return "\n".join(lines)


# -- the extras ----------------------------------------------------------------------------------


def ahead(track: Track) -> str:
    """The phases that remain, with what each has to prove."""
    lines = []
    for phase in track.ordered:
        if track.mark(phase) in ("next", "ahead"):
            due = ", ".join(field.name for field in phase.proof)
            lines.append(f"- {phase.title}" + (f" (proof: {due})" if due else ""))
    return "Remaining phases:\n" + "\n".join(lines) if lines else "No phases remain."


def output(phase: Phase, found: dict[str, Any]) -> str:
    """What the folder of the track holds."""
    lines = [f"- {one['path']}: {one['about']}" for one in found.get("artifacts", [])]
    if found.get("more"):
        lines.append(f"- and {found['more']} more")
    return (
        f"{phase.title} has produced:\n" + "\n".join(lines)
        if lines
        else "Nothing has been produced yet."
    )


def spent(phase: Phase, since: str, now: str) -> str:
    """How long the phase has been going on."""
    try:
        seconds = int((datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds())
    except (TypeError, ValueError):
        return f"It was not recorded when {phase.title} began."
    units = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
    for number, (_, size) in enumerate(units):
        if seconds >= size:
            parts = [(seconds // size, units[number][0])]
            if number + 1 < len(units):
                name, smaller = units[number + 1]
                parts.append((seconds % size // smaller, name))
            told = " ".join(f"{n} {name}{'' if n == 1 else 's'}" for n, name in parts if n)
            return f"{phase.title} has taken {told} so far, since {since[:16].replace('T', ' ')}Z."
    return f"{phase.title} has only just begun."
