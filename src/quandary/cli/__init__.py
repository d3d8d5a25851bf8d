"""The command line: one file per topic, each loaded when one of its commands is called.

What agents and hosts call again and again, a reply in the form that we print ourselves and the
hooks, is done without click, which takes longer to load than the reply takes to be recorded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from quandary.errors import QuandaryError

COMMANDS = {
    "check": "Find problems in the trees of Markdown files.",
    "fmt": "Format trees.",
    "rule": "Explain a rule of `check`.",
    "new": "Write a new tree.",
    "trees": "List the trees of the project.",
    "schema": "Print the JSON Schema of a file that people write.",
    "preview": "Show what a person will be asked, without asking.",
    "show": "Show a tree or a chart as text, JSON or a drawing.",
    "read": "Show how a typed reply would be read.",
    "ask": "Ask a person to decide, with a tree.",
    "split": "Ask a person to include, defer or cut each option of a list.",
    "gate": "Ask a person whether a phase may end.",
    "phase": "Keep work in phases that require proof.",
    "permit": "Have a person permit one exact action, once.",
    "walk": "Run a chart: agents do its steps, people are asked.",
    "reply": "Answer the question that a run waits for.",
    "next": "Show what a run waits for, or its result.",
    "advise": "Answer a person's follow-up question.",
    "amend": "Change an answer.",
    "undo": "Take back the last answer, as long as nothing followed from it.",
    "resume": "Resume a session that was parked with a question.",
    "withdraw": "End a waiting run without a decision.",
    "prefer": "Choose which questions you are asked.",
    "serve": "Answer questions in a browser, and serve the API.",
    "mcp": "Serve a chat client: tools for its agent, forms for its person.",
    "runs": "List runs.",
    "log": "Show what was asked and answered.",
    "decided": "List what was decided, by whom and when.",
    "report": "Show what happened on a walk, step by step.",
    "stats": "Count questions and how people answered them.",
    "worker": "Resume runs from a queue, on any number of machines.",
    "verify": "Check that nobody changed the journal.",
    "store": "Copy, back up or recover a journal.",
    "prune": "Delete old texts and keep the decisions.",
    "export": "Write a run to one file.",
    "import": "Add a run that another store wrote.",
    "install": "Set up a host to ask through quandary.",
    "uninstall": "Remove what `install` added.",
    "trust": "Trust what a project's settings name.",
    "doctor": "Show what is installed, what is missing, and how to fix it.",
    "hook": "Check and record the questions that a host asks itself.",
}
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
    words, debug = _without_debug(list(arguments))
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
        from quandary.cli.screen import complain  # noqa: PLC0415 - only when something failed

        message, status = _explain(error)
        complain(message)
    return status if isinstance(status, int) else 0


def _do(words: list[str]) -> object:
    """Do it, by the shortest way there is."""
    if words[:1] == ["reply"]:
        from quandary.cli import reply  # noqa: PLC0415 - one command at a time

        plain = reply.plain_words(words[1:])
        if plain is not None:
            return reply.answer(plain)
    if words[:2] in _HOOKS and len(words) <= 2 + (words[1] != "post"):
        from quandary.doors.hosts import hooks  # noqa: PLC0415 - one command at a time

        return hooks.run(*words[1:])
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


def _without_debug(words: list[str]) -> tuple[list[str], bool]:
    """The arguments but `--debug`, which is understood behind a command too."""
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word != "--debug"]
    return kept + words[end:], len(kept) < end


def _explain(error: BaseException) -> tuple[str, int]:
    """What to say of an error, and the exit status it leads to."""
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


def main() -> None:
    """The program."""
    sys.exit(work())


def work() -> int:
    """Do what the words say; what could not be said on standard error changes no status."""
    status = run(sys.argv[1:])
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return status
