"""`quandary schema`: what the schemas allow is what the program accepts."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from program import call
from quandary.cli.authors import NAMES, make_schema
from quandary.cli.doctor import QUESTIONS, _find_fault
from quandary.errors import QuandaryError
from quandary.formats import sources, tracks
from quandary.settings import KNOWN

ROOT = Path(__file__).resolve().parents[2]
E1 = {"key": "E1", "title": "Slack bot"}

GOOD: dict[str, list[Any]] = {
    "items": [
        [{"id": "1"}],
        [{"title": "Build 812", "risk": 3, "who": ["a", "b"]}, {"label": "B", "context": None}],
        [{"id": 7, "title": {"any": "thing"}}],
    ],
    "options": [
        [E1],
        [
            {**E1, "scope": None, "cost": "2 days", "requires": ["E2"], "because": ""},
            {**E1, "key": "E2"},
        ],
        [{**E1, "recommend": "Include"}, {"key": "E2", "title": "b", "recommend": None}],
        [{**E1, "recommend": " cut "}, {"key": "E2", "title": "b", "conflicts": None}],
    ],
    "phases": [
        ["1: Plan", "2"],
        {"phases": [{"label": "1", "name": "Plan"}], "more": 1},
        [{"label": 1}, {"label": "3.A", "gate": False}, {"major": 4, "minor": 2, "name": "x"}],
        [
            {
                "label": "1",
                "approval": "person",
                "proof": ["tests", {"name": "n", "type": "integer"}],
            }
        ],
        [{"label": "1", "proof": {"tests": {"minLength": 3}, "ok": True}}],
        [{"label": "1", "proof": {"properties": {"a": {"enum": [1]}}, "required": ["a"]}}],
        [{"label": "1", "proof": None, "colour": "red"}],
    ],
    "settings": [
        {},
        {"store": "x.db", "max_visits": 3, "write_log_long": False, "DEFAULT_CLI": "CLAUDE"},
        {"trees": "skills"},
        {"trees": ["skills", "docs"], "on_exhausted": "continue"},
        {"agents": {"MINE": {"argv": ["me", "{prompt}"], "prompt": "argument", "env": ["KEY"]}}},
        {"agents": {"CLAUDE": {"model": "opus"}}, "reading": {"agent": "CLAUDE"}},
        {"questions": {"deploy": {"door": "one-way", "ask": "always"}}},
        {"hooks": {"strict": True, "route": "inbox", "wait": 60}, "authority": {"person": ["web"]}},
        {"permissions": {"route": "inbox", "tools": ["Bash"], "wait": 9.5, "ask": []}},
        {"callbacks": [{"url": "https://told.example.org/", "secret": "s", "only_named": True}]},
        {"notify": {"command": ["sh"]}, "serve": {"hosts": ["desk.example.org"]}},
    ],
}
BAD: dict[str, list[Any]] = {
    "items": [[], ["text"], [{"risk": 3}]],
    "options": [
        [],
        {"key": "E1"},
        ["E1"],
        [{"key": "E1"}],
        [{"key": " ", "title": "b"}],
        [{**E1, "colour": "red"}],
        [{**E1, "requires": "E2"}],
        [{**E1, "cost": 3}],
        [{**E1, "recommend": "maybe"}],
    ],
    "phases": [
        [],
        {},
        "1",
        [1],
        [{"name": "Plan"}],
        [{"label": "Plan"}],
        [{"label": 1.5}],
        [{"label": "1", "name": 3}],
        [{"label": "1", "gate": "no"}],
        [{"label": "1", "approval": "agent"}],
        [{"label": "1", "proof": [{"name": "n", "type": "date"}]}],
        [{"label": "1", "proof": [{"name": "n", "maximum": 3}]}],
        [{"label": "1", "proof": [{"type": "string"}]}],
        [{"major": "4"}],
    ],
    "settings": [
        {"colour": "red"},
        {"max_visits": "3"},
        {"write_log_long": 1},
        {"trees": 3},
        {"agents": {"MINE": {"argv": [], "prompt": "argument"}}},
        {"agents": {"MINE": {"argv": ["me"], "prompt": "mail"}}},
        {"agents": {"MINE": {"argv": ["me"], "colour": "red"}}},
        {"agents": {"MINE": ["me"]}},
        {"reading": {"model": "CLAUDE"}},
        {"questions": {"deploy": {"door": "round"}}},
        {"hooks": {"route": "mail"}},
        {"hooks": {"wait": 0}},
        {"authority": {"person": ["mail"]}},
        {"permissions": {"tools": "Bash"}},
        {"notify": {"command": "sh"}},
        {"callbacks": [{"secret": "s"}]},
        {"callbacks": [{"url": "https://told.example.org/", "colour": "red"}]},
        {"serve": {"hosts": "desk.example.org"}},
        {"users": {"ada": "secret"}},
    ],
}


def accepts(name: str, document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether the program takes a document."""
    try:
        if name == "items":
            sources.parse_items(json.dumps(document), "-")
        elif name == "options":
            sources.options_from_rows(document, "-")
        elif name == "phases":
            tracks.write_new(json.dumps(document), "-", None, "-")
        else:
            return not any(_find_fault("user", key, value) for key, value in document.items())
    except QuandaryError:
        return False
    return True


def allows(name: str, document: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether the schema does."""
    return bool(Draft202012Validator(make_schema(name)).is_valid(document))


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_true(name: str) -> None:
    """What the program accepts is valid, and what it refuses for its shape is not."""
    Draft202012Validator.check_schema(make_schema(name))
    for document in GOOD[name]:
        assert (accepts(name, document), allows(name, document)) == (True, True), document
    for document in BAD[name]:
        assert (accepts(name, document), allows(name, document)) == (False, False), document


def test_examples_and_pages_are_valid() -> None:
    """Every file of options and phases among the examples, and all settings on the pages."""
    for path in (ROOT / "examples/options").glob("*.json"):
        assert allows("options", json.loads(path.read_text(encoding="utf-8"))), path
    assert allows("phases", json.loads((ROOT / "examples/release/phases.json").read_bytes()))
    shown = 0
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```toml[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            shown += 1
            assert allows("settings", tomllib.loads(block)), f"{page.name}:\n{block}"
    assert shown > 5


def test_every_setting_has_its_schema() -> None:
    """None is forgotten, and the choices of `[questions.ID]` are those that there are."""
    properties = make_schema("settings")["properties"]
    assert set(KNOWN) <= set(properties)
    entry = properties["questions"]["additionalProperties"]["properties"]
    assert {key: tuple(one["enum"]) for key, one in entry.items()} == QUESTIONS
    assert set(properties["agents"]["additionalProperties"]["properties"]) >= {"argv", "env"}


def test_schemas_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """As one JSON document, in regular expressions that editors know; another name is refused."""
    for name in NAMES:
        status, out, _ = call(capsys, "schema", name)
        assert (status, json.loads(out)) == (0, make_schema(name))
        assert "\\\\Z" not in out
    assert call(capsys, "schema", "trees").status == 2
