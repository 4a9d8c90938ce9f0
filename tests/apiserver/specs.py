"""Specs for the tests of this folder: one that has a bit of everything, and changed copies of it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final, TypeAlias

NAME: Final = "weather-alert"
SPEC: Final[dict[str, Any]] = {
    "eventType": "weather_alert",
    "topic": {"base": "alert", "keyOrder": ["region", "severity"]},
    "identifiers": [
        {"name": "region", "type": "Enum", "enum": {"values": ["north", "south"]}},
        {"name": "severity", "type": "Int", "int": {"min": 1, "max": 5}},
        {"name": "wind", "type": "Float", "float": {"min": "0", "max": "150.5"}, "default": "0"},
        {"name": "note", "type": "String", "string": {"maxLength": 8}, "default": "none"},
        {"name": "polygon", "type": "Polygon"},
    ],
    "auth": {"read": [{"realm": "main", "roles": ["reader"]}]},
    "storage": {"retention": "3d", "duplicateWindow": "5m", "maxMessages": 100, "maxBytes": "10Gi"},
}

# Dotted path below `spec` → value; entries of a list by number, and `+` is a new one.
Change: TypeAlias = dict[str, Any]
GONE: Final = object()


def changed(change: Change, spec: dict[str, Any] = SPEC) -> dict[str, Any]:
    """Return a copy of a spec in which each of the paths has its value, or is gone."""
    copy = deepcopy(spec)
    for path, given in change.items():
        value = given if given is GONE else deepcopy(given)
        *parents, last = path.split(".")
        target: Any = copy
        for step in parents:
            target = target[int(step)] if isinstance(target, list) else target.setdefault(step, {})
        if last == "+":
            target.append(value)
        elif value is GONE:
            del target[int(last) if isinstance(target, list) else last]
        else:
            target[int(last) if isinstance(target, list) else last] = value
    return copy
