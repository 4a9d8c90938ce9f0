"""How the benchmarks measure, and how they print it.

Times are CPU of this process, the best of several rounds: what else the machine does can only make a round longer.
They still move by a third from machine to machine, so a missed bar is printed and fails the run only with `--strict`;
what holds everywhere are the ratios to a floor that was measured in the same run.
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MICROSECONDS: Final = 1e6


class CannotMeasure(Exception):
    """This machine lacks something that the benchmark needs: what, and how to come by it."""


class Bar(NamedTuple):
    """A number that must hold: at most or at least the limit."""

    what: str
    measured: float
    sense: Literal["≤", "≥"]
    limit: float
    unit: str

    @property
    def holds(self) -> bool:
        """Whether the measured number is on the right side of the limit."""
        return self.measured <= self.limit if self.sense == "≤" else self.measured >= self.limit


def cpu_seconds(work: Callable[[], object], *, rounds: int = 5) -> float:
    """Return what one call costs, in the best of several rounds, with the rubbish of others collected before."""
    gc.collect()
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def microseconds_each(work: Callable[[], object], *, items: int, rounds: int = 5) -> float:
    """Return the microseconds per item of work that goes through so many."""
    return cpu_seconds(work, rounds=rounds) / items * MICROSECONDS


def print_bars(title: str, bars: Sequence[Bar]) -> None:
    """Print which bars hold."""
    rows = [
        (
            bar.what,
            f"{_short(bar.measured)} {bar.unit}",
            f"{bar.sense} {bar.limit:g} {bar.unit}",
            f"{bar.measured / bar.limit:.2f}",
            "ok" if bar.holds else "MISSED",
        )
        for bar in bars
    ]
    print_table(title, ("bar", "measured", "limit", "ratio", ""), rows)


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows below their head, the first column to the left and all others to the right."""
    cells = [list(head), *([_short(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    print(f"\n{title}")
    for row in cells:
        first, *others = (
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  " + "  ".join([first, *others]).rstrip())


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if value < 100 else f"{value:.0f}"
    return str(value)
