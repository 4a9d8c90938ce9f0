"""One timer for all streams: a wheel with a slot for every quarter of a second.

A stream stands in one slot, the one in which time next matters to it. Moving it costs the same however many there are,
and nothing runs for a stream in between.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from aviso_stream_gateway.moment import Moment, Timekeeper

TICK_SECONDS: Final = 0.25


class Timed(Protocol):
    """What can stand in the wheel. `slot` is the wheel's own."""

    slot: int | None

    def tick(self, now: Moment) -> None:
        """Do what is due."""
        ...


class Wheel:
    """The wheel. `turn_for_ever` is its motor."""

    def __init__(self, timekeeper: Timekeeper) -> None:
        self._timekeeper = timekeeper
        # In the order in which they came: what happens in one slot happens in the same order every time.
        self._slots: dict[int, dict[Timed, None]] = {}
        # The last slot that was come by.
        self._turned = _slots_come(timekeeper.now().seconds)

    def place(self, timed: Timed, due: float | None) -> None:
        """Have something told when a time has come, instead of what it waited for before."""
        # The first slot in which the time has come.
        slot = None if due is None else max(_slots_come(due), self._turned) + 1
        if slot == timed.slot:
            return
        self.remove(timed)
        if slot is not None:
            self._slots.setdefault(slot, {})[timed] = None
        timed.slot = slot

    def remove(self, timed: Timed) -> None:
        """Have it told nothing any more."""
        if timed.slot is None:
            return
        others = self._slots[timed.slot]
        others.pop(timed, None)
        if not others:
            del self._slots[timed.slot]
        timed.slot = None

    def turn(self) -> None:
        """Tell everybody whose time has come."""
        now = self._timekeeper.now()
        current = _slots_come(now.seconds)
        for slot in range(self._turned + 1, current + 1) if self._slots else ():
            # Nobody is placed here any more: it is not come by again.
            self._turned = slot
            come = self._slots.pop(slot, ())
            for timed in come:
                timed.slot = None
            for timed in come:
                # Where somebody else ended it meanwhile, it has nothing to do and says so itself.
                timed.tick(now)
        self._turned = current

    async def turn_for_ever(self) -> None:
        """Turn as time goes."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.turn()


def _slots_come(seconds: float) -> int:
    """Return the last slot that has come by then."""
    return int(seconds / TICK_SECONDS)
