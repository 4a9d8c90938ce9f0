"""Texts and lists are held to the patterns and lengths of their types, all at once."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
from msgspec import Meta

from aviso_core.plain.bounds import bound_faults
from aviso_core.plain.decode import decode
from aviso_core.plain.scalar import exact

Name = Annotated[str, Meta(pattern="^[a-z]+$", max_length=4, description="name: up to four letters")]


class Inner(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    short_text: Annotated[str, Meta(max_length=3)] = ""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    name: Name = "a"
    size: int | Name | None = None
    some: (
        Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1, max_length=2)] | None
    ) = None
    inner: tuple[Inner, ...] = ()
    flag: bool = False


@pytest.mark.parametrize(
    ("sample", "told"),
    [
        (Sample(), []),
        (Sample(name="abcd", size=12345, some=("x", "y"), inner=(Inner(short_text="abc"),)), []),
        (Sample(name="abcde"), ["name: 'abcde' is no name: up to four letters (write one)"]),
        (Sample(name="a\n"), ["name: 'a\\n' is no name: up to four letters (write one)"]),
        (Sample(name="é"), ["name: 'é' is no name: up to four letters (write one)"]),
        (Sample(size="A"), ["size: 'A' is no name: up to four letters (write one)"]),
        (Sample(some=()), ["some: must not be empty (fill it, or leave it out)"]),
        (
            Sample(some=("", "x", "y")),
            [
                "some: must have 1 to 2 entries, has 3 (shorten it)",
                "some[0]: must not be empty (fill it, or leave it out)",
            ],
        ),
        (
            Sample(name="B", inner=(Inner(), Inner(short_text="abcd"))),
            [
                "name: 'B' is no name: up to four letters (write one)",
                "inner[1].shortText: must have 0 to 3 characters, has 4 (shorten it)",
            ],
        ),
    ],
)
def test_what_is_out_of_bounds_is_told_with_its_place(sample: Sample, told: list[str]) -> None:
    assert [str(fault) for fault in bound_faults(sample)] == told


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"flag": "true"}, "flag: 'true' is neither true nor false (write true or false, without quotes)"),
        ({"flag": 1}, "flag: 1 is neither true nor false (write true or false, without quotes)"),
        ({"name": 5}, "name: a number is not text (put the value in quotes)"),
        ({"name": True}, "name: a truth value is not text (put the value in quotes)"),
        ({"size": 1.5}, "size: a number is not text (put the value in quotes)"),
        ({"size": False}, "size: a truth value is not text (put the value in quotes)"),
    ],
)
def test_exact_types_are_not_coerced(raw: dict[str, object], told: str) -> None:
    """What everybody else who reads the document sees as text is no number here either."""
    value, faults = decode(Sample, raw, scalar=exact)
    assert value is None
    assert [str(fault) for fault in faults] == [told]


def test_exact_types_are_taken() -> None:
    value, faults = decode(Sample, {"flag": True, "name": "5", "size": 7, "some": ["x"]}, scalar=exact)
    assert (value, faults) == (Sample(flag=True, name="5", size=7, some=("x",)), [])
