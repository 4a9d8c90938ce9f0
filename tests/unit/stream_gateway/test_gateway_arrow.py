"""Replay for machines, in record batches: shapes in binary, columns, and what stands behind all rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.event import Event
from aviso_core.geometry.shapes import PointCloud, Polygon
from aviso_stream_gateway.machines.arrow import ENDING, SCHEMA, ArrowWriter, batch_of
from aviso_stream_gateway.machines.form import Ending
from aviso_stream_gateway.machines.wkb import to_wkb
from aviso_stream_gateway.showing import Item, Showing
from support.stream_parts import BASE_URL, CATALOG

if TYPE_CHECKING:
    from aviso_core.geometry.shapes import Geometry

SQUARE: Final = ((0.0, 0.0), (0.0, 9.0), (9.0, 9.0), (9.0, 0.0), (0.0, 0.0))
HOLE: Final = ((1.0, 1.0), (1.0, 2.0), (2.0, 2.0), (1.0, 1.0))
FAR: Final = ((20.5, -170.25), (20.5, -160.0), (30.0, -160.0), (20.5, -170.25))


def event(sequence: int = 1, **members: Any) -> Event:
    """Return an event."""
    usual = {
        "event_type": "places",
        "instant": 1_700_000_000_123_456_789,
        "subject": "places.here.1",
        "identifier": {"place": "here", "step": "1"},
    }
    return Event(sequence=sequence, **{**usual, **members})


# --- shapes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "geometry",
    [
        Polygon(((SQUARE,),)),
        Polygon(((SQUARE, HOLE),)),
        Polygon(((SQUARE, HOLE), (FAR,))),
        PointCloud(((1.5, 2.5),)),
        PointCloud(((1.5, 2.5), (1.5, 2.5), (-90.0, 180.0))),
    ],
)
def test_a_shape_in_binary_is_the_shape_in_geojson(geometry: Geometry) -> None:
    """As a library of others reads both."""
    read = shapely.from_wkb(to_wkb(geometry))
    assert json.loads(shapely.to_geojson(read)) == json.loads(json.dumps(geometry.geojson()))


_pairs = st.tuples(st.floats(-90, 90), st.floats(-180, 180))
_rings = st.lists(_pairs, min_size=3, max_size=6).map(lambda pairs: (*pairs, pairs[0]))
_polygons = st.lists(st.lists(_rings, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3)
_geometries = st.one_of(
    _polygons.map(lambda parts: Polygon(tuple(parts))),
    st.lists(_pairs, min_size=1, max_size=8).map(lambda points: PointCloud(tuple(points))),
)


@given(_geometries)
def test_no_corner_of_a_shape_is_lost(geometry: Geometry) -> None:
    """Also where rings cross themselves, and to the last digit."""
    corners = shapely.get_coordinates(shapely.from_wkb(to_wkb(geometry))).tolist()
    match geometry:
        case Polygon(parts):
            pairs = [pair for part in parts for ring in part for pair in ring]
        case PointCloud(points):
            pairs = list(points)
    assert corners == [[longitude, latitude] for latitude, longitude in pairs]


# --- rows ------------------------------------------------------------------------------------------------


def rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows, with instants as whole nanoseconds."""
    at = batch.schema.get_field_index("time")
    plain = batch.set_column(at, "time", batch.column("time").cast(pa.int64()))
    listed: list[dict[str, Any]] = plain.to_pylist()
    return listed


def test_an_event_is_a_row() -> None:
    """Every member in its column, nothing where there is nothing."""
    (row,) = rows(batch_of([event(payload='{"ü":[1, 2]}'.encode())]))
    assert row == {
        "event_type": "places",
        "sequence": 1,
        "time": 1_700_000_000_123_456_789,
        "id": "places@1",
        "identifier": [("place", "here"), ("step", "1")],
        "geometry": None,
        "payload": '{"ü":[1, 2]}',
        "operation": None,
    }


def test_what_only_some_events_have_stands_in_their_rows() -> None:
    """Shapes and operations, beside events without."""
    batch = batch_of(
        [event(1), event(2, geometry=Polygon(((SQUARE,),))), event(3, operation="delete"), event(4)]
    )
    assert batch.column("geometry").to_pylist() == [None, to_wkb(Polygon(((SQUARE,),))), None, None]
    assert batch.column("operation").to_pylist() == [None, None, "delete", None]


@pytest.mark.parametrize(
    ("identifier", "shown"),
    [
        ({}, []),
        ({"step": "1", "place": "here"}, [("place", "here"), ("step", "1")]),
        ({"a": "", "b": "*", "c": "1"}, [("c", "1")]),
        ({"größe": "€"}, [("größe", "€")]),
    ],
)
def test_an_identifier_is_what_a_cloudevent_shows(
    identifier: dict[str, str], shown: list[tuple[str, str]]
) -> None:
    """In the same order, without what reads as anything."""
    first, second = rows(batch_of([event(identifier=identifier), event(2)]))
    assert first["identifier"] == shown
    assert second["identifier"] == [("place", "here"), ("step", "1")]


@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=4), max_size=6))
def test_identifiers_stay_with_their_events(identifiers: list[dict[str, str]]) -> None:
    """However many values each of them has."""
    batch = batch_of([event(n, identifier=one) for n, one in enumerate(identifiers, 1)])
    shown = [{k: v for k, v in one.items() if v not in ("", "*")} for one in identifiers]
    assert [dict(pairs) for pairs in batch.column("identifier").to_pylist()] == shown


# --- the stream ------------------------------------------------------------------------------------------


def items(*events: Event) -> list[Item]:
    """Return events as they are handed to a writer."""
    showing = Showing("places", CATALOG.get("places"), base_url=BASE_URL)
    return [Item(showing, one) for one in events]


def written(*pages: list[Item]) -> tuple[list[bytes], bytes]:
    """Return what is written for each step, and the end."""
    writer = ArrowWriter()
    steps = [writer.rows(page) for page in pages]
    return steps, writer.end(Ending(complete=True, last=9, count=3))


def read(data: bytes) -> list[tuple[int, Any]]:
    """Return how many rows each batch has, and what is said with it."""
    batches: list[tuple[int, Any]] = []
    reader = pa.ipc.open_stream(data)
    assert reader.schema == SCHEMA
    while True:
        try:
            batch, metadata = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            return batches
        batches.append((batch.num_rows, None if metadata is None else json.loads(metadata[ENDING])))


def test_the_end_is_said_with_an_empty_batch() -> None:
    """A reader that takes no interest in it has all rows and nothing else."""
    steps, end = written(items(event(1), event(2)), items(event(3)))
    data = b"".join(steps) + end
    ending = {"complete": True, "last": 9, "count": 3}
    assert read(data) == [(2, None), (1, None), (0, ending)]
    assert pa.ipc.open_stream(data).read_all().column("sequence").to_pylist() == [1, 2, 3]


def test_every_step_is_sent_at_once() -> None:
    """What is written goes out with its own step: a reader has rows as soon as they are sent."""
    steps, _ = written(items(event(1)), items(event(2)))
    assert read(steps[0]) == [(1, None)]
    assert read(steps[0] + steps[1]) == [(1, None), (1, None)]


def test_no_rows_are_a_whole_answer_too() -> None:
    """The schema, and the end."""
    _, end = written()
    assert read(end) == [(0, {"complete": True, "last": 9, "count": 3})]
