"""Files that people and programs write: trees, charts, lists, tracks, settings."""

from __future__ import annotations

import csv
import io
import tomllib
from typing import TYPE_CHECKING, Any

from fuzz.target import EXAMPLES, REPOSITORY, Target, files, hold, text_of
from quandary.cli.doctor import CHECKS
from quandary.errors import QuandaryError
from quandary.formats import drawings, sources, tracks
from quandary.formats.charts import lucid, mermaid
from quandary.formats.markdown import parse
from quandary.formats.markdown import read_sections as read
from quandary.formats.markdown.writing import canonical
from quandary.formats.sources import parse_options
from quandary.model.chart import check as sound
from quandary.settings import KNOWN, Part, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.model.chart import Chart, Problem
    from quandary.model.tree import Option

# -- trees -------------------------------------------------------------------------------------


def _trees(data: bytes) -> None:
    text = text_of(data)
    document = parse(text)
    hold(document.diagnostics is not None, "no diagnostics")
    if not text.startswith("\ufeff"):
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        hold(read(lines).trees == document.trees, "the two readers disagree")
    better = canonical(text)
    hold(canonical(better) == better, "the canonical form has another canonical form")
    meant = [_meaning(option) for tree in document.trees for option in _roots(tree)]
    kept = [_meaning(option) for tree in parse(better).trees for option in _roots(tree)]
    hold(meant == kept, "the canonical form means something else")


def _roots(tree: Any) -> Iterator[Option]:  # noqa: ANN401 - a tree
    for decision in tree.decisions:
        yield from decision.options


def _meaning(option: Option) -> object:
    return (option.code, option.label, option.description, [*map(_meaning, option.options)])


_BEFORE = "### ¶ASK_T\nTrigger: now\n\n## Decision: D\n- [AA] First of them\n"
_BEHIND = "- [YY] Last but one\n  Said of it\n- [ZZ] Last of them\n"


def _lines(data: bytes) -> None:
    """Whatever stands between options, those around it are found, or it is said why not."""
    within = text_of(data)
    document = parse(f"{_BEFORE}{within}\n{_BEHIND}")
    labels = {label for tree in document.trees for root in _roots(tree) for label in _labels(root)}
    rest = {"First of them", "Last but one", "Last of them"} - labels
    hold(not rest or bool(document.diagnostics) or _ends(within), f"lost in silence: {rest}")


def _labels(option: Option) -> Iterator[str]:
    yield option.label
    for child in option.options:
        yield from _labels(child)


def _ends(text: str) -> bool:
    """Whether a tree may end here: by a heading, or a block that swallows what follows."""
    opens = ("#", "`" * 3, "~~~", "<", "---", "===", "___", "***", "* *", "- -", "_ _", ">")
    plain = text.replace("\r", "\n").split("\n")
    if "[CODE]" in text:
        return True  # a template, which is no tree
    return any(line.strip().startswith(opens) or "quandary:" in line for line in plain) or any(
        set(line.strip()) <= set("=-*_ \t") for line in plain
    )


# -- charts ------------------------------------------------------------------------------------


def _shown(chart: Chart, problems: list[Problem]) -> None:
    """What was read can be judged and drawn."""
    list(sound(chart))
    drawings.draw_chart(chart, list(chart.pages), width=80, colour=False)
    drawings.chart_as_dot(chart, list(chart.pages))
    again, _ = mermaid.read(drawings.chart_as_mermaid(chart), "again.mmd")
    steps = [len(page.steps) for page in chart.pages if page.steps]
    hold(steps == [len(page.steps) for page in again.pages if page.steps], "steps were lost")
    hold(all(problem.message for problem in problems), "a problem that says nothing")


def _mermaid(data: bytes) -> None:
    _shown(*mermaid.read(text_of(data), "x.mmd"))


def _json(data: bytes) -> None:
    _shown(*lucid.read_json(text_of(data), "x.json"))


def _csv(data: bytes) -> None:
    text = text_of(data)
    chart, problems = lucid.read_csv(text, "x.csv")
    _shown(chart, problems)
    if problems or any(sound(chart)):
        return
    kept = repr(chart)
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    texts = [at for at, name in enumerate(rows[0]) if name.strip().startswith("Text Area")]
    for row in rows[1:]:
        for word in (row[at].strip() for at in texts if at < len(row)):
            if word.isascii() and word.isalnum():
                hold(word in kept, f"{word} of row {row[0]} is nowhere")


# -- lists, tracks, settings -------------------------------------------------------------------


def _options(data: bytes) -> None:
    found = parse_options(text_of(data), "options.json")
    keys = [one.key for one in found]
    hold(len(set(keys)) == len(keys), "two options with one key")


def _tracks(data: bytes) -> None:
    text = text_of(data)
    try:
        begun = tracks.write_new(text, "phases.json", None, ".state.json")
    except QuandaryError:
        begun = text
    kept = tracks.parse(begun, ".state.json")
    hold(bool(kept.track.phases), "a track without phases")
    again = tracks.parse(tracks._write(kept.members), ".state.json")
    hold(again.track == kept.track, "written and read, it is another track")


def _items(data: bytes) -> None:
    found = sources.parse_items(text_of(data), "items")
    hold(bool(found), "a list without items")


def _settings(data: bytes) -> None:
    try:
        values = tomllib.loads(text_of(data).replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    settings = Settings(None, (Part("user", "config.toml", values),))
    for name, kind in KNOWN.items():
        try:
            _set(settings, name, kind)
        except QuandaryError:
            continue


def _set(settings: Settings, name: str, kind: type) -> None:
    if kind is dict:
        table = settings.table(name)
        CHECKS[name](table)
    elif kind is list:
        settings.strings(name, "texts")
    elif kind is int:
        settings.number(name, 1)
    elif kind is bool:
        settings.flag(name, default=False)
    else:
        settings.text(name)


_MARKDOWN = (
    *("### ¶ASK_", "## Decision: ", "- [AB] ", "- [ ] [CD] ", "[OTH] Other", "  - ", "Trigger: "),
    *("Extras: A: x | B: y", "Kind: advisory", "Question: ", "Keywords: ", "Extends: §ASK_", "```"),
    *("<!-- quandary: ignore ", "<!--", "-->", "<div>", "---\n", "> ", "**[", "]**", "\\[", "…"),
    *("1. ", "* ", "+ ", "\t", "\r\n", "~~~", "| a | b |", "[CODE]", "§ASK_", "\u2028", "\x00"),
)
_CHARTED = (
    *("flowchart TD\n", "graph LR;", "subgraph ", "end\n", "-->", "-- yes -->", "-.->", "==>"),
    *("|no|", "((", "))", "{{", "}}", "[/", "/]", "@{ shape: diamond }", "%% quandary: ", "%%{"),
    *("}%%", "&", ":::", "click ", "classDef ", "~~~", "<-->", "#quot;", '"', "`", "---\ntitle: "),
)
_ROWS = (
    *("Id,Name,Shape Library,Page ID,Contained By,Group,Line Source,Line Destination\n", "Line,"),
    *("Document,", "Page,", "Process,", "Decision,", "Terminator,", "Text Area 1", "Comments", ","),
    *("Tags", '"', '""', "4|5", "\r\n", "Predefined Process", "sep=;\n", ";", "None", "Arrow"),
)
_LUCID = (
    *('"id"', '"title"', '"pages"', '"items"', '"shapes"', '"lines"', '"class"', '"textAreas"'),
    *('"label"', '"text"', '"customData"', '"key"', '"value"', '"endpoint1"', '"connectedTo"'),
    *('"ProcessBlock"', '"DecisionBlock"', '"style"', "null", "[]", "{}", "[{", "}]", "1e400"),
)
_SET = (
    *(f"{name} = " for name in KNOWN),
    *("[agents.X]\n", "argv = [", "]\n", '"{prompt}"', "[questions.a-b]\n", 'door = "one-way"\n'),
    *("[users.ada]\n", "token = ", "[notify]\n", "url = ", "command = ", "wait = 600\n", "true"),
    *("'''", '"""', "1979-05-27", "inf", "nan", "0x10", "{a = 1}", "[[agents]]\n"),
)
_PHASES = (
    *('"phases"', '"label"', '"name"', '"proof"', '"gate"', '"major"', '"minor"', '"currentPhase"'),
    *('"phaseHistory"', '"3.A"', '"1: Plan"', "true", "null", "[", "]", "{", "}", '"approval"'),
)
_LISTED = (
    *('"key"', '"title"', '"scope"', '"cost"', '"requires"', '"conflicts"', '"recommend"', '"E1"'),
    *('"include"', '"because"', "[", "]", "{", "}", ",", ":", "null", "1e999", '"id"', '"label"'),
)


def _settings_seeds() -> list[bytes]:
    found = files("walk/*.toml")
    for page in sorted((REPOSITORY / "docs").glob("*.md")):
        parts = page.read_text(encoding="utf-8").split("```toml\n")[1:]
        found += [part.partition("```")[0].encode() for part in parts]
    return found


TARGETS = (
    Target("trees", _trees, lambda: files("trees/*.md"), _MARKDOWN),
    Target(
        "options-between", _lines, lambda: [b"- [CC] x\n  y", b"  text", b"* [DD] z"], _MARKDOWN
    ),
    Target("mermaid", _mermaid, lambda: files("charts/*.mmd", "walk/*.mmd"), _CHARTED),
    Target("lucid-csv", _csv, lambda: files("charts/*.csv"), _ROWS),
    Target("lucid-json", _json, lambda: files("charts/*.json"), _LUCID, grows=False),
    Target("option-lists", _options, lambda: files("options/*.json"), _LISTED, grows=False),
    Target("tracks", _tracks, lambda: files("release/*.json"), _PHASES, grows=False),
    Target("items", _items, lambda: [b'[{"id": "1"}]', b"id,label\n1,x\n", b'{"id": 1}'], _LISTED),
    Target("settings", _settings, _settings_seeds, _SET, grows=False),
)
assert EXAMPLES.is_dir()
