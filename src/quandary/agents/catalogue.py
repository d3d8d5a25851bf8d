"""The agents at hand: those known from the start, and those of the settings, by their codenames."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from quandary.agents.agent import Agent
from quandary.agents.known import KNOWN
from quandary.agents.paths import parse_path
from quandary.errors import NotFound, ParseError
from quandary.model.call import HUMAN, fold, is_human

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODEL = re.compile(r"[^-\s{}\0][^\s{}\0]*")
_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")
_PROMPTS = {"{prompt}", "{prompt_file}"}
_SCHEMAS = {"{schema}", "{schema_file}"}
_TAKEN_BY = {"argument": {"{prompt}"}, "file": {"{prompt_file}"}, "stdin": set[str]()}
_SMALLEST_OUTPUT = 1024


class Catalogue:
    """Agents by codename; case, spaces, hyphens and underscores in it do not count."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self.agents = dict(agents)

    def find(self, codename: str) -> Agent:
        """The agent of that name."""
        if is_human(codename):
            raise NotFound(f"{HUMAN} stands for a person and cannot be run as a program")
        agent = self.agents.get(fold(codename))
        if agent is None:
            raise NotFound(
                f"there is no agent {codename.strip() or '(blank)'}; there are "
                f"{', '.join(self.names)}, and others are defined with [agents.NAME]"
            )
        return agent

    @property
    def names(self) -> list[str]:
        """The codenames, in order."""
        return sorted(agent.name for agent in self.agents.values())


def read_catalogue(tables: Mapping[str, Any] | None = None) -> Catalogue:
    """The known agents, changed and added to by the `[agents.NAME]` tables of the settings.

    A table with an `argv` describes an agent from scratch; one without changes a known agent.
    """
    agents = {fold(agent.name): agent for agent in KNOWN}
    named: dict[str, str] = {}
    for name, table in (tables or {}).items():
        where = f"[agents.{name}]"
        key = fold(name)
        if not key or is_human(name):
            raise ParseError(f"{where}: this name is reserved; choose another")
        if key in named:
            raise ParseError(f"{where} is the same name as [agents.{named[key]}]; keep one")
        named[key] = name
        if not isinstance(table, dict):
            raise ParseError(f"{where} is a table with an argv, not {table!r}")
        agents[key] = _agent(where, name, table, agents.get(key))
    return Catalogue(agents)


def _agent(where: str, name: str, table: dict[str, Any], known: Agent | None) -> Agent:
    """An agent as a table describes it; everything that is wrong with the table is said at once."""
    problems: list[str] = []
    values: dict[str, Any] = {}
    for key, value in table.items():
        read = _KEYS.get(key)
        if read is None:
            problems.append(f"there is no key {key} (there are {', '.join(_KEYS)})")
            continue
        try:
            values[key] = read(value)
        except _Wrong as wrong:
            problems.append(f"{key} {wrong}")
    if "argv" not in table and known is None:
        problems.append('argv is missing, like ["program", "--flag"]')
    if problems:
        raise ParseError(f"{where}: {'; '.join(problems)}")
    if "argv" not in values:
        assert known is not None  # noqa: S101 - said above, for the type checker
        agent = replace(known, **values)
    else:
        values.setdefault("prompt", _way(values["argv"]))
        agent = Agent(name=name.strip(), **values)
    problems = _misfits(agent, values)
    if problems:
        raise ParseError(f"{where}: {'; '.join(problems)}")
    return agent


def _way(argv: tuple[str, ...]) -> str:
    """How an agent takes its prompt if the table does not say: as its words show."""
    found = _placeholders(argv)
    return next((way for way in ("argument", "file") if _TAKEN_BY[way] <= found), "stdin")


def _misfits(agent: Agent, given: dict[str, Any]) -> list[str]:
    """Keys of a table that do not go together."""
    problems = []
    wanted, found = _TAKEN_BY[agent.prompt], _placeholders(agent.argv) & _PROMPTS
    if wanted != found:
        belongs = next(iter(wanted), "neither {prompt} nor {prompt_file}")
        problems.append(f'argv needs {belongs} with prompt = "{agent.prompt}"')
    if _PLACEHOLDER.search(agent.argv[0]):
        problems.append("argv begins with the program, which cannot be a placeholder")
    if agent.large and agent.prompt != "argument":
        problems.append('large is for prompt = "argument"; other prompts have no limit')
    if "{prompt}" in _placeholders(agent.large):
        problems.append("large takes the prompt by standard input or as {prompt_file}")
    if agent.schema and not _placeholders(agent.schema) & _SCHEMAS:
        problems.append("schema needs {schema} or {schema_file}")
    if agent.model and not agent.model_flag:
        problems.append("model is for agents known from the start; put it into argv")
    if agent.output == "text":
        problems += [
            f"{key} needs an output of json" for key in ("usage", "failure") if given.get(key)
        ]
    for key in ("safe", "full", "args"):
        if _placeholders(getattr(agent, key) or ()):
            problems.append(f"{key} cannot have placeholders")
    return problems


def _placeholders(words: tuple[str, ...]) -> set[str]:
    found = {one for word in words for one in _PLACEHOLDER.findall(word)}
    return found & (_PROMPTS | _SCHEMAS)


# -- the keys of a table -------------------------------------------------------------------------


class _Wrong(Exception):  # noqa: N818 - read behind the name of the key
    """Says what a key should have been."""


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _Wrong(f'is a list of texts, like ["--flag"], not {value!r}')
    if any("\0" in one for one in value):
        raise _Wrong("has a NUL character, which no program can be given")
    return tuple(value)


def _words(value: object) -> tuple[str, ...]:
    found = _texts(value)
    if not found or not found[0].strip():
        raise _Wrong('begins with a program, like ["program", "--flag"]')
    return found


def _variables(value: object) -> tuple[str, ...]:
    found = _texts(value)
    for name in found:
        if not _VARIABLE.fullmatch(name):
            raise _Wrong(f"has names of variables, and {name!r} is none")
    return found


def _paths(value: object) -> tuple[str, ...]:
    found = _texts([value] if isinstance(value, str) else value)
    for path in found:
        if parse_path(path) is None:
            raise _Wrong(f'has paths, like "usage.input_tokens", and {path!r} is none')
    return found


def _output(value: object) -> str:
    if value == "text":
        return "text"
    kind, _, paths = value.partition(":") if isinstance(value, str) else ("", "", "")
    if kind not in ("json", "jsonl") or not all(parse_path(path) for path in paths.split("|")):
        raise _Wrong(f'is "text", "json:path.to.text" or "jsonl:path.to.text", not {value!r}')
    return str(value)


def _one_of(*allowed: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise _Wrong(f"is {' or '.join(repr(one) for one in allowed)}, not {value!r}")
        return value

    return read


def _model(value: object) -> str:
    if not isinstance(value, str) or not _MODEL.fullmatch(value):
        raise _Wrong(f"is the name of a model, not {value!r}")
    return value


def _bytes(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < _SMALLEST_OUTPUT:
        raise _Wrong(f"is a number of bytes from {_SMALLEST_OUTPUT} up, not {value!r}")
    return value


_KEYS: dict[str, Callable[[object], object]] = {
    "argv": _words,
    "prompt": _one_of("argument", "stdin", "file"),
    "large": _words,
    "output": _output,
    "usage": _paths,
    "failure": _paths,
    "schema": _texts,
    "env": _variables,
    "permissions": _one_of("safe", "full"),
    "safe": _texts,
    "full": _texts,
    "args": _texts,
    "model": _model,
    "max_output": _bytes,
}
"""What can stand in an `[agents.NAME]` table, and how it is read."""
