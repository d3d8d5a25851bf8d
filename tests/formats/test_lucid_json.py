"""The contents of Lucid documents as their API gives them."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import Work, is_linear
from quandary.errors import ParseError
from quandary.formats.charts import lucid
from quandary.model.chart import Chart, Page, Problem, Route, Scenery, Step, check

Object = dict[str, Any]


def shape(key: object, kind: str, text: str = "", **more: object) -> Object:
    """A shape with one text."""
    areas = [{"label": "Text", "text": text}] if text else []
    return {"id": key, "class": kind, "textAreas": areas, **more}


def line(source: object, target: object, label: str = "", **more: object) -> Object:
    """A line with its head at its end."""
    return {
        "id": "l",
        "endpoint1": {"style": "None", "connectedTo": source},
        "endpoint2": {"style": "Arrow", "connectedTo": target},
        "textAreas": [{"label": "t0", "text": label}] if label else [],
        **more,
    }


def document(*pages: Object, title: object = "Onboarding") -> str:
    """A document with these pages."""
    return json.dumps({"id": "d", "title": title, "product": "lucidchart", "pages": list(pages)})


def drawn(shapes: list[Object], lines: list[Object] = [], **more: object) -> Object:  # noqa: B006 - never changed
    """A page with these items."""
    return {"id": "p", "title": "Main flow", "items": {"shapes": shapes, "lines": lines, **more}}


def read(text: str) -> tuple[Chart, list[Problem]]:
    """The chart in a document."""
    return lucid.read_json(text, "to/some.json")


def page(shapes: list[Object], lines: list[Object] = [], **more: object) -> Page:  # noqa: B006
    """The page that comes of these items, in which nothing is odd."""
    chart, problems = read(document(drawn(shapes, lines, **more)))
    assert problems == []
    return chart.pages[0]


SHAPES = [
    shape("a", "TerminatorBlock", "Start"),
    shape(
        "b",
        "ProcessBlock",
        "Create the account",
        customData=[{"key": "validate_cli", "value": "GEMINI"}, {"key": "retries", "value": 2}],
        tags=["CODEX", "NoValidation"],
    ),
    shape("c", "DecisionBlock", "Is it active?"),
    shape("d", "TerminatorBlock", "End"),
]
LINES = [line("a", "b"), line("b", "c"), line("c", "d", "Yes"), line("c", "b", "No")]


def test_a_document() -> None:
    """Title, pages, shapes with their texts, data and tags, lines with their labels."""
    chart, problems = read(document(drawn(SHAPES, LINES)))
    assert problems == []
    assert check(chart) == ()
    data = {"validate_cli": "GEMINI", "retries": "2"}
    expected = Page(
        "p",
        "Main flow",
        (
            Step("a", "Start", "terminator"),
            Step("b", "Create the account", "process", ("CODEX", "NoValidation"), data),
            Step("c", "Is it active?", "decision"),
            Step("d", "End", "terminator"),
        ),
        (Route("a", "b"), Route("b", "c"), Route("c", "d", "Yes"), Route("c", "b", "No")),
    )
    assert chart == Chart("Onboarding", (expected,))


def test_both_exports_of_a_drawing_say_the_same() -> None:
    """Whether it comes as CSV or as JSON, the steps and routes are the same."""
    text = "Id,Name,Page ID,Line Source,Line Destination,Destination Arrow,Tags,Text Area 1,"
    text += "validate_cli,retries\np,Page,,,,,,Main flow,,\na,Terminator,p,,,,,Start,,\n"
    text += 'b,Process,p,,,,"CODEX,NoValidation",Create the account,GEMINI,2\n'
    text += "c,Decision,p,,,,,Is it active?,,\nd,Terminator,p,,,,,End,,\nx,Line,p,a,b,Arrow,,,,\n"
    text += "x,Line,p,b,c,Arrow,,,,\nx,Line,p,c,d,Arrow,,Yes,,\nx,Line,p,c,b,Arrow,,No,,\n"
    from_csv, _ = lucid.read_csv(text, "x.csv")
    from_json, _ = read(document(drawn(SHAPES, LINES)))
    assert from_csv.pages == from_json.pages


def test_the_text_of_a_shape() -> None:
    """The area labelled Text, else the first that is not empty; the others are notes."""
    areas = [{"label": "Title", "text": "Big"}, {"label": "text", "text": "Do it"}, {"text": 3}]
    (step,) = page([{"id": 1, "class": "ProcessBlock", "textAreas": areas}]).steps
    assert step == Step("1", "Do it", notes=("Big", "3"))
    areas = [{"label": "Text", "text": " "}, {"label": "Other", "text": "Do that"}]
    (step,) = page([{"id": 1, "class": "ProcessBlock", "textAreas": areas}]).steps
    assert step == Step("1", "Do that")


def test_start_and_end_are_terminators_in_any_box() -> None:
    """Many draw them as circles."""
    boxes = [shape("a", "DefaultSquareBlock", "START"), shape("b", "CircleBlock", "Stop.")]
    assert [step.shape for step in page(boxes).steps] == ["terminator", "terminator"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        (3, "3"),
        (3.0, "3"),
        (0.5, "0.5"),
        (True, "true"),
        ([1, "a"], '[1,"a"]'),
        ({"a": None}, '{"a":null}'),
        (10**30, str(10**30)),
    ],
)
def test_data_of_any_kind_is_text(value: object, text: str) -> None:
    """Numbers are written as people write them."""
    (step,) = page(
        [shape("a", "ProcessBlock", "A", customData=[{"key": "k", "value": value}])]
    ).steps
    assert step.metadata == {"k": text}


def test_data_that_says_nothing() -> None:
    """What has no key or no value is left out; a shape's own data comes before linked data."""
    data = [{"key": "a", "value": None}, {"key": "", "value": "x"}, "?", {"key": "b", "value": ""}]
    linked = [{"name": "sheet", "data": [{"key": "cli", "value": "X"}, {"key": "t", "value": 1}]}]
    own = [*data, {"key": "cli", "value": "CODEX"}]
    (step,) = page([shape("a", "Box", "A", customData=own, linkedData=linked)]).steps
    assert step.metadata == {"cli": "CODEX", "t": "1"}


def test_tags_in_one_text() -> None:
    """They may come as a list or not."""
    found = page([shape("a", "Box", "A", tags="x, y"), shape("b", "Box", "B", tags=[1, ""])])
    assert [step.tags for step in found.steps] == [("x", "y"), ("1",)]


def test_lines() -> None:
    """A label is the text, else the tag; a head at the first end turns the line round."""
    shapes = [shape("a", "Box", "A"), shape("b", "Box", "B")]
    back = line("a", "b", endpoint1={"style": "Arrow", "connectedTo": "a"})
    back["endpoint2"] = {"style": "None", "connectedTo": "b"}
    found = page(shapes, [line("a", "b", tags=["Yes"]), line("a", "b", "No", tags=["x"]), back])
    assert found.routes == (Route("a", "b", "Yes"), Route("a", "b", "No"), Route("b", "a"))


@pytest.mark.parametrize("end", [None, {}, {"style": "None"}, "b", {"connectedTo": None}])
def test_lines_without_ends(end: object) -> None:
    """They are kept as drawn, so that the check can name the shape at the other end."""
    found = page([shape("a", "Box", "A")], [line("a", "", endpoint2=end)])
    (problem,) = check(Chart("C", (found,)))
    assert problem.rule == "line-to-nowhere"
    assert "“A” (a)" in problem.message


def test_containers_groups_and_notes_are_no_steps() -> None:
    """What stands in a lane knows its title."""
    shapes = [
        shape("l", "AdvancedSwimLaneBlock", "Sales", contains={"shapes": ["a", "m"], "lines": []}),
        shape("m", "RectangleContainerBlock", "Box", contains={"shapes": ["b"]}),
        shape("a", "ProcessBlock", "A"),
        shape("b", "ProcessBlock", "B"),
        shape("n", "NoteBlock", "Remember"),
        shape("s", "SVGPathBlock2"),
    ]
    found = page(shapes, [line("a", "b")], groups=[{"id": "g", "members": ["a", "b"]}])
    assert {step.id: step.lane for step in found.steps} == {"a": "Sales", "b": "Box"}
    assert found.scenery == (
        Scenery("l", "container", "Sales"),
        Scenery("m", "container", "Box"),
        Scenery("n", "note", "Remember"),
        Scenery("s", "note"),
        Scenery("g", "group"),
    )


def test_several_pages() -> None:
    """Each has an id of its own, given or made."""
    pages = [{**drawn([shape("a", "Box", "A")]), "id": key} for key in ("1", "1", None, "page 2")]
    chart, _ = read(document(*pages, title=None))
    assert chart.name == "some"
    assert len({page.id for page in chart.pages}) == 4
    assert [len(page.steps) for page in chart.pages] == [1, 1, 1, 1]


def test_texts_are_texts() -> None:
    """Markup stays what it is, in texts of any length."""
    for text in ('<p onclick="x">Hello</p> &amp; $(id)', "x" * 1_000_000):
        assert page([shape("a", "Box", text)]).steps[0].text == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ('{"pages": [] ', "not JSON"),
        ("\x00\x01\x02", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"pages":' * 5_000, "nested too deeply"),
        ("[]", "there are no pages in it"),
        ("null", "there are no pages in it"),
        ('{"pages": 3}', "there are no pages in it"),
        ('[{"key": "E1", "title": "An option"}]', "there are no pages in it"),
        ('{"pages": ["\\ud800"]}', "not JSON"),
    ],
)
def test_what_cannot_be_read(text: str, said: str) -> None:
    """One line says what is the matter."""
    with pytest.raises(ParseError, match=f"^to/some.json: {said}") as error:
        read(text)
    assert "\n" not in str(error.value)


TEXT = st.text(st.characters(codec="utf-8"), max_size=3)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), NUMBERS, TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
KEYS = [
    *("id", "title", "class", "text", "textAreas", "label", "customData", "key", "value", "tags"),
    *("endpoint1", "endpoint2", "style", "connectedTo", "contains", "shapes", "lines", "groups"),
]


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6), max_size=3), JSON)
def test_anything_is_read_somehow(things: list[Object], other: object) -> None:
    """Wherever something unexpected stands: a chart that can be checked, no exception."""
    items = {"shapes": [*things, other], "lines": [*things, other], "groups": things}
    for page in ({"items": items}, {"items": other}, {"id": other, "title": other, "items": items}):
        chart, _ = read(document(page, title=other))
        check(chart)
        assert len(chart.pages) == 1


def test_time_grows_with_the_file() -> None:
    """Four times as much takes about four times as long."""

    def prepare(n: int) -> Work:
        shapes = [
            shape(i, "ProcessBlock", f"Do {i}", contains={"shapes": [i + 1]}) for i in range(n)
        ]
        return partial(read, document(drawn(shapes, [line(i, i + 1) for i in range(n)])))

    assert is_linear(prepare, 2000)
