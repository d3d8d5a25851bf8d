"""A run's page beyond answering: withdrawing a run, and changing an answer."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import walks
from quandary.desk import reply as replies
from quandary.journal import runs
from quandary.journal.entries import Answered
from sites import PAGE, hidden, send

if TYPE_CHECKING:
    import pytest
    from httpx import Response
    from litestar.testing import TestClient

    from sites import Site


def withdraw(visitor: TestClient[Any], run: str, why: str) -> Response:
    """Send the form with a reason."""
    form = {"mark": hidden(visitor.get("/login").text)["mark"], "why": why}
    return visitor.post(f"/runs/{run}/withdraw", data=form, headers=PAGE, follow_redirects=False)


def form_for(visitor: TestClient[Any], run: str, key: str) -> dict[str, str]:
    """The form in which the answer to a question is changed."""
    page = visitor.get(f"/runs/{run}").text
    links = [unescape(link) for link in re.findall(rf'href="(/runs/{run}/amend[^"]+)"', page)]
    shown = [hidden(visitor.get(link).text) for link in links]
    return next(form for form in shown if form["to"] == key)


def amend(visitor: TestClient[Any], run: str, form: dict[str, str], **fields: Any) -> Response:  # noqa: ANN401
    """Send it."""
    filled = {name.replace("_", "-"): value for name, value in fields.items()}
    return visitor.post(
        f"/runs/{run}/amend", data={**form, **filled}, headers=PAGE, follow_redirects=False
    )


# -- withdrawing ---------------------------------------------------------------------------------


def test_a_waiting_run_is_withdrawn_with_a_reason(site: Site) -> None:
    """The reason and the hand are kept."""
    run = site.ask("Login").run
    with site.person() as visitor:
        assert "Withdraw this run" in visitor.get(f"/runs/{run}").text
        assert withdraw(visitor, run, "asked by mistake").status_code == 303
        page = visitor.get(f"/runs/{run}").text
        assert "asked by mistake" in page
        assert "Withdraw this run" not in page
    state = runs.look(site.store, run)
    assert (state.status, state.error) == ("withdrawn", "asked by mistake")
    ended = site.store.entries(run, kinds=("ended",))[0].read()
    assert (ended.who, ended.through) == ("person", "web")


def test_a_reason_is_needed(site: Site) -> None:
    """Nothing ends without one."""
    run = site.ask("Login").run
    with site.person() as visitor:
        assert withdraw(visitor, run, "  ").status_code == 422
        assert runs.look(site.store, run).status == "waiting"
        assert send(visitor, run, pick_0="OK").status_code == 303
        late = withdraw(visitor, run, "too late")
        assert (late.status_code, "only a waiting run" in late.text) == (409, True)


# -- changing an answer --------------------------------------------------------------------------


def test_a_person_changes_an_answer(site: Site) -> None:
    """The old one is kept; what the new one leads to is asked."""
    run = site.ask("Login").run
    with site.person() as visitor:
        assert "Change an answer" not in visitor.get(f"/runs/{run}").text
        send(visitor, run, pick_0="OK")
        form = form_for(visitor, run, "1:")
        changed = amend(visitor, run, form, pick_0="NO", why="it breaks the login")
        assert changed.status_code == 303
        page = visitor.get(f"/runs/{run}").text
        assert "it breaks the login" in page
        assert hidden(page)["to"] == "1:NO~a1"
        assert send(visitor, run, pick_0="TST").status_code == 303
    state = runs.look(site.store, run)
    assert [chosen["path"] for chosen in state.result["chosenItems"]] == ["NO/TST"]
    bodies = [entry.read() for entry in site.store.entries(run, kinds=("answered",))]
    assert [body.amends for body in bodies if isinstance(body, Answered)] == [0, 3, 0]
    assert site.sources(run) == [("person", "web", "")] * 3


def test_one_of_several_answers_is_changed(site: Site) -> None:
    """The others of the same form stand."""
    run = site.ask("Login", "Cache").run
    with site.person() as visitor:
        send(visitor, run, pick_0="OK", pick_1="OK")
        form = form_for(visitor, run, "2:")
        assert amend(visitor, run, form, pick_0="INF", why="unclear").status_code == 303
    state = runs.look(site.store, run)
    assert [chosen["path"] for chosen in state.result["chosenItems"]] == ["OK", "INF"]


def test_strangers_change_nothing(site: Site) -> None:
    """They can look at the form, and are told to log in."""
    run = site.ask("Login").run
    with site.visitor() as stranger:
        send(stranger, run, pick_0="OK")
        form = form_for(stranger, run, "1:")
        refused = amend(stranger, run, form, pick_0="INF", why="why not")
        assert (refused.status_code, "Only a person" in refused.text) == (403, True)
    assert len(site.sources(run)) == 1


def test_what_is_wrong_with_it_is_said_and_nothing_is_lost(site: Site) -> None:
    """Without a choice, without a reason, with an answer that nobody has."""
    run = site.ask("Login").run
    with site.person() as visitor:
        send(visitor, run, pick_0="OK")
        form = form_for(visitor, run, "1:")
        empty = amend(visitor, run, form, why="<b>second</b> thoughts")
        assert (empty.status_code, "Nothing was chosen" in empty.text) == (422, True)
        assert 'value="&lt;b&gt;second&lt;/b&gt; thoughts"' in empty.text
        silent = amend(visitor, run, form, pick_0="INF", why=" ")
        assert (silent.status_code, "reason for the change" in silent.text) == (422, True)
        assert re.search(r'value="INF" checked', silent.text)
        strange = amend(visitor, run, {**form, "to": "9:"}, pick_0="INF", why="so")
        assert strange.status_code == 404
        assert visitor.get(f"/runs/{run}/amend?to=9:").status_code == 404
    assert len(site.sources(run)) == 1


def test_of_two_who_change_an_answer_one_does(site: Site) -> None:
    """The other has not seen what it is by now."""
    run = site.ask("Login").run
    with site.person() as visitor:
        send(visitor, run, pick_0="OK")
        form = form_for(visitor, run, "1:")
        assert amend(visitor, run, form, pick_0="INF", why="first").status_code == 303
        late = amend(visitor, run, form, pick_0="OK", why="second")
        assert (late.status_code, "Somebody else" in late.text) == (409, True)
    assert len(site.sources(run)) == 2


def test_of_two_at_the_same_moment_one_does(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other came between looking at the answer and writing."""
    run = site.ask("Login").run
    real = replies.amend

    def come_second(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - as it is called
        real(*given, **named | {"why": "quicker"})
        return real(*given, **named)

    with site.person() as visitor:
        send(visitor, run, pick_0="OK")
        form = form_for(visitor, run, "1:")
        monkeypatch.setattr(replies, "amend", come_second)
        late = amend(visitor, run, form, pick_0="INF", why="slower")
        assert late.status_code == 409
        assert "Somebody else has changed this answer" in late.text
    assert len(site.sources(run)) == 2


def test_no_answer_is_changed_under_working_agents(site: Site) -> None:
    """Their work would be for nothing."""
    state = walks.answer(site.store, walks.go(site.store, walks.begin(site.store)), "NOT-YET")
    with site.person() as visitor:
        form = form_for(visitor, state.run, "Sship@1/run")
        with site.store.lock_run(state.run):
            refused = amend(visitor, state.run, form, pick_0="SHIP-IT", why="now")
            assert (refused.status_code, "Agents are at work" in refused.text) == (409, True)
        assert amend(visitor, state.run, form, pick_0="SHIP-IT", why="now").status_code == 303
    assert runs.look(site.store, state.run).status == "done"


def test_a_run_that_was_withdrawn_is_not_changed(site: Site) -> None:
    """It is begun anew instead."""
    run = site.ask("Login", "Cache", "Queue", "Mail", "Search").run
    with site.person() as visitor:
        send(visitor, run, pick_0="OK", pick_1="OK", pick_2="OK", pick_3="OK")
        form = form_for(visitor, run, "1:")
        withdraw(visitor, run, "enough")
        assert "Change an answer" not in visitor.get(f"/runs/{run}").text
        refused = amend(visitor, run, form, pick_0="INF", why="after all")
        assert (refused.status_code, "--from" in refused.text) == (409, True)
