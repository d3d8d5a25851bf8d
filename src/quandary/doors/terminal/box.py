"""The question box: an Ask on a terminal, until it is answered or left."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.text import Text
from rich.theme import Theme
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from quandary.desk.drafts import CLOSED, INTERRUPTED, Draft, extra_labels
from quandary.doors.terminal import WIDEST, tell_notes
from quandary.model.asks import MORE, Ask, Outcome, Question, Reply
from quandary.model.text import as_text, printable

if TYPE_CHECKING:
    from rich.segment import Segment
    from textual import events

_HELP = Path(__file__).with_name("help.md")
NARROW = 56  # below this many columns there is no frame, and the line of keys is short
LOW = 20  # below this many rows there are no empty ones


class Line(Input):
    """One line of text. What is pasted comes in whole, on one line, and without controls."""

    def _on_paste(self, event: events.Paste) -> None:
        self.insert_text_at_cursor(printable(event.text.strip()))
        event.prevent_default()
        event.stop()

    async def _on_key(self, event: events.Key) -> None:
        """Keys count in their order: what is typed behind an Enter is for what it leads to."""
        here, leads = self.screen.focused is self, event.key in ("enter", "up", "down", "escape")
        if leads or not here:
            event.prevent_default()
        if event.key == "enter" or (here and leads):
            event.stop()
        if here and leads and isinstance(self.app, Box):
            await self.app.on_key(event)


class Box(App[Reply | Outcome]):
    """Questions, one at a time, each with its choices and the Other line."""

    INLINE_PADDING = 0
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "turn(1)", show=False, priority=True),
        Binding("shift+tab", "turn(-1)", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False, priority=True),
        Binding("ctrl+c", f"leave({INTERRUPTED!r})", show=False, priority=True),
        Binding("pagedown", "read_on(1)", show=False, priority=True),
        Binding("pageup", "read_on(-1)", show=False, priority=True),
    ]
    CSS_PATH = Path(__file__).with_name("box.tcss")

    def __init__(self, ask: Ask) -> None:
        super().__init__(ansi_color=True)
        self.ask = ask
        self.drafts = [Draft(q, at=len(q.choices) if q.value else 0) for q in ask.questions]
        self.at = 0  # the question that is shown; behind the last one stands the review
        self.warning = ""
        self.helping = False
        self.leaving = False
        self.only_shown = False
        self._drawn: dict[Static, Content] = {}

    def compose(self) -> ComposeResult:
        """The preamble, then the question in its frame, then the keys."""
        with Vertical(id="all"):
            with VerticalScroll(id="about", can_focus=False):
                yield Static(id="preamble")
            with Vertical(id="frame"):
                yield Static(id="strip")
                with VerticalScroll(id="body", can_focus=False):
                    yield Static(id="text")
                    yield Vertical(id="choices")
                    with Horizontal(id="other", classes="line"):
                        yield Static(id="other-mark", classes="mark")
                        yield Line(id="words", select_on_focus=False)
                    yield Static(id="preview")
                    yield Static(id="legend")
                    yield Vertical(id="fields")
                    with Horizontal(id="beside", classes="line"):
                        yield Static("    Comment: ", classes="mark")
                        yield Line(id="comment", select_on_focus=False)
                    yield Static(id="review")
                yield Static(id="warning")
            yield Static(id="foot")

    async def on_mount(self) -> None:
        """Show the first question, and notice when the terminal goes away."""
        for line in self.query(Line):
            line.cursor_blink = False
        self.set_interval(1, self._watch)
        await self._show()
        if self.only_shown:
            self.call_after_refresh(self.exit)

    def _watch(self) -> None:
        """A terminal that was closed is no answer, and nothing to wait for."""
        if self.is_inline and not os.isatty(0):
            self.exit(Outcome("dismissed", CLOSED))

    def put(self) -> Reply | Outcome:
        """Show the box below the cursor until it is answered or left."""
        try:
            with _size_of_screen():
                returned = self.run(inline=True, mouse=False)
        except OSError:  # what is left to draw cannot be drawn any more
            returned = None
        if returned is None and not os.isatty(0):
            if self._driver is not None:
                self._driver.disable_input()
            return Outcome("dismissed", CLOSED)
        return returned or Outcome("error", "the question box failed; TERM=dumb asks without it")

    def show(self, at: int) -> None:
        """Draw one of the questions below the cursor, leave it there, and ask nobody."""
        self.at, self.only_shown = at, True
        with _size_of_screen():
            self.run(inline=True, inline_no_clear=True, mouse=False)

    @property
    def draft(self) -> Draft | None:
        """The draft at hand; none during the review."""
        return self.drafts[self.at] if self.at < len(self.drafts) else None

    @property
    def _width(self) -> int:
        return min(self.size.width, WIDEST) - (3 if self.narrow else 7)

    @property
    def _words(self) -> Line:
        return self.query_one("#words", Line)

    @property
    def narrow(self) -> bool:
        """Whether the terminal is too narrow for a frame."""
        return self.size.width < NARROW

    async def _show(self) -> None:
        """Another question, or the review, takes the place of what was shown."""
        draft = self.draft
        if draft is not None:
            rows, count = list(self.query(".row")), len(draft.question.choices)
            for row in rows[count:]:
                await row.remove()
            further = [
                Horizontal(Static(classes="mark"), Static(classes="said"), classes="row")
                for _ in range(len(rows), count)
            ]
            await self.query_one("#choices").mount_all(further)
            self._words.value = draft.words
            self.query_one("#comment", Line).value = draft.comment
            await self._show_fields(draft)
        self._refocus()
        self._paint()
        self.query_one("#about").scroll_home(animate=False)

    @property
    def _fields(self) -> list[Line]:
        return list(self.query(".field").results(Line))

    async def _show_fields(self, draft: Draft) -> None:
        fields, now = draft.question.fields, draft.question.values | draft.typed
        for line in self._fields[len(fields) :]:
            await line.parent.remove()  # type: ignore[union-attr]  # its row
        for _ in fields[len(self._fields) :]:
            line = Line(classes="field", select_on_focus=False)
            line.cursor_blink = False
            row = Horizontal(Static(classes="mark", markup=False), line, classes="line")
            await self.query_one("#fields").mount(row)
        for field, line in zip(fields, self._fields, strict=True):
            mark = line.query_ancestor(Horizontal).query_one(Static)
            mark.update(f"    {printable(field.label)}: ")
            line.value = printable(as_text(now.get(field.name)))

    def _refocus(self) -> None:
        draft = self.draft
        typing = draft is not None and (draft.on_other or draft.question.value)
        self.set_focus(self._words if typing and not self.helping else None)

    def _paint(self) -> None:
        draft = self.draft
        asking = draft is not None and not self.helping
        self.screen.set_class(self.narrow, "-narrow")
        self.screen.set_class(self.size.height < LOW, "-low")
        self._draw("#preamble", paint_preamble(self.ask, draft, self._width))
        self.query_one("#about").display = not self.helping
        self._draw("#strip", paint_strip(self.drafts, self.at, self._width, short=self.narrow))
        self.query_one("#strip").display = len(self.drafts) > 1 and not self.helping
        alone = draft.question.header if draft is not None and len(self.drafts) == 1 else ""
        self.query_one("#frame").border_title = Content(printable(alone)) if alone else None
        for name in ("#text", "#choices", "#other", "#preview", "#legend", "#fields"):
            self.query_one(name).display = asking
        commenting = self.focused is not None and self.focused.id == "comment"
        commented = draft is not None and bool(draft.comment)
        self.query_one("#beside").display = asking and (commenting or commented)
        self.query_one("#review").display = not asking
        if draft is not None and asking:
            self._paint_question(draft)
        elif self.helping:
            self._draw("#review", paint_markdown(_HELP.read_text("utf-8"), self._width))
        else:
            self._draw("#review", paint_review(self.drafts))
        self.query_one("#warning").display = bool(self.warning)
        self._draw("#warning", Content.styled(printable(self.warning), "bold"))
        self._draw("#foot", Content(self._keys()))
        self.call_after_refresh(self._fit)

    def _draw(self, part: str | Static, content: Content) -> None:
        """Give a part its content; what takes the same room is not laid out again."""
        static = self.query_one(part, Static) if isinstance(part, str) else part
        drawn = self._drawn.get(static)
        if drawn is None or not drawn.is_same(content):
            self._drawn[static] = content
            static.update(content, layout=drawn is None or _room(drawn) != _room(content))

    def _paint_question(self, draft: Draft) -> None:
        unframed = self.narrow and len(self.drafts) == 1
        self._draw("#text", paint_question(draft.question, headed=unframed))
        for number, row in enumerate(self.query(".row").results(Horizontal)):
            mark, said = row.query(Static).results(Static)
            self._draw(mark, paint_mark(draft, number))
            self._draw(said, paint_choice(draft, number))
        self._draw("#other-mark", paint_mark(draft, draft.other))
        self._words.placeholder = draft.hint
        preview = draft.preview() if draft.on_other or draft.words else ""
        self._draw("#preview", Content.styled(printable(preview), "italic"))
        self.query_one("#preview").display = bool(preview)
        legend = paint_legend(draft.question, self.ask.preamble.hints, self._width)
        self._draw("#legend", legend)
        self.query_one("#legend").display = bool(legend)

    def _keys(self) -> str:
        if self.helping:
            long = self.query_one("#body").max_scroll_y > 0
            return "pgdn scroll · any other key goes back" if long else "any key goes back"
        if self.draft is None:
            more = "" if self.narrow else " · ? help"
            return f"enter send · 1-{len(self.drafts)} change an answer{more} · q quit"
        if self.focused is not None and self.focused.id == "comment":
            return "enter keep · esc drop"
        if self.focused is not None and self.focused.has_class("field"):
            return "enter next · esc back to the list"
        if self.focused is not None:
            return "enter continue · ↑ back to the list" + ("" if self.narrow else " · ctrl+c quit")
        return list_keys(
            self.draft,
            batch=len(self.drafts) > 1,
            more_above=self.query_one("#about").max_scroll_y > 0,
            short=self.narrow,
        )

    def _fit(self) -> None:
        """Share a low screen: the question first, the preamble scrolls in what is left."""
        frame, about, body = (self.query_one(n) for n in ("#frame", "#about", "#body"))
        rows = self.size.height - self.screen.gutter.height
        fixed = frame.outer_size.height - body.outer_size.height + about.styles.margin.height
        fixed += self.query_one("#foot").outer_size.height
        wanted = about.virtual_size.height
        least = min(wanted, 3)
        body.styles.max_height = max(rows - fixed - least, 3)
        about.styles.max_height = max(min(wanted, rows - fixed - body.virtual_size.height), least)
        self.call_after_refresh(self._bring_into_view)

    def _bring_into_view(self) -> None:
        self._draw("#foot", Content(self._keys()))
        draft = self.draft
        body = self.query_one("#body")
        if draft is not None and not self.helping and body.max_scroll_y:
            rows = [*self.query(".row"), self.query_one("#other")]
            body.scroll_to_widget(rows[draft.at], animate=False, immediate=True)

    def on_resize(self) -> None:
        """Fit the new size."""
        if self.query("#frame"):
            self._paint()

    async def on_key(self, event: events.Key) -> None:
        """A key that no line of text has taken."""
        self.warning = ""
        if event.key not in ("q", "escape"):
            self.leaving = False
        if not self.helping and isinstance(self.focused, Line):
            await self._key_beside_line(self.focused, event)
        elif self.helping or event.key == "question_mark":
            self.helping = not self.helping
            self._refocus()
        elif event.key in ("q", "escape"):
            self._quit()
        elif event.key in ("left", "right"):
            await self.action_turn(1 if event.key == "right" else -1)
        elif self.draft is None:
            await self._key_in_review(event)
        else:
            await self._key_in_list(self.draft, event)
        self._paint()

    async def _key_beside_line(self, line: Line, event: events.Key) -> None:
        """Enter continues from the Other line; other keys lead off a line, or came before it had
        the focus.
        """
        draft = self.draft
        if draft is None:
            return
        if line.id == "words":  # word that it changed may still be on its way
            draft.write(line.value)
        if event.is_printable and event.character:
            line.insert_text_at_cursor(event.character)
        elif event.key == "enter" and line.id == "words":
            await self._settle(draft)
        elif event.key in ("enter", "escape", "up", "down"):
            if line in self._fields:
                self._move_field(line, {"up": -1, "escape": 0}.get(event.key, 1))
                return
            if line.id == "words" and event.key == "escape":
                draft.at = max(draft.other - 1, 0)
            elif line.id == "words":
                draft.move(1 if event.key == "down" else -1)
            else:
                line.value = draft.comment = "" if event.key == "escape" else line.value
            self._refocus()

    async def _key_in_review(self, event: events.Key) -> None:
        if event.key == "enter":
            await self._send()
        elif event.key in ("up", "k"):
            await self.action_turn(-1)
        elif event.key.isdecimal() and 0 < int(event.key) <= len(self.drafts):
            self.at = int(event.key) - 1
            await self._show()

    async def _key_in_list(self, draft: Draft, event: events.Key) -> None:
        match event.key:
            case "up" | "k":
                draft.move(-1)
            case "down" | "j":
                draft.move(1)
            case "enter":
                await self._settle(draft)
            case "space":
                await self._space(draft)
            case "less_than_sign":
                await self._settle(draft, up=True)
            case "equals_sign" if draft.question.fields:
                self.set_focus(self._fields[0])
                return
            case "c":
                line = self.query_one("#comment", Line)
                self.query_one("#beside").display = True
                self.set_focus(line)
                line.cursor_position = len(line.value)
                return
            case key if key.isdecimal():
                await self._number(draft, key)
            case _:
                self._letter(draft, event.character or "")
        if self.draft is draft:
            self._refocus()

    async def _number(self, draft: Draft, typed: str) -> None:
        if 0 < int(typed) <= draft.other + 1:
            draft.at = int(typed) - 1
            if not draft.on_other:
                await (self._space(draft) if draft.question.multi else self._settle(draft))

    async def _space(self, draft: Draft) -> None:
        if not draft.question.multi:
            self.warning = "Only one can be chosen: press enter to pick it."
        elif draft.question.choices[draft.at].code == MORE:
            await self._settle(draft)
        else:
            draft.tick()

    def _letter(self, draft: Draft, character: str) -> None:
        """To a choice by its code; what begins a prefix or is an extra begins the Other line. The
        letter of an extra is that extra's alone.
        """
        extras = {extra.letter: extra.letter for extra in draft.question.extras}
        character = extras.get(character.upper(), character)
        begun = {"/": "", "Q": "Q: ", "!": "!", "#": "#", "@": "@", "+": "+"} | extras
        if character not in extras and draft.jump(character):
            return
        if character in begun:
            draft.at = draft.other
            if not draft.words:
                self._write(draft, begun[character])

    def _write(self, draft: Draft, words: str) -> None:
        draft.write(words)
        self._words.value = words
        self._words.cursor_position = len(words)

    def on_paste(self, event: events.Paste) -> None:
        """What is pasted into the list goes to the Other line."""
        draft = self.draft
        if draft is None or self.helping or not event.text.strip():
            return
        self._write(draft, draft.words + printable(event.text.strip()))
        self._refocus()
        self._paint()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say at once how the line will be read."""
        if self.draft is None:
            return
        self.warning = ""
        if event.input in self._fields:
            at = self._fields.index(event.input)
            self.draft.typed[self.draft.question.fields[at].name] = event.input.value
            self.warning = self.draft.keep(self.draft.answer) if self.draft.answer else ""
        elif event.input.id == "words":
            self.draft.write(event.input.value)
        else:
            self.draft.comment = event.input.value
        self._paint()

    def _move_field(self, line: Line, step: int) -> None:
        """To the field before or behind this one; past the ends, and with no step, to the list."""
        lines = self._fields
        at = lines.index(line) + step
        if step and 0 <= at < len(lines):
            self.set_focus(lines[at])
        else:
            self._refocus()

    async def action_turn(self, step: int) -> None:
        """Another question of the batch; the review comes behind the last."""
        if len(self.drafts) > 1 and not self.helping:
            self.at = (self.at + step) % (len(self.drafts) + 1)
            self.warning = ""
            await self._show()

    def action_read_on(self, step: int) -> None:
        """Scroll the preamble, or the help."""
        part = self.query_one("#body" if self.helping else "#about")
        part.scroll_relative(y=step * max(part.size.height - 1, 1), animate=False)

    def action_leave(self, why: str = "") -> None:
        """Leave at once; the run waits. Whoever called is told if it was not the usual way."""
        self.exit(Outcome("dismissed", why))

    def _quit(self) -> None:
        """Leave; answers that would have to be given again are worth a second key."""
        given = sum(draft.answer is not None for draft in self.drafts)
        if given and not self.leaving:
            self.leaving = True
            answers = "1 answer is" if given == 1 else f"{given} answers are"
            self.warning = f"{answers} not sent yet. Press q again to leave without sending."
        else:
            self.action_leave()

    async def _settle(self, draft: Draft, *, up: bool = False) -> None:
        """The answer stands; on to the next question without one."""
        self.warning = draft.settle(up=up)
        count = len(self.drafts)
        if not self.warning and count == 1:
            await self._send()
        elif not self.warning:
            following = ((self.at + step) % count for step in range(1, count))
            self.at = next((n for n in following if self.drafts[n].answer is None), count)
            await self._show()

    async def _send(self) -> None:
        """Send every answer; with one missing, go there instead."""
        missing = next((n for n, d in enumerate(self.drafts) if d.answer is None), None)
        if missing is None:
            self.exit(Reply(tuple(d.answer for d in self.drafts if d.answer is not None)))
        else:
            self.at = missing
            await self._show()


@contextmanager
def _size_of_screen() -> Iterator[None]:
    """Let textual, which measures standard output, see the size of standard error instead."""
    if os.isatty(1) or "COLUMNS" in os.environ:
        yield
        return
    size = os.get_terminal_size(2)
    os.environ.update(COLUMNS=str(size.columns), LINES=str(size.lines))
    try:
        yield
    finally:
        del os.environ["COLUMNS"], os.environ["LINES"]


def _room(content: Content) -> tuple[str, int]:
    """What a text needs in width and breaks: its words, and the cursor that stands before it."""
    return content.plain.replace("❯", " "), content.cell_length


@lru_cache(maxsize=16)
def paint_markdown(text: str, width: int) -> Content:
    """Markdown in the styles of a terminal."""
    lines = (
        Text.assemble(*((one.text, one.style or "") for one in line))
        for line in lay_out(text, width)
    )
    return Content("\n").join(Content.from_rich_text(line).rstrip() for line in lines)


def paint_preamble(ask: Ask, draft: Draft | None, width: int) -> Content:
    """What is to be known, without what is said on the items of other questions."""
    about = ask.preamble
    blocks: tuple[str, ...] = ()
    if draft is not None:
        others = {q.item for q in ask.questions if q.item != draft.question.item}
        marks = tuple(f"**{item}. " for item in others)
        blocks = tuple(block for block in about.blocks if not block.startswith(marks))
    notes = "\n".join(tell_notes(ask))
    text = "\n\n".join(part for part in (about.why, about.context, *blocks) if part)
    parts = [Content.styled(notes, "dim")] if notes else []
    parts.append(paint_markdown(text, width))
    return Content("\n\n").join(parts)


def paint_strip(drafts: Sequence[Draft], at: int, width: int, *, short: bool) -> Content:
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


def paint_question(asked: Question, *, headed: bool) -> Content:
    """The question, below its header where no frame bears it, and whether to choose several."""
    parts = [Content.styled(printable(asked.header), "not bold")] if headed else []
    parts.append(Content(printable(asked.text)))
    if asked.multi:
        parts.append(Content.styled("You can choose several.", "not bold dim"))
    return Content("\n").join(parts)


def paint_mark(draft: Draft, row: int) -> Content:
    """The cursor, the number and the box to tick, as wide in every row."""
    here = draft.at == row
    cursor = ("❯ ", "bold ansi_magenta") if here else ("  ", "")
    typed = bool(draft.question.value) and row == draft.other
    number = ("" if typed else f"{row + 1} ", "bold" if here else "dim")
    if not draft.question.multi:
        return Content.assemble(cursor, number)
    if row == draft.other:
        box = "[x] " if draft.words.strip() else "[ ] "
    elif draft.question.choices[row].code == MORE:
        box = "    "
    else:
        ticked = draft.ticked.union(draft.question.gathered)
        box = "[x] " if draft.question.choices[row].code in ticked else "[ ] "
    return Content.assemble(cursor, number, (box, "bold" if "x" in box else ""))


def paint_choice(draft: Draft, row: int) -> Content:
    """The label of a choice and, below it, what it means."""
    shown, answer = draft.question.choices[row], draft.answer
    label = Content.styled(printable(shown.shown), "bold" if draft.at == row else "")
    if shown.code != MORE:
        label += Content.styled(f"  {printable(shown.code)}", "dim")
    if answer is not None and shown.code in answer.picked and not draft.question.multi:
        label += Content.styled(" ✓", "ansi_green")
    if not shown.description:
        return label
    return Content("\n").join([label, Content.styled(printable(shown.description), "dim")])


def paint_legend(asked: Question, hints: str, width: int) -> Content:
    """The extras as buttons, each pressed with its letter, and what else can be typed."""
    parts = (printable(label).partition(" ") for label in extra_labels(asked))
    buttons = [Content.assemble((f" {key.strip(':')} ", "reverse"), f" {t}") for key, _, t in parts]
    rows = [_flow(buttons, width)] if buttons else []
    return Content("\n").join([*rows, *([Content.styled(f"Try: {hints}", "dim")] if hints else [])])


def paint_review(drafts: Sequence[Draft]) -> Content:
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


LONGEST = 100_000  # characters that are laid out; what is behind them, the browser shows
_THEME = Theme({"markdown.code": "cyan", "markdown.code_block": "cyan", "markdown.link_url": "dim"})


class _Heading(Heading):
    """A heading is a bold line at the left."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold")
        yield self.text


class _Markdown(Markdown):
    elements = {**Markdown.elements, "heading_open": _Heading}  # noqa: RUF012 - as in rich


def lay_out(text: str, width: int) -> list[list[Segment]]:
    """The lines of a text, in their styles, safe to show; its own lines are kept apart."""
    lines = [printable(line.expandtabs(4)) for line in text[:LONGEST].strip("\n").split("\n")]
    shown = _Markdown("  \n".join(lines), code_theme="ansi_dark", hyperlinks=False)
    console = Console(width=width, file=io.StringIO(), theme=_THEME, color_system="standard")
    return console.render_lines(shown, pad=False)
