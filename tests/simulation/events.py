"""What somebody sends, and what a journal then says, in the words of the oracle.

Nothing here judges. `read` makes an `Event` of an entry as it is kept, so that the oracle need not
know how entries are written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

Json = dict[str, Any]
Hand = tuple[str, ...]
"""Who, through what, under which name."""
Place = tuple[str, str]
"""An item, and the menu that it is asked about: "" or "OTH"."""
HOST, HOOK = ("host", "hook", ""), ("agent", "hook", "")
EXPIRY, PREFERENCE, MENDING = (("policy", by, "") for by in ("expiry", "preference", "mending"))
ASKED_BACK, ADVISED = AGAIN = ("?", "!")
"""What is no answer, so that the question comes again."""
TURNED = ("…", "<")
"""Neither is a page that is turned."""
NOTES = {
    "declined": "decline", "dismissed": "dismiss", "idle": "dismiss", "error": "dismiss",
    "snoozed": "snooze", "undone": "undo", "handed over": "collect",
}  # fmt: skip
"""The notes that somebody makes, and by what."""


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


class Form(NamedTuple):
    """A question as a person sees it, and what is recommended there."""

    id: str
    text: str
    recommended: str


@dataclass(frozen=True)
class Event:
    """An entry of the journal."""

    run: str
    n: int
    kind: str
    at: float
    hand: Hand
    key: str = ""
    what: str = ""
    """Of a beginning the flow, of an end the status, of a note its kind, of a call its deed."""
    token: str = ""
    did: tuple[Any, ...] = ()
    """What somebody did by it; nothing where the run itself goes on."""
    # -- of a beginning
    name: str = ""
    items: tuple[str, ...] = ()
    size: int = 0
    needs_person: bool = False
    expires: float = 0.0
    origin: str = ""
    """The run whose answers are taken over; of an answer, the run that it comes from."""
    aim: str = ""
    """Where a track is to move to, or what is preferred."""
    about: str = ""
    """The question that a preference is for; of a decision, all that is asked there."""
    attached: frozenset[str] = frozenset()
    calls_back: bool = False
    # -- of what is asked and answered
    places: dict[str, Place] = field(default_factory=dict)
    forms: dict[str, Form] = field(default_factory=dict)
    answers: dict[str, tuple[str, Hand]] = field(default_factory=dict)
    """Each answer and whose it is."""
    codes: dict[str, str] = field(default_factory=dict)
    amends: bool = False
    # -- of notes and ends
    item: str = ""
    until: float = 0.0
    takes_back: tuple[str, ...] | None = None
    result: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class State:
    """How a run stands."""

    run: str
    flow: str
    began: Event
    items: tuple[str, ...]
    needs_person: bool
    status: str = "waiting"
    waits: str = ""
    key: str | None = None
    calls: tuple[str, ...] = ()
    asked: dict[str, dict[str, Place]] = field(default_factory=dict)
    """Every Ask there was, with the places that its questions are about."""
    given: dict[str, dict[str, tuple[str, Hand]]] = field(default_factory=dict)
    """The Asks that were answered and count, in order, each with its answers and whose they are."""
    open: frozenset[str] = frozenset()
    """The Asks whose answers may be undone: a person's own, from which nothing followed."""
    forms: dict[str, Form] = field(default_factory=dict)
    """The questions that were asked, as they were shown."""
    until: float = 0.0
    """Until when what waits is snoozed."""
    ended: float = 0.0
    is_pruned: bool = False

    @property
    def answers(self) -> list[tuple[Place, str, Hand]]:
        """What counts, in order: where it was asked, the code, and whose it is."""
        return [(self.asked[key][q], *one) for key, a in self.given.items() for q, one in a.items()]


class Wrong(Exception):  # noqa: N818 - said of the program
    """What the program did is not what it promises."""


def require(holds: object, otherwise: str) -> None:
    """Whatever must hold."""
    if not holds:
        raise Wrong(otherwise)


def is_own(hand: Hand) -> bool:
    """Whether it is a person's own hand, not something that was passed on or scripted."""
    return hand[:2] in (("person", "terminal"), ("person", "web"))


def read(entry: Json) -> Event:
    """An entry, told as `run`, `n`, `body`, `matter` and `digest`."""
    body, matter = entry["body"], entry["matter"] or {}
    kind, hand = body["entry"], (body["who"], body["through"], body.get("by", ""))
    known: Json = {"run": entry["run"], "n": entry["n"], "kind": kind, "hand": hand}
    known |= {"at": seconds(body["at"]), "key": body.get("key", ""), "token": body.get("token", "")}
    return Event(**known | READERS[kind](body, matter, hand))


def _began(body: Json, matter: Json, _: Hand) -> Json:
    given, flow, name = matter.get("arguments") or {}, body["flow"], body.get("name", "")
    documents = body.get("documents") or {}
    aim = given.get("preference", "") if flow == "prefer" else str(given.get("to") or "")[:1]
    same = {name: given.get(name) for name in ("items", "values", "require")}
    same["documents"] = documents
    return {
        "what": flow,
        "name": name,
        "token": name.split()[-1] if name.startswith("asked:") else "",
        "did": () if name.startswith("bound\n") else ("began", flow, aim),
        "items": tuple(i["id"] for i in given.get("items") or [{"id": "1"}] if flow != "gate"),
        "size": (given.get("limits") or {}).get("questions", 4),
        "needs_person": bool(given.get("require") or given.get("ask", {}).get("require")),
        "expires": seconds(body.get("expires", "")),
        "origin": body.get("origin", ""),
        "aim": aim,
        "about": given.get("id", "") if flow == "prefer" else json.dumps(same, sort_keys=True),
        "attached": frozenset(d for n, d in documents.items() if n.startswith("@")),
        "calls_back": bool(given.get("callbacks")),
    }


def _asked(body: Json, matter: Json, _: Hand) -> Json:
    questions = matter["ask"]["questions"]
    menus = ("OTH" if {"REM", "RST"} & {*codes} else "" for codes in body["offered"].values())
    recommended = (
        "".join(c["code"] for c in q["choices"] if c.get("recommended")) for q in questions
    )
    return {
        "places": {q["key"]: (q.get("item", ""), m) for q, m in zip(questions, menus, strict=True)},
        "forms": {
            q["key"]: Form(q.get("id", ""), q["text"], advised)
            for q, advised in zip(questions, recommended, strict=True)
        },
    }


def _answered(body: Json, matter: Json, hand: Hand) -> Json:
    codes = {a["key"]: "".join(a.get("picked", ())) for a in body["answers"]}
    codes |= {a["key"]: ADVISED for a in matter.get("answers", ()) if a.get("advice")}
    codes |= {a["key"]: ASKED_BACK for a in body["answers"] if a.get("prefix") == "question"}
    whose = body.get("sources") or {}
    is_act = not body.get("origin") and hand != PREFERENCE
    return {
        "answers": {q: (code, tuple(whose.get(q, hand))) for q, code in codes.items()},
        "codes": codes,
        "did": ("answered", body["key"], codes) if is_act else (),
        "origin": body.get("origin", ""),
        "amends": bool(body.get("amends")),
    }


def _noted(body: Json, _: Json, __: Hand) -> Json:
    kind = NOTES.get(body["kind"], "")
    return {
        "what": body["kind"],
        "did": ("noted", kind, *([body["key"]] if kind == "undo" else [])) if kind else (),
        "item": body.get("item", ""),
        "until": seconds(body.get("until", "")),
        "takes_back": tuple(body.get("takes_back") or ()) if body.get("amendment") else None,
    }


def _ended(body: Json, matter: Json, hand: Hand) -> Json:
    result, status = matter.get("result"), body["status"]
    chosen = result.get("chosenItems", ()) if isinstance(result, dict) else ()
    is_act = status == "withdrawn" and hand not in (EXPIRY, MENDING)
    return {
        "what": status,
        "did": ("ended", status) if is_act else (),
        "result": tuple((c["itemId"], c["path"], c["by"], c["through"]) for c in chosen),
    }


READERS = {
    "began": _began,
    "asked": _asked,
    "answered": _answered,
    "called": lambda body, *_: {"what": body.get("deed", "")},
    "returned": lambda *_: {},
    "noted": _noted,
    "ended": _ended,
}


def seconds(at: str) -> float:
    """A moment of the journal as a number; 0 where there is none."""
    return datetime.fromisoformat(at).timestamp() if at else 0.0
