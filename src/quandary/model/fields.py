"""A named value that somebody has to give, with a small schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from quandary.model.text import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PATH_EXISTS = "path-exists"


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a phase has to prove, and what its value must be like."""

    name: str
    schema: dict[str, Any] = {}
    required: bool = True

    @property
    def types(self) -> tuple[Any, ...]:
        """The types that a value may have; none named means any."""
        kinds = self.schema.get("type", [])
        return tuple(kinds) if isinstance(kinds, list) else (kinds,)

    @property
    def label(self) -> str:
        """What people call it."""
        return str(self.schema.get("title") or self.name)

    @property
    def described(self) -> str:
        """The field and what it must be, in a few words."""
        schema, choices = self.schema, ", ".join(map(shown, self.schema.get("enum") or ()))
        kinds = " or ".join(kind for kind in self.types if kind != "string")
        said = (
            f"one of {choices}" if schema.get("enum") else kinds,
            f"at least {schema['minLength']} characters" if schema.get("minLength") else "",
            f"like {schema['pattern']}" if schema.get("pattern") else "",
            "a path that exists" if schema.get(PATH_EXISTS) else "",
            "" if self.required else "optional",
        )
        return f"{self.name} ({', '.join(filter(None, said))})" if any(said) else self.name


def read_defaults(fields: Iterable[Field]) -> dict[str, Any]:
    """What stands in fields until somebody changes it; one without a default stands empty."""
    return {f.name: f.schema["default"] for f in fields if "default" in f.schema}


def find_changes(fields: Iterable[Field], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not the defaults."""
    usual = read_defaults(fields)
    return {n: v for n, v in values.items() if n not in usual or usual[n] != v}


def shown(value: object) -> str:
    """A value of a proof on one line, not too long."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return shorten(text)
