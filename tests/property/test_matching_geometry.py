"""Spatial predicates against exact arithmetic, against the engine's plain ones, and turned around the globe."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import shapely
from hypothesis import assume, example, given
from hypothesis import strategies as st

from aviso_core.event import Event
from aviso_core.geometry.shapes import Geometry, Point, Polygon
from aviso_core.matching.candidate import Candidate
from aviso_core.matching.filter import Area, Filter, Place
from aviso_core.matching.matcher import Matcher
from support import lattice, shape_strategies

if TYPE_CHECKING:
    from aviso_core.geometry.plane import Edges
    from aviso_core.matching.filter import SpatialFilter
    from support.lattice import Ring

_PLANAR: Final = lattice.Spelling()


def _selects(spatial: SpatialFilter, geometry: Geometry, edges: Edges) -> bool:
    event = Event(event_type="x", sequence=1, instant=0, subject="x", identifier={}, geometry=geometry)
    return Matcher(Filter(event_type="x", spatial=spatial)).selects(Candidate(event, {}, edges))


def _touches(area: Polygon, geometry: Geometry, edges: Edges = "planar") -> bool:
    return _selects(Area(polygon=area, edges=edges), geometry, edges)


def _has_inside(geometry: Geometry, point: Point, edges: Edges = "planar") -> bool:
    return _selects(Place(point=point, edges=edges), geometry, edges)


@given(shape_strategies.areas, shape_strategies.shapes)
def test_an_area_selects_what_it_shares_a_point_with(area: lattice.Area, shape: lattice.Shape) -> None:
    """On whole numbers there is one exact answer, whatever the rings do."""
    polygon, geometry = lattice.to_polygon(area, _PLANAR), lattice.to_geometry(shape, _PLANAR)
    assert _touches(polygon, geometry) == lattice.share_a_point(area, shape)


@given(shape_strategies.places, shape_strategies.plain_shapes)
def test_a_point_selects_what_has_it_strictly_inside(place: lattice.Place, shape: lattice.Shape) -> None:
    """On whole numbers there is one exact answer, whatever the rings do."""
    geometry, point = lattice.to_geometry(shape, _PLANAR), lattice.to_point(place, _PLANAR)
    assert _has_inside(geometry, point) == lattice.is_strictly_inside(place, shape)


@given(shape_strategies.areas, shape_strategies.shapes, shape_strategies.spellings)
def test_wrapped_edges_know_no_wall_for_areas(
    area: lattice.Area, shape: lattice.Shape, spellings: tuple[lattice.Spelling, lattice.Spelling]
) -> None:
    """Turned by any angle, over 180° or not, written with either sign, the answer is that of the plane."""
    polygon, geometry = lattice.to_polygon(area, spellings[0]), lattice.to_geometry(shape, spellings[1])
    assert _touches(polygon, geometry, "wrapped") == lattice.share_a_point(area, shape)


@given(shape_strategies.places, shape_strategies.plain_shapes, shape_strategies.spellings)
def test_wrapped_edges_know_no_wall_for_points(
    place: lattice.Place, shape: lattice.Shape, spellings: tuple[lattice.Spelling, lattice.Spelling]
) -> None:
    """The same for what lies strictly inside."""
    geometry, point = lattice.to_geometry(shape, spellings[0]), lattice.to_point(place, spellings[1])
    assert _has_inside(geometry, point, "wrapped") == lattice.is_strictly_inside(place, shape)


# --- against the engine ----------------------------------------------------------------------------------

_window: Final = st.floats(-3, 3)
_pairs: Final = st.tuples(_window, _window)


@st.composite
def _hulls(draw: st.DrawFn) -> shapely.Polygon:
    """Draw a convex polygon, which is valid whatever its corners are."""
    hull = shapely.MultiPoint(draw(st.lists(_pairs, min_size=3, max_size=9))).convex_hull
    assume(isinstance(hull, shapely.Polygon))
    assert isinstance(hull, shapely.Polygon)
    return hull


def _polygon_of(hull: shapely.Polygon) -> Polygon:
    return Polygon(((tuple((y, x) for x, y in hull.exterior.coords),),))


@given(_hulls(), _hulls(), _pairs)
def test_valid_polygons_get_the_plain_answers_of_the_engine(
    area: shapely.Polygon, event: shapely.Polygon, pair: tuple[float, float]
) -> None:
    """Preparing figures and packing them by hand changes nothing, for coordinates that are no whole numbers."""
    assert _touches(_polygon_of(area), _polygon_of(event)) == shapely.intersects(area, event)
    assert _has_inside(_polygon_of(event), Point(*pair)) == shapely.contains(event, shapely.Point(pair[::-1]))


@given(_hulls(), _hulls(), _pairs)
def test_far_from_the_meridian_both_kinds_of_edges_agree(
    area: shapely.Polygon, event: shapely.Polygon, pair: tuple[float, float]
) -> None:
    """Whether 180° is a wall shows only near it."""
    of_filter, of_event = _polygon_of(area), _polygon_of(event)
    assert _touches(of_filter, of_event, "wrapped") == _touches(of_filter, of_event)
    assert _has_inside(of_event, Point(*pair), "wrapped") == _has_inside(of_event, Point(*pair))


# --- anywhere on the globe -------------------------------------------------------------------------------


def _globe(ring: Ring) -> Polygon:
    return Polygon(((tuple((float(y), float(x)) for y, x in ring),),))


def _respelled(ring: Ring, signs: list[bool]) -> Ring:
    """Write 180 as -180, or the other way, at some corners; the last repeats the first."""
    corners = [
        (y, -x if abs(x) == 180 and turned else x) for (y, x), turned in zip(ring[:-1], signs, strict=False)
    ]
    return (*corners, corners[0])


def _is_ambiguous(ring: Ring) -> bool:
    """Tell whether an edge could as well be meant the other way round the globe."""
    return any(abs(after - before) in (180, 360) for (_, before), (_, after) in pairwise(ring))


@given(shape_strategies.globe_rings, shape_strategies.globe_rings)
def test_touching_is_mutual(one: Ring, other: Ring) -> None:
    """Which of two areas is the filter's does not matter, although only the filter's is repeated."""
    one_touches = _touches(_globe(one), _globe(other), "wrapped")
    assert one_touches == _touches(_globe(other), _globe(one), "wrapped")


@given(shape_strategies.globe_rings, shape_strategies.globe_rings, shape_strategies.globe_places, st.data())
def test_the_spelling_of_the_meridian_is_no_matter(
    ring: Ring, probe: Ring, place: lattice.Place, data: st.DataObject
) -> None:
    """180° and -180° are one meridian, for each corner by itself."""
    edge = data.draw(st.sampled_from((-180, 180)))
    ring = tuple((y, edge if abs(x) > 150 else x) for y, x in ring)
    respelled = _respelled(ring, data.draw(st.lists(st.booleans(), min_size=7, max_size=7)))
    assume(not _is_ambiguous(ring) and not _is_ambiguous(respelled))
    _assert_equally_placed(ring, respelled, probe, place)


@given(
    shape_strategies.globe_rings,
    st.integers(0, 6),
    st.booleans(),
    shape_strategies.globe_rings,
    shape_strategies.globe_places,
)
def test_where_a_ring_begins_and_which_way_it_runs_is_no_matter(
    ring: Ring, begin: int, is_reversed: bool, probe: Ring, place: lattice.Place
) -> None:
    """Except around a pole where no pole is nearer: there the direction decides."""
    corners = ring[:-1]
    assume(not is_reversed or sum(y for y, _ in corners) != 0)
    begin %= len(corners)
    turned = corners[begin:] + corners[:begin]
    turned = turned[::-1] if is_reversed else turned
    _assert_equally_placed(ring, (*turned, turned[0]), probe, place)


def _assert_equally_placed(ring: Ring, same: Ring, probe: Ring, place: lattice.Place) -> None:
    one, other, third = _globe(ring), _globe(same), _globe(probe)
    point = Point(float(place[0]), float(place[1]))
    assert _touches(one, other, "wrapped")
    assert _touches(one, third, "wrapped") == _touches(other, third, "wrapped")
    assert _touches(third, one, "wrapped") == _touches(third, other, "wrapped")
    assert _has_inside(one, point, "wrapped") == _has_inside(other, point, "wrapped")


# --- around the pole -------------------------------------------------------------------------------------


@st.composite
def _rings_around_the_north_pole(draw: st.DrawFn) -> Ring:
    """Draw rings that go once around the pole without crossing themselves; they may fold back. All numbers are even."""
    around = [draw(st.integers(-90 + 36 * sector, -55 + 36 * sector)) for sector in range(5)]
    place = draw(st.integers(0, 4))
    folds = draw(st.lists(st.integers(around[place] - 25, around[place] + 25), max_size=3))
    longitudes = [(2 * x + 180) % 360 - 180 for x in (*around[: place + 1], *folds, *around[place + 1 :])]
    corners = [(2 * draw(st.integers(5, 40)), x) for x in longitudes]
    ring = (*corners, corners[0])
    assume(_goes_once_around(ring))
    return ring


def _goes_once_around(ring: Ring) -> bool:
    steps = [(after - before + 180) % 360 - 180 for (_, before), (_, after) in pairwise(ring)]
    if -180 in steps or abs(sum(steps)) != 360:
        return False
    # Two rounds, so that the end of the first is also compared with the beginning of the next.
    path = [(ring[0][1], ring[0][0])]
    for step, (y, _) in zip(steps * 2, ring[1:] * 2, strict=True):
        path.append((path[-1][0] + step, y))
    return bool(shapely.LineString(path).is_simple)


# Its first corner lies below a fold, so a line from there to the pole would cross the ring.
_FOLDED: Final = ((60, 0), (70, -20), (80, 30), (70, 100), (70, -140), (70, -60), (54, -10), (60, 0))
# It reaches more than once around, from 178° to 548°, before it turns back.
_OVERLAPPING: Final = ((80, 178), (70, -90), (70, 0), (70, 90), (60, -172), (80, 178))

_odd_places: Final = st.tuples(
    st.integers(0, 44).map(lambda y: 2 * y + 1), st.integers(-90, 89).map(lambda x: 2 * x + 1)
)


@given(_rings_around_the_north_pole(), _odd_places, st.sampled_from((-1, 1)), st.integers(-180, 180))
@example(_FOLDED, (67, -5), 1, 0)
@example(_FOLDED, (67, -5), -1, 0)
def test_a_ring_around_a_pole_holds_it(ring: Ring, place: lattice.Place, side: int, longitude: int) -> None:
    """It holds the pole, by whatever longitude that is called, and of other places exactly those on the pole's side."""
    cap = _globe(tuple((side * y, x) for y, x in ring))
    assert _has_inside(cap, Point(90.0 * side, float(longitude)), "wrapped")
    point = Point(float(side * place[0]), float(place[1]))
    assert _has_inside(cap, point, "wrapped") == lattice.is_strictly_inside_cap(ring, place)


@given(_rings_around_the_north_pole(), _odd_places, st.integers(-180, 180))
@example(_OVERLAPPING, (65, -177), 0)
def test_an_area_touches_a_cap_where_it_has_a_corner_in_it(
    ring: Ring, place: lattice.Place, longitude: int
) -> None:
    """A tiny area is as good as a point, and one at the pole reaches every cap that holds it."""
    cap = _globe(ring)
    y, x = place
    tiny = Polygon((((((y, x), (y, x + 1e-9), (y + 1e-9, x), (y, x))),),))
    if lattice.is_strictly_inside_cap(ring, place):
        assert _touches(tiny, cap, "wrapped")
        assert _touches(cap, tiny, "wrapped")
    at_the_pole = Polygon((((((90.0, longitude), (89.9, longitude), (89.9, 0.0), (90.0, longitude))),),))
    assert _touches(at_the_pole, cap, "wrapped")
    assert _touches(cap, at_the_pole, "wrapped")
