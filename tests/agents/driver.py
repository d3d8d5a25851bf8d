"""A program that runs a fake agent and may be interrupted: `driver.py NAME WORDS…`."""

from __future__ import annotations

import os
import sys

from quandary.agents.process import Command, drive, run

FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake.py")

if __name__ == "__main__":
    words = (sys.executable, "-IS", FAKE, *sys.argv[1:])
    try:
        drive(run(Command(words, dict(os.environ), os.getcwd()), grace=0.3))
    except KeyboardInterrupt:
        print("interrupted")
        sys.exit(130)
