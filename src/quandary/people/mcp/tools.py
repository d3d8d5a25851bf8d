"""The tools: what an agent can call, and what each takes.

There is none with which an agent could answer a question. What a person says comes back in the
client's form, or through the command that a waiting state names.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from quandary.desk.begin import Asking, Gating, Splitting, Walking
from quandary.errors import ParseError

LONGEST_WAIT = 50.0
"""In seconds: many clients give a call up after a minute."""
MOST_RUNS = 500

RunName = Annotated[str, Meta(description="The run's name, or how it begins.")]


class Checking(Struct, forbid_unknown_fields=True):
    """Find what is wrong with the decision trees in a Markdown file, or in a text."""

    path: Annotated[str, Meta(description="A Markdown file, or a folder of them.")] = ""
    text: Annotated[str, Meta(description="In place of path: the Markdown itself.")] = ""


class Listing(Struct, forbid_unknown_fields=True):
    """List this project's runs, the newest first: what waits, and what was decided."""

    status: Annotated[
        Literal["waiting", "done", "failed", "declined", "withdrawn"] | UnsetType,
        Meta(description="Only those."),
    ] = UNSET
    limit: Annotated[int, Meta(ge=1, le=MOST_RUNS)] = 20


class Looking(Struct, forbid_unknown_fields=True):
    """Look at one run: where it stands, and everything that was asked and answered."""

    run: RunName


class Following(Struct, forbid_unknown_fields=True):
    """Go on with a run that waits: show its question to the person again, or wait for an answer."""

    run: RunName
    wait: Annotated[
        float,
        Meta(
            ge=0,
            le=LONGEST_WAIT,
            description="Seconds to wait for something to happen elsewhere, in the browser or "
            "among agents. Without it, the question is shown here.",
        ),
    ] = 0


Wanted = Asking | Splitting | Gating | Walking | Checking | Listing | Looking | Following


class Tool(NamedTuple):
    """A tool as agents see it."""

    name: str
    title: str
    wanted: type[Wanted]
    looks_only: bool = False

    @property
    def description(self) -> str:
        """What it is for."""
        return " ".join((self.wanted.__doc__ or "").split())

    @property
    def schema(self) -> dict[str, Any]:
        """What it takes, as JSON Schema; some hosts want the type of a choice spelt out."""
        _, parts = msgspec.json.schema_components([self.wanted])
        fields = parts[self.wanted.__name__]["properties"]
        return {
            "type": "object",
            "properties": {
                name: {"type": "string", **about} if "enum" in about else about
                for name, about in fields.items()
            },
            "required": parts[self.wanted.__name__]["required"],
            "additionalProperties": False,
        }

    def read(self, arguments: dict[str, Any] | None) -> Wanted:
        """What an agent wants; it is told what does not fit."""
        try:
            return msgspec.convert(arguments or {}, self.wanted)
        except msgspec.ValidationError as error:
            raise ParseError(f"{self.name}: {error}") from None


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("ask", "Ask the person", Asking),
        Tool("split", "Decide about a list of options", Splitting),
        Tool("gate", "Leave a phase", Gating),
        Tool("walk", "Run a chart", Walking),
        Tool("next", "Go on with a run", Following),
        Tool("runs", "List runs", Listing, looks_only=True),
        Tool("show_run", "Look at a run", Looking, looks_only=True),
        Tool("check", "Check decision trees", Checking, looks_only=True),
    )
}
