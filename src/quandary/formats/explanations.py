"""What each rule means, read from `rules.md`."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from quandary.formats.rules import RULES

_TITLE = re.compile(r"(?m)^## (\S+)\n\n")
_SUMMARY = re.compile(r"\*(?:Error|Warning)\.\* (.*?)(?: Fixed by `--fix`\.)?\n")


class Explanation(NamedTuple):
    """A rule in words: `summary` states it, `text` is its whole section in Markdown."""

    name: str
    severity: str
    summary: str
    text: str


def explanations() -> dict[str, Explanation]:
    """Every rule's explanation, in the order of the page."""
    with open(os.path.join(os.path.dirname(__file__), "rules.md"), encoding="utf-8") as file:
        page = file.read()
    page = page.split("\n# Silencing", 1)[0]
    parts = _TITLE.split(page)
    found: dict[str, Explanation] = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        summary = _SUMMARY.match(text)
        shown = summary[1] if summary else ""
        found[name] = Explanation(name, RULES[name].severity, shown, text.strip() + "\n")
    return found
