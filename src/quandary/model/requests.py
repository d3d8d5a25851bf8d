"""A permit: one exact action, what makes it risky, and the digest that it is known by.

The digest is that of RFC 8785's canonical form where the input is JSON, so that spaces, the order
of keys and the spelling of numbers do not count; else it is that of the bytes. JSON that programs
may read in different ways (a key twice, a number that loses digits, half a character) counts as
bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from quandary.model.one_way import one_way, one_way_command

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
QUIET = re.compile(r"[ \t](?:[12&]?>[ \t]?/dev/null|2>&1)(?=[\s;|&)]|$)")
"""What only silences a command."""
OUTSIDE = "outside the project"


class PermitRequest(Struct, frozen=True, omit_defaults=True):
    """What somebody wants to do, just as it will be done."""

    action: str
    """In a line: `deploy build 812`, `run a command`."""
    input: str = ""
    """The exact input: JSON as it came, or any text."""
    tool: str = ""
    """The tool of a host that it is done with."""
    folder: str = ""
    host: str = ""
    session: str = ""
    agent: str = ""
    """Which sub-agent wants it; nothing for the agent itself."""
    reason: str = ""
    """Why it is asked about, in the host's or the caller's words."""
    rule: str = ""
    """What the host can allow for the rest of its session, whole."""
    takes: Literal["", "text", "json"] = ""
    """Whether the host takes a changed input: its main text, or all of it as JSON."""
    before: str = ""
    """Of a plan, the version before."""

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
        """The line for a shell, where that is what it comes to."""
        return str(self.values.get("command") or "") if self.tool in SHELLS else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that a tool for files is given."""
        names = ("file_path", "notebook_path", "absolute_path", "path")
        return tuple(str(v) for n in names if (v := self.values.get(n)))

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


SHELLS = frozenset({"Bash", "shell", "bash", "run_shell_command", "local_shell", "exec_command"})
PLANS = frozenset({"ExitPlanMode", "exit_plan_mode"})
_ACTIONS = {
    "run a command": ("Bash", "shell", "bash", "run_shell_command"),
    "edit a file": ("Edit", "MultiEdit", "NotebookEdit", "edit", "replace"),
    "write a file": ("Write", "write_file", "create"),
    "fetch from the network": ("WebFetch", "WebSearch", "web_fetch"),
    "carry out a plan": PLANS,
}


def find_risks(request: PermitRequest) -> dict[str, str]:
    """What makes an action risky, each with what shows it; nothing is proven by an empty one."""
    command, path = QUIET.sub(" ", request.command), request.path
    text = command or path or f"{request.action}\n{request.input}"
    found: dict[str, str] = {}
    if irrevocable := find_one_way(request):
        found["may not be possible to take back"] = irrevocable
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
    if request.plan or (request.path and not request.command):
        return ""  # a text that is written is judged when it is run
    command = QUIET.sub(" ", request.command)
    if not command:
        return one_way(request.action, request.input)
    parts = re.split(r"\|\|?|&&?|;|\n|\$\(|`|[()]", command)
    return one_way_command(command, *(part.strip() for part in parts))


def _is_below(folder: str, path: str) -> bool:
    """Whether a path names something below a folder, as far as its letters tell."""
    if path.startswith("~"):
        return False
    whole = os.path.normpath(os.path.join(folder, path))
    return f"{whole}/".startswith(f"{os.path.normpath(folder).rstrip('/')}/")


# -- the digest ------------------------------------------------------------------------------------


class _Loose(ValueError):  # noqa: N818 - said of JSON
    """JSON that programs may read in different ways."""


def digest_input(data: str | bytes) -> str:
    """By what an input is known: of its canonical form where it is JSON, else of its bytes."""
    import json  # noqa: PLC0415 - only where a permit is
    from hashlib import sha256  # noqa: PLC0415 - the same

    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    try:
        value = json.loads(
            raw.decode(),
            object_pairs_hook=_unique,
            parse_float=_number,
            parse_int=_number,
            parse_constant=_refuse,
        )
        raw = canonical(value).encode()
    except (ValueError, RecursionError):
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
    raise _Loose(f"{type(value).__name__} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise _Loose("a key is there twice")
    return found


def _number(spelt: str) -> float:
    """A number that every program reads alike; one with more digits than that is refused."""
    from decimal import Decimal  # noqa: PLC0415 - only where there are numbers

    number = float(spelt)
    if number in (float("inf"), float("-inf")) or Decimal(spelt) != Decimal(repr(number)):
        raise _Loose(f"{spelt} loses digits")
    return number


def _refuse(spelt: str) -> float:
    raise _Loose(f"{spelt} is not JSON")


def _write_text(text: str) -> str:
    import json  # noqa: PLC0415 - only where a permit is

    text.encode()  # half a character is refused
    return json.dumps(text, ensure_ascii=False)


def _write_number(number: float) -> str:
    """As ECMAScript does: the shortest digits, with an exponent below 1e-6 and from 1e21 on."""
    if number == 0:
        return "0"
    mantissa, _, power = f"{abs(number)!r}".partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    point = len(whole) + int(power or 0) - (len(whole + part) - len(digits))
    digits = digits.rstrip("0")
    sign, count = "-" if number < 0 else "", len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    behind = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{behind}e{'+' if point > 0 else '-'}{abs(point - 1)}"
