"""An agent that notes how many of its kind run at once: `counting_agent.py FOLDER SECONDS`."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time


def change(folder: str, by: int) -> None:
    """One more or one less runs now."""
    with open(os.path.join(folder, "running"), "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        numbers = [int(line) for line in file]
        file.write(f"{(numbers[-1] if numbers else 0) + by}\n")


if __name__ == "__main__":
    change(sys.argv[1], 1)
    time.sleep(float(sys.argv[2]))
    change(sys.argv[1], -1)
    json.dump({"completed": True, "comments": "counted"}, sys.stdout)
