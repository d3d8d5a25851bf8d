"""One-way doors: what cannot be taken back is known by its words, whatever the question is called.

The net is wide on purpose: a false alarm costs one more question, and a miss lets a preference
decide what nobody can undo. It has four kinds of mesh: words that say it by themselves (`delete`),
deeds that say it of certain things (`rotate` a key, not the logs), phrases (`take it offline`), and
commands of a shell. What is not known is never harmless: an order whose verb is none of those that
coding is made of (“evict the tenant”), a command line that does more than look or build, other
letters than Latin ones, and signs that are not text.

The words themselves are in `one_way.toml` beside this file.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import takewhile

_LONGEST = 100_000
"""As much of a text as is looked at; nobody reads a longer one before saying yes to it."""
_WORD = r"(?<![\w-])--?[a-z][a-z-]*|[a-z0-9]+(?:'[a-z]+)?|[^\W\d_]+|[.,;:!?\n]"
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])"
_SIGNS = frozenset(".,;:!?\n")
_TURNING = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))
_ADJECTIVES = ("able", "ible", "ed", "ent", "ant", "ar", "al", "ic", "ive", "ly", "ful", "less")
_REST = frozenset(("to", "into", "with", "from", "at", "by", "as"))
_APART = 6  # how many words may stand between a deed and what it is done to
_BEFORE = 4  # the same where the thing comes first: “the key should be rotated”
_AROUND = 80  # so many characters hold that many words
_LINE = r"\s*([a-z][a-z0-9._-]*)\s+(?:\S+\s+){0,6}?(?:-{1,2}[A-Za-z]|\S*[/=:@*]\S|\d+\s*$)"
"""What looks like a line for a shell: a small word, and flags, paths or values behind it."""

_RAW = (
    r"\bcheckout\s+(?:--|\.|-f)|\b(?:branch|checkout|switch)\s+(?:\S+\s+){0,3}-[fBCM]\b"
    r"|\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|>\s*/(?:etc|dev|proc|sys|boot|usr)"
    r"|>\s*\S*\.ssh/|\bpush\s+\S+\s+[:+]\S|^\s*>\s*[/~]\S|(?:^|\s):\s*>\s*\S"
    r"|(?i:\s-i\S*\s.*\s/(?:etc|boot|usr|root)/)"
    r"|(?i:\b(?:edit|chang|modif|writ|append|replac|add|updat)\w*\s.{0,60}(?<!\S)/(?:etc|boot|usr|root)/)"
)
"""What signs of a shell do."""
_ORDER = r"\s*[A-Za-z]+ [a-z]"
"""How an order begins, and hardly a name: “Plead guilty”, but not “Spring Boot”."""
_IDENTIFIER = r"[\"'`]?[A-Za-z]+(?:_[a-z]+|[A-Z][a-z]+)+(?:\(\))?[\"'`]?"
_NAMED = (
    r"\s*(?i:(?:add|write|name|rename|document|annotate|explain|describe|refactor|extract|inline)\s"
    r"(?:(?:(?:an?|the|this|some|more|new|unit|type|return|private)\s){0,3}"
    r"(?:function|method|class|variable|constant|parameter|argument|helper|hints?|docstrings?|tests?)"
    rf"\s(?:(?:for|to|of|on|called|named)\s)?)?){_IDENTIFIER}"
    rf"(?:\s(?:to|into|as)\s{_IDENTIFIER})?\s*[?.]?\s*$"
    r"|\s*(?i:label|title|name|word)\sthe\s(?:button|link|menu|item|heading|page|column|field|tab)\s"
    r"(?:as\s)?[\"“'`][^\"”'`\n]{1,40}[\"”'`]\s*$"
)
"""A text that ends in the name of a piece of code, and that only writes about it."""
_ASKED = (
    r"(?i:\s*(?:explain|describe|show|show me|tell me|list|print|count|preview)\s"
    r"(?:what|which|how|why|when|where|whether)\s(?!.*\b(?:and|then|to)\b)[^.,;:!?\n]*[?.]?\s*$)"
)
"""A text that only wants to know something."""
_TURNED = (
    r"\b(?:turn|switch|shut|power|cut)(?:s|t?ed|t?ing)? "
    r"((?:(?!(?:in)?to )[a-z'0-9]+ ){0,4}?)(on|off)\b"
)
"""What is turned on or off reads as enabled or disabled, whatever stands between."""
_MONEY_SIGN = r"[$€£¥₿]\s?\d|\d\s?[€£¥₿]"


_compile = cache(re.compile)  # when it is needed: a hook that decides nothing starts without it
_ENTRY = r"(?ms)^(?:\[+(\w+)\]+|(\w+) = (?:'''\n(.*?)'''|\"([^\"\n]*)\"|true))$"


@cache
def read_lists() -> dict[str, list[dict[str, str]]]:
    """The tables of `one_way.toml`, where each list says what it is for. A reader of all that TOML
    can say takes longer than everything that is done with it here.
    """
    tables: dict[str, list[dict[str, str]]] = {}
    name = ""
    with open(os.path.join(os.path.dirname(__file__), "one_way.toml"), encoding="utf-8") as file:
        for table, key, lines, line in _compile(_ENTRY).findall(file.read()):
            name = table or name
            if table:
                tables.setdefault(name, []).append({})
            else:
                tables[name][-1][key] = lines or line
    return tables


_ENDINGS = ("s", "es", "d", "ed", "ing", "r", "rs", "er", "ers")
_DOUBLED = ("ed", "ing", "er")
_KEPT = 4096  # words of texts that are remembered


@cache
def spell(word: str) -> frozenset[str]:
    """A word with its endings: those of a verb for a star, those of a noun for a plus."""
    stem = word.rstrip("*+")
    found = {stem}
    if word.endswith("*"):
        found |= {stem + ending for ending in _ENDINGS}
        found |= {stem + stem[-1] + ending for ending in _DOUBLED}
        found |= {stem[:-1] + "ing"} if stem.endswith("e") else set()
    elif word.endswith("+"):
        found |= {stem + ending for ending in ("s", "es", "'s")}
    return frozenset(found | ({stem[:-1] + "ies", stem[:-1] + "ied"} if stem[-1] == "y" else set()))


@lru_cache(_KEPT)
def _stems(word: str) -> set[str]:
    """Whatever a word may be a form of, and more."""
    cut = {word.removesuffix(ending) for ending in (*_ENDINGS, "'s")}
    return cut | {stem[:-1] for stem in cut} | {f"{word[:-3]}e", f"{word[:-3]}y"}


class Forms:
    """Words in all their forms. A text has few words and a list has many, so none is spelt out."""

    def __init__(self, listed: str, mark: str = "", but: Iterable[str] = ()) -> None:
        self._words: dict[str, list[str]] = {}
        for word in listed.split():
            self._words.setdefault(word.rstrip("*+"), []).append(word + mark)
        self._but = frozenset(but)
        self._known: dict[str, bool] = {}

    def __contains__(self, word: str) -> bool:
        if word not in self._known:
            listed = (one for stem in _stems(word) for one in self._words.get(stem, ()))
            found = any(word in spell(one) for one in listed) and word not in self._but
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[word] = found
        return self._known[word]

    def any_of(self, words: Iterable[str]) -> bool:
        """Whether one of some words is among them."""
        return any(word in self for word in words)


@cache
def _words(name: str, mark: str = "") -> Forms:
    return Forms(read_lists()["words"][0][name], mark)


@cache
def _verbs() -> dict[str, list[tuple[int, str]]]:
    """The verbs by their stems, each with the deed that it belongs to."""
    found: dict[str, list[tuple[int, str]]] = {}
    for number, deed in enumerate(read_lists()["deeds"]):
        for verb in deed["verbs"].split():
            found.setdefault(verb.strip("^*+"), []).append((number, verb))
    return found


@lru_cache(_KEPT)
def _deeds(word: str) -> list[tuple[int, bool]]:
    """The deeds that a word is a verb of, and whether it has to begin."""
    known = (one for stem in _stems(word) for one in _verbs().get(stem, ()))
    return sorted((n, verb[0] == "^") for n, verb in known if word in spell(verb.lstrip("^")))


@cache
def _things(listed: str, *but: str) -> Forms:
    """What a deed must not be done to; `@` names a whole list."""
    known = read_lists()["things"][0]
    return Forms(re.sub(r"@(\w+)", lambda found: known[found[1]], listed), "+", but)


_FIRST = r"(?:\(\?<![a-z ]+\))?(?:\(\?:([a-z0-9 |'-]+)\)(?![?*{])|([a-z0-9' -]+)(?![?*{|]))"
"""How a line begins that has to begin with certain words."""


@cache
def lines_of(name: str) -> tuple[list[str], dict[str, list[tuple[str, int]]]]:
    """The lines of a pattern, and by two letters the texts of which each line needs one."""
    lines = re.sub(r"\\\n\s*", "", read_lists()["patterns"][0][name].strip()).split("\n")
    needed: dict[str, list[tuple[str, int]]] = {}
    for number, line in enumerate(lines):
        first = _compile(_FIRST).match(line)
        for one in (first[1] or first[2]).split("|") if first else [""]:
            needed.setdefault(one[:2] if len(one) > 1 else "", []).append((one, number))
    return lines, needed


@lru_cache(8)
def _begin(text: str) -> set[str]:
    """With which two letters the words of a text begin."""
    return {"", *_compile(r"(?<![\w'])(?=(..))").findall(text)}


def find_lines(name: str, text: str) -> list[str]:
    """Those that may be in a text. To compile all of them would take longer than all the rest."""
    lines, needed = lines_of(name)
    found = {n for two in _begin(text) for one, n in needed.get(two, ()) if one in text}
    return [lines[number] for number in sorted(found)]


def search_lines(name: str, text: str) -> re.Match[str] | None:
    """The first place where one of the lines stands as whole words."""
    found = (_whole(line).search(text) for line in find_lines(name, text))
    return min(filter(None, found), key=lambda match: match.start(), default=None)


@lru_cache(1024)
def _whole(line: str, beyond: str = r"\w") -> re.Pattern[str]:
    """A pattern of whole words, with nothing of what is `beyond` right behind them."""
    return re.compile(rf"(?<![\w'])(?:{line})(?!{beyond})")


def _replace(name: str, new: str | Callable[[re.Match[str]], str], text: str, beyond: str) -> str:
    """A text with something else in every place where one of the lines stands."""
    lines = find_lines(name, text)
    return _whole("|".join(lines), beyond).sub(new, text) if lines else text


def one_way(*texts: str) -> str:
    """The words that say that something cannot be taken back; nothing where there are none."""
    return next((found for text in texts if (found := _judge(text))), "")


@lru_cache(512)
def find_final(text: str) -> str:
    """The words after which something is gone, paid or public, to warn by; fewer than the net."""
    if not _judge(text):
        return ""
    words = _excuse(_plain(_fold(text[:_LONGEST]).replace("_", " ").casefold())).split()
    for at, word in enumerate(words):
        denied = _words("denied").any_of(words[max(at - _BEFORE, 0) : at])
        behind = words[at + 1 : at + _BEFORE + 1]
        small = _words("small").any_of(behind[:3]) and not _words("large").any_of(behind)
        if word in _words("final") and not denied and not small:
            return word
    phrase = search_lines("final", " ".join(word for word in words if word not in _SIGNS))
    return phrase[0] if phrase else ""


@lru_cache(512)
def find_known(text: str) -> str:
    """The words that say it, but for orders that merely are not known; for who reads it anyway."""
    if found := _strange(text) or _command(text):
        return found
    caught = (words for words in _readings(text) if _caught(words, orders=False))
    return next(filter(None, (_caught(_excuse(words), orders=False) for words in caught)), "")


@lru_cache(64)
def one_way_command(*lines: str) -> str:
    """The same of lines for a shell, whose first word is a program and no order to anybody."""
    for line in lines:
        if len(line) > _LONGEST:
            return "a command too long to be judged"
        found = _strange(line) or _command(line)
        for words in () if found else _readings(line):
            found = found or _caught(words, orders=False)
        if found:
            return found
    return ""


@lru_cache(512)
def _judge(text: str) -> str:
    if len(text) > _LONGEST:
        return "a text too long to be judged"
    if found := _strange(text) or _command(text):
        return found
    found = ""
    if _compile(_ORDER).match(text):
        found = _unheard(_plain(text.casefold()).split())
    for words in _readings(text):
        # Idioms are looked for only where there is something to be excused.
        found = found or (_caught(words) and _caught(_excuse(words)))
    excused = found and (_compile(_NAMED).match(text) or _compile(_ASKED).match(text))
    return "" if excused else found


def _command(text: str) -> str:
    """A line for a shell that does more than look or build."""
    line = _compile(_LINE).match(text)
    if line and line[1] not in _words("looks") and line[1] not in _words("known"):
        return f"a command of {line[1]}"
    raw = _compile(_RAW).search(text)
    return raw[0] if raw else ""


@cache
def _letter(sign: str) -> str:
    """What a sign looks like, where it is a form of a Latin letter; itself otherwise."""
    found = re.search(r"\bLETTER (?:.* )?([A-Z])(?: WITH .*)?$", unicodedata.name(sign, ""))
    return found[1].lower() if found and "LATIN" in unicodedata.name(sign) else sign


def _fold(text: str) -> str:
    """A text without accents, invisible signs, and other shapes of Latin letters."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text.replace("’", "'").replace("ß", "ss"))
    kept = (c for c in text if unicodedata.category(c) not in ("Cf", "Mn", "Me"))
    return "".join(c if c.isascii() else _letter(c) for c in kept)


FOREIGN = "letters other than Latin ones"
"""What is said of a text that only readers of another script can judge."""


def _strange(text: str) -> str:
    """What cannot be read for certain: letters of other scripts, and what is no text at all."""
    if text.isascii() and text.isprintable():
        return ""
    if any(unicodedata.bidirectional(c) in _TURNING for c in text):
        return "signs that turn text around"
    for sign in _fold(text):
        kind = unicodedata.category(sign)
        if kind in ("Co", "Cn", "Cs") or (kind == "Cc" and sign not in "\t\n\r\f"):
            return "signs that are no text"
        if kind in ("Lo", "Lm", "Lu", "Ll", "Lt") and "LATIN" not in unicodedata.name(sign, ""):
            return FOREIGN
    return ""


_SPELT = r"\b[a-z](?:[^\w\n]{1,2}[a-z]\b){3,}"
_SPLIT = r"(?<![a-z])[a-z]+(?:[^\s\w,;:!?/'\"()]|_)[a-z]+(?:(?:[^\s\w,;:!?/'\"()]|_)[a-z]+)*"
_LEET = str.maketrans("013457@$", "oieastas")
_MIXED = r"[a-z0-9@$]+"
_COMPOUND = r"((?:^|[.,;:!?]|\b(?:and|then|please|i|we|to))\s*)[a-z]+-(?=[a-z]+ )"
"""Before the verb of an order, where both are one word: “re-key the module”."""


def _readings(text: str) -> list[str]:
    """A text as words with single spaces: before and after camelCase and snake_case are split.
    Letters with gaps between them, and figures in the place of letters, are read together too.
    """
    text = _compile(_MONEY_SIGN).sub(" money 1", _fold(text))
    small = text.casefold()
    spelt = [re.sub(r"[^a-z]", "", found) for found in _compile(_SPELT).findall(small)]
    spelt += [re.sub(r"[^a-z]", "", found) for found in _compile(_SPLIT).findall(small)]
    spelt += [
        found.translate(_LEET) for found in _compile(_MIXED).findall(small) if not found.isalpha()
    ]
    spelt = [word for word in spelt if word in _words("alone")]
    parted = _compile(_CAMEL).sub(" ", text.replace("_", " ")).casefold()
    found = [_plain(parted)]
    if parted != small:
        found.append(_plain(small))
    if (bare := _compile(_COMPOUND).sub(r"\1", small)) != small:
        found.append(_plain(bare))
    return [*found, *spelt]


def _plain(text: str) -> str:
    words = " ".join(_compile(_WORD).findall(text))
    words = _compile(_TURNED).sub(
        lambda found: f"{'enable' if found[2] == 'on' else 'disable'} {found[1]}".strip(), words
    )
    return _replace("joined", _join, words, r"\w")


def _join(found: re.Match[str]) -> str:
    joined = found[0].replace(" ", "")
    return "allusers" if joined.endswith(("user", "users")) else joined


def _excuse(words: str) -> str:
    """The words without idioms, and without names that stand near no deed that carries them."""
    words = " ".join(_replace("idioms", " ", words, r"[\w']").split(" "))
    carrying = _words("carries")

    def excuse(found: re.Match[str]) -> str:
        before = words[max(found.start() - _AROUND, 0) : found.start()].split()[-_BEFORE:]
        behind = words[found.end() : found.end() + _AROUND].split()[:_BEFORE]
        return found[0] if carrying.any_of((*before, *behind)) else " code "

    return _replace("names", excuse, words, r"[\w']")


def _caught(words: str, *, orders: bool = True) -> str:
    """What gives it away: a word, a command, a phrase, or a deed and what it is done to."""
    listed = words.split()
    alone = next((word for word in listed if word in _words("alone")), "")
    if alone or (found := _tool(listed) or _pair(listed) or (orders and _order(listed)) or ""):
        return alone or found
    bare = " ".join(word for word in listed if word not in _SIGNS or word == ":")
    for name in ("shell", "phrases"):
        if phrase := search_lines(name, bare):
            return phrase[0].strip()
    return ""


def _tool(words: list[str]) -> str:
    """A program for machines and stores that is told to change something."""
    for at, word in enumerate(words):
        if word in _words("tools"):
            more = _words("rules") if word in _words("clouds") else ()
            behind = words[at + 1 : at + 5]
            told = next((w for w in behind if w in _words("mutating") or w in more), "")
            if told and not (word in ("docker", "compose") and told == "up"):
                return f"{word} … {told}"
    return ""


def _order(words: list[str]) -> str:
    """An order whose verb is not known, or that is about nothing that code is made of."""
    for at, word in enumerate(words[:-1]):
        before = words[at - 1] if at else "."
        asked = before == "to" and words[at - 2] in ("me", "us")
        begins = before in _SIGNS or before in _words("ordered") or asked
        if not begins or not word.isalpha():
            continue
        behind = words[at + 1 : at + 8]
        if len(behind) > 1 and behind[0] in _words("particles"):
            behind = behind[1:]
        ordered = behind[0] in _words("objects") or behind[0].endswith("'s")
        unknown = word not in _words("known", "*")
        outward = word in _words("outward") and not any(map(_of_code, behind[:6]))
        if outward or (unknown and (ordered or _turned(word, behind))):
            return f"{word} {words[at + 1]}"
        acts = unknown or word in _words("two_faced") or word in _words("plain")
        if (acts and _worldly(behind)) or (word in _words("gives") and _person(behind)):
            return " ".join(words[at : at + 3])
        about = behind[1:] if ordered else behind
        direct = word in _words("two_faced") and ordered and behind[0] not in ("it", "them", "this")
        aimed = behind[1:] if behind[0] in ("to", "for", "into", "from") else behind
        aimed = (
            aimed[1:] if aimed and aimed is not behind and aimed[0] in _words("objects") else aimed
        )
        bare = word in _words("plain") and not ordered and before != "," and _unfamiliar(aimed)
        if direct:  # what it is done to ends where the rest begins: “switch all shops to the theme”
            about = list(takewhile(lambda word: word not in _REST, about))
        if about and (direct or bare) and not any(map(_of_code, about[:6])):
            return " ".join(words[at : at + 3])
    return ""


def _unheard(words: list[str]) -> str:
    """Words of which the first is not known, and none is of code: “plead guilty”."""
    noun = len(words) == 2 and words[1].endswith(("s", "ing"))  # “infinite scrolling”
    if (
        noun
        or words[0].endswith(_ADJECTIVES)
        or not (_unfamiliar(words) and _unfamiliar(words[1:]))
    ):
        return ""
    return "" if any(map(_of_code, words[:7])) else " ".join(words[:2])


def _worldly(behind: list[str]) -> str:
    """What no code is made of, such as people and their money, and no name of a piece of code."""
    things = _things("@worldly @outsiders")
    return next(
        (
            word
            for word, follows in zip(behind, [*behind[1:], ""], strict=True)
            if word in things and follows not in _words("labels") and not _of_code(follows)
        ),
        "",
    )


def _person(behind: list[str]) -> bool:
    """Whether somebody is named, and behind the name what is given: “offer Kim the job”."""
    name, *given = behind
    known = name in _words("known", "*") or name.endswith("s") or _of_code(name)
    return not known and name.isalpha() and bool(given) and given[0] in _words("objects")


def _turned(word: str, behind: list[str]) -> bool:
    """Whether a word that may be a verb turns to people: “apologise to the customer”."""
    people = _things("@people", "public", "external", "outside", "list")
    return (
        behind[0] in ("to", "with", "against")
        and not word.endswith(_ADJECTIVES)
        and not _of_code(word)
        and bool(_thing(behind, 1, min(4, len(behind)), people))
    )


def _unfamiliar(behind: list[str]) -> bool:
    return bool(behind) and behind[0].isalpha() and behind[0] not in _words("known", "*")


def _of_code(word: str) -> bool:
    return word in _words("code", "+") or word.endswith(("error", "exception"))


def _pair(words: list[str]) -> str:
    """A deed and, within a few words, what it must not be done to unasked."""
    nearby = _words("nearby").any_of(words)
    for at, word in enumerate(words):
        for number, begins in _deeds(word):
            deed = read_lists()["deeds"][number]
            if (begins and not _begins(words, at)) or (nearby and "near" in deed):
                continue
            things = _things(deed["things"])
            behind = _thing(words, at + 1, min(at + 1 + _APART, len(words)), things)
            before = "" if begins else _thing(words, max(at - _BEFORE, 0), at, things)
            if behind or before:
                return f"{word} … {behind}" if behind else f"{before} … {word}"
    return ""


def _begins(words: list[str], at: int) -> bool:
    """Whether a verb stands here, and not a noun: behind “to”, or behind whoever is to do it."""
    before = words[at - 1] if at else "."
    if before in _words("begins") or before in _SIGNS:
        return True
    asked = at > 2 and words[at - 3] in _words("modal") and words[at - 2] in _words("objects")
    done = words[at + 1] if at + 1 < len(words) else ""
    return asked and not _of_code(before) and done in _words("objects")


def _thing(words: list[str], first: int, end: int, things: Forms) -> str:
    """The first such thing between two places, unless something small comes sooner."""
    for at in range(first, end):
        follows = words[at + 1] if at + 1 < len(words) else ""
        if words[at] in things and follows not in _words("labels"):
            return words[at]
        if words[at] in _words("small"):
            break
    return ""
