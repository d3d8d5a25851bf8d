"""The command line: one file per topic, each loaded when one of its commands is called.

Here is what they have in common: errors, and what is at the other ends of standard input and
output. What agents and hosts call again and again, a reply in the form that we print ourselves and
the hooks, is done without click, which takes longer to load than the reply takes to be recorded.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from quandary.errors import QuandaryError, Rejected

if TYPE_CHECKING:
    from quandary.journal.store import Watch

COMMANDS = {
    "check": ("trees", "Find problems in the trees of Markdown files."),
    "fmt": ("trees", "Format trees."),
    "rule": ("trees", "Explain a rule of `check`."),
    "new": ("authors", "Write a new tree."),
    "trees": ("authors", "List the trees of the project."),
    "schema": ("authors", "Print the JSON Schema of a file that people write."),
    "preview": ("authors", "Show what a person will be asked, without asking."),
    "show": ("trees", "Show a tree or a chart as text, JSON or a drawing."),
    "read": ("runs", "Show how a typed reply would be read."),
    "ask": ("asking", "Ask a person to decide, with a tree."),
    "split": ("asking", "Ask a person to include, defer or cut each option of a list."),
    "gate": ("asking", "Ask a person whether a phase may end."),
    "phase": ("phases", "Keep work in phases that require proof."),
    "permit": ("asking", "Have a person permit one exact action, once."),
    "walk": ("walking", "Run a chart: agents do its steps, people are asked."),
    "reply": ("console", "Answer the question that a run waits for."),
    "next": ("runs", "Show what a run waits for, or its result."),
    "advise": ("runs", "Answer a person's follow-up question."),
    "amend": ("runs", "Change an answer."),
    "undo": ("runs", "Take back the last answer, as long as nothing followed from it."),
    "resume": ("servers", "Resume a session that was parked with a question."),
    "withdraw": ("runs", "End a waiting run without a decision."),
    "prefer": ("preferences", "Choose which questions you are asked."),
    "serve": ("servers", "Answer questions in a browser, and serve the API."),
    "mcp": ("servers", "Serve a chat client: tools for its agent, forms for its person."),
    "runs": ("runs", "List runs."),
    "log": ("runs", "Show what was asked and answered."),
    "decided": ("runs", "List what was decided, by whom and when."),
    "report": ("walking", "Show what happened on a walk, step by step."),
    "stats": ("preferences", "Count questions and how people answered them."),
    "worker": ("servers", "Resume runs from a queue, on any number of machines."),
    "verify": ("journal", "Check that nobody changed the journal."),
    "store": ("journal", "Copy, back up or recover a journal."),
    "prune": ("journal", "Delete old texts and keep the decisions."),
    "export": ("journal", "Write a run to one file."),
    "import": ("journal", "Add a run that another store wrote."),
    "install": ("setup", "Set up a host to ask through quandary."),
    "uninstall": ("setup", "Remove what `install` added."),
    "trust": ("setup", "Trust what a project's settings name."),
    "doctor": ("doctor", "Show what is installed, what is missing, and how to fix it."),
    "hook": ("servers", "Check and record the questions that a host asks itself."),
}
"""Every command: the file of this room that it is in, and what it is for."""
GROUPS = {
    "Declare": "new trees preview schema check fmt rule show read",
    "Ask": "ask split gate phase permit walk",
    "Answer": "reply next advise amend undo withdraw resume prefer serve mcp",
    "Look back": "runs log decided report stats",
    "Operate": "worker verify store prune export import install uninstall trust doctor",
}
"""The commands as help lists them. `hook` is called by hosts, and by nobody else."""
INTERRUPTED = 130
_HOOKS = (["hook", "pre"], ["hook", "post"], ["hook", "permission"], ["hook", "session"])


def run(arguments: Sequence[str]) -> int:
    """Do what the arguments say and return the exit status; every error is one line."""
    _prepare_streams()
    words = list(arguments)
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word != "--debug"]
    words, debug = kept + words[end:], len(kept) < end
    try:
        status = _do(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone, and there is nobody left to tell.
        _drop_output()
        return 1
    except SystemExit as request:  # click's own, for completion and for broken pipes
        status = request.code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last stop
        if debug:
            from traceback import print_exception  # noqa: PLC0415 - only for --debug

            print_exception(error)
        if isinstance(error, OSError):
            _drop_output()
        message, status = _explain(error)
        complain(message)
    return status if isinstance(status, int) else 0


def _do(words: list[str]) -> object:
    if words[:1] == ["reply"]:
        from quandary.cli import console  # noqa: PLC0415 - one command at a time

        if (plain := console.plain_words(words[1:])) is not None:
            return console.answer(plain)
    if words[:2] in _HOOKS and len(words) <= 2 + (words[1] != "post"):
        from quandary.doors import hosts  # noqa: PLC0415 - one command at a time

        return hosts.run(*words[1:])
    from quandary.cli.program import quandary  # noqa: PLC0415 - everything else

    return quandary.main(words, prog_name="quandary", standalone_mode=False)


def _prepare_streams() -> None:
    """Have both streams take whatever is written, even where the caller closed them."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - till the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _explain(error: BaseException) -> tuple[str, int]:
    known = None
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, QuandaryError):
        return str(error), error.status
    if isinstance(error, UnicodeEncodeError):  # bytes of a command line that are no characters
        return "what was given is not UTF-8 text; write it in UTF-8", 2
    if isinstance(error, OSError) and error.filename is None:  # a stream: files have names
        if isinstance(error, FileNotFoundError):
            return "the current folder is gone; change to another one", 2
        return f"the output cannot be written ({error.strerror or error})", 1
    if "click" in sys.modules:
        from quandary.cli.program import explain  # noqa: PLC0415 - as it is loaded anyway

        known = explain(error)
    kind = type(error).__name__
    return known or (f"internal error ({kind}: {error}); run it again with --debug", 1)


def _drop_output() -> None:
    """Forget what could not be written, or the interpreter would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def work() -> int:
    """Do what the words say; what could not be said on standard error changes no status."""
    status = run(sys.argv[1:])
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return status


def coloured() -> bool:
    """Whether to colour: on a terminal, unless the person asked for none."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, **style: Any) -> str:  # noqa: ANN401 - as click has them
    """A text in colour, where there are colours."""
    if not coloured():
        return text
    import click  # noqa: PLC0415 - slow, and a reply does without

    return click.style(text, **style)


def draw_diff(path: str, before: str | None, after: str | None) -> str:
    """A change as `patch` takes it; no text means no file. On a terminal, nothing is hidden."""
    from difflib import unified_diff  # noqa: PLC0415 - rarely wanted
    from io import StringIO  # noqa: PLC0415 - the same

    from quandary.model.text import printable  # noqa: PLC0415 - the same

    texts = (before, after)
    left, right = (os.devnull if text is None else printable(path) for text in texts)
    # For `patch`, only line feeds end a line.
    old, new = (StringIO(text or "", newline="\n").readlines() for text in texts)
    lines = []
    for line in unified_diff(old, new, left, right):
        text = line.removesuffix("\n")
        end = "\n" if text != line else "\n\\ No newline at end of file\n"
        text = printable(text) if sys.stdout.isatty() else text
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[0])
        lines.append((paint(text, fg=colour) if colour else text) + end)
    return "".join(lines)


def width() -> int:
    """How many columns there are; a pipe has no edge worth wrapping at."""
    if not sys.stdout.isatty():
        return 100
    import shutil  # noqa: PLC0415 - only on a terminal

    return min(max(shutil.get_terminal_size().columns, 40), 120)


def put(text: str | bytes) -> None:
    """Write to standard output as it is."""
    if isinstance(text, bytes):
        sys.stdout.flush()
        sys.stdout.buffer.write(text)
    else:
        sys.stdout.write(text)
    sys.stdout.flush()


def put_json(value: object, *, indent: int = -1) -> None:
    """Write one JSON document to standard output, for programs."""
    import msgspec  # noqa: PLC0415 - not for `--help`

    put(msgspec.json.format(msgspec.json.encode(value), indent=indent) + b"\n")


def write_to(output: str | None, written: bytes) -> None:
    """Write a document to a file, all of it or nothing, or to standard output."""
    from quandary.settings.files import write_text  # noqa: PLC0415 - not for `--help`

    if output in (None, "-"):
        put(written)
    else:
        write_text(output, written.decode())
        tell(f"written to {output}")


def tell(line: str) -> None:
    """A line for the person, on standard error; with that closed, the exit status has to do."""
    from quandary.model.text import printable  # noqa: PLC0415 - not for `--help`

    with suppress(OSError):
        print(printable(line), file=sys.stderr, flush=True)


def complain(line: str) -> None:
    """A line about something that went wrong while the rest goes on."""
    tell(f"quandary: {line}")


_BAR = 20
_PAUSE = 0.1  # seconds for which a person can read how far something is


@contextmanager
def show_progress() -> Iterator[Watch]:
    """Give what is told how far something is; on a terminal a line shows it, for that long."""
    from shutil import get_terminal_size  # noqa: PLC0415 - only for what takes long
    from time import monotonic  # noqa: PLC0415 - the same

    shown = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    last = 0.0

    def watch(done: int, total: int, what: str) -> None:
        nonlocal last
        if not shown or (last and monotonic() - last < _PAUSE):
            return
        last = monotonic()
        part = min(done / total, 1) if total else 0
        bar = f"[{'#' * int(part * _BAR):.<{_BAR}}] {part:4.0%}  " if total else ""
        line = f"{bar}{done:,}{f' of {total:,}' if total else ''} {what}"
        sys.stderr.write(f"\r\x1b[K{line[: get_terminal_size().columns - 1]}")
        sys.stderr.flush()

    try:
        yield watch
    finally:
        if last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def is_terminal() -> bool:
    """Whether a person can be asked right here."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


SILENCE = 1.0  # seconds that an open pipe may say nothing before it is taken to be nobody's


def read_pipe(largest: int) -> str:
    """The text on standard input, if it is a file or a pipe; an open silent pipe has none."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return ""
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    data = bytearray()
    import select  # noqa: PLC0415 - rarely wanted

    while select.select([descriptor], [], [], SILENCE)[0]:
        if not (part := os.read(descriptor, 1 << 16)):
            break
        data += part
        if len(data) > largest:
            raise Rejected(f"more than {largest >> 20} MiB were piped in; name a file instead")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Rejected(f"what was piped in is not UTF-8 text (byte {error.start})") from None
