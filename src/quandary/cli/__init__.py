"""The command line: one small file per command, each loaded when it is called."""

from __future__ import annotations

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
    "show": "Show a tree as text, JSON or a picture.",
}
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

        command = getattr(import_module(f"quandary.cli.{cmd_name}"), cmd_name)
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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every command explains itself with --help.",
)
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
@click.version_option(__version__, prog_name="quandary", message="%(prog)s %(version)s")
def quandary(debug: bool) -> None:
    """Decisions between agents and people: declared in Markdown, checked, shown.

    A tree is a list of options under a `¶ASK_NAME` heading. `quandary check .` finds every tree
    below this folder and says what is wrong with it.
    """


def run(arguments: Sequence[str]) -> int:
    """Do what the arguments say and return the exit status; every error is one line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = quandary.main(list(arguments), prog_name="quandary", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as request:
        return request.exit_code
    except BrokenPipeError:
        # Whoever read our output has gone, and there is nobody left to tell.
        _drop_output()
        return 1
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in arguments and not isinstance(error, click.ClickException):
            raise
        return _say(*_explain(error))
    return status if isinstance(status, int) else 0


def _explain(error: BaseException) -> tuple[str, int]:
    """What to say of an error, and the exit status it leads to."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted", INTERRUPTED
    if isinstance(error, click.ClickException):
        return _usage(error), 2
    if isinstance(error, QuandaryError):
        return str(error), error.status
    kind = type(error).__name__
    return f"internal error ({kind}: {error}); run it again with --debug", 1


def _usage(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    if isinstance(error, click.UsageError) and context is not None and context.parent is not None:
        return f"{message.rstrip('.')}; see {context.command_path} --help"
    return message


def _say(message: str, status: int) -> int:
    from contextlib import suppress  # noqa: PLC0415 - only when something failed

    from quandary.cli.screen import complain  # noqa: PLC0415

    with suppress(OSError):  # standard error is closed: the exit status has to do
        complain(message)
    return status


def _drop_output() -> None:
    import os  # noqa: PLC0415 - only when a pipe broke

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """The program."""
    sys.exit(run(sys.argv[1:]))
