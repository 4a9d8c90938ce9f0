"""What Spark is measured against: the least that a sink or a source can be, and what one would write first.

Spark sends them to its workers as they are here, so they must be registered by `session`.
"""

from __future__ import annotations

import http.client
import socket
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from streaming import EVENT_TYPE, JSON, REPLAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Row
    from pyspark.sql.streaming.datasource import ReadLimit

_COLUMNS: Final = (
    "event_type string, sequence bigint, time string, id string, "
    "identifier map<string,string>, payload string"
)

# --- writing ---------------------------------------------------------------------------------------------


class CountingSource(DataSource):
    """A sink that only counts: the ceiling of every Arrow writer."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "counting"

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
        """Return the writer."""
        return CountingWriter()


class CountingWriter(DataSourceArrowWriter):
    """Counts rows."""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Count one partition."""
        assert sum(batch.num_rows for batch in iterator)
        return WriterCommitMessage()


def loop_over_rows(
    url: str, payload_of: Callable[[str], object], *, event_type: str, records_in_a_body: int
) -> Callable[[Iterator[Row]], None]:
    """Return the loop over rows that one would write first: no ids, no compression, no repetition.

    With the fastest encoder of JSON there is here, and with what makes an object of a payload: payloads are text, and
    a notification wants an object. To decode them is what one writes first, and says like the columns which are no
    JSON; to splice them in unread is faster, and posts whatever they are.
    """
    port = urlsplit(url).port

    def write(rows: Iterator[Row]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        held = []
        for row in rows:
            record = {
                "event_type": event_type,
                "identifier": row.identifier,
                "payload": payload_of(row.payload),
            }
            held.append(msgspec.json.encode(record))
            if len(held) == records_in_a_body:
                connection.request("POST", "/api/v1/notifications", b"\n".join(held))
                connection.getresponse().read()
                held = []
        connection.close()

    return write


# --- reading ---------------------------------------------------------------------------------------------


class RowsSource(DataSource):
    """The reader that one would write first: a line, its JSON, a tuple."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "rows"

    def schema(self) -> str:
        """Return the columns that a tuple has without ado."""
        return _COLUMNS

    def reader(self, schema: Any) -> RowsReader:
        """Return the reader."""
        return RowsReader(int(self.options["port"]), self.options["request"])


class RowsReader(DataSourceReader):
    """Reads all of it in one task. With the fastest decoder of JSON that there is here."""

    def __init__(self, port: int, request: str) -> None:
        self._port = port
        self._request = request

    def partitions(self) -> list[InputPartition]:
        """Return the one."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield the events."""
        del partition
        decode, encode = msgspec.json.decode, msgspec.json.encode
        connection = HTTPConnection("127.0.0.1", self._port)
        connection.request("POST", REPLAY, self._request, {**JSON, "Accept": "application/x-ndjson"})
        for line in connection.getresponse():
            event = decode(line)
            if "complete" in event:
                return
            data = event["data"]
            yield (
                EVENT_TYPE,
                event["sequence"],
                event["time"],
                event["id"],
                {name: value for name, value in data["identifier"].items() if isinstance(value, str)},
                encode(data["payload"]).decode(),
            )


# --- following -------------------------------------------------------------------------------------------


class WordSource(DataSource):
    """A stream of words that come as datagrams: what Spark itself takes from news to a task of the sink."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "words"

    def schema(self) -> str:
        """Return the columns."""
        return "word string"

    def streamReader(self, schema: Any) -> WordReader:  # noqa: N802 (Spark's name)
        """Return the reader."""
        return WordReader(int(self.options["port"]))


class WordReader(DataSourceStreamReader):
    """Counts datagrams; its offset is how many there were."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_socket": None}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        """Return that there was none."""
        return {"words": 0}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        """Wait a moment for one more."""
        del limit
        if self._socket is None:
            self._socket = listening(self._port, seconds=1.0)
        try:
            self._socket.recv(1)
        except TimeoutError:
            return start
        return {"words": start["words"] + 1}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return one for all of them."""
        return [InputPartition(end["words"] - start["words"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield them."""
        yield pa.record_batch({"word": pa.array(["!"] * partition.value, pa.string())})


def listening(port: int = 0, *, seconds: float) -> socket.socket:
    """Return a socket for datagrams."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(("127.0.0.1", port))
    one.settimeout(seconds)
    return one


def send_word(port: int, row: Row | None = None) -> None:
    """Say that a row has come, from the task that has it."""
    del row
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"!", ("127.0.0.1", port))


SOURCES: Final[tuple[type[DataSource], ...]] = (CountingSource, RowsSource, WordSource)
