"""The tools: what an agent can call, and what each takes.

There is none with which an agent could answer a question. What a person says comes back in the
client's form, or through the command that a waiting state names.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from quandary.errors import ParseError

LONGEST_WAIT = 50.0
"""In seconds: many clients give a call up after a minute."""
MOST_RUNS = 500

Items = Annotated[
    list[dict[str, Any]],
    Meta(description="One object each: id, label, title, context, question; others fill {slots}."),
]
Values = Annotated[dict[str, str], Meta(description="What fills {slots} in questions.")]
RunName = Annotated[str, Meta(description="The run's name, or how it begins.")]


class Asking(Struct, forbid_unknown_fields=True):
    """Put a decision tree before the person, for one or many items, and get the path chosen.

    The person sees a form in this client if it can show one; else you get a question to relay.
    """

    context: Annotated[str, Meta(description="What is decided and why, for somebody new to it.")]
    source: Annotated[str, Meta(description="The tree: file.md, file.md#NAME, or its NAME.")] = ""
    text: Annotated[str, Meta(description="In place of source: Markdown with the tree.")] = ""
    items: Items = []
    question: Annotated[str, Meta(description="The question, where the tree has none.")] = ""
    extras: Annotated[list[str], Meta(description="Further ways to answer: 'A: text'.")] = []
    kind: Annotated[
        Literal["transition", "advisory"] | UnsetType,
        Meta(description="advisory asks in plain text, which disturbs less."),
    ] = UNSET
    values: Values = {}
    expires: Annotated[str, Meta(description="Withdraw it by itself after 30m, 12h, 2d …")] = ""


class Splitting(Struct, forbid_unknown_fields=True):
    """Have the person include, defer or cut every option of a list. Never drop some to fit a form.

    They are asked in a form in this client if it can show one; else you get a question to relay.
    """

    options: Annotated[
        list[dict[str, Any]],
        Meta(
            description="One object each: key, title, scope, cost, requires, conflicts, "
            "recommend (include, defer, cut), because. Only key and title are needed."
        ),
    ]
    context: Annotated[str, Meta(description="What is decided and why.")] = ""
    relation: Annotated[
        Literal["independent", "alternatives", "unsure"],
        Meta(description="Whether each is decided by itself, or one of them is chosen."),
    ] = "unsure"
    skill: Annotated[str, Meta(description="Who asks; ids of questions begin with it.")] = ""
    number: Annotated[int, Meta(ge=1, description="Which decision of yours this is.")] = 1
    values: Values = {}


class Gating(Struct, forbid_unknown_fields=True):
    """At the end of a phase, ask the person whether the track may go on, and where to."""

    folder: Annotated[str, Meta(description="The folder of the track.")]
    proof: Annotated[dict[str, Any], Meta(description="The proof fields of the phase.")] = {}
    custom: Annotated[str, Meta(description="An action of yours: 'Label | Description'.")] = ""
    require_person: Annotated[
        bool, Meta(description="Only an answer at a terminal or in the browser counts.")
    ] = False
    items: Items = []
    values: Values = {}


class Walking(Struct, forbid_unknown_fields=True):
    """Begin to run a chart whose steps are done by agents. It goes on by itself: see next."""

    source: Annotated[str, Meta(description="file.csv or file.json (Lucid), file.mmd, or a tree.")]
    item: Annotated[
        dict[str, Any], Meta(description="What to walk it for; its fields fill {{slots}}.")
    ] = {}
    page: Annotated[str, Meta(description="The page of the chart to begin on.")] = ""
    cli: Annotated[str, Meta(description="The agent where the chart names none.")] = ""
    workdir: Annotated[str, Meta(description="Where agents work; by default here.")] = ""


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
Beginning = Asking | Splitting | Gating | Walking


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
