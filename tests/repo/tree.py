"""The repository as the tests of this folder see it: its files, its members, its Makefile."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

# Folders whose folders are members, and folders that are members themselves.
_OF_MEMBERS: Final = ("libs", "services")
_MEMBERS: Final = ("operator", "spark-jobs")


@cache
def committable_files() -> tuple[Path, ...]:
    """Return every file that is tracked, or would be by `git add --all`, relative to the root."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not on this machine: a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (Path(name) for name in listed.split("\0") if name)
    return tuple(sorted(path for path in paths if (ROOT / path).is_file()))


def member_folders() -> tuple[Path, ...]:
    """Return the folder of every member, relative to the root."""
    candidates = [folder for parent in _OF_MEMBERS for folder in (ROOT / parent).glob("*")]
    candidates += [ROOT / name for name in _MEMBERS]
    return tuple(sorted(f.relative_to(ROOT) for f in candidates if (f / "pyproject.toml").is_file()))


def packages_of(member: Path) -> tuple[Path, ...]:
    """Return the top-level packages in a member's `src`, relative to the root."""
    inits = (ROOT / member / "src").glob("*/__init__.py")
    return tuple(sorted(init.parent.relative_to(ROOT) for init in inits))


def pyproject(folder: Path) -> dict[str, Any]:
    """Return the pyproject.toml of a member, or of the root, as it was parsed."""
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))
