"""What stops an agent of a host, in our inbox: permissions, plans, and its questions.

The hook of a host's permission event asks here and waits; what a person decides is handed back, and
used up by that. Whoever is first counts, here or in the host's own dialog. Silence is no answer:
when the time is up, the host's dialog appears, or stays. Where the host lets its dialog and our
hook race, the hook after the tool tells what was allowed there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.desk import permits, reply
from quandary.desk.permits import Rule, Verdict, find_rule, read_rules
from quandary.doors.hosts import hooks
from quandary.doors.hosts.hooks import HOOK, MARGIN
from quandary.errors import AlreadyAnswered, ParseError, Rejected
from quandary.flows.permit import APPROVE, KEY, ONCE, SESSION, Terms, tell_agent
from quandary.journal import chance
from quandary.journal import runs as driver
from quandary.journal.entries import Asker, Source, read_beginning
from quandary.model.asks import Answer, Reply
from quandary.model.requests import PLANS, PermitRequest, name_action
from quandary.settings import project_of, user_settings

if TYPE_CHECKING:
    from quandary.desk.walks import Parked
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
    wait: float = hooks.WAIT
    ask: tuple[str, ...] = ()
    """What the host is told to ask about."""
    rules: tuple[Rule, ...] = ()
    park: bool = False

    def concerns(self, tool: str) -> bool:
        """Whether a tool goes to the inbox."""
        return self.inbox and _fits(tool, self.tools)

    def parks(self, tool: str, said: dict[str, Any]) -> bool:
        """Whether a session is parked before it uses a tool about which its host would ask."""
        asked = _MODES.get(str(said.get("permission_mode")), ())
        return hooks.is_headless(said, self.park) and _fits(tool, self.tools) and _fits(tool, asked)


def _fits(tool: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(tool, one) for one in names)


def may_ask(tool: str) -> bool:
    """Whether somebody has to allow the use of a tool."""
    return _fits(tool, PARKED)


def read_permissions(table: dict[str, Any]) -> Permissions:
    """The settings of `[permissions]`, refused where they make no sense."""
    for key in table.keys() - {*KEYS}:
        raise ParseError(f"[permissions] has no key {key} (there are {', '.join(KEYS)})")
    inbox, wait = hooks.read_route(table, "permissions")
    lists = [table.get("tools", ["*"]), table.get("ask", [])]
    for name, listed in zip(("tools", "ask"), lists, strict=True):
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise ParseError(f'[permissions] {name} is a list of texts, like ["Bash"]')
    tools, ask = map(tuple, lists)
    rules, park = read_rules(table.get("rules")), hooks.read_park(table, "permissions")
    return Permissions(inbox, tools, wait, ask, rules, park)


def user_permissions() -> Permissions:
    """Those of the user at this machine."""
    return read_permissions(user_settings().table("permissions"))


# -- what a host says ------------------------------------------------------------------------------


class Stop(NamedTuple):
    """An agent that wants to use a tool, as its host reports it."""

    host: str
    request: PermitRequest
    input: dict[str, Any]
    grants: list[dict[str, Any]]
    """What the host would change to allow the same for the rest of its session."""
    agent: str = ""
    """The id of a sub-agent."""
    call: str = ""
    """The host's own name for this use of the tool; its permission event has none."""
    asker: Asker = Asker()

    @property
    def family(self) -> str:
        """What begins the names of all that this agent wants to use a tool for."""
        return hooks.name_family(self.request.session, self.agent, self.request.tool)

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
    return Stop(host, request, given, grants, agent, call, asker)


def _find_grants(suggested: object) -> list[dict[str, Any]]:
    """Of what the host suggests, the rules that allow, and only until the session ends."""
    listed = (
        [one for one in suggested if isinstance(one, dict)] if isinstance(suggested, list) else []
    )
    rules = [one for one in listed if one.get("type") == "addRules" and one.get("rules")]
    found = rules or [one for one in listed if one.get("type") == "setMode"][:1]
    allowing = [one for one in found if one.get("behavior", "allow") == "allow"]
    return [{**one, "destination": "session"} for one in allowing]


def _tell_grant(grant: dict[str, Any]) -> str:
    """What the host would allow, in its own words, whole."""
    if grant.get("type") == "setMode":
        return f"mode {grant.get('mode')}"
    rules = [rule for rule in grant["rules"] if isinstance(rule, dict)]
    return ", ".join(
        f"{rule.get('toolName')}({rule['ruleContent']})"
        if rule.get("ruleContent")
        else str(rule.get("toolName"))
        for rule in rules
    )


# -- what is said to it ----------------------------------------------------------------------------


def respond(event: str, said: object, host: str) -> bytes:
    """What is printed for the host; nothing where there is nothing to say."""
    if not isinstance(said, dict):
        return b""
    where = hooks.find_folder(said)
    project = project_of(where)
    call = hooks.read_call(said, host) if event == "permission" else None
    if call is not None:
        settings = hooks.hook_settings(where)
        if hooks.inbox_seconds(settings) is None:
            return b""
        store = hooks.open_journal(where, asks=True)
        output = hooks.ask_person(hooks.pair(call), store, project, settings)
        return b"" if output is None else msgspec.json.encode(_as_permission(output))
    wanted, stop = user_permissions(), read_stop(said, host, os.path.realpath(where))
    if stop is None:
        return b""
    if event == "post":
        if wanted.concerns(stop.request.tool):
            close_answered(hooks.open_journal(where), stop)
        return b""
    output = None
    if event == "permission":
        if wanted.inbox or wanted.rules:
            output = decide(hooks.open_journal(where, asks=True), stop, project, wanted)
    elif wanted.parks(stop.request.tool, said):
        from quandary.doors.hosts import sessions  # noqa: PLC0415 - only for what is parked

        output = sessions.park_permission(
            hooks.open_journal(where, asks=True), stop, project, wanted.rules
        )
    return b"" if output is None else msgspec.json.encode(output)


def _as_permission(output: dict[str, Any]) -> dict[str, Any]:
    """What our hook before a question says, in the words of the permission event."""
    said = output[hooks.DECISION]
    if said["permissionDecision"] == "deny":
        return _permission({"behavior": "deny", "message": said["permissionDecisionReason"]})
    return _permission({"behavior": "allow", "updatedInput": said["updatedInput"]})


def _permission(decision: dict[str, Any]) -> dict[str, Any]:
    return {hooks.DECISION: {"hookEventName": "PermissionRequest", "decision": decision}}


def decide(store: Store, stop: Stop, project: str, wanted: Permissions) -> dict[str, Any] | None:
    """A decision by rule, or a person's in the inbox; nothing where the host is to ask itself.

    Only what a person did with their own hand counts: what the host reports, an agent could forge.
    """
    result = decide_by_rule(store, stop, project, wanted.rules)
    if result is None and wanted.concerns(stop.request.tool):
        result = take_decision(store, ask_in_inbox(store, stop, project, wanted.wait))
    return None if result is None else tell(stop, result)


def decide_by_rule(
    store: Store, stop: Stop, project: str, rules: Sequence[Rule]
) -> dict[str, Any] | None:
    """What a rule decides, recorded as such; nothing where none does."""
    verdict = find_rule(rules, stop.request)
    if verdict is None:
        return None
    return take_decision(store, begin_permit(store, stop, project, None, verdict), ruled=True)


def take_decision(store: Store, state: State, *, ruled: bool = False) -> dict[str, Any] | None:
    """What was decided, which is used up by that; nothing where no person and no rule did.

    What somebody else has used does not count a second time.
    """
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
    """Begin the run of a stop; a rule decides it at once, as a policy with the rule's name.

    What a session is parked with is begun once, however often its host asks about the same input.
    """
    ruled = None
    if verdict is not None:
        ruled = Source("policy", "rule", verdict.rule.name), verdict.code
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
        name=(parked.name + stop.request.digest)
        if parked
        else stop.name + chance.stamp(chance.now()),
        once=parked is not None,
        expires=chance.now() + timedelta(seconds=wait + MARGIN) if wait else None,
        asker=stop.asker,
        ruled=ruled,
    )


def ask_in_inbox(store: Store, stop: Stop, project: str, wait: float) -> State:
    """Ask in the inbox, and wait as long as the person, the host and the time let us."""
    until = chance.monotonic() + wait
    if stop.request.tool in PLANS:
        before = _plan_before(store, stop)
        stop = stop._replace(request=msgspec.structs.replace(stop.request, before=before))
    state, why = None, "the host's own dialog was answered or closed"
    with hooks.listen_to_host() as waits:
        try:
            state = begin_permit(store, stop, project, wait)
            with closing(store.news(hooks.LOOK)) as news:
                while state.ask is not None and waits() and chance.monotonic() < until:
                    next(news)
                    state = driver.look(store, state.run)
            if waits():
                why = f"nobody decided within {wait:g} seconds, so the host asks in its own dialog"
        finally:
            if state is not None and state.ask is not None:
                with suppress(Rejected):  # where somebody was quicker, theirs counts
                    reply.withdraw(store, HOOK, state.run, why)
    return driver.look(store, state.run)


def _plan_before(store: Store, stop: Stop) -> str:
    """The version of a plan before this one, in the same session."""
    found = _newest(store, stop.family)
    request = read_beginning(store, found)[1].get("request") if found else None
    return msgspec.convert(request, PermitRequest).plan if request else ""


def _newest(store: Store, name: str) -> str:
    """The newest run whose name begins like this."""
    return max(store.named(name, f"{name}~").values(), default="")


def tell(stop: Stop, result: dict[str, Any]) -> dict[str, Any] | None:
    """What was decided, as the host wants to hear it."""
    allowed, message, text = tell_agent(stop.request, result)
    if stop.host == "gemini":
        return None if allowed else {"decision": "deny", "reason": message}
    decision: dict[str, Any] = {"behavior": "allow" if allowed else "deny"}
    if not allowed:
        decision["message"] = message
    elif stop.request.tool in PLANS or "input" in result:
        decision["updatedInput"] = msgspec.json.decode(text)
    if allowed and result["code"] == SESSION:
        decision["updatedPermissions"] = stop.grants
    return decision if stop.host == "copilot" else _permission(decision)


def close_answered(store: Store, stop: Stop) -> None:
    """A tool was used: what waits for it was allowed in the host's own dialog.

    After a plan, Claude Code no longer says which one it was.
    """
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
