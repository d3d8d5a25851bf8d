"""Coding agents as hosts: the hooks that they call, and a server of opencode that is followed.

Whatever comes in, a hook stands in nobody's way: what goes wrong is written to `hook.log`, and the
host continues as if there were no hook. `hooks` is for questions, `permissions` for everything else
that stops an agent.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from math import ceil
from typing import TYPE_CHECKING, Any

import msgspec

from quandary.desk.authority import Caller
from quandary.errors import ParseError, QuandaryError, Rejected
from quandary.journal import NoStore, chance, open_store, runs
from quandary.journal.entries import sha256
from quandary.model.calls import STEP
from quandary.model.requests import QUESTIONS
from quandary.settings import Settings, project_of, read_settings, state_folder, user_settings

if TYPE_CHECKING:
    from threading import Event

    from quandary.journal.store import State, Store

_SERVED: ContextVar[tuple[Store, Callable[[], bool]] | None] = ContextVar("_SERVED", default=None)
"""The store of a server that answers a hook itself, and whether the host still waits for that."""
HOOK = Caller("agent", "hook")  # what a hook does by itself is the agent's doing
HOST = Caller("host", "hook")  # what the host says of its form: an answer, or why there is none
WAIT = 600  # seconds that a person has in the inbox, unless the settings say otherwise
LONGEST = 24 * 3600
MARGIN = 30
"""Seconds by which the host must be more patient than we are, so that we can say goodbye."""
LOOK = 0.5  # seconds after which we see whether the host is still there
CODEX_TOOL = "request_user_input"
DECISION = "hookSpecificOutput"
ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"


def run(event: str, host: str = "claude") -> int:
    """The hook as a host calls it; whatever comes in, the status is 0."""
    try:
        if output := respond(event, sys.stdin.buffer.read(), host):
            sys.stdout.buffer.write(output + b"\n")
            sys.stdout.buffer.flush()
    except BaseException as error:  # noqa: BLE001 - a hook never stands in the way
        log(error)
    return 0


def log(error: BaseException, about: str = "") -> None:
    """Keep what went wrong where `quandary doctor` finds it."""
    with suppress(BaseException):
        from quandary.desk import notices  # noqa: PLC0415 - only when something went wrong

        notices.log_trouble("hook", f"{about}{type(error).__name__}: {error}")


def respond_for_server(
    event: str, data: bytes, store: Store, waits: Callable[[], bool], host: str = "claude"
) -> bytes:
    """The same in a thread of a server, for a folder that is there; it never fails."""
    _SERVED.set((store, waits))
    try:
        said = msgspec.json.decode(data)
        return respond(event, data, host) if find_folder(said) != os.curdir else b""
    except Exception as error:  # noqa: BLE001 - as above
        log(error)
        return b""


def open_journal(where: str, *, asks: bool = False) -> Store:
    """The store for a folder that a host works in, or that of the server which answers for us."""
    if served := _SERVED.get():
        return served[0]
    store = open_store(start=where)
    if asks:
        from quandary.desk.notices import watch_store  # noqa: PLC0415 - only before a question

        watch_store(store)
    return store


def respond(event: str, data: bytes, host: str = "claude") -> bytes:
    """What is printed for the host; nothing where there is nothing to say."""
    said = msgspec.json.decode(data)
    output = _respond(event, said, host) if isinstance(said, dict) else None
    return b"" if output is None else msgspec.json.encode(output)


def _respond(event: str, said: dict[str, Any], host: str) -> dict[str, Any] | None:
    walks = STEP in os.environ  # what an agent of a walk stops for is asked in the run of that walk
    if event == "session":
        return brief_session(find_folder(said))
    if asks(said.get("tool_name")) and not walks:
        from quandary.doors.hosts import hooks  # noqa: PLC0415 - only around questions

        if (call := hooks.read_call(said, host)) is not None:
            return hooks.respond(event, call, said, host)
    wanted = event == "pre" if walks else user_settings().table("permissions")
    if not wanted or (event == "post" and not _has_asked(said)):
        return None
    from quandary.doors.hosts import permissions  # noqa: PLC0415 - not around questions

    return permissions.hold(said) if walks else permissions.respond(event, said, host)


def asks(tool: object) -> bool:
    """Whether a tool is a host's question tool."""
    return tool == CODEX_TOOL or bool(isinstance(tool, str) and QUESTIONS.fullmatch(tool))


def _has_asked(said: dict[str, Any]) -> bool:
    """Whether anything was asked about a tool in this session; most tools are used unasked."""
    names = ("session_id", "agent_id", "tool_name")
    first = name_family(*(str(said.get(name) or "") for name in names))
    return bool(open_journal(find_folder(said)).named(first, f"{first}~"))


def name_family(session: str, agent: str, tool: str) -> str:
    """What begins the names of all that an agent wants to use a tool for."""
    return f"permit\n{session}\n{agent}\n{tool}\n"


def brief_session(where: str) -> dict[str, Any] | None:
    """What a session that starts, is resumed or was compacted is told of what was decided."""
    from quandary.desk import decisions  # noqa: PLC0415 - not around questions

    with suppress(NoStore):
        found = decisions.brief_session(open_store(start=where, create=False), project_of(where))
        told = {"hookEventName": "SessionStart", "additionalContext": found}
        return {DECISION: told} if found else None
    return None


def find_folder(said: dict[str, Any]) -> str:
    """The folder that a host works in."""
    where = said.get("cwd")
    return where if isinstance(where, str) and os.path.isdir(where) else os.curdir


def is_headless(said: dict[str, Any], park: bool) -> bool:
    """Whether a session is parked while it waits: nobody is at it, and it is no sub-agent."""
    return park and os.environ.get(ATTENDED) == "0" and not said.get("agent_id")


def hook_settings(where: str | None = None) -> Settings:
    """The settings that hooks follow: a project's `[hooks]` only where its user trusts them."""
    settings = read_settings(where)
    if not any(part.origin == "project" and part.values.get("hooks") for part in settings.parts):
        return settings
    from quandary.settings.trust import with_trusted_hooks  # noqa: PLC0415 - rarely needed

    return with_trusted_hooks(settings)


def inbox_seconds(settings: Settings) -> float | None:
    """How long a question waits in the inbox; nothing where it does not go there."""
    is_routed, wait, _ = read_route(settings.table("hooks"), "hooks")
    return wait if is_routed else None


def read_route(table: dict[str, Any], name: str) -> tuple[bool, float, bool]:
    """If a table of the settings sends to the inbox, how long one waits, if sessions are parked."""
    defaults = {"route": "host", "wait": WAIT, "park": False}
    route, wait, park = (table.get(key, value) for key, value in defaults.items())
    if route not in ("host", "inbox"):
        raise ParseError(f'[{name}] route is "inbox" or "host", not {route!r}')
    if type(wait) not in (int, float) or not 0 < wait <= LONGEST:
        raise ParseError(f"[{name}] wait is a number of seconds up to {LONGEST}, not {wait!r}")
    if not isinstance(park, bool):
        raise ParseError(f"[{name}] park is true or false, not {park!r}")
    return route == "inbox", float(wait), park


def host_timeout(settings: Settings) -> int | None:
    """How long the host has to let our hook run; nothing where its own idea of that will do."""
    wait = inbox_seconds(settings)
    return None if wait is None else ceil(wait) + MARGIN


def make_decision(word: str, reason: str, **more: object) -> dict[str, Any]:
    """What is said to the host; `updatedInput` with answers does without its form."""
    said = {"permissionDecision": word, "permissionDecisionReason": reason, **more}
    return {DECISION: {"hookEventName": "PreToolUse", **said}}


def tell(
    host: str, event: str, allowed: bool, why: str, given: object = None, grants: object = None
) -> dict[str, Any] | None:
    """What was decided, as the host wants to hear it: with which input it may be done, and what its
    session may do from now on.
    """
    if host == "gemini":
        return None if allowed else {"decision": "deny", "reason": why}
    if event == "pre":
        changed = {"updatedInput": given} if allowed else {}
        return make_decision("allow" if allowed else "deny", why, **changed)
    changes = {"updatedInput": given, "updatedPermissions": grants} if allowed else {"message": why}
    decision = {name: value for name, value in changes.items() if value is not None}
    decision["behavior"] = "allow" if allowed else "deny"
    told = {"hookEventName": "PermissionRequest", "decision": decision}
    return decision if host == "copilot" else {DECISION: told}


def file_of(known: bytes) -> str:
    """Where something is kept that two hooks have to know."""
    return os.path.join(state_folder(), "hooks", sha256(known).hexdigest()[:32])


def withdraw(store: Store, run: str, why: str) -> None:
    """End what nobody waits for any more; where somebody was quicker, theirs counts."""
    from quandary.desk import reply  # noqa: PLC0415 - only where somebody is asked

    with suppress(Rejected):
        reply.withdraw(store, HOOK, run, why)


@contextmanager
def listen_to_host() -> Iterator[Callable[[], bool]]:
    """Whether the program that runs the hook still wants an answer; its signals end the waiting."""
    if served := _SERVED.get():
        yield served[1]
        return
    import signal  # noqa: PLC0415 - only where somebody is asked
    import threading  # noqa: PLC0415 - the same

    host, signals, before = os.getppid(), list[int](), {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            before[number] = signal.signal(number, lambda number, _: signals.append(number))
    try:
        yield lambda: not signals and os.getppid() == host
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait(
    store: Store,
    states: list[State],
    is_open: Callable[[list[State]], bool],
    until: float,
    waits: Callable[[], bool],
) -> list[State]:
    """Look at runs as long as they are open, the time is not up, and the host still waits."""
    with closing(store.news(LOOK)) as news:
        while is_open(states) and waits() and chance.monotonic() < until:
            next(news)
            states = [runs.look(store, state.run) for state in states]
    return states


#
# It calls no hook for permissions. Its server lists them, and its questions, while its own window
# shows them too; whoever is first counts. What is no longer listed was answered there.

ADDRESS = "http://127.0.0.1:4096"
PASSWORD = "OPENCODE_SERVER_PASSWORD"  # noqa: S105 - the name of its variable
_PAUSE = 0.5  # seconds between two looks at what waits
_TROUBLE = (OSError, msgspec.DecodeError, LookupError, TypeError, ValueError)
"""What comes of an address that is none, of another server there, and of what is gone by then."""


class Opencode:
    """The server of an opencode that runs on this machine."""

    def __init__(self, address: str) -> None:
        from base64 import b64encode  # noqa: PLC0415 - not in a hook
        from urllib.request import ProxyHandler, build_opener  # noqa: PLC0415 - the same

        from quandary.desk.notices import is_here  # noqa: PLC0415 - the same

        if not is_here(address):
            raise QuandaryError(
                f"{address} is not on this machine; opencode is followed only there"
            )
        self.address = address.rstrip("/")
        secret = f"opencode:{os.environ.get(PASSWORD, '')}".encode()
        self._headers = {"Authorization": f"Basic {b64encode(secret).decode()}"}
        self._headers |= {"Content-Type": "application/json"}
        self._open = build_opener(ProxyHandler({})).open

    def call(self, path: str, body: object = None) -> Any:  # noqa: ANN401 - any JSON
        """What it says to a request; with a body, something is told."""
        from urllib.request import Request  # noqa: PLC0415 - as above

        data = None if body is None else msgspec.json.encode(body)
        request = Request(f"{self.address}/{path}", data, self._headers)  # noqa: S310 - see above
        with self._open(request, timeout=20) as answered:
            return msgspec.json.decode(answered.read())

    def follow(self, store: Store) -> None:
        """Bring everything that waits there to the inbox, until opencode ends."""
        from http.client import HTTPException  # noqa: PLC0415 - as above
        from threading import Event, Thread  # noqa: PLC0415 - the same

        from quandary.journal.progress import complete_types  # noqa: PLC0415 - the same

        complete_types()  # each that waits has a thread
        gone: dict[str, Event] = {}
        try:
            while True:
                kinds = ("permission", "question")
                listed = {one["id"]: (kind, one) for kind in kinds for one in self.call(kind)}
                for name in gone.keys() - listed.keys():
                    gone.pop(name).set()
                for name in listed.keys() - gone.keys():
                    gone[name] = Event()
                    given = (*listed[name], store, gone[name])
                    Thread(target=self._try_to_settle, args=given).start()
                chance.sleep(_PAUSE)
        except (*_TROUBLE, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise QuandaryError(f"no opencode answers at {self.address} ({reason})") from None
        finally:
            for one in gone.values():
                one.set()

    def _try_to_settle(self, kind: str, *given: Any) -> None:  # noqa: ANN401 - see below
        """The same where its own window may be first, or what is listed makes no sense."""
        try:
            self._settle(kind, *given)
        except Exception as error:  # noqa: BLE001 - it stands in the way of no other one
            log(error, f"opencode, {kind}: ")

    def _settle(self, kind: str, waiting: dict[str, Any], store: Store, gone: Event) -> None:
        """Ask about one of them in the inbox, and tell opencode what a person or a rule decided."""
        asked, about = waiting.get("questions", []), waiting.get("metadata", {})
        given = about if "command" in about else {**about, "patterns": waiting.get("patterns")}
        said: dict[str, Any] = {
            "session_id": waiting["sessionID"],
            "cwd": self.call(f"session/{waiting['sessionID']}").get("directory"),
            "tool_use_id": waiting["id"],
            "tool_name": waiting.get("permission"),
            "tool_input": given,
        }
        if kind == "question":
            listed = [{**one, "multiSelect": one.get("multiple", False)} for one in asked]
            said |= {"tool_name": "AskUserQuestion", "tool_input": {"questions": listed}}
        data, is_open = msgspec.json.encode(said), lambda: not gone.is_set()
        output = respond_for_server("permission", data, store, is_open, "opencode")
        if not output or gone.is_set():
            return
        decision = msgspec.json.decode(output)[DECISION]["decision"]
        path, allowed = f"{kind}/{waiting['id']}", decision["behavior"] == "allow"
        if kind == "permission":
            refusal = {"reply": "reject", "message": decision.get("message", "")}
            self.call(f"{path}/reply", {"reply": "once"} if allowed else refusal)
        elif allowed:
            answers = decision["updatedInput"]["answers"]
            self.call(f"{path}/reply", {"answers": [answers[one["question"]] for one in asked]})
        else:
            self.call(f"{path}/reject", {})
