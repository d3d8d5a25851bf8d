"""`quandary serve`: what it does not start with, what it prints, and that it ends when told to."""

from __future__ import annotations

import re
import signal
import socket
import urllib.request
from typing import TYPE_CHECKING

import pytest

from program import call
from quandary.people.web.keys import hashed
from served import Server

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "a token of somebody's own"  # noqa: S105 - of no server but this one


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project and a user of their own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".quandary").mkdir()
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "journal.db"))
    monkeypatch.delenv("QUANDARY_TOKEN", raising=False)
    return tmp_path


def settings(apart: Path, text: str) -> None:
    """The user's own settings."""
    folder = apart / "XDG_CONFIG_HOME/quandary"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])  # noqa: S104 - refused
def test_others_are_not_let_in_without_a_token(
    capsys: pytest.CaptureFixture[str], host: str
) -> None:
    """An address that others can reach needs a token, or users."""
    ended = call(capsys, "serve", "--host", host, "--port", "0")
    assert ended.status == 2
    assert ended.err.startswith(f"quandary: {host} can be reached by others: give --token")


def test_a_repository_has_no_say_in_who_comes_in(
    apart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Users and names in the project's settings count for nothing."""
    text = f'[users.mallory]\ntoken = "{hashed(TOKEN)}"\n[serve]\nhosts = ["evil.example"]\n'
    (apart / "quandary.toml").write_text(text, encoding="utf-8")
    ended = call(capsys, "serve", "--host", "0.0.0.0", "--port", "0")  # noqa: S104 - refused
    assert ended.status == 2
    assert "can be reached by others" in ended.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[users.ada]\ntoken = "plain"\n', "[users.ada] needs token"),
        ('[users]\nada = "plain"\n', "[users.ada] needs token"),
        ('[serve]\nhosts = "a"\n', "hosts is a list of names"),
        ("[serve]\nhosts = [3]\n", "hosts is a list of names"),
    ],
)
def test_settings_that_cannot_be_used(
    apart: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    """Are named on one line."""
    settings(apart, text)
    ended = call(capsys, "serve", "--port", "0")
    assert ended.status == 2
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """Another one has to be chosen, and no code is printed."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ended = call(capsys, "serve", "--port", str(other.getsockname()[1]))
    assert ended.status == 2
    assert "choose another --port" in ended.err
    assert "code" not in ended.err


def test_a_token_as_the_settings_keep_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Printed for copying; nothing is served."""
    ended = call(capsys, "serve", "--hash", TOKEN)
    assert (ended.status, ended.out) == (0, f"{hashed(TOKEN)}\n")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}\n", ended.out)


def test_it_ends_when_told_to_with_pages_open(apart: Path) -> None:
    """An open page does not hold it back; what it printed was where it is, and a code."""
    server = Server(apart, "--token", TOKEN)
    server.start()
    assert server.process is not None
    try:
        assert f"Serving on {server.address}/" in server.said[0]
        request = urllib.request.Request(  # noqa: S310 - our own address
            f"{server.address}/events", headers={"Authorization": f"Bearer {TOKEN}"}
        )
        with urllib.request.urlopen(request, timeout=10) as page:  # noqa: S310 - the same
            assert page.readline() == b"event: hello\r\n"
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(15) in (0, 130, -signal.SIGINT)
        assert "Traceback" not in "".join(server.said)
    finally:
        server.kill()
