"""A walk told again, out of the entries of its journal alone.

It can be told while the run goes on, when it is over, and when its texts were pruned: then as much
as is left. No flow is run for it, so that it does not matter which version began the run. What was
asked says at which visit to which step of which page, for what and at which attempt; the chart says
what lies between two of those.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from quandary.errors import QuandaryError
from quandary.flows.steps import ACCEPT, AGAIN, DONE, REJECT, interpret, route_codes, tokens_of
from quandary.flows.walk import DEEPEST, Defaults, Outcome, Planned, plan_step, values_of
from quandary.flows.wording import NOTHING_SAID, critique_of, fill_prompt
from quandary.journal import entries
from quandary.journal.entries import Answered, AnyBody, Asked, Called, Matter, Noted, Returned
from quandary.journal.history import Given, Standing, fold, merge
from quandary.model import calls, keys
from quandary.model.asks import MORE, Answer, Ask, Choice, Item, Question
from quandary.model.calls import HUMAN, Assignment, Call, Decision, Expects, Output
from quandary.model.chart import Chart, Map, Route, Step
from quandary.reports import Attempt, Exchange, Leg, Remark, Stop, Story, Verdict

if TYPE_CHECKING:
    from quandary.journal.store import Store

    Place = tuple[str, str, int]
    """One visit: the page, the step, and the number of the visit there."""
    Decided = Callable[["Here"], str]

T = TypeVar("T")

_OUTCOMES: dict[entries.Status, Outcome] = {"done": "completed", "failed": "failed"}
_NOWHERE = ("", "", 0)
_VISIT = re.compile(r"S(.+)@([0-9]+)/([^~]+?)(?:~([0-9]+))?(-interrupted)?(?:~a?[0-9]+)*")
"""How keys are made of what was asked at a visit: the step, the visit, the name there, the showing,
and whether it is about an interruption."""
_ROLES: dict[str, calls.Role] = {"validate": "check", "vote": "vote", "tie": "tie"}


class Told(msgspec.Struct, frozen=True):
    """A story, and the chart that it goes through, where the store still has it."""

    story: Story
    chart: Chart | None = None


def retell(store: Store, run: str, *, imported: bool = False) -> Told:
    """The story of a run."""
    teller = Teller(store, run)
    for _ in teller.read():
        pass
    story = teller.story()
    legs = tuple(replace(leg, label=teller.fill(leg.label)) for leg in story.legs)
    return Told(replace(story, legs=legs, imported=imported), teller.fill_chart(story.stops))


class Teller:
    """Reads a run's entries as they come, and can tell at any time where it stands."""

    def __init__(self, store: Store, run: str) -> None:
        self.store, self.run = store, run
        self.standing = Standing()  # what the entries that were read come to
        self.chart: Chart | None = None
        self.name = ""
        self.item = Item("")
        self.began = ""
        self.result: dict[str, Any] = {}
        self.error = ""
        self.exchanges: dict[str, Exchange] = {}
        self.remarks: list[Remark] = []
        self.taken_back: list[Exchange] = []
        self.pruned = 0
        self._defaults: Defaults | None = None  # nothing where that was pruned
        self._codenames: tuple[str, ...] = ()
        self._route = Follower(Chart(""), Defaults(), (), self._decide)
        self._assigned: dict[str, Assignment] = {}
        self._tried: dict[Place, int] = {}  # the last attempt at each visit
        self._places: dict[str, Here] = {}
        self._routes: dict[str, tuple[str, ...]] = {}  # what calls can be answered with
        self._called: dict[str, str] = {}  # what steps were called when they were asked for
        self._asks: dict[str, tuple[Question, ...]] = {}
        self._spoken: dict[str, list[tuple[Answered, tuple[Answer, ...]]]] = {}
        """What was answered to each of them, and to what it amends."""
        self._words: dict[str, list[str]] = {}  # what a person said to each, beside a choice
        self._fresh: list[str] = []  # the keys of what still has its texts

    def read(self) -> Iterator[tuple[int, AnyBody]]:
        """Read what has been added to the journal, entry by entry, each with its number."""
        with entries.readable(self.run):
            for entry in self.store.entries(self.run, after=self.standing.n):
                body = entry.read()
                fold(self.standing, entry.n, body)
                self._hear(body, entry.read_matter())
                self.pruned += entry.pruned
                yield entry.n, body

    def forget_texts(self, most: int) -> None:
        """Let go of what was said in full; whoever only follows a run does not need it again."""
        known = [self.exchanges[key] for key in self._fresh if key in self.exchanges]
        for exchange in known:
            if exchange.answered:
                output = exchange.output and exchange.output[:most]
                told = replace(exchange, prompt="", output=output, stderr="")
                self.exchanges[exchange.key] = told
        self._fresh = [exchange.key for exchange in known if not exchange.answered]

    def _hear(self, body: AnyBody, matter: Matter) -> None:
        if isinstance(body, entries.Began):
            self._begin(body, matter)
        elif isinstance(body, Asked):
            self._ask(body, HUMAN, matter.ask)
        elif isinstance(body, Called):
            if not body.deed:
                self._ask(body, body.agent, matter.sent if isinstance(matter.sent, Call) else None)
        elif isinstance(body, Answered):
            self._answer(body, matter)
        elif isinstance(body, Returned):
            if body.key in self.exchanges:
                before, routes = self.exchanges[body.key], self._routes.get(body.key, ())
                after = _add_output(before, routes, body, matter)
                if (here := self._places.get(body.key)) and after.route in routes:
                    # What was chosen is known by what is drawn, where slots were filled in it.
                    drawn = here.plan.routes or routes
                    after = replace(after, route=drawn[routes.index(after.route)])
                self.exchanges[body.key] = after
        elif isinstance(body, Noted):
            self._note(body, matter)
        else:
            self.result = matter.result if isinstance(matter.result, dict) else {}
            self.error = matter.error
            self._finish()

    def _begin(self, body: entries.Began, matter: Matter) -> None:
        if body.flow != "walk":
            raise QuandaryError(
                f"run {self.run} is not a walk (its flow is {body.flow}); "
                f"`quandary log {self.run}` tells what was asked and answered"
            )
        self.began = body.at
        given = matter.arguments or {}
        written = self.store.document(body.documents.get("chart", ""))
        self.chart = _read(msgspec.json.decode(written) if written else given.get("chart"), Chart)
        self.item = _read(given.get("item"), Item) or Item("")
        self.name = self.fill(self.chart.name) if self.chart is not None else ""
        self._codenames = tuple(map(str, given.get("codenames", ())))
        if matter.arguments is not None:
            self._defaults = _read(given.get("defaults"), Defaults) or Defaults()
        self._follow()

    def _follow(self) -> None:
        """Go through the chart from the beginning, by all that counts."""
        self._places.clear()
        chart, defaults = self.chart or Chart(""), self._defaults or Defaults()
        self._route = Follower(chart, defaults, self._codenames, self._decide)
        for key in self.exchanges:
            self._place(key)

    def _ask(self, body: Asked | Called, agent: str, request: Call | Ask | None) -> None:
        self._fresh.append(body.key)
        exchange = Exchange(key=body.key, agent=agent, asked=body.at, pruned=request is None)
        if isinstance(request, Call):
            self._routes[body.key] = request.routes
            self._called[body.key] = request.about
            prompt, told = request.prompt, request.resumes
            if told is not None:  # where its session goes on, it is told what came of its stop
                message = told.message or told.input
                prompt = f"Its session goes on with {told.stopped.tool}:\n\n{message}"
            exchange = replace(exchange, expects=request.expects, prompt=prompt)
        elif request is not None:
            self._asks[body.key] = request.questions
            self._called[body.key] = request.questions[0].title.partition(f"{self.item.name}: ")[2]
            exchange = replace(exchange, prompt=_write_ask(request))
        self.exchanges[body.key] = exchange
        assigned = body.assignment or self._assignment_of(body.key, agent)
        if assigned is not None:
            self._assigned[body.key] = assigned
            self._tried[_place_of(assigned)] = assigned.attempt
            self._place(body.key)

    def _assignment_of(self, key: str, agent: str) -> Assignment | None:
        """The part of a walk that a key is about, of journals in which requests do not say so."""
        *outer, last = key.split("+")
        found = _VISIT.fullmatch(last)
        known = found and self._steps.get((outer[-1] if outer else "", found[1]))
        if not found or not known:
            return None
        visit, name, showing, interrupted = int(found[2]), found[3], found[4], found[5] or ""
        kind, _, number = name.partition("-")
        attempt = self._tried.get((*known, visit), 1)
        if kind == "retry":
            attempt = int(number) + 1
        elif kind == "vote" and agent != HUMAN:
            attempt = int(showing or 1)
        role = "again" if interrupted else _ROLES.get(kind, "work")
        return Assignment(*known, visit, name + interrupted, role, attempt)

    @cached_property
    def _steps(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Every step of the chart by what keys call its page, which need not name the first."""
        found = {}
        for page in self.chart.pages if self.chart is not None else ():
            for step in page.steps:
                inside, name = keys.within("", page.id)[1:-1], keys.visit(step.id, 0, "")[1:-3]
                found[inside, name] = page.id, step.id
                if self.chart is not None and page is self.chart.first:
                    found["", name] = page.id, step.id
        return found

    def _place(self, key: str) -> None:
        """Go to where this was asked, and keep it there."""
        assigned = self._assigned.get(key)
        here = self._route.take(_place_of(assigned)) if assigned else None
        if here is not None and assigned is not None:
            here.keys.append(key)
            self._places[key] = here
            other: dict[str, Expects | None] = {"check": "validation", "again": None, "stop": None}
            expects = other.get(assigned.role, "decision" if here.plan.routes else "process")
            placed = {"name": assigned.name, "role": assigned.role, "expects": expects}
            self.exchanges[key] = replace(self.exchanges[key], **placed)

    def _answer(self, body: Answered, matter: Matter) -> None:
        if body.amends:
            self.taken_back.append(self.exchanges[body.key])
            self._reopen()
        before, asked = self.exchanges[body.key], self._asks.get(body.key, ())
        routes = here.plan.routes if (here := self._places.get(body.key)) else ()
        spoken = self._spoken.setdefault(body.key, [])
        spoken.append((body, matter.answers or body.answers))
        given = next(iter(merge(spoken).values()), None)
        self._words[body.key] = _words_of(given.answer) if given is not None else []
        self.exchanges[body.key] = _add_answer(before, asked, body, given, routes)
        if body.amends:
            self._follow()

    def _note(self, body: Noted, matter: Matter) -> None:
        if body.amendment:  # a step that failed is tried anew: what came of it no longer counts
            self._reopen()
            if self._defaults is not None:
                given = (matter.arguments or {}).get("defaults")
                self._defaults = _read(given, Defaults) or self._defaults
            self._follow()
        if body.kind != "started":  # that is about the program, not about the walk
            self.remarks.append(Remark(body.at, body.kind, body.key, matter.text, *body.source))

    def _reopen(self) -> None:
        counting = self.standing.counting
        gone = [key for key in self.exchanges if key not in counting]
        self.taken_back += [self.exchanges.pop(key) for key in gone]
        self.result, self.error = {}, ""

    def _finish(self) -> None:
        """Go on to where the run ended: as far as it says itself, or as can be seen."""
        route, path = self._route, self.result.get("path")
        if self.standing.status == "done":
            while route.leave(None):
                pass
        elif self.standing.status == "failed" and isinstance(path, list):
            while len(route.stops) < len(path) and route.leave(_NOWHERE):
                pass
        elif self.standing.status == "failed":
            while route.at and (tried := self._attempts(route.at)):
                if tried[-1].verdict != "passed" or not route.leave(_NOWHERE):
                    return

    def left(self, first: int) -> list[Stop]:
        """The stops at which somebody was asked, as the run left them behind, from one of them on;
        the one where it stands is the last when it is over.
        """
        last = self._route.at if self.standing.status != "waiting" else None
        every = (*self._route.left[first:], last)
        return [self._stop(here) for here in every if here is not None and not here.stuck]

    def place(self, key: str) -> str:
        """The name of the step at which something was asked."""
        here = self._places.get(key)
        return self._name(here) if here is not None else key

    @property
    def _outcome(self) -> Outcome | None:
        """As the flow said; where that was pruned, as far as the end itself shows."""
        said = self.result.get("outcome")
        known = (outcome for outcome in get_args(Outcome) if outcome == said)
        return next(known, _OUTCOMES.get(self.standing.status))

    def story(self) -> Story:
        """What is known so far."""
        route = self._route
        counted = [e for e in self.exchanges.values() if e.agent != HUMAN and e.answered]
        return Story(
            run=self.run,
            chart=self.name,
            item=self.item.name,
            status=self.standing.status,
            waits=self.standing.waits,
            outcome=self._outcome,
            error=self.error,
            began=self.began,
            ended=self.standing.since if self.standing.status != "waiting" else "",
            path=tuple(here.step.id for here in route.stops),
            legs=tuple(route.legs),
            stops=tuple(map(self._stop, route.stops)),
            calls=sum(not exchange.stopped for exchange in counted),
            tokens=sum(exchange.tokens for exchange in counted),
            seconds=round(sum(exchange.seconds for exchange in counted), 3),
            pruned=self.pruned,
            taken_back=tuple(self.taken_back),
            unplaced=tuple(e for key, e in self.exchanges.items() if key not in self._places),
            remarks=tuple(self.remarks),
        )

    def _stop(self, here: Here) -> Stop:
        every = [self.exchanges[key] for key in here.keys]
        attempts = self._attempts(here)
        checked = [a.verdict for a in attempts if any(e.role == "check" for e in a.exchanges)]
        stands = here is self._route.at
        failed = attempts and attempts[-1].verdict == "failed" and not here.route
        error = attempts[-1].critique if failed and not stands else ""
        working = [e for e in every if e.role in ("work", "vote", "tie")]
        voters = here.plan.votes if any(e.role == "vote" for e in every) else ()
        return Stop(
            number=here.number,
            id=here.step.id,
            name=self._name(here),
            kind=here.plan.kind,
            page=here.ways.page.id,
            depth=here.depth,
            visit=here.visit,
            cli=", ".join(dict.fromkeys(voters)) or (working[-1].agent if working else ""),
            route=self.fill(here.route, here),
            attempts=attempts,
            validation=next(filter(None, reversed(checked)), None),
            output=self.fill(here.route, here) or self._find_output(here),
            seconds=round(sum(exchange.seconds for exchange in every), 3),
            tokens=sum(exchange.tokens for exchange in every),
            error=self.error if stands and self.standing.status == "failed" else error,
            current=stands and self.standing.status != "done",
        )

    def _name(self, here: Here) -> str:
        """What a step was called when it was asked for, or as far as its slots can be filled."""
        told = (self._called[key] for key in here.keys if self._called.get(key))
        return next(told, "") or self.fill(here.plan.name, here)

    def fill(self, text: str, here: Here | None = None) -> str:
        """A text with its slots filled by the item, and by what was handed on until then."""
        if "{{" not in text or self.chart is None:
            return text
        steps = (step for page in self.chart.pages for step in page.steps)
        known = {name: "…" for step in steps for name in (step.id, *step.names)}
        for stop in takewhile(lambda stop: stop is not here, self._route.stops):
            if output := stop.route or self._find_output(stop):
                known |= dict.fromkeys((stop.step.id, *stop.step.names), output)
        return fill_prompt(text, values_of(self.item), known)

    def _find_output(self, here: Here) -> str | None:
        """What a step handed in last, if it is none that chooses and somebody said anything."""
        if here.plan.routes:
            return None
        working = [e for key in here.keys if (e := self.exchanges[key]).role == "work"]
        for exchange in reversed(working):
            if exchange.agent == HUMAN:
                keys = (e.key for e in working if e.name == exchange.name)
                words = "\n".join(word for key in keys for word in self._words.get(key, ()))
                if words or (exchange.accepted and not exchange.pruned):
                    return words or NOTHING_SAID
                continue
            meaning = exchange.meaning
            if (
                isinstance(meaning, calls.Process)
                and meaning.completed
                and meaning.comments.strip()
            ):
                return meaning.comments.strip()
            if exchange.output and not exchange.stopped:
                return exchange.output
        return None

    def fill_chart(self, stops: Sequence[Stop]) -> Chart | None:
        """The chart as a person sees it: its steps by the names that they had in the run."""
        names, pages = {(stop.page, stop.id): stop.name for stop in stops}, []
        for page in self.chart.pages if self.chart else ():
            named = {s.id: names.get((page.id, s.id)) for s in page.steps if "{{" in s.title}
            steps = (replace(s, text=named.get(s.id) or self.fill(s.text)) for s in page.steps)
            routes = (replace(route, label=self.fill(route.label)) for route in page.routes)
            pages.append(replace(page, steps=tuple(steps), routes=tuple(routes)))
        return replace(self.chart, name=self.name, pages=tuple(pages)) if self.chart else None

    def _attempts(self, here: Here) -> tuple[Attempt, ...]:
        groups: dict[int, list[Exchange]] = {}
        for key in here.keys:
            groups.setdefault(self._assigned[key].attempt, []).append(self.exchanges[key])
        over = here is not self._route.at or self._outcome == "failed"
        found = []
        for number, every in enumerate(groups.values(), 1):
            last, final = number == len(groups), {exchange.name: exchange for exchange in every}
            group = [e for e in every if e.role != "stop" and (not e.stopped or e is final[e.name])]
            if group[-1].role == "again" and not group[-1].accepted:
                verdict: tuple[Verdict | None, str] = (None, "")
            elif here.plan.routes:
                problems = "\n".join(dict.fromkeys(e.problem for e in group if e.problem))
                verdict = ("failed", problems or "The votes are tied.")
                if last and (here.route or self._decide(here)):
                    verdict = ("passed", "")
                elif any(exchange.accepted is None for exchange in group):
                    verdict = (None, "")
            else:
                exact = self._defaults is not None and not here.plan.validates
                verdict = _judge(group, exact=exact, over=over or not last)
            told = tuple(replace(e, route=self.fill(e.route, here)) for e in every)
            found.append(Attempt(number, told, *verdict))
        return tuple(found)

    def _decide(self, here: Here) -> str:
        """The way that the last answer at a visit names, or most of those who voted."""
        every = [e for key in here.keys if (e := self.exchanges[key]).role != "stop"]
        if not every or not all(exchange.answered for exchange in every):
            return ""
        if every[-1].role in ("work", "tie"):
            return every[-1].route
        votes = {e.name: e for e in every if e.role == "vote"}
        if any(vote.accepted is None for vote in votes.values()):
            return ""  # votes were pruned, and those that are left need not be the majority
        counted = Counter(filter(None, (vote.route for vote in votes.values()))).most_common(2)
        tied = len(counted) > 1 and counted[0][1] == counted[1][1]
        return counted[0][0] if counted and not tied else ""


@dataclass(eq=False)
class Here:
    """One visit to a step."""

    number: int  # its place on the path, from 1
    ways: Map
    step: Step
    plan: Planned
    visit: int
    depth: int
    stuck: bool  # the run ended on coming here
    keys: list[str] = field(default_factory=list)  # what was asked here
    route: str = ""  # the label of the way that was taken from here

    @property
    def place(self) -> Place:
        return self.ways.page.id, self.step.id, self.visit


class Follower:
    """Goes through a chart as a run did, from one visit at which somebody was asked to the next."""

    def __init__(
        self, chart: Chart, defaults: Defaults, names: tuple[str, ...], decided: Decided
    ) -> None:
        self.chart, self.defaults, self.codenames, self.decided = chart, defaults, names, decided
        self.stops: list[Here] = []
        self.left: list[Here] = []  # those at which somebody was asked, as they were left behind
        self.legs: list[Leg] = []
        self.at: Here | None = None  # where somebody is asked; nothing at the end of the chart
        self.lost = False  # it cannot be told where the run went from there
        self._outer: list[Here] = []  # the steps that stand for the pages which are being walked
        self._visits: Counter[tuple[str, str]] = Counter()
        if chart.first is not None:
            ways = Map(chart.first, chart)
            self._arrive(ways, ways.start)

    def take(self, place: Place) -> Here | None:
        """Go to that visit. Where it is not known which way was taken, nothing can be placed."""
        while self.at is not None and not self.lost:
            if self.at.place == place:
                return self.at
            self.lost = not self.leave(place)
        return None

    def leave(self, place: Place | None) -> bool:
        """Go on from where somebody was asked; whether it is known by which way."""
        here = self.at
        if here is None or here.stuck:
            return False
        route = here.ways.onward(here.step)
        if here.plan.routes:
            if (route := self._chosen(here, place)) is None:
                return False
            here.route = route.label
        self.left.append(here)
        self._arrive(here.ways, self._step_by(here, route))
        return True

    def _chosen(self, here: Here, place: Place | None) -> Route | None:
        ways = here.ways.ways(here.step)
        label = self.decided(here)
        if taken := [route for route in ways if label and route.label == label]:
            return taken[0]
        fitting = [route for route in ways if here.keys and self._leads_to(here, route, place)]
        if len({route.target for route in fitting}) != 1:
            return None
        return fitting[0] if len(fitting) == 1 else replace(fitting[0], label="")

    def _leads_to(self, here: Here, route: Route, place: Place | None) -> bool:
        """Whether that is where somebody is asked next, by this way; nothing of it is kept."""
        stops, legs, outer = len(self.stops), len(self.legs), self._outer[:]
        self._arrive(here.ways, self._step_by(here, route))
        found = self.at.place if self.at is not None else None
        self._visits.subtract(stop.place[:2] for stop in self.stops[stops:])
        del self.stops[stops:], self.legs[legs:]
        self._outer, self.at = outer, here
        return found == place

    def _arrive(self, ways: Map, step: Step | None) -> None:
        """Come to a step, or to the end of a page, and go on until somebody is asked."""
        while step is not None or self._outer:
            if step is None:
                here = self._outer.pop()
                if here.plan.asks:
                    self.at = here
                    return
            else:
                here = self._stop(ways, step)
                called = self.chart.called(step) if here.plan.kind == "subprocess" else None
                if called is not None and not here.stuck:
                    self._outer.append(here)
                    ways = Map(called, self.chart)
                    step = ways.start
                    continue
                if here.plan.asks or here.stuck:
                    self.at = here
                    return
            ways = here.ways
            step = self._step_by(here, ways.onward(here.step))
        self.at = None

    def _stop(self, ways: Map, step: Step) -> Here:
        plan = plan_step(ways, step, self.defaults, self.codenames)
        self._visits[ways.page.id, step.id] += 1
        depth, visit = len(self._outer), self._visits[ways.page.id, step.id]
        too_deep = plan.kind == "subprocess" and depth >= DEEPEST
        stuck = too_deep or visit > self.defaults.max_visits
        self.stops.append(Here(len(self.stops) + 1, ways, step, plan, visit, depth, stuck))
        return self.stops[-1]

    def _step_by(self, here: Here, route: Route | None) -> Step | None:
        if route is None:
            return None
        self.legs.append(Leg(here.ways.page.id, route.source, route.target, route.label))
        return here.ways.follow(route)


_OF_OUTPUTS = ("stderr", "status", "seconds", "timed_out", "interrupted", "truncated")


def _add_output(
    before: Exchange, routes: tuple[str, ...], body: Returned, matter: Matter
) -> Exchange:
    after = _renew(before, body, body.source)
    if not isinstance(output := matter.came, Output):
        return replace(after, pruned=True, accepted=None if body.ok else False)
    if stopped := output.stopped:
        costs = {"seconds": output.seconds, "tokens": tokens_of(output), "status": output.status}
        return replace(after, **costs, stopped=stopped.tool, output=stopped.input)
    _, meaning, problem, _ = interpret(output, before.expects or "process", routes)
    judged = meaning if isinstance(meaning, calls.Validation) else None
    against = judged is not None and not judged.fully_completed
    return replace(
        after,
        **{name: getattr(output, name) for name in _OF_OUTPUTS},
        output=output.text,
        meaning=meaning,
        problem=critique_of(judged) if judged is not None and against else problem,
        tokens=tokens_of(output),
        route=(meaning.route or meaning.answer) if isinstance(meaning, Decision) else "",
        accepted=meaning is not None and not against,
        retry=judged is None or judged.should_retry,
    )


def _add_answer(
    before: Exchange,
    asked: Sequence[Question],
    body: Answered,
    given: Given | None,
    routes: tuple[str, ...],
) -> Exchange:
    """A question with its answer; it chooses a way where its step has several."""
    if given is None:
        return _renew(before, body, body.source)
    answer, after = given.answer, _renew(before, body, given.source)
    question = next((question for question in asked if question.key == answer.key), None)
    options = question.options if question is not None else None
    answer = question.settle(answer) if question is not None else answer
    shown = {choice.code: choice.label for choice in options or ()} | {MORE: "More…"}
    labels = ", ".join(shown.get(code, code) for code in answer.picked)
    raw = "" if answer.picked else answer.raw
    said = (answer.text or answer.comment or answer.advice or raw or "").strip()
    if answer.proposed:
        said += f" (proposed: {', '.join(shown.get(code, code) for code in answer.proposed)})"
    after = replace(after, picked=answer.picked, output=": ".join(filter(None, (labels, said))))
    if before.role == "stop":
        return replace(after, accepted=answer.settles and not answer.blank)
    if not (code := _code(answer, options)):
        return after
    if routes and before.role != "again":
        route = route_codes(routes).get(code, "")
        return replace(after, route=route, accepted=True if route else None)
    accepted = code in (DONE, ACCEPT, AGAIN) and not (before.role == "check" and code == AGAIN)
    problem = "" if accepted else said or labels
    return replace(after, accepted=accepted, problem=problem, retry=code != REJECT)


def _renew(before: Exchange, body: Answered | Returned, source: entries.Source) -> Exchange:
    """What was asked, with whoever answered now; an answer that was there before is forgotten."""
    names = ("key", "name", "role", "agent", "expects", "prompt", "asked", "pruned")
    kept: dict[str, Any] = {name: getattr(before, name) for name in names}
    return Exchange(**kept, answered=body.at, **source._asdict())


def _code(answer: Answer, options: Sequence[Choice] | None) -> str:
    """The choice that an answer makes; nothing where it is none, and the question comes again."""
    if answer.prefix == "force" and options is not None:
        wanted = answer.argument.strip().casefold()
        return next((one.code for one in options if one.code.casefold() == wanted), "")
    beside = answer.prefix or answer.extra or answer.tree or answer.advice or answer.among
    if beside or len(answer.picked) != 1 or (answer.text or "").strip():
        return ""
    return answer.picked[0] if answer.picked[0] != MORE else ""


def _write_ask(ask: Ask) -> str:
    parts = [ask.preamble.text.strip()]
    for question in ask.questions:
        parts += [question.text, "\n".join(f"- {choice.shown}" for choice in question.choices)]
    return "\n\n".join(filter(None, parts))


def _judge(group: Sequence[Exchange], *, exact: bool, over: bool) -> tuple[Verdict | None, str]:
    """Whether work counted: it was done, and passed where somebody was to judge it."""
    work = next(exchange for exchange in reversed(group) if exchange.role in ("work", "vote"))
    checks = [exchange for exchange in group if exchange.role == "check"]
    if work.accepted is not True:
        return ("failed", work.problem) if work.accepted is False else (None, "")
    if not checks:
        return ("passed", "") if exact else (None, "")
    last = checks[-1]
    unread = last.agent != HUMAN and last.accepted is False and last.meaning is None
    if last.accepted is None or (unread and not over):
        return None, ""
    return ("passed", "") if last.accepted else ("failed", last.problem)


def _words_of(answer: Answer) -> list[str]:
    """What is kept as said beside a choice: words alone settle no step."""
    aside = answer.prefix or answer.extra or answer.tree or answer.advice or answer.among
    return list(filter(None, (answer.comment, "" if aside else (answer.text or "").strip())))


def _place_of(assigned: Assignment) -> Place:
    return assigned.page, assigned.step, assigned.visit


def _read(value: object, kind: type[T]) -> T | None:
    """A part of what a run was begun with, if it is there and is what it should be."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None
