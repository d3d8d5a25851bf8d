"""The plan of a walk: what would be run, and why it could not be."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.agents.agent import words
from quandary.agents.calling import Surroundings, obstacles
from quandary.cli.screen import put, tell
from quandary.errors import NotFound, Rejected
from quandary.flows.planning import Defaults, Planned, most_calls, plan
from quandary.formats.visible import printable
from quandary.model.call import is_human
from quandary.model.soundness import named

if TYPE_CHECKING:
    from quandary.agents.catalogue import Catalogue
    from quandary.formats.charts import Loaded


class Plan(NamedTuple):
    """Everything that is known before anything is spent."""

    chart: str
    steps: list[Planned]
    commands: dict[str, list[str]]
    """The command line of every agent that may be asked."""
    errors: list[str]
    warnings: list[str]
    unreachable: list[str]
    most_calls: int

    def require_sound(self) -> None:
        """Refuse a plan with errors in it, and say all of them."""
        if self.errors:
            raise Rejected(f"the plan is not sound: {'; '.join(self.errors)}")

    def show(self) -> int:
        """Print it: for people on a terminal, as JSON elsewhere."""
        if sys.stdout.isatty():
            put(self._text())
        else:
            put(msgspec.json.encode(self._data()) + b"\n")
        for line in (*self.errors, *self.warnings):
            tell(line)
        return 1 if self.errors else 0

    def _data(self) -> dict[str, Any]:
        return {
            "chart": self.chart,
            "steps": [{name: getattr(s, name) for name in _SHOWN} for s in self.steps],
            "commands": self.commands,
            "errors": self.errors,
            "warnings": self.warnings,
            "unreachable": self.unreachable,
            "most_calls": self.most_calls,
        }

    def _text(self) -> str:
        lines = [printable(self.chart), ""]
        for step in self.steps:
            lines.append(f"{step.kind:<11} {printable(step.name)} ({printable(step.id)})")
            if step.agents:
                who = ", ".join(step.votes) if step.votes else step.cli
                about = [f"by {who}", f"{step.retries} retries", f"{step.timeout:g} s"]
                if step.validates:
                    about.append(f"checked by {step.validate_cli}")
                lines.append(f"            {', '.join(about)}")
            if step.routes:
                lines.append(f"            routes: {printable(' | '.join(step.routes))}")
        lines += ["", "Commands:"]
        lines += [f"  {name}: {shlex.join(line)}" for name, line in self.commands.items()]
        lines += ["", f"At most {self.most_calls} calls for each item."]
        return "\n".join(lines) + "\n"


_SHOWN = (
    "id",
    "name",
    "kind",
    "page",
    "prompt",
    "check",
    "validates",
    "cli",
    "validate_cli",
    "retry_cli",
    "retries",
    "timeout",
    "votes",
    "on_exhausted",
    "routes",
)


def plan_of(loaded: Loaded, defaults: Defaults, catalogue: Catalogue, around: Surroundings) -> Plan:
    """What a walk of the chart would do with these agents, in this folder."""
    chart = loaded.chart
    clear = bool(chart.start) or sum(bool(page.steps) for page in chart.pages) < 2
    steps = plan(chart, defaults, [*catalogue.names, "HUMAN"]) if clear else []
    errors = [loaded.said(problem) for problem in loaded.errors]
    errors += [problem for step in steps for problem in step.problems]
    if not clear and not loaded.errors:
        errors.append(f"{loaded.path}: say with --page which page is meant")
    commands: dict[str, list[str]] = {}
    for step in steps:
        for agent in step.agents:
            if agent:
                errors += _command(agent, step, catalogue, around, commands)
            else:
                errors.append(
                    f"“{step.name}” has no agent; tag the shape, give --cli, or set default_cli"
                )
    warnings = [loaded.said(p) for p in loaded.problems if p.severity == "warning"]
    reached = {(step.page, step.id) for step in steps}
    pages = {step.page for step in steps}
    left = [
        named(step)
        for page in chart.pages
        if page.name in pages
        for step in page.steps
        if (page.name, step.id) not in reached
    ]
    calls = most_calls(chart, steps, defaults)
    return Plan(chart.name, steps, commands, list(dict.fromkeys(errors)), warnings, left, calls)


def _command(
    codename: str,
    step: Planned,
    catalogue: Catalogue,
    around: Surroundings,
    commands: dict[str, list[str]],
) -> list[str]:
    """Keep the command line of an agent; what would keep it from running is given back."""
    if is_human(codename):
        return []
    try:
        agent = catalogue.find(codename)
    except NotFound as unknown:
        return [f"“{step.name}”: {unknown}"]
    if agent.name not in commands:
        commands[agent.name] = list(words(agent, schema=bool(agent.schema)))
        return obstacles(agent, around)
    return []
