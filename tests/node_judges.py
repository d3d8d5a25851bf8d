"""The real Mermaid, Graphviz and axe, which come from npm: what they make of what we draw."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

_NODE = Path(__file__).parent / "node"


def judge(kind: Literal["dot", "mermaid"], texts: Iterable[str]) -> list[dict[str, Any]]:
    """What Graphviz or Mermaid makes of each text."""
    if shutil.which("node") is None:
        pytest.skip("there is no Node here")
    asked = [json.dumps({"kind": kind, "text": text}) for text in texts]
    done = subprocess.run(
        ["node", _NODE / "judge.mjs"],
        input="\n".join(asked),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def axe() -> Path:
    """The script that finds what some people could not use."""
    script = _NODE / "node_modules/axe-core/axe.min.js"
    if not script.exists():
        pytest.skip("axe is not here: it comes from npm")
    return script


def pyright() -> Path:
    """The type checker, as editors have it."""
    script = _NODE / "node_modules/pyright/index.js"
    if not script.exists():
        pytest.skip("pyright is not here: it comes from npm")
    return script
