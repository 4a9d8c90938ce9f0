"""Environment variables that override the files: `AVISOSERVER_WATCH_ENDPOINT__REPLAY_BATCH_SIZE=200`.

The part after the prefix is the path of a key, in any case, with `__` between its parts. A variable can set one
value; a list, a mapping or a whole block belongs in a file. A name that leads nowhere is ignored, because a cluster
puts variables of its own into every container and some may begin like ours, but not inside of a block that refuses
unknown keys. An empty value is a value.

Only the names are looked at here. The text becomes a number or a truth value where the files' values are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import inspect

from aviso_core.errors import Fault
from aviso_core.plain.decode import below, required_type, type_of, unknown_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PREFIX: Final = "AVISOSERVER_"
_NAME: Final = re.compile(rf"{PREFIX}(.+)", re.ASCII | re.IGNORECASE | re.DOTALL)


def overrides(
    kind: type[msgspec.Struct], environ: Mapping[str, str]
) -> tuple[dict[str, object], list[Fault]]:
    """Return the values that the environment sets, as a file would have them, and the variables at fault."""
    values: dict[str, object] = {}
    faults: list[Fault] = []
    # Of two spellings of one name the upper-case one, which sorts first, is applied last and wins.
    for name in sorted(environ, reverse=True):
        keys = _keys(name)
        outcome = _resolve(type_of(kind), keys) if keys else False
        if isinstance(outcome, Fault):
            faults.append(_named(outcome, name))
        elif outcome:
            _put(values, keys, environ[name])
    return values, faults[::-1]


def lookup(environ: Mapping[str, str], name: str) -> str | None:
    """Return the value of one of our variables, whatever the case of its name."""
    spellings = sorted(candidate for candidate in environ if candidate.upper() == name)
    return environ[spellings[0]] if spellings else None


def _keys(name: str) -> list[str]:
    match = _NAME.fullmatch(name)
    return match[1].lower().split("__") if match else []


def _resolve(wanted: inspect.Type, keys: Sequence[str], path: str = "") -> Fault | bool:
    """Tell whether the keys lead to one value, or return why a variable must not be called that."""
    match required_type(wanted):
        case inspect.StructType() as block if keys:
            return _resolve_in(block, keys, path)
        case inspect.StructType() | inspect.DictType() | inspect.VarTupleType():
            return Fault(path=path, message="is not one value", remedy="write it in the configuration file")
    if keys:
        return Fault(path=path, message="is one value and has nothing below it", remedy="correct the name")
    return True


def _resolve_in(block: inspect.StructType, keys: Sequence[str], path: str) -> Fault | bool:
    types = {field.encode_name: field.type for field in block.fields}
    if keys[0] in types:
        return _resolve(types[keys[0]], keys[1:], below(path, keys[0]))
    return unknown_key(path, keys[0], types) if block.forbid_unknown_fields else False


def _named(fault: Fault, name: str) -> Fault:
    variable = name if name.isprintable() else repr(name)
    message = f"{fault.message}, but the environment variable {variable} sets it"
    return msgspec.structs.replace(fault, message=message)


def _put(values: dict[str, object], keys: Sequence[str], text: str) -> None:
    block = values
    for key in keys[:-1]:
        inner = block.setdefault(key, {})
        assert isinstance(inner, dict), "a name that leads to a value leads through blocks"
        block = inner
    block[keys[-1]] = text
