"""Waiting in a thread that nobody waits for when the process ends.

The threads of a pool are joined at the end, until the last of them has its answer: that may take as long as whoever
told the process to stop gives it.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


async def in_thread(ask: Callable[[], T]) -> T:
    """Return what is waited for in a thread of its own; whoever is cancelled leaves that to itself."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(set_it: Callable[[], None]) -> None:
        if not answer.done():
            set_it()

    def tell(set_it: Callable[[], None]) -> None:
        # Where the loop has ended nobody waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, set_it)

    def wait() -> None:
        try:
            received = ask()
        except Exception as error:  # noqa: BLE001 (raised where it is waited for)
            raised = error
            tell(lambda: answer.set_exception(raised))
        else:
            tell(lambda: answer.set_result(received))

    threading.Thread(target=wait, name="waiting", daemon=True).start()
    return await answer
