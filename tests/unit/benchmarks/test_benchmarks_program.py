"""A benchmark says what it takes, and fails for a missed bar or a machine that lacks something only where it shall."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from machine import MachineTime
from measure import Bar, CannotMeasure
from program import run
from repo.tree import ROOT

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

PROGRAMS = sorted((ROOT / "benchmarks").glob("bench_*.py"))
HOLDS, MISSED = Bar("good", 1, "≥", 1, "s"), Bar("bad", 2, "≤", 1, "s")


def given(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Set the arguments of the program."""
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])


def lacking() -> None:
    """Need what is not there."""
    raise CannotMeasure("there is no compiler")


@pytest.mark.parametrize(
    ("arguments", "bars", "failure"),
    [
        ([], [HOLDS, MISSED], None),
        (["--strict"], [HOLDS], None),
        (["--strict"], [HOLDS, MISSED], "missed: bad"),
    ],
)
def test_a_missed_bar_is_a_failure_where_it_is_to_be_one(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], bars: list[Bar], failure: str | None
) -> None:
    given(monkeypatch, *arguments)
    if failure is None:
        run("Measures.", lambda _: bars)
    else:
        with pytest.raises(SystemExit, match=failure):
            run("Measures.", lambda _: bars)


def test_time_that_the_host_gave_to_others_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given(monkeypatch)
    run("Measures.", lambda _: [HOLDS])
    assert re.search(r"; the host gave \d+% of the time", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("worked", "idle", "stolen", "share"), [(30, 1000, 10, 0.25), (40, 0, 0, 0.0), (0, 50, 0, 0.0)]
)
def test_what_was_not_wanted_counts_for_nothing(worked: int, idle: int, stolen: int, share: float) -> None:
    def read(worked: int, idle: int, stolen: int) -> MachineTime:
        return MachineTime.read(f"cpu  {worked} 0 0 {idle} 0 0 0 {stolen} 0 0\ncpu0 1 2 3\n")

    assert read(5, 5, 5).share_stolen(read(5 + worked, 5 + idle, 5 + stolen)) == share


def test_what_a_machine_lacks_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given(monkeypatch)
    run("Measures.", lambda _: pytest.fail("it measures"), needs=lacking)
    given(monkeypatch, "--strict")
    with pytest.raises(SystemExit) as ended:
        run("Measures.", lambda _: pytest.fail("it measures"), needs=lacking)
    assert ended.value.code == 1
    assert capsys.readouterr().out == "there is no compiler\n" * 2


def test_arguments_are_explained_and_handed_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Namespace] = []

    def work(arguments: Namespace) -> list[Bar]:
        seen.append(arguments)
        return []

    own = {"numbers": {"--rows": (7, "rows of a table")}, "flags": {"--long": "take longer"}}
    for arguments in ((), ("--rows", "8", "--long")):
        given(monkeypatch, *arguments)
        run("Measures.", work, **own)  # type: ignore[arg-type]  # one table for both
    assert [(one.rows, one.long, one.strict) for one in seen] == [(7, False, False), (8, True, False)]
    given(monkeypatch, "--help")
    with pytest.raises(SystemExit):
        run("Measures.", work, **own)  # type: ignore[arg-type]
    told = capsys.readouterr().out
    assert "Measures." in told
    assert "rows of a table (7)" in told
    given(monkeypatch, "--lon")
    with pytest.raises(SystemExit):
        run("Measures.", work, **own)  # type: ignore[arg-type]
    assert "--lon" in capsys.readouterr().err


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.stem for program in PROGRAMS])
def test_every_benchmark_says_what_it_does_instead_of_running(program: Path) -> None:
    told = subprocess.run(
        [sys.executable, str(program), "--help"],
        env={"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    what_it_does = ast.get_docstring(ast.parse(program.read_text()))
    assert what_it_does is not None
    assert what_it_does in told
    assert "--strict" in told
