"""Fake agents: small programs that behave well, or badly, in one particular way.

Run as `fake.py NAME WORDS…`; each function below is one of them.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time

ME = os.path.abspath(__file__)


def say(words: list[str]) -> None:
    """Print the words."""
    sys.stdout.write(" ".join(words))


def complain(words: list[str]) -> None:
    """Print the words as an error, and end with the first as status."""
    sys.stderr.write(" ".join(words[1:]))
    sys.exit(int(words[0]))


def tell(words: list[str]) -> None:
    """Tell all that it was given: words, input, files, environment, folder."""
    given = sys.stdin.buffer.read()
    files = {}
    for word in words:
        path = word.rpartition("=")[2]
        if os.path.isabs(path) and os.path.isfile(path):
            with open(path, "rb") as file:
                files[word] = base64.b64encode(file.read()).decode()
    told = {
        "words": [base64.b64encode(os.fsencode(word)).decode() for word in words],
        "stdin": base64.b64encode(given).decode(),
        "files": files,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
    }
    print(json.dumps(told))


def count(_: list[str]) -> None:
    """Print how many bytes come in."""
    print(len(sys.stdin.buffer.read()))


def ignore_input(_: list[str]) -> None:
    """Close standard input unread, and answer."""
    os.close(0)
    time.sleep(0.05)
    print("did not read it")


def raw(words: list[str]) -> None:
    """Print bytes that are given as hexadecimal digits."""
    os.write(1, bytes.fromhex(words[0]))


def flood(words: list[str]) -> None:
    """Print a beginning, so many megabytes, and an end."""
    sys.stdout.write("<begin>")
    for _ in range(int(words[0])):
        sys.stdout.write("x" * 1_000_000)
    sys.stdout.write("<end>")


def flood_errors(words: list[str]) -> None:
    """Fill standard error, which nobody may leave unread."""
    for _ in range(int(words[0])):
        sys.stderr.write("e" * 1_000_000)
    print("done")


def hang(_: list[str]) -> None:
    """Never answer."""
    print(os.getpid(), flush=True)
    time.sleep(600)


def polite(_: list[str]) -> None:
    """Never answer, but say goodbye when asked to end."""

    def goodbye(*_: object) -> None:
        print("goodbye", flush=True)
        sys.exit(0)

    signal.signal(signal.SIGTERM, goodbye)
    print("waiting", flush=True)
    time.sleep(600)


def stubborn(_: list[str]) -> None:
    """Never answer, and do not end when asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    time.sleep(600)


def family(words: list[str]) -> None:
    """Start a child that starts a child; each prints its number and does what the words say."""
    depth, then = int(words[0]), words[1]
    print(os.getpid(), flush=True)
    if depth:
        subprocess.Popen([sys.executable, "-IS", ME, "family", str(depth - 1), then])
        time.sleep(0.3)
    if depth and then == "leave":
        return
    if then == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def escape(_: list[str]) -> None:
    """Leave a child behind that is in no group of ours and holds the output open for a while."""
    words = [sys.executable, "-IS", "-c", "import time; time.sleep(3)"]
    subprocess.Popen(words, start_new_session=True)
    print("gone")


def quiet_child(_: list[str]) -> None:
    """Leave a child behind that prints nothing."""
    left = subprocess.Popen(
        [sys.executable, "-IS", ME, "hang"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    print(left.pid)


def killed(_: list[str]) -> None:
    """End by a signal."""
    os.kill(os.getpid(), signal.SIGSEGV)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2:])
