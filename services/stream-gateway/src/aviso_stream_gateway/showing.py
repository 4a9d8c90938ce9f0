"""Events as streams show them: each is decoded once, compared as often as there are filters, and rendered once.

What is kept of an event is kept for as long as somebody is still sent it, so an event that a thousand streams select
costs one decoding and one rendering.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aviso_core.envelope import Envelope
from aviso_core.errors import MalformedTopic, RenderingFailed
from aviso_core.eventlog.entry import read_entry, read_undeclared_entry
from aviso_core.matching.candidate import CandidateMaker
from aviso_core.topic.codec import decode_subject
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from aviso_core.event import Event
    from aviso_core.eventlog.base import Entry
    from aviso_core.matching.candidate import Candidate
    from aviso_core.schema.event_type import EventType

log = Log("aviso_stream_gateway.showing")


class Item:
    """An event of the log, ready to be matched and shown."""

    __slots__ = ("_candidate", "_rendered", "_showing", "event", "failure")

    def __init__(self, showing: Showing, event: Event) -> None:
        self.event = event
        # Why it cannot be shown; empty as long as nobody tried, or where it can.
        self.failure = event.unreadable
        self._showing = showing
        self._candidate: Candidate | None = None
        self._rendered: list[bytes | None] = [None, None]

    @property
    def sequence(self) -> int:
        """Its place in the log."""
        return self.event.sequence

    @property
    def candidate(self) -> Candidate:
        """The event as filters look at it."""
        if self._candidate is None:
            self._candidate = self._showing.candidates.of(self.event)
        return self._candidate

    @property
    def topic(self) -> str:
        """Its topic, as people read it."""
        return ".".join(decode_subject(self.event.subject))

    def cloud_event(self, *, show_actor: bool) -> bytes | None:
        """Return the event as it goes out, or None where it cannot; `failure` then says why."""
        # Whoever is not told who wrote an event shares its bytes with everybody where nobody is known to have.
        variant = int(show_actor and bool(self.event.actor))
        rendered = self._rendered[variant]
        if rendered is None and not self.failure:
            try:
                rendered = self._showing.envelope.render(self.event, show_actor=bool(variant))
            except RenderingFailed as error:
                self.failure = str(error)
            self._rendered[variant] = rendered
        return rendered


class Showing:
    """How the events of one event type are read and shown."""

    def __init__(self, name: str, event_type: EventType | None, *, base_url: str) -> None:
        self.envelope = Envelope(event_type=name, base_url=base_url)
        self.candidates = CandidateMaker(None if event_type is None else event_type.schema)
        self.name = name
        self.event_type = event_type

    def read(self, entry: Entry) -> Item | None:
        """Return the event of an entry; None where it is none of this event type, which no filter selects."""
        try:
            if self.event_type is None:
                return Item(self, read_undeclared_entry(self.name, entry))
            return Item(self, read_entry(self.event_type, entry))
        except MalformedTopic:
            return None


def tell_unrendered(item: Item) -> None:
    """Leave a record of an event that cannot be shown to somebody who selects it."""
    log.warning(
        "stream.sse.cloudevent.creation.failed",
        item.failure,
        event_type=item.event.event_type,
        topic=item.topic,
        sequence=item.sequence,
    )
