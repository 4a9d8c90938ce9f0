"""The stored form of a notification, in one place: what goes into subject, payload and headers, and back.

The subject holds the routed identifiers and the body is the payload, as the reference server stores them; so are its
headers for shapes, which other programs read. What none of those can hold stands in one header of ours, as JSON:
identifiers outside the key order, shapes of several rings, who wrote it, when, and whether it is a retraction.
Records that the reference server wrote have no such header and read just as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from aviso_core import json_text
from aviso_core.errors import MalformedTopic
from aviso_core.event import Event
from aviso_core.eventlog.base import Entry, Headers, Record
from aviso_core.geometry import pairs, text
from aviso_core.geometry.shapes import Geometry, NotAShape, Pair, PointCloud, Polygon, bounds
from aviso_core.topic.codec import decode_subject

if TYPE_CHECKING:
    from aviso_core.schema.event_type import Announced, EventType

BOUNDS_HEADER: Final = "spatial_bbox"
POLYGON_HEADER: Final = "spatial_geometry"
POINT_CLOUD_HEADER: Final = "spatial_point_cloud"
TRACE_HEADER: Final = "traceparent"
OWN_HEADER: Final = "aviso"

NO_EVENT_TYPE: Final = "Failed to determine event type from topic"
BAD_POLYGON: Final = "Failed to parse stored polygon metadata"
BAD_POINT_CLOUD: Final = "Failed to parse stored point-cloud metadata"
INVALID_POINT_CLOUD: Final = "Failed to validate stored point-cloud metadata"


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a notification comes from, beside what it says."""

    actor: str = ""
    traceparent: str = ""
    producer_instant: int | None = None
    message_id: str | None = None


class _Own(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of our own header. It only gains members."""

    fields: dict[str, str] = {}
    parts: tuple[tuple[tuple[Pair, ...], ...], ...] = ()
    operation: Literal["", "delete"] = ""
    actor: str = ""
    time: int | None = None


_NOTHING: Final = _Own()
# As numbers: bytes are looked through for one byte several times as fast as for a text.
_LINE_FEED: Final = ord("\n")
_CARRIAGE_RETURN: Final = ord("\r")
_encode: Final = msgspec.json.Encoder().encode
_decode_own: Final = msgspec.json.Decoder(_Own).decode
_decode_raw: Final = msgspec.json.Decoder(msgspec.Raw).decode


def write_record(
    event_type: EventType | None,
    announced: Announced,
    payload: bytes,
    *,
    origin: Origin | None = None,
    is_retraction: bool = False,
) -> Record:
    """Return what is appended for a checked notification. `payload` is compact JSON."""
    origin = origin or Origin()
    headers = _shape_headers(announced.geometry)
    own = _Own(
        fields=_fields_outside_subject(event_type, announced),
        parts=_parts_beyond_one_ring(announced.geometry),
        operation="delete" if is_retraction else "",
        actor=origin.actor,
        time=origin.producer_instant,
    )
    if own != _NOTHING:
        headers[OWN_HEADER] = _encode(own).decode()
    if origin.traceparent:
        headers[TRACE_HEADER] = origin.traceparent
    return Record(subject=announced.subject, payload=payload, headers=headers, message_id=origin.message_id)


def _shape_headers(geometry: Geometry | None) -> dict[str, str]:
    if geometry is None:
        return {}
    name = POINT_CLOUD_HEADER if isinstance(geometry, PointCloud) else POLYGON_HEADER
    return {BOUNDS_HEADER: bounds(geometry).text(), name: geometry.canonical()}


def _fields_outside_subject(event_type: EventType | None, announced: Announced) -> dict[str, str]:
    if event_type is None:
        return {}
    routed = event_type.routed
    return {name: value for name, value in announced.identifier.items() if name not in routed}


def _parts_beyond_one_ring(geometry: Geometry | None) -> tuple[tuple[tuple[Pair, ...], ...], ...]:
    return geometry.parts if isinstance(geometry, Polygon) and not geometry.is_plain else ()


def read_entry(event_type: EventType, entry: Entry) -> Event:
    """Return the event of a stored entry; one whose subject is not of this event type raises `MalformedTopic`.

    An entry whose shape cannot be read is still an event; it says that it cannot be rendered.
    """
    _, *values = decode_subject(entry.subject)
    if len(values) != len(event_type.routed):
        raise MalformedTopic(
            f"'{entry.subject}' has {len(values)} values, {event_type.name} has {len(event_type.routed)}"
        )
    identifier = dict(zip(event_type.routed, values, strict=True))
    if event_type.geometry_field is not None:
        identifier.pop(event_type.geometry_field.name, None)
    headers = entry.headers
    if not headers:
        # So are most, and history is read by the million.
        return Event(
            event_type=event_type.name,
            sequence=entry.sequence,
            instant=entry.instant,
            subject=entry.subject,
            identifier=identifier,
            payload=_read_payload(entry.payload),
            unreadable="" if event_type.schema.topic else NO_EVENT_TYPE,
        )
    own = _read_own(headers)
    geometry, reason = _read_shape(headers, own)
    return Event(
        event_type=event_type.name,
        sequence=entry.sequence,
        instant=entry.instant,
        subject=entry.subject,
        identifier=identifier | own.fields if own.fields else identifier,
        geometry=geometry,
        payload=_read_payload(entry.payload),
        operation=own.operation,
        actor=own.actor,
        traceparent=headers.get(TRACE_HEADER, ""),
        producer_instant=own.time,
        unreadable=reason if event_type.schema.topic else NO_EVENT_TYPE,
    )


def read_undeclared_entry(event_type: str, entry: Entry) -> Event:
    """Return the event of an entry without a schema: its values are named by their places, and it is not rendered."""
    values = decode_subject(entry.subject)[1:]
    return Event(
        event_type=event_type,
        sequence=entry.sequence,
        instant=entry.instant,
        subject=entry.subject,
        identifier={f"#{place}": value for place, value in enumerate(values)},
        payload=_read_payload(entry.payload),
        unreadable=NO_EVENT_TYPE,
    )


def _read_own(headers: Headers) -> _Own:
    content = headers.get(OWN_HEADER)
    if content is None:
        return _NOTHING
    try:
        return _decode_own(content)
    except msgspec.MsgspecError:
        # Somebody else's header of that name; the rest of the entry says what the reference's entries say.
        return _NOTHING


def _read_shape(headers: Headers, own: _Own) -> tuple[Geometry | None, str]:
    if own.parts:
        return Polygon(own.parts), ""
    polygon = headers.get(POLYGON_HEADER)
    if polygon is not None:
        return _read_polygon(polygon)
    cloud = headers.get(POINT_CLOUD_HEADER)
    return (None, "") if cloud is None else _read_cloud(cloud)


def _read_polygon(stored: str) -> tuple[Geometry | None, str]:
    try:
        if stored.lstrip().startswith("["):
            return Polygon(((pairs.read_ring(pairs.read_array_text(stored, of="polygon")),),)), ""
        # Releases before arrays stored the producer's text.
        return Polygon(((text.read_polygon_ring(stored),),)), ""
    except NotAShape:
        return None, BAD_POLYGON


def _read_cloud(stored: str) -> tuple[Geometry | None, str]:
    try:
        value = json_text.decode(stored.encode())
    except json_text.NotJson:
        return None, BAD_POINT_CLOUD
    if not isinstance(value, list):
        return None, BAD_POINT_CLOUD
    try:
        points = pairs.read_pairs(value, of="point_cloud")
    except NotAShape:
        return None, INVALID_POINT_CLOUD
    return (PointCloud(points), "") if points else (None, INVALID_POINT_CLOUD)


def _read_payload(stored: bytes) -> bytes:
    """Return the payload as compact JSON: what is no JSON is text of an old producer, and nothing is null."""
    if not stored:
        return b"null"
    if not _is_json(stored):
        return _encode(stored.decode(errors="replace"))
    return json_text.compact(stored) if _LINE_FEED in stored or _CARRIAGE_RETURN in stored else stored


def _is_json(stored: bytes) -> bool:
    """Tell whether bytes can be put into a larger text of JSON as they are."""
    try:
        json_text.check_nesting(stored)
        _decode_raw(stored)
        # Skipping over a string does not look at its characters.
        return stored.isascii() or bool(stored.decode())
    except (json_text.NotJson, msgspec.DecodeError, UnicodeDecodeError):
        return False
