"""Driving a flow without a journal: for scripts and tests that keep nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from quandary.errors import QuandaryError, Rejected
from quandary.model.asks import Ask, Outcome, Reply
from quandary.model.calls import Call, Do, Done, Output

if TYPE_CHECKING:
    from quandary.flows import Flow


class Asks(Protocol):
    """A room that asks, such as `quandary.doors.terminal`."""

    def ask(self, ask: Ask, /) -> Reply | Outcome:
        """Put an Ask before a person."""


def run(
    flow: Flow,
    ask: Callable[[Ask], Reply | Outcome] | Asks,
    call: Callable[[Call], Output] | None = None,
) -> dict[str, Any]:
    """Ask whatever the flow asks, until it is done, and return its result.

    A reply that is no answer ends it: there is no journal here in which the question could wait.
    """
    asking = ask if callable(ask) else ask.ask
    request = next(flow)
    while True:
        if isinstance(request, Ask):
            response: Any = asking(request)
            if isinstance(response, Outcome):
                raise Rejected(f"no answer ({response.kind}): {request.key} was left open")
        elif isinstance(request, Do):
            response = Done(request.key, error=f"{request.deed} cannot be done here")
        elif call is None:
            raise QuandaryError("the flow calls an agent; give `call` to answer it")
        elif isinstance(request, Call):
            response = call(request)
        else:
            response = tuple(call(one) for one in request)
        try:
            request = flow.send(response)
        except StopIteration as end:
            result: dict[str, Any] = end.value
            return result
