"""A heat map of coverage: days across, what was expected of them down, the share that was seen as colour and text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from aviso_spark.analytics.markup import Markup, tag, together
from aviso_spark.analytics.words import clipped, number, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

_CELL, _GAP = 44.0, 3.0
_ROW: Final = 26.0
_HEAD: Final = 26.0
_CHARACTER: Final = 7.2
_MOST_LABEL: Final = 40
_TEXT_SHARES: Final = 31
# The lowest share of each colour, from good to bad; what is above the first is complete.
_CLASSES: Final = ((1.0, "c4", "complete"), (0.9, "c3", "90 % and more"), (0.5, "c2", "50 % and more"))
_LEAST, _NONE, _NOT_DUE = ("c1", "less than 50 %"), ("c0", "nothing"), ("cn", "not due yet")


class Square(msgspec.Struct, frozen=True, kw_only=True):
    """One row's cells of one day."""

    row: str
    column: str
    expected: int
    seen: int
    late: int
    missing: int
    not_due: int
    share: float | None


def colour(share: float | None) -> str:
    """Return the class of a share; None is where nothing was due yet."""
    if share is None:
        return _NOT_DUE[0]
    if share == 0:
        return _NONE[0]
    return next((name for least, name, _ in _CLASSES if share >= least), _LEAST[0])


def heat_map(squares: Sequence[Square], *, rows: Sequence[str], columns: Sequence[str]) -> Markup:
    """Return the picture, and what its colours mean."""
    down, across = {name: n for n, name in enumerate(rows)}, {name: n for n, name in enumerate(columns)}
    labels = [_label(name) for name in rows]
    left = max((len(label) for label in labels), default=0) * _CHARACTER + 12
    every = 1 if len(columns) <= _TEXT_SHARES else 2
    heads = [
        tag(
            "text",
            name[5:] if len(name) == len("2030-01-01") else name,
            x=left + n * _CELL + _CELL / 2,
            y=16,
            class_="middle",
        )
        for name, n in across.items()
        if n % every == 0
    ]
    sides = [
        tag("text", tag("title", name), label, x=left - 10, y=_HEAD + n * _ROW + 17, class_="end")
        for n, (name, label) in enumerate(zip(rows, labels, strict=True))
    ]
    drawn = [
        _square(one, x=left + across[one.column] * _CELL, y=_HEAD + down[one.row] * _ROW)
        for one in squares
        if one.row in down and one.column in across
    ]
    width, height = left + len(columns) * _CELL + 4, _HEAD + len(rows) * _ROW + 4
    picture = tag(
        "svg",
        tag("title", "Coverage by day"),
        *heads,
        *sides,
        *drawn,
        view_box=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
        role="img",
    )
    return together([tag("div", picture, class_="scroll"), _legend()])


def _square(square: Square, *, x: float, y: float) -> Markup:
    told = (
        f"{square.row}, {square.column}: {number(square.expected)} expected, {number(square.seen)} in time, "
        f"{number(square.late)} late, {number(square.missing)} missing, {number(square.not_due)} not due yet"
    )
    name = colour(square.share)
    box = tag("rect", x=x, y=y, width=_CELL - _GAP, height=_ROW - _GAP, rx=4, class_=name)
    text = "" if square.share in (None, 1) else f"{_short(square.share)}"
    mark = tag("text", text, x=x + (_CELL - _GAP) / 2, y=y + 16, class_=f"middle on {name}t")
    dot = (tag("circle", cx=x + _CELL - _GAP - 7, cy=y + 7, r=4, class_="late"),) if square.late else ()
    return tag("g", tag("title", told), box, mark, *dot)


def _short(share: float | None) -> str:
    return percent(share).partition(".")[0].removesuffix(" %")


def _label(name: str) -> str:
    return name if len(name) <= _MOST_LABEL else clipped(name)[: _MOST_LABEL - 1] + "…"


def _legend() -> Markup:
    marks = [(name, told) for _, name, told in _CLASSES]
    every = [*marks, _LEAST, _NONE, _NOT_DUE]
    squares = [tag("span", tag("i", class_=f"swatch {name}"), told, class_="mark") for name, told in every]
    late = tag("span", tag("i", class_="dot"), "some of it late", class_="mark")
    return tag("p", *squares, late, class_="legend")
