"""Notices: a person elsewhere learns that a question waits, and a program what became of it.

`[notify]` names a command, a webhook, or both. Whoever asks does not wait for them: a process of
its own runs the one and calls the other, and what goes wrong there is written to `notify.log` in
the user's data folder. Only the user's own settings count, since a repository could name anything.

What a notice says was written by an agent, so it comes by standard input and in variables. A word
of the command may be `{text}` as a whole, and the text then begins with words of ours, so that no
program takes it for an option or for the name of a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from weakref import proxy

import msgspec

from quandary.desk.authority import Caller, require_may
from quandary.errors import ParseError, QuandaryError, Rejected
from quandary.journal import chance, runs
from quandary.journal.history import event_of
from quandary.model.text import printable, reveal
from quandary.settings import data_folder, require_keys, user_settings

if TYPE_CHECKING:
    from quandary.journal.store import Letter, Run, Store
    from quandary.model.asks import Ask
    from quandary.settings import Settings

    Watch = Callable[[Callable[[], object]], None]

SECONDS = 10.0  # how long a command or a webhook may take
EVENT = "question.waiting"
VARIABLE = "QUANDARY_NOTICE_"  # what the names of the variables begin with that a command sees
WORDS = ("run", "project", "text", "link")  # what a word of the command can stand for, in braces
_LONGEST_TEXT = 500
_LARGEST_LOG = 1_000_000
_LONGEST_LINE = 2000


class Means(msgspec.Struct, frozen=True):
    """How a person wants to be told: the table `[notify]`."""

    command: tuple[str, ...] = ()
    webhook: str = ""
    secret: str = ""
    address: str = ""  # where their browser reaches the server, if not where it says itself


def watch_store(store: Store, watch: Watch | None = None) -> None:
    """From now on send a notice of every question that begins to wait in this store."""
    same = proxy(store)  # whoever listens must not hold it open
    runs.listen(store, lambda run, ask: send_notice(same, run, ask, watch))


def send_notice(store: Store, run: Run, ask: Ask, watch: Watch | None = None) -> None:
    """Send a notice of a question, without waiting for that and without ever failing. `watch` does
    something in the background. A program that runs for long gives it: somebody has to take note of
    how the process ended that sent the notice.
    """
    try:
        if table := user_settings().table("notify"):
            said = notice(run, ask) | {"newest": store.anchor()}
            said["link"] = server_address(store, run.project)
            see_it_end = _start({"table": table, "notice": said}, run.id)
            if watch is not None:
                watch(see_it_end)
    except Exception as error:  # noqa: BLE001 - the question waits whether or not this works
        why = f"{type(error).__name__}: {error}"
        log_trouble("notify", f"no notice of run {run.id} could be sent ({why})")


def notice(run: Run, ask: Ask) -> dict[str, Any]:
    """What a notice says of a question."""
    from quandary.desk.sheets import shorten  # noqa: PLC0415 - only where there is a notice

    texts = "; ".join(question.text or question.title for question in ask.questions)
    where = f" in {os.path.basename(run.project)}" if run.project else ""
    told = f"Waiting for you{where}: {texts or ask.preamble.context}"
    return {
        "event": EVENT,
        "run": run.id,
        "flow": run.flow,
        "project": run.project,
        "key": ask.key,
        "since": run.since,
        "text": printable(shorten(told, _LONGEST_TEXT)),
        "questions": [
            {"text": reveal(question.text), "options": [reveal(c.label) for c in question.choices]}
            for question in ask.questions
        ],
    }


def _start(order: dict[str, Any], run: str) -> Callable[[], None]:
    """Start a process that carries out the order and outlives this one; what waits for its end."""
    import logging  # noqa: PLC0415 - only where there is a notice
    import subprocess  # noqa: PLC0415 - the same
    import tempfile  # noqa: PLC0415 - the same

    with tempfile.TemporaryFile() as file:  # a pipe could be full before anybody reads from it
        file.write(msgspec.json.encode(order))
        file.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "quandary.desk.notices"],
            stdin=file,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def see_it_end() -> None:
        if process.wait():
            log = logging.getLogger("quandary.notify")
            log.warning("a notice of run %s failed; see %s", run, trouble_log("notify"))

    return see_it_end


def read_table(table: dict[str, Any]) -> Means:
    """The table `[notify]`, or what is wrong with it."""
    require_keys("notify", table, Means.__struct_fields__)
    command = table.get("command", [])
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        raise ParseError('[notify] command is a list of words, like ["notify-send", "{text}"]')
    if "command" in table and (not command or not command[0].strip()):
        raise ParseError("[notify] command begins with a program")
    if command and command[0] in [f"{{{name}}}" for name in WORDS]:
        raise ParseError(f"[notify] command begins with a program, not with {command[0]}")
    texts = {name: table.get(name, "") for name in ("webhook", "secret", "address")}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise ParseError(f"[notify] {name} is a text, not {value!r}")
    if texts["webhook"]:
        require_safe(texts["webhook"], "[notify] webhook")
    if texts["secret"] and not texts["webhook"]:
        raise ParseError("[notify] secret signs what goes to a webhook, and there is none")
    return Means(tuple(command), **texts)


def require_safe(address: str, what: str) -> None:
    """Questions go over a network only where nobody on the way can read them."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - only for webhooks

    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ParseError(f"{what} is no address") from None
    if not (parts.scheme == "https" and host) and not (parts.scheme == "http" and is_here(address)):
        raise ParseError(f"{what} is an address that begins with https://")


def is_here(address: str) -> bool:
    """Whether an address is on this very machine."""
    from ipaddress import ip_address  # noqa: PLC0415 - only for webhooks
    from urllib.parse import urlsplit  # noqa: PLC0415 - the same

    with suppress(ValueError):
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    return False


def main() -> int:
    """Carry out the order on standard input."""
    try:
        order = msgspec.json.decode(sys.stdin.buffer.read())
        return 0 if carry_out(read_table(order["table"]), order["notice"]) else 1
    except Exception as error:  # noqa: BLE001 - nobody is there to see it
        log_trouble("notify", f"{type(error).__name__}: {error}")
        return 1


def carry_out(means: Means, notice: dict[str, Any], seconds: float = SECONDS) -> bool:
    """Use all means at once; each that fails leaves a line in the log. Whether none did."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not where it is asked

    address = (means.address or notice.get("link", "")).rstrip("/")
    notice = {**notice, "link": f"{address}/runs/{notice['run']}" if address else ""}
    body = msgspec.json.encode(notice)
    told = {name: str(notice[name]) for name in WORDS}
    with ThreadPoolExecutor(1) as pool:  # the webhook is called while the command runs
        ran = pool.submit(_run, means.command, told, body, seconds)
        wrong = [_post(means, body, seconds) if means.webhook else "", ran.result()]
    for line in filter(None, wrong):
        log_trouble("notify", line)
    return not any(wrong)


def _run(command: tuple[str, ...], told: dict[str, str], body: bytes, seconds: float) -> str:
    """Run the user's command, if there is one; what went wrong, if anything did."""
    import signal  # noqa: PLC0415 - not where the question is asked
    import subprocess  # noqa: PLC0415 - the same
    import tempfile  # noqa: PLC0415 - the same

    if not command:
        return ""
    places = {f"{{{name}}}": value for name, value in told.items()}
    variables = {f"{VARIABLE}{name.upper()}": value for name, value in told.items()}
    home = os.path.expanduser("~")
    # Files, not pipes: the command may leave something running that keeps them open.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
        given.write(body)
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own settings name it
                [places.get(word, word) for word in command],
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                env={**os.environ, **variables},
                cwd=home if os.path.isdir(home) else None,
                start_new_session=True,
            )
        except OSError as error:
            return f"the command {command[0]} could not be started: {error.strerror}"
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"the command {command[0]} took longer than {seconds:g} seconds and was ended"
        complaints.seek(0)
        said = complaints.read(_LONGEST_LINE).decode(errors="replace").strip()
        ended = f"the command {command[0]} ended with status {status}"
        return "" if status == 0 else f"{ended}: {said}" if said else ended


def signature(secret: str, body: bytes) -> str:
    """What shows the receiver that a body comes from somebody who knows the secret."""
    import hashlib  # noqa: PLC0415 - not where the question is asked
    import hmac  # noqa: PLC0415 - the same

    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _post(means: Means, body: bytes, seconds: float) -> str:
    """Call the webhook, which is left in any case after a while."""
    import signal  # noqa: PLC0415 - not where the question is asked

    def leave(*_: object) -> None:
        raise TimeoutError("it took too long and was left")

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, seconds + 2)  # for one that sends a byte now and then
    try:
        return post(means.webhook, means.secret, body, {"X-Quandary-Event": EVENT}, seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def post(address: str, secret: str, body: bytes, headers: dict[str, str], seconds: float) -> str:
    """Send a body, signed; what went wrong, if anything did. The path may be a secret."""
    from http.client import HTTPException  # noqa: PLC0415 - not where the question is asked
    from urllib import error, request  # noqa: PLC0415 - the same
    from urllib.parse import urlsplit  # noqa: PLC0415 - the same

    from quandary import __version__  # noqa: PLC0415 - the same

    class Nowhere(request.HTTPRedirectHandler):
        """What was meant for one receiver goes to no other."""

        def redirect_request(self, *_: object, **__: object) -> None:
            """Follow nothing."""

    host = urlsplit(address).hostname or ""
    headers |= {"Content-Type": "application/json", "User-Agent": f"quandary/{__version__}"}
    if secret:
        headers["X-Quandary-Signature"] = signature(secret, body)
    ways: list[request.BaseHandler] = [Nowhere()]
    if is_here(address):
        ways.append(request.ProxyHandler({}))
    sent = request.Request(address, body, headers)  # noqa: S310 - http(s) only, see above
    try:
        with request.build_opener(*ways).open(sent, timeout=seconds):
            return ""
    except error.HTTPError as answer:
        answer.close()
        return f"the webhook at {host} answered {answer.code}"
    except (OSError, HTTPException) as trouble:
        reason = getattr(trouble, "reason", trouble)
        return f"the webhook at {host} cannot be reached ({reason})"


#
# `[[callbacks]]` of the user's own settings name addresses that are told of every run; a run can
# name one of its own. What is told is written down with the entry that it tells of, and delivered
# from there by any server or worker, in order, until it is taken or a day has passed.

SHORTEST, LONGEST = timedelta(seconds=15), timedelta(hours=1)
"""From one try to the next: twice as long each time. A try is over before the next begins."""
A_DAY = timedelta(days=1)


class Callback(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `[[callbacks]]`."""

    url: str
    secret: str = ""
    only_named: bool = False  # it is told only of runs that name it

    def covers(self, address: str) -> bool:
        """Whether an address is this one, or below it."""
        return address == self.url or address.startswith(self.url.rstrip("/") + "/")


def list_callbacks(own: Settings) -> list[Callback]:
    """Those of the user's own settings."""
    return read_callbacks(own.parts[0].values.get("callbacks", [])) if own.parts else []


def read_callbacks(entries: object) -> list[Callback]:
    """`[[callbacks]]`, or what is wrong with them."""
    try:
        found = msgspec.convert(entries, list[Callback])
    except msgspec.ValidationError as error:
        raise ParseError(f"[[callbacks]] have url, secret, only_named: {error}") from None
    for callback in found:
        require_safe(callback.url, "[[callbacks]] url")
    return found


def choose_addresses(store: Store, caller: Caller, named: str, own: Settings) -> list[str]:
    """Who is told of a run: the addresses of the user's settings, and the one that the run names.
    Whoever asks from elsewhere names only what is listed there. An address on this very machine
    means another one wherever a store is shared, so there it has to be listed as well.
    """
    known = list_callbacks(own)
    chosen = [callback.url for callback in known if not callback.only_named]
    if named and named not in chosen:
        require_safe(named, "a callback")
        is_listed = any(callback.covers(named) for callback in known)
        if not is_listed:
            require_may(caller, "name an address", named)
        if not is_listed and not _is_reached(store, named):
            raise Rejected("a callback on this machine is for a store on this machine")
        chosen.append(named)
    return chosen


def _is_reached(store: Store, address: str) -> bool:
    """Whether whoever delivers is sure to reach the same receiver as whoever named it."""
    return store.shared is None or not is_here(address)


def deliver_callbacks(store: Store) -> None:
    """Deliver what is due, as soon as it is, as long as the program runs."""
    import logging  # noqa: PLC0415 - not where the question is asked

    away, log = False, logging.getLogger("quandary.callbacks")
    with closing(store.news(1.0)) as news:
        while True:
            try:
                next(news)
                while deliver_due(store):
                    pass
                away = False
            except QuandaryError as error:
                if not away:
                    log.warning("callbacks are not delivered at the moment: %s", error)
                away = True


def deliver_due(store: Store) -> int:
    """Deliver what is due now; how many were taken."""
    import logging  # noqa: PLC0415 - as above

    log = logging.getLogger("quandary.callbacks")
    taken = 0
    for letter in store.find_letters(chance.stamp(chance.now())):
        told = describe_letter(store, letter)
        late = told is None or chance.now() - datetime.fromisoformat(told["at"]) > A_DAY
        pause = min(SHORTEST * 2 ** min(letter.tries, 16), LONGEST)
        if not store.claim_letter(letter, None if late else chance.stamp(chance.now() + pause)):
            continue  # somebody else is at it
        wrong = f"it was not taken within a day ({letter.tries} tries)" if late else ""
        if told is not None and not late:
            known = [one for one in list_callbacks(user_settings()) if one.covers(letter.address)]
            wrong = "it is on another machine"
            if known or _is_reached(store, letter.address):
                body, secret = msgspec.json.encode(told), known[0].secret if known else ""
                headers = {"X-Quandary-Event": told["event"], "X-Quandary-Id": told["id"]}
                wrong = post(letter.address, secret, body, headers, SECONDS)
        if wrong:
            log_trouble("callbacks", f"run {letter.run}, entry {letter.n}: {wrong}")
            log.warning("a callback of run %s failed: %s", letter.run, wrong)
        elif not late:
            store.remove_letter(letter)
            taken += 1
    return taken


def describe_letter(store: Store, letter: Letter) -> dict[str, Any] | None:
    """What is told of an entry: what happened, and where it led; only by the run's own address."""
    found = store.entries(letter.run, after=letter.n - 1, upto=letter.n)
    body = found[0].read() if found else None
    event = event_of(body, found[0].read_matter()) if body is not None else None
    state = runs.state_after(store, letter.run, letter.n) if event else None
    named = runs.arguments_of(store, letter.run).get("callbacks", ())
    if body is None or state is None or letter.address not in named:
        return None
    row = store.require_run(letter.run)
    return {
        "id": f"{letter.run}/{letter.n}",
        "event": f"run.{event}",
        "at": body.at,
        "run": letter.run,
        "flow": row.flow,
        "project": row.project,
        "who": body.who,
        "through": body.through,
        "by": body.by,
        "key": getattr(body, "key", "") or state.key or "",
        "status": state.status,
        "result": state.result,
        "error": state.error or found[0].read_matter().error or None,
    }


class Announcement(msgspec.Struct, frozen=True):
    """What a server says of itself, in a file of the user's data folder, for as long as it runs."""

    address: str
    process: int
    store: str
    project: str  # the one that it serves to whoever has not logged in


@contextmanager
def announce(address: str, store: Store, project: str) -> Iterator[None]:
    """Within it, others on this machine know of the server that runs here."""
    own = Announcement(address, os.getpid(), _identity(store), project)
    path = os.path.join(data_folder(), f"serve-{own.process}.json")
    with suppress(OSError):  # without it there are no links, and all else works
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "wb") as file:
            file.write(msgspec.json.encode(own))
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)


def server_address(store: Store, project: str) -> str:
    """The address of a server here that has the runs of a store, rather that of the project."""
    found = [server for server in announced() if server.store == _identity(store)]
    found.sort(key=lambda server: server.project != project)
    return found[0].address if found else ""


def _identity(store: Store) -> str:
    """What a store is known by, whatever way leads there; no secret."""
    return store.path if "://" in store.path else os.path.realpath(store.address)


def announced() -> Iterator[Announcement]:
    """The servers that run. One that was killed has not said goodbye, which is done now."""
    folder = data_folder()
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if not name.startswith("serve-"):
            continue
        path = os.path.join(folder, name)
        with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            with open(path, "rb") as file:
                found = msgspec.json.decode(file.read(), type=Announcement)
            if _is_running(found.process):
                yield found
            else:
                os.unlink(path)


def _is_running(process: int) -> bool:
    try:
        with suppress(PermissionError):
            os.kill(process, 0)
    except (OSError, OverflowError):
        return False
    return process > 0


def trouble_log(name: str) -> str:
    """The file of the user's data folder that lines about trouble go to."""
    return os.path.join(data_folder(), f"{name}.log")


def log_trouble(name: str, what: str) -> None:
    """Add a line to the file, if that can be; one that has grown too large is emptied first."""
    path, moment = trouble_log(name), chance.now().isoformat(timespec="seconds")
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        large = os.path.isfile(path) and os.path.getsize(path) > _LARGEST_LOG
        with open(path, "w" if large else "a", encoding="utf-8", errors="replace") as file:
            file.write(f"{moment} {printable(' '.join(what.split()))[:_LONGEST_LINE]}\n")


def last_trouble(name: str) -> str:
    """The newest line; nothing where all went well."""
    try:
        with open(trouble_log(name), encoding="utf-8", errors="replace", newline="\n") as file:
            return next((line.rstrip("\n") for line in reversed([*file]) if line.strip()), "")
    except OSError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
