"""`quandary check`: what is wrong with the trees, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from quandary.cli import completing, reports
from quandary.cli.gathering import Gathered, gather
from quandary.cli.screen import coloured, put, tell
from quandary.errors import QuandaryError
from quandary.formats import lint
from quandary.formats.markdown import parse
from quandary.formats.rules import RULES, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from quandary.formats.lint import Checked, Diagnostic
    from quandary.formats.markdown import Document


@click.command(
    epilog="Exit status: 0 no errors, 1 errors found, 2 something could not be read.",
)
@click.argument("paths", nargs=-1, metavar="PATH...", type=completing.PATH)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="How to report.",
)
@click.option("--fix", is_flag=True, help="Mend in place what can be mended safely.")
@click.option("--fenced", is_flag=True, help="Judge the examples in code fences too.")
@click.option(
    "--select",
    multiple=True,
    metavar="RULE",
    shell_complete=completing.rules,
    help="Only this rule; may be repeated.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="RULE",
    shell_complete=completing.rules,
    help="Not this rule; may be repeated.",
)
@click.option("--strict", is_flag=True, help="Let warnings count as errors do.")
def check(
    paths: tuple[str, ...],
    form: str,
    fix: bool,
    fenced: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool,
) -> int:
    """Find what is wrong with the trees in Markdown files.

    PATH is a file, a folder (searched for Markdown files that git does not ignore) or `-` for
    standard input; without one it is the current folder. `quandary rule NAME` explains a rule.
    """
    rules = _rules(select, ignore)
    if fix and "-" in paths:
        raise click.UsageError("--fix needs files to write to; `quandary fmt -` writes to a pipe")
    gathered = gather(paths or (".",))
    read, fixed = _read(gathered, rules if fix else set())
    files = lint.check_files(read, rules, fenced=fenced)
    _report(form, files)
    if files and form in ("text", "github"):
        tell(reports.summary(files, fixed, fixable=0 if fix else _fixable(files)))
    found = {diagnostic.severity for file in files for diagnostic in file.diagnostics}
    if gathered.failed:
        return 2
    return 1 if "error" in found or (strict and found) else 0


def _rules(select: Iterable[str], ignore: Iterable[str]) -> set[str]:
    """The rules that count, after --select and --ignore."""
    chosen, unwanted = _names(select), _names(ignore)
    for name in (*chosen, *unwanted):
        if name not in RULES:
            raise click.UsageError(f"there is no rule {name}; {suggestion(name)}")
    return set(chosen or RULES) - set(unwanted)


def _names(values: Iterable[str]) -> list[str]:
    return [name for value in values for name in value.replace(",", " ").split()]


def _read(gathered: Gathered, mend: set[str]) -> tuple[list[tuple[str, Document]], int]:
    """Every file's document, mended and written back first if that is wanted."""
    read: list[tuple[str, Document]] = []
    fixed = 0
    for path, text in gathered.texts():
        if mend:
            from quandary.formats.markdown.writing import fix  # noqa: PLC0415
            from quandary.settings.files import write_text  # noqa: PLC0415 - only for --fix

            mended, count = fix(text, mend)
            if mended != text:
                try:
                    write_text(path, mended)
                except QuandaryError as error:
                    gathered.fail(error)
                else:
                    text, fixed = mended, fixed + count  # noqa: PLW2901
        read.append((path, parse(text)))
    return read, fixed


def _report(form: str, files: list[Checked]) -> None:
    if form == "json":
        put(reports.json_report(files))
    elif form == "sarif":
        put(reports.sarif_report(files))
    elif form == "github":
        put(reports.github_report(files))
    else:
        put(reports.text_report(files, colour=coloured()))


def _fixable(files: list[Checked]) -> int:
    """How many problems --fix would mend; it leaves examples and standard input alone."""
    found: list[Diagnostic] = []
    for file in files:
        declared = {tree.name for tree in file.trees if not tree.fenced and file.path != "-"}
        found += [d for d in file.diagnostics if d.tree in declared]
    if not found:
        return 0
    from quandary.formats.markdown.writing import is_fixable  # noqa: PLC0415 - only if there is something

    return sum(map(is_fixable, found))
