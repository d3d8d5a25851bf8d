"""What an agent is taught where a host is installed: the relay loop in ten lines."""

from __future__ import annotations

SUMMARY = (
    "Ask the person through quandary whenever a decision is theirs: a choice between options, "
    "an approval, the end of a phase, or a list of things to include or cut."
)

_LOOP = """\
# Decisions go through quandary

1. When a decision is the person's, run `quandary ask SOURCE --item 'ID|Label|Title|Context'
   --context TEXT`. SOURCE is a tree of the project; `quandary check --format json .` lists them.
2. More than four options go to `quandary split OPTIONS.json`. Leave none out to make them fit.
3. At the end of a phase, run `quandary gate DIR`. Nothing else moves a phase.
4. Add `{way}` to all three. They print the state of the run as JSON.
5. {ask}
6. Hand what comes back, unchanged, to the command in `ask.reply_with`, on its standard input: from
   a file or a quoted here-document, never between quotation marks of a shell.
7. That prints the next state. While its `status` is `waiting`, go on at 5.
8. `done`: act on `result`. `declined`, `withdrawn` or `failed`: nothing was decided, so stop.
9. A note of kind `question` is for you: `quandary advise RUN TEXT` answers it. Go on at 5.
10. Never answer for the person. Silence, a closed form, a time-out or an error is no answer: the
    question waits, and `quandary next RUN` shows it again.
"""

_RELAYED = """\
Show `ask.preamble` and the `text` of every note word for word. Then call {tool}
   with `ask.tool_input`, unchanged."""

CLAUDE = _LOOP.format(way="--via relay", ask=_RELAYED.format(tool="AskUserQuestion"))
CODEX = _LOOP.format(
    way="--via relay --host codex",
    ask=_RELAYED.format(tool="request_user_input")
    + " Without that tool, add `--via text` in 4\n   instead, show `ask.text`, and wait.",
)
TYPED = _LOOP.format(
    way="--via text",
    ask="Show `ask.text` word for word. Then end your turn, and wait for what the person writes.",
)


def skill(lesson: str) -> str:
    """A lesson as a skill, which is loaded when it is needed."""
    return headed(lesson, name="quandary", description=f'"{SUMMARY}"')


def headed(lesson: str, **lines: str) -> str:
    """A lesson below lines that say what it is and when it counts."""
    heading = "".join(f"{name}: {value}\n" for name, value in lines.items())
    return f"---\n{heading}---\n\n{lesson}\n"


def section(lesson: str) -> str:
    """A lesson as part of a longer page."""
    return f"#{lesson}"
