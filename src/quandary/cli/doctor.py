"""`quandary doctor`: what is installed, what is missing, and how to mend it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click
import msgspec

from quandary.agents.catalogue import read_catalogue
from quandary.agents.known import KNOWN, TRIED
from quandary.cli.options import store_option
from quandary.cli.screen import coloured, put
from quandary.errors import QuandaryError
from quandary.formats.visible import printable
from quandary.model.call import fold
from quandary.people import doctor as house
from quandary.people.doctor import Finding, Version, version_of
from quandary.people.doctor_hosts import hosts
from quandary.people.doctor_settings import settings
from quandary.people.install_places import HOOKS_SINCE
from quandary.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quandary.agents.agent import Agent
    from quandary.agents.catalogue import Catalogue

_COLOURS = {"ok": "green", "note": "yellow", "broken": "red"}
_DEFAULTS = ("default_cli", "default_validate_cli", "default_retry_cli")


@click.command(epilog="Exit status: 0 nothing is broken, 1 something is.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@store_option
def doctor(form: str, where: str | None) -> int:
    """Say what is installed where, what does not work, and how to mend it.

    Looks at the program and its extras, the settings, the store, what `quandary install` wrote for
    which host, and the agents that are at hand. It changes nothing and sends nothing; other
    programs are only asked for their versions.
    """
    findings = [
        *house.program(),
        *house.extras(),
        *settings({"agents": read_catalogue}),
        *house.store(where),
        *hosts(),
    ]
    hooked = any(f.area == "hosts" and f.what.startswith("claude") for f in findings)
    findings += [*_agents(hooked=hooked), *house.logs()]
    if form == "json":
        put(msgspec.json.encode(house.to_json(findings)) + b"\n")
    else:
        put("".join(f"{line}\n" for line in _lines(findings)))
    return 1 if any(finding.status == "broken" for finding in findings) else 0


# -- agents ----------------------------------------------------------------------------------------


def _agents(*, hooked: bool) -> Iterator[Finding]:
    """Every agent that is at hand, with its version; what the settings rely on must be there."""
    chosen = {}
    try:
        found = read_settings()
        catalogue = read_catalogue(found.table("agents"))
        chosen = {name: text for name in _DEFAULTS if (text := found.text(name))}
    except QuandaryError:
        catalogue = read_catalogue()  # what is wrong was said where the settings were looked at
    places = {agent.name: shutil.which(agent.argv[0]) for agent in catalogue.agents.values()}
    for agent, version in _versions(catalogue, places):
        yield _at_hand(agent, version, hooked=hooked)
    missing = sorted(name for name, place in places.items() if place is None)
    if missing:
        yield Finding("agents", "ok", "others", f"not at hand: {', '.join(missing)}")
    for setting, codename in chosen.items():
        named = catalogue.agents.get(fold(codename))
        if named is None:
            text = f"names {codename}, and there is no such agent"
            yield Finding("agents", "broken", setting, text, "name another, or define it")
        elif places[named.name] is None:
            text = f"names {codename}, whose program {named.argv[0]} was not found"
            yield Finding("agents", "broken", setting, text, f"install {named.argv[0]}")


def _versions(
    catalogue: Catalogue, places: dict[str, str | None]
) -> list[tuple[Agent, Version | None]]:
    """The agents at hand. Only those known from the start are asked, and all at once.

    What a program of somebody's own makes of `--version`, nobody knows.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only here

    known = {agent.name: agent.argv[0] for agent in KNOWN}
    agents = sorted(catalogue.agents.values(), key=lambda agent: agent.name)
    here = [(agent, place) for agent in agents if (place := places[agent.name]) is not None]

    def asked(pair: tuple[Agent, str]) -> Version | None:
        agent, place = pair
        return version_of(place) if known.get(agent.name) == agent.argv[0] else None

    with ThreadPoolExecutor(8) as pool:
        return list(zip((agent for agent, _ in here), pool.map(asked, here), strict=True))


def _at_hand(agent: Agent, version: Version | None, *, hooked: bool) -> Finding:
    tried = TRIED.get(agent.name, "")
    if version is None:
        return Finding("agents", "ok", agent.name, f"{agent.argv[0]}, as your settings say")
    if version.trouble:
        text = f"{agent.argv[0]} {version.trouble}"
        return Finding("agents", "note", agent.name, text, "see whether it runs at all")
    if hooked and agent.name == "CLAUDE" and version.numbers < Version(HOOKS_SINCE).numbers:
        text = f"version {version.text} cannot call our hooks; no question would get through"
        return Finding("agents", "broken", agent.name, text, f"update it to {HOOKS_SINCE} or later")
    if not tried:
        return Finding("agents", "note", agent.name, f"version {version.text}, never tried")
    if version.text == tried:
        return Finding(
            "agents", "ok", agent.name, f"version {version.text}, the one that was tried"
        )
    text = f"version {version.text}; what is known about it was tried with {tried}"
    return Finding("agents", "note", agent.name, text)


# -- as text ---------------------------------------------------------------------------------------


def _lines(findings: list[Finding]) -> Iterator[str]:
    """One paragraph for each area, with what to do below what is wrong."""
    colours = coloured()
    area = ""
    for finding in findings:
        if finding.area != area:
            yield from ("",) if area else ()
            area = finding.area
            yield area
        mark = f"{finding.status:<6}"
        mark = click.style(mark, fg=_COLOURS[finding.status]) if colours else mark
        yield f"  {mark}  {printable(finding.what)}: {printable(finding.text)}"
        if finding.remedy:
            yield f"          → {printable(finding.remedy)}"
    broken = sum(finding.status == "broken" for finding in findings)
    yield ""
    yield f"{broken} broken." if broken else "Nothing is broken."
