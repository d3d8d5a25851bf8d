"""Walk a decision tree with a person, item by item, four questions at a time.

The questions are levels of the tree, one for each item; how they are asked is `flows.asking`.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, cycle, product
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from quandary.errors import ContextRequired, QuandaryError, Rejected
from quandary.flows import Flow, Steps, tell_hands, wording
from quandary.flows.asking import UP, Asking, Place, Remarks, go_back, page_of
from quandary.model import keys
from quandary.model.asks import (
    BACK,
    Answer,
    Choice,
    Field,
    Hand,
    Item,
    Kind,
    Limits,
    Question,
    Reply,
    Required,
    split_label,
)
from quandary.model.tree import (
    OTHER,
    Decision,
    Extra,
    Option,
    Tree,
    find,
    is_multi,
    other_of,
    trace,
    walk,
)

VERSION = 1
Fill = Callable[[str, Mapping[str, str]], str]
_LAST = 1_000_000  # own words stand behind every option
MOST_QUESTIONS = 100_000  # items times decisions
_ID = r"(?a)(?:[A-Za-z][\w-]*/)?\d+(?:\.(?:\d+|[A-Z]+))*(?:/\d+)?"
DEEPEST_ASIDE = 3  # trees asked inside one another; deeper than this nobody knows where they are


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
    require: Required = ""
    reader: str = ""
    fields: tuple[Field, ...] = ()


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's `began` describes."""
    return prepare(msgspec.convert(arguments, Terms)).flow()


def recall(arguments: dict[str, Any], heard: dict[str, Any]) -> Flow:
    """The same flow of a run that was begun, less the replies that need nobody to be asked."""
    terms = msgspec.convert(arguments, Terms)
    decider = Decider(_fill_terms(terms))
    decider.heard, decider.unfilled = heard, terms.context
    return decider.flow()


def decide(
    tree: Tree,
    items: Sequence[Item] = (),
    *,
    context: str,
    question: str = "",
    extras: Sequence[Extra] | None = None,
    kind: Kind | None = None,
    limits: Limits | None = None,
    trees: Sequence[Tree] = (),
    advisor: str = "",
    values: Mapping[str, str] | None = None,
    require_person: bool = False,
    fields: Sequence[Field] = (),
) -> Flow:
    """Ask about every item until each has a path through the tree."""
    about, offered = tuple(items), None if extras is None else tuple(extras)
    shown, known, given = limits or Limits(), tuple(trees), dict(values or {})
    who: Required = "person" if require_person else ""
    terms = Terms(tree, context, about, question, offered, kind, shown, known, advisor, given, who)
    terms = replace(terms, fields=tuple(fields))
    require_slots_filled(terms)
    return prepare(terms).flow()


def require_slots_filled(terms: Terms) -> None:
    """Refuse to begin with a slot that nothing fills, wherever a person would see it. An item's
    slots are its own: without items, nothing is called `{title}`. A blank value fills nothing.
    """
    _require_few(terms)
    tree, extras = terms.tree, terms.tree.extras if terms.extras is None else terms.extras
    seen = [("the context", terms.context)]
    seen += [(f"extra {extra.letter}", extra.text) for extra in extras]
    seen += [(f"the field {f.name}", f"{f.label} {f.description}") for f in terms.fields]
    for decision in tree.decisions:
        if not terms.items:
            seen += [("the question", _template(terms, decision)), ("the decision", decision.name)]
        for path, option in decision.walk():
            code = "/".join(path)
            seen += [(f"the label of [{code}]", option.label)]
            seen += [(f"the description of [{code}]", option.description)]
    doubtful = [(where, text) for where, text in seen if wording.may_be_unfilled(text)]
    room = wording.Room()
    for given in terms.items or (None,):
        item = _fill_item(given, terms.values, blanks=False) if given else None
        known = known_of(item, terms.values)
        asked = [
            (f"the question on item {item.id}", _template(terms, decision, item))
            for decision in tree.decisions
            if item is not None and wording.may_be_unfilled(_template(terms, decision, item))
        ]
        if item is not None:
            for name in ("label", "title", "context"):
                wording.require_filled(getattr(item, name), f"the {name} of item {item.id}")
        for where, text in (*doubtful, *asked):
            wording.require_filled(room.take(wording.fill(text, known, blanks=False)), where)


def _require_few(terms: Terms) -> None:
    """Refuse what nobody could answer in a lifetime."""
    questions = len(terms.items) * len(terms.tree.decisions)
    if questions > MOST_QUESTIONS:
        raise QuandaryError(f"{questions:,} questions in one run; ask at most {MOST_QUESTIONS:,}")


def known_of(item: Item | None, values: Mapping[str, str]) -> Mapping[str, str]:
    """What fills slots: what the caller set, and what is known of the item."""
    if item is None:
        return values
    known = {**item.fields, "id": item.id, "label": item.label or item.name, "title": item.name}
    return ChainMap(cast("dict[str, str]", values), {**known, "context": item.context})


def _template(terms: Terms, decision: Decision, item: Item | None = None) -> str:
    """The first words for a question that are not blank: item's, caller's, decision's, tree's."""
    own = item.question if item else ""
    given = (own, terms.question, decision.question, terms.tree.question)
    return next(filter(str.strip, given), "")


def _fill_item(item: Item, values: Mapping[str, str], *, blanks: bool = True) -> Item:
    """An item with the slots in its own texts filled."""
    if not ("{" in item.context or "{" in item.title or "{" in item.label):  # as of most
        return item
    known, names = known_of(item, values), ("label", "title", "context")
    filled = {n: wording.fill(getattr(item, n), known, blanks=blanks) for n in names}
    return replace(item, **filled)


def fill_field(field: Field, known: Mapping[str, str]) -> Field:
    """A field with the slots filled in what is said of it."""
    told = {"title": field.label, "description": field.description}
    said = {name: wording.fill(text, known) for name, text in told.items() if "{" in text}
    return replace(field, schema=field.schema | said) if said else field


def _fill_options(
    options: tuple[Option, ...], known: Mapping[str, str], fill: Fill = wording.fill
) -> tuple[Option, ...]:
    filled = []
    for option in options:
        said = {name: fill(getattr(option, name), known) for name in ("label", "description")}
        filled.append(replace(option, options=_fill_options(option.options, known, fill), **said))
    return tuple(filled)


def _own_item(terms: Terms) -> Item:
    """What a run without items is about: its decision, or its tree where that has several."""
    tree = terms.tree
    name = tree.decisions[0].name if len(tree.decisions) == 1 else tree.name
    return _fill_item(Item("1", label=name, title=name), terms.values)


def _fill_terms(terms: Terms) -> Terms:
    """What is asked, with its slots filled."""
    items = tuple([_fill_item(item, terms.values) for item in terms.items]) or (_own_item(terms),)
    return replace(terms, context=wording.fill(terms.context, terms.values), items=items)


def prepare(terms: Terms) -> Decider:
    """Refuse at once what cannot be asked well, before anyone is asked anything."""
    if problems := level_problems(terms.tree):
        raise Rejected(f"{terms.tree.name} cannot be asked: {'; '.join(problems)}")
    if not terms.context.strip():
        raise ContextRequired("a question needs context: say what is decided and why (--context)")
    unfilled, terms = terms.context, _fill_terms(terms)
    wording.require_filled(terms.context, "the context")
    seen: set[str] = set()
    for item in terms.items:
        if not re.fullmatch(_ID, item.id):
            raise QuandaryError(f"item id {item.id!r}: write it like 1, 2.3, 1.3/2 or SLUG/4.2/1")
        if item.id in seen:
            raise QuandaryError(f"two items have the id {item.id}; each needs its own")
        seen.add(item.id)
        wording.require_filled(item.context, f"the context of item {item.id}")
    _require_few(terms)
    decider, room = Decider(terms), wording.Room()
    decider.unfilled = unfilled
    for item in terms.items:
        for root in range(len(terms.tree.decisions)):
            where, title = f"the question on item {item.id}", item.title or item.label
            wording.require_filled(room.take(decider.root_text(item, root)), where, title)
    return decider


class Part(msgspec.Struct, frozen=True):
    """One path that was chosen, and where it stands among the others."""

    order: tuple[int, ...]
    path: str
    label: str


class Level(Place, frozen=True, kw_only=True):
    """The options of one level, asked about one item."""

    root: int  # which of the tree's decisions it belongs to, from 0
    options: tuple[Option, ...]
    path: tuple[str, ...] = ()
    order: tuple[int, ...] = ()  # where the level stands in the tree, as numbers
    in_menu: bool = False  # this is the level behind Other
    own_words: bool = True
    above: tuple[Level, ...] = ()  # the levels that led here, the nearest first

    @property
    def menu(self) -> Option | None:
        """The option that stands for the host's Other, if what is behind it can be opened."""
        return None if self.in_menu else other_of(self.options)

    def list_choices(self) -> tuple[list[Choice], list[Choice]]:
        """The options of the level, and those behind its Other."""
        menu = self.menu
        named = [_choice(option) for option in self.options if option is not menu]
        return named, [_choice(o, f"{menu.code}/{o.code}") for o in menu.options] if menu else []

    def keep(self, codes: Iterable[str]) -> Level:
        """The level as it is come back to: with the leaves chosen, where several can be."""
        options = {code: trace(self.options, code)[-1] for code in codes} if self.multi else {}
        leaves = [c for c, o in options.items() if not o.options and o is not self.menu]
        return replace(self, gathered=tuple(leaves))

    def part(self, code: str) -> Part:
        """What choosing this option records: the same, whichever way it was come by."""
        order: list[int] = []
        level = self.options
        for option in trace(self.options, code):
            order.append(next(at for at, sibling in enumerate(level) if sibling is option))
            level = option.options
        label = split_label(option.label)[0] or option.code
        return Part((*self.order, *order), "/".join((*self.path, code)), label)

    def words(self, kind: str, text: str) -> Part:
        """What own words, an extra or a forced skip record: they stand behind `OTH` everywhere."""
        above = self.path[:-1] if self.in_menu else self.path
        return Part((_LAST, *self.order), "/".join((*above, OTHER, f"{kind}:{text}")), text)


class Record(msgspec.Struct):
    """What has been settled about one item."""

    item: Item
    parts: dict[int, list[Part]] = {}
    asides: list[dict[str, Any]] = []
    hands: dict[int, list[Hand]] = {}
    values: dict[int, dict[str, Any]] = {}  # what stood in the fields when somebody chose

    def add(self, root: int, part: Part) -> None:
        """Keep a path, once."""
        parts = self.parts.setdefault(root, [])
        if all(part.path != known.path for known in parts):
            parts.append(part)
            parts.sort(key=lambda part: part.order)

    def path(self, root: int) -> str:
        """The chosen paths, joined by commas; own words stand last."""
        return ",".join([part.path for part in self.parts.get(root, ())])

    def chosen(self, root: int, remarks: Remarks | None) -> dict[str, Any]:
        """The entry of the result; of most items nothing was said beside the answer."""
        parts, item = self.parts.get(root, ()), self.item
        entry: dict[str, Any] = {"item": item.name, "path": self.path(root), "itemId": item.id}
        entry["labels"] = [part.label for part in parts]
        if remarks is not None:
            entry |= remarks.as_result()
        if root in self.values:
            entry |= self.values[root]
        if "values" in entry and all(part.order[0] == _LAST for part in parts):
            # A default stands with an option that was chosen; words say nothing about it.
            entry["values"] = {name: entry["values"][name] for name in entry["changed"]}
        if "questions" in entry:
            entry["notes"] = entry.pop("questions")
        if self.asides:
            entry["asides"] = list(self.asides)
        entry |= tell_hands(self.hands.get(root, ()))
        return entry


def _choice(option: Option, code: str = "") -> Choice:
    """An option as it is shown; an author recommends it with `(recommended)` after its label."""
    label, recommended = split_label(option.label or option.code)
    branch = bool(option.options)
    return Choice(code or option.code, label, option.description, branch, recommended=recommended)


def _below(place: Level, code: str, why: str) -> Level:
    way = trace(place.options, code)
    kept = ("item", "blocks", "root", "hands", "fields", "filled")
    same: dict[str, Any] = {name: getattr(place, name) for name in kept}
    return Level(
        **same,
        multi=is_multi(way[-1].options),
        options=way[-1].options,
        path=(*place.path, *(step.code for step in way)),
        order=place.part(code).order,
        why=why,
        above=(replace(place, above=()), *place.above),
    )


def _climb(place: Level, code: str) -> tuple[Level, str]:
    """The level that a code belongs to, and what it is called there: `<OK` is one level up."""
    height = len(code) - len(code.lstrip(BACK))
    if not 0 < height <= len(place.above):
        return place, code
    level, *above = place.above[height - 1 :]
    same = {"hands": place.hands, "filled": place.filled}
    return replace(level, above=tuple(above), **same), code[height:]


def _way_up(place: Level) -> tuple[Choice, ...]:
    """What leads out of an opened menu: one level up, or to an option of a level above."""
    found = [UP] if place.above else [*go_back(place)]
    for height, level in enumerate(place.above, 1):
        named, behind = level.list_choices()
        found += [replace(c, code=BACK * height + c.code, description="") for c in named + behind]
    return tuple(found)


def level_problems(tree: Tree) -> list[str]:
    """What makes a tree's meaning unclear: no options, or one code for two siblings."""
    problems = [] if tree.decisions else ["it has no decision"]
    for decision in tree.decisions:
        if not decision.options:
            problems.append(f"decision {decision.name} has no options")
        for level in (decision.options, *(o.options for _, o in decision.walk())):
            first = {o.code.upper(): o for o in reversed(level)}
            again = [o for o in level if first[o.code.upper()] is not o]
            problems += [f"code [{o.code}] on line {o.line} is taken already" for o in again]
    return problems


def _line(option: Option) -> str:
    said = " ".join(option.description.split())
    return f"- [{option.code}] {option.label}" + (f": {said}" if said else "")


class Decider(Asking[Level]):
    """The items of one run, and what has been settled about them."""

    skips = True
    idle: tuple[str, ...] = ()
    """Where choosing does something at once, the codes that do nothing; all others are picked
    outright or not at all."""
    take_only = True  # whether a blank takes the only option behind Other unseen
    heard: dict[str, Any] | None = None  # replies by key, where the run is only rebuilt
    unfilled = ""  # the context before its slots were filled

    def __init__(self, terms: Terms, prefix: str = "", depth: int = 0, why: str = "") -> None:
        tree = terms.tree
        super().__init__(terms.context, terms.limits, terms.require or tree.require)
        self.terms, self.prefix, self.depth, self.why = terms, prefix, depth, why
        self.kind = terms.kind or ("advisory" if tree.kind == "advisory" else "transition")
        self.advisor, self.reader = terms.advisor, terms.reader
        self.extras = tree.extras if terms.extras is None else terms.extras
        self.records: dict[str, Record] = {}  # of those items about which something is
        self._followed: list[tuple[Sequence[tuple[Item, int]], Reply]] = []
        """What was answered about items that have no record yet."""
        self._several, self._own = len(tree.decisions) > 1, _own_item(terms)
        self._pages: dict[tuple[object, ...], tuple[tuple[Choice, ...], tuple[Choice, ...]]] = {}
        self._plain: dict[int, dict[tuple[str, ...], Part]] = {}
        self._filled: dict[tuple[str, int], tuple[Option, ...]] = {}
        """Levels are known by where they lie in memory, so that those of an item are kept."""
        self._texts: dict[tuple[str, int], str] = {}  # put into words before anybody is asked

    def flow(self) -> Flow:
        """Batch after batch, as many questions at a time as the host shows."""
        roots, room = len(self.terms.tree.decisions), max(self.terms.limits.questions, 1)
        places, step = list(product(self.terms.items, range(roots))), max(room // roots, 1) * roots
        parts = range(0, step, room)  # of an item with more questions than fit
        starts = [first + part for first in range(0, len(places), step) for part in parts]
        for first, end in zip(starts, [*starts[1:], len(places)], strict=True):
            asked = places[first:end]
            if not (self.heard and self._recall(asked)):
                yield from self.settle([self.level(item, root) for item, root in asked])
        return self.result()

    def record_of(self, item: Item) -> Record:
        """What has been settled about an item, or where that is going to be kept."""
        if (found := self.records.get(item.id)) is None:
            found = self.records[item.id] = Record(item)
        return found

    def all_records(self) -> list[Record]:
        """Those of all items, in their order, with what was only followed."""
        for asked, reply in self._followed:
            for (item, root), answer, hand in zip(asked, reply.answers, reply.hands, strict=True):
                record = self.record_of(item)
                record.parts[root] = [self._leaves(root)[answer.picked]]
                record.hands[root] = [hand]
        self._followed.clear()
        return [self.record_of(item) for item in self.terms.items]

    def _recall(self, asked: Sequence[tuple[Item, int]]) -> bool:
        """Follow the reply to a first showing, where each answer is one plain choice of a leaf."""
        heard, key = self.heard or {}, self._key(*asked[0])
        reply, first = heard.get(key), key
        if type(reply) is not Reply or not len(asked) == len(reply.answers) == len(reply.hands):
            return False
        for (item, root), answer in zip(asked, reply.answers):  # noqa: B905 - as many; quicker
            key, picked = key or self._key(item, root), answer.picked
            leaves = self._plain.get(root) or self._leaves(root)
            if picked not in leaves or answer != Answer(key, picked):
                return False
            key = ""
        self._followed.append((asked, reply))
        self.notes = []
        del heard[first]
        return True

    def _leaves(self, root: int) -> dict[tuple[str, ...], Part]:
        """What the plain choices of a decision record, where that is the same for every item."""
        if root not in self._plain:
            level = self.level(self.terms.items[0], root)
            plain = not (level.multi or level.fields or self._slotted[root])
            shown = chain.from_iterable(level.list_choices()) if plain else ()
            self._plain[root] = {(c.code,): level.part(c.code) for c in shown if not c.branch}
        return self._plain[root]

    def _key(self, item: Item, root: int, path: tuple[str, ...] = ()) -> str:
        return self.prefix + keys.place(item.id, path, root + 1 if self._several else None)

    def level(self, item: Item, root: int = 0, why: str = "") -> Level:
        """The first level of a decision, for an item."""
        options = self._options(item, root)
        block = f"**{wording.header(item, None)}** — {item.context}" if item.context else ""
        blocks, why, multi = (block,) if block else (), why or self.why, is_multi(options)
        known = known_of(item, self.terms.values) if self.terms.fields else {}
        fields = tuple([fill_field(field, known) for field in self.terms.fields])
        said: dict[str, Any] = {"blocks": blocks, "why": why, "fields": fields}
        return Level(item=item, multi=multi, root=root, options=options, **said)

    def _options(self, item: Item, root: int) -> tuple[Option, ...]:
        """The options of a decision, with the slots in labels and descriptions filled."""
        options = self.terms.tree.decisions[root].options
        if self._slotted[root] and (item.id, root) not in self._filled:
            self._filled[item.id, root] = _fill_options(options, known_of(item, self.terms.values))
        return self._filled.get((item.id, root), options)

    @cached_property
    def _slotted(self) -> list[bool]:
        """Of each decision, whether a label or a description of it has slots."""
        walks = (decision.walk() for decision in self.terms.tree.decisions)
        return [any("{" in f"{o.label}{o.description}" for _, o in walk) for walk in walks]

    def _extras(self, item: Item, fill: Fill = wording.fill) -> tuple[Extra, ...]:
        known = known_of(item, self.terms.values) if self.extras else {}
        return tuple(replace(e, text=fill(e.text, known)) for e in self.extras)

    def result(self) -> dict[str, Any]:
        """A path for every item and decision, with what was said beside it."""
        tree = self.terms.tree
        roots, remarks = range(len(tree.decisions)), self._remarks
        told = ((record, remarks.get(record.item.id)) for record in self.all_records())
        chosen = [record.chosen(root, beside) for record, beside in told for root in roots]
        if self._several:
            for entry, decision in zip(chosen, cycle(tree.decisions)):
                entry["decision"] = decision.name
        name = tree.name if self._several else tree.decisions[0].name
        result: dict[str, Any] = {"treeName": name, "chosenItems": chosen}
        if self.notes and not self.depth:
            result["notes"] = [msgspec.to_builtins(note) for note in self.notes]
        return result

    def question(self, place: Level) -> Question:
        item, menu = place.item, place.menu
        shown, further = self._page(place)
        if below := {code for code in place.gathered if "/" in code} - {c.code for c in further}:
            found = (_choice(trace(place.options, code)[-1], code) for code in sorted(below))
            further = (*further, *found)  # what was added by its path can be named like the rest
        crumbs = f"[{'/'.join(place.path)}]: " if place.path else ""
        picked = (*shown, *further) if self.idle else ()
        led = place.above[0].gathered if place.in_menu else ()  # `done` ends with these
        tree, said = self.terms.tree, self.chosen(*place.above[::-1], place)
        decision = tree.decisions[place.root].name if self._several else ""
        text, template, templates = crumbs + said + self.root_text(item, place.root), "", shown[:0]
        if any(choice.recommended for choice in shown):  # only then can a preference decide it
            extras = self._extras(item, wording.fill_content)
            choices = "".join(f"\n{extra.shown}" for extra in extras if not extra.shows)
            template = crumbs + self._word(item, place.root, wording.fill_content) + choices
            templates = self._bind_options(place) if self._slotted[place.root] else ()
        return Question(
            key=self.new_key(self._key(item, place.root, place.path)),
            header=wording.header(item, self.limits.header),
            text=text,
            choices=shown,
            multi=place.multi,
            item=item.id,
            title=item.name,
            named=further,
            above=_way_up(place),
            menu=bool(menu and menu.options and (not place.among or menu.code in place.among)),
            other=menu.label if menu else "Other",
            narrowed=bool(place.among),
            outright=tuple(c.code for c in picked if c.code not in self.idle),
            extras=(*self._extras(item), *place.offers),
            keywords=self._keywords,
            gathered=place.gathered or tuple(BACK + code for code in led),
            fields=place.fields,
            filled=place.filled,
            root=not place.path,
            id=keys.joined(tree.name, decision, *place.path),  # the same in every run
            template="" if template == text else template,
            templates=templates,
        )

    def _bind_options(self, place: Level) -> tuple[Choice, ...]:
        """The options of a level as a preference is bound to them, recommended as is shown."""
        options, values = self.terms.tree.decisions[place.root].options, self.terms.values
        options = _fill_options(options, known_of(place.item, values), wording.fill_content)
        options = trace(options, "/".join(place.path))[-1].options if place.path else options
        advised = {choice.code for choice in chain(*place.list_choices()) if choice.recommended}
        bound = chain(*replace(place, options=options).list_choices())
        return tuple(replace(choice, recommended=choice.code in advised) for choice in bound)

    def _page(self, place: Level) -> tuple[tuple[Choice, ...], tuple[Choice, ...]]:
        # A level is known by where it lies in memory, since it lives as long as the tree does.
        if any(code.startswith(BACK) for code in place.among):
            named, behind = place.list_choices()
            return page_of(place, named, [*behind, *_way_up(place)], self.limits.options)
        level = (id(place.options), place.page, place.among, place.turned, place.in_menu)
        if level not in self._pages:
            self._pages[level] = page_of(place, *place.list_choices(), self.limits.options)
        return self._pages[level]

    def root_text(self, item: Item, root: int) -> str:
        """The question on an item, with the summary that makes it answerable by itself."""
        if not (text := self._texts.get((item.id, root))):
            text = self._texts[item.id, root] = self._word(item, root, wording.fill)
        return text

    def reword(self, question: str) -> None:
        """Ask in other words from now on."""
        self.terms = replace(self.terms, question=question)
        self._texts.clear()

    def _word(self, item: Item, root: int, fill: Fill) -> str:
        """The question in words, its slots filled like this."""
        terms = self.terms
        decision, known = terms.tree.decisions[root], known_of(item, terms.values)
        name = wording.fill(decision.name, known)
        if template := _template(terms, decision, item):
            text = fill(template, known)
            named = self._several and template != decision.question
            return f"{name}: {text}" if named else text
        context = terms.context
        if fill is wording.fill_content:  # a title counts as a phrase does, also where it is alone
            context, fill = fill(self.unfilled, terms.values) or context, wording.fill_phrases
        about = wording.sentence(wording.summary(item.context or context))
        itself = item.name == name or item == self._own
        title = "" if itself else f": {fill('{title}', {'title': item.name})}"
        return f"{about} {name.rstrip('?')}{title}?"

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

    def label(self, place: Level, code: str) -> str | None:
        place, code = _climb(place, code)
        option = find(place.options, code)
        return option.label if option is not None else "Back" if not code else None

    def resolve(self, place: Level, typed: str) -> str | None:
        """The path that a typed code or path names, also behind Other, then on the levels above."""
        wanted = typed.strip().strip("/").upper()
        for height, level in enumerate((place, *place.above)):
            by_case = {"/".join(path).upper(): "/".join(path) for path, _ in walk(level.options)}
            within = wanted.removeprefix("/".join((*level.path, "")).upper())
            behind = f"{level.menu.code}/{wanted}".upper() if level.menu is not None else wanted
            if found := by_case.get(wanted) or by_case.get(within) or by_case.get(behind):
                return BACK * height + found
        return None

    def gather(self, place: Level, codes: Sequence[str]) -> list[Level]:
        """What is added to a level above is chosen there at once, as what led here was."""
        opened, found = list[Level](), [_climb(place, code) for code in codes]
        if not all(level.multi for level, _ in found):
            return []
        for level, code in found:
            if level.path != place.path:
                chosen = (*level.gathered, code)
                opened += self.choose(level, chosen)
                kept = replace(level.keep(chosen), above=())
                above = [kept if one.path == level.path else one for one in place.above]
                place = replace(place, above=tuple(above))
        return [self._tick(place, codes), *opened]

    def _tick(self, place: Level, codes: Iterable[str]) -> Level:
        return super()._tick(place, [code for code in codes if not code.startswith(BACK)])

    def _pick(self, place: Level, answer: Answer) -> list[Level]:
        """What leads out of an opened menu is chosen on its own level, or shows that again; on a
        further page, `<` turns back first.
        """
        up = next((c for c in answer.picked if place.above and c.startswith(BACK)), "")
        if not up or (up == BACK and go_back(place)):
            return super()._pick(place, answer)
        kept, (level, code) = self._tick(place, answer.picked), _climb(place, up)
        way = place.path[len(level.path) :]
        leaves = ["/".join((*way, leaf)) for leaf in kept.keep(kept.gathered).gathered]
        level = self._tick(level, leaves)  # what was chosen below stands
        if code:
            found = [_climb(place, one) for one in answer.picked]
            picked = tuple(one for at, one in found if at.path == level.path)
            return super()._pick(level, replace(answer, picked=picked))
        if answer.raw is not None:
            self.note("matched", place, "> Matched: Back")
        return [replace(level, why="Back to the options before.")]

    def explain(self, place: Level, question: Question, *, deep: bool) -> str:
        """The question, every option with its description, and (deep) all that each leads to."""
        lines = [question.text, ""]
        for option in place.options:
            lines.append(_line(option))
            if deep:
                below = walk(option.options)
                lines += [f"{'  ' * len(path)}{_line(child)}" for path, child in below]
            elif option.options:
                lines.append(f"  leads to: {', '.join(child.label for child in option.options)}")
        if deep and place.item.context:
            lines += ["", place.item.context]
        earlier = (
            f"{record.item.name}: {chosen}"
            for record in self.all_records()
            if (chosen := ", ".join(part.label for part in record.parts.get(place.root, [])))
        )
        if deep and (said := "; ".join(earlier)):
            lines += ["", f"Chosen for other items so far: {said}"]
        return "\n".join(lines)

    def keep_words(self, place: Level, words: str) -> str:
        """Words beside More… are one of several answers."""
        self._record(place, place.words("custom", words))
        return ""

    def choose(
        self, place: Level, codes: Sequence[str], words: str = "", kind: str = ""
    ) -> list[Level]:
        """Leaves are settled and found chosen by who comes back up; branches open their level."""
        in_order = sorted(codes, key=lambda code: place.part(code).order)
        place = place.keep(in_order)
        opened = [level for code in in_order for level in self._open(place, code)]
        if words:
            self._record(place, place.words(kind, words))
        return opened

    def _open(self, place: Level, code: str) -> list[Level]:
        option = trace(place.options, code)[-1]
        if option is place.menu:
            return self._blank(place)
        if option.options:
            return [_below(place, code, f"{option.label}: here are its options.")]
        self._record(place, place.part(code))
        return []

    def open_menu(self, place: Level) -> list[Level] | None:
        """The options behind Other; a single one is taken, unless taking it does something."""
        menu = place.menu
        if menu is None or not menu.options:
            return None
        opened = self.choose(place, place.gathered)
        if len(menu.options) == 1 and self.take_only:
            only = menu.options[0]
            self.note("matched", place, f"> Matched: {only.label}")
            return [*opened, *self._open(place, f"{menu.code}/{only.code}")]
        place, why = place.keep(place.gathered), "Other: here are the further options."
        return [*opened, replace(_below(place, menu.code, why), in_menu=True)]

    def force(self, place: Level, code: str) -> list[Level]:
        """`!CODE/SUB` is that path, whatever lies behind it."""
        place, code = _climb(place, code)
        self._record(place, place.part(code))
        return self.choose(place, place.gathered)

    def _record(self, place: Level, part: Part) -> None:
        record = self.record_of(place.item)
        record.add(place.root, part)
        record.values[place.root] = place.tell_values()
        if place.hands:
            record.hands.setdefault(place.root, []).extend(place.hands)

    def ask_aside(self, place: Level, question: Question, name: str) -> Steps[list[Level]]:
        """Another tree is asked inline; what comes of it is kept, and the question comes again."""
        tree = next((tree for tree in self.terms.trees if tree.name == name), None)
        if tree is None or level_problems(tree) or self.depth >= DEEPEST_ASIDE:
            return self.again(place, f"There is no tree {name} here.")
        own = {"tree": tree, "items": (place.item,), "question": "", "extras": None, "fields": ()}
        terms = replace(self.terms, require=self.require, **own)
        if place.item == self._own:
            terms = replace(terms, items=(_own_item(terms),))
        try:
            require_slots_filled(terms)
        except ContextRequired as error:
            return self.again(place, f"{tree.name} cannot be asked: {error}.")
        why = f"You asked for {tree.name}. This question comes back after it."
        result = yield from self.run_inside(terms, keys.within(question.key, tree.name), why)
        known = ("item", "itemId", "labels")
        for one in result["chosenItems"]:
            said = {field: one[field] for field in one if field not in known}
            self.record_of(place.item).asides.append({"tree": name} | said)
        return [replace(place, why=f"{tree.name} is decided. Back to the question.")]

    def run_inside(self, terms: Terms, prefix: str, why: str = "") -> Flow:
        """Ask another tree in the middle of this one; the notes go along, and come back."""
        inner = Decider(terms, prefix, self.depth + 1, why)
        inner.notes, self.notes = self.notes, []
        result = yield from inner.flow()
        self.notes = inner.notes
        return result
