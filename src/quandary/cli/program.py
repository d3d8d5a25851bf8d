"""The commands as click knows them, each loaded when it is called, and options they share."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from quandary import __version__
from quandary.cli import COMMANDS, GROUPS, INTERRUPTED

if TYPE_CHECKING:
    Command = TypeVar("Command", bound=Callable[..., object])

_TOPICS = {
    "trees": "check fmt rule show",
    "authors": "new trees preview schema",
    "asking": "ask split gate",
    "phases": "phase",
    "permits": "permit",
    "walking": "walk report",
    "servers": "worker serve mcp hook resume",
    "reply": "reply",
    "runs": "next advise read runs log decided amend undo withdraw",
    "preferences": "prefer stats",
    "journal": "verify store prune export import",
    "setup": "install uninstall trust",
    "doctor": "doctor",
}
"""The files of this room, and the commands in each."""
_HOMES = {name: topic for topic, names in _TOPICS.items() for name in names.split()}


class Commands(click.Group):
    """The commands by name; asking for help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name, loaded now."""
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module  # noqa: PLC0415 - one command at a time

        topic = import_module(f"quandary.cli.{_HOMES[cmd_name]}")
        found = getattr(topic, f"{cmd_name}_command")
        gc.enable()
        # One that is mostly used without click is made only now.
        command: click.Command = found if isinstance(found, click.Command) else found()
        if "_QUANDARY_COMPLETE" in os.environ:
            from quandary.cli.completion import complete_values  # noqa: PLC0415 - for a shell only

            complete_values(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The commands in groups, from the tables of this room."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name]) for name in names.split()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when there is none of that name."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from quandary.model.text import suggest  # noqa: PLC0415 - only after a mistake

            hint = suggest(name, COMMANDS, "see quandary --help")
            raise click.UsageError(f"no command {name!r}; {hint}")
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
    """Decisions between agents and the people they work for: declared, asked, answered, kept.

    A decision is declared in a file, most often as a tree: a list of options under a `¶ASK_NAME`
    heading in Markdown. `quandary check` finds problems in it, `quandary ask` asks somebody,
    `quandary serve` shows waiting questions in a browser, and `quandary log` what was decided.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
    return 2


def explain(error: BaseException) -> tuple[str, int] | None:
    """What to say of an error of click's, and the exit status it leads to."""
    if isinstance(error, click.Abort):
        return "interrupted", INTERRUPTED
    if not isinstance(error, click.ClickException):
        return None
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    if context is None or context.parent is None or message.endswith("?"):
        return message, 2
    if type(error).__name__ == "NoArgsIsHelpError":  # a whole help page, where one line is wanted
        message = f"say which: {', '.join(context.command.list_commands(context))}"
    return f"{message.rstrip('.')}; see {context.command_path} --help", 2


store_option = click.option(
    "--store", "where", metavar="PATH|URL", help="Where runs are kept (also QUANDARY_STORE)."
)
PATH = click.Path(readable=False)
"""Any path: whether it can be read is said where it is read."""


class OneSource(click.Command):
    """A command whose only argument is a SOURCE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-#NAME` is a SOURCE, though it looks like an option."""
        sources = [word for word in args if word.startswith("-#")]
        if sources and "--" not in args:
            args = [*(word for word in args if word not in sources), "--", *sources]
        return super().parse_args(ctx, args)


def log_options(command: Command) -> Command:
    """`--log-format` and `--log-level`."""
    form = click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="How to log: lines for people, or JSON for programs.",
    )
    level = click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        help="How much to log; by default warnings, and as JSON also what happens.",
    )
    return form(level(command))
