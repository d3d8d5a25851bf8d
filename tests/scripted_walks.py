"""Walks without agents or a journal: every call and question is answered from a test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chart_strategies import page
from quandary.errors import Failed
from quandary.model.asks import Answer, Ask, Reply
from quandary.model.calls import Call, Output
from quandary.model.chart import Chart, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quandary.flows import Flow, Request

DONE: dict[str, Any] = {"completed": True, "comments": "done"}
GOOD: dict[str, Any] = {"fully_completed": True}
START = Step("s", "Start", "terminator")


def chart(*steps: Step, routes: str = "", name: str = "Rounds") -> Chart:
    """A chart of one page."""
    return Chart(name, (page(*steps, routes=routes),))


def task(key: str, text: str = "", *tags: str, **fields: str) -> Step:
    """A step that nobody validates."""
    return Step(key, text or f"Do {key}", "process", tags, {"no_validation": "true", **fields})


class ScriptedWalk:
    """A walk to its end, or to what nothing was prepared for; calls and Asks by their keys."""

    def __init__(self, flow: Flow, said: Mapping[str, object] | None = None) -> None:
        self.said = dict(said or {})
        self.requests: list[Request] = []
        self.asks: dict[str, Ask] = {}
        self.calls: dict[str, Call] = {}
        self.result: dict[str, Any] | None = None
        self.error = ""
        self.waits: Request | None = None
        self._go(flow)

    def _go(self, flow: Flow) -> None:
        try:
            request = next(flow)
            while True:
                self.requests.append(request)
                response = self._respond(request)
                if response is None:
                    self.waits = request
                    return
                request = flow.send(response)
        except StopIteration as end:
            self.result = end.value
        except Failed as failed:
            self.result, self.error = failed.result, str(failed)

    def _respond(self, request: Request) -> Any:  # noqa: ANN401 - whatever fits the request
        if isinstance(request, Ask):
            self.asks[request.key] = request
            said = self.said.get(request.key)
            if said is None:
                return None
            given = {"picked": (said,)} if isinstance(said, str) else said
            assert isinstance(given, dict)
            return Reply((Answer(request.questions[0].key, **given),))
        calls = request if isinstance(request, tuple) else (request,)
        outputs = []
        for call in calls:
            assert isinstance(call, Call)
            self.calls[call.key] = call
            outputs.append(self._output(call))
        return tuple(outputs) if isinstance(request, tuple) else outputs[0]

    def _output(self, call: Call) -> Output:
        usual: dict[str, object] = {
            "process": DONE,
            "validation": GOOD,
            "decision": {"answer": call.routes[0] if call.routes else ""},
        }
        said = self.said.get(call.key, usual[str(call.expects)])
        if isinstance(said, Output):
            return said
        return Output(call.key, said if isinstance(said, str) else json.dumps(said))

    @property
    def steps(self) -> list[dict[str, Any]]:
        assert self.result is not None
        found: list[dict[str, Any]] = self.result["steps"]
        return found
