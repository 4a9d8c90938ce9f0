"""Schemas as JSON: what is equal has equal bytes, whichever way it was written down, so that it has one hash."""

from __future__ import annotations

import msgspec

from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.point_cloud import MOST_POINTS, PointCloudField
from aviso_core.schema.model import (
    LARGEST_PAYLOAD,
    PayloadRules,
    Schema,
    Storage,
    Topic,
    decode_schema,
    encode_schema,
)

SHORT = Schema(
    event_type="alert",
    topic=Topic(base="alert", key_order=("date",)),
    fields=(DateField(name="date"), PointCloudField(name="point_cloud")),
    payload=PayloadRules(),
    storage=Storage(),
)


def said_again(text: str) -> str:
    """Return an equal text that is another object."""
    return "".join(list(text))


def test_a_default_that_is_said_is_the_default() -> None:
    """Numbers and texts that come from somewhere else are other objects than those of the structs."""
    long = Schema(
        event_type="alert",
        topic=Topic(base="alert", key_order=("date",)),
        fields=(
            DateField(name="date", canonical_format=said_again("%Y%m%d")),  # type: ignore[arg-type]
            PointCloudField(name="point_cloud", max_points=int(str(MOST_POINTS))),
        ),
        payload=PayloadRules(required=False, max_bytes=int(str(LARGEST_PAYLOAD))),
        storage=Storage(shrink=said_again("Reject")),  # type: ignore[arg-type]
        edges=said_again("planar"),  # type: ignore[arg-type]
        compatibility=said_again("None"),  # type: ignore[arg-type]
    )
    assert long == SHORT
    assert encode_schema(long) == encode_schema(SHORT)


def test_what_an_older_writer_said_at_length_is_the_same() -> None:
    said = msgspec.json.decode(encode_schema(SHORT))
    said["payload"] = {"required": False, "max_bytes": LARGEST_PAYLOAD}
    said["edges"] = "planar"
    read = decode_schema(msgspec.json.encode(said))
    assert read == SHORT
    assert encode_schema(read) == encode_schema(SHORT)


def test_what_is_no_default_is_said() -> None:
    other = msgspec.structs.replace(SHORT, payload=PayloadRules(max_bytes=1000), edges="wrapped")
    assert decode_schema(encode_schema(other)) == other
    assert encode_schema(other) != encode_schema(SHORT)
