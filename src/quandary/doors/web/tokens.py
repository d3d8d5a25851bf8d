"""Who is at the door: codes, tokens, signed cookies, and the marks that forms carry.

Nothing here does any input or output but for one file, the key that cookies are signed with, which
outlives the server so that logins survive a restart.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import msgspec

from quandary.errors import ParseError, QuandaryError

SESSION_SECONDS = 12 * 3600
CODE_SECONDS = 15 * 60
FAILURES = 10  # wrong secrets of one kind, from one address, before others from there have to wait
MEMORY = 60.0  # seconds for which a wrong one counts
PAUSE = 1.0  # seconds from one to the next then
LONGEST_WAIT = 10.0
MOST_ADDRESSES = 10_000
SERVERS = "token"  # what the server's own token goes by
_HASHED = "sha256:"
Kind = Literal["login", "token"]  # where a secret was given: in the form, or with a request
Guesser = tuple[Kind, str]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Session(msgspec.Struct, frozen=True):
    """A login of a person: signed, so that nobody else can make one, and kept in their cookie."""

    user: str
    until: float
    mark: str  # random; what forms carry is made from it


class Visitor(NamedTuple):
    """Whoever sends a request."""

    session: Session | None = None
    bearer: str = ""  # the name behind a token that came with the request itself
    is_hook: bool = False  # it came with the token of the user's own hooks, from this machine

    @property
    def is_person(self) -> bool:
        """Whether what they say is recorded as a person's own."""
        return self.session is not None

    @property
    def name(self) -> str:
        """Under which name it is recorded."""
        return self.session.user if self.session is not None else self.bearer


class Keys:
    """The secrets of a server."""

    def __init__(
        self,
        signing: bytes,
        *,
        token: str = "",
        users: Mapping[str, Any] | None = None,
        metrics: object = "",
    ) -> None:
        self._signing = signing
        self.server = ""  # what tells the names of cookies apart
        self._metrics = _digest("[serve] metrics", metrics) if metrics else b""
        self._token = _hash(token) if token.strip() else b""
        self._hook = _hash(hook_token(signing))
        self._users = {
            name: _digest(f"[users.{name}] token", isinstance(user, dict) and user.get("token"))
            for name, user in (users or {}).items()
        }
        self._codes: dict[bytes, tuple[float, float]] = {}
        """When each ends, by the clock on the wall and by one that nobody can set back."""
        self._ended: dict[str, float] = {}
        """The marks of sessions that were logged out of, and when they would have ended."""
        self._failures: dict[Guesser, list[float]] = {}
        self._turns: dict[Guesser, float] = {}
        """When the next secret of somebody who guesses is looked at."""
        self._proven: set[tuple[str, bytes]] = set()  # where each secret that was right came from

    def bind(self, server: str) -> None:
        """Sign for one server, by a name of its own: a login elsewhere is worth nothing here."""
        own = hmac.new(self._signing, f"server:{server}".encode(), hashlib.sha256)
        self._signing, self.server = own.digest(), f"-{own.hexdigest()[:12]}"

    @property
    def guarded(self) -> bool:
        """Whether there is anything that a stranger could be asked for."""
        return bool(self._token or self._users)

    def new_code(self) -> str:
        """A code that opens one login, for whoever sees the terminal that the server runs in."""
        code = secrets.token_urlsafe(9)
        self._codes[_hash(code)] = (time.time() + CODE_SECONDS, time.monotonic() + CODE_SECONDS)
        return code

    @property
    def has_code(self) -> bool:
        """Whether a code was printed that still opens a login."""
        now, since = time.time(), time.monotonic()
        codes = self._codes.items()
        self._codes = {code: ends for code, ends in codes if ends[0] > now and ends[1] > since}
        return bool(self._codes)

    def log_in(self, secret: str) -> Session | None:
        """A session for a one-time code or for a user's own token; nothing for anything else."""
        digest = _hash(secret)
        for known in list(self._codes) if self.has_code else ():
            if hmac.compare_digest(known, digest):
                del self._codes[known]
                return self._session("")
        user = self._user(digest)
        return self._session(user) if user is not None else None

    def log_out(self, session: Session) -> None:
        """End a session for good, even where its cookie was copied."""
        now = time.time()
        self._ended = {mark: until for mark, until in self._ended.items() if until > now}
        self._ended[session.mark] = session.until

    def bearer(self, secret: str) -> str | None:
        """The name behind a token in a request: a user's, or `token` for the server's own."""
        digest = _hash(secret)
        own = bool(self._token) and hmac.compare_digest(self._token, digest)
        user = self._user(digest)
        return SERVERS if user is None and own else user

    def _user(self, digest: bytes) -> str | None:
        same = (n for n, known in self._users.items() if hmac.compare_digest(known, digest))
        return next(same, None)

    def is_user(self, visitor: Visitor) -> bool:
        """Whether somebody has logged in, or sent a user's own token and not the server's."""
        name = visitor.bearer
        return visitor.is_person or (name in self._users and not (self._token and name == SERVERS))

    def is_taken(self, name: str) -> bool:
        """Whether a name stands for whoever has a token, so that nobody else goes by it."""
        return name.strip().casefold() in {known.casefold() for known in (SERVERS, *self._users)}

    def watches(self, secret: str) -> bool:
        """Whether a token is that of a program which may see the figures, and nothing else."""
        return bool(self._metrics) and hmac.compare_digest(self._metrics, _hash(secret))

    def is_hook(self, secret: str) -> bool:
        """Whether a token is that of the user's own hooks, which may do what hooks do."""
        return hmac.compare_digest(self._hook, _hash(secret))

    def _session(self, user: str) -> Session:
        return Session(user, time.time() + SESSION_SECONDS, secrets.token_urlsafe(16))

    def seal(self, session: Session) -> str:
        """The session as a cookie."""
        body = base64.urlsafe_b64encode(msgspec.json.encode(session)).decode().rstrip("=")
        return f"{body}.{self._sign(b'cookie', body, self._users.get(session.user, b''))}"

    def unseal(self, cookie: str) -> Session | None:
        """The session in a cookie; nothing where it was changed, is too old or lost its user."""
        body, _, signature = cookie.rpartition(".")
        try:
            written = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
            session = msgspec.json.decode(written, type=Session)
        except (ValueError, msgspec.DecodeError):
            return None
        is_known = not session.user or session.user in self._users
        signed = self._sign(b"cookie", body, self._users.get(session.user, b""))
        return session if is_known and _same(signed, signature) and self.is_open(session) else None

    def is_open(self, session: Session) -> bool:
        """Whether a session has neither run out nor been ended."""
        return session.until > time.time() and session.mark not in self._ended

    def form_mark(self, session: Session | None) -> str:
        """What a form of this visitor carries, and a form on somebody else's page cannot."""
        return self._sign(b"form", session.mark if session is not None else "nobody")

    def is_own_form(self, session: Session | None, mark: str) -> bool:
        """Whether a form was made for this visitor."""
        return _same(self.form_mark(session), mark)

    def _sign(self, purpose: bytes, text: str, secret: bytes = b"") -> str:
        signed = purpose + b":" + secret + b":" + text.encode()
        return hmac.new(self._signing, signed, hashlib.sha256).hexdigest()

    def wait(self, kind: Kind, address: str, secret: str) -> float | None:
        """Seconds until a secret is looked at; nothing where too many wait before it. Where many
        wrong ones come from, others of that kind are looked at one by one. What was right there
        before does not wait for guesses of others, nor does a code: nobody guesses it.
        """
        digest, guesser = _hash(secret), self._guesser(kind, address)
        is_proven = (_network(address), digest) in self._proven
        is_code = kind == "login" and digest in self._codes
        if is_proven or is_code or len(self._recent(guesser)) < FAILURES:
            return 0.0
        now = time.monotonic()
        turn = max(now, self._turns.get(guesser, 0.0))
        if turn - now > LONGEST_WAIT:
            return None
        self._turns[guesser] = turn + PAUSE
        return turn - now

    def succeeded(self, address: str, secret: str) -> None:
        """Remember where a right secret came from."""
        if len(self._proven) < MOST_ADDRESSES:
            self._proven.add((_network(address), _hash(secret)))

    def failed(self, kind: Kind, address: str) -> None:
        """Remember a wrong one."""
        if len(self._failures) >= MOST_ADDRESSES:
            now = {one: self._recent(one) for one in self._failures}
            self._failures = {one: recent for one, recent in now.items() if recent}
            self._turns = {one: turn for one, turn in self._turns.items() if one in self._failures}
        guesser = self._guesser(kind, address)
        self._failures[guesser] = [*self._recent(guesser), time.monotonic()][-FAILURES:]

    def _guesser(self, kind: Kind, address: str) -> Guesser:
        """Who guesses; when there are too many to tell apart, all further ones are one."""
        guesser = (kind, _network(address))
        full = len(self._failures) >= MOST_ADDRESSES
        return (kind, "") if full and guesser not in self._failures else guesser

    def _recent(self, guesser: Guesser) -> list[float]:
        now = time.monotonic()
        return [at for at in self._failures.get(guesser, ()) if now - at < MEMORY]


def read_proxies(given: object) -> tuple[Network, ...]:
    """The proxies whose word is taken for where a request comes from, as the settings name them."""
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        with suppress(ValueError):
            return tuple(ipaddress.ip_network(one, strict=False) for one in given)
    raise ParseError(
        '[serve] trusted_proxies is a list of addresses or networks, like ["10.0.0.7"]'
    )


def read_hosts(table: dict[str, Any]) -> frozenset[str]:
    """The names that a server answers to besides its own, as `[serve]` has them."""
    hosts = table.get("hosts", [])
    if isinstance(hosts, list) and all(isinstance(name, str) for name in hosts):
        return frozenset(name.casefold() for name in hosts)
    raise ParseError('[serve] hosts is a list of names, like ["decide.example.org"]')


def find_sender(peer: str, forwarded: list[str], proxies: tuple[Network, ...]) -> str:
    """Where a request comes from: the nearest address on its way that is no trusted proxy."""
    if not proxies:
        return peer
    sender = peer
    for hop in (peer, *reversed(",".join(forwarded).split(","))):
        if (known := _read_address(hop)) is None:
            break
        sender = str(known)
        if not any(known in proxy for proxy in proxies):
            break
    return sender


def _read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address, perhaps with a port, as proxies write it."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        known = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(known, "ipv4_mapped", None) or known


def _network(address: str) -> str:
    """Where an address belongs; somebody with IPv6 has a whole network of them."""
    known = _read_address(address)
    if known is None or known.version == 4:
        return str(known or address)
    return str(ipaddress.ip_network((known, 64), strict=False))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.strip().encode(errors="replace")).digest()


def _same(expected: str, given: str) -> bool:
    """Compare without telling by the time it takes how much was right."""
    return hmac.compare_digest(expected.encode(), given.encode(errors="replace"))


def _digest(what: str, given: object) -> bytes:
    """The digest of a token as the settings keep it: never the token itself."""
    if not isinstance(given, str) or not given.startswith(_HASHED):
        raise ParseError(f'{what} is written as "sha256:…"; see `quandary serve --help`')
    try:
        digest = bytes.fromhex(given.removeprefix(_HASHED))
    except ValueError:
        digest = b""
    if len(digest) != hashlib.sha256().digest_size:
        raise ParseError(f"{what} is no SHA-256 in hexadecimal digits")
    return digest


def hashed(token: str) -> str:
    """A token as the settings keep it."""
    return _HASHED + _hash(token).hex()


def hook_token(signing: bytes) -> str:
    """The token by which hooks of a host that `install` wrote are known to any server of theirs."""
    return hmac.new(signing, b"hook", hashlib.sha256).hexdigest()


def signing_key(folder: str) -> bytes:
    """The key for cookies, made on the first use; only its owner can read it."""
    path = os.path.join(folder, "serve.key")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            with open(path, "rb") as file:
                key = file.read()
            if len(key) >= 32:
                return key
            handle = os.open(path, os.O_WRONLY | os.O_TRUNC, 0o600)
        key = secrets.token_bytes(32)
        with open(handle, "wb") as file:
            file.write(key)
    except OSError as error:
        raise QuandaryError(f"{path} cannot be used ({error.strerror}); check the folder") from None
    return key
