"""The agents at hand: those known from the start, and those of the settings, by their codenames."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from quandary.agents.agent import Agent, Permissions, Way
from quandary.agents.known import KNOWN
from quandary.agents.paths import parse_path
from quandary.errors import NotFound, ParseError
from quandary.model.calls import HUMAN, fold, is_human

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")
_PROMPTS = {"{prompt}", "{prompt_file}"}
_SCHEMAS = {"{schema}", "{schema_file}"}
_TAKEN_BY = {"argument": {"{prompt}"}, "file": {"{prompt_file}"}, "stdin": set[str]()}


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
        if key not in _KEYS:
            problems.append(f"there is no key {key} (there are {', '.join(_KEYS)})")
            continue
        try:
            values[key] = _value(key, value)
        except ValueError:
            problems.append(f"{key} is {_KEYS[key][1]}, not {value!r}")
    agent = known
    if "argv" in values:  # unless the table says how it takes its prompt, its words show it
        found = _placeholders(values["argv"])
        ways = (way for way in ("argument", "file") if _TAKEN_BY[way] <= found)
        values.setdefault("prompt", next(ways, "stdin"))
        agent = Agent(name=name.strip(), **values)
    elif agent is not None:
        agent = replace(agent, **values)
    elif "argv" not in table:
        problems.append('argv is missing, like ["program", "--flag"]')
    if agent is not None and not problems:
        problems = _misfits(agent, values)
    if agent is None or problems:
        raise ParseError(f"{where}: {'; '.join(problems)}")
    return agent


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

_Text = Annotated[str, Meta(pattern=r"^[^\0]*\Z")]
_Texts = tuple[_Text, ...]
_Words = Annotated[_Texts, Meta(min_length=1)]
_Variable = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z")]
_Model = Annotated[str, Meta(pattern=r"^[^-\s{}\0][^\s{}\0]*\Z")]
_FLAGS = 'a list of texts without NUL, like ["--flag"]'
_PROGRAM = 'a list of texts that begins with a program, like ["program", "--flag"]'
_PATHS = 'a path, like "usage.input_tokens", or a list of paths'
_SMALLEST_OUTPUT = 1024
_KEYS: dict[str, tuple[Any, str]] = {
    "argv": (_Words, _PROGRAM),
    "prompt": (Way, "'argument' or 'stdin' or 'file'"),
    "large": (_Words, _PROGRAM),
    "output": (str, '"text", "json:path.to.text" or "jsonl:path.to.text"'),
    "usage": (str | _Texts, _PATHS),
    "failure": (str | _Texts, _PATHS),
    "schema": (_Texts, _FLAGS),
    "env": (tuple[_Variable, ...], 'a list of names of variables, like ["HTTPS_PROXY"]'),
    "permissions": (Permissions, "'safe' or 'full'"),
    "safe": (_Texts, _FLAGS),
    "full": (_Texts, _FLAGS),
    "args": (_Texts, _FLAGS),
    "model": (_Model, "the name of a model"),
    "max_output": (
        Annotated[int, Meta(ge=_SMALLEST_OUTPUT)],
        f"a number of bytes from {_SMALLEST_OUTPUT} up",
    ),
}
"""What can stand in an `[agents.NAME]` table, and what each key is."""


def _value(key: str, given: object) -> object:
    """The value of a key; a ValueError where it cannot have that value."""
    value = msgspec.convert(given, _KEYS[key][0])
    if key in ("usage", "failure"):
        value = (value,) if isinstance(value, str) else value
        paths = value
    elif key == "output":
        kind, _, text = value.partition(":")
        paths = text.split("|") if kind in ("json", "jsonl") else () if value == "text" else ("",)
    else:
        paths = ()
    if not all(map(parse_path, paths)) or (key in ("argv", "large") and not value[0].strip()):
        raise ValueError(key)
    return value
