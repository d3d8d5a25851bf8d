"""One visit to a step: ask, read, have it judged, try again, until it is done or given up."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from quandary.flows import asking_people as people
from quandary.flows import prompting
from quandary.flows.responding import heard
from quandary.model import keys
from quandary.model.call import Call, Output, is_human
from quandary.model.response import Decision, Process, Validation

if TYPE_CHECKING:
    from collections.abc import Generator

    from quandary.flows import Request, Response
    from quandary.flows.planning import Defaults, Planned
    from quandary.model.ask import Item, Limits
    from quandary.model.chart import Chart
    from quandary.model.response import Expects, Meaning

    Steps = Generator[Request, Response, Any]


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one item may cost; nothing set is no limit."""

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None


class Spent(msgspec.Struct):
    """What it has cost so far."""

    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def over(self, budget: Budget, further: int) -> str:
        """Which limit further calls would break."""
        most = budget.max_calls
        if most is not None and self.calls + further > most:
            return f"the budget of {most} calls is used up"
        if budget.max_tokens is not None and self.tokens >= budget.max_tokens:
            return f"the budget of {budget.max_tokens} tokens is used up"
        if budget.max_seconds is not None and self.seconds >= budget.max_seconds:
            return f"the budget of {budget.max_seconds:g} seconds is used up"
        return ""


class Around(Protocol):
    """What a visit has to know of the walk that it is part of."""

    @property
    def chart(self) -> Chart:
        """The chart that is walked."""

    @property
    def item(self) -> Item:
        """What it is walked for."""

    @property
    def defaults(self) -> Defaults:
        """What holds where steps say nothing."""

    @property
    def budget(self) -> Budget:
        """What it may cost."""

    @property
    def limits(self) -> Limits:
        """What a person can be shown at once."""

    @property
    def person(self) -> bool:
        """Whether there is somebody to ask where agents cannot agree."""


class Ended(NamedTuple):
    """What came of a visit."""

    route: str = ""
    output: str | None = None
    why: str = ""
    """Why it was given up."""
    stopped: bool = False
    """It was not the step's fault: the budget is used up, or a person stopped the run."""


class _Stop(Exception):  # noqa: N818 - leaves the visit, and is always caught
    """The run is to stop here."""


def tokens_of(output: Output) -> int:
    """What a call cost: as its agent counted, else as its answer says."""
    if not output.tokens and isinstance(output.meaning, Process):
        return output.meaning.tokens_used
    return output.tokens or 0


class Visit:
    """A step being done, and what it has cost."""

    def __init__(
        self, plan: Planned, task: str, *, prefix: str, visit: int, terms: Around, spent: Spent
    ) -> None:
        self.plan = plan
        self.task = task
        self.prefix = prefix
        self.visit = visit
        self.terms = terms
        self.spent = spent
        self.attempts = 0
        self.seconds = 0.0
        self.tokens = 0
        self.validation: str | None = None
        self.critiques: list[str] = []
        self.ended = Ended()
        self.cli = plan.cli

    def flow(self) -> Generator[Request, Response, Ended]:
        """Do it; a decision ends with a route, a process with its output."""
        doing = self._process() if self.plan.kind == "process" else self._decide()
        try:
            self.ended = yield from doing
        except _Stop as stop:
            self.ended = Ended(why=str(stop), stopped=True)
        return self.ended

    def record(self) -> dict[str, Any]:
        """The entry of the result."""
        entry: dict[str, Any] = {
            "id": self.plan.id,
            "name": self.plan.name,
            "kind": "decision" if self.plan.routes else "process",
            "cli": self.cli,
            "route": self.ended.route or None,
            "attempts": self.attempts,
            "validation": self.validation,
            "seconds": round(self.seconds, 3),
            "tokens": self.tokens,
            "visit": self.visit,
            "page": self.plan.page,
            "output": self.ended.output,
        }
        if self.ended.why:
            entry["error"] = self.ended.why
        return entry

    # -- a step that is done -------------------------------------------------------------------

    def _process(self) -> Generator[Request, Response, Ended]:
        output = ""
        for attempt in range(1 + self.plan.retries):
            said, meaning, problem = yield from self._attempt(attempt, "process")
            output = said or output
            if isinstance(meaning, Process) and meaning.completed:
                output = meaning.comments.strip() or said
                verdict = yield from self._validated(attempt, said)
                if verdict is None:
                    return Ended(output=output)
                problem, again = verdict
            else:
                again = True
            self.critiques.append(problem)
            if not again:
                break
        return Ended(output=output or None, why=f"not done after {self._times}: {self._last}")

    def _attempt(self, attempt: int, expects: Expects) -> Steps:
        """One try: what was said, what it means, and why it does not count."""
        plan = self.plan
        agent = plan.cli if attempt == 0 else plan.retry_cli
        name = "run" if attempt == 0 else f"retry-{attempt}"
        self.attempts += 1
        self.cli = agent
        if is_human(agent):
            answer = yield from people.do(self, name)
            return answer
        prompt = prompting.run_prompt(self.task, plan.routes, self.critiques)
        output = yield from self._call(name, agent, prompt, expects, attempt + 1)
        return self._heard(output, expects, plan.routes)

    def _heard(
        self, output: Output, expects: Expects, routes: tuple[str, ...]
    ) -> tuple[str, Meaning | None, str]:
        call = Call(output.key, "", "", expects, routes)
        meaning, problem = heard(call, output)
        if isinstance(meaning, Process) and not meaning.completed:
            said = meaning.comments.strip()
            problem = f"It was not completed{f': {said}' if said else ''}."
        return output.text, meaning, problem

    def _validated(self, attempt: int, output: str) -> Steps:
        """Nothing if the work passes; else what was held against it, and whether to try again."""
        plan = self.plan
        if not plan.validates:
            return None
        name = f"validate-{attempt + 1}"
        if is_human(plan.validate_cli):
            verdict = yield from people.judge(self, name, output)
        else:
            verdict = yield from self._judged(name, output)
        self.validation = "passed" if verdict is None else "failed"
        return verdict

    def _judged(self, name: str, output: str) -> Steps:
        """The verdict of an agent; one that cannot be read is asked for once more."""
        plan = self.plan
        prompt = prompting.validation_prompt(self.task, output, plan.check)
        problem = ""
        for turn, key in enumerate((name, f"{name}-again")):
            asked = prompting.again_prompt(prompt, problem) if turn else prompt
            came = yield from self._call(key, plan.validate_cli, asked, "validation", turn + 1)
            _, meaning, problem = self._heard(came, "validation", ())
            if isinstance(meaning, Validation):
                if meaning.fully_completed:
                    return None
                return prompting.critique_of(meaning), meaning.should_retry
        return f"the validator could not be understood: {problem}", False

    # -- a decision ------------------------------------------------------------------------------

    def _decide(self) -> Generator[Request, Response, Ended]:
        if self.plan.votes:
            return (yield from self._vote())
        for attempt in range(1 + self.plan.retries):
            _, meaning, problem = yield from self._attempt(attempt, "decision")
            if isinstance(meaning, Decision):
                return Ended(route=meaning.route or meaning.answer, output=meaning.answer)
            self.critiques.append(problem)
        return Ended(why=f"no route was chosen after {self._times}: {self._last}")

    def _vote(self) -> Generator[Request, Response, Ended]:
        """Several at once; the majority counts, and a tie is a person's to break."""
        plan = self.plan
        voters = list(enumerate(plan.votes, 1))
        self.attempts += 1
        prompt = prompting.run_prompt(self.task, plan.routes)
        calls = tuple(
            Call(self._key(f"vote-{n}"), agent, prompt, "decision", plan.routes, plan.timeout)
            for n, agent in voters
            if not is_human(agent)
        )
        self._afford(len(calls))
        outputs = yield calls
        if not isinstance(outputs, tuple):
            raise TypeError("calls are answered with their outputs")
        counted: Counter[str] = Counter()
        for output in outputs:
            self._paid(output)
            _, meaning, problem = self._heard(output, "decision", plan.routes)
            if isinstance(meaning, Decision):
                counted[meaning.route] += 1
            else:
                self.critiques.append(problem)
        for n, agent in voters:
            if is_human(agent):
                _, meaning, _ = yield from people.do(self, f"vote-{n}")
                counted[meaning.route] += 1
        best = counted.most_common()
        self.cli = ", ".join(dict.fromkeys(plan.votes))
        if best and (len(best) == 1 or best[0][1] > best[1][1]):
            return Ended(route=best[0][0], output=best[0][0])
        result = ", ".join(f"{route}: {count}" for route, count in best) or "no vote could be read"
        if not self.terms.person:
            return Ended(why=f"the vote is tied ({result}) and nobody is there to break it")
        self.critiques.append(f"The agents could not agree ({result}).")
        _, meaning, _ = yield from people.do(self, "tie")
        return Ended(route=meaning.route, output=meaning.route)

    # -- calls -----------------------------------------------------------------------------------

    def _call(self, name: str, agent: str, prompt: str, expects: Expects, attempt: int) -> Steps:
        self._afford(1)
        plan = self.plan
        routes = plan.routes if expects == "decision" else ()
        call = Call(self._key(name), agent, prompt, expects, routes, plan.timeout, attempt)
        output = yield call
        if not isinstance(output, Output):
            raise TypeError("a call is answered with its output")
        self._paid(output)
        if output.interrupted and self.terms.defaults.on_interrupted == "ask":
            again = yield from people.again(self, f"{name}-interrupted")
            if not again:
                raise _Stop("a call was interrupted, and it was not to be made again")
        return output

    def _afford(self, calls: int) -> None:
        over = self.spent.over(self.terms.budget, calls)
        if over:
            raise _Stop(over)

    def _paid(self, output: Output) -> None:
        tokens = tokens_of(output)
        self.seconds += output.seconds
        self.tokens += tokens
        self.spent.calls += 1
        self.spent.seconds += output.seconds
        self.spent.tokens += tokens

    def _key(self, name: str) -> str:
        return f"{self.prefix}{keys.visit(self.plan.id, self.visit, name)}"

    @property
    def _times(self) -> str:
        return "one attempt" if self.attempts == 1 else f"{self.attempts} attempts"

    @property
    def _last(self) -> str:
        return " ".join(self.critiques[-1].split()) if self.critiques else "nothing came of it"
