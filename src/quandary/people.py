"""An alias: `quandary.people.terminal` is the terminal door."""

from quandary.doors import terminal

__all__ = ["terminal"]
