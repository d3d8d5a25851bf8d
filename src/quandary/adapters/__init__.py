"""Where agents are written in Python: what one of them stops for, a person decides.

A call that needs approval becomes a permit: only a person can give it, it is good for exactly these
arguments, and it counts once. What an agent asks is a question like any other. Both are kept in the
journal under the id that the framework gave, so that a program which is started again finds them.
Every module of this room serves one framework, and is imported by whoever has that.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from quandary.client import AT_ONCE, Client, Journal, in_thread, is_awaited, see_it_end
from quandary.desk import begin, notices, permits
from quandary.desk.authority import Caller
from quandary.errors import OwnWords, QuandaryError
from quandary.flows.permit import Terms
from quandary.journal import runs
from quandary.journal.entries import Asker, read_beginning
from quandary.model.requests import PermitRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Stop(NamedTuple):
    """A call that an agent may not make by itself."""

    host: str  # the framework
    id: str  # what the framework knows the call by; the same one after a restart
    name: str
    arguments: Mapping[str, Any]
    context: str = ""
    takes_changes: bool = False  # whether the call can be made with other arguments
    state: object = None  # what the framework needs to go on later; it is kept beside the run


class Decision(NamedTuple):
    """What a person said to a call."""

    allowed: bool
    message: str = ""  # their words; where it is denied, they are meant for the agent
    arguments: dict[str, Any] | None = None  # those to call it with, where they were changed
    run: str = ""


class Desk(Client):
    """Where agents' calls are decided and their questions answered: a store. On a terminal the
    person there is asked at once; elsewhere the question waits in the inbox.
    """

    def __init__(self, where: str | os.PathLike[str] | None = None) -> None:
        super().__init__(where)
        if not isinstance(self._desk, Journal):
            raise QuandaryError("permits are asked for in a store; leave QUANDARY_URL unset")
        self.journal = self._desk
        self._asked: Counter[str] = Counter()

    def decide(self, stop: Stop) -> Decision:
        """Ask whether a call may be made, wait for the word, and use it, once."""
        store, caller = self.journal.store, Caller("api", "python", stop.host)
        text = msgspec.json.encode(stop.arguments, enc_hook=str).decode()
        takes: Literal["json", ""] = "json" if stop.takes_changes else ""
        about = (f"call {stop.name}", text, stop.name, os.getcwd(), stop.host)
        request = PermitRequest(*about, reason=stop.context, takes=takes)
        here, showing = self.journal.is_asked_here(None), begin.Showing()
        terms = msgspec.to_builtins(Terms(request, showing.limits()))
        documents = {} if stop.state is None else {"state": stop.state}
        if not here:
            notices.watch_store(store, see_it_end)
        beginning = begin.Beginning("permit", terms, documents)
        key = f"{stop.name} {stop.id}" if stop.id else ""
        once = {"key": key, "request": begin.digest_of(request)}
        state = begin.begin(store, caller, beginning, showing, asker=Asker(stop.host), **once)
        if here and state.ask is not None:
            state = self.journal.ask_here(state.run)
        used = None
        while used is None and state.status == "waiting" and is_awaited():
            if state.ask is not None:
                state = runs.wait(store, state.run, state.n, AT_ONCE)
            else:  # allowed; where that was taken back meanwhile, it is asked again
                used = permits.take_use(store, caller, state)
                state = used or runs.look(store, state.run)
        result = state.result
        if used is not None and isinstance(result, dict):
            changed = result.get("input")
            arguments = None if changed is None else msgspec.json.decode(changed)
            return Decision(True, result["message"], arguments, state.run)
        denied = isinstance(result, dict) and result["decision"] == "deny"
        words = result["message"] if denied else permits.why_over(store, state)
        return Decision(False, words or "The person said no.", None, state.run)

    def answer(
        self,
        stop: Stop,
        question: str,
        options: Mapping[str, str] | Sequence[str] = (),
        *,
        several: bool = False,
    ) -> str:
        """Ask what an agent asks: one or several of the options, or words of the person's own."""
        asked = f"{stop.host} {stop.id} {begin.digest_of(question, list(options))}"
        self._asked[asked] += 1  # an agent may ask the same again, and wants another answer then
        about: Any = {
            "context": stop.context or f"An agent ({stop.host}) asks and waits.",
            "key": f"{asked} {self._asked[asked]}" if stop.id else "",
            "by": stop.host,
        }
        try:
            if several:
                labels = dict(enumerate(options, 1))
                fields = {f"option-{n}": {"type": "boolean", "title": o} for n, o in labels.items()}
                ticked = self.form(question, fields, **about)
                return ", ".join(o for n, o in labels.items() if ticked.get(f"option-{n}"))
            if options:
                return self.choose(question, options, **about)
            return str(self.form(question, {"answer": str}, **about)["answer"])
        except OwnWords as own:
            return own.words

    def state_of(self, run: str) -> Any:  # noqa: ANN401 - whatever the framework gave
        """What was kept beside a run, for the framework to go on with."""
        store = self.journal.store
        kept = store.document(read_beginning(store, run)[0].documents.get("state", ""))
        if kept is None:
            raise QuandaryError(f"nothing was kept beside run {run}; begin anew")
        return msgspec.json.decode(kept)

    adecide = in_thread(decide)
    aanswer = in_thread(answer)
