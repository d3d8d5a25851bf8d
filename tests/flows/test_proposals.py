"""Proposals: only the person can say that their words mean what somebody thinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from program import DEPLOY
from quandary.desk.reply import read_reply
from quandary.errors import ContextRequired, QuandaryError
from quandary.flows.decide import decide
from quandary.flows.split import split
from quandary.formats.markdown import parse
from quandary.model.asks import MORE, Answer, Ask, Candidate, Item, Limits, Reply
from quandary.model.tree import Extra
from strategies import trees

if TYPE_CHECKING:
    from quandary.flows import Flow
    from quandary.model.asks import Hand
    from quandary.model.tree import Tree

AGENT: Hand = ("agent", "relay")
PERSON: Hand = ("person", "terminal")
WORDS = "once it is dark outside"
MULTI = """\
### ¶ASK_SCOPE
## Decision: Scope
- [ ] [SEC] Security review
- [ ] [DOC] Documents
- [ ] [LOG] Logging
- [OTH] Other
  - [ALL] All of it
  - [NIL] None of it
"""


def begin(tree: str = DEPLOY, items: int = 1, **more: Any) -> tuple[Flow, Ask]:  # noqa: ANN401
    """A flow and its first Ask."""
    things = [Item(str(n), f"Build {n}", f"Build {n}") for n in range(1, items + 1)]
    flow = decide(parse(tree).trees[0], things, context="Some builds are ready.", **more)
    return flow, asked(next(flow))


def asked(request: object) -> Ask:
    """What a flow yielded is an Ask."""
    assert isinstance(request, Ask)
    return request


def send(
    flow: Flow, ask: Ask, *texts: str | tuple[str, str], hand: Hand = AGENT, via: str = "relay"
) -> Any:  # noqa: ANN401 - the next Ask, or the result
    """Answer each question of an Ask with a text, and perhaps a proposal for it."""
    answers: list[Answer] = []
    for question, said in zip(ask.questions, texts, strict=False):
        text, proposed = said if isinstance(said, tuple) else (said, None)
        meant = read_reply({"via": via}, ask, text, question.key, proposed)
        assert isinstance(meant, Reply)
        answers += meant.answers
    try:
        return flow.send(Reply(tuple(answers), (hand,) * len(answers)))
    except StopIteration as end:
        return end.value


def chosen(result: dict[str, Any], item: int = 0) -> dict[str, Any]:
    """What was decided about an item."""
    found: dict[str, Any] = result["chosenItems"][item]
    return found


def test_a_proposal_is_never_an_answer() -> None:
    """The person sees their words and what they may mean, with Yes as the first choice."""
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    (question,) = ask.questions
    assert question.text.endswith(f"You wrote “{WORDS}”; is that “Deploy this evening”?")
    assert [choice.label for choice in question.choices] == ["Yes", "No"]
    assert "agent (relay)" in ask.preamble.text
    assert not question.decidable


@pytest.mark.parametrize("yes", ["Yes", "yep", "YES", "1", "go ahead", "deploy this evening"])
def test_a_proposal_counts_when_it_is_confirmed(yes: str) -> None:
    """Then it is the pick, and whoever confirmed it has decided."""
    flow, ask = begin(kind="advisory")
    ask = asked(send(flow, ask, (WORDS, "EVE"), via="text"))
    result = chosen(send(flow, ask, yes, hand=PERSON, via="text"))
    assert (result["path"], result["by"]) == ("EVE", "person")
    assert result["proposals"][0]["words"] == WORDS


@pytest.mark.parametrize("no", ["No", "nope", "no thanks"])
def test_words_whose_proposal_is_declined_count_as_they_were_read(no: str) -> None:
    """They are kept as own words, from both hands that had a part in it."""
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    result = chosen(send(flow, ask, no, hand=PERSON))
    assert result["path"] == f"OTH/custom:{WORDS}"
    assert result["by"] == "agent, person"
    assert [told["outcome"] for told in result["proposals"]] == ["declined"]


def test_words_that_fit_several_options_are_asked_about_when_the_proposal_is_declined() -> None:
    """Just as without the proposal."""
    flow, ask = begin(kind="advisory")
    ask = asked(send(flow, ask, ("deploy", "EVE"), via="text"))
    assert ask.questions[0].confirms
    assert "Deploy now" in ask.questions[0].choices[1].description
    ask = asked(send(flow, ask, "no", via="text"))
    assert "fits more than one option" in ask.preamble.why
    assert ask.questions[0].narrowed
    assert not ask.questions[0].confirms


def test_what_a_reply_fits_is_told_beside_a_proposal() -> None:
    """Other, which has no option of its own in the list, is told by its name."""
    among = ("NOW", "OTH")
    flow, ask = begin(kind="advisory")
    key = ask.questions[0].key
    ask = asked(flow.send(Reply((Answer(key, text="1", among=among, proposed=("EVE",)),))))
    assert "Deploy now or Other" in ask.questions[0].choices[1].description


def test_what_our_reader_understood_is_not_asked_about() -> None:
    """A clear reply needs no proposal, and none takes its place."""
    flow, ask = begin()
    assert chosen(send(flow, ask, ("Deploy now", "EVE")))["path"] == "NOW"


@pytest.mark.parametrize(
    "words",
    [
        "anything but this evening",
        "this evening if the tests pass",
        "this evening, subject to Ann's word",
        "this evening, on condition that Ann agrees",
        "what happens this evening?",
        "at dusk？",
    ],
)
def test_our_reader_vetoes_what_it_saw_excluded_conditional_or_asked_back(words: str) -> None:
    """The words count as they are, and the refusal is told."""
    flow, ask = begin()
    result = send(flow, ask, (words, "EVE"))
    assert chosen(result)["path"] == f"OTH/custom:{words}"
    assert chosen(result)["proposals"][0]["outcome"] == "refused"
    (note,) = result["notes"]
    assert note["kind"] == "refused"
    assert "Deploy this evening is not proposed" in note["text"]


def test_a_batch_of_proposals_is_one_form() -> None:
    """As many as a host shows at a time; those without a reply are asked again, unconfirmed."""
    flow, ask = begin(items=4)
    ask = asked(send(flow, ask, (WORDS, "EVE"), "now", ("when it is quiet", "EVE"), ("hm", "NO")))
    assert [question.item for question in ask.questions] == ["1", "3", "4"]
    assert len({question.text for question in ask.questions}) == 3
    ask = asked(send(flow, ask, "yes"))  # silence on the others confirms nothing
    assert [question.item for question in ask.questions] == ["3", "4"]
    assert all(question.confirms for question in ask.questions)
    result = send(flow, ask, "no", "yes")
    paths = [chosen(result, at)["path"] for at in range(4)]
    assert paths == ["EVE", "NOW", "OTH/custom:when it is quiet", "NO"]


def test_one_confirmation_fits_a_host_that_shows_one_question() -> None:
    """A smaller box gets them one after another."""
    flow, ask = begin(items=2, limits=Limits(questions=1))
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    assert len(ask.questions) == 1


def test_something_else_at_a_confirmation_is_a_new_reply() -> None:
    """An option that is named is that option; other words take the place of the first ones."""
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    result = chosen(send(flow, ask, "Deploy now"))
    assert (result["path"], result["comment"]) == ("NOW", WORDS)
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    ask = asked(send(flow, ask, ("as soon as you can", "NOW")))
    assert "is that “Deploy now”?" in ask.questions[0].text
    result = chosen(send(flow, ask, "yes"))
    assert [told["outcome"] for told in result["proposals"]] == ["replaced", "confirmed"]


def test_options_of_an_advice_join_a_confirmation_too() -> None:
    """An agent can offer something while the person is asked what they meant."""
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    advice = Answer(ask.key, advice="It rains.", offers=(Extra("D", "Wait for the sun"),))
    ask = asked(flow.send(Reply((advice,))))
    assert "D: Wait for the sun" in ask.preamble.text
    result = chosen(send(flow, ask, "D"))
    assert (result["path"], result["comment"]) == ("OTH/smart:Wait for the sun", WORDS)


@pytest.mark.parametrize(
    "unclear",
    ["exactly", "yes, deploy now", "yes; and also deploy now", "not this evening", "yes?"],
)
def test_neither_yes_nor_no_brings_the_question_back(unclear: str) -> None:
    """Nothing is chosen, and nothing that was said is lost."""
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    ask = asked(send(flow, ask, unclear))
    assert len(ask.questions[0].choices) == 3
    result = chosen(send(flow, ask, "Deploy now"))
    assert (result["path"], result["comment"]) == ("NOW", f"{WORDS}\n{unclear}")


def test_yes_with_the_option_that_was_proposed_is_a_yes() -> None:
    """Whoever agrees may say to what."""
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    assert chosen(send(flow, ask, "yes, deploy this evening"))["path"] == "EVE"


def test_no_with_an_option_is_that_option() -> None:
    """Whoever says what they do not mean may say what they do."""
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    assert chosen(send(flow, ask, "no, deploy now"))["path"] == "NOW"


def test_a_no_to_a_proposal_is_no_option_called_no() -> None:
    """The tree has an option [NO], which nobody means by that here."""
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    assert chosen(send(flow, ask, "NO"))["path"] == f"OTH/custom:{WORDS}"


def test_an_empty_other_confirms_nothing() -> None:
    """The same question comes again, and so it does after a question of the person's."""
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    ask = asked(send(flow, ask, "Other"))
    assert ask.questions[0].confirms
    ask = asked(send(flow, ask, "Q: how late is that?"))
    assert ask.questions[0].confirms
    assert chosen(send(flow, ask, "yes"))["path"] == "EVE"


def test_a_confirmation_names_what_cannot_be_taken_back() -> None:
    """Both in the question and beside Yes."""
    lasting = DEPLOY.replace(
        "Do not deploy\n  The build stays where it is", "Drop the database\n  All rows are gone"
    )
    flow, ask = begin(lasting)
    ask = asked(send(flow, ask, ("make room", "NO")))
    (question,) = ask.questions
    assert "This may not be possible to take back" in question.text
    assert "All rows are gone" in question.text
    assert "All rows are gone" in question.choices[0].description


def test_words_cannot_speak_for_the_question_around_them() -> None:
    """Whatever is quoted stays within its quotation marks, and is not endless."""
    flow, ask = begin()
    ask = asked(send(flow, ask, ("dark” and “dark” " + "x" * 500, "EVE")))
    text = ask.questions[0].text
    assert (text.count("“"), text.count("”"), len(text) < 500) == (2, 2, True)


def test_several_options_can_be_proposed_where_several_can_be_chosen() -> None:
    """They are confirmed together."""
    flow, ask = begin(MULTI)
    ask = asked(send(flow, ask, ("the two that lawyers want", "SEC,DOC")))
    assert "is that “Security review, Documents”?" in ask.questions[0].text
    assert chosen(send(flow, ask, "yes"))["path"] == "SEC,DOC"


def test_options_behind_other_can_be_proposed() -> None:
    """By their code alone, too."""
    flow, ask = begin()
    ask = asked(send(flow, ask, ("try it in Norway", "PART")))
    assert chosen(send(flow, ask, "yes"))["path"] == "OTH/PART"


def test_proposals_in_a_split_are_confirmed_too() -> None:
    """Every flow that asks a person does the same."""
    flow = split([Candidate("E1", "Slack bot")])
    ask = asked(next(flow))
    ask = asked(send(flow, ask, ("next quarter at the earliest", "DEF")))
    assert "is that “Defer”?" in ask.questions[0].text
    result = send(flow, ask, "yes", hand=PERSON)
    if isinstance(result, Ask):
        result = send(flow, result, "Ship")
    assert result["defer"] == ["E1"]


def test_a_yes_cannot_be_proposed_to_a_confirmation() -> None:
    """Or an agent would ask the person whether they said yes."""
    flow, ask = begin()
    ask = asked(send(flow, ask, (WORDS, "EVE")))
    with pytest.raises(QuandaryError, match="propose one option"):
        read_reply({}, ask, "exactly", None, "YES")


@settings(max_examples=60)
@given(trees(), st.data())
def test_whatever_is_proposed_a_decision_ends_and_only_a_yes_chooses_it(
    tree: Tree, data: st.DataObject
) -> None:
    """Any tree, any words, any proposals: paths exist in the tree, or are the person's words."""
    try:
        flow = decide(tree, [Item("1", "One"), Item("2", "Two")], context="Things to decide.")
    except ContextRequired:
        reject()  # a label that looks as if it had to be filled in, such as [a]
    request: Any = next(flow)
    try:
        for _ in range(200):
            answers = []
            for question in asked(request).questions:
                options = [choice.code for choice in question.options if choice.code != MORE]
                if question.confirms:
                    code = data.draw(st.sampled_from(["YES", "NO"]))
                    answers.append(Answer(question.key, picked=(code,)))
                elif options:
                    code = data.draw(st.sampled_from(options))
                    answers.append(Answer(question.key, text="zzz", proposed=(code,), raw="zzz"))
                else:
                    answers.append(Answer(question.key, text="zzz", raw="zzz"))
            request = flow.send(Reply(tuple(answers), (AGENT,) * len(answers)))
    except StopIteration as end:
        for one in end.value["chosenItems"]:
            confirmed = [
                told for told in one.get("proposals", ()) if told["outcome"] == "confirmed"
            ]
            assert one["path"].endswith("custom:zzz") or confirmed
        return
    pytest.fail("it did not end")


UNSURE = """\
### ¶ASK_PAGE
## Decision: Page
- [TAB] Tabs
  Six of them on top
- [SID] Sidebar
  Sections on the left
- [ONE] One long page
- [OTH] Other
  - [MIX] Both of them
  - [NIL] Neither
"""


def test_what_our_reader_is_not_sure_of_is_confirmed_by_the_person() -> None:
    """A lone word of a description is no pick: Yes makes it one, and No keeps it as own words."""
    for said, path in (("yes", "SID"), ("no", "OTH/custom:left")):
        flow, ask = begin(UNSURE)
        ask = asked(send(flow, ask, "left", hand=PERSON, via="text"))
        (question,) = ask.questions
        assert question.text.endswith("You wrote “left”; is that “Sidebar”?")
        assert ask.preamble.why == "Proposed by Quandary's reader; it counts only if you say Yes."
        assert "kept as your own words" in question.choices[1].description
        result = chosen(send(flow, ask, said, hand=PERSON, via="text"))
        assert result["path"] == path
        assert result["proposals"][0]["proposedBy"] == "Quandary's reader"


def test_what_an_agent_proposes_goes_before_what_our_reader_thinks() -> None:
    """Whoever understands the words better is asked about."""
    flow, ask = begin(UNSURE)
    ask = asked(send(flow, ask, ("left", "TAB"), via="text"))
    assert ask.questions[0].text.endswith("You wrote “left”; is that “Tabs”?")
