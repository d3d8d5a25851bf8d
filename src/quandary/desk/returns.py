"""What a host sends back: the one reader, for replies and for hooks alike.

`parse` takes the response of a host's question tool in any of its shapes, our own JSON, or plain
text. What the person typed is read by the `read` that the caller gives; what was merely ticked
needs no reading.

What is an answer, and what is not:

- Only `{"action": "decline"}` is a decline. The sentences that hosts print about declining also
  appear when a box was closed, or never shown, so they count as dismissed and the question stays.
- After an idle time-out nothing in the reply counts, not even what was ticked before: nobody can
  tell it from what the host had ticked by itself.
- No input, `null`, an error, and a reply without a single answer are no answers.
- A text that does not say which of several questions it answers is refused, since any choice would
  be a guess; lines such as `1.3/2: …` say it. Of an advisory Ask, which is shown as text one
  question at a time, it answers the first.
- A bare Other beside ticked options opens what is behind it, where there is something; else it
  adds nothing to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from msgspec import ValidationError, convert
from msgspec.structs import replace

from quandary.desk import sheets
from quandary.desk.sheets import check_values, name_values, read_typed, take_values
from quandary.errors import AlreadyAnswered, ParseError, QuandaryError
from quandary.model.asks import Annotation, Answer, Outcome, Reply, read_annotations
from quandary.model.text import is_blank, take_once
from quandary.model.tree import OTHER

if TYPE_CHECKING:
    from quandary.desk.sheets import Sheet
    from quandary.model.asks import Ask, Question, Reading

    Read = Callable[[str, Question, Literal["strict", "plain"]], Reading]

_ENTRY = frozenset({"picked", "text", "values", "option_label", "free_text", "user_answer"})
_SHAPES = 'the tool\'s response, {"answers": [{"key", "picked", "text", "comment"}]}, or plain text'
LISTED = '"proposed": "CODE" beside the text of each answer'
_MARKED = re.compile(r"\[(?!(?:true|false|null)\])[^\W\d]\w*\]")  # a code, and no list of JSON
_LONE_HALF = re.compile(r"\\u[dD][89a-fA-F]")

NOTE = "user_note: "  # read: what Codex puts before the note in a list of answers

_SAID = (
    ("dismissed", r"\(?(?:the )?user (?:declined to answer|rejected tool use|did not answer)\b"),
    ("dismissed", r"the user doesn't want to proceed with this tool use\b"),
    ("dismissed", r"the user wants to clarify these questions\b"),
    ("dismissed", r"\[(?:user dismissed|request interrupted by user)\b"),
    ("dismissed", r"request_user_input was cancelled\b|aborted by user after [\d.]+s\Z"),
    ("idle", r"no response after \d+ ?(?:m?s|sec|min)\w*\b"),
    ("unavailable", r"request_user_input is (?:unavailable|not supported)\b"),
    ("unavailable", r"cannot ask user questions in non-interactive mode\b"),
    ("error", r"\[tool result missing due to internal error\]\Z"),
    ("error", r"<tool_use_error>|InputValidationError\b"),
)

_ANSWERED = re.compile(
    r"(?:your questions have been answered|"
    r"(?:the )?user (?:has )?answered(?: your questions)?):\s*",
    re.IGNORECASE,
)
_RESPONDED = re.compile(r"the user responded:\s*", re.IGNORECASE)
_CLOSINGS = ("You can now continue", "Read the answers carefully")
_SEGMENT = (
    r'(?s)(?:"(?P<value>.*?)"|\(no option selected\))'
    r"(?: selected preview:\n.*?)?(?: (?:user )?notes: (?P<notes>.*))?"
)


def parse(
    data: bytes | str | dict[str, Any], ask: Ask, read: Read, *, as_text: bool = False
) -> Reply | Outcome:
    """What a reply to an Ask means; `read(text, question, mode)` reads what was typed. The mode is
    plain where the question was shown as text, as an advisory one always is: its choices are
    numbered, and people reply in words. For a form it is strict.
    """
    try:
        text = data.decode() if isinstance(data, bytes) else data
        if isinstance(text, str):
            text = text.removeprefix("\ufeff")
            text.encode()
    except UnicodeError:
        raise ParseError("the reply is not UTF-8 text") from None
    if isinstance(text, dict) and (plain := _read_codes(text, ask)):
        return plain
    as_text = as_text or ask.kind == "advisory"
    return _ReplyReader(sheets.make_sheets(ask), read, as_text=as_text).parse(text)


def _read_codes(data: dict[str, Any], ask: Ask) -> Reply | None:
    """Our own form with one code for each question and nothing else, as most programs send it."""
    entries, found = data.get("answers"), dict[str, Answer]()
    if len(data) > 1 or not isinstance(entries, list):
        return None
    for entry in entries:
        told = entry.items() if isinstance(entry, dict) else ()
        said = {name: value for name, value in told if value not in (None, {}, [])}
        picked, key = said.get("picked"), said.get("key")
        question = ask.question(key) if isinstance(key, str) and key not in found else None
        if said.keys() != {"key", "picked"} or question is None or question.fields:
            return None
        if not isinstance(picked, list) or picked not in [[one.code] for one in question.every]:
            return None
        found[question.key] = Answer(question.key, tuple(picked))
    return Reply(tuple(found[q.key] for q in ask.questions if q.key in found)) if found else None


def parse_response(response: object, shown: Sequence[Sheet], read: Read) -> Reply | Outcome:
    """What a host's response means to its own questions, behind whose Other there is no menu."""
    reader = _ReplyReader(shown, read)
    reader.others = ()
    return reader.parse(response)


class _ReplyReader:
    """The questions as they were shown, and the answers entered so far."""

    def __init__(self, shown: Sequence[Sheet], read: Read, *, as_text: bool = False) -> None:
        self.sheets = self.order = shown
        self.others = sheets.OTHERS
        self.read = read
        self.as_text = as_text
        self.answers: dict[str, Answer] = {}

    def parse(self, data: Any) -> Reply | Outcome:  # noqa: ANN401 - any JSON
        """Whatever it is, within what the interpreter can take."""
        try:
            return self.parse_data(data)
        except RecursionError:
            raise ParseError("the reply is nested too deeply to be read") from None

    def parse_text(self, text: str) -> Reply | Outcome:
        """JSON, a host's own sentence, or what the person typed."""
        text = text.strip()
        if is_blank(text) or text == "null":
            return Outcome("error", "nothing came back")
        if outcome := parse_refusal(text):
            return outcome
        if answers := parse_sentence(text, [sheet.text for sheet in self.sheets]):
            return self.parse_data(answers)
        if text[0] in "{[" and not _MARKED.match(text):
            return self.parse_data(load_json(text))
        if text[0] == '"':
            import json  # noqa: PLC0415 - not every reply is JSON

            with suppress(ValueError):
                quoted: str = json.loads(text)
                quoted.encode()
                return self.parse_text(quoted)
        return self.parse_words(text)

    def parse_data(self, data: Any) -> Reply | Outcome:  # noqa: ANN401 - any JSON
        """Any JSON document that a host or a script sends."""
        if isinstance(data, str):
            return self.parse_text(data)
        if isinstance(data, list):
            return self._parse_list(data)
        if data is None or data == {}:
            return Outcome("error", "nothing came back")
        if isinstance(data, dict):
            return find_refusal(data) or self._parse_object(data)
        raise ParseError(f"the reply is {kind_of(data)}; send {_SHAPES}")

    def _parse_list(self, data: list[Any], *, blocks: bool = False) -> Reply | Outcome:
        """Answers, or blocks of text; below `content`, a block need not say that it is one."""
        kinds = ("text", None) if blocks else ("text",)
        if data and all(isinstance(b, dict) and b.get("type") in kinds for b in data):
            return self.parse_text("\n".join(text_of(b.get("text"), "text") for b in data))
        self.enter_list(data)
        return self.collect()

    def _parse_object(self, data: dict[str, Any]) -> Reply | Outcome:
        self._check_echo(data.get("questions"))
        if response := text_of(data.get("response"), "response"):
            return self.parse_words(response)
        answers = data.get("answers")
        if answers is None and data.get("action") == "accept":
            answers = data.get("content")
        if isinstance(answers, dict):
            self.enter_map(answers)
        elif isinstance(answers, list):
            self.enter_list(answers)
        elif answers is not None:
            raise ParseError(f"answers is {kind_of(answers)}; it is an object or a list")
        elif not data.keys() & {"answers", "response", "annotations"}:
            return self._parse_bare(data)
        self._annotate(data.get("annotations"))
        return self.collect()

    def _parse_bare(self, data: dict[str, Any]) -> Reply | Outcome:
        """An object without `answers`: the questions with what was said to each, or one entry."""
        questions = data.get("questions")
        if isinstance(questions, list):
            told = ("question", "user_answer")
            self.enter_list([{name: q.get(name) for name in told} for q in questions])
        elif data.keys() & _ENTRY:
            self.enter_list([data])
        elif isinstance(data.get("content"), list):
            return self._parse_list(data["content"], blocks=True)
        elif isinstance(data.get("content"), str):
            return self.parse_text(data["content"])
        elif any(self.find_sheet(name) for name in data):
            self.enter_map(data)
        elif values := name_values(self.order[0].question, data):
            self.enter_list([{"values": values}])
        else:
            raise ParseError(f"the reply is JSON of no known shape; send {_SHAPES}")
        return self.collect()

    def _check_echo(self, questions: Any) -> None:  # noqa: ANN401 - any JSON
        """A host repeats what it asked, and that has to be what waits."""
        if questions is None:
            return
        if not isinstance(questions, list) or not all(isinstance(q, dict) for q in questions):
            raise ParseError("questions is a list of objects")
        texts = [q["question"] for q in questions if isinstance(q.get("question"), str)]
        order = [self.require_sheet(text) for text in texts]
        if len({sheet.question.key for sheet in order}) < len(order):
            raise ParseError("the reply repeats one question; send each of them once")
        if len(texts) == len(questions):
            self.order = order
        elif len(questions) > len(self.sheets):
            raise self._too_long(len(questions))

    def _annotate(self, annotations: Any) -> None:  # noqa: ANN401 - any JSON
        """A note stands beside an answer; alone, it is what the person has to say."""
        if annotations is None:
            return
        if not isinstance(annotations, dict):
            raise ParseError(f"annotations is {kind_of(annotations)}; it is an object")
        for name, annotation in annotations.items():
            notes = annotation.get("notes") if isinstance(annotation, dict) else None
            if note := text_of(notes, "notes"):
                sheet = self.require_sheet(name)
                key = sheet.question.key
                self.answers[key] = self.add_note(sheet, self.answers.get(key), note)

    def add_note(self, sheet: Sheet, answer: Answer | None, note: str) -> Answer:
        if answer is None or answer.blank:
            return self.read_words(sheet, note)
        return _add_comment(answer, note)

    def enter_map(self, answers: dict[str, Any]) -> None:
        """Answers by the text or the key of their question."""
        for name, value in answers.items():
            sheet = self.require_sheet(name)
            self.enter(sheet, self.read_value(sheet, value))

    def enter_list(self, entries: list[Any]) -> None:
        """Answers by their keys, or in the order of the questions."""
        for number, entry in enumerate(entries):
            told = entry if isinstance(entry, dict) else {"user_answer": entry}
            name = text_of(told.get("key"), "key") or text_of(told.get("question"), "question")
            if not name and number >= len(self.order):
                raise self._too_long(len(entries))
            sheet = self.require_sheet(name) if name else self.order[number]
            answer = self.read_entry(sheet, told)
            if answer and told.get("proposed") is not None:
                answer = add_proposal(answer, sheet.question, told["proposed"])
            self.enter(sheet, answer)

    def parse_words(self, text: str) -> Reply | Outcome:
        """What was typed, for the only question or for those that its lines name."""
        marked = self._split_by_question(text)
        if not marked and (len(self.sheets) == 1 or self.as_text):
            marked = [(self.sheets[0], text)]
        if not marked:
            names = self._names()
            example = min((n for n in names if names[n] is self.sheets[0]), key=len, default="1")
            raise QuandaryError(
                f"{len(self.sheets)} questions wait; begin a line for each with its name, such as "
                f"“{example}: …”, or answer one of them with --to"
            )
        for sheet, words in marked:
            self.enter(sheet, self.read_text(sheet, words, typed=True))
        return self.collect()

    def _split_by_question(self, text: str) -> list[tuple[Sheet, str]]:
        """The lines of a reply that say which question they answer, if the first one does."""
        names = {} if self.sheets[0].question.value and not self.sheets[1:] else self._names()
        listed = "|".join(f"({re.escape(name)})" for name in names)
        # The full stop has to stand apart, or "1.5 hours" would be about question 1.
        mark = rf"^[ \t]*(?:{listed})(?:[ \t]*[:)=]|\.(?=\s))[ \t]*"
        marks = list(re.finditer(mark, text, re.IGNORECASE | re.MULTILINE)) if names else []
        if not marks or text[: marks[0].start()].strip():
            return []
        ends = [*(found.start() for found in marks[1:]), len(text)]
        found_in, pairs = [*names.values()], zip(marks, ends, strict=True)
        return [(found_in[(m.lastindex or 1) - 1], text[m.end() : end].strip()) for m, end in pairs]

    def _names(self) -> dict[str, Sheet]:
        """What a line can begin with: the item's id, title or header, the key, or the number.
        Numbers count only where they cannot be taken for ids; to a single question they would
        rather be an option's, and a title could be one. A name of two questions is the name of
        neither, nor is a word that an option has. The longest come first.
        """
        several = len(self.sheets) > 1
        items = {sheet.question.item for sheet in self.sheets}
        taken = {"q"}
        names: dict[str, list[Sheet]] = {}
        for sheet in self.sheets:
            question = sheet.question
            for choice in question.options:
                taken |= {choice.code.casefold(), choice.label.strip().casefold()}
            called = {question.item, question.header, question.key.rstrip(":")}
            called |= {question.title} if several else set()
            for name in {name.strip() for name in called} - {""}:
                if not name.isdecimal() or (several and len(items) > 1):
                    names.setdefault(name, []).append(sheet)
        if several and not any(name.isdecimal() for name in names):
            names |= {str(number): [sheet] for number, sheet in enumerate(self.sheets, 1)}
        clear = (n for n, named in names.items() if len(named) == 1 and n.casefold() not in taken)
        return {name: names[name][0] for name in sorted(clear, key=lambda n: (-len(n), n))}

    def read_entry(self, sheet: Sheet, entry: dict[str, Any]) -> Answer | None:
        """An entry of a list of answers, ours or a host's."""
        comment = text_of(entry.get("comment"), "comment")
        told = {name for name in entry if name not in ("key", "comment", "proposed")}
        if told & {"picked", "text", "values", "annotations"} or (entry.get("key") and not told):
            return _add_comment(self.read_own_entry(sheet, entry), comment)
        if "user_answer" in entry:
            answer = self.read_value(sheet, entry["user_answer"])
            return answer and _add_comment(answer, comment)
        if not entry.keys() & _ENTRY:
            raise ParseError(f"an answer to {sheet.question.key} says nothing; send {_SHAPES}")
        label, typed = entry.get("option_label"), text_of(entry.get("free_text"), "free_text")
        beside = typed and isinstance(label, str) and sheets.is_other(label)
        chosen = self.read_value(sheet, None if beside else label)
        if not typed:
            blank = chosen is None and entry.get("free_text") is not None
            return Answer(sheet.question.key) if blank else chosen
        if sheet.question.multi and chosen is not None and not chosen.blank:
            return self.join_picks(sheet, chosen.picked, typed)
        return self.add_note(sheet, chosen, typed)

    def read_own_entry(self, sheet: Sheet, entry: dict[str, Any]) -> Answer:
        """Our own form: codes, or what stands in the Other line; with neither, Other is blank."""
        question = sheet.question
        picked = [] if entry.get("picked") is None else entry["picked"]
        if not isinstance(picked, list) or not all(isinstance(code, str) for code in picked):
            raise ParseError(f'picked for {question.key} is a list of codes, such as ["OK"]')
        codes = [_code(question, given) for given in picked]
        typed = text_of(entry.get("text"), "text")
        values = {} if entry.get("values") is None else entry["values"]
        if not isinstance(values, dict):
            raise ParseError(f'values for {question.key} is an object, such as {{"name": "text"}}')
        try:
            remarks = convert(entry.get("annotations") or (), tuple[Annotation, ...])
        except ValidationError:
            example = '{"file": "plan.md", "line": 12, "text": "too short"}'
            raise ParseError(f"annotations is a list of remarks, such as {example}") from None
        beside: dict[str, Any] = {"values": values, "annotations": remarks}
        if (values or remarks) and not codes and entry.get("text") is None:
            return Answer(question.key, prefix="fill", **beside)
        if not question.multi and len({*codes, *(("",) if typed else ())}) > 1:
            raise QuandaryError(
                f"{question.key} takes one answer: a code in picked, or words in text; "
                "a remark beside a pick goes into comment"
            )
        if question.value:
            chosen, words = tuple(filter(None, codes)), typed or None
            return Answer(question.key, chosen, words, raw=words)
        answer = self.join_picks(sheet, codes, typed)
        beside["values"] = answer.values | values
        beside["annotations"] = (*answer.annotations, *remarks)
        return replace(answer, **beside) if values or remarks else answer

    def read_value(self, sheet: Sheet, value: Any) -> Answer | None:  # noqa: ANN401 - any JSON
        """What a host gives as the answer: a label, text, several of them, or nothing."""
        if value is None:
            return None
        if isinstance(value, str):
            return self.read_text(sheet, value)
        noted = isinstance(value, dict) and isinstance(value.get("answers"), list)
        values = value["answers"] if noted else value
        if not isinstance(values, list) or not all(isinstance(said, str) for said in values):
            raise ParseError(f"the answer to {sheet.question.key} is {kind_of(value)}, not text")
        if not noted:
            return self.read_values(sheet, values)
        notes = [said.removeprefix(NOTE) for said in values if said.startswith(NOTE)]
        chosen = [said for said in values if not said.startswith(NOTE)]
        answer = self.read_values(sheet, chosen) if chosen else None
        note = "\n".join(notes).strip()
        return self.add_note(sheet, answer, note) if note else answer

    def read_values(self, sheet: Sheet, values: list[str]) -> Answer | None:
        """Several labels, and among them perhaps what was typed."""
        if len(values) <= 1:
            return self.read_text(sheet, values[0] if values else "")
        if not sheet.question.multi:
            raise QuandaryError(f"{sheet.question.key} takes one answer and got {len(values)}")
        codes = sheet.codes
        told = [value.strip() for value in values]
        chosen = [codes.get(v, "") for v in told if v in codes or self.is_other(v)]
        typed = [v for v in told if v not in codes and not self.is_other(v)]
        return self.join_picks(sheet, chosen, ", ".join(typed))

    def read_text(self, sheet: Sheet, text: str, *, typed: bool = False) -> Answer | None:
        """A value that a host gives, or a line that was typed. In a multi-select value labels stand
        first, joined with commas, and what was typed last; a typed line is either all labels or
        words to be read.
        """
        text = text.strip()
        codes = sheet.codes
        if text in sheets.NOTHING_CHOSEN:
            return None
        if sheet.question.multi and text not in codes:
            labels, rest = sheets.split_labels(text, [*codes, *self.others])
            if labels and not (typed and rest):
                return self.join_picks(sheet, [codes.get(name, "") for name in labels], rest)
        return self.read_words(sheet, text, is_line=typed and self.as_text)

    def join_picks(self, sheet: Sheet, picked: Iterable[str], text: str) -> Answer:
        """Ticked options, and what was typed; "" is Other, which takes the text or is the text."""
        answer, codes = self.read_words(sheet, text), tuple(dict.fromkeys(picked))
        if "" not in codes and is_blank(text):
            return replace(answer, picked=codes)
        return sheets.join_ticks(sheet.question, [code for code in codes if code], answer)

    def read_words(self, sheet: Sheet, text: str, *, is_line: bool = False) -> Answer:
        """A label as shown is that choice, a host's "Other" is left blank, and the rest is read."""
        text = text.strip()
        key, codes = sheet.question.key, sheet.codes
        if text in codes:
            return Answer(key, picked=(codes[text],)) if codes[text] else Answer(key)
        is_named = is_line and any(sheets.is_other(c.label) for c in sheet.question.every)
        if not text or (self.is_other(text) and not (sheet.question.value or is_named)):
            return Answer(key)
        mode: Literal["strict", "plain"] = "plain" if self.as_text else "strict"
        return read_typed(sheet.question, text, lambda said: self._read(sheet, said, mode))

    def _read(self, sheet: Sheet, text: str, mode: Literal["strict", "plain"]) -> Answer:
        if sheet.codes.get(text):  # beside values
            return Answer(sheet.question.key, picked=(sheet.codes[text],))
        return self.read(text, sheet.question, mode).answer(sheet.question.key, text)

    def is_other(self, text: str) -> bool:
        """Whether it is a host's own word for Other, with nothing said beside it."""
        return bool(self.others) and sheets.is_other(text)

    def find_sheet(self, name: str) -> Sheet | None:
        line = " ".join(name.split()).removesuffix(sheets.SEVERAL).rstrip()
        alike = [sheet for sheet in self.sheets if " ".join(sheet.text.split()) == line]
        exact = [sheet for sheet in self.sheets if name in (sheet.question.key, sheet.text)]
        return exact[0] if exact else alike[0] if len(alike) == 1 else None

    def require_sheet(self, name: str) -> Sheet:
        """The question of that text or key; any other has been answered before."""
        if (found := self.find_sheet(name)) is None:
            waiting = ", ".join(f"{s.question.key} “{sheets.shorten(s.text)}”" for s in self.sheets)
            told = f"“{sheets.shorten(name)}” does not wait now; what waits is {waiting}"
            raise AlreadyAnswered(f"already answered: {told}")
        return found

    def enter(self, sheet: Sheet, answer: Answer | None) -> None:
        """Keep an answer; a second one to the same question is refused."""
        key = sheet.question.key
        if answer is not None:
            if key in self.answers:
                raise QuandaryError(f"{key} is answered twice in one reply; send one answer")
            self.answers[key] = answer

    def collect(self) -> Reply | Outcome:
        """The answers in the order of the questions."""
        asked = (sheet.question for sheet in self.sheets)
        found = tuple(_carry(q, self.answers[q.key]) for q in asked if q.key in self.answers)
        return Reply(found) if found else Outcome("dismissed", "no question was answered")

    def _too_long(self, count: int) -> QuandaryError:
        waits = f"{len(self.sheets)} questions wait" if self.sheets[1:] else "one question waits"
        return QuandaryError(f"{count} answers came and {waits}")


def _carry(question: Question, answer: Answer) -> Answer:
    """The answer with the values in it, also those in a note beside it, once they are checked."""
    if answer.comment and (question.fields or "@" in answer.comment):
        remarks, comment = read_annotations(answer.comment)
        noted, comment = take_values(question, comment)
        found: dict[str, Any] = {"values": answer.values | noted, "comment": comment or None}
        answer = replace(answer, **found, annotations=(*answer.annotations, *remarks))
    return check_values(question, answer) if question.fields or answer.values else answer


def _code(question: Question, given: str) -> str:
    """The code of an option, in full or without what leads to it; "" for Other itself."""
    offered = [choice.code for choice in question.every]
    behind = [code for code in offered if code.rpartition("/")[2] == given]
    if given in offered or len(behind) == 1:
        return given if given in offered else behind[0]
    if given in {OTHER, question.behind_other or OTHER}:
        return ""
    raise QuandaryError(
        f"{question.key} has no option {sheets.shorten(given)}; there are {', '.join(offered)}"
    )


def add_proposal(answer: Answer, question: Question, given: Any) -> Answer:  # noqa: ANN401 - any JSON
    """The answer with what its sender thinks that the words in it mean: an option, or several. An
    option is named by its code or, as agents see only that, by its label. What our reader
    understood needs no proposal, and gets none. What it sees ruled out, made depend on something or
    asked about is not proposed.
    """
    labels = {name: c.code for c in question.options for name in (c.label, c.shown)}
    names = given
    if isinstance(given, str):
        names = [given] if given.strip() in labels else given.split(",")
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise ParseError(f'proposed for {question.key} is the code of an option, such as "OK"')
    found = (labels.get(name.strip()) or _code(question, name.strip()) for name in names)
    codes = tuple(dict.fromkeys(found))
    # A Yes, a No, further pages and the levels above are no options: a proposal says what it means.
    known = [c.code for c in (question.named if question.confirms else question.options)]
    if not {*codes} <= {*known} or (len(codes) > 1 and not question.multi):
        raise QuandaryError(f"propose one option for {question.key}, by its code")
    if not answer.text:
        return answer
    from quandary.reading.sentences import Sentences  # noqa: PLC0415 - not every reply is read

    said = Sentences(answer.text, question)
    barred = {code: why for code in codes if (why := said.find_veto(code))}
    return replace(answer, proposed=codes, barred=barred)


def _add_comment(answer: Answer, comment: str) -> Answer:
    """The answer with what was said beside it."""
    said = "\n".join(filter(None, (answer.comment, comment)))
    return replace(answer, comment=said) if comment else answer


def parse_refusal(text: str) -> Outcome | None:
    """What a host says in words of its own when there is no answer."""
    if text.startswith("{"):  # no sentence begins like that, and most replies do
        return None
    for kind, pattern in _SAID:
        if re.match(pattern, text, re.IGNORECASE):
            return Outcome(kind, sheets.shorten(text))  # type: ignore[arg-type]
    return None


def _words_in(told: Any) -> str:  # noqa: ANN401 - any JSON
    """A text, the message of an object, or the first of a list of them."""
    told = told[0] if isinstance(told, list) and told else told
    told = told.get("message") or told.get("text") if isinstance(told, dict) else told
    return told.strip() if isinstance(told, str) else ""


def find_refusal(data: dict[str, Any]) -> Outcome | None:
    """What an object says where there is no answer in it: an error, an idle time-out, a refusal."""
    if data.get("is_error") is True or data.get("isError") is True or data.get("error"):
        details = (data.get(name) for name in ("error", "message", "content", "result"))
        detail = next(filter(None, map(_words_in, details)), "")
        return parse_refusal(detail) or Outcome("error", sheets.shorten(detail))
    if data.get("afkTimeoutMs"):
        return Outcome("idle", f"nobody answered in {sheets.shorten(str(data['afkTimeoutMs']))} ms")
    action = data.get("action")
    if action == "decline":
        return Outcome("declined")
    gone = ("cancelled", "canceled", "dismissed")
    if action == "cancel" or any(data.get(name) is True for name in gone):
        return Outcome("dismissed")
    if action not in (None, "accept"):
        raise ParseError("action is accept, decline or cancel")
    return None


def parse_sentence(text: str, questions: Iterable[str]) -> dict[str, Any] | None:
    """The answers that a host tells in a sentence, `… answered: "Question"="Label"`, as JSON. This
    is the form in which an agent sees what its tool gave back. The texts of the questions are
    known, so that quotation marks inside them and inside the answers do no harm.
    """
    if responded := _RESPONDED.match(text):
        return {"response": text[responded.end() :]}
    if not (answered := _ANSWERED.match(text)):
        return None
    body = text[answered.end() :]
    cuts = [place for closing in _CLOSINGS if (place := body.rfind(closing)) >= 0]
    body = (body[: max(cuts)] if cuts else body).strip().removesuffix(".")
    names = "|".join(re.escape(text) for text in sorted(questions, key=len, reverse=True))
    marks = list(re.finditer(rf'(?:\A|(?<=, ))"({names})"=', body))
    answers: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    if not body:
        return {"answers": answers}
    if not marks or marks[0].start() > 0:
        # A question that is not among those that wait; who looks it up will say so.
        return {"answers": {body.partition('"=')[0].removeprefix('"'): ""}}
    ends = [*(mark.start() for mark in marks[1:]), len(body)]
    for mark, end in zip(marks, ends, strict=True):
        found = re.fullmatch(_SEGMENT, body[mark.end() : end].removesuffix(", "))
        # A question that does not wait, told between two that do, ends up inside an answer.
        hidden = '"=' in (found["value"] or "").partition('", "')[2] if found else True
        if not found or hidden or mark[1] in answers:
            raise QuandaryError("the answers are ambiguous; pipe the tool's JSON instead")
        answers[mark[1]] = found["value"]
        if found["notes"]:
            notes[mark[1]] = {"notes": found["notes"]}
    return {"answers": answers, "annotations": notes}


def load_json(text: str) -> Any:  # noqa: ANN401 - any JSON
    """The JSON document that a text is; nothing in it is said twice."""
    import json  # noqa: PLC0415 - not every reply is JSON

    try:
        value = json.loads(text, object_pairs_hook=take_once)
        if _LONE_HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as problem:
        raise ParseError(
            f"the reply is no JSON at line {problem.lineno}, column {problem.colno} "
            f"({problem.msg}); "
            'words that begin with a bracket can be sent as {"response": "…"}'
        ) from None
    except ValueError as problem:
        reason = "half a character" if isinstance(problem, UnicodeError) else "too long a number"
        raise ParseError(f"the reply holds {reason}") from None
    return value


def text_of(value: Any, name: str) -> str:  # noqa: ANN401 - any JSON
    """A text without the space around it; nothing is an empty one."""
    if value is None or isinstance(value, str):
        return (value or "").strip()
    raise ParseError(f"{name} is {kind_of(value)}; it is text")


def kind_of(value: object) -> str:
    """What a JSON value is, for telling the sender."""
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value"}
    return "nothing" if value is None else names.get(type(value), "a number")
