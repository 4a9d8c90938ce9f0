"""Fragments of services become one OpenAPI document, or are refused."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs
import pytest
import schemathesis

from aviso_schema import openapi
from aviso_schema.openapi_document import NotMergeable, build, main, merge, packaged_document, with_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unit.schema_service.conftest import Service


def _operation(name: str, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "tags": ["general"], "responses": {"200": {"description": "ok"}}, **more}


ROOT: Final = Path(__file__).parents[3]

_ONE: Final = {
    "paths": {"/b": {"get": _operation("one")}},
    "components": {"schemas": {"A": {"type": "string"}}},
}


def test_fragments_are_put_together() -> None:
    """Two services may answer two methods of one path, and may speak of each other's shapes."""
    refers = {"200": {"$ref": "#/components/schemas/A"}}
    other = {
        "paths": {"/a": {"get": _operation("two")}, "/b": {"post": _operation("three", responses=refers)}}
    }
    made = merge([_ONE, other], "1.2.3")
    assert list(made["paths"]) == ["/a", "/b"]
    assert set(made["paths"]["/b"]) == {"get", "post"}
    assert made["components"]["schemas"]["A"] == {"type": "string"}


def test_the_frame_is_the_contract_s() -> None:
    """Title, version, security schemes and tags."""
    made = merge([], "1.2.3")
    assert made["openapi"] == "3.1.0"
    assert made["info"]["title"] == "Aviso Notification Service API"
    assert made["info"]["version"] == "1.2.3"
    assert made["components"]["securitySchemes"] == {
        "bearer_jwt": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "basic": {"type": "http", "scheme": "basic"},
    }
    assert [tag["name"] for tag in made["tags"]] == [
        "health", "general", "schema", "notification", "streaming", "admin",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fragment", "reason"),
    [
        (_ONE, "paths /b: 'get' is there twice"),
        ({"components": {"schemas": {"A": {}}}}, "components schemas: 'A' is there twice"),
        (
            {"components": {"securitySchemes": {"basic": {}}}},
            "components securitySchemes: 'basic' is there twice",
        ),
        ({"info": {}}, "'info' has no place in a fragment"),
        (
            {"paths": {"/c": {"get": _operation("one")}}},
            "GET /c: operationId 'one' is missing or there twice",
        ),
        (
            {"paths": {"/c": {"get": {"tags": ["general"]}}}},
            "GET /c: operationId None is missing or there twice",
        ),
        (
            {"paths": {"/c": {"get": _operation("two", tags=["other"])}}},
            "GET /c: 'other' is none of the tags health, general, schema, notification, streaming, admin",
        ),
        (
            {
                "paths": {
                    "/c": {"get": _operation("two", responses={"200": {"$ref": "#/components/responses/X"}})}
                }
            },
            "'#/components/responses/X' is referred to and not there",
        ),
        (
            {"components": {"schemas": {"B": {"$ref": "https://example.org/x"}}}},
            "'https://example.org/x' is referred to and not there",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(fragment: dict[str, Any], reason: str) -> None:
    """Nothing is resolved by order, and nothing is left dangling."""
    with pytest.raises(NotMergeable) as caught:
        merge([_ONE, fragment], "1")
    assert reason in str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("kind", "name"), [("headers", "RequestId"), ("schemas", "Refusal"), ("responses", "Forbidden")]
)
def test_what_all_share_is_nobodys_to_replace(kind: str, name: str) -> None:
    """A fragment refers to it."""
    merge([{"components": {"headers": {"X": {"$ref": f"#/components/{kind}/{name}"}}}}], "1")
    with pytest.raises(NotMergeable, match=f"components {kind}: '{name}' is there twice"):
        merge([{"components": {kind: {name: {}}}}], "1")


def test_all_reasons_are_told_at_once() -> None:
    """Nobody wants to mend them one by one."""
    with pytest.raises(NotMergeable) as caught:
        merge([_ONE, _ONE], "1")
    assert len(str(caught.value).splitlines()) == 2


def test_merging_leaves_the_fragments_as_they_are() -> None:
    """They may be merged again."""
    before = json.dumps(_ONE)
    merge([_ONE, {"paths": {"/b": {"post": _operation("two")}}}], "1")
    assert json.dumps(_ONE) == before


# --- the whole document ----------------------------------------------------------------------------------


def _fragments() -> list[str]:
    """Return the modules of all fragments, found as `make openapi` finds them."""
    return sorted(f"{path.parent.name}.openapi" for path in ROOT.glob("services/*/src/*/openapi.py"))


def test_the_packaged_document_is_what_the_services_say() -> None:
    """`make openapi` writes it anew."""
    assert packaged_document() == build(_fragments()), "stale: `make openapi` writes it"


def test_make_openapi_takes_the_same_fragments() -> None:
    """So that the test above and the command cannot drift apart."""
    made = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "MAKEFLAGS=", "--assume-old=.venv/.ready", "openapi"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    named = re.findall(r"\S+\.openapi\b", made.stdout)
    assert sorted(named) == _fragments()
    assert len(named) > 1


def test_the_order_of_fragments_does_not_matter() -> None:
    """Nothing is resolved by it."""
    assert build(_fragments()) == build(reversed(_fragments()))


def test_the_document_is_valid() -> None:
    """By the schema of OpenAPI 3.1 itself."""
    document = json.loads(packaged_document())
    schemathesis.openapi.from_dict(document).validate()
    with pytest.raises(jsonschema_rs.ValidationError):
        schemathesis.openapi.from_dict(document | {"info": {}}).validate()


def test_every_shape_in_the_document_is_valid() -> None:
    """The schema of OpenAPI leaves what is below `schema` to JSON Schema."""
    document = json.loads(packaged_document())
    shapes = [*document["components"]["schemas"].values(), *_shapes_below(document["paths"])]
    assert len(shapes) > 50
    for shape in shapes:
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema"} | shape)


def _shapes_below(value: Any) -> Iterator[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _shapes_below(one)
    if isinstance(value, dict) and isinstance(value.get("schema"), dict):
        yield value["schema"]


def test_every_operation_tells_a_newcomer_what_it_is_for() -> None:
    """And where the contract or an addition has a path, some operation is described."""
    document = json.loads(packaged_document())
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    for operation in operations:
        assert operation["summary"]
        assert operation["responses"]
        assert "security" in operation, "whether credentials are needed is said of each"


# --- our own fragment ------------------------------------------------------------------------------------


def test_our_fragment_describes_valid_shapes() -> None:
    """Every shape is JSON Schema 2020-12, which is what OpenAPI 3.1 uses."""
    schemas = merge([openapi.fragment()], "1")["components"]["schemas"]
    assert schemas
    for schema in schemas.values():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema)


_ANSWERS: Final = [
    ("/api/v1/schema", "/api/v1/schema"),
    ("/api/v1/schema/{event_type}", "/api/v1/schema/storms"),
    ("/api/v1/schema/{event_type}", "/api/v1/schema/buoys"),
    ("/api/v1/schema/{event_type}", "/api/v1/schema/nope"),
    ("/api/v1/schema/{event_type}/examples.json", "/api/v1/schema/storms/examples.json"),
    ("/api/v1/schema/{event_type}/filter.schema.json", "/api/v1/schema/storms/filter.schema.json"),
    ("/api-docs/asyncapi.json", "/api-docs/asyncapi.json"),
    ("/api-docs/openapi.json", "/api-docs/openapi.json"),
]


@pytest.mark.parametrize(("template", "path"), _ANSWERS)
def test_answers_are_as_described(service: Service, template: str, path: str) -> None:
    """The service is asked, and what comes fits."""
    document = merge([openapi.fragment()], "1")
    reply = service.get(path)
    described = document["paths"][template]["get"]["responses"][str(reply.status)]
    schema = described["content"]["application/json"]["schema"]
    root = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "components": document["components"],
        **schema,
    }
    assert jsonschema_rs.validator_for(root).is_valid(reply.json())
    assert set(map(str.lower, described["headers"])) - {"x-request-id", "schema-revision"} <= set(
        reply.headers
    )


@pytest.mark.parametrize("path", ["/", "/static/home.css", "/swagger-ui/"])
def test_pages_are_described(service: Service, path: str) -> None:
    """All that the service has."""
    template = "/static/{path}" if path.startswith("/static") else path
    described = openapi.fragment()["paths"][template]["get"]["responses"]
    assert str(service.get(path).status) in described


# --- the packaged file -----------------------------------------------------------------------------------


def test_the_packaged_document_has_our_part() -> None:
    """`make openapi` adds what the other services say."""
    packaged = json.loads(packaged_document())
    ours = openapi.fragment()
    assert {path: packaged["paths"][path] for path in ours["paths"]} == ours["paths"]
    assert packaged["info"]["version"] == importlib.metadata.version("aviso-schema")


def test_a_document_is_built_from_modules_by_name() -> None:
    """So that no service knows another."""
    assert json.loads(build(["aviso_schema.openapi"]))["paths"].keys() == openapi.fragment()["paths"].keys()


def test_a_check_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """It tells whether the packaged file is what the services say."""
    before = packaged_document()
    assert main(["--check", *_fragments()]) == 0
    assert not capsys.readouterr().err
    assert main(["--check", "aviso_schema.openapi"]) == 1
    assert "`make openapi` writes it" in capsys.readouterr().err
    assert packaged_document() == before


def test_a_service_shows_its_own_version() -> None:
    """Whatever version the file was built with."""
    document = json.loads(packaged_document())
    shown = json.loads(with_version(packaged_document(), "9.9"))
    assert shown == document | {"info": document["info"] | {"version": "9.9"}}
