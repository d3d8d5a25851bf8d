"""One-way doors: what cannot be taken back is known by its words, whatever the question is called.

The net is wide on purpose: a false alarm costs one more question, and a miss lets a preference
decide what nobody can undo. It has two kinds of mesh: words that say it by themselves (`delete`,
`force-push`), and words that say it of certain things (`rotate` a key, not the logs; `deploy` to
production, not to staging).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_LONGEST = 100_000
"""As much of a text as is looked at; nobody reads a longer one before saying yes to it."""
_TOKEN = re.compile(r"(?<![\w-])--?[a-z][a-z-]*|[a-z0-9]+(?:'[a-z]+)?|[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_APART = 6
"""How many words may stand between a deed and what it is done to."""
_BEFORE = 4
"""The same where the thing comes first: “the key should be rotated”."""

_ALONE = """
    delete* deletion* destroy* destruction destructive erase* erasing erasure wipe* wiping purge*
    purging truncate* truncating truncation obliterate* nuke* nuking shred* annihilate* eradicate*
    irreversible irreversibly irrevocable irrevocably permanent permanently unrecoverable
    overwrite* overwriting overwrote overwritten clobber* discard* publish* unpublish* republish*
    yank* buy* bought purchase* purchasing pay pays paid paying prepay* repay* refund* rmdir mkfs
    dropdb truncatedb deltree rmtree unlink* decommission* deprovision* drop* terminate* terminating
    termination revoke* revoking revocation foreclose* liquidate* donate* bribe*
    loschen geloscht supprimer borrar eliminar
"""
"""Words that say it by themselves; a star stands for the usual endings."""

_PHRASES = r"""
    (?:delete|destroy|purge|truncate|overwrite)\w*
    force (?:-|with )?push\w*
    --force\S*
    push\w* (?:\S+ ){0,4}(?:-f|(?:by|with) force)
    rm (?:-\S+ )*-\w*[rf]\w*
    (?:hard|factory) reset
    reset\w* (?:\S+ ){0,3}--hard
    git clean
    checkout --
    filter (?:branch|repo)
    (?:can ?not|can't|never) (?:be )?(?:undone|undo|reversed|restored|recovered|revert\w*)
    (?:no|without) (?:way back|undo|backup|return)
    point of no return
    get rid of
    (?:throw|blow)\w* (?:\S+ ){0,4}away
    go(?:es|ing)? live
    (?:went|gone) live
    (?:make|making|made|turn\w*|set) (?:\S+ ){0,5}public
    open source (?:it|this|the|our)
    chmod 777
    wir(?:e|es|ed|ing) (?:\S+ )?\d+
"""
"""Several words that say it together."""

_SECRETS = """secret key token password passphrase credential certificate cert pat apikey
    login cookie session permission access passcode pin keypair mfa 2fa otp"""
_HOLDINGS = """database db databases schema table column index collection keyspace partition bucket
    volume disk snapshot backup record row data dataset cluster server instance node vm machine
    environment env namespace stack branch tag repo repository history commit stash worktree
    user allusers account customer tenant member org organization organisation team workspace
    file folder directory dir everything all queue topic stream index log production prod live
    migration state dns domain zone infrastructure infra deployment pod container image release
    package version mailbox message email contact invoice order"""
_PRODUCTION = "production prod live prd"

_PUBLIC = "customer subscriber everyone everybody allusers press mailinglist newsletter public"
_PAIRS = (
    (
        """rotate* rotating rotation reset* resetting regenerate* regenerating expire* expiring
        invalidate* invalidating reissue* reissuing""",
        _SECRETS,
    ),
    ("change* changing replace* replacing roll* rolling", "password passphrase credential secret"),
    (
        """remove* removing removal clear* empty* emptied emptying kill* killing shut shutdown tear
        teardown cleanup clean* flush* evict* reset* resetting reinitiali* recreate* recreating
        scrap* trash* prune* pruning rewrite* rewriting""",
        _HOLDINGS,
    ),
    (
        """deploy* deployment release* releasing ship* shipping push* promote* promoting promotion
        merge* merging migrate* migrating migration apply applied applying run running execute*
        executing restart* reboot* modify* modifying alter* change* changing update* updating
        upgrade* upgrading switch* cut cutover write writing restore* restoring rollback roll
        rolled rolling launch* connect* edit* patch* scale* scaling swap* swapping seed* import*
        load* copy* sync* test* experiment* enable* enabling disable* disabling""",
        _PRODUCTION,
    ),
    ("ship* release* releasing roll* launch* push* expose* exposing", f"{_PUBLIC} internet world"),
    (
        """mail* email* send* sent notify* notified announce* announcing post* tweet* broadcast*
        message*""",
        f"{_PUBLIC} socialmedia twitter linkedin",
    ),
    (
        """make making made send* sent submit* process* approve* release* authorize* authorise* wire
        wiring transfer* spend* spent""",
        "payment money fund dollar euro usd eur btc bitcoin crypto payout payroll",
    ),
    ("charge* charging debit* bill billed billing", "card customer client user account"),
    (
        "upload* submit* push*",
        "pypi npm crates registry appstore playstore maven marketplace dockerhub",
    ),
    ("transfer* hand", "ownership domain repo repository"),
    (
        "cancel* cancelled cancelling terminate* close* closing end ended",
        "subscription contract account order booking license licence membership lease policy",
    ),
    ("sign* accept*", "contract agreement lease"),
    (
        "grant* give giving gave given add* adding assign*",
        "admin administrator root owner superuser sudo sudoer",
    ),
    (
        """disable* disabling turn* switch* bypass* skip* skipping weaken* remove* removing
        suspend*""",
        """backup mfa 2fa twofactor auth authentication authorization authorisation firewall
        encryption protection auditlog""",
    ),
    ("format* formatting", "disk drive partition volume filesystem sdcard usb"),
)
"""Deeds, and the things that they must not be done to unasked."""

_SMALL = """
    border button cache caches comma commas comment comments console file's filter filters icon
    import import's imports line lines log logs margin padding paragraph prefix semicolon
    sentence space spaces suffix temp temporary tmp warning warnings whitespace word words
"""
"""What can be removed, cleared or cleaned without a thought, where it comes sooner."""

_LABELS = """
    binding bindings board budget count counts field fields form format forms handler handlers
    icon icons label labels length limit limits name names order page pages press shortcut
    shortcuts size timeout type types value values
"""
"""After a secret's or a holding's name: then it is only a word for something small."""

_JOINED = re.compile(
    "(?:app|play) store|all (?:the |our )?users|mailing list|social media|two factor|audit log"
    "|sd card|docker hub"
)
"""Things whose name is more than one word."""

_SHOWN = (
    "(?:delete|deletion|drop|publish|purchase|buy|pay|discard|overwrite|erase|purge|revoke|wipe)"
)
_PART = (
    "(?:buttons?|icons?|dialogs?|labels?|menus?|links?|tooltips?|pages?|screens?|forms?|"
    "shortcuts?|wording|copy|colou?rs?|hovers?|toolbars?)"
)
_HARMLESS = rf"""
    drop ?(?:downs?|shadows?|caps?|in|zones?|lets?|box|outs?|targets?)\b
    drag and drop(?:p\w+)?
    drop (?:a|an|me|us|them|you) (?:quick |short )?(?:line|note|hint|message|comment|mail)s?
    (?:back|rain|tear|dew)drops?
    pa(?:y|ys|id|ying) (?:close |some |more |any )?attention
    pa(?:y|ys|id|ying) (?:off|down) (?:\S+ )?(?:technical |tech )?debt
    pay (?:per|as)\b
    buy(?:s|ing)? (?:us |me |you )?(?:some |more )?time
    buy in
    permanent (?:link|url|redirect|marker)s?
    (?:non|not) destructive(?:ly)?|nondestructive
    (?:production|prod) (?:build|mode|bundle|config\w*|profile|readme|docs?|checklist)s?
    production (?:like|ready|grade|quality)
    live (?:reload|preview|region|demo|chat|template|share|search)\w*
    (?:the|a|an|our|its|this|that|your|each|every|no) (?:\S+ )?{_SHOWN} {_PART}
    pub(?:lisher|lication)s?\b
"""


def one_way(*texts: str) -> str:
    """The words that say that something cannot be taken back; nothing where there are none."""
    for text in texts:
        if len(text) > _LONGEST:
            return "a text too long to be judged"
        words = _plain(text)
        # Idioms are looked for only where there is something to be excused.
        if _caught(words):
            idioms = _pattern(_HARMLESS, r"[\w']")
            if found := _caught(" ".join(idioms.sub(" ", words).split())):
                return found
    return ""


def _plain(text: str) -> str:
    """A text as words with single spaces.

    Signs that are not seen, wide letters, accents, camelCase and snake_case hide no word.
    """
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn"))
    text = _CAMEL.sub(" ", text.replace("’", "'").replace("_", " "))
    words = " ".join(_TOKEN.findall(text.casefold()))
    return _JOINED.sub(lambda found: re.sub(" (?:the |our )?", "", found[0]), words)


def _caught(words: str) -> str:
    """What gives it away: a word, a phrase, or a deed and what it is done to."""
    listed = words.split()
    alone = next((word for word in listed if word in _forms(_ALONE)), "")
    phrase = _pattern(_PHRASES, r"\w").search(words)
    return alone or _pair(listed) or (phrase[0].strip() if phrase else "")


def _pair(words: list[str]) -> str:
    """A deed and, within a few words, what it must not be done to unasked."""
    for deeds, things in _pairs():
        for at, word in enumerate(words):
            if word not in deeds:
                continue
            behind = _thing(words, at + 1, min(at + 1 + _APART, len(words)), things)
            before = _thing(words, max(at - _BEFORE, 0), at, things)
            if behind or before:
                return f"{word} … {behind}" if behind else f"{before} … {word}"
    return ""


def _thing(words: list[str], first: int, end: int, things: frozenset[str]) -> str:
    """The first such thing between two places, unless something small comes sooner."""
    for at in range(first, end):
        follows = words[at + 1] if at + 1 < len(words) else ""
        if words[at] in things and follows not in _words(_LABELS):
            return words[at]
        if words[at] in _words(_SMALL):
            break
    return ""


@cache
def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


@cache
def _pairs() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple(
        (_forms(deeds), _forms(" ".join(f"{thing}+" for thing in things.split())))
        for deeds, things in _PAIRS
    )


@cache
def _pattern(listed: str, beyond: str) -> re.Pattern[str]:
    """Any of the lines as whole words, with nothing of what is `beyond` right behind them."""
    lines = "|".join(line.strip() for line in listed.strip().split("\n"))
    return re.compile(rf"(?<![\w'])(?:{lines})(?!{beyond})")


@cache
def _forms(listed: str) -> frozenset[str]:
    """Words with their endings: those of a verb for a star, those of a noun for a plus."""
    found: set[str] = set()
    for word in listed.split():
        stem = word.rstrip("*+")
        found.add(stem)
        if word.endswith("*"):
            endings = ("s", "es", "d", "ed", "ing", "r", "rs", "er", "ers")
            doubled = (f"{stem[-1]}{ending}" for ending in ("ed", "ing", "er"))
            found |= {stem + ending for ending in (*endings, *doubled)}
            found |= {stem[:-1] + "ing"} if stem.endswith("e") else set()
        elif word.endswith("+"):
            found |= {stem + ending for ending in ("s", "es", "'s")}
        found |= {stem[:-1] + "ies", stem[:-1] + "ied"} if stem.endswith("y") else set()
    return frozenset(found)
