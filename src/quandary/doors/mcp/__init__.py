"""Chat clients that speak MCP: tools for their agents, and forms for those in front of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types.version import is_version_at_least

from quandary import __version__
from quandary.desk.state import encode_state, is_unproven
from quandary.doors.mcp import tools
from quandary.doors.mcp.forms import Forms, Standing, open_forms
from quandary.errors import NotFound, QuandaryError
from quandary.journal.progress import complete_types

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http import StreamableHTTPServerTransport

    from quandary.journal.store import State

    Context = ServerRequestContext[Forms, Any]
    Page = types.PaginatedRequestParams | None
    Result = types.CallToolResult | types.InputRequiredResult

_RELAY = Path(__file__).with_name("relay.md")
T = TypeVar("T")
NAME = "quandary"
INSTRUCTIONS = """\
Quandary asks the person you work for to decide, and keeps what they decide. Whenever a choice
is theirs, call ask, split or gate instead of choosing. A run that is waiting has not been answered:
show its question as it is (the prompt `relay` says how), or call next. Where the person writes
to you what they choose, call propose, and they are asked to confirm it. Never answer in the
person's place.
"""
MOST_SESSIONS = 1000  # of clients over HTTP; each takes some 40 kB
HOLD = 300.0  # how long, in seconds, a call waits for a form
LONGEST = 7 * 24 * 3600.0
"""How long, in seconds, a form may lie with a client that calls again with it."""
RELAY = (
    "This client has shown nobody the question. Show ask.preamble and the notes, call your own "
    "question tool with ask.tool_input as it is, and give what it returns to the command in "
    "ask.reply_with, on standard input. Or leave it to the person, who can answer with "
    "`quandary next {run}` in a terminal, and call next with a wait."
)
TEXT = (
    "This question is text and no form: show ask.text word for word, end your turn, and give what "
    "the person writes to the command in ask.reply_with, on standard input. Or leave it to them: "
    "they can answer with `quandary next {run}` in a terminal, and you call next with a wait."
)
IN_PERSON = (
    "Only the person's own answer counts here: with `quandary next {run}` at a terminal, or in the "
    "browser. Call next with a wait to learn what they chose."
)
WALKING = (
    "Agents are at work on it. Call next with this run and a wait. If nothing happens any more, "
    "`quandary walk --resume {run}` resumes it."
)
AGENTS_NEXT = (
    "Agents are next, and a person has to start them: with `quandary walk --resume {run}` in a "
    "terminal, or in the browser. Call next with this run and a wait to learn what came of it."
)
WAITS = (
    "The question waits. Call next with this run to show it here once more, or with a wait too to "
    "learn of an answer from elsewhere."
)
HELD = "Talk about the option in held; show no question until the person wants to continue. "
UNPROVEN = "Nothing moved: find what result.missing names, and call gate again with it as proof."
UNDECIDED = "Nothing was decided. Do not choose in the person's place."


def build(service: tools.Service, *, hold: float = HOLD) -> Server[Forms]:
    """The server, ready to be run over anything; `hold` is how long a call waits for a form."""
    described = [tool.describe() for tool in tools.TOOLS.values()]
    templates = types.ListResourceTemplatesResult(resource_templates=tools.TEMPLATES)
    server: Server[Forms] = Server(
        NAME,
        version=__version__,
        title="Quandary",
        instructions=INSTRUCTIONS,
        lifespan=lambda _: open_forms(service, hold),
        on_list_tools=_always(types.ListToolsResult(tools=described)),
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_always(templates),
        on_read_resource=_read_resource,
        on_list_prompts=_always(types.ListPromptsResult(prompts=[tools.RELAY])),
        on_get_prompt=_get_prompt,
    )
    sealed = RequestStateSecurity.ephemeral(ttl=LONGEST)
    server.middleware.append(RequestStateBoundary(sealed, default_audience=NAME))
    return server


async def over_stdio(server: Server[Forms]) -> None:
    """Serve whoever started this process, until they close the pipe."""
    complete_types()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class Mounted(NamedTuple):
    """The server as a part of another one: an ASGI application, and what it needs around it."""

    application: StreamableHTTPASGIApp
    running: Callable[[], AbstractAsyncContextManager[None]]
    """To be entered for as long as the other server runs."""


class Sessions(StreamableHTTPSessionManager):
    """The sessions of clients; where there are too many, the oldest ends, and begins anew."""

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        if self.max_sessions is not None and len(self._server_instances) >= self.max_sessions:
            oldest = self._server_instances.pop(next(iter(self._server_instances)))
            if oldest.idle_scope is not None:
                oldest.idle_scope.cancel()
        return super()._admit_session(requestor)


def mounted(server: Server[Forms]) -> Mounted:
    """The server over streamable HTTP."""
    sessions = Sessions(app=server, max_sessions=MOST_SESSIONS)
    return Mounted(StreamableHTTPASGIApp(sessions), sessions.run)


def _always(result: T) -> Callable[[Context, Page], Awaitable[T]]:
    async def answer(_: Context, __: Page) -> T:
        return result

    return answer


async def _call_tool(context: Context, params: types.CallToolRequestParams) -> Result:
    """Do what an agent wants; what is wrong with it is told to the agent."""
    tool = tools.TOOLS.get(params.name)
    if tool is None:
        names = ", ".join(tools.TOOLS)
        raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name}; there are {names}")
    try:
        wanted = tool.read(params.arguments)
        if isinstance(wanted, tools.Look):
            forms = context.lifespan_context
            return _data(await forms.do(forms.service.look, wanted, client_of(context)))
        return await _do(context, params, wanted)
    except QuandaryError as error:
        return types.CallToolResult(content=[_text(str(error))], is_error=True)


async def _do(
    context: Context, params: types.CallToolRequestParams, wanted: tools.Wanted
) -> Result:
    forms, client = context.lifespan_context, client_of(context)
    if client.in_rounds and params.request_state is not None:
        back = await forms.take_back(client, params.request_state, params.input_responses)
        shown = forms.show_next(client, *back)
    else:
        state = await forms.do(forms.service.do, wanted, client)
        if isinstance(wanted, tools.Following) and wanted.wait:
            shown = Standing(await forms.wait_for_news(client, state, wanted.wait))
        elif client.in_rounds:
            shown = forms.show_next(client, Standing(state, answered=True), 0)
        else:
            shown = await forms.converse(context, client, state)
    return await _tell(forms, shown, client) if isinstance(shown, Standing) else shown


def client_of(context: Context) -> tools.Client:
    """The client, as it described itself. One that names no kind of form shows the usual kind. One
    that calls itself by the name of a user has none: whoever it is for, it is not that user.
    """
    session = context.session
    told = session.client_capabilities.elicitation if session.client_capabilities else None
    info = session.client_params.client_info if session.client_params else None
    version = context.protocol_version
    scope = getattr(context.request, "scope", {})  # of the request, where it came over HTTP
    known = scope.get("state", {})
    name = info.name[:80] if info is not None else ""
    return tools.Client(
        name="" if "is_taken" in known and known["is_taken"](name) else name,
        forms=told is not None and (told.form is not None or told.url is None),
        titled=is_version_at_least(version, "2025-11-25"),
        in_rounds=is_version_at_least(version, "2026-07-28"),
        is_user=known.get("is_user") is True,
        session=dict(scope.get("headers", ())).get(b"mcp-session-id", b"").decode("latin-1")[:80],
    )


async def _tell(forms: Forms, standing: Standing, client: tools.Client) -> types.CallToolResult:
    """The state as the command line prints it, and a sentence on what to do with it."""
    state = await forms.do(forms.service.hand_over, standing.state, client)
    data = await forms.do(encode_state, forms.service.store, state)
    then = standing.said or await forms.do(_then, forms, standing.state, client)
    return _data(data, then.replace("{run}", standing.state.run))


def _then(forms: Forms, state: State, client: tools.Client) -> str:
    if state.status == "done" or (state.status == "failed" and state.flow == "walk"):
        return UNPROVEN if is_unproven(state.flow, state.result) else ""
    if state.status != "waiting":
        return UNDECIDED
    if state.ask is None:
        service = forms.service
        is_driven = service.caller(client).is_user or service.walks.is_under_way(state.run)
        return WALKING if is_driven else AGENTS_NEXT
    if state.ask.require:
        return IN_PERSON
    if state.ask.kind == "advisory":
        return TEXT
    told = {note.kind for note in state.notes}
    held = HELD if "held" in told else ""
    return held + (RELAY if not client.forms or "unavailable" in told else WAITS)


def _data(data: bytes, then: str = "") -> types.CallToolResult:
    """The data, with what to do about it inside: hosts show a model the data and no text beside."""
    found = msgspec.json.decode(data)
    if then:
        found["then"] = then
        data = msgspec.json.encode(found)
    return types.CallToolResult(content=[_text(data.decode().strip())], structured_content=found)


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


async def _list_resources(context: Context, _: Page) -> types.ListResourcesResult:
    forms = context.lifespan_context
    found = await forms.do(tools.list_resources, forms.service, client_of(context))
    return types.ListResourcesResult(resources=found)


async def _read_resource(
    context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    forms = context.lifespan_context
    try:
        uri = str(params.uri)
        found = await forms.do(tools.read_resource, forms.service, client_of(context), uri)
    except QuandaryError as error:
        code = types.INVALID_PARAMS if isinstance(error, NotFound) else types.INTERNAL_ERROR
        raise MCPError(code, str(error), {"uri": str(params.uri)}) from None
    return types.ReadResourceResult(contents=[found])


async def _get_prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    if params.name != tools.RELAY.name:
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name}; there is relay")
    loop = types.PromptMessage(role="user", content=_text(_RELAY.read_text()))
    return types.GetPromptResult(description=tools.RELAY.description, messages=[loop])
