"""Callbacks: a program elsewhere is told what becomes of the questions it asked.

`[[callbacks]]` of the user's own settings name addresses that are told of every run, and a run can
name one of its own. What is told is written down with the entry that it tells of, and delivered
from there by whichever server or worker is there, in order, until it is taken or a day has passed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from quandary.desk.authority import Caller, require_may
from quandary.desk.notices import is_here, log_trouble, post, require_safe
from quandary.desk.reply import arguments_of
from quandary.errors import ParseError, QuandaryError, Rejected
from quandary.journal import chance, outbox, runs
from quandary.settings import user_settings

if TYPE_CHECKING:
    from quandary.journal.outbox import Letter
    from quandary.journal.store import Store

SECONDS = 10.0
"""How long a receiver may take."""
SHORTEST, LONGEST = timedelta(seconds=15), timedelta(hours=1)
"""From one try to the next: twice as long each time. A try is over before the next begins."""
A_DAY = timedelta(days=1)
log = logging.getLogger("quandary.callbacks")


class Callback(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `[[callbacks]]`."""

    url: str
    secret: str = ""
    only_named: bool = False
    """It is told only of runs that name it."""

    def covers(self, address: str) -> bool:
        """Whether an address is this one, or below it."""
        return address == self.url or address.startswith(self.url.rstrip("/") + "/")


def listed() -> list[Callback]:
    """The user's own."""
    parts = user_settings().parts
    return read_entries(parts[0].values.get("callbacks", [])) if parts else []


def read_entries(entries: object) -> list[Callback]:
    """`[[callbacks]]`, or what is wrong with them."""
    try:
        found = msgspec.convert(entries, list[Callback])
    except msgspec.ValidationError as error:
        raise ParseError(f"[[callbacks]] have url, secret, only_named: {error}") from None
    for callback in found:
        require_safe(callback.url, "[[callbacks]] url")
    return found


def choose_addresses(store: Store, caller: Caller, named: str) -> list[str]:
    """Who is told of a run: the addresses of the user's settings, and the one that the run names.

    Whoever asks from elsewhere names only what is listed there. An address on this very machine
    means another one wherever a store is shared, so there it has to be listed as well.
    """
    known = listed()
    chosen = [callback.url for callback in known if not callback.only_named]
    if named and named not in chosen:
        require_safe(named, "a callback")
        is_listed = any(callback.covers(named) for callback in known)
        if not is_listed:
            require_may(caller, "name an address", named)
        if not is_listed and not _is_reached(store, named):
            raise Rejected("a callback on this machine is for a store on this machine")
        chosen.append(named)
    return chosen


def _is_reached(store: Store, address: str) -> bool:
    """Whether whoever delivers is sure to reach the same receiver as whoever named it."""
    return store.shared is None or not is_here(address)


def deliver(store: Store, goes_on: Callable[[], bool] = lambda: True) -> None:
    """Deliver what is due, as soon as it is, for as long as it `goes_on`."""
    away = False
    with closing(store.news(1.0)) as news:
        while goes_on():
            try:
                next(news)
                while deliver_due(store):
                    pass
                away = False
            except QuandaryError as error:
                if not away:
                    log.warning("callbacks are not delivered at the moment: %s", error)
                away = True


def deliver_due(store: Store) -> int:
    """Deliver what is due now; how many were taken."""
    taken, secrets = 0, listed()
    for letter in outbox.find_due(store, chance.stamp(chance.now())):
        told = describe(store, letter)
        late = told is None or chance.now() - datetime.fromisoformat(told["at"]) > A_DAY
        pause = min(SHORTEST * 2 ** min(letter.tries, 16), LONGEST)
        if not outbox.claim(store, letter, None if late else chance.stamp(chance.now() + pause)):
            continue  # somebody else is at it
        wrong = f"it was not taken within a day ({letter.tries} tries)" if late else ""
        if told is not None and not late:
            secret = next((one.secret for one in secrets if one.covers(letter.address)), "")
            wrong = _send(store, letter, told, secret)
        if wrong:
            log_trouble("callbacks", f"run {letter.run}, entry {letter.n}: {wrong}")
            log.warning("a callback of run %s failed: %s", letter.run, wrong)
        elif not late:
            outbox.take_out(store, letter)
            taken += 1
    return taken


def _send(store: Store, letter: Letter, told: dict[str, Any], secret: str) -> str:
    """Tell an address; what went wrong, if anything did."""
    known = any(callback.covers(letter.address) for callback in listed())
    if not known and not _is_reached(store, letter.address):
        return "it is on another machine"
    headers = {"X-Quandary-Event": told["event"], "X-Quandary-Id": told["id"]}
    return post(letter.address, secret, msgspec.json.encode(told), headers, SECONDS)


def describe(store: Store, letter: Letter) -> dict[str, Any] | None:
    """What is told of an entry: what happened, and where that led.

    Nothing where the run was not begun with that address: the journal says so, and nobody else.
    """
    found = store.entries(letter.run, after=letter.n - 1, upto=letter.n)
    body = found[0].read() if found else None
    event = outbox.event_of(body, found[0].read_matter()) if body is not None else None
    state = runs.state_after(store, letter.run, letter.n) if event else None
    named = arguments_of(store, letter.run).get("callbacks", ())
    if body is None or state is None or letter.address not in named:
        return None
    row = store.require_run(letter.run)
    return {
        "id": f"{letter.run}/{letter.n}",
        "event": f"run.{event}",
        "at": body.at,
        "run": letter.run,
        "flow": row.flow,
        "project": row.project,
        "who": body.who,
        "through": body.through,
        "by": body.by,
        "key": getattr(body, "key", "") or state.key or "",
        "status": state.status,
        "result": state.result,
        "error": state.error or found[0].read_matter().error or None,
    }
