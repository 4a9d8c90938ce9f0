"""Hypothesis strategies for shapes of the lattice: crossing, degenerate, with holes, in several parts."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from support.lattice import Area, Cloud, Place, Ring, Shape, Spelling

# Small, so that edges and corners meet often.
_REACH: Final = 5

_coordinates: Final = st.integers(-_REACH, _REACH)
places: Final[st.SearchStrategy[Place]] = st.tuples(_coordinates, _coordinates)


def _closed(corners: list[Place]) -> Ring:
    return (*corners, corners[0])


def _box(south: int, west: int, height: int, width: int) -> Ring:
    north, east = south + height, west + width
    return _closed([(south, west), (south, east), (north, east), (north, west)])


def _dotted_box(south: int, west: int, height: int, width: int) -> Ring:
    """Return a box with a corner at every whole number on its border."""
    north, east = south + height, west + width
    return _closed(
        [
            *((south, x) for x in range(west, east)),
            *((y, east) for y in range(south, north)),
            *((north, x) for x in range(east, west, -1)),
            *((y, west) for y in range(north, south, -1)),
        ]
    )


def _frame(south: int, west: int, height: int, width: int) -> Area:
    hole = _box(south + 1, west + 1, height - 2, width - 2)
    return Area(((_box(south, west, height, width), hole),))


# Any corners in any order: crossing themselves, doubling back, all on one line, all the same.
rings: Final = st.lists(places, min_size=3, max_size=7).map(_closed)
_sides: Final = st.integers(1, 6)
boxes: Final = st.one_of(
    st.builds(_box, _coordinates, _coordinates, _sides, _sides),
    st.builds(_dotted_box, _coordinates, _coordinates, _sides, _sides),
)
frames: Final = st.builds(_frame, _coordinates, _coordinates, st.integers(3, 6), st.integers(3, 6))
# Parts that lie apart, touch, share an edge or overlap.
_boxes_together: Final = st.lists(boxes, min_size=2, max_size=3).map(
    lambda several: Area(tuple((box,) for box in several))
)
_rings_together: Final = st.lists(rings, min_size=2, max_size=3).map(
    lambda several: Area(tuple((ring,) for ring in several))
)

# What lies inside these can be told exactly, see `is_strictly_inside`.
plain_areas: Final[st.SearchStrategy[Area]] = st.one_of(
    rings.map(lambda ring: Area(((ring,),))),
    boxes.map(lambda box: Area(((box,),))),
    frames,
    _boxes_together,
)
areas: Final[st.SearchStrategy[Area]] = st.one_of(plain_areas, _rings_together)
clouds: Final = st.lists(places, min_size=1, max_size=4).map(lambda some: Cloud(tuple(some)))
shapes: Final[st.SearchStrategy[Shape]] = st.one_of(areas, clouds)
plain_shapes: Final[st.SearchStrategy[Shape]] = st.one_of(plain_areas, clouds)

_meridians: Final = st.sampled_from((-180, 180))
_shifts: Final = st.one_of(st.integers(170, 190), st.integers(-180, 180))


def _two_spellings(shift: int, meridians: tuple[int, int, int, int]) -> tuple[Spelling, Spelling]:
    return Spelling(shift, *meridians[:2]), Spelling(shift, *meridians[2:])


# Anywhere, and often so that the 180° meridian runs through the lattice; one for the filter and one for the event.
spellings: Final = st.builds(
    _two_spellings, _shifts, st.tuples(_meridians, _meridians, _meridians, _meridians)
)


# --- on the whole globe ----------------------------------------------------------------------------------

_latitudes: Final = st.integers(-90, 90)
_longitudes: Final = st.integers(-180, 180)
globe_places: Final[st.SearchStrategy[Place]] = st.tuples(_latitudes, _longitudes)


def _globe_box(south: int, west: int, height: int, width: int) -> Ring:
    north = min(90, south + height)
    east = (west + width + 180) % 360 - 180
    return _closed([(south, west), (south, east), (north, east), (north, west)])


# Wide enough that two of them often meet.
globe_rings: Final = st.one_of(
    st.lists(globe_places, min_size=3, max_size=7).map(_closed),
    st.builds(_globe_box, st.integers(-90, 80), _longitudes, st.integers(10, 90), st.integers(10, 170)),
)
