"""Which files a repository leaves out: .gitignore patterns, read the way git reads them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    _Opener = Callable[[str, int], int]

_BOM = b"\xef\xbb\xbf"
_WILD = re.compile(rb"[*?\[\\]")

_STAR = b"*"
_STARS = b"**"
_SLASH, _ESCAPED_SLASH = b"/", b"\\/"
_FOLDERS = b"(?:[^/]+/)"

_CLASSES = {
    b"alnum": b"0-9A-Za-z",
    b"alpha": b"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": b"0-9",
    b"graph": b"!-~",
    b"lower": b"a-z",
    b"print": b" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t\n\r",  # git's own table, which knows no form feed
    b"upper": b"A-Z",
    b"xdigit": b"0-9A-Fa-f",
}


class Rules:
    """The patterns of one folder: the last one that matches a path decides about it.

    Paths are bytes, because git lets `?` and `[…]` stand for one byte.
    """

    __slots__ = ("_names", "_negated", "_paths")

    def __init__(self, *texts: bytes) -> None:
        self._negated: list[bool] = []
        names: list[_Pattern] = []
        paths: list[_Pattern] = []
        for line in (line for text in texts for line in _lines(text)):
            pattern = _Pattern(line, len(self._negated))
            self._negated.append(pattern.negated)
            (paths if pattern.anchored else names).append(pattern)
        self._names = _Patterns(names)
        self._paths = _Patterns(paths)

    def verdict(self, path: bytes, *, folder: bool) -> bool | None:
        """Whether the path is ignored, or None if no pattern speaks of it."""
        if folder:
            path += b"/"
        name = path[path.rfind(b"/", 0, -1) + 1 :]
        last = max(self._names.last(name), self._paths.last(path))
        return None if last < 0 else not self._negated[last]


class Scope:
    """The rules that hold in one folder: its own first, then those of each folder above it."""

    __slots__ = ("_layers",)

    def __init__(self, layers: Iterable[tuple[Rules, bytes]] = ()) -> None:
        self._layers = tuple(layers)

    def ignores(self, name: str, *, folder: bool) -> bool:
        """Whether git ignores the file or folder of that name in this folder.

        A folder that is ignored is not entered, so nothing below it comes back.
        """
        encoded = os.fsencode(name)
        for rules, prefix in self._layers:
            verdict = rules.verdict(prefix + encoded, folder=folder)
            if verdict is not None:
                return verdict
        return False

    def below(self, name: str) -> Scope:
        """What holds in the folder of that name before it adds rules of its own."""
        step = os.fsencode(name) + b"/"
        return Scope((rules, prefix + step) for rules, prefix in self._layers)

    def adding(self, rules: Rules) -> Scope:
        """The folder's own rules come before those of the folders above it."""
        return Scope(((rules, b""), *self._layers))


def scope_of(folder: str, onerror: Callable[[OSError], None]) -> Scope:
    """The rules that hold in a folder, from the root of its repository down to it.

    Without a repository they begin in the folder itself. Whether the folder is ignored does not
    matter: who asks about it wants to look inside.
    """
    folder = os.path.realpath(folder)
    steps: list[str] = []
    root = folder
    while not _is_repository(root):
        parent, name = os.path.split(root)
        if parent == root:
            return scope_below(Scope(), folder, onerror)
        steps.append(name)
        root = parent
    scope = scope_below(Scope(), root, onerror)
    for name in reversed(steps):
        root = os.path.join(root, name)
        scope = scope_below(scope.below(name), root, onerror)
    return scope


def scope_below(above: Scope, folder: str, onerror: Callable[[OSError], None]) -> Scope:
    """The rules that hold in a folder, given those that come from above it.

    A repository inside another begins anew, as it would if it stood alone.
    """
    texts = []
    if _is_repository(folder):
        above = Scope()
        texts.append(_contents(_exclude_file(folder, onerror), onerror))
    own = os.path.join(folder, ".gitignore")
    texts.append(_contents(own, onerror, opener=_never_a_link))
    return above.adding(Rules(*texts)) if any(texts) else above


class _Pattern:
    """One line of a .gitignore file."""

    __slots__ = ("anchored", "folders_only", "negated", "number", "text")

    def __init__(self, line: bytes, number: int) -> None:
        self.number = number
        self.negated = line.startswith(b"!")
        text = line[1:] if self.negated else line
        self.folders_only = text.endswith(b"/")
        text = text[:-1] if self.folders_only else text
        self.anchored = b"/" in text
        self.text = text.removeprefix(b"/")

    @property
    def literal(self) -> bool:
        return _WILD.search(self.text) is None

    def expression(self) -> bytes | None:
        """The pattern as a regular expression, or None if it is broken and so matches nothing."""
        try:
            segments = list(_segments(self.text))
        except (LookupError, ValueError):  # it ends too early, or names no class of characters
            return None
        body = _across(segments) if self.anchored else _within(segments[0][0])
        return body + (rb"/\Z" if self.folders_only else rb"/?\Z")


class _Patterns:
    """Patterns that look at the same text, where a folder's ends with a slash."""

    __slots__ = ("_globs", "_literals", "_numbers")

    def __init__(self, patterns: list[_Pattern]) -> None:
        self._literals: dict[bytes, int] = {}
        self._numbers: list[int] = []
        self._globs: re.Pattern[bytes] | None = None
        globs = []
        for pattern in patterns:
            if pattern.literal:
                self._literals[pattern.text + b"/"] = pattern.number
                if not pattern.folders_only:
                    self._literals[pattern.text] = pattern.number
            elif (expression := pattern.expression()) is not None:
                globs.append(expression + b"()")
                self._numbers.append(pattern.number)
        if globs:
            # The first alternative wins, and git wants the last pattern.
            self._globs = re.compile(b"|".join(reversed(globs)))
            self._numbers.reverse()

    def last(self, text: bytes) -> int:
        """The number of the last pattern that matches, or -1."""
        number = self._literals.get(text, -1)
        found = self._globs.match(text) if self._globs else None
        if found is None or found.lastindex is None:
            return number
        return max(number, self._numbers[found.lastindex - 1])


def _lines(text: bytes) -> Iterator[bytes]:
    """The lines that are patterns, without the spaces at their end that no backslash protects."""
    for line in text.removeprefix(_BOM).split(b"\n"):
        if line.startswith(b"#"):
            continue
        pattern = line.removesuffix(b"\r").partition(b"\0")[0]
        bare = pattern.rstrip(b" ")
        backslashes = len(bare) - len(bare.rstrip(b"\\"))
        if backslashes % 2 and len(bare) < len(pattern):
            bare += b" "
        if bare:
            yield bare


def _segments(pattern: bytes) -> Iterator[tuple[list[bytes], bool]]:
    """The pattern cut at its slashes, and whether a backslash stood before the slash.

    A segment is a list of stars and of expressions for one byte each.
    """
    segment: list[bytes] = []
    for token in _tokens(pattern):
        if token in (_SLASH, _ESCAPED_SLASH):
            if not segment:
                raise ValueError("no path has an empty segment")
            yield segment, token == _ESCAPED_SLASH
            segment = []
        else:
            segment.append(token)
    if not segment:
        raise ValueError("no path has an empty segment")
    yield segment, False


def _tokens(pattern: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(pattern):
        sign = pattern[at : at + 1]
        at += 1
        if sign == b"*":
            start = at
            while pattern[at : at + 1] == b"*":
                at += 1
            yield _STAR if at == start else _STARS
        elif sign == b"?":
            yield b"[^/]"
        elif sign == b"[":
            expression, at = _bracket(pattern, at)
            yield expression
        elif sign == b"\\":
            escaped = bytes((pattern[at],))
            at += 1
            yield _ESCAPED_SLASH if escaped == b"/" else re.escape(escaped)
        elif sign == b"/":
            yield _SLASH
        else:
            yield re.escape(sign)


def _bracket(pattern: bytes, at: int) -> tuple[bytes, int]:
    """The expression for what stands in brackets from `at` on, and where the pattern goes on."""
    negated = pattern[at] in b"!^"
    at += negated
    members = []
    before: int | None = None  # what a range may begin with
    first = at
    while at == first or pattern[at] != ord("]"):
        byte = pattern[at]
        if byte == ord("-") and before is not None and pattern[at + 1] != ord("]"):
            at += 2 if pattern[at + 1] == ord("\\") else 1
            if before <= pattern[at]:
                members.append(rb"\x%02x-\x%02x" % (before, pattern[at]))
            before = None
        elif byte == ord("[") and (name := _class_name(pattern, at)) is not None:
            members.append(_CLASSES[name])
            at += len(name) + 3
            before = None
        else:
            at += byte == ord("\\")
            before = pattern[at]
            members.append(rb"\x%02x" % before)
        at += 1
    inside = b"".join(members)
    if negated:
        return b"[^/%s]" % inside, at + 1
    return b"(?!/)[%s]" % inside if inside else b"(?!)", at + 1


def _class_name(pattern: bytes, at: int) -> bytes | None:
    """The `alpha` of `[:alpha:]`, if that is what begins here."""
    if pattern[at + 1] != ord(":"):
        return None
    end = pattern.index(b"]", at + 2)
    return pattern[at + 2 : end - 1] if pattern.endswith(b":", at + 2, end) else None


def _within(segment: list[bytes]) -> bytes:
    """An expression for one segment, in which any run of stars is one star.

    Between two stars the earliest place is as good as any, so it is never reconsidered: that keeps
    the time in proportion to the name, however many stars there are.
    """
    chunks: list[list[bytes]] = [[]]
    for token in segment:
        if token in (_STAR, _STARS):
            chunks.append([])
        else:
            chunks[-1].append(token)
    first, *others = (b"".join(chunk) for chunk in chunks)
    if not others:
        return first
    *middle, last = others
    if not first and not any(others):
        return b"[^/]+"
    return first + b"".join(b"(?>[^/]*?%s)" % chunk for chunk in middle if chunk) + b"[^/]*" + last


def _across(segments: list[tuple[list[bytes], bool]]) -> bytes:
    """An expression for a whole path, in which a segment `**` is any number of folders.

    As within a segment, what stands between two `**` is taken where it first fits.
    """
    parts: list[bytes] = []
    run: list[bytes] = []
    folders: int | None = None  # how many the `**` before the run stands for, at least
    for segment, escaped in segments:
        if segment != [_STARS]:
            run.append(_within(segment))
            continue
        if run:
            part = b"/".join(run) + b"/"
            parts.append(part if folders is None else b"(?>%s{%d,}?%s)" % (_FOLDERS, folders, part))
            run, folders = [], None
        folders = (folders or 0) + escaped  # git takes `**\/` for one folder at least
    if folders is not None:
        parts.append(b"%s{%d%s}" % (_FOLDERS, folders, b"," if run else b""))
    parts.append(b"/".join(run) if run else b"(?s:.+)")
    return b"".join(parts)


def _is_repository(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, ".git"))


def _exclude_file(root: str, onerror: Callable[[OSError], None]) -> str:
    """Where the repository keeps its own patterns; a worktree shares its main repository's."""
    git = os.path.join(root, ".git")
    if os.path.isfile(git):
        named = _contents(git, onerror).removeprefix(b"gitdir: ")
        git = os.path.join(root, os.fsdecode(named.rstrip(b"\r\n")))
    common = _contents(os.path.join(git, "commondir"), onerror)
    return os.path.join(git, os.fsdecode(common.rstrip(b"\r\n")), "info", "exclude")


def _contents(
    path: str, onerror: Callable[[OSError], None], *, opener: _Opener | None = None
) -> bytes:
    """What the file says; nothing, if there is no such file or can be none of that name."""
    try:
        with open(path, "rb", opener=opener) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
        return b""
    except OSError as error:
        onerror(error)
        return b""


def _never_a_link(path: str, flags: int) -> int:
    """Git does not follow a .gitignore that is a link; nor may a pipe make us wait."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
