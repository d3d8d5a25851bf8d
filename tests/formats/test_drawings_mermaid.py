"""A tree as a Mermaid flowchart, read back by the real Mermaid."""

from __future__ import annotations

from typing import Any

import node_judges
from quandary.formats import drawings
from quandary.formats.drawings import nodes
from quandary.model.text import printable
from quandary.model.tree import Decision, Option, Tree
from strategies import HOSTILE, gathered

PLAN_REVIEW = Tree(
    "Plan Review",
    (
        Decision(
            "Plan Review",
            (
                Option("OK", "Looks good", "Nothing to change"),
                Option("TAG", "Tag it", multi=True),
                Option("LATER", "Later", derived=True),
                Option("OTH", "Other", options=(Option("SPL", "Split this step"),)),
            ),
        ),
    ),
)


def judge(trees: list[Tree]) -> list[dict[str, Any]]:
    """What Mermaid makes of each tree's flowchart."""
    return node_judges.judge("mermaid", map(drawings.tree_as_mermaid, trees))


def picture(tree: Tree) -> dict[str, Any]:
    """What Mermaid should make of the tree."""
    return {
        "ok": True,
        "labels": [node.caption.strip() for node in nodes(tree)],
        "edges": [[node.parent, node.id] for node in nodes(tree) if node.parent],
    }


def test_a_tree_is_a_flowchart_from_left_to_right() -> None:
    """Decisions are hexagons, branches boxes, leaves rounded, and OTH has a class of its own."""
    expected = """\
flowchart LR
  n1{{"Plan Review"}}
  n1 --> n2("#91;OK#93; Looks good")
  n1 --> n3("#91;TAG#93; #9744; Tag it")
  n1 --> n4("#40;LATER#41; Later")
  n1 --> n5["#91;OTH#93; Other"]
  n5 --> n6("#91;SPL#93; Split this step")
  classDef other stroke-dasharray:4 3
  class n5 other
"""
    assert expected == drawings.tree_as_mermaid(PLAN_REVIEW)


def test_every_decision_of_a_tree_is_in_the_picture() -> None:
    """Several decisions stand beside each other."""
    tree = Tree("TWO", (Decision("One", (Option("A", "a"),)), Decision("Two", (Option("B", "b"),))))
    expected = """\
flowchart LR
  n1{{"One"}}
  n1 --> n2("#91;A#93; a")
  n3{{"Two"}}
  n3 --> n4("#91;B#93; b")
"""
    assert expected == drawings.tree_as_mermaid(tree)


def test_mermaid_reads_any_tree_as_it_was_written() -> None:
    """Whatever a tree says, Mermaid finds the same words and the same branches."""
    trees = gathered(150)
    assert [picture(tree) for tree in trees] == judge(trees)


def test_mermaid_reads_hostile_text_as_text() -> None:
    """No text in a name, label, description or code breaks out of its shape."""
    trees = [
        Tree(text, (Decision(text, (Option("A", text, text), Option(text, "b", text))),))
        for text in HOSTILE
    ]
    expected = [
        [printable(text).strip(), f"[A] {printable(text)}".strip(), f"[{printable(text)}] b"]
        for text in HOSTILE
    ]
    assert expected == [verdict.get("labels", verdict) for verdict in judge(trees)]


def test_mermaid_reads_every_ascii_character_anywhere_in_a_label() -> None:
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


def test_descriptions_stay_out_of_the_picture() -> None:
    """A flowchart shows labels; descriptions would drown them."""
    assert "Nothing" not in drawings.tree_as_mermaid(PLAN_REVIEW)
