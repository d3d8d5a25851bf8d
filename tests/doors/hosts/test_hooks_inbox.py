"""A host's questions in our inbox: a person's own hand answers, and nobody else's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import program
from quandary.desk import reply as replies
from quandary.desk.authority import Caller
from quandary.doors import hosts
from quandary.doors.hosts import hooks
from quandary.errors import AlreadyAnswered, ParseError, QuandaryError, Rejected, StoreError
from quandary.journal import runs
from quandary.journal.counts import occasions
from quandary.journal.entries import Answered, Ended
from quandary.journal.runs import answer_of
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Outcome, Reply
from quandary.settings import Part, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from quandary.journal.store import State

LEVEL = "The new module has no log level yet. Which level should it use?"
PLACE = "The helper could stand in two places. Where should it go?"


def set_to(**hooks: object) -> Settings:
    """Settings with a table `[hooks]`."""
    return Settings(None, (Part("user", "config.toml", {"hooks": hooks}),))


def call(*questions: dict[str, Any], response: object = None, id_: str = "t1") -> dict[str, Any]:
    """A call as the host tells of it."""
    return {
        "session_id": "s1",
        "tool_name": "AskUserQuestion",
        "tool_use_id": id_,
        "tool_input": {"questions": list(questions)},
        "tool_response": response,
    }


def question(text: str = LEVEL, *labels: str, multi: bool = False) -> dict[str, Any]:
    """One question of a call."""
    options = [{"label": label} for label in labels or ("Info (Recommended)", "Debug", "Silent")]
    return {"question": text, "header": "Level", "multiSelect": multi, "options": options}


def heard(data: dict[str, Any]) -> hooks.ToolCall:
    """A call that is one to a question tool."""
    told = hooks.read_call(data)
    assert told is not None
    return told


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    """An empty journal."""
    return SqliteStore(tmp_path / "journal.db")


class Asked:
    """The hook before a question, at work in a thread."""

    def __init__(self, store: SqliteStore, data: dict[str, Any], wait: float = 20) -> None:
        self.store = store
        self.output: Any = None
        self._thread = threading.Thread(target=self._work, args=(data, wait))
        self._thread.start()

    def _work(self, data: dict[str, Any], wait: float) -> None:
        chosen = set_to(route="inbox", wait=wait)
        self.output = hooks.ask_person(heard(data), self.store, "/projects/shop", chosen)

    def states(self, count: int = 1) -> list[State]:
        """What waits in the inbox."""
        until = time.monotonic() + 10
        while (
            len(rows := runs.inbox(self.store)) < count
            and self._thread.is_alive()
            and time.monotonic() < until
        ):
            time.sleep(0.01)
        assert len(rows) == count
        return [runs.look(self.store, row.id) for row in rows]

    def said(self) -> Any:  # noqa: ANN401 - any JSON
        """What the host is told in the end."""
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.output

    def updated(self) -> Any:  # noqa: ANN401 - any JSON
        """The host's input with the answers in it."""
        output = self.said()["hookSpecificOutput"]
        assert output["hookEventName"] == "PreToolUse"
        assert output["permissionDecision"] == "allow"
        return output["updatedInput"]


def answer(store: SqliteStore, state: State, *codes: str, **more: Any) -> State:  # noqa: ANN401
    """A person answers in the browser."""
    reply = Reply((Answer(state.key or "", codes, **more),))
    return runs.advance(store, state.run, reply, to=state.key, who="person", through="web")


def kinds(store: SqliteStore, run: str) -> list[str]:
    """What happened to a run."""
    return [entry.kind for entry in store.entries(run)]


# -- answered in time ------------------------------------------------------------------------------


def test_the_answer_from_the_inbox_is_handed_to_the_host(store: SqliteStore) -> None:
    """As the tool's own answer, spelt as the host spells it; `post` adds nothing to the record."""
    data = call(question())
    asked = Asked(store, data)
    (state,) = asked.states()
    assert state.ask is not None
    assert "An agent at work in shop asks this." in state.ask.preamble.text
    answer(store, state, "A")
    assert asked.updated() == {**data["tool_input"], "answers": {LEVEL: "Info (Recommended)"}}
    before = store.newest()
    again = call(question(), response={"answers": {LEVEL: "Info (Recommended)"}})
    (kept,) = hooks.record(heard(again), store, "/projects/shop")
    assert (kept.run, kept.result["answer"]) == (state.run, ["Info"])
    assert store.newest() == before
    assert len(store.runs()) == 1
    assert verify(store).ok


def test_every_question_of_a_call_is_answered(store: SqliteStore) -> None:
    """Each a record of its own; several options, own words and a note come through."""
    data = call(question(), question(PLACE, "Here", "There", "Nowhere", multi=True))
    asked = Asked(store, data)
    level, place = asked.states(2)
    assert level.ask is not None
    assert "as question 1 of 2" in level.ask.preamble.text
    answer(store, place, "A", "B")
    answer(store, level, text="Warnings only", raw="Warnings only", comment="for now")
    assert asked.updated() == {
        **data["tool_input"],
        "answers": {LEVEL: "Warnings only", PLACE: "Here, There"},
        "annotations": {LEVEL: {"notes": "for now"}},
    }
    assert len(store.runs()) == 2


@pytest.mark.parametrize(
    ("typed", "given_back"),
    [
        ({"prefix": "question", "argument": "why?", "raw": "Q: why?"}, "Q: why?"),
        ({"among": ("A", "B"), "text": "either", "raw": "either"}, "either"),
        ({"text": "None of it", "raw": "  None of it "}, "None of it"),
    ],
)
def test_words_that_choose_nothing_reach_the_agent_as_they_are(
    store: SqliteStore, typed: dict[str, Any], given_back: str
) -> None:
    """And when the host tells of them again, the record stays as the person made it."""
    asked = Asked(store, call(question()))
    (state,) = asked.states()
    answer(store, state, **typed)
    assert asked.updated()["answers"] == {LEVEL: given_back}
    before = store.newest()
    hooks.record(heard(call(question(), response={"answers": {LEVEL: given_back}})), store, "here")
    assert store.newest() == before


LABELS = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=9)
    | st.sampled_from(["Yes", "Yes, and", "and", "No (Recommended)", "A, B", "B"]),
    min_size=2,
    max_size=4,
    unique=True,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(LABELS, st.booleans(), st.sets(st.integers(0, 3), min_size=1), st.text(max_size=5))
@example(labels=["0", " "], multi=True, picks={0, 1}, words="")
def test_what_was_handed_over_is_known_again(
    store: SqliteStore, labels: list[str], multi: bool, picks: set[int], words: str
) -> None:
    """Whatever options are called: the host's report changes nothing in the person's record."""
    picked = [n for n in sorted(picks) if n < len(labels)][: None if multi else 1]
    codes = tuple("ABCD"[n] for n in picked)
    data = call(question(LEVEL, *labels, multi=multi), id_=f"t{store.newest()}")
    told = heard(data)
    (asked,) = told.questions
    state = hooks.begin_record(store, told, asked, "here", prefer=False)
    given_answer = Answer(asked.key, codes) if codes else Answer(asked.key, text=words, raw=words)
    reply = Reply((given_answer,))
    runs.advance(store, state.run, reply, to=state.key, who="person", through="web")
    spelt = hooks.spell(told, asked, given_answer)
    before = store.newest()
    hooks.record(heard({**data, "tool_response": {"answers": {LEVEL: spelt}}}), store, "here")
    assert store.newest() == before


def test_previews_are_shown_with_the_question(store: SqliteStore) -> None:
    """What the host's form would show beside an option is not lost."""
    asked_for = question()
    asked_for["options"][1]["preview"] = "level = DEBUG"
    asked = Asked(store, call(asked_for))
    (state,) = asked.states()
    assert state.ask is not None
    assert "**Debug**\n\nlevel = DEBUG" in state.ask.preamble.text
    answer(store, state, "B")
    assert asked.updated()["answers"] == {LEVEL: "Debug"}


# -- nobody but the person -------------------------------------------------------------------------


def test_an_agent_cannot_answer_its_own_question(store: SqliteStore) -> None:
    """Whatever it relays is refused, and the question still waits for the person."""
    asked = Asked(store, call(question()))
    (state,) = asked.states()
    reply = Reply((Answer(state.key or "", ("A",)),))
    for who, through in (("agent", "relay"), ("api", "web"), ("person", "hook"), ("agent", "mcp")):
        with pytest.raises(Rejected, match="only a person"):
            runs.advance(store, state.run, reply, who=who, through=through)  # type: ignore[arg-type]  # one of them
    answer(store, state, "B")
    assert asked.updated()["answers"] == {LEVEL: "Debug"}


def test_a_forged_report_answers_nothing(store: SqliteStore) -> None:
    """Who calls `hook post` meanwhile closes the record, and the host shows its form."""
    asked = Asked(store, call(question()))
    asked.states()
    hooks.record(heard(call(question(), response={"answers": {LEVEL: "Silent"}})), store, "here")
    assert asked.said() is None


@pytest.mark.parametrize(
    ("who", "through", "told"), [("person", "web", True), ("agent", "relay", False)]
)
def test_only_a_person_declines(store: SqliteStore, who: Any, through: str, told: bool) -> None:  # noqa: ANN401
    """Then the agent is told so; anybody else's refusal leads to the host's form."""
    asked = Asked(store, call(question(), question(PLACE, "Here", "There")))
    _, place = asked.states(2)
    runs.note(store, place.run, Outcome("declined"), to=place.key, who=who, through=through)
    said = asked.said()
    if told:
        assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert "declined" in said["hookSpecificOutput"]["permissionDecisionReason"]
    else:
        assert said is None
    assert sorted(row.status for row in store.runs()) == ["declined", "withdrawn"]


def test_other_left_blank_is_no_answer(store: SqliteStore) -> None:
    """The host asks in its own way."""
    asked = Asked(store, call(question()))
    (state,) = asked.states()
    answer(store, state)
    assert asked.said() is None


def test_a_hosts_question_has_nothing_to_turn_back_to(store: SqliteStore) -> None:
    """Whoever types `<` is told so, and can still answer."""
    asked = Asked(store, call(question()))
    (state,) = asked.states()
    with pytest.raises(Rejected, match="nothing before it; the question still waits"):
        replies.reply(store, Caller("person", "terminal"), state.run, "<", None)
    answer(store, state, "B")
    assert asked.updated()["answers"] == {LEVEL: "Debug"}


# -- too late --------------------------------------------------------------------------------------


def test_without_an_answer_the_host_shows_its_form(store: SqliteStore) -> None:
    """The question is withdrawn, a late answer is refused with the reason, `post` closes it."""
    data = call(question())
    asked = Asked(store, data, wait=0.4)
    (state,) = asked.states()
    assert asked.said() is None
    assert kinds(store, state.run) == ["began", "asked", "ended"]
    ended = store.entries(state.run)[-1].read()
    assert isinstance(ended, Ended)
    assert (ended.status, ended.who, ended.through) == ("withdrawn", "agent", "hook")
    with pytest.raises(AlreadyAnswered, match=r"withdrawn: nobody answered within 0\.4 seconds"):
        answer(store, state, "A")
    late = call(question(), response={"answers": {LEVEL: "Silent"}})
    (kept,) = hooks.record(heard(late), store, "here")
    assert hooks.record(heard(late), store, "here") == [kept]
    assert (kept.run, kept.status, kept.result["answer"]) == (state.run, "done", ["Silent"])
    assert kinds(store, state.run) == ["began", "asked", "ended", "answered", "ended"]
    found = answer_of(store, state.run)
    assert found is not None
    assert found[0][:2] == ("host", "hook")
    assert verify(store).ok
    (occasion,) = occasions(store)
    assert (occasion.answer, occasion.through) == (("Silent",), "hook")
    assert runs.look(store, state.run) == kept


def test_a_call_that_is_asked_in_part_is_withdrawn(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the store fails before the last question is there, nobody answers for nothing."""
    begin = hooks.begin_record

    def fail(*given: Any, **more: Any) -> State:  # noqa: ANN401 - as they come
        if store.runs():
            raise StoreError("the disk is full")
        return begin(*given, **more)

    monkeypatch.setattr(hooks, "begin_record", fail)
    both = heard(call(question(), question(PLACE, "Here", "There")))
    with pytest.raises(StoreError):
        hooks.ask_in_inbox(both, store, "/projects/shop", 20)
    assert [row.status for row in store.runs()] == ["withdrawn"]


def test_a_form_that_was_closed_leaves_the_record_withdrawn(store: SqliteStore) -> None:
    """Nothing is booked that nobody answered."""
    asked = Asked(store, call(question()), wait=0.2)
    (state,) = asked.states()
    assert asked.said() is None
    (kept,) = hooks.record(heard(call(question(), response={"answers": {}})), store, "here")
    assert (kept.run, kept.status) == (state.run, "withdrawn")
    assert len(store.runs()) == 1


def test_a_question_answered_twice_keeps_both_answers(store: SqliteStore) -> None:
    """One of two was answered here in time; the form asks for both, and what it says counts."""
    two = (question(), question(PLACE, "Here", "There"))
    asked = Asked(store, call(*two), wait=1.0)
    level, place = asked.states(2)
    answer(store, level, "B")
    assert asked.said() is None
    assert runs.look(store, place.run).status == "withdrawn"
    response = {"answers": {LEVEL: "Silent", PLACE: "There"}}
    first, second = hooks.record(heard(call(*two, response=response)), store, "here")
    assert (first.result["answer"], second.result["answer"]) == (["Silent"], ["There"])
    answers = [e.read() for e in store.entries(level.run, kinds=("answered",))]
    assert [b.through for b in answers] == ["web", "hook"]
    assert isinstance(answers[1], Answered)
    assert answers[1].amends
    assert len(store.runs()) == 2
    assert verify(store).ok


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.floats(0.0, 0.12))
def test_either_the_answer_or_the_withdrawal_wins(tmp_path: Path, pause: float) -> None:
    """Never both: whoever was told that the answer is booked, has it handed over."""
    store = SqliteStore(tmp_path / f"{time.monotonic_ns()}.db")
    asked = Asked(store, call(question()), wait=0.1)
    try:
        (state,) = asked.states()
        time.sleep(pause)
        answer(store, state, "B")
        booked = True
    except (AlreadyAnswered, AssertionError):
        booked = False
    said = asked.said()
    assert (said is not None) is booked
    (row,) = store.runs()
    assert row.status == ("done" if booked else "withdrawn")
    store.close()


def test_a_record_that_nobody_closed_expires(store: SqliteStore) -> None:
    """A hook that was killed leaves a question that is given up by itself, somewhat later."""
    asked = Asked(store, call(question()), wait=0.5)
    (state,) = asked.states()
    row = store.run(state.run)
    assert row is not None
    assert row.expires is not None
    began, expires = (datetime.fromisoformat(at) for at in (row.began, row.expires))
    assert 29 < (expires - began).total_seconds() < 31
    asked.said()


# -- what is left to the host ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        call(question(), id_=""),
        call(question(), question()),
        call(question("")),
        call(question(LEVEL, *(f"Option {n}" for n in range(30)))),
    ],
)
def test_what_cannot_be_put_faithfully_is_left_to_the_host(
    store: SqliteStore, data: dict[str, Any]
) -> None:
    """No name to find it by, no text, two alike, or more options than could be shown."""
    told = heard(data)
    assert hooks.ask_person(told, store, "here", set_to(route="inbox", wait=20)) is None
    assert store.runs() == []


@pytest.mark.parametrize(
    ("table", "wait", "timeout"),
    [
        ({}, None, None),
        ({"strict": True, "wait": 5}, None, None),
        ({"route": "host"}, None, None),
        ({"route": "inbox"}, 600.0, 630),
        ({"route": "inbox", "wait": 90}, 90.0, 120),
        ({"route": "inbox", "wait": 0.5}, 0.5, 31),
    ],
)
def test_how_long_a_question_waits(
    table: dict[str, Any], wait: float | None, timeout: int | None
) -> None:
    """Ten minutes unless the settings say otherwise; the host is half a minute more patient."""
    chosen = set_to(**table)
    assert hosts.inbox_seconds(chosen) == wait
    assert hosts.host_timeout(chosen) == timeout


@pytest.mark.parametrize(
    "table",
    [
        {"route": "browser"},
        {"route": True},
        {"route": "inbox", "wait": 0},
        {"route": "inbox", "wait": -1},
        {"route": "inbox", "wait": "600"},
        {"route": "inbox", "wait": True},
        {"route": "inbox", "wait": 10**9},
        {"route": "inbox", "wait": float("nan")},
    ],
)
def test_what_makes_no_sense_is_refused(table: dict[str, Any]) -> None:
    """With one line that says what is allowed."""
    with pytest.raises(ParseError) as caught:
        hosts.inbox_seconds(set_to(**table))
    assert "\n" not in str(caught.value)


# -- as the host calls it --------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A project that routes, and a user who wants to be told."""
    (tmp_path / "quandary.toml").write_text('[hooks]\nroute = "inbox"\nwait = 20\n')
    (tmp_path / "config" / "quandary").mkdir(parents=True)
    program.consent(tmp_path, tmp_path / "config")
    told = json.dumps(["touch", str(tmp_path / "told")])
    (tmp_path / "config" / "quandary" / "config.toml").write_text(f"[notify]\ncommand = {told}\n")
    return program.environment(
        {
            "QUANDARY_STORE": str(tmp_path / "journal.db"),
            "XDG_DATA_HOME": str(tmp_path / "data"),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        }
    )


def started(tmp_path: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """The hook of the permission event as a process: the one before has told it the call's id."""
    data = {**call(question()), "cwd": str(tmp_path)}
    before = [*program.PROGRAM, "hook", "pre"]
    sent = json.dumps(data).encode()
    ended = subprocess.run(before, input=sent, env=env, stdout=subprocess.PIPE, check=True)
    assert ended.stdout == b""
    del data["tool_use_id"]
    process = subprocess.Popen(
        [*program.PROGRAM, "hook", "permission"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(data).encode())
    process.stdin.close()
    process.stdin = None
    return process


def soon(look: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever it finds
    """What is there after a while."""
    until = time.monotonic() + 20
    while not (found := look()) and time.monotonic() < until:
        time.sleep(0.02)
    assert found
    return found


def test_a_whole_process_waits_and_answers(tmp_path: Path, home: dict[str, str]) -> None:
    """The person is told, answers at once, and the host reads it a moment later."""
    SqliteStore(tmp_path / "journal.db").close()
    with started(tmp_path, home) as process:
        store = SqliteStore(tmp_path / "journal.db")
        (row,) = soon(lambda: runs.inbox(store))
        soon((tmp_path / "told").exists)
        begun = time.monotonic()
        answer(store, runs.look(store, row.id), "C")
        out, err = process.communicate(timeout=20)
        assert time.monotonic() - begun < 3
    assert (process.returncode, err) == (0, b"")
    decision = json.loads(out)["hookSpecificOutput"]["decision"]
    assert decision["behavior"] == "allow"
    assert decision["updatedInput"]["answers"] == {LEVEL: "Silent"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_host_that_ends_its_hook_withdraws_the_question(
    tmp_path: Path, home: dict[str, str], number: int
) -> None:
    """Nobody answers into the void."""
    SqliteStore(tmp_path / "journal.db").close()
    with started(tmp_path, home) as process:
        store = SqliteStore(tmp_path / "journal.db")
        (row,) = soon(lambda: runs.inbox(store))
        os.kill(process.pid, number)
        out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, b"")
    state = runs.look(store, row.id)
    assert (state.status, state.error) == ("withdrawn", "the host no longer waits for it")


def test_a_host_that_is_gone_gets_no_answer(tmp_path: Path, home: dict[str, str]) -> None:
    """The hook notices that its parent was killed."""
    SqliteStore(tmp_path / "journal.db").close()
    told = tmp_path / "told.json"
    told.write_text(json.dumps({**call(question()), "cwd": str(tmp_path)}))
    script = f'"$@" < {told} & wait'
    with subprocess.Popen(
        ["sh", "-c", script, "sh", *program.PROGRAM, "hook", "permission"], env=home
    ) as host:
        store = SqliteStore(tmp_path / "journal.db")
        (row,) = soon(lambda: runs.inbox(store))
        host.kill()
    soon(lambda: runs.look(store, row.id).status == "withdrawn")
    assert runs.look(store, row.id).error == "the host no longer waits for it"


def test_a_question_that_a_run_of_ours_asks_is_not_asked_twice(
    tmp_path: Path, home: dict[str, str], store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent relays it; once it is answered in the inbox, the agent is sent to its run."""
    begun, news = threading.Event(), store.news

    def seen(seconds: float) -> Generator[bool]:
        begun.set()
        return news(seconds)

    monkeypatch.setattr(store, "news", seen)
    (tmp_path / "tree.md").write_text(program.DEPLOY, encoding="utf-8")
    words = ("ask", "tree.md", "--context", "All green.", "--via", "relay")
    shown = subprocess.run(
        [*program.PROGRAM, *words], env=home, cwd=tmp_path, capture_output=True, check=True
    )
    state = json.loads(shown.stdout)
    relayed = call(*state["ask"]["tool_input"]["questions"])
    project = str(tmp_path)
    output: list[Any] = []

    def ask(wait: float) -> threading.Thread:
        chosen = set_to(route="inbox", wait=wait)
        work = lambda: output.append(hooks.ask_person(heard(relayed), store, project, chosen))  # noqa: E731
        thread = threading.Thread(target=work)
        thread.start()
        return thread

    ask(0.3).join(20)
    assert output == [None]
    begun.clear()
    thread = ask(20)
    assert begun.wait(20)
    answer(store, runs.look(store, state["run"]), "NOW")
    thread.join(20)
    said = output[1]["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert f"`quandary next {state['run']}`" in said["permissionDecisionReason"]
    assert [row.status for row in store.runs()] == ["done"]


def test_who_answers_before_the_agent_relays_is_not_asked_again(
    store: SqliteStore, tmp_path: Path
) -> None:
    """A person's own answer of just now sends the agent back; no other does, and no older one."""
    (tmp_path / "tree.md").write_text(program.DEPLOY, encoding="utf-8")
    env = {"QUANDARY_STORE": str(tmp_path / "journal.db")}
    words = ("ask", str(tmp_path / "tree.md"), "--context", "All green.", "--via", "relay")
    begun = json.loads(program.start(*words, env=env).out)
    told = heard(call(*begun["ask"]["tool_input"]["questions"]))
    project = store.runs()[0].project
    assert hooks.find_answered_run(told, store, project) is None
    reply = Reply((Answer("1:", ("NOW",)),))
    runs.advance(store, begun["run"], reply, to="1:", who="agent", through="relay")
    assert hooks.find_answered_run(told, store, project) is None
    begun = json.loads(program.start(*words, env=env).out)
    answer(store, runs.look(store, begun["run"]), "EVE")
    assert hooks.find_answered_run(told, store, project) == begun["run"]
    assert hooks.find_answered_run(told, store, "elsewhere") is None
    assert hooks.find_answered_run(heard(call(question())), store, project) is None
    said = hooks.ask_person(told, store, project, set_to(route="inbox", wait=20))
    assert said is not None
    reason = said["hookSpecificOutput"]["permissionDecisionReason"]
    assert f"`quandary next {begun['run']}`" in reason
    assert [row.flow for row in store.runs()] == ["decide", "decide"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hooks, "JUST_NOW", -1)
        assert hooks.find_answered_run(told, store, project) is None


def test_a_late_answer_at_the_command_line_is_told_why(store: SqliteStore, tmp_path: Path) -> None:
    """The reason stands behind the refusal."""
    asked = Asked(store, call(question()), wait=0.2)
    (state,) = asked.states()
    assert asked.said() is None
    ended = program.start(
        "reply", state.run, "Debug", env={"QUANDARY_STORE": str(tmp_path / "journal.db")}
    )
    assert ended.status == 1
    assert "already answered" in ended.err
    assert "nobody answered within 0.2 seconds" in ended.err


def test_a_wrong_setting_leaves_the_host_alone(store: SqliteStore) -> None:
    """The hook says nothing, and the log says why."""
    with pytest.raises(QuandaryError, match="route"):
        hooks.ask_person(heard(call(question())), store, "here", set_to(route="browser"))
    assert store.runs() == []
