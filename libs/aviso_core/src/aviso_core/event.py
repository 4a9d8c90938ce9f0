"""What is announced: the event as the log holds it, and positions in the log.

A producer posts a *notification*; once the log has it, with a sequence and a time, it is an *event*. Everything
downstream (matching, envelopes, live sets) works on this type and on nothing that came over the wire.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from aviso_core.geometry.shapes import Geometry


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the log of one event type.

    The epoch changes when the stream behind it is created anew, so sequences of different epochs never compare.
    """

    epoch: str
    sequence: int


class Now(msgspec.Struct, frozen=True, tag="now"):
    """Begin with what comes next."""


class FromSequence(msgspec.Struct, frozen=True, tag="from_sequence"):
    """Begin with this sequence, inclusive. 0 and 1 both mean everything."""

    sequence: int


class FromInstant(msgspec.Struct, frozen=True, tag="from_instant"):
    """Begin with the first event stored at or after this instant."""

    instant: int


class ToSequence(msgspec.Struct, frozen=True, tag="to_sequence"):
    """End with this sequence, inclusive. 0 is before everything."""

    sequence: int


class ToInstant(msgspec.Struct, frozen=True, tag="to_instant"):
    """End with the last event stored at or before this instant."""

    instant: int


StartAt: TypeAlias = Now | FromSequence | FromInstant
EndAt: TypeAlias = ToSequence | ToInstant


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One record of the log.

    `identifier` holds canonical texts by field name, fields outside the key order included; the geometry stands
    beside it. `payload` is compact JSON, exactly as stored. A retraction has the operation `delete`.
    """

    event_type: str
    sequence: int
    instant: int
    subject: str
    identifier: dict[str, str]
    geometry: Geometry | None = None
    payload: bytes = b"null"
    operation: Literal["", "delete"] = ""
    actor: str = ""
    traceparent: str = ""
    producer_instant: int | None = None
    # Why the event cannot be rendered, where its stored form does not allow it.
    unreadable: str = ""
