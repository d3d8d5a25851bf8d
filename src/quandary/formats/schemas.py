"""JSON Schemas of the files that people write, so that editors can complete and check them.

What has a type of ours is described by that; the rest stands in `schemas.json`. A test compares
them with what the program accepts.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

from quandary.formats.sources import OPTION_FIELDS
from quandary.model.candidates import BUCKETS
from quandary.settings import KNOWN
from quandary.settings.agents import KEYS

NAMES = ("items", "options", "phases", "settings")
_NAMED = {"type": "string", "pattern": r"\S"}
_TYPES = {str: "string", int: "integer", bool: "boolean"}


def make_schema(name: str) -> dict[str, Any]:
    """The schema of that name."""
    with open(os.path.join(os.path.dirname(__file__), "schemas.json"), "rb") as file:
        schema: dict[str, Any] = msgspec.json.decode(file.read())[name]
    if name == "options":
        fields = {field: _of(kind) for field, (kind, _) in OPTION_FIELDS.items()}
        spelt = ("".join(f"[{c}{c.upper()}]" for c in bucket) for bucket in BUCKETS)
        any_case = {"type": "string", "pattern": rf"^\s*({'|'.join(spelt)})?\s*$"}
        fields["recommend"] = {"anyOf": [{"enum": [*BUCKETS, None]}, any_case]}
        schema["items"]["properties"] = {**fields, **dict.fromkeys(("key", "title"), _NAMED)}
    elif name == "settings":
        own = schema["properties"]
        for key, kind in KNOWN.items():
            own.setdefault(key, {"type": _TYPES.get(kind, "object")})
        own |= {key.upper(): own[key] for key, kind in KNOWN.items() if kind in _TYPES}
        table = own["agents"]["additionalProperties"]
        table["properties"] = {key: _of(kind) for key, (kind, _) in KEYS.items()}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _of(kind: object) -> Any:  # noqa: ANN401 - a schema
    """A type's schema; the end of a text is written as editors know it."""
    written = msgspec.json.encode(msgspec.json.schema(kind)).replace(rb"\\Z", b"$")
    return msgspec.json.decode(written)
