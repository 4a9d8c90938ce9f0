"""History as lines: a CloudEvent on each, and a last one that says that they are all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aviso_stream_gateway.machines.form import Ending
    from aviso_stream_gateway.showing import Item

_encode: Final = msgspec.json.Encoder().encode


class LineWriter:
    """An answer in lines."""

    def __init__(self, *, shows_actor: bool) -> None:
        self._shows_actor = shows_actor

    def rows(self, items: Sequence[Item]) -> bytes:
        """Return a line for each event."""
        lines = [item.cloud_event(show_actor=self._shows_actor) or b"" for item in items]
        assert all(lines), "an event that cannot be shown is no row"
        return b"\n".join([*lines, b""])

    def end(self, ending: Ending) -> bytes:
        """Return the last line."""
        return _encode(ending) + b"\n"
