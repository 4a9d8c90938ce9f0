"""A CloudEvent as one JSON object (structured mode, and each element of a batch)."""

from __future__ import annotations

import base64
import binascii
from typing import Final

import msgspec

from aviso_core import json_text
from aviso_core.errors import InvalidJson, InvalidRequestShape
from aviso_ingest.batch.record import Incoming, Notation, check_size
from aviso_ingest.cloudevents.attributes import part_at_fault, read_attributes, refused

_decode_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def read_structured(data: bytes) -> Incoming:
    """Return the notification of an event, or refuse it."""
    check_size(data)
    try:
        json_text.check_nesting(data)
        members = _decode_members(data)
    except (msgspec.ValidationError, json_text.NotJson) as error:
        return _refuse_other_values(data, error)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidJson(f"JSON parsing failed: {error}") from error
    if not json_text.is_strict(data):
        raise InvalidJson("JSON parsing failed: it holds a number or a character that JSON cannot")
    payload = _data_of(members)
    return read_attributes({name: _value(name, raw) for name, raw in members.items()}, payload)


def _refuse_other_values(data: bytes, error: Exception) -> Incoming:
    try:
        json_text.decode(data)
    except json_text.NotJson as reason:
        raise InvalidJson(f"JSON parsing failed: {reason}") from error
    raise InvalidRequestShape("Request deserialization failed: a CloudEvent is an object") from error


def _data_of(members: dict[str, msgspec.Raw]) -> bytes:
    """Take the data out of the members, in whichever of its two forms it is."""
    plain, encoded = members.pop("data", None), members.pop("data_base64", None)
    if encoded is None:
        if plain is None:
            raise refused("data", "is missing")
        return bytes(plain)
    if plain is not None:
        raise refused("data_base64", "cannot stand beside 'data'")
    text = _value("data_base64", encoded)
    if not isinstance(text, str):
        raise refused("data_base64", "must be a string")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise refused("data_base64", f"is not Base64: {error}") from error


def _value(name: str, raw: msgspec.Raw) -> object:
    """Return an attribute; the rules for numbers are no matter here, because none is used."""
    try:
        return json_text.decode(bytes(raw))
    except json_text.NotJson as error:
        raise refused(name, f"is not JSON: {error}") from error


EVENT: Final = Notation(read_structured, part_at_fault)
