"""Batch reads of which something goes wrong, between the service and the task or in what the service holds."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.datasource import InputPartition

from pyspark_aviso.offsets import LogReplaced
from pyspark_aviso.ranges import HistoryRemoved, Range
from pyspark_aviso.replay import EventsNotShown, Portion
from pyspark_aviso.transport import TransportError
from support.event_tables import FORMS, reader, rows_of, sequences
from support.gates import opened
from support.published import CuttingGate, published

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.published import Published


@contextmanager
def cutting(service: Published) -> Iterator[CuttingGate]:
    """Open a way to a service on which answers break off."""
    gate = CuttingGate(service.port)
    with opened(gate):
        yield gate


@pytest.fixture(scope="module")
def long_history() -> Iterator[Published]:
    """Return a service with more than fits into an answer's first piece."""
    with published("maps") as running:
        running.publish("maps", range(6000))
        yield running


@pytest.mark.parametrize("form", ["arrow", "ndjson", "raw"])
def test_an_answer_that_breaks_off_is_read_on_from_there(long_history: Published, form: str) -> None:
    """Wherever it breaks off, every row comes once."""
    columns = "value string" if form == "raw" else "sequence bigint"
    for sizes in ([1, 200, 1000], [70_001, 300_000, 90_007]):
        with cutting(long_history) as gate:
            made = reader(gate.url, columns, eventTypes="maps", format=form)
            partitions = made.partitions()
            gate.cut_after(*(size + 400 for size in sizes))
            rows = rows_of(made, partitions)
            assert gate.cuts == len(sizes)
        found = [json.loads(row["value"])["sequence"] if form == "raw" else row["sequence"] for row in rows]
        assert found == list(range(1, 6001))


def test_an_answer_that_breaks_off_before_its_first_byte_is_asked_for_again(long_history: Published) -> None:
    """Its head says that all is well, and then nothing comes."""
    with cutting(long_history) as gate:
        made = reader(gate.url, "sequence bigint", eventTypes="maps", format="ndjson")
        partitions = made.partitions()
        # Within the head, or right behind it.
        gate.cut_after(180, 200, 230, 260, 300, 340)
        assert len(rows_of(made, partitions)) == 6000
        assert gate.cuts == 6


@pytest.mark.parametrize("form", ["arrow", "ndjson"])
def test_an_answer_that_always_breaks_off_is_an_error_and_not_a_short_read(
    form: str,
) -> None:
    """After the deadline, which begins anew with every row."""
    with published("maps") as service, cutting(service) as gate:
        service.publish_large("maps", 2, payload_bytes=5000)
        options = {"eventTypes": "maps", "format": form, "deadlineSeconds": 1}
        made = reader(gate.url, "sequence bigint", **options)
        partitions = made.partitions()
        gate.cut_after(*[2000] * 1000)
        with pytest.raises(
            TransportError, match="from sequence 1 to 2, which is stored: the answer was cut off"
        ):
            rows_of(made, partitions)


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_that_ends_before_the_range_is_asked_for_again(form: str) -> None:
    """Whoever gave it may not know yet of all that is stored; and if nobody ever does, that is an error."""
    with published("maps") as service:
        service.publish("maps", range(3))
        options = {"eventTypes": "maps", "format": form}
        hasty = reader(service.url, "sequence bigint", **options, deadlineSeconds=1)
        patient = reader(service.url, "sequence bigint", **options)
        epoch = service.position("maps")["epoch"]
        ahead = [InputPartition(Portion(range=Range(event_type="maps", epoch=epoch, first=1, last=5)))]
        with pytest.raises(
            TransportError, match="from sequence 4 to 5, which is stored: the answer ends with 3"
        ):
            rows_of(hasty, ahead)
        publisher = threading.Timer(0.3, service.publish, ("maps", range(3, 7)))
        publisher.start()
        assert [row["sequence"] for row in rows_of(patient, ahead)] == [1, 2, 3, 4, 5]
        publisher.join()


@pytest.mark.parametrize("form", FORMS)
def test_removed_history_is_an_error_or_left_out(form: str) -> None:
    """When the read is planned, and when it is made."""
    with published("maps") as service:
        service.publish("maps", range(20))
        options = {"eventTypes": "maps", "format": form}
        strict = reader(service.url, "sequence bigint", **options)
        lenient = reader(service.url, "sequence bigint", failOnDataLoss="false", **options)
        partitions = strict.partitions()
        service.delete("maps", *range(1, 6))
        with pytest.raises(HistoryRemoved, match=r"from 1, .* begins with 6.*failOnDataLoss=false"):
            rows_of(strict, partitions)
        assert [row["sequence"] for row in rows_of(lenient, partitions)] == list(range(6, 21))
        for start in ({"fromSequence": 3}, {"fromTime": "2020-01-01"}):
            with pytest.raises(HistoryRemoved, match="begins with 6"):
                sequences(service.url, **options, **start)
            found = sequences(service.url, failOnDataLoss="false", **options, **start)
            assert found == list(range(6, 21))
        assert sequences(service.url, **options) == list(range(6, 21))
        service.wipe("maps")
        with pytest.raises(HistoryRemoved, match=r"begins with 21"):
            rows_of(strict, partitions)
        assert rows_of(lenient, partitions) == []


@pytest.mark.parametrize("form", FORMS)
def test_events_that_cannot_be_shown_are_an_error_or_left_out(form: str) -> None:
    """The service counts them, and nothing is left out in silence."""
    place = {"place": {"type": "StringHandler", "required": False}}
    without_topic = {"plain": {"identifier": place, "payload": {"required": False}}}
    with published(notification_schema=without_topic) as service:
        for place_name in ("a", "b"):
            service.notify({"event_type": "plain", "identifier": {"place": place_name}})
        with pytest.raises(EventsNotShown, match=r"2 events of 'plain' .* failOnDataLoss=false"):
            sequences(service.url, eventTypes="plain", format=form)
        assert sequences(service.url, eventTypes="plain", format=form, failOnDataLoss="false") == []


def test_a_log_that_was_replaced_is_never_taken_for_the_one_of_the_plan(tmp_path: Path) -> None:
    """Its events have the same sequences, and are others."""
    with published("maps", folder=tmp_path) as service:
        service.publish("maps", range(20))
        for form in FORMS:
            made = reader(service.url, "sequence bigint", eventTypes="maps", format=form)
            partitions = made.partitions()
            service.replace("maps")
            service.publish("maps", range(100, 130))
            with pytest.raises(LogReplaced, match=r"EPOCH_CHANGED.*'maps'"):
                rows_of(made, partitions)
        assert sequences(service.url, eventTypes="maps") == list(range(1, 31))
