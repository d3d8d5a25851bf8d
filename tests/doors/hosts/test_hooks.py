"""What a host's hooks are told: judged before, kept after, and never in the way."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import program
from quandary.desk import reply
from quandary.desk.authority import Caller
from quandary.desk.sheets import make_sheets
from quandary.doors import hosts
from quandary.doors.hosts import hooks
from quandary.journal import chance, runs
from quandary.journal.counts import occasions
from quandary.journal.entries import Answered, Noted
from quandary.journal.policy import set_preference
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Reply
from quandary.settings import Settings, read_settings

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.journal.store import State

LEVEL = "The new module has no log level yet. Which level should it use?"
PLACE = "The helper could stand in two places. Where should it go?"
ID = hooks.question_id(LEVEL)
NONE = Settings(None, ())
RELAYED = """\
# ¶ASK_LOG_LEVEL
Trigger: a module has no log level
Question: Of A) one B) two C) three D) four E) five, which level should the module use?

## Decision: Log Level
- [INF] Info (recommended)
  What matters
- [DBG] Debug
  All of it
- [SIL] Silent
  Nothing
- [OTH] Other
  - [ASK] Ask the team
    They know
  - [LAT] Later
    In the next module
"""


def call(*questions: dict[str, Any], response: object = None, **more: object) -> dict[str, Any]:
    """A call as a host tells of it."""
    return {
        "session_id": "s1",
        "tool_name": "AskUserQuestion",
        "tool_use_id": "t1",
        "tool_input": {"questions": list(questions)},
        "tool_response": response,
        **more,
    }


def question(text: str = LEVEL, *labels: str, multi: bool = False) -> dict[str, Any]:
    """One question of a call."""
    given_labels = labels or ("Info (Recommended)", "Debug", "Silent")
    options = [{"label": label, "description": f"It is {label}"} for label in given_labels]
    return {"question": text, "header": "Level", "multiSelect": multi, "options": options}


def heard(data: object) -> hooks.ToolCall:
    """A call that is one to a question tool."""
    told = hooks.read_call(data)
    assert told is not None
    return told


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    """An empty journal."""
    return SqliteStore(tmp_path / "journal.db")


def silence(store: SqliteStore, *ids: str) -> None:
    """A person does not want to be asked."""
    for id_ in ids:
        set_preference(
            store, id_, "never-ask", scope="here", origin="", who="person", through="terminal"
        )


def report(store: SqliteStore, *asked: dict[str, Any]) -> None:
    """The host reports that its person took the first option of each."""
    taken = {one["question"]: one["options"][0]["label"] for one in asked}
    after(store, call(*asked, tool_use_id="earlier", response={"answers": taken}))


def after(store: SqliteStore, data: dict[str, Any]) -> list[State]:
    """What is kept of a call."""
    return hooks.record(heard(data), store, "here")


# -- before ------------------------------------------------------------------------------------


def decides(store: SqliteStore, *asked: dict[str, Any]) -> bool:
    """Whether the hook answers in the person's place."""
    said = hooks.judge(heard(call(*asked)), store, "here", NONE)
    return said is not None and "hookSpecificOutput" in said


def test_a_report_of_the_host_lets_no_preference_decide_by_itself(store: SqliteStore) -> None:
    """Anybody can send one; only whoever sets the preference with their own hand takes it up."""
    silence(store, ID)
    report(store, question())
    assert not decides(store, question())
    relayed: dict[str, Any] = {"who": "agent", "through": "command"}
    set_preference(store, ID, "never-ask", scope="here", origin="user", **relayed)
    assert not decides(store, question())
    silence(store, ID)
    assert decides(store, question())


def test_a_question_of_the_host_that_has_changed_is_asked_and_says_so(store: SqliteStore) -> None:
    """Another text under an id of its own, another option, recommendation or preview."""
    mine = {**question(), "id": "log-level"}
    report(store, mine)
    silence(store, "log-level")
    assert decides(store, mine)
    changed = {**question("Shall it go to the mirror from now on?"), "id": "log-level"}
    assert not decides(store, changed)
    said = hooks.judge(heard(call(changed)), store, "here", NONE)
    assert said is not None
    assert "has changed" in said["systemMessage"]
    moved = {**question(LEVEL, "Info", "Debug (Recommended)"), "id": "log-level"}
    assert not decides(store, moved)
    shown = {**mine, "options": [{**mine["options"][0], "preview": "x"}, mine["options"][1]]}
    assert not decides(store, shown)


def test_what_a_question_of_the_host_is_about_counts_where_only_its_header_says_so(
    store: SqliteStore,
) -> None:
    """A phrase may not differ that the question itself leaves out."""
    report(store, mine := {**question(), "header": "Web part"})
    silence(store, ID)
    assert decides(store, mine)
    assert not decides(store, {**mine, "header": "Till in the shop"})


def test_options_that_have_no_letter_are_not_silenced(store: SqliteStore) -> None:
    """A preference is bound to what has one, and nobody has seen the others."""
    labels = ["Debug (Recommended)", *map(str, range(1, 26))]
    report(store, {**question(LEVEL, *labels), "id": "log-level"})
    silence(store, "log-level")
    assert decides(store, {**question(LEVEL, *labels), "id": "log-level"})
    assert not decides(store, {**question(LEVEL, *labels, "Off"), "id": "log-level"})


@pytest.mark.parametrize(
    ("data", "known"),
    [
        (call(question()), True),
        (call(question(), tool_name="mcp__host__AskUserQuestion"), True),
        (call(question(), tool_name="Bash"), False),
        (call(question(), tool_name="NotAskUserQuestion"), False),
        (call(), False),
        ({}, False),
        ([], False),
        (None, False),
        ({"tool_name": "AskUserQuestion", "tool_input": "x"}, False),
        ({"tool_name": "AskUserQuestion", "tool_input": {"questions": 3}}, False),
        ({"tool_name": "AskUserQuestion", "tool_input": {"questions": [5, {}, None]}}, False),
    ],
)
def test_only_question_tools_are_heard(data: object, known: bool) -> None:
    """Anything else is none of our business."""
    assert (hooks.read_call(data) is not None) is known


def test_it_says_nothing_unless_it_has_something_to_say(store: SqliteStore) -> None:
    """No preference, or one for another question, leaves the host alone."""
    assert hooks.judge(heard(call(question())), store, "here", NONE) is None
    silence(store, "another-question")
    assert hooks.judge(heard(call(question())), store, "here", NONE) is None
    assert [run.flow for run in store.runs()] == ["prefer"]


def test_a_preference_answers_in_place(store: SqliteStore) -> None:
    """The host's input with the answers, and a record booked as policy."""
    report(store, question())
    silence(store, ID)
    data = call(question())
    said = hooks.judge(heard(data), store, "here", NONE)
    assert said is not None
    output = said["hookSpecificOutput"]
    assert output["permissionDecision"] == "allow"
    assert output["updatedInput"] == {
        **data["tool_input"],
        "answers": {LEVEL: "Info (Recommended)"},
    }
    assert "preference" in output["additionalContext"]
    (state,) = after(store, {**data, "tool_response": {"answers": {LEVEL: "Info (Recommended)"}}})
    assert state.result["followed"] is True
    assert [run.flow for run in store.runs()] == ["question", "prefer", "prefer", "question"]
    (entry,) = store.entries(state.run, kinds=("answered",))
    assert entry.read().who == "policy"


def test_every_question_of_the_call_must_be_decidable(store: SqliteStore) -> None:
    """One that is not leaves all of them to the person."""
    place = question(PLACE, "Here (recommended)", "There")
    report(store, question(), place)
    silence(store, ID)
    assert not decides(store, question(), place)
    silence(store, hooks.question_id(PLACE))
    assert not decides(store, question(), question(PLACE, "Here", "There"))
    assert decides(store, question(), place)


@pytest.mark.parametrize(
    "asked",
    [
        question(LEVEL, "Info (Recommended)", "Delete the log"),
        question(LEVEL, "Info", "Debug (not recommended)"),
        question(LEVEL, "Info (Recommended)", "Debug (Recommended)"),
    ],
)
def test_what_matters_is_shown_to_the_person(store: SqliteStore, asked: dict[str, Any]) -> None:
    """Danger in an option, no recommendation, or two of them."""
    report(store, asked)
    silence(store, ID)
    assert hooks.judge(heard(call(asked)), store, "here", NONE) is None


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ([{"question": "Proceed?", "options": [{"label": "Yes"}, {"label": "No"}]}], "context"),
        ([question("The {module} has no level. Which one should it use now?")], "{module}"),
        ([question("The [topic] has no level. Which one should it use now?")], "[topic]"),
        ([question() | {"header": "{area}"}], "{area}"),
        ([question() | {"options": [{"label": "A", "preview": "| [topic] |"}]}], "[topic]"),
        ([question(), question()], "twice"),
        (
            [
                question(
                    "Which of these do we ship? A) chat B) mail C) calls D) maps E) notes",
                    "chat",
                    "mail",
                    "calls",
                    "maps",
                )
            ],
            "5 options and offers 4",
        ),
        (
            [question("Which ship? E1) bot E2) guild E3) teams E4) chat E5) mail", *"abcd")],
            "5 options and offers 4",
        ),
    ],
)
def test_strict_settings_refuse_what_nobody_can_answer(
    store: SqliteStore, tmp_path: Path, asked: list[dict[str, Any]], word: str
) -> None:
    """With a reason that says how to mend it; without them, nothing is said."""
    told = heard(call(*asked))
    assert hooks.judge(told, store, "here", NONE) is None
    (tmp_path / "quandary.toml").write_text("[hooks]\nstrict = true\n", encoding="utf-8")
    said = hooks.judge(told, store, "here", read_settings(str(tmp_path)))
    assert said is not None
    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert word in said["hookSpecificOutput"]["permissionDecisionReason"]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (("Yes", "No"), True),
        (("Yes (recommended)", "No, wait"), True),
        (("Approve", "Reject"), True),
        (("Back it up", "Copy it"), False),
        (("Backup", "No"), False),
        (("Yes", "Backup"), False),
        (("Yes", "No", "Copy"), False),
    ],
)
def test_what_a_yes_or_no_question_lists_are_no_options(
    labels: tuple[str, ...], told: bool
) -> None:
    """It lists facts; a list in front of any other options is one of options."""
    text = "The migration does 1) backup 2) copy 3) switch 4) check. Shall we run it on staging?"
    assert (hooks.find_fault(heard(call(question(text, *labels)))) == "") == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("新しいモジュールのログレベルはどれにしますか？", True),
        ("生产数据库缺少索引。要现在添加吗？", True),
        ("โมดูลใหม่ยังไม่มีระดับบันทึก จะใช้ระดับใด", True),
        ("続けますか？", False),
        ("要继续吗？", False),
        ("새 모듈을 계속할까요?", False),
    ],
)
def test_a_question_in_a_script_without_spaces_has_context_by_its_length(
    text: str, told: bool
) -> None:
    """Two characters count as a word there."""
    asked = {"question": text, "options": [{"label": "A"}, {"label": "B"}]}
    assert (hooks.find_fault(heard(call(asked))) == "") == told


def test_a_preview_in_a_block_of_code_has_no_slots() -> None:
    """What a program looks like is no text that waits to be filled in."""
    options = [{"label": "A", "description": "As code", "preview": "```\nf'{x}' [Save]\n```"}]
    assert hooks.find_fault(heard(call(question() | {"options": options}))) == ""


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Pick: A) one B) two C) three", 3),
        ("(A) one (B) two", 2),
        ("Which?\n\n**A)** one\n**B)** two\n**C)** three", 3),
        ("**1)** one **2.** two **3**. three", 3),
        ("**A) one** and _B)_ two", 2),
        ("“A) one”, “B) two”, `C)` three", 3),
        ("Is v1.2. better than v1.1. or $1. for us?", 0),
        ("1. one 2. two 3. three 4. four 5. five", 5),
        ("Plan B: go on", 0),
        ("Use vitamin A or B?", 0),
        ("A. is fine", 1),
        ("E1) Slack E2) Discord E3) Teams E4) Telegram E5) Mattermost: which do we ship?", 5),
        ("(E1) Slack, (E2) Discord, (E3) Teams", 3),
        ("TODO-2: log it, TODO-3: cache it, TODO-4: drop it", 0),
        ("T2: log it, T3: cache it, T4: drop it", 3),
        ("Which of E1…E6 do we ship?", 6),
        ("Which of E1)–E5) do we ship?", 5),
        ("Shall we move from v1 to v9 in Q1–Q3?", 0),
    ],
)
def test_lettered_and_numbered_options_are_counted(text: str, count: int) -> None:
    """Letters and numbers only where they begin at the beginning."""
    assert hooks.count_listed_options(text) == count


def test_ids_are_stable_and_short() -> None:
    """Long texts that begin alike are told apart."""
    one, two = ("word " * 40 + ending for ending in ("one", "two"))
    assert hooks.question_id(one) == hooks.question_id(one)
    assert hooks.question_id(one) != hooks.question_id(two)
    assert len(hooks.question_id(one)) <= 64
    assert hooks.question_id("Which level?") == "which-level"
    assert hooks.question_id("???") == "option"


# -- after ---------------------------------------------------------------------------------------


def test_every_question_is_kept_with_its_answer(store: SqliteStore) -> None:
    """What was recommended, whether it was followed, and who answered."""
    answers = {LEVEL: "Debug", PLACE: "Over here, There"}
    places = question(PLACE, "Over here", "There", "Nowhere", multi=True)
    level, place = after(store, call(question(), places, response={"answers": answers}))
    assert level.result["answer"] == ["Debug"]
    assert level.result["recommended"] == ["Info"]
    assert level.result["followed"] is False
    assert place.result["answer"] == ["Over here", "There"]
    assert place.result["followed"] is None
    for state in (level, place):
        (entry,) = store.entries(state.run, kinds=("answered",))
        body = entry.read()
        assert isinstance(body, Answered)
        assert (body.who, body.through) == ("host", "hook")


def test_what_is_no_question_leaves_no_record(store: SqliteStore) -> None:
    """The questions around it are kept with their own answers, and none is decided unseen."""
    data = call(question(), response={"answers": {PLACE: "There"}})
    data["tool_input"]["questions"][:] = [5, {"header": "x"}, question(PLACE, "Here", "There")]
    silence(store, ID)
    assert hooks.judge(heard(data), store, "here", NONE) is None
    (kept,) = after(store, data)
    assert kept.result["answer"] == ["There"]


def test_a_call_is_kept_once_however_often_it_comes(store: SqliteStore) -> None:
    """Also when the first telling was cut short."""
    data = call(
        question(), question(PLACE, "Here", "There"), response={"answers": {LEVEL: "Debug"}}
    )
    told = heard(data)
    hooks.begin_record(store, told, told.questions[0], "here", prefer=False)
    first = after(store, data)
    assert [state.status for state in first] == ["done", "withdrawn"]
    assert after(store, data) == first
    assert len(store.runs()) == 2
    after(store, {**data, "tool_use_id": "t2"})
    assert len(store.runs()) == 4


def test_what_is_only_relayed_is_kept_by_its_own_run(tmp_path: Path) -> None:
    """The run that asks it has a record already; one that nobody waits for any more is kept."""
    (tmp_path / "tree.md").write_text(program.DEPLOY, encoding="utf-8")
    env = {"QUANDARY_STORE": str(tmp_path / "journal.db")}
    asked = program.start(
        "ask", str(tmp_path / "tree.md"), "--context", "All green.", "--via", "relay", env=env
    )
    state = json.loads(asked.out)
    (relayed,) = state["ask"]["tool_input"]["questions"]
    data = call(relayed, response={"answers": {relayed["question"]: "Deploy now"}})
    store = SqliteStore(tmp_path / "journal.db")
    project = store.runs()[0].project
    assert hooks.record(heard(data), store, project) == []
    assert [row.id for row in store.runs()] == [state["run"]]
    assert len(hooks.record(heard(data), store, "elsewhere")) == 1
    runs.withdraw(store, state["run"], "no longer needed", who="agent", through="command")
    (kept,) = hooks.record(heard({**data, "tool_use_id": "t2"}), store, project)
    assert kept.result["answer"] == ["Deploy now"]


def test_a_question_that_a_run_relays_is_recognised_before_preferences_and_strict_settings(
    tmp_path: Path,
) -> None:
    """The run that asks it has judged it: nothing in a split is decided, and nothing refused."""
    (tmp_path / "tree.md").write_text(RELAYED, encoding="utf-8")
    (tmp_path / "quandary.toml").write_text("[hooks]\nstrict = true\n", encoding="utf-8")
    words = ("ask", str(tmp_path / "tree.md"), "--context", "There is none yet.", "--via", "relay")
    env = {"QUANDARY_STORE": str(tmp_path / "journal.db")}
    (relayed,) = json.loads(program.start(*words, env=env).out)["ask"]["tool_input"]["questions"]
    store = SqliteStore(tmp_path / "journal.db")
    project, told = store.runs()[0].project, heard(call(relayed))
    taken = {relayed["question"]: relayed["options"][0]["label"]}
    hooks.record(heard(call(relayed, tool_use_id="t0", response={"answers": taken})), store, "")
    said: dict[str, Any] = {"scope": "", "origin": "", "who": "person", "through": "terminal"}
    set_preference(store, told.questions[0].id, "never-ask", **said)
    strict, words_of = read_settings(str(tmp_path)), "permissionDecision"
    for settings_, expected in ((NONE, "allow"), (strict, "deny")):
        decided = hooks.judge(told, store, "elsewhere", settings_)
        assert decided is not None
        assert decided["hookSpecificOutput"][words_of] == expected
        assert hooks.judge(told, store, project, settings_) is None


def test_a_question_that_a_run_relays_is_recognised_however_many_wait_beside_it(
    store: SqliteStore,
) -> None:
    """Those that began after it do not hide it, so that nothing of it is recorded twice."""
    said: dict[str, Any] = {"project": "here", "who": "agent", "through": "command"}
    lists = [[{"key": f"E{n}", "title": f"Part {n} of {at}"} for n in range(5)] for at in range(60)]
    first, *_ = [runs.begin(store, "split", {"options": one}, **said) for one in lists]
    assert first.ask is not None
    (sheet,) = make_sheets(first.ask)
    told = heard(call(question(sheet.text, *(option.label for option in sheet.options))))
    assert hooks.find_relayed_run(told, store, "here") == first
    assert hooks.record(told, store, "here") == []


# -- how long it took ------------------------------------------------------------------------------


def hook(store: SqliteStore, event: str, folder: Path, **more: object) -> None:
    """The hook in this process, on a store that the environment names."""
    data = call(question(), cwd=str(folder), response={"answers": {LEVEL: "Debug"}}, **more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUANDARY_STORE", store.path)
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        hosts.respond(event, json.dumps(data).encode())


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [(90_000, 90), (1500.5, 1.5005), (None, 40), ("90", 40), (-1, 40), (True, 40), (10**30, 40)],
)
def test_the_time_of_a_hosts_question_is_its_duration_else_from_pre_to_post(
    store: SqliteStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    duration: object,
    seconds: float,
) -> None:
    """The record is written when all is over, and would say that nobody took any time."""
    begun = chance.now()
    hook(store, "pre", tmp_path)
    monkeypatch.setattr(chance, "now", lambda: begun + timedelta(seconds=40))
    hook(store, "post", tmp_path, **({} if duration is None else {"duration_ms": duration}))
    (occasion,) = occasions(store)
    assert occasion.seconds == pytest.approx(seconds, abs=1)
    assert not list((tmp_path / "state" / "quandary" / "hooks").iterdir())
    assert verify(store).ok


def test_without_either_the_time_of_a_hosts_question_is_that_of_its_record(
    store: SqliteStore, tmp_path: Path
) -> None:
    """No hook was there before it, and the host says nothing."""
    hook(store, "post", tmp_path)
    (occasion,) = occasions(store)
    assert occasion.seconds == pytest.approx(0, abs=60)


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        ({"answers": {}, "afkTimeoutMs": 60000}, "idle"),
        ({"answers": {LEVEL: "Info (Recommended)"}, "afkTimeoutMs": 60000}, "idle"),
        ({"is_error": True, "content": "boom"}, "error"),
        ("[Tool result missing due to internal error]", "error"),
        ({"answers": {}}, "dismissed"),
        ("User declined to answer questions", "dismissed"),
        (None, "error"),
        (3, "error"),
    ],
)
def test_what_is_no_answer_is_nobodys(store: SqliteStore, response: object, kind: str) -> None:
    """It is noted as the host's report, the record ends as withdrawn, and no person is booked."""
    (state,) = after(store, call(question(), response=response))
    assert state.status == "withdrawn"
    noted = store.entries(state.run, kinds=("noted",))[0].read()
    assert isinstance(noted, Noted)
    assert (noted.kind, noted.who, noted.through) == (kind, "host", "hook")
    assert store.entries(state.run, kinds=("answered",)) == []


@pytest.mark.parametrize(
    ("said", "picked", "text"),
    [
        ("my own level", [], "my own level"),
        (["Debug"], ["Debug"], None),
        ("Info (Recommended)", ["Info"], None),
        ("Info", [], "Info"),
    ],
)
def test_own_words_are_kept_as_they_are(
    store: SqliteStore, said: object, picked: list[str], text: str | None
) -> None:
    """Labels are those that the host spells."""
    (state,) = after(store, call(question(), response={"answers": {LEVEL: said}}))
    assert (state.result["answer"], state.result["text"]) == (picked, text)


def test_sentences_of_the_host_are_read_too(store: SqliteStore) -> None:
    """As the agent sees them."""
    sentence = f'Your questions have been answered: "{LEVEL}"="Debug". You can now continue'
    (state,) = after(store, call(question(), response=sentence))
    assert state.result["answer"] == ["Debug"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SHAPES = st.fixed_dictionaries(
    {"tool_name": st.just("AskUserQuestion")},
    optional={
        "tool_use_id": JSON,
        "session_id": JSON,
        "tool_input": st.fixed_dictionaries(
            {},
            optional={
                "questions": JSON
                | st.lists(
                    st.fixed_dictionaries(
                        {},
                        optional=dict.fromkeys(("question", "header", "options", "id"), JSON),
                    ),
                    max_size=4,
                )
            },
        ),
        "tool_response": JSON
        | st.fixed_dictionaries({}, optional={"answers": JSON, "annotations": JSON}),
    },
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(SHAPES)
def test_any_shape_is_heard_or_left_alone(store: SqliteStore, data: dict[str, Any]) -> None:
    """Nothing that a host may send breaks it, and nothing waits for ever."""
    told = hooks.read_call(data)
    if told is not None:
        said = hooks.judge(told, store, "here", NONE)
        assert said is None
        for state in hooks.record(told, store, "here"):
            assert state.status in ("done", "withdrawn")


# -- as the host calls it --------------------------------------------------------------------------


def start(tmp_path: Path, event: str, data: bytes) -> program.Ended:
    """The hook as a process."""
    env = {"QUANDARY_STORE": str(tmp_path / "journal.db"), "XDG_DATA_HOME": str(tmp_path)}
    return program.start("hook", event, stdin=data, env={**env, "XDG_CONFIG_HOME": str(tmp_path)})


@pytest.mark.parametrize("event", ["pre", "post"])
@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"tool_name": 1}'])
def test_nothing_that_comes_in_gets_in_the_way(tmp_path: Path, event: str, data: bytes) -> None:
    """Status 0 and silence; what went wrong is in the log."""
    ended = start(tmp_path, event, data)
    assert ended == (0, "", "")
    if data != b'{"tool_name": 1}':
        assert "Error" in (tmp_path / "quandary" / "hook.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_store_that_cannot_be_used_has_it_asked_with_a_note(tmp_path: Path, kind: str) -> None:
    """The person is asked and told why; what nobody can answer is still refused."""
    place = tmp_path / "journal.db"
    if kind == "folder":
        place.mkdir()
    else:
        place.write_text("no database at all, but long enough to be one" * 9)
    data = json.dumps(call(question(), cwd=str(tmp_path))).encode()
    asked = start(tmp_path, "pre", data)
    assert (asked.status, asked.err) == (0, "")
    assert [*json.loads(asked.out)] == ["systemMessage"]
    assert "cannot be read" in asked.out
    assert start(tmp_path, "post", data) == (0, "", "")
    log = tmp_path / "quandary" / "hook.log"
    assert "StoreError" in log.read_text(encoding="utf-8")
    (tmp_path / "quandary" / "config.toml").write_text("[hooks]\nstrict = true\n")
    assert "cannot be read" in start(tmp_path, "pre", data).out
    data = json.dumps(call(question("Go on?") | {"header": "TBD"}, cwd=str(tmp_path))).encode()
    assert "TBD" in start(tmp_path, "pre", data).out


def test_a_store_that_is_not_what_it_was_has_it_asked_with_a_note(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A preference in it counts no more, which is said once."""
    report(store, question())
    silence(store, ID)
    monkeypatch.setattr(type(store), "missing", "12 entries are missing")
    other = question(PLACE)
    said = hooks.judge(heard(call(question(), other)), store, "here", NONE)
    assert said is not None
    assert said["systemMessage"].count("not what was seen here before") == 1


def test_many_hooks_at_once_lose_no_record(tmp_path: Path) -> None:
    """Each in a process of its own, on one store."""
    SqliteStore(tmp_path / "journal.db").close()
    calls = [
        call(question(), tool_use_id=f"t{n}", response={"answers": {LEVEL: "Debug"}})
        for n in range(24)
    ]

    def post(data: dict[str, Any]) -> int | None:
        return start(tmp_path, "post", json.dumps(data).encode()).status

    with ThreadPoolExecutor(len(calls)) as pool:
        assert set(pool.map(post, calls)) == {0}
    store = SqliteStore(tmp_path / "journal.db")
    assert len(store.runs(status="done", limit=1000)) == 24
    assert verify(store).ok


@pytest.mark.parametrize("event", ["pre", "post", "permission", "session"])
def test_a_hook_loads_neither_the_command_line_nor_anything_heavy(
    tmp_path: Path, event: str
) -> None:
    """It runs around every question of an agent."""
    (tmp_path / "quandary").mkdir()
    rules = '[permissions.rules]\nlooks = "allow Bash command=ls"\n'
    (tmp_path / "quandary" / "config.toml").write_text(rules, encoding="utf-8")
    said = call(question(), response={"answers": {LEVEL: "Debug"}})
    if event == "permission":
        said |= {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    code = (
        f"import os, sys; sys.argv, os._exit = ['quandary', 'hook', '{event}'], sys.exit\n"
        "from quandary.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'click', 'rapidfuzz', 'platformdirs', 'rich', 'asyncio', 'textual', 'psycopg'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(said),
        env=program.environment(
            {"QUANDARY_STORE": str(tmp_path / "journal.db"), "XDG_CONFIG_HOME": str(tmp_path)}
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.splitlines()[-1] == "[]"
    recorded = len(SqliteStore(tmp_path / "journal.db").runs())
    assert recorded == (event in ("post", "permission"))


def codex(*questions: dict[str, Any], **more: Any) -> bytes:  # noqa: ANN401 - any JSON
    """A call of Codex to its own question tool."""
    told = call(*questions, turn_id="1", **more)
    return json.dumps({**told, "tool_name": "request_user_input"}).encode()


def test_codex_hears_an_answer_as_the_reason_of_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person's in the inbox; with nobody there nothing is said, and its own box appears."""
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "journal.db"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "quandary").mkdir()
    own = tmp_path / "quandary" / "config.toml"
    own.write_text('[hooks]\nroute = "inbox"\nwait = 30\n', encoding="utf-8")
    store = SqliteStore(tmp_path / "journal.db")
    said: list[bytes] = []
    data = codex(question(), cwd=str(tmp_path))
    thread = threading.Thread(target=lambda: said.append(hosts.respond("pre", data, "codex")))
    thread.start()
    late = time.monotonic() + 20
    while not (waiting := runs.inbox(store)) and time.monotonic() < late:
        time.sleep(0.02)
    meant = Reply((Answer("1:", ("B",), comment="for now"),))
    reply.record_reply(store, Caller("person", "web"), waiting[0].id, meant)
    thread.join(20)
    told = json.loads(said[0])["hookSpecificOutput"]
    assert told["permissionDecision"] == "deny"
    reason = f"Continue with that answer: “{LEVEL}”: “Debug”, with the note “for now”"
    assert told["permissionDecisionReason"].endswith(reason)
    own.write_text('[hooks]\nroute = "inbox"\nwait = 0.1\n', encoding="utf-8")
    data = codex(question(), cwd=str(tmp_path), tool_use_id="t2")
    assert hosts.respond("pre", data, "codex") == b""
    assert runs.inbox(store) == []
