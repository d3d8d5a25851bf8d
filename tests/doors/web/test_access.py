"""Who is let in: names, pages, logins, tokens; and what is refused before anything is read."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import pytest

from quandary.doors.web import tokens as keys
from quandary.doors.web.access import COOKIE, LARGEST_BODY
from quandary.doors.web.app import HEADERS
from sites import ADAS, BASE, PAGE, TOKEN, Server, hidden, log_in, send

if TYPE_CHECKING:
    from pathlib import Path

    from litestar.testing import TestClient

    from sites import Site

PAGES = (
    "/",
    "/runs",
    "/trees",
    "/stats",
    "/events",
    "/api/inbox",
    "/api/runs",
    "/api/openapi.json",
)
OPEN = ("/login", "/healthz", "/readyz", "/static/app.js", "/static/style.css")


def reply(visitor: TestClient[Any], run: str, **headers: str) -> int:
    """Answer a question over the API, and give the status."""
    return visitor.post(f"/api/runs/{run}/reply", json={"text": "OK"}, headers=headers).status_code


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8420", "127.0.0.1.evil.example", "0.0.0.0:8420", "", "["],
)
def test_a_forged_host_is_refused(site: Site, host: str) -> None:
    """A page that points a name of its own at this machine gets nothing, not even an icon."""
    with site.visitor() as visitor:
        for path in (*PAGES, *OPEN):
            assert visitor.get(path, headers={"Host": host}).status_code == 421
        assert visitor.post("/login", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "host", ["localhost:8420", "LOCALHOST", "localhost.", "127.0.0.1", "[::1]:8420"]
)
def test_our_own_names_are_served(site: Site, host: str) -> None:
    """Whichever of them the browser uses."""
    with site.visitor() as visitor:
        assert visitor.get("/", headers={"Host": host}).status_code == 200


def test_addresses_are_names_of_a_server_for_others(far: Site) -> None:
    """A page cannot pretend to be an address; it can pretend to be a name."""
    with far.visitor() as visitor:
        assert visitor.get("/login", headers={"Host": "192.0.2.7:8420"}).status_code == 200
        assert visitor.get("/login", headers={"Host": "[2001:db8::1]"}).status_code == 200
        assert visitor.get("/login", headers={"Host": "evil.example"}).status_code == 421


# -- other pages ---------------------------------------------------------------------------------

FOREIGN = (
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:3000"},
    {"Origin": "http://localhost:8420"},
    {"Origin": "http://["},
    {"Origin": "file://127.0.0.1:8420"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
)


@pytest.mark.parametrize("sent", FOREIGN, ids=str)
def test_an_attackers_page_changes_nothing(site: Site, sent: dict[str, str]) -> None:
    """Though it is open in the browser in which the person is logged in."""
    run = site.ask("Login").run
    with site.person() as visitor:
        form = hidden(visitor.get(f"/runs/{run}").text)
        headers = {"Origin": "", **sent}
        del visitor.headers["Origin"]
        if not headers["Origin"]:
            del headers["Origin"]
        for path, fields in (
            (f"/runs/{run}/answer", {**form, "pick-0": "OK"}),
            ("/login", {"code": "x"}),
            ("/logout", form),
        ):
            assert visitor.post(path, data=fields, headers=headers).status_code == 403
        assert reply(visitor, run, **headers) == 403
        asked = visitor.post("/api/asks", json={"context": "c", "text": "t"}, headers=headers)
        assert asked.status_code == 403
    assert site.sources(run) == []


def test_an_attackers_page_cannot_look(site: Site) -> None:
    """It may lead to a page of ours; it may not load one into its own, nor listen to the news."""
    looks = {"Sec-Fetch-Site": "cross-site"}
    with site.visitor() as visitor:
        followed = {**looks, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert visitor.get("/", headers=followed).status_code == 200
        for mode, dest in (("no-cors", "script"), ("cors", "empty"), ("navigate", "iframe")):
            headers = {**looks, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
            for path in ("/", "/events", "/api/inbox", "/static/app.js"):
                assert visitor.get(path, headers=headers).status_code == 403


def test_a_login_without_a_page_is_refused(site: Site) -> None:
    """A cookie alone changes nothing: a program has to come with a token."""
    run = site.ask("Login").run
    with site.person() as visitor:
        del visitor.headers["Origin"]
        assert reply(visitor, run) == 403
        assert reply(visitor, run, **{"Sec-Fetch-Site": "same-origin"}) == 200
    assert site.sources(run) == [("person", "web", "")]


@pytest.mark.parametrize("mark", ["", "0" * 64, "é", None])
def test_a_form_needs_its_mark(site: Site, mark: str | None) -> None:
    """One that was made elsewhere, or for somebody else, is not taken."""
    run = site.ask("Login").run
    with site.visitor(**PAGE) as stranger:
        strange = hidden(stranger.get(f"/runs/{run}").text)["mark"]
    with site.person() as visitor:
        answer = send(visitor, run, pick_0="OK", mark=strange if mark is None else mark)
        assert answer.status_code == 403
        assert visitor.post("/logout", data={"mark": mark or strange}).status_code == 403
        assert "Log out" in visitor.get("/").text
    assert site.sources(run) == []


# -- logins --------------------------------------------------------------------------------------


def test_the_cookie_is_out_of_reach(site: Site) -> None:
    """No script reads it, no other site sends it, and where there is TLS it goes nowhere else."""
    with site.visitor(**PAGE) as visitor:
        cookie = log_in(visitor, site.keys.new_code()).headers["set-cookie"]
        assert cookie.startswith(f"{COOKIE}=")
        words = {word.strip().casefold() for word in cookie.split(";")[1:]}
        assert {"httponly", "samesite=lax", "path=/", "max-age=43200"} <= words
        assert "secure" not in words
        visitor.headers["X-Forwarded-Proto"] = "https"
        again = log_in(visitor, site.keys.new_code()).headers["set-cookie"]
        assert "secure" in again.casefold()


def test_a_code_works_once(site: Site) -> None:
    """The second who types it is not let in."""
    code = site.keys.new_code()
    for status in (303, 401):
        with site.visitor(**PAGE) as visitor:
            assert log_in(visitor, code).status_code == status


def test_who_opens_the_login_page_has_a_code_printed(site: Site) -> None:
    """On the server's terminal, and only where none is left that works."""
    with site.visitor(**PAGE) as visitor:
        visitor.get("/login")
        visitor.get("/login")
        assert len(site.codes) == 1
        assert log_in(visitor, site.codes[0]).status_code == 303
        assert site.codes[0] not in visitor.get("/login").text
        assert len(site.codes) == 2


@pytest.mark.parametrize("to", ["/runs", "/runs/01ABC", "/trees", "/"])
def test_a_login_leads_back(site: Site, to: str) -> None:
    """To the page that one came from."""
    with site.visitor(**PAGE) as visitor:
        assert f'value="{to}"' in visitor.get(f"/login?to={to}").text
        assert log_in(visitor, site.keys.new_code(), to=to).headers["location"] == to


@pytest.mark.parametrize(
    "to",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/runs/../x",
        "javascript:1",
        "/x",
        "",
    ],
)
def test_a_login_leads_nowhere_else(site: Site, to: str) -> None:
    """Whatever the link said."""
    with site.visitor(**PAGE) as visitor:
        assert log_in(visitor, site.keys.new_code(), to=to).headers["location"] == "/"


def test_a_forged_or_expired_cookie_is_nobodys(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is shown as to a stranger, and an answer is booked as nobody's own."""
    run = site.ask("Login").run
    with site.person() as visitor:
        assert "Log out" in visitor.get("/").text
        real = visitor.cookies[COOKIE]
        for forged in (
            real[:-1] + ("0" if real[-1] != "0" else "1"),
            "x.y",
            "%C3%A9.%FF",
            real.upper(),
        ):
            shown = site.visitor(Cookie=f"{COOKIE}={forged}")
            with shown as other:
                assert "Log out" not in other.get("/").text
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + keys.SESSION_SECONDS + 1)
        assert "Log out" not in visitor.get("/").text
        assert reply(visitor, run) == 200
    assert site.sources(run) == [("api", "web", "")]


def test_an_old_form_in_a_new_login_is_refused(site: Site) -> None:
    """Its mark belonged to the login before; nothing is booked, and the page says what to do."""
    run = site.ask("Login").run
    with site.person() as visitor:
        form = hidden(visitor.get(f"/runs/{run}").text)
        log_in(visitor, site.keys.new_code())
        answer = visitor.post(f"/runs/{run}/answer", data={**form, "pick-0": "OK"})
        assert answer.status_code == 403
        assert "reload the page" in answer.text


def test_logging_out(site: Site) -> None:
    """The cookie is taken away, and a copy of it is worth nothing."""
    with site.person() as visitor:
        kept = visitor.cookies[COOKIE]
        form = hidden(visitor.get("/").text)
        left = visitor.post("/logout", data=form, follow_redirects=False)
        assert left.status_code == 303
        assert "Max-Age=0" in left.headers["set-cookie"]
    with site.visitor(Cookie=f"{COOKIE}={kept}") as other:
        assert "Log out" not in other.get("/").text


# -- tokens --------------------------------------------------------------------------------------


def test_tokens_are_for_programs(site: Site) -> None:
    """What comes with a token is booked as `api`, under the name that goes with it."""
    first, second, third = (site.ask("Login").run for _ in range(3))
    with site.visitor() as visitor:
        assert reply(visitor, first) == 200
        assert reply(visitor, second, Authorization=f"Bearer {TOKEN}") == 200
        assert reply(visitor, third, Authorization=f"bearer {ADAS}") == 200
    found = [site.sources(run)[0] for run in (first, second, third)]
    assert found == [("api", "web", ""), ("api", "web", "token"), ("api", "web", "ada")]


def test_a_users_token_opens_a_login_in_their_name(site: Site) -> None:
    """Then they are a person."""
    run = site.ask("Login").run
    with site.visitor(**PAGE) as visitor:
        assert log_in(visitor, ADAS).status_code == 303
        assert "ada" in visitor.get("/").text
        assert send(visitor, run, pick_0="OK").status_code == 303
    assert site.sources(run) == [("person", "web", "ada")]


def test_the_servers_token_opens_no_login(site: Site) -> None:
    """It is for programs."""
    with site.visitor(**PAGE) as visitor:
        assert log_in(visitor, TOKEN).status_code == 401


def test_guessing_tokens_is_slowed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten wrong ones the next wait for each other; behind too many, none is looked at."""
    monkeypatch.setattr(keys, "LONGEST_WAIT", 0.0)
    with site.visitor() as visitor:
        for number in range(keys.FAILURES + 1):
            headers = {"Authorization": f"Bearer {number}"}
            assert visitor.get("/api/inbox", headers=headers).status_code == 401
        refused = visitor.get("/api/inbox", headers={"Authorization": f"Bearer {TOKEN}"})
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "60"
        assert visitor.get("/api/inbox").status_code == 200


def test_wrong_logins_lock_nobody_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the same address: no code, no token in use, and no first login that waits its turn."""
    monkeypatch.setattr(keys, "PAUSE", 0.001)
    with site.visitor(**PAGE) as visitor:
        for number in range(3 * keys.FAILURES):
            assert log_in(visitor, f"wrong {number}").status_code == 401
        known = {"Authorization": f"Bearer {TOKEN}"}
        assert visitor.get("/api/inbox", headers=known).status_code == 200
        assert log_in(visitor, ADAS).status_code == 303
        monkeypatch.setattr(keys, "LONGEST_WAIT", -1.0)
        assert log_in(visitor, "wrong").status_code == 429
        assert log_in(visitor, site.keys.new_code()).status_code == 303
        assert log_in(visitor, ADAS).status_code == 303
        assert visitor.get("/api/inbox", headers=known).status_code == 200


# -- strangers -----------------------------------------------------------------------------------


def test_a_server_for_others_shows_strangers_nothing(far: Site) -> None:
    """All that they see is where to log in, and that the server is alive."""
    run = far.ask("Secret plans").run
    with far.visitor(Accept="text/html") as visitor:
        for path in (
            *PAGES,
            f"/runs/{run}",
            f"/api/runs/{run}",
            "/nowhere",
            "/static/../api",
        ):
            refused = visitor.get(path, follow_redirects=False)
            assert refused.status_code in (303, 401, 404), path
            assert "Secret" not in refused.text
        for path in OPEN:
            assert visitor.get(path).status_code == 200
        assert reply(visitor, run, Origin=BASE) == 401
    assert far.sources(run) == []


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("/", "/"),
        ("/runs/01ABC", "/runs/01ABC"),
        ("/runs/01ABC/amend?to=1:", "/"),
        ("/stats", "/stats"),
    ],
)
def test_who_opens_a_page_is_led_to_the_login(far: Site, path: str, to: str) -> None:
    """And from there back to it. Programs, parts of pages, forms and tokens are refused."""
    with far.visitor() as visitor:
        led = visitor.get(path, headers={"Accept": "text/html"}, follow_redirects=False)
        assert (led.status_code, led.headers["location"]) == (303, f"/login?to={to}")
        assert led.headers["cache-control"] == "no-store"
        refused = [
            visitor.get(path),
            visitor.get("/api/inbox", headers={"Accept": "text/html"}),
            visitor.get(path, headers={"Accept": "text/html", "Authorization": "Bearer wrong"}),
            visitor.post("/runs/01ABC/answer", headers=PAGE),
        ]
        assert {answer.status_code for answer in refused} == {401}
        assert 'href="/login"' in refused[-1].text


def test_a_server_for_others_serves_those_it_knows(far: Site) -> None:
    """With a token, or in a login."""
    with far.visitor(Authorization=f"Bearer {TOKEN}") as program:
        assert program.get("/api/inbox").status_code == 200
    with far.person() as person:
        assert person.get("/").status_code == 200


@pytest.mark.parametrize(
    "header", ["Forwarded", "X-Forwarded-For", "X-Real-IP", "X-Forwarded-Host", "Via", "CF-Ray"]
)
def test_who_comes_through_another_server_is_a_stranger(site: Site, header: str) -> None:
    """Such a server stands on this machine, and the world stands behind it."""
    with site.visitor(**{header: "127.0.0.1"}) as visitor:
        assert visitor.get("/").status_code == 401
        assert visitor.get("/login").status_code == 200


@pytest.mark.parametrize("charset", ["punycode", "nothing", "utf-8"])
def test_no_encoding_of_a_form_freezes_the_server(far: Site, charset: str) -> None:
    """Each part of a form in parts names its own, and even a stranger may send the login's."""
    head = f"Content-Disposition: form-data; name=a\r\nContent-Type: text/plain; charset={charset}"
    body = f"--x\r\n{head}\r\n\r\n".encode() + b"a" * 900_000 + b"\xff\r\n--x--\r\n"
    parts = {**PAGE, "Content-Type": "multipart/form-data; boundary=x"}
    begun = time.process_time()
    with far.visitor() as visitor:
        assert visitor.post("/login", content=body, headers=parts).status_code == 415
    assert time.process_time() - begun < 5


# -- what every answer says ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/nope", "/api/runs/0", "/static/app.js", "/static/nope", "/api/openapi.json"]
)
def test_every_answer_has_its_guards(site: Site, path: str) -> None:
    """Refusals too; no page runs a script that stands in it."""
    with site.visitor(Accept="text/html") as visitor:
        answer = visitor.get(path)
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    assert "script-src 'self'" in HEADERS["Content-Security-Policy"]


# -- sizes ---------------------------------------------------------------------------------------


def test_too_large_a_body_is_refused(site: Site) -> None:
    """Wherever it is sent, with or without saying so before."""
    run = site.ask("Login").run
    large = b'{"text": "' + b"x" * LARGEST_BODY + b'"}'

    def pieces() -> Any:  # noqa: ANN401 - pieces of a body
        yield from (large[at : at + 65536] for at in range(0, len(large), 65536))

    with site.visitor(**{"Content-Type": "application/json"}) as visitor:
        for path in (f"/api/runs/{run}/reply", "/api/asks", f"/api/runs/{run}/withdraw"):
            assert visitor.post(path, content=large).status_code == 413
            assert visitor.post(path, content=pieces()).status_code == 413
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for path in ("/login", "/logout", f"/runs/{run}/answer"):
            assert visitor.post(path, content=large, headers=form).status_code == 413
            assert visitor.post(path, content=pieces(), headers=form).status_code == 413


def test_a_hundred_megabytes_are_not_waited_for(tmp_path: Path) -> None:
    """The real server answers before the body has come, and goes on serving."""
    server = Server(tmp_path)
    server.start()
    try:
        for length in (b"Content-Length: 104857600", b"Content-Length: 9" + b"9" * 30):
            with socket.create_connection(("127.0.0.1", server.port), 5) as line:
                line.sendall(
                    b"POST /api/asks HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Type: application/json\r\n" + length + b"\r\n\r\n{"
                )
                line.settimeout(5)
                assert line.recv(100).split()[1] in (b"413", b"400")
        with socket.create_connection(("127.0.0.1", server.port), 5) as line:
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert line.recv(100).split()[1] == b"200"
    finally:
        server.kill()


@pytest.mark.parametrize("name", ["%00", "app.js/x", "x" * 300, "..%2fapp.py"])
def test_no_name_of_a_file_is_a_mistake_of_the_server(far: Site, name: str) -> None:
    """Even a stranger may ask for the files of the login page, and for what is none."""
    with far.visitor() as stranger:
        assert stranger.get(f"/static/{name}").status_code == 404
