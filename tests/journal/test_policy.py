"""Ask or decide: what a preference may do, and all that it may not."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Literal
from unittest.mock import Mock

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from program import consent
from quandary.errors import StoreError, Untrusted
from quandary.formats.markdown import parse
from quandary.journal import open_store, policy, runs
from quandary.journal.policy import (
    ASK,
    PREFERENCES,
    Policy,
    find_preference,
    list_preferences,
    read_policy,
    set_preference,
)
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Ask, Choice, Item, Preamble, Question, Reply
from quandary.model.one_way import one_way
from quandary.settings import Part, Settings, project_of, read_settings, trust

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.journal.store import State
    from quandary.settings import Origin

PERSON: dict[str, Any] = {"who": "person", "through": "terminal"}


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    """An empty journal."""
    return SqliteStore(tmp_path / "journal.db")


def prefer(store: SqliteStore, id_: str, preference: str, scope: str = "here") -> None:
    """A person sets a preference."""
    set_preference(store, id_, preference, scope=scope, origin="terminal", **PERSON)


def see(store: SqliteStore, *questions: Question, project: str = "here", **who: Any) -> State:  # noqa: ANN401 - a source
    """Somebody, a person at a terminal unless told otherwise, takes what is recommended."""
    ask = Ask("1:", "transition", Preamble("A question that came up."), questions)
    state = runs.begin(
        store,
        "question",
        {"ask": msgspec.to_builtins(ask), "session": "", "call": ""},
        project=project,
        prefer=False,
        who="agent",
        through="command",
    )
    picked = [next(c.code for c in q.choices if c.recommended) for q in questions]
    answers = tuple(Answer(q.key, (code,)) for q, code in zip(questions, picked, strict=True))
    return runs.advance(store, state.run, Reply(answers), to="1:", **(who or PERSON))


def registry(text: str, origin: Origin = "project") -> Settings:
    """Settings with a registry of questions."""
    return Settings(None, (Part(origin, "quandary.toml", tomllib.loads(text)),))


def question(*recommended: str, text: str = "Which log level?", **more: Any) -> Question:  # noqa: ANN401 - any field
    """A harmless question with three options."""
    choices = tuple(Choice(c, f"Level {c}", recommended=c in recommended) for c in "ABC")
    return Question("1:", "Log", text, choices, **{"id": "log-level", **more})


def test_without_a_preference_it_is_asked(store: SqliteStore) -> None:
    """And nothing is said about it."""
    assert Policy(store, None, "here").check("log-level", "Which level?") == ASK


@pytest.mark.parametrize("preference", ["never-ask", "ask-only-for-one-way"])
def test_a_suppressing_preference_decides(store: SqliteStore, preference: str) -> None:
    """For that id, in that project, and what cannot be taken back is asked all the same."""
    prefer(store, "log-level", preference)
    policy = Policy(store, None, "here")
    assert policy.check("log-level", "Which level?").decide
    assert not policy.check("log-levels", "Which level?").decide
    assert not Policy(store, None, "elsewhere").check("log-level").decide
    verdict = policy.check("log-level", "Delete the log?")
    assert not verdict.decide
    assert "delete" in verdict.note
    assert preference in verdict.note


def test_the_project_goes_before_everywhere(store: SqliteStore) -> None:
    """And clearing it brings back the one for everywhere."""
    prefer(store, "log-level", "never-ask", scope="")
    prefer(store, "log-level", "always-ask")
    policy = Policy(store, None, "here")
    assert not policy.check("log-level").decide
    assert Policy(store, None, "elsewhere").check("log-level").decide
    prefer(store, "log-level", "")
    assert policy.check("log-level").decide
    assert [kept.preference for kept in list_preferences(store, "here")] == ["never-ask"]
    assert verify(store).ok


def test_every_change_is_kept_with_who_made_it(store: SqliteStore) -> None:
    """The newest holds; the older ones are still in the journal."""
    prefer(store, "log-level", "never-ask")
    prefer(store, "log-level", "always-ask")
    found = find_preference(store, "log-level", "here")
    assert found is not None
    assert (found.preference, found.who, found.through) == ("always-ask", "person", "terminal")
    assert [run.flow for run in store.runs()] == ["prefer", "prefer"]


@pytest.mark.parametrize(
    "id_", ["ship-split-e1", "-split-", "a-split-b-split-c", "ship-split-delete-it"]
)
def test_a_split_is_always_asked(store: SqliteStore, id_: str) -> None:
    """Whatever was preferred for its id."""
    prefer(store, id_, "never-ask")
    assert not Policy(store, None, "here").check(id_).decide


@pytest.mark.parametrize("id_", ["split-view", "log-split", "log-splitting-e1", "banana-split"])
def test_only_ids_like_star_split_star_are_those_of_a_split(store: SqliteStore, id_: str) -> None:
    """To the letter: a tree that is called Split View is a question like any other."""
    prefer(store, id_, "never-ask")
    assert Policy(store, None, "here").check(id_).decide


@pytest.mark.parametrize(
    "text",
    [
        '[questions.log-level]\ndoor = "one-way"\n',
        '[questions.log-level]\nask = "always"\n',
        '[questions.log-level]\nask = "never"\n',
        '[questions.log-level]\ndoor = "revolving"\n',
        "[questions.log-level]\ndoor = 1\n",
        "[questions]\nlog-level = 3\n",
        "questions = 3\n",
    ],
)
@pytest.mark.parametrize("origin", ["project", "user"])
def test_a_file_can_only_have_it_asked(store: SqliteStore, text: str, origin: Origin) -> None:
    """What is not understood means asking too."""
    prefer(store, "log-level", "never-ask")
    assert not Policy(store, registry(text, origin), "here").check("log-level").decide


def test_a_two_way_door_changes_nothing(store: SqliteStore) -> None:
    """It neither decides by itself nor vouches for words that say otherwise."""
    known = registry('[questions.log-level]\ndoor = "two-way"\n')
    assert not Policy(store, known, "here").check("log-level").decide
    prefer(store, "log-level", "never-ask")
    assert Policy(store, known, "here").check("log-level").decide
    assert not Policy(store, known, "here").check("log-level", "Drop the table").decide


@pytest.mark.parametrize("recommended", [(), ("A", "B"), ("A", "B", "C")])
def test_only_one_recommended_option_is_taken(
    store: SqliteStore, recommended: tuple[str, ...]
) -> None:
    """With none or several, a person has to say which."""
    prefer(store, "log-level", "never-ask")
    policy = Policy(store, None, "here")
    see(store, question("B"))
    verdict = policy.judge(question(*recommended))
    assert (verdict.decide, verdict.unseen) == (False, "")  # to answer it changes nothing
    assert "recommended, so it has to be asked" in verdict.note
    assert policy.judge(question("B")).code == "B"


def test_dangerous_options_count_as_much_as_the_question(store: SqliteStore) -> None:
    """In a label, a description, or behind Other."""
    prefer(store, "log-level", "never-ask")
    policy = Policy(store, None, "here")
    hidden, plain = question("A", named=(Choice("X", "Purge it"),)), question("A")
    worse = (*plain.choices, Choice("D", "Fine", "This destroys the volume"))
    described = msgspec.structs.replace(plain, choices=worse)
    for seen in (hidden, plain, described):
        see(store, seen)
    assert policy.judge(plain).decide
    assert "purge" in policy.judge(hidden).note
    assert "destroys" in policy.judge(described).note
    assert "PyPI".casefold() in policy.judge(plain, "This uploads it to PyPI.").note


def test_an_ask_is_decided_as_a_whole_or_not_at_all(store: SqliteStore) -> None:
    """One question that has to be asked keeps the others with it."""
    prefer(store, "log-level", "never-ask")
    policy = Policy(store, None, "here")

    def ask(*questions: Question, require: Literal["", "person"] = "") -> Ask:
        return Ask("1:", "transition", Preamble("Why."), questions, require=require)

    def is_decided(ask: Ask) -> bool:
        verdicts = policy.judge_all(ask)
        return bool(verdicts) and all(verdict.decide for verdict in verdicts.values())

    sure = question("A")
    see(store, sure)
    assert is_decided(ask(sure))
    unsure = msgspec.structs.replace(sure, key="2:", id="other-one")
    assert not is_decided(ask(sure, unsure))
    assert not is_decided(ask(msgspec.structs.replace(sure, chain=True)))
    assert not is_decided(ask(sure, require="person"))


@pytest.mark.parametrize("way", ["folder", "link", "worktree", "dots"])
def test_a_store_that_a_project_chose_is_not_opened_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """It may have come with the repository; by whatever way it is seen, its user agrees first."""
    main, root = tmp_path / "main", tmp_path / "project"
    root.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("QUANDARY_STORE", raising=False)
    brought = SqliteStore(root / "kept.db")
    prefer(brought, "log-level", "never-ask", scope="")
    brought.close()
    named = "../project/kept.db" if way == "dots" else "kept.db"
    (root / "quandary.toml").write_text(f'store = "{named}"\n', encoding="utf-8")
    seen = root
    if way == "link":
        seen = tmp_path / "link"
        seen.symlink_to(root)
    if way == "worktree":
        inside = main / ".git" / "worktrees" / "project"
        inside.mkdir(parents=True)
        (inside / "gitdir").write_text(f"{root / '.git'}\n", encoding="utf-8")
        (root / ".git").write_text(f"gitdir: {inside}\n", encoding="utf-8")
        assert project_of(str(root)) == str(main)
    with pytest.raises(Untrusted, match="quandary trust"):
        open_store(start=str(seen))
    consent(root)
    store = open_store(start=str(seen))
    policy = read_policy(store, project_of(str(seen)))
    assert policy.check("log-level").decide
    trust.take_back(str(root))
    assert "no longer trust" in policy.check("log-level").note
    with pytest.raises(Untrusted):
        open_store(start=str(seen))


def test_a_store_that_its_user_names_too_needs_no_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both may spell it in their own way."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("QUANDARY_STORE", raising=False)
    root, own = tmp_path / "project", tmp_path / "config" / "quandary" / "config.toml"
    root.mkdir()
    own.parent.mkdir(parents=True)
    (tmp_path / "link").symlink_to(root)
    (root / "quandary.toml").write_text('store = "kept.db"\n', encoding="utf-8")
    own.write_text(f'store = "{tmp_path}/link/kept.db"\n', encoding="utf-8")
    brought = SqliteStore(root / "kept.db")
    prefer(brought, "log-level", "never-ask", scope=str(root))
    brought.close()
    store = open_store(start=str(root))
    assert read_policy(store, str(root)).check("log-level").decide


def test_damage_means_ask(store: SqliteStore, tmp_path: Path) -> None:
    """No store, unreadable settings, entries that were tampered with."""
    prefer(store, "log-level", "never-ask")
    assert not Policy(None, None, "here").check("log-level").decide
    assert "cannot be read" in Policy(None, None).check("log-level").note
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "quandary.toml").write_text("= nonsense", encoding="utf-8")
    prefer(store, "log-level", "never-ask", scope=str(bad))
    assert not read_policy(store, str(bad)).check("log-level").decide
    store._write(lambda: store._db.execute("UPDATE entry SET matter = x'00' WHERE n = 1"))
    verdict = Policy(store, None, "here").check("log-level")
    assert not verdict.decide
    assert verdict.note
    store._write(lambda: store._db.execute("DELETE FROM entry"))
    assert not Policy(store, None, "here").check("log-level").decide
    store._write(lambda: store._db.execute("DROP TABLE name"))
    assert not Policy(store, None, "here").check("log-level").decide


IDS = st.one_of(
    st.sampled_from(["ship-split-e1", "drop-table", "deploy-to-production", "log-level", "x"]),
    st.from_regex(r"\A[a-z0-9-]{1,64}\Z"),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    id_=IDS,
    preference=st.one_of(st.sampled_from(PREFERENCES), st.text(max_size=12)),
    scope=st.sampled_from(["here", ""]),
    registered=st.one_of(
        st.none(),
        st.integers(),
        st.dictionaries(
            st.sampled_from(["door", "ask", "other"]),
            st.one_of(st.sampled_from(["one-way", "two-way", "always", "never"]), st.integers()),
        ),
    ),
    text=st.one_of(st.sampled_from(["Which one?", "Delete it?", "Rotate the keys"]), st.text()),
    recommended=st.lists(st.sampled_from("ABC"), max_size=3, unique=True),
    chain=st.booleans(),
)
def test_nothing_makes_what_matters_decide_itself(
    store: SqliteStore,
    id_: str,
    preference: str,
    scope: str,
    registered: object,
    text: str,
    recommended: list[str],
    chain: bool,
) -> None:
    """Any preference, any file: a split, a one-way or an unrecommended question is asked."""
    prefer(store, id_, "", "here")  # whatever an earlier example has set
    prefer(store, id_, preference, scope)
    values = {"questions": {id_: registered}} if registered is not None else {}
    known = Settings(None, (Part("project", "quandary.toml", values),))
    asked = question(*recommended, text=text, id=id_, chain=chain)
    if recommended:
        see(store, asked)
    verdict = Policy(store, known, "here").judge(asked)
    if verdict.decide:
        assert preference in ("never-ask", "ask-only-for-one-way")
        assert not chain
        assert "split-" not in id_
        assert len(recommended) == 1
        assert not one_way(id_, text)
        assert registered in (None, {}) or (
            isinstance(registered, dict)
            and registered.get("door", "two-way") == "two-way"
            and not registered.get("ask")
        )


TREE = """\
### ¶ASK_LEVEL
## Decision: Level
- [LOW] Quiet (recommended)
- [MID] As now
- [HIG] Loud
  - [ALL] Everything (Recommended)
  - [WEB] The web part
  - [JOB] The jobs
- [OTH] Other
  - [WAI] Wait
  - [OFF] None at all
"""


def begin(store: SqliteStore, count: int = 2) -> State:
    """A run about a few services."""
    (tree,) = parse(TREE).trees
    items = [{"id": str(n), "label": f"Service {n}"} for n in range(1, count + 1)]
    return runs.begin(
        store,
        "decide",
        {"context": "Each service has a log, and its level is to be set.", "items": items},
        documents={"tree": msgspec.to_builtins(tree)},
        project="here",
        who="agent",
        through="command",
    )


def answer(store: SqliteStore, state: State, code: str, **who: Any) -> State:  # noqa: ANN401 - a source
    """Somebody, a person at a terminal unless told otherwise, takes this for all that waits."""
    assert state.ask is not None
    answers = tuple(Answer(question.key, (code,)) for question in state.ask.questions)
    return runs.advance(store, state.run, Reply(answers), to=state.key, **(who or PERSON))


def test_a_run_is_decided_by_preference_and_says_so(store: SqliteStore) -> None:
    """Booked as policy, shown in the result, open to amendment, and sound."""
    prefer(store, "level", "never-ask")
    state = begin(store, 5)
    while state.ask is not None:
        assert {note.kind for note in state.notes} <= {"unbound", "changed"}
        state = answer(store, state, "LOW")
    state = begin(store, 5)
    assert state.status == "done"
    assert [c["path"] for c in state.result["chosenItems"]] == ["LOW"] * 5
    assert [note.kind for note in state.notes] == ["decided"] * 5
    assert "Quiet" in state.notes[0].text
    assert runs.look(store, state.run) == state
    answered = [entry.read() for entry in store.entries(state.run, kinds=("answered",))]
    assert {(body.who, body.through) for body in answered} == {("policy", "preference")}
    assert verify(store).ok


def test_a_preference_decides_only_its_own_level(store: SqliteStore) -> None:
    """A follow-up has an id of its own, and what was decided is told beside it."""
    prefer(store, "level-hig", "never-ask")
    state = answer(store, begin(store, 1), "HIG")
    assert "recommended option yourself" in state.notes[0].text
    answer(store, state, "ALL")
    state = answer(store, begin(store, 1), "HIG")
    assert state.result["chosenItems"][0]["path"] == "HIG/ALL"
    assert [note.kind for note in state.notes if note.kind == "decided"] == ["decided"]
    assert runs.look(store, state.run) == state
    runs._opened.clear()
    assert runs.advance(store, state.run, **PERSON).result == state.result


def test_no_preference_is_looked_up_where_none_could_decide(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most questions recommend nothing, and cost nothing."""
    monkeypatch.setattr(policy, "read_policy", None)
    (tree,) = parse(TREE.replace("(recommended)", "").replace("(Recommended)", "")).trees
    state = runs.begin(
        store,
        "decide",
        {"context": "Each service has a log, and its level is to be set."},
        documents={"tree": msgspec.to_builtins(tree)},
        who="agent",
        through="command",
    )
    assert state.status == "waiting"


def test_settings_of_the_project_are_found(tmp_path: Path) -> None:
    """The registry is the one beside the work, not the one beside whoever looks."""
    (tmp_path / "quandary.toml").write_text('[questions.x]\ndoor = "one-way"\n', encoding="utf-8")
    assert read_settings(str(tmp_path)).table("questions") == {"x": {"door": "one-way"}}


# -- what a preference is bound to -----------------------------------------------------------------


MIRROR = TREE.replace("Quiet (recommended)", "Copy it to the mirror (recommended)")


def ask_tree(store: SqliteStore, tree: str = TREE, project: str = "here", **more: Any) -> State:  # noqa: ANN401 - arguments
    """An agent asks a tree of that id about one thing."""
    (found,) = parse(tree).trees
    arguments = {"context": "Each service has a log, and its level is to be set.", **more}
    documents = {"tree": msgspec.to_builtins(found)}
    said: dict[str, Any] = {"who": "agent", "through": "command"}
    return runs.begin(store, "decide", arguments, documents=documents, project=project, **said)


def bind(store: SqliteStore, tree: str = TREE, **more: Any) -> None:  # noqa: ANN401 - arguments
    """A person takes what is recommended, once."""
    assert answer(store, ask_tree(store, tree, **more), "LOW").status == "done"


def test_a_preference_for_an_id_decides_nothing_that_was_never_answered(store: SqliteStore) -> None:
    """The id belongs to whoever asks; once a person has answered, that form is decided."""
    prefer(store, "level", "never-ask")
    state = ask_tree(store, MIRROR)
    assert state.status == "waiting"
    assert [note.kind for note in state.notes] == ["unbound"]
    bind(store)
    assert ask_tree(store).status == "done"
    state = ask_tree(store, MIRROR)
    assert state.status == "waiting"
    assert "has changed" in state.notes[0].text
    assert runs.look(store, state.run).notes == state.notes
    assert verify(store).ok


@pytest.mark.parametrize(
    "changed",
    [
        TREE.replace(
            "## Decision: Level", "Question: Shall it go to the mirror?\n## Decision: Level"
        ),
        TREE.replace("Quiet (recommended)", "Quiet, and to the mirror (recommended)"),
        TREE.replace("Quiet (recommended)", "Quiet (recommended)\n  It goes to the mirror too"),
        TREE.replace("[LOW] Quiet", "[LOU] Quiet"),
        TREE.replace("Quiet (recommended)", "Quiet").replace("As now", "As now (recommended)"),
        TREE.replace("[WAI] Wait", "[WAI] Tell the mirror"),
        TREE.replace("- [MID] As now\n", ""),
    ],
)
def test_whatever_a_person_has_not_seen_is_asked(store: SqliteStore, changed: str) -> None:
    """Another question, code, label, description or recommendation under the same id."""
    assert changed != TREE
    prefer(store, "level", "never-ask")
    bind(store)
    state = ask_tree(store, changed)
    assert state.status == "waiting"
    assert [note.kind for note in state.notes] == ["changed"]


def test_an_extra_that_decides_is_part_of_what_a_preference_is_bound_to(store: SqliteStore) -> None:
    """`A: …` is a choice; `A? …` only shows something, and what fills a slot may differ."""
    prefer(store, "level", "never-ask")
    bind(store, extras=[{"letter": "A", "text": "Ask {team}"}], values={"team": "ops"})
    again: dict[str, Any] = {
        "extras": [{"letter": "A", "text": "Ask {team}"}],
        "values": {"team": "sre"},
    }
    assert ask_tree(store, **again).status == "done"
    assert ask_tree(store).notes[0].kind == "changed"
    bind(store)
    shows = [{"letter": "A", "text": "Show it", "shows": True}]
    assert ask_tree(store, extras=shows).status == "done"
    state = ask_tree(store, extras=[{"letter": "A", "text": "Send it to the mirror"}])
    assert (state.status, state.notes[0].kind) == ("waiting", "changed")


@pytest.mark.parametrize(
    "who",
    [
        {"who": "agent", "through": "relay"},
        {"who": "api", "through": "http"},
        {"who": "person", "through": "hook"},
        {"who": "person", "through": "relay"},
        {"who": "policy", "through": "preference"},
    ],
)
def test_only_a_persons_own_answer_binds(store: SqliteStore, who: dict[str, Any]) -> None:
    """An agent that answers first gains nothing, before the preference is set or after."""
    answer(store, ask_tree(store), "LOW", **who)
    prefer(store, "level", "never-ask")
    answer(store, ask_tree(store), "LOW", **who)
    assert ask_tree(store).status == "waiting"


def test_what_a_person_refused_is_not_decided_for_them(store: SqliteStore) -> None:
    """Only taking what is recommended binds; another answer, also an amended one, ends it."""
    prefer(store, "level", "never-ask")
    answer(store, ask_tree(store), "MID")
    asked = ask_tree(store)
    assert asked.status == "waiting"
    answer(store, asked, "LOW")
    decided = ask_tree(store)
    assert decided.status == "done"
    other = Reply((Answer("1:", ("MID",)),))
    runs.amend(store, decided.run, other, key="1:", why="too quiet", **PERSON)
    assert ask_tree(store).status == "waiting"


def test_a_question_that_was_answered_otherwise_is_not_said_to_have_changed(
    store: SqliteStore,
) -> None:
    """It is the same question; the note says what the preference waits for."""
    prefer(store, "level", "never-ask")
    answer(store, ask_tree(store), "MID")
    assert [note.kind for note in ask_tree(store).notes] == ["unbound"]
    assert [note.kind for note in ask_tree(store, MIRROR).notes] == ["changed"]


def test_what_a_preference_decided_is_not_taken_over(store: SqliteStore) -> None:
    """Who wants to be asked again is, also where a run takes over the answers of another one."""
    bind(store)
    prefer(store, "level", "never-ask")
    before = ask_tree(store)
    assert before.status == "done"
    prefer(store, "level", "always-ask")
    again = runs.begin(
        store,
        "decide",
        {"context": "Each service has a log, and its level is to be set."},
        documents={"tree": msgspec.to_builtins(parse(TREE).trees[0])},
        project="here",
        origin=before.run,
        who="agent",
        through="command",
    )
    assert again.status == "waiting"


def test_who_opens_the_menu_behind_other_is_asked_again(store: SqliteStore) -> None:
    """They did not take what is recommended, whatever they choose there."""
    prefer(store, "level", "never-ask")
    bind(store)
    decided = ask_tree(store)
    assert decided.status == "done"
    runs.amend(store, decided.run, Reply((Answer("1:"),)), key="1:", why="neither", **PERSON)
    assert ask_tree(store).status == "waiting"


def test_a_preference_lets_go_before_another_answer_is_recorded(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is killed in between has been asked once too often, and never once too seldom."""
    bind(store)
    asked = ask_tree(store)
    prefer(store, "level", "never-ask")
    for name, error in (("create", StoreError("it is gone")), ("append", KeyboardInterrupt())):
        assert ask_tree(store).status == "done"
        with monkeypatch.context() as broken:
            broken.setattr(store, name, Mock(side_effect=error))
            with pytest.raises(type(error)):
                answer(store, asked, "MID")
    assert ask_tree(store).status == "waiting"


def test_the_last_word_of_a_person_counts_where_somebody_else_sets_a_preference(
    store: SqliteStore,
) -> None:
    """Not one before it that was given to the same question."""
    answer(store, ask_tree(store), "LOW")
    answer(store, ask_tree(store), "MID")
    agent: dict[str, Any] = {"who": "agent", "through": "command"}
    set_preference(store, "level", "never-ask", scope="here", origin="user", **agent)
    assert ask_tree(store).status == "waiting"


@pytest.mark.parametrize("said", [{"comment": "but only this once"}, {"text": "for now"}])
def test_what_is_taken_with_a_reservation_binds_nothing(
    store: SqliteStore, said: dict[str, Any]
) -> None:
    """Who adds something has not simply agreed."""
    prefer(store, "level", "never-ask")
    state = ask_tree(store)
    runs.advance(store, state.run, Reply((Answer("1:", ("LOW",), **said),)), **PERSON)
    assert ask_tree(store).status == "waiting"


def test_what_is_taken_together_with_something_else_binds_nothing(store: SqliteStore) -> None:
    """Also where the other option was added before."""
    tree = TREE.replace("- [LOW]", "- [ ] [LOW]").replace("- [MID]", "- [ ] [MID]")
    prefer(store, "level", "never-ask")
    state = ask_tree(store, tree)
    added = Reply((Answer("1:", prefix="add", argument="MID"),))
    state = runs.advance(store, state.run, added, **PERSON)
    answer(store, state, "LOW")
    assert ask_tree(store, tree).status == "waiting"


def test_an_option_that_nobody_took_is_not_brought_forward(store: SqliteStore) -> None:
    """Two are recommended, on two pages: in another order, the other would be the only one seen."""
    options = [f"- [{c}] Hue {c}{' (recommended)' * (c in 'AF')}\n" for c in "ABCDEF"]
    head = "### ¶ASK_HUE\n## Decision: Hue\n"
    prefer(store, "hue", "never-ask")
    answer(store, ask_tree(store, head + "".join(options)), "A")
    for order in (options, options[::-1]):
        assert ask_tree(store, head + "".join(order)).status == "waiting"


@pytest.mark.parametrize(
    "said", [{"prefix": "question", "argument": "why quiet?"}, {"prefix": "tag", "argument": "x"}]
)
def test_nothing_is_decided_while_a_person_is_at_it(
    store: SqliteStore, said: dict[str, Any]
) -> None:
    """Asked because of another question beside it, put back: no preference answers instead."""
    tree = TREE.replace("## Decision", "Question: Which for {title}?\n## Decision")
    items = [msgspec.to_builtins(Item("1", title="api"))]
    prefer(store, "level", "never-ask")
    bind(store, tree, items=items)
    assert ask_tree(store, tree, items=items).status == "done"
    items.append(msgspec.to_builtins(Item("2", title="the web part")))
    state = ask_tree(store, tree, items=items)
    replied = Reply((Answer("1:", **said), Answer("2:", ("MID",))))
    assert runs.advance(store, state.run, replied, **PERSON).key == "1:~2"
    state = ask_tree(store, tree, items=items)
    state = runs.advance(store, state.run, Reply((Answer("2:", ("MID",)),)), **PERSON)
    assert state.key == "1:~2"


def test_what_a_question_is_about_counts_where_only_its_header_says_so(store: SqliteStore) -> None:
    """A number or an id may differ, a phrase may not."""
    tree = TREE.replace("## Decision", "Question: Is that fine?\n## Decision")

    def about(title: str) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(Item("1", title=title))]

    prefer(store, "level", "never-ask")
    bind(store, tree, items=about("the blue buttons"))
    assert ask_tree(store, tree, items=about("the blue buttons")).status == "done"
    assert ask_tree(store, tree, items=about("the corner office")).status == "waiting"


def test_answers_that_were_taken_over_bind_nothing(store: SqliteStore) -> None:
    """With --from, they come from another run, whose question may have had other options."""
    state = ask_tree(store)
    answer(store, state, "LOW")
    changed = parse(TREE.replace("Loud", "To the mirror")).trees[0]
    prefer(store, "level", "never-ask")
    runs.begin(
        store,
        "decide",
        {"context": "Each service has a log, and its level is to be set."},
        documents={"tree": msgspec.to_builtins(changed)},
        project="here",
        origin=state.run,
        **PERSON,
    )
    again = TREE.replace("Loud", "To the mirror")
    assert ask_tree(store, again).status == "waiting"
    prefer(store, "level", "never-ask")
    assert ask_tree(store, again).status == "waiting"


def test_a_preference_that_is_set_after_an_answer_keeps_what_was_seen(store: SqliteStore) -> None:
    """It decides at once, in that form only; in the name of somebody else it has to be agreed."""
    answer(store, ask_tree(store), "LOW")
    prefer(store, "level", "never-ask")
    assert ask_tree(store).status == "done"
    assert ask_tree(store, MIRROR).status == "waiting"
    answer(store, ask_tree(store, MIRROR), "MID")
    relayed: dict[str, Any] = {"who": "agent", "through": "command"}
    seen = set_preference(store, "level", "never-ask", scope="here", origin="user", **relayed)
    assert seen is not None
    assert seen.choices[0].label == "Quiet"
    assert ask_tree(store, MIRROR).status == "waiting"


def test_a_preference_for_everywhere_is_bound_as_well(store: SqliteStore) -> None:
    """What was answered in one project is decided in all; a project's own is bound by itself."""
    prefer(store, "level", "never-ask", scope="")
    bind(store, project="there")
    assert ask_tree(store).status == "done"
    assert ask_tree(store, MIRROR).status == "waiting"
    prefer(store, "level", "never-ask", scope="here")
    assert ask_tree(store).status == "waiting"


def test_another_preference_begins_with_nothing(store: SqliteStore) -> None:
    """Cleared and set again by somebody else's hand, it rests on what a person answered."""
    prefer(store, "level", "never-ask")
    bind(store)
    prefer(store, "level", "")
    assert ask_tree(store).status == "waiting"
    prefer(store, "level", "ask-only-for-one-way", scope="here")
    assert ask_tree(store).status == "done"
    prefer(store, "level", "always-ask")
    assert ask_tree(store).status == "waiting"


SLOTS = TREE.replace(
    "## Decision", "Question: Which level for {service}, version {major}?\n## Decision"
)


@pytest.mark.parametrize(
    ("values", "decided"),
    [
        ({"service": "api", "major": "2"}, True),
        ({"service": "worker-7", "major": "3.0.1"}, True),
        ({"service": "the mirror too", "major": "2"}, False),
        ({"service": "the\u00a0mirror", "major": "2"}, False),
        ({"service": "api", "major": "2 and later"}, False),
    ],
)
def test_a_slot_value_without_a_space_is_outside(
    store: SqliteStore, values: dict[str, str], decided: bool
) -> None:
    """Numbers, versions and ids differ from one asking to the next; phrases count."""
    prefer(store, "level", "never-ask")
    bind(store, SLOTS, values={"service": "api", "major": "1"})
    assert (ask_tree(store, SLOTS, values=values).status == "done") is decided


@pytest.mark.parametrize(
    ("values", "decided"), [({"v": "1.3"}, True), ({"v": "1.3 beta"}, False), ({"v": "2"}, True)]
)
def test_a_slot_value_without_a_space_is_outside_wherever_it_stands(
    store: SqliteStore, values: dict[str, str], decided: bool
) -> None:
    """In the label that is recommended, the description of one behind Other, and the summary."""
    tree = TREE.replace("Quiet", "Quiet in {v}").replace("Wait", "Wait\n    Until {v} is out")
    assert tree.count("{v}") > 1
    prefer(store, "level", "never-ask")
    context = "Version {v} has a log."
    bind(store, tree, values={"v": "1.2"}, context=context)
    asked = ask_tree(store, tree, values=values, context=context)
    assert (asked.status == "done") is decided


def test_an_option_that_is_nothing_but_a_slot_is_what_it_was_filled_with(
    store: SqliteStore,
) -> None:
    """Whether or not it is recommended."""
    tree = TREE.replace("Quiet", "{what}")
    prefer(store, "level", "never-ask")
    bind(store, tree, values={"what": "Tabs"})
    assert ask_tree(store, tree, values={"what": "Tabs"}).status == "done"
    assert ask_tree(store, tree, values={"what": "Mirror"}).status == "waiting"


def test_slots_side_by_side_are_a_phrase(store: SqliteStore) -> None:
    """A sentence that is put together from words is bound as a whole."""
    tree = TREE.replace("## Decision", "Question: {a} {b} {c}?\n## Decision")
    prefer(store, "level", "never-ask")
    bind(store, tree, values={"a": "Tabs", "b": "or", "c": "spaces"})
    assert ask_tree(store, tree, values={"a": "Tabs", "b": "or", "c": "spaces"}).status == "done"
    assert (
        ask_tree(store, tree, values={"a": "Tell", "b": "the", "c": "mirror"}).status == "waiting"
    )


def test_a_question_that_is_nothing_but_a_slot_is_what_it_was_filled_with(
    store: SqliteStore,
) -> None:
    """Without a word of its own, it would be the same whatever is asked."""
    tree = TREE.replace("## Decision", "Question: {what}?\n## Decision")
    prefer(store, "level", "never-ask")
    bind(store, tree, values={"what": "Tabs"})
    assert ask_tree(store, tree, values={"what": "Tabs"}).status == "done"
    assert ask_tree(store, tree, values={"what": "Mirror"}).status == "waiting"


def test_what_stands_beside_a_question_is_judged_too(store: SqliteStore) -> None:
    """A harmless question about a context that says danger is asked."""
    tree = TREE.replace("## Decision", "Question: Shall I go on?\n## Decision")
    prefer(store, "level", "never-ask")
    bind(store, tree)
    assert ask_tree(store, tree).status == "done"
    assert ask_tree(store, tree, context="Going on uploads the wheel to PyPI.").status == "waiting"
    items = [msgspec.to_builtins(Item("1", "Next", context="The customer table is dropped."))]
    assert ask_tree(store, tree, items=items).status == "waiting"


def test_what_a_slot_recommends_is_no_value_that_may_differ(store: SqliteStore) -> None:
    """Whoever fills the slots does not choose what a preference decides."""
    tree = TREE.replace("Quiet (recommended)", "Quiet {a}").replace("As now", "As now {b}")
    prefer(store, "level", "never-ask")
    bind(store, tree, values={"a": "(recommended)", "b": "."})
    assert ask_tree(store, tree, values={"a": "(recommended)", "b": "!"}).status == "done"
    assert ask_tree(store, tree, values={"a": ".", "b": "(recommended)"}).status == "waiting"
