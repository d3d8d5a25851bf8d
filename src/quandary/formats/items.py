"""The items of a run and the options of a split, as command lines and files give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from quandary.errors import ParseError, QuandaryError
from quandary.model.asks import Item
from quandary.model.candidates import BUCKETS, Candidate, problem
from quandary.model.tree import Extra
from quandary.settings.files import read_input

if TYPE_CHECKING:
    from collections.abc import Sequence

_OWN = ("id", "label", "title", "context", "question")


def from_options(values: tuple[str, ...]) -> list[Item]:
    """`ID|Label|Title|Context`, where what stands at the end may be left out."""
    items = []
    for value in values:
        parts = [part.strip() for part in value.split("|", 3)]
        if not parts[0]:
            raise QuandaryError(f"--item {value!r} has no id; write 'ID|Label|Title|Context'")
        parts += [""] * (4 - len(parts))
        items.append(Item(parts[0], parts[1], parts[2] or parts[1], parts[3]))
    return items


def from_file(path: str, *, bare: bool = False) -> list[Item]:
    """The items in a file, or from standard input for `-`."""
    return parse_items(read_input(path), path, bare=bare)


def parse_items(text: str, path: str, *, bare: bool = False) -> list[Item]:
    """A JSON list, JSON lines, or CSV with a header line; its first sign tells which.

    An item may be `bare` where any fields will do; elsewhere it needs one that people know it by.
    """
    text = text.removeprefix("\ufeff")
    match text.lstrip()[:1]:
        case "[":
            rows = _decode(text, path)
        case "{":
            remedy = "; write one item on each line"
            rows = [
                _decode(line, f"{path}:{number}", remedy)
                for number, line in enumerate(text.split("\n"), 1)
                if line.strip()
            ]
        case _:
            rows = _csv(path, text)
    if not rows:
        raise ParseError(f"{path}: there are no items in it; without any, leave --items out")
    return from_rows(path, rows, bare=bare)


def from_rows(name: str, rows: list[Any], *, bare: bool = False) -> list[Item]:
    """Objects with the fields of an item; `name` is what messages call the whole."""
    items = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise ParseError(f"{name}: item {number} is not an object with fields")
        fields = {str(key).strip(): _text(value) for key, value in row.items()}
        if not bare and not any(fields.get(own) for own in _OWN):
            raise ParseError(f"{name}: item {number} has none of {', '.join(_OWN)}")
        own = {field: fields.pop(field, "") for field in _OWN}
        own["id"] = own["id"] or str(number)
        own["title"] = own["title"] or own["label"]
        items.append(Item(**own, fields=fields))
    return items


def as_rows(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Items as objects, from which `from_rows` makes the same again."""
    return [{**item.fields, **{name: getattr(item, name) for name in _OWN}} for item in items]


def _csv(path: str, text: str) -> list[Any]:
    import csv  # noqa: PLC0415 - only for this kind of file
    import io  # noqa: PLC0415 - only for this kind of file

    try:
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise ParseError(f"{path}: not CSV ({error})") from None
    for number, row in enumerate(rows, 1):
        if None in row:
            raise ParseError(f"{path}: item {number} has more fields than the first line names")
    return rows


def _decode(text: str, where: str, remedy: str = "") -> Any:  # noqa: ANN401 - any JSON
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise ParseError(f"{where}: not JSON ({error}){remedy}") from None


def _text(value: object) -> str:
    """A value as it is shown in a question; what is no text is written as JSON writes it."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def extras(values: Sequence[str], option: str = "extras") -> list[Extra] | None:
    """`A: text`, one for each letter; none given leaves the tree's own."""
    if not values:
        return None
    found: dict[str, Extra] = {}
    for value in values:
        letter, colon, text = value.partition(":")
        letter = letter.strip().upper()
        if not colon or len(letter) != 1 or not letter.isalpha() or not text.strip():
            raise QuandaryError(f"{option} {value!r}: write it as 'A: text'")
        if letter in found:
            raise QuandaryError(f"{option} {letter} is given twice")
        found[letter] = Extra(letter, text.strip())
    return list(found.values())


def settings(values: tuple[str, ...]) -> dict[str, str]:
    """`key=value` pairs that fill slots."""
    found = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign or not key.strip():
            raise QuandaryError(f"--set {value!r}: write it as key=value")
        found[key.strip()] = text
    return found


# -- the options of a split ------------------------------------------------------------------------

_TEXT = (str | None, "text")
_KEYS = (list[str] | None, 'a list of keys, like ["E1"]')
_FIELDS: dict[str, tuple[Any, str]] = {
    "key": _TEXT,
    "title": _TEXT,
    "scope": _TEXT,
    "cost": _TEXT,
    "requires": _KEYS,
    "conflicts": _KEYS,
    "recommend": (str | None, f"{', '.join(BUCKETS)} or nothing"),
    "because": _TEXT,
}
"""What an entry can say, and what each of it is."""


def read_options(path: str) -> tuple[Candidate, ...]:
    """The options in a file, or from standard input for `-`."""
    return parse_options(read_input(path), path)


def parse_options(text: str, name: str) -> tuple[Candidate, ...]:
    """`[{"key": "E1", "title": "…", "requires": ["E0"]}]`; mistakes are named by their entry."""
    return options_from_rows(_decode(text.removeprefix("\ufeff"), name), name)


def options_from_rows(rows: object, name: str) -> tuple[Candidate, ...]:
    """Options that were decoded already."""
    if not isinstance(rows, list):
        example = '[{"key": "E1", "title": "What it is"}]'
        raise ParseError(f"{name}: write a list of options, like {example}")
    found = tuple(_candidate(f"{name}: entry {n}", row) for n, row in enumerate(rows, 1))
    wrong = problem(found)
    if wrong:
        raise ParseError(f"{name}: {wrong}")
    return found


def _candidate(where: str, row: object) -> Candidate:
    if not isinstance(row, dict):
        raise ParseError(f"{where}: write an object with key and title, not {row!r:.60}")
    key = row.get("key")
    if isinstance(key, str) and key.strip():
        where += f" ({' '.join(key.split())})"
    values: dict[str, Any] = {"key": "", "title": ""}
    for field, given in row.items():
        if field not in _FIELDS:
            raise ParseError(f"{where}: no field {field!r}; there are {', '.join(_FIELDS)}")
        kind, words = _FIELDS[field]
        try:
            value = msgspec.convert(given, kind)
        except msgspec.ValidationError:
            raise ParseError(f"{where}: {field} is {words}, not {given!r:.60}") from None
        if isinstance(value, list):
            values[field] = tuple(dict.fromkeys(key.strip() for key in value))
        elif value:
            values[field] = value.strip()
    recommended = values["recommend"] = values.get("recommend", "").lower() or None
    if recommended not in (None, *BUCKETS):
        raise ParseError(f"{where}: recommend is {_FIELDS['recommend'][1]}")
    return Candidate(**values)
