"""Replies that begin with what is to be done, such as a bucket of a split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import quandary
from quandary.reading import read

if TYPE_CHECKING:
    from quandary.model.asks import Question
    from quandary.reading import Mode

CHATS = {
    "E1": "Slack DM bot",
    "E2": "Discord guild bot",
    "E3": "Microsoft Teams",
    "E4": "Telegram",
    "E5": "Mattermost",
}


def bucket_question(*keys: str) -> Question:
    options = [quandary.Candidate(key, CHATS.get(key, key)) for key in keys or CHATS]
    return next(quandary.split(options)).questions[0]  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        *(
            (text, "INC")
            for text in ("A", "a)", "Include in this scope", "include it", "A) Include")
        ),
        *(
            (text, "INC")
            for text in ("Include in this scope (recommended)", "we should include it")
        ),
        *((text, "DEF") for text in ("B", "(b)", "B please", "Defer to v2", "defer it until Q3")),
        *((text, "DEF") for text in ("Defer to follow-up (TODOs / next version)", "B) Defer")),
        *(
            (text, "CUT")
            for text in (
                "C.",
                "cut it",
                "Cut entirely",
                "cut E1",
                "Let's cut this one",
                "yes, cut it",
            )
        ),
        *((text, "CUT") for text in ("cut the Slack DM bot", "cut it from v1", "cut - too dear")),
        *((text, "HLD") for text in ("D", "hold on", "Hold — stop the chain, discuss first")),
    ],
)
def test_a_bucket_is_known_by_its_leading_word_its_letter_and_the_requirements_wording(
    text: str, code: str, mode: Mode
) -> None:
    """Whatever belongs to the bucket may follow."""
    found = read(text, bucket_question(), mode)
    assert (found.kind, found.codes) == ("pick", (code,))


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize(
    "text",
    [
        *(
            "cut the cost first",
            "well, cut the cost",
            "cut the scope",
            "Cut down the scope",
            "cut E3",
        ),
        *(
            "include in v2",
            "include later",
            "include the cost",
            "include only if it is cheap",
            "defer to your judgement",
        ),
        *("include or cut", "include, and cut E2", "include but defer the tests", "A) Cut"),
        *(
            "cut half of it",
            "cut for now",
            "cut nothing",
            "defer maybe",
            "A, B",
            "a bot would be nice",
            "cut it?",
        ),
    ],
)
def test_what_says_more_than_a_bucket_is_none(text: str, mode: Mode) -> None:
    """To read wrongly is worse than to hold."""
    assert read(text, bucket_question(), mode).kind != "pick"


@pytest.mark.parametrize("before", ["sure, ", "alright, ", "Fine, ", "definitely ", "certainly "])
def test_agreeing_before_a_bucket_takes_nothing_from_it(before: str) -> None:
    """`sure, cut it` names it as well as `ok, cut it` does; what is not sure does not."""
    question = bucket_question()
    assert read(f"{before}cut it", question, "strict").codes == ("CUT",)
    for text in (f"not {before}cut it", f"{before}not", f"{before}include it later"):
        assert read(text, question, "strict").kind == "own-words"


def test_what_follows_a_bucket_is_kept_as_a_remark() -> None:
    """The version that something is deferred to is worth keeping."""
    question = bucket_question()
    said = {
        text: read(text, question).comment for text in ("cut, too dear", "Defer to v2", "cut it")
    }
    assert said == {"cut, too dear": "too dear", "Defer to v2": "Defer to v2", "cut it": None}


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize(
    "text",
    [
        *("Include: no", "Cut: no", "Include, no", "Include. No.", "Include: later", "A: no"),
        *("Include, in v2", "Include: ask me tomorrow", "Cut, scratch that", "Include 🚫"),
        *("Cut. Same for the rest", "Cut, E2 as well", "Cut. And cut E2", "Include, most of it"),
        *("Include, as soon as legal signs", "Include, let me check", "Include, leave out the bot"),
    ],
)
def test_what_says_no_or_more_behind_a_bucket_is_no_remark(text: str, mode: Mode) -> None:
    """Half of such a reply would be lost: it is a Hold."""
    assert read(text, bucket_question(), mode).kind == "own-words"


@pytest.mark.parametrize("mode", ["strict", "plain"])
def test_what_says_no_or_more_behind_the_splits_own_actions_is_no_remark(mode: Mode) -> None:
    """The last question names the options, and so may a reply to it."""
    final = ask_after(*["include"] * 5)
    texts = "|, E2 out|, and drop E2|: no|. No.|: later|; defer E2|, minus E2|, plus E4|, just E1"
    texts += "|, after legal signs| (no)|: hold|, nah| ✗|, drop Slack"
    for rest in texts.split("|")[1:]:
        assert read(f"Ship it{rest}", final, mode).kind == "own-words"
    thanks = {rest: read(f"Ship it{rest}", final, mode) for rest in (", thanks", ". Great work")}
    assert [found.codes for found in thanks.values()] == [("SHP",)] * 2
    assert [found.comment for found in thanks.values()] == [None, "Great work"]
    held = ask_after("include", "hold")
    needs = ask_after("cut", "cut", "include", "cut", "cut", E3={"requires": ("E1",)})
    assert codes(held, mode, "Include: later", "Continue: no") == ["", ""]
    assert codes(needs, mode, "Keep E1: no", "Cut E3, E1 too") == ["", ""]
    meta = bucket_question(*(f"E{number}" for number in range(1, 8)))
    assert codes(meta, mode, "Proceed, no", "Proceed, thanks") == ["", "ALL"]


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize(
    "text",
    [
        *(
            "Include: it is cheap",
            "Include, customers want it",
            "Cut: too expensive",
            "Include. Yes",
        ),
        *("Cut. Nobody asked for it", "Defer, no time", "Defer - to v2", "Defer, next week"),
    ],
)
def test_why_a_bucket_is_chosen_is_a_remark(text: str, mode: Mode) -> None:
    """It takes nothing back, and names nothing else."""
    found = read(text, bucket_question(), mode)
    assert (found.kind, found.codes[0][0], bool(found.comment)) == ("pick", text[0], True)


def test_a_letter_that_is_an_options_key_names_no_bucket() -> None:
    """`B` may be meant to name that option."""
    question = bucket_question("A", "B", "X", "Y", "Z")
    assert [read(text, question, "strict").kind for text in ("B", "C")] == ["own-words", "pick"]


def test_an_option_whose_title_begins_like_a_bucket_is_only_named() -> None:
    """Its title does not say what should become of it."""
    options = [quandary.Candidate(f"E{n}", "Cut the price") for n in range(5)]
    question = next(quandary.split(options)).questions[0]  # type: ignore[union-attr]
    texts = ("Cut the price", "cut it", "Include cut the price")
    assert codes(question, "strict", *texts) == ["", "CUT", "INC"]


def ask_after(*said: str, **ties: dict[str, tuple[str, ...]]) -> Question:
    """What is asked when these were the answers so far."""
    options = [
        quandary.Candidate(
            key,
            title,
            requires=ties.get(key, {}).get("requires", ()),
            conflicts=ties.get(key, {}).get("conflicts", ()),
        )
        for key, title in CHATS.items()
    ]
    flow = quandary.split(options)
    ask = next(flow)
    for text in said:
        question = ask.questions[0]  # type: ignore[union-attr]
        answer = read(text, question, "strict").answer(question.key, text)
        ask = flow.send(quandary.Reply((answer,)))
    return ask.questions[0]  # type: ignore[union-attr]


def codes(question: Question, mode: Mode, *texts: str) -> list[str]:
    """What each text picks."""
    return [",".join(read(text, question, mode).codes) for text in texts]


@pytest.mark.parametrize("mode", ["strict", "plain"])
def test_whoever_continues_may_say_with_what(mode: Mode) -> None:
    """By its key, its title or its number, which is no place in what is shown."""
    held = ask_after("include", "hold")
    assert codes(held, mode, "let's continue", "resume", "cut it") == ["CON", "CON", "CUT"]
    texts = ("continue with E4", "continue with Telegram", "continue with D1.4", "D1.4", "E4")
    assert codes(held, mode, *texts) == ["E4"] * 5


def test_a_number_of_the_split_is_no_place_in_what_is_shown() -> None:
    """`D1.3` is the third option, also where keys are numbers and the third shown is another."""
    options = [quandary.Candidate(str(n), f"Thing {n}") for n in range(1, 7)]
    flow = quandary.split(options)
    ask = next(flow)
    for code in ("INC", "HLD"):
        ask = flow.send(quandary.Reply((quandary.Answer(ask.key, (code,)),)))  # type: ignore[union-attr]
    assert read("D1.3", ask.questions[0]).codes == ("3",)  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["strict", "plain"])
def test_the_final_question_and_conflicts_are_answered_in_the_requirements_words(
    mode: Mode,
) -> None:
    """And with the names of options; whichever of two that conflict is named."""
    final = ask_after("include", "include", "defer", "cut", "cut")
    assert codes(final, mode, "A", "ship it", "B", "revise E2") == ["SHP", "SHP", "REV", "REV"]
    assert codes(final, mode, "C", "cut more", "D1.2") == ["CUT", "CUT", ""]
    needs = ask_after("cut", "cut", "include", "cut", "cut", E3={"requires": ("E1",)})
    texts = ("keep E1", "B", "Leave as-is and accept the broken state", "leave as is")
    assert codes(needs, mode, *texts) == ["KEP", "CUT", "BRK", "BRK"]
    at_odds = ask_after("include", "include", "cut", "cut", "cut", E1={"conflicts": ("E2",)})
    texts = ("keep E1", "cut E2", "keep E2", "cut E1")
    assert codes(at_odds, mode, *texts) == ["KEP", "KEP", "CUT", "CUT"]
    assert read("cut it", at_odds, mode).kind != "pick"


@pytest.mark.parametrize(
    ("count", "text", "code"),
    [
        (7, "A", "ALL"),
        (7, "Proceed with the full split", "ALL"),
        (7, "Narrow scope first", "NAR"),
        (7, "Batch into groups of 4 instead", "BAT"),
    ],
)
def test_the_meta_question_is_answered_in_the_requirements_words(
    count: int, text: str, code: str
) -> None:
    """Its letters and wordings are known as those of the buckets are."""
    question = bucket_question(*(f"E{number}" for number in range(1, count + 1)))
    assert read(text, question, "strict").codes == (code,)


@pytest.mark.parametrize("mode", ["strict", "plain"])
def test_the_beginning_of_what_to_do_names_it_where_only_one_begins_like_that(mode: Mode) -> None:
    """Whole words of its label, however many."""
    meta = bucket_question(*(f"E{number}" for number in range(1, 8)))
    texts = ("narrow it down", "Narrow it", "proceed one by", "batches of")
    assert codes(meta, mode, *texts) == ["NAR", "NAR", "ALL", "BAT"]
    needs = ask_after("cut", "cut", "include", "cut", "cut", E3={"requires": ("E1",)})
    assert codes(needs, mode, "accept it as", "cut E3", "keep") == ["BRK", "CUT", "KEP"]


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize("first", ["cut", "defer"])
def test_what_is_said_of_the_other_option_is_no_way_out_of_a_conflict(
    first: str, mode: Mode
) -> None:
    """`cut E1`, which is cut already, does not keep it."""
    needs = ask_after(first, "cut", "include", "cut", "cut", E3={"requires": ("E1",)})
    texts = ("cut E1", "cut E1 for good", "cut Slack DM bot", f"keep E1 {first}", "keep E3")
    assert {text for text in texts if read(text, needs, mode).kind == "pick"} == set()
    assert codes(needs, mode, "cut E3", "cut Microsoft Teams") == ["CUT", "CUT"]
    assert codes(needs, mode, "keep E1", "keep Slack DM bot") == ["KEP", "KEP"]


@pytest.mark.parametrize("mode", ["strict", "plain"])
@pytest.mark.parametrize("text", ["yes", "sounds good", "go ahead", "do it", "ok"])
def test_a_yes_says_what_a_split_is_to_do_only_where_that_is_recommended(
    text: str, mode: Mode
) -> None:
    """`Proceed` is one of three ways to go about it, and `Continue` one of several options."""
    meta = bucket_question(*(f"E{number}" for number in range(1, 8)))
    for question in (meta, ask_after("include", "hold"), bucket_question()):
        assert read(text, question, mode).kind == "ambiguous"
    assert codes(ask_after(*["include"] * 5), mode, text) == ["SHP"]


@pytest.mark.parametrize("mode", ["strict", "plain"])
def test_what_is_said_of_the_rest_is_no_bucket_of_one_option(mode: Mode) -> None:
    """Where the rest is asked about, it is what becomes of that."""
    for question in (bucket_question(), ask_after("include", "hold")):
        assert codes(question, mode, "cut the rest", "defer the rest", "cut more") == [""] * 3
        assert codes(question, mode, "cut all", "include them all", "defer all") == [""] * 3
    options = [quandary.Candidate(key, CHATS[key]) for key in ("E1", "E2", "E3")]
    flow = quandary.split(options)
    first = next(flow).questions[0]  # type: ignore[union-attr]
    rest = flow.send(quandary.Reply((quandary.Answer(first.key, ("E1",)),)))
    texts = ("cut the rest", "Defer the rest.", "cut them all")
    assert codes(rest.questions[0], mode, *texts) == ["CUT", "DEF", "CUT"]  # type: ignore[union-attr]
