"""What a shell offers for a half-typed word: runs, trees and files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import CompletionItem

from quandary.cli.program import PATH
from quandary.desk.timeline import origins
from quandary.errors import QuandaryError
from quandary.formats.markdown import parse
from quandary.formats.sources import in_project, matches_name
from quandary.journal.store import open_store
from quandary.model.text import printable, shorten
from quandary.settings.files import read_text

_SEARCHED = 10_000
"""So many runs are looked through, the newest ones."""
_OFFERED = 30
_TREES = (".md", ".markdown", ".csv", ".json", ".mmd")


class _Runs(click.types.StringParamType):
    """A run, by the beginning of its name or, since many begin alike, by its end."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del param
        with suppress(QuandaryError):
            store = open_store(ctx.params.get("where"), create=False)
            typed = incomplete.strip().upper()
            every = (row.id for row in store.runs(limit=_SEARCHED, newest=True))
            fitting = [run for run in every if run.startswith(typed) or run.endswith(typed)]
            return [
                CompletionItem(run, help=shorten(printable(origins(store, [run])[run].about)))
                for run in fitting[:_OFFERED]
            ]
        return []


class _Sources(click.types.StringParamType):
    """A tree by its name, in a file behind `#`, or a file."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, param
        path, mark, name = incomplete.rpartition("#")
        with suppress(QuandaryError):
            if mark:
                trees = parse(read_text(path)).trees
                return [
                    CompletionItem(f"{path}#{tree.name}", help=tree.trigger)
                    for tree in trees
                    if matches_name(tree.name, name)
                ]
            found = {
                tree.name: CompletionItem(tree.name, help=tree.trigger)
                for _, tree in in_project(os.curdir)
                if not tree.fenced and matches_name(tree.name, incomplete)
            }
            if found:  # a shell completes files by itself only where there is nothing else
                return [*found.values(), *map(CompletionItem, _files(incomplete))]
        return [CompletionItem(incomplete, type="file")]


def _files(typed: str) -> Iterator[str]:
    """Files that may hold trees or charts, in the folder that is typed."""
    folder, name = os.path.split(typed)
    with suppress(OSError):
        for entry in sorted(os.listdir(folder or os.curdir)):
            if entry.startswith(name) and entry.lower().endswith(_TREES):
                yield os.path.join(folder, entry)


_KINDS: dict[str, click.ParamType[Any]] = {
    "RUN": _Runs(),
    "SOURCE": _Sources(),
    "DIR": click.Path(file_okay=False),
    **dict.fromkeys(("FILE", "OPTIONS.json", "FROM", "TO", "NEW", "PATH|URL"), PATH),
}
"""What help calls a value, and how that is completed."""


def complete_values(command: click.Command) -> None:
    """Have a command's values be completed by what its help calls them."""
    for parameter in command.params:
        shown = getattr(parameter, "metavar", None) or (parameter.name or "").upper()
        word = "FILE" if shown.startswith("FILE") else shown.strip("[]")
        parameter.type = _KINDS.get(word, parameter.type)
    if isinstance(command, click.Group):
        for sub in command.commands.values():
            complete_values(sub)
