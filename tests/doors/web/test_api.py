"""The API: what a program sends, what comes back, and that its description is true."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from quandary.journal import runs as driver
from sites import BASE, PAGE, REVIEW, TOKEN, Site, send

if TYPE_CHECKING:
    from pathlib import Path


ASKING = {
    "context": "A plan of few steps.",
    "text": REVIEW,
    "items": [{"id": "1", "title": "Login"}],
}


def test_the_inbox_and_the_runs(site: Site) -> None:
    """What waits, and all there are, page by page."""
    first, second = site.ask("Login").run, site.ask("Cache").run
    driver.withdraw(site.store, second, "no need", who="person", through="terminal")
    with site.visitor() as visitor:
        found = visitor.get("/api/inbox").json()
        assert [run["run"] for run in found["runs"]] == [first]
        assert found["runs"][0]["waits"] == "person"
        assert found["next"] is None
        page = visitor.get("/api/runs?limit=1").json()
        assert [run["run"] for run in page["runs"]] == [second]
        rest = visitor.get(f"/api/runs?limit=1&after={page['next']}").json()
        assert [run["run"] for run in rest["runs"]] == [first]
        assert visitor.get("/api/runs?status=withdrawn").json()["runs"][0]["run"] == second
        assert visitor.get("/api/inbox?project=/elsewhere").json()["runs"] == []


def test_a_state_is_that_of_the_contract(site: Site) -> None:
    """The same keys as on the command line, and how much has happened besides."""
    state = site.ask("Login", "Cache")
    with site.visitor() as visitor:
        told = visitor.get(f"/api/runs/{state.run[:24]}").json()
    assert (told["run"], told["flow"], told["status"]) == (state.run, "decide", "waiting")
    assert told["n"] == state.n
    ask = told["ask"]
    assert ask["keys"] == ["1:", "2:"]
    assert ask["reply_with"] == ["quandary", "reply", state.run, "--to", "1:", "-"]
    assert [len(q["options"]) for q in ask["tool_input"]["questions"]] == [3, 3]


def test_an_attachment_comes_with_the_request(site: Site) -> None:
    """It is sent under a name, and is listed with its digest beside the question."""
    wanted = {"context": "Now.", "text": REVIEW, "attach": [{"name": "plan.md", "text": "# Plan"}]}
    with site.visitor() as visitor:
        told = visitor.post("/api/asks", json=wanted).json()
    (one,) = told["ask"]["attachments"]
    assert (one["name"], site.store.document(one["digest"])) == ("plan.md", b"# Plan")


def test_replies(site: Site) -> None:
    """Answers by key, in order, or as text; the run is done when all are given."""
    run = site.ask("Login", "Cache", "Queue").run
    with site.visitor() as visitor:
        address = f"/api/runs/{run}/reply"
        told = visitor.post(address, json={"text": "NO", "to": "2:"}).json()
        seen = []
        while told["status"] == "waiting":
            seen += told["ask"]["keys"]
            answers = [
                {"key": key, "picked": [{"1": "OK", "2": "BUG", "3": "INF"}[key[0]]]}
                for key in told["ask"]["keys"]
            ]
            told = visitor.post(address, json={"answers": answers}).json()
        assert "2:NO" in seen
        assert [c["path"] for c in told["result"]["chosenItems"]] == ["OK", "NO/BUG", "INF"]


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ({}, 400),
        ({"text": "OK", "answers": [{"picked": ["OK"]}]}, 400),
        ({"answers": [{"picked": ["XX"]}]}, 400),
        ({"answers": [{"key": "9:", "picked": ["OK"]}]}, 409),
        ({"text": "OK", "to": "9:"}, 409),
        ({"text": ""}, 400),
        ({"text": '{"is_error": true}'}, 400),
        ({"unknown": 1}, 400),
        ({"answers": "OK"}, 400),
        ([], 400),
    ],
)
def test_what_is_no_reply_is_refused(site: Site, reply: object, status: int) -> None:
    """With a problem that says why, and nothing is booked."""
    run = site.ask("Login").run
    with site.visitor(Accept="text/html") as visitor:
        refused = visitor.post(f"/api/runs/{run}/reply", json=reply)
        assert refused.status_code == status
        assert refused.headers["content-type"] == "application/problem+json"
        problem = refused.json()
        assert set(problem) == {"type", "status", "title", "detail"}
        assert problem["status"] == status
        assert problem["detail"]
    assert site.sources(run) == []


def test_what_is_no_answer_is_recorded_and_a_decline_ends_the_run(site: Site) -> None:
    """As at every other door: an error leaves the question open, a decline decides nothing."""
    run = site.ask("Login").run
    with site.visitor() as visitor:
        address = f"/api/runs/{run}/reply"
        failed = visitor.post(address, json={"text": '{"is_error": true}'})
        assert failed.status_code == 400
        told = visitor.get(f"/api/runs/{run}").json()
        assert (told["status"], [note["kind"] for note in told["notes"]]) == ("waiting", ["error"])
        declined = visitor.post(address, json={"text": '{"action": "decline"}'})
        assert (declined.status_code, declined.json()["status"]) == (200, "declined")
    assert site.sources(run) == []


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[" * 200_000, b'{"text": "\xff"}', b'{"text": "\\ud800"}', b"null"]
)
def test_a_body_that_is_no_json_is_refused(site: Site, body: bytes) -> None:
    """However it is broken."""
    run = site.ask("Login").run
    headers = {"Content-Type": "application/json"}
    with site.visitor() as visitor:
        for path in (f"/api/runs/{run}/reply", "/api/asks", f"/api/runs/{run}/withdraw"):
            refused = visitor.post(path, content=body, headers=headers)
            assert refused.status_code == 400, path
            assert refused.headers["content-type"] == "application/problem+json"


def test_a_late_reply_is_refused(site: Site) -> None:
    """What was answered stays answered."""
    run = site.ask("Login").run
    with site.visitor() as visitor:
        address = f"/api/runs/{run}/reply"
        assert visitor.post(address, json={"text": "OK", "to": "1:"}).status_code == 200
        late = visitor.post(address, json={"text": "NO", "to": "1:"})
        assert late.status_code == 409
        assert "already answered" in late.json()["detail"]


def test_a_replayed_reply_is_booked_once(site: Site) -> None:
    """The same key gives the same state, although another question waits by now."""
    run = site.ask("Login", "Cache").run
    with site.visitor() as visitor:
        headers = {"Idempotency-Key": "k-1"}
        sent = {"answers": [{"key": "1:", "picked": ["OK"]}]}
        states = [
            visitor.post(f"/api/runs/{run}/reply", json=sent, headers=headers).json()
            for _ in range(3)
        ]
        assert states[0] == states[1] == states[2]
        assert len(site.sources(run)) == 1


def test_many_at_once_with_one_key(site: Site) -> None:
    """One reply is booked, and all are told the same."""
    run = site.ask("Login").run
    answers: list[int] = []
    with site.visitor() as visitor:

        def post() -> None:
            headers = {"Idempotency-Key": "k-1"}
            sent = visitor.post(f"/api/runs/{run}/reply", json={"text": "OK"}, headers=headers)
            answers.append(sent.status_code)

        threads = [threading.Thread(target=post) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [200] * 6
    assert len(site.sources(run)) == 1


def test_withdrawing(site: Site) -> None:
    """Once, with a reason."""
    run = site.ask("Login").run
    with site.visitor() as visitor:
        address = f"/api/runs/{run}/withdraw"
        for blank in ("", " ", "\u200b"):
            assert visitor.post(address, json={"why": blank}).status_code == 400
        assert visitor.post(address, json={"why": "no need"}).json()["status"] == "withdrawn"
        assert visitor.post(address, json={"why": "no need"}).status_code == 409


def test_how_a_text_would_be_read(site: Site) -> None:
    """For programs as codes, for people in words; nothing is booked."""
    run = site.ask("Login").run
    with site.visitor() as visitor:

        def read(text: str, key: str = "1:") -> Any:  # noqa: ANN401 - JSON
            return visitor.get(f"/api/runs/{run}/read", params={"key": key, "text": text}).json()

        assert read("looks good")["codes"] == ["OK"]
        assert read("looks good")["says"] == "Looks good"
        assert read("something else entirely")["says"] == "your own words"
        assert read("?")["says"] == "asks: explain"
        assert read("!skip")["says"] == "skip it"
        assert read("a")["says"] == "A: Show it again"
        assert read("ok", "9:")["status"] == 409
        assert read("x" * 10_001)["status"] == 400
    assert site.sources(run) == []


# -- asking --------------------------------------------------------------------------------------


def test_asking_with_a_tree_that_is_sent_along(site: Site) -> None:
    """It waits in the inbox and is booked as begun by a program."""
    with site.visitor(Authorization=f"Bearer {TOKEN}") as visitor:
        begun = visitor.post("/api/asks", json=ASKING)
        assert begun.status_code == 201
        run = begun.json()["run"]
        assert visitor.get("/api/inbox").json()["runs"][0]["run"] == run
    (began,) = site.store.entries(run, kinds=("began",))
    body = began.read()
    assert (body.who, body.through, body.by) == ("api", "web", "token")


def test_what_requires_a_person_is_not_answered_by_a_program(site: Site) -> None:
    """Whoever asks over HTTP can have it held to, and then no token answers it."""
    with site.visitor(Authorization=f"Bearer {TOKEN}") as visitor:
        begun = visitor.post("/api/asks", json={**ASKING, "require_person": True})
        assert begun.status_code == 201
        run, key = begun.json()["run"], begun.json()["ask"]["key"]
        sent = {"to": key, "text": "1"}
        refused = visitor.post(f"/api/runs/{run}/reply", json=sent)
        assert refused.status_code in {403, 409}, refused.text
        assert "only a person" in refused.json()["detail"]


@pytest.mark.parametrize("source", ["REVIEW", "trees/review.md", "trees/review.md#REVIEW"])
def test_asking_with_a_tree_of_the_project(site: Site, source: str) -> None:
    """By its name or by its file."""
    (site.folder / "trees").mkdir()
    (site.folder / "trees/review.md").write_text(REVIEW, encoding="utf-8")
    with site.visitor() as visitor:
        begun = visitor.post("/api/asks", json={"context": "A plan.", "source": source})
        assert begun.status_code == 201, begun.text


@pytest.mark.parametrize(
    "source",
    [
        "../outside.md",
        "../outside.md#REVIEW",
        "/etc/passwd",
        "link.md",
        "a/../../outside.md",
        "-",
        "",
        "\x00.md",
    ],
)
def test_asking_with_a_file_from_elsewhere_is_refused(
    site: Site, source: str, tmp_path: Path
) -> None:
    """Whatever way leads out of the project; what is there is not told."""
    inner = tmp_path / "inner"
    (inner / ".quandary").mkdir(parents=True)
    (tmp_path / "outside.md").write_text(REVIEW, encoding="utf-8")
    (inner / "link.md").symlink_to(tmp_path / "outside.md")
    served = Site(inner, site.store)
    with pytest.MonkeyPatch.context() as patch, served.visitor() as visitor:
        patch.chdir(inner)
        refused = visitor.post("/api/asks", json={"context": "A plan.", "source": source})
        assert refused.status_code in (400, 404)
        assert "root:" not in refused.text
        assert "Traceback" not in refused.text
    assert site.store.runs() == []


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"context": " "}, "context"),
        ({"context": "About {topic}."}, "topic"),
        ({"text": "no tree"}, "no tree"),
        ({"items": [{"id": "x y"}]}, "id"),
        ({"extras": ["nonsense"]}, "extras"),
        ({"expires": "soon"}, "age"),
        ({"kind": "other"}, "kind"),
        ({"more": 1}, "more"),
    ],
)
def test_asking_badly_is_refused(site: Site, change: dict[str, Any], word: str) -> None:
    """With a problem that names what is wrong."""
    with site.visitor() as visitor:
        refused = visitor.post("/api/asks", json={**ASKING, **change})
        assert refused.status_code in (400, 404)
        assert word in refused.json()["detail"]
    assert site.store.runs() == []


def test_asking_twice_with_one_key_asks_once(site: Site) -> None:
    """Though not where somebody else uses the same key."""
    headers = {"Idempotency-Key": "k-1"}
    with site.visitor(**headers) as visitor:
        runs = {visitor.post("/api/asks", json=ASKING).json()["run"] for _ in range(3)}
        named = {"Authorization": f"Bearer {TOKEN}"}
        runs.add(visitor.post("/api/asks", json=ASKING, headers=named).json()["run"])
    assert len(runs) == 2


# -- waiting -------------------------------------------------------------------------------------


def _later(site: Site, run: str, seconds: float, pick: str = "OK") -> threading.Thread:
    """Have somebody answer after a while."""

    def answer() -> None:
        time.sleep(seconds)
        with site.person() as visitor:
            assert send(visitor, run, pick_0=pick).status_code == 303

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


def test_waiting_for_an_answer(site: Site) -> None:
    """The state comes as soon as there is one, and not before."""
    run = site.ask("Login").run
    with site.visitor() as visitor:
        thread = _later(site, run, 0.5)
        begun = time.monotonic()
        told = visitor.get(f"/api/runs/{run}?wait=30").json()
        took = time.monotonic() - begun
        thread.join()
    assert told["status"] == "done"
    assert 0.4 < took < 15


def test_waiting_for_nothing(site: Site) -> None:
    """When the time is up, the state comes as it is."""
    run = site.ask("Login").run
    with site.visitor() as visitor:
        begun = time.monotonic()
        assert visitor.get(f"/api/runs/{run}?wait=0.4").json()["status"] == "waiting"
        assert time.monotonic() - begun >= 0.4
        assert visitor.get(f"/api/runs/{run}?wait=61").status_code == 400


def test_waiting_after_something_was_missed(site: Site) -> None:
    """Whoever says what they have seen is told at once that there is more."""
    state = site.ask("Login")
    with site.person() as visitor:
        send(visitor, state.run, pick_0="NO")
        begun = time.monotonic()
        told = visitor.get(f"/api/runs/{state.run}?wait=30&after={state.n}").json()
        assert time.monotonic() - begun < 10
        assert told["ask"]["key"] != "1:"


def test_waiting_until_the_end(site: Site) -> None:
    """What happens on the way does not end the waiting."""
    run = site.ask("Login").run
    with site.visitor() as visitor:
        first, second = _later(site, run, 0.3, "NO"), _later(site, run, 1.5, "BUG")
        told = visitor.get(f"/api/runs/{run}?wait=30&until=end").json()
        first.join()
        second.join()
    assert told["result"]["chosenItems"][0]["path"] == "NO/BUG"


def test_asking_and_waiting_in_one_request(site: Site) -> None:
    """A script asks, and gets the answer."""
    with site.visitor() as visitor, site.person() as person:

        def answer() -> None:
            while not (rows := site.store.runs(waits="person")):
                time.sleep(0.05)
            assert send(person, rows[0].id, pick_0="INF").status_code == 303

        thread = threading.Thread(target=answer)
        thread.start()
        told = visitor.post("/api/asks?wait=30", json=ASKING)
        thread.join()
    assert told.json()["result"]["chosenItems"][0]["path"] == "INF"


# -- its description -----------------------------------------------------------------------------


def test_the_description_is_about_the_api_alone(site: Site) -> None:
    """Pages are not in it, and every way to be refused is."""
    with site.visitor() as visitor:
        told = visitor.get("/api/openapi.json").json()
    assert set(told["paths"]) == {
        "/api/inbox",
        "/api/runs",
        "/api/runs/{run}",
        "/api/asks",
        "/api/permits",
        "/api/runs/{run}/reply",
        "/api/runs/{run}/undo",
        "/api/runs/{run}/use",
        "/api/runs/{run}/withdraw",
        "/api/runs/{run}/resume",
        "/api/runs/{run}/read",
    }
    for way in told["paths"].values():
        for what in way.values():
            for status, answer in what["responses"].items():
                done = status in ("200", "201", "202")
                kind = "application/json" if done else "application/problem+json"
                assert set(answer["content"]) == {kind}


def test_a_permit_says_who_asks(site: Site) -> None:
    """By the name that they gave, which looks like nothing of ours."""
    with site.visitor() as program:
        state = program.post("/api/permits", json={"action": "deploy", "by": "release-bot"}).json()
        assert "`release-bot` wants to deploy." in state["ask"]["preamble"]
        state = program.post("/api/permits", json={"action": "deploy"}).json()
        assert "Somebody wants to deploy." in state["ask"]["preamble"]


def test_a_permit_asked_for_with_a_token_bears_its_name(site: Site) -> None:
    """Whatever name it was sent with: that could be another user's."""
    wanted = {"action": "deploy", "by": "ada"}
    with site.visitor(Authorization=f"Bearer {TOKEN}") as program:
        state = program.post("/api/permits", json=wanted).json()
    assert "`token` wants to deploy." in state["ask"]["preamble"]


def test_no_method_but_those_described(site: Site) -> None:
    """Others are refused as a problem, with those that there are."""
    with site.visitor(Origin=BASE) as visitor:
        refused = visitor.delete("/api/inbox")
        assert refused.status_code == 405
        assert "GET" in refused.headers["allow"]
        assert refused.headers["content-type"] == "application/problem+json"


def test_a_page_of_ours_is_a_person_over_the_api_too(site: Site) -> None:
    """Within a login, from our own page."""
    run = site.ask("Login").run
    with site.person() as visitor:
        sent = visitor.post(f"/api/runs/{run}/reply", json={"text": "OK"}, headers=PAGE)
        assert sent.status_code == 200
    assert site.sources(run) == [("person", "web", "")]


def test_a_permit_is_asked_for_allowed_by_a_login_and_used_once(site: Site) -> None:
    """A program asks and uses; only somebody who has logged in can allow it."""
    wanted = {"action": "deploy build 812", "input": '{"build": 812}', "expires": "1h"}
    with site.visitor() as program, site.person() as person:
        state = program.post("/api/permits", json=wanted).json()
        allow = {"answers": [{"key": "1:", "picked": ["ONE"]}]}
        reply, use = (f"/api/runs/{state['run']}/{name}" for name in ("reply", "use"))
        assert program.post(reply, json=allow).status_code == 403
        assert program.post(use, json={"input": wanted["input"]}).status_code == 409
        assert person.post(reply, json=allow).json()["notes"][0]["kind"] == "allowed"
        refused = program.post(use, json={"input": '{"build": 813}'})
        assert (refused.status_code, "812 was allowed" in refused.text) == (409, True)
        assert program.post(use, json={"input": '{"build":812.0}'}).json()["result"]["used"]
        again = program.post(use, json={"input": wanted["input"]})
        assert (again.status_code, "used already" in again.text) == (409, True)
