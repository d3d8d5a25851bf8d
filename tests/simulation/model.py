"""The model: what is asked, how a run stands, and what should come of each act.

It is written apart from the program, knows only what is promised, and is pure: `review` says what
is asked next, `step` how a run stands after one more entry of its journal, and `effect` what an act
comes to while a run stands like that. A later capability adds its entry and its act there.

The trees that are asked are all alike: every item can be kept (OK), dropped (NO), or something else
(OTH, left blank), behind which are REM and SPL. Whoever asks back (?) or is advised (!) is asked
again. At a gate, the item is the phase.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simulation.events import AGAIN, Act, Event, Place, State, is_own, require

if TYPE_CHECKING:
    from collections.abc import Iterable

REVIEWS = ("decide", "gate")
"""The flows that ask as `review` does."""


def review(
    items: tuple[str, ...], size: int, replies: Iterable[dict[str, str]]
) -> list[Place] | dict[str, str]:
    """How a tree is asked: as many items at a time as fit, then what each of them left open, one
    by one, then those that got no answer. What waits after these replies, or the path of each item.
    """
    paths: dict[str, str] = {}
    left = [[(item, "") for item in items[at : at + size]] for at in range(0, len(items), size)]
    for reply in replies:
        asked, *later = left
        opened, missed = [], []
        for item, menu in asked:
            if item not in reply:
                missed.append((item, menu))
            elif reply[item] in ("", *AGAIN):
                opened.append([(item, menu if reply[item] else "OTH")])
            else:
                paths[item] = f"{menu}/{reply[item]}".lstrip("/")
        left = [*opened, *([missed] if missed else []), *later]
    return left[0] if left else paths


def undoable(s: State) -> str:
    """The Ask whose answer can be undone: the last one that no preference gave, if open."""
    told = [k for k, a in s.given.items() if any(h[0] != "policy" for _, h in a.values())]
    is_open = told and told[-1] in s.open and s.status in ("waiting", "done")
    return told[-1] if is_open else ""


def expect(s: State) -> list[Place] | dict[str, str]:
    """What has to be asked next, or the path of each item."""
    replies = ({s.asked[k][q][0]: c for q, (c, _) in a.items()} for k, a in s.given.items())
    return review(s.items, s.began.size, replies)


def result(s: State) -> tuple[tuple[str, ...], ...]:
    """Of each item its path, and whose answers led there: who, and through what."""
    paths = expect(s) if s.flow == "decide" and s.status == "done" else {}
    require(isinstance(paths, dict), f"{s.run} ends while {paths} is open")
    found = []
    for item, path in dict(paths).items():
        said = [hand[:2] for (i, _), code, hand in s.answers if i == item and code not in AGAIN]
        found.append((item, path, *map(", ".join, zip(*dict.fromkeys(said), strict=True))))
    return tuple(sorted(found, key=lambda one: s.items.index(one[0])))


def view(s: State) -> tuple[Any, ...]:
    """What whoever looks is shown: status, the key and the places asked about, the result."""
    key = s.key if s.waits == "person" else None
    places = tuple(s.asked[key].values()) if key and s.flow in REVIEWS else ()
    return s.status, key, places, result(s)


def step(s: State, e: Event) -> State:
    """How a run stands after one more entry; what the run does by itself has to be right."""
    counting = [*s.given]
    match e.kind:
        case "asked":
            require(s.status == "waiting" and e.key not in s.asked, f"{e.key} is asked again")
            items, places = s.items or tuple(i for i, _ in e.places.values()), [*e.places.values()]
            guarded = s.flow == "permit" or (s.flow == "gate" and items == ("1",))
            s = replace(s, key=e.key, waits="person", until=0.0, items=items)
            s = replace(s, asked=s.asked | {e.key: e.places}, forms=s.forms | e.forms)
            s = replace(s, needs_person=s.needs_person or guarded)
            wanted = expect(s) if s.flow in REVIEWS else places
            require(places == wanted, f"{s.run} asks {places} and not {wanted}")
        case "answered":
            said = e.answers
            if e.amends:  # who repeats an answer has not given it: it stays whose it was
                before, counting = s.given[e.key], counting[: counting.index(e.key)]
                said = before | {q: a for q, a in said.items() if before.get(q, "-")[0] != a[0]}
            own = not (e.amends or e.origin) and all(is_own(hand) for _, hand in said.values())
            still = s.open | {e.key} if own and is_own(e.hand) else s.open - {e.key}
            given = {key: s.given[key] for key in counting} | {e.key: said}
            s = replace(s, status="waiting", key=None, waits="", given=given, open=still)
        case "called":
            require(s.status == "waiting", f"{s.run} is {s.status}, then calls {e.key}")
            still = s.open if e.what == "use" else frozenset()
            s = replace(s, waits="house" if e.what else "agent", open=still)
            s = replace(s, key=s.key or e.key, calls=(*s.calls, e.key))
        case "returned":
            require(e.key in s.calls, f"{e.key} came back, and was not waited for")
            calls = tuple(call for call in s.calls if call != e.key)
            s = replace(s, key=calls[0] if calls else None, calls=calls, open=frozenset())
        case "noted" if e.takes_back is not None:  # undone, or tried again
            if e.what == "undone":
                counting = counting[: counting.index(e.key)]
            given = {key: s.given[key] for key in counting if key not in e.takes_back}
            s = replace(s, status="waiting", key=None, waits="", calls=(), given=given)
        case "noted" if e.what == "handed over":
            s = replace(s, open=frozenset())
        case "noted" if e.what == "snoozed":
            s = replace(s, until=e.until)
        case "ended":
            right = s.status == "waiting" and (e.what != "done" or s.key is None)
            require(right, f"{s.run} is {e.what} while {s.key} waits")
            s = replace(s, status=e.what, key=None, waits="", calls=(), ended=e.at)
            require(e.result == result(s), f"{s.run} comes to {e.result}, not {result(s)}")
    return s


def effect(act: Act, s: State) -> tuple[Any, ...] | str:  # noqa: C901, PLR0911, PLR0912 - a table
    """What an act comes to upon a run that stands like this, as `Event.did` says it; or why it is
    refused: it was answered already, it takes a person, or it is too late or too early for it.
    """
    codes, may_answer = dict(act.answers), not s.needs_person or is_own(act.hand)
    match act.kind:
        case "begin":
            return "began", act.to, ""
        case "prefer" | "prune":
            return "began", act.kind, act.to if act.kind == "prefer" else ""
        case "go":  # a track is declared, then moved
            return "began", "phase" if act.to else "track", act.to
        case "reply" | "advise" | "decline" | "dismiss" | "snooze" if s.key != act.to:
            return "already"
        case "decline" | "dismiss" | "snooze":  # which is no answer
            return "noted", act.kind
        case "reply" | "advise":
            return ("answered", act.to, codes) if may_answer or act.kind == "advise" else "person"
        case "withdraw":  # what moves a track is not stopped half-way
            moves = s.waits == "house" and s.flow in ("gate", "phase")
            return ("ended", "withdrawn") if s.status == "waiting" and not moves else "refused"
        case "use":  # once, while a person's own word allows it
            said = [(code, is_own(hand)) for _, code, hand in s.answers]
            return ("returned", "use") if s.calls and said[-1:] == [("ONE", True)] else "refused"
        case "collect":  # whoever asked has the result, and nobody undoes it any more
            return ("noted", "collect") if s.status == "done" else "refused"
        case "undo":
            undo = undoable(s)
            fits = undo and act.to in ("", undo)
            return ("noted", "undo", undo) if fits else "refused"
        case "report" if not s.asked:
            return "began", "question", ""
        case "report":  # it was answered elsewhere: that counts, whatever became of it here
            key = [*s.asked][-1]
            return "answered", key, dict.fromkeys(s.asked[key], act.answers[0][1])
        case "amend":  # records what it changes, unless its sender saw something else
            key = next((one for one, places in s.asked.items() if act.to in places), "")
            known = s.given.get(key, {})
            new = {q: code for q, code in codes.items() if known.get(q, "-")[0] != code}
            is_over = s.status in ("declined", "withdrawn") or not known
            is_seen = not act.seen[0] or known.get(act.seen[0], "-")[0] == act.seen[1]
            if is_over or not is_seen or codes.keys() - s.asked[key].keys():
                return "refused"
            return ("answered", key, new or codes) if may_answer else "person"
    return "refused"
