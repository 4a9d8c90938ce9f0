"""Reading through Spark: history in batches beside a bare download of the same answer, and how soon a stream has news.

Bulk reads are one task on one core against `avisod` on JetStream, so three programs share two cores: the rates by the
clock are those of a whole pipeline, and what Spark itself costs is the CPU of its Java machine and its Python worker.
The floor is the same answer of the same service in the same run, read with urllib3 and thrown away. What a job costs
without a single row is measured too, and taken off the others.

News are timed from before the request that publishes them to the sink's task, which sends word over the loopback. Their
floor is a stream of Spark that waits for a datagram and asks nobody: what Spark takes for a batch is all that it takes.
"""

from __future__ import annotations

import statistics
import time
from contextlib import closing
from functools import partial
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import urllib3

import bench_replay
from load.posting import generator
from measure import Bar, print_table
from program import in_a_folder, run
from serving import free_port
from spark_floors import listening, send_word
from spark_sessions import session, spark_tree
from streaming import EVENT_TYPE, JSON, NOTIFICATION, REPLAY, announcement, avisod, everything, get, settings
from support.nats import running_server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from serving import ProcessTree, Service

EVENTS: Final = bench_replay.EVENTS
ROUNDS: Final = 3
# Single notifications, one after another has arrived, with some rest in between.
NEWS: Final = 25
# Before them as many as it takes until the Java machine has compiled what it does for each.
WARM_UP: Final = 15
REST_SECONDS: Final = 0.2
IDLE_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 60.0
_FILTER: Final = '{"class": "od"}'
_REQUESTS: Final = "aviso_http_requests_total"

FORMS: Final[dict[str, str]] = {
    "ndjson": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
}


class Read(NamedTuple):
    """How fast history was read."""

    seconds: float
    cpu_seconds: float

    @property
    def by_clock(self) -> float:
        """Thousands of rows in a second."""
        return EVENTS / self.seconds / 1000

    @property
    def by_cpu(self) -> float:
        """Thousands of rows in a second of the reader's CPU."""
        return EVENTS / self.cpu_seconds / 1000

    def without(self, start: Read) -> Read:
        """Return what is left for the rows alone."""
        return Read(self.seconds - start.seconds, self.cpu_seconds - start.cpu_seconds)


def everything_to_the_end() -> bytes:
    """Return a request with an explicit end, as a program asks that wants all of it."""
    return everything(from_sequence=1)[:-1] + b',"to_id":"%d"}' % EVENTS


def download(service: Service, accept: str) -> Read:
    """Read all of it as bytes, and throw them away."""
    pool = urllib3.PoolManager()
    began, cpu_began = time.perf_counter(), time.process_time()
    response = pool.request(
        "POST",
        f"http://127.0.0.1:{service.port}{REPLAY}",
        body=everything_to_the_end(),
        headers={**JSON, "Accept": accept},
        preload_content=False,
    )
    last = b""
    while data := response.read1(256 * 1024):
        last = data
    read = Read(time.perf_counter() - began, time.process_time() - cpu_began)
    if b'"complete":true' not in last:
        raise RuntimeError(f"the answer was cut off: {last[-200:]!r}")
    pool.clear()
    return read


def read_through_spark(
    spark: SparkSession, tree: ProcessTree, service: Service, form: str, first: int = 1
) -> Read:
    """Read rows from a sequence on, with all columns and in one task, and throw them away."""
    reader = _options(spark.read.format("aviso"), service, form)
    frame = reader.option("rowsPerPartition", EVENTS).option("fromSequence", first).load()
    began, cpu_began = time.perf_counter(), tree.cpu_seconds()
    frame.write.format("noop").mode("overwrite").save()
    return Read(time.perf_counter() - began, tree.cpu_seconds() - cpu_began)


def read_rows(spark: SparkSession, tree: ProcessTree, service: Service) -> Read:
    """Read all of it with the reader that one would write first."""
    frame = (
        spark.read.format("rows").options(port=service.port, request=everything_to_the_end().decode()).load()
    )
    began, cpu_began = time.perf_counter(), tree.cpu_seconds()
    frame.write.format("noop").mode("overwrite").save()
    return Read(time.perf_counter() - began, tree.cpu_seconds() - cpu_began)


def _options(reader: Any, service: Service, form: str) -> Any:
    options = {"url": f"http://127.0.0.1:{service.port}", "eventTypes": EVENT_TYPE, "filter": _FILTER}
    return reader.options(**options, format=form)


def check_all_read(spark: SparkSession, service: Service, form: str) -> None:
    """Make sure that it is all of it: what is fast because it is missing is not fast."""
    frame = _options(spark.read.format("aviso"), service, form).load()
    found = frame.selectExpr("count(*)", "count(DISTINCT sequence)", "max(sequence)").first()
    if tuple(found) != (EVENTS, EVENTS, EVENTS):
        raise RuntimeError(f"history is not complete: {found}")


def best(measured: Callable[[], Read]) -> Read:
    """Return the best of some rounds."""
    return min((measured() for _ in range(ROUNDS)), key=lambda read: read.seconds)


# --- news ------------------------------------------------------------------------------------------------


class News(NamedTuple):
    """How soon a stream had what was published, and what it asked while nothing was."""

    seconds: Sequence[float]
    requests_at_rest: float = 0.0

    @property
    def p95(self) -> float:
        """What one in twenty takes longer than."""
        return statistics.quantiles(self.seconds, n=20)[-1]


def follow(
    frame: DataFrame, publish: Callable[[int], None], folder: Path, rest: Callable[[], float] = lambda: 0.0
) -> News:
    """Publish single news and take the time until each is in a task of the sink; then do what is done at rest."""
    with listening(seconds=_PATIENCE_SECONDS) as arrivals:
        writer = frame.writeStream.foreach(partial(send_word, arrivals.getsockname()[1]))
        query = writer.option("checkpointLocation", str(folder)).start()
        seconds: list[float] = []
        try:
            while query.lastProgress is None:
                # A query does not tell when it has begun to wait; its first report says so, without any rows.
                time.sleep(0.05)
                if not query.isActive:
                    raise RuntimeError(query.exception())
            for number in range(WARM_UP + NEWS):
                began = time.perf_counter()
                publish(number)
                arrivals.recv(1)
                seconds.append(time.perf_counter() - began)
                time.sleep(REST_SECONDS)
            at_rest = rest()
        finally:
            query.stop()
    return News(seconds[WARM_UP:], at_rest)


def follow_words(spark: SparkSession, folder: Path) -> News:
    """Follow what is no service at all."""
    port = free_port()
    frame = spark.readStream.format("words").option("port", port).load()
    return follow(frame, lambda number: send_word(port), folder / "words")


def follow_events(spark: SparkSession, service: Service, metrics_port: int, folder: Path) -> News:
    """Follow notifications, from before the request that publishes each."""
    reader = _options(spark.readStream.format("aviso"), service, "arrow")
    record = announcement(payload_bytes=bench_replay.PAYLOAD_BYTES)
    with closing(HTTPConnection("127.0.0.1", service.port, timeout=20)) as connection:

        def publish(number: int) -> None:
            connection.request(
                "POST", NOTIFICATION, body=record.replace(b"{n:3}", b"%03d" % number), headers=JSON
            )
            answer = connection.getresponse()
            if answer.status != 200:
                raise RuntimeError(answer.read())
            answer.read()

        def rest() -> float:
            before = requests(metrics_port)
            time.sleep(IDLE_SECONDS)
            return (requests(metrics_port) - before) / IDLE_SECONDS

        return follow(reader.option("startingOffsets", "latest").load(), publish, folder / "events", rest)


def requests(metrics_port: int) -> float:
    """Return how many requests for positions or replays the service has answered, those that go on included."""
    lines = get(metrics_port, "/metrics").decode().splitlines()
    wanted = [
        line for line in lines if line.startswith(_REQUESTS) and ("positions" in line or "replay" in line)
    ]
    count = sum(float(line.rpartition(" ")[2]) for line in wanted)
    if not count:
        raise RuntimeError("the service counts no requests for positions, though it was asked")
    return count


# --- all of it -------------------------------------------------------------------------------------------


def measure(folder: Path) -> list[Bar]:
    """Run all of it and return the bars."""
    metrics_port = free_port()
    with running_server(folder / "broker") as server, session("local[1]") as spark:
        tree = spark_tree(spark)
        made = settings(broker_url=server.url, metrics={"enabled": True, "port": metrics_port})
        with avisod(folder, made) as service:
            bench_replay.fill(service)
            bare, read, starts = dict[str, Read](), dict[str, Read](), dict[str, Read]()
            for form, accept in FORMS.items():
                check_all_read(spark, service, form)
                through_spark = partial(read_through_spark, spark, tree, service, form)
                bare[form] = best(partial(download, service, accept))
                starts[form] = best(partial(through_spark, first=EVENTS))
                read[form] = best(through_spark).without(starts[form])
            naive = best(partial(read_rows, spark, tree, service)).without(starts["ndjson"])
            words = follow_words(spark, folder)
            news = follow_events(spark, service, metrics_port, folder)
    _print(bare, read, naive, starts, {"words without a service": words, "notifications": news})
    r1, r2 = read["ndjson"], read["arrow"]
    return [
        Bar("R1 NDJSON through Spark", r1.by_cpu, "≥", 120, "k/s CPU"),
        Bar("R1 beside a reader of rows, by CPU", r1.by_cpu / naive.by_cpu, "≥", 1.5, "× rows"),
        Bar("R2 Arrow through Spark, by CPU", r2.by_cpu / r1.by_cpu, "≥", 2.5, "× R1"),
        Bar("R1 beside a bare download", r1.by_clock / bare["ndjson"].by_clock, "≥", 0.5, "× download"),
        Bar("R2 beside a bare download", r2.by_clock / bare["arrow"].by_clock, "≥", 0.8, "× download"),
        Bar("L1 news in a task of the sink, p95", news.p95 * 1000, "≤", 250, "ms"),
        Bar("L1 beside words without a service", news.p95 / words.p95, "≤", 1.5, "×"),
        Bar("L1 requests at rest", news.requests_at_rest, "≤", 2, "/s"),
    ]


def _print(
    bare: dict[str, Read], read: dict[str, Read], naive: Read, starts: dict[str, Read], news: dict[str, News]
) -> None:
    rows: list[Sequence[object]] = []
    for form in FORMS:
        rows.append((f"{form}, downloaded", bare[form].by_clock, bare[form].by_cpu, 1.0))
        ratio = read[form].by_clock / bare[form].by_clock
        rows.append((f"{form}, through Spark", read[form].by_clock, read[form].by_cpu, ratio))
    ratio = naive.by_clock / bare["ndjson"].by_clock
    rows.append(("ndjson, rows as one writes them first", naive.by_clock, naive.by_cpu, ratio))
    head = ("what", "k/s clock", "k/s CPU", "× download")
    print_table(f"{EVENTS} events of 500 bytes, one task, all columns: thousands a second", head, rows)
    start = starts["arrow"]
    print(f"\na job with one row: {start.seconds:.2f} s, {start.cpu_seconds:.2f} s CPU, taken off the others")
    in_ms = [
        (name, *(round(one * 1000) for one in (statistics.median(of.seconds), of.p95, max(of.seconds))))
        for name, of in news.items()
    ]
    print_table(
        f"News until they are in a task of the sink, {NEWS} of each: ms",
        ("what", "p50", "p95", "most"),
        in_ms,
    )


def main() -> None:
    """Print the bars of reading, or why this machine cannot measure them."""
    run(__doc__, in_a_folder(measure), needs=partial(generator, "streams"))


if __name__ == "__main__":
    main()
