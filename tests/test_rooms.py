"""The rooms of the house: what imports what, lazily or by name, and the picture in the docs."""

from __future__ import annotations

import ast
import gc
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "quandary"
PAGE = ROOT / "docs" / "how-it-works.md"
BELOW: dict[str, set[str]] = {
    "errors": set(),
    "model": {"errors"},
    "settings": {"errors", "model"},
    "formats": {"errors", "model", "settings"},
    "flows": {"errors", "model", "settings"},
    "reading": {"errors", "model", "settings"},
}
"""The rooms that each room may use; those above follow, each with all that the one below it has."""
BELOW["journal"] = {*BELOW["formats"], "formats", "flows", "reading"}
BELOW["desk"] = {*BELOW["journal"], "journal"}
BELOW["reports"] = {*BELOW["desk"], "desk"}
BELOW["agents"] = {*BELOW["reports"], "reports"}
for door in ("terminal", "web", "mcp", "hosts"):
    BELOW[f"doors/{door}"] = {*BELOW["reports"], "reports"}
BELOW["fleet"] = {*BELOW["agents"], "agents", *(room for room in BELOW if "/" in room)}
BELOW["cli"] = {*BELOW["fleet"], "fleet"}
TOP = {"__init__", "__main__", "adapters", "client", "testing", "people"}
"""What is for users and for the whole: it may use every room, and only the last room uses it."""


def test_imports_go_one_way() -> None:
    """No room uses one that stands above or beside it, lazily or by a module's name in a string."""
    wrong = [
        f"{module} uses {used}"
        for module, used in sorted(_uses())
        if room_of(module) not in TOP
        and room_of(used) not in {room_of(module), *BELOW[room_of(module)]}
    ]
    assert wrong == []


def test_every_room_is_known() -> None:
    """A room that nobody has entered above fails here, instead of being overlooked."""
    assert {room_of(module) for module in _modules()} == {*BELOW, *TOP, "doors"}


def test_the_picture_of_the_rooms_shows_the_real_imports() -> None:
    """The arrows in docs/how-it-works.md are the imports between rooms, but for ways around."""
    [picture] = re.findall(r"```mermaid\n(flowchart.*?)```", PAGE.read_text(), re.DOTALL)
    drawn = set(re.findall(r"^ *(\w+) --> (\w+)$", picture, re.MULTILINE))
    rooms = {(room_of(a).split("/")[0], room_of(b).split("/")[0]) for a, b in _uses()}
    real = {(a, b) for a, b in rooms if a != b and not {a, b} & {*TOP, "errors", "model"}}
    assert drawn == {(a, b) for a, b in real if not _is_reached(a, b, real - {(a, b)})}


def test_files_named_on_the_page_are_there() -> None:
    """Every file that docs/how-it-works.md sends a reader to exists."""
    named = re.findall(r"`((?:\w+/)*\w+\.py)`", PAGE.read_text())
    assert len(named) > 20
    assert [name for name in named if not (SOURCE / name).is_file()] == []


def test_names_of_modules_say_where_things_are() -> None:
    """A file's name is used once in the house; the topics of the command line may repeat one."""
    seen: dict[str, str] = {}
    for module, path in _modules().items():
        name = module.split(".")[-1]
        if module.startswith("cli.") or path.name == "__init__.py":
            continue
        assert name not in seen, f"{module} and {seen[name]} are called alike"
        seen[name] = module


def _is_reached(start: str, end: str, edges: set[tuple[str, str]]) -> bool:
    return any(b == end or _is_reached(b, end, edges) for a, b in edges if a == start)


def room_of(module: str) -> str:
    """The room of a module: its first folder; of the doors, the door."""
    parts = module.split(".")
    return "/".join(parts[:2]) if parts[0] == "doors" and len(parts) > 1 else parts[0]


def _modules() -> dict[str, Path]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def _uses() -> set[tuple[str, str]]:
    """Every module with every module of ours that it names in an import or in a string."""
    modules = _modules()
    # What others left is collected before: to tell of it, Python parses too, and Python 3.11
    # takes that for an error in the middle of this.
    gc.collect()
    gc.disable()
    try:
        trees = {module: ast.parse(path.read_text()) for module, path in modules.items()}
    finally:
        gc.enable()
    return {
        (module, used)
        for module, tree in trees.items()
        for named in _named(tree)
        for used in [_module(named, modules)]
        if used and used != module
    }


def _named(tree: ast.AST) -> Iterator[str]:
    """The names in imports, and, where modules are fetched by name, the names in strings."""
    nodes = list(ast.walk(tree))
    fetches = any(isinstance(n, ast.alias) and n.name == "import_module" for n in nodes)
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "imports say the whole name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif fetches and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"^(quandary(?:\.\w+)+)\.?$", node.value)


def _module(named: str, modules: dict[str, Path]) -> str:
    """The module that a dotted name is, or is in."""
    parts = named.split(".")
    if parts[0] != "quandary":
        return ""
    while len(parts) > 1:
        name = ".".join(parts[1:])
        if name in modules:
            return name
        parts.pop()
    return ""
