"""A fake Claude Code without a window: it calls our hook before each tool, and can be resumed.

`stopping_agent.py FOLDER [--settings JSON] [--resume SESSION]`. What it does stands in the folder's
`script.json`: messages, each a list of tools that it wants to use in it, and at last what it hands
in. Each start is noted in `starts.jsonl`, each use of a tool in `uses.jsonl`. A tool `Hang` lasts
until somebody ends it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

NONCE = re.compile(r"with the text (\w+):")


def note(folder: Path, file: str, what: object) -> None:
    with (folder / file).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(what) + "\n")


def ask_hook(command: list[str], session: str, use: dict[str, Any]) -> dict[str, Any]:
    """What our hook says of a use of a tool."""
    said = {
        "session_id": session,
        "cwd": os.getcwd(),
        "permission_mode": "dontAsk",
        "hook_event_name": "PreToolUse",
        "tool_name": use["name"],
        "tool_input": use["input"],
        "tool_use_id": use["id"],
        **use.get("more", {}),
    }
    ran = subprocess.run(
        command, input=json.dumps(said), capture_output=True, text=True, check=True
    )
    decided: dict[str, Any] = json.loads(ran.stdout)["hookSpecificOutput"] if ran.stdout else {}
    return decided


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--settings", default="{}")
    parser.add_argument("--resume", default="")
    given, _ = parser.parse_known_args()
    folder, session = given.folder, given.resume or str(uuid.uuid4())
    note(folder, "starts.jsonl", "resume" if given.resume else "begin")
    state: dict[str, Any] = {"at": 0, "prompt": "", "left": []}
    kept = folder / f"{session}.json"
    if given.resume:
        if not kept.exists():
            sys.exit(f"No conversation found with session ID: {session}")
        state = json.loads(kept.read_text(encoding="utf-8"))
    else:
        state["prompt"] = sys.stdin.read()
    hooks = json.loads(given.settings).get("hooks", {}).get("PreToolUse", [])
    hook = hooks[0]["hooks"][0] if hooks else {}
    command = [hook["command"], *hook["args"]] if hook else []
    script = json.loads((folder / "script.json").read_text(encoding="utf-8"))
    *messages, handed_in = script
    answer = {"session_id": session, "is_error": False, "result": "", "usage": {"input_tokens": 5}}
    while state["at"] < len(messages):
        message = messages[state["at"]]
        uses = state["left"] or [
            {"id": f"toolu_{state['at']}_{number}", **use} for number, use in enumerate(message)
        ]
        deferred: dict[str, Any] | None = None
        for use in uses:
            if use["name"] == "Hang":
                note(folder, "hangs.jsonl", session)
                time.sleep(600)
            decided = ask_hook(command, session, use) if command else {}
            word = decided.get("permissionDecision", "deny")
            if word == "defer":
                deferred = use  # of several, the last one survives
                continue
            said = decided.get("permissionDecisionReason", "not allowed")
            done = decided.get("updatedInput", use["input"]) if word == "allow" else said
            note(folder, "uses.jsonl", [use["id"], word, done])
        state["left"] = [deferred] if deferred else []
        if deferred:
            kept.write_text(json.dumps(state), encoding="utf-8")
            tool = {name: deferred[name] for name in ("id", "name", "input")}
            print(json.dumps({**answer, "deferred_tool_use": tool}))
            return
        state["at"] += 1
    nonce = NONCE.search(state["prompt"])
    handed_in = {**handed_in, "nonce": nonce[1] if nonce else ""}
    print(json.dumps({**answer, "result": json.dumps(handed_in)}))


if __name__ == "__main__":
    main()
