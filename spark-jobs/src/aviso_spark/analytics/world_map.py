"""A map of where events lie: cells coloured by their number, on a graticule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from aviso_spark.analytics.globe import TURN, WORLD, Window, copies, outline, window_of
from aviso_spark.analytics.markup import Markup, tag, together
from aviso_spark.analytics.words import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHADES: Final = 6
_WIDTH: Final = 1000.0
_STEPS: Final = (1, 2, 5, 10, 15, 30)
_MOST_LINES: Final = 12


def world_map(cells: Mapping[str, int]) -> Markup:
    """Return the map, and what its colours mean."""
    outlines = {cell: outline(cell) for cell in cells}
    window = window_of(list(outlines.values()))
    scale = _WIDTH / (window.east - window.west)
    height = (window.north - window.south) * scale

    def path(points: list[tuple[float, float]]) -> str:
        return (
            "M"
            + "L".join(f"{(x - window.west) * scale:.1f},{(window.north - y) * scale:.1f}" for x, y in points)
            + "Z"
        )

    most = max(cells.values(), default=1)
    drawn = [
        tag(
            "path",
            tag("title", f"{number(cells[cell])} events"),
            d=" ".join(path(points) for points in copies(corners, window)),
            class_=f"m{shade(cells[cell], most)}",
        )
        for cell, corners in outlines.items()
    ]
    clip = tag("clipPath", tag("rect", width=_WIDTH, height=height, rx=8), id="map-edge")
    sea = tag("rect", width=_WIDTH, height=height, rx=8, class_="sea")
    lines = together(list(_graticule(window, scale, height)))
    picture = tag("g", sea, lines, tag("g", *drawn, class_="cells"), clip_path="url(#map-edge)")
    names = together(list(_names(window, scale, height)))
    return together(
        [
            tag(
                "svg",
                tag("title", "Where events lie"),
                clip,
                picture,
                names,
                view_box=f"-46 -6 {_WIDTH + 56:.0f} {height + 36:.0f}",
                role="img",
                class_="map",
            ),
            _legend(most),
        ]
    )


def shade(events: int, most: int) -> int:
    """Return which of the shades a number has: each is the same factor away from the next."""
    if most <= 1:
        return SHADES - 1
    return min(SHADES - 1, int(math.log(events) / math.log(most) * SHADES))


def _lines(first: float, last: float) -> list[float]:
    step = next((one for one in _STEPS if (last - first) / one <= _MOST_LINES), _STEPS[-1])
    return [number * step for number in range(math.ceil(first / step), math.floor(last / step) + 1)]


def _graticule(window: Window, scale: float, height: float) -> Iterator[Markup]:
    for longitude in _lines(window.west, window.east):
        x = (longitude - window.west) * scale
        yield tag("line", x1=x, x2=x, y1=0, y2=height, class_=_weight(longitude))
    for latitude in _lines(window.south, window.north):
        y = (window.north - latitude) * scale
        yield tag("line", x1=0, x2=_WIDTH, y1=y, y2=y, class_=_weight(latitude))


def _weight(degrees: float) -> str:
    return "graticule main" if degrees % TURN in (0, TURN / 2) else "graticule"


def _names(window: Window, scale: float, height: float) -> Iterator[Markup]:
    for longitude in _lines(window.west, window.east):
        x = (longitude - window.west) * scale
        if window == WORLD and longitude in (WORLD.west, WORLD.east):
            continue
        yield tag("text", _degrees(longitude, "E", "W"), x=x, y=height + 20, class_="middle")
    for latitude in _lines(window.south, window.north):
        y = (window.north - latitude) * scale
        yield tag("text", _degrees(latitude, "N", "S"), x=-8, y=y + 4, class_="end")


def _degrees(value: float, positive: str, negative: str) -> str:
    turned = (value + TURN / 2) % TURN - TURN / 2
    if turned in (0, -TURN / 2):
        return f"{abs(turned):.0f}°"
    return f"{abs(turned):.0f}° {positive if turned > 0 else negative}"


def _legend(most: int) -> Markup:
    edges = [max(1, math.ceil(most ** (one / SHADES))) for one in range(SHADES)]
    kept = [(one, edge) for one, edge in enumerate(edges) if shade(edge, most) == one]
    marks = [
        tag("span", tag("i", class_=f"swatch m{one}"), f"from {number(edge)}", class_="mark")
        for one, edge in kept
    ]
    return tag("p", *marks, class_="legend")
