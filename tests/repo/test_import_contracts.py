"""The import contracts hold, and they refuse what they are there to refuse."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repo.tree import ROOT, member_folders, packages_of

_CORE = "libs/aviso_core/src/aviso_core"


def _lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts over a tree with the packages and the pyproject.toml of the root beside each other."""
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"]
    # What lies in the working directory goes before what is installed.
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=tree)


@pytest.fixture
def copied_tree(tmp_path: Path) -> Path:
    """Return a copy of all packages, to plant an import in."""
    for member in member_folders():
        for package in packages_of(member):
            shutil.copytree(ROOT / package, tmp_path / package.name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(copied_tree: Path) -> None:
    """Without a planted import nothing is refused, so what follows is refused for the planted one."""
    ran = _lint_imports(copied_tree)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("errors.py", "import aviso_core.units"),  # upwards
        ("event.py", "from aviso_core.matching import anything"),  # upwards, past other rooms
        ("topic/planted.py", "import aviso_core.fields"),  # sideways
        ("settings/planted.py", "import aviso_core.event"),  # downwards, but settings know no domain
        ("units.py", "import litestar"),  # a framework
        ("schema/planted.py", "import nats"),  # a broker
        ("clock.py", "import os"),  # the environment
        ("matching/planted.py", "import asyncio"),  # the event loop
        ("planted_room.py", ""),  # a room without a place in the layers
    ],
)
def test_a_forbidden_import_is_refused(copied_tree: Path, module: str, planted: str) -> None:
    """Each kind of contract is broken once."""
    with (copied_tree / "aviso_core" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{planted}\n")
    ran = _lint_imports(copied_tree)
    assert ran.returncode == 1
    assert "BROKEN" in ran.stdout
    assert planted_name(module) in ran.stdout


def planted_name(module: str) -> str:
    """Return the dotted name under which the refusal must speak of the module."""
    return "aviso_core." + module.removesuffix(".py").replace("/", ".")
