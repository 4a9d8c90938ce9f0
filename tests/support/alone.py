"""A member as it is where it is installed alone: with what it declares, and nothing that others of the workspace need.

All members share one environment. What is hidden here is not there, so it is neither imported by chance nor paid for in
memory.
"""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from repo.tree import ROOT, member_folders, packages_of, pyproject


def show_alone(name: str, *, site: Path) -> None:
    """Put a distribution, and everything that it needs on this machine, into a folder of links."""
    for one in _closure(name):
        _show_distribution(one, site=site)


def see_only(site: Path) -> str:
    """Return the beginning of a program for `python -I -S -c` that sees the standard library and such a folder."""
    return f"import sys; sys.path.append({str(site)!r})\n"


def _closure(name: str) -> set[str]:
    """Return the names of a distribution and of everything that it needs on this machine."""
    waiting = [Requirement(name)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        known = (canonicalize_name(wanted.name), frozenset(wanted.extras))
        if known not in seen:
            seen.add(known)
            waiting += [needed for needed in _needed(wanted.name) if _applies(needed, wanted.extras)]
    return {name for name, _ in seen}


def _needed(name: str) -> list[Requirement]:
    return [Requirement(text) for text in distribution(name).requires or ()]


def _applies(needed: Requirement, extras: set[str]) -> bool:
    """Tell whether a requirement holds on this machine, for a distribution wanted with these extras."""
    return needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in {"", *extras})


def _show_distribution(name: str, *, site: Path) -> None:
    """Link the files of an installed distribution into a folder, or, of a member, its packages."""
    files = [file for file in distribution(name).files or () if ".." not in file.parts]
    for member in member_folders():
        if canonicalize_name(pyproject(member)["project"]["name"]) == name:
            for package in packages_of(member):
                (site / package.name).symlink_to(ROOT / package)
            # What it is called, and which version it is.
            files = [file for file in files if file.parts[0].endswith(".dist-info")]
    for file in files:
        link = site / file
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(Path(str(file.locate())))
