"""One event type live: each event to those who select it, from the place on that each had reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from aviso_core.eventlog.base import Batch, Entry
from aviso_core.eventlog.entry import POLYGON_HEADER, Origin, write_record
from aviso_core.fields.text import TextField
from aviso_core.schema.catalog import build_catalog
from aviso_stream_gateway.feed import Feed
from aviso_stream_gateway.session import Cause, Phase
from aviso_stream_gateway.stream import Limits
from support.catalogs import OPEN
from support.event_logs import asynchronous
from support.stream_parts import BASE_URL, CATALOG, PLACES, Streaming, asked

if TYPE_CHECKING:
    from aviso_core.matching.filter import Filter
    from aviso_core.schema.catalog import Catalog

OPENING: Final = 2


def _feed(event_type: str = "places", *, position: int = 0, catalog: Catalog = CATALOG) -> Feed:
    declared = catalog.get(event_type)
    return Feed(event_type, event_type, declared, base_url=BASE_URL, epoch="e", position=position)


def _wants(place: str = "*", event_type: str = "places", catalog: Catalog = CATALOG) -> Filter:
    name = {"places": "place", "storms": "basin"}.get(event_type, "a")
    return asked(event_type=event_type, catalog=catalog, identifier={name: place}).selection.filter


def _batch(*places: str, first: int = 1, through: int = 0, actor: str = "", **members: Any) -> Batch:
    """Return a batch of events at these places."""
    event_type = CATALOG.get("places")
    assert event_type is not None
    entries = []
    for sequence, place in enumerate(places, first):
        announced = event_type.announce({"place": place, "step": "1"})
        record = write_record(event_type, announced, b"null", origin=Origin(actor=actor))
        stored: dict[str, Any] = {
            "sequence": sequence,
            "instant": 0,
            "subject": record.subject,
            "payload": record.payload,
            "headers": record.headers,
        }
        entries.append(Entry(**stored | members))
    return Batch(entries=tuple(entries), through=through or first + len(places) - 1)


@asynchronous
async def test_an_event_goes_to_those_who_select_it() -> None:
    streaming, feed = Streaming(), _feed()
    here, reader_here = streaming.stream()
    there, reader_there = streaming.stream()
    everywhere, reader_everywhere = streaming.stream()
    assert feed.join(here, _wants("here"))
    assert feed.join(there, _wants("there"))
    assert feed.join(everywhere, _wants())
    assert len(feed) == 3
    feed.dispatch(_batch("here", "there", "nowhere"))
    assert (await reader_here.take(OPENING + 1))[OPENING:] == ["live-notification 1"]
    assert (await reader_there.take(OPENING + 1))[OPENING:] == ["live-notification 2"]
    assert (await reader_everywhere.take(OPENING + 3))[OPENING:] == [
        *("live-notification 1", "live-notification 2", "live-notification 3"),
    ]
    assert streaming.series.sent.value == 5
    assert feed.position == 3


@asynchronous
async def test_a_stream_joins_once_it_is_as_far_as_the_feed_and_not_before() -> None:
    """In between it is sent nothing here, so nothing comes twice, and nothing is left out."""
    streaming, feed = Streaming(), _feed(position=5)
    stream, reader = streaming.stream(position=3)
    assert not feed.join(stream, _wants())
    feed.dispatch(_batch("here", first=6))
    stream.session.catch_up([], 6)
    assert feed.join(stream, _wants())
    assert stream.session.phase is Phase.LIVE
    feed.dispatch(_batch("here", first=7))
    assert (await reader.take(OPENING + 1))[OPENING:] == ["live-notification 7"]


@asynchronous
async def test_a_stream_that_is_further_than_the_feed_is_sent_only_what_lies_behind_it() -> None:
    """It was set up when the log held more than the feed had dispatched."""
    streaming, feed = Streaming(), _feed(position=2)
    stream, reader = streaming.stream(position=4)
    assert feed.join(stream, _wants())
    feed.dispatch(_batch("here", "here", "here", first=3))
    assert (await reader.take(OPENING + 1))[OPENING:] == ["live-notification 5"]
    assert streaming.series.sent.value == 1


@asynchronous
async def test_a_feed_is_as_far_as_its_tail_though_nobody_wants_it() -> None:
    """Also where a batch ends in what was removed, or in what is of nobody's event type."""
    feed = _feed()
    feed.dispatch(_batch("here", through=4))
    assert feed.position == 4
    feed.dispatch(_batch("here", first=5, subject="places.only"))
    assert feed.position == 5


@asynchronous
async def test_whoever_is_served_goes_on_when_the_event_type_has_more_fields() -> None:
    """Filters of before select what they selected, beside those of now."""
    streaming, feed = Streaming(), _feed()
    before, reader_before = streaming.stream()
    assert feed.join(before, _wants("here"))
    fields = (*PLACES.fields, TextField(name="more", default="none"))
    edited = build_catalog([msgspec.structs.replace(PLACES, fields=fields)], strict=False)
    feed.revise(edited.get("places"))
    assert feed.event_type is edited.get("places") is feed.showing.event_type
    now, reader_now = streaming.stream()
    assert feed.join(now, _wants("here", catalog=edited))
    assert len(feed) == 2
    feed.dispatch(_batch("here", "there"))
    for reader in (reader_before, reader_now):
        assert (await reader.take(OPENING + 1))[OPENING:] == ["live-notification 1"]
    feed.leave(before)
    feed.leave(now)
    assert feed.is_idle


@asynchronous
async def test_who_has_left_is_sent_nothing() -> None:
    streaming, feed = Streaming(), _feed()
    stays, reader = streaming.stream()
    leaves, gone = streaming.stream()
    for stream in (stays, leaves):
        feed.join(stream, _wants())
    feed.leave(leaves)
    feed.leave(leaves)
    feed.dispatch(_batch("here"))
    assert (await reader.take(OPENING + 1))[OPENING:] == ["live-notification 1"]
    assert len(await gone.take(OPENING)) == OPENING
    assert gone.outlet.waiting == 0


@asynchronous
async def test_a_feed_is_idle_when_nobody_is_served_and_nobody_is_expected() -> None:
    streaming, feed = Streaming(), _feed()
    stream, _ = streaming.stream()
    told = [feed.is_idle]
    feed.expected = 1
    told.append(feed.is_idle)
    feed.join(stream, _wants())
    feed.expected = 0
    told.append(feed.is_idle)
    feed.leave(stream)
    told.append(feed.is_idle)
    assert told == [True, False, False, True]


@asynchronous
async def test_a_reader_that_stands_still_is_closed_and_the_others_are_served() -> None:
    """Within one event: what ends one stream takes nothing from those behind it."""
    streaming, feed = Streaming(Limits(most_waiting_bytes=400)), _feed()
    streams = [streaming.stream() for _ in range(3)]
    for stream, _ in streams:
        feed.join(stream, _wants())
    for _, reader in (streams[0], streams[2]):
        await reader.take(OPENING)
    feed.dispatch(_batch("here", "here"))
    assert streaming.ended == [Cause.SLOW]
    assert [stream.session.is_over for stream, _ in streams] == [False, True, False]
    for _, reader in (streams[0], streams[2]):
        assert (await reader.take(1))[0] == "live-notification 1"


@asynchronous
async def test_a_reader_that_stands_still_is_closed_whether_or_not_events_can_be_shown() -> None:
    """What stands in the place of an event waits for its reader as the event would."""
    streaming, feed = Streaming(Limits(most_waiting_bytes=1000)), _feed("anything")
    stream, reader = streaming.stream()
    feed.join(stream, asked(event_type="anything", identifier={"a": "*"}).selection.filter)
    for sequence in range(1, 101):
        entry = Entry(sequence=sequence, instant=0, subject="anything.1", payload=b"")
        feed.dispatch(Batch(entries=(entry,), through=sequence))
    assert streaming.ended == [Cause.SLOW]
    told = await reader.rest()
    assert told[OPENING:-1] == [f"error {number}" for number in range(1, len(told) - OPENING)]
    assert (len(told) < 20, told[-1]) == (True, "connection-closing end_of_stream")


@asynchronous
async def test_who_wrote_an_event_is_shown_to_whom_it_may_be() -> None:
    """Both kinds of reader in one dispatch, with filters that they share."""
    streaming, feed = Streaming(), _feed()
    plain, plain_reader = streaming.stream()
    trusted, trusted_reader = streaming.stream(shows_actor=True)
    for stream in (plain, trusted):
        feed.join(stream, _wants())
    feed.dispatch(_batch("here", actor="main:ann"))
    feed.dispatch(_batch("here", first=2))
    seen, not_seen = await trusted_reader.frames(4), await plain_reader.frames(4)
    assert [told.data.get("actor") for told in seen[OPENING:]] == ["main:ann", None]
    assert [told.data.get("actor") for told in not_seen[OPENING:]] == [None, None]
    assert streaming.series.sent.value == 4


@pytest.mark.parametrize("shows_actor", [True, False])
@asynchronous
async def test_an_event_that_cannot_be_shown_is_an_error_to_those_who_select_it(shows_actor: bool) -> None:
    """With the event's own topic, and the request of each; the streams go on."""
    streaming, feed = Streaming(), _feed("storms", catalog=OPEN)
    stream, reader = streaming.stream(shows_actor=shows_actor)
    other, other_reader = streaming.stream()
    feed.join(stream, _wants("indian", "storms", OPEN))
    feed.join(other, _wants("pacific", "storms", OPEN))
    entry = Entry(
        sequence=4,
        instant=0,
        subject="storms.indian.2026.1.20",
        payload=b"{}",
        headers={POLYGON_HEADER: "none"},
    )
    feed.dispatch(Batch(entries=(entry,), through=4))
    (told,) = (await reader.frames(OPENING + 1))[OPENING:]
    assert told.event == "error"
    assert told.data == {
        "error": "CloudEvent creation failed",
        "message": "Failed to parse stored polygon metadata",
        "request_id": "r",
        "sequence": 4,
        "topic": "storms.indian.2026.1.20",
    }
    assert len(await other_reader.take(OPENING)) == OPENING
    assert (stream.session.is_over, stream.session.position) == (False, 4)
    assert (streaming.series.errors.value, streaming.series.sent.value) == (1, 0)


@asynchronous
async def test_events_without_a_schema_are_selected_by_their_places() -> None:
    streaming, feed = Streaming(), _feed("anything")
    stream, reader = streaming.stream()
    feed.join(stream, asked(event_type="anything", identifier={"a": "1", "b": "*"}).selection.filter)
    subjects = ("anything.1.2", "anything.2.2", "anything.1", "anything.1.2.3", "anything.1.9")
    for sequence, subject in enumerate(subjects, 1):
        entry = Entry(sequence=sequence, instant=0, subject=subject, payload=b"")
        feed.dispatch(Batch(entries=(entry,), through=sequence))
    assert (await reader.take(OPENING + 2))[OPENING:] == ["error 1", "error 5"]


@asynchronous
async def test_the_end_of_a_feed_is_that_of_its_streams() -> None:
    """Each lets itself go while the feed goes through them."""
    streaming, feed = Streaming(), _feed()
    readers = []
    for _ in range(3):
        stream, reader = streaming.stream()
        feed.join(stream, _wants())
        readers.append(reader)
    feed.end(Cause.LOG_LOST)
    assert feed.over is Cause.LOG_LOST
    assert streaming.ended == [Cause.LOG_LOST] * 3
    for reader in readers:
        assert (await reader.rest())[OPENING:] == ["connection-closing end_of_stream"]
