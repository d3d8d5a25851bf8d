"""Agents: programs that take a prompt, how to talk to them, and which there are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from quandary.errors import NotFound, ParseError
from quandary.model.calls import HUMAN, fold, is_human
from quandary.model.text import suggest

Way = Literal["argument", "stdin", "file"]
Permissions = Literal["safe", "ask", "full"]
ALWAYS = ("PATH", "HOME", "LANG", "TERM")  # the variables that every agent sees
MOST = 10 * 1024 * 1024  # the bytes of output that are kept unless the settings say otherwise


class Agent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A program and its ways. Its words may hold `{prompt}`, `{prompt_file}`, `{schema}` and
    `{schema_file}`, those that have it ask `{hooks}`, and those that resume it `{session}`. No
    shell ever sees them.
    """

    name: str
    argv: tuple[str, ...]
    prompt: Way = "stdin"  # how it takes its prompt
    large: tuple[str, ...] = ()
    """Its words for a prompt that cannot be an argument: it comes by standard input, or in a file
    if they name `{prompt_file}`."""
    output: str = "text"
    """`text`, `json:PATH` for one document, `jsonl:PATH` for one in each line; further paths, after
    `|`, count where the one before leads nowhere."""
    usage: tuple[str, ...] = ()  # paths to numbers of tokens, which are added up
    failure: tuple[str, ...] = ()  # anything there but false or nothing is a failure
    schema: tuple[str, ...] = ()  # words that hold it to a JSON Schema
    env: tuple[str, ...] = ()  # variables that it may see besides those that every agent sees
    safe: tuple[str, ...] = ()  # words that keep it from changing anything
    never_safe: bool = False  # nothing keeps it from changing things
    safe_values: dict[str, str] = {}  # variables that do the same
    ask: tuple[str, ...] = ()  # words that have it stop for what a person has to allow
    resume: tuple[str, ...] = ()  # its words for a session that stopped, which need no prompt
    session: str = ""  # the path to the name of its session
    stopped: str = ""  # the path to the tool that it stopped for: `id`, `name`, `input`
    full: tuple[str, ...] = ()  # words that let it do whatever it likes
    permissions: Permissions = "safe"
    args: tuple[str, ...] = ()  # further words, from the settings
    model: str = ""
    model_flag: str = ""
    model_needed: str = ""  # what would happen without a model, if that is bad
    key_needed: str = ""  # a variable without which it would start to log in
    login: tuple[str, ...] = ()  # a command that ends with status 0 if somebody is logged in
    shell: tuple[str, ...] = ()  # variables by which commands can tell that it runs them
    max_output: int = MOST
    tried: str = ""  # the version that what is known about it was tried with


def words(
    agent: Agent, *, schema: bool = False, large: bool = False, resume: bool = False
) -> tuple[str, ...]:
    """An agent's command line with its placeholders; what is added stands last, or before `--`."""
    chosen = agent.resume if resume else agent.large if large else agent.argv
    granted: tuple[str, ...] = getattr(agent, agent.permissions)
    model = (agent.model_flag, agent.model) if agent.model and agent.model_flag else ()
    more = (*granted, *model, *(agent.schema if schema else ()), *agent.args)
    place = chosen.index("--") if "--" in chosen else len(chosen)
    return (*chosen[:place], *more, *chosen[place:])


def permit(agent: Agent, *, changes: bool, stops: bool = True) -> Agent:
    """The agent as it is asked; where it may make changes, it may do whatever it likes."""
    if changes or (agent.permissions == "ask" and not stops):
        return replace(agent, permissions="full" if changes else "safe")
    return agent


def tell_permission(agent: Agent) -> str:
    """What is known of what it can change."""
    if agent.permissions != "safe":
        return agent.permissions
    return "read-only" if agent.safe or agent.safe_values or agent.tried else "unknown"


_PART = re.compile(r"(?=[^.])([^.\[\]=]*)(?:\[([^\[\]=]+)=([^\[\]=]*)\])?")
_PATH = re.compile(rf"{_PART.pattern}(?:\.{_PART.pattern})*")
_NUMBER = re.compile(r"-?\d{1,9}")


Path = tuple[tuple[str, str, str], ...]
"""Of each step the name, and the key and value that what it leads to must have, if any."""


def parse_path(text: str) -> Path | None:
    """A path as it is written in the settings; nothing where it is none."""
    return tuple(_PART.findall(text)) if _PATH.fullmatch(text) else None


def follow(value: Any, path: Path) -> Iterator[Any]:  # noqa: ANN401 - any JSON
    """Everything that a path leads to, in order."""
    if not path:
        yield value
        return
    name, key, wanted = path[0]
    for reached in _reach(value, name):
        if not key or (isinstance(reached, dict) and reached.get(key) == wanted):
            yield from follow(reached, path[1:])


def _reach(value: Any, name: str) -> Iterator[Any]:  # noqa: ANN401 - any JSON
    if not name:
        yield value
    elif isinstance(value, dict):
        if name == "*":
            yield from value.values()
        elif name in value:
            yield value[name]
    elif isinstance(value, list):
        if name == "*":
            yield from value
        elif _NUMBER.fullmatch(name) and -len(value) <= int(name) < len(value):
            yield value[int(name)]


@cache
def known_agents() -> tuple[Agent, ...]:
    """The agents that are known from the start: `agents.toml` beside this file."""
    import tomllib  # noqa: PLC0415 - only where agents are called

    with open(os.path.join(os.path.dirname(__file__), "agents.toml"), "rb") as file:
        tables = tomllib.load(file)
    return tuple(msgspec.convert({"name": n, **table}, Agent) for n, table in tables.items())


_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")
_PROMPTS = {"{prompt}", "{prompt_file}"}
_SCHEMAS = {"{schema}", "{schema_file}"}
_STOPS = ("ask", "resume", "session", "stopped")
_TAKEN_BY = {"argument": {"{prompt}"}, "file": {"{prompt_file}"}, "stdin": set[str]()}


class Catalogue:
    """Agents by codename; case, spaces, hyphens and underscores in it do not count."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self.agents = dict(agents)

    def find(self, codename: str) -> Agent:
        if is_human(codename):
            raise NotFound(f"{HUMAN} means a person and cannot be run as a program")
        if (agent := self.agents.get(fold(codename))) is None:
            wanted, names = codename.strip() or "(blank)", self.names
            near = " ".join(filter(None, (suggest(wanted.upper(), names), "there are")))
            known = f"{near} {', '.join(names)}, and others are defined with [agents.NAME]"
            raise NotFound(f"there is no agent {wanted}; {known}")
        return agent

    @property
    def names(self) -> list[str]:
        return sorted(agent.name for agent in self.agents.values())


def read_catalogue(tables: Mapping[str, Any] | None = None) -> Catalogue:
    """The known agents, changed or, with an `argv`, added by the `[agents.NAME]` tables."""
    agents = {fold(agent.name): agent for agent in known_agents()}
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
        if key not in KEYS:
            problems.append(f"there is no key {key} (there are {', '.join(KEYS)})")
            continue
        try:
            values[key] = _value(key, value)
        except ValueError:
            problems.append(f"{key} is {KEYS[key][1]}, not {value!r}")
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
    problems = []
    wanted, found = _TAKEN_BY[agent.prompt], _placeholders(agent.argv) & _PROMPTS
    if wanted != found:
        belongs = next(iter(wanted), "neither {prompt} nor {prompt_file}")
        problems.append(f'argv needs {belongs} with prompt = "{agent.prompt}"')
    if _PLACEHOLDER.search(agent.argv[0]):
        problems.append("argv begins with the program, which cannot be a placeholder")
    if any("<prompt>" in word for word in agent.argv):
        problems.append("argv has <prompt>, which nothing fills; write {prompt}")
    if agent.large and agent.prompt != "argument":
        problems.append('large is for prompt = "argument"; other prompts have no limit')
    if "{prompt}" in _placeholders(agent.large):
        problems.append("large takes the prompt by standard input or as {prompt_file}")
    if agent.schema and not _placeholders(agent.schema) & _SCHEMAS:
        problems.append("schema needs {schema} or {schema_file}")
    if agent.model and not agent.model_flag:
        problems.append("model is for agents known from the start; put it into argv")
    missing = [key for key in _STOPS if not getattr(agent, key)]
    if agent.permissions == "ask" and missing:
        problems.append(f'permissions = "ask" needs {", ".join(missing)}')
    if agent.resume and "{session}" not in agent.resume:
        problems.append("resume needs {session}")
    unread = ("usage", "failure", "session", "stopped") if agent.output == "text" else ()
    problems += [f"{key} needs an output of json" for key in unread if given.get(key)]
    filled = [key for key in ("safe", "full", "args") if _placeholders(getattr(agent, key))]
    return problems + [f"{key} cannot have placeholders" for key in filled]


def _placeholders(words: tuple[str, ...]) -> set[str]:
    found = {one for word in words for one in _PLACEHOLDER.findall(word)}
    return found & (_PROMPTS | _SCHEMAS)


_Text = Annotated[str, Meta(pattern=r"^[^\0]*\Z")]
_Texts = tuple[_Text, ...]
_Words = Annotated[_Texts, Meta(min_length=1)]
_Variable = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z")]
_Model = Annotated[str, Meta(pattern=r"^[^-\s{}\0][^\s{}\0]*\Z")]
_FLAGS = 'a list of texts without NUL, like ["--flag"]'
_PROGRAM = 'a list of texts that begins with a program, like ["program", "--flag"]'
_PATHS = 'a path, like "usage.input_tokens", or a list of paths'
_SMALLEST_OUTPUT = 1024
_Size = Annotated[int, Meta(ge=_SMALLEST_OUTPUT)]
KEYS: dict[str, tuple[Any, str]] = {
    "argv": (_Words, _PROGRAM),
    "prompt": (Way, "'argument' or 'stdin' or 'file'"),
    "large": (_Words, _PROGRAM),
    "output": (str, '"text", "json:path.to.text" or "jsonl:path.to.text"'),
    "usage": (str | _Texts, _PATHS),
    "failure": (str | _Texts, _PATHS),
    "schema": (_Texts, _FLAGS),
    "env": (tuple[_Variable, ...], 'a list of names of variables, like ["HTTPS_PROXY"]'),
    "permissions": (Permissions, "'safe', 'ask' or 'full'"),
    "safe": (_Texts, _FLAGS),
    "ask": (_Texts, _FLAGS),
    "resume": (_Words, _PROGRAM),
    "session": (str, 'a path, like "session_id"'),
    "stopped": (str, 'a path, like "deferred_tool_use"'),
    "full": (_Texts, _FLAGS),
    "args": (_Texts, _FLAGS),
    "model": (_Model, "the name of a model"),
    "max_output": (_Size, f"a number of bytes from {_SMALLEST_OUTPUT} up"),
}
"""What can stand in an `[agents.NAME]` table, and what each key is."""


def _value(key: str, given: object) -> object:
    """The value of a key; a ValueError where it cannot have that value."""
    value = msgspec.convert(given, KEYS[key][0])
    paths: Sequence[str] = ()
    if key in ("usage", "failure"):
        paths = value = (value,) if isinstance(value, str) else value
    elif key in ("session", "stopped"):
        paths = (value,)
    elif key == "output" and value != "text":
        kind, _, text = value.partition(":")
        paths = text.split("|") if kind in ("json", "jsonl") else ("",)
    nameless = key in ("argv", "large", "resume") and not value[0].strip()
    if nameless or not all(map(parse_path, paths)):
        raise ValueError(key)
    return value
