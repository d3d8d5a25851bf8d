"""`quandary check`, from the paths it is given to the report it writes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from program import DEPLOY, at_terminal, call, shell, start
from quandary.cli import trees
from quandary.formats.rules import RULES

BROKEN = DEPLOY.replace("- [NO] Do not deploy\n  The build stays where it is\n", "")
"""An error, always-four, on line 4."""
DOTTED = DEPLOY.replace("this evening", "this evening...")
"""A warning, label-ellipsis, on line 7, that can be fixed."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, and a process that no one coloured."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def put(path: str, text: str = DEPLOY) -> None:
    """A file with this text, line ends as they are, and the folders it is in."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text.encode())


def named(name: str, text: str = DEPLOY) -> str:
    """A tree under another name."""
    return text.replace("DEPLOY", name)


def rules(out: str) -> list[str]:
    """The rules that a text report speaks of, in order."""
    return [line.split(": ")[1].split()[1] for line in out.splitlines()]


# charts

FORK = "flowchart TD\n  a[Look] --> b[Mend]\n  a --> c[Wait]\n"
"""An error, several-unlabelled, on line 3."""
LOST = "flowchart TD\n  s([Start]) --> a[Look]\n  b[Wait]\n"
"""A warning, unreachable."""
NOWHERE = {"endpoint1": {"connectedTo": "a"}, "endpoint2": {"style": "Arrow"}}
BOX = {"id": "a", "class": "ProcessBlock", "textAreas": [{"label": "Text", "text": "Look"}]}
DRAWN = json.dumps({"pages": [{"items": {"shapes": [BOX], "lines": [NOWHERE]}}]})


@pytest.mark.parametrize(
    ("path", "text", "place"),
    [
        ("c.mmd", FORK, "c.mmd:3:1: error several-unlabelled"),
        ("c.csv", "Id,Name,Text,From\n1,Box,Go\n2,Line,,1", "c.csv:3:1: error line-to-nowhere"),
        ("c.json", DRAWN, "c.json:1:1: error line-to-nowhere"),
    ],
)
def test_a_chart_that_is_named_is_checked(
    capsys: pytest.CaptureFixture[str], path: str, text: str, place: str
) -> None:
    """What is wrong with a drawing is said like what is wrong with a tree; errors are status 1."""
    put(path, text)
    status, out, err = call(capsys, "check", path)
    assert (status, out.startswith(f"{place}: "), err) == (1, True, "1 chart in 1 file: 1 error\n")
    status, out, _ = call(capsys, "check", path, "--format", "json")
    (file,) = json.loads(out)["files"]
    (found,) = file["diagnostics"]
    assert (status, file["path"], file["trees"], found["tree"]) == (1, path, [], None)
    status, out, _ = call(capsys, "check", path, "--format", "sarif")
    (result,) = json.loads(out)["runs"][0]["results"]
    assert (status, result["ruleId"]) == (1, found["rule"])


def test_warnings_of_charts_are_no_errors_and_can_be_ignored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Rules of charts are selected, ignored and taken for errors like those of trees."""
    put("c.mmd", LOST)
    put("t.md")
    status, out, err = call(capsys, "check", "c.mmd", "t.md")
    assert (status, rules(out)) == (0, ["unreachable"])
    assert err == "1 tree and 1 chart in 2 files: 1 warning\n"
    assert call(capsys, "check", "c.mmd", "--strict")[0] == 1
    for chosen in (["--ignore", "unreachable"], ["--select", "no-start"]):
        clean = (0, "", "1 chart in 1 file: all clean\n")
        assert call(capsys, "check", "c.mmd", "--strict", *chosen) == clean
    assert call(capsys, "check", ".")[2] == "1 tree in 1 file: all clean\n"  # it is not named
    assert "is about charts" in call(capsys, "rule", "unreachable")[2]


def test_a_part_of_a_chart_is_checked_where_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    """A problem has the path of its own file, and is said once though that is named, too."""
    put("main.mmd", "flowchart TD\n  a[Begin] --> b[[part.mmd]]\n")
    put("part.mmd", FORK)
    for paths in (["main.mmd"], ["main.mmd", "part.mmd"]):
        status, out, err = call(capsys, "check", *paths)
        assert (status, err) == (1, "2 charts in 2 files: 1 error\n")
        assert out.startswith("part.mmd:3:1: error several-unlabelled: ")


def test_what_is_no_chart_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    """A file with the ending of a chart that holds none is status 2, and the rest is checked."""
    put("package.json", '{"name": "x"}')
    put("c.mmd", FORK)
    status, out, err = call(capsys, "check", "package.json", "c.mmd")
    assert (status, rules(out)) == (2, ["several-unlabelled"])
    assert err.startswith("quandary: package.json: there are no pages in it")


def test_a_chart_on_standard_input_is_checked() -> None:
    """It is known by what it holds."""
    status, out, _ = start("check", "-", stdin=FORK)
    assert (status, rules(out)) == (1, ["several-unlabelled"])


# reports


def test_a_clean_file_is_said_to_be_clean(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing wrong: nothing on standard output, one line for the person, status 0."""
    put("t.md")
    assert call(capsys, "check", "t.md") == (0, "", "1 tree in 1 file: all clean\n")


def test_many_files_are_checked_by_all_cores_with_the_same_outcome(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Problems of one file and of several, fenced or not, under any name, in the same order."""
    texts = (DEPLOY, BROKEN, DOTTED, named("OTHER"), f"```\n{BROKEN}```\n", "\ufeffno tree")
    for number, text in enumerate(texts * 2):
        put(f"{number:02}.md", text)
    put(os.fsdecode(b"latin-\xe9.md"), named("LAST", DOTTED))
    alone = call(capsys, "check", ".", "--fenced", "--format", "json")
    monkeypatch.setattr(trees, "PART", 3)
    monkeypatch.setattr(trees, "MANY_PARTS", 2)
    assert call(capsys, "check", ".", "--fenced", "--format", "json") == alone
    assert alone[1].count("name-duplicate") == 6


def test_text_has_a_line_for_each_problem(capsys: pytest.CaptureFixture[str]) -> None:
    """A problem is one line that editors understand: path, line, column, severity, rule."""
    put("t.md", BROKEN.replace("this evening", "this evening..."))
    status, out, err = call(capsys, "check", "t.md")
    assert (status, err) == (
        1,
        "1 tree in 1 file: 1 error, 1 warning (1 can be fixed with --fix)\n",
    )
    first, second = out.splitlines()
    assert first.startswith("t.md:4:1: error always-four: Decision Deploy has 2 named options")
    assert second.startswith("t.md:7:1: warning label-ellipsis: ")


def test_json_is_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON report has these keys in this order, and nothing else on standard output."""
    fence = "```\n" + named("EXAMPLE") + "```\n"
    put("t.md", f"# Trees\n\n{named('PLAN_REVIEW', BROKEN)}\n{fence}")
    put("u.md", "<!-- quandary: ignore label-comma -->\n\nThe decision is made.\n")
    status, out, err = call(capsys, "check", "--format", "json", "t.md", "u.md")
    assert (status, err) == (1, "")
    said = [d["message"] for file in json.loads(out)["files"] for d in file["diagnostics"]]
    expected = {
        "files": [
            {
                "path": "t.md",
                "trees": [
                    {
                        "name": "PLAN_REVIEW",
                        "line": 3,
                        "fenced": False,
                        "decisions": [{"name": "Deploy", "options": 5, "depth": 2}],
                    },
                    {
                        "name": "EXAMPLE",
                        "line": 18,
                        "fenced": True,
                        "decisions": [{"name": "Deploy", "options": 6, "depth": 2}],
                    },
                ],
                "diagnostics": [
                    {
                        "rule": "always-four",
                        "severity": "error",
                        "line": 6,
                        "column": 1,
                        "message": said[0],
                        "tree": "PLAN_REVIEW",
                    }
                ],
            },
            {
                "path": "u.md",
                "trees": [],
                "diagnostics": [
                    {
                        "rule": "ignore-unknown",
                        "severity": "warning",
                        "line": 1,
                        "column": 1,
                        "message": said[1],
                        "tree": None,
                    }
                ],
            },
        ],
        "errors": 1,
        "warnings": 1,
    }
    assert out == json.dumps(expected, separators=(",", ":"), ensure_ascii=False) + "\n"


def test_github_takes_any_path(capsys: pytest.CaptureFixture[str]) -> None:
    """An annotation names its file as GitHub does, with what separates properties escaped."""
    put("my docs/a, b: 100%.md", BROKEN)
    status, out, err = call(capsys, "check", "--format", "github", "./my docs/a, b: 100%.md")
    assert status == 1
    place = "file=my docs/a%2C b%3A 100%25.md,line=4,col=1,title=always-four"
    assert out.startswith(f"::error {place}::Decision Deploy has 2 named options")
    assert err == "1 tree in 1 file: 1 error\n"


def test_sarif_knows_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """The SARIF log explains all rules and points at what is wrong."""
    put("a b.md", BROKEN)
    status, out, err = call(capsys, "check", "--format", "sarif", "a b.md")
    log = json.loads(out)
    run = log["runs"][0]
    assert (status, err, log["version"]) == (1, "", "2.1.0")
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(RULES)
    assert [result["ruleId"] for result in run["results"]] == ["always-four"]
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "a%20b.md"}
    assert location["region"]["startLine"] == 4


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_programs_get_a_report_of_nothing(capsys: pytest.CaptureFixture[str], form: str) -> None:
    """With no problems, and even with no files, a report is still what its reader expects."""
    put("t.md")
    assert call(capsys, "check", "--format", form, "t.md").status == 0
    status, out, err = call(capsys, "check", "--format", form, "nowhere.md")
    assert (status, err) == (2, "quandary: nowhere.md: no such file or folder\n")
    if form == "json":
        assert out == '{"files":[],"errors":0,"warnings":0}\n'
    elif form == "sarif":
        assert json.loads(out)["runs"][0]["results"] == []
    else:
        assert out == ""


# what counts


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ([], ["always-four", "label-ellipsis", "description-missing"]),
        (["--select", "always-four"], ["always-four"]),
        (
            ["--select", "always-four", "--select", "label-ellipsis"],
            ["always-four", "label-ellipsis"],
        ),
        (["--select", "always-four,label-ellipsis"], ["always-four", "label-ellipsis"]),
        (["--select", "label-comma"], []),
        (["--ignore", "always-four"], ["label-ellipsis", "description-missing"]),
        (["--ignore", "always-four, label-ellipsis"], ["description-missing"]),
        (["--ignore", "always-four", "--ignore", "label-ellipsis,description-missing"], []),
        (["--select", "always-four,label-ellipsis", "--ignore", "always-four"], ["label-ellipsis"]),
    ],
)
def test_rules_can_be_chosen(
    capsys: pytest.CaptureFixture[str], words: list[str], left: list[str]
) -> None:
    """`--select` keeps only the rules it names, `--ignore` drops those; both may be repeated."""
    put("t.md", DOTTED.replace("- [NO] Do not deploy\n  The build stays where it is\n", "") + "\n")
    put("t.md", Path("t.md").read_text().replace("    Watch it there first\n", ""))
    status, out, _ = call(capsys, "check", "t.md", *words)
    assert rules(out) == left
    assert status == (1 if "always-four" in left else 0)


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_a_rule_that_does_not_exist_is_wrong_usage(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    """A misspelt rule is not taken for a quiet one, wherever in the list it stands."""
    put("t.md")
    said = "quandary: there is no rule label-coma; did you mean label-comma?\n"
    assert call(capsys, "check", "t.md", option, "indent,label-coma") == (2, "", said)


def test_strict_counts_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning leaves the status at 0 unless `--strict` is given; a clean file stays clean."""
    put("t.md", DOTTED)
    put("u.md", named("OTHER"))
    assert call(capsys, "check", "t.md").status == 0
    assert call(capsys, "check", "--strict", "t.md").status == 1
    assert call(capsys, "check", "--strict", "u.md").status == 0
    assert call(capsys, "check", "--strict", "--ignore", "label-ellipsis", "t.md").status == 0


def test_examples_are_judged_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """A tree in a fence is listed but only judged with `--fenced`."""
    put("t.md", f"```\n{BROKEN}```\n")
    assert call(capsys, "check", "t.md") == (0, "", "1 file, no trees, 1 example in fences\n")
    status, out, _ = call(capsys, "check", "--fenced", "t.md")
    assert (status, rules(out)) == (1, ["always-four"])
    assert out.startswith("t.md:5:1: ")


def test_a_comment_silences_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """`<!-- quandary: ignore RULE -->` above a tree speaks for that tree alone."""
    put("t.md", f"<!-- quandary: ignore always-four -->\n{BROKEN}\n{named('OTHER', BROKEN)}")
    status, out, _ = call(capsys, "check", "--format", "json", "t.md")
    (file,) = json.loads(out)["files"]
    assert (status, [d["tree"] for d in file["diagnostics"]]) == (1, ["OTHER"])


# --fix


def test_fix_mends_in_place(capsys: pytest.CaptureFixture[str]) -> None:
    """`--fix` writes what it mended, keeps line ends, BOM and mode, and says how much it was."""
    put("t.md", "\ufeff# Trees\n\n" + DOTTED.replace("\n", "\r\n"))
    Path("t.md").chmod(0o640)
    ended = call(capsys, "check", "--fix", "t.md")
    assert ended == (0, "", "1 tree in 1 file: 1 fixed, all clean\n")
    mended = "\ufeff# Trees\n\n" + DEPLOY.replace("\n", "\r\n")
    assert Path("t.md").read_bytes() == mended.encode()
    assert Path("t.md").stat().st_mode & 0o7777 == 0o640
    assert os.listdir() == ["t.md"]
    assert call(capsys, "check", "--fix", "t.md").err == "1 tree in 1 file: all clean\n"


def test_fix_reports_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be mended is reported as ever, and nothing more is promised."""
    put("t.md", BROKEN.replace("this evening", "this evening..."))
    status, out, err = call(capsys, "check", "--fix", "t.md")
    assert (status, rules(out)) == (1, ["always-four"])
    assert err == "1 tree in 1 file: 1 fixed, 1 error\n"


def test_fix_goes_no_further_than_the_rules_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    """Only problems that are looked for are mended."""
    put("t.md", DOTTED)
    assert call(capsys, "check", "--fix", "--ignore", "label-ellipsis", "t.md").status == 0
    assert Path("t.md").read_text() == DOTTED
    assert call(capsys, "check", "--fix", "--select", "label-ellipsis", "t.md").status == 0
    assert Path("t.md").read_text() == DEPLOY


def test_fix_leaves_a_good_file_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A file with nothing to mend is not written, not even with the same content."""
    put("t.md")
    before = Path("t.md").stat()
    assert call(capsys, "check", "--fix", "t.md").status == 0
    after = Path("t.md").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_fix_follows_a_link(capsys: pytest.CaptureFixture[str]) -> None:
    """A link stays a link; what it leads to is mended."""
    put("real/t.md", DOTTED)
    Path("link.md").symlink_to("real/t.md")
    assert call(capsys, "check", "--fix", "link.md").status == 0
    assert Path("link.md").is_symlink()
    assert Path("real/t.md").read_text() == DEPLOY


def test_fix_needs_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard input cannot be mended in place, and nothing is read before that is said."""
    status, out, err = call(capsys, "check", "--fix", "-")
    assert (status, out) == (2, "")
    assert err.startswith("quandary: --fix needs files to write to")
    assert err.count("\n") == 1


def test_fix_that_cannot_write_loses_nothing() -> None:
    """Where there is no room to write, the file stays whole, and the others are still checked."""
    put("a.md", DOTTED)
    put("b.md", named("OTHER", BROKEN))
    status, out, err = shell('ulimit -f 0; exec "$@"', "check", "--fix", "a.md", "b.md")
    assert (status, rules(out)) == (2, ["label-ellipsis", "always-four"])
    assert err.startswith("quandary: a.md: cannot be written (")
    assert err.endswith("\n2 trees in 2 files: 1 error, 1 warning\n")
    assert Path("a.md").read_text() == DOTTED
    assert sorted(os.listdir()) == ["a.md", "b.md"]


def test_fixable_counts_what_fix_would_touch(capsys: pytest.CaptureFixture[str]) -> None:
    """The hint at `--fix` leaves out examples, which it does not touch."""
    put("t.md", f"{DOTTED}\n```\n{named('EXAMPLE', DOTTED)}```\n")
    err = call(capsys, "check", "--fenced", "t.md").err
    assert err.endswith(": 2 warnings (1 can be fixed with --fix)\n")
    put("t.md", f"```\n{named('EXAMPLE', DOTTED)}```\n")
    assert call(capsys, "check", "--fenced", "t.md").err.endswith(": 1 warning\n")


# paths


def test_folders_are_searched(capsys: pytest.CaptureFixture[str]) -> None:
    """Below a folder every Markdown file counts that git does not ignore, hidden ones too."""
    subprocess.run(["git", "init", "-q"], check=True)
    put(".gitignore", "drafts/\n*.tmp.md\n")
    kept = [".claude/commands/go.md", "a/b/c/deep.MD", "plan.markdown", "rules.mdc", "x.mdx"]
    dropped = ["drafts/old.md", "a/b.tmp.md", "node_modules/x/readme.md", "a/notes.txt"]
    for number, path in enumerate([*kept, *dropped]):
        put(path, named(f"T_{number}"))
    status, out, _ = call(capsys, "check", "--format", "json")
    assert (status, [file["path"] for file in json.loads(out)["files"]]) == (0, kept)
    assert call(capsys, "check", ".") == (0, "", "5 trees in 5 files: all clean\n")


@pytest.mark.parametrize("members", [[], ["notes.txt"], ["node_modules/readme.md"]])
def test_a_folder_without_markdown(capsys: pytest.CaptureFixture[str], members: list[str]) -> None:
    """A folder in which there is nothing to check is probably the wrong one."""
    Path("docs").mkdir()
    for member in members:
        put(f"docs/{member}")
    said = "quandary: docs: no Markdown files below it\n"
    assert call(capsys, "check", "docs") == (2, "", said)


def test_an_ignored_file_is_checked_when_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Who names a file means it, whatever git or its ending say."""
    put(".gitignore", "*")
    put("draft.txt", BROKEN)
    status, out, _ = call(capsys, "check", "draft.txt")
    assert (status, rules(out)) == (1, ["always-four"])


def test_files_are_reported_in_the_order_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Several paths, several reports, in that order."""
    for name in "abc":
        put(f"{name}.md", named(name.upper(), BROKEN))
    _, out, err = call(capsys, "check", "c.md", "a.md", "b.md")
    assert [line[:4] for line in out.splitlines()] == ["c.md", "a.md", "b.md"]
    assert err == "3 trees in 3 files: 3 errors\n"


def test_a_file_is_checked_once(capsys: pytest.CaptureFixture[str]) -> None:
    """However often and by whatever path a file is named, it is one file with one tree."""
    put("docs/t.md", BROKEN)
    Path("link.md").symlink_to("docs/t.md")
    ended = call(capsys, "check", "docs/t.md", "docs", "./docs/../docs/t.md", "link.md", ".")
    assert (ended.status, ended.out.count("\n")) == (1, 1)
    assert ended.err == "1 tree in 1 file: 1 error\n"


def test_links_in_circles(capsys: pytest.CaptureFixture[str]) -> None:
    """Folders that lead back to themselves are not followed."""
    put("a/t.md")
    Path("a/again").symlink_to("..", target_is_directory=True)
    Path("a/self").symlink_to("self")
    Path("a/loop.md").symlink_to("loop.md")
    assert call(capsys, "check", ".") == (0, "", "1 tree in 1 file: all clean\n")
    status, out, err = call(capsys, "check", "a/loop.md")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("quandary: a/loop.md: ")


@pytest.mark.parametrize(
    ("words", "place"), [(["-"], "-:4:1"), (["t.md", "-"], "-:4:1"), (["-", "-"], "-:4:1")]
)
def test_standard_input(words: list[str], place: str) -> None:
    """`-` stands for what is piped in, and is read once."""
    put("t.md", named("OTHER"))
    ended = start("check", *words, stdin=BROKEN)
    assert (ended.status, ended.out.count("\n")) == (1, 1)
    assert ended.out.startswith(f"{place}: error always-four: ")


def test_nothing_on_standard_input() -> None:
    """Empty input is an empty document."""
    assert start("check", "-") == (0, "", "1 file, no trees\n")


def test_what_cannot_be_read_does_not_stop_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    """Each bad path is one line; the good ones are reported as ever, with status 2."""
    put("bad.md", BROKEN)
    put("good.md", named("OTHER"))
    Path("binary.md").write_bytes(b"PK\x03\x04\0\0\0")
    Path("latin.md").write_bytes("é".encode("latin-1"))
    paths = ["nowhere.md", "bad.md", "binary.md", "good.md", "latin.md", "good.md/x"]
    status, out, err = call(capsys, "check", *paths)
    assert (status, rules(out)) == (2, ["always-four"])
    assert err.splitlines() == [
        "quandary: nowhere.md: no such file or folder",
        "quandary: good.md/x: no such file or folder",
        "quandary: binary.md: a binary file (NUL byte at offset 4)",
        "quandary: latin.md: not UTF-8 text (byte 0xe9 at offset 0)",
        "2 trees in 2 files: 1 error",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\0", "quandary: t.md: a binary file (NUL byte at offset 0)"),
        (b"\x89PNG\r\n\x1a\n\0", "quandary: t.md: not UTF-8 text (byte 0x89 at offset 0)"),
        (b"\xff\xfe#\0", "quandary: t.md: not UTF-8 text (byte 0xff at offset 0)"),
        (DEPLOY.encode() + b"\xc3", "quandary: t.md: not UTF-8 text (byte 0xc3 at offset "),
    ],
)
def test_what_is_no_text(capsys: pytest.CaptureFixture[str], content: bytes, said: str) -> None:
    """A file that holds no text is named with the byte that gives it away."""
    Path("t.md").write_bytes(content)
    status, out, err = call(capsys, "check", "t.md")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(said)


@pytest.mark.parametrize("content", ["", "\n", "\ufeff", "# Prose\n\n- [x] a task\n", "---\n"])
def test_a_file_without_trees(capsys: pytest.CaptureFixture[str], content: str) -> None:
    """A document in which nobody declares a tree is in order."""
    put("t.md", content)
    assert call(capsys, "check", "t.md") == (0, "", "1 file, no trees\n")


def test_a_name_in_two_files(capsys: pytest.CaptureFixture[str]) -> None:
    """A tree's name stands for one tree: the second is an error that names the first's place."""
    put("one/t.md", f"# Trees\n\n{DEPLOY}")
    put("two/t.md")
    status, out, err = call(capsys, "check", ".")
    assert (status, rules(out)) == (1, ["name-duplicate"])
    assert out.startswith("two/t.md:1:1: error name-duplicate: ")
    assert " DEPLOY is already at one/t.md:3;" in out
    assert err == "2 trees in 2 files: 1 error\n"
    assert call(capsys, "check", "--ignore", "name-duplicate", ".").status == 0


def test_a_name_twice_in_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    """The same within a file, where the line will do; an example may repeat a name."""
    put("t.md", f"{DEPLOY}\n{DEPLOY}\n```\n{DEPLOY}```\n")
    _, out, _ = call(capsys, "check", "t.md")
    assert rules(out) == ["name-duplicate"]
    assert out.startswith("t.md:17:1: ")
    assert " DEPLOY is already at line 1;" in out


def test_a_base_in_another_file(capsys: pytest.CaptureFixture[str]) -> None:
    """What a tree extends may stand in any of the files checked."""
    put("base.md")
    put("special.md", "### ¶ASK_SPECIAL\nExtends: §ASK_DEPLOY\n\n" + DEPLOY.split("\n\n")[1])
    assert call(capsys, "check", ".").out == ""
    _, out, _ = call(capsys, "check", "special.md")
    assert rules(out) == ["extends-unknown"]


# the screen


def test_colour_on_a_terminal() -> None:
    """A terminal gets colours; a pipe does not."""
    put("t.md", BROKEN)
    shown = at_terminal("check", "t.md")
    assert shown.status == 1
    assert "\x1b[1mt.md\x1b[0m:4:1: \x1b[31merror\x1b[0m \x1b[36malways-four\x1b[0m: " in shown.out
    assert "\x1b" not in start("check", "t.md").out


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_on_request(variables: dict[str, str]) -> None:
    """Who asks for no colour, or has none, gets none."""
    put("t.md", BROKEN)
    assert "\x1b" not in at_terminal("check", "t.md", env=variables).out


def test_colour_in_a_pipe_on_request() -> None:
    """A log viewer that understands colours can have them."""
    put("t.md", BROKEN)
    assert "\x1b[31merror" in start("check", "t.md", env={"FORCE_COLOR": "1"}).out
    assert "\x1b" not in start("check", "t.md", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_reports_for_programs_are_never_coloured(form: str) -> None:
    """Colours are for people only."""
    put("t.md", BROKEN)
    assert "\x1b" not in at_terminal("check", "--format", form, "t.md").out


def test_long_work_shows_how_far_it_is() -> None:
    """With many files a terminal shows progress; with few, or in a pipe, it does not."""
    for number in range(trees.MANY):
        put(f"docs/{number}.md", "")
    put("few/t.md")
    assert "reading" in at_terminal("check", "docs").out
    assert "reading" not in at_terminal("check", "few").out
    assert start("check", "docs") == (0, "", f"{trees.MANY} files, no trees\n")


NASTY = "\x1b[31mred\x1b]0;title\x07\x08\x7f\x9b2J\u202egnp.exe"


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_control_characters_are_not_passed_on(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """What a stranger wrote into a tree cannot drive the terminal of whoever checks it."""
    text = DEPLOY.replace("Deploy now", f"{NASTY}...").replace("[EVE]", f"[E{NASTY[:8]}]")
    put("t.md", text.replace("Decision: Deploy", f"Decision: {NASTY}").replace("[NO]", "[NOW]"))
    status, out, err = call(capsys, "check", "--format", form, "t.md")
    assert (status, err.isprintable() or err.count("\n")) == (1, 1 if err else True)
    seen = set(out) & set(NASTY) - set("[31mred]0;title2Jgnp.exe")
    assert seen <= ({"\x7f", "\x9b", "\u202e"} if form == "json" else set())


ODD_NAMES = ("new\nline.md", "esc\x1b[31m.md", "tab\t.md", "bell\x07.md", "\u202eexe.md")


@pytest.mark.parametrize("name", [*ODD_NAMES, os.fsdecode(b"latin-\xe9.md")])
def test_odd_file_names(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """A file may have any name that the system allows; reports stay one line per problem."""
    put(name, BROKEN)
    status, out, err = call(capsys, "check", ".")
    assert (status, out.count("\n"), err) == (1, 1, "1 tree in 1 file: 1 error\n")
    assert out.removesuffix("\n").isprintable()
    status, out, _ = call(capsys, "check", "--format", "json", name)
    assert status == 1
    (file,) = json.loads(out)["files"]
    assert file["path"] == name.encode(errors="surrogateescape").decode(errors="replace")
    status, out, _ = call(capsys, "check", "--format", "github", name)
    assert (status, out.count("\n")) == (1, 1)
    status, out, _ = call(capsys, "check", "--format", "sarif", name)
    assert (status, len(json.loads(out)["runs"][0]["results"])) == (1, 1)


@pytest.mark.parametrize("name", [*ODD_NAMES, os.fsdecode(b"latin-\xe9.md")])
def test_odd_file_names_that_cannot_be_read(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The complaint about a file is one printable line, whatever the file is called."""
    status, out, err = call(capsys, "check", name)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.removesuffix("\n").isprintable()


# hostile sizes

MEGABYTE = 1_000_000
LINES = {
    "spaces": " ",
    "dashes": "-",
    "hashes": "#",
    "stars": "*",
    "ticks": "`",
    "tildes": "~",
    "brackets": "[",
    "comments": "<!--",
    "quotes": ">",
    "tabs": "\t",
    "letters": "a",
    "equals": "=",
    "underscores": "_",
    "emoji": "😀",
    "pilcrows": "¶ASK_",
    "boxes": "[ ] ",
    "attributes": " a=b",
}


def check_in_time(text: str, *words: str) -> dict[str, Any]:
    """The report on a text, which a process makes in some seconds and within a gigabyte."""
    put("t.md", text)
    ended = start("check", "--format", "json", "t.md", *words, seconds=30, kilobytes=1_500_000)
    assert ended.err == ""
    report: dict[str, Any] = json.loads(ended.out)
    assert ended.status == (1 if report["errors"] else 0)
    return report


@pytest.mark.parametrize("kind", LINES)
def test_an_endless_line(kind: str) -> None:
    """A line of many megabytes is read like any other, alone and in every part of a tree."""
    unit = LINES[kind]
    line = unit * (4 * MEGABYTE // len(unit.encode()))
    assert check_in_time(line + "\n")["files"][0]["trees"] == []
    text = "\n".join(
        [
            DEPLOY,
            line,
            "",
            named("LABEL").replace("Deploy now", f"Deploy {line[: len(line) // 8]}"),
            named("TEXT").replace("Watch it", line[: len(line) // 8]),
            named("KEY").replace("A build", f"A {line[: len(line) // 8]}"),
            "",
        ]
    )
    names = [tree["name"] for tree in check_in_time(text)["files"][0]["trees"]]
    assert names[0] == "DEPLOY"


@pytest.mark.parametrize(
    "line", ["- [" + " " * (8 * MEGABYTE), "- [X] " + "x" * (8 * MEGABYTE)], ids=["code", "label"]
)
def test_an_endless_option(line: str) -> None:
    """An option whose line never seems to end is an option with a long label."""
    report = check_in_time(f"{DEPLOY}{line}\n")
    assert report["files"][0]["trees"][0]["decisions"][0]["options"] == 7
    assert max(len(d["message"]) for d in report["files"][0]["diagnostics"]) < 300


def test_ten_thousand_levels_on_one_line() -> None:
    """Nesting that nobody means is cut off with a diagnostic."""
    report = check_in_time(f"{DEPLOY}{'- ' * 10_000}x\n")
    assert "depth-limit" in {d["rule"] for d in report["files"][0]["diagnostics"]}


def test_many_levels_by_indentation() -> None:
    """The same where every level has a line of its own."""
    lines = "".join(f"{'  ' * depth}- [X] Level {depth}\n" for depth in range(1_500))
    report = check_in_time(f"{DEPLOY}{lines}")
    assert "depth-limit" in {d["rule"] for d in report["files"][0]["diagnostics"]}


def test_many_trees() -> None:
    """Ten thousand trees in one file are checked in a few seconds."""
    text = "\n".join(named(f"T{number}") for number in range(10_000))
    report = check_in_time(text)
    assert (len(report["files"][0]["trees"]), report["errors"]) == (10_000, 0)


def test_many_trees_of_one_name() -> None:
    """As many trees under one name are as many errors less one."""
    assert check_in_time(f"{DEPLOY}\n" * 2_000)["errors"] == 1_999


def test_comments_that_never_end() -> None:
    """An unclosed comment hides what follows, however many there are."""
    assert check_in_time("<!--\n" * 20_000 + DEPLOY)["files"][0]["trees"] == []
    report = check_in_time(DEPLOY + "\n<!--\n\n" * 20_000)
    assert [tree["name"] for tree in report["files"][0]["trees"]] == ["DEPLOY"]


def test_fences_that_never_end() -> None:
    """Fences within fences, each one sign shorter, are read without falling over."""
    fences = "".join("`" * length + "\n" for length in range(1_000, 3, -1))
    report = check_in_time(f"{fences}\n{DEPLOY}")
    assert all(tree["fenced"] for tree in report["files"][0]["trees"])
