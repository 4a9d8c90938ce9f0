"""`notify(df)`: rows are posted, and each gets a receipt that says what became of it.

The sink `format("aviso")` knows counts alone. Here every row comes back with its id, status, sequence and error, so
what was rejected can be looked at, mended, and posted again with the same ids.

Posting happens where Spark evaluates the receipts, and Spark evaluates a frame once for each action on it: counting and
then writing posts everything twice (the second time as duplicates, as long as the service remembers the ids). So what
`notify` returns is no frame but a handle: `write_to` posts and keeps the receipts in one action.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark_aviso.options import OptionError, read_options
from pyspark_aviso.receipt_rows import (
    BEGUN_COLUMN,
    RECEIPT_COLUMNS,
    REFUSED_COLUMN,
    encoder_of,
    is_carried,
    posting,
)
from pyspark_aviso.schema import WRITE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType


RUN_COLUMN: Final = "run"
"""Where receipts of several runs are together: the name of the run, which grows with time."""

_PLACE: Final = "__aviso_place"


class Counts(NamedTuple):
    """How many rows came to which end."""

    accepted: int
    duplicate: int
    rejected: int

    @property
    def rows(self) -> int:
        """How many rows there were."""
        return sum(self)


class Receipts:
    """Rows that are posted as soon as somebody takes the receipts. Made by `notify`."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    def write_to(self, target: str, *, format: str = "parquet", mode: str = "append") -> Counts:
        """Post the rows and keep their receipts in a folder or a table, in one action.

        A target with a slash in it is a folder, any other a table of the catalogue.
        """
        from pyspark.sql import Observation
        from pyspark.sql import functions as sql

        if self._frame.isStreaming:
            raise ValueError(
                "these rows are a stream: write `.dataframe()` with writeStream, and a checkpoint"
            )
        observed = Observation()
        metrics = [sql.count_if(sql.col("status") == status).alias(status) for status in Counts._fields]
        writer = self._frame.observe(observed, *metrics).write.format(format).mode(mode)
        if "/" in target:
            writer.save(target)
        else:
            writer.saveAsTable(target)
        return Counts(**observed.get)

    def dataframe(self) -> DataFrame:
        """Return the receipts as a frame, for streams and for transformations on the way to one single action.

        Each action on it posts everything again, and `limit` or `show` posts a part: neither count nor cache it.
        """
        return self._frame


def notify(df: DataFrame, **options: str | float) -> Receipts:
    """Post the rows of a frame, with a receipt for each; options are those of the data source, as `url=…`.

    Posted are the columns that the sink takes (`identifier`, `payload` and so on); all others are only carried into the
    receipts. Rows of a column `refused` that is not null are not posted. Without `idScope` ids of a stream's rows are
    made within its query and batch, as those of the sink are: a batch that is done again repeats nothing.
    """
    from pyspark.sql import functions as sql

    chosen = read_options({name: _text(value) for name, value in options.items()}, "write")
    if chosen.report is not None or chosen.on_reject != "fail":
        raise OptionError("options 'report' and 'onReject' belong to the sink: here every row has a receipt")
    _check_names(df.columns)
    _check_refused(df.schema)
    sent = [name for name in df.columns if name in WRITE_COLUMNS]
    # Refused before anything runs, rather than in a task.
    encoder_of(sent, chosen, scope="")
    # Of a stream this is when its batch was made, also where that is done again.
    begun = df.withColumn(BEGUN_COLUMN, sql.current_timestamp())
    return Receipts(begun.mapInArrow(posting(chosen, sent), receipts_schema(df.schema)))


def _check_names(names: Sequence[str]) -> None:
    """Refuse what would silently not be posted, or be replaced by what a receipt says."""
    known = {name.lower(): name for name in (*WRITE_COLUMNS, REFUSED_COLUMN)}
    for name in names:
        meant = known.get(name.lower(), name)
        if name != meant:
            raise ValueError(f"column {name!r} would not be posted: call it {meant!r}, or something else")
        if name.lower() in RECEIPT_COLUMNS and name not in WRITE_COLUMNS:
            raise ValueError(
                f"column {name!r} would be replaced by what the receipt says: give it another name, or drop it; "
                "receipts are posted again with replay_dead_letters(), or with dead_letters() first"
            )


def _check_refused(rows: StructType) -> None:
    """Refuse a column that says otherwise than by field and error why a row is not to be posted."""
    kind = next((field.dataType for field in rows.fields if field.name == REFUSED_COLUMN), None)
    if kind is not None and kind.simpleString() != "struct<field:string,error:string>":
        raise ValueError(
            f"column {REFUSED_COLUMN!r} is of type {kind.simpleString()}: it says which rows are not to be posted, and "
            "why, as struct<field:string,error:string>; give another column another name"
        )


def dead_letters(receipts: DataFrame) -> DataFrame:
    """Return the rows that were rejected, ready to be posted again with their ids.

    What was accepted under its id by any of these receipts is done. Where receipts say of which run they are, as those
    of the jobs do, a row that was rejected in several runs is that of the last one.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    # An id means one thing in each event type.
    known_by = ["event_type", "id"] if "event_type" in receipts.columns else ["id"]
    is_rejected = sql.col("status") == "rejected"
    done = receipts.where(~is_rejected & sql.col("id").isNotNull()).select(*known_by).distinct()
    rejected = receipts.where(is_rejected).join(done, known_by, "left_anti")
    if RUN_COLUMN in receipts.columns:
        latest = Window.partitionBy(*known_by).orderBy(sql.desc(RUN_COLUMN))
        rejected = rejected.withColumn(_PLACE, sql.rank().over(latest))
        rejected = rejected.where(sql.col("id").isNull() | (sql.col(_PLACE) == 1)).drop(_PLACE)
    kept = [name for name in rejected.columns if name in WRITE_COLUMNS or name not in RECEIPT_COLUMNS]
    return rejected.select(*kept)


def replay_dead_letters(receipts: DataFrame, **options: str | float) -> Receipts:
    """Post what was rejected once more, with the same ids: after the schema, the rights or the rows were mended."""
    return notify(dead_letters(receipts), **options)


def receipts_schema(rows: StructType) -> StructType:
    """Return the columns of the receipts for rows of these columns."""
    from pyspark.sql.types import StructType

    carried = [field for field in rows.fields if is_carried(field.name)]
    added = ", ".join(f"{name} {kind}" for name, kind in RECEIPT_COLUMNS.items())
    return StructType([*carried, *_fields(added)])


def _fields(ddl: str) -> list[StructField]:
    from pyspark.sql.types import StructType

    kind = StructType.fromDDL(ddl)
    assert isinstance(kind, StructType), "several columns"
    return kind.fields


def _text(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
