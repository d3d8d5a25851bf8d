"""Taking up a walk that failed: where it goes on, and what it is given once more."""

from __future__ import annotations

from collections import Counter
from typing import Any

from quandary.flows.planning import MAX_VISITS

_LIMITS = {"max_calls": "calls", "max_tokens": "tokens", "max_seconds": "seconds"}
"""The limits of a budget, and where a result says how much was spent."""

Again = tuple[str, dict[str, Any]]
"""The key of what is asked anew, if anything is, and the terms that are others from then on."""


def again(began: dict[str, Any], result: dict[str, Any]) -> Again | None:
    """How a walk goes on that ended with this result; nothing where it cannot.

    A step that was given up is tried from its beginning. Where nothing but the budget was used up,
    or the number of visits, it is given as much once more as it was begun with.
    """
    used_up, key = result.get("used_up"), result.get("retry")
    if used_up == "budget":
        given = dict(began.get("budget") or {})
        more = {name: most + result[_LIMITS[name]] for name, most in given.items() if most}
        return "", {"budget": given | more}
    if used_up == "visits":
        defaults = dict(began.get("defaults") or {})
        before = max(Counter(result["path"]).values()) - 1
        most = before + defaults.get("max_visits", MAX_VISITS)
        return "", {"defaults": defaults | {"max_visits": most}}
    return (str(key), {}) if key else None
