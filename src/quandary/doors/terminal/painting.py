"""The parts of the question box, as they are drawn: terminal colours only, and nothing filled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.text import Text
from textual.content import Content

from quandary.desk.drafts import Draft, extra_labels
from quandary.doors.terminal.markdown import lay_out
from quandary.model.asks import MORE, Ask, Question
from quandary.model.text import printable


@lru_cache(maxsize=16)
def markdown(text: str, width: int) -> Content:
    """Markdown in the styles of a terminal."""
    lines = (
        Text.assemble(*((one.text, one.style or "") for one in line))
        for line in lay_out(text, width)
    )
    return Content("\n").join(Content.from_rich_text(line).rstrip() for line in lines)


def preamble(ask: Ask, draft: Draft | None, width: int) -> Content:
    """What is to be known, without what is said on the items of other questions."""
    about = ask.preamble
    blocks: tuple[str, ...] = ()
    if draft is not None:
        others = {q.item for q in ask.questions if q.item != draft.question.item}
        marks = tuple(f"**{item}. " for item in others)
        blocks = tuple(block for block in about.blocks if not block.startswith(marks))
    notes = "\n".join(printable(n.text) for n in ask.notes if n.text.strip() not in about.text)
    text = "\n\n".join(part for part in (about.why, about.context, *blocks) if part)
    parts = [Content.styled(notes, "dim")] if notes else []
    parts.append(markdown(text, width))
    return Content("\n\n").join(parts)


def strip(drafts: Sequence[Draft], at: int, width: int, *, short: bool) -> Content:
    """The questions of the batch, with ticks at those that are answered."""
    parts: list[Content] = []
    for number, draft in enumerate(drafts):
        here = number == at
        header = draft.question.header
        if short and not here:
            header = draft.question.item or header
        tick = ("✓ ", "ansi_green") if draft.answer else ("○ ", "dim")
        style = "bold underline" if here else ("" if draft.answer else "dim")
        parts.append(Content.assemble(tick, (printable(header), style)))
    send = "bold underline" if at == len(drafts) else "dim"
    parts.append(Content.assemble(("→ ", "dim"), ("Send", send)))
    return _flow(parts, width)


def _flow(parts: list[Content], width: int) -> Content:
    """The parts side by side, each kept whole."""
    rows = [parts[0]]
    for part in parts[1:]:
        if rows[-1].cell_length + 3 + part.cell_length <= width:
            rows[-1] = rows[-1] + Content("   ") + part
        else:
            rows.append(part)
    return Content("\n").join(rows)


def question(asked: Question) -> Content:
    """The question, and whether one or several can be chosen."""
    parts = [Content(printable(asked.text))]
    if asked.multi:
        parts.append(Content.styled("You can choose several.", "not bold dim"))
    return Content("\n").join(parts)


def mark(draft: Draft, row: int) -> Content:
    """The cursor, the number and the box to tick, as wide in every row."""
    here = draft.at == row
    cursor = ("❯ ", "bold ansi_magenta") if here else ("  ", "")
    typed = bool(draft.question.value) and row == draft.other
    number = ("" if typed else f"{row + 1} ", "bold" if here else "dim")
    if not draft.question.multi:
        return Content.assemble(cursor, number)
    if row == draft.other:
        box = "[x] " if draft.words.strip() else "[ ] "
    elif draft.choices[row].code == MORE:
        box = "    "
    else:
        box = "[x] " if draft.is_ticked(draft.choices[row]) else "[ ] "
    return Content.assemble(cursor, number, (box, "bold" if "x" in box else ""))


def choice(draft: Draft, row: int) -> Content:
    """The label of a choice and, below it, what it means."""
    shown, answer = draft.choices[row], draft.answer
    label = Content.styled(printable(shown.shown), "bold" if draft.at == row else "")
    if shown.code != MORE:
        label += Content.styled(f"  {printable(shown.code)}", "dim")
    if answer is not None and shown.code in answer.picked and not draft.question.multi:
        label += Content.styled(" ✓", "ansi_green")
    if not shown.description:
        return label
    return Content("\n").join([label, Content.styled(printable(shown.description), "dim")])


def extras(asked: Question, width: int) -> Content:
    """The extras as buttons, each pressed with its letter."""
    parts = (printable(label).partition(" ") for label in extra_labels(asked))
    buttons = [Content.assemble((f" {key.strip(':')} ", "reverse"), f" {t}") for key, _, t in parts]
    return _flow(buttons, width)


def review(drafts: Sequence[Draft]) -> Content:
    """Every answer, before they are sent."""
    missing = sum(draft.answer is None for draft in drafts)
    head = f"{missing} not answered yet." if missing else "Send these?"
    rows = [
        Content.assemble((f"{number} ", "dim"), (draft.record(), "" if draft.answer else "dim"))
        for number, draft in enumerate(drafts, 1)
    ]
    return Content("\n").join([Content.styled(head, "bold"), Content(""), *rows])


def list_keys(draft: Draft, *, batch: bool, more_above: bool, short: bool) -> str:
    """The keys in the list of choices."""
    several = draft.question.multi
    up = ["< back"] if draft.question.above else []
    if short:
        return " · ".join([f"↑↓ {'space ' if several else ''}enter", *up, "? help", "q quit"])
    keys = ["↑↓ move", "space tick" if several else f"1-{draft.other} pick", "enter continue", *up]
    keys += ["tab next"] if batch else []
    keys += ["= values"] if draft.question.fields else []
    keys += ["pgdn scroll"] if more_above else ["c comment"]
    return " · ".join([*keys, "? help", "q quit"])
