"""An event while it is being matched: what several filters ask of it is worked out once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.fields import AnyField, SpatialField
from aviso_core.geometry import plane
from aviso_core.matching.ranges import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_core.event import Event
    from aviso_core.fields.base import Comparable
    from aviso_core.geometry.plane import Edges, Figure
    from aviso_core.geometry.shapes import Geometry
    from aviso_core.schema.model import Schema

_UNKNOWN = object()


class Candidate:
    """One event beside the schema that says how its texts compare."""

    __slots__ = (
        "_comparables",
        "_edges",
        "_fields",
        "_figure",
        "_keys",
        "_seamless",
        "geometry",
        "identifier",
    )

    def __init__(self, event: Event, fields: Mapping[str, AnyField], edges: Edges) -> None:
        self.identifier = event.identifier
        self.geometry: Geometry | None = event.geometry
        self._fields = fields
        self._edges: Edges = edges
        self._comparables: dict[str, Comparable | None] = {}
        self._keys: dict[str, int | None] = {}
        self._figure: Figure | None = None
        self._seamless: Figure | None = None

    def comparable(self, name: str) -> Comparable | None:
        """Return what constraints compare for a field, or None where nothing satisfies one."""
        known = self._comparables.get(name, _UNKNOWN)
        if known is not _UNKNOWN:
            return known  # type: ignore[return-value]  # the marker was just ruled out
        value = self._comparables[name] = self._read_comparable(name)
        return value

    def _read_comparable(self, name: str) -> Comparable | None:
        text = self.identifier.get(name)
        field = self._fields.get(name)
        if not text or text == "*" or field is None or isinstance(field, SpatialField):
            return None
        return field.comparable(text)

    def key(self, name: str) -> int | None:
        """Return the key by which ranges of a number field are looked up, or None where none holds the value."""
        if name in self._keys:
            return self._keys[name]
        value = self.comparable(name)
        assert not isinstance(value, str), "only numbers have ranges"
        key = self._keys[name] = None if value is None else key_of(value)
        return key

    def figure(self) -> Figure | None:
        """Return the figure of the event's geometry, or None where it has none."""
        if self._figure is None and self.geometry is not None:
            self._figure = plane.figure(self.geometry, self._edges)
        return self._figure

    def seamless_figure(self) -> Figure | None:
        """Return the figure without seams, for asking what lies strictly inside."""
        if self._seamless is None and self.geometry is not None:
            self._seamless = plane.seamless(self.geometry, self._edges)
        return self._seamless


class CandidateMaker:
    """Makes candidates of one event type's events."""

    def __init__(self, schema: Schema | None) -> None:
        self._fields = {field.name: field for field in schema.fields} if schema else {}
        self._edges: Edges = schema.edges if schema else "planar"

    def of(self, event: Event) -> Candidate:
        """Return an event ready to be matched."""
        return Candidate(event, self._fields, self._edges)
