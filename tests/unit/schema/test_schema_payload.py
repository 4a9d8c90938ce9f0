"""Payload rules: presence, size, and JSON Schemas that are bounded in what they may cost."""

from __future__ import annotations

import time
from typing import Any

import pytest

from aviso_core.errors import PayloadRefused
from aviso_core.schema.model import PayloadRules
from aviso_core.schema.payload import (
    DEEPEST_NESTING,
    LARGEST_UNFOLDED,
    JsonSchemaRefused,
    PayloadCheck,
    compile_json_schema,
)

STEP: dict[str, Any] = {
    "type": "object",
    "required": ["step"],
    "properties": {
        "step": {"type": "integer", "minimum": 0},
        "files": {"type": "array", "items": {"$ref": "#/$defs/file"}},
    },
    "$defs": {"file": {"type": "string", "pattern": "^s3://"}},
}

# payload → the field at fault and what the message says, or None where it is taken.
CASES = [
    (PayloadRules(), b"null", None),
    (PayloadRules(required=True), b"0", None),
    (PayloadRules(required=True), b"null", ("payload", "Payload is required for notify operation")),
    (PayloadRules(max_bytes=4), b"1234", None),
    (PayloadRules(max_bytes=4), b"12345", ("payload", "Payload is 5 bytes, maximum is 4 bytes")),
    (PayloadRules(json_schema=STEP), b"null", None),
    (PayloadRules(json_schema=STEP), b'{"step":4,"files":["s3://a"]}', None),
    (PayloadRules(json_schema=STEP), b'{"step":-1}', ("payload.step", "-1 is less than the minimum of 0")),
    (PayloadRules(json_schema=STEP), b'{"step":4,"files":["s3://a","b"]}', ("payload.files[1]", "does not match")),
    (PayloadRules(json_schema=STEP), b"[]", ("payload", "is not of type")),
    (PayloadRules(json_schema=STEP), b'{"step":100000000000000000000}', None),
    (PayloadRules(json_schema=STEP), b'{"step":' + b"9" * 5000 + b"}", ("payload", "so many digits")),
    (PayloadRules(), b'{"step":' + b"9" * 5000 + b"}", None),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "payload", "refusal"), CASES)
def test_a_payload_is_what_its_rules_ask_for(
    rules: PayloadRules, payload: bytes, refusal: tuple[str, str] | None
) -> None:
    check = PayloadCheck(rules)
    if refusal is None:
        check.check(payload)
        return
    field, message = refusal
    with pytest.raises(PayloadRefused) as caught:
        check.check(payload)
    assert caught.value.field == field
    assert message in caught.value.message


def test_a_long_refusal_is_cut() -> None:
    """The message quotes the value at fault, and that may be a quarter of a megabyte."""
    with pytest.raises(PayloadRefused) as caught:
        PayloadCheck(PayloadRules(json_schema={"type": "integer"})).check(b'"' + b"x" * 100_000 + b'"')
    assert len(caught.value.message) < 400


def _doubling(levels: int) -> dict[str, Any]:
    """Each level refers twice to the next: small to write, two to the power of the levels to unfold."""
    parts = {f"l{level}": {"allOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2} for level in range(levels)}
    return {"$ref": "#/$defs/l0", "$defs": {**parts, f"l{levels}": {"type": "integer"}}}


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"not": schema}
    return schema


REFUSED = [
    ({"$ref": "https://example.org/schema.json"}, "leaves the schema"),
    ({"$ref": "other.json#/a"}, "leaves the schema"),
    ({"$ref": "#anchor"}, "leaves the schema"),
    ({"$ref": "#/$defs/none"}, "names nothing in the schema"),
    ({"properties": {"next": {"$ref": "#"}}}, "leads back to itself"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}, "leads back to itself"),
    (
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}},
        "leads back to itself",
    ),
    ({"$dynamicRef": "#a"}, "$dynamicRef is not supported"),
    ({"properties": {"a": {"$id": "https://example.org/"}}}, "$id is taken at the top of the schema only"),
    (_doubling(30), f"at most {LARGEST_UNFOLDED}"),
    ({"pattern": "(?=a)"}, "regex"),
    ({"pattern": r"(a)\1"}, "regex"),
    ({"pattern": "("}, "regex"),
    ({"type": "text"}, "is not valid"),
    ({"$schema": "https://example.org/mine"}, "meta-schema"),
    (_nested(DEEPEST_NESTING + 1), f"nested more than {DEEPEST_NESTING} levels deep"),
    # The most that an API server takes: nothing may recurse over it.
    (_nested(10_000), f"nested more than {DEEPEST_NESTING} levels deep"),
]


@pytest.mark.parametrize(("schema", "message"), REFUSED)
def test_a_json_schema_that_cannot_be_bounded_or_used_is_refused(
    schema: dict[str, Any], message: str
) -> None:
    with pytest.raises(JsonSchemaRefused) as caught:
        compile_json_schema(schema)
    assert message in str(caught.value)


def test_the_deepest_schema_that_is_taken_can_be_used() -> None:
    assert compile_json_schema(_nested(DEEPEST_NESTING)).is_valid(1) is (DEEPEST_NESTING % 2 == 1)


def test_the_costliest_schema_that_is_taken_stays_within_seconds() -> None:
    """As many conditions as may be, on as many values as fit into a payload."""
    conditions = [{"minimum": -number} for number in range((LARGEST_UNFOLDED - 10) // 2)]
    check = PayloadCheck(PayloadRules(json_schema={"items": {"allOf": conditions}}))
    payload = b"[" + b",".join([b"1"] * 120_000) + b"]"
    began = time.process_time()
    check.check(payload)
    assert time.process_time() - began < 10
