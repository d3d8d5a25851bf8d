"""What a clause of a reply says about the options: this one, not that one, one of those, yes."""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import Literal, NamedTuple

from quandary.model.asks import MORE, Choice, Question
from quandary.model.tree import OTHER
from quandary.reading import Words, names_of, turns, words
from quandary.reading.lexicon import DESCRIPTION, LABEL, WHOLE, Fit, lexicon, stem
from quandary.reading.phrases import FILLERS, SAYINGS, WORDS, cardinal, edges, opens, places, strip

NAMING = frozenset(("pick", "either"))  # how words say which options are meant
Sense = Literal["yes", "no"]
_MARKED = r"\[\s*(\w+)\s*\]|\b([A-Z][A-Z0-9]+)\b"
_GLUED = r"\w+(?:[-_]\w+)+"  # what a hyphen makes one name
_AGREEING = SAYINGS.approving | SAYINGS.deeds  # `Approve`, `Continue`, whatever was asked


class Meaning(NamedTuple):
    """What a clause says."""

    how: Literal["pick", "either", "not", "drop", "rest", "yes", "no", "none", "beyond", "chatter"]
    codes: Words = ()
    evidence: int = WHOLE  # what accounts for the words
    rivals: Words = ()  # other options that account for them, less well
    doubtful: bool = False  # to be asked about, though nothing else accounts for them


def options_of(codes: Words | list[str], evidence: int = WHOLE) -> Meaning:
    """One option, or one of several."""
    distinct = tuple(dict.fromkeys(codes))
    return Meaning("either" if len(distinct) > 1 else "pick", distinct, evidence)


class Interpreter:
    """Reads clauses of what was typed as replies to one question."""

    def __init__(self, question: Question, typed: str) -> None:
        self.question = question
        marked = () if typed.isupper() else re.findall(_MARKED, typed)
        self.marked = frozenset((one or two).casefold() for one, two in marked)  # codes as such
        self.lone = sum(cardinal(word) is not None for word in words(typed)) == 1  # one number
        self.here = [choice.code for choice in question.choices if choice.code != MORE]
        self.paged = len(self.here) < len(question.choices)
        further = question.named if self.paged and (question.multi or not question.chain) else ()
        self.real = [*self.here, *(c.code for c in further if "/" not in c.code)]
        self.names, self.lexicon = names_of(question), lexicon(question.options)
        self.labels = {option.code: words(option.label) for option in question.options}
        self.every = tuple(c for c in self.real if self.labels[c] not in SAYINGS.none)  # "all"
        self.negative = frozenset(e for e in self.labels.values() if {*e[:1]} & WORDS.excluders)
        self.asked = frozenset(words(question.text[:600]))
        self.topic = frozenset(map(stem, self.asked))
        dropping = {w for w in WORDS.dropping & self.asked if stem(w) not in self.lexicon.first}
        self.leading = WORDS.leading | dropping
        self.led = bool(self.leading & {*words(typed)[:1]})  # `so up`, `man, this is annoying`
        self.aside = self.led or re.match(r"\s*[a-z]{2,}[,;.!]+\s+\w", typed)
        self.glued = {word for name in re.findall(_GLUED, typed) for word in words(name)}
        self.context = (self.asked - WORDS.neutral | WORDS.general) - self.glued
        self.nouns = self.context | WORDS.kinds | self.lexicon.label_words - WORDS.neutral

    def clause(self, clause: Words) -> Meaning | None:
        """What one clause says, or None when it says nothing about the options."""
        said = clause[:60]
        tail = next((n for n in (4, 3, 2) if said[-n:] in SAYINGS.tails and len(said) > n), 0)
        said = said[: len(said) - tail]
        while len(said) > 1 and said[0] in self.leading:
            said = said[1:]
        said = said[3:] if said[:3] in SAYINGS.setting_off and said[3:] else said
        rest = edges(said[2:], frozenset(), WORDS.endings) if said[:2] in SAYINGS.putting else ()
        said = rest if said[0] not in self.lexicon.label_words and self.names.match(rest) else said
        coded = {*said} & self.marked & self.names.codes.keys()
        named = bool(coded) and (said in SAYINGS.yes or len(said) == 1)
        named = named or (bool(self.names.match(said)) and not WORDS.thrown_in.issuperset(said))
        named = named or (said in SAYINGS.deeds and len(self.names.beginning(said)) == 1)
        if said in SAYINGS.yes | SAYINGS.no and not named:
            return read_sense(said)
        if self._is_foreign(said):
            return None
        return Meaning("rest") if strip(said) in SAYINGS.rest else self._read(said)

    def _read(self, said: Words) -> Meaning | None:
        """What words say that are more than a yes or a no, and about the options."""
        if "between" in said[:-3]:
            return self._either(said[said.index("between") + 1 :])
        if said[:2] == ("one", "of") and not self.lexicon.verbatim(said):
            return self._either(said[2:])
        either = self._either(said) if {*said} & WORDS.alternatives else None
        found = self._named(said) or either or self.read_drop(said) or self._without(said)
        if not found and not self._find_excluded(said):
            found = self._list(said) or self._told(said)
        beside = {*said} - self.lexicon.label_words
        one = found and len(found.codes) == 1 and {"both", *({"or"} if not either else ())} & beside
        return None if one else found or read_sense(said)

    def _is_foreign(self, said: Words) -> bool:
        """Whether words of an option are said of something else: `park it`, not `In the park`."""
        if len(said) > 1 and self.lexicon.verbatim(said):
            return False
        known, core = self.lexicon, edges(said, FILLERS)
        noun = known.tokens - known.verbs
        deed = core[1:] in SAYINGS.it and stem(core[0]) in noun and not known.verbatim(core)
        thing = {*said[-2:-1]} & {"a", "an", "be"} and stem(said[-1]) in known.deeds
        thing = thing and said[-3:-2] != ("do",)  # `do a squash`
        parts = WORDS.parts - known.label_words
        part = any(two == "of" and one in parts for one, two in pairwise(said[1:]))
        part = part or (core[1:2] == ("of",) and core[0] != "one" and bool(cardinal(core[0])))
        bald = (word for word in said if word not in {"only", "just"})
        few = {one for one, two in pairwise(bald) if two in parts}  # `skip one`, `to some`
        some = (few & WORDS.manner or {*map(stem, few)} & known.deeds) and known.mentions(said)
        others = said[0] in WORDS.others - known.label_words
        # What somebody else is to do or did, or what it is to be like.
        done = core and said[1:] and core[0][-2:] in {"ed", "id"} and stem(core[0]) in known.first
        done = done and (core[1:2] in SAYINGS.it or said[0] in {"i", "we", "it", "its"})
        told = said[0] == "you" and stem(said[1]) in known.first if len(said) > 1 else False
        liken = any(two == "like" and one in {"be", "is"} for one, two in pairwise(said))
        others = others or (done and core[0] not in known.label_words) or told or liken
        own = opens(said, SAYINGS.introducing) or said in SAYINGS.pleas | SAYINGS.ended
        return bool(deed or thing or part or some or others or own)

    def name(self, said: Words) -> Meaning | None:
        """What words say that name options without "or", "and" or "not"."""
        return self._named(said) or self._told(said)

    def _named(self, said: Words) -> Meaning | None:
        """A code, a label, the beginning of one, or a place in the list."""
        if self.question.menu and said in {("other",), words(self.question.other)}:
            return Meaning("pick", (OTHER,))
        own = self.names.codes.keys() | self.lexicon.label_words
        kept = edges(said, FILLERS - own, WORDS.endings - own)
        cores = [*dict.fromkeys((said, edges(said, FILLERS), strip(said), kept))]
        found = next(filter(None, (self._whole(core, cut=core != said) for core in cores)), ())
        begun = map(self._begun, cores)
        fit = Fit(found, WHOLE) if found else Fit(next(filter(None, begun), ()), LABEL)
        return self._settle(fit, said) if fit.codes else self.place(said)

    def _whole(self, core: Words, *, cut: bool) -> Words:
        """A whole label or code; an everyday word is a code alone, or where it is marked."""
        bald = core[:1] + core[1 + (core[1:2] == ("me",) and len(core) > 2) :]  # `walk me through`
        found = self.names.match(core) or self.names.match(bald)
        if not core or (len(core) == 1 and self.place(core) and not (found and core[0].isalpha())):
            return ()
        lettered = core[1:] if len(core) == 2 and core[0] in WORDS.lettered else core
        everyday = (cut or self.aside) and core == lettered and core[0] in WORDS.everyday
        if found or len(lettered) > 1 or (everyday and core[0] not in self.marked):
            return found
        return self.names.code(lettered[0])

    def _begun(self, core: Words) -> Words:
        """The beginning of a label in whole words, or several words of one in a row."""
        if not core or (len(core) == 1 and self.place(core)):
            return ()
        found, telling = self.names.beginning(core), sum(map(self.lexicon.tells, core))
        phrase = self.lexicon.phrase(core) if found or telling > 1 else None
        return phrase.codes if phrase and phrase.evidence else found

    def _settle(self, fit: Fit | None, said: Words) -> Meaning | None:
        """The options that fit best; none where another time is said than theirs is."""
        core = edges(said, FILLERS)  # `a bike` of their own, not a description's `bike shop`
        part = said[0] == "only" or (said[-2:-1] in SAYINGS.one and said[0] in WORDS.referring)
        if fit is None or (not fit.evidence and part):
            return None
        turned = (*strip(said), said[0])
        codes = tuple(c for c in dict.fromkeys(fit.codes) if not turns(turned, self.labels[c]))
        named = self.glued & self.lexicon.label_words & {*said}  # `us-west-1` is no `eu-west-1`
        every = {"all", "every", "ones"} | ({"both"} if len(codes) == 2 else set())
        if self.question.multi and len(codes) > 1 and every & {*said}:  # `both chocolates`
            return Meaning("pick", codes)
        if fit.evidence == WHOLE:  # a code is no stronger than a label that has it: `the date`
            whole = self.names.match(core) or self.names.match(strip(said))
            coded = said[1:] and not (self.marked or whole or {*core[:1]} & WORDS.lettered)
            rivals = tuple(self.lexicon.mentions(strip(said)) - {*codes}) if coded else ()
        else:
            begun = self.names.beginning(core) or self.names.beginning(strip(said))
            # What the question is about tells no option: `keep the commits`, asked about commits.
            aside = tuple(word for word in said if stem(word) not in self.topic)
            telling = any(map(self.lexicon.tells, {*aside} - WORDS.modifiers))
            own = not telling or {*codes} & self.lexicon.mentions(aside)
            rivals = () if begun else self.lexicon.find_rivals(said if own else aside, codes)
            if not fit.evidence:  # `merge later` of a description, and an option is called `Merge`
                rivals = (*rivals, *(self.lexicon.names(said) - {*codes, *rivals}))
        amount = WORDS.amounts.issuperset(strip(said) or said)
        amount = amount or (said[0] in {"we", "i"} and not {*said[1:2]} <= WORDS.choosing)
        # `never on production` forbids it, though a description may say so; `no server` quotes one
        holds = all({*self.labels[code][:1]} & WORDS.idle for code in codes)
        if said[0] in WORDS.denying and not holds:
            quoted = self.lexicon.verbatim(said) or self.lexicon.verbatim(strip(said))
            forbids = said[0] in {"never", "dont"} or not WORDS.function.isdisjoint(said[1:2])
            amount |= forbids or not quoted
        few = any({*said} & WORDS.few - {*self.labels[code]} for code in codes)
        passing = few if fit.evidence else amount or self.lexicon.passes(strip(said), codes)
        # `the plan is fine`, where it was asked about: what it is about is no choice of it
        told = {stem(word) for word in strip(said) if self.lexicon.tells(word)}
        about = fit.evidence == LABEL and told <= self.topic and not WORDS.being.isdisjoint(said)
        if about or not codes or not all(named <= {*self.labels[c], c.casefold()} for c in codes):
            return None
        # `keep it`, and what is offered is to `Keep a baseline`
        its = [label for c, label in self.labels.items() if c in codes and label[:1] == core[:1]]
        passing |= core[1:2] in SAYINGS.it and any({*label[1:2]} & {"a", "an"} for label in its)
        return Meaning(*options_of(codes, fit.evidence)[:3], rivals, fit.guessed or passing)

    def _told(self, said: Words) -> Meaning | None:
        """The words of labels and descriptions, in their order or not, or with a slip."""
        core, found = strip(said), self._phrased(said)
        if found or not core or "too" in core[:-1]:
            return found
        # A number beside words that say little may be a place: `2 until`, not `one of those two`.
        number = self.lexicon.find_numbers(core) if WORDS.theirs.isdisjoint(core) else ()
        if number not in ((), core) and (placed := self.place(number)):
            return placed._replace(doubtful=True)
        typed = (self.names.find_mistyped(" ".join(said)) for said in (core, said))
        if (mistyped := next(filter(None, typed), ())) and not self.asked.issuperset(core):
            return options_of(mistyped)
        told = tuple(word for word in core if word != "all" or not self.question.multi)
        passing = self.context - (WORDS.general if {*said} & WORDS.joints else set())
        found = self._settle(self.lexicon.account(told, passing), said)
        if found is None and core[-1] == "first" and core[-2:-1] not in ((), ("the",)):
            meant = self.name(core[:-1])
            return meant._replace(evidence=DESCRIPTION) if meant and meant.evidence else None
        return found

    def _phrased(self, said: Words) -> Meaning | None:
        """The very words of a label or a description."""
        for part in dict.fromkeys((said, strip(said))):
            small = len(part) == 1 and part[0] in WORDS.neutral | WORDS.modifiers
            weak = small and (part != said or self.led)
            if part and not weak and (found := self._settle(self.lexicon.phrase(part), said)):
                return found
        return None

    def find_side(self, sense: Sense) -> tuple[Words, bool]:
        """What a yes or a no stands for, and whether that is to be asked about."""
        found, options = sides(self.question, sense), self.question.options
        if found or sense == "yes" or len(options) != 2:
            return found, False
        yes = sides(self.question, "yes")
        holding = tuple(o.code for o in options if not WORDS.holding.isdisjoint(words(o.label)[:1]))
        left = tuple(o.code for o in options if o.code not in yes and len(yes) == 1)
        return (holding, False) if len(holding) == 1 else (left, True)

    def place(self, said: Words) -> Meaning | None:
        """A place in the list, or several."""
        core = edges(said, FILLERS - WORDS.placing, WORDS.endings - WORDS.placing)
        core = bare if len(bare := strip(said)) == 1 and bare[0].isdigit() else core
        bare, counts = core[core[:1] == ("the",) :], {len(self.here), len(self.real)}
        numbered = bare[:1] == ("all",) and len(bare) == 2 and cardinal(bare[1]) in counts
        if numbered or {core, bare} & SAYINGS.every or (bare in SAYINGS.both and 2 in counts):
            own = (said[1:] and self.lexicon.verbatim(said)) or self.lexicon.mentions(core)
            if not own and self.question.multi:  # of several pages, those not seen are asked about
                return Meaning("either" if self.paged else "pick", self.every)
            return None if own and not self.question.multi else Meaning("none")
        place = places(core, len(self.question.rows), self.nouns)
        polite = edges(said, WORDS.interjections, WORDS.interjections)
        if place is None or not (place.explicit or len(polite) <= len(core)):  # `to me first`
            return None
        found = tuple(self.question.rows[at] for at in place.at)
        labelled = [self.lexicon.find_in_labels((word,)) for word in core if cardinal(word)]
        valued = len(labelled) > 1 and all(labelled) and not self.question.multi  # `3 or 6` nodes
        number = cardinal(core[0]) if len(core) == 1 else None
        if number is not None or not (found or valued):
            return self._count(core, number, found)
        found = tuple(code for codes in labelled for code in codes) if valued else found
        alone = () if core[1:] else core
        rivals = (*self.names.beginning(alone), *self.lexicon.find_in_labels(alone))
        if rivals or (place.alternatives and not (self.question.multi and "or" not in core)):
            return options_of((*found, *rivals))
        return Meaning("pick", found, WHOLE if place.explicit else DESCRIPTION)

    def _count(self, core: Words, number: int | None, placed: Words) -> Meaning:
        """A number that is a place, unless a label has it, or labels are numbers; else a slip."""
        valued = any(len(e) == 1 and cardinal(e[0]) is not None for e in self.labels.values())
        found = [c for c in self.lexicon.find_in_labels((str(number),)) if c in self.real]
        if placed:
            rivals = self.here if valued and not found and placed[0] in self.here else found
            return options_of((*placed, *(rivals if self.lone or not found else ())))
        slips = range(0 if valued or self.names.beginning(core) else len(self.question.rows) + 3)
        phrase = self.lexicon.phrase(strip(core)) or self.lexicon.phrase((f"{core[0]}%",))
        if not (phrase and phrase.evidence) or (number in slips and not self.lone):
            return Meaning("beyond")
        return options_of(phrase.codes)._replace(doubtful=number in slips)

    def _without(self, said: Words) -> Meaning | None:
        """`not the second`, `anything but deploy`, `2 rather than 3`, `all but 3`."""
        found = self._find_excluded(said)
        pointed = tuple(word for word in said if word not in WORDS.pointing)
        if found is None or pointed in SAYINGS.no:
            return None
        before, after, negator = found
        # `don't deploy now` leaves `Deploy later`, even where an option says `Do not deploy`.
        other = self.names.match(edges(after, frozenset(), WORDS.interjections))
        if not other and (negator in WORDS.excluders or not before):
            fit = self.lexicon.account(said)
            own = self._phrased(said) or (None if fit and fit.evidence else self._settle(fit, said))
            described = own and not own.evidence and self.lexicon.names(after)
            if (own and not described) or (negator == "no" and after[0].isdigit()):
                return own
        if not self.names.match(after):
            after = edges(after, WORDS.referring | WORDS.excluders, frozenset(("again",)))
        after = (*after[:1], *("and" if word in {"no", "not"} else word for word in after[1:]))
        core = edges(after, frozenset(("the", "a")), WORDS.interjections) if other else strip(after)
        dropped = (*self._several(after), *self.lexicon.find_in_labels(core))
        return self._leave(before, dropped, negator) if dropped else None

    def _find_excluded(self, said: Words) -> tuple[Words, Words, str] | None:
        """What stands before and after the first word that leaves something out, and that word."""
        for at, word in enumerate(said[:-1]):
            if said[at : at + 2] in SAYINGS.excluding and said[at + 2 :]:
                return said[:at], said[at + 2 :], word
            own = opens(said[at:], self.negative)
            willing = word not in {"wont", "shouldnt", "wouldnt"} or {*said[:at]} & {"i", "we"}
            opening = not at and word not in {"but", "save", "bar"}
            excepts = word in WORDS.excepting and (opening or {*said[:at]} & WORDS.quantifiers)
            if excepts or (word in WORDS.excluders and willing and not own):
                rest = said[at + 2 :] if excepts and said[at + 1] in {"for", "not"} else ()
                return said[:at], rest or said[at + 1 :], word
        return None

    def _leave(self, before: Words, dropped: Words, negator: str) -> Meaning | None:
        """What is left of those named before; of more than two it is never a plain pick."""
        quantity = {*before} - WORDS.function - FILLERS
        if quantity <= WORDS.quantifiers | WORDS.quantified:
            evidence = LABEL if negator == "no" else WHOLE
            return Meaning("not", dropped, evidence, doubtful=len(self.real) > 2 or bool(quantity))
        meant = self.name(before)
        left = [code for code in meant.codes if code not in dropped] if meant else []
        partly = negator not in {"instead", "rather"} and bool(quantity & WORDS.quantifiers)
        return options_of(left)._replace(doubtful=partly) if left else None

    def read_drop(self, said: Words) -> Meaning | None:
        """`drop 2`, where no option is called that."""
        core = edges(said, FILLERS)
        known = core and (stem(core[0]) in self.lexicon.tokens or core[0] in self.asked)
        verb = len(core) > 1 and core[0] in WORDS.dropping and not known
        codes = self._several(core[1:]) if verb else ()
        return Meaning("drop", codes) if codes else None

    def _several(self, said: Words) -> Words:
        """Every option that words joined by "and" or "or" name; none when one names nothing."""
        whole = (self._named(said) or self._phrased(said)) if said else None
        parts = [said] if whole and whole.how in NAMING else _part(said, WORDS.between)
        named = self._name_each(parts)
        return tuple(dict.fromkeys(code for meant in named for code in meant.codes))

    def _name_each(self, parts: list[Words]) -> list[Meaning]:
        """What each part names; nothing where one names nothing."""
        meanings = [self.name(part) for part in parts]
        named = [meant for meant in meanings if meant is not None and meant.how in NAMING]
        return named if len(named) == len(parts) else []

    def _either(self, said: Words) -> Meaning | None:
        """`1 or 2`, `either the train or the car`."""
        codes = self._several(edges(said, frozenset(("either",))))
        return options_of(codes) if len(codes) > 1 else None

    def _list(self, said: Words) -> Meaning | None:
        """`tests and docs`: every part names something, and one of them by its label."""
        coded = self.question.multi and all(map(self.names.code, said))
        parts: list[Words] = [(word,) for word in said] if coded else _part(said, WORDS.joints)
        named = self._name_each(parts) if len(parts) > 1 else []
        codes = tuple(dict.fromkeys(code for meant in named for code in meant.codes))
        either = any(meant.how == "either" for meant in named)
        found = options_of(codes) if either else Meaning("pick", codes)
        return found if any(meant.evidence for meant in named) else None


def _part(said: Words, joints: frozenset[str]) -> list[Words]:
    return [tuple(part) for joint, part in groupby(said, joints.__contains__) if not joint]


def read_sense(said: Words) -> Meaning | None:
    """Yes, no, or nothing but fillers; None when anything else is said, or both."""
    senses = set[Sense]()
    while said:
        for long in range(min(5, len(said)), 0, -1):
            phrase, rest = said[:long], said[long:]
            last = not rest or long > 2 or phrase[-1] not in WORDS.excluders
            if phrase in SAYINGS.no and last:
                senses.add("no")
            elif phrase in SAYINGS.yes:
                senses.add("yes")
            elif long > 1 or phrase[0] not in WORDS.interjections | WORDS.pointing:
                continue
            said = rest
            break
        else:
            return None
    return None if len(senses) > 1 else Meaning(senses.pop() if senses else "chatter")


def find_affirmed(typed: str, question: Question) -> Words | None:
    """What a yes stands for: one option, or all that it could mean, also above; None if no yes."""
    said, known = words(typed), names_of(question)
    own = any({"recommend", "recommended"} & {*words(o.label)} for o in question.options)
    if not own and said[:1] != ("is",) and strip(said) in SAYINGS.recommended:
        return question.recommended or None
    begun = known.beginning(said) if said in SAYINGS.deeds else ()
    meant = read_sense(said) if said and len(begun) != 1 else None
    if meant is None or meant.how != "yes":
        return None
    codes, recommended = sides(question, "yes"), question.recommended
    agreed = any(opens(words(o.label), _AGREEING) for o in question.options if o.code in codes)
    codes = recommended if len(recommended) == 1 and not agreed else codes
    coded = tuple(c for w in Interpreter(question, typed).marked for c in known.code(w))
    above = sides(Question("", "", question.text, question.above), "yes")
    every = (*(c.code for c in question.choices if c.code != MORE), *above)
    return coded or codes or (every if len(every) > 1 else ())


def sides(question: Question, sense: Sense) -> Words:
    """The options that a yes or a no stands for."""
    options, own = question.options, WORDS.denying | WORDS.bare_no | {"none", sense}
    found = [o for o in options if o.code.rpartition("/")[2].casefold() == sense]
    # The `NO` of `North orchard` is short for that, and no answer.
    found = [o for o in found if (w := (*words(o.label), sense)[0]) in own or w[0] != sense[0]]
    found = found or [o for o in options if _answers(o, question, sense)]
    plain = [o for o in found if not WORDS.qualifiers.intersection(words(o.label))]
    alike = all(words(o.label)[0] == sense for o in found if o.label)
    return tuple(o.code for o in (found if alike else plain or found))


def _answers(option: Choice, question: Question, sense: Sense) -> bool:
    """Whether an option says yes or no to what was asked: `yes` is not `Accept the risk`."""
    known = SAYINGS.affirming if sense == "yes" else SAYINGS.refusing
    said = words(option.label)
    opening = max((len(phrase) for phrase in known if said[: len(phrase)] == phrase), default=0)
    button = said[:1] == ("no",) != words(option.label.partition(",")[0])  # `No button` is neither
    small = frozenset[str]() if sense == "yes" else WORDS.function
    labels = [words(option.label) or ("",) for option in question.options]
    holds = any(opens(e, SAYINGS.refusing) or e[0] in WORDS.holding for e in labels)
    acts = not opens(said, _AGREEING) and not holds and len(labels) > 2
    if sense == "yes" and (acts or (question.chain and option.also)):
        return False  # `Merge` beside `Rebase` is no yes, and neither is what a split can do
    if button or not opening or small.issuperset(said[opening:]):
        return bool(opening) and not button
    last = words(re.split(r"[.!?:]\s", question.text[-600:].rstrip(" ?\n"))[-1])
    return WORDS.asking_which.isdisjoint(last[:2]) and opens(said, SAYINGS.approving)
