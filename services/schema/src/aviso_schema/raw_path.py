"""The path of a request as it was sent, in segments.

Names of event types may hold anything, also a slash, which then travels as `%2F`. In the path that a server has already
decoded, such a name looks like two segments, and `a/` looks like `a`; so routing only finds the handler, and the
handler reads the segments here. No path stands for another: an extra slash is an extra, empty segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, unquote_to_bytes

if TYPE_CHECKING:
    from litestar.types import Scope


def segments(scope: Scope) -> list[bytes]:
    """Return the segments of the path, still encoded: those of `/a/b` are `a` and `b`, and that of `/` is empty."""
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    root = quote(scope.get("root_path", "")).encode()
    path = raw.partition(b"?")[0].removeprefix(root)
    return path.split(b"/")[1:]


def text_of(segment: bytes) -> str:
    """Return the text of a segment. What is no UTF-8 names nothing, and shows that."""
    return (
        unquote(segment.decode("latin-1"), errors="replace")
        if b"%" in segment
        else segment.decode(errors="replace")
    )


def bytes_of(segment: bytes) -> bytes:
    """Return the bytes of a segment."""
    return unquote_to_bytes(segment)
