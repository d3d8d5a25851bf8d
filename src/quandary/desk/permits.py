"""The one use of a permit, at every door; and rules of the user's that decide requests for one.

A rule reads `allow Bash command='git status' path=src host=claude`: what it does, the tools, and
what else has to fit. Commands are compared by their words. One that is made of several is allowed
only if each of them is, and one that cannot be taken apart for certain is never allowed. Neither is
what cannot be taken back, a hidden file or one outside the project, what a program is told to run
or to write, and what looks like something that a rule denies. What a rule does not decide is asked.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import msgspec

from quandary.errors import AlreadyAnswered, ParseError, Rejected
from quandary.flows.permit import DENY, KEY, ONCE
from quandary.journal import chance, runs
from quandary.journal.entries import Returned, read_beginning
from quandary.model.calls import Done
from quandary.model.requests import (
    OUTSIDE,
    PARTS,
    PLANS,
    QUIET,
    SHELLS,
    PermitRequest,
    digest_input,
    find_one_way,
    find_risks,
)
from quandary.model.text import shorten
from quandary.settings import config_folder, load_toml
from quandary.settings.files import is_inside, project_root, read_text, write_text

if TYPE_CHECKING:
    from quandary.desk.authority import Caller
    from quandary.journal.store import Run, State, Store


def use(store: Store, caller: Caller, run: str, data: bytes | str) -> State:
    """Use what a person allowed: once, for exactly that input, within its time; else say why."""
    row, given = store.require_run(run), digest_input(data)
    if row.flow != "permit":
        raise Rejected(f"run {run} is no permit (it is a {row.flow})")
    if row.expires and chance.stamp(chance.now()) >= row.expires:
        raise Rejected(f"the time of this permit was up at {row.expires}; ask anew")
    state = runs.look(store, run)
    if state.ask is not None:
        raise Rejected(f"nobody has allowed it yet; run {run} waits for a person")
    if state.deed is None:
        raise Rejected(why_over(store, state))
    if given != state.deed.argument:
        raise Rejected(f"the input is another one: {_difference(store, run, data)}")
    used = take_use(store, caller, state)
    if used is None:  # somebody else was quicker, or it was taken back
        raise Rejected(why_over(store, runs.look(store, run)))
    return used


def take_use(store: Store, caller: Caller, state: State) -> State | None:
    """Use a permit that stands like this; nothing where it no longer does."""
    if state.deed is None:
        return None
    try:
        done = Done(state.deed.key, text=state.deed.argument)
        return runs.advance(store, state.run, done, **caller.source)
    except AlreadyAnswered:
        return None


def _difference(store: Store, run: str, data: bytes | str) -> str:
    """What differs between the input that was allowed and another one, in a line."""
    known = runs.answer_of(store, run)
    changed = known[1].raw if known and known[1].key != KEY else ""
    request = (read_beginning(store, run)[1].get("request") or {}).get("input", "")
    text = data.decode(errors="replace") if isinstance(data, bytes) else data
    pair = [PermitRequest("", one).values for one in (request, text)]
    names = sorted({*pair[0], *pair[1]}, key=str)
    unlike = [name for name in names if pair[0].get(name, ...) != pair[1].get(name, ...)]
    if changed or not (all(pair) and unlike):  # with a key twice, values may be alike
        lines = zip_longest(request.splitlines(), text.splitlines())
        found = (n for n, (a, b) in enumerate(lines, 1) if a != b)
        return "it was changed when it was allowed" if changed else f"see line {next(found, 1)}"
    name = unlike[0]
    said = [shorten(repr(one[name])) if name in one else "nothing" for one in pair]
    return f"{name} is {said[1]}, and {said[0]} was allowed"


def why_over(store: Store, state: State) -> str:
    """Why a permit cannot be used any more."""
    result = state.result if isinstance(state.result, dict) else {}
    if state.status == "done" and result.get("used"):
        bodies = (entry.read() for entry in reversed(store.entries(state.run, kinds=("returned",))))
        used = next(body for body in bodies if isinstance(body, Returned))
        return f"this permit was used already, at {used.at} by {used.source.told}; ask anew"
    if state.status == "done":
        said = f": {result['message']}" if result.get("message") else ""
        return f"it was denied{said}"
    why = f": {state.error}" if state.error else ""
    return f"this permit is {state.status}{why}; ask anew"


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SUBSTITUTION = re.compile(r"\$\(([^()'\"\\`]*)\)")
_UNREAD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|\\\n|(?:^|[\s;|&])#|\{[^\s{}]*(?:,|\.\.)")
"""Signs that are no text, lines that go on, comments, braces: shells make other words of them."""
_LONGEST = 20_000  # characters of a command that is taken apart
_OPERATORS = "();<>|&\n"
_LAUNCHERS = re.compile(
    r"(?:.*/)?(?:\.|ash|bash|builtin|bun|busybox|chroot|command|dash|deno|doas|env|eval|exec|fish|flock"
    r"|[gm]?awk|ionice|ksh|lua|nice|node|nohup|npx|parallel|perl|php|python[\d.]*|ruby|script|sed"
    r"|setsid|sh|source|ssh|stdbuf|strace|su|sudo|time|timeout|unshare|uvx?|watch|xargs|zsh)"
)
"""Programs that run whatever they are given; a rule has to say what that is."""
_LAUNCHES = re.compile(
    r"-(?:exec|ok)(?:dir)?|-delete|-fls|-fprint\w*|-(?:toolexec|vettool|exec)=.*", re.DOTALL
)
_OPTIONS = {
    "": "--basetemp --eval --exec --exec-batch --exec-path --ext-diff --open-files-in-pager"
    " --output --pre --receive-pack --rsh --rsync-path --upload-pack -toolexec -vettool",
    "tar": "--absolute-names --checkpoint-action --info-script --new-volume-script --rmt-command"
    " --rsh-command --to-command --use-compress-program -F -I -P",
    "sort": "--compress-program -o",
    "git": "-O",
    "rg": "--follow --hidden --hostname-bin --unrestricted -L -u -.",
    "rsync": "-e",
    "split": "--filter",
    "cargo": "--config",
    "npm": "--node-options --script-shell",
}
"""Options by which programs run others, write and remove files or look at hidden ones, spelt out or
cut short; those of the first line count for all.
"""
_SEARCHES = re.compile(r"[efz]?grep|diff|cp|zip|tar|rsync|scp|ag|ack")
"""Programs that may go through all that is in a folder."""
_MOST_FOLDERS, _MOST_PLACES = 1000, 16
_BESIDE = frozenset({"command", "description", "timeout", "run_in_background"})
"""What may stand beside a command without changing what it does."""
FORM = "write it like: allow Bash command='git status' path=src host=claude"


class Rule(NamedTuple):
    """What is decided without a person, and for what."""

    name: str
    decision: Literal["allow", "deny"]
    tools: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...] = ()  # the words that a command begins with, any of these
    path: str = ""
    host: str = ""

    def fits(self, request: PermitRequest) -> bool:
        """Whether tool, host and file are what the rule is for; a command is judged apart."""
        denies = self.decision == "deny"
        spelt = str.casefold if denies else str
        named = any(fnmatchcase(spelt(request.tool), spelt(tool)) for tool in self.tools)
        if not named or self.host not in ("", request.host):
            return False
        below = [_leads_below(request, self.path, one) for one in request.paths if self.path]
        return not self.path or (any(below) if denies else bool(below) and all(below))

    def rests(self, words: Sequence[str]) -> list[Sequence[str]]:
        """What is behind each of its commands that a command begins with."""
        return [words[len(one) :] for one in self.commands if tuple(words[: len(one)]) == one]

    def allows(self, words: Sequence[str]) -> bool:
        """Whether it begins like this, and nothing behind that has another program run."""
        if words[0] == "git" and words[1:2] and words[1][:1] == "-":
            return False
        named, rests = _programs(words), self.rests(words)
        return any(not any(_launches(one, w) for one in named for w in rest) for rest in rests)

    def resembles(self, line: str) -> bool:
        """Whether the words of one of its commands are all in a line, in their order."""
        said = re.findall(r"\w+", line)
        return any(
            all(word in rest for word in re.findall(r"\w+", " ".join(one)))
            for one in self.commands
            for rest in [iter(said)]
        )


def _programs(words: Sequence[str]) -> list[str]:
    """What a command may run: its first word, or of one that runs anything, any of its words."""
    names = words if _LAUNCHERS.fullmatch(words[0]) else words[:1]
    return [name.rpartition("/")[2] for name in names]


def _launches(program: str, word: str) -> bool:
    """Whether a word has a program run something else, or do more than its name says."""
    options = [*_OPTIONS[""].split(), *_OPTIONS.get(program, "").split()]
    name = word.partition("=")[0]
    if len(name) > 2 and name[:2] == "--":
        return any(option.startswith(name) for option in options)
    if program in ("make", "gmake") and "=" in word:
        return True
    bare = program == "tar" and word.isalpha()  # which needs no dash
    joined = word[1:] if word[:1] == "-" else word if bare else ""
    short = (option[1] for option in options if len(option) == 2)
    return bool(_LAUNCHES.fullmatch(word)) or name in options or any(one in joined for one in short)


class Verdict(NamedTuple):
    """What a rule decides, as the code of a choice."""

    rule: Rule
    code: str


def read_rule(name: str, text: object) -> Rule:
    """A rule as it is written in the settings."""
    what = f"[permissions.rules] {name} is {text!r}"
    if not _NAME.fullmatch(name) or not isinstance(text, str):
        raise ParseError(f"{what}; {FORM}")
    try:
        decision, tools, *rest = shlex.split(text)
        pairs = [(key, value) for key, _, value in (word.partition("=") for word in rest)]
        commands = tuple(tuple(shlex.split(value)) for key, value in pairs if key == "command")
    except ValueError:
        raise ParseError(f"{what}; {FORM}") from None
    known = all(key in ("command", "path", "host") and value.strip() for key, value in pairs)
    if decision not in ("allow", "deny") or not all(tools.split(",")) or not known:
        raise ParseError(f"{what}; {FORM}")
    for words in commands if decision == "allow" else ():
        if _LAUNCHERS.fullmatch(words[0]) and (len(words) == 1 or words[-1][:1] == "-"):
            raise ParseError(f"{what}: {words[0]} runs anything; say what it may run")
    decides, said = cast("Literal['allow', 'deny']", decision), dict(pairs)
    places = (said.get("path", ""), said.get("host", ""))
    return Rule(name, decides, tuple(tools.split(",")), commands, *places)


def read_rules(table: object) -> tuple[Rule, ...]:
    """All rules of the settings, in their order."""
    if not isinstance(table, dict | None):
        raise ParseError("[permissions.rules] is a table of rules by name")
    return tuple(read_rule(name, text) for name, text in (table or {}).items())


def find_rule(rules: Sequence[Rule], request: PermitRequest) -> Verdict | None:
    """What the rules decide: any that denies comes first; nothing where a person is asked."""
    if request.tool in PLANS:
        return None
    fitting = [rule for rule in rules if rule.fits(request)]
    denying = [rule for rule in fitting if rule.decision == "deny"]
    # However a line is written, each part of it counts.
    rough = split_command(request.command) + [part.split() for part in PARTS.split(request.command)]
    for rule in denying:
        if not rule.commands or any(map(rule.rests, rough)):
            return Verdict(rule, DENY)
    allowing = [rule for rule in fitting if rule not in denying]
    if not request.command:
        plain = next((rule for rule in allowing if not rule.commands), None)
        if plain is None or request.tool in SHELLS or find_one_way(request):
            return None
        is_below = all(_leads_below(request, ".", one) for one in request.paths)
        strays = not is_below if request.path else OUTSIDE in find_risks(request)
        return None if strays else Verdict(plain, ONCE)
    parts = split_command(request.command)
    found = [next((rule for rule in allowing if rule.allows(words)), None) for words in parts]
    if not found or found[0] is None or not all(found):
        return None
    lines = (request.command, " ".join(word for words in parts for word in words))
    places = _find_places(request, parts)
    is_sure = (
        bool(places)
        and _BESIDE.issuperset(request.values)
        and not any(rule.resembles(one) for rule in denying for one in lines)
        and not any(_strays(at, words[1:]) for at in places for words in parts)
        and not any(_uncovers(at, words) for at in places for words in parts)
        and not find_one_way(request)
    )
    return Verdict(found[0], ONCE) if is_sure else None


def _find_places(request: PermitRequest, parts: Sequence[Sequence[str]]) -> list[PermitRequest]:
    """The request in each folder that a part of it may run in; none where that is not certain."""
    places = [request]
    for words in (words for words in parts if words[0] in ("cd", "pushd", "popd")):
        if len(words) != 2 or words[1][:1] in "-+" or len(places) > _MOST_PLACES:
            return []
        folders = [os.path.join(at.folder, words[1]) for at in places]
        places += [msgspec.structs.replace(request, folder=folder) for folder in folders]
    return places


def _leads_below(request: PermitRequest, folder: str, path: str) -> bool:
    """Whether a path leads below a folder of the project, wherever links go, to nothing hidden."""
    root = project_root(request.folder) or request.folder
    whole = os.path.join(request.folder, path)
    if is_inside(root, os.path.expanduser("~")) or not is_inside(os.path.join(root, folder), whole):
        return False  # a folder with a whole home in it is no project
    shown = os.path.relpath(os.path.realpath(whole), os.path.realpath(root))
    return not any(part.startswith(".") for part in shown.split(os.sep) if part != ".")


def _strays(request: PermitRequest, words: Sequence[str]) -> bool:
    """Whether a word of a command, or what its pattern finds, may be outside or hidden."""
    for word in words:
        pieces = [word, word[2:] if word[:1] == "-" else "", *re.split("[=,:@]", word)]
        if any(one[:1] == "~" or not _leads_below(request, ".", one) for one in pieces if one):
            return True
        if not {*"*?["}.isdisjoint(word):
            from glob import glob  # noqa: PLC0415 - rarely needed

            for one in glob(word, root_dir=request.folder):
                if one[:1] == "-" or not _leads_below(request, ".", one):
                    return True
    return False


def _uncovers(request: PermitRequest, words: Sequence[str]) -> bool:
    """Whether a program goes through a folder in which something is hidden, or leads elsewhere."""
    if not any(map(_SEARCHES.fullmatch, _programs(words))):
        return False
    whole = [os.path.join(request.folder, word) for word in words[1:]]
    folders = list(filter(os.path.isdir, whole))
    if not folders and any(re.match(r"-\w*[drR]|--(?:d|rec)", word) for word in words[1:]):
        folders = [request.folder]
    for number, (top, *names) in enumerate(one for each in folders for one in os.walk(each)):
        paths = [os.path.join(top, name) for listed in names for name in listed]
        hidden = any(os.path.basename(path)[0] == "." for path in paths)
        strays = any(os.path.islink(p) and not _leads_below(request, ".", p) for p in paths)
        if hidden or strays or number > _MOST_FOLDERS:
            return True
    return False


def split_command(line: str) -> list[list[str]]:
    """The simple commands of a shell's line, as words; none where that is not certain."""
    if len(line) > _LONGEST or _UNREAD.search(line):
        return []
    line, inner = QUIET.sub(" ", line), list[list[str]]()
    while found := _SUBSTITUTION.search(line):
        if not (parts := split_command(found[1])):
            return []
        inner += parts
        line = f"{line[: found.start()]}\1{line[found.end() :]}"
    if "$" in line or "`" in line:
        return []
    words = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    words.whitespace, words.whitespace_split, words.commenters = " \t\r", True, ""
    commands: list[list[str]] = [[]]
    try:
        for word in words:
            if word and not word.strip(_OPERATORS):
                if set(word) & set("()<>"):
                    return []
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:  # a quotation that does not end
        return []
    return inner + [words for words in commands if words]


class Trial(NamedTuple):
    """What a rule would have decided, beside what was."""

    run: Run
    request: PermitRequest
    would: str
    was: str


def try_rule(store: Store, rule: Rule, since: str) -> Iterator[Trial]:
    """Every recorded request since a moment that the rule would have decided, the newest first."""
    for row in store.each_run(newest=True):
        if row.began < since:
            return
        given = read_beginning(store, row.id)[1].get("request") if row.flow == "permit" else None
        request = msgspec.convert(given, PermitRequest) if given else None
        verdict = find_rule([rule], request) if request and request.tool else None
        if request and verdict:
            ended = store.entries(row.id, kinds=("ended",))
            result = ended[-1].read_matter().result if ended else None
            was = result.get("decision", row.status) if isinstance(result, dict) else row.status
            yield Trial(row, request, rule.decision, was)


def save_rule(rule: Rule, text: str) -> str:
    """Put a rule into the user's settings, and nothing else; the path of that file."""
    path = os.path.join(config_folder(), "config.toml")
    before = read_text(path) if os.path.exists(path) else ""
    line = f"{rule.name} = {msgspec.json.encode(text).decode()}\n"
    if found := re.search(r"(?m)^\[permissions\.rules\][ \t]*\n", before):
        after = before[: found.end()] + line + before[found.end() :]
    else:
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        after = f"{before}{gap}[permissions.rules]\n{line}"
    try:
        kept = load_toml(after)["permissions"]["rules"][rule.name]
    except (ValueError, KeyError, TypeError):
        kept = None
    if kept != text:
        raise ParseError(f"{path}: the rule cannot be added; write it yourself: {line.strip()}")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    write_text(path, after)
    return path
