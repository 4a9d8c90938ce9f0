"""What manifests must keep to beyond the shape of each member: members that go together, names that are taken.

The resource definition says the same in CEL (`aviso_operator.crd.rules`), in the same words: a manifest that a folder
takes is one that a cluster creates, and the other way round. Rules about changes are not here, because a folder has no
older version to compare with; `compatibility` and the planner judge those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_core.errors import Fault
from aviso_core.fields.point_cloud import POINT_CLOUD_KEY
from aviso_core.fields.polygon import POLYGON_KEY
from aviso_core.schema.check import POINT_KEY
from aviso_core.schema.manifest_parts import (
    DECIMAL,
    DURATION,
    EVENT_TYPE_NAME,
    QUANTITY,
    AuthPart,
    FloatPart,
    IdentifierPart,
    IntPart,
    Manifest,
    RolePart,
    Spec,
    StoragePart,
)
from aviso_core.units import QUANTITY_SUFFIXES, parse_duration, parse_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# These words mean something else where identifiers are named.
RESERVED_NAMES: Final = (
    POINT_KEY,
    "payload",
    "from_id",
    "from_date",
    "to_id",
    "to_date",
    "event_type",
    "request_id",
)
# A shape has one name and the name means that shape: readers find it under that name, in any event type.
SHAPE_NAMES: Final = {"Polygon": POLYGON_KEY, "PointCloud": POINT_CLOUD_KEY}

# Type → the member that holds its settings, and how a manifest spells it.
SETTINGS: Final = {
    "String": ("string", "string"),
    "Enum": ("enum", "enum"),
    "Int": ("int", "int"),
    "Float": ("float", "float"),
    "Date": ("date", "date"),
    "Expver": ("expver", "expver"),
    "PointCloud": ("point_cloud", "pointCloud"),
}

LONGEST_NAME: Final = 63
SHORTEST_RETENTION: Final = 60
LONGEST_RETENTION: Final = 87_600 * 3600
SMALLEST_STREAM: Final = 2**20
LARGEST_STREAM: Final = 2**50


def rule_faults(manifest: Manifest) -> Iterator[Fault]:
    """Yield the rules that a manifest breaks, in reading order."""
    spec = manifest.spec
    if len(manifest.metadata.name) > LONGEST_NAME:
        yield Fault(
            path="metadata.name",
            message="must have at most 63 characters: it stands in labels",
            remedy="shorten it",
        )
    if spec.event_type is None and not EVENT_TYPE_NAME.fullmatch(manifest.metadata.name):
        yield Fault(
            path="metadata.name",
            message=f"'{manifest.metadata.name}' is no event type",
            remedy="set spec.eventType, for example with '_' where the name has '-'",
        )
    yield from _key_order_faults(spec)
    yield from _repeated("spec.identifiers", (part.name for part in spec.identifiers), member="name")
    for place, identifier in enumerate(spec.identifiers):
        yield from _identifier_faults(identifier, f"spec.identifiers[{place}]")
    yield from _shape_faults(spec)
    yield from _auth_faults(spec.auth)
    yield from _storage_faults(spec.storage)


def seconds(duration: str | None) -> int | None:
    """Return the length of a duration, or None for none and for what is no duration: that has a fault already."""
    if duration is None or not DURATION.fullmatch(duration):
        return None
    return parse_duration(duration)


def size(quantity: int | str | None) -> int | None:
    """Return the bytes of a quantity, or None for none and for what is no quantity: that has a fault already."""
    if not isinstance(quantity, str):
        return quantity
    return parse_size(quantity, suffixes=QUANTITY_SUFFIXES) if QUANTITY.fullmatch(quantity) else None


def _repeated(path: str, values: Iterable[str], *, member: str = "") -> Iterator[Fault]:
    """Yield the entries of a list that were there before: lists of names have none twice."""
    seen = set()
    for place, value in enumerate(values):
        if value in seen:
            where = f"{path}[{place}].{member}" if member else f"{path}[{place}]"
            yield Fault(path=where, message=f"'{value}' is listed twice", remedy="keep one of the two")
        seen.add(value)


def _key_order_faults(spec: Spec) -> Iterator[Fault]:
    path = "spec.topic.keyOrder"
    if len(set(spec.topic.key_order)) < len(spec.topic.key_order):
        yield Fault(path=path, message="topic.keyOrder names an identifier twice", remedy="name it once")
    declared = {part.name for part in spec.identifiers}
    for name in spec.topic.key_order:
        if name in SHAPE_NAMES.values():
            yield Fault(
                path=path,
                message=f"a shape cannot be routed on: remove '{name}' from topic.keyOrder",
                remedy="it is stored beside the topic and filterable all the same",
            )
        elif name not in declared:
            yield Fault(
                path=path,
                message=f"every topic.keyOrder entry must name a declared identifier, '{name}' does not",
                remedy="declare it or leave it out",
            )


def _identifier_faults(part: IdentifierPart, path: str) -> Iterator[Fault]:
    yield from _name_faults(part, path)
    for kind, (member, block) in SETTINGS.items():
        if getattr(part, member) is not None and part.type != kind:
            yield Fault(
                path=f"{path}.{block}", message=f"{block} settings need type {kind}", remedy="remove them"
            )
    if part.type == "Enum" and part.enum is None:
        yield Fault(path=f"{path}.enum", message="type Enum needs enum.values", remedy="list the values")
    if part.enum is not None:
        yield from _repeated(f"{path}.enum.values", part.enum.values)
    if part.type in SHAPE_NAMES and part.default is not None:
        yield Fault(path=f"{path}.default", message="a shape cannot have a default", remedy="remove it")
    yield from _range_faults(part.int, path, "int")
    yield from _range_faults(part.float, path, "float")


def _name_faults(part: IdentifierPart, path: str) -> Iterator[Fault]:
    if part.name in RESERVED_NAMES:
        yield Fault(
            path=f"{path}.name", message=f"identifier name '{part.name}' is reserved", remedy="rename it"
        )
    for kind, name in SHAPE_NAMES.items():
        if (part.type == kind) is not (part.name == name):
            yield Fault(
                path=f"{path}.name",
                message=f"the identifier of type {kind} is called '{name}', and no other is",
                remedy="rename it, or change its type",
            )


def _range_faults(part: IntPart | FloatPart | None, path: str, block: str) -> Iterator[Fault]:
    if part is None or part.min is None or part.max is None:
        return
    least, most = _number(part.min), _number(part.max)
    if least is not None and most is not None and least > most:
        yield Fault(
            path=f"{path}.{block}",
            message=f"{block}.min must not exceed {block}.max",
            remedy="swap the two: no value could be sent",
        )


def _number(limit: int | str) -> int | float | None:
    if isinstance(limit, int):
        return limit
    return float(limit) if DECIMAL.fullmatch(limit) else None


def _shape_faults(spec: Spec) -> Iterator[Fault]:
    if {part.name for part in spec.identifiers} >= set(SHAPE_NAMES.values()):
        yield Fault(
            path="spec.identifiers",
            message="an event type has one shape: polygon or point_cloud, not both",
            remedy="remove polygon: readers may filter a point cloud by it without a declaration",
        )


def _auth_faults(part: AuthPart) -> Iterator[Fault]:
    if not part.required and (part.read or part.write):
        yield Fault(
            path="spec.auth",
            message="role lists need auth.required: true",
            remedy="remove the lists or require auth",
        )
    if not part.required and part.plugins:
        yield Fault(
            path="spec.auth",
            message="plugins need auth.required: true",
            remedy="remove the plugins or require auth",
        )
    yield from _repeated("spec.auth.plugins", part.plugins or ())
    yield from _role_faults("spec.auth.read", part.read or ())
    yield from _role_faults("spec.auth.write", part.write or ())


def _role_faults(path: str, parts: tuple[RolePart, ...]) -> Iterator[Fault]:
    yield from _repeated(path, (part.realm for part in parts), member="realm")
    for place, part in enumerate(parts):
        yield from _repeated(f"{path}[{place}].roles", part.roles)


def _storage_faults(part: StoragePart) -> Iterator[Fault]:
    retention, window, wanted = seconds(part.retention), seconds(part.duplicate_window), size(part.max_bytes)
    if retention is not None and not SHORTEST_RETENTION <= retention <= LONGEST_RETENTION:
        yield Fault(
            path="spec.storage.retention",
            message="retention must be 1m to 10 years",
            remedy="write it such as 12h or 7d",
        )
    if window is not None and not 1 <= window <= (retention or LONGEST_RETENTION):
        yield Fault(
            path="spec.storage.duplicateWindow",
            message="duplicateWindow must be 1s up to the retention: what is gone cannot be recognised again",
            remedy="write it such as 2m",
        )
    if wanted is not None and not SMALLEST_STREAM < wanted <= LARGEST_STREAM:
        yield Fault(
            path="spec.storage.maxBytes",
            message="maxBytes must be over 1Mi, and 1024Ti at most",
            remedy="write it such as 10Gi",
        )
    if part.medium == "Memory" and part.compression:
        yield Fault(
            path="spec.storage", message="compression needs File storage", remedy="remove one of them"
        )
