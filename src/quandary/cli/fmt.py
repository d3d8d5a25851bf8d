"""`quandary fmt`: trees in canonical form."""

from __future__ import annotations

import sys

import click

from quandary.cli import completing
from quandary.cli.gathering import gather
from quandary.cli.screen import coloured, put, tell
from quandary.errors import QuandaryError
from quandary.formats.markdown.writing import canonical
from quandary.model.text import printable
from quandary.settings.files import write_text


@click.command(
    epilog="Exit status: 0 done, 1 something would change (--check, --diff), 2 unreadable input.",
)
@click.argument("paths", nargs=-1, metavar="PATH...", type=completing.PATH)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; say what would change.")
@click.option("--diff", "only_diff", is_flag=True, help="Write nothing; show what would change.")
def fmt(paths: tuple[str, ...], only_check: bool, only_diff: bool) -> int:
    """Write the trees in Markdown files in canonical form.

    Two spaces per level, `-` bullets, `[CODE] [ ] Label`, one line per key. Nothing outside the
    trees changes, nor do the examples in code fences. PATH is a file, a folder or `-`, which reads
    standard input and writes standard output; without one it is the current folder.
    """
    if only_check and only_diff:
        raise click.UsageError("--check and --diff exclude each other")
    dry = only_check or only_diff
    gathered = gather(paths or (".",))
    changed = total = 0
    for path, text in gathered.texts():
        total += 1
        better = canonical(text)
        if path == "-" and not dry:
            put(better.encode())
            continue
        if better == text:
            continue
        if only_diff:
            put(_diff(path, text, better))
        try:
            if not dry:
                write_text(path, better)
        except QuandaryError as error:
            gathered.fail(error)
            total -= 1
            continue
        changed += 1
        tell(f"{'would rewrite' if dry else 'rewrote'} {path}")
    _sum_up(total, changed, dry=dry, piped=tuple(paths) == ("-",))
    if gathered.failed:
        return 2
    return 1 if changed and dry else 0


def _sum_up(total: int, changed: int, *, dry: bool, piped: bool) -> None:
    if piped or not total:
        return
    files = "1 file" if total == 1 else f"{total} files"
    verb = "to rewrite" if dry else "rewritten"
    tell(f"{changed} of {files} {verb}" if changed else f"{files}, all in canonical form")


def _diff(path: str, before: str, after: str) -> str:
    """What would change: in a pipe as `patch` takes it, on a terminal with nothing hidden."""
    from difflib import unified_diff  # noqa: PLC0415 - only for --diff

    lines = []
    name = printable(path)
    for line in unified_diff(_lines(before), _lines(after), name, name):
        text = line.removesuffix("\n")
        end = "\n" if text != line else "\n\\ No newline at end of file\n"
        if sys.stdout.isatty():
            text = printable(text)
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[0]) if coloured() else None
        lines.append((click.style(text, fg=colour) if colour else text) + end)
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends, which for `patch` are line feeds only."""
    *lines, last = text.split("\n")
    return [line + "\n" for line in lines] + ([last] if last else [])
