"""Sessions of a host that are parked while nobody is at them, and resumed with the answer.

A session that nobody attends cannot show its question. With `park = true` in `[hooks]`, the hook
has Claude Code set the call aside and end; the question waits in the inbox. When it is answered,
the session is resumed in its folder: the host then asks the hook about the same call once more, and
gets the answer. With `park = true` in `[permissions]`, so it is with what somebody has to allow.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from quandary.desk import notices, reply
from quandary.desk.permits import Rule, why_over
from quandary.desk.state import hand_over
from quandary.desk.walks import Parked
from quandary.doors.hosts import hooks, permissions
from quandary.doors.hosts.hooks import HOOK, ToolCall
from quandary.errors import Rejected
from quandary.flows.permit import tell_agent
from quandary.flows.stops import TOOL
from quandary.journal import runs as driver
from quandary.model.calls import SESSION, STEP, Resumption
from quandary.settings import project_of

if TYPE_CHECKING:
    from quandary.doors.hosts.permissions import Stop
    from quandary.journal.store import State, Store

# -- parked ----------------------------------------------------------------------------------------

_ANOTHER = "Another question waits for the person. Ask this one again after its answer."
_WAITS = "It waits for the person in quandary."


def park(call: ToolCall, store: Store, project: str, folder: str) -> dict[str, Any] | None:
    """Have the host set a call aside until its questions are answered, or hand it the answers."""
    fits = SESSION.fullmatch(call.session) and call.may_be_routed
    if not fits or hooks.find_relayed_run(call, store, project) is not None:
        return None
    notices.watch_store(store)
    parked = Parked(call.session, folder, call.id, os.uname().nodename)
    states = [
        hooks.begin_record(
            store, call, one, project, ask=hooks.make_ask(call, one, project), parked=parked
        )
        for one in call.questions
    ]
    if aside := _set_aside(store, call.session, states):
        return aside
    nothing = "Nobody answered in quandary, and nothing was decided; stop here."
    answered = hooks.hand_over_answers(call, store, states)
    return answered or hooks.make_decision("deny", nothing)


def park_permission(
    store: Store, stop: Stop, project: str, rules: Sequence[Rule]
) -> dict[str, Any] | None:
    """Have the host set aside what a person has to allow, unless a rule decides; or hand it over.

    What was handed over once is not allowed again: the agent has to ask anew.
    """
    result = permissions.decide_by_rule(store, stop, project, rules)
    session = stop.request.session
    if result is None and SESSION.fullmatch(session) and stop.call:
        parked = Parked(session, stop.request.folder, stop.call, os.uname().nodename)
        state = permissions.begin_permit(store, stop, project, None, parked=parked)
        if aside := _set_aside(store, session, [state]):
            return aside
        result, state = permissions.take_decision(store, state), driver.look(store, state.run)
        hand_over(store, HOOK, state)
        if result is None:
            return hooks.make_decision("deny", f"{why_over(store, state)}.")
    return None if result is None else _tell_before(stop, result)


def _tell_before(stop: Stop, result: dict[str, Any]) -> dict[str, Any]:
    """What was decided, in the words of the event before a tool is used."""
    allowed, message, text = tell_agent(stop.request, result)
    if not allowed:
        return hooks.make_decision("deny", message)
    given = msgspec.json.decode(text)
    return hooks.make_decision("allow", "It was allowed in quandary.", updatedInput=given)


def _set_aside(store: Store, session: str, states: Sequence[State]) -> dict[str, Any] | None:
    """Set aside what still waits for an answer.

    Of several calls in one message, the host keeps only the last that is set aside. So one of them
    is, and the others are to be made again.
    """
    own = {state.run for state in states}
    named = store.named(f"hook\n{session}\n", f"hook\n{session}\n~")
    rows = (store.require_run(run) for run in named.values())
    waiting = {row.id for row in rows if row.waits == "person"}
    if any(run < min(own) for run in waiting - own):
        for run in own:
            with suppress(Rejected):
                reply.withdraw(store, HOOK, run, "another question of its session waits already")
        return hooks.make_decision("deny", _ANOTHER)
    return hooks.make_decision("defer", _WAITS) if waiting & own else None


# -- in a walk -------------------------------------------------------------------------------------


def hold(said: object) -> bytes:
    """Set aside what an agent of a walk stops for, or hand it over what came of that.

    The run of the walk asks, so that nothing is begun here.
    """
    where = hooks.find_folder(said) if isinstance(said, dict) else "."
    stop = permissions.read_stop(said, "claude", where) if isinstance(said, dict) else None
    output = _judge_stop(stop, where) if stop is not None else None
    return b"" if output is None else msgspec.json.encode(output)


def _judge_stop(stop: Stop, where: str) -> dict[str, Any] | None:
    """What the host is told before a tool is used in a walk.

    A sub-agent that is set aside would end without a word, so it is not; nor is it denied, since
    the host may allow it.
    """
    tool, told = stop.request.tool, _read_told()
    if told is not None and (told.stopped.id, told.stopped.tool) == (stop.call, tool):
        with suppress(OSError):
            os.unlink(_held_file(stop))
        if not told.allow:
            return hooks.make_decision("deny", told.message)
        given = msgspec.json.decode(told.input)
        return hooks.make_decision("allow", "It was answered in quandary.", updatedInput=given)
    result, asks = None, TOOL.fullmatch(tool)
    if not asks and (rules := permissions.user_permissions().rules):
        store = hooks.open_journal(where)
        result = permissions.decide_by_rule(store, stop, project_of(where), rules)
    if result is not None:
        return _tell_before(stop, result)
    return _hold_one(stop) if (asks or permissions.may_ask(tool)) and not stop.agent else None


def _read_told() -> Resumption | None:
    """What the session is told that goes on, if it does."""
    path = os.environ[STEP]
    if not path:
        return None
    with open(path, "rb") as file:
        return msgspec.json.decode(file.read(), type=Resumption)


def _hold_one(stop: Stop) -> dict[str, Any]:
    """Set a call aside if no other one of its session is: a link says which one, from its first
    moment on, since several hooks may run at once.
    """
    path = _held_file(stop)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.symlink(stop.call, path)
    first = os.readlink(path) == stop.call
    return hooks.make_decision("defer", _WAITS) if first else hooks.make_decision("deny", _ANOTHER)


def _held_file(stop: Stop) -> str:
    return hooks.file_of(f"held\n{stop.request.session}".encode(errors="replace"))
