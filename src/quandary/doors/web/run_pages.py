"""The page of a run as plain data: its question, its history, its chart or track.

The templates only lay it out.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from markupsafe import Markup
from msgspec.structs import replace

from quandary.desk import phases, timeline
from quandary.desk import reply as replies
from quandary.desk.begin import digest_of
from quandary.desk.drafts import BOTH, SEEN_FIRST, Draft
from quandary.desk.sheets import OWN_WORDS, WHICH, take_apart, tell_in_line, tell_question
from quandary.desk.state import outcome_lines
from quandary.desk.walks import PARKING, has_begun, is_handed_over, read_parked
from quandary.doors.web import prose
from quandary.doors.web.metrics import seconds_since
from quandary.errors import QuandaryError
from quandary.flows import wording
from quandary.flows.asking import PERSON
from quandary.journal import runs
from quandary.journal.entries import Began, Entry, read_beginning, tell_source
from quandary.journal.history import GivenAnswer, list_answers
from quandary.model.asks import MORE, Answer, Reply, read_annotations
from quandary.model.calls import HUMAN
from quandary.model.text import as_text, reveal
from quandary.model.text import cut as text_cut
from quandary.model.track import split
from quandary.model.tree import Tree

if TYPE_CHECKING:
    from quandary.doors.web.access import Fields, Site
    from quandary.formats.tracks import Passage
    from quandary.journal.store import Run, State, Store
    from quandary.model.asks import Annotation, Ask, Field, Note, Question
    from quandary.model.tree import Option
    from quandary.reports import Stop

    Levels = AbstractSet[frozenset[tuple[str, str, str]]]

MOST_EVENTS = 200
MOST_STOPS = 200
LONGEST, ROOM = 4_000, 60_000
"""As many signs of one text as a page shows, and of all that it lays out; `quandary log` and
`report` have them all."""
SIGNS = {"done": "✓", "current": "▶", "next": "→", "skipped": "↷", "not taken": "×", "ahead": "·"}


def tell_run(
    store: Store, state: State, entries: Sequence[Entry], *, under_way: bool
) -> dict[str, Any]:
    """A run from its beginning to where it stands; with what works, where somebody is at it."""
    events = list(timeline.events(store, state.run, entries))
    walk = _walk(store, state.run, under_way=under_way) if state.flow == "walk" else None
    return {
        "events": events[-MOST_EVENTS:],
        "earlier": max(len(events) - MOST_EVENTS, 0),
        "result": result(state) if walk is None else [],  # a walk's story says it all
        "walk": walk,
        "track": _track(store, state.run) if state.flow in phases.FLOWS else None,
    }


def cut(text: str) -> str:
    """As much of a text as a page shows."""
    return text if len(text) <= LONGEST else f"{text_cut(text, LONGEST)}… ({len(text):,} signs)"


def result(state: State) -> list[str]:
    """What came of a run, for a reader."""
    if state.status != "done" or not isinstance(state.result, dict):
        return [state.error] if state.error else []
    lines: list[str] = []
    with suppress(KeyError, TypeError, AttributeError):  # as some other version wrote it
        lines = outcome_lines(state.flow, state.result)
    return lines or [msgspec.json.encode(state.result).decode()]


def _walk(store: Store, run: str, *, under_way: bool) -> dict[str, Any] | None:
    """The story of a walk, for the template to tell with the words of reports."""
    from quandary import reports as words  # noqa: PLC0415 - only for charts
    from quandary.reports.html import picture  # noqa: PLC0415 - the same
    from quandary.reports.retelling import retell  # noqa: PLC0415 - the same

    try:
        story, chart = (found := retell(store, run)).story, found.chart
    except QuandaryError:
        return None  # what happened is told all the same, entry by entry
    pages = words.pages_of(chart, story) if chart is not None else []
    pictures = [
        (page.name or story.chart, Markup(drawn))  # noqa: S704 - it escapes what it shows
        for number, page in enumerate(pages, 1)
        if chart is not None and (drawn := picture(page, chart, story, f"page-{number}"))
    ]
    bodies: list[Any] = [entry.read() for entry in store.entries(run, kinds=("noted",))]
    starts = ["", *(body.at for body in bodies if getattr(body, "kind", "") == "started")]

    def working(stop: Stop) -> list[tuple[str, int]]:
        """Who is at work on a step, and for how many seconds."""
        return [
            (words.tell_request(exchange), round(seconds_since(max(exchange.asked, starts[-1]))))
            for exchange in stop.exchanges
            if under_way and not exchange.answered and exchange.agent != HUMAN
        ]

    # Whoever watches wants to see where it stands, and not where it once began.
    shown = story.stops[-MOST_STOPS:] if under_way else story.stops[:MOST_STOPS]
    told = {"words": words, "story": story, "pictures": pictures, "stops": shown}
    left_out = len(story.stops) - len(shown)
    return {**told, "left_out": left_out, "working": working, "lay": _lay_out(ROOM)}


def _lay_out(room: int) -> Callable[[str], Markup]:
    """Lays out what agents wrote, until there is no more room; the rest is shown as it is."""

    def lay(text: str) -> Markup:
        nonlocal room
        room -= len(text)
        if room < 0:
            return Markup("<pre tabindex=0 dir=auto>%s</pre>") % reveal(cut(text))
        return prose.render_any(text)

    return lay


def _track(store: Store, run: str) -> dict[str, Any] | None:
    """The track that a run is about as it stands now, and who let it go on from which phase."""
    from quandary.formats import tracks  # noqa: PLC0415 - only at gates

    folder = replies.arguments_of(store, run).get("folder")
    if not isinstance(folder, str):
        return None
    try:
        kept = tracks.load(folder)
    except QuandaryError:
        return None  # its folder is elsewhere, or gone
    shown = kept.history[-MOST_EVENTS:]
    history = [_tell_passage(store, folder, passage) for passage in shown]
    left = [(passage.phase if passage.finished else passage.source) or "" for passage in shown]
    both = zip(((split(phase) or ("",))[0] for phase in left), history, strict=True)
    passed = {label: told["who"] if told["journalled"] else "" for label, told in both}
    return {"track": kept.track, "passed": passed, "history": history, "signs": SIGNS}


def _tell_passage(store: Store, folder: str, passage: Passage) -> dict[str, Any]:
    """Who let it pass is the journal's word wherever it has one."""
    source, journalled = phases.who_let_pass(store, folder, passage)
    way = f"{passage.source} → {passage.phase}" if passage.source else passage.phase
    return {
        "at": passage.at,
        "way": f"{passage.phase} finished" if passage.finished else way,
        "who": tell_source(*source) or "somebody",
        "reason": str(passage.reason or ""),
        "journalled": journalled,
    }


class Resumption(NamedTuple):
    """How a run can be resumed, for its page."""

    text: str  # where it stands, and what can be done about it
    button: str = ""  # what the button says; there is none where nothing is to be done
    command: str = ""  # the command that does the same
    obstacle: str = ""  # why it cannot be done from here
    under_way: bool = False


_ANEW = Resumption(
    "A step failed. It can be retried, with all its attempts; what was done before it stays.",
    "Retry the step",
)
_FAILED = {
    "budget": Resumption(
        "It stopped because its budget is used up. It can resume with the same budget again.",
        "Resume with the same budget",
    ),
    "visits": Resumption(
        "A step was visited as often as allowed. It can resume with as many visits again.",
        "Resume with as many visits",
    ),
}
_GONE = (
    "It was interrupted: whoever ran it is gone. A call whose end nobody saw counts as an attempt."
)


def resumption(site: Site, row: Run, state: State, entries: Sequence[Entry]) -> Resumption | None:
    """How a run is resumed that does not wait for a person; nothing where it is over."""
    parks = row.flow in PARKING and row.waits != "agent"
    found = _stand_parked(site, row, entries) if parks else _stand(site, row, state)
    if found is None or not found.button:
        return found
    if row.flow != "walk":
        return found if found.command else found._replace(command=f"quandary next {row.id}")
    again = " --retry-failed" if state.status == "failed" else ""
    command = f"quandary walk --resume {row.id}{again}"
    obstacle = site.walks.obstacle(row) if site.walks else "This server resumes no runs."
    return found._replace(command=command, obstacle=obstacle)


def _stand(site: Site, row: Run, state: State) -> Resumption | None:
    if row.flow != "walk":
        at_it = row.waits == "agent" and is_under_way(site, row.id)
        read = Resumption("An agent reads the reply.", "" if at_it else "Resume", under_way=at_it)
        left = Resumption("An action was interrupted and has to be finished.", "Resume")
        return {"agent": read, "house": left}.get(row.waits or "")
    if state.status == "failed":
        result = state.result if isinstance(state.result, dict) else {}
        return _FAILED.get(str(result.get("used_up")), _ANEW)
    if state.status != "waiting" or row.waits == "person":
        return None
    if is_under_way(site, row.id):
        return Resumption("Agents are at work.", under_way=True)
    if site.walks is not None and site.walks.is_queued(row.id):
        return Resumption("It is in the queue of a fleet; a worker resumes it.")
    begun = has_begun(runs.OpenRun(site.store, row))
    return Resumption(
        _GONE if begun else "Agents are next, and nobody has called them yet.", "Resume"
    )


def _stand_parked(site: Site, row: Run, entries: Sequence[Entry]) -> Resumption | None:
    """How the session goes on that was parked with a run, unless it has its answer."""
    began, answered = entries[0].read(), row.waits == "house" or row.status in ("done", "declined")
    if not answered or not isinstance(began, Began):
        return None
    parked = read_parked(began, entries[0].read_matter().arguments or {})
    if is_under_way(site, row.id):
        return Resumption("Its session is being resumed.", under_way=True)
    if parked is None or is_handed_over(entries):
        return None
    obstacle = site.walks.obstacle(row) if site.walks else "This server resumes no sessions."
    why = f"{parked.obstacle}." if parked.obstacle else obstacle
    text = "It was asked by a session that is parked, and goes on with the answer."
    return Resumption(text, "Resume the session", f"quandary resume {row.id}", why)


def is_under_way(site: Site, run: str) -> bool:
    """Whether somebody walks a run at this moment."""
    if site.walks is not None:
        return site.walks.is_under_way(run)
    return site.store.is_locked(run)


def given(found: GivenAnswer) -> dict[str, str]:
    """An answer that can be changed, and what it is known by, so that no other one is."""
    said = timeline.answer_text(found.answer, found.question)
    asked = tell_question(found.ask, found.question)
    about = {"key": found.question.key, "question": " › ".join(filter(None, asked))}
    return about | {"answer": said, "seen": digest_of(said)}


def changeable(row: Run, entries: Sequence[Entry]) -> list[dict[str, str]]:
    """The answers of a run that can be changed from its page."""
    with suppress(QuandaryError):  # it can be shown, and not go on
        if row.status not in ("declined", "withdrawn"):
            return [given(found) for found in list_answers(row.id, entries)[1]]
    return []


COMMANDS = "egjkux"  # letters that are keys of every page
OTHER = "\N{WHITE CIRCLE}"  # what stands for Other in a form; no code looks like that
REMARKS = "remarks:"
LONGEST_TEXT = 10_000

REMARK_FORM = "“{}” is no remark on a line: write it as 12: what you think of line 12."
NOTHING_CHOSEN = "You changed a value: choose an option too."
TOO_LONG = f"The text is too long; at most {LONGEST_TEXT:,} characters are allowed."


def read_fields(ask: Ask, fields: Fields) -> tuple[Reply, dict[int, str]]:
    """The answers in a form, and what is wrong with its parts, by the number of the question."""
    answers: list[Answer] = []
    problems: dict[int, str] = {}
    for number, question in enumerate(ask.questions):
        problem, answer = _answer(ask, question, fields, number)
        if problem:
            problems[number] = problem
        elif answer is not None:
            answers.append(answer)
    remarks, rest = _read_remarks(fields)
    if rest:
        problems[0] = REMARK_FORM.format(rest)
    if remarks and not problems:
        answers = answers or [Answer(ask.questions[0].key, prefix="fill")]
        answers[0] = replace(answers[0], annotations=tuple(remarks))
    return Reply(tuple(answers)), problems


def _read_remarks(fields: Fields) -> tuple[list[Annotation], str]:
    """The remarks on lines in a form, and the first line that is none."""
    found, rest = [], ""
    for name, texts in fields.items():
        if name.startswith(REMARKS):
            more, left = read_annotations("\n".join(texts), name.removeprefix(REMARKS))
            found += more
            rest = rest or left.partition("\n")[0]
    return sorted(found, key=lambda one: (one.file, one.line)), rest


def _answer(ask: Ask, question: Question, fields: Fields, number: int) -> tuple[str, Answer | None]:
    picked = fields.get(f"pick-{number}", [])
    draft = Draft(question, "plain" if ask.kind == "advisory" else "strict")
    draft.words = _join(fields, f"text-{number}")
    draft.comment = _join(fields, f"comment-{number}")
    draft.typed = {
        one.name: fields[name][-1].replace("\r\n", "\n")
        for place, one in enumerate(question.fields)
        if (name := f"value-{number}-{place}") in fields
    }
    if max(map(len, (draft.words, draft.comment, *draft.typed.values()))) > LONGEST_TEXT:
        return TOO_LONG, None
    every = [choice.code for choice in question.choices]
    codes = [code for code in every if code in picked]
    draft.ticked = {code for code in codes if code != MORE}
    letter = "".join(fields.get(f"extra-{number}", [])[:1])
    if letter or f"up-{number}" in fields:
        return draft.press(letter) if letter else draft.settle(up=True), draft.answer
    if not codes and not draft.words and OTHER not in picked:
        if not (question.multi and question.gathered) or f"seen-{number}" not in fields:
            problem = draft.keep(Answer(question.key, prefix="fill"))
            changed = draft.answer is not None and draft.answer.values
            return problem or (NOTHING_CHOSEN if changed else ""), None
        draft.at = 0  # what was ticked on earlier pages is the answer
    elif MORE in codes:
        draft.at = every.index(MORE)
    elif question.multi or not codes:
        draft.at = draft.other if draft.words or OTHER in picked else 0
    elif draft.words:
        return BOTH, None
    else:
        draft.at = every.index(codes[0])
    return draft.settle(), draft.answer


def _join(fields: Fields, name: str) -> str:
    return "\n".join(fields.get(name, [])).replace("\r\n", "\n").strip()


class Line(NamedTuple):
    """A line of a tree."""

    depth: int
    code: str
    label: str
    description: str = ""
    here: bool = False  # it is asked about now


def show_question(
    store: Store,
    state: State,
    fields: Fields,
    problems: Mapping[int, str],
    beginning: tuple[Began, dict[str, Any]] | None = None,
    entries: Sequence[Entry] = (),
) -> dict[str, Any] | None:
    """The question that a run waits with, and what changed since it was asked before."""
    ask = state.ask
    if ask is None:
        return None
    began, arguments = beginning or read_beginning(store, state.run)
    tree = began.documents.get("tree")
    written = store.document(tree) if tree else None
    pictures = prose.find_pictures(state.run, arguments)
    return show_ask(ask, state.notes, fields, problems, pictures) | {
        "key": ask.key,
        "changes": _find_changes(ask, entries),
        "token": secrets.token_urlsafe(16),
        "attached": prose.show_attachments(store, state.run, arguments, began.origin, fields),
        "person": ask.require == "person",
        "tree": mark_levels(msgspec.json.decode(written, type=Tree), ask) if written else (),
    }


def _find_changes(ask: Ask, entries: Sequence[Entry]) -> Markup:
    """What a question was about when it was asked before in this run, against now."""
    one = ask.questions[0]
    for entry in reversed([entry for entry in entries if entry.kind == "asked"]):
        before = entry.read_matter().ask
        if before is None or before.key == ask.key:
            continue
        if any((old.id, old.item) == (one.id, one.item) for old in before.questions):
            alone = len(before.questions) == len(ask.questions) == 1  # else others' blocks differ
            was, now = (
                "\n\n".join((said.context, *(said.blocks if alone else ())))
                for said in (before.preamble, ask.preamble)
            )
            gone = set(was.splitlines()) - set(now.splitlines())
            return prose.compare(was, now, one.title or "text") if gone else Markup("")
    return Markup("")


def show_ask(
    ask: Ask,
    notes: Sequence[Note],
    fields: Fields,
    problems: Mapping[int, str],
    pictures: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """An Ask with its notes, wherever it comes from."""
    shown = replace(ask.preamble, extras=(), hints="").text  # which have places of their own
    new = [note for note in notes if note.text.strip() and note.text.strip() not in shown]
    new = [note for note in new if note.text != PERSON]  # there is a mark for that
    hints = ask.preamble.hints.split(" | ") if ask.preamble.hints else []
    return {
        "line": tell_in_line(ask)[0],
        "preamble": prose.render(shown, pictures),
        "changes": "",
        "hints": [hint for hint in hints if hint not in (wording.BLANK, wording.UP)],
        "attached": (),
        "notes": [note.text for note in new if note.kind != "held"],
        "held": [f"{note.item}: {note.text}" for note in notes if note.kind == "held"],
        "sheets": [
            sheet(ask, number, question, fields, problems.get(number, ""))
            for number, question in enumerate(ask.questions)
        ],
    }


def sheet(
    ask: Ask, number: int, question: Question, fields: Fields, problem: str
) -> dict[str, Any]:
    """One question of a page, perhaps with what was filled in and could not stand."""
    where, summary, asked = take_apart(ask, question)
    if asked == WHICH and summary:
        summary, asked = "", summary
    named = question.title in question.text and not (where or question.chain or ask.back)
    header = "" if named and len(ask.questions) == 1 else question.header  # stable in follow-ups
    return {
        "number": number,
        "where": " › ".join(filter(None, (header, where))),
        "summary": summary,
        "text": asked,
        "question": question,
        "letters": _give_letters(question),
        "picked": fields.get(f"pick-{number}", []),
        "words": "\n".join(fields.get(f"text-{number}", [])),
        "remark": "\n".join(fields.get(f"comment-{number}", [])),
        "fields": [
            _show_field(one, number, place, fields, question.values.get(one.name))
            for place, one in enumerate(question.fields)
        ],
        "problem": problem,
        "other": OTHER,
        "behind_other": OWN_WORDS if ask.kind == "advisory" and question.menu else "",
        "seen_first": SEEN_FIRST,
        "more": MORE,
    }


def _give_letters(question: Question) -> list[str]:
    """A letter for each option that chooses no other one: of its words, its code, its label."""
    taken = {*COMMANDS, *(extra.letter.lower() for extra in question.extras)}
    letters: list[str] = []
    for choice in question.choices:
        initials = "".join(word[0] for word in choice.label.split())
        signs = (initials + choice.code.rpartition("/")[2] + choice.label).lower()
        typed = (sign for sign in signs if sign.isalpha() and sign < "\u1100")  # by one key
        free = (sign for sign in typed if sign not in taken)
        letters.append("" if choice.code == MORE else next(free, ""))
        taken.add(letters[-1])
    return letters


def _show_field(one: Field, number: int, place: int, fields: Fields, now: object) -> dict[str, Any]:
    """An input for a value, with what was typed there before or what stands in it."""
    name = f"value-{number}-{place}"
    value = fields[name][-1] if fields.get(name) else as_text(now)
    kinds = [kind for kind in one.types if kind != "null"]
    options = one.schema.get("enum") or ([True, False] if kinds == ["boolean"] else [])
    choices = [as_text(choice) for choice in options]
    return {
        "name": name,
        "label": one.label,
        "about": one.description,
        "kind": "choice" if choices else kinds[0] if len(kinds) == 1 else "string",
        "choices": choices if value in choices else ["", *choices],
        "value": value,
        "long": "\n" in value or len(value) > 60,
        "required": one.required,
        "proposed": as_text(one.schema.get("default")),
    }


def mark_levels(tree: Tree, ask: Ask) -> list[Line]:
    """A tree as lines, with the levels marked that an Ask is about."""
    levels: Levels = {
        frozenset((c.code, c.label, c.description) for c in question.choices if c.code != MORE)
        for question in ask.questions
    }
    return lines(tree, levels)


def lines(tree: Tree, levels: Levels = frozenset()) -> list[Line]:
    """A tree line by line; of the levels, those options are marked."""
    return [
        line
        for decision in tree.decisions
        for line in (Line(0, "", decision.name), *_below(decision.options, 1, levels))
    ]


def _below(level: Sequence[Option], depth: int, levels: Levels) -> Iterator[Line]:
    shown = {(option.code, option.label, option.description) for option in level}
    here = {one for marked in levels if marked and marked <= shown for one in marked}
    for option in level:
        known = (option.code, option.label, option.description)
        yield Line(depth, option.code, option.label, option.description, known in here)
        yield from _below(option.options, depth + 1, levels)
