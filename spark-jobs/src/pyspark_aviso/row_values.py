"""Arrow columns as the values that lines are made of: identifiers as texts, payloads as JSON text, times as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pyspark_aviso.ids import canonical_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types


class RowFault(ValueError):
    """A row cannot be written as a notification; the message says why, and `field` which column is at fault."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


_decode: Final = msgspec.json.Decoder(str).decode
_LITERAL: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


def identifier_values(column: pa.Array) -> list[dict[str, str] | RowFault]:
    """Return the identifiers, their names sorted; what is null in one is left out of it."""
    from pyarrow import types

    if types.is_map(column.type):
        if not (types.is_string(column.type.key_type) and types.is_string(column.type.item_type)):
            raise ValueError("column 'identifier' must be a map of texts to texts, or a struct of the fields")
        return _of_map(column)
    if types.is_struct(column.type):
        fields = [column.type.field(place) for place in range(column.type.num_fields)]
        texts = {
            field.name: scalar_texts(column.field(place), f"identifier.{field.name}")
            for place, field in enumerate(fields)
        }
        return _of_struct(column, dict(sorted(texts.items())))
    raise ValueError("column 'identifier' must be a map of texts to texts, or a struct of the fields")


_NO_IDENTIFIER: Final = "the row has no identifier"


def _of_map(column: pa.Array) -> list[dict[str, str] | RowFault]:
    # Row by row as tuples is what Arrow offers; the flat columns and where each row begins is three times as fast.
    # Of a part of an array the flat columns are still those of the whole, and the offsets count in them.
    keys, items, offsets = column.keys.to_pylist(), column.items.to_pylist(), column.offsets.to_pylist()
    is_null = column.is_null().to_pylist() if column.null_count else None
    found: list[dict[str, str] | RowFault] = []
    sorted_names: list[str] | None = None
    for row in range(len(column)):
        if is_null is not None and is_null[row]:
            found.append(RowFault(_NO_IDENTIFIER, field="identifier"))
            continue
        names, texts = keys[offsets[row] : offsets[row + 1]], items[offsets[row] : offsets[row + 1]]
        # As a rule all rows have the same names in the same order, and then one look at them is enough.
        if names != sorted_names:
            if sorted(names) != names:
                names, texts = _sorted_by_name(names, texts)
            sorted_names = names
        identifier = dict(zip(names, texts, strict=True))
        if None in texts:
            identifier = {name: text for name, text in identifier.items() if text is not None}
        found.append(identifier)
    return found


def _sorted_by_name(names: list[str], texts: list[str]) -> tuple[list[str], list[str]]:
    places = sorted(range(len(names)), key=names.__getitem__)
    return [names[place] for place in places], [texts[place] for place in places]


def _of_struct(column: pa.Array, texts: Mapping[str, list[str | None]]) -> list[dict[str, str] | RowFault]:
    is_null = column.is_null().to_pylist()
    found: list[dict[str, str] | RowFault] = []
    for row in range(len(column)):
        if is_null[row]:
            found.append(RowFault(_NO_IDENTIFIER, field="identifier"))
        else:
            found.append({name: text for name, values in texts.items() if (text := values[row]) is not None})
    return found


def scalar_texts(column: pa.Array, name: str) -> list[str | None]:
    """Return values as identifiers spell them: only kinds that have one spelling."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_string(kind):
        values: list[str | None] = column.to_pylist()
        return values
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_date(kind):
        texts: list[str | None] = column.cast(pa.string()).to_pylist()
        return texts
    raise ValueError(
        f"column '{name}' is of type {kind}, which has more than one spelling: make a text of it, "
        "for example with date_format or format_string"
    )


def text_values(column: pa.Array, name: str) -> list[str | None]:
    """Return a column of texts."""
    from pyarrow import types

    if not types.is_string(column.type):
        raise ValueError(f"column '{name}' must be text, not {column.type}")
    values: list[str | None] = column.to_pylist()
    return values


def time_values(column: pa.Array) -> list[str | None]:
    """Return times as the service reads them."""
    import pyarrow as pa
    from pyarrow import compute, types

    if not types.is_timestamp(column.type):
        return text_values(column, "time")
    if column.type.tz is None:
        raise ValueError("column 'time' is a timestamp without a zone: cast it to timestamp")
    instants = column.cast(pa.timestamp("us", tz="UTC"))
    texts: list[str | None] = compute.strftime(instants, format="%Y-%m-%dT%H:%M:%SZ").to_pylist()
    return texts


def payload_values(column: pa.Array) -> list[str | None]:
    """Return payloads as JSON text: text is JSON already, a VARIANT is spelt out, anything else is encoded."""
    from pyarrow import types

    kind = column.type
    if types.is_string(kind):
        values: list[str | None] = column.to_pylist()
        return values
    if types.is_null(kind):
        return [None] * len(column)
    if is_variant(kind):
        return [None if value is None else _variant_text(value) for value in column.to_pylist()]
    if types.is_struct(kind) or types.is_list(kind) or types.is_map(kind):
        return [
            None if value is None else canonical_json(_plain(value, kind)).decode()
            for value in column.to_pylist()
        ]
    raise ValueError(f"column 'payload' must be JSON text, a struct, a map, a list or a VARIANT, not {kind}")


def is_variant(kind: pa.DataType) -> bool:
    """Tell whether this is how Spark hands over a VARIANT."""
    from pyarrow import types

    if not types.is_struct(kind) or kind.num_fields != 2:
        return False
    metadata = next((field for field in kind if field.name == "metadata"), None)
    return metadata is not None and (metadata.metadata or {}).get(b"variant") == b"true"


def _variant_text(value: Mapping[str, bytes]) -> str:
    from pyspark.sql.types import VariantVal

    text = str(VariantVal(value["value"], value["metadata"]).toJson())
    # It escapes whatever is not ASCII, which Spark's own to_json does not.
    return (
        _LITERAL.sub(lambda literal: canonical_json(_decode(literal[0])).decode(), text)
        if "\\u" in text
        else text
    )


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Return a value with maps as objects; Arrow gives them as pairs."""
    from pyarrow import types

    if value is None:
        return None
    if types.is_struct(kind):
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    if types.is_list(kind):
        return [_plain(one, kind.value_type) for one in value]
    if types.is_map(kind):
        return {str(key): _plain(one, kind.item_type) for key, one in value}
    return value
