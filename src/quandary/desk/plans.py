"""The plan of a walk: what would be run, and why it could not be."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from quandary.desk.begin import Beginning, Showing
from quandary.errors import NotFound, QuandaryError, Rejected
from quandary.flows.walk import TIMEOUT, Budget, Defaults, Terms, most_calls, plan, unfilled
from quandary.journal.entries import read_beginning, read_document
from quandary.model.calls import HUMAN, is_human
from quandary.model.chart import named
from quandary.model.text import count, printable
from quandary.settings import Settings, read_settings
from quandary.settings.agents import Agent, Catalogue, permit, tell_permission, words

if TYPE_CHECKING:
    from quandary.flows.walk import Planned
    from quandary.journal.store import Store
    from quandary.model.asks import Item


def defaults_of(settings: Settings, said: Mapping[str, Any]) -> Defaults:
    """The command line, then the environment, then the project's file, then the user's."""
    known: dict[str, Any] = {
        "cli": settings.text("default_cli"),
        "validate_cli": settings.text("default_validate_cli"),
        "retry_cli": settings.text("default_retry_cli"),
        "retries": _number(settings, "default_retry_count", 3, 0),
        "timeout": usual_timeout(settings),
        "max_visits": _number(settings, "max_visits", 25, 1),
        "on_exhausted": _one_of(settings, "on_exhausted", ("fail", "continue")),
        "on_interrupted": _one_of(settings, "on_interrupted", ("retry", "ask")),
    }
    given = {name: value for name, value in said.items() if value is not None and name in known}
    given["timeout"] = given.get("timeout") or known["timeout"]
    return msgspec.convert({**known, **given}, Defaults)


def budget_of(settings: Settings, said: Mapping[str, Any]) -> Budget:
    """What an item may cost, from the same places."""
    found = {}
    for name in Budget.__struct_fields__:
        set_to = _number(settings, name, -1, 0) if said.get(name) is None else said[name]
        found[name] = None if set_to == -1 else set_to
    return Budget(**found)


def usual_timeout(settings: Settings) -> float:
    """The seconds for one call where nothing else is said; 0 stands for what is built in."""
    return float(_number(settings, "default_timeout", 600, 0) or TIMEOUT)


def _number(settings: Settings, name: str, usual: int, least: int) -> int:
    number = settings.number(name, usual)
    if number < least and number != usual:
        raise QuandaryError(f"{name} is a whole number from {least} up, not {number}")
    return number


def _one_of(settings: Settings, name: str, words: tuple[str, str]) -> str:
    said = settings.text(name, words[0]).strip().casefold()
    if said not in words:
        raise QuandaryError(f"{name} is {' or '.join(words)}, not {said!r}")
    return said


class Plan(NamedTuple):
    """Everything that is known before anything is spent."""

    chart: str
    steps: list[Planned]
    commands: dict[str, list[str]]  # the command line of every agent that may be asked
    errors: list[str]
    warnings: list[str]
    unreachable: list[str]
    most_calls: int
    permissions: dict[str, dict[str, str]]  # what each may change, at work and as a judge

    def require_sound(self) -> None:
        """Refuse a plan with errors in it, and say all of them."""
        if self.errors:
            raise Rejected(f"the plan is not sound: {'; '.join(self.errors)}")

    def data(self) -> dict[str, Any]:
        """For programs."""
        steps = [{name: getattr(step, name) for name in _SHOWN.split()} for step in self.steps]
        return {**self._asdict(), "steps": steps}

    def text(self) -> str:
        """For people."""
        lines = [self.chart, ""]
        for step in self.steps:
            lines.append(f"{step.kind:<11} {step.name} ({step.id})")
            lines += [f"{'':<11} {line}" for line in _about(step)]
        if self.commands:
            lines += ["", "Commands:"]
            for name, line in self.commands.items():
                lines.append(f"  {name} ({self._may(name)}): {shlex.join(line)}")
        lines += ["", f"At most {count(self.most_calls, 'call')} for each item."]
        return "\n".join(map(printable, lines)) + "\n"

    def _may(self, name: str) -> str:
        told = self.permissions[name]
        work, check = (_MAY.get(told.get(role, ""), "") for role in ("work", "check"))
        both = work and check not in ("", work)
        return f"{work}; {check} when it checks" if both else work or check


_MAY = {
    "read-only": "read-only",
    "full": "may change anything",
    "unknown": "may change what its command lets it",
}
_SHOWN = (
    "id name kind page prompt validate_prompt cli validate_cli retry_cli retries timeout votes "
    "on_exhausted routes require"
)


def _about(step: Planned) -> Iterator[str]:
    if not step.asks:
        return
    who = ", ".join(step.votes) if step.votes else step.cli or "nobody"
    again = f"{step.retries} {'retry' if step.retries == 1 else 'retries'}"
    if step.retries and not step.votes and step.retry_cli != step.cli:
        again += f" by {step.retry_cli}"
    said = [f"by {who}", again, f"{step.timeout:g} s"]
    if step.validates:
        said.append(f"checked by {step.validate_cli}")
    if step.require:
        said.append("a person's own answer is required")
    yield ", ".join(said)
    for label, target in zip(step.routes, step.targets, strict=True):
        yield f"{label} -> {target}"


class Agents(Protocol):
    """The programs that a walk calls, as far as this machine has them."""

    catalogue: Catalogue

    def obstacles(self, agent: Agent, folder: str) -> list[str]:
        """Why an agent cannot be called there, as far as can be seen without running anything."""

    def require_logins(self, names: Sequence[str], folder: str) -> None:
        """Refuse agents that would not get past their login, before anything is spent."""


class Walk(NamedTuple):
    """A walk that could begin: its plan, and what all its items have in common."""

    plan: Plan
    folder: str
    arguments: dict[str, Any]
    chart: Any

    def beginning(self, item: Item, showing: Showing, **further: Any) -> Beginning:  # noqa: ANN401
        """What one item is begun with."""
        own = msgspec.to_builtins({"item": item, "limits": showing.limits()})
        arguments = {**self.arguments, **own, **further}
        return Beginning("walk", arguments, {"chart": self.chart}, self.plan.warnings)


def prepare_walk(
    source: str,
    agents: Agents,
    *,
    items: Sequence[Item],
    page: str = "",
    workdir: str = "",
    said: Mapping[str, Any],
    here: bool = True,
) -> Walk:
    """Read a chart and plan a walk of it; not walked `here`, it needs no folder and no programs."""
    from quandary.formats import charts  # noqa: PLC0415 - only for charts

    folder = work_folder(workdir, here=here)
    settings = read_settings()
    loaded = charts.read(source, page=page)
    if not loaded.chart.start and loaded.chart.pages:
        raise charts.no_page(loaded.chart, loaded.path)
    defaults, budget = defaults_of(settings, said), budget_of(settings, said)
    codenames = [*agents.catalogue.names, HUMAN]
    steps = plan(loaded.chart, defaults, codenames)
    allowed = bool(said.get("allow_changes"))
    commands, permissions, missing = _commands(steps, agents, folder if here else None, allowed)
    errors = [loaded.said(problem) for problem in loaded.errors]
    errors += [problem for step in steps for problem in step.problems]
    wanting, refused = unfilled(loaded.chart, steps, items)
    errors += refused
    warnings = [loaded.said(p) for p in loaded.problems if p.severity == "warning"]
    calls = most_calls(loaded.chart, steps, defaults)
    reached = {(step.page, step.id) for step in steps}
    pages = [page for page in loaded.chart.pages if any(page.id == on for on, _ in reached)]
    planned = Plan(
        loaded.chart.name,
        steps,
        commands,
        list(dict.fromkeys([*errors, *missing])),
        [*warnings, *wanting],
        [named(s) for page in pages for s in page.steps if (page.id, s.id) not in reached],
        calls if budget.max_calls is None else min(calls, budget.max_calls),
        permissions,
    )
    arguments = {"defaults": defaults, "codenames": codenames, "budget": budget, "workdir": folder}
    if allowed:
        arguments["allow_changes"] = True
    return Walk(planned, folder, msgspec.to_builtins(arguments), msgspec.to_builtins(loaded.chart))


def work_folder(workdir: str | None, *, here: bool = True) -> str:
    """Where agents work; a folder of other machines need not be on this one."""
    folder = os.path.abspath(workdir or os.curdir)
    if here and not os.path.isdir(folder):
        raise QuandaryError(f"{workdir}: no such folder to work in")
    return folder


def commands_of(store: Store, run: str, agents: Agents, folder: str) -> dict[str, list[str]]:
    """The commands of a run under way; one whose agents are no longer there is refused."""
    terms = _terms_of(store, run)
    steps = plan(terms.chart, terms.defaults, terms.codenames)
    commands, _, missing = _commands(steps, agents, folder, terms.allow_changes)
    if missing:
        raise Rejected(f"run {run} cannot go on: {'; '.join(missing)}")
    return commands


def steps_of(store: Store, run: str) -> list[Planned]:
    """What was planned for each step when the run began."""
    terms = _terms_of(store, run)
    return plan(terms.chart, terms.defaults, terms.codenames)


def _terms_of(store: Store, run: str) -> Terms:
    began, arguments = read_beginning(store, run)
    for name, digest in began.documents.items():
        arguments[name] = read_document(store.document(digest) or b"null", run)
    try:
        return msgspec.convert(arguments, Terms)
    except msgspec.ValidationError:
        raise Rejected(f"run {run} cannot go on; `quandary log {run}` shows it") from None


def _commands(
    steps: Iterable[Planned], agents: Agents, folder: str | None, allowed: bool
) -> tuple[dict[str, list[str]], dict[str, dict[str, str]], list[str]]:
    """The command of every agent that may be asked, what each may change, why some cannot be."""
    commands: dict[str, list[str]] = {}
    permissions: dict[str, dict[str, str]] = {}
    missing: list[str] = []
    for step in steps:
        asked = [*(("work", name) for name in step.workers)]
        for role, codename in (*asked, *(("check", name) for name in step.judges)):
            if not codename:
                what = "tag the shape, give --cli, or set default_cli"
                missing.append(f"“{step.name}” has no agent; {what}")
            if not codename or is_human(codename):
                continue
            try:
                found = agents.catalogue.find(codename)
            except NotFound as unknown:
                missing.append(f"“{step.name}”: {unknown}")
                continue
            may = permissions.setdefault(found.name, {})
            if role in may:
                continue
            agent = permit(found, changes=allowed and role == "work")
            may[role] = tell_permission(agent)
            if role == "work" or "work" not in may:
                commands[agent.name] = list(words(agent, schema=bool(agent.schema)))
            missing += agents.obstacles(agent, folder) if folder is not None else []
    return commands, permissions, list(dict.fromkeys(missing))
