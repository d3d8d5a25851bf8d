"""The documentation is true: what it shows happens, and what it names exists.

The first word behind a fence says what becomes of the block, in a folder made for the page:

- `console`: the lines that begin with `$ ` are run, and their output has to be what is shown; a
  backslash at the end goes on in the next line, and runs are kept in a store made for the page;
- `python`: is executed, from the root of the repository, unless it is a program that asks somebody;
- `sh`, `yaml`: every `quandary …` in it must be a command with options that exist;
- `json`, `toml`, `mmd`: can be read, and a setting is one that exists;
- `mermaid`, from left to right: is what `quandary show` draws of the example;
- any language followed by a file name: is what that file holds from there on.

Names of runs, moments and digests differ each time, so the pages show others in their place.
`python tests/test_docs.py [PAGE]...` writes the real output into the pages.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, get_args, get_type_hints

import click
import pytest

from quandary import Ask, Item, Outcome, Question, Reading, Tree, decide, load, read, settings
from quandary.cli import COMMANDS
from quandary.cli.program import quandary
from quandary.flows import walk
from quandary.formats import charts
from quandary.journal import entries, policy
from quandary.journal.progress import FLOWS
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Bucket

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROSE = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

PICTURE = "$ quandary show examples/trees/release.md --format mermaid\n"

_FENCE = re.compile(r"(?ms)^(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=fence)$")
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_RUN = re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b")
_DIGEST = re.compile(r"\b(\d+)-[0-9a-f]{64}\b")
_MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d([T ])\d\d:\d\d(:\d\d)?(\.\d+)?(Z?)")
_COMMAND = re.compile(r"(?m)(?:^|[ \"'(])quandary (?P<rest>[a-z-].*)")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    file: str
    body: str
    start: int
    """Where the body begins in the page."""


class Disguise:
    """What differs each time is shown the same each time, and a command may name it as shown."""

    def __init__(self) -> None:
        self.variables: list[str] = []
        """What was set on the way, which later commands see."""
        self.shown: dict[str, str] = {}
        """The real names of runs and digests of stores, with what a page shows in their place."""

    def on_page(self, output: str) -> str:
        """Output as a page shows it."""
        output = _RUN.sub(self._run, output)
        output = _DIGEST.sub(self._digest, output)
        return _MOMENT.sub(_moment, output)

    def off_page(self, command: str) -> str:
        """A command as it has to be run."""
        for real, shown in self.shown.items():
            command = command.replace(shown, real)
        return command

    def _run(self, found: re.Match[str]) -> str:
        return self.shown.setdefault(found[0], f"01KF2V3N4P5Q6R7S8T9VWXYZ{len(self.shown):02}")

    def _digest(self, found: re.Match[str]) -> str:
        made = hashlib.sha256(f"{len(self.shown)}".encode()).hexdigest()
        return self.shown.setdefault(found[0], f"{found[1]}-{made}")


def _moment(found: re.Match[str]) -> str:
    """Always the same one, written as it was found."""
    between, seconds, fraction, zone = found.groups()
    parts = (between, "09:15", seconds and ":00", fraction and ".000000", zone)
    return "2027-03-02" + "".join(part or "" for part in parts)


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    found = []
    for match in _FENCE.finditer(text):
        language, _, file = match["info"].strip().partition(" ")
        found.append(Block(language, file, match["body"], match.start("body")))
    return found


def played(text: str) -> str:
    """The page with what its commands really put out."""
    parts: list[str] = []
    end = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        disguise = Disguise()
        shutil.copytree(ROOT / "examples", folder / "examples")
        for block in blocks(text):
            real = block.body
            if block.file:
                (folder / block.file).write_text(block.body, encoding="utf-8")
            elif block.language == "console":
                real = session(block.body, folder, disguise)
            elif block.language == "mermaid" and block.body.startswith("flowchart LR"):
                real = session(PICTURE, folder).removeprefix(PICTURE)
            parts += [text[end : block.start], real]
            end = block.start + len(block.body)
    return "".join(parts) + text[end:]


def session(shown: str, folder: Path, disguise: Disguise | None = None) -> str:
    """What a terminal would show after the commands of a block were typed into it."""
    disguise = disguise or Disguise()
    status, output = 0, ""
    for line in typed(shown):
        before = "\n".join([*disguise.variables, f"(exit {status})"])
        if re.match(r"[A-Z]+=\$\(", line):
            disguise.variables.append(line)
        ended = subprocess.run(
            ["sh", "-c", f"{before}\n{disguise.off_page(line)}"],
            cwd=folder,
            env=surroundings(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        status = ended.returncode
        output += f"$ {line}\n{disguise.on_page(ended.stdout.decode())}"
    return output


def typed(shown: str) -> list[str]:
    """The commands of a block; one that ends in a backslash or within quotes goes on below."""
    found: list[str] = []
    for line in shown.splitlines():
        if found and not _whole(found[-1]):
            found[-1] += f"\n{line}"
        elif line.startswith("$ "):
            found.append(line[2:])
    return found


def _whole(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


def surroundings(folder: Path) -> dict[str, str]:
    """The environment: our program first, nobody's settings, and a store for this folder."""
    ours = ("_COLOR", "QUANDARY_", "XDG_")
    kept = {key: value for key, value in os.environ.items() if not any(o in key for o in ours)}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])
    own = {"QUANDARY_STORE": str(folder / "journal.db"), "XDG_CONFIG_HOME": str(folder / "none")}
    own["XDG_STATE_HOME"] = str(folder / "state")
    return {**kept, "PATH": path, "COLUMNS": "80", "PYTHONUTF8": "1", **own}


def commands(body: str) -> list[list[str]]:
    """The arguments of every `quandary …` in a block, up to the next pipe or redirection."""
    found = []
    for match in _COMMAND.finditer(body):
        words = shlex.split(match["rest"], comments=True)
        ends = [n for n, word in enumerate(words) if re.fullmatch(r"[|&;<>]+", word)]
        found.append(words[: ends[0]] if ends else words)
    return found


def anchors(page: Path) -> set[str]:
    """What can stand behind `#` in a link to a page, as GitHub names its headings."""
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"(?m)^#+ (.*)$", prose)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", NAMES)
def test_consoles_show_what_happens(name: str) -> None:
    """What a page shows as a terminal or as a picture is what the program puts out."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text == played(text)


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_a_block_can_be_pasted_whole(name: str) -> None:
    """It names no run that only the page has, stops at nothing that runs for ever, and has no
    second way of doing what it did.
    """
    found = blocks((ROOT / name).read_text(encoding="utf-8"))
    for block in found:
        lines = typed(block.body) if block.language == "console" else block.body.splitlines()
        if block.language in ("console", "sh"):
            assert not [line for line in lines if _RUN.search(line)]
            assert not [line for line in lines[:-1] if line.startswith("quandary serve")]
            assert len([line for line in lines if line.startswith("pip install")]) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_python_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python example runs as it stands. Those that ask somebody are files, which
    test_client.py runs.
    """
    monkeypatch.chdir(ROOT)
    text = (ROOT / name).read_text(encoding="utf-8")
    for block in blocks(text):
        if block.file.startswith("examples/python/"):
            assert block.body == (ROOT / block.file).read_text(encoding="utf-8")
        elif block.language == "python":
            above = "\n" * text.count("\n", 0, block.start)  # so that a traceback names the line
            exec(compile(above + block.body, name, "exec"), {"__name__": "example"})  # noqa: S102


@pytest.mark.parametrize("name", NAMES)
def test_data_can_be_read(name: str) -> None:
    """JSON is JSON, settings are those that there are, and a chart is one."""
    for block in blocks((ROOT / name).read_text(encoding="utf-8")):
        if block.language == "json":
            json.loads(block.body)
        elif block.language == "toml":
            assert set(tomllib.loads(block.body)) <= set(settings.KNOWN)
        elif block.language == "mmd":
            assert any(page.steps for page in charts.read("-", text=block.body).chart.pages)


def test_replies_are_read_as_the_page_says() -> None:
    """Every reply in the tables of `docs/replies.md`, in both ways of reading."""
    text = (ROOT / "docs/replies.md").read_text(encoding="utf-8")
    tables = re.findall(r"<!-- replies to (\S+) -->\n\n((?:\|.*\n)+)", text)
    assert len(tables) == text.count("<!-- replies to") == 2
    for source, table in tables:
        question = first_question(load(str(ROOT / source)))
        for row in table.splitlines()[2:]:
            reply, *shown = (cell.strip() for cell in row.strip("|").split("|"))
            real = [read(reply, question, "strict"), read(reply, question, "plain")]
            assert (reply, shown) == (reply, [told(reading) for reading in real])


def first_question(tree: Tree) -> Question:
    """What is asked first about a tree."""
    ask = next(decide(tree, [Item("1", "Item")], context="The page on replies shows it."))
    assert isinstance(ask, Ask)
    return ask.questions[0]


def told(reading: Reading) -> str:
    """A reading as the page writes it."""
    codes = [f"`{code}`" for code in reading.codes]
    if reading.kind == "pick":
        return ", ".join(codes) + (f", “{reading.comment}”" if reading.comment else "")
    if reading.kind == "ambiguous":
        return f"asks: {' or '.join(codes)}"
    names = {"own-words": "own words", "blank": "Other", "extra": f"extra {reading.extra}"}
    return names.get(reading.kind, reading.kind)


def fields(text: str, heading: str) -> set[str]:
    """The names in the first column of the table below a heading."""
    section = re.split(r"(?m)^#+ ", text.partition(f"\n{heading}\n")[2])[0]
    rows = [row.split("|") for row in re.findall(r"(?m)^\| `.*", section)]
    assert rows, heading
    return {name for row in rows for name in re.findall(r"`(\w+)`", row[1])}


def test_entries_are_as_the_page_says() -> None:
    """Every kind of entry with every field, and no field that is not there."""
    text = (ROOT / "docs/journal.md").read_text(encoding="utf-8")
    every = {"entry", *entries.Body.__struct_fields__}
    assert fields(text, "## What an entry says") == every
    sections = {
        "### began": (entries.Began,),
        "### asked": (entries.Asked,),
        "### answered": (entries.Answered,),
        "### called and returned": (entries.Called, entries.Returned),
        "### noted": (entries.Noted,),
        "### ended": (entries.Ended,),
    }
    kinds = {kind for together in sections.values() for kind in together}
    assert kinds == set(get_args(entries.AnyBody))
    for heading, together in sections.items():
        real = {name for kind in together for name in kind.__struct_fields__}
        assert fields(text, heading) == real - every


def test_tables_are_as_the_page_says(tmp_path: Path) -> None:
    """Every table of a store with its columns, in order."""
    text = (ROOT / "docs/journal.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|$", text)
    shown = {name: re.findall(r"\w+", columns) for name, columns in rows}
    SqliteStore(tmp_path / "j.db").close()
    with closing(sqlite3.connect(tmp_path / "j.db")) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        real = {
            name: [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
            for (name,) in names
        }
    assert shown == real


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    """A command that a page tells people to run exists, with all its options."""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language not in ("sh", "yaml"):
            continue
        for name, *arguments in commands(block.body):
            command = quandary.get_command(click.Context(quandary), name)
            assert command is not None, name
            command.make_context(name, arguments)


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_commands_named_in_passing_exist(page: Path) -> None:
    """So does one that stands in the middle of a sentence, with the options named there."""
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for span in re.findall(r"`quandary\s([^`]+)`", prose):
        name, *words = span.split()
        command = quandary.get_command(click.Context(quandary), name)
        if isinstance(command, click.Group) and words and not words[0].startswith("-"):
            command = command.get_command(click.Context(command), words.pop(0).strip("…"))
        assert command is not None, span
        known = {"--help", *(option for one in command.params for option in one.opts)}
        assert {word for word in words if word.startswith("--")} <= known, span


def test_every_command_has_its_help_on_the_page() -> None:
    """`docs/commands.md` shows the help of the program and of each of its commands."""
    text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    shown = [block.body.splitlines()[0] for block in blocks(text) if block.language == "console"]
    for name in ("", *COMMANDS):
        assert f"$ quandary {name} --help".replace("  ", " ") in shown


def test_the_changelog_names_every_command() -> None:
    """Whatever can be called is told of, under the heading of this version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = text.split("\n## ")[1]
    named = {word for span in re.findall(r"`([^`]+)`", newest) for word in span.split()}
    assert set(COMMANDS) <= named
    assert len(re.findall("(?m)^## .*unreleased", text)) == 1


def test_every_setting_is_on_the_page() -> None:
    """`docs/settings.md` lists each setting there is, and none besides."""
    text = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (`.*?`) \|", text.partition("## All of them")[2].split("\n## ")[0])
    named = {name for row in rows for name in re.findall(r"[`\[](\w+)", row)}
    assert named == set(settings.KNOWN)


def test_the_tour_is_played() -> None:
    """The README's tour declares a tree, asks, replies and looks it up, all of it for real."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    steps = re.findall(r"(?m)^\*\*(\d)\. ", text)
    assert steps == ["1", "2", "3", "4", "5"]
    consoles = [block.body for block in blocks(text) if block.language == "console"]
    lines = [line for body in consoles for line in typed(body)]
    run = {name for line in lines for name in re.findall(r"quandary (\w+)", line)}
    assert {"check", "ask", "runs", "reply", "log", "verify"} <= run
    assert len(text.splitlines()) < 250


def test_the_glossary_has_the_words_of_the_house() -> None:
    """In the order of the alphabet, each once; and every word that JSON has from a fixed set."""
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    words, _, sets = text.partition("## Words with a fixed set")
    explained = re.findall(r"(?m)^- \*\*(.+?)\*\*: ", words)
    assert explained == sorted(set(explained), key=lambda word: (word.casefold(), word.isupper()))
    fixed = [entries.Kind, entries.Who, entries.Status, policy.Preference, Bucket]
    fixed += [get_type_hints(Reading)["kind"], get_type_hints(Outcome)["kind"], walk.Outcome]
    flows = [name for name, module in FLOWS.items() if module.startswith("quandary.")]
    for word in (*flows, *(word for one in fixed for word in get_args(one))):
        assert f"`{word}`" in sets, word


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """A link within the documentation leads to a file, and to a heading if it names one."""
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for match in _LINK.finditer(prose):
        target = match["target"]
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), target
        assert not heading or heading in anchors(there), target


def test_index_lists_every_page() -> None:
    """`docs/index.md` leads to every other page."""
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    listed = {match["target"] for match in _LINK.finditer(text)}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"} <= listed


def test_the_documentation_passes_its_own_checks() -> None:
    """A page about trees declares none by accident and leaves no fence open."""
    names = " ".join(str(page.relative_to(ROOT)) for page in PROSE)
    shown = session(f"$ quandary check --strict {names}\n$ echo $?\n", ROOT)
    assert shown.endswith("$ echo $?\n0\n"), shown


def test_rules_page_is_the_one_that_ships() -> None:
    """`docs/rules.md` is what `quandary rule` reads from."""
    shipped = ROOT / "src/quandary/formats/rules.md"
    assert (ROOT / "docs/rules.md").read_bytes() == shipped.read_bytes()


def test_every_threat_has_a_test_that_exists() -> None:
    """Each row of the table on the page about security names tests, and they are there."""
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .+ \|$", page.partition("## From threat to test")[2], re.MULTILINE)[1:]
    assert rows
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, test in named:
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{test}"


def test_a_wrong_output_is_noticed() -> None:
    """The check above is one: output that is not the real one is replaced."""
    page = "```markdown a.md\n# No tree\n```\n\n```console\n$ quandary check a.md\nlies\n```\n"
    assert played(page) == page.replace("lies", "1 file, no trees")


def test_what_differs_each_time_is_shown_the_same() -> None:
    """Runs, moments and digests; and a command that names a run as it is shown finds it."""
    ask = "quandary ask examples/trees/release.md --item 1 --context 'All is green.' --via text"
    beginning = f"```console\n$ {ask} | cut -c 1-34\n$ quandary runs\n```\n"
    first = played(beginning)
    run = _RUN.search(first)
    assert run is not None
    reply = f"quandary reply {run[0]} \\\n    2 --proof"
    page = f"{first}```console\n$ {reply}\n$ quandary verify\n```\n"
    shown = played(page)
    assert '"path":"SOFT"' in shown
    assert _DIGEST.search(shown)
    assert shown == played(shown)


def _write_real_output(names: list[str]) -> None:
    for page in [Path(name) for name in names] or PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(played(text), encoding="utf-8")


if __name__ == "__main__":
    _write_real_output(sys.argv[1:])
