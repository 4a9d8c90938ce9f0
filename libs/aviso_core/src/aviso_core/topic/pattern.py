"""The subjects that a request may select: for people to read, and for the log to narrow its reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.topic.codec import encode_token

if TYPE_CHECKING:
    from collections.abc import Sequence


def display_pattern(base: str, values: Sequence[str | None]) -> str:
    """Return the decoded topic of a request, with `*` where it leaves a value open."""
    return ".".join([base, *("*" if value is None else value for value in values)])


def coarse_pattern(base: str, values: Sequence[str | None]) -> str:
    """Return one broker pattern that covers every subject that the request may select, and perhaps more.

    It only saves reading: what matches is decided elsewhere. The last token is never part of it, so that requests
    which differ in it alone read the same range.
    """
    fixed = []
    for value in values:
        if not value:  # open, or empty: no event has an empty value, and a pattern cannot hold an empty token
            break
        fixed.append(encode_token(value))
    if len(fixed) == len(values):
        fixed = fixed[:-1]
    return ".".join([base, *fixed, ">"])


def prefix_of(pattern: str) -> str:
    """Return what a subject must begin with to be covered by a pattern that `coarse_pattern` made."""
    assert pattern.endswith(".>"), "only patterns of this module are taken"
    return pattern[:-1]
