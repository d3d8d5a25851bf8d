"""Where a track may go, and where only with somebody's approval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import strategies  # noqa: F401 - loads the profile
from quandary.formats.tracks import read_phases
from quandary.model import track as rules
from quandary.model.asks import Field
from quandary.model.track import Phase, Refusal, Track, Transition

TRACKS: dict[str, list[object]] = {
    "plain": [{"label": label, "name": f"P{label}"} for label in ("1", "2", "3", "4")],
    "from zero": [{"label": "0"}, {"label": "1"}, {"label": "2"}],
    "subs": [{"label": label} for label in ("1", "2", "2.1", "2.2", "3", "3.1", "4", "5")],
    "no parent": [{"label": label} for label in ("1", "2.1", "2.2", "3")],
    "branches": [{"label": label} for label in ("1", "2", "3", "3.A", "3.B", "4")],
    "branch first": [{"label": label} for label in ("1", "2.A", "2.B", "3")],
    "nested": [
        {"label": label}
        for label in ("1", "2", "2.A", "2.A.1", "2.A.2", "2.B", "2.B.1", "2.B.A", "2.B.B", "3")
    ],
    "gaps": [{"label": label} for label in ("1", "4", "7.2", "9")],
    "beyond nine": [{"label": label} for label in ("8", "9", "10", "10.2", "10.10", "11", "100")],
    "unsorted": [{"label": label} for label in ("3", "2.10", "1", "2.9", "2")],
    "legacy": [
        {"major": 3, "minor": 0, "name": "Third"},
        {"major": 1, "minor": 0, "name": "First"},
        {"major": 1, "minor": 2, "name": "First, part two"},
        {"major": 2, "name": "Second"},
        {"major": 2, "minor": 10, "name": "Second, part ten"},
    ],
    "mixed": [{"major": 1}, {"label": "2"}, "3: Third", {"label": 4}, {"label": "3.A"}],
}

FREE = ""
RULES: list[tuple[str, str | None, str, str]] = [
    # nothing has begun: only the first, whatever the file's order
    ("plain", None, "1", FREE),
    ("plain", None, "2", "is not the first phase"),
    ("unsorted", None, "1", FREE),
    ("unsorted", None, "3", "is not the first phase"),
    ("legacy", None, "1", FREE),
    ("from zero", None, "0", FREE),
    ("plain", None, "9", "is not the first phase"),
    # the same phase again
    ("plain", "1", "1", FREE),
    ("plain", "4", "4", FREE),
    ("nested", "2.B.A", "2.B.A", FREE),
    ("plain", "7.A", "7.A", FREE),
    # the next declared phase
    ("plain", "1", "2", FREE),
    ("plain", "3", "4", FREE),
    ("subs", "2", "2.1", FREE),
    ("subs", "2.1", "2.2", FREE),
    ("subs", "2.2", "3", FREE),
    ("gaps", "1", "4", FREE),
    ("gaps", "4", "7.2", FREE),
    ("gaps", "7.2", "9", FREE),
    ("beyond nine", "9", "10", FREE),
    ("beyond nine", "10.2", "10.10", FREE),
    ("beyond nine", "10.10", "11", FREE),
    ("beyond nine", "11", "100", FREE),
    ("unsorted", "2.9", "2.10", FREE),
    ("unsorted", "2.10", "3", FREE),
    ("legacy", "1.2", "2", FREE),
    ("legacy", "2.10", "3", FREE),
    ("mixed", "2", "3", FREE),
    ("branches", "3.A", "4", FREE),
    ("branches", "3.B", "4", FREE),
    ("nested", "2.A.2", "3", FREE),
    # the next major, from a sub-phase or past sub-phases
    ("subs", "2", "3", FREE),
    ("subs", "2.1", "3", FREE),
    ("subs", "1", "2", FREE),
    ("legacy", "1", "2", FREE),
    ("branches", "3", "4", FREE),
    ("nested", "2.A.1", "3", FREE),
    ("nested", "2.B", "3", FREE),
    # a declared sub-phase or branch of the next major
    ("subs", "1", "2.2", FREE),
    ("subs", "2.2", "3.1", FREE),
    ("no parent", "1", "2.2", FREE),
    ("branches", "2", "3.A", FREE),
    ("branches", "2", "3.B", FREE),
    ("branch first", "1", "2.B", FREE),
    ("nested", "1", "2.B.A", FREE),
    ("gaps", "1.5", "4", FREE),
    # forward within a major
    ("subs", "2", "2.2", FREE),
    ("branches", "3", "3.B", FREE),
    ("nested", "2.A", "2.A.2", FREE),
    ("nested", "2.B.1", "2.B.A", FREE),
    ("beyond nine", "10", "10.10", FREE),
    # a new sub-phase with a higher minor in the same major
    ("plain", "2", "2.1", FREE),
    ("plain", "2", "2.7", FREE),
    ("subs", "2.2", "2.3", FREE),
    ("subs", "2.1", "2.10", FREE),
    ("subs", "2.1", "2.1.1", FREE),
    ("nested", "2.A.2", "2.A.3", FREE),
    ("nested", "2", "2.A.3", FREE),
    ("branches", "3.A", "3.A.1", FREE),
    ("legacy", "2.10", "2.11", FREE),
    # back
    ("plain", "2", "1", "goes back from 2: P2"),
    ("plain", "4", "1", "goes back"),
    ("subs", "2.2", "2.1", "goes back"),
    ("subs", "2.1", "2", "goes back"),
    ("subs", "3", "2.2", "goes back"),
    ("branches", "3.A", "3", "goes back"),
    ("branches", "3.A", "3.1", "goes back"),
    ("beyond nine", "10", "9", "goes back"),
    ("beyond nine", "10.10", "10.2", "goes back"),
    ("unsorted", "2.10", "2.9", "goes back"),
    ("legacy", "2", "1.2", "goes back"),
    ("subs", "2.2", "2.1.9", "goes back"),
    ("from zero", "1", "0", "goes back"),
    # a major left out
    ("plain", "1", "3", "skips 2: P2"),
    ("plain", "1", "4", "skips 2: P2"),
    ("subs", "1", "3", "skips 2"),
    ("subs", "2.2", "4", "skips 3"),
    ("no parent", "1", "3", "skips 2.1"),
    ("gaps", "1", "7.2", "skips 4"),
    ("gaps", "4", "9", "skips 7.2"),
    ("beyond nine", "9", "11", "skips 10"),
    ("branch first", "1", "3", "skips 2.A"),
    ("legacy", "1", "3", "skips 2: Second"),
    ("mixed", "2", "4", "skips 3: Third"),
    # another branch, or a new one
    ("branches", "3.A", "3.B", "lies on another branch than 3.A"),
    ("branches", "3.B", "3.C", "lies on another branch"),
    ("branches", "3", "3.C", "adds the branch 3.C"),
    ("branches", "3", "3.C.1", "adds the branch 3.C"),
    ("nested", "2.A.1", "2.B", "lies on another branch"),
    ("nested", "2.A", "2.B.1", "lies on another branch"),
    ("nested", "2.B.A", "2.B.B", "lies on another branch"),
    ("nested", "2.B.A", "2.B.B.4", "lies on another branch"),
    ("nested", "2.B", "2.B.C", "adds the branch 2.B.C"),
    ("plain", "2", "2.A", "adds the branch 2.A"),
    ("plain", "2", "2.1.A", "adds the branch 2.1.A"),
    # a new sub-phase that is no higher
    ("plain", "2", "2.0", "is no higher than 2"),
    ("plain", "2", "2.0.0", "is no higher than 2"),
    ("subs", "2.2", "2.2.0", "is no higher than 2.2"),
    # what is not declared
    ("plain", "4", "5", "is not declared"),
    ("plain", "1", "2.1", "is not declared"),
    ("no parent", "1", "2", "is not declared"),
    ("gaps", "1", "2", "is not declared"),
]


def standing(name: str, at: str | None) -> Track:
    """A track at a phase, which need not be a declared one."""
    track = Track(read_phases(TRACKS[name], "t"))
    return replace(track, current=track.find(at) or Phase(at)) if at is not None else track


def test_the_table_is_long_enough() -> None:
    """At least sixty transitions, none of them twice."""
    assert len({row[:3] for row in RULES}) == len(RULES) >= 60
    assert {row[0] for row in RULES} == set(TRACKS)


@pytest.mark.parametrize(("name", "at", "to", "why"), RULES)
def test_what_is_allowed_without_approval(name: str, at: str | None, to: str, why: str) -> None:
    """A move is free, or it is refused with the reason and with what would be allowed."""
    track = standing(name, at)
    judged = rules.go(track, to)
    if not why:
        assert isinstance(judged, Transition)
        assert judged.target.label == to
        assert judged.added == (track.find(to) is None and to != at)
    else:
        assert isinstance(judged, Refusal)
        assert why in judged.reason
        assert "--user-approved" in judged.reason
        assert all(phase.title in judged.reason for phase in track.free[:6])


@pytest.mark.parametrize(("name", "at", "to", "why"), [row for row in RULES if row[3]])
def test_approval_allows_the_rest(name: str, at: str | None, to: str, why: str) -> None:
    """With a reason that is not blank everything is allowed, and the reason is kept."""
    track = standing(name, at)
    judged = rules.go(track, to, "New", "  the user said so ")
    assert isinstance(judged, Transition)
    assert (judged.target.label, judged.reason) == (to, "the user said so")
    assert judged.added == (track.find(to) is None)
    for blank in (" \n", "\u200b", "\u2060 \ufeff"):
        assert isinstance(rules.go(track, to, approved=blank), Refusal), why


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("2: Build", ("2", "Build")),
        ("2", ("2", "")),
        ("2: ", ("2", "")),
        (" 3.1:  Try it ", ("3.1", "Try it")),
        ("3.A: Slow: by region", ("3.A", "Slow: by region")),
        ("10.2.AB.3: x", ("10.2.AB.3", "x")),
        ("03.010: zeros", ("3.10", "zeros")),
        ("0: Setup", ("0", "Setup")),
        (
            "20261118105500123.INTERNATIONALIZATION: x",
            ("20261118105500123.INTERNATIONALIZATION", "x"),
        ),
        *((text, None) for text in ("", "Build", "A.1", "2.a", "2.", ".2", "2..1", "2:Build")),
        *((text, None) for text in ("2.A1", "-1", "2 3", "٣", "1" * 99, ": x")),
    ],
)
def test_a_label_ends_at_a_colon_and_a_space(text: str, parts: tuple[str, str] | None) -> None:
    """Digits, then segments of digits or of capital letters; the rest is the name."""
    assert rules.split(text) == parts


def test_only_the_label_is_matched() -> None:
    """A phase called otherwise than it is declared is the declared one."""
    judged = rules.go(standing("plain", "1"), "2", "Something else")
    assert isinstance(judged, Transition)
    assert judged.target.title == "2: P2"


def test_order_is_by_segment() -> None:
    """Numbers as numbers, before letters; what is above stands before what is below."""
    labels = ["1", "2", "2.1", "2.1.4", "2.2", "2.10", "2.A", "2.A.1", "2.Z", "2.AA", "3", "10"]
    mixed = [*labels[5:], *labels[:5]]
    assert sorted(mixed, key=rules.order) == labels


@pytest.mark.parametrize(
    ("name", "at", "before", "after", "beyond"),
    [
        ("plain", None, None, "1", "2"),
        ("plain", "1", None, "2", "3"),
        ("plain", "3", "2", "4", None),
        ("plain", "4", "3", None, None),
        ("branches", "2", "1", "3", "3.A"),
        ("branches", "3", "2", "3.A", "4"),
        ("branches", "3.A", "3", "4", None),
        ("branches", "3.B", "3", "4", None),
        ("branch first", "1", None, "2.A", "3"),
        ("nested", "2.A.2", "2.A.1", "3", None),
        ("nested", "2.B.A", "2.B.1", "3", None),
        ("unsorted", "2.9", "2", "2.10", "3"),
        ("legacy", "2", "1.2", "2.10", "3"),
        ("plain", "2.5", "2", "3", "4"),
    ],
)
def test_neighbours(
    name: str, at: str | None, before: str | None, after: str | None, beyond: str | None
) -> None:
    """Next and previous go by labels and pass over branches beside the current one."""
    track = standing(name, at)
    found = (track.previous, track.next, track.beyond)
    assert [phase and phase.label for phase in found] == [before, after, beyond]


@pytest.mark.parametrize(
    ("name", "at", "heads"),
    [
        ("plain", "2", []),
        ("branches", "2", []),
        ("branches", "3", ["3.B"]),
        ("branches", "3.A", []),
        ("branch first", "1", ["2.B"]),
        ("branch first", None, []),
        ("nested", "2", ["2.B"]),
        ("nested", "2.B.1", ["2.B.B"]),
        ("nested", "2.A.1", []),
        ("plain", "4", []),
    ],
)
def test_branches_beside_the_next_phase(name: str, at: str | None, heads: list[str]) -> None:
    """Where the way forks, the first phase of every other branch can be taken instead."""
    assert [phase.label for phase in standing(name, at).branches] == heads


def test_back_leads_to_the_branch_that_was_taken() -> None:
    """Behind a fork, the previous phase is on the way that the track came."""
    track = standing("branches", "4")
    came = {"3.A": ("1", "2", "3.A", "4"), "3.B": ("1", "2", "3.A", "3.B", "4"), "3": ("2", "3")}
    assert track.previous == track.find("3.B")
    for label in ("3.A", "3.B"):
        assert replace(track, visited=came[label]).previous == track.find(label)
    assert replace(track, visited=("1", "3.B", "3.A", "4")).previous == track.find("3.A")


def test_marks_tell_what_became_of_each_phase() -> None:
    """Done, skipped, not taken, current, next, ahead."""
    track = replace(standing("branches", "3.A"), visited=("1", "3.A"))
    assert [track.mark(phase) for phase in track.ordered] == [
        *("done", "skipped", "skipped", "current", "not taken", "next")
    ]
    fresh = standing("plain", None)
    assert [fresh.mark(phase) for phase in fresh.ordered] == ["next", "ahead", "ahead", "ahead"]
    over = replace(standing("from zero", "2"), finished=True)
    assert [over.mark(phase) for phase in over.ordered] == ["done", "done", "done"]


PROVING = Track(
    tuple(Phase(label, proof=(Field(f"of {label}"),)) for label in ("1", "2", "3.A", "3.B", "4"))
)


@pytest.mark.parametrize(
    ("at", "to", "due"),
    [
        (None, "1", ()),
        ("1", "1", ()),
        ("1", "2", ("of 1",)),
        ("2", "1", ()),
        ("1", "4", ("of 1",)),
        ("2", "2.1", ("of 2",)),
        ("3.B", "3.A", ()),
        ("3.A", "3.B", ("of 3.A",)),
    ],
)
def test_proof_is_due_on_leaving_forward(at: str | None, to: str, due: tuple[str, ...]) -> None:
    """Never on going back or restarting; approval does not waive it."""
    current = PROVING.find(at) if at else None
    judged = rules.go(replace(PROVING, current=current), to, approved="yes")
    assert isinstance(judged, Transition)
    assert tuple(field.name for field in judged.due) == due


def test_a_track_ends_at_its_last_phase() -> None:
    """Finishing asks for the proof of the last phase, and is refused before it."""
    last = rules.finish(replace(PROVING, current=PROVING.find("4")))
    assert isinstance(last, Transition)
    assert [field.name for field in last.due] == ["of 4"]
    early = rules.finish(replace(PROVING, current=PROVING.find("2")))
    assert early == Refusal("3.A still lies ahead; go there first")
    assert isinstance(rules.finish(PROVING), Refusal)


def test_what_only_a_person_lets_pass_is_not_said_to_be_allowed() -> None:
    """Nobody is sent from one refusal to the next."""
    phases = Phase("1", "A"), Phase("2", "B", approval="person"), Phase("2.1", "B1"), Phase("4")
    refused = rules.go(Track(phases, current=phases[0]), "4")
    assert isinstance(refused, Refusal)
    assert "allowed now: 1: A, 2: B; for" in refused.reason


def test_who_leaves_a_phase_that_wants_a_person() -> None:
    """Only leaving it needs one; entering it, or beginning it anew, does not."""
    track = Track((Phase("1"), Phase("2", approval="person"), Phase("3")))
    moves = [("1", "2", False), ("2", "2", False), ("2", "3", True), ("2", "1", True)]
    for at, to, needs in moves:
        judged = rules.go(replace(track, current=track.find(at)), to, approved="yes")
        assert isinstance(judged, Transition)
        assert judged.needs_person is needs


@pytest.mark.parametrize(
    ("at", "recorded", "to", "guards"),
    [
        ("1", None, "2.1", ""),
        ("1", None, "2.2", ""),
        ("2.1", None, "2.3", "2.2"),
        ("2.1", None, "2.2.5", "2.2"),
        ("1", None, "4", "2.2 3.A.1"),
        ("2.3", None, "3.A", ""),
        ("2.3", None, "3.A.2", "3.A.1"),
        ("2.3", None, "3.B", ""),
        ("3.B", None, "4", ""),
        ("3.B", None, "3.A.2", "3.A.1"),
        ("3.A", None, "4", "3.A.1"),
        ("3.C", None, "4", ""),
        ("2.3", None, "3.C", "3.A.1"),
        ("4", None, "2.3", ""),
        ("2.2", None, "2.1", "2.2"),
        ("2.2", None, "2.2", ""),
        ("4", "2.1", "4", "2.2 3.A.1"),
        ("2.1", "4", "2.3", "2.2"),
        ("2.3", "2.2", "3.B", "2.2"),
        ("3.B", "", "4", "2.2 3.A.1"),
        (None, None, "2.3", "2.2"),
    ],
)
def test_what_only_a_person_opens_is_left_or_passed_over(
    at: str | None, recorded: str | None, to: str, guards: str
) -> None:
    """By whichever move, and wherever the file and the journal have the track."""
    guarded = ("2.2", "3.A.1")
    labels = ("1", "2.1", "2.2", "2.3", "3.A", "3.A.1", "3.A.2", "3.B", "3.C", "4")
    phases = [Phase(n, approval="person" if n in guarded else "") for n in labels]
    track = Track(tuple(phases), recorded=recorded, added=("3.C",))
    track = replace(track, current=track.find(at) if at else None)
    found = rules.find_guards(track, to)
    assert " ".join(phase.label for phase in found) == guards


# -- any track -----------------------------------------------------------------------------------

_SEGMENTS = st.one_of(st.integers(0, 12).map(str), st.sampled_from(("A", "B", "C", "AA")))
LABELS = st.builds(
    lambda first, more: ".".join([str(first), *more]),
    st.integers(0, 12),
    st.lists(_SEGMENTS, max_size=2),
)


@st.composite
def tracks(draw: st.DrawFn) -> Track:
    """Any phases, standing anywhere."""
    labels = draw(st.lists(LABELS, min_size=1, max_size=8, unique=True))
    at = draw(st.one_of(st.none(), st.sampled_from(labels), LABELS))
    phases = tuple(Phase(label) for label in labels)
    current = next((p for p in phases if p.label == at), Phase(at) if at else None)
    return Track(phases, current)


@given(tracks(), LABELS)
def test_whatever_the_track(track: Track, to: str) -> None:
    """What is free needs no approval, next and again are free, and back never is."""
    judged = rules.go(track, to)
    assert isinstance(judged, Transition) == (not rules.objection(track, to))
    assert isinstance(rules.go(track, to, approved="yes"), Transition)
    if track.next is not None:
        assert track.next in track.free
    if track.current is not None:
        here = track.current.label
        assert not rules.objection(track, here)
        assert all(rules.order(phase.label) >= rules.order(here) for phase in track.free)
        ahead = sorted(
            {rules.major(p.label) for p in track.phases} - {*range(rules.major(here) + 1)}
        )
        reach = (rules.major(here), *ahead[:1])
        assert all(rules.major(phase.label) in reach for phase in track.free)


@given(LABELS, LABELS)
def test_labels_are_ordered_and_branches_mutual(one: str, other: str) -> None:
    """Two labels are the same or one comes first; to be alternatives is mutual."""
    assert (rules.order(one) == rules.order(other)) == (one == other)
    assert rules.alternatives(one, other) == rules.alternatives(other, one)
    assert not rules.alternatives(one, one)
