"""A report of a walk as one HTML file that opens offline, with no script and nothing to fetch.

Every text in it was written by somebody else, so every one is escaped, and a policy in the file
itself keeps a browser from running or loading anything, should one ever slip through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from quandary import __version__
from quandary.model.chart import QUIET, Chart
from quandary.model.text import one_line
from quandary.reports import story as words
from quandary.reports.drawing import picture

if TYPE_CHECKING:
    from quandary.reports.retelling import Told
    from quandary.reports.story import Exchange, Stop, Story

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_TONES = {"completed": "good", "failed": "bad", "stopped": "bad"}
_VERDICTS = {"passed": "good", "failed": "bad", None: "open"}


def report(told: Told) -> str:
    """The whole file."""
    story = told.story
    name = _text(story.chart or "A walk")
    heading = f"{name}: {_text(words.headline(story))}"
    tone = _TONES.get(story.outcome or "", "open")
    run = _text(story.run)
    style = Path(__file__).with_name("report.css").read_text()
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{heading}</title>\n<style>\n{style}</style>\n</head>",
        f"<body>\n<header>\n<h1><bdi>{name}</bdi></h1>",
        f'<p class="outcome {tone}"><strong>{_text(words.headline(story))}</strong></p>\n<dl>',
        *(f"<dt>{name}</dt><dd><bdi>{_text(text)}</bdi></dd>" for name, text in words.about(story)),
        "</dl>\n</header>\n<main>",
        *(_pages(told.chart, story) if told.chart is not None else ()),
        "<h2>What happened</h2>" if story.stops else "",
        *(line for stop in story.stops for line in _stop(stop)),
        *_others(story),
        f"</main>\n<footer>Run {run}, reported by Quandary {_text(__version__)}.",
        f"<code>quandary verify {run}</code> checks that its journal was not changed.</footer>",
        "</body>\n</html>\n",
    ]
    return "\n".join(filter(None, parts))


def _text(text: str) -> str:
    """A text on one line, safe between tags and in attributes."""
    return escape(one_line(text))


def _pages(chart: Chart, story: Story) -> Iterator[str]:
    pages = words.pages_of(chart, story)
    if not pages:
        return
    yield "<h2>The chart</h2>"
    yield (
        '<p class="legend">What was reached is filled and has the numbers of its visits; what was '
        "taken is drawn thick. A dashed edge is where the run stands.</p>"
    )
    for number, page in enumerate(pages, 1):
        if len(pages) > 1:
            yield f"<h3><bdi>{_text(page.name or page.id)}</bdi></h3>"
        drawn = picture(page, chart, story, f"page-{number}")
        if drawn:
            label = _text(page.name or chart.name) or "The chart"
            opening = f'<div class="chart" role="region" aria-label="{label}" tabindex="0">'
            yield f"{opening}\n{drawn}\n</div>"
        else:
            yield f"<p>The page has {len(page.steps):,} steps, too many to be drawn.</p>"


def _stop(stop: Stop) -> Iterator[str]:
    quiet = stop.kind in QUIET or not (stop.attempts or stop.error or stop.current)
    kinds = "stop quiet" if quiet else "stop"
    yield f'<section class="{kinds}{" deep" if stop.depth else ""}" id="stop-{stop.number}">'
    yield f"<h3>{stop.number}. <bdi>{_text(words.title(stop))}</bdi></h3>"
    if not quiet and (came := words.sum_up(stop)):
        yield f'<p class="{"bad" if stop.error else "came"}">{_text(came)}</p>'
    for attempt in stop.attempts:
        tone, name = _VERDICTS[attempt.verdict], _text(words.tell_attempt(attempt))
        opened = " open" if len(stop.attempts) == 1 or attempt.verdict != "passed" else ""
        yield f'<details{opened}><summary class="{tone}">{name}</summary>'
        if attempt.critique:
            yield f'<div class="text">{_pre(attempt.critique)}</div>'
        yield from (*_exchanges(attempt.exchanges), "</details>")
    yield "</section>"


def _exchanges(exchanges: Iterable[Exchange]) -> Iterator[str]:
    for exchange in exchanges:
        asked, answer = _text(words.tell_request(exchange)), _text(words.answer(exchange))
        yield f'<details class="exchange">\n<summary><bdi>{asked}</bdi>: {answer}</summary>'
        for name, text in words.texts(exchange):
            yield f'<div class="text"><span class="legend">{name}</span>{_pre(text)}</div>'
        yield "</details>"


def _pre(text: str) -> str:
    return '<pre dir="auto" tabindex="0">\n' + escape("\n".join(words.lines(text))) + "</pre>"


def _others(story: Story) -> Iterator[str]:
    for name, exchanges in words.others(story):
        yield f"<h2>{name}</h2>"
        yield from _exchanges(exchanges)
    if story.remarks:
        yield "<h2>Also noted</h2>\n<ul>"
        for moment, said in words.tell_remarks(story):
            yield f"<li>{moment} <bdi>{escape(said)}</bdi></li>"
        yield "</ul>"
