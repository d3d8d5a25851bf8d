"""Attachments: kept once, limited, checked, and gone when nothing refers to them."""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import databases
from program import call
from quandary.desk import attachments, begin
from quandary.desk.authority import Caller, Scope
from quandary.desk.timeline import events
from quandary.errors import NotFound, ParseError, QuandaryError, Rejected
from quandary.journal import archive, chance, open_store, runs
from quandary.journal.archive import prune
from quandary.journal.entries import Source
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import Wanted, verify
from quandary.model.asks import Answer, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from quandary.journal.store import State, Store

TREE = "## Decision: Go\n- [OK] Go\n- [NO] Stay\n"
PLAN = b"# Plan\n\n1. Begin\n"
CALLER = Caller("agent", "command")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """An empty store."""
    store = SqliteStore(tmp_path / "journal.db")
    yield store
    store.close()


@pytest.fixture(params=["embedded", "shared"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    with ExitStack() as stack:
        shared = request.param == "shared"
        where = stack.enter_context(databases.shared().schema()) if shared else tmp_path / "j.db"
        yield stack.enter_context(closing(open_store(where)))


def ask(store: Store, *attach: dict[str, Any], caller: Caller = CALLER) -> State:
    """A run with attachments."""
    given = {"context": "Now.", "text": TREE, "attach": attach}
    wanted, showing = msgspec.convert(given, begin.Asking), begin.Showing()
    beginning = begin.prepare(store, caller, wanted, showing)
    return begin.begin(store, caller, beginning, showing)


def documents(store: Store) -> set[bytes]:
    """What the store keeps beside entries that is no JSON of ours."""
    return {data for _, data in store.documents() if not data.startswith(b"{")}


def test_an_attachment_is_kept_once_for_each_digest(store: SqliteStore) -> None:
    """Two runs name it; the record has the digest of the file, and the journal verifies."""
    states = [ask(store, {"name": "plan.md", "text": PLAN.decode()}) for _ in range(2)]
    assert documents(store) == {PLAN}
    digest = hashlib.sha256(PLAN).hexdigest()
    about, data = attachments.load(store, states[1].run, digest)
    assert (about.name, about.shape, about.size, data) == ("plan.md", "markdown", 17, PLAN)
    assert f"plan.md (17 bytes, sha256 {digest[:12]}…)" in next(events(store, states[0].run)).text
    assert verify(store).ok
    with pytest.raises(NotFound):
        attachments.load(store, ask(store).run, digest)


def test_a_command_attaches_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As often as it is said; each is listed in the state, and in the log with its digest."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "go.md").write_text(TREE, encoding="utf-8")
    for name in ("plan.md", "x.diff"):
        (tmp_path / name).write_bytes(PLAN)
    files = ("--attach", "plan.md", "--attach", "x.diff")
    words = ("ask", "go.md", "--context", "Now.", "--via", "relay", *files)
    state = json.loads(call(capsys, *words).out)
    listed = state["ask"]["attachments"]
    assert [one["name"] for one in listed] == ["plan.md", "x.diff"]
    said = call(capsys, "log", state["run"]).out
    assert all(one["digest"][:12] in said for one in listed)


def test_a_changed_or_lost_attachment_is_found(store: SqliteStore) -> None:
    """It is sealed by its digest, which the chain covers."""
    ask(store, {"name": "plan.md", "text": PLAN.decode()})
    store._db.execute("UPDATE document SET written = ? WHERE written = ?", (b"other", PLAN))
    assert "was changed" in verify(store).problems[0].text
    store._db.execute("DELETE FROM document WHERE written = ?", (b"other",))
    assert "was removed" in verify(store).problems[0].text


def test_an_exported_run_has_its_attachments(store: SqliteStore, tmp_path: Path) -> None:
    """Whatever bytes they are; another store can check and keep them."""
    image = b"\x89PNG\r\n\x1a\n\0\xff"
    encoded = msgspec.json.encode(image).decode().strip('"')
    run = ask(store, {"name": "a.png", "base64": encoded}, {"name": "p.md", "text": "# P"}).run
    file = archive.write(archive.export(store, run))
    read = archive.read(file, "file")
    assert image in read.documents.values()
    other = SqliteStore(tmp_path / "other.db")
    source = Source("agent", "command")
    kept = archive.import_run(other, read, about="it", project="", source=source)
    assert archive.read_imported(other, kept.record) == read
    other.close()
    broken = file.replace(encoded.encode(), encoded.replace("R", "S").encode())
    with pytest.raises(QuandaryError):
        archive.read(broken, "file")


def test_attachments_are_pruned_when_nothing_unpruned_refers_to_them(either: Store) -> None:
    """The tree stays, as it says what was answered; a run that still waits keeps what it needs."""
    store = either
    done = ask(store, {"name": "a.md", "text": "only here"}, {"name": "b.md", "text": "shared"})
    waits = ask(store, {"name": "b.md", "text": "shared"})
    source = Source("person", "terminal")
    answer = Reply((Answer(done.key or "", ("OK",)),))
    runs.advance(store, done.run, answer, **source._asdict())
    wanted = Wanted(before=chance.stamp(chance.now()), keep="answers")
    prune(store, wanted, "", source, lambda _: None)
    assert documents(store) == {b"shared"}
    assert verify(store).ok
    assert runs.look(store, waits.run).ask is not None


@pytest.mark.parametrize(
    ("attach", "said"),
    [
        ([{"name": "big.txt", "text": "x" * 5_000_001}], "big.txt is larger than 5.0 MB"),
        ([{"name": f"{n}.txt", "text": "x" * 4_500_000} for n in range(5)], "larger than 20.0 MB"),
        ([{"name": "a", "text": "1"}, {"name": "a", "text": "2"}], "two attachments are called a"),
        ([{"text": "x"}], "an attachment needs a name"),
        ([{"name": "a.png", "base64": "?"}], "the attachment a.png is no base64"),
        ([{"path": "nowhere.md"}], "nowhere.md cannot be attached"),
    ],
)
def test_what_cannot_be_attached_is_refused_before_anything_begins(
    store: SqliteStore, attach: list[dict[str, Any]], said: str
) -> None:
    """With one line that says why."""
    with pytest.raises((Rejected, ParseError), match=said):
        ask(store, *attach)
    assert store.last() is None


def test_a_caller_from_elsewhere_attaches_only_plain_files_of_the_project(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what lies outside, nor what is hidden."""
    project = tmp_path / "shop"
    (project / ".quandary").mkdir(parents=True)
    (project / "plan.md").write_bytes(PLAN)
    (project / ".env").write_text("SECRET=1")
    (tmp_path / "other.md").write_text("x")
    monkeypatch.chdir(project)
    far = Caller("agent", "mcp", scope=Scope(str(project), str(project)))
    assert ask(store, {"path": "plan.md"}, caller=far).ask is not None
    for path in (".env", "../other.md"):
        with pytest.raises((Rejected, NotFound)):
            ask(store, {"path": path}, caller=far)


@pytest.mark.parametrize(
    ("name", "data", "shape", "media"),
    [
        ("page.html", b"<script>alert(1)</script>", "text", "application/octet-stream"),
        ("x.svg", b"<svg onload='alert(1)'/>", "text", "application/octet-stream"),
        ("x.png", b"<script>", "text", "application/octet-stream"),
        ("x.html", b"\x89PNG\r\n\x1a\n<script>", "image", "image/png"),
        ("x.pdf", b"%PDF-1.7", "pdf", "application/pdf"),
        ("x.bin", b"\0\1", "file", "application/octet-stream"),
        ("x.patch", b"--- a\n", "diff", "application/octet-stream"),
    ],
)
def test_what_an_attachment_is_told_by_its_bytes(
    name: str, data: bytes, shape: str, media: str, tmp_path: Path
) -> None:
    """Never something that a browser would run."""
    (tmp_path / name).write_bytes(data)
    [found] = attachments.take_files([str(tmp_path / name)])
    assert (found.about.shape, attachments.find_media(data)) == (shape, media)
