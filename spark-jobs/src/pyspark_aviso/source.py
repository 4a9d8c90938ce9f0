"""The data source itself: which class does what that Spark may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from pyspark_aviso.options import read_forms, read_options
from pyspark_aviso.schema import RAW_DDL, event_ddl

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class AvisoDataSource(DataSource):
    """Event types of the notification service as tables to read, to follow, and to append to."""

    @classmethod
    def name(cls) -> str:
        """Return what stands in `format(…)`."""
        return "aviso"

    def schema(self) -> str:
        """Return the columns of an event; a user's own schema may name fewer of them."""
        forms = read_forms(self.options)
        if forms.format == "raw":
            return RAW_DDL
        return event_ddl(payload_as=forms.payload_as, geometry_as=forms.geometry_as)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads a range of events."""
        from pyspark_aviso.reader import reader_of

        return reader_of(read_options(self.options, "read"), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        """Return what follows event types."""
        from pyspark_aviso.stream import EventStreamReader

        return EventStreamReader(read_options(self.options, "stream"), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return what writes a table."""
        from pyspark_aviso.writer import batch_writer

        return batch_writer(read_options(self.options, "write"), schema.names, overwrite=overwrite)

    def streamWriter(  # noqa: N802 (Spark's name)
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamWriter:
        """Return what writes the batches of a stream."""
        from pyspark_aviso.writer import stream_writer

        return stream_writer(read_options(self.options, "write"), schema.names, overwrite=overwrite)
