"""The Makefile is the way in: what it lists is there, what pages name is listed, and it says what it needs."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from repo.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_PAGES = ("README.md", "CONTRIBUTING.md")


def _make(*arguments: str) -> subprocess.CompletedProcess[str]:
    # A make above this one would hand its own flags down.
    return subprocess.run(
        ["make", "--no-print-directory", "MAKEFLAGS=", *arguments],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )


def _targets() -> set[str]:
    """Return the targets that `make`, called without one, lists."""
    return set(re.findall(r"^  make (\S+) +\S", _make().stdout, re.MULTILINE))


def test_every_target_is_listed() -> None:
    """Help is read off the targets' own comments, so a target without one would be missing."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony
    assert _targets() == set(phony[1].split())


@pytest.mark.parametrize("page", _PAGES)
def test_the_commands_of_a_page_are_targets(page: str) -> None:
    """What a newcomer is told to type exists."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^)make ([a-z]+)\b", text, re.MULTILINE))
    assert named
    assert named <= _targets()


@pytest.mark.parametrize("answer", ["exit 1", "echo Python 3.10.4; exit 1"])
def test_a_python_that_will_not_do_is_refused_in_words(tmp_path: Path, answer: str) -> None:
    """Whether it is too old or lacks a module: one line says what is needed and how to choose another."""
    python = tmp_path / "python-of-old"
    python.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
    python.chmod(0o755)
    ran = _make("test", f"PYTHON={python}", f"VENV={tmp_path}/venv")
    assert ran.returncode != 0
    assert "Python 3.11 or newer with its modules pip and venv is needed" in ran.stderr
    assert not (tmp_path / "venv").exists()


def test_a_missing_python_is_refused_in_words(tmp_path: Path) -> None:
    """The same line, where there is no such command at all."""
    ran = _make("test", "PYTHON=no-such-python", f"VENV={tmp_path}/venv")
    assert ran.returncode != 0
    assert "'no-such-python' is" in ran.stderr


def test_nothing_is_installed_twice(tmp_path: Path) -> None:
    """Once the environment is there, a second run has nothing to do before its own work."""
    (tmp_path / ".ready").touch()
    planned = _make("--dry-run", "test", f"VENV={tmp_path}").stdout.splitlines()
    assert len(planned) == 1
    assert "pytest" in planned[0]
