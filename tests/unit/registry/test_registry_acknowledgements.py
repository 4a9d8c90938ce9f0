"""What a process says of what it serves, when it says so, and how that stands to a revision."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import pytest

from aviso_core.errors import Unavailable
from aviso_core.registry.acknowledgements import (
    Answer,
    RollCall,
    Standing,
    process_name,
    report_of,
    reporting,
    seconds_until_due,
    standing,
)
from aviso_core.registry.memory import MemoryAcknowledgements, MemoryRegistry
from aviso_core.registry.served import nothing_served, take_in
from support.registries import ManualClock, published, schema, unreadable, withdrawn

if TYPE_CHECKING:
    from aviso_core.registry.acknowledgements import Report

PROCESS: Final = "ingest/one"


@pytest.mark.parametrize(
    ("answer", "stands"),
    [
        (None, Standing(state="behind")),
        (Answer(revision=4), Standing(state="behind", revision=4)),
        (Answer(revision=4, error="old"), Standing(state="behind", revision=4, error="old")),
        (Answer(revision=5), Standing(state="current", revision=5)),
        (Answer(revision=6), Standing(state="current", revision=6)),
        (Answer(revision=5, error="bad"), Standing(state="rejected", revision=5, error="bad")),
    ],
)
def test_an_answer_stands_to_a_revision(answer: Answer | None, stands: Standing) -> None:
    """A complaint about an older version is no rejection of this one."""
    assert standing(answer, 5) == stands


@pytest.mark.parametrize(
    ("since_report", "is_news", "seconds"),
    [
        (None, False, 0.0),
        (None, True, 0.0),
        (0.0, False, 30.0),
        (29.0, False, 1.0),
        (30.0, False, 0.0),
        (500.0, False, 0.0),
        (1.0, True, 0.0),
    ],
)
def test_a_report_is_due_at_once_or_after_a_third_of_its_life(
    since_report: float | None, is_news: bool, seconds: float
) -> None:
    assert seconds_until_due(since_report=since_report, is_news=is_news, time_to_live_seconds=90.0) == seconds


def test_a_report_names_what_was_dealt_with() -> None:
    """Withdrawals are acknowledged too, and what is refused is under the revision that was refused."""
    served = take_in(
        nothing_served(None),
        [
            published("storms", 1),
            published("buoys", 2),
            withdrawn("buoys", 3),
            unreadable("storms", 4, "x" * 999),
        ],
    )
    report = report_of(served)
    assert report["buoys"] == Answer(revision=3)
    assert report["storms"].revision == 4
    error = report["storms"].error
    assert error is not None
    assert len(error) == 300
    assert error.endswith("x…")


@pytest.mark.parametrize(
    ("service", "process", "name"),
    [
        ("ingest", "ingest-7f9c-x2", "ingest/ingest-7f9c-x2"),
        ("ingest", "pod.one:1", "ingest/pod_one_1"),
        ("", "ü", "_/_"),
    ],
)
def test_a_process_has_a_name_that_a_key_can_hold(service: str, process: str, name: str) -> None:
    assert process_name(service, process) == name


def test_a_roll_call_answers_for_every_live_process() -> None:
    call = RollCall()
    call.reports = {"b/1": {"storms": Answer(revision=7)}, "a/1": {}}
    assert call.acknowledged("storms", 7) == {
        "a/1": Standing(state="behind"),
        "b/1": Standing(state="current", revision=7),
    }
    assert list(call.acknowledged("storms", 7)) == ["a/1", "b/1"]


class _AwayAtFirst(MemoryAcknowledgements):
    """A place for reports that cannot be reached the first time."""

    def __init__(self) -> None:
        super().__init__(ManualClock(), time_to_live_seconds=0.3)
        self.tries = 0

    async def report(self, process: str, report: Report) -> None:
        self.tries += 1
        if self.tries == 1:
            raise Unavailable("away")
        await super().report(process, report)


def test_a_report_that_could_not_be_made_is_made_later() -> None:
    async def main() -> None:
        registry, away = MemoryRegistry(), _AwayAtFirst()
        await registry.publish(schema("storms"), expected_revision=0)
        arrived = asyncio.Event()

        def note(call: RollCall) -> None:
            if call.reports:
                arrived.set()

        async with (
            asyncio.timeout(30),
            away.follow(note) as call,
            registry.follow(lambda _: None) as follower,
            reporting(away, follower, process=PROCESS, clock=ManualClock()),
        ):
            await arrived.wait()
            assert call.acknowledged("storms", 1) == {PROCESS: Standing(state="current", revision=1)}
            assert away.tries == 2

    asyncio.run(main())


def test_in_memory_a_report_expires_by_the_clock() -> None:
    """What is silent for too long is gone with the next word of anybody."""

    async def main() -> None:
        clock = ManualClock()
        acknowledgements = MemoryAcknowledgements(clock, time_to_live_seconds=90)
        async with acknowledgements.follow(lambda _: None) as call:
            await acknowledgements.report("a/1", {})
            clock.advance(60)
            await acknowledgements.report("b/1", {})
            assert set(call.reports) == {"a/1", "b/1"}
            clock.advance(30)
            await acknowledgements.report("b/1", {})
            assert set(call.reports) == {"b/1"}

    asyncio.run(main())
