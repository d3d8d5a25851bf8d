"""Consent: what a project's settings name, and what counts only when their user has agreed to it.

A project's file comes with a repository that somebody else may have written. The store, the hooks
and the agents that it names count after their user has typed `quandary trust` there. What they
agreed to is kept in their own settings folder, as one digest for each of the three; whatever has
changed since does not count.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal, get_args

import msgspec

from quandary.errors import ParseError, Rejected, Untrusted
from quandary.settings import Settings, config_folder
from quandary.settings.files import is_inside, read_text, write_text

Matter = Literal["store", "hooks", "agents"]
MATTERS: tuple[Matter, ...] = get_args(Matter)
_CALLED: dict[Matter, str] = {
    "store": "a store of its own",
    "hooks": "what becomes of questions ([hooks])",
    "agents": "programs to run ([agents])",
}


class Consent(msgspec.Struct, frozen=True):
    """What a user has agreed to in a project: when, and a digest of each thing."""

    at: str
    digests: dict[str, str]


def project_table(settings: Settings, name: Matter) -> dict[str, Any]:
    """A table as the project's own file has it."""
    tables = settings.tables(name)
    return next((entries for part, entries in tables if part.origin == "project"), {})


def is_given(settings: Settings, matter: Matter, what: object) -> bool:
    """Whether the user has agreed to what the project says, as it is now."""
    found = list_consents().get(_resolved(settings))
    return found is not None and found.digests.get(matter) == digest_of(settings, matter, what)


def require(settings: Settings, matter: Matter, what: object, shown: str = "") -> None:
    """Refuse what a project says, unless its user has agreed to it."""
    if not what or is_given(settings, matter, what):
        return
    root = _resolved(settings)
    kept = list_consents().get(root)
    since = "changed since you trusted it" if kept and matter in kept.digests else ""
    about = ", ".join(filter(None, (shown, since)))
    named = f"{os.path.join(root, 'quandary.toml')} names {_CALLED[matter]}"
    raise Untrusted(f"{named} ({about})" if about else named, command_for(root))


def command_for(root: str) -> str:
    """What its user types to trust a project."""
    from shlex import quote  # noqa: PLC0415 - only for what is refused

    return f"quandary trust {quote(root)}"


def require_agents(settings: Settings, folder: str | None = None) -> Settings:
    """The settings, unless the project names agents to which its user has not agreed. They agreed
    to files of the project's own folder. By the same words, agents that work in another `folder`
    would find others, or none until somebody puts them there.
    """
    agents, root = project_table(settings, "agents"), _resolved(settings)
    require(settings, "agents", agents)
    if folder is None or os.path.realpath(folder) == root:
        return settings
    for word in _words(agents):
        places = () if os.path.isabs(word) else (root, folder)
        if any(os.path.isfile(os.path.join(place, word)) for place in places):
            where = f"so its agents work in {root} and not in {folder}"
            raise Rejected(f"{word} stands for a file of the project, {where}")
    return settings


def with_trusted_hooks(settings: Settings) -> Settings:
    """The settings without the project's `[hooks]`, unless its user has agreed to them."""
    hooks = project_table(settings, "hooks")
    if not hooks or is_given(settings, "hooks", hooks):
        return settings
    parts = (
        part._replace(values={**part.values, "hooks": {}}) if part.origin == "project" else part
        for part in settings.parts
    )
    return settings._replace(parts=tuple(parts))


def digest_of(settings: Settings, matter: Matter, what: object) -> str:
    """What the user's agreement is known by; files of the project are a part of its agents."""
    from hashlib import sha256  # noqa: PLC0415 - only where a project names something

    digest = sha256(msgspec.json.encode(what, order="deterministic"))
    for path in files_in(settings, what) if matter == "agents" else ():
        with suppress(OSError), open(path, "rb") as file:
            digest.update(b"\0" + os.fsencode(os.path.realpath(path)) + b"\0")
            digest.update(sha256(file.read()).digest())
    return digest.hexdigest()


def files_in(settings: Settings, what: object) -> list[str]:
    """The files of the project that a table names: scripts, which change as the repository does."""
    root = _resolved(settings)
    own = (word for word in _words(what) if not os.path.isabs(word) or is_inside(root, word))
    return sorted(filter(os.path.isfile, {os.path.join(root, word) for word in own}))


def _words(what: object) -> list[str]:
    """What may be a path among the texts of a table, in order."""
    parts = {part for text in _texts(what) for part in (text, text.partition("=")[2])}
    return sorted(part for part in parts if part and "\0" not in part)


def _texts(what: object) -> Iterator[str]:
    if isinstance(what, dict):
        what = list(what.values())
    if isinstance(what, list):
        for one in what:
            yield from _texts(one)
    elif isinstance(what, str):
        yield what


def _resolved(settings: Settings) -> str:
    """The project by its real folder: no link and no worktree lends it another one's consent."""
    return os.path.realpath(settings.root or os.curdir)


def list_consents() -> dict[str, Consent]:
    """What the user has agreed to, by the folders of the projects."""
    path = _kept()
    if not os.path.isfile(path):
        return {}
    try:
        return msgspec.json.decode(read_text(path), type=dict[str, Consent])
    except msgspec.DecodeError as error:
        message = f"{path}: {error}; delete it, and type `quandary trust` where you need it"
        raise ParseError(message) from None


def consent_to(settings: Settings, said: Mapping[Matter, object], at: str) -> Consent:
    """What a user agrees to who says yes to all of this, as it is now."""
    return Consent(at, {matter: digest_of(settings, matter, what) for matter, what in said.items()})


def give(settings: Settings, consent: Consent) -> None:
    """Keep that the user has agreed to this, and to nothing else, in a project."""
    _keep({**list_consents(), _resolved(settings): consent})


def take_back(folder: str) -> bool:
    """Forget what the user has agreed to in a project; whether there was something."""
    kept = list_consents()
    if (found := kept.pop(os.path.realpath(folder), None)) is not None:
        _keep(kept)
    return found is not None


def _keep(consents: dict[str, Consent]) -> None:
    os.makedirs(config_folder(), mode=0o700, exist_ok=True)
    data = msgspec.json.format(msgspec.json.encode(consents, order="sorted"))
    write_text(_kept(), data.decode() + "\n")


def _kept() -> str:
    return os.path.join(config_folder(), "trusted.json")
