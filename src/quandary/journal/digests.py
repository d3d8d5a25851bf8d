"""SHA-256 without OpenSSL, which takes longer to load than a reply takes to book.

What is sealed here is small, so that Python's own implementation is as good; where there is none,
the usual one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["sha256"]
