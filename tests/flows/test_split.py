"""Given a list of options and these replies: these questions, and these buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from quandary.errors import ContextRequired, QuandaryError
from quandary.flows.split import split, start
from quandary.model.asks import BACK, MORE, Answer, Ask, Candidate, Limits, Reply
from quandary.model.tree import Extra
from quandary.reading import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quandary.flows import Flow

CODEX = Limits(questions=3, options=3)

PLATFORMS = (
    Candidate("E1", "Slack DM bot", cost="2 weeks", recommend="include", because="most ask for it"),
    Candidate("E2", "Discord guild bot", cost="3 weeks", recommend="defer"),
    Candidate("E3", "Microsoft Teams", cost="4 weeks", recommend="cut"),
    Candidate("E4", "Telegram", cost="1 week", recommend="include"),
    Candidate("E5", "Mattermost", cost="2 weeks"),
)
"""The five chat platforms, which do not depend on each other."""

NINE = tuple(
    Candidate(f"O{n}", f"Option {n}", f"What number {n} takes in.", requires=requires)
    for n, requires in enumerate(
        ((), ("O1",), ("O1", "O2"), (), ("O4",), (), (), ("O7",), ("O8",)), 1
    )
)

Say = str | tuple[str, ...] | Answer


def drive(flow: Flow, *says: Say) -> tuple[list[Ask], dict[str, Any] | Ask]:
    """Answer in turn: a code, several codes, or a whole answer. The asks, and what came last."""
    asks: list[Ask] = []
    request = next(flow)
    for say in says:
        assert isinstance(request, Ask)
        asks.append(request)
        try:
            request = flow.send(reply(request, say))
        except StopIteration as end:
            assert len(asks) == len(says)
            result: dict[str, Any] = end.value
            return asks, result
    assert isinstance(request, Ask)
    return asks, request


def reply(ask: Ask, say: Say) -> Reply:
    """What is said to the only question of an Ask."""
    (question,) = ask.questions
    if isinstance(say, Answer):
        given = Answer(
            **{f: getattr(say, f) for f in say.__struct_fields__} | {"key": question.key}
        )
    elif isinstance(say, tuple):
        given = Answer(question.key, say)
    else:
        given = Answer(question.key, (say,))
    return Reply((given,))


def words(text: str, **more: Any) -> Answer:  # noqa: ANN401 - fields of an answer
    """Typed text that names no choice."""
    return Answer("", text=text, raw=text, **more)


def done(flow: Flow, *says: Say) -> dict[str, Any]:
    """The result after these replies."""
    _, result = drive(flow, *says)
    assert isinstance(result, dict), f"it still waits for {result.key}"
    return result


def asked(flow: Flow, *says: Say) -> Ask:
    """What waits after these replies."""
    _, ask = drive(flow, *says)
    assert isinstance(ask, Ask)
    return ask


def codes(ask: Ask) -> list[str]:
    """The codes that are shown."""
    return [choice.code for choice in ask.questions[0].choices]


def text(ask: Ask) -> str:
    """The text of the only question."""
    return ask.questions[0].text


def buckets(result: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Include, defer, cut."""
    return result["include"], result["defer"], result["cut"]


def some(count: int, **more: Any) -> list[Candidate]:  # noqa: ANN401 - fields of a candidate
    """So many options without ties."""
    return [Candidate(f"K{n}", f"Thing {n}", **more) for n in range(1, count + 1)]


# -- the worked examples -------------------------------------------------------------------------


def test_five_chat_platforms() -> None:
    """Five independent options: D3.1 to D3.5, then D3.final; each has an id and a bucket."""
    flow = split(PLATFORMS, skill="plan-ceo-review", relation="independent", number=3)
    asks, result = drive(flow, "INC", "DEF", "DEF", "INC", "DEF", "SHP")
    assert [ask.key for ask in asks] == [*(f"D3.{n}" for n in range(1, 6)), "D3.final"]
    assert all(text(ask).startswith(f"{ask.key}: ") for ask in asks)
    assert [codes(ask) for ask in asks[:5]] == [["INC", "DEF", "CUT", "HLD"]] * 5
    assert codes(asks[5]) == ["SHP", "REV", "CUT"]
    assert result == {
        "include": ["E1", "E4"],
        "defer": ["E2", "E3", "E5"],
        "cut": [],
        "held": None,
        "accepted_broken": [],
        "decisions": [
            {
                "number": f"D3.{n}",
                "id": f"plan-ceo-review-split-e{n}",
                "option": f"E{n}",
                "bucket": bucket,
            }
            for n, bucket in enumerate(("include", "defer", "defer", "include", "defer"), 1)
        ],
    }


def test_nine_options_with_dependencies() -> None:
    """Nine options: D1.0, the chain, a question for each broken tie, and the final one."""
    asks, result = drive(
        split(NINE, skill="ship"),
        "ALL",
        *("CUT", "INC", "INC", "DEF", "INC", "CUT", "INC", "INC", "INC"),
        "KEP",  # O2 needs O1: keep O1, which settles O3 as well
        "CUT",  # O5 needs O4: cut O5
        "SHP",
    )
    assert [ask.key for ask in asks] == [
        "D1.0",
        *(f"D1.{n}" for n in range(1, 10)),
        "D1.conflict-1",
        "D1.conflict-2",
        "D1.final",
    ]
    assert isinstance(result, dict)
    assert buckets(result) == (["O1", "O2", "O3", "O7", "O8", "O9"], ["O4"], ["O5", "O6"])
    assert [d["id"] for d in result["decisions"]] == [f"ship-split-o{n}" for n in range(1, 10)]
    assert [d["number"] for d in result["decisions"]] == [f"D1.{n}" for n in range(1, 10)]
    assert [d["bucket"][:3] for d in result["decisions"]] == [
        *("inc", "inc", "inc", "def", "cut", "cut", "inc", "inc", "inc")
    ]
    assert result["accepted_broken"] == []


def test_questions_of_a_split_are_known_as_such() -> None:
    """Every question has an id of the split and belongs to a chain, whatever it is about."""
    asks, _ = drive(split(NINE, skill="ship"), "ALL", "CUT", *["INC"] * 8, "KEP", "REV")
    asks.append(asked(split(NINE, skill="ship"), "BAT"))
    questions = [ask.questions[0] for ask in asks]
    assert all(question.chain and "ship-split-" in question.id for question in questions)
    assert [q.id for q in questions][:3] == ["ship-split-meta", "ship-split-o1", "ship-split-o2"]
    assert {q.id for q in questions[10:]} == {
        "ship-split-conflict",
        "ship-split-final",
        "ship-split-include",
    }


# -- what a question says ------------------------------------------------------------------------


def test_a_question_says_what_its_option_is() -> None:
    """Scope, cost, recommendation with reason, and that the choices differ in kind; no score."""
    option = Candidate(
        "E4", "Mappings", "Finds mappings.", "two weeks", recommend="defer", because="it is large"
    )
    ask = asked(split([option], number=2))
    said = text(ask)
    for part in ("D2.1: E4 “Mappings”.", "Finds mappings.", "two weeks", "Recommended: Defer"):
        assert part in said
    assert "it is large" in said
    assert "differ in kind" in said
    assert "/10" not in said
    assert ask.questions[0].header == "D2.1. Mappings"
    assert ask.kind == "transition"


def test_ties_are_told_on_both_ends() -> None:
    """Who needs it, whom it needs and whom it rules out, with what has become of them so far."""
    options = [
        Candidate("A", "Base"),
        Candidate("B", "Roof", requires=("A",)),
        Candidate("C", "Tent", conflicts=("B",)),
        *some(2),
    ]
    asks, _ = drive(split(options), "CUT", "INC", "CUT")
    base, roof, tent = map(text, asks)
    assert "Cutting or deferring it leaves B “Roof” without what it needs." in base
    assert "It needs A “Base” (cut)." in roof
    assert "It conflicts with C “Tent”." in roof
    assert "It conflicts with B “Roof” (included)." in tent


def test_a_recommended_bucket_says_so() -> None:
    """The label that is shown has it, the label that replies are compared with has not."""
    asks, _ = drive(split(PLATFORMS), "INC", "INC")
    choices = asks[1].questions[0].choices
    assert [choice.shown for choice in choices] == ["Include", "Defer (recommended)", "Cut", "Hold"]
    assert [choice.label for choice in choices] == ["Include", "Defer", "Cut", "Hold"]
    assert [choice.recommended for choice in choices] == [False, True, False, False]


def test_long_scopes_stand_above_the_question() -> None:
    """The question has the first sentences; the whole is in the preamble."""
    scope = "One thing. Another thing. " + "Yet another thing. " * 30
    ask = asked(split([Candidate("A", "Much", scope)]))
    assert "Yet another" not in text(ask)
    assert scope.strip() in ask.preamble.text


def test_context_comes_from_the_options() -> None:
    """Without a context the options are named; with one, it stands there as it is."""
    assert "E1 “Slack DM bot”, E2 “Discord guild bot”" in asked(split(PLATFORMS)).preamble.context
    given = asked(split(PLATFORMS, context="Version 3 is planned."))
    assert given.preamble.context == "Version 3 is planned."


def test_slots_are_filled_or_refused() -> None:
    """What was left to be filled in is refused, in the context and in every option."""
    options = [Candidate("A", "For {team}", cost="{days} days")]
    filled = split(options, context="For {team}.", values={"team": "ops", "days": "3"})
    assert "A “For ops”. Cost: 3 days." in text(asked(filled))
    with pytest.raises(ContextRequired, match=r"the cost of A still says \{days\}"):
        split(options, values={"team": "ops", "days": " "})
    with pytest.raises(ContextRequired, match="the context still says TBD"):
        split(PLATFORMS, context="TBD")


# -- shapes --------------------------------------------------------------------------------------


def test_one_option_gets_the_buckets() -> None:
    """A single option is decided by its own question; there is nothing else to look at."""
    assert buckets(done(split(some(1)), "DEF")) == ([], ["K1"], [])


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_few_are_asked_about_at_once(count: int) -> None:
    """Two to four: what to include, then what becomes of the rest."""
    asks, result = drive(split(some(count)), ("K2",), "DEF")
    assert [ask.key for ask in asks] == ["D1", "D1.rest"]
    assert asks[0].questions[0].multi
    assert [code for code in codes(asks[0]) if code.startswith("K")] == [
        f"K{n}" for n in range(1, count + 1)
    ]
    assert codes(asks[1]) == ["DEF", "CUT", "ONE"]
    assert isinstance(result, dict)
    assert buckets(result) == (["K2"], [f"K{n}" for n in range(1, count + 1) if n != 2], [])


def test_a_few_that_are_all_included() -> None:
    """There is no rest to ask about."""
    assert buckets(done(split(some(3)), ("K3", "K1", "K2"))) == (["K1", "K2", "K3"], [], [])


def test_a_few_of_which_none_is_included() -> None:
    """None of these is a choice, also where there is no room to show it."""
    assert "NON" in codes(asked(split(some(3))))
    ask = asked(split(some(4)))
    assert "NON" not in codes(ask)
    assert "None of these" in text(ask)
    for count in (3, 4):
        result = done(split(some(count)), "NON", "CUT")
        assert buckets(result)[2] == [f"K{n}" for n in range(1, count + 1)]


def test_none_does_not_go_with_others() -> None:
    """Nothing is guessed from a contradiction."""
    ask = asked(split(some(3)), ("NON", "K1"))
    assert ask.key == "D1~2"
    assert ask.notes[0].kind == "refused"


def test_the_rest_one_by_one() -> None:
    """Each of the rest gets its own question and its own number, and then the whole is shown."""
    asks, result = drive(split(some(4)), ("K2",), "ONE", "INC", "DEF", "CUT", "SHP")
    keys = ["D1", "D1.rest", "D1.1", "D1.3", "D1.4", "D1.final"]
    assert [ask.key for ask in asks] == keys
    assert isinstance(result, dict)
    assert buckets(result) == (["K1", "K2"], ["K3"], ["K4"])


@pytest.mark.parametrize(("count", "key"), [(5, "D1.1"), (6, "D1.1"), (7, "D1.0"), (500, "D1.0")])
def test_more_make_a_chain(count: int, key: str) -> None:
    """Five or six are asked about one by one; before more comes the question how."""
    assert asked(split(some(count))).key == key


def test_the_meta_question_recommends_a_chain_only_for_independent_options() -> None:
    """It is no advice where options hang together, or where nobody knows."""
    apart = asked(split(some(7), relation="independent"))
    assert codes(apart) == ["ALL", "NAR", "BAT"]
    assert [c.recommended for c in apart.questions[0].choices] == [True, False, False]
    for flow in (split(some(7)), split(NINE, relation="independent")):
        assert not any(choice.recommended for choice in asked(flow).questions[0].choices)


def test_narrowing_defers_the_rest_after_one_confirmation() -> None:
    """What is ticked is decided now, page after page; the others are deferred if that is right."""
    asks, result = drive(
        split(some(8)),
        "NAR",
        ("K2", MORE),
        ("K4", MORE),
        ("NON",),
        "DEF",
        ("K4",),
        "CUT",
        "SHP",
    )
    assert [ask.key for ask in asks] == [
        *("D1.0", "D1.narrow", "D1.narrow~2", "D1.narrow~3"),
        *("D1.rest", "D1", "D1.rest~2", "D1.final"),
    ]
    assert [codes(ask) for ask in asks[1:4]] == [
        ["K1", "K2", "K3", MORE],
        ["K4", "K5", "K6", MORE],
        ["K7", "K8", "NON"],
    ]
    assert asks[3].questions[0].choices[-1].label == "That is all"
    assert isinstance(result, dict)
    assert buckets(result) == (["K4"], ["K1", "K3", "K5", "K6", "K7", "K8"], ["K2"])


def test_what_ends_a_choice_of_several_is_noted_as_it_was_shown() -> None:
    """Nobody who typed “that is all” reads that none of these was meant."""
    end = Answer("", ("NON",), raw="that is all")
    asks, request = drive(split(some(8)), "NAR", ("K1", MORE), (MORE,), end)
    assert asks[3].questions[0].choices[-1].label == "That is all"
    assert isinstance(request, Ask)
    assert [note.text for note in request.notes if "Matched" in note.text] == [
        "> Matched: That is all"
    ]


def test_narrowing_can_be_done_again() -> None:
    """Who sees what would be deferred may choose anew; nothing is deferred before."""
    asks, result = drive(split(some(7)), "NAR", "K1", "AGN", "NON", "DEF", "SHP")
    keys = ["D1.0", "D1.narrow", "D1.rest", "D1.narrow~2", "D1.rest~2", "D1.final"]
    assert [ask.key for ask in asks] == keys
    assert isinstance(result, dict)
    assert buckets(result)[1] == [f"K{n}" for n in range(1, 8)]


def test_batches_of_four() -> None:
    """Four, four and one: the one alone gets its buckets."""
    asks, result = drive(
        split(some(9)),
        *("BAT", ("K1",), "CUT", ("K5", "K6", "K7", "K8"), "DEF", "SHP"),
    )
    assert [ask.key for ask in asks] == [
        *("D1.0", "D1.batch-1", "D1.rest-1", "D1.batch-2", "D1.9", "D1.final")
    ]
    assert isinstance(result, dict)
    assert buckets(result) == (["K1", "K5", "K6", "K7", "K8"], ["K9"], ["K2", "K3", "K4"])


def test_alternatives_are_one_question() -> None:
    """The one that is picked is included, the others are cut."""
    asks, result = drive(split(some(3), relation="alternatives"), "K2")
    assert [ask.key for ask in asks] == ["D1"]
    assert not asks[0].questions[0].multi
    assert isinstance(result, dict)
    assert buckets(result) == (["K2"], [], ["K1", "K3"])


@pytest.mark.parametrize("none", ["NON", Answer("")])
def test_further_alternatives_follow_when_none_fits(none: Say) -> None:
    """Four at a time in the given order; None of these, or Other left blank, leads on."""
    asks, result = drive(split(some(6), relation="alternatives"), none, "K5")
    assert [codes(ask) for ask in asks] == [["K1", "K2", "K3", "K4"], ["K5", "K6", "NON"]]
    assert [ask.key for ask in asks] == ["D1", "D1~2"]
    assert isinstance(result, dict)
    assert result["include"] == ["K5"]


def test_no_alternative_fits() -> None:
    """Then somebody says what becomes of them all; a blank is no answer there."""
    asks, result = drive(split(some(5), relation="alternatives"), "NON", Answer(""), "NON", "DEF")
    assert [ask.key for ask in asks] == ["D1", "D1~2", "D1~3", "D1.rest"]
    assert codes(asks[3]) == ["DEF", "CUT"]
    assert isinstance(result, dict)
    assert buckets(result) == ([], [f"K{n}" for n in range(1, 6)], [])


def test_an_alternative_of_a_later_page_can_be_named_at_once() -> None:
    """What typed text may name is not only what is shown."""
    assert done(split(some(6), relation="alternatives"), "K6")["include"] == ["K6"]


def test_an_alternative_may_need_another() -> None:
    """What was picked is checked like everything else."""
    options = [Candidate("A", "One"), Candidate("B", "Two", requires=("A",)), *some(1)]
    asks, result = drive(split(options, relation="alternatives"), "B", "KEP")
    assert asks[1].key == "D1.conflict-1"
    assert isinstance(result, dict)
    assert buckets(result) == (["A", "B"], [], ["K1"])


# -- hosts ---------------------------------------------------------------------------------------


def test_buckets_are_paged_where_a_host_shows_three() -> None:
    """Include, Defer and More…, then Cut and Hold; each can be named from either page."""
    asks, _ = drive(split(some(5), limits=CODEX), MORE, "HLD")
    assert [codes(ask) for ask in asks] == [["INC", "DEF", MORE], ["CUT", "HLD"]]
    assert [choice.code for choice in asks[0].questions[0].named] == ["CUT", "HLD"]
    asks, _ = drive(split(some(5), limits=CODEX), MORE, BACK, "INC")
    assert [codes(ask)[0] for ask in asks] == ["INC", "CUT", "INC"]


def test_alternatives_three_at_a_time() -> None:
    """A smaller box shows fewer at once, and none is lost."""
    asks, _ = drive(split(some(7), relation="alternatives", limits=CODEX), "NON", "NON", "K7")
    shown = [[code for code in codes(ask) if code != "NON"] for ask in asks]
    assert shown == [["K1", "K2", "K3"], ["K4", "K5", "K6"], ["K7"]]


def test_headers_keep_their_number() -> None:
    """Where headers are short, the number stays and the title is cut."""
    ask = asked(split(PLATFORMS, limits=Limits(header=12)))
    assert ask.questions[0].header == "D1.1. Slack…"


# -- Hold ----------------------------------------------------------------------------------------


def test_hold_stops_at_once() -> None:
    """The run waits, the hold names option and reason, and nothing behind it is asked."""
    flow = split(PLATFORMS)
    ask = asked(flow, "INC", "INC", Answer("", ("HLD",), comment="ask the lawyers"))
    assert ask.key == "D1.hold-3"
    (note,) = ask.notes
    assert (note.kind, note.item, note.text) == ("held", "E3", "ask the lawyers")
    assert codes(ask) == ["CON", "E4", "E5"]
    assert "E3 “Microsoft Teams” is held: ask the lawyers." in text(ask)


def test_continue_asks_the_held_option_again() -> None:
    """Then the chain goes on behind it."""
    asks, _ = drive(split(PLATFORMS), "INC", "HLD", "CON", "CUT", "CUT")
    assert [ask.key for ask in asks] == ["D1.1", "D1.2", "D1.hold-2", "D1.2~2", "D1.3"]


@pytest.mark.parametrize("named", [("E5",), "5", "#5", "e5", "D1.5"])
def test_naming_another_option_goes_on_there(named: Say) -> None:
    """By key or by number; the held one and those that were passed over come afterwards."""
    said = words(named) if isinstance(named, str) else named
    asks, result = drive(split(PLATFORMS), "INC", "HLD", said, "INC", "CUT", "DEF", "CUT", "SHP")
    assert [ask.key for ask in asks][2:] == [
        *("D1.hold-2", "D1.5", "D1.2~2", "D1.3", "D1.4", "D1.final")
    ]
    assert isinstance(result, dict)
    assert buckets(result) == (["E1", "E5"], ["E3"], ["E2", "E4"])
    assert result["held"] is None


def test_a_key_that_looks_like_a_number_is_that_option() -> None:
    """`#1` is the option with that key, wherever it stands in the list."""
    options = [Candidate(f"#{number}", f"Issue {number}") for number in (5, 4, 3, 2, 1)]
    ask = asked(split(options), *["INC"] * 5, words("#1"))
    assert (ask.key, ask.questions[0].item) == ("D1.revise-5", "#1")


def test_text_instead_of_a_bucket_is_a_hold() -> None:
    """Its reason is the text, and the result keeps it with the option."""
    flow = split(PLATFORMS)
    ask = asked(flow, words("does this include the phone app?"))
    assert ask.key == "D1.hold-1"
    assert ask.notes[-1].text == "does this include the phone app?"
    assert "is held: does this include the phone app? Nothing" in text(ask)
    _, result = drive_on(flow, ask, "CON", *["CUT"] * 5, "SHP")
    assert result["decisions"][0]["comment"] == "does this include the phone app?"


def test_a_bucket_said_to_a_hold_decides() -> None:
    """After the talk the person may say at once what becomes of the held option."""
    asks, _ = drive(split(PLATFORMS), "HLD", "DEF", "INC")
    assert [ask.key for ask in asks] == ["D1.1", "D1.hold-1", "D1.2"]
    assert codes(asks[1]) == ["CON", "E2", "E3", MORE]


@pytest.mark.parametrize("key", ["INC", "inc"])
def test_a_bucket_said_to_a_hold_is_not_the_option_of_that_key(key: str) -> None:
    """Where an option has its code for a key, the bucket's has an underscore behind it."""
    options = [*PLATFORMS[:4], Candidate(key, "Incident page")]
    asks, last = drive(split(options), "HLD", "INC_", "INC", "INC", "INC", "HLD")
    assert [ask.key for ask in asks][:3] == ["D1.1", "D1.hold-1", "D1.2"]
    question = last.questions[0] if isinstance(last, Ask) else asks[0].questions[0]
    assert [choice.code for choice in question.choices] == ["CON", "INC_", "DEF", "CUT"]
    assert read("include it", question, "plain").codes == ("INC_",)
    assert read("include it", asks[1].questions[0], "plain").codes == ("INC_",)
    assert drive(split(options), "HLD", words(key))[1].key == "D1.5"  # type: ignore[union-attr]


def test_talking_on_keeps_the_hold() -> None:
    """Words that name nothing go on no further; the hold and its reason stay in sight."""
    ask = asked(split(PLATFORMS), words("wait"), words("it depends on the budget"))
    assert ask.key == "D1.hold-1~2"
    assert [(note.kind, note.item) for note in ask.notes] == [("said", "E1"), ("held", "E1")]
    assert ask.notes[1].text == "wait"


def test_a_decided_option_can_be_named_from_a_hold() -> None:
    """It is asked about again; whatever is open comes afterwards."""
    asks, _ = drive(split(PLATFORMS), "INC", "HLD", "E1", "CUT", "CUT", "CUT")
    assert [ask.key for ask in asks][2:] == ["D1.hold-2", "D1.1~2", "D1.2~2", "D1.3"]


def test_a_hold_during_a_revision_comes_again_before_the_end() -> None:
    """Whatever was held on the way comes before the final question, however far it led."""
    asks, result = drive(
        split(PLATFORMS),
        *["INC"] * 5,
        *("REV", "E2"),
        words("not sure, legal has to look"),
        *("E4", "HLD", "E5", "DEF", "CUT", "INC", "SHP"),
    )
    assert [ask.key for ask in asks][6:] == [
        *("D1.revise", "D1.revise-2", "D1.hold-2", "D1.revise-4", "D1.hold-4", "D1.revise-5"),
        *("D1.revise-2~2", "D1.revise-4~2", "D1.final~2"),
    ]
    assert isinstance(result, dict)
    assert buckets(result) == (["E1", "E3", "E4"], ["E5"], ["E2"])


def test_a_hold_with_nothing_else_open_shows_the_buckets() -> None:
    """There is no other option to go on with, and no second Other is made up to fill the place."""
    ask = asked(split(PLATFORMS), *["INC"] * 4, "HLD")
    assert codes(ask) == ["CON", "INC", "DEF", "CUT"]
    assert codes(asked(split(PLATFORMS), *["INC"] * 3, "HLD")) == ["CON", "E5"]


def test_a_key_that_was_never_filled_in_is_refused() -> None:
    """It stands in every question, so a person would see it."""
    for key in ("[topic]", "TBD", "TODO"):
        with pytest.raises(ContextRequired, match="the key of"):
            split([Candidate(key, "Search"), Candidate("E2", "Sort")])


def test_a_hold_that_leads_into_a_later_batch() -> None:
    """What is decided there is not asked about once more."""
    asks, result = drive(
        split(some(9)),
        *("BAT", ("K1", "K2"), "ONE", "HLD", "K6", "INC", "CUT", "CUT"),
        *(("K5", "K7", "K8"), "INC", "SHP"),
    )
    assert codes(asks[8]) == ["K5", "K7", "K8", "NON"]
    assert isinstance(result, dict)
    assert buckets(result) == (["K1", "K2", "K5", "K6", "K7", "K8", "K9"], [], ["K3", "K4"])


# -- what does not go together ---------------------------------------------------------------------

TIED = (
    Candidate("A", "Base"),
    Candidate("B", "House", requires=("A",)),
    Candidate("C", "Roof", requires=("B",)),
    Candidate("D", "Tent", conflicts=("B",)),
    Candidate("E", "Fence"),
)


@pytest.mark.parametrize("first", ["CUT", "DEF"])
def test_what_is_cut_or_deferred_is_missed(first: str) -> None:
    """An included option without what it needs is asked about before the final question."""
    ask = asked(split(TIED), first, "INC", "CUT", "CUT", "CUT")
    assert ask.key == "D1.conflict-1"
    assert "B “House” is included and needs A “Base”" in text(ask)
    assert set(codes(ask)) == {"KEP", "CUT", "BRK"} | ({"DEF"} if first == "DEF" else set())


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("KEP", (["A", "B"], [], ["C", "D", "E"])),
        ("CUT", ([], ["A"], ["B", "C", "D", "E"])),
        ("DEF", ([], ["A", "B"], ["C", "D", "E"])),
    ],
)
def test_ways_to_give_way(code: str, expected: tuple[list[str], ...]) -> None:
    """Keep what is needed, or let go of what needs it."""
    result = done(split(TIED), "DEF", "INC", "CUT", "CUT", "CUT", code, "SHP")
    assert buckets(result) == expected
    assert result["accepted_broken"] == []


def test_breaches_are_asked_about_one_at_a_time() -> None:
    """One way out leads to the next question, until nothing is broken."""
    asks, result = drive(
        split(TIED), "CUT", "CUT", "INC", "INC", "CUT", "KEP", "KEP", "CUT", "CUT", "SHP"
    )
    assert [ask.key for ask in asks][5:] == [
        *("D1.conflict-1", "D1.conflict-2", "D1.conflict-3", "D1.conflict-4", "D1.final")
    ]
    assert "C “Roof” is included and needs B “House”" in text(asks[5])
    assert "B “House” is included and needs A “Base”" in text(asks[6])
    assert "B “House” and D “Tent” are both included" in text(asks[7])
    assert "C “Roof” is included and needs B “House”" in text(asks[8])
    assert isinstance(result, dict)
    assert buckets(result) == (["A", "D"], [], ["B", "C", "E"])


@pytest.mark.parametrize(("code", "kept"), [("KEP", "B"), ("CUT", "D")])
def test_one_of_two_that_conflict(code: str, kept: str) -> None:
    """The first is kept, or the second."""
    result = done(split(TIED), "INC", "INC", "CUT", "INC", "CUT", code, "SHP")
    assert result["include"] == ["A", kept]


def test_a_broken_set_can_be_accepted() -> None:
    """The final question and the result say so, and the same thing is not asked twice."""
    asks, result = drive(
        split(TIED), "CUT", "INC", "CUT", "CUT", "INC", "BRK", "REV", "E", "CUT", "SHP"
    )
    assert [ask.key for ask in asks][5:] == [
        *("D1.conflict-1", "D1.final", "D1.revise", "D1.revise-5", "D1.final~2")
    ]
    final = asks[6]
    assert "Accepted as broken: B “House” is included and needs A “Base”" in text(final)
    assert not any(choice.recommended for choice in final.questions[0].choices)
    assert isinstance(result, dict)
    assert result["accepted_broken"] == [{"option": "B", "requires": "A"}]


def test_an_accepted_conflict_names_both() -> None:
    """Of two options that conflict."""
    result = done(split(TIED), "INC", "INC", "CUT", "INC", "CUT", "BRK", "SHP")
    assert result["accepted_broken"] == [{"option": "B", "conflicts": "D"}]


def test_what_was_mended_is_not_accepted_for_ever() -> None:
    """After it had been whole, the same breach is asked about anew."""
    asks, result = drive(
        split(TIED),
        *("CUT", "INC", "CUT", "CUT", "CUT", "BRK"),
        *("REV", "A", "INC"),
        *("CUT", ("A",), "CUT"),
        "SHP",
    )
    assert [ask.key for ask in asks][-3:] == ["D1.more", "D1.conflict-2", "D1.final~3"]
    assert isinstance(result, dict)
    assert result["accepted_broken"] == []


# -- the final question --------------------------------------------------------------------------


def test_the_final_question_lists_the_buckets() -> None:
    """All three, with names; shipping is recommended where the set is coherent."""
    ask = asked(split(PLATFORMS), "INC", "DEF", "CUT", "INC", "DEF")
    assert text(ask) == (
        "D1.final: Include: E1 “Slack DM bot”, E4 “Telegram”. "
        "Defer: E2 “Discord guild bot”, E5 “Mattermost”. Cut: E3 “Microsoft Teams”. "
        "Ship this scope?"
    )
    assert [c.recommended for c in ask.questions[0].choices] == [True, False, False]


def test_revising_asks_about_one_option_only() -> None:
    """Which one, its question, and the final one again."""
    asks, result = drive(split(PLATFORMS), *["INC"] * 5, "REV", MORE, "E4", "CUT", "SHP")
    assert [ask.key for ask in asks][5:] == [
        *("D1.final", "D1.revise", "D1.revise~2", "D1.revise-4", "D1.final~2")
    ]
    assert isinstance(result, dict)
    assert result["cut"] == ["E4"]


def test_an_option_named_at_the_final_question_is_revised() -> None:
    """It leads to a question, so nothing is decided by it."""
    assert asked(split(PLATFORMS), *["INC"] * 5, words("E4")).key == "D1.revise-4"


@pytest.mark.parametrize("number", [1, 3])
def test_a_key_that_is_a_number_names_its_own_option_at_the_final_question(number: int) -> None:
    """And not the one that stands in that place; `D1.3` names that."""
    options = [Candidate(str(key), f"Floor {key}") for key in (3, 1, 2, 5, 4)]
    ask = asked(split(options), *["INC"] * 5, words(f"{number}"))
    assert ask.questions[0].item == str(number)
    assert asked(split(options), *["INC"] * 5, words(f"D1.{number}")).key == f"D1.revise-{number}"


@pytest.mark.parametrize("key", ["SHP", "rev", "CUT"])
def test_an_option_is_never_taken_for_what_to_do_at_the_final_question(key: str) -> None:
    """Whatever its key: named by its number, it is asked about and nothing else happens."""
    options = [Candidate(key, "What it is"), *some(4)]
    for named in ("D1.1", "1"):
        assert asked(split(options), *["INC"] * 5, words(named)).key == "D1.revise-1"


def test_cutting_more() -> None:
    """Several of the included ones at once, page after page, and then the checks again."""
    options = [*some(5), Candidate("L", "Last", requires=("K1",))]
    asks, result = drive(split(options), *["INC"] * 6, "CUT", ("K1", MORE), ("K5",), "CUT", "SHP")
    assert [ask.key for ask in asks][6:] == [
        *("D1.final", "D1.more", "D1.more~2", "D1.conflict-1", "D1.final~2")
    ]
    assert asks[8].questions[0].gathered == ("K1",)
    assert isinstance(result, dict)
    assert buckets(result) == (["K2", "K3", "K4"], [], ["K1", "K5", "L"])


def test_nothing_can_be_cut_where_nothing_is_included() -> None:
    """The choice is left out, and shipping nothing is no recommendation."""
    ask = asked(split(PLATFORMS), *["CUT"] * 5)
    assert codes(ask) == ["SHP", "REV"]
    assert not any(choice.recommended for choice in ask.questions[0].choices)


# -- whatever is no answer -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (Answer(""), "refused"),
        (Answer("", ("INC", "CUT")), "refused"),
        (Answer("", ("XXX",)), "refused"),
        (Answer("", prefix="force", argument="skip"), "refused"),
        (Answer("", prefix="force"), "refused"),
        (Answer("", prefix="force", argument="nope"), "refused"),
        (Answer("", prefix="add", argument="INC"), "refused"),
        (Answer("", tree="OTHER"), "refused"),
        (Answer("", extra="A"), "refused"),
        (Answer("", prefix="tag", argument="later"), "tagged"),
        (Answer("", prefix="explain"), "explained"),
        (Answer("", prefix="deep"), "explained"),
        (Answer("", prefix="question", argument="Who asked?"), "question"),
        (Answer("", advice="Half of the users."), "advice"),
    ],
)
def test_the_question_comes_again(given: Answer, kind: str) -> None:
    """A blank, a contradiction, a prefix or advice decides nothing; the preamble says why."""
    ask = asked(split(PLATFORMS), given)
    assert ask.key == "D1.1~2"
    assert [note.kind for note in ask.notes] == [kind]
    assert ask.preamble.why


def test_force_takes_a_bucket_at_once() -> None:
    """In any case of letters."""
    asks, _ = drive(split(PLATFORMS), Answer("", prefix="force", argument="inc"), "CUT")
    assert asks[1].key == "D1.2"


def test_words_beside_the_choices_are_kept() -> None:
    """Where text decides nothing it is told, what was ticked stays ticked, and the question too."""
    flow = split(some(3))
    ask = asked(flow, Answer("", ("K1",), text="and ask Ops", raw="and ask Ops"))
    assert ask.questions[0].gathered == ("K1",)
    assert ask.notes[0].kind == "said"
    _, result = drive_on(flow, ask, "NON", "CUT")
    assert result["include"] == ["K1"]
    assert result["comment"] == "and ask Ops"


def test_plus_adds_to_what_is_ticked() -> None:
    """Several codes can be added from any page."""
    flow = split(some(4))
    ask = asked(flow, Answer("", prefix="add", argument="k1, K4"))
    assert ask.questions[0].gathered == ("K1", "K4")
    _, result = drive_on(flow, ask, ("K2",), "CUT")
    assert buckets(result) == (["K1", "K2", "K4"], [], ["K3"])


def test_an_offer_taken_is_a_reason_to_hold() -> None:
    """An extra that came with advice is what the person says."""
    advice = Answer("", advice="Ask them.", offers=(Extra("A", "Ask the users first"),))
    ask = asked(split(PLATFORMS), advice, Answer("", extra="A"))
    assert ask.notes[-1].text == "Ask the users first"


def test_remarks_are_in_the_result() -> None:
    """Comments, tags and questions stand with their option; on the whole, beside the buckets."""
    flow = split(PLATFORMS)
    result = done(
        flow,
        Answer("", prefix="tag", argument="q3"),
        Answer("", prefix="question", argument="Since when?"),
        Answer("", ("INC",), comment="in March"),
        *["CUT"] * 4,
        Answer("", ("SHP",), comment="tell sales", raw="ship, but tell sales"),
    )
    first = result["decisions"][0]
    assert (first["comment"], first["tags"], first["questions"]) == (
        "in March",
        ["q3"],
        ["Since when?"],
    )
    assert result["comment"] == "tell sales"
    assert result["notes"] == [{"kind": "matched", "text": "> Matched: Ship this scope"}]


# -- what is refused -----------------------------------------------------------------------------


def test_a_list_that_makes_no_sense_is_refused_before_anyone_is_asked() -> None:
    """With the entry that is wrong."""
    with pytest.raises(QuandaryError, match=r"entry 2 \(A\): entry 1 has the key A too"):
        split([Candidate("A", "One"), Candidate("A", "Two")])
    with pytest.raises(QuandaryError, match="no options"):
        split([])
    with pytest.raises(QuandaryError, match="counted from 1"):
        split(PLATFORMS, number=0)
    with pytest.raises(QuandaryError, match="relation 'loose'"):
        split(PLATFORMS, relation="loose")  # type: ignore[arg-type]  # what a caller may write


def test_keys_that_look_like_our_codes() -> None:
    """Options may be called like choices of ours; both stay reachable."""
    options = [Candidate(key, f"Thing {key}") for key in ("NON", "CON", "INC", "CUT")]
    assert buckets(done(split(options), ("NON", "CUT"), "DEF"))[0] == ["NON", "CUT"]
    assert buckets(done(split(options), "NON_", "CUT"))[0] == []
    held = asked(split([*options, Candidate("SHP", "Thing SHP")]), "HLD")
    assert codes(held)[:2] == ["CON_", "CON"]


def test_start_is_what_the_journal_calls() -> None:
    """Plain data gives the same questions; what is not the flow's is ignored."""
    options = [{"key": o.key, "title": o.title, "cost": o.cost} for o in PLATFORMS]
    flow = start({"options": options, "number": 2, "via": "relay", "host": "claude"})
    assert asked(flow).key == "D2.1"


def drive_on(flow: Flow, ask: Ask, *says: Say) -> tuple[Sequence[Ask], dict[str, Any]]:
    """Go on with a flow that stands at an Ask."""
    asks = []
    request: object = ask
    for say in says:
        assert isinstance(request, Ask)
        asks.append(request)
        try:
            request = flow.send(reply(request, say))
        except StopIteration as end:
            result: dict[str, Any] = end.value
            return asks, result
    message = f"the flow still waits: {request}"
    raise AssertionError(message)
