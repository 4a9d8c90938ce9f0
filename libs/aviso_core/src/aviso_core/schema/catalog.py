"""All event types that a process knows at one moment: an immutable value that is swapped by reference.

Whoever serves a request takes the catalog once and works with it to the end; a change of schemas makes a new catalog
and never changes one that somebody holds.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from aviso_core.errors import SchemaError, UnknownEventType
from aviso_core.schema.check import check_schema, check_together
from aviso_core.schema.event_type import EventType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aviso_core.schema.model import Schema


class Catalog:
    """The event types of a process. `strict` refuses undeclared ones; otherwise they are handled without a schema."""

    def __init__(self, event_types: Iterable[EventType], *, strict: bool, is_configured: bool = True) -> None:
        by_name = {event_type.name: event_type for event_type in event_types}
        self.event_types: Mapping[str, EventType] = MappingProxyType(dict(sorted(by_name.items())))
        self.strict = strict
        self.is_configured = is_configured
        self._by_base = {event_type.base.lower(): event_type for event_type in by_name.values()}

    def get(self, name: str) -> EventType | None:
        """Return a declared event type; None stands for one that is handled without a schema.

        No undeclared one gets at the events of a declared one, past its rules, by the name of its base.
        """
        event_type = self.event_types.get(name)
        if event_type is None and (self.strict or self.by_base(name) is not None):
            raise UnknownEventType(name, self.event_types)
        return event_type

    def by_base(self, base: str) -> EventType | None:
        """Return the event type whose topic base this is, upper and lower case being the same."""
        return self._by_base.get(base.lower())

    def resolve(self, name: str) -> EventType | None:
        """Return what an administrator means: an event type, in any case if need be, or a base."""
        if name in self.event_types:
            return self.event_types[name]
        lower = name.lower()
        by_name = next((found for found in self.event_types.values() if found.name.lower() == lower), None)
        return by_name or self.by_base(name)


def build_catalog(schemas: Iterable[Schema] | None, *, strict: bool | None = None) -> Catalog:
    """Return the catalog of checked schemas, or raise all their faults.

    None means that no schema is configured at all. Unless `strict` says otherwise, undeclared event types are refused
    as soon as one is declared.
    """
    declared = tuple(schemas or ())
    faults = [fault for schema in declared for fault in check_schema(schema)] + check_together(declared)
    if faults:
        raise SchemaError(faults)
    return Catalog(
        map(EventType, declared),
        strict=bool(declared) if strict is None else strict,
        is_configured=schemas is not None,
    )
