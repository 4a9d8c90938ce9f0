"""What a spatial filter selects: contract section 6.4, and the vectors of wrapped edges.

Latitude comes first, as in the contract. Each row is asked three ways, which must agree: the matcher that delivers,
the index that finds filters, and the explanation.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from aviso_core.event import Event
from aviso_core.fields.point_cloud import PointCloudField
from aviso_core.fields.polygon import PolygonField
from aviso_core.geometry.read import read_polygon
from aviso_core.geometry.shapes import Geometry, Point, PointCloud
from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.explain import explain
from aviso_core.matching.filter import Area, Filter, Place, SpatialFilter
from aviso_core.matching.index import Index
from aviso_core.matching.matcher import Matcher
from aviso_core.schema.model import Schema

if TYPE_CHECKING:
    from aviso_core.geometry.plane import Edges


def _selects(spatial: SpatialFilter, geometry: Geometry | None, edges: Edges) -> bool:
    of_clouds = isinstance(geometry, PointCloud)
    field = PointCloudField(name="point_cloud") if of_clouds else PolygonField(name="polygon")
    schema = Schema(event_type="a", fields=(field,), edges=edges)
    event = Event(event_type="a", sequence=1, instant=0, subject="a", identifier={}, geometry=geometry)
    wanted = Filter(event_type="a", spatial=spatial)
    candidate = CandidateMaker(schema).of(event)
    selected = Matcher(wanted).selects(candidate)
    index: Index[int] = Index(schema)
    index.add(wanted, 1)
    assert bool(index.selecting(event)) is selected
    assert explain(wanted, candidate).selected is selected
    return selected


def _touches(area: Any, geometry: Any, edges: Edges) -> bool:
    shape = geometry if isinstance(geometry, PointCloud | None) else read_polygon(geometry)
    return _selects(Area(polygon=read_polygon(area), edges=edges), shape, edges)


def _has_inside(geometry: Any, place: tuple[float, float], edges: Edges) -> bool:
    shape = geometry if isinstance(geometry, PointCloud | None) else read_polygon(geometry)
    return _selects(Place(point=Point(*place), edges=edges), shape, edges)


def _box(south: float, west: float, north: float, east: float) -> list[list[float]]:
    return [[south, west], [south, east], [north, east], [north, west], [south, west]]


def _cloud(*points: tuple[float, float]) -> PointCloud:
    return PointCloud(tuple((float(latitude), float(longitude)) for latitude, longitude in points))


def _geojson(*parts: Any) -> dict[str, Any]:
    """Return parts of outline and holes, given latitude first, as GeoJSON."""
    turned = [[[[lon, lat] for lat, lon in ring] for ring in part] for part in parts]
    return {"type": "MultiPolygon", "coordinates": turned}


# --- planar, and away from the seams wrapped as well -----------------------------------------------------

SQUARE: Final = _box(0, 0, 10, 10)
TRIANGLE: Final = [[0, 0], [0, 10], [10, 0], [0, 0]]
RING: Final = _geojson([_box(0, 0, 10, 10), _box(4, 4, 6, 6)])
TWO: Final = _geojson([_box(0, 0, 10, 10)], [_box(0, 20, 10, 30)])
OVERLAPPING: Final = _geojson([_box(0, 0, 10, 10)], [_box(5, 5, 15, 15)])
TWICE: Final = _geojson([_box(0, 0, 10, 10)], [_box(0, 0, 10, 10)])
SIDE_BY_SIDE: Final = _geojson([_box(0, 0, 10, 10)], [_box(0, 10, 10, 20)])
BOW_TIE: Final = [[0, 0], [10, 10], [0, 10], [10, 0], [0, 0]]  # two triangles, west and east of (5, 5)
PENTAGRAM: Final = [
    [10, 5],
    [0, 8],
    [6, 0],
    [6, 10],
    [0, 2],
    [10, 5],
]  # its middle is inside twice: not at all
LINE: Final = [[0, 0], [8, 8], [0, 0], [0, 0]]
DOT: Final = [[5, 5]] * 4
LOOSE_HOLE: Final = _geojson([_box(0, 0, 10, 10), _box(4, 4, 6, 16)])  # reaches out of its outline

AREAS: Final[list[tuple[Any, Any, bool]]] = [
    # filter, event's geometry, selected
    (SQUARE, SQUARE, True),
    (SQUARE, _box(5, 5, 15, 15), True),  # overlap
    (SQUARE, _box(2, 2, 3, 3), True),  # containment, either way
    (_box(2, 2, 3, 3), SQUARE, True),
    (SQUARE, _box(0, 10, 10, 20), True),  # an edge
    (SQUARE, _box(10, 10, 20, 20), True),  # a corner
    (SQUARE, _box(0, 10.000001, 10, 20), False),
    (TRIANGLE, _box(6, 6, 10, 10), False),  # the boxes around them overlap, they do not
    (TRIANGLE, _box(5, 5, 10, 10), True),  # corner on an edge
    (SQUARE, None, False),
    # clouds: any point inside or on an edge or corner
    (SQUARE, _cloud((5, 5)), True),
    (SQUARE, _cloud((50, 50), (5, 5)), True),
    (SQUARE, _cloud((0, 5)), True),
    (SQUARE, _cloud((10, 10)), True),
    (SQUARE, _cloud((50, 50), (11, 5)), False),
    (TRIANGLE, _cloud((6, 6)), False),
    (TRIANGLE, _cloud((5, 5)), True),
    # holes: their inside is not part of the area, their border is
    (RING, _cloud((5, 5)), False),
    (RING, _cloud((4, 5)), True),
    (RING, _box(4.5, 4.5, 5.5, 5.5), False),
    (RING, _box(4, 4, 6, 6), True),
    (_box(4.5, 4.5, 5.5, 5.5), RING, False),
    (_box(4.5, 4.5, 5.5, 7), RING, True),
    # several parts
    (TWO, _cloud((5, 25)), True),
    (TWO, _cloud((5, 15)), False),
    (_box(4, 12, 6, 18), TWO, False),
    (_box(4, 12, 6, 20), TWO, True),
    *((parts, _box(7, 7, 8, 8), True) for parts in (OVERLAPPING, TWICE)),
    *((_box(7, 7, 8, 8), parts, True) for parts in (OVERLAPPING, TWICE)),
    # rings without an inside, or with an odd one: nothing is refused (section 6.1)
    (SQUARE, DOT, True),
    (DOT, SQUARE, True),
    (DOT, DOT, True),
    (DOT, _cloud((5, 5)), True),
    (DOT, _cloud((5, 6)), False),
    (LINE, _box(2, 0, 3, 10), True),
    (LINE, _box(0, 5, 3, 10), False),
    (BOW_TIE, _cloud((5, 5)), True),
    (BOW_TIE, _cloud((5, 1)), True),
    (BOW_TIE, _cloud((1, 5)), False),
    (PENTAGRAM, _cloud((4.5, 5)), False),
    (PENTAGRAM, _cloud((8, 5)), True),
    (LOOSE_HOLE, _cloud((5, 5)), False),
    (LOOSE_HOLE, _cloud((5, 12)), False),
    (LOOSE_HOLE, _cloud((2, 5)), True),
]  # fmt: skip

PLACES: Final[list[tuple[Any, tuple[float, float], bool]]] = [
    # event's polygon, point of the filter, selected
    (SQUARE, (5, 5), True),
    (SQUARE, (0, 5), False),  # on an edge
    (SQUARE, (10, 10), False),  # on a corner
    (SQUARE, (11, 5), False),
    (SQUARE, (9.999999, 9.999999), True),
    (TRIANGLE, (5, 5), False),
    (TRIANGLE, (4.9, 5), True),
    (TRIANGLE, (6, 6), False),
    (None, (5, 5), False),
    (_cloud((5, 5)), (5, 5), False),  # a cloud has no inside
    (RING, (5, 5), False),
    (RING, (4, 5), False),
    (RING, (2, 5), True),
    (TWO, (5, 25), True),
    (TWO, (5, 15), False),
    *((OVERLAPPING, place, True) for place in ((2, 2), (7, 7), (10, 7), (12, 12))),
    (OVERLAPPING, (10, 2), False),
    (TWICE, (5, 5), True),
    (TWICE, (0, 5), False),
    (SIDE_BY_SIDE, (5, 10), True),  # the border between two parts is inside the area
    (SIDE_BY_SIDE, (10, 10), False),  # its end is not
    (DOT, (5, 5), False),
    (LINE, (4, 4), False),
    (BOW_TIE, (5, 5), False),
    (BOW_TIE, (5, 9), True),
    (BOW_TIE, (9, 5), False),
    (PENTAGRAM, (8, 5), True),
    (PENTAGRAM, (4.5, 5), False),
    (LOOSE_HOLE, (2, 5), True),
    (LOOSE_HOLE, (5, 5), False),
]  # fmt: skip

both_edges = pytest.mark.parametrize("edges", ["planar", "wrapped"])


@both_edges
@pytest.mark.parametrize(("area", "geometry", "selected"), AREAS, ids=lambda part: repr(part)[:60])
def test_an_area_selects_what_it_shares_a_point_with(
    area: Any, geometry: Any, selected: bool, edges: Edges
) -> None:
    assert _touches(area, geometry, edges) is selected


@both_edges
@pytest.mark.parametrize(("geometry", "place", "selected"), PLACES, ids=lambda part: repr(part)[:60])
def test_a_point_selects_what_has_it_strictly_inside(
    geometry: Any, place: tuple[float, float], selected: bool, edges: Edges
) -> None:
    assert _has_inside(geometry, place, edges) is selected


# --- where the two meanings of an edge differ ------------------------------------------------------------

ACROSS: Final = _box(-10, 170, 10, -170)  # planar: 340° wide; wrapped: 20° wide, over the 180° meridian
WORLD: Final = _box(-90, -180, 90, 180)
BAND: Final = _box(-10, -180, 10, 180)
ARCTIC: Final = _box(60, -180, 90, 180)
CAP: Final = [[60, -90], [60, 0], [60, 90], [60, 180], [60, -90]]  # goes around, the pole is not written
CAP_BACKWARDS: Final = CAP[::-1]
SOUTHERN_CAP: Final = [[-60, -90], [-60, 0], [-60, 90], [-60, 180], [-60, -90]]
# The same with both names of the meridian, or with a corner on it.
CAP_BOTH_NAMES: Final = [[60, -180], [60, -90], [60, 0], [60, 90], [60, 180], [60, -180]]
ACROSS_BOTH_NAMES: Final = [
    [-10, 170], [-10, 180], [-10, -180], [-10, -170], [10, -170], [10, -180], [10, 180], [10, 170], [-10, 170],
]  # fmt: skip
ACROSS_ONE_SIDE: Final = [[-10, 170], [-10, 180], [-10, -180], [-10, -170], [10, -170], [10, 170], [-10, 170]]
BAND_DOTTED: Final = [[-10, -180], [-10, 0], [-10, 180], [10, 180], [10, -180], [-10, -180]]
ARCTIC_DOTTED: Final = [
    [60, -180], [60, 0], [60, 180], [90, 180], [90, 90], [90, 0], [90, -90], [90, -180], [60, -180],
]  # fmt: skip
POLE_CORNER: Final = [[80, -10], [80, 10], [90, 0], [80, -10]]
POLE_SIDE: Final = _box(80, 0, 90, 90)
PACIFIC: Final = _geojson([WORLD, _box(-40, 150, 40, -120)])  # everything but
ANNULUS: Final = _geojson([CAP, [[80, 10], [80, 130], [80, -110], [80, 10]]])
ATOLL: Final = _geojson([_box(-10, 170, 10, -170), _box(-5, 175, 5, -175)])
ATOLL_EAST: Final = _geojson([_box(-10, 170, 10, -170), _box(-5, -179, 5, -175)])
FIJI: Final = _geojson([_box(-20, 177, -15, 180)], [_box(-20, -180, -15, -178)])  # cut at the meridian

ONLY_WRAPPED: Final[list[tuple[str, Any, tuple[float, float], bool, bool]]] = [
    # polygon, place; strictly inside with planar edges, with wrapped edges
    ("across", ACROSS, (0, 0), True, False),
    ("across", ACROSS, (0, 175), False, True),
    ("across", ACROSS, (0, -175), False, True),
    ("across", ACROSS, (0, 180), False, True),  # 180° is not a wall
    ("across", ACROSS, (0, -180), False, True),
    ("across", ACROSS, (0, 170), False, False),  # on its own edge
    ("across", ACROSS, (0, -170), False, False),
    ("across", ACROSS, (10, 180), False, False),
    ("across", ACROSS, (20, 180), False, False),
    ("across", ACROSS, (0, 165), True, False),
    *(
        (name, ring, place, False, inside)
        for name, ring in (("both names", ACROSS_BOTH_NAMES), ("one side with both names", ACROSS_ONE_SIDE))
        for place, inside in (
            ((0, 175), True), ((0, 180), True), ((0, -180), True), ((0, -175), True),
            ((0, 170), False), ((10, 180), False), ((85, 0), False),
        )
    ),
    ("world", WORLD, (0, 0), True, True),
    ("world", WORLD, (0, 180), False, True),
    ("world", WORLD, (0, -180), False, True),
    ("world", WORLD, (90, 0), False, True),
    ("world", WORLD, (-90, 180), False, True),
    ("band", BAND, (0, 0), True, True),
    ("band", BAND, (0, 180), False, True),
    ("band", BAND, (10, 0), False, False),
    ("band", BAND, (11, 0), False, False),
    ("band", BAND, (90, 0), False, False),
    ("dotted band", BAND_DOTTED, (0, 90), True, True),
    ("dotted band", BAND_DOTTED, (0, 180), False, True),
    ("dotted band", BAND_DOTTED, (85, 0), False, False),
    *(
        (name, ring, place, planar, wrapped)
        for name, ring in (("arctic", ARCTIC), ("dotted arctic", ARCTIC_DOTTED))
        for place, planar, wrapped in (
            ((70, 0), True, True), ((70, 180), False, True), ((70, -180), False, True),
            ((90, 0), False, True), ((90, 180), False, True), ((60, 0), False, False), ((59, 0), False, False),
        )
    ),
    *(
        (name, ring, place, False, wrapped)
        for name, ring in (("cap", CAP), ("cap backwards", CAP_BACKWARDS), ("cap with both names", CAP_BOTH_NAMES))
        for place, wrapped in (
            ((70, 0), True), ((70, 180), True), ((70, -180), True), ((70, 45), True),
            ((90, 0), True), ((90, -90), True),
            ((60, 45), False), ((50, 0), False), ((-90, 0), False),
        )
    ),
    ("southern cap", SOUTHERN_CAP, (-70, 180), False, True),
    ("southern cap", SOUTHERN_CAP, (-90, 0), False, True),
    ("southern cap", SOUTHERN_CAP, (90, 0), False, False),
    ("corner on the pole", POLE_CORNER, (85, 0), True, True),
    ("corner on the pole", POLE_CORNER, (90, 0), False, False),
    ("corner on the pole", POLE_CORNER, (90, 50), False, False),  # the pole has every longitude
    ("side on the pole", POLE_SIDE, (85, 45), True, True),
    ("side on the pole", POLE_SIDE, (90, 45), False, False),
    ("side on the pole", POLE_SIDE, (90, 180), False, False),
    ("all but the Pacific", PACIFIC, (0, 0), False, True),  # planar, the hole is what lies between -120 and 150
    ("all but the Pacific", PACIFIC, (0, 140), False, True),
    ("all but the Pacific", PACIFIC, (0, 180), False, False),
    ("all but the Pacific", PACIFIC, (0, -150), True, False),
    ("all but the Pacific", PACIFIC, (50, 180), False, True),
    ("annulus", ANNULUS, (70, 0), False, True),
    ("annulus", ANNULUS, (70, 180), False, True),
    ("annulus", ANNULUS, (85, 0), False, False),
    ("annulus", ANNULUS, (90, 0), False, False),
    ("atoll", ATOLL, (0, 180), False, False),
    ("atoll", ATOLL, (0, 175), False, False),
    ("atoll", ATOLL, (0, 172), False, True),
    ("atoll", ATOLL, (0, -172), False, True),
    ("atoll", ATOLL_EAST, (0, 180), False, True),
    ("atoll", ATOLL_EAST, (0, -177), False, False),
    ("cut at the meridian", FIJI, (-17, 178), True, True),
    ("cut at the meridian", FIJI, (-17, -179), True, True),
    ("cut at the meridian", FIJI, (-17, 180), False, True),
    ("cut at the meridian", FIJI, (-20, 180), False, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("polygon", "place", "planar", "wrapped"),
    [row[1:] for row in ONLY_WRAPPED],
    ids=[f"{row[0]}, {row[2]}" for row in ONLY_WRAPPED],
)
def test_a_place_is_inside_with_planar_or_with_wrapped_edges(
    polygon: Any, place: tuple[float, float], planar: bool, wrapped: bool
) -> None:
    assert _has_inside(polygon, place, "wrapped") is wrapped
    assert _has_inside(polygon, place, "planar") is planar


WRAPPED_AREAS: Final[list[tuple[Any, Any, bool, bool]]] = [
    # filter, event's geometry; selected with planar edges, with wrapped edges
    (ACROSS, _box(-5, 175, 5, 178), False, True),
    (ACROSS, _box(-5, -178, 5, -175), False, True),
    (ACROSS, _box(-5, 0, 5, 5), True, False),
    (ACROSS, ACROSS, True, True),
    (ACROSS, _box(-5, 160, 5, 170), True, True),  # an edge, from the west
    (ACROSS, _box(-5, -170, 5, -160), True, True),  # an edge, from the east
    (ACROSS, _box(10, -170, 20, -160), True, True),  # a corner
    (ACROSS, _box(-5, 160, 5, 169.999), True, False),
    (_box(-5, 150, 5, 180), _box(-5, -180, 5, -150), False, True),  # the meridian has two names
    (_box(-5, -180, 5, -150), _box(-5, 150, 5, 180), False, True),
    (_box(-5, 150, 5, 179.9), _box(-5, -180, 5, -150), False, False),
    (ACROSS, _cloud((0, 180)), False, True),
    (ACROSS, _cloud((0, -180)), False, True),
    (ACROSS, _cloud((0, 0)), True, False),
    (_box(-5, 150, 5, 180), _cloud((0, -180)), False, True),
    (WORLD, _cloud((0, 180)), True, True),
    (WORLD, _cloud((90, 17)), True, True),
    (BAND, _box(-5, 170, 5, -170), True, True),
    (BAND, _box(20, 170, 30, -170), False, False),
    (CAP, _cloud((70, -135)), False, True),
    (CAP, _cloud((90, 17)), False, True),
    (CAP, _cloud((50, 0)), False, False),
    (CAP, POLE_CORNER, False, True),
    (SOUTHERN_CAP, CAP, False, False),
    (_box(50, 0, 70, 10), CAP, True, True),
    (_box(70, 0, 80, 10), CAP, False, True),
    # a pole is one place, whatever longitude is written
    (POLE_CORNER, _box(85, 100, 90, 110), False, True),
    (POLE_CORNER, _cloud((90, 123)), False, True),
    (POLE_CORNER, _cloud((89.9, 123)), False, False),
    (_box(-90, 0, -80, 10), _cloud((-90, 123)), False, True),
    (POLE_CORNER, _box(-90, 0, -80, 10), False, False),
    (_box(85, 100, 90, 110), POLE_SIDE, False, True),
    (ARCTIC, _cloud((90, 77)), True, True),
    (PACIFIC, _box(-10, 170, 10, -170), True, False),
    (PACIFIC, _box(-10, 140, 10, 145), False, True),
    (ATOLL, _box(-2, 178, 2, -178), False, False),
    (ATOLL, _box(-2, 172, 2, 173), False, True),
    (FIJI, _cloud((-17, 180)), True, True),
    (ANNULUS, _cloud((85, 0)), False, False),
    (ANNULUS, _cloud((70, 123)), False, True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("area", "geometry", "planar", "wrapped"), WRAPPED_AREAS, ids=lambda part: repr(part)[:70]
)
def test_an_area_touches_with_planar_or_with_wrapped_edges(
    area: Any, geometry: Any, planar: bool, wrapped: bool
) -> None:
    assert _touches(area, geometry, "wrapped") is wrapped
    assert _touches(area, geometry, "planar") is planar


@pytest.mark.parametrize("seed", range(20))
def test_neighbours_across_the_meridian_always_touch(seed: int) -> None:
    """A shared edge has the same corners in both; counting turns must not round one of them."""
    digits = random.Random(seed)  # noqa: S311  # seeded, not secret
    for _ in range(20):
        border = round(digits.uniform(-179.9, -100.0), digits.choice((1, 2, 3, 6, 14)))
        west, east = _box(0, 170, 10, border), _box(0, border, 10, border + 9)
        corner = _box(10, border, 20, border + 9)
        assert _touches(west, east, "wrapped")
        assert _touches(east, west, "wrapped")
        assert _touches(west, corner, "wrapped")
        assert _touches(corner, west, "wrapped")
        assert _touches(west, _cloud((10, border)), "wrapped")


# --- what it costs ---------------------------------------------------------------------------------------


def _random_ring(corners: int, *, seed: int) -> list[list[float]]:
    digits = random.Random(seed)  # noqa: S311  # seeded, not secret
    ring = [[digits.uniform(-89, 89), digits.uniform(-179, 179)] for _ in range(corners)]
    return [*ring, ring[0]]


def _spiral(corners: int) -> list[list[float]]:
    """Return a ring that goes around the pole once for every three corners."""
    ring = [[90.0 * place / corners, (120.0 * place) % 360.0 - 180.0] for place in range(corners)]
    return [*ring, ring[0]]


INTRICATE: Final = {
    "random": (_random_ring(2_000, seed=1), _random_ring(2_000, seed=2)),
    "spirals": (_spiral(3_000), _spiral(2_999)),
}


@both_edges
@pytest.mark.parametrize(("one", "other"), INTRICATE.values(), ids=INTRICATE.keys())
def test_intricate_rings_are_compared_at_once(one: Any, other: Any, edges: Edges) -> None:
    """Mending the first kind once took a minute for 500 corners, and repeating the second kind all memory."""
    begun = time.process_time()
    assert _touches(one, other, edges)
    _touches(one, _cloud((89.5, 0)), edges)
    _has_inside(one, (0.5, 0.5), edges)
    both = _geojson([one, other], [other])
    _touches(both, both, edges)
    _has_inside(both, (0.5, 0.5), edges)
    assert time.process_time() - begun < 5.0
