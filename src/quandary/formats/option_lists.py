"""Lists of options as JSON: `[{"key": "E1", "title": "…", "requires": ["E0"]}]`."""

from __future__ import annotations

from typing import Any

import msgspec

from quandary.errors import ParseError
from quandary.model.candidates import BUCKETS, Candidate, problem
from quandary.settings.files import read_standard_input, read_text

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
    text = read_standard_input() if path == "-" else read_text(path)
    return parse_options(text, path)


def parse_options(text: str, name: str) -> tuple[Candidate, ...]:
    """The options in a text; whatever is wrong is said with the name and the entry."""
    try:
        rows = msgspec.json.decode(text.removeprefix("\ufeff"))
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise ParseError(f"{name}: not JSON ({error})") from None
    return options_from_rows(rows, name)


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
    if values.get("recommend"):
        values["recommend"] = values["recommend"].lower()
        if values["recommend"] not in BUCKETS:
            raise ParseError(f"{where}: recommend is {_FIELDS['recommend'][1]}")
    return Candidate(**values)
