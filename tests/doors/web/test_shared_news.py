"""Several servers on one shared store tell their pages the same, at once."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import databases
import small_flows
from quandary.doors.web import events
from quandary.doors.web.events import Events
from quandary.journal import open_store
from sites import Listener

if TYPE_CHECKING:
    import pytest


def test_pages_of_every_server_hear_at_once_of_what_any_process_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are told, and need not look."""
    monkeypatch.setattr(events, "LOOKS_PER_SECOND", 0.5)

    async def listen(url: str) -> None:
        writer, *stores = (open_store(url) for _ in range(3))
        servers = [Events(store) for store in stores]
        for server in servers:
            await server.start()
        await asyncio.sleep(0.5)
        begun = time.monotonic()
        pages = [Listener(server) for server in servers]
        run = (await asyncio.to_thread(small_flows.begin, writer)).run
        assert [await page.told.get() for page in pages] == [run, run]
        assert time.monotonic() - begun < 1
        for server in servers:
            await server.stop()
        for store in (writer, *stores):
            store.close()

    with databases.shared().schema() as url:
        asyncio.run(listen(url))
