"""`quandary prefer`: what a person wants to be asked, and what not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click
import msgspec

from quandary.cli import console, put, put_json, show_progress, tell
from quandary.cli.program import store_option
from quandary.errors import QuandaryError
from quandary.journal import policy
from quandary.journal.counts import Sums, Tally, occasions
from quandary.model.keys import is_valid
from quandary.model.text import one_line, printable
from quandary.settings import read_settings
from quandary.settings.files import read_standard_input

if TYPE_CHECKING:
    from quandary.journal.store import Store
    from quandary.model.asks import Question

_origin = click.option(
    "--origin", metavar="user", help="Say that a person wants it, where there is no terminal."
)
_everywhere = click.option("--global", "everywhere", is_flag=True, help="In every project.")
_format = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)


@click.group()
def prefer_command() -> None:
    """Say which questions you want to be asked.

    A preference belongs to a question's id. It decides only where exactly one option is
    recommended, never what cannot be undone, and never the options of a split.
    """


@prefer_command.command(name="set")
@click.argument("id_", metavar="ID")
@click.argument("preference", type=click.Choice(policy.PREFERENCES))
@_origin
@_everywhere
@store_option
def set_(id_: str, preference: str, origin: str | None, everywhere: bool, where: str | None) -> int:
    """Set a preference for the question ID, in this project or everywhere.

    Only a person can: at a terminal, or with --origin user on their behalf. What a tool or a file
    said is no origin.
    """
    _require_id(id_)
    _require_person(origin)
    settings, suppressing = read_settings(), preference in policy.SUPPRESSING
    for reason in policy.fixed_reasons(settings, id_) if suppressing else ():
        raise QuandaryError(f"{id_} is always asked: {reason}; {preference} was not set")
    scope = "" if everywhere else console.current_project()
    store = console.open_journal(where)
    seen = _remember(store, id_, preference, scope, origin)
    tell(f"{preference} is set for {id_} {_where(scope)}")
    overruled = next(policy.Policy(store, settings).find_reasons(id_), "") if suppressing else ""
    if overruled:
        tell(f"it decides nothing in this project: {overruled}")
    elif seen is not None:
        taken = " or ".join(f"“{c.label}”" for c in seen.choices if c.recommended) or "nothing"
        tell(printable(f"it takes {taken} for: {seen.text}"))
    elif suppressing:
        tell("it applies once you have answered that question yourself, with what is recommended")
    return 0


@prefer_command.command()
@click.argument("id_", metavar="ID")
@click.option("--summary", metavar="TEXT", default="", help="What the question says; `-` reads it.")
@store_option
def check(id_: str, summary: str, where: str | None) -> int:
    """Print whether the question ID is to be asked, judged by its id and summary alone.

    {"verdict": "ASK_NORMALLY" | "AUTO_DECIDE", "note": …}. Which option would be taken is looked at
    when the question is asked.
    """
    _require_id(id_)
    if summary == "-":
        summary = read_standard_input()
    store, settings, trouble = None, None, ""
    try:
        settings = read_settings()
        store = console.open_journal(where, existing=True, notify=False)
    except QuandaryError as error:
        trouble = str(error)
    verdict = policy.Policy(store, settings, console.current_project(), trouble).check(id_, summary)
    decided = "AUTO_DECIDE" if verdict.decide else "ASK_NORMALLY"
    put_json({"verdict": decided, "note": verdict.note or None})
    return 0


@prefer_command.command(name="list")
@_format
@store_option
def list_(form: str, where: str | None) -> int:
    """List the preferences of this project and those for every project."""
    found = policy.list_preferences(console.view_journal(where), console.current_project())
    if form == "json":
        put_json([{**kept._asdict(), "scope": kept.scope or None} for kept in found])
        return 0
    if not found:
        tell("no preferences are set; questions are asked")
    for kept in found:
        put(f"{kept.preference:<21} {kept.id} {_where(kept.scope)}\n")
    return 0


@prefer_command.command()
@click.argument("id_", metavar="ID", required=False)
@_origin
@_everywhere
@store_option
def clear(id_: str | None, origin: str | None, everywhere: bool, where: str | None) -> int:
    """Clear the preference for ID, or all of this project's."""
    if id_ is not None:
        _require_id(id_)
    store = console.view_journal(where)
    scope = "" if everywhere else console.current_project()
    kept_there = (kept for kept in policy.list_preferences(store, scope) if kept.scope == scope)
    found = [kept for kept in kept_there if id_ in (None, kept.id)]
    if not all(kept.preference in policy.SUPPRESSING for kept in found):
        # Without an always-ask, a preference for everywhere could decide again.
        _require_person(origin)
    for kept in found:
        _remember(store, kept.id, "", scope, origin)
        tell(f"{kept.preference} is cleared for {kept.id} {_where(scope)}")
    if not found:
        tell(f"nothing is set for {id_ or 'any question'} {_where(scope)}")
    return 0


@prefer_command.command()
@_format
@store_option
def stats(form: str, where: str | None) -> int:
    """Count the preferences in force, and those that decide nothing, each with the reason."""
    store = console.view_journal(where)
    kept = policy.list_preferences(store, console.current_project())
    in_force = policy.Policy(store, read_settings())
    own = {one.id for one in kept if one.scope}
    inert = []
    for one in kept:
        why = ""
        if not one.scope and one.id in own:
            why = "this project has a preference of its own"
        elif one.preference in policy.SUPPRESSING:
            why = next(in_force.find_reasons(one.id), "")
        if why:
            inert.append({"id": one.id, "preference": one.preference, "why": why})
    counts = {"set": len(kept), "in_force": len(kept) - len(inert), "inert": len(inert)}
    if form == "json":
        used = Counter(one.preference for one in kept)
        by_preference = {name: used[name] for name in policy.PREFERENCES}
        put_json({**counts, "by_preference": by_preference, "inert_preferences": inert})
        return 0
    put("{set} set, {in_force} in force, {inert} inert\n".format(**counts))
    for entry in inert:
        put("  {preference} for {id}: {why}\n".format(**entry))
    return 0


def _remember(
    store: Store, id_: str, preference: str, scope: str, origin: str | None
) -> Question | None:
    source = console.caller().source
    said = "terminal" if console.is_person() else origin or ""
    return policy.set_preference(store, id_, preference, scope=scope, origin=said, **source)


def _require_id(id_: str) -> None:
    if not is_valid(id_):
        wanted = "up to 64 lower-case letters, digits and hyphens"
        raise QuandaryError(f"{id_!r} is no id of a question: {wanted}")


def _require_person(origin: str | None) -> None:
    why = "only a person sets preferences"
    if origin not in (None, "user"):
        raise QuandaryError(f"{origin!r} is no origin; {why}: --origin user")
    if origin is None and not console.is_person():
        raise QuandaryError(f"{why}: do it at a terminal, or pass --origin user for them")


def _where(scope: str) -> str:
    return "in this project" if scope else "everywhere"


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--all", "everywhere", is_flag=True, help="Count every project, not only this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True)
@store_option
def stats_command(form: str, everywhere: bool, limit: int, where: str | None) -> int:
    """Count the questions: how often, how long they waited, whether advice was followed.

    Questions that always got the same answer are listed; `quandary prefer set` can silence them.
    Nothing is ever silenced automatically.
    """
    project = None if everywhere else console.current_project()
    store = console.view_journal(where)
    with show_progress() as watch:
        every = occasions(store, project, watch)
    found = Sums(every).summarize()
    why_asked = policy.Policy(store, read_settings()).find_reasons
    silenced = tuple(id_ for id_ in found.candidates if not any(why_asked(id_)))
    found = msgspec.structs.replace(found, candidates=silenced)
    if form == "json":
        put_json(found)
        return 0
    if not found.asked:
        tell("no questions here yet; `quandary ask` asks one")
        return 0
    put(f"{found.asked} asked, {found.answered} answered, {found.last_hour} in the last hour\n")
    if found.last_hour > 20:
        put("That is a lot for one hour; people who are asked too much stop reading.\n")
    put("\n")
    for tally in found.questions[:limit]:
        put(_tally(tally))
    if len(found.questions) > limit:
        put(f"… and {len(found.questions) - limit} more (--limit)\n")
    if found.candidates:
        put("\nAlways answered the same, and harmless as far as the text shows. ")
        put("To stop being asked:\n")
        put("".join(f"  quandary prefer set {id_} never-ask\n" for id_ in found.candidates))
    return 0


def _tally(tally: Tally) -> str:
    who = ", ".join(f"{count} by {name}" for name, count in tally.by.items())
    parts = [f"asked {tally.asked}", f"answered {tally.answered}" + (f" ({who})" if who else "")]
    if tally.median_seconds is not None:
        units = ((86400, "d"), (3600, "h"), (60, "min"), (0, "s"))
        size, unit = next(one for one in units if tally.median_seconds >= one[0])
        parts.append(f"median {tally.median_seconds / (size or 1):.1f} {unit}")
    if tally.recommended:
        parts.append(f"advice followed {tally.followed} of {tally.recommended}")
    title = one_line(tally.text)
    answers = "; ".join(f"{said or '(blank)'}: {n}" for said, n in list(tally.answers.items())[:4])
    shown = f"{printable(tally.id)}\n  {title[:96]}\n  {', '.join(parts)}\n"
    return f"{shown}  {printable(answers)}\n" if answers else shown
