"""The body of a request to explain: a filter, and what it is to be held against.

That is an event of the log, by its sequence, or one that the body describes as a notification would; and it may be the
events of the last while, which are counted. One of them has to be there, and of the first two at most one.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from aviso_core import json_text
from aviso_core.errors import InvalidJson, InvalidRequest, InvalidRequestShape, UnknownField
from aviso_core.units import UnitError, parse_duration


class Described(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event as a notification would describe it. The payload selects nothing, and may be left as it is."""

    # Any JSON value: the fields of the event type judge each one.
    identifier: dict[str, Any]
    payload: object = None


class ExplainBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The members of a body, as sent."""

    event_type: str
    # The filter, as watch and replay take it.
    identifier: dict[str, Any]
    sequence: int | None = None
    event: Described | None = None
    dry_run: str | None = None

    @property
    def dry_run_seconds(self) -> int | None:
        """Of how long a while the events are to be counted."""
        return None if self.dry_run is None else parse_duration(self.dry_run)


MEMBERS: Final = tuple(field.name for field in msgspec.structs.fields(ExplainBody))
_LARGEST_SEQUENCE: Final = 2**64 - 1


def read_explain_body(data: bytes) -> ExplainBody:
    """Return the members of a body, or refuse it."""
    try:
        value = json_text.decode(data)
    except json_text.NotJson as error:
        raise InvalidJson(f"JSON parsing failed: {error}") from error
    if isinstance(value, dict):
        _check_members(value)
    try:
        body = msgspec.convert(value, ExplainBody)
    except msgspec.ValidationError as error:
        raise InvalidRequestShape(f"Request deserialization failed: {error}") from error
    _check_together(body)
    return body


def _check_members(value: dict[str, object]) -> None:
    unknown = min((name for name in value if name not in MEMBERS), default=None)
    if unknown is not None:
        allowed = ", ".join(f'"{member}"' for member in MEMBERS)
        raise UnknownField(
            f"Request contains unknown fields: Unknown field '{unknown}' in request. "
            f"Allowed fields: [{allowed}]",
            field=unknown,
        )


def _check_together(body: ExplainBody) -> None:
    if body.sequence is not None and body.event is not None:
        raise InvalidRequest("Explain one event: give sequence or event, not both", field="event")
    if body.sequence is None and body.event is None and body.dry_run is None:
        raise InvalidRequest("There is nothing to explain: give sequence, event or dry_run", field="sequence")
    if body.sequence is not None and not 0 < body.sequence <= _LARGEST_SEQUENCE:
        raise InvalidRequest("sequence must be a positive integer of 64 bits", field="sequence")
    try:
        seconds = body.dry_run_seconds
    except UnitError as error:
        raise InvalidRequest(f"dry_run: {error}", field="dry_run") from error
    if seconds == 0:
        raise InvalidRequest("dry_run must be longer than nothing", field="dry_run")
