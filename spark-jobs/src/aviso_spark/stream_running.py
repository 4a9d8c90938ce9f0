"""A query that runs: its progress told, until it ends or is asked to end behind the batch that it is at.

Spark's own `stop` breaks off the batch that runs. What was begun and not ended is done again by the next start, if that
comes while the service still knows the ids; behind a stop in good order nothing is begun, so that can be any time.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TextIO

from aviso_spark.common.progress import EVERY_SECONDS
from aviso_spark.stream_progress import BatchProgress, Sum, decode_progress, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming.query import StreamingQuery

    from aviso_spark.common.stopping import Stopping

_LOOK_EVERY_SECONDS: Final = 0.25
_TERMINATED: Final = "org.apache.spark.sql.execution.streaming.runtime.TERMINATED$"


class Following:
    """What a query has done since it was started, told every few seconds."""

    def __init__(self, query: StreamingQuery, job: str, *, every_seconds: float, out: TextIO) -> None:
        self.sum = Sum()
        self._query = query
        self._job = job
        self._every_seconds = every_seconds
        self._out = out
        self._seen = ""
        self._told = Sum()
        self._told_at = time.monotonic()
        self._last: BatchProgress | None = None

    def look(self) -> None:
        """Take in what is new, and tell it if the last line is long ago."""
        for progress in self._query.recentProgress:
            batch = decode_progress(progress.json)
            if batch.timestamp > self._seen:
                self._seen = batch.timestamp
                self.sum = self.sum.plus(batch)
                self._last = batch if batch.is_batch else self._last
        if time.monotonic() - self._told_at >= EVERY_SECONDS:
            self._tell()

    def _tell(self) -> None:
        self._told_at = time.monotonic()
        if self._last is None or self.sum == self._told:
            return
        since = self.sum.minus(self._told)
        line = told(
            self._job, since=since, whole=self.sum, last=self._last, every_seconds=self._every_seconds
        )
        self._out.write(line + "\n")
        self._out.flush()
        self._told = self.sum


def follow(
    query: StreamingQuery, job: str, stopping: Stopping, *, every_seconds: float, out: TextIO | None = None
) -> Sum:
    """Wait for the end of a query, and return what it has done. Its failure is raised."""
    following = Following(query, job, every_seconds=every_seconds, out=out or sys.stderr)
    wait_ended(query, stopping, look=following.look)
    following.look()
    return following.sum


def wait_ended(query: StreamingQuery, stopping: Stopping, *, look: Callable[[], object]) -> None:
    """Wait for the end of a query, looking every moment; when asked, end it behind the batch that it is at."""
    with stopping.letting_go(partial(begin_no_more, query)):
        while not _has_ended(query):
            look()
            # Between two batches it waits for the time of the next one, which would never be begun.
            if stopping.is_asked and not query.status["isTriggerActive"]:
                query.stop()


def _has_ended(query: StreamingQuery) -> bool:
    """Wait a moment for the end of a query, and tell whether it came. Its failure is raised."""
    # Its types know whole seconds alone; it takes parts of them.
    if not query.awaitTermination(_LOOK_EVERY_SECONDS):  # type: ignore[arg-type]  # see above
        return False
    # It says so as soon as no batch is to be begun any more, even while one runs.
    java: Any = getattr(query, "_jsq", None)
    return java is None or not java.streamingQuery().queryExecutionThread().isAlive()


def begin_no_more(query: StreamingQuery) -> None:
    """Let the batch that runs be the last of a query.

    It is the first half of Spark's own `stop`, of which the second half would break the batch off. Of a query on a
    server there is only the whole: it is stopped as soon as it is seen between two batches.
    """
    java: Any = getattr(query, "_jsq", None)
    if java is None:
        return
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    terminated = context._jvm.java.lang.Class.forName(_TERMINATED).getField("MODULE$").get(None)
    java.streamingQuery().state().set(terminated)
