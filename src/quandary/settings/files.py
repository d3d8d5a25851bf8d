"""Markdown files: found below a folder, read as text and written back."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from quandary.errors import ParseError, QuandaryError

if TYPE_CHECKING:
    from io import BufferedReader

    _Rules = tuple[tuple["_Patterns", str], ...]
    """Patterns of each folder, innermost first, and the way from it to the folder looked at."""
    _Member = tuple[str, _Rules | None]
    _Report = Callable[[OSError], None]

SUFFIXES = (".md", ".markdown", ".mdx", ".mdc")
SKIPPED = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "__pycache__"})
LARGEST = 256 * 1024 * 1024  # bytes of a file that are read; `/dev/zero` never ends
_LARGEST_RULES = 1024 * 1024
_PATTERN_MEMORY = 64 * 1024 * 1024
ROOT_MARKS = ("quandary.toml", ".quandary", ".git")
_held: list[str] = []


def markdown_files(
    path: str, *, onerror: Callable[[ParseError], None] | None = None
) -> Iterator[str]:
    """Every Markdown file below a folder that git does not ignore, in the order of their paths. A
    file that is named itself comes back whatever its name. What cannot be looked at on the way is
    left out and given to `onerror`; only the folder that was named must be readable.
    """

    def report(error: OSError) -> None:
        if onerror is not None:
            onerror(_unreadable(error.filename or path, error))

    try:
        if not os.path.isdir(path):
            os.stat(path)
            return iter((path,))
        shown = "" if path.rstrip("/") == "." else path
        members = _members(shown, _rules_of(os.path.realpath(path), report))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise ParseError(f"{_shown(path)}: no such file or folder") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    return _walk(members, report)


def hold_files(paths: Iterable[str]) -> Callable[[], None]:
    """Keep this process from reading the files of a journal that it has open; what ends that. To
    close a file lets go of every lock that the process has on it, SQLite's own included, and others
    may then write where they must not.
    """
    held = [os.path.realpath(path) for path in paths]
    _held.extend(held)

    def release() -> None:
        for path in held:
            _held.remove(path)

    return release


def open_file(path: str) -> BufferedReader:
    """Open a file that somebody named, unless it belongs to a journal that is open here. A pipe or
    a device is opened only by its own name, such as `/dev/stdin`: a repository can bring one under
    any other, for us to wait at.
    """
    if os.path.realpath(path) in _held:
        raise OSError(errno.EBUSY, "it belongs to a journal that is in use", path)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode) and not path.startswith(("/dev/", "/proc/")):
        os.close(handle)
        kind = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(kind, "not a regular file", path)
    os.set_blocking(handle, True)
    return open(handle, "rb")


def read_text(path: str) -> str:
    """The text of a file, its newlines and any leading U+FEFF as they stand there."""
    try:
        with open_file(path) as file:
            data = read_whole(file, LARGEST)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    return _decoded(data, path)


def read_whole(file: BinaryIO, largest: int) -> bytes:
    """All of a file, unless it is larger than that or has no end."""
    data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f"larger than {largest >> 20} MiB", file.name)
    return data


def read_input(path: str) -> str:
    """The text of a file, or what is piped in for `-`."""
    return read_standard_input() if path == "-" else read_text(path)


def read_standard_input() -> str:
    """The text that is piped in, under the same rules as a file; messages call it `-`."""
    try:
        data = sys.stdin.buffer.read()
    except (ValueError, AttributeError):
        raise ParseError("-: standard input is closed") from None
    except OSError as error:
        raise _unreadable("-", error) from None
    return _decoded(data, "-")


def write_text(path: str, text: str) -> None:
    """Put a text in the place of a file's, all of it or nothing; a link stays a link."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        message = f"{_shown(path)}: not written, no UTF-8 for U+{code:04X} at offset {error.start}"
        raise QuandaryError(message) from None
    try:
        _replace(os.path.realpath(path), data)
    except (OSError, ValueError) as error:
        raise QuandaryError(f"{_shown(path)}: cannot be written ({_words(error)})") from None


def project_root(start: str) -> str | None:
    """The nearest folder, from `start` up, that has a `quandary.toml`, `.quandary` or `.git`."""
    try:
        folder = os.path.abspath(start)
    except FileNotFoundError:  # the current folder was deleted
        return None
    while not any(is_mark(os.path.join(folder, mark)) for mark in ROOT_MARKS):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def is_mark(path: str) -> bool:
    """Whether something is there that says of its folder that it is a project. In a folder that is
    everybody's, such as `/tmp`, what another user put there says nothing.
    """
    try:
        found, folder = os.stat(path), os.stat(os.path.dirname(path))
    except (OSError, ValueError):
        return False
    shared = stat.S_ISVTX | stat.S_IWOTH
    return folder.st_mode & shared != shared or found.st_uid in (0, os.geteuid())


def compile_pattern(pattern: str) -> Any:  # noqa: ANN401 - as one of `re`
    """A regular expression that somebody else wrote, compiled by RE2, so that it always ends. It
    takes at most as many steps as text and program are long, multiplied. What RE2 cannot compile is
    a `ValueError`.
    """
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415 - few have patterns

    options = re2.Options()
    options.log_errors, options.max_mem = False, _PATTERN_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        raise ValueError(said.decode() if isinstance(said, bytes) else str(said)) from None
    except UnicodeEncodeError:
        raise ValueError("it is not Unicode") from None


def is_inside(folder: str, path: str) -> bool:
    """Whether a path leads to something below a folder, by whatever way; no path leads nowhere."""
    with suppress(OSError, ValueError):  # such as a NUL in it
        root = os.path.realpath(folder)
        return os.path.commonpath([root, os.path.realpath(path)]) == root
    return False


def require_own(path: str, root: str | None = None) -> None:
    """Refuse to write by a link that leads out of the project, or of the folder without one."""
    if root is None:
        here, place = project_root(os.curdir) or os.getcwd(), os.path.abspath(path)
        below = place.startswith(here.rstrip(os.sep) + os.sep)
        folder = os.path.dirname(place)
        root = here if below else project_root(folder) or folder
    if not is_inside(root, path):
        real = os.path.realpath(path)
        message = f"{_shown(path)} leads out of the project, to {_shown(real)}; not written"
        raise QuandaryError(message)


def _walk(waiting: list[_Member], report: _Report) -> Iterator[str]:
    while waiting:
        path, above = waiting.pop()
        if above is None:
            yield path
            continue
        try:
            waiting += _members(path, _rules_below(above, path, report))
        except OSError as error:
            report(error)


def _members(folder: str, rules: _Rules) -> list[_Member]:
    """What a folder holds, last first, sorted as whole paths: Markdown files, and folders."""
    found: dict[str, _Member] = {}
    with os.scandir(folder or ".") as entries:
        for entry in entries:
            name = entry.name
            path = os.path.join(folder, name)
            if entry.is_dir(follow_symlinks=False):
                if name not in SKIPPED and not _is_ignored(rules, f"{name}/"):
                    found[name + "/"] = path, _lower(rules, name)
            elif (
                name.lower().endswith(SUFFIXES)
                and not _is_ignored(rules, name)
                and os.path.isfile(path)
            ):
                found[name] = path, None
    return [found[key] for key in sorted(found, reverse=True)]


class _Patterns(NamedTuple):
    """The patterns of a file of git's."""

    all: Any  # finds whatever one of them may be about
    each: list[tuple[Any, bool]]  # the last first, and whether it ignores or not


def _is_ignored(rules: _Rules, name: str) -> bool:
    """Whether git ignores a name in a folder: the last pattern of the innermost file decides."""
    for patterns, prefix in rules:
        path = (prefix + name).encode(errors="replace").decode()
        if patterns.all.search(path) is None:
            continue
        for pattern, ignores in patterns.each:
            found = pattern.search(path)
            if found is not None and _is_meant(found, path):
                return ignores
    return False


def _is_meant(found: Any, path: str) -> bool:  # noqa: ANN401 - a match
    """Whether a pattern is about this path: `a/**` is about whatever is in `a`, not about `a`."""
    slash = found.re.groupindex.get("ps_d")  # behind a folder that the pattern names
    if slash is not None:
        return found.end(slash) in (-1, len(path))
    return bool(found.end() < len(path))


def is_ignored(path: str, project: str) -> bool:
    """Whether git ignores a file of a project, or cannot tell; both paths are resolved."""

    def refuse(error: OSError) -> None:
        raise error

    root = _root_of(project)
    try:
        rules = (*_rules_below((), root, refuse), *_own_rules(refuse))
        *folders, name = os.path.relpath(path, root).split(os.sep)
        for folder in folders:
            if _is_ignored(rules, f"{folder}/"):
                return True
            root = os.path.join(root, folder)
            rules = _rules_below(_lower(rules, folder), root, refuse)
        return _is_ignored(rules, name)
    except OSError:
        return True


def _own_rules(report: _Report) -> _Rules:
    """What the user has git ignore everywhere, in the usual place."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    text = read_git_file(os.path.join(base, "git", "ignore"), report)
    return ((_patterns(text), ""),) if text.strip() else ()


def _rules_of(folder: str, report: _Report) -> _Rules:
    """The rules of a folder, from the root of its repository down to it. Without a repository they
    begin in the folder itself. Whether the folder is ignored does not matter: who names it wants to
    look inside.
    """
    root = _root_of(folder)
    rules = _rules_below((), root, report)
    for name in os.path.relpath(folder, root).split(os.sep) if folder != root else ():
        root = os.path.join(root, name)
        rules = _rules_below(_lower(rules, name), root, report)
    return rules


def _root_of(folder: str) -> str:
    """The root of the repository that a folder is in; the folder itself where there is none."""
    root = folder
    while not os.path.lexists(os.path.join(root, ".git")):
        root, name = os.path.split(root)
        if not name:
            return folder
    return root


def _lower(rules: _Rules, name: str) -> _Rules:
    """The rules from above as they hold in a folder of that name."""
    return tuple((patterns, f"{prefix}{name}/") for patterns, prefix in rules)


def _rules_below(above: _Rules, folder: str, report: _Report) -> _Rules:
    """A folder's own rules before those from above; a repository inside another begins anew."""
    git = os.path.join(folder, ".git")
    text = ""
    if os.path.lexists(git):
        above = ()
        if os.path.isfile(git):  # in a worktree, which shares the patterns of its repository
            named = read_git_file(git, report).removeprefix("gitdir: ").rstrip("\r\n")
            git = os.path.join(folder, named)
        common = read_git_file(os.path.join(git, "commondir"), report).rstrip("\r\n")
        text = read_git_file(os.path.join(git, common, "info", "exclude"), report) + "\n"
    text += read_git_file(os.path.join(folder, ".gitignore"), report)
    return ((_patterns(text), ""), *above) if text.strip() else above


def _patterns(text: str) -> _Patterns:
    """The patterns of a text; a line that is none has no meaning for git either."""
    from pathspec.patterns.gitignore import GitIgnorePatternError  # noqa: PLC0415 - slow
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415

    found, written = [], []
    for line in reversed(text.split("\n")):
        with suppress(GitIgnorePatternError, ValueError):
            expression, ignores = GitIgnoreSpecPattern.pattern_to_regex(line.removesuffix("\r"))
            if expression is not None:
                found.append((compile_pattern(expression), bool(ignores)))
                written.append(expression.replace("(?P<ps_d>", "(?:"))
    try:
        either = compile_pattern("|".join(written))
    except ValueError:  # too many to be compiled as one
        either = compile_pattern("")
    return _Patterns(either, found)


def read_git_file(path: str, report: _Report) -> str:
    """What a file of git's says; nothing for a link, a pipe, or where there is none."""
    flags = os.O_RDONLY | os.O_NONBLOCK | (os.O_NOFOLLOW if path.endswith(".gitignore") else 0)
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            return os.fsdecode(read_whole(file, _LARGEST_RULES).removeprefix(b"\xef\xbb\xbf"))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
        return ""
    except OSError as error:
        report(error)
        return ""


def _decoded(data: bytes, path: str) -> str:
    """The bytes as text; the first byte that no text holds is the one to complain about."""
    text, wrong = "", len(data)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        wrong = error.start
    if (binary := data.find(b"\0", 0, wrong)) >= 0:
        raise ParseError(f"{_shown(path)}: a binary file (NUL byte at offset {binary})")
    if wrong < len(data):
        message = f"not UTF-8 text (byte 0x{data[wrong]:02x} at offset {wrong})"
        raise ParseError(f"{_shown(path)}: {message}")
    return text


def _replace(target: str, data: bytes) -> None:
    """Write beside the target, then move over it: a crash leaves the old file or the new one."""
    before = _attributes(target)
    name = f".quandary-{os.urandom(8).hex()}.tmp"
    temporary = os.path.join(os.path.dirname(target), name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    descriptor = os.open(temporary, flags, 0o600 if before else 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if before is not None:
            with suppress(OSError):  # what root edits stays its owner's; others cannot give away
                os.chown(temporary, before.st_uid, before.st_gid)
            os.chmod(temporary, before.st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise


def _attributes(target: str) -> os.stat_result | None:
    """What is kept of the file that is there; moving over it must not get round its protection."""
    try:
        before = os.stat(target)
    except FileNotFoundError:
        return None
    if os.path.isdir(target):
        raise IsADirectoryError("a folder, not a file")
    if not os.path.isfile(target):
        raise OSError("not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError("permission denied")
    return before


def _unreadable(path: str, error: OSError | ValueError) -> ParseError:
    reason = _words(error)
    if isinstance(error, FileNotFoundError | NotADirectoryError | ValueError):
        reason = "no such file"
    elif isinstance(error, IsADirectoryError):
        reason = "a folder, not a file"
    return ParseError(f"{_shown(path)}: {reason}")


def _words(error: OSError | ValueError) -> str:
    words = getattr(error, "strerror", None) or str(error)
    return words[:1].lower() + words[1:]


def _shown(path: str) -> str:
    """The path in a message, which stays one printable line whatever the path."""
    return path if path and path.isprintable() else ascii(path)
