"""The digest of an input, and what makes an action risky."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quandary.model.requests import PermitRequest, canonical, digest_input, find_one_way, find_risks

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


def bash(command: str) -> PermitRequest:
    """A command that an agent wants to run in /shop."""
    text = json.dumps({"command": command})
    return PermitRequest("run a command", text, tool="Bash", folder="/shop")


@pytest.mark.parametrize(
    ("bits", "written"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("41b3de4355555553", "333333333.3333332"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
    ],
)
def test_numbers_are_written_as_the_standard_says(bits: str, written: str) -> None:
    """Samples of RFC 8785, appendix B."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == written


def test_keys_stand_in_the_order_of_utf_16() -> None:
    """The sample of RFC 8785, section 3.2.3: a pair of surrogates comes before U+FB33."""
    sample = dict.fromkeys(["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\xf6"], 0)
    order = [*json.loads(canonical(sample))]
    assert order == ["\r", "1", "\x80", "\xf6", "\u20ac", "\U0001f600", "\ufb33"]


@given(VALUES)
def test_layout_never_changes_a_digest(value: object) -> None:
    """However JSON is laid out, the same value has the same digest; the form reads back as it."""
    assert json.loads(canonical(value), parse_int=float) == value
    loose = json.dumps(value, indent=3, ensure_ascii=True)
    assert digest_input(loose) == digest_input(canonical(value))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"build": 812}', '{"build":8.12e2}'),
        ('{"a": 1, "b": 2}', ' { "b": 2.0, "a": 1 } '),
        ('"\\u00e9"', '"é"'),
    ],
)
def test_the_same_said_differently_is_the_same(one: str, other: str) -> None:
    """Spaces, the order of keys, escapes and the spelling of numbers do not count."""
    assert digest_input(one) == digest_input(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"build": 812}', '{"build": 813}'),
        ('{"build": 812}', '{"build": "812"}'),
        ("12345678901234567890", "12345678901234567891"),
        ("0.1", "0.10000000000000001"),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
        ('{"a": 1, "a": 2}', '{"a": 2, "a": 1}'),
        ("[NaN]", "[ NaN ]"),
        ("1e999", "1e9999"),
        ('"\\ud800"', '"\\udfff"'),
        ("deploy 812", "deploy 812 "),
        ("é", "e\u0301"),
    ],
)
def test_what_a_program_could_read_otherwise_is_another_input(one: str, other: str) -> None:
    """A doubled key, lost digits, half a character: these count as bytes, like all else."""
    assert digest_input(one) != digest_input(other)


@pytest.mark.parametrize(
    ("command", "risk", "shown"),
    [
        ("git push --force", "may not be possible to take back", "--force"),
        ("cd src && rm -rf build", "may not be possible to take back", "rm -rf build"),
        ("cat ../other/x", "outside the project", "../other/x"),
        ("cp a.txt ~/b.txt", "outside the project", "~/b.txt"),
        ("curl https://example.com", "uses the network", "https://"),
        ("ssh build", "uses the network", "ssh"),
        ("cat .env.local", "may touch secrets", ".env.local"),
    ],
)
def test_a_command_shows_its_risks(command: str, risk: str, shown: str) -> None:
    """Each with what gives it away."""
    assert find_risks(bash(command)).get(risk) == shown


@pytest.mark.parametrize(
    "command", ["pytest -q 2>&1 | tail -5", "ls src/x", "git status > /dev/null", "cat /shop/a/b"]
)
def test_a_harmless_command_shows_none(command: str) -> None:
    """Silencing a command is no risk, and neither is a file of the project by its whole path."""
    assert find_risks(bash(command)) == {}


def test_a_path_hides_no_risk_of_what_stands_beside_it() -> None:
    """A folder beside a command, or a file beside an address, is not all that there is to see."""
    line = {"command": "cat ../x 2>/dev/null", "directory": "src"}
    shell = PermitRequest("run", json.dumps(line), tool="run_shell_command", folder="/shop")
    assert find_risks(shell) == {"outside the project": "../x"}
    given = json.dumps({"url": "https://example.com", "file": "a"})
    fetch = PermitRequest("use", given, tool="mcp__x__y", folder="/shop")
    assert find_risks(fetch) == {"uses the network": "https://"}


def test_every_part_of_a_command_is_judged() -> None:
    """What cannot be taken back is found behind operators and inside a substitution."""
    for command in ("ls; rm -rf x", "echo $(rm -rf x)", "ls || (rm -rf x)", "ls\nrm -rf x"):
        assert find_one_way(bash(command)), command
