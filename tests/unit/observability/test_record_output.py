"""Lines on their way to a descriptor that may be slow, stuck or gone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aviso_http.records.output import LineWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

# Far more than any test needs.
SECONDS = 20.0
# A writer that never writes by itself: only what is asked for at once is.
NEVER = 3600.0


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    try:
        yield reader, writer
    finally:
        for end in (reader, writer):
            try:
                os.close(end)
            except OSError:
                continue


def _read_to_end(reader: int) -> bytes:
    with open(reader, "rb", closefd=False) as file:
        return file.read()


def test_lines_arrive_in_their_order() -> None:
    with _pipe() as (reader, writer):
        output = LineWriter(writer)
        for number in range(1000):
            assert output.put(b"%d\n" % number)
        assert output.close(seconds=SECONDS)
        os.close(writer)
        assert _read_to_end(reader).split() == [b"%d" % number for number in range(1000)]


def test_a_line_is_written_soon_by_itself() -> None:
    with _pipe() as (reader, writer):
        output = LineWriter(writer)
        output.put(b"one\n")
        assert os.read(reader, 100) == b"one\n"
        output.close(seconds=SECONDS)


def test_an_urgent_line_takes_the_others_along_at_once() -> None:
    with _pipe() as (reader, writer):
        output = LineWriter(writer, linger_seconds=NEVER)
        output.put(b"one\n")
        output.put(b"two\n", at_once=True)
        assert os.read(reader, 100) == b"one\ntwo\n"
        output.close(seconds=SECONDS)


def test_flushing_waits_until_everything_is_written() -> None:
    with _pipe() as (reader, writer):
        output = LineWriter(writer, linger_seconds=NEVER)
        output.put(b"one\n")
        assert output.flush(seconds=SECONDS)
        assert os.read(reader, 100) == b"one\n"
        assert output.flush(seconds=SECONDS), "nothing to write is written"
        output.close(seconds=SECONDS)


def test_nobody_waits_for_a_reader_that_stopped() -> None:
    """What does not fit is dropped, the rest arrives when reading goes on, and then there is room again."""
    line = b"x" * 1023 + b"\n"
    with _pipe() as (reader, writer):
        output = LineWriter(writer, limit_bytes=1024 * 1024)
        taken = sum(output.put(line) for _ in range(4096))
        assert 1024 <= taken < 4096
        assert not output.flush(seconds=0.01)
        received = 0
        while received < taken * len(line):
            received += len(os.read(reader, 65_536))
        assert output.flush(seconds=SECONDS)
        assert output.put(line)
        output.close(seconds=SECONDS)


def test_closing_gives_up_on_a_reader_that_stopped() -> None:
    with _pipe() as (_, writer):
        output = LineWriter(writer)
        output.put(b"x" * 1024 * 1024)
        assert not output.close(seconds=0.05)
        assert not output.put(b"late"), "nothing is taken any more"
        # Closing the reader's end lets the thread go.


def test_lines_that_nobody_reads_are_counted() -> None:
    with _pipe() as (reader, writer):
        os.close(reader)
        output = LineWriter(writer)
        assert output.put(b"one\n")
        assert output.put(b"two\n")
        assert output.flush(seconds=SECONDS)
        assert output.take_lost() == 2
        assert output.lost == 0
        assert output.put(b"three\n"), "another reader may come"
        output.close(seconds=SECONDS)


def test_a_descriptor_that_somebody_made_non_blocking_gets_everything() -> None:
    with _pipe() as (reader, writer):
        os.set_blocking(writer, False)
        output = LineWriter(writer)
        output.put(b"x" * 1024 * 1024)
        received = 0
        while received < 1024 * 1024:
            received += len(os.read(reader, 65_536))
        assert output.close(seconds=SECONDS)


def test_lines_of_many_threads_stay_whole() -> None:
    with _pipe() as (reader, writer):
        output = LineWriter(writer)

        def put(number: int) -> None:
            for _ in range(200):
                output.put(b"%d" % number * 100 + b"\n", at_once=number % 2 == 0)

        threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
        collected: list[bytes] = []
        collecting = threading.Thread(target=lambda: collected.append(_read_to_end(reader)))
        for thread in (*threads, collecting):
            thread.start()
        for thread in threads:
            thread.join()
        assert output.close(seconds=SECONDS)
        os.close(writer)
        collecting.join()
        lines = collected[0].split()
        assert len(lines) == 8 * 200
        assert all(len(set(line)) == 1 for line in lines)


_STUCK = """
import asyncio, sys
from aviso_core.settings.model import Logging
from aviso_http.records.counts import RecordCounts
from aviso_http.records.log import Log
from aviso_http.records.open import open_records

log = Log("test")
counts = RecordCounts()

async def main():
    longest = 0.0
    loop = asyncio.get_running_loop()
    for _ in range(100):
        began = loop.time()
        for _ in range(200):
            log.info("test", "x" * 1000)
        log.error("test", "urgent")
        await asyncio.sleep(0)
        longest = max(longest, loop.time() - began)
    return longest

with open_records(Logging(), resource={}, counts=counts):
    longest = asyncio.run(main())
    print("served", file=sys.stderr, flush=True)
print(longest, counts.dropped, file=sys.stderr, flush=True)
"""


def test_a_process_goes_on_and_ends_while_nobody_reads_its_output() -> None:
    """Twenty megabytes of records into a pipe that nobody empties: no turn of the loop waits, and it exits."""
    with _pipe() as (_, writer):
        process = subprocess.run(
            [sys.executable, "-c", _STUCK],
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=60,
            check=True,
        )
    served, measured = process.stderr.decode().splitlines()
    longest, dropped = measured.split()
    assert served == "served"
    # A stuck write would have lasted for ever; a busy machine may take a while for two hundred records.
    assert float(longest) < 5
    assert int(dropped) > 10_000
