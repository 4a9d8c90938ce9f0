"""Whether a Struct's texts and lists keep to the patterns and lengths of its own types, with every fault at once.

`decode` reads types, and what has the wrong one cannot be built. A text that is too long can, so that whoever reads
the faults is also told what is wrong beside it. A `description` in a type's `Meta` says what the text should have
been: "'Alert' is no topic base: [a-z][a-z0-9_-]*, at most 32 characters".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import inspect

from aviso_core.errors import Fault
from aviso_core.plain.decode import below, required_type, type_of
from aviso_core.plain.scalar import shown

if TYPE_CHECKING:
    from collections.abc import Iterator


def bound_faults(value: msgspec.Struct, path: str = "") -> Iterator[Fault]:
    """Yield what is out of bounds in a Struct and in those below it, in the order of its members."""
    for field in type_of(type(value)).fields:
        yield from _faults(field.type, getattr(value, field.name), below(path, field.encode_name))


def _faults(wanted: inspect.Type, value: object, path: str) -> Iterator[Fault]:
    if value is None:
        return
    wanted = required_type(wanted)
    if isinstance(wanted, inspect.UnionType):
        # A number or text: the bounds are those of the text.
        wanted = next(filter(_is_text, wanted.types))
    description = None
    if isinstance(wanted, inspect.Metadata):
        description = (wanted.extra_json_schema or {}).get("description")
        wanted = wanted.type
    match wanted, value:
        case inspect.StrType(), str():
            yield from _text_faults(wanted, value, path, description)
        case inspect.VarTupleType(), tuple():
            yield from _length_faults(wanted, value, path, "entries")
            for place, item in enumerate(value):
                yield from _faults(wanted.item_type, item, f"{path}[{place}]")
        case inspect.StructType(), msgspec.Struct():
            yield from bound_faults(value, path)


def _is_text(described: inspect.Type) -> bool:
    inner = described.type if isinstance(described, inspect.Metadata) else described
    return isinstance(inner, inspect.StrType)


def _text_faults(wanted: inspect.StrType, text: str, path: str, description: str | None) -> Iterator[Fault]:
    if description is None:
        yield from _length_faults(wanted, text, path, "characters")
    elif not _has_length(wanted, text) or not re.fullmatch(wanted.pattern or ".*", text, re.ASCII):
        yield Fault(path=path, message=f"{shown(text)} is no {description}", remedy="write one")


def _length_faults(
    wanted: inspect.StrType | inspect.VarTupleType, value: str | tuple[object, ...], path: str, things: str
) -> Iterator[Fault]:
    if _has_length(wanted, value):
        return
    if not value:
        yield Fault(path=path, message="must not be empty", remedy="fill it, or leave it out")
    else:
        bounds = f"{wanted.min_length or 0} to {wanted.max_length}"
        yield Fault(path=path, message=f"must have {bounds} {things}, has {len(value)}", remedy="shorten it")


def _has_length(wanted: inspect.StrType | inspect.VarTupleType, value: str | tuple[object, ...]) -> bool:
    return (wanted.min_length or 0) <= len(value) and (
        wanted.max_length is None or len(value) <= wanted.max_length
    )
