"""What is stored now, sent to all streams of one event type: one tail of the log, one index of their filters.

Each event is decoded once, found for by the index, and rendered once for everybody who selects it. Between two events
the feed is at a position: everything up to it was sent to all streams that had joined. A stream joins in one step, and
is sent what lies behind the place that it had reached by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.eventlog.base import EpochChanged
from aviso_core.matching.index import Index
from aviso_stream_gateway.frames import live
from aviso_stream_gateway.outlet import Piece
from aviso_stream_gateway.showing import Showing, tell_unrendered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aviso_core.eventlog.base import Batch, Bounds
    from aviso_core.matching.filter import Filter
    from aviso_core.matching.index import Entry as IndexEntry
    from aviso_core.schema.event_type import EventType
    from aviso_stream_gateway.session import Cause
    from aviso_stream_gateway.showing import Item
    from aviso_stream_gateway.stream import Stream


class Feed:
    """The streams of one event type, and how far they have been served."""

    def __init__(
        self,
        name: str,
        base: str,
        event_type: EventType | None,
        *,
        base_url: str,
        epoch: str,
        position: int,
    ) -> None:
        self.name = name
        self.base = base
        self.event_type = event_type
        self.showing = Showing(name, event_type, base_url=base_url)
        self._base_url = base_url
        self.epoch = epoch
        self.position = position
        # Why it serves nobody any more; None while it does.
        self.over: Cause | None = None
        # How many streams are on their way to it.
        self.expected = 0
        self._index: Index[Stream] = Index(None if event_type is None else event_type.schema)
        self._filters: dict[Stream, Filter] = {}

    def __len__(self) -> int:
        """Return how many streams there are."""
        return len(self._filters)

    @property
    def is_idle(self) -> bool:
        """Whether nobody is served, and nobody is on the way."""
        return not self._filters and not self.expected

    def check_epoch(self, bounds: Bounds) -> None:
        """Refuse what was set up in another life of the log: positions do not compare, and this one is about to end."""
        if bounds.epoch != self.epoch:
            raise EpochChanged("The event type's stream was made anew a moment ago")

    def join(self, stream: Stream, filter: Filter) -> bool:
        """Serve a stream from here on, if it has reached as far as the feed; False where it must read on first."""
        if stream.session.position < self.position:
            return False
        stream.session.join()
        stream.joined()
        # Of equal filters one is kept.
        self._filters[stream] = self._index.add(filter, stream).filter
        return True

    def revise(self, event_type: EventType | None) -> None:
        """Go on with what the event type is by now: its filters mean what they meant, and events may say more."""
        if event_type is None or self.event_type is None or event_type.schema == self.event_type.schema:
            return
        self.event_type = event_type
        self.showing = Showing(self.name, event_type, base_url=self._base_url)
        self._index = Index(event_type.schema)
        self._filters = {
            stream: self._index.add(wanted, stream).filter for stream, wanted in self._filters.items()
        }

    def leave(self, stream: Stream) -> None:
        """Serve a stream no longer."""
        joined_with = self._filters.pop(stream, None)
        if joined_with is not None:
            self._index.remove(joined_with, stream)

    def dispatch(self, batch: Batch) -> None:
        """Send what was stored to all who select it."""
        for entry in batch.entries:
            item = self.showing.read(entry)
            if item is not None:
                found = self._index.selecting(item.event)
                if found:
                    self._deliver(item, found)
            self.position = entry.sequence
        self.position = max(self.position, batch.through)

    def _deliver(self, item: Item, found: Iterable[IndexEntry[Stream]]) -> None:
        cloud_event = item.cloud_event(show_actor=False)
        if cloud_event is None:
            tell_unrendered(item)
            for stream in _streams_of(found):
                stream.deliver_failure(item)
            return
        sequence, piece = item.sequence, Piece(live(cloud_event))
        with_actor: Piece | None = None
        sent = 0
        for stream in _streams_of(found):
            if stream.shows_actor:
                if with_actor is None:
                    with_actor = _with_actor(item) or piece
                sent += stream.deliver(sequence, with_actor)
            else:
                sent += stream.deliver(sequence, piece)
        if sent:
            # All streams of a feed count into the same series.
            stream.series.sent.add(sent)

    def end(self, cause: Cause) -> None:
        """End all streams."""
        self.over = cause
        for stream in list(self._filters):
            stream.close(cause)


def _streams_of(found: Iterable[IndexEntry[Stream]]) -> list[Stream]:
    """Return the streams at this moment: sending to one may end it, and it then leaves."""
    return [stream for entry in found for stream in entry.subscribers]


def _with_actor(item: Item) -> Piece | None:
    cloud_event = item.cloud_event(show_actor=True) if item.event.actor else None
    return None if cloud_event is None else Piece(live(cloud_event))
