"""JSON as the contract reads it: one strict value, and the text of a scalar.

The contract is stricter than most parsers in one place (nesting, half surrogate pairs, numbers beyond a double) and
more generous in another (integers of any size). msgspec does the work; what it leaves open is settled here, on a
path that ordinary bodies never take.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Final, NoReturn

import msgspec

# Deeper bodies are refused before anything recurses over them.
DEEPEST_NESTING: Final = 127

_ARRAY: Final = ord("[")
_decode: Final = msgspec.json.Decoder().decode
# A string without its end reaches to the end of the text: looking for another way to read it would take time that
# grows with the square of the length.
_STRING_OR_BRACKET: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


class NotJson(ValueError):
    """The bytes are not one JSON value; the message says why."""


def decode(data: bytes) -> object:
    """Return the value of strict JSON text."""
    check_nesting(data)
    try:
        return _decode(data)
    except msgspec.ValidationError:
        # A number out of range: either an integer with thousands of digits, which is fine, or no double.
        return _decode_slowly(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson(str(error)) from error


def check_nesting(data: bytes) -> None:
    """Refuse what is nested too deeply, counting exactly only where brackets are many enough to matter."""
    # Most of what is announced has no bracket but its first, and looking for one is a tenth of counting them.
    if _ARRAY not in data and data.find(b"{", 1) < 0:
        return
    if data.count(b"[") + data.count(b"{") <= DEEPEST_NESTING:
        return
    depth = 0
    for token in _STRING_OR_BRACKET.findall(data):
        if token in b"[{":
            depth += 1
            if depth > DEEPEST_NESTING:
                raise NotJson(f"nested more than {DEEPEST_NESTING} levels deep")
        elif token in b"]}":
            depth -= 1


def _decode_slowly(data: bytes) -> object:
    try:
        text = data.decode()
        value: object = json.loads(
            text,
            object_pairs_hook=_members,
            parse_float=_finite_float,
            parse_int=_any_integer,
            parse_constant=_no_constant,
        )
        # Writing the value out again is what notices half a surrogate pair, wherever it stands.
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError as error:
        raise NotJson(str(error)) from error
    return value


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        # What is replaced is written out here: in the value nobody sees it any more.
        json.dumps(pairs, ensure_ascii=False).encode()
    return members


def _finite_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NotJson(f"number out of range: {text[:40]}")
    return value


class LongInteger(str):
    """The digits of an integer with more of them than Python turns into a number."""

    __slots__ = ()


def holds_long_integer(value: object) -> bool:
    """Tell whether a value that was decoded here has such an integer in it anywhere."""
    match value:
        case LongInteger():
            return True
        case list():
            return any(map(holds_long_integer, value))
        case dict():
            return any(map(holds_long_integer, value.values()))
        case _:
            return False


def _any_integer(text: str) -> int | LongInteger:
    return int(text) if len(text) < 4000 else LongInteger(text)


def _no_constant(text: str) -> NoReturn:
    raise NotJson(f"{text} is not JSON")


def is_strict(data: bytes) -> bool:
    """Tell whether raw JSON, skipped over but not decoded, also keeps the rules that skipping does not check.

    Skipping checks structure. What remains are half surrogate pairs, and numbers that may not fit a double: those
    with an exponent of three digits, or with so many digits that an exponent of two is enough.
    """
    has_digits = len(data) >= _FEWEST_MANY_DIGITS and _MANY_DIGITS.search(data)
    if b"\\u" not in data and not has_digits and not _LARGE_EXPONENT.search(data):
        return True
    try:
        decode(data)
    except NotJson:
        return False
    return True


_LARGE_EXPONENT: Final = re.compile(rb"[eE]\+?[0-9]{3}")
_FEWEST_MANY_DIGITS: Final = 200
_MANY_DIGITS: Final = re.compile(rb"(?<![0-9])[0-9]{200}")


def compact(data: bytes) -> bytes:
    """Return JSON text without the white space between its tokens; numbers and strings keep their spelling."""
    return msgspec.json.format(data, indent=-1)


def scalar_text(value: object) -> str | None:
    """Return the text of a JSON scalar, or None where the value is null, an array or an object."""
    match value:
        case str():
            return str(value)
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return float_text(value)
        case _:
            return None


def float_text(value: float) -> str:
    """Return the shortest text of a double: positional from 1e-5 up to 1e16, else with an unpadded exponent."""
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    if 1e-5 <= abs(value) < 1e16:
        return format(Decimal(text), "f")
    return f"{mantissa}e{exponent[0] if exponent[0] == '+' else '-'}{exponent[1:].lstrip('0')}"


def plain_number(value: float) -> str:
    """Return the shortest digits of a double without an exponent and without a trailing `.0`."""
    text = repr(value)
    if text.endswith(".0"):
        return text[:-2]
    if "e" in text:
        return format(Decimal(text), "f")
    return "NaN" if text == "nan" else text
