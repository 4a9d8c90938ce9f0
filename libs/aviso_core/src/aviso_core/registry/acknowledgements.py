"""Which process serves which revision: every one says so itself, and what it said is forgotten when it falls silent.

A process reports, under the name of its service and its own, the newest revision of each event type that it has dealt
with, withdrawals included, and why it could not where it could not. A report lives for a limited time; it is renewed
at a third of that, and at once when it says something else, so a process that is gone disappears by itself and one
lost renewal means nothing. Whoever published a schema takes the roll: nobody behind means that it is live.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

import msgspec

from aviso_core.alongside import alongside
from aviso_core.errors import Unavailable
from aviso_core.registry.telling import tell

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from aviso_core.clock import Clock
    from aviso_core.registry.follower import Follower
    from aviso_core.registry.served import Served

TIME_TO_LIVE_SECONDS: Final = 90.0
_RENEWALS_IN_A_LIFE: Final = 3
_RETRY_SECONDS: Final = 1.0
# A report names every event type; a long list of faults of each would not fit into one message.
_LONGEST_ERROR: Final = 300
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a process says of one event type: the newest revision it looked at, and why that is not in force."""

    revision: int
    error: str | None = None


# By event type.
Report: TypeAlias = Mapping[str, Answer]

State: TypeAlias = Literal["current", "behind", "rejected"]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How one process stands to a revision. One that never heard of the event type is behind, at revision 0."""

    state: State
    revision: int = 0
    error: str | None = None


class RollCall:
    """The reports that are alive, by `<service>/<process>`. Held by whoever follows them."""

    def __init__(self) -> None:
        self.reports: Mapping[str, Report] = MappingProxyType({})
        self.is_loaded = False

    def acknowledged(self, event_type: str, revision: int) -> dict[str, Standing]:
        """Return how every live process stands to a revision, which may be that of a withdrawal."""
        return {
            process: standing(report.get(event_type), revision)
            for process, report in sorted(self.reports.items())
        }


OnRollCall: TypeAlias = Callable[[RollCall], None]


class Acknowledgements(Protocol):
    """Where reports are kept."""

    @property
    def time_to_live_seconds(self) -> float:
        """How long a report lives."""
        ...

    async def report(self, process: str, report: Report) -> None:
        """Put a process's report in the place of its last one, or raise `Unavailable`."""
        ...

    def leave(self, process: str) -> None:
        """Take a process off the roll, as well as can be without waiting: otherwise its time runs out."""
        ...

    def follow(self, on_change: OnRollCall) -> AbstractAsyncContextManager[RollCall]:
        """Follow the reports for as long as the block runs; called back once for each change.

        What has expired is noticed within a third of the time to live.
        """
        ...


def process_name(service: str, process: str) -> str:
    """Return the name under which a process reports; characters that a key cannot hold are replaced."""
    return "/".join(_NOT_IN_A_NAME.sub("_", part) or "_" for part in (service, process))


def standing(answer: Answer | None, revision: int) -> Standing:
    """Return how an answer stands to a revision."""
    if answer is None:
        return Standing(state="behind")
    if answer.revision < revision:
        return Standing(state="behind", revision=answer.revision, error=answer.error)
    if answer.error is not None:
        return Standing(state="rejected", revision=answer.revision, error=answer.error)
    return Standing(state="current", revision=answer.revision)


def report_of(served: Served) -> dict[str, Answer]:
    """Return what a process says that serves this."""
    return {
        name: Answer(revision=one.latest.revision, error=_error(served, name))
        for name, one in served.known.items()
    }


def _error(served: Served, name: str) -> str | None:
    refused = served.refused.get(name)
    return None if refused is None else _shortened(refused.reason)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_ERROR else f"{text[: _LONGEST_ERROR - 1]}…"


def seconds_between_renewals(time_to_live_seconds: float) -> float:
    """Return how often a report is renewed, and how often it is looked for expired ones."""
    return time_to_live_seconds / _RENEWALS_IN_A_LIFE


def seconds_until_retry(time_to_live_seconds: float) -> float:
    """Return when a report that could not be made is tried again: often enough that the last one outlives it."""
    return min(_RETRY_SECONDS, seconds_between_renewals(time_to_live_seconds) / 10)


def seconds_until_due(*, since_report: float | None, is_news: bool, time_to_live_seconds: float) -> float:
    """Return when a process has to report, given how long ago it did so last: at once is 0."""
    if since_report is None or is_news:
        return 0.0
    return max(0.0, seconds_between_renewals(time_to_live_seconds) - since_report)


@asynccontextmanager
async def reporting(
    acknowledgements: Acknowledgements, follower: Follower, *, process: str, clock: Clock
) -> AsyncIterator[None]:
    """Report what a follower serves for as long as the block runs, and take the process off the roll after it."""
    async with alongside(_Reporter(acknowledgements, follower, process, clock).report_for_ever()):
        try:
            yield
        finally:
            acknowledgements.leave(process)


class _Reporter:
    def __init__(
        self, acknowledgements: Acknowledgements, follower: Follower, process: str, clock: Clock
    ) -> None:
        self._acknowledgements = acknowledgements
        self._follower = follower
        self._process = process
        self._clock = clock
        self._reported: dict[str, Answer] | None = None
        self._reported_at: float | None = None

    async def report_for_ever(self) -> None:
        """Report whenever it is due."""
        while True:
            served = self._follower.served
            seconds = self._seconds_until_due(served)
            if seconds > 0:
                await self._wait_changed(served, seconds)
                continue
            try:
                await self._report(served)
            except Unavailable:
                # The connection's owner knows that the broker is away; a report is due until one was taken.
                await asyncio.sleep(seconds_until_retry(self._acknowledgements.time_to_live_seconds))

    def _seconds_until_due(self, served: Served) -> float:
        since = None if self._reported_at is None else self._clock.monotonic() - self._reported_at
        return seconds_until_due(
            since_report=since,
            is_news=report_of(served) != self._reported,
            time_to_live_seconds=self._acknowledgements.time_to_live_seconds,
        )

    async def _report(self, served: Served) -> None:
        report, now = report_of(served), self._clock.monotonic()
        await self._acknowledgements.report(self._process, report)
        self._reported, self._reported_at = report, now

    async def _wait_changed(self, served: Served, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._follower.wait_changed(served)
        except TimeoutError:
            return


def take_roll(call: RollCall, reports: Mapping[str, Report], on_change: OnRollCall) -> None:
    """Put the live reports in the place of those before, and tell if that changes anything."""
    if call.is_loaded and call.reports == reports:
        return
    call.reports = MappingProxyType(dict(reports))
    call.is_loaded = True
    tell(on_change, call)
