"""What comes back: from people, from hosts, from agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

import walks
from fuzz.target import Target, hold, shaped, text_of
from quandary.agents.calling import unwrap
from quandary.desk import returns
from quandary.doors.hosts import hooks
from quandary.errors import QuandaryError
from quandary.flows.responses import read_response
from quandary.journal import runs
from quandary.journal.entries import Answered
from quandary.journal.sqlite import SqliteStore
from quandary.journal.verify import verify
from quandary.model.asks import Answer, Ask, Choice, Kind, Outcome, Preamble, Question, Reply
from quandary.model.calls import Decision, Output
from quandary.model.tree import Extra
from quandary.reading import read
from quandary.settings import Part, Settings
from quandary.settings.agents import known_agents

if TYPE_CHECKING:
    from quandary.reading import Mode

# -- people ------------------------------------------------------------------------------------

_LABELS = (
    ("OK Looks good", "INF More info needed", "RWK Rework this step"),
    ("A Apple, pear", "B Apple", "C pear", "D Pear, apple"),
    ("YES Yes, deploy", "NO No", "WAIT Not yet"),
    ("ALL All of them", "NONE None of these", "SOME Some, but not all"),
    ("V1 Version 1", "V2 Version 2", "V10 Version 10"),
)


def _question(number: int, *, multi: bool, key: str = "1:") -> Question:
    choices = tuple(
        Choice(code, label, f"What {label.lower()} leads to.")
        for code, _, label in (one.partition(" ") for one in _LABELS[number % len(_LABELS)])
    )
    return Question(
        key,
        f"{key} Step",
        f"What becomes of {key}?",
        choices,
        multi=multi,
        item="1",
        named=(Choice("OTH/CHG", "Change approach"), Choice("OTH/REM", "Remove from plan")),
        menu=True,
        extras=(Extra("A", "Run the tests first"),) if number % 2 else (),
        keywords={"depth": "DEPTH"},
    )


def _replies(data: bytes) -> None:
    """A pick names what was offered, and says nothing that nobody typed."""
    how, text = data[:1] or b"\0", text_of(data[1:])
    question = _question(how[0], multi=bool(how[0] & 64))
    mode: Mode = "plain" if how[0] & 128 else "strict"
    found = read(text, question, mode)
    offered = {choice.code for choice in (*question.choices, *question.named)}
    hold(set(found.codes) <= offered, f"{found.codes} were not all offered")
    hold(found.kind != "pick" or bool(found.codes), "a pick of nothing")
    hold(found.kind != "pick" or question.multi or len(found.codes) == 1, "several were picked")
    named = "ot" in text.casefold() or any(sign.isdigit() for sign in text)  # Other has a number
    hold(found.kind != "blank" or not text.strip() or named, "words were lost")
    hold(found.kind != "ambiguous" or len(found.codes) > 1, "one option is not ambiguous")
    hold(found.comment is None or found.comment in text, "a remark that nobody made")


def _ask(how: int) -> Ask:
    questions = tuple(
        _question(how + n, multi=bool(how & 64 >> n), key=f"{n + 1}:") for n in range(1 + how % 3)
    )
    kind: Kind = "advisory" if how & 128 else "transition"
    return Ask(questions[0].key, kind, Preamble("Something is to be decided."), questions)


def _relayed(data: bytes) -> None:
    """Any bytes are answers to what was asked, no answer, or refused."""
    how = data[0] if data else 0
    ask = _ask(how)
    meant = returns.parse(shaped(data[1:], _RELAY), ask, read, as_text=bool(how & 32))
    if isinstance(meant, Outcome):
        return
    _fitting(meant, ask)


def _fitting(reply: Reply, ask: Ask) -> None:
    hold(bool(reply.answers), "a reply without an answer")
    keys = [answer.key for answer in reply.answers]
    hold(len(set(keys)) == len(keys), "one question was answered twice")
    for answer in reply.answers:
        question = ask.question(answer.key)
        hold(question is not None, f"{answer.key} was not asked")
        if question is not None:
            _offered(answer, question)


def _offered(answer: Answer, question: Question) -> None:
    offered = {choice.code for choice in (*question.choices, *question.named)}
    offered |= {code.partition("/")[0] for code in offered}
    hold(set(answer.picked) <= offered, f"{answer.picked} were not all offered")
    hold(question.multi or len(answer.picked) <= 1, "several were picked")


_RELAY = (
    *("answers", "questions", "question", "annotations", "notes", "response", "key", "picked"),
    *("text", "comment", "option_label", "free_text", "user_answer", "afkTimeoutMs", "is_error"),
    *("error", "action", "accept", "decline", "content", "type", "1:", "2:", "3:", "OK", "INF"),
    *("What becomes of 1:?", "What becomes of 2:?", "Looks good", "Apple", "pear", "Other", "OTH"),
    *(
        "OTH/CHG",
        "None of the above",
        "label",
        "id",
        "header",
        "multiSelect",
        "options",
        "user_note:",
    ),
)


# -- hosts -------------------------------------------------------------------------------------

_HOOKED = (
    *("tool_name", "AskUserQuestion", "tool_input", "questions", "question", "header", "options"),
    *("label", "description", "multiSelect", "tool_response", "answers", "annotations", "notes"),
    *("session_id", "tool_use_id", "id", "question_id", "s1", "t1", "Ship it now, or wait?", "Yes"),
    *("No (recommended)", "response", "is_error", "cwd", "preview", "afkTimeoutMs", "Other"),
)
_STORE: dict[str, SqliteStore] = {}


def _store(name: str) -> SqliteStore:
    """A store of a target's own, made anew before it grows large."""
    found = _STORE.get(name)
    if found is not None and found.newest() > 400:
        report = verify(found)
        hold(report.ok, f"the store does not verify: {report.problems[:2]}")
        found.close()
        found = None
    if found is None:
        found = _STORE[name] = SqliteStore(":memory:")
    return found


def _hooked(data: bytes) -> None:
    """A hook hears anything, keeps a record of each question, and nothing of what is none."""
    try:
        said = msgspec.json.decode(shaped(data[1:], _HOOKED))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    if data[0] & 1 and isinstance(said, dict):
        said = {"tool_name": "AskUserQuestion", "session_id": "s", **said}
    if data[0] & 2:
        said = {"tool_name": "AskUserQuestion", "tool_input": said, "tool_response": said}
    told = hooks.read_call(said)
    if told is None:
        return
    asked = all(question.text or question.choices for question in told.questions)
    hold(asked, "a question without words and without options")
    hooks.find_fault(told)
    store = _store("hook")
    strict = Settings(None, (Part("user", "", {"hooks": {"strict": bool(data[0] & 4)}}),))
    hooks.judge(told, store, "here", strict)
    states = hooks.record(told, store, "here")
    hold(len(states) == len(told.questions), "a question has no record")
    for state in states:
        hold(state.status != "waiting", "a record that waits for nobody")


# -- agents ------------------------------------------------------------------------------------

_ROUTES = (("yes", "no"), ("Ship it", "Not yet", "ship it!"), ("A", "B", "C", "a"), ("1", "2"))
_ANSWERS = (
    *('{"completed": true}', '"completed"', '"answer"', '"choices"', '"reasons"', '"comments"'),
    *('"secs_taken"', '"tokens_used"', '"fully_completed"', '"should_retry"', '"warnings"', "```"),
    *("```json\n", "\\u0022", "\\ud800", "[… 1,000 bytes left out …]", "NaN", "1e999", '"result"'),
    *(
        '{"type": "result", "result": "',
        '"item": {"type": "agent_message"',
        '"is_error": true',
        "[{",
    ),
)


def _responses(data: bytes) -> None:
    """A text is a response that was asked for, or it is said why not."""
    how, text = (data[0] if data else 0), text_of(data[1:])
    routes = _ROUTES[how % len(_ROUTES)]
    for expects in ("process", "decision", "validation"):
        heard = read_response(text, expects, routes)
        hold((heard.meaning is None) == bool(heard.problem), "neither a meaning nor a problem")
        if isinstance(heard.meaning, Decision):
            hold(heard.meaning.route in routes, f"{heard.meaning.route} is no way out")
        msgspec.json.encode(heard.meaning)
    agents = known_agents()
    said = unwrap(agents[how % len(agents)], text)
    hold(said.tokens is None or said.tokens >= 0, "tokens that were won")
    msgspec.json.encode(said)


def _walked(data: bytes) -> None:
    """Whatever an agent prints, a person's question is answered by nobody else."""
    how, text = (data[0] if data else 0), text_of(data[1:])
    store = _store("walk")
    state = walks.begin(store)
    if how & 1:
        state = walks.go(store, state)
    for _ in range(12):
        if not state.calls:
            break
        output = Output(state.calls[0].key, text=text, status=how & 2, tokens=how)
        state = walks.send(store, state, output)
    answered = store.entries(state.run, kinds=("answered",))
    bodies: list[Any] = [entry.read() for entry in answered]
    hold(not [body for body in bodies if isinstance(body, Answered)], "an agent answered")
    if state.ask is not None:
        hold(state.status == "waiting", "nobody answered, and it does not wait")
        try:
            runs.advance(
                store, state.run, Output(str(state.key), text=text), who="agent", through="x"
            )
        except QuandaryError:
            return
        hold(not store.entries(state.run, kinds=("answered",)), "an output became an answer")


def _replies_seeds() -> list[bytes]:
    texts = (
        *("OK", "the second one", "looks good, but rename it", "not 2", "both apple and pear"),
        *("? ", "Q: why", "!skip", "#tag", "@a.md", "+OK", "A.", "anything but the first", "1,2"),
    )
    return [bytes([how]) + text.encode() for text in texts for how in (0, 1, 64, 130, 195)]


def _relay_seeds() -> list[bytes]:
    texts = (
        '{"answers": {"What becomes of 1:?": "Looks good"}}',
        '{"answers": [{"key": "1:", "picked": ["OK"], "comment": "x"}]}',
        '{"questions": [{"question": "What becomes of 1:?", "user_answer": "Rework"}]}',
        '{"response": "the first"}',
        '{"answers": {}, "afkTimeoutMs": 60000}',
        '{"is_error": true}',
        "1: looks good\n2: apple",
        '[{"type": "text", "text": "hello"}]',
    )
    return [bytes([how, 0]) + text.encode() for text in texts for how in (0, 1, 66, 130)]


def _hook_seeds() -> list[bytes]:
    asked = {"question": "Ship it now, or wait?", "options": [{"label": "Yes"}, {"label": "No"}]}
    call = {
        "session_id": "s1",
        "tool_use_id": "t1",
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": [asked]},
        "tool_response": {"answers": {"Ship it now, or wait?": "Yes"}},
    }
    return [bytes([how, 0]) + msgspec.json.encode(call) for how in range(8)]


def _response_seeds() -> list[bytes]:
    texts = (
        '{"completed": true, "comments": "done", "tokens_used": 10}',
        'Well.\n```json\n{"answer": "yes", "reasons": "because"}\n```',
        '{"fully_completed": false, "should_retry": true, "warnings": ["no tests"]}',
        '{"type": "result", "result": "{\\"completed\\": true}", "usage": {"output_tokens": 3}}',
        '{"type":"item.completed","item":{"type":"agent_message","text":"{\\"answer\\":\\"no\\"}"}}',
    )
    return [bytes([how]) + text.encode() for text in texts for how in range(5)]


TARGETS = (
    Target(
        "replies", _replies, _replies_seeds, ("the first", "not ", "but ", "and ", "both", "OK")
    ),
    Target("relayed", _relayed, _relay_seeds, [f'"{word}"' for word in _RELAY], grows=False),
    Target("hook", _hooked, _hook_seeds, [f'"{word}"' for word in _HOOKED], grows=False),
    Target("responses", _responses, _response_seeds, _ANSWERS),
    Target("walked", _walked, _response_seeds, _ANSWERS, grows=False),
)
