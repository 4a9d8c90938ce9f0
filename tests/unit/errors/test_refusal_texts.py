"""Every refusal that the core knows, side by side in one file: what a user is told, and about which member.

The tables elsewhere compare with the contract. This file is for reading: whoever changes a text sees it here among its
neighbours.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from aviso_core import errors
from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import PayloadRules, Schema, Topic
from support.catalogs import NOTHING_DECLARED
from support.endpoints import Endpoint, ask, code_on_the_wire

if TYPE_CHECKING:
    from conftest import Golden

_Identifier: TypeAlias = dict[str, Any]

EVENT_TYPES: Final = build_catalog(
    [
        Schema(event_type="text", fields=(TextField(name="x", max_length=4, pattern="^[a-z]"),)),
        Schema(event_type="date", fields=(DateField(name="x"),)),
        Schema(event_type="time", fields=(TimeField(name="x"),)),
        Schema(event_type="enum", fields=(ChoiceField(name="x", values=("North", "South")),)),
        Schema(event_type="int", fields=(IntegerField(name="x", minimum=1, maximum=7),)),
        Schema(event_type="float", fields=(RealField(name="x", minimum=0.0, maximum=1.5),)),
        Schema(event_type="expver", fields=(ExpverField(name="x", required=True),)),
        Schema(event_type="area", fields=(PolygonField(name="polygon", required=True),)),
        Schema(
            event_type="cloud",
            topic=Topic(base="cloud", key_order=("x",)),
            fields=(TextField(name="x"), PointCloudField(name="point_cloud", required=True)),
        ),
        Schema(
            event_type="payload",
            payload=PayloadRules(required=True, max_bytes=20, json_schema={"required": ["path"]}),
        ),
    ]
)
RING: Final = "0,0,0,1,1,1,0,0"
START: Final = {"from_id": "5"}
NO_POINTS: Final[list[Any]] = ["", "1", "1,2,3", "a,1", "1,inf", "95,1", "[", [1], {}]
NO_CONSTRAINTS: Final[list[_Identifier]] = [{}, {"ge": 1}, {"eq": "1"}, {"in": 1}, {"in": []}, {"eq": 9}]
NO_LIMITS: Final[list[Any]] = [1, [1], [2, 1]]


def _bodies() -> list[tuple[str, Endpoint, bytes]]:
    def body(event_type: str, identifier: _Identifier, **members: Any) -> bytes:
        return msgspec.json.encode({"event_type": event_type, "identifier": identifier, **members})

    def values(event_type: str, *values: Any) -> list[tuple[str, Endpoint, bytes]]:
        name = {"area": "polygon", "cloud": "point_cloud"}.get(event_type, "x")
        beside = {"x": "n"} if event_type == "cloud" else {}
        return [
            (f"{event_type}: {_short(value)}", "notification", body(event_type, {**beside, name: value}))
            for value in values
        ]

    def filters(event_type: str, *identifiers: _Identifier) -> list[tuple[str, Endpoint, bytes]]:
        return [
            (f"{event_type}: {_short(identifier)}", "watch", body(event_type, identifier))
            for identifier in identifiers
        ]

    def spans(*members: dict[str, str]) -> list[tuple[str, Endpoint, bytes]]:
        return [(_short(one), "replay", body("int", {}, **one)) for one in members]

    return [
        # the body
        ("no JSON", "notification", b"{"),
        ("too deep", "watch", b"[" * 128),
        ("a number beyond a double", "watch", b"1e400"),
        ("the same in a payload", "watch", b'{"event_type":"int","identifier":{},"payload":1e400}'),
        ("an unknown member", "replay", b'{"event_type":"int","identifier":{},"colour":1}'),
        ("an array", "notification", b"[]"),
        ("no event type", "notification", b"{}"),
        ("an event type of the wrong type", "notification", b'{"event_type":5,"identifier":{}}'),
        ("no identifier", "notification", b'{"event_type":"int"}'),
        ("an identifier of the wrong type", "notification", b'{"event_type":"int","identifier":[]}'),
        ("a start of the wrong type", "watch", b'{"event_type":"int","identifier":{},"from_id":5}'),
        # which members, which fields
        ("an unknown event type", "watch", body("nothing", {})),
        ("an end on a notification", "notification", body("int", {}, to_id="1")),
        ("an end on a watch", "watch", body("int", {}, to_date="1")),
        ("a point on a notification", "notification", body("int", {"point": "1,2"})),
        ("an unknown field", "notification", body("int", {"y": 1})),
        ("a missing field", "notification", body("int", {})),
        *filters("int", {"y": 1}, {"point": "1,2"}, {"point_cloud": []}, {"x": None}, {"x": []}),
        *filters("expver", {}),
        *filters("area", {}, {"polygon": RING, "point": "1,2"}),
        *filters("cloud", {}, {"point": "1,2"}, {"point_cloud": []}),
        # values
        *values("text", None, [], {}, "", "abcde", "1"),
        *values("date", "2025-02-30"),
        *values("time", "123", "12:5", "noon", "24:00", "12:60"),
        *values("enum", "east"),
        *values("int", "", "x", "9" * 20, "-" + "9" * 20, "8"),
        *values("float", "", "x", "inf", "2"),
        *values("expver", ""),
        # shapes
        *values("area", "", "()", "(1", "1)", "((1))", "1", "a,1", "1,b", "91,0", "0,181", "0,0", "0,0,0,1,1,1,1,1"),
        *values("area", "[", None, {}, [[0]], [["0", 0]], [[0, None]]),
        *values("area", {"type": "Line", "coordinates": []}, {"type": "Polygon", "coordinates": []}),
        *values("area", {"type": "Polygon", "coordinates": [[[0, 95]]]}),
        *values("cloud", "x", [], {}, [[0]], [["0", 0]], [[0, 181]], [[0, 0]] * 10_001, [[1.5, 2.5]] * 6_144),
        *filters("area", *({"point": value} for value in NO_POINTS)),
        # constraints
        *filters("int", *({"x": value} for value in NO_CONSTRAINTS)),
        *filters("int", *({"x": {"between": value}} for value in NO_LIMITS)),
        *filters("float", {"x": {"gt": "1"}}, {"x": {"in": 1}}, {"x": {"lt": 2}}),
        *filters("enum", {"x": {"gt": "North"}}, {"x": {"eq": 1}}, {"x": {"in": "North"}}, {"x": {"eq": "East"}}),
        *filters("text", {"x": {"eq": "a"}}),
        *filters("area", {"polygon": {"in": []}}),
        *filters("cloud", {"polygon": {"in": []}}),
        # spans
        *spans({}, {"from_id": ""}, {"from_id": "x"}, {"from_date": ""}, {"from_date": "yesterday"}),
        *spans({"from_date": "-1"}, {"from_date": "9" * 20}, {"from_date": "9" * 18}),
        *spans({"from_id": "1", "from_date": "1"}, START | {"to_id": "4"}, START | {"to_id": "6", "to_date": "1"}),
        *spans({"from_date": "2026-01-02T00:00:00Z", "to_date": "2026-01-01T00:00:00.5Z"}),
        # payloads
        ("payload: absent", "notification", body("payload", {})),
        ("payload: too large", "notification", body("payload", {}, payload="x" * 20)),
        ("payload: against its schema", "notification", body("payload", {}, payload={})),
        # without a schema
        ("undeclared: no base", "notification", body("a.b", {})),
        ("undeclared: an empty value", "notification", body("u", {"a": ""})),
        ("undeclared: a constraint", "watch", body("u", {"a": {"eq": 1}})),
    ]  # fmt: skip


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) < 60 else f"{text[:57]}..."


def test_refusals_read_well(golden: Golden) -> None:
    """Title, code, class and field, message, and details where they are another text."""
    shown, classes = [], set()
    for title, endpoint, data in _bodies():
        catalog = NOTHING_DECLARED if title.startswith("undeclared") else EVENT_TYPES
        refusal = ask(catalog, endpoint, data)
        assert isinstance(refusal, errors.Refusal), title
        classes.add(type(refusal))
        lines = [
            f"{endpoint}, {title}",
            f"  {code_on_the_wire(refusal, endpoint)}, {type(refusal).__name__}, field {refusal.field or '-'}",
            f"  {refusal.message}",
        ]
        if refusal.details != refusal.message:
            lines.append(f"  {refusal.details}")
        shown.append("\n".join(lines))
    golden("refusals.txt", "\n\n".join(shown) + "\n")
    assert classes == _refusals() - {errors.Refusal}, "a class of refusal is missing here"


def _refusals() -> set[type[errors.Refusal]]:
    members = vars(errors).values()
    return {one for one in members if inspect.isclass(one) and issubclass(one, errors.Refusal)}
