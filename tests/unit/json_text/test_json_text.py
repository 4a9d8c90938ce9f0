"""What `json_text` does beyond reading bodies: numbers as text, and payloads without white space."""

from __future__ import annotations

import math
from typing import Final

import pytest

from aviso_core.json_text import (
    LongInteger,
    NotJson,
    compact,
    decode,
    float_text,
    is_strict,
    plain_number,
    scalar_text,
)

NUMBERS: Final = [
    # double, as a JSON scalar's text (section 3.1), as a Float's canonical text (section 3.3)
    (0.0, "0.0", "0"),
    (-0.0, "-0.0", "-0"),
    (1.0, "1.0", "1"),
    (4.5, "4.5", "4.5"),
    (100.0, "100.0", "100"),
    (0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"),
    (0.0001, "0.0001", "0.0001"),
    (0.00001, "0.00001", "0.00001"),
    (0.000012345, "0.000012345", "0.000012345"),
    (0.00000999, "9.99e-6", "0.00000999"),
    (1e-7, "1e-7", "0.0000001"),
    (-1.25e-7, "-1.25e-7", "-0.000000125"),
    (1e15, "1000000000000000.0", "1000000000000000"),
    (9007199254740993.0, "9007199254740992.0", "9007199254740992"),
    (1e16, "1e+16", "10000000000000000"),
    (-1e16, "-1e+16", "-10000000000000000"),
    (1.5e300, "1.5e+300", "15" + "0" * 299),
    (1e22, "1e+22", "10000000000000000000000"),
    (5e-324, "5e-324", "0." + "0" * 323 + "5"),
    (1.7976931348623157e308, "1.7976931348623157e+308", "17976931348623157" + "0" * 292),
]


@pytest.mark.parametrize(("number", "scalar", "plain"), NUMBERS, ids=repr)
def test_a_double_has_two_texts(number: float, scalar: str, plain: str) -> None:
    assert float_text(number) == scalar_text(number) == scalar
    assert plain_number(number) == plain
    assert float(scalar) == float(plain) == number


def test_numbers_outside_the_line_have_a_name_for_messages() -> None:
    assert [plain_number(value) for value in (math.nan, math.inf, -math.inf)] == ["NaN", "inf", "-inf"]


@pytest.mark.parametrize("value", [None, [], {}, ["a"], {"a": 1}], ids=repr)
def test_only_scalars_have_a_text(value: object) -> None:
    assert scalar_text(value) is None


@pytest.mark.parametrize("digits", [1, 4299, 4300, 4301, 20_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_keep_their_digits(sign: str, digits: int) -> None:
    """Python converts 4300 digits at most; longer ones are kept as their own text and never taken for a string."""
    text = sign + "7" * digits
    value = decode(f"[{text}]".encode())
    assert isinstance(value, list)
    assert scalar_text(value[0]) == text
    assert isinstance(value[0], int | LongInteger)
    assert type(scalar_text(value[0])) is str


@pytest.mark.parametrize(
    ("data", "strict"),
    [
        (b"1e99", True),
        (b"1e308", True),
        (b"1e309", False),
        (b"[-1E+400]", False),
        (b"1e-400", True),
        (b'"1e400"', True),
        (b"9" * 400, True),
        (b"9" * 400 + b".5", False),
        (b"9" * 210 + b"e99", False),
        (b"9" * 209 + b"e99", True),
        (b"0." + b"9" * 400 + b"e99", True),
        (b'"\\ud800"', False),
        (b'{"\\udfff":1}', False),
        (b'"\\ud83d\\ude00"', True),
        (b'"\\\\ud800"', True),
    ],
    ids=lambda part: repr(part)[:40],
)
def test_what_was_skipped_over_is_judged_as_if_it_was_read(data: bytes, strict: bool) -> None:
    assert is_strict(data) is strict
    if strict:
        decode(data)
    else:
        with pytest.raises(NotJson):
            decode(data)


def test_compacting_takes_white_space_between_tokens_only() -> None:
    assert compact(b' { "a b" : [ 1.0 , "x \\n y" , { } , [ ] ] } ') == b'{"a b":[1.0,"x \\n y",{},[]]}'
