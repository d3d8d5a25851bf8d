"""`quandary show`: which tree a SOURCE names, and how it looks."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import quandary
from program import DEPLOY, PROGRAM, at_terminal, call, start


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one tree; its root is the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    put("quandary.toml", "")
    put("t.md", DEPLOY)
    return tmp_path


def put(path: str, text: str) -> None:
    """A file with this text and the folders it is in."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def named(name: str, decision: str = "Deploy") -> str:
    """A tree under other names."""
    return DEPLOY.replace("DEPLOY", name).replace("Decision: Deploy", f"Decision: {decision}")


def shown(capsys: pytest.CaptureFixture[str], source: str) -> dict[str, Any]:
    """The tree that a SOURCE names, as JSON, having made sure that Python finds the same one."""
    status, out, err = call(capsys, "show", "--format", "json", source)
    assert (status, err) == (0, "")
    tree: dict[str, Any] = json.loads(out)
    assert quandary.load(source).name == tree["name"]
    return tree


def refused(capsys: pytest.CaptureFixture[str], source: str) -> str:
    """What is said of a SOURCE that names no tree, by the program and by Python alike."""
    status, out, err = call(capsys, "show", source)
    assert (status, out, err.count("\n")) == (2, "", 1)
    with pytest.raises(quandary.QuandaryError) as error:
        quandary.load(source)
    assert err == f"quandary: {error.value}\n"
    return str(error.value)


# forms


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    """For people the tree is drawn, with its codes, labels and descriptions."""
    drawn = """\
DEPLOY
trigger  A build has passed every check

Deploy
├─ NOW  Deploy now
│       Users get it within minutes
├─ EVE  Deploy this evening
│       Fewer people would notice
├─ NO   Do not deploy
│       The build stays where it is
└─ OTH  Other
   ├─ PART  Deploy to one region
   │        Watch it there first
   └─ LOOK  Look at the changes
            Decide afterwards
"""
    assert call(capsys, "show", "t.md") == (0, drawn, "")


def test_json_is_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON has these keys in this order, absent things included."""
    put("u.md", "## Decision: Audience\n- [CUST] [ ] Customers\n- [OTH] Other\n")
    options: list[dict[str, Any]] = [
        {"code": "CUST", "label": "Customers", "description": "", "multi": True, "options": []},
        {"code": "OTH", "label": "Other", "description": "", "multi": False, "options": []},
    ]
    expected: dict[str, Any] = {
        "name": "Audience",
        "trigger": None,
        "extras": {},
        "kind": "transition",
        "decisions": [{"name": "Audience", "multi": True, "options": options}],
    }
    status, out, err = call(capsys, "show", "u.md", "--format", "json")
    assert (status, err) == (0, "")
    assert out == json.dumps(expected, indent=2) + "\n"


def test_json_has_what_the_keys_say(capsys: pytest.CaptureFixture[str]) -> None:
    """Every key of a tree is in its JSON; those of the contract come first."""
    keys = "Trigger: t\nExtras: A: one | B: two\nKind: advisory\nQuestion: Why?\nKeywords: x, y\n"
    put("u.md", DEPLOY.replace("Trigger: A build has passed every check\n", keys))
    tree = shown(capsys, "u.md")
    assert list(tree)[:5] == ["name", "trigger", "extras", "kind", "decisions"]
    assert (tree["trigger"], tree["kind"], tree["question"]) == ("t", "advisory", "Why?")
    assert (tree["extras"], tree["keywords"]) == ({"A": "one", "B": "two"}, ["x", "y"])
    (decision,) = tree["decisions"]
    assert list(decision) == ["name", "multi", "options"]
    assert [o["code"] for o in decision["options"]] == ["NOW", "EVE", "NO", "OTH"]
    assert [o["code"] for o in decision["options"][3]["options"]] == ["PART", "LOOK"]
    assert decision["options"][0] == {
        "code": "NOW",
        "label": "Deploy now",
        "description": "Users get it within minutes",
        "multi": False,
        "options": [],
    }


def test_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    """Mermaid and Graphviz get every option of the tree."""
    for form, first in (("mermaid", "flowchart "), ("dot", "digraph ")):
        status, out, err = call(capsys, "show", "t.md", "--format", form)
        assert (status, err) == (0, "")
        assert first in out
        for label in ("Deploy now", "Deploy this evening", "Do not deploy", "Look at the changes"):
            assert label in out


def test_colour_on_a_terminal() -> None:
    """A terminal gets a coloured tree, a pipe a plain one, and pictures never have colours."""
    assert "\x1b[36mNOW\x1b[0m" in at_terminal("show", "t.md").out
    assert "\x1b" not in at_terminal("show", "t.md", env={"NO_COLOR": "1"}).out
    assert "\x1b" not in at_terminal("show", "--format", "json", "t.md").out
    assert "\x1b" not in start("show", "t.md").out


@pytest.mark.parametrize("form", ["text", "json", "mermaid", "dot"])
def test_control_characters_are_not_passed_on(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """What a stranger wrote into a tree cannot drive the terminal of whoever looks at it."""
    put("t.md", DEPLOY.replace("Deploy now", "Deploy\x1b[31m\x07 now").replace("A build", "A\x1b"))
    out = call(capsys, "show", "--format", form, "t.md").out
    assert "\x1b" not in out
    assert "\x07" not in out


# which tree


@pytest.mark.parametrize(
    "name",
    ["DEPLOY", "¶ASK_DEPLOY", "§ASK_DEPLOY", "ASK_DEPLOY", "`§ASK_DEPLOY`", "Deploy", "deploy"],
)
@pytest.mark.parametrize("place", ["t.md#", "./t.md#", ""])
def test_a_tree_by_its_name(capsys: pytest.CaptureFixture[str], place: str, name: str) -> None:
    """A name is found with or without its prefix, in a file or in the project."""
    put("u.md", named("OTHER", "Something else"))
    assert shown(capsys, place + name)["name"] == "DEPLOY"


def test_a_tree_by_its_decision(capsys: pytest.CaptureFixture[str]) -> None:
    """A decision's name will do, and one that has no ¶ASK heading is known by nothing else."""
    put("t.md", f"{named('ONE', 'First question')}\n# Next\n\n## Decision: Loose end\n- [A] x\n")
    assert shown(capsys, "t.md#First question")["name"] == "ONE"
    assert shown(capsys, "Loose end")["name"] == "Loose end"
    assert shown(capsys, "t.md#loose END")["name"] == "Loose end"


def test_a_name_comes_before_a_decision(capsys: pytest.CaptureFixture[str]) -> None:
    """Where one tree's name is another's decision, the name wins."""
    put("t.md", f"{named('ONE', 'TWO')}\n{named('TWO', 'THREE')}")
    assert shown(capsys, "t.md#TWO")["name"] == "TWO"


@pytest.mark.parametrize("name", ["Yes/no", "Which C#?", "v1.md or not", "../up"])
def test_names_that_look_like_paths(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """A decision may have any name, also one with a slash or a number sign in it."""
    put("t.md", named("ONE", name))
    assert shown(capsys, name)["name"] == "ONE"


def test_a_file_with_one_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """A file will do if there is one tree in it; examples do not count beside it."""
    put("t.md", f"{DEPLOY}\n```\n{named('EXAMPLE')}```\n")
    assert shown(capsys, "t.md")["name"] == "DEPLOY"
    put("t.md", f"# Prose\n\n```\n{named('EXAMPLE')}```\n")
    assert shown(capsys, "t.md")["name"] == "EXAMPLE"


def test_a_file_with_several_trees(capsys: pytest.CaptureFixture[str]) -> None:
    """With several, one of them has to be named."""
    put("t.md", "\n".join(named(f"T{number}") for number in range(7)))
    said = "t.md: 7 trees in it (T0, T1, T2, T3, T4, …); say which: t.md#T0"
    assert refused(capsys, "t.md") == said


@pytest.mark.parametrize("text", ["", "# Prose\n", "### ¶ASK_[NAME]\n"])
def test_a_file_with_no_tree(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """A file without trees is not the one that was meant."""
    put("t.md", text)
    assert refused(capsys, "t.md").startswith("t.md: no tree in it; ")


def test_a_name_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest name is suggested, whatever its case, or else those that there are."""
    for name in ("DEPLOI", "deploi"):
        said = f"no tree named {name} in t.md; did you mean DEPLOY?"
        assert refused(capsys, f"t.md#{name}") == said
    assert refused(capsys, "t.md#XYZZY") == "no tree named XYZZY in t.md; it has DEPLOY"
    put("u.md", "\n".join(named(f"T{number}") for number in range(9)))
    said = "no tree named XYZZY in the project; it has DEPLOY, T0, T1, T2, T3, T4, T5, T6"
    assert refused(capsys, "XYZZY") == f"{said} and 2 more"


@pytest.mark.parametrize(
    "name", ["ask_deploy", "ASK_DEPLOY", "Ask_Deploy", "¶ask_deploy", "§ASK_Deploy", "ask-deploy"]
)
def test_a_name_is_found_with_its_ask_in_any_case(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """As its heading has it, or as somebody types it."""
    assert shown(capsys, name)["name"] == shown(capsys, f"t.md#{name}")["name"] == "DEPLOY"


def test_a_name_that_is_there_twice(capsys: pytest.CaptureFixture[str]) -> None:
    """Two trees of one name are not guessed between; the remedy is one that works."""
    put("u.md", f"\n\n{DEPLOY}")
    said = "DEPLOY is the name of 2 trees (t.md:1, u.md:3); say t.md#DEPLOY"
    assert refused(capsys, "DEPLOY") == said
    assert shown(capsys, "u.md#DEPLOY")["name"] == "DEPLOY"
    put("u.md", f"{DEPLOY}\n{DEPLOY}")
    said = "DEPLOY is the name of 2 trees (u.md:1, u.md:17); rename all but one"
    assert refused(capsys, "u.md#DEPLOY") == said


def test_examples_stand_back(capsys: pytest.CaptureFixture[str]) -> None:
    """A tree in a fence is shown by name when no tree outside of fences has that name."""
    example = DEPLOY.replace("every check", "no check").replace("DEPLOY", "{}")
    put("u.md", f"```\n{example.format('DEPLOY')}```\n\n```\n{example.format('EXAMPLE')}```\n")
    assert shown(capsys, "DEPLOY")["trigger"] == "A build has passed every check"
    assert shown(capsys, "EXAMPLE")["trigger"] == "A build has passed no check"
    assert shown(capsys, "u.md#DEPLOY")["trigger"] == "A build has passed no check"


@pytest.mark.parametrize("mark", ["quandary.toml", ".quandary", ".git"])
def test_the_project_is_found_from_below(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    """A name is looked for in the whole project, from any folder in it."""
    put("p/skills/t.md", named("ONE", "First"))
    put("p/src/deep/u.md", named("TWO", "Second"))
    put(f"p/{mark}", "") if "toml" in mark else Path(f"p/{mark}").mkdir()
    monkeypatch.chdir("p/src/deep")
    assert shown(capsys, "ONE")["name"] == "ONE"
    said = "no tree named DEPLOY in the project; it has ONE, TWO"
    assert refused(capsys, "DEPLOY") == said


def test_the_settings_say_where_trees_are(capsys: pytest.CaptureFixture[str]) -> None:
    """`trees` in `quandary.toml` names the files and folders to look in, from the root."""
    put("skills/a.md", named("ONE", "First"))
    put("more/b.md", named("TWO", "Second"))
    put("quandary.toml", 'trees = ["skills", "more/b.md"]\n')
    assert shown(capsys, "ONE")["name"] == "ONE"
    assert shown(capsys, "TWO")["name"] == "TWO"
    assert refused(capsys, "DEPLOY").startswith("no tree named DEPLOY in ")
    put("quandary.toml", 'trees = "skills"\n')
    assert shown(capsys, "ONE")["name"] == "ONE"


def test_trees_of_a_project_are_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository cannot have trees read from elsewhere, by its settings or by a link."""
    put("p/quandary.toml", 'trees = [".", "../t.md"]\n')
    put("p/own.md", named("OWN", "Own"))
    Path("p/link.md").symlink_to(Path("t.md").absolute())
    monkeypatch.chdir("p")
    expected = "quandary.toml: trees names '../t.md', which is not in this project"
    assert refused(capsys, "DEPLOY") == expected
    put("quandary.toml", "")
    assert shown(capsys, "OWN")["name"] == "OWN"
    assert refused(capsys, "DEPLOY").startswith("no tree named DEPLOY in ")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("trees = 3\n", "quandary.toml: trees is a list of files and folders, like "),
        ("trees = [3]\n", "quandary.toml: trees is a list of files and folders, like "),
        ("trees = \n", "quandary.toml: "),
        ('trees = ["nowhere"]\n', "nowhere: no such file or folder"),
    ],
)
def test_settings_that_make_no_sense(
    capsys: pytest.CaptureFixture[str], settings: str, said: str
) -> None:
    """Settings that cannot be followed are named, with what is wrong with them."""
    put("quandary.toml", settings)
    assert said in refused(capsys, "DEPLOY")


def test_one_bad_file_hides_no_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """A file in the project that is no text does not keep the others' trees from being found."""
    Path("a.md").write_bytes(b"\0\xff")
    assert shown(capsys, "DEPLOY")["name"] == "DEPLOY"


def test_standard_input() -> None:
    """`-` and `-#NAME` take the tree from what is piped in."""
    two = f"{named('ONE')}\n{named('TWO')}"
    assert start("show", "-", stdin=DEPLOY).out.startswith("DEPLOY\n")
    assert start("show", "-#TWO", stdin=two).out.startswith("TWO\n")
    assert start("show", "-#ONE", "--format", "json", stdin=two).out.startswith(
        '{\n  "name": "ONE"'
    )
    assert start("show", "--", "-#TWO", stdin=two).out.startswith("TWO\n")
    several = start("show", "-", stdin=two)
    assert (several.status, several.out) == (2, "")
    assert several.err == "quandary: -: 2 trees in it (ONE, TWO); say which: -#ONE\n"
    nothing = start("show", "-")
    assert (nothing.status, nothing.out, nothing.err.count("\n")) == (2, "", 1)


def test_a_pipe_in_the_place_of_a_file() -> None:
    """`quandary show <(command)` reads the pipe that the shell puts there."""
    ended = subprocess.run(
        ["bash", "-c", '"$@" show <(cat t.md)', "bash", *PROGRAM], capture_output=True, check=True
    )
    assert ended.stdout.startswith(b"DEPLOY\n")


def test_a_file_with_a_number_sign_in_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    """A file that exists is a file, whatever signs its name holds; the last `#` parts the name."""
    put("issue #1.md", named("ONE"))
    put("a#b.md", f"{named('TWO')}\n{named('THREE')}")
    put("a", named("FOUR"))
    assert shown(capsys, "issue #1.md")["name"] == "ONE"
    assert shown(capsys, "issue #1.md#ONE")["name"] == "ONE"
    assert shown(capsys, "a#b.md#THREE")["name"] == "THREE"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere.md", "nowhere.md: no such file"),
        ("nowhere.md#DEPLOY", "nowhere.md: no such file"),
        ("a/b/NOWHERE.MD#DEPLOY", "a/b/NOWHERE.MD: no such file"),
        ("folder", "folder: a folder, not a file"),
        ("folder#DEPLOY", "folder: a folder, not a file"),
        ("binary.md", "binary.md: a binary file (NUL byte at offset 0)"),
        ("dangling.md", "dangling.md: no such file"),
        ("", "name a tree: file.md, file.md#NAME or NAME"),
        ("#", "no tree named # in the project; it has DEPLOY"),
    ],
)
def test_a_source_that_is_no_tree(
    capsys: pytest.CaptureFixture[str], source: str, said: str
) -> None:
    """What cannot be a tree is refused in one line, with status 2."""
    Path("folder").mkdir()
    Path("binary.md").write_bytes(b"\0")
    Path("dangling.md").symlink_to("nowhere")
    assert refused(capsys, source) == said


@pytest.mark.parametrize("source", ["c.csv", "c.JSON", "c.mmd", "c.csv#Page 1", "nowhere.csv"])
def test_a_chart_is_not_taken_for_a_tree(source: str) -> None:
    """It is shown, but who wants a tree is told that this is none."""
    with pytest.raises(quandary.ParseError) as error:
        quandary.load(source)
    path = source.partition("#")[0]
    assert str(error.value) == f"{path}: a chart, not a tree; name a Markdown file"


# Extends


def test_a_tree_that_extends_another(capsys: pytest.CaptureFixture[str]) -> None:
    """Bare codes take their label, description and menu from the tree that is extended."""
    put("u.md", "### ¶ASK_QUICK\nExtends: §ASK_DEPLOY\n\n## Decision: Quick\n- [NO]\n- [OTH]\n")
    tree = shown(capsys, "QUICK")
    assert (tree["trigger"], tree["extends"]) == ("A build has passed every check", "DEPLOY")
    no, other = tree["decisions"][0]["options"]
    assert (no["label"], no["description"]) == ("Do not deploy", "The build stays where it is")
    assert [option["code"] for option in other["options"]] == ["PART", "LOOK"]


def test_a_base_that_extends_another(capsys: pytest.CaptureFixture[str]) -> None:
    """What is extended may itself extend a tree, also in another file of the project."""
    put("u.md", "### ¶ASK_B\nExtends: §ASK_DEPLOY\n\n## Decision: B\n- [NO]\n- [OTH] Else\n")
    put("docs/v.md", "### ¶ASK_C\nExtends: §ASK_B\n\n## Decision: C\n- [OTH]\n- [NO]\n")
    other, no = shown(capsys, "docs/v.md")["decisions"][0]["options"]
    assert (other["label"], no["label"]) == ("Else", "Do not deploy")


def test_a_base_is_looked_for_beside_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file's own project counts, wherever the program is called from."""
    put("u.md", "### ¶ASK_QUICK\nExtends: §ASK_DEPLOY\n\n## Decision: Quick\n- [NO]\n")
    put("elsewhere/quandary.toml", "")
    monkeypatch.chdir("elsewhere")
    (option,) = shown(capsys, "../u.md")["decisions"][0]["options"]
    assert option["label"] == "Do not deploy"


def test_a_base_outside_of_fences_is_preferred(capsys: pytest.CaptureFixture[str]) -> None:
    """An example of the same name is not what a tree extends."""
    example = DEPLOY.replace("Do not deploy", "Never")
    quick = "### ¶ASK_QUICK\nExtends: §ASK_DEPLOY\n\n## Decision: Quick\n- [NO]\n"
    put("t.md", f"```\n{example}```\n\n{quick}\n{DEPLOY}")
    (option,) = shown(capsys, "t.md#QUICK")["decisions"][0]["options"]
    assert option["label"] == "Do not deploy"


def test_a_base_that_is_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    """A tree cannot be shown without what it is made of."""
    put("u.md", "### ¶ASK_QUICK\nExtends: §ASK_SLOW\n\n## Decision: Quick\n- [NO]\n")
    assert refused(capsys, "QUICK") == "u.md:1: extends SLOW, which is nowhere in the project"


@pytest.mark.parametrize("names", ["A", "AB", "ABC"])
def test_bases_in_a_circle(capsys: pytest.CaptureFixture[str], names: str) -> None:
    """Trees that extend each other in a circle are refused, not followed for ever."""
    for name, base in zip(names, names[1:] + names[0], strict=True):
        text = f"### ¶ASK_{name}\nExtends: §ASK_{base}\n\n## Decision: {name}\n- [NO]\n"
        put(f"{name}.md", text)
    circle = ", ".join([*names, "A"])
    said = f"A.md:1: Extends: goes in a circle ({circle}); take one of them out"
    assert refused(capsys, "A") == said


def test_a_deleted_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """Called in a folder that is no longer there, the program still says what is wrong."""
    Path("gone").mkdir()
    os.chdir("gone")
    Path("../gone").rmdir()
    status, out, err = call(capsys, "show", "DEPLOY")
    assert (status, out, err) == (2, "", "quandary: .: no such file or folder\n")
