"""How fast Spark writes notifications: the data source against its ceiling, and end to end into a real service.

The first table is one core of Spark, its JVM and its Python worker pinned to it together, against a server on another
core that answers at once and stores nothing; rates are by the CPU of all that Spark is, so that what else the machine
does moves them least. What counts are ratios in one run: to a writer that only counts Arrow batches, and to the loop
over rows that one would write first. The second is everything at once on all cores: Spark, the service, and the broker
that stores.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql import functions as sql

from measure import Bar, print_table
from program import run
from pyspark_aviso.batches import Body, cut_lines
from pyspark_aviso.encode import Encoder
from pyspark_aviso.records import post_counted
from pyspark_aviso.sql_encoding import encode
from pyspark_aviso.transport import Client
from serving import ProcessTree
from spark_floors import loop_over_rows
from spark_sessions import session
from support.nats import free_ports, running_server
from support.services import running_avisod
from support.spark_service import EVENT_TYPE, on_broker

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
    from pyspark.sql import DataFrame, SparkSession

ROWS: Final = 200_000
WARM_ROUNDS: Final = 4
ROUNDS: Final = 5
END_TO_END_ROWS: Final = 200_000
# Each round makes new connections, and how Linux spreads so few of them over the processes is chance.
END_TO_END_ROUNDS: Final = 6
# Processes of the service there.
PROCESSES: Final = 2
# As a task of the sink posts unless it is told otherwise.
IN_FLIGHT: Final = 2
RECORDS_IN_A_BODY: Final = 1000
PAYLOAD_BYTES: Final = 150
# What this program is told where it is the server of another run.
_SERVE_NOTHING: Final = "--serve-nothing"


# --- the server that stores nothing ------------------------------------------------------------------------------


def serve_nothing(cpu: int) -> None:
    """Answer every post at once as if all records of a full body had been stored."""
    os.sched_setaffinity(0, {cpu})
    import asyncio

    sums = b'{"accepted":%d,"duplicate":0,"rejected":0,"failed":0,"results":[' % RECORDS_IN_A_BODY
    result = b'{"index":%d,"status":"accepted","event_type":"%s","sequence":%d,"id":"00000000000000000000000000000000"}'
    results = [result % (place, EVENT_TYPE.encode(), 10**6 + place) for place in range(RECORDS_IN_A_BODY)]
    in_full, in_short = _answer(sums + b",".join(results) + b"]}"), _answer(sums + b"]}")

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or 0))
                writer.write(in_short if b"return=minimal" in head else in_full)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=4 * 1024 * 1024)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


def _answer(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


@contextmanager
def serving_nothing(cpu: int) -> Iterator[tuple[str, int]]:
    """Run that server on a core of its own."""
    command = [sys.executable, __file__, _SERVE_NOTHING, str(cpu)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (this file)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}", process.pid
    finally:
        process.terminate()
        process.wait()


# --- measuring ---------------------------------------------------------------------------------------------------


def rows_of(spark: SparkSession, count: int, partitions: int) -> DataFrame:
    """Return rows in memory, of about 275 bytes as a line."""
    filler = "x" * (PAYLOAD_BYTES - 60)
    df = spark.range(0, count, 1, partitions).select(
        sql.create_map(
            sql.lit("class"),
            sql.concat(sql.lit("c"), sql.col("id") % 7),
            sql.lit("name"),
            sql.format_string("granule-%08d", "id"),
        ).alias("identifier"),
        sql.format_string(f'{{"location":"s3://archive/%d","size":4711,"note":"{filler}"}}', "id").alias(
            "payload"
        ),
    )
    df = df.cache()
    assert df.count() == count
    return df


def structs_of(df: DataFrame) -> DataFrame:
    """Return the same rows with their payloads as structs, in memory too."""
    fields = "location string, size bigint, note string"
    df = df.withColumn("payload", sql.from_json("payload", fields)).cache()
    df.count()
    return df


def cpu_seconds(ways: Mapping[str, Callable[[], object]], *, others: int) -> dict[str, float]:
    """Return the CPU that each way takes of this process and those below it but one, at best.

    The ways take turns, so that what the machine does besides, and how far Java has compiled, is the same for all.
    """
    tree, other = ProcessTree(os.getpid()), ProcessTree(others)
    best = dict.fromkeys(ways, float("inf"))
    for number in range(WARM_ROUNDS + ROUNDS):
        for name, work in ways.items():
            begin = tree.cpu_seconds() - other.cpu_seconds()
            work()
            used = tree.cpu_seconds() - other.cpu_seconds() - begin
            if number >= WARM_ROUNDS:
                best[name] = min(best[name], used)
    return best


def write(df: DataFrame, url: str, **options: Any) -> None:
    """Write with the data source."""
    df.write.format("aviso").mode("append").options(url=url, **options).save()


def one_core(rows: int) -> list[Bar]:
    """Measure one core of Spark, and print it."""
    cores = sorted(os.sched_getaffinity(0))
    with serving_nothing(cores[-1]) as (url, server):
        os.sched_setaffinity(0, {cores[0]})
        try:
            with session("local[1]") as spark:
                df = rows_of(spark, rows, 1)
                # To plan costs what it costs however many rows there are; a job does it once.
                lines = encode(df, event_type=EVENT_TYPE)
                lines_of_structs = encode(structs_of(df), event_type=EVENT_TYPE)
                loop = partial(
                    loop_over_rows, url, event_type=EVENT_TYPE, records_in_a_body=RECORDS_IN_A_BODY
                )
                ways: dict[str, Callable[[], object]] = {
                    "count only": lambda: df.write.format("counting").mode("append").save(),
                    "columns, ids and zstd": lambda: write(df, url, eventType=EVENT_TYPE),
                    "SQL lines, ids and zstd": lambda: write(lines, url),
                    # Of these Spark makes JSON itself, so there is nothing to check.
                    "SQL lines of structs": lambda: write(lines_of_structs, url),
                    "foreachPartition, neither": lambda: df.foreachPartition(
                        loop(payload_of=msgspec.json.decode)
                    ),
                    "foreachPartition, unread": lambda: df.foreachPartition(loop(payload_of=msgspec.Raw)),
                }
                rates = {name: rows / used for name, used in cpu_seconds(ways, others=server).items()}
        finally:
            os.sched_setaffinity(0, set(cores))
    ceiling, columns, by_sql, of_structs, naive, unread = rates.values()
    table = [(name, f"{rate:,.0f}", rate / ceiling) for name, rate in rates.items()]
    print_table("Writing, one core of Spark, nothing stored", ("way", "rows/s", "of counting"), table)
    return [
        Bar("W1 columns / count only", columns / ceiling, "≥", 0.20, ""),
        Bar("W1 columns", columns / 1000, "≥", 120, "k rows/s"),
        Bar("W2 SQL lines / count only", by_sql / ceiling, "≥", 0.28, ""),
        Bar("   of it with payloads of structs", of_structs / ceiling, "≥", 0.28, ""),
        Bar("W3 columns / foreachPartition", columns / naive, "≥", 1.8, ""),
        Bar("   of it with payloads unread", columns / unread, "≥", 1.3, ""),
    ]


def end_to_end(rows: int) -> list[Bar]:
    """Measure everything at once: Spark, the service, and a broker that stores on disk.

    The service is two processes on one port, as the chart's default is two pods: alone a process has one core. The
    ceiling is a program that has the same bodies ready and only posts them, as many at a time as Spark does.
    """
    best: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory() as name,
        running_server(Path(name) / "nats") as broker,
        running_processes(Path(name), broker.url, 1) as url_of_one,
        running_processes(Path(name), broker.url, PROCESSES) as url,
        session("local[2]") as spark,
    ):
        df = rows_of(spark, rows, 2)
        batches = df.toArrow().to_batches()
        ways: dict[str, Callable[[str], Callable[[], object]]] = {
            "columns": lambda scope: partial(write, df, url, eventType=EVENT_TYPE, idScope=scope),
            "SQL lines": lambda scope: partial(write, encode(df, event_type=EVENT_TYPE, scope=scope), url),
            "bodies that are ready": lambda scope: partial(
                post_all, url, bodies_of(batches, scope=scope), at_once=2 * IN_FLIGHT
            ),
            "columns, one process": lambda scope: partial(
                write, df, url_of_one, eventType=EVENT_TYPE, idScope=scope
            ),
        }
        for number in range(END_TO_END_ROUNDS):
            for label, way in ways.items():
                work = way(f"{label} {number}")
                begin = time.perf_counter()
                work()
                best[label] = max(best.get(label, 0.0), rows / (time.perf_counter() - begin))
    ceiling = best["bodies that are ready"]
    table = [(label, f"{rate:,.0f}", rate / ceiling) for label, rate in best.items()]
    head = ("way", "rows/s", "of posting alone")
    print_table("Writing into a service on JetStream, all cores for everything", head, table)
    return [
        Bar("end to end", best["columns"] / 1000, "≥", 25, "k rows/s"),
        Bar("   of posting alone", best["columns"] / ceiling, "≥", 0.6, ""),
        Bar("   of one process", best["columns"] / best["columns, one process"], "≥", 1, ""),
    ]


@contextmanager
def running_processes(folder: Path, broker_url: str, count: int) -> Iterator[str]:
    """Run a service of so many processes, and return where it answers."""
    [port] = free_ports(1)
    shared = {"host": "127.0.0.1", "port": port, "reuse_port": True}
    with ExitStack() as running:
        for number in range(count):
            own = folder / f"{count}-{number}"
            own.mkdir()
            running.enter_context(running_avisod(own, {**on_broker(broker_url), "application": shared}))
        yield f"http://127.0.0.1:{port}"


def bodies_of(batches: Sequence[pa.RecordBatch], *, scope: str) -> list[Body]:
    """Return what the sink posts of these rows."""
    encoder = Encoder(["identifier", "payload"], event_type=EVENT_TYPE, scope=scope, geometry_field="polygon")
    lines = [line for batch in batches for line in encoder.encode(batch).good]
    return list(cut_lines(lines, most_bytes=2**20, most_records=RECORDS_IN_A_BODY))


def post_all(url: str, bodies: Sequence[Body], *, at_once: int) -> None:
    """Post bodies."""
    client = Client(url, connections=at_once)
    with ThreadPoolExecutor(at_once) as pool, closing(client):
        posted = pool.map(lambda body: post_counted(client, EVENT_TYPE, body.data, body.records), bodies)
        assert sum(one.accepted for one in posted) == sum(body.records for body in bodies)


def main() -> None:
    """Measure, print, and judge."""
    if sys.argv[1:2] == [_SERVE_NOTHING]:
        serve_nothing(int(sys.argv[2]))
        return

    def work(arguments: Namespace) -> list[Bar]:
        first = [] if arguments.end_to_end else one_core(arguments.rows)
        return [*first, *end_to_end(END_TO_END_ROWS)]

    run(
        __doc__,
        work,
        numbers={"--rows": (ROWS, "rows of the first table")},
        flags={"--end-to-end": "measure the second table alone"},
    )


if __name__ == "__main__":
    main()
