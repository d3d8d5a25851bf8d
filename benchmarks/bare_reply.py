"""The least that the last reply to a run can cost: what was answered is read, and its sum written.

It follows no flow and checks nothing; its arguments are a copy of the store and the run.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys

import msgspec


def main() -> None:
    """Read, write, print."""
    path, run = sys.argv[1:]
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA journal_mode = WAL")
    kept = "SELECT n, body, matter FROM entry WHERE run = ? AND kind IN ('began', 'answered')"
    rows = db.execute(f"{kept} ORDER BY n", (run,)).fetchall()
    bodies = msgspec.json.decode(b"[%s]" % b",".join(body for _, body, _ in rows))
    items = msgspec.json.decode(rows[0][2])["arguments"]["items"]
    given = [body["answers"][0]["picked"] for body in bodies[1:]] + [["OK"]]
    chosen = [
        {"item": item["title"], "path": path, "itemId": item["id"], "labels": [path]}
        for item, (path,) in zip(items, given, strict=True)
    ]
    result = msgspec.json.encode({"result": {"treeName": "", "chosenItems": chosen}})
    salt, n = os.urandom(16), rows[-1][0] + 2
    seal = hashlib.sha256(salt + result).digest()
    add = "INSERT INTO entry (run, n, kind, body, matter, salt, seal, digest) "
    add += "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE run SET n = ?, status = 'done' WHERE id = ?", (n + 1, run))
    db.execute(add, (run, n, "answered", b"{}", None, None, None, seal))
    db.execute(add, (run, n + 1, "ended", b"{}", result, salt, seal, seal))
    db.execute("COMMIT")
    sys.stdout.buffer.write(result)
    db.close()


if __name__ == "__main__":
    main()
