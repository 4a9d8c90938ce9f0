"""A benchmark as a program: its arguments, what it needs of the machine, and the verdict on its bars."""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

from machine import MachineTime
from measure import CannotMeasure, print_bars

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from measure import Bar


def run(
    description: str | None,
    work: Callable[[Namespace], Sequence[Bar]],
    *,
    needs: Callable[[], object] = lambda: None,
    numbers: Mapping[str, tuple[int, str]] | None = None,
    flags: Mapping[str, str] | None = None,
) -> None:
    """Measure, print the bars, and fail where one is missed if that is asked for.

    `needs` raises `CannotMeasure` on a machine that lacks something. Flags, and numbers with what they are if nobody
    says otherwise, are explained by `--help`; the work is given them.
    """
    arguments = _read(description or "", numbers or {}, flags or {})
    try:
        needs()
    except CannotMeasure as lack:
        print(lack)
        if arguments.strict:
            raise SystemExit(1) from lack
        return
    before = MachineTime.now()
    bars = work(arguments)
    print_bars("Bars", bars)
    print(f"\n{before.told(until=MachineTime.now())}")
    missed = [bar.what for bar in bars if not bar.holds]
    if missed and arguments.strict:
        raise SystemExit(f"missed: {'; '.join(missed)}")


def _read(description: str, numbers: Mapping[str, tuple[int, str]], flags: Mapping[str, str]) -> Namespace:
    parser = ArgumentParser(
        description=description, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False
    )
    for name, (usual, text) in numbers.items():
        parser.add_argument(name, type=int, default=usual, metavar="N", help=f"{text} ({usual})")
    for name, text in flags.items():
        parser.add_argument(name, action="store_true", help=text)
    parser.add_argument(
        "--strict",
        action="store_true",
        help="fail where a bar is missed, and where this machine cannot measure",
    )
    return parser.parse_args()


def in_a_folder(measure: Callable[[Path], list[Bar]]) -> Callable[[Namespace], list[Bar]]:
    """Return the work of measuring in a folder of its own."""

    def work(_: Namespace) -> list[Bar]:
        with temporary_folder() as folder:
            return measure(Path(folder))

    return work


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for as long as a block runs."""
    return tempfile.TemporaryDirectory(prefix="bench-")
