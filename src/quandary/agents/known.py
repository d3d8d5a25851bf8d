"""The agents that are known from the start: each fact about a program of somebody else's, once.

They take their prompt by standard input where they can. It then has no limit of length, is seen by
nobody who lists processes, and cannot be taken for an option. A key is handed without being told so
only to the program of whoever gave it out.
"""

from __future__ import annotations

from quandary.agents.agent import Agent

_CLAUDE_LIKE = ("[type=result].usage.input_tokens", "[type=result].usage.output_tokens")

KNOWN: tuple[Agent, ...] = (
    Agent(
        name="CLAUDE",
        argv=("claude", "-p", "--output-format", "json"),
        output="json:structured_output|result",
        usage=_CLAUDE_LIKE,
        # It says `"subtype": "success"` even when nobody is logged in; only this can be trusted.
        failure=("is_error",),
        schema=("--json-schema", "{schema}"),
        env=("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"),
        safe=("--permission-mode", "dontAsk"),
        full=("--dangerously-skip-permissions",),
        model_flag="--model",
        login=("claude", "auth", "status"),
    ),
    Agent(
        name="CODEX",
        argv=("codex", "exec", "--json", "--skip-git-repo-check", "-"),
        output="jsonl:[type=item.completed].item[type=agent_message].text",
        usage=(
            "[type=turn.completed].usage.input_tokens",
            "[type=turn.completed].usage.output_tokens",
        ),
        failure=("[type=turn.failed].error.message",),
        schema=("--output-schema", "{schema_file}"),
        env=("CODEX_API_KEY",),
        safe=("-s", "read-only"),
        full=("--dangerously-bypass-approvals-and-sandbox",),
        model_flag="-m",
        login=("codex", "login", "status"),
    ),
    Agent(
        name="GEMINI",
        argv=("gemini", "-o", "json", "--skip-trust"),
        output="json:response",
        usage=("stats.models.*.tokens.total",),
        failure=("error.message",),
        env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        safe=("--approval-mode", "plan"),
        full=("--approval-mode", "yolo"),
        model_flag="-m",
    ),
    Agent(
        # Read in its documentation, never run.
        name="CURSOR",
        argv=("agent", "--output-format", "json", "-p", "{prompt}"),
        prompt="argument",
        large=("agent", "--output-format", "json", "-p"),
        output="json:result",
        failure=("is_error",),
        env=("CURSOR_API_KEY",),
        safe=("--mode", "ask"),
        full=("--force", "--trust"),
        model_flag="--model",
    ),
    Agent(
        name="COPILOT",
        argv=("copilot", "--output-format", "json"),
        output="jsonl:[type=assistant.message].data.content",
        env=("COPILOT_GITHUB_TOKEN",),
        # Without anything said it runs no command.
        full=("--yolo",),
        model_flag="--model",
    ),
    Agent(
        name="QODO",
        argv=("qodo", "{prompt}", "--ci", "-y", "-q"),
        prompt="argument",
        safe=("--permissions=r",),
        full=("--permissions=rwx",),
        model_flag="-m",
    ),
    Agent(
        name="AIDER",
        # `--message-file -` would open a conversation, so it gets a file.
        argv=("aider", "--message-file", "{prompt_file}"),
        prompt="file",
        safe=("--chat-mode", "ask", "--dry-run"),
        full=("--yes-always",),
        model_flag="--model",
        model_needed="it would open a login page and wait",
    ),
    Agent(
        name="OPENCODE",
        argv=("opencode", "run", "--format", "json"),
        output="jsonl:[type=text].part.text",
        usage=("[type=step_finish].part.tokens.input", "[type=step_finish].part.tokens.output"),
        failure=("[type=error].error.data.message",),
        # Neither its default nor `--agent plan` keeps it from running commands.
        safe_values={"OPENCODE_PERMISSION": '{"bash":"deny","edit":"deny"}'},
        full=("--auto",),
        model_flag="-m",
        model_needed="it could send the prompt to a free model of somebody else's",
    ),
    Agent(
        name="AMP",
        argv=("amp", "-x", "--stream-json"),
        output="jsonl:[type=result].result",
        usage=_CLAUDE_LIKE,
        failure=("[type=result].is_error",),
        env=("AMP_API_KEY",),
        # What it may do stands in a settings file of its own.
        safe=None,
        model_flag="-m",
        # It would take its standard input for the code of a login.
        key_needed="AMP_API_KEY",
    ),
    Agent(
        name="QWEN",
        argv=("qwen", "-o", "json"),
        output="json:-1.structured_result|-1.result",
        usage=("-1.usage.input_tokens", "-1.usage.output_tokens"),
        failure=("-1.is_error", "error.message"),
        schema=("--json-schema", "{schema}"),
        safe=("--approval-mode", "plan"),
        full=("--approval-mode", "yolo"),
        model_flag="-m",
    ),
    Agent(
        name="LLM",
        argv=("llm", "--json"),
        output="json:0.response",
        usage=("0.input_tokens", "0.output_tokens"),
        schema=("--schema", "{schema}"),
        # It has no tools unless it is given some.
        model_flag="-m",
    ),
)

TRIED = {
    "CLAUDE": "2.1.325",
    "CODEX": "0.166.0",
    "GEMINI": "0.61.0",
    "COPILOT": "1.0.102",
    "QODO": "0.36.0",
    "AIDER": "0.86.2",
    "OPENCODE": "1.18.33",
    "AMP": "0.0.1790142911",
    "QWEN": "0.24.4",
    "LLM": "0.36",
}
"""The versions that the facts above were tried with, on Linux in 2026-11."""
