"""What drawn shapes and lines mean, whichever program they were drawn with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from quandary.formats.charts import Sheet, direction, meaning, tags_in
from quandary.model.chart import Route, Step

if TYPE_CHECKING:
    from quandary.model.chart import Problem


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("Group 1", "Group 12", "group"), "group"),
        (
            ("Swim Lane", "Swimlane", "AdvancedSwimLaneBlockRotated", "BPMNAdvancedPoolBlock"),
            "container",
        ),
        (("Container", "RectangleContainerBlock", "Pill Container", "Lane", "Frame"), "container"),
        (("Text", "Note", "Sticky Note", "DefaultTextBlockNew", "AutoGrowTextBlock"), "note"),
        (("Curly Brace Note", "BraceNoteBlock", "UserImage2Block", "SVGPathBlock2"), "note"),
        (("Annotation", "Callout", "Hotspot", "Image", "Comment"), "note"),
        (("Process", "Document", "Database", "DefaultSquareBlock", "Context diagram", ""), None),
        (("Notebook", "Planet", "Airplane", "Textile mill"), None),
    ],
)
def test_scenery(names: tuple[str, ...], kind: str | None) -> None:
    """Lanes, containers, groups, notes and pictures, by what they are called in any export."""
    assert [meaning(name)[0] for name in names] == [kind] * len(names)


@pytest.mark.parametrize(
    ("names", "shape"),
    [
        (
            ("Terminator", "TerminatorBlock", "TerminatorBlockV2", "BPMNEvent", "Start"),
            "terminator",
        ),
        (("Decision", "DecisionBlock", "BPMNGateway", "Diamond", "DiamondBlock"), "decision"),
        (
            ("Predefined Process", "PredefinedProcessBlock", "Subprocess", "Subroutine"),
            "subprocess",
        ),
        (
            ("Connector", "ConnectorBlock", "Off-Page Link", "Or", "Merge", "MergeBlock"),
            "connector",
        ),
        (("Process", "ProcessBlock", "Manual Operation", "BPMNActivity", "Order", ""), "process"),
    ],
)
def test_shapes(names: tuple[str, ...], shape: str) -> None:
    """One shape has a name in each export; what nobody knows is a box."""
    assert [meaning(name)[1] for name in names] == [shape] * len(names)


@pytest.mark.parametrize(
    ("ends", "way"),
    [
        (("None", "Arrow"), "forward"),
        (("none", "Generalization"), "forward"),
        (("Slash", "Arrow"), "forward"),
        (("CircleOpen", "Generalization"), "forward"),
        (("None", "Diamond"), "forward"),
        (("Arrow", "None"), "back"),
        (("Arrow", "Slash"), "back"),
        (("Circle", ""), "back"),
        (("Arrow", "Open Arrow"), "both"),
        (("Circle", "Circle"), "both"),
        (("None", "None"), "none"),
        (("", ""), "none"),
    ],
)
def test_directions(ends: tuple[str, str], way: str) -> None:
    """An arrowhead counts before an ornament, and an ornament before nothing."""
    assert direction(*ends) == way


def test_tags() -> None:
    """Commas, semicolons, bars and line breaks part them; blanks are none."""
    assert tags_in(" a b , c;d|e\nf,, ") == ("a b", "c", "d", "e", "f")
    assert tags_in("") == ()


def test_a_sheet_of_plain_steps_is_left_as_it_is() -> None:
    """Nothing is looked at twice where nothing is in doubt."""
    sheet = Sheet("1", "Main", 3)
    sheet.shapes += [Step("a", "A"), Step("b", "B")]
    problems: list[Problem] = []
    sheet.join(Route("a", "b"), "forward", problems)
    sheet.join(Route("a", "b", "x"), "back", problems)
    page = sheet.page(problems)
    assert page.steps == (Step("a", "A"), Step("b", "B"))
    assert page.routes == (Route("a", "b"), Route("b", "a", "x"))
    assert (page.id, page.name, page.line, page.scenery, problems) == ("1", "Main", 3, (), [])
