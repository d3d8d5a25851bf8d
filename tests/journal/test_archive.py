"""A run leaves a store as one file, and whoever gets the file can check it by itself."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import full_stores
import small_flows
import strategies  # noqa: F401 - its profile is patient
import walks
from quandary.desk.timeline import events
from quandary.errors import NotFound, ParseError, QuandaryError, Rejected
from quandary.journal import archive, chance, runs
from quandary.journal.archive import export, find, read, write
from quandary.journal.entries import Source, document_digest
from quandary.journal.runs import Elsewhere, find_run
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import KEEPS, Keep, Wanted, verify
from quandary.reports.retelling import retell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from journal.conftest import Place
    from quandary.journal.archive import Exported, Imported
    from quandary.journal.store import State, Store

SOURCE = Source("person", "terminal", "grace")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SqliteStore]:
    """Another store, with a run of its own."""
    store = SqliteStore(tmp_path / "other.db")
    small_flows.begin(store)
    yield store
    store.close()


def bring(store: Store, exported: Exported) -> Imported:
    """Import, as `quandary import` does."""
    source = Source("person", "web", "grace")
    return archive.import_run(store, exported, about="something", project="", source=source)


def done(store: Store) -> str:
    """A run with a document that is done, with a word from everybody."""
    state = runs.begin(
        store,
        small_flows.NAME,
        {"kind": "chain", "questions": 1, "context": full_stores.WORD},
        documents={"words": {"1:": "Shall we?"}},
        who="agent",
        through="relay",
    )
    return small_flows.answer(store, state, small_flows.pick("1:", "OK", comment="fine")).run


def prune(store: Store, keep: Keep = "answers") -> None:
    """Take out whatever there is."""
    archive.prune(store, Wanted("9999", keep), "", SOURCE, lambda _: None)


@settings(max_examples=12)
@given(drawn=full_stores.LIVES, keep=st.sampled_from([None, *KEEPS]))
def test_what_was_exported_and_imported_is_exported_as_the_same_bytes(
    drawn: list[Any], keep: Keep | None
) -> None:
    """Whatever happened to a run, waiting or done, pruned or whole."""
    with TemporaryDirectory() as folder:
        ours, theirs = SqliteStore(Path(folder) / "a.db"), SqliteStore(Path(folder) / "b.db")
        full_stores.live(ours, drawn)
        if keep is not None:
            prune(ours, keep)
        for row in ours.runs():
            data = write(export(ours, row.id))
            assert not bring(theirs, read(data, "f")).known
            assert write(archive.fetch(theirs, row.id)) == data
            copy, name = find(theirs, row.id)
            assert name == row.id
            assert list(events(copy, name)) == list(events(ours, row.id))
            assert runs.look(copy, name) == runs.look(ours, row.id)
            assert archive.examine(theirs, row.id).ok
            assert bring(theirs, read(data, "f")).known
            copy.close()
        assert verify(theirs).ok
        assert len(theirs.runs()) == len(ours.runs())
        ours.close()
        theirs.close()


def test_a_file_that_was_laid_out_anew_is_the_same(store: Store) -> None:
    """Spaces, lines and escapes are not what was written."""
    exported = export(store, walks.released(store).run)
    data = json.loads(write(exported))
    assert read(json.dumps(data, indent=7), "f") == exported
    assert read(json.dumps(data, separators=(",", ":")), "f") == exported
    documents = data["documents"]
    data["documents"] = {name: dict(reversed(value.items())) for name, value in documents.items()}
    assert read(json.dumps(data), "f") == exported


@cache
def a_file() -> bytes:
    """A run that is done, exported."""
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "j.db")
        written = write(export(store, done(store)))
        store.close()
    return written


def change(where: str, make: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    """Put something else at a place in a file."""
    *way, last = (int(step) if step.isdigit() else step for step in where.split("/"))

    def tamper(data: dict[str, Any]) -> None:
        at: Any = data
        for step in way:
            at = at[step]
        at[last] = make(at[last] if not isinstance(at, dict) or last in at else None)

    return tamper


def remove(where: str) -> Callable[[dict[str, Any]], None]:
    """Take something out of a file."""
    *way, last = (int(step) if step.isdigit() else step for step in where.split("/"))

    def tamper(data: dict[str, Any]) -> None:
        at: Any = data
        for step in way:
            at = at[step]
        del at[last]

    return tamper


def flipped(digits: str) -> str:
    """Another number of the same length."""
    return ("1" if digits[0] == "0" else "0") + digits[1:]


def other_document(_: object) -> dict[str, Any]:
    """A document, and what it is known by, that the run did not begin with."""
    return {document_digest(b"1"): 1}


TAMPERINGS = {
    "a code": change("entries/2/body/answers/0/picked/0", lambda _: "NO"),
    "who": change("entries/2/body/who", lambda _: "policy"),
    "when": change("entries/2/body/at", lambda at: at.replace("20", "19", 1)),
    "a word": change("entries/2/matter/answers/0/comment", lambda _: "bad"),
    "a salt": change("entries/2/salt", flipped),
    "a seal": change("entries/2/seal", flipped),
    "a digest": change("entries/2/digest", flipped),
    "matter where there is none": change("entries/2/matter", lambda _: {}),
    "matter, salt and seal": lambda data: [
        remove(f"entries/2/{name}")(data) for name in ("matter", "salt", "seal")
    ],
    "what it follows": change("follows", flipped),
    "its name": change("run", lambda run: run[:-1] + ("0" if run[-1] != "0" else "1")),
    "a name that is none": change("run", lambda _: "../../1"),
    "an entry removed": remove("entries/1"),
    "the beginning removed": remove("entries/0"),
    "all entries removed": change("entries", lambda _: []),
    "two entries swapped": change(
        "entries", lambda entries: [entries[0], entries[2], entries[1], *entries[3:]]
    ),
    "a number": change("entries/3/n", lambda n: n + 1),
    "a document": change("documents", lambda d: {key: {"1:": "Shall they?"} for key in d}),
    "no document": change("documents", lambda _: {}),
    "another document": change("documents", other_document),
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_a_file_that_was_changed_is_refused(what: str) -> None:
    """It is said what is wrong, with the file's name before it."""
    data = json.loads(a_file())
    TAMPERINGS[what](data)
    with pytest.raises(Rejected, match=r"^f\.json: not as it was written: "):
        read(json.dumps(data), "f.json")


@pytest.mark.parametrize(
    "make",
    [
        lambda _: "",
        lambda _: "{",
        lambda _: "[]",
        lambda _: "{}",
        lambda data: json.dumps({**data, "quandary": "store"}),
        lambda data: json.dumps({**data, "format": 2}),
        lambda data: json.dumps({**data, "comment": "not sealed"}),
        lambda data: json.dumps({**data, "follows": "xyz"}),
        lambda data: json.dumps({**data, "entries": [{"n": 1, "body": {}, "digest": ""}]}),
        lambda data: json.dumps({**data, "entries": [{**data["entries"][0], "extra": 1}]}),
    ],
)
def test_what_is_no_export_is_refused(make: Callable[[Any], str]) -> None:
    """Whatever is not sealed has no place in a file."""
    data = json.loads(a_file())
    with pytest.raises(ParseError, match=r"^f\.json: "):
        read(make(data), "f.json")


@settings(max_examples=150)
@given(data=st.data())
def test_no_changed_byte_goes_unnoticed(data: st.DataObject) -> None:
    """A file is refused, or it says just what it said."""
    written = a_file()
    at = data.draw(st.integers(0, len(written) - 1))
    byte = data.draw(st.integers(0, 255))
    changed = written[:at] + bytes([byte]) + written[at + 1 :]
    try:
        found = read(changed, "f")
    except QuandaryError:
        return
    assert write(found) == written


def test_a_run_that_was_changed_is_not_handed_on(store: Store, place: Place) -> None:
    """Its own store says so first."""
    run = done(store)
    place.change("DELETE FROM entry WHERE n = 3")
    with pytest.raises(Rejected, match="quandary verify"):
        export(store, run)
    with pytest.raises(NotFound):
        export(store, "0" * 26)


# -- in another store ------------------------------------------------------------------------------


def test_an_imported_run_is_sealed_into_the_chain_of_the_store(
    store: Store, other: SqliteStore
) -> None:
    """The record says who brought in what; whoever changes the file behind it is found out."""
    exported = export(store, done(store))
    record = bring(other, exported).record
    state = runs.look(other, record)
    assert (state.flow, state.status) == ("imported", "done")
    expected = {"run": exported.run, "entries": 4, "digest": exported.digest}
    assert state.result == expected
    (began, _) = (entry.read() for entry in other.entries(record))
    assert (began.who, began.by) == ("person", "grace")
    assert verify(other).ok
    other._rows("UPDATE document SET written = CAST('{}' AS BLOB)", ())
    assert not verify(other).ok
    report = archive.examine(other, exported.run)
    assert [problem.text for problem in report.problems] == [
        f"the file that run {record} keeps is gone or was changed"
    ]


def test_an_imported_run_is_only_looked_at(
    store: Store, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits where it came from, not in this inbox, and does not expire here either."""
    soon = chance.now() + timedelta(minutes=1)
    state = runs.begin(
        store,
        small_flows.NAME,
        {"kind": "chain", "questions": 1},
        expires=soon,
        who="agent",
        through="relay",
    )
    waiting = len(runs.inbox(other))
    bring(other, export(store, state.run))
    assert len(runs.inbox(other)) == waiting
    with pytest.raises(Elsewhere, match="resume it where it came from"):
        find_run(other, state.run[:20])
    monkeypatch.setattr(chance, "now", lambda: soon + timedelta(days=1))
    copy, run = find(other, state.run[:20].lower())
    assert runs.look(copy, run).status == "waiting"
    copy.close()


def test_a_walk_can_be_reported_where_it_was_imported(store: Store, other: SqliteStore) -> None:
    """With its chart, since that came along."""
    run = walks.released(store).run
    bring(other, export(store, run))
    copy, name = find(other, run)
    assert retell(copy, name) == retell(store, run)
    copy.close()


def test_the_same_run_is_imported_once(store: Store, other: SqliteStore) -> None:
    """Also into the store that wrote it, where there is nothing to do."""
    exported = export(store, done(store))
    first = bring(other, exported)
    newest = other.newest()
    assert bring(other, exported) == archive.Imported(first.record, known=True)
    assert other.newest() == newest
    assert bring(store, exported) == archive.Imported(exported.run, known=True)


def forked(folder: Path) -> tuple[State, SqliteStore, SqliteStore]:
    """A run that waits, in a store and in a copy of it."""
    store = SqliteStore(folder / "mine.db")
    state = small_flows.begin(store, questions=1)
    store.close()
    shutil.copy(store.path, folder / "copy.db")
    return state, SqliteStore(store.path), SqliteStore(folder / "copy.db")


def test_a_file_that_tells_how_a_run_went_on_takes_the_place_of_an_earlier_one(
    store: Store, tmp_path: Path
) -> None:
    """The other way round it is refused; so is one that tells another story."""
    state, mine, fork = forked(tmp_path)
    early = export(mine, state.run)
    small_flows.answer(mine, state, "OK")
    small_flows.answer(fork, state, "NO")
    yes, no = export(mine, state.run), export(fork, state.run)
    assert not bring(store, early).known
    assert not bring(store, yes).known
    assert archive.fetch(store, state.run) == yes
    with pytest.raises(Rejected, match="the file says something else of it"):
        bring(store, no)
    with pytest.raises(Rejected, match="the file ends sooner, with entry 2"):
        bring(store, early)
    assert archive.fetch(store, state.run) == yes
    assert verify(store).ok
    mine.close()
    fork.close()


def test_the_store_that_wrote_a_run_knows_it_best(tmp_path: Path) -> None:
    """It takes nothing from a file, even if a copy of the store went on."""
    state, mine, fork = forked(tmp_path)
    small_flows.answer(fork, state)
    with pytest.raises(Rejected, match="the file goes on after entry 2"):
        bring(mine, export(fork, state.run))
    mine.close()
    fork.close()


def test_a_pruned_run_is_not_brought_back(store: Store, other: SqliteStore) -> None:
    """Neither where it was written nor where it was imported."""
    whole = export(store, done(store))
    bring(other, whole)
    prune(other)
    prune(store)
    for place in (store, other):
        with pytest.raises(Rejected, match="texts were taken out of one of the two"):
            bring(place, whole)


def test_an_imported_run_is_pruned_like_any_other(store: Store, other: SqliteStore) -> None:
    """Its decisions stay and its chain holds, and the file that had the texts is gone."""
    run = done(store)
    bring(other, export(store, run))
    prune(other)
    prune(store)
    assert archive.fetch(other, run)[:4] == export(store, run)[:4]
    assert b"fine" in write(archive.fetch(other, run))
    assert verify(other).ok
    prune(other, "codes")
    prune(store, "codes")
    assert archive.fetch(other, run)[:4] == export(store, run)[:4]
    report = archive.examine(other, run)
    assert (report.ok, report.entries, report.pruned) == (True, 4, 4)
    kept = b"".join(text for _, text in other.documents())
    assert full_stores.WORD.encode() not in kept
    assert len(dict(other.documents())) == 1
    assert verify(other).ok
    newest = other.newest()
    prune(other, "codes")
    assert len([row for row in other.runs() if row.flow == "imported"]) == 3
    assert other.newest() == newest + 4
