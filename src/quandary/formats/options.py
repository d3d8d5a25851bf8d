"""A finished draft into a tree: list items into options, keys into the tree's own fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from quandary.formats import keys
from quandary.formats.drafts import Draft, DraftDecision, body_lines, first_line
from quandary.formats.findings import Listed, Section
from quandary.formats.heads import MARKER, Codes, is_template, read_head, without_comments
from quandary.model.tree import Decision, Extra, Option, Tree

if TYPE_CHECKING:
    from quandary.formats.blocks import Block


class Source(Protocol):
    """Where the draft was read: its lines, and who remembers what was seen."""

    lines: list[str]
    fenced: bool

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Line and column in the file."""

    def note(self, rule: str, line: int, column: int, text: str = "") -> None:
        """Remember something for a rule."""


class Builder:
    """Makes the tree out of a finished draft."""

    def __init__(self, source: Source, draft: Draft) -> None:
        self.source = source
        self.draft = draft
        self.template = False

    def section(self) -> Section | None:
        draft = self.draft
        decisions = tuple(self._decision(decision) for decision in draft.decisions)
        if self.template:
            return None
        values = {key.name: key for key in draft.keys}
        extras = self._extras(values.get("Extras"))
        line, column = self.source.place(draft.heading.line, draft.heading.column)
        tree = Tree(
            name=draft.name if not draft.bare else draft.decisions[0].name,
            decisions=decisions,
            title=draft.title,
            trigger=values["Trigger"].value if "Trigger" in values else "",
            extras=extras,
            kind=self._kind(values.get("Kind")),
            question=values["Question"].value if "Question" in values else "",
            keywords=keys.read_keywords(values["Keywords"].value) if "Keywords" in values else (),
            extends=keys.plain_name(values["Extends"].value) if "Extends" in values else "",
            bare=draft.bare,
            fenced=self.source.fenced,
            line=line,
            column=column,
        )
        section = Section(tree)
        section.heading, section.base = draft.heading, draft.base
        section.notes = draft.notes
        section.keys = draft.keys
        section.listed = [Listed(d.heading, tuple(d.items), d.choose) for d in draft.decisions]
        return section

    def _extras(self, key: keys.Key | None) -> tuple[Extra, ...]:
        if key is None:
            return ()
        extras, well_formed = keys.read_extras(key.value)
        if not well_formed:
            self.source.note("extras-format", key.line, key.column)
        return extras

    def _kind(self, key: keys.Key | None) -> str:
        if key is None:
            return ""
        kind = key.value.strip().casefold()
        if kind not in keys.KINDS:
            self.source.note("kind-unknown", key.line, key.column, key.value)
            return ""
        return kind

    def _decision(self, decision: DraftDecision) -> Decision:
        heading = decision.heading or self.draft.heading
        if decision.heading is None and not decision.choose:
            self.source.note("decision-missing", heading.line, heading.column)
        options = self._options(decision.items, self.draft.base, 1)
        if decision.choose:
            options = tuple(_with_multi(o, multi=decision.choose == "several") for o in options)
        line, column = self.source.place(heading.line, heading.column)
        return Decision(
            name=decision.name or self.draft.name,
            options=options,
            question=decision.question,
            line=line,
            column=column,
        )

    def _options(self, items: list[Block], expected: int, depth: int) -> tuple[Option, ...]:
        heads = [read_head(first_line(item)[2]) for item in items]
        codes = Codes(head.code for head in heads if head.code)
        options = []
        for item, head in zip(items, heads, strict=True):
            if item.column != expected and (item is items[0] or item.column != items[0].column):
                self.source.note("indent", item.line, item.column, str(2 * (depth - 1)))
            if head.box_first:
                self.source.note("checkbox-order", item.line, item.column)
            self.template = self.template or is_template(head.code, head.label)
            code, label, description = head.code, head.label, self._description(item)
            if not code and not label and not description.startswith(("`", "~", ">", " ")):
                label, _, description = description.partition("\n")
                description = description.strip("\n")
            if not code:
                code = codes.derive(label)
            line, column = self.source.place(item.line, item.column)
            children = [child for child in item.children if child.kind == "item"]
            options.append(
                Option(
                    code=code,
                    label=label,
                    description=description,
                    multi=head.multi,
                    options=self._options(children, item.column + 2, depth + 1),
                    line=line,
                    column=column,
                    derived=not head.code,
                )
            )
        return tuple(options)

    def _description(self, item: Block) -> str:
        """All that an option holds besides its first line and its own options."""
        body: list[str] = []
        last = item.line
        for line, column, text, is_text in body_lines(item, self.source.lines):
            if is_text and column < item.indent:
                self.source.note("description-indent", line, column)
            if is_text and MARKER.match(text):
                self.source.note("indent", line, column, text)
            if line > last + 1 and body:
                body.append("")
            last = line
            body.append(text)
        return without_comments("\n".join(body)).strip("\n")


def _with_multi(option: Option, *, multi: bool) -> Option:
    options = tuple(_with_multi(o, multi=False) for o in option.options)
    return replace(option, multi=multi, options=options)
