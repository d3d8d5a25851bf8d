"""Words as people type them: folded, told from what stands around them, and their forms."""

from __future__ import annotations

import re
from functools import cache, lru_cache


def wordset(text: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(text.split())


def number_words(text: str) -> dict[str, int]:
    """The words of a list, numbered from 1."""
    return {word: number for number, word in enumerate(text.split(), 1)}


def wordings(text: str) -> frozenset[tuple[str, ...]]:
    """The phrases of a list that is written as one text, with commas."""
    return frozenset(tuple(phrase.split()) for phrase in text.split(",") if phrase.strip())


def opens(said: tuple[str, ...], known: frozenset[tuple[str, ...]]) -> bool:
    """Whether one of the phrases stands first among the words."""
    return any(said[: len(phrase)] == phrase for phrase in known)


def spellings(text: str) -> dict[str, str]:
    """The pairs of a list that is written as one text, with commas: short and long."""
    return {short: long for short, _, long in (pair.partition(" ") for pair in text.split(","))}


ARTICLES = wordset("the a an i")
_APOSTROPHES = str.maketrans("", "", "'’`´‘")
_MONEY = {"$": "dollar", "€": "euro", "£": "pound"}
_PLAIN_SIGNS = frozenset("$+<=>^`|~")
"""The signs among ASCII that are no punctuation."""


@cache
def _word() -> re.Pattern[str]:
    return re.compile(
        r"""
        [$€£](?:\d+(?:[.,]\d+)*)?                                   # money
        | \d{1,3}(?:,\d{3})+(?!\d)                                  # thousands
        | \d+(?:[.,]\d+)?(?=(?i:[kmgt]i?b|ms|px|mins?|hrs?|k[gm])(?!\w))  # a number before its unit
        | \d{1,2}(?::\d\d)?\ ?(?i:[ap]m)(?!\w)                      # a time of day
        | \d+(?:[.,]\d+)?\ ?(?i:%|percent(?!\w))
        | [vV]?\d+(?:[.:]\d+)+                                       # versions and times
        | [^\W_]+(?:['’`´][^\W_]+)*
        | [👍👎✅❌🚀]
        """,
        re.VERBOSE,
    )


@lru_cache(maxsize=4096)
def _spell(word: str) -> str:
    """A word folded, and a number as it is mostly written: `5,000` and `5k` as `5000`."""
    # Of a letter that is all accent nothing is left.
    word = fold(word).replace(" ", "") or "?"
    if word.isalpha() or word in _MONEY:
        return _MONEY.get(word, word)
    word = word.replace("percent", "%")
    if word[0] == "0" and word[2:3] == ":":
        word = word[1:]
    if word[:-1].isdigit() and word[-1] == "k":
        word = word[:-1] + "000"
    if word[0] == "v" and "." in word:
        word = word[1:]
    return word.replace(",", "") if word[0].isdigit() and word[-4:-3] == "," else word


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """The text without case, accents, apostrophes and compatibility forms."""
    if text.isascii():
        return text.casefold().translate(_APOSTROPHES)
    import unicodedata  # noqa: PLC0415 - a megabyte that English replies do without

    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in decomposed if not unicodedata.combining(c) and c != "\ufe0f")
    return unicodedata.normalize("NFKC", plain).casefold().translate(_APOSTROPHES)


def trim(text: str) -> str:
    """The text without the punctuation around it."""
    first, last = 0, len(text)
    while first < last and not _counts(text[first]):
        first += 1
    while last > first and not _counts(text[last - 1]):
        last -= 1
    return text[first:last]


def _counts(character: str) -> bool:
    if character.isalnum():
        return True
    if character.isascii():
        return character in _PLAIN_SIGNS
    from unicodedata import category  # noqa: PLC0415 - as above

    return category(character)[0] not in "PZC"


def spans(text: str) -> list[tuple[str, int, int]]:
    """The words of a text, folded, with where they begin and end."""
    return [(_spell(m.group()), m.start(), m.end()) for m in _word().finditer(text)]


@lru_cache(maxsize=2048)
def words(text: str) -> tuple[str, ...]:
    """The words of a text, folded."""
    return tuple(_spell(m) for m in _word().findall(text))


_SAME = {
    word: str(number)
    for word, number in number_words("one two three four five six seven eight nine ten").items()
    if number > 1
} | dict.fromkeys(("another", "others", "different"), "other")
_SAME |= {"daily": "day", "nightly": "night", "hourly": "hour", "weekly": "week"}
_SAME |= {"monthly": "month", "yearly": "year", "min": "minut", "mins": "minut", "hrs": "hour"}
_SAME |= {
    name: name[:3]
    for name in wordset(
        "monday tuesday tues wednesday thursday thurs thur friday saturday sunday january february "
        "march april june july august september sept october november december"
    )
}
"""Words that say the same as a shorter one."""
_IRREGULAR = {
    form: verb
    for verb, *forms in map(
        str.split,
        (
            *("keep kept", "leave left", "send sent", "build built", "run ran", "make made"),
            *("take took taken", "write wrote written", "give gave given", "hold held"),
            *("buy bought", "break broke broken", "go goes went gone", "sell sold", "pay paid"),
            *("find found", "fly flew flown flies", "drive drove driven"),
            *("choose chose chosen", "lose lost", "begin began begun", "throw threw thrown"),
            *("draw drew drawn", "grow grew grown", "show showed shown", "bring brought"),
            *("catch caught", "rebuild rebuilt", "spend spent", "rewrite rewrote rewritten"),
            *("hide hid hidden", "freeze froze frozen", "wake woke woken", "undo undid undone"),
            *("redo redid redone", "withdraw withdrew withdrawn"),
        ),
    )
    for form in forms
}
_INFLECTIONS = ("ings", "ing", "ied", "ies", "ed", "es", "s")
_DERIVATIONS = (
    *("ations", "ation", "ments", "ment", "ably", "able", "ally", "ions", "ion", "ors", "ers"),
    *("est", "ly", "al", "er", "or", "ate", "ity", "ive"),
)
_LOOKALIKES = {
    "s": ("ss", "us", "is"),
    "ed": ("eed",),
    "ing": ("thing",),
    "est": ("uest", "test", "rest", "nest"),
}
"""Word endings that are no inflection."""
NTH = frozenset(("st", "nd", "rd", "th"))
_VOWELS = frozenset("aeiouy")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """What the forms of a word have in common: `approving`, `approval` and `approve` alike."""
    word = _SAME.get(word) or _IRREGULAR.get(word, word)
    if word[:1].isdigit() and word[-2:] in NTH:
        return word[:-2]
    if len(word) <= 3 or not word.isalpha():
        return word
    if word.endswith(("nsion", "nsions")):  # of a verb: `extension`, `suspension`
        word = word[: word.rindex("nsion")] + "nd"
    word = _without(_without(word, _INFLECTIONS, 3), _DERIVATIONS, 4)
    if word.endswith("at") and len(word) > 6:
        word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in _VOWELS:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


@lru_cache(maxsize=8192)
def root(word: str) -> str:
    """What the forms of a verb have in common: `argues` and `arguing`, not `argument`."""
    word = _without(_IRREGULAR.get(word, word), _INFLECTIONS, 3)
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _without(word: str, endings: tuple[str, ...], least: int) -> str:
    for ending in endings:
        if not word.endswith(ending) or len(word) - len(ending) < least:
            continue
        if word.endswith(_LOOKALIKES.get(ending, ())):
            continue
        rest = word[: -len(ending)]
        if ending == "es" and not rest.endswith(("s", "x", "z", "ch", "sh", "o")):
            return word[:-1]
        if not _VOWELS.isdisjoint(rest):
            return rest + "y" if ending in {"ied", "ies"} else rest
    return word


def denial(token: str, word: str) -> str:
    """The same said with a "not", marked with `!`, or without it: `unlimited`, `limitless`."""
    if token.startswith("!"):
        return "un" + token[1:]
    if word.endswith("less") and len(word) > 6:
        return "!" + stem(word[:-4])
    return "!" + stem(word[2:]) if word.startswith("un") and len(word) > 5 else ""


_OPPOSITES = frozenset(("",)) | wordset(
    "un in im il ir ex de dis non re en up down on off out over under pre post inter intra sub "
    "anti mis"
)


def slips(typed: str, meant: str, least: int = 0) -> int | None:
    """How many slips lie between what was typed and what may be meant; None when too many.

    One is forgiven from 5 letters and two from 9; however short, at `least` so many. Other digits
    are no slip, nor is a prefix that makes a word its opposite.
    """
    letters = sum(map(str.isalnum, meant))
    allowed = max(least, (letters >= 5) + (letters >= 9))
    if not allowed or abs(len(typed) - len(meant)) > allowed:
        return None
    if re.findall(r"\d+", typed) != re.findall(r"\d+", meant):
        return None
    from rapidfuzz.distance import OSA, Postfix  # noqa: PLC0415 - only after exact matching has failed

    distance = OSA.distance(typed, meant, score_cutoff=allowed)
    if distance > allowed or (
        distance and _opposes(typed, meant, Postfix.similarity(typed, meant))
    ):
        return None
    return int(distance)


def _opposes(one: str, two: str, shared: int) -> bool:
    """Whether two words that end in the same letters, so many, begin with other prefixes."""
    pairs = ((one[: len(one) - n], two[: len(two) - n]) for n in (shared, shared - 1))
    return shared > 2 and any(a != b and {a, b} <= _OPPOSITES for a, b in pairs)


def _skips(typed: str, meant: str) -> bool:
    """Whether the letters stand in a word in that order: `fwd`, `cfg`, `mgmt`."""
    letters = iter(meant)
    last = next((letter for letter in reversed(meant) if letter not in _VOWELS), "")
    return typed[-1] == last and all(letter in letters for letter in typed)


def resembles(typed: str, meant: str) -> bool:
    """A word typed with a slip, or cut short, such as `genric`, `prod`, `fwd` or `postgers`."""
    if typed == meant:
        return True
    if typed.isdigit() or meant.isdigit() or len(typed) < 3 or typed[0] not in meant[:2]:
        return False
    if _VOWELS.isdisjoint(typed):
        return typed[0] == meant[0] and typed.isalpha() and _skips(typed, meant)
    return len(typed) > 3 and (_shortens(typed, meant) or _has_slip(typed, meant))


def _shortens(typed: str, meant: str) -> bool:
    """Whether only the beginning of a word was typed: `prod`, `deps`."""
    if meant.startswith(typed):
        return len(meant) - len(typed) > 2 or len(typed) > 4
    plural = typed.endswith("s") and meant.startswith(typed[:-1])
    return plural and len(meant) - len(typed) > 3


def _has_slip(typed: str, meant: str) -> bool:
    """Whether a word, or the beginning of a long one, was typed with a slip."""
    if slips(typed, meant) is not None:
        return True
    return len(typed) >= 7 and typed[:3] == meant[:3] and slips(typed, meant[: len(typed)]) == 1
