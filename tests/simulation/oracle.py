"""The oracle: holds a history against the model while it happens, or afterwards.

It is told what somebody sends (`send`), what is committed to the journal (`commit`) and what the
sender hears (`hear`), all as plain data, so that a history of real servers is judged like any
other. At the end are the rules beyond a single run; a later capability adds its own to `RULES`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simulation.events import (
    AGAIN,
    EXPIRY,
    HOOK,
    HOST,
    PREFERENCE,
    TURNED,
    Act,
    Event,
    State,
    is_own,
    read,
    require,
    seconds,
)
from simulation.model import effect, expect, step, undoable, view
from simulation.record import Line, Record

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from simulation.events import Json

A_DAY, HALF_A_YEAR = 86_400.0, 180 * 86_400.0


class Oracle(Record):
    """Judges a history. An entry is told as `run`, `n`, `body`, `matter` and `digest`."""

    def commit(self, entries: Iterable[Json]) -> None:
        """One transaction: it leaves no run between an answer and what follows from it."""
        touched: dict[str, State] = {}
        for entry in entries:
            self.entries.append(entry)
            e = read(entry)
            begun = State(e.run, e.what, e, e.items, e.needs_person) if e.kind == "began" else None
            before = begun or touched.get(e.run) or self.now(e.run)
            act = self.explain(e, before)
            touched[e.run] = begun or step(before, e)
            self.lines.append(Line(e, touched[e.run], act))
            for rule in RULES:
                rule(self, *self.lines[-1])
            self.clocks.append(e.at)
        for run, state in touched.items():
            settled = state.key or state.status != "waiting"
            require(settled, f"{run} is left between an answer and what follows")
            self.states.setdefault(run, []).append((len(self.entries), state))

    def explain(self, e: Event, s: State) -> Act | None:
        """Nothing is recorded as somebody's but the effect of what they sent, each act once."""
        did = e.did or (("returned", "use") if (e.kind, s.flow) == ("returned", "permit") else ())
        for act in self.under_way() if did else ():
            fits = (act.run or s.run, act.hand, act.token) == (s.run, e.hand, e.token)
            if act.kind == "report":  # by the host's own name for the question
                fits = e.hand in (HOST, HOOK) and act.token in s.began.name.split()
            if fits and effect(act, s) == did:
                self.recorded[act].append((s.run, len(self.entries)))
                return act
        require(not did, f"{e.hand} did {did} to {s.run} ({e.token}), and did not send that")
        return None

    def hear(self, act: Act, came: str, shown: Any, clock: float, since: int) -> None:  # noqa: ANN401
        """What was acknowledged is recorded, once, and what was refused is not; what is shown, or
        refused with a reason, was so at a moment between asking and being told.
        """
        found, what = self.recorded[act], f"{act.hand[2]}'s {act.kind} of {act.to or act.run}"
        runs = [act.run] if act.run else dict.fromkeys(run for run, _ in found)
        states = [state for run in runs for state in self.between(run, since)]
        views, is_pruned = [view(s) for s in states], any(s.is_pruned for s in states)
        may_expire = any(s.began.expires for s in states)
        if came == "pruned":
            require(is_pruned, f"{act.run} was never pruned")
        elif came == "ok" and act.kind in ("look", "collect"):
            cut = is_pruned and shown[:3] in [one[:3] for one in views]
            require(shown in views or cut, f"{act.hand} is shown {shown}, and it was {views}")
            late = may_expire and shown[0] == "waiting" and clock >= states[0].began.expires
            far = any(clock - at > HALF_A_YEAR for at in self.clocks[since:])
            require(not late or far, f"{act.hand} is shown a question whose time is up")
            kept = any(view(s)[:2] == shown[:2] and not undoable(s) for s in states)
            has_it = act.kind == "collect" and shown[0] == "done" and not is_pruned
            require(kept or not has_it, f"{act.hand} has {shown}, and it can be undone")
        elif came == "ok" and act.kind == "report":
            codes = {code for s in states for _, code, _ in s.answers}
            require(codes >= {c for _, c in act.answers}, f"the report {act.token} is not recorded")
        elif came == "ok":
            times = self.acknowledge(act)
            kept = len(found) >= (1 if act.token else times)
            require(kept, f"{what} is acknowledged and not recorded")
            after = [view(self.after(run, n)) for run, n in found]
            after += views if act.kind == "begin" else []  # who asks once more is told the newest
            right = shown is None or shown in after or is_pruned
            require(right, f"{act.hand} is told {shown}, and not {after}")
        elif came != "unknown" and act.kind != "go" and act.to != "gate":  # a track may be busy
            self.sent[act] -= not act.token
            kept = len(found) > (0 if act.token else self.sent[act])
            told = act.kind == "report" and may_expire  # its name is that of the question
            require(told or not kept, f"{what} is refused ({came}) and recorded")
            late = may_expire and act.kind in ("undo", "use", "report")
            right = late or any(effect(act, s) == came for s in states)
            require(right, f"{what} is refused ({came}), and it was {views}")

    # -- what is asked of the whole store, and done in the world -----------------------------------

    def judge_inbox(self, shown: Collection[str], since: int, *clocks: float) -> None:
        """The inbox is exactly what waits for a person; by the clock, without what is snoozed."""
        for run, known in self.states.items():
            states = self.between(run, since)
            waits = [s for s in states if s.waits == "person"]
            if run in shown:
                awake = [s for s in waits if not clocks or s.until <= clocks[-1]]
                require(awake, f"the inbox shows {run}, which does not wait")
            elif known[0][0] <= since and waits == states:
                asleep = [s for s in waits if clocks and s.until > clocks[0]]
                require(asleep, f"the inbox does not show {run}")

    def prune(self, run: str) -> None:
        """Texts of a run were taken out: it was over, for as long as somebody asked for."""
        s, asked = self.now(run), [seconds(a.to) for a in self.sent if a.kind == "prune"]
        right = s.status != "waiting" and s.ended < max(asked, default=0.0)
        require(right, f"{run} is {s.status} and was pruned")
        self.states[run].append((len(self.entries), replace(s, is_pruned=True)))

    def judge_attachments(self, kept: Collection[str], *, at_last: bool = False) -> None:
        """They are there while a run has its texts, and gone at last when none of theirs has."""
        runs = [self.now(run) for run in self.states]
        needed = {one for s in runs if not s.is_pruned for one in s.began.attached}
        left = {one for s in runs for one in s.began.attached if one in kept} - needed
        require(needed <= {*kept}, f"the attachments {needed - {*kept}} are gone")
        require(not (at_last and left), f"the attachments {left} are left")

    def compare(self, entries: Iterable[Json]) -> None:
        """What was recorded is what is there; only texts of runs that are over may be gone, and
        the words of answers only where somebody wanted to keep no more than codes.
        """
        codes = [seconds(a.to) for a in self.sent if a.answers == (("keep", "codes"),)]
        for before, now in zip(self.entries, entries, strict=True):
            where, is_answer = (
                f"entry {before['n']} of {before['run']}",
                "answers" in before["body"],
            )
            require(now in (before, before | {"matter": None}), f"{where} was changed")
            wanted = max([0.0, *codes]) > self.now(before["run"]).ended
            require(wanted or not is_answer or now == before, f"the words of {where} were pruned")

    def start_agent(self, process: str, run: str, key: str) -> None:
        """A run is walked by one process, and each call is made once, unless it was stopped first.
        Who lost the lock finds out within seconds, and makes no call twice either.
        """
        s, others = self.now(run), {who for who, at in self.at_work.items() if at == run}
        alone = others - self.cut_off <= {process} or process in self.cut_off
        require(alone, f"{run} is walked by {process} and by {others}")
        waits = key in s.calls or s.status != "waiting"  # who ended it came between
        require(waits and (run, key) not in self.made, f"{key} is called again, or unasked")
        self.at_work[process] = run
        self.made.add((run, key))

    def deliver(self, run: str, n: int, word: str) -> None:
        """A letter tells what was recorded, and comes behind all earlier ones of its run."""
        require(self.owed.get((run, n), ("",))[0] == word, f"{run}/{n} was delivered as {word}")
        left = [m for r, m in self.owed.keys() - self.told if r == run and m < n]
        require(not left, f"{run}/{n} overtakes {left}")
        self.told.add((run, n))

    def judge_outbox(self, rows: dict[tuple[str, int], bool], clock: float) -> None:
        """What is owed is there with the entry it tells of, until it is delivered. It is given up
        after a day, or where it was pruned what there is to tell.
        """
        kept = rows.keys() <= self.owed.keys() <= rows.keys() | self.told
        require(kept, f"{sorted(self.owed)} is owed, and {sorted(rows)} is kept")
        for letter in sorted(one for one, is_over in rows.items() if is_over):
            late = clock - self.owed[letter][1] > A_DAY or self.now(letter[0]).is_pruned
            require(late or letter in self.told, f"{letter} is given up")
            self.told.add(letter)


# -- what must hold after each entry --------------------------------------------------------------


def expire(o: Oracle, e: Event, s: State, _: Act | None) -> None:
    """Silence never answers. It ends what has a time when that is up, by a clock that is right."""
    if e.hand == EXPIRY:
        require(0 < s.began.expires <= e.at, f"{s.run} expired before its time")
        require(e.at - o.clocks[-1] < HALF_A_YEAR, f"{s.run} expired by a wrong clock")


def stop(o: Oracle, e: Event, s: State, _: Act | None) -> None:
    """Whoever notes that it was stopped has ended its programs: their calls are made once more."""
    o.made -= {(s.run, call) for call in s.calls} if e.what == "stopped" else set()


def tell(o: Oracle, e: Event, s: State, _: Act | None) -> None:
    """Who asked for that is told of answers, and of what takes one back or ends without one."""
    word = "amended" if e.amends else ""
    if e.kind == "answered" and {*e.codes.values()} - {*AGAIN, *TURNED}:
        word = word or "answered"
    elif e.what == "undone" or (e.kind == "ended" and e.what != "done"):
        word = "expired" if e.hand == EXPIRY else e.what
    o.owed |= {(s.run, e.n): (word, e.at)} if word and s.began.calls_back else {}


def take_over(o: Oracle, e: Event, s: State, act: Act | None) -> None:
    """Only what counted in the other run is taken over, each answer with its own source, and never
    for a person. What is reused was all answered in person, to what was asked there last.
    """
    if e.kind == "answered" and e.origin:
        known = [one for state in o.between(e.origin, 0) for one in state.answers]
        wrong = [a for q, a in e.answers.items() if (s.asked[e.key][q], *a) not in known]
        same = o.now(e.origin).began.attached == s.began.attached and not s.needs_person
        require(same and not wrong, f"{s.run} took over {wrong or 'too much'}")
    if e.kind == "began" and e.origin and act and ("from", e.origin) not in act.answers:
        later = [o.now(r).began for r in o.states if r > e.origin]
        before = [b for b in later if o.states[b.run][0][0] <= o.since[act]]
        is_last = not any(b.about == e.about and not b.origin for b in before)
        origins = o.between(e.origin, o.since[act])
        done = [r for r in origins if r.status == "done" and r.began.about == e.about]
        own = any(all(is_own(hand) for _, _, hand in state.answers) for state in done)
        require(("reuse", "") in act.answers and is_last and own, f"{s.run} reuses {e.origin}")


def prefer(o: Oracle, e: Event, s: State, _: Act | None) -> None:
    """A preference decides only what a person silenced, and only as they have seen it themselves.
    It takes what is recommended. Who took something else since is asked.
    """
    require(is_own(e.hand) or not e.name.startswith("bound"), f"{e.hand} bound a preference")
    since = next((o.since[line.act] for line in reversed(o.lines) if line.act), 0)
    for question, code in e.codes.items() if e.hand == PREFERENCE else ():
        form, what = s.forms[question], f"{s.run} decided {question} by preference"
        require(code == form.recommended != "", f"{what}, and nobody recommends {code}")
        taken, kept = o.answers_to(form), o.preferences(form.id)
        require(taken, f"{what}, which no person has seen")
        newest = [n for n, _ in kept if n <= since][-1:]
        silencing = [n for n, value in kept if n >= sum(newest) and value == "never-ask"]
        require(silencing, f"{what}, and it was never silenced")
        later = [(n, agrees) for sent, n, agrees in taken if silencing[-1] <= sent and n <= since]
        refused = later[-1][0] if later and not later[-1][1] else 0
        own = [(sent, n) for sent, n, agrees in taken if agrees]
        again = any(n > since or sent < silencing[-1] < refused < n for sent, n in own)
        require(not refused or again, f"{what}, and the person took something else")


def move_track(o: Oracle, e: Event, s: State, _: Act | None) -> None:
    """A track moves when a person or a command that may says so, from where it stands, and once.
    The phases are 0, 1, 2 and 3. A gate asks about the phase at which the track stands, and what is
    chosen there is used up by any later move. Only a person lets phase 1 pass.
    """
    moves, ways = o.moves(), {"PRC": 1, "BAK": -1, "OTH/RST": 0, "OTH/SKP": 2}
    if e.kind == "ended" and s.flow in ("gate", "phase"):
        moved = s.run in [move.key.split()[0] for _, move in moves]
        require(moved == (e.what == "done"), f"{s.run} is {e.what}, and its track says otherwise")
    if not moves or moves[-1][1] is not e:
        return
    (last, here), run = [(0, ""), *((n, move.item) for n, move in moves)][-2], e.key.split()[0]
    require(o.states[run][0][0] > last, f"{run} moves a track that has moved since it began")
    mover, right, own = o.now(run), [o.now(run).began.aim], False
    if mover.flow == "gate":
        paths, hands = expect(mover), [hand for _, _, hand in mover.answers]
        require(isinstance(paths, dict) and here in paths, f"{run} chose nothing at {here}")
        right = [str(min(int(here) + ways[way], 3)) for way in dict(paths).values()]
        own = is_own(hands[-1])
    require(e.item in right, f"{run} moves its track from {here} to {e.item}, not {right}")
    passes = here in ("0", "1") and e.item > "1"
    require(own or not passes, f"{run} let phase 1 pass, and no person did")


RULES = (expire, stop, tell, take_over, prefer, move_track)
