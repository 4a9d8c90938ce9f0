"""JSON, bodies and payloads under any input: against the standard library's parser, and never an unforeseen error."""

from __future__ import annotations

import json
import math
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aviso_core.errors import InvalidJson, InvalidRequestShape, Refusal, UnknownField
from aviso_core.json_text import NotJson, compact, decode, float_text, plain_number, scalar_text
from aviso_core.request import MEMBERS, decode_body
from support import json_oracle, json_strategies
from support.json_strategies import any_bytes, damaged, doubles, spelled, texts

# --- values ----------------------------------------------------------------------------------------------


@given(any_bytes)
@example(b"[" * 127 + b"]" * 127)
@example(b"[" * 128 + b"]" * 128)
@example(b'"' + b"[" * 200 + b'"')
@example(b"9" * 250 + b"e99")
def test_reading_agrees_with_another_parser_under_the_same_rules(data: bytes) -> None:
    try:
        expected = json_oracle.strict_value(data)
    except json_oracle.Refused:
        with pytest.raises(NotJson):
            decode(data)
    else:
        assert _alike(decode(data), expected)


def _alike(one: Any, other: Any) -> bool:
    """Compare, telling 1 from 1.0 and True, and 0.0 from -0.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    same_kind = type(one) is type(other) or (isinstance(one, str) and isinstance(other, str))
    return same_kind and bool(one == other)


@given(doubles)
def test_a_doubles_texts_read_back_as_the_same_double(value: float) -> None:
    for text in (float_text(value), plain_number(value)):
        assert _alike(float(text), value)
    assert scalar_text(value) == float_text(value)


@given(doubles)
def test_a_doubles_texts_have_the_contracts_form(value: float) -> None:
    """As few digits as tell it from its neighbours; an exponent only outside [1e-5, 1e16), and never in a Float."""
    scalar, plain = float_text(value), plain_number(value)
    is_positional = value == 0 or 1e-5 <= abs(value) < 1e16
    assert ("e" not in scalar) is is_positional
    if is_positional:
        assert "." in scalar
    else:
        mantissa, exponent = scalar.split("e")
        assert exponent[0] in "+-"
        assert exponent[1] != "0"
        assert not mantissa.endswith(".0")
    assert "e" not in plain
    assert not plain.endswith(".0")
    assert _digits(scalar) == _digits(plain) == _digits(repr(value))


def _digits(text: str) -> str:
    return text.lower().split("e")[0].replace(".", "").replace("-", "").strip("0")


@given(json_strategies.integers)
def test_an_integers_text_is_its_digits(value: int) -> None:
    assert decode(str(value).encode()) == value
    assert scalar_text(value) == str(value)


# --- payloads --------------------------------------------------------------------------------------------


@given(spelled())
def test_compacting_preserves_values_and_spellings(data: bytes) -> None:
    """Numbers are compared as they are spelled, so `1.0` does not become `1`."""
    compacted = compact(data)
    assert _spelled(compacted) == _spelled(data)
    assert compact(compacted) == compacted
    assert b"\n" not in compacted
    assert len(compacted) <= len(data)


def _spelled(data: bytes) -> Any:
    return json.loads(data, parse_float=_Number, parse_int=_Number, object_pairs_hook=list)


class _Number(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number) and str(self) == str(other)

    __hash__ = str.__hash__


@given(spelled())
def test_a_payload_arrives_as_it_was_sent(payload: bytes) -> None:
    body = b'{"event_type":"a","identifier":{},"payload":' + payload + b"}"
    try:
        json_oracle.strict_value(body)
    except json_oracle.Refused:
        with pytest.raises(InvalidJson):
            decode_body(body)
    else:
        assert decode_body(body).compact_payload() == compact(payload)


# --- bodies ----------------------------------------------------------------------------------------------

_SPANS: Final = ("from_id", "from_date", "to_id", "to_date")
_anything: Final = json_strategies.values
_identifiers: Final = st.dictionaries(texts, _anything, max_size=3)
_valid: Final = st.fixed_dictionaries(
    {"event_type": texts, "identifier": _identifiers},
    optional={"payload": _anything} | dict.fromkeys(_SPANS, st.none() | texts),
)
_odd: Final = st.fixed_dictionaries(
    {},
    optional={"event_type": texts | _anything, "identifier": _identifiers | _anything, "payload": _anything}
    | dict.fromkeys(_SPANS, st.none() | texts | _anything),
)
_with_others: Final = st.builds(
    dict.__or__, _odd, st.dictionaries(texts, json_strategies.scalars, max_size=3)
)
bodies: Final = st.one_of(
    any_bytes,
    spelled(_valid),
    spelled(_odd),
    spelled(_with_others),
    damaged(spelled(_valid)),
    damaged(spelled(_with_others)),
)


@given(bodies)
def test_a_body_is_read_or_refused_as_the_contract_says(data: bytes) -> None:
    """The members, or one of three refusals, and the right one."""
    expected = _expected(data)
    if isinstance(expected, dict):
        body = decode_body(data)
        for name in set(MEMBERS) - {"payload"}:
            assert _alike(getattr(body, name), expected.get(name))
        assert _alike(json_oracle.strict_value(body.compact_payload()), expected.get("payload"))
    else:
        with pytest.raises(Refusal) as caught:
            decode_body(data)
        assert (type(caught.value), caught.value.field) == expected
        assert caught.value.details == caught.value.message


def _expected(data: bytes) -> dict[str, Any] | tuple[type[Refusal], str | None]:
    """Read a body by the steps of contract section 2.3, one after the other."""
    try:
        value = json_oracle.strict_value(data)
    except json_oracle.Refused:
        return InvalidJson, None
    if not isinstance(value, dict):
        return InvalidRequestShape, None
    unknown = sorted(value.keys() - set(MEMBERS))
    if unknown:
        return UnknownField, unknown[0]
    missing = [name for name in ("event_type", "identifier") if name not in value]
    if missing:
        return InvalidRequestShape, missing[0]
    kinds: dict[str, Any] = {"event_type": str, "identifier": dict} | dict.fromkeys(_SPANS, str | None)
    wrong = [name for name, kind in kinds.items() if not isinstance(value.get(name), kind)]
    return (InvalidRequestShape, wrong[0]) if wrong else value
