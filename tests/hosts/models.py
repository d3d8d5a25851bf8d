"""A model that says what a check wants it to say, for clients that would ask a real one.

It speaks the four dialects that agents' clients speak, streamed as they expect it, on loopback. A
model is a list of tools to call, one after the other; when all have been called, it says that it
is done. What it was sent is kept, because that is where a client shows what a tool gave back.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DONE = "All is done."
MODEL = "a-model-of-our-own"
WAIT = "wait"
MOST_WAITS = 20

Event = tuple[str, dict[str, Any]]
"""The name of an event in a stream, and what it carries."""


class Call(NamedTuple):
    """A tool that the model calls."""

    tool: str
    """How its name ends, since clients put words of their own before it."""
    arguments: dict[str, Any] | Callable[[tuple[str, ...]], dict[str, Any]]
    """Known beforehand, or made from what the tools before it gave back."""

    def filled(self, results: tuple[str, ...]) -> dict[str, Any]:
        """The arguments once it is its turn."""
        return self.arguments(results) if callable(self.arguments) else self.arguments


class Tool(NamedTuple):
    """A tool that a client offers."""

    name: str
    space: str = ""
    """What it is in, where a client groups its tools."""

    def is_called(self, ending: str) -> bool:
        """Whether a name like this means this tool."""
        return re.sub("[^A-Za-z0-9]+", "_", f"_{self.space}_{self.name}").endswith(f"_{ending}")


class Seen(NamedTuple):
    """One request of a client."""

    path: str
    tools: tuple[Tool, ...]
    results: tuple[str, ...]
    """What the tools gave back that were called so far, the oldest first."""
    body: dict[str, Any]

    def tool(self, ending: str) -> Tool | None:
        """The tool that is meant by how its name ends."""
        return next((tool for tool in self.tools if tool.is_called(ending)), None)


class Turn(NamedTuple):
    """What the model says: a tool to call, or that it is done."""

    number: int
    tool: Tool | None = None
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    waits: bool = False
    """Whether it only lets time pass; then nobody wants to know what came of it."""

    @property
    def id(self) -> str:
        """What the call is known by."""
        return f"{WAIT if self.waits else 'toolu'}_{self.number:04}"


class Model:
    """A server that clients take for a model."""

    def __init__(self, *calls: Call, meanwhile: Call | None = None) -> None:
        self.calls = calls
        self.meanwhile = meanwhile
        """What to do while a tool is not there yet, with clients that do not wait for servers."""
        self.seen: list[Seen] = []
        self.strangers: list[str] = []
        """Requests that no dialect knows."""
        self.stuck = ""
        """Why it could not go on, where what a tool gave back made no sense to it."""
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Here", (_Line,), {"model": self})
        )
        self._server.daemon_threads = True

    def __enter__(self) -> Self:
        """Listen."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Be gone."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def results(self) -> tuple[str, ...]:
        """What came back from the tools, all of which must have been called."""
        found = max((seen.results for seen in self.seen), key=len, default=())
        wanted = [call.tool for call in self.calls]
        if len(found) != len(wanted):
            offered = ", ".join(sorted(self.tools))
            why = self.stuck or f"{wanted[len(found)]} was not offered, but: {offered}"
            raise AssertionError(f"{len(found)} of {len(wanted)} tools were called: {why}")
        return found

    @property
    def tools(self) -> set[str]:
        """The names of all tools that were ever offered."""
        return {f"{tool.space}{tool.name}" for seen in self.seen for tool in seen.tools}

    def turn(self, seen: Seen) -> Turn:
        """What to say to a request: the next call, if its tool is there to be called."""
        self.seen.append(seen)
        place = len(seen.results)
        if place < len(self.calls):
            tool = seen.tool(self.calls[place].tool)
            try:
                if tool is not None:
                    return Turn(len(self.seen), tool, self.calls[place].filled(seen.results))
                if self.meanwhile is not None and len(self.seen) < MOST_WAITS:
                    tool, given = seen.tool(self.meanwhile.tool), self.meanwhile.filled(())
                    return Turn(len(self.seen), tool, given, waits=True)
            except (ValueError, LookupError) as error:
                self.stuck = f"{error!r} after {seen.results[-1:]}"
        return Turn(len(self.seen))


class _Line(BaseHTTPRequestHandler):
    """One client's line to the model."""

    model: Model

    def log_message(self, *_: object) -> None:
        """Say nothing about requests."""

    def do_HEAD(self) -> None:
        """Be there."""
        self._send(200, "application/json", b"")

    def do_GET(self) -> None:
        """The list of models, which some want first."""
        path = self.path.partition("?")[0]
        if path.endswith("/models"):
            one = {"id": MODEL, "object": "model", "created": 0, "owned_by": "us"}
            self._send_json({"object": "list", "data": [one], "models": []})
        else:
            self.model.strangers.append(f"GET {path}")
            self._send(404, "application/json", b"{}")

    def do_POST(self) -> None:
        """A turn of the conversation."""
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(data or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith(("count_tokens", ":countTokens")):
            self._send_json({"input_tokens": 1, "totalTokens": 1})
        elif path.endswith("/messages"):
            self._stream(_messages(self.model.turn(_messages_seen(path, body))))
        elif path.endswith("/responses"):
            events = [*_responses(self.model.turn(_responses_seen(path, body)))]
            if body.get("stream"):
                self._stream(iter(events))
            else:
                self._send_json(events[-1][1]["response"])
        elif path.endswith("/chat/completions"):
            chunks = _completions(self.model.turn(_completions_seen(path, body)))
            if body.get("stream"):
                self._stream(chunks, b"data: [DONE]\n\n", named=False)
            else:
                self._send_json(_whole(chunks))
        elif path.endswith(":streamGenerateContent"):
            self._stream(_generated(self.model.turn(_generate_seen(path, body))), named=False)
        elif path.endswith(":generateContent"):
            self._send_json(next(_generated(self.model.turn(_generate_seen(path, body))))[1])
        else:
            self.model.strangers.append(f"POST {path}")
            self._send(404, "application/json", b"{}")

    def _send_json(self, data: object) -> None:
        self._send(200, "application/json", json.dumps(data).encode())

    def _stream(self, events: Iterator[Event], last: bytes = b"", *, named: bool = True) -> None:
        parts = [
            (f"event: {name}\n" if named else "") + f"data: {json.dumps(data)}\n\n"
            for name, data in events
        ]
        self._send(200, "text/event-stream", "".join(parts).encode() + last)

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _text(value: object) -> str:
    """What a tool gave back, however a client wraps it up."""
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    if isinstance(value, dict):
        inner = next((value[name] for name in ("text", "output", "content") if name in value), None)
        return _text(inner) if inner is not None else json.dumps(value)
    return str(value)


def _counts(call: str) -> bool:
    """Whether a call was more than letting time pass."""
    return not call.startswith(WAIT)


# -- messages --------------------------------------------------------------------------------------


def _messages_seen(path: str, body: dict[str, Any]) -> Seen:
    blocks = [
        block
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    answers = [block for block in blocks if block["type"] == "tool_result"]
    results = [_text(one.get("content")) for one in answers if _counts(one["tool_use_id"])]
    tools = [Tool(tool["name"]) for tool in body.get("tools", ())]
    return Seen(path, tuple(tools), tuple(results), body)


def _messages(turn: Turn) -> Iterator[Event]:
    block: dict[str, Any] = {"type": "text", "text": ""}
    stop, delta = "end_turn", {"type": "text_delta", "text": DONE}
    if turn.tool is not None:
        stop = "tool_use"
        block = {"type": "tool_use", "id": turn.id, "name": turn.tool.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
    message: dict[str, Any] = {
        "id": f"msg_{turn.number}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    ending = {"stop_reason": stop, "stop_sequence": None}
    for kind, data in (
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": ending, "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    ):
        yield kind, {"type": kind, **data}


# -- responses -------------------------------------------------------------------------------------


def _responses_seen(path: str, body: dict[str, Any]) -> Seen:
    given = body.get("input")
    items = given if isinstance(given, list) else []
    answers = [item for item in items if item.get("type") == "function_call_output"]
    results = [_text(one["output"]) for one in answers if _counts(one["call_id"])]
    tools = []
    for tool in body.get("tools", ()):
        if tool["type"] == "namespace":
            tools += [Tool(inner["name"], tool["name"]) for inner in tool["tools"]]
        elif tool["type"] == "function":
            tools.append(Tool(tool["name"]))
    return Seen(path, tuple(tools), tuple(results), body)


def _responses(turn: Turn) -> Iterator[Event]:
    item: dict[str, Any] = {
        "type": "message",
        "id": f"msg_{turn.number}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": DONE, "annotations": []}],
    }
    if turn.tool is not None:
        item = {
            "type": "function_call",
            "id": f"fc_{turn.number}",
            "call_id": turn.id,
            "name": turn.tool.name,
            "arguments": json.dumps(turn.arguments),
            "status": "completed",
            **({"namespace": turn.tool.space} if turn.tool.space else {}),
        }
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    whole = {"id": f"resp_{turn.number}", "object": "response", "model": MODEL, "created_at": 0}
    begun = {**whole, "status": "in_progress", "output": []}
    ended = {**whole, "status": "completed", "output": [item], "usage": usage}
    events: list[Event] = [
        ("response.created", {"response": begun}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": ended}),
    ]
    for number, (kind, data) in enumerate(events):
        yield kind, {"type": kind, "sequence_number": number, **data}


# -- completions -----------------------------------------------------------------------------------


def _completions_seen(path: str, body: dict[str, Any]) -> Seen:
    answers = [message for message in body["messages"] if message["role"] == "tool"]
    results = [_text(one["content"]) for one in answers if _counts(one["tool_call_id"])]
    tools = [Tool(tool["function"]["name"]) for tool in body.get("tools") or ()]
    return Seen(path, tuple(tools), tuple(results), body)


def _completions(turn: Turn) -> Iterator[Event]:
    delta: dict[str, Any] = {"role": "assistant", "content": DONE}
    ending = "stop"
    if turn.tool is not None:
        function = {"name": turn.tool.name, "arguments": json.dumps(turn.arguments)}
        called = {"index": 0, "id": turn.id, "type": "function", "function": function}
        delta, ending = {"role": "assistant", "content": None, "tool_calls": [called]}, "tool_calls"
    chunk = {
        "id": f"chatcmpl-{turn.number}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": MODEL,
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield "", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {"index": 0, "delta": {}, "finish_reason": ending}
    yield "", {**chunk, "choices": [last], "usage": usage}


def _whole(chunks: Iterator[Event]) -> dict[str, Any]:
    """A completion in one piece, for those who do not want it streamed."""
    first, last = (data for _, data in chunks)
    message = dict(first["choices"][0]["delta"])
    choice = {**last["choices"][0], "message": message}
    del choice["delta"]
    return {**last, "object": "chat.completion", "choices": [choice]}


# -- generated content -----------------------------------------------------------------------------


def _generate_seen(path: str, body: dict[str, Any]) -> Seen:
    parts = [part for content in body["contents"] for part in content.get("parts", ())]
    answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
    listed = [
        one for tool in body.get("tools") or () for one in tool.get("functionDeclarations", ())
    ]
    results = [_text(one.get("response")) for one in answers if _counts(one.get("id", ""))]
    return Seen(path, tuple(Tool(one["name"]) for one in listed), tuple(results), body)


def _generated(turn: Turn) -> Iterator[Event]:
    part: dict[str, Any] = {"text": DONE}
    if turn.tool is not None:
        part = {"functionCall": {"id": turn.id, "name": turn.tool.name, "args": turn.arguments}}
    candidate = {
        "index": 0,
        "content": {"role": "model", "parts": [part]},
        "finishReason": "STOP",
    }
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    yield "", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL}
