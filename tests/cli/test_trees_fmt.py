"""`quandary fmt`: trees in canonical form, everything else as it was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from program import DEPLOY, PROGRAM, at_terminal, call, shell, start

LOOSE = DEPLOY.replace("\n    ", "\n        ").replace("\n  ", "\n    ").replace("- [", "*   [")
"""The same tree with wide bullets and deep indents."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(path: str, text: str) -> None:
    """A file with this text, line ends as they are."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text.encode())


def text_of(path: str) -> str:
    """The text of a file, line ends as they are."""
    return Path(path).read_bytes().decode()


def test_trees_are_rewritten_in_place(capsys: pytest.CaptureFixture[str]) -> None:
    """A tree is brought into canonical form where it stands, once and for all."""
    put("t.md", LOOSE)
    assert call(capsys, "fmt", "t.md") == (0, "", "rewrote t.md\n1 of 1 file rewritten\n")
    assert text_of("t.md") == DEPLOY
    assert call(capsys, "fmt", "t.md") == (0, "", "1 file, all in canonical form\n")


def test_a_file_in_order_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is nothing to change, the file is not even touched."""
    put("t.md", DEPLOY)
    before = Path("t.md").stat()
    call(capsys, "fmt", "t.md")
    after = Path("t.md").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_check_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """`--check` says by its status whether something would change."""
    put("a.md", LOOSE)
    put("b.md", DEPLOY)
    said = "would rewrite a.md\n1 of 2 files to rewrite\n"
    assert call(capsys, "fmt", "--check", "a.md", "b.md") == (1, "", said)
    assert text_of("a.md") == LOOSE
    assert call(capsys, "fmt", "--check", "b.md") == (0, "", "1 file, all in canonical form\n")


@pytest.mark.parametrize("end", ["\n", "\r\n", ""], ids=["LF", "CRLF", "no end"])
def test_diff_is_a_patch(capsys: pytest.CaptureFixture[str], end: str) -> None:
    """`--diff` writes nothing itself, but `patch` makes of it what `fmt` would have written."""
    text = "a\tb\x0bc\u2028d\n\n" + LOOSE + "\nlast words\n"
    text = text.replace("\n", end) if end else text.removesuffix("\n\nlast words\n")
    put("t.md", text)
    status, out, err = call(capsys, "fmt", "--diff", "t.md")
    assert (status, err) == (1, "would rewrite t.md\n1 of 1 file to rewrite\n")
    assert out.startswith("--- t.md\n+++ t.md\n@@ ")
    assert text_of("t.md") == text
    put("t.patch", out)
    subprocess.run(["patch", "--binary", "-s", "t.md", "t.patch"], check=True, capture_output=True)
    patched = text_of("t.md")
    put("t.md", text)
    call(capsys, "fmt", "t.md")
    assert patched == text_of("t.md")
    assert patched != text


def test_diff_of_nothing_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    """No change, no output, status 0."""
    put("t.md", DEPLOY)
    assert call(capsys, "fmt", "--diff", "t.md") == (0, "", "1 file, all in canonical form\n")


def test_diff_on_a_terminal_hides_nothing() -> None:
    """On a terminal a diff is coloured, and what a stranger wrote cannot drive it."""
    put("t.md", LOOSE.replace("Deploy now", "Deploy\x1b]0;title\x07 now"))
    shown = at_terminal("fmt", "--diff", "t.md")
    assert shown.status == 1
    assert "\x1b[32m+- [NOW] Deploy\\x1b]0;title\\x07 now\x1b[0m" in shown.out
    assert "\x1b" not in at_terminal("fmt", "--diff", "t.md", env={"NO_COLOR": "1"}).out


def test_check_and_diff_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    """Asking for both is wrong usage, and nothing is written."""
    put("t.md", LOOSE)
    status, out, err = call(capsys, "fmt", "--check", "--diff", "t.md")
    assert (status, out) == (2, "")
    assert err == "quandary: --check and --diff exclude each other; see quandary fmt --help\n"
    assert text_of("t.md") == LOOSE


@pytest.mark.parametrize("text", [LOOSE, DEPLOY, "", "no tree", LOOSE.replace("\n", "\r\n")])
def test_a_pipe(text: str) -> None:
    """`-` reads standard input and writes all of it, canonical or not a tree at all."""
    better = text.replace(LOOSE, DEPLOY)
    better = better.replace(LOOSE.replace("\n", "\r\n"), DEPLOY.replace("\n", "\r\n"))
    ended = subprocess.run(
        [*PROGRAM, "fmt", "-"],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    assert (ended.stdout.decode(), ended.stderr) == (better, b"")


@pytest.mark.parametrize(
    ("option", "text", "status"),
    [("--check", LOOSE, 1), ("--check", DEPLOY, 0), ("--diff", LOOSE, 1)],
)
def test_a_pipe_can_be_looked_at_too(option: str, text: str, status: int) -> None:
    """With `--check` and `--diff` the text itself is not written."""
    ended = start("fmt", option, "-", stdin=text)
    assert ended.status == status
    assert ended.out.startswith("--- -\n" if option == "--diff" else "")
    assert ended.err == ("would rewrite -\n" if status else "")


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no BOM", "BOM"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("last", [True, False], ids=["newline", "no newline"])
def test_the_shape_of_a_file_is_kept(
    capsys: pytest.CaptureFixture[str], mark: str, end: str, last: bool
) -> None:
    """Byte order mark, line ends and a missing last one stay as they are."""
    loose, tight = LOOSE, DEPLOY
    if not last:
        loose, tight = loose.removesuffix("\n"), tight.removesuffix("\n")
    put("t.md", mark + loose.replace("\n", end))
    assert call(capsys, "fmt", "t.md").status == 0
    assert text_of("t.md") == mark + tight.replace("\n", end)


def test_nothing_outside_trees_changes(capsys: pytest.CaptureFixture[str]) -> None:
    """Prose, lists, fences, comments and front matter are not a tree's business."""
    above = "---\ntitle:   x\n---\n\n*   loose\n\n\n*   list  \n\n<!--   note -->\n\n"
    below = f"\n# Next\n\n1)   one\n\t2)  two\n\n```\n{LOOSE}```\n \t \nlast   words  "
    put("t.md", above + LOOSE + below)
    assert call(capsys, "fmt", "t.md").status == 0
    assert text_of("t.md") == above + DEPLOY + below


@pytest.mark.parametrize("words", [["fmt", "."], ["fmt", "link.md"], ["check", "--fix", "."]])
def test_no_link_leads_out_of_the_project(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
) -> None:
    """A repository that brings such a link has nothing written elsewhere; the rest is done."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    for path in (tmp_path / "outside.md", root / "own.md"):
        path.write_text("## Decision: Lunch\n* [SOUP] Soup...\n* [OUT] Go out\n", encoding="utf-8")
    before = (tmp_path / "outside.md").read_bytes()
    Path("link.md").symlink_to(tmp_path / "outside.md")
    ended = call(capsys, *words)
    assert ended.status == 2
    assert f"link.md leads out of the project, to {tmp_path}/outside.md; not written" in ended.err
    assert (tmp_path / "outside.md").read_bytes() == before
    if "." in words:
        assert Path("own.md").read_bytes() != before


def test_mode_and_links_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """A file keeps its mode, a link stays a link, and nothing is left lying about."""
    put("real.md", LOOSE)
    Path("real.md").chmod(0o600)
    Path("link.md").symlink_to("real.md")
    assert call(capsys, "fmt", "link.md").status == 0
    assert Path("link.md").is_symlink()
    assert text_of("real.md") == DEPLOY
    assert Path("real.md").stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir()) == ["link.md", "real.md"]


def test_folders(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a path the current folder is meant, with all Markdown below it."""
    put("a/t.md", LOOSE)
    put(".claude/skills/t.md", LOOSE)
    put("b.txt", LOOSE)
    ended = call(capsys, "fmt")
    assert (ended.status, ended.out) == (0, "")
    assert ended.err == "rewrote .claude/skills/t.md\nrewrote a/t.md\n2 of 2 files rewritten\n"
    assert text_of("a/t.md") == text_of(".claude/skills/t.md") == DEPLOY
    assert text_of("b.txt") == LOOSE


def test_a_folder_without_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to do is status 2 and one line, as it is for `check`."""
    said = "quandary: .: no Markdown files below it\n"
    assert call(capsys, "fmt", ".") == (2, "", said)


def test_what_cannot_be_read_does_not_stop_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    """A bad path is one line and status 2; the good ones are rewritten all the same."""
    put("t.md", LOOSE)
    Path("b.md").write_bytes(b"\0")
    status, out, err = call(capsys, "fmt", "nowhere.md", "b.md", "t.md")
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        "quandary: nowhere.md: no such file or folder",
        "quandary: b.md: a binary file (NUL byte at offset 0)",
        "rewrote t.md",
        "1 of 1 file rewritten",
    ]
    assert text_of("t.md") == DEPLOY


def test_what_cannot_be_written_is_one_line() -> None:
    """A file that cannot be written stays as it is and is named; the rest goes on."""
    put("a.md", LOOSE)
    put("b.md", DEPLOY)
    status, out, err = shell('ulimit -f 0; exec "$@"', "fmt", "a.md", "b.md")
    assert (status, out) == (2, "")
    assert err.startswith("quandary: a.md: cannot be written (")
    assert err.endswith(")\n1 file, all in canonical form\n")
    assert text_of("a.md") == LOOSE
    assert sorted(os.listdir()) == ["a.md", "b.md"]


def test_a_read_only_file_is_left_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replacing a file does not get round its protection."""
    put("t.md", LOOSE)

    def refuse(path: str, mode: int) -> bool:
        assert (Path(path).name, mode) == ("t.md", os.W_OK)
        return False

    monkeypatch.setattr(os, "access", refuse)  # root may write to anything
    status, _, err = call(capsys, "fmt", "t.md")
    assert status == 2
    assert err.startswith("quandary: t.md: cannot be written (permission denied)\n")
    assert text_of("t.md") == LOOSE


@pytest.mark.parametrize("name", ["new\nline.md", "esc\x1b[31m.md", os.fsdecode(b"\xe9.md")])
def test_odd_file_names(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The name of a file never reaches the terminal raw."""
    put(name, LOOSE)
    status, out, err = call(capsys, "fmt", "--diff", ".")
    assert (status, err.count("\n")) == (1, 2)
    assert (out.splitlines()[0] + err.replace("\n", "")).isprintable()
    assert call(capsys, "fmt", ".").status == 0
    assert text_of(name) == DEPLOY
