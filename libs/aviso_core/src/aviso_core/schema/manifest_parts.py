"""The shape of `EventSchema` manifests, the custom resource `aviso.dev/v1alpha1`, as people write it.

Everything that has a shape here has the same one in the cluster: the resource definition is made from these structs,
with their bounds, defaults and texts, and a folder of manifests is read into them. What goes beyond the shape of one
member is in `manifest_rules`. Unlike a configuration file of the reference server, a manifest asks for authentication
when it does not mention it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from aviso_core.fields.calendar_date import DateFormat
from aviso_core.fields.point_cloud import MOST_POINTS
from aviso_core.geometry.plane import Edges
from aviso_core.schema.model import LARGEST_PAYLOAD, Compatibility

API_VERSION: Final = "aviso.dev/v1alpha1"
KIND: Final = "EventSchema"

FieldKind: TypeAlias = Literal[
    "String", "Enum", "Date", "Time", "Int", "Float", "Expver", "Polygon", "PointCloud"
]
DeletionPolicy: TypeAlias = Literal["Retain", "Delete"]
ReconcilePolicy: TypeAlias = Literal["Enforce", "Observe", "Paused"]
Plugin: TypeAlias = Literal["ecpds"]

# --- bounds: every list and text has some, because the API server weighs its rules by them ----------------

# What lists are to the API server: who two entries belong to, and whether there may be two of a kind.
_SET: Final[dict[str, object]] = {"x-kubernetes-list-type": "set"}
_IN_ORDER: Final[dict[str, object]] = {"x-kubernetes-list-type": "atomic"}
_BY_NAME: Final[dict[str, object]] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
_BY_REALM: Final[dict[str, object]] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["realm"],
}

EVENT_TYPE_NAME: Final = re.compile("^[a-z][a-z0-9_]*$", re.ASCII)
# No more digits than the largest that is taken has: what reads durations in the cluster overflows in silence.
DURATION: Final = re.compile("^([0-9]{1,9}s|[0-9]{1,7}m|[0-9]{1,5}h|[0-9]{1,4}d|[0-9]{1,3}w)$", re.ASCII)
QUANTITY: Final = re.compile(
    "^([0-9]{1,16}|[0-9]{1,13}(k|Ki)|[0-9]{1,10}Mi?|[0-9]{1,7}Gi?|[0-9]{1,4}Ti?)$", re.ASCII
)
DECIMAL: Final = re.compile(r"^-?[0-9]+(\.[0-9]+)?$", re.ASCII)

# A description says what the text should have been, to whoever wrote another.
EventTypeName: TypeAlias = Annotated[
    str,
    Meta(
        pattern=EVENT_TYPE_NAME.pattern,
        max_length=63,
        description="event type: [a-z][a-z0-9_]*, at most 63 characters",
    ),
]
Base: TypeAlias = Annotated[
    str,
    Meta(
        pattern="^[a-z][a-z0-9_-]*$",
        max_length=32,
        description="topic base: [a-z][a-z0-9_-]*, at most 32 characters",
    ),
]
IdentifierName: TypeAlias = Annotated[
    str,
    Meta(
        pattern="^[a-z][a-z0-9_]*$",
        max_length=32,
        description="identifier name: [a-z][a-z0-9_]*, at most 32 characters",
    ),
]
Duration: TypeAlias = Annotated[
    str,
    Meta(
        pattern=DURATION.pattern,
        max_length=10,
        description="duration: a whole number and one of s, m, h, d, w, such as 12h or 7d",
        extra_json_schema={"format": "duration"},
    ),
]
Quantity: TypeAlias = Annotated[
    str,
    Meta(
        pattern=QUANTITY.pattern,
        max_length=16,
        description="size: a whole number and one of k, M, G, T, Ki, Mi, Gi, Ti, such as 10Gi",
    ),
]
Decimal: TypeAlias = Annotated[
    str,
    Meta(
        pattern=DECIMAL.pattern,
        max_length=24,
        description="decimal number: digits and a point, such as 0.5",
    ),
]
_Whole: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_Count: TypeAlias = Annotated[int, Meta(ge=1, le=2**63 - 1)]


# --- parts -----------------------------------------------------------------------------------------------


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A part of a manifest: keys in camel case, unknown ones refused."""


class TopicPart(_Part, frozen=True, kw_only=True):
    """Where events of this type are stored. It can never be changed: stored events are found by it."""

    base: Base
    """The root of stored subjects; no two event types of a cluster have the same."""
    key_order: Annotated[
        tuple[Annotated[str, Meta(max_length=32)], ...],
        Meta(min_length=1, max_length=16, extra_json_schema=_IN_ORDER),
    ]
    """The identifiers whose values follow the base, in this order: put first what is asked for most often."""


class StringPart(_Part, frozen=True, kw_only=True):
    """Settings of type String."""

    max_length: Annotated[int, Meta(ge=1, le=256)] | None = None
    """The longest value, in bytes of UTF-8."""
    pattern: Annotated[str, Meta(max_length=256)] | None = None
    """A regular expression (RE2 syntax) that is found in the value; ^ and $ hold it to the whole of it."""


class EnumPart(_Part, frozen=True, kw_only=True):
    """Settings of type Enum, which must have them."""

    values: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...],
        Meta(min_length=1, max_length=128, extra_json_schema=_SET),
    ]
    """The values that a notification may have, in any case. They may only be added to."""


class IntPart(_Part, frozen=True, kw_only=True):
    """Settings of type Int."""

    min: _Whole | None = None
    """The smallest value that is taken."""
    max: _Whole | None = None
    """The largest value that is taken."""


class FloatPart(_Part, frozen=True, kw_only=True):
    """Settings of type Float, as text: a resource holds no fractions."""

    min: Decimal | None = None
    """The smallest value that is taken."""
    max: Decimal | None = None
    """The largest value that is taken."""


class DatePart(_Part, frozen=True, kw_only=True):
    """Settings of type Date."""

    canonical_format: DateFormat = "%Y%m%d"
    """How days are stored and delivered, whatever form they are sent in."""


class ExpverPart(_Part, frozen=True, kw_only=True):
    """Settings of type Expver."""

    default: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    """What an explicitly empty value stands for."""


class PointCloudPart(_Part, frozen=True, kw_only=True):
    """Settings of type PointCloud."""

    max_points: Annotated[int, Meta(ge=1, le=MOST_POINTS)] = MOST_POINTS
    """The most points of one notification."""


class IdentifierPart(_Part, frozen=True, kw_only=True):
    """One identifier. One that is not in topic.keyOrder is kept with the event and can be filtered all the same."""

    name: IdentifierName
    """What it is called in notifications and filters. A Polygon is called 'polygon', a PointCloud 'point_cloud'."""
    type: FieldKind
    """What its values are. It can never be changed."""
    required: bool = False
    """Whether readers must say it in their filters."""
    description: Annotated[str, Meta(max_length=512)] = ""
    """What it means, for people."""
    default: Annotated[str, Meta(max_length=256)] | None = None
    """The value of a notification that leaves it out. Without one every notification must have it."""
    string: StringPart | None = None
    """Settings of type String, and only of it."""
    enum: EnumPart | None = None
    """Settings of type Enum, and only of it."""
    int: IntPart | None = None
    """Settings of type Int, and only of it."""
    float: FloatPart | None = None
    """Settings of type Float, and only of it."""
    date: DatePart | None = None
    """Settings of type Date, and only of it."""
    expver: ExpverPart | None = None
    """Settings of type Expver, and only of it."""
    point_cloud: PointCloudPart | None = None
    """Settings of type PointCloud, and only of it."""


class PayloadPart(_Part, frozen=True, kw_only=True):
    """What notifications carry beside their identifiers."""

    required: bool = False
    """Whether every notification must have a payload."""
    max_bytes: Annotated[int, Meta(ge=1, le=LARGEST_PAYLOAD)] = LARGEST_PAYLOAD
    """The largest payload, as JSON."""
    json_schema: dict[str, Any] | None = None
    """A JSON Schema that every payload must satisfy."""


class RolePart(_Part, frozen=True, kw_only=True):
    """The roles of one realm."""

    realm: Annotated[str, Meta(min_length=1, max_length=64)]
    """The realm, as the authentication of the installation names it."""
    roles: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...],
        Meta(
            min_length=1,
            max_length=64,
            extra_json_schema=_SET,
        ),
    ]
    """Those who have one of these may; '*' is everybody of the realm."""


_Roles: TypeAlias = Annotated[
    tuple[RolePart, ...],
    Meta(
        min_length=1,
        max_length=16,
        extra_json_schema=_BY_REALM,
    ),
]


class AuthPart(_Part, frozen=True, kw_only=True):
    """Who may publish and read."""

    required: bool = True
    """Whether publishers and readers must be known. It is true unless it says false: then the event type is public."""
    read: _Roles | None = None
    """Who may read, beside administrators; without it everybody who is known."""
    write: _Roles | None = None
    """Who may publish, beside administrators; without it only they."""
    plugins: (
        Annotated[tuple[Plugin, ...], Meta(min_length=1, max_length=4, extra_json_schema=_SET)] | None
    ) = None
    """Further checks of readers."""


class StoragePart(_Part, frozen=True, kw_only=True):
    """What is kept of the events that were published."""

    retention: Duration = "7d"
    """How long events are kept, from 1m to 10 years, such as 12h, 7d or 4w."""
    max_messages: _Count | None = None
    """How many events are kept; the oldest go first."""
    max_bytes: int | Quantity | None = None
    """How large all kept events may be together, such as 10Gi; the oldest go first."""
    duplicate_window: Duration | None = None
    """For how long an event that is sent again is recognised, up to the retention. Without it: the installation's."""
    replicas: Literal[1, 3, 5] | None = None
    """On how many servers of the broker events are kept. Without it: as many as the installation has."""
    medium: Literal["File", "Memory"] = "File"
    """Where they are kept. Memory loses all when the broker restarts. It can never be changed."""
    duplicates: Literal["KeepAll", "LatestPerSubject"] = "KeepAll"
    """Whether all events of equal topics are kept, or only the latest."""
    compression: bool = False
    """Whether what is stored is compressed; File only."""
    shrink: Literal["Reject", "Allow"] = "Reject"
    """Whether a change may delete stored events: by a shorter retention, a lower limit, or LatestPerSubject."""


class GeometryPart(_Part, frozen=True, kw_only=True):
    """How shapes are understood."""

    edges: Edges = "planar"
    """Whether an edge from longitude 179 to -179 is 358 degrees long (planar) or 2 (wrapped)."""


class Spec(_Part, frozen=True, kw_only=True):
    """What the event type is: its identifiers, where and how long events are kept, and who may."""

    topic: TopicPart
    """Where events of this type are stored. It can never be changed: stored events are found by it."""
    identifiers: Annotated[
        tuple[IdentifierPart, ...], Meta(min_length=1, max_length=32, extra_json_schema=_BY_NAME)
    ]
    """What a notification says about itself, in the order in which faults are reported."""
    event_type: EventTypeName | None = None
    """What publishers and readers call it; metadata.name unless it is set. It can never be changed."""
    description: Annotated[str, Meta(max_length=1024)] = ""
    """What its notifications tell, for people."""
    compatibility: Compatibility = "Backward"
    """Whether a change that would break producers, readers or stored events is refused (Backward) or taken (None)."""
    deletion_policy: DeletionPolicy = "Retain"
    """What happens to stored events when this object is deleted."""
    reconcile_policy: ReconcilePolicy = "Enforce"
    """Whether the stream is kept as described (Enforce), only compared (Observe), or not looked at (Paused)."""
    payload: PayloadPart = PayloadPart()
    """What notifications carry beside their identifiers."""
    auth: AuthPart = AuthPart()
    """Who may publish and read."""
    storage: StoragePart = StoragePart()
    """What is kept of the events that were published."""
    geometry: GeometryPart = GeometryPart()
    """How shapes are understood."""
    max_historical_notifications: _Count | None = None
    """The most events that one replay returns; without it the installation decides."""


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """`metadata`, of which only the name matters here."""

    name: Annotated[
        str,
        Meta(
            pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$",
            description="name of an object: small letters, digits, '-' and '.'; spec.eventType may have '_'",
        ),
    ]


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event type: what is published under one name, who may, and how long it is kept."""

    api_version: Literal["aviso.dev/v1alpha1"]
    kind: Literal["EventSchema"]
    metadata: Metadata
    spec: Spec


def event_type_of(manifest: Manifest) -> str:
    """Return the event type that a manifest declares."""
    return manifest.spec.event_type or manifest.metadata.name
