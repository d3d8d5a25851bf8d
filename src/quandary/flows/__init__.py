"""The verbs: generators that do no input or output. They yield requests and are sent responses."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from quandary.model.asks import Ask, Reply
from quandary.model.calls import Call, Do, Done, Output

Request = Ask | Call | tuple[Call, ...] | Do
Response = Reply | Output | tuple[Output, ...] | Done
Flow = Generator[Request, Response, dict[str, Any]]
