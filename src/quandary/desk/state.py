"""The state of a run as agents, scripts and people read it, and what came of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from quandary.desk.authority import Caller, may_see_files
from quandary.desk.reply import arguments_of
from quandary.errors import Rejected, StoreError
from quandary.flows.wording import show_file
from quandary.journal import chance, runs
from quandary.model.asks import Ask, Note
from quandary.model.calls import Do, Done
from quandary.model.text import count, reveal

if TYPE_CHECKING:
    from quandary.journal.store import Run, State, Store


def look(store: Store, caller: Caller, run: str) -> State:
    """Where a run stands, as far as a caller may see it."""
    return conceal(store, caller, runs.look(store, run))


def hand_over(store: Store, caller: Caller, state: State) -> State:
    """A state for whoever asked; that they have a result is recorded, as far as it is news."""
    if state.status != "done" or caller.who == "person":
        return state
    handed = runs.hand_over(store, state.run, **caller.source)
    notes = dict.fromkeys((*state.notes, *handed.notes))  # the journal does not know them all
    return conceal(store, caller, replace(handed, notes=tuple(notes)))


def conceal(store: Store, caller: Caller, state: State) -> State:
    """A state without what is in files, for a caller to whom none are shown."""
    if state.ask is None or may_see_files(caller):
        return state
    ask = conceal_files(store, caller, state.run, state.ask)
    return replace(state, ask=ask, notes=(*ask.notes, *state.notes[len(state.ask.notes) :]))


def conceal_files(store: Store, caller: Caller, run: str, ask: Ask) -> Ask:
    """An Ask without what is in files that a person had shown, for a caller who has to log in."""
    if may_see_files(caller) or not (ask.preamble.why or ask.notes):
        return ask
    files: dict[str, str] = {}
    shown: list[tuple[str, str]] = []
    for entry in store.entries(run, kinds=("called", "returned")):
        matter = entry.read_matter()
        if isinstance(matter.sent, Do) and matter.sent.deed == "read-file":
            files[matter.sent.key] = matter.sent.argument
        elif isinstance(matter.came, Done) and matter.came.key in files:
            path, text = files[matter.came.key], matter.came.text
            instead = f"{path} is shown to logins only."
            shown += [(show_file(path, text), instead), (f"{path}:\n\n{text}", instead)]

    def without(text: str) -> str:
        for content, instead in sorted(shown, key=lambda pair: len(pair[0]), reverse=True):
            text = text.replace(content, instead)  # one may be how another begins
        return text

    preamble = replace(ask.preamble, why=without(ask.preamble.why))
    notes = tuple(replace(note, text=without(note.text)) for note in ask.notes)
    return replace(ask, preamble=preamble, notes=notes)


def encode_state(store: Store, state: State, began: Mapping[str, Any] | None = None) -> bytes:
    """The state of a run as JSON."""
    return msgspec.json.encode(describe_state(store, state, began))


def describe_state(
    store: Store, state: State, began: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The state of a run as its caller wanted it, its keys in the order of the contract."""
    began = arguments_of(store, state.run) if began is None else began
    own = state.ask.notes if state.ask is not None else ()
    notes = (*own, *state.notes[len(own) :], *next_notes(state, began))
    written: dict[str, Any] = {
        "run": state.run,
        "flow": state.flow,
        "status": state.status,
        "notes": [{"kind": n.kind, "item": n.item or None, "text": reveal(n.text)} for n in notes],
    }
    for held in (note for note in notes if note.kind == "held"):
        written["held"] = {"option": held.item, "reason": held.text}
    if state.ask is not None:
        written["ask"] = _describe_ask(state.run, state.ask, began)
    if state.status == "done" or state.result is not None:
        written["result"] = state.result
    if state.status == "failed" or state.error:
        written["error"] = state.error or ""
    return written


def next_notes(state: State, began: Mapping[str, Any] | None = None) -> tuple[Note, ...]:
    """How a run goes on that waits for no answer: its agents are next, or a permit is used."""
    if state.deed is not None and state.deed.deed == "use":
        how = f"quandary permit use {state.run} --input FILE"
        return (Note("allowed", f"A person allowed it. It can be used once: {how}"),)
    if not state.calls:
        return ()
    if state.flow != "walk":
        agent = state.calls[0].agent
        return (Note("calls", f"{agent} reads the reply; see: quandary next {state.run}"),)
    if began and began.get("fleet"):
        return (Note("calls", f"A worker resumes it; see: quandary next {state.run}"),)
    return (Note("calls", f"Agents are next; resume it with: quandary walk --resume {state.run}"),)


def _describe_ask(run: str, ask: Ask, began: Mapping[str, Any]) -> dict[str, Any]:
    """What waits, and how to reply to it: a form, or text, which an advisory question always is."""
    from quandary.desk import sheets  # noqa: PLC0415 - only while something waits

    as_text = began.get("via") == "text" or ask.kind == "advisory"
    if as_text:
        ask = sheets.keep_first_question(ask)
    asked: dict[str, Any] = {
        "key": ask.key,
        "kind": ask.kind,
        "preamble": reveal(ask.preamble.text),
        "keys": [question.key for question in ask.questions],
        "reply_with": ["quandary", "reply", run, "--to", ask.key, "-"],
    }
    if "attached" in began:
        asked["attachments"] = began["attached"]
        names = ", ".join(one["name"] for one in began["attached"])
        asked["preamble"] += reveal(f"**Attached:** {names}\n\n")
    if any(question.fields for question in ask.questions):
        asked["fields"] = {
            q.key: [
                {"name": f.name, **f.schema, "required": f.required, "value": q.values.get(f.name)}
                for f in q.fields
            ]
            for q in ask.questions
        }
    if as_text:
        asked["text"] = sheets.plain_text(ask)
    else:
        asked["tool_input"] = sheets.tool_input(ask, began.get("host", "claude"))
    return asked


def encode_runs(store: Store, rows: Sequence[Run]) -> bytes:
    """Runs at a glance, for programs."""
    from quandary.desk.timeline import origins  # noqa: PLC0415 - only where runs are listed

    fields = ("flow", "status", "key", "since", "began", "project")
    listed, began = [], origins(store, [row.id for row in rows])
    for row in rows:
        shown = {name: getattr(row, name) for name in fields}
        origin = began[row.id]
        listed.append({"run": row.id, **shown, "about": origin.about, "by": origin.asker})
    return msgspec.json.encode({"runs": listed})


def end_what_expired(store: Store) -> None:
    """Withdraw every run whose time is up, so that lists do not show it as waiting."""
    with suppress(StoreError):  # where nobody can write, the lists are as old as the store
        for run in store.due(chance.stamp(chance.now())):
            runs.look(store, run)


_PERMITTED = {"allow": "allowed and used", "deny": "denied"}


def outcome_lines(flow: str, result: dict[str, Any] | None) -> list[str]:
    """The result as a person wants to read it; nothing where it was pruned."""
    lines: list[str] = []
    if result and flow == "decide":
        lines = [f"{chosen['item']}: {_name_path(chosen)}" for chosen in result["chosenItems"]]
    elif result and flow == "split":
        buckets = [name for name in ("include", "defer", "cut") if result.get(name)]
        lines = [f"{name.capitalize()}: {', '.join(result[name])}" for name in buckets]
    elif result and flow == "gate":
        gated, goal = result.get("labels") or (result["phaseGated"], result["nextPhase"])
        where = f" (now {goal})" if goal else ""
        where = f" ({result['proofProvided']})" if is_unproven(flow, result) else where
        lines = [f"{gated}: {result['executed']}{where}"]
        lines += [f"“{result['text']}”"] if result.get("text") else []
    elif result and flow == "walk":
        item = result.get("item", "1")
        whose = f", for {item}" if item != "1" else ""
        lines = [f"{result['chart']}: {result['outcome']}{whose}"]
        for step in result["steps"]:
            route = f" → {step['route']}" if step["route"] else ""
            lines.append(f"  {step['name']}{route} ({step['cli']}, attempts: {step['attempts']})")
        lines += [note["text"] for note in result.get("notes", ())]
    elif result and flow == "permit":
        said = f": {result['message']}" if result["message"] else ""
        lines = [f"{result['action']}: {_PERMITTED[result['decision']]}{said}"]
    elif result and flow == "prune":
        names = {"runs": "run", "entries": "entry", "documents": "document"}
        lines = [", ".join(count(result[many], one) for many, one in names.items())]
    elif result and flow == "imported":
        lines = [f"run {result['run']}; digest {result['digest']}"]
    return lines


def _name_path(chosen: dict[str, Any]) -> str:
    """What was chosen by its labels, with the path of codes behind them; own words are the path."""
    labels, path = ", ".join(chosen.get("labels", [])), str(chosen["path"])
    return path if not labels or labels in path else f"{labels} ({path})"


def proof_of(flow: str, result: dict[str, Any] | None) -> dict[str, Any]:
    """As much of the result as its schema names; all of it where there is none."""
    if result is None:
        raise Rejected("the run is done, but what came of it was pruned")
    if flow == "decide":
        keys = ("item", "path", "decision")
        chosen = [{key: c[key] for key in keys if key in c} for c in result["chosenItems"]]
        return {"treeName": result["treeName"], "chosenItems": chosen}
    if flow == "gate":
        names = ("executed", "userChoice", "phaseGated", "nextPhase", "proofProvided")
        return {name: result[name] for name in names if name in result}
    return result


def is_unproven(flow: str, result: Any) -> bool:  # noqa: ANN401 - whatever the flow returned
    """Whether something was chosen that could not be done: a move for which proof is missing."""
    return flow == "gate" and isinstance(result, dict) and bool(result.get("missing"))


def exit_status(state: State) -> int:
    """It ends well only where nothing was left undone."""
    undone = state.status == "done" and is_unproven(state.flow, state.result)
    return 0 if state.status in ("waiting", "done") and not undone else 1
