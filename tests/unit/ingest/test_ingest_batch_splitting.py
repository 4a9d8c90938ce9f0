"""From a body to its records, however they are written, and to the windows in which they are handled."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.errors import InvalidJson
from aviso_http.body import BodyTooLarge
from aviso_ingest.batch.splitting import (
    MOST_BYTES_IN_A_WINDOW,
    MOST_IN_A_WINDOW,
    elements,
    lines,
    windows,
)
from support.json_strategies import values

LARGEST: Final = 8 * 1024 * 1024

texts: Final = values.map(lambda value: json.dumps(value, ensure_ascii=False).encode())
blanks: Final = st.text(" \t\r", max_size=3).map(str.encode)
spaces: Final = st.text(" \t\r\n", max_size=3).map(str.encode)
ends: Final = st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\n \r\n\t\n"])


def array(body: bytes, *, most: int = 10_000) -> list[bytes]:
    """Return the elements of an array."""
    return list(asyncio.run(elements(bytearray(body), most=most)))


@given(data=st.data(), records=st.lists(texts, max_size=8))
def test_lines_are_the_same_whatever_stands_around_them(data: st.DataObject, records: list[bytes]) -> None:
    """Blanks, empty lines, either line end, with or without one at the end."""
    body = b"".join(data.draw(blanks) + record + data.draw(blanks) + data.draw(ends) for record in records)
    if data.draw(st.booleans()):
        body = body.rstrip()
    assert list(lines(bytearray(data.draw(spaces) + body), most=10_000)) == records


@given(data=st.data(), records=st.lists(texts, max_size=8))
def test_elements_are_the_same_whatever_stands_around_them(data: st.DataObject, records: list[bytes]) -> None:
    """White space is allowed between any two tokens."""
    spaced = (data.draw(spaces) + record + data.draw(spaces) for record in records)
    body = data.draw(spaces) + b"[" + (b",".join(spaced) or data.draw(spaces)) + b"]" + data.draw(spaces)
    assert array(body) == records


@pytest.mark.parametrize("count", [2, 3])
def test_the_limit_is_a_number_of_records(count: int) -> None:
    """Exactly as many are taken; what is no record does not count."""
    body = b"\n\n" + b'{"a":[1,2,3,4]}\r\n\n' * count
    listed = b"[" + b",".join([b'{"a":[1,2,3,4]}'] * count) + b"]"
    assert len(list(lines(bytearray(body), most=count))) == len(array(listed, most=count)) == count
    for refused in (lambda: lines(bytearray(body), most=count - 1), lambda: array(listed, most=count - 1)):
        with pytest.raises(BodyTooLarge, match=f"at most {count - 1} notifications"):
            refused()


@pytest.mark.parametrize(
    "body",
    [
        b"", b" ", b"{}", b"5", b"null", b"[1,]", b"[1 2]", b"[1", b"[1]]", b'["\xff]', b"[1]\n[2]", b"[" * 5000,
        b"\xef\xbb\xbf[]",
    ],
)  # fmt: skip
def test_what_is_no_array_is_refused_whole(body: bytes) -> None:
    """As one JSON value that cannot be read."""
    with pytest.raises(InvalidJson, match=r"^JSON parsing failed: "):
        array(body)


def filled(begin: bytes, part: bytes, end: bytes) -> bytes:
    """Return a body of the largest size, full of one part."""
    return begin + part * ((LARGEST - len(begin) - len(end)) // len(part)) + end


@pytest.mark.parametrize(
    ("begin", "part", "end"),
    [(b"[", b"1,", b"1]"), (b"[", b"[],", b"1]"), (b"[", b'"",', b"1]"), (b'["\\",",', b"1,", b"1]")],
)
def test_millions_of_elements_never_take_memory(begin: bytes, part: bytes, end: bytes) -> None:
    """They are counted first: one that is made takes dozens of bytes, and it is two that were sent."""
    body = bytearray(filled(begin, part, end))
    tracemalloc.start()
    try:
        with pytest.raises(BodyTooLarge):
            asyncio.run(elements(body, most=10_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize(
    ("begin", "part", "end"),
    [(b"[[", b"1,", b"1]]"), (b"[[", b"[],", b"1]]"), (b"[{", b'"":1,', b'"":1}]'), (b'["', b"\\\\,", b'"]')],
)
def test_commas_within_an_element_do_not_count(begin: bytes, part: bytes, end: bytes) -> None:
    """However many they are."""
    assert len(array(filled(begin, part, end), most=1)) == 1


def test_others_are_served_while_elements_are_counted() -> None:
    """A body that takes a second to count keeps nobody waiting for a second."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def count() -> None:
        beside = asyncio.ensure_future(others())
        await elements(bytearray(b"[[" + b"[]," * 600_000 + b"1]]"), most=1)
        beside.cancel()

    asyncio.run(count())
    assert turns > 50


@given(sizes=st.lists(st.integers(1, 200_000) | st.integers(1, 100), max_size=400))
def test_windows_hold_all_records_in_their_order(sizes: list[int]) -> None:
    """Within both bounds, except that a record that is larger than the bound has a window of its own."""
    zeros = bytes(200_000)
    records = [zeros[:size] for size in sizes]
    made = list(windows(records))
    assert [record for window in made for record in window] == records
    for window in made:
        assert 0 < len(window) <= MOST_IN_A_WINDOW
        assert len(window) == 1 or sum(map(len, window)) <= MOST_BYTES_IN_A_WINDOW


def test_a_window_is_made_when_it_is_wanted() -> None:
    """The records of a large body are not all in memory a second time."""
    taken: list[Any] = []

    def records() -> Any:
        for number in range(10 * MOST_IN_A_WINDOW):
            taken.append(number)
            yield b"x"

    next(iter(windows(records())))
    assert len(taken) == MOST_IN_A_WINDOW + 1
