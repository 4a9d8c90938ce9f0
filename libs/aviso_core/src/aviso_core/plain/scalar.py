"""One configured value against one scalar type: what is taken for what, and what is said when it does not fit.

Environment variables are always text, and files often quote a number, so text is read as the type that is wanted.
The other way round a whole number is taken for text, because nothing is lost; a fraction or a truth value is not,
because its spelling is: `1.10` would become "1.1" in silence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import inspect

from aviso_core.plain.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable

_TRUE: Final = frozenset({"1", "true", "on", "yes"})
_FALSE: Final = frozenset({"0", "false", "off", "no"})
_DIGITS: Final = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,300}(?:\.[0-9]{1,300})?", re.ASCII)
_SHOWN_CHARACTERS: Final = 60


class Mismatch(NamedTuple):
    """A value is not of the wanted type: what was found instead, and what to write."""

    message: str
    remedy: str


def exact(wanted: inspect.Type, raw: object) -> object:
    """Return the value if it is of the wanted type already, or the mismatch: text is no number and no truth value.

    It is what is read where others read the same document by its types alone.
    """
    match wanted, raw:
        case inspect.UnionType(types=members), _:
            found = [exact(member, raw) for member in members]
            return next((value for value in found if not isinstance(value, Mismatch)), found[-1])
        case inspect.Metadata(type=inner), _:
            return exact(inner, raw)
        case (inspect.BoolType(), str() | int()) if not isinstance(raw, bool):
            return Mismatch(f"{shown(raw)} is neither true nor false", "write true or false, without quotes")
        case (inspect.IntType(), str()):
            return Mismatch(f"{shown(raw)} is not a whole number", "write digits only, without quotes")
        case (inspect.StrType(), int()):
            return Mismatch(f"{noun(raw)} is not text", "put the value in quotes")
        case (inspect.LiteralType(values=values), _) if type(raw) not in map(type, values):
            return Mismatch(f"{shown(raw)} is not one of the choices", f"write {_listed(values)}")
    return coerce(wanted, raw)


def coerce(wanted: inspect.Type, raw: object) -> object:
    """Return the value as the wanted type, or the mismatch."""
    match wanted:
        case inspect.BoolType():
            return _boolean(raw)
        case inspect.IntType():
            return _integer(wanted, raw)
        case inspect.FloatType():
            return _number(raw)
        case inspect.StrType():
            return _text(raw)
        case inspect.LiteralType():
            return _choice(wanted.values, raw)
        case inspect.CustomType(cls=cls) if cls is Secret:
            text = _text(raw)
            return Secret(text) if isinstance(text, str) else text
    raise AssertionError(f"no setting is of the type {wanted}")


def noun(raw: object) -> str:
    """Say what kind of value this is without showing it."""
    match raw:
        case None:
            return "nothing"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
    return "a mapping"


def shown(raw: object) -> str:
    """Show a value in a message: on one line, not too long, and a collection only by its kind."""
    match raw:
        case bool():
            return str(raw).lower()
        case int() | float():
            return str(raw)
        case str():
            return repr(raw if len(raw) <= _SHOWN_CHARACTERS else raw[:_SHOWN_CHARACTERS] + "…")
    return noun(raw)


def _boolean(raw: object) -> bool | Mismatch:
    word = shown(raw) if isinstance(raw, (bool, int)) else raw
    if isinstance(word, str):
        if word.lower() in _TRUE:
            return True
        if word.lower() in _FALSE:
            return False
    return Mismatch(f"{shown(raw)} is neither true nor false", "write true or false")


def _integer(wanted: inspect.IntType, raw: object) -> int | Mismatch:
    number = _whole_number(raw)
    if number is None:
        return Mismatch(f"{shown(raw)} is not a whole number", "write digits only")
    if wanted.ge is not None and number < wanted.ge:
        return Mismatch(f"{shown(raw)} is too small", f"write a number from {wanted.ge} on")
    if wanted.le is not None and number > wanted.le:
        return Mismatch(f"{shown(raw)} is too large", f"write a number up to {wanted.le}")
    return number


def _whole_number(raw: object) -> int | None:
    match raw:
        case bool():
            return None
        case int():
            return raw
        case float() if raw.is_integer():
            return int(raw)
        case str() if _DIGITS.fullmatch(raw):
            return int(raw)
    return None


def _number(raw: object) -> float | Mismatch:
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return float(raw)
    if isinstance(raw, str) and _DECIMAL.fullmatch(raw):
        return float(raw)
    return Mismatch(f"{shown(raw)} is not a number", "write digits, such as 0.5")


def _text(raw: object) -> str | Mismatch:
    # Only the kind of a wrong value is named: it may be half of a secret.
    match raw:
        case str():
            return raw
        case bool() | float():
            return Mismatch(f"{noun(raw)} is not text", "put the value in quotes")
        case int():
            return str(raw)
    return Mismatch(f"{noun(raw)} is not text", "write one value")


def _choice(allowed: Iterable[object], raw: object) -> object:
    for value in allowed:
        if shown(raw) == shown(value) or raw == str(value):
            return value
    return Mismatch(f"{shown(raw)} is not one of the choices", f"write {_listed(allowed)}")


def _listed(allowed: Iterable[object]) -> str:
    return " or ".join(map(str, allowed))
