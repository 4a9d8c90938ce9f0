"""Sources that are followed: what a stream needs to know beside what a batch reads.

Spark wants the columns of a stream of files to be said, and calls the limit of a batch otherwise in each source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from aviso_spark.common.problems import NotUnderstood
from aviso_spark.sources import STAC, TABLE, Source, read_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

OBJECTS: Final = "binaryFile"
_OBJECT_COLUMNS: Final = ("path", "modificationTime", "length")
# What Spark reads of files as binary. Only what is selected is read: the content is not.
_OBJECT_DDL: Final = "path string, modificationTime timestamp, length bigint, content binary"
_FILES_AT_ONCE: Final = "maxFilesPerTrigger"
_OBJECTS_AT_ONCE: Final = 1000

_LIMITS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("avro", "csv", "json", "orc", "parquet", "text", "xml", "delta", STAC, OBJECTS), _FILES_AT_ONCE
    ),
    "aviso": "maxNotificationsPerTrigger",
    "kafka": "maxOffsetsPerTrigger",
    "rate-micro-batch": "rowsPerBatch",
}
_WITHOUT_COLUMNS: Final = ("avro", "csv", "json", "orc", "parquet", "xml")


def limited(source: Source, most: int | None) -> Source:
    """Return the source with so many of its units in a batch at most: of files, messages or rows, as it counts."""
    if most is None:
        return source
    name = _LIMITS.get(source.format)
    if name is None:
        counted = ", ".join(sorted(_LIMITS))
        raise NotUnderstood(
            f"--max-per-trigger: it is not known what '{source.format}' calls its limit (known: {counted}): "
            "give it as --option NAME=VALUE"
        )
    return replace(source, options={name: str(most), **source.options})


def new_objects(folder: str, *, glob: str | None, options: Mapping[str, str]) -> Source:
    """Return the source of objects that appear in a folder or below it: one row for each, without its content."""
    chosen = {"recursiveFileLookup": "true", _FILES_AT_ONCE: str(_OBJECTS_AT_ONCE)}
    if glob is not None:
        chosen["pathGlobFilter"] = glob
    return Source(name=folder, format=OBJECTS, options={**chosen, **options}, columns=_OBJECT_DDL)


def read_stream(session: SparkSession, source: Source, *, fields: Sequence[str] = ()) -> DataFrame:
    """Return the rows of a source as they come."""
    if source.format in _WITHOUT_COLUMNS and source.columns is None:
        raise NotUnderstood(_columns_wanted(session, source))
    rows = read_source(session.readStream, source, fields=fields)
    return rows.select(*_OBJECT_COLUMNS) if source.format == OBJECTS else rows


def _columns_wanted(session: SparkSession, source: Source) -> str:
    from pyspark.errors import PySparkException

    wanted = f"a stream of {source.format} needs its columns said: give them with --columns"
    try:
        now = read_source(session.read, source).schema.toDDL()
    except PySparkException:
        return f"{wanted} 'name STRING, level INT'; there are no files yet that they could be read from"
    return f'{wanted}; those of the files that are there now are --columns "{now}"'


def has_name(format_: str | None) -> bool:
    """Tell whether a source of this format is named by a place, as files and tables are; others have options alone."""
    return format_ is None or format_ in (TABLE, "delta") or _LIMITS.get(format_) == _FILES_AT_ONCE
