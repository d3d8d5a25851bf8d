"""What `quandary doctor` says about every host that `quandary install` knows."""

from __future__ import annotations

from hosts.checks import check
from hosts.clients import OURS
from hosts.places import Place
from quandary.doors.hosts.host_files import HOSTS


@check(OURS)
def doctor_says_the_truth() -> None:
    """It names what is installed and nothing else, and what was taken out no longer."""
    with Place() as at:
        for host in HOSTS:
            for scope, where in (("--project", "in this project"), ("--user", "for you")):
                server = () if (host, scope) == ("claude", "--user") else ("--mcp",)
                at.quandary("install", host, scope, *server)
                found = at.doctor()
                assert {one["what"] for one in found} == {f"{host}, {where}"}, found
                assert {one["status"] for one in found} == {"ok"}, found
                texts = [one["text"] for one in found]
                assert any(text.startswith("the MCP server in ") for text in texts) is bool(server)
                assert any(text.startswith("hooks in ") for text in texts) is (host == "claude")
                at.quandary("uninstall", host, scope)
                (none,) = at.doctor()
                assert "installed for none" in none["text"], none


@check(OURS)
def doctor_sees_what_is_broken() -> None:
    """A program that is gone is told of, for every host that would call it."""
    with Place() as at:
        at.quandary("install", "claude", "--mcp")
        at.quandary("install", "gemini", "--mcp")
        at.env["PATH"] = "/usr/bin:/bin"
        ended = at.run([str(at.quandary_path), "doctor"])
        assert ended.status == 1, ended.said
        assert ended.out.count("calls quandary, which is not on PATH") == 2, ended.out
