"""Commands for those who write trees: `new`, `trees`, `preview`, `schema`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec
from msgspec.structs import replace

from quandary.cli import complain, is_terminal, paint, put, put_json, read_pipe, tell, width
from quandary.cli.console import current_project, open_journal
from quandary.cli.program import PATH, OneSource, require_extra, store_option
from quandary.cli.trees import count_options
from quandary.errors import NotFound, QuandaryError
from quandary.flows.decide import decide
from quandary.flows.wording import find_slots
from quandary.formats.markdown import Codes, Section, parse, plain_name, read_head, writing
from quandary.formats.rules import MOST, question_summary
from quandary.formats.sources import OPTION_FIELDS, Found, in_project, load, load_with_others, split
from quandary.journal import chance
from quandary.journal.counts import occasions
from quandary.model.asks import BUCKETS, Answer, Ask, Item, Reply
from quandary.model.text import count, one_line, printable, shorten, suggest
from quandary.model.tree import OTHER, Decision, Option, Tree
from quandary.settings import KNOWN
from quandary.settings.agents import KEYS
from quandary.settings.files import require_own, write_text

if TYPE_CHECKING:
    from quandary.flows import Flow

NAMES = ("items", "options", "phases", "settings")  # the files with a schema
_FIRST = 3  # so many options stand beside Other, and as many in its menu
_LARGEST = 1 << 20


@click.command(epilog="Exit status: 0 written, 2 not written.")
@click.argument("path", metavar="FILE.md", type=PATH)
@click.option("--name", metavar="NAME", help="The tree's name; by default the file's.")
@click.option("--trigger", metavar="TEXT", help="When it is asked, as a sentence.")
@click.option("--question", metavar="TEXT", help="The question; it may have {slots}.")
@click.option(
    "--option",
    "texts",
    multiple=True,
    metavar="'Label | Description'",
    help="An option, two to six in all; '[CODE] Label | …' gives it a code.",
)
@click.option("--from-questions", "known", metavar="ID", help="Draft it from what a host asked.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@store_option
def new_command(
    path: str,
    name: str | None,
    trigger: str | None,
    question: str | None,
    texts: tuple[str, ...],
    known: str | None,
    force: bool,
    where: str | None,
) -> int:
    """Write a new tree to FILE.md, one that `quandary check` has nothing to say about.

    On a terminal you are asked for what the options leave out. Elsewhere standard input may have
    the options, one on each line. Up to four are asked together; of five or six, the last ones open
    under Other. With --from-questions, the question ID that hosts asked before is the draft; the
    file says how often each option was chosen.
    """
    if not force and os.path.lexists(path):
        raise QuandaryError(f"{path} exists; name another file, or overwrite it with --force")
    stem, drafted, about = os.path.splitext(os.path.basename(path))[0], tuple[Option, ...](), ""
    if known:
        question, drafted, about = _draft_from_journal(where, known, question)
    name = _upper(plain_name(name or _ask("Name", _upper(known or stem))))
    trigger = trigger or _ask("When is it asked?", f"{_title(name)} has to be decided")
    question = question or _ask("Question")
    options = _read_options(texts) or drafted or _read_options(_list_options())
    text = write_tree(name, trigger, question, options, about)
    for found in in_project(os.path.dirname(path) or os.curdir):
        taken = found.tree.name == name and not found.tree.fenced
        if taken and os.path.realpath(found.path) != os.path.realpath(path):
            raise QuandaryError(f"a tree named {name} is at {found}; give another --name")
    require_own(path)
    write_text(path, text)
    tell(f"wrote {path} with {count(len(options), 'option')}; check and edit it as you like")
    return 0


def _upper(name: str) -> str:
    """`deploy-window` as DEPLOY_WINDOW; what is no letter or number parts words."""
    words = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in name)
    return "_".join(words.upper().split()).lstrip("_0123456789") or "DECISION"


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _ask(text: str, usual: str = "") -> str:
    """What the person at the terminal says; elsewhere what is usual."""
    if not is_terminal():
        return usual
    said: str = click.prompt(text, default=usual or None, err=True)
    return said.strip()


def _list_options() -> Iterator[str]:
    """Options as lines: those of standard input, or typed until an empty one."""
    if not is_terminal():
        yield from read_pipe(_LARGEST).split("\n")
        return
    tell("Options, two to six, each as: Label | what it leads to. An empty line ends the list.")
    for number in range(1, 2 * _FIRST + 1):
        line = click.prompt(f"Option {number}", default="", show_default=False, err=True).strip()
        if not line:
            return
        yield line if "|" in line else f"{line} | {_ask('  What does it lead to?')}"


def _read_options(texts: Iterable[str]) -> tuple[Option, ...]:
    """`[CODE] Label | Description`, of which the code may be left out."""
    parts = [text.strip().removeprefix("- ").partition("|") for text in texts if text.strip()]
    heads = [(read_head(head.strip()), " ".join(rest.split())) for head, _, rest in parts]
    codes = Codes(head.code for head, _ in heads if head.code)
    coded = [(head.code or codes.derive(head.label), head, about) for head, about in heads]
    return tuple(Option(code, head.label, about, head.multi) for code, head, about in coded)


def write_tree(
    name: str, trigger: str, question: str, options: tuple[Option, ...], about: str = ""
) -> str:
    """The file: a title, what is to be known about it, and a tree that no rule complains about."""
    trigger, question = " ".join(trigger.split()), " ".join(question.split())
    if not question or not options:
        missing = "question; give --question" if not question else "option; give two with --option"
        raise QuandaryError(f"there is no {missing}; nothing was written")
    if len(options) > 2 * _FIRST:
        listed = f"{len(options)} options are more than a tree asks well"
        raise QuandaryError(f"{listed}; give up to six, or ask with quandary split")
    shape: Literal["free", ""] = "free"
    if len(options) > MOST:
        rest = Option(OTHER, "Other", options=options[_FIRST:])
        options, shape = (*options[:_FIRST], rest), ""
    decisions = (Decision(_title(name), options),)
    tree = Tree(name, decisions, trigger=trigger, question=question, shape=shape)
    if any(question_summary(Section(tree))):
        tree = replace(tree, question=f"{trigger.rstrip('.')}. {question}")
    text = "\n\n".join(filter(None, (f"# {_title(name)}", about, writing.format(tree))))
    document = parse(text)
    for problem in document.diagnostics:
        raise QuandaryError(f"{problem.message}; nothing was written")
    if document.trees != (tree,):
        raise QuandaryError("these words cannot stand in a tree; write plainer ones")
    return text


def _draft_from_journal(
    where: str | None, known: str, question: str | None
) -> tuple[str, tuple[Option, ...], str]:
    """Question, options and a paragraph about them, as hosts asked it in this project."""
    store = open_journal(where, existing=True, notify=False)
    asked = occasions(store, current_project())
    every = [one for one in asked if store.require_run(one.run).flow == "question"]
    found = [occasion for occasion in every if occasion.id == known]
    if not found:
        hint = suggest(known, {occasion.id for occasion in every}, "see `quandary stats`")
        raise NotFound(f"no host asked a question {known} in this project; {hint}")
    chosen = Counter(said for occasion in found for said in occasion.answer)
    entries = (e for one in reversed(found) for e in store.entries(one.run, kinds=("asked",)))
    shown = [ask.questions[0] for entry in entries if (ask := entry.read_matter().ask)]
    codes, several = Codes(()), shown[0].multi
    options = tuple(
        Option(
            codes.derive(choice.label),
            _label(choice.label, several=several),
            one_line(choice.description) or f"Chosen {count(chosen[choice.label], 'time')} before",
            several,
        )
        for choice in shown[0].choices
    )
    offered = dict.fromkeys(choice.label for each in shown for choice in each.choices)
    told = ", ".join(f"“{one_line(label)}” {chosen[label]}" for label in {**offered, **chosen})
    about = f"Drafted from `{known}`, asked {count(len(found), 'time')}; chosen: {told}."
    return question or one_line(shown[0].text), options, about


def _label(text: str, *, several: bool) -> str:
    """A label as the rules want it: no dots at its end, no comma where several can be chosen."""
    label = one_line(text).rstrip(".… ")
    return label.replace(",", ";") if several else label


@click.command()
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def trees_command(form: str) -> int:
    """List the trees of the project: name, file, decisions, and when each is asked."""
    found = [one for one in in_project(os.curdir) if not one.tree.fenced]
    if form == "json":
        listed = [
            {
                "name": tree.name,
                "path": path,
                "line": tree.line,
                "trigger": tree.trigger or None,
                "decisions": [count_options(decision) for decision in tree.decisions],
            }
            for path, tree in found
        ]
        put_json({"trees": listed})
        return 0
    columns = [max((len(text(one)) for one in found), default=0) for text in (_name, str)]
    for one in found:
        decisions = ", ".join(decision.name for decision in one.tree.decisions)
        about = printable(": ".join(filter(None, (decisions, one.tree.trigger))))
        if sys.stdout.isatty():
            about = shorten(about, max(width() - sum(columns) - 4, 20))
        name, place = _name(one).ljust(columns[0]), printable(str(one)).ljust(columns[1])
        put(f"{paint(name, bold=True)}  {place}  {about}".rstrip() + "\n")
    if not found:
        tell("there are no trees in this project; write one with quandary new FILE.md")
    return 0


def _name(found: Found) -> str:
    return printable(found.tree.name)


@click.command(cls=OneSource, epilog="Exit status: 0 shown, 1 it cannot be asked, 2 wrong usage.")
@click.argument("source")
@click.option("--watch", is_flag=True, help="Show it again whenever the file is saved.")
@click.option("--web", is_flag=True, help="Show it in a browser, always up to date.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="For --web; else any port.")
def preview_command(source: str, watch: bool, web: bool, port: int) -> int:
    """Show what a person will be asked with the tree SOURCE: every level, with a made-up item.

    Nothing is asked and nothing is recorded. On a terminal you see the question box; in a pipe, the
    same as text.
    """
    path = split(source)[0]
    if path == "-":
        raise click.UsageError("name a file; standard input cannot be looked at again")
    if path is None:
        name = load(source).name
        path = next(found.path for found in in_project(os.curdir) if found.tree.name == name)
    if web:
        return _preview_in_browser(source, path, port)
    if not watch:
        _preview(source)
        return 0
    seen: object = None
    while True:
        now = _stamp(path)
        if now != seen:
            seen = now
            if sys.stdout.isatty():
                click.clear()
            try:
                _preview(source)
            except QuandaryError as error:
                complain(str(error))
            tell(f"{path} is watched (Ctrl-C to stop)")
        chance.sleep(_PAUSE)


_PAUSE = 0.25  # seconds between two looks at a file


def _stamp(path: str) -> object:
    """What differs when a file was saved; nothing while there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _preview(source: str) -> None:
    from quandary.doors import terminal  # noqa: PLC0415 - only for people

    for name, ask in list_levels(*load_with_others(source)):
        put(paint(f"── {printable(name)} ──", bold=True) + "\n")
        terminal.show(ask)


def _preview_in_browser(source: str, path: str, port: int) -> int:
    with require_extra("web", "the browser needs"):
        import uvicorn  # noqa: PLC0415 - an extra, and slow

        from quandary.doors.web.app import create_preview  # noqa: PLC0415 - the same
    from quandary.cli.servers import bind  # noqa: PLC0415 - the same

    def look() -> tuple[Tree, list[tuple[str, Ask]]]:
        tree, others = load_with_others(source)
        return tree, list(list_levels(tree, others))

    look()
    bound = bind("127.0.0.1", port)
    port = bound.getsockname()[1]
    app = create_preview(path, port, look, lambda: _stamp(path))
    tell(f"Preview on http://127.0.0.1:{port}/ (Ctrl-C to stop)")
    config = uvicorn.Config(app, ws="none", log_config=None, timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[bound])
    return 0


_CONTEXT = "What has to be decided stands here, and all that somebody new to it needs to know."
_ITEM = Item("1", "An item", "a made-up item", "What is to be known about this item stands here.")
_WORDS = "own words"


def list_levels(tree: Tree, others: Sequence[Tree] = ()) -> Iterator[tuple[str, Ask]]:
    """Every Ask that choosing can lead to, each once, and by which choices a person comes to it."""
    begin = partial(decide, tree, [_ITEM], context=_CONTEXT, values=_fill(tree), trees=others)
    seen: set[tuple[object, ...]] = set()
    waiting: list[tuple[str, tuple[Reply, ...]]] = [(tree.name, ())]
    while waiting:
        name, replies = waiting.pop(0)
        ask = _follow(begin(), replies)
        if ask is None:
            continue
        shown = tuple((question.text, question.choices) for question in ask.questions)
        if shown in seen:
            continue  # behind the last page comes the first one
        seen.add(shown)
        yield name, ask
        for question in ask.questions:
            ways = [(choice.label, (choice.code,)) for choice in question.choices]
            for label, picked in [*ways, *([("Other", ())] if question.menu else [])]:
                # Nothing is left to ask then about the questions beside it.
                answers = {q.key: Answer(q.key, text=_WORDS, raw=_WORDS) for q in ask.questions}
                answers[question.key] = Answer(question.key, picked=picked)
                waiting.append((f"{name} › {label}", (*replies, Reply(tuple(answers.values())))))


def _fill(tree: Tree) -> dict[str, str]:
    """Something for every slot that no item fills."""
    texts = [tree.question, *(extra.text for extra in tree.extras)]
    for decision in tree.decisions:
        texts += [decision.question, *(f"{o.label} {o.description}" for _, o in decision.walk())]
    own = {"id", "label", "title", "context"}
    return {name: f"some {name}" for name in find_slots(" ".join(texts)) if name not in own}


def _follow(flow: Flow, replies: Sequence[Reply]) -> Ask | None:
    """What is asked after these replies; nothing where they settle all of it."""
    request = next(flow)
    try:
        for reply in replies:
            request = flow.send(reply)
    except StopIteration:
        return None
    return request if isinstance(request, Ask) else None


@click.command()
@click.argument("name", type=click.Choice(NAMES))
def schema_command(name: str) -> int:
    """Print the JSON Schema of items, options (of a split), phases or settings, for editors."""
    put_json(make_schema(name), indent=2)
    return 0


_NAMED = {"type": "string", "pattern": r"\S"}
_TYPES = {str: "string", int: "integer", bool: "boolean"}


def make_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of files that people write, so that editors can complete and check them. What
    has a type of ours is described by that; the rest stands in `schemas.json`. A test compares them
    with what the program accepts.
    """
    with open(os.path.join(os.path.dirname(__file__), "schemas.json"), "rb") as file:
        schema: dict[str, Any] = msgspec.json.decode(file.read())[name]
    if name == "options":
        fields = {field: _of(kind) for field, (kind, _) in OPTION_FIELDS.items()}
        spelt = ("".join(f"[{c}{c.upper()}]" for c in bucket) for bucket in BUCKETS)
        any_case = {"type": "string", "pattern": rf"^\s*({'|'.join(spelt)})?\s*$"}
        fields["recommend"] = {"anyOf": [{"enum": [*BUCKETS, None]}, any_case]}
        schema["items"]["properties"] = {**fields, **dict.fromkeys(("key", "title"), _NAMED)}
    elif name == "settings":
        own = schema["properties"]
        for key, kind in KNOWN.items():
            own.setdefault(key, {"type": _TYPES.get(kind, "object")})
        own |= {key.upper(): own[key] for key, kind in KNOWN.items() if kind in _TYPES}
        table = own["agents"]["additionalProperties"]
        table["properties"] = {key: _of(kind) for key, (kind, _) in KEYS.items()}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _of(kind: object) -> Any:  # noqa: ANN401 - a schema
    """A type's schema; the end of a text is written as editors know it."""
    written = msgspec.json.encode(msgspec.json.schema(kind)).replace(rb"\\Z", b"$")
    return msgspec.json.decode(written)
