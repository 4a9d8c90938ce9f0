"""The filter of each event type: what the user gave, and of every field of which readers must say something, anything.

The service refuses a replay that says nothing of a field with `required: true`. Of most fields there is a constraint
that every value satisfies, as far as the schema knows them; of the others the user has to say what is wanted.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pyspark_aviso.options import OptionError
from pyspark_aviso.transport import Refused
from pyspark_aviso.wkb import PLACES, RING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark_aviso.positions import AsksService

SCHEMAS: Final = "/api/v1/schema"
_NOT_FOUND: Final = 404
# The text that selects any, where it may be sent.
_ANY: Final = "*"
_LOWEST_INTEGER: Final = -(2**63)
_SHAPES: Final = ("PolygonHandler", "PointCloudHandler")
# What a filter may name instead of a field.
_STAND_INS: Final[Mapping[str, str]] = {RING: "point", PLACES: RING}


class NotSelectable(OptionError):
    """No constraint on a field selects every event, so the user has to give one."""

    def __init__(self, event_type: str, field: str, kind: str) -> None:
        if kind in _SHAPES:
            world = '{"polygon": "-90,-180,-90,180,90,180,90,-180,-90,-180"}'
            why = f"and no area selects what has no shape, as retractions may. Everything with a shape is {world}"
        else:
            why = f"and no constraint on a {kind} selects every value: name the one that is wanted"
        super().__init__(
            f"option 'filter' must say something of field {field!r} of {event_type!r}: readers must, {why}. Or declare "
            "the field with required: false"
        )


class Filters:
    """The filters of event types. Fields are looked up each time, as a schema may get values that are wanted too."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._complete: set[str] = set()

    def of(self, client: AsksService, event_type: str) -> dict[str, Any]:
        """Return the filter of an event type, which the service takes."""
        added = {} if event_type in self._complete else left_out(client, event_type, self._given)
        if not added:
            # Whether readers must say something hardly changes, and the service tells.
            self._complete.add(event_type)
        return {**added, **self._given}


def left_out(client: AsksService, event_type: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return constraints on those fields of which readers must say something, and this filter does not."""
    try:
        answer: Any = client.get_json(f"{SCHEMAS}/{quote(event_type, safe='')}")
    except Refused as refusal:
        if refusal.status != _NOT_FOUND:
            raise
        # What has no schema has no such fields.
        return {}
    return anything(event_type, answer["schema"]["identifier"], given)


def anything(event_type: str, fields: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return these constraints, of fields as the schema service describes them."""
    return {
        name: _constraint(event_type, name, handler)
        for name, handler in fields.items()
        if handler.get("required") and name not in given and _STAND_INS.get(name) not in given
    }


def _constraint(event_type: str, name: str, handler: Mapping[str, Any]) -> Any:
    match handler:
        case {"type": "StringHandler", "pattern": pattern} if not re.search(pattern, _ANY):
            raise NotSelectable(event_type, name, f"StringHandler with the pattern {pattern!r}")
        case {"type": "StringHandler" | "ExpverHandler"}:
            return _ANY
        case {"type": "EnumHandler", "values": values}:
            return {"in": values}
        case {"type": "IntHandler" | "FloatHandler", "range": [low, high]}:
            return {"between": [low, high]}
        case {"type": "IntHandler"}:
            return {"gte": _LOWEST_INTEGER}
        case {"type": "FloatHandler"}:
            return {"gte": -sys.float_info.max}
        case _:
            raise NotSelectable(event_type, name, handler["type"])
