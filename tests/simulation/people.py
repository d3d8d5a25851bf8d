"""Who acts: agents that ask, people at all doors with their habits, programs and agents that relay.

Everybody does what their door would have the desk do, tells the oracle what they send and hear, and
sends the same again when they hear nothing.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from quandary.desk import begin, permits, reply
from quandary.desk.attachments import Attaching, take
from quandary.desk.authority import Caller, Scope
from quandary.doors.web import inbox
from quandary.errors import (
    AlreadyAnswered,
    Diverged,
    PersonRequired,
    QuandaryError,
    Rejected,
    Reused,
    StoreError,
)
from quandary.journal import chance, policy, runs
from quandary.journal.entries import Source
from quandary.model.asks import Answer, Outcome, Reply
from simulation.events import ADVISED, AGAIN, ASKED_BACK, Act, is_own
from simulation.model import REVIEWS
from simulation.world import Lost, Process

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.desk.attachments import Attached
    from quandary.desk.begin import Beginning
    from quandary.journal.store import State, Store
    from simulation.town import Town

HERE = Scope("sim", "/")
RECEIVER = "https://receiver.example/told"
TRACK = "/track"
PHASES: list[dict[str, str]] = [
    {"label": "0", "name": "Plan"},
    {"label": "1", "name": "Build", "approval": "person"},
    {"label": "2", "name": "Test"},
    {"label": "3", "name": "Ship"},
]
TREE = """## Decision: Review {}
- [OK] Keep it{}
- [NO] Leave it
- [OTH] Something else
  - [REM] Take it out
  - [SPL] Make two of it
"""
CAME: tuple[tuple[type[Exception], str], ...] = (
    (StoreError, "unknown"),
    (Lost, "unknown"),
    (AlreadyAnswered, "already"),
    (PersonRequired, "person"),
    (Reused, "reused"),
    (Diverged, "pruned"),
    (Rejected, "refused"),
    (QuandaryError, "failed"),
)


@cache
def questions(count: int, size: int, tree: int, *, require: bool) -> Beginning:
    """A review of so many items, so many at a time, with one of a few trees."""
    items = [{"id": str(n), "label": f"Part {n}"} for n in range(1, count + 1)]
    text = TREE.format(tree, " (recommended)" if tree == 1 else "")
    asking = begin.Asking("The plan is written.", text=text, items=items, require_person=require)
    found = begin.decide(asking, begin.Showing())
    return found._replace(arguments=found.arguments | {"limits": {"questions": size}})


@cache
def evidence() -> list[Attached]:
    """What may lie beside a question."""
    files = [Attaching(name=f"{n}.txt", text=f"Evidence {n}.") for n in (1, 2)]
    return take(Caller("agent", "command", ""), files)


@cache
def permission(number: int) -> Beginning:
    """A permit for one action."""
    return begin.permit(begin.Permitting("deploy", f"build {number}"), begin.Showing())


@cache
def options(count: int) -> Beginning:
    """A list of so many options to include, defer or cut."""
    listed = [{"key": f"k{n}", "title": f"Option {n}"} for n in range(count)]
    return begin.split(begin.Splitting(listed, "The plan is written."), begin.Showing())


def view_of(state: State) -> tuple[Any, ...]:
    """A state as the oracle speaks of it."""
    asks: tuple[tuple[str, str], ...] = ()
    if state.ask is not None and state.flow in REVIEWS:
        asks = tuple(
            (q.item, "OTH" if {"REM", "RST"} & {c.code for c in q.choices} else "")
            for q in state.ask.questions
        )
    chosen = (state.result or {}).get("chosenItems", ()) if state.status == "done" else ()
    result = tuple((one["itemId"], one["path"], one["by"], one["through"]) for one in chosen)
    return state.status, state.key if state.ask else None, asks, result


class Actor:
    """Somebody who acts now and then."""

    hand: ClassVar[tuple[Any, ...]] = ("agent", "command")
    acts = (3, 9)
    pause = 20.0
    scope: Scope | None = None

    def __init__(self, town: Town, name: str) -> None:
        self.town, self.world, self.name = town, town.world, name
        self.random = self.world.random(name)
        who, through = self.hand
        self.caller = Caller(who, through, name, self.scope, is_user=True)
        self.session: Process | None = None
        self.tokens = 0

    def live(self, *_: object) -> None:
        """Act, with pauses, until it is enough; somebody may have cut it short."""
        most = self.random.randint(*self.acts)
        only = self.world.only
        for _number in range(most if only is None else min(most, only.acts.get(self.name, 0))):
            self.town.acts[self.name] += 1
            self.act()
            self.world.sleep(self.random.expovariate(1 / self.pause))

    def act(self) -> None:
        """Do one thing."""
        raise NotImplementedError

    @property
    def process(self) -> Process:
        """The program that works for this actor: of a command, one of its own."""
        if self.session is None or self.session.is_dead:
            self.session = Process(self.world, f"{self.name}'s command")
        return self.session

    @property
    def source(self) -> Source:
        """Who this is, as the journal has it."""
        return Source(**self.caller.source)

    def new(self, kind: str, run: str = "", **more: Any) -> Act:  # noqa: ANN401
        """Something to be sent."""
        return Act(kind, (*self.hand, self.name), run, **more)

    def token(self) -> str:
        """What no two requests have alike."""
        self.tokens += 1
        return f"{self.name}-{self.tokens}"

    def ask(self, act: Act, work: Callable[[Store], Any]) -> tuple[str, Any]:
        """Have something done, and hear what came of it."""
        oracle, came = self.town.oracle, "ok"
        value: Any
        answers = " ".join(f"{q}={code or 'blank'}" for q, code in act.answers)
        what = f"{self.name}: {act.kind} {act.run[-4:]} {answers} {act.token}".rstrip()
        self.world.tell(what)
        since, clock, skew = oracle.send(act), self.town.clock, self.world.skew
        try:
            value = self.world.call(self.process, work)
        except (QuandaryError, Lost) as error:
            came = next(name for kind, name in CAME if isinstance(error, kind))
            value = error
        view = view_of(value) if came == "ok" and hasattr(value, "status") else None
        self.world.tell(f"{what} -> {came} {view or value or ''}")
        # Whoever reads a clock that jumps meanwhile may have read anything.
        oracle.hear(act, came, view, clock if self.world.skew == skew else 0.0, since)
        return came, value

    def insist(self, act: Act, work: Callable[[Store], Any]) -> tuple[str, Any]:
        """The same, once more whenever nothing was heard."""
        came, value = self.ask(act, work)
        for _ in range(3):
            if came != "unknown":
                break
            self.world.sleep(self.random.uniform(0, 5))
            came, value = self.ask(act, work)
        return came, value


class Asker(Actor):
    """An agent that asks, with a key of its own for each question."""

    def act(self) -> None:
        draw, token = self.random, self.token()
        sizes = draw.choice([1, 1, 2, 3, 4]), draw.randint(1, 3), draw.choice([1, 1, 1, 2])
        wanted = questions(*sizes, require=draw.random() < 0.2)
        other = draw.random()
        if other < 0.3 and self.town.runs:
            self.collect(draw.choice(self.town.runs))
            return
        if other > 0.7:
            wanted = options(draw.randint(2, 6)) if other < 0.85 else permission(draw.randint(1, 3))
        expires = draw.choice(["", "", "", "1m", "10m"])
        origin = draw.choice([*self.town.begun]) if self.town.begun and draw.random() < 0.4 else ""
        if draw.random() < 0.3:
            wanted = wanted._replace(callback=RECEIVER)
        if wanted.flow == "decide" and draw.random() < 0.4:
            wanted = wanted._replace(attached=[draw.choice(evidence())])
        if origin and draw.random() < 0.8:
            wanted = self.town.begun[origin]
        taken, reuse = (("from", origin),) if origin else (), ""
        if origin and draw.random() < 0.5:  # from whichever run that may be
            taken, reuse, origin = (("reuse", ""),), "1h", ""
        wanted = wanted._replace(reuse=reuse)
        act = self.new("begin", to=wanted.flow, token=token, answers=taken)

        def work(store: Store) -> State:
            how: dict[str, Any] = {"expires": expires, "origin": origin}
            how |= {"key": token, "request": token}
            return begin.begin(store, self.caller, wanted, begin.Showing(), **how)

        came, state = self.insist(act, work)
        if came == "ok":
            self.town.runs.append(state.run)
            self.town.begun[state.run] = wanted

    def collect(self, run: str) -> None:
        """Come for what was answered, or use what was allowed."""
        state = self.town.oracle.now(run)

        def use(store: Store) -> State:
            return permits.use(
                store, self.caller, run, self.town.begun[run].arguments["request"]["input"]
            )

        if state.flow == "permit" and run in self.town.begun:
            self.ask(self.new("use", run), use)
        else:
            act = self.new("collect", run)
            self.ask(act, lambda store: runs.hand_over(store, run, **self.caller.source))


class Person(Actor):
    """Somebody who answers, changes their mind, and looks."""

    acts = (4, 12)
    hand = ("person", "terminal")
    has_tokens = False

    def act(self) -> None:
        if not self.town.runs:
            return
        habits = {
            self.answer: 10,
            self.amend: 3,
            self.undo: 2 if is_own(self.hand) else 0,
            self.look_around: 2,
            self.withdraw: 1,
            self.leave: 1,
            self.snooze: 1,
            self.advise: 1,
            self.prefer: 3 if is_own(self.hand) else 0,
        }
        self.random.choices([*habits], [*habits.values()])[0]()

    def pick(self) -> str:
        """A run, of those that they know of, the newer the likelier."""
        known = self.town.runs
        return known[max(self.random.randrange(len(known)), self.random.randrange(len(known)))]

    def look(self, run: str) -> State | None:
        """Look at a run."""
        came, state = self.ask(self.new("look", run), lambda store: runs.look(store, run))
        return state if came == "ok" else None

    def look_around(self) -> None:
        """Look at the inbox."""
        oracle, clock, skew = self.town.oracle, self.town.clock, self.world.skew
        since = len(oracle.entries)
        try:
            shown = self.world.call(self.process, self.inbox)
        except (StoreError, Lost):
            return
        self.world.tell(f"{self.name}: inbox {[run[-4:] for run in shown]}")
        if self.world.skew == skew:
            oracle.judge_inbox(shown, since, *self.clocks(clock))

    def inbox(self, store: Store) -> list[str]:
        """As a terminal lists it, which leaves out nothing."""
        return [row.id for row in runs.inbox(store)]

    def clocks(self, _: float) -> tuple[float, ...]:
        """When what is snoozed is left out: from when the inbox was asked for until now."""
        return ()

    def choose(self, state: State) -> Reply:
        """What to answer, not always to every question."""
        assert state.ask is not None
        asked, draw = list(state.ask.questions), self.random
        some = [q for q in asked if draw.random() < 0.75] or [draw.choice(asked)]
        answers = []
        for q in some:
            codes = [c.code for c in (*q.choices, *q.named) if c.code not in ("WLK", "CHG")]
            if state.flow in REVIEWS and draw.random() < 0.1:
                answers.append(Answer(q.key, prefix="question", argument="Why?"))
                continue
            advised = [q.recommended[0]] * 3 if q.recommended else []
            code = draw.choice([*codes, *advised, ""] if state.flow in REVIEWS else codes)
            answers.append(Answer(q.key, (code,) if code else ()))
        return Reply(tuple(answers))

    def answer(self) -> None:
        """Look, think, answer; with two clicks, now and then."""
        state = self.look(self.pick())
        if state is None or state.ask is None:
            return
        self.world.sleep(self.random.expovariate(1 / 10))
        said = self.choose(state)
        token = self.token() if self.has_tokens else ""
        act = self.new("reply", state.run, to=state.key, token=token, answers=coded(said))

        def work(store: Store) -> State:
            return self.reply(store, state, said, token)

        if token and self.random.random() < 0.2:
            self.world.act(self.name, lambda *_: self.insist(act, work))
        if token:
            self.insist(act, work)
        else:
            self.ask(act, work)

    def reply(self, store: Store, state: State, said: Reply, token: str) -> State:
        """As a terminal does it."""
        assert not token
        return reply.record_reply(store, self.caller, state.run, said, to=state.key)

    def amend(self) -> None:
        """Change an answer."""
        run = self.town.oracle.now(self.pick())
        if not run.given or run.flow != "decide":
            return
        key = self.random.choice([*run.given])
        some = [q for q in run.asked[key] if self.random.random() < 0.7] or [*run.asked[key]][:1]
        codes = {"": ("OK", "NO", "OTH/SPL", ""), "OTH": ("REM", "SPL", "")}
        new = {q: self.random.choice(codes[run.asked[key][q][1]]) for q in some}
        seen = ("", "")
        code = run.given[key].get(some[0], (ASKED_BACK,))[0]
        if code not in AGAIN and self.random.random() < 0.5:
            seen = (some[0], code)
        self.world.sleep(self.random.expovariate(1 / 10))
        act = self.new("amend", run.run, to=some[0], answers=(*new.items(),), seen=seen)
        changed = Reply(tuple(answer_to(q, code) for q, code in new.items()))

        def work(store: Store) -> State:
            before = answer_to(*seen) if seen[0] else None
            how: dict[str, Any] = {"key": some[0], "why": "On second thoughts.", "seen": before}
            return reply.amend(store, self.caller, run.run, changed, **how)

        self.ask(act, work)

    def undo(self) -> None:
        """Take back the last answer."""
        run = self.town.oracle.now(self.pick())
        if run.given:
            self.world.sleep(self.random.expovariate(1 / 10))
            act = self.new("undo", run.run, to=[*run.given][-1])
            self.ask(act, lambda store: reply.undo(store, self.caller, run.run, act.to))

    def withdraw(self) -> None:
        """End a run."""
        run = self.pick()
        act = self.new("withdraw", run)
        self.ask(act, lambda store: reply.withdraw(store, self.caller, run, "No need."))

    def advise(self) -> None:
        """Answer what somebody asked back; it is no answer."""
        state = self.look(self.pick())
        if state is None or state.ask is None or state.flow != "decide":
            return
        act = self.new("advise", state.run, to=state.key, answers=((state.key, ADVISED),))
        key = state.key or ""
        self.ask(
            act, lambda store: reply.advise(store, self.caller, state.run, "Because.", (), key)
        )

    def prefer(self) -> None:
        """Ask not to be asked what is recommended there, or to be asked again."""
        value = self.random.choice(["never-ask", "never-ask", "never-ask", "always-ask", ""])
        act = self.new("prefer", to=value)
        how: dict[str, Any] = {"scope": "sim", "origin": "terminal", **self.source._asdict()}
        self.ask(act, lambda store: policy.set_preference(store, "review-1", value, **how))

    def snooze(self) -> None:
        """Have a question left out of the inbox for a while."""
        state = self.look(self.pick())
        if state is not None and state.ask is not None:
            act, seconds = self.new("snooze", state.run, to=state.key), self.random.uniform(5, 90)
            until = chance.now() + timedelta(seconds=seconds)
            self.ask(act, lambda s: reply.snooze(s, self.caller, state.run, until, state.key))

    def leave(self) -> None:
        """Decline to answer, or close the box."""
        state = self.look(self.pick())
        if state is None or state.ask is None:
            return
        outcome = self.random.choice(
            [Outcome("declined", "Not now."), Outcome("dismissed"), Outcome("idle")]
        )
        kind = "decline" if outcome.kind == "declined" else "dismiss"
        act = self.new(kind, state.run, to=state.key)

        def work(store: Store) -> State:
            return reply.record_reply(store, self.caller, state.run, outcome, to=state.key)

        self.ask(act, work)


class Visitor(Person):
    """A person in the browser, at one of two servers; a form is sent with a token."""

    hand = ("person", "web")
    scope = HERE
    has_tokens = True

    @property
    def process(self) -> Process:
        return self.town.server(self.random.randrange(2))

    def inbox(self, store: Store) -> list[str]:
        """As a page lists it."""
        return [row.run.id for row in inbox.list_inbox(store, self.caller, inbox.Wanted()).rows]

    def clocks(self, before: float) -> tuple[float, ...]:
        return before, self.town.clock

    def reply(self, store: Store, state: State, said: Reply, token: str) -> State:
        """As a server does it."""
        digest = begin.digest_of(self.caller.source, said)
        now = runs.look(store, state.run)
        before = reply.repeat(store, self.caller, state.run, token, digest)
        if before is not None:
            return before
        reply.require_waiting(now, state.key)
        how: dict[str, Any] = {"to": state.key, "token": token, "sent": digest}
        return reply.record_reply(store, self.caller, state.run, said, **how)


class Script(Visitor):
    """A program that uses the HTTP API."""

    hand = ("api", "web")

    def amend(self) -> None:
        """That is for people."""


class Chat(Person):
    """A person in a form that an agent's program shows, which is not their own hand."""

    hand = ("agent", "mcp")
    scope = HERE

    def amend(self) -> None:
        """That is for people."""


class Relay(Person):
    """An agent that passes on what it was told."""

    hand = ("agent", "relay")

    def reply(self, store: Store, state: State, said: Reply, token: str) -> State:
        """As the command does it."""
        assert not token
        answers = [
            {"key": a.key, "text": f"Q: {a.argument}"}
            if a.prefix
            else {"key": a.key, "picked": [*a.picked]}
            for a in said.answers
        ]
        data = msgspec.json.encode({"answers": answers})
        return reply.reply(store, self.caller, state.run, data, state.key)[0]


def coded(said: Reply) -> tuple[tuple[str, str], ...]:
    """The codes of a reply, by question."""
    return tuple((a.key, ASKED_BACK if a.prefix else "".join(a.picked)) for a in said.answers)


def answer_to(question: str, code: str) -> Answer:
    """An answer of one code, or a blank one."""
    return Answer(question, (code,) if code else ())
