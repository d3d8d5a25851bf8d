"""Names of runs: they sort by when the run began, and a part of one is often enough."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from quandary.errors import NotFound

if TYPE_CHECKING:
    from datetime import datetime

    from quandary.journal.store import Store

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 26
_LOOKALIKES = str.maketrans("ILO", "110")
_AFTER_ALL = "~"
IMPORTED = "imported\n"
"""Begins the name by which the record of an imported run is found; the run's own name follows."""


class Elsewhere(NotFound):
    """A run that another store wrote: there is a copy to look at, and nothing to resume."""

    def __init__(self, run: str, record: str) -> None:
        self.run, self.record = run, record
        super().__init__(
            f"run {run} was imported and can only be looked at (`quandary log {run}`); "
            "resume it where it came from"
        )


def new_id(moment: datetime, last: str | None) -> str:
    """A name for a run that begins now; it sorts behind `last` whatever the clock says."""
    number = int(moment.timestamp() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    if last is not None:
        number = max(number, _number(last) + 1)
    digits = []
    for _ in range(LENGTH):
        number, digit = divmod(number, 32)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def find_run(store: Store, prefix: str) -> str:
    """The one run whose name begins like this, in any case."""
    wanted = prefix.strip().upper().translate(_LOOKALIKES)
    if not wanted:
        raise NotFound("name a run; `quandary runs` lists them")
    found = store.between(wanted, wanted + _AFTER_ALL, 4)
    if not found:
        copies = store.named(IMPORTED + wanted, IMPORTED + wanted + _AFTER_ALL)
        found = [name.removeprefix(IMPORTED) for name in copies]
        if len(found) == 1:
            raise Elsewhere(found[0], *copies.values())
    if not found:
        raise NotFound(f"there is no run {prefix.strip()}; `quandary runs` lists them")
    if len(found) > 1 and found[0] != wanted:
        some = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        raise NotFound(f"{prefix.strip()} is ambiguous ({some}); type more characters")
    return found[0]


def _number(name: str) -> int:
    number = 0
    for letter in name:
        number = number * 32 + ALPHABET.index(letter)
    return number
