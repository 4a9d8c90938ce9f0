"""The feeds of a process: each begins with its first stream, lasts as long as it may, and ends with its log."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from aviso_core.errors import AvisoError, Overloaded, Unavailable
from aviso_core.eventlog.base import EpochChanged, StreamMissing
from aviso_core.fields.integer import IntegerField
from aviso_core.fields.text import TextField
from aviso_core.schema.catalog import build_catalog
from aviso_core.schema.model import Auth, PayloadRules, Topic
from aviso_stream_gateway.bounds import FreshBounds
from aviso_stream_gateway.hub import Hub, open_hub
from aviso_stream_gateway.session import Cause
from support.event_logs import asynchronous
from support.stream_parts import BASE_URL, CATALOG, PLACES, HeldLog, Streaming, announce, asked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aviso_core.schema.catalog import Catalog
    from aviso_stream_gateway.feed import Feed
    from aviso_stream_gateway.stream import Stream
    from support.stream_parts import Reader

OPENING: Final = 2
LONG_SECONDS: Final = 3600.0
SHORT_SECONDS: Final = 0.02


@asynccontextmanager
async def _opened(log: HeldLog, *, linger_seconds: float = LONG_SECONDS) -> AsyncIterator[Hub]:
    hub = Hub(log, FreshBounds(log), base_url=BASE_URL, linger_seconds=linger_seconds)
    async with open_hub(hub):
        yield hub


async def _joined(hub: Hub, streaming: Streaming) -> tuple[Feed, Stream, Reader]:
    """Open a live stream."""
    request = asked()
    feed = await hub.expect(request)
    stream, reader = streaming.stream(position=feed.position)
    assert feed.join(stream, request.selection.filter)
    hub.done_expecting(feed)
    return feed, stream, reader


def _questions(log: HeldLog, kind: str) -> list[str]:
    return [question for question in log.questions if question.startswith(kind)]


# --- beginning -------------------------------------------------------------------------------------------


@asynchronous
async def test_all_who_come_at_once_begin_one_feed() -> None:
    """It begins behind what is stored, and the log is asked once."""
    log = HeldLog()
    await announce(log)
    async with _opened(log) as hub:
        feeds = await asyncio.gather(*(hub.expect(asked()) for _ in range(20)))
        assert len(set(map(id, feeds))) == 1
        assert (feeds[0].position, feeds[0].expected) == (1, 20)
        await log.wait_tails(1)
        assert log.questions == ["bounds places", "tail places after 1"]


@asynchronous
async def test_who_comes_while_nobody_has_joined_yet_gets_the_same_feed() -> None:
    """All others may be in their history still, or have left."""
    log = HeldLog()
    async with _opened(log) as hub:
        feed = await hub.expect(asked())
        assert await hub.expect(asked()) is feed
        for _ in range(2):
            hub.done_expecting(feed)
        assert await hub.expect(asked()) is feed
        await log.wait_tails(1)
    assert len(_questions(log, "tail")) == 1


@asynchronous
async def test_each_event_type_has_a_feed_of_its_own() -> None:
    log = HeldLog()
    async with _opened(log) as hub:
        feed, other = await hub.expect(asked()), await hub.expect(asked(event_type="other"))
        assert (feed.name, other.name) == ("places", "other")
        await log.wait_tails(2)


@asynchronous
async def test_what_is_stored_reaches_who_has_joined() -> None:
    log, streaming = HeldLog(), Streaming()
    async with _opened(log) as hub:
        _, _, reader = await _joined(hub, streaming)
        await announce(log)
        await announce(log)
        assert (await reader.take(OPENING + 2))[OPENING:] == ["live-notification 1", "live-notification 2"]


@asynchronous
async def test_who_gives_up_leaves_the_others_their_feed() -> None:
    log = HeldLog()
    async with _opened(log) as hub:
        log.hold("bounds")
        first, second = (asyncio.create_task(hub.expect(asked())) for _ in range(2))
        await log.wait_asked("bounds places")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        log.go_on()
        assert (await second).expected == 1


@asynchronous
async def test_a_feed_that_nobody_waits_for_any_more_ends_like_any_other() -> None:
    log = HeldLog()
    async with _opened(log, linger_seconds=SHORT_SECONDS) as hub:
        log.hold("bounds")
        waiting = asyncio.create_task(hub.expect(asked()))
        await log.wait_asked("bounds places")
        waiting.cancel()
        log.go_on()
        await log.wait_tails(1)
        await log.wait_tails(0)


@pytest.mark.parametrize("failure", [Unavailable("away"), StreamMissing("none yet")], ids=str)
@asynchronous
async def test_a_feed_that_cannot_begin_is_told_to_all_and_tried_anew_by_the_next(
    failure: AvisoError,
) -> None:
    log = HeldLog()
    async with _opened(log) as hub:
        log.fail("bounds", failure)
        outcomes = await asyncio.gather(*(hub.expect(asked()) for _ in range(3)), return_exceptions=True)
        assert outcomes == [failure] * 3
        assert (await hub.expect(asked())).over is None


# --- ending ----------------------------------------------------------------------------------------------


@asynchronous
async def test_a_feed_ends_some_time_after_its_last_stream() -> None:
    """And the next stream begins another, from where the log is then."""
    log, streaming = HeldLog(), Streaming()
    async with _opened(log, linger_seconds=SHORT_SECONDS) as hub:
        feed, stream, _ = await _joined(hub, streaming)
        await log.wait_tails(1)
        hub.leave(feed, stream)
        before = feed.over
        await log.wait_tails(0)
        assert (before, feed.over) == (None, Cause.FINISHED)
        await announce(log)
        again = await hub.expect(asked())
        assert again is not feed
        assert again.position == 1


@asynchronous
async def test_a_feed_stays_while_somebody_is_served_or_expected() -> None:
    """Longer than it would linger: a loop's timers end in their order, so the last one tells."""
    log, streaming = HeldLog(), Streaming()
    async with _opened(log, linger_seconds=SHORT_SECONDS) as hub:
        feed, stream, _ = await _joined(hub, streaming)
        await hub.expect(asked())
        hub.leave(feed, stream)
        await asyncio.sleep(3 * SHORT_SECONDS)
        assert feed.over is None
        hub.done_expecting(feed)
        await hub.expect(asked())
        await asyncio.sleep(3 * SHORT_SECONDS)
        assert feed.over is None


@pytest.mark.parametrize(
    "failure", [EpochChanged("made anew"), Unavailable("given up"), RuntimeError("a bug")], ids=str
)
@asynchronous
async def test_a_tail_that_fails_ends_its_streams_and_no_others(failure: Exception) -> None:
    """They are told to come again, and find a feed that works."""
    log, streaming = HeldLog(), Streaming()
    async with _opened(log) as hub:
        feed, _, reader = await _joined(hub, streaming)
        other = await hub.expect(asked(event_type="other"))
        await log.wait_tails(2)
        log.tail_failure = failure
        await announce(log)
        assert (await reader.rest())[OPENING:] == ["connection-closing end_of_stream"]
        assert streaming.ended == [Cause.LOG_LOST]
        assert (feed.over, other.over) == (Cause.LOG_LOST, None)
        log.tail_failure = None
        again, _, reader = await _joined(hub, streaming)
        assert again is not feed
        await announce(log)
        assert (await reader.take(OPENING + 1))[OPENING:] == ["live-notification 2"]


@asynchronous
async def test_a_tail_that_cannot_begin_ends_its_feed() -> None:
    """The stream was made anew between the question and the tail."""
    log, streaming = HeldLog(), Streaming()
    async with _opened(log) as hub:
        log.fail("tail", EpochChanged("made anew"))
        log.hold("tail")
        _, _, reader = await _joined(hub, streaming)
        await log.wait_asked("tail places after 0")
        log.go_on()
        assert (await reader.rest())[OPENING:] == ["connection-closing end_of_stream"]
        assert (await hub.expect(asked())).over is None
        await log.wait_tails(1)


@asynchronous
async def test_the_end_of_the_process_is_that_of_all_feeds() -> None:
    """Also of one that is beginning; nothing goes on behind it."""
    log, streaming = HeldLog(), Streaming()
    async with _opened(log) as hub:
        _, _, reader = await _joined(hub, streaming)
        await log.wait_tails(1)
        log.hold("bounds")
        beginning = asyncio.create_task(hub.expect(asked(event_type="other")))
        await log.wait_asked("bounds other")
    assert (await reader.rest())[OPENING:] == ["connection-closing server_shutdown"]
    await asyncio.gather(beginning, return_exceptions=True)
    assert beginning.cancelled()
    assert log.open_tails == 0


# --- changes of event types ------------------------------------------------------------------------------


def _changed(**members: Any) -> Catalog:
    return build_catalog([msgspec.structs.replace(PLACES, **members)], strict=False)


@pytest.mark.parametrize(
    ("catalog", "ends"),
    [
        (CATALOG, False),
        # What neither filters nor permissions are made of.
        (_changed(description="other words"), False),
        (_changed(payload=PayloadRules(required=True)), False),
        (_changed(max_historical_notifications=5), False),
        # More is accepted than was, so who selects something still selects it.
        (_changed(fields=(TextField(name="place"), TextField(name="step"))), False),
        (_changed(fields=(*PLACES.fields, TextField(name="more", default="none"))), False),
        # What they are made of.
        (_changed(auth=Auth(required=True)), True),
        (_changed(topic=Topic(base="places", key_order=("step", "place"))), True),
        (_changed(fields=(TextField(name="place", required=True), IntegerField(name="step"))), True),
        (_changed(edges="wrapped"), True),
        # It is gone; whoever is handled without a schema is another event type.
        (build_catalog([], strict=False), True),
        (build_catalog([], strict=True), True),
    ],
)
@asynchronous
async def test_streams_end_when_their_event_type_is_another(catalog: Catalog, ends: bool) -> None:
    """Their readers come again, and are asked anew whether they may; after any other change they go on."""
    log, streaming = HeldLog(), Streaming()
    async with _opened(log) as hub:
        feed, stream, _ = await _joined(hub, streaming)
        hub.catalog_changed(catalog)
        assert feed.over is (Cause.SCHEMA_CHANGED if ends else None)
        assert stream.session.is_over is ends
        assert streaming.ended == [Cause.SCHEMA_CHANGED] * ends


@pytest.mark.parametrize(
    ("catalog", "ends"),
    [
        (CATALOG, False),
        (build_catalog([PLACES], strict=True), True),
        (build_catalog([msgspec.structs.replace(PLACES, event_type="other")], strict=False), True),
        # Its base is that of a declared event type now, whose rules hold for it.
        (_changed(topic=Topic(base="Other", key_order=("place", "step"))), True),
    ],
    ids=["as before", "strict", "declared", "the base of a declared one"],
)
@asynchronous
async def test_streams_of_an_undeclared_event_type_end_when_it_is_not_served_any_more(
    catalog: Catalog, ends: bool
) -> None:
    async with _opened(HeldLog()) as hub:
        feed = await hub.expect(asked(event_type="other"))
        hub.catalog_changed(catalog)
        assert feed.over is (Cause.SCHEMA_CHANGED if ends else None)


@pytest.mark.parametrize("is_begun", [True, False])
@asynchronous
async def test_who_was_checked_by_a_catalog_of_before_asks_again(is_begun: bool) -> None:
    """It changed between the check and the feed: the request must not get past the rules of now."""
    async with _opened(HeldLog()) as hub:
        before = asked()
        changed = _changed(topic=Topic(base="places", key_order=("step", "place")))
        hub.catalog_changed(changed)
        if is_begun:
            await hub.expect(asked(catalog=changed))
        with pytest.raises(Overloaded, match="ask again"):
            await hub.expect(before)
        assert (await hub.expect(asked(catalog=changed))).over is None


@asynchronous
async def test_no_feed_begins_for_an_event_type_that_changed_meanwhile() -> None:
    """Nobody would end it: it was not there when the change was told."""
    log = HeldLog()
    async with _opened(log) as hub:
        log.hold("bounds")
        waiting = asyncio.create_task(hub.expect(asked()))
        await log.wait_asked("bounds places")
        changed = _changed(topic=Topic(base="places", key_order=("step", "place")))
        hub.catalog_changed(changed)
        log.go_on()
        with pytest.raises(Overloaded, match="ask again"):
            await waiting
        feed = await hub.expect(asked(catalog=changed))
        assert feed.event_type is changed.get("places")
        await log.wait_tails(1)
