"""Footprints as they are posted: text is GeoJSON already, the binary form is made so, and what cannot be is told."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from pyspark_aviso.encode import Encoder, Lines
from pyspark_aviso.geometries import written_geometries

if TYPE_CHECKING:
    from pyspark_aviso.row_values import Faults

_SQUARE = shapely.box(1, 2, 3, 4)
_HOLED = shapely.Polygon(shapely.box(0, 0, 9, 9).exterior.coords, [shapely.box(1, 1, 2, 2).exterior.coords])
_SPARK = pa.struct([pa.field("srid", pa.int32()), pa.field("wkb", pa.binary())])


def written(column: pa.Array) -> tuple[list[Any], Faults]:
    """Return the geometries of a column, decoded, and what is wrong with some."""
    faults: Faults = {}
    made = written_geometries(column, faults)
    return [None if one is None else json.loads(one) for one in made], faults


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize(
    "shape",
    [shapely.Point(1, 2), _SQUARE, _HOLED, shapely.MultiPolygon([_SQUARE, _HOLED])],
    ids=lambda shape: str(shape.geom_type),
)
@pytest.mark.parametrize("form", ["binary", "large_binary", "of Spark"])
def test_a_shape_in_the_binary_form_becomes_geojson(shape: Any, order: str, form: str) -> None:
    """In either order of bytes, as bytes and as Spark's own types."""
    wkb = shapely.to_wkb(shape, byte_order=int(order == "little"))
    column = {
        "binary": pa.array([wkb, None]),
        "large_binary": pa.array([wkb, None], pa.large_binary()),
        "of Spark": pa.array([{"srid": 4326, "wkb": wkb}, None], _SPARK),
    }[form]

    (first, second), faults = written(column)

    assert shapely.from_geojson(json.dumps(first)).equals(shape)
    assert first["type"] == shape.geom_type
    assert second is None
    assert not faults


@pytest.mark.parametrize(
    ("wkb", "told"),
    [
        (
            shapely.to_wkb(shapely.LineString([(0, 0), (1, 1)])),
            "it is a LineString, and not a Point or Polygon",
        ),
        (shapely.to_wkb(shapely.MultiPoint([(0, 0)])), "it is a MultiPoint, and not a Point"),
        (shapely.to_wkb(shapely.Point(1, 2, 3)), "a shape of the type .* two coordinates"),
        (shapely.to_wkb(shapely.Point(), include_srid=False), "NaN or infinite"),
        (shapely.to_wkb(_SQUARE)[:-1], "end too early"),
        (shapely.to_wkb(_SQUARE)[:3], "end too early"),
        (b"", "end too early"),
        (b"\x01\x03\x00\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff", "end too early"),
        (shapely.to_wkb(_SQUARE) + b"\x00", "1 bytes behind its end"),
        (b"POINT (1 2)", "begins with the byte 80"),
        (
            struct.pack("<BII", 1, 6, 1) + shapely.to_wkb(shapely.Point(1, 2)),
            "it is a Point, and not a Polygon",
        ),
    ],
)
def test_bytes_that_are_no_footprint_are_the_fault_of_their_row(wkb: bytes, told: str) -> None:
    """The rows beside are written."""
    made, faults = written(pa.array([shapely.to_wkb(_SQUARE), wkb]))

    assert made[0] is not None
    assert made[1] is None
    assert list(faults) == [1]
    assert faults[1].field == "geometry"
    with pytest.raises(ValueError, match=told):
        raise faults[1]


@given(st.binary(max_size=120) | st.binary(max_size=60).map(lambda data: b"\x01\x06\x00\x00\x00" + data))
def test_no_bytes_whatever_do_more_than_harm_to_their_row(wkb: bytes) -> None:
    """Either there is GeoJSON or there is a fault, and nothing is raised."""
    (made,), faults = written(pa.array([wkb]))

    assert (made is None) == bool(faults)


def test_another_reference_system_is_refused_with_the_remedy() -> None:
    """Its numbers are no degrees. One that is not told is taken for the only one there is."""
    wkb = shapely.to_wkb(_SQUARE)
    _, faults = written(pa.array([{"srid": srid, "wkb": wkb} for srid in (3857, 0, 4326)], _SPARK))

    assert {row: str(fault) for row, fault in faults.items()} == {
        0: "the geometry is of SRID 3857: only longitude and latitude (4326) can be posted, so transform it first"
    }


def test_a_column_of_another_type_is_refused_with_what_it_may_be() -> None:
    """Not row by row."""
    with pytest.raises(
        ValueError, match=r"GeoJSON as text, WKB as binary, GEOMETRY or GEOGRAPHY, not double"
    ):
        written(pa.array([1.0]))


def lines(geometries: pa.Array, identifiers: list[dict[str, str]]) -> Lines:
    """Return the lines of rows with a geometry."""
    kind = pa.map_(pa.string(), pa.string())
    columns = [pa.array([list(one.items()) for one in identifiers], kind), geometries]
    names = ("identifier", "geometry")
    encoder = Encoder(names, event_type="t", scope="", geometry_field="polygon")
    return encoder.encode(pa.record_batch(columns, names=list(names)))


def test_a_footprint_is_one_notification_whichever_form_it_came_in() -> None:
    """Bytes and GeoJSON as our own encoder spells it have one id."""
    geojson = '{"type":"Point","coordinates":[1.0,2.0]}'

    of_text = lines(pa.array([geojson]), [{"name": "a"}])
    of_bytes = lines(pa.array([shapely.to_wkb(shapely.Point(1, 2))]), [{"name": "a"}])

    assert of_text == of_bytes


def test_a_geometry_that_is_there_twice_is_a_fault_and_only_then() -> None:
    """A text that looks like the field is none."""
    place = '{"type":"Point","coordinates":[1,2]}'

    made = lines(
        pa.array([place, place, None]),
        [{"polygon": "(1,2)"}, {"name": '"polygon":'}, {"polygon": "(1,2)"}],
    )

    assert list(made.faults) == [0]
    assert "leave one of them out" in str(made.faults[0])
    assert [json.loads(line)["identifier"] for line in made.good] == [
        {"name": '"polygon":', "polygon": json.loads(place)},
        {"polygon": "(1,2)"},
    ]
