"""What the gateway says of itself in the OpenAPI document is what its code says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs
import msgspec
import pytest

from aviso_core.matching.explain import Clause
from aviso_core.request import MEMBERS
from aviso_schema.openapi_document import merge
from aviso_stream_gateway import openapi
from aviso_stream_gateway.app import ROWS
from aviso_stream_gateway.explaining.answer import Explained, Explanation, Permission
from aviso_stream_gateway.explaining.dry_run import DryRun, TooManyDryRuns
from aviso_stream_gateway.explaining.found import NotHeld
from aviso_stream_gateway.explaining.request import Described, ExplainBody
from aviso_stream_gateway.limits import TooManyStreams
from aviso_stream_gateway.machines.accepted import Form
from aviso_stream_gateway.machines.form import Ending
from aviso_stream_gateway.machines.held import RangeRemoved
from aviso_stream_gateway.positions.held import Held
from aviso_stream_gateway.positions.routes import NoSuchEventType
from aviso_stream_gateway.setup import SetupFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_core.errors import AvisoError

DOCUMENT: Final = merge([openapi.fragment()], "1")
SHAPES: Final = DOCUMENT["components"]["schemas"]


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all operations of the fragment, each with its method and path."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def operation(operation_id: str) -> dict[str, Any]:
    """Return an operation by its name."""
    return next(one for _, one in operations() if one["operationId"] == operation_id)


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
        "POST /api/v1/watch",
        "POST /api/v1/replay",
        "GET /api/v1/positions",
        "GET /api/v1/positions/{event_type}",
        "GET /api/v1/positions/stream",
        "POST /api/v1/explain",
    }


def test_every_example_fits_its_shape() -> None:
    """Those of bodies are meant to be sent."""
    tried = 0
    for where, one in operations():
        for content in one.get("requestBody", {}).get("content", {}).values():
            for name, example in content["examples"].items():
                assert is_valid(content["schema"], example["value"]), (where, name)
                tried += 1
    assert tried == 7


@pytest.mark.parametrize("shape", ["WatchRequest", "ReplayRequest"])
def test_bodies_have_the_members_that_are_read(shape: str) -> None:
    """And take no other."""
    assert set(SHAPES[shape]["properties"]) == set(MEMBERS)
    assert SHAPES[shape]["additionalProperties"] is False


def _inner(name: str) -> dict[str, Any]:
    found: dict[str, Any] = SHAPES["Explanation"]["properties"][name]
    first: dict[str, Any] = found["anyOf"][0]
    return first


@pytest.mark.parametrize(
    ("shape", "struct"),
    [
        (SHAPES["ExplainRequest"], ExplainBody),
        (SHAPES["ExplainRequest"]["properties"]["event"]["anyOf"][0], Described),
        (SHAPES["Explanation"], Explanation),
        (SHAPES["Explanation"]["properties"]["permission"], Permission),
        (_inner("event"), Explained),
        (_inner("event")["properties"]["clauses"]["items"], Clause),
        (_inner("dry_run"), DryRun),
        (SHAPES["ReplayEnding"], Ending),
    ],
    ids=[
        "ExplainRequest",
        "Described",
        "Explanation",
        "Permission",
        "Explained",
        "Clause",
        "DryRun",
        "Ending",
    ],
)
def test_shapes_have_the_members_of_their_structs(
    shape: dict[str, Any], struct: type[msgspec.Struct]
) -> None:
    """What may be left out is not required."""
    fields = msgspec.structs.fields(struct)
    assert set(shape["properties"]) == {field.name for field in fields}
    left_out = struct is ExplainBody or struct is Described or struct.__struct_config__.omit_defaults
    required = {field.name for field in fields if field.required or not left_out}
    assert set(shape["required"]) == required


def test_a_position_has_the_members_that_are_written() -> None:
    """And one more where a date was asked for."""
    members = {field.name for field in msgspec.structs.fields(Held)}
    assert set(SHAPES["Position"]["required"]) == members
    assert set(SHAPES["Position"]["properties"]) == {*members, "at"}


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ({"from_id": "1"}, True),
        ({"from_date": "0", "to_id": "1"}, True),
        ({"from_id": None, "from_date": "0"}, True),
        ({}, False),
        ({"from_id": None}, False),
        ({"from_id": 1}, False),
    ],
)
def test_a_replay_needs_a_start(body: dict[str, Any], fits: bool) -> None:
    """Of either kind."""
    assert is_valid(SHAPES["ReplayRequest"], {"event_type": "a", "identifier": {}, **body}) is fits


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ({"sequence": 1}, True),
        ({"sequence": None, "event": {"identifier": {}}}, True),
        ({"dry_run": "1h", "sequence": 1}, True),
        ({}, False),
        ({"sequence": None}, False),
        ({"sequence": 1, "event": {"identifier": {}}}, False),
        ({"sequence": 0}, False),
        ({"dry_run": "soon"}, False),
    ],
)
def test_there_has_to_be_something_to_explain(body: dict[str, Any], fits: bool) -> None:
    """And not two events."""
    assert is_valid(SHAPES["ExplainRequest"], {"event_type": "a", "identifier": {}, **body}) is fits


def test_a_replay_has_the_forms_that_may_be_accepted() -> None:
    """One media type for each."""
    content = operation("replay")["responses"]["200"]["content"]
    assert set(content) == {form.value.decode() for form in Form}


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (SetupFailed, ["watch", "replay"]),
        (TooManyStreams, ["watch", "replay", "positionStream"]),
        (RangeRemoved, ["replay"]),
        (NoSuchEventType, ["position"]),
        (NotHeld, ["explain"]),
        (TooManyDryRuns, ["explain"]),
    ],
)
def test_the_service_s_own_refusals_are_described(error: type[AvisoError], names: list[str]) -> None:
    """Each row of its table is a status of the operations that it is for."""
    (status,) = [row.status for row in ROWS if row.error is error]
    for name in names:
        assert str(status) in operation(name)["responses"], name


@pytest.mark.parametrize("name", [name for name, _ in operations()])
def test_what_access_control_may_answer_is_described(name: str) -> None:
    """Of every operation, because it is asked before the route is."""
    assert {"401", "403", "503"} <= set(dict(operations())[name]["responses"])
