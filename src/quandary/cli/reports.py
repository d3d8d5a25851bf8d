"""What `quandary check` says: for people, for scripts, for GitHub and for code scanners.

Every report lists the files as they were given and the problems of a file from top to bottom, and
ends with a line break unless it is empty.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from quandary import __version__
from quandary.formats.lint import explanations
from quandary.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quandary.formats.lint import Checked, Diagnostic, Explanation
    from quandary.model.tree import Tree

SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_COLOURS = {"error": "red", "warning": "yellow"}
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})
_IN_SARIF = str.maketrans({"{": "{{", "}": "}}"})


def text_report(files: Sequence[Checked], *, colour: bool) -> str:
    """One line per problem that grep, editors and people can read."""
    from click import style  # noqa: PLC0415 - the other reports need no colours

    lines = []
    for path, problem in _problems(files):
        place, rule = printable(path), problem.rule
        severity: str = problem.severity
        if colour:
            place = style(place, bold=True)
            severity = style(severity, fg=_COLOURS[severity])
            rule = style(rule, fg="cyan")
        where = f"{place}:{problem.line}:{problem.column}"
        lines.append(f"{where}: {severity} {rule}: {printable(problem.message)}\n")
    return "".join(lines)


def summary(files: Sequence[Checked], fixed: int = 0, *, fixable: int = 0) -> str:
    """One line that says how much was read, what was mended and what is left."""
    if not files:
        return "no files"
    trees = sum(not tree.fenced for file in files for tree in file.trees)
    examples = sum(tree.fenced for file in files for tree in file.trees)
    read = _count(len(files), "file")
    read = f"{_count(trees, 'tree')} in {read}" if trees else f"{read}, no trees"
    if examples:
        read += f", {_count(examples, 'example')} in fences"
    found = [_count(n, word) for word in ("error", "warning") if (n := _total(files, word))]
    if trees and not found:
        found.append("all clean")
    if fixed:
        found.insert(0, f"{fixed} fixed")
    line = f"{read}: {', '.join(found)}" if found else read
    return f"{line} ({fixable} can be fixed with --fix)" if fixable else line


def json_report(files: Sequence[Checked]) -> bytes:
    """The report that programs rely on; its shape is a contract."""
    report = {
        "files": [
            {
                "path": _unicode(file.path),
                "trees": [_tree(tree) for tree in file.trees],
                "diagnostics": [_diagnostic(problem) for problem in file.diagnostics],
            }
            for file in files
        ],
        "errors": _total(files, "error"),
        "warnings": _total(files, "warning"),
    }
    return msgspec.json.encode(report) + b"\n"


def github_report(files: Sequence[Checked]) -> str:
    """Workflow commands, which GitHub shows beside the lines of a pull request."""
    from pathlib import PurePosixPath  # noqa: PLC0415 - slow to load, and others do without

    lines = []
    for path, problem in _problems(files):
        # GitHub knows a file by its path in the repository, without `./`.
        file = _unicode(str(PurePosixPath(path))).translate(_IN_PROPERTY)
        line, column = _place(problem)
        title = problem.rule.translate(_IN_PROPERTY)
        message = _unicode(problem.message).translate(_IN_MESSAGE)
        lines.append(
            f"::{problem.severity} file={file},line={line},col={column},title={title}::{message}\n"
        )
    return "".join(lines)


def sarif_report(files: Sequence[Checked]) -> bytes:
    """A SARIF 2.1.0 log with one run that knows every rule, broken or not."""
    rules = list(explanations().values())
    numbers = {rule.name: number for number, rule in enumerate(rules)}
    driver = {
        "name": "quandary",
        "version": __version__,
        "rules": [_descriptor(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [result for file in files for result in _results(file, numbers)],
    }
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.encode(log) + b"\n"


def uri(path: str) -> str:
    """A path as a URI reference: a relative one stays relative, an absolute one is a file: URI."""
    from pathlib import PurePosixPath  # noqa: PLC0415 - slow to load
    from urllib.parse import quote_from_bytes  # noqa: PLC0415

    octets = os.fsencode(PurePosixPath(path))
    if octets.startswith(b"/"):
        return f"file://{quote_from_bytes(octets, safe='/:')}"
    # A colon in the first segment would make what stands before it a scheme.
    return quote_from_bytes(octets, safe="/")


def _problems(files: Sequence[Checked]) -> Iterator[tuple[str, Diagnostic]]:
    return ((file.path, problem) for file in files for problem in file.diagnostics)


def _total(files: Sequence[Checked], severity: str) -> int:
    return sum(problem.severity == severity for file in files for problem in file.diagnostics)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _tree(tree: Tree) -> dict[str, Any]:
    decisions = [
        {"name": _unicode(decision.name), "options": decision.count, "depth": decision.depth}
        for decision in tree.decisions
    ]
    return {
        "name": _unicode(tree.name),
        "line": tree.line,
        "fenced": tree.fenced,
        "decisions": decisions,
    }


def _diagnostic(problem: Diagnostic) -> dict[str, Any]:
    return {
        "rule": problem.rule,
        "severity": problem.severity,
        "line": problem.line,
        "column": problem.column,
        "message": _unicode(problem.message),
        "tree": _unicode(problem.tree) or None,
    }


def _descriptor(rule: Explanation) -> dict[str, Any]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        # GitHub asks for both descriptions and cuts the full one short; `help` has the whole text.
        "fullDescription": {"text": rule.summary},
        "help": {"text": rule.text, "markdown": rule.text},
        "defaultConfiguration": {"level": rule.severity},
    }


def _results(file: Checked, numbers: dict[str, int]) -> Iterator[dict[str, Any]]:
    artifact = {"uri": uri(file.path)}
    prints = _fingerprints(file.diagnostics)
    for problem, fingerprint in zip(file.diagnostics, prints, strict=True):
        line, column = _place(problem)
        region = {"startLine": line, "startColumn": column}
        yield {
            "ruleId": problem.rule,
            "ruleIndex": numbers[problem.rule],
            "level": problem.severity,
            # Braces are placeholders in a SARIF message unless doubled.
            "message": {"text": _unicode(problem.message).translate(_IN_SARIF)},
            "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
            "partialFingerprints": {"quandary/v1": fingerprint},
        }


def _fingerprints(problems: Sequence[Diagnostic]) -> Iterator[str]:
    """What tells the problems of a file apart, the same wherever in the file they have moved."""
    import re  # noqa: PLC0415 - only SARIF wants fingerprints
    from hashlib import sha256  # noqa: PLC0415 - OpenSSL is slow to load

    twins: dict[tuple[str, str, str], int] = {}
    for problem in problems:
        message = re.sub(r"\b(lines?) \d+", r"\1", _unicode(problem.message))
        content = (problem.rule, _unicode(problem.tree), message)
        twins[content] = twins.get(content, 0) + 1
        yield sha256(msgspec.json.encode((*content, twins[content]))).hexdigest()[:32]


def _place(problem: Diagnostic) -> tuple[int, int]:
    """Line and column; what concerns a whole file stands at its beginning."""
    return max(problem.line, 1), max(problem.column, 1)


def _unicode(text: str) -> str:
    """Text that every encoder takes: bytes of a path that are no Unicode become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
