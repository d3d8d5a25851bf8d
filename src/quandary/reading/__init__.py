"""What a person meant by a typed reply: the one place where text becomes a choice.

Every word of a reply has to be accounted for by one option, or be filler; else it is asked about,
or kept as own words. Strict reading takes what names an option outright (here); plain reading cuts
a reply into clauses (`sentences`) and accounts for all their words (`meaning`, `lexicon`).
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import Literal

from msgspec.structs import replace

from quandary.model.asks import BACK, MORE, YES, Choice, Prefix, Question, Reading, split_label
from quandary.model.text import is_blank
from quandary.model.tree import OTHER

Words = tuple[str, ...]
Span = tuple[str, int, int]
Mode = Literal["strict", "plain"]
HEAD = 400  # how many characters of a reply can name an option; what follows is a remark
OWN = Reading("own-words")
_OTHERS = {"other", OTHER.casefold()}
_BACK = {("back",), ("go", "back"), ("up",)}
_APOSTROPHES = str.maketrans("", "", "'’`´‘")
_QUESTION_MARKS = str.maketrans("？؟", "??")
_MONEY = {"$": "dollar", "€": "euro", "£": "pound"}
_EDGES = r"\A(?:[^\w#$+<=>^|~👎❌]|_)+|(?:[^\w#$+<=>^|~👎❌]|_)+\Z"
# These are compiled when they are needed, which for most replies is never.
_UPWARD = r"(?i)\b(?:newer|later|more|above|up)\b"  # what `3.12+` says
_PLACE = r"(?<![^\s+,&])#?([1-9]\d?)(?![^\s+,&])"
_JOINT = (  # what stands behind one of several names
    r"""(?:[ .…!"”»']*(?:\Z|[,;&+\n])| (?=and |plus ))[ "“«']*"""
    r"""(?:(?:[,;&+\n]|and |plus )[ "“«']*)*"""
)
_WORD = r"""(?x)
    \A-\d+                                                      # no place in a list
    | [$€£](?:\d+(?:[.,]\d+)*)?                                 # money
    | \d{1,3}(?:,\d{3})+(?!\d)                                  # thousands
    | \d+(?:[.,]\d+)?(?=(?i:[kmgt]i?b|ms|px|mins?|hrs?|k[gm])(?!\w))  # a number before its unit
    | \d{1,2}(?::\d\d)?\ ?(?i:[ap]m)(?!\w)                      # a time of day
    | \d+(?:[.,]\d+)?\ ?(?i:%|percent(?!\w))
    | [vV]?\d+(?:[.:]\d+)+                                       # versions and times
    | [wW]/[oO](?!\w)                                            # without
    | [^\W_]+(?:['’`´][^\W_]+)*
    | [👍👎✅❌🚀]
"""
_MARKS: dict[str, Prefix] = {"???": "deep", "?": "explain", "!": "force", "#": "tag"}
_MARKS |= {"@": "reference", "+": "add"}


def read(text: str, question: Question, mode: Mode = "plain") -> Reading:
    """What the text means as a reply to the question: the first of these readings that fits."""
    bare = "" if is_blank(text) else text.strip()
    if question.value:
        return OWN if bare else Reading("blank")
    found = _read_prefix(bare, question, mode)
    if found or question.confirms:
        return found or _read_confirmation(bare, question)
    is_form = mode == "strict" or question.menu  # numbered text has no Other of its own
    said = trim(bare).casefold() if len(bare) < 40 else bare
    if not bare or (said in _OTHERS and (is_form or said not in names_of(question).exact)):
        return Reading("blank")
    place = question.narrowed and mode == "plain" and re.fullmatch(r"#?(\d{1,3})[.)]?", bare)
    if place and 0 < int(place[1]) <= len(question.rows):  # to be asked once more is enough
        return reading((question.rows[int(place[1]) - 1],), question)
    others = [name.casefold() for name in (question.behind_other, trim(question.other))]
    found = (
        _read_extra(bare, question)
        or read_name(bare, question, mode)
        or (Reading("blank") if said in others else None)
        or _read_keyword(bare, question)
        or read_above(bare, question, whole=True)
    )
    if not found:
        from quandary.reading.sentences import read_words  # noqa: PLC0415 - exact answers need none

        said = bare.translate(_QUESTION_MARKS)
        found = read_words(said, question, mode) or read_above(bare, question, whole=False) or OWN
    signs = r"[👎❌✗✘✖✕❎🚫⛔🛑☠🙅]|(?<=\d)\+(?!\w)"  # they deny it, or say more: `3.12+`
    denied = {*re.findall(signs, bare)} if found.codes and re.search(r"\w", bare) else set()
    if denied - {*re.sub(_UPWARD, "+", found.matched)}:
        return OWN
    return _doubt_number(bare, question, found) if mode == "plain" and found.codes else found


def _doubt_number(bare: str, question: Question, found: Reading) -> Reading:
    """A number that is the place of one option and the name of another picks neither."""
    known, said = names_of(question), re.findall(r"(?<![\w-])(?<!\d\.)\d+(?![\w-])", bare[:HEAD])
    for at, code in enumerate(question.rows, 1):
        named = known.code(str(at)) or known.exact.get(str(at), ())
        if str(at) in said and named and code not in named:
            return reading((*found.codes, code, *named), question)
    return found


def _read_confirmation(bare: str, question: Question) -> Reading:
    """A yes or a no to what was proposed, in any words; else only what names an option."""
    bald = tuple(Choice(choice.code, choice.label) for choice in question.choices)
    sense = read(bare, Question("", "", "", bald))
    picked = sense.kind == "pick"
    mode: Mode = "plain" if picked and YES in sense.codes else "strict"
    rest = bare if not picked else sense.comment or ""
    other = read(rest, replace(question, choices=(), confirms=None), mode) if rest else OWN
    if mode == "plain" and question.confirms:  # a yes, and another option beside it
        return OWN if {*other.codes} - {*question.confirms.codes} else sense
    return sense if picked and other.kind != "pick" else other


def _read_prefix(bare: str, question: Question, mode: Mode) -> Reading | None:
    """A prefix stands first, unless it is a code's; `#2` is a number in plain text."""
    coded = re.split(r"[\s,;]", bare)[0].casefold() in names_of(question).codes
    if asked := re.match(r"[qQ]\s*:", bare):
        return Reading("prefix", prefix="question", argument=bare[asked.end() :].strip())
    mark = next(filter(bare.startswith, _MARKS), "")
    if not mark or coded or (mode == "plain" and re.match(r"#\s*\d+(?!\w)", bare)):
        return None
    prefix, argument = _MARKS[mark], bare[len(mark) :].strip()
    if prefix in {"force", "add"}:
        argument = re.sub(r"\[\s*([^\[\]]+?)\s*\]", r"\1", argument)
    added = _read_added(argument, question, mode) if prefix == "add" else argument
    # A mark alone is half a thought: the question comes again.
    if added is None or (bare[1:2].isspace() and prefix in {"tag", "reference"}):
        return OWN
    return Reading("prefix", prefix=prefix, argument=added)


def _read_added(argument: str, question: Question, mode: Mode) -> str | None:
    """The codes that a `+` adds, also of levels above, or what is like some, to be refused."""
    offered = {c.code.lstrip(BACK): c for c in reversed(question.every)}  # the nearest level counts
    known = option_names(tuple(replace(c, code=code) for code, c in offered.items() if code))
    places = {str(n): c.code for n, c in enumerate(question.choices, 1)}
    numbered = re.sub(_PLACE, lambda found: places.get(found[1], found[0]), argument)
    for said in (argument, numbered)[: 1 + (mode == "plain")]:
        named = known.code(said) or known.label(said)
        if codes := named if len(named) == 1 else known.split(said):
            return " ".join(codes)
    parts = re.split(r"[+,&]", argument)
    is_alike = all(len(part.split()) < 2 for part in parts) or known.label(parts[0])
    return argument if is_alike or known.code(argument.split(maxsplit=1)[0]) else None


def _read_extra(bare: str, question: Question) -> Reading | None:
    """A letter alone is that extra, also with a colon or full stop; `A?` asks, unless that does."""
    said = bare.translate(_QUESTION_MARKS) if len(bare) < 8 else ""
    letter = re.fullmatch(r"\(?\s*(\S+?)\s*[:.)?]?", said.casefold())
    extra = next((e for e in question.extras if letter and e.letter.casefold() == letter[1]), None)
    if extra and said[-1] == "?" and not extra.shows:
        return Reading("prefix", prefix="question", argument=f"{said} ({extra.text})")
    shows: Prefix | None = "show" if extra and extra.shows else None
    return Reading("extra", matched=extra.text, extra=extra.letter, prefix=shows) if extra else None


def read_name(bare: str, question: Question, mode: Mode) -> Reading | None:
    """A code in any case, a whole label, or a beginning of one in whole words."""
    known = names_of(question)
    # A question mark that no option has wonders: `canary?`.
    if mode == "plain" and bare.endswith(("?", *"？؟")) and bare.casefold() not in known.exact:
        return None
    found = known.code(bare) or known.label(split_label(bare)[0])
    # A yes may be more than a code, where several labels begin with it.
    if found and mode == "plain" and trim(bare).casefold() in {"yes", "no"}:
        found = (*found, *known.beginning(words(bare)))
    several = known.split(bare) if question.multi and not found else ()
    return reading(found or several, question, together=bool(several)) if found or several else None


def _read_keyword(bare: str, question: Question) -> Reading | None:
    """The whole text is another tree's name, as it is or as headings write it, or a keyword."""
    said = bare[:HEAD].casefold()
    spellings = (said, trim(said), trim(said).lstrip("¶§").removeprefix("ask_"))
    tree = next((tree for one in spellings if (tree := question.keywords.get(one))), None)
    return Reading("tree", matched=tree, tree=tree) if tree else None


def read_above(bare: str, question: Question, *, whole: bool) -> Reading | None:
    """`back` and `<` lead one level up; what the levels above are called leads there."""
    if not whole and (bare == BACK or (question.above and words(bare) in _BACK)):
        return Reading("pick", (BACK,), "Back")
    if not question.above or len(bare) > HEAD:
        return None
    typed, levels = bare.lstrip(BACK), dict[int, list[Choice]]()
    for choice in question.above:
        levels.setdefault(len(choice.code) - len(choice.code.lstrip(BACK)), []).append(choice)
    for depth, level in sorted(levels.items()):
        bald = {c.code[depth:]: c for c in level if c.code != BACK}
        known = option_names(tuple(replace(c, code=code) for code, c in bald.items()))
        found = known.code(typed) or known.label(typed)
        if found := found or (() if whole else known.beginning(words(typed))):
            codes, labels = zip(*((bald[f].code, bald[f].label or f) for f in found), strict=True)
            return Reading("ambiguous" if codes[1:] else "pick", codes, ", ".join(labels))
    return None


def reading(
    codes: Words, question: Question, *, together: bool = False, comment: str | None = None
) -> Reading:
    """A pick of one option, or of several together; else the options that fit equally well."""
    chosen = {c.code: c.label or c.code for c in question.every if c.code in codes}
    opened = OTHER in codes and OTHER not in chosen
    if not chosen:
        return Reading("blank") if opened and not comment else OWN
    chosen |= {question.behind_other: "Other"} if opened and question.behind_other else {}
    codes, matched = tuple(chosen), ", ".join(chosen.values())
    if (len(codes) == 1 or (together and question.multi)) and (not opened or question.behind_other):
        return Reading("pick", codes, matched, comment)
    return Reading("ambiguous", codes, matched)


class Names:
    """The names that the options of one question go by."""

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        self.choices = choices
        # A lot of punctuation may stand around a name.
        self.longest = 300 + max((len(c.code) + len(c.label) for c in choices), default=0)
        whole = [(c.code.casefold(), c.code) for c in choices if c.code != MORE]
        last = [(name.rpartition("/")[2], code) for name, code in whole if "/" in name]
        self.codes: dict[str, list[str]] = {}
        for name, code in (*whole, *last):
            self.codes.setdefault(name, []).append(code)
        self.exact: dict[str, list[str]] = {}  # the labels as they are spelt, in any case
        for choice in choices:
            self.exact.setdefault(choice.label.strip().casefold(), []).append(choice.code)

    @cached_property
    def names(self) -> list[tuple[str, str, Words]]:
        """The code of each option, its label without what makes no difference, and its words."""
        return [(c.code, fold(trim(c.label)), words(c.label)) for c in self.choices]

    def code(self, text: str) -> Words:
        """The options with that code, in any case."""
        if len(text) > self.longest:
            return ()
        found = self.codes.get(text.strip().casefold()) or self.codes.get(trim(text).casefold(), [])
        return tuple(dict.fromkeys(found))

    def label(self, text: str) -> Words:
        """The options with that label, ignoring case, outer punctuation and dots at the end."""
        if len(text) > self.longest:
            return ()
        exact, folded = text.strip().casefold(), fold(trim(text))
        found = tuple(self.exact.get(exact, ()) if exact else ())
        found = found or tuple(code for code, name, _ in self.names if folded and name == folded)
        return found or self.match(words(text))

    def match(self, said: Words) -> Words:
        """The options whose label has just these words, however they are joined."""
        squashed = "".join(said)
        return tuple(code for code, _, e in self.names if squashed and "".join(e) == squashed)

    def beginning(self, said: Words) -> Words:
        """The options whose label begins with these whole words, two of them perhaps as one."""
        units = ("am", "pm", "%") if said and said[-1][0].isdigit() else ()  # `at 5`, of `At 5 pm`
        opened = [said, *((*said[:-1], said[-1] + unit) for unit in units)]
        begun = [c for c, _, label in self.names if label[: len(said)] in opened and said != label]
        begun += [c for c, _, label in self.names if label[2:] and said == (label[0] + label[1],)]
        return () if {"the", "a", "an", "i", "go"}.issuperset(said) else tuple(begun)  # too small

    def find_mistyped(self, text: str) -> Words:
        """The options whose whole label was meant, with a slip or two that is no other word."""
        folded = fold(trim(text[: self.longest]))
        known = {*words(folded)} & {word for _, _, label in self.names for word in label}
        typed = {code: slips(folded, name) for code, name, e in self.names if known <= {*e}}
        near = {code: n for code, n in typed.items() if folded and n and code != MORE}
        least = min(near.values(), default=0)
        return tuple(code for code, n in near.items() if n == least)

    def split(self, text: str) -> Words:
        """Several whole labels or codes joined by commas or "and", or by blanks in capitals."""
        joint = rf"{_JOINT}|\s+" if text.isupper() else _JOINT
        rest = fold(text).strip() if len(text) < self.longest * (len(self.names) + 1) else ""
        labels = sorted(((n, c) for c, n, _ in self.names if n), key=lambda pair: -len(pair[0]))
        codes = [(fold(code), found[0]) for code, found in self.codes.items() if len(found) == 1]
        found: list[str] = []
        while rest:
            for name, code in (*labels, *codes):
                end = re.match(joint, rest[len(name) :]) if rest.startswith(name) else None
                if end:
                    found.append(code)
                    rest = rest[len(name) + end.end() :]
                    break
            else:
                return ()
        return tuple(dict.fromkeys(found)) if len(found) > 1 else ()


option_names = lru_cache(maxsize=128)(Names)  # the last few are kept


def names_of(question: Question) -> Names:
    """The names of what a question offers."""
    return option_names((*question.choices, *question.named))


@lru_cache(maxsize=4096)
def _spell(word: str) -> str:
    """A word folded, and a number as it is mostly written: `5,000` and `5k` as `5000`."""
    word = fold(word).replace(" ", "") or "?"  # of a letter that is all accent nothing is left
    if word.isalpha() or word in _MONEY:
        return _MONEY.get(word, word)
    word = word.replace("percent", "%")
    if (word[0] == "0" and word[2:3] == ":") or (word[0] == "v" and "." in word):
        word = word[1:]
    if word[:-1].isdigit() and word[-1] == "k":
        word = word[:-1] + "000"
    return word.replace(",", "") if word[0].isdigit() and word[-4:-3] == "," else word


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """The text without case, accents, apostrophes and compatibility forms, its digits as ours."""
    if text.isascii():
        return text.casefold().translate(_APOSTROPHES)
    from unicodedata import combining, decimal, normalize  # noqa: PLC0415 - English needs none

    decomposed = normalize("NFKD", text.casefold())
    plain = "".join(str(decimal(c, c)) for c in decomposed if not combining(c) and c != "\ufe0f")
    return normalize("NFKC", plain).casefold().translate(_APOSTROPHES)


def trim(text: str) -> str:
    """The text without the punctuation around it, unless it is nothing else."""
    return re.sub(_EDGES, "", text) or text.strip()


def spans(text: str) -> list[Span]:
    """The words of a text, folded, with where they begin and end."""
    return [(_spell(m.group()), m.start(), m.end()) for m in re.finditer(_WORD, text)]


@lru_cache(maxsize=2048)
def words(text: str) -> tuple[str, ...]:
    """The words of a text, folded."""
    return tuple(_spell(m) for m in re.findall(_WORD, text))


def slips(typed: str, meant: str) -> int | None:
    """How many slips lie between what was typed and what may be meant; None when too many."""
    letters = sum(map(str.isalnum, meant))
    allowed = (letters >= 5) + (letters >= 9)
    near = abs(len(typed) - len(meant)) <= allowed > 0
    if not near or re.findall(r"\d+", typed) != re.findall(r"\d+", meant):
        return None
    from rapidfuzz.distance import OSA, Indel  # noqa: PLC0415 - only after exact matching has failed

    from quandary.reading.phrases import ALIKE, WORDS, cardinal  # noqa: PLC0415 - likewise

    distance = OSA.distance(typed, meant, score_cutoff=allowed)
    said, label = words(typed), words(meant)
    fresh, lost = [w for w in said if w not in label], [w for w in label if w not in said]
    # Another word is no slip: `two`, `not` and `thursday`, `anne` for `anna`, or `hanna`.
    opposes = any(w in WORDS.counted or w in ALIKE or bool(cardinal(w)) for w in fresh)
    for one, two in zip(fresh, lost, strict=True) if len(fresh) == len(lost) else ():
        small = max(len(one), len(two)) < 5 and sorted(one) != sorted(two)
        begun = one[0] in two[: 1 + (0 <= len(two) - len(one) < 2)]  # not `unmute` for `mute`
        opposes |= not begun or (small and not two.startswith(one) and Indel.distance(one, two) > 1)
    return None if distance > allowed or opposes or turns(said, label) else int(distance)


def turns(said: Words, label: Words) -> bool:
    """Whether words say the opposite of a label with a small one of them: `scale up`."""
    from quandary.reading.phrases import OPPOSED  # noqa: PLC0415 - likewise

    return any(({*label} - {*said}) & OPPOSED.get(word, frozenset()) for word in {*said} - {*label})
