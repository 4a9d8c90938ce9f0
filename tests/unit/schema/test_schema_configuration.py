"""`notification_schema` of an existing server's configuration: what it says, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.plain.yaml_mapping import read_mapping
from aviso_core.schema.check import check_schema
from aviso_core.schema.configuration import read_notification_schema
from aviso_core.schema.model import Auth, PayloadRules, Storage, Topic

EXISTING = b"""
runs:
  endpoint: {anything: goes}
  topic: {base: runs, key_order: [class, expver, date, time, step, level, kind]}
  identifier:
    class: {type: StringHandler, max_length: 2, required: true, description: "The class."}
    expver: {type: ExpverHandler, default: "0001", required: false}
    date: {type: DateHandler, canonical_format: "%Y-%m-%d", required: false}
    time: {type: TimeHandler, required: false}
    step: {type: IntHandler, range: [0, 100000], required: false}
    level: {type: FloatHandler, range: [0, 1.5], required: false}
    kind: {type: EnumHandler, values: [no, 7, Yes], required: false}
    polygon: {type: PolygonHandler, required: false}
  payload: {required: true}
  auth: {required: true, read_roles: {main: [reader]}, plugins: [ecpds]}
  storage_policy: {retention_time: 2W, max_messages: 5, max_size: 10Mi, allow_duplicates: true, compression: true}
  max_historical_notifications: 7
buoys:
  topic: {base: buoys, key_order: [net]}
  identifier:
    net: {type: StringHandler, required: true}
    point_cloud: {type: PointCloudHandler, required: true}
free:
  identifier: {}
"""


def _block(text: bytes) -> dict[str, Any]:
    block, fault = read_mapping(text, name="config.yaml")
    assert fault is None
    return block


def test_an_existing_block_becomes_schemas() -> None:
    """Handlers become fields in their order; absent blocks mean public, optional payload, no limits of its own."""
    (runs, buoys, free), faults = read_notification_schema(_block(EXISTING))
    assert faults == []
    assert runs.topic == Topic(
        base="runs", key_order=("class", "expver", "date", "time", "step", "level", "kind")
    )
    assert runs.fields == (
        TextField(name="class", required=True, max_length=2, description="The class."),
        ExpverField(name="expver", empty_default="0001"),
        DateField(name="date", canonical_format="%Y-%m-%d"),
        TimeField(name="time"),
        IntegerField(name="step", minimum=0, maximum=100_000),
        RealField(name="level", minimum=0.0, maximum=1.5),
        ChoiceField(name="kind", values=("no", "7", "Yes")),
        PolygonField(name="polygon"),
    )
    assert runs.payload == PayloadRules(required=True)
    assert runs.auth == Auth(required=True, read_roles={"main": ("reader",)}, plugins=("ecpds",))
    assert runs.storage == Storage(
        retention_seconds=1_209_600, max_messages=5, max_bytes=10 * 1024**2, keep_all=True, compression=True
    )
    assert runs.max_historical_notifications == 7
    assert buoys.fields[1] == PointCloudField(name="point_cloud", required=True, max_points=10_000)
    assert (buoys.payload, buoys.auth, buoys.storage) == (None, None, None)
    assert (free.topic, free.fields) == (None, ())
    assert [check_schema(schema) for schema in (runs, buoys, free)] == [[], [], []]


FIELD = "notification_schema.t.identifier.f"

# What stands in the block of event type `t` → path of the fault, and what its message says.
REFUSALS = [
    ("5", "notification_schema.t", "is not a block"),
    ("{}", "notification_schema.t.identifier", "is required and has no value"),
    ("{identifier: 5}", "notification_schema.t.identifier", "is not a mapping"),
    ("{identifier: {f: {required: true}}}", f"{FIELD}.type", "is required and has no value"),
    ("{identifier: {f: {type: StringHandler}}}", f"{FIELD}.required", "is required and has no value"),
    (
        "{identifier: {f: {type: TextHandler, required: true}}}",
        f"{FIELD}.type",
        "'TextHandler' is no handler",
    ),
    (
        "{identifier: {f: {type: EnumHandler, required: true}}}",
        f"{FIELD}.values",
        "is required and has no value",
    ),
    (
        "{identifier: {f: {type: TimeHandler, required: true, range: [1, 2]}}}",
        f"{FIELD}.range",
        "is not a known",
    ),
    ("{identifier: {f: {type: IntHandler, required: true, range: [1]}}}", f"{FIELD}.range", "has 1 numbers"),
    (
        "{identifier: {f: {type: IntHandler, required: true, range: [a, 2]}}}",
        f"{FIELD}.range[0]",
        "whole number",
    ),
    (
        "{identifier: {f: {type: FloatHandler, required: true, range: [a, 2]}}}",
        f"{FIELD}.range[0]",
        "not a number",
    ),
    (
        "{identifier: {f: {type: DateHandler, required: true, canonical_format: '%d%m%Y'}}}",
        f"{FIELD}.canonical_format",
        "not one of the choices",
    ),
    ("{identifier: {}, topic: {base: t}}", "notification_schema.t.topic.key_order", "is required"),
    ("{identifier: {}, payload: {}}", "notification_schema.t.payload.required", "is required"),
    (
        "{identifier: {}, payload: {required: true, type: [String]}}",
        "notification_schema.t.payload.type",
        "not a known",
    ),
    ("{identifier: {}, auth: {}}", "notification_schema.t.auth.required", "is required"),
    (
        "{identifier: {}, auth: {required: true, roles: {}}}",
        "notification_schema.t.auth.roles",
        "is not a known",
    ),
    (
        "{identifier: {}, storage_policy: {retention_time: 7}}",
        "notification_schema.t.storage_policy.retention_time",
        "'7' is not a duration",
    ),
    (
        "{identifier: {}, storage_policy: {retention_time: 0d}}",
        "notification_schema.t.storage_policy.retention_time",
        "must be greater than zero",
    ),
    (
        "{identifier: {}, storage_policy: {retention_time: 9223372037s}}",
        "notification_schema.t.storage_policy.retention_time",
        "is too long",
    ),
    (
        "{identifier: {}, storage_policy: {max_size: 10k}}",
        "notification_schema.t.storage_policy.max_size",
        "'10k' is not a size",
    ),
    (
        "{identifier: {}, storage_policy: {max_messages: 0}}",
        "notification_schema.t.storage_policy.max_messages",
        "must be greater than zero",
    ),
]


@pytest.mark.parametrize(("block", "path", "message"), REFUSALS)
def test_a_block_is_refused_with_the_path_and_the_reason(block: str, path: str, message: str) -> None:
    schemas, faults = read_notification_schema(_block(f"t: {block}".encode()))
    assert schemas == ()
    assert [(fault.path, message in fault.message) for fault in faults] == [(path, True)]


def test_one_bad_event_type_does_not_hide_the_faults_of_another() -> None:
    block = b"{a: {identifier: {f: {type: X, required: true}}}, b: {identifier: {}}, c: {}}"
    schemas, faults = read_notification_schema(_block(block))
    assert [schema.event_type for schema in schemas] == ["b"]
    assert [fault.path for fault in faults] == [
        "notification_schema.a.identifier.f.type",
        "notification_schema.c.identifier",
    ]
