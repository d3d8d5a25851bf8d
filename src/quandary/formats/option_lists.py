"""Lists of options as JSON: `[{"key": "E1", "title": "…", "requires": ["E0"]}]`."""

from __future__ import annotations

from typing import Any

import msgspec

from quandary.errors import ParseError
from quandary.formats.files import read_standard_input, read_text
from quandary.model.candidates import BUCKETS, Candidate, problem

_TEXTS = ("key", "title", "scope", "cost", "because")
_LISTS = ("requires", "conflicts")
_FIELDS = (*_TEXTS[:4], *_LISTS, "recommend", "because")
_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


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
    if not isinstance(rows, list):
        example = '[{"key": "E1", "title": "What it is"}]'
        raise ParseError(f"{name}: this is {_kind(rows)}; write a list of options, like {example}")
    found = tuple(_Row(name, number, row).candidate() for number, row in enumerate(rows, 1))
    wrong = problem(found)
    if wrong:
        raise ParseError(f"{name}: {wrong}")
    return found


class _Row:
    """One entry of the list, as it was written."""

    def __init__(self, name: str, number: int, row: object) -> None:
        self.name = f"{name}: entry {number}"
        if not isinstance(row, dict):
            raise self._wrong(f"this is {_kind(row)}; write an object with key and title")
        self.row: dict[str, Any] = row
        key = row.get("key")
        if isinstance(key, str) and key.strip():
            self.name += f" ({' '.join(key.split())})"

    def candidate(self) -> Candidate:
        """The option that it is."""
        unknown = [field for field in self.row if field not in _FIELDS]
        if unknown:
            raise self._wrong(f"there is no field {unknown[0]!r}; there are {', '.join(_FIELDS)}")
        key, title, scope, cost, because = map(self._text, _TEXTS)
        requires, conflicts = map(self._keys, _LISTS)
        return Candidate(key, title, scope, cost, requires, conflicts, self._recommend(), because)

    def _text(self, field: str) -> str:
        value = self.row.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self._wrong(f"{field} is {_kind(value)}; write it as text")
        return value.strip()

    def _keys(self, field: str) -> tuple[str, ...]:
        value = self.row.get(field)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self._wrong(f'{field} is {_kind(value)}; write it as a list of keys, like ["E1"]')
        for key in value:
            if not isinstance(key, str):
                raise self._wrong(f"{field} has {_kind(key)} in it; write keys as text")
        return tuple(dict.fromkeys(key.strip() for key in value))

    def _recommend(self) -> Any:  # noqa: ANN401 - one of the buckets, or None
        value = self._text("recommend").lower()
        if value and value not in BUCKETS:
            raise self._wrong(f"recommend is {value!r}; write {', '.join(BUCKETS)} or nothing")
        return value or None

    def _wrong(self, text: str) -> ParseError:
        return ParseError(f"{self.name}: {text}")


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)
