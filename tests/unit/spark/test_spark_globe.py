"""Cells on a flat map, and extents of shapes: nothing jumps at 180°."""

from __future__ import annotations

import h3  # type: ignore[import-untyped]  # it brings no types
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from aviso_spark.analytics.globe import WORLD, copies, outline, window_of
from aviso_spark.extents import extent

ANYWHERE = st.tuples(st.floats(-90, 90), st.floats(-180, 180), st.integers(0, 5))


@given(ANYWHERE)
def test_an_outline_has_no_jumps_and_is_drawn_within_the_world(place: tuple[float, float, int]) -> None:
    """Neighbouring corners are close, except along a pole; the middle of the map always shows some of it."""
    latitude, longitude, resolution = place
    points = outline(h3.latlng_to_cell(latitude, longitude, resolution))
    steps = [
        abs(one[0] - other[0])
        for one, other in zip(points, [*points[1:], points[0]], strict=True)
        if abs(one[1]) < 90 or abs(other[1]) < 90
    ]
    assert max(steps) <= 180
    assert list(copies(points, WORLD))


@pytest.mark.parametrize(
    "part",
    [
        shapely.Polygon([(170, 0), (180, 10), (180, 0), (170, 10)]),
        shapely.Polygon(shapely.box(170, 0, 180, 10).exterior, [shapely.box(0, 0, 1, 1).exterior]),
    ],
    ids=["a bow tie", "a hole outside"],
)
def test_a_shape_that_is_not_valid_has_an_extent_all_the_same(part: shapely.Polygon) -> None:
    """The service takes such ones, and an archive must keep what it has."""
    shape = shapely.MultiPolygon([part, shapely.box(-180, 0, -170, 10)])
    assert extent(shapely.to_wkb(shape))[:4] == (170, 0, -170, 10)


def test_a_cell_across_the_antimeridian_is_drawn_on_both_sides() -> None:
    """Once where it leaves the map, once where it comes back."""
    points = outline(h3.latlng_to_cell(0.0, 180.0, 1))
    drawn = list(copies(points, WORLD))
    assert len(drawn) == 2
    assert abs(drawn[0][0][0] - drawn[1][0][0]) == 360


def test_a_cell_around_a_pole_covers_it() -> None:
    """It is a band from its corners to the pole, all around."""
    points = outline(h3.latlng_to_cell(90.0, 0.0, 1))
    assert max(latitude for _, latitude in points) == 90
    assert max(x for x, _ in points) - min(x for x, _ in points) == pytest.approx(360)


def test_a_window_takes_the_short_way_around_the_globe() -> None:
    """Fiji is one place, and not a belt; what is everywhere is the whole world."""
    east, west = [(178.0, -18.0), (179.0, -17.0)], [(-180.0, -18.0), (-179.0, -16.0)]
    window = window_of([east, west])
    assert window.east - window.west < 30
    assert list(copies(east, window))
    assert list(copies(west, window))
    assert window_of([[(x, 0.0), (x + 1.0, 1.0)] for x in range(-180, 180, 20)]) == WORLD
    assert window_of([]) == WORLD


def wkb(*boxes: tuple[float, float, float, float]) -> bytes:
    """Return a shape of boxes: west, south, east, north."""
    return bytes(shapely.to_wkb(shapely.MultiPolygon([shapely.box(*box) for box in boxes])))


@pytest.mark.parametrize(
    ("boxes", "bounds", "middle"),
    [
        ([(10, 20, 14, 22)], (10, 20, 14, 22), (21, 12)),
        ([(170, -20, 180, -10), (-180, -20, -170, -10)], (170, -20, -170, -10), (-15, 180)),
        ([(176, -20, 180, -10), (-180, -20, -170, -10)], (176, -20, -170, -10), (-15, -177)),
        ([(-180, 0, -90, 1), (-90, 0, 90, 1), (90, 0, 180, 1)], (-180, 0, 180, 1), (0.5, 0)),
        ([(-60, 0, -50, 10), (50, 0, 60, 10)], (-60, 0, 60, 10), (5, 0)),
    ],
    ids=["plain", "across", "across, more on one side", "all around", "two parts that are apart"],
)
def test_extents_are_narrow_across_the_antimeridian(
    boxes: list[tuple[float, float, float, float]],
    bounds: tuple[float, float, float, float],
    middle: tuple[float, float],
) -> None:
    """Their west is then greater than their east, and the middle lies where the parts meet."""
    *found, cell = extent(wkb(*boxes))
    assert tuple(found) == bounds
    latitude, longitude = h3.cell_to_latlng(cell)
    assert latitude == pytest.approx(middle[0], abs=0.2)
    assert abs((longitude - middle[1] + 180) % 360 - 180) < 0.2
