"""A question on a terminal: in a box, or as numbered text if it is advisory or there can be no box.

The box is drawn on standard error, so that standard output stays free for what comes of it:
`result=$(quandary ask … --via terminal)` works.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from select import select
from shutil import get_terminal_size
from textwrap import wrap
from typing import TextIO

from msgspec.structs import replace

from quandary.desk.drafts import CLOSED, INTERRUPTED, NOTHING_TYPED, Draft, extra_labels
from quandary.desk.sheets import SEVERAL_NUMBERS, split_question, tell_fields
from quandary.errors import QuandaryError
from quandary.model.asks import Answer, Ask, Outcome, Question, Reply
from quandary.model.text import printable

NO_TERMINAL = "there is no terminal here; use --via relay"
WIDEST = 100  # lines with more cells than this are hard to read, however wide the terminal is
WAITS = "Not answered. The question still waits."

_NUMBERS = re.compile(r"#?(\d+)[.)]?(?:(?:\s*,\s*|\s+|\s*(?:,\s*)?(?:and|&)\s+)#?(\d+)[.)]?)*")


def available() -> bool:
    """Whether somebody can be asked here: keys come from a terminal, and one shows the question."""
    return _is_terminal(sys.stdin) and _screen() is not None


def ask(ask: Ask) -> Reply | Outcome:
    """Put the Ask before the person at this terminal and wait for the answers."""
    screen = _screen()
    if screen is None or not _is_terminal(sys.stdin):
        raise QuandaryError(NO_TERMINAL)
    if not _can_draw(screen, ask):
        try:
            return numbered(ask, lines_in=_replies(), out=screen)
        except OSError:
            return Outcome("dismissed", CLOSED)
    from quandary.doors.terminal.box import Box  # noqa: PLC0415 - textual is an extra, and large

    box = Box(ask)
    drop_typed_ahead()
    returned = box.put()
    lines = [draft.record() for draft in box.drafts] if isinstance(returned, Reply) else [WAITS]
    with suppress(OSError):  # the terminal may be gone, and that is no reason to lose a reply
        _say(screen, *lines)
    return returned


def show(ask: Ask) -> None:
    """Draw an Ask as `ask` does, and ask nobody; where no box can be drawn, as text."""
    screen = _screen()
    if available() and sys.stdout.isatty() and screen is not None and _can_draw(screen, ask):
        from quandary.doors.terminal.box import Box  # noqa: PLC0415 - textual is an extra, and large

        for number in range(len(ask.questions)):
            Box(ask).show(number)
        drop_typed_ahead()  # by the terminal, which is asked where its cursor is
        return
    _introduce(ask, sys.stdout)
    for question in ask.questions:
        _say(sys.stdout, *_listing(question), "")


def drop_typed_ahead() -> None:
    """Forget what was typed before a question is shown: it cannot be an answer to that."""
    with suppress(ImportError, OSError, ValueError):
        import termios  # noqa: PLC0415 - only where there are such terminals

        if os.isatty(sys.stdin.fileno()):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _replies() -> Iterator[str]:
    """What is typed below each prompt: a line, or several that came at once, as if pasted."""
    while text := sys.stdin.readline():
        while select([sys.stdin], [], [], 0)[0] and (line := sys.stdin.readline()):
            text += line
        yield text


def numbered(ask: Ask, *, lines_in: Iterable[str], out: TextIO) -> Reply | Outcome:
    """The Ask as plain text, question after question, a reply to each."""
    lines = iter(lines_in)
    _introduce(ask, out)
    answers: list[Answer] = []
    for question in ask.questions:
        draft, why = Draft(question, "plain"), ""
        try:
            _settle(draft, lines, out)
        except KeyboardInterrupt:
            why = INTERRUPTED
        if draft.answer is None:
            unsent = "1 answer was" if len(answers) == 1 else f"{len(answers)} answers were"
            _say(out, "", *([f"{unsent} not sent, and not kept."] if answers else []), WAITS)
            return Outcome("dismissed", why)
        answers.append(draft.answer)
        _say(out, draft.record(), "")
    return Reply(tuple(answers))


def _introduce(ask: Ask, out: TextIO) -> None:
    preamble = replace(ask.preamble, extras=()).text  # they stand below each question
    _say(out, *tell_notes(ask), *_plain(preamble, _width(out)), "")


def tell_notes(ask: Ask) -> list[str]:
    """The lines of the notes, but for those that the preamble says."""
    new = (note.text for note in ask.notes if note.text.strip() not in ask.preamble.text)
    return [printable(line) for text in new for line in text.split("\n")]


def _settle(draft: Draft, lines: Iterator[str], out: TextIO) -> None:
    """Ask one question until a line answers it, or there are no more lines."""
    _say(out, *_listing(draft.question))
    while draft.answer is None or draft.answer.prefix == "fill":
        if draft.answer is not None:
            draft.typed, draft.answer = draft.typed | draft.answer.values, None
            now = replace(draft.question, filled=draft.question.filled | draft.typed)
            _say(out, *(f"  {line}" for line in tell_fields(now)))
        drop_typed_ahead()
        out.write("> ")
        out.flush()
        if (line := next(lines, None)) is None:
            return
        if problem := _take(draft, line.strip()):
            _say(out, problem)


def _take(draft: Draft, text: str) -> str:
    """Make the answer out of a line; or say what to type instead."""
    question = draft.question
    last = len(question.rows)
    listed = question.choices and not draft.is_value(text) and _NUMBERS.fullmatch(text)
    numbers = re.findall(r"\d+", text) if listed else []
    if any(not 1 <= int(number) <= last for number in numbers):
        return f"Type a number from 1 to {last}, or your own words."
    if len(numbers) > 1 and not question.multi:
        return "Type one number."
    if numbers and question.value:  # no reader looks for a number in a value
        picked = (question.choices[int(numbers[0]) - 1].code,)
        return draft.keep(Answer(question.key, picked, raw=text))
    draft.at, draft.words = draft.other, text
    problem = draft.settle()
    return f"{NOTHING_TYPED} Ctrl-D leaves." if problem == NOTHING_TYPED else problem


def _listing(question: Question) -> list[str]:
    """The summary, the choices, Other last where there is more behind it, and the question."""
    summary, asked = ("", question.text) if question.value else split_question(question.text)
    # With its number before it, it would look like a choice.
    header = re.sub(rf"\A({re.escape(question.item)})\. (.+)", r"\2 (\1)", question.header)
    lines = [printable(header), *([printable(summary)] if summary else [])]
    for number, choice in enumerate(question.choices, 1):
        lines.append(printable(f"  {number}. {choice.shown}"))
        if choice.description:
            lines.append(printable(f"     {choice.description}"))
    other = f"{len(question.choices) + 1}. Other... (or an empty line)" * question.menu
    lines += [] if question.value else [f"  {other or 'Or type your own words.'}"]
    lines += [f"  {c.code}  {c.label}: {c.description}" for c in question.above[:1]]
    lines += [printable(f"  {label}") for label in extra_labels(question)]
    lines += [f"  {line}" for line in tell_fields(question)]
    lines += ["To change a value, type it as `name: value` first."] if question.fields else []
    lines.append(printable(asked))
    return [*lines, SEVERAL_NUMBERS.replace("`", "")] if question.multi else lines


def _say(out: TextIO, *lines: str) -> None:
    """Lines broken at spaces, their further rows as far in as their text."""
    width = _width(out)
    for line in lines:
        text = line.lstrip("0123456789.• ")
        indent = " " * (len(line) - len(text)) if line[:1] in ("•", " ") else ""
        rows = wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)
        out.write("".join(f"{row}\n" for row in rows or [""]))
    out.flush()


def _plain(text: str, width: int) -> list[str]:
    """Markdown without colours; as it was written where textual, an extra, is not there."""
    if find_spec("textual") is None:
        return [printable(line) for line in text.strip().split("\n")]
    from quandary.doors.terminal.box import lay_out  # noqa: PLC0415 - see above

    return ["".join(one.text for one in line).rstrip() for line in lay_out(text, width)]


def _width(out: TextIO) -> int:
    return min(get_terminal_size().columns, WIDEST) if out.isatty() else WIDEST


def _can_draw(screen: TextIO, ask: Ask) -> bool:
    """Whether the box is drawn: where the Ask wants it, with textual, in the main thread."""
    plain = ask.kind == "advisory" or os.environ.get("TERM", "dumb") in ("", "dumb")
    if plain or screen is not sys.stderr or find_spec("textual") is None:
        return False
    asyncio = sys.modules.get("asyncio.events")
    busy = asyncio is not None and asyncio._get_running_loop() is not None
    return not busy and threading.current_thread() is threading.main_thread()


def _screen() -> TextIO | None:
    return next((s for s in (sys.stderr, sys.stdout) if _is_terminal(s)), None)


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; one that was closed is not."""
    return stream is not None and not stream.closed and stream.isatty()
