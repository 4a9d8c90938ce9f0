"""Hypothesis strategies for JSON: values, the ways to spell one, and bytes that nearly are JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from hypothesis import strategies as st

# Nearly every rule about characters has its characters here.
_TELLING: Final = '"\\/[]{},:.*>% \t\n\x00\x1f\x7f\x85\xa0\u2028\u3000\ufeff0٤９üéß🌍'
texts: Final = st.one_of(
    st.text(max_size=12),
    st.text(st.sampled_from(_TELLING), max_size=6),
    st.sampled_from(("", "*", "event_type", "identifier", "payload", "point", "polygon", "point_cloud")),
)
integers: Final = st.one_of(
    st.integers(-20, 300),
    st.integers(),
    st.sampled_from((2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**400)),
)
doubles: Final = st.floats(allow_nan=False, allow_infinity=False)
scalars: Final = st.one_of(st.none(), st.booleans(), integers, doubles, texts)
values: Final[st.SearchStrategy[Any]] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)


@st.composite
def spelled(draw: st.DrawFn, of: st.SearchStrategy[Any] = values) -> bytes:
    """Return a JSON value in one of its spellings: escapes or not, white space or not."""
    value = draw(of)
    text = json.dumps(
        value,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from((None, 0, 2))),
        separators=draw(st.sampled_from((None, (",", ":"), (" , ", "\t:\r\n")))),
    )
    return text.encode("utf-8", "surrogatepass")


# What JSON is made of, and what it must not hold.
_PIECES: Final = (
    b"[", b"]", b"{", b"}", b",", b":", b'"', b'\\"', b"\\", b"\\u00fc", b"\\ud83d", b"\\ude00", b" ", b"\n", b"\t",
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"null", b"true", b"false", b"NaN", b"Infinity", b"-", b"+",
    b"0", b"1", b"-0", b"1.5", b".5", b"5.", b"1e5", b"1e400", b"-1e400", b"1e", b"9" * 310, b"9" * 250 + b"e99",
    b'"event_type"', b'"identifier"', b'"payload"', b'"from_id"', b'"a"', b'"a":1', b"{}", b"[]",
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, of: st.SearchStrategy[bytes]) -> bytes:
    """Return bytes in which a few places were cut out, doubled or replaced."""
    data = draw(of)
    for _ in range(draw(st.integers(0, 3))):
        begin = draw(st.integers(0, len(data)))
        end = draw(st.integers(begin, min(len(data), begin + 8)))
        piece = draw(st.one_of(st.sampled_from(_PIECES), st.binary(max_size=3), st.just(data[begin:end] * 2)))
        data = data[:begin] + piece + data[end:]
    return data


any_bytes: Final = st.one_of(
    st.binary(max_size=40),
    st.lists(st.sampled_from(_PIECES), max_size=12).map(b"".join),
    spelled(),
    damaged(spelled()),
)
