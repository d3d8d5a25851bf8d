"""A report of a walk as one HTML file that opens offline, with no script and nothing to fetch.

Every text in it was written by somebody else, so every one is escaped, and a policy in the file
itself keeps a browser from running or loading anything, should one ever slip through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from quandary import __version__
from quandary.model.chart import QUIET, Chart
from quandary.reports import story as words
from quandary.reports.drawing import picture

if TYPE_CHECKING:
    from quandary.reports.retelling import Told
    from quandary.reports.story import Exchange, Stop, Story

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

STYLE = """\
:root{color-scheme:light dark;--paper:#fff;--ink:#1c1e21;--soft:#5a6069;--edge:#c9ced6;
--box:#f5f6f8;--line:#7d858f;--way:#0b57d0;--reached:#e4edfc;--good:#17692f;--bad:#b3261e;--hint:#8a5a00}
@media (prefers-color-scheme:dark){:root{--paper:#16181c;--ink:#e6e8eb;--soft:#a3aab4;
--edge:#454b54;--line:#7d858f;--box:#1f2227;--way:#8ab4f8;--reached:#1d2f4d;--good:#7ed492;--bad:#f2918a;
--hint:#e5b567}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:72rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.25rem;margin:2.5rem 0 .75rem}
h3{font-size:1.05rem;margin:0}
a{color:var(--way)}
:focus-visible{outline:2px solid var(--way);outline-offset:2px}
.outcome{font-size:1.1rem;margin:0 0 1rem}
.good{color:var(--good)}.bad{color:var(--bad)}.open{color:var(--hint)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.chart{overflow:auto;border:1px solid var(--edge);border-radius:8px;background:var(--box);
max-height:85vh}
.chart svg{display:block;margin:0 auto}
svg text{font:13px system-ui,sans-serif;fill:var(--ink);text-anchor:middle}
svg text.number{font-size:11px;font-weight:700;fill:var(--way);text-anchor:start}
svg text.label{font-size:12px;paint-order:stroke;stroke:var(--box);stroke-width:5px;
stroke-linejoin:round}
.step rect,.step polygon,.step path{fill:var(--paper);stroke:var(--line);stroke-width:1.5}
.reached rect,.reached polygon,.reached path{fill:var(--reached);stroke:var(--way);stroke-width:2}
.broken rect,.broken polygon,.broken path{stroke:var(--bad);stroke-width:3}
.current rect,.current polygon{stroke-dasharray:7 4;stroke-width:3}
.unreached text{fill:var(--soft)}
.line path{fill:none;stroke:var(--line);stroke-width:1.5}
.line.taken path{stroke:var(--way);stroke-width:3.5}
marker.drawn path{fill:var(--line)}marker.taken path{fill:var(--way)}
.legend{color:var(--soft);font-size:.9rem}
ol.route,ul.ways{padding-left:1.5rem}
.stop{border:1px solid var(--edge);border-radius:8px;margin:.75rem 0;padding:.75rem 1rem}
.stop.quiet{border-style:dashed;padding:.4rem 1rem;color:var(--soft)}
.stop:target{border-color:var(--way);box-shadow:0 0 0 2px var(--way)}
.stop p{margin:.15rem 0;overflow-wrap:anywhere}
.deep{margin-left:1.5rem}
details{margin:.4rem 0}
summary{cursor:pointer;overflow-wrap:anywhere}
.exchange{margin-left:1.1rem}
.text{margin-left:1.1rem}
pre{background:var(--box);border:1px solid var(--edge);border-radius:6px;padding:.6rem .8rem;
margin:.25rem 0;white-space:pre-wrap;overflow-wrap:anywhere;max-height:32rem;overflow:auto;
font:13px/1.45 ui-monospace,monospace}
footer{margin-top:3rem;color:var(--soft);font-size:.85rem;overflow-wrap:anywhere}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--edge:#999;--line:#777;--box:#fff;
--way:#0b57d0;--reached:#eef;--good:#000;--bad:#a00;--hint:#000;color-scheme:light}
body{max-width:none;padding:0;font-size:11pt}.chart,pre{max-height:none;overflow:visible}
.chart svg{max-width:100%;height:auto}.stop,pre{break-inside:auto}h3,summary{break-after:avoid}
details::details-content{content-visibility:visible;display:block;height:auto}}
"""

_TONES = {"completed": "good", "failed": "bad", "stopped": "bad"}
_VERDICTS = {"passed": "good", "failed": "bad", None: "open"}


def report(told: Told) -> str:
    """The whole file."""
    story = told.story
    name = _text(story.chart or "A walk")
    heading = f"{name}: {_text(words.headline(story))}"
    tone = _TONES.get(story.outcome or "", "open")
    run = _text(story.run)
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{heading}</title>\n<style>\n{STYLE}</style>\n</head>",
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
    return escape(words.one_line(text))


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
