"""The pinned requirements: complete, hashed, and up to date with what the members ask for."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from repo.tree import ROOT, member_folders, pyproject

_IMAGES: Final = sorted(f"images/{path.name}" for path in (ROOT / "requirements" / "images").glob("*.txt"))
_FILES: Final = ("bootstrap.txt", "dev.txt", *_IMAGES)
# What images are built with, and tests are not run with.
_ONLY_BUILDS: Final = {"setuptools"}


def _pins(file: str) -> list[str]:
    """Return the pins of a file, each with its hashes on one line."""
    text = (ROOT / "requirements" / file).read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]


def _requirement(pin: str) -> Requirement:
    return Requirement(pin.partition(" --hash=")[0])


def _ours() -> set[str]:
    return {canonicalize_name(pyproject(member)["project"]["name"]) for member in member_folders()}


def _wanted() -> list[Requirement]:
    """Return what the members and the groups of the root ask for from outside."""
    groups: dict[str, list[Any]] = pyproject(ROOT)["dependency-groups"]
    texts = [entry for group in groups.values() for entry in group if isinstance(entry, str)]
    for member in member_folders():
        texts += pyproject(member)["project"].get("dependencies", [])
    requirements = [Requirement(text) for text in texts]
    return [wanted for wanted in requirements if canonicalize_name(wanted.name) not in _ours()]


@pytest.mark.parametrize("file", _FILES)
def test_every_requirement_is_one_exact_version_with_hashes(file: str) -> None:
    """What is installed is what was looked at; an address or a folder would be neither."""
    pins = _pins(file)
    assert pins
    assert not [
        pin
        for pin in pins
        if not re.fullmatch(r"[a-z0-9-]+==\S+( ; .*?)?( +--hash=sha256:[0-9a-f]{64})+ *", pin)
    ]


@pytest.mark.parametrize("wanted", _wanted(), ids=str)
def test_what_is_asked_for_is_pinned(wanted: Requirement) -> None:
    """A changed dependency comes with its `make lock`."""
    pinned = [
        pin for pin in map(_requirement, _pins("dev.txt")) if pin.name == canonicalize_name(wanted.name)
    ]
    assert pinned
    for pin in pinned:
        assert wanted.specifier.contains(str(pin.specifier).removeprefix("=="), prereleases=True)


def test_the_bootstrap_installs_what_the_rest_pins() -> None:
    """There is one uv: the one that pip installs."""
    assert set(_pins("bootstrap.txt")) <= set(_pins("dev.txt"))


@pytest.mark.parametrize("file", _IMAGES)
def test_what_is_in_an_image_is_what_was_tested(file: str) -> None:
    """The same versions, of those that an image needs."""
    tested = {(pin.name, str(pin.specifier)) for pin in map(_requirement, _pins("dev.txt"))}
    installed = {(pin.name, str(pin.specifier)) for pin in map(_requirement, _pins(file))}
    assert {pin for pin in installed - tested if pin[0] not in _ONLY_BUILDS} == set()


def test_every_image_of_a_service_has_its_requirements() -> None:
    """By the name of its package, which is what the recipe of images is told."""
    recipe = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    packages = set(re.findall(r"^FROM runtime AS (\S+)$", recipe, re.MULTILINE))
    assert packages
    assert {f"images/{package}.txt" for package in packages} <= set(_IMAGES)
