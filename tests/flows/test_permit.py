"""Permits: what a person sees, what they can say, and what comes of it."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.errors import Rejected
from quandary.flows.permit import permit
from quandary.model.asks import Annotation, Answer, Ask, Reply
from quandary.model.calls import Do, Done
from quandary.model.requests import PermitRequest, digest_input

PUSH = PermitRequest(
    "run a command", '{"command": "git push"}', tool="Bash", host="claude", folder="/s"
)


def play(
    request: PermitRequest, *answers: Answer, used: str = ""
) -> tuple[list[Any], dict[str, Any]]:
    """Everything that the flow asks for, and its result; an allowed one is used."""
    flow, asked = permit(request), list[Any]()
    given = list(answers)
    try:
        now = next(flow)
        while True:
            asked.append(now)
            if isinstance(now, Do):
                now = flow.send(Done(now.key, used or now.argument))
            else:
                now = flow.send(Reply((given.pop(0),), (("person", "web"),)))
    except StopIteration as end:
        return asked, end.value


def codes(request: PermitRequest) -> list[str]:
    """What is offered for a request."""
    ask = next(permit(request))
    assert isinstance(ask, Ask)
    assert ask.require == "person"
    return [choice.code for choice in ask.questions[0].choices]


def test_allowed_once_it_waits_for_its_use() -> None:
    """After Allow the flow asks for the use, with the digest of the input."""
    (ask, use), result = play(PUSH, Answer("1:", ("ONE",)))
    assert (use.deed, use.argument) == ("use", PUSH.digest)
    assert (result["decision"], result["used"], result["by"]) == ("allow", True, "person")
    assert "git push" in ask.questions[0].text


def test_a_use_of_something_else_is_refused() -> None:
    """Whatever the driver is handed, the flow holds it against what was allowed."""
    with pytest.raises(Rejected, match="is for"):
        play(PUSH, Answer("1:", ("ONE",)), used=digest_input("{}"))


def test_denied_nothing_is_used() -> None:
    """A remark beside it reaches whoever asked."""
    asked, result = play(PUSH, Answer("1:", ("NO",), comment="Not on a Friday."))
    assert len(asked) == 1
    assert (result["decision"], result["message"]) == ("deny", "Not on a Friday.")


def test_own_words_deny() -> None:
    """Words that name no choice are no permission, and they are what the agent is told."""
    asked, result = play(PUSH, Answer("1:", text="push to a branch"))
    assert len(asked) == 1
    assert (result["decision"], result["message"]) == ("deny", "push to a branch")


def test_the_session_is_offered_only_with_the_rule_of_the_host() -> None:
    """Its label quotes the rule whole; what cannot be taken back is never allowed like that."""
    ruled = PermitRequest("run a command", '{"command": "ls"}', tool="Bash", rule="Bash(ls:*)")
    assert codes(ruled) == ["ONE", "SES", "NO"]
    ask = next(permit(ruled))
    assert isinstance(ask, Ask)
    assert ask.questions[0].choices[1].label == "Allow for this session: Bash(ls:*)"
    assert codes(PUSH) == ["ONE", "NO"]
    forced = PermitRequest(
        "x", '{"command": "git push --force"}', tool="Bash", rule="Bash(git push:*)"
    )
    assert codes(forced) == ["ONE", "NO"]


def test_a_changed_command_is_what_is_allowed() -> None:
    """The digest is that of the changed input; what is no input is asked for again."""
    taking = PermitRequest(
        "run a command", '{"command": "git push", "n": 1}', tool="Bash", takes="text"
    )
    answers = (
        Answer("1:", ("CHG",)),
        Answer("1:CHG"),
        Answer("1:CHG~2", text="git push -n", raw="git push -n"),
    )
    asked, result = play(taking, *answers)
    assert json.loads(result["input"]) == {"command": "git push -n", "n": 1}
    assert asked[-1].argument == result["digest"] == digest_input(result["input"])
    assert asked[-1].argument != taking.digest


def test_a_plan_is_approved_revised_or_rejected() -> None:
    """It is shown as Markdown; own words send it back, and the next version shows what changed."""
    text = json.dumps({"plan": "# Plan\n\n- one\n- two\n"})
    plan = PermitRequest("carry out a plan", text, tool="ExitPlanMode", before="# Plan\n\n- one\n")
    assert codes(plan) == ["OK", "REV", "NO"]
    (ask, _), result = play(plan, Answer("1:", ("OK",), comment="two first"))
    assert ask.preamble.blocks[0] == "# Plan\n\n- one\n- two\n"
    assert "~~~diff" in ask.preamble.blocks[1]
    assert "+- two" in ask.preamble.blocks[1]
    assert (result["decision"], result["message"]) == ("allow", "two first")
    remark = Annotation("plan.md", 3, "which one?")
    noted = Answer("1:", ("REV",), comment="add tests", annotations=(remark,))
    assert play(plan, noted)[1]["message"] == "plan.md:3 which one?\nadd tests"
    for answer in (Answer("1:", text="add tests"), Answer("1:", ("REV",), comment="add tests")):
        _, result = play(plan, answer)
        assert (result["decision"], result["code"]) == ("deny", "REV")
        assert result["message"] == "add tests"
    assert play(plan, Answer("1:", ("NO",)))[1]["code"] == "NO"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
KEYS = "command cmd description file_path path plan edits content old_string new_string x"
NAMES = st.sampled_from(KEYS.split())


@given(
    st.sampled_from(["", "Bash", "Edit", "Write", "ExitPlanMode", "mcp__a__b"]),
    st.dictionaries(NAMES, VALUES) | VALUES,
    st.sampled_from(["", "text", "json"]),
)
def test_whatever_is_to_be_done_can_be_asked_about(
    tool: str, values: object, takes: Literal["", "text", "json"]
) -> None:
    """Any input can be shown, allowed and used."""
    request = PermitRequest("do it", json.dumps(values), tool=tool, folder="/s", takes=takes)
    ask = next(permit(request))
    assert isinstance(ask, Ask)
    code = ask.questions[0].choices[0].code
    assert play(request, Answer("1:", (code,)))[1]["digest"] == request.digest


EDIT = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("old_string", "new_string", "old_str", "replace_all", "x"), st.just("?")
    ),
)


@given(
    st.sampled_from(["Bash", "Edit", "Write", "ExitPlanMode", "mcp__a__b"]),
    st.dictionaries(
        st.sampled_from([*KEYS.split(), "file_text", "new_str", "old_str", "allowedPrompts"]),
        st.just("?") | st.lists(EDIT, max_size=3),
    ),
)
def test_nothing_is_allowed_that_is_not_shown(tool: str, values: dict[str, Any]) -> None:
    """Whatever stands beside a diff, a command or a plan belongs to the input, and is seen."""
    texts: list[str] = []

    def fill(value: object) -> object:
        if isinstance(value, str):
            texts.append(f"text-{len(texts)}-")
            return texts[-1]
        listed = value if isinstance(value, list) else []
        return [{name: fill(one) for name, one in entry.items()} for entry in listed]

    given_ = {name: fill(value) for name, value in values.items()}
    ask = next(permit(PermitRequest("do it", json.dumps(given_), tool=tool, folder="/s")))
    assert isinstance(ask, Ask)
    assert [text for text in texts if text not in ask.preamble.text] == []


def test_what_an_agent_says_of_its_command_looks_like_nothing_else() -> None:
    """It stays on one line, in quotation marks."""
    said = "harmless\n\n- **Approved by**: security"
    text = json.dumps({"command": "ls", "description": said})
    named: dict[str, Any] = {
        "tool": said,
        "agent": said,
        "host": said,
        "asker": said,
        "reason": said,
    }
    bare: dict[str, Any] = {"tool": "Bash", "reason": said}
    for more in (bare, named):
        ask = next(permit(PermitRequest(said, text, **more)))
        assert isinstance(ask, Ask)
        for shown in (ask.preamble.text, ask.questions[0].text):
            assert "\n- **Approved by**" not in shown


@pytest.mark.parametrize(
    ("tool", "values", "shown"),
    [
        ("Edit", {"file_path": "/s/a", "old_string": "x\n", "new_string": "y\n"}, "-x\n+y"),
        ("Write", {"file_path": "/s/a", "content": "one\ntwo\n"}, "+one\n+two"),
        ("Bash", {"command": "echo '~~~'\nls"}, "echo '~~~'\nls"),
        ("mcp__db__query", {"sql": "select 1"}, '{"sql": "select 1"}'),
    ],
)
def test_an_input_is_shown_whole(tool: str, values: dict[str, Any], shown: str) -> None:
    """Edits as diffs, commands quoted, anything else as it is; no fence in it ends ours."""
    ask = next(permit(PermitRequest("do it", json.dumps(values), tool=tool, folder="/s")))
    assert isinstance(ask, Ask)
    text = ask.preamble.text
    assert shown in text
    fence = text[text.index("~~~") :].split("\n", 1)[0].rstrip("abcdefghijklmnopqrstuvwxyz")
    assert fence not in shown


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf __pycache__ **",
        "echo Fine. That is all. Well. rm x",
        "curl [harmless](http://x) <b>",
        "echo ``` `x` \n# Approved",
    ],
)
def test_what_an_agent_wrote_is_quoted_in_the_question(command: str) -> None:
    """All of it, as code on one line, whatever it would be as Markdown."""
    text = json.dumps({"command": command, "description": "x\n\n**Approved**"})
    hostile = PermitRequest("run a command", text, tool="Bash", agent="a\n\n# ok", session="**s**")
    ask = next(permit(hostile))
    assert isinstance(ask, Ask)
    line = " ".join(command.split())
    mark = "````" if "```" in command else "`"
    question = ask.questions[0].text
    assert f"{mark} {line} {mark}" in question or f"`{line}`" in question
    assert "\n" not in question
    assert "- Session: `**s**`" in ask.preamble.context
    assert "\n#" not in ask.preamble.context
    assert "It says: `x **Approved**`" in ask.preamble.text
