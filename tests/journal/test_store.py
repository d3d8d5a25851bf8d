"""How a store is found, and that the room stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from program import consent
from quandary.errors import StoreError, Untrusted
from quandary.journal import chosen_by_project, open_store, place_of, without_password
from quandary.journal.sqlite import SqliteStore
from quandary.settings import read_settings

if TYPE_CHECKING:
    from quandary.journal.store import Store


def where(store: Store) -> Path:
    """The file of a store."""
    assert isinstance(store, SqliteStore)
    store.close()
    return Path(store.path)


def test_a_path_names_a_store(tmp_path: Path) -> None:
    """The nearest thing to say."""
    assert where(open_store(str(tmp_path / "a.db"))) == tmp_path / "a.db"
    assert where(open_store(tmp_path / "b.db")) == tmp_path / "b.db"


def test_a_url_names_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sqlite:///` is followed by a path; a further slash makes it absolute."""
    monkeypatch.chdir(tmp_path)
    assert where(open_store(f"sqlite:///{tmp_path}/a.db")) == tmp_path / "a.db"
    assert where(open_store("sqlite:///a.db")).absolute() == tmp_path / "a.db"


def test_the_environment_names_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`QUANDARY_STORE` holds where nothing else was said."""
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "env.db"))
    assert where(open_store(None)) == tmp_path / "env.db"
    assert where(open_store(str(tmp_path / "said.db"))) == tmp_path / "said.db"


def test_else_the_journal_is_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One inbox for all projects, in a folder that only its owner can enter."""
    monkeypatch.delenv("QUANDARY_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    path = where(open_store())
    assert path == Path(place_of())
    assert path.name == "journal.db"
    assert tmp_path in path.parents
    assert path.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("url", ["postgresql://host/db", "postgres://u:p@host/db"])
def test_postgresql_needs_its_packages(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them, the message says what to install."""
    monkeypatch.setitem(sys.modules, "quandary.journal.postgres", None)
    with pytest.raises(StoreError, match=r"pip install 'quandary\[postgres\]'"):
        open_store(url)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("journal.db", "journal.db"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgres://me@host/db", "postgresql://me@host/db"),
        ("postgresql://me:secret@host:5/db?a=b", "postgresql://me@host:5/db?a=b"),
        ("postgresql://me:se@cr/et@host/db", "postgresql://me@host/db"),
        ("postgresql://host/db?user=me&password=secret", "postgresql://host/db?user=me"),
        ("postgresql://host/db?sslpassword=secret", "postgresql://host/db"),
    ],
)
def test_a_password_is_never_shown(named: str, told: str) -> None:
    """Wherever in the URL it stands, and however badly it is quoted."""
    assert place_of(named) == told


@given(st.text("abc:/@?&=%#", min_size=1), st.sampled_from(["postgresql", "mysql", "x"]))
def test_whatever_stands_before_the_host_is_not_shown(secret: str, scheme: str) -> None:
    """A password that should have been quoted is hidden like one that was."""
    assume("?" not in secret)
    assert without_password(f"{scheme}://me:{secret}@host/db") == f"{scheme}://me@host/db"


def test_settings_may_name_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own may; a project's only if the user's names it too, or they trust it."""
    monkeypatch.delenv("QUANDARY_STORE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "quandary.toml"
    settings.write_text('store = "postgres://me:secret@host/db"\n', encoding="utf-8")
    assert chosen_by_project(read_settings()) == "postgresql://me:secret@host/db"
    with pytest.raises(Untrusted, match="quandary trust") as refused:
        place_of()
    assert "secret" not in str(refused.value)
    own = tmp_path / "config" / "quandary" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('store = "postgres://me:secret@host/db"\n', encoding="utf-8")
    assert place_of() == "postgresql://me@host/db"
    settings.write_text('store = "kept.db"\n', encoding="utf-8")
    with pytest.raises(Untrusted, match=r"kept\.db"):
        place_of()
    consent(tmp_path)
    assert place_of() == str(tmp_path / "kept.db")
    settings.write_text('store = "postgres://me:other@host/db"\n', encoding="utf-8")
    with pytest.raises(Untrusted, match="changed since you trusted it"):
        place_of()
    consent(tmp_path)
    assert place_of() == "postgresql://me@host/db"
    kept = (tmp_path / "config" / "quandary" / "trusted.json").read_text(encoding="utf-8")
    assert "other" not in kept


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite://", "sqlite:///", "://x"])
def test_what_names_no_store_is_refused(url: str) -> None:
    """The message says what would."""
    with pytest.raises(StoreError, match="is not a store"):
        open_store(url)


def test_a_journal_is_opened_without_heavy_imports(tmp_path: Path) -> None:
    """`reply` runs in agents' loops, so start-up counts."""
    code = (
        "import sys; from quandary.journal import open_store, runs; "
        f"open_store({str(tmp_path / 'a.db')!r}); "
        "print([m for m in ('rich', 'platformdirs', 'psycopg', 'asyncio', 'rapidfuzz', 'random', "
        "'secrets', 'quandary.flows.decide') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
