"""Payloads as JSON: nested columns and VARIANTs say what they said, and what JSON has no word for is told."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from pyspark_aviso.payloads import written_payloads

if TYPE_CHECKING:
    from pyspark_aviso.row_values import Faults

_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)


def written(column: pa.Array) -> tuple[list[bytes | None], Faults]:
    """Return the payloads of a column, and what is wrong with some."""
    faults: Faults = {}
    return written_payloads(column, faults), faults


def variant(text: str) -> dict[str, bytes]:
    """Return a VARIANT as Arrow has it."""
    made = VariantVal.parseJson(text)
    return {"value": made.value, "metadata": made.metadata}


@given(st.lists(_values, min_size=1, max_size=4))
def test_a_variant_is_what_it_was_made_of(values: list[Any]) -> None:
    """Letters, quotes, nulls and integers that no float can hold, by itself and inside of a struct."""
    variants = [variant(json.dumps(value)) for value in values]
    inside = pa.struct([("held", _VARIANT), ("all", pa.list_(_VARIANT))])

    plain, faults = written(pa.array([*variants, None], _VARIANT))
    nested, more_faults = written(pa.array([{"held": one, "all": [one, None]} for one in variants], inside))

    assert not faults
    assert not more_faults
    assert [None if one is None else json.loads(one) for one in plain] == [*values, None]
    assert [json.loads(one or b"") for one in nested] == [{"held": one, "all": [one, None]} for one in values]


def test_letters_of_a_variant_are_not_escaped() -> None:
    """So it is spelt as Spark spells it, and has the id that Spark's own encoder gives it."""
    (made,), _ = written(pa.array([variant('{"é":"😀\\u0001\\""}')], _VARIANT))

    assert made == '{"é":"😀\\u0001\\""}'.encode()


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        (9007199254740993, pa.int64(), b"9007199254740993"),
        (Decimal("12345678901234567890.10"), pa.decimal128(38, 2), b"12345678901234567890.10"),
        (date(2030, 1, 2), pa.date32(), b'"2030-01-02"'),
        (
            datetime(2030, 1, 2, 3, tzinfo=UTC),
            pa.timestamp("us", tz="Europe/Rome"),
            b'"2030-01-02T03:00:00.000000Z"',
        ),
        (datetime(2030, 1, 2, 3, 4, 5, 6), pa.timestamp("us"), b'"2030-01-02T03:04:05.000006"'),  # noqa: DTZ001
        (b"\x00\xff", pa.binary(), b'"AP8="'),
        (True, pa.bool_(), b"true"),
        (1.5, pa.float64(), b"1.5"),
        ([("b", 1), ("a", None)], pa.map_(pa.string(), pa.int32()), b'{"b":1,"a":null}'),
        ([(7, 1.5)], pa.map_(pa.int32(), pa.float64()), b'{"7":1.5}'),
    ],
)
def test_each_kind_of_value_has_its_spelling(value: Any, kind: pa.DataType, wanted: bytes) -> None:
    """In a struct, and null is null."""
    made, faults = written(pa.array([{"x": value}, {"x": None}, None], pa.struct([("x", kind)])))

    assert made == [b'{"x":' + wanted + b"}", b'{"x":null}', None]
    assert not faults


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_cannot_say_is_the_fault_of_its_row(value: float) -> None:
    """With the path to it, and with the remedy."""
    kind = pa.struct([("inner", pa.list_(pa.float64()))])

    made, faults = written(pa.array([{"inner": [1.0]}, {"inner": [0.5, value]}], kind))

    assert made == [b'{"inner":[1.0]}', None]
    assert list(faults) == [1]
    assert faults[1].field == "payload.inner[]"
    assert "make it null or a text" in str(faults[1])


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (pa.array([1]), "must be JSON text, a struct, a map, a list or a VARIANT, not int64"),
        (pa.array([{"x": 1}], pa.struct([("x", pa.duration("us"))])), r"'payload\.x' is of type duration"),
    ],
)
def test_a_type_without_json_is_refused_as_a_column(column: pa.Array, told: str) -> None:
    """Before anything is posted."""
    with pytest.raises(ValueError, match=told):
        written(column)


_TOO_LATE = pa.array([2932897, 0], pa.int32()).cast(pa.date32())
_MUCH_TOO_LATE = pa.array([253402300800000000, 0], pa.timestamp("us", tz="UTC"))
_NO_TEXT = pa.array([b"\xff\xfe", b"ok"], pa.binary()).view(pa.string())


@pytest.mark.parametrize("values", [_TOO_LATE, _MUCH_TOO_LATE, _NO_TEXT], ids=["date", "time", "text"])
def test_a_value_that_python_has_not_is_the_fault_of_its_row(values: pa.Array) -> None:
    """Dates of the year 10000, and letters that are none, inside of a struct."""
    made, faults = written(pa.StructArray.from_arrays([values], ["x"]))

    assert made[0] is None
    assert json.loads(made[1] or b"")["x"] in ("1970-01-01", "1970-01-01T00:00:00.000000Z", "ok")
    assert [(row, fault.field) for row, fault in faults.items()] == [(0, "payload")]
    assert "make a text of it" in str(faults[0])


def test_a_payload_that_is_nested_too_deeply_is_the_fault_of_its_row() -> None:
    """In a text, and in a VARIANT."""
    deep = "[" * 2000 + "]" * 2000

    made, faults = written(pa.array([deep, "1"]))
    assert made[1] == b"1"
    assert list(faults) == [0]
    assert "nested too deeply" in str(faults[0])

    broken = {"value": b"\x03", "metadata": b""}
    made, faults = written(pa.array([broken, variant("1")], _VARIANT))
    assert made == [None, b"1"]
    assert list(faults) == [0]


def test_text_that_is_no_utf_8_is_the_fault_of_its_row() -> None:
    """Spark makes a text of any bytes by a cast."""
    broken = pa.array([b"1", b'"\xff"'], pa.binary()).view(pa.string())

    made, faults = written(broken)

    assert made == [b"1", None]
    assert "no UTF-8" in str(faults[1])
