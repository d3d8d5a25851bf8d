"""A run's page: the chart with its route, the track with its phases, a chain that is held."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import walks
from program import call
from quandary.doors.web import run_pages
from quandary.journal import runs
from quandary.model.chart import Chart, Page, Route, Step
from sites import hidden, send

if TYPE_CHECKING:
    from sites import Site

PHASES = [
    {"label": "1", "name": "Plan <b>"},
    {"label": "2", "name": "Build", "approval": "person"},
    {"label": "3", "name": "Ship"},
]


def test_a_walk_shows_its_chart_and_route(site: Site) -> None:
    """The picture, every attempt with what was said, the tokens and the time."""
    run = walks.released(site.store).run
    with site.person() as visitor:
        page = visitor.get(f"/runs/{run}").text
    assert "<svg" in page
    assert len(re.findall(r'class="line taken"', page)) == 6
    assert "attempt 2, accepted" in page
    assert "The version is missing." in page
    assert "completed" in page
    assert re.search(r"<dt>spent</dt><dd[^>]*>\d+ calls", page)
    assert "style=" not in page


def test_a_walk_under_way_says_how_to_go_on(site: Site) -> None:
    """And a failed one too; one that waits for a person needs no command."""
    state = walks.begin(site.store)
    command = f"quandary walk --resume {state.run}"
    with site.person() as visitor:
        assert command in visitor.get(f"/runs/{state.run}").text
        asked = walks.go(site.store, walks.begin(site.store))
        assert "<form" in visitor.get(f"/runs/{asked.run}").text
        assert "--resume" not in visitor.get(f"/runs/{asked.run}").text
        while state.calls:
            state = walks.send(site.store, state, walks.failed(state.calls[0]))
        page = visitor.get(f"/runs/{state.run}").text
        assert state.status == "failed"
        assert command in page
        assert "no such model" in page


def test_a_step_for_a_person_is_answered_on_the_page(site: Site) -> None:
    """The route that they choose is the way the walk goes."""
    asked = walks.go(site.store, walks.begin(site.store))
    with site.person() as visitor:
        assert send(visitor, asked.run, pick_0="SHIP-IT").status_code == 303
    assert runs.look(site.store, asked.run).status == "done"


def test_a_walk_in_a_chart_full_of_scripts(site: Site) -> None:
    """Names of steps, answers and critiques are text, in the picture too."""
    nasty = "<script>alert(1)</script>\"'>"
    chart = Chart(
        nasty,
        (
            Page(
                "p",
                nasty,
                (Step("a", f"Do {nasty}"), Step("b", f"And {nasty}")),
                (Route("a", "b", ""),),
            ),
        ),
    )
    state = walks.begin(site.store, chart)
    state = walks.send(site.store, state, walks.did(state.calls[0], nasty))
    state = walks.send(site.store, state, walks.judged(state.calls[0], nasty))
    with site.person() as visitor:
        page = visitor.get(f"/runs/{state.run}").text
    assert page.count("<script") == 1
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize("room", [run_pages.ROOM, 0])
def test_nothing_hides_in_what_agents_wrote(
    site: Site, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """However it is laid out, signs that turn a text around are shown as what they are."""
    monkeypatch.setattr(run_pages, "ROOM", room)
    turned = "\u202e"
    parts = f"[{', '.join(['[]'] * 501)}, {{}}]"
    change = f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{turned}\n+y\n"
    for text in (f'["{turned}"]', parts.replace("{}", f'"{turned}"'), change, f"*{turned}*"):
        state = walks.begin(site.store)
        state = walks.send(site.store, state, replace(walks.did(state.calls[0]), text=text))
        with site.person() as visitor:
            page = visitor.get(f"/runs/{state.run}").text
        _, _, told = page.partition('<p class="about">output</p>')
        assert "\\u202e" in told, text
        assert turned not in page, text


def test_nothing_hides_in_what_changed(site: Site) -> None:
    """A question that is back shows it in what is otherwise, too."""
    state = walks.begin(site.store)
    state = walks.send(site.store, state, walks.did(state.calls[0], "Two \u202esteps."))
    state = walks.send(site.store, state, walks.judged(state.calls[0]))
    state = walks.send(site.store, state, walks.chose(state.calls[0], "yes"))
    assert state.ask is not None
    with site.person() as visitor:
        sent = send(visitor, state.run, pick_0=state.ask.questions[0].choices[1].code)
        assert sent.status_code == 303
        state = runs.look(site.store, state.run)
        state = walks.send(site.store, state, walks.did(state.calls[0], "One step."))
        walks.send(site.store, state, walks.chose(state.calls[0], "yes"))
        page = visitor.get(f"/runs/{state.run}").text
    assert "Changed since this was last asked" in page
    assert "\u202e" not in page


def test_a_long_walk_is_cut(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says what has all of it."""
    monkeypatch.setattr(run_pages, "MOST_STOPS", 3)
    state = walks.go(site.store, walks.begin(site.store, walks.line(8)))
    with site.person() as visitor:
        page = visitor.get(f"/runs/{state.run}").text
    assert page.count(' id="stop-') == 3
    assert f"quandary report {state.run}" in page


def test_a_gate_shows_its_track(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The phases in a line, where it stands, and who let it pass, as the journal knows it."""
    monkeypatch.setenv("QUANDARY_STORE", str(site.folder / "journal.db"))
    (site.folder / "track").mkdir()
    (site.folder / "phases.json").write_text(json.dumps(PHASES), encoding="utf-8")
    for words in (
        ("phase", "start", "track", "--phases", "phases.json"),
        ("phase", "go", "track", "1: Plan <b>"),
        ("phase", "go", "track", "2: Build"),
    ):
        assert call(capsys, *words).status == 0
    ended = call(capsys, "gate", "track", "--require", "person", "--via", "relay")
    run = json.loads(ended.out)["run"]
    with site.person() as visitor:
        page = visitor.get(f"/runs/{run}").text
        assert re.findall(r'<li class="(\w[\w-]*)"[^>]*>\s*<span class="sign"', page) == [
            "done",
            "current",
            "next",
        ]
        assert "Plan &lt;b&gt;" in page
        assert "approved by <bdi>agent (command)</bdi>" in page
        code = re.search(r'name="pick-0" value="(PR\w*|GO\w*)"', page)
        assert code is not None
        assert send(visitor, run, pick_0=code[1]).status_code == 303
        page = visitor.get(f"/runs/{run}").text
        assert "approved by <bdi>person (web)</bdi>" in page
        line = page.split('<ol class="track">')[1].split("</ol>")[0]
        assert re.findall(r"done, approved by <bdi>(.*?)</bdi>", line) == [
            "agent (command)",
            "person (web)",
        ]
        file = site.folder / "track" / ".state.json"
        forged = json.loads(file.read_text(encoding="utf-8"))
        for passage in forged["phaseHistory"]:  # as anybody can write it
            passage |= {"who": "person", "through": "web", "by": "ada", "run": ""}
        file.write_text(json.dumps(forged), encoding="utf-8")
        page = visitor.get(f"/runs/{run}").text
        assert "done, approved by" not in page
        assert "approved by <bdi>ada (person, web)</bdi> (not in this journal)" in page
    state = runs.look(site.store, run)
    assert (state.status, state.result["nextPhase"]) == ("done", "3: Ship")


def test_the_notice_says_what_came_of_what_was_sent(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A question back is no answer, and a phase that lacks its proof is not left."""
    monkeypatch.setenv("QUANDARY_STORE", str(site.folder / "journal.db"))
    (site.folder / "track").mkdir()
    declared = [{"label": "1", "name": "Plan", "proof": ["scope"]}, {"label": "2"}]
    (site.folder / "phases.json").write_text(json.dumps(declared), encoding="utf-8")
    call(capsys, "phase", "start", "track", "--phases", "phases.json")
    call(capsys, "phase", "go", "track", "1: Plan")
    run = json.loads(call(capsys, "gate", "track", "--via", "relay").out)["run"]
    with site.person() as visitor:
        for fields, told in (
            ({"text_0": "?"}, "Sent: "),
            ({"extra_0": "B"}, "Answered: "),
            ({"pick_0": "PRC"}, "for want of proof (no: scope is missing)"),
        ):
            sent = send(visitor, run, **fields)
            shown = visitor.get(sent.headers["location"]).text
            notice = shown.split('<div class="notice"')[1].split("</p>")[0]
            assert told in re.sub("<[^>]*>", "", notice)


def test_the_notice_says_that_nothing_came_of_an_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a file has changed since it was shown, the phase is not left, and the page says so."""
    monkeypatch.setenv("QUANDARY_STORE", str(site.folder / "journal.db"))
    (site.folder / "track").mkdir()
    (site.folder / "track" / "plan.md").write_text("One bed.", encoding="utf-8")
    declared = [{"label": "1", "name": "Plan", "approval": "person"}, {"label": "2"}]
    (site.folder / "phases.json").write_text(json.dumps(declared), encoding="utf-8")
    call(capsys, "phase", "start", "track", "--phases", "phases.json")
    call(capsys, "phase", "go", "track", "1: Plan")
    run = json.loads(call(capsys, "gate", "track", "--via", "relay").out)["run"]
    (site.folder / "track" / "plan.md").write_text("Two beds.", encoding="utf-8")
    with site.person() as visitor:
        sent = send(visitor, run, pick_0="PRC")
        shown = visitor.get(sent.headers["location"]).text
    notice = shown.split('<div class="notice"')[1].split("</p>")[0]
    assert "it failed: plan.md changed since it was shown here; ask again" in notice


def test_an_item_that_comes_alone_keeps_its_header(site: Site) -> None:
    """Asked again, or left over from a batch: nothing else may say which item it is."""
    names = ("Login", "Cache", "Queue", "Index", "Pager")
    run = site.ask(*names, question="Three reviewers agree. What now?").run
    with site.person() as visitor:
        send(visitor, run, pick_0="OK", text_1="?", pick_2="OK", pick_3="OK")
        assert ">2. Cache</span>" in visitor.get(f"/runs/{run}").text
        send(visitor, run, pick_0="OK")
        assert ">5. Pager</span>" in visitor.get(f"/runs/{run}").text


def test_a_gate_for_people_is_closed_to_programs(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reply without a login is refused, over the API too, and moves nothing."""
    monkeypatch.setenv("QUANDARY_STORE", str(site.folder / "journal.db"))
    (site.folder / "track").mkdir()
    (site.folder / "phases.json").write_text(json.dumps(PHASES), encoding="utf-8")
    call(capsys, "phase", "start", "track", "--phases", "phases.json")
    call(capsys, "phase", "go", "track", "1: Plan <b>")
    ended = call(capsys, "gate", "track", "--require", "person", "--via", "relay")
    run = json.loads(ended.out)["run"]
    with site.visitor() as visitor:
        refused = visitor.post(f"/api/runs/{run}/reply", json={"text": "proceed", "by": "bob"})
        assert refused.status_code == 403
        assert "only a person" in refused.json()["detail"]
    assert site.sources(run) == []


def test_a_held_chain_says_what_is_held(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And can be taken up again on the page."""
    monkeypatch.setenv("QUANDARY_STORE", str(site.folder / "journal.db"))
    options = [{"key": f"E{n}", "title": f"Idea {n}"} for n in range(1, 6)]
    (site.folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
    ended = call(capsys, "split", "options.json", "--via", "relay")
    run = json.loads(ended.out)["run"]
    with site.person() as visitor:
        number = '<span class="header" dir="auto">D1.1. Idea 1</span>'
        assert number in visitor.get(f"/runs/{run}").text  # each part of a chain has its own
        assert send(visitor, run, pick_0="HLD", comment_0="ask the shop first").status_code == 303
        page = visitor.get(f"/runs/{run}").text
        assert 'class="held"' in page
        assert "E1" in page
        told_now = visitor.get(f"/api/runs/{run}").json()
        assert told_now["held"]["option"] == "E1"
        assert hidden(page)["to"] == told_now["ask"]["key"]
        assert send(visitor, run, text_0="continue").status_code == 303
        assert 'class="held"' not in visitor.get(f"/runs/{run}").text
