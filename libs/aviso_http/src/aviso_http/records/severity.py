"""How grave a record is: the configuration's levels, the standard library's numbers, those of OpenTelemetry."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

TRACE: Final = 5
DEBUG: Final = logging.DEBUG
INFO: Final = logging.INFO
WARN: Final = logging.WARNING
ERROR: Final = logging.ERROR


class Severity(NamedTuple):
    """What a record says of its level."""

    text: str
    number: int


_TRACE: Final = Severity("TRACE", 1)
_DEBUG: Final = Severity("DEBUG", 5)
_INFO: Final = Severity("INFO", 9)
_WARN: Final = Severity("WARN", 13)
_ERROR: Final = Severity("ERROR", 17)

_LEVELS: Final = {"trace": TRACE, "debug": DEBUG, "info": INFO, "warn": WARN, "error": ERROR}


def level_number(word: str) -> int:
    """Return the standard library's number of a configured level."""
    return _LEVELS[word]


def severity_of(level: int) -> Severity:
    """Return the severity of a standard library's number, of which there may be any."""
    if level >= ERROR:
        return _ERROR
    if level >= WARN:
        return _WARN
    if level >= INFO:
        return _INFO
    return _DEBUG if level >= DEBUG else _TRACE
