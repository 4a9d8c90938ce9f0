"""What `Backward` means: which changes of a schema break those who are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.schema.compatibility import incompatibilities
from aviso_core.schema.model import PayloadRules, Schema, Topic

if TYPE_CHECKING:
    from aviso_core.fields import AnyField

OLD = Schema(
    event_type="runs",
    topic=Topic(base="runs", key_order=("class",)),
    fields=(
        TextField(name="class", required=True),
        ChoiceField(name="kind", values=("a", "b"), default="a"),
        IntegerField(name="step", minimum=0, maximum=240),
    ),
    payload=PayloadRules(max_bytes=1000),
)

WHOLE = [
    ({}, []),
    ({"description": "Better words"}, []),
    ({"max_historical_notifications": 5}, []),
    ({"event_type": "walks"}, ["event_type"]),
    ({"topic": Topic(base="walks", key_order=("class",))}, ["topic.base"]),
    ({"topic": Topic(base="RUNS", key_order=("class",))}, []),
    ({"topic": Topic(base="runs", key_order=("class", "kind"))}, ["topic.key_order"]),
    ({"edges": "wrapped"}, ["geometry.edges"]),
    ({"fields": OLD.fields[:2]}, ["identifier.step"]),
    ({"fields": (*OLD.fields[:2], TextField(name="step"))}, ["identifier.step"]),
    ({"fields": (*OLD.fields, TextField(name="new", default="x"))}, []),
    ({"fields": (*OLD.fields, TextField(name="new"))}, ["identifier.new"]),
    ({"fields": (*OLD.fields, TextField(name="new", required=True))}, ["identifier.new", "identifier.new"]),
    ({"fields": (*reversed(OLD.fields),)}, []),
    ({"payload": None}, []),
    ({"payload": PayloadRules(required=True, max_bytes=1000)}, ["payload.required"]),
    ({"payload": PayloadRules(max_bytes=999)}, ["payload.max_bytes"]),
    ({"payload": PayloadRules(max_bytes=1000, json_schema={})}, ["payload.json_schema"]),
]


@pytest.mark.parametrize(("changes", "paths"), WHOLE)
def test_a_change_is_found_where_it_breaks_something(changes: dict[str, Any], paths: list[str]) -> None:
    faults = incompatibilities(OLD, replace(OLD, **changes))
    assert [fault.path for fault in faults] == paths
    assert all(fault.message and fault.remedy for fault in faults)


# old field, new field, what the message says (None where nobody is worse off)
FIELDS: list[tuple[AnyField, AnyField, str | None]] = [
    (TextField(name="f"), TextField(name="f", required=True), "became required"),
    (TextField(name="f", required=True), TextField(name="f"), None),
    (TextField(name="f", default="x"), TextField(name="f"), "lost its default"),
    (TextField(name="f", default="x"), TextField(name="f", default="y"), "had the default 'x', has 'y'"),
    (TextField(name="f"), TextField(name="f", default="x"), None),
    (TextField(name="f"), TextField(name="f", max_length=5), "maxLength 5 is lower than none"),
    (TextField(name="f", max_length=6), TextField(name="f", max_length=5), "maxLength 5 is lower than 6"),
    (TextField(name="f", max_length=5), TextField(name="f", max_length=6), None),
    (TextField(name="f", max_length=5), TextField(name="f"), None),
    (TextField(name="f"), TextField(name="f", pattern="a"), "pattern 'a' may refuse"),
    (TextField(name="f", pattern="a"), TextField(name="f"), None),
    (ChoiceField(name="f", values=("a", "B")), ChoiceField(name="f", values=("b", "A", "c")), None),
    (ChoiceField(name="f", values=("a", "b")), ChoiceField(name="f", values=("a",)), "value 'b' was removed"),
    (IntegerField(name="f"), IntegerField(name="f", minimum=0), "min 0 is higher than none"),
    (IntegerField(name="f", maximum=9), IntegerField(name="f", maximum=8), "max 8 is lower than 9"),
    (IntegerField(name="f", minimum=0, maximum=9), IntegerField(name="f", minimum=-1, maximum=10), None),
    (RealField(name="f", minimum=0.0), RealField(name="f", minimum=0.5), "min 0.5 is higher than 0"),
    (RealField(name="f"), RealField(name="f", maximum=1.0), "max 1 is lower than none"),
    (DateField(name="f"), DateField(name="f", canonical_format="%Y-%m-%d"), "of stored topics"),
    (ExpverField(name="f", empty_default="1"), ExpverField(name="f"), "an empty text meant '1'"),
    (ExpverField(name="f"), ExpverField(name="f", empty_default="1"), None),
    (
        PointCloudField(name="point_cloud", max_points=9),
        PointCloudField(name="point_cloud", max_points=8),
        "maxPoints 8 is lower than 9",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), FIELDS)
def test_a_field_may_become_wider_and_not_narrower(old: AnyField, new: AnyField, message: str | None) -> None:
    faults = incompatibilities(replace(OLD, fields=(old,)), replace(OLD, fields=(new,)))
    assert [message in fault.message for fault in faults if message] == ([True] if message else [])
    assert bool(faults) is (message is not None)
