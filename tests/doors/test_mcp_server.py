"""Forms in chat clients: how people answer in them, in both eras of the protocol."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from mcp_clients import (
    ASK,
    ASK_ONE,
    CONTEXT,
    ERAS,
    MULTI,
    Person,
    Place,
    Said,
    bodies,
    booked,
    said,
)
from program import call
from quandary.doors import mcp
from quandary.doors.mcp import forms
from quandary.doors.mcp import forms as asking
from quandary.journal import runs
from quandary.journal.entries import Answered, Began, Noted

if TYPE_CHECKING:
    from pathlib import Path

SLOWLY = forms.INSTANT + 0.2
BRANCH = """\
### ¶ASK_ROAD
## Decision: Road
- [OK] Go on
- [NO] Turn round
  - [NOW] At once
  - [SOON] At the next corner
  - [REST] After a rest
  - [OTH] Other
- [STAY] Stay here
- [OTH] Other
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A project with a server in it."""
    return Place(tmp_path, monkeypatch)


def kinds(said: Said) -> list[str]:
    """The kinds of the notes of a state."""
    return [note["kind"] for note in said.data["notes"]]


# -- forms ---------------------------------------------------------------------------------------


@ERAS
def test_a_form_that_is_filled_in_decides(place: Place, mode: str) -> None:
    """Both questions of an Ask are in one form, and what is chosen is the result."""
    person = Person({"answer_1": "OK", "comment_1": "at last", "answer_2": "CUT"})
    told = place.call("ask", ASK, person, mode)
    assert told.data["status"] == "done"
    chosen = [(c["item"], c["path"]) for c in told.data["result"]["chosenItems"]]
    assert chosen == [("Auth design", "OK"), ("Caching", "CUT")]
    assert told.data["result"]["chosenItems"][0]["comment"] == "at last"
    assert told.then == ""
    (form,) = person.forms
    assert "Tokens expire." in form.message
    assert {"answer_1", "answer_2"} <= set(form.requested_schema["properties"])


@ERAS
def test_an_answer_in_a_form_is_never_booked_as_a_persons_own(place: Place, mode: str) -> None:
    """An agent drives the client, so that it is the agent's word, and the client is named."""
    run = place.call("ask", ASK_ONE, Person({"answer_1": "OK"}), mode).data["run"]
    (began,) = bodies(place, run, Began)
    (answered,) = bodies(place, run, Answered)
    for body in (began, answered):
        assert (body.who, body.through, body.by) == ("agent", "mcp", "mcp")


@ERAS
def test_a_decline_ends_the_run(place: Place, mode: str) -> None:
    """Whoever took the time to decline has declined, and nothing was decided."""
    told = place.call("ask", ASK_ONE, Person((SLOWLY, "decline")), mode)
    assert told.data["status"] == "declined"
    assert told.then == mcp.UNDECIDED
    assert not told.failed


@ERAS
def test_a_closed_form_leaves_the_question_open(place: Place, mode: str) -> None:
    """To close a form is no answer; `next` shows it again, and then it is answered."""
    person = Person((SLOWLY, "cancel"), {"answer_1": "NO"})
    told = place.call("ask", ASK_ONE, person, mode)
    assert (told.data["status"], kinds(told)) == ("waiting", ["dismissed"])
    assert told.then == asking.CLOSED
    again = place.call("next", {"run": told.data["run"]}, person, mode)
    assert again.data["result"]["chosenItems"][0]["path"] == "NO"
    assert len(person.forms) == 2


@ERAS
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_client_that_shows_no_forms_is_told_from_a_person(
    place: Place,
    mode: str,
    action: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What comes at once comes from nobody: it is noted, and the agent gets the relay payload."""
    monkeypatch.setattr(forms, "INSTANT", 10.0)  # on a busy machine, at once may take a while
    told = place.call("ask", ASK_ONE, Person(action), mode)
    assert (told.data["status"], kinds(told)) == ("waiting", ["unavailable"])
    assert told.then == mcp.RELAY.replace("{run}", told.data["run"])
    assert told.data["ask"]["tool_input"]["questions"][0]["options"][0]["label"] == "Fine"
    printed = call(capsys, "next", told.data["run"], "--wait", "0")
    assert json.loads(printed.out) == told.data


@ERAS
def test_a_client_without_forms_gets_what_the_command_line_prints(
    place: Place, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The relay payload, and the command that takes the answer; with it, the run goes on."""
    told = place.call("ask", ASK_ONE, None, mode)
    assert told.then == mcp.RELAY.replace("{run}", told.data["run"])
    assert told.data["ask"]["reply_with"][:3] == ["quandary", "reply", told.data["run"]]
    assert json.loads(call(capsys, "next", told.data["run"], "--wait", "0").out) == told.data
    ended = call(capsys, *told.data["ask"]["reply_with"][1:-1], '{"response": "fine"}')
    assert json.loads(ended.out)["status"] == "done"


def test_a_client_whose_form_fails_gets_the_relay_payload(place: Place) -> None:
    """An error in the place of a form is no decision."""
    told = place.call("ask", ASK_ONE, Person("broken"), "legacy")
    assert (told.data["status"], kinds(told)) == ("waiting", ["unavailable"])
    assert "no screen" in told.data["notes"][0]["text"]
    assert "ask.tool_input" in told.then


@ERAS
def test_several_can_be_ticked(place: Place, mode: str) -> None:
    """A multi-select is a list, with words beside it."""
    person = Person({"answer_1": ["SEC", "UX"], "other_1": "and speed"})
    told = place.call("ask", {"text": MULTI, "context": CONTEXT}, person, mode)
    assert told.data["result"]["chosenItems"][0]["path"] == "SEC,UX,OTH/custom:and speed"
    assert person.forms[0].requested_schema["properties"]["answer_1"]["type"] == "array"


@ERAS
def test_words_are_read_like_any_reply(place: Place, mode: str) -> None:
    """A label that is typed is that option."""
    told = place.call("ask", ASK_ONE, Person({"other_1": "leave it out"}), mode)
    assert told.data["result"]["chosenItems"][0]["path"] == "CUT"


@ERAS
@pytest.mark.parametrize(
    ("field", "kind", "asked"),
    [("other_1", "question", "who wrote it?"), ("answer_1", "extra", "Show the plan")],
)
def test_what_the_person_asks_goes_to_the_agent(
    place: Place, mode: str, field: str, kind: str, asked: str
) -> None:
    """The call returns with the note; the agent answers with advise, and the form comes again."""
    typed = f"Q: {asked}" if kind == "question" else "A?"
    person = Person({field: typed}, {"answer_1": "CUT"})
    told = place.call("ask", {**ASK_ONE, "extras": ["A? Show the plan"]}, person, mode)
    assert (told.data["status"], told.then) == ("waiting", asking.ASKED_BACK)
    assert (kind, asked) in [(note["kind"], note["text"]) for note in told.data["notes"]]
    assert len(person.forms) == 1
    advice = {"run": told.data["run"], "text": "Here it is."}
    told = place.call("advise", advice, person, mode)
    assert told.data["result"]["chosenItems"][0]["path"] == "CUT"
    assert f"You asked: {asked}\n\nHere it is." in person.forms[1].message


@ERAS
@pytest.mark.parametrize("filled", [{"answer_1": "HLD"}, {"other_1": "who would keep it running?"}])
def test_a_hold_goes_to_the_agent(place: Place, mode: str, filled: dict[str, str]) -> None:
    """They want to talk first, so no form comes before the agent calls `next`."""
    options = [{"key": f"E{n}", "title": f"Thing {n}"} for n in range(1, 6)]
    person = Person(filled, {"answer_1": "CON"}, {"answer_1": "CUT"}, "cancel")
    told = place.call("split", {"options": options}, person, mode)
    assert (told.data["held"]["option"], len(person.forms)) == ("E1", 1)
    assert told.then == mcp.HELD + mcp.WAITS
    told = place.call("next", {"run": told.data["run"]}, person, mode)
    assert (told.data["ask"]["key"], len(person.forms)) == ("D1.2", 4)
    held = place.call("split", {"options": options[:1]}, None, mode).data["run"]
    booked(place, runs.look(place.store, held), "HLD")
    told = place.call("next", {"run": held}, None, mode)
    assert told.then == (mcp.HELD + mcp.RELAY).replace("{run}", held)


@ERAS
def test_a_branch_leads_to_another_form(place: Place, mode: str) -> None:
    """What a choice leads to is asked within the same call."""
    person = Person({"answer_1": "NO"}, {"answer_1": "SOON"})
    told = place.call("ask", {"text": BRANCH, "context": CONTEXT}, person, mode)
    assert told.data["result"]["chosenItems"][0]["path"] == "NO/SOON"
    consts = [
        c["const"] for c in person.forms[1].requested_schema["properties"]["answer_1"]["oneOf"]
    ]
    assert consts[:3] == ["NOW", "SOON", "REST"]


@ERAS
def test_other_left_blank_opens_its_menu(place: Place, mode: str) -> None:
    """What is behind Other can be reached without knowing it."""
    person = Person({"answer_1": "OTH"}, {"answer_1": "MOV"})
    told = place.call("ask", ASK_ONE, person, mode)
    assert told.data["result"]["chosenItems"][0]["path"] == "OTH/MOV"


@ERAS
def test_an_unanswered_question_of_several_is_asked_again(place: Place, mode: str) -> None:
    """The answers that were given stand."""
    person = Person({"answer_2": "CUT"}, {"answer_1": "OK"})
    told = place.call("ask", ASK, person, mode)
    assert [c["path"] for c in told.data["result"]["chosenItems"]] == ["OK", "CUT"]
    assert "answer_2" not in person.forms[1].requested_schema["properties"]


@ERAS
def test_a_choice_with_words_in_its_place_is_asked_about(place: Place, mode: str) -> None:
    """Nothing is guessed; the form that follows says why."""
    person = Person({"answer_1": "OK", "other_1": "better not"}, {"other_1": "not yet"})
    told = place.call("ask", ASK_ONE, person, mode)
    assert told.data["result"]["chosenItems"][0]["path"] == "NO"
    assert "“better not” was written" in person.forms[1].message


@ERAS
def test_after_ten_forms_the_call_returns_the_run(place: Place, mode: str) -> None:
    """Clients stop there, so that the server stops first; `next` goes on."""
    person = Person(*[{"other_1": "?"}] * 10, {"answer_1": "OK"})
    told = place.call("ask", ASK_ONE, person, mode)
    assert (told.data["status"], told.then) == ("waiting", asking.MORE_TO_ASK)
    assert len(person.forms) == 10
    again = place.call("next", {"run": told.data["run"]}, person, mode)
    assert again.data["status"] == "done"


@ERAS
def test_an_advisory_question_is_text_and_no_form(place: Place, mode: str) -> None:
    """READINGS 52: no form takes the person's attention; the agent shows text, and is told so."""
    person = Person({"answer_1": "OK"})
    told = place.call("ask", {**ASK_ONE, "kind": "advisory"}, person, mode)
    assert not person.forms
    assert "2. **Not yet**" in told.data["ask"]["text"]
    assert "tool_input" not in told.data["ask"]
    assert told.then == mcp.TEXT.replace("{run}", told.data["run"])
    again = place.call("next", {"run": told.data["run"]}, person, mode)
    assert (again.then, person.forms) == (told.then, [])


@ERAS
def test_what_was_answered_elsewhere_is_not_booked_twice(place: Place, mode: str) -> None:
    """Somebody at a terminal was faster; the one with the form is told so."""

    async def work(client: Client) -> Said:
        async def elsewhere() -> None:
            while not place.store.runs(waits="person"):
                await anyio.sleep(0.02)
            state = runs.look(place.store, place.store.runs()[0].id)
            booked(place, state, "CUT")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(elsewhere)
            result = await client.call_tool("ask", ASK_ONE)
        return said(result)

    told = place.at(work, Person((SLOWLY, {"answer_1": "OK"})), mode)
    assert told.data["result"]["chosenItems"][0]["path"] == "CUT"
    assert told.then == asking.TOO_LATE
    (answered,) = bodies(place, told.data["run"], Answered)
    assert answered.who == "person"


# -- forms that take long ------------------------------------------------------------------------


def test_a_call_returns_while_the_form_stays_open(place: Place) -> None:
    """No call waits for ever: the run is told, and what is filled in later is booked."""

    async def work(client: Client) -> tuple[Said, Said]:
        first = then = said(await client.call_tool("ask", ASK_ONE))
        while then.then == asking.STILL_OPEN:
            then = said(await client.call_tool("next", {"run": first.data["run"]}))
        return first, then

    person = Person((1.5, {"answer_1": "OK"}))
    first, then = place.at(work, person, "legacy", hold=0.7)
    assert (first.data["status"], first.then) == ("waiting", asking.STILL_OPEN)
    assert then.data["result"]["chosenItems"][0]["path"] == "OK"
    assert len(person.forms) == 1


def test_a_call_that_is_given_up_takes_its_form_away(place: Place) -> None:
    """The question waits in the journal, and nothing was said about it."""

    async def work(client: Client) -> None:
        with anyio.move_on_after(0.5):
            await client.call_tool("ask", ASK_ONE)
        await anyio.sleep(0.2)

    place.at(work, Person((30.0, {"answer_1": "OK"})), "legacy")
    (row,) = place.store.runs()
    assert (row.status, row.waits) == ("waiting", "person")
    assert bodies(place, row.id, Noted) == []


async def begun(client: Client) -> types.InputRequiredResult:
    """A form that was handed out, for whoever wants to call again by themselves."""
    form = await client.session.call_tool("ask", ASK_ONE, allow_input_required=True)
    assert isinstance(form, types.InputRequiredResult)
    return form


async def again(
    client: Client, state: str | None, content: dict[str, Any] | None, context: str = CONTEXT
) -> types.CallToolResult | types.InputRequiredResult:
    """Call once more with a form."""
    filled: types.InputResponses = {"ask": types.ElicitResult(action="accept", content=content)}
    arguments = {**ASK_ONE, "context": context}
    return await client.session.call_tool(
        "ask",
        arguments,
        input_responses=filled if content is not None else None,
        request_state=state,
        allow_input_required=True,
    )


def test_a_form_is_taken_once(place: Place) -> None:
    """Whoever sends the same form again changes nothing."""

    async def work(client: Client) -> list[Said]:
        form = await begun(client)
        results = [await again(client, form.request_state, {"other_1": "?"}) for _ in range(2)]
        assert isinstance(results[0], types.InputRequiredResult)
        assert isinstance(results[1], types.CallToolResult)
        return [said(results[1])]

    (told,) = place.at(work, Person(), "2026-07-28")
    assert told.then == asking.UNKNOWN_FORM
    assert len(bodies(place, told.data["run"], Answered)) == 1
    assert len(place.store.runs()) == 1


def test_a_forged_form_is_refused(place: Place) -> None:
    """A state that was changed, or that belongs to other arguments, books nothing."""

    async def work(client: Client) -> None:
        state = (await begun(client)).request_state
        assert state is not None
        swapped = "A" if state[20] != "A" else "B"
        for forged, context in (
            (state[:20] + swapped + state[21:], CONTEXT),
            ('{"run": "01", "form": "x"}', CONTEXT),
            (state, "Something else is decided."),
        ):
            with pytest.raises(MCPError):
                await again(client, forged, {"answer_1": "OK"}, context)

    place.at(work, Person(), "2026-07-28")
    (row,) = place.store.runs()
    assert row.status == "waiting"
    assert bodies(place, row.id, Answered) == []


def test_a_call_without_its_form_is_no_answer(place: Place) -> None:
    """A client that comes back with nothing has made a mistake, which is kept."""

    async def work(client: Client) -> Said:
        result = await again(client, (await begun(client)).request_state, None)
        assert isinstance(result, types.CallToolResult)
        return said(result)

    told = place.at(work, Person(), "2026-07-28")
    assert (told.data["status"], kinds(told)) == ("waiting", ["error"])
