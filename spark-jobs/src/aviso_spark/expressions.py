"""What was given to the mapping, apart from Spark: SQL for each thing that a notification has."""

from __future__ import annotations

import msgspec


class Expressions(msgspec.Struct, frozen=True, kw_only=True):
    """SQL by the field that takes it, and for the record's other members."""

    fields: dict[str, str] = {}
    payload: str | None = None
    id: str | None = None
    time: str | None = None
