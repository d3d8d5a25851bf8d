"""One visit to a step: ask, read, have it judged, try again, until it is done or given up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from quandary.flows import asking_people as people
from quandary.flows import prompting
from quandary.flows.asking_people import Tried, Verdict
from quandary.flows.responding import heard, match_route
from quandary.model import keys
from quandary.model.call import Assignment, Call, Output, is_human
from quandary.model.response import Decision, Process, Validation

if TYPE_CHECKING:
    from collections.abc import Generator

    from quandary.flows import Request, Response
    from quandary.flows.asking import Chooser
    from quandary.flows.planning import Planned
    from quandary.flows.walk_terms import Spent, Terms
    from quandary.model.call import Role
    from quandary.model.response import Expects

INTERRUPTIONS = 3
"""How often a validator is asked once more because it was interrupted."""
LONGEST_KEPT = 100_000
"""Characters of an output that the result repeats; the journal has all of it."""
LONGEST_REASON = 2000
"""Characters of what was held against the last attempt, where the run says why it failed."""
_KINDS = {"process": Process, "decision": Decision, "validation": Validation}


class Ended(NamedTuple):
    """What came of a visit."""

    route: str = ""
    output: str | None = None
    reasons: str = ""
    """Why that route was chosen."""
    why: str = ""
    """Why it was given up."""
    stopped: bool = False
    """It was not the step's fault: the budget is used up, or a person stopped the run."""
    used_up: bool = False
    """It was the budget."""


class Stop(Exception):  # noqa: N818 - leaves the visit, and is always caught
    """The run is to stop here."""


class UsedUp(Stop):
    """There is no budget for what comes next."""


def tokens_of(output: Output) -> int:
    """What a call cost: as its agent counted, else as its answer says."""
    if not output.tokens and isinstance(output.meaning, Process):
        return output.meaning.tokens_used
    return output.tokens or 0


class Visit:
    """A step being done, and what it has cost."""

    def __init__(
        self,
        terms: Terms,
        plan: Planned,
        task: str,
        *,
        prefix: str,
        number: int,
        spent: Spent,
        chooser: Chooser,
    ) -> None:
        self.terms = terms
        self.plan = plan
        self.task = task
        """The step's prompt, with its slots filled."""
        self.prefix = prefix
        self.number = number
        self.spent = spent
        self.chooser = chooser
        self.attempts = 0
        self.granted = 0
        """Further attempts that a person allowed."""
        self.seconds = 0.0
        self.tokens = 0
        self.validation: str | None = None
        self.critiques: list[str] = []
        self.ended = Ended()
        self.cli = plan.cli
        self.first = ""
        """The key of what was asked first."""

    def flow(self) -> Generator[Request, Response, Ended]:
        """Do it; a decision ends with a route, a process with its output."""
        doing = self._decide() if self.plan.routes else self._process()
        try:
            self.ended = yield from doing
        except Stop as stop:
            self.ended = Ended(why=str(stop), stopped=True, used_up=isinstance(stop, UsedUp))
        return self.ended

    def record(self) -> dict[str, Any]:
        """The entry of the result."""
        ended = self.ended
        entry: dict[str, Any] = {
            "id": self.plan.id,
            "name": self.plan.name,
            "kind": "decision" if self.plan.routes else "process",
            "cli": self.cli,
            "route": ended.route or None,
            "attempts": self.attempts,
            "validation": self.validation,
            "seconds": round(self.seconds, 3),
            "tokens": self.tokens,
            "visit": self.number,
            "page": self.plan.page,
            "output": ended.output and ended.output[:LONGEST_KEPT],
        }
        if ended.reasons:
            entry["reasons"] = ended.reasons
        if ended.why:
            entry["error"] = ended.why
        return entry

    # -- a step that is done ---------------------------------------------------------------------

    def _process(self) -> Generator[Request, Response, Ended]:
        output = ""
        while True:
            tried = yield from self._attempt("process")
            output = tried.said or output
            critique, again = tried.problem, tried.again
            if isinstance(tried.meaning, Process):
                output = tried.meaning.comments.strip() or tried.said
                verdict = yield from self._validated(tried.said)
                if verdict is None:
                    return Ended(output=output)
                critique, again = verdict
            self.critiques.append(critique)
            if not again or self._used_up:
                why = f"not done after {self._times}: {self._last}"
                return Ended(output=output or None, why=why)

    def _attempt(self, expects: Expects) -> Generator[Request, Response, Tried]:
        """One try: by the step's own agent first, and by the one for further tries then."""
        plan = self.plan
        name = f"retry-{self.attempts}" if self.attempts else "run"
        self.cli = plan.retry_cli if self.attempts else plan.cli
        self.attempts += 1
        if is_human(self.cli):
            if expects == "decision":
                decision = yield from people.choose(self, name, "work")
                return Tried(decision.answer, decision)
            tried = yield from people.do(self, name)
            return tried._replace(again=tried.again or not is_human(plan.retry_cli))
        prompt = prompting.run_prompt(self.task, plan.routes, self.critiques)
        output = yield from self.asked(name, self.cli, prompt, expects)
        return self.hear(output, expects)

    def _validated(self, work: str) -> Generator[Request, Response, Verdict | None]:
        """Nothing if the work passes, or nobody is to judge it."""
        if not self.plan.validates:
            return None
        name = f"validate-{self.attempts}"
        judging = people.judge if is_human(self.plan.validate_cli) else _judged
        verdict = yield from judging(self, name, work)
        self.validation = "passed" if verdict is None else "failed"
        return verdict

    # -- a decision ------------------------------------------------------------------------------

    def _decide(self) -> Generator[Request, Response, Ended]:
        if self.plan.votes:
            from quandary.flows.voting import vote  # noqa: PLC0415 - it needs this module

            return (yield from vote(self))
        while True:
            tried = yield from self._attempt("decision")
            if isinstance(tried.meaning, Decision):
                chosen = tried.meaning
                return Ended(chosen.route, chosen.route, chosen.reasons.strip())
            self.critiques.append(tried.problem)
            if self._used_up:
                return Ended(why=f"no route was chosen after {self._times}: {self._last}")

    # -- calls -----------------------------------------------------------------------------------

    def asked(
        self, name: str, agent: str, prompt: str, expects: Expects, showing: int = 1
    ) -> Generator[Request, Response, Output]:
        """Ask an agent. Whether it was interrupted or not, this counts as an attempt."""
        self.afford(1)
        role: Role = "check" if expects == "validation" else "work"
        key = keys.turn(self.key(name), showing)
        output = yield self.call(key, agent, prompt, expects, self.assign(name, role))
        if not isinstance(output, Output):
            raise TypeError("a call is answered with its output")
        self.paid(output)
        if output.interrupted:
            yield from self.interrupted(name, showing, attempt=expects != "validation")
        return output

    def call(
        self,
        key: str,
        agent: str,
        prompt: str,
        expects: Expects,
        assignment: Assignment,
        calls: int = 1,
    ) -> Call:
        """A call, one of so many at once."""
        plan = self.plan
        routes = plan.routes if expects == "decision" else ()
        seconds = self.spent.time(plan.timeout, calls)
        return Call(key, agent, prompt, expects, routes, seconds, assignment, plan.name)

    def interrupted(
        self, name: str, showing: int = 1, *, attempt: bool
    ) -> Generator[Request, Response, None]:
        """Ask whether to go on after an interruption, where that is wanted.

        Whoever wants an attempt to be made again gets it, however many there were.
        """
        if self.terms.defaults.on_interrupted != "ask":
            return
        again = yield from people.again(self, name, showing)
        if not again:
            raise Stop("a call was interrupted, and it was not to be made again")
        self.granted += attempt

    def hear(self, output: Output, expects: Expects) -> Tried:
        """What an output means at this step."""
        return meant(output, expects, self.plan.routes if expects == "decision" else ())

    def afford(self, calls: int) -> None:
        """Stop where so many calls would be too many."""
        over = self.spent.over(calls)
        if over:
            raise UsedUp(over)

    def paid(self, output: Output) -> None:
        """Count what a call cost."""
        tokens = tokens_of(output)
        self.seconds += output.seconds
        self.tokens += tokens
        self.spent.calls += 1
        self.spent.seconds += output.seconds
        self.spent.tokens += tokens

    def key(self, name: str) -> str:
        """The key of something that is asked at this visit."""
        key = f"{self.prefix}{keys.visit(self.plan.id, self.number, name)}"
        self.first = self.first or key
        return key

    def assign(self, name: str, role: Role) -> Assignment:
        """Which part of the walk something is that is asked at this visit."""
        plan = self.plan
        return Assignment(plan.page, plan.id, self.number, name, role, max(self.attempts, 1))

    @property
    def _used_up(self) -> bool:
        return self.attempts > self.plan.retries + self.granted

    @property
    def _times(self) -> str:
        return "one attempt" if self.attempts == 1 else f"{self.attempts} attempts"

    @property
    def _last(self) -> str:
        said = " ".join(self.critiques[-1].split()) or "nothing came of it"
        return said if len(said) <= LONGEST_REASON else said[: LONGEST_REASON - 1] + "…"


def meant(output: Output, expects: Expects, routes: tuple[str, ...]) -> Tried:
    """What an output means; work that is not complete, and a way that is none, do not count."""
    meaning, problem = heard(Call(output.key, "", "", expects, routes), output)
    if isinstance(meaning, Process) and not meaning.completed:
        said = meaning.comments.strip()
        return Tried(output.text, None, f"It was not completed{f': {said}' if said else ''}.")
    if isinstance(meaning, Decision) and routes:
        route = match_route(meaning.route or meaning.answer, routes)
        if route is None:
            return Tried(output.text, None, f"“{meaning.answer}” is none of the routes.")
        meaning = Decision(meaning.answer, meaning.choices, meaning.reasons, route)
    if meaning is not None and not isinstance(meaning, _KINDS[expects]):
        return Tried(output.text, None, "That answers another question than was asked.")
    return Tried(output.text, meaning, problem)


def _judged(visit: Visit, name: str, work: str) -> Generator[Request, Response, Verdict | None]:
    """The verdict of an agent.

    One that cannot be read is asked for once more, and so is one that was interrupted.
    """
    plan = visit.plan
    first = prompting.validation_prompt(visit.task, work, plan.validate_prompt)
    names = [name, f"{name}-again"]
    prompt, problem, interruptions = first, "", 0
    while names:
        showing = interruptions + 1 if names[0] == name else 1
        came = yield from visit.asked(names[0], plan.validate_cli, prompt, "validation", showing)
        _, meaning, problem, _ = visit.hear(came, "validation")
        if isinstance(meaning, Validation):
            if meaning.fully_completed:
                return None
            return Verdict(prompting.critique_of(meaning), meaning.should_retry)
        if came.interrupted and interruptions < INTERRUPTIONS:
            interruptions += 1
            names[0] = name
            continue
        prompt = prompting.again_prompt(first, problem)
        del names[0]
    return Verdict(f"the validator could not be understood: {problem}", again=False)
