"""Git itself says what is ignored; these rules must agree with it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from quandary.formats.gitignore import Rules, Scope, scope_below, scope_of

if TYPE_CHECKING:
    from pathlib import Path

BARE = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "PATH": os.environ["PATH"],
    "XDG_CONFIG_HOME": os.devnull,
}


def git(root: Path, *words: str, stdin: bytes = b"", statuses: tuple[int, ...] = (0,)) -> bytes:
    """What git prints, without anyone's own settings."""
    done = subprocess.run(
        ["git", *words], cwd=root, env=BARE, input=stdin, capture_output=True, check=False
    )
    assert done.returncode in statuses, done.stderr
    return done.stdout


def by_git(root: Path, paths: list[bytes]) -> set[bytes]:
    """The paths that git ignores."""
    stdin = b"".join(path + b"\0" for path in paths)
    out = git(root, "check-ignore", "--no-index", "-z", "--stdin", stdin=stdin, statuses=(0, 1))
    return set(out.split(b"\0")) - {b""}


def by_us(root: Path, paths: list[bytes]) -> set[bytes]:
    """The paths that we ignore: those that a walk from the root does not get to."""
    scopes: dict[str, Scope | None] = {"": scope_of(str(root), fail)}

    def scope_at(folder: str) -> Scope | None:
        if folder not in scopes:
            parent, name = os.path.split(folder)
            above = scope_at(parent)
            if above is None or above.ignores(name, folder=True):
                scopes[folder] = None
            else:
                scopes[folder] = scope_below(above.below(name), str(root / folder), fail)
        return scopes[folder]

    def is_ignored(path: str) -> bool:
        scope = scope_at(os.path.dirname(path))
        folder = (root / path).is_dir()
        return scope is None or scope.ignores(os.path.basename(path), folder=folder)

    return {path for path in paths if is_ignored(os.fsdecode(path))}


def fail(error: OSError) -> None:
    """Nothing here should be unreadable."""
    raise error


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One repository for every example: only its .gitignore files change."""
    root = tmp_path_factory.mktemp("repository")
    git(root, "init", "-q")
    (root / "a").mkdir()
    return root


@pytest.mark.parametrize(
    ("rules", "yes", "no"),
    [
        ("# a\n\n   \n", "", "a|#| a|# a"),
        ("\\#a\n\\!b", "#a|!b|x/#a", "a|b"),
        ("a  \nb\\ \nc\\  \nd\t", "a|b |c |d\t", "a  |b|c|c  |d"),
        ("a\r\nb\r", "a|b", "a\r|b\r"),
        ("\ufeffa", "a", ""),
        ("a", "a|x/a|a/x|x/y/a/z", "aa|b"),
        ("/a", "a|a/x", "x/a"),
        ("a/b", "a/b|a/b/c", "x/a/b|b"),
        ("a/", "a/x|x/a/y", "b"),
        ("x/a/", "x/a/b", "x/a|y/x/a/b"),
        ("*.md\n!keep.md", "a.md|x/a.md", "keep.md|x/keep.md"),
        ("!a\na", "a", ""),
        ("x\n!x/a", "x/a|x/b", ""),
        ("x/*\n!x/a", "x/b|x/b/a", "x/a"),
        ("/*\n!/x\n/x/*\n!/x/y", "a|x/a", "x/y|x/y/z"),
        ("a*b", "ab|axb|a*b", "a/b|abc"),
        ("x/*/z", "x/y/z", "x/z|x/y/y/z"),
        ("a?b", "axb|a?b", "ab|a/b|axxb"),
        ("a??b", "aéb", "axb"),
        ("**/a", "a|x/a|x/y/a", "xa"),
        ("x/**", "x/a|x/a/b", "y/x/a"),
        ("x/**/a", "x/a|x/y/a|x/y/z/a", "a|xa|x/ya"),
        ("**/x/**/a", "x/a|y/x/z/a", "x|a|y/a"),
        ("x/**\\/a", "x/y/a|x/y/z/a", "x/a"),
        ("x**y", "xy|x1y", "x/y|1/x/y"),
        ("***/a", "a|x/a", "b"),
        ("[abc]1", "a1|x/b1", "d1|1"),
        ("[a-c]", "a|b|c", "d|-"),
        ("[!a-c]", "d|-", "a|b|c"),
        ("[^a]", "b", "a"),
        ("[]a]", "]|a", "b"),
        ("[!]a]", "b", "]|a"),
        ("[a-]", "a|-", "b"),
        ("x[--0]", "x-|x.|x0", "x|xa"),
        ("[\\]a]", "]|a", "\\"),
        ("[a-\\c]", "a|b|c", "\\|d"),
        ("[c-a]", "c", "a|b"),
        ("x[[:digit:]a]", "x1|xa", "xb|x:|x["),
        ("x[[:nope:]]", "", "xn|x:|x[|x]"),
        ("x[[:alpha]", "x[|x:|xa|xl", "xb|x]"),
        ("[a", "", "a|[a|["),
        ("a\\", "", "a|a\\"),
        ("a\\\\", "a\\", "a"),
        ("\\*", "*", "a"),
        ("x[/]y", "", "x/y|x"),
        ("x[!a]y", "xby", "x/y"),
        ("a//b\n//c\nd//", "", "a/b|c|d/e|d"),
        ("/\n!\n!/", "", "a"),
        ("!!a\n!#b", "", "!a|#b"),
        ("a\nb\n!*", "", "a|b"),
        ("x/**/", "x/a/b", "x/a|x"),
        ("é*", "é|éa", "e"),
    ],
)
def test_explicit_patterns(repository: Path, rules: str, yes: str, no: str) -> None:
    """Each kind of pattern means here what it means to git."""
    (repository / ".gitignore").write_bytes(rules.encode())
    (repository / "a" / ".gitignore").unlink(missing_ok=True)
    expected = set(filter(None, yes.encode().split(b"|")))
    paths = [*expected, *filter(None, no.encode().split(b"|"))]
    assert expected == by_git(repository, paths)
    assert expected == by_us(repository, paths)


def test_every_class_holds_the_bytes_that_git_puts_in_it(repository: Path) -> None:
    """`[[:space:]]` and the other classes follow git's own tables, byte by byte."""
    names = b"alnum alpha blank cntrl digit graph lower print punct space upper xdigit"
    bytes_ = [bytes((n,)) for n in range(1, 256) if n != ord("/")]
    paths = [name + byte for name in names.split() for byte in bytes_]
    rules = b"".join(b"%s[[:%s:]]\n" % (name, name) for name in names.split())
    (repository / ".gitignore").write_bytes(rules)
    assert by_git(repository, paths) == by_us(repository, paths)


def test_stars_beside_a_name_cross_no_folder() -> None:
    """`a**/b` is `a*/b`; before 2.52, git took it for `a` followed by `**/b`."""
    rules = Rules(b"a**/b")
    assert rules.verdict(b"ax/b", folder=False) is True
    assert rules.verdict(b"ab", folder=False) is None
    assert rules.verdict(b"ax/y/b", folder=False) is None


def test_a_nul_ends_a_line() -> None:
    """What follows a NUL byte is no part of the pattern."""
    assert Rules(b"a\0b").verdict(b"a", folder=False) is True


NAMES = [
    b"a",
    b"b",
    b"ab",
    b"a.md",
    b".a",
    b"#a",
    b"!b",
    b" ",
    b"a ",
    b"-",
    b"]",
    b"\xc3\xa9",
    b"*",
]
PATHS = [
    *NAMES,
    *(folder + b"/" + name for folder in (b"a", b"b", b"ab", b"\xc3\xa9") for name in NAMES),
    *(b"a/b/" + name for name in NAMES),
    *(b"b/a/" + name for name in NAMES),
    *(b"a/a/b/" + name for name in NAMES),
]
SIGNS = "a b . md * * ? / / ** **/ /** \\ [ ] ! ^ - # : é \\/ \\* [a-b] [!a] [[:alpha:]] [:"
PIECES = [*SIGNS.split(" "), " ", "\t", "\r"]
_patterns = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
_files = st.lists(_patterns, max_size=5).map(lambda lines: "\n".join(lines).encode())


def understood(text: bytes) -> bytes:
    """The lines that every version of git reads alike."""
    misread = re.compile(rb"!?[^*?\[\\]*[^*?\[\\/!]\*\*|!![^*?\[\\]*\*\*")
    return b"\n".join(line for line in text.split(b"\n") if not misread.match(line))


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(exclude=_files, outer=_files, inner=_files)
@example(exclude=b"*", outer=b"!a", inner=b"!b\n/b/*\n!a")
def test_any_patterns_mean_what_they_mean_to_git(
    repository: Path, exclude: bytes, outer: bytes, inner: bytes
) -> None:
    """Whatever stands in .git/info/exclude and in .gitignore files, git and we agree."""
    (repository / ".git" / "info" / "exclude").write_bytes(understood(exclude))
    (repository / ".gitignore").write_bytes(understood(outer))
    (repository / "a" / ".gitignore").write_bytes(understood(inner))
    try:
        assert by_git(repository, PATHS) == by_us(repository, PATHS)
    finally:
        (repository / ".git" / "info" / "exclude").write_bytes(b"")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (b"*a" * 60 + b"b", b"a" * 250),
        (b"*a" * 60 + b"b", b"/".join([b"a" * 250] * 15)),
        (b"**/a/" * 60 + b"b", b"a/" * 1500 + b"c"),
        (b"**/*a*a*a*/" * 40 + b"b", b"aaaaaaaaaaaaaaaaaaa/" * 150 + b"c"),
        (b"**/" * 3000 + b"b", b"a/" * 1500 + b"c"),
        (b"**\\/" * 3000 + b"b", b"a/" * 1500 + b"c"),
        (b"/" + b"*?" * 120 + b"b", b"a" * 250),
        (b"[[:alpha:]]*" * 60 + b"1", b"a" * 250),
        (b"**/" + b"a/" * 700 + b"b", b"a/" * 1500 + b"c"),
    ],
)
def test_no_pattern_takes_long(pattern: bytes, path: bytes) -> None:
    """A pattern made to be slow takes time in proportion to the path, not a power of it."""
    rules = Rules(pattern)
    start = time.process_time()
    assert rules.verdict(path, folder=False) is None
    assert time.process_time() - start < 1


def test_the_last_of_many_patterns_decides() -> None:
    """Literal names, globs and paths are compared by where they stand in the file."""
    rules = Rules(b"*.md\n!a.md\n/x/a.md\n!x/*.md\n[a]?md\n!a.md")
    assert rules.verdict(b"b.md", folder=False) is True
    assert rules.verdict(b"x/b.md", folder=False) is False
    assert rules.verdict(b"x/a.md", folder=False) is False
    assert Rules(b"!a.md\n*.md").verdict(b"a.md", folder=False) is True
    assert Rules(b"*.md\n!a.md").verdict(b"a.md", folder=False) is False


def test_a_pattern_for_folders_leaves_files_alone() -> None:
    """`a/` and `*b/` speak of folders only."""
    rules = Rules(b"a/\n*b/\nx/c/\nx/*d/")
    for path in (b"a", b"ab", b"x/c", b"x/d"):
        assert rules.verdict(path, folder=True) is True
        assert rules.verdict(path, folder=False) is None


def test_rules_reach_down_from_the_root_of_the_repository(tmp_path: Path) -> None:
    """A folder is under the rules of every folder between it and the repository's root."""
    git(tmp_path, "init", "-q")
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("a\nb\nc\n")
    (tmp_path / ".gitignore").write_text("!a\n/x/y/d\n")
    (tmp_path / "x" / ".gitignore").write_text("!b\n/y/e\n")
    scope = scope_of(str(tmp_path / "x" / "y"), fail)
    assert [name for name in "abcdef" if scope.ignores(name, folder=False)] == ["c", "d", "e"]


def test_rules_above_a_repository_do_not_reach_into_it(tmp_path: Path) -> None:
    """A repository inside another, or below a stray .gitignore, has only its own rules."""
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (tmp_path / ".gitignore").write_text("a\n")
    (inner / ".gitignore").write_text("b\n")
    outer = scope_of(str(tmp_path), fail)
    for scope in (scope_of(str(inner), fail), scope_below(outer.below("inner"), str(inner), fail)):
        assert not scope.ignores("a", folder=False)
        assert scope.ignores("b", folder=False)


def test_without_a_repository_the_rules_begin_in_the_folder(tmp_path: Path) -> None:
    """No .gitignore above a folder counts unless a repository holds both."""
    (tmp_path / "x").mkdir()
    (tmp_path / ".gitignore").write_text("a\n")
    (tmp_path / "x" / ".gitignore").write_text("b\n")
    scope = scope_of(str(tmp_path / "x"), fail)
    assert not scope.ignores("a", folder=False)
    assert scope.ignores("b", folder=False)


def test_a_worktree_shares_the_patterns_of_its_repository(tmp_path: Path) -> None:
    """In a worktree .git is a file, and info/exclude is the main repository's."""
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", "../other")
    (main / ".git" / "info" / "exclude").write_text("a\n")
    other = tmp_path / "other"
    assert by_git(other, [b"a", b"b"]) == {b"a"}
    assert by_us(other, [b"a", b"b"]) == {b"a"}


@pytest.mark.parametrize("text", [b"gitdir: a\0b", b"gitdir: nowhere\n", b"", b"\xff"])
def test_a_git_file_that_points_nowhere_has_no_patterns(tmp_path: Path, text: bytes) -> None:
    """A damaged .git file is no reason to stop."""
    (tmp_path / ".git").write_bytes(text)
    (tmp_path / ".gitignore").write_text("a\n")
    assert scope_of(str(tmp_path), fail).ignores("a", folder=False)


def test_a_linked_gitignore_is_not_followed_but_reported(tmp_path: Path) -> None:
    """Git refuses a .gitignore that is a link; whoever asked hears of it."""
    git(tmp_path, "init", "-q")
    (tmp_path / "rules").write_text("a\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    assert by_git(tmp_path, [b"a"]) == set()
    errors: list[OSError] = []
    assert not scope_of(str(tmp_path), errors.append).ignores("a", folder=False)
    assert [error.filename for error in errors] == [str(tmp_path / ".gitignore")]


def test_a_gitignore_that_is_no_file_has_no_patterns(tmp_path: Path) -> None:
    """A folder or a pipe called .gitignore neither fails nor waits."""
    (tmp_path / "x").mkdir()
    (tmp_path / ".gitignore").mkdir()
    os.mkfifo(tmp_path / "x" / ".gitignore")
    assert not scope_of(str(tmp_path), fail).ignores("a", folder=False)
    assert not scope_of(str(tmp_path / "x"), fail).ignores("a", folder=False)
