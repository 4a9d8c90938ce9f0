"""Lines out of Arrow columns: what stands in a row stands in its line, and what cannot is the fault of that row."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_aviso.encode import Encoder, Lines
from pyspark_aviso.ids import record_id

_MAP = pa.map_(pa.string(), pa.string())
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


def encoded(columns: dict[str, Any], **more: Any) -> Lines:
    """Return what some columns become."""
    settings = {"event_type": "granules", "scope": "", "geometry_field": "polygon", **more}
    encoder = Encoder(tuple(columns), **settings)
    return encoder.encode(pa.record_batch(list(columns.values()), names=list(columns)))


def lines_of(columns: dict[str, Any], **more: Any) -> list[bytes]:
    """Return the lines of columns in which nothing is wrong with any row."""
    made = encoded(columns, **more)
    assert not made.faults
    assert made.good == made.data
    assert [json.loads(line)["id"] for line in made.good] == made.ids
    return made.good


def maps(*identifiers: dict[str, str | None] | None) -> pa.Array:
    """Return a column of identifiers."""
    return pa.array([None if one is None else list(one.items()) for one in identifiers], _MAP)


@given(
    st.lists(
        st.tuples(
            st.dictionaries(_texts, st.none() | _texts, max_size=4),
            st.none()
            | st.recursive(st.none() | st.integers() | _texts, lambda inner: st.lists(inner, max_size=3)),
        ),
        min_size=1,
        max_size=5,
    ),
    _texts,
)
def test_a_line_says_what_the_row_says(rows: list[tuple[dict[str, str | None], Any]], scope: str) -> None:
    """Letters, quotes, line ends, nulls and integers of any size arrive as they were; null fields are left out."""
    payloads = [json.dumps(payload, ensure_ascii=False) for _, payload in rows]
    columns = {"identifier": maps(*(identifier for identifier, _ in rows)), "payload": pa.array(payloads)}

    for line, (identifier, payload), text in zip(lines_of(columns, scope=scope), rows, payloads, strict=True):
        given_fields = {name: value for name, value in identifier.items() if value is not None}
        said = json.loads(line)
        assert said == {
            "event_type": "granules",
            "identifier": given_fields,
            "id": record_id(scope, "granules", given_fields, text.encode()),
            "payload": payload,
        }
        assert line.count(b"\n") == 1
        assert text.encode() in line


def test_a_part_of_a_column_is_encoded_like_the_whole() -> None:
    """Spark's batches are cut, and then the first row is not the first of its buffers."""
    column = maps({"name": "a"}, {"name": "b", "class": "od"}, None, {"name": "d"})
    encoder = Encoder(("identifier",), event_type="t", scope="", geometry_field="polygon")
    whole = encoder.encode(pa.record_batch([column], names=["identifier"]))

    part = encoder.encode(pa.record_batch([column.slice(1)], names=["identifier"]))

    assert part.data == whole.data[1:]
    assert part.ids == whole.ids[1:]
    assert [place + 1 for place in part.faults] == list(whole.faults) == [2]


def test_a_struct_is_an_identifier_of_texts() -> None:
    """Only kinds with one spelling; names are sorted, nulls left out."""
    column = pa.array(
        [{"step": 7, "day": date(2030, 1, 2), "good": True, "class": None}],
        pa.struct([("step", pa.int32()), ("day", pa.date32()), ("good", pa.bool_()), ("class", pa.string())]),
    )

    (line,) = lines_of({"identifier": column})

    assert b'"identifier":{"day":"2030-01-02","good":"true","step":"7"}' in line


def test_an_identifier_of_floating_point_numbers_is_refused_with_the_remedy() -> None:
    """0.1 has several spellings, and each would be another object."""
    column = pa.array([{"step": 0.1}], pa.struct([("step", pa.float64())]))

    with pytest.raises(ValueError, match=r"identifier\.step.*format_string"):
        encoded({"identifier": column})


@pytest.mark.parametrize(
    ("payload", "wanted"),
    [
        (pa.array(['{"a":\r\n 1}']), b'"payload":{"a":   1}}\n'),
        (pa.array(["123456789012345678901234567890"]), b'"payload":123456789012345678901234567890}\n'),
        (pa.array([None], pa.string()), b'"}\n'),
        (
            pa.array([{"a": None, "b": [1, None], "c": "é"}]),
            '"payload":{"a":null,"b":[1,null],"c":"é"}}\n'.encode(),
        ),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), b'"payload":{"k":1}}\n'),
    ],
    ids=["text on lines", "large integer", "null", "struct", "map"],
)
def test_payloads_are_json_as_text_struct_or_map(payload: pa.Array, wanted: bytes) -> None:
    """Text is spliced in as it is, on one line."""
    (line,) = lines_of({"identifier": maps({"name": "a"}), "payload": payload})

    assert line.endswith(wanted)


@pytest.mark.parametrize(
    "payload", ["", "{", "nul", '{"a":1}}', '1,"id":"another"', '{},"id":"another"', "[1,]", "01"]
)
def test_a_payload_that_is_no_json_is_the_fault_of_its_row_alone(payload: str) -> None:
    """It must not get into the line, where it might be members of the record."""
    lines = encoded({"identifier": maps({"name": "a"}, {"name": "b"}), "payload": pa.array([payload, "1"])})

    assert [(row, fault.field) for row, fault in lines.faults.items()] == [(0, "payload")]
    assert lines.faults[0].identifier == '{"name":"a"}'
    assert lines.data == [None, *lines.good]
    assert [identity is None for identity in lines.ids] == [True, False]


def test_a_geometry_goes_into_its_field_and_into_the_id() -> None:
    """As GeoJSON, spliced in; two footprints of one name are two announcements."""
    shapes = ['{"type":"Point","coordinates":[1,2]}', '{"type":"Point","coordinates":[1,3]}', None]
    columns = {
        "identifier": maps({"name": "a"}, {}, {"name": "a"}),
        "geometry": pa.array(shapes),
    }

    lines = [json.loads(line) for line in lines_of(columns, geometry_field="at")]

    assert [line["identifier"] for line in lines] == [
        {"name": "a", "at": json.loads(str(shapes[0]))},
        {"at": json.loads(str(shapes[1]))},
        {"name": "a"},
    ]
    assert len({line["id"] for line in lines}) == 3


def test_a_rows_own_type_id_and_time_go_before_what_is_made() -> None:
    """Empty and null ones are none."""
    columns = {
        "event_type": pa.array(["own", None]),
        "identifier": maps({"name": "a"}, {"name": "a"}),
        "id": pa.array(["mine", None]),
        "time": pa.array([datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=UTC), None], pa.timestamp("us", tz="UTC")),
    }

    first, second = (json.loads(line) for line in lines_of(columns))

    assert (first["event_type"], first["id"], first["time"]) == ("own", "mine", "2030-01-02T03:04:05.000006Z")
    assert (second["event_type"], "time" in second) == ("granules", False)


@pytest.mark.parametrize(
    ("names", "event_type", "told"),
    [
        (("identifier", "colour"), "t", "colour"),
        (("payload",), "t", "identifier"),
        (("identifier",), None, "eventType"),
    ],
)
def test_columns_that_cannot_be_written_are_refused(
    names: tuple[str, ...], event_type: str | None, told: str
) -> None:
    """Leaving one out would lose what somebody meant to say."""
    with pytest.raises(ValueError, match=told):
        Encoder(names, event_type=event_type, scope="", geometry_field="polygon")
