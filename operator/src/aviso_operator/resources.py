"""`EventSchema` as the API server keeps it: its names, its status, and a body of it read into values.

What a spec may hold is said once, by the structs of `aviso_core.schema.manifest_parts`: a body is handed on as the
document that `read_manifest` reads from a file. The status is ours alone, and its structs are here. The resource
definition is made from both (`crd`), so a field that is added here is in the cluster after the next `make crd`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from aviso_core.schema.manifest_parts import API_VERSION, KIND, DeletionPolicy, ReconcilePolicy

GROUP: Final = API_VERSION.partition("/")[0]
VERSION: Final = API_VERSION.partition("/")[2]
PLURAL: Final = "eventschemas"
SINGULAR: Final = "eventschema"
LIST_KIND: Final = f"{KIND}List"
SHORT_NAME: Final = "evs"
CATEGORY: Final = "aviso"

ConditionStatus: TypeAlias = Literal["True", "False", "Unknown"]

_Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Instant: TypeAlias = Annotated[datetime, Meta(tz=True)]

LONGEST_MESSAGE: Final = 32_768
"""How long the message of a condition may be, in characters."""
LONGEST_PROCESS: Final = 253
"""How long the name of a process in a status may be."""
MOST_STALE: Final = 10
"""How many names of processes a status lists: it says who to look at, metrics say how many there are."""


# --- status ----------------------------------------------------------------------------------------------


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that is so or not, for one generation."""

    type: Annotated[str, Meta(max_length=316)]
    """What it is about, in CamelCase: `Ready` sums up the others."""
    status: ConditionStatus
    """Whether it is so."""
    reason: Annotated[
        str, Meta(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    ]
    """Why, as one word that programs may rely on."""
    message: Annotated[str, Meta(max_length=LONGEST_MESSAGE)]
    """Why, in words, and what to do about it."""
    last_transition_time: _Instant
    """When `status` last changed."""
    observed_generation: _Count
    """The generation of the spec that this was found of."""


class Propagation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many of the processes that serve this event type have taken the published revision."""

    summary: Annotated[str, Meta(max_length=32)]
    """Acknowledged of desired, such as `6/6`."""
    desired: _Count
    """Processes that serve event types and are alive."""
    acknowledged: _Count
    """Those of them that serve the published revision."""
    stale: Annotated[
        tuple[Annotated[str, Meta(max_length=LONGEST_PROCESS)], ...], Meta(max_length=MOST_STALE)
    ] = ()
    """Names of those that do not yet, the first ten."""


class StreamStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The stream as it was last looked at; refreshed at most once a minute, and only when it changed."""

    name: Annotated[str, Meta(max_length=255)]
    """Its name at the broker."""
    messages: _Count
    """How many events it holds."""
    bytes: _Count
    """How large they are together."""
    first_sequence: _Count
    """The sequence of the oldest."""
    last_sequence: _Count
    """The sequence of the newest; it stays when events are gone."""
    observed_at: _Instant
    """When it was looked at."""


class Status(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the operator found and did; nobody else writes it. Conditions are always sent, the rest once known."""

    conditions: tuple[Condition, ...] = ()
    """What holds for which generation. `Ready` is the summary."""
    observed_generation: _Count | None = None
    """The generation that all of this is about; while it is behind metadata.generation, an edit is not served yet."""
    event_type: Annotated[str, Meta(max_length=63)] | None = None
    """The event type that is served: spec.eventType, or the name of the object."""
    revision: _Count | None = None
    """The revision of the published schema; it only grows."""
    spec_hash: Annotated[str, Meta(max_length=128)] | None = None
    """What identifies the published schema, however its manifest was written."""
    propagation: Propagation | None = None
    """How far the published revision has come."""
    stream: StreamStatus | None = None
    """Where events are stored."""


NO_STATUS: Final = Status()
"""The status of an object that was never looked at."""


def status_document(status: Status) -> dict[str, object]:
    """Return the status as the API server takes it and gives it back; what is not known is not in it."""
    known = msgspec.json.decode(msgspec.json.encode(status), type=dict[str, object])
    return {"conditions": [], **known}


# --- resource --------------------------------------------------------------------------------------------


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One object, as it was when it was read."""

    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: str
    deletion_timestamp: datetime | None
    annotations: Mapping[str, str]
    finalizers: tuple[str, ...]
    event_type: str
    deletion_policy: DeletionPolicy
    reconcile_policy: ReconcilePolicy
    spec: Mapping[str, object]
    status: Status

    @property
    def key(self) -> str:
        """`namespace/name`: what an owner is called in stamps, messages and logs."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_going(self) -> bool:
        """Whether it was deleted and only finalizers keep it."""
        return self.deletion_timestamp is not None

    @property
    def manifest(self) -> dict[str, object]:
        """The document that `read_manifest` reads: the same as in a file."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": self.name},
            "spec": self.spec,
        }


class _Metadata(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int
    deletion_timestamp: datetime | None = None
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


class _Policies(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What has to be known of a spec even if the rest of it is refused: how to let go of it."""

    event_type: str | None = None
    deletion_policy: DeletionPolicy = "Retain"
    reconcile_policy: ReconcilePolicy = "Enforce"


def read_resource(body: Mapping[str, object]) -> Resource:
    """Return the object of a body that came from the API server, which has checked it against the definition."""
    metadata = msgspec.convert(body["metadata"], _Metadata)
    spec = msgspec.convert(body["spec"], dict[str, object])
    policies = msgspec.convert(spec, _Policies)
    return Resource(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        generation=metadata.generation,
        resource_version=metadata.resource_version,
        deletion_timestamp=metadata.deletion_timestamp,
        annotations=metadata.annotations,
        finalizers=metadata.finalizers,
        event_type=policies.event_type or metadata.name,
        deletion_policy=policies.deletion_policy,
        reconcile_policy=policies.reconcile_policy,
        spec=spec,
        status=_status(body.get("status")),
    )


def _status(raw: object) -> Status:
    try:
        return msgspec.convert(raw or {}, Status)
    except msgspec.ValidationError:
        # It is only ever our own work: what another version wrote otherwise is found out anew.
        return NO_STATUS
