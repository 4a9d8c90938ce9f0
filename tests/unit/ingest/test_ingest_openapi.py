"""What the service says of itself in the OpenAPI document is what its code says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, get_args

import jsonschema_rs
import msgspec
import pytest

from aviso_core.request import MEMBERS
from aviso_ingest import openapi
from aviso_ingest.batch import answers as batch_answers
from aviso_ingest.batch.record import OWN_MEMBERS
from aviso_ingest.batch.results import Outcome, Result
from aviso_ingest.batch.wanted import Form, read_wanted
from aviso_ingest.cloudevents.attributes import DATA_MEMBERS
from aviso_ingest.intake import LONGEST_ID
from aviso_ingest.storing import ROWS
from aviso_schema.openapi_document import merge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_http.problems import Row

DOCUMENT: Final = merge([openapi.fragment()], "1")
SHAPES: Final = DOCUMENT["components"]["schemas"]


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all operations of the fragment, each with its method and path."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def followed(value: dict[str, Any]) -> Any:
    """Return what a reference leads to; nothing else is a reference here."""
    found: Any = DOCUMENT
    for step in value["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return found


def is_valid(schema: dict[str, Any], value: object) -> bool:
    """Tell whether a value fits a schema of the document."""
    root = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "components": DOCUMENT["components"],
    }
    return jsonschema_rs.validator_for(root).is_valid(value)


def test_the_paths_are_those_of_the_contract_and_its_additions() -> None:
    """No more and no fewer."""
    assert {name for name, _ in operations()} == {
        "POST /api/v1/notification",
        "DELETE /api/v1/notification",
        "POST /api/v1/notifications",
        "POST /api/v1/events",
        "DELETE /api/v1/admin/notification/{id}",
        "DELETE /api/v1/admin/wipe/stream",
        "DELETE /api/v1/admin/wipe/all",
    }


# --- examples --------------------------------------------------------------------------------------------


def contents() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every content of a body or an answer."""
    for name, operation in operations():
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        answers = [followed(one) if "$ref" in one else one for one in operation["responses"].values()]
        for body in (*bodies, *answers):
            for media_type, content in body.get("content", {}).items():
                yield f"{name} {media_type}", content


def test_every_example_fits_its_shape() -> None:
    """Lines are looked at one by one: their shape is told in words."""
    tried = set()
    for where, content in contents():
        for name, reference in content.get("examples", {}).items():
            value = followed(reference)["value"]
            assert is_valid(content["schema"], value), (where, name)
            tried.add(reference["$ref"].rpartition("/")[2])
    assert tried == set(DOCUMENT["components"]["examples"])


@pytest.mark.parametrize(
    ("example", "shapes"),
    [
        ("BatchRecordsInLines", ["BatchRecord", "BatchRecord"]),
        ("BatchAnswerInLines", ["BatchResult", "BatchResult", "BatchTotals"]),
    ],
)
def test_every_line_of_an_example_fits_its_shape(example: str, shapes: list[str]) -> None:
    """As the description of the lines says."""
    lines = DOCUMENT["components"]["examples"][example]["value"].splitlines()
    for line, shape in zip(lines, shapes, strict=True):
        assert is_valid({"$ref": f"#/components/schemas/{shape}"}, json.loads(line))


@pytest.mark.parametrize("name", ["Problem", "Refusal"])
def test_the_examples_of_refusals_fit(name: str) -> None:
    """They stand in the shape itself."""
    for value in SHAPES[name]["examples"]:
        assert is_valid(SHAPES[name], value)


# --- shapes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "members"),
    [
        ("Notification", MEMBERS),
        ("Retraction", MEMBERS),
        ("BatchRecord", (*MEMBERS, *OWN_MEMBERS)),
        ("CloudEventData", DATA_MEMBERS),
    ],
)
def test_bodies_have_the_members_that_are_read(shape: str, members: tuple[str, ...]) -> None:
    """And take no other."""
    assert set(SHAPES[shape]["properties"]) == set(members)
    assert SHAPES[shape]["additionalProperties"] is False


def test_results_have_the_members_that_are_written() -> None:
    """Those that may be left out are not required."""
    written = msgspec.structs.fields(Result)
    assert set(SHAPES["BatchResult"]["properties"]) == {field.name for field in written}
    assert set(SHAPES["BatchResult"]["required"]) == {field.name for field in written if field.required}
    assert set(SHAPES["BatchResult"]["properties"]["status"]["enum"]) == set(get_args(Outcome))
    assert set(SHAPES["BatchTotals"]["properties"]) == {*get_args(Outcome), "request_id"}


@pytest.mark.parametrize("name", ["publish", "publishMany"])
def test_ids_are_as_long_as_they_may_be(name: str) -> None:
    """In the header of a single notification and in a record."""
    longest, longer = "i" * LONGEST_ID, "i" * (LONGEST_ID + 1)
    if name == "publish":
        (schema,) = (one["schema"] for one in parameters(name) if one["name"] == "Idempotency-Key")
    else:
        schema = SHAPES["BatchRecord"]["properties"]["id"]
    assert is_valid(schema, longest)
    assert not is_valid(schema, longer)
    assert not is_valid(schema, "")
    assert not is_valid(schema, "ü")


def parameters(operation_id: str) -> list[dict[str, Any]]:
    """Return the parameters of an operation."""
    return next(one["parameters"] for _, one in operations() if one["operationId"] == operation_id)


# --- statuses and media types ----------------------------------------------------------------------------


def described(operation_id: str) -> dict[str, Any]:
    """Return the answers of an operation."""
    found = next(one["responses"] for _, one in operations() if one["operationId"] == operation_id)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.error.__name__)
@pytest.mark.parametrize("operation_id", ["publish", "retract", "publishMany", "publishEvents"])
def test_what_storing_may_answer_is_described(operation_id: str, row: Row) -> None:
    """Each row of the table is a status of every operation that stores."""
    assert str(row.status) in described(operation_id)


@pytest.mark.parametrize("row", batch_answers.ROWS, ids=lambda row: row.error.__name__)
@pytest.mark.parametrize("operation_id", ["publishMany", "publishEvents"])
def test_what_a_batch_may_be_answered_is_described(operation_id: str, row: Row) -> None:
    """Each row of the table that single notifications do not have."""
    assert str(row.status) in described(operation_id)


@pytest.mark.parametrize("name", [name for name, _ in operations()])
def test_what_access_control_may_answer_is_described(name: str) -> None:
    """Of every operation, because it is asked before the route is."""
    assert {"401", "403", "503"} <= set(dict(operations())[name]["responses"])


@pytest.mark.parametrize("name", [name for name, _ in operations()])
def test_every_answer_has_the_id_of_its_request(name: str) -> None:
    """Described with every status."""
    for answer in dict(operations())[name]["responses"].values():
        assert "X-Request-ID" in (followed(answer) if "$ref" in answer else answer)["headers"]


def test_a_batch_may_be_sent_in_the_forms_that_are_read() -> None:
    """One media type for each."""
    content = DOCUMENT["paths"]["/api/v1/notifications"]["post"]["requestBody"]["content"]
    forms = [read_wanted([(b"content-type", media_type.encode())], b"").form for media_type in content]
    assert sorted(form.value for form in forms) == sorted(form.value for form in Form)


def test_only_administration_needs_credentials_always() -> None:
    """Whether the others do is the event type's affair."""
    for name, operation in operations():
        assert ({} in operation["security"]) == ("/admin/" not in name)
