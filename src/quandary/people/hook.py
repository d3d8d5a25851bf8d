"""Hooks of a host: every question that it asks, by whatever skill, judged before and kept after.

`before` says something only where it has to: an answer by preference, an answer that the person
gave in our inbox, or (where the settings are strict) why the question cannot be asked like this.
`after` keeps one record for each question of a call, however often the host tells of it. What a
hook is told comes from the host and not from the person, so that nothing here counts where only a
person can answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from quandary.desk import returns
from quandary.desk.sheets import Sheet, Shown, shorten
from quandary.errors import ContextRequired, QuandaryError
from quandary.flows.wording import require_filled
from quandary.journal import replay
from quandary.journal.entries import sha256
from quandary.journal.policy import policy_of
from quandary.journal.replay import answer_of, settle
from quandary.model import question_ids
from quandary.model.ask import (
    Answer,
    Ask,
    Choice,
    Outcome,
    Preamble,
    Question,
    Reading,
    Reply,
)

if TYPE_CHECKING:
    from datetime import datetime

    from quandary.journal.store import State, Store
    from quandary.settings import Settings

TOOL = re.compile(r"(?:mcp__.+__)?AskUserQuestion")
_RECOMMENDED = re.compile(r"\s*[(\[]\s*recommended\s*[)\]]", re.IGNORECASE)
_LETTERED = re.compile(r"(?:^|(?<=[\s(]))\(?([A-Z]|\d{1,2})[).:]\s+\S")
_CODES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FEWEST_WORDS = 6
"""A shorter question with options that say nothing more cannot be answered without scrolling up."""
_CHECKSUM = 8


class Told(NamedTuple):
    """What a host says of a call to its question tool."""

    session: str
    call: str
    """The host's own name for the call; nothing where it gave none."""
    input: dict[str, Any]
    questions: tuple[Question, ...]
    response: Any

    def name(self, question: Question) -> str:
        """What the record of a question is found by."""
        return f"hook\n{self.session}\n{self.call}\n{question.key}" if self.call else ""

    def text(self, question: Question) -> str:
        """The question to the letter, which is how the host finds its answer."""
        return str(self._entry(question).get("question") or "")

    def labels(self, question: Question) -> dict[str, str]:
        """The options of a question by their codes, spelt as the host spells them."""
        return dict(zip(_CODES, map(label_of, options(self._entry(question))), strict=False))

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The questions as the host shows them."""
        shown = []
        for question in self.questions:
            labels = self.labels(question)
            pairs = ((choice, labels[choice.code].strip()) for choice in question.choices)
            options = tuple(Shown(label, "", choice) for choice, label in pairs if label)
            shown.append(Sheet(question, self.text(question), options))
        return tuple(shown)

    def _entry(self, question: Question) -> dict[str, Any]:
        """The question as the host sent it."""
        entry: dict[str, Any] = self.input["questions"][int(question.item) - 1]
        return entry


def heard(data: object) -> Told | None:
    """The call, if it is one to a question tool."""
    if not isinstance(data, dict) or not TOOL.fullmatch(str(data.get("tool_name", ""))):
        return None
    given = data.get("tool_input")
    listed = given.get("questions") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(listed, list) or not listed:
        return None
    questions = tuple(
        _question(number, entry) for number, entry in enumerate(listed, 1) if _asks(entry)
    )
    if not questions:
        return None
    session, call = (str(data.get(name) or "") for name in ("session_id", "tool_use_id"))
    return Told(session, call, given, questions, data.get("tool_response"))


def _asks(entry: object) -> bool:
    """Whether there is anything in it that somebody could answer."""
    return isinstance(entry, dict) and any(entry.get(name) for name in ("question", "options"))


def options(entry: object) -> list[Any]:
    """The options of a question as the host sent it."""
    found = entry.get("options") if isinstance(entry, dict) else None
    return found if isinstance(found, list) else []


def label_of(option: object) -> str:
    """The label of an option as the host sent it."""
    return str(option.get("label", "")) if isinstance(option, dict) else str(option)


def _question(number: int, entry: object) -> Question:
    told = entry if isinstance(entry, dict) else {}
    text = str(told.get("question") or "").strip()
    choices = []
    for code, option in zip(_CODES, options(entry), strict=False):
        label, marks = _RECOMMENDED.subn("", label_of(option))
        description = option.get("description") if isinstance(option, dict) else ""
        choices.append(Choice(code, label, str(description or ""), recommended=bool(marks)))
    own = str(told.get("id") or told.get("question_id") or "")
    return Question(
        key=f"{number}:",
        header=str(told.get("header") or ""),
        text=text,
        choices=tuple(choices),
        multi=told.get("multiSelect") is True,
        item=str(number),
        id=own if question_ids.is_valid(own) else question_id(text),
    )


def question_id(text: str) -> str:
    """What a question without an id is known by: its words, and a checksum where they are cut."""
    slug = question_ids.slug(text)
    if len(slug) <= question_ids.LONGEST:
        return slug or question_ids.NO_SLUG
    digest = sha256(text.encode(errors="replace")).hexdigest()[:_CHECKSUM]
    return f"{slug[: question_ids.LONGEST - _CHECKSUM - 1].rstrip('-')}-{digest}"


# -- before the question is shown ----------------------------------------------------------------


def before(told: Told, store: Store, project: str, settings: Settings) -> dict[str, Any] | None:
    """What to say to the host; nothing where it is to go on as always."""
    if len(told.questions) < len(told.input["questions"]):
        return None  # what is no question is for the host to judge
    if settings.table("hooks").get("strict") is True:
        wrong = unfit(told.questions)
        if wrong:
            return decision("deny", wrong)
    return _preferred(told, store, project) or _routed(told, store, project, settings)


def _preferred(told: Told, store: Store, project: str) -> dict[str, Any] | None:
    """The answers, where a preference decides every question of the call."""
    policy = policy_of(store, project)
    verdicts = [policy.judge(question) for question in told.questions]
    if not all(verdict.decide for verdict in verdicts):
        return None
    answers = {}
    for question, verdict in zip(told.questions, verdicts, strict=True):
        state = kept(store, told, question, project, prefer=True)
        if state.status != "done" or state.result.get("codes") != [verdict.code]:
            return None
        answers[told.text(question)] = told.labels(question)[verdict.code]
    ids = ", ".join(question.id for question in told.questions)
    reason = f"Decided by the person's preference ({ids}); nobody was asked."
    output = allow(told, reason, answers)
    output["hookSpecificOutput"]["additionalContext"] = reason
    return output


def _routed(told: Told, store: Store, project: str, settings: Settings) -> dict[str, Any] | None:
    """The answers that a person gives in the inbox, where the settings send questions there."""
    if "route" not in settings.table("hooks"):
        return None
    from quandary.people import routing  # noqa: PLC0415 - not everybody wants that

    seconds = routing.seconds(settings)
    return routing.answered(told, store, project, seconds) if seconds is not None else None


def allow(told: Told, reason: str, answers: dict[str, str]) -> dict[str, Any]:
    """What answers the host's question without its form."""
    output = decision("allow", reason)
    output["hookSpecificOutput"]["updatedInput"] = {**told.input, "answers": answers}
    return output


def decision(word: str, reason: str) -> dict[str, Any]:
    """What is decided about the call, and why."""
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": word,
            "permissionDecisionReason": reason,
        }
    }


def unfit(questions: tuple[Question, ...]) -> str:
    """What keeps a person from answering these questions, and how to mend it."""
    texts = [question.text for question in questions]
    for question in questions:
        what = f"“{shorten(question.text, 80)}”"
        if texts.count(question.text) > 1:
            return f"{what} is asked twice in one call; give each question its own text."
        told = any(choice.description.strip() for choice in question.choices)
        if len(question.text.split()) < _FEWEST_WORDS and not told:
            return (
                f"{what} cannot be answered by itself: put one or two sentences of context into "
                "the question, and say with each option what it leads to."
            )
        listed = lettered(question.text)
        if listed > len(question.choices):
            return (
                f"{what} names {listed} options and offers {len(question.choices)}: no option may "
                "be dropped. Ask about them with `quandary split`, or in several questions."
            )
        for text in (question.text, *(f"{c.label} {c.description}" for c in question.choices)):
            try:
                require_filled(text, f"the question {what}")
            except ContextRequired as unfilled:
                return f"{unfilled}."
    return ""


def lettered(text: str) -> int:
    """How many options a text lists as A) B) C) or 1) 2) 3)."""
    marks = {found[1] for found in _LETTERED.finditer(text)}
    letters = next((n for n, letter in enumerate(_CODES) if letter not in marks), len(_CODES))
    numbers = next(n for n in range(1, 101) if str(n) not in marks) - 1
    return max(letters, numbers)


# -- after it was answered -------------------------------------------------------------------------


def after(told: Told, store: Store, project: str) -> list[State]:
    """Keep every question of the call, with what became of it.

    What an agent only relays is kept by the run of ours that asks it, and not a second time here.
    """
    from quandary.people import routing  # noqa: PLC0415 - it knows this module

    if routing.relayed(told, store, project) is not None:
        return []
    meant = response_of(told)
    states = []
    for question in told.questions:
        state = kept(store, told, question, project, prefer=False)
        answer = meant.to(question.key) if isinstance(meant, Reply) else None
        if answer is not None and not answer.blank:
            state = _settled(store, told, state, question, answer)
        elif state.status == "waiting":
            state = _given_up(store, state, meant if isinstance(meant, Outcome) else None)
        states.append(state)
    return states


def kept(
    store: Store,
    told: Told,
    question: Question,
    project: str,
    *,
    prefer: bool,
    ask: Ask | None = None,
    expires: datetime | None = None,
) -> State:
    """The record of a question; it is begun by whoever comes first."""
    if ask is None:
        context = question.text or question.header or "A question without words."
        ask = Ask(question.key, "transition", Preamble(context), (question,))
    name = told.name(question)
    return replay.begin(
        store,
        "question",
        {"ask": msgspec.to_builtins(ask), "session": told.session, "call": told.call},
        project=project,
        who="agent",
        through="hook",
        name=name,
        once=bool(name),
        prefer=prefer,
        expires=expires,
    )


def spelt(told: Told, question: Question, answer: Answer) -> str:
    """An answer as the host tells of it: labels as it spells them, or the person's own words."""
    labels = told.labels(question)
    words = [labels[code] for code in answer.picked if code in labels]
    own = answer.text if answer.picked else answer.raw or answer.text
    return ", ".join([*words, *([own.strip()] if own else [])])


def _settled(store: Store, told: Told, state: State, question: Question, meant: Answer) -> State:
    """The record with its answer, unless it has this very answer already."""
    known = answer_of(store, state.run)
    if known is not None:
        handed = {"answers": {told.text(question): spelt(told, question, known[1])}}
        again = response_of(told._replace(response=handed))
        same = again.to(question.key) if isinstance(again, Reply) else None
        if same is not None and (same.picked, same.text) == (meant.picked, meant.text):
            return state
    why = "answered in the form of the host" if state.status != "waiting" else ""
    return settle(store, state.run, Reply((meant,)), why=why, who="person", through="hook")


def _given_up(store: Store, state: State, outcome: Outcome | None) -> State:
    """The record of a question that the host went on without."""
    outcome = outcome or Outcome("dismissed", "the host's form came back without an answer to it")
    state = replay.note(store, state.run, outcome, to=state.key, who="agent", through="hook")
    if state.status == "waiting":
        why = f"the host went on without an answer ({outcome.kind})"
        state = replay.withdraw(store, state.run, why, who="agent", through="hook")
    return state


def response_of(told: Told) -> Reply | Outcome:
    """What came back from the host's form. Words that fit no question are kept in the outcome.

    A label is what the host spells; all else is kept in the person's own words, as the agent was
    told them.
    """
    try:
        return returns.parse_response(told.response, told.sheets, lambda *_: Reading("own-words"))
    except QuandaryError:
        response = told.response
        words = response if isinstance(response, str) else msgspec.json.encode(response).decode()
        return Outcome("error", f"what the host sent back answers no question of the call: {words}")
