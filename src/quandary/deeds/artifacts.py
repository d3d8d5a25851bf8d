"""What the folder of a track holds: the files that people look at before they move on."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from quandary.formats.files import SKIPPED
from quandary.formats.visible import printable
from quandary.journal import entries as clock
from quandary.journal.moves import began
from quandary.model.call import Do, Done

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.journal.store import Store

MOST = 400
_PEEK = 4096
_LARGE = 16 * 1024 * 1024
_GATES = 200
"""As many runs are looked through for earlier reviews."""


def listed(store: Store, deed: Do) -> Done:
    """The artifacts of a track, when it was looked, and what people said of them before."""
    folder = deed.argument
    reviewed = _reviewed(store, folder)
    found = list(_files(folder))
    artifacts = []
    for path in found[:MOST]:
        artifact = _artifact(folder, path)
        said = reviewed.get((artifact["path"], artifact["digest"]), "")
        artifacts.append({**artifact, "reviewed": said} if said else artifact)
    told = {
        "now": clock.stamp(clock.now()),
        "artifacts": artifacts,
        "more": max(len(found) - MOST, 0),
    }
    return Done(deed.key, text=msgspec.json.encode(told).decode())


def _files(folder: str) -> Iterator[str]:
    """The files below a folder in the order of their paths; what is hidden is no artifact."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED)
        for name in sorted(names):
            path = os.path.join(root, name)
            if not name.startswith(".") and os.path.isfile(path) and not os.path.islink(path):
                yield os.path.relpath(path, folder)


def _artifact(folder: str, path: str) -> dict[str, Any]:
    whole = os.path.join(folder, path)
    path = printable(path)
    try:
        about = os.stat(whole)
        with open(whole, "rb") as file:
            begin = file.read(_PEEK)
            if about.st_size <= _LARGE:
                digest = hashlib.sha256(begin + file.read()).hexdigest()[:16]
            else:
                digest = f"{about.st_size}@{about.st_mtime_ns}"
    except OSError as error:
        return {"path": path, "digest": "", "about": f"cannot be read ({error.strerror})"}
    changed = datetime.fromtimestamp(about.st_mtime, UTC)
    size = f"{about.st_size} bytes, changed {changed:%Y-%m-%d %H:%M}Z"
    first = _first_line(begin)
    return {"path": path, "digest": digest, "about": f"{size}: {first}" if first else size}


def _first_line(begin: bytes) -> str:
    """What a text begins with; nothing for anything but text."""
    if b"\0" in begin:
        return ""
    text = begin.decode(errors="ignore")
    lines = (printable(line).strip(" #*=-") for line in text.splitlines())
    line = next(filter(None, lines), "")
    return line if len(line) <= 100 else f"{line[:99]}…"


def _reviewed(store: Store, folder: str) -> dict[tuple[str, str], str]:
    """What was chosen for each artifact, as it was then, at earlier gates of the track."""
    found: dict[tuple[str, str], str] = {}
    for row in store.runs(status="done", limit=_GATES, newest=True):
        if row.flow != "gate" or began(store, row.id)[1].get("folder") != folder:
            continue
        for entry in store.entries(row.id, kinds=("ended",)):
            result = entry.read_matter().result
            for review in result.get("review", []) if isinstance(result, dict) else []:
                found.setdefault((review["item"], review["digest"]), review["path"])
    return found
