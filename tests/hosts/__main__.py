"""Real clients, tried end to end: `make hosts` runs this.

Clients come from npm. After that nothing needs a network, and where the system lets us, all of it
runs behind a wall with nothing but loopback in it. A client that cannot be had is told of and not
counted; whatever fails makes the status 1.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from hosts import (  # noqa: F401
    claude,
    claude_tools,
    codex,
    doctors,
    gemini,
    inspector,
    others,
    permissions,
    sessions,
)
from hosts.checks import CHECKS, Row, table, tried
from hosts.clients import CLIENTS, NODE, NOT_ON_NPM, install
from quandary.doors.hosts.host_files import why_not

WALLED = "--walled"
AT_ONCE = 2


def main() -> int:
    """Have every client here, try what there is to try, and print a table of it."""
    parser = argparse.ArgumentParser(prog="make hosts", description=__doc__)
    parser.add_argument("names", nargs="*", help="only checks with such a name, or of such clients")
    parser.add_argument(WALLED, action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if why := why_not(sys.executable):
        print(f"The program under test {why}, and hosts are told of none there: clone elsewhere.")
        return 2
    begun = time.monotonic()
    if not given.walled:
        for client in (NODE, *CLIENTS):
            install(client)
        wall = _wall()
        if wall:
            words = [*wall, sys.executable, "-m", "hosts", WALLED, *given.names]
            return subprocess.run(words, check=False).returncode
        print("The network cannot be shut off here; clients are only told to stay silent.")
    else:
        _loopback()
    rows = _tried([name.casefold() for name in given.names])
    print(f"\n{table(rows)}\n")
    failed = [row for row in rows if row.status == "FAILED"]
    for row in failed:
        print(f"{row.client}: {row.what}\n{row.trace}")
    absent = sum(row.status == "not there" for row in rows)
    counted = len(rows) - absent
    print(
        f"{counted - len(failed)} of {counted} checks hold; {absent} clients are not there; "
        f"{time.monotonic() - begun:.0f} s"
    )
    return 1 if failed or not counted else 0


def _tried(names: list[str]) -> list[Row]:
    """What came of every check, in their order."""
    wanted = [
        one
        for one in CHECKS
        if not names
        or any(name in f"{one.client.name} {one.work.__name__}".casefold() for name in names)
    ]
    missing = {client.name: why for client in CLIENTS if (why := client.why_not())}
    here = [one for one in wanted if one.client.name not in missing]
    rows = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for row in pool.map(tried, here):
            print(f"{row.status}: {row.client}: {row.what}", flush=True)
            rows.append(row)
    if not names:
        absent = {**missing, **NOT_ON_NPM}
        rows += [Row(name, "", "not there", why) for name, why in absent.items()]
    return rows


def _wall() -> list[str]:
    """What runs a program with no network but loopback; nothing where that cannot be had."""
    if shutil.which("unshare") is None:
        return []
    for words in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
            return words
    return []


def _loopback() -> None:
    """Switch loopback on, which is off behind a new wall."""
    read, write, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        asked = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(line, read, asked))
        fcntl.ioctl(line, write, struct.pack("16sh14x", b"lo", flags | up))


if __name__ == "__main__":
    os.environ.pop("QUANDARY_STORE", None)
    sys.exit(main())
