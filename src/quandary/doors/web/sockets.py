"""Connections: how many there may be, how long they may take, and what is read as a request.

uvicorn speaks HTTP, and httptools reads it more strictly than the other parsers. Neither minds how
long a request takes to come, or how many come at once; that is added here. What two programs might
read differently, a proxy and this server, is no request at all.
"""

from __future__ import annotations

import resource
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from quandary.doors.web.access import LARGEST_BODY
from quandary.errors import ParseError

if TYPE_CHECKING:
    import asyncio

MOST_CONNECTIONS = 4000
BACKLOG = 100
"""Connections that are taken from the system at once, and so may be open beyond the most."""
WAITING = 1024
"""Connections that the system holds until they are taken."""
MOST_HEADERS = 100
LARGEST_HEAD = 65_536
LARGEST_MESSAGE = 2 * LARGEST_BODY
"""In bytes as they come, with what stands between the pieces of a body."""
MOST_AHEAD = 8
"""Requests that may be sent before the first of them is answered."""
ONCE = (
    *(b"host", b"content-length", b"transfer-encoding", b"content-type"),
    *(b"authorization", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest"),
)
"""Headers by which something is decided, of which others might read the first or the last."""
SEND_SECONDS = 30.0
"""Within so long, whoever asked has to take some of what they are sent."""

Stage = Literal["head", "body", "done"]
SECONDS: dict[Stage, float] = {"head": 10.0, "body": 30.0}
"""How long each may take to come, however busily it comes."""


@cache
def most_connections() -> int:
    """As many as leave half of the files that this process may open to the rest of it."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files < 0 else min(MOST_CONNECTIONS, files // 2)


class Connection(HttpToolsProtocol):
    """One connection, and the stage at which its newest request is."""

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*given, **named)
        self._stage: Stage = "head"
        self._since = 0.0
        self._turns = self._seen = 0
        """How often the stage has changed, and how often when the time limit was last set."""
        self._came = 0
        """Bytes since then."""
        self._head = 0
        """Bytes of the head that have been read."""
        self._limit: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._why = ""

    @property
    def is_answered(self) -> bool:
        """Whether a whole request came and its answer is under way."""
        return self._stage == "done" and self._waits

    @property
    def _waits(self) -> bool:
        """Whether the answer to the newest request is not complete."""
        newest: Any = self.cycle  # nothing, before the first
        return newest is not None and not newest.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room where there is none, and set a time for the first request."""
        super().connection_made(transport)
        self._turn("head")
        self._set_limit()
        if len(self.connections) > most_connections():
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time limits."""
        super().connection_lost(exc)
        for timer in (self._limit, self._stuck):
            if timer is not None:
                timer.cancel()

    def _make_room(self) -> None:
        """Drop a tenth of the larger party, those that are answered or those that are not yet.

        The oldest go first. So whoever sends a whole request at once is served, however many others
        send half a request or keep a page open; and open pages connect again by themselves.
        """
        parties: dict[bool, list[Connection]] = {True: [], False: []}
        for other in cast("set[Connection]", self.connections - {self}):
            parties[other.is_answered].append(other)
        larger = parties[len(parties[True]) > len(parties[False])]
        larger.sort(key=lambda one: one._since)
        for one in larger[: len(larger) // 10 + 1]:
            self.connections.discard(one)
            one.transport.abort()

    # -- time and size ---------------------------------------------------------------------------

    def _turn(self, stage: Stage) -> None:
        self._stage, self._since = stage, self.loop.time()
        self._turns += 1

    def _set_limit(self) -> None:
        self._seen, self._came = self._turns, 0
        if self._limit is not None:
            self._limit.cancel()
        seconds = SECONDS.get(self._stage)
        self._limit = self.loop.call_later(seconds, self._expire) if seconds else None

    def _expire(self) -> None:
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the request took too long to come")

    def data_received(self, data: bytes) -> None:
        """Read what came; as long as it belongs to one head or body, its time runs on."""
        if self._stage == "done":
            if self.parser.should_upgrade():
                return  # what follows such a request would be in another protocol
            if not self._waits:
                self._turn("head")
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._turns != self._seen:
            self._set_limit()
            return
        self._came += len(data)
        if self._came > (LARGEST_HEAD if self._stage == "head" else LARGEST_MESSAGE):
            self._refuse(HTTPStatus.BAD_REQUEST, "the request is too large")

    def pause_writing(self) -> None:
        """Whoever takes nothing of what they are sent is let go after a while."""
        super().pause_writing()
        self._stuck = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """They took some of it."""
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()

    # -- what is a request -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._head = 0
        self._turn("head")

    def on_url(self, url: bytes) -> None:
        """A part of where it goes."""
        self._measure(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header: before the body, and not too many."""
        if self._stage == "body":
            self._fail("headers stand before the body")
        if len(self.headers) >= MOST_HEADERS:
            self._fail(f"at most {MOST_HEADERS} headers are read")
        self._measure(name + value)
        super().on_header(name, value)

    def _measure(self, part: bytes) -> None:
        self._head += len(part)
        if self._head > LARGEST_HEAD:
            self._fail(f"at most {LARGEST_HEAD:,} bytes of headers are read")

    def on_headers_complete(self) -> None:
        """The head is whole: refuse what others might read in another way, before it is begun."""
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            self._fail("only HTTP/1.1 is spoken here")
        if not self.url.startswith(b"/"):
            self._fail("a request names a path, and its host in a header")
        values = dict(self.headers)
        names = [name for name, _ in self.headers]
        if len(names) > len(values) and any(names.count(name) > 1 for name in ONCE):
            self._fail("a header that may stand once stands twice")
        if b"host" not in values:
            self._fail("a request names its host")
        coding = values.get(b"transfer-encoding", b"")
        if coding and (version == "1.0" or b"content-length" in values or coding != b"chunked"):
            self._fail("a body has a Content-Length, or else the Transfer-Encoding chunked")
        if len(self.pipeline) >= MOST_AHEAD:
            self._fail("too many requests were sent ahead")
        super().on_headers_complete()
        if self.parser.should_upgrade():
            self.cycle.keep_alive = False
        self._turn("body")

    def on_message_complete(self) -> None:
        """The request is whole."""
        super().on_message_complete()
        self._turn("done")

    def _fail(self, why: str) -> None:
        """Have the parser stop; it comes back with `send_400_response`."""
        self._why = why
        raise ParseError(why)

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser could not read, or was not to."""
        self._refuse(HTTPStatus.BAD_REQUEST, self._why or msg)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        """End the connection; say why where nothing else could be taken for the answer, or cut."""
        begun = self._waits and (self.cycle.response_started or self.pipeline)
        if begun or self._waits == (self._stage == "head"):
            self.transport.abort()
            return
        self.transport.write(
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {len(why) + 1}\r\nConnection: close\r\n\r\n{why}\n".encode("ascii")
        )
        self.transport.close()
