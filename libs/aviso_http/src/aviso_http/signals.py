"""Being told to stop: SIGTERM and SIGINT as an event, for as long as a block runs.

The first one asks, and everything ends in good order. Whoever sends a second one is in a hurry: the process then ends
as it would without us.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

from aviso_core.alongside import alongside

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

_ASKING: Final = (signal.SIGTERM, signal.SIGINT)
_AGAIN_SECONDS: Final = 0.1


@contextmanager
def told_to_stop() -> Iterator[asyncio.Event]:
    """Give an event that is set by the first signal."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _ASKING}

    def ask() -> None:
        stop.set()
        for number in _ASKING:
            loop.remove_signal_handler(number)
            # Python's own way with Ctrl-C is an exception in the middle of whatever is done to end in good order.
            signal.signal(number, signal.SIG_DFL)

    for number in _ASKING:
        loop.add_signal_handler(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


class ToldToStop(Exception):
    """What was under way was given up, because the process is to end."""


@asynccontextmanager
async def given_up_on(stop: asyncio.Event) -> AsyncIterator[None]:
    """Run the block, and end it with `ToldToStop` as soon as the event is set."""
    block = asyncio.current_task()
    assert block is not None
    giving_up = _GivingUp(block)
    try:
        async with alongside(giving_up.when(stop)):
            yield
    except asyncio.CancelledError:
        if not giving_up.take_back():
            raise
        raise ToldToStop from None
    if giving_up.take_back():
        raise ToldToStop


class _GivingUp:
    """Cancels a task, and can take that back once it was heard."""

    def __init__(self, block: asyncio.Task[object]) -> None:
        self._block = block
        self._times = 0

    async def when(self, stop: asyncio.Event) -> None:
        await stop.wait()
        while True:
            self._times += 1
            self._block.cancel()
            # `asyncio.wait_for` of Python 3.11 forgets it where what it waits for has just come.
            await asyncio.sleep(_AGAIN_SECONDS)

    def take_back(self) -> bool:
        for _ in range(self._times):
            self._block.uncancel()
        return self._times > 0 and not self._block.cancelling()
