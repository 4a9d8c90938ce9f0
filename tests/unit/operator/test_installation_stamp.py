"""A disk of the broker says how many servers it belongs to, and others do not start on it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from aviso_operator.installation.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path


def stamp(file: Path, count: int) -> int:
    return main(["stamp", f"--file={file}", f"--count={count}"])


@pytest.mark.parametrize("count", [1, 3])
def test_a_new_disk_is_stamped_and_found_again(tmp_path: Path, count: int) -> None:
    file = tmp_path / ".servers"
    assert [stamp(file, count), stamp(file, count)] == [0, 0]
    assert [one.name for one in tmp_path.iterdir()] == [".servers"]


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1)])
def test_another_number_of_servers_is_refused_in_words(
    tmp_path: Path, before: int, after: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the disk still belongs to those of before."""
    file = tmp_path / ".servers"
    stamp(file, before)
    assert stamp(file, after) == 1
    told = capsys.readouterr().err
    assert f"{file} says that this disk is of {before} NATS servers, and nats.replicas is {after}" in told
    assert "Set nats.replicas to what it was" in told
    assert stamp(file, before) == 0


def test_a_stamp_that_says_nothing_is_no_new_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / ".servers"
    file.touch()
    assert stamp(file, 1) == 1
    assert "an unknown number of NATS servers" in capsys.readouterr().err


def test_stamping_loads_nothing_that_asks_a_cluster(tmp_path: Path) -> None:
    """It happens before each start of a broker, in little memory."""
    program = (
        "import sys; from aviso_operator.installation.__main__ import main;"
        f"main(['stamp', '--file={tmp_path}/.servers', '--count=1']);"
        "print([name for name in ('kubernetes', 'urllib3', 'kopf') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
