"""What comes with a request: the store, the news, who sends it, and the fields of its form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

from litestar import Request
from litestar.di import NamedDependency
from litestar.exceptions import HTTPException, PermissionDeniedException
from litestar.params import PathParameter
from litestar.response import Template

from quandary.desk.authority import Caller
from quandary.doors.web.tokens import Keys, Visitor

if TYPE_CHECKING:
    from collections.abc import Callable

    from quandary.desk.authority import Scope
    from quandary.desk.walks import Walks
    from quandary.doors.web.events import Events
    from quandary.journal.store import Store

RunId = Annotated[
    str,
    PathParameter(
        pattern=r"^[0-9A-Za-z]{1,26}$", description="A run's id, or enough of it to be unique."
    ),
]
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

Fields = dict[str, list[str]]
MOST_FIELDS = 500


def page(
    request: Visit,
    house: House,
    name: str,
    *,
    status: int = 200,
    **values: Any,  # noqa: ANN401 - whatever the template shows
) -> Template:
    """A page with what all pages have."""
    visitor = house.visitor(request)
    return Template(
        f"{name}.html",
        context={
            "visitor": visitor,
            "mark": house.keys.form_mark(visitor.session),
            "here": request.scope["path"],
            **values,
        },
        status_code=status,
    )


def wants_part(request: Visit) -> bool:
    """Whether an open page asks only for what has changed in it."""
    return "x-part" in request.headers


async def own_form(request: Visit, house: House) -> Fields:
    """The fields of a form, if it is one of ours."""
    form = await request.form()
    fields: Fields = {}
    for number, (name, value) in enumerate(form.multi_items()):
        if number > MOST_FIELDS:
            raise HTTPException("the form has too many fields", status_code=400)
        if isinstance(value, str):
            fields.setdefault(name, []).append(value)
    if not house.keys.is_own_form(house.visitor(request).session, one(fields, "mark")):
        raise PermissionDeniedException("the form is outdated; reload the page")
    return fields


def one(fields: Fields, name: str) -> str:
    """The value of a field that a form has once."""
    return "".join(fields.get(name, []))
