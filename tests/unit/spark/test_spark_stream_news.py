"""How a stream learns of what is new: at once, from the service alone, and through lost connections."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from anyio.from_thread import start_blocking_portal

from pyspark_aviso.transport import Client, TransportError
from pyspark_aviso.watching import HeadWatch
from support.event_tables import ALL, following, maps, next_batch, rows_between
from support.gates import opened
from support.http_server import running_http_server, sending
from support.published import CuttingGate
from support.spark_types import sent_to_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.published import Published


def test_news_end_the_wait_at_once(service: Published) -> None:
    """Long before it would have ended by itself."""
    with following(service.url, eventTypes="maps", waitSeconds=30) as reader:
        start = reader.initialOffset()
        publisher = threading.Timer(0.3, service.publish, ("maps", range(10, 11)))
        publisher.start()
        began = time.monotonic()
        end = reader.latestOffset(start, ALL)
        waited = time.monotonic() - began
        publisher.join()
        assert end["maps"]["sequence"] == 11
        assert 0.25 <= waited < 10


def test_news_of_others_do_not_end_the_wait(service: Published) -> None:
    """Only of what is read."""
    with following(service.url, eventTypes="runs", waitSeconds=0.5) as reader:
        start = reader.initialOffset()
        service.publish("maps", range(10, 11))
        began = time.monotonic()
        assert reader.latestOffset(start, ALL) == start
        assert time.monotonic() - began >= 0.5


def test_a_stream_survives_lost_connections_without_missing_anything(service: Published) -> None:
    """However often they are lost, and whether or not anything came meanwhile."""
    gate = CuttingGate(service.port)
    with opened(gate), following(gate.url, waitSeconds=20) as reader:
        offset, found = reader.initialOffset(), list[tuple[str, int]]()
        for number in range(10, 14):
            gate.drop()
            service.publish("maps", [number])
            while not found or found[-1] != ("maps", number + 1):
                offset, rows = next_batch(reader, offset)
                found += rows
        assert found == maps(11, 12, 13, 14)


def test_a_service_that_is_gone_is_told_after_the_deadline(service: Published) -> None:
    """Rather than waited for in silence."""
    gate = CuttingGate(service.port)
    with opened(gate), following(gate.url, waitSeconds=30, deadlineSeconds=1) as reader:
        start = reader.initialOffset()
        gate.close()
        with pytest.raises(TransportError, match="deadlineSeconds"):
            reader.latestOffset(start, ALL)


@contextmanager
def answering_always(answer: bytes) -> Iterator[str]:
    """Answer whatever is asked with these bytes, and break off."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%b\r\n" % (len(answer), answer) if answer else b""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(running_http_server(sending(head + chunk))) as server,
    ):
        yield server.url


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "no positions within option 'deadlineSeconds'"),
        (b"<html>welcome</html>", "no positions within option 'deadlineSeconds'"),
        (b'event: positions\ndata: {"maps":{"epoch":1}}\n\n', "epoch"),
    ],
    ids=["nothing", "a page", "what cannot be read"],
)
def test_answers_that_tell_of_no_position_are_an_error(answer: bytes, told: str) -> None:
    """After the deadline at the latest, and never waited for in silence."""
    with answering_always(answer) as url:
        watch = HeadWatch(Client(url, deadline_seconds=0.5))
        with pytest.raises(Exception, match=told):
            watch.wait(lambda _: False, seconds=0.1)
        watch.close()


def test_closing_lets_whoever_waits_go(service: Published) -> None:
    """At once, and once for all."""
    with following(service.url) as reader:
        watch = HeadWatch(reader._client)
        closer = threading.Timer(0.2, watch.close)
        closer.start()
        began = time.monotonic()
        watch.wait(lambda head: False, seconds=30)
        assert time.monotonic() - began < 10
        closer.join()
        assert not any(thread.name == "aviso-positions" for thread in threading.enumerate())


def test_a_reader_that_waits_can_be_sent_to_tasks(service: Published) -> None:
    """What it waits with stays behind."""
    with following(service.url, startingOffsets="earliest") as reader:
        start = reader.initialOffset()
        end = reader.latestOffset(start, ALL)
        assert rows_between(sent_to_task(reader), start, end) == maps(*range(1, 11))
