"""The event that is to be explained: read from the log, or made of what the request says of it."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from aviso_core.errors import AvisoError
from aviso_core.eventlog.base import Entry
from aviso_core.eventlog.entry import write_record
from aviso_core.schema.undeclared import announce_undeclared

if TYPE_CHECKING:
    from aviso_core.eventlog.base import EventLog
    from aviso_stream_gateway.bounds import FreshBounds
    from aviso_stream_gateway.explaining.request import Described
    from aviso_stream_gateway.showing import Item, Showing


class NotHeld(AvisoError):
    """The log does not hold the event."""

    code = "EVENT_NOT_FOUND"

    def __init__(self, sequence: int, *, first: int, last: int) -> None:
        holds = (
            f"it holds nothing, and the next is {first}" if first > last else f"it holds {first} to {last}"
        )
        self.message = f"The log has no such event under sequence {sequence}; {holds}"
        super().__init__(self.message)


async def find_event(log: EventLog, fresh: FreshBounds, showing: Showing, base: str, sequence: int) -> Item:
    """Return an event of the log, or raise `NotHeld`."""
    bounds = await fresh.of(base)
    if bounds.first <= sequence <= bounds.last:
        async with aclosing(log.read(base, first=sequence, last=sequence, epoch=bounds.epoch)) as batches:
            async for batch in batches:
                for item in map(showing.read, batch.entries):
                    if item is not None:
                        return item
    raise NotHeld(sequence, first=bounds.first, last=bounds.last)


def described_event(showing: Showing, described: Described) -> Item:
    """Return an event that was never stored, checked as a notification is, and read as what was stored is."""
    event_type = showing.event_type
    if event_type is None:
        announced = announce_undeclared(showing.name, described.identifier)
    else:
        announced = event_type.announce(described.identifier)
    record = write_record(event_type, announced, b"null")
    entry = Entry(
        sequence=0, instant=0, subject=record.subject, payload=record.payload, headers=record.headers
    )
    item = showing.read(entry)
    assert item is not None, "it was written as one of this event type"
    return item
