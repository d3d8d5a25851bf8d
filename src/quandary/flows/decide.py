"""Walk a decision tree with a person, item by item, four questions at a time.

A `Place` is a level of the tree for one item. One answer to a place records paths and leaves
further places open; the loop below only asks and collects.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from quandary.errors import ContextRequired, QuandaryError, Rejected
from quandary.flows import wording
from quandary.flows.asking import DEEPEST_ASIDE, Asker, Terms
from quandary.flows.explaining import explain
from quandary.flows.places import Place, Record, level_problems
from quandary.model import keys
from quandary.model.ask import (
    MORE,
    Answer,
    Ask,
    Item,
    Kind,
    Limits,
    Note,
    Question,
    Reply,
)
from quandary.model.call import Call, Do, Done, Output
from quandary.model.tree import Extra, Tree, is_multi, trace

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from quandary.flows import Flow, Request, Response

    Steps = Generator[Request, Response, list[Place]]

VERSION = 1
_ID = re.compile(r"(?:[A-Za-z][\w-]*/)?\d+(?:\.(?:\d+|[A-Z]+))*(?:/\d+)?", re.ASCII)


def start(arguments: dict[str, Any]) -> Flow:
    """The flow that a journal's `began` describes."""
    return _flow(msgspec.convert(arguments, Terms))


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
) -> Flow:
    """Ask about every item until each has a path through the tree."""
    terms = Terms(
        tree,
        context,
        tuple(items),
        question,
        None if extras is None else tuple(extras),
        kind,
        limits or Limits(),
        tuple(trees),
        advisor,
        dict(values or {}),
    )
    return _flow(terms)


def _flow(terms: Terms) -> Flow:
    """Refuse at once what cannot be asked well, before anyone is asked anything."""
    problems = level_problems(terms.tree)
    if problems:
        raise Rejected(f"{terms.tree.name} cannot be asked: {'; '.join(problems)}")
    if not terms.context.strip():
        raise ContextRequired("a question needs context: say what is decided and why (--context)")
    terms = replace(terms, context=wording.fill(terms.context, terms.values))
    wording.require_filled(terms.context, "the context")
    items = terms.items or (_sole_item(terms.tree),)
    seen: set[str] = set()
    for item in items:
        if not _ID.fullmatch(item.id):
            raise QuandaryError(f"item id {item.id!r}: write it like 1, 2.3, 1.3/2 or SLUG/4.2/1")
        if item.id in seen:
            raise QuandaryError(f"two items have the id {item.id}; each needs its own")
        seen.add(item.id)
        wording.require_filled(item.context, f"the context of item {item.id}")
    walk = Walk(replace(terms, items=items))
    for item in items:
        for root in range(len(terms.tree.decisions)):
            wording.require_filled(
                walk.asker.root_text(item, root),
                f"the question on item {item.id}",
                item.title or item.label,
            )
    return walk.flow()


def _sole_item(tree: Tree) -> Item:
    name = tree.decisions[0].name if tree.decisions else tree.name
    return Item("1", label=name, title=name)


class Walk:
    """The items of one run, and what has been settled about them."""

    def __init__(
        self,
        terms: Terms,
        prefix: str = "",
        depth: int = 0,
        why: str = "",
        *,
        take_only: bool = True,
    ) -> None:
        self.terms = terms
        self.depth = depth
        self.take_only = take_only
        self.why = why
        self.asker = Asker(terms, prefix, depth)
        self.notes: list[Note] = []
        self.records = {item.id: Record(item) for item in terms.items}

    def flow(self) -> Flow:
        """Batch after batch, as many questions at a time as the host shows."""
        roots = len(self.terms.tree.decisions)
        room = max(self.terms.limits.questions, 1)
        size = max(room // roots, 1)
        items = self.terms.items
        for begin in range(0, len(items), size):
            places = [
                Place(item, root, decision.options, why=self.why)
                for item in items[begin : begin + size]
                for root, decision in enumerate(self.terms.tree.decisions)
            ]
            for first in range(0, len(places), room):
                yield from self.settle(places[first : first + room])
        return self.result()

    def settle(self, places: list[Place]) -> Generator[Request, Response, None]:
        """Ask these together; then what each answer leaves open, one question at a time."""
        batch = places
        while batch:
            asked = [(place, self.asker.question(place)) for place in batch]
            reply = yield self._ask(asked)
            unanswered: list[Place] = []
            follow_ups: list[Place] = []
            for place, question in asked:
                answer = _answer(reply, question.key)
                if answer is None:
                    unanswered.append(replace(place, why="It has no answer yet."))
                else:
                    follow_ups += yield from self._take(place, question, answer)
            while follow_ups:
                place = follow_ups.pop(0)
                question = self.asker.question(place)
                reply = yield self._ask([(place, question)])
                answer = _answer(reply, question.key)
                if answer is None:
                    follow_ups.insert(0, replace(place, why="It has no answer yet."))
                else:
                    follow_ups = [*(yield from self._take(place, question, answer)), *follow_ups]
            batch = unanswered

    def _ask(self, asked: list[tuple[Place, Question]]) -> Ask:
        notes, self.notes = tuple(self.notes), []
        return self.asker.ask(asked, (*notes, *(n for place, _ in asked for n in place.notes)))

    # -- an answer, and what it leaves open ----------------------------------------------------

    def _take(self, place: Place, question: Question, answer: Answer) -> Steps:
        """Record what an answer settles; give back the places it leaves open."""
        record = self.records[place.item.id]
        among = place.among if MORE in answer.picked else ()
        if place.why or place.notes or place.among:
            place = replace(place, why="", notes=(), among=among)
        if answer.prefix or answer.among or answer.tree or answer.advice or answer.extra:
            # What was ticked beside a text that is no option stays ticked.
            ticked = [code for code in answer.picked if place.find(code) is not None]
            gathered = tuple(dict.fromkeys((*place.gathered, *ticked)))
            place = replace(place, gathered=gathered if is_multi(place.options) else ())
        if answer.comment:
            record.comments.append(answer.comment)
        if answer.prefix:
            return (yield from self._prefixed(place, question, answer))
        if answer.tree:
            return (yield from self._aside(place, question, answer))
        return self._settled(place, question, answer)

    def _settled(self, place: Place, question: Question, answer: Answer) -> list[Place]:
        if answer.advice:
            return self._advised(place, answer)
        if answer.among:
            why = f"“{answer.text}” fits more than one option. Which is meant?"
            return [replace(place, why=why, among=answer.among, turned=0)]
        if answer.extra:
            return self._extra(place, question, answer)
        return self._blank(place) if answer.blank else self._picked(place, answer)

    def _picked(self, place: Place, answer: Answer) -> list[Place]:
        """Leaves are settled, branches open their own level, More… the next page."""
        codes = [code for code in answer.picked if code != MORE]
        gathered = tuple(dict.fromkeys((*place.gathered, *codes)))
        own_words = (answer.text or "").strip()
        if MORE in answer.picked:
            if own_words and is_multi(place.options):
                self.records[place.item.id].add(place.root, place.words("custom", own_words))
            return [replace(_next_page(place), gathered=gathered)]
        unknown = [code for code in gathered if place.find(code) is None]
        if unknown:
            return self._again(place, f"There is no option {', '.join(unknown)} here.")
        if len(gathered) + bool(own_words) > 1 and not is_multi(place.options):
            return self._again(place, "Only one option can be chosen here.")
        if answer.raw is not None and codes:
            labels = ", ".join(found.label for code in codes if (found := place.find(code)))
            self._note("matched", place, f"> Matched: {labels}")
        open_places = self._all_chosen(place, gathered)
        if own_words:
            self.records[place.item.id].add(place.root, place.words("custom", own_words))
        return open_places

    def _all_chosen(self, place: Place, codes: tuple[str, ...]) -> list[Place]:
        """Several options of a level, in the tree's order."""
        return [opened for code in place.in_order(codes) for opened in self._chosen(place, code)]

    def _chosen(self, place: Place, code: str) -> list[Place]:
        option = place.find(code)
        if option is None:
            return []
        if place.menu is not None and option is place.menu:
            return self._blank(replace(place, gathered=()))
        if option.options:
            path = (*place.path, *(step.code for step in trace(place.options, code)))
            why = f"{option.label}: there is more to choose from."
            order = place.part(code).order
            return [Place(place.item, place.root, option.options, path, order, why=why)]
        self.records[place.item.id].add(place.root, place.part(code))
        return []

    def _blank(self, place: Place) -> list[Place]:
        """Other left blank opens its menu; with one option in it, that one is taken.

        Where taking it does something, it is shown first: a blank has not chosen it.
        """
        menu = place.menu
        if menu is None or not menu.options:
            return self._again(place, "Other was left empty, and there is nothing behind it.")
        opened = self._all_chosen(replace(place, gathered=()), place.gathered)
        if len(menu.options) == 1 and self.take_only:
            only = menu.options[0]
            self._note("matched", place, f"> Matched: {only.label}")
            return [*opened, *self._chosen(place, f"{menu.code}/{only.code}")]
        path, order = (*place.path, menu.code), place.part(menu.code).order
        why = "Other: here is what else there is."
        return [
            *opened,
            Place(place.item, place.root, menu.options, path, order, why=why, in_menu=True),
        ]

    def _extra(self, place: Place, question: Question, answer: Answer) -> list[Place]:
        extra = next((e for e in question.extras if e.letter == answer.extra), None)
        if extra is None:
            return self._again(place, f"There is no {answer.extra} here.")
        self._note("matched", place, f"> Matched: {extra.text}")
        self.records[place.item.id].add(place.root, place.words("smart", extra.text))
        return self._all_chosen(replace(place, gathered=()), place.gathered)

    def _advised(self, place: Place, answer: Answer) -> list[Place]:
        self._note("advice", place, answer.advice)
        return [replace(place, why=answer.advice, offers=(*place.offers, *answer.offers))]

    # -- prefixes ------------------------------------------------------------------------------

    def _prefixed(self, place: Place, question: Question, answer: Answer) -> Steps:
        argument = answer.argument
        if answer.prefix == "force":
            return self._forced(place, argument)
        if answer.prefix == "tag":
            return self._tagged(place, argument.lstrip("#").strip())
        if answer.prefix == "add":
            return self._added(place, argument)
        if answer.prefix == "reference":
            return (yield from self._referred(place, question, argument))
        if answer.prefix == "question":
            return (yield from self._questioned(place, question, argument))
        deep = answer.prefix == "deep"
        earlier = [r.path(place.root) for r in self.records.values() if r.path(place.root)]
        why = explain(place, question, deep=deep, earlier=earlier)
        if self.terms.advisor:
            said = yield from self._consult(question, f"Explain this question.\n\n{why}")
            why = f"{why}\n\n{said}" if said else why
        return self._again(place, why, kind="explained")

    def _tagged(self, place: Place, tag: str) -> list[Place]:
        if not tag:
            return self._again(place, "# needs a name behind it.")
        self.records[place.item.id].tags.append(tag)
        return self._again(place, f"Tagged #{tag}.", kind="tagged")

    def _forced(self, place: Place, argument: str) -> list[Place]:
        """`!CODE/SUB` is that path at once; `!skip` and `!dismiss` are answers of their own."""
        word = argument.strip().casefold()
        record = self.records[place.item.id]
        if word in ("", "skip", "dismiss"):
            record.add(place.root, place.words("force", word or "skip"))
            return []
        code = place.resolve(argument.strip())
        if code is None:
            return self._again(place, f"There is no option {argument.strip()} here.")
        record.add(place.root, place.part(code))
        return self._all_chosen(replace(place, gathered=()), place.gathered)

    def _added(self, place: Place, argument: str) -> list[Place]:
        codes = [place.resolve(word) for word in re.split(r"[\s,]+", argument.strip()) if word]
        if not codes or None in codes or not is_multi(place.options):
            return self._again(place, f"{argument.strip() or '+'} cannot be added here.")
        gathered = tuple(dict.fromkeys((*place.gathered, *(code for code in codes if code))))
        labels = ", ".join(found.label for code in gathered if (found := place.find(code)))
        return [replace(place, gathered=gathered, why=f"Chosen so far: {labels}. What else?")]

    def _referred(self, place: Place, question: Question, path: str) -> Steps:
        done = yield Do(f"{question.key}+file", "read-file", path.strip())
        if not isinstance(done, Done):
            raise TypeError("a deed is answered with what was done")
        if done.error:
            return self._again(place, done.error)
        return self._again(place, f"{path.strip()}:\n\n{done.text}", kind="reference")

    def _questioned(self, place: Place, question: Question, asked: str) -> Steps:
        if not asked.strip():
            return self._again(place, "Q: needs a question behind it.")
        self.records[place.item.id].notes.append(asked)
        if not self.terms.advisor:
            why = f"You asked: {asked}\nThe question is kept and waits for an answer."
            # Told when the item is shown again: whoever answers it, answers what waits then.
            return [replace(place, why=why, notes=(Note("question", asked, place.item.id),))]
        prompt = f"{explain(place, question, deep=True, earlier=[])}\n\nThe person asks: {asked}"
        said = yield from self._consult(question, prompt)
        return self._again(
            place, f"You asked: {asked}\n\n{said or 'Nobody could say.'}", kind="advice"
        )

    def _consult(self, question: Question, prompt: str) -> Generator[Request, Response, str]:
        output = yield Call(f"{question.key}+advice", self.terms.advisor, prompt)
        if not isinstance(output, Output):
            raise TypeError("a call is answered with its output")
        return "" if output.error else output.text.strip()

    def _aside(self, place: Place, question: Question, answer: Answer) -> Steps:
        """Another tree is asked inline; what comes of it is kept, and the question comes again."""
        tree = next((t for t in self.terms.trees if t.name == answer.tree), None)
        if tree is None or level_problems(tree) or self.depth >= DEEPEST_ASIDE:
            return self._again(place, f"There is no tree {answer.tree} at hand.")
        terms = replace(self.terms, tree=tree, items=(place.item,), question="", extras=None)
        prefix = keys.within(question.key, tree.name, "")
        why = f"You asked for {tree.name}. The question comes again when that is settled."
        inner = Walk(terms, prefix, self.depth + 1, why)
        inner.notes, self.notes = self.notes, []
        result = yield from inner.flow()
        self.notes = inner.notes
        for chosen in result["chosenItems"]:
            kept = {"tree": tree.name, "path": chosen["path"]}
            self.records[place.item.id].asides.append(kept)
        return [replace(place, why=f"{tree.name} is settled. Back to the question.")]

    def _again(self, place: Place, why: str, *, kind: str = "refused") -> list[Place]:
        """The same question once more, for this item only, saying why it is back."""
        self._note(kind, place, why)
        return [replace(place, why=why)]

    def _note(self, kind: str, place: Place, text: str) -> None:
        self.notes.append(Note(kind, text, place.item.id))

    # -- the end ---------------------------------------------------------------------------------

    def result(self) -> dict[str, Any]:
        """A path for every item and decision, with what was said beside it."""
        tree = self.terms.tree
        several = len(tree.decisions) > 1
        chosen: list[dict[str, Any]] = []
        for record in self.records.values():
            for root, decision in enumerate(tree.decisions):
                entry = record.chosen(root)
                if several:
                    entry["decision"] = decision.name
                chosen.append(entry)
        name = tree.name if several else tree.decisions[0].name
        result: dict[str, Any] = {"treeName": name, "chosenItems": chosen}
        if self.notes and not self.depth:
            result["notes"] = [msgspec.to_builtins(note) for note in self.notes]
        return result


def _next_page(place: Place) -> Place:
    """The page behind the one at hand, of the level or of the options that are asked about."""
    if place.among:
        return replace(place, turned=place.turned + 1)
    return replace(place, page=place.page + 1)


def _answer(reply: Response, key: str) -> Answer | None:
    if not isinstance(reply, Reply):
        raise TypeError("an Ask is answered with a Reply")
    return reply.to(key)
