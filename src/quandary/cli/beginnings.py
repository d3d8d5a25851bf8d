"""What flows are begun with, made of what a caller says at any door that has no command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.cli import items as given
from quandary.errors import ContextRequired, QuandaryError, Rejected
from quandary.formats import sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quandary.agents.agent import Agent
    from quandary.agents.calling import Surroundings
    from quandary.journal.store import Store
    from quandary.model.ask import Limits
    from quandary.people.mcp.tools import Asking, Gating, Splitting, Walking


class Begun(NamedTuple):
    """A flow by its name, its arguments, and those of them that are kept once for all runs."""

    flow: str
    arguments: dict[str, Any]
    documents: dict[str, Any]


def decide(wanted: Asking, limits: Limits) -> Begun:
    """Questions from a tree; a tree that is given as text may be one of several there."""
    from quandary.flows.decide import Terms  # noqa: PLC0415 - one flow at a time

    if not wanted.context.strip():
        raise ContextRequired("context is empty: say what is to be decided and why")
    if not wanted.text and wanted.source.partition("#")[0] in ("", "-"):
        raise QuandaryError("name the tree with source, or give its Markdown as text")
    source = wanted.source
    if wanted.text:
        source = f"-#{source.removeprefix('-').lstrip('#')}".removesuffix("#")
    tree = sources.load(source, wanted.text or None)
    kind = wanted.kind or None
    extras = given.extras(tuple(wanted.extras), "extras:")
    if (kind or tree.kind) == "advisory":
        limits = msgspec.structs.replace(limits, questions=1)
    terms = Terms(
        tree=tree,
        context=wanted.context,
        items=tuple(given.from_rows("items", wanted.items)),
        question=wanted.question,
        extras=None if extras is None else tuple(extras),
        kind=kind,
        limits=limits,
        trees=() if wanted.text else tuple(sources.loaded_beside(source)),
        values=wanted.values,
    )
    arguments = msgspec.to_builtins(terms)
    documents = {name: arguments.pop(name) for name in ("tree", "trees") if name in arguments}
    return Begun("decide", arguments, documents)


def split(wanted: Splitting, limits: Limits) -> Begun:
    """Questions on a list of options."""
    from quandary.flows.split import Terms  # noqa: PLC0415 - one flow at a time
    from quandary.formats.option_lists import parse_options  # noqa: PLC0415 - the same

    terms = Terms(
        options=parse_options(msgspec.json.encode(wanted.options).decode(), "options"),
        skill=wanted.skill,
        relation=wanted.relation,
        number=wanted.number,
        context=wanted.context,
        limits=limits,
        values=wanted.values,
    )
    arguments = msgspec.to_builtins(terms)
    return Begun("split", arguments, {"options": arguments.pop("options")})


def gate(store: Store, wanted: Gating, limits: Limits) -> Begun:
    """The menu at the end of a phase; what proof is missing is handed back."""
    from quandary.deeds import moving  # noqa: PLC0415 - one flow at a time
    from quandary.flows import gate_menu  # noqa: PLC0415 - the same
    from quandary.formats import tracks  # noqa: PLC0415 - the same

    real = moving.folder_of(wanted.folder)
    moving.mend_gates(store, real)
    with tracks.locked(real):
        kept = tracks.load(wanted.folder)
        moving.mend(store, real, kept)
    track = kept.track
    if track.current is None:
        raise Rejected(f"{wanted.folder}: no phase has begun; see quandary phase go")
    phase = track.find(track.current.label) or track.current
    terms = gate_menu.Terms(
        folder=real,
        track=track,
        seen=len(kept.history),
        since=kept.history[-1].at if kept.history else "",
        custom=_custom(wanted.custom),
        items=tuple(given.from_rows("items", wanted.items)),
        require="person" if wanted.require_person else "",
        proof=wanted.proof,
        limits=limits,
        values=wanted.values,
        context=gate_menu.context(os.path.basename(real), track, phase),
        base=os.path.realpath(os.curdir),
    )
    arguments = msgspec.to_builtins(terms)
    return Begun("gate", arguments, {"track": arguments.pop("track")})


def walk(wanted: Walking, limits: Limits) -> Begun:
    """A chart for one item, refused where it cannot be walked before anything is spent on it."""
    from quandary.agents.catalogue import read_catalogue  # noqa: PLC0415 - one flow at a time
    from quandary.cli.planned import budget_of, defaults_of, plan_of  # noqa: PLC0415 - the same
    from quandary.cli.walking import surroundings  # noqa: PLC0415 - the same
    from quandary.flows.walk import Budget  # noqa: PLC0415 - the same
    from quandary.formats import charts  # noqa: PLC0415 - the same
    from quandary.model.ask import Item  # noqa: PLC0415 - the same
    from quandary.settings import read_settings  # noqa: PLC0415 - the same

    folder = os.path.abspath(wanted.workdir or os.curdir)
    if not os.path.isdir(folder):
        raise QuandaryError(f"{wanted.workdir}: no such folder to work in")
    if wanted.source.partition("#")[0] in ("", "-"):
        raise QuandaryError("name the chart with source")
    settings = read_settings()
    catalogue = read_catalogue(settings.table("agents"))
    defaults = defaults_of(settings, {"cli": wanted.cli or None})
    budget = budget_of(settings, dict.fromkeys(Budget.__struct_fields__))
    around = surroundings(folder, settings)
    rows = [wanted.item] if wanted.item else []
    item = next(iter(given.from_rows("item", rows, bare=True)), Item("1"))
    loaded = charts.read(wanted.source, page=wanted.page)
    if not loaded.chart.start:
        raise QuandaryError(f"{wanted.source}: say with page which one to begin on")
    plan = plan_of(loaded, defaults, catalogue, around, budget=budget, items=[item])
    plan.require_sound()
    _require_logins([catalogue.find(name) for name in plan.commands], around)
    arguments = {
        "item": msgspec.to_builtins(item),
        "defaults": msgspec.to_builtins(defaults),
        "codenames": plan.codenames,
        "budget": msgspec.to_builtins(budget),
        "limits": msgspec.to_builtins(limits),
        "workdir": folder,
    }
    return Begun("walk", arguments, {"chart": msgspec.to_builtins(loaded.chart)})


def _require_logins(agents: Sequence[Agent], around: Surroundings) -> None:
    """Refuse agents that would not get past their login."""
    import asyncio  # noqa: PLC0415 - slow, and only for charts

    from quandary.agents.calling import logged_out  # noqa: PLC0415 - the same

    async def ask() -> list[str]:
        return await asyncio.gather(*(logged_out(agent, around) for agent in agents))

    missing = [problem for problem in asyncio.run(ask()) if problem]
    if missing:
        raise Rejected("; ".join(missing))


def _custom(text: str) -> Any:  # noqa: ANN401 - a Custom, or nothing
    from quandary.flows.gate_menu import Custom  # noqa: PLC0415 - only at gates

    if not text.strip():
        return None
    label, _, description = (part.strip() for part in text.partition("|"))
    if not label:
        raise QuandaryError(f"custom {text!r} has no label; write 'Label | Description'")
    return Custom(label, description)
