"""The repository itself: what others rely on besides the program."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import quandary
from program import DEPLOY, PROGRAM
from quandary.cli import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
_FENCE = re.compile(r"(?ms)^(`{3,}|~{3,}).*?^\1[`~]*$")
_LINK = re.compile(r"\]\(<?([^)>\s]+)>?[^)]*\)|^\[[^\]]+\]:[ \t]*(\S+)", re.MULTILINE)
_HOOK = re.compile(r"(?m)^- id: (?P<id>\S+)\n(?P<rest>(?:  .*\n?)*)")


def files() -> list[Path]:
    """Every file that is or would be in the repository."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name]
    return [path for path in paths if path.is_file()]


def hooks() -> dict[str, dict[str, str]]:
    """The hooks that others can use in pre-commit, by their ids."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    return {
        hook["id"]: dict(line.strip().split(": ", 1) for line in hook["rest"].strip().split("\n"))
        for hook in _HOOK.finditer(text)
    }


def links(page: Path) -> list[str]:
    """Where a page leads to within the repository, code blocks aside."""
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [inline or reference for inline, reference in _LINK.findall(prose)]
    return [target for target in targets if not urlsplit(target).scheme]


def anchors(page: Path) -> set[str]:
    """What can stand behind `#` in a link to a page, as GitHub names its headings."""
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"(?m)^#{1,6} +(.*?) *#*$", prose)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


# pre-commit


def test_hooks_are_commands() -> None:
    """There are two hooks for Markdown files, each of which calls a command that exists."""
    assert set(hooks()) == {"quandary-check", "quandary-fmt"}
    for name, hook in hooks().items():
        program, command = hook["entry"].split()
        assert (program, f"quandary-{command}") == ("quandary", name)
        assert command in COMMANDS
        assert (hook["language"], hook["types"]) == ("python", "[markdown]")


@pytest.mark.parametrize(
    ("name", "text", "status", "after"),
    [
        ("quandary-check", DEPLOY, 0, DEPLOY),
        ("quandary-check", DEPLOY.replace("[NO]", "[NOW]"), 1, DEPLOY.replace("[NO]", "[NOW]")),
        ("quandary-fmt", DEPLOY, 0, DEPLOY),
        ("quandary-fmt", DEPLOY.replace("- [", "* ["), 0, DEPLOY),
    ],
)
def test_hooks_do_their_work(tmp_path: Path, name: str, text: str, status: int, after: str) -> None:
    """Called with file names as pre-commit does, a hook checks them, or rewrites them."""
    file = tmp_path / "a tree.md"
    file.write_text(text, encoding="utf-8")
    words = hooks()[name]["entry"].split()[1:]
    ended = subprocess.run(
        [*PROGRAM, *words, file.name], cwd=tmp_path, capture_output=True, check=False
    )
    assert (ended.returncode, file.read_text(encoding="utf-8")) == (status, after)


# versions


def test_the_version_stands_in_one_place() -> None:
    """The package says its version once; what builds it reads it there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    place = project["tool"]["hatch"]["version"]["path"]
    holders = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if f'"{quandary.__version__}"' in path.read_text(encoding="utf-8")
    ]
    assert holders == [place]


def test_the_package_is_typed() -> None:
    """Type checkers of those who use the package are told that it has types."""
    assert (ROOT / "src/quandary/py.typed").is_file()


# documentation


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_resolve(page: Path) -> None:
    """A link leads to a file that is there, and to a heading if it names one."""
    for target in links(page):
        path, _, heading = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.is_relative_to(ROOT), target
        assert there.exists(), target
        assert not heading or there.suffix != ".md" or heading in anchors(there), target


def test_every_page_can_be_found() -> None:
    """Who starts at the README comes to every page by links; a site starts at `index.md`."""
    found, waiting = {PAGES[0]}, [PAGES[0]]
    while waiting:
        page = waiting.pop()
        for target in links(page):
            there = (page.parent / target.partition("#")[0]).resolve()
            if there in PAGES and there not in found:
                found.add(there)
                waiting.append(there)
    assert {page.name for page in PAGES if page not in found} <= {"index.md"}


def test_the_rules_are_documented_once() -> None:
    """`docs/rules.md` is the page that `quandary rule` reads from, to the byte."""
    shipped = ROOT / "src/quandary/formats/rules.md"
    assert (ROOT / "docs/rules.md").read_bytes() == shipped.read_bytes()


# privacy


def private() -> list[bytes]:
    """What only makes sense on the machine that a file was written on."""
    words = ["/" + "work/", "/" + "root/", "/home" + "/", "/" + "Users/", "index" + "-url"]
    for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "npm_config_registry"):
        host = urlsplit(os.environ.get(name, "")).hostname
        words += [host] if host and host not in ("pypi.org", "registry.npmjs.org") else []
    return [word.encode() for word in words]


def test_no_file_knows_where_it_was_written() -> None:
    """No file holds a path or a host of someone's own machine."""
    known = private()
    telling = [
        (path.relative_to(ROOT).as_posix(), word.decode())
        for path in files()
        for content in [path.read_bytes()]
        for word in known
        if word in content
    ]
    assert telling == []
