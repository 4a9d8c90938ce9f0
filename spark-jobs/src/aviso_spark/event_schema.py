"""What the schema service says about one event type, as the rules that can be checked before anything is sent.

Two documents are read: the contract's answer, which names each field's type, its values and its range, and the JSON
Schema of a notification, which says what is required and how texts are spelt. Every rule here is one that the service
has as well, so nothing is refused here that it would have taken. It knows more rules than these, and has the last word.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

_GEOMETRIES: Final = ("PolygonHandler",)
_NUMBERS: Final = ("IntHandler", "FloatHandler")
# Named groups, conditions and flags as Python spells them: in Java, which Spark is, they are mistakes.
_PYTHONS_OWN: Final = re.compile(r"\(\?(?:P|\(|[aLu])")


class FieldRules(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one field of the identifier."""

    name: str
    is_required: bool = False
    is_geometry: bool = False
    # In lower case: the service takes them in any.
    values: tuple[str, ...] = ()
    pattern: str | None = None
    shortest: int | None = None
    longest: int | None = None
    lowest: float | None = None
    highest: float | None = None


class EventSchema(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one event type."""

    event_type: str
    fields: tuple[FieldRules, ...] = ()
    is_payload_required: bool = False
    payload_keys: tuple[str, ...] = ()

    @property
    def geometry_field(self) -> str | None:
        """The field that takes a footprint."""
        return next((field.name for field in self.fields if field.is_geometry), None)

    @property
    def texts(self) -> tuple[FieldRules, ...]:
        """The fields that take a text."""
        return tuple(field for field in self.fields if not field.is_geometry)


def event_schema(event_type: str, *, answer: Any, notification: Any) -> EventSchema:
    """Return what both documents say, decoded from their JSON."""
    handlers = answer["schema"]["identifier"]
    described = notification["properties"]["identifier"]
    required = described.get("required", [])
    return EventSchema(
        event_type=event_type,
        fields=tuple(
            _field(name, handlers.get(name, {}), shape, is_required=name in required)
            for name, shape in described["properties"].items()
        ),
        is_payload_required="payload" in notification["required"],
        payload_keys=_payload_keys(notification["properties"].get("payload", {})),
    )


def _field(name: str, handler: Any, shape: Any, *, is_required: bool) -> FieldRules:
    kind = handler.get("type")
    if kind in _GEOMETRIES:
        return FieldRules(name=name, is_required=is_required, is_geometry=True)
    texts = [option for option in shape.get("anyOf", [shape]) if option.get("type") == "string"]
    # Several spellings that are texts would each have rules of their own: then none is checked here.
    text = texts[0] if len(texts) == 1 else {}
    lowest, highest = handler.get("range") or (None, None) if kind in _NUMBERS else (None, None)
    return FieldRules(
        name=name,
        is_required=is_required,
        values=tuple(str(value).lower() for value in handler.get("values", ())),
        pattern=_pattern_for_java(text.get("pattern")),
        shortest=text.get("minLength"),
        longest=text.get("maxLength"),
        lowest=lowest,
        highest=highest,
    )


def _pattern_for_java(pattern: str | None) -> str | None:
    """Return a pattern that Spark can look for; one in words that only Python has is left to the service."""
    return None if pattern is None or _PYTHONS_OWN.search(pattern) else pattern


def _payload_keys(shape: Any) -> tuple[str, ...]:
    """Return the members that a payload must have, where it must be an object."""
    if not isinstance(shape, dict):
        return ()
    parts = [shape, *shape.get("allOf", ())]
    objects = [part for part in parts if isinstance(part, dict) and part.get("type") == "object"]
    return tuple(key for part in objects for key in part.get("required", ()))
