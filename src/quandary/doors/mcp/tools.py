"""The tools of a chat client, and what it can read: the desk, with the client as the caller.

No tool answers a question. What a person says comes back in the client's form, or through the
command that a waiting state names; what an agent proposes that their words mean, the form asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from urllib.parse import quote, unquote

import mcp_types as types
import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from quandary.desk import begin as desk
from quandary.desk import reply as replies
from quandary.desk.authority import Caller, Scope, find_run, may, project_seen, require_may
from quandary.desk.begin import Asking, Gating, Showing, Splitting, Walking
from quandary.desk.decisions import find_decisions
from quandary.desk.state import conceal, encode_runs, encode_state, end_what_expired, hand_over
from quandary.desk.timeline import events
from quandary.errors import NotFound, ParseError, QuandaryError
from quandary.formats import rules, sources
from quandary.formats.markdown import parse
from quandary.formats.markdown.writing import format as write_tree
from quandary.journal import runs
from quandary.journal.entries import Asker
from quandary.model.text import printable
from quandary.settings.files import markdown_files, read_text

if TYPE_CHECKING:
    from quandary.desk.plans import Agents
    from quandary.desk.walks import Walks
    from quandary.formats.rules import Checked
    from quandary.journal.store import State, Store
    from quandary.model.asks import Outcome, Reply


class Client(NamedTuple):
    """The client at the other end."""

    name: str = ""  # what it calls itself
    forms: bool = False  # it can show somebody a form
    titled: bool = True  # its forms have titled choices, and lists to tick
    in_rounds: bool = False
    """It calls again with what was filled in; else it is sent the form during the call."""
    is_user: bool = False  # what it sent came with a login, or with a user's own token
    session: str = ""  # what it and this server call their conversation, where that has a name


class Service(NamedTuple):
    """Everything that tools do, for one project. `report` writes what `check` found."""

    store: Store
    walks: Walks
    agents: Callable[[], Agents]
    report: Callable[[Sequence[Checked]], bytes]
    scope: Scope
    is_user: bool = False
    """Whether agents may be started for any client: its user has consented to the project."""

    def caller(self, client: Client) -> Caller:
        """The source of all that comes from a client, which sees the project and no other.

        A person may have filled in its form. But an agent drives the program that showed it, so
        that it is never recorded as the person's own.
        """
        return Caller("agent", "mcp", client.name, self.scope, self.is_user or client.is_user)

    def record(self, run: str, reply: Reply | None, client: Client, *, to: str | None) -> State:
        """Record a reply, and have agents called where they are next."""
        caller = self.caller(client)
        return self._follow(caller, replies.record_reply(self.store, caller, run, reply, to=to))

    def do(self, wanted: Wanted, client: Client) -> State:
        """Do what an agent wants of a run: begin, propose, advise or resume it."""
        store, caller = self.store, self.caller(client)
        if isinstance(wanted, Asking | Splitting | Gating | Walking):
            showing = Showing(host="codex" if "codex" in client.name.casefold() else "claude")
            beginning = desk.prepare(store, caller, wanted, showing, self.agents)
            expires = wanted.expires if isinstance(wanted, Asking) else ""
            asker = Asker(client.name, client.session, wanted.by)
            state = desk.begin(store, caller, beginning, showing, expires=expires, asker=asker)
            return self._follow(caller, state)
        run = find_run(store, caller, wanted.run)
        if isinstance(wanted, Proposing):
            said = (wanted.words, wanted.proposed, wanted.to or None)
            return self._follow(caller, replies.propose(store, caller, run, *said))
        if isinstance(wanted, Advising):
            offers = tuple(sources.extras(wanted.options, "options") or ())
            state = replies.advise(store, caller, run, wanted.text, offers, wanted.to or None)
            return conceal(store, caller, state)
        state = self.see(run, client)
        if state.deed is None:
            return state
        return self.record(run, None, client, to=None)  # somebody was interrupted on the way

    def note(self, run: str, what: Outcome, client: Client, *, to: str) -> State:
        """Keep something that is no answer."""
        caller = self.caller(client)
        noted = runs.note(self.store, run, what, to=to, **caller.source)
        return conceal(self.store, caller, noted.state)

    def _follow(self, caller: Caller, state: State) -> State:
        replies.follow(caller, state, self.walks)
        return conceal(self.store, caller, state)

    def find(self, run: str, client: Client) -> State:
        """Where the run stands that a client names."""
        return self.see(find_run(self.store, self.caller(client), run), client)

    def hand_over(self, state: State, client: Client) -> State:
        """A state for the agent that asked."""
        return hand_over(self.store, self.caller(client), state)

    def see(self, run: str, client: Client) -> State:
        """Where a run stands that a client knows."""
        return conceal(self.store, self.caller(client), runs.look(self.store, run))

    def look(self, wanted: Look, client: Client) -> bytes:
        """What an agent only wants to see, as JSON."""
        if isinstance(wanted, Checking):
            return self.check(wanted, client)
        if isinstance(wanted, Listing):
            return self.runs(wanted, client)
        if isinstance(wanted, Looking):
            return self.history(wanted.run, client)
        project = project_seen(self.caller(client))
        found = find_decisions(self.store, project, wanted.words, limit=wanted.limit)
        return msgspec.json.encode({"decisions": found})

    def history(self, run: str, client: Client) -> bytes:
        """The state of a run and everything that happened to it, as JSON."""
        state = self.hand_over(self.find(run, client), client)
        entries = list(events(self.store, state.run))
        shown = msgspec.Raw(encode_state(self.store, state))
        return msgspec.json.encode({"state": shown, "entries": entries})

    def runs(self, wanted: Listing, client: Client) -> bytes:
        """The newest runs of the project, as JSON."""
        end_what_expired(self.store)
        status, project = wanted.status or None, project_seen(self.caller(client))
        found = self.store.runs(status=status, project=project, limit=wanted.limit, newest=True)
        return encode_runs(self.store, found)

    def check(self, wanted: Checking, client: Client) -> bytes:
        """What is wrong with trees, as JSON; a text has the name `-`."""
        if bool(wanted.path) == bool(wanted.text):
            raise QuandaryError("give a path, or the Markdown itself as text")
        found = [("-", parse(wanted.text))]
        if wanted.path:
            caller = self.caller(client)
            require_may(caller, "name a file", wanted.path)
            paths = [p for p in markdown_files(wanted.path) if may(caller, "name a file", p)]
            found = [(path, parse(read_text(path))) for path in paths]
        if not found:
            raise ParseError(f"{printable(wanted.path)}: no Markdown files below it")
        return self.report(rules.check_files(found))


LONGEST_WAIT = 50.0  # in seconds: many clients give a call up after a minute
MOST_RUNS = 500

RunName = Annotated[str, Meta(description="The run's name, or how it begins.")]


class Checking(Struct, forbid_unknown_fields=True):
    """Find problems in the decision trees of a Markdown file, or of a text."""

    path: Annotated[str, Meta(description="A Markdown file, or a folder of them.")] = ""
    text: Annotated[str, Meta(description="In place of path: the Markdown itself.")] = ""


class Listing(Struct, forbid_unknown_fields=True):
    """List this project's runs, the newest first: what waits, and what was decided."""

    status: Annotated[
        Literal["waiting", "done", "failed", "declined", "withdrawn"] | UnsetType,
        Meta(description="Only those."),
    ] = UNSET
    limit: Annotated[int, Meta(ge=1, le=MOST_RUNS)] = 20


class Looking(Struct, forbid_unknown_fields=True):
    """Look at one run: where it stands, and everything that was asked and answered."""

    run: RunName


class Recalling(Struct, forbid_unknown_fields=True):
    """List what was decided in this project, the newest first, with who and when.

    Look here before you ask: what has `superseded` no longer holds, and all else does.
    """

    words: Annotated[str, Meta(description="Only decisions that have all these words.")] = ""
    limit: Annotated[int, Meta(ge=1, le=MOST_RUNS)] = 20


class Following(Struct, forbid_unknown_fields=True):
    """Resume a run that waits: show its question to the person again, or wait for an answer."""

    run: RunName
    wait: Annotated[
        float,
        Meta(
            ge=0,
            le=LONGEST_WAIT,
            description="Seconds to wait for something to happen elsewhere, in the browser or "
            "among agents. Without it, the question is shown here.",
        ),
    ] = 0


class Proposing(Struct, forbid_unknown_fields=True):
    """Say which option the person's own words mean, when they wrote them to you and not in a form.

    That is no answer: the person is asked to confirm it, in a form if this client can show one.
    """

    run: RunName
    words: Annotated[str, Meta(min_length=1, description="What the person wrote, word for word.")]
    proposed: Annotated[str, Meta(min_length=1, description="The label or code of the option.")]
    to: Annotated[str, Meta(description="Which of ask.keys, where several questions wait.")] = ""


class Advising(Struct, forbid_unknown_fields=True):
    """Answer what the person wants to know or see before they decide. It never decides for them.

    Notes of kind question and extra say what that is. The question is then shown again.
    """

    run: RunName
    text: Annotated[str, Meta(min_length=1, description="Your answer, in Markdown.")]
    options: Annotated[
        list[str], Meta(description="Further ways to answer: 'D: text', or 'D? text' to show more.")
    ] = []
    to: Annotated[str, Meta(description="The key of the question, where several wait.")] = ""


Look = Checking | Listing | Looking | Recalling
Wanted = desk.Wanted | Proposing | Advising | Following


class Tool(NamedTuple):
    """A tool as agents see it."""

    name: str
    title: str
    wanted: type[Wanted | Look]
    looks_only: bool = False

    def describe(self) -> types.Tool:
        """The tool with what it takes; some hosts want the type of a choice spelt out."""
        _, parts = msgspec.json.schema_components([self.wanted])
        known = parts[self.wanted.__name__]
        told = known["properties"].items()
        fields = {n: {"type": "string", **one} if "enum" in one else one for n, one in told}
        schema = {"type": "object", "properties": fields, "required": known["required"]}
        schema["additionalProperties"] = False
        hints = types.ToolAnnotations(
            title=self.title,
            read_only_hint=self.looks_only,
            destructive_hint=False,
            open_world_hint=False,
        )
        return types.Tool(
            name=self.name,
            title=self.title,
            description=" ".join((self.wanted.__doc__ or "").split()),
            input_schema=schema,
            annotations=hints,
        )

    def read(self, arguments: dict[str, Any] | None) -> Wanted | Look:
        """What an agent wants; it is told what does not fit."""
        try:
            return msgspec.convert(arguments or {}, self.wanted)
        except msgspec.ValidationError as error:
            raise ParseError(f"{self.name}: {error}") from None


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("ask", "Ask the person", Asking),
        Tool("split", "Decide about a list of options", Splitting),
        Tool("gate", "Leave a phase", Gating),
        Tool("walk", "Run a chart", Walking),
        Tool("next", "Resume a run", Following),
        Tool("propose", "Propose what words mean", Proposing),
        Tool("advise", "Answer what the person asked", Advising),
        Tool("runs", "List runs", Listing, looks_only=True),
        Tool("show_run", "Look at a run", Looking, looks_only=True),
        Tool("decided", "Look up what was decided", Recalling, looks_only=True),
        Tool("check", "Check decision trees", Checking, looks_only=True),
    )
}


TREES, RUNS = "quandary://trees/", "quandary://runs/"
MARKDOWN, JSON = "text/markdown", "application/json"
MOST = 200  # trees, and runs, that are listed; templates reach all of them

RELAY = types.Prompt(
    name="relay",
    title="Relay a question",
    description="How to show a waiting question to the person, and send the answer back.",
)


def list_resources(service: Service, client: Client) -> list[types.Resource]:
    """The project's trees, each name once, and its newest runs."""
    trees: dict[str, types.Resource] = {}
    caller = service.caller(client)
    for path, tree in sources.in_project(os.curdir):
        if not tree.fenced and tree.name not in trees and may(caller, "name a file", path):
            about = f"{' '.join(tree.trigger.split())} ({path})".strip()
            trees[tree.name] = _resource(TREES + quote(tree.name, safe=""), tree.name, about)
    listed = list(trees.values())[:MOST]
    for run in msgspec.json.decode(service.runs(Listing(limit=MOST), client))["runs"]:
        name = f"{run['flow']} {run['run']} ({run['status']})"
        listed.append(_resource(RUNS + run["run"], name, run["about"] or None))
    return listed


def _resource(uri: str, name: str, about: str | None) -> types.Resource:
    kind = MARKDOWN if uri.startswith(TREES) else JSON
    return types.Resource(uri=uri, name=name, description=about, mime_type=kind)


TEMPLATES = [
    types.ResourceTemplate(uri_template=uri, name=name, description=about, mime_type=kind)
    for uri, name, about, kind in (
        (TREES + "{name}", "tree", "A decision tree of the project, as Markdown.", MARKDOWN),
        (RUNS + "{run}", "run", "Where a run stands, and what was asked and answered.", JSON),
    )
]


def read_resource(service: Service, client: Client, uri: str) -> types.TextResourceContents:
    """A tree as Markdown, with what it inherits, or the history of a run."""
    name = unquote(uri.removeprefix(TREES).removeprefix(RUNS))
    if uri.startswith(TREES):
        if sources.split(name)[0] is not None:
            raise NotFound(f"{printable(name)} is no name of a tree")
        kind, text = MARKDOWN, write_tree(sources.load(name))
    elif uri.startswith(RUNS):
        kind, text = JSON, service.history(name, client).decode()
    else:
        raise NotFound(f"there is no {uri}; resources begin with {TREES} or {RUNS}")
    return types.TextResourceContents(uri=uri, text=text, mime_type=kind)
