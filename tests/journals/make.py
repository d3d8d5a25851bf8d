"""Write a journal of today, to be read for ever: `python make.py v1.sql schema`.

It is run once for each schema, with the flow of `tests/small_flows.py`, and once for each version
of a flow (`python make.py flows/decide-1.sql decide`). Its journals are never made again.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec

import small_flows
import walks
from quandary.desk import returns
from quandary.formats.markdown import parse
from quandary.journal import runs as driver
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Answer, Outcome, Question, Reply
from quandary.model.calls import Do, Done, Output
from quandary.model.chart import Chart, Page, Route, Step
from quandary.reading import read


def fill(store: SqliteStore) -> None:
    """A run that is done, one that waits, one with calls, one that was declined."""
    state = small_flows.begin(store, questions=2, notes=True)
    state = small_flows.answer(store, state, small_flows.pick("1:", "NO", comment="but soon"))
    small_flows.answer(store, state, Reply((Answer("2:", text="my own", raw="my own"),)))

    state = small_flows.begin(store, "maze", items=["1", "2"], most=9)
    state = small_flows.answer(store, state, "OK")
    driver.note(store, state.run, Outcome("idle", "ten minutes"), who="agent", through="relay")
    small_flows.answer(store, state, small_flows.pick("2:~2", "SUB"))

    state = small_flows.answer(store, small_flows.begin(store, "errand"))
    state = driver.advance(store, state.run, Output("1:/run", "ran"), who="agent", through="worker")
    driver.advance(store, state.run, Output("1:/vote-1", "yes"), who="agent", through="worker")

    state = small_flows.begin(store)
    driver.note(store, state.run, Outcome("declined"), who="person", through="web", by="ada")


TREES = """\
### ¶ASK_STEP
Extras: A: Ask the owner | B: Wait a week
## Decision: Step
- [OK] Keep it
- [NO] Drop it
  - [ALL] All of it
  - [PRT] A part of it
  - [LTR] Later, when there is time
- [TAG] Tag it
- [OTH] Other
  - [RWK] Rework it
  - [SPL] Split it

### ¶ASK_DEPTH
## Decision: Depth
- [ ] [API] The interface
- [ ] [DOC] The pages
- [ ] [TST] The tests
- [ ] [BEN] The benchmarks
- [ ] [EXA] The examples
- [OTH] Other
"""
REPLIES = [
    '{"answers": [{"picked": ["OK"]}, {"picked": ["NO"]}, {"text": ""}, {"text": "rework it"}]}',
    '{"answers": [{"picked": ["LTR"], "comment": "not before May"}]}',
    '{"answers": [{"picked": ["SPL"]}]}',
    "? ",
    "depth",
    '{"answers": [{"picked": ["API", "…"]}]}',
    '{"answers": [{"picked": ["BEN"]}]}',
    "B",
]


def fill_decisions(store: SqliteStore) -> None:
    """A tree with follow-ups, menus, prefixes, an aside with pages, and an amended answer."""
    step, depth = (msgspec.to_builtins(tree) for tree in parse(TREES).trees)
    items = [{"id": f"1.{n}", "label": f"Step {n}", "title": f"The step {n}"} for n in range(1, 6)]
    context = "The plan has five steps, and each of them needs a word before the work goes on."
    arguments = {"context": context, "items": items, "via": "relay", "host": "claude"}
    documents = {"tree": step, "trees": [depth]}
    runs = []
    for count in (len(REPLIES), 3, 5):
        state = driver.begin(
            store, "decide", arguments, documents=documents, who="agent", through="command"
        )
        for text in REPLIES[:count]:
            if state.ask is not None:
                reply = returns.parse(text, state.ask, read)
                state = driver.advance(
                    store, state.run, reply, to=state.key, who="agent", through="relay"
                )
        runs.append(state.run)
    again = Reply((Answer("1.2:", ("TAG",)),))
    driver.amend(
        store, runs[-1], again, key="1.2:", why="a new fact", who="person", through="terminal"
    )


TRACK = [
    {"label": "1", "name": "Plan", "proof": [{"name": "risk", "schema": {"enum": ["low"]}}]},
    {"label": "2.A", "name": "Slowly"},
    {"label": "2.B", "name": "At once"},
    {"label": "3", "name": "Watch"},
]
GATES = [
    ["WLK", "OK", "RWK", "C", "A", "B", "PRC", "low"],
    ["PRC"],
    ["run benchmarks"],
    ["turn to 2.B: At once"],
    ["in my own words"],
    ["WLK", "OK"],
]


def fill_gates(store: SqliteStore) -> None:
    """Gates with extras, a walk-through, proof asked for and missing, a branch, and own words."""
    track = {"phases": TRACK, "current": TRACK[0], "visited": ["1"]}
    custom = {"label": "Run benchmarks", "description": "Measure first"}
    for number, replies in enumerate(GATES):
        arguments = {"folder": "rel", "seen": 1, "at_hand": number == 0, "custom": custom}
        state = driver.begin(
            store, "gate", arguments, documents={"track": track}, who="agent", through="command"
        )
        for text in replies:
            questions = state.ask.questions if state.ask is not None else ()
            reply = Reply(tuple(read(text, q, "strict").answer(q.key, text) for q in questions))
            state = driver.advance(
                store, state.run, reply, who="person", through="terminal", deeds=_do
            )


def _do(deed: Do) -> Done:
    """A house with five files, in which a move goes through once its proof is there."""
    told: dict[str, object] = {"proven": 1}
    if deed.deed == "list-artifacts":
        found = [{"path": f"{name}.md", "digest": name, "about": "4 bytes"} for name in "abcde"]
        told = {"now": "2026-01-02T03:04:05Z", "artifacts": found, "more": 0}
    elif not msgspec.json.decode(deed.argument).get("proof"):
        told = {"lacking": {"missing": ["risk"]}}
    return Done(deed.key, text=msgspec.json.encode(told).decode())


def fill_walks(store: SqliteStore) -> None:
    """Walks with retries, a loop, votes, charts inside charts, people, and an interruption."""
    walks.released(store)

    fields = {"votes": "CLAUDE, CODEX, CLAUDE, CODEX", "retries": "1"}
    inner = Page("i", "Inner", (Step("x", "Look at it"), Step("y", "Note: {{steps.x.output}}")))
    inner = msgspec.structs.replace(inner, routes=(Route("x", "y"),))
    steps = (Step("p", "Inner", "subprocess"), Step("v", "Which way?", metadata=fields))
    ends = tuple(Step(key, "End", "terminator") for key in "ab")
    routes = (Route("p", "v"), Route("v", "a", "left"), Route("v", "b", "right"))
    nested = Chart("Nested", (Page("m", "Main", (*steps, *ends), routes), inner), "m")
    for code in ("", "LEFT"):
        state = walks.begin(store, nested)
        while state.calls and state.calls[0].expects != "decision":
            state = walks.send(store, state, walks.good(state.calls[0]))
        said = ("left", "right", "straight on", "Right!")
        outputs = [walks.chose(c, way) for c, way in zip(state.calls, said, strict=True)]
        state = walks.send(store, state, *outputs)
        state = walks.send(store, state, walks.chose(state.calls[0], "LEFT"))
        if code:
            walks.answer(store, state, code, comment="the shorter one")

    judge = {"validate_cli": "HUMAN"}
    steps = (Step("a", "Draw it", "process", ("HUMAN",)), Step("b", "Write it", metadata=judge))
    judged = Chart("Judged", (Page("1", "", steps, (Route("a", "b"),)),))
    careful = {"cli": "CLAUDE", "on_interrupted": "ask"}
    state = walks.answer(store, walks.begin(store, judged, defaults=careful), text="in blue")
    state = walks.answer(store, state, "DONE")
    lost = Output(state.calls[0].key, error="It was interrupted.", interrupted=True)
    state = walks.answer(store, walks.send(store, state, lost), "AGN")
    state = walks.send(store, state, walks.did(state.calls[0]))
    state = walks.answer(store, state, "AGN", comment="No title.")
    state = walks.send(store, state, walks.did(state.calls[0], "With a title."))
    walks.answer(store, state, "ACC")

    run = walks.released(store).run
    later = Reply((Answer("Sship@1/run", ("NOT-YET",)),))
    driver.amend(
        store, run, later, key="Sship@1/run", why="a fault", who="person", through="terminal"
    )


def fill_splits(store: SqliteStore) -> None:
    """Lists of every length, gone through in turn, with ties, pages, own words and a change."""
    state = None
    for count, relation, most in (
        *((1, "unsure", 9), (3, "independent", 9), (3, "alternatives", 9), (5, "unsure", 40)),
        *((9, "unsure", 14), (9, "independent", 14), (9, "unsure", 4)),
    ):
        options = [
            {"key": f"O{n}", "title": f"Option {n}", "scope": f"What number {n} takes in."}
            | ({"requires": [f"O{n - 1}"]} if n % 3 == 0 else {})
            for n in range(1, count + 1)
        ]
        arguments = {"options": options, "relation": relation, "context": "Which of them go in?"}
        state = driver.begin(store, "split", arguments, who="agent", through="command")
        for number in range(most):
            if state.ask is None:
                break
            answers = [_turned(question, number) for question in state.ask.questions]
            state = driver.advance(
                store, state.run, Reply(tuple(answers)), who="person", through="terminal"
            )
    assert state is not None
    first = store.entries(state.run, kinds=("asked",))[0].read_matter().ask
    assert first is not None
    other = Answer(first.key, (first.questions[0].choices[1].code,))
    driver.amend(
        store, state.run, Reply((other,)), key=first.key, why="again", who="person", through="web"
    )


def _turned(question: Question, number: int) -> Answer:
    """Another choice each time; now and then a word of one's own."""
    if number % 7 == 5:
        return Answer(question.key, text="not before May", raw="not before May")
    codes = [choice.code for choice in question.choices]
    picked = codes[:2] if question.multi else [codes[number % min(len(codes), 3)]]
    return Answer(question.key, tuple(picked))


FILLS = {
    "schema": fill,
    "decide": fill_decisions,
    "gate": fill_gates,
    "split": fill_splits,
    "walk": fill_walks,
}


def main() -> None:
    """The journal as SQL, so that a change to it can be seen."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        store = SqliteStore(path)
        FILLS[sys.argv[2]](store)
        store.close()
        db = sqlite3.connect(path)
        heads = [
            f"PRAGMA {name} = {db.execute(f'PRAGMA {name}').fetchone()[0]};"
            for name in ("application_id", "user_version")
        ]
        lines = [*heads, *db.iterdump()]
        db.close()
    target = Path(__file__).parent / sys.argv[1]
    with target.open("x", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
