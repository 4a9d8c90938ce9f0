"""A plot of latency over time: half of the events came within the lower line, 95 and 99 of 100 within the others."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from aviso_spark.analytics.markup import Markup, tag, together
from aviso_spark.analytics.words import duration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

_WIDTH, _HEIGHT, _LEFT, _FOOT = 960.0, 240.0, 64.0, 26.0
# Where a line of the scale may be, in seconds: durations that people have a word for.
_MARKS: Final = (
    *(0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400, 365 * 86_400),
)
_LEAST: Final = 0.001
_MOST_NAMES: Final = 14
_HOUR, _DAY = 3600, 86_400
_STEPS: Final = (
    _HOUR,
    2 * _HOUR,
    3 * _HOUR,
    6 * _HOUR,
    12 * _HOUR,
    *(n * _DAY for n in (1, 2, 7, 14, 28, 91)),
)


class Point(NamedTuple):
    """Latencies of one hour, or of one day."""

    at: datetime
    p50: float
    p95: float
    p99: float


class _Scale(NamedTuple):
    begin: float
    end: float
    low: float
    high: float

    def x(self, at: datetime) -> float:
        share = (at.timestamp() - self.begin) / max(self.end - self.begin, 1)
        return _LEFT + share * (_WIDTH - _LEFT - 24)

    def y(self, seconds: float) -> float:
        share = (math.log(max(seconds, _LEAST)) - self.low) / (self.high - self.low)
        return _HEIGHT - _FOOT - share * (_HEIGHT - _FOOT - 12)


def latency_plot(points: Sequence[Point], *, step: timedelta, name: str) -> Markup:
    """Return the picture. Its scale of seconds is logarithmic; the lines break where there was nothing."""
    lowest = min(max(point.p50, _LEAST) for point in points)
    highest = max(max(point.p99, _LEAST) for point in points)
    below = max((mark for mark in _MARKS if mark <= lowest), default=_LEAST)
    above = min((mark for mark in _MARKS if mark > highest), default=max(highest, 10 * below))
    begin, end = points[0].at.timestamp(), points[-1].at.timestamp()
    if begin == end:
        begin, end = begin - step.total_seconds(), end + step.total_seconds()
    scale = _Scale(begin, end, math.log(below), math.log(above))
    marks = [mark for mark in _MARKS if below <= mark <= above]
    parts = _unbroken(points, step)
    return tag(
        "svg",
        tag("title", f"Latency of {name}"),
        *[_mark(mark, scale) for mark in marks],
        *[_tick(at, scale) for at in _ticks(begin, end)],
        *[_band(part, scale) for part in parts],
        *[_line(part, rank, scale) for part in parts for rank in (2, 1, 0)],
        view_box=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}",
        role="img",
        class_="plot",
    )


def legend() -> Markup:
    """Return what the lines mean."""
    told = ("half of the events", "95 of 100", "99 of 100")
    marks = [
        tag("span", tag("i", class_=f"stroke l{rank}"), f"{text} within", class_="mark")
        for rank, text in enumerate(told)
    ]
    return tag("p", *marks, class_="legend")


def _unbroken(points: Sequence[Point], step: timedelta) -> list[list[Point]]:
    parts = [[points[0]]]
    for before, point in pairwise(points):
        if point.at - before.at > step:
            parts.append([])
        parts[-1].append(point)
    return parts


def _mark(seconds: float, scale: _Scale) -> Markup:
    y = scale.y(seconds)
    line = tag("line", x1=_LEFT, x2=_WIDTH, y1=y, y2=y, class_="graticule")
    return together([line, tag("text", duration(seconds), x=_LEFT - 8, y=y + 4, class_="end")])


def _ticks(begin: float, end: float) -> list[datetime]:
    """Return instants that are round, and few enough that their names have room."""
    step = next((one for one in _STEPS if (end - begin) / one <= _MOST_NAMES), _STEPS[-1])
    first = math.ceil(begin / step)
    return [datetime.fromtimestamp(number * step, UTC) for number in range(first, math.floor(end / step) + 1)]


def _tick(at: datetime, scale: _Scale) -> Markup:
    x = scale.x(at)
    text = f"{at:%m-%d}" if at.hour == 0 else f"{at:%H}h"
    line = tag("line", x1=x, x2=x, y1=_HEIGHT - _FOOT, y2=_HEIGHT - _FOOT + 5, class_="graticule main")
    return together([line, tag("text", text, x=x, y=_HEIGHT - 6, class_="middle")])


def _band(part: Sequence[Point], scale: _Scale) -> Markup:
    there = [f"{scale.x(point.at):.1f},{scale.y(point.p95):.1f}" for point in part]
    back = [f"{scale.x(point.at):.1f},{scale.y(point.p50):.1f}" for point in reversed(part)]
    return tag("path", d=f"M{'L'.join([*there, *back])}Z", class_="band")


def _line(part: Sequence[Point], rank: int, scale: _Scale) -> Markup:
    ends = [(scale.x(point.at), scale.y((point.p50, point.p95, point.p99)[rank])) for point in part]
    if len(ends) == 1:
        return tag("circle", cx=ends[0][0], cy=ends[0][1], r=3, class_=f"point l{rank}")
    return tag("path", d=f"M{'L'.join(f'{x:.1f},{y:.1f}' for x, y in ends)}", class_=f"line l{rank}")
