"""Publishing: many records in flight, their acknowledgements matched to whoever waits.

All acknowledgements come to one inbox, under the number of a lane and a token of the record. What is in flight is
bounded in bytes: whoever has more waits. A record without an id is given one, so that sending it again is always
safe.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from aviso_core.eventlog.base import AppendFailed
from aviso_core.eventlog.jetstream.chores import chores
from aviso_core.eventlog.jetstream.frames import EXPECTED_LAST, MESSAGE_ID, check_fits, header_block
from aviso_core.eventlog.jetstream.lane import Confirm, Lane

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_core.broker.connection import Connection, Delivered
    from aviso_core.eventlog.base import Appended, Record

_MOST_BYTES_IN_FLIGHT: Final = 32 * 1024 * 1024
# Whoever may name any event type may name very many: beyond this, lanes that have nothing to do are let go.
_MOST_LANES: Final = 1000
# How often the oldest record of each lane is looked at.
_LOOK_SECONDS: Final = 0.25


class Publisher:
    """Sends records over one connection. Made by `open_publisher`."""

    def __init__(
        self,
        connection: Connection,
        confirm: Confirm,
        tasks: asyncio.TaskGroup,
        *,
        deadline_seconds: float,
        most_lanes: int,
    ) -> None:
        self.inbox = connection.client.new_inbox()
        self._connection = connection
        self._confirm = confirm
        self._tasks = tasks
        self._deadline_seconds = deadline_seconds
        self._most_lanes = most_lanes
        self._is_over = False
        self._lanes: dict[str, Lane] = {}
        self._by_number: dict[bytes, Lane] = {}
        self._mending: dict[Lane, asyncio.Task[None]] = {}
        self._opened = 0
        self._bytes = 0
        self._waiting_for_room: deque[asyncio.Future[None]] = deque()

    async def publish(
        self, base: str, record: Record, message_id: str, size: int
    ) -> asyncio.Future[Appended]:
        """Send a record and return where its acknowledgement will arrive; waits only while too much is in flight."""
        self._check_not_over()
        headers = {**record.headers, MESSAGE_ID: message_id}
        if record.expected_last_sequence is not None:
            headers[EXPECTED_LAST] = str(record.expected_last_sequence)
        block = header_block(headers)
        check_fits(record, block, self._connection.client.max_payload)
        if self._bytes and self._bytes + size > _MOST_BYTES_IN_FLIGHT:
            await self._wait_for_room(size)
            self._check_not_over()
        self._bytes += size
        lane = self._lanes.get(base.lower()) or self._open_lane(base)
        return lane.publish(record, message_id, block, size)

    def _check_not_over(self) -> None:
        """Refuse what nobody would look after any more: it would never be answered."""
        if self._is_over or self._connection.is_over:
            raise self._connection.unavailable("the connection is closed")

    def has_lane(self, base: str) -> bool:
        """Tell whether somebody looks after the stream of a base."""
        return base.lower() in self._lanes

    def _open_lane(self, base: str) -> Lane:
        if len(self._lanes) >= self._most_lanes:
            self._let_idle_lanes_go()
        # A number is not given twice: an answer may come late.
        number = b"%x" % self._opened
        self._opened += 1
        lane = Lane(
            base,
            connection=self._connection,
            inbox=b"%s.%s" % (self.inbox.encode(), number),
            confirm=self._confirm,
            leave=self._leave,
            deadline_seconds=self._deadline_seconds,
        )
        self._lanes[base.lower()] = self._by_number[number] = lane
        self._mending[lane] = self._tasks.create_task(lane.mend_for_ever())
        return lane

    def _let_idle_lanes_go(self) -> None:
        busy = {lane for lane in self._mending if not lane.is_idle}
        for lane in self._mending.keys() - busy:
            self._mending.pop(lane).cancel()
        self._lanes = {base: lane for base, lane in self._lanes.items() if lane in busy}
        self._by_number = {number: lane for number, lane in self._by_number.items() if lane in busy}

    # --- room --------------------------------------------------------------------------------------------

    async def _wait_for_room(self, size: int) -> None:
        try:
            async with asyncio.timeout(self._deadline_seconds):
                while self._bytes and self._bytes + size > _MOST_BYTES_IN_FLIGHT:
                    room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiting_for_room.append(room)
                    await room
        except TimeoutError as error:
            reason = self._connection.unavailable("too much waits for an acknowledgement")
            raise AppendFailed(str(reason), may_retry=True) from error

    def _leave(self, size: int) -> None:
        """Take a record out of flight. All who wait try again once half of the room is free: they come in order."""
        self._bytes -= size
        if self._waiting_for_room and self._bytes <= _MOST_BYTES_IN_FLIGHT // 2:
            waiting, self._waiting_for_room = self._waiting_for_room, deque()
            for room in waiting:
                if not room.done():
                    room.set_result(None)

    # --- what happens ------------------------------------------------------------------------------------

    def on_answer(self, message: Delivered) -> None:
        """Hand an acknowledgement to its lane."""
        _, number, token = message.subject.rsplit(b".", 2)
        lane = self._by_number.get(number)
        if lane is not None:
            lane.on_answer(token, message)

    def on_lost(self) -> None:
        """Tell all lanes; if it is not to come back, give up what is in flight."""
        for lane in self._lanes.values():
            lane.on_lost()
        if self._connection.is_over:
            self.abandon()

    def on_back(self) -> None:
        """Tell all lanes."""
        for lane in self._lanes.values():
            lane.on_back()

    async def give_up_overdue_for_ever(self) -> None:
        """Let no record be in flight for longer than it may."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for lane in self._lanes.values():
                lane.give_up_overdue()

    def abandon(self) -> None:
        """Fail everything in flight and take nothing more: the log is being closed, or the connection is given up."""
        self._is_over = True
        reason = self._connection.unavailable("closed before the record was acknowledged")
        for lane in self._lanes.values():
            lane.fail_all(lambda: AppendFailed(str(reason), may_retry=True))


@asynccontextmanager
async def open_publisher(
    connection: Connection, confirm: Confirm, *, deadline_seconds: float, most_lanes: int = _MOST_LANES
) -> AsyncIterator[Publisher]:
    """Listen for acknowledgements as long as the block runs."""
    async with chores() as tasks:
        publisher = Publisher(
            connection, confirm, tasks, deadline_seconds=deadline_seconds, most_lanes=most_lanes
        )
        answers = await connection.listen(f"{publisher.inbox}.*.*", publisher.on_answer)
        connection.on_lost.append(publisher.on_lost)
        connection.on_back.append(publisher.on_back)
        tasks.create_task(publisher.give_up_overdue_for_ever())
        try:
            yield publisher
        finally:
            publisher.abandon()
            connection.on_lost.remove(publisher.on_lost)
            connection.on_back.remove(publisher.on_back)
            answers.stop()
