"""What a registry promises. Every implementation is held to this page by one suite of tests (`tests/contract`).

A registry keeps, for each event type, its *versions*: a schema that was published, the mark of one that was withdrawn,
or something that this build cannot read.

**Revisions.** Every version has one. Those of an event type only grow, also across being withdrawn and published
again; they need not be consecutive, and nothing follows from comparing those of two event types. They name a version
only within one life of the registry: one that was lost and made anew counts from the beginning.

**Writing** is compare-and-swap. Whoever publishes or withdraws names the revision that they have seen as the latest, 0
for none at all, and is refused with `Conflict` when it is another by now: the winner's revision and owner stand in it.
A schema with faults is refused with `SchemaError` before anybody sees it. A write that raises `Unavailable` may have
happened; look before trying again.

**Reading.** `get` and `all` return the latest versions, marks of withdrawal included; `history` the last ones of one
event type, at least five where there were so many.

**Following.** A follower holds the catalog of what can be served, replaced as a whole and never changed. It is loaded
once it has seen everything that there was; whoever joins late gets what the others have, and one that was cut off
misses nothing. It calls back once for each change, with what arrived together as one.

What a version brings never stops it. One that cannot be read, has faults, or wants a topic base that another event type
has, is reported as `Refused`, and the last good version of that event type stays in force, also for one that joins
after the bad one was written as long as the good one is in the history. Only a mark of withdrawal takes an event type
out of the catalog: what merely vanishes, with the whole registry or out of it by hand, stays in force and is reported.

**Errors.** `Unavailable` when the registry cannot be reached. Followers never raise it: they wait and go on.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import msgspec

from aviso_core.errors import AvisoError, Fault, SchemaError
from aviso_core.schema.check import check_schema
from aviso_core.schema.model import Schema, encode_schema
from aviso_core.topic.base import is_base

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from aviso_core.registry.follower import Follower

# Versions of each event type that are kept: a new process that cannot read the last few still has one to serve.
KEPT_VERSIONS: Final = 8
# Resources of the cluster are not larger than three times this, and the broker's messages not than twice.
LARGEST_SCHEMA: Final = 512 * 1024


class Owner(msgspec.Struct, frozen=True):
    """The resource that a schema was published for."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """Return both names as one text."""
        return f"{self.namespace}/{self.name}"


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """A published schema. The hash is that of its JSON, so equal schemas have equal hashes."""

    event_type: str
    revision: int
    schema: Schema
    spec_hash: str
    owner: Owner | None = None
    uid: str | None = None


class Withdrawn(msgspec.Struct, frozen=True, kw_only=True):
    """The mark of an event type that is no more."""

    event_type: str
    revision: int


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was written for an event type and is no schema to this build."""

    event_type: str
    revision: int
    reason: str
    owner: Owner | None = None


Version: TypeAlias = Published | Withdrawn | Unreadable


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """Why the latest version of an event type is not the one in force.

    What cannot be put down to an event type, such as a file that is no YAML, has its own name in that place.
    """

    event_type: str
    revision: int
    reason: str


class Conflict(AvisoError):
    """Somebody else was first. The revision is the latest now, 0 for none; one that is withdrawn has no owner."""

    code = "CONFLICT"

    def __init__(self, event_type: str, *, expected: int, revision: int, owner: Owner | None) -> None:
        by = "" if owner is None else f", published for {owner}"
        super().__init__(f"'{event_type}' was expected at revision {expected}, it is at {revision}{by}")
        self.event_type = event_type
        self.expected = expected
        self.revision = revision
        self.owner = owner


OnChange: TypeAlias = "Callable[[Follower], None]"


class Registry(Protocol):
    """A registry to read and follow. The module's docstring is the contract."""

    async def get(self, event_type: str) -> Version | None:
        """Return the latest version, or None where nothing was ever written."""
        ...

    async def all(self) -> Mapping[str, Version]:
        """Return the latest version of each event type."""
        ...

    async def history(self, event_type: str) -> Sequence[Version]:
        """Return the versions that are kept, ascending."""
        ...

    def follow(
        self, on_change: OnChange, *, strict: bool | None = None
    ) -> AbstractAsyncContextManager[Follower]:
        """Follow the registry for as long as the block runs.

        `strict` is the catalog's: whether undeclared event types are refused; None refuses them as soon as there is a
        declared one, and until the follower is loaded.
        """
        ...


class WritableRegistry(Registry, Protocol):
    """A registry that is also written to."""

    async def publish(
        self, schema: Schema, *, expected_revision: int, owner: Owner | None = None, uid: str | None = None
    ) -> int:
        """Publish a schema over the revision that is expected to be the latest; return the new one."""
        ...

    async def withdraw(self, event_type: str, *, expected_revision: int) -> int:
        """Withdraw an event type at the revision that is expected to be the latest; return that of the mark."""
        ...


def hash_of(data: bytes) -> str:
    """Return the hash of a schema's JSON."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def check_publishable(schema: Schema) -> bytes:
    """Return the JSON of a schema that everybody can serve, or raise its faults."""
    name, data = schema.event_type, encode_schema(schema)
    faults = check_schema(schema)
    if not is_base(name):
        rule = "letters, digits, '_' and '-' only"
        faults.append(Fault(path=name, message="cannot be the name of a published event type", remedy=rule))
    if len(data) > LARGEST_SCHEMA:
        message = f"is {len(data)} bytes as JSON, at most {LARGEST_SCHEMA} are published"
        faults.append(Fault(path=name, message=message, remedy="shorten its lists or its payload schema"))
    if faults:
        raise SchemaError(faults)
    return data
