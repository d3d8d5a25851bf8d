"""Quandary made known to a host: planned for all files first, then written, all of it or nothing.

Before a file is changed for the first time, a copy is kept in the user's data folder. Uninstalling
puts the copy back where the file is still as install left it; else it removes exactly our entries.
A file that cannot be edited safely, such as JSON with comments, is refused with the text to paste.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.doors.hosts.host_files import CODEX_MATCHER, EVENTS, HOOKS, MATCHER, NAME, STARTS
from quandary.errors import ParseError, QuandaryError
from quandary.settings import data_folder, load_toml
from quandary.settings.files import read_text, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.doors.hosts.host_files import Lesson, Places, Servers

BOM = "\ufeff"
_PATH = "api/hooks/"  # where a server of ours answers hooks


class CannotEdit(ParseError):  # noqa: N818 - said of a file
    """A file that a program cannot change without harm; `snippet` is what belongs in it."""

    def __init__(self, message: str, snippet: str = "") -> None:
        super().__init__(message)
        self.snippet = snippet


class Copy(msgspec.Struct, frozen=True):
    """What a file was before the first change."""

    path: str
    text: str | None  # No text means no file
    left: str  # the digest of the file as install left it
    folders: int  # how many folders above the file were made for it


class Change(NamedTuple):
    """What becomes of a file; no text means no file."""

    path: str
    before: str | None
    after: str | None
    what: str
    copy: Copy | None = None  # what is to be kept of it; nothing when it is uninstalled
    folders: int = 0  # how many folders above a file that goes may go with it
    private: bool = False  # whether it is for its owner's eyes only


class Plan(NamedTuple):
    """What is to be done."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()  # what the person should know
    left: tuple[str, ...] = ()  # what stays although it was to go, and why


class Gate(NamedTuple):
    """What a host's permissions come to us for: which tools, and what it is told to ask about."""

    tools: tuple[str, ...] = ("*",)
    ask: tuple[str, ...] = ()
    server: str = ""
    """The address of a server that answers in the place of our command; nothing where none does."""
    token: str = ""
    park: bool = False  # whether sessions without a window are set aside before they use a tool

    @property
    def matcher(self) -> str:
        """The tools and the question tools, as a host matches names."""
        if "*" in self.tools:
            return "*"
        names = [re.escape(tool).replace(r"\*", ".*") for tool in self.tools]
        return MATCHER.replace("^(", f"^({'|'.join(names)}|")


def plan_install(
    places: Places, command: str, *, mcp: bool, timeout: int | None = None, gate: Gate | None = None
) -> Plan:
    """The plan that makes `command` known to a host, with our server if that is wanted. The hook of
    the permission event may take `timeout` seconds, where somebody is asked in the inbox; with a
    `gate`, it is called for permissions too.
    """
    if mcp and places.servers is None:
        raise QuandaryError(places.elsewhere)
    changes: list[Change] = []
    notes = list(places.notes)
    for path, entry in _entries(places, command, timeout, mcp=mcp, gate=gate):
        text, copy = _read(path)
        try:
            if text is not None and entry.is_current(text):
                continue
            if _is_edited(entry, text):
                notes.insert(0, f"{path} was edited and stays as it is")
                continue
            without = None if text is None or copy is not None else entry.remove(text)
            base = copy.text if copy is not None else text if without is None else without
            after = entry.add(base or "")
        except CannotEdit as error:
            raise _refuse(path, entry, error, "add") from None
        except QuandaryError as error:
            raise CannotEdit(f"{path}: {error}; nothing was changed") from None
        folders, folder = copy.folders if copy is not None else 0, os.path.realpath(path)
        while text is None and not os.path.lexists(folder := os.path.dirname(folder)):
            folders += 1
        copy = Copy(os.path.realpath(path), base, _digest(after), folders)
        private = gate is not None and bool(gate.token) and gate.token in after
        changes.append(Change(path, text, after, entry.what, copy, folders, private))
    return Plan(tuple(changes), tuple(notes))


def plan_uninstall(places: Places, gate: Gate = Gate()) -> Plan:  # noqa: B008 - unchangeable
    """The plan that takes out whatever install put there."""
    changes, left = [], []
    for path, entry in _entries(places, NAME, None, mcp=True, gate=gate):
        text, copy = _read(path)
        if text is None:
            continue
        if copy is not None:
            changes.append(Change(path, text, copy.text, entry.what, folders=copy.folders))
            continue
        try:
            edited = _is_edited(entry, text)
            after = None if edited else entry.remove(text)
        except CannotEdit as error:
            if NAME not in text:
                continue
            raise _refuse(path, entry, error, "remove") from None
        if edited:
            left.append(f"{path} was edited; delete what you do not need")
        elif after is not None:
            folders = int(os.path.basename(os.path.dirname(path)) == NAME)
            kept = None if after.strip() in ("", BOM, "{}") else after
            changes.append(Change(path, text, kept, entry.what, folders=folders))
    return Plan(tuple(changes), left=tuple(left))


def carry_out(plan: Plan) -> None:
    """Do all of it; if something fails, put back what was done before."""
    done: list[Change] = []
    try:
        for change in plan.changes:
            if _read(change.path)[0] != change.before:
                raise QuandaryError(  # noqa: TRY301 - what was done is undone below
                    f"{change.path} has just been changed by others; try again"
                )
            if change.copy is not None:
                kept = msgspec.json.encode(change.copy).decode()
                _write(_copy_path(change.path), kept, mode=0o700)
            done.append(change)
            _write(change.path, change.after, change.folders, private=change.private)
    except BaseException:
        for change in reversed(done):
            with suppress(QuandaryError):
                _write(change.path, change.before, change.folders)
        raise
    for change in plan.changes:
        if change.copy is None:
            with suppress(OSError):
                os.unlink(_copy_path(change.path))
                os.rmdir(os.path.dirname(_copy_path(change.path)))


def _is_edited(entry: Entry, text: str | None) -> bool:
    """Whether somebody has changed a text of ours; then it is theirs."""
    found = entry.find(text or "") if isinstance(entry, Marked) else None
    return found is not None and found.edited


def _refuse(path: str, entry: Entry, error: CannotEdit, order: str) -> CannotEdit:
    """What is said of a file that we cannot edit, with the text that belongs there or does not."""
    text = (entry.table or entry) if isinstance(entry, Server) else entry
    snippet = text.body if isinstance(text, Marked) else text.add("")
    return CannotEdit(f"{path}: {error}; nothing was changed; {order} this yourself", snippet)


def _entries(
    places: Places, command: str, timeout: int | None, *, mcp: bool, gate: Gate | None
) -> Iterator[tuple[str, Entry]]:
    """What belongs into which file."""
    yield places.lesson.path, lesson_entry(places.lesson, command)
    if places.hooks is not None:
        yield places.hooks, Hooks(command, timeout, gate)
    if places.shell_hooks is not None:
        yield places.shell_hooks, Hooks(command, timeout, gate, "codex")
    if mcp and places.servers is not None:
        yield places.servers.path, Server(places.servers, command)


def _read(path: str) -> tuple[str | None, Copy | None]:
    """A file, and the copy of one that is still as install left it."""
    if not os.path.exists(path):
        return None, None
    text = read_text(path)
    with suppress(QuandaryError, msgspec.DecodeError):
        copy = msgspec.json.decode(read_text(_copy_path(path)), type=Copy)
        return text, copy if copy.left == _digest(text) else None
    return text, None


def _write(
    path: str, text: str | None, folders: int = 0, mode: int = 0o777, *, private: bool = False
) -> None:
    """A file, or none, with the folders that come and go with it."""
    real = os.path.realpath(path)
    try:
        if text is not None:
            os.makedirs(os.path.dirname(real), mode, exist_ok=True)
            if private:
                os.close(os.open(real, os.O_WRONLY | os.O_CREAT, 0o600))
                os.chmod(real, os.stat(real).st_mode & 0o700)  # which it keeps
            write_text(path, text)
            return
        with suppress(FileNotFoundError):
            os.unlink(real)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise QuandaryError(f"{path}: cannot be changed ({reason})") from None
    with suppress(OSError):  # there is something else in it
        for _ in range(folders):
            os.rmdir(real := os.path.dirname(real))


def _copy_path(path: str) -> str:
    name = sha256(os.path.realpath(path).encode(errors="surrogateescape")).hexdigest()[:16]
    return os.path.join(data_folder(), "installed", f"{name}.json")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Marked(NamedTuple):
    """Our text in a file that people may edit, with a digest that shows whether they did."""

    body: str
    what: str
    begin: str = ""  # empty where the whole file is ours
    opening: str = "<!-- "
    closing: str = " -->"

    def is_current(self, text: str) -> bool:
        """Whether our text is there, word for word."""
        found = self.find(text)
        return found is not None and not found.edited and found.body == self.body

    def add(self, text: str) -> str:
        """The file with our text at its end; one that is somebody else's is refused."""
        newline = "\r\n" if "\r\n" in text else "\n"
        ours = f"{self.begin}\n{self.body}" if self.begin else self.body
        ours = f"{ours}{self.opening}quandary:end {_digest(self.body)}{self.closing}"
        ours = ours.replace("\n", newline)
        if text in ("", BOM):
            return text + ours + newline
        if not self.begin:
            raise QuandaryError("the file is there already and is not ours; move it away")
        if text.endswith(newline):
            return text + newline + ours + newline
        return text + newline * 2 + ours

    def remove(self, text: str) -> str | None:
        """The file without our text, and without the space that was put before it."""
        if (found := self.find(text)) is None:
            return None
        if not self.begin:
            return ""
        newline = "\r\n" if "\r\n" in text else "\n"
        before, behind = text[: found.start], text[found.end :]
        if not behind:
            return before.removesuffix(newline).removesuffix(newline)
        if before.endswith(newline * 2):
            before = before.removesuffix(newline)
        return before + behind.removeprefix("\r").removeprefix("\n")

    def find(self, text: str) -> Found | None:
        """Our text in a file, if there is one."""
        begin = rf"(?:^|(?<={BOM})){re.escape(self.begin)}\r?\n" if self.begin else rf"\A{BOM}?"
        end = rf"^{re.escape(self.opening)}quandary:end (?P<digest>\w+)[^\r\n]*(?=\r?$)"
        if (found := re.search(rf"(?ms){begin}(?P<body>.*?){end}", text)) is None:
            return None
        body = found["body"].replace("\r\n", "\n")
        body = body if self.begin else body + text[found.end() :].strip()
        return Found(found.start(), found.end(), body, _digest(body) != found["digest"])


class Found(NamedTuple):
    """A text of ours as it is now."""

    start: int
    end: int  # where it ends, before the newline
    body: str
    edited: bool


def lesson_entry(lesson: Lesson, command: str) -> Marked:
    """The instructions for agents."""
    begin = "<!-- quandary:begin -->" if lesson.section else ""
    return Marked(lesson.text_for(command), "instructions for agents", begin)


def load_json(text: str) -> dict[str, Any]:
    """The object that a file of settings holds; comments and doubled keys cannot be edited."""
    text = text.removeprefix(BOM)
    if not text.strip():
        return {}
    try:
        data = json.loads(text, object_pairs_hook=_unique_keys)
    except RecursionError:
        raise CannotEdit("nested too deeply") from None
    except ValueError as error:
        raise CannotEdit(f"not plain JSON ({error}), perhaps because of comments") from None
    if not isinstance(data, dict):
        raise ParseError("the whole is not an object, { … }")
    return data


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("it has a key twice")
    return data


def _write_json(data: dict[str, Any], like: str) -> str:
    """JSON with the indentation, line ends and last newline of another text."""
    body = like.removeprefix(BOM)
    indented = re.search(r"\n([ \t]+)\S", body)
    indent = indented[1] if indented else None if body.strip(" \t\r\n{}") else "  "
    separators = (",", ": ") if indent else (", ", ": ") if re.search(r'":\s', body) else (",", ":")
    text = json.dumps(data, ensure_ascii="\\u" in body, indent=indent, separators=separators)
    end = body[len(body.rstrip()) :] if body.strip() else "\n"
    newline = "\r\n" if "\r\n" in body else "\n"
    return like[: len(like) - len(body)] + text.replace("\n", newline) + end


def _member(data: dict[str, Any], key: str, kind: type, path: str) -> Any:  # noqa: ANN401 - any JSON
    """The list or object below a key, made where there is none."""
    value = data.setdefault(key, kind())
    if not isinstance(value, kind):
        raise ParseError(f"{path} is not {'a list, [ … ]' if kind is list else 'an object, { … }'}")
    return value


class Hooks(NamedTuple):
    """Claude Code's hooks around questions, with a gate around every tool; Codex's, in a shell."""

    command: str
    timeout: int | None = None
    """Seconds that the hook that waits for a person may take, where that is longer than usual."""
    gate: Gate | None = None
    host: str = "claude"

    @property
    def rules(self) -> tuple[str, ...]:
        """What the host is told to ask about."""
        return self.gate.ask if self.gate is not None else ()

    @property
    def what(self) -> str:
        """What it is, in words."""
        asks = f", and rules to ask about {', '.join(self.rules)}" if self.rules else ""
        kinds = {"questions": True, "permissions": self.gate, "sessions": True}
        about = " and ".join(kind for kind, wanted in kinds.items() if wanted)
        return f"hooks {', '.join(self.events)} for {about}{asks}"

    @property
    def events(self) -> dict[str, str]:
        """The events of the host, and what each has us do."""
        if self.host == "claude":
            return EVENTS if self.gate else HOOKS
        wanted = ("SessionStart", "PreToolUse", *(("PermissionRequest",) if self.gate else ()))
        return {event: HOOKS[event] for event in wanted}

    def handler(self, event: str) -> dict[str, Any]:
        """How the host calls us."""
        word, kind = self.events[event], "command"
        called: dict[str, Any] = {"command": self.command, "args": ["hook", word]}
        if self.host == "codex":
            called = {"command": shlex.join([self.command, "hook", word, self.host])}
        elif self.gate and self.gate.server and word in ("permission", "post"):
            kind, headers = "http", {"Authorization": f"Bearer {self.gate.token}"}
            called = {"url": f"{self.gate.server}{_PATH}{word}", "headers": headers}
        waits = word == "permission" or (word == "pre" and self.host == "codex")
        timeout = {"timeout": self.timeout} if self.timeout and waits else {}
        return {"type": kind, **called, **timeout}

    def is_current(self, text: str) -> bool:
        """Whether all events call us; who wrote that line by hand need not have it twice."""
        current = {
            call.event
            for call in our_hooks(text)
            if call.event in self.events
            if call.by_hand
            or (
                (call.url or call.command) in self.handler(call.event).values()
                and (call.event != "PermissionRequest" or call.timeout >= (self.timeout or 0))
                and (self.gate is None or call.matcher == self._matcher(call.event))
                and (not call.url or self.gate is None or self.gate.token in text)
            )
        }
        listed = _find_list(load_json(text))
        return current >= set(self.events) and all(rule in listed for rule in self.rules)

    def _matcher(self, event: str) -> str:
        if event == "SessionStart":
            return STARTS
        if self.host == "codex" and event == "PreToolUse":
            return CODEX_MATCHER
        gate = self.gate if event != "PreToolUse" or (self.gate and self.gate.park) else None
        return gate.matcher if gate else MATCHER

    def add(self, text: str) -> str:
        """One more group for each event, behind those that are there."""
        data = load_json(text)
        hooks = _member(data, "hooks", dict, "hooks")
        for event in self.events:
            group = {"matcher": self._matcher(event), "hooks": [self.handler(event)]}
            _member(hooks, event, list, f"hooks.{event}").append(group)
        if self.rules:
            permissions = _member(data, "permissions", dict, "permissions")
            asked = _member(permissions, "ask", list, "permissions.ask")
            asked += [rule for rule in self.rules if rule not in asked]
        return _write_json(data, text)

    def remove(self, text: str) -> str | None:
        """Without our hooks, and without the groups that held nothing else."""
        data = load_json(text)
        ours = [one for one in _handlers(data) if _is_ours(one[-1], ["hook", EVENTS[one[0]]])]
        for event, groups, group, handler in ours:
            group["hooks"].remove(handler)
            if not group["hooks"]:
                groups.remove(group)
            if not groups:
                del data["hooks"][event]
        if ours and not data["hooks"]:
            del data["hooks"]
        listed = _find_list(data)
        asked = [rule for rule in listed if rule not in self.rules]
        if ours and len(asked) < len(listed):
            data["permissions"]["ask"] = asked
            for holder, key in ((data["permissions"], "ask"), (data, "permissions")):
                if not holder[key]:
                    del holder[key]
        return _write_json(data, text) if ours else None


def _find_list(data: dict[str, Any]) -> list[Any]:
    """What Claude Code is told to ask about."""
    permissions = data.get("permissions")
    listed = permissions.get("ask") if isinstance(permissions, dict) else None
    return listed if isinstance(listed, list) else []


def _handlers(data: dict[str, Any]) -> Iterator[tuple[str, list[Any], dict[str, Any], Any]]:
    """The hooks of our events: the event, its groups, the group, and the hook."""
    hooks = data.get("hooks")
    for event in EVENTS:
        groups: Any = hooks.get(event) if isinstance(hooks, dict) else None
        for group in groups if isinstance(groups, list) else ():
            listed = group.get("hooks") if isinstance(group, dict) else None
            for handler in listed if isinstance(listed, list) else ():
                yield event, groups, group, handler


class InstalledHook(NamedTuple):
    """A hook that calls us."""

    event: str
    command: str
    timeout: float  # how many seconds the host lets it run; none where only the host knows
    by_hand: bool  # somebody wrote it as a line for a shell
    matcher: str = ""
    url: str = ""  # where a server answers it, in the place of a command


def our_hooks(text: str) -> list[InstalledHook]:
    """Every hook that calls us, installed or written by hand."""
    found = []
    for event, _, group, handler in _handlers(load_json(text)):
        words = ["hook", EVENTS[event]]
        line = handler.get("command") if isinstance(handler, dict) else None
        said = line.split() if isinstance(line, str) and "args" not in handler else []
        by_hand = said[1:] == words and _is_us(said[0])
        if by_hand or _is_ours(handler, words):
            timeout = handler.get("timeout")
            seconds = timeout if isinstance(timeout, int | float) else 0
            called, matcher = said[0] if by_hand else str(line or ""), str(group.get("matcher"))
            url = str(handler.get("url") or "")
            found.append(InstalledHook(event, called, seconds, by_hand, matcher, url))
    return found


def _is_ours(entry: Any, words: list[str]) -> bool:  # noqa: ANN401 - whatever somebody wrote
    """Whether an entry runs this program with these words, as install writes it."""
    command = entry.get("command") if isinstance(entry, dict) else None
    if isinstance(entry, dict) and entry.get("type") == "http":
        return words[0] == "hook" and str(entry.get("url")).endswith(_PATH + words[-1])
    if isinstance(command, str) and command.endswith(line := f" {' '.join(words)} codex"):
        return _is_us(command.removesuffix(line).strip("'"))
    return isinstance(entry, dict) and entry.get("args") == words and _is_us(command)


def _is_us(command: object) -> bool:
    name = command.replace("\\", "/").rpartition("/")[2] if isinstance(command, str) else ""
    return name in (NAME, f"{NAME}.exe")


class Server(NamedTuple):
    """Our server in a host's list of servers: JSON, or TOML with a table between marks."""

    servers: Servers
    command: str
    what: str = "the MCP server"

    @property
    def table(self) -> Marked | None:
        """What is written where the list is TOML."""
        if not self.servers.path.endswith(".toml"):
            return None
        entry = self.servers.entry(self.command).items()
        lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry]
        body = "\n".join([f"[{self.servers.key}.{NAME}]", *lines, ""])
        return Marked(body, self.what, "# quandary:begin", "# ", "")

    def is_current(self, text: str) -> bool:
        """Whether it is there; an entry of our name that somebody else made is never touched."""
        found = self.find(text)
        if found is not None and not _is_ours(found, ["mcp"]):
            key = self.servers.key
            raise QuandaryError(f"{key}.{NAME} is there already and is another server; rename it")
        return found is not None and found["command"] == self.command

    def add(self, text: str) -> str:
        """The list with one more server."""
        key, entry = self.servers.key, self.servers.entry(self.command)
        if self.table is None:
            data = load_json(text)
            _member(data, key, dict, key)[NAME] = entry
            return _write_json(data, text)
        after = self.table.add(text)
        with suppress(ParseError):
            if self.find(after) == entry:
                return after
        raise CannotEdit(f"no table can be added to {key}")

    def remove(self, text: str) -> str | None:
        """The list without it."""
        if self.table is not None:
            return self.table.remove(text)
        if not _is_ours(self.find(text), ["mcp"]):
            return None
        data = load_json(text)
        del data[self.servers.key][NAME]
        if not data[self.servers.key]:
            del data[self.servers.key]
        return _write_json(data, text)

    def find(self, text: str) -> Any:  # noqa: ANN401 - whatever somebody wrote
        """What a file says of a server with our name."""
        try:
            data = load_json(text) if self.table is None else load_toml(text)
        except ValueError as error:
            raise CannotEdit(f"not TOML ({error})") from None
        listed = data.get(self.servers.key)
        return listed.get(NAME) if isinstance(listed, dict) else None


Entry = Marked | Hooks | Server
"""Something of ours in a file: whether it is there, the text with it, and the text without it."""


def our_server(servers: Servers, text: str) -> str:
    """The command of our server in a host's list; nothing where it is not there."""
    found = Server(servers, "").find(text)
    return str(found["command"]) if _is_ours(found, ["mcp"]) else ""
