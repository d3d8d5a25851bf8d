"""Commands about trees and charts: `check`, `fmt`, `rule`, `show`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import msgspec

from quandary import __version__
from quandary.cli import coloured, complain, draw_diff, paint, put, put_json, tell, width
from quandary.cli.program import PATH, OneSource
from quandary.errors import ParseError, QuandaryError
from quandary.formats import rules as rulebook
from quandary.formats.markdown import parse
from quandary.formats.rules import RULES, Checked, Diagnostic, explanations, suggestion
from quandary.formats.sources import chart_ending, load, split
from quandary.model.text import count, printable
from quandary.settings.files import markdown_files, read_input, require_own, write_text

if TYPE_CHECKING:
    from quandary.cli.program import Command
    from quandary.formats.charts import Loaded
    from quandary.model.chart import Chart, Page, Step
    from quandary.model.tree import Decision, Option, Tree

MANY = 200  # from this many files on, a person at a terminal is shown how far the work has come
PART, MANY_PARTS = 125, 8  # files that are examined at once; from so many parts on, by all cores
SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_COLOURS = {"error": "red", "warning": "yellow"}
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})
_IN_SARIF = str.maketrans({"{": "{{", "}": "}}"})


class Files:
    """The Markdown files that paths name, each once."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths: dict[str, str] = {}  # by the file that a path leads to
        self.failed = False
        for path in paths or (".",):
            try:
                found = ["-"] if path == "-" else list(markdown_files(path, onerror=self.fail))
            except ParseError as error:
                self.fail(error)
                continue
            if not found:
                self.fail(ParseError(f"{path}: no Markdown files below it"))
            for file in found:
                self.paths.setdefault(file if file == "-" else os.path.realpath(file), file)

    def fail(self, error: QuandaryError) -> None:
        """Say what could not be read or written, and remember that something was not done."""
        self.failed = True
        complain(str(error))

    def texts(self) -> Iterator[tuple[str, str]]:
        """Every file's path and text."""
        found: Any = nullcontext(self.paths.values())
        if len(self.paths) >= MANY and sys.stderr.isatty():
            found = click.progressbar(self.paths.values(), label="reading", file=sys.stderr)
        with found as paths:
            for path in paths:
                try:
                    text = read_input(path)
                except ParseError as error:
                    self.fail(error)
                else:
                    yield path, text

    def write(self, path: str, text: str) -> bool:
        """Put a text in the place of a file's, and tell whether that could be done."""
        try:
            require_own(path)
            write_text(path, text)
        except QuandaryError as error:
            self.fail(error)
            return False
        return True


def _complete_rule(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    return [name for name in RULES if name.startswith(typed)]


def _rules_option(name: str, about: str) -> Callable[[Command], Command]:
    return click.option(
        name, multiple=True, metavar="RULE", shell_complete=_complete_rule, help=about
    )


def _format_option(forms: str, about: str) -> Callable[[Command], Command]:
    choice = click.Choice(forms.split())
    return click.option(
        "--format", "form", type=choice, default="text", show_default=True, help=about
    )


@click.command(epilog="Exit status: 0 no errors, 1 errors found, 2 something could not be read.")
@click.argument("paths", nargs=-1, metavar="PATH...", type=PATH)
@_format_option("text json github sarif", "How to report.")
@click.option("--fix", is_flag=True, help="Fix in place what can be fixed safely.")
@click.option("--fenced", is_flag=True, help="Check examples in code fences too.")
@_rules_option("--select", "Check only this rule; may be repeated.")
@_rules_option("--ignore", "Leave this rule out; may be repeated.")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
def check_command(
    paths: tuple[str, ...],
    form: str,
    fix: bool,
    fenced: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool,
) -> int:
    """Find what is wrong with the trees in Markdown files, and with charts.

    PATH is a file, a folder (searched for Markdown files that git does not ignore) or `-` for
    standard input; without one it is the current folder. Charts are checked where PATH names them.
    `quandary rule NAME` explains a rule of trees.
    """
    rules = set(_names(select) or {*RULES, *rulebook.CHARTS}) - set(_names(ignore))
    if fix and "-" in paths:
        raise click.UsageError("--fix needs files to write to; `quandary fmt -` writes to a pipe")
    files, drawn, fixed = Files(paths), dict[str, str](), 0

    def texts() -> Iterator[tuple[str, str]]:
        nonlocal fixed
        for path, text in files.texts():
            if chart_ending(path, text):
                drawn[path] = text
                continue
            if fix:
                from quandary.formats.markdown import writing  # noqa: PLC0415 - only for --fix

                better, solved = writing.fix(text, rules)
                if better != text and files.write(path, better):
                    text, fixed = better, fixed + solved  # noqa: PLW2901
            yield path, text

    by_all_cores = len(files.paths) >= MANY_PARTS * PART
    here = (rulebook.examine(path, parse(text), fenced=fenced) for path, text in texts())
    examined = _share(texts(), fenced) if by_all_cores else here
    checked = rulebook.compare(list(examined), rules)
    checked += _examine_charts(drawn, rules, files) if drawn else ()
    reports: dict[str, Callable[[Sequence[Checked]], str | bytes]] = {
        "text": text_report,
        "json": json_report,
        "sarif": sarif_report,
        "github": github_report,
    }
    put(reports[form](checked))
    if checked and form in ("text", "github"):
        tell(summary(checked, fixed, fixable=0 if fix else _fixable(checked)))
    found = {diagnostic.severity for file in checked for diagnostic in file.diagnostics}
    if files.failed:
        return 2
    return 1 if "error" in found or (strict and found) else 0


def _examine_charts(drawn: dict[str, str], rules: set[str], files: Files) -> Iterator[Checked]:
    """What is wrong with charts and with the parts of them that stand in other files, by file."""
    from quandary.formats import charts  # noqa: PLC0415 - trees need none of it

    found: dict[str, list[Diagnostic]] = {}
    for path, text in drawn.items():
        try:
            loaded = charts.read(path, text=text)
        except QuandaryError as error:
            files.fail(error)
            continue
        found.setdefault(path, [])
        for problem in (problem for problem in loaded.problems if problem.rule in rules):
            place = (max(problem.line, 1), 1)  # JSON has no lines of its own
            told = Diagnostic(problem.rule, problem.severity, *place, problem.message)
            found.setdefault(loaded.files.get(problem.page, path), []).append(told)
    return (Checked(path, (), tuple(dict.fromkeys(f)), chart=True) for path, f in found.items())


def _share(texts: Iterator[tuple[str, str]], fenced: bool) -> Iterator[Checked]:
    """The same by as many processes as there are cores, which pays for many files only."""
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - slow to load

    paths: list[str] = []  # which need not be Unicode

    def bare() -> Iterator[str]:
        for path, text in texts:
            paths.append(path)
            yield text

    # Whoever presses Ctrl-C means the command; its processes end with it.
    leave_interrupts = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(initializer=leave_interrupts) as pool:
        written = pool.map(partial(_examine_text, fenced=fenced), bare(), chunksize=PART)
        for path, one in zip(paths, written, strict=True):
            yield msgspec.structs.replace(msgspec.msgpack.decode(one, type=Checked), path=path)


def _examine_text(text: str, *, fenced: bool) -> bytes:
    return msgspec.msgpack.encode(rulebook.examine("", parse(text), fenced=fenced))


def _names(values: Iterable[str]) -> list[str]:
    """The rules that an option names, which all exist."""
    names = [name for value in values for name in value.replace(",", " ").split()]
    for name in names:
        if name not in RULES and name not in rulebook.CHARTS:
            raise click.UsageError(f"there is no rule {name}; {suggestion(name)}")
    return names


def _fixable(files: list[Checked]) -> int:
    """How many problems --fix would fix; it leaves examples and standard input alone."""
    found: list[Diagnostic] = []
    for file in files:
        declared = {rulebook.short_name(t) for t in file.trees if not t.fenced and file.path != "-"}
        found += [d for d in file.diagnostics if d.tree in declared]
    if not found:
        return 0
    from quandary.formats.markdown.writing import is_fixable  # noqa: PLC0415 - only if need be

    return sum(map(is_fixable, found))


def text_report(files: Sequence[Checked]) -> str:
    """One line per problem that grep, editors and people can read."""
    lines = []
    for path, problem in _problems(files):
        where = f"{paint(printable(path), bold=True)}:{problem.line}:{problem.column}"
        severity = paint(problem.severity, fg=_COLOURS[problem.severity])
        rule = paint(problem.rule, fg="cyan")
        lines.append(f"{where}: {severity} {rule}: {printable(problem.message)}\n")
    return "".join(lines)


def summary(files: Sequence[Checked], fixed: int = 0, *, fixable: int = 0) -> str:
    """One line that says how much was read, what was fixed and what is left."""
    trees = sum(not tree.fenced for file in files for tree in file.trees)
    examples = sum(tree.fenced for file in files for tree in file.trees)
    read = count(len(files), "file")
    charts = sum(file.chart for file in files)
    what = [count(n, word) for n, word in ((trees, "tree"), (charts, "chart")) if n]
    read = f"{' and '.join(what)} in {read}" if what else f"{read}, no trees"
    if examples:
        read += f", {count(examples, 'example')} in fences"
    found = [count(n, word) for word in ("error", "warning") if (n := _total(files, word))]
    if what and not found:
        found.append("all clean")
    if fixed:
        found.insert(0, f"{fixed} fixed")
    line = f"{read}: {', '.join(found)}" if found else read
    return f"{line} ({fixable} can be fixed with --fix)" if fixable else line


def json_report(files: Sequence[Checked]) -> bytes:
    """The report that programs rely on; its shape is a contract."""
    listed = []
    for file in files:
        trees, problems = [], []
        for tree in file.trees:
            decisions = [count_options(decision) for decision in tree.decisions]
            about = {"name": _unicode(tree.name), "line": tree.line, "fenced": tree.fenced}
            trees.append({**about, "decisions": decisions})
        for problem in file.diagnostics:
            said = {"message": _unicode(problem.message), "tree": _unicode(problem.tree) or None}
            problems.append(msgspec.structs.asdict(problem) | said)
        listed.append({"path": _unicode(file.path), "trees": trees, "diagnostics": problems})
    totals = {"errors": _total(files, "error"), "warnings": _total(files, "warning")}
    return msgspec.json.encode({"files": listed, **totals}) + b"\n"


def count_options(decision: Decision) -> dict[str, Any]:
    """A decision as reports and lists have it."""
    return {"name": _unicode(decision.name), "options": decision.count, "depth": decision.depth}


def github_report(files: Sequence[Checked]) -> str:
    """Workflow commands, which GitHub shows beside the lines of a pull request."""
    lines = []
    for path, problem in _problems(files):
        # GitHub knows a file by its path in the repository, without `./`.
        file = _unicode(os.path.normpath(path)).translate(_IN_PROPERTY)
        line, column = _place(problem)
        message = _unicode(problem.message).translate(_IN_MESSAGE)
        where = f"file={file},line={line},col={column},title={problem.rule}"
        lines.append(f"::{problem.severity} {where}::{message}\n")
    return "".join(lines)


def sarif_report(files: Sequence[Checked]) -> bytes:
    """A SARIF 2.1.0 log with one run that knows every rule, broken or not."""
    rules = [
        {
            "id": rule.name,
            "shortDescription": {"text": rule.summary},
            # GitHub asks for both and cuts the full one short; `help` has the whole text.
            "fullDescription": {"text": rule.summary},
            "help": {"text": rule.text, "markdown": rule.text},
            "defaultConfiguration": {"level": rule.severity},
        }
        for rule in explanations().values()
    ]
    run = {
        "tool": {"driver": {"name": "quandary", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [result for file in files for result in _results(file)],
    }
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.encode(log) + b"\n"


def _results(file: Checked) -> Iterator[dict[str, Any]]:
    """The problems of a file. A fingerprint is the same wherever in the file one has moved."""
    import re  # noqa: PLC0415 - only SARIF wants fingerprints
    from hashlib import sha256  # noqa: PLC0415 - OpenSSL is slow to load

    artifact = {"uri": uri(file.path)}
    numbers = {name: {"ruleIndex": number} for number, name in enumerate(RULES)}
    twins: dict[tuple[str, str, str], int] = {}
    for problem in file.diagnostics:
        message = _unicode(problem.message)
        still = re.sub(r"\b(lines?) \d+", r"\1", message)
        content = (problem.rule, _unicode(problem.tree), still)
        twins[content] = twins.get(content, 0) + 1
        fingerprint = sha256(msgspec.json.encode((*content, twins[content]))).hexdigest()[:32]
        line, column = _place(problem)
        region = {"startLine": line, "startColumn": column}
        yield {
            "ruleId": problem.rule,
            **numbers.get(problem.rule, {}),
            "level": problem.severity,
            # Braces are placeholders in a SARIF message unless doubled.
            "message": {"text": message.translate(_IN_SARIF)},
            "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
            "partialFingerprints": {"quandary/v1": fingerprint},
        }


def uri(path: str) -> str:
    """A path as a URI reference: a relative one stays relative, an absolute one is a file: URI."""
    from urllib.parse import quote_from_bytes  # noqa: PLC0415

    octets = os.fsencode(os.path.normpath(path))
    # A colon in the first segment would make what stands before it a scheme.
    scheme, safe = ("file://", "/:") if octets.startswith(b"/") else ("", "/")
    return scheme + quote_from_bytes(octets, safe=safe)


def _problems(files: Sequence[Checked]) -> Iterator[tuple[str, Diagnostic]]:
    return ((file.path, problem) for file in files for problem in file.diagnostics)


def _total(files: Sequence[Checked], severity: str) -> int:
    return sum(problem.severity == severity for _, problem in _problems(files))


def _place(problem: Diagnostic) -> tuple[int, int]:
    """Line and column; what concerns a whole file stands at its beginning."""
    return max(problem.line, 1), max(problem.column, 1)


def _unicode(text: str) -> str:
    """Text that every encoder takes: bytes of a path that are no Unicode become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@click.command(
    epilog="Exit status: 0 done, 1 something would change (--check, --diff), 2 unreadable input."
)
@click.argument("paths", nargs=-1, metavar="PATH...", type=PATH)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; say what would change.")
@click.option("--diff", "only_diff", is_flag=True, help="Write nothing; show what would change.")
def fmt_command(paths: tuple[str, ...], only_check: bool, only_diff: bool) -> int:
    """Write the trees in Markdown files in canonical form.

    Two spaces per level, `-` bullets, `[CODE] [ ] Label`, one line per key. Nothing outside the
    trees changes, nor do the examples in code fences. PATH is a file, a folder or `-`, which reads
    standard input and writes standard output; without one it is the current folder.
    """
    from quandary.formats.markdown.writing import canonical  # noqa: PLC0415 - not for `check`

    if only_check and only_diff:
        raise click.UsageError("--check and --diff exclude each other")
    dry = only_check or only_diff
    files = Files(paths)
    changed = total = 0
    for path, text in files.texts():
        better = canonical(text)
        if path == "-" and not dry:
            put(better.encode())
        elif better != text:
            if only_diff:
                put(draw_diff(path, text, better))
            if not dry and not files.write(path, better):
                continue
            changed += 1
            tell(f"{'would rewrite' if dry else 'rewrote'} {path}")
        total += 1
    if total and paths != ("-",):
        read, verb = count(total, "file"), "to rewrite" if dry else "rewritten"
        tell(f"{changed} of {read} {verb}" if changed else f"{read}, all in canonical form")
    if files.failed:
        return 2
    return 1 if changed and dry else 0


@click.command()
@click.argument("name", required=False, shell_complete=_complete_rule)
def rule_command(name: str | None) -> None:
    """Explain a rule of `check`: what it wants, why, and a bad and a good example.

    Without NAME, list all rules.
    """
    known = explanations()
    if name is None:
        longest = max(map(len, known))
        for rule, entry in known.items():
            put(f"{paint(rule.ljust(longest), bold=True)}  {entry.severity:7}  {entry.summary}\n")
        return
    if name in rulebook.CHARTS - known.keys():
        raise QuandaryError(f"{name} is about charts; the page on charts says what it means")
    if name not in known:
        raise QuandaryError(f"there is no rule {name}; {suggestion(name)}")
    fixed = ", fixed by --fix" if RULES[name].fixable else ""
    put(paint(f"{name} ({known[name].severity}{fixed})", bold=True) + "\n\n")
    # As a terminal shows it best: without fences and stars.
    inside = False
    for line in known[name].text.removesuffix("\n").split("\n"):
        if line.startswith("````"):
            inside = not inside
            continue
        first = line.removeprefix("*Error.* ").removeprefix("*Warning.* ")
        put(("    " + line if inside and line else first) + "\n")


@click.command(cls=OneSource)
@click.argument("source", type=PATH)
@_format_option(
    "text json mermaid dot", "Text for people, JSON for programs, Mermaid or Graphviz for pictures."
)
@click.option("--page", metavar="NAME", help="Only this page of a chart, and those that it runs.")
@click.option("--chart", "as_chart", is_flag=True, help="Show a tree as the chart it is walked as.")
def show_command(source: str, form: str, page: str | None, as_chart: bool) -> int:
    """Show one tree or chart.

    SOURCE is `file.md#NAME`, `file.md` if there is one tree in it, `NAME` of any tree in the
    project, or `-` for standard input. NAME may carry `¶ASK_`, `§ASK_` or `ASK_`, and a decision's
    name will do. Charts are `file.csv` or `file.json` from Lucid and `file.mmd` in Mermaid, with
    `#PAGE` behind them if one page is meant.

    What is wrong with a chart is said on standard error; with errors, the exit status is 1.
    """
    path, name = split(source)
    text = read_input("-") if path == "-" else None
    drawn = path is not None and bool(chart_ending(path, text))
    if drawn or as_chart:
        return _show_chart(source, form, page or "", text, whole=not (page or (drawn and name)))
    if page:
        raise click.UsageError("--page is for charts; name a tree by file.md#NAME")
    tree = load(source, text)
    from quandary.formats import drawings  # noqa: PLC0415 - not for the other commands

    if form == "json":
        put_json(_tree(tree), indent=2)
    elif form == "mermaid":
        put(drawings.tree_as_mermaid(tree))
    elif form == "dot":
        put(drawings.tree_as_dot(tree))
    else:
        put(drawings.draw_tree(tree, width=width(), colour=coloured()))
    return 0


def _show_chart(source: str, form: str, page: str, text: str | None, *, whole: bool) -> int:
    """Show a chart: all its pages, or the one that was named and those that it runs."""
    from quandary.formats import charts, drawings  # noqa: PLC0415 - trees need none of it
    from quandary.model.chart import concerned  # noqa: PLC0415

    loaded = charts.read(source, page=page, text=text)
    chart = loaded.chart
    pages = list(chart.pages) if whole else concerned(chart)
    if form == "json":
        put_json(_chart(loaded, pages), indent=2)
    elif form == "mermaid":
        put(drawings.chart_as_mermaid(msgspec.structs.replace(chart, pages=tuple(pages))))
    elif form == "dot":
        put(drawings.chart_as_dot(chart, pages))
    else:
        put(drawings.draw_chart(chart, pages, width=width(), colour=coloured()))
    for problem in loaded.problems:
        tell(loaded.said(problem))
    return 1 if loaded.errors else 0


def _chart(loaded: Loaded, pages: list[Page]) -> dict[str, Any]:
    from quandary.model.chart import Map  # noqa: PLC0415 - trees need none of it

    chart, shown = loaded.chart, []
    for page in pages:
        plan = Map(page, chart)
        start = plan.start.id if plan.start is not None else None
        steps = [_step(chart, step, plan) for step in page.steps]
        also = [{"id": s.id, "kind": s.kind, "text": s.text} for s in page.scenery]
        about = {"id": page.id, "name": page.name, "start": start}
        shown.append({**about, "steps": steps, "also": also})
    about = {"name": chart.name, "start": chart.start or None, "digest": chart.digest}
    return {**about, "pages": shown, "problems": msgspec.to_builtins(loaded.problems)}


def _step(chart: Chart, step: Step, plan: Any) -> dict[str, Any]:  # noqa: ANN401 - imported late
    called = chart.called(step)
    own = {name: getattr(step, name) for name in ("shape", "text", "tags", "metadata")}
    routes = [{"label": route.label, "to": route.target} for route in plan.ways(step)]
    about = {"id": step.id, "name": step.name, "kind": plan.kind(step)}
    shown = {**about, **own, "routes": routes}
    further = {"runs": called and called.id, "lane": step.lane, "notes": step.notes}
    return shown | {name: value for name, value in further.items() if value}


def _tree(tree: Tree) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": tree.name,
        "trigger": tree.trigger or None,
        "extras": {extra.letter: extra.text for extra in tree.extras},
        "kind": tree.kind or "transition",
        "decisions": [
            {
                "name": decision.name,
                **({"question": decision.question} if decision.question else {}),
                "multi": decision.multi,
                "options": [_option(option) for option in decision.options],
            }
            for decision in tree.decisions
        ],
    }
    names = ("title", "question", "keywords", "extends", "require", "shape")
    further = {name: getattr(tree, name) for name in names}
    further["shows"] = [extra.letter for extra in tree.extras if extra.shows]
    return shown | {name: value for name, value in further.items() if value}


def _option(option: Option) -> dict[str, Any]:
    own = {name: getattr(option, name) for name in ("code", "label", "description", "multi")}
    return {**own, "options": [_option(child) for child in option.options]}
