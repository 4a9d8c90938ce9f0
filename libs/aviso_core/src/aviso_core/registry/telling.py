"""Calling back about a change, whatever becomes of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)


def tell(on_change: Callable[[T], None], what: T) -> None:
    """Call back. A bug in there that one schema brings out would otherwise end every process that follows."""
    try:
        on_change(what)
    except Exception:  # noqa: BLE001 (the caller's own code: logged, and the following goes on)
        _log.exception("telling of a change in the registry failed")
