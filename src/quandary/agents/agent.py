"""An agent: a program that takes a prompt, and how to talk to it."""

from __future__ import annotations

from typing import Literal

import msgspec

Way = Literal["argument", "stdin", "file"]
Permissions = Literal["safe", "full"]
ALWAYS = ("PATH", "HOME", "LANG", "TERM")
"""The variables that every agent sees."""
MOST = 10 * 1024 * 1024
"""The bytes of output that are kept unless the settings say otherwise."""


class Agent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A program and its ways.

    Its words may hold `{prompt}`, `{prompt_file}`, `{schema}` and `{schema_file}`. No shell ever
    sees them.
    """

    name: str
    argv: tuple[str, ...]
    prompt: Way = "stdin"
    """How it takes its prompt."""
    large: tuple[str, ...] = ()
    """Its words for a prompt that cannot be an argument: it comes by standard input, or in a file
    if they name `{prompt_file}`."""
    output: str = "text"
    """`text`, `json:PATH` for one document, `jsonl:PATH` for one in each line; further paths, after
    `|`, count where the one before leads nowhere."""
    usage: tuple[str, ...] = ()
    """Paths to numbers of tokens, which are added up."""
    failure: tuple[str, ...] = ()
    """Paths at which anything but nothing, false or an empty text means that it failed."""
    schema: tuple[str, ...] = ()
    """Words that hold it to a JSON Schema."""
    env: tuple[str, ...] = ()
    """Variables that it may see besides those that every agent sees."""
    safe: tuple[str, ...] | None = ()
    """Words that keep it from changing anything; None if there are none that do."""
    safe_values: dict[str, str] = {}
    """Variables that do the same."""
    full: tuple[str, ...] = ()
    """Words that let it do whatever it likes."""
    permissions: Permissions = "safe"
    args: tuple[str, ...] = ()
    """Further words, from the settings."""
    model: str = ""
    model_flag: str = ""
    model_needed: str = ""
    """What would happen without a model, if that is bad."""
    key_needed: str = ""
    """A variable without which it would start to log in."""
    login: tuple[str, ...] = ()
    """A command that ends with status 0 if somebody is logged in."""
    max_output: int = MOST


def words(agent: Agent, *, schema: bool = False, large: bool = False) -> tuple[str, ...]:
    """An agent's command line, with its placeholders still in place.

    What the settings and the permissions add stands at the end, or before a `--`.
    """
    chosen = agent.large if large else agent.argv
    granted = agent.full if agent.permissions == "full" else agent.safe or ()
    model = (agent.model_flag, agent.model) if agent.model and agent.model_flag else ()
    more = (*granted, *model, *(agent.schema if schema else ()), *agent.args)
    place = chosen.index("--") if "--" in chosen else len(chosen)
    return (*chosen[:place], *more, *chosen[place:])
