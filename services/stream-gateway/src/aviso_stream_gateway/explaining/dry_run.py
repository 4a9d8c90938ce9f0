"""How many events of the last while a filter would have selected: counted in the log, within bounds.

Counting takes as much as replaying does, so a caller may only ask for it now and then, few count at the same time, and
none for long. How far the counting came is part of its result.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.errors import Overloaded
from aviso_core.instant import SECOND, to_text
from aviso_core.matching.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aviso_core.eventlog.base import EventLog
    from aviso_core.matching.filter import Selection
    from aviso_http.access.user import User
    from aviso_stream_gateway.bounds import FreshBounds
    from aviso_stream_gateway.moment import Timekeeper
    from aviso_stream_gateway.runs import Page, Runs
    from aviso_stream_gateway.showing import Showing

MOST_EVENTS: Final = 100_000
MOST_SECONDS: Final = 5.0
# One caller may begin so many at once, and then one in so many seconds.
BURST: Final = 5
EVERY_SECONDS: Final = 10.0
_MOST_AT_ONCE: Final = 4
_MOST_REMEMBERED: Final = 10_000


class TooManyDryRuns(Overloaded):
    """Somebody has asked for as many as they may for now."""

    code = "TOO_MANY_DRY_RUNS"


class DryRun(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted. `through_sequence` and `through_time` say how far: to the end of it where it is complete."""

    complete: bool
    examined: int
    matched: int
    matched_per_hour: float
    first_sequence: int
    through_sequence: int
    last_sequence: int
    from_time: str
    through_time: str


class DryRuns:
    """Who may have something counted now."""

    def __init__(self, timekeeper: Timekeeper) -> None:
        self._timekeeper = timekeeper
        # By caller: when they will have all that they may begin with again.
        self._whole_at: dict[object, float] = {}
        self._running = 0

    @contextmanager
    def admitted(self, user: User | None, address: str) -> Iterator[None]:
        """Count in the block, or raise why not now."""
        if self._running >= _MOST_AT_ONCE:
            raise Overloaded(
                "As many dry runs are going on as this service takes; come again a little later",
                retry_after_seconds=math.ceil(MOST_SECONDS),
            )
        self._charge(("address", address) if user is None else (user.realm, user.name))
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    def _charge(self, caller: object) -> None:
        now = self._timekeeper.now().seconds
        whole_at = max(now, self._whole_at.get(caller, now)) + EVERY_SECONDS
        too_soon = whole_at - now - BURST * EVERY_SECONDS
        if too_soon > 0:
            raise TooManyDryRuns(
                f"One caller may have one dry run in {EVERY_SECONDS:.0f} seconds; come again later",
                retry_after_seconds=math.ceil(too_soon),
            )
        if len(self._whole_at) >= _MOST_REMEMBERED:
            self._whole_at = {one: at for one, at in self._whole_at.items() if at > now}
        self._whole_at[caller] = whole_at


async def count_selected(
    log: EventLog,
    fresh: FreshBounds,
    runs: Runs,
    timekeeper: Timekeeper,
    *,
    base: str,
    showing: Showing,
    selection: Selection,
    seconds: int,
    most_seconds: float = MOST_SECONDS,
) -> DryRun:
    """Count what a filter would have selected of the last so many seconds."""
    now = int(timekeeper.unix_seconds() * SECOND)
    begin = max(0, now - seconds * SECOND)
    bounds = await fresh.of(base)
    first = await log.seek(base, begin, epoch=bounds.epoch)
    tally = _Tally(selection, first=first, last=bounds.last, begin=begin, end=now)
    pages = runs.read(base, showing, first=first, last=bounds.last, bounds=bounds, pattern=selection.pattern)
    try:
        async with asyncio.timeout(most_seconds), aclosing(pages):
            async for page in pages:
                if not tally.take(page):
                    break
                # Others are served between two pages, however fast they come.
                await asyncio.sleep(0)
            else:
                tally.complete()
    except TimeoutError:
        # What was counted until now is the answer, and says so.
        pass
    return tally.result()


class _Tally:
    """What was counted until now."""

    def __init__(self, selection: Selection, *, first: int, last: int, begin: int, end: int) -> None:
        self._matcher = Matcher(selection.filter)
        self._first = first
        self._last = last
        self._begin = begin
        self._end = end
        self._is_complete = False
        self._examined = 0
        self._matched = 0
        self._through = first - 1
        self._through_instant = begin

    def take(self, page: Page) -> bool:
        """Count a page, as far as there may be; False where there may be no more."""
        for item in page.items:
            if self._examined == MOST_EVENTS:
                return False
            self._examined += 1
            self._matched += self._matcher.selects(item.candidate)
            self._through = item.sequence
            self._through_instant = item.event.instant
        self._through = page.through
        return True

    def complete(self) -> None:
        """Note that there is nothing more to count."""
        self._is_complete = True
        self._through = max(self._through, self._last)
        self._through_instant = self._end

    def result(self) -> DryRun:
        """Return what was counted, and how much that is in an hour of the time that it covers."""
        hours = (self._through_instant - self._begin) / (3600 * SECOND)
        return DryRun(
            complete=self._is_complete,
            examined=self._examined,
            matched=self._matched,
            matched_per_hour=round(self._matched / hours, 3) if hours > 0 else 0.0,
            first_sequence=self._first,
            through_sequence=self._through,
            last_sequence=self._last,
            from_time=to_text(self._begin),
            through_time=to_text(self._through_instant),
        )
