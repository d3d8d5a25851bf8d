"""Settings that have no effect, or not the one that somebody had in mind."""

from __future__ import annotations

import os
import shutil
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from quandary.desk import notices
from quandary.errors import ParseError, QuandaryError
from quandary.formats.files import project_root
from quandary.people import routing
from quandary.people.doctor import Finding
from quandary.settings import KNOWN, Part, Settings, config_folder, read_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from quandary.settings import Origin

    Check = Callable[[dict[str, Any]], object]
    """Raises where a table makes no sense."""

KINDS = {str: "a text", int: "a whole number", bool: "true or false", dict: "a table"}
OWN = ("notify", "serve", "users")
"""Tables that count only in the user's own settings."""
HOOKS = ("strict", "route", "wait")
SERVE = ("hosts", "metrics")
QUESTIONS = {"door": ("one-way", "two-way"), "ask": ("always",)}
ELSEWHERE = ("TOKEN", "STORE")
"""Variables that no file of settings could name."""


def settings(checks: Mapping[str, Check] | None = None, start: str = ".") -> Iterator[Finding]:
    """Both files and the environment; `checks` judge tables that are not ours to understand."""
    root = project_root(start)
    if root is not None:
        yield from _file("project", os.path.relpath(os.path.join(root, "quandary.toml")), checks)
    yield from _file("user", os.path.join(config_folder(), "config.toml"), checks)
    yield from _environment()


def _file(origin: Origin, path: str, checks: Mapping[str, Check] | None) -> Iterator[Finding]:
    if not os.path.isfile(path):
        yield Finding("settings", "ok", path, "not there; nothing is set")
        return
    try:
        part = read_part(origin, path)
    except QuandaryError as error:
        text = str(error).removeprefix(f"{path}: ")
        remedy = "correct it; until then no command that reads it works"
        yield Finding("settings", "broken", path, text, remedy)
        return
    wrong = list(_problems(part, {**_CHECKS, **(checks or {})}))
    yield from (Finding("settings", "broken", path, *problem) for problem in wrong)
    yield from (Finding("settings", "note", path, *note) for note in _notes(part, path))
    if not wrong:
        names = ", ".join(part.values)
        yield Finding("settings", "ok", path, f"sets {names}" if names else "nothing is set")


def _problems(part: Part, checks: Mapping[str, Check]) -> Iterator[tuple[str, str]]:
    for key, value in part.values.items():
        name = key if key in KNOWN else key.lower() if key.isupper() else key
        kind = KNOWN.get(name)
        if kind is None:
            yield f"there is no setting {key}", _meant(key, KNOWN)
        elif kind is list:
            if not isinstance(value, str | list):
                yield f"{key} is a list of texts, not {value!r}", "write it in brackets"
        elif type(value) is not kind:
            yield f"{key} is {KINDS[kind]}, not {value!r}", "correct its value"
        elif isinstance(value, dict) and name in checks:
            yield from _wrong_table(name, value, part, checks[name])


def _wrong_table(
    name: str, table: dict[str, Any], part: Part, check: Check
) -> Iterator[tuple[str, str]]:
    if name in OWN and part.origin == "project":
        return  # it has no effect, whatever it says
    try:
        check(table)
    except QuandaryError as error:
        yield str(error), "correct it; until then it has no effect"


def _notes(part: Part, path: str) -> Iterator[tuple[str, str]]:
    """What is allowed, and yet not what it seems."""
    for name in OWN if part.origin == "project" else ():
        if part.values.get(name):
            yield (
                f"[{name}] of a project is ignored: what it says is not for a repository to say",
                f"put it into {os.path.join(config_folder(), 'config.toml')}",
            )
    table = part.values.get("notify")
    secret = isinstance(table, dict) and bool(table.get("secret"))
    if part.origin == "user" and secret and os.name == "posix" and os.stat(path).st_mode & 0o077:
        yield "others on this machine can read the secret in it", f"chmod 600 {path}"


def _environment() -> Iterator[Finding]:
    known = {name.upper() for name, kind in KNOWN.items() if kind in (str, int, bool)}
    known |= {*ELSEWHERE}
    for variable in sorted(os.environ):
        name = variable.removeprefix("QUANDARY_")
        if name in (variable, *known) or variable.startswith(notices.VARIABLE):
            continue
        text = "means nothing to this version"
        yield Finding("settings", "note", variable, text, _meant(name, known, "QUANDARY_"))


def _meant(name: str, known: Iterable[str], prefix: str = "") -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {prefix}{close[0]}?" if close else "take it out"


# -- tables ----------------------------------------------------------------------------------------


def _hooks(table: dict[str, Any]) -> None:
    _require_keys("hooks", table, HOOKS)
    if not isinstance(table.get("strict", False), bool):
        raise ParseError(f"[hooks] strict is true or false, not {table['strict']!r}")
    routing.seconds(Settings(None, (Part("user", "", {"hooks": table}),)))


def _notify(table: dict[str, Any]) -> None:
    command = notices.read_table(table).command
    program = command[0] if command else ""
    if os.path.dirname(program):  # it is run from the home folder
        program = os.path.join(os.path.expanduser("~"), program)
    if program and shutil.which(program) is None:
        raise ParseError(f"[notify] command names {command[0]}, which was not found")


def _questions(table: dict[str, Any]) -> None:
    for name, entry in table.items():
        if not isinstance(entry, dict):
            raise ParseError(f"[questions.{name}] is a table, not {entry!r}")
        _require_keys(f"questions.{name}", entry, QUESTIONS)
        for key, value in entry.items():
            if value not in QUESTIONS[key]:
                allowed = " or ".join(f'"{one}"' for one in QUESTIONS[key])
                raise ParseError(f"[questions.{name}] {key} is {allowed}, not {value!r}")


def _serve(table: dict[str, Any]) -> None:
    _require_keys("serve", table, SERVE)
    hosts = table.get("hosts", [])
    if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
        raise ParseError('[serve] hosts is a list of names, like ["desk.example.org"]')
    if table.get("metrics"):
        from quandary.people.web.keys import Keys  # noqa: PLC0415 - only where there is one

        Keys(b"", metrics=table["metrics"])


def _users(table: dict[str, Any]) -> None:
    from quandary.people.web.keys import Keys  # noqa: PLC0415 - only where there are users

    Keys(b"", users=table)


def _require_keys(name: str, table: dict[str, Any], known: Iterable[str]) -> None:
    names = list(known)
    unknown = next((key for key in table if key not in names), None)
    if unknown is not None:
        raise ParseError(f"[{name}] has no key {unknown} (there are {', '.join(names)})")


_CHECKS: dict[str, Check] = {
    "hooks": _hooks,
    "notify": _notify,
    "questions": _questions,
    "serve": _serve,
    "users": _users,
}
