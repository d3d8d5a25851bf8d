"""What every page and every request needs: the store, the news, and who is asking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from litestar import Request
from litestar.di import NamedDependency

from quandary.desk.authority import Caller
from quandary.doors.web.keys import Keys, Visitor

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.desk.authority import Scope
    from quandary.desk.walks import Walks
    from quandary.doors.web.events import Events
    from quandary.journal.store import Store

Visit = Request[Any, Any, Any]
"""A request, whatever it carries."""


class House:
    """The journal, as the browser sees it."""

    def __init__(
        self,
        store: Store,
        events: Events,
        keys: Keys,
        scope: Scope,
        *,
        new_code: Callable[[], None] | None = None,
        walks: Walks | None = None,
    ) -> None:
        self.store = store
        self.events = events
        self.keys = keys
        self.scope = scope
        self.new_code = new_code or (lambda: None)
        """Prints a code where only somebody at the server's terminal sees it."""
        self.walks = walks
        """Resumes runs whose agents have to be asked."""

    def visitor(self, request: Visit) -> Visitor:
        """Whoever sent a request."""
        return cast("Visitor", request.scope["state"].get("visitor", Visitor()))

    def caller(self, request: Visit, by: str = "") -> Caller:
        """The source of a request: a person only within a login of theirs."""
        visitor = self.visitor(request)
        who: Any = "person" if visitor.is_person else "api"
        is_user = self.keys.is_user(visitor.bearer)
        return Caller(who, "web", visitor.name or by, self.scope, is_user)


TheHouse = NamedDependency[House]
"""How a page or a request asks for it."""
