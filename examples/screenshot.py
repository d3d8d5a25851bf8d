"""Draw docs/pictures/terminal.svg, or another file: a plan review, half answered."""  # noqa: INP001

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import quandary
from quandary.doors.terminal.box import Box
from quandary.flows.decide import decide
from quandary.model.asks import Ask, Item

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "terminal.svg"
WIDTH = 82

CONTEXT = """\
**Sprint 12** moves the shop to its new sign-in. Nothing has begun:
- the team is free from Monday
- the release is on the 30th"""

ITEMS = (
    Item("1.1", "Sign-in", "Send one-time codes", "Half of all mail is about lost passwords."),
    Item(
        "1.2",
        "Orders",
        "Give orders a table of their own",
        "They live in `users` today, and a report takes minutes.",
    ),
    Item("1.3", "Limits", "Limit calls for each key", "One customer slowed all others in May."),
    Item("1.4", "Guide", "Write the migration guide", "Two customers have asked for it."),
)


async def draw() -> str:
    """The box as it looks after one answer, while another is being typed."""
    tree = quandary.load(str(ROOT / "examples" / "trees" / "plan-review.md"))
    ask = next(decide(tree, ITEMS, context=CONTEXT))
    if not isinstance(ask, Ask):
        raise TypeError("a plan review begins with a question")
    box = Box(ask)
    async with box.run_test(size=(WIDTH, 40)) as pilot:
        await pilot.press("1", "/", *"make", "space", *"two", "space", *"steps")
        await pilot.resize_terminal(WIDTH, box.query_one("#all").outer_size.height)
        await pilot.pause()
        drawn = box.export_screenshot(title="quandary ask plan-review.md")
    return re.sub(r"(?s)\s*@font-face \{.*?\}", "", drawn)  # a picture fetches nothing


if __name__ == "__main__":
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    picture.write_text(asyncio.run(draw()), encoding="utf-8")
