"""The wheel: built once, put into fresh environments, each with what one extra asks for.

An environment holds the wheel and links to those packages that the extra declares, directly or
through others; nothing else is there to import. `make wheel` installs all of them for real.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv
import zipfile
from email import message_from_bytes
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from program import DEPLOY

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
EXTRAS = {
    "": ("cli.asking", "cli.authors", "client", "adapters", "journal.sqlite"),
    "terminal": ("doors.terminal.box",),
    "web": ("doors.web.app",),
    "mcp": ("doors.mcp",),
    "postgres": ("journal.postgres",),
    "fleet": ("fleet.worker",),
}
"""The modules that each extra is for."""
pytestmark = pytest.mark.skipif(find_spec("hatchling") is None, reason="there is no hatchling here")


class Fresh(NamedTuple):
    """An environment of its own."""

    folder: Path

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Call something that was installed there."""
        command = [str(self.folder / "bin" / words[0]), *words[1:]]
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as it would be published."""
    folder = tmp_path_factory.mktemp("dist")
    words = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run([sys.executable, *words], cwd=ROOT, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


def needed(wheel: Path, extra: str) -> dict[str, Distribution]:
    """What an extra of ours brings with it, by the declarations of everything on the way."""
    found: dict[str, Distribution] = {}
    waiting = [("quandary", frozenset({extra}))]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        if name != "quandary":
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:
                continue  # where it is missed, what needs it cannot be imported
        declared = found[name].requires or [] if name != "quandary" else requirements(wheel)
        for wanted in map(Requirement, declared):
            marker = wanted.marker
            if marker is None or any(marker.evaluate({"extra": one}) for one in (*extras, "")):
                further = (canonicalize_name(wanted.name), frozenset(wanted.extras))
                waiting += [further] if further not in seen else []
                seen.add(further)
    return found


def requirements(wheel: Path) -> list[str]:
    """What the wheel itself declares."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        declared = message_from_bytes(archive.read(name)).get_all("Requires-Dist") or []
    return [str(line) for line in declared]


def links(packages: dict[str, Distribution]) -> Iterator[Path]:
    """The folders and files that packages put beside one another."""
    for package in packages.values():
        tops = {file.parts[0] for file in package.files or () if file.parts[0] != ".."}
        yield from (Path(str(package.locate_file(top))) for top in tops)


def make_fresh(folder: Path, wheel: Path, extra: str) -> Fresh:
    """An environment with the wheel and what one extra needs."""
    venv.create(folder, with_pip=False)
    [site] = folder.glob("lib/python*/site-packages")
    for package in set(links(needed(wheel, extra))):
        if package.name != "__pycache__":
            (site / package.name).symlink_to(package)
    words = ["-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    subprocess.run(
        [sys.executable, *words, "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True
    )
    return Fresh(folder)


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_alone_is_enough(extra: str, wheel: Path, tmp_path: Path) -> None:
    """What it is for can be imported, and the program works, with nothing but what it declares."""
    fresh = make_fresh(tmp_path / "env", wheel, extra)
    names = "; ".join(f"import quandary.{name}" for name in EXTRAS[extra])
    imported = fresh.call("python", "-I", "-c", names)
    assert imported.returncode == 0, imported.stderr
    (tmp_path / "env" / "t.md").write_text(DEPLOY, encoding="utf-8")
    ended = fresh.call("quandary", "ask", "t.md", "--context", "It passed.", "--store", "j.db")
    assert (ended.returncode, '"status":"waiting"' in ended.stdout) == (0, True), ended.stderr


def test_the_core_brings_no_extra(wheel: Path, tmp_path: Path) -> None:
    """Without them, what needs one says which; the environments are as bare as they say."""
    fresh = make_fresh(tmp_path / "env", wheel, "")
    (tmp_path / "env" / "t.md").write_text(DEPLOY, encoding="utf-8")
    cases = {("serve",): "web", ("preview", "t.md", "--web"): "web", ("mcp",): "mcp"}
    for words, extra in cases.items():
        ended = fresh.call("quandary", *words)
        assert (ended.returncode, f"quandary[{extra}]" in ended.stderr) == (2, True), ended.stderr


def test_the_wheel_holds_what_the_program_reads(wheel: Path) -> None:
    """Templates, styles, catalogues, rules and schemas are inside; tests and examples are not."""
    names = zipfile.ZipFile(wheel).namelist()
    source = ROOT / "src"
    tracked = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    for path in tracked:
        assert str((ROOT / path).relative_to(source)) in names
    assert {name.split("/")[0] for name in names if not re.match(r"quandary-.*info/", name)} == {
        "quandary"
    }
