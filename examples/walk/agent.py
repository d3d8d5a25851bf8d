"""An agent that plays a part: it answers as a real one would, and is wrong once."""  # noqa: INP001

from __future__ import annotations

import json
import sys
from pathlib import Path

SEEN = Path("seen.txt")


def answer(prompt: str) -> dict[str, object]:
    """What to say to a prompt; the first check finds something missing."""
    seen = SEEN.read_text(encoding="utf-8") if SEEN.exists() else ""
    if "`should_retry`" in prompt:
        SEEN.write_text(seen + "v", encoding="utf-8")
        good = "v" in seen
        warnings = [] if good else ["No test shows that it was broken before."]
        return {"fully_completed": good, "partially_completed": True, "warnings": warnings}
    if "`choices`" in prompt:
        return {"choices": ["yes", "no"], "answer": "Yes.", "reasons": "The tests pass."}
    known = (
        ("Find the cause", "A date without a time zone is compared with one that has it."),
        ("Mend it", "Both are compared in UTC now, and a test fails without that."),
        ("changelog", "Dates from other time zones are sorted rightly."),
    )
    said = next(text for words, text in known if words in prompt)
    return {"completed": True, "secs_taken": 1, "tokens_used": 120, "comments": said}


if __name__ == "__main__":
    print(json.dumps(answer(sys.stdin.read())))
