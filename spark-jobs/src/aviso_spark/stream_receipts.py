"""A stream's receipts: the rows of each batch are posted and their receipts kept, in one query.

What Spark's file sink has written of a batch it never writes again, so there is one receipt for each row, also over
restarts. It keeps account of that below the folder, by the numbers of the batches; another stream counts its batches
from 0 as well, and the sink would take them for done and skip them unseen. So a folder belongs to one checkpoint.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it brings no types
from pyspark.errors import PySparkException
from pyspark.sql import functions as sql

from aviso_spark.common.problems import JobError, NotUnderstood
from aviso_spark.common.telling import shown
from aviso_spark.stream_progress import OBSERVED, OUTCOMES, STREAM_ACCOUNT
from pyspark_aviso.receipts import notify
from pyspark_aviso.resuming import Point, RepeatsPossible, made_at, require_known_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from aviso_spark.common.service import ServiceAddress
    from aviso_spark.folders import ReadsFiles

    OpenFolder: TypeAlias = Callable[[str], ReadsFiles]

PARTITIONS: Final = ("run", "status")

_BATCH: Final = re.compile(r"(\d+)(\.compact)?")


def keeping_receipts(
    rows: DataFrame, *, service: ServiceAddress, id_scope: str | None, run: str, folder: str
) -> DataStreamWriter:
    """Return the query that posts rows and keeps their receipts."""
    scope = {} if id_scope is None else {"idScope": id_scope}
    receipts = notify(rows, **service.options(), **scope).dataframe()
    counted = receipts.observe(
        OBSERVED, *[sql.count_if(sql.col("status") == name).alias(name) for name in OUTCOMES]
    )
    named = counted.withColumn("run", sql.lit(run))
    return named.writeStream.format("parquet").option("path", folder).partitionBy(*PARTITIONS)


def check_folder(folder: str, checkpoint: str, *, open_: OpenFolder) -> None:
    """Refuse a folder of receipts that belongs to another stream than the checkpoint does, or to no stream."""
    with _readable(f"--checkpoint {checkpoint}"):
        remembered = open_(checkpoint)
        begun, ended = (_latest(remembered.names(name)) for name in ("offsets", "commits"))
    with _readable(f"--receipts {folder}"):
        receipts = open_(folder)
        kept, is_used = _latest(receipts.names(STREAM_ACCOUNT)), _has_data(receipts.names())
    if kept is None and ended is not None:
        raise NotUnderstood(
            f"--receipts {folder}: the stream of --checkpoint {checkpoint} has kept its receipts elsewhere: name that "
            "folder, or begin anew with another checkpoint"
        )
    if kept is None and is_used:
        raise NotUnderstood(
            f"--receipts {folder}: there is something in it that no stream has written: name a folder of its own"
        )
    if kept is not None and not (ended or 0) <= kept <= (-1 if begun is None else begun):
        raise NotUnderstood(
            f"--receipts {folder}: it has the receipts of another stream than that of --checkpoint {checkpoint}, and "
            "Spark would take this one's batches for done: name a folder of its own"
        )


def check_resumption(checkpoint: str, event_type: str, service: ServiceAddress, *, open_: OpenFolder) -> None:
    """Refuse to do a batch again that was begun so long ago that the service no longer knows its ids."""
    now = time.time()
    with _readable(f"--checkpoint {checkpoint}"):
        folder = open_(checkpoint)
        if folder.is_file():
            raise NotUnderstood(
                f"--checkpoint {checkpoint} is a file: name a folder, which is made where there is none"
            )
        point = _begun_point(folder, now=now)
    if point is None:
        return
    client = service.client()
    try:
        require_known_ids(client, point, (event_type,), now=now)
    except RepeatsPossible as error:
        raise JobError(f"--checkpoint {checkpoint}: {error}") from error
    finally:
        client.close()


def _begun_point(checkpoint: ReadsFiles, *, now: float) -> Point | None:
    """Return the batch that was begun and not ended; None where there is none."""
    begun, ended = (_latest(checkpoint.names(name)) for name in ("offsets", "commits"))
    if begun is None or begun == ended:
        return None
    path = f"offsets/{begun}"
    return Point(begun, made_at(path, checkpoint.read_text(path)), now)


@contextmanager
def _readable(argument: str) -> Iterator[None]:
    """Tell which argument named a place that cannot be read."""
    try:
        yield
    except (OSError, ValueError, Py4JError, PySparkException) as error:
        raise NotUnderstood(f"{argument} cannot be read: {shown(error)}") from error


def _latest(names: Iterable[str]) -> int | None:
    """Return the highest number of a batch that is the name of a file in one of Spark's accounts."""
    found = map(_BATCH.fullmatch, names)
    return max((int(match[1]) for match in found if match), default=None)


def _has_data(names: Iterable[str]) -> bool:
    return any(not name.startswith((".", "_")) for name in names)
