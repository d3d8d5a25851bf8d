"""A tree while somebody writes it: every level as its page shows it. Nothing can be answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from litestar import Litestar, get
from litestar.config.allowed_hosts import AllowedHostsConfig
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.response import ServerSentEvent, ServerSentEventMessage, Template
from litestar.static_files import create_static_files_router
from litestar.template.config import TemplateConfig

from quandary.doors.web.access import Visit
from quandary.doors.web.app import STATIC, guard, templates
from quandary.doors.web.questions import mark_levels, show_ask
from quandary.errors import QuandaryError

if TYPE_CHECKING:
    from quandary.desk.levels import Level
    from quandary.model.tree import Tree

_LOOKS_PER_SECOND = 4


def create_preview(
    path: str, port: int, load: Callable[[], tuple[Tree, list[Level]]], stamp: Callable[[], object]
) -> Litestar:
    """The application. Whoever has the page open sees the tree anew when its `stamp` changes.

    It answers to the names of this machine alone, so that no other site reads it by one of its own.
    """

    @get("/", sync_to_thread=True, include_in_schema=False)
    def show(request: Visit) -> Template:
        """All levels, or what keeps the tree from being asked."""
        shown: list[object] = []
        problem = ""
        try:
            tree, levels = load()
            shown += [
                show_ask(ask, ask.notes, {}, {}) | {"name": name, "tree": mark_levels(tree, ask)}
                for name, ask in levels
            ]
        except QuandaryError as error:
            problem = str(error)
        name = "preview_list.html" if "x-part" in request.headers else "preview.html"
        return Template(name, context={"path": path, "levels": shown, "problem": problem})

    @get("/events", include_in_schema=False)
    async def events() -> ServerSentEvent:
        """News for an open page: the file was saved."""

        async def news() -> AsyncIterator[ServerSentEventMessage]:
            yield ServerSentEventMessage(data="hello", event="hello", retry=2000)
            seen = stamp()
            while True:
                await asyncio.sleep(1 / _LOOKS_PER_SECOND)
                if (now := stamp()) != seen:
                    seen = now
                    yield ServerSentEventMessage(data="saved", event="news")

        return ServerSentEvent(news())

    names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
    static = create_static_files_router("/static", directories=[STATIC], resolve_symlinks=False)
    return Litestar(
        [show, events, static],
        template_config=TemplateConfig(instance=JinjaTemplateEngine.from_environment(templates())),
        allowed_hosts=AllowedHostsConfig(allowed_hosts=names),
        before_send=[guard],
        openapi_config=None,
        logging_config=None,
    )
