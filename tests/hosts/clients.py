"""The real clients, as npm has them: which versions we try, and how they come here.

Each lives in a folder of its own below `.venv/hosts`, so that none can break another, and one that
cannot be had leaves the others alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".venv" / "hosts"
STAMP = ".version"
"""The file that says which version is here, or why none is."""
SECONDS = 240
"""How long one of them may take to arrive."""


class Client(NamedTuple):
    """A program from npm."""

    name: str
    package: str
    version: str
    program: str

    @property
    def folder(self) -> Path:
        """Where it is put."""
        return FOLDER / self.program

    @property
    def bin(self) -> Path:
        """Where its commands are."""
        return self.folder / "node_modules" / ".bin"

    @property
    def path(self) -> str:
        """The program itself."""
        return str(self.bin / self.program)

    def why_not(self) -> str:
        """Why it cannot be tried; nothing where it is here in our version."""
        stamp = self.folder / STAMP
        if not stamp.is_file():
            return "it was not installed"
        said = stamp.read_text(encoding="utf-8")
        return "" if said == self.version else said


NODE = Client("Node", "node", "24.21.0", "node")
"""Some of the clients want a newer one than systems have."""
CLAUDE = Client("Claude Code", "@anthropic-ai/claude-code", "2.1.325", "claude")
CODEX = Client("Codex", "@openai/codex", "0.166.0", "codex")
GEMINI = Client("Gemini CLI", "@google/gemini-cli", "0.61.0", "gemini")
QWEN = Client("Qwen Code", "@qwen-code/qwen-code", "0.24.4", "qwen")
OPENCODE = Client("opencode", "opencode-ai", "1.18.33", "opencode")
COPILOT = Client("Copilot CLI", "@github/copilot", "1.0.102", "copilot")
INSPECTOR = Client("MCP Inspector", "@modelcontextprotocol/inspector", "2.12.0", "mcp-inspector")
OURS = Client("quandary", "", "", "quandary")
"""Our own program, where a check is about all clients."""
CLIENTS = (CLAUDE, CODEX, GEMINI, QWEN, OPENCODE, COPILOT, INSPECTOR)

NOT_ON_NPM = {
    "Cursor": "it is not on npm (a package there of that name is another program)",
    "VS Code": "it is not on npm, and shows forms only in a window with an account",
}


def install(client: Client) -> None:
    """Have a client here in our version; if that fails, keep why."""
    if not client.why_not():
        return
    shutil.rmtree(client.folder, ignore_errors=True)
    client.folder.mkdir(parents=True)
    why = _fetched(client)
    (client.folder / STAMP).write_text(why or client.version, encoding="utf-8")


def _fetched(client: Client) -> str:
    """Have npm put a client into its folder; if that fails, why."""
    if shutil.which("npm") is None:
        return "there is no npm"
    print(f"npm install {client.package}@{client.version}", flush=True)
    quiet = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
    words = ["npm", "install", "--prefix", ".", *quiet, f"{client.package}@{client.version}"]
    try:
        ended = subprocess.run(
            words,
            cwd=client.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"npm took longer than {SECONDS} seconds"
    if ended.returncode or not os.path.exists(client.path):
        lines = [line for line in ended.stderr.splitlines() if line.strip()]
        return f"npm could not install it: {lines[0] if lines else 'it said nothing'}"
    return ""
