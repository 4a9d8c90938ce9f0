"""The made-up service that the benchmarks measure on: an event type, its filters and its events, all from a seed.

Products go out for destinations all over the globe. Filters ask for combinations of values, for ranges, and for areas;
where there are ten times as many filters, there are ten times as many destinations, ranges are ten times as narrow
and areas cover a tenth, so an event is selected by as many as before.
"""

from __future__ import annotations

import random
from itertools import combinations
from math import cos, pi, sin, sqrt
from typing import TYPE_CHECKING, Any, Final

from aviso_core.event import Event
from aviso_core.fields.calendar_date import DateField
from aviso_core.fields.choice import ChoiceField
from aviso_core.fields.expver import ExpverField
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.polygon import PolygonField
from aviso_core.fields.real import RealField
from aviso_core.fields.text import TextField
from aviso_core.fields.time_of_day import TimeField
from aviso_core.matching.filter import Filter, read_point_filter, read_selection
from aviso_core.schema.event_type import EventType
from aviso_core.schema.model import Schema, Topic

if TYPE_CHECKING:
    from collections.abc import Callable

KEY_ORDER: Final = ("destination", "class", "stream", "date", "time", "expver", "step")
# There are more destinations where there are more filters, and a filter by values names one.
_GROWING: Final = "destination"
_CLASSES: Final = ("od", "rd", "ea", "mc")
_AT_10_000: Final = 10_000

PRODUCTS: Final = EventType(
    Schema(
        event_type="products",
        topic=Topic(base="products", key_order=KEY_ORDER),
        fields=(
            TextField(name="destination"),
            ChoiceField(name="class", values=_CLASSES),
            TextField(name="stream"),
            DateField(name="date"),
            TimeField(name="time"),
            ExpverField(name="expver"),
            IntegerField(name="step", minimum=0),
            IntegerField(name="size"),
            RealField(name="level"),
            PolygonField(name="polygon"),
        ),
    )
)


class Products:
    """Filters and events that go with each other: `scale` is 1 for 10 000 filters."""

    def __init__(self, *, filters: int, signatures: int = 32, seed: int = 20_250_706) -> None:
        self.scale = filters / _AT_10_000
        self._random = random.Random(seed)
        several = [names for count in range(1, 8) for names in combinations(KEY_ORDER, count)]
        growing = [names for names in several if _GROWING in names]
        self._random.shuffle(growing)
        # All of them only where nothing else will do: the others have too few values to grow.
        self._signatures = growing[:signatures] if signatures <= len(growing) else several

    def _value(self, name: str) -> str:
        draw = self._random.randrange
        match name:
            case "destination":
                return f"dest{draw(max(6, int(9 * self.scale)))}"
            case "expver":
                return f"{draw(10):04}"
            case "class":
                return _CLASSES[draw(len(_CLASSES))]
            case "stream":
                return f"stream{draw(8)}"
            case "date":
                return f"202507{draw(1, 31):02}"
            case "time":
                return f"{draw(0, 24, 6):02}00"
            case _:
                return str(draw(0, 240, 6))

    def combination(self) -> dict[str, Any]:
        """Draw a request for certain values."""
        return {name: self._value(name) for name in self._random.choice(self._signatures)}

    def range(self) -> dict[str, Any]:
        """Draw a request for numbers: a narrow range from all products, or from some, or an open range from few."""
        draw = self._random
        name, most = draw.choice((("level", 1000.0), ("size", 1_000_000)))
        number: Callable[[float], float] = float if name == "level" else round
        low = draw.uniform(0, most)
        if draw.random() < 0.5:
            few = {other: self._value(other) for other in ("destination", "date", "class")}
            return few | {name: {draw.choice(("gte", "lt")): number(low)}}
        high = low + most * draw.uniform(0, 0.0064) / self.scale
        identifier: dict[str, Any] = {name: {"between": [number(low), number(high)]}}
        return identifier if draw.random() < 0.5 else identifier | {"class": self._value("class")}

    def area(self) -> dict[str, Any]:
        """Draw a request for an area; every other one fixes a value as well."""
        identifier: dict[str, Any] = {"polygon": self._outline(11 / sqrt(self.scale) - 1)}
        return identifier if self._random.random() < 0.5 else identifier | {"class": self._value("class")}

    def _outline(self, side: float) -> list[list[float]]:
        """Draw a box or, one time in four, an outline of twelve corners."""
        south, west = self._random.uniform(-70, 60 - side), self._random.uniform(-170, 170 - side)
        if self._random.random() < 0.75:
            corners = [[south, west], [south, west + side], [south + side, west + side], [south + side, west]]
        else:
            half = side / 2
            angles = [pi * number / 6 for number in range(12)]
            corners = [[south + half * (1 + sin(a)), west + half * (1 + cos(a))] for a in angles]
        return [*corners, corners[0]]

    def filters(self, *, combinations: int, ranges: int, areas: int) -> list[Filter]:
        """Return so many different filters of each kind, in any order."""
        found: dict[Filter, None] = {}
        for wanted, draw in ((combinations, self.combination), (ranges, self.range), (areas, self.area)):
            wanted += len(found)
            while len(found) < wanted:
                found[filter_of(draw())] = None
        mixed = list(found)
        self._random.shuffle(mixed)
        return mixed

    def mixture(self) -> list[Filter]:
        """Return 70 % combinations, 20 % ranges and 10 % areas."""
        count = round(self.scale * _AT_10_000)
        return self.filters(combinations=count * 7 // 10, ranges=count // 5, areas=count // 10)

    def notification(self) -> dict[str, Any]:
        """Draw the identifier of a notification."""
        return {name: self._value(name) for name in KEY_ORDER} | {
            "size": self._random.randrange(1_000_000),
            "level": self._random.uniform(0, 1000),
            "polygon": self._outline(1),
        }

    def events(self, count: int) -> list[Event]:
        """Return events as the log holds them."""
        announced = [PRODUCTS.announce(self.notification()) for _ in range(count)]
        return [
            Event(
                event_type=PRODUCTS.name,
                sequence=sequence,
                instant=1_760_000_000_000_000_000 + sequence * 1_234_567,
                subject=one.subject,
                identifier=one.identifier,
                geometry=one.geometry,
                payload=b'{"url":"https://example.org/products/%d"}' % sequence,
            )
            for sequence, one in enumerate(announced, start=1)
        ]


def filter_of(identifier: dict[str, Any]) -> Filter:
    """Return the filter of a watch request."""
    return read_selection(PRODUCTS, identifier, operation="watch", point=read_point_filter(identifier)).filter
