"""The one launcher of programs that resume walks."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

import walks
from program import consent
from quandary.desk.walks import Walks, launch
from quandary.errors import Rejected
from quandary.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Started:
    """What would have been started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.words: list[str] = []
        self.options: dict[str, Any] = {}
        monkeypatch.setattr(subprocess, "Popen", self._start)

    def _start(self, words: list[str], **options: Any) -> Started:  # noqa: ANN401 - Popen's own
        self.words, self.options = words, options
        return self

    def wait(self) -> int:
        """It has ended."""
        return 0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store, named from where this process stands."""
    store = SqliteStore(tmp_path / "journal.db")
    yield store
    store.close()


def at_once(work: Callable[[], object]) -> None:
    """In the foreground."""
    work()


def test_a_program_runs_no_code_of_the_folder_and_learns_no_secret(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store's address may hold a password: it is in the environment, never in the words."""
    monkeypatch.setenv("QUANDARY_TOKEN", "secret")
    started = Started(monkeypatch)
    launch(store, "01A", str(tmp_path))
    assert started.words[1:] == [
        "-P",
        "-m",
        "quandary",
        "walk",
        "--resume",
        "01A",
        "--via",
        "relay",
    ]
    assert started.options["cwd"] == str(tmp_path)
    assert started.options["start_new_session"]
    assert started.options["env"]["QUANDARY_STORE"] == store.address
    assert "QUANDARY_TOKEN" not in started.options["env"]


def test_a_folder_that_is_gone_starts_nothing(store: SqliteStore, tmp_path: Path) -> None:
    """It is said in one line."""
    with pytest.raises(Rejected, match="nothing can be started"):
        launch(store, "01A", str(tmp_path / "gone"))


def test_agents_that_are_next_are_followed(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not where a worker of the fleet does it."""

    class Everybody:
        def is_member(self, _store: object, _run: str) -> bool:
            return True

        is_queued = is_member

        def enqueue(self, _store: object, _run: str) -> None:
            raise AssertionError("it queues itself")

    started = Started(monkeypatch)
    state = walks.begin(store)
    Walks(store, "here", at_once, fleet=Everybody()).follow(state)
    assert started.words == []
    Walks(store, "here", at_once).follow(state)
    assert state.run in started.words


def test_agents_find_the_files_that_their_user_agreed_to(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A walk that was begun in another folder is not followed there, and its page says why."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quandary.toml").write_text('[agents.BOT]\nargv = ["./bot"]\n', encoding="utf-8")
    (tmp_path / "bot").touch()
    consent(tmp_path)
    started = Started(monkeypatch)
    state = walks.begin(store, workdir=str(tmp_path / "docs"))
    program = Walks(store, "here", at_once)
    program.follow(state)
    row = store.require_run(state.run)
    assert started.words == []
    assert "./bot stands for a file" in program.obstacle(replace(row, project=str(tmp_path)))
    program.follow(walks.begin(store, workdir=str(tmp_path)))
    assert started.words
