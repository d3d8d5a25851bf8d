"""Settings: `quandary.toml` of the project, `config.toml` of the user, and the environment.

For each value the nearest word counts: the environment, then the project, then the user. What a
project says comes out of a repository that somebody else may have written, so whoever uses a
setting to allow something asks where it came from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from typing import Any, Literal, NamedTuple

from quandary.errors import ParseError
from quandary.settings.files import is_mark, project_root, read_git_file, read_text

Origin = Literal["project", "user"]
_YES, _NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off", ""})
_KINDS: dict[type, str] = {str: "a text", int: "a whole number", bool: "true or false"}

LARGEST_NUMBER = 10**12
_MANY_DIGITS = 100

NESTED = "nested too deeply"
MOST_DOTS = 1_000  # in a row of TOML, before or between the signs that give a key its value
_AGENTS = ("default_cli", "default_validate_cli", "default_retry_cli")
_LIMITS = ("max_visits", "max_calls", "max_tokens", "max_seconds")
KNOWN: dict[str, type] = {
    **dict.fromkeys((*_AGENTS, "log_dir", "on_exhausted", "on_interrupted", "store"), str),
    **dict.fromkeys(("default_retry_count", "default_timeout", *_LIMITS), int),
    **dict.fromkeys(("write_log_short", "write_log_long"), bool),
    **dict.fromkeys(("callbacks", "trees"), list),
    **dict.fromkeys(("agents", "authority", "hooks", "notify", "permissions"), dict),
    **dict.fromkeys(("questions", "reading", "serve", "users"), dict),
}
"""Every setting there is; tables are dictionaries."""


class Part(NamedTuple):
    """One file of settings."""

    origin: Origin
    path: str
    values: dict[str, Any]


class Settings(NamedTuple):
    """The settings that hold for a project."""

    root: str | None  # the project's folder
    parts: tuple[Part, ...]  # the project's file and the user's, as far as they exist

    def text(self, name: str, default: str = "") -> str:
        """A text: from the environment as `QUANDARY_NAME`, the project, or the user."""
        return str(self._value(name, str, default))

    def number(self, name: str, default: int) -> int:
        """A whole number from the same places; a project can lower a user's limit, not raise it."""
        number = int(self._value(name, int, default))
        if name in _LIMITS and not self.is_own(name):
            user = self._replace(parts=tuple(p for p in self.parts if p.origin == "user"))
            own = int(user._value(name, int, number))
            number = own if number < 0 else min(number, own)  # below 0 there is no limit
        if abs(number) > LARGEST_NUMBER:
            raise ParseError(f"the setting {name} is larger than {LARGEST_NUMBER}")
        return number

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false, from the same places."""
        return bool(self._value(name, bool, default))

    def _value(self, name: str, kind: type, default: Any) -> Any:  # noqa: ANN401 - of that kind
        variable = f"QUANDARY_{name.upper()}"
        if (said := os.environ.get(variable)) is not None:
            return _from_text(variable, said, kind)
        for part in self.parts:
            for key in (name, name.upper()):  # some people know them in capitals
                if key in part.values:
                    value = part.values[key]
                    if type(value) is not kind:
                        raise ParseError(f"{part.path}: {key} is {_KINDS[kind]}, not {value!r}")
                    return value
        return default

    def is_own(self, name: str) -> bool:
        """Whether the value is the user's own, from the environment or their file."""
        if f"QUANDARY_{name.upper()}" in os.environ:
            return True
        said = (part.origin for part in self.parts if {name, name.upper()} & part.values.keys())
        return next(said, "project") == "user"

    def strings(self, name: str, what: str) -> list[str] | None:
        """A list of texts, which messages call `what`; a single text is a list of one."""
        for part in self.parts:
            if name in part.values:
                value = part.values[name]
                value = [value] if isinstance(value, str) else value
                if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                    raise ParseError(f'{part.path}: {name} is a list of {what}, like ["skills"]')
                return value
        return None

    def table(self, name: str) -> dict[str, Any]:
        """A table, such as `[agents]`: the user's entries, and the project's over them."""
        found: dict[str, Any] = {}
        for _, entries in reversed(self.tables(name)):
            found |= entries
        return found

    def tables(self, name: str) -> list[tuple[Part, dict[str, Any]]]:
        """The same table in each file that has it, the project's first."""
        found = [(part, part.values.get(name, {})) for part in self.parts]
        for part, entries in found:
            if not isinstance(entries, dict):
                raise ParseError(f"{part.path}: [{name}] is a table")
        return [(part, entries) for part, entries in found if entries]


def read_settings(start: str | None = None) -> Settings:
    """The settings of the project that a folder is in, by default the current one."""
    root = project_root(start or os.curdir)
    path = os.path.join(root, "quandary.toml") if root is not None else ""
    own = _parts("project", path) if is_mark(path) else ()
    return Settings(root, (*own, *user_settings().parts))


def user_settings() -> Settings:
    """The user's own settings alone, for what no repository has a say in."""
    return Settings(None, _parts("user", os.path.join(config_folder(), "config.toml")))


def read_reader(table: dict[str, Any]) -> str:
    """The agent that proposes what replies mean, as a table `[reading]` says, if any."""
    for key in table.keys() - {"agent"}:
        raise ParseError(f"[reading] has no key {key} (there is agent)")
    agent = table.get("agent", "")
    if not isinstance(agent, str):
        raise ParseError(f'[reading] agent is a codename, like "CLAUDE", not {agent!r}')
    return agent.strip()


def require_keys(name: str, table: dict[str, Any], known: Collection[str]) -> None:
    """Refuse a table of the settings that has a key which means nothing."""
    for key in table:
        if key not in known:
            raise ParseError(f"[{name}] has no key {key} (there are {', '.join(known)})")


def project_of(start: str) -> str:
    """The project that a folder is in; worktrees of one repository are one project. A `.git` file
    can say anything, so the repository, by its real name, has to know of the worktree too. One
    without files of its own is a project by itself, whatever folder it is in.
    """
    root = project_root(start) or os.path.abspath(start)
    git = os.path.join(root, ".git")
    if os.path.isfile(git):
        named = _line_of(git).removeprefix("gitdir:").strip()
        folder = os.path.realpath(os.path.join(root, named))
        main, mark, _ = folder.rpartition(f"{os.sep}worktrees{os.sep}")
        back = _line_of(os.path.join(folder, "gitdir")) if mark else ""
        if back and os.path.realpath(os.path.join(folder, back)) == os.path.realpath(git):
            return main.removesuffix(f"{os.sep}.git")
    return os.path.realpath(root)


def _line_of(path: str) -> str:
    """What git keeps in a small file; nothing where there is none."""
    line = os.fsencode(read_git_file(path, lambda _: None)).decode(errors="replace").strip()
    return "" if "\0" in line else line


def _parts(origin: Origin, path: str) -> tuple[Part, ...]:
    return (read_part(origin, path),) if os.path.isfile(path) else ()


def read_part(origin: Origin, path: str) -> Part:
    """One file of settings."""
    shown = os.path.relpath(path) if origin == "project" else path
    text = read_text(path)
    try:
        return Part(origin, shown, load_toml(text))
    except ValueError as error:
        raise ParseError(f"{shown}: {error}") from None


def load_toml(text: str) -> dict[str, Any]:
    """TOML that anybody may have written, or a ValueError; no number or key takes for ever."""
    import tomllib  # noqa: PLC0415 - only where there are settings

    parts = (part for line in text.split("\n") for part in line.split("="))
    if any(part.count(".") > MOST_DOTS for part in parts):
        raise ValueError(NESTED)
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError(NESTED) from None


def _from_text(name: str, text: str, kind: type) -> object:
    word = text.strip().casefold()
    if kind is bool and word in _YES | _NO:
        return word in _YES
    digits = word.removeprefix("-")
    if kind is int and word.isascii() and digits.isdigit() and len(digits) < _MANY_DIGITS:
        return int(word)
    if kind is str:
        return text
    raise ParseError(f"{name} in the environment is {_KINDS[kind]}, not {text!r}")


def config_folder() -> str:
    """Where the user's own settings are."""
    return _folder("XDG_CONFIG_HOME", ".config", "user_config_dir")


def data_folder() -> str:
    """Where the user's own journal is."""
    return _folder("XDG_DATA_HOME", os.path.join(".local", "share"), "user_data_dir")


def state_folder() -> str:
    """Where is kept what was seen of the user's stores."""
    return _folder("XDG_STATE_HOME", os.path.join(".local", "state"), "user_state_dir")


def _folder(variable: str, usual: str, elsewhere: str) -> str:
    """On most systems the convention is short enough to follow without a package."""
    if sys.platform in ("darwin", "win32"):
        import platformdirs  # noqa: PLC0415 - slow

        return str(getattr(platformdirs, elsewhere)("quandary", appauthor=False))
    named = os.environ.get(variable, "").strip()
    base = named or os.path.join(os.path.expanduser("~"), usual)
    return os.path.join(base, "quandary")
