"""The options of a split on one board: what is known of them, and what has become of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from quandary.flows.asking import Chooser, Inquiry
from quandary.flows.coherence import Breach, Links
from quandary.flows.split_wording import VERBS, Words
from quandary.model import keys as made
from quandary.model.ask import Choice, Item, Limits
from quandary.model.candidates import Bucket, Candidate
from quandary.model.question_ids import SplitIds

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from quandary.flows import Request, Response

    Key = Generator[Request, Response, str]
    Keys = Generator[Request, Response, list[str]]

Relation = Literal["independent", "alternatives", "unsure"]
_FURTHER_IDS = ("include", "pick", "narrow", "hold")
_NONE = "NON"


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a split was begun with; plain data, kept in the journal as it is."""

    options: tuple[Candidate, ...]
    skill: str = ""
    relation: Relation = "unsure"
    number: int = 1
    context: str = ""
    limits: Limits = Limits()
    values: dict[str, str] = {}


class Board:
    """The options of one run. Its questions are made here, and what they decide is put here."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.options = {option.key: option for option in terms.options}
        self.keys = list(self.options)
        self.place = {key: number for number, key in enumerate(self.keys, 1)}
        self.links = Links(terms.options)
        self.buckets: dict[str, Bucket] = {}
        self.accepted: list[Breach] = []
        """What is broken and was accepted as that."""
        self.conflicts = 0
        """How many questions there were on what is broken."""
        self.words = Words(terms.options, self.links, self.buckets)
        self._ids = SplitIds(terms.skill, self.keys, _FURTHER_IDS)
        context = terms.context.strip() or self.words.context(terms.relation == "alternatives")
        self.chooser = Chooser(context, terms.limits)

    def put(self, keys: Iterable[str], bucket: Bucket) -> None:
        """Decide."""
        for key in keys:
            self.buckets[key] = bucket

    def advised(self, keys: Iterable[str], bucket: Bucket) -> bool:
        """Whether just this is recommended for each of them."""
        return {self.options[key].recommend for key in keys} == {bucket}

    # -- questions -----------------------------------------------------------------------------

    def inquiry(
        self,
        part: str,
        own: str,
        label: str,
        text: str,
        asked: str,
        choices: Iterable[Choice],
        **more: Any,  # noqa: ANN401 - further fields of an inquiry
    ) -> Inquiry:
        """A question of the split itself; `part` ends its number, and `own` its id."""
        place = made.decision(self.terms.number, part)
        own_id = self._ids.own[own]
        return Inquiry(place, label, text, asked, tuple(choices), id=own_id, **more)

    def inquiry_on(self, key: str, part: str) -> Inquiry:
        """The question on one option."""
        return Inquiry(
            made.decision(self.terms.number, part),
            self.options[key].title,
            self.words.single(key),
            "What becomes of it?",
            self.words.buckets(key),
            id=self._ids.options[key],
            item=Item(key, title=self.words.name(key)),
            own_words=True,
            blocks=self.words.block(key),
        )

    def none(self, said: str) -> Choice:
        """The choice that says none of them."""
        return Choice(self.free(_NONE), "None of these", said)

    def free(self, code: str) -> str:
        """A code of our own that is no option's key."""
        taken = {key.casefold() for key in self.keys}
        while code.casefold() in taken:
            code += "_"
        return code

    def several(
        self, part: str, own: str, label: str, text: str, asked: str, keys: Sequence[str]
    ) -> Keys:
        """Ask which of these; none of them is an answer too."""
        choices = (
            self.words.choice(key, recommended=own == "include" and self.advised([key], "include"))
            for key in keys
        )
        none = self.none("Not one of them")
        chosen = yield from self.chooser.inquire(
            self.inquiry(part, own, label, text, asked, choices, multi=True, none=none)
        )
        return [code for code in chosen.codes if code != none.code]

    def name(self, inquiry: Inquiry) -> Key:
        """Ask for one of the choices, or an option by its number; other words decide nothing."""
        inquiry = replace(inquiry, own_words=True)
        while True:
            chosen = yield from self.chooser.inquire(inquiry)
            code = chosen.code or self._meant(chosen.words)
            if code:
                return code
            inquiry = replace(inquiry, why=self.chooser.keep_words(inquiry, chosen.words))

    def _meant(self, words: str) -> str:
        """The option that words name by its key or number: `E3`, `3`, `#3`, `D1.3`."""
        bare = words.strip().strip(".!#").casefold()
        number = bare.removeprefix(f"d{self.terms.number}.")
        if number.isdecimal() and 1 <= int(number) <= len(self.keys):
            return self.keys[int(number) - 1]
        return next((key for key in self.keys if key.casefold() == bare), "")

    # -- the end -------------------------------------------------------------------------------

    def result(self) -> dict[str, Any]:
        """Every option in one of three buckets, with its number and the id of its question."""
        said, number = self.chooser.remarks_on, self.terms.number
        result: dict[str, Any] = {
            **{bucket: self.words.within(bucket) for bucket in VERBS},
            "held": None,
            "accepted_broken": [{"option": b.option, b.kind: b.other} for b in self.accepted],
            "decisions": [
                {
                    "number": made.decision(number, str(self.place[key])),
                    "id": self._ids.options[key],
                    "option": key,
                    "bucket": self.buckets[key],
                    **said(key).told(),
                }
                for key in self.keys
            ],
            **said("").told(),
        }
        if self.chooser.notes:
            result["notes"] = [msgspec.to_builtins(note) for note in self.chooser.notes]
        return result
