"""What a flow asks of programs and of the house itself, and what came of it."""

# Annotations are no texts here: msgspec would compile each of them whenever a program starts.
import re
from typing import Any, Literal

import msgspec

Expects = Literal["process", "decision", "validation"]  # what a prompt can ask for


class Process(msgspec.Struct, frozen=True, omit_defaults=True, tag="process"):
    """A step was worked on."""

    completed: bool
    secs_taken: float = 0.0
    tokens_used: int = 0
    comments: str = ""


class Decision(msgspec.Struct, frozen=True, omit_defaults=True, tag="decision"):
    """A route was chosen."""

    answer: str  # the choice in the agent's own spelling
    choices: tuple[str, ...] = ()
    reasons: str = ""
    route: str = ""  # the route that the answer names, as the chart spells it


class Validation(msgspec.Struct, frozen=True, omit_defaults=True, tag="validation"):
    """The work of another agent was judged."""

    fully_completed: bool
    partially_completed: bool = False
    should_retry: bool = True
    warnings: tuple[str, ...] = ()


Meaning = Process | Decision | Validation

_FLAG, _TEXT = {"type": "boolean"}, {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def schema(expects: Expects, routes: tuple[str, ...] = ()) -> dict[str, Any]:
    """The JSON Schema of a response, for agents that can be held to one. Every key is required and
    no other is allowed, because some agents refuse anything looser; and there is no `format`,
    because some then drop the response without a word.
    """
    properties: dict[str, Any]
    if expects == "process":
        numbers = {"secs_taken": {"type": "number"}, "tokens_used": {"type": "integer"}}
        properties = {"completed": _FLAG, **numbers, "comments": _TEXT}
    elif expects == "decision":
        answer = {**_TEXT, "enum": list(routes)} if routes else _TEXT
        properties = {"choices": _TEXTS, "answer": answer, "reasons": _TEXT}
    else:
        flags = ("fully_completed", "partially_completed", "should_retry")
        properties = {**dict.fromkeys(flags, _FLAG), "warnings": _TEXTS}
    closed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **closed}


HUMAN = "HUMAN"  # the codename that stands for a person
_LOOSE = re.compile(r"[\s_-]+")


def fold(name: str) -> str:
    """A codename, tag or key as it is compared: case, spaces, hyphens, underscores do not count."""
    return _LOOSE.sub("", name).casefold()


def is_human(codename: str) -> bool:
    """Whether a codename asks for a person."""
    return fold(codename) == fold(HUMAN)


Role = Literal["work", "check", "vote", "tie", "again", "stop"]
"""What something is asked for: to do the step or choose the way, to judge what was done, to vote,
to break a tie, whether to make an interrupted call again, or what an agent stopped for."""


class Assignment(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a walk stands when it asks somebody. No two visits have page, step and number alike."""

    page: str
    step: str
    visit: int  # the number of the visit to the step, from 1
    name: str
    """What it is called at this visit: `run`, `retry-1`, `validate-2`, `vote-3`; however often it
    is shown or called."""
    role: Role = "work"
    attempt: int = 1


SESSION = re.compile(r"[0-9A-Za-z][\w.-]{0,127}", re.ASCII)
"""How a session may be named that becomes a word of a command line: never like an option."""

STEP = "QUANDARY_STEP"
"""The variable by which our hook knows an agent of a walk: the path of what a session is told that
goes on, or nothing where it has just begun."""


class Stopped(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an agent stopped in the middle: it wants to use a tool, and somebody is to be asked."""

    session: str  # by what its program resumes it
    id: str  # its program's own name for this use of the tool
    tool: str
    input: str = "{}"  # a JSON object
    folder: str = ""  # where it works, and can be resumed
    machine: str = ""
    nonce: str = ""  # what its response is known by


class Resumption(msgspec.Struct, frozen=True, omit_defaults=True):
    """A session that goes on where it stopped, and what it is told there."""

    stopped: Stopped
    allow: bool
    message: str = ""  # why it may not use the tool
    input: str = ""  # with what it uses the tool: with the answers, or as it was shown or changed


class Call(msgspec.Struct, frozen=True, omit_defaults=True, tag="call"):
    """A prompt for an agent's command line."""

    key: str
    agent: str
    prompt: str
    expects: Expects | None = None  # what the prompt asks for; without, any text will do
    routes: tuple[str, ...] = ()  # what a decision can be answered with
    timeout: float | None = None  # seconds; without it, those of the settings
    assignment: Assignment | None = None  # which part of a walk it is
    about: str = ""  # what it is for, in words for whoever watches
    changes: bool = False  # whether the agent may change things for it, whatever the settings say
    resumes: Resumption | None = None  # the session that goes on with it; it has had its prompt


class Output(msgspec.Struct, frozen=True, omit_defaults=True, tag="output"):
    """What an agent's command line gave back; `error` says why it cannot count."""

    key: str
    text: str = ""
    error: str = ""
    meaning: Meaning | None = None  # the response that was found in the text, if any
    problem: str = ""  # why none was found, in words for the agent
    stderr: str = ""
    status: int | None = None  # the exit status, or below zero the signal that ended it
    seconds: float = 0.0
    tokens: int | None = None  # how many it says that it used
    truncated: bool = False  # it printed more than is kept; the middle is missing
    timed_out: bool = False
    interrupted: bool = False  # whoever ran it was gone before it ended; nobody knows what it did
    stopped: Stopped | None = None  # it is not done: it waits for what a person says


class Do(msgspec.Struct, frozen=True, omit_defaults=True, tag="do"):
    """One of a few named deeds that the house does itself."""

    key: str
    deed: Literal["read-file", "list-artifacts", "move-phase", "prune", "use"]
    argument: str = ""


READING = frozenset({"read-file", "list-artifacts"})  # deeds that change nothing


class Done(msgspec.Struct, frozen=True, omit_defaults=True, tag="done"):
    """What came of a deed; `error` says why it was refused."""

    key: str
    text: str = ""
    error: str = ""
