"""Plain values into a tree of Structs, with every fault at once.

msgspec can convert too, but it stops at the first fault, and a configuration with five mistakes should take one start
to mend and not five. The Struct types stay the only specification: fields, defaults, bounds and whether unknown keys
are refused (`forbid_unknown_fields`) are read from them.

A key without a value (null) counts as absent: a block whose keys are all commented out leaves the defaults standing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import inspect

from aviso_core.errors import Fault
from aviso_core.plain.scalar import Mismatch, coerce, noun

T = TypeVar("T", bound=msgspec.Struct)

# What was read, and what is wrong with it; with faults the value is of no use.
_Reading: TypeAlias = tuple[object, list[Fault]]
# One scalar against its type: the value as that type, or the mismatch.
Scalar: TypeAlias = Callable[[inspect.Type, object], object]


def decode(
    kind: type[T], raw: object, *, path: str = "", scalar: Scalar = coerce
) -> tuple[T | None, list[Fault]]:
    """Return the Struct that the plain values describe, or None and everything that is wrong with them.

    Mappings in them have text as keys, as those of `yaml_mapping` do. `path` is where the values stand in what was
    read: faults are named below it. `scalar` says what is taken for what.
    """
    value, faults = _read(type_of(kind), raw, path, scalar)
    if faults:
        return None, faults
    assert isinstance(value, kind)
    return value, []


@lru_cache(maxsize=128)
def type_of(kind: type[msgspec.Struct]) -> inspect.StructType:
    """Return what msgspec knows of a Struct class; finding it out takes longer than reading a configuration."""
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    return described


def required_type(described: inspect.Type) -> inspect.Type:
    """Return the type that a value has when there is one: `int` of `int | None`; a choice of several stays one."""
    if not isinstance(described, inspect.UnionType):
        return described
    members = tuple(member for member in described.types if not isinstance(member, inspect.NoneType))
    return members[0] if len(members) == 1 else inspect.UnionType(members)


def unknown_key(path: str, key: str, known: Iterable[str]) -> Fault:
    """Return the fault of a key that a strict block does not have, with the key that was probably meant."""
    names = list(known)
    close = get_close_matches(key, names, n=1)
    remedy = f"did you mean '{close[0]}'?" if close else f"known here: {', '.join(names)}"
    return Fault(path=below(path, key), message="is not a known setting", remedy=remedy)


def below(path: str, key: str) -> str:
    """Return the dotted path of a key; one that would not print as it stands is quoted."""
    name = key if key.isprintable() and key else repr(key)
    return f"{path}.{name}" if path else name


def _read(wanted: inspect.Type, raw: object, path: str, scalar: Scalar) -> _Reading:
    wanted = required_type(wanted)
    match wanted:
        case inspect.Metadata(type=inner):
            return _read(inner, raw, path, scalar)
        case inspect.StructType():
            return _struct(wanted, raw, path, scalar)
        case inspect.VarTupleType():
            return _sequence(wanted, raw, path, scalar)
        case inspect.DictType():
            return _mapping(wanted, raw, path, scalar)
        case inspect.AnyType():
            return raw, []
        case inspect.CustomType(cls=cls) if cls is object:
            return raw, []
    value = scalar(wanted, raw)
    if isinstance(value, Mismatch):
        return None, [Fault(path=path, message=value.message, remedy=value.remedy)]
    return value, []


def _struct(wanted: inspect.StructType, raw: object, path: str, scalar: Scalar) -> _Reading:
    if not isinstance(raw, Mapping):
        remedy = "write the settings of this block below it, as 'key: value'"
        return None, [Fault(path=path, message=f"{noun(raw)} is not a block of settings", remedy=remedy)]
    values: dict[str, object] = {}
    faults: list[Fault] = []
    for field in wanted.fields:
        value = raw.get(field.encode_name)
        if value is not None or field.required:
            values[field.name], found = _field(field, value, below(path, field.encode_name), scalar)
            faults += found
    faults += _unknown_keys(wanted, raw, path)
    return None if faults else wanted.cls(**values), faults


def _field(field: inspect.Field, value: object, path: str, scalar: Scalar) -> _Reading:
    if value is not None:
        return _read(field.type, value, path, scalar)
    if isinstance(field.type, inspect.StructType):
        # Of a block that is absent the required keys are missing, and those are what there is to write.
        return _struct(field.type, {}, path, scalar)
    return None, [Fault(path=path, message="is required and has no value", remedy=f"set {path}")]


def _unknown_keys(wanted: inspect.StructType, raw: Mapping[str, object], path: str) -> list[Fault]:
    if not wanted.forbid_unknown_fields:
        return []
    known = [field.encode_name for field in wanted.fields]
    return [unknown_key(path, key, known) for key in sorted(set(raw) - set(known))]


def _sequence(wanted: inspect.VarTupleType, raw: object, path: str, scalar: Scalar) -> _Reading:
    if not isinstance(raw, list):
        return None, [Fault(path=path, message=f"{noun(raw)} is not a list", remedy="write [a, b]")]
    readings = [_read(wanted.item_type, item, f"{path}[{index}]", scalar) for index, item in enumerate(raw)]
    return tuple(value for value, _ in readings), [fault for _, faults in readings for fault in faults]


def _mapping(wanted: inspect.DictType, raw: object, path: str, scalar: Scalar) -> _Reading:
    if not isinstance(raw, Mapping):
        return None, [Fault(path=path, message=f"{noun(raw)} is not a mapping", remedy="write 'key: value'")]
    readings = {key: _read(wanted.value_type, value, below(path, key), scalar) for key, value in raw.items()}
    values = {key: value for key, (value, _) in readings.items()}
    return values, [fault for _, faults in readings.values() for fault in faults]
