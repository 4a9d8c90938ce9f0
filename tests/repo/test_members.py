"""Every member stands on what it declares, and every tool knows every member.

All members share one environment, so an import that a member forgot to declare works here and fails where the
member is installed alone. Two tests look for that: one reads the imports, one hides everything undeclared.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from repo.tree import ROOT, committable_files, member_folders, packages_of, pyproject
from support.alone import see_only, show_alone

if TYPE_CHECKING:
    from pathlib import Path

MEMBERS = pytest.mark.parametrize("member", member_folders(), ids=str)

_IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not module.name.endswith(".__main__"):
        importlib.import_module(module.name)
"""


def test_the_workspace_lists_every_member() -> None:
    """The Makefile finds members by their folder, uv by this list."""
    assert pyproject(ROOT)["tool"]["uv"]["workspace"]["members"] == list(map(str, member_folders()))


@MEMBERS
def test_a_member_is_known_to_every_tool(member: Path) -> None:
    """Its types are checked and published, its imports are under contract."""
    tools = pyproject(ROOT)["tool"]
    packages = packages_of(member)
    assert packages
    for package in packages:
        assert (ROOT / package / "py.typed").is_file()
        assert package.name in tools["importlinter"]["root_packages"]
    assert f"{member}/src" in tools["mypy"]["files"]
    assert f"{member}/src" in tools["mypy"]["mypy_path"]


def test_every_python_file_is_under_strict_types() -> None:
    """A new folder of code is told to mypy."""
    checked = [ROOT / folder for folder in pyproject(ROOT)["tool"]["mypy"]["files"]]
    python = [ROOT / path for path in committable_files() if path.suffix == ".py"]
    assert not [path for path in python if not any(path.is_relative_to(folder) for folder in checked)]


@MEMBERS
def test_a_member_declares_what_it_imports(member: Path) -> None:
    """Declared by itself: that another dependency brings the package along today is luck."""
    own = {package.name for package in packages_of(member)}
    providers = {**packages_distributions(), **_packages_of_members()}
    undeclared = {
        name
        for file in (ROOT / member / "src").rglob("*.py")
        for name in _imported_packages(file)
        if name not in own | sys.stdlib_module_names
        and not {canonicalize_name(d) for d in providers.get(name, ())} & _declared(member)
    }
    assert not undeclared


def _packages_of_members() -> dict[str, list[str]]:
    # What is installed editable has no list of files that would tell.
    return {
        package.name: [pyproject(member)["project"]["name"]]
        for member in member_folders()
        for package in packages_of(member)
    }


def _declared(member: Path) -> set[str]:
    """Return what a member needs, and what it can be installed with: whoever imports that does so when it is wanted."""
    project = pyproject(member)["project"]
    extras = project.get("optional-dependencies", {}).values()
    dependencies = [*project.get("dependencies", []), *(text for extra in extras for text in extra)]
    return {canonicalize_name(Requirement(text).name) for text in dependencies}


def _imported_packages(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@MEMBERS
def test_a_member_can_be_imported_alone(member: Path, tmp_path: Path) -> None:
    """Every module of it is imported where only its dependencies, and theirs, are to be seen."""
    show_alone(pyproject(member)["project"]["name"], site=tmp_path)
    for package in packages_of(member):
        command = [sys.executable, "-I", "-S", "-c", see_only(tmp_path) + _IMPORT_ALL, package.name]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr


def test_what_is_not_declared_is_not_there_when_alone(tmp_path: Path) -> None:
    """The test above hides what it means to hide: pytest is installed, and cannot be imported."""
    command = [sys.executable, "-I", "-S", "-c", see_only(tmp_path) + _IMPORT_ALL, "pytest"]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert "ModuleNotFoundError: No module named 'pytest'" in ran.stderr
