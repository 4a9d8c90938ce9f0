"""The numbers of a spatial explanation where edges are wrapped."""

from __future__ import annotations

from typing import Any

import pytest

from aviso_core.event import Event
from aviso_core.geometry.read import read_polygon
from aviso_core.geometry.shapes import Point
from aviso_core.matching.candidate import Candidate
from aviso_core.matching.explain import Clause, explain
from aviso_core.matching.filter import Area, Filter, Place, SpatialFilter


def _clause(spatial: SpatialFilter, geometry: Any) -> Clause:
    event = Event(
        event_type="a", sequence=1, instant=0, subject="a", identifier={}, geometry=read_polygon(geometry)
    )
    (clause,) = explain(Filter(event_type="a", spatial=spatial), Candidate(event, {}, "wrapped")).clauses
    return clause


def _box(south: float, west: float, north: float, east: float) -> list[list[float]]:
    return [[south, west], [south, east], [north, east], [north, west], [south, west]]


@pytest.mark.parametrize(
    ("longitude", "distance"),
    [(-179.0, 1.0), (169.0, 1.0), (-180.0, 0.0), (180.0, 0.0), (0.0, 170.0)],
)
def test_a_place_is_as_far_away_as_the_shorter_way_goes(longitude: float, distance: float) -> None:
    """It does not matter on which side of 180° the event lies; on its edge the distance is none."""
    clause = _clause(Place(point=Point(5.0, longitude), edges="wrapped"), _box(0, 170, 10, 180))
    assert not clause.passed
    assert clause.distance_degrees == distance


@pytest.mark.parametrize(
    ("west", "east", "overlap"),
    [(175, -175, 0.5), (-180, -175, 0.25), (170, -170, 1.0), (-170, -160, 0.0)],
)
def test_the_share_of_an_event_across_the_meridian(west: float, east: float, overlap: float) -> None:
    """The event reaches from 170° to -170°."""
    area = Area(polygon=read_polygon(_box(0, west, 10, east)), edges="wrapped")
    assert _clause(area, _box(0, 170, 10, -170)).overlap == overlap


def test_the_share_of_a_cap_ends_at_the_pole() -> None:
    """The cap is ten degrees high; nine of them, for a third of the way around, are covered."""
    cap = [[80, 0], [80, 90], [80, 180], [80, -90], [80, 0]]
    area = Area(polygon=read_polygon(_box(70, -60, 89, 60)), edges="wrapped")
    assert _clause(area, cap).overlap == 0.3
