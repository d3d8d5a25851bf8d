"""What trees and charts are made of: parts that are equal by what they say."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Content(msgspec.Struct, frozen=True, eq=False):
    """A part of a document, equal by what it says, wherever it stands in a file."""

    said: ClassVar[tuple[str, ...]] = ()
    """The fields that say something, in the order in which digests have them."""

    @property
    def content(self) -> tuple[object, ...]:
        """The values of those fields."""
        return tuple([getattr(self, name) for name in self.said])

    def __eq__(self, other: object) -> bool:
        return self.content == other.content if type(other) is type(self) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(getattr(self, self.said[0]))

    @property
    def digest(self) -> str:
        """A fingerprint of what it says, whatever file or line it stands in."""
        import hashlib  # noqa: PLC0415 - OpenSSL is slow to load and rarely needed

        return hashlib.sha256(msgspec.json.encode(_unplaced(self), order="sorted")).hexdigest()


def _unplaced(part: object) -> object:
    """The content as lists and strings."""
    if isinstance(part, Content):
        return [_unplaced(value) for value in part.content]
    if isinstance(part, msgspec.Struct):
        return list(msgspec.structs.astuple(part))
    return list(map(_unplaced, part)) if isinstance(part, tuple) else part
