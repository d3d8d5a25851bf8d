"""Lucid's CSV exports, old and new, neat and mangled."""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import is_linear
from quandary.errors import ParseError
from quandary.formats import drawings
from quandary.formats.charts import lucid, mermaid
from quandary.model.chart import Chart, Page, Problem, Route, Scenery, Step, check
from strategies import lines

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = (
    "Id,Name,Shape Library,Page ID,Contained By,Group,Line Source,Line Destination,Source Arrow,"
    "Destination Arrow,Status,Text Area 1,Text Area 2,Comments,Tags,validatecli,Id"
)
EXPORT = f"""\
{HEADER}
1,Document,,,,,,,,,Draft,Onboarding,,,,,
2,Page,,,,,,,,,,Main flow,,,,,
3,Terminator,Flowchart Shapes,2,,,,,,,,Start,,,,,
4,Process,Flowchart Shapes,2,,,,,,,,Create the account,,,"CODEX, NoValidation",GEMINI,A-1
5,Decision,Flowchart Shapes,2,,,,,,,,Is it active?,,,,,
6,Terminator,Flowchart Shapes,2,,,,,,,,End,,,,,
7,Line,,2,,,3,4,None,Arrow,,,,,,,
8,Line,,2,,,4,5,None,Arrow,,,,,,,
9,Line,,2,,,5,6,None,Arrow,,Yes,,,,,
10,Line,,2,,,5,4,None,Arrow,,No,,,,,
"""


def read(text: str) -> tuple[Chart, list[Problem]]:
    """The chart in an export."""
    return lucid.read_csv(text, "to/some.csv")


def page(text: str) -> Page:
    """The one page of an export in which nothing is odd."""
    chart, problems = read(text)
    assert problems == []
    (found,) = chart.pages
    return found


def rows(*written: str) -> str:
    """An export with these rows: id, name, page and anything else by the name of its column."""
    columns = HEADER.split(",")
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    for row in written:
        cells = [""] * len(columns)
        cells[0], cells[1], cells[3], *more = (*row.split("|", 3), "")[:4]
        for said in filter(None, (more or [""])[0].split("|")):
            name, _, value = said.partition("=")
            cells[columns.index(name)] = value.replace("¦", "|")
        writer.writerow(cells)
    return out.getvalue()


def steps(text: str) -> list[str]:
    """The ids of the steps."""
    return [step.id for step in read(text)[0].pages[0].steps]


def edges(text: str) -> list[str]:
    """The routes, written in short."""
    found = read(text)[0].pages[0].routes
    return [f"{r.source}>{r.target}" + (f":{r.label}" if r.label else "") for r in found]


A, B = "a|Process|2|Text Area 1=Do a", "b|Process|2|Text Area 1=Do b"


def test_an_export() -> None:
    """Document, page, shapes and lines, with tags, data and the lines of the file."""
    chart, problems = read(EXPORT)
    assert problems == []
    assert check(chart) == ()
    assert (chart.name, len(chart.pages)) == ("Onboarding", 1)
    data = {"validatecli": "GEMINI", "Id": "A-1"}
    assert chart.pages[0] == Page(
        "2",
        "Main flow",
        (
            Step("3", "Start", "terminator"),
            Step("4", "Create the account", "process", ("CODEX", "NoValidation"), data),
            Step("5", "Is it active?", "decision"),
            Step("6", "End", "terminator"),
        ),
        (Route("3", "4"), Route("4", "5"), Route("5", "6", "Yes"), Route("5", "4", "No")),
    )
    assert [step.line for step in chart.pages[0].steps] == [4, 5, 6, 7]
    assert [route.line for route in chart.pages[0].routes] == [8, 9, 10, 11]


@pytest.mark.parametrize(
    "changed",
    [
        "\ufeff" + EXPORT,
        EXPORT.replace("\n", "\r\n"),
        EXPORT.replace("\n", "\r"),
        "sep=,\n" + EXPORT,
        "\n\n" + EXPORT.replace("\n", "\n\n"),
        EXPORT.replace("\n7,Line", "\n,,,,,,,,,,,,,,,,\n7,Line"),
        EXPORT.replace(",", ";").replace("CODEX; ", "CODEX, "),
        EXPORT.replace(",", "\t").replace("CODEX\t ", "CODEX, "),
        EXPORT.replace(",", ", "),
        EXPORT.replace(",,,,,\n", "\n"),
        EXPORT.replace("Line Source", "source").replace("Line Destination", "Target"),
        EXPORT.replace("Page ID", "page id").replace("Text Area 1", "TEXT AREA 1"),
        EXPORT.replace("Source Arrow", "SourceArrow").replace("Tags", "Tag"),
        EXPORT.replace("Line", "line").replace("Page,", "PAGE,"),
    ],
    ids=lambda text: repr(text[:24]),
)
def test_one_export_in_many_guises(changed: str) -> None:
    """Byte order marks, newlines, separators, missing cells, spellings: it is the same chart."""
    assert read(changed)[0] == read(EXPORT)[0]


def test_older_exports() -> None:
    """No row for the document, no status, tags or data; the file gives the name."""
    header = "Id,Name,Shape Library,Page ID,Contained By,Group,Line Source,Line Destination,"
    header += "Source Arrow,Destination Arrow,Text Area 1"
    text = (
        f"{header}\n1,Page,,,,,,,,,Page 1\n2,Process,,1,,,,,,,Do it\n3,Block,,1,,,,,,,Then this\n"
    )
    chart, problems = read(f"{text}4,Line,,1,,,2,3,None,Arrow,\n")
    assert problems == []
    assert chart.name == "some"
    assert [step.text for step in chart.pages[0].steps] == ["Do it", "Then this"]
    assert [(route.source, route.target) for route in chart.pages[0].routes] == [("2", "3")]


def test_the_least_that_is_needed() -> None:
    """Ids and names; the rest may be missing, and then there is nothing to say."""
    chart, _ = read("Id,Name\n1,Process\n")
    assert [page.steps for page in chart.pages] == [()]
    chart, _ = read("Id,Name,Text\n1,Process,Do it\n2,Document,Write it\n")
    assert [step.text for step in chart.pages[0].steps] == ["Do it"]
    text = (
        "Id,Name,Line Source,Line Destination,Text Area 1\n1,Process,,,A\n2,Box,,,B\n3,Line,1,2,\n"
    )
    chart, problems = read(text)
    assert (len(chart.pages[0].steps), len(chart.pages[0].routes), problems) == (2, 1, [])


def test_a_shape_called_document_is_no_title() -> None:
    """The flowchart has such a shape; it stands on a page."""
    text = rows("1|Document||Text Area 1=Title", "2|Page||", "3|Document|2|Text Area 1=Write it")
    chart, _ = read(text)
    assert chart.name == "Title"
    assert [step.text for step in chart.pages[0].steps] == ["Write it"]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("Process", "process"),
        ("Decision", "decision"),
        ("Terminator", "terminator"),
        ("Predefined Process", "subprocess"),
        ("Manual Input", "process"),
        ("Data (I/O)", "process"),
        ("Multi-Document", "process"),
        ("Block", "process"),
        ("Rectangle", "process"),
        ("Diamond", "decision"),
        ("Connector", "connector"),
        ("Off-Page Link", "connector"),
        ("", "process"),
        ("Фигура", "process"),
    ],
)
def test_shapes(name: str, shape: str) -> None:
    """The name of a shape says how it is drawn; one that nobody knows is a box."""
    found = page(rows("2|Page||", f"3|{name}|2|Text Area 1=Do it"))
    assert [step.shape for step in found.steps] == [shape]


def test_start_and_end_are_terminators_in_any_box() -> None:
    """Many draw them as circles; where a data field has the task, the text is only a title."""
    found = page(
        "Id,Name,Text Area 1,prompt\n1,Circle, start!\n2,Oval,End\n3,Oval,End,Say thanks\n"
    )
    assert [step.shape for step in found.steps] == ["terminator", "terminator", "process"]
    (end,) = page("Id,Name,Text Area 1,cli,owner\n1,Circle,Stop,,Ann\n").steps
    assert end.shape == "terminator"
    assert page("Id,Name,Text Area 1\n1,Decision,Stop\n").steps[0].shape == "decision"


@pytest.mark.parametrize("cell", ["HUMAN,votes", "HUMAN; votes", "HUMAN|votes", "HUMAN\nvotes,"])
def test_a_cell_with_several_tags(cell: str) -> None:
    """However they are separated."""
    text = EXPORT.replace("CODEX, NoValidation", cell)
    assert page(text).steps[1].tags == ("HUMAN", "votes")


def test_data_fields() -> None:
    """Every further column; two of one name are spellings of it, and what is empty is left out."""
    text = (
        "Id,Name,Page ID,Text Area 1,Id,cli,cli,,name\n1,Process,,Do it,X,CODEX,GEMINI,lost,Doer\n"
    )
    (step,) = page(text).steps
    assert step.metadata == {"Id": "X", "cli": "CODEX", "cli_": "GEMINI", "name": "Doer"}
    assert step.name == "Doer"
    assert page(text.replace("CODEX", "")).steps[0].field("cli") == "GEMINI"


def test_a_data_field_that_is_called_like_a_column() -> None:
    """Where the real column is there, the other one is data."""
    text = "Id,Name,Line Source,Text Area 1,source,Text\n1,Process,,Do it,web,more\n"
    assert page(text).steps == (Step("1", "Do it", metadata={"source": "web", "Text": "more"}),)


def test_several_text_areas() -> None:
    """The first with something in it is the text; others and comments are notes."""
    text = rows(
        "2|Page||",
        "3|Process|2|Text Area 1=Do it|Text Area 2=Soon|Comments=Why?",
        "4|Process|2|Text Area 2=Do that",
        "5|Line|2|Line Source=3|Line Destination=4|Destination Arrow=Arrow|Text Area 2=Yes",
        "6|Process|2|Comments=Only a comment",
        "7|Line|2|Line Source=4|Line Destination=6|Destination Arrow=Arrow|Comments=not a label",
    )
    found = page(text)
    assert found.steps == (
        Step("3", "Do it", notes=("Soon", "Why?")),
        Step("4", "Do that"),
        Step("6", notes=("Only a comment",)),
    )
    assert edges(text) == ["3>4:Yes", "4>6"]


def test_the_name_of_a_route_is_its_text_or_else_its_tag() -> None:
    """A text counts more; of several tags, the first."""
    line = "{}|Line|2|Line Source=a|Line Destination=b|Destination Arrow=Arrow|{}"
    texts = ("Text Area 1=Yes|Tags=No", "Tags=No", "Tags=No;Never", "Text Area 1=  |Tags=No", "")
    lines = [line.format(n, said) for n, said in enumerate(texts, 10)]
    assert edges(rows("2|Page||", A, B, *lines)) == ["a>b:Yes", *["a>b:No"] * 3, "a>b"]


@pytest.mark.parametrize(
    ("tail", "head", "expected", "rules"),
    [
        ("None", "Arrow", "a>b", []),
        ("", "Arrow", "a>b", []),
        ("None", "Open Arrow", "a>b", []),
        ("Arrow", "None", "b>a", []),
        ("Arrow", "", "b>a", []),
        ("CircleOpen", "Hollow Arrow", "a>b", []),
        ("None", "CircleOpen", "a>b", []),
        ("Arrow", "Arrow", "a>b", ["two-way"]),
        ("None", "None", "a>b", ["no-arrow"]),
    ],
)
def test_arrows(tail: str, head: str, expected: str, rules: list[str]) -> None:
    """A line leads to its arrowhead, wherever that is; without one, the way it was drawn."""
    ends = f"Line Source=a|Line Destination=b|Source Arrow={tail}|Destination Arrow={head}"
    text = rows("2|Page||", A, B, f"9|Line|2|{ends}")
    assert edges(text) == [expected]
    _, problems = read(text)
    assert [problem.rule for problem in problems] == rules
    assert all(problem.line == 5 for problem in problems)


@pytest.mark.parametrize("end", ["Line Source=a", "Line Destination=a", "Line Source=99", ""])
def test_lines_without_ends(end: str) -> None:
    """They are kept as drawn, so that the check can name the shape at the other end."""
    text = rows("2|Page||", A, f"9|Line|2|{end}|Destination Arrow=Arrow")
    chart, problems = read(text)
    assert problems == []
    (problem, *_) = check(chart)
    assert problem.rule == ("line-to-nowhere" if end else "loose-line")
    assert problem.line == 4
    assert ("“Do a” (a)" in problem.message) == end.endswith("=a")


def test_several_pages() -> None:
    """Each has its shapes and lines; one that was never declared is a page, too."""
    text = rows(
        *("2|Page||Text Area 1=One", "3|Page||Text Area 1=Two", "4|Page||Text Area 1=Empty"),
        *("a|Process|2|Text Area 1=A", "b|Process|3|Text Area 1=B", "c|Process|9|Text Area 1=C"),
    )
    chart, _ = read(text)
    found = {page.name: [step.text for step in page.steps] for page in chart.pages}
    assert found == {"One": ["A"], "Two": ["B"], "Empty": [], "": ["C"]}
    assert [page.id for page in chart.pages] == ["2", "3", "4", "9"]


def test_containers_groups_and_lanes_are_no_steps() -> None:
    """They are remembered; a step knows the title of its lane if that is sure."""
    text = rows(
        "2|Page||",
        "3|Swim Lane|2|Text Area 1=Sales",
        "4|Advanced Swim Lane|2|Text Area 1=Left|Text Area 2=Right",
        "5|Rounded Rectangle Container|2|Text Area 1=Box",
        "6|Group 1|2|",
        "a|Process|2|Text Area 1=A|Contained By=3",
        "b|Process|2|Text Area 1=B|Contained By=4|Group=6",
        "c|Process|2|Text Area 1=C|Contained By=4:2",
        "d|Process|2|Text Area 1=D|Contained By=3¦5",
    )
    found = page(text)
    assert {step.id: step.lane for step in found.steps} == {
        "a": "Sales",
        "b": "",
        "c": "Right",
        "d": "Box",
    }
    assert found.scenery == (
        Scenery("3", "container", "Sales"),
        Scenery("4", "container", "Left | Right"),
        Scenery("5", "container", "Box"),
        Scenery("6", "group"),
    )


def test_a_box_around_steps_is_a_container() -> None:
    """Unless lines lead to it: then it is a step that something was put on."""
    box = "x|Block|2|Text Area 1=Phase one"
    inside = f"{A}|Contained By=x"
    assert steps(rows("2|Page||", box, inside, B)) == ["a", "b"]
    line = "9|Line|2|Line Source=x|Line Destination=b|Destination Arrow=Arrow"
    assert steps(rows("2|Page||", box, inside, B, line)) == ["x", "a", "b"]


@pytest.mark.parametrize("name", ["Text", "Note", "Sticky Note", "Annotation", "MinimalTextBlock"])
def test_notes_are_no_steps(name: str) -> None:
    """Nor is a line from a note to what it is about a route, with a head or without."""
    note = f"n|{name}|2|Text Area 1=Remember this"
    plain = "9|Line|2|Line Source=n|Line Destination=a|Source Arrow=None|Destination Arrow=None"
    pointing = "10|Line|2|Line Source=n|Line Destination=b|Destination Arrow=Arrow"
    chart, (problem,) = read(rows("2|Page||", A, B, note, plain, pointing))
    (found,) = chart.pages
    assert [step.id for step in found.steps] == ["a", "b"]
    assert (problem.rule, problem.severity, problem.steps) == ("note-arrow", "warning", ("n",))
    assert problem.message.startswith("“Remember this” is taken for a note")
    assert found.routes == ()
    assert found.scenery == (Scenery("n", "note", "Remember this"),)


def test_a_text_that_an_arrow_leads_to_is_a_step() -> None:
    """Some people draw with nothing but words and arrows, and one that says Start is the start."""
    text = rows(
        *("2|Page||", "s|Text|2|Text Area 1=Start", "n|Text|2|Text Area 1=Work"),
        "9|Line|2|Line Source=s|Line Destination=n|Destination Arrow=Arrow",
    )
    assert steps(text) == ["s", "n"]
    assert edges(text) == ["s>n"]


@pytest.mark.parametrize("name", ["Text", "MinimalTextBlock", "Sticky Note"])
def test_a_chart_of_words_and_arrows_keeps_its_first_step(name: str) -> None:
    """A text with an arrow to another one is a step, and so is one with labels on its ways out."""
    words = [f"{key}|{name}|2|Text Area 1=Do {key}" for key in "xyz"]
    line = "{}|Line|2|Line Source={}|Line Destination={}|Destination Arrow=Arrow|Text Area 1={}"
    chain = rows("2|Page||", *words, line.format(8, "x", "y", ""), line.format(9, "y", "z", "ok"))
    assert (steps(chain), edges(chain)) == (["x", "y", "z"], ["x>y", "y>z:ok"])
    ways = line.format(8, "x", "a", "Yes"), line.format(9, "x", "b", "No")
    assert steps(rows("2|Page||", A, B, words[0], *ways)) == ["a", "b", "x"]
    mixed = line.format(8, "x", "a", ""), line.format(9, "a", "y", "")
    assert steps(rows("2|Page||", A, *words[:2], *mixed)) == ["a", "x", "y"]
    remark = line.format(10, "z", "y", ""), line.format(11, "b", "a", "")
    assert steps(rows("2|Page||", A, B, *words[1:], *mixed, *remark)) == ["a", "b", "y", "z"]


def test_a_task_in_a_connector_is_warned_about() -> None:
    """Nobody is called there; a letter, a word, or the name of another connector is no task."""
    line = "9|Line|2|Line Source=c|Line Destination=b|Destination Arrow=Arrow"
    drawn = ("2|Page||", A, B, line)
    for text, rule in (("Send the mail", ["connector-text"]), ("A", []), ("Merge", [])):
        _, problems = read(rows(*drawn, f"c|Connector|2|Text Area 1={text}"))
        assert [problem.rule for problem in problems] == rule
    into = "10|Line|2|Line Source=a|Line Destination=d|Destination Arrow=Arrow"
    pair = [f"{key}|Connector|2|Text Area 1=See below" for key in "cd"]
    chart, problems = read(rows(*drawn, into, *pair))
    assert problems == []
    assert mermaid.read(drawings.chart_as_mermaid(chart), "x.mmd")[1] == []


def test_decoration_is_no_step() -> None:
    """A shape with nothing in it and no line to it is only for the eye; with a line it counts."""
    assert steps(rows("2|Page||", A, "x|SVGPathBlock2|2|", "y|Process|2|")) == ["a"]
    line = "9|Line|2|Line Source=a|Line Destination=y|Destination Arrow=Arrow"
    assert steps(rows("2|Page||", A, "y|Process|2|", line)) == ["a", "y"]


def test_connectors_with_one_letter_are_one_place() -> None:
    """Where one ends, the other goes on; where it is not clear which, nothing is made up."""
    drawn = [
        *("2|Page||", A, B, "c|Connector|2|Text Area 1=1", "d|Connector|2|Text Area 1=1"),
        "8|Line|2|Line Source=a|Line Destination=c|Destination Arrow=Arrow",
        "9|Line|2|Line Source=d|Line Destination=b|Destination Arrow=Arrow",
    ]
    assert edges(rows(*drawn)) == ["a>c", "d>b", "c>d"]
    assert check(read(rows(*drawn))[0]) == ()
    more = ["e|Connector|2|Text Area 1=1", drawn[-1].replace("9|", "10|").replace("=d", "=e")]
    assert edges(rows(*drawn, *more)) == ["a>c", "d>b", "e>b"]


def test_a_connector_that_goes_on_nowhere_is_warned_about() -> None:
    """A run would end there, as at a link to another page, with what comes behind it undone."""
    line = "8|Line|2|Line Source=a|Line Destination=c|Destination Arrow=Arrow"
    drawn = ("2|Page||", A, "c|Off-Page Link|2|Text Area 1=B", line)
    beyond = (
        "3|Page||",
        *("d|Off-Page Link|3|Text Area 1=B", "b|Process|3|Text Area 1=Go on"),
        "9|Line|3|Line Source=d|Line Destination=b|Destination Arrow=Arrow",
    )
    for further in ((), beyond):
        _, problems = read(rows(*drawn, *further))
        assert [(found.rule, found.steps) for found in problems] == [("connector-end", ("c",))]
    here = ("d|Off-Page Link|2|Text Area 1=b", B, line.replace("=a", "=d").replace("=c", "=b"))
    assert read(rows(*drawn, *here))[1] == []


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        ("Text Area 1=Main", "Main"),
        ("Text Area 2=Main", "Main"),
        ("Text Area 1=Main|Text Area 2=Part", "Main | Part"),
    ],
)
def test_a_page_is_called_by_all_its_texts(texts: str, name: str) -> None:
    """Whichever of its areas they stand in."""
    chart, problems = read(rows(f"2|Page||{texts}", A))
    assert [page.name for page in chart.pages] == [name]
    assert problems == []


def test_two_pages_with_one_id() -> None:
    """The name of neither is lost."""
    (problem,) = read(rows("2|Page||Text Area 1=Old", A, "2|Page||Text Area 1=New"))[1]
    assert (problem.rule, problem.severity, problem.steps) == ("duplicate-id", "error", ("2",))
    assert "Old and New" in problem.message


def test_more_cells_than_columns() -> None:
    """They are left out, and that is said."""
    (problem,) = read(EXPORT.replace("Is it active?,,,,,", "Is it active?,,,,,,more,"))[1]
    assert (problem.rule, problem.severity, problem.line) == ("extra-cells", "warning", 6)
    assert "more" in problem.message


def test_texts_are_texts() -> None:
    """Markup, commands and entities stay what they are, in texts of any length."""
    hostile = '<b onclick="x">$(rm -rf /) `id` &amp; \x1b[31m</b>\nsecond line'
    for text in (hostile, "x" * 1_000_000, "=1+1", "'; DROP TABLE"):
        out = io.StringIO()
        csv.writer(out).writerows([["Id", "Name", "Text Area 1"], ["1", "Process", text]])
        assert page(out.getvalue()).steps[0].text == text


def test_lines_are_counted_through_cells_of_several_lines() -> None:
    """A row begins where its first cell begins."""
    text = EXPORT.replace("Create the account", '"Create\nthe\naccount"')
    found = page(text)
    assert [step.line for step in found.steps] == [4, 5, 8, 9]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "to/some.csv:1: there is no column Id"),
        ("just prose\n", "to/some.csv:1: there is no column Id"),
        ("Id,Text\n1,x\n", "to/some.csv:1: there is no column Name"),
        (EXPORT + '11,Process,,2,,,,,,,,"open\nand\nso on\n', "to/some.csv:12: a quotation mark"),
    ],
)
def test_what_cannot_be_read(text: str, said: str) -> None:
    """One line says what and where, and what to do."""
    with pytest.raises(ParseError) as error:
        read(text)
    assert str(error.value).startswith(said)
    assert "export" in str(error.value)


def test_a_quotation_mark_within_a_cell() -> None:
    """It is not always doubled, and what is meant is clear."""
    assert page('Id,Name,Text Area 1\n1,Process,a 5" pipe\n').steps[0].text == 'a 5" pipe'


CELLS = st.one_of(
    st.sampled_from(["", "1", "2", "3", "Line", "Page", "Document", "Process", "Note", "Group 1"]),
    st.sampled_from(["Arrow", "None", "Decision", "Connector", "Swim Lane", "2|3", "2:1", "Start"]),
    st.text(st.characters(codec="utf-8"), max_size=6),
)


@given(st.lists(st.lists(CELLS, max_size=18), max_size=8))
def test_anything_is_read_somehow(cells: list[list[str]]) -> None:
    """Whatever stands below the header: a chart that can be checked, and no exception."""
    out = io.StringIO()
    csv.writer(out).writerows([HEADER.split(","), *cells])
    chart, problems = read(out.getvalue())
    check(chart)
    assert all(problem.message for problem in problems)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_text_is_a_chart_or_an_error(text: str) -> None:
    """Nothing but a clear error comes of what is no CSV."""
    for whole in (text, f"Id,Name\n{text}"):
        with suppress(ParseError):
            assert read(whole)[0].name


@given(
    st.lists(st.tuples(lines(), st.booleans()), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), lines()), max_size=8),
)
def test_what_was_drawn_is_read(
    shapes: list[tuple[str, bool]], arrows: list[tuple[int, int, str]]
) -> None:
    """Every shape with a text is a step, every arrow a route, in order and as written."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(HEADER.split(","))
    for n, (text, round_) in enumerate(shapes):
        name = "Terminator" if round_ else "Process"
        writer.writerow([f"s{n}", name, "", "2", *[""] * 7, text, *[""] * 5])
    ends = [(f"s{a}", f"s{b}", label) for a, b, label in arrows]
    for source, target, label in ends:
        row = ["x", "Line", "", "2", "", "", source, target, "None", "Arrow", "", label]
        writer.writerow([*row, *[""] * 5])
    found = page(out.getvalue())
    assert [(step.id, step.text) for step in found.steps] == [
        (f"s{n}", text) for n, (text, _) in enumerate(shapes)
    ]
    assert [(r.source, r.target, r.label) for r in found.routes] == ends


KINDS: dict[str, Callable[[int], str]] = {
    "boxes": lambda n: "".join(f"{i},Process,,2,,,,,,,,Do {i},,,,,\n" for i in range(n)),
    "notes": lambda n: "".join(f"{i},Note,,2,,,,,,,,See {i},,,A;B,x,y\n" for i in range(n)),
    "lines": lambda n: "".join(
        f"{i},Line,,2,,,{i},{i + 1},Arrow,Arrow,,x,,,,,\n" for i in range(n)
    ),
    "headless": lambda n: "".join(f"{i},Line,,2,,,{i},{i},None,None,,x,,,,,\n" for i in range(n)),
    "pages": lambda n: "".join(f"{i},Page,,,,,,,,,,P{i},,,,,\n" for i in range(n)),
    "inside": lambda n: "".join(f"{i},Block,,2,{i + 1},,,,,,,B,,,,,\n" for i in range(n)),
    "connectors": lambda n: "".join(f"{i},Connector,,2,,,,,,,,A,,,,,\n" for i in range(n)),
    "ragged": lambda n: "1,Process\n" * n,
    "names": lambda n: "".join(f"{i},Name{i},,2,,,,,,,,Do {i},,,t{i},,\n" for i in range(n)),
    "one cell": lambda n: '1,Process,,2,,,,,,,,"' + "x\n" * n + '",,,,,\n',
}


@pytest.mark.parametrize("kind", KINDS)
def test_time_grows_with_the_file(kind: str) -> None:
    """Four times as much takes about four times as long."""
    assert is_linear(lambda n: partial(read, f"{HEADER}\n{KINDS[kind](n)}"), 2000)
