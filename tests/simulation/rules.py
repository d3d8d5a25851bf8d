"""What must hold beyond a single run; each of these is told of every entry by the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simulation.model import (
    AGAIN,
    IN_PERSON,
    Act,
    Json,
    State,
    codes_of,
    expect,
    hand_of,
    is_own,
    require,
)

if TYPE_CHECKING:
    from simulation.oracle import Oracle


class Agents:
    """A run is walked by one process, and each call is made at most once per attempt."""

    def __init__(self) -> None:
        self.walkers: dict[str, str] = {}
        """Who walks a run, while an agent of theirs is at work."""
        self.made: set[tuple[str, str]] = set()
        """The calls for which an agent was started."""
        self.cut_off: set[str] = set()
        """Processes whose lock was lost; they find out within seconds, and make no call twice."""

    def __call__(self, _: Oracle, entry: Json, state: State) -> None:
        body = entry["body"]
        if body["entry"] == "noted" and body["kind"] == "stopped":  # it ended its programs first
            self.made -= {(state.run, call) for call in state.calls}

    def start(self, process: str, state: State, key: str) -> None:
        """An agent is started for a call of a run that stands like this."""
        run = state.run
        if process not in self.cut_off:
            walker = self.walkers.setdefault(run, process)
            require(walker == process, f"{run} is walked by {process} and by {walker}")
        waits = key in state.calls or state.status != "waiting"  # who ended it came between
        require(waits, f"an agent is asked {key}, which waits for none")
        require((run, key) not in self.made, f"{key} is called again")
        self.made.add((run, key))

    def lose_lock(self, process: str) -> None:
        """The connection broke that held the lock of a run."""
        self.cut_off.add(process)
        self.stop(process)

    def stop(self, process: str) -> None:
        """The process has ended what it had started, or has ended itself."""
        self.walkers = {run: who for run, who in self.walkers.items() if who != process}


class Tracks:
    """A track moves when a person or a command that may says so, from where it stands, and once.

    The phases are 0, 1, 2 and 3. A gate asks about the phase at which the track stands, and what is
    chosen there is used up by any later move. Only a person lets phase 1 pass.
    """

    def __init__(self) -> None:
        self.moves: list[str] = []
        self.movers: list[str] = []
        self.last = 0
        """The entry with which it moved last."""
        self.began: dict[str, int] = {}
        self.wanted: dict[str, str] = {}
        """Where a command is to lead."""

    def __call__(self, oracle: Oracle, entry: Json, state: State) -> None:
        body, run = entry["body"], state.run
        if body["entry"] == "began" and state.flow in ("gate", "phase"):
            self.began[run] = len(oracle.entries)
            self.wanted[run] = str(entry["matter"]["arguments"].get("to", ""))[:1]
        elif body["entry"] == "noted" and body["kind"] in ("moved", "finished"):
            self._move(oracle, body["key"].split()[0], body["item"])
            self.last = len(oracle.entries)
        elif body["entry"] == "ended" and body["status"] == "done" and run in self.began:
            require(run in self.movers, f"{run} is done, and did not move its track")
        elif body["entry"] == "ended":
            require(run not in self.movers, f"{run} moved its track, and is {body['status']}")

    def _move(self, oracle: Oracle, run: str, label: str) -> None:
        here, state = self.moves[-1] if self.moves else "", oracle.now(run)
        require(run not in self.movers, f"{run} moves its track twice")
        require(self.began[run] > self.last, f"{run} was begun before the track moved last")
        right, in_person = [self.wanted[run]], False
        if state.flow == "gate":
            paths = expect(state)
            require(isinstance(paths, dict) and here in paths, f"{run} chose nothing at {here}")
            place, ways = int(here), {"PRC": 1, "BAK": -1, "OTH/RST": 0, "OTH/SKP": 2}
            right = [str(min(place + ways[path], 3)) for path in dict(paths).values()]
            *_, (_, hand) = state.answers.values()
            in_person = hand[:2] in IN_PERSON
        require(label in right, f"{run} moves its track from {here} to {label}, not {right}")
        passes = here in ("0", "1") and label > "1"
        require(in_person or not passes, f"{run} let phase 1 pass, and no person did")
        self.moves.append(label)
        self.movers.append(run)


class Permits:
    """A permit is used at most once, and only while a person's own word allows it."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def __call__(self, _: Oracle, entry: Json, state: State) -> None:
        if state.flow == "permit" and entry["body"]["entry"] == "returned":
            require(state.run not in self.used, f"{state.run} is used twice")
            self.used.add(state.run)
            said = [(code, is_own(hand)) for code, hand in state.answers.values()]
            require(said[-1:] == [("ONE", True)], f"{state.run} is used, and nobody allowed it")


class Form(NamedTuple):
    """A question as a person sees it, and what is recommended there."""

    id: str
    text: str
    recommended: str


class Preferences:
    """A preference decides only what a person silenced, and only as they have seen it themselves.

    It takes what is recommended. Who took something else since is asked.
    """

    def __init__(self) -> None:
        self.kept: dict[str, list[tuple[int, str]]] = {}
        """What was preferred for a question, from which entry on."""
        self.forms: dict[tuple[str, str], Form] = {}
        self.taken: dict[Form, list[tuple[Act, int, int, bool]]] = {}
        """What a person answered with their own hand, when it was sent and when recorded; and
        whether it was as recommended, or somebody who took that had not heard yet."""

    def __call__(self, oracle: Oracle, entry: Json, state: State) -> None:
        body, matter, n = entry["body"], entry["matter"] or {}, len(oracle.entries)
        if state.name.startswith("prefer\n"):
            said = matter.get("arguments")
            if said:
                self.kept.setdefault(said["id"], []).append((n, said["preference"]))
        elif body["entry"] == "asked":
            for q in matter["ask"]["questions"]:
                advised = "".join(c["code"] for c in q["choices"] if c.get("recommended"))
                self.forms[state.run, q["key"]] = Form(q.get("id", ""), q["text"], advised)
        elif body["entry"] == "answered" and not body.get("origin"):
            for question, code in codes_of(body, matter).items():
                form = self.forms[state.run, question]
                if is_own(hand_of(body)) and code not in AGAIN:
                    taken = self.taken.setdefault(form, [])
                    at_once = any(agreed and not oracle.heard[a] for a, _, _, agreed in taken)
                    taken.append((*oracle.cause, n, at_once or code == form.recommended))
                elif body["through"] == "preference":
                    self._judge(form, code, oracle.cause[1], state)

    def _judge(self, form: Form, code: str, since: int, state: State) -> None:
        what = f"{state.run} decided {form.text!r} by preference"
        require(code == form.recommended != "", f"{what}, and nobody recommends {code}")
        taken, kept = self.taken.get(form, []), self.kept.get(form.id, [])
        require(taken, f"{what}, which no person has seen")
        newest = [n for n, _ in kept if n <= since][-1:]
        silencing = [n for n, value in kept if n >= sum(newest) and value == "never-ask"]
        require(silencing, f"{what}, and it was never silenced")
        later = [agreed for _, sent, n, agreed in taken if silencing[-1] <= sent and n <= since]
        require(not later or later[-1], f"{what}, and the person took something else")
