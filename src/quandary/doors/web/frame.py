"""What all pages have in common: their frame, and the forms that come back from them."""

from __future__ import annotations

from typing import Any

from litestar.exceptions import HTTPException, PermissionDeniedException
from litestar.response import Template

from quandary.doors.web.house import House, Visit

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
