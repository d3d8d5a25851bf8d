"""More choices than a host can show, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quandary.model.ask import MORE, Choice

if TYPE_CHECKING:
    from collections.abc import Sequence


def paged(choices: Sequence[Choice], page: int, room: int) -> list[Choice]:
    """The choices of a page, counted from 0; behind the last one comes the last one again.

    Each page but the last keeps one place for More…, and the next begins where it ended.
    """
    begin, step = 0, max(room - 1, 1)
    while page > 0 and len(choices) - begin > room:
        begin, page = begin + step, page - 1
    rest = choices[begin:]
    if len(rest) <= room:
        return list(rest)
    more = Choice(MORE, "More…", f"{len(rest) - step} further options")
    return [*rest[:step], more]
