"""From a source over the service into Parquet, and the service is killed while both ends are in the middle of it."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

from support.http_faults import Held, running_fault_proxy
from support.nats import running_server
from support.spark_pipelines import announce, copy, expected, write_lines
from support.spark_service import EVENT_TYPE, running_granules, stored_contents

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from support.http_faults import Fault, Request

FILES: Final = 4
ROWS_PER_FILE: Final = 1500
ROWS: Final = FILES * ROWS_PER_FILE
GROUP: Final = "through"
_PATIENCE_SECONDS: Final = 300


class Middle:
    """Holds one post and one replay, after both have been done: nobody hears of it before the service is killed."""

    def __init__(self) -> None:
        self.go_on, self.posted, self.replayed = (threading.Event() for _ in range(3))
        self._posts = self._replays = 0

    def judge(self, request: Request) -> Fault:
        """Decide about a post."""
        if request.path.endswith("/replay"):
            self._replays += 1
            return Held(self.replayed, self.go_on) if self._replays == 6 else None
        self._posts += 1
        return Held(self.posted, self.go_on) if self._posts == 4 else None


def test_a_service_that_is_killed_between_both_ends_loses_and_repeats_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """It comes back on the same log: posts and ranges whose answers were lost are asked for again."""
    for number in range(FILES):
        write_lines(
            tmp_path / "lines" / f"{number}.txt", number * ROWS_PER_FILE, (number + 1) * ROWS_PER_FILE
        )
    middle = Middle()
    with (
        running_server(tmp_path / "nats") as broker,
        running_granules(tmp_path, broker.url) as first,
        running_fault_proxy(first.url) as proxy,
    ):
        proxy.judge = middle.judge
        writing = announce(spark, url=proxy.url, folder=tmp_path, group=GROUP, files_per_batch=1)
        reading = copy(spark, url=proxy.url, folder=tmp_path, event_type=EVENT_TYPE, is_endless=True)
        try:
            assert middle.posted.wait(_PATIENCE_SECONDS), writing.exception()
            assert middle.replayed.wait(_PATIENCE_SECONDS), reading.exception()
            first.process.kill()
            first.process.wait()
            with running_granules(tmp_path, broker.url) as second:
                proxy.target = second.url
                middle.go_on.set()
                assert writing.awaitTermination(_PATIENCE_SECONDS)
                reading.processAllAvailable()
                stored = stored_contents(second.url, **{"class": GROUP})
        finally:
            middle.go_on.set()
            reading.stop()
            writing.stop()

    assert stored == Counter(expected(GROUP, ROWS))
    rows = spark.read.parquet(str(tmp_path / "copy")).select("identifier", "payload", "sequence").collect()
    copied = Counter((row["identifier"]["class"], row["identifier"]["name"], row["payload"]) for row in rows)
    assert copied == stored
    assert Counter(row["sequence"] for row in rows) == Counter(range(1, ROWS + 1))
