"""The command line: one small file per command, each loaded when it is called."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

import click

from quandary import __version__
from quandary.errors import QuandaryError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "check": "Find what is wrong with the trees in Markdown files.",
    "fmt": "Write trees in canonical form.",
    "rule": "Explain a rule of `check`.",
    "show": "Show a tree or a chart as text, JSON or a picture.",
    "ask": "Put a tree before a person.",
    "split": "Have a person decide about every option of a list.",
    "gate": "Ask a person whether a phase may be left.",
    "phase": "Keep work in phases that ask for proof.",
    "walk": "Run a chart: agents do its steps, people are asked.",
    "reply": "Answer what a run waits for.",
    "next": "Say what a run waits for, or what came of it.",
    "advise": "Tell a person who is deciding what they wanted to know.",
    "read": "Say how a reply would be read.",
    "runs": "List runs.",
    "log": "Show what was asked and answered.",
    "report": "Tell what happened on a walk, step by step.",
    "amend": "Change an answer afterwards.",
    "withdraw": "End a run that nobody needs any more.",
    "serve": "Show what waits in a browser, and take the answers.",
    "mcp": "Serve a chat client: tools for its agent, forms for its person.",
    "prefer": "Say which questions you want to be asked.",
    "stats": "Count the questions and what people make of them.",
    "hook": "Judge and keep the questions that a host asks by itself.",
    "verify": "Check that the journal is what was written.",
    "store": "Move, save or rescue a journal.",
    "prune": "Take out what was said long ago, and keep what was decided.",
    "export": "Write a run as one file.",
    "import": "Keep a run that another store wrote.",
    "install": "Teach a host to ask through quandary.",
    "uninstall": "Take out what `install` added.",
    "doctor": "Say what is installed, what is missing, and how to mend it.",
}
_NAMES = {"import": "import_"}
"""Commands that Python has another use for, and what they are called there."""
INTERRUPTED = 130


class Commands(click.Group):
    """The commands by name; asking for help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every command there is."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name, loaded now."""
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module  # noqa: PLC0415 - one command at a time

        name = _NAMES.get(cmd_name, cmd_name)
        command = getattr(import_module(f"quandary.cli.{name}"), name)
        gc.enable()
        assert isinstance(command, click.Command)  # noqa: S101 - true of every file in this room
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of commands, from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when there is none of that name."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches  # noqa: PLC0415 - only after a mistake

            close = get_close_matches(name, COMMANDS, n=1)
            hint = f"; did you mean {close[0]}?" if close else "; see quandary --help"
            raise click.UsageError(f"no command {name!r}{hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every command explains itself with --help.",
)
@click.option(
    "--debug", is_flag=True, expose_value=False, help="Show a traceback when something fails."
)
@click.version_option(__version__, prog_name="quandary", message="%(prog)s %(version)s")
@click.pass_context
def quandary(context: click.Context) -> int:
    """Decisions between agents and people: declared in Markdown, checked, shown.

    A tree is a list of options under a `¶ASK_NAME` heading. `quandary check .` finds every tree
    below this folder and says what is wrong with it.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
    return 2


def run(arguments: Sequence[str]) -> int:
    """Do what the arguments say and return the exit status; every error is one line."""
    _prepare_streams()
    words, debug = _without_debug(list(arguments))
    try:
        status = quandary.main(words, prog_name="quandary", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone, and there is nobody left to tell.
        _drop_output()
        return 1
    except SystemExit as request:  # click's own, for completion and for broken pipes
        status = request.code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last stop
        if debug:
            _show_traceback(error)
        if isinstance(error, OSError):
            _drop_output()
        return _say(*_explain(error))
    return status if isinstance(status, int) else 0


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
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted", INTERRUPTED
    if isinstance(error, click.ClickException):
        return _usage(error), 2
    if isinstance(error, QuandaryError):
        return str(error), error.status
    if isinstance(error, UnicodeEncodeError):  # bytes of a command line that are no characters
        return "what was given is not UTF-8 text; write it in UTF-8", 2
    if isinstance(error, OSError) and error.filename is None:
        return _nameless(error)
    kind = type(error).__name__
    return f"internal error ({kind}: {error}); run it again with --debug", 1


def _nameless(error: OSError) -> tuple[str, int]:
    """Of a file there would be a name; this is a stream, or the folder that we stand in."""
    if isinstance(error, FileNotFoundError):
        return "the current folder is gone; change to another one", 2
    return f"the output cannot be written ({error.strerror or error})", 1


def _usage(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    if context is None or context.parent is None or message.endswith("?"):
        return message
    return f"{message.rstrip('.')}; see {context.command_path} --help"


def _show_traceback(error: BaseException) -> None:
    from traceback import print_exception  # noqa: PLC0415 - only for --debug

    print_exception(error)


def _say(message: str, status: int) -> int:
    from quandary.cli.screen import complain  # noqa: PLC0415 - only when something failed

    complain(message)
    return status


def _drop_output() -> None:
    """Forget what could not be written, or the interpreter would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """The program."""
    sys.exit(run(sys.argv[1:]))
