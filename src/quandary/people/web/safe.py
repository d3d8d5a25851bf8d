"""Text that strangers wrote, made safe to show on a page; the templates escape it besides."""

from __future__ import annotations

import re

from markupsafe import Markup

_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(value: object) -> object:
    """Signs that hide, or that turn the text around them, are shown as what they are.

    Everything that a template puts out goes through here. Breaks and tabs are harmless on a page.
    """
    if isinstance(value, str) and not isinstance(value, Markup):
        return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    return value
