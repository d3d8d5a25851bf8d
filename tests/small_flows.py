"""Small flows, for journals that need something to hold; `arguments["kind"]` says which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from quandary.errors import ContextRequired, QuandaryError
from quandary.journal import progress, runs
from quandary.journal.progress import FLOWS
from quandary.model import keys
from quandary.model.asks import Answer, Ask, Choice, Note, Preamble, Question, Reply
from quandary.model.calls import Call, Do, Done, Output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.flows import Flow, Request
    from quandary.journal.store import State, Store

VERSION = 1
NAME = "small"
FLOWS[NAME] = "small_flows"

CODES = ("OK", "NO", "SUB")


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's beginning describes."""
    if not arguments.get("context", "enough"):
        raise ContextRequired("a question needs context")
    flows = {"chain": _chain, "maze": _maze, "errand": _errand, "empty": _empty, "odd": _odd}
    return flows[arguments["kind"]](arguments)


def requests(store: Store, run: str) -> Iterator[Request]:
    """Every request of a run that counts, in the order of asking, made again by its flow."""
    known = progress.heard(run, store.recorded(run))
    flow = progress.restart(store, run, known, {})
    flow.show_again(known.anew)
    while flow.request is not None:
        yield flow.request
        calls = flow.request if isinstance(flow.request, tuple) else (flow.request,)
        if not all(call.key in known.responses for call in calls):
            return
        step = {call.key: known.responses[call.key] for call in calls}
        progress.replay(run, flow, known, step)


def question(key: str, text: str = "", item: str = "") -> Question:
    """A question with the usual choices, and one more behind Other."""
    choices = tuple(Choice(code, f"Take {code}") for code in CODES)
    return Question(
        key,
        key[:12],
        text or f"What of {key}?",
        choices,
        item=item,
        named=(Choice("OTH/MAY", "Maybe"),),
        menu=True,
    )


def ask(*questions: Question, notes: tuple[Note, ...] = ()) -> Ask:
    """The questions on one screen."""
    context = f"There is something about {questions[0].key} that somebody has to decide."
    return Ask(questions[0].key, "transition", Preamble(context), questions, notes)


def _chain(arguments: dict[str, Any]) -> Flow:
    """One question after another; the result is what was chosen."""
    chosen = []
    words = arguments.get("words", {})
    for number in range(1, arguments["questions"] + 1):
        key = keys.place(str(number))
        asked = ask(question(key, words.get(key, "")))
        reply = yield replace(asked, require=arguments.get("require", ""))
        assert isinstance(reply, Reply)
        answer = reply.answers[0]
        if answer.text == "fail":
            raise QuandaryError("it cannot be done")
        if answer.text == "crash":
            raise ZeroDivisionError
        chosen.append([answer.key, *answer.picked, answer.text, answer.comment])
    notes = [{"kind": "matched", "text": "the last one", "item": "1"}]
    return {"chosen": chosen, "notes": notes} if arguments.get("notes") else {"chosen": chosen}


def _maze(arguments: dict[str, Any]) -> Flow:
    """Up to four at a time; SUB leads deeper, own words ask again, silence asks again."""
    turns: dict[str, int] = {}
    paths: dict[str, str] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [(item, ()) for item in arguments["items"]]
    notes: tuple[Note, ...] = ()
    asked = 0
    while waiting and asked < arguments["most"]:
        batch: list[tuple[str, tuple[str, ...], str]] = []
        for item, path in waiting[:4]:
            place = keys.place(item, path)
            turns[place] = turns.get(place, 0) + 1
            batch.append((item, path, keys.turn(place, turns[place])))
        reply = yield ask(*(question(key, item=item) for item, _, key in batch), notes=notes)
        assert isinstance(reply, Reply)
        asked += 1
        waiting = waiting[4:]
        said = []
        for item, path, key in batch:
            answer = reply.to(key)
            if answer is not None and answer.picked and answer.picked[0] != "SUB":
                paths[item] = "/".join((*path, *answer.picked))
                said.append(Note("matched", f"{item} is {paths[item]}", item))
            elif answer is not None and answer.picked and len(path) < 3:
                waiting.insert(0, (item, (*path, "SUB")))
            else:
                waiting.append((item, path))
        notes = tuple(said)
    return {"paths": paths}


def _errand(arguments: dict[str, Any]) -> Flow:
    """A question, a call, several calls at once, none at once, a deed, a question."""
    first = yield ask(question("1:"))
    assert isinstance(first, Reply)
    one = yield Call("1:/run", "claude", "Do it.")
    assert isinstance(one, Output)
    many = yield tuple(Call(f"1:/vote-{n}", "claude", f"Vote {n}.") for n in (1, 2, 3))
    assert isinstance(many, tuple)
    none = yield ()
    assert none == ()
    done = yield Do("1:/file", "read-file", str(arguments.get("file", "notes.md")))
    assert isinstance(done, Done)
    last = yield ask(question("2:", done.text))
    assert isinstance(last, Reply)
    votes = [output.text for output in many]
    return {"one": one.text, "votes": votes, "file": done.text, "last": last.answers[0].picked}


def _empty(arguments: dict[str, Any]) -> Flow:
    """Nothing to ask."""
    yield from ()
    return {"given": sorted(arguments)}


def _odd(arguments: dict[str, Any]) -> Flow:
    """A flow with a fault: it asks twice under one key."""
    yield ask(question("1:"))
    yield ask(question("1:"))
    return {"given": sorted(arguments)}


# -- short ways to drive them --------------------------------------------------------------------


def pick(key: str | None, code: str = "OK", **more: Any) -> Reply:  # noqa: ANN401
    """A reply that picks one option."""
    return Reply((Answer(str(key), (code,), **more),))


def begin(store: Store, kind: str = "chain", **arguments: Any) -> State:  # noqa: ANN401
    """A run of one of these flows."""
    given = {"kind": kind, **({"questions": 3} if kind == "chain" else {}), **arguments}
    return runs.begin(store, NAME, given, project="here", who="agent", through="relay")


def answer(store: Store, state: State, reply: Reply | str = "OK") -> State:
    """A person's reply at the terminal to what waits."""
    if isinstance(reply, str):
        reply = pick(state.key, reply)
    return runs.advance(
        store, state.run, reply, to=state.key, who="person", through="terminal", by="ada"
    )
