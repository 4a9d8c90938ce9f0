"""The body of a request: bytes → its members, or the refusal that contract section 2.3 asks for.

All three endpoints share one body. The fast path decodes straight into the struct and looks at nothing twice; only a
body that it refuses is read again, slowly, to find out which of the contract's three refusals it deserves.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from aviso_core import json_text
from aviso_core.errors import InvalidJson, InvalidRequest, InvalidRequestShape, UnknownField

MEMBERS: Final = ("event_type", "identifier", "from_id", "from_date", "to_id", "to_date", "payload")

_NO_PAYLOAD: Final = b"null"


class RequestBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The members of a body, as sent. Values of `identifier` are any JSON; fields judge them later."""

    event_type: str
    # Any JSON value: the fields of the event type judge each one.
    identifier: dict[str, Any]
    payload: msgspec.Raw = msgspec.Raw(_NO_PAYLOAD)
    from_id: str | None = None
    from_date: str | None = None
    to_id: str | None = None
    to_date: str | None = None

    def compact_payload(self) -> bytes:
        """Return the payload as JSON text without white space, its numbers and strings spelled as sent."""
        return json_text.compact(bytes(self.payload))


_decode_body: Final = msgspec.json.Decoder(RequestBody).decode


def decode_body(data: bytes) -> RequestBody:
    """Return the members of a request body."""
    try:
        json_text.check_nesting(data)
        if not data.isascii():
            data.decode()
        body = _decode_body(data)
    except (msgspec.DecodeError, UnicodeDecodeError, json_text.NotJson) as error:
        # Everything that is wrong ends here; what comes back is a body that only the slow way can read.
        return _decode_slowly(data, error)
    if json_text.is_strict(skipped(data, body)):
        return body
    raise _invalid_json("it holds a number or a character that JSON cannot")


def skipped(data: bytes, body: RequestBody) -> bytes:
    """Return what was not decoded: the payload, and where its name may be there twice also the one it replaced."""
    is_there_once = data.count(b'"payload"') < 2 and b"\\u" not in data
    return bytes(body.payload) if is_there_once else data


def _decode_slowly(data: bytes, first_error: Exception) -> RequestBody:
    """Return a body with members that the fast path does not take, or refuse it with its proper class."""
    try:
        value = json_text.decode(data)
    except json_text.NotJson as error:
        raise _invalid_json(str(error)) from first_error
    if not isinstance(value, dict):
        raise InvalidRequestShape(f"Request deserialization failed: expected an object, got {_kind(value)}")
    unknown = min((key for key in value if key not in MEMBERS), default=None)
    if unknown is not None:
        raise _unknown_field(unknown)
    _check_shape(value)
    raw = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    return RequestBody(**value | {"payload": raw.get("payload", msgspec.Raw(_NO_PAYLOAD))})


def _invalid_json(reason: str) -> InvalidJson:
    return InvalidJson(f"JSON parsing failed: {reason}")


def _unknown_field(name: str) -> UnknownField:
    allowed = ", ".join(f'"{member}"' for member in MEMBERS)
    return UnknownField(
        f"Request contains unknown fields: Unknown field '{name}' in request. Allowed fields: [{allowed}]",
        field=name,
    )


def _check_shape(members: dict[str, object]) -> None:
    for name in ("event_type", "identifier"):
        if name not in members:
            raise _wrong_shape(name, f"missing field `{name}`")
    if not _is_string(members["event_type"]):
        raise _wrong_shape("event_type", f"expected a string, got {_kind(members['event_type'])}")
    if not isinstance(members["identifier"], dict):
        raise _wrong_shape("identifier", f"expected an object, got {_kind(members['identifier'])}")
    for name in ("from_id", "from_date", "to_id", "to_date"):
        value = members.get(name)
        if value is not None and not _is_string(value):
            raise _wrong_shape(name, f"expected a string or null, got {_kind(value)}")


def _is_string(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, json_text.LongInteger)


def _wrong_shape(name: str, reason: str) -> InvalidRequestShape:
    text = reason if reason.startswith("missing") else f"`{name}`: {reason}"
    return InvalidRequestShape(f"Request deserialization failed: {text}", field=name)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case json_text.LongInteger() | int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def refuse_stream_members(body: RequestBody, *, endpoint: str) -> None:
    """Refuse the end points of a replay where there is nothing to end: on watch and on notification."""
    if body.to_id is not None or body.to_date is not None:
        raise InvalidRequest(
            f"to_id and to_date are only supported for the replay endpoint, not /{endpoint}",
            field="to_id" if body.to_id is not None else "to_date",
        )


def refuse_point(body: RequestBody) -> None:
    """Refuse the filter `point` on a notification."""
    if "point" in body.identifier:
        raise InvalidRequest(
            "identifier.point is only supported for watch/replay endpoints, not /notification", field="point"
        )
