"""What a client can read by itself: the project's trees, its runs, and how to relay a question."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import mcp_types as types

from quandary.errors import NotFound
from quandary.journal.ids import find_run
from quandary.people.mcp.tools import Listing

if TYPE_CHECKING:
    from quandary.people.mcp.house import House

TREES, RUNS = "quandary://trees/", "quandary://runs/"
MARKDOWN, JSON = "text/markdown", "application/json"
MOST = 200
"""Trees, and runs, that are listed; templates reach all of them."""

RELAY = types.Prompt(
    name="relay",
    title="Relay a question",
    description="How to put a waiting question before the person, and take the answer back.",
)
LOOP = """\
A tool of quandary gave you a run whose `status` is `waiting`, with an `ask` in it. The person has
not seen that question. Put it before them:

1. Show them `ask.preamble` and the text of every note, word for word. If there is an `ask.text`,
   show that in their place and take what they write as the response.
2. Otherwise call your own question tool with `ask.tool_input` just as it is: leave out no option,
   add none, and reorder nothing.
3. Run the command in `ask.reply_with` and give it on standard input exactly what the tool returned.
4. It prints the next state. Begin again with 1 for as long as that is `waiting` with an `ask`.

If you cannot run commands, name the run to the person: they answer with `quandary next RUN` in a
terminal. Then call `next` with the run and a `wait`.

A closed form, an empty answer, an error and silence are no answers; the question goes on waiting.
`declined`, `withdrawn` and `failed` mean that nothing was decided. Never choose in their place.
"""


def resources(house: House) -> list[types.Resource]:
    """The project's trees and its newest runs."""
    import msgspec  # noqa: PLC0415 - only where runs are listed

    listed = [
        types.Resource(
            uri=TREES + quote(tree.name, safe=""),
            name=tree.name,
            description=f"{tree.about} ({tree.path})".strip(),
            mime_type=MARKDOWN,
        )
        for tree in house.trees()[:MOST]
    ]
    runs = msgspec.json.decode(house.runs(Listing(limit=MOST)))["runs"]
    for run in runs:
        name = f"{run['flow']} {run['run']} ({run['status']})"
        uri = RUNS + run["run"]
        about = run.get("about") or None
        listed.append(types.Resource(uri=uri, name=name, description=about, mime_type=JSON))
    return listed


TEMPLATES = [
    types.ResourceTemplate(
        uri_template=TREES + "{name}",
        name="tree",
        description="A decision tree of the project, as Markdown.",
        mime_type=MARKDOWN,
    ),
    types.ResourceTemplate(
        uri_template=RUNS + "{run}",
        name="run",
        description="Where a run stands, and what was asked and answered.",
        mime_type=JSON,
    ),
]


def resource(house: House, uri: str) -> types.TextResourceContents:
    """One of them."""
    if uri.startswith(TREES):
        text = house.tree(unquote(uri.removeprefix(TREES)))
        return types.TextResourceContents(uri=uri, text=text, mime_type=MARKDOWN)
    if uri.startswith(RUNS):
        run = find_run(house.store, unquote(uri.removeprefix(RUNS)))
        text = house.history(run).decode()
        return types.TextResourceContents(uri=uri, text=text, mime_type=JSON)
    raise NotFound(f"there is no {uri}; resources begin with {TREES} or {RUNS}")


def prompt() -> types.GetPromptResult:
    """The loop by which a question is relayed."""
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=LOOP))
    return types.GetPromptResult(description=RELAY.description, messages=[message])
