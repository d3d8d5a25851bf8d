"""The model: what is asked, how a run stands, and what should come of each act.

It is written apart from the program and knows only what is promised. Everything in it is plain data
and pure: `review` says what is asked next, `step` how a run stands after one more entry of its
journal, and `effect` what an act comes to while a run stands like that: what is recorded, or why it
is refused. A later capability adds its entry to `step` and its act to `effect`.

The trees that are asked are all alike: every item can be kept (OK), dropped (NO), or something else
(OTH, left blank), behind which are REM and SPL. Whoever asks back (?) or is advised (!) is asked
again. At a gate, the item is the phase.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

Json = dict[str, Any]
Hand = tuple[str, ...]
"""Who, through what, under which name."""
Place = tuple[str, str]
"""An item, and the menu that it is asked about: "" or "OTH"."""
IN_PERSON = (("person", "terminal"), ("person", "web"))
HOST, HOOK = ("host", "hook", ""), ("agent", "hook", "")
ASKED_BACK, ADVISED = AGAIN = ("?", "!")
"""What is no answer, so that the question comes again."""
REVIEWS = ("decide", "gate")
"""The flows that ask as `review` does."""


class Wrong(Exception):  # noqa: N818 - said of the program
    """What the program did is not what it promises."""


def require(holds: object, otherwise: str) -> None:
    """Whatever must hold."""
    if not holds:
        raise Wrong(otherwise)


class Act(NamedTuple):
    """What somebody sends. Sent again it is the same act; with a token it is recorded once."""

    kind: str
    hand: Hand
    run: str = ""
    to: str = ""
    answers: tuple[tuple[str, str], ...] = ()
    token: str = ""
    seen: tuple[str, str] = ("", "")
    """With an amendment: a question, and the code that its sender saw there."""


@dataclass(frozen=True)
class State:
    """How a run stands."""

    run: str
    flow: str
    name: str
    items: tuple[str, ...]
    size: int
    needs_person: bool
    expires: float
    origin: str
    status: str = "waiting"
    waits: str = ""
    key: str | None = None
    calls: tuple[str, ...] = ()
    asked: dict[str, dict[str, Place]] = field(default_factory=dict)
    """Every Ask there was, with the places that its questions are about."""
    given: dict[str, dict[str, tuple[str, Hand]]] = field(default_factory=dict)
    """The Asks that were answered and count, in order, each with its answers and their sources."""
    open: frozenset[str] = frozenset()
    """The Asks whose answers may be undone: a person's own, from which nothing followed."""
    ended: float = 0.0
    is_pruned: bool = False

    @property
    def answers(self) -> dict[str, tuple[str, Hand]]:
        """What counts, by question."""
        return {q: one for answers in self.given.values() for q, one in answers.items()}

    @property
    def undoable(self) -> str:
        """The Ask whose answer can be undone: the last one that no preference gave, if open."""
        told = ((key, {hand[0] for _, hand in said.values()}) for key, said in self.given.items())
        last = next(reversed([key for key, whos in told if whos != {"policy"}]), "")
        return last if last in self.open and self.status in ("waiting", "done") else ""

    @property
    def view(self) -> tuple[Any, ...]:
        """What whoever looks is shown: status, the key and the places asked about, the result."""
        key = self.key if self.waits == "person" else None
        places = tuple(self.asked[key].values()) if key and self.flow in REVIEWS else ()
        return self.status, key, places, result_of(self) if self.status == "done" else ()


# -- what is asked, and what comes of it ---------------------------------------------------------


def review(
    items: Sequence[str], size: int
) -> Generator[list[Place], dict[str, str], dict[str, str]]:
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


def expect(s: State) -> list[Place] | dict[str, str]:
    """What has to be asked next, or the path of each item."""
    asking = review(s.items, s.size)
    try:
        places = next(asking)
        for key, answers in s.given.items():
            items = {s.asked[key][q][0]: code for q, (code, _) in answers.items()}
            places = asking.send(items)
    except StopIteration as end:
        return dict(end.value)
    return places


def result_of(s: State) -> tuple[tuple[str, ...], ...]:
    """Of each item its path, and whose answers led there: who, and through what."""
    paths = expect(s) if s.flow == "decide" else {}
    if isinstance(paths, list):
        raise Wrong(f"{s.run} ends while {paths} is open")
    told = []
    for item in s.items if paths else ():
        hands = dict.fromkeys(
            hand[:2]
            for key, answers in s.given.items()
            for q, (code, hand) in answers.items()
            if s.asked[key][q][0] == item and code not in AGAIN
        )
        told.append((item, paths[item], *(", ".join(words) for words in zip(*hands, strict=True))))
    return tuple(told)


# -- how a run stands after one more entry -------------------------------------------------------


def begin(run: str, body: Json, matter: Json) -> State:
    """A run that has just begun."""
    began, name = matter.get("arguments") or {}, body.get("name", "")
    items = () if body["flow"] == "gate" else (i["id"] for i in began.get("items") or [{"id": "1"}])
    size = (began.get("limits") or {}).get("questions", 4)
    needs_person = bool(began.get("require") or began.get("ask", {}).get("require"))
    until, origin = seconds(body.get("expires", "")), body.get("origin", "")
    return State(run, body["flow"], name, tuple(items), size, needs_person, until, origin)


def step(s: State, body: Json, matter: Json) -> State:
    """How a run stands after one more entry; what the run itself does has to be right."""
    kind, key = body["entry"], body.get("key", "")
    if kind in ("asked", "called", "ended"):
        require(s.status == "waiting", f"{s.run} is {s.status}, then {kind}")
    if kind == "asked":
        require(key not in s.asked, f"{key} is asked twice")
        places = {
            q["key"]: (q.get("item", ""), "OTH" if {"REM", "RST"} & {*codes} else "")
            for q, codes in zip(matter["ask"]["questions"], body["offered"].values(), strict=True)
        }
        items = s.items or tuple(item for item, _ in places.values())
        guarded = s.flow == "permit" or (s.flow == "gate" and items == ("1",))
        needs = s.needs_person or guarded
        asked = s.asked | {key: places}
        s = replace(s, key=key, waits="person", items=items, needs_person=needs, asked=asked)
        wanted = expect(s) if s.flow in REVIEWS else [*places.values()]
        require([*places.values()] == wanted, f"{s.run} asks {places} and not {wanted}")
    elif kind == "answered":
        said = {q: (code, source_of(body, q)) for q, code in codes_of(body, matter).items()}
        counting = list(s.given)
        if body.get("amends"):  # who repeats an answer has not given it: it stays whose it was
            counting, before = counting[: counting.index(key)], s.given[key]
            said = before | {q: one for q, one in said.items() if before.get(q, "-")[0] != one[0]}
        given = {one: s.given[one] for one in counting} | {key: said}
        hands = {hand_of(body), *(source_of(body, q) for q in said)}
        own = not (body.get("amends") or body.get("origin")) and all(map(is_own, hands))
        undoable = s.open | {key} if own else s.open - {key}
        s = replace(s, status="waiting", key=None, waits="", given=given, open=undoable)
    elif kind == "called":
        waits = "house" if body.get("deed") else "agent"
        undoable = s.open if body.get("deed") == "use" else frozenset[str]()
        s = replace(s, key=s.key or key, waits=waits, calls=(*s.calls, key), open=undoable)
    elif kind == "returned":
        require(key in s.calls, f"{key} came back, and was not waited for")
        left = tuple(call for call in s.calls if call != key)
        s = replace(s, key=left[0] if left else None, calls=left, open=frozenset())
    elif kind == "noted" and body.get("amendment"):
        counting = [one for one in s.given if one not in body.get("takes_back", ())]
        if body["kind"] == "undone":
            counting = list(s.given)[: list(s.given).index(key)]
        given = {one: s.given[one] for one in counting}
        s = replace(s, status="waiting", key=None, waits="", calls=(), given=given)
    elif kind == "noted" and body["kind"] == "handed over":
        s = replace(s, open=frozenset())
    elif kind == "ended":
        require(body["status"] != "done" or s.key is None, f"{s.run} is done while {s.key} waits")
        over = {"status": body["status"], "key": None, "waits": "", "calls": ()}
        s = replace(s, **over, ended=seconds(body["at"]))
        if s.status == "done" and s.flow == "decide":
            chosen = (matter.get("result") or {}).get("chosenItems", ())
            told = tuple((c["itemId"], c["path"], c["by"], c["through"]) for c in chosen)
            require(told == result_of(s), f"{s.run} comes to {told}, not {result_of(s)}")
    return s


# -- what an act comes to ------------------------------------------------------------------------


def effect(act: Act, s: State) -> tuple[Any, ...] | str:
    """What is recorded when an act comes upon a run that stands like this, or why it is refused."""
    if act.kind in ("reply", "advise", "decline", "dismiss") and s.key != act.to:
        return "already"
    if act.kind in ("decline", "dismiss"):
        return "noted", act.kind
    if act.kind in ("reply", "advise"):
        may = act.kind == "advise" or may_answer(act, s)
        return ("answered", s.key, dict(act.answers)) if may else "person"
    moves = s.waits == "house" and s.flow in ("gate", "phase")  # which is not stopped half-way
    may_undo = s.undoable and act.to in ("", s.undoable)
    recorded = {
        "withdraw": ("ended", "withdrawn") if s.status == "waiting" and not moves else "refused",
        "use": ("returned", "use") if s.flow == "permit" and s.calls else "refused",
        "collect": ("noted", "handed over") if s.status == "done" else "refused",
        "undo": ("noted", "undone", s.undoable) if may_undo else "refused",
    }
    return change(act, s) if act.kind in ("amend", "report") else recorded.get(act.kind, "refused")


def change(act: Act, s: State) -> tuple[Any, ...] | str:
    """The same of what changes an answer. What a host reports was answered elsewhere: it counts
    whether the question waits, was answered here, or is over.
    """
    answers, is_report = dict(act.answers), act.kind == "report"
    key = next((one for one, places in s.asked.items() if act.to in places), "")
    if is_report:  # of the one question, under whichever key it was shown last
        *_, key = s.asked
        answers = dict.fromkeys(s.asked[key], act.answers[0][1])
    known = s.given.get(key, {})
    if is_report and not known:
        return "answered", key, answers
    is_over = s.status in ("declined", "withdrawn") and not is_report
    is_seen = not act.seen[0] or known.get(act.seen[0], "-")[0] == act.seen[1]
    if is_over or not known or not is_seen or answers.keys() - s.asked[key].keys():
        return "refused"
    new = {q: code for q, code in answers.items() if known.get(q, "-")[0] != code}
    return ("answered", key, new or answers) if is_report or may_answer(act, s) else "person"


def may_answer(act: Act, s: State) -> bool:
    """What requires a person is answered with a person's own hand."""
    return not s.needs_person or is_own(act.hand)


def is_own(hand: Hand) -> bool:
    """Whether it is a person's own hand, not something that was passed on or scripted."""
    return hand[:2] in IN_PERSON


# -- entries as they are written -----------------------------------------------------------------


def hand_of(body: Json) -> Hand:
    """Whose an entry is."""
    return body["who"], body["through"], body.get("by", "")


def source_of(body: Json, question: str) -> Hand:
    """Whose an answer is."""
    return tuple((body.get("sources") or {}).get(question, hand_of(body)))


def codes_of(body: Json, matter: Json) -> dict[str, str]:
    """The answers of an entry, by question."""
    advised = {a["key"] for a in matter.get("answers", ()) if a.get("advice")}
    back = {a["key"] for a in body["answers"] if a.get("prefix") == "question"}
    said = {a["key"]: "".join(a.get("picked", ())) for a in body["answers"]}
    return said | dict.fromkeys(advised, ADVISED) | dict.fromkeys(back, ASKED_BACK)


def seconds(at: str) -> float:
    """A moment of the journal as a number; 0 where there is none."""
    return datetime.fromisoformat(at).timestamp() if at else 0.0
