"""What is put into the settings of hosts: hooks that call us, and our server in their lists.

Each kind of entry knows whether it is there, how to add it to a text, and how to take it out of a
text that has changed since.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from quandary.errors import ParseError, QuandaryError
from quandary.people import marked
from quandary.people.install_places import HOOKS, MATCHER, Servers
from quandary.people.json_edits import Edited, added, removed
from quandary.people.json_text import MARK, data, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "quandary"


class Entry(Protocol):
    """Something of ours in a file of settings."""

    @property
    def what(self) -> str:
        """What a person would call it."""

    def installed(self, text: str) -> bool:
        """Whether it is there as it should be."""

    def present(self, text: str) -> bool:
        """Whether there is anything of ours, be it out of date."""

    def put(self, text: str) -> Edited:
        """The text with it."""

    def taken_out(self, text: str) -> str:
        """The text without it, and without what is empty because of that."""


class Hooks(NamedTuple):
    """Hooks before and after a question, for Claude Code."""

    command: str
    timeout: int | None = None
    """Seconds that the hook before a question may take, where that is longer than usual."""

    @property
    def what(self) -> str:
        """What a person would call it."""
        return f"hooks {' and '.join(HOOKS)} for AskUserQuestion"

    def installed(self, text: str) -> bool:
        """Whether both events call us; who wrote that line by hand need not have it twice."""
        called = {
            event
            for event, _, handler in _handlers(text)
            if _by_hand(handler, HOOKS[event])
            or (_is_ours(handler, ["hook", HOOKS[event]]) and self._will_do(event, handler))
        }
        return called == set(HOOKS)

    def present(self, text: str) -> bool:
        """Whether any hook is ours."""
        return next(_our_handlers(text), None) is not None

    def put(self, text: str) -> Edited:
        """One more group for each event, behind those that are there."""
        edited = Edited(text)
        root = parse(text)
        if root is None or (root.kind == "object" and root.member("hooks") is None):
            return added(edited, ["hooks"], {name: [self._group(name)] for name in HOOKS})
        for event in HOOKS:
            edited = added(edited, ["hooks", event], [self._group(event)])
        return edited

    def taken_out(self, text: str) -> str:
        """Without our hooks, and without the groups that held nothing else."""
        while path := next(_our_handlers(text), None):
            text = removed(text, path)
        return text

    def _group(self, event: str) -> dict[str, Any]:
        return {"matcher": MATCHER, "hooks": [self._handler(event)]}

    def _handler(self, event: str) -> dict[str, Any]:
        patience = {"timeout": self.timeout} if self._is_patient(event) else {}
        words = ["hook", HOOKS[event]]
        return {"type": "command", "command": self.command, "args": words, **patience}

    def _will_do(self, event: str, handler: dict[str, Any]) -> bool:
        """Whether a hook of ours calls the right program and is patient enough."""
        enough = not self._is_patient(event) or patience(handler) >= (self.timeout or 0)
        return handler["command"] == self.command and enough

    def _is_patient(self, event: str) -> bool:
        return self.timeout is not None and HOOKS[event] == "pre"


class JsonServer(NamedTuple):
    """Our server in a list of servers that is JSON."""

    servers: Servers
    command: str

    @property
    def what(self) -> str:
        """What a person would call it."""
        return "the MCP server"

    def installed(self, text: str) -> bool:
        """Whether it is there; an entry of our name that somebody else made is never touched."""
        found = self.said(text)
        return found is not None and _checked(found, self.servers.key) == self.command

    def present(self, text: str) -> bool:
        """Whether the entry of our name is ours."""
        return _is_ours(self.said(text), ["mcp"])

    def put(self, text: str) -> Edited:
        """The list with one more server."""
        entry = self.servers.entry(self.command)
        return added(Edited(text), [self.servers.key, NAME], entry)

    def taken_out(self, text: str) -> str:
        """The list without it."""
        return removed(text, [self.servers.key, NAME])

    def said(self, text: str) -> Any:  # noqa: ANN401 - whatever somebody wrote
        """What a text says of a server with our name."""
        node = parse(text)
        for name in (self.servers.key, NAME):
            child = node.member(name) if node is not None else None
            node = child.value if child is not None else None
        return data(text, node) if node is not None else None


class TomlServer(NamedTuple):
    """Our server as a table between marks in a TOML file."""

    servers: Servers
    command: str

    @property
    def what(self) -> str:
        """What a person would call it."""
        return "the MCP server"

    def installed(self, text: str) -> bool:
        """Whether the table is there, between marks or not."""
        found = self.said(text)
        return found is not None and _checked(found, self.servers.key) == self.command

    def present(self, text: str) -> bool:
        """Whether our marks are there."""
        return marked.find(text, marked.TOML) is not None

    def put(self, text: str) -> Edited:
        """The file with one more table at its end."""
        entry = self.servers.entry(self.command)
        values = {name: json.dumps(value, ensure_ascii=False) for name, value in entry.items()}
        lines = [f"{name} = {value}" for name, value in values.items()]
        body = "\n".join([f"[{self.servers.key}.{NAME}]", *lines, ""])
        after = marked.put(text, marked.TOML, body, {})
        try:
            there = self.said(after) == entry
        except ParseError:
            there = False
        if not there:
            wanted = f"[{self.servers.key}.NAME]"
            raise QuandaryError(
                f"no table can be added to {self.servers.key}; write it as {wanted}"
            )
        return Edited(after, ((len(text), len(after) - len(text)),))

    def taken_out(self, text: str) -> str:
        """The file without what is between our marks."""
        return marked.taken_out(text, marked.TOML)

    def said(self, text: str) -> Any:  # noqa: ANN401 - whatever somebody wrote
        """What a text says of a server with our name."""
        servers = _toml(text).get(self.servers.key)
        return servers.get(NAME) if isinstance(servers, dict) else None


def server(servers: Servers, command: str) -> JsonServer | TomlServer:
    """Our server in a host's list, in the format of that list."""
    kind = TomlServer if servers.path.endswith(".toml") else JsonServer
    return kind(servers, command)


def patience(handler: dict[str, Any]) -> float:
    """How many seconds a host lets a hook run; none where only the host knows."""
    said = handler.get("timeout")
    return said if isinstance(said, int | float) else 0


def _handlers(text: str) -> Iterator[tuple[str, list[str | int], Any]]:
    """The hooks of our two events: the event, the path to the hook, and what it says."""
    root = parse(text)
    settings = root.member("hooks") if root is not None else None
    for event in HOOKS:
        groups = settings.value.member(event) if settings is not None else None
        for n, group in enumerate(groups.value.children if groups is not None else ()):
            listed = group.value.member("hooks")
            for m, handler in enumerate(listed.value.children if listed is not None else ()):
                yield event, ["hooks", event, n, "hooks", m], data(text, handler.value)


def our_hooks(text: str) -> list[tuple[str, str, float]]:
    """Every hook that calls us: for which event, by which command, and for how long at most."""
    found = []
    for event, _, handler in _handlers(text):
        if _by_hand(handler, HOOKS[event]):
            found.append((event, str(handler["command"]).split()[0], patience(handler)))
        elif _is_ours(handler, ["hook", HOOKS[event]]):
            found.append((event, str(handler["command"]), patience(handler)))
    return found


def our_server(servers: Servers, text: str) -> str:
    """The command of our server in a host's list; nothing where it is not there."""
    found = server(servers, "").said(text)
    return str(found["command"]) if _is_ours(found, ["mcp"]) else ""


def _our_handlers(text: str) -> Iterator[list[str | int]]:
    """The paths to what is ours: to the hook, or to its group if that holds nothing else."""
    found = list(_handlers(text))
    for event, path, handler in found:
        if _is_ours(handler, ["hook", HOOKS[event]]):
            alone = sum(other[:3] == path[:3] for _, other, _ in found) == 1
            yield path[:3] if alone else path


def _is_ours(entry: Any, words: list[str]) -> bool:  # noqa: ANN401 - whatever somebody wrote
    """Whether an entry runs this program with these words."""
    if not isinstance(entry, dict) or entry.get("args") != words:
        return False
    return _is_our_name(entry.get("command"))


def _is_our_name(command: object) -> bool:
    if not isinstance(command, str):
        return False
    return command.replace("\\", "/").rpartition("/")[2] in (NAME, f"{NAME}.exe")


def _by_hand(handler: Any, word: str) -> bool:  # noqa: ANN401 - whatever somebody wrote
    """The same call as a line for a shell."""
    if not isinstance(handler, dict) or "args" in handler:
        return False
    line = handler.get("command")
    words = line.split() if isinstance(line, str) else []
    return words[1:] == ["hook", word] and _is_our_name(words[0])


def _checked(entry: Any, key: str) -> str:  # noqa: ANN401 - whatever somebody wrote
    """The command of our entry in a list of servers."""
    if not _is_ours(entry, ["mcp"]):
        raise QuandaryError(f"{key}.{NAME} is there already and is another server; rename it")
    return str(entry["command"])


def _toml(text: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - only for hosts that use it

    try:
        return tomllib.loads(text.removeprefix(MARK))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        raise ParseError(f"not TOML ({reason})") from None
