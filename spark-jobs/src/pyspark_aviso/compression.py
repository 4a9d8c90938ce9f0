"""How bodies are made smaller: zstd where the service takes it, gzip where it does not, both at their fastest."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Encoding: TypeAlias = Literal["zstd", "gzip", "none"]
Choice: TypeAlias = Literal["auto", "zstd", "gzip", "none"]

# What is tried next where the service does not take the one before.
NEXT: Final[Mapping[Encoding, Encoding]] = {"zstd": "gzip", "gzip": "none"}
# Below this the headers are most of a request.
_SMALL: Final = 512


def compress(body: bytes, encoding: Encoding) -> tuple[bytes, dict[str, str]]:
    """Return a body as it is sent, and the header that says how."""
    if encoding == "none" or len(body) < _SMALL:
        return body, {}
    if encoding == "gzip":
        return gzip.compress(body, compresslevel=1, mtime=0), {"Content-Encoding": "gzip"}
    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

    return pa.Codec("zstd", compression_level=1).compress(body, asbytes=True), {"Content-Encoding": "zstd"}
