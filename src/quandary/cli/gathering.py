"""The files that a command is to work on, in the order in which they were named."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from quandary.cli.screen import complain
from quandary.errors import ParseError, QuandaryError
from quandary.settings.files import markdown_files, read_standard_input, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

MANY = 200
"""From this many files on, a person at a terminal is shown how far the work has come."""


class Gathered:
    """Files to work on. What cannot be read is complained about, and the rest goes on."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.failed = False

    def fail(self, error: QuandaryError) -> None:
        """Say what could not be read or written, and remember that something was not done."""
        self.failed = True
        complain(str(error))

    def texts(self) -> Iterator[tuple[str, str]]:
        """Every file's path and text."""
        for path in _with_progress(self.paths):
            try:
                text = read_standard_input() if path == "-" else read_text(path)
            except ParseError as error:
                self.fail(error)
            else:
                yield path, text


def gather(paths: tuple[str, ...]) -> Gathered:
    """The Markdown files that these paths name, each once."""
    gathered = Gathered()
    seen: set[str] = set()
    for path in paths:
        if path == "-":
            gathered.paths += [path] if path not in seen else []
            seen.add(path)
            continue
        try:
            found = list(markdown_files(path, onerror=gathered.fail))
        except ParseError as error:
            gathered.fail(error)
            continue
        if not found:
            gathered.fail(ParseError(f"{path}: no Markdown files below it"))
        for file in found:
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                gathered.paths.append(file)
    return gathered


def _with_progress(paths: list[str]) -> Iterator[str]:
    if len(paths) < MANY or not sys.stderr.isatty():
        yield from paths
        return
    import click  # noqa: PLC0415 - only for long work on a terminal

    with click.progressbar(paths, label="reading", file=sys.stderr) as bar:
        yield from bar
