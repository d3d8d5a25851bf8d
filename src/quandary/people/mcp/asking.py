"""Putting questions before the person at a client, in both ways that the protocol has for it.

Up to 2025-11-25 the server sends the form while the tool is being called, and the call waits.
From 2026-07-28 on the call returns with the form, and the client calls again with what came back.
Either way a call shows at most ten forms, one for each Ask, and then says how to go on.

No call waits for ever. A person may think about a form for longer than that: the form stays open,
and what is filled in later is booked all the same, as long as the client is there.
"""

from __future__ import annotations

import json
import secrets
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from quandary.errors import AlreadyAnswered, QuandaryError
from quandary.journal import runs
from quandary.model.asks import Outcome, Reply
from quandary.people.mcp import forms
from quandary.people.mcp.house import THROUGH, WHO

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.abc import TaskGroup
    from mcp.server.context import ServerRequestContext

    from quandary.journal.store import State
    from quandary.people.mcp.house import Client, House

    Context = ServerRequestContext["Desk", Any]

T = TypeVar("T")

ROUNDS = 10
"""Forms that one call shows; clients stop after as many."""
HOLD = 300.0
"""How long, in seconds, a call waits for a form."""
LOOK = 0.25
"""How often, in seconds, a run is looked at that something may happen to."""
PULSE = 15.0
"""How often, in seconds, a client is told that the call is still alive."""
KEPT = 1000
"""Forms that are remembered while they are out; the oldest are forgotten first."""
FIELD = "ask"
"""The name of the form among the inputs that a client is asked for."""

STILL_OPEN = "The form is still before the person. Call next with this run to wait for it."
MORE_TO_ASK = "There is more to ask. Call next with this run to go on."
TOO_LATE = "It was answered elsewhere in the meantime; what came back now was not booked."
UNKNOWN_FORM = "That form was taken before, or is too old; nothing was booked."
CLOSED = "Nobody answered. The question waits; call next with this run to show it again."
WAITS = (
    "The question waits. Call next with this run to show it here once more, or with a wait too to "
    "learn of an answer from elsewhere."
)


class Shown(NamedTuple):
    """A form that is out: which question it shows, since when, and how many came before it."""

    run: str
    key: str
    at: float
    turn: int


class Standing(NamedTuple):
    """Where a run stands after a form, and what there is to say about the form."""

    state: State
    said: str = ""
    answered: bool = False


class _Open:
    """A form that was sent during a call and has not come back."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.standing: Standing | None = None


class Desk:
    """Where the forms lie that are out, for one server."""

    def __init__(self, house: House, tasks: TaskGroup, hold: float) -> None:
        self.house = house
        self.hold = hold
        self._tasks = tasks
        self._one = anyio.CapacityLimiter(1)
        self._open: dict[tuple[int, str, str], _Open] = {}
        self._shown: dict[str, Shown] = {}

    async def do(self, work: Callable[..., T], *arguments: object) -> T:
        """Do something that may take a while; one thing at a time, since they share a store."""
        return await anyio.to_thread.run_sync(partial(work, *arguments), limiter=self._one)

    # -- a form within a call --------------------------------------------------------------------

    async def converse(self, context: Context, caller: Client, state: State) -> Standing:
        """Show what waits, and what comes after it, until there is nothing or nobody to ask."""
        until = anyio.current_time() + self.hold
        standing = Standing(state)
        for _ in range(ROUNDS):
            if not showable(standing.state, caller):
                return standing
            form = self._laid_out(context, caller, standing.state)
            try:
                came = await self._came(context, form, until)
            except anyio.get_cancelled_exc_class():
                form.scope.cancel()  # whoever called has gone, and the form with them
                raise
            if came is None:
                return Standing(standing.state, CLOSED if form.done.is_set() else STILL_OPEN)
            standing = came
            if not came.answered:
                return came
        return Standing(standing.state, MORE_TO_ASK) if standing.state.ask else standing

    def _laid_out(self, context: Context, caller: Client, state: State) -> _Open:
        """The form for what waits; the one that is out already, if there is one."""
        place = _place(context, state)
        if place not in self._open:
            self._open[place] = _Open()
            self._tasks.start_soon(self._show, context, caller, state, self._open[place])
        return self._open[place]

    async def _came(self, context: Context, form: _Open, until: float) -> Standing | None:
        begun = anyio.current_time()
        while not form.done.is_set():
            now = anyio.current_time()
            if now >= until:
                return None
            with anyio.move_on_after(min(PULSE, until - now)):
                await form.done.wait()
            if not form.done.is_set():
                await context.session.report_progress(now - begun, None, "waiting for the person")
        return form.standing

    async def _show(self, context: Context, caller: Client, state: State, form: _Open) -> None:
        try:
            with form.scope:
                form.standing = await self._sent(context, caller, state)
        except QuandaryError as error:  # in the background, nobody else would hear of it
            form.standing = Standing(state, str(error))
        finally:
            self._open.pop(_place(context, state), None)
            form.done.set()

    async def _sent(self, context: Context, caller: Client, state: State) -> Standing:
        began = anyio.current_time()
        shown = Shown(state.run, state.key or "", began, 0)
        try:
            result = await context.session.send_request(
                elicitation(state, caller),
                types.ElicitResult,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
        except (MCPError, ValidationError) as error:
            return await self.do(self._noted, shown, _failed(error), caller.name)
        seconds = anyio.current_time() - began
        return await self.do(self._taken, shown, result, seconds, caller.name)

    # -- a form between calls --------------------------------------------------------------------

    def handed_out(self, caller: Client, state: State, turn: int) -> types.InputRequiredResult:
        """The form as a result, with which the client calls again."""
        token = secrets.token_urlsafe(16)
        while len(self._shown) >= KEPT:
            del self._shown[next(iter(self._shown))]
        self._shown[token] = Shown(state.run, state.key or "", anyio.current_time(), turn)
        return types.InputRequiredResult(
            input_requests={FIELD: elicitation(state, caller)},
            request_state=json.dumps({"run": state.run, "form": token}),
        )

    async def handed_back(
        self, caller: Client, request_state: str, responses: types.InputResponses | None
    ) -> tuple[Standing, int]:
        """What came of a form that was handed out, and how many there have been.

        Each is taken once: one that nobody knows, or that came before, books nothing.
        """
        token, run = _read_state(request_state)
        shown = self._shown.pop(token, None)
        if shown is None or shown.run != run:
            state = await self.do(runs.look, self.house.store, run)
            return Standing(state, UNKNOWN_FORM), ROUNDS
        seconds = anyio.current_time() - shown.at
        result = (responses or {}).get(FIELD)
        if not isinstance(result, types.ElicitResult):
            lost = Outcome("error", "the client called again without the form")
            return await self.do(self._noted, shown, lost, caller.name), shown.turn
        return await self.do(self._taken, shown, result, seconds, caller.name), shown.turn

    # -- what came back --------------------------------------------------------------------------

    def _taken(self, shown: Shown, result: types.ElicitResult, seconds: float, by: str) -> Standing:
        """Book what a form means, if its question still waits."""
        state = runs.look(self.house.store, shown.run)
        if state.ask is None or state.key != shown.key:
            return Standing(state, TOO_LATE)
        came = forms.came(state.ask, result.action, result.content, seconds)
        try:
            if isinstance(came.response, Outcome):
                return self._noted(shown, came.response, by)
            if isinstance(came.response, Reply):
                state = self.house.record(shown.run, came.response, to=shown.key, by=by)
            for note in came.notes:
                state = runs.note(
                    self.house.store, shown.run, note, who=WHO, through=THROUGH, by=by
                )
        except AlreadyAnswered:
            return Standing(runs.look(self.house.store, shown.run), TOO_LATE)
        except QuandaryError as error:
            return Standing(runs.look(self.house.store, shown.run), str(error))
        return Standing(state, answered=True)

    def _noted(self, shown: Shown, outcome: Outcome, by: str) -> Standing:
        """Keep that there was no answer, and why; only a decline ends the run."""
        store = self.house.store
        try:
            state = runs.note(
                store, shown.run, outcome, to=shown.key, who=WHO, through=THROUGH, by=by
            )
        except AlreadyAnswered:
            return Standing(runs.look(store, shown.run), TOO_LATE)
        return Standing(state, CLOSED if outcome.kind == "dismissed" else "")

    # -- waiting ---------------------------------------------------------------------------------

    async def changed(self, state: State, seconds: float) -> State:
        """The state once the run has come to something new, or when the time is up.

        What agents do on the way there is nothing that anybody has to hear of.
        """
        until = anyio.current_time() + seconds
        store = self.house.store
        while anyio.current_time() < until:
            row = await self.do(store.run, state.run)
            if (
                row is None
                or row.status != "waiting"
                or (row.n > state.n and row.waits == "person")
            ):
                break
            await anyio.sleep(min(LOOK, max(until - anyio.current_time(), 0)))
        return await self.do(runs.look, store, state.run)


@asynccontextmanager
async def desk(house: House, hold: float) -> AsyncIterator[Desk]:
    """A desk as long as the server runs; what still lies on it then is taken away."""
    async with anyio.create_task_group() as tasks:
        try:
            yield Desk(house, tasks, hold)
        finally:
            tasks.cancel_scope.cancel()


def _place(context: Context, state: State) -> tuple[int, str, str]:
    """Where the form for a question lies: each client has one of its own."""
    return id(context.session.client_params), state.run, state.key or ""


def showable(state: State, caller: Client) -> bool:
    """Whether the question that waits can be put before somebody at this client.

    What only a person themselves may answer is not shown where an agent is in between.
    """
    return caller.forms and state.ask is not None and not state.ask.require


def elicitation(state: State, caller: Client) -> types.ElicitRequest:
    """The form for what waits, as the protocol has it in both eras."""
    assert state.ask is not None  # noqa: S101 - nobody calls it otherwise
    made = forms.form(state.ask, state.notes, titled=caller.titled)
    asked = types.ElicitRequestFormParams(message=made.message, requested_schema=made.schema)
    return types.ElicitRequest(params=asked)


def _failed(error: MCPError | ValidationError) -> Outcome:
    """Why nobody filled in a form: the client cannot show one, or it has gone."""
    if not isinstance(error, MCPError):
        return Outcome("error", "what the client sent back is no form")
    if error.code == types.CONNECTION_CLOSED:
        return Outcome("dismissed", "the client went away")
    return Outcome("unavailable", error.message)


def _read_state(text: str) -> tuple[str, str]:
    """The token and the run in what a client gave back; it was sealed by us."""
    try:
        state = json.loads(text)
        return str(state["form"]), str(state["run"])
    except (ValueError, TypeError, KeyError):
        raise QuandaryError("the request state is not one of ours; call the tool anew") from None
