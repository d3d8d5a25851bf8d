"""Permits: whether one exact action may be done, asked of a person, and used once.

After Allow the flow asks for the use of the permit, with the digest of what may be done. It is over
when that was done, once; whoever comes second finds nothing that waits.

An agent that stops in the middle of a walk's step, for a permission or with a question of its own,
is asked about in that run. What a person says is told to its session, which goes on from there.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from quandary.errors import Rejected
from quandary.flows import Flow, Steps, send, tell_hands, wording
from quandary.flows.asking import Chooser, Inquiry
from quandary.model import keys
from quandary.model.asks import Answer, Choice, Item, Limits, Question, Reply, Required
from quandary.model.calls import Do, Done, Resumption, Stopped
from quandary.model.requests import (
    PLANS,
    QUESTIONS,
    PermitRequest,
    are_clear,
    digest_input,
    find_one_way,
    find_risks,
    label_of,
    name_action,
    options_of,
    previews_of,
    read_question,
)
from quandary.model.text import LETTERS, shorten

VERSION = 1
ONCE, SESSION, CHANGED, DENY = "ONE", "SES", "CHG", "NO"
APPROVE, REVISE, REJECT = "OK", "REV", "NO"
KEY = keys.place("1")
_MARKS = (("old_string", "new_string"), ("old_str", "new_str"))
_CONTENT = ("content", "file_text", "new_source")


class Terms(Struct, frozen=True, omit_defaults=True):
    """What a permit is begun with."""

    request: PermitRequest
    limits: Limits = Limits()
    attached: list[Any] = []


def start(arguments: dict[str, Any]) -> Flow:
    """The flow from what the journal keeps."""
    terms = msgspec.convert(arguments, Terms)
    return permit(terms.request, limits=terms.limits, is_attached=bool(terms.attached))


def permit(
    request: PermitRequest, *, limits: Limits | None = None, is_attached: bool = False
) -> Flow:
    """Ask whether an action may be done; if so, wait until it is used, once. Only a person can
    answer. Words that name no choice deny, and reach whoever asked. A plan that is attached is
    looked at there, with remarks on its lines.
    """
    asking = Chooser(describe(request), limits or Limits(), "person")
    inquiry = make_inquiry(request)
    if request.plan and is_attached:
        inquiry = replace(inquiry, blocks=inquiry.blocks[1:])
    result = yield from ask_permission(request, asking, inquiry)
    result |= tell_hands(asking.hands)
    if result["decision"] == "allow":
        done = yield from send(Do("use", "use", result["digest"]), Done)
        if done.text != result["digest"]:
            raise Rejected(f"the permit is for {result['digest']}, not for {done.text}")
        result["used"] = True
    return {**result, "notes": msgspec.to_builtins(asking.notes)} if asking.notes else result


def make_inquiry(request: PermitRequest) -> Inquiry:
    """What is asked of a person, with its choices."""
    return _approval(request) if request.tool in PLANS else _permission(request)


def ask_permission(
    request: PermitRequest, asking: Chooser, inquiry: Inquiry
) -> Steps[dict[str, Any]]:
    """What a person decides about an action, and the digest of what they allow."""
    chosen = yield from asking.inquire(inquiry)
    remarks = [one.told for one in asking.remarks_on(inquiry.item.id).annotations]
    words = "\n".join(filter(None, (*remarks, chosen.words, chosen.comment)))
    text = request.input
    allowed = chosen.code in (ONCE, SESSION, CHANGED, APPROVE)
    if chosen.code == CHANGED:
        text = yield from _change(request, asking, inquiry)
    return {
        "action": request.action,
        "decision": "allow" if allowed else "deny",
        "code": chosen.code or (REVISE if request.tool in PLANS else DENY),
        "message": words,
        "digest": digest_input(text),
        **({"input": text} if text != request.input else {}),
    }


def tell_agent(request: PermitRequest, result: dict[str, Any]) -> tuple[bool, str, str]:
    """Whether the agent may do it, what it is told if not, and the input to do it with."""
    allowed, words = result["decision"] == "allow", str(result.get("message") or "")
    text = str(result.get("input", request.input))
    if allowed:
        if request.plan and words:
            plan = f"{request.plan.rstrip()}\n\n## Remarks of the person\n\n{words}\n"
            text = msgspec.json.encode({**request.values, "plan": plan}).decode()
        return True, "", text
    if request.tool in PLANS:
        revised = "wants the plan revised" if result["code"] == REVISE else "rejected the plan"
        return False, f"The person {revised}. {words}".strip(), text
    who = "A rule of the person's" if result.get("by") == "policy" else "The person"
    return False, words or f"{who} denied this in quandary.", text


def _permission(request: PermitRequest) -> Inquiry:
    """Whether a tool may be used, or something else done."""
    choices = [Choice(ONCE, "Allow once", "Just this, exactly as it is shown.", also=_ALLOWS)]
    if request.rule and not find_one_way(request):
        said = "Whatever fits that rule is not asked about again until the session ends."
        choices.append(Choice(SESSION, f"Allow for this session: {request.rule}", said))
    if request.takes:
        said = "You are asked next what is to be done instead."
        choices.append(Choice(CHANGED, "Allow with changes", said))
    said = "It is not done. Words that you write instead of a choice deny too, and reach the agent."
    choices.append(Choice(DENY, "Deny", said, also=_DENIES))
    return _inquiry(request, "May it be done?", tuple(choices))


_ALLOWS = ("allow", "allow it", "allow once", "yes", "approve")
_DENIES = ("deny", "deny it", "no", "refuse")


def _approval(request: PermitRequest) -> Inquiry:
    """Whether a plan may be carried out."""
    choices = (
        Choice(APPROVE, "Approve", "Go ahead; a remark beside it goes along.", also=("yes",)),
        Choice(REVISE, "Revise", "Your remarks go back to the agent, which plans again."),
        Choice(REJECT, "Reject", "The plan is not carried out.", also=("no",)),
    )
    return _inquiry(request, "May it be carried out?", choices)


def _inquiry(request: PermitRequest, asked: str, choices: tuple[Choice, ...]) -> Inquiry:
    what = " ".join((request.command or request.path).split())
    quoted = f": {_line(shorten(what, wording.SUMMARY_LENGTH))}" if what else ""
    return Inquiry(
        item=Item("1", title=request.action),
        key=KEY,
        label=request.tool or "Permit",
        text=" ".join(f"{who_asks(request)} wants to {request.action}{quoted}.".split()),
        asked=asked,
        choices=choices,
        own_words=True,
        blocks=tuple(_blocks(request)),
        id=keys.joined("permit", request.tool or request.action),
        chain=False,
    )


def _change(request: PermitRequest, asking: Chooser, inquiry: Inquiry) -> Steps[str]:
    """What is to be done instead; an empty one, or one that is no object, is asked for again."""
    texts = (name for name in ("command", "plan") if isinstance(request.values.get(name), str))
    why, field = "", next(texts, "")
    what = field or "input as a JSON object"
    while True:
        question = Question(
            key=asking.new_key(f"{inquiry.key}{CHANGED}"),
            header=wording.header(Item(inquiry.item.id, "Changes"), asking.limits.header),
            text=f"What is the {what} to be? Write all of it. {why}".strip(),
            choices=(Choice("SAME", "As it was"),),
            item=inquiry.item.id,
            value=what,
            root=False,
        )
        ask = asking.ask([(inquiry, question)])
        answer = (yield from send(ask, Reply)).to(question.key) or Answer(question.key)
        typed = answer.raw or answer.text or ""
        if answer.picked:
            return request.input
        if field and typed.strip():
            return msgspec.json.encode({**request.values, field: typed}).decode()
        if not field and replace(request, input=typed).values:
            return typed
        why = f"What you wrote is no {what}." if typed.strip() else "Nothing was written."


UNCLEAR = "This cannot be shown to the person: give each question a text and options of its own."


def resolve(
    stopped: Stopped, agent: str, chooser: Chooser, frame: Inquiry, require: Required
) -> Steps[Resumption]:
    """Ask what an agent stopped for, and give what its session is told. Its questions are asked as
    it asks them. What it wants to do only a person can allow, with the choices that every permit
    has.
    """
    if QUESTIONS.fullmatch(stopped.tool):
        chooser.require = require
        return (yield from _ask_questions(stopped, agent, chooser, frame))
    chooser.require = "person"
    request = PermitRequest(
        action=name_action(stopped.tool),
        input=stopped.input,
        tool=stopped.tool,
        folder=stopped.folder,
        host=agent,
        session=stopped.session,
        takes="text" if stopped.tool == "Bash" else "json",
    )
    asked = make_inquiry(request)
    blocks = (*frame.blocks, describe(request), *asked.blocks)
    placed = {"item": frame.item, "key": frame.key, "assignment": frame.assignment}
    inquiry = replace(asked, blocks=blocks, **placed)
    result = yield from ask_permission(request, chooser, inquiry)
    return Resumption(stopped, *tell_agent(request, result))


def _ask_questions(
    stopped: Stopped, agent: str, chooser: Chooser, frame: Inquiry
) -> Steps[Resumption]:
    """Ask an agent's questions, one after the other; the tool is used with the answers in it."""
    given = PermitRequest("", stopped.input).values
    if not are_clear(given.get("questions")):
        return Resumption(stopped, allow=False, message=UNCLEAR)
    answers, notes = {}, {}
    for number, entry in enumerate(given["questions"], 1):
        question = read_question(number, entry)
        inquiry = replace(
            frame,
            key=f"{frame.key}{number}",
            label=question.header or frame.label,
            text=f"{agent} asks:",
            asked=question.text,
            choices=question.choices,
            multi=question.multi,
            own_words=True,
            blocks=(*frame.blocks, *previews_of(entry)),
        )
        chosen = yield from chooser.inquire(inquiry)
        labels = dict(zip(LETTERS, map(label_of, options_of(entry)), strict=False))
        said = [*(labels[code] for code in chosen.codes), chosen.words]
        answers[entry["question"]] = ", ".join(filter(None, said))
        if chosen.comment:
            notes[entry["question"]] = {"notes": chosen.comment}
    answered = {**given, "answers": answers, **({"annotations": notes} if notes else {})}
    return Resumption(stopped, allow=True, input=msgspec.json.encode(answered).decode())


def who_asks(request: PermitRequest) -> str:
    """Who wants to do it, as far as that is known."""
    whose = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
    named = _line(request.asker) if request.asker else "Somebody"
    who = whose.get(request.host, request.host.capitalize()) or named
    return f"The sub-agent {_line(request.agent)} of {who}" if request.agent else who


def describe(request: PermitRequest) -> str:
    """What is to be known: where, by whom, why it is asked, and what makes it risky."""
    about = {
        "Reason": request.reason,
        "Folder": request.folder,
        "Tool": request.tool,
        "Session": request.session,
    }
    wanted = " ".join(f"{who_asks(request)} wants to {request.action}".split())
    lines = [f"**{wanted.replace('*', '')}.**", ""]
    lines += [f"- {name}: {_line(value)}" for name, value in about.items() if value]
    lines += [f"- **{risk}**: {_line(shown)}" for risk, shown in find_risks(request).items()]
    return "\n".join(lines).rstrip()


def _line(text: object) -> str:
    """What an agent wrote, in one line and as code, so that it looks like nothing of ours."""
    line = " ".join(str(text).split())
    marks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{marks} {line} {marks}" if len(marks) > 1 else f"`{line}`"


def _blocks(request: PermitRequest) -> list[str]:
    """The input whole: a command quoted, an edit as a diff, a plan as Markdown, and the rest."""
    values = request.values
    if request.plan:
        changed = _diff(request.before, request.plan) if request.before else ""
        said = [request.plan, *([f"What changed since:\n\n{changed}"] if changed else [])]
        return said + _show_rest(values, {"plan", "planFilePath"})
    if request.command:
        said = [f"The command:\n\n{wording.fenced(request.command)}"]
        said += [f"It says: {_line(values['description'])}"] if "description" in values else []
        name = "command" if values.get("command") else "cmd"
        return said + _show_rest(values, {name, "description"})
    pairs, shown = _find_edits(values)
    if request.path and pairs:
        diffs = "\n\n".join(_diff(before, after) for before, after in pairs)
        return [f"In {_line(request.path)}:\n\n{diffs}", *_show_rest(values, shown)]
    if not request.input:
        return []
    return [f"Exactly this:\n\n{wording.fenced(request.input, 'json' if values else '')}"]


def _find_edits(values: dict[str, Any]) -> tuple[list[tuple[str, str]], set[str]]:
    """What an edit takes out and puts in, and under which names that stands, and nothing else."""
    listed = values.get("edits")
    every = listed if isinstance(listed, list) else [values]
    entries = [entry for entry in every if isinstance(entry, dict)]
    found = [(e, a, b) for e in entries for a, b in _MARKS if a in e and b in e]
    pairs = [(str(entry[before]), str(entry[after])) for entry, before, after in found]
    if pairs and entries[0] is values:
        return pairs[:1], {*found[0][1:]}
    if pairs:
        is_all = len(found) == len(values["edits"]) and all(len(entry) == 2 for entry, *_ in found)
        return pairs, {"edits"} if is_all else set()
    content = next((n for n in _CONTENT if isinstance(values.get(n), str)), "")
    return ([("", values[content])], {content}) if content else ([], set())


def _show_rest(values: dict[str, Any], shown: set[str]) -> list[str]:
    """Whatever else belongs to an input, since it is allowed with the rest."""
    rest = {name: value for name, value in values.items() if name not in shown}
    text = msgspec.json.format(msgspec.json.encode(rest), indent=2).decode()
    return [f"With:\n\n{wording.fenced(text, 'json')}"] if rest else []


def _diff(before: str, after: str) -> str:
    import difflib  # noqa: PLC0415 - only where somebody is shown an edit

    old, new = (text.split("\n") if text else [] for text in (before, after))  # to the last newline
    lines = difflib.unified_diff(old, new, lineterm="")
    return wording.fenced("\n".join(list(lines)[2:]), "diff")
