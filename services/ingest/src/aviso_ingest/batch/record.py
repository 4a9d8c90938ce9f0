"""One record of a batch: a notification as it is posted alone, with an id and the producer's own time.

The fast path decodes a record once and looks at what was skipped. Whatever it does not like is taken apart, and what is
left without the two members is read as the body of a single notification: so nothing is refused here with other words
than there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import msgspec

from aviso_core import json_text
from aviso_core.errors import InvalidRequestShape, Refusal, UnknownField
from aviso_core.request import MEMBERS, RequestBody, decode_body, skipped
from aviso_http.body import LARGEST_NOTIFICATION, BodyTooLarge

OWN_MEMBERS: Final = ("id", "time")


class Incoming(NamedTuple):
    """A notification that was read and not yet checked, with what its producer says about it."""

    body: RequestBody
    identity: str | None = None
    time: str | None = None
    source: str = ""
    traceparent: str = ""


# From a record's bytes to what it says, or the refusal that it deserves.
ReadRecord: TypeAlias = Callable[[bytes], Incoming]


class Notation(NamedTuple):
    """One way in which records are written: how one is read, and which of its members a refusal is about."""

    read: ReadRecord
    field_of: Callable[[Refusal], str | None]


class _Record(RequestBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str | None = None
    time: str | None = None


_decode_record: Final = msgspec.json.Decoder(_Record).decode
_decode_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_text: Final = msgspec.json.Decoder(str | None).decode
_encode: Final = msgspec.json.Encoder().encode


def read_record(data: bytes) -> Incoming:
    """Return what a record says, or refuse it."""
    check_size(data)
    try:
        json_text.check_nesting(data)
        if not data.isascii():
            data.decode()
        record = _decode_record(data)
    except (msgspec.DecodeError, UnicodeDecodeError, json_text.NotJson):
        return _read_slowly(data)
    rest = skipped(data, record)
    if not (is_plain(rest) or json_text.is_strict(rest)):
        return _read_slowly(data)
    return Incoming(record, record.id, record.time)


def field_of(refusal: Refusal) -> str | None:
    """Return the member, or the field of the identifier, that a refusal is about."""
    return refusal.field


NOTIFICATION: Final = Notation(read_record, field_of)


def check_size(data: bytes) -> None:
    """Refuse a record that would be too large as a single notification, too."""
    if len(data) > LARGEST_NOTIFICATION:
        raise BodyTooLarge(f"A notification has at most {LARGEST_NOTIFICATION} bytes, this one {len(data)}")


def _read_slowly(data: bytes) -> Incoming:
    try:
        json_text.check_nesting(data)
        # Also what is passed over, or replaced by a later member.
        data.decode()
        members = _decode_members(data)
    except (msgspec.DecodeError, UnicodeDecodeError, json_text.NotJson):
        # No object: a single notification would be refused for it as well.
        return Incoming(decode_body(data))
    # Checks what is taken out as well as what stays.
    if not json_text.is_strict(data):
        return Incoming(decode_body(data))
    own = {name: members.pop(name) for name in OWN_MEMBERS if name in members}
    try:
        body = decode_body(_encode(members))
    except UnknownField as refusal:
        raise _unknown_member(refusal) from refusal
    identity, time = (_text(name, own.get(name)) for name in OWN_MEMBERS)
    return Incoming(body, identity, time)


def _text(name: str, raw: msgspec.Raw | None) -> str | None:
    if raw is None:
        return None
    try:
        text: str | None = _decode_text(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = f"Request deserialization failed: `{name}`: expected a string or null"
        raise InvalidRequestShape(reason, field=name) from error
    return text


def _unknown_member(refusal: UnknownField) -> UnknownField:
    allowed = ", ".join(f'"{member}"' for member in (*MEMBERS, *OWN_MEMBERS))
    name = refusal.field
    return UnknownField(
        f"Request contains unknown fields: Unknown field '{name}' in request. Allowed fields: [{allowed}]",
        field=name,
    )


# --- what decoding skips -------------------------------------------------------------------------------------

# Every digit is a zero, both letters of an exponent are one: then a few plain searches find what might be wrong.
_DIGITS_AND_EXPONENTS: Final = bytes(
    ord("0") if byte in b"0123456789" else ord("e") if byte in b"eE" else byte if byte < 128 else 0
    for byte in range(256)
)
_EVERY_FIFTIETH_A_DIGIT: Final = re.compile(rb"[0-9]{4}")


def is_plain(data: bytes) -> bool:
    """Tell, quickly, whether skipped JSON surely holds nothing that `json_text.is_strict` is there to find.

    That is an escaped half of a surrogate pair, an exponent of three digits, or two hundred digits in a row, which
    would be four at every fiftieth place. A record that is not plain is looked at properly.
    """
    if b"\\" in data and b"\\u" in data:
        return False
    digits = data.translate(_DIGITS_AND_EXPONENTS)
    if b"000" not in digits:
        return True
    has_exponent = b"e000" in digits or b"e+000" in digits
    return not has_exponent and not _EVERY_FIFTIETH_A_DIGIT.search(data[::50])
