"""Whether a new version of a schema keeps the promises of the old one: what `Backward` means.

Backward means that nothing breaks for those who are there: a producer that was accepted is accepted and means the
same, a reader's filter still selects what it selected, and stored events still read. A finding is a fault with the
path of the member; no finding means compatible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from aviso_core.errors import Fault
from aviso_core.schema.model import PayloadRules, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_core.fields import AnyField


def incompatibilities(old: Schema, new: Schema) -> list[Fault]:
    """Return what would break if `new` replaced `old`, in reading order."""
    return [
        *_fixed_members(old, new),
        *_lost_fields(old, new),
        *(fault for field in new.fields for fault in _field_changes(old.field(field.name), field)),
        *_payload_changes(old.payload or PayloadRules(), new.payload or PayloadRules()),
    ]


def _fault(path: str, message: str, remedy: str) -> Fault:
    return Fault(path=path, message=message, remedy=remedy)


def _fixed_members(old: Schema, new: Schema) -> Iterator[Fault]:
    if old.event_type != new.event_type:
        yield _fault(
            "event_type", f"was '{old.event_type}', is '{new.event_type}'", "declare a new event type"
        )
    # Large and small letters are the same: a stream keeps the spelling it was made with.
    if old.base.lower() != new.base.lower():
        yield _fault(
            "topic.base",
            f"was '{old.base}', is '{new.base}': it is the root of stored subjects",
            "keep the base, or declare a new event type",
        )
    if old.routed != new.routed:
        yield _fault(
            "topic.key_order",
            f"was [{', '.join(old.routed)}], is [{', '.join(new.routed)}]: stored subjects follow it",
            "keep the order; declare new identifiers outside it",
        )
    if old.edges != new.edges:
        yield _fault("geometry.edges", f"was {old.edges}, is {new.edges}", "keep the meaning of edges")


def _lost_fields(old: Schema, new: Schema) -> Iterator[Fault]:
    for field in old.fields:
        if new.field(field.name) is None:
            yield _fault(
                f"identifier.{field.name}",
                "was removed: producers that send it would be refused",
                "keep the identifier",
            )


def _field_changes(old: AnyField | None, new: AnyField) -> Iterator[Fault]:
    path = f"identifier.{new.name}"
    if old is None:
        yield from _added_field(new, path)
        return
    if type(old) is not type(new):
        yield _fault(path, f"was of type {old.kind}, is of type {new.kind}", "declare a new identifier")
        return
    if new.required and not old.required:
        yield _fault(path, "became required: readers that leave it out would be refused", "leave it optional")
    if old.default is not None and new.default is None:
        yield _fault(
            path, "lost its default: producers that leave it out would be refused", "keep the default"
        )
    if old.default is not None and new.default not in (old.default, None):
        yield _fault(
            path,
            f"had the default '{old.default}', has '{new.default}': producers that leave it out would mean it",
            "keep the default",
        )
    # Both are of one type here, which the type checker cannot see through the union.
    for narrowing in cast("Any", new).narrowings(old):
        yield _fault(path, narrowing, "accept at least what was accepted before")


def _added_field(new: AnyField, path: str) -> Iterator[Fault]:
    if new.default is None:
        yield _fault(
            path,
            "was added without a default: producers that do not know it would be refused",
            "give it a default",
        )
    if new.required:
        yield _fault(
            path, "was added as required: readers that do not know it would be refused", "leave it optional"
        )


def _payload_changes(old: PayloadRules, new: PayloadRules) -> Iterator[Fault]:
    if new.required and not old.required:
        yield _fault("payload.required", "became required: producers may send none", "leave it optional")
    if new.max_bytes < old.max_bytes:
        yield _fault(
            "payload.max_bytes",
            f"was {old.max_bytes}, is {new.max_bytes}",
            "accept at least what was accepted",
        )
    if new.json_schema is not None and new.json_schema != old.json_schema:
        yield _fault(
            "payload.json_schema",
            "was changed: whether it still accepts every payload that it accepted cannot be told",
            "keep it, or remove it",
        )
