"""Hooks of a host: each question that it asks, by whatever skill, judged before, recorded after.

`judge` says something only where it has to: an answer by preference, an answer that the person
gave in our inbox, or (where the settings are strict) why the question cannot be asked like this.
`record` keeps one record for each question of a call, however often the host reports it. What a
hook hears comes from the host and not from the person, so nothing here counts where only a person
can answer.

With `[hooks] route = "inbox"`, the hook of the permission event asks here, while the host shows its
own form; it waits for as long as `wait` says, and hands back what the person answered. Whoever is
first counts. Only a person's own hand counts, at a terminal or in the browser: the agent that asks
cannot answer itself. If nobody answers in time, the question is withdrawn here. A question that an
agent only relays, because a run of ours asks it, is in the inbox already: then the hook waits for
that run, and tells the agent when it was answered there.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.desk import reply, returns
from quandary.desk.sheets import Sheet, Shown, make_sheets, shorten
from quandary.desk.state import hand_over
from quandary.doors import hosts
from quandary.doors.hosts import DECISION, HOOK, HOST, MARGIN, inbox_seconds, make_decision
from quandary.errors import ContextRequired, QuandaryError, Untrusted
from quandary.flows.wording import require_filled
from quandary.journal import chance
from quandary.journal import runs as driver
from quandary.journal.entries import Answered, Asked, Asker, Noted, read_matter, readable, sha256
from quandary.journal.policy import read_policy
from quandary.model import keys
from quandary.model.asks import Answer, Ask, Outcome, Preamble, Question, Reading, Reply
from quandary.model.requests import are_clear, label_of, options_of, previews_of, read_question
from quandary.model.text import LETTERS
from quandary.settings import Settings, project_of

if TYPE_CHECKING:
    from quandary.desk.walks import Parked
    from quandary.journal.store import State, Store

MANY = 1000  # of how many runs we see whether a question is theirs, the newest first
JUST_NOW = 120  # seconds within which an agent shows a question that a run of ours has given it
LONGEST_TIME = 366 * 24 * 3600
"""Seconds that an answer can have taken; what is more was not measured."""
_FORGOTTEN = 30 * 24 * 3600  # seconds after which a host that began to ask will not come back
_LETTERED = re.compile(r"(?<![^\s(*_`'\"“‘«])\(?([A-Z]|\d{1,2})[*_`]*[).:][*_`]*\s+\S")
_NAMED = re.compile(r"(?<!\w)\(?([A-Za-z]{1,3})-?(\d{1,2})(?:\)|[.:](?=\s))")
_RANGE = re.compile(
    r"(?<!\w)([A-Za-z]{1,3})(\d{1,2})"
    r"(?:\)?\s*(?:\.{2,3}|…)\s*|\)\s*(?:[-–—]|to|through)\s*)\(?\1(\d{1,2})(?!\w)"
)
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uff66-\uff9f"
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\s{_UNSPACED}]+")
"""Where a script has no spaces, from Thai to Japanese, two characters count as a word."""
_FEWEST_WORDS = 6
"""A shorter question with options that say nothing more cannot be answered without scrolling up."""
_CHECKSUM = 8


def respond(event: str, call: ToolCall, said: dict[str, Any], host: str) -> dict[str, Any] | None:
    """What the host is told around a question; nothing where there is nothing to say."""
    where = hosts.find_folder(said)
    project = project_of(where)
    if event == "post":
        seconds = measure_time(call, said.get("duration_ms"))
        record(call, hosts.open_journal(where), project, seconds)
        return None
    settings = hosts.hook_settings(where)
    if event == "permission":
        if inbox_seconds(settings) is None:
            return None
        store = hosts.open_journal(where, asks=True)
        named = call._replace(id=call.id or _read_start(call)[1])
        came = (ask_person(named, store, project, settings) or {}).get(DECISION, {})
        allowed = came.get("permissionDecision") == "allow"
        why = came.get("permissionDecisionReason")
        return hosts.tell("claude", event, allowed, why, came.get("updatedInput")) if why else None
    parks = hosts.is_headless(said, hosts.read_route(settings.table("hooks"), "hooks")[2])
    try:
        store = hosts.open_journal(where, asks=parks or host == "codex")
        output = judge(call, store, project, settings)
    except QuandaryError as error:
        hosts.log(error)
        note = f"quandary: the preferences cannot be read ({error}), so it is asked"
        noted = None if isinstance(error, Untrusted) else {"systemMessage": note}
        return _refuse_fault(call, settings) or noted
    if DECISION in (output or ()):
        pass
    elif host == "codex":
        output = ask_person(call, store, project, settings) or output
    elif parks:
        from quandary.doors.hosts.permissions import park  # noqa: PLC0415 - not for each question

        output = park(call, store, project, os.path.realpath(where)) or output
    if DECISION not in (output or ()):
        start_time(call)
    return refuse_with_answers(output) if output is not None and host == "codex" else output


class ToolCall(NamedTuple):
    """A call to a host's question tool, as the host reports it."""

    session: str
    id: str  # the host's own name for the call; nothing where it gave none
    input: dict[str, Any]
    questions: tuple[Question, ...]
    response: Any
    asker: Asker = Asker()

    def record_name(self, question: Question) -> str:
        """What the record of a question is found by: another one with its id has another."""
        options = [(one.label, one.description) for one in question.choices]
        shown = msgspec.json.encode((question.text, options, question.multi))
        known = f"{question.key}\n{sha256(shown).hexdigest()[:16]}"
        return f"hook\n{self.session}\n{self.id}\n{known}" if self.id else ""

    def text(self, question: Question) -> str:
        """The question to the letter, which is how the host finds its answer."""
        return str(self.entry(question).get("question") or "")

    def labels(self, question: Question) -> dict[str, str]:
        """The options of a question by their codes, spelt as the host spells them."""
        return dict(zip(LETTERS, map(label_of, options_of(self.entry(question))), strict=False))

    def entry(self, question: Question) -> dict[str, Any]:
        """The question as the host sent it."""
        entry: dict[str, Any] = self.input["questions"][int(question.item) - 1]
        return entry

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The questions as the host shows them."""
        shown = []
        for question in self.questions:
            pairs = zip(self.labels(question).values(), question.choices, strict=True)
            options = [Shown(label.strip(), "", one) for label, one in pairs if label.strip()]
            shown.append(Sheet(question, self.text(question), tuple(options)))
        return tuple(shown)

    @property
    def form(self) -> list[tuple[str, list[str]]]:
        """The questions with their options, to be compared with those of a run."""
        return [(self.text(q), list(self.labels(q).values())) for q in self.questions]

    @property
    def may_be_routed(self) -> bool:
        """Whether a call can be answered here, with nothing of it lost."""
        return bool(self.id) and are_clear(self.input["questions"])


def read_call(data: object, host: str = "claude") -> ToolCall | None:
    """The call, if it is one to a question tool."""
    if not isinstance(data, dict) or not hosts.asks(data.get("tool_name")):
        return None
    given = data.get("tool_input")
    listed = given.get("questions") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(listed, list):
        return None
    questions = []
    for number, entry in enumerate(listed, 1):
        if isinstance(entry, dict) and any(entry.get(name) for name in ("question", "options")):
            question = read_question(number, entry)
            own = str(entry.get("id") or entry.get("question_id") or "")
            known = own if keys.is_valid(own) else question_id(question.text)
            questions.append(replace(question, id=known, title=question.header))
    names = ("session_id", "tool_use_id", "agent_type", "model")
    session, call, agent, model = (str(data.get(name) or "") for name in names)
    host = "codex" if "turn_id" in data else host  # only Codex counts turns
    asker = Asker(host, *(text[:200] for text in (session, agent, model)))
    told = ToolCall(session, call, given, tuple(questions), data.get("tool_response"), asker)
    return told if questions else None


def question_id(text: str) -> str:
    """What a question without an id is known by: its words, and a checksum where they are cut."""
    slug = keys.slug(text)
    if len(slug) <= keys.LONGEST:
        return slug or keys.NO_SLUG
    digest = sha256(text.encode(errors="replace")).hexdigest()[:_CHECKSUM]
    return f"{slug[: keys.LONGEST - _CHECKSUM - 1].rstrip('-')}-{digest}"


def judge(call: ToolCall, store: Store, project: str, settings: Settings) -> dict[str, Any] | None:
    """What to say to the host; nothing where it is to continue as always."""
    if len(call.questions) < len(call.input["questions"]):
        return None  # what is no question is for the host to judge
    if find_relayed_run(call, store, project) is not None:
        return None  # then that run has judged it
    return _refuse_fault(call, settings) or _answer_by_preference(call, store, project)


def ask_person(
    call: ToolCall, store: Store, project: str, settings: Settings
) -> dict[str, Any] | None:
    """What a person says in the inbox while the host shows its form; nothing where they do not."""
    seconds = inbox_seconds(settings)
    if seconds is None or len(call.questions) < len(call.input["questions"]):
        return None
    if (ours := find_relayed_run(call, store, project)) is None:
        return ask_in_inbox(call, store, project, seconds)
    key, until = ours.key, chance.monotonic() + seconds
    with hosts.listen_to_host() as waits:
        [now] = hosts.wait(store, [ours], lambda states: states[0].key == key, until, waits)
    return None if now.key == key else _send_back(now.run)


def _answer_by_preference(call: ToolCall, store: Store, project: str) -> dict[str, Any] | None:
    """The answers, where a preference decides every question of the call. The host shows more of an
    option that has a preview than a preference is bound to, and options that have no letter
    besides.
    """
    options = [option for entry in call.input["questions"] for option in options_of(entry)]
    if len(options) > sum(len(question.choices) for question in call.questions):
        return None
    if any(isinstance(option, dict) and option.get("preview") for option in options):
        return None
    verdicts = [*map(read_policy(store, project).judge, call.questions)]
    if not all(verdict.decide for verdict in verdicts):
        told = (v.note for v in verdicts if v.unseen == "changed" or store.missing)
        note = " ".join(dict.fromkeys(told))
        return {"systemMessage": f"quandary: {note}"} if note else None
    answers = {}
    for question, verdict in zip(call.questions, verdicts, strict=True):
        state = begin_record(store, call, question, project, prefer=True)
        if state.status != "done" or state.result.get("codes") != [verdict.code]:
            return None
        answers[call.text(question)] = call.labels(question)[verdict.code]
    ids = ", ".join(question.id for question in call.questions)
    reason = f"Decided by the person's preference ({ids}); nobody was asked."
    answered = {**call.input, "answers": answers}
    return make_decision("allow", reason, updatedInput=answered, additionalContext=reason)


def refuse_with_answers(output: dict[str, Any]) -> dict[str, Any]:
    """The same for Codex, which hears an answer only as the reason why its box is not shown."""
    said = output.get(DECISION, {})
    if said.get("permissionDecision") != "allow":
        return output
    answered = said["updatedInput"]
    notes = [one["notes"] for one in answered.get("annotations", {}).values()]
    told = [f"“{asked}”: “{answer}”" for asked, answer in answered["answers"].items()]
    told += [f"with the note “{note}”" for note in notes]
    reason = f"{said['permissionDecisionReason']} Continue with that answer: {', '.join(told)}"
    return make_decision("deny", reason)


def _refuse_fault(call: ToolCall, settings: Settings) -> dict[str, Any] | None:
    """What strict settings say of questions that nobody can answer."""
    strict = settings.table("hooks").get("strict") is True
    return make_decision("deny", fault) if strict and (fault := find_fault(call)) else None


def find_fault(call: ToolCall) -> str:
    """What keeps a person from answering the questions of a call, and how to fix it."""
    texts = [question.text for question in call.questions]
    for question in call.questions:
        what = f"“{shorten(question.text, 80)}”"
        if texts.count(question.text) > 1:
            return f"{what} is asked twice in one call; give each question its own text."
        described = any(choice.description.strip() for choice in question.choices)
        if len(_WORD.findall(question.text)) < _FEWEST_WORDS and not described:
            return (
                f"{what} cannot be answered by itself: put one or two sentences of context into "
                "the question, and say with each option what it leads to."
            )
        listed = count_listed_options(question.text)
        if listed > len(question.choices) and not _is_yes_or_no(question):
            return (
                f"{what} names {listed} options and offers {len(question.choices)}: no option may "
                "be dropped. Ask about them with `quandary split`, or in several questions."
            )
        shown = (f"{choice.label} {choice.description}" for choice in question.choices)
        previews = previews_of(call.entry(question))
        for text in (question.text, question.header, *shown, *previews):
            try:
                require_filled(text, f"the question {what}")
            except ContextRequired as unfilled:
                return f"{unfilled}."
    return ""


def _is_yes_or_no(question: Question) -> bool:
    """Whether nothing but a yes and a no is offered; then what is listed are facts."""
    from quandary.reading.meaning import sides  # noqa: PLC0415 - few questions list anything

    yes, no = set(sides(question, "yes")), set(sides(question, "no"))
    return bool(yes) and bool(no) and len(yes | no) == len(question.choices)


def count_listed_options(text: str) -> int:
    """How many options a text lists as A) B) C), 1) 2) 3) or E1) E2) E3), or as E1…E3."""
    marks = {found[1] for found in _LETTERED.finditer(text)}
    letters = next((n for n, letter in enumerate(LETTERS) if letter not in marks), len(LETTERS))
    numbers = next(n for n in range(1, 101) if str(n) not in marks) - 1
    named = {(name.casefold(), int(number)) for name, number in _NAMED.findall(text)}
    alike = max(Counter(name for name, _ in named).values(), default=0)
    ranges = (int(last) - int(first) + 1 for _, first, last in _RANGE.findall(text))
    return max(letters, numbers, alike, *ranges)


def start_time(call: ToolCall) -> None:
    """Remember when the host began to ask, and the id of the call: not every event has them."""
    if not call.id:
        return
    path, long_ago = _call_file(call), chance.now().timestamp() - _FORGOTTEN
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        for left in os.scandir(os.path.dirname(path)):  # by calls of which nobody heard the end
            if left.stat(follow_symlinks=False).st_mtime < long_ago:
                os.unlink(left)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{chance.stamp(chance.now())} {call.id}")


def _read_start(call: ToolCall) -> tuple[str, str]:
    with suppress(OSError, ValueError), open(_call_file(call), encoding="utf-8") as file:
        begun, _, name = file.read().partition(" ")
        return begun, name
    return "", ""


def measure_time(call: ToolCall, milliseconds: object) -> float | None:
    """The seconds that the host showed the question: by its own account, else between our hooks."""
    begun, name = _read_start(call)
    with suppress(OSError, ValueError):
        os.unlink(_call_file(call))
    said = milliseconds if isinstance(milliseconds, int | float) else 0
    if said is not True and 0 < said <= LONGEST_TIME * 1000:
        return said / 1000
    with suppress(ValueError):
        seconds = (chance.now() - datetime.fromisoformat(begun)).total_seconds()
        return seconds if name == call.id and 0 <= seconds <= LONGEST_TIME else None
    return None


def _call_file(call: ToolCall) -> str:
    """What the hooks around one call have in common."""
    asked = msgspec.json.encode(call.input["questions"], order="deterministic")
    return hosts.file_of(f"{call.session}\n".encode(errors="replace") + asked)


def record(call: ToolCall, store: Store, project: str, seconds: float | None = None) -> list[State]:
    """Keep every question of the call once, with what became of it and how long it took."""
    if find_relayed_run(call, store, project) is not None:
        return []
    meant = read_response(call)
    without = Outcome("dismissed", "the host's form came back without an answer to it")
    outcome = meant if isinstance(meant, Outcome) else without
    states = []
    for question in call.questions:
        state = begin_record(store, call, question, project)
        answer = meant.to(question.key) if isinstance(meant, Reply) else None
        if answer is not None and not answer.blank:
            state = _record_answer(store, call, state, question, answer, seconds)
        elif state.status == "waiting":
            state = reply.record_reply(store, HOST, state.run, outcome, to=state.key)
            if state.status == "waiting":
                why = f"the host went on without an answer ({outcome.kind})"
                state = reply.withdraw(store, HOOK, state.run, why)
        states.append(state)
    return states


def begin_record(
    store: Store,
    call: ToolCall,
    question: Question,
    project: str,
    *,
    prefer: bool = False,
    ask: Ask | None = None,
    expires: datetime | None = None,
    parked: Parked | None = None,
) -> State:
    """The record of a question, begun by whoever comes first; a `parked` session can be resumed."""
    if ask is None:
        context = question.text or question.header or "A question without words."
        ask = Ask(question.key, "transition", Preamble(context), (question,))
    name = call.record_name(question)
    arguments = {"ask": msgspec.to_builtins(ask), "session": call.session, "call": call.id}
    return driver.begin(
        store,
        "question",
        arguments | (parked._asdict() if parked else {}),
        project=project,
        **HOOK.source,
        name=name,
        once=bool(name),
        prefer=prefer,
        expires=expires,
        asker=call.asker,
    )


def spell(call: ToolCall, question: Question, answer: Answer) -> str:
    """An answer as the host tells of it: labels as it spells them, or the person's own words."""
    return ", ".join(_spell_each(call, question, answer))


def _spell_each(call: ToolCall, question: Question, answer: Answer) -> list[str]:
    labels = call.labels(question)
    words = [labels[code] for code in answer.picked if code in labels]
    own = answer.text if answer.picked else answer.raw or answer.text
    return [*words, *([own.strip()] if own else [])]


def _record_answer(
    store: Store,
    call: ToolCall,
    state: State,
    question: Question,
    meant: Answer,
    seconds: float | None,
) -> State:
    """The record with its answer, unless it has this very answer already."""
    if (known := driver.answer_of(store, state.run)) is not None:
        handed = {"answers": {call.text(question): spell(call, question, known[1])}}
        again = read_response(call._replace(response=handed))
        same = again.to(question.key) if isinstance(again, Reply) else None
        if same is not None and (same.picked, same.text) == (meant.picked, meant.text):
            return state
    why = "answered in the form of the host" if state.status != "waiting" else ""
    return driver.settle(store, state.run, Reply((meant,)), why=why, seconds=seconds, **HOST.source)


def read_response(call: ToolCall) -> Reply | Outcome:
    """What came back from the host's form. Words that fit no question are kept in the outcome. A
    label is what the host spells; all else is kept in the person's own words, as the agent was told
    them.
    """
    try:
        return returns.parse_response(call.response, call.sheets, lambda *_: Reading("own-words"))
    except QuandaryError:
        response = call.response
        words = response if isinstance(response, str) else msgspec.json.encode(response).decode()
        return Outcome("error", f"what the host sent back answers no question of the call: {words}")


def ask_in_inbox(call: ToolCall, store: Store, project: str, wait: float) -> dict[str, Any] | None:
    """What a person answers in the inbox, for the host; nothing where its form is to appear."""
    until = chance.monotonic() + wait
    if (quicker := find_answered_run(call, store, project)) is not None:
        return _send_back(quicker)
    if not call.may_be_routed:
        return None
    expires = chance.now() + timedelta(seconds=wait + MARGIN)
    silent = f"nobody answered within {wait:g} seconds, so the host asked in its own form"
    with hosts.listen_to_host() as waits:
        states: list[State] = []
        try:
            for one in call.questions:
                ask = make_ask(call, one, project)
                states.append(begin_record(store, call, one, project, ask=ask, expires=expires))
            states = hosts.wait(store, states, _is_open, until, waits)
        finally:
            why = silent if waits() else "the host no longer waits for it"
            if any(state.status not in ("waiting", "done") for state in states):
                why = "another question of the same call was not answered"
            for state in states:
                hosts.withdraw(store, state.run, why)
    return hand_over_answers(call, store, [driver.look(store, state.run) for state in states])


def _is_open(states: list[State]) -> bool:
    """Whether all of a call can still be answered, and not all of it is."""
    return {"waiting"} <= {state.status for state in states} <= {"waiting", "done"}


def find_relayed_run(call: ToolCall, store: Store, project: str) -> State | None:
    """The run of ours that waits for an answer to just these questions, as the host shows them."""
    for one in store.waiting(project=project, limit=MANY, order="newest"):
        with readable(one.run.id):
            ask = read_matter(one.asked).ask if one.run.flow != "question" else None
        if ask and _form(ask) == call.form and (state := driver.look(store, one.run.id)).ask:
            return state
    return None


def find_answered_run(call: ToolCall, store: Store, project: str) -> str | None:
    """The run of ours whose question a person answered before the agent came to relay it."""
    lately = chance.stamp(chance.now() - timedelta(seconds=JUST_NOW))
    for row in store.runs(project=project, newest=True, limit=MANY):
        if row.flow == "question" or row.since < lately:
            continue
        answered: set[str] = set()
        for entry in reversed(store.entries(row.id, kinds=("asked", "answered"))):
            body = entry.read()
            if isinstance(body, Answered) and body.source.in_person and not body.amends:
                answered.add(body.key)
            elif isinstance(body, Asked) and body.key in answered:
                ask = entry.read_matter().ask
                if ask is not None and _form(ask) == call.form:
                    return row.id
    return None


def _form(ask: Ask) -> list[tuple[str, list[str]]]:
    """The questions of a run with their options, as a host would be told of them."""
    return [(sheet.text, [option.label for option in sheet.options]) for sheet in make_sheets(ask)]


def _send_back(run: str) -> dict[str, Any]:
    """What tells the agent that there is nothing left to show."""
    remedy = f"Run `quandary next {run}` and continue with the state that it prints."
    return make_decision("deny", f"The person answered this in quandary. {remedy}")


def make_ask(call: ToolCall, question: Question, project: str) -> Ask:
    """The question as a person sees it here: where it comes from, and how its options look."""
    number, count = call.questions.index(question) + 1, len(call.questions)
    where = f" at work in {os.path.basename(project)}" if project else ""
    which = f", as question {number} of {count}" if count > 1 else ""
    context = f"An agent{where} asks this{which}. It waits for you to answer."
    preamble = Preamble(context, previews_of(call.entry(question)))
    return Ask(question.key, "transition", preamble, (question,), require="person")


def hand_over_answers(call: ToolCall, store: Store, states: list[State]) -> dict[str, Any] | None:
    """The host's input with all answers of a person's own hand, or their refusal; else nothing."""
    declined = [state.run for state in states if state.status == "declined"]
    noted = [entry.read() for run in declined for entry in store.entries(run, kinds=("noted",))]
    if any(isinstance(n, Noted) and n.kind == "declined" and n.source.in_person for n in noted):
        why = "The person declined to answer in quandary. Nothing was decided; stop here."
        return make_decision("deny", why)
    answers: dict[str, Any] = {}
    notes: dict[str, dict[str, str]] = {}
    if all(state.status == "done" for state in states):
        states = [hand_over(store, HOOK, state) for state in states]
    for question, state in zip(call.questions, states, strict=True):
        found = driver.answer_of(store, state.run) if state.status == "done" else None
        if found is None or not found[0].in_person or not spell(call, question, found[1]):
            return None
        each, text = _spell_each(call, question, found[1]), call.text(question)
        answers[text] = each if call.asker.host == "opencode" else ", ".join(each)
        if found[1].comment:
            notes[text] = {"notes": found[1].comment}
    answered = {**call.input, "answers": answers}
    if notes:
        given = call.input.get("annotations")
        answered["annotations"] = {**(given if isinstance(given, dict) else {}), **notes}
    return make_decision("allow", "The person answered in quandary.", updatedInput=answered)
