"""Finding, reading and writing Markdown files, on a real file system."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quandary.errors import ParseError, QuandaryError
from quandary.settings import files
from quandary.settings.files import (
    markdown_files,
    project_root,
    read_standard_input,
    read_text,
    write_text,
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(*paths: str) -> None:
    """Empty files at these paths, and the folders they are in."""
    for path in map(Path, paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def git(*words: str) -> str:
    """What git prints, without anyone's own settings."""
    bare = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PATH": os.environ["PATH"],
        "XDG_CONFIG_HOME": os.devnull,
    }
    done = subprocess.run(["git", *words], env=bare, capture_output=True, check=True, text=True)
    return done.stdout


def found(path: str) -> list[str]:
    """The Markdown files below a path, where everything can be looked at."""

    def fail(error: ParseError) -> None:
        raise error

    return list(markdown_files(path, onerror=fail))


# finding


def test_markdown_by_any_of_its_endings_in_any_case() -> None:
    """`.md`, `.markdown`, `.mdx` and `.mdc` are Markdown, however they are capitalised."""
    make("a.md", "b.MARKDOWN", "c.Mdx", "d.mdc", "e.txt", "md", "f.md.bak", ".md")
    assert found(".") == [".md", "a.md", "b.MARKDOWN", "c.Mdx", "d.mdc"]


def test_files_come_in_the_order_of_their_paths() -> None:
    """The order is that of the whole paths as text, whatever the file system says."""
    make("b/z.md", "b/a.md", "a.md", "a/x.md", "a-b.md", "a/x/y.md", "b.md", "Z.md")
    assert found(".") == sorted(found("."))
    assert set(found(".")) == {
        "Z.md", "a-b.md", "a.md", "a/x.md", "a/x/y.md", "b.md", "b/a.md", "b/z.md",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".", "docs/in/a.md"),
        ("./", "docs/in/a.md"),
        ("docs", "docs/in/a.md"),
        ("docs/", "docs/in/a.md"),
        ("./docs", "./docs/in/a.md"),
        ("docs/in", "docs/in/a.md"),
        ("docs/../docs", "docs/../docs/in/a.md"),
    ],
)
def test_paths_come_back_in_the_form_given(path: str, expected: str) -> None:
    """A path begins as the user began it, and `.` begins nothing."""
    make("docs/in/a.md")
    assert found(path) == [expected]


def test_absolute_and_upward_paths_come_back_as_given(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An absolute path stays absolute; `..` stays `..`."""
    make("docs/a.md")
    assert found(str(here)) == [str(here / "docs" / "a.md")]
    monkeypatch.chdir("docs")
    assert found("..") == ["../docs/a.md"]


def test_hidden_folders_are_looked_into() -> None:
    """Skills live in `.claude`."""
    make(".claude/skills/a/SKILL.md")
    assert found(".") == [".claude/skills/a/SKILL.md"]


def test_folders_of_tools_are_skipped() -> None:
    """What version control, package managers and Python keep is nobody's Markdown."""
    for name in files.SKIPPED:
        make(f"{name}/a.md", f"x/{name}/y/a.md")
    make("node_modules.md", "venv/a.md")
    assert found(".") == ["node_modules.md", "venv/a.md"]


def test_a_folder_that_is_named_is_looked_into_even_if_skipped_or_ignored() -> None:
    """Naming a folder says more than a rule about it does; rules about its files still hold."""
    git("init", "-q")
    Path(".gitignore").write_text("build/\n*.tmp.md\n")
    make("node_modules/p/a.md", "build/docs/b.md", "build/docs/b.tmp.md")
    assert found(".") == []
    assert found("node_modules/p") == ["node_modules/p/a.md"]
    assert found("build") == ["build/docs/b.md"]
    assert found("build/docs") == ["build/docs/b.md"]


def test_gitignore_files_count_from_the_root_of_the_repository() -> None:
    """A folder deep in a repository is under the rules of the folders above it."""
    git("init", "-q")
    make("x/y/a.md", "x/y/b.md", "x/y/c.md", "x/y/d/c.md")
    Path(".gitignore").write_text("a.md\n")
    Path("x/.gitignore").write_text("/y/b.md\n")
    Path("x/y/d/.gitignore").write_text("*\n")
    assert found("x/y") == ["x/y/c.md"]
    assert found(".") == ["x/y/c.md"]


def test_without_a_repository_gitignore_files_count_from_the_folder() -> None:
    """Rules above the folder are of no repository."""
    make("x/a.md", "x/b.md", "x/y/b.md")
    Path(".gitignore").write_text("a.md\n")
    Path("x/.gitignore").write_text("b.md\n")
    assert found("x") == ["x/a.md"]


def test_a_repository_inside_has_its_own_rules() -> None:
    """A clone or a submodule shows the same files whether one starts in it or above."""
    git("init", "-q")
    git("init", "-q", "inner")
    make("a.md", "inner/a.md", "inner/b.md", "inner/c/b.md")
    Path(".gitignore").write_text("a.md\n")
    Path("inner/.git/info/exclude").write_text("/b.md\n")
    assert found("inner") == ["inner/a.md", "inner/c/b.md"]
    assert found(".") == ["inner/a.md", "inner/c/b.md"]


def test_links_to_files_count_and_links_to_folders_do_not() -> None:
    """A folder reached by a link could lead in circles; a file cannot."""
    make("real/a.md")
    Path("link.md").symlink_to("real/a.md")
    Path("folder").symlink_to("real")
    Path("folder.md").symlink_to("real")
    Path("real/up").symlink_to("..")
    assert found(".") == ["link.md", "real/a.md"]
    assert found("folder") == ["folder/a.md"]


def test_broken_links_and_pipes_are_skipped() -> None:
    """What cannot be read as a file is none."""
    make("a.md")
    Path("nowhere.md").symlink_to("nothing")
    Path("self.md").symlink_to("self.md")
    os.mkfifo("pipe.md")
    assert found(".") == ["a.md"]


def test_a_folder_may_be_called_like_a_file() -> None:
    """`notes.md` can be a folder with Markdown in it."""
    make("notes.md/a.md")
    assert found(".") == ["notes.md/a.md"]


def test_names_that_are_not_text_are_found() -> None:
    """A name of any bytes comes back so that it can be opened."""
    with open(b"\xff\n.md", "wb"):
        pass
    assert [read_text(path) for path in found(".")] == [""]


def test_very_deep_folders_are_found() -> None:
    """Depth does not exhaust the stack."""
    folders = ["d/" * depth for depth in range(1, 1010)]
    for folder in folders:
        os.mkdir(folder)
    file = folders[-1] + "a.md"
    make(file)
    assert found(".") == [file]
    # Python's own rmtree, with which pytest tidies up, would exhaust the stack.
    subprocess.run(["rm", "-r", "d"], check=True)


def test_a_file_that_is_named_comes_back() -> None:
    """A file needs no Markdown ending if the user names it."""
    make("README")
    assert found("README") == ["README"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nope", "nope: no such file or folder"),
        ("a.md/b", "a.md/b: no such file or folder"),
        ("", "'': no such file or folder"),
        ("a\0b", r"'a\x00b': no such file or folder"),
        ("x" * 300, "x" * 300 + ": file name too long"),
    ],
)
def test_a_path_that_is_not_there_is_an_error_at_once(path: str, message: str) -> None:
    """The error comes from the call, before anything is iterated over."""
    make("a.md")
    with pytest.raises(ParseError) as error:
        markdown_files(path)
    assert message == str(error.value)


def test_the_named_folder_must_be_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that the user named and that cannot be listed is an error of one line."""
    make("docs/a.md")
    refuse(monkeypatch, "docs")
    with pytest.raises(ParseError) as error:
        markdown_files("docs")
    assert str(error.value) == "docs: permission denied"


def test_an_inner_folder_that_is_unreadable_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files around it are found, and the caller can say what is missing."""
    make("a.md", "b/c.md", "d.md")
    refuse(monkeypatch, "b")
    errors: list[ParseError] = []
    assert list(markdown_files(".", onerror=errors.append)) == ["a.md", "d.md"]
    assert [str(error) for error in errors] == ["b: permission denied"]
    assert list(markdown_files(".")) == ["a.md", "d.md"]


def test_a_gitignore_that_is_unreadable_is_reported() -> None:
    """Rules that could not be read may have left files in."""
    make("x/a.md")
    Path("x/.gitignore").symlink_to(".gitignore")
    errors: list[ParseError] = []
    assert list(markdown_files(".", onerror=errors.append)) == ["x/a.md"]
    expected = ["x/.gitignore: too many levels of symbolic links"]
    assert [str(error) for error in errors] == expected


def test_a_worktree_shares_the_patterns_of_its_repository() -> None:
    """In a worktree .git is a file, and info/exclude is the main repository's."""
    git("init", "-q", "main")
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    git("-C", "main", *author, "commit", "-q", "--allow-empty", "-m", "first")
    git("-C", "main", "worktree", "add", "-q", "../other")
    Path("main/.git/info/exclude").write_text("a.md\n")
    make("other/a.md", "other/b.md")
    assert found("other") == ["other/b.md"]


@pytest.mark.parametrize("text", [b"gitdir: a\0b", b"gitdir: nowhere\n", b"", b"\xff"])
def test_a_git_file_that_points_nowhere_has_no_patterns(text: bytes) -> None:
    """A damaged .git file is no reason to stop."""
    make("a.md", "b.md")
    Path(".git").write_bytes(text)
    Path(".gitignore").write_bytes(b"\xef\xbb\xbfa.md\r\n//\n[\n\\\n\0\n\xff\n")
    assert found(".") == ["b.md"]


def test_a_gitignore_that_is_no_file_has_no_patterns() -> None:
    """A folder or a pipe called .gitignore neither fails nor waits."""
    make("a.md", ".gitignore/b.md", "x/c.md")
    os.mkfifo("x/.gitignore")
    assert found(".") == [".gitignore/b.md", "a.md", "x/c.md"]


def refuse(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """Let the system refuse to list one folder, as it would to anyone but root."""
    scandir = os.scandir

    def refusing(path: str) -> object:
        if path == folder:
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)


_lines = st.sampled_from(
    [
        *("a", "/a", "a/", "/b/", "*.md", "!a.md", "!b/", "a/*", "!a/b", "a/b.md", "**/b", "a/**"),
        *("a/**/b.md", "[ab].md", "[!a].md", "?.md", "*", "!*.mdx", "# a.md", "\\!a", "", "a.md "),
    ]
)
_rules = st.lists(_lines, max_size=4).map("\n".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with Markdown three folders deep."""
    root = tmp_path_factory.mktemp("repository")
    git("init", "-q", str(root))
    for folder in ("", "a", "b", "a/a", "a/b", "b/a", "b/c.md", "a/a/b"):
        (root / folder).mkdir(exist_ok=True)
        for name in ("a.md", "b.md", "c.txt", "d.mdx"):
            (root / folder / name).touch()
    return root


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(outer=_rules, inner=_rules, deep=_rules)
def test_the_files_found_are_those_that_git_would_add(
    repository: Path, outer: str, inner: str, deep: str
) -> None:
    """Of all files, the Markdown among what `git ls-files` lists is found."""
    (repository / ".gitignore").write_text(outer)
    (repository / "a" / ".gitignore").write_text(inner)
    (repository / "b" / "a" / ".gitignore").write_text(deep)
    listed = git("-C", str(repository), "ls-files", "-z", "-co", "--exclude-standard")
    expected = sorted(path for path in listed.split("\0") if path.endswith((".md", ".mdx")))
    assert expected == [os.path.relpath(path, repository) for path in found(str(repository))]


# reading


@pytest.mark.parametrize("text", ["", "\ufeff# ¶ASK\r\n", "a\rb\nc\r\n\n", "é\u2028\u0085", "\x1a"])
def test_text_is_read_and_written_back_unchanged(text: str) -> None:
    """A byte order mark, carriage returns and odd line ends survive both ways."""
    Path("t.md").write_bytes(text.encode())
    assert read_text("t.md") == text
    write_text("t.md", text)
    assert Path("t.md").read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"# Title\nabcd\xffef", "not UTF-8 text (byte 0xff at offset 12)"),
        (b"\xff\xfe#\0", "not UTF-8 text (byte 0xff at offset 0)"),
        (b"caf\xc3", "not UTF-8 text (byte 0xc3 at offset 3)"),
        (b"\xed\xa0\x80", "not UTF-8 text (byte 0xed at offset 0)"),
        (b"\x7fELF\0\xff", "a binary file (NUL byte at offset 4)"),
        (b"a\0", "a binary file (NUL byte at offset 1)"),
    ],
)
def test_what_is_not_text_is_refused(
    monkeypatch: pytest.MonkeyPatch, data: bytes, message: str
) -> None:
    """The message names the first byte that no text holds, for a file and for a pipe."""
    Path("t.md").write_bytes(data)
    with pytest.raises(ParseError) as error:
        read_text("t.md")
    assert str(error.value) == f"t.md: {message}"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with pytest.raises(ParseError) as error:
        read_standard_input()
    assert str(error.value) == f"-: {message}"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nope.md", "nope.md: no such file"),
        ("", "'': no such file"),
        ("t.md/x.md", "t.md/x.md: no such file"),
        ("docs", "docs: a folder, not a file"),
        ("loop.md", "loop.md: too many levels of symbolic links"),
        ("x" * 300, "x" * 300 + ": file name too long"),
        ("a\0b", r"'a\x00b': no such file"),
        ("a\nb", r"'a\nb': no such file"),
        ("\udcff.md", r"'\udcff.md': no such file"),
        ("\ud800.md", r"'\ud800.md': no such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_of_one_line(path: str, message: str) -> None:
    """Each reason has its words, and the path cannot break the line."""
    make("t.md", "docs/t.md")
    Path("loop.md").symlink_to("loop.md")
    with pytest.raises(ParseError) as error:
        read_text(path)
    assert message == str(error.value)


def test_a_file_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Permission denied is said so."""

    def refusing(path: str, flags: int) -> object:
        raise PermissionError(13, "Permission denied", path, flags)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refusing)
        with pytest.raises(ParseError) as error:
            read_text("t.md")
    assert str(error.value) == "t.md: permission denied"


def test_standard_input_is_read_like_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its newlines and byte order mark stay."""
    data = "\ufeffé\r\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="ascii"))
    assert read_standard_input() == "\ufeffé\r\n"


@pytest.mark.parametrize("closed", [True, False])
def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch, closed: bool) -> None:
    """A program started without standard input says so."""
    stdin = io.TextIOWrapper(io.BytesIO())
    stdin.close()
    monkeypatch.setattr(sys, "stdin", stdin if closed else None)
    with pytest.raises(ParseError) as error:
        read_standard_input()
    assert str(error.value) == "-: standard input is closed"


def test_standard_input_that_fails() -> None:
    """A folder as standard input is refused like one that is named."""
    code = (
        "import os, sys; os.dup2(os.open('/', os.O_RDONLY), 0);"
        "from quandary.settings.files import read_standard_input as r\n"
        "try: r()\n"
        "except Exception as e: print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input="", capture_output=True, check=True, text=True
    )
    assert done.stdout == "-: a folder, not a file\n"


# writing


def test_a_new_file_has_the_usual_mode() -> None:
    """A file that was not there is made like any other."""
    make("other.md")
    write_text("t.md", "a\n")
    assert Path("t.md").read_text() == "a\n"
    assert Path("t.md").stat().st_mode == Path("other.md").stat().st_mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o666])
def test_the_mode_of_a_file_stays(mode: int) -> None:
    """Writing does not change who may read the file."""
    make("t.md")
    Path("t.md").chmod(mode)
    write_text("t.md", "a\n")
    assert stat.S_IMODE(Path("t.md").stat().st_mode) == mode


def test_the_owner_of_a_file_stays_if_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root hands the file back; for others the write goes through all the same."""
    make("t.md")
    asked: list[tuple[int, int]] = []

    def refusing(_path: str, owner: int, group: int) -> None:
        asked.append((owner, group))
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refusing)
    write_text("t.md", "a\n")
    before = Path("t.md").stat()
    assert asked == [(before.st_uid, before.st_gid)]
    assert Path("t.md").read_text() == "a\n"


def test_a_link_stays_a_link() -> None:
    """The file that a link leads to is written, also if it is not there yet."""
    make("docs/t.md")
    Path("link.md").symlink_to("docs/t.md")
    Path("second.md").symlink_to("link.md")
    Path("new.md").symlink_to("docs/new.md")
    write_text("second.md", "a\n")
    write_text("new.md", "b\n")
    assert [os.readlink(p) for p in ("link.md", "second.md")] == ["docs/t.md", "link.md"]
    assert Path("docs/t.md").read_text() == "a\n"
    assert Path("new.md").is_symlink()
    assert Path("docs/new.md").read_text() == "b\n"
    assert sorted(os.listdir("docs")) == ["new.md", "t.md"]


def test_a_name_as_long_as_can_be() -> None:
    """The temporary file's name does not grow with the file's."""
    write_text("x" * 252 + ".md", "a")
    assert read_text("x" * 252 + ".md") == "a"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("docs", "a folder, not a file"),
        ("pipe.md", "not a regular file"),
        ("t.md/x.md", "not a directory"),
        ("nope/x.md", "no such file or directory"),
        ("loop.md", "too many levels of symbolic links"),
        ("x" * 300, "file name too long"),
        ("", "a folder, not a file"),
    ],
)
def test_what_cannot_be_written_is_an_error_of_one_line(path: str, reason: str) -> None:
    """Nothing is changed and no temporary file is left."""
    make("t.md", "docs/t.md")
    os.mkfifo("pipe.md")
    Path("loop.md").symlink_to("loop.md")
    before = sorted(os.listdir())
    with pytest.raises(QuandaryError) as error:
        write_text(path, "a")
    assert str(error.value) == f"{path or repr(path)}: cannot be written ({reason})"
    assert sorted(os.listdir()) == before
    assert Path("loop.md").is_symlink()


def test_a_read_only_file_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder may allow the move, but the file says not to."""
    Path("t.md").write_text("old")
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    with pytest.raises(QuandaryError) as error:
        write_text("t.md", "new")
    assert str(error.value) == "t.md: cannot be written (permission denied)"
    assert Path("t.md").read_text() == "old"


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file_alone(
    monkeypatch: pytest.MonkeyPatch, step: str, fault: BaseException
) -> None:
    """Whatever goes wrong on the way, the old text stays and no temporary file does."""
    Path("t.md").write_text("old")

    def failing(*_: object) -> None:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(os, step, failing)
        with pytest.raises((QuandaryError, KeyboardInterrupt)) as error:
            write_text("t.md", "new")
    if isinstance(fault, OSError):
        assert str(error.value) == "t.md: cannot be written (no space left on device)"
    assert os.listdir() == ["t.md"]
    assert Path("t.md").read_text() == "old"


def test_text_that_utf_8_cannot_hold_is_refused() -> None:
    """Half a surrogate pair has no bytes; the file stays as it is."""
    Path("t.md").write_text("old")
    with pytest.raises(QuandaryError) as error:
        write_text("t.md", "ab\ud800")
    assert str(error.value) == "t.md: not written, no UTF-8 for U+D800 at offset 2"
    assert Path("t.md").read_text() == "old"


# the project


@pytest.mark.parametrize("mark", ["quandary.toml", ".quandary/x", ".git/x", ".git"])
def test_the_project_is_the_nearest_folder_with_a_mark(here: Path, mark: str) -> None:
    """A settings file, Quandary's own folder or a repository makes a project."""
    make(".git", "p/docs/in/t.md", f"p/{mark}")
    for start in ("p/docs/in/t.md", "p/docs/in", "p/docs/nope", "p"):
        assert project_root(start) == str(here / "p")
    assert project_root(".") == str(here)


def test_no_mark_no_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any mark up to the top there is no project."""
    monkeypatch.setattr(files, "ROOT_MARKS", ("no-such-mark-anywhere",))
    assert project_root(".") is None


def test_no_project_in_a_folder_that_is_gone(here: Path) -> None:
    """A deleted current folder is in no project, and holds no files to find."""
    gone = here / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert project_root(".") is None
    with pytest.raises(ParseError) as error:
        markdown_files(".")
    assert str(error.value) == ".: no such file or folder"


def test_imports_stay_light() -> None:
    """Finding files needs nothing that is slow to load."""
    code = (
        "import sys; before = set(sys.modules); import quandary.settings.files;"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        check=True,
        text=True,
    )
    heavy = {"pathlib", "subprocess", "tempfile", "fnmatch", "dataclasses", "shutil", "inspect"}
    assert not heavy & set(done.stdout.split())


def test_no_pattern_of_git_takes_for_ever() -> None:
    """A repository's list of what git ignores is somebody else's text."""
    name = "a" * 200
    make(f"{name}.md", f"{name}/x.md", "b.md")
    Path(".gitignore").write_text("*a" * 40 + "*c\n" + "b*\n", encoding="utf-8")
    begin = time.monotonic()
    assert found(".") == [f"{name}.md", f"{name}/x.md"]
    assert time.monotonic() - begin < 5


def test_what_has_no_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository can bring pipes and links to devices, as documents and as files of git's."""
    monkeypatch.setattr(files, "LARGEST", 1 << 20)
    make("a.md", ".git/info/x")
    with pytest.raises(ParseError, match=r"^/dev/zero: larger than 1 MiB"):
        read_text("/dev/zero")
    Path("zero.md").symlink_to("/dev/zero")
    os.mkfifo("pipe.md")
    for name in ("zero.md", "pipe.md"):
        with pytest.raises(ParseError, match=rf"^{name}: not a regular file"):
            read_text(name)
    Path(".git/info/exclude").symlink_to("/dev/zero")
    complaints: list[ParseError] = []
    assert list(markdown_files(".", onerror=complaints.append)) == ["a.md"]
    assert "larger than 1 MiB" in str(complaints[0])
    assert files.is_ignored(os.path.abspath("a.md"), os.getcwd())
