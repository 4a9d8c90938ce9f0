"""Columns in another form: payloads as VARIANT, shapes as GEOGRAPHY or as GeoJSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from pyspark_aviso.columns import PayloadNotConverted, arrow_schema, project
from pyspark_aviso.options import OptionError
from pyspark_aviso.source import AvisoDataSource
from pyspark_aviso.wkb import geojson_of, shape_of
from support.event_tables import COLUMNS, FORMS, read, reader
from support.published import published
from support.spark_types import struct_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.published import Published

URL: Final = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def service() -> Iterator[Published]:
    """Return a service with payloads and shapes of all kinds, and a retraction without either."""
    with published("maps") as running:
        running.publish("maps", range(12))
        running.retract("maps", place="lisboa", step=3)
        yield running


@pytest.mark.parametrize("form", FORMS)
def test_a_payload_is_a_variant_of_the_same_value(service: Published, form: str) -> None:
    """Of the form that Spark makes of the text."""
    texts = [row["payload"] for row in read(service.url, "payload string", format=form)]
    variants = [row["payload"] for row in read(service.url, "payload variant", format=form)]
    assert [set(one) for one in variants] == [{"value", "metadata"}] * 13
    values = [VariantVal(one["value"], one["metadata"]).toPython() for one in variants]
    assert [json.loads(json.dumps(value, default=float)) for value in values] == list(map(json.loads, texts))


@pytest.mark.parametrize("form", FORMS)
def test_a_shape_is_a_geography_of_the_same_bytes(service: Published, form: str) -> None:
    """Nothing where there is none."""
    plain = [row["geometry"] for row in read(service.url, "geometry binary", format=form)]
    found = [row["geometry"] for row in read(service.url, "geometry geography(4326)", format=form)]
    assert found == [None if wkb is None else {"srid": 4326, "wkb": wkb} for wkb in plain]
    assert found.count(None) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_shape_is_geojson_text(service: Published, form: str) -> None:
    """Longitude first."""
    plain = [row["geometry"] for row in read(service.url, "geometry binary", format=form)]
    found = [row["geometry"] for row in read(service.url, "geometry string", format=form)]
    for wkb, text in zip(plain, found, strict=True):
        assert (text is None) == (wkb is None)
        if text is not None:
            assert shapely.from_geojson(text).equals(shapely.from_wkb(wkb))


_numbers = st.floats(-90, 90)
_pairs = st.lists(st.tuples(_numbers, _numbers).map(list), min_size=1, max_size=5)
_shapes = st.one_of(
    st.fixed_dictionaries({"type": st.just("Polygon"), "coordinates": st.lists(_pairs, max_size=3)}),
    st.fixed_dictionaries(
        {"type": st.just("MultiPolygon"), "coordinates": st.lists(st.lists(_pairs, max_size=3), max_size=3)}
    ),
)


@given(shape=_shapes)
def test_geojson_comes_back_as_it_was(shape: dict[str, Any]) -> None:
    """Every number, in its place."""
    wkb = shape_of({}, shape)
    assert wkb is not None
    assert json.loads(geojson_of(wkb)) == shape


@given(places=_pairs)
def test_places_come_back_with_the_longitude_first(places: list[list[float]]) -> None:
    """A cloud is latitude first."""
    wkb = shape_of({"point_cloud": places}, None)
    assert wkb is not None
    wanted = {"type": "MultiPoint", "coordinates": [[lon, lat] for lat, lon in places]}
    assert json.loads(geojson_of(wkb)) == wanted


def test_a_point_is_a_shape_and_a_line_is_none_that_is_known() -> None:
    """Events have areas and places."""
    assert geojson_of(shapely.to_wkb(shapely.Point(1, 2))) == b'{"type":"Point","coordinates":[1.0,2.0]}'
    with pytest.raises(ValueError, match="it is a LineString, and not a Point or Polygon or"):
        geojson_of(shapely.to_wkb(shapely.LineString([(0, 0), (1, 1)])))


@pytest.mark.parametrize("text", ['"\\ud800"', "1" * 5000])
def test_a_payload_that_is_no_variant_is_told_with_the_remedy(text: str) -> None:
    """Half a character, and a number with more digits than are read, are JSON all the same."""
    batch = pa.record_batch({"payload": pa.array([text])})
    with pytest.raises(PayloadNotConverted, match=r"cannot be made a VARIANT.*payloadAs=text"):
        project(batch, arrow_schema(struct_of("payload variant")))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"payloadAs": "json"}, "option 'payloadAs': Invalid enum value 'json'; there are: text, variant"),
        ({"geometryAs": "wkt"}, "option 'geometryAs': Invalid enum value 'wkt'"),
        (
            {"format": "raw", "payloadAs": "variant"},
            "'format' raw has one column of lines: leave out 'payloadAs'",
        ),
    ],
)
def test_a_form_that_there_is_not_is_refused(options: dict[str, str], told: str) -> None:
    """By the name of its option."""
    with pytest.raises(OptionError, match=told):
        reader(URL, "value string", **options)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("payload binary", "column 'payload' is string or variant, not binary"),
        ("geometry variant", r"column 'geometry' is binary or geography\(4326\) or string, not variant"),
    ],
)
def test_a_type_that_a_column_has_not_is_refused(columns: str, told: str) -> None:
    """With those that it has."""
    with pytest.raises(OptionError, match=told):
        reader(URL, columns)


def test_the_columns_are_known_without_asking() -> None:
    """Those of an event in the forms that the options say, or the only one of the format `raw`."""
    assert AvisoDataSource({"url": URL}).schema() == COLUMNS
    assert AvisoDataSource({"url": URL, "format": "raw"}).schema() == "value string"
    chosen = AvisoDataSource({"url": URL, "payloadas": "variant", "geometryAs": "geography"}).schema()
    assert chosen == COLUMNS.replace("payload string", "payload variant").replace(
        "geometry binary", "geometry geography(4326)"
    )
    with pytest.raises(OptionError, match="payloadAs"):
        AvisoDataSource({"url": URL, "payloadAs": "xml"}).schema()
