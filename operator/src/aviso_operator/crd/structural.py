"""Types → the structural schema of the API server: a type everywhere, nothing open, every default spelled out.

It takes what msgspec knows of a type: bounds from `Meta`, choices from `Literal`, defaults from the struct. A default
of a block is written in full, because the API server judges its rules before it fills in what is below a default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec import inspect

from aviso_core.plain.decode import required_type, type_of
from aviso_operator.crd.texts import field_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

# One node of the schema. It is written out and never read by our own code.
Node: TypeAlias = dict[str, Any]

_LARGEST: Final = 2**63 - 1
_LARGEST_INT32: Final = 2**31 - 1


def object_node(kind: type[msgspec.Struct]) -> Node:
    """Return the node of a struct, with all that is below it."""
    texts = field_texts(kind)
    fields = type_of(kind).fields
    node: Node = {"type": "object"}
    required = [field.encode_name for field in fields if field.required]
    if required:
        node["required"] = required
    node["properties"] = {
        field.encode_name: {"description": texts[field.name], **_node(field.type), **_default(field)}
        for field in fields
    }
    return node


def node_at(root: Node, path: str) -> Node:
    """Return the node at a path such as `spec.identifiers[].enum`; `[]` is the entries of a list."""
    node = root
    for step in filter(None, path.split(".")):
        name, _, entries = step.partition("[")
        node = node["properties"][name]
        if entries:
            node = node["items"]
    return node


def _node(wanted: inspect.Type) -> Node:
    match required_type(wanted):
        case inspect.Metadata(type=inner, extra_json_schema=keywords):
            return {**_node(inner), **_keywords(keywords or {})}
        case inspect.StructType(cls=cls):
            return object_node(cls)
        case inspect.VarTupleType() as described:
            bounds = _bounds(minItems=described.min_length, maxItems=described.max_length)
            return {"type": "array", **bounds, "items": _node(described.item_type)}
        case inspect.DictType():
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.IntType() as described:
            return _integer(described)
        case inspect.StrType() as described:
            return {"type": "string", **_text_bounds(described)}
        case inspect.LiteralType(values=values):
            return _choice(values)
        case inspect.UnionType(types=members):
            return _integer_or_text(members)
        case inspect.DateTimeType():
            return {"type": "string", "format": "date-time"}
        case other:
            raise AssertionError(f"no resource has a member of the type {other}")


def _keywords(extra: Mapping[str, Any]) -> Node:
    """Return what a type adds for the API server; what it says to people in its description is told elsewhere."""
    return {key: value for key, value in extra.items() if key != "description"}


def _bounds(**limits: int | str | None) -> Node:
    return {name: limit for name, limit in limits.items() if limit is not None}


def _integer(described: inspect.IntType) -> Node:
    least, most = described.ge, described.le
    is_small = least is not None and most is not None and most <= _LARGEST_INT32
    return {
        "type": "integer",
        "format": "int32" if is_small else "int64",
        # The limits of the format itself need not be said, and say nothing to people.
        **_bounds(
            minimum=None if least == -_LARGEST - 1 else least, maximum=None if most == _LARGEST else most
        ),
    }


def _text_bounds(described: inspect.StrType) -> Node:
    return _bounds(minLength=described.min_length, maxLength=described.max_length, pattern=described.pattern)


def _choice(values: tuple[object, ...]) -> Node:
    return {"type": "integer" if isinstance(values[0], int) else "string", "enum": sorted(values, key=str)}


def _integer_or_text(members: tuple[inspect.Type, ...]) -> Node:
    number, text = members
    assert isinstance(number, inspect.IntType)
    node = _node(text)
    del node["type"]
    return {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}], **node}


def _default(field: inspect.Field) -> Node:
    """Return the default of a member, if what it has when left out is to be stored."""
    if field.required:
        return {}
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return {} if _is_nothing(value) else {"default": _plain(value)}


def _plain(value: object) -> object:
    plain = msgspec.to_builtins(value)
    if not isinstance(plain, dict):
        return plain
    return {key: inner for key, inner in plain.items() if not _is_nothing(inner)}


def _is_nothing(value: object) -> bool:
    return value is None or value in ("", ())
