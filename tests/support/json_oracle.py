"""The contract's rules about JSON said a second time, slowly, with the standard library's parser."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


class Refused(Exception):
    """The bytes are not one JSON value in the contract's sense."""


def strict_value(data: bytes) -> Any:
    """Return the value of JSON bytes, or refuse what contract section 2.3 refuses."""
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_int=_integer, parse_constant=_refuse)
        # Pairs instead of objects: a later member of the same name would hide what an earlier one holds.
        everything = json.loads(text, parse_float=_finite, parse_int=_integer, object_pairs_hook=list)
        json.dumps(everything, ensure_ascii=False).encode("utf-8")  # half a surrogate pair has no encoding
    except (ValueError, RecursionError) as error:
        raise Refused from error
    if _deepest(text) > 127:
        raise Refused
    return value


def _refuse(name: str) -> NoReturn:
    raise Refused(name)


def _finite(text: str) -> float:
    if math.isinf(float(text)):
        raise Refused(text)
    return float(text)


def _integer(text: str) -> int | str:
    # Python converts no more digits than these.
    return int(text) if len(text.lstrip("-")) <= 4300 else text


def _deepest(text: str) -> int:
    depth = deepest = 0
    inside_string = escaped = False
    for character in text:
        if inside_string:
            inside_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            inside_string = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest
