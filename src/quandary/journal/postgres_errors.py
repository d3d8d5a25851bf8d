"""What can go wrong with a database on a server, as one line that says what to do."""

from __future__ import annotations

from psycopg import Error, OperationalError, errors
from psycopg_pool import PoolClosed

_GAVE_WAY = frozenset({"40001", "40P01"})
"""Two transactions were in each other's way, and this one was taken back."""
_AWAY = frozenset({"25P03", "53300", "57P01", "57P02", "57P03"})
"""The server goes down, comes up, or has no room for one more."""
_STARTING = ("is starting up", "is shutting down", "in recovery mode", "not yet accepting")

_EXPLANATIONS: dict[type[Error], str] = {
    PoolClosed: "{place}: the store was closed",
    errors.LockNotAvailable: (
        "{place} has been locked by another program for {patience} seconds; "
        "try again when it is done"
    ),
    errors.ReadOnlySqlTransaction: "{place} cannot be written: the server only lets it be read",
    errors.InsufficientPrivilege: (
        "{place}: its user may not do that ({told}); ask whoever runs the server"
    ),
    errors.DiskFull: "{place} cannot be written: the server's disk is full",
    errors.DataCorrupted: "{place} is damaged ({told}); take it from a backup",
    errors.IndexCorrupted: "{place} is damaged ({told}); take it from a backup",
    errors.UndefinedTable: "{place} is no journal any more ({told}); take it from a backup",
}


def passing(error: Error) -> bool:
    """Whether trying again may help: the connection was lost, or somebody had to give way.

    Whoever tries again has to make sure that nothing is done twice.
    """
    state = error.sqlstate
    if state is None:
        return isinstance(error, OperationalError) and not isinstance(error, PoolClosed)
    return state in _GAVE_WAY or state in _AWAY or state.startswith("08")


def starting(error: Error) -> bool:
    """Whether a server that took no connection is about to."""
    said = str(error)
    return error.sqlstate == "57P03" or any(words in said for words in _STARTING)


def explain(place: str, error: Error, patience: float = 0) -> str:
    """What happened, and what to do about it."""
    told = _first_line(error)
    for kind, text in _EXPLANATIONS.items():
        if isinstance(error, kind):
            return text.format(place=place, told=told, patience=f"{patience:g}")
    if error.sqlstate is None and isinstance(error, OperationalError):
        return _unreachable(place, told)
    return f"{place}: {told}"


def _unreachable(place: str, told: str) -> str:
    if "authentication failed" in told or "no password supplied" in told:
        return f"{place} takes neither that user nor that password; put them right and try again"
    if told.startswith("FATAL:") and "database" in told and "does not exist" in told:
        return f"{place}: there is no such database; `createdb` makes it"
    return f"{place} cannot be reached ({told}); is the server running, and is that its address?"


def _first_line(error: Error) -> str:
    """The words of the server, without where the connection went: that is said already."""
    said = error.diag.message_primary or str(error).strip().partition("\n")[0]
    return said.rpartition(" failed: ")[2].strip() or type(error).__name__
