"""`quandary fmt`: trees in canonical form."""

from __future__ import annotations

import click

from quandary.cli.gathering import gather
from quandary.cli.screen import coloured, put, tell
from quandary.formats.files import write_text
from quandary.formats.writing import canonical


@click.command(
    epilog="Exit status: 0 done, 1 something would change (--check, --diff), 2 unreadable input.",
)
@click.argument("paths", nargs=-1, metavar="PATH...")
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
    gathered = gather(paths or (".",))
    changed = total = 0
    for path, text in gathered.texts():
        total += 1
        better = canonical(text)
        if better == text:
            if path == "-" and not (only_check or only_diff):
                put(text.encode())
            continue
        changed += 1
        if only_diff:
            put(_diff(path, text, better))
        elif path == "-" and not only_check:
            put(better.encode())
        elif not only_check:
            write_text(path, better)
        if path != "-":
            tell(f"{'would rewrite' if only_check or only_diff else 'rewrote'} {path}")
    _sum_up(total, changed, dry=only_check or only_diff, piped=tuple(paths) == ("-",))
    if gathered.failed:
        return 2
    return 1 if changed and (only_check or only_diff) else 0


def _sum_up(total: int, changed: int, *, dry: bool, piped: bool) -> None:
    if piped or not total:
        return
    files = "1 file" if total == 1 else f"{total} files"
    verb = "to rewrite" if dry else "rewritten"
    tell(f"{changed} of {files} {verb}" if changed else f"{files}, all in canonical form")


def _diff(path: str, before: str, after: str) -> str:
    from difflib import unified_diff  # noqa: PLC0415 - only for --diff

    from quandary.formats.drawing import printable  # noqa: PLC0415

    lines = []
    for line in unified_diff(
        before.splitlines(), after.splitlines(), path, f"{path} (canonical)", lineterm=""
    ):
        shown = printable(line)
        if coloured():
            colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
            shown = click.style(shown, fg=colour) if colour else shown
        lines.append(shown + "\n")
    return "".join(lines)
