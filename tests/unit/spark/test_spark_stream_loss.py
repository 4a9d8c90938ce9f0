"""What a stream was to read and is held no more: removed from the log, or with the log as a whole."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from pyspark_aviso.offsets import LogBehind, LogReplaced
from pyspark_aviso.ranges import HistoryRemoved
from support.event_tables import ALL, following, maps, next_batch, rows_between, wait_other_offset
from support.http_server import answering, running_http_server
from support.published import published

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.http_server import Asked
    from support.published import Published


def test_history_that_was_removed_before_it_was_read_is_an_error_or_left_out(service: Published) -> None:
    """Both when a batch is planned, and when it is read."""
    with (
        following(service.url, startingOffsets="earliest") as strict,
        following(service.url, startingOffsets="earliest", failOnDataLoss="false") as lenient,
    ):
        start = strict.initialOffset()
        end = strict.latestOffset(start, ALL)
        (planned,) = strict.partitions(start, end)
        service.delete("maps", 1, 2, 3)
        with pytest.raises(HistoryRemoved, match=r"from 1, .* begins with 4.*failOnDataLoss=false"):
            strict.partitions(start, end)
        with pytest.raises(HistoryRemoved, match=r"begins with 4"):
            list(strict.read(planned))
        assert rows_between(lenient, start, end) == maps(*range(4, 11))
        assert sum(batch.num_rows for batch in lenient.read(planned)) == 7


def test_removed_history_that_was_read_already_concerns_nobody(service: Published) -> None:
    """All of it may be gone."""
    with following(service.url, startingOffsets="earliest") as reader:
        end, _ = next_batch(reader, reader.initialOffset())
        service.wipe("maps")
        service.publish("maps", range(10, 12))
        found: list[tuple[str, int]] = []
        while len(found) < 2:
            end, rows = next_batch(reader, end)
            found += rows
        assert found == maps(11, 12)


def test_a_log_that_was_replaced_is_an_error_or_read_from_its_beginning(tmp_path: Path) -> None:
    """Its sequences say nothing about what was read of the other."""
    with published("maps", folder=tmp_path) as service:
        service.publish("maps", range(10))
        with following(service.url, startingOffsets="earliest") as reader:
            end, _ = next_batch(reader, reader.initialOffset())
            service.replace("maps")
            service.publish("maps", range(100, 104))
            with pytest.raises(LogReplaced, match=r"EPOCH_CHANGED.*'maps'.*sequence 10"):
                wait_other_offset(reader, end)
            with pytest.raises(LogReplaced, match="EPOCH_CHANGED"):
                reader.partitions({"maps": {**end["maps"], "sequence": 1}}, end)
            service.replace("maps")
        with following(service.url, failOnDataLoss="false", waitSeconds=0.5) as lenient:
            began = time.monotonic()
            assert lenient.latestOffset(end, ALL) == end
            assert time.monotonic() - began >= 0.5, "nothing is no reason to ask again and again"
            service.publish("maps", range(100, 104))
            wait_other_offset(lenient, end)
            again, rows = next_batch(lenient, end)
            assert rows == maps(1, 2, 3, 4)
            assert again["maps"]["epoch"] != end["maps"]["epoch"]


# --- instances that do not know everything yet -----------------------------------------------------------


def _told(ends: list[int], ask: Callable[[str], object]) -> object:
    """Ask of a service whose instances say one after another where the log ends, the last of them for ever."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        known: object = {"status": "success", "schema": {"identifier": {}}}
        if asked.target.startswith("/api/v1/positions"):
            last = ends.pop(0) if len(ends) > 1 else ends[0]
            known = {"maps": {"epoch": "e", "first": 1, "last": last}}
        await answering(200, known)(asked, writer)

    async def run() -> object:
        async with running_http_server(answer) as server:
            return await asyncio.to_thread(ask, server.url)

    return asyncio.run(run())


_READ = {"maps": {"epoch": "e", "sequence": 100}}
_END = {"maps": {"epoch": "e", "sequence": 110}}


def test_an_instance_that_lags_behind_is_asked_again() -> None:
    """It is the same log, and nothing of it is lost."""

    def plan(url: str) -> int:
        with following(url, eventTypes="maps") as reader:
            return len(reader.partitions(_READ, _END))

    assert _told([105, 108, 110], plan) == 1


def test_a_log_that_stays_behind_is_told_after_the_deadline_under_a_name_of_its_own() -> None:
    """Or read as far as it goes, where that is accepted."""

    def plan(url: str) -> int:
        with (
            following(url, eventTypes="maps", deadlineSeconds=0.5) as strict,
            pytest.raises(LogBehind, match=r"POSITIONS_BEHIND.*sequence 110.*ends with 105"),
        ):
            strict.partitions(_READ, _END)
        with following(url, eventTypes="maps", failOnDataLoss="false") as lenient:
            return len(lenient.partitions(_READ, _END))

    assert _told([105], plan) == 1


def test_what_comes_between_two_questions_of_a_query_that_ends_by_itself_is_no_loss() -> None:
    """It is behind the end, and so its beginning is the end."""

    def ends(url: str) -> bool:
        with following(url, eventTypes="maps", startingOffsets="latest") as reader:
            reader.prepareForTriggerAvailableNow()
            start = reader.initialOffset()
            return start == reader.latestOffset(start, ALL) == _READ

    assert _told([100, 101], ends) is True


def test_a_query_that_ends_by_itself_and_asked_an_instance_that_lags_asks_again() -> None:
    """Its beginning is in a checkpoint."""

    def ends(url: str) -> object:
        with following(url, eventTypes="maps") as reader:
            reader.prepareForTriggerAvailableNow()
            return reader.latestOffset(_READ, ALL)

    assert _told([90, 95, 110], ends) == _END
