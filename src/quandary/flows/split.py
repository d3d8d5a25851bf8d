"""Decide about many options without losing one: each is included, deferred, cut, or talked about.

The number of options gives the shape: one question, one for a few at once, a chain with a question
for each, or first a question on how to go about it. Whatever the shape, what was put together is
checked for ties that it breaks, and a longer way ends with a look at the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
from msgspec.structs import replace

from quandary.errors import QuandaryError
from quandary.flows import Flow, Steps, tell_hands
from quandary.flows.asking import Chooser, Inquiry
from quandary.flows.wording import (
    CODES,
    VERBS,
    Breach,
    Links,
    Room,
    Words,
    action,
    fill,
    require_filled,
    sentence,
)
from quandary.model import keys as made
from quandary.model.asks import (
    Bucket,
    Candidate,
    Choice,
    Hand,
    Item,
    Limits,
    Note,
    Required,
    problem,
)
from quandary.model.keys import SplitIds

if TYPE_CHECKING:
    Look = Steps[bool]  # steps, and whether they call for a look at the whole

VERSION = 1
AT_ONCE = 4
LONGEST_CHAIN = 6
BUCKETS: dict[str, Bucket] = {code: bucket for bucket, code in CODES.items()}
"""What each code decides; Hold decides nothing."""
NO_REASON = "no reason was given"
Relation = Literal["independent", "alternatives", "unsure"]
_FURTHER_IDS = ("include", "pick", "narrow", "hold")
_LETTERED = frozenset({"meta", "rest", "conflict", "final"})
"""Of the split's own questions, those on what to do; the others are answered with options."""
_ASKED = {
    "include": ("What to include", "Which do you want to include?"),
    "pick": ("Which one", "Which one do you choose?"),
    "meta": ("How to proceed", "How do you want to proceed?"),
    "narrow": ("Decide now", "Which do you want to decide now?"),
    "rest": ("The rest", "What should happen to them?"),
    "hold": ("Held", "Continue with it, or with which one?"),
    "conflict": ("Conflict", "What should change?"),
    "final": ("The whole set", "Ship this scope?"),
    "more": ("Cut more", "Which do you want to cut?"),
    "revise": ("Revise one", "Which option do you want to revise?"),
}
"""The split's own questions: what the header says, and what is asked where nothing else is."""


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a split was begun with; plain data, kept in the journal as it is."""

    options: tuple[Candidate, ...]
    skill: str = ""
    relation: Relation = "unsure"
    number: int = 1
    context: str = ""
    limits: Limits = Limits()
    values: dict[str, str] = {}
    require: Required = ""
    reader: str = ""


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's `began` describes."""
    return _flow(msgspec.convert(arguments, Terms))


def split(
    options: Sequence[Candidate],
    *,
    skill: str = "",
    relation: Relation = "unsure",
    number: int = 1,
    context: str = "",
    limits: Limits | None = None,
    values: Mapping[str, str] | None = None,
    require_person: bool = False,
) -> Flow:
    """Ask about every option until each is included, deferred or cut."""
    if wrong := problem(options):  # a run that was begun before a rule was made is still resumed
        raise QuandaryError(f"the options cannot be asked about: {wrong}")
    given, room = {n: v for n, v in (values or {}).items() if v.strip()}, limits or Limits()
    who: Required = "person" if require_person else ""
    return _flow(Terms(tuple(options), skill, relation, number, context, room, given, who))


def _flow(terms: Terms) -> Flow:
    """Refuse at once what cannot be asked well, before anyone is asked anything."""
    if terms.relation not in get_args(Relation):
        raise QuandaryError(f"relation {terms.relation!r}: it is {', '.join(get_args(Relation))}")
    if terms.number < 1:
        raise QuandaryError(f"number {terms.number}: decisions are counted from 1")
    context = fill(terms.context, terms.values)
    require_filled(context, "the context")
    room = Room()
    options = tuple(_fill(option, terms.values, room) for option in terms.options)
    return _Split(replace(terms, options=options, context=context)).flow()


def _fill(option: Candidate, values: Mapping[str, str], room: Room) -> Candidate:
    said = {}
    for field in ("key", "title", "scope", "cost", "because"):
        said[field] = room.take(fill(getattr(option, field), values))
        require_filled(said[field], f"the {field} of {option.key}")
    return replace(option, **said)


class _Split:
    """The options of one run, and what has become of each."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.options = {option.key: option for option in terms.options}
        self.keys = list(self.options)
        self.place = {key: number for number, key in enumerate(self.keys, 1)}
        self.links = Links(terms.options)
        self.buckets: dict[str, Bucket] = {}
        self.hands: dict[str, tuple[Hand, ...]] = {}
        self.accepted: list[Breach] = []  # what is broken and was accepted as that
        self.conflicts = 0  # how many questions there were on what is broken
        self.words = Words(terms.options, self.links, self.buckets)
        self.ids = SplitIds(terms.skill, self.keys, _FURTHER_IDS)
        context = terms.context.strip() or self.words.context(terms.relation == "alternatives")
        self.chooser = Chooser(context, terms.limits, terms.require)
        self.chooser.reader = terms.reader

    def flow(self) -> Flow:
        """The shape that fits, then whatever does not go together, then a look at the whole."""
        if self.terms.relation == "alternatives" and len(self.keys) > 1:
            yield from self._pick()
            look = False
        else:
            look = yield from self._settle(self.keys)
        yield from self._make_coherent()
        if look:
            yield from self._confirm()
        return self._result()

    def _put(self, keys: Iterable[str], bucket: Bucket) -> None:
        """Decide about some; it was whoever answered last."""
        for key in keys:
            self.buckets[key], self.hands[key] = bucket, self.chooser.last.hands

    def _is_advised(self, keys: Iterable[str], bucket: Bucket) -> bool:
        """Whether just this is recommended for each of them."""
        return {self.options[key].recommend for key in keys} == {bucket}

    def _result(self) -> dict[str, Any]:
        """Every option in one of three buckets, with its number and the id of its question."""
        remarks_on, number = self.chooser.remarks_on, self.terms.number
        result: dict[str, Any] = {
            **{bucket: self.words.within(bucket) for bucket in VERBS},
            "held": None,
            "accepted_broken": [{"option": b.option, b.kind: b.other} for b in self.accepted],
            "decisions": [
                {
                    "number": made.decision(number, str(self.place[key])),
                    "id": self.ids.options[key],
                    "option": key,
                    "bucket": self.buckets[key],
                    **remarks_on(key).as_result(),
                    **tell_hands(self.hands[key]),
                }
                for key in self.keys
            ],
            **remarks_on("").as_result(),
            **tell_hands(self.chooser.hands),
        }
        if self.chooser.notes:
            result["notes"] = [msgspec.to_builtins(note) for note in self.chooser.notes]
        return result

    def _inquiry(
        self,
        own: str,
        part: str,
        text: str,
        choices: Iterable[Choice],
        **more: Any,  # noqa: ANN401 - further fields of an inquiry
    ) -> Inquiry:
        """A question of the split itself; `part` ends its number, and `own` its id."""
        (label, asked), key = _ASKED[own], made.decision(self.terms.number, part)
        choices = self._letter(choices) if own in _LETTERED else choices
        item = Item("", title=label if own == "rest" else "")  # `cut the rest`
        fields = {"label": label, "asked": asked, "item": item, **more}
        return Inquiry(key=key, text=text, choices=tuple(choices), id=self.ids.own[own], **fields)

    def _letter(self, choices: Iterable[Choice]) -> tuple[Choice, ...]:
        """What to do goes by A, B, C and D too, as long as no option has that key."""
        taken = {key.upper() for key in self.keys}
        lettered = zip("ABCD", choices, strict=False)
        return tuple(c if a in taken else replace(c, also=(a, *c.also)) for a, c in lettered)

    def _ask(self, inquiry: Inquiry) -> Steps[str]:
        return (yield from self.chooser.inquire(inquiry)).code

    def _ask_several(self, own: str, part: str, text: str, keys: Sequence[str]) -> Steps[list[str]]:
        """Ask which of these; none of them is an answer too."""
        advised = [key for key in keys if own == "include" and self._is_advised([key], "include")]
        choices = (self.words.choice(key, recommended=key in advised) for key in keys)
        none = Choice(self._free("NON"), "None of these", "Not one of them")
        inquiry = self._inquiry(own, part, text, choices, multi=True, none=none)
        chosen = yield from self.chooser.inquire(inquiry)
        return [code for code in chosen.codes if code != none.code]

    def _ask_name(self, inquiry: Inquiry) -> Steps[str]:
        """Ask for one of the choices, or an option by its number; other words decide nothing."""
        inquiry = replace(inquiry, own_words=True)
        while True:
            chosen = yield from self.chooser.inquire(inquiry)
            if code := chosen.code or self._find_option(chosen.words):
                return code
            inquiry = replace(inquiry, why=self.chooser.keep_words(inquiry, chosen.words))

    def _brief(self, key: str) -> Choice:
        """An option that is only to be named, which its number does as well."""
        number = made.decision(self.terms.number, str(self.place[key]))
        return replace(self.words.brief(key), also=(number,))

    def _find_option(self, words: str) -> str:
        """The option that words name by its key or number: `E3`, `3`, `#3`, `D1.3`."""
        typed = words.strip().casefold()
        number = (bare := typed.strip(".!#")).removeprefix(f"d{self.terms.number}.")
        named = next((key for key in self.keys if key.casefold() in (typed, bare)), "")
        if not named and number.isdecimal() and 1 <= int(number) <= len(self.keys):
            return self.keys[int(number) - 1]
        return named

    def _free(self, code: str) -> str:
        """A code of our own that is no option's key."""
        taken = {key.casefold() for key in self.keys}
        while code.casefold() in taken:
            code += "_"
        return code

    def _settle(self, keys: Sequence[str]) -> Look:
        """One gets the four buckets, a few are asked about at once, more make a chain."""
        if 1 < len(keys) <= AT_ONCE:
            return (yield from self._group(keys))
        if len(keys) > LONGEST_CHAIN:
            yield from self._choose_shape(keys)
            return True
        yield from self._chain(keys)
        return len(keys) > 1

    def _pick(self) -> Steps[None]:
        """Alternatives: four at a time, and the next ones when none of these fits."""
        words = self.words
        room = min(AT_ONCE, max(self.terms.limits.options, 2))
        advised = [key for key in self.keys if self._is_advised([key], "include")]
        for first in range(0, len(self.keys), room):
            page, later = self.keys[first : first + room], self.keys[first + room :]
            here, are = ("is" if len(keys) == 1 else "are" for keys in (page, later))
            further = f" There {are} {len(later)} more if none of these fits." if later else ""
            said = f"See the other {len(later)}" if later else "None of them is chosen"
            none = Choice(self._free("NON"), "None of these", said)
            inquiry = self._inquiry(
                "pick",
                "",
                f"Choose one of {len(self.keys)}; here {here} {words.names(page)}.{further}",
                (words.choice(key, recommended=advised == [key]) for key in page),
                none=none,
                blank_is_none=bool(later),
                named=tuple(words.choice(key) for key in self.keys if key not in page),
            )
            code = yield from self._ask(inquiry)
            if code != none.code:
                self._put(self.keys, "cut")
                self._put([code], "include")
                return
        yield from self._ask_rest(self.keys, "rest")

    def _choose_shape(self, keys: Sequence[str]) -> Steps[None]:
        apart = self.terms.relation == "independent" and not self.links.any()
        text = f"There are {len(keys)} options to decide about: {self.words.names(keys)}. "
        text += f"Asked one by one, that makes {len(keys)} questions."
        choices = (
            action("ALL", "Proceed one by one", "A question for each", recommended=apart),
            action("NAR", "Narrow it down first", "Tick what to decide now, defer the others"),
            action("BAT", "Batches of four", "Tick what to include, four at a time"),
        )
        blocks = self.words.listing("The options", keys)
        code = yield from self._ask(self._inquiry("meta", "0", text, choices, blocks=blocks))
        shape = {"NAR": self._narrow, "BAT": self._batches}.get(code, self._chain)
        yield from shape(keys)

    def _narrow(self, keys: Sequence[str]) -> Steps[None]:
        """What is not ticked to be decided now is deferred, once that has been confirmed."""
        names = self.words.names(keys)
        text = f"There are {len(keys)} options: {names}. Those left out are deferred."
        while True:
            chosen = yield from self._ask_several("narrow", "narrow", text, keys)
            rest = [key for key in keys if key not in chosen]
            if not rest or (yield from self._defer(rest)):
                break
        if chosen:
            yield from self._settle(chosen)

    def _defer(self, keys: Sequence[str]) -> Look:
        """Defer these if that is confirmed."""
        asked = f"Shall {'all ' if len(keys) > 1 else ''}{len(keys)} be deferred?"
        again = Choice("AGN", "Choose again", "Tick once more what to decide now")
        return (yield from self._ask_rest(keys, "rest", again, asked=asked)) != again.code

    def _batches(self, keys: Sequence[str]) -> Steps[None]:
        for number, first in enumerate(range(0, len(keys), AT_ONCE), 1):
            # A Hold may have led to one of a later batch; it is decided by now.
            batch = [key for key in keys[first : first + AT_ONCE] if key not in self.buckets]
            if len(batch) == 1:
                yield from self._chain(batch)
            elif batch:
                yield from self._group(batch, f"batch-{number}", f"rest-{number}")

    def _group(self, keys: Sequence[str], part: str = "", rest_part: str = "rest") -> Look:
        """A few at once: what to include, then what becomes of the rest."""
        text = f"There are {len(keys)} options: {self.words.names(keys)}."
        included = yield from self._ask_several("include", part, text, keys)
        self._put(included, "include")
        rest = [key for key in keys if key not in included]
        if not rest:
            return False
        one_by_one = Choice("ONE", "One by one", "A question of its own for each")
        code = yield from self._ask_rest(rest, rest_part, one_by_one)
        if code == one_by_one.code:
            yield from self._chain(rest)
        return code == one_by_one.code

    def _ask_rest(
        self, keys: Sequence[str], part: str, *more: Choice, asked: str = ""
    ) -> Steps[str]:
        """What becomes of those that were not chosen; where it is `asked`, only whether later."""
        them, heading = "it" if len(keys) == 1 else "them", "Left out" if asked else "Not chosen"
        rest: dict[Bucket, str] = {"defer": "Kept for later", "cut": "Dropped for good"}
        choices = [
            action(CODES[b], f"{VERBS[b]} {them}", said, recommended=self._is_advised(keys, b))
            for b, said in rest.items()
        ]
        if asked:
            choices = [replace(choices[0], recommended=False)]
        asked = asked or f"What should happen to {them}?"
        text, blocks = f"{heading}: {self.words.names(keys)}.", self.words.listing(heading, keys)
        inquiry = self._inquiry("rest", part, text, [*choices, *more], asked=asked, blocks=blocks)
        code = yield from self._ask(inquiry)
        if code in BUCKETS:
            self._put(keys, BUCKETS[code])
        return code

    def _chain(self, keys: Sequence[str], part: str = "") -> Steps[None]:
        """A question for each. Behind a Hold nothing is asked until the person goes on; what is
        held comes again before the end.
        """
        waiting = sorted(keys, key=self.place.__getitem__)
        key = waiting[0]
        while waiting:
            waiting = [other for other in waiting if other != key]
            if named := (yield from self._decide(key, f"{part}{self.place[key]}")):
                waiting, key = sorted([*waiting, key], key=self.place.__getitem__), named
            else:
                behind = [other for other in waiting if self.place[other] > self.place[key]]
                key = (behind or waiting or [key])[0]

    def _decide(self, key: str, part: str) -> Steps[str]:
        """Ask about an option; text that names no bucket is a Hold. The key to go on with."""
        inquiry = Inquiry(
            made.decision(self.terms.number, part),
            self.options[key].title,
            self.words.single(key),
            "What should happen to it?",
            self._letter(self.words.buckets(key)),
            id=self.ids.options[key],
            item=Item(key, title=self.words.name(key)),
            own_words=True,
            blocks=self.words.block(key),
        )
        chosen = yield from self.chooser.inquire(inquiry)
        if chosen.code in BUCKETS:
            self._put([key], BUCKETS[chosen.code])
            return ""
        if chosen.words:
            self.chooser.remarks_on(key).comments.append(chosen.words)
        return (yield from self._hold(key, chosen.words or chosen.comment))

    def _hold(self, key: str, reason: str) -> Steps[str]:
        """Wait until the person continues with it, says its bucket, or names another option."""
        words = self.words
        reason = " ".join(reason.split()) or NO_REASON
        waiting = [other for other in self.keys if other not in self.buckets and other != key]
        others = [other for other in self.keys if other not in (*waiting, key)]
        settled = {self._free(code): bucket for code, bucket in BUCKETS.items()}
        buckets = [replace(c, code=f) for f, c in zip(settled, words.buckets(key), strict=False)]
        go_on = action(self._free("CON"), "Continue", f"Ask about {key} again")
        held = f"{words.name(key)} is held: {sentence(reason)}"
        inquiry = self._inquiry(
            "hold",
            f"hold-{self.place[key]}",
            f"{held} Nothing else is asked until you continue.",
            (go_on, *(map(self._brief, waiting) if waiting else buckets)),
            label=f"Held: {key}",
            named=(*(buckets if waiting else ()), *map(self._brief, others)),
            always=(Note("held", reason, key),),
            item=Item(key),
        )
        named = yield from self._ask_name(inquiry)
        if named in settled:
            self._put([key], settled[named])
            return ""
        return key if named == go_on.code else named

    def _make_coherent(self) -> Steps[None]:
        """One question for each breach, until the set is coherent or accepted as it is."""
        while True:
            breaches = self.links.breaches(self.buckets)
            self.accepted = [breach for breach in breaches if breach in self.accepted]
            breach = next((b for b in breaches if b not in self.accepted), None)
            if breach is None:
                return
            self.conflicts += 1
            part, text = f"conflict-{self.conflicts}", self.words.breach(breach)
            inquiry = self._inquiry("conflict", part, text, self._ways_out(breach))
            code = yield from self._ask(inquiry)
            if code == "BRK":
                self.accepted.append(breach)
            elif code == "KEP":
                self._put([breach.other], "include" if breach.kind == "requires" else "cut")
            else:
                self._put([breach.option], BUCKETS[code])

    def _ways_out(self, breach: Breach) -> list[Choice]:
        """Keep what is needed, cut or defer what needs it, or accept; of two at odds, keep one."""
        one, other = breach.option, breach.other
        this, that = self.words.name(one), self.words.name(other)
        accept = action("BRK", "Accept it as broken", "Both stay as they are; the result says so")
        if breach.kind == "conflicts":
            return [
                Choice("KEP", f"Keep {one}", f"Cut {that}", also=(f"Cut {other}",)),
                Choice("CUT", f"Cut {one}", f"Keep {that}", also=(f"Keep {other}",)),
                accept,
            ]
        keep = Choice("KEP", f"Keep {other}", f"Include {that} after all", also=(f"Keep {that}",))
        cut = Choice("CUT", f"Cut {one} too", f"Drop {this} for good", also=(f"Cut {this}",))
        defer = Choice("DEF", f"Defer {one} too", f"Keep {this} for later", also=(f"Defer {this}",))
        later = self.buckets[other] == "defer"
        return [keep, cut, defer, accept] if later else [keep, cut, accept]

    def _confirm(self) -> Steps[None]:
        """The final question, which comes again after every change."""
        while (code := (yield from self._ask_final())) != self._free("SHP"):
            if code == self._free("CUT"):
                included = self.words.within("include")
                text = f"Included: {self.words.names(included)}."
                self._put((yield from self._ask_several("more", "more", text, included)), "cut")
            else:  # one option is asked about again, and no other
                if code == self._free("REV"):
                    text, every = self.words.assembled(), map(self._brief, self.keys)
                    code = yield from self._ask_name(self._inquiry("revise", "revise", text, every))
                yield from self._chain([code], "revise-")
            yield from self._make_coherent()

    def _ask_final(self) -> Steps[str]:
        """The three buckets, and whether that is it; an option named here is to be revised."""
        broken = " ".join(f"Accepted as broken: {self.words.breach(b)}" for b in self.accepted)
        included = self.words.within("include")
        ship, revise, more = map(self._free, ("SHP", "REV", "CUT"))
        coherent = bool(included) and not broken
        choices = [
            action(ship, "Ship this scope", "It stays as it is", recommended=coherent),
            action(revise, "Revise one option", "Say which one; it is asked about again"),
        ]
        if included:
            choices.append(action(more, "Cut more", "Tick what to cut of those included"))
        text = f"{self.words.assembled()} {broken}".strip()
        # In full, where the sentence has room for some names only.
        listed = (self.words.listing(verb, self.words.within(b)) for b, verb in VERBS.items())
        blocks = sum(listed, ())
        inquiry = self._inquiry("final", "final", text, choices, blocks=blocks)
        return (yield from self._ask_name(inquiry))
