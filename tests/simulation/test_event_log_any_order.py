"""Whatever happens, in whatever order: a driver takes random steps while appends and tails are at work.

The seed decides the steps. It is printed with a failure, and `AVISO_SIMULATION_SEED` takes it; how the steps fall
together with what the broker is doing then is still chance. `AVISO_LONG_TESTS` makes more and longer runs.
"""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.errors import Unavailable
from aviso_core.eventlog.base import AppendFailed
from support.event_logs import ask_broker, open_owning_log, read_all, record, sequences
from support.log_story import Story, Watched, check, check_tail, stored, under_way
from support.nats import Link, Server, open_link, running_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from aviso_core.eventlog.jetstream.log import JetStreamLog

_IS_LONG: Final = bool(os.environ.get("AVISO_LONG_TESTS"))
_GIVEN: Final = os.environ.get("AVISO_SIMULATION_SEED")
_RUNS: Final = 1 if _GIVEN else 20 if _IS_LONG else 2
_STEPS: Final = 200 if _IS_LONG else 50


class Driver:
    """Takes the steps of one seed."""

    def __init__(self, seed: int, server: Server, link: Link, log: JetStreamLog, story: Story) -> None:
        self._chance = random.Random(seed)  # noqa: S311 (guards nothing)
        self._server = server
        self._link = link
        self._log = log
        self._story = story
        self.batches: list[list[bytes]] = []
        self.late_tails: list[Watched] = []
        self._steps: dict[Callable[[], Awaitable[None]], int] = {
            self.go_on: 4,
            self.append_batch: 3,
            self.read_range: 6,
            self.look_at_latest: 2,
            self.seek_what_was_read: 2,
            self.delete_some: 4,
            self.wipe: 1,
            self.watch_for_a_while: 3,
            self.cut: 4,
            self.cut_while_answers_are_lost: 2,
            self.pause: 2,
            self.lose_deliveries: 3,
            self.remove_consumers: 2,
            self.kill_server: 2,
        }

    async def run(self) -> None:
        """Take all steps, then let everything come to rest."""
        for step in self._chance.choices([*self._steps], [*self._steps.values()], k=_STEPS):
            try:
                await step()
            except Unavailable:
                # It is allowed to say so; what it must not do is to say something wrong.
                continue
        self._link.mend()
        await self._story.goes_on()

    def _known(self) -> list[int]:
        return [place for place in self._story.acknowledged.payloads if self._story.is_kept(place)]

    # --- what users do -----------------------------------------------------------------------------------

    async def go_on(self) -> None:
        await self._story.acknowledged.wait_more(self._chance.randrange(1, 60))

    async def append_batch(self) -> None:
        size = self._chance.randrange(1, 30)
        members = [
            record("mars.batch.1", b"%d of batch %d" % (place, len(self.batches))) for place in range(size)
        ]
        batch = [member.payload for member in members]
        self.batches.append(batch)
        self._story.acknowledged.unknown |= set(batch)
        try:
            appended = await self._log.append_atomically("mars", members)
        except AppendFailed as failure:
            if not failure.may_retry:
                raise
            return
        first = appended[0].sequence
        assert [one.sequence for one in appended] == list(range(first, first + size))
        self._story.acknowledged.note(members, appended)

    async def read_range(self) -> None:
        known = self._known()
        if not known:
            return
        first, last = sorted(self._chance.choices(known, k=2))
        found = await read_all(
            self._log, first=first, last=last, batch_bytes=self._chance.choice((1, 500, 10**6))
        )
        assert sequences(found) == sorted(set(sequences(found)))
        assert all(first <= entry.sequence <= last for entry in found)
        there = {entry.sequence: entry.payload for entry in found}
        told = self._story.acknowledged.payloads
        expected = {
            place: told[place] for place in known if first <= place <= last and self._story.is_kept(place)
        }
        assert {place: there.get(place) for place in expected} == expected

    async def look_at_latest(self) -> None:
        latest = await self._log.latest("mars")
        assert len({entry.subject for entry in latest}) == len(latest)
        assert sequences(latest) == sorted(sequences(latest))

    async def seek_what_was_read(self) -> None:
        known = self._known()
        if not known:
            return
        place = self._chance.choice(known)
        for entry in await read_all(self._log, first=place, last=place):
            found = await self._log.seek("mars", entry.instant)
            assert found <= place or not self._story.is_kept(place)

    async def delete_some(self) -> None:
        known = self._known()
        for place in self._chance.sample(known, min(len(known), 3)):
            self._story.removed.add(place)
            await self._log.delete("mars", place)

    async def wipe(self) -> None:
        # Whatever comes of it, everything up to the end of the stream may be gone then.
        self._story.wiped_up_to = 2**63
        while self._story.wiped_up_to == 2**63:
            with suppress(Unavailable):
                await self._log.wipe("mars")
                self._story.wiped_up_to = (await self._log.bounds("mars")).last

    async def watch_for_a_while(self) -> None:
        bounds = await self._log.bounds("mars")
        watched = Watched(after=self._chance.randrange(bounds.last + 1))
        watching = asyncio.ensure_future(watched.run(self._log, bounds.epoch))
        try:
            self._link.mend()
            await watched.wait_past(bounds.last)
        finally:
            watching.cancel()
            self.late_tails.append(watched)

    # --- what breaks -------------------------------------------------------------------------------------

    async def cut(self) -> None:
        self._link.cut()
        await asyncio.sleep(self._chance.choice((0, 0, 0.05, 0.3)))
        self._link.mend()

    async def cut_while_answers_are_lost(self) -> None:
        self._link.lose_answers()
        await asyncio.sleep(self._chance.choice((0, 0.02, 0.1)))
        self._link.cut()
        self._link.mend()

    async def pause(self) -> None:
        self._link.pause()
        await asyncio.sleep(self._chance.choice((0.01, 0.3)))
        self._link.mend()

    async def lose_deliveries(self) -> None:
        self._link.lose_deliveries(self._chance.randrange(1, 20))

    async def remove_consumers(self) -> None:
        for name in (await ask_broker(self._server.url, "CONSUMER.NAMES.MARS"))["consumers"] or ():
            await ask_broker(self._server.url, f"CONSUMER.DELETE.MARS.{name}")

    async def kill_server(self) -> None:
        await asyncio.to_thread(self._server.kill)
        await asyncio.sleep(self._chance.choice((0, 0.2)))
        await asyncio.to_thread(self._server.start)


def check_batch(story: Story, batch: list[bytes], truth: dict[int, bytes]) -> None:
    """Make sure that a batch is there as a whole, or not at all, but for what was removed on purpose."""
    places = {payload: place for place, payload in truth.items()}
    begins = {places[payload] - number for number, payload in enumerate(batch) if payload in places}
    assert len(begins) <= 1, "the members of a batch are not consecutive"
    for begin in begins:
        missing = [begin + number for number, payload in enumerate(batch) if payload not in places]
        assert not any(map(story.is_kept, missing)), "a part of a batch is missing"


def _seed(run: int) -> int:
    if _GIVEN:
        return int(_GIVEN)
    # In CI the same commit always takes the same steps.
    return run if os.environ.get("CI") else random.SystemRandom().randrange(2**32)


@pytest.mark.parametrize("run_number", range(_RUNS))
def test_what_was_acknowledged_is_there_once_and_in_order(run_number: int, tmp_path: Path) -> None:
    """And every tail has seen it, whenever it began."""
    seed = _seed(run_number)
    print(f"\nAVISO_SIMULATION_SEED={seed}")  # noqa: T201 (pytest shows it with a failure)

    async def run(server: Server) -> None:
        async with (
            asyncio.timeout(600 if _IS_LONG else 60),
            open_link(server) as link,
            open_owning_log(link.url) as log,
        ):
            async with under_way(log) as story:
                driver = Driver(seed, server, link, log, story)
                await driver.run()
            truth = await stored(server.url)
            check(story, truth)
            for tail in driver.late_tails:
                check_tail(story, tail, truth)
            for batch in driver.batches:
                check_batch(story, batch, truth)

    with running_server(tmp_path) as server:
        asyncio.run(run(server))
