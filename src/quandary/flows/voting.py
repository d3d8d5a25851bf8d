"""A decision that several take together: they are asked at once, and the majority counts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from quandary.flows import asking_people as people
from quandary.flows import prompting
from quandary.flows.at_step import Ended
from quandary.model import keys
from quandary.model.call import is_human
from quandary.model.response import Decision

if TYPE_CHECKING:
    from collections.abc import Generator

    from quandary.flows import Request, Response
    from quandary.flows.at_step import Visit


def vote(visit: Visit) -> Generator[Request, Response, Ended]:
    """The route with the most votes. A tie is a person's to break; with nobody there, it fails."""
    voters = dict(enumerate(visit.plan.votes, 1))
    visit.cli = ", ".join(dict.fromkeys(voters.values()))
    votes = yield from _of_agents(visit, {n: v for n, v in voters.items() if not is_human(v)})
    for number, voter in voters.items():
        if is_human(voter):
            votes[number] = yield from people.choose(visit, f"vote-{number}", "vote")
    visit.attempts = max(visit.attempts, 1)
    counted = Counter(votes[number].route for number in voters if number in votes).most_common()
    if counted and (len(counted) == 1 or counted[0][1] > counted[1][1]):
        return _won(counted[0][0], votes)
    result = ", ".join(f"{route}: {count}" for route, count in counted) or "none could be read"
    if not visit.terms.person:
        return Ended(why=f"the votes are tied ({result}), and nobody is there to break the tie")
    broken = yield from people.choose(visit, "tie", "tie", f"The votes are tied ({result}).")
    return Ended(broken.route, broken.route, broken.reasons)


def _of_agents(
    visit: Visit, voters: dict[int, str]
) -> Generator[Request, Response, dict[int, Decision]]:
    """The votes of agents. Those that cannot be read are asked for again, as often as retries."""
    votes: dict[int, Decision] = {}
    problems: dict[int, str] = {}
    waiting = dict(voters)
    while waiting and visit.attempts <= visit.plan.retries + visit.granted:
        visit.afford(len(waiting))
        visit.attempts += 1
        outputs = yield tuple(
            visit.call(
                keys.turn(visit.key(f"vote-{number}"), visit.attempts),
                voter,
                prompting.run_prompt(
                    visit.task,
                    visit.plan.routes,
                    [problems[number]] if number in problems else [],
                ),
                "decision",
                visit.assign(f"vote-{number}", "vote"),
                len(waiting),
            )
            for number, voter in waiting.items()
        )
        if not isinstance(outputs, tuple):
            raise TypeError("calls are answered with their outputs")
        for number, output in zip(list(waiting), outputs, strict=True):
            visit.paid(output)
            tried = visit.hear(output, "decision")
            if isinstance(tried.meaning, Decision):
                votes[number] = tried.meaning
                del waiting[number]
            else:
                problems[number] = tried.problem
        if any(output.interrupted for output in outputs):
            yield from visit.interrupted(f"vote-{visit.attempts}", attempt=True)
    return votes


def _won(route: str, votes: dict[int, Decision]) -> Ended:
    reasons = [
        said for one in votes.values() if one.route == route and (said := one.reasons.strip())
    ]
    return Ended(route, route, "\n".join(dict.fromkeys(reasons)))
