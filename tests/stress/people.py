"""(b) Many people who answer at random, on two servers before one PostgreSQL, often the same thing.

Each has a login or a token of their own. Programs go on asking meanwhile. Every now and then two
people, one at each server, send their answer to the same question at the same moment.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import httpx

from quandary.doors.web.tokens import hashed
from quandary.journal import open_store
from quandary.journal import runs as driver
from quandary.journal.entries import Answered
from quandary.journal.verify import verify
from sites import Server, hidden
from stress.questions import CODES, begin, wanted

if TYPE_CHECKING:
    from pathlib import Path

    from quandary.journal.store import Store
    from stress.ground import Ground

RIVALS = 0.3
"""So many times of one, somebody else sends an answer to the same question at the same moment."""
BEFOREHAND = 0.7
"""So many of the questions wait when everybody comes; the others are asked meanwhile."""
WITHIN = 5.0
"""Seconds by which an open page has been told of an answer."""
_LINK = re.compile(r'href="/runs/([0-9A-Z]{26})"')
BOOKED, LATE = "booked", "already answered"


def part(ground: Ground) -> None:
    """Ask, answer, and compare what everybody was told with the journal."""
    folder = ground.folder
    names = [f"p{number}" for number in range(ground.given.people)]
    _write_users(folder, names)
    with ground.server.schema() as place:
        store = open_store(place)
        beforehand = int(ground.given.questions * BEFOREHAND)
        waiting = [begin(store, f"Number {number}").run for number in range(beforehand)]
        servers = [Server(folder, "--store", place, "--token", _token("asker")) for _ in range(2)]
        try:
            for server in servers:
                server.start()
            crowd = Crowd(ground, servers, names, waiting)
            asyncio.run(crowd.everything())
        finally:
            for server in servers:
                server.kill()
        _judged(ground, crowd, store)
        store.close()


def _token(name: str) -> str:
    return f"the-token-of-{name}"


def _write_users(folder: Path, names: list[str]) -> None:
    tables = (f'[users.{name}]\ntoken = "{hashed(_token(name))}"\n' for name in names)
    (folder / "quandary").mkdir()
    (folder / "quandary" / "config.toml").write_text("\n".join(tables), encoding="utf-8")


class Person:
    """Somebody with a page of one of the servers open, or a program that has their token."""

    def __init__(self, name: str, server: Server, at_page: bool) -> None:
        self.name = name
        self.at_page = at_page
        headers = (
            {"Origin": server.address, "Accept": "text/html"}
            if at_page
            else {"Authorization": f"Bearer {_token(name)}"}
        )
        # A server closes lines that nobody uses; it must not happen while something is sent.
        fresh = httpx.Limits(max_keepalive_connections=0)
        self.client = httpx.AsyncClient(
            base_url=server.address, headers=headers, timeout=60, limits=fresh
        )

    async def log_in(self) -> None:
        """As on the login page."""
        if self.at_page:
            form = hidden((await self.client.get("/login")).text)
            came = await self.client.post("/login", data={**form, "code": _token(self.name)})
            assert came.status_code == 303, came.text

    async def waiting(self) -> list[str]:
        """What the inbox shows."""
        if self.at_page:
            return list(dict.fromkeys(_LINK.findall((await self.client.get("/")).text)))
        return [run["run"] for run in (await self.client.get("/api/inbox?limit=50")).json()["runs"]]

    async def prepared(self, run: str, code: str) -> httpx.Request | None:
        """An answer that is ready to be sent; nothing where the page shows no question any more."""
        if not self.at_page:
            said = {"answers": [{"picked": [code]}]}
            return self.client.build_request("POST", f"/api/runs/{run}/reply", json=said)
        page = (await self.client.get(f"/runs/{run}")).text
        form = hidden(page)
        if "to" not in form:
            return None
        filled = {**form, "pick-0": code}
        return self.client.build_request("POST", f"/runs/{run}/answer", data=filled)

    async def send(self, request: httpx.Request) -> str:
        """What came of it, in a word."""
        came = await self.client.send(request)
        if came.status_code == 409 and "lready answered" in came.text:
            return LATE
        if came.status_code == (303 if self.at_page else 200):
            return BOOKED
        return f"{came.status_code} {came.text[:200]}"


class Crowd:
    """Everybody, and what they were told."""

    def __init__(
        self, ground: Ground, servers: list[Server], names: list[str], waiting: list[str]
    ) -> None:
        self.ground = ground
        self.servers = servers
        self.people = [
            Person(name, servers[number % 2], number % 4 < 2) for number, name in enumerate(names)
        ]
        self.chance = random.Random(1)  # noqa: S311 - no secret
        self.questions: int = ground.given.questions
        self.asked = waiting
        self.told: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        """What each person was told of each run: name, code, outcome."""
        self.booked: dict[str, tuple[float, float]] = {}
        """When the answer that counts was sent, and when it was confirmed."""
        self.heard: list[dict[str, float]] = [{}, {}]
        """When a page of each server was last told of a run."""
        self.rivalries = 0
        self.seconds = 0.0
        self.left: list[list[str]] = []
        """What the inboxes show in the end."""
        self.streams: list[str] = []
        """Streams that ended."""

    async def everything(self) -> None:
        """Log in, ask, answer and listen until all is answered."""
        await asyncio.gather(*(person.log_in() for person in self.people))
        listening = [
            asyncio.create_task(self._listen(number, server))
            for number, server in enumerate(self.servers)
        ]
        await asyncio.sleep(0.5)
        begun = time.monotonic()
        await asyncio.gather(self._ask(), *(self._answer(person) for person in self.people))
        self.seconds = time.monotonic() - begun
        await asyncio.sleep(WITHIN)
        for server in (0, 1):
            self.left.append(await self.people[server].waiting())
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
        for person in self.people:
            await person.client.aclose()

    async def _ask(self) -> None:
        headers = {"Authorization": f"Bearer {_token('asker')}"}
        async with httpx.AsyncClient(headers=headers, timeout=60) as client:
            for number in range(len(self.asked), self.questions):
                address = self.servers[number % 2].address
                came = await client.post(f"{address}/api/asks", json=wanted(f"Number {number}"))
                assert came.status_code == 201, came.text
                self.asked.append(came.json()["run"])

    async def _answer(self, person: Person) -> None:
        while len(self.booked) < self.questions:
            runs = await person.waiting()
            if not runs:
                await asyncio.sleep(0.05)
                continue
            run = self.chance.choice(runs)
            those = [person]
            if self.chance.random() < RIVALS:
                those.append(self.chance.choice(self.people))
            await self._send(run, those)
            self.ground.progress(f"{len(self.booked):,} of {self.questions:,} questions answered")

    async def _send(self, run: str, those: list[Person]) -> None:
        """Have them all send an answer of their own at the same moment."""
        codes = self.chance.choices(CODES, k=len(those))
        ready = await asyncio.gather(
            *(one.prepared(run, code) for one, code in zip(those, codes, strict=True))
        )
        sending = [
            (one, code, request)
            for one, code, request in zip(those, codes, ready, strict=True)
            if request is not None
        ]
        self.rivalries += len(sending) > 1
        sent = time.monotonic()
        came = await asyncio.gather(*(one.send(request) for one, _, request in sending))
        for (one, code, _), outcome in zip(sending, came, strict=True):
            self.told[run].append((one.name, code, outcome))
            if outcome == BOOKED:
                self.booked[run] = sent, time.monotonic()

    async def _listen(self, number: int, server: Server) -> None:
        """An open page, which is told what has news."""
        headers = {"Authorization": f"Bearer {_token('asker')}"}
        async with (
            httpx.AsyncClient(base_url=server.address, headers=headers, timeout=None) as client,  # noqa: S113 - it is silent for long
            client.stream("GET", "/events") as stream,
        ):
            async for line in stream.aiter_lines():
                name, _, said = line.partition(": ")
                if name == "data":
                    moment = time.monotonic()
                    runs = self.asked if said == "*" else said.split()
                    self.heard[number].update(dict.fromkeys(runs, moment))
        self.streams.append(server.address)


def _judged(ground: Ground, crowd: Crowd, store: Store) -> None:
    outcomes = Counter(outcome for told in crowd.told.values() for *_, outcome in told)
    booked, late = outcomes.pop(BOOKED, 0), outcomes.pop(LATE, 0)
    people = len(crowd.people)
    ground.tell(
        f"answers sent by {people} people to 2 servers, {crowd.rivalries:,} times two at once",
        booked + late,
    )
    ground.tell("answers booked in a second", booked / crowd.seconds)
    ground.exactly("questions answered", booked, crowd.questions)
    ground.tell("answers refused as already answered", late)
    ground.exactly("answers to which anything else was said", sum(outcomes.values()), 0)
    for outcome in list(outcomes)[:3]:
        ground.tell("for example", outcome)
    twice = [run for run in crowd.asked if _answers(store, run) != _won(crowd, run)]
    ground.exactly("runs whose journal has another answer than the one confirmed", len(twice), 0)
    ended = [driver.look(store, run).status for run in crowd.asked]
    ground.exactly("runs that ended well", ended.count("done"), crowd.questions)
    shown = sum(map(len, crowd.left))
    ground.exactly("questions that the inboxes of both servers show in the end", shown, 0)
    ground.exactly("streams of news that broke off", len(crowd.streams), 0)
    for number, heard in enumerate(crowd.heard, 1):
        # What was told before an answer was sent was of the question.
        missed = sum(heard.get(run, 0.0) < sent for run, (sent, _) in crowd.booked.items())
        slowest = max(heard.get(run, 0.0) - known for run, (_, known) in crowd.booked.items())
        ground.exactly(f"answers that pages of server {number} were not told of", missed, 0)
        ground.at_most(
            f"server {number}: the slowest news of an answer, behind its confirmation",
            max(slowest, 0.0),
            WITHIN,
            " s",
        )
    ground.exactly("the journal verifies", verify(store).ok, wanted=True)


def _answers(store: Store, run: str) -> list[tuple[str, str]]:
    """Who answered what, as the journal has it."""
    bodies = (entry.read() for entry in store.entries(run, kinds=("answered",)))
    return [(body.by, body.answers[0].picked[0]) for body in bodies if isinstance(body, Answered)]


def _won(crowd: Crowd, run: str) -> list[tuple[str, str]]:
    """Who was told that their answer is booked."""
    return [(name, code) for name, code, outcome in crowd.told[run] if outcome == BOOKED]
