"""The report as one HTML file: safe whatever was written, readable without a script."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import walks
from quandary.journal import runs
from quandary.journal.sqlite import SqliteStore
from quandary.model.asks import Outcome
from quandary.model.chart import Chart, Page, Route, Step
from quandary.reports import Attempt, Exchange, Leg, Remark, Stop, Story, html
from quandary.reports.html import MOST_STEPS
from quandary.reports.retelling import Told, retell
from walks import answer, begin, go, released

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VOID = {"meta", "br", "hr", "img", "input", "link"}
PARTS = """a bdi body code dd defs details div dl dt footer g h1 h2 h3 head header html li main
marker meta p path polygon pre rect section span strong style summary svg text title ul"""
"""All the elements that a page is made of."""
HOSTILE = (
    "<script>alert(1)</script>",
    "]]></script><script>",
    "\"><img src=x onerror='alert(1)'>",
    "</title></style></pre></svg><iframe src=//example.com>",
    "<!-- <![CDATA[ ]]> -->",
    "javascript:alert(1)",
    "&lt;b&gt; &amp; &#60;",
    "abc\u202egnp.exe\u2066\u200f",
    "\x00\x07\x1b[31mred\x9b",
    "שלום <b>עולם</b> \u2028 \ufeff \ufffe",
    "' onmouseover='x",
)


class Reader(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it, and that it is open."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A shape of a picture."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """It must be the one that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Something to read."""
        if self.open[-1:] != ["style"]:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        """There are none."""
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        """Nor are there any of these."""
        raise AssertionError(data)


def read(page: str) -> Reader:
    """Parse a page, in which everything that is opened is closed."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def harmless(page: str) -> Reader:
    """Nothing in the page runs, loads or leads anywhere else."""
    reader = read(page)
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in reader.tags:
        assert tag in PARTS.split()
        assert not [
            name for name in attributes if name.startswith("on") or name in ("src", "srcdoc")
        ]
        link = attributes.get("href", "#" + ids[0])
        assert link.startswith("#")
        assert link[1:] in ids
    assert not re.search(r"url\((?!#)|@import|expression", page)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    return reader


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A new store."""
    store = SqliteStore(tmp_path / "journal.db")
    yield store
    store.close()


def test_a_run_is_shown_with_its_chart_and_every_text(store: SqliteStore) -> None:
    """The outcome, the picture, each visit, prompts, outputs and verdicts."""
    page = html.report(retell(store, released(store).run))
    reader = harmless(page)
    text = " ".join(reader.texts)
    for said in (
        "completed",
        "Version 2",
        "2. ",
        "5. ",
        "Do the tests pass? (visit 2)",
        "attempt 1, not accepted",
        "- The version is missing.",
        "How to respond: do the task.",
        "ada (person, terminal) decides",
        "chose “ship it”",
        "7 calls, 6.0 s, 340 tokens",
    ):
        assert said in text


def test_the_route_is_marked_in_the_picture(store: SqliteStore) -> None:
    """Lines that were taken are set apart, and steps lead to what happened there."""
    reader = harmless(html.report(retell(store, released(store).run)))
    lines = [a["class"] for tag, a in reader.tags if tag == "g" and "line" in a.get("class", "")]
    assert sorted(lines) == ["line drawn"] + ["line taken"] * 6
    steps = [a["class"] for tag, a in reader.tags if tag == "g" and "step" in a.get("class", "")]
    assert len(steps) == 6
    assert all("reached" in kinds.split() for kinds in steps)
    links = [a["href"] for tag, a in reader.tags if tag == "a"]
    assert links == ["#stop-1", "#stop-2", "#stop-3", "#stop-6", "#stop-7", "#stop-4"]


def test_where_a_run_stands_and_what_it_has_not_reached_is_marked(store: SqliteStore) -> None:
    """Not by colour alone: the legend says what a dashed edge means, and so does the text."""
    state = begin(store)
    reader = harmless(html.report(retell(store, state.run)))
    steps = [a["class"] for tag, a in reader.tags if tag == "g" and "step" in a.get("class", "")]
    assert steps[1] == "step process reached current"
    assert steps[2] == "step decision unreached"
    assert "under way at “Build the package”" in reader.texts
    assert "the run stands here" in " ".join(reader.texts)


def test_a_failure_is_marked(store: SqliteStore) -> None:
    """At the step, and above everything."""
    state = go(store, begin(store), walks.failed)
    page = html.report(retell(store, state.run))
    reader = harmless(page)
    assert 'class="step process reached broken current"' in page
    assert "failed at “Build the package”" in reader.texts
    assert "no such model" in " ".join(reader.texts)


def test_the_page_needs_nothing_but_itself(store: SqliteStore) -> None:
    """No script, nothing to load, and a policy that forbids both; it has light, dark and print."""
    page = html.report(retell(store, released(store).run))
    reader = harmless(page)
    (policy,) = [a["content"] for tag, a in reader.tags if "http-equiv" in a]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "<script" not in page
    assert re.findall("https?://[^\"' ]*", page) == ["http://www.w3.org/2000/svg"]
    for media in ("prefers-color-scheme:dark", "@media print"):
        assert media in page


def test_the_page_can_be_used_without_sight_or_mouse(store: SqliteStore) -> None:
    """A language, a title, landmarks, headings in order, names for pictures, things to scroll."""
    reader = harmless(html.report(retell(store, released(store).run)))
    tags = dict(reversed([(tag, a) for tag, a in reader.tags]))
    assert tags["html"]["lang"] == "en"
    assert {"header", "main", "footer", "title"} <= set(tags)
    headings = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))
    ids = {a["id"] for _, a in reader.tags if "id" in a}
    for _, attributes in (found for found in reader.tags if found[0] == "svg"):
        assert attributes["aria-labelledby"] in ids
    assert all(a["tabindex"] == "0" for tag, a in reader.tags if tag == "pre")
    (chart,) = [a for _, a in reader.tags if a.get("class") == "chart"]
    assert (chart["tabindex"], chart["role"]) == ("0", "region")


def test_whatever_is_written_in_a_chart_stays_text(store: SqliteStore) -> None:
    """Names, labels, prompts, outputs, errors and items full of markup do no harm."""
    ends = [Step(f"e{n}", text, "terminator") for n, text in enumerate(HOSTILE)]
    first = Step("<script>", HOSTILE[0], metadata={"prompt": "\n".join(HOSTILE)})
    second = Step("b", HOSTILE[2], "decision", ("HUMAN",))
    routes = [Route("b", end.id, f"{n} {end.text}") for n, end in enumerate(ends)]
    page = Page("p", HOSTILE[3], (first, second, *ends), (Route("<script>", "b"), *routes))
    chart = Chart(HOSTILE[1], (page, Page("q", HOSTILE[4])), "p")
    item = {"id": HOSTILE[6], "title": HOSTILE[5], "context": "\n".join(HOSTILE)}
    state = begin(store, chart, item=item, defaults={"cli": "CLAUDE", "retries": 0})
    (call,) = state.calls
    said = walks.did(call, "\n".join(HOSTILE))
    state = walks.send(store, state, replace(said, stderr="\n".join(HOSTILE)))
    state = walks.send(store, state, walks.judged(state.calls[0]))
    no = Outcome("dismissed", "\n".join(HOSTILE))
    runs.note(store, state.run, no, who="agent", through="relay", by=HOSTILE[2])
    assert state.ask is not None
    state = answer(store, state, state.ask.questions[0].choices[0].code, comment=HOSTILE[0])
    assert state.status == "done"
    text = " ".join(harmless(html.report(retell(store, state.run))).texts)
    for hostile in HOSTILE[:7]:
        assert hostile in text
    assert r"abc\u202egnp.exe\u2066" in text
    assert r"\x00\x07\x1b[31mred\x9b" in text


def any_text() -> st.SearchStrategy[str]:
    """Anything that a journal can hold, mixed with markup."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    return st.lists(st.one_of(anything, st.sampled_from(HOSTILE)), max_size=3).map(" ".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(any_text(), min_size=12, max_size=12))
def test_any_story_makes_a_harmless_page(texts: list[str]) -> None:
    """Whatever any of its texts is."""
    a, b, c, d, e, f, g, h, i, j, k, m = texts
    exchange = Exchange(
        key=a, agent=b, prompt=c, output=d, stderr=e, problem=f, answered="x", by=g, route=h
    )
    attempt = Attempt(1, (exchange,), "failed", i)
    stop = Stop(
        number=1, id="1", name=j, kind="process", page="p", attempts=(attempt,), error=k, route=m
    )
    story = Story(
        run="R",
        chart=a,
        item=b,
        error=c,
        status="failed",
        stops=(stop,),
        legs=(Leg("p", "1", "2", d),),
        taken_back=(exchange,),
        unplaced=(exchange,),
        remarks=(Remark("", e, f, g, "agent", h),),
    )
    steps = (Step("1", i), Step("2", j, "decision"), Step("3", k, "subprocess"))
    routes = (Route("1", "2", d), Route("2", "2", e), Route("2", "1", m), Route("3", "1"))
    harmless(html.report(Told(story, Chart(a, (Page("p", b, steps, routes),)))))


def test_a_thousand_steps_are_reported_in_two_seconds(store: SqliteStore) -> None:
    """From the journal to the page; a page with that many steps is listed, not drawn."""
    state = go(store, begin(store, walks.line(1000)))
    start = time.process_time()
    page = html.report(retell(store, state.run))
    assert time.process_time() - start < 2
    assert "The page has 1,000 steps, too many to be drawn" in page
    assert "<svg" not in page
    assert page.count('<section class="stop"') == 1000


def test_the_largest_picture_is_drawn_quickly() -> None:
    """With loops and long lines, as large as pictures may be."""
    steps = tuple(Step(str(n), f"Step {n} of many") for n in range(MOST_STEPS))
    far = [Route(str(n), str(n * 7 % MOST_STEPS), "far") for n in range(0, MOST_STEPS, 3)]
    near = [Route(str(n), str(n + 1), "on") for n in range(MOST_STEPS - 1)]
    chart = Chart("Large", (Page("p", "", steps, (*near, *far)),))
    stop = Stop(number=1, id="0", name="Step", kind="process", page="p")
    start = time.process_time()
    harmless(html.report(Told(Story(run="R", chart="Large", stops=(stop,)), chart)))
    assert time.process_time() - start < 2


def test_very_long_texts_are_cut_in_the_middle() -> None:
    """With what is missing said; a browser could not show them."""
    exchange = Exchange(key="1", agent="A", output="a" * 80_000 + "b" * 80_000, answered="x")
    story = Story(run="R", chart="C", unplaced=(exchange,))
    page = html.report(Told(story))
    assert "[… 60,000 characters left out …]" in page
    assert len(page) < 120_000


def test_a_pruned_run_says_what_is_gone(store: SqliteStore) -> None:
    """In place of every text."""
    state = released(store)
    walks.pruned(store, state.run)
    text = " ".join(harmless(html.report(retell(store, state.run))).texts)
    assert "(taken out of the journal)" in text
    assert "18 entries without texts" in text
