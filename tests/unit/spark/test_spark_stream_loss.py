"""What a stream was to read and is held no more: removed from the log, or with the log as a whole."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from pyspark_aviso.offsets import LogReplaced
from pyspark_aviso.ranges import HistoryRemoved
from support.event_tables import ALL, following, maps, next_batch, rows_between, wait_other_offset
from support.published import published

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.published import Published


@pytest.fixture
def service() -> Iterator[Published]:
    """Return a service with two event types and ten events of one."""
    with published("maps", "runs") as running:
        running.publish("maps", range(10))
        yield running


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
