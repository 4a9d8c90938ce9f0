"""The bodies of the contract's schema answers (section 1.6), nothing more and nothing less than it shows.

Keys and names are sorted when the answers are encoded, so that equal catalogs give equal bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from aviso_core.fields import AnyField
    from aviso_core.schema.catalog import Catalog
    from aviso_core.schema.model import Schema

Answer: TypeAlias = dict[str, object]

_NOTHING_CONFIGURED = "No notification schema configured"


def all_answer(catalog: Catalog) -> Answer:
    """Return what `GET /api/v1/schema` answers."""
    answer: Answer = {
        "event_types": sorted(catalog.event_types),
        "schema": {name: exposed(event_type.schema) for name, event_type in catalog.event_types.items()},
        "status": "success",
        "total_schemas": len(catalog.event_types),
    }
    return answer if catalog.is_configured else answer | {"message": _NOTHING_CONFIGURED}


def one_answer(schema: Schema) -> Answer:
    """Return what `GET /api/v1/schema/{event_type}` answers for a declared event type."""
    return {"event_type": schema.event_type, "schema": exposed(schema), "status": "success"}


def not_found_answer(catalog: Catalog, name: str, *, request_id: str) -> Answer:
    """Return what is answered for an event type that is not declared."""
    answer: Answer = {"request_id": request_id, "status": "error"}
    if not catalog.is_configured:
        return answer | {"message": _NOTHING_CONFIGURED}
    return answer | {
        "available_types": sorted(catalog.event_types),
        "message": f"Event type '{name}' not found",
    }


def exposed(schema: Schema) -> Answer:
    """Return the part of a schema that everybody may see: neither topic nor storage nor roles."""
    payload = None if schema.payload is None else {"required": schema.payload.required}
    return {"identifier": {field.name: _exposed_field(field) for field in schema.fields}, "payload": payload}


def _exposed_field(field: AnyField) -> Answer:
    described = {"description": field.description} if field.description else {}
    return {"type": field.handler, "required": field.required, **described, **field.options()}
