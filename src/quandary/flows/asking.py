"""Places into questions: what a run was begun with, put before a person."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from quandary.flows import wording
from quandary.flows.places import level_problems
from quandary.model import keys, question_ids
from quandary.model.ask import Ask, Item, Kind, Limits, Preamble, Question
from quandary.model.tree import Extra, Tree, is_multi

if TYPE_CHECKING:
    from quandary.flows.places import Place
    from quandary.model.ask import Choice, Note

DEEPEST_ASIDE = 3
"""Trees asked inside one another; deeper than this nobody knows where they are."""


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run was begun with; plain data, kept in the journal as it is."""

    tree: Tree
    context: str
    items: tuple[Item, ...] = ()
    question: str = ""
    extras: tuple[Extra, ...] | None = None
    kind: Kind | None = None
    limits: Limits = Limits()
    trees: tuple[Tree, ...] = ()
    advisor: str = ""
    values: dict[str, str] = {}
    require: Literal["", "person"] = ""
    """Who has to answer; see `Ask.require`."""


class Asker:
    """Makes the questions of one run. Each showing of a place has a key of its own."""

    def __init__(self, terms: Terms, prefix: str = "", depth: int = 0) -> None:
        self.terms = terms
        self.prefix = prefix
        self.depth = depth
        self.turns: dict[str, int] = {}
        self.extras = terms.tree.extras if terms.extras is None else terms.extras
        self.kind: Kind = terms.kind or _kind(terms.tree)
        self._pages: dict[tuple[object, ...], tuple[tuple[Choice, ...], tuple[Choice, ...]]] = {}
        self._ids: dict[tuple[int, tuple[str, ...]], str] = {}
        """Items of one run are asked the same things, which are made once."""
        self._texts: dict[tuple[str, int], str] = {}
        """Questions are put into words before anybody is asked, and then asked."""

    def question(self, place: Place) -> Question:
        """The question on a place, under the key of this showing of it."""
        terms = self.terms
        root = place.root + 1 if len(terms.tree.decisions) > 1 else None
        key = self.prefix + keys.place(place.item.id, place.path, root)
        self.turns[key] = self.turns.get(key, 0) + 1
        shown, further = self._page(place)
        crumbs = f"[{'/'.join(place.path)}]: " if place.path else ""
        return Question(
            key=keys.turn(key, self.turns[key]),
            header=wording.header(place.item, terms.limits.header),
            text=crumbs + self.root_text(place.item, place.root),
            choices=shown,
            multi=is_multi(place.options),
            item=place.item.id,
            title=place.item.title or place.item.label or place.item.id,
            named=further,
            menu=place.menu is not None and not place.among,
            extras=(*self.extras, *place.offers),
            keywords=self._keywords,
            gathered=place.gathered,
            root=not place.path,
            id=self._id(place),
        )

    def _page(self, place: Place) -> tuple[tuple[Choice, ...], tuple[Choice, ...]]:
        # A level is known by where it lies in memory, since it lives as long as the tree does.
        level = (id(place.options), place.page, place.among, place.turned, place.in_menu)
        if level not in self._pages:
            self._pages[level] = place.page_of(self.terms.limits.options)
        return self._pages[level]

    def _id(self, place: Place) -> str:
        """What the question is known by in every run: the tree, the decision, the way down."""
        where = (place.root, place.path)
        if where not in self._ids:
            tree = self.terms.tree
            decision = tree.decisions[place.root].name if len(tree.decisions) > 1 else ""
            self._ids[where] = question_ids.joined(tree.name, decision, *place.path)
        return self._ids[where]

    def root_text(self, item: Item, root: int) -> str:
        """The question on an item, with the summary that makes it answerable by itself."""
        which = (item.id, root)
        if which not in self._texts:
            self._texts[which] = self._worded(item, root)
        return self._texts[which]

    def _worded(self, item: Item, root: int) -> str:
        terms = self.terms
        decision = terms.tree.decisions[root]
        title = item.title or item.label or item.id
        template = item.question or terms.question or decision.question or terms.tree.question
        if template:
            known = {**item.fields, "id": item.id, "label": item.label, "title": title}
            text = wording.fill(template, {**known, "context": item.context, **terms.values})
            shared = len(terms.tree.decisions) > 1 and template != decision.question
            return f"{decision.name}: {text}" if shared else text
        asked = f"{decision.name}: {title}?" if title != decision.name else f"{decision.name}?"
        return f"{wording.summary(item.context or terms.context)} {asked}"

    def ask(self, asked: list[tuple[Place, Question]], notes: tuple[Note, ...]) -> Ask:
        """A screenful: what is to be known, and the questions."""
        questions = _unique([question for _, question in asked])
        preamble = Preamble(
            context=self.terms.context,
            blocks=tuple(
                f"**{wording.header(place.item, None)}** — {place.item.context}"
                for place, _ in _first_of_each(asked)
                if place.item.context
            ),
            why="\n\n".join(dict.fromkeys(place.why for place, _ in asked if place.why)),
            extras=_all_extras(questions),
            hints=_hints(questions),
        )
        return Ask(questions[0].key, self.kind, preamble, questions, notes, self.terms.require)

    @cached_property
    def _keywords(self) -> dict[str, str]:
        if self.depth >= DEEPEST_ASIDE:
            return {}
        words: dict[str, str] = {}
        for tree in self.terms.trees:
            if tree.name == self.terms.tree.name or level_problems(tree):
                continue
            for word in (tree.name, tree.name.replace("_", " "), *tree.keywords):
                words.setdefault(word.casefold(), tree.name)
        return words


def _kind(tree: Tree) -> Kind:
    return "advisory" if tree.kind == "advisory" else "transition"


def _unique(questions: list[Question]) -> tuple[Question, ...]:
    """Hosts find answers by the question's text, so no two in an Ask are alike."""
    for field in ("title", "item", "key"):
        texts = [question.text for question in questions]
        if len(set(texts)) == len(texts):
            break
        questions = [
            replace(q, text=f"{q.text} ({getattr(q, field)})") if texts.count(q.text) > 1 else q
            for q in questions
        ]
    return tuple(questions)


def _first_of_each(asked: list[tuple[Place, Question]]) -> list[tuple[Place, Question]]:
    return list({place.item.id: (place, question) for place, question in asked}.values())


def _all_extras(questions: tuple[Question, ...]) -> tuple[Extra, ...]:
    return tuple(dict.fromkeys(extra for question in questions for extra in question.extras))


def _hints(questions: tuple[Question, ...]) -> str:
    hints = [wording.BLANK] if any(question.menu for question in questions) else []
    hints += ["Q: asks something", "? explains", "! skips"]
    if any(question.multi for question in questions):
        hints.append("+CODE adds")
    return " | ".join(hints)
