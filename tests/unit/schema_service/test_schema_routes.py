"""What is answered about event types: the contract's two answers, ours below them, and what caches are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import jsonschema_rs
import msgspec
import pytest

from aviso_core.fields.real import RealField
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import Auth, PayloadRules, Schema, Storage
from support.catalogs import BUOYS, RUNS, STORMS

if TYPE_CHECKING:
    from unit.schema_service.conftest import Service

REQUEST_ID: Final = "5b0c2f0e-6c0a-4b39-9a43-2f7a7c0d9e10"

_STORMS: Final = {
    "identifier": {
        "basin": {
            "description": "Ocean basin.",
            "required": True,
            "type": "EnumHandler",
            "values": ["atlantic", "pacific", "indian"],
        },
        "category": {"range": [0, 5], "required": False, "type": "IntHandler"},
        "polygon": {"required": False, "type": "PolygonHandler"},
        "season": {"max_length": 6, "required": False, "type": "StringHandler"},
        "wind": {"range": [0.0, 150.0], "required": False, "type": "FloatHandler"},
    },
    "payload": {"required": False},
}
_RUNS: Final = {
    "identifier": {
        "class": {"max_length": 2, "required": True, "type": "StringHandler"},
        "date": {"canonical_format": "%Y-%m-%d", "required": False, "type": "DateHandler"},
        "expver": {"default": "0001", "required": False, "type": "ExpverHandler"},
        "step": {"range": [0, 100000], "required": False, "type": "IntHandler"},
        "time": {"required": False, "type": "TimeHandler"},
    },
    "payload": {"required": True},
}
_BUOYS: Final = {
    "identifier": {
        "net": {"max_length": None, "required": True, "type": "StringHandler"},
        "point_cloud": {"max_points": 10000, "required": True, "type": "PointCloudHandler"},
    },
    "payload": None,
}


def _configured() -> list[Schema]:
    """Return the event types of the recordings, with everything that must not be shown."""
    basin, *others = STORMS.fields
    described = msgspec.structs.replace(basin, description="Ocean basin.")
    storms = msgspec.structs.replace(
        STORMS,
        fields=(described, *others),
        payload=PayloadRules(),
        auth=Auth(required=True, read_roles={"realm": ("secret-role",)}),
        storage=Storage(retention_seconds=99_999),
        max_historical_notifications=77_777,
    )
    return [storms, RUNS, BUOYS]


# --- the contract's answers ------------------------------------------------------------------------------


def test_all_event_types_are_told(service: Service) -> None:
    """As recorded, with sorted lists."""
    service.held.catalog = build_catalog(_configured())
    reply = service.get("/api/v1/schema")
    assert reply.status == 200
    assert reply.json() == {
        "event_types": ["buoys", "runs", "storms"],
        "schema": {"buoys": _BUOYS, "runs": _RUNS, "storms": _STORMS},
        "status": "success",
        "total_schemas": 3,
    }
    assert b'"range":[0.0,150.0]' in reply.body
    for hidden in (b"topic", b"secret-role", b"99999", b"77777"):
        assert hidden not in reply.body


@pytest.mark.parametrize(("name", "expected"), [("storms", _STORMS), ("runs", _RUNS), ("buoys", _BUOYS)])
def test_one_event_type_is_told(service: Service, name: str, expected: object) -> None:
    """As recorded."""
    service.held.catalog = build_catalog(_configured())
    reply = service.get(f"/api/v1/schema/{name}")
    assert reply.status == 200
    assert reply.json() == {"event_type": name, "schema": expected, "status": "success"}


def test_an_open_side_of_a_range_is_null(service: Service) -> None:
    """A manifest may name one limit."""
    field = RealField(name="wind", minimum=0.5)
    service.held.catalog = build_catalog([Schema(event_type="one", fields=(field,))])
    told = service.get("/api/v1/schema/one").json()["schema"]["identifier"]["wind"]
    assert told == {"range": [0.5, None], "required": False, "type": "FloatHandler"}


def test_an_unknown_event_type_is_told_from_the_known_ones(service: Service) -> None:
    """With the request's id, and neither code nor error."""
    reply = service.get("/api/v1/schema/nope")
    assert reply.status == 404
    assert reply.json() == {
        "available_types": ["buoys", "runs", "storms"],
        "message": "Event type 'nope' not found",
        "request_id": REQUEST_ID,
        "status": "error",
    }
    assert "etag" not in reply.headers


@pytest.mark.parametrize(
    ("schemas", "more"), [(None, {"message": "No notification schema configured"}), ([], {})]
)
def test_no_event_types_are_told_apart_from_no_schema(
    service: Service, schemas: list[Schema] | None, more: dict[str, str]
) -> None:
    """A configured but empty map has no message, and lists what there is: nothing."""
    service.held.catalog = build_catalog(schemas)
    nothing = {"event_types": [], "schema": {}, "status": "success", "total_schemas": 0}
    assert service.get("/api/v1/schema").json() == nothing | more
    missing = {"message": "Event type 'x' not found", "available_types": []} | more
    if more:
        del missing["available_types"]
    refused = service.get("/api/v1/schema/x")
    assert refused.status == 404
    assert refused.json() == {"request_id": REQUEST_ID, "status": "error", **missing}


# --- names and paths -------------------------------------------------------------------------------------

_ODD: Final = [
    "a/b", "a/examples.json", "/", "..", ".", "a b", "é/ü", "asyncapi.json", "examples.json", "100%", "%2F", "a?b#c",
    "x\n", "storms/", "'\"<>",
]  # fmt: skip


@pytest.mark.parametrize("name", _ODD)
def test_a_name_may_hold_anything(service: Service, name: str) -> None:
    """It is one segment of the path, encoded; its documents are one segment further."""
    odd = msgspec.structs.replace(STORMS, event_type=name)
    service.held.catalog = build_catalog([odd, RUNS])
    path = "/api/v1/schema/" + "".join(f"%{byte:02X}" for byte in name.encode())
    assert service.get(path).json()["event_type"] == name
    assert service.get(f"{path}/examples.json").json()["event_type"] == name
    assert service.get(f"{path}/asyncapi.json").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/schema//", "/api/v1/schema//storms", "/api/v1/schema/storms/", "/api/v1/schema/storms//examples.json",
        "/api/v1/schema/storms/examples.json/", "/api/v1/schema/storms/other", "/api/v1//schema/storms",
        "/api-docs/other", "/api-docs/openapi.json/x",
    ],
)  # fmt: skip
def test_a_path_does_not_stand_for_another(service: Service, path: str) -> None:
    """No slash is added, taken away or passed over; the answer is empty and has no type."""
    reply = service.get(path)
    assert (reply.status, reply.body) == (404, b"")
    assert "content-type" not in reply.headers


def test_a_name_that_is_no_text_names_nothing(service: Service) -> None:
    """Bytes that are not UTF-8 are answered in UTF-8."""
    reply = service.get("/api/v1/schema/%FF")
    assert reply.status == 404
    assert reply.json()["message"] == "Event type '\ufffd' not found"


# --- our documents ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["storms", "runs", "buoys"])
@pytest.mark.parametrize(
    "document", ["notification.schema.json", "filter.schema.json", "event.schema.json", "payload.schema.json"]
)
def test_json_schemas_are_served(service: Service, name: str, document: str) -> None:
    """Each is JSON Schema 2020-12."""
    jsonschema_rs.meta.validate(service.get(f"/api/v1/schema/{name}/{document}").json())


def test_a_payload_schema_is_served_as_it_was_declared(service: Service) -> None:
    """In its own dialect; where none is declared, one that takes everything."""
    declared = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    checked = msgspec.structs.replace(RUNS, payload=PayloadRules(json_schema=declared))
    service.held.catalog = build_catalog([checked, BUOYS])
    assert service.get("/api/v1/schema/runs/payload.schema.json").json() == declared
    assert service.get("/api/v1/schema/buoys/payload.schema.json").json() == {}


def test_examples_fit_the_schemas_beside_them(service: Service) -> None:
    """What is served belongs together."""
    made = service.get("/api/v1/schema/storms/examples.json").json()
    validators = {
        path: jsonschema_rs.validator_for(service.get(f"/api/v1/schema/storms/{document}").json())
        for path, document in [
            ("/api/v1/notification", "notification.schema.json"),
            ("/api/v1/watch", "filter.schema.json"),
            ("/api/v1/replay", "filter.schema.json"),
        ]
    }
    assert made["examples"]
    for example in made["examples"]:
        assert example["method"] == "POST"
        assert validators[example["path"]].is_valid(example["body"])


def test_one_document_holds_the_channels_of_all(service: Service) -> None:
    """Beside the OpenAPI document, because names below `schema` belong to event types."""
    everything = service.get("/api-docs/asyncapi.json").json()
    one = service.get("/api/v1/schema/runs/asyncapi.json").json()
    assert everything["asyncapi"] == one["asyncapi"] == "3.0.0"
    assert one["channels"].items() < everything["channels"].items()
    assert everything["info"]["version"] == "1.2.3<"
    assert everything["servers"]["service"]["host"] == "aviso.example.org"


def test_the_openapi_document_tells_the_running_version(service: Service) -> None:
    """The packaged one was built before."""
    document = service.get("/api-docs/openapi.json").json()
    assert document["info"]["version"] == "1.2.3<"
    assert "/api/v1/schema" in document["paths"]


# --- versions --------------------------------------------------------------------------------------------

_DOCUMENTS: Final = [
    "/api/v1/schema", "/api/v1/schema/storms", "/api/v1/schema/storms/examples.json", "/api-docs/asyncapi.json",
    "/api-docs/openapi.json", "/", "/swagger-ui/", "/static/home.css",
]  # fmt: skip


@pytest.mark.parametrize("path", _DOCUMENTS)
def test_what_is_known_is_not_sent_again(service: Service, path: str) -> None:
    """By its tag, in any list and any strength; `*` stands for all."""
    first = service.get(path)
    tag = first.headers["etag"]
    assert tag.startswith('"')
    assert first.headers["cache-control"] == "no-cache"
    for known in (tag, f'"other", W/{tag}', "*"):
        again = service.get(path, If_None_Match=known)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == tag
        assert "content-type" not in again.headers
    for unknown in ('"other"', tag.strip('"'), ""):
        again = service.get(path, If_None_Match=unknown)
        assert (again.status, again.body) == (200, first.body)


def test_a_change_of_schemas_is_seen_at_once(service: Service) -> None:
    """The documents of the old catalog are gone; those that are the same keep their tags."""
    before = {path: service.get(path).headers["etag"] for path in _DOCUMENTS}
    service.held.catalog = build_catalog([STORMS, RUNS])
    changed = {path for path in _DOCUMENTS if service.get(path).headers["etag"] != before[path]}
    assert changed == {"/api/v1/schema", "/api-docs/asyncapi.json"}
    assert service.get("/api/v1/schema/buoys").status == 404


def test_the_revision_in_force_is_told(service: Service) -> None:
    """On everything about one event type; there is none without a registry."""
    paths = ["/api/v1/schema/storms", "/api/v1/schema/storms/asyncapi.json"]
    assert all("schema-revision" not in service.get(path).headers for path in paths)
    service.held.revision = 41
    assert [service.get(path).headers["schema-revision"] for path in paths] == ["41", "41"]
    tag = service.get(paths[0]).headers["etag"]
    assert service.get(paths[0], If_None_Match=tag).headers["schema-revision"] == "41"


def test_equal_catalogs_give_equal_bytes(service: Service) -> None:
    """Two instances of the service do not make a client fetch what it has."""
    bodies = [service.get(path).body for path in _DOCUMENTS]
    service.held.catalog = build_catalog([BUOYS, RUNS, STORMS])
    assert [service.get(path).body for path in _DOCUMENTS] == bodies


def test_a_head_request_gets_the_same_headers(service: Service) -> None:
    """And no body."""
    for path in _DOCUMENTS:
        got, headed = service.get(path), service.get(path, method="HEAD")
        assert (headed.status, headed.body) == (200, b"")
        assert headed.headers | {"date": ""} == got.headers | {"date": ""}


@pytest.mark.parametrize("path", [*_DOCUMENTS, "/static/", "/static", "/swagger-ui/reference.js"])
@pytest.mark.parametrize("method", ["POST", "OPTIONS", "DELETE"])
def test_nothing_can_be_changed(service: Service, path: str, method: str) -> None:
    """There is one method, and what it is told to every other."""
    reply = service.get(path, method=method)
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")
