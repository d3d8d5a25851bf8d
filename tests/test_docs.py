"""The documentation is true: what it shows happens, and what it names exists.

The first word behind a fence says what becomes of the block, in a folder made for the page:

- `console`: the lines that begin with `$ ` are run, and their output has to be what is shown;
- `python`: is executed, from the root of the repository;
- `sh`, `yaml`: every `quandary …` in it must be a command with options that exist;
- `mermaid`: is what `quandary show` draws of the example;
- any language followed by a file name: is what that file holds from there on.

`python tests/test_docs.py` writes the real output into the pages.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from quandary.cli import COMMANDS, quandary

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROSE = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

PICTURE = "$ quandary show examples/trees/release.md --format mermaid\n"

_FENCE = re.compile(r"(?ms)^(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=fence)$")
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_COMMAND = re.compile(r"(?m)(?:^|[ \"'(])quandary (?P<rest>[a-z-].*)")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    file: str
    body: str
    start: int
    """Where the body begins in the page."""


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
        shutil.copytree(ROOT / "examples", folder / "examples")
        for block in blocks(text):
            real = block.body
            if block.file:
                (folder / block.file).write_text(block.body, encoding="utf-8")
            elif block.language == "console":
                real = session(block.body, folder)
            elif block.language == "mermaid":
                real = session(PICTURE, folder).removeprefix(PICTURE)
            parts += [text[end : block.start], real]
            end = block.start + len(block.body)
    return "".join(parts) + text[end:]


def session(shown: str, folder: Path) -> str:
    """What a terminal would show after the commands of a block were typed into it."""
    script = "status=0\n"
    for line in shown.splitlines():
        if line.startswith("$ "):
            script += f"printf '%s\\n' {shlex.quote(line)}; (exit $status)\n{line[2:]}\nstatus=$?\n"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {key: value for key, value in os.environ.items() if not key.endswith("_COLOR")}
    ended = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env={**kept, "PATH": path, "COLUMNS": "80", "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    return ended.stdout.decode()


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


@pytest.mark.parametrize("name", NAMES)
def test_python_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python example runs as it stands."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / name).read_text(encoding="utf-8")
    for block in blocks(text):
        if block.language == "python":
            above = "\n" * text.count("\n", 0, block.start)  # so that a traceback names the line
            exec(compile(above + block.body, name, "exec"), {"__name__": "example"})  # noqa: S102


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


def test_every_command_has_its_help_on_the_page() -> None:
    """`docs/commands.md` shows the help of the program and of each of its commands."""
    text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    shown = [block.body.splitlines()[0] for block in blocks(text) if block.language == "console"]
    for name in ("", *COMMANDS):
        assert f"$ quandary {name} --help".replace("  ", " ") in shown


def test_readme_has_a_picture() -> None:
    """The README draws a tree, as Mermaid and as text."""
    drawn = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [block.language for block in drawn].count("mermaid") == 1
    assert any(block.body.startswith("$ quandary show ") for block in drawn)


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


def test_a_wrong_output_is_noticed() -> None:
    """The check above is one: output that is not the real one is replaced."""
    page = "```markdown a.md\n# No tree\n```\n\n```console\n$ quandary check a.md\nlies\n```\n"
    assert played(page) == page.replace("lies", "1 file, no trees")


def _write_real_output() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(played(text), encoding="utf-8")


if __name__ == "__main__":
    _write_real_output()
