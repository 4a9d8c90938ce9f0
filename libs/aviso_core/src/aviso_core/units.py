"""Durations and sizes as people write them in configurations and manifests.

Both worlds have their own spelling. A duration is a whole number and one of `s m h d w`; configuration files of
the reference server take the letter in any case, manifests only in lower case. A size of a configuration file ends
in `K Ki M Mi G Gi T Ti`, one of a manifest is a Kubernetes quantity (`k`, not `K`). What the letters mean is the same.
"""

from __future__ import annotations

import re
from typing import Final

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_BYTES: Final = {
    "": 1,
    "k": 1000,
    "K": 1000,
    "Ki": 1024,
    "M": 1000**2,
    "Mi": 1024**2,
    "G": 1000**3,
    "Gi": 1024**3,
    "T": 1000**4,
    "Ti": 1024**4,
}
_DURATION: Final = re.compile(r"([0-9]{1,19})([smhdwSMHDW])", re.ASCII)
_SIZE: Final = re.compile(r"([0-9]{1,19})([A-Za-z]*)", re.ASCII)

# The broker counts nanoseconds in 63 bits: a longer duration has no meaning for it.
LONGEST_SECONDS: Final = 9_223_372_036


class UnitError(ValueError):
    """The text is no duration or size; the message says what would be one."""


def parse_duration(text: str) -> int:
    """Return the seconds of `90s`, `15m`, `6h`, `7d`, `2w`; the letter's case is free."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise UnitError(
            f"'{text}' is not a duration: write a whole number and one of s, m, h, d, w, such as 7d"
        )
    seconds = int(match[1]) * _SECONDS[match[2].lower()]
    if seconds > LONGEST_SECONDS:
        raise UnitError(f"'{text}' is too long: at most {LONGEST_SECONDS}s")
    return seconds


def parse_size(text: str, *, suffixes: tuple[str, ...]) -> int:
    """Return the bytes of `512`, `64Ki`, `10G` …, taking only the named suffixes besides none."""
    match = _SIZE.fullmatch(text)
    if match is None or (match[2] and match[2] not in suffixes):
        known = ", ".join(suffixes)
        raise UnitError(
            f"'{_short(text)}' is not a size: write a whole number and one of {known}, such as 64Mi"
        )
    size = int(match[1]) * _BYTES[match[2]]
    if size >= 2**63:
        raise UnitError(f"'{text}' is too large: less than 2^63 bytes")
    return size


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


CONFIGURATION_SUFFIXES: Final = ("K", "Ki", "M", "Mi", "G", "Gi", "T", "Ti")
QUANTITY_SUFFIXES: Final = ("k", "Ki", "M", "Mi", "G", "Gi", "T", "Ti")
