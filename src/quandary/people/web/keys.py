"""Who is at the door: codes, tokens, signed cookies, and the marks that forms carry.

Nothing here does any input or output but for one file, the key that cookies are signed with, which
outlives the server so that an open page goes on after a restart.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.errors import ParseError, QuandaryError

if TYPE_CHECKING:
    from collections.abc import Mapping

SESSION_SECONDS = 12 * 3600
CODE_SECONDS = 15 * 60
FAILURES = 10
"""Wrong tokens or codes from one address before it has to wait."""
PAUSE = 60.0
"""Seconds that it has to wait then."""
_HASHED = "sha256:"


class Session(msgspec.Struct, frozen=True):
    """A login of a person: signed, so that nobody else can make one, and kept in their cookie."""

    user: str
    until: float
    mark: str
    """Random; what forms carry is made from it."""


class Visitor(NamedTuple):
    """Whoever sends a request."""

    session: Session | None = None
    bearer: str = ""
    """The name behind a token that came with the request itself."""

    @property
    def is_person(self) -> bool:
        """Whether what they say is booked as a person's own word."""
        return self.session is not None

    @property
    def name(self) -> str:
        """Under which name it is booked."""
        return self.session.user if self.session is not None else self.bearer


class Keys:
    """The secrets of a server."""

    def __init__(
        self, signing: bytes, *, token: str = "", users: Mapping[str, str] | None = None
    ) -> None:
        self._signing = signing
        self._token = hashlib.sha256(token.encode()).digest() if token else b""
        self._users = {name: _digest(name, value) for name, value in (users or {}).items()}
        self._codes: dict[bytes, float] = {}
        self._failures: dict[str, list[float]] = {}

    @property
    def guarded(self) -> bool:
        """Whether there is anything that a stranger could be asked for."""
        return bool(self._token or self._users)

    # -- logging in ------------------------------------------------------------------------------

    def new_code(self) -> str:
        """A code that opens one login, for whoever sees the terminal that the server runs in."""
        code = secrets.token_urlsafe(9)
        self._codes[hashlib.sha256(code.encode()).digest()] = time.time() + CODE_SECONDS
        return code

    def log_in(self, secret: str) -> Session | None:
        """A session for a one-time code or for a user's own token; nothing for anything else."""
        digest = hashlib.sha256(secret.strip().encode()).digest()
        for known, until in list(self._codes.items()):
            if until < time.time():
                del self._codes[known]
            elif hmac.compare_digest(known, digest):
                del self._codes[known]
                return self._session("")
        for name, known in self._users.items():
            if hmac.compare_digest(known, digest):
                return self._session(name)
        return None

    def bearer(self, secret: str) -> str | None:
        """The name behind a token in a request: a user's, or `token` for the server's own."""
        digest = hashlib.sha256(secret.strip().encode()).digest()
        for name, known in self._users.items():
            if hmac.compare_digest(known, digest):
                return name
        if self._token and hmac.compare_digest(self._token, digest):
            return "token"
        return None

    def _session(self, user: str) -> Session:
        return Session(user, time.time() + SESSION_SECONDS, secrets.token_urlsafe(16))

    # -- cookies and forms -----------------------------------------------------------------------

    def seal(self, session: Session) -> str:
        """The session as a cookie."""
        body = base64.urlsafe_b64encode(msgspec.json.encode(session)).decode().rstrip("=")
        return f"{body}.{self._sign(b'cookie', body)}"

    def unseal(self, cookie: str) -> Session | None:
        """The session in a cookie; nothing where it was made elsewhere, changed, or is too old."""
        body, _, signature = cookie.rpartition(".")
        if not body or not hmac.compare_digest(self._sign(b"cookie", body), signature):
            return None
        try:
            session = msgspec.json.decode(
                base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=Session
            )
        except (ValueError, msgspec.DecodeError):
            return None
        return session if session.until > time.time() else None

    def form_mark(self, session: Session | None) -> str:
        """What a form of this visitor carries, and a form on somebody else's page cannot."""
        return self._sign(b"form", session.mark if session is not None else "nobody")

    def is_own_form(self, session: Session | None, mark: str) -> bool:
        """Whether a form was made for this visitor."""
        return hmac.compare_digest(self.form_mark(session), mark)

    def _sign(self, purpose: bytes, text: str) -> str:
        return hmac.new(self._signing, purpose + b":" + text.encode(), hashlib.sha256).hexdigest()

    # -- guessing --------------------------------------------------------------------------------

    def may_try(self, address: str) -> bool:
        """Whether an address may try another token."""
        now = time.monotonic()
        recent = [at for at in self._failures.get(address, []) if now - at < PAUSE]
        self._failures[address] = recent
        return len(recent) < FAILURES

    def failed(self, address: str) -> None:
        """Remember a wrong token."""
        if len(self._failures) > 10_000:
            self._failures.clear()
        self._failures.setdefault(address, []).append(time.monotonic())


def _digest(name: str, value: Any) -> bytes:  # noqa: ANN401 - whatever the settings hold
    """The digest of a user's token as the settings keep it: never the token itself."""
    given = value.get("token") if isinstance(value, dict) else None
    if not isinstance(given, str) or not given.startswith(_HASHED):
        raise ParseError(f'[users.{name}] needs token = "sha256:…"; see `quandary serve --help`')
    try:
        digest = bytes.fromhex(given.removeprefix(_HASHED))
    except ValueError:
        digest = b""
    if len(digest) != hashlib.sha256().digest_size:
        raise ParseError(f"[users.{name}]: token is no SHA-256 in hexadecimal digits")
    return digest


def hashed(token: str) -> str:
    """A token as the settings keep it."""
    return _HASHED + hashlib.sha256(token.encode()).hexdigest()


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
