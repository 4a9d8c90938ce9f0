"""What is said about one catalog, encoded: each document is made when it is first asked for, and then kept.

A catalog never changes, so neither does anything here; a change of schemas brings another catalog, and with it an empty
shelf. There are as many documents at most as event types times names of documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from aviso_http.answers import encode, encode_sorted
from aviso_schema.conditional import tag_of
from aviso_schema.describe import bodies
from aviso_schema.describe.answers import all_answer, one_answer
from aviso_schema.describe.asyncapi import asyncapi
from aviso_schema.describe.examples import examples
from aviso_schema.describe.payload import own_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aviso_core.schema.catalog import Catalog
    from aviso_core.schema.event_type import EventType
    from aviso_schema.parts import Parts


_DESCRIPTIONS: Final[Mapping[str, Callable[[EventType], object]]] = {
    "notification.schema.json": lambda event_type: bodies.with_dialect(
        bodies.notification(event_type.schema)
    ),
    "filter.schema.json": lambda event_type: bodies.with_dialect(bodies.filter_body(event_type.schema)),
    "event.schema.json": lambda event_type: bodies.with_dialect(bodies.event(event_type.schema)),
    "payload.schema.json": lambda event_type: own_schema(event_type.schema.payload),
    "examples.json": examples,
}


class Document(msgspec.Struct, frozen=True):
    """An answer's body and its tag."""

    body: bytes
    tag: str


class Shelf:
    """The documents of one catalog."""

    def __init__(self, catalog: Catalog, parts: Parts) -> None:
        self.catalog = catalog
        self._parts = parts
        self._kept: dict[tuple[str | None, str], Document] = {}

    def all_answer(self) -> Document:
        """Return the contract's answer about all event types."""
        return self._document(None, "", lambda: encode_sorted(all_answer(self.catalog)))

    def all_asyncapi(self) -> Document:
        """Return the AsyncAPI document of all event types."""
        return self._document(
            None, "asyncapi.json", lambda: self._asyncapi(*self.catalog.event_types.values())
        )

    def one_answer(self, event_type: EventType) -> Document:
        """Return the contract's answer about one event type."""
        return self._document(event_type.name, "", lambda: encode_sorted(one_answer(event_type.schema)))

    def about(self, event_type: EventType, name: str) -> Document | None:
        """Return the document of that name about an event type, or None where there is no such name."""
        if name == "asyncapi.json":
            return self._document(event_type.name, name, lambda: self._asyncapi(event_type))
        describe = _DESCRIPTIONS.get(name)
        if describe is None:
            return None
        return self._document(event_type.name, name, lambda: encode(describe(event_type)))

    def _asyncapi(self, *event_types: EventType) -> bytes:
        made = asyncapi(
            event_types,
            title="Aviso Notification Service",
            version=self._parts.version,
            base_url=self._parts.application.base_url,
        )
        return encode(made)

    def _document(self, event_type: str | None, name: str, make: Callable[[], bytes]) -> Document:
        kept = self._kept.get((event_type, name))
        if kept is None:
            body = make()
            kept = self._kept[event_type, name] = Document(body, tag_of(body))
        return kept


class Library:
    """The shelf of the catalog in force."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._shelf = Shelf(parts.catalog(), parts)

    def shelf(self) -> Shelf:
        """Return the documents of what is in force now."""
        catalog = self._parts.catalog()
        if catalog is not self._shelf.catalog:
            self._shelf = Shelf(catalog, self._parts)
        return self._shelf
