"""The story of a walk: what happened to one item on its way through a chart, as data and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

import msgspec

from quandary.flows.walk import Outcome
from quandary.journal.archive import WHOSE
from quandary.journal.entries import Status, Who, tell_source
from quandary.journal.store import Waits
from quandary.model.calls import HUMAN, Expects, Meaning, Role
from quandary.model.chart import QUIET, Chart, Kind, Map, Page
from quandary.model.text import count, one_line, printable

if TYPE_CHECKING:
    from quandary.reports.retelling import Told

Verdict = Literal["passed", "failed"]


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an agent or a person was asked, and what came back."""

    key: str
    name: str = ""  # what it is called at its step: `run`, `retry-1`, `validate-2`, `vote-3`
    role: Role = "work"
    agent: str  # its codename; HUMAN where a person was asked
    expects: Expects | None = None
    prompt: str | None = None  # what it was told; nothing where that was pruned
    asked: str = ""
    answered: str = ""  # when; empty as long as there is no answer
    who: Who | None = None  # whose hand the answer came from, through what, and under which name
    through: str = ""
    by: str = ""
    picked: tuple[str, ...] = ()  # the codes that a person chose
    output: str | None = None  # what was printed or said; nothing where it was pruned or is to come
    meaning: Meaning | None = None  # the response that was found in it
    problem: str = ""  # why it cannot count
    stderr: str = ""
    status: int | None = None
    seconds: float = 0.0
    tokens: int = 0
    timed_out: bool = False
    interrupted: bool = False
    stopped: str = ""  # the tool that it stopped for in the middle, until that is answered
    truncated: bool = False
    pruned: bool = False  # texts of it were taken out of the journal
    route: str = ""  # the way that it names
    accepted: bool | None = None  # whether the work was done, or passed, if that is known
    retry: bool = True  # whether another attempt was thought to be worth it


class Attempt(msgspec.Struct, frozen=True):
    """One try at a step: the work, or the votes, and whoever judged it."""

    number: int
    exchanges: tuple[Exchange, ...]
    verdict: Verdict | None = None  # whether it counted, if that is known by now
    critique: str = ""  # what was held against it


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """One visit to a step."""

    number: int  # its place on the path, from 1
    id: str
    name: str
    kind: Kind
    page: str = ""
    depth: int = 0  # how many charts it lies within
    visit: int = 1
    cli: str = ""  # who was asked last, or who voted
    route: str = ""
    attempts: tuple[Attempt, ...] = ()
    validation: Verdict | None = None
    output: str | None = None
    seconds: float = 0.0
    tokens: int = 0
    error: str = ""
    current: bool = False  # the run stands here

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All that was asked here."""
        return tuple(exchange for attempt in self.attempts for exchange in attempt.exchanges)


class Leg(msgspec.Struct, frozen=True):
    """A line of the chart that was followed."""

    page: str
    source: str
    target: str
    label: str = ""


class Remark(msgspec.Struct, frozen=True):
    """Something that happened beside the walk and was no answer."""

    at: str
    kind: str
    key: str
    text: str
    who: Who
    through: str
    by: str = ""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A walk from its beginning to where it stands."""

    run: str
    chart: str
    item: str = ""
    status: Status = "waiting"
    waits: Waits | None = None
    outcome: Outcome | None = None
    error: str = ""
    began: str = ""
    ended: str = ""
    path: tuple[str, ...] = ()  # the ids of the steps that it came to
    legs: tuple[Leg, ...] = ()
    stops: tuple[Stop, ...] = ()
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    pruned: int = 0  # how many entries have lost their texts
    imported: bool = False  # whether it is the word of a file, which anybody can have made
    taken_back: tuple[Exchange, ...] = ()  # what no longer counts: amended, or tried anew
    unplaced: tuple[Exchange, ...] = ()  # what belongs to no step, as far as can be seen
    remarks: tuple[Remark, ...] = ()


LONGEST = 100_000  # as many characters of one text as a report for people shows; JSON has them all
MOST_ON_A_LINE = 20  # a longer route is told step by step only
NO_ITEM = "1"  # what the item of a walk is called that was begun without any

_ROLES = {
    "work": "does it",
    "check": "judges it",
    "vote": "votes",
    "tie": "breaks the tie",
    "again": "says whether to make the interrupted call again",
    "stop": "answers what the agent stopped for",
}
_VERDICTS = {"passed": "accepted", "failed": "not accepted", None: "open"}


def headline(story: Story) -> str:
    """How the run ended, or where it stands."""
    here = next((stop.name for stop in story.stops if stop.current), "")
    at = f" at “{one_line(here)}”" if here else ""
    if story.status == "waiting":
        if story.waits == "person":
            return f"waits for a person{at}"
        return f"under way{at}" if story.waits else "under way"
    if story.status in ("declined", "withdrawn"):
        return f"{story.status}{at}"
    return f"{story.outcome or story.status}{at}"


def about(story: Story) -> list[tuple[str, str]]:
    """The facts of a run, each with its name."""
    route = [f"{stop.name} [{stop.route}]" if stop.route else stop.name for stop in story.stops]
    facts = [
        ("item", story.item if story.item != NO_ITEM else ""),
        ("why", story.error),
        ("run", story.run),
        ("began", moment(story.began)),
        ("ended", moment(story.ended)),
        ("spent", f"{count(story.calls, 'call')}, {tell_cost(story.seconds, story.tokens)}"),
        ("route", " → ".join(route) if len(story.stops) <= MOST_ON_A_LINE else ""),
        ("pruned", f"{count(story.pruned, 'entry')} without texts" if story.pruned else ""),
        ("imported", WHOSE if story.imported else ""),
    ]
    return [(name, one_line(text)) for name, text in facts if text]


def pages_of(chart: Chart, story: Story) -> list[Page]:
    """The pages that the run came to."""
    reached = {stop.page for stop in story.stops}
    return [page for page in chart.pages if page.id in reached]


def taken_on(page: Page, legs: Iterable[Leg]) -> set[tuple[str, str, str]]:
    """The lines of a page that were taken; one whose label is not known may be any of its kind."""
    found = {(leg.source, leg.target, leg.label) for leg in legs if leg.page == page.id}
    nameless = {(source, target) for source, target, label in found if not label}
    some = ((r.source, r.target, r.label) for r in page.routes if (r.source, r.target) in nameless)
    return found | set(some)


def others(story: Story) -> list[tuple[str, tuple[Exchange, ...]]]:
    """What was asked and is no part of the route, under its headings."""
    found = [
        ("Asked, and it is not known at which step", story.unplaced),
        ("Taken back, and tried or answered anew", story.taken_back),
    ]
    return [(name, exchanges) for name, exchanges in found if exchanges]


def tell_remarks(story: Story) -> list[tuple[str, str]]:
    """The remarks, each on one line and with its time."""
    return [(moment(r.at), one_line(f"{r.kind} {r.key} {r.text}")) for r in story.remarks]


def title(stop: Stop) -> str:
    """A visit by the name of its step, and which one it is where there are several."""
    return f"{one_line(stop.name)} (visit {stop.visit})" if stop.visit > 1 else one_line(stop.name)


def sum_up(stop: Stop) -> str:
    """What came of a visit, on one line."""
    parts = [
        f"route: {stop.route}" if stop.route else "",
        count(len(stop.attempts), "attempt") if len(stop.attempts) > 1 else "",
        f"validation {stop.validation}" if stop.validation else "",
        *([stop.cli, tell_cost(stop.seconds, stop.tokens)] if stop.attempts else []),
        f"given up: {stop.error}" if stop.error else "the run stands here" if stop.current else "",
    ]
    return one_line(", ".join(filter(None, parts)))


def tell_attempt(attempt: Attempt) -> str:
    """An attempt and whether it counted."""
    return f"attempt {attempt.number}, {_VERDICTS[attempt.verdict]}"


def tell_request(exchange: Exchange) -> str:
    """Who was asked for what."""
    decides = exchange.role == "work" and (exchange.expects == "decision" or exchange.route)
    return f"{one_line(who(exchange))} {'decides' if decides else _ROLES[exchange.role]}"


def who(exchange: Exchange) -> str:
    """The agent; or the person, with whose hand the answer came and through what."""
    if exchange.agent != HUMAN:
        return exchange.agent or "an agent"
    if not exchange.who:
        return "a person"
    return tell_source(exchange.who, exchange.through, exchange.by)


def answer(exchange: Exchange) -> str:
    """What came back, on one line."""
    if not exchange.answered:
        return "no answer yet"
    parts = [
        _gist(exchange),
        f"exit status {exchange.status}" if exchange.status is not None else "",
        "out of time" if exchange.timed_out else "",
        "interrupted" if exchange.interrupted else "",
        "printed more than is kept" if exchange.truncated else "",
        tell_cost(exchange.seconds, exchange.tokens) if exchange.agent != HUMAN else "",
    ]
    return one_line(", ".join(filter(None, parts)))


def _gist(exchange: Exchange) -> str:
    if exchange.route:
        return f"chose “{exchange.route}”"
    if exchange.stopped:
        return f"stopped for {exchange.stopped}"
    if exchange.accepted is None:
        return "" if exchange.pruned else "no answer to the question"
    words = {
        "check": ("passed", "not passed"),
        "again": ("again", "stop"),
        "stop": ("answered", "asked back"),
    }
    return words.get(exchange.role, ("done", "not done"))[not exchange.accepted]


def texts(exchange: Exchange) -> list[tuple[str, str]]:
    """What was written on the way there and back, each text with its name."""
    nothing = "(taken out of the journal)" if exchange.pruned else "(nothing)"
    found = [("prompt", exchange.prompt or nothing)]
    if exchange.answered:
        found.append(("output", exchange.output or nothing))
    if exchange.problem and exchange.problem != exchange.output:
        found.append(("feedback" if exchange.role == "check" else "problem", exchange.problem))
    return [*found, ("standard error", exchange.stderr)] if exchange.stderr.strip() else found


def tell_cost(seconds: float, tokens: int) -> str:
    """Time, and tokens where any were counted."""
    return f"{duration(seconds)}, {count(tokens, 'token')}" if tokens else duration(seconds)


def duration(seconds: float) -> str:
    """A length of time, as exactly as anybody needs it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def moment(at: str) -> str:
    """When something happened, in UTC."""
    return f"{at[:10]} {at[11:19]}Z" if at else ""


def lines(text: str, most: int | None = LONGEST) -> list[str]:
    """A text line by line, with nothing hidden in it; the middle of a very long one is left out."""
    if most is not None and len(text) > most:
        left = len(text) - most
        text = f"{text[: most // 2]}\n[… {left:,} characters left out …]\n{text[-(most // 2) :]}"
    rows = text.replace("\r\n", "\n").strip("\n").split("\n")
    return ["\t".join(map(printable, row.split("\t"))) for row in rows]


TAKEN, DRAWN = "━▶", "─▷"
REACHED, UNREACHED = "●", "○"


def report(told: Told) -> str:
    """Where the run stands, the chart with its route, and each step with all that was said."""
    story = told.story
    found = [f"{one_line(story.chart) or 'A walk'}: {headline(story)}", ""]
    facts = about(story)
    column = max(len(name) for name, _ in facts)
    found += [f"  {name:{column}}  {text}" for name, text in facts]
    if told.chart is not None:
        found += ["", f"The chart ({REACHED} reached, {TAKEN} taken)", *draw(told.chart, story)]
    for stop in story.stops:
        found += ["", *_stop(stop)]
    for name, exchanges in others(story):
        found += ["", name, *_exchanges(exchanges)]
    found += ["", "Also noted"] if story.remarks else []
    found += [f"  {moment}  {said}" for moment, said in tell_remarks(story)]
    return "\n".join(found) + "\n"


def draw(chart: Chart, story: Story) -> Iterator[str]:
    """The pages that the run came to, each step with its ways, and those marked that it took."""
    pages = pages_of(chart, story)
    for page in pages:
        yield ""
        if len(pages) > 1:
            yield f"  {one_line(page.name or page.id)}"
        ways = Map(page, chart)
        visits = {stop.id: stop.visit for stop in story.stops if stop.page == page.id}
        taken = taken_on(page, story.legs)
        for step in ways.steps.values():
            often = visits.get(step.id, 0)
            times = f"  ({often} times)" if often > 1 else ""
            yield f"  {REACHED if often else UNREACHED} {one_line(step.name)}{times}"
            for route in ways.ways(step):
                arrow = TAKEN if (route.source, route.target, route.label) in taken else DRAWN
                label = f"{one_line(route.label)} " if route.label else ""
                yield f"      {label}{arrow} {one_line(ways.follow(route).name)}"


def _stop(stop: Stop) -> Iterator[str]:
    margin = "  " * stop.depth
    kind = f"  ({stop.kind})" if stop.kind != "process" else ""
    yield f"{margin}{stop.number}. {title(stop)}{kind}"
    if stop.kind not in QUIET and (came := sum_up(stop)):
        yield f"{margin}   {came}"
    for attempt in stop.attempts:
        for line in (tell_attempt(attempt), *_exchanges(attempt.exchanges)):
            yield f"{margin}   {line}".rstrip()


def _exchanges(exchanges: Iterable[Exchange]) -> Iterator[str]:
    for exchange in exchanges:
        yield f"  {tell_request(exchange)}: {answer(exchange)}"
        for name, text in texts(exchange):
            yield f"    {name}"
            yield from (f"    │ {line}" for line in lines(text))
