"""Asking from Python: in a file, in PostgreSQL and on a server, with the same functions."""

from __future__ import annotations

import asyncio
import copy
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

import databases
import program
import quandary
import sites
from node_judges import pyright
from quandary.desk import reply as desk
from quandary.desk.authority import Caller
from quandary.errors import PersonRequired, StoreError
from quandary.journal import open_store, runs
from quandary.journal.entries import Noted
from quandary.model.asks import Outcome
from quandary.settings import project_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quandary.journal.store import State, Store

TESTS = Path(__file__).parent
PERSON = Caller("person", "web", "ada")
REGIONS = ["eu", "us", "ap", "af", "sa", "me"]
PASSED = "Build 812 passed every check."


class Place(NamedTuple):
    """Somewhere to ask: how a client gets there, and the store behind it."""

    where: str
    token: str | None
    store: Store

    def client(self) -> quandary.Client:
        """One that asks there."""
        return quandary.Client(self.where, token=self.token)

    def waiting(self) -> State:
        """What waits for a person, once something does."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if rows := runs.inbox(self.store):
                return runs.look(self.store, rows[-1].id)
            time.sleep(0.01)
        raise AssertionError("nothing was asked")

    def notes(self) -> list[Noted]:
        """What happened to what waits and was no answer."""
        entries = self.store.entries(self.waiting().run, kinds=("noted",))
        return [body for entry in entries if isinstance(body := entry.read(), Noted)]

    def answer(self, *texts: str, caller: Caller = PERSON) -> State:
        """Reply to what waits, as often as there are texts."""
        state = self.waiting()
        for text in texts:
            state, *_ = desk.reply(self.store, caller, state.run, text, state.key)
        return state


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that the machine's own settings say."""
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("QUANDARY_STORE", "QUANDARY_URL", "QUANDARY_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sites.Server]:
    """A real one, which wants a token."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "token").write_text(sites.TOKEN, encoding="utf-8")
    server = sites.Server(folder, "--token-file", "token", "--require-login")
    server.start()
    yield server
    server.kill()


@pytest.fixture(params=["sqlite", "postgres", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Each kind of place that questions can be asked in."""
    with ExitStack() as stack:
        where, token = str(tmp_path / "own.db"), None
        behind = where
        if request.param == "postgres":
            where = behind = stack.enter_context(databases.shared().schema())
        elif request.param == "server":
            server = request.getfixturevalue("server")
            where, token, behind = server.address, sites.TOKEN, str(server.folder / "journal.db")
        yield Place(where, token, stack.enter_context(closing(open_store(behind))))


def meanwhile(act: Callable[[], object]) -> threading.Thread:
    """Do something beside what the test waits for."""
    thread = threading.Thread(target=act)
    thread.start()
    return thread


# -- asking, anywhere ------------------------------------------------------------------------------


def test_a_choice_among_many_loses_none_of_them(place: Place) -> None:
    """Beyond the first page too, and what comes back is what was offered."""
    with place.client() as asker:
        meanwhile(partial(place.answer, "me"))
        chosen = asker.choose("Which region gets it first?", REGIONS, context=PASSED)
        assert chosen == "me"
        meanwhile(partial(place.answer, '{"answers": [{"picked": ["…"]}]}', "sa"))
        described = {region: f"The data centres of {region}" for region in REGIONS}
        assert asker.choose("And which one next?", described, context=PASSED) == "sa"
        (asked,) = [
            entry.read_matter().ask
            for entry in place.store.entries(place.store.runs(newest=True)[0].id, kinds=("asked",))
        ][:1]
    assert asked is not None
    offered = [choice.label for choice in asked.questions[0].options]
    assert offered == REGIONS
    assert asked.questions[0].options[0].description == "The data centres of eu"


def test_a_confirmation_is_a_yes_or_a_no_and_nothing_else(place: Place) -> None:
    """Own words are neither, and come back as they are."""
    with place.client() as asker:
        for said, meant in (("yes", True), ("no", False)):
            meanwhile(partial(place.answer, said))
            assert asker.confirm("Shall the old index go?", context="Unread.") is meant
        meanwhile(partial(place.answer, "only what is older than a year"))
        with pytest.raises(quandary.OwnWords, match="own words: only what is older") as raised:
            asker.confirm("Shall the old index go?", context="Unread.")
    assert raised.value.words == "only what is older than a year"
    assert place.store.run(raised.value.run) is not None


def test_a_tree_gives_a_verdict_for_each_item(place: Place) -> None:
    """With path, codes, label, comment, and who said so; a file is found here, also by a server."""
    Path("trees.md").write_text(program.DEPLOY + sites.TAGS, encoding="utf-8")
    with place.client() as asker:
        meanwhile(partial(place.answer, "NOW but tell support"))
        one = asker.ask("trees.md#DEPLOY", context=PASSED, items=[{"title": "build 812"}])
        assert (one.path, one.codes, one.label) == ("NOW", ("NOW",), "Deploy now")
        assert (one.who, one.comment, one.words) == ("person", "tell support", "")
        assert place.store.require_run(one.run).status == "done"

        def both() -> None:
            state = place.waiting()
            answers = [{"picked": ["UI", "DB"]}, {"text": "nothing, really"}]
            sent = msgspec.json.encode({"answers": answers})
            desk.reply(place.store, PERSON, state.run, sent, state.key)

        meanwhile(both)
        items = [{"title": "the login"}, {"title": "the logo"}]
        login, logo = several = asker.ask(Path("trees.md#TAGS"), context=PASSED, items=items)
    assert (login.item, login.codes, login.label) == (
        "the login",
        ("UI", "DB"),
        "Interface, Database",
    )
    assert (logo.path, logo.codes) == ("OTH/custom:nothing, really", ())
    assert logo.words == "nothing, really"
    with pytest.raises(ValueError, match="there are 2 verdicts; go through them"):
        _ = several.path
    assert not hasattr(several, "paths")
    assert copy.deepcopy(several) == several


def test_a_form_gives_values_of_their_types(place: Place) -> None:
    """What was not changed stands as it was offered; something missing is asked for again."""
    title = {"type": "string", "title": "Title of the notes"}
    fields: dict[str, quandary.client.Kind] = {
        "title": title,
        "urgent": bool,
        "copies": int,
        "size": ["small", "large"],
        "note": {"type": "string", "default": "none"},
    }

    def fill_in() -> None:
        values = {"urgent": True, "copies": 3, "size": "large"}
        for given in (values, values | {"title": "Spring"}):
            answers = [{"picked": ["SEND"], "values": given}]
            state = place.waiting()
            sent = msgspec.json.encode({"answers": answers})
            with suppress(quandary.QuandaryError):
                desk.reply(place.store, PERSON, state.run, sent, state.key)

    with place.client() as asker:
        meanwhile(fill_in)
        filled = asker.form("What do the notes say?", fields, context=PASSED)
    assert filled == {
        "title": "Spring",
        "urgent": True,
        "copies": 3,
        "size": "large",
        "note": "none",
    }


def test_an_answer_that_a_program_has_cannot_be_undone(place: Place) -> None:
    """It may have acted upon it."""
    with place.client() as asker:
        meanwhile(partial(place.answer, "yes"))
        assert asker.confirm("Deploy?", context=PASSED)
    with pytest.raises(quandary.Rejected, match="cannot be undone"):
        runs.undo(place.store, place.store.runs(newest=True)[0].id, who="person", through="web")


def test_a_persons_answer_to_the_very_same_is_used_again(place: Place) -> None:
    """Within that time, and not for what leads one way or where a person is required."""
    wanted: dict[str, Any] = {"context": "Two reviewers are free.", "timeout": 0}
    again: dict[str, Any] = {**wanted, "reuse": "30d"}
    with place.client() as asker:
        for question in ("Who reviews build 812?", "Who may delete the old backups for good?"):
            with pytest.raises(quandary.TimedOut):
                asker.choose(question, ["Ann", "Ben"], **wanted)
            place.answer("Ben")
        assert asker.choose("Who reviews build 812?", ["Ann", "Ben"], **again) == "Ben"
        person: dict[str, Any] = {**again, "require": "person"}
        for question, options in (
            ("Who may delete the old backups for good?", again),
            ("Who reviews build 812?", person),
            ("Who reviews build 813?", again),
        ):
            with pytest.raises(quandary.TimedOut) as asked:
                asker.choose(question, ["Ann", "Ben"], **options)
            runs.withdraw(place.store, asked.value.run, "enough", who="person", through="web")
        with pytest.raises(quandary.QuandaryError, match="no age"):
            asker.choose("Who reviews build 812?", ["Ann", "Ben"], **{**again, "reuse": "soon"})


def test_a_key_gives_the_same_run_and_its_answer(place: Place) -> None:
    """Whoever asks again gets what was answered; other words under the same key are refused.

    On a server a token has its own name.
    """
    wanted: dict[str, Any] = {"context": PASSED, "key": "deploy 812 ü", "by": "release-bot"}
    with place.client() as asker:
        with pytest.raises(quandary.TimedOut) as left:
            asker.confirm("Deploy build 812?", **wanted, timeout=0)
        run = place.answer("yes").run
        assert run == left.value.run
        assert asker.confirm("Deploy build 812?", **wanted) is True
        with pytest.raises(quandary.Reused, match="asked in other words with the key"):
            asker.confirm("Deploy build 813?", **wanted)
        with pytest.raises(quandary.QuandaryError, match="via is 'terminal' or 'inbox'"):
            asker.confirm("Deploy?", context=PASSED, via="inbx")  # type: ignore[arg-type]
    began = next(iter(place.store.entries(run, kinds=("began",)))).read()
    assert (began.who, began.by) == ("api", "token" if place.token else "release-bot")


def test_a_question_that_times_out_is_left_waiting_or_withdrawn(place: Place) -> None:
    """As the program says; it is a TimeoutError too."""
    with place.client() as asker:
        with pytest.raises(TimeoutError, match=r"nobody answered run .* within 0.1 seconds"):
            asker.confirm("Deploy build 812?", context=PASSED, timeout=0.1)
        assert place.answer("no").status == "done"
        with pytest.raises(quandary.TimedOut) as gone:
            asker.confirm("Deploy build 812?", context=PASSED, timeout=0.1, on_timeout="withdraw")
    state = runs.look(place.store, gone.value.run)
    assert (state.status, state.error) == ("withdrawn", "the program that asked waited 0.1 seconds")


def test_what_is_no_answer_is_raised(place: Place) -> None:
    """A decline, a withdrawal and an expiry, each by its name; all of them are Unanswered."""

    def decline() -> None:
        state = place.waiting()
        runs.note(
            place.store, state.run, Outcome("declined", "not mine"), who="person", through="web"
        )

    def withdraw() -> None:
        runs.withdraw(place.store, place.waiting().run, "moot", who="person", through="web")

    with place.client() as asker:
        meanwhile(decline)
        with pytest.raises(quandary.Declined, match="not mine"):
            asker.confirm("Deploy?", context=PASSED)
        meanwhile(withdraw)
        with pytest.raises(quandary.Withdrawn, match="moot") as raised:
            asker.confirm("Deploy?", context=PASSED)
        assert not isinstance(raised.value, quandary.Expired)
        with pytest.raises(quandary.Expired, match="nobody answered until"):
            asker.confirm("Deploy?", context=PASSED, expires="1s")
    assert issubclass(quandary.Expired, quandary.Unanswered)


def test_a_persons_word_is_required_where_it_is_wanted(place: Place) -> None:
    """An agent's answer is refused, and the question waits on."""
    with place.client() as asker:

        def agent_then_person() -> None:
            with pytest.raises(PersonRequired):
                place.answer("yes", caller=Caller("agent", "relay"))
            place.answer("no")

        other = meanwhile(agent_then_person)
        assert asker.confirm("Deploy?", context=PASSED, require="person") is False
        other.join()


@pytest.mark.parametrize(
    ("question", "choices", "why"),
    [
        ("Which?", [], "nothing to choose from"),
        ("Which?", ["eu", "eu"], "two choices are the same"),
        ("Which?", ["eu", "EU "], "two options are called 'EU'"),
        ("Which?", ["eu", " "], "an option has no label"),
        ("Which?", ["eu", "Other..."], "always there"),
        (" ", ["eu", "us"], "options need a question"),
        ("Which {thing}?", ["eu", "us"], "thing"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    tmp_path: Path, question: str, choices: list[str], why: str
) -> None:
    """Before anybody sees it, and nothing is begun."""
    with (
        quandary.Client(tmp_path / "own.db") as asker,
        pytest.raises(quandary.QuandaryError, match=why),
    ):
        asker.choose(question, choices, context=PASSED)
    with closing(open_store(tmp_path / "own.db")) as store:
        assert store.runs() == []


def test_a_question_without_context_is_refused(tmp_path: Path) -> None:
    """As everywhere."""
    with (
        quandary.Client(tmp_path / "own.db") as asker,
        pytest.raises(quandary.ContextRequired),
    ):
        asker.confirm("Deploy?", context=" ")


# -- for asyncio -----------------------------------------------------------------------------------


def test_many_tasks_wait_beside_each_other(place: Place) -> None:
    """They keep the loop free, and leave its threads to others; one that is cancelled is gone."""
    free = []

    async def ask_all() -> list[str]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        with place.client() as asker:
            names = ["one", "two", "three"]
            tasks = [
                asyncio.create_task(
                    asker.achoose(f"Where does {name} go?", REGIONS, context=PASSED)
                )
                for name in names
            ]
            dropped = asyncio.create_task(asker.aconfirm("Never mind?", context=PASSED))
            while len(await asyncio.to_thread(runs.inbox, place.store)) < 4:
                await asyncio.sleep(0.01)
            free.append(await asyncio.to_thread(threading.active_count))
            dropped.cancel()
            for row in await asyncio.to_thread(runs.inbox, place.store):
                state = runs.look(place.store, row.id)
                if state.ask is not None and "Never" not in state.ask.questions[0].text:
                    desk.reply(place.store, PERSON, row.id, "ap", None)
            chosen = await asyncio.gather(*tasks)
            with pytest.raises(asyncio.CancelledError):
                await dropped
            return chosen

    assert asyncio.run(ask_all()) == ["ap"] * 3
    (left,) = runs.inbox(place.store)
    runs.withdraw(place.store, left.id, "for the next test", who="person", through="web")
    assert free


# -- waiting ---------------------------------------------------------------------------------------


def test_waiting_is_woken_by_the_answer(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to look now and then: it is heard of within a moment, or never here."""
    monkeypatch.setattr(runs, "LONGEST_UNSEEN", 600.0)
    with place.client() as asker:
        meanwhile(partial(place.answer, "yes"))
        assert asker.confirm("Deploy?", context=PASSED, timeout=60) is True


def test_waiting_takes_next_to_no_time_of_a_core(place: Place) -> None:
    """At most 0.5 % of one, in the time that the thread itself used; four times that is allowed
    here, where the machine may be busy. `benchmarks/waiting.py` measures it.
    """
    with place.client() as asker:
        with pytest.raises(quandary.TimedOut):  # what has to be loaded is
            asker.confirm("Deploy?", context=PASSED, timeout=0.5, key="a")
        used, begun = time.thread_time(), time.monotonic()
        asker._desk.wait(place.waiting().run, 2.0)
        assert time.monotonic() - begun >= 2.0
        assert time.thread_time() - used < 4 * 0.005 * 2.0
    runs.withdraw(place.store, place.waiting().run, "enough", who="person", through="web")


# -- programs that end, servers that go ------------------------------------------------------------

ASKING = """
import quandary
print(quandary.choose("Where to?", ["eu", "us"], context="It is ready.", key="where-812"))
"""


def test_a_program_that_was_killed_gets_its_answer_when_it_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is one run, whenever the answer comes and however often it is asked for."""
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "own.db"))
    place = Place(str(tmp_path / "own.db"), None, open_store(tmp_path / "own.db"))
    command = [sys.executable, "-c", ASKING]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=tmp_path) as first:
        place.waiting()
        first.kill()
    place.answer("us")
    for _ in range(2):
        again = subprocess.run(
            command, stdin=subprocess.DEVNULL, cwd=tmp_path, capture_output=True, check=True
        )
        assert again.stdout == b"us\n"
    assert len(place.store.runs()) == 1
    assert place.store.runs()[0].project == project_of(str(tmp_path))
    place.store.close()


def test_a_server_that_is_restarted_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The environment names it; who was told that it is away hears nothing further."""
    server = sites.Server(tmp_path)
    server.start()
    monkeypatch.setenv("QUANDARY_URL", server.address + "/")
    place = Place(server.address, "", open_store(tmp_path / "journal.db"))

    def restart() -> None:
        place.waiting()
        server.kill()
        while not caplog.records:
            time.sleep(0.01)
        place.answer("yes")
        server.start()

    other = meanwhile(restart)
    try:
        assert quandary.confirm("Deploy?", context=PASSED) is True
        other.join()
        (warned,) = [one.getMessage() for one in caplog.records]
        assert "cannot be reached" in warned
        assert "is waited for all the same" in warned
    finally:
        server.kill()
    with pytest.raises(StoreError, match="cannot be reached"):
        quandary.confirm("Deploy?", context=PASSED)
    place.store.close()


def test_a_server_says_why_it_refuses(
    server: sites.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing token, a tree that it does not have, and what is no server at all."""
    with pytest.raises(quandary.QuandaryError, match=r"token|log in"):
        quandary.Client(server.address, token="").confirm("Deploy?", context=PASSED)
    asker = quandary.Client(server.address, token=sites.TOKEN)
    with pytest.raises(quandary.NotFound):
        asker.ask("NO_SUCH_TREE", context=PASSED)
    with pytest.raises(quandary.QuandaryError, match="answered in its inbox"):
        asker.confirm("Deploy?", context=PASSED, via="terminal")
    monkeypatch.setenv("QUANDARY_URL", "decide.example.org")
    with pytest.raises(quandary.QuandaryError, match="QUANDARY_URL is the address of a server"):
        quandary.Client()


# -- at a terminal ---------------------------------------------------------------------------------

SITTING = """
import asyncio
from quandary.desk import authority
authority.find_agent = lambda: ""
import quandary
"""


@pytest.mark.parametrize(
    "asking",
    [
        'print("It is", quandary.confirm("Deploy?", context="It passed."))',
        """
async def main():
    print("It is", await quandary.aconfirm("Deploy?", context="It passed."))
asyncio.run(main())
""",
        """
async def main():
    print("It is", quandary.confirm("Deploy?", context="It passed."))
asyncio.run(main())
""",
        """
async def main():
    tree = quandary.load("tree.md")
    flow = quandary.decide(tree, context="It passed.")
    done = quandary.run(flow, ask=quandary.people.terminal)
    print("It is", done["chosenItems"][0]["path"] == "NOW")
asyncio.run(main())
""",
    ],
    ids=["sync", "async", "sync in a loop", "run in a loop"],
)
def test_on_a_terminal_the_person_there_is_asked(tmp_path: Path, asking: str) -> None:
    """Right there, also within a running event loop, and it is that person's word."""
    (tmp_path / "tree.md").write_text(program.DEPLOY, encoding="utf-8")
    env = {"QUANDARY_STORE": str(tmp_path / "own.db"), "TERM": "dumb"}
    if "loop" in asking or "await" in asking:
        env["TERM"] = "xterm"  # a box could be drawn, if there were no loop
    command = [sys.executable, "-c", SITTING + asking]
    ended = program.type_at(command, "1\n", env)
    assert "1. " in ended.out
    assert ended.out.endswith("It is True\n")
    if "decide" not in asking:
        with closing(open_store(tmp_path / "own.db")) as store:
            (row,) = store.runs()
            answered = next(iter(store.entries(row.id, kinds=("answered",)))).read()
            assert (answered.who, answered.through) == ("person", "terminal")


def test_who_leaves_the_terminal_has_not_answered(tmp_path: Path) -> None:
    """The question waits in the inbox, and so does the program."""
    where = str(tmp_path / "own.db")
    asking = 'print("It is", quandary.confirm("Deploy?", context="It passed."))'
    with closing(open_store(where)) as store:

        def answer_when_they_left() -> None:
            place = Place(where, None, store)
            while "dismissed" not in [note.kind for note in place.notes()]:
                time.sleep(0.01)
            place.answer("yes")

        meanwhile(answer_when_they_left)
        env = {"QUANDARY_STORE": where, "TERM": "dumb"}
        ended = program.type_at([sys.executable, "-c", SITTING + asking], "\x04", env)
    assert "The question waits. Answer it with: quandary next" in ended.out
    assert ended.out.endswith("It is True\n")


COLD = """
import sys, threading
import quandary

sys.setswitchinterval(1e-6)
start = threading.Barrier(8)


def ask(number):
    start.wait()
    try:
        quandary.confirm(f"Archive wiki {number}?", context="Nobody reads it.", timeout=0.01)
    except quandary.TimedOut:
        pass


threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

import msgspec
from quandary.journal.progress import _completed

kinds = [msgspec.Struct]
for kind in kinds:
    kinds += kind.__subclasses__()
late = [k for k in kinds if k.__module__.startswith("quandary.") and k not in _completed]
sys.exit(f"read into by threads before they were completed: {late}" if late else 0)
"""


def test_a_program_can_ask_first_in_several_threads_at_once(tmp_path: Path) -> None:
    """Two threads that complete a type of msgspec at once would end the process with a signal."""
    for number in range(4):
        env = program.environment({"QUANDARY_STORE": str(tmp_path / f"{number}.db")})
        ended = subprocess.run([sys.executable, "-c", COLD], env=env, check=False)
        assert ended.returncode == 0


# -- how it is packed ------------------------------------------------------------------------------


def test_importing_stays_light() -> None:
    """Nothing is loaded before something is asked; asking in a file needs no network."""
    script = (
        "import sys, quandary\n"
        "assert 'quandary.client' not in sys.modules\n"
        "quandary.ask\n"
        "heavy = {'asyncio', 'urllib.request', 'http.client', 'psycopg', 'textual', 'litestar'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"[]\n"
    assert os.environ.get("QUANDARY_URL") is None


# -- the programs of the documentation -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said", "printed"),
    [
        ("region", {"Which region": "us"}, "Build 812 goes to us.\n"),
        (
            "release",
            {"Does": '{"answers": [{"picked": ["GO"]}, {"text": "after lunch"}]}'},
            """\
Version 2.1: Publish to everyone (GO), says a person.
The new documentation: after lunch (OTH/custom:after lunch), says a person.
""",
        ),
        (
            "notes",
            {
                "What shall": '{"answers": [{"picked": ["SEND"], '
                '"values": {"urgent": true, "readers": "everybody"}}]}'
            },
            "Version 2.1, for everybody (urgent)\n",
        ),
        ("together", {"Archive": "yes", "Invite": "no"}, "archive: True invite: False\n"),
        (
            "patience",
            {"Remove": "only after a backup"},
            "Neither yes nor no: only after a backup\n",
        ),
    ],
)
def test_programs_of_the_documentation_run(
    tmp_path: Path, name: str, said: dict[str, str], printed: str
) -> None:
    """As they stand there, answered by a person in the inbox."""
    command = [sys.executable, f"examples/python/{name}.py"]
    env = program.environment({"QUANDARY_STORE": str(tmp_path / "own.db")})
    with (
        closing(open_store(tmp_path / "own.db")) as store,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=TESTS.parent, env=env
        ) as asking,
    ):
        while asking.poll() is None:
            for row in runs.inbox(store):
                state = runs.look(store, row.id)
                if state.ask is not None:
                    text = state.ask.questions[0].text
                    (reply,) = [words for start, words in said.items() if text.startswith(start)]
                    desk.reply(store, PERSON, row.id, reply, state.key)
            time.sleep(0.02)
        assert asking.stdout is not None
        assert (asking.wait(), asking.stdout.read().decode()) == (0, printed)


def test_type_checkers_of_users_pass_in_their_strictest_mode(tmp_path: Path) -> None:
    """Pyright, over the programs of the documentation, which mypy checks with all else; and it
    finds what is wrong.
    """
    shutil.copytree(TESTS.parent / "examples" / "python", tmp_path / "own")
    wrong = 'import quandary\n\nregion: int = quandary.choose("Where?", ["eu"], context="It is.")\n'
    (tmp_path / "own" / "wrong.py").write_text(wrong, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"strict": ["own"]}', encoding="utf-8")
    words = ["node", str(pyright()), "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    found = msgspec.json.decode(done.stdout)["generalDiagnostics"]
    assert [(Path(one["file"]).name, one["rule"]) for one in found] == [
        ("wrong.py", "reportAssignmentType")
    ]


# -- permits ---------------------------------------------------------------------------------------


def test_a_permit_is_given_by_a_person_and_used_at_once(place: Place) -> None:
    """Anywhere; the same key finds it used, and what was denied is raised with the words."""
    thread = meanwhile(lambda: place.answer("Allow once"))
    with place.client() as client:
        run = client.permit("deploy build 812", '{"build": 812}', key="812", via="inbox")
        thread.join()
        assert runs.look(place.store, run).result["used"]
        with pytest.raises(quandary.Rejected, match="was used already"):
            client.permit("deploy build 812", '{"build": 812}', key="812", via="inbox")
        thread = meanwhile(lambda: place.answer("not before Monday"))
        with pytest.raises(quandary.Rejected, match="it was denied: not before Monday"):
            client.permit("deploy build 813", via="inbox")
        thread.join()
        with pytest.raises(quandary.TimedOut):
            client.permit("deploy build 814", via="inbox", timeout=0.1, on_timeout="withdraw")
