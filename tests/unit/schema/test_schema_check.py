"""Which schemas cannot be served: the rules and messages of contract section 16.4, and those that we add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from aviso_core.errors import SchemaError
from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.check import check_schema, check_together
from aviso_core.schema.model import PayloadRules, Schema, Storage, Topic

if TYPE_CHECKING:
    from aviso_core.fields import AnyField

A, B = TextField(name="a"), TextField(name="b")
POLYGON, CLOUD = PolygonField(name="polygon"), PointCloudField(name="point_cloud")


def _schema(*fields: AnyField, key_order: tuple[str, ...] | None = ("a",), **changes: Any) -> Schema:
    topic = None if key_order is None else Topic(base="s", key_order=key_order)
    return msgspec.structs.replace(Schema(event_type="s", topic=topic, fields=fields), **changes)


FINE: Final = {
    "one field": _schema(A),
    "two fields, the other way round": _schema(A, B, key_order=("b", "a")),
    "a field beside the topic": _schema(A, B),
    "a polygon beside the topic": _schema(A, POLYGON),
    "a polygon in the topic": _schema(A, POLYGON, key_order=("a", "polygon")),
    "a point cloud": _schema(A, CLOUD),
    "no topic": _schema(A, B, key_order=None),
    "no topic, a polygon": _schema(POLYGON, key_order=None),
    "nothing at all": _schema(key_order=None),
    "a base with everything": _schema(A, topic=Topic(base="9-_Z", key_order=("a",))),
    "the largest cloud": _schema(A, PointCloudField(name="point_cloud", max_points=10_000)),
    "the smallest cloud": _schema(A, PointCloudField(name="point_cloud", max_points=1)),
    "a cap": _schema(A, max_historical_notifications=1),
    "a default": _schema(A, IntegerField(name="n", default="7")),
    "limits that meet": _schema(A, IntegerField(name="n", minimum=3, maximum=3)),
    "a pattern": _schema(TextField(name="a", pattern="(?i)^[a-z]+$")),
    "a window as long as the retention": _schema(A, storage=Storage(retention_seconds=60, duplicate_window_seconds=60)),
}  # fmt: skip


@pytest.mark.parametrize("schema", FINE.values(), ids=FINE.keys())
def test_a_schema_without_faults_can_be_served(schema: Schema) -> None:
    assert check_schema(schema) == []
    assert list(build_catalog([schema]).event_types) == ["s"]


BASE_RULE: Final = "has invalid topic base: topic base must match [A-Za-z0-9][A-Za-z0-9_-]*"
ONE_GEOMETRY: Final = (
    "PolygonHandler must use the reserved identifier key 'polygon'; "
    "multiple or renamed geometries are not supported"
)
CLOUD_KEY: Final = "PointCloudHandler must use the reserved identifier key 'point_cloud'"
NO_POLYGON_BESIDE: Final = (
    "uses PointCloudHandler, so 'polygon' is reserved for watch/replay filters and must not be declared"
)
OTHER_CLOUD: Final = PointCloudField(name="other")

# Schema → path and message of each fault, in reading order. Every message follows `Schema 's' `.
FAULTY: Final[list[tuple[Schema, list[tuple[str, str]]]]] = [
    # bases
    *(
        (_schema(A, topic=Topic(base=base, key_order=("a",))), [("s.topic.base", BASE_RULE)])
        for base in ("", "_s", "-s", "s.t", "s t", "s*", "s>", "ß", "s\n", "٣")
    ),
    # key order
    (_schema(key_order=()), [("s.topic.key_order", "topic.key_order must not be empty")]),
    (_schema(A, key_order=("a", "x")), [("s.topic.key_order", "topic.key_order contains undeclared identifier 'x'")]),
    (_schema(A, key_order=("a", "point_cloud")),
     [("s.topic.key_order", "topic.key_order contains undeclared identifier 'point_cloud'")]),
    (_schema(A, B, key_order=("a", "b", "a")),
     [("s.topic.key_order", "topic.key_order contains duplicate identifier 'a'")]),
    (_schema(A, CLOUD, key_order=("a", "point_cloud")),
     [("s.topic.key_order", "topic.key_order must not contain reserved spatial key 'point_cloud'")]),
    # shapes
    (_schema(A, PolygonField(name="area")), [("s.identifier.area", ONE_GEOMETRY)]),
    (_schema(A, POLYGON, PolygonField(name="area")), [("s.identifier.area", ONE_GEOMETRY)]),
    (_schema(A, TextField(name="polygon")),
     [("s.identifier.polygon", "reserves identifier key 'polygon' for PolygonHandler")]),
    (_schema(A, OTHER_CLOUD), [("s.identifier.other", CLOUD_KEY)]),
    (_schema(A, CLOUD, OTHER_CLOUD),
     [("s.identifier.other", CLOUD_KEY), ("s.identifier", "may define only one PointCloudHandler")]),
    (_schema(A, TextField(name="point_cloud")),
     [("s.identifier.point_cloud", "reserves identifier key 'point_cloud' for PointCloudHandler")]),
    (_schema(A, CLOUD, POLYGON), [("s.identifier.polygon", NO_POLYGON_BESIDE)]),
    (_schema(A, CLOUD, TextField(name="polygon")), [("s.identifier.polygon", NO_POLYGON_BESIDE)]),
    (_schema(CLOUD, key_order=None), [("s.topic", "uses PointCloudHandler and must define topic configuration")]),
    *(
        (_schema(A, PointCloudField(name="point_cloud", max_points=number)),
         [("s.identifier.point_cloud", f"point_cloud max_points must be between 1 and 10000, got {number}")])
        for number in (0, -1, 10_001)
    ),
    # what no publisher could send (section 3.4)
    (_schema(A, TextField(name="point")),
     [("s.identifier.point", "must not declare identifier 'point': it is the filter of watch and replay")]),
    # the cap
    *(
        (_schema(A, max_historical_notifications=cap),
         [("s.max_historical_notifications", f"max_historical_notifications must be positive, got {cap}")])
        for cap in (0, -1)
    ),
    # names
    (_schema(A, B, IntegerField(name="b")), [("s.identifier.b", "declares identifier 'b' twice")]),
    (_schema(A, TextField(name="")), [("s.identifier.", "has an identifier without a name")]),
    # settings that leave nothing to send
    (_schema(A, IntegerField(name="n", minimum=5, maximum=4)),
     [("s.identifier.n", "identifier 'n' has a range whose minimum 5 exceeds its maximum 4")]),
    (_schema(A, RealField(name="n", minimum=0.5, maximum=-1e3)),
     [("s.identifier.n", "identifier 'n' has a range whose minimum 0.5 exceeds its maximum -1000")]),
    (_schema(A, ChoiceField(name="n", values=())),
     [("s.identifier.n", "identifier 'n' must list values, none of them empty")]),
    (_schema(A, ChoiceField(name="n", values=("x", ""))),
     [("s.identifier.n", "identifier 'n' must list values, none of them empty")]),
    (_schema(TextField(name="a", max_length=0)), [("s.identifier.a", "identifier 'a' has max_length 0")]),
    # defaults
    (_schema(A, IntegerField(name="n", default="x")),
     [("s.identifier.n.default", "has a default that it refuses: invalid digit found in string")]),
    (_schema(A, IntegerField(name="n", default="07")),
     [("s.identifier.n.default", "identifier 'n' has the default '07' whose canonical form is '7'")]),
    (_schema(A, DateField(name="n", default="2025-07-06")),
     [("s.identifier.n.default", "identifier 'n' has the default '2025-07-06' whose canonical form is '20250706'")]),
    (_schema(A, ExpverField(name="n", default="1")),
     [("s.identifier.n.default", "identifier 'n' has the default '1' whose canonical form is '0001'")]),
    (_schema(A, PolygonField(name="polygon", default="0,0,0,1,1,1,0,0")),
     [("s.identifier.polygon.default", "identifier 'polygon' cannot have a default")]),
    # payload and storage
    *(
        (_schema(A, payload=PayloadRules(max_bytes=size)),
         [("s.payload.max_bytes", f"payload.max_bytes must be between 1 and 262144, got {size}")])
        for size in (0, -1, 262_145)
    ),
    (_schema(A, storage=Storage(retention_seconds=59, duplicate_window_seconds=60)),
     [("s.storage.duplicate_window", "storage.duplicate_window of 60s is longer than the retention of 59s")]),
    (_schema(A, storage=Storage(medium="Memory", compression=True)),
     [("s.storage.compression", "storage.compression needs file storage")]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "faults"), FAULTY, ids=[faults[0][1][:60] for _, faults in FAULTY])
def test_a_faulty_schema_is_told_what_is_wrong(schema: Schema, faults: list[tuple[str, str]]) -> None:
    found = check_schema(schema)
    assert [(fault.path, fault.message) for fault in found] == [
        (path, f"Schema 's' {message}") for path, message in faults
    ]
    assert all(fault.remedy for fault in found)
    with pytest.raises(SchemaError) as caught:
        build_catalog([schema])
    assert caught.value.faults == tuple(found)


@pytest.mark.parametrize("pattern", ["(", "(a", "[z-a]", "(?=a)", "(?<!a)b", r"(a)\1", "*a"])
def test_a_pattern_that_cannot_be_used_is_a_fault(pattern: str) -> None:
    """It is no pattern, or cannot be matched in linear time."""
    (fault,) = check_schema(_schema(TextField(name="a", pattern=pattern)))
    assert fault.message.startswith("Schema 's' identifier 'a' has a pattern that cannot be used: ")
    assert fault.path == "s.identifier.a"


def test_all_faults_are_found_at_once() -> None:
    """Nobody mends them one start at a time; they come in the order of the schema."""
    schema = _schema(
        TextField(name="point"),
        PolygonField(name="area"),
        IntegerField(name="n", minimum=1, maximum=0),
        topic=Topic(base="?", key_order=("x", "x")),
        max_historical_notifications=0,
    )
    assert [fault.path for fault in check_schema(schema)] == [
        "s.topic.base",
        "s.topic.key_order",
        "s.topic.key_order",
        "s.identifier.point",
        "s.identifier.area",
        "s.identifier.n",
        "s.max_historical_notifications",
    ]


# --- schemas beside each other ---------------------------------------------------------------------------


def _named(event_type: str, base: str | None) -> Schema:
    topic = None if base is None else Topic(base=base, key_order=("a",))
    return Schema(event_type=event_type, topic=topic, fields=(A,))


TOGETHER: Final[list[tuple[list[Schema], list[str]]]] = [
    ([_named("a", "x"), _named("b", "y")], []),
    ([_named("a", "x"), _named("b", "x")], ["Schemas 'a' and 'b' both define topic base 'x'"]),
    # names sorted, the base as the second spells it
    ([_named("b", "x"), _named("a", "X")], ["Schemas 'a' and 'b' both define topic base 'x'"]),
    ([_named("a", "X"), _named("b", None), _named("X", None)], ["Schemas 'X' and 'a' both define topic base 'X'"]),
    ([_named("a", None), _named("b", "A")], ["Schemas 'a' and 'b' both define topic base 'A'"]),  # its own base
    ([_named("a", "x"), _named("a", "x")], ["Event type 'a' is declared twice"]),
    ([_named("c", "x"), _named("b", "x"), _named("a", "x")],
     ["Schemas 'a' and 'b' both define topic base 'x'", "Schemas 'a' and 'c' both define topic base 'x'"]),
]  # fmt: skip


@pytest.mark.parametrize(("schemas", "messages"), TOGETHER)
def test_every_event_type_has_a_base_of_its_own(schemas: list[Schema], messages: list[str]) -> None:
    assert [fault.message for fault in check_together(schemas)] == messages
    if messages:
        with pytest.raises(SchemaError):
            build_catalog(schemas)
