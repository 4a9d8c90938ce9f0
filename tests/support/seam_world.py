"""A gateway between a log in trouble and readers of all kinds, with notes of all that happened.

Who drives it decides what happens and in which order. Nothing here waits by the clock: the driver lets time pass,
virtual or real, and says when everything has come to rest.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from aviso_core.eventlog.base import Appended
from aviso_core.eventlog.entry import write_record
from aviso_core.fields.integer import IntegerField
from support.event_logs import read_all
from support.gateways import MARS, MARS_EVENTS, REPLAY, WATCH
from support.seam_truth import FILTERS, Happened, Life, Seen, Span, letters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aviso_core.eventlog.base import EventLog
    from aviso_core.registry.memory import MemoryRegistry
    from support.faulty_log import FaultyLog
    from support.gateways import Gateway
    from support.readers import Reader
    from support.sse import Frame

BASE: Final = "mars"
MOST_STREAMS: Final = 12


class Place(NamedTuple):
    """Where the log was at a moment."""

    at: float
    life: int
    last: int
    # Where it may have been already.
    most: int


class Session:
    """One stream that somebody asked for."""

    def __init__(self, number: int, *, is_watch: bool, span: Span, filter: int, begin: Place) -> None:
        self.number = number
        self.is_watch = is_watch
        self.span = span
        self.filter = filter
        self.selects = FILTERS[filter][1]
        # Where the log was when it was asked for, and when its first frame was there.
        self.begin = begin
        self.opened: Place | None = None
        self.frames: list[Frame] = []
        self.heard_at: float | None = None
        self.longest_silence = 0.0
        self.reader: Reader

    @property
    def letters(self) -> str:
        """Its frames, a letter for each."""
        return letters(self.frames)

    @property
    def is_open(self) -> bool:
        """Whether it goes on."""
        return self.reader.status == 200 and not self.reader.is_over

    def seen(self) -> Seen:
        """Return what was shown, everything having come to rest."""
        history = [frame for frame in self.frames if frame.event == "replay"]
        now = [frame for frame in self.frames if frame.event == "live-notification" and "id" in frame.data]
        lives = {frame.data["data"]["payload"]["life"] for frame in (*history, *now)}
        assert len(lives) <= 1, f"events of several lives: {self.letters}"
        is_level = self.is_watch and self.is_open
        return Seen(
            history=[frame.data["sequence"] for frame in history],
            now=[frame.data["sequence"] for frame in now],
            life=next(iter(lives), None),
            is_history_complete=is_level or "C" in self.letters,
            is_level=is_level,
        )


class World:
    """What happens, and what was to come of it."""

    def __init__(
        self,
        log: FaultyLog,
        registry: MemoryRegistry,
        gateway: Gateway,
        *,
        now: Callable[[], float],
        most_history: int,
        is_roomy: bool = True,
        source: EventLog | None = None,
    ) -> None:
        self.log = log
        self.troubles = log.troubles
        self.lives = [Life(0)]
        self.sessions: list[Session] = []
        self.is_draining = False
        self._registry = registry
        self._gateway = gateway
        self._now = now
        self.most_history = most_history
        # Where events are stored and the truth is read, if not in the log behind the troubles.
        self._given_source = source
        # How many events are being stored: the log may have them before it is known which they are.
        self._under_way = 0
        # Whether a burst of events fits into the mailbox of a reader who takes everything.
        self._is_roomy = is_roomy
        self._schema = MARS
        self._revision = 1
        # Those that were opened for what their event type is not any more.
        self.must_end: list[Session] = []

    @property
    def life(self) -> Life:
        """The log's present life."""
        return self.lives[-1]

    @property
    def _source(self) -> EventLog:
        return self._given_source or self.log.behind

    def place(self) -> Place:
        """Return where everything is now."""
        last = self.life.last
        return Place(self._now(), self.life.number, last, last + self._under_way)

    def has_failed_since(self, begin: Place, *, until: float | None = None) -> bool:
        """Tell whether something went wrong for somebody since then."""
        return self.troubles.were_told(begin.at, self._now() if until is None else until)

    # --- the log -----------------------------------------------------------------------------------------

    async def append(self, events: Sequence[tuple[str, int]], *, padding: int = 0) -> None:
        """Store events in one call."""
        payload = json.dumps({"life": self.life.number, "padding": "x" * padding}).encode()
        records = [
            write_record(MARS_EVENTS, MARS_EVENTS.announce({"class": kind, "step": step}), payload)
            for kind, step in events
        ]
        self._under_way = len(events)
        results = await self._source.append_all(BASE, records)
        sequences = [result.sequence for result in results if isinstance(result, Appended)]
        assert len(sequences) == len(events), results
        if not events:
            return
        kept = await read_all(self._source, first=sequences[0], last=sequences[-1])
        instants = {entry.sequence: entry.instant for entry in kept}
        for (kind, step), sequence in zip(events, sequences, strict=True):
            # Where a limit of the log has removed some already, the log took them all at the same instant.
            happened = instants.get(sequence) or kept[-1].instant
            self.life.events[sequence] = Happened(sequence, kind, step, happened)
        self._under_way = 0

    async def delete(self, sequence: int) -> None:
        """Remove one event."""
        if await self._source.delete(BASE, sequence):
            # Whoever asked before may have been shown it.
            self.life.deleted[sequence] = len(self.sessions)

    async def note_kept(self) -> None:
        """Note what is left of the log's present life."""
        self.life.kept = {entry.sequence for entry in await read_all(self._source)}

    async def begin_life(self, behind: EventLog) -> None:
        """Have the log made anew."""
        await self.note_kept()
        self.lives.append(Life(len(self.lives)))
        self.log.make_anew(behind)

    async def change_schema(self, *, matters: bool) -> None:
        """Publish the event type anew, so that filters of before may not hold any more, or do."""
        if matters:
            self.troubles.note()
            self.must_end += [session for session in self.sessions if session.is_watch and session.is_open]
        # Where fewer values are accepted than before: what accepts more lets everybody go on.
        step = IntegerField(name="step", minimum=0, maximum=1_000_000 - self._revision)
        self._schema = msgspec.structs.replace(
            self._schema,
            fields=(MARS.fields[0], step) if matters else self._schema.fields,
            description=f"revision {self._revision}",
        )
        self._revision = await self._registry.publish(self._schema, expected_revision=self._revision)

    def drain(self) -> None:
        """Tell the gateway to stop."""
        self.is_draining = True
        self._gateway.drain()

    # --- readers -----------------------------------------------------------------------------------------

    def open(
        self, span: Span, *, is_watch: bool, filter: int, is_handed_over: bool, stalls: bool = False
    ) -> Session:
        """Ask for a stream."""
        session = Session(len(self.sessions), is_watch=is_watch, span=span, filter=filter, begin=self.place())

        def on_frame(frame: Frame) -> None:
            session.opened = session.opened or self.place()
            session.frames.append(frame)
            if session.heard_at is not None:
                session.longest_silence = max(session.longest_silence, self._now() - session.heard_at)
            session.heard_at = self._now()

        self.sessions.append(session)
        body = {"event_type": "mars", "identifier": FILTERS[filter][0], **span.members}
        path = WATCH if is_watch else REPLAY
        session.reader = self._gateway.ask(path, body, is_handed_over=is_handed_over, on_frame=on_frame)
        session.reader.kept_up = is_handed_over or self._is_roomy or not is_watch
        if stalls:
            session.reader.stall()
        return session

    def is_answered(self) -> bool:
        """Tell whether everybody has an answer, and who asked for history alone has all of it."""
        return all(
            session.reader.is_over or (session.is_watch and session.reader.status == 200)
            for session in self.sessions
        )

    def is_level(self) -> bool:
        """Tell whether everybody who is to be shown what is now has been shown the last event that they select."""
        return all(
            not session.is_open or (session.is_watch and self._last_selected(session) in _shown(session))
            for session in self.sessions
        )

    def _last_selected(self, session: Session) -> int:
        selected = [event.sequence for event in self.life.events.values() if session.selects(event)]
        return max(selected, default=0)


def _shown(session: Session) -> set[int]:
    return {0} | {frame.data["sequence"] for frame in session.frames if "sequence" in frame.data}
