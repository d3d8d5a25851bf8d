"""`quandary doctor`: what is installed, what is missing, and how to fix it.

Nothing here changes anything. Other programs are only asked for their versions, and what a file of
a project names is never started: the project may be somebody else's.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import cache
from importlib import metadata
from shlex import quote
from typing import Any, Literal, NamedTuple

import click

from quandary import __version__, settings
from quandary.cli import paint, put, put_json
from quandary.cli.program import store_option
from quandary.cli.setup import named_by_project
from quandary.desk import notices
from quandary.desk.authority import read_doors
from quandary.doors import hosts
from quandary.doors.hosts import install
from quandary.doors.hosts.host_files import HOOKS, HOOKS_SINCE, HOSTS, NAME, REMEDY, places
from quandary.doors.hosts.install import InstalledHook, our_hooks
from quandary.doors.hosts.permissions import read_permissions
from quandary.doors.web.tokens import Keys, read_hosts, read_proxies
from quandary.errors import ParseError, QuandaryError, Untrusted
from quandary.journal import NoStore, open_store, place_of
from quandary.journal.verify import verify
from quandary.model.calls import fold
from quandary.model.text import count, printable, suggest
from quandary.settings import Origin, trust
from quandary.settings.agents import Agent, known_agents, read_catalogue
from quandary.settings.files import project_root, read_text

Status = Literal["ok", "note", "broken"]
SECONDS = 5.0  # how long a program may take to say its version
MANY = 20_000  # a journal with more entries than this is not verified in passing
PATIENCE = 600  # seconds that Claude Code gives a hook that names none of its own (read in 2026-11)
OWN = ("authority", "callbacks", "notify", "reading", "serve", "users")  # of the user alone
QUESTIONS = {"door": ("one-way", "two-way"), "ask": ("always",)}
_KINDS = {str: "a text", int: "a whole number", bool: "true or false", dict: "a table"}
_COLOURS = {"ok": "green", "note": "yellow", "broken": "red"}
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)[^;]*;\s*extra == ['\"](?P<extra>[\w-]+)['\"]")


class Finding(NamedTuple):
    """One thing that was looked at."""

    status: Status
    what: str
    text: str
    remedy: str = ""  # what to do about it


@click.command(epilog="Exit status: 0 nothing is broken, 1 something is.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@store_option
def doctor_command(form: str, where: str | None) -> int:
    """Say what is installed where, what does not work, and how to fix it.

    Looks at the program and its extras, the settings, the store, what `quandary install` wrote for
    which host, and the agents that are installed. It changes nothing and sends nothing. Programs
    that you have installed are asked for their versions; what files of a project name is never
    started.
    """
    hosts = [*examine_hosts()]
    hooked = any(finding.what.startswith("claude") for finding in hosts)
    areas: dict[str, list[Finding]] = {
        "program": [*examine_program()],
        "extras": [*examine_extras()],
        "settings": [*examine_settings()],
        "store": [*examine_store(where)],
        "hosts": hosts,
        "agents": [*examine_agents(hooked=hooked)],
        "logs": [*examine_logs()],
    }
    broken = sum(finding.status == "broken" for found in areas.values() for finding in found)
    if form == "json":
        listed = [{"area": area, **f._asdict()} for area, found in areas.items() for f in found]
        put_json({"version": __version__, "ok": not broken, "findings": listed})
        return 1 if broken else 0
    for area, found in areas.items():
        put(f"{area}\n" if found else "")
        for status, what, text, remedy in found:
            mark = paint(f"{status:<6}", fg=_COLOURS[status])
            put(f"  {mark}  {printable(what)}: {printable(text)}\n")
            put(f"          → {printable(remedy)}\n" if remedy else "")
        put("\n" if found else "")
    put(f"{broken} broken.\n" if broken else "Nothing is broken.\n")
    return 1 if broken else 0


@cache
def version_of(path: str) -> tuple[str, str]:
    """The version of a program, or why it says none in time; it sees no keys and no input."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell, and nothing but this one word
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=os.path.abspath(os.sep),  # where no project tells it what to do
            env={**kept, "TERM": "dumb", "CI": "1"},
            start_new_session=True,
        )
    except OSError as error:
        return "", f"cannot be started ({error.strerror})"
    with process:
        try:
            said, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            return "", f"did not say its version within {SECONDS:g} seconds"
    if (found := _VERSION.search(said.decode(errors="replace"))) is not None:
        return found[0], ""
    status = f" and ended with status {process.returncode}" if process.returncode else ""
    return "", f"says no version{status}"


def _find(command: str) -> str | None:
    """Where a program is; what PATH finds in the current folder may be the project's."""
    return shutil.which(command, path=os.pathsep.join(filter(os.path.isabs, os.get_exec_path())))


def examine_program() -> Iterator[Finding]:
    """The program that runs now, and the one that others would call."""
    python = ".".join(map(str, sys.version_info[:3]))
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield Finding("ok", NAME, f"version {__version__} with Python {python}, in {folder}")
    if _find(NAME) is None:
        text = "does not lead to quandary, so agents cannot call it by its name"
        yield Finding("note", "PATH", text, REMEDY)
    else:
        yield _examine_command("PATH", NAME, "leads to", REMEDY)


def _examine_command(
    what: str, command: str, verb: str, remedy: str, *, start: bool = True
) -> Finding:
    """Whether a program of ours is there, and which version it is, where it may be started."""
    if not start:
        text = f"{verb} {command}, as a file of this project says; it was not started"
        return Finding("note", what, text, f"see whose program that is; {remedy}")
    if (path := _find(command)) is None:
        missing = "is not there" if os.path.dirname(command) else "is not on PATH"
        return Finding("broken", what, f"{verb} {command}, which {missing}", remedy)
    version, trouble = version_of(path)
    if trouble:
        return Finding("broken", what, f"{verb} {path}, which {trouble}", REMEDY)
    text = f"{verb} {path}, version {version}"
    if version != __version__:
        return Finding("note", what, f"{text}; this is {__version__}", "keep one of the two")
    return Finding("ok", what, text)


def examine_extras() -> Iterator[Finding]:
    """What can be added to the program, and whether it is there."""
    try:
        needed = metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        yield Finding("note", NAME, "is not installed as a package")
        return
    wanted: dict[str, list[str]] = {}
    for found in filter(None, map(_REQUIREMENT.match, needed)):
        if found["extra"] != "all":
            wanted.setdefault(found["extra"], []).append(found["name"])
    for extra, names in sorted(wanted.items()):
        present, missing = [], []
        for name in dict.fromkeys(names):
            try:
                present.append(f"{name} {metadata.version(name)}")
            except metadata.PackageNotFoundError:
                missing.append(name)
        if missing:
            remedy = f"pip install 'quandary[{extra}]'"
            yield Finding("note", extra, f"not installed ({', '.join(missing)})", remedy)
        else:
            yield Finding("ok", extra, ", ".join(present))


def examine_settings(start: str = ".") -> Iterator[Finding]:
    """Both files and the environment: settings that have no effect, or not the intended one."""
    if (root := project_root(start)) is not None:
        yield from _examine_file("project", os.path.relpath(os.path.join(root, "quandary.toml")))
        yield from _examine_trust(root)
    yield from _examine_file("user", os.path.join(settings.config_folder(), "config.toml"))
    known = {name.upper() for name, kind in settings.KNOWN.items() if kind in (str, int, bool)}
    known |= {"TOKEN", "STORE", "URL"}
    for variable in sorted(os.environ):
        name = variable.removeprefix("QUANDARY_")
        if name not in (variable, *known) and not variable.startswith(notices.VARIABLE):
            remedy = suggest(name, known, "take it out").replace("mean ", "mean QUANDARY_")
            yield Finding("note", variable, "means nothing to this version", remedy)


def _examine_trust(root: str) -> Iterator[Finding]:
    with suppress(QuandaryError):  # said where the file is looked at
        found = settings.read_settings(root)
        for matter, what in named_by_project(found).items():
            try:
                trust.require(found, matter, what)
            except Untrusted as error:
                text = f"{error.what}, which does not count before you trust it"
                yield Finding("note", "trust", text, error.command)


def _examine_file(origin: Origin, path: str) -> Iterator[Finding]:
    if not os.path.isfile(path):
        yield Finding("ok", path, "not there; nothing is set")
        return
    try:
        part = settings.read_part(origin, path)
    except QuandaryError as error:
        remedy = "correct it; until then no command that reads it works"
        yield Finding("broken", path, str(error).removeprefix(f"{path}: "), remedy)
        return
    wrong = [fault for item in part.values.items() if (fault := _find_fault(origin, *item))]
    yield from (Finding("broken", path, *fault) for fault in wrong)
    for name in OWN if origin == "project" else ():
        if part.values.get(name):
            text = f"[{name}] of a project is ignored: what it says is not for a repository to say"
            remedy = f"put it into {os.path.join(settings.config_folder(), 'config.toml')}"
            yield Finding("note", path, text, remedy)
    table, told = part.values.get("notify", {}), part.values.get("callbacks", [])
    tables = [table, *(told if isinstance(told, list) else ())]
    secret = any(isinstance(one, dict) and one.get("secret") for one in tables)
    if origin == "user" and secret and os.stat(path).st_mode & 0o077:
        text = "others on this machine can read the secret in it"
        yield Finding("note", path, text, f"chmod 600 {path}")
    if not wrong:
        names = ", ".join(part.values)
        yield Finding("ok", path, f"sets {names}" if names else "nothing is set")


def _find_fault(origin: Origin, key: str, value: object) -> tuple[str, str] | None:
    name = key.lower() if key.isupper() else key
    if (kind := settings.KNOWN.get(name)) is None:
        return f"there is no setting {key}", suggest(key, settings.KNOWN, "take it out")
    if name == "callbacks" and origin == "user":
        try:
            notices.read_callbacks(value)
        except QuandaryError as error:
            return str(error), "correct it; until then nothing can be asked"
    if kind is list and not isinstance(value, str | list):
        return f"{key} is a list of texts, not {value!r}", "write it in brackets"
    if kind is not list and type(value) is not kind:
        return f"{key} is {_KINDS[kind]}, not {value!r}", "correct its value"
    if isinstance(value, dict) and not (name in OWN and origin == "project"):
        try:
            CHECKS[name](value)
        except QuandaryError as error:
            return str(error), "correct it; until then it has no effect"
    return None


def _check_hooks(table: dict[str, Any]) -> None:
    settings.require_keys("hooks", table, ("strict", "route", "wait"))
    if not isinstance(table.get("strict", False), bool):
        raise ParseError(f"[hooks] strict is true or false, not {table['strict']!r}")
    hosts.inbox_seconds(settings.Settings(None, (settings.Part("user", "", {"hooks": table}),)))


def _check_notify(table: dict[str, Any]) -> None:
    command = notices.read_table(table).command
    program = command[0] if command else ""
    if os.path.dirname(program):  # it is run from the home folder
        program = os.path.join(os.path.expanduser("~"), program)
    if program and shutil.which(program) is None:
        raise ParseError(f"[notify] command names {command[0]}, which was not found")


def _check_questions(table: dict[str, Any]) -> None:
    for name, entry in table.items():
        if not isinstance(entry, dict):
            raise ParseError(f"[questions.{name}] is a table, not {entry!r}")
        settings.require_keys(f"questions.{name}", entry, QUESTIONS)
        for key, value in entry.items():
            if value not in QUESTIONS[key]:
                allowed = " or ".join(f'"{one}"' for one in QUESTIONS[key])
                raise ParseError(f"[questions.{name}] {key} is {allowed}, not {value!r}")


def _check_serve(table: dict[str, Any]) -> None:
    settings.require_keys("serve", table, ("hosts", "metrics", "trusted_proxies"))
    read_proxies(table.get("trusted_proxies", []))
    read_hosts(table)
    if table.get("metrics"):
        Keys(b"", metrics=table["metrics"])


CHECKS: dict[str, Callable[[dict[str, Any]], object]] = {
    "agents": read_catalogue,
    "authority": read_doors,
    "reading": settings.read_reader,
    "hooks": _check_hooks,
    "permissions": read_permissions,
    "notify": _check_notify,
    "questions": _check_questions,
    "serve": _check_serve,
    "users": lambda table: Keys(b"", users=table),
}
"""Each raises where its table makes no sense."""


def examine_store(where: str | None = None) -> Iterator[Finding]:
    """The journal: whether it can be read, how large it is, and whether it is what was written."""
    place = "journal"
    try:
        place = place_of(where)
        with closing(open_store(where, create=False)) as store:
            last, entries = store.last(), store.newest()
            paths = [path for path in (place, f"{place}-wal") if os.path.exists(path)]
            size = sum(os.path.getsize(path) for path in paths) // 1024
            problems = verify(store).problems if entries <= MANY else ()
            missing, letters = store.missing, store.count_letters()
            shared = " ".join(quote(path) for path in paths if _others_can_read(path))
    except NoStore:
        yield Finding("ok", place, "nothing has been recorded there yet")
        return
    except Untrusted as error:
        yield Finding("broken", place, f"{error.what}; it was not opened", error.command)
        return
    except QuandaryError as error:
        remedy = "see quandary verify, or name another store with --store"
        yield Finding("broken", place, str(error), remedy)
        return
    if shared:
        yield Finding("note", place, "others on this machine can read it", f"chmod 600 {shared}")
    large = f", {size:,} KiB" if paths else ""  # of a database, its server knows
    told = f"{count(last.runs if last else 0, 'run')}, {entries} entries{large}"
    if any(letters.values()):
        text = ", ".join(f"{number} {state}" for state, number in letters.items() if number)
        remedy = f"a server or a worker delivers them; see {notices.trouble_log('callbacks')}"
        yield Finding("note", "callbacks", f"to be delivered: {text}", remedy)
    if missing:
        yield Finding("broken", place, missing, "quandary verify")
    elif entries > MANY:
        text = f"{told}; too many entries to verify in passing"
        yield Finding("ok", place, text, "quandary verify looks at all of them")
    elif problems:
        text = f"{told}; {len(problems)} problems, the first: {problems[0].text}"
        yield Finding("broken", place, text, "quandary verify names them all")
    else:
        yield Finding("ok", place, f"{told}, all as they were written")


def _others_can_read(path: str) -> bool:
    """Whether the modes of a file and of the folders above it let others read it."""
    place = os.path.realpath(path)
    mode = os.stat(place).st_mode >> 2  # as a folder says that others may pass through it
    while mode & 0o011 and place != (place := os.path.dirname(place)):
        mode &= os.stat(place).st_mode
    return bool(mode & 0o011)


def examine_hosts(start: str = os.curdir) -> Iterator[Finding]:
    """Every host that something of ours is installed for."""
    root = project_root(start)
    seen = None if root is None else os.path.relpath(root)
    roots = [None] if seen is None else ["" if seen == os.curdir else seen, None]
    found = [one for host in HOSTS for scope in roots for one in _examine_host(host, scope)]
    yield from found
    sources = []  # where Claude Code has our hooks from: settings, or a plugin that they name
    for path in (places("claude", scope).hooks or "" for scope in roots):
        with suppress(QuandaryError):  # said already
            text = _text(path)
            calls, enabled = our_hooks(text), install.load_json(text).get("enabledPlugins")
            sources += [path] if calls else []
            for name, on in enabled.items() if isinstance(enabled, dict) else ():
                if on is True and name.startswith("quandary@"):
                    sources.append(f"the plugin {name}")
                    yield Finding("ok", "claude", f"the plugin {name} is switched on")
    if len(sources) > 1:
        text = f"every question is recorded more than once, by {' and '.join(sources)}"
        yield Finding("note", "claude", text, "keep one of them; see quandary uninstall")
    if not found and not sources:
        text = "quandary is installed for none, so no agent knows of it"
        yield Finding("note", "hosts", text, "quandary install claude, or another")


def _examine_host(host: str, root: str | None) -> Iterator[Finding]:
    """What there is to say of one host in one place; nothing where nothing is installed."""
    what = f"{host}, {'for you' if root is None else 'in this project'}"
    remedy = f"quandary install {host} --{'user' if root is None else 'project'}"
    here = places(host, root)
    servers = here.servers or here.listed
    path = here.lesson.path
    try:
        found = install.lesson_entry(here.lesson, NAME).find(_text(path))
        path = here.hooks or ""
        calls = our_hooks(_text(path))
        path = servers.path if servers is not None else ""
        server = install.our_server(servers, _text(path)) if servers is not None else ""
    except QuandaryError as error:
        refused = "; Claude Code refuses such a file" if path == here.hooks else ""
        yield Finding("broken", what, f"{path}: {error}{refused}", "correct the file")
        return
    commands = {call.command for call in calls if not call.url} | ({server} if server else set())
    if found is None and not commands:
        return
    told = here.lesson.command_in(found.body if found is not None else "")
    commands |= {told} - {NAME}
    path = here.lesson.path
    if found is None:
        yield Finding("note", what, f"its agents get no instructions ({path} is missing)", remedy)
    elif found.edited:
        yield Finding("ok", what, f"{path}, with changes of your own")
    elif found.body == here.lesson.text_for(told):
        yield Finding("ok", what, path)
    else:
        yield Finding("note", what, f"{path} is of another version of quandary", remedy)
    if here.hooks and (calls or found is not None):
        fault = _find_hook_fault(here.hooks, calls, root)
        text = fault or f"hooks in {here.hooks}"
        yield Finding("broken" if fault else "ok", what, text, remedy if fault else "")
    if server and servers is not None:
        mcp = next((f for f in examine_extras() if f.what == "mcp" and f.status != "ok"), None)
        if mcp is None:
            yield Finding("ok", what, f"the MCP server in {servers.path}")
        else:
            text = f"{servers.path} names our server, which needs more packages"
            yield Finding("broken", what, text, mcp.remedy)
    for command in sorted(commands or {NAME}):
        start = root is None or command == NAME
        yield _examine_command(what, command, "calls", f"{REMEDY}, then {remedy}", start=start)
    if host == "codex":
        yield from (Finding("broken", what, note) for note in here.notes)


def _find_hook_fault(path: str, calls: list[InstalledHook], root: str | None) -> str:
    """What keeps our hooks from working, if anything does."""
    if missing := [event for event in HOOKS if event not in [call.event for call in calls]]:
        return f"{path} has no hook {' and '.join(missing)} for questions"
    wanted = None
    with suppress(QuandaryError):  # said where the settings are looked at
        own = settings.user_settings() if root is None else hosts.hook_settings()
        wanted = hosts.host_timeout(own)
    for url in {call.url for call in calls if call.url}:
        if not any(url.startswith(server.address) for server in notices.announced()):
            return f"no server answers at {url}: start quandary serve there, or install again"
    patience = min(call.timeout or PATIENCE for call in calls if call.event == "PermissionRequest")
    if wanted is not None and patience < wanted:
        return f"Claude Code ends the hook after {patience:g} seconds, and questions wait longer"
    return ""


def _text(path: str) -> str:
    return read_text(path) if os.path.isfile(path) else ""


def examine_agents(*, hooked: bool) -> Iterator[Finding]:
    """Every agent that is installed, with its version; what the settings rely on must be there."""
    chosen = {}
    try:
        found = settings.read_settings()
        catalogue = read_catalogue(found.table("agents"))
        names = ("default_cli", "default_validate_cli", "default_retry_cli")
        chosen = {name: text for name in names if (text := found.text(name))}
    except QuandaryError:
        catalogue = read_catalogue()  # what is wrong was said where the settings were looked at
    programs = {agent.name: agent.argv[0] for agent in known_agents()}
    agents = sorted(catalogue.agents.values(), key=lambda agent: agent.name)
    paths = {agent.name: _find(agent.argv[0]) for agent in agents}
    with ThreadPoolExecutor(8) as pool:
        # What a program of somebody's own makes of `--version`, nobody knows.
        versions = {
            agent.name: pool.submit(version_of, path)
            for agent in agents
            if (path := paths[agent.name]) and programs.get(agent.name) == agent.argv[0]
        }
    for agent in agents:
        if agent.name in versions:
            yield _judge_agent(agent, *versions[agent.name].result(), hooked=hooked)
        elif paths[agent.name]:
            yield Finding("ok", agent.name, f"{agent.argv[0]}, as your settings say")
    if missing := ", ".join(name for name, path in paths.items() if path is None):
        yield Finding("ok", "others", f"not installed: {missing}")
    for setting, codename in chosen.items():
        if (named := catalogue.agents.get(fold(codename))) is None:
            text = f"names {codename}, and there is no such agent"
            yield Finding("broken", setting, text, "name another, or define it")
        elif paths[named.name] is None:
            text = f"names {codename}, whose program {named.argv[0]} was not found"
            yield Finding("broken", setting, text, f"install {named.argv[0]}")


def _judge_agent(agent: Agent, version: str, trouble: str, *, hooked: bool) -> Finding:
    text = f"version {version}"
    if trouble:
        text = f"{agent.argv[0]} {trouble}"
        return Finding("note", agent.name, text, "see whether it runs at all")
    numbers, least = ([*map(int, v.split("."))] for v in (version, HOOKS_SINCE))
    if hooked and agent.name == "CLAUDE" and numbers < least:
        text = f"{text} cannot call our hooks; no question would get through"
        return Finding("broken", agent.name, text, f"update it to {HOOKS_SINCE} or later")
    if version == agent.tried:
        return Finding("ok", agent.name, f"{text}, the one that was tried")
    tried = f"; what is known about it was tried with {agent.tried}"
    return Finding("note", agent.name, text + (tried if agent.tried else ", never tried"))


def examine_logs() -> Iterator[Finding]:
    """What hooks and notifications complained about last, since nobody saw it then."""
    for name in ("hook", "notify", "callbacks"):
        if line := printable(notices.last_trouble(name)):
            text, remedy = f"last: {line[:300]}", "delete it when that is over"
            yield Finding("note", notices.trouble_log(name), text, remedy)
