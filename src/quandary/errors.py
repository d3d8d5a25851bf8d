"""What can go wrong, as a small family of errors whose messages say what to do."""


class QuandaryError(Exception):
    """Anything Quandary refuses to do: `status` is its exit status, `http` its status over HTTP."""

    status = 2
    http = 400


class ParseError(QuandaryError):
    """The input cannot be read at all: not text, not there, not what it claims to be."""


class NotFound(QuandaryError):  # noqa: N818 - reads as a sentence where it is caught
    """A SOURCE that names no tree, or several."""

    http = 404


class ContextRequired(QuandaryError):  # noqa: N818 - the name says what is missing
    """A question without enough context to answer it, or with slots that nobody filled."""


class AlreadyAnswered(QuandaryError):  # noqa: N818 - said to whoever came second
    """A reply to a question that no longer waits."""

    status = 1
    http = 409


class Diverged(QuandaryError):  # noqa: N818 - says what happened to the run
    """A journal that the flow as it is now cannot have written."""

    status = 1


class Rejected(QuandaryError):  # noqa: N818 - says what became of the request
    """Something that was asked for and may not be done."""

    status = 1
    http = 409


class PersonRequired(Rejected):
    """Something that only a person may do, and that came from somebody else."""

    http = 403


class Untrusted(QuandaryError):  # noqa: N818 - said of a project
    """What a repository's settings name, and to which their user has not agreed."""

    http = 403

    def __init__(self, what: str, command: str) -> None:
        super().__init__(f"{what}; if you trust that, type: {command}")
        self.what = what
        self.command = command


class Reused(QuandaryError):  # noqa: N818 - says what became of the key
    """Something else came with a key by which the same thing was to be known again."""

    status = 1
    http = 422


class Failed(QuandaryError):  # noqa: N818 - says how a run ended
    """A flow that could not do what it was begun for; `result` says how far it came."""

    status = 1

    def __init__(self, message: str, result: dict[str, object]) -> None:
        super().__init__(message)
        self.result = result


class StoreError(QuandaryError):
    """A store that cannot be opened, read or written."""

    http = 503


class ReadOnly(StoreError):  # noqa: N818 - says what it is
    """A store that is there to be read, and nobody can write to it from here."""


class Unanswered(QuandaryError):  # noqa: N818 - says what became of the question
    """A question that was asked from Python and has no answer; `run` is the run it belongs to."""

    status = 1

    def __init__(self, message: str, run: str) -> None:
        super().__init__(message)
        self.run = run


class Declined(Unanswered):
    """The person would not answer."""


class Withdrawn(Unanswered):
    """Somebody took the question back."""


class Expired(Withdrawn):
    """Nobody answered as long as the question could be answered."""


class TimedOut(Unanswered, TimeoutError):  # noqa: N818 - as above
    """Nobody answered for as long as the program would wait."""


class OwnWords(Unanswered):
    """The answer is none of what was offered, but `words` of the person's own."""

    def __init__(self, message: str, run: str, words: str) -> None:
        super().__init__(message, run)
        self.words = words
