"""Preferences: what a person wants to be asked, kept in the store like everything else.

Each change is a run of its own, found by its name; the newest run of a name is what holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from quandary.journal.entries import Began

if TYPE_CHECKING:
    from quandary.journal.entries import Who
    from quandary.journal.store import Store

Preference = Literal["always-ask", "never-ask", "ask-only-for-one-way"]
PREFERENCES: tuple[Preference, ...] = get_args(Preference)
SUPPRESSING: frozenset[str] = frozenset({"never-ask", "ask-only-for-one-way"})
_NAME = "prefer\n"


class Set(NamedTuple):
    """A preference that somebody set."""

    id: str
    preference: str
    scope: str
    """The project, or nothing for everywhere."""
    run: str
    at: str
    who: str
    through: str
    origin: str


def preferred(store: Store, id_: str, project: str) -> Set | None:
    """The preference that holds for a question: the project's, else the one for everywhere."""
    for scope in dict.fromkeys((project, "")):
        found = _read(store, _name(scope, id_))
        if found is not None and found.preference:
            return found
    return None


def listed(store: Store, project: str | None = None) -> list[Set]:
    """Every preference that is set, of one project and of all, or of every project."""
    names = store.named(_NAME, f"{_NAME}\U0010ffff")
    found = [kept for name in names if (kept := _read(store, name)) and kept.preference]
    return [kept for kept in found if project is None or kept.scope in (project, "")]


def remember(
    store: Store,
    id_: str,
    preference: str,
    *,
    scope: str,
    origin: str,
    who: Who,
    through: str,
    by: str = "",
) -> None:
    """Set a preference, or clear it with an empty one; each change is a run of its own."""
    from quandary.journal import replay  # noqa: PLC0415 - which uses this module in turn

    replay.begin(
        store,
        "prefer",
        {"id": id_, "preference": preference, "origin": origin},
        project=scope,
        who=who,
        through=through,
        by=by,
        name=_name(scope, id_),
    )


def _name(scope: str, id_: str) -> str:
    return f"{_NAME}{scope}\n{id_}"


def _read(store: Store, name: str) -> Set | None:
    run = store.named(name).get(name)
    if run is None:
        return None
    (entry,) = store.entries(run, kinds=("began",))
    body, said = entry.read(), entry.read_matter().arguments or {}
    if not isinstance(body, Began) or body.flow != "prefer" or body.name != name:
        raise ValueError(f"run {run} set no preference")
    preference = said["preference"]
    if preference and preference not in PREFERENCES:
        raise ValueError(f"{preference!r} is no preference")
    return Set(
        str(said["id"]),
        preference,
        body.project,
        run,
        body.at,
        body.who,
        body.through,
        str(said.get("origin", "")),
    )
