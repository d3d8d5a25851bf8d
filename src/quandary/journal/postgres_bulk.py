"""What is done to many rows of a journal on PostgreSQL at once: copying and pruning them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.errors import Rejected
from quandary.journal.entries import Began, read_bodies
from quandary.journal.store import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from quandary.journal.postgres_connections import Connection
    from quandary.journal.store import Row, Run

_BEGUN = {"last": " WHERE runs > 0"}
"""The row of `last` is there from the beginning, and says nothing before a run has begun."""


def dump(connection: Connection, table: str) -> Iterator[Row]:
    """Every row of a table, a few thousand at a time."""
    columns = TABLES[table]
    where = _BEGUN.get(table, "")
    with connection.cursor(name="dump", binary=True) as cursor:
        cursor.itersize = 2000
        cursor.execute(
            f"SELECT {', '.join(columns)} FROM {table}{where} ORDER BY {columns[0]}"  # noqa: S608
        )
        yield from cursor


def fill(connection: Connection, place: str, rows: Callable[[str], Iterator[Row]]) -> None:
    """Put rows into every table of an empty journal; nobody begins a run meanwhile."""
    connection.execute("SELECT 1 FROM last FOR UPDATE")
    for table in TABLES:
        where = _BEGUN.get(table, "")
        if connection.execute(f"SELECT 1 FROM {table}{where} LIMIT 1").fetchone():  # noqa: S608
            raise Rejected(f"{place} is not empty; a journal is copied into an empty store")
    connection.execute("DELETE FROM last")
    for table, columns in TABLES.items():
        statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows(table):
                copy.write_row(row)
    connection.execute(
        "INSERT INTO last (one, id, first, runs) VALUES (1, '', '', 0) ON CONFLICT DO NOTHING"
    )
    connection.execute(
        "SELECT setval('entry_seq_seq', greatest(coalesce(max(seq), 0), 1), count(*) > 0) "
        "FROM entry"
    )


def prune(connection: Connection, wanted: Sequence[tuple[Run, Sequence[int]]]) -> list[Run]:
    """Take matter and salt out of entries of runs that are over and as they were."""
    pruned = []
    with connection.transaction():
        for run, numbers in sorted(wanted, key=lambda pair: pair[0].id):
            still = connection.execute(
                "SELECT 1 FROM run WHERE id = %s AND n = %s AND status <> 'waiting' FOR UPDATE",
                (run.id, run.n),
            ).fetchone()
            if still:
                connection.execute(
                    "UPDATE entry SET matter = NULL, salt = NULL WHERE run = %s AND n = ANY(%s)",
                    (run.id, list(numbers)),
                )
                pruned.append(run)
    return pruned


def forget(connection: Connection, documents: Collection[str], seen: int) -> int:
    """Remove documents but those with which a run began after entry `seen`."""
    with connection.transaction():
        connection.execute("SELECT 1 FROM last FOR UPDATE")
        rows = connection.execute(
            "SELECT body FROM entry WHERE seq > %s AND kind = 'began'", (seen,), binary=True
        ).fetchall()
        bodies = read_bodies(row[0] for row in rows)
        needed = {name for b in bodies if isinstance(b, Began) for name in b.documents.values()}
        gone = [name for name in documents if name not in needed]
        return connection.execute("DELETE FROM document WHERE digest = ANY(%s)", (gone,)).rowcount


def reclaim(connection: Connection) -> int:
    """Let the server use the room of what was pruned for something else."""
    before = _size(connection)
    connection.execute("VACUUM entry")
    connection.execute("VACUUM document")
    return max(before - _size(connection), 0)


def _size(connection: Connection) -> int:
    sql = "SELECT pg_total_relation_size('entry') + pg_total_relation_size('document')"
    found = connection.execute(sql).fetchone()
    return int(found[0]) if found else 0
