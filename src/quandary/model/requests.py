"""What an agent stops for: one exact action, with what makes it risky, or a question of its host's.

An action is known by a digest: that of RFC 8785's canonical form where its input is JSON, so that
spaces, the order of keys and the spelling of numbers do not count; else that of the bytes. So is
JSON that programs may read in different ways (a key twice, a number that loses digits, half a
character).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from quandary.errors import ParseError
from quandary.model.asks import Choice, Question, split_label
from quandary.model.one_way import one_way, one_way_command
from quandary.model.text import LETTERS, sha256, take_once

DIGEST = "sha256:"
_NETWORK = re.compile(
    r"(?<![\w./-])(?:aria2c|aws|az|curl|docker|ftp|gcloud|gh|glab|helm|kubectl|nc|ncat|npm|npx|pip3?"
    r"|pipx|pnpm|rclone|rsync|scp|sftp|socat|ssh|telnet|terraform|twine|uv|uvx|wget|yarn)(?![\w./-])"
)
"""Programs that mostly speak to other machines."""
_FETCHES = frozenset({"WebFetch", "WebSearch", "web_fetch", "google_web_search"})
_REMOTE = re.compile(r"\b[a-z][a-z0-9+.-]*://|\bgit\s+(?:push|pull|fetch|clone)\b")
_SECRET = re.compile(
    r"(?i)(?:^|[\s/'\"=@:])(?:\.env(?:\.\w+)?|\.netrc|\.pgpass|id_(?:rsa|dsa|ecdsa|ed25519)"
    r"|\.ssh|\.aws|\.gnupg|[\w.-]*(?:credential|secret|password|passwd|api_?key|private_?key|token)"
    r"[\w.-]*|[\w.-]+\.(?:pem|p12|pfx|keystore))\b"
)
_PATH = re.compile(
    r"(?:^|[\s'\"=(<>]|(?<!\w):)(~?/[^\s'\"|&;()<>]*|(?:\.\./)+[^\s'\"|&;()<>]*|\.\.(?=\s|$))"
)
_PATH_NAME = re.compile(r"(?i)(?:\w*_?(?:path|file)|directory|dir|folder)")
_NO_ORDER = re.compile(
    rf"{_PATH_NAME.pattern}|(?:old|new)\w*|edits|diff|patch|\w*contents?|\w*text|body|glob|\w*mode"
    r"|patterns?|regex"
)
QUIET = re.compile(r"[ \t](?:[12&]?>[ \t]?/dev/null|2>&1)(?=[\s;|&)]|$)")
"""What only silences a command."""
PARTS = re.compile(r"[|&;()\n`]+|\$\(")  # between the parts of a command, however it is written
OUTSIDE = "outside the project"
ONE_WAY = "may not be possible to take back"


class PermitRequest(Struct, frozen=True, omit_defaults=True):
    """What somebody wants to do, just as it will be done."""

    action: str  # in a line: `deploy build 812`, `run a command`
    input: str = ""  # the exact input: JSON as it came, or any text
    tool: str = ""  # the tool of a host that it is done with
    folder: str = ""
    host: str = ""
    session: str = ""
    agent: str = ""  # which sub-agent wants it; nothing for the agent itself
    reason: str = ""  # why it is asked about, in the host's or the caller's words
    rule: str = ""  # what the host can allow for the rest of its session, whole
    takes: Literal["", "text", "json"] = ""
    """Whether the host takes a changed input: its main text, or all of it as JSON."""
    before: str = ""  # of a plan, the version before
    asker: str = ""  # who asks, by the name that they gave; it is said where no host is known

    @property
    def values(self) -> dict[str, Any]:
        """The input as an object; empty where it is none."""
        import json  # noqa: PLC0415 - only where somebody is asked

        try:
            found = json.loads(self.input)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def command(self) -> str:
        """The line for a shell, where that is what it comes to, for a tool of a server too."""
        line = str(self.values.get("command") or self.values.get("cmd") or "")
        if self.tool in SHELLS:
            return line
        named = self.paths and re.fullmatch(r"\w+", line)  # `create`, of a tool for files
        return line if self.tool.startswith("mcp__") and not named else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that a tool for files is given, by whatever name."""
        values = self.values
        named = sorted((n for n in values if _PATH_NAME.fullmatch(n)), key=len, reverse=True)
        given = [v if isinstance(v, list) else [v] for v in map(values.get, named) if v]
        found = tuple(str(one) for several in given for one in several)
        return (*found, *_PATH.findall(QUIET.sub(" ", self.beside))) if found else ()

    @property
    def beside(self) -> str:
        """What a tool for files is told besides the files and what is written or looked for."""
        named = self.values.items()
        told = (v for n, v in named if isinstance(v, dict) or not _NO_ORDER.fullmatch(n))
        return "\n".join(str(value) for value in told if isinstance(value, str | list | dict))

    @property
    def path(self) -> str:
        """The file that a tool for files works on."""
        return next(iter(self.paths), "")

    @property
    def plan(self) -> str:
        """The plan that is to be approved, where it is one."""
        return str(self.values.get("plan") or "") if self.tool in PLANS else ""

    @property
    def digest(self) -> str:
        """What the permit is good for."""
        return digest_input(self.input)


def name_action(tool: str) -> str:
    """What somebody wants to do who wants to use a tool of a host, in a line."""
    return next((action for action, tools in _ACTIONS.items() if tool in tools), f"use {tool}")


SHELLS = frozenset(
    {"Bash", "PowerShell", "Monitor", "shell", "bash", "run_shell_command", "local_shell"}
    | {"exec_command", "execute_command", "run_command", "run_in_terminal"}
)
QUESTIONS = re.compile(r"(?:mcp__.+__)?AskUserQuestion")  # the question tool of a host
PLANS = frozenset({"ExitPlanMode", "exit_plan_mode"})
_ACTIONS = {
    "run a command": SHELLS,
    "edit a file": ("Edit", "MultiEdit", "NotebookEdit", "edit", "replace"),
    "write a file": ("Write", "write_file", "create"),
    "fetch from the network": _FETCHES,
    "carry out a plan": PLANS,
}


def find_risks(request: PermitRequest) -> dict[str, str]:
    """What makes an action risky, each with what shows it; nothing is proven by an empty one."""
    command, path = QUIET.sub(" ", request.command), request.path
    about = f"{path}\n{request.beside}" if path else f"{request.action}\n{request.input}"
    text = command or about
    found: dict[str, str] = {}
    if irrevocable := find_one_way(request):
        found[ONE_WAY] = irrevocable
    named = [*request.paths] or _PATH.findall(text)
    if request.folder and (outside := [p for p in named if not _is_below(request.folder, p)]):
        found[OUTSIDE] = ", ".join(dict.fromkeys(outside))
    remote = _REMOTE.search(text) or _NETWORK.search(command)
    if request.tool in _FETCHES or remote:
        found["uses the network"] = remote[0] if remote else request.tool
    if secret := _SECRET.search(text):
        found["may touch secrets"] = secret[0].strip(" \t\n/'\"=@:")
    return found


def find_one_way(request: PermitRequest) -> str:
    """The words that say that an action cannot be taken back; nothing where there are none."""
    if request.plan:
        return ""
    if request.path and not request.command:  # a text that is written is judged when it is run
        return request.tool if one_way(f"{request.tool} folder") else one_way(request.beside)
    if not (command := QUIET.sub(" ", request.command)):
        return one_way(request.action, request.input)
    parts = (part.strip() for part in PARTS.split(command))
    found = one_way_command(*dict.fromkeys((command, *parts)))
    return found or ("" if request.tool in SHELLS else one_way(request.action, request.input))


def _is_below(folder: str, path: str) -> bool:
    """Whether a path names something below a folder, as far as its letters tell."""
    if path.startswith("~"):
        return False
    whole = os.path.normpath(os.path.join(folder, path))
    return f"{whole}/".startswith(f"{os.path.normpath(folder).rstrip('/')}/")


def read_question(number: int, entry: dict[str, Any]) -> Question:
    """A question of a call to a question tool."""
    choices = []
    for code, option in zip(LETTERS, options_of(entry), strict=False):
        label, recommended = split_label(label_of(option))
        description = option.get("description") if isinstance(option, dict) else ""
        choices.append(Choice(code, label, str(description or ""), recommended=recommended))
    return Question(
        key=f"{number}:",
        header=str(entry.get("header") or ""),
        text=str(entry.get("question") or "").strip(),
        choices=tuple(choices),
        multi=entry.get("multiSelect") is True,
        item=str(number),
    )


def options_of(entry: object) -> list[Any]:
    """What is offered with a question."""
    found = entry.get("options") if isinstance(entry, dict) else None
    return found if isinstance(found, list) else []


def label_of(option: object) -> str:
    """An option as the host spells it."""
    return str(option.get("label", "")) if isinstance(option, dict) else str(option)


def previews_of(entry: object) -> tuple[str, ...]:
    """What the options of a question look like, where the host shows that."""
    shown = ((o, o.get("preview")) for o in options_of(entry) if isinstance(o, dict))
    return tuple(
        f"**{option.get('label')}**\n\n{preview.strip()}"
        for option, preview in shown
        if isinstance(preview, str) and preview.strip()
    )


def are_clear(entries: object) -> bool:
    """Whether all questions of a call can be shown, and each answer is found by its text."""
    listed = entries if isinstance(entries, list) else []
    asked = [one.get("question") if isinstance(one, dict) else "" for one in listed]
    texts = {one.strip() for one in asked if isinstance(one, str)} - {""}
    few = all(len(options_of(entry)) <= len(LETTERS) for entry in listed)
    return bool(listed) and len(texts) == len(listed) and few


def digest_input(data: str | bytes) -> str:
    """By what an input is known: of its canonical form where it is JSON, else of its bytes."""
    import json  # noqa: PLC0415 - only where a permit is

    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    try:
        value = json.loads(
            raw.decode(),
            object_pairs_hook=take_once,
            parse_float=_number,
            parse_int=_number,
            parse_constant=_number,
        )
        raw = canonical(value).encode()
    except (ParseError, ValueError, RecursionError):
        pass
    return DIGEST + sha256(raw).hexdigest()


def canonical(value: object) -> str:
    """JSON as RFC 8785 writes it: no spaces, keys in the order of UTF-16, numbers as ECMAScript."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return _write_number(float(value))
    if isinstance(value, str):
        return _write_text(value)
    if isinstance(value, Mapping):
        pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be"))
        return "{" + ",".join(f"{_write_text(k)}:{canonical(v)}" for k, v in pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical, value)) + "]"
    raise ValueError(f"{type(value).__name__} is not JSON")


def _number(spelt: str) -> float:
    """A number that every program reads alike; one with more digits than that is refused."""
    from decimal import Decimal  # noqa: PLC0415 - only where there are numbers

    number = float(spelt)
    if number in (float("inf"), float("-inf")) or Decimal(spelt) != Decimal(repr(number)):
        raise ValueError(f"{spelt} loses digits")
    return number


def _write_text(text: str) -> str:
    import json  # noqa: PLC0415 - only where a permit is

    text.encode()  # half a character is refused
    return json.dumps(text, ensure_ascii=False)


def _write_number(number: float) -> str:
    """As ECMAScript does: the shortest digits, with an exponent below 1e-6 and from 1e21 on."""
    if number == 0:
        return "0"
    from decimal import Decimal  # noqa: PLC0415 - only where there are numbers

    _, figures, power = Decimal(repr(abs(number))).normalize().as_tuple()
    digits, sign, count = "".join(map(str, figures)), "-" if number < 0 else "", len(figures)
    point = count + int(power)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    behind = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{behind}e{'+' if point > 0 else '-'}{abs(point - 1)}"
