"""What is wrong with a tree, and where: values, not exceptions."""

from __future__ import annotations

from typing import Literal

import msgspec

from quandary.model.tree import Tree

Severity = Literal["error", "warning"]


class Diagnostic(msgspec.Struct, frozen=True):
    """One problem at one place. Lines and columns count from 1, columns in characters."""

    rule: str
    severity: Severity
    line: int
    column: int
    message: str
    tree: str = ""


class Checked(msgspec.Struct, frozen=True):
    """A file, the trees found in it and what is wrong with them."""

    path: str
    trees: tuple[Tree, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
