"""Ways to ask a person."""

from __future__ import annotations

_ROOMS = ("plain", "reading", "relay", "terminal")


def __getattr__(name: str) -> object:
    """Fetch a room when it is first named: `quandary.run(flow, ask=quandary.people.terminal)`."""
    from importlib import import_module  # noqa: PLC0415 - only when a room is fetched

    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
