"""Entries: what happened to a run, one after another, each sealed to the one before it.

An entry has a body (keys, codes, who, when) and a matter (what people and programs wrote). The
digest covers the matter only through a salted digest of its own, so that the matter can be pruned
and the chain still holds, and nobody can guess what a pruned matter said.
"""

# Annotations are no texts here: msgspec would compile each of them whenever a program starts.
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, get_args

import msgspec

from quandary.errors import StoreError
from quandary.journal import chance
from quandary.model.asks import Answer, Ask, Question, Reply
from quandary.model.calls import Assignment, Call, Do, Done, Output
from quandary.model.text import sha256 as sha256  # noqa: PLC0414 - others take it from here
from quandary.model.text import shorten

if TYPE_CHECKING:
    from quandary.journal.store import Store

Kind = Literal["began", "asked", "answered", "called", "returned", "noted", "ended"]
Who = Literal["person", "agent", "policy", "api", "host"]
End = Literal["done", "failed", "declined", "withdrawn"]
Status = Literal["waiting", "done", "failed", "declined", "withdrawn"]

START = bytes(32)  # what the first entry of the first run follows
_SQUARE = str.maketrans("()", "[]")


class Source(NamedTuple):
    """Who does something, through what, and under which name."""

    who: Who
    through: str
    by: str = ""

    @property
    def in_person(self) -> bool:
        """Whether it is a person's own hand, not something that was passed on or scripted."""
        return self.who == "person" and self.through in ("terminal", "web")

    @property
    def told(self) -> str:
        """In words."""
        return tell_source(self.who, self.through, self.by)


def tell_source(who: str, through: str, by: str) -> str:
    """A source in words. A name that was given hides nobody's hand: only that is in brackets."""
    if not by:
        return f"{who} ({through})" if through else who
    hand = f"{who}, {through}" if through else who
    return f"{shorten(' '.join(by.translate(_SQUARE).split()))} ({hand})"


class Body(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """What every entry says of itself."""

    at: str
    who: Who
    through: str
    by: str = ""

    @property
    def hand(self) -> tuple[Who, str]:
        """Whose entry it is; what a hook said of a person was a host's report from the first."""
        who: Who = "host" if self.through == "hook" and self.who == "person" else self.who
        return who, self.through

    @property
    def source(self) -> Source:
        """The same, with the name."""
        return Source(*self.hand, self.by)


class Asker(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The program on whose behalf a run began, as far as it says: nothing of it is proven."""

    host: str = ""  # `claude`, `codex`, or what a chat client calls itself
    session: str = ""  # what the host calls the conversation
    agent: str = ""  # which agent in it, where there are several
    model: str = ""

    @property
    def told(self) -> str:
        """In words, the model and the session included."""
        named = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return ", ".join(f"{name} {said}" for name, said in named if said)


class Began(Body, frozen=True, kw_only=True, tag="began", tag_field="entry"):
    """A flow was started; its arguments are the matter."""

    flow: str
    version: int
    project: str = ""
    documents: dict[str, str] = {}
    """Names of arguments that are kept once for all runs, with their digests."""
    expires: str = ""
    origin: str = ""  # the run whose answers were taken over where they fit
    name: str = ""  # what the run can be found by; the newest run of a name has it
    asker: Asker = Asker()

    @property
    def asked_by(self) -> str:
        """Who asked, by the names they gave."""
        return " · ".join(filter(None, dict.fromkeys((self.by, self.asker.agent, self.asker.host))))


class Asked(Body, frozen=True, kw_only=True, tag="asked", tag_field="entry"):
    """An Ask waits; it is the matter, just as it was shown."""

    key: str
    offered: dict[str, tuple[str, ...]]
    """The keys of its questions, with the codes that each one offers."""
    assignment: Assignment | None = None  # of a walk, which part of it this is
    since: str = ""  # since when it has waited, where it is back because an answer to it was undone


class Answered(Body, frozen=True, kw_only=True, tag="answered", tag_field="entry"):
    """A reply was read and booked; what was typed is the matter."""

    key: str
    answers: tuple[Answer, ...]
    amends: int = 0  # the entry whose answer this one takes the place of
    amendment: int = 0
    """Its number among the amendments of the run; the keys of all that is asked after it bear it,
    so that no reply to an earlier showing fits a later one."""
    origin: str = ""  # the run that it was taken over from
    token: str = ""  # what its sender called it, so that the same reply sent twice is booked once
    sources: dict[str, Source] | None = None
    """The keys of answers that others gave than the entry says, where several were taken over."""
    seconds: float | None = None
    """How long a host had shown the question, where the record was written only afterwards."""

    def source_of(self, key: str) -> Source:
        """Whose the answer to one of the questions is."""
        return (self.sources or {}).get(key) or self.source


class Called(Body, frozen=True, kw_only=True, tag="called", tag_field="entry"):
    """A program, or the house itself, was asked; the Call or the Do is the matter."""

    key: str
    agent: str = ""
    deed: str = ""
    assignment: Assignment | None = None  # of a walk, which part of it this is


class Returned(Body, frozen=True, kw_only=True, tag="returned", tag_field="entry"):
    """What came back from it is the matter."""

    key: str
    ok: bool = True


class Noted(Body, frozen=True, kw_only=True, tag="noted", tag_field="entry"):
    """Something happened that is no answer; no flow ever hears of it."""

    kind: str
    key: str = ""
    item: str = ""
    takes_back: tuple[str, ...] = ()
    """Where a failed run is taken up again, the keys of the responses that no longer count."""
    amendment: int = 0
    """Its number among the amendments of the run then, as of an answer that was changed."""
    until: str = ""  # with `snoozed`, when the question is shown again
    lost: tuple[int, ...] = ()
    """Entries whose texts could not be read when a damaged store was recovered."""


class Ended(Body, frozen=True, kw_only=True, tag="ended", tag_field="entry"):
    """The run is over; its result, or why there is none, is the matter."""

    status: End


AnyBody = Began | Asked | Answered | Called | Returned | Noted | Ended
_KINDS: dict[type[AnyBody], Kind] = {
    body: cast("Kind", body.__struct_config__.tag) for body in get_args(AnyBody)
}


class Matter(msgspec.Struct, frozen=True, omit_defaults=True):
    """What people and programs wrote: the part of an entry that can be pruned."""

    arguments: dict[str, Any] | None = None
    ask: Ask | None = None
    answers: tuple[Answer, ...] = ()  # what was answered, with every word, where there were any
    why: str = ""
    sent: Call | Do | None = None
    came: Output | Done | None = None
    text: str = ""
    result: Any = None
    error: str = ""
    request: str = ""
    """The digest of what was sent with a token, by which something else is told from it."""


EMPTY = Matter()


class Unreadable(StoreError, msgspec.DecodeError):  # noqa: N818 - said of an entry
    """An entry whose bytes have come to mean nothing."""

    def __init__(self, run: str) -> None:
        super().__init__(
            f"run {run} has an entry that cannot be read; `quandary verify {run}` says which"
        )


class Entry(msgspec.Struct, frozen=True, gc=False):
    """An entry as it is stored: its bytes, and what seals them."""

    run: str
    n: int
    kind: Kind
    body: bytes
    matter: bytes | None
    """Nothing where there never was any (no `seal` either), or where it was pruned."""
    salt: bytes | None
    seal: bytes | None  # the digest of salt and matter
    digest: bytes
    seq: int = 0  # its place among the entries of all runs; given by the store

    def read(self) -> AnyBody:
        """The body as what it is."""
        with readable(self.run):
            return read_body(self.body)

    def read_matter(self) -> Matter:
        """The matter; an empty one where there is none."""
        with readable(self.run):
            return read_matter(self.matter)

    @property
    def pruned(self) -> bool:
        """Whether there was a matter once."""
        return self.seal is not None and self.matter is None

    @property
    def recorded(self) -> tuple[bytes, bytes | None, int]:
        """As much of it as a flow is built from."""
        return self.body, self.matter, self.pruned


_bodies: msgspec.json.Decoder[AnyBody] = msgspec.json.Decoder(AnyBody)
_lists: msgspec.json.Decoder[list[AnyBody]] = msgspec.json.Decoder(list[AnyBody])
_matters = msgspec.json.Decoder(Matter)
encode = msgspec.json.Encoder().encode
read_body = _bodies.decode


def read_bodies(bodies: Iterable[bytes]) -> list[AnyBody]:
    """Many bodies at once, which is quicker than one by one."""
    return _lists.decode(b"[%s]" % b",".join(bodies))


def read_matter(written: bytes | None) -> Matter:
    """A matter; an empty one where there is none."""
    return _matters.decode(written) if written else EMPTY


class readable:  # noqa: N801 - it reads like `suppress`, and is entered for every entry
    """Within it, an entry that cannot be read is said to be one."""

    __slots__ = ("run",)

    def __init__(self, run: str) -> None:
        self.run = run

    def __enter__(self) -> None:
        """Nothing is needed."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Say which run it is of."""
        if isinstance(error, (msgspec.DecodeError, UnicodeDecodeError)):
            raise Unreadable(self.run) from error


def read_beginning(store: "Store", run: str) -> tuple[Began, dict[str, Any]]:
    """How a run began, and with which arguments; in a damaged store it may not be there."""
    found = store.entries(run, upto=1)
    body = found[0].read() if found else None
    if not isinstance(body, Began):
        raise Unreadable(run)
    return body, found[0].read_matter().arguments or {}


def kind_of(body: AnyBody) -> Kind:
    """What an entry with this body is called."""
    return _KINDS[type(body)]


def seal_entry(run: str, n: int, previous: bytes, body: AnyBody, matter: Matter) -> Entry:
    """An entry that follows the one with the digest `previous`."""
    kind, said = kind_of(body), encode(body)
    if matter is EMPTY:
        return Entry(run, n, kind, said, None, None, None, digest(run, n, previous, said, None))
    written, salt = encode(matter), chance.salt()
    seal = sha256(salt + written).digest()
    return Entry(run, n, kind, said, written, salt, seal, digest(run, n, previous, said, seal))


def digest(
    run: str,
    n: int,
    previous: bytes,
    body: bytes,
    seal: bytes | None,
    hashing: Callable[[bytes], Any] = sha256,
) -> bytes:
    """What an entry is known by: it covers its place, its body, its sealed matter, and the past."""
    said = hashing(f"{run} {n} ".encode() + body).digest()
    made: bytes = hashing(previous + said + (seal or b"")).digest()
    return made


def is_sealed(entry: Entry, hashing: Callable[[bytes], Any] = sha256) -> bool:
    """Whether the matter is the one that was sealed, or was pruned, or never was."""
    if entry.matter is None or entry.seal is None:
        return entry.matter is None and entry.salt is None
    return bool(hashing((entry.salt or b"") + entry.matter).digest() == entry.seal)


def document_bytes(value: Any) -> bytes:  # noqa: ANN401 - any JSON
    """A document as it is kept; the same value gives the same bytes."""
    return msgspec.json.encode(value, order="deterministic")


def read_document(written: bytes, run: str) -> Any:  # noqa: ANN401 - any JSON
    """A document that a run began with."""
    with readable(run):
        return msgspec.json.decode(written)


def document_digest(written: bytes) -> str:
    """The name under which a document is kept."""
    return sha256(written).hexdigest()


def offered(question: Question) -> tuple[str, ...]:
    """The codes that a reply to the question can name."""
    return tuple(choice.code for choice in (*question.choices, *question.named))


def without_words(reply: Reply) -> tuple[Answer, ...]:
    """The answers as codes alone: what can stay when the matter is pruned."""
    return tuple(
        Answer(
            *(a.key, a.picked),
            prefix=a.prefix,
            extra=a.extra,
            tree=a.tree,
            among=a.among,
            proposed=a.proposed,
        )
        for a in reply.answers
    )
