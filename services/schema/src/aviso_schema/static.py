"""Files of one folder, for whoever asks: what a path names, and nothing outside of the folder.

A path is looked up by its segments as they were sent, each decoded once and for itself, so an encoded slash or pair of
dots never becomes one. Hidden names are not there. Links are followed as long as they end inside the folder, which is
how a cluster mounts its files. Only regular files are opened: anything else could make a reader wait for ever.
"""

from __future__ import annotations

import asyncio
import html
import mimetypes
import os
import stat
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote

import msgspec
from litestar import Response
from litestar.response import Stream

from aviso_schema.conditional import FRESH, AnyResponse, date_of, is_known, not_found, not_modified

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from litestar.datastructures import Headers

_PIECE_BYTES: Final = 256 * 1024
# Only what Python itself knows: the machine's own list would make answers differ from place to place.
_TYPES: Final = mimetypes.MimeTypes()
_TEXTS: Final = ("application/javascript", "application/json", "image/svg+xml")


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A regular file inside the folder."""

    path: bytes
    size: int
    modified_nanoseconds: int
    number: int

    @property
    def tag(self) -> str:
        """The strong entity tag: another size, time or file is another one."""
        return f'"{self.modified_nanoseconds:x}-{self.size:x}-{self.number:x}"'

    @property
    def modified(self) -> float:
        """When it was last changed, in seconds."""
        return self.modified_nanoseconds / 1e9

    @property
    def media_type(self) -> str:
        """What is in it, judged by its name."""
        kind, encoding = _TYPES.guess_type(os.fsdecode(self.path))
        if kind is None or encoding is not None:
            return "application/octet-stream"
        # The framework says it of what is named text.
        return f"{kind}; charset=utf-8" if kind in _TEXTS else kind


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a directory of the folder: names, those of directories ending with a slash."""

    names: tuple[bytes, ...]


Found: TypeAlias = File | Listing | None


def find(folder: Path, names: Sequence[bytes]) -> Found:
    """Return what stands under these names, or None. An empty last name stands for a directory itself."""
    *inner, last = names or (b"",)
    wanted = [*inner, last] if last else inner
    if not all(map(_is_plain, wanted)):
        return None
    try:
        root = os.path.realpath(os.fsencode(folder), strict=True)
        found = _look(root, os.path.join(root, *wanted))
        if found is None:
            return None
        path, facts = found
        if stat.S_ISDIR(facts.st_mode):
            return _listing(root, path)
    except OSError:
        return None
    if not last:
        return None
    return File(path=path, size=facts.st_size, modified_nanoseconds=facts.st_mtime_ns, number=facts.st_ino)


def _is_plain(name: bytes) -> bool:
    return bool(name) and not name.startswith(b".") and not any(char in name for char in (b"/", b"\\", b"\0"))


def _look(root: bytes, path: bytes) -> tuple[bytes, os.stat_result] | None:
    """Return what a path leads to, or None where that is outside of the root or can only be waited for."""
    real = os.path.realpath(path, strict=True)
    if real != root and not real.startswith(root.rstrip(b"/") + b"/"):
        return None
    facts = os.stat(real)
    return (real, facts) if stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode) else None


def _listing(root: bytes, path: bytes) -> Listing:
    names = []
    for name in filter(_is_plain, os.listdir(path)):
        try:
            found = _look(root, os.path.join(path, name))
        except OSError:
            # A link to nowhere, or something that was removed just now.
            continue
        if found is not None:
            names.append(name + (b"/" if stat.S_ISDIR(found[1].st_mode) else b""))
    return Listing(names=tuple(sorted(names)))


def contents(folder: Path, name: str) -> bytes | None:
    """Return what is in a file of the folder, or None where there is no such file."""
    found = find(folder, [name.encode()])
    if not isinstance(found, File):
        return None
    try:
        with open(found.path, "rb") as opened:
            return opened.read()
    except OSError:
        return None


# --- answers ---------------------------------------------------------------------------------------------


async def answer(
    folder: Path,
    names: Sequence[bytes],
    headers: Headers,
    *,
    more: Mapping[str, str] | None = None,
    listed_below: bytes | None = None,
) -> AnyResponse:
    """Return what stands under these names; directories are listed where the path of the folder is given."""
    found = await asyncio.to_thread(find, folder, names)
    match found:
        case File():
            return _file_answer(found, headers, more or {})
        case Listing() if listed_below is not None:
            at = b"/".join([listed_below, *filter(None, names), b""])
            return Response(_page(at, found.names), media_type="text/html", headers={**FRESH, **_NOT_GUESSED})
        case _:
            return not_found()


_NOT_GUESSED: Final[Mapping[str, str]] = {"X-Content-Type-Options": "nosniff"}


def _file_answer(file: File, headers: Headers, more: Mapping[str, str]) -> AnyResponse:
    said = {"ETag": file.tag, "Last-Modified": date_of(file.modified), **FRESH, **_NOT_GUESSED, **more}
    if is_known(headers, tag=file.tag, modified=file.modified):
        return not_modified(said)
    return Stream(
        _pieces(file), media_type=file.media_type, headers=said | {"Content-Length": str(file.size)}
    )


async def _pieces(file: File) -> AsyncIterator[bytes]:
    """Read as many bytes as were announced. A file that became shorter cuts the answer off, which the reader sees.

    Between two pieces the file is closed: whoever stops reading in the middle leaves nothing open.
    """
    for begin in range(0, file.size, _PIECE_BYTES):
        yield await asyncio.to_thread(_read, file.path, begin, min(_PIECE_BYTES, file.size - begin))


def _read(path: bytes, begin: int, count: int) -> bytes:
    with open(path, "rb") as opened:
        opened.seek(begin)
        return opened.read(count)


def _page(at: bytes, names: Sequence[bytes]) -> bytes:
    rows = "\n".join(
        f'<li><a href="{html.escape(quote(at + name))}">{html.escape(name.decode(errors="replace"))}</a></li>'
        for name in names
    )
    title = f"Index of {html.escape(at.decode(errors='replace'))}"
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body><h1>{title}</h1>\n<ul>\n{rows}\n</ul></body></html>\n"
    )
    return page.encode()
