"""A batch read: events of a range that is fixed when the read is planned, in partitions of so many sequences.

Planning asks the service what its logs hold; each task then reads its own ranges of them. A table that is used twice
is planned once, so both uses see the same rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql.datasource import DataSourceReader, InputPartition

from pyspark_aviso.columns import arrow_schema, check_columns, project
from pyspark_aviso.everything import Filters
from pyspark_aviso.options import OptionError
from pyspark_aviso.positions import instant_of, read_positions, seek
from pyspark_aviso.ranges import Bounds, HistoryRemoved, narrowed, plan, split_all
from pyspark_aviso.replay import Portion, Reading, read_portion
from pyspark_aviso.transport import client_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from pyspark_aviso.narrowing import Narrowing
    from pyspark_aviso.options import ReadOptions, StreamReadOptions
    from pyspark_aviso.positions import Held
    from pyspark_aviso.ranges import Range
    from pyspark_aviso.transport import Client


class EventReader(DataSourceReader):
    """Reads events that are held, once."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        check_columns(schema, options)
        check_span(options)
        self._options = options
        self._schema = schema
        self._filter = read_filter(options.filter)
        self._narrowing: Narrowing | None = None

    def partitions(self) -> list[InputPartition]:
        """Return the portions to read; for nothing Spark makes up a partition of its own."""
        client = connect(self._options)
        try:
            ranges = plan_read(client, self._options, self._narrowing)
            return partitions_of(client, ranges, Filters(self._filter))
        finally:
            client.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the events of one partition."""
        yield from read_partition(self._options, self._schema, partition)


class NarrowedReader(EventReader):
    """Reads less where a query's comparisons say that no more is wanted.

    Spark refuses a reader with this method unless `spark.sql.python.filterPushdown.enabled` is set, so there are two.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 (Spark's name)
        """Take note of what is compared, and leave all of it to Spark as well: what is read here may be too much."""
        from pyspark_aviso.narrowing import narrowing_of

        self._narrowing = narrowing_of(filters)
        return filters


def reader_of(options: ReadOptions, schema: StructType) -> EventReader:
    """Return the reader that these options ask for."""
    return (NarrowedReader if options.push_down else EventReader)(options, schema)


def connect(options: ReadOptions | StreamReadOptions) -> Client:
    """Return a client for these options."""
    return client_of(
        url=options.url,
        token_file=options.token_file,
        ca_file=options.ca_file,
        deadline_seconds=options.deadline_seconds,
    )


def read_partition(
    options: ReadOptions | StreamReadOptions, schema: StructType, partition: InputPartition
) -> Iterator[pa.RecordBatch]:
    """Yield the events of one partition in the columns of the schema."""
    if partition.value is None:
        return
    assert isinstance(partition.value, Portion), "a partition that was planned here"
    wanted = arrow_schema(schema)
    client = connect(options)
    try:
        for batch in read_portion(client, partition.value, reading_of(options)):
            yield project(batch, wanted)
    finally:
        client.close()


def partitions_of(client: Client, ranges: list[Range], filters: Filters) -> list[InputPartition]:
    """Return what tasks read of these ranges."""
    chosen: dict[str, dict[str, Any]] = {}
    for one in ranges:
        if one.event_type not in chosen:
            chosen[one.event_type] = filters.of(client, one.event_type)
    return [InputPartition(Portion(range=one, identifier=chosen[one.event_type])) for one in ranges]


def reading_of(options: ReadOptions | StreamReadOptions) -> Reading:
    """Return how ranges are read."""
    return Reading(options.format, options.fail_on_data_loss)


def read_filter(text: str | None) -> Mapping[str, Any]:
    """Return the constraints that go to the service, which alone knows what they mean."""
    if text is None or not text.strip():
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise OptionError(
            f"option 'filter' must be a JSON object of constraints on identifier fields: {error}"
        ) from error


def read_names(text: str) -> list[str]:
    """Return the event types of an option, each once."""
    return list(dict.fromkeys(name for name in (one.strip() for one in text.split(",")) if name))


def check_span(options: ReadOptions) -> None:
    """Refuse ends that are said twice, or that count in no one log; one that lies before its start leaves no rows."""
    for end in ("from", "to"):
        sequence, time = getattr(options, f"{end}_sequence"), getattr(options, f"{end}_time")
        if sequence is not None and time is not None:
            raise OptionError(
                f"options '{end}Sequence' and '{end}Time' are two ways to say one thing: give one of them"
            )
        if time is not None:
            check_date(time, f"{end}Time")
    sequences = (options.from_sequence, options.to_sequence)
    if sequences != (None, None) and len(read_names(options.event_types)) != 1:
        raise OptionError(
            "options 'fromSequence' and 'toSequence' count in one log: name one event type in option 'eventTypes', "
            "or use 'fromTime' and 'toTime'"
        )


def check_date(text: str, option: str) -> None:
    """Refuse what is no date."""
    try:
        instant_of(text)
    except (ValueError, OverflowError, OSError) as error:
        raise OptionError(
            f"option '{option}' must be a date such as 2030-01-31T06:00:00Z, or seconds since 1970; not {text!r}"
        ) from error


def plan_read(client: Client, options: ReadOptions, narrowing: Narrowing | None = None) -> list[Range]:
    """Ask what is held, and return the ranges that are everything asked for."""
    held = read_positions(client, read_names(options.event_types))
    names = [name for name, now in held.items() if now is not None]
    if narrowing is not None:
        names = list(filter(narrowing.has_event_type, names))
    wanted = {name: _bounds(client, name, options, held[name]) for name in names}
    whole = plan(wanted, held, fail_on_data_loss=options.fail_on_data_loss)
    if narrowing is not None:
        whole = [narrowed(one, *narrowing.sequences(client, one.event_type)) for one in whole]
    return split_all(whole, options.rows_per_partition)


def _bounds(client: Client, name: str, options: ReadOptions, held: Held | None) -> Bounds:
    assert held is not None, "only what has a log is asked about"
    first, last = options.from_sequence, options.to_sequence
    if options.from_time is not None:
        found = seek(client, name, options.from_time)
        if options.fail_on_data_loss and found.may_have_lost(options.from_time):
            raise HistoryRemoved(name, wanted=options.from_time, first_held=found.first)
        first = found.at
    if options.to_time is not None:
        behind = seek(client, name, options.to_time).at
        last = None if behind is None else behind - 1
    return Bounds(first=first, last=last)
