"""Bodies of answers that are wanted whole: read until the deadline, in however many pieces they come."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import urllib3

if TYPE_CHECKING:
    from pyspark_aviso.retrying import Attempts

# The longest silence in an answer: the service keeps streams alive more often than that.
SILENCE_SECONDS: Final = 60.0
READ_AT_ONCE: Final = 256 * 1024
_LONGEST_EXCUSE: Final = 2000


class _Said(msgspec.Struct):
    error: str = ""
    message: str = ""
    details: str = ""
    code: str = ""


class Excuse(NamedTuple):
    """Why the service does not do what it was asked for, and its code for that where it has one."""

    text: str
    code: str = ""


_decode_said: Final = msgspec.json.Decoder(_Said).decode


def read_body(response: urllib3.BaseHTTPResponse, attempts: Attempts, *, most: int | None = None) -> bytes:
    """Return the body of an answer, or at least so much of it. It has until the deadline, in however many pieces."""
    data = bytearray()
    while most is None or len(data) < most:
        _wait_no_longer(response, attempts.seconds_left)
        piece = response.read1(READ_AT_ONCE)
        if not piece:
            break
        data += piece
    return bytes(data)


def _wait_no_longer(response: urllib3.BaseHTTPResponse, seconds: float) -> None:
    """Bound the wait for the next piece of an answer, of which the socket knows only how long the first may take."""
    if seconds <= 0:
        raise urllib3.exceptions.TimeoutError("the answer had not ended at the deadline")
    sock = getattr(response.connection, "sock", None)
    if sock is not None:
        sock.settimeout(min(SILENCE_SECONDS, seconds))


def read_excuse(response: urllib3.BaseHTTPResponse, attempts: Attempts) -> Excuse:
    """Return why the service does not do what it was asked for, in its words where it has some."""
    address = response.headers.get("Location")
    if 300 <= response.status < 400 and address:
        response.close()
        return Excuse(
            f"it is at {address[:_LONGEST_EXCUSE]!r}, which option 'url' must name if that is the service"
        )
    with closing(response):
        try:
            body = read_body(response, attempts, most=_LONGEST_EXCUSE)
        except urllib3.exceptions.HTTPError:
            return Excuse("without a reason that could be read")
    try:
        said = _decode_said(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Excuse(excerpt(body))
    return Excuse(said.message or said.details or said.error or excerpt(body), said.code)


def excerpt(body: bytes) -> str:
    """Return the beginning of an answer that is not understood."""
    return repr(body[:200].decode("utf-8", "replace"))
