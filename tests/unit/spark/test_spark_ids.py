"""Ids: the examples that every maker of ids agrees with, and what an id must and must not depend on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_aviso.ids import ID_LENGTH, record_id

VECTORS: Final = Path(__file__).parent / "vectors.json"
_texts = st.text(max_size=8)
_identifiers = st.dictionaries(_texts, _texts, max_size=4)


@pytest.mark.parametrize("vector", json.loads(VECTORS.read_text()), ids=lambda vector: vector["what"])
def test_ids_are_those_of_the_examples(vector: dict[str, Any]) -> None:
    """Another id would be another announcement to a service that knows the first."""
    made = record_id(vector["scope"], vector["event_type"], vector["identifier"], vector["payload"].encode())

    assert made == vector["id"]


@given(_texts, _texts, _identifiers, st.binary(max_size=20))
def test_the_order_of_an_identifier_is_no_part_of_an_id(
    scope: str, event_type: str, identifier: dict[str, str], payload: bytes
) -> None:
    """A map has no order, and Spark keeps none."""
    turned = dict(reversed(identifier.items()))

    made = record_id(scope, event_type, identifier, payload)

    assert made == record_id(scope, event_type, turned, payload)
    assert len(made) == ID_LENGTH


@given(
    st.lists(
        st.tuples(_texts, _texts, _identifiers, st.text(max_size=20)), min_size=2, max_size=2, unique_by=repr
    )
)
def test_records_that_differ_have_different_ids(
    records: list[tuple[str, str, dict[str, str], str]],
) -> None:
    """Also where their texts run into each other: each part is hashed with its length."""
    (scope, kind, identifier, payload), (scope2, kind2, identifier2, payload2) = records
    same = (scope, kind, identifier, payload) == (scope2, kind2, identifier2, payload2)

    equal = record_id(scope, kind, identifier, payload.encode()) == record_id(
        scope2, kind2, identifier2, payload2.encode()
    )

    assert equal == same
