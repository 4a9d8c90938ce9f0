"""From a body to its records, each still the bytes that it was sent as, and to the windows in which they are handled.

How many records there are is known before the first is looked at: too many are refused whole.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.errors import InvalidJson
from aviso_http.body import BodyTooLarge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# One window is made ready while the one before it is on its way. It is as small as it may be without costing more:
# others are served in between, and what is on its way is held twice.
MOST_IN_A_WINDOW: Final = 250
MOST_BYTES_IN_A_WINDOW: Final = 256 * 1024

_decode_array: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
# JSON's own white space, the line end among it.
_BLANK: Final = b" \t\r\n"
_NOT_BLANK: Final = re.compile(rb"[^ \t\r\n]")
# An array with fewer commas than this is decoded at once, whatever it holds: its elements fit into memory.
_FEW_COMMAS: Final = 500_000
_TOKENS_AT_ONCE: Final = 20_000
_STRUCTURE: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]|,', re.DOTALL)


def lines(body: bytearray, *, most: int) -> Iterator[bytes]:
    """Return the records of a body with one on each line; lines without anything are no records."""
    if body.count(b"\n") >= most and _are_more(_line_spans(body), most):
        raise too_many(most)
    return _texts(body)


def _texts(body: bytearray) -> Iterator[bytes]:
    view = memoryview(body)
    return (bytes(view[begin:end]).rstrip(_BLANK) for begin, end in _line_spans(body))


def _line_spans(body: bytearray) -> Iterator[tuple[int, int]]:
    position = 0
    while (begins := _NOT_BLANK.search(body, position)) is not None:
        begin = begins.start()
        end = body.find(b"\n", begin)
        if end < 0:
            end = len(body)
        yield begin, end
        position = end


def _are_more(items: Iterable[object], most: int) -> bool:
    return any(count > most for count, _ in enumerate(items, start=1))


async def elements(body: bytearray, *, most: int) -> Iterator[bytes]:
    """Return the elements of a body that is a JSON array; where counting takes long, others are served meanwhile."""
    if body.count(b",") > _FEW_COMMAS:
        await _check_count(body, most)
    try:
        found = _decode_array(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidJson(f"JSON parsing failed: the body must be one JSON array: {error}") from error
    except RecursionError as error:
        raise InvalidJson("JSON parsing failed: nested too deeply") from error
    if len(found) > most:
        raise too_many(most)
    return map(bytes, found)


async def _check_count(body: bytearray, most: int) -> None:
    """Refuse too many elements before each of them takes memory."""
    depth, elements = 0, 1
    for number, token in enumerate(_STRUCTURE.finditer(body)):
        if number % _TOKENS_AT_ONCE == 0:
            await asyncio.sleep(0)
        match body[token.start()]:
            case 0x5B | 0x7B:
                depth += 1
            case 0x5D | 0x7D:
                depth -= 1
            case 0x2C if depth == 1:
                elements += 1
                if elements > most:
                    raise too_many(most)
            case _:
                pass


def too_many(most: int) -> BodyTooLarge:
    """Return the refusal of a batch of too many records."""
    return BodyTooLarge(f"A batch like this has at most {most} notifications: send several")


def windows(records: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the records in their order, a few at a time."""
    window: list[bytes] = []
    size = 0
    for record in records:
        if len(window) >= MOST_IN_A_WINDOW or (window and size + len(record) > MOST_BYTES_IN_A_WINDOW):
            yield window
            window, size = [], 0
        window.append(record)
        size += len(record)
    if window:
        yield window
