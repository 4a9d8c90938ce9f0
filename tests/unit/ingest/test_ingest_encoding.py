"""Compressed bodies: what comes out, whatever the pieces were, and what is refused."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
from typing import TYPE_CHECKING, Final

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from aviso_http.encoding import Decoder, InvalidEncoding, UnknownEncoding, decoder_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CODINGS: Final[dict[bytes, Callable[[bytes], bytes]]] = {
    b"gzip": gzip.compress,
    b"zstd": lambda data: zstandard.ZstdCompressor().compress(data),
}
every_coding = pytest.mark.parametrize("coding", CODINGS)


def decoded(decoder: Decoder | None, pieces: Iterable[bytes]) -> bytes:
    """Return what comes of all pieces."""
    assert decoder is not None
    made = b"".join(itertools.chain.from_iterable(map(decoder.decode, pieces)))
    decoder.finish()
    return made


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """Return data in pieces, cut at these places of it."""
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[begin:end] for begin, end in itertools.pairwise(ends)] or [data]


@every_coding
@given(
    parts=st.lists(st.binary(max_size=300) | st.just(b"x" * 200_000), min_size=1, max_size=4),
    places=st.lists(st.integers(0, 2000), max_size=20),
)
def test_pieces_do_not_matter(coding: bytes, parts: list[bytes], places: list[int]) -> None:
    """Several members or frames after each other are one body, cut wherever the network cut it."""
    sent = b"".join(map(CODINGS[coding], parts))
    assert decoded(decoder_for(coding), cut(sent, places)) == b"".join(parts)


@every_coding
@given(body=st.binary(min_size=1, max_size=500), kept=st.integers(0, 10_000))
def test_a_body_that_is_cut_off_is_refused(coding: bytes, body: bytes, kept: int) -> None:
    """Wherever that is, the empty body included."""
    whole = CODINGS[coding](body)
    with pytest.raises(InvalidEncoding, match="ends before its time"):
        decoded(decoder_for(coding), [whole[: kept % len(whole)]])


@every_coding
@given(garbage=st.binary(min_size=1, max_size=20))
def test_what_follows_and_is_nothing_is_refused(coding: bytes, garbage: bytes) -> None:
    """Nobody knows what it was meant to be."""
    with pytest.raises(InvalidEncoding, match=f"The body is not {coding.decode()}"):
        decoded(decoder_for(coding), [CODINGS[coding](b"body"), garbage])


@every_coding
def test_a_body_that_was_damaged_is_refused(coding: bytes) -> None:
    """Both codings end with a sum, where the sender writes it."""
    sent = bytearray(
        gzip.compress(b"body")
        if coding == b"gzip"
        else zstandard.ZstdCompressor(write_checksum=True).compress(b"body")
    )
    sent[-1] ^= 1
    with pytest.raises(InvalidEncoding):
        decoded(decoder_for(coding), [bytes(sent)])


def bomb(coding: bytes, *, megabytes: int) -> bytes:
    """Return few bytes that become many."""
    return CODINGS[coding](bytes(megabytes * 2**20))


@every_coding
def test_few_bytes_become_many_only_where_somebody_takes_them(coding: bytes) -> None:
    """What was not asked for is never in memory: a bomb of 128 MiB costs a few at the most."""
    sent = bomb(coding, megabytes=128)
    decoder = decoder_for(coding)
    assert decoder is not None
    next(decoder.decode(bomb(coding, megabytes=1)))
    tracemalloc.start()
    try:
        taken = 0
        for piece in decoder_for(coding).decode(sent):  # type: ignore[union-attr]  # it is a coding
            taken += len(piece)
            if taken > 2**20:
                break
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20


@every_coding
def test_there_is_an_end_to_empty_parts(coding: bytes) -> None:
    """Each takes a few bytes to send and far more work to begin."""
    with pytest.raises(InvalidEncoding, match="more than 10000 parts"):
        decoded(decoder_for(coding), [CODINGS[coding](b"") * 10_001])


@pytest.mark.parametrize("coding", [None, b"", b"identity", b" Identity "])
def test_a_body_may_be_sent_as_it_is(coding: bytes | None) -> None:
    """Nothing is decoded then."""
    assert decoder_for(coding) is None


@pytest.mark.parametrize("coding", [b"x-gzip", b"GZIP", b" gzip "])
def test_gzip_has_several_spellings(coding: bytes) -> None:
    """As HTTP has it."""
    assert decoded(decoder_for(coding), [gzip.compress(b"body")]) == b"body"


@pytest.mark.parametrize("coding", [b"br", b"deflate", b"gzip, gzip", b"zstd;q=1"])
def test_other_codings_are_refused(coding: bytes) -> None:
    """The refusal says which there are."""
    with pytest.raises(UnknownEncoding, match="must be gzip or zstd"):
        decoder_for(coding)
