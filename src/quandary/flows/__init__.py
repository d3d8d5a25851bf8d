"""The verbs: generators that do no input or output. They yield requests and are sent responses."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from quandary.model.asks import Ask, Reply
from quandary.model.calls import Call, Do, Done, Output

Request = Ask | Call | tuple[Call, ...] | Do
Response = Reply | Output | tuple[Output, ...] | Done
T = TypeVar("T")
Steps = Generator[Request, Response, T]
"""A part of a flow, with what comes of it."""
Flow = Steps[dict[str, Any]]
R = TypeVar("R", Reply, Output, Done)


def send(request: Ask | Call | Do, kind: type[R]) -> Steps[R]:
    """Yield a request; what came back has to be of the kind that answers it."""
    response = yield request
    if not isinstance(response, kind):
        raise TypeError(f"{request.key} is answered with {kind.__name__}, not {response!r:.60}")
    return response
