"""The id by which the service knows a record again: made of what the record says, and of the scope in which it says it.

Whatever depends on how the work was cut (partition, row number, attempt, task, clock) is no part of it: after a restart
with another number of cores the same row is in another place, and an id made of places loses records in silence.

The parts are hashed as the bytes that are posted, each with its length before it: the scope, the event type, the
identifier as JSON with its names sorted, and the payload. The hash is SHA-256, of which 128 bits are kept, because
Spark SQL has it too: whoever makes the line (`encode.py`, `sql_encoding.py`), a record has one id.
`tests/unit/spark/vectors.json` holds the examples that both must agree with.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ID_LENGTH: Final = 32
"""The hexadecimal digits of an id."""

_encode: Final = msgspec.json.Encoder().encode
_ESCAPE: Final = re.compile(rb"\\(u00[01][0-9a-f]|.)")


def record_id(scope: str, event_type: str, identifier: Mapping[str, str], payload: bytes) -> str:
    """Return the id of a record. The payload is its JSON as it is sent, empty where there is none.

    Two records of one scope that say the same have one id, and become one notification. JSON that is spelt differently
    is another payload: a sender that wants otherwise gives records ids of its own.
    """
    return id_maker(scope, event_type)(canonical_json(dict(sorted(identifier.items()))), payload)


def id_maker(scope: str, event_type: str) -> Callable[[bytes, bytes], str]:
    """Return what makes ids of one scope and event type, from identifiers as they are written and payloads."""
    begun = hashlib.sha256()
    for part in (scope.encode(), event_type.encode()):
        begun.update(b"%d:%b" % (len(part), part))

    def make(identifier: bytes, payload: bytes) -> str:
        digest = begun.copy()
        digest.update(b"%d:%b%d:%b" % (len(identifier), identifier, len(payload), payload))
        return digest.hexdigest()[:ID_LENGTH]

    return make


def canonical_json(value: object) -> bytes:
    """Return JSON as Spark spells it: compact, only what must be is escaped, control characters with capital digits."""
    data = _encode(value)
    return _ESCAPE.sub(_capital, data) if b"\\u00" in data else data


def _capital(match: re.Match[bytes]) -> bytes:
    return match[0] if match[1][:1] != b"u" else b"\\u" + match[1][1:].upper()
