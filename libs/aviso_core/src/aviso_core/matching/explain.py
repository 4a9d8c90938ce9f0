"""Why a filter selects an event or not, clause by clause, from the parts that decide it for delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import shapely

from aviso_core.geometry.assembly import can_be_cut
from aviso_core.matching.filter import Area, Filter, SpatialFilter
from aviso_core.matching.spatial import accepts, figure_of

if TYPE_CHECKING:
    from aviso_core.fields.base import Comparable
    from aviso_core.geometry.plane import Figure
    from aviso_core.matching.candidate import Candidate


class Clause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that the filter asks for, what the event has there, and whether that is enough.

    Of a spatial clause that passed, `overlap` is the share of the event's area that lies in the filter's, unless the
    two are too intricate to tell; of one that did not, `distance_degrees` is how far apart the two are.
    """

    field: str
    operator: str
    wanted: object
    found: object
    passed: bool
    overlap: float | None = None
    distance_degrees: float | None = None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """All clauses of a filter; the event is selected when every one passed."""

    selected: bool
    clauses: tuple[Clause, ...]


def explain(filter: Filter, candidate: Candidate) -> Explanation:
    """Return the clauses of a filter for one event, in the filter's order: equalities, constraints, space."""
    clauses = [
        *_place_clauses(filter, candidate),
        *_equality_clauses(filter, candidate),
        *_constraint_clauses(filter, candidate),
    ]
    if filter.spatial is not None:
        clauses.append(_spatial_clause(filter.spatial, candidate))
    return Explanation(selected=all(clause.passed for clause in clauses), clauses=tuple(clauses))


def _place_clauses(filter: Filter, candidate: Candidate) -> list[Clause]:
    if filter.places is None:
        return []
    found = len(candidate.identifier)
    return [
        Clause(
            field="identifier",
            operator="number_of_values",
            wanted=filter.places,
            found=found,
            passed=found == filter.places,
        )
    ]


def _equality_clauses(filter: Filter, candidate: Candidate) -> list[Clause]:
    found = candidate.identifier
    return [
        Clause(
            field=name, operator="equals", wanted=text, found=found.get(name), passed=found.get(name) == text
        )
        for name, text in filter.equals
    ]


def _constraint_clauses(filter: Filter, candidate: Candidate) -> list[Clause]:
    return [
        Clause(
            field=one.field,
            operator=one.operator,
            wanted=_operand(one.operator, one.operands),
            found=candidate.identifier.get(one.field),
            passed=one.accepts(candidate.comparable(one.field)),
        )
        for one in filter.constraints
    ]


def _operand(operator: str, operands: tuple[Comparable, ...]) -> object:
    return list(operands) if operator in ("in", "between") else operands[0]


def _spatial_clause(spatial: SpatialFilter, candidate: Candidate) -> Clause:
    figure = figure_of(spatial)
    passed = accepts(spatial, figure, candidate)
    is_area = isinstance(spatial, Area)
    return Clause(
        field="polygon" if is_area else "point",
        operator="touches" if is_area else "has_inside",
        wanted=spatial.polygon.geojson() if isinstance(spatial, Area) else spatial.point.geojson(),
        found=None if candidate.geometry is None else candidate.geometry.geojson(),
        passed=passed,
        overlap=_overlap(figure, candidate) if passed and is_area else None,
        distance_degrees=None if passed else _distance(spatial, figure, candidate),
    )


def _overlap(figure: Figure, candidate: Candidate) -> float | None:
    event_figure = candidate.figure()
    if event_figure is None or not can_be_cut(figure, event_figure) or not event_figure.area:
        return None
    # A figure that holds a pole reaches beyond it, where there is nothing.
    west, _, east, _ = event_figure.bounds
    covered = shapely.intersection(event_figure, shapely.box(west, -90, east, 90))
    return round(shapely.intersection(figure, covered).area / covered.area, 6)


def _distance(spatial: SpatialFilter, figure: Figure, candidate: Candidate) -> float | None:
    # Of the two, an area's own figure is the one that is repeated around the globe; a place's is not.
    event_figure = candidate.figure() if isinstance(spatial, Area) else candidate.seamless_figure()
    return None if event_figure is None else round(float(shapely.distance(figure, event_figure)), 6)
