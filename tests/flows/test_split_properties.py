"""What holds for any options, whatever hangs together, whatever is replied, whatever the host."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quandary.errors import ContextRequired
from quandary.flows.asking import page_choices
from quandary.flows.split import split
from quandary.flows.wording import Links, require_filled
from quandary.journal.progress import misfit
from quandary.model.asks import (
    BUCKETS,
    MORE,
    Answer,
    Ask,
    Candidate,
    Choice,
    Limits,
    Question,
    Reply,
    problem,
)
from quandary.model.keys import RESERVED, SplitIds, is_split, is_valid
from strategies import lines

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject, DrawFn

    from quandary.flows import Flow

RELATIONS = ("independent", "alternatives", "unsure")
MOST_STEPS = 40
"""After so many replies the person wants to come to an end."""
END = ("SHP", "BRK", "ALL", "CON", "CON_", "DEF", "INC")
_OWN = re.compile(r"D\d+\.\d+")


def _filled(text: str) -> bool:
    try:
        require_filled(text, "it")
    except ContextRequired:
        return False
    return True


titles = st.one_of(st.sampled_from(("Slack bot", "Cut", "Größe 2", "…")), lines().filter(_filled))


@st.composite
def candidates(draw: DrawFn, least: int = 1, most: int = 9) -> list[Candidate]:
    """A list that can be decided about: none needs itself in the end, or what it conflicts with."""
    names = st.one_of(
        st.from_regex(r"[A-Z][0-9]?", fullmatch=True),
        st.sampled_from(("INC", "CUT", "SHP", "NON", "CON", "1", "2", "final", "Größe", "a, b")),
    )
    keys = draw(st.lists(names, min_size=least, max_size=most, unique_by=str.casefold))
    order = draw(st.permutations(keys))
    found: dict[str, Candidate] = {}
    for at, key in enumerate(order):
        before = [other for other in order[:at] if key not in found[other].conflicts]
        needed = st.lists(st.sampled_from(before), max_size=2, unique=True) if before else None
        requires = tuple(draw(needed)) if needed is not None else ()
        others = [other for other in keys if other not in (key, *requires)]
        conflicts = draw(st.lists(st.sampled_from(others), max_size=1)) if others else []
        found[key] = Candidate(
            key,
            draw(titles),
            draw(titles),
            requires=requires,
            conflicts=tuple(conflicts),
            recommend=draw(st.sampled_from((None, *BUCKETS))),
        )
    return [found[key] for key in keys]


@st.composite
def answers(draw: DrawFn, question: Question) -> Answer:
    """Any answer that the driver would let through."""
    offered = [choice.code for choice in (*question.choices, *question.named)]
    picks = st.lists(st.sampled_from(offered), min_size=1, max_size=4 if question.multi else 1)
    kind = draw(st.integers(0, 11))
    if kind == 0:
        return Answer(question.key, text=draw(lines()))
    if kind == 1:
        return Answer(question.key)
    if kind == 2:
        prefixes = ("question", "explain", "deep", "force", "tag", "add")
        prefix: Any = draw(st.sampled_from(prefixes))
        argument = draw(st.sampled_from(("", "skip", *offered)))
        return Answer(question.key, prefix=prefix, argument=argument)
    if kind == 3:
        return Answer(question.key, among=tuple(draw(picks)), text="either")
    if kind == 4:
        return Answer(question.key, advice="Think.")
    return Answer(question.key, tuple(dict.fromkeys(draw(picks))))


def towards_the_end(question: Question) -> Answer:
    """An answer that leads on: accept, ship, include, or none of many."""
    offered = [choice.code for choice in question.options]
    if question.multi and not question.gathered:
        return Answer(question.key, (offered[0],))
    if question.multi:
        return Answer(question.key, question.gathered)
    return Answer(question.key, (next((code for code in END if code in offered), offered[0]),))


def driven(flow: Flow, data: DataObject) -> tuple[list[tuple[Ask, Answer]], dict[str, Any]]:
    """Any replies, and then those that lead to the end."""
    said: list[tuple[Ask, Answer]] = []
    request = next(flow)
    while True:
        assert isinstance(request, Ask)
        (question,) = request.questions
        free = len(said) < MOST_STEPS
        answer = data.draw(answers(question)) if free else towards_the_end(question)
        reply = Reply((answer,))
        assert misfit(request, reply) == ""
        said.append((request, answer))
        assert len(said) < 400
        try:
            request = flow.send(reply)
        except StopIteration as end:
            return said, end.value


@settings(max_examples=60)
@given(st.data())
def test_any_split_ends_well(data: DataObject) -> None:
    """The result partitions the options, and whatever is broken in it was accepted by the person.

    On the way no host is shown more than it can hold, no two choices have one code, no key comes
    twice, and every option is before the person's eyes at some time.
    """
    options = data.draw(candidates())
    limits = Limits(options=data.draw(st.integers(1, 5)))
    relation: Any = data.draw(st.sampled_from(RELATIONS))
    said, result = driven(split(options, relation=relation, limits=limits), data)
    keys = [option.key for option in options]
    assert sorted(k for b in BUCKETS for k in result[b]) == sorted(keys)
    placed = {d["option"]: d["bucket"] for d in result["decisions"]}
    assert [d["option"] for d in result["decisions"]] == keys
    assert all(result[bucket] == [k for k in keys if placed[k] == bucket] for bucket in BUCKETS)
    broken = [{"option": b.option, b.kind: b.other} for b in Links(options).breaches(placed)]
    assert broken == result["accepted_broken"]
    accepted = sum("BRK" in (*answer.picked, answer.argument) for _, answer in said)
    assert len(broken) <= accepted
    assert result["held"] is None

    asked = [ask.key for ask, _ in said]
    assert len(set(asked)) == len(asked)
    for ask, _ in said:
        codes = [choice.code for choice in ask.questions[0].choices]
        assert 1 <= len(codes) <= max(limits.options, 2) or ask.questions[0].choices == ()
        offered = [choice.code for choice in ask.questions[0].options]
        assert len(set(offered)) == len(offered)
        assert ask.questions[0].chain
        assert is_split((ask.questions[0].confirms or ask.questions[0]).id)
    seen = "\n".join(f"{ask.preamble.text} {ask.questions[0].text}" for ask, _ in said)
    assert all(option.name in seen for option in options)


@settings(max_examples=40)
@given(st.data())
def test_each_option_is_asked_about_exactly_once(data: DataObject) -> None:
    """In a chain without Hold every option has its question before the final one, in order."""
    options = data.draw(candidates(least=5))
    flow = split(options, limits=Limits(options=data.draw(st.integers(1, 5))))
    request = next(flow)
    decided: dict[str, str] = {}
    while isinstance(request, Ask) and request.questions[0].item not in decided:
        question = request.questions[0]
        if question.key == "D1.0":
            request = flow.send(Reply((Answer("D1.0", ("ALL",)),)))
            continue
        if not _OWN.fullmatch(question.key):
            break
        assert question.key == f"D1.{len(decided) + 1}"
        code = data.draw(st.sampled_from(("INC", "DEF", "CUT")))
        decided[question.item] = code
        request = flow.send(Reply((Answer(question.key, (code,)),)))
    assert list(decided) == [option.key for option in options]
    assert isinstance(request, Ask)
    assert request.key in ("D1.final", "D1.conflict-1")


@settings(max_examples=40)
@given(st.data())
def test_behind_a_hold_nothing_is_asked(data: DataObject) -> None:
    """Until the person goes on the run waits; and before the final question all is decided."""
    options = data.draw(candidates(least=5, most=6))
    flow = split(options)
    request = next(flow)
    decided: dict[str, int] = {}
    named: list[str] = []
    for _ in range(30):
        assert isinstance(request, Ask)
        question = request.questions[0]
        if "hold" in question.key:
            assert [note.item for note in request.notes if note.kind == "held"] == [question.item]
            keys = {option.key for option in options}
            go_on = question.choices[0].code
            ways = [c.code for c in question.options if c.code in {*keys, go_on}]
            code = data.draw(st.sampled_from(ways))
            named.append(question.item if code == go_on else code)
        elif _OWN.match(question.key):
            code = data.draw(st.sampled_from(("INC", "CUT", "HLD")))
            if code != "HLD":
                decided[question.item] = decided.get(question.item, 0) + 1
        else:
            break
        request = flow.send(Reply((Answer(question.key, (code,)),)))
        waiting = request.questions[0] if isinstance(request, Ask) else None
        assert waiting is not None
        assert code != "HLD" or waiting.key.startswith("D1.hold-")
        assert "hold" not in question.key or waiting.item == named[-1]
    else:
        return
    assert set(decided) == {option.key for option in options}
    assert all(count == 1 or key in named for key, count in decided.items())


@given(st.integers(0, 40), st.integers(2, 6))
def test_pages_show_everything_once(count: int, room: int) -> None:
    """Page after page, in order, nothing twice and nothing left out."""
    choices = [Choice(f"C{n}", f"Choice {n}") for n in range(count)]
    seen: list[Choice] = []
    for page in range(count + 1):
        shown = page_choices(choices, page, room)
        assert len(shown) <= room
        seen += [choice for choice in shown if choice.code != MORE]
        if all(choice.code != MORE for choice in shown):
            break
    assert seen == choices


keys_of_any_kind = st.lists(
    st.one_of(st.text(min_size=1, max_size=80), st.sampled_from((*RESERVED, "E1", "e1", "É1"))),
    min_size=1,
    max_size=30,
    unique=True,
)


@given(st.text(max_size=90), keys_of_any_kind)
def test_ids_are_unique_short_and_stable(skill: str, keys: list[str]) -> None:
    """Whatever the skill and the keys are called."""
    ids = SplitIds(skill, keys, ("include", "hold"))
    every = [*ids.own.values(), *ids.options.values()]
    assert len(set(every)) == len(every)
    assert all(is_valid(name) and is_split(name) and len(name) <= 64 for name in every)
    assert SplitIds(skill, keys).options == ids.options
    # An option that comes later changes no id that was given before.
    assert SplitIds(skill, keys[:-1]).options.items() <= ids.options.items()


@settings(max_examples=30)
@given(candidates())
def test_the_lists_that_are_tried_here_are_good(options: list[Candidate]) -> None:
    """So that the tests above are about lists that are asked about."""
    assert problem(options) == ""


PROGRAM = """
import json, sys
import msgspec
from quandary.flows.split import start
from quandary.model.asks import Answer, Reply
flow = start(json.loads(sys.argv[1]))
request = next(flow)
said = []
for code in json.loads(sys.argv[2]):
    said.append(msgspec.to_builtins(request))
    try:
        request = flow.send(Reply((Answer(request.key, tuple(code)),)))
    except StopIteration as end:
        said.append(end.value)
print(json.dumps(said))
"""


@pytest.mark.parametrize("codes", [[["ALL"], *[["INC"]] * 8, ["BRK"], ["BRK"], ["KEP"], ["SHP"]]])
def test_the_order_of_sets_is_no_matter(codes: list[list[str]]) -> None:
    """Two processes with different hash seeds ask the same and come to the same result."""
    options = [
        {"key": f"P{n}", "title": f"Part {n}", "conflicts": [f"P{n % 8 + 1}"]} for n in range(1, 9)
    ]
    told = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, json.dumps({"options": options}), json.dumps(codes)],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(msgspec.json.decode(told[0])) == len(codes)
