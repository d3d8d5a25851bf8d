"""An Ask as a form that a chat client shows, and what a form that came back means.

Every question has up to three fields: the choices, a line for words of the person's own in their
place, and a line for a comment beside them. None of them has to be filled in, because each can
stand alone; a question whose fields are all empty has no answer. An advisory question is no form.

What is no answer:

- a form that comes back empty;
- a choice with words in the place of a choice beside it, since either could be what is meant: it is
  told, and the question comes again;
- a form that was declined or closed sooner than anybody can read: a client says so by itself where
  it has nobody to show a form to.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import ElicitRequestFormParams as Form
from pydantic import ValidationError

from quandary.desk import returns
from quandary.desk.drafts import extra_labels
from quandary.desk.returns import kind_of, text_of
from quandary.desk.sheets import Sheet, check_values, make_sheets, one_line, split_labels
from quandary.errors import AlreadyAnswered, ParseError, QuandaryError
from quandary.flows.proposals import SECONDS
from quandary.model.asks import Answer, Ask, Field, Note, Outcome, Question, Reply
from quandary.model.text import as_text, reveal
from quandary.model.tree import OTHER
from quandary.reading import read

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from mcp.server.context import ServerRequestContext

    from quandary.doors.mcp.tools import Client, Service
    from quandary.journal.store import State

    Context = ServerRequestContext["Forms", Any]

T = TypeVar("T")
CHOICE, WORDS, COMMENT, VALUE = "answer", "other", "comment", "value"
INSTANT = 0.5  # sooner than this, in seconds, no person has read a form
_MENU = "Other… — leave the line for your own words empty to see what else there is"
_LEFT_OUT = "Leave it out — back to the menu"


def make_form(ask: Ask, notes: Sequence[Note] = (), *, titled: bool = True) -> Form:
    """The form of an Ask, below what has been noted since the one before. Clients from before
    2025-11-25 know no titled choices and cannot let anybody tick several.
    """
    fields: dict[str, Any] = {}
    for number, sheet in enumerate(make_sheets(ask, inputs=True), 1):
        name = one_line(sheet.question.header) or f"Question {number}"
        words, comment = "In your own words", "Comment"
        if len(ask.questions) > 1:
            words, comment = f"{name}: in your own words", f"{name}: comment"
        choices = _choices(sheet, name, titled=titled)
        if choices:
            fields[field(CHOICE, number)] = choices
        for one in sheet.question.fields:
            fields[field(f"{VALUE}_{one.name}", number)] = _input(one, sheet.question)
        place = "Besides what is ticked" if sheet.question.multi else "In place of a choice"
        if value := sheet.question.value:
            fields[field(WORDS, number)] = _line(value, sheet.text)
            continue
        fields[field(WORDS, number)] = _line(words, place if choices else sheet.text)
        fields[field(COMMENT, number)] = _line(comment, "Said beside the answer")
    schema = {"type": "object", "properties": fields, "required": []}
    text, said = ask.preamble.text, (note.text.strip() for note in notes)
    above = "\n".join(line for line in dict.fromkeys(said) if line and line not in text)
    message = reveal("\n\n".join(part for part in (above, text.strip()) if part)) or ask.key
    return Form(message=message, requested_schema=schema)


def field(kind: str, number: int) -> str:
    """The name of a field of the question at a place in the Ask, counted from 1."""
    return f"{kind}_{number}"


def _choices(sheet: Sheet, name: str, *, titled: bool) -> dict[str, Any]:
    """The field in which something is chosen; there is none where nothing is offered."""
    question = sheet.question
    options = []
    for option in sheet.options:
        if option.choice:
            about = "" if option.description in ("", option.label) else f" — {option.description}"
            options.append((option.choice.code, option.label + about))
    if (question.menu or question.value) and OTHER not in dict(options):
        options.append((OTHER, _MENU if question.menu else _LEFT_OUT))
    for up in question.above[:1]:
        options += [] if up.code in dict(options) else [(up.code, f"{up.label} — {up.description}")]
    options += zip(_extras(question), extra_labels(question), strict=True)
    if not options:
        return {}
    field = {"title": name, "description": sheet.text}
    if titled:
        listed = [{"const": code, "title": title} for code, title in options]
        if question.multi:
            return {"type": "array", **field, "items": {"anyOf": listed}}
        return {"type": "string", **field, "oneOf": listed}
    if question.multi:
        lines = "\n".join(f"{reveal(code)}: {title}" for code, title in options)
        field["description"] += f"\n\n{lines}\n\nName those that you choose, with commas."
        return {"type": "string", **field}
    codes, titles = zip(*options, strict=True)
    return {"type": "string", **field, "enum": list(codes), "enumNames": list(titles)}


def _extras(question: Question) -> dict[str, str]:
    """What stands for the extras among the choices; no code has a colon or a question mark."""
    return {f"{e.letter}{'?' if e.shows else ':'}": e.letter for e in question.extras}


def _input(one: Field, question: Question) -> dict[str, Any]:
    """The field for a value: a form knows text, numbers, yes or no, and a choice of texts."""
    kind = one.types[0] if len(one.types) == 1 else "string"
    known = kind if kind in ("string", "integer", "number", "boolean") else "string"
    about: dict[str, Any] = {"type": known, "title": reveal(one.label)}
    about["description"] = reveal(one.description or one.described)
    if one.schema.get("enum"):
        about |= {"type": "string", "enum": [*map(as_text, one.schema["enum"])]}
    if (value := question.values.get(one.name)) is not None:
        about["default"] = as_text(value) if about["type"] == "string" else value
    return about


def _line(title: str, description: str) -> dict[str, Any]:
    return {"type": "string", "title": title, "description": description}


def read_form(
    ask: Ask,
    action: Literal["accept", "decline", "cancel"],
    content: Mapping[str, Any] | None,
    seconds: float,
) -> Reply | Outcome:
    """What a client sent back so many seconds after it was given the form."""
    if action == "accept":
        try:
            return _read_fields(ask, content or {})
        except QuandaryError as error:
            return Outcome("error", str(error))
    done = "declined" if action == "decline" else "closed"
    if seconds < INSTANT:
        told = f"the client {done} the form by itself: nobody reads one in {seconds:.2f} s"
        return Outcome("unavailable", told)
    if action == "decline":
        return Outcome("declined", "declined in the client's form")
    return Outcome("dismissed", "the form was closed without an answer")


def _read_fields(ask: Ask, content: Mapping[str, Any]) -> Reply | Outcome:
    entries, unclear = [], []
    for number, question in enumerate(ask.questions, 1):
        entry = _entry(question, content, number)
        if isinstance(entry, Answer):
            unclear.append(entry)
        elif entry is not None:
            entries.append({"key": question.key, **entry})
    if not entries and not unclear:
        return Outcome("dismissed", "the form came back empty")
    sent = json.dumps({"answers": entries})
    clear = returns.parse(sent, ask, read) if entries else Reply(())
    return clear if isinstance(clear, Outcome) else Reply((*clear.answers, *unclear))


def _entry(
    question: Question, content: Mapping[str, Any], number: int
) -> dict[str, Any] | Answer | None:
    """The answer in the fields of a question, if there is one; or why it is unclear. A comment
    alone is what the person has to say. To go on with nothing ticked, where something was ticked on
    pages before, is to choose just that.
    """
    given = {one.name: content.get(field(f"{VALUE}_{one.name}", number)) for one in question.fields}
    values = {name: value for name, value in given.items() if value is not None}
    values = check_values(question, Answer(question.key, values=values)).values
    picked, rest = _picked(content, field(CHOICE, number), question)
    lines = (field(WORDS, number), field(COMMENT, number))
    words, comment = (text_of(content.get(name), name) for name in lines)
    codes, extras = picked or [], _extras(question)
    pressed = [code for code in codes if code in extras]
    chosen = [code for code in codes if code != OTHER]
    known = {extra.shown[:2]: extra.text for extra in question.extras} | {OTHER: "Other"}
    alone = [known[code] for code in codes if code in known]
    told, doubt = alone if pressed else question.labels(chosen), ""
    if words and chosen and (pressed or not question.multi):
        doubt = f"{told[0]} was chosen, and “{words}” was written in the place of a choice"
    elif words and rest:
        doubt = f"“{rest}” and “{words}” were written"
    elif pressed and told[1:]:
        doubt = f"{' and '.join(told)} were chosen"
    if doubt:
        said: dict[str, Any] = {"comment": comment or None, "values": values}
        return Answer(question.key, prefix="unclear", argument=f"{doubt}. Which is meant?", **said)
    text = words or rest or "".join(pressed)
    if not codes and not text:
        if picked is not None and question.gathered:
            return {"picked": list(question.gathered), "comment": comment, "values": values}
        if comment:
            return {"picked": [], "text": comment, "values": values}
        return {"values": values} if values else None
    codes = [code for code in codes if code not in extras]
    return {"picked": codes, "text": text, "comment": comment, "values": values}


def _picked(
    content: Mapping[str, Any], name: str, question: Question
) -> tuple[list[str] | None, str]:
    """The codes that were chosen, and what else stands in the line of a client without lists."""
    value = content.get(name)
    if isinstance(value, str) and question.multi:
        codes = [*(choice.code for choice in question.every), OTHER, *_extras(question)]
        names = {c.label: c.code for c in question.options} | dict(zip(codes, codes, strict=True))
        found, rest = split_labels(value.strip(), names)
        return [names[name] for name in found] or None, rest
    if isinstance(value, str):
        return [value.strip()] if value.strip() else None, ""
    if value is None or (isinstance(value, list) and all(isinstance(v, str) for v in value)):
        return value, ""
    raise ParseError(f"{name} is {kind_of(value)}; it is one of the choices, or a list of them")


THREADS = 32  # of calls at once
ROUNDS = 10  # forms that one call shows; clients stop after as many
LOOK = 0.25  # how often, in seconds, a run is looked at that something may happen to
PULSE = 15.0  # how often, in seconds, a client is told that the call is still alive
KEPT = 1000  # forms that are remembered while they are out; the oldest are forgotten first
FIELD = "ask"  # the name of the form among the inputs that a client is asked for

READING = SECONDS + 15
"""How long, in seconds, a form waits for an agent that reads it, and for its program to start."""
STILL_OPEN = "The person still has the form. Call next with this run to wait for it."
MORE_TO_ASK = "There is more to ask. Call next with this run to continue."
ASKED_BACK = (
    "The person wants to know or see something first: notes of kind question and extra say what. "
    "Answer it with advise, which shows the question again. Nothing is decided yet."
)
TOO_LATE = "It was answered elsewhere in the meantime; what came back now was not recorded."
UNKNOWN_FORM = "That form was taken before, or is too old; nothing was recorded."
CLOSED = "Nobody answered. The question waits; call next with this run to show it again."


class Shown(NamedTuple):
    """A form that is out: which question it shows, since when, and how many came before it."""

    run: str
    key: str
    at: float
    turn: int


class Standing(NamedTuple):
    """Where a run stands after a form, and what there is to say about the form."""

    state: State
    said: str = ""
    answered: bool = False


class _Open:
    """A form that was sent during a call and has not come back."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.standing: Standing | None = None


class Forms:
    """The forms that are out, for one server."""

    def __init__(self, service: Service, tasks: TaskGroup, hold: float) -> None:
        self.service = service
        self.hold = hold
        self._tasks = tasks
        self._threads = anyio.CapacityLimiter(THREADS)
        self._open: dict[tuple[int, str, str], _Open] = {}
        self._shown: dict[str, Shown] = {}

    async def do(self, work: Callable[..., T], *arguments: object) -> T:
        """Do something that may take a while, or wait for the store, and keeps nobody else."""
        return await anyio.to_thread.run_sync(partial(work, *arguments), limiter=self._threads)

    async def converse(self, context: Context, client: Client, state: State) -> Standing:
        """Show what waits, and what comes after it, until there is nothing or nobody to ask."""
        until = anyio.current_time() + self.hold
        standing = Standing(state)
        for _ in range(ROUNDS):
            if not is_showable(standing.state, client):
                return standing
            place = _place(context, standing.state)
            if place not in self._open:
                self._open[place] = _Open()
                show = (context, client, standing.state, self._open[place])
                self._tasks.start_soon(self._show, *show)
            form = self._open[place]
            try:
                came = await self._wait(context, form, until)
            except anyio.get_cancelled_exc_class():
                form.scope.cancel()  # whoever called has gone, and the form with them
                raise
            if came is None:
                return Standing(standing.state, CLOSED if form.done.is_set() else STILL_OPEN)
            if not came.answered:
                return came
            if back := turned_back(came.state):
                return back
            standing = came
        return Standing(standing.state, MORE_TO_ASK) if standing.state.ask else standing

    async def _wait(self, context: Context, form: _Open, until: float) -> Standing | None:
        begun = anyio.current_time()
        while not form.done.is_set():
            now = anyio.current_time()
            if now >= until:
                return None
            with anyio.move_on_after(min(PULSE, until - now)):
                await form.done.wait()
            if not form.done.is_set():
                await context.session.report_progress(now - begun, None, "waiting for the person")
        return form.standing

    async def _show(self, context: Context, client: Client, state: State, form: _Open) -> None:
        try:
            with form.scope:
                form.standing = await self._send(context, client, state)
        except QuandaryError as error:  # in the background, nobody else would hear of it
            form.standing = Standing(state, str(error))
        finally:
            self._open.pop(_place(context, state), None)
            form.done.set()

    async def _send(self, context: Context, client: Client, state: State) -> Standing:
        shown = Shown(state.run, state.key or "", anyio.current_time(), 0)
        try:
            result = await context.session.send_request(
                elicitation(state, client),
                types.ElicitResult,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
        except (MCPError, ValidationError) as error:
            return await self.do(self._note, shown, _explain(error), client)
        return await self._take(shown, result, client)

    def hand_out(self, client: Client, state: State, turn: int) -> types.InputRequiredResult:
        """The form as a result, with which the client calls again."""
        token = secrets.token_urlsafe(16)
        while len(self._shown) >= KEPT:
            del self._shown[next(iter(self._shown))]
        self._shown[token] = Shown(state.run, state.key or "", anyio.current_time(), turn)
        return types.InputRequiredResult(
            input_requests={FIELD: elicitation(state, client)},
            request_state=json.dumps({"run": state.run, "form": token}),
        )

    async def take_back(
        self, client: Client, request_state: str, responses: types.InputResponses | None
    ) -> tuple[Standing, int]:
        """What came of a form that was handed out, taken once, and how many there were."""
        state = json.loads(request_state)  # as we sealed it
        shown = self._shown.pop(state["form"], None)
        if shown is None:
            stands = await self.do(self.service.find, state["run"], client)
            return Standing(stands, UNKNOWN_FORM), ROUNDS
        result = (responses or {}).get(FIELD)
        if not isinstance(result, types.ElicitResult):
            lost = Outcome("error", "the client called again without the form")
            return await self.do(self._note, shown, lost, client), shown.turn
        return await self._take(shown, result, client), shown.turn

    def show_next(
        self, client: Client, standing: Standing, turn: int
    ) -> Standing | types.InputRequiredResult:
        """The next form, if there is one to show; else where the run stands."""
        if not standing.answered or not is_showable(standing.state, client):
            return standing
        if turn and (back := turned_back(standing.state)):
            return back
        if turn >= ROUNDS:
            return Standing(standing.state, MORE_TO_ASK)
        return self.hand_out(client, standing.state, turn + 1)

    async def _take(self, shown: Shown, result: types.ElicitResult, client: Client) -> Standing:
        """Record what came back, and wait where an agent reads it first."""
        seconds = anyio.current_time() - shown.at
        standing = await self.do(self._record, shown, result, seconds, client)
        if standing.state.flow == "walk" or not standing.state.calls:
            return standing
        return standing._replace(state=await self.wait_for_news(client, standing.state, READING))

    def _record(
        self, shown: Shown, result: types.ElicitResult, seconds: float, client: Client
    ) -> Standing:
        """Record what a form means, if its question still waits."""
        service = self.service
        state = service.see(shown.run, client)
        if state.ask is None or state.key != shown.key:
            return Standing(state, TOO_LATE)
        came = read_form(state.ask, result.action, result.content, seconds)
        try:
            if isinstance(came, Outcome):
                return self._note(shown, came, client)
            state = service.record(shown.run, came, client, to=shown.key)
        except QuandaryError as error:
            said = TOO_LATE if isinstance(error, AlreadyAnswered) else str(error)
            return Standing(service.see(shown.run, client), said)
        return Standing(state, answered=True)

    def _note(self, shown: Shown, outcome: Outcome, client: Client) -> Standing:
        """Keep that there was no answer, and why; only a decline ends the run."""
        try:
            state = self.service.note(shown.run, outcome, client, to=shown.key)
        except AlreadyAnswered:
            return Standing(self.service.see(shown.run, client), TOO_LATE)
        return Standing(state, CLOSED if outcome.kind == "dismissed" else "")

    async def wait_for_news(self, client: Client, state: State, seconds: float) -> State:
        """The state once the run has come to something new, or when the time is up."""
        until = anyio.current_time() + seconds
        store = self.service.store
        while anyio.current_time() < until:
            row = await self.do(store.run, state.run)
            is_asked = row is not None and row.n > state.n and row.waits == "person"
            if row is None or row.status != "waiting" or is_asked:
                break
            await anyio.sleep(min(LOOK, max(until - anyio.current_time(), 0)))
        return await self.do(self.service.see, state.run, client)


@asynccontextmanager
async def open_forms(service: Service, hold: float) -> AsyncIterator[Forms]:
    """The forms, as long as the server runs; what is still out then is taken away."""
    async with anyio.create_task_group() as tasks:
        try:
            yield Forms(service, tasks, hold)
        finally:
            tasks.cancel_scope.cancel()


def _place(context: Context, state: State) -> tuple[int, str, str]:
    """Where the form for a question lies: each client has one of its own."""
    return id(context.session.client_params), state.run, state.key or ""


def is_showable(state: State, client: Client) -> bool:
    """Whether the question that waits can be shown to somebody at this client. What only a person
    themselves may answer is not shown where an agent is in between, and an advisory question is
    text, which the agent shows.
    """
    ask = state.ask
    return client.forms and ask is not None and not ask.require and ask.kind != "advisory"


def turned_back(state: State) -> Standing | None:
    """Where a run stands whose person turned to the agent: to ask it, or to talk about a Hold."""
    told = {note.kind for note in state.notes}
    if told & {"question", "extra"}:
        return Standing(state, ASKED_BACK)
    return Standing(state) if "held" in told else None


def elicitation(state: State, client: Client) -> types.ElicitRequest:
    """The form for what waits, as the protocol has it in both eras."""
    assert state.ask is not None  # noqa: S101 - nobody calls it otherwise
    return types.ElicitRequest(params=make_form(state.ask, state.notes, titled=client.titled))


def _explain(error: MCPError | ValidationError) -> Outcome:
    """Why nobody filled in a form: the client cannot show one, or it has gone."""
    if not isinstance(error, MCPError):
        return Outcome("error", "what the client sent back is no form")
    if error.code == types.CONNECTION_CLOSED:
        return Outcome("dismissed", "the client went away")
    return Outcome("unavailable", error.message)
