"""What a form of replay for machines has to know: how rows are written, and how it is said that they are all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_stream_gateway.showing import Item


class Ending(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is said behind the last row. Without it the answer was cut off.

    `last` is the sequence up to which the answer holds everything that was asked for; who goes on does so behind it.
    It is complete unless there is more than one request may have, which is then told as `max_allowed`. `failed` is how
    many events there are in between that cannot be shown, and are left out.
    """

    complete: bool
    last: int
    count: int
    failed: int = 0
    max_allowed: int | None = None


class Writer(Protocol):
    """One answer being written."""

    def rows(self, items: Sequence[Item]) -> bytes:
        """Return events as they are sent; none of them has failed."""
        ...

    def end(self, ending: Ending) -> bytes:
        """Return what stands behind all rows."""
        ...
