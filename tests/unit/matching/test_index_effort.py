"""What the index does for an event, counted, and what it keeps when filters have gone."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest

from aviso_core.event import Event
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.geometry.read import read_polygon
from aviso_core.matching.constraint import Constraint
from aviso_core.matching.filter import Filter, read_point_filter, read_selection
from aviso_core.matching.index import Index
from aviso_core.matching.shrinking import ShrinkingDict
from aviso_core.schema.event_type import EventType
from aviso_core.schema.model import Schema

if TYPE_CHECKING:
    from types import FrameType

SITES: Final = EventType(
    Schema(
        event_type="sites",
        fields=(
            TextField(name="site"),
            IntegerField(name="step"),
            RealField(name="level"),
            PolygonField(name="polygon"),
        ),
    )
)


def _filter(**identifier: Any) -> Filter:
    point = read_point_filter(identifier)
    return read_selection(SITES, identifier, operation="watch", point=point).filter


def _event(**tokens: str) -> Event:
    return Event(
        event_type="sites",
        sequence=1,
        instant=0,
        subject="sites",
        identifier={"site": "a", "step": "5", "level": "5"} | tokens,
        geometry=read_polygon("0,0,0,4,4,4,4,0,0,0"),
    )


class _Evaluations:
    """Counts how often the question is asked whether a value satisfies a constraint."""

    def __enter__(self) -> Counter[Constraint]:
        self._asked: Counter[Constraint] = Counter()
        sys.setprofile(self._count)
        return self._asked

    def _count(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is Constraint.accepts.__code__:
            self._asked[frame.f_locals["self"]] += 1

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


def test_equal_filters_are_evaluated_once() -> None:
    """Ten thousand subscribers stand behind a hundred filters; each filter's open question is asked once."""
    index: Index[int] = Index(SITES.schema)
    # Two ranges each: the index looks one of them up, and has to ask about the other.
    wanted = [_filter(level={"gt": number / 100}, step={"gte": -number}) for number in range(100)]
    for subscriber in range(10_000):
        # Read anew for each subscriber, as a request of its own is.
        number = subscriber % 100
        index.add(_filter(level={"gt": number / 100}, step={"gte": -number}), subscriber)
    with _Evaluations() as asked:
        found = index.selecting(_event())
    assert len(index) == 100
    assert sum(len(entry.subscribers) for entry in found) == 10_000
    assert asked.total() == 100
    assert set(asked.values()) == {1}
    assert {entry.filter for entry in found} == set(wanted)


@pytest.mark.parametrize(
    "identifiers",
    [
        pytest.param([{"site": f"s{number}"} for number in range(500)], id="other values"),
        pytest.param([{"step": {"gt": 6 + number}} for number in range(500)], id="ranges above"),
        pytest.param([{"step": {"between": [-number - 9, 4]}} for number in range(500)], id="ranges below"),
        pytest.param([{"level": {"in": [number + 0.5, 1e9]}} for number in range(500)], id="short lists"),
        pytest.param(
            [{"step": {"in": [number, *range(1000, 1500)]}} for number in range(6, 20)], id="long lists"
        ),
        pytest.param([{"point": [9, number / 9]} for number in range(500)], id="places elsewhere"),
    ],
)
def test_filters_that_cannot_select_the_event_are_not_asked(identifiers: list[dict[str, Any]]) -> None:
    """No constraint is evaluated at all."""
    index: Index[int] = Index(SITES.schema)
    for subscriber, identifier in enumerate(identifiers):
        index.add(_filter(**identifier), subscriber)
    with _Evaluations() as asked:
        assert index.selecting(_event()) == []
    assert not asked


def _many_filters() -> list[Filter]:
    return [
        _filter(**identifier)
        for number in range(300)
        for identifier in (
            {"site": f"s{number}"},
            {"site": "a", "step": str(number)},
            {"step": {"in": [number, number + 1, number + 2]}},
            {"step": {"in": list(range(number, number + 70))}, "level": {"in": [1, 2]}},
            {"site": "a", "level": {"between": [number, number + 2]}},
            {"step": {"gte": number}, "level": {"lt": number}},
            {"level": {"gt": number}},
            {"polygon": [[0, number / 9], [9, 9], [5, 0], [0, number / 9]]},
            {"site": f"s{number % 3}", "point": [1, number / 3]},
        )
    ]


def test_nothing_is_left_behind() -> None:
    """Filters of every kind come and go, and take their memory with them."""
    filters = _many_filters()

    def come_and_go(index: Index[int]) -> int:
        for filter_ in filters:
            index.add(filter_, 1)
            index.add(filter_, 2)
        for level in range(40):
            index.selecting(_event(level=str(level)))
        full, _ = tracemalloc.get_traced_memory()
        for filter_ in filters:
            index.remove(filter_, 1)
            index.remove(filter_, 2)
        return full

    tracemalloc.start()
    try:
        # Another index first: it fills what the modules themselves keep.
        come_and_go(Index(SITES.schema))
        index: Index[int] = Index(SITES.schema)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        full = come_and_go(index)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(index) == 0
    assert index.selecting(_event()) == []
    assert after - before < (full - before) / 100


def test_what_a_crowd_left_behind_is_not_gone_through() -> None:
    """A dict keeps room for as many as it ever held, and going through it takes as long, unless it shrinks."""
    plain: dict[int, None] = dict.fromkeys(range(10_000))
    shrinking: ShrinkingDict[int, None] = ShrinkingDict()
    shrinking.update(plain)
    for number in range(9_999):
        del plain[number]
        shrinking.remove(number)
    assert list(shrinking) == list(plain) == [9_999]
    assert sys.getsizeof(shrinking) < sys.getsizeof(plain) / 50
    shrinking.remove(9_999)
    assert sys.getsizeof(shrinking) <= sys.getsizeof(ShrinkingDict())


def test_subscribers_are_kept_in_the_order_they_came_in() -> None:
    """Also after others have left."""
    index: Index[int] = Index(SITES.schema)
    for subscriber in range(100):
        entry = index.add(_filter(site="a"), subscriber)
    for subscriber in range(0, 100, 3):
        index.remove(_filter(site="a"), subscriber)
    assert list(entry.subscribers) == [number for number in range(100) if number % 3]


def test_a_range_that_nothing_can_lie_in_selects_nothing_and_can_be_removed() -> None:
    """It is known to the index all the same, since its subscriber is."""
    index: Index[int] = Index(SITES.schema)
    empty = _filter(step={"gt": 2**63 - 1})
    index.add(empty, 1)
    assert len(index) == 1
    assert index.selecting(_event(step=str(2**63 - 1))) == []
    index.remove(empty, 1)
    assert len(index) == 0
