"""What came of a run, in lines for the person at the terminal and as proof for a caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quandary.errors import Rejected

if TYPE_CHECKING:
    from collections.abc import Callable

    Told = Callable[[dict[str, Any]], list[str]]


def lines(flow: str, result: dict[str, Any] | None) -> list[str]:
    """The result as a person wants to read it; nothing where it was pruned."""
    return TELLING[flow](result) if result and flow in TELLING else []


def proof(flow: str, result: dict[str, Any] | None) -> dict[str, Any]:
    """As much of the result as its schema names; all of it where there is none."""
    if result is None:
        raise Rejected("the run is done, but what came of it was pruned")
    if flow == "decide":
        chosen = [{"item": c["item"], "path": c["path"]} for c in result["chosenItems"]]
        return {"treeName": result["treeName"], "chosenItems": chosen}
    if flow == "gate":
        names = ("executed", "userChoice", "phaseGated", "nextPhase", "proofProvided")
        return {name: result[name] for name in names if name in result}
    return result


def undone(flow: str, result: Any) -> bool:  # noqa: ANN401 - whatever the flow returned
    """Whether something was chosen that could not be done: a move for which proof is missing."""
    return flow == "gate" and isinstance(result, dict) and bool(result.get("missing"))


def _decided(result: dict[str, Any]) -> list[str]:
    return [f"{chosen['item']}: {chosen['path']}" for chosen in result["chosenItems"]]


def _split(result: dict[str, Any]) -> list[str]:
    buckets = (("Include", "include"), ("Defer", "defer"), ("Cut", "cut"))
    return [f"{word}: {', '.join(result[name])}" for word, name in buckets if result.get(name)]


def _gated(result: dict[str, Any]) -> list[str]:
    where = f" (now {result['nextPhase']})" if result["nextPhase"] else ""
    if undone("gate", result):
        where = f" ({result['proofProvided']})"
    said = [f"“{result['text']}”"] if result.get("text") else []
    return [f"{result['phaseGated']}: {result['executed']}{where}", *said]


def _walked(result: dict[str, Any]) -> list[str]:
    said = [f"{result['chart']}: {result['outcome']}"]
    for step in result["steps"]:
        route = f" → {step['route']}" if step["route"] else ""
        said.append(f"  {step['name']}{route} ({step['cli']}, attempts: {step['attempts']})")
    return said


def _pruned(result: dict[str, Any]) -> list[str]:
    names = {"runs": "run", "entries": "entry", "documents": "document"}
    counts = [(result[many], many, one) for many, one in names.items()]
    return [", ".join(f"{count} {one if count == 1 else many}" for count, many, one in counts)]


def _imported(result: dict[str, Any]) -> list[str]:
    return [f"run {result['run']}; digest {result['digest']}"]


TELLING: dict[str, Told] = {
    "decide": _decided,
    "split": _split,
    "gate": _gated,
    "walk": _walked,
    "prune": _pruned,
    "imported": _imported,
}
