"""A short cut for trees that already stand in canonical form, which most do.

Such a tree is recognised by a few regular expressions and needs no block structure. Everything
else goes through `sections.Reader`, and so does whatever could change what a heading below it
means: an open fence, an HTML block. Both ways give the same trees; a test holds them to it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from quandary.formats import keys
from quandary.formats.findings import Section
from quandary.model.tree import Decision, Extra, Option, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.formats.findings import Note

DEEPEST = 100
"""Columns of indentation up to which options are read this way; deeper ones are nobody's."""
_TREE = re.compile(
    r"#{1,6} ¶ASK_([A-Z][A-Z0-9_]*)\n"
    r"((?:(?:Trigger|Extras|Kind|Question|Keywords|Extends): \S[^\n]*\n)*)"
)
_DECISION = re.compile(r"\n*#{1,6} Decision: ([^\s\[{<#*_`][^\n#]*)\n")
_OPTION = re.compile(
    r"^( *+)- \[([A-Z]{1,8}+)\] (\[ \] )?([^\s\[\\].*+)\n"
    r"(?:\1  ((?!\d+[.)])[^\s\-+*#>`~<=_].*+)\n)?",
    re.MULTILINE,
)
_AFTER = re.compile(r"\n*(?:\Z|(?!(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$))\S)", re.MULTILINE)
_LOUD = re.compile(
    r"\n[ \t>*+\-\d.)#_`]*(?:```|~~~|<[A-Za-z/!?]|¶ASK_"
    r"|(?i:decision|choose|trigger|extras|kind|question|keywords|extends)\b)"
)
"""What may begin a tree, belong to one, or hide one from sight; looked for from the end of the
line above, because a search for a line's beginning would stop at every character."""
_MORE_OPTIONS = re.compile(r"\n[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+[*_`]*\[")
_UNUSUAL = ("<!--", "[CODE]", "\t", " \n")
_EXTRAS = re.compile(r"A: ([^|]*[^|\s])(?: \| B: ([^|]*[^|\s]))?(?: \| C: ([^|]*[^|\s]))?")


def read(text: str, start: int, line: int) -> tuple[list[Section], list[Note]]:
    """The trees of a text from `start` on, which is the beginning of line `line` (from 0)."""
    sections: list[Section] = []
    notes: list[Note] = []
    unusual = [sign for sign in _UNUSUAL if text.find(sign, start) >= 0]
    headings = list(_headings(text, start))
    ends = [*headings[1:], len(text)] if headings else []
    at, index = start, 0
    while index < len(headings):
        heading = headings[index]
        if at == heading or not _is_loud(text, at, heading):
            line += text.count("\n", at, heading)
            at = heading
            plain = not unusual or _is_plain(text, at, ends[index], unusual)
            quick = _tree(text, at, ends[index], line) if plain else None
            if quick is not None:
                section, end = quick
                sections.append(section)
                line += text.count("\n", at, end)
                at, index = end, index + 1
                continue
            index += 1
        index, end = _slowly(text, at, line, (headings, index), (sections, notes))
        line += text.count("\n", at, end)
        at = end
    if _is_loud(text, at, len(text)):
        _slowly(text, at, line, (headings, index), (sections, notes))
    return sections, notes


def _is_loud(text: str, start: int, end: int) -> bool:
    if start == 0:
        return _LOUD.search("\n" + text[:end]) is not None
    return _LOUD.search(text, start - 1, end) is not None


def _is_plain(text: str, start: int, end: int, unusual: list[str]) -> bool:
    return not any(text.find(sign, start, end) >= 0 for sign in unusual)


def _headings(text: str, start: int) -> Iterator[int]:
    """Where lines begin that may be a ¶ASK heading at the margin."""
    at = text.find(" ¶ASK_", start)
    while at >= 0:
        begin = text.rfind("\n", start, at) + 1 or start
        if text[begin:at].strip("#") == "" and at - begin in range(1, 7):
            yield begin
        at = text.find(" ¶ASK_", at + 1)


def _slowly(
    text: str,
    start: int,
    line: int,
    places: tuple[list[int], int],
    found: tuple[list[Section], list[Note]],
) -> tuple[int, int]:
    """Read on block by block, up to a heading that stands in no fence or HTML block."""
    from quandary.formats.sections import Reader  # noqa: PLC0415 - canonical trees do without

    headings, index = places
    step = 1
    while True:
        end = headings[index] if index < len(headings) else len(text)
        lines = text[start:end].removesuffix("\n").split("\n")
        reader = Reader(lines, line=line)
        reader.read()
        if end == len(text) or not reader.left_open:
            break
        # Each try reads anew from the start, so look twice as far each time.
        index, step = index + step, step * 2
    found[0].extend(reader.sections)
    found[1].extend(reader.notes)
    return min(index, len(headings)), end


def _tree(text: str, start: int, limit: int, line: int) -> tuple[Section, int] | None:
    """The canonical tree at `start` if nothing else up to `limit` could belong to it or be one.

    Also where the reading is to go on.
    """
    heading = _TREE.match(text, start)
    if heading is None:
        return None
    values = _values(heading[2])
    extras = _extras(values.get("Extras", "")) if values is not None else None
    if values is None or extras is None:
        return None
    decisions: list[Decision] = []
    at, number = heading.end(), line + 1 + heading[2].count("\n")
    while (named := _DECISION.match(text, at)) is not None:
        number += text.count("\n", at, named.end())
        begin = named.end()
        at = text.find("\n\n", begin) + 1 or len(text)
        count = text.count("\n", begin, at)
        options = _options(_OPTION.findall(text, begin, at), number, number + count)
        if options is None:
            return None
        decisions.append(Decision(named[1].rstrip(), options, "", number, 1))
        number += count
    if not decisions or not _ends(text, at, limit):
        return None
    tree = Tree(
        heading[1],
        tuple(decisions),
        "",
        values.get("Trigger", ""),
        extras,
        values.get("Kind", ""),
        values.get("Question", ""),
        keys.read_keywords(values["Keywords"]) if "Keywords" in values else (),
        keys.plain_name(values["Extends"]) if "Extends" in values else "",
        line=line + 1,
    )
    return Section(tree), limit


def _ends(text: str, at: int, limit: int) -> bool:
    """Whether what stands between a list and the next tree is prose that changes neither."""
    if text[at:limit].isspace() or at == limit:
        return True
    if _AFTER.match(text, at, limit) is None:
        return False
    above = at - 1
    return not _LOUD.search(text, above, limit) and not _MORE_OPTIONS.search(text, above, limit)


def _values(block: str) -> dict[str, str] | None:
    """The keys of a canonical tree; nothing if a rule would have something to say about them."""
    values: dict[str, str] = {}
    for entry in block.split("\n")[:-1]:
        name, _, value = entry.partition(": ")
        if name in values:
            return None
        values[name] = value.rstrip(" ")
    if values.get("Kind", "advisory") not in keys.KINDS:
        return None
    return values


def _extras(value: str) -> tuple[Extra, ...] | None:
    if not value:
        return ()
    found = _EXTRAS.fullmatch(value)
    if found is not None:
        pairs = zip("ABC", found.groups(), strict=True)
        return tuple([Extra(letter, text) for letter, text in pairs if text])
    extras, well_formed = keys.read_extras(value)
    return extras if well_formed else None


def _options(
    found: list[tuple[str, str, str, str, str]], first: int, last: int
) -> tuple[Option, ...] | None:
    """Options out of their parts, last first, so that each finds its own options made.

    `first` and `last` are the lines before and at the end of the list: if the parts do not take
    up all of them, something else stands there too.
    """
    level: list[Option] = []
    open_levels: list[list[Option]] = []
    indent, column = "", 1
    number = last + 1
    for margin, code, flag, label, description in reversed(found):
        number -= 2 if description else 1
        if margin == indent:
            level.append(Option(code, label, description, flag != "", (), number, column))
            continue
        children: tuple[Option, ...] = ()
        step = len(margin) - len(indent)
        if step == -2:
            level.reverse()
            children = tuple(level)
            level = open_levels.pop()
        elif step > 0 and not step & 1 and len(margin) < DEEPEST:
            for _ in range(step >> 1):
                open_levels.append(level)
                level = []
        else:
            return None
        indent, column = margin, len(margin) + 1
        level.append(Option(code, label, description, flag != "", children, number, column))
    if open_levels or number != first + 1 or not found:
        return None
    level.reverse()
    return tuple(level)
