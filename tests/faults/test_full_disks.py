"""A disk without room: one line says so, nothing is half done, and with room again all goes on."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from faults.kit import HOOKED, UNTIDY, complaint, mounted
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from runs import CONTEXT
from sites import TOKEN, Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from faults.kit import Trouble

WRITING = {
    "ask": ("ask", "t.md", "--context", CONTEXT, "--item", "1|One"),
    "split": ("split", "options.json"),
    "gate": ("gate", "track"),
    "phase start": ("phase", "start", "other", "--phases", "phases.json"),
    "phase go": ("phase", "go", "track", "1: Plan"),
    "walk": ("walk", "c.mmd", "--via", "relay"),
    "reply": ("reply", "{waiting}", "1.1: ok\n1.2: cut"),
    "advise": ("advise", "{waiting}", "Both are small."),
    "amend": ("amend", "{done}", "no", "--to", "1.1:", "--why", "oh"),
    "withdraw": ("withdraw", "{waiting}", "--why", "nobody needs it"),
    "prefer set": ("prefer", "set", "a-b", "always-ask", "--origin", "user"),
    "import": ("import", "run.json", "--store", "elsewhere.db"),
    "fmt": ("fmt", "untidy.md"),
    "check --fix": ("check", "--fix", "untidy.md"),
    "store copy": ("store", "copy", "store/journal.db", "new.db"),
    "store backup": ("store", "backup", "backup.db"),
    "store recover": ("store", "recover", "store/journal.db", "--into", "saved.db"),
    "export": ("export", "{done}", "--output", "e.json"),
    "report": ("report", "{walked}", "--format", "html", "--output", "r.html"),
    "install": ("install", "claude", "--project"),
}
READING = (("next", "{waiting}"), ("runs", "--all"), ("verify",), ("log", "{done}"))


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """The folder on a disk of its own; what `fill` puts there leaves no room."""
    with mounted(folder, 2048):
        yield folder / "filler"


def fill(filler: Path, *, leave: int = 0) -> None:
    """Take all the room but so many bytes."""
    filler.unlink(missing_ok=True)
    disk = os.statvfs(filler.parent)
    filler.write_bytes(b"x" * (disk.f_bavail * disk.f_frsize - leave))


def kept(folder: Path) -> dict[str, bytes]:
    """Every file that holds something, but for those that SQLite keeps beside its own."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.stat().st_size
        and not path.name.endswith(("-wal", "-shm", "filler", ".lock"))
    }


@pytest.mark.parametrize("name", WRITING)
def test_without_room_nothing_is_done_and_with_room_everything(trouble: Trouble, name: str) -> None:
    """One line names what is full, no file has changed, and the same command works later."""
    with small_disk(trouble.folder) as filler:
        before = kept(trouble.folder)
        fill(filler)
        ended = trouble.start(*WRITING[name])
        assert ended.status in (1, 2), ended
        said = complaint(ended)
        assert "full" in said or "no space left" in said, said
        assert kept(trouble.folder) == before
        filler.unlink()
        again = trouble.start(*WRITING[name])
        assert again.status == 0, again
        trouble.whole()


@pytest.mark.parametrize("words", READING)
def test_with_hardly_any_room_everything_can_be_looked_at(
    trouble: Trouble, words: tuple[str, ...]
) -> None:
    """SQLite needs a little beside the journal; more than that is not asked for."""
    with small_disk(trouble.folder) as filler:
        fill(filler, leave=40_960)
        ended = trouble.start(*words)
        assert ended.status == 0, ended


def test_a_reply_with_some_room_is_booked_or_is_not(trouble: Trouble) -> None:
    """However far the disk reaches, what was acknowledged is there, and nothing else is."""
    booked = 0
    with small_disk(trouble.folder) as filler:
        spare = trouble.folder.parent / "spare"
        shutil.copytree(trouble.folder / "store", spare)
        for pages in range(4, 32, 2):
            shutil.rmtree(trouble.folder / "store")
            shutil.copytree(spare, trouble.folder / "store")
            fill(filler, leave=4096 * pages)
            ended = trouble.start(*WRITING["reply"])
            filler.unlink()
            assert (trouble.waits().status == "done") == (ended.status == 0), (pages, ended)
            if ended.status == 0:
                booked += 1
            else:
                assert "full" in complaint(ended)
            with closing(SqliteStore(trouble.store)) as store:
                assert verify(store).ok
    assert 0 < booked < 14


def test_a_log_without_room_stops_no_walk(trouble: Trouble) -> None:
    """The journal has everything; that there is no log of it is said."""
    logs = trouble.folder / "logs"
    logs.mkdir()
    with mounted(logs, 16):
        fill(logs / "filler")
        words = ("walk", "c.mmd", "--via", "relay")
        ended = trouble.start(*words, env={"QUANDARY_LOG_DIR": str(logs)})
    assert ended.status == 0, ended
    assert json.loads(ended.out)["status"] == "done"
    assert "No space left" in ended.err or "no space left" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("name", ["reply", "walk", "fmt", "store backup", "verify", "prune"])
def test_a_full_folder_for_temporary_files_is_in_nobodys_way(trouble: Trouble, name: str) -> None:
    """Nothing that counts is kept there."""
    others = {"verify": ("verify",), "prune": ("prune", "--older-than", "1m", "--all")}
    with mounted(trouble.folder / "tmp", 16):
        fill(trouble.folder / "tmp" / "filler")
        ended = trouble.start(*{**WRITING, **others}[name])
    assert ended.status == 0, ended


def test_a_hook_without_room_is_in_nobodys_way(trouble: Trouble) -> None:
    """The host goes on as if there were no hook; what was acknowledged before is whole."""
    (trouble.folder / "piped").write_text(json.dumps(HOOKED), encoding="utf-8")
    with small_disk(trouble.folder) as filler:
        fill(filler)
        ended = trouble.start("hook", "post", stdin=str(trouble.folder / "piped"))
        assert ended == (0, "", "")
        filler.unlink()
        trouble.whole()


def test_a_server_without_room_says_so_and_goes_on_later(trouble: Trouble) -> None:
    """A page that cannot book an answer says that it did not, and books it when it can."""
    with small_disk(trouble.folder) as filler:
        site = Site(trouble.folder)
        run = site.ask("One").run
        fill(filler)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with site.visitor(**headers) as visitor:
            refused = visitor.post(f"/api/runs/{run}/reply", json={"text": "ok"})
            assert refused.status_code == 503
            assert "full" in refused.json()["detail"]
            assert visitor.get("/readyz").status_code == 503
            assert visitor.get(f"/api/runs/{run}").json()["status"] == "waiting"
            filler.unlink()
            assert visitor.get("/readyz").status_code == 200
            answer = visitor.post(f"/api/runs/{run}/reply", json={"text": "ok"})
            assert answer.json()["status"] == "done"
        assert verify(site.store).ok
        site.store.close()


# -- files that may not grow, for whoever cannot mount disks -------------------------------------

REPLACING = {
    "fmt": (WRITING["fmt"], "untidy.md"),
    "check --fix": (WRITING["check --fix"], "untidy.md"),
    "install": (WRITING["install"], ".claude/settings.json"),
    "phase start": (WRITING["phase start"], "other/.state.json"),
}
LONG = 20_000


@pytest.mark.parametrize("name", REPLACING)
def test_a_file_that_is_replaced_is_never_cut_short(trouble: Trouble, name: str) -> None:
    """The old one stays to the last byte, and nothing lies beside it."""
    words, target = REPLACING[name]
    long = {
        "untidy.md": UNTIDY + "\n" + "words " * LONG,
        ".claude/settings.json": json.dumps({"env": {"X": "y" * LONG}}),
        "other/.state.json": json.dumps({"notes": "y" * LONG}),
    }[target]
    path = trouble.folder / target
    path.parent.mkdir(exist_ok=True)
    path.write_text(long, encoding="utf-8")
    around = {one for one in path.parent.iterdir() if not one.name.endswith(".lock")}
    ended = trouble.start(*words, largest=LONG // 2)
    assert ended.status in (1, 2), ended
    # A track is recorded in the journal too, whose files may not grow either.
    trouble_with = "disk I/O error" if name == "phase start" else "file too large"
    assert trouble_with in complaint(ended)
    assert path.read_text(encoding="utf-8") == long
    assert {one for one in path.parent.iterdir() if not one.name.endswith(".lock")} == around
    assert trouble.start(*words).status == 0


def test_a_report_that_is_replaced_is_never_cut_short(trouble: Trouble) -> None:
    """A report that did not fit leaves the one that was there."""
    path = trouble.folder / "r.html"
    path.write_text("an older report", encoding="utf-8")
    size = trouble.store.stat().st_size
    ended = trouble.start(*WRITING["report"], largest=1000)
    assert ended.status == 2, ended
    assert complaint(ended)
    assert path.read_text(encoding="utf-8") == "an older report"
    assert trouble.store.stat().st_size == size


@pytest.mark.parametrize("largest", [4096, 40_000, 70_000, 80_000, 90_000])
def test_a_store_that_may_not_grow_is_one_line(trouble: Trouble, largest: int) -> None:
    """The limit strikes in the middle of what is written, and what was there before is whole."""
    before = trouble.waits().n
    ended = trouble.start("reply", "{waiting}", f"1.1: ok, but {'x' * 60_000}", largest=largest)
    assert ended.status == 2, ended
    assert str(trouble.store) in complaint(ended)
    assert trouble.waits().n == before
    trouble.whole()
    assert trouble.start(*WRITING["reply"]).status == 0
