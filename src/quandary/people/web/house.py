"""What every page and every request needs: the store, the news, and who is asking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from quandary.errors import AlreadyAnswered
from quandary.journal import replay
from quandary.journal.entries import Answered
from quandary.people.web.keys import Keys, Visitor

if TYPE_CHECKING:
    from litestar import Request

    from quandary.journal.entries import Who
    from quandary.journal.store import State, Store
    from quandary.model.ask import Reply
    from quandary.people.web.events import Events


class House:
    """The journal, as the browser sees it."""

    def __init__(self, store: Store, events: Events, keys: Keys, project: str = "") -> None:
        self.store = store
        self.events = events
        self.keys = keys
        self.project = project

    def told(self, run: str) -> dict[str, Any]:
        """What the caller of a run said when it began."""
        began = self.store.entries(run, kinds=("began",))[0]
        return dict(began.read_matter().arguments or {})

    def visitor(self, request: Request[Any, Any, Any]) -> Visitor:
        """Whoever sent a request."""
        return cast("Visitor", request.scope["state"].get("visitor", Visitor()))

    def source(self, request: Request[Any, Any, Any]) -> tuple[Who, str, str]:
        """As whose word something is booked: a person's only within a login of theirs."""
        visitor = self.visitor(request)
        if visitor.is_person:
            return "person", "web", visitor.name
        return "api", "web", visitor.name

    def advance(
        self,
        request: Request[Any, Any, Any],
        run: str,
        reply: Reply,
        *,
        to: str | None,
        by: str = "",
        token: str = "",
    ) -> State:
        """Book a reply."""
        from quandary import deeds  # noqa: PLC0415 - what the house does is the same everywhere

        who, through, name = self.source(request)
        return replay.advance(
            self.store,
            run,
            reply,
            to=to,
            who=who,
            through=through,
            by=name or by,
            token=token,
            deeds=deeds.of(self.store, run),
        )

    def has_seen(self, run: str, token: str) -> bool:
        """Whether a reply with this token was booked before."""
        entries = self.store.entries(run, kinds=("answered",))
        bodies = (entry.read() for entry in entries)
        return any(isinstance(body, Answered) and body.token == token for body in bodies)

    def already(self, state: State) -> AlreadyAnswered:
        """What to say to whoever comes too late."""
        if state.status == "waiting":
            return AlreadyAnswered(f"already answered; the run now waits for {state.key}")
        reason = f": {state.error}" if state.error else ""
        return AlreadyAnswered(f"already answered; the run is {state.status}{reason}")
