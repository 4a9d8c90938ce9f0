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
    from collections.abc import Iterable, Mapping, Sequence
    from hashlib import _Hash as Hash

ID_LENGTH: Final = 32
"""The hexadecimal digits of an id."""

# Spark writes decimals as numbers.
_encode: Final = msgspec.json.Encoder(decimal_format="number").encode
_ESCAPE: Final = re.compile(rb"\\(u00[01][0-9a-f]|.)")


def record_id(scope: str, event_type: str, identifier: Mapping[str, str], payload: bytes) -> str:
    """Return the id of a record. The payload is its JSON as it is sent, empty where there is none.

    Two records of one scope that say the same have one id, and become one notification. JSON that is spelt differently
    is another payload: a sender that wants otherwise gives records ids of its own.
    """
    written = canonical_json(dict(sorted(identifier.items())))
    return record_ids(scope, [event_type], [written], [payload])[0]


def record_ids(
    scope: str, event_types: Sequence[str], identifiers: Sequence[bytes], payloads: Sequence[bytes]
) -> list[str]:
    """Return the ids of many records, whose identifiers and payloads are JSON as it is posted."""
    # What the records of a type have in common is hashed once, and copying that is cheaper than a new hash.
    begun = {event_type: _begun(scope, event_type) for event_type in set(event_types)}
    ids = []
    for event_type, identifier, payload in zip(event_types, identifiers, payloads, strict=True):
        digest = begun[event_type].copy()
        digest.update(b"%d:%b%d:%b" % (len(identifier), identifier, len(payload), payload))
        ids.append(digest.hexdigest()[:ID_LENGTH])
    return ids


def _begun(scope: str, event_type: str) -> Hash:
    digest = hashlib.sha256()
    for part in (scope.encode(), event_type.encode()):
        digest.update(b"%d:%b" % (len(part), part))
    return digest


def canonical_json(value: object) -> bytes:
    """Return JSON as Spark spells it: compact, only what must be is escaped, control characters with capital digits."""
    return _spelt(_encode(value))


def canonical_jsons(values: Iterable[object]) -> list[bytes]:
    """Return the JSON of many values."""
    return list(map(_spelt, map(_encode, values)))


def _spelt(data: bytes) -> bytes:
    return _ESCAPE.sub(_capital, data) if b"\\u00" in data else data


def _capital(match: re.Match[bytes]) -> bytes:
    return match[0] if match[1][:1] != b"u" else b"\\u" + match[1][1:].upper()
