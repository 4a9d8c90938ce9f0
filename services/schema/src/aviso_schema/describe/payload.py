"""A payload's own JSON Schema inside a larger one, and a payload that fits it.

References of a payload schema never leave it (the core refuses others), but they count from its root. Inside another
document they have to count from that document's root, so they are moved along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from aviso_core.fields.base import JsonSchema
    from aviso_core.schema.model import PayloadRules

_NEWEST_DIALECTS: Final = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
)
# Below these keywords stand names, each with a schema; below those, plain values.
_KEYWORDS_OF_NAMES: Final = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
)
_KEYWORDS_OF_VALUES: Final = frozenset(("const", "enum", "default", "examples"))


def own_schema(rules: PayloadRules | None) -> JsonSchema:
    """Return the JSON Schema that payloads are checked against, as declared, or one that takes all."""
    return (rules.json_schema if rules else None) or {}


def payload_schema(rules: PayloadRules | None, *, pointer: str, is_stored: bool = False) -> JsonSchema:
    """Return what a payload may be, as it stands at a place of a document.

    `is_stored` describes the payloads of stored events instead of new ones: what was stored before a schema was
    changed is delivered as it is, so nothing is promised about it.
    """
    if is_stored:
        return {"description": "The published payload, null where there was none."}
    if rules is None:
        return {"description": "Any JSON; may be left out."}
    if rules.json_schema is None:
        return _some_payload(rules)
    schema = _embedded(
        rules.json_schema, f"{pointer}/anyOf/0" if not rules.required else f"{pointer}/allOf/1"
    )
    # A payload of null counts as none, and none is not looked at.
    return (
        {"allOf": [_some_payload(rules), schema]}
        if rules.required
        else {"anyOf": [schema, {"type": "null"}], "description": _size(rules)}
    )


def _some_payload(rules: PayloadRules) -> JsonSchema:
    described: JsonSchema = {"description": _size(rules)}
    return described | {"not": {"type": "null"}} if rules.required else described


def _size(rules: PayloadRules) -> str:
    return f"At most {rules.max_bytes} bytes of compact JSON."


def _embedded(schema: JsonSchema, pointer: str) -> JsonSchema:
    dialect = schema.get("$schema", _NEWEST_DIALECTS[0])
    if dialect not in _NEWEST_DIALECTS:
        return {"$comment": f"Also fits payload.schema.json, which is written in another dialect: {dialect}"}
    own = {keyword: value for keyword, value in schema.items() if keyword not in ("$schema", "$id")}
    moved: JsonSchema = _moved(own, pointer)
    return moved


def _moved(value: Any, pointer: str) -> Any:
    match value:
        case dict():
            return {keyword: _moved_keyword(keyword, inner, pointer) for keyword, inner in value.items()}
        case list():
            return [_moved(item, pointer) for item in value]
        case _:
            return value


def _moved_keyword(keyword: str, value: Any, pointer: str) -> Any:
    if keyword == "$ref" and isinstance(value, str):
        return pointer + value.removeprefix("#")
    if keyword in _KEYWORDS_OF_VALUES:
        return value
    if keyword in _KEYWORDS_OF_NAMES and isinstance(value, dict):
        return {name: _moved(schema, pointer) for name, schema in value.items()}
    return _moved(value, pointer)


# --- an example ------------------------------------------------------------------------------------------

_MOST_VALUES: Final = 1000
_TEXTS_OF_FORMATS: Final = {
    "date": "2025-07-06",
    "date-time": "2025-07-06T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "name@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/data",
    "uri-reference": "/data",
    "uuid": "5b0c2f0e-6c0a-4b39-9a43-2f7a7c0d9e10",
}


def likely_payloads(rules: PayloadRules | None) -> list[object]:
    """Return payloads to try, the most telling first. What fits is for the payload's check to say."""
    schema = rules.json_schema if rules else None
    plain: list[object] = [{"note": "ready"}, {}, "ready", [], 0, 1, True]
    if schema is None:
        return plain
    own = schema.get("examples")
    given = list(own) if isinstance(own, list) else []
    if "default" in schema:
        given.append(schema["default"])
    return [*given, _Maker(schema).value(schema), *plain]


class _Maker:
    """Makes a value that follows the common keywords of a schema; what it cannot follow it passes over.

    Nested arrays that ask for many items could make a value of any size, so it stops after a number of values.
    """

    def __init__(self, root: JsonSchema) -> None:
        self._root = root
        self._left = _MOST_VALUES

    def value(self, schema: Any) -> object:
        """Return a value for a part of the schema."""
        self._left -= 1
        if not isinstance(schema, dict) or self._left < 0:
            return {}
        if isinstance(schema.get("$ref"), str):
            beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
            return self.value({**_target(self._root, schema["$ref"]), **beside})
        for keyword in ("const", "default"):
            if keyword in schema:
                return schema[keyword]
        for keyword in ("examples", "enum"):
            if isinstance(schema.get(keyword), list) and schema[keyword]:
                return schema[keyword][0]
        for keyword in ("anyOf", "oneOf", "allOf"):
            if isinstance(schema.get(keyword), list) and schema[keyword] and "type" not in schema:
                return self.value(_merged(schema, keyword))
        return self._of_type(schema)

    def _of_type(self, schema: JsonSchema) -> object:
        kinds = schema.get("type", "object" if "properties" in schema or "required" in schema else None)
        match kinds[0] if isinstance(kinds, list) and kinds else kinds:
            case "object":
                return self._object(schema)
            case "array":
                return self._array(schema)
            case "string":
                return _text(schema)
            case "integer" | "number":
                return _number(schema)
            case "boolean":
                return True
            case "null":
                return None
            case _:
                return {}

    def _object(self, schema: JsonSchema) -> object:
        properties = schema.get("properties", {})
        names = [*properties, *(name for name in schema.get("required", []) if name not in properties)]
        return {name: self.value(properties.get(name, {})) for name in names}

    def _array(self, schema: JsonSchema) -> object:
        first = [self.value(item) for item in schema.get("prefixItems", [])]
        missing = min(schema.get("minItems", 1) - len(first), max(self._left, 0))
        return [*first, *(self.value(schema.get("items", {})) for _ in range(missing))]


def _merged(schema: JsonSchema, keyword: str) -> JsonSchema:
    parts = schema[keyword] if keyword == "allOf" else schema[keyword][:1]
    merged: JsonSchema = {name: value for name, value in schema.items() if name != keyword}
    for part in parts:
        if isinstance(part, dict):
            properties = {**merged.get("properties", {}), **part.get("properties", {})}
            required = [*merged.get("required", []), *part.get("required", [])]
            merged |= part
            merged |= {"properties": properties} if properties else {}
            merged |= {"required": required} if required else {}
    return merged


def _target(root: JsonSchema, reference: str) -> JsonSchema:
    value: Any = root
    for escaped in reference.removeprefix("#").split("/")[1:]:
        step = escaped.replace("~1", "/").replace("~0", "~")
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value if isinstance(value, dict) else {}


def _text(schema: JsonSchema) -> str:
    text = _TEXTS_OF_FORMATS.get(str(schema.get("format")), "text")
    least, most = schema.get("minLength", 0), schema.get("maxLength", len(text))
    return text.ljust(min(least, 1000), "x")[: max(least, most)]


def _number(schema: JsonSchema) -> object:
    for keyword in ("minimum", "maximum"):
        if keyword in schema:
            return schema[keyword]
    if "exclusiveMinimum" in schema:
        return schema["exclusiveMinimum"] + 1
    return schema.get("multipleOf", 1)
