"""The column `payload` as JSON: text is JSON already, a VARIANT is spelt out, what is nested is encoded.

Only kinds of values with one spelling in JSON are encoded, spelt as Spark's `to_json` spells them with our options
(`sql_encoding`). Fractions are the exception: their digits are Python's here and Java's there.
"""

from __future__ import annotations

import math
import re
from datetime import UTC
from decimal import localcontext
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from pyspark_aviso.ids import canonical_json
from pyspark_aviso.json_texts import json_texts
from pyspark_aviso.row_values import RowFault, is_text, text_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

    from pyspark_aviso.row_values import Faults

_decode: Final = msgspec.json.Decoder(str).decode
_MOST_DIGITS: Final = 38
# Letters that are none, dates that Python has not, and a VARIANT that is nested too deeply or broken.
_UNSAYABLE: Final = (ValueError, OverflowError, RecursionError)
Value = TypeVar("Value")
_LITERAL: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


def written_payloads(column: pa.Array, faults: Faults) -> list[bytes | None]:
    """Return payloads as JSON; None where a row has none."""
    from pyarrow import types

    kind = column.type
    if is_text(kind):
        return json_texts(text_values(column, "payload", faults), "payload", faults)
    if types.is_null(kind):
        return [None] * len(column)
    if is_variant(kind):
        return json_texts(_variant_texts(column, faults), "payload", faults)
    if types.is_struct(kind) or _is_list(kind) or types.is_map(kind):
        return _of_nested(column, faults)
    raise ValueError(
        f"column 'payload' must be JSON text, a struct, a map, a list or a VARIANT, not {kind}: "
        "use to_json(struct(...)), or to_variant_object"
    )


def _of_nested(column: pa.Array, faults: Faults) -> list[bytes | None]:
    plain = _converter(column.type, "payload")
    return _each(
        _values(column, faults),
        lambda value: canonical_json(value if plain is None else plain(value)),
        faults,
    )


def _variant_texts(column: pa.Array, faults: Faults) -> list[str | None]:
    return _each(_values(column, faults), variant_text, faults)


def _values(column: pa.Array, faults: Faults) -> list[Any]:
    """Return values as Python has them. Arrow and Spark have some that it has not: a date of the year 10000."""
    try:
        return list(column.to_pylist())
    except _UNSAYABLE:
        return _each(column, lambda scalar: scalar.as_py(), faults)


def _each(values: Iterable[Any], write: Callable[[Any], Value], faults: Faults) -> list[Value | None]:
    """Return what is written of each value; where that fails it is a fault of the row."""
    found: list[Value | None] = []
    for row, value in enumerate(values):
        try:
            found.append(None if value is None else write(value))
        except RowFault as fault:
            faults.setdefault(row, fault)
            found.append(None)
        except _UNSAYABLE as error:
            told = f"the payload has a value that cannot be written as JSON ({error}): make a text of it"
            faults.setdefault(row, RowFault(told, field="payload"))
            found.append(None)
    return found


# --- values that JSON says in another way than Arrow -------------------------------------------------------------


def _converter(kind: pa.DataType, path: str) -> Callable[[Any], Any] | None:
    """Return what makes values of a kind such as are encoded, or None where they are already."""
    from pyarrow import types

    if types.is_floating(kind):
        return lambda value: _finite(value, path)
    if types.is_timestamp(kind):
        return _instant if kind.tz is not None else _local_time
    if is_variant(kind):
        return lambda value: None if value is None else _checked_variant(value, path)
    if types.is_struct(kind):
        return _of_struct({field.name: _converter(field.type, f"{path}.{field.name}") for field in kind})
    if _is_list(kind):
        return _of_list(_converter(kind.value_type, f"{path}[]"))
    if types.is_map(kind) and (is_text(kind.key_type) or types.is_integer(kind.key_type)):
        return _of_map(_converter(kind.item_type, f"{path}[]"))
    one_spelling = (
        types.is_integer,
        types.is_boolean,
        types.is_decimal,
        types.is_date,
        types.is_null,
        types.is_binary,
        types.is_large_binary,
    )
    if is_text(kind) or any(is_such(kind) for is_such in one_spelling):
        return None
    raise ValueError(f"'{path}' is of type {kind}, of which there is no JSON: make a text of it")


def _is_list(kind: pa.DataType) -> bool:
    """Tell whether it is a list, however large Spark was told to make it."""
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind))


def _of_struct(fields: Mapping[str, Callable[[Any], Any] | None]) -> Callable[[Any], Any] | None:
    changed = {name: plain for name, plain in fields.items() if plain is not None}
    if not changed:
        return None
    return lambda value: (
        None if value is None else {**value, **{name: plain(value[name]) for name, plain in changed.items()}}
    )


def _of_list(plain: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    if plain is None:
        return None
    return lambda value: None if value is None else [plain(one) for one in value]


def _of_map(plain: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    # Arrow gives maps as pairs.
    if plain is None:
        return lambda value: None if value is None else {str(key): one for key, one in value}
    return lambda value: None if value is None else {str(key): plain(one) for key, one in value}


def _finite(value: float | None, path: str) -> float | None:
    if value is not None and not math.isfinite(value):
        raise RowFault(
            f"{path} is {value}, which JSON cannot say: make it null or a text (nanvl, nullif)", field=path
        )
    return value


def _instant(value: Any) -> str | None:
    if value is None:
        return None
    return str(value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")) + "Z"


def _local_time(value: Any) -> str | None:
    return None if value is None else str(value.isoformat(timespec="microseconds"))


# --- VARIANT -----------------------------------------------------------------------------------------------------


def is_variant(kind: pa.DataType) -> bool:
    """Tell whether this is how Spark hands over a VARIANT."""
    from pyarrow import types

    if not types.is_struct(kind) or kind.num_fields != 2:
        return False
    metadata = next((field for field in kind if field.name == "metadata"), None)
    return metadata is not None and (metadata.metadata or {}).get(b"variant") == b"true"


def variant_text(value: Mapping[str, bytes]) -> str:
    """Return a VARIANT as JSON text."""
    from pyspark.sql.types import VariantVal

    # Decimals of a VARIANT have up to 38 digits, and Python reckons with 28 where it is not told otherwise.
    with localcontext(prec=_MOST_DIGITS):
        text = str(VariantVal(value["value"], value["metadata"]).toJson())
    # It escapes whatever is not ASCII, which Spark's own to_json does not.
    return (
        _LITERAL.sub(lambda literal: canonical_json(_decode(literal[0])).decode(), text)
        if "\\u" in text
        else text
    )


def _checked_variant(value: Mapping[str, bytes], path: str) -> msgspec.Raw:
    faults: Faults = {}
    (data,) = json_texts([variant_text(value)], path, faults)
    if faults:
        raise faults[0]
    assert data is not None
    return msgspec.Raw(data)
