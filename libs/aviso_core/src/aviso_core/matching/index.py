"""From an event to the filters that select it, without asking each one.

Filters that fix the same fields by equality form a group. A group is a hash from the values of those fields to a
bucket, so one look per group finds every filter whose equalities hold; `eq` and `in` constraints count as equalities
with one or several values. Within a bucket, what is left of a filter decides where it stands: nothing (it is selected
as it is), a spatial filter (in a tree of figures), or a range (in an interval tree). Only what is left after that,
second ranges mostly, is asked one by one.

Equal filters share one entry, however many subscribers there are. An event type has an index of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from aviso_core.fields.base import Comparable
from aviso_core.geometry.shapes import Polygon
from aviso_core.matching.areas import AreaSet
from aviso_core.matching.candidate import Candidate, CandidateMaker
from aviso_core.matching.constraint import SET_OPERATORS, Constraint
from aviso_core.matching.filter import Area, Filter
from aviso_core.matching.ranges import RangeSet, key_of, keys_of
from aviso_core.matching.shrinking import ShrinkingDict
from aviso_core.matching.spatial import figure_of

if TYPE_CHECKING:
    from aviso_core.event import Event
    from aviso_core.schema.model import Schema

S = TypeVar("S", bound=Hashable)

# What a group is keyed by: a field's text under its name, what its constraints compare under the name in a tuple.
_Key: TypeAlias = str | tuple[str]
_Value: TypeAlias = Comparable | None
_ValuesOf: TypeAlias = Callable[[dict[_Key, _Value]], object]

# Lists of values are written out as long as that makes no more copies of a filter than this, and one of them at any
# rate unless it is longer than anybody would write: a copy costs a microsecond once, asking costs one for every event.
_MOST_COPIES: Final = 64
_LONGEST_LIST: Final = 1000
# How many values an event of an undeclared type has; no field has this name.
_PLACES: Final = ""


class Entry(Generic[S]):
    """One distinct filter and those who asked for it, in the order in which they came."""

    __slots__ = ("filter", "rest", "subscribers")

    def __init__(self, filter: Filter, rest: tuple[Constraint, ...]) -> None:
        self.filter = filter
        self.subscribers: ShrinkingDict[S, None] = ShrinkingDict()
        # What the place in the index does not already guarantee.
        self.rest = rest

    def accepts_rest(self, candidate: Candidate) -> bool:
        """Tell whether the event satisfies what its place in the index left open."""
        return all(one.accepts(candidate.comparable(one.field)) for one in self.rest)


class Index(Generic[S]):
    """The filters of one event type and their subscribers."""

    def __init__(self, schema: Schema | None) -> None:
        self._candidates = CandidateMaker(schema)
        self._entries: ShrinkingDict[Filter, Entry[S]] = ShrinkingDict()
        self._groups: dict[tuple[_Key, ...], _Group[S]] = {}
        self._layout: _Layout[S] | None = None

    def __len__(self) -> int:
        """Return how many distinct filters there are."""
        return len(self._entries)

    def add(self, filter: Filter, subscriber: S) -> Entry[S]:
        """Add a subscriber, and its filter where nobody asked for an equal one."""
        entry = self._entries.get(filter)
        if entry is None:
            plan = _Plan(filter)
            entry = self._entries[filter] = Entry(filter, plan.rest)
            if plan.is_satisfiable:
                self._group(plan.keys).add(plan, entry)
        entry.subscribers[subscriber] = None
        return entry

    def remove(self, filter: Filter, subscriber: S) -> None:
        """Remove a subscriber, and its filter with the last one."""
        entry = self._entries[filter]
        entry.subscribers.remove(subscriber)
        if entry.subscribers:
            return
        self._entries.remove(filter)
        plan = _Plan(filter)
        if plan.is_satisfiable:
            group = self._groups[plan.keys]
            group.remove(plan, entry)
            if not group.buckets:
                del self._groups[plan.keys]
                self._layout = None

    def _group(self, keys: tuple[_Key, ...]) -> _Group[S]:
        group = self._groups.get(keys)
        if group is None:
            group = self._groups[keys] = _Group(keys)
            self._layout = None
        return group

    def selecting(self, event: Event) -> list[Entry[S]]:
        """Return the entries whose filter selects the event."""
        if self._layout is None:
            self._layout = _Layout(self._groups)
        candidate = self._candidates.of(event)
        values = self._layout.values(candidate)
        found: list[Entry[S]] = []
        for values_of, get_bucket in self._layout.lookups:
            bucket = get_bucket(values_of(values))
            if bucket is not None:
                found += bucket.selecting(candidate)
        return found


class _Layout(Generic[S]):
    """What every event needs of the groups, made by the first event after the set of groups has changed."""

    __slots__ = ("_blank", "_compared", "lookups")

    def __init__(self, groups: dict[tuple[_Key, ...], _Group[S]]) -> None:
        self._blank: dict[_Key, _Value] = dict.fromkeys(key for keys in groups for key in keys)
        self._compared = [key for key in self._blank if isinstance(key, tuple)]
        self.lookups = [(group.values_of, group.buckets.get) for group in groups.values()]

    def values(self, candidate: Candidate) -> dict[_Key, _Value]:
        """Return what the event has for each key that any group has, None where it has nothing."""
        values = self._blank | candidate.identifier
        for key in self._compared:
            values[key] = candidate.comparable(key[0])
        if _PLACES in self._blank:
            values[_PLACES] = len(candidate.identifier)
        return values


class _Plan:
    """Where a filter stands in the index: a pure function of the filter, so that removing finds what adding did."""

    __slots__ = ("copies", "is_satisfiable", "keys", "primary", "rest", "spatial")

    def __init__(self, filter: Filter) -> None:
        sets, rest = _written_out(filter)
        ranges = [one for one in filter.constraints if one.operator not in SET_OPERATORS]
        self.spatial = filter.spatial
        self.primary = None if self.spatial is not None or not ranges else min(ranges, key=_width)
        self.rest = (*rest, *(one for one in ranges if one is not self.primary))
        self.is_satisfiable = all(keys_of(one.limits()) is not None for one in ranges)
        alternatives: dict[_Key, tuple[_Value, ...]] = {name: (text,) for name, text in filter.equals}
        alternatives |= {(one.field,): tuple(dict.fromkeys(one.operands)) for one in sets}
        if filter.places is not None:
            alternatives[_PLACES] = (filter.places,)
        self.keys = tuple(alternatives)
        self.copies = tuple(product(*alternatives.values()))

    def first_and_last(self) -> tuple[int, int]:
        assert self.primary is not None
        keys = keys_of(self.primary.limits())
        assert keys is not None
        return keys


def _written_out(filter: Filter) -> tuple[list[Constraint], list[Constraint]]:
    """Return the constraints that are written out as equalities, and those that would make too many copies."""
    sets = [one for one in filter.constraints if one.operator in SET_OPERATORS]
    taken: list[Constraint] = []
    copies = 1
    for one in sorted(sets, key=lambda one: len(one.operands)):
        copies *= len(one.operands)
        if copies <= _MOST_COPIES or (not taken and copies <= _LONGEST_LIST):
            taken.append(one)
    taken.sort(key=lambda one: one.field)
    return taken, [one for one in sets if one not in taken]


def _width(constraint: Constraint) -> int:
    keys = keys_of(constraint.limits())
    return -1 if keys is None else keys[1] - keys[0]


def _nothing(values: dict[_Key, _Value]) -> tuple[_Value, ...]:
    del values
    return ()


class _Group(Generic[S]):
    """The filters that fix the same fields by equality."""

    __slots__ = ("_is_single", "buckets", "values_of")

    def __init__(self, keys: tuple[_Key, ...]) -> None:
        self.buckets: ShrinkingDict[object, _Bucket[S]] = ShrinkingDict()
        self._is_single = len(keys) == 1
        self.values_of: _ValuesOf = itemgetter(*keys) if keys else _nothing

    def add(self, plan: _Plan, entry: Entry[S]) -> None:
        for values in self._places(plan):
            bucket = self.buckets.get(values)
            if bucket is None:
                bucket = self.buckets[values] = _Bucket()
            bucket.add(plan, entry)

    def remove(self, plan: _Plan, entry: Entry[S]) -> None:
        for values in self._places(plan):
            bucket = self.buckets[values]
            bucket.remove(plan, entry)
            if bucket.is_empty:
                self.buckets.remove(values)

    def _places(self, plan: _Plan) -> Iterable[object]:
        # An `itemgetter` of one key gives the value itself and not a tuple of it.
        return [values[0] for values in plan.copies] if self._is_single else plan.copies


class _Bucket(Generic[S]):
    """The filters of a group whose equalities ask for the same values, by what else they ask."""

    __slots__ = ("_areas", "_open", "_places", "_plain", "_ranges")

    def __init__(self) -> None:
        self._plain: ShrinkingDict[Entry[S], None] = ShrinkingDict()
        # How many entries are not certain to be selected once they are reached.
        self._open = 0
        self._areas: AreaSet[Entry[S]] | None = None
        self._places: AreaSet[Entry[S]] | None = None
        self._ranges: dict[str, RangeSet[Entry[S]]] | None = None

    def add(self, plan: _Plan, entry: Entry[S]) -> None:
        self._open += bool(plan.rest)
        if plan.spatial is not None:
            self._figures(plan).add(figure_of(plan.spatial), entry)
        elif plan.primary is not None:
            if self._ranges is None:
                self._ranges = {}
            ranges = self._ranges.setdefault(plan.primary.field, RangeSet())
            ranges.add(*plan.first_and_last(), entry)
        else:
            self._plain[entry] = None

    def _figures(self, plan: _Plan) -> AreaSet[Entry[S]]:
        if isinstance(plan.spatial, Area):
            if self._areas is None:
                self._areas = AreaSet("intersects")
            return self._areas
        if self._places is None:
            self._places = AreaSet("contains")
        return self._places

    def remove(self, plan: _Plan, entry: Entry[S]) -> None:
        self._open -= bool(plan.rest)
        if plan.spatial is not None:
            figures = self._figures(plan)
            figures.remove(entry)
            if not figures:
                self._drop(figures)
        elif plan.primary is not None:
            assert self._ranges is not None
            ranges = self._ranges[plan.primary.field]
            ranges.remove(*plan.first_and_last(), entry)
            if not ranges:
                del self._ranges[plan.primary.field]
                self._ranges = self._ranges or None
        else:
            self._plain.remove(entry)

    def _drop(self, figures: AreaSet[Entry[S]]) -> None:
        if figures is self._areas:
            self._areas = None
        else:
            self._places = None

    @property
    def is_empty(self) -> bool:
        return not (self._plain or self._areas or self._places or self._ranges)

    def selecting(self, candidate: Candidate) -> Iterable[Entry[S]]:
        """Return the entries whose filter selects an event with this bucket's values."""
        if self._areas is None and self._places is None and self._ranges is None and not self._open:
            return self._plain
        reached = list(self._plain)
        if self._ranges is not None:
            for name, ranges in self._ranges.items():
                value = candidate.comparable(name)
                if value is not None:
                    assert not isinstance(value, str)
                    reached += ranges.holding(key_of(value))
        if self._areas is not None and (figure := candidate.figure()) is not None:
            reached += self._areas.meeting(figure)
        if self._places is not None and isinstance(candidate.geometry, Polygon):
            seamless = candidate.seamless_figure()
            assert seamless is not None
            reached += self._places.meeting(seamless)
        if not self._open:
            return reached
        return [entry for entry in reached if not entry.rest or entry.accepts_rest(candidate)]
