"""The bodies of requests and the delivered event of one event type, as JSON Schema 2020-12.

The promise: a body that the service accepts is valid against its schema. The converse does not hold, because some
rules have no words in JSON Schema (a ring is closed, a length counts bytes, a start lies before its end). What the
keywords say is also said in draft 7, so that the same parts fit into an AsyncAPI document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_core.envelope import TYPE_PREFIX
from aviso_core.fields import SpatialField
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import POLYGON_KEY, PolygonField
from aviso_core.schema.check import POINT_KEY
from aviso_schema.describe.payload import payload_schema
from aviso_schema.describe.values import (
    AREA_FILTER_JSON_SCHEMA,
    POINT_JSON_SCHEMA,
    asked_value,
    delivered_value,
    sent_value,
)

if TYPE_CHECKING:
    from aviso_core.fields.base import JsonSchema
    from aviso_core.schema.model import Schema

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_NULL: Final[JsonSchema] = {"type": "null"}
_IGNORED: Final[JsonSchema] = {"type": ["string", "null"], "description": "Accepted and ignored."}
_SEQUENCE: Final[JsonSchema] = {"type": ["string", "null"], "pattern": "^[+]?[0-9]+$"}
_DATE: Final[JsonSchema] = {"type": ["string", "null"], "minLength": 1}
_PRESENT: Final[JsonSchema] = {"type": "string"}


def with_dialect(schema: JsonSchema) -> JsonSchema:
    """Return a schema as a document of its own."""
    return {"$schema": DIALECT} | schema


# --- a notification ----------------------------------------------------------------------------------------


def notification(schema: Schema, *, payload_pointer: str = "#/properties/payload") -> JsonSchema:
    """Return what `POST /api/v1/notification` takes. The pointer is where the payload's schema will stand."""
    payload = payload_schema(schema.payload, pointer=payload_pointer)
    is_payload_required = schema.payload is not None and schema.payload.required
    return {
        "title": f"A notification of {schema.event_type}",
        **({"description": schema.description} if schema.description else {}),
        "type": "object",
        "properties": {
            "event_type": {"const": schema.event_type},
            "identifier": _sent_identifier(schema),
            "payload": payload,
            "from_id": _IGNORED,
            "from_date": _IGNORED,
            "to_id": _NULL,
            "to_date": _NULL,
        },
        "required": ["event_type", "identifier", *(["payload"] if is_payload_required else [])],
        "additionalProperties": False,
    }


def _sent_identifier(schema: Schema) -> JsonSchema:
    return {
        "type": "object",
        "properties": {field.name: sent_value(field) for field in schema.fields},
        "required": [field.name for field in schema.fields if field.default is None],
        "additionalProperties": False,
    }


# --- a filter --------------------------------------------------------------------------------------------


def filter_body(schema: Schema) -> JsonSchema:
    """Return what `POST /api/v1/watch` and `/api/v1/replay` take."""
    return {
        "title": f"A watch or replay of {schema.event_type}",
        "type": "object",
        "properties": {
            "event_type": {"const": schema.event_type},
            "identifier": _asked_identifier(schema),
            "from_id": _SEQUENCE | {"description": "The first sequence to be read, inclusive."},
            "from_date": _DATE | {"description": "Reading begins with what was stored then, inclusive."},
            "to_id": _SEQUENCE | {"description": "The last sequence to be read, inclusive. Replay only."},
            "to_date": _DATE | {"description": "Reading ends with what was stored then. Replay only."},
            "payload": {"description": "Accepted and ignored."},
        },
        "required": ["event_type", "identifier"],
        "additionalProperties": False,
        "anyOf": [
            {
                "title": "watch: live, after history if there is a start",
                "properties": {"to_id": _NULL, "to_date": _NULL},
                "anyOf": [_without("from_id"), _without("from_date")],
            },
            {
                "title": "replay: history only, from a start to an end",
                "allOf": [
                    {
                        "anyOf": [
                            _starting("from_id", without="from_date"),
                            _starting("from_date", without="from_id"),
                        ]
                    },
                    {"anyOf": [_without("to_id"), _without("to_date")]},
                ],
            },
        ],
    }


def _without(name: str) -> JsonSchema:
    return {"properties": {name: _NULL}}


def _starting(name: str, *, without: str) -> JsonSchema:
    return {"properties": {name: _PRESENT, without: _NULL}, "required": [name]}


def _asked_identifier(schema: Schema) -> JsonSchema:
    properties = {
        field.name: asked_value(field) for field in schema.fields if not isinstance(field, SpatialField)
    }
    required = [
        field.name for field in schema.fields if field.required and not isinstance(field, SpatialField)
    ]
    described: JsonSchema = {
        "type": "object",
        "description": "What is left out selects everything, and so does the text '*' where a text is taken.",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    match schema.geometry_field:
        case PolygonField() as polygon:
            properties[POLYGON_KEY] = AREA_FILTER_JSON_SCHEMA
            properties[POINT_KEY] = POINT_JSON_SCHEMA
            described["not"] = {"required": [POLYGON_KEY, POINT_KEY]}
            if polygon.required:
                described["anyOf"] = [{"required": [POLYGON_KEY]}, {"required": [POINT_KEY]}]
        case PointCloudField() as cloud:
            properties[POLYGON_KEY] = AREA_FILTER_JSON_SCHEMA
            if cloud.required:
                required.append(POLYGON_KEY)
    return described


# --- an event --------------------------------------------------------------------------------------------


def event(schema: Schema, *, payload_pointer: str = "#/properties/data/properties/payload") -> JsonSchema:
    """Return what readers get: a CloudEvent. Members may be added to it."""
    geometry = schema.geometry_field
    data: JsonSchema = {
        "identifier": {
            "type": "object",
            "properties": {field.name: delivered_value(field) for field in schema.fields},
        },
        "payload": payload_schema(schema.payload, pointer=payload_pointer, is_stored=True),
    }
    if isinstance(geometry, PolygonField):
        data["geometry"] = {
            "type": "object",
            "description": "GeoJSON, where one ring does not say it all.",
            "required": ["type", "coordinates"],
        }
    text: JsonSchema = {"type": "string", "minLength": 1}
    return {
        "title": f"An event of {schema.event_type}",
        **({"description": schema.description} if schema.description else {}),
        "type": "object",
        "properties": {
            "specversion": {"const": "1.0"},
            "id": text | {"description": "<event_type>@<sequence>"},
            "type": {"const": f"{TYPE_PREFIX}{schema.event_type}"},
            "source": text,
            "time": text | {"format": "date-time", "description": "When the event was stored."},
            "datacontenttype": {"const": "application/json"},
            "dataschema": text | {"format": "uri"},
            "sequence": {"type": "integer", "minimum": 1, "description": "The number behind the id's @."},
            "operation": {"const": "delete", "description": "A retraction; absent otherwise."},
            "data": {"type": "object", "properties": data, "required": ["identifier", "payload"]},
        },
        "required": ["specversion", "id", "type", "source", "time", "datacontenttype", "sequence", "data"],
    }
