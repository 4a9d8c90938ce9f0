"""What a payload must be: its presence, its size, and a JSON Schema that is compiled once and bounded in time.

A schema is somebody's input too. It may not fetch anything (`$ref` stays inside it), its patterns are matched in
linear time, and it may not unfold into more than a fixed number of values: references that lead back to themselves
could otherwise take exponential time over a payload of a few kilobytes. So the work is at most the number of values
in the unfolded schema times the number of values in the payload.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from aviso_core import json_text
from aviso_core.errors import PayloadRefused
from aviso_core.schema.model import PayloadRules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aviso_core.fields.base import JsonSchema

LARGEST_UNFOLDED: Final = 1_000
# A file with a manifest may nest four levels more; what works on a schema recurses over it.
DEEPEST_NESTING: Final = 60
_PATTERN_LIMIT: Final = jsonschema_rs.RegexOptions(size_limit=1_000_000)
_LONGEST_REASON: Final = 300
_DYNAMIC_KEYWORDS: Final = ("$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor")


class JsonSchemaRefused(ValueError):
    """The JSON Schema cannot be used; the message says why and what to do."""


class PayloadCheck:
    """The rules for the payloads of one event type, ready to use."""

    def __init__(self, rules: PayloadRules | None) -> None:
        self._rules = rules or PayloadRules()
        schema = self._rules.json_schema
        self._validator = None if schema is None else compile_json_schema(schema)

    def check(self, payload: bytes) -> None:
        """Refuse a payload, given as compact JSON, that is not what the schema asks for."""
        rules = self._rules
        if rules.required and payload == b"null":
            raise PayloadRefused(
                "Payload is required for notify operation based on schema configuration", field="payload"
            )
        if len(payload) > rules.max_bytes:
            raise PayloadRefused(
                f"Payload is {len(payload)} bytes, maximum is {rules.max_bytes} bytes", field="payload"
            )
        if self._validator is not None and payload != b"null":
            self._validate(json_text.decode(payload))

    def _validate(self, value: object) -> None:
        assert self._validator is not None
        if json_text.holds_long_integer(value):
            raise PayloadRefused(
                "Payload holds an integer with so many digits that it cannot be checked against the JSON Schema",
                field="payload",
            )
        if self._validator.is_valid(value):
            return
        error = next(iter(self._validator.iter_errors(value)))
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
        raise PayloadRefused(
            f"Payload does not match the JSON Schema at 'payload{path}': {_shorten(error.message)}",
            field=f"payload{path}",
        )


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"


def compile_json_schema(schema: JsonSchema) -> jsonschema_rs.Validator:
    """Return the validator of a schema that keeps the bounds."""
    _check_nesting(schema)
    _Unfolding(schema).check()
    try:
        return jsonschema_rs.validator_for(schema, offline=True, pattern_options=_PATTERN_LIMIT)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise JsonSchemaRefused(_first_line(error)) from error


def _check_nesting(schema: JsonSchema) -> None:
    """Refuse what is nested too deeply, without recursing: an API server takes ten thousand levels."""
    level: list[object] = [schema]
    for _ in range(DEEPEST_NESTING):
        level = [item for value in level for item in _items(value) if isinstance(item, dict | list)]
        if not level:
            return
    raise JsonSchemaRefused(
        f"it is nested more than {DEEPEST_NESTING} levels deep: describe less of the payload"
    )


def _items(value: object) -> Iterable[object]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
        case _:
            return ()


def _first_line(error: Exception) -> str:
    message = getattr(error, "message", None) or str(error)
    return _shorten(message.strip().splitlines()[0])


class _Unfolding:
    """Counts the values of a schema with every reference replaced by what it names."""

    def __init__(self, schema: JsonSchema) -> None:
        self._root = schema
        self._sizes: dict[str, int] = {}
        self._open: set[str] = set()

    def check(self) -> None:
        """Refuse references that leave the schema or lead back to themselves, and what unfolds too far."""
        for keyword in _keywords(self._root):
            if keyword in _DYNAMIC_KEYWORDS:
                raise JsonSchemaRefused(f"{keyword} is not supported: write a $ref to '#/$defs/…'")
        size = self._size(self._root, is_root=True)
        if size > LARGEST_UNFOLDED:
            raise JsonSchemaRefused(
                f"it unfolds to {size} values, at most {LARGEST_UNFOLDED} are taken: describe less of the payload"
            )

    def _size(self, value: object, *, is_root: bool = False) -> int:
        match value:
            case dict():
                if not is_root and isinstance(value.get("$id"), str):
                    raise JsonSchemaRefused("$id is taken at the top of the schema only")
                total = 1 + sum(self._size(item) for item in value.values())
                reference = value.get("$ref")
                return total + self._size_of_reference(reference) if isinstance(reference, str) else total
            case list():
                return 1 + sum(self._size(item) for item in value)
            case _:
                return 1

    def _size_of_reference(self, reference: str) -> int:
        if not reference.startswith("#/") and reference != "#":
            raise JsonSchemaRefused(
                f"$ref '{reference}' leaves the schema: only '#/…' is taken, nothing is ever fetched"
            )
        if reference in self._open or reference == "#":
            raise JsonSchemaRefused(
                f"$ref '{reference}' leads back to itself: its cost cannot be bounded, "
                "write the levels that occur out"
            )
        if reference not in self._sizes:
            self._open.add(reference)
            self._sizes[reference] = self._size(_resolve(self._root, reference))
            self._open.remove(reference)
        return self._sizes[reference]


def _keywords(value: object) -> Iterator[str]:
    match value:
        case dict():
            for name, item in value.items():
                yield name
                yield from _keywords(item)
        case list():
            for item in value:
                yield from _keywords(item)
        case _:
            return


def _resolve(root: JsonSchema, reference: str) -> Any:
    value: Any = root
    for escaped in reference[2:].split("/"):
        step = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise JsonSchemaRefused(f"$ref '{reference}' names nothing in the schema")
    return value
