"""opencode: what its server lists as waiting comes to the inbox, and the answer goes back there.

It calls no hook for permissions. Its server lists them, and its questions, while its own window
shows them too; whoever is first counts. What is no longer listed was answered there.
"""

from __future__ import annotations

import base64
import os
import threading
from contextlib import suppress
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

from quandary.desk import notices
from quandary.doors.hosts.hooks import DECISION, respond_for_server
from quandary.errors import QuandaryError
from quandary.journal import chance

if TYPE_CHECKING:
    from quandary.journal.store import Store

ADDRESS = "http://127.0.0.1:4096"
PASSWORD = "OPENCODE_SERVER_PASSWORD"  # noqa: S105 - the name of its variable
_PAUSE = 0.5
"""Seconds between two looks at what waits."""
_TROUBLE = (OSError, HTTPException, msgspec.DecodeError, LookupError, TypeError, ValueError)
"""What comes of an address that is none, of another server there, and of what is gone by then."""


class Opencode:
    """The server of an opencode that runs on this machine."""

    def __init__(self, address: str) -> None:
        name = None
        with suppress(ValueError):
            name = urlsplit(address).hostname
        if name not in ("127.0.0.1", "::1", "localhost"):
            raise QuandaryError(
                f"{address} is not on this machine; opencode is followed only there"
            )
        self.address = address.rstrip("/")
        secret = f"opencode:{os.environ.get(PASSWORD, '')}".encode()
        self._headers = {"Authorization": f"Basic {base64.b64encode(secret).decode()}"}
        self._headers |= {"Content-Type": "application/json"}
        self._open = build_opener(ProxyHandler({})).open

    def call(self, path: str, body: object = None) -> Any:  # noqa: ANN401 - any JSON
        """What it says to a request; with a body, something is told."""
        data = None if body is None else msgspec.json.encode(body)
        request = Request(f"{self.address}/{path}", data, self._headers)  # noqa: S310 - see above
        with self._open(request, timeout=20) as answered:
            return msgspec.json.decode(answered.read())

    def follow(self, store: Store) -> None:
        """Bring everything that waits there to the inbox, until opencode ends."""
        gone: dict[str, threading.Event] = {}
        try:
            while True:
                kinds = ("permission", "question")
                listed = {one["id"]: (kind, one) for kind in kinds for one in self.call(kind)}
                for name in gone.keys() - listed.keys():
                    gone.pop(name).set()
                for name in listed.keys() - gone.keys():
                    gone[name] = threading.Event()
                    given = (*listed[name], store, gone[name])
                    threading.Thread(target=self._try_to_settle, args=given).start()
                chance.sleep(_PAUSE)
        except _TROUBLE as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise QuandaryError(f"no opencode answers at {self.address} ({reason})") from None
        finally:
            for one in gone.values():
                one.set()

    def _try_to_settle(self, kind: str, *given: Any) -> None:  # noqa: ANN401 - see below
        """The same where its own window may be first, or what is listed makes no sense."""
        try:
            self._settle(kind, *given)
        except Exception as error:  # noqa: BLE001 - it stands in the way of no other one
            notices.log_trouble("hook", f"opencode, {kind}: {type(error).__name__}: {error}")

    def _settle(
        self, kind: str, waiting: dict[str, Any], store: Store, gone: threading.Event
    ) -> None:
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
            told = [_list_labels(one, answers[one["question"]]) for one in asked]
            self.call(f"{path}/reply", {"answers": told})
        else:
            self.call(f"{path}/reject", {})


def _list_labels(asked: dict[str, Any], said: str) -> list[str]:
    """An answer as opencode has it: where several can be chosen, each by itself."""
    options = asked.get("options", []) if asked.get("multiple") else []
    labels, found = sorted((one["label"] for one in options), key=len, reverse=True), list[str]()
    while said and (fits := [one for one in labels if f"{said}, ".startswith(f"{one}, ")]):
        found.append(fits[0])
        said = said[len(fits[0]) + 2 :]
    return [*found, said] if said else found
