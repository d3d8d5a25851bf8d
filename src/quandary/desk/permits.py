"""The one use of a permit, at every door."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from quandary.errors import AlreadyAnswered, Rejected
from quandary.flows.permit import KEY
from quandary.journal import chance, runs
from quandary.journal.entries import Returned, read_beginning
from quandary.model.calls import Done
from quandary.model.requests import PermitRequest, digest_input
from quandary.model.text import shorten

if TYPE_CHECKING:
    from quandary.desk.authority import Caller
    from quandary.journal.store import State, Store


def use(store: Store, caller: Caller, run: str, data: bytes | str) -> State:
    """Use what a person allowed: once, for exactly that input, within its time.

    Whatever speaks against it is said, and the permit stays as it was.
    """
    row, given = store.require_run(run), digest_input(data)
    if row.flow != "permit":
        raise Rejected(f"run {run} is no permit (it is a {row.flow})")
    if row.expires and chance.stamp(chance.now()) >= row.expires:
        raise Rejected(f"the time of this permit was up at {row.expires}; ask anew")
    state = runs.look(store, run)
    if state.ask is not None:
        raise Rejected(f"nobody has allowed it yet; run {run} waits for a person")
    if state.deed is None:
        raise Rejected(why_over(store, state))
    if given != state.deed.argument:
        raise Rejected(f"the input is another one: {_difference(store, run, data)}")
    used = take_use(store, caller, state)
    if used is None:  # somebody else was quicker, or it was taken back
        raise Rejected(why_over(store, runs.look(store, run)))
    return used


def take_use(store: Store, caller: Caller, state: State) -> State | None:
    """Use a permit that stands like this; nothing where it no longer does."""
    if state.deed is None:
        return None
    try:
        done = Done(state.deed.key, text=state.deed.argument)
        return runs.advance(store, state.run, done, **caller.source)
    except AlreadyAnswered:
        return None


def _difference(store: Store, run: str, data: bytes | str) -> str:
    """What differs between the input that was allowed and another one, in a line."""
    known = runs.answer_of(store, run)
    changed = known[1].raw if known and known[1].key != KEY else ""
    request = (read_beginning(store, run)[1].get("request") or {}).get("input", "")
    text = data.decode(errors="replace") if isinstance(data, bytes) else data
    pair = [PermitRequest("", one).values for one in (request, text)]
    if changed or not all(pair):
        lines = zip_longest(request.splitlines(), text.splitlines())
        found = (n for n, (a, b) in enumerate(lines, 1) if a != b)
        return "it was changed when it was allowed" if changed else f"see line {next(found, 1)}"
    names = sorted({*pair[0], *pair[1]}, key=str)
    unlike = [name for name in names if pair[0].get(name, ...) != pair[1].get(name, ...)]
    name = next(iter(unlike), names[0])
    said = [shorten(repr(one[name])) if name in one else "nothing" for one in pair]
    return f"{name} is {said[1]}, and {said[0]} was allowed"


def why_over(store: Store, state: State) -> str:
    """Why a permit cannot be used any more."""
    result = state.result if isinstance(state.result, dict) else {}
    if state.status == "done" and result.get("used"):
        used = next(
            body
            for entry in reversed(store.entries(state.run, kinds=("returned",)))
            if isinstance(body := entry.read(), Returned)
        )
        return f"this permit was used already, at {used.at} by {used.source.told}; ask anew"
    if state.status == "done":
        said = f": {result['message']}" if result.get("message") else ""
        return f"it was denied{said}"
    why = f": {state.error}" if state.error else ""
    return f"this permit is {state.status}{why}; ask anew"
