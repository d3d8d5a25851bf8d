"""A walk told again, out of the entries of its journal alone.

It can be told while the run goes on, when it is over, and when its texts were pruned: then as much
as is left. No flow is run for it, so that it does not matter which version began the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from quandary.agents import exchanges, verdicts
from quandary.agents.following import Follower, Known
from quandary.agents.story import Exchange, Remark, Stop, Story
from quandary.errors import QuandaryError
from quandary.flows.planning import Defaults
from quandary.flows.walk import Outcome
from quandary.journal.entries import (
    Answered,
    Asked,
    Began,
    Called,
    Ended,
    Noted,
    Returned,
    readable,
)
from quandary.model.ask import Item, Preamble
from quandary.model.call import HUMAN, Call
from quandary.model.chart import Chart
from quandary.model.response import Process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.agents.following import Here
    from quandary.journal.entries import AnyBody, Matter, Status
    from quandary.journal.store import Store, Waits
    from quandary.model.ask import Ask
    from quandary.model.response import Expects

T = TypeVar("T")

_OUTCOMES: dict[Status, Outcome] = {"done": "completed", "failed": "failed"}
_SILENT = frozenset({"started"})
"""Notes that are about the program, not about the walk."""


class Told(msgspec.Struct, frozen=True):
    """A story, and the chart that it goes through, where the store still has it."""

    story: Story
    chart: Chart | None = None


def retell(store: Store, run: str) -> Told:
    """The story of a run."""
    teller = Teller(store, run)
    for _ in teller.read():
        pass
    return Told(teller.story(), teller.chart)


class Teller:
    """Reads a run's entries as they come, and can tell at any time where it stands."""

    def __init__(self, store: Store, run: str) -> None:
        self.store = store
        self.run = run
        self.n = 0
        """The number of the last entry that was read."""
        self.chart: Chart | None = None
        self.name = ""
        self.item = Item("")
        self.began = ""
        self.ended = ""
        self.status: Status = "waiting"
        self.waits: Waits | None = None
        self.result: dict[str, Any] = {}
        self.error = ""
        self.amendments = 0
        self.exchanges: dict[str, Exchange] = {}
        self.remarks: list[Remark] = []
        self.taken_back: list[Exchange] = []
        self.pruned = 0
        self._known: Known | None = None
        self._follower: Follower | None = None
        self._places: dict[str, Here] = {}
        self._calls: dict[str, Call] = {}
        self._asks: dict[str, Ask] = {}
        self._fresh: list[str] = []
        """The keys of what still has its texts."""

    def read(self) -> Iterator[tuple[int, AnyBody]]:
        """Read what has been added to the journal, entry by entry, each with its number."""
        with readable(self.run):
            for entry in self.store.entries(self.run, after=self.n):
                body = entry.read()
                self._hear(body, entry.read_matter())
                self.pruned += entry.pruned
                self.n = entry.n
                yield entry.n, body

    def forget_texts(self, most: int) -> None:
        """Let go of what was said in full; whoever only follows a run does not need it again."""
        for key in self._fresh:
            exchange = self.exchanges.get(key)
            if exchange is not None and exchange.answered:
                output = exchange.output[:most] if exchange.output else exchange.output
                self.exchanges[key] = replace(exchange, prompt="", output=output, stderr="")
                self._calls.pop(key, None)
            if key in self._asks:
                self._asks[key] = replace(self._asks[key], preamble=Preamble(""))
        known = self.exchanges
        self._fresh = [key for key in self._fresh if key in known and not known[key].answered]

    # -- entry by entry ----------------------------------------------------------------------------

    def _hear(self, body: AnyBody, matter: Matter) -> None:
        if isinstance(body, Began):
            self._begin(body, matter)
        elif isinstance(body, Asked):
            self.waits = "person"
            if matter.ask is not None:
                self._asks[body.key] = matter.ask
            self._ask(exchanges.asked(body, matter))
        elif isinstance(body, Called):
            self._call(body, matter)
        elif isinstance(body, Answered):
            self._answer(body, matter)
        elif isinstance(body, Returned):
            before = self.exchanges.get(body.key)
            call = self._calls.get(body.key)
            if before is not None:
                self.exchanges[body.key] = exchanges.returned(before, call, body, matter)
        elif isinstance(body, Noted):
            self._note(body, matter)
        else:
            self._end(body, matter)

    def _call(self, body: Called, matter: Matter) -> None:
        self.waits = "house" if body.deed else "agent"
        if isinstance(matter.sent, Call):
            self._calls[body.key] = matter.sent
        if not body.deed:
            self._ask(exchanges.called(body, matter))

    def _begin(self, body: Began, matter: Matter) -> None:
        if body.flow != "walk":
            raise QuandaryError(
                f"run {self.run} is no walk (its flow is {body.flow}); "
                f"`quandary log {self.run}` tells what was asked and answered"
            )
        self.began = body.at
        given = matter.arguments or {}
        written = self.store.document(body.documents.get("chart", ""))
        drawn = msgspec.json.decode(written) if written else given.get("chart")
        self.chart = _read(drawn, Chart)
        self.name = self.chart.name if self.chart is not None else ""
        self.item = _read(given.get("item"), Item) or Item("")
        if matter.arguments is not None:
            defaults = _read(given.get("defaults"), Defaults) or Defaults()
            self._known = Known(defaults, tuple(map(str, given.get("codenames", ()))))
        self._follow()

    def _follow(self) -> None:
        """Go through the chart from the beginning, by all that counts."""
        self._places.clear()
        self._follower = None
        if self.chart is not None:
            self._follower = Follower(self.chart, self._known, self.exchanges)
        for key in list(self.exchanges):
            self._place(key)

    def _ask(self, exchange: Exchange) -> None:
        self.exchanges[exchange.key] = exchange
        self._fresh.append(exchange.key)
        self._place(exchange.key)

    def _place(self, key: str) -> None:
        here = self._follower.take(self.exchanges[key]) if self._follower is not None else None
        if here is not None:
            self._places[key] = here
            name = here.name(key)
            role = exchanges.role_of(name)
            expects: Expects | None = "decision" if here.plan.routes else "process"
            if role in ("check", "again"):
                expects = "validation" if role == "check" else None
            self.exchanges[key] = replace(
                self.exchanges[key], name=name, role=role, expects=expects
            )

    def _answer(self, body: Answered, matter: Matter) -> None:
        if body.amends:
            self._take_back(body.key)
            self._reopen(body.amendment)
        here = self._places.get(body.key)
        self.exchanges[body.key] = exchanges.answered(
            self.exchanges[body.key],
            self._asks.get(body.key),
            body,
            matter,
            here.plan.routes if here is not None else (),
        )
        if body.amends:
            self._follow()

    def _take_back(self, key: str) -> None:
        """What came after an answer that is changed no longer counts."""
        names = list(self.exchanges)
        at = names.index(key)
        self.taken_back += [self.exchanges[name] for name in names[at:]]
        for later in names[at + 1 :]:
            del self.exchanges[later]

    def _try_anew(self, body: Noted, matter: Matter) -> None:
        """What came of the step that failed no longer counts."""
        gone = [key for key in body.takes_back if key in self.exchanges]
        self.taken_back += [self.exchanges.pop(key) for key in gone]
        self._reopen(body.amendment)
        defaults = _read((matter.arguments or {}).get("defaults"), Defaults)
        if defaults is not None and self._known is not None:
            self._known = self._known._replace(defaults=defaults)
        self._follow()

    def _reopen(self, amendment: int) -> None:
        self.amendments = max(self.amendments, amendment)
        self.status, self.result, self.error, self.ended = "waiting", {}, "", ""

    def _note(self, body: Noted, matter: Matter) -> None:
        if body.amendment:
            self._try_anew(body, matter)
        if body.kind not in _SILENT:
            said = (body.at, body.kind, body.key, matter.text)
            self.remarks.append(Remark(*said, body.who, body.through, body.by))

    def _end(self, body: Ended, matter: Matter) -> None:
        self.status, self.waits, self.ended = body.status, None, body.at
        self.result = matter.result if isinstance(matter.result, dict) else {}
        self.error = matter.error
        if self._follower is not None and body.status in ("done", "failed"):
            self._follower.finish(done=body.status == "done")

    # -- all of it ---------------------------------------------------------------------------------

    def stops(self, first: int = 0, last: int | None = None) -> list[Stop]:
        """The steps that the run came to, from one of them on and as far as another."""
        every = self._follower.stops[first:last] if self._follower is not None else []
        return [self._stop(number, here) for number, here in enumerate(every, first)]

    @property
    def left(self) -> int:
        """How many of its stops the run has left behind for good."""
        if self._follower is None:
            return 0
        over = self.status != "waiting"
        return len(self._follower.stops) if over else self._follower.left

    def place(self, key: str) -> str:
        """The name of the step at which something was asked."""
        here = self._places.get(key)
        return here.plan.name if here is not None else key

    @property
    def _outcome(self) -> Outcome | None:
        """As the flow said; where that was pruned, as far as the end itself shows."""
        said = self.result.get("outcome")
        known = (outcome for outcome in get_args(Outcome) if outcome == said)
        return next(known, _OUTCOMES.get(self.status))

    def story(self) -> Story:
        """What is known so far."""
        follower = self._follower
        counted = [e for e in self.exchanges.values() if e.agent != HUMAN and e.answered]
        item = self.item
        return Story(
            run=self.run,
            chart=self.name,
            item=item.title or item.label or item.id,
            status=self.status,
            waits=self.waits,
            outcome=self._outcome,
            error=self.error,
            began=self.began,
            ended=self.ended,
            path=tuple(here.step.id for here in follower.stops) if follower else (),
            legs=tuple(follower.legs) if follower else (),
            stops=tuple(self.stops()),
            calls=len(counted),
            tokens=sum(exchange.tokens for exchange in counted),
            seconds=round(sum(exchange.seconds for exchange in counted), 3),
            pruned=self.pruned,
            taken_back=tuple(self.taken_back),
            unplaced=tuple(e for key, e in self.exchanges.items() if key not in self._places),
            remarks=tuple(self.remarks),
        )

    def _stop(self, number: int, here: Here) -> Stop:
        follower = self._follower
        assert follower is not None  # noqa: S101 - it made the stop
        every = follower.told(here)
        attempts = verdicts.attempts(here.plan, every, exact=self._known is not None)
        checked = [
            attempt.verdict
            for attempt in attempts
            if attempt.verdict and any(e.role == "check" for e in attempt.exchanges)
        ]
        stands = here is follower.at
        route = here.route or verdicts.chosen(here.plan, every)
        failed = attempts and attempts[-1].verdict == "failed" and not route
        error = attempts[-1].critique if failed and not stands else ""
        working = [e for e in every if e.role in ("work", "vote", "tie")]
        voters = here.plan.votes if any(e.role == "vote" for e in every) else ()
        return Stop(
            number=number + 1,
            id=here.step.id,
            name=here.plan.name,
            kind=here.plan.kind,
            page=here.ways.page.id,
            depth=here.depth,
            visit=here.visit,
            cli=", ".join(dict.fromkeys(voters)) or (working[-1].agent if working else ""),
            route=route,
            attempts=attempts,
            validation=checked[-1] if checked else None,
            output=route or _handed_in(working),
            seconds=round(sum(exchange.seconds for exchange in every), 3),
            tokens=sum(exchange.tokens for exchange in every),
            error=self.error if stands and self.status == "failed" else error,
            current=stands and self.status != "done",
        )


def _handed_in(working: list[Exchange]) -> str | None:
    """What a step handed in last, as far as somebody said anything."""
    for exchange in reversed(working):
        meaning = exchange.meaning
        if isinstance(meaning, Process) and meaning.completed and meaning.comments.strip():
            return meaning.comments.strip()
        if exchange.output:
            return exchange.output
    return None


def _read(value: object, kind: type[T]) -> T | None:
    """A part of what a run was begun with, if it is there and is what it should be."""
    if value is None:
        return None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None
