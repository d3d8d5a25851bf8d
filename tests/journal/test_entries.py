"""What an entry holds, and what seals it."""

from __future__ import annotations

import msgspec

from quandary.journal import entries
from quandary.journal.entries import Answered, Entry, Matter, Noted, is_sealed, seal_entry
from quandary.model.asks import Answer, Reply

RUN = "0" * 26
SAID = Noted(at="2026-01-01T00:00:00.000000Z", who="person", through="web", kind="idle")


def test_a_body_says_who_through_what_by_whom_and_when() -> None:
    """Every entry can be asked for its origin."""
    body = msgspec.structs.replace(SAID, by="ada")
    told = msgspec.json.decode(seal_entry(RUN, 1, entries.START, body, entries.EMPTY).body)
    assert told["at"] == "2026-01-01T00:00:00.000000Z"
    assert (told["who"], told["through"], told["by"]) == ("person", "web", "ada")


def test_what_was_typed_is_in_the_matter_alone() -> None:
    """An answer's body keeps codes; every word of it can be pruned."""
    reply = Reply(
        (
            Answer("1:", ("OK",), comment="secret a", raw="secret b"),
            Answer("2:", text="secret c", advice="secret d", argument="secret e"),
        )
    )
    answers = entries.without_words(reply)
    body = Answered(at="", who="person", through="web", key="1:", answers=answers)
    entry = seal_entry(RUN, 3, entries.START, body, Matter(answers=reply.answers))
    assert b"secret" not in entry.body
    assert entry.read_matter().answers == reply.answers
    assert [answer.picked for answer in answers] == [("OK",), ()]


def test_without_matter_there_is_no_salt_and_no_seal() -> None:
    """An entry that hides nothing needs no salt."""
    entry = seal_entry(RUN, 1, entries.START, SAID, entries.EMPTY)
    assert (entry.matter, entry.salt, entry.seal) == (None, None, None)
    assert is_sealed(entry)
    assert not entry.pruned


def test_equal_matters_have_unlike_seals() -> None:
    """The salt keeps others from guessing what a pruned matter said."""
    one, two = (seal_entry(RUN, 1, entries.START, SAID, Matter(text="yes")) for _ in range(2))
    assert one.matter == two.matter
    assert one.seal != two.seal
    assert one.salt is not None
    assert len(one.salt) == 16


def test_the_chain_holds_when_matter_is_pruned() -> None:
    """The digest covers the seal and not the matter itself."""
    entry = seal_entry(RUN, 1, entries.START, SAID, Matter(text="yes"))
    pruned = msgspec.structs.replace(entry, matter=None, salt=None)
    assert pruned.pruned
    assert is_sealed(pruned)
    made = entries.digest(RUN, 1, entries.START, pruned.body, pruned.seal)
    assert made == entry.digest


def test_a_digest_covers_place_body_seal_and_past() -> None:
    """Nothing of an entry can be changed without its digest changing."""
    given = (RUN, 1, entries.START, b"{}", b"s" * 32)
    made = entries.digest(*given)
    others = [
        entries.digest("1" + RUN[1:], *given[1:]),
        entries.digest(RUN, 2, *given[2:]),
        entries.digest(RUN, 1, b"1" * 32, *given[3:]),
        entries.digest(RUN, 1, entries.START, b"[]", given[4]),
        entries.digest(RUN, 1, entries.START, b"{}", None),
    ]
    assert len({made, *others}) == 6


def test_an_entry_that_lost_only_its_seal_is_not_sealed() -> None:
    """Matter without a seal is matter that somebody put there."""
    entry = Entry(RUN, 1, "noted", b"{}", b"{}", None, None, b"")
    assert not is_sealed(entry)


def test_a_document_has_one_name_whatever_the_order_of_its_keys() -> None:
    """The same tree is kept once."""
    one = entries.document_bytes({"a": 1, "b": [2]})
    two = entries.document_bytes({"b": [2], "a": 1})
    assert entries.document_digest(one) == entries.document_digest(two)
