"""`quandary permit`: ask for one exact action, use what was allowed, and try rules."""

from __future__ import annotations

import click

from quandary.cli import console
from quandary.cli.asking import Way
from quandary.cli.asking import begin as begin_asking
from quandary.cli.program import store_option
from quandary.cli.screen import is_terminal, put, tell
from quandary.desk import begin, permits
from quandary.desk.authority import find_agent
from quandary.desk.permits import Rule, read_rule, save_rule, try_rule
from quandary.desk.timeline import moment
from quandary.doors.hosts.permissions import user_permissions
from quandary.errors import QuandaryError, Rejected
from quandary.journal import chance
from quandary.model.text import printable, shorten
from quandary.settings.files import read_input


@click.group(subcommand_metavar="ask|use|try|rule")
def permit_command() -> None:
    """Have a person permit one exact action, and use that once.

    Only a person's own answer counts, at a terminal or in the browser. So a deploy script, a CI job
    or a gateway can insist on it: ask, wait with `quandary next RUN --wait`, then use.
    """


@permit_command.command(
    epilog="Exit status: 0 waiting or decided, 1 declined or failed, 2 wrong usage."
)
@click.option("--action", required=True, metavar="TEXT", help="What is to be done, in a line.")
@click.option("--input", "path", metavar="FILE|-", help="The exact input that is permitted.")
@click.option("--reason", metavar="TEXT", default="", help="Why it is to be done.")
@click.option("--expires", metavar="AGE", help="It can be answered and used for 30m, 12h, 2d …")
@click.option(
    "--via",
    type=click.Choice(["terminal", "text", "relay"]),
    help="Ask here, print text to be shown, or print a form; by default here, if possible.",
)
@click.option("--by", metavar="NAME", help="Who asks; it is shown beside the question.")
@store_option
def ask(
    action: str,
    path: str | None,
    reason: str,
    expires: str | None,
    via: str | None,
    by: str | None,
    where: str | None,
) -> int:
    """Ask a person whether an action may be done, with exactly that input.

    The state of the run is printed as JSON, as by `quandary ask`. When a person has allowed it, the
    run waits to be used. JSON is compared by what it says: spaces, the order of keys and the
    spelling of numbers do not count. Any other input is compared byte by byte.
    """
    given = read_input(path) if path else ""
    wanted = begin.Permitting(action, given, reason)
    via = via or ("terminal" if path != "-" and console.is_person() else "relay")
    asked = (via, "claude", None, (), None, None, None, False)
    way = Way(*asked, expires=expires, by=by, where=where, callback=None)
    return begin_asking(way, begin.permit(wanted, way.showing))


@permit_command.command(
    epilog="Exit status: 0 used, 1 not allowed, used already, too late or another input, "
    "2 wrong usage."
)
@click.argument("run")
@click.option("--input", "path", metavar="FILE|-", help="The input, as it is going to be used.")
@store_option
def use(run: str, path: str | None, where: str | None) -> int:
    """Use what a person allowed: once, for exactly that input, within its time.

    Do what was permitted only if this succeeds.
    """
    given = read_input(path) if path else ""
    store, name = console.open_run(where, run)
    return console.show(store, permits.use(store, console.caller(), name, given))


since_option = click.option(
    "--since", default="30d", show_default=True, metavar="AGE", help="How far back to look."
)


@permit_command.command("try", epilog="Exit status: 0 tried, 2 no such rule.")
@click.argument("rule")
@since_option
@store_option
def try_(rule: str, since: str, where: str | None) -> int:
    """Show what a rule would have decided, against the requests that were recorded.

    RULE is the name of one in your settings, or its text: allow Bash command='git status'.
    """
    saved = {one.name: one for one in user_permissions().rules}
    _try(saved.get(rule) or read_rule("tried", rule), since, where)
    return 0


def _try(rule: Rule, since: str, where: str | None) -> None:
    """One line for each request that it would have decided; those that differ are marked."""
    store = console.view_journal(where)
    trials = list(try_rule(store, rule, chance.stamp(chance.now() - begin.age(since))))
    for one in trials:
        what = shorten(" ".join((one.request.command or one.request.path).split()), 80)
        mark = " " if one.was == one.would else "!"
        told = (mark, moment(one.run.began), one.would, f"(was {one.was})", one.request.tool, what)
        put(printable("  ".join(told)) + "\n")
    differ = sum(one.was != one.would for one in trials)
    tell(f"{len(trials)} requests would have been decided so, {differ} of them were not")


@permit_command.group(subcommand_metavar="add")
def rule() -> None:
    """Rules of yours that decide requests of hosts for permission, in your own settings."""


@rule.command(epilog="Exit status: 0 saved, 1 you said no, 2 not possible.")
@click.argument("name")
@click.argument("text", metavar="RULE")
@since_option
@store_option
def add(name: str, text: str, since: str, where: str | None) -> int:
    """Save a rule, after it was tried and you have agreed to what it would have decided.

    Only a person can, at a terminal. What cannot be taken back is never allowed by a rule.
    """
    if any(one.name == name for one in user_permissions().rules):
        raise QuandaryError(f"there is a rule {name} already; change it in your config.toml")
    found = read_rule(name, text)
    seen = find_agent() if is_terminal() else "there is no terminal"
    if seen:
        raise Rejected(f"only a person can save a rule, and {seen}")
    _try(found, since, where)
    if not click.confirm(f"Save the rule {name}?", default=False, err=True):
        tell("nothing was saved")
        return 1
    tell(f"saved in {save_rule(found, text)}")
    return 0
