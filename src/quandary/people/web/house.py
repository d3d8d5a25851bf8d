"""What every page and every request needs: the store, the news, and who is asking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
from litestar import Request
from litestar.di import NamedDependency

from quandary import deeds
from quandary.errors import AlreadyAnswered, Rejected, Reused
from quandary.journal import replay
from quandary.journal.entries import beginning, sha256
from quandary.journal.replay import replied
from quandary.model.call import Do, Done
from quandary.people.web.keys import Keys, Visitor

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.journal.entries import Who
    from quandary.journal.store import State, Store
    from quandary.model.ask import Reply
    from quandary.people.mcp.tools import Asking
    from quandary.people.web.events import Events
    from quandary.people.web.going_on import Driving

    Begin = Callable[[Asking, str, str], State]
    """Begins a run for a caller of that name; the same key never begins two."""

THROUGH = "web"
REQUEST = "request"
"""The argument of a run that says what was sent to begin it."""
Visit = Request[Any, Any, Any]
"""A request, whatever it carries."""


class House:
    """The journal, as the browser sees it."""

    def __init__(
        self,
        store: Store,
        events: Events,
        keys: Keys,
        *,
        project: str = "",
        begin: Begin | None = None,
        new_code: Callable[[], None] | None = None,
        driving: Driving | None = None,
    ) -> None:
        self.store = store
        self.events = events
        self.keys = keys
        self.project = project
        self._begin = begin
        self.new_code = new_code or (lambda: None)
        """Prints a code where only somebody at the server's terminal sees it."""
        self.driving = driving
        """Goes on with runs whose agents have to be asked."""

    def told(self, run: str) -> dict[str, Any]:
        """What the caller of a run said when it began."""
        began = beginning(self.store, run)
        return dict(began.read_matter().arguments or {})

    def visitor(self, request: Visit) -> Visitor:
        """Whoever sent a request."""
        return cast("Visitor", request.scope["state"].get("visitor", Visitor()))

    def source(self, request: Visit) -> tuple[Who, str, str]:
        """As whose word something is booked: a person's only within a login of theirs."""
        visitor = self.visitor(request)
        return "person" if visitor.is_person else "api", THROUGH, visitor.name

    def begin(self, request: Visit, wanted: Asking, key: str) -> State:
        """Begin a run from a tree of the project, or from one that came along."""
        if self._begin is None:
            raise Rejected("this server begins no runs")
        visitor = self.visitor(request)
        state = self._begin(wanted, visitor.name, f"{visitor.name} {key}" if key else "")
        if key and self.told(state.run).get(REQUEST, "") not in ("", digest(wanted)):
            raise Reused("something else was asked with that key before; ask with another one")
        return state

    def advance(
        self,
        request: Visit,
        run: str,
        reply: Reply,
        *,
        to: str | None,
        by: str = "",
        token: str = "",
        sent: str = "",
    ) -> State:
        """Book a reply. With a token it is booked once; `sent` is the digest of what came."""
        who, through, name = self.source(request)
        try:
            return replay.advance(
                self.store,
                run,
                reply,
                to=to,
                who=who,
                through=through,
                by=name or by,
                token=token,
                request=sent,
                deeds=self.deeds(run),
            )
        except AlreadyAnswered:
            before = replied(self.store, run, token, sent) if token else None
            if before is not None:  # the same reply was quicker by another way
                return before
            raise

    def do_what_is_left(self, request: Visit, run: str) -> State:
        """Do what the house was about to do itself when it was interrupted."""
        row = self.store.run(run)
        if row is None or row.waits != "house":
            raise Rejected(f"run {run} has nothing left that could be done from here")
        who, through, by = self.source(request)
        return replay.advance(
            self.store, run, who=who, through=through, by=by, deeds=self.deeds(run)
        )

    def deeds(self, run: str) -> Callable[[Do], Done]:
        """The usual deeds; but files are shown only to runs of the folder that is served."""
        usual = deeds.of(self.store, run)
        row = self.store.run(run)

        def do(deed: Do) -> Done:
            if deed.deed == "read-file" and (row is None or row.project != self.project):
                return Done(deed.key, error="files of another project are not shown here")
            return usual(deed)

        return do

    def has_seen(self, run: str, token: str, sent: str) -> bool:
        """Whether just this was sent with that token, and booked before."""
        try:
            return replied(self.store, run, token, sent) is not None
        except Reused:
            return False

    def already(self, state: State) -> AlreadyAnswered:
        """What to say to whoever comes too late."""
        if state.status == "waiting" and state.key:
            return AlreadyAnswered(f"already answered; the run now waits for {state.key}")
        reason = f": {state.error}" if state.error else ""
        return AlreadyAnswered(f"already answered; the run is {state.status}{reason}")


def digest(*sent: object) -> str:
    """By what something that was sent is known again."""
    return sha256(msgspec.json.encode(sent, order="deterministic")).hexdigest()


TheHouse = NamedDependency[House]
"""How a page or a request asks for it."""
