"""Commands that serve others: `serve`, `mcp`, `worker`, and the hooks of hosts."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from quandary import fleet
from quandary.cli import INTERRUPTED, complain, console, put, tell
from quandary.cli.program import PATH, log_options, require_extra, store_option
from quandary.cli.trees import json_report
from quandary.cli.walking import LocalAgents, surroundings
from quandary.desk import notices
from quandary.desk.authority import Scope, require_may, scope_of
from quandary.desk.walks import Walks, find_parked
from quandary.doors.hosts import ADDRESS, Opencode, respond_for_server, run
from quandary.doors.hosts.permissions import KNOWN_HOSTS
from quandary.errors import ParseError, QuandaryError
from quandary.fleet.worker import Orders, Worker
from quandary.model.calls import fold
from quandary.model.text import reveal
from quandary.settings import data_folder, read_settings, user_settings
from quandary.settings.agents import read_catalogue
from quandary.settings.trust import is_given, project_table, require_agents

if TYPE_CHECKING:
    from litestar import Litestar

    from quandary.doors.mcp import Mounted
    from quandary.doors.mcp.tools import Service
    from quandary.journal.store import Store

log = logging.getLogger("quandary.serve")
NO_CODE = "no code is shown, as this is no terminal; log in with a token of [users.NAME]"


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8420, show_default=True)
@click.option(
    "--token-file",
    type=PATH,
    metavar="FILE",
    help="Where a token for programs is kept (or the token itself in QUANDARY_TOKEN).",
)
@click.option("--token", help="The token itself; others on this machine can see it.")
@click.option("--require-login", is_flag=True, help="Serve nobody without a login or a token.")
@click.option(
    "--hash",
    "to_hash",
    metavar="TOKEN",
    help="Print a token as [users.NAME] has it; - reads it from standard input.",
)
@log_options
@store_option
def serve_command(
    host: str,
    port: int,
    token_file: str | None,
    token: str | None,
    require_login: bool,
    to_hash: str | None,
    log_format: Form,
    log_level: str | None,
    where: str | None,
) -> int:
    """Show the questions that wait in a browser, and take the answers.

    Only this machine can reach it, unless --host says otherwise. Then, and wherever your settings
    name other hosts or proxies, everybody has to log in: with the code that is shown here on a
    terminal, or with a user's token; programs send a token. Users are defined in your own settings,
    by a table [users.NAME] with the token as --hash prints it. Monitoring finds /healthz, /readyz,
    and Prometheus metrics at /metrics.
    """
    with require_extra("web", "the browser needs"):
        import uvicorn  # noqa: F401, PLC0415 - an extra, and slow

        from quandary.doors.web import tokens  # noqa: PLC0415 - the same
        from quandary.doors.web.access import LOOPBACK, name_of  # noqa: PLC0415 - the same
        from quandary.doors.web.app import create_app  # noqa: PLC0415 - the same
    if to_hash == "-" and sys.stdin.isatty():
        to_hash = str(click.prompt("Token", hide_input=True, err=True))
    if to_hash is not None:
        put(f"{tokens.hashed(sys.stdin.readline() if to_hash == '-' else to_hash)}\n")
        return 0
    if token:
        tell("--token shows in the list of processes; use --token-file or QUANDARY_TOKEN instead")
    settings = user_settings()  # a repository has no say in who may come in
    table = settings.table("serve")
    keys = tokens.Keys(
        tokens.signing_key(data_folder()),
        token=token or _read_token(token_file) or os.environ.get("QUANDARY_TOKEN", ""),
        users=settings.table("users"),
        metrics=table.get("metrics", ""),
    )
    near = host.casefold() in LOOPBACK
    if not near and not keys.guarded:
        raise QuandaryError(
            f"{host} can be reached by others: give --token-file, or [users.NAME] in your settings"
        )
    named, proxies = tokens.read_hosts(table), tokens.read_proxies(table.get("trusted_proxies", []))
    own = frozenset() if near else {host.casefold(), socket.gethostname().casefold()}
    outside = str(settings.table("notify").get("address", "")).rpartition("://")[2].split("/")[0]
    elsewhere = named or proxies or not near or (outside and name_of(outside) not in LOOPBACK)

    def print_code() -> None:
        tell(f"To log in, enter this code within 15 minutes: {keys.new_code()}")

    log_as(log_format, log_level)
    bound = bind(host, port)
    store = console.open_journal(where, notify=False)
    keys.bind(f"{store.address} {bound.getsockname()[:2]}")
    notices.watch_store(store, in_background)
    in_background(lambda: notices.deliver_callbacks(store))
    walks, scope = walks_of(store), scope_of(os.curdir)
    app = create_app(
        store,
        keys,
        scope,
        hosts=LOOPBACK | own | named,
        addresses=not near,
        strangers=not elsewhere and not require_login,
        proxies=proxies,
        new_code=print_code if sys.stderr.isatty() else None,
        tools=_tools(store, walks),
        fleet=fleet.depths_of(store),
        walks=walks,
        hook=respond_for_server,
    )
    address = f"[{host}]" if ":" in host else host
    here = f"http://{address}:{bound.getsockname()[1]}/"
    if log_format == "json":
        log.info("serving on %s", here, extra={"address": here})
    else:
        tell(f"Serving on {here} (Ctrl-C to stop)")
    # A code is for whoever sees the terminal; a file or a log goes to others, who could use it.
    if sys.stderr.isatty():
        print_code()
    else:
        (log.info if log_format == "json" else tell)(NO_CODE)
    with notices.announce(here, store, scope.project):
        _run(app, bound, walks)
    return 0


def _read_token(path: str | None) -> str:
    if path is None:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise QuandaryError(f"{path}: the token cannot be read ({why})") from None
    if not token:
        raise QuandaryError(f"{path} is empty; write a token into it")
    return token


def _tools(store: Store, walks: Walks) -> Mounted | None:
    """The tools for chat clients, where the package for them is installed."""
    try:
        from quandary.doors.mcp import build, mounted  # noqa: PLC0415 - the same
    except ImportError:
        return None
    return mounted(build(service_of(store, walks, scope_of(os.curdir))))


def walks_of(store: Store) -> Walks:
    """The programs that resume runs of a store; each is watched in the background."""
    return Walks(store, console.current_project(), in_background, fleet=fleet)


def in_background(work: Callable[[], object]) -> None:
    """Do something in a thread, which ends with the program."""
    threading.Thread(target=work, daemon=True).start()


def _run(app: Litestar, bound: socket.socket, walks: Walks) -> None:
    """Serve until somebody ends it; open pages are let go at once then, and then the programs."""
    import uvicorn  # noqa: PLC0415 - an extra, and slow

    from quandary.doors.web.app import BACKLOG, WAITING, Connection  # noqa: PLC0415 - the same

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            bound.listen(WAITING)  # while no more than BACKLOG are taken at once

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.state.events.end()
            await super().shutdown(sockets)
            await asyncio.to_thread(walks.close)

    config = uvicorn.Config(
        app,
        http=Connection,
        loop="asyncio",
        ws="none",
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=2,  # seconds for open pages
    )
    Server(config).run(sockets=[bound])


def bind(host: str, port: int) -> socket.socket:
    """A socket at that address, so that it is known to be free before anything is said."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with ExitStack() as opened:
            bound = opened.enter_context(socket.socket(family, kind, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(512)
            opened.pop_all()
    except OSError as error:
        raise QuandaryError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another --port"
        ) from None
    return bound


@click.command()
@click.option("--project", metavar="DIR", help="Work there; by default in the current folder.")
@log_options
@store_option
def mcp_command(
    project: str | None, log_format: Form, log_level: str | None, where: str | None
) -> int:
    """Serve a chat client over its pipe, as it starts this program by itself.

    Its agent gets tools to ask, split, gate, walk, check trees and look at runs; none of them
    answers a question. Where the client can show forms, the person answers right there; elsewhere
    the agent is handed the question to relay. `quandary install` enters it in a client's list.
    """
    if project is not None:
        try:
            os.chdir(project)
        except OSError as error:
            raise QuandaryError(f"{project}: no folder to work in ({error.strerror})") from None
    with require_extra("mcp", "chat clients need"):
        import anyio  # noqa: PLC0415 - an extra, and slow

        from quandary.doors.mcp import build, over_stdio  # noqa: PLC0415 - the same
    log_as(log_format, log_level)
    if sys.stdin is None:
        raise ParseError("-: standard input is closed")
    if sys.stdin.isatty():
        tell("A chat client starts this by itself and speaks JSON with it. Ctrl-C ends it.")
    store = console.open_journal(where, notify=False)
    notices.watch_store(store, in_background)
    scope = scope_of(os.curdir)
    # A client that starts this program has neither a login nor a token, and an agent drives it: it
    # starts agents of this project where the user has agreed to them at a terminal.
    settings = read_settings()
    agents = project_table(settings, "agents")
    is_user = bool(agents) and is_given(settings, "agents", agents)
    server = build(service_of(store, walks_of(store), scope, is_user=is_user))
    logging.getLogger("quandary.mcp").info("serving a chat client over its pipe")
    signal.signal(signal.SIGINT, _leave)
    anyio.run(over_stdio, server)
    return 0


def service_of(store: Store, walks: Walks, scope: Scope, *, is_user: bool = False) -> Service:
    """Everything that the tools of a chat client do, in a project."""
    from quandary.doors.mcp.tools import Service  # noqa: PLC0415 - an extra

    agents = lambda: LocalAgents(require_agents(read_settings()))  # noqa: E731 - read anew each time
    return Service(store, walks, agents, json_report, scope, is_user)


def _leave(*_: object) -> None:
    """End at once: whatever reads the pipe sleeps until something comes and cannot be woken."""
    complain("interrupted")
    os._exit(INTERRUPTED)


def _limits(_context: object, _parameter: object, texts: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        count = number.strip()
        if not fold(name) or not (count.isascii() and count.isdigit() and int(count) > 0):
            raise click.BadParameter(f"{text!r} is not a limit; write, for example, CLAUDE=4")
        found[fold(name)] = int(count)
    return found


@click.command(
    epilog="Exit status: 0 stopped or nothing left, 1 a run was given up, 2 wrong usage."
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=8,
    show_default=True,
    help="The number of runs at the same time.",
)
@click.option("--queues", default="", metavar="A,B", help="Take runs from these queues only.")
@click.option(
    "--limit",
    "limits",
    multiple=True,
    callback=_limits,
    metavar="AGENT=N",
    help="The most calls of an agent at the same time.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long calls may take to finish when the worker is told to stop.",
)
@click.option("--drain", is_flag=True, help="Stop when nothing is left to do.")
@click.option("--workdir", metavar="DIR", help="Where agents work, whatever the runs say.")
@click.option(
    "--heartbeat",
    type=click.FloatRange(min=0.1, max=600),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between signs of life; a worker that misses three is presumed dead.",
)
@log_options
@store_option
def worker_command(
    concurrency: int,
    queues: str,
    limits: dict[str, int],
    grace: float,
    drain: bool,
    workdir: str | None,
    heartbeat: float,
    log_format: Form,
    log_level: str | None,
    where: str | None,
) -> int:
    """Run the walks that `quandary walk --fleet` has queued.

    Any number of workers on any number of machines share one PostgreSQL store. Each takes a run,
    makes its calls until it waits for a person or is over, and takes the next. An answer puts its
    run back into the queue. When a worker dies, others resume its runs. SIGTERM and Ctrl-C let
    calls under way finish first; the second time they are stopped.
    """
    if workdir is not None and not os.path.isdir(workdir):
        raise QuandaryError(f"{workdir}: no such folder")
    settings = read_settings()
    catalogue = read_catalogue(settings.table("agents"))
    orders = Orders(
        concurrency=concurrency,
        queues=frozenset(fold(name) for name in queues.split(",") if name.strip()),
        limits=limits,
        grace=grace,
        heartbeat=heartbeat,
        poll=min(2.0, heartbeat),
        drain=drain,
        workdir=os.path.abspath(workdir) if workdir else "",
    )
    store = fleet.open_shared(where)
    if store.missing:
        complain(store.missing)
    notices.watch_store(store, in_background)
    log_as(log_format, log_level)
    in_background(lambda: notices.deliver_callbacks(store))
    worker = Worker(store, catalogue, surroundings(os.getcwd(), settings), orders)
    many = f"{concurrency} runs" if concurrency > 1 else "one run"
    tell(f"Working on {store.path}, {many} at a time (Ctrl-C to stop)")
    asyncio.run(worker.work())
    store.close()
    if worker.stopped_by == signal.SIGINT:
        raise KeyboardInterrupt
    return 1 if worker.failed and drain else 0


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog="Exit status: 0 the session went on and ended well, 1 it did not.",
)
@click.argument("run")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@store_option
def resume_command(run: str, words: tuple[str, ...], where: str | None) -> int:
    """Resume the session of Claude Code that was parked with RUN, now that it is answered.

    It continues in its own folder, with the answer as the result of its question. WORDS are options
    of `claude`, such as --allowedTools.
    """
    store, run = console.open_run(where, run)
    require_may(console.caller(), "start agents")
    with store.lock_run(run):
        parked = find_parked(store, run)
        program, *rest = parked.words
        if (found := shutil.which(program)) is None:
            raise QuandaryError(f"{program} is not on PATH; install it, or start a shell with it")
        argv = [found, *rest, *words]
        ended = subprocess.run(argv, cwd=parked.folder, stdin=subprocess.DEVNULL, check=False)  # noqa: S603
        return 1 if ended.returncode else 0


@click.group()
def hook_command() -> None:
    """Judge and record the questions that a host asks by itself.

    The host calls these with its JSON on standard input; `quandary install claude` sets that up.
    Whatever comes in, they end with status 0, so that they never block an agent; what went wrong
    is written to `hook.log` in the user's data folder.
    """


@hook_command.command()
@click.argument("host", type=click.Choice(["claude", "codex"]), default="claude")
def pre(host: str) -> int:
    """Before a question is shown: answer it by preference, or say nothing."""
    return run("pre", host)


@hook_command.command()
def post() -> int:
    """After it was answered: record each question with its answer."""
    return run("post")


@hook_command.command()
@click.argument("host", type=click.Choice(KNOWN_HOSTS), default="claude")
def permission(host: str) -> int:
    """When a host asks for permission: decide by rule or from the inbox, or say nothing."""
    return run("permission", host)


@hook_command.command()
@click.argument("address", default=ADDRESS)
@store_option
def opencode(address: str, where: str | None) -> int:
    """Follow the server of opencode: what it asks comes to the inbox, and answers go back to it.

    ADDRESS is where `opencode --port 4096` or `opencode serve` listens on this machine. It runs
    until that ends, or until you end it.
    """
    store = console.open_journal(where, notify=False)
    notices.watch_store(store, in_background)
    Opencode(address).follow(store)
    return 0


@hook_command.command()
@click.argument("host", type=click.Choice(["claude", "codex"]), default="claude")
def session(host: str) -> int:
    """When a session starts, is resumed or was compacted: tell it what was decided."""
    return run("session", host)


Form = Literal["text", "json"]
MOST_ALIKE = 30  # warnings of one kind in a minute, and kinds that are told apart
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {
    *("message", "asctime", "taskName"),
    "color_message",  # the same once more, for screens
}
"""What every record has; anything else was added by whoever logged it."""


class Lines(logging.Formatter):
    """A record for people, with nothing hidden in it."""

    def format(self, record: logging.LogRecord) -> str:
        return reveal(super().format(record))


class JsonLines(logging.Formatter):
    """A record as one line: when, how grave, from whom, what, and whatever came along."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; what JSON cannot hold is written as text."""
        said: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        added = {name: value for name, value in vars(record).items() if name not in _OWN}
        said = {**said, **added, **said}
        if record.exc_info and record.exc_info[1] is not None:
            said["error"] = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
            said["traceback"] = self.formatException(record.exc_info)
        try:
            return msgspec.json.encode(said, enc_hook=str).decode()
        except (UnicodeEncodeError, TypeError, ValueError, OverflowError, RecursionError):
            return msgspec.json.encode({_text(name): _text(said[name]) for name in said}).decode()


class Sparing(logging.Filter):
    """Lets few warnings that are alike through in a minute, so that nobody can fill a disk."""

    def __init__(self) -> None:
        super().__init__()
        self._until = 0.0
        self._seen: Counter[object] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged; the last of its minute says that more may have come."""
        if record.levelno < logging.WARNING:
            return True
        now = time.monotonic()
        if now > self._until:
            self._until = now + 60
            self._seen.clear()
        error = record.exc_info[0] if record.exc_info else None
        if error is not None and error.__name__ == "CancelledError":
            return False  # a request that the server let go of as it ended
        kind: object = (record.name, record.msg, error)
        if kind not in self._seen and len(self._seen) >= MOST_ALIKE:
            kind = None
        self._seen[kind] += 1
        if self._seen[kind] == MOST_ALIKE:
            record.msg, record.args = f"{record.getMessage()} (no more such lines this minute)", ()
        return self._seen[kind] <= MOST_ALIKE


def log_as(form: Form, level: str | None = None) -> None:
    """Have all that is logged in this process go to standard error, as far as it is grave enough.
    By default people are told what goes wrong, and programs what happens. Only our own rooms may go
    into details: those of other packages can hold what was said, or who said it.
    """
    usual = "info" if form == "json" else "warning"
    wanted = getattr(logging, (level or usual).upper())
    handler = logging.StreamHandler(sys.stderr)
    words = Lines("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else words)
    handler.addFilter(Sparing())
    logging.basicConfig(level=max(wanted, logging.INFO), handlers=[handler], force=True)
    logging.getLogger("quandary").setLevel(wanted)
    # Whoever uses the pool says in words of our own what goes wrong with it.
    logging.getLogger("psycopg.pool").setLevel(max(wanted, logging.ERROR))


def _text(value: object) -> str:
    return str(value).encode(errors="replace").decode()
