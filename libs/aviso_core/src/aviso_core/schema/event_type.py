"""An event type at work: what a service keeps ready for each schema.

`EventType` is built once from a checked schema and then asked for every notification, so what can be decided ahead
is decided in its constructor: which fields there are, in which order they stand in the topic, what a payload must be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from aviso_core.errors import InvalidIdentifier
from aviso_core.fields import SpatialField
from aviso_core.fields.base import Operation, scalar_text
from aviso_core.geometry.shapes import Geometry
from aviso_core.schema.payload import PayloadCheck
from aviso_core.topic.codec import encode_subject

if TYPE_CHECKING:
    from aviso_core.schema.model import Schema

_Canonical: TypeAlias = Callable[[str], str]


class Announced(msgspec.Struct, frozen=True, kw_only=True):
    """A notification that was checked: canonical texts by field, the shape beside them, and where it is stored."""

    subject: str
    identifier: dict[str, str]
    geometry: Geometry | None = None


class EventType:
    """One event type, ready for notifications."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.name = schema.event_type
        self.base = schema.base
        self.routed = schema.routed
        self.payload = PayloadCheck(schema.payload)
        self.geometry_field = schema.geometry_field
        self._names = frozenset(field.name for field in schema.fields)
        self._scalars: tuple[tuple[str, _Canonical], ...] = tuple(
            (field.name, field.canonical) for field in schema.fields if not isinstance(field, SpatialField)
        )
        self._defaults = {field.name: field.default for field in schema.fields if field.default is not None}
        self._routed_values = _values_getter(self.routed)

    def announce(self, identifier: dict[str, object]) -> Announced:
        """Check the identifier of a notification and return what is stored of it."""
        values = self._texts(identifier)
        if values is None:
            return self._read_field_by_field(identifier, "notify")
        return Announced(subject=encode_subject(self.base, self._routed_values(values)), identifier=values)

    def retract(self, identifier: dict[str, object]) -> Announced:
        """Check the identifier of a retraction: all that the topic is made of, and as much more as the caller says.

        Defaults hold for notifications alone: what takes something back names it.
        """
        return self._read_field_by_field(identifier, "retract")

    def _texts(self, identifier: dict[str, object]) -> dict[str, str] | None:
        """Return the canonical texts where all fields are texts, there, and good; what else there is takes longer."""
        if self.geometry_field is not None or len(identifier) != len(self._names):
            return None
        try:
            return {
                name: canonical(value if type(value := identifier[name]) is str else scalar_text(name, value))
                for name, canonical in self._scalars
            }
        except (KeyError, InvalidIdentifier):
            # Which of several faults is told has an order, and that is kept elsewhere.
            return None

    def _read_field_by_field(self, identifier: dict[str, object], operation: Operation) -> Announced:
        if not identifier.keys() <= self._names:
            raise unknown_field(min(identifier.keys() - self._names), operation)
        values: dict[str, str] = {}
        geometry: Geometry | None = None
        for field in self.schema.fields:
            if field.name not in identifier:
                if operation == "notify":
                    values[field.name] = self._default(field.name)
                elif field.name in self.routed:
                    raise missing_field(field.name, operation)
            elif isinstance(field, SpatialField):
                geometry = field.read(identifier[field.name])
            else:
                value = identifier[field.name]
                values[field.name] = field.canonical(
                    value if type(value) is str else scalar_text(field.name, value, operation)
                )
        routed = values
        if geometry is not None and self.geometry_field is not None:
            routed = values | {self.geometry_field.name: geometry.canonical()}
        subject = encode_subject(self.base, self._routed_values(routed))
        return Announced(subject=subject, identifier=values, geometry=geometry)

    def _default(self, name: str) -> str:
        default = self._defaults.get(name)
        if default is None:
            raise missing_field(name, "notify")
        return default


def _values_getter(names: Sequence[str]) -> Callable[[dict[str, str]], Sequence[str]]:
    """Return a function that takes these values out of a mapping, as fast as it can."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: [values[name] for name in names]


def missing_field(name: str, operation: Operation) -> InvalidIdentifier:
    """Return the refusal of an identifier without a field that it must have."""
    return InvalidIdentifier(f"Required field '{name}' missing for {operation} operation", field=name)


def unknown_field(name: str, operation: Operation) -> InvalidIdentifier:
    """Return the refusal of an identifier with a field that is not declared."""
    return InvalidIdentifier(f"Unknown field '{name}' provided for {operation} operation", field=name)
