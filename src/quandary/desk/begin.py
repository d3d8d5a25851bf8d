"""Beginning a run: what a caller can ask for at any door, and the flow's arguments made of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from quandary.desk import sheets
from quandary.desk.attachments import Attached, Attaching, take
from quandary.desk.authority import Caller, require_may
from quandary.desk.notices import choose_addresses
from quandary.desk.reply import arguments_of, finish
from quandary.errors import ContextRequired, QuandaryError, Rejected, Reused
from quandary.formats import sources
from quandary.formats.markdown import Codes
from quandary.journal import chance, runs
from quandary.journal.entries import Asker, sha256
from quandary.model.asks import MARK, Limits, Note, Required
from quandary.model.text import shorten
from quandary.model.tree import OTHER, Decision, Option, Tree
from quandary.settings import project_of, read_reader, read_settings, user_settings

if TYPE_CHECKING:
    from quandary.desk.plans import Agents
    from quandary.journal.store import State, Store

_AGE = re.compile(r"(\d+)\s*([smhdw])")
LONGEST_AGE = 1_000
LARGEST_INPUT = 256 * 1024  # bytes that a permit is for; nobody looks at more
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

Items = Annotated[
    list[dict[str, Any]],
    Meta(description="One object each: id, label, title, context, question; others fill {slots}."),
]
Person = Annotated[
    bool, Meta(description="Only a person's own answer, at a terminal or in the browser, counts.")
]
By = Annotated[
    str, Meta(max_length=200, description="Who asks: your name, or what you are at work on.")
]
Values = Annotated[dict[str, str], Meta(description="What fills {slots} in questions.")]


class Offered(Struct, forbid_unknown_fields=True):
    """Something that can be chosen."""

    label: str
    description: str = ""
    code: Annotated[str, Meta(description="By default one is made from the label.")] = ""


Attach = Annotated[
    list[Attaching], Meta(description="Files to show beside the question; at most 5 MB each.")
]


class Asking(Struct, forbid_unknown_fields=True):
    """Ask the person to decide about one or many items, with a decision tree; get the path chosen.

    The person sees a form in this client if it can show one; else you get a question to relay.
    """

    context: Annotated[str, Meta(description="What is decided and why, for somebody new to it.")]
    source: Annotated[str, Meta(description="The tree: file.md, file.md#NAME, or its NAME.")] = ""
    text: Annotated[str, Meta(description="In place of source: Markdown with the tree.")] = ""
    options: Annotated[
        list[str | Offered],
        Meta(description="In place of a tree: what can be chosen; own words always can."),
    ] = []
    items: Items = []
    question: Annotated[str, Meta(description="The question, where the tree has none.")] = ""
    extras: Annotated[
        list[str],
        Meta(description="Further ways to answer: 'A: text', or 'A? text' to see it first."),
    ] = []
    kind: Annotated[
        Literal["transition", "advisory"] | UnsetType,
        Meta(description="advisory is text for you to show, no form, which disturbs less."),
    ] = UNSET
    values: Values = {}
    fields: Annotated[
        list[str | dict[str, Any]],
        Meta(
            description="Values that the person can edit and that come with the answer: "
            "'name: type = default', or {name, type, default, title, enum, required}."
        ),
    ] = []
    require_person: Person = False
    expires: Annotated[str, Meta(description="Withdraw it after 30m, 12h, 2d …")] = ""
    reuse: Annotated[
        str, Meta(description="Take a person's answer to the very same question, up to 30d … old.")
    ] = ""
    by: By = ""
    callback: Annotated[
        str, Meta(max_length=2_000, description="An address that is told what becomes of it.")
    ] = ""
    attach: Attach = []


class Splitting(Struct, forbid_unknown_fields=True):
    """Ask the person to include, defer or cut every option of a list. Drop none to fit a form.

    They are asked in a form in this client if it can show one; else you get a question to relay.
    """

    options: Annotated[
        list[dict[str, Any]],
        Meta(
            description="One object each: key, title, scope, cost, requires, conflicts, "
            "recommend (include, defer, cut), because. Only key and title are needed."
        ),
    ]
    context: Annotated[str, Meta(description="What is decided and why.")] = ""
    relation: Annotated[
        Literal["independent", "alternatives", "unsure"],
        Meta(description="Whether each is decided by itself, or one of them is chosen."),
    ] = "unsure"
    skill: Annotated[str, Meta(description="Who asks; ids of questions begin with it.")] = ""
    number: Annotated[int, Meta(ge=1, description="Which decision of yours this is.")] = 1
    values: Values = {}
    require_person: Person = False
    by: By = ""
    attach: Attach = []


class Gating(Struct, forbid_unknown_fields=True):
    """At the end of a phase, ask the person whether the track may move on, and where to."""

    folder: Annotated[str, Meta(description="The folder of the track.")]
    proof: Annotated[dict[str, Any], Meta(description="The proof fields of the phase.")] = {}
    custom: Annotated[str, Meta(description="An action of yours: 'Label | Description'.")] = ""
    require_person: Person = False
    items: Items = []
    values: Values = {}
    by: By = ""
    attach: Attach = []


class Walking(Struct, forbid_unknown_fields=True):
    """Begin to run a chart whose steps are done by agents. It continues by itself: see next."""

    source: Annotated[str, Meta(description="file.csv or file.json (Lucid), file.mmd, or a tree.")]
    item: Annotated[
        dict[str, Any], Meta(description="What to walk it for; its fields fill {{slots}}.")
    ] = {}
    page: Annotated[str, Meta(description="The page of the chart to begin on.")] = ""
    cli: Annotated[str, Meta(description="The agent where the chart names none.")] = ""
    workdir: Annotated[str, Meta(description="Where agents work; by default here.")] = ""
    require_person: Person = False
    by: By = ""
    attach: Attach = []


class Permitting(Struct, forbid_unknown_fields=True):
    """Ask a person whether one exact action may be done; then use the permit, once."""

    action: Annotated[str, Meta(description="What is to be done, in a line: 'deploy build 812'.")]
    input: Annotated[str, Meta(description="The exact input; the permit covers nothing else.")] = ""
    reason: Annotated[str, Meta(description="Why it is to be done.")] = ""
    expires: Annotated[str, Meta(description="It can be answered and used for 30m, 2h …")] = ""
    by: By = ""
    attach: Attach = []


Wanted = Asking | Splitting | Gating | Walking


class Beginning(NamedTuple):
    """A flow by its name, its arguments, and those of them that are kept once for all runs."""

    flow: str
    arguments: dict[str, Any]
    documents: dict[str, Any]
    warnings: Sequence[str] = ()  # what the caller should hear of
    attached: Sequence[Attached] = ()
    callback: str = ""  # an address that is told what becomes of the run
    reuse: str = ""  # how old a person's answers to the very same may be that count once more


class Showing(NamedTuple):
    """How the questions of a run are shown."""

    via: str = "relay"  # `terminal`, `text` or `relay`
    host: str = "claude"
    header_max: int | None = None

    def limits(self, *, as_text: bool = False) -> Limits:
        """What fits into one Ask; text is read one question at a time."""
        box = sheets.find_host(self.host).limits
        most = 1 if as_text or self.via == "text" else box.questions
        return Limits(most, box.options, self.header_max)


def begin(
    store: Store,
    caller: Caller,
    beginning: Beginning,
    showing: Showing,
    *,
    expires: str = "",
    origin: str = "",
    key: str = "",
    request: str = "",
    asker: Asker = Asker(),  # noqa: B008 - it cannot be changed
) -> State:
    """Begin a run, and do what the house has to do first.

    Answers of the run `origin` are taken over, or those of a run in which a person answered the
    very same, where they may be used again. The same key never begins two runs for a caller;
    `request` is the digest of what came with it.
    """
    require_may(caller, "begin")
    arguments = {**beginning.arguments, "via": showing.via, "host": showing.host}
    project = caller.scope.project if caller.scope else project_of(os.curdir)
    own = user_settings()
    if beginning.flow != "walk":
        arguments["cwd"] = os.getcwd()
        if agent := read_reader(own.table("reading")):
            arguments["reader"] = agent
    if key:
        arguments["sent"] = request
    documents = dict(beginning.documents)
    if callbacks := choose_addresses(store, caller, beginning.callback, own):
        arguments["callbacks"] = callbacks
    if beginning.attached:
        arguments["attached"] = [msgspec.to_builtins(one.about) for one in beginning.attached]
        documents |= {f"{MARK}{n}": one.data for n, one in enumerate(beginning.attached, 1)}
    note = ""
    if beginning.reuse and not arguments.get("require"):
        from quandary.desk.decisions import find_reusable  # noqa: PLC0415 - rarely wanted

        since = chance.stamp(chance.now() - age(beginning.reuse))
        found, note = find_reusable(store, project, arguments, documents, since)
        origin = found if note else ""
    state = runs.begin(
        store,
        beginning.flow,
        arguments,
        documents=documents,
        project=project,
        **caller.source,
        expires=chance.now() + age(expires) if expires else None,
        origin=runs.find_run(store, origin) if origin else None,
        name=f"asked:{caller.by} {key}" if key else "",
        once=bool(key),
        callbacks=callbacks,
        asker=asker,
    )
    if key:
        elsewhere = store.require_run(state.run).project != project
        if elsewhere or arguments_of(store, state.run).get("sent", "") not in ("", request):
            what = "in another project" if elsewhere else "in other words"
            raise Reused(f"something was asked {what} with the key {key}; ask with another one")
    state = finish(store, caller, state)
    return replace(state, notes=(*state.notes, Note("reused", note))) if note else state


def age(text: str) -> timedelta:
    """`2d` or `1h30m` as a span of time."""
    written, shown = text.strip().lower(), shorten(text, 40)
    # Of a longer text, a pattern would try the rest from every place.
    parts = _AGE.findall(written) if len(text) <= LONGEST_AGE else []
    if not parts or _AGE.sub("", written).strip():
        raise QuandaryError(f"{shown!r} is no age; write it like 30m, 12h or 2d")
    try:
        total = sum((timedelta(**{_UNITS[u]: int(number)}) for number, u in parts), timedelta())
        _ = chance.now() + total, chance.now() - total
    except (OverflowError, ValueError):
        raise QuandaryError(f"{shown!r} is longer than the calendar; write a shorter age") from None
    if not total:
        raise QuandaryError(f"{shown!r} is no time at all; write it like 30m, 12h or 2d")
    return total


def digest_of(*sent: object) -> str:
    """By what something that was sent is known again."""
    return sha256(msgspec.json.encode(sent, order="deterministic")).hexdigest()


def prepare(
    store: Store,
    caller: Caller,
    wanted: Wanted | Permitting,
    showing: Showing,
    agents: Callable[[], Agents] | None = None,
) -> Beginning:
    """What a caller who cannot use our standard input asks for, with what they attach to it."""
    attached = take(caller, wanted.attach)
    if isinstance(wanted, Walking):
        require_may(caller, "start agents")
    own = isinstance(wanted, Asking) and (wanted.text or wanted.options)
    if isinstance(wanted, Asking | Walking) and not own:
        if wanted.source.partition("#")[0] in ("", "-"):
            asked = "tree with source, or give its Markdown as text, or options"
            what = asked if isinstance(wanted, Asking) else "chart with source"
            raise QuandaryError(f"name the {what}")
        require_may(caller, "name a file", path=sources.split(wanted.source)[0])
    if isinstance(wanted, Permitting):
        begun = permit(wanted, showing, caller.by)
    elif isinstance(wanted, Asking):
        begun = decide(wanted, showing)
    elif isinstance(wanted, Splitting):
        begun = split(wanted, showing)
    elif isinstance(wanted, Gating):
        require_may(caller, "name a file", path=wanted.folder)
        begun = gate(store, wanted, showing)
    else:
        require_may(caller, "name a file", path=wanted.workdir or None)
        if agents is None:
            raise Rejected("no agents are called from here")
        begun = walk(wanted, showing, agents())
    return begun._replace(attached=attached)


def decide(wanted: Asking, showing: Showing, advisor: str = "") -> Beginning:
    """Questions from a tree; a tree that is given as text may be one of several there."""
    from quandary.flows.decide import Terms, require_slots_filled  # noqa: PLC0415 - one at a time
    from quandary.formats.proof import declare_fields  # noqa: PLC0415 - the same

    if not wanted.context.strip():
        raise ContextRequired("the context is missing: say what is to be decided and why")
    source = wanted.source
    if wanted.text:
        source = f"-#{source.removeprefix('-').lstrip('#')}".removesuffix("#")
    if wanted.options:
        tree, others = make_tree(wanted), list[Tree]()
    else:
        tree, others = sources.load_with_others(source, wanted.text or None)
    kind = wanted.kind or None
    extras = sources.extras(wanted.extras)
    codes = {option.code.upper() for one in tree.decisions for _, option in one.walk()}
    for taken in (extra.letter for extra in extras or () if extra.letter in codes):
        raise QuandaryError(f"extra {taken} is the code of an option; take another letter")
    terms = Terms(
        tree=tree,
        context=wanted.context,
        items=tuple(sources.from_rows("items", wanted.items)),
        question=wanted.question,
        extras=None if extras is None else tuple(extras),
        kind=kind,
        limits=showing.limits(as_text=(kind or tree.kind) == "advisory"),
        trees=tuple(others),
        advisor=advisor,
        values=wanted.values,
        require=_required(wanted),
        fields=declare_fields(wanted.fields),
    )
    require_slots_filled(terms)
    begun = _beginning("decide", terms, "tree", "trees")
    return begun._replace(callback=wanted.callback, reuse=wanted.reuse)


def make_tree(wanted: Asking) -> Tree:
    """A question with options of its own, in place of a tree; none of them can be mistaken."""
    if wanted.text or wanted.source:
        raise QuandaryError("give a tree or options, not both")
    if not wanted.question.strip():
        raise QuandaryError("options need a question: say with question what is chosen")
    offered = [Offered(one) if isinstance(one, str) else one for one in wanted.options]
    codes = Codes([OTHER, *(one.code for one in offered)])
    seen: set[str] = set()
    for label in (" ".join(one.label.split()) for one in offered):
        if not label or label.casefold() in seen:
            why = f"two options are called {label!r}" if label else "an option has no label"
            raise QuandaryError(f"{why}; each needs one of its own")
        if label.rstrip(".… ").casefold() == "other":
            raise QuandaryError(f"{label!r} is always there, for own words; leave it out")
        seen.add(label.casefold())
    options = tuple(
        Option(one.code or codes.derive(one.label), " ".join(one.label.split()), one.description)
        for one in offered
    )
    name = " ".join(wanted.question.split())
    return Tree(name, (Decision(name, options),), shape="free", bare=True)


def split(wanted: Splitting, showing: Showing) -> Beginning:
    """Questions on a list of options."""
    from quandary.flows.split import Terms  # noqa: PLC0415 - one flow at a time

    terms = Terms(
        options=sources.options_from_rows(wanted.options, "options"),
        skill=wanted.skill,
        relation=wanted.relation,
        number=wanted.number,
        context=wanted.context,
        limits=showing.limits(),
        values={n: v for n, v in wanted.values.items() if v.strip()},  # a blank fills nothing
        require=_required(wanted),
    )
    return _beginning("split", terms, "options")


def gate(store: Store, wanted: Gating, showing: Showing, typed: Iterable[str] = ()) -> Beginning:
    """The menu at the end of a phase.

    At a terminal the person is asked for proof that is missing; elsewhere it is handed back. The
    `typed` fields of the proof were written as text.
    """
    from quandary.desk import phases  # noqa: PLC0415 - one flow at a time
    from quandary.flows import gate as gates  # noqa: PLC0415 - the same
    from quandary.flows.wording import fill, find_slots, require_filled  # noqa: PLC0415 - the same
    from quandary.formats.proof import convert_typed  # noqa: PLC0415 - the same

    folder, kept, stuck = phases.open_track(store, wanted.folder, adopting=True)
    stuck += phases.find_differences(store, folder)
    values = {n: v for n, v in wanted.values.items() if v.strip()}  # a blank fills nothing
    track, said = gates.fill_track(kept.track, values), wanted.custom.partition("|")
    phase = gates.require_begun(track, wanted.folder)
    label, _, description = (fill(part.strip(), values) for part in said)
    require_filled(f"{label} {description}", "the custom action")
    seen = [("the name of a phase", one.title) for one in track.phases]
    seen += [(f"the description of the proof {f.name}", f.description) for f in phase.proof]
    for where, text in seen:  # all but slots was let through when it was declared
        require_filled(" ".join(f"{{{slot}}}" for slot in find_slots(text)), where)
    guarded = wanted.require_person or any(phase.approval for phase in track.phases)
    shown = phases.digest_artifacts(store, folder) if guarded else {}
    base = os.path.realpath(os.curdir)
    proof = convert_typed(phase.proof, wanted.proof, typed)
    terms = gates.Terms(
        folder=folder,
        track=kept.track,
        seen=len(kept.history),
        since=kept.history[-1].at if kept.history else "",
        custom=gates.Custom(label, description) if wanted.custom else None,
        items=gates.fill_items(sources.from_rows("items", wanted.items), values),
        require=_required(wanted),
        at_hand=showing.via == "terminal",
        proof=proof,
        limits=showing.limits(),
        values=values,
        context=gates.describe(os.path.basename(folder), track, phase, shown),
        base=base,
        lacking=phases.find_gaps(folder, phase.proof, proof, base).names,
        shown=shown,
    )
    return _beginning("gate", terms, "track")._replace(warnings=stuck)


def permit(wanted: Permitting, showing: Showing, by: str = "") -> Beginning:
    """A permit for one exact action, refused where no person could judge it."""
    from quandary.flows.permit import Terms  # noqa: PLC0415 - one flow at a time
    from quandary.model.requests import PermitRequest  # noqa: PLC0415 - the same

    if not (action := " ".join(wanted.action.split())):
        raise QuandaryError("the action is missing: say in a line what is to be done")
    if len(wanted.input.encode()) > LARGEST_INPUT:
        raise QuandaryError(
            f"the input is larger than {LARGEST_INPUT // 1024} KiB, and nobody looks through that; "
            "ask about its digest, and check that before you act"
        )
    about = PermitRequest(action, wanted.input, folder=os.getcwd(), reason=wanted.reason)
    return _beginning("permit", Terms(replace(about, asker=by or wanted.by), showing.limits()))


def walk(wanted: Walking, showing: Showing, agents: Agents) -> Beginning:
    """A chart for one item, refused where it cannot be walked before anything is spent on it."""
    from quandary.desk.plans import prepare_walk  # noqa: PLC0415 - one flow at a time
    from quandary.model.asks import Item  # noqa: PLC0415 - the same
    from quandary.settings.trust import require_agents  # noqa: PLC0415 - the same

    rows = [wanted.item] if wanted.item else []
    item = next(iter(sources.from_rows("item", rows, bare=True)), Item("1"))
    walk = prepare_walk(
        wanted.source,
        agents,
        items=[item],
        page=wanted.page,
        workdir=wanted.workdir,
        said={"cli": wanted.cli or None},
    )
    require_agents(read_settings(), walk.folder)
    walk.plan.require_sound()
    agents.require_logins(list(walk.plan.commands), walk.folder)
    return walk.beginning(item, showing, require=_required(wanted))


def _required(wanted: Wanted) -> Required:
    return "person" if wanted.require_person else ""


def _beginning(flow: str, terms: Struct, *documents: str) -> Beginning:
    arguments = msgspec.to_builtins(terms)
    kept = {name: arguments.pop(name) for name in documents if name in arguments}
    return Beginning(flow, arguments, kept)
