"""What `explain` says, clause by clause, about one event and one filter."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from aviso_core.event import Event
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.text import TextField
from aviso_core.geometry.read import read_point, read_polygon
from aviso_core.geometry.shapes import PointCloud
from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.explain import Clause, Explanation, explain
from aviso_core.matching.filter import Area, Filter, Place, read_selection
from aviso_core.schema.event_type import EventType
from aviso_core.schema.model import Schema

SCHEMA: Final = Schema(
    event_type="a",
    fields=(
        TextField(name="name"),
        IntegerField(name="level"),
        ChoiceField(name="kind", values=("x", "y")),
        PolygonField(name="polygon"),
    ),
)
EVENT: Final = Event(
    event_type="a",
    sequence=1,
    instant=0,
    subject="a.n.4.x",
    identifier={"name": "n", "level": "4", "kind": "x"},
    geometry=read_polygon("0,0,0,10,10,10,10,0,0,0"),
)


def _explain(identifier: dict[str, Any]) -> Explanation:
    selection = read_selection(EventType(SCHEMA), identifier, operation="watch", point=None)
    return explain(selection.filter, CandidateMaker(SCHEMA).of(EVENT))


def _clause(field: str, operator: str, wanted: object, found: object, passed: bool) -> Clause:
    return Clause(field=field, operator=operator, wanted=wanted, found=found, passed=passed)


CLAUSES: Final[list[tuple[dict[str, Any], list[Clause]]]] = [
    ({}, []),
    ({"name": "n"}, [_clause("name", "equals", "n", "n", True)]),
    ({"name": "m"}, [_clause("name", "equals", "m", "n", False)]),
    ({"name": "*"}, []),
    ({"level": 4}, [_clause("level", "equals", "4", "4", True)]),
    ({"level": {"eq": 4}}, [_clause("level", "eq", 4, "4", True)]),
    ({"level": {"in": [1, 2]}}, [_clause("level", "in", [1, 2], "4", False)]),
    ({"level": {"gt": 4}}, [_clause("level", "gt", 4, "4", False)]),
    ({"level": {"between": [4, 5]}}, [_clause("level", "between", [4, 5], "4", True)]),
    ({"kind": {"in": ["Y"]}}, [_clause("kind", "in", ["y"], "x", False)]),
    # equalities first, then constraints, each by name
    (
        {"kind": {"eq": "x"}, "level": {"lt": 4}, "name": "n"},
        [
            _clause("name", "equals", "n", "n", True),
            _clause("kind", "eq", "x", "x", True),
            _clause("level", "lt", 4, "4", False),
        ],
    ),
]


@pytest.mark.parametrize(("identifier", "clauses"), CLAUSES, ids=repr)
def test_every_clause_is_shown_with_what_was_found(identifier: dict[str, Any], clauses: list[Clause]) -> None:
    assert _explain(identifier) == Explanation(
        selected=all(clause.passed for clause in clauses), clauses=tuple(clauses)
    )


def test_a_value_that_the_event_lacks_is_found_as_none() -> None:
    event = msgspec.structs.replace(EVENT, identifier={})
    wanted = Filter(event_type="a", equals=(("name", "n"),))
    (clause,) = explain(wanted, CandidateMaker(SCHEMA).of(event)).clauses
    assert clause == _clause("name", "equals", "n", None, False)


def test_an_undeclared_event_is_first_asked_for_its_number_of_values() -> None:
    event = msgspec.structs.replace(EVENT, identifier={"#0": "1"})
    wanted = Filter(event_type="any", equals=(("#0", "1"),), places=2)
    explanation = explain(wanted, CandidateMaker(None).of(event))
    assert explanation == Explanation(
        selected=False,
        clauses=(
            _clause("identifier", "number_of_values", 2, 1, False),
            _clause("#0", "equals", "1", "1", True),
        ),
    )


# --- space -----------------------------------------------------------------------------------------------

AREAS: Final = [
    # filter's area, passed, share of the event's area, distance in degrees
    ("0,0,0,10,10,10,10,0,0,0", True, 1.0, None),
    ("0,0,0,5,10,5,10,0,0,0", True, 0.5, None),
    ("-5,-5,-5,50,50,50,50,-5,-5,-5", True, 1.0, None),
    ("9,9,9,19,19,19,19,9,9,9", True, 0.01, None),
    ("0,10,0,20,10,20,10,10,0,10", True, 0.0, None),  # an edge has no area
    ("0,13,0,20,10,20,10,13,0,13", False, None, 3.0),
    ("13,14,13,20,20,20,20,14,13,14", False, None, 5.0),
    ("0,0,10,10,0,10,10,0,0,0", True, None, None),  # crosses itself: no share can be told
]


@pytest.mark.parametrize(("area", "passed", "overlap", "distance"), AREAS)
def test_an_area_is_explained_by_overlap_or_distance(
    area: str, passed: bool, overlap: float | None, distance: float | None
) -> None:
    polygon = read_polygon(area)
    (clause,) = explain(
        Filter(event_type="a", spatial=Area(polygon=polygon)), CandidateMaker(SCHEMA).of(EVENT)
    ).clauses
    assert EVENT.geometry is not None
    assert clause == Clause(
        field="polygon",
        operator="touches",
        wanted=polygon.geojson(),
        found=EVENT.geometry.geojson(),
        passed=passed,
        overlap=overlap,
        distance_degrees=distance,
    )


@pytest.mark.parametrize(
    ("point", "passed", "distance"), [("5,5", True, None), ("0,5", False, 0.0), ("5,14", False, 4.0)]
)
def test_a_place_is_explained_by_distance(point: str, passed: bool, distance: float | None) -> None:
    place = read_point(point)
    (clause,) = explain(
        Filter(event_type="a", spatial=Place(point=place)), CandidateMaker(SCHEMA).of(EVENT)
    ).clauses
    assert clause.wanted == place.geojson()
    assert (clause.field, clause.operator) == ("point", "has_inside")
    assert (clause.passed, clause.overlap, clause.distance_degrees) == (passed, None, distance)


def test_a_cloud_has_no_share_but_a_distance() -> None:
    inside = msgspec.structs.replace(EVENT, geometry=PointCloud(((5.0, 5.0), (50.0, 50.0))))
    outside = msgspec.structs.replace(EVENT, geometry=PointCloud(((5.0, 14.0), (50.0, 50.0))))
    wanted = Filter(event_type="a", spatial=Area(polygon=read_polygon("0,0,0,10,10,10,10,0,0,0")))
    (first,), (second,) = (
        explain(wanted, CandidateMaker(SCHEMA).of(event)).clauses for event in (inside, outside)
    )
    assert (first.passed, first.overlap, first.distance_degrees) == (True, None, None)
    assert (second.passed, second.overlap, second.distance_degrees) == (False, None, 4.0)


@pytest.mark.parametrize(
    "spatial", [Area(polygon=read_polygon("0,0,0,1,1,1,0,0")), Place(point=read_point("0,0"))]
)
def test_an_event_without_geometry_is_nowhere(spatial: Area | Place) -> None:
    event = msgspec.structs.replace(EVENT, geometry=None)
    explanation = explain(Filter(event_type="a", spatial=spatial), CandidateMaker(SCHEMA).of(event))
    (clause,) = explanation.clauses
    assert not explanation.selected
    assert (clause.found, clause.passed, clause.overlap, clause.distance_degrees) == (None, False, None, None)


def test_an_explanation_is_written_without_what_is_not_there() -> None:
    encoded = msgspec.json.decode(msgspec.json.encode(_explain({"name": "n"})))
    assert encoded == {
        "selected": True,
        "clauses": [{"field": "name", "operator": "equals", "wanted": "n", "found": "n", "passed": True}],
    }
