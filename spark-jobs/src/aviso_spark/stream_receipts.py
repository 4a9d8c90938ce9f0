"""A stream's receipts: the rows of each batch are posted and their receipts kept, in one query.

What Spark's file sink has written of a batch it never writes again, so there is one receipt for each row, also over
restarts. It keeps account of that below the folder, by the numbers of the batches; another stream counts its batches
from 0 as well, and the sink would take them for done and skip them unseen. So a folder belongs to one checkpoint.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sql

from aviso_spark.common.problems import JobError, NotUnderstood
from aviso_spark.stream_progress import OBSERVED, OUTCOMES
from pyspark_aviso.options import OptionError
from pyspark_aviso.places import file_system
from pyspark_aviso.receipts import notify
from pyspark_aviso.resuming import RepeatsPossible, read_point, require_known_ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from aviso_spark.common.service import ServiceAddress

PARTITIONS: Final = ("run", "status")

_BATCH: Final = re.compile(r"(\d+)(\.compact)?")
_ACCOUNT: Final = "_spark_metadata"


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


def check_folder(folder: str, checkpoint: str) -> None:
    """Refuse a folder of receipts that belongs to another stream than the checkpoint does, or to no stream."""
    begun, ended = (_latest(f"{checkpoint.rstrip('/')}/{name}") for name in ("offsets", "commits"))
    kept = _latest(f"{folder.rstrip('/')}/{_ACCOUNT}")
    if kept is None and ended is not None:
        raise NotUnderstood(
            f"--receipts {folder}: the stream of --checkpoint {checkpoint} has kept its receipts elsewhere: name that "
            "folder, or begin anew with another checkpoint"
        )
    if kept is None and _has_files(folder):
        raise NotUnderstood(
            f"--receipts {folder}: there is something in it that no stream has written: name a folder of its own"
        )
    if kept is not None and not (ended or 0) <= kept <= (-1 if begun is None else begun):
        raise NotUnderstood(
            f"--receipts {folder}: it has the receipts of another stream than that of --checkpoint {checkpoint}, and "
            "Spark would take this one's batches for done: name a folder of its own"
        )


def check_resumption(checkpoint: str, event_type: str, service: ServiceAddress) -> None:
    """Refuse to do a batch again that was begun so long ago that the service no longer knows its ids."""
    now = time.time()
    if not _is_folder(checkpoint):
        raise NotUnderstood(
            f"--checkpoint {checkpoint} is a file: name a folder, which is made where there is none"
        )
    try:
        point = read_point(checkpoint, now=now)
    except (OSError, ValueError) as error:
        raise NotUnderstood(f"--checkpoint {checkpoint} cannot be read: {error}") from error
    if point is None:
        return
    client = service.client()
    try:
        require_known_ids(client, point, (event_type,), now=now)
    except RepeatsPossible as error:
        raise JobError(f"--checkpoint {checkpoint}: {error}") from error
    finally:
        client.close()


def _latest(folder: str) -> int | None:
    """Return the highest number of a batch that a folder of Spark's accounts names."""
    found = [_BATCH.fullmatch(name) for name in _names(folder)]
    return max((int(match[1]) for match in found if match), default=None)


def _has_files(folder: str) -> bool:
    return any(not name.startswith((".", "_")) for name in _names(folder))


def _is_folder(place: str) -> bool:
    from pyarrow import fs  # type: ignore[import-untyped]  # it brings no types

    files, path = file_system(place)
    return bool(files.get_file_info(path).type in (fs.FileType.Directory, fs.FileType.NotFound))


def _names(folder: str) -> list[str]:
    from pyarrow import fs

    try:
        files, root = file_system(folder)
        return [entry.base_name for entry in files.get_file_info(fs.FileSelector(root, allow_not_found=True))]
    except (OSError, OptionError) as error:
        raise NotUnderstood(f"{folder} cannot be read: {error}") from error
