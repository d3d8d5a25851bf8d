"""Agents by codename, and tables of the settings that describe or misdescribe them."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quandary.errors import NotFound, ParseError
from quandary.settings.agents import (
    MOST,
    Agent,
    Catalogue,
    follow,
    known_agents,
    parse_path,
    read_catalogue,
    words,
)
from strategies import HOSTILE

KNOWN_NAMES = [agent.name for agent in known_agents()]


def catalogue(settings: str) -> Catalogue:
    """The agents of settings written as TOML."""
    return read_catalogue(tomllib.loads(settings).get("agents"))


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["CLAUDE", "claude", " Cl-au_de ", "C L A U D E"])
def test_codenames_match_loosely(name: str) -> None:
    """Case, spaces, hyphens and underscores do not count."""
    assert read_catalogue().find(name).name == "CLAUDE"


def test_the_agents_of_the_documents_are_known() -> None:
    """Each of them by its codename."""
    names = {"CLAUDE", "CODEX", "GEMINI", "CURSOR", "COPILOT", "QODO", "AIDER", "OPENCODE", "LLM"}
    assert names <= set(read_catalogue().names)


@pytest.mark.parametrize("name", ["", "  ", "GPT", "claude2"])
def test_unknown_codenames_are_refused(name: str) -> None:
    """The message has the names that there are."""
    with pytest.raises(NotFound, match=r"there is no agent .*CLAUDE, CODEX.*\[agents.NAME\]"):
        read_catalogue().find(name)


@pytest.mark.parametrize("name", ["HUMAN", "human", "Hu-man"])
def test_a_person_is_no_program(name: str) -> None:
    """HUMAN cannot be run, and no table can claim the name."""
    with pytest.raises(NotFound, match="a person"):
        read_catalogue().find(name)
    with pytest.raises(ParseError, match="reserved"):
        read_catalogue({name: {"argv": ["x"]}})


def test_names_that_differ_in_nothing_that_counts_clash() -> None:
    """Two tables for one codename are an error."""
    with pytest.raises(
        ParseError, match=r"\[agents.my_one\] is the same name as \[agents.My-One\]"
    ):
        read_catalogue({"My-One": {"argv": ["x"]}, "my_one": {"argv": ["y"]}})


# -- tables --------------------------------------------------------------------------------------


def test_a_table_describes_an_agent() -> None:
    """Every key has its meaning."""
    agent = catalogue(
        """
        [agents.MINE]
        argv = ["mine", "--ask", "{prompt}"]
        prompt = "argument"
        large = ["mine", "--file", "{prompt_file}"]
        env = ["MY_KEY"]
        output = "json:message.text"
        usage = ["usage.in", "usage.out"]
        failure = "failed"
        schema = ["--schema", "{schema_file}"]
        safe = ["--read-only"]
        full = ["--anything"]
        args = ["--fast"]
        max_output = 2048
        """
    ).find("mine")
    assert agent == Agent(
        name="MINE",
        argv=("mine", "--ask", "{prompt}"),
        prompt="argument",
        large=("mine", "--file", "{prompt_file}"),
        env=("MY_KEY",),
        output="json:message.text",
        usage=("usage.in", "usage.out"),
        failure=("failed",),
        schema=("--schema", "{schema_file}"),
        safe=("--read-only",),
        full=("--anything",),
        args=("--fast",),
        max_output=2048,
    )
    assert agent.permissions == "safe"


@pytest.mark.parametrize(
    ("argv", "way"),
    [(["x", "{prompt}"], "argument"), (["x", "-f={prompt_file}"], "file"), (["x"], "stdin")],
)
def test_the_words_show_how_the_prompt_is_taken(argv: list[str], way: str) -> None:
    """A table need not say what can be seen."""
    assert read_catalogue({"X": {"argv": argv}}).find("x").prompt == way


def test_a_table_without_argv_changes_a_known_agent() -> None:
    """The rest stays as it is known."""
    known = read_catalogue().find("claude")
    agent = read_catalogue({"claude": {"permissions": "full", "model": "opus"}}).find("CLAUDE")
    assert (agent.argv, agent.output) == (known.argv, known.output)
    assert words(agent) == (
        *("claude", "-p", "--output-format", "json"),
        *("--dangerously-skip-permissions", "--model", "opus"),
    )


def test_a_table_with_argv_starts_from_scratch() -> None:
    """Nothing of the known agent remains that would not fit."""
    agent = read_catalogue({"claude": {"argv": ["./mine"]}}).find("claude")
    assert agent == Agent(name="claude", argv=("./mine",))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (3, r"\[agents.X\] is a table"),
        ({}, "argv is missing"),
        ({"argv": []}, "argv is a list of texts that begins with a program"),
        ({"argv": [" "]}, "argv is a list of texts that begins with a program"),
        ({"argv": "x --flag"}, "argv is a list of texts"),
        ({"argv": ["x", 3]}, "argv is a list of texts"),
        ({"argv": ["x", "a\0b"]}, "argv is a list of texts"),
        ({"argv": ["{prompt}"]}, "argv begins with the program"),
        ({"argv": ["cursor", "ask", "<prompt>"]}, r"nothing fills; write \{prompt\}"),
        ({"argv": ["x"], "prompt": "argument"}, r"argv needs \{prompt\}"),
        ({"argv": ["x"], "prompt": "file"}, r"argv needs \{prompt_file\}"),
        ({"argv": ["x", "{prompt}"], "prompt": "stdin"}, r"argv needs neither \{prompt\} nor"),
        ({"argv": ["x", "{prompt}", "{prompt_file}"]}, r"argv needs \{prompt\}"),
        ({"argv": ["x"], "prompt": "telepathy"}, "prompt is 'argument' or 'stdin' or 'file'"),
        ({"argv": ["x"], "prompt": []}, "prompt is 'argument'"),
        ({"argv": ["x"], "output": "xml"}, 'output is "text"'),
        ({"argv": ["x"], "output": "json:"}, 'output is "text"'),
        ({"argv": ["x"], "output": "json:a..b"}, 'output is "text"'),
        ({"argv": ["x"], "output": 3}, 'output is "text"'),
        ({"argv": ["x"], "usage": ["tokens"]}, "usage needs an output of json"),
        ({"argv": ["x"], "output": "json:a", "usage": [".a"]}, "usage is a path"),
        ({"argv": ["x"], "env": ["NO-NAME"]}, "env is a list of names of variables"),
        ({"argv": ["x"], "env": ["KEY=value"]}, "env is a list of names of variables"),
        ({"argv": ["x"], "env": "KEY"}, "env is a list"),
        ({"argv": ["x"], "schema": ["--schema"]}, r"schema needs \{schema\}"),
        ({"argv": ["x"], "safe": ["{prompt}"]}, "safe cannot have placeholders"),
        ({"argv": ["x"], "large": ["x"]}, "large is for prompt"),
        ({"argv": ["x", "{prompt}"], "large": ["x", "{prompt}"]}, "large takes the prompt by"),
        ({"argv": ["x"], "permissions": "root"}, "permissions is 'safe', 'ask' or 'full'"),
        ({"argv": ["x"], "model": "opus"}, "model is for agents known"),
        ({"argv": ["x"], "max_output": True}, "max_output is a number of bytes"),
        ({"argv": ["x"], "max_output": 3}, "max_output is a number of bytes"),
        ({"argv": ["x"], "arg": ["y"]}, r"there is no key arg \(there are argv, prompt"),
        ({"argv": 3, "env": 4, "foo": 5}, "argv is .*; env is .*; there is no key foo"),
    ],
)
def test_mistakes_in_a_table_are_named(table: Any, message: str) -> None:  # noqa: ANN401 - any
    """One line says which table, which key, and what belongs there."""
    with pytest.raises(ParseError, match=message) as caught:
        read_catalogue({"X": table})
    assert str(caught.value).startswith("[agents.X]")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("model", ["", "-m", "--dangerously", "a b", "{prompt}", 3])
def test_a_model_is_no_option(model: object) -> None:
    """A model's name cannot smuggle a flag in."""
    with pytest.raises(ParseError, match="model is the name of a model"):
        read_catalogue({"CLAUDE": {"model": model}})


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)
_NAMES = st.sampled_from(
    ["argv", "prompt", "large", "output", "usage", "env", "safe", "args", "model", "max_output"]
)


_TABLES = st.dictionaries(_NAMES, _VALUES, max_size=4)


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from([*HOSTILE, "claude"]), _TABLES, max_size=2))
def test_any_table_is_taken_or_refused(tables: dict[str, Any]) -> None:
    """Whatever the settings hold, there are agents or there is a message."""
    try:
        found = read_catalogue(tables)
    except ParseError:
        return
    assert set(KNOWN_NAMES) <= {name.upper() for name in found.names}
    assert all(words(agent) for agent in found.agents.values())


# -- words ---------------------------------------------------------------------------------------


def test_words_are_added_before_a_double_hyphen() -> None:
    """Behind `--` they would be taken for part of the prompt."""
    tables = {"X": {"argv": ["x", "--", "{prompt}"], "safe": ["--safe"], "args": ["-v"]}}
    assert words(read_catalogue(tables).find("x")) == ("x", "--safe", "-v", "--", "{prompt}")


@pytest.mark.parametrize("agent", known_agents(), ids=lambda agent: str(agent.name))
def test_known_agents_are_described_soundly(agent: Agent) -> None:
    """They stand up to the rules for tables, are safe by default, and give no leave unasked."""
    keys = ("argv", "prompt", "large", "output", "usage", "failure", "schema", "env", "full")
    table: dict[str, Any] = {
        key: list(value) if isinstance(value, tuple) else value
        for key in keys
        if (value := getattr(agent, key))
    }
    read_catalogue({"SAME": table})
    assert agent.permissions == "safe"
    assert agent.max_output == MOST
    risky = {"--yolo", "yolo", "--force", "--trust", "--auto", "--yes-always", *agent.full}
    dangerous = [word for word in words(agent) if word in risky - {"--approval-mode"}]
    assert dangerous == []
    assert agent.model_flag


# -- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.b", [1]),
        ("list.0", [{"type": "x", "n": 1}]),
        ("list.-1.n", [2]),
        ("list.5", []),
        ("list.*.n", [1, 2]),
        ("list.*[type=y].n", [2]),
        ("[kind=k.1].a.b", [1]),
        ("[kind=other].a.b", []),
        ("a.b.c", []),
        ("a.*", [1]),
        ("none", []),
    ],
)
def test_paths_lead_to_values(path: str, expected: list[Any]) -> None:
    """Keys, places in lists, all of them, and only those that are of a kind."""
    value = {
        "kind": "k.1",
        "a": {"b": 1},
        "list": [{"type": "x", "n": 1}, {"type": "y", "n": 2}],
    }
    parts = parse_path(path)
    assert parts is not None
    assert list(follow(value, parts)) == expected


@pytest.mark.parametrize(
    "path", ["", ".", "a.", ".a", "a..b", "a[b]", "a[=c]", "a]b", "a[b=c", "[b=c"]
)
def test_what_is_no_path(path: str) -> None:
    """A path that cannot be understood is not followed anywhere."""
    assert parse_path(path) is None


@given(st.text(alphabet="ab.*[]=0-", max_size=12))
def test_any_path_is_understood_or_not(path: str) -> None:
    """Reading a path ends, and following it does too."""
    parts = parse_path(path)
    if parts is not None:
        list(follow({"a": [{"b": "a"}, []], "b": {"a": 1}}, parts))


@pytest.mark.parametrize(("name", "key"), [("QODO", "QODO_API_KEY"), ("COPILOT", "GH_TOKEN")])
def test_keys_reach_the_agents_that_they_are_for(name: str, key: str) -> None:
    """And no other."""
    agents = read_catalogue().agents.values()
    assert [agent.name for agent in agents if key in agent.env] == [name]
