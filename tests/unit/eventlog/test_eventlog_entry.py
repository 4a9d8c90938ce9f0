"""The stored form of a notification: whatever is announced comes back, and so does what older servers stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import MalformedTopic
from aviso_core.event import Event
from aviso_core.eventlog.base import Entry, Record
from aviso_core.eventlog.entry import (
    BAD_POINT_CLOUD,
    BAD_POLYGON,
    INVALID_POINT_CLOUD,
    NO_EVENT_TYPE,
    Origin,
    read_entry,
    read_undeclared_entry,
    write_record,
)
from aviso_core.eventlog.limits import check_record
from aviso_core.fields import FIELD_TYPES, AnyField, SpatialField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.text import TextField
from aviso_core.geometry.shapes import Geometry, PointCloud, Polygon
from aviso_core.schema.check import check_schema
from aviso_core.schema.event_type import Announced, EventType
from aviso_core.schema.model import Schema, Topic
from aviso_core.schema.undeclared import announce_undeclared
from support import json_strategies

if TYPE_CHECKING:
    from aviso_core.fields.base import Samples

_SCALARS: Final[list[tuple[AnyField, Samples]]] = [
    (field, samples)
    for field_type in FIELD_TYPES
    for field, samples in field_type.samples()
    if not isinstance(field, SpatialField) and samples.accepted
]
_coordinates: Final = st.tuples(st.floats(-90, 90), st.floats(-180, 180))
_rings: Final = st.lists(_coordinates, min_size=3, max_size=6).map(lambda corners: (*corners, corners[0]))
_parts: Final = st.lists(_rings, min_size=1, max_size=3).map(tuple)
_polygons: Final = st.lists(_parts, min_size=1, max_size=3).map(lambda parts: Polygon(tuple(parts)))
_clouds: Final = st.lists(_coordinates, min_size=1, max_size=8).map(lambda points: PointCloud(tuple(points)))
_texts: Final = st.text(min_size=1, max_size=20)
_payloads: Final = st.one_of(
    st.just(b"null"),
    json_strategies.values.map(lambda value: json.dumps(value, separators=(",", ":")).encode()),
    json_strategies.values.map(
        lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    ),
)
_origins: Final = st.builds(
    Origin,
    actor=st.one_of(st.just(""), _texts),
    traceparent=st.sampled_from(("", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")),
    producer_instant=st.one_of(st.none(), st.integers(0, 2**63 - 1)),
)


class Case(msgspec.Struct, frozen=True):
    """An event type, and something announced for it."""

    event_type: EventType
    announced: Announced


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw fields of any types in any order, some of them in the topic, perhaps a shape, and values for all."""
    drawn = draw(st.lists(st.sampled_from(range(len(_SCALARS))), min_size=1, max_size=5))
    fields: list[AnyField] = []
    identifier: dict[str, Any] = {}
    for place, number in enumerate(drawn):
        field, samples = _SCALARS[number]
        fields.append(msgspec.structs.replace(field, name=f"f{place}"))
        identifier[f"f{place}"] = draw(st.sampled_from(samples.accepted))[0]
    fields.append(TextField(name="free"))
    identifier["free"] = draw(_texts)
    routed = draw(st.permutations([field.name for field in fields]))
    key_order = tuple(routed[: draw(st.integers(1, len(routed)))])
    geometry: Geometry | None = None
    match draw(st.sampled_from(("", "polygon", "routed polygon", "point_cloud"))):
        case "":
            pass
        case "point_cloud":
            fields.append(PointCloudField(name="point_cloud"))
            geometry = draw(_clouds)
            identifier["point_cloud"] = geometry.points
        case spelling:
            fields.append(PolygonField(name="polygon"))
            geometry = draw(_polygons)
            identifier["polygon"] = geometry.main_ring()
            key_order += ("polygon",) if spelling == "routed polygon" else ()
    schema = Schema(
        event_type="sample", topic=Topic(base="sample", key_order=key_order), fields=tuple(fields)
    )
    assert not check_schema(schema)
    event_type = EventType(schema)
    announced = event_type.announce(identifier)
    return Case(event_type, msgspec.structs.replace(announced, geometry=geometry))


def stored(record: Record, *, sequence: int = 7, instant: int = 99) -> Entry:
    """Return the entry that a log makes of a record."""
    return Entry(
        sequence=sequence,
        instant=instant,
        subject=record.subject,
        payload=record.payload,
        headers=record.headers,
    )


@given(cases(), _payloads, _origins, st.booleans())
def test_what_is_announced_comes_back(
    case: Case, payload: bytes, origin: Origin, is_retraction: bool
) -> None:
    """Every identifier whether routed or not, the shape with all its rings, and where it came from."""
    record = write_record(
        case.event_type, case.announced, payload, origin=origin, is_retraction=is_retraction
    )
    check_record("sample", record)
    assert read_entry(case.event_type, stored(record)) == Event(
        event_type="sample",
        sequence=7,
        instant=99,
        subject=case.announced.subject,
        identifier=case.announced.identifier,
        geometry=case.announced.geometry,
        payload=payload,
        operation="delete" if is_retraction else "",
        actor=origin.actor,
        traceparent=origin.traceparent,
        producer_instant=origin.producer_instant,
    )


@given(cases(), _payloads)
def test_a_plain_notification_is_stored_as_the_reference_stores_it(case: Case, payload: bytes) -> None:
    """Nothing of ours is added where subject, body and the headers for shapes hold all of it."""
    announced = case.announced
    routed = {name: announced.identifier[name] for name in case.event_type.routed if name != "polygon"}
    plain = msgspec.structs.replace(announced, identifier=routed)
    record = write_record(case.event_type, plain, payload)
    shape = announced.geometry
    if shape is None:
        assert record.headers == {}
    elif isinstance(shape, PointCloud):
        assert record.headers.keys() == {"spatial_bbox", "spatial_point_cloud"}
    elif shape.is_plain:
        assert record.headers.keys() == {"spatial_bbox", "spatial_geometry"}
        assert json.loads(record.headers["spatial_geometry"]) == [list(pair) for pair in shape.main_ring()]
    assert record.payload == payload


def test_an_id_is_kept_beside_the_stored_form() -> None:
    """It is the log's affair, and no header."""
    announced = Announced(subject="storms.a", identifier={"basin": "a"})
    record = write_record(_STORMS, announced, b"null", origin=Origin(message_id="one"))
    assert record == Record(subject="storms.a", payload=b"null", message_id="one")


# --- what older servers stored ---------------------------------------------------------------------------

_STORMS: Final = EventType(
    Schema(
        event_type="cyclones",
        topic=Topic(base="storms", key_order=("basin",)),
        fields=(TextField(name="basin"), PolygonField(name="polygon")),
    )
)
_BUOYS: Final = EventType(
    Schema(
        event_type="buoys",
        topic=Topic(base="buoys", key_order=("net",)),
        fields=(TextField(name="net"), PointCloudField(name="point_cloud")),
    )
)
_SQUARE: Final = Polygon(((((0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0)),),))


def read(event_type: EventType, **parts: Any) -> Event:
    """Return the event of an entry, of which most tests care about one part only."""
    entry = Entry(sequence=3, instant=5, subject=f"{event_type.base}.a", payload=b"null")
    return read_entry(event_type, msgspec.structs.replace(entry, **parts))


def test_a_record_without_headers_is_an_event() -> None:
    """The event type is the schema's name, whatever the base is called."""
    assert read(_STORMS, subject="storms.north%2Eeast", payload=b'{"a":1}') == Event(
        event_type="cyclones",
        sequence=3,
        instant=5,
        subject="storms.north%2Eeast",
        identifier={"basin": "north.east"},
        payload=b'{"a":1}',
    )


@pytest.mark.parametrize(
    "stored_form",
    [
        "[[0.0,0.0],[0.0,1.0],[1.0,1.0],[0.0,0.0]]",
        "[[0,0],[0,1],[1,1],[0,0]]",
        " [ [0,0], [0,1], [1,1], [0,0] ] ",
        "(0.0,0.0,0.0,1.0,1.0,1.0,0.0,0.0)",
        "0,0,0,1,1,1,0,0",
        " ( 0 , 0, 0 ,1,1,1,0,0 ) ",
    ],
)
def test_polygons_of_every_release_are_read(stored_form: str) -> None:
    """As an array, and as the text that a producer once sent."""
    event = read(_STORMS, headers={"spatial_bbox": "0,0,1,1", "spatial_geometry": stored_form})
    assert (event.geometry, event.unreadable) == (_SQUARE, "")


def test_point_clouds_of_the_reference_are_read() -> None:
    """In the producer's order, doubles and all."""
    event = read(_BUOYS, headers={"spatial_bbox": "1,2,3,4", "spatial_point_cloud": "[[3,4],[1.5,2],[3,4]]"})
    assert event.geometry == PointCloud(((3.0, 4.0), (1.5, 2.0), (3.0, 4.0)))


@pytest.mark.parametrize(
    "stored_form", ["", "nonsense", "[]", "[[0,0],[0,1]", "[[0,0],[0,1],[1,1],[9,9]]", "[[99,0]]", "[" * 9000]
)
def test_an_unreadable_polygon_leaves_an_event_that_says_so(stored_form: str) -> None:
    """Everything else of it is there: it counts, it is only not rendered."""
    event = read(_STORMS, headers={"spatial_geometry": stored_form})
    assert (event.geometry, event.unreadable) == (None, BAD_POLYGON)
    assert event.identifier == {"basin": "a"}


@pytest.mark.parametrize(
    ("stored_form", "reason"),
    [
        ("", BAD_POINT_CLOUD),
        ("nonsense", BAD_POINT_CLOUD),
        ("{}", BAD_POINT_CLOUD),
        ("[[1,2]", BAD_POINT_CLOUD),
        ("[]", INVALID_POINT_CLOUD),
        ("[1,2]", INVALID_POINT_CLOUD),
        ("[[91,0]]", INVALID_POINT_CLOUD),
        ('[["1",0]]', INVALID_POINT_CLOUD),
    ],
)
def test_an_unreadable_point_cloud_says_whether_it_was_read_at_all(stored_form: str, reason: str) -> None:
    """The contract has a message for either."""
    event = read(_BUOYS, headers={"spatial_point_cloud": stored_form})
    assert (event.geometry, event.unreadable) == (None, reason)


@pytest.mark.parametrize(
    ("stored_form", "payload"),
    [
        (b"", b"null"),
        (b"null", b"null"),
        (b'{"b":1,"a":1E2}', b'{"b":1,"a":1E2}'),
        (b'{"a":\n 1}\r\n', b'{"a":1}'),
        (b'"two\\nlines"', b'"two\\nlines"'),
        (b"just text", b'"just text"'),
        (b'{"a":', b'"{\\"a\\":"'),
        (b"NaN", b'"NaN"'),
        (b"1 2", b'"1 2"'),
        (b"two\nlines", b'"two\\nlines"'),
        ("grün".encode(), '"grün"'.encode()),
        (b"\xff\xfe", '"\ufffd\ufffd"'.encode()),
        (b'"\xff"', '"\\"\ufffd\\""'.encode()),
        (b'{"a":"\xed\xa0\x80"}', '"{\\"a\\":\\"\ufffd\ufffd\ufffd\\"}"'.encode()),
    ],
)
def test_payloads_are_json_whatever_was_stored(stored_form: bytes, payload: bytes) -> None:
    """JSON as it is, on one line; anything else as a text, nothing as null."""
    assert read(_STORMS, payload=stored_form).payload == payload


@given(st.one_of(st.binary(max_size=60), json_strategies.damaged(json_strategies.spelled())))
def test_any_stored_bytes_are_a_payload_that_can_be_sent(stored_form: bytes) -> None:
    """It is UTF-8, one line and JSON, or a reader would not find the end of an event."""
    payload = read(_STORMS, payload=stored_form).payload
    assert b"\n" not in payload
    assert b"\r" not in payload
    msgspec.json.Decoder(msgspec.Raw).decode(payload.decode().encode())


def test_a_payload_that_is_nested_beyond_reason_is_text() -> None:
    """Nothing recurses over it."""
    deep = b"[" * 50_000 + b"]" * 50_000
    assert read(_STORMS, payload=deep).payload == b'"%s"' % deep


@pytest.mark.parametrize("content", ["", "no json", "[]", '{"fields":1}', '{"parts":[[[[0]]]]}'])
def test_a_header_of_our_name_with_other_content_is_passed_over(content: str) -> None:
    """Somebody else may have chosen the same word; the rest of the entry says enough."""
    event = read(_STORMS, headers={"aviso": content, "other": "x"})
    assert (event.identifier, event.operation, event.unreadable) == ({"basin": "a"}, "", "")


def test_members_that_a_newer_server_adds_are_passed_over() -> None:
    """Its entries are read by an older one while both run."""
    event = read(_STORMS, headers={"aviso": '{"actor":"me","planet":"mars","fields":{"x":"1"}}'})
    assert (event.actor, event.identifier) == ("me", {"basin": "a", "x": "1"})


@pytest.mark.parametrize("subject", ["storms", "storms.a.b", "storms.a%2", "storms.%FF", "storms.a."])
def test_a_subject_of_another_event_type_is_refused(subject: str) -> None:
    """Too few values, too many, or such as no encoder writes: it never matches anything."""
    with pytest.raises(MalformedTopic):
        read(_STORMS, subject=subject)


def test_an_event_type_without_a_topic_is_read_and_not_rendered() -> None:
    """As the reference does: what was published stays publishable, and says why it is not shown."""
    event_type = EventType(Schema(event_type="plain", fields=(TextField(name="b"), TextField(name="a"))))
    record = write_record(event_type, event_type.announce({"a": "1", "b": "2"}), b"1")
    event = read_entry(event_type, stored(record))
    assert event.identifier == {"a": "1", "b": "2"}
    assert event.unreadable == NO_EVENT_TYPE


def test_an_undeclared_event_type_is_read_by_places_and_not_rendered() -> None:
    """There is no schema that would name its values."""
    record = write_record(None, announce_undeclared("anything", {"x": "1", "y": "a.b"}), b'{"n":1}')
    event = read_undeclared_entry("anything", stored(record))
    assert event.identifier == {"#0": "1", "#1": "a.b"}
    assert (event.payload, event.unreadable) == (b'{"n":1}', NO_EVENT_TYPE)
