"""What the pages show, as plain data: templates only lay it out."""

from __future__ import annotations

import secrets
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.errors import QuandaryError
from quandary.journal.entries import Asked, Began, now
from quandary.journal.questions import occasions, statistics
from quandary.model.ask import MORE
from quandary.model.tree import Tree
from quandary.people import outcomes, prose, timeline
from quandary.people.web.forms import COMMENT, OTHER, PICK, TEXT, field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import Run, State, Store
    from quandary.model.ask import Ask, Question
    from quandary.model.tree import Option

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


class Row(NamedTuple):
    """A run in a list."""

    run: str
    flow: str
    status: str
    project: str
    about: str
    since: str
    age: str
    questions: tuple[str, ...] = ()
    kind: str = ""


def summary(store: Store, row: Run) -> Row:
    """A run at a glance."""
    about = timeline.about(store, row.id)
    project = row.project.rstrip("/").rpartition("/")[2]
    return Row(row.id, row.flow, row.status, project, about, row.since, age(row.since))


def waiting(store: Store, row: Run) -> Row:
    """A run in the inbox, with what it asks."""
    found = summary(store, row)
    for entry in store.entries(row.id, kinds=("asked",), after=row.asked - 1, upto=row.asked):
        ask = entry.read_matter().ask
        if isinstance(entry.read(), Asked) and ask is not None:
            texts = tuple(question.text for question in ask.questions)
            return found._replace(questions=texts, kind=ask.kind)
    return found


def age(moment: str) -> str:
    """How long ago, in one unit."""
    try:
        seconds = (now() - datetime.fromisoformat(moment)).total_seconds()
    except ValueError:
        return ""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


class Card(NamedTuple):
    """An option as a card."""

    code: str
    label: str
    description: str
    number: int
    recommended: bool
    more: bool


class Sheet(NamedTuple):
    """One question of the page."""

    key: str
    number: int
    header: str
    text: str
    multi: bool
    menu: bool
    cards: tuple[Card, ...]
    ticked: tuple[str, ...]
    pick: str
    typed: str
    comment: str


class Asking(NamedTuple):
    """What waits, for the page."""

    key: str
    token: str
    preamble: list[prose.Line]
    notes: list[str]
    sheets: tuple[Sheet, ...]
    require: str
    tree: list[dict[str, Any]]
    other: str = OTHER


def asked(store: Store, state: State) -> Asking | None:
    """The question that a run waits with."""
    ask = state.ask
    if ask is None:
        return None
    beside = [note.text for note in state.notes if note.text.strip() not in ask.preamble.text]
    sheets = tuple(_sheet(number, question) for number, question in enumerate(ask.questions))
    return Asking(
        ask.key,
        secrets.token_urlsafe(16),
        prose.lines(ask.preamble.text),
        beside,
        sheets,
        ask.require,
        _marked_tree(store, state.run, ask),
    )


def _sheet(number: int, question: Question) -> Sheet:
    cards = tuple(
        Card(c.code, c.shown, c.description, n, c.recommended, c.code == MORE)
        for n, c in enumerate(question.choices, 1)
    )
    return Sheet(
        question.key,
        number,
        question.header,
        question.text,
        question.multi,
        question.menu,
        cards,
        question.gathered,
        field(PICK, number),
        field(TEXT, number),
        field(COMMENT, number),
    )


def _marked_tree(store: Store, run: str, ask: Ask) -> list[dict[str, Any]]:
    """The tree of a run as lines, with the level that is asked about marked."""
    tree = _tree(store, run)
    if tree is None:
        return []
    shown = {choice.code for choice in ask.questions[0].choices if choice.code != MORE}
    lines: list[dict[str, Any]] = []
    for decision in tree.decisions:
        lines.append({"depth": 0, "code": "", "label": decision.name, "here": False})
        lines += _lines(decision.options, 1, shown)
    return lines


def _lines(level: tuple[Option, ...], depth: int, shown: set[str]) -> Iterator[dict[str, Any]]:
    here = bool(shown) and shown <= {option.code for option in level}
    for option in level:
        yield {
            "depth": depth,
            "code": option.code,
            "label": option.label,
            "here": here and option.code in shown,
        }
        yield from _lines(option.options, depth + 1, shown)


def _tree(store: Store, run: str) -> Tree | None:
    for entry in store.entries(run, kinds=("began",)):
        body = entry.read()
        if isinstance(body, Began) and "tree" in body.documents:
            written = store.document(body.documents["tree"])
            if written is not None:
                return msgspec.json.decode(written, type=Tree)
    return None


def story(store: Store, run: str) -> list[dict[str, str]]:
    """What happened to a run, from the beginning."""
    return [
        {
            "at": timeline.moment(event.at, seconds=True),
            "kind": event.kind,
            "text": event.text[:2000],
            "who": event.source,
        }
        for event in timeline.events(store, run)
    ]


def result(state: State) -> list[str]:
    """What came of a run, for a reader."""
    if state.status == "done" and isinstance(state.result, dict):
        return outcomes.lines(state.flow, state.result) or [
            msgspec.json.encode(state.result).decode()
        ]
    return [state.error] if state.error else []


def trees(project: str) -> list[dict[str, Any]]:
    """Every tree below a folder, drawn, with what is wrong with it."""
    from quandary.formats import drawing  # noqa: PLC0415 - only for this page
    from quandary.formats.files import markdown_files, read_text  # noqa: PLC0415 - the same
    from quandary.formats.lint import check  # noqa: PLC0415 - the same
    from quandary.formats.markdown import parse  # noqa: PLC0415 - the same

    found: list[dict[str, Any]] = []
    if not project:
        return found
    for path in markdown_files(project):
        try:
            text = read_text(path)
        except QuandaryError as error:
            found.append({"path": path, "name": "", "drawing": "", "problems": [str(error)]})
            continue
        document = parse(text)
        if not document.trees:
            continue
        diagnostics = check(document)
        for tree in document.trees:
            if tree.fenced:
                continue
            found.append(
                {
                    "path": path.removeprefix(project).lstrip("/"),
                    "name": tree.name,
                    "drawing": drawing.text(tree, width=100, colour=False),
                    "problems": [
                        f"{d.line}: {d.severity} {d.rule}: {d.message}"
                        for d in diagnostics
                        if d.tree == tree.name
                    ],
                }
            )
    return found


def figures(store: Store) -> dict[str, Any]:
    """Numbers for the page of statistics, and bars for its plots."""
    every = list(occasions(store))
    days = Counter(occasion.asked[:10] for occasion in every)
    most = max(days.values(), default=1)
    today = datetime.now(UTC).date().isoformat()
    return {
        "found": statistics(store),
        "days": [
            {"day": day, "count": count, "share": round(100 * count / most)}
            for day, count in sorted(days.items())[-30:]
        ],
        "today": days.get(today, 0),
    }
