"""The attributes of a CloudEvent, whatever it came in, and what a notification is made of them.

`type` names the event type, `id` and `source` together are the id that the event is known again by, `time` is the
producer's own, `traceparent` continues its trace, and `data` is what a notification holds. Other attributes and all
other extensions are somebody else's affair. Every refusal says which attribute is at fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core import json_text
from aviso_core.envelope import TYPE_PREFIX
from aviso_core.errors import (
    InvalidGeometry,
    InvalidIdentifier,
    InvalidJson,
    InvalidRequest,
    InvalidRequestShape,
    InvalidTopicBase,
    PayloadRefused,
    Refusal,
    UnknownEventType,
)
from aviso_core.request import RequestBody, decode_body
from aviso_http.telemetry import parse_traceparent
from aviso_ingest.batch.record import Incoming

if TYPE_CHECKING:
    from collections.abc import Mapping

SPEC_VERSION: Final = "1.0"
DATA_MEMBERS: Final = ("identifier", "payload")
# A source is a URI reference, and those have no length of their own.
_LONGEST_SOURCE: Final = 2048

_REQUIRED: Final = ("specversion", "id", "source", "type")
_encode: Final = msgspec.json.Encoder().encode
_decode_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def read_attributes(attributes: Mapping[str, object], data: bytes) -> Incoming:
    """Return the notification of an event. `attributes` are any JSON values, or absent; `data` is JSON text."""
    texts = {name: _required_text(attributes, name) for name in _REQUIRED}
    if texts["specversion"] != SPEC_VERSION:
        raise refused("specversion", f"must be '{SPEC_VERSION}', got '{texts['specversion'][:40]}'")
    if len(texts["source"]) > _LONGEST_SOURCE or not texts["source"].isprintable():
        raise refused("source", f"must be printable and at most {_LONGEST_SOURCE} characters long")
    if attributes.get("operation") is not None:
        # Stored as a notification, what takes an object back would bring it into being.
        raise refused("operation", "is not taken: DELETE /api/v1/notification takes an object back")
    _check_content_type(_optional_text(attributes, "datacontenttype"))
    return Incoming(
        body=read_data(data, event_type=texts["type"].removeprefix(TYPE_PREFIX)),
        identity=texts["id"],
        time=_optional_text(attributes, "time"),
        source=texts["source"],
        traceparent=_traceparent(_optional_text(attributes, "traceparent")),
    )


def refused(attribute: str, reason: str) -> InvalidRequest:
    """Return the refusal of an event for one of its attributes."""
    return InvalidRequest(f"CloudEvent attribute '{attribute}' {reason}", field=attribute)


def part_at_fault(refusal: Refusal) -> str | None:
    """Return the attribute that a refusal is about, and of `data` the part: an identifier has fields of any name."""
    match refusal:
        case UnknownEventType() | InvalidTopicBase():
            return "type"
        case InvalidIdentifier() | InvalidGeometry():
            return f"data.identifier.{refusal.field}" if refusal.field else "data.identifier"
        case PayloadRefused():
            return "data.payload"
        case _:
            return "data.identifier.point" if refusal.field == "point" else refusal.field


def _required_text(attributes: Mapping[str, object], name: str) -> str:
    text = _optional_text(attributes, name)
    if not text:
        raise refused(name, "is missing" if text is None else "cannot be empty")
    return text


def _optional_text(attributes: Mapping[str, object], name: str) -> str | None:
    value = attributes.get(name)
    if value is not None and (not isinstance(value, str) or isinstance(value, json_text.LongInteger)):
        raise refused(name, "must be a string")
    return value


def _check_content_type(content_type: str | None) -> None:
    media = (content_type or "application/json").partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        raise refused("datacontenttype", f"must be application/json, got '{media[:100]}'")


def _traceparent(text: str | None) -> str:
    parent = parse_traceparent(text)
    return "" if parent is None else str(parent)


# --- data ------------------------------------------------------------------------------------------------


def read_data(data: bytes, *, event_type: str) -> RequestBody:
    """Return what `data` says, as the body of a notification of that type: it is held to the same rules."""
    try:
        json_text.check_nesting(data)
        members = _decode_members(data)
    except (msgspec.ValidationError, RecursionError) as error:
        raise refused("data", f"must be an object with {_members()}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, json_text.NotJson) as error:
        raise refused("data", f"is not JSON: {error}") from error
    unknown = min((name for name in members if name not in DATA_MEMBERS), default=None)
    if unknown is not None:
        raise refused("data", f"has an unknown member '{unknown[:100]}'; it holds {_members()}")
    try:
        return decode_body(_encode({"event_type": event_type, **members}))
    except (InvalidJson, InvalidRequestShape) as error:
        raise refused("data", f"cannot be read: {error.message}") from error


def _members() -> str:
    return " and ".join(f"'{name}'" for name in DATA_MEMBERS)
