"""Codes, tokens, cookies and marks."""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.doors.web import tokens as keys
from quandary.doors.web.tokens import CODE_SECONDS, SESSION_SECONDS, Keys, Session, hashed
from quandary.errors import ParseError, QuandaryError

if TYPE_CHECKING:
    from pathlib import Path

SECRET = b"s" * 32
OWN, PROGRAMS, BLANK = "ada's own token", "for programs", " "
USERS = {"ada": {"token": hashed(OWN)}}


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let time pass."""
    now, ticks = time.time(), time.monotonic()
    monkeypatch.setattr(time, "time", lambda: now + seconds)
    monkeypatch.setattr(time, "monotonic", lambda: ticks + seconds)


def test_a_code_opens_one_login() -> None:
    """A code works once, and opens a session without a name."""
    house = Keys(SECRET)
    code = house.new_code()
    session = house.log_in(f" {code} ")
    assert session is not None
    assert session.user == ""
    assert house.log_in(code) is None


def test_a_code_does_not_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a quarter of an hour it is only a word."""
    house = Keys(SECRET)
    code = house.new_code()
    before = house.has_code
    later(monkeypatch, CODE_SECONDS + 1)
    assert (before, house.has_code) == (True, False)
    assert house.log_in(code) is None


def test_a_users_token_opens_a_session_with_their_name() -> None:
    """As often as they like; the server's own token opens none, as it is for programs."""
    house = Keys(SECRET, token=PROGRAMS, users=USERS)
    for _ in range(2):
        session = house.log_in(OWN)
        assert session is not None
        assert session.user == "ada"
    assert house.log_in("for programs") is None
    assert house.log_in(hashed(OWN)) is None


def test_tokens_in_requests() -> None:
    """A token in a request says whose it is, and an unknown one nothing."""
    house = Keys(SECRET, token=PROGRAMS, users=USERS)
    assert house.bearer("for programs") == "token"
    assert house.bearer(OWN) == "ada"
    assert house.bearer("for program") is None
    assert house.bearer("") is None
    assert Keys(SECRET).bearer("") is None


def test_a_server_is_guarded_by_a_token_or_by_users() -> None:
    """A blank token guards nothing."""
    assert not Keys(SECRET).guarded
    assert not Keys(SECRET, token=BLANK).guarded
    assert Keys(SECRET, token=PROGRAMS).guarded
    assert Keys(SECRET, users=USERS).guarded


@pytest.mark.parametrize(
    "kept",
    [
        OWN,
        {"token": OWN},
        {"token": "sha256:12"},
        {"token": "sha256:" + "g" * 64},
        {"token": 3},
        {},
    ],
)
def test_settings_keep_digests_only(kept: object) -> None:
    """A token that stands in the settings as it is, is refused."""
    with pytest.raises(ParseError, match=r"users\.ada"):
        Keys(SECRET, users={"ada": kept})


def test_cookies_come_back() -> None:
    """What was sealed is what is unsealed, also by the same server after a restart."""
    house = Keys(SECRET, users=USERS)
    session = house.log_in(OWN)
    assert session is not None
    cookie = house.seal(session)
    assert house.unseal(cookie) == session
    assert Keys(SECRET, users=USERS).unseal(cookie) == session


def test_cookies_of_others_are_worth_nothing() -> None:
    """One that another server signed, one that was changed, one that was made up."""
    house = Keys(SECRET)
    session = Session("", time.time() + 100, "mark")
    cookie = house.seal(session)
    assert Keys(b"t" * 32).unseal(cookie) is None
    body, _, signature = cookie.rpartition(".")
    other = "1" if signature[-1] == "0" else "0"
    assert house.unseal(f"{body}.{signature[:-1]}{other}") is None
    longer = house.seal(Session("", session.until + 1, "mark")).rpartition(".")[0]
    assert house.unseal(f"{longer}.{signature}") is None


@given(st.text())
def test_any_text_is_no_cookie(text: str) -> None:
    """And none of them makes the server stumble."""
    house = Keys(SECRET)
    assert house.unseal(text) is None
    assert not house.is_own_form(None, text)
    assert house.log_in(text) is None


def test_a_session_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cookie says until when, and no browser has to be trusted with that."""
    house = Keys(SECRET)
    session = house.log_in(house.new_code())
    assert session is not None
    cookie = house.seal(session)
    later(monkeypatch, SESSION_SECONDS - 10)
    assert house.unseal(cookie) == session
    later(monkeypatch, 20)
    assert house.unseal(cookie) is None


def test_logging_out_ends_copies_too() -> None:
    """A cookie that somebody copied before is of no use after."""
    house = Keys(SECRET)
    session = house.log_in(house.new_code())
    assert session is not None
    cookie = house.seal(session)
    house.log_out(session)
    assert house.unseal(cookie) is None


def test_a_user_who_is_gone_or_has_another_token_is_out() -> None:
    """Their sessions end with the settings that allowed them."""
    house = Keys(SECRET, users=USERS)
    session = house.log_in(OWN)
    assert session is not None
    cookie = house.seal(session)
    assert Keys(SECRET).unseal(cookie) is None
    assert Keys(SECRET, users={"ada": {"token": hashed("another")}}).unseal(cookie) is None


def test_forms_belong_to_their_session() -> None:
    """The mark of one session is none for another, nor for a stranger."""
    house = Keys(SECRET)
    one, other = Session("", 9e9, "1"), Session("", 9e9, "2")
    assert house.is_own_form(one, house.form_mark(one))
    assert not house.is_own_form(other, house.form_mark(one))
    assert not house.is_own_form(None, house.form_mark(one))
    assert not house.is_own_form(one, "")


def test_guesses_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten wrong ones each waits for its turn, and behind too many none is looked at."""
    house = Keys(SECRET)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    for number in range(keys.FAILURES):
        assert house.wait("token", "192.0.2.1", str(number)) == 0
        house.failed("token", "192.0.2.1")
    waits = [house.wait("token", "192.0.2.1", str(number)) for number in range(12)]
    assert waits == [*map(float, range(11)), None]
    assert house.wait("token", "192.0.2.2", "another address") == 0
    assert house.wait("login", "192.0.2.1", "in the form") == 0
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + keys.MEMORY + 1)
    assert house.wait("token", "192.0.2.1", "later") == 0


def test_what_was_right_does_not_wait_for_guesses() -> None:
    """A token that was used from there before, and a code; not what was right elsewhere."""
    house = Keys(SECRET, users=USERS)
    house.succeeded("192.0.2.1", OWN)
    code = house.new_code()
    for _ in range(keys.FAILURES):
        house.failed("login", "192.0.2.1")
        house.failed("login", "192.0.2.2")
    for _ in range(20):
        assert house.wait("login", "192.0.2.1", OWN) == 0
        assert house.wait("login", "192.0.2.1", code) == 0
        house.wait("login", "192.0.2.2", OWN)
    assert house.wait("login", "192.0.2.1", "a guess") == 0
    assert house.wait("login", "192.0.2.2", OWN) is None


def is_slowed(house: Keys, address: str) -> bool:
    """Whether the second guess from an address has to wait."""
    house.wait("token", address, "a guess")
    return house.wait("token", address, "a guess") != 0


def test_a_network_of_addresses_is_one_guesser() -> None:
    """Whoever has IPv6 has billions of addresses; an IPv4 address in IPv6 dress is its own."""
    house = Keys(SECRET)
    for number in range(keys.FAILURES):
        house.failed("token", f"2001:db8::{number:x}")
        house.failed("token", "::ffff:192.0.2.1")
    assert is_slowed(house, "2001:db8::ffff:1")
    assert not is_slowed(house, "2001:db8:0:1::1")
    assert is_slowed(house, "::ffff:192.0.2.1")
    assert is_slowed(house, "192.0.2.1")
    assert not is_slowed(house, "::ffff:192.0.2.2")


def test_guessers_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for so many addresses; none is forgiven, and all further ones are one."""
    monkeypatch.setattr(keys, "MOST_ADDRESSES", 3)
    house = Keys(SECRET)
    for _ in range(keys.FAILURES):
        house.failed("token", "192.0.2.1")
    for number in range(2, 50):
        house.failed("token", f"192.0.2.{number}")
    assert len(house._failures) == 4
    assert is_slowed(house, "192.0.2.1")
    assert is_slowed(house, "198.51.100.1")


@pytest.mark.parametrize(
    ("peer", "forwarded", "sender"),
    [
        ("192.0.2.9", ["198.51.100.1"], "192.0.2.9"),
        ("10.0.0.7", [], "10.0.0.7"),
        ("10.0.0.7", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.7", ["203.0.113.5, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.7", ["203.0.113.5", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.7", ["198.51.100.1, 10.0.0.8"], "198.51.100.1"),
        ("10.0.0.7", ["10.0.0.9, 10.0.0.8"], "10.0.0.9"),
        ("10.0.0.7", ["198.51.100.1, nonsense"], "10.0.0.7"),
        ("10.0.0.7", ["198.51.100.1:4711"], "198.51.100.1"),
        ("::ffff:10.0.0.7", ['"[2001:db8::1]:4711"'], "2001:db8::1"),
        ("2001:db8:1::1", ["198.51.100.1"], "2001:db8:1::1"),
        ("", ["198.51.100.1"], ""),
    ],
)
def test_only_trusted_proxies_say_where_a_request_comes_from(
    peer: str, forwarded: list[str], sender: str
) -> None:
    """The nearest address that is none of theirs, whatever the sender wrote before it."""
    proxies = keys.read_proxies(["10.0.0.0/24"])
    assert keys.find_sender(peer, forwarded, proxies) == sender
    assert keys.find_sender(peer, forwarded, ()) == peer


@pytest.mark.parametrize("given", ["10.0.0.7", [3], ["proxy.example"], {}])
def test_proxies_that_cannot_be_used_are_told(given: object) -> None:
    """They are addresses, in a list."""
    with pytest.raises(ParseError, match="trusted_proxies is a list of addresses"):
        keys.read_proxies(given)


def test_the_signing_key_is_its_owners(tmp_path: Path) -> None:
    """It is made once, readable by nobody else, and outlives the server."""
    folder = tmp_path / "data"
    key = keys.signing_key(str(folder))
    assert len(key) == 32
    assert keys.signing_key(str(folder)) == key
    assert stat.S_IMODE(os.stat(folder / "serve.key").st_mode) == 0o600
    (folder / "serve.key").write_bytes(b"short")
    assert len(keys.signing_key(str(folder))) == 32


def test_a_key_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    """With the reason, on one line."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(QuandaryError, match=r"serve\.key cannot be used"):
        keys.signing_key(str(tmp_path / "file"))
