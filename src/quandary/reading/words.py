"""Words as people type them: folded, told from what stands around them, and their forms."""

from __future__ import annotations

import re
from functools import cache, lru_cache

Span = tuple[str, int, int]
ARTICLES = frozenset(("the", "a", "an", "i"))
_APOSTROPHES = str.maketrans("", "", "'’`´‘")
_MONEY = {"$": "dollar", "€": "euro", "£": "pound"}
_EDGES = r"\A(?:[^\w$+<=>^`|~]|_)+|(?:[^\w$+<=>^`|~]|_)+\Z"


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
    """The text without the punctuation around it, unless it is nothing else."""
    return re.sub(_EDGES, "", text) or text.strip()


def spans(text: str) -> list[Span]:
    """The words of a text, folded, with where they begin and end."""
    return [(_spell(m.group()), m.start(), m.end()) for m in _word().finditer(text)]


@lru_cache(maxsize=2048)
def words(text: str) -> tuple[str, ...]:
    """The words of a text, folded."""
    return tuple(_spell(m) for m in _word().findall(text))


_OPPOSITES = (
    r"(?:un|in|im|il|ir|ex|de|dis|non|re|en|up|down|on|off|out|over|under|pre|post|inter|intra|sub"
    r"|anti|mis)?"
)


def slips(typed: str, meant: str) -> int | None:
    """How many slips lie between what was typed and what may be meant; None when too many.

    One is forgiven from 5 letters and two from 9. Other digits are no slip, nor is a prefix that
    makes a word its opposite.
    """
    letters = sum(map(str.isalnum, meant))
    allowed = (letters >= 5) + (letters >= 9)
    near = abs(len(typed) - len(meant)) <= allowed > 0
    if not near or re.findall(r"\d+", typed) != re.findall(r"\d+", meant):
        return None
    from rapidfuzz.distance import OSA, Postfix  # noqa: PLC0415 - only after exact matching has failed

    distance = OSA.distance(typed, meant, score_cutoff=allowed)
    opposes = distance and _opposes(typed, meant, Postfix.similarity(typed, meant))
    return None if distance > allowed or opposes else int(distance)


def _opposes(one: str, two: str, shared: int) -> bool:
    """Whether two words that end in the same letters, so many, begin with other prefixes."""
    pairs = ((one[: len(one) - n], two[: len(two) - n]) for n in (shared, shared - 1))
    unlike = [f"{a} {b}" for a, b in pairs if shared > 2 and a != b]
    return any(re.fullmatch(f"{_OPPOSITES} {_OPPOSITES}", pair) for pair in unlike)
