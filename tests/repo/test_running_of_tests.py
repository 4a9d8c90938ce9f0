"""What `tests/conftest.py` promises to the tests: golden files, and skips that do not go unnoticed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pytest

from repo.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_SKIPS: Final = """
import pytest

def test_runs():
    assert True

def test_cannot_be_had():
    pytest.skip("not on this machine: a telescope")

@pytest.mark.skip(reason="not on this machine: a compiler")
def test_could_be_had():
    assert True

@pytest.mark.skip(reason="a telescope would be needed")
def test_says_it_in_other_words():
    assert True

@pytest.mark.xfail(reason="known")
def test_fails_as_known():
    assert False
"""
_SKIPPED_WHOLE: Final = """
import pytest

pytest.importorskip("no_such_module")
"""
_GOLDEN: Final = """
def test_text(golden):
    golden("deep/er.txt", "grün\\n")

def test_bytes(golden):
    golden("bytes", b"\\x00\\xff")

def test_without():
    assert False, "must not run while golden files are written"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with our conftest.py, for which a telescope is not to be had."""
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -p no:cacheprovider -p no:xdist\nnot_to_be_had =\n    a telescope\n",
        encoding="utf-8",
    )
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    return tmp_path


def _pytest(project: Path, *arguments: str) -> tuple[dict[str, int], str]:
    """Run pytest in a project and return the counts of its closing line, and all that it said."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))
    }
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=project,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    words = ran.stdout.strip().splitlines()[-1].strip("= ").replace(",", "").split()
    return {what: int(count) for count, what in pairwise(words) if count.isdigit()}, ran.stdout


def test_a_skip_is_a_skip_where_nobody_asked(project: Path) -> None:
    """At a desk a missing tool is no reason to fail."""
    (project / "test_skips.py").write_text(_SKIPS, encoding="utf-8")
    counts, _ = _pytest(project)
    assert counts == {"passed": 1, "skipped": 3, "xfailed": 1}


def test_only_a_skip_for_what_cannot_be_had_is_none_under_the_flag(project: Path) -> None:
    """Not the wording decides but the list: a reason must name one of its entries."""
    (project / "test_skips.py").write_text(_SKIPS, encoding="utf-8")
    counts, said = _pytest(project, "--fail-on-skip")
    # A mark skips before the test begins, which pytest counts as an error.
    assert counts == {"passed": 1, "skipped": 1, "xfailed": 1, "errors": 2}
    assert "skipped, though this machine could have what it needs: not on this machine: a compiler" in said


def test_what_a_machine_is_said_to_have_is_no_reason_to_skip(project: Path) -> None:
    """The list is the same everywhere, and one machine may have more than the others."""
    (project / "test_skips.py").write_text(_SKIPS, encoding="utf-8")
    counts, said = _pytest(project, "--fail-on-skip", "--has=a microscope", "--has=a telescope")
    assert counts == {"passed": 1, "failed": 1, "xfailed": 1, "errors": 2}
    assert "skipped, though this machine could have what it needs: not on this machine: a telescope" in said


def test_a_module_that_skips_itself_is_noticed(project: Path) -> None:
    """`importorskip` hides every test of a module at once."""
    (project / "test_whole.py").write_text(_SKIPPED_WHOLE, encoding="utf-8")
    counts, said = _pytest(project, "--fail-on-skip")
    assert counts == {"error": 1}
    assert "could not import 'no_such_module'" in said


def test_golden_files_are_written_by_one_flag_and_then_compared(project: Path) -> None:
    """Missing, written, equal, different: byte by byte, and only by tests that use them."""
    (project / "test_golden.py").write_text(_GOLDEN, encoding="utf-8")
    counts, said = _pytest(project, "--deselect=test_golden.py::test_without")
    assert counts["failed"] == 2
    assert "there is no golden file deep/er.txt" in said

    counts, _ = _pytest(project, "--rewrite-golden")
    assert counts == {"passed": 2}
    assert (project / "golden" / "deep" / "er.txt").read_bytes() == "grün\n".encode()
    assert (project / "golden" / "bytes").read_bytes() == b"\x00\xff"

    (project / "golden" / "deep" / "er.txt").write_bytes("grün\r\n".encode())
    counts, said = _pytest(project, "--deselect=test_golden.py::test_without")
    assert counts == {"passed": 1, "failed": 1, "deselected": 1}
    assert "differs from golden file deep/er.txt" in said
