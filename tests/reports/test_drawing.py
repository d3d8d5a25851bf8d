"""Where boxes and lines go."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.reports.html import ACROSS, HEIGHT, WIDTH, Layout, lay_out

MANY = 10_000


def drawn(written: str) -> Layout:
    """The layout of lines that are written `ab bc`."""
    lines = [(ends[0], ends[1]) for ends in written.split()]
    ids = list(dict.fromkeys(end for line in lines for end in line))
    found = lay_out(ids, lines, MANY)
    assert found is not None
    return found


def test_lines_lead_down() -> None:
    """Each box stands below those that lead to it, even by the longest way."""
    boxes = drawn("ab bc cd ad").boxes
    heights = [boxes[key][1] for key in "abcd"]
    assert heights == sorted(set(heights))


def test_a_line_that_leads_back_goes_up() -> None:
    """From the upper side of its source to the lower side of its target."""
    layout = drawn("ab bc ca")
    up = layout.lines[2].points
    assert up[0][1] == layout.boxes["c"][1] - HEIGHT / 2
    assert up[-1][1] == layout.boxes["a"][1] + HEIGHT / 2
    assert up[0][1] > up[-1][1]


def test_a_line_to_its_own_box_is_a_loop() -> None:
    """Beside the box, and within the picture."""
    layout = drawn("ab bb")
    loop = layout.lines[1]
    assert loop.loop
    assert max(x for x, _ in loop.points) <= layout.width


def test_two_lines_between_the_same_boxes_are_apart() -> None:
    """So that both can be seen."""
    first, second = drawn("ab ab").lines
    assert first.points != second.points


def test_a_fork_stands_to_both_sides() -> None:
    """The box above it is in the middle."""
    boxes = drawn("ab ac").boxes
    assert boxes["b"][0] < boxes["a"][0] < boxes["c"][0]
    assert boxes["a"][0] == pytest.approx((boxes["b"][0] + boxes["c"][0]) / 2)


def test_what_would_be_too_large_is_not_laid_out() -> None:
    """Long lines take room in every layer that they pass."""
    ids = [str(n) for n in range(50)]
    lines = [(str(n), str(n + 1)) for n in range(49)] + [("0", "49")] * 10
    assert lay_out(ids, lines, 200) is None
    assert lay_out(ids, lines, 2000) is not None


def test_nothing_is_laid_out_as_nothing() -> None:
    """A page without steps."""
    assert lay_out([], [], MANY) == Layout({}, [], WIDTH / 2, HEIGHT / 2)


@given(st.integers(1, 12), st.data())
def test_boxes_never_overlap_and_lines_end_at_them(count: int, data: st.DataObject) -> None:
    """Whatever leads wherever."""
    ids = [str(n) for n in range(count)]
    ends = st.sampled_from(ids)
    lines = data.draw(st.lists(st.tuples(ends, ends), max_size=20))
    layout = lay_out(ids, lines, MANY)
    assert layout is not None
    assert set(layout.boxes) == set(ids)
    for (x, y), (to_x, to_y) in combinations(layout.boxes.values(), 2):
        assert abs(y - to_y) >= HEIGHT or abs(x - to_x) >= WIDTH + ACROSS - 1e-6
    for x, y in layout.boxes.values():
        assert WIDTH / 2 - 1e-6 <= x <= layout.width
        assert HEIGHT / 2 <= y <= layout.height
    for (source, target), line in zip(lines, layout.lines, strict=True):
        for key, (x, y) in ((source, line.points[0]), (target, line.points[-1])):
            middle_x, middle_y = layout.boxes[key]
            assert abs(x - middle_x) <= WIDTH / 2 + 1e-6
            assert abs(y - middle_y) <= HEIGHT / 2 + 1e-6
    assert lay_out(ids, lines, MANY) == layout
