"""What a flow asks of programs and of the house itself, and what came of it."""

from __future__ import annotations

from typing import Literal

import msgspec


class Call(msgspec.Struct, frozen=True, omit_defaults=True, tag="call"):
    """A prompt for an agent's command line."""

    key: str
    agent: str
    prompt: str


class Output(msgspec.Struct, frozen=True, omit_defaults=True, tag="output"):
    """What an agent's command line gave back; `error` says why there is nothing."""

    key: str
    text: str = ""
    error: str = ""


class Do(msgspec.Struct, frozen=True, omit_defaults=True, tag="do"):
    """One of a few named deeds that the house does itself."""

    key: str
    deed: Literal["read-file", "list-artifacts", "move-phase"]
    argument: str = ""


class Done(msgspec.Struct, frozen=True, omit_defaults=True, tag="done"):
    """What came of a deed; `error` says why it was refused."""

    key: str
    text: str = ""
    error: str = ""
