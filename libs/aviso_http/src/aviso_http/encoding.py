"""Compressed bodies: decoded piece by piece as they arrive, so that no few bytes can become many before anybody looks.

Both codings allow a stream to be written in parts (members, frames), one after the other. All of them are read; what
is cut off within one, or followed by something else, is refused as a whole.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final, Protocol

import zstandard

from aviso_core.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

# How much comes out at once.
_PIECE_BYTES: Final = 65_536
# An empty part takes a few bytes to send and far more work to begin.
_MOST_PARTS: Final = 10_000
_GZIP: Final = 31
# What every decoder must be able to hold (RFC 8878), and what no encoder needs more of for bodies of this size.
LARGEST_WINDOW: Final = 8 * 1024 * 1024
# The library gives out all that comes of what it is handed, and four bytes may become 128 KiB: so a little at a time.
_ZSTD_SLICE_BYTES: Final = 128


class InvalidEncoding(Refusal):
    """The body is not what its `Content-Encoding` says."""

    code = "INVALID_ENCODING"


class UnknownEncoding(Refusal):
    """The body is encoded in a way that is not understood here."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class Decoder(Protocol):
    """One body."""

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what comes of the next bytes; whoever has enough of it stops asking."""
        ...

    def finish(self) -> None:
        """Refuse a body that ended before its time."""
        ...


def decoder_for(encoding: bytes | None) -> Decoder | None:
    """Return the decoder of a `Content-Encoding`; None where the body is sent as it is."""
    match (encoding or b"").strip().lower():
        case b"" | b"identity":
            return None
        case b"gzip" | b"x-gzip":
            return GzipDecoder()
        case b"zstd":
            return ZstdDecoder()
        case _:
            raise UnknownEncoding(
                "Content-Encoding must be gzip or zstd, or left out", field="Content-Encoding"
            )


class GzipDecoder:
    """RFC 1952, of any number of members."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._parts = _Parts("gzip")

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what comes of the next bytes."""
        while data:
            self._parts.go_on()
            try:
                piece = self._member.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                raise self._parts.broken(error) from error
            if piece:
                yield piece
            if self._member.eof:
                data = self._member.unused_data
                self._member = zlib.decompressobj(_GZIP)
                self._parts.end()
            else:
                data = self._member.unconsumed_tail

    def finish(self) -> None:
        """Refuse a body that ended before its time."""
        self._parts.finish()


class ZstdDecoder:
    """RFC 8878, of any number of frames."""

    def __init__(self) -> None:
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
        self._frame = self._new_frame()
        self._parts = _Parts("zstd")

    def _new_frame(self) -> zstandard.ZstdDecompressionObj:
        return self._decompressor.decompressobj(write_size=_PIECE_BYTES)

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what comes of the next bytes."""
        for first in range(0, len(data), _ZSTD_SLICE_BYTES):
            yield from self._decode_little(data[first : first + _ZSTD_SLICE_BYTES])

    def _decode_little(self, data: bytes) -> Iterator[bytes]:
        while data:
            self._parts.go_on()
            try:
                piece = self._frame.decompress(data)
            except zstandard.ZstdError as error:
                raise self._parts.broken(error) from error
            if piece:
                yield piece
            if not self._frame.eof:
                return
            data = self._frame.unused_data
            self._frame = self._new_frame()
            self._parts.end()

    def finish(self) -> None:
        """Refuse a body that ended before its time."""
        self._parts.finish()


class _Parts:
    """How many parts there were, and whether one is open."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._ended = 0
        self._is_open = False

    def go_on(self) -> None:
        if self._ended >= _MOST_PARTS:
            raise InvalidEncoding(f"The body has more than {_MOST_PARTS} parts of {self._coding}")
        self._is_open = True

    def end(self) -> None:
        self._ended += 1
        self._is_open = False

    def finish(self) -> None:
        if self._is_open or not self._ended:
            raise InvalidEncoding(f"The body is not {self._coding}: it ends before its time")

    def broken(self, error: Exception) -> InvalidEncoding:
        return InvalidEncoding(f"The body is not {self._coding}: {error}")
