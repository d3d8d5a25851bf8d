"""People elsewhere are told of questions, by real programs and servers, and never in the way."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import program
from quandary.desk import notices
from quandary.errors import ParseError
from quandary.journal import open_store, runs
from quandary.journal.sqlite import SqliteStore
from small_flows import begin, pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAM = """\
import json, os, sys
told = {n: v for n, v in os.environ.items() if n.startswith("QUANDARY_NOTICE_")}
line = {"words": sys.argv[2:], "told": told, "stdin": json.load(sys.stdin), "cwd": os.getcwd()}
with open(sys.argv[1], "a") as file:
    file.write(json.dumps(line) + "\\n")
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose settings and log are in a folder of their own, in a project."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("QUANDARY_STORE", str(tmp_path / "journal.db"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "config" / "quandary").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "quandary.toml").touch()
    (tmp_path / "project" / "tree.md").write_text(program.DEPLOY, encoding="utf-8")
    (tmp_path / "told.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def say(home: Path, text: str) -> None:
    """What the user's own settings say."""
    (home / "config" / "quandary" / "config.toml").write_text(text, encoding="utf-8")


def own_program(home: Path, *words: str) -> str:
    """A command that writes down what it is told."""
    command = [sys.executable, str(home / "told.py"), str(home / "told.jsonl"), *words]
    return f"[notify]\ncommand = {json.dumps(command)}\n"


def told(home: Path) -> list[dict[str, Any]]:
    """What it wrote down so far."""
    path = home / "told.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def soon(look: Callable[[], Any], seconds: float = 20) -> Any:  # noqa: ANN401 - whatever it finds
    """What is there after a while, since nobody waits for who tells it."""
    until = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def log(home: Path) -> str:
    """What went wrong."""
    path = home / "data" / "quandary" / "notify.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def ask(*words: str) -> dict[str, Any]:
    """Ask as an agent does, in a process of its own."""
    ended = program.start("ask", "tree.md", "--context", "All green.", "--via", "relay", *words)
    assert ended.status == 0, ended.err
    state: dict[str, Any] = json.loads(ended.out)
    return state


class Receiver(ThreadingHTTPServer):
    """A server that keeps what comes in."""

    answer = 204
    seconds = 0.0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.came: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}/hooks/very-secret"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Receiver

    def do_POST(self) -> None:
        """Keep it, and answer as was asked for."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came.append((self.path, dict(self.headers), body))
        time.sleep(self.server.seconds)
        self.send_response(self.server.answer)
        if self.server.answer == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    do_GET = do_POST  # noqa: N815 - its name is fixed

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server on this machine."""
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


NOTICE = {"run": "01R", "project": "p", "text": "Waiting for you: what?", "key": "1:"}


# -- a command -------------------------------------------------------------------------------------


def test_a_command_is_told_of_a_question(home: Path) -> None:
    """By standard input and variables, and as words where a word is nothing but a placeholder."""
    say(home, own_program(home, "{run}", "{text}", "x{text}", "{other}", "{link}"))
    state = ask()
    (line,) = soon(lambda: told(home))
    run, text = state["run"], line["stdin"]["text"]
    assert text.startswith("Waiting for you in project: ")
    assert state["ask"]["tool_input"]["questions"][0]["question"] in text
    assert line["words"] == [run, text, "x{text}", "{other}", ""]
    assert line["told"] == {
        "QUANDARY_NOTICE_RUN": run,
        "QUANDARY_NOTICE_PROJECT": str(home / "project"),
        "QUANDARY_NOTICE_TEXT": text,
        "QUANDARY_NOTICE_LINK": "",
    }
    assert line["cwd"] == str(home)
    labels = ["Deploy now", "Deploy this evening", "Do not deploy"]
    with closing(open_store(home / "journal.db")) as store:
        newest = store.anchor()
    assert line["stdin"] == {
        "event": "question.waiting",
        "run": run,
        "flow": "decide",
        "project": str(home / "project"),
        "key": state["ask"]["key"],
        "since": line["stdin"]["since"],
        "text": text,
        "questions": [{"text": line["stdin"]["questions"][0]["text"], "options": labels}],
        "newest": newest,
        "link": "",
    }
    assert log(home) == ""


def test_what_an_agent_wrote_is_never_an_option_or_a_file(home: Path) -> None:
    """The text begins with our own words, whatever the question is."""
    say(home, own_program(home, "{text}"))
    for evil in ("--output=x", "@/etc/passwd", "$(touch x); touch x", "\x1b[2J"):
        ask("--question", evil)
        (line,) = soon(lambda: told(home))
        assert line["words"][0].startswith("Waiting for you in project: ")
        assert "\x1b" not in line["words"][0]
        (home / "told.jsonl").unlink()
    assert not (home / "x").exists()


def test_the_caller_does_not_wait(home: Path) -> None:
    """A command that takes long is nobody's business but its own."""
    command = [sys.executable, "-c", "import time; time.sleep(4)"]
    ask()
    begun = time.monotonic()
    ask()
    usual = time.monotonic() - begun
    say(home, f"[notify]\ncommand = {json.dumps(command)}\n")
    begun = time.monotonic()
    ask()
    assert time.monotonic() - begun < usual + 2


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        (["no-such-program-anywhere"], "no-such-program-anywhere could not be started"),
        ([sys.executable, "-c", "import sys; sys.exit('out of luck')"], "status 1: out of luck"),
        ([sys.executable, "-c", "import time; time.sleep(60)"], "longer than 0.5 seconds"),
    ],
)
def test_a_command_that_fails_is_logged(home: Path, command: list[str], wrong: str) -> None:
    """With the reason, and within its time."""
    begun = time.monotonic()
    notices.carry_out(notices.Means(tuple(command)), NOTICE, 0.5)
    assert time.monotonic() - begun < 10
    assert wrong in log(home)


def test_what_takes_too_long_is_ended_with_all_its_children(home: Path) -> None:
    """No process stays behind."""
    script = f"import os, time; os.fork(); open({str(home)!r} + f'/{{os.getpid()}}.pid', 'w'); "
    notices.carry_out(notices.Means((sys.executable, "-c", script + "time.sleep(60)")), NOTICE, 1.5)
    pids = [int(path.stem) for path in home.glob("*.pid")]
    assert len(pids) == 2
    assert soon(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids))


def test_a_failure_never_fails_the_run(home: Path) -> None:
    """Neither a bad table nor a process that cannot be started."""
    say(home, '[notify]\ncommand = "not a list"\n')
    assert ask()["status"] == "waiting"
    assert soon(lambda: "command is a list of words" in log(home))


def test_the_log_does_not_grow_for_ever(home: Path) -> None:
    """It begins anew."""
    path = home / "data" / "quandary" / "notify.log"
    path.parent.mkdir(parents=True)
    path.write_text("x" * 1_000_001)
    notices.carry_out(notices.Means(("no-such-program",)), NOTICE, 1)
    assert path.stat().st_size < 500


# -- a webhook -------------------------------------------------------------------------------------


def test_a_webhook_gets_a_signed_body(home: Path, receiver: Receiver) -> None:
    """Whoever knows the secret can see that it is ours, to the byte."""
    say(home, f'[notify]\nwebhook = "{receiver.url}"\nsecret = "s3cret"\n')
    state = ask()
    ((path, headers, body),) = soon(lambda: receiver.came)
    assert path == "/hooks/very-secret"
    made = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["X-Quandary-Signature"] == f"sha256={made}"
    assert headers["X-Quandary-Event"] == "question.waiting"
    assert headers["Content-Type"] == "application/json"
    assert json.loads(body)["run"] == state["run"]
    assert log(home) == ""


def test_both_are_told_at_once(home: Path, receiver: Receiver) -> None:
    """A slow server does not keep the command waiting."""
    receiver.seconds = 3
    say(home, own_program(home) + f'webhook = "{receiver.url}"\n')
    ask()
    (line,) = soon(lambda: told(home))
    ((_, headers, body),) = soon(lambda: receiver.came)
    assert json.loads(body) == line["stdin"]
    assert "X-Quandary-Signature" not in headers


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_webhook_that_refuses_is_logged(home: Path, receiver: Receiver, status: int) -> None:
    """A redirection is not followed, and the path, which may be a secret, is not logged."""
    receiver.answer = status
    notices.carry_out(notices.Means(webhook=receiver.url), NOTICE, 5)
    assert f"the webhook at 127.0.0.1 answered {status}" in log(home)
    assert "very-secret" not in log(home)
    assert len(receiver.came) == 1


def test_a_webhook_that_cannot_be_reached_is_logged(home: Path, receiver: Receiver) -> None:
    """Nobody is there, or nobody answers in time."""
    receiver.seconds = 1.5
    notices.carry_out(notices.Means(webhook=receiver.url), NOTICE, 0.3)
    notices.carry_out(notices.Means(webhook="http://127.0.0.1:9/x"), NOTICE, 5)
    late, refused = log(home).splitlines()
    assert "timed out" in late
    assert "refused" in refused


# -- the settings ----------------------------------------------------------------------------------


def test_a_repository_cannot_name_a_command(home: Path, receiver: Receiver) -> None:
    """Only the user's own settings count, even beside a project's that say otherwise."""
    evil = f'{own_program(home)}webhook = "{receiver.url}"\n'
    (home / "project" / "quandary.toml").write_text(evil, encoding="utf-8")
    ask()
    time.sleep(1)
    say(home, own_program(home, "mine"))
    ask()
    (line,) = soon(lambda: told(home))
    assert line["words"] == ["mine"]
    assert receiver.came == []


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ({"comand": ["x"]}, "no key comand"),
        ({"command": []}, "begins with a program"),
        ({"command": ["", "x"]}, "begins with a program"),
        ({"command": ["{text}"]}, "not with {text}"),
        ({"command": ["x", 3]}, "list of words"),
        ({"webhook": 3}, "webhook is a text"),
        ({"webhook": "http://example.org/x"}, "https://"),
        ({"webhook": "http://127.example.org/x"}, "https://"),
        ({"webhook": "file:///etc/passwd"}, "https://"),
        ({"webhook": "https://"}, "https://"),
        ({"webhook": "https://[x"}, "no address"),
        ({"webhook": "https://a:b/"}, "no address"),
        ({"secret": "s"}, "there is none"),
    ],
)
def test_a_wrong_table_is_explained(table: dict[str, Any], wrong: str) -> None:
    """One line that says what to write."""
    with pytest.raises(ParseError) as caught:
        notices.read_table(table)
    assert wrong in str(caught.value)
    assert "\n" not in str(caught.value)


def test_right_tables_are_read() -> None:
    """Either way of telling, or both."""
    assert notices.read_table({}) == notices.Means()
    assert notices.read_table({"command": ["x"]}) == notices.Means(("x",))
    for url in ("https://example.org/x", "http://localhost:1/x", "http://[::1]/x"):
        assert notices.read_table({"webhook": url, "secret": "s"}).webhook == url


@given(st.text(), st.text())
def test_signatures_differ_with_every_byte(one: str, two: str) -> None:
    """Of the body and of the secret."""
    made = notices.signature(one, two.encode())
    assert made == notices.signature(one, two.encode())
    assert made != notices.signature(one, two.encode() + b"x")
    assert made != notices.signature(one + "x", two.encode())


# -- when ------------------------------------------------------------------------------------------


def test_a_question_is_told_once_and_so_is_the_next(home: Path) -> None:
    """A relayed reply that leads on is told of; looking at what waits is not."""
    say(home, own_program(home, "{run}"))
    run = ask("--item", "1|A|Alpha|First.", "--item", "2|B|Beta|Second.")["run"]
    assert soon(lambda: len(told(home)) == 1)
    program.start("next", run, "--via", "relay")
    program.start("runs")
    replied = program.start("reply", run, '{"answers": [{"picked": ["NOW"]}]}')
    assert json.loads(replied.out)["status"] == "waiting"
    assert soon(lambda: len(told(home)) == 2)
    done = program.start("reply", run, '{"answers": [{"picked": ["NOW"]}]}')
    assert json.loads(done.out)["status"] == "done"
    time.sleep(0.5)
    assert [line["words"] for line in told(home)] == [[run], [run]]


def test_a_script_has_its_answers_at_hand(home: Path) -> None:
    """Only what it leaves open is told of."""
    say(home, own_program(home))
    answers = home / "answers.json"
    two = ("--item", "1|A|Alpha|First.", "--item", "2|B|Beta|Second.", "--answers", str(answers))
    answers.write_text('[{"answers": [{"picked": ["NOW"]}, {"picked": ["NOW"]}]}]')
    assert ask(*two)["status"] == "done"
    answers.write_text('[{"answers": [{"picked": ["NOW"]}]}]')
    state = ask(*two)
    assert state["status"] == "waiting"
    (line,) = soon(lambda: told(home))
    assert line["stdin"]["key"] == state["ask"]["key"]
    time.sleep(0.5)
    assert len(told(home)) == 1


def test_who_answers_in_person_has_the_next_question_before_them(home: Path) -> None:
    """At a terminal or in the browser; the listener is the store's own."""
    heard: list[str] = []
    store, other = SqliteStore(home / "a.db"), SqliteStore(home / "b.db")
    runs.listen(store, lambda run, ask: heard.append(f"{run.key} {ask.key}"))
    begin(other, kind="chain", questions=1)
    assert heard == []
    state = begin(store, kind="chain", questions=4)
    assert heard == [f"{state.key} {state.key}"]
    for through in ("terminal", "web"):
        reply = pick(state.key)
        state = runs.advance(store, state.run, reply, who="person", through=through)
        assert state.status == "waiting"
    assert len(heard) == 1
    reply = pick(state.key)
    state = runs.advance(store, state.run, reply, who="agent", through="relay")
    assert heard[1:] == [f"{state.key} {state.key}"]


# -- the link --------------------------------------------------------------------------------------


def test_the_link_leads_to_the_server_that_runs(home: Path) -> None:
    """As long as it runs; the settings may know better where a browser finds it."""
    store = opened(home)
    assert notices.server_address(store, "") == ""
    with notices.announce("http://127.0.0.1:8420", store, ""):
        assert notices.server_address(store, "") == "http://127.0.0.1:8420"
        say(home, own_program(home, "{link}"))
        run = ask()["run"]
        (line,) = soon(lambda: told(home))
        assert line["words"] == [f"http://127.0.0.1:8420/runs/{run}"]
        say(home, own_program(home, "{link}") + 'address = "https://q.example.org/"\n')
        run = ask()["run"]
        assert soon(lambda: len(told(home)) == 2)
        assert told(home)[1]["words"] == [f"https://q.example.org/runs/{run}"]
    assert notices.server_address(store, "") == ""


def opened(home: Path) -> SqliteStore:
    """The store of the user."""
    return SqliteStore(home / "journal.db")


def test_a_link_leads_to_the_server_that_has_the_run(home: Path) -> None:
    """Of two with the same store, to the one of the project; never to one with another store."""
    store, other = opened(home), SqliteStore(home / "other.db")
    folder = home / "data" / "quandary"
    with notices.announce("http://127.0.0.1:1", store, "/one"):
        second = json.loads((folder / f"serve-{os.getpid()}.json").read_text())
        second |= {"address": "http://127.0.0.1:2", "process": os.getppid(), "project": "/two"}
        (folder / f"serve-{os.getppid()}.json").write_text(json.dumps(second))
        assert notices.server_address(store, "/one") == "http://127.0.0.1:1"
        assert notices.server_address(store, "/two") == "http://127.0.0.1:2"
        assert notices.server_address(store, "/three") in ("http://127.0.0.1:1", second["address"])
        assert notices.server_address(other, "/one") == ""
    assert notices.server_address(store, "/one") == "http://127.0.0.1:2"
    (home / "link.db").symlink_to(home / "journal.db")
    assert notices.server_address(SqliteStore(home / "link.db"), "") == "http://127.0.0.1:2"


def test_a_server_that_was_killed_is_not_linked_to(home: Path) -> None:
    """What it said of itself is forgotten; what nobody can read is passed over."""
    store, folder = opened(home), home / "data" / "quandary"
    with notices.announce("http://127.0.0.1:1", store, ""):
        said = json.loads((folder / f"serve-{os.getpid()}.json").read_text())
    gone = folder / "serve-0.json"
    gone.write_text(json.dumps(said | {"process": 2**22 + 1}))
    (folder / "serve-1.json").write_text("nonsense")
    assert notices.server_address(store, "") == ""
    assert not gone.exists()
