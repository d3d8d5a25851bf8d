"""The jobs of `fleet_peers.py` as procrastinate does them.

As its documentation has it: an asynchronous task, which runs the agent's program with its prompt.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from procrastinate import App, PsycopgConnector

from fleet_peers import AT_ONCE, JOBS
from stepping import require_durable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROMPT = b"Do number 0"


def play(place: Path, _keep: str) -> Iterator[int | None]:
    """A worker of procrastinate."""
    import psycopg  # noqa: PLC0415 - as quiet as ours

    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
    address = place.read_text(encoding="utf-8")
    program = str(place.with_name("agent.sh"))
    app = App(connector=PsycopgConnector(conninfo=address))
    done = 0

    @app.task(name="call", pass_context=False)  # type: ignore[untyped-decorator]  # elsewhere
    async def call(number: int) -> None:  # noqa: ARG001 - as an item would
        nonlocal done
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            program, stdin=pipe, stdout=pipe, stderr=pipe, cwd=place.parent
        )
        out, _ = await process.communicate(PROMPT)
        assert process.returncode == 0, out
        done += b"completed" in out

    async def prepare() -> None:
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    async def defer() -> None:
        async with app.open_async():
            await call.batch_defer_async(*({"number": number} for number in range(JOBS)))

    async def work() -> None:
        async with app.open_async():
            await app.run_worker_async(
                wait=False, concurrency=AT_ONCE, install_signal_handlers=False
            )

    with psycopg.connect(address) as connection:
        require_durable(connection)
    asyncio.run(prepare())
    yield None
    while True:
        asyncio.run(defer())
        yield None
        done = 0
        asyncio.run(work())
        yield done
