"""What it costs to find the filters that select an event, to add one and to remove one.

The bars are those of the core's plan. The tables below them show what the cost depends on: how many filters, how many
different sets of fixed fields, which kinds of filters, how many areas are new; and what the worst cases that anybody
could make cost.
"""

from __future__ import annotations

import gc
import random
import tracemalloc
from typing import TYPE_CHECKING, Final, TypeVar

import shapely

from aviso_core.matching.areas import AreaSet
from aviso_core.matching.candidate import CandidateMaker
from aviso_core.matching.index import Index
from aviso_core.matching.matcher import Matcher
from aviso_core.matching.ranges import RangeSet
from measure import Bar, microseconds_each, print_table
from products import PRODUCTS, Products, filter_of
from program import run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aviso_core.event import Event
    from aviso_core.matching.filter import Filter

T = TypeVar("T")

_EVENTS: Final = 400


def _index_of(filters: Sequence[Filter]) -> Index[int]:
    index: Index[int] = Index(PRODUCTS.schema)
    for subscriber, wanted in enumerate(filters):
        index.add(wanted, subscriber)
    return index


def _selecting_us(index: Index[int], events: Sequence[Event]) -> float:
    """Return what one event costs, once what is new has settled."""

    def select() -> None:
        for event in events:
            index.selecting(event)

    select()
    return microseconds_each(select, items=len(events), rounds=25)


def _matching(index: Index[int], events: Sequence[Event]) -> tuple[float, float, float]:
    """Return how many combinations, ranges and areas select an event on average."""
    found = [entry.filter for event in events for entry in index.selecting(event)]
    areas = sum(wanted.spatial is not None for wanted in found)
    ranges = sum(bool(wanted.constraints) for wanted in found)
    return (len(found) - areas - ranges) / len(events), ranges / len(events), areas / len(events)


# --- the bars --------------------------------------------------------------------------------------------


def _bars() -> list[Bar]:
    small, large = Products(filters=10_000), Products(filters=100_000)
    filters, events = small.mixture(), small.events(_EVENTS)
    index = _index_of(filters)
    at_10_000 = _selecting_us(index, events)
    asking = _asking_every_matcher_us(filters, events[:20])
    at_100_000, at_100_000_row = _at(large)
    rows = [("10 000", *_matching(index, events), at_10_000), at_100_000_row]
    print_table(
        "Selecting one event (with a polygon)",
        ("filters", "combinations", "ranges", "areas", "µs"),
        [("1 000", *_at(Products(filters=1000))[1][1:]), *rows],
    )
    adding, removing = _changing_us(filters)
    return [
        Bar("one event against 10 000 different filters", at_10_000, "≤", 50, "µs"),
        Bar("the same, against asking every matcher", asking / at_10_000, "≥", 50, "×"),
        Bar("100 000 filters, as many matching, against 10 000", at_100_000 / at_10_000, "≤", 2, "×"),
        Bar("10 000 subscribers of 100 filters, against 100", _crowd_ratio(), "≤", 1.2, "×"),
        Bar("add a filter, until there are 10 000", adding, "≤", 30, "µs"),
        Bar("remove a filter, until there are none", removing, "≤", 30, "µs"),
        Bar("memory left after all are removed", _memory_left(filters, events), "≤", 1, "%"),
    ]


def _at(products: Products) -> tuple[float, tuple[object, ...]]:
    events = products.events(_EVENTS)
    index = _index_of(products.mixture())
    cost = _selecting_us(index, events)
    return cost, (f"{len(index):,}".replace(",", " "), *_matching(index, events), cost)


def _asking_every_matcher_us(filters: Sequence[Filter], events: Sequence[Event]) -> float:
    matchers = [Matcher(wanted) for wanted in filters]
    make = CandidateMaker(PRODUCTS.schema)

    def ask() -> None:
        for event in events:
            candidate = make.of(event)
            for matcher in matchers:
                matcher.selects(candidate)

    return microseconds_each(ask, items=len(events), rounds=3)


def _changing_us(filters: Sequence[Filter]) -> tuple[float, float]:
    adding = removing = float("inf")
    for _ in range(3):
        index: Index[int] = Index(PRODUCTS.schema)

        def add(index: Index[int] = index) -> None:
            for wanted in filters:
                index.add(wanted, 1)

        def remove(index: Index[int] = index) -> None:
            for wanted in filters:
                index.remove(wanted, 1)

        adding = min(adding, microseconds_each(add, items=len(filters), rounds=1))
        removing = min(removing, microseconds_each(remove, items=len(filters), rounds=1))
    return adding, removing


def _crowd_ratio() -> float:
    """Return how much dearer an event is where a hundred subscribers stand behind each filter instead of one."""
    products = Products(filters=10_000)
    filters = products.filters(combinations=70, ranges=20, areas=10)
    events = products.events(_EVENTS)
    alone, crowd = _index_of(filters), _index_of(filters)
    for subscriber in range(10_000):
        crowd.add(filters[subscriber % len(filters)], subscriber)
    return _selecting_us(crowd, events) / _selecting_us(alone, events)


def _memory_left(filters: Sequence[Filter], events: Sequence[Event]) -> float:
    """Return the memory that is left after everything was removed, in percent of what it was before."""
    index: Index[int] = Index(PRODUCTS.schema)
    for event in events:
        index.selecting(event)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for wanted in filters:
        index.add(wanted, 1)
    for event in events:
        index.selecting(event)
    full, _ = tracemalloc.get_traced_memory()
    for wanted in filters:
        index.remove(wanted, 1)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return 100 * (after - before) / (full - before)


# --- what it depends on ----------------------------------------------------------------------------------


def _print_signatures() -> None:
    rows = []
    for signatures in (4, 16, 32, 64, 127):
        products = Products(filters=10_000, signatures=signatures)
        events = products.events(_EVENTS)
        filters = products.mixture()
        groups = len({tuple(name for name, _ in wanted.equals) for wanted in filters})
        index = _index_of(filters)
        cost = _selecting_us(index, events)
        rows.append((groups, sum(_matching(index, events)), cost, cost / _bare_lookups_us(groups, events)))
    print_table(
        "By sets of fixed fields (10 000 filters)",
        ("sets", "matching", "µs", "× as many bare dict lookups"),
        rows,
    )


def _bare_lookups_us(groups: int, events: Sequence[Event]) -> float:
    """Return what looking up as many keys costs that are already there."""
    tables = [{(str(number), number): number for number in range(100)} for _ in range(groups)]
    key = ("50", 50)

    def look_up() -> None:
        for _ in events:
            for table in tables:
                table.get(key)

    return microseconds_each(look_up, items=len(events))


def _print_kinds() -> None:
    rows = []
    for combinations, ranges, areas in (
        (10_000, 0, 0),
        (7_000, 2_000, 1_000),
        (5_000, 5_000, 0),
        (5_000, 0, 5_000),
        (0, 10_000, 0),
        (0, 0, 10_000),
    ):
        products = Products(filters=10_000)
        events = products.events(_EVENTS)
        index = _index_of(products.filters(combinations=combinations, ranges=ranges, areas=areas))
        cost = _selecting_us(index, events)
        shares = (f"{combinations // 100} %", f"{ranges // 100} %", f"{areas // 100} %")
        rows.append((*shares, sum(_matching(index, events)), cost))
    print_table("By kinds (10 000 filters)", ("combinations", "ranges", "areas", "matching", "µs"), rows)


def _print_newcomers() -> None:
    """Show what areas cost that were added since the tree was built."""
    draw = random.Random(7)
    rows = []
    for newcomers in (0, 16, 100, 1000):
        areas: AreaSet[int] = AreaSet("intersects")
        figures = [_box(draw) for _ in range(10_000 + newcomers)]
        asked = [_box(draw) for _ in range(10)]
        for item, figure in enumerate(figures[:10_000]):
            areas.add(figure, item)
        for figure in asked * 40:
            areas.meeting(figure)
        for item, figure in enumerate(figures[10_000:], start=10_000):
            areas.add(figure, item)

        def ask(areas: AreaSet[int] = areas, asked: list[shapely.Polygon] = asked) -> None:
            for figure in asked:
                areas.meeting(figure)

        # One round only: after a few more the newcomers are part of the tree.
        rows.append((newcomers, microseconds_each(ask, items=len(asked), rounds=1)))
    print_table("By areas that are new (10 000 in the tree)", ("new", "µs"), rows)


def _box(draw: random.Random) -> shapely.Polygon:
    west, south = draw.uniform(-170, 160), draw.uniform(-80, 70)
    return shapely.box(west, south, west + 2, south + 2)


# --- worst cases -----------------------------------------------------------------------------------------


def _print_worst_cases() -> None:
    print_table(
        "Worst cases, per change",
        ("case", "µs"),
        [
            ("10 000 areas in one place, an event after each add", _areas_and_events_us()),
            ("10 000 lists that share a value: add", (lists := _shared_lists_us())[0]),
            ("the same: remove", lists[1]),
            ("the same: an event of that value when one list is left", lists[2]),
            ("100 000 one-sided ranges of one field: add", (ranges := _one_sided_us())[0]),
            ("the same: look up where none holds the number", ranges[1]),
            ("the same: remove in any order", ranges[2]),
        ],
    )


def _areas_and_events_us() -> float:
    draw = random.Random(7)
    figures = [_box(draw) for _ in range(10_000)]
    asked = [_box(draw) for _ in range(100)]
    areas: AreaSet[int] = AreaSet("intersects")

    def add_and_ask() -> None:
        for item, figure in enumerate(figures):
            areas.add(figure, item)
            areas.meeting(asked[item % len(asked)])

    return microseconds_each(add_and_ask, items=len(figures), rounds=1)


def _shared_lists_us() -> tuple[float, float, float]:
    filters = [filter_of({"step": {"in": [0, 1 + number]}}) for number in range(10_000)]
    event = Products(filters=10_000).events(1)[0]
    event.identifier["step"] = "0"
    index: Index[int] = Index(PRODUCTS.schema)
    adding = microseconds_each(_each(filters, lambda one: index.add(one, 1)), items=len(filters), rounds=1)
    rest = filters[:-1]
    removing = microseconds_each(_each(rest, lambda one: index.remove(one, 1)), items=len(rest), rounds=1)
    return adding, removing, _selecting_us(index, [event] * _EVENTS)


def _one_sided_us() -> tuple[float, float, float]:
    draw = random.Random(7)
    ends = [(draw.getrandbits(63) + 2**63, item) for item in range(100_000)]
    ranges: RangeSet[int] = RangeSet()
    adding = microseconds_each(
        _each(ends, lambda one: ranges.add(one[0], 2**64 - 1, one[1])), items=len(ends), rounds=1
    )
    keys = [draw.getrandbits(63) for _ in range(_EVENTS)]
    looking = microseconds_each(_each(keys, ranges.holding), items=len(keys))
    draw.shuffle(ends)
    removing = microseconds_each(
        _each(ends, lambda one: ranges.remove(one[0], 2**64 - 1, one[1])), items=len(ends), rounds=1
    )
    return adding, looking, removing


def _each(items: Sequence[T], do: Callable[[T], object]) -> Callable[[], None]:
    def work() -> None:
        for item in items:
            do(item)

    return work


def measure() -> list[Bar]:
    """Return the bars, and print what the cost depends on."""
    bars = _bars()
    _print_signatures()
    _print_kinds()
    _print_newcomers()
    _print_worst_cases()
    return bars


def main() -> None:
    """Print what the cost depends on, and the bars."""
    run(__doc__, lambda _: measure())


if __name__ == "__main__":
    main()
