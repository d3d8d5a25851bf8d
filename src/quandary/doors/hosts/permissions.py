"""What stops an agent of a host, in our inbox: permissions, plans, and sessions that are parked.

The hook of a host's permission event asks here and waits; what a person decides is handed back, and
used up by that. Whoever is first counts, here or in the host's own dialog. Silence is no answer:
when the time is up, the host's dialog appears, or stays. Where the host lets its dialog and our
hook race, the hook after the tool tells what was allowed there.

A session that nobody attends cannot show what it asks. With `park = true` in `[hooks]` or in
`[permissions]`, the hook has Claude Code set the call aside and end, and the question waits in the
inbox. When it is answered, the session is resumed in its folder: the host then asks the hook about
the same call once more, and gets the answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.desk import permits
from quandary.desk.permits import Rule, Verdict, find_rule, read_rules
from quandary.doors import hosts
from quandary.doors.hosts import HOOK, MARGIN, make_decision
from quandary.errors import AlreadyAnswered, ParseError, Rejected
from quandary.flows.permit import APPROVE, KEY, ONCE, SESSION, Terms, tell_agent
from quandary.journal import chance
from quandary.journal import runs as driver
from quandary.journal.entries import Asker, Source, read_beginning
from quandary.model import calls
from quandary.model.asks import Answer, Reply
from quandary.model.requests import PLANS, QUESTIONS, PermitRequest, name_action
from quandary.settings import project_of, require_keys, user_settings

if TYPE_CHECKING:
    from quandary.desk.walks import Parked
    from quandary.doors.hosts.hooks import ToolCall
    from quandary.journal.store import State, Store

LARGEST = 1_000_000
"""Bytes of an input; nobody reads a larger one in the inbox, so its host asks by itself."""
KNOWN_HOSTS = ("claude", "codex", "copilot", "gemini", "qwen")
KEYS = ("route", "tools", "wait", "ask", "rules", "park")
PARKED = (
    *("Bash", "PowerShell", "Monitor", "Edit", "MultiEdit", "NotebookEdit", "Write"),
    *("WebFetch", "WebSearch", *PLANS, "mcp__*"),
)
"""Tools of Claude Code that do more than look at files."""
_MODES = {"default": PARKED, "plan": PARKED, "acceptEdits": (*PARKED[:3], *PARKED[7:])}
"""In which of its modes it would ask, and about what."""


class Permissions(NamedTuple):
    """The user's `[permissions]`; a project has no say in it."""

    inbox: bool = False
    tools: tuple[str, ...] = ("*",)
    wait: float = hosts.WAIT
    ask: tuple[str, ...] = ()  # what the host is told to ask about
    rules: tuple[Rule, ...] = ()
    park: bool = False

    def concerns(self, tool: str) -> bool:
        """Whether a tool goes to the inbox."""
        return self.inbox and _fits(tool, self.tools)

    def parks(self, tool: str, said: dict[str, Any]) -> bool:
        """Whether a session is parked before it uses a tool about which its host would ask."""
        asked = _MODES.get(str(said.get("permission_mode")), ())
        return hosts.is_headless(said, self.park) and _fits(tool, self.tools) and _fits(tool, asked)


def _fits(tool: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(tool, one) for one in names)


def read_permissions(table: dict[str, Any]) -> Permissions:
    """The settings of `[permissions]`, refused where they make no sense."""
    require_keys("permissions", table, KEYS)
    inbox, wait, park = hosts.read_route(table, "permissions")
    lists = [table.get("tools", ["*"]), table.get("ask", [])]
    for name, listed in zip(("tools", "ask"), lists, strict=True):
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise ParseError(f'[permissions] {name} is a list of texts, like ["Bash"]')
    tools, ask = map(tuple, lists)
    return Permissions(inbox, tools, wait, ask, read_rules(table.get("rules")), park)


def user_permissions() -> Permissions:
    """Those of the user at this machine."""
    return read_permissions(user_settings().table("permissions"))


class Stop(NamedTuple):
    """An agent that wants to use a tool, as its host reports it."""

    request: PermitRequest
    grants: list[dict[str, Any]]
    """What the host would change to allow the same for the rest of its session."""
    agent: str = ""  # the id of a sub-agent
    call: str = ""  # the host's own name for this use of the tool; its permission event has none
    asker: Asker = Asker()

    @property
    def family(self) -> str:
        """What begins the names of all that this agent wants to use a tool for."""
        return hosts.name_family(self.request.session, self.agent, self.request.tool)

    @property
    def name(self) -> str:
        """What the hooks before and after a tool have in common: nobody gives a call an id."""
        return f"{self.family}{self.request.digest}\n"


def read_stop(said: dict[str, Any], host: str, folder: str) -> Stop | None:
    """What wants to be done, if it is the use of a tool."""
    tool = said.get("tool_name") or said.get("toolName")
    given = said.get("tool_input", said.get("toolInput", said.get("toolArgs")))
    if isinstance(given, str):
        with suppress(msgspec.DecodeError):
            given = msgspec.json.decode(given)
    if not isinstance(tool, str) or not isinstance(given, dict):
        return None
    if len(text := msgspec.json.encode(given)) > LARGEST:
        return None
    grants = _find_grants(said.get("permission_suggestions"))
    mode = said.get("permission_mode")
    request = PermitRequest(
        action=name_action(tool),
        input=msgspec.json.format(text, indent=2).decode(),
        tool=tool,
        folder=folder,
        host=host,
        session=str(said.get("session_id") or said.get("sessionId") or ""),
        agent=str(said.get("agent_type") or said.get("agent_id") or ""),
        reason=f"the permission mode is {mode}" if mode else "",
        rule=", ".join(map(_tell_grant, grants)),
        takes=("text" if tool == "Bash" else "json") if host == "claude" else "",
    )
    asker = Asker(host, request.session, request.agent, str(said.get("model") or ""))
    agent, call = (str(said.get(name) or "") for name in ("agent_id", "tool_use_id"))
    return Stop(request, grants, agent, call, asker)


def _find_grants(suggested: object) -> list[dict[str, Any]]:
    """Of what the host suggests, the rules that allow, and only until the session ends."""
    every = suggested if isinstance(suggested, list) else []
    listed = [one for one in every if isinstance(one, dict)]
    rules = [one for one in listed if one.get("type") == "addRules" and one.get("rules")]
    found = rules or [one for one in listed if one.get("type") == "setMode"][:1]
    allowing = [one for one in found if one.get("behavior", "allow") == "allow"]
    return [{**one, "destination": "session"} for one in allowing]


def _tell_grant(grant: dict[str, Any]) -> str:
    """What the host would allow, in its own words, whole."""
    if grant.get("type") == "setMode":
        return f"mode {grant.get('mode')}"
    rules = [rule for rule in grant["rules"] if isinstance(rule, dict)]
    told = [(rule.get("toolName"), rule.get("ruleContent")) for rule in rules]
    return ", ".join(f"{tool}({content})" if content else f"{tool}" for tool, content in told)


def respond(event: str, said: dict[str, Any], host: str) -> dict[str, Any] | None:
    """What the host is told; nothing where there is nothing to say."""
    where = hosts.find_folder(said)
    project, folder = project_of(where), os.path.realpath(where)
    wanted, stop = user_permissions(), read_stop(said, host, folder)
    if stop is None:
        return None
    if event == "post":
        if wanted.concerns(stop.request.tool):
            close_answered(hosts.open_journal(where), stop)
    elif event == "permission":
        if wanted.inbox or wanted.rules:
            return decide(hosts.open_journal(where, asks=True), stop, project, wanted)
    elif wanted.parks(stop.request.tool, said):
        return park_permission(hosts.open_journal(where, asks=True), stop, project, wanted.rules)
    return None


def decide(store: Store, stop: Stop, project: str, wanted: Permissions) -> dict[str, Any] | None:
    """A decision by rule, or a person's in the inbox; nothing where the host is to ask itself. Only
    what a person did with their own hand counts: what the host reports, an agent could forge.
    """
    result = decide_by_rule(store, stop, project, wanted.rules)
    if result is None and wanted.concerns(stop.request.tool):
        result = take_decision(store, ask_in_inbox(store, stop, project, wanted.wait))
    return None if result is None else tell(stop, result)


def decide_by_rule(
    store: Store, stop: Stop, project: str, rules: Sequence[Rule]
) -> dict[str, Any] | None:
    """What a rule decides, recorded as such; nothing where none does."""
    if (verdict := find_rule(rules, stop.request)) is None:
        return None
    return take_decision(store, begin_permit(store, stop, project, None, verdict), ruled=True)


def take_decision(store: Store, state: State, *, ruled: bool = False) -> dict[str, Any] | None:
    """What a person or a rule decided, which is used up by that; nothing where nobody did."""
    allowed = state.deed is not None
    used = permits.take_use(store, HOOK, state) if allowed else state
    if used is None or used.status != "done" or (not allowed and used.result.get("used")):
        return None
    found = driver.answer_of(store, state.run)
    return used.result if found is not None and (ruled or found[0].in_person) else None


def begin_permit(
    store: Store,
    stop: Stop,
    project: str,
    wait: float | None,
    verdict: Verdict | None = None,
    parked: Parked | None = None,
) -> State:
    """Begin the run of a stop, once for each input; a rule decides it at once, as a policy."""
    ruled = (Source("policy", "rule", verdict.rule.name), verdict.code) if verdict else None
    name = stop.name + chance.stamp(chance.now())
    name = parked.name + stop.request.digest if parked else name
    arguments, documents = msgspec.to_builtins(Terms(stop.request)), dict[str, bytes]()
    if plan := stop.request.plan:
        from quandary.desk import attachments  # noqa: PLC0415 - only for plans

        (shown,) = attachments.take(HOOK, [attachments.Attaching(name="plan.md", text=plan)])
        arguments["attached"], documents = [msgspec.to_builtins(shown.about)], {"@1": shown.data}
    return driver.begin(
        store,
        "permit",
        arguments | (parked._asdict() if parked else {}),
        documents=documents,
        project=project,
        **HOOK.source,
        name=name,
        once=parked is not None,
        expires=chance.now() + timedelta(seconds=wait + MARGIN) if wait else None,
        asker=stop.asker,
        ruled=ruled,
    )


def ask_in_inbox(store: Store, stop: Stop, project: str, wait: float) -> State:
    """Ask in the inbox, and wait as long as the person, the host and the time let us."""
    until = chance.monotonic() + wait
    if stop.request.tool in PLANS:
        last = _newest(store, stop.family)  # the version before this one, in the same session
        given = read_beginning(store, last)[1].get("request") if last else None
        before = msgspec.convert(given, PermitRequest).plan if given else ""
        stop = stop._replace(request=msgspec.structs.replace(stop.request, before=before))
    silent = f"nobody decided within {wait:g} seconds, so the host asks in its own dialog"
    with hosts.listen_to_host() as waits:
        state = begin_permit(store, stop, project, wait)
        try:
            [state] = hosts.wait(store, [state], lambda now: now[0].ask is not None, until, waits)
        finally:
            if state.ask is not None:
                why = silent if waits() else "the host's own dialog was answered or closed"
                hosts.withdraw(store, state.run, why)
    return driver.look(store, state.run)


def _newest(store: Store, name: str) -> str:
    """The newest run whose name begins like this."""
    return max(store.named(name, f"{name}~").values(), default="")


def tell(stop: Stop, result: dict[str, Any], event: str = "permission") -> dict[str, Any] | None:
    """What was decided, as the host wants to hear it; before a tool is used, with its input."""
    allowed, why, text = tell_agent(stop.request, result)
    is_given = event == "pre" or stop.request.tool in PLANS or "input" in result
    given = msgspec.json.decode(text) if allowed and is_given else None
    grants = stop.grants if result["code"] == SESSION else None
    why = why or "It was allowed in quandary."
    return hosts.tell(stop.request.host, event, allowed, why, given, grants)


def close_answered(store: Store, stop: Stop) -> None:
    """A tool was used: what waits for it was allowed in the host's own dialog."""
    is_plan = stop.request.tool in PLANS
    run = _newest(store, stop.family if is_plan else stop.name)
    state = driver.look(store, run) if run else None
    if state is None:
        return
    allow = Reply((Answer(state.key or KEY, (APPROVE if is_plan else ONCE,)),))
    with suppress(Rejected, AlreadyAnswered):
        driver.settle(store, run, allow, why="", who="host", through="hook")
        return
    state = driver.look(store, run)  # it was decided here
    if state.status == "done" and state.result["decision"] == "deny":
        said = "It was done all the same: somebody allowed it in the host's own dialog."
        row = store.require_run(run)
        driver.note_behind(store, row, "host", KEY, "", said, who="host", through="hook")


_ANOTHER = "Another question waits for the person. Ask this one again after its answer."
_WAITS = "It waits for the person in quandary."


def park(call: ToolCall, store: Store, project: str, folder: str) -> dict[str, Any] | None:
    """Have the host set a call aside until its questions are answered, or hand it the answers."""
    from quandary.desk.walks import Parked  # noqa: PLC0415 - only for what is parked
    from quandary.doors.hosts import hooks  # noqa: PLC0415 - only around questions

    fits = calls.SESSION.fullmatch(call.session) and call.may_be_routed
    if not fits or hooks.find_relayed_run(call, store, project) is not None:
        return None
    parked = Parked(call.session, folder, call.id, os.uname().nodename)
    states = []
    for one in call.questions:
        ask = hooks.make_ask(call, one, project)
        states.append(hooks.begin_record(store, call, one, project, ask=ask, parked=parked))
    if aside := _set_aside(store, call.session, states):
        return aside
    nothing = "Nobody answered in quandary, and nothing was decided; stop here."
    return hooks.hand_over_answers(call, store, states) or make_decision("deny", nothing)


def park_permission(
    store: Store, stop: Stop, project: str, rules: Sequence[Rule]
) -> dict[str, Any] | None:
    """Have the host set aside what a person has to allow; or hand over, once, what they said."""
    from quandary.desk.walks import Parked  # noqa: PLC0415 - as above

    result = decide_by_rule(store, stop, project, rules)
    session = stop.request.session
    if result is None and calls.SESSION.fullmatch(session) and stop.call:
        parked = Parked(session, stop.request.folder, stop.call, os.uname().nodename)
        state = begin_permit(store, stop, project, None, parked=parked)
        if aside := _set_aside(store, session, [state]):
            return aside
        result, state = take_decision(store, state), driver.look(store, state.run)
        driver.hand_over(store, state.run, **HOOK.source)
        if result is None:
            return make_decision("deny", f"{permits.why_over(store, state)}.")
    return None if result is None else tell(stop, result, "pre")


def _set_aside(store: Store, session: str, states: Sequence[State]) -> dict[str, Any] | None:
    """Set aside what still waits for an answer. Of several calls in one message, the host keeps
    only the last that is set aside. So one of them is, and the others are to be made again.
    """
    own = {state.run for state in states}
    named = store.named(f"hook\n{session}\n", f"hook\n{session}\n~")
    rows = (store.require_run(run) for run in named.values())
    waiting = {row.id for row in rows if row.waits == "person"}
    if any(run < min(own) for run in waiting - own):
        for run in own:
            hosts.withdraw(store, run, "another question of its session waits already")
        return make_decision("deny", _ANOTHER)
    return make_decision("defer", _WAITS) if waiting & own else None


def hold(said: dict[str, Any]) -> dict[str, Any] | None:
    """Set aside what an agent of a walk stops for, or hand it over what came of that. The run of
    the walk asks, so that nothing is begun here. A sub-agent that is set aside would end without a
    word, so it is not; nor is it denied, since the host may allow it.
    """
    where = hosts.find_folder(said)
    stop, told = read_stop(said, "claude", where), _read_told()
    if stop is None:
        return None
    tool = stop.request.tool
    if told is not None and (told.stopped.id, told.stopped.tool) == (stop.call, tool):
        with suppress(OSError):
            os.unlink(_held_file(stop))
        given = msgspec.json.decode(told.input) if told.allow else None
        why = told.message or "It was answered in quandary."
        return hosts.tell(stop.request.host, "pre", told.allow, why, given)
    result, asks = None, QUESTIONS.fullmatch(tool)
    if not asks and (rules := user_permissions().rules):
        result = decide_by_rule(hosts.open_journal(where), stop, project_of(where), rules)
    if result is not None:
        return tell(stop, result, "pre")
    return _hold_one(stop) if (asks or _fits(tool, PARKED)) and not stop.agent else None


def _read_told() -> calls.Resumption | None:
    """What the session is told that goes on, if it does."""
    path = os.environ[calls.STEP]
    if not path:
        return None
    with open(path, "rb") as file:
        return msgspec.json.decode(file.read(), type=calls.Resumption)


def _hold_one(stop: Stop) -> dict[str, Any]:
    """Set a call aside if no other one of its session is; a link says which, from the first on."""
    path = _held_file(stop)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.symlink(stop.call, path)
    first = os.readlink(path) == stop.call
    return make_decision("defer", _WAITS) if first else make_decision("deny", _ANOTHER)


def _held_file(stop: Stop) -> str:
    return hosts.file_of(f"held\n{stop.request.session}".encode(errors="replace"))
