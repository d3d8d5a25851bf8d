"""What the hosts' boxes hold, and what hosts say in words of their own."""

from __future__ import annotations

import pytest

from quandary.errors import QuandaryError
from quandary.model.ask import Limits
from quandary.people import hosts


def test_each_host_has_the_limits_that_were_found() -> None:
    """Claude Code takes four questions of two to four options, Codex three of two or three."""
    assert Limits(4, 4) == hosts.limits("claude")
    assert Limits(3, 3) == hosts.limits("codex")
    assert {2} == {host.least for host in hosts.HOSTS.values()}


def test_text_shows_one_question_at_a_time() -> None:
    """Plain text has one question, and never more than four options."""
    assert Limits(1, 4) == hosts.TEXT


def test_the_caller_can_want_a_shorter_header() -> None:
    """`--header-max` narrows the header and nothing else."""
    assert Limits(3, 3, 12) == hosts.limits("codex", 12)


def test_an_unknown_host_is_refused_with_the_known_ones() -> None:
    """The message names what there is."""
    with pytest.raises(QuandaryError, match="no host is called gemini; there are claude, codex"):
        hosts.host("gemini")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("dismissed", "User declined to answer questions"),
        ("dismissed", "User declined to answer the questions. Continue with the task."),
        ("dismissed", "(User declined to answer questions)"),
        ("dismissed", "User rejected tool use"),
        ("dismissed", "The user doesn't want to proceed with this tool use. It was rejected."),
        ("dismissed", "The user wants to clarify these questions.\n  This means…"),
        ("dismissed", "The user did not answer the questions."),
        ("dismissed", "[User dismissed - do not proceed, wait for next instruction]"),
        ("dismissed", "[Request interrupted by user for tool use]"),
        ("dismissed", "request_user_input was cancelled before receiving a response"),
        ("idle", "No response after 60s — the user may be away from keyboard."),
        ("unavailable", "request_user_input is unavailable in Default mode"),
        ("unavailable", "Cannot ask user questions in non-interactive mode without ACP support"),
        ("error", "[Tool result missing due to internal error]"),
        ("error", "<tool_use_error>InputValidationError: options</tool_use_error>"),
        ("error", "InputValidationError: 5 questions"),
    ],
)
def test_what_a_host_says_without_an_answer_is_known(kind: str, text: str) -> None:
    """Its sentence about declining is no decline: it also comes when the box was never shown."""
    outcome = hosts.said(text)
    assert outcome is not None
    assert kind == outcome.kind
    assert outcome.detail


@pytest.mark.parametrize(
    "text",
    [
        "",
        "OK",
        "The user declined the offer, so change it",
        "I declined to answer",
        "No response is fine",
        "No response after all",
        "[OK]",
        "[Tool result missing due to internal error] is what I saw",
    ],
)
def test_what_a_person_says_is_not_taken_for_a_host(text: str) -> None:
    """Only the hosts' own sentences count."""
    assert hosts.said(text) is None


def test_answers_told_in_a_sentence_are_found_by_their_questions() -> None:
    """Quotation marks in questions, answers and notes do no harm, since the texts are known."""
    text = (
        'The user answered: "Is "A" good?"="say "yes", then go" notes: or "no", '
        '"And, B?"="Fine", "C?"=(no option selected) notes: any. Read the answers carefully — x'
    )
    told = hosts.spoken(text, ['Is "A" good?', "And, B?", "C?"])
    assert told == {
        "answers": {'Is "A" good?': 'say "yes", then go', "And, B?": "Fine", "C?": None},
        "annotations": {'Is "A" good?': {"notes": 'or "no"'}, "C?": {"notes": "any"}},
    }


def test_a_preview_in_the_sentence_is_passed_over() -> None:
    """It repeats what was shown and says nothing new."""
    text = 'User has answered your questions: "Q"="A" selected preview:\n| x | user notes: slow'
    told = hosts.spoken(text, ["Q"])
    assert told == {"answers": {"Q": "A"}, "annotations": {"Q": {"notes": "slow"}}}


@pytest.mark.parametrize(
    "body", ['"Q"="A", "Gone?"="B"', '"Q"=A', '"Q"="A" and more', '"Q"="A", "Q"="B"']
)
def test_a_sentence_that_cannot_be_told_apart_is_refused(body: str) -> None:
    """Nothing is guessed; the JSON has it without doubt."""
    with pytest.raises(QuandaryError, match="cannot be told apart"):
        hosts.spoken(f"Your questions have been answered: {body}", ["Q"])


def test_other_words_are_no_told_answers() -> None:
    """A sentence of the person's own stays what it is."""
    assert hosts.spoken("The user story is wrong: fix it", ["Q"]) is None


def test_a_long_text_is_shortened_to_its_beginning() -> None:
    """A megabyte in an error message helps nobody."""
    assert hosts.shortened("a\n\n b") == "a b"
    assert len(hosts.shortened("x" * 10_000_000)) == 200
