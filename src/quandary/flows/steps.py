"""One visit to a step: ask, read, have it judged, try again, until it is done or given up.

An agent is asked with a Call. A person in an agent's place is asked a question. A decision may be
taken by several together.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from quandary.flows import Steps, tell_hands, wording
from quandary.flows.asking import Inquiry
from quandary.flows.permit import UNCLEAR, resolve
from quandary.flows.responses import TYPES, match_route, read_output
from quandary.model import keys
from quandary.model.asks import Choice, Hand, Item
from quandary.model.calls import (
    Assignment,
    Call,
    Decision,
    Expects,
    Meaning,
    Output,
    Process,
    Role,
    Stopped,
    Validation,
    is_human,
)
from quandary.model.text import shorten as cut

if TYPE_CHECKING:
    from quandary.flows.walk import Planned, Walk

MOST_UNCLEAR = 3  # how often an agent is told that what it stopped for cannot be shown
_NOT_SHOWN = "It stopped again and again for something that nobody can be shown."
INTERRUPTIONS = 3  # how often a validator is asked once more because it was interrupted
LONGEST_KEPT = 100_000  # characters of an output that the result repeats; the journal has all of it
LONGEST_REASON = 2000  # characters of the last critique, where the run says why it failed
LONGEST_SHOWN = 20_000  # characters of a text that a person reads before an answer
MOST_BEFORE = 3  # of the steps before a person's, so many are told of
DONE, NOT_DONE = "DONE", "NOT"
ACCEPT, AGAIN, REJECT = "ACC", "AGN", "REJ"
STOP = "STP"
_LONGEST_CODE = 12


class VisitEnd(NamedTuple):
    """What came of a visit."""

    route: str = ""
    output: str | None = None
    reasons: str = ""  # why that route was chosen
    why: str = ""  # why it was given up
    stopped: bool = False  # not the step's fault: no budget, or a person stopped the run
    used_up: bool = False  # it was the budget


class Attempt(NamedTuple):
    """What came of an attempt."""

    said: str = ""
    meaning: Meaning | None = None
    problem: str = ""  # why it does not count
    again: bool = True  # whether another attempt may be worth it


Verdict = tuple[str, bool]  # what was held against work, and whether to try once more


class Stop(Exception):  # noqa: N818 - leaves the visit, and is always caught
    """The run is to stop here."""


class UsedUp(Stop):
    """There is no budget for what comes next."""


class Visit:
    """A step being done, and what it has cost."""

    attempts = granted = 0  # those that were made, and further ones that a person allowed
    stops = 0  # how often an agent stopped in the middle
    seconds = 0.0
    tokens = 0
    validation: str | None = None
    ended = VisitEnd()
    first = ""  # the key of what was asked first
    hands: tuple[Hand, ...] = ()  # whose the answers to the last attempt were

    def __init__(self, walk: Walk, drawn: Planned, plan: Planned, prefix: str, number: int) -> None:
        self.terms, self.spent, self.chooser = walk.terms, walk.spent, walk.chooser
        self.before = walk.steps  # what came of the steps before
        self.drawn = drawn  # what is planned, with its slots as they are
        self.plan, self.cli, self.task = plan, plan.cli, plan.prompt
        self.told = self.task + walk.tell_item(drawn.prompt)  # the task as an agent is told it
        self.prefix, self.number = prefix, number
        self.critiques: list[str] = []

    def flow(self) -> Steps[VisitEnd]:
        """Do it; a decision ends with a route, a process with its output."""
        choose = self._vote if self.plan.votes else self._decide
        stopping = Stop  # a global name may be gone when an unfinished walk is closed at exit
        try:
            self.ended = yield from (choose if self.plan.routes else self._process)()
        except stopping as stop:
            self.ended = VisitEnd(why=str(stop), stopped=True, used_up=isinstance(stop, UsedUp))
        return self.ended

    def record(self) -> dict[str, Any]:
        """The entry of the result."""
        ended = self.ended
        further = {"reasons": ended.reasons, "error": ended.why}
        return {
            "id": self.plan.id,
            "name": self.plan.name,
            "kind": "decision" if self.plan.routes else "process",
            "cli": self.cli if self.attempts else "",
            "route": ended.route or None,
            "attempts": self.attempts,
            "validation": self.validation,
            "seconds": round(self.seconds, 3),
            "tokens": self.tokens,
            "visit": self.number,
            "page": self.plan.page,
            "output": ended.output and ended.output[:LONGEST_KEPT],
            **{name: said for name, said in further.items() if said},
            **tell_hands(self.hands),
        }

    def _process(self) -> Steps[VisitEnd]:
        """Work that is not accepted is tried again with its critique, while there are attempts."""
        output = ""
        while True:
            tried = yield from self._attempt("process")
            output = tried.said or output
            if isinstance(tried.meaning, Decision):  # of a journal in which one way was a choice
                return VisitEnd(output=tried.meaning.route)
            critique, again = tried.problem, tried.again
            if isinstance(tried.meaning, Process):
                output = tried.meaning.comments.strip() or tried.said
                verdict = None
                if self.plan.validates:
                    human = is_human(self.plan.validate_cli)
                    judge = self._judge_in_person if human else self._judge
                    verdict = yield from judge(f"validate-{self.attempts}", tried.said)
                    self.validation = "passed" if verdict is None else "failed"
                if verdict is None:
                    return VisitEnd(output=output)
                critique, again = verdict
            self.critiques.append(critique)
            if not again or not self._attempts_left:
                return VisitEnd(output=output or None, why=f"not done after {self._tries}")

    def _attempt(self, expects: Expects) -> Steps[Attempt]:
        """One try: by the step's own agent first, and by the one for further tries then."""
        plan = self.plan
        name = f"retry-{self.attempts}" if self.attempts else "run"
        cli = plan.retry_cli if self.attempts else plan.cli
        if not is_human(cli):
            self.spent.require(1)
        self.cli, self.attempts, self.hands = cli, self.attempts + 1, ()
        if is_human(cli):
            if expects == "decision":
                decision = yield from self._choose_in_person(name, "work")
                return Attempt(decision.answer, decision)
            return (yield from self._do_in_person(name))
        prompt = wording.run_prompt(self.told, plan.routes, self.critiques)
        output = yield from self._call(name, self.cli, prompt, expects)
        return interpret(output, expects, plan.routes)

    def _judge(self, name: str, work: str) -> Steps[Verdict | None]:
        """An agent's verdict, asked for once more if unreadable; nothing if the work passes."""
        first = wording.validation_prompt(self.told, work, self.plan.validate_prompt)
        names = [name, f"{name}-again"]
        prompt, problem, interruptions = first, "", 0
        while names:
            showing = interruptions + 1 if names[0] == name else 1
            cli = self.plan.validate_cli
            came = yield from self._call(names[0], cli, prompt, "validation", showing)
            _, meaning, problem, _ = interpret(came, "validation", ())
            if isinstance(meaning, Validation):
                if meaning.fully_completed:
                    return None
                return wording.critique_of(meaning), meaning.should_retry
            if came.interrupted and interruptions < INTERRUPTIONS:
                interruptions += 1
                names[0] = name
                continue
            prompt = f"{first}\n\nYour last response could not be used. {problem}"
            del names[0]
        return f"the validator could not be understood: {problem}", False

    def _decide(self) -> Steps[VisitEnd]:
        while True:
            tried = yield from self._attempt("decision")
            if isinstance(chosen := tried.meaning, Decision):
                return VisitEnd(chosen.route, chosen.route, chosen.reasons.strip())
            self.critiques.append(tried.problem)
            if not self._attempts_left:
                return VisitEnd(why=f"no route was chosen after {self._tries}")

    def _vote(self) -> Steps[VisitEnd]:
        """The route with the most votes; a person breaks a tie, and with nobody there it fails."""
        voters = dict(enumerate(self.plan.votes, 1))
        self.cli = ", ".join(dict.fromkeys(voters.values()))
        votes = yield from self._votes_of({n: v for n, v in voters.items() if not is_human(v)})
        for number, voter in voters.items():
            if is_human(voter):
                votes[number] = yield from self._choose_in_person(f"vote-{number}", "vote")
        self.attempts = max(self.attempts, 1)
        counted = Counter(votes[number].route for number in voters if number in votes).most_common()
        if counted and (len(counted) == 1 or counted[0][1] > counted[1][1]):
            route = counted[0][0]
            reasons = (vote.reasons.strip() for vote in votes.values() if vote.route == route)
            return VisitEnd(route, route, "\n".join(dict.fromkeys(filter(None, reasons))))
        result = ", ".join(f"{route}: {count}" for route, count in counted) or "none could be read"
        tied = f"votes are tied ({result})"
        if not self.terms.person:
            return VisitEnd(why=f"the {tied}, and nobody is there to break the tie")
        broken = yield from self._choose_in_person("tie", "tie", f"The {tied}.")
        return VisitEnd(broken.route, broken.route, broken.reasons)

    def _votes_of(self, waiting: dict[int, str]) -> Steps[dict[int, Decision]]:
        """The votes of agents; those that cannot be read are asked for again, as in any retry."""
        votes: dict[int, Decision] = {}
        problems: dict[int, list[str]] = {}
        task, routes = self.told, self.plan.routes
        while waiting and self._attempts_left:
            self.spent.require(len(waiting))
            self.attempts += 1
            calls = []
            for number, voter in waiting.items():
                key = keys.turn(self._key(f"vote-{number}"), self.attempts)
                prompt = wording.run_prompt(task, routes, problems.get(number, []))
                part = self._assign(f"vote-{number}", "vote")
                calls.append(self._make_call(key, voter, prompt, "decision", part, len(waiting)))
            outputs = yield from self._make_calls(tuple(calls))
            for number, output in zip(list(waiting), outputs, strict=True):
                tried = interpret(output, "decision", routes)
                if isinstance(tried.meaning, Decision):
                    votes[number] = tried.meaning
                    del waiting[number]
                else:
                    problems[number] = [tried.problem]
            if any(output.interrupted for output in outputs):
                yield from self._ask_whether_again(f"vote-{self.attempts}", attempt=True)
        return votes

    def _call(
        self, name: str, agent: str, prompt: str, expects: Expects, showing: int = 1
    ) -> Steps[Output]:
        """Ask an agent. Whether it was interrupted or not, this counts as an attempt."""
        part = self._assign(name, "check" if expects == "validation" else "work")
        key = keys.turn(self._key(name), showing)
        call = self._make_call(key, agent, prompt, expects, part)
        (output,) = yield from self._make_calls((call,), alone=True)
        if output.interrupted:
            yield from self._ask_whether_again(name, showing, attempt=expects != "validation")
        return output

    def _make_calls(
        self, calls: tuple[Call, ...], *, alone: bool = False
    ) -> Steps[tuple[Output, ...]]:
        """What came of calls. Where an agent stops, a person is asked and its session goes on. What
        a session costs before and after that is paid once; it is one call, and one attempt. An
        agent that stops again and again for what nobody can be shown has failed in it.
        """
        ended: dict[int, Output] = {}
        unclear: Counter[int] = Counter()
        waiting = dict(enumerate(calls))
        while waiting:
            self.spent.require(len(waiting))
            sent = tuple(waiting.values())
            outputs = yield (sent[0] if alone else sent)
            came = outputs if isinstance(outputs, tuple) else (outputs,)
            for number, output in zip(tuple(waiting), came, strict=True):
                if not isinstance(output, Output):
                    raise TypeError("calls are answered with their outputs")
                self._pay(output)
                if output.stopped is not None:
                    waiting[number] = yield from self._resume(calls[number], output.stopped)
                    told = waiting[number].resumes
                    unclear[number] += told is not None and told.message == UNCLEAR
                    if unclear[number] <= MOST_UNCLEAR:
                        continue
                    self.spent.calls += 1
                    output = replace(output, stopped=None, error=_NOT_SHOWN)  # noqa: PLW2901 - it fails
                ended[number] = output
                del waiting[number]
            seconds = self.spent.time(self.plan.timeout, max(len(waiting), 1))
            waiting = {n: replace(call, timeout=seconds) for n, call in waiting.items()}
        return tuple(ended[number] for number in range(len(calls)))

    def _resume(self, call: Call, stopped: Stopped) -> Steps[Call]:
        """Ask what an agent stopped for; the call that goes on with its session."""
        plan, terms, part = self.plan, self.terms, call.assignment
        self.stops += 1
        frame = Inquiry(
            key=f"{call.key}-stopped-{self.stops}:",
            label=plan.name,
            text="",
            asked="",
            choices=(),
            item=Item(terms.item.id, title=f"{terms.item.name}: {plan.name}"),
            blocks=(f"Step “{plan.name}”:\n\n{shorten(self.task)}",),
            chain=False,
            assignment=part and replace(part, name=f"{part.name}-stopped", role="stop"),
        )
        require = terms.require or plan.require
        told = yield from resolve(stopped, call.agent, self.chooser, frame, require)
        return replace(call, key=f"{call.key}-resumed-{self.stops}", resumes=told)

    def _make_call(
        self, key: str, agent: str, prompt: str, expects: Expects, part: Assignment, calls: int = 1
    ) -> Call:
        """A call, one of so many at once."""
        plan = self.plan
        seconds = self.spent.time(plan.timeout, calls)
        changes = self.terms.allow_changes and part.role != "check"
        return Call(key, agent, prompt, expects, plan.routes, seconds, part, plan.name, changes)

    def _pay(self, output: Output) -> None:
        tokens = tokens_of(output)
        self.seconds += output.seconds
        self.tokens += tokens
        self.spent.calls += output.stopped is None
        self.spent.seconds += output.seconds
        self.spent.tokens += tokens

    def _key(self, name: str) -> str:
        key = f"{self.prefix}{keys.visit(self.plan.id, self.number, name)}"
        self.first = self.first or key
        return key

    def _assign(self, name: str, role: Role) -> Assignment:
        plan = self.plan
        return Assignment(plan.page, plan.id, self.number, name, role, max(self.attempts, 1))

    @property
    def _attempts_left(self) -> bool:
        """A failed step is tried again as often as it has retries, and a person granted more."""
        return self.attempts <= self.plan.retries + self.granted

    @property
    def _tries(self) -> str:
        """How many attempts there were, and what was held against the last one."""
        times = "one attempt" if self.attempts == 1 else f"{self.attempts} attempts"
        said = cut(" ".join(self.critiques[-1].split()), LONGEST_REASON) or "there was no result"
        return f"{times}: {said}"

    def _choose_in_person(self, name: str, role: Role, why: str = "") -> Steps[Decision]:
        """Have a person choose the way. Words that name none are kept as their reasons."""
        plan = self.plan
        codes = dict(zip(route_codes(self.drawn.routes), plan.routes, strict=True))
        ways = zip(codes, plan.routes, plan.targets, strict=True)
        choices = tuple(Choice(code, label, f"Next: {target}") for code, label, target in ways)
        code, words = yield from self._ask(name, role, choices, "Which route?", why)
        return Decision(codes[code], plan.routes, words, codes[code])

    def _do_in_person(self, name: str) -> Steps[Attempt]:
        """Have a person do the step; what they write beside their choice is what they hand in."""
        again = not is_human(self.plan.retry_cli)
        helped = again and self._attempts_left
        ahead = f"{self.plan.retry_cli} tries next" if helped else "The step is given up"
        choices = (
            Choice(DONE, "Done", "The step is finished; what you write under Other is passed on"),
            Choice(NOT_DONE, "Cannot be done", f"{ahead}; say why under Other"),
        )
        code, words = yield from self._ask(name, "work", choices, "Is it done?")
        if code == DONE:
            return Attempt(words or wording.NOTHING_SAID, Process(completed=True, comments=words))
        return Attempt(words, None, words or "It cannot be done.", again)

    def _judge_in_person(self, name: str, work: str) -> Steps[Verdict | None]:
        left, ending = self._attempts_left, "No attempt is left; say under Other what is missing"
        accept = Choice(ACCEPT, "Accept", "Nothing is missing or wrong")
        again = Choice(AGAIN, "Try again", "Say under Other what is missing")
        give_up = Choice(REJECT, "Give up", "Another attempt would not help" if left else ending)
        choices = (accept, again, give_up) if left else (accept, give_up)
        # In journals it could be chosen at the last attempt too, and gave up.
        named = () if left else (Choice(AGAIN, AGAIN),)
        wanted = self.plan.validate_prompt.replace(wording.CHECK, "")  # which is for agents
        block = f"What was handed in:\n\n{shorten(work) or '(nothing)'}"
        block = f"What to check:\n\n{shorten(wanted)}\n\n{block}" if wanted else block
        asked = "Is it acceptable?"
        code, words = yield from self._ask(name, "check", choices, asked, block=block, named=named)
        if code == ACCEPT:
            return None
        return words or "A person did not accept it.", code == AGAIN

    def _ask_whether_again(self, name: str, showing: int = 1, *, attempt: bool) -> Steps[None]:
        """Ask whether to go on after an interruption; an attempt that is wanted again is made."""
        if self.terms.defaults.on_interrupted != "ask":
            return
        choices = (
            Choice(AGAIN, "Call again", "It counts as one more attempt"),
            Choice(STOP, "Stop here", "The run ends; what was done is kept"),
        )
        why = "A call of this step was interrupted. It is not known what it had done by then."
        key = self._key(f"{keys.turn(name, showing)}-interrupted")
        name = f"{name}-interrupted"
        code, _ = yield from self._ask(name, "again", choices, "Call again?", why, key=key)
        if code != AGAIN:
            raise Stop("a call was interrupted, and a person chose to stop")
        self.granted += attempt

    def _ask(
        self,
        name: str,
        role: Role,
        choices: tuple[Choice, ...],
        ending: str,
        why: str = "",
        block: str = "",
        key: str = "",
        named: tuple[Choice, ...] = (),
    ) -> Steps[tuple[str, str]]:
        """Ask until a choice is taken; own words alone settle nothing, and go with its code."""
        plan, terms = self.plan, self.terms
        comments = self.chooser.remarks_on(terms.item.id).comments
        before = len(comments)
        feedback = f"Feedback so far:\n\n{shorten(self.critiques[-1])}" if self.critiques else ""
        earlier = self._tell_before() if role in ("work", "vote", "tie") else ""
        blocks = (earlier, f"Step “{plan.name}”:\n\n{shorten(self.task)}", block, feedback)
        inquiry = Inquiry(
            key=key or self._key(name),
            label=plan.name,
            text=self._summarise(),
            asked=ending,
            choices=choices,
            named=named,
            id=keys.joined(terms.chart.name, self.drawn.name),
            item=Item(terms.item.id, title=f"{terms.item.name}: {plan.name}"),
            blocks=tuple(filter(None, blocks)),
            why=why,
            chain=False,
            assignment=self._assign(name, role),
        )
        self.chooser.require = terms.require or plan.require
        chosen = yield from self.chooser.inquire(inquiry)
        self.hands += chosen.hands
        return chosen.code, "\n".join(comments[before:])

    def _summarise(self) -> str:
        """What the step is about, behind the item's context, or its name where it has none."""
        item = self.terms.item
        task = wording.sentence(wording.summary(shorten(self.task)) or self.plan.name)
        name = item.title or item.label
        about = wording.sentence(wording.summary(item.context)) or (f"{name}:" if name else "")
        return task if about.rstrip(":") in task else f"{about} {task}"

    def _tell_before(self) -> str:
        """What the step before produced, and how it was decided since, if the task lacks it."""
        told: list[str] = []
        for step in reversed(self.before[-MOST_BEFORE:]):
            if step["route"]:
                why = f" ({shorten(step['reasons'])})" if step.get("reasons") else ""
                told.append(f"“{step['name']}”: {step['route']}{why}")
            elif output := (step["output"] or "").strip():
                if output not in self.task:
                    told.append(f"What came of “{step['name']}”:\n\n{shorten(output)}")
                break
        return "\n\n".join(reversed(told))


def route_codes(routes: tuple[str, ...]) -> dict[str, str]:
    """Codes for routes: their words where these differ, numbered where they do not."""
    found: dict[str, str] = {}
    for route in routes:
        word = keys.slug(route).upper()[:_LONGEST_CODE].strip("-") or "WAY"
        numbered = chain([word], (f"{word}-{number}" for number in count(2)))
        found[next(code for code in numbered if code not in found)] = route
    return found


def shorten(text: str) -> str:
    """As much of a text as a person is shown."""
    more = len(text := text.strip()) - LONGEST_SHOWN
    return f"{text[:LONGEST_SHOWN]}\n\n(and {more:,} characters more)" if more > 0 else text


def tokens_of(output: Output) -> int:
    """What a call cost: as its agent counted, else as its answer says."""
    said = output.meaning.tokens_used if isinstance(output.meaning, Process) else 0
    return output.tokens or said


def interpret(output: Output, expects: Expects, routes: tuple[str, ...]) -> Attempt:
    """What an output means; work that is not complete, and a way that is none, do not count."""
    meaning, problem = read_output(Call(output.key, "", "", expects, routes), output)
    if isinstance(meaning, Process) and not meaning.completed:
        said = meaning.comments.strip()
        return Attempt(output.text, None, f"It was not completed{f': {said}' if said else ''}.")
    if isinstance(meaning, Decision) and routes:
        if (route := match_route(meaning.route or meaning.answer, routes)) is None:
            return Attempt(output.text, None, f"“{meaning.answer}” is not one of the routes.")
        meaning = Decision(meaning.answer, meaning.choices, meaning.reasons, route)
    kinds = (Process, Decision) if expects == "process" else TYPES[expects]
    if meaning is not None and not isinstance(meaning, kinds):
        return Attempt(output.text, None, "That answers a different question.")
    return Attempt(output.text, meaning, problem)
