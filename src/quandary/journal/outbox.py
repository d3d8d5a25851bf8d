"""What runs have to tell elsewhere: rows that are written with the entries they tell of.

A run that is to tell has a row numbered 0 for each address. An entry that is worth telling adds a
row under its own number, in its own transaction. Whoever delivers one first puts off when it is due
again: then nobody else takes it meanwhile, and where it is not delivered, somebody tries again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from quandary.journal.entries import Answered, AnyBody, Ended, Matter, Noted

if TYPE_CHECKING:
    from quandary.journal.store import Store

Event = Literal["answered", "amended", "undone", "declined", "withdrawn", "expired", "failed"]
UNDONE = "undone"
"""The kind of the note that takes an answer back."""
CREATE = (
    """CREATE TABLE outbox (
        run TEXT NOT NULL, n INTEGER NOT NULL, address TEXT NOT NULL, tries INTEGER NOT NULL,
        due TEXT, PRIMARY KEY (run, n, address)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX outbox_due ON outbox (due) WHERE due IS NOT NULL",
)
"""How SQLite is told of the table."""
ADD = "INSERT INTO outbox (run, n, address, tries, due) VALUES (?, ?, ?, 0, ?)"
TELL = (
    "INSERT INTO outbox (run, n, address, tries, due) "
    "SELECT run, ?, address, 0, ? FROM outbox WHERE run = ? AND n = 0"
)
_DUE = """
    SELECT run, n, address, tries, due FROM outbox AS own WHERE due <= ? AND NOT EXISTS (
        SELECT 1 FROM outbox AS earlier WHERE earlier.run = own.run
            AND earlier.address = own.address AND earlier.n < own.n AND earlier.due IS NOT NULL
    ) ORDER BY due, run, n LIMIT ?
"""
_OWN = "WHERE run = ? AND n = ? AND address = ?"


class Letter(NamedTuple):
    """Something to be told to an address."""

    run: str
    n: int
    """The entry it tells of."""
    address: str
    tries: int
    due: str


def event_of(body: AnyBody, matter: Matter) -> Event | None:
    """What an entry tells elsewhere; most tell nothing. Only its words show that one is advice."""
    if isinstance(body, Answered):
        answered = body.amends or any(a.settles for a in matter.answers or body.answers)
        return ("amended" if body.amends else "answered") if answered else None
    if isinstance(body, Noted):
        return "undone" if body.kind == UNDONE else None
    if not isinstance(body, Ended) or body.status == "done":
        return None
    expired = body.status == "withdrawn" and (body.who, body.through) == ("policy", "expiry")
    return "expired" if expired else body.status


def find_due(store: Store, moment: str, limit: int = 20) -> list[Letter]:
    """What is due by then: of each run only the first, so that all of it comes in order."""
    return [Letter(*row) for row in store._rows(_DUE, (moment, limit))]


def claim(store: Store, letter: Letter, due: str | None) -> bool:
    """Put off when a letter is due again, or for ever; whether nobody else was quicker."""
    sql = f"UPDATE outbox SET tries = tries + 1, due = ? {_OWN} AND due = ?"  # noqa: S608
    return store._change(sql, (due, *letter[:3], letter.due)) > 0


def take_out(store: Store, letter: Letter) -> None:
    """It was delivered."""
    store._change(f"DELETE FROM outbox {_OWN}", letter[:3])  # noqa: S608 - our own words


def count(store: Store) -> dict[str, int]:
    """How many letters wait to be delivered, and how many nobody tries to any more."""
    sql = "SELECT due IS NULL, count(*) FROM outbox WHERE n > 0 GROUP BY 1"
    found = {bool(over): int(number) for over, number in store._rows(sql)}
    return {"waiting": found.get(False, 0), "given up": found.get(True, 0)}
