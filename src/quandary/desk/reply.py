"""What happens to a run after it began: replies, advice, amendments, withdrawals, resumption."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec

from quandary.desk import authority
from quandary.desk.authority import Caller, may_see_files, require_may
from quandary.errors import AlreadyAnswered, Diverged, QuandaryError, Rejected
from quandary.flows.proposals import MOST_OPTIONS
from quandary.flows.wording import require_filled
from quandary.journal import chance, runs
from quandary.journal.history import SNOOZED
from quandary.model.asks import Answer, Ask, Note, Outcome, Question, Reading, Reply
from quandary.model.calls import Do, Done
from quandary.model.text import LETTERS, is_blank
from quandary.settings.files import is_inside, open_file

if TYPE_CHECKING:
    from datetime import datetime

    from quandary.desk.walks import Walks
    from quandary.journal.entries import Answered, Source
    from quandary.journal.runs import OpenRun
    from quandary.journal.store import State, Store
    from quandary.model.tree import Extra

LARGEST_REFERENCE = 256 * 1024
RESUMED = "resumed"  # the kind of the note that says who had a run resumed


def _log(store: Store, state: State) -> State:
    """A state, of which the logs know too if it is that of a walk."""
    runs.log(store, state.run, state.flow)
    return state


def read_text(text: str, question: Question, mode: str) -> Reading:
    """The one reader, loaded when there is text to read."""
    from quandary.reading import read  # noqa: PLC0415 - many replies are exact

    return read(text, question, "strict" if mode == "strict" else "plain")


arguments_of = runs.arguments_of


def reply(
    store: Store,
    caller: Caller,
    run: str,
    data: bytes | str,
    to: str | None,
    proposed: str | None = None,
) -> tuple[State, Reply | Outcome, dict[str, Any]]:
    """Record what was sent as a reply to what a run waits for, if that still waits. Where the run
    stands then, what the reply meant, and what the run was begun with. `proposed` is what its
    sender thinks that the words mean.
    """
    opened = runs.open_run(store, run)
    key, ask = opened.state.key, require_waiting(opened.state, to)
    meant = read_reply(opened.prepare().arguments, ask, data, to, proposed)
    return record_reply(store, caller, opened, meant, to=key), meant, opened.arguments


def propose(
    store: Store, caller: Caller, run: str, words: str, proposed: str, to: str | None
) -> State:
    """Record what a person said, with what that may mean; they are asked about it in any case.
    Nobody answers like that: words that name another option, or that speak against this one, are
    refused.
    """
    from quandary.desk import returns  # noqa: PLC0415 - not every command asks

    opened = runs.open_run(store, run)
    ask, key = require_waiting(opened.state, to), opened.state.key
    if to is None and len(ask.questions) > 1:
        raise QuandaryError(f"{len(ask.questions)} questions wait; name one of ask.keys with to")
    question = (ask.question(to) if to else None) or ask.questions[0]
    said = Answer(question.key, text=words.strip(), raw=words)
    answer = returns.add_proposal(said, question, proposed)
    meant = read_text(words, question, "plain")
    other = meant.codes if meant.kind == "pick" and meant.codes != answer.proposed else ()
    named = f"they name {', '.join(other)}" if other else ""
    against = "; ".join(answer.barred.values()) or named
    if against or meant.kind not in ("pick", "own-words", "ambiguous"):
        why = against or "they are no answer"
        raise Rejected(f"{proposed} cannot be proposed for these words: {why}; the question waits")
    return record_reply(store, caller, opened, Reply((answer,)), to=key)


def require_waiting(state: State, to: str | None = None) -> Ask:
    """What a run waits for; refused where that is not the question that was named."""
    if state.ask is None or not (to is None or to == state.key or state.ask.question(to)):
        raise already(state, to)
    return state.ask


def already(state: State, to: str | None) -> AlreadyAnswered:
    """What to say to whoever comes too late; what was answered may still have to be done."""
    stands = f"waits for {state.key}" if state.ask else f"is {state.status}"
    key = f"{to}; " if to and state.ask else ""
    why = f": {state.error}" if state.error and not state.ask else ""
    how = f"; continue with: quandary next {state.run}" if stands == "is waiting" else ""
    return AlreadyAnswered(f"already answered: {key}run {state.run} {stands}{why}{how}")


def read_reply(
    arguments: Mapping[str, Any],
    ask: Ask,
    data: bytes | str | dict[str, Any],
    to: str | None = None,
    proposed: str | None = None,
) -> Reply | Outcome:
    """What a reply to an Ask means; plain text answers the question that is named."""
    from quandary.desk import returns  # noqa: PLC0415 - not every command asks

    text = data.decode(errors="replace") if isinstance(data, bytes) else data
    question = ask.question(to) if to is not None else None
    is_data = isinstance(text, dict) or text.lstrip().startswith(("{", "["))
    if question is not None and not is_data:
        ask = msgspec.structs.replace(ask, key=question.key, questions=(question,))
    meant = returns.parse(data, ask, read_text, as_text=arguments.get("via") == "text")
    if proposed is None or isinstance(meant, Outcome):
        return meant
    unclear = [answer for answer in meant.answers if answer.text] or meant.answers
    if len(unclear) > 1:
        raise QuandaryError(f"{len(unclear)} questions are answered; put {returns.LISTED}")
    question = next(question for question in ask.questions if question.key == unclear[0].key)
    answers = {answer.key: answer for answer in meant.answers}
    answers[question.key] = returns.add_proposal(unclear[0], question, proposed)
    return Reply(tuple(answers.values()))


def record_reply(
    store: Store,
    caller: Caller,
    run: str | OpenRun,
    meant: Reply | Outcome | None,
    *,
    to: str | None = None,
    token: str = "",
    sent: str = "",
) -> State:
    """Record a reply, once where it has a token, and do what the house has to do itself."""
    name = run if isinstance(run, str) else run.id
    require_may_answer(store, caller, name)
    if store.shared is not None and store.require_run(name).flow == "walk":
        require_may(caller, "start agents")  # a worker would call them as soon as it is answered
    if isinstance(meant, Reply) and any(answer.text for answer in meant.answers):
        run = runs.open_run(store, run) if isinstance(run, str) else run
        meant = _bar(run, meant)
    how: dict[str, Any] = {**caller.source, "token": token, "request": sent}
    try:
        state = runs.advance(store, run, meant, to=to, **how, deeds=actions(store, name))
        return _log(store, finish(store, caller, state))
    except AlreadyAnswered:
        if token:
            before = repeat(store, caller, name, token, sent)
            if before is not None:  # the same reply was quicker by another way
                return before
        raise


def _bar(run: OpenRun, meant: Reply) -> Reply:
    """A reply with what its words cannot mean, where an agent is going to say what they do."""
    if run.state.ask is None or not run.arguments.get("reader"):
        return meant
    from quandary.reading.sentences import Sentences  # noqa: PLC0415 - many replies are exact

    answers = []
    for answer in meant.answers:
        question, text = run.state.ask.question(answer.key), answer.text or ""
        barred = {}
        if question and text and not answer.proposed:
            said, options = Sentences(text, question), question.options[:MOST_OPTIONS]
            barred = {c.code: why for c in options if (why := said.find_veto(c.code))}
        answers.append(msgspec.structs.replace(answer, barred=barred) if barred else answer)
    return Reply(tuple(answers))


def require_may_answer(store: Store, caller: Caller, run: str) -> None:
    """Refuse whoever may not answer; a run keeps it where that was a terminal of an agent."""
    try:
        require_may(caller, "answer")
    except authority.HandRefused as refused:
        note = Note("refused", f"No answer was taken at a terminal: {refused.seen}.")
        with suppress(AlreadyAnswered):
            runs.note(store, run, note, who="agent", through="terminal")
        raise


def repeat(store: Store, caller: Caller, run: str, token: str, sent: str) -> State | None:
    """What came of this reply, where it was recorded before; what was interrupted is done now."""
    before = runs.find_reply(store, run, token, sent)
    return finish(store, caller, before) if before is not None else None


def play_script(store: Store, state: State, entries: list[Any]) -> tuple[State, Outcome | None]:
    """Answer with a script, one entry for each Ask, until it is used up or nothing waits; with the
    last one of them if that is no answer.
    """
    arguments, missed = arguments_of(store, state.run), None
    for entry in entries:
        if state.ask is None:
            break
        data = entry if isinstance(entry, str) else msgspec.json.encode(entry)
        meant = read_reply(arguments, state.ask, data)
        state = record_reply(store, Caller("api", "answers"), state.run, meant, to=state.key)
        missed = meant if isinstance(meant, Outcome) else None
    return state, missed


def advise(
    store: Store, caller: Caller, run: str, text: str, offers: tuple[Extra, ...], to: str | None
) -> State:
    """Answer a person's follow-up question; advice is never an answer to ours."""
    require_filled(text, "the advice")
    state = runs.look(store, run)
    ask = require_waiting(state, to)
    question = (ask.question(to) if to else None) or ask.questions[0]
    codes = (choice.code for choice in (*question.options, *question.above))
    taken = {extra.letter for extra in question.extras}
    taken |= {code.rpartition("/")[2].lstrip("<").upper() for code in codes}
    is_step = ask.assignment is not None and ask.assignment.role != "stop"
    for offer in offers:
        require_filled(offer.text, f"option {offer.letter}")
        if not offer.shows and (is_step or state.flow == "gate"):  # whose choices are all there are
            remedy = f"write {offer.letter}? for something that is only looked at"
            raise QuandaryError(f"--option {offer.shown} cannot be chosen here; {remedy}")
        if offer.letter in taken:
            free = ", ".join([letter for letter in LETTERS if letter not in taken][:3])
            raise QuandaryError(f"--option {offer.letter} is taken already; free are {free} …")
    advice = Answer(question.key, advice=text, offers=offers)
    return runs.advance(store, run, Reply((advice,)), to=state.key, **caller.source)


def amend(
    store: Store,
    caller: Caller,
    run: str,
    changed: Reply,
    *,
    key: str,
    why: str,
    seen: Answer | None = None,
) -> State:
    """Change an answer. The old one is kept, and everything after it is asked again."""
    require_may(caller, "amend")
    require_reason(why)
    said = {"key": key, "why": why, "seen": seen, **caller.source}
    return _log(store, runs.amend(store, run, changed, **said, deeds=actions(store, run)))


def require_reason(why: str) -> None:
    """Refuse a reason that nobody could read."""
    if is_blank(why):
        raise QuandaryError("give a reason that somebody can read (--why); it is recorded")


def snooze(store: Store, caller: Caller, run: str, until: datetime, to: str | None) -> State:
    """Leave a waiting question out of lists until a moment; nothing is answered."""
    require_may(caller, "answer")
    if until <= chance.now():
        raise Rejected("that moment is over; choose a later one")
    note, moment = Note(SNOOZED, f"until {until:%Y-%m-%d %H:%M}"), chance.stamp(until)
    return runs.note(store, run, note, to=to, until=moment, **caller.source).state


def undo(store: Store, caller: Caller, run: str, key: str | None = None) -> State:
    """Take back the last answer, or refuse; whoever may change answers may do that."""
    require_may(caller, "amend")
    return _log(store, runs.undo(store, run, key=key, **caller.source))


def withdraw(store: Store, caller: Caller, run: str, why: str) -> State:
    """End a run that nobody needs any more."""
    require_may(caller, "withdraw")
    require_reason(why)
    return _log(store, runs.withdraw(store, run, why, **caller.source))


def finish(store: Store, caller: Caller, state: State) -> State:
    """Do what the house was about to do itself when somebody was interrupted."""
    if state.deed is None or state.deed.deed == "use":
        return state
    return runs.advance(store, state.run, **caller.source, deeds=actions(store, state.run))


def resume(store: Store, caller: Caller, run: str, walks: Walks | None) -> State:
    """Have a run resumed that waits for its agents, or that failed; the journal says by whom."""
    require_may(caller, "start agents")
    state = runs.look(store, run)
    if walks is not None and (resumed := walks.resume_session(run)) is not None:
        return resumed
    if state.flow != "walk" and state.deed is None and not state.calls:
        raise Rejected(f"run {run} has nothing left that could be done from here")
    if state.flow != "walk":
        have_read(state, walks)
        return finish(store, caller, state)
    if walks is None:
        raise Rejected("this server resumes no runs")
    return walks.start(run, lambda: _prepare(store, caller, run))


def follow(caller: Caller, state: State, walks: Walks) -> None:
    """Have agents called where they are next, if whoever brought the run there may start them."""
    if state.flow != "walk" or authority.may(caller, "start agents"):
        walks.follow(state)


def have_read(state: State, walks: Walks | None) -> None:
    """Where a run waits for an agent to read a reply, start the program that asks it."""
    if walks is not None and state.flow != "walk":
        walks.follow(state)


def _prepare(store: Store, caller: Caller, run: str) -> State:
    state = runs.look(store, run)
    if state.status == "failed":
        try:
            return runs.retry(store, run, **caller.source)
        except Diverged as gone:
            raise Rejected(str(gone)) from None
    if state.status != "waiting":
        raise Rejected(f"run {run} is {state.status}; there is nothing to resume")
    if state.ask is not None:
        raise Rejected(f"run {run} waits for an answer; it resumes when somebody has given it")
    return runs.note(store, run, Note(RESUMED, "It is resumed."), **caller.source).state


def actions(store: Store, run: str) -> Callable[[Do], Done | None]:
    """What flows have done for a run; as a crash may follow, each action bears being repeated."""

    def do(deed: Do) -> Done | None:
        if deed.deed == "use":
            return None
        if deed.deed == "read-file":
            try:
                return Done(deed.key, text=_read_reference(store, run, deed.argument))
            except Rejected as refused:
                return Done(deed.key, error=str(refused))
        if deed.deed == "prune":
            from quandary.journal.archive import do_prune  # noqa: PLC0415 - hardly ever

            return do_prune(store, deed)
        from quandary.desk import phases  # noqa: PLC0415 - only at gates

        if deed.deed == "list-artifacts":
            first_lines = may_see_files(_who_called(store, run))
            return phases.list_artifacts(store, deed, first_lines=first_lines)
        return phases.make_move(store, run, deed)

    return do


def _who_called(store: Store, run: str) -> Source:
    """On whose word the house does what it is about to do, whoever comes to do it."""
    row = store.require_run(run)
    return next(iter(store.entries(run, after=row.asked - 1, upto=row.asked))).read().source


def _who_referred(store: Store, run: str, named: str) -> Source:
    """Who asked for a file: an answer that an amendment only repeats stays whose it was."""
    source, amended = None, 0
    for entry in reversed(store.entries(run, kinds=("answered",))):
        answers = entry.read_matter().answers
        refers = any(a.prefix == "reference" and a.argument.strip() == named for a in answers)
        if refers and amended in (0, entry.n):
            body = cast("Answered", entry.read())
            source, amended = body.source, body.amends
            if not amended:
                break
    if source is None:
        raise Rejected(f"{named} cannot be shown: nobody asked for it")
    return source


def _read_reference(store: Store, run: str, named: str) -> str:
    """`@path`: a text file below the folder of the track or of the run, and nothing else."""
    sources = (_who_called(store, run), _who_referred(store, run, named))
    if not all(map(may_see_files, sources)):
        raise Rejected(f"{named} is not shown here: files are shown to logins only")
    began = arguments_of(store, run)
    folder = str(began.get("cwd") or began.get("workdir") or os.curdir)
    below, track = named and os.pardir not in named.split(os.sep), str(began.get("folder") or "")
    own = is_inside(track, named) if os.path.isabs(named) else os.path.exists(f"{track}/{named}")
    if below and track and own:
        folder = track
    if not below or not is_inside(folder, os.path.join(folder, named)):
        raise Rejected(f"{named or '@'} is not below the working folder")
    path = os.path.realpath(os.path.join(folder, named))
    try:
        if any(map(authority.is_from_elsewhere, sources)):
            authority.require_shown(store.require_run(run), folder, path)
        if os.path.exists(path) and not os.path.isfile(path):
            raise Rejected(f"{named} cannot be shown: not a file")
        if os.path.getsize(path) > LARGEST_REFERENCE:
            raise Rejected(f"{named} is larger than 256 KiB")
        with open_file(path) as file:
            text = file.read(LARGEST_REFERENCE).decode()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise Rejected(f"{named} cannot be shown: {reason}") from None
    if "\0" in text:
        raise Rejected(f"{named} cannot be shown: not a text file")
    return text
