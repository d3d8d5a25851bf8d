"""`quandary rule`: every rule explained, with examples that are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from program import at_terminal, call
from quandary.formats.rules import CHARTS, RULES, explanations
from quandary.model.chart import TOLERATED

_EXAMPLE = re.compile(r"(?ms)^(Bad|Good):\n\n````markdown\n(.*?)^````$")


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_explained(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """A rule is stated, given reasons for, and shown with a bad and a good example."""
    status, out, err = call(capsys, "rule", name)
    assert (status, err) == (0, "")
    fixed = ", fixed by --fix" if RULES[name].fixable else ""
    title, empty, stated, *rest = out.splitlines()
    assert (title, empty) == (f"{name} ({RULES[name].severity}{fixed})", "")
    assert stated.startswith(explanations()[name].summary)
    assert rest.index("Bad:") < rest.index("Good:")
    assert "````" not in out
    assert "*Error.*" not in out
    assert "*Warning.*" not in out


@pytest.mark.parametrize("name", RULES)
def test_examples_are_true(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The bad example breaks the rule, the good one breaks none, and `--fix` does what is said."""
    monkeypatch.chdir(tmp_path)
    examples = dict(_EXAMPLE.findall(explanations()[name].text))
    Path("bad.md").write_text(examples["Bad"], encoding="utf-8")
    Path("good.md").write_text(examples["Good"], encoding="utf-8")
    assert f" {name}: " in call(capsys, "check", "bad.md").out
    assert call(capsys, "check", "--strict", "good.md").out == ""
    if RULES[name].fixable:
        assert f" {name}: " not in call(capsys, "check", "--fix", "--select", name, "bad.md").out


def test_the_page_says_what_the_rules_are() -> None:
    """Severity and `--fix` are on the page as they are in the program, and no rule is left out."""
    assert explanations().keys() == RULES.keys()
    for name, explained in explanations().items():
        assert explained.text.startswith(f"*{RULES[name].severity.capitalize()}.* ")
        assert ("Fixed by `--fix`." in explained.text) == RULES[name].fixable
        assert explained.summary.endswith(".")
        assert "Fixed by" not in explained.summary


def test_the_page_on_charts_has_every_rule_of_theirs() -> None:
    """What `check` knows as a rule of charts is what is explained, and what they are judged by."""
    root = Path(__file__).parents[2]
    page = (root / "docs/charts.md").read_text(encoding="utf-8").partition("## What is checked")[2]
    rows = re.findall(r"(?m)^\| (`[^|]*) \|", page)
    assert {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)} == CHARTS
    files = [root / "src/quandary/model/chart.py", *root.glob("src/quandary/formats/charts/*.py")]
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    said = re.findall(r'(?:Problem|_error|_warning|_problem|complain)\(\s*"([a-z-]+)"', source)
    assert {*said, *TOLERATED} == CHARTS


def test_without_a_name_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """The list has a line for each rule with its severity and what it says."""
    status, out, err = call(capsys, "rule")
    assert (status, err) == (0, "")
    listed = [line.split(maxsplit=2) for line in out.splitlines()]
    expected = [[e.name, e.severity, e.summary] for e in explanations().values()]
    assert listed == expected


def test_errors_come_before_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    """What is worse comes first."""
    severities = [line.split()[1] for line in call(capsys, "rule").out.splitlines()]
    assert severities == sorted(severities)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("always-for", "did you mean always-four?"),
        ("ALWAYS-FOUR", "`quandary rule` lists them"),
        ("", "`quandary rule` lists them"),
        ("\x1b[31m", "`quandary rule` lists them"),
    ],
)
def test_a_rule_that_does_not_exist(
    capsys: pytest.CaptureFixture[str], name: str, hint: str
) -> None:
    """An unknown rule is one printable line with status 2 and what to try instead."""
    status, out, err = call(capsys, "rule", name)
    assert (status, out) == (2, "")
    shown = name.replace("\x1b", "\\x1b")
    assert err == f"quandary: there is no rule {shown}; {hint}\n"


def test_titles_are_bold_on_a_terminal() -> None:
    """A terminal shows names in bold; nobody else sees an escape."""
    assert at_terminal("rule", "always-four").out.startswith("\x1b[1malways-four (error)\x1b[0m\n")
    assert at_terminal("rule").out.startswith("\x1b[1malways-four ")
    assert "\x1b" not in at_terminal("rule", env={"NO_COLOR": "1"}).out
