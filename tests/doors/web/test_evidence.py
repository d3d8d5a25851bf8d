"""What a question shows to judge by, in a real browser: values, attachments, Markdown, diffs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import walks
from browsers import NEEDED, World, judge, send, turning
from quandary.journal import runs

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = NEEDED

FIELDS = ["replicas (How many): integer = 3", "env: staging|prod = staging", "dry: boolean = true"]


@pytest.mark.parametrize("scripts", [True, False])
def test_values_are_edited_and_approved_on_the_page(world: World, scripts: bool) -> None:
    """A value that does not fit is said at its question, and nothing typed is lost."""
    run = world.site.ask("API", fields=FIELDS).run
    with world.person(java_script_enabled=scripts) as page:
        page.goto(f"/runs/{run}")
        if scripts:
            assert judge(page) == []
        page.get_by_label("How many").fill("many")
        page.get_by_label("env").select_option("prod")
        page.get_by_role("radio", name="Looks good").check()
        send(page)
        expect(page.get_by_role("alert").last).to_contain_text("How many must be integer")
        expect(page.get_by_label("env")).to_have_value("prod")
        page.get_by_label("How many").fill("5")
        if scripts:  # Enter goes on to the next field, then to the options
            page.get_by_label("How many").press("Enter")
            expect(page.get_by_label("env")).to_be_focused()
        page.get_by_role("radio", name="Looks good").check()
        send(page)
        page.goto(f"/runs/{run}")
        expect(page.get_by_text("replicas: 3 → 5; env: staging → prod").last).to_be_visible()
    [chosen] = runs.look(world.site.store, run).result["chosenItems"]
    assert chosen["values"] == {"replicas": 5, "env": "prod", "dry": True}


PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6"
    "kgAAAABJRU5ErkJggg=="
)
DIFF = "".join(
    f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1,{1 + long} +1,{1 + long} @@\n"
    f"-old {name}\n+new {name}\n{' same' * 1}\n{' same'.join(['', *[chr(10)] * (long - 1)])}"
    for name, long in (("one.py", 1), ("two.py", 300))
)
PLAN = """\
# The plan

See [the ticket](https://tickets.example/7) and [this](javascript:alert(1)), https://docs.example/x.

| step | days |
|------|-----:|
| Build | 3 |

```python
def build(): return "<b>"
```

<script>document.title = "hacked"</script> ![chart](chart.png) ![far](https://far.example/x.png)
"""
ATTACH = [
    {"name": "plan.md", "text": PLAN},
    {"name": "chart.png", "base64": PNG},
    {"name": "change.diff", "text": DIFF},
    {"name": "data.csv", "text": 'name,count\n"<b>x</b>",3\n'},
    {"name": "config.json", "text": '{"deep": {"inner": [1, 2]}}'},
    {"name": "page.html", "text": "<script>document.title = 'hacked'</script>"},
    {"name": "paper.pdf", "text": "%PDF-1.7"},
]


@pytest.fixture(scope="module")
def shown(world: World) -> str:
    """A run with one attachment of each kind, and Markdown wherever there can be some."""
    review = (
        "## Decision: Go\n- [OK] Go\n  As `planned`, see [why](https://why.example/1)\n- [NO] No\n"
    )
    return world.site.ask(
        "Plan", text=review, context=PLAN, attach=ATTACH, question="Is **this** right?"
    ).run


def test_markdown_is_shown_and_nothing_in_it_runs(world: World, shown: str) -> None:
    """Tables, code, links that say where they lead, attached images only; the rest is text."""
    with world.person() as page:
        page.goto(f"/runs/{shown}")
        about = page.locator(".preamble")
        expect(about.get_by_role("heading", name="The plan")).to_be_visible()
        expect(about.get_by_role("cell", name="Build")).to_be_visible()
        expect(about.locator("code .hl-k").first).to_have_text("def")
        link = about.get_by_role("link", name="the ticket")
        expect(link).to_have_attribute("href", "https://tickets.example/7")
        expect(about.get_by_text("(tickets.example)")).to_be_visible()
        expect(about.get_by_text("(javascript:alert(1))")).to_be_visible()
        hrefs = about.get_by_role("link").evaluate_all("all => all.map((one) => one.href)")
        assert hrefs == ["https://tickets.example/7", "https://docs.example/x"]
        expect(about.get_by_role("img")).to_have_attribute("alt", "chart")  # and there is only one
        page.wait_for_function("document.querySelector('.preamble img').naturalWidth === 1")
        expect(about.get_by_text('<script>document.title = "hacked"</script>')).to_be_visible()
        expect(page.locator(".question strong")).to_have_text("this")
        expect(page.locator(".description code")).to_have_text("planned")
        assert "hacked" not in page.title()


def places(file: Locator) -> list[tuple[float, float]]:
    """Where a changed line stands in a diff, before and after."""
    found = [file.locator(f"td.{kind}").bounding_box() for kind in ("gone", "added")]
    return [(box["x"], box["y"]) for box in found if box]


def test_attachments_are_shown_in_place(world: World, shown: str) -> None:
    """Each as what it is, usable by everybody, and no wider than a phone."""
    with world.person() as page:
        page.goto(f"/runs/{shown}")
        page.evaluate("for (const one of document.querySelectorAll('.attached')) one.open = true")
        part = {one["name"]: page.get_by_role("region", name=one["name"]) for one in ATTACH}
        expect(part["plan.md"].get_by_role("heading", name="The plan")).to_be_visible()
        expect(part["data.csv"].get_by_role("cell", name="<b>x</b>")).to_be_visible()
        expect(part["config.json"].get_by_text("inner")).to_be_hidden()
        part["config.json"].get_by_text("deep").click()
        expect(part["config.json"].get_by_text("inner")).to_be_visible()
        expect(part["page.html"].get_by_text("hacked")).to_be_visible()
        expect(part["chart.png"].get_by_role("img", name="chart.png")).to_be_visible()
        paper = page.locator(".attached", has_text="paper.pdf")
        expect(paper.get_by_role("link", name="The whole file")).to_be_visible()
        expect(paper.locator(".remarks")).to_have_count(0)  # it is a link, and has no lines
        files = part["change.diff"].locator("details")
        assert files.evaluate_all("all => all.map((one) => one.open)") == [True, False]
        gone, came = places(files.first)
        assert gone[1] == came[1]
        assert gone[0] < came[0]
        assert judge(page) == []
        page.set_viewport_size({"width": 390, "height": 800})
        gone, came = places(files.first)
        assert gone[1] < came[1]
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    with world.person(color_scheme="dark") as page:
        page.goto(f"/runs/{shown}")
        assert judge(page) == []


def test_an_attachment_is_served_as_a_file_that_runs_nothing(world: World, shown: str) -> None:
    """Its type is none that a browser would run, it is in a sandbox, and only its run has it."""
    with world.person() as page:
        page.goto(f"/runs/{shown}")
        links = page.locator(".attached > p a").evaluate_all("all => all.map((one) => one.href)")
        kinds = []
        for address in links:
            answer = page.request.get(address)
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in answer.headers["content-security-policy"]
            way = answer.headers["content-disposition"].partition(";")[0]
            kinds.append((answer.headers["content-type"].partition(";")[0], way))
        plain, image, paper = ("text/plain", "inline"), ("image/png", "inline"), "application/pdf"
        assert kinds == [plain, image, *[plain] * 4, (paper, "attachment")]
        page.goto(links[5])
        assert page.locator("script").count() == 0
        other = world.site.ask("Other").run
        assert page.request.get(links[0].replace(shown, other)).status == 404


@pytest.mark.parametrize("scripts", [True, False])
def test_remarks_on_lines_go_with_the_answer(world: World, scripts: bool) -> None:
    """A click begins one, or its number is typed; a revised text shows what changed since."""
    attach = [{"name": "plan.md", "text": PLAN}, {"name": "change.diff", "text": DIFF}]
    run = world.site.ask("Plan", attach=attach).run
    with world.person(java_script_enabled=scripts) as page:
        page.goto(f"/runs/{run}")
        plan = page.get_by_label("Remarks on lines of plan.md")
        change = page.get_by_label("Remarks on lines of change.diff")
        if scripts:
            page.get_by_role("region", name="plan.md").get_by_text("The plan").click()
            page.keyboard.type("Say whose.")
            page.get_by_role("region", name="change.diff").get_by_text("new one.py").click()
            page.keyboard.type("Why?")
        else:
            plan.fill("1: Say whose.\nwrong")
            change.fill("one.py:1: Why?")
        page.get_by_role("radio", name="Looks good").check()
        if not scripts:
            send(page)
            expect(page.get_by_role("alert").last).to_contain_text("“wrong” is no remark")
            plan.fill("1: Say whose.")
            page.get_by_role("radio", name="Looks good").check()
        send(page)
        [chosen] = runs.look(world.site.store, run).result["chosenItems"]
        assert chosen["annotations"] == [
            {"file": "one.py", "line": 1, "text": "Why?"},
            {"file": "plan.md", "line": 1, "text": "Say whose."},
        ]
        revised = [{"name": "plan.md", "text": PLAN.replace("The plan", "Ada's plan")}]
        again = world.site.ask("Plan", attach=revised, origin=run)
        assert again.status == "waiting"  # what was approved was another text
        page.goto(f"/runs/{again.run}")
        changes = page.get_by_role("region", name="Changes in plan.md")
        expect(changes.locator("td.gone")).to_have_text("# The plan")
        expect(changes.locator("td.added")).to_have_text("# Ada's plan")
        if scripts:
            assert judge(page) == []
    same = world.site.ask("Plan", attach=attach, origin=run)
    assert same.status == "done"


def test_what_agents_wrote_is_laid_out_and_what_changed_in_a_run_is_shown(world: World) -> None:
    """Markdown, JSON and diffs on a walk's page; a question that is back says what is otherwise."""
    store = world.site.store
    state = walks.begin(store)
    state = walks.send(store, state, walks.did(state.calls[0], "Two **steps**.\n\nBuild it first."))
    state = walks.send(store, state, walks.judged(state.calls[0]))
    state = walks.send(store, state, walks.chose(state.calls[0], "yes"))
    with world.person() as page:
        page.goto(f"/runs/{state.run}")
        expect(page.locator(".preamble strong", has_text="steps")).to_be_visible()
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        told = page.locator("#told")
        expect(told.locator(".said strong", has_text="steps").first).to_be_visible()
        expect(told.locator(".said .json .key", has_text="fully_completed")).to_be_visible()
        assert judge(page) == []
        page.keyboard.press("2")  # not yet
        with turning(page):
            page.keyboard.press("Enter")
        state = runs.look(store, state.run)
        change = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new\n"
        mended = walks.did(state.calls[0], f"One **step**.\n\n```diff\n{change}```")
        state = walks.send(store, state, mended)
        walks.send(store, state, walks.chose(state.calls[0], "yes"))
        page.goto(f"/runs/{state.run}")
        changes = page.get_by_role("region", name="Changes since this was last asked")
        expect(changes.locator("td.gone", has_text="Two **steps**")).to_be_visible()
        expect(changes.locator("td.added", has_text="One **step**")).to_be_visible()
        expect(page.locator(".preamble .diff td.added")).to_have_text("new")
        narrow = page.locator(".preamble .diff .n").last.bounding_box()
        wide = page.locator(".preamble .diff td.added").bounding_box()
        assert narrow is not None
        assert wide is not None
        assert narrow["width"] * 3 < wide["width"]  # a number takes no more room than it needs
        assert judge(page) == []
