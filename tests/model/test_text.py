"""What nobody sees is shown; what is part of what one sees stays as it is."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from quandary.flows.wording import header
from quandary.model.asks import Item
from quandary.model.text import cut, printable, reveal, shorten

UNSEEN = [
    chr(number)
    for number in range(sys.maxunicode + 1)
    if unicodedata.category(chr(number)) in ("Cc", "Cf", "Cs")
]


def test_every_format_character_is_shown() -> None:
    """Whatever Unicode calls a format or a control character, with letters on both sides."""
    for sign in UNSEEN:
        assert sign not in printable(f"a{sign}b")
        assert sign not in reveal(f"a{sign}b") or sign in "\t\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u200bb", r"a\u200bb"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("ok\U000e0041\U000e007f", r"ok\U000e0041\U000e007f"),
        ("pay\u00adpal", r"pay\xadpal"),
        ("\ufeffx", r"\ufeffx"),
        ("a\u3164b\u115fc\u034fd", r"a\u3164b\u115fc\u034fd"),
        ("😀\ufe0f\ufe0f", "😀\ufe0f\\ufe0f"),
        ("x\U000e0100\ufe01", r"x\U000e0100\ufe01"),
        ("x\U000e0080\U000e0fff\ufff0", r"x\U000e0080\U000e0fff\ufff0"),
        ("yes\u2800\u2800\u2800 no", r"yes\u2800\u2800\u2800 no"),
        ("e\u0301\u0302\u0303\u0304\u0305\u0306", "e\u0301\u0302\u0303\u0304\\u0305\\u0306"),
        ("a\u200db\u200cc", r"a\u200db\u200cc"),
        ("😀\u200d", "😀\\u200d"),
        ("🏴\U000e0067", "🏴\\U000e0067"),
        ("a\x1b[31m\tb\nc", r"a\x1b[31m b c"),
    ],
)
def test_what_nobody_sees_is_shown_as_an_escape(text: str, shown: str) -> None:
    """Zero-width characters, what turns text around, tags, fillers, selectors."""
    assert printable(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "👩‍👩‍👧",
        "👨🏽‍💻",
        "🏳️‍🌈",
        "❤️",
        "1️⃣",
        "می‌خواهم",
        "ක්‍ර",
        "क्‍ष",
        "äß日本",
        "مرحبا\u200f",
        "⠓⠊⠀⠞⠓⠑⠗⠑",
    ],
)
def test_joined_pictures_and_letters_stay_readable(text: str) -> None:
    """There the joiner is no secret: it changes what one sees."""
    assert printable(text) == reveal(text) == text


def test_lines_stay_lines_where_there_is_room_for_them() -> None:
    """A page and a message keep breaks and tabs."""
    assert reveal("a\r\n\tb\x00\u2066") == "a\r\n\tb\\u0000\\u2066"


def test_nothing_is_written_over_what_was_there() -> None:
    """A carriage return by itself leads back to the beginning of the line."""
    assert reveal("Drop all\rKeep all") == "Drop all\\u000dKeep all"


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
SIGNS = (
    FAMILY,
    "\U0001f44d\U0001f3fd",  # a thumb with its skin
    "\U0001f1e9\U0001f1ea",  # a flag
    "1\ufe0f\u20e3",  # a keycap
    "\u2764\ufe0f\u200d\U0001f525",  # a heart on fire
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # Scotland
    "e\u0301",
    "\u1100\u1161\u11a8",
)


@pytest.mark.parametrize("sign", SIGNS)
def test_texts_are_cut_between_clusters(sign: str) -> None:
    """What one sees as one sign is there or not, whatever the length, in a row or between words."""
    for text in (sign * 5, f"ab{sign}{sign}cd{sign}"):
        for longest in range(len(sign), len(text) + 2):
            assert cut(text, longest).replace(sign, "").isascii()
            left = shorten(text, longest + 1).removesuffix("…")
            assert text.startswith(left)
            assert left.replace(sign, "").isascii()
    label = header(Item("1", label=f"ship it now {sign * 4}"), None)
    assert label.removesuffix("…").replace(sign, "").isascii()
