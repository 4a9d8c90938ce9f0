"""Arguments → files and their bytes, or why a file cannot be read. The only module here that opens anything.

Of a folder the same files are read that the folder registry would follow. A file that is named is read whatever it is
called, also when it is no file at all but the output of another program.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_all_in_one.files.finding import Finding
from aviso_core.registry.manifests import SUFFIXES, is_of_manifests

if TYPE_CHECKING:
    from collections.abc import Iterable

# Far above any configuration; something that never ends is not read for ever.
LARGEST_SOURCE: Final = 16 * 1024 * 1024


class Source(msgspec.Struct, frozen=True):
    """A file: as the user would name it, and what is in it."""

    name: str
    content: bytes


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """All files that were asked for, and what could not be read of them."""

    read: tuple[Source, ...]
    unreadable: tuple[Finding, ...]


def read_sources(arguments: Iterable[str]) -> Sources:
    """Return the files of all arguments, in order, those of a folder by name."""
    outcomes = [outcome for argument in arguments for outcome in _read(Path(argument))]
    return Sources(
        read=tuple(one for one in outcomes if isinstance(one, Source)),
        unreadable=tuple(one for one in outcomes if isinstance(one, Finding)),
    )


def _read(path: Path) -> list[Source | Finding]:
    try:
        if not path.is_dir():
            return [_read_file(path)]
        files = sorted(file for file in path.iterdir() if _is_followed(file))
    except OSError as error:
        return [_unreadable(path, error)]
    if not files:
        remedy = f"name a folder with {', '.join(SUFFIXES)} files"
        return [Finding(file=_name(path), message="is a folder without any file to read", remedy=remedy)]
    return [_read_file(file) for file in files]


def _is_followed(path: Path) -> bool:
    return is_of_manifests(path.name) and path.is_file()


def _read_file(path: Path) -> Source | Finding:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_SOURCE + 1)
    except OSError as error:
        return _unreadable(path, error)
    if len(content) > LARGEST_SOURCE:
        return Finding(file=_name(path), message=f"is larger than {LARGEST_SOURCE} bytes", remedy="divide it")
    return Source(_name(path), content)


def _unreadable(path: Path, error: OSError) -> Finding:
    reason = error.strerror or str(error)
    return Finding(file=_name(path), message=f"cannot be read: {reason}", remedy="name a readable file")


def _name(path: Path) -> str:
    """Return the name of a file as text that can be written out; a file's name is any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
