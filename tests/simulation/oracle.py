"""The oracle: holds a history against the model while it happens, or afterwards.

It is told what somebody sends (`send`), what is committed to the journal (`commit`), and what the
sender hears (`hear`), all as plain data, so that a history of real servers is judged like a
simulated one. Three things have to hold:

- nothing is recorded but what somebody sent, or what the run itself does next;
- what was acknowledged is recorded, once, and what was refused is not;
- whatever is heard or seen was so at one of the moments between asking and being told.

What must hold beyond a single run is in `rules.py`; each rule is told of every entry.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from simulation.model import (
    HOOK,
    HOST,
    IN_PERSON,
    Act,
    Hand,
    Json,
    State,
    Wrong,
    begin,
    codes_of,
    effect,
    hand_of,
    require,
    seconds,
    source_of,
    step,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

EXPIRY, PREFERENCE = ("policy", "expiry", ""), ("policy", "preference", "")
MENDING = ("policy", "mending", "")
BEGINNINGS = {
    "decide": "begin", "split": "begin", "walk": "begin", "gate": "gate", "question": "report",
    "prune": "prune", "track": "go", "phase": "go", "prefer": "prefer", "permit": "begin",
}  # fmt: skip
"""What leads to a run of each flow."""
OUTCOMES = {"declined": "decline", "dismissed": "dismiss", "idle": "dismiss", "error": "dismiss"}
HALF_A_YEAR = 180 * 86_400.0


class Oracle:
    """Judges a history. An entry is told as `run`, `n`, `body`, `matter` and `digest`."""

    def __init__(self, *rules: Callable[[Oracle, Json, State], None]) -> None:
        self.rules = rules
        self.entries: list[Json] = []
        self.states: dict[str, list[tuple[int, State]]] = {}
        """How each run stood, from which entry on."""
        self.sent: Counter[Act] = Counter()
        self.heard: Counter[Act] = Counter()
        self.recorded: defaultdict[Act, list[tuple[str, int]]] = defaultdict(list)
        """What came of each act: the run, and the number of the entry."""
        self.names: dict[str, str] = {}
        self.since: dict[Act, int] = {}
        self.cause: tuple[Act, int] = (Act("", ()), 0)
        """What is being committed, and how many entries there were when somebody sent it."""
        self.newest = [0.0]
        """What the clock said when each entry was recorded, and at first."""

    def now(self, run: str) -> State:
        """How a run stands."""
        return self.states[run][-1][1]

    def between(self, run: str, since: int) -> list[State]:
        """How a run stood from when there were so many entries until now."""
        known = self.states.get(run, [])
        ends = [later for _, (later, _) in pairwise(known)] + [len(self.entries) + 1]
        return [state for (_, state), end in zip(known, ends, strict=False) if end > since]

    # -- what is sent and what is recorded ---------------------------------------------------------

    def send(self, act: Act) -> int:
        """Somebody sends something, for the first time or again; `hear` wants what this gives."""
        self.sent[act] = self.sent.pop(act, 0) + 1  # the one that was sent last
        self.since.setdefault(act, len(self.entries))
        return len(self.entries)

    def commit(self, entries: Iterable[Json]) -> None:
        """One transaction: it leaves no run between an answer and what follows from it."""
        touched: dict[str, State] = {}
        for entry in entries:
            run, body, matter = entry["run"], entry["body"], entry["matter"] or {}
            self.entries.append(entry)
            if body["entry"] == "began":
                state = begin(run, body, matter)
                self._explain_beginning(state, hand_of(body), matter.get("arguments") or {})
            else:
                before = touched.get(run) or self.now(run)
                self._explain(before, body, matter)
                state = step(before, body, matter)
            touched[run] = state
            for rule in self.rules:
                rule(self, entry, state)
            self.newest.append(seconds(body["at"]))
        for run, state in touched.items():
            settled = state.key or state.status != "waiting"
            require(settled, f"{run} is left between an answer and what follows")
            self.states.setdefault(run, []).append((len(self.entries), state))

    def _explain_beginning(self, s: State, hand: Hand, given: Json) -> None:
        """Somebody begins a run; what has a name of its own begins once."""
        if s.name.startswith(("asked:", "hook", "approval")):
            require(s.name not in self.names, f"{s.name} has begun twice")
        self.names[s.name] = s.run
        if s.name.startswith("bound\n"):  # by setting a preference, or by an answer in person
            return require(hand[:2] in IN_PERSON, f"{hand} bound a preference")
        words, aim = s.name.split(), given.get("to") or given.get("preference")
        for act in self._open_acts():
            fits = act.token in words if act.token else aim is None or aim[:1] == act.to[:1]
            if act.kind == BEGINNINGS[s.flow] and act.hand == hand and fits:
                return self._record(act, s.run)
        raise Wrong(f"{hand} began {s.run}, and did not act")

    def _record(self, act: Act, run: str) -> None:
        self.recorded[act].append((run, len(self.entries)))
        self.cause = act, self.since[act]

    def _explain(self, s: State, body: Json, matter: Json) -> None:
        """Whatever is recorded as somebody's is the effect of an act of theirs."""
        kind, hand, did = body["entry"], hand_of(body), tuple[Any, ...]()
        if kind == "answered" and body.get("origin"):
            self._take_over(s, body, matter)
        elif kind == "answered" and hand != PREFERENCE:
            did = ("answered", body["key"], codes_of(body, matter))
        elif kind == "noted" and body["kind"] in OUTCOMES:
            did = ("noted", OUTCOMES[body["kind"]])
        elif kind == "noted" and body["kind"] == "undone":
            did = ("noted", "undone", body["key"])
        elif kind == "noted" and body["kind"] == "handed over":
            did = ("noted", "handed over")
        elif kind == "returned" and s.flow == "permit":
            did = ("returned", "use")
        elif kind == "ended" and hand == EXPIRY:
            late, clock = s.expires and seconds(body["at"]) >= s.expires, seconds(body["at"])
            require(late, f"{s.run} expired before its time")
            require(clock - self.newest[-1] < HALF_A_YEAR, f"{s.run} expired by a wrong clock")
        elif kind == "ended" and body["status"] == "withdrawn" and hand != MENDING:
            did = ("ended", "withdrawn")
        if not did:
            return None
        wanted, is_host = (s.run, hand, body.get("token", "")), hand in (HOST, HOOK)
        for act in self._open_acts():
            reports = act.kind == "report" and is_host and act.token in s.name.split()
            if (reports or (act.run, act.hand, act.token) == wanted) and effect(act, s) == did:
                return self._record(act, s.run)
        raise Wrong(f"{hand} did {did} to {s.run} ({body.get('token')}), and did not send that")

    def _open_acts(self) -> list[Act]:
        """What may still come to something: each act as often as it was sent, with a token once.

        Of those that nobody can tell apart, the one that was sent last is still under way.
        """
        return [
            act for act, times in reversed(self.sent.items())
            if act.kind == "report" or len(self.recorded[act]) < (1 if act.token else times)
        ]  # fmt: skip

    def _take_over(self, s: State, body: Json, matter: Json) -> None:
        """Only what counted in the other run is taken over, each answer with its own source."""
        right = s.origin == body["origin"] and not s.needs_person
        require(right, f"{s.run} took over too much")
        for question, code in codes_of(body, matter).items():
            place, whose = s.asked[body["key"]][question], source_of(body, question)
            known = [
                one for _, origin in self.states[s.origin] for q, one in origin.answers.items()
                if any(shown.get(q) == place for shown in origin.asked.values())
            ]  # fmt: skip
            require((code, whose) in known, f"{s.run} took over {question}={code} as {whose}")

    # -- what is heard -----------------------------------------------------------------------------

    def hear(self, act: Act, came: str, view: Any, clock: float, since: int) -> None:  # noqa: ANN401
        """Somebody hears what came of what they sent: it is done, refused and why, or unknown."""
        found, what = self.recorded[act], f"{act.hand[2]}'s {act.kind} of {act.to or act.run}"
        runs = [act.run] if act.run else dict.fromkeys(run for run, _ in found)
        states = [state for run in runs for state in self.between(run, since)]
        views, is_pruned = [s.view for s in states], any(s.is_pruned for s in states)
        if came == "pruned":
            require(is_pruned, f"{act.run} was never pruned")
        elif came == "ok" and act.kind in ("look", "collect"):
            cut = is_pruned and view[:3] in [one[:3] for one in views]
            require(view in views or cut, f"{act.hand} is shown {view}, and it was {views}")
            late = view[0] == "waiting" and states[0].expires and clock >= states[0].expires
            far = any(clock - at > HALF_A_YEAR for at in self.newest[since:])
            require(not late or far, f"{act.hand} is shown a question whose time is up")
            kept = (
                any(s.view[:2] == view[:2] and not s.undoable for s in states) or view[0] != "done"
            )
            require(act.kind == "look" or kept, f"{act.hand} has {view}, and it can be undone")
        elif came == "ok" and act.kind == "report":
            codes = {code for s in states for code, _ in s.answers.values()}
            require(codes >= {c for _, c in act.answers}, f"the report {act.token} is not recorded")
        elif came == "ok":
            self.heard[act] += 1
            kept = found and (act.token or self.heard[act] <= len(found))
            require(kept, f"{what} is acknowledged and not recorded")
            after = [self.after(run, n).view for run, n in found]
            if act.kind in ("begin", "gate"):  # whoever asks once more is told how it stands by now
                after += views
            right = view is None or view in after or is_pruned
            require(right, f"{act.hand} is told {view}, and not {after}")
        elif came != "unknown" and act.kind not in ("gate", "go"):  # a track may be busy
            self.sent[act] -= not act.token
            kept = found if act.token else len(found) > self.sent[act]
            require(not kept, f"{what} is refused ({came}) and recorded")
            late = act.kind in ("undo", "use") and any(s.expires for s in states)
            right = late or any(effect(act, s) == came for s in states)
            if came == "reused":
                right = any(
                    o.token == act.token and self.recorded[o] for o in self.sent if o != act
                )
            require(right, f"{what} is refused ({came}), and it was {views}")

    def after(self, run: str, n: int) -> State:
        """How a run stood after an entry, what was written with it, and what the house then did."""
        after = (s for at, s in self.states[run] if at >= n)
        return next(s for s in after if s.waits != "house" or s.flow == "permit")

    def judge_inbox(self, shown: Sequence[str], since: int) -> None:
        """The inbox is exactly what waits for a person."""
        for run in self.states:
            waits = [state.waits == "person" for state in self.between(run, since)]
            if run in shown:
                require(any(waits), f"the inbox shows {run}, which does not wait")
            elif self.states[run][0][0] <= since:
                require(not all(waits), f"the inbox does not show {run}")

    # -- what is pruned ----------------------------------------------------------------------------

    def prune(self, run: str) -> None:
        """Texts of a run were taken out: it was over, for as long as somebody asked for."""
        s, asked = self.now(run), [seconds(a.to) for a in self.sent if a.kind == "prune"]
        right = s.status != "waiting" and s.ended < max(asked, default=0.0)
        require(right, f"{run} is {s.status} and was pruned")
        self.states[run].append((len(self.entries), replace(s, is_pruned=True)))

    def compare(self, entries: Iterable[Json]) -> None:
        """What was recorded is what is there; only texts of runs that are over may be gone, and
        the words of answers only where somebody wanted to keep no more than codes.
        """
        ages = [seconds(a.to) for a in self.sent if a.answers == (("keep", "codes"),)]
        for before, now in zip(self.entries, entries, strict=True):
            where, ended = f"entry {before['n']} of {before['run']}", self.now(before["run"]).ended
            same = all(before[name] == now[name] for name in ("run", "n", "body", "digest"))
            require(same, f"{where} was changed")
            require(now["matter"] in (before["matter"], None), f"the text of {where} was changed")
            said = before["body"]["entry"] in ("answered", "noted") and now != before
            wanted = any(age > ended for age in ages)
            require(wanted or not said, f"the words of {where} were pruned")
