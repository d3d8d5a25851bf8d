"""A tree as a Graphviz graph, laid out by the real Graphviz."""

from __future__ import annotations

from typing import Any

import node_judges
from quandary.formats import drawings
from quandary.formats.drawings import nodes
from quandary.model.text import printable
from quandary.model.tree import Decision, Option, Tree
from strategies import HOSTILE, gathered

PLAN_REVIEW = Tree(
    "PLAN_REVIEW",
    (
        Decision(
            "Plan Review",
            (
                Option("OK", 'Looks "good"', "Nothing to change"),
                Option("OTH", "Other", options=(Option("OTH", "Other"),)),
            ),
        ),
    ),
)


def judge(trees: list[Tree]) -> list[dict[str, Any]]:
    """What Graphviz makes of each tree's graph."""
    return node_judges.judge("dot", map(drawings.tree_as_dot, trees))


def picture(tree: Tree) -> dict[str, Any]:
    """What Graphviz should make of the tree."""
    return {
        "ok": True,
        "labels": [node.caption for node in nodes(tree)],
        "edges": [[node.parent, node.id] for node in nodes(tree) if node.parent],
    }


def test_a_tree_is_a_graph_from_left_to_right() -> None:
    """Decisions are hexagons, branches boxes, leaves rounded, and OTH is dashed."""
    expected = r"""digraph "PLAN_REVIEW" {
  rankdir=LR
  node [fontname="Helvetica,Arial,sans-serif" fontsize=12]
  edge [arrowsize=0.7]
  n1 [label="Plan Review" shape=hexagon]
  n2 [label="[OK] Looks \"good\"" shape=box style=rounded]
  n1 -> n2
  n3 [label="[OTH] Other" shape=box style=dashed]
  n1 -> n3
  n4 [label="[OTH] Other" shape=box style="rounded,dashed"]
  n3 -> n4
}
"""
    assert expected == drawings.tree_as_dot(PLAN_REVIEW)


def test_graphviz_reads_any_tree_as_it_was_written() -> None:
    """Whatever a tree says, Graphviz draws the same words and the same branches."""
    trees = gathered(150)
    assert [picture(tree) for tree in trees] == judge(trees)


def test_graphviz_reads_hostile_text_as_text() -> None:
    """No text in a name, label, description or code breaks out of its shape."""
    trees = [
        Tree(text, (Decision(text, (Option("A", text, text), Option(text, "b", text))),))
        for text in HOSTILE
    ]
    expected = [
        [printable(text), f"[A] {printable(text)}".rstrip(" "), f"[{printable(text)}] b"]
        for text in HOSTILE
    ]
    assert expected == [verdict.get("labels", verdict) for verdict in judge(trees)]


def test_graphviz_reads_every_ascii_character_anywhere_in_a_label() -> None:
    """Each character comes back from the start, the middle and the end of a label."""
    marks = [chr(n) for n in range(0x20, 0x7F)]
    options = tuple(Option(f"X{n}", f"{c}a{c}b{c}") for n, c in enumerate(marks))
    tree = Tree("T", (Decision("D", options),))
    assert [picture(tree)] == judge([tree])


def test_deep_and_wide_trees_are_drawn() -> None:
    """A hundred levels, or five hundred options beside each other, are no problem."""
    deep = Option("A", "the end")
    for level in range(99):
        deep = Option("A", f"level {level}", options=(deep, Option("OTH", "Other")))
    wide = tuple(Option(f"C{n}", f"option {n}") for n in range(500))
    empty = Tree("NOTHING")
    trees = [Tree("D", (Decision("Deep", (deep,)),)), Tree("W", (Decision("Wide", wide),)), empty]
    assert [picture(tree) for tree in trees] == judge(trees)
