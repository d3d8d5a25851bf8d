"""Write a journal of the schema of today, to be read for ever: `python make.py v1.sql`.

It is run once for each schema, and its journals are never made again. The flow is the one of
`tests/small_flows.py`.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import small_flows
from quandary.journal import replay
from quandary.journal.sqlite import SqliteStore
from quandary.model.ask import Answer, Outcome, Reply
from quandary.model.call import Output


def fill(store: SqliteStore) -> None:
    """A run that is done, one that waits, one with calls, one that was declined."""
    state = small_flows.begin(store, questions=2, notes=True)
    state = small_flows.answer(store, state, small_flows.pick("1:", "NO", comment="but soon"))
    small_flows.answer(store, state, Reply((Answer("2:", text="my own", raw="my own"),)))

    state = small_flows.begin(store, "maze", items=["1", "2"], most=9)
    state = small_flows.answer(store, state, "OK")
    replay.note(store, state.run, Outcome("idle", "ten minutes"), who="agent", through="relay")
    small_flows.answer(store, state, small_flows.pick("2:~2", "SUB"))

    state = small_flows.answer(store, small_flows.begin(store, "errand"))
    state = replay.record_output(store, state.run, Output("1:/run", "ran"), through="worker")
    replay.record_output(store, state.run, Output("1:/vote-1", "yes"), through="worker")

    state = small_flows.begin(store)
    replay.note(store, state.run, Outcome("declined"), who="person", through="web", by="ada")


def main() -> None:
    """The journal as SQL, so that a change to it can be seen."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        store = SqliteStore(path)
        fill(store)
        store.close()
        db = sqlite3.connect(path)
        heads = [
            f"PRAGMA {name} = {db.execute(f'PRAGMA {name}').fetchone()[0]};"
            for name in ("application_id", "user_version")
        ]
        lines = [*heads, *db.iterdump()]
        db.close()
    target = Path(__file__).with_name(sys.argv[1])
    with target.open("x", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
