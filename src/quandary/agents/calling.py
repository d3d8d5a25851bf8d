"""Carrying out a Call: the agent's command line, its environment, its run, and what it said."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quandary.agents.process import Command, NotStarted, Ran, run
from quandary.errors import NotFound
from quandary.flows.responses import NONCE, Finding, clean, objects, read_response, responses_in
from quandary.journal import chance
from quandary.model.calls import SESSION, STEP, Call, Output, Stopped, schema
from quandary.model.text import shorten
from quandary.settings.agents import ALWAYS, Agent, Catalogue, follow, parse_path, permit, words

TIMEOUT = 600.0  # seconds for a call that does not say how long it may take
LOGIN_TIMEOUT = 20.0
NONCE_LENGTH = 12
WHICH_CALL = (
    "\n\nGive the object one more key, `{}`, with the text {}: it stands for this call alone."
)
"""What is added to a prompt that asks for a response."""
LONGEST_ARGUMENT = 100_000  # bytes; the system's own limit for one argument is not much higher
SHORTEST_SECRET = 8
LONG = 100_000
LONGEST_REASON = 300
MOST_TOKENS = 2**53
_PLACEHOLDER = re.compile(r"\{(?:prompt|prompt_file|schema|schema_file|session|hooks)\}")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


class Surroundings(msgspec.Struct, frozen=True):
    """Where agents run, and what there is to hand on to them."""

    folder: str
    environment: Mapping[str, str]
    timeout: float = TIMEOUT

    def __repr__(self) -> str:
        """Without the environment: there are keys in it."""
        return f"Surroundings({self.folder!r})"


async def make_call(call: Call, catalogue: Catalogue, around: Surroundings) -> Output:
    """Ask the agent of a Call; whatever goes wrong is an Output too. Only cancelling raises."""
    try:
        stops = call.assignment is not None  # a person is asked in the run of a walk only
        agent = permit(catalogue.find(call.agent), changes=call.changes, stops=stops)
    except NotFound as error:
        return Output(call.key, error=str(error))
    if missing := obstacles(agent, around):
        return Output(call.key, error=missing[0])
    resumed = call.resumes and call.resumes.stopped
    if resumed and agent.permissions != "ask":
        why = f'set permissions = "ask" in [agents.{agent.name}] again'
        return Output(call.key, error=f"{agent.name}: a session that stopped cannot go on; {why}")
    nonce = resumed.nonce if resumed else chance.salt().hex()[:NONCE_LENGTH]
    if resumed:  # its session is there, and nowhere else
        around = replace(around, folder=resumed.folder)
    try:
        with _command(agent, call, around, nonce) as command:
            ran = await run(command)
    except NotStarted as error:
        return Output(call.key, error=f"{agent.name}: {error}")
    ran = _without_keys(ran, command.env)
    if len(ran.out) > LONG:
        # Reading it may take seconds, in which the other agents' programs must not wait.
        return await asyncio.to_thread(output_of, call, agent, ran, nonce, around.folder)
    return output_of(call, agent, ran, nonce, around.folder)


def obstacles(agent: Agent, around: Surroundings) -> list[str]:
    """Why an agent cannot be asked here, as far as can be seen without running anything."""
    found = []
    name, program = agent.name, agent.argv[0]
    path = around.environment.get("PATH", os.defpath)
    place = os.path.join(around.folder, program) if os.path.dirname(program) else program
    if shutil.which(place, path=path) is None:
        found.append(f"{name}: the program {program} was not found or is not executable")
    if agent.permissions == "safe" and agent.never_safe and not agent.safe:
        found.append(
            f'{name} has no safe mode; [agents.{name}] permissions = "full" lets it do anything'
        )
    if agent.model_needed and not agent.model:
        found.append(
            f"{name} needs a model, else {agent.model_needed}; set model in [agents.{name}]"
        )
    key = agent.key_needed
    if key and not (key in agent.env and around.environment.get(key)):
        found.append(f"{name} needs {key} in the environment, else it would try to log in")
    return found


async def logged_out(agent: Agent, around: Surroundings) -> str:
    """Why an agent would not get past its login, if it can be asked that and has no key."""
    if not agent.login or any(around.environment.get(name) for name in agent.env):
        return ""
    seen = _environment(agent, around)
    try:
        ran = await run(Command(agent.login, seen, around.folder, timeout=LOGIN_TIMEOUT))
    except NotStarted as error:
        return f"{agent.name}: {error}"
    if ran.status == 0 and not ran.timed_out:
        return ""
    return f"{agent.name}: nobody is logged in; `{' '.join(agent.login)}` says more"


@contextmanager
def _command(agent: Agent, call: Call, around: Surroundings, nonce: str) -> Iterator[Command]:
    """The command for a call. Files that it names are gone when it is done. The nonce is put in
    here. The journal knows it only of a session that stopped; that has had its prompt, and our hook
    is given a file with what it is told now.
    """
    asked, held_to = call.prompt, ""
    if call.expects:
        asked += WHICH_CALL.format(NONCE, nonce)
        shape = schema(call.expects, call.routes)
        shape["properties"][NONCE] = {"type": "string", "enum": [nonce]}
        shape["required"].append(NONCE)
        held_to = json.dumps(shape)
    try:
        prompt = asked.encode()
    except UnicodeEncodeError:
        raise NotStarted("the prompt holds half a character, which cannot be written") from None
    resumed, why_not = call.resumes, ""
    if resumed is not None:
        prompt = b""
    elif agent.prompt == "argument":
        why_not = _why_no_argument(agent.argv, prompt)
    if why_not and not agent.large:
        raise NotStarted(why_not)
    line = words(agent, schema=bool(call.expects), large=bool(why_not), resume=resumed is not None)
    used = {found for word in line for found in _PLACEHOLDER.findall(word)}
    # Settings for Claude Code that have it call our hook before it uses a tool.
    args = ["-P", "-m", "quandary", "hook", "pre"]
    hook = {"type": "command", "command": sys.executable, "args": args}
    hooks = json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}})
    values = {"{prompt}": asked, "{schema}": held_to, "{hooks}": hooks}
    values["{session}"] = resumed.stopped.session if resumed else ""
    contents = {"{prompt_file}": prompt, "{schema_file}": held_to.encode()}
    files = used & set(contents)
    if resumed is not None:
        contents["{told}"] = msgspec.json.encode(resumed)
        files.add("{told}")
    with ExitStack() as stack:
        try:  # nobody else can read them
            make = tempfile.TemporaryDirectory(prefix="quandary-") if files else nullcontext("")
            folder = stack.enter_context(make)
            for name in files:
                values[name] = os.path.join(folder, name.strip("{}"))
                with open(values[name], "wb") as file:
                    file.write(contents[name])
        except OSError as error:
            raise NotStarted(f"the prompt cannot be put into a file: {error.strerror}") from None
        yield Command(
            tuple(_PLACEHOLDER.sub(lambda found: values[found[0]], word) for word in line),
            _environment(agent, around, values.get("{told}", "")),
            around.folder,
            None if used & {"{prompt}", "{prompt_file}"} else prompt,
            around.timeout if call.timeout is None else call.timeout,
            agent.max_output,
        )


def _why_no_argument(argv: tuple[str, ...], prompt: bytes) -> str:
    """Why a prompt cannot be an argument: it does not fit, or would be taken for an option."""
    remedy = 'let it take prompts by standard input (prompt = "stdin") or in a file'
    if len(prompt) > LONGEST_ARGUMENT:
        return f"the prompt has {len(prompt):,} bytes, too many for an argument; {remedy}"
    if b"\0" in prompt:
        return f"the prompt has a NUL character, which no argument can have; {remedy}"
    place = argv.index("{prompt}") if "{prompt}" in argv else 0
    if place and prompt.startswith(b"-") and "--" not in argv[:place]:
        return (
            "the prompt begins with a hyphen and would be taken for an option; put -- before "
            f"{{prompt}}, or {remedy}"
        )
    return ""


def _environment(agent: Agent, around: Surroundings, told: str = "") -> dict[str, str]:
    """What an agent sees: what every one does, and what is allowed to it."""
    given = around.environment
    seen = {name: given[name] for name in (*ALWAYS, *agent.env) if name in given}
    if agent.permissions == "ask":
        seen[STEP] = told
    return seen | (agent.safe_values if agent.permissions == "safe" else {})


def _without_keys(ran: Ran, environment: dict[str, str]) -> Ran:
    """What was printed, with keys that an agent gave away replaced by their names."""
    secrets = {
        value: f"[{name}]"
        for name, value in environment.items()
        if _SECRET.search(name) and len(value) >= SHORTEST_SECRET
    }
    out, err = ran.out, ran.err
    for secret in sorted(secrets, key=len, reverse=True):
        out, err = out.replace(secret, secrets[secret]), err.replace(secret, secrets[secret])
    return replace(ran, out=out, err=err)


class Unwrapped(NamedTuple):
    """What an agent said, apart from how its program writes it down."""

    text: str
    tokens: int | None = None
    failure: str = ""
    stopped: Stopped | None = None


def output_of(call: Call, agent: Agent, ran: Ran, nonce: str = "", folder: str = "") -> Output:
    """What came of a call. A program that ends well has not answered by that alone."""
    said = unwrap(agent, ran.out)
    stopped, error = said.stopped, ""
    if stopped is None or ran.status or ran.timed_out:
        stopped, error = None, _error(agent, ran, said)
    heard = Finding(None)
    if call.expects and not error and stopped is None:
        heard = read_response(said.text, call.expects, call.routes, call.prompt)
        given = [one[NONCE] for one in responses_in(said.text, call.expects) if NONCE in one]
        if any(one != nonce for one in given):
            heard = Finding(None, f"`{NONCE}` is that of another call; give that of this prompt.")
    return Output(
        *(call.key, said.text, error, *heard),
        stderr=ran.err,
        status=ran.status,
        seconds=round(ran.seconds, 3),
        tokens=said.tokens,
        truncated=ran.truncated,
        timed_out=ran.timed_out,
        stopped=stopped
        and replace(stopped, folder=folder, nonce=nonce, machine=os.uname().nodename),
    )


def _error(agent: Agent, ran: Ran, said: Unwrapped) -> str:
    if ran.timed_out:
        return f"{agent.name} had not ended after {ran.seconds:.0f} s and was ended"
    if ran.status:
        names = {-one: one.name for one in signal.Signals}
        number = names.get(ran.status, -ran.status)
        how = f"status {ran.status}" if ran.status > 0 else f"signal {number}"
        aside = _told(_failures(agent, _documents(agent, ran.err)))
        reason = said.failure or aside or _last_line(ran.err) or _last_line(said.text)
        return f"{agent.name} ended with {how}" + (f": {reason}" if reason else "")
    if said.failure:
        return f"{agent.name} failed: {said.failure}"
    if not said.text.strip():
        return f"{agent.name} printed nothing"
    return ""


def _last_line(text: str) -> str:
    line = text[-4 * LONGEST_REASON :].rstrip().rpartition("\n")[2].strip()
    return shorten(line, LONGEST_REASON)


def unwrap(agent: Agent, printed: str) -> Unwrapped:
    """The text, the tokens used and the failure that an agent's program wrote down as JSON."""
    if not (documents := _documents(agent, printed)):
        return Unwrapped(printed)
    failures, paths = _failures(agent, documents), agent.output.partition(":")[2]
    places = (_leads_to(documents, path) for path in paths.split("|"))
    said = ([found for found in place if found not in (None, "")] for place in places)
    texts: list[Any] = next(filter(None, said), [])
    last = texts[-1] if texts else ""
    text = clean(last if isinstance(last, str) else json.dumps(last, ensure_ascii=False))
    failure = "" if texts else f"there was nothing at {paths} in what it printed"
    if failures:
        failure = _told(failures) or _last_line(text) or "it does not say why"
    used = [found for path in agent.usage for found in _leads_to(documents, path)]
    numbers = [int(n) for n in used if type(n) in (int, float) and 0 <= n <= MOST_TOKENS]
    tokens = min(sum(numbers), MOST_TOKENS) if numbers else None
    return Unwrapped(text, tokens, failure, _find_stop(agent, documents))


def _find_stop(agent: Agent, documents: list[Any]) -> Stopped | None:
    """Where it stopped, if it was to stop and says so; what it says is no option of its program."""
    if agent.permissions != "ask":
        return None
    sessions, tools = (_leads_to(documents, path) for path in (agent.session, agent.stopped))
    tool = tools[-1] if tools else None
    if not sessions or not isinstance(tool, dict) or not SESSION.fullmatch(str(sessions[-1])):
        return None
    given = json.dumps(tool.get("input") or {}, ensure_ascii=False)
    return Stopped(str(sessions[-1]), str(tool.get("id")), str(tool.get("name")), clean(given))


def _failures(agent: Agent, documents: list[Any]) -> list[Any]:
    return [reason for path in agent.failure for reason in _leads_to(documents, path) if reason]


def _told(failures: list[Any]) -> str:
    return _last_line(clean(next((reason for reason in failures if isinstance(reason, str)), "")))


def _documents(agent: Agent, printed: str) -> list[Any]:
    """The documents of its lines, or the one that it printed, the last; none of one with text."""
    kind = agent.output.partition(":")[0]
    if kind == "text":
        return []
    if kind != "jsonl":
        try:
            return [json.loads(printed)]
        except (ValueError, RecursionError):
            return list(deque(filter(None, objects(printed)), maxlen=1))
    documents = []
    for line in printed.split("\n"):
        if line.lstrip().startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                documents.append(json.loads(line))
    return documents


def _leads_to(documents: list[Any], path: str) -> list[Any]:
    parts = parse_path(path) or ()
    return [found for document in documents for found in follow(document, parts)]
