"""The oracle: what should come of whatever anybody does, given what was acknowledged so far.

It is written apart from the program and knows only what is promised. It is told three things: what
somebody sends (`send`), each entry of the journal as it comes (`record`), and what the sender heard
(`hear`). From the entries it works out by itself what counts and what has to be asked next. An
answer is judged against the moments between sending and hearing: one of them has to explain it.
`Wrong` says what does not fit. Everything is plain data, so a history that was recorded elsewhere,
of real servers, can be judged in the same way.

The trees that are asked are all alike: every item can be kept (OK), dropped (NO), or something else
(OTH, left blank), behind which are REM and SPL. Whoever asks back (?) or is advised (!) is asked
again. `review` is all that is known of asking.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    Place = tuple[str, str]
    """An item, and the menu that it is asked about: "" or "OTH"."""

Hand = tuple[str, str, str]
"""Who, through what, under which name."""
Came = Literal["ok", "already", "refused", "person", "reused", "pruned", "unknown"]
IN_PERSON = (("person", "terminal"), ("person", "web"))
HOST: Hand = ("host", "hook", "")
HOOK: Hand = ("agent", "hook", "")
EXPIRY: Hand = ("policy", "expiry", "")
ACTS = ("reply", "advise", "amend", "withdraw", "decline", "dismiss")
ASKED_BACK, ADVISED = AGAIN = ("?", "!")
"""What is no answer, so that the question comes again."""
HALF_A_YEAR = 180 * 86_400.0


class Wrong(Exception):  # noqa: N818 - said of the program
    """What the program did is not what it promises."""


def review(items: list[str], size: int) -> Generator[list[Place], dict[str, str], dict[str, str]]:
    """How a tree is asked: as many items at a time as fit, then what each of them left open, one
    by one, then those that got no answer; until each item has a path.
    """
    paths: dict[str, str] = {}

    def hear(reply: dict[str, str], places: list[Place]) -> tuple[list[Place], list[Place]]:
        opened, missed = [], []
        for item, menu in places:
            if item not in reply:
                missed.append((item, menu))
            elif reply[item] in ("", *AGAIN):
                opened.append((item, menu if reply[item] else "OTH"))
            else:
                paths[item] = f"{menu}/{reply[item]}".lstrip("/")
        return opened, missed

    for first in range(0, len(items), size):
        places = [(item, "") for item in items[first : first + size]]
        while places:
            opened, places = hear((yield places), places)
            while opened:
                more, again = hear((yield opened[:1]), opened[:1])
                opened = [*more, *again, *opened[1:]]
    return paths


class View(NamedTuple):
    """A run as whoever looks at it sees it."""

    status: str
    key: str | None = None
    asks: tuple[Place, ...] = ()
    result: tuple[tuple[str, ...], ...] = ()
    """Of each item: its path, and whose answers led there."""


class Moment(NamedTuple):
    """How a run stood from one entry on."""

    since: int
    view: View
    answers: dict[str, tuple[str, Hand]]
    """What counts, by question."""
    waits: str = ""
    """For whom it waits."""
    is_pruned: bool = False


@dataclass(eq=False)
class Sent:
    """Something that somebody sent, however often; a reply with a token is one, sent twice too."""

    actor: str
    act: str
    hand: Hand
    run: str = ""
    to: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    token: str = ""
    seen: tuple[str, str] | None = None
    """With an amendment: the question, and the code that its sender saw there."""
    clock: float = 0.0
    under_way: int = 0
    """How many of those that were sent may still come to something."""
    entry: int = 0
    """The entry that came of it."""


@dataclass(eq=False)
class Run:
    """What the entries of a run come to."""

    id: str
    flow: str
    name: str
    items: list[str]
    size: int
    hand: Hand
    require: bool = False
    expires: float = 0.0
    origin: str = ""
    status: str = "waiting"
    waits: str = ""
    key: str | None = None
    places: dict[str, Place] = field(default_factory=dict)
    """The questions that wait, by key."""
    given: dict[str, dict[str, tuple[str, Hand]]] = field(default_factory=dict)
    """The Asks that were answered and count, in order, each with its answers by question."""
    asked: dict[str, dict[str, Place]] = field(default_factory=dict)
    """Every Ask there was."""
    calls: list[str] = field(default_factory=list)
    """The calls that wait."""
    made: set[str] = field(default_factory=set)
    """Those for which an agent was started."""
    ended: float = 0.0
    moments: list[Moment] = field(default_factory=list)

    def expect(self) -> list[Place] | dict[str, str]:
        """What has to be asked next, or the path of each item."""
        asking = review(self.items, self.size)
        try:
            places = next(asking)
            for key, answers in self.given.items():
                shown = self.asked[key]
                places = asking.send({shown[q][0]: code for q, (code, _) in answers.items()})
        except StopIteration as end:
            return dict(end.value)
        return places

    @property
    def answers(self) -> dict[str, tuple[str, Hand]]:
        """What counts, by question."""
        return {q: one for answers in self.given.values() for q, one in answers.items()}

    def hands(self, item: str) -> tuple[str, str]:
        """Whose answers led to the path of an item: who, and through what."""
        told = dict.fromkeys(
            hand[:2]
            for key, answers in self.given.items()
            for q, (code, hand) in answers.items()
            if self.asked[key][q][0] == item and code not in AGAIN
        )
        return ", ".join(who for who, _ in told), ", ".join(through for _, through in told)


class Oracle:
    """Judges a history while it happens."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.sent: list[Sent] = []
        self.entries: list[dict[str, Any]] = []
        self.names: dict[str, str] = {}
        self.walking: dict[str, str] = {}
        """Who walks a run, while an agent of theirs is at work."""
        self.cut_off: set[str] = set()
        """Processes whose lock was lost; they find out within seconds, and make no call twice."""
        self.newest = 0.0
        """What the clock said when something was last recorded."""

    # -- what somebody does ------------------------------------------------------------------------

    def send(self, sent: Sent, clock: float) -> Sent:
        """Somebody sends something, for the first time or again."""
        if sent not in self.sent:
            self.sent.append(sent)
        sent.clock = clock
        sent.under_way += 1
        return sent

    def hear(self, sent: Sent, came: Came, view: View | None, clock: float, since: int) -> None:
        """They hear what came of it, having asked when there were `since` entries."""
        run = self.runs.get(sent.run)
        moments = self._between(run, since) if run else []
        if came == "unknown":
            return
        twin = next((o for o in self.sent if o is not sent and _alike(o, sent)), None)
        if twin and bool(sent.entry) != (came == "ok") and bool(twin.entry) == (came == "ok"):
            sent.entry, twin.entry = twin.entry, sent.entry  # nobody can tell the two apart
        sent.under_way -= 1
        if came == "ok" and sent.act == "look":
            known = [moment.view for moment in moments]
            known += [m.view._replace(result=()) for m in moments if m.is_pruned]
            _require(view in known, f"{sent.actor} is shown {view}, and it was {known}")
            is_late = run and run.expires and min(sent.clock, clock) >= run.expires
            if view and view.status == "waiting" and is_late:
                far = clock - self.newest > HALF_A_YEAR
                _require(far, f"{sent.actor} is shown a question whose time is up")
        elif came == "ok" and sent.act in ACTS:
            _require(sent.entry, f"{sent.actor}'s {sent.act} is acknowledged and not recorded")
            after = next(m.view for m in run.moments if m.since >= sent.entry) if run else None
            right = view == after or any(moment.is_pruned for moment in moments)
            _require(right, f"{sent.actor} is told {view} after a {sent.act}, not {after}")
        elif came == "ok" and sent.act == "report":
            found = [r for name, r in self.names.items() if sent.token in name.split()]
            codes = {
                c for m in self._between(self.runs[found[0]], since) for c, _ in m.answers.values()
            }
            _require(codes >= {*sent.answers.values()}, f"the report {sent.token} is not recorded")
        elif came == "ok":
            _require(sent.entry, f"{sent.actor}'s {sent.act} is acknowledged and not recorded")
            known = [moment.view for moment in run.moments] if run else []
            right = view in known or any(moment.is_pruned for moment in moments)
            _require(right, f"{sent.actor} is told {view} after a {sent.act}, not {known}")
        elif came == "pruned":
            _require(any(m.is_pruned for m in moments), f"run {sent.run} was never pruned")
        else:
            _require(not sent.entry, f"{sent.actor}'s {sent.act} is refused ({came}) and recorded")
            _require(
                self._may_refuse(sent, came, run, moments),
                f"{sent.actor}'s {sent.act} of {sent.to} is refused ({came}): {moments}",
            )

    def _between(self, run: Run, since: int) -> list[Moment]:
        """How a run stood from the time when there were so many entries until now."""
        ends = [later.since for _, later in pairwise(run.moments)] + [len(self.entries) + 1]
        return [m for m, end in zip(run.moments, ends, strict=True) if end > since]

    def _may_refuse(self, sent: Sent, came: Came, run: Run | None, moments: list[Moment]) -> bool:
        """Whether something may be refused, at one of these moments."""
        if run is None:
            return False
        if came == "reused":
            return any(o.token == sent.token and o is not sent and o.entry for o in self.sent)
        if came == "person":
            return run.require and sent.hand[:2] not in IN_PERSON and sent.act != "advise"
        if sent.act == "amend":
            shown = [
                m for m in moments
                if m.view.status not in ("declined", "withdrawn")
                and sent.answers.keys() <= m.answers.keys() | self._beside(run, sent.to)
                and any(q in m.answers for q in self._beside(run, sent.to))
                and (not sent.seen or m.answers.get(sent.seen[0], ("",))[0] == sent.seen[1])
            ]  # fmt: skip
            return len(shown) < len(moments)
        if sent.act == "withdraw":
            return any(m.view.status != "waiting" for m in moments)
        return came == "already" and any(m.view.key != sent.to for m in moments)

    def _beside(self, run: Run, question: str) -> set[str]:
        return next((set(a) for a in run.asked.values() if question in a), set())

    def judge_inbox(self, shown: list[str], since: int) -> None:
        """The inbox is exactly what waits for a person."""
        for run in self.runs.values():
            moments = self._between(run, since)
            waits = [moment.waits == "person" for moment in moments]
            if run.id in shown:
                _require(any(waits), f"the inbox shows {run.id}, which does not wait")
            else:
                _require(not all(waits), f"the inbox does not show {run.id}")

    # -- agents ------------------------------------------------------------------------------------

    def start_agent(self, process: str, run: str, key: str) -> None:
        """An agent is started for a call."""
        if process not in self.cut_off:
            walker = self.walking.setdefault(run, process)
            _require(walker == process, f"{run} is walked by {process} and by {walker}")
        known = self.runs[run]
        waits = key in known.calls or known.status != "waiting"  # who ended it came between
        _require(waits, f"an agent is asked {key}, which waits for none")
        _require(key not in known.made, f"{key} is called again")
        known.made.add(key)

    def lose_lock(self, process: str) -> None:
        """The connection broke that held the lock of a run."""
        self.cut_off.add(process)
        self.stop_agents(process)

    def stop_agents(self, process: str) -> None:
        """The process has ended what it had started, or has ended itself."""
        self.walking = {run: who for run, who in self.walking.items() if who != process}

    # -- what the journal says ---------------------------------------------------------------------

    def record(self, entry: dict[str, Any]) -> None:
        """The next entry: its run, its body, its matter, and what the clock said."""
        before, self.newest = self.newest, max(self.newest, entry["clock"])
        self.entries.append(entry)
        body, matter = entry["body"], entry["matter"] or {}
        kind, hand = body["entry"], (body["who"], body["through"], body.get("by", ""))
        if kind == "began":
            self._begin(entry["run"], body, matter, hand)
            return
        run = self.runs[entry["run"]]
        if hand == EXPIRY:
            _require(entry["clock"] - before < HALF_A_YEAR, f"{run.id} expired by a wrong clock")
        if kind != "noted" or body.get("amendment"):
            again = body.get("amends") or body.get("amendment") or run.name.startswith("hook")
            _require(run.status == "waiting" or again, f"{run.id} is {run.status}, then {kind}")
        getattr(self, f"_{kind}")(run, body, matter, hand)
        if (run.status != "waiting" or run.key) and body.get("kind") != "declined":
            self._stand(run)

    def _stand(self, run: Run) -> None:
        places = tuple(run.places.values()) if run.waits == "person" else ()
        result: tuple[tuple[str, ...], ...] = ()
        if run.status == "done" and run.flow == "decide":
            found = run.expect()
            assert isinstance(found, dict)
            result = tuple((item, found[item], *run.hands(item)) for item in run.items)
        view = View(run.status, run.key, places if run.flow == "decide" else (), result)
        waits = run.waits if run.key else ""
        run.moments.append(Moment(len(self.entries), view, run.answers, waits))

    def settle(self) -> None:
        """Something was committed: no run is left between an answer and what follows from it."""
        for run in self.runs.values():
            _require(run.key or run.status != "waiting", f"{run.id} waits for nobody")

    def _begin(self, run: str, body: dict[str, Any], matter: dict[str, Any], hand: Hand) -> None:
        name = body.get("name", "")
        told = [
            s for s in self.sent
            if s.under_way and s.hand == hand and not s.run
            and s.act in ("begin", "report", "prune") and (not s.token or s.token in name.split())
        ]  # fmt: skip
        _require(told, f"{hand} began {run}, and did not act")
        told[0].run = run
        told[0].entry = len(self.entries) if told[0].act != "report" else 0
        if name.startswith(("asked:", "hook")):
            _require(name not in self.names, f"{name} has begun twice")
        self.names[name] = run
        began = matter.get("arguments") or {}
        items = [item["id"] for item in began.get("items", ())] or ["1"]
        size = (began.get("limits") or {}).get("questions", 4)
        require = bool(began.get("require") or began.get("ask", {}).get("require"))
        self.runs[run] = Run(
            run, body["flow"], name, items, size, hand, require, seconds(body.get("expires", "")),
            body.get("origin", ""),
        )  # fmt: skip

    def _asked(self, run: Run, body: dict[str, Any], matter: dict[str, Any], _: Hand) -> None:
        key, questions = body["key"], matter["ask"]["questions"]
        _require(key not in run.asked, f"{key} is asked twice")
        run.places = {
            q["key"]: (q.get("item", ""), "OTH" if "REM" in body["offered"][q["key"]] else "")
            for q in questions
        }
        run.asked[key], run.key, run.waits = run.places, key, "person"
        if run.flow == "decide":
            asked, should = list(run.places.values()), run.expect()
            _require(asked == should, f"{run.id} asks {asked} and not {should}")

    def _answered(self, run: Run, body: dict[str, Any], matter: dict[str, Any], hand: Hand) -> None:
        key, number = body["key"], len(self.entries)
        words = {a["key"]: a for a in matter.get("answers", ())}
        answers = {
            a["key"]: ADVISED
            if words.get(a["key"], a).get("advice")
            else ASKED_BACK
            if a.get("prefix") == "question"
            else "".join(a.get("picked", ()))
            for a in body["answers"]
        }
        if body.get("origin"):
            self._take_over(run, body, answers, hand)
        elif body.get("amends"):
            known = run.given.get(key, {})
            _require(known, f"{key} is amended, and has no answer")
            for sent in self._find(run, hand, "amend", "report"):
                new = {q: c for q, c in sent.answers.items() if known.get(q, (None,))[0] != c}
                if sent.answers.keys() <= run.asked[key].keys() and answers == (
                    new or sent.answers
                ):
                    sent.entry = number
                    break
            else:
                raise Wrong(f"{hand} amended {key} of {run.id} to {answers}, and did not")
        else:
            is_report = run.flow == "question" and hand == HOST
            _require(key == run.key or is_report, f"{key} is answered, and {run.key} waits")
            may = not run.require or is_report or hand[:2] in IN_PERSON
            _require(may or ADVISED in answers.values(), f"{hand} answered, and may not")
            told = [
                s
                for s in self._find(run, hand, "reply", "advise", "report")
                if s.answers == answers and (is_report or s.to == key)
            ]
            _require(told, f"{hand} answered {key} of {run.id} with {answers}, and did not")
            told = [s for s in told if is_report or s.token == body.get("token", "")]
            _require(told, f"the token of {key} is forgotten")
            told[0].entry = number
        said = {q: (code, self._source(body, q, hand)) for q, code in answers.items()}
        if body.get("amends"):
            after = list(run.given)[list(run.given).index(key) :]
            before, *_ = [run.given.pop(gone) for gone in after]
            # Who repeats an answer has not given it: it stays whose it was.
            changed = {q: one for q, one in said.items() if before.get(q, ("-", hand))[0] != one[0]}
            run.given[key] = before | changed
        else:
            run.given[key] = said
        run.status, run.key, run.places = "waiting", None, {}

    def _source(self, body: dict[str, Any], question: str, hand: Hand) -> Hand:
        who, through, by = (body.get("sources") or {}).get(question, hand)
        return who, through, by

    def _take_over(
        self, run: Run, body: dict[str, Any], answers: dict[str, str], hand: Hand
    ) -> None:
        """Only what counted in the other run, each answer with its own source."""
        _require(run.origin == body["origin"] and not run.require, f"{run.id} took over too much")
        origin = self.runs[run.origin]
        for question, code in answers.items():
            place, whose = run.asked[body["key"]][question], self._source(body, question, hand)
            known = [
                one
                for moment in origin.moments
                for q, one in moment.answers.items()
                if any(shown.get(q) == place for shown in origin.asked.values())
            ]
            _require((code, whose) in known, f"{run.id} took over {question}={code} as {whose}")

    def _find(self, run: Run, hand: Hand, *acts: str) -> list[Sent]:
        return [
            s for s in self.sent
            if s.under_way and s.act in acts and not s.entry
            and (s.run == run.id and s.hand == hand if s.act != "report"
                 else s.token in run.name.split() and hand in (HOST, HOOK))
        ]  # fmt: skip

    def _called(self, run: Run, body: dict[str, Any], _: dict[str, Any], __: Hand) -> None:
        run.calls.append(body["key"])
        run.key, run.waits = run.key or body["key"], "house" if body.get("deed") else "agent"

    def _returned(self, run: Run, body: dict[str, Any], _: dict[str, Any], __: Hand) -> None:
        _require(body["key"] in run.calls, f"{body['key']} came back, and was not waited for")
        run.calls.remove(body["key"])
        run.key = run.calls[0] if run.calls else None

    def _noted(self, run: Run, body: dict[str, Any], _: dict[str, Any], hand: Hand) -> None:
        kind = body["kind"]
        if kind in ("declined", "dismissed", "idle", "error"):
            sent = self._find(run, hand, "decline" if kind == "declined" else "dismiss", "report")
            sent = [s for s in sent if s.act == "report" or s.to == body["key"]]
            _require(sent, f"{hand} is noted as {kind}, and did nothing")
            sent[0].entry = len(self.entries)
        if kind == "stopped":  # it ended its programs first
            run.made -= {*run.calls}
        if body.get("amendment"):
            run.status, run.key, run.calls = "waiting", None, []

    def _ended(self, run: Run, body: dict[str, Any], matter: dict[str, Any], hand: Hand) -> None:
        status, is_over = body["status"], run.key is None
        if status == "withdrawn" and hand == EXPIRY:
            late = run.expires and seconds(body["at"]) >= run.expires
            _require(late, f"{run.id} expired before its time")
        elif status == "withdrawn":
            sent = self._find(run, hand, "withdraw", "report")
            _require(sent, f"{hand} withdrew {run.id}, and did nothing")
            sent[0].entry = len(self.entries) if sent[0].act == "withdraw" else 0
        elif status == "done":
            _require(is_over, f"{run.id} is done while {run.key} waits")
        if status == "done" and run.flow == "decide":
            chosen, should = (matter.get("result") or {}).get("chosenItems", ()), run.expect()
            _require(isinstance(should, dict), f"{run.id} ends while {should} is open")
            told = {one["itemId"]: (one["path"], one["by"], one["through"]) for one in chosen}
            assert isinstance(should, dict)
            right = {item: (path, *run.hands(item)) for item, path in should.items()}
            _require(told == right, f"{run.id} comes to {told} and not to {right}")
        run.status, run.key, run.places, run.calls = status, None, {}, []
        run.ended = seconds(body["at"])

    # -- afterwards --------------------------------------------------------------------------------

    def prune(self, run: str) -> None:
        """Texts of a run were taken out."""
        known = self.runs[run]
        asked = [seconds(s.to) for s in self.sent if s.act == "prune"]
        right = known.status != "waiting" and known.ended < max(asked, default=0.0)
        _require(right, f"{run} is {known.status} and was pruned")
        last = known.moments[-1]._replace(since=len(self.entries), is_pruned=True)
        known.moments.append(last)

    def compare(self, entries: Iterable[dict[str, Any]]) -> None:
        """What was recorded is what is there; only texts of runs that are over may be gone, and
        the words of answers only where somebody wanted to keep no more than codes.
        """
        prunes = [(seconds(s.to), s.answers["keep"]) for s in self.sent if s.act == "prune"]
        for before, now in zip(self.entries, entries, strict=True):
            where, run = f"entry {before['n']} of {before['run']}", self.runs[before["run"]]
            same = all(before[name] == now[name] for name in ("run", "n", "body", "digest"))
            _require(same, f"{where} was changed")
            _require(now["matter"] in (before["matter"], None), f"the text of {where} was changed")
            said = before["body"]["entry"] in ("answered", "noted") and now != before
            wanted = [age for age, keep in prunes if keep == "codes" and age > run.ended]
            _require(wanted or not said, f"the words of {where} were pruned")


def _alike(one: Sent, other: Sent) -> bool:
    """Whether nobody could tell by the journal which of two was recorded."""
    return (
        (one.act, one.hand, one.run, one.to, one.answers, one.token)
        == (other.act, other.hand, other.run, other.to, other.answers, other.token)
    )  # fmt: skip


def _require(holds: object, otherwise: str) -> None:
    if not holds:
        raise Wrong(otherwise)


def seconds(at: str) -> float:
    """A moment of the journal as a number; 0 where there is none."""
    from datetime import datetime  # noqa: PLC0415 - for this alone

    return datetime.fromisoformat(at).timestamp() if at else 0.0


def read_entry(
    run: str, n: int, body: bytes, matter: bytes | None, digest: bytes
) -> dict[str, Any]:
    """An entry as the oracle is told of it."""
    told = json.loads(body)
    text = json.loads(matter) if matter else None
    return {
        "run": run, "n": n, "body": told, "matter": text, "digest": digest,
        "clock": seconds(told["at"]),
    }  # fmt: skip
