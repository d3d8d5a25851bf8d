"""What came of a visit to a step: its attempts, the way that was chosen, and whether it is over.

These follow the rules by which the flow goes on, so that a report says what the flow did.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from quandary.agents.story import Attempt
from quandary.flows.at_step import INTERRUPTIONS
from quandary.model.call import HUMAN, is_human

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quandary.agents.story import Exchange, Verdict
    from quandary.flows.planning import Planned

    Exchanges = Sequence[Exchange]

UNREAD = 2
"""So many verdicts that cannot be read are as good as none."""


def attempts(plan: Planned, exchanges: Exchanges, *, exact: bool) -> tuple[Attempt, ...]:
    """What was tried, each time with what came of it.

    It is exact where all is known that the run was begun with.
    """
    groups = _groups(exchanges)
    way = chosen(plan, exchanges)
    found = []
    for number, group in enumerate(groups, 1):
        if group[-1].role == "again" and not group[-1].accepted:
            verdict: tuple[Verdict | None, str] = (None, "")
        elif plan.routes:
            verdict = ("passed", "") if way and number == len(groups) else _undecided(group)
        else:
            verdict = _judged(plan, group, exact=exact)
        found.append(Attempt(number, tuple(group), *verdict))
    return tuple(found)


def chosen(plan: Planned, exchanges: Exchanges) -> str:
    """The way that was decided on: by whoever was asked last, or by most of those who voted."""
    if not plan.routes or not exchanges or not all(exchange.answered for exchange in exchanges):
        return ""
    last = exchanges[-1]
    if last.role in ("work", "tie"):
        return last.route
    if last.role == "again" and not last.accepted:
        return ""
    if any(e.role == "vote" and e.agent != HUMAN and e.accepted is None for e in exchanges):
        return ""  # votes were pruned, and those that are left need not be the majority
    last_said = {e.name: e.route for e in exchanges if e.role == "vote"}
    votes = {name: route for name, route in last_said.items() if route}
    used_up = len(_groups(exchanges)) > plan.retries + _granted(exchanges)
    for number, voter in enumerate(plan.votes, 1):
        if f"vote-{number}" not in votes and (is_human(voter) or not used_up):
            return ""
    counted = Counter(votes.values()).most_common(2)
    tied = len(counted) > 1 and counted[0][1] == counted[1][1]
    return counted[0][0] if counted and not tied else ""


def left(plan: Planned, exchanges: Exchanges) -> bool:
    """Whether the run could go on from a visit: the step was done, or need not be."""
    tried = attempts(plan, exchanges, exact=True)
    if not tried:
        return False
    last = tried[-1]
    if plan.routes or last.verdict == "passed":
        return last.verdict == "passed"
    if last.verdict is None or plan.on_exhausted != "continue":
        return False
    return _in_vain(plan, last) or len(tried) > plan.retries + _granted(exchanges)


def _groups(exchanges: Exchanges) -> list[list[Exchange]]:
    """The exchanges of each attempt; a vote that is asked for again begins another one."""
    groups: list[list[Exchange]] = []
    for exchange in exchanges:
        names = {one.name for one in groups[-1]} if groups else set()
        again = exchange.role == "vote" and exchange.agent != HUMAN and exchange.name in names
        if not groups or again or (exchange.role == "work" and exchange.name not in names):
            groups.append([])
        groups[-1].append(exchange)
    return groups


def _granted(exchanges: Exchanges) -> int:
    """Further attempts that a person allowed after an interruption."""
    again = (exchange for exchange in exchanges if exchange.role == "again" and exchange.accepted)
    return sum(not exchange.name.startswith("validate-") for exchange in again)


def _undecided(group: list[Exchange]) -> tuple[Verdict | None, str]:
    if any(exchange.accepted is None for exchange in group):
        return None, ""
    problems = [exchange.problem for exchange in group if exchange.problem]
    return "failed", "\n".join(dict.fromkeys(problems)) or "The votes are tied."


def _judged(plan: Planned, group: list[Exchange], *, exact: bool) -> tuple[Verdict | None, str]:
    """Whether work counted: it was done, and passed where somebody was to judge it."""
    work = next(exchange for exchange in reversed(group) if exchange.role in ("work", "vote"))
    checks = [exchange for exchange in group if exchange.role == "check"]
    if work.accepted is not True:
        return ("failed", work.problem) if work.accepted is False else (None, "")
    if not checks:
        return ("passed", "") if exact and not plan.validates else (None, "")
    last = checks[-1]
    if last.accepted is None or (_unread(last) and not _given_up(checks)):
        return None, ""
    return ("passed", "") if last.accepted else ("failed", last.problem)


def _in_vain(plan: Planned, attempt: Attempt) -> bool:
    """Whether nobody expected another attempt to do better."""
    last = attempt.exchanges[-1]
    if last.role == "check":
        return not last.retry or _unread(last)
    return last.agent == HUMAN and last.accepted is False and is_human(plan.retry_cli)


def _given_up(checks: list[Exchange]) -> bool:
    """Whether too many verdicts could not be read; some interruptions do not count."""
    unread = [check for check in checks if _unread(check)]
    interrupted = sum(check.interrupted for check in unread)
    return len(unread) - min(interrupted, INTERRUPTIONS) >= UNREAD


def _unread(check: Exchange) -> bool:
    """A verdict of an agent that could not be understood."""
    return check.agent != HUMAN and check.accepted is False and check.meaning is None
