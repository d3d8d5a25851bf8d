"""The state of a run as JSON."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given

from asks import asks
from quandary.desk import returns, sheets
from quandary.desk.state import encode_state, outcome_lines
from quandary.journal import MEMORY
from quandary.journal.entries import Status
from quandary.journal.sqlite import SqliteStore
from quandary.journal.store import State
from quandary.model.asks import Ask, Choice, Note, Preamble, Question, Reply
from quandary.reading import read

CHOICES = (Choice("OK", "Looks good", "No changes"), Choice("RWK", "Rework", branch=True))
QUESTIONS = tuple(
    Question(f"{n}:", f"{n}. Item", f"Is {n} good?", CHOICES, item=str(n)) for n in (1, 2)
)
ASK = Ask(
    "1:",
    "transition",
    Preamble("A plan."),
    QUESTIONS,
    (Note("matched", "> Matched: Looks good", "1"),),
)


def state(
    status: Status = "waiting",
    *,
    via: str = "relay",
    host: str = "claude",
    **more: Any,  # noqa: ANN401 - as given
) -> dict[str, Any]:
    """The document, read back."""
    stands = State(run="01J", flow="decide", status=status, n=1, **more)
    began = {"via": via, "host": host}
    found = json.loads(encode_state(SqliteStore(MEMORY), stands, began))
    assert isinstance(found, dict)
    return found


def test_a_waiting_run_says_what_waits_and_how_to_reply() -> None:
    """The keys and their order are those of the contract."""
    assert state(ask=ASK) == {
        "run": "01J",
        "flow": "decide",
        "status": "waiting",
        "notes": [{"kind": "matched", "item": "1", "text": "> Matched: Looks good"}],
        "ask": {
            "key": "1:",
            "kind": "transition",
            "preamble": "A plan.\n\n",
            "keys": ["1:", "2:"],
            "reply_with": ["quandary", "reply", "01J", "--to", "1:", "-"],
            "tool_input": sheets.tool_input(ASK),
        },
    }
    assert list(state(ask=ASK)) == ["run", "flow", "status", "notes", "ask"]
    assert list(state(ask=ASK)["ask"]) == [
        "key",
        "kind",
        "preamble",
        "keys",
        "reply_with",
        "tool_input",
    ]


def test_text_has_one_question_and_no_form() -> None:
    """Plain text asks one item at a time; what is shown is what waits."""
    asked = state(ask=ASK, via="text")["ask"]
    assert sheets.plain_text(ASK) == asked["text"]
    assert asked["keys"] == ["1:"]
    assert "tool_input" not in asked


def test_an_advisory_question_has_text_and_no_form() -> None:
    """READINGS 52: no form takes the person's attention, and one question is asked at a time."""
    advisory = Ask("1:", "advisory", ASK.preamble, QUESTIONS)
    asked = state(ask=advisory)["ask"]
    assert sheets.plain_text(advisory) == asked["text"]
    assert asked["keys"] == ["1:"]
    assert "tool_input" not in asked


def test_an_outcome_is_told_in_labels() -> None:
    """With the path behind them; own words are the path."""
    chosen = [
        {"item": "Auth", "path": "NO/RWK", "labels": ["Write it anew"]},
        {"item": "Cache", "path": "OTH/custom:merge it", "labels": ["merge it"]},
        {"item": "Queue", "path": "OK"},
    ]
    assert outcome_lines("decide", {"chosenItems": chosen}) == [
        "Auth: Write it anew (NO/RWK)",
        "Cache: OTH/custom:merge it",
        "Queue: OK",
    ]


def test_the_form_is_the_hosts() -> None:
    """Codex wants ids."""
    asked = state(ask=ASK, host="codex")["ask"]
    assert [q["id"] for q in asked["tool_input"]["questions"]] == ["1:", "2:"]


def test_a_run_that_is_done_has_a_result() -> None:
    """Even where the result is nothing."""
    assert state("done", result={"a": 1})["result"] == {"a": 1}
    assert state("done")["result"] is None
    assert list(state("done")) == ["run", "flow", "status", "notes", "result"]


def test_a_run_that_failed_says_why() -> None:
    """And one that was declined or withdrawn can."""
    assert state("failed", error="no agent") == {
        "run": "01J",
        "flow": "decide",
        "status": "failed",
        "notes": [],
        "error": "no agent",
    }
    assert "error" not in state("declined")
    assert state("withdrawn", error="not needed")["error"] == "not needed"


def test_notes_of_the_run_stand_behind_those_of_the_ask() -> None:
    """An idle time-out happened after the question was made."""
    notes = state(ask=ASK, notes=(*ASK.notes, Note("idle", "nobody answered")))["notes"]
    assert notes[-1] == {"kind": "idle", "item": None, "text": "nobody answered"}
    assert len(notes) == 2


@pytest.mark.parametrize("status", get_args(Status))
def test_every_status_is_written(status: Status) -> None:
    """The document is the same for all of them."""
    assert status == state(status)["status"]


@pytest.mark.parametrize("via", ["relay", "text"])
@given(ask=asks())
def test_any_ask_can_be_put_into_a_state(via: str, ask: Ask) -> None:
    """Whatever is asked, the keys are those of the questions that are shown."""
    asked = state(ask=ask, via=via)["ask"]
    as_form = via == "relay" and ask.kind == "transition"
    shown = ask.questions if as_form else ask.questions[:1]
    assert ("tool_input" in asked, "text" in asked) == (as_form, not as_form)
    assert [q.key for q in shown] == asked["keys"]
    assert asked["preamble"].endswith("\n\n")


UNSEEN = "\u200b\u202e\u00ad\U000e0041"


@pytest.mark.parametrize("kind", ["transition", "advisory"])
def test_nothing_hidden_reaches_whoever_an_agent_shows_a_question_to(kind: Any) -> None:  # noqa: ANN401
    """Preamble, notes, form and text; a label as it was shown is still that choice."""
    choice = Choice("OK", f"Keep{UNSEEN} it", f"As{UNSEEN} is")
    asked = Question(
        "1:", f"1. {UNSEEN}x", f"Is it{UNSEEN} good?", (choice, *CHOICES[1:]), item="1"
    )
    note = Note("matched", f"So{UNSEEN}")
    ask = Ask("1:", kind, Preamble(f"A plan{UNSEEN}."), (asked,), (note,))
    for via in ("relay", "text"):
        shown = state(ask=ask, via=via)
        written = json.dumps(shown, ensure_ascii=False)
        assert not set(UNSEEN) & set(written)
        assert written.count("\\\\u200b") >= 4
    [question] = sheets.tool_input(ask)["questions"]
    reply = {"answers": {question["question"]: question["options"][0]["label"]}}
    returned = returns.parse(json.dumps(reply), ask, read)
    assert isinstance(returned, Reply)
    assert returned.answers[0].picked == ("OK",)
