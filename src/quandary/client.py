"""Asking from Python: a question is kept, answered at any door, and its answer comes back typed.

The same functions work on a store and on a server. A program that is started again gets the same
run, and its answer, by the `key` that it gave. What is not answered raises one of `Unanswered`.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar, copy_context
from functools import partial, wraps
from math import inf
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
)

import msgspec
from msgspec import Struct

from quandary.errors import (
    AlreadyAnswered,
    Declined,
    Expired,
    Failed,
    NotFound,
    OwnWords,
    PersonRequired,
    QuandaryError,
    Rejected,
    Reused,
    StoreError,
    TimedOut,
    Withdrawn,
)
from quandary.formats.markdown import Codes
from quandary.journal import chance, runs
from quandary.journal.progress import complete_types
from quandary.model.asks import NO, YES
from quandary.model.tree import OTHER

if TYPE_CHECKING:
    from quandary.desk.begin import Asking, Permitting
    from quandary.journal.store import State

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("quandary.client")

AT_ONCE = 20.0  # seconds that are waited in one go; so long lives the thread of a cancelled task
LONGEST_PAUSE = 5.0  # seconds until a server that is away is tried again
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_WORDS = re.compile(r"(?:^|/)(?:custom|smart|force):(.*)\Z", re.DOTALL)
_TERMINAL = threading.Lock()  # held by whoever asks at the terminal: one question at a time
_gone: ContextVar[threading.Event] = ContextVar("gone")  # set where nobody waits for a thread


class Options(TypedDict, total=False):
    """What any question can be given beside its words."""

    key: str
    """By which a program that is started again gets the same run, and its answer."""
    by: str
    """The name under which the journal has whoever asks; on a server, a token has its own."""
    require: Literal["person"]
    """Only a person's own answer counts, at a terminal or in the browser."""
    via: Literal["terminal", "inbox"]
    """Where it is asked; by default at the terminal, if a person is there."""
    timeout: float
    """Seconds after which `TimedOut` is raised."""
    on_timeout: Literal["leave", "withdraw"]
    """What becomes of the question then; by default it is left waiting."""
    callback: str
    """An address that is told what becomes of the question, whether or not the program waits."""
    expires: str
    """Withdraw it after 30m, 12h, 2d …, whether or not the program still waits."""
    reuse: str
    """Take a person's answer to the very same question, if it is at most 30d … old."""


Kind = type[str] | type[int] | type[float] | type[bool] | Sequence[str] | Mapping[str, object]
"""What a value is: a type, some texts to choose from, or a schema with `default`, `title`,
`required` and so on."""


class AskOptions(Options, total=False):
    """What a question from a tree can be given."""

    items: Sequence[Mapping[str, object]]
    """What to decide about: id, label, title, context, question; others fill {slots}."""
    question: str
    """The question, where the tree has none."""
    extras: Sequence[str]
    """Further ways to answer: 'A: text', or 'A? text' to see it first."""
    kind: Literal["transition", "advisory"]
    values: Mapping[str, str]
    """What fills {slots} in questions."""
    fields: Mapping[str, Kind]
    """Values that the person can edit, which come with each verdict."""


class Verdict(Struct, frozen=True):
    """What was decided about one item."""

    run: str
    path: str
    """As results have it: `NOW`, `NO/RWK`, `TAG,BRS`, `OTH/custom:after lunch`."""
    codes: tuple[str, ...] = ()
    """The options chosen, each with the way down to it."""
    label: str = ""
    words: str = ""
    """The person's own, where they are no option."""
    comment: str = ""
    """What was said beside the answer."""
    who: str = ""
    """Whose answer it is: a `person`, or an `agent` that passed it on, and so on."""
    item: str = ""
    """The title of what it is about."""
    decision: str = ""
    """Which one, in a tree of several."""
    values: dict[str, Any] = {}
    """What was filled in, where there were fields."""


class Verdicts(tuple[Verdict, ...]):
    """What was decided, item by item. Of a single one, the parts can be read right here."""

    __slots__ = ()

    @property
    def only(self) -> Verdict:
        """The one verdict that there is; refused where there are several."""
        if len(self) != 1:
            raise ValueError(f"there are {len(self)} verdicts; go through them one by one")
        return self[0]

    @property
    def run(self) -> str:
        """The run that all of them are from."""
        return self[0].run

    path: str
    codes: tuple[str, ...]
    label: str
    words: str
    comment: str
    who: str
    values: dict[str, Any]

    if not TYPE_CHECKING:  # for a checker, there is nothing but the above

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as declared
            if name not in Verdict.__struct_fields__:
                raise AttributeError(f"verdicts have no {name}")
            return getattr(self.only, name)


class Stand(Struct):
    """As much of the state of a run as a server tells and is needed here."""

    run: str
    status: str
    result: Any = None
    error: str | None = None
    n: int = 0
    ask: Any = None


def read_verdicts(state: State | Stand) -> Verdicts:
    """What came of a run that is over; what is no answer is raised."""
    run = state.run
    if state.status != "done":
        raise read_end(state)
    if state.result is None:
        raise Rejected(f"run {run} is done, but what came of it was pruned; ask with another key")
    return Verdicts(_verdict(run, chosen) for chosen in state.result["chosenItems"])


def read_end(state: State | Stand) -> QuandaryError:
    """Why nothing was decided."""
    run, why = state.run, state.error or "nothing was decided"
    if state.status == "declined":
        return Declined(f"run {run} was declined: {why}", run)
    if state.status == "withdrawn":
        kind = Expired if why.startswith(runs.EXPIRED) else Withdrawn
        return kind(f"run {run} was withdrawn: {why}", run)
    return Failed(f"run {run} failed: {why}", state.result or {})


def _verdict(run: str, chosen: dict[str, Any]) -> Verdict:
    """Own words come last in a path and may have commas; each part of it has a label."""
    labels = chosen.get("labels", [])
    parts = chosen["path"].split(",", max(len(labels) - 1, 0))
    said = _WORDS.search(parts[-1])
    codes, words = (parts[:-1], said[1]) if said else (filter(None, parts), "")
    about: dict[str, Any] = {"who": chosen.get("by", ""), "item": chosen["item"]}
    about |= {name: chosen[name] for name in ("comment", "decision", "values") if name in chosen}
    return Verdict(run, chosen["path"], tuple(codes), ", ".join(labels), words, **about)


def is_awaited() -> bool:
    """Whether anybody still waits for what this thread does."""
    return not _gone.get(threading.Event()).is_set()


def in_thread(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same for asyncio, in a thread of its own: those of the loop are there for others."""

    @wraps(function)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> T:
        import asyncio  # noqa: PLC0415 - slow, and there already where this is called

        loop, gone = asyncio.get_running_loop(), threading.Event()
        future: asyncio.Future[T] = loop.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            if not future.done():
                future.set_exception(error) if error else future.set_result(result)  # type: ignore[arg-type]

        def work() -> None:
            _gone.set(gone)
            try:
                outcome: tuple[T | None, BaseException | None] = function(*args, **kwargs), None
            except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
                outcome = None, error
            if not gone.is_set():
                loop.call_soon_threadsafe(settle, *outcome)

        threading.Thread(target=partial(copy_context().run, work), daemon=True).start()
        try:
            return await future
        finally:
            gone.set()

    return twin


class Client:
    """Asks in a store or on a server: a path, `postgresql://…`, or `http://…` with its token.

    By default it is the server that QUANDARY_URL names (with QUANDARY_TOKEN), else the store that
    the commands use.
    """

    def __init__(
        self, where: str | os.PathLike[str] | None = None, *, token: str | None = None
    ) -> None:
        from quandary.cli import console  # noqa: F401, PLC0415 - only where something is asked
        from quandary.desk import begin, notices, permits  # noqa: F401, PLC0415 - the same

        complete_types()  # of all that asking needs, for a program may ask in several threads
        place = os.environ.get("QUANDARY_URL", "") if where is None else os.fspath(where)
        self._desk: Server | Journal
        if place.startswith(("http://", "https://")):
            token = os.environ.get("QUANDARY_TOKEN", "") if token is None else token
            self._desk = Server(place, token)
        elif where is None and place:
            raise QuandaryError("QUANDARY_URL is the address of a server, like http://HOST:8420")
        else:
            self._desk = Journal(place or None)

    def close(self) -> None:
        """Let go of the store."""
        self._desk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(
        self, source: str | os.PathLike[str], *, context: str, **options: Unpack[AskOptions]
    ) -> Verdicts:
        """Ask with a tree: a file, `file.md#NAME`, or the NAME of a tree of the project."""
        return self._ask({"source": os.fspath(source), "context": context}, options)

    def confirm(self, question: str, *, context: str, **options: Unpack[Options]) -> bool:
        """Ask for a Yes or a No; `OwnWords` where the answer is neither."""
        offered = [{"code": YES, "label": "Yes"}, {"code": NO, "label": "No"}]
        wanted = {"question": question, "options": offered, "context": context}
        return self._pick(wanted, options).codes[0] == YES

    def choose(
        self,
        question: str,
        choices: Sequence[str] | Mapping[str, str],
        *,
        context: str,
        **options: Unpack[Options],
    ) -> str:
        """Ask for one of some choices, however many; a mapping has their descriptions.

        `OwnWords` where the answer is none of them.
        """
        described = choices if isinstance(choices, Mapping) else dict.fromkeys(choices, "")
        if not described or len(described) != len(choices):
            why = "two choices are the same" if choices else "there is nothing to choose from"
            raise QuandaryError(f"{why}; offer each choice once")
        codes = Codes([OTHER])
        named = {codes.derive(label): label for label in described}
        offered = [{"code": c, "label": o, "description": described[o]} for c, o in named.items()]
        wanted = {"question": question, "options": offered, "context": context}
        return named[self._pick(wanted, options).codes[0]]

    def form(
        self, question: str, fields: Mapping[str, Kind], *, context: str, **options: Unpack[Options]
    ) -> dict[str, Any]:
        """Ask for values, each of its type; `OwnWords` where the answer is something else."""
        offered = [{"code": "SEND", "label": "Send"}]
        wanted = {"question": question, "options": offered, "context": context, "fields": fields}
        return self._pick(wanted, options).values

    def permit(
        self, action: str, input: str = "", *, reason: str = "", **options: Unpack[Options]
    ) -> str:
        """Ask a person for one exact action, and use the permit at once; the run that it is from.

        `Rejected` where it is denied, with the person's words, or was used before.
        """
        from quandary.desk.begin import Permitting  # noqa: PLC0415 - only where something is asked

        expires, by = options.get("expires", ""), options.get("by", "")
        state = self._wait(Permitting(action, input, reason, expires, by), options, permit=True)
        if state.status in ("waiting", "done"):  # that of a denial says so too
            self._desk.use(state.run, input)
            return state.run
        raise read_end(state)

    aask = in_thread(ask)
    apermit = in_thread(permit)
    aconfirm = in_thread(confirm)
    achoose = in_thread(choose)
    aform = in_thread(form)

    def _pick(self, wanted: dict[str, Any], options: Options) -> Verdict:
        """What was decided, where it is something that was offered."""
        verdict = self._ask(wanted, options).only
        if verdict.words or not verdict.codes:
            said = f"run {verdict.run} was answered in own words: {verdict.words}"
            raise OwnWords(said, verdict.run, verdict.words)
        return verdict

    def _ask(self, wanted: dict[str, Any], options: Options) -> Verdicts:
        """Begin a run, or find the one with that key, and wait until it is over."""
        from quandary.desk.begin import Asking  # noqa: PLC0415 - only where something is asked

        own = set(Asking.__struct_fields__)
        wanted |= {name: value for name, value in options.items() if name in own}
        wanted["require_person"] = options.get("require") == "person"
        wanted["fields"] = [_field(*field) for field in wanted.get("fields", {}).items()]
        asking = msgspec.convert(msgspec.to_builtins(wanted), Asking)
        return read_verdicts(self._wait(asking, options))

    def _wait(
        self, wanted: Asking | Permitting, options: Options, *, permit: bool = False
    ) -> State | Stand:
        """Begin it, and wait until it is over; a permit that was given waits for its use."""
        desk, timeout, via = self._desk, options.get("timeout", inf), options.get("via")
        if via not in (None, "terminal", "inbox"):
            raise QuandaryError(f"via is 'terminal' or 'inbox', not {via!r}")
        here = desk.is_asked_here(via)
        state = desk.begin(wanted, options.get("key", ""), here=here)
        if here and isinstance(desk, Journal) and state.status == "waiting":
            state = desk.ask_here(state.run)
        deadline, pause = chance.monotonic() + timeout, 0.0
        while state.status == "waiting" and is_awaited():
            if permit and not state.ask:
                break
            left = deadline - chance.monotonic()
            try:
                if left > 0:
                    seen = state.n if permit else None
                    state, pause = desk.wait(state.run, min(left, AT_ONCE), seen), 0.0
                    continue
                if options.get("on_timeout") == "withdraw":
                    desk.withdraw(state.run, f"the program that asked waited {timeout:g} seconds")
            except Rejected:  # somebody answered at the last moment
                state = desk.wait(state.run, 0)
                continue
            except StoreError as away:
                if not desk.comes_back:
                    raise
                if not pause:
                    log.warning("%s; run %s is waited for all the same", away, state.run)
                pause = min(pause * 2 or 0.5, LONGEST_PAUSE)
                chance.sleep(pause)
                continue
            raise TimedOut(f"nobody answered run {state.run} within {timeout:g} seconds", state.run)
        return state


def _field(name: str, kind: Kind) -> dict[str, object]:
    """A field as the desk is told of it."""
    if isinstance(kind, Mapping):
        return {"name": name, **kind}
    if isinstance(kind, type):
        return {"name": name, "type": _TYPES[kind]}
    return {"name": name, "enum": list(kind)}


def _at_once(method: Callable[Concatenate[Client, P], T]) -> Callable[P, T]:
    """What a client does, as a function that opens one for it."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with Client() as client:
            return method(client, *args, **kwargs)

    return call


ask, confirm, choose = _at_once(Client.ask), _at_once(Client.confirm), _at_once(Client.choose)
form, permit = _at_once(Client.form), _at_once(Client.permit)
aask, aconfirm, achoose = in_thread(ask), in_thread(confirm), in_thread(choose)
aform, apermit = in_thread(form), in_thread(permit)


class Journal:
    """A store, asked directly."""

    def __init__(self, where: str | None) -> None:
        from quandary.journal import open_store  # noqa: PLC0415 - a server needs none

        self.store = open_store(where)
        self.comes_back = self.store.shared is not None
        """Whether a store that cannot be reached is likely to be there again soon."""
        if self.store.missing:
            log.warning("%s", self.store.missing)

    def close(self) -> None:
        self.store.close()

    def is_asked_here(self, via: str | None) -> bool:
        """Whether the person at the terminal is asked; refused where none can be, and is wanted."""
        from quandary.cli import console  # noqa: PLC0415 - not everybody has a terminal

        if via == "terminal":
            console.require_terminal()
        return via == "terminal" or (via is None and console.is_person())

    def begin(self, wanted: Asking | Permitting, key: str, *, here: bool) -> State:
        """Begin a run; whoever wants to be notified is, unless it is asked here."""
        from quandary.desk import begin, notices  # noqa: PLC0415 - a server needs none
        from quandary.desk.authority import Caller, shell_agent  # noqa: PLC0415 - the same
        from quandary.journal.entries import Asker  # noqa: PLC0415 - the same

        if here:
            runs.listen(self.store, lambda *_: None)
        else:
            notices.watch_store(self.store, see_it_end)
        caller, host = Caller("api", "python", wanted.by), shell_agent()[0].lower()
        showing = begin.Showing("terminal" if here else "relay")
        beginning = begin.prepare(self.store, caller, wanted, showing)
        sent = begin.digest_of(wanted) if key else ""
        once = {"expires": wanted.expires, "key": key, "request": sent}
        asked = begin.begin(self.store, caller, beginning, showing, asker=Asker(host=host), **once)
        return self._hand_over(asked)

    def ask_here(self, run: str) -> State:
        """Ask at the terminal until nothing waits, or the person leaves: then it is waited for."""
        from quandary.cli import console  # noqa: PLC0415 - as above

        with _TERMINAL:
            state, left = runs.look(self.store, run), False
            while state.ask is not None and not left:
                key = state.key
                try:
                    state = console.ask_once(self.store, state)
                    left = state.status == "waiting" and state.key == key
                except AlreadyAnswered:  # at another door
                    state = runs.look(self.store, run)
            return self._hand_over(state)

    def wait(self, run: str, seconds: float, seen: int | None = None) -> State:
        """The state of a run when it is over or, after what was `seen`, there is news of it."""
        until_end = seen is None
        return self._hand_over(runs.wait(self.store, run, seen or 0, seconds, until_end=until_end))

    def use(self, run: str, given: str) -> None:
        """Use a permit."""
        from quandary.desk import permits  # noqa: PLC0415 - only for permits
        from quandary.desk.authority import Caller  # noqa: PLC0415 - the same

        permits.use(self.store, Caller("api", "python"), run, given)

    def withdraw(self, run: str, why: str) -> None:
        """End a run."""
        runs.withdraw(self.store, run, why, who="api", through="python")

    def _hand_over(self, state: State) -> State:
        """A state that the program gets: what it acts upon cannot be undone."""
        if state.status != "done":
            return state
        return runs.hand_over(self.store, state.run, who="api", through="python")


def see_it_end(wait: Callable[[], object]) -> None:
    """Wait in the background for the end of a run that people were notified of."""
    threading.Thread(target=wait, daemon=True).start()


class Server:
    """A server, asked over HTTP; its people answer in its inbox."""

    comes_back = True

    def __init__(self, address: str, token: str) -> None:
        self.address, self.token = address.rstrip("/"), token

    def close(self) -> None:
        """Nothing is held."""

    def is_asked_here(self, via: str | None) -> bool:
        """No: what is typed here would reach the server as a program's word."""
        if via == "terminal":
            raise QuandaryError("the questions of a server are answered in its inbox")
        return False

    def begin(self, wanted: Asking | Permitting, key: str, *, here: bool) -> Stand:  # noqa: ARG002
        """Begin a run there; a tree that is a file here is sent along."""
        from urllib.parse import quote  # noqa: PLC0415 - a store needs none

        from quandary.desk.begin import Permitting  # noqa: PLC0415 - the same
        from quandary.formats import sources  # noqa: PLC0415 - the same
        from quandary.settings.files import read_input  # noqa: PLC0415 - the same

        headers = {"Idempotency-Key": quote(key, safe="!~*'()")} if key else {}
        if isinstance(wanted, Permitting):
            return self._send("/api/permits", wanted, headers)
        path, name = sources.split(wanted.source)
        if path is not None and wanted.source:
            wanted = msgspec.structs.replace(wanted, text=read_input(path), source=name)
        return self._send("/api/asks", wanted, headers)

    def wait(self, run: str, seconds: float, seen: int | None = None) -> Stand:
        until = "until=end" if seen is None else f"after={seen}"
        return self._send(f"/api/runs/{run}?wait={seconds:.3f}&{until}", seconds=seconds)

    def use(self, run: str, given: str) -> None:
        self._send(f"/api/runs/{run}/use", {"input": given})

    def withdraw(self, run: str, why: str) -> None:
        self._send(f"/api/runs/{run}/withdraw", {"why": why})

    def _send(
        self,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = 0.0,
    ) -> Stand:
        from http.client import HTTPException  # noqa: PLC0415 - a store needs none
        from urllib import error, request  # noqa: PLC0415 - the same

        class Nowhere(request.HTTPRedirectHandler):
            """The token is for one server and goes to no other."""

            def redirect_request(self, *_: object, **__: object) -> None:
                """Follow nothing."""

        sent = request.Request(  # noqa: S310 - http(s) only
            self.address + path,
            None if body is None else msgspec.json.encode(body),
            {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})},
        )
        if self.token:
            sent.add_header("Authorization", f"Bearer {self.token}")
        try:
            with request.build_opener(Nowhere()).open(sent, timeout=seconds + AT_ONCE) as response:
                return msgspec.json.decode(response.read(), type=Stand)
        except error.HTTPError as refused:
            with refused:
                raise _refusal(self.address, refused.code, refused.read()) from None
        except (OSError, HTTPException) as trouble:
            reason = getattr(trouble, "reason", trouble)
            raise StoreError(f"the server at {self.address} cannot be reached ({reason})") from None
        except msgspec.DecodeError:
            raise QuandaryError(f"{self.address} is not a Quandary server") from None


_REFUSALS = {kind.http: kind for kind in (PersonRequired, NotFound, Rejected, Reused)}


def _refusal(address: str, status: int, body: bytes) -> QuandaryError:
    """What a server's refusal is here; what may be over soon is an error of its store."""
    try:
        detail = str(msgspec.json.decode(body)["detail"])
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
        detail = f"the server at {address} answered {status}"
    kind = StoreError if status == 429 or status >= 500 else QuandaryError
    return _REFUSALS.get(status, kind)(detail)
