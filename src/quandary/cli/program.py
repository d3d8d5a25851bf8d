"""The commands as click knows them, each loaded when it is called, and what they share.

That is options, and what a shell offers for a half-typed word: runs, trees and files.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import click

from quandary import __version__
from quandary.cli import COMMANDS, GROUPS, INTERRUPTED
from quandary.errors import QuandaryError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Command = TypeVar("Command", bound=Callable[..., object])


class Commands(click.Group):
    """The commands by name; asking for help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name, loaded now."""
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module  # noqa: PLC0415 - one command at a time

        topic = import_module(f"quandary.cli.{COMMANDS[cmd_name][0]}")
        found = getattr(topic, f"{cmd_name}_command")
        gc.enable()
        # One that is mostly used without click is made only now.
        command: click.Command = found if isinstance(found, click.Command) else found()
        if "_QUANDARY_COMPLETE" in os.environ:
            complete_values(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The commands in groups, from the tables of this room."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name][1]) for name in names.split()])

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
PATH = click.Path(readable=False)  # any path: whether it can be read is said where it is read


class OneSource(click.Command):
    """A command whose only argument is a SOURCE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-#NAME` is a SOURCE, though it looks like an option."""
        sources = [word for word in args if word.startswith("-#")]
        if sources and "--" not in args:
            args = [*(word for word in args if word not in sources), "--", *sources]
        return super().parse_args(ctx, args)


@contextmanager
def require_extra(name: str, what: str) -> Iterator[None]:
    """Within it, packages are loaded that not everybody has; what has to be installed is said."""
    try:
        yield
    except ImportError as missing:
        remedy = f"({missing.name}): pip install 'quandary[{name}]'"
        raise QuandaryError(f"{what} more packages {remedy}") from None


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


_SEARCHED = 10_000  # so many runs are looked through, the newest ones
_OFFERED = 30
_TREES = (".md", ".markdown", ".csv", ".json", ".mmd")


def _complete_run(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """A run, by the beginning of its name or, since many begin alike, by its end."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - for a shell only

    from quandary.desk.timeline import origins  # noqa: PLC0415 - the same
    from quandary.journal import open_store  # noqa: PLC0415 - the same
    from quandary.model.text import printable, shorten  # noqa: PLC0415 - the same

    with suppress(QuandaryError):
        store, typed = open_store(ctx.params.get("where"), create=False), typed.strip().upper()
        every = (row.id for row in store.runs(limit=_SEARCHED, newest=True))
        fitting = [run for run in every if run.startswith(typed) or run.endswith(typed)][:_OFFERED]
        began = origins(store, fitting)
        return [CompletionItem(run, help=shorten(printable(began[run].about))) for run in fitting]
    return []


def _complete_source(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """A tree by its name, in a file behind `#`, or a file."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - for a shell only

    from quandary.formats.markdown import parse  # noqa: PLC0415 - the same
    from quandary.formats.sources import in_project, matches_name  # noqa: PLC0415 - the same
    from quandary.settings.files import read_text  # noqa: PLC0415 - the same

    path, mark, name = typed.rpartition("#")
    with suppress(QuandaryError):
        known = parse(read_text(path)).trees if mark else (t for _, t in in_project(os.curdir))
        fitting = (t for t in known if matches_name(t.name, name) and (mark or not t.fenced))
        found = {t.name: CompletionItem(f"{path}{mark}{t.name}", help=t.trigger) for t in fitting}
        if found or mark:  # a shell completes files by itself only where there is nothing else
            return [*found.values(), *map(CompletionItem, () if mark else _files(typed))]
    return [CompletionItem(typed, type="file")]


def _files(typed: str) -> Iterator[str]:
    """Files that may hold trees or charts, in the folder that is typed."""
    folder, name = os.path.split(typed)
    with suppress(OSError):
        for entry in sorted(os.listdir(folder or os.curdir)):
            if entry.startswith(name) and entry.lower().endswith(_TREES):
                yield os.path.join(folder, entry)


def complete_values(command: click.Command) -> None:
    """Have a command's values be completed by what its help calls them."""
    for parameter in command.params:
        shown = getattr(parameter, "metavar", None) or (parameter.name or "").upper()
        word = "FILE" if shown.startswith("FILE") else shown.strip("[]")
        if word in ("RUN", "SOURCE"):
            parameter._custom_shell_complete = _complete_run if word == "RUN" else _complete_source
        elif word in ("FILE", "OPTIONS.json", "FROM", "TO", "NEW", "PATH|URL", "DIR"):
            parameter.type = click.Path(file_okay=word != "DIR", readable=False)
    if isinstance(command, click.Group):
        for sub in command.commands.values():
            complete_values(sub)
