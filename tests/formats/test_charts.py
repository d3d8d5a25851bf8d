"""Which chart a SOURCE names, which page of it is meant, and what it takes from other files."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from program import DEPLOY
from quandary.errors import NotFound, ParseError, QuandaryError, Rejected
from quandary.formats import charts, drawings, sources
from quandary.model.chart import Map

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "charts").iterdir())
CSV = """\
Id,Name,Page ID,Line Source,Line Destination,Destination Arrow,Text Area 1
1,Page,,,,,One
2,Page,,,,,Two
3,Page,,,,,Empty
4,Process,1,,,,Do it
5,Predefined Process,1,,,,{part}
6,Line,1,4,5,Arrow,
7,Process,2,,,,Do that
"""
JSON = json.dumps(
    {
        "title": "T",
        "pages": [
            {
                "id": "p",
                "items": {"shapes": [{"id": "a", "textAreas": [{"label": "Text", "text": "A"}]}]},
            }
        ],
    }
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose root is the current folder."""
    monkeypatch.chdir(tmp_path)
    put("quandary.toml", "")
    return tmp_path


def put(path: str, text: str) -> None:
    """A file with this text and the folders it is in."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def start(source: str, page: str = "") -> str | None:
    """The name of the page that a run would begin on."""
    chart = charts.read(source, page=page).chart
    first = chart.first if chart.start else None
    return first.name if first else None


# kinds of files


def test_every_kind_of_file() -> None:
    """By its ending, in any case; a tree in Markdown, by file or by name, is a chart, too."""
    put("a.csv", CSV)
    put("b.JSON", JSON)
    put("c.mmd", "flowchart TD\nA --> B")
    put("d.md", DEPLOY)
    counts = {}
    for source in ("a.csv#One", "b.JSON", "c.mmd", "d.md", "d.md#DEPLOY", "DEPLOY"):
        chart = charts.load(source)
        assert chart.first is not None
        counts[source] = len(chart.first.steps)
    assert list(counts.values()) == [2, 1, 2, 7, 7, 7]


@pytest.mark.parametrize(
    "text",
    [
        *(CSV, JSON, "flowchart TD\nA --> B", "---\ntitle: x\n---\ngraph LR\nA"),
        *("%%{init: {\n 'theme': 'dark'\n}}%%\n%% c\ngraph LR\nA", "%%{open\ngraph LR\nA"),
    ],
)
def test_standard_input_is_known_by_its_looks(text: str) -> None:
    """There is no file name to go by."""
    assert sources.chart_ending("-", text)
    assert sources.chart_ending("-", "\ufeff" + text)
    assert charts.read("-", text=text).chart.pages


@pytest.mark.parametrize("text", [DEPLOY, "", "graph theory is nice\n", "# Title\n\nId, Name\n"])
def test_markdown_is_no_drawing(text: str) -> None:
    """What looks like prose is prose."""
    assert not sources.chart_ending("-", text)


def test_what_cannot_be_read() -> None:
    """One line says what and where."""
    put("no.csv", "prose\n")
    put("no.json", "[")
    put("no.mmd", "pie\n")
    Path("bin.csv").write_bytes(b"\x00\x01\x02\xff")
    Path("latin.mmd").write_bytes("flowchart TD\nA[Café]".encode("latin-1"))
    for source in ("no.csv", "no.json", "no.mmd", "bin.csv", "latin.mmd", "gone.csv"):
        with pytest.raises(ParseError) as error:
            charts.load(source)
        assert str(error.value).startswith(source)
        assert "\n" not in str(error.value)


# pages


def test_the_page_that_is_meant() -> None:
    """By name or id, in the SOURCE or beside it."""
    put("a.csv", CSV.format(part="Other"))
    assert start("a.csv#Two") == "Two"
    assert start("a.csv", "Two") == "Two"
    assert start("a.csv", "two") == "Two"
    assert start("a.csv", "1") == "One"
    assert start("a.csv") is None


def test_a_page_that_is_not_there() -> None:
    """The others are named."""
    put("a.csv", CSV)
    with pytest.raises(NotFound, match=r"^a.csv: no page named Six \(2 pages: One, Two\)$"):
        charts.read("a.csv#Six")


@pytest.mark.parametrize(("source", "page"), [("a.csv#One", ""), ("a.csv", "one")])
def test_a_name_that_several_pages_have_names_none(source: str, page: str) -> None:
    """Their ids tell them apart."""
    put("a.csv", CSV.format(part="Other").replace("2,Page,,,,,Two", "2,Page,,,,,One"))
    said = r"^a\.csv: 2 pages are named (One|one) with the ids 1, 2; say which$"
    with pytest.raises(NotFound, match=said):
        charts.read(source, page=page)
    chart = charts.read("a.csv", page="2").chart
    assert chart.first is chart.pages[1]


def test_several_pages_and_none_named() -> None:
    """They can be looked at together, but only one can be walked."""
    put("a.csv", CSV.format(part="Other"))
    assert len(charts.read("a.csv").chart.pages) == 3
    with pytest.raises(NotFound, match=r"^a.csv: say which page is meant, as in --page 'One'"):
        charts.load("a.csv")


def test_the_page_that_no_other_page_runs() -> None:
    """It is the one that is meant, since the others are parts of it."""
    put("a.csv", CSV.format(part="Two"))
    assert start("a.csv") == "One"
    chart = charts.load("a.csv")
    assert chart.first is not None
    called = chart.called(chart.first.steps[1])
    assert called is not None
    assert called.name == "Two"


def test_a_chart_may_say_on_which_page_it_begins() -> None:
    """By its id or its name, where no other is asked for; one that is not there is an error."""
    pages = [
        f'%% quandary: {{"page":{{"id":"{n}","name":"{name}"}}}}'
        for n, name in ((1, "A"), (2, "B"))
    ]
    drawn = "\n".join(f"subgraph s{n}\n{page}\nx{n}[X]\nend" for n, page in enumerate(pages))
    for said, name in (("2", "B"), ("B", "B"), ("1", "A")):
        put("a.mmd", f'flowchart TD\n%% quandary: {{"start":"{said}"}}\n{drawn}')
        assert [page.name for page in [charts.load("a.mmd").first] if page] == [name]
        assert start("a.mmd#A") == start("a.mmd", "1") == "A"
    put("a.mmd", f'flowchart TD\n%% quandary: {{"start":"C"}}\n{drawn}')
    with pytest.raises(NotFound, match=r"^a.mmd: no page named C \(2 pages: A, B\)$"):
        charts.read("a.mmd")


def test_a_chart_of_several_files_is_walked_again_as_mermaid() -> None:
    """It says where it begins, although nothing runs some pages of the other files."""
    put("parts.csv", CSV.format(part="Other"))
    put("top.mmd", "flowchart TD\ns([Start]) --> p[[parts.csv#Two]]")
    whole = charts.load("top.mmd")
    put("again.mmd", drawings.chart_as_mermaid(whole))
    assert charts.load("again.mmd").digest == whole.digest


def test_a_page_without_a_name_or_an_id() -> None:
    """There is one page, and it is meant."""
    put("a.csv", "Id,Name,Text Area 1\n1,Process,Do it\n")
    put("c.mmd", "flowchart TD\nA --> B")
    assert charts.load("a.csv").start == "1"
    assert charts.load("c.mmd").start == "1"


# what is wrong


def test_every_problem_is_said_with_its_place() -> None:
    """Those of the file and those of the chart, in the order of the lines."""
    text = "flowchart TD\nA[Go] --> B\nA --> C\nB --- D\nD foo\n"
    put("c.mmd", text)
    loaded = charts.read("c.mmd")
    several, headless, syntax = map(loaded.said, loaded.problems)
    assert several.startswith("c.mmd:3: error several-unlabelled: “Go” (A) has 2 unlabelled ways ")
    assert headless.startswith("c.mmd:4: warning no-arrow: a line from B to D has no arrowhead; ")
    assert syntax.startswith("c.mmd:5: error syntax: expected an arrow such as --> at “foo”; ")
    with pytest.raises(Rejected) as error:
        charts.load("c.mmd")
    assert str(error.value) == f"{several}; {syntax}"
    assert "\n" not in str(error.value)
    assert error.value.status == 1


def test_what_is_wrong_on_other_pages_does_not_count() -> None:
    """A run never comes there."""
    put("a.csv", f"{CSV}8,Line,2,7,,Arrow,\n9,Line,2,7,7,Arrow,\n")
    assert charts.read("a.csv#One").errors == []
    assert len(charts.read("a.csv#Two").errors) == 1
    assert len(charts.read("a.csv").errors) == 1


# several files


def test_a_subprocess_may_name_another_file() -> None:
    """Relative to its own; the pages of that file become pages of the chart."""
    put("flows/main.mmd", 'flowchart TD\nA[Go] --> B[["parts/sub.csv#One"]] --> C[["other.md"]]')
    put("flows/parts/sub.csv", CSV.format(part="Two"))
    put("flows/other.md", DEPLOY)
    loaded = charts.read("flows/main.mmd")
    assert loaded.errors == []
    assert [page.name for page in loaded.chart.pages] == [
        "",
        *("parts/sub.csv#One", "parts/sub.csv#Two", "parts/sub.csv#Empty", "other.md"),
    ]
    plan = Map(loaded.chart.pages[0], loaded.chart)
    assert [plan.kind(step) for step in loaded.chart.pages[0].steps] == [
        *("process", "subprocess", "subprocess"),
    ]
    sub = loaded.chart.called(loaded.chart.pages[0].steps[1])
    assert sub is loaded.chart.pages[1]
    assert loaded.chart.called(sub.steps[1]) is loaded.chart.pages[2]
    assert loaded.files["parts/sub.csv#Two"] == "flows/parts/sub.csv"


def test_a_page_of_ones_own_comes_before_another_file() -> None:
    """And one name means another page in another file."""
    put("a.csv", CSV.format(part="b.csv#One"))
    put("b.csv", CSV.format(part="Two").replace("Do that", "Do that of b"))
    chart = charts.load("a.csv#One")
    part = chart.called(chart.pages[0].steps[1])
    assert part is not None
    inner = chart.called(part.steps[1])
    assert inner is not None
    assert inner.steps[0].text == "Do that of b"


def test_a_data_field_may_name_the_file() -> None:
    """The shape then has a title of its own."""
    put("main.mmd", 'flowchart TD\nA[[Tidy up]]\n%% quandary: {"step": "A", "file": "sub.mmd"}')
    put("sub.mmd", "flowchart TD\nX --> Y")
    chart = charts.load("main.mmd")
    assert (chart.pages[0].steps[0].name, len(chart.pages)) == ("Tidy up", 2)


def test_files_that_name_each_other() -> None:
    """They are read once, and the circle is an error."""
    put("a.mmd", 'flowchart TD\nA[["b.mmd"]]')
    put("b.mmd", 'flowchart TD\nB[["a.mmd"]]')
    loaded = charts.read("a.mmd")
    assert [problem.rule for problem in loaded.errors] == ["subprocess-circle"] * 2
    assert [loaded.said(p).partition(":")[0] for p in loaded.errors] == ["a.mmd", "b.mmd"]


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("gone.csv", "gone.csv: no such file"),
        ("../outside.mmd", "../outside.mmd is not a file of this project"),
        ("/etc/passwd.csv", "/etc/passwd.csv is not a file of this project"),
        ("link.csv", "link.csv is not a file of this project"),
        ("bad.csv", "bad.csv:1: there is no column Id"),
        ("two.csv", "two.csv: say which page is meant"),
        ("two.csv#Three", "two.csv: no page named Three"),
        ("no.md", "no.md: no tree in it"),
        ("none.json", "none.json: there is no page in it"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, reference: str, said: str) -> None:
    """It is an error of the step that names it; nothing outside of the project is read."""
    put("bad.csv", "prose\n")
    put("two.csv", CSV.format(part="Nothing"))
    put("no.md", "# Nothing\n")
    put("none.json", '{"pages": []}')
    outside = tmp_path.parent / "outside.mmd"
    outside.write_text("flowchart TD\nA", encoding="utf-8")
    Path("link.csv").symlink_to(outside)
    put("main.mmd", f'flowchart TD\nA --> B[["{reference}"]]')
    loaded = charts.read("main.mmd")
    (problem,) = loaded.problems  # and nobody says that it is run as a plain step
    assert (problem.rule, problem.steps) == ("subprocess-file", ("B",))
    assert f"(B) cannot be run: {said}" in loaded.said(problem)


@pytest.mark.parametrize("field", ["page", "Chart", "file"])
def test_a_data_field_that_names_no_page(field: str) -> None:
    """What it was to run is not there; nobody is to do the title of the shape instead."""
    data = json.dumps({"step": "B", field: "Part 3\0.mmd"})
    put("main.mmd", f"flowchart TD\nA --> B[[Approve]]\n%% quandary: {data}")
    (problem,) = charts.read("main.mmd").problems
    assert (problem.rule, problem.severity) == ("subprocess-file", "error")
    assert "(B) cannot be run: no page named Part 3" in problem.message


def test_a_subprocess_that_names_several_pages_is_an_error() -> None:
    """Which of them it runs is not guessed."""
    put("a.csv", CSV.format(part="Empty").replace("2,Page,,,,,Two", "2,Page,,,,,Empty"))
    (problem,) = charts.read("a.csv", page="1").errors
    assert (problem.rule, problem.steps) == ("subprocess-file", ("5",))
    assert "cannot be run: 2 pages are named Empty with the ids 2, 3; say which" in problem.message


def test_too_many_files() -> None:
    """There is an end to it."""
    for n in range(130):
        put(f"f{n}.mmd", f'flowchart TD\nA[["f{n + 1}.mmd"]]')
    loaded = charts.read("f0.mmd")
    assert any("one file too many" in problem.message for problem in loaded.errors)


# examples


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_sound(path: Path) -> None:
    """Nothing at all is wrong with them, and they come back from Mermaid as they were."""
    loaded = charts.read(str(path))
    assert loaded.problems == ()
    assert charts.load(str(path)) == loaded.chart
    put("again.mmd", drawings.chart_as_mermaid(loaded.chart))
    assert charts.read("again.mmd").chart == loaded.chart


@given(st.binary(max_size=200), st.sampled_from([".csv", ".json", ".mmd"]))
def test_garbage_is_an_error_and_nothing_else(data: bytes, ending: str) -> None:
    """Whatever the file holds: a chart, or one clear line."""
    Path(f"x{ending}").write_bytes(data)
    try:
        charts.load(f"x{ending}")
    except QuandaryError as error:
        said = str(error)
    else:
        said = "x"
    assert said.startswith("x")
    assert "\n" not in said


def test_a_hundred_thousand_shapes_are_read_in_seconds() -> None:
    """Reading and checking take time in proportion, and memory, too."""
    head = (
        "Id,Name,Page ID,Line Source,Line Destination,Source Arrow,Destination Arrow,Text Area 1\n"
    )
    shapes = "".join(f"{n},Process,1,,,,,Do {n}\n" for n in range(50_000))
    lines = "".join(f"L{n},Line,1,{n},{n + 1},None,Arrow,\n" for n in range(49_999))
    put("big.csv", head + shapes + lines)
    begun = time.process_time()
    chart = charts.load("big.csv")
    assert time.process_time() - begun < 10
    assert chart.first is not None
    assert (len(chart.first.steps), len(chart.first.routes)) == (50_000, 49_999)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"tags": ["GEMNI"]}, "the tag 'GEMNI', which means nothing; did you mean GEMINI?"),
        ({"tags": ["cluade"]}, "the tag 'cluade', which means nothing; did you mean CLAUDE?"),
        ({"tags": ["no-validaton"]}, "did you mean NoValidation?"),
        ({"tags": ["HUMANS"]}, "did you mean HUMAN?"),
        ({"tags": ["REVEIWER"]}, "did you mean REVIEWER?"),
        ({"retrys": "2"}, "the field 'retrys', which means nothing; did you mean retries"),
        ({"retry": "2"}, "did you mean retry_cli or retries?"),
        ({"time_outs": "2"}, "did you mean timeout?"),
        ({"validateprompts": "x"}, "did you mean validate_prompt?"),
    ],
)
def test_a_slip_in_a_tag_or_field_is_warned_about_with_the_nearest_name(
    said: dict[str, object], meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agents of the settings are known, too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quandary.toml").write_text('[agents.REVIEWER]\nargv = ["reviewer"]\n')
    remark = json.dumps({"step": "a", **said})
    (tmp_path / "c.mmd").write_text(f"flowchart TD\n  a[Do it]\n  %% quandary: {remark}\n")
    (problem,) = charts.read("c.mmd").problems
    assert (problem.rule, problem.severity, problem.steps) == ("misspelt", "warning", ("a",))
    assert meant in problem.message


def test_of_two_spellings_of_a_field_the_first_counts() -> None:
    """The other is left out with a warning: the journal does not know which came first."""
    data = {"retries": "2", "Retries": "5", "Prompt": " ", "prompt": "Do it", "x": "1", "X": "2"}
    put("a.mmd", f"flowchart TD\nA[Task]\n%% quandary: {json.dumps({'step': 'A', **data})}")
    loaded = charts.read("a.mmd")
    (step,), (problem,) = loaded.chart.pages[0].steps, loaded.problems
    assert "Retries" not in step.metadata
    assert (step.field("retries"), step.prompt, step.metadata["X"]) == ("2", "Do it", "2")
    assert (problem.rule, problem.severity) == ("field-twice", "warning")


def test_of_two_columns_with_one_heading_the_first_with_a_value_counts() -> None:
    """As of two spellings; and the tags of two columns are all tags."""
    head = "Id,Name,Text Area 1,retries,retries,Tags,Tags\n"
    put("a.csv", f"{head}1,Process,A,,0,CODEX,\n2,Process,B,1,2,CODEX,NoValidation\n3,Line,,,,,\n")
    loaded = charts.read("a.csv")
    one, two = loaded.chart.pages[0].steps
    assert (one.field("retries"), one.tags) == ("0", ("CODEX",))
    assert (two.field("retries"), two.tags) == ("1", ("CODEX", "NoValidation"))
    assert [p.rule for p in loaded.problems if p.steps == ("2",)] == ["field-twice"]
    assert not [p for p in loaded.problems if p.rule == "misspelt"]


def test_tags_and_fields_of_other_programs_are_not_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are those that are spelt in another way that counts."""
    monkeypatch.chdir(tmp_path)
    fields = {"Owner": "Ann", "Notes": "x", "Priority": "1", "Status": "x", "Validate CLI": "CODEX"}
    remark = json.dumps({"step": "a", "tags": ["urgent", "gem-ini", "Q3", "x"], **fields})
    (tmp_path / "c.mmd").write_text(f"flowchart TD\n  a[Do it]\n  %% quandary: {remark}\n")
    assert charts.read("c.mmd").problems == ()
