"""What can go wrong, as a small family of errors whose messages say what to do."""


class QuandaryError(Exception):
    """Anything Quandary refuses to do; `status` is the exit status it leads to."""

    status = 2


class ParseError(QuandaryError):
    """The input cannot be read at all: not text, not there, not what it claims to be."""


class NotFound(QuandaryError):  # noqa: N818 - reads as a sentence where it is caught
    """A SOURCE that names no tree, or several."""
