"""Mermaid flowcharts as people write them, read as Mermaid reads them."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import node_judges
from growth import is_linear
from quandary.errors import ParseError
from quandary.formats.charts import mermaid
from quandary.model.chart import Chart, Page, Problem, Scenery, Step, check

WRITTEN = (
    "graph TD\nA-->B",
    "flowchart LR\n  A --> B\n  B --> C",
    "graph TD;A-->B;B-->C;",
    "flowchart\n A --> B --> C",
    "flowchart TB\nA & B --> C & D",
    "flowchart TD\nA-->B & C-->D",
    "flowchart TD\nA[Square] --> B(Round) --> C{Diamond} --> D([Stadium])",
    "flowchart TD\nA[[Sub]] --> B((Circle)) --> C{{Hexagon}} --> D[/Lean right/]",
    "flowchart TD\nA[\\Lean left\\] --> B[/Trapezoid\\] --> C[\\Other/] --> D[(Database)]",
    "flowchart TD\nA>Flag] --> B(((Double)))",
    'flowchart TD\nA["Quoted (with) [signs] {x}"] -->|"label | bar"| B',
    "flowchart TD\nA -- text --> B -->|more text| C",
    "flowchart TD\nA-- text -->B---|t|C",
    "flowchart TD\nA -.-> B -. dotted .-> C -.- D",
    "flowchart TD\nA ==> B == thick ==> C === D",
    "flowchart TD\nA --o B --x C",
    "flowchart TD\nA ----> B -...-> C ====> D",
    "flowchart TD\nA -->\n  B",
    "flowchart TD\n%% a comment\nA --> B\n  %% another --> C",
    "%%{init: {'theme': 'dark'}}%%\nflowchart TD\nA --> B",
    '---\ntitle: A title\n---\nflowchart TD\nA["#quot;x#quot; #35; é"] --> B',
    "flowchart TD\nA:::big --> B:::small\nclassDef big fill:#f9f,stroke:#333,stroke-width:4px",
    "flowchart TD\nA --> B\nstyle A fill:#bbf\nlinkStyle 0 stroke:#ff3\nclass A,B cls",
    'flowchart TD\nA --> B\nclick A "https://example.com/a;b" "tip" _blank',
    "flowchart TD\nA --> my-node --> other.node --> node/1 --> n_2",
    "flowchart TD\nA --> Ö1 --> 日本",
    "flowchart TD\nsubgraph one\n A --> B\nend\nsubgraph two [Second box]\n C --> D\nend\nB --> C",
    'flowchart TD\nsubgraph s1["Quoted; title"]\n direction LR\n A --> B\nend\nB --> C',
    "flowchart TD\nA --> B[one<br/>two]",
    "flowchart TD\nA[first]\nA[second] --> B",
    "flowchart TD\nA\nB\nA-->B",
    "flowchart TD\nA --> A",
    'flowchart TD\nA@{ shape: diam, label: "Sure?" } --> B@{ shape: stadium }',
    "flowchart TD\nA e1@--> B",
    "flowchart TD\naccTitle: Title --> x\naccDescr: Words --> y\nA --> B",
    "flowchart TD\naccDescr {\n several --> words\n}\nA --> B",
    "flowchart TD\nA ~~~ B\nA --> C",
    'flowchart TD\n  A["`Markdown **text**`"] --> B',
    "flowchart TD\n\n\n  A  -->  B  \n\n",
    "graph LR\nA[Hard] -->|Link text| B(Round)\nB --> C{Which?}\nC -->|One| D[Result one]",
    "flowchart TD\nA[multi\nline text] --> B",
    "flowchart BT\nx1 --> o1\no1 --> x2",
    "flowchart TD\nA[Start]\n  --> B[Work]\n  -- on --> C\n\n  ==> D",
    "flowchart TD\nA:::big-->B:::very-small-->C & D:::big-.->E",
    "flowchart TD\nsvc:api-->a,b[Both]:::x --> db:1",
    "flowchart TD\nA -->|over two\nlines| B",
    "flowchart TD\nA[Kept] --> B\nA@{ shape: diam }\nB[Kept]@{ shape: docs } --> C",
    "flowchart TD\nA@{ shape: rect, label: \"say \\\"hi\\\"\" } --> B@{ label: 'it''s' }",
    "flowchart TD\nA@{\n  shape: rect\n  label: Write, then send it's\n}\nA --> B",
    'flowchart TD\nA@{ "label": "quoted key", "shape": "diam" } --> B@{ label: Let\'s go }',
    "flowchart TD\nA@{\n  label: >-\n    folded text\n  shape: rect\n} --> B",
)
"""Flowcharts that Mermaid accepts."""


def judge(texts: list[str]) -> list[dict[str, Any]]:
    """What Mermaid makes of each flowchart."""
    return node_judges.judge("mermaid", texts)


def read(text: str) -> Page:
    """The one page of a flowchart in which nothing is odd."""
    chart, problems = mermaid.read(text, "x.mmd")
    assert [p.message for p in problems if p.severity == "error"] == []
    (page,) = chart.pages
    return page


def edges(text: str) -> list[str]:
    """The routes of a flowchart, written in short."""
    return [
        f"{route.source}>{route.target}" + (f":{route.label}" if route.label else "")
        for route in read(text).routes
    ]


def complaints(text: str) -> list[Problem]:
    """What is odd about a flowchart."""
    return mermaid.read(text, "x.mmd")[1]


def test_what_mermaid_reads_is_read_alike() -> None:
    """The same nodes with the same texts in the same order, and the same lines."""
    for text, verdict in zip(WRITTEN, judge(list(WRITTEN)), strict=True):
        assert verdict["ok"], (text, verdict)
        page = read(text)
        labels = [step.text.replace("\n", "") for step in page.steps]
        theirs = [label.replace("\n", "").strip().strip("`") for label in verdict["labels"]]
        assert labels == theirs, text
        hidden = [["A", "B"]] if "~~~" in text else []
        drawn = [[route.source, route.target] for route in page.routes]
        assert hidden + drawn == verdict["edges"], text


@pytest.mark.parametrize(
    ("written", "shape"),
    [
        ("A[Work]", "process"),
        ("A(Work)", "process"),
        ("A", "process"),
        ("A{Work?}", "decision"),
        ("A([Work])", "terminator"),
        ("A((Work))", "terminator"),
        ("A(((Work)))", "terminator"),
        ("A[[Work]]", "subprocess"),
        ("A{{Work}}", "process"),
        ("A[/Work/]", "process"),
        ("A[(Work)]", "process"),
        ("A>Work]", "process"),
        ("A@{ shape: diamond }", "decision"),
        ("A@{ shape: stadium }", "terminator"),
        ("A@{ shape: fr-rect }", "subprocess"),
        ("A@{ shape: doc }", "process"),
        ("A[Start]", "terminator"),
        ("A(end)", "terminator"),
        ("Stop", "terminator"),
        ("A[Start the engine]", "process"),
        ("A{Start}", "decision"),
    ],
)
def test_outlines(written: str, shape: str) -> None:
    """An outline says how a step is drawn; Start and End are terminators in any box."""
    (step,) = read(f"flowchart TD\n{written}\n").steps
    assert step.shape == shape


@pytest.mark.parametrize(
    "looks",
    [
        "A e1@--> B\n  e1@{ animate: true }",
        "e1@{ animation: fast, curve: linear }\n  A e1@==>|go| B",
        "A e1@-- go --> B; e1@{ animate: true }; B e2@-.-> C\n  e2@{ curve: stepBefore }",
        "A e-1@--> B\n  e-1@{ label: x }",
    ],
)
def test_how_an_arrow_with_a_name_looks_is_no_step(looks: str) -> None:
    """What is said of `e1` in `e1@{…}` is passed over, wherever it stands."""
    found = read(f"flowchart TD\n  {looks}\n")
    assert [step.id for step in found.steps] == ["A", "B", *("C" if "C" in looks else "")]


def test_labels() -> None:
    """A line may be labelled in three ways, with or without quotes."""
    text = 'flowchart TD\nA -->|one| B\nA -- two --> B\nA -- "three -- 3" --> B\nA -->|"fo|ur"| B'
    assert edges(text) == ["A>B:one", "A>B:two", "A>B:three -- 3", "A>B:fo|ur"]
    text = "flowchart TD\nA == a ==> B\nA -. b .-> B\nA -- #quot;c#quot; --x B"
    assert edges(text) == ["A>B:a", "A>B:b", 'A>B:"c"']


def test_directions() -> None:
    """A line without a head goes the way it is written, one with two heads is an error."""
    assert edges("flowchart TD\nA <-- back --- B") == ["B>A:back"]
    (headless,) = complaints("flowchart TD\nA --- B")
    assert (headless.rule, headless.severity, headless.line) == ("no-arrow", "warning", 2)
    assert edges("flowchart TD\nA --- B") == ["A>B"]
    for arrow in ("<-->", "x--x", "o--o"):
        (both,) = complaints(f"flowchart TD\nA {arrow} B")
        assert (both.rule, both.severity) == ("two-way", "error")


def test_subgraphs_are_frames() -> None:
    """They are no steps; a step in one knows its title, and a line to one leads nowhere."""
    page = read("flowchart TD\nA --> B\nsubgraph box [The box]\n B --> C\n D\nend\nE")
    assert page.scenery == (Scenery("box", "container", "The box"),)
    lanes = {step.id: step.lane for step in page.steps}
    assert lanes == {"A": "", "B": "", "C": "The box", "D": "The box", "E": ""}
    page = read("flowchart TD\nA --> box\nsubgraph box\n B\nend")
    assert [step.id for step in page.steps] == ["A", "B"]
    (problem, *_) = (p for p in check(Chart("C", (page,))) if p.rule == "line-to-nowhere")
    assert problem.message.startswith("a line from “A” leads to the container “box”")


def test_a_title_is_the_name() -> None:
    """In front matter, with or without quotes; else the file gives its name."""
    for title in ("Ship it", '"Ship it"', "'Ship it'"):
        chart, _ = mermaid.read(f"---\ntitle: {title}\n---\nflowchart TD\nA", "x.mmd")
        assert chart.name == "Ship it"
    assert mermaid.read("flowchart TD\nA", "to/some.mmd")[0].name == "some"


# comments for us


def test_comments_add_what_mermaid_cannot_say() -> None:
    """Tags, data, notes; what is not known is data, and numbers are as good as texts."""
    text = """\
flowchart TD
  review[Review] --> done
  %% quandary: {"step": "review", "tags": "CODEX", "metadata": {"retries": 2}, "votes": 3}
  %%quandary: {"step": "review", "tags": ["NoValidation"], "notes": ["Be kind"]}
"""
    step = read(text).steps[0]
    assert step == Step(
        "review",
        "Review",
        tags=("CODEX", "NoValidation"),
        metadata={"retries": "2", "votes": "3"},
        notes=("Be kind",),
    )


def test_a_text_of_tags_may_hold_several() -> None:
    """As in a cell of Lucid's; each part of a list is one tag, whatever is in it."""
    text = "flowchart TD\n  a[Review]\n  %% quandary: "
    said = read(text + '{"step": "a", "tags": "HUMAN, No Validation; urgent"}').steps[0]
    assert said.tags == ("HUMAN", "No Validation", "urgent")
    assert read(text + '{"step": "a", "tags": ["one, and two"]}').steps[0].tags == ("one, and two",)


@pytest.mark.parametrize(
    ("comment", "severity"),
    [
        ("tags: HUMAN", "error"),
        ('{"step": "A",}', "error"),
        ("[1]", "error"),
        ("[" * 5000, "error"),
        ('{"stap": "A"}', "warning"),
        ('{"scenery": {"kind": "tree"}}', "warning"),
        ("{}", "warning"),
    ],
)
def test_comments_that_cannot_be_understood(comment: str, severity: str) -> None:
    """They are for us, so it is said."""
    (problem,) = complaints(f"flowchart TD\nA\n%% quandary: {comment}")
    assert (problem.rule, problem.severity, problem.line) == ("comment", severity, 3)


# mistakes


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("A foo", 2, "expected an arrow such as --> at “foo”"),
        ("A --> ;", 2, "expected the name of a step at “;”"),
        ("\nA[open\nB --> C", 3, "expected ] after the text of a shape at “open”"),
        ("A -- text", 2, "expected the end of the arrow that begins with --"),
        ("A -->|text B", 2, "expected a second | after the text"),
        ("A@{ shape: diam", 2, "expected } after the attributes"),
        ("--> B", 2, "expected the name of a step at “--> B”"),
    ],
)
def test_a_line_that_cannot_be_read(text: str, line: int, said: str) -> None:
    """It is reported with its number, and the lines around it are read all the same."""
    chart, problems = mermaid.read(f"flowchart TD\n{text}\nX --> Y", "x.mmd")
    (problem,) = [p for p in problems if p.rule == "syntax"]
    assert (problem.severity, problem.line) == ("error", line)
    assert problem.message.startswith(said)
    assert "X" in [step.id for step in chart.pages[0].steps]


def test_an_arrow_may_go_on_in_the_next_line() -> None:
    """At the end of the file there is none."""
    assert edges("flowchart TD\nA -->\n\nB") == ["A>B"]
    (problem,) = complaints("flowchart TD\nA --> ")
    assert problem.message == "expected the name of a step at the end of the line"


def test_a_file_holds_one_flowchart() -> None:
    """A second one is reported, and not read as steps of the first."""
    for header in ("flowchart LR", "graph TD;", "```\n\n```mermaid\ngraph"):
        (problem,) = complaints(f"flowchart TD\nA --> B\n{header}\nB --> C")
        assert problem.message.startswith("expected one flowchart in a file at ")
    assert edges("flowchart TD\ngraphs --> flowchart-of-all") == ["graphs>flowchart-of-all"]


def test_brackets_in_a_text_without_quotes() -> None:
    """Mermaid would have none of it, but what is meant is clear."""
    assert read("flowchart TD\nA[Call f(x)] --> B").steps[0].text == "Call f(x)"
    assert read('flowchart TD\nA[say "hi" now] --> B').steps[0].text == 'say "hi" now'


def test_ends_without_beginnings_and_the_other_way_round() -> None:
    """Both are passed over with a word."""
    assert [p.rule for p in complaints("flowchart TD\nA\nend")] == ["end-alone"]
    assert [p.rule for p in complaints("flowchart TD\nsubgraph x\nA")] == ["subgraph-open"]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "sequenceDiagram\nA->>B: x", "graphic TD\nA-->B", "# Markdown", "{}"]
)
def test_what_is_no_flowchart(text: str) -> None:
    """One line says so, and what a flowchart begins with."""
    with pytest.raises(ParseError, match=r"^x.mmd:1: there is no flowchart.*`flowchart TD`$"):
        mermaid.read(text, "x.mmd")


def test_too_many_lines_in_one_statement() -> None:
    """A statement that multiplies without bounds is refused."""
    many = " & ".join(f"n{n}" for n in range(200))
    (problem,) = complaints(f"flowchart TD\n{many} --> {many}")
    assert problem.message.startswith("expected fewer lines in one statement")


def test_a_byte_order_mark_and_other_newlines() -> None:
    """Files come from everywhere."""
    assert edges("\ufeffflowchart TD\r\nA --> B\r\nB --> C\r") == ["A>B", "B>C"]
    assert edges("```mermaid\nflowchart TD\nA --> B\n```\n") == ["A>B"]


PIECES = st.sampled_from(
    [
        *("A", "B", "end", "subgraph x", "-->", "---", "-.->", "==>", "--", "-.", "==", "~~~", "&"),
        *(
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            "[[",
            "((",
            "@{",
            ">",
            "|",
            '"',
            "`",
            ";",
            "\n",
            " ",
            ":::",
        ),
        *(
            "%%",
            "%%{",
            "}%%",
            "%% quandary:",
            "text",
            "<",
            "x",
            "o",
            "é",
            "click",
            "style ",
            "\\",
            "/",
        ),
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_anything_is_read_somehow(text: str) -> None:
    """Whatever stands behind the header: a chart and complaints, no exception."""
    chart, problems = mermaid.read(f"flowchart TD\n{text}", "x.mmd")
    assert chart.pages
    assert all(p.message and "\n" not in p.message for p in problems)


@pytest.mark.parametrize(
    "piece",
    [
        "A --> B\n",
        "A[x] -->|y| B\n",
        "A[",
        "A[\n",
        'A["\n',
        "A>\n",
        "A>x",
        "A -- \n",
        'A -- "\n',
        "%%{\n",
        "%%{ }%%\n",
        'a@{"x\n',
        "a@{x\n",
        "A -->|x\n",
        "A\n\n",
        "subgraph x\n",
        "A & ",
        "A --> ",
        "accDescr {\n",
        'click A "\n',
        "A;",
        "(((((",
        "#35;",
        '%% quandary: {"step": "A", "tags": ["x"]}\n',
    ],
)
def test_time_grows_with_the_file(piece: str) -> None:
    """Four times as much takes about four times as long."""
    assert is_linear(lambda n: partial(mermaid.read, "flowchart TD\n" + piece * n, "x.mmd"), 1000)


def test_long_words_in_attributes_are_read_once() -> None:
    """A word before no colon is not looked at from each of its letters."""
    begun = time.process_time()
    mermaid.read("flowchart TD\n" + f"a@{{{'w' * 3900}}}\n" * 40, "x.mmd")
    assert time.process_time() - begun < 3
