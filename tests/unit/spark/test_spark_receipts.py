"""What becomes of the rows of one batch: some are posted, some never, and each has its receipt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
import pytest

from pyspark_aviso.encode import Encoder
from pyspark_aviso.options import read_options
from pyspark_aviso.receipt_rows import BEGUN_COLUMN, known_ids, receipts_of, with_receipts
from pyspark_aviso.results import Result
from pyspark_aviso.resuming import RepeatsPossible
from pyspark_aviso.transport import Client
from pyspark_aviso.writer import Task
from support.spark_service import EVENT_TYPE

if TYPE_CHECKING:
    from support.services import Program

ROWS = pa.table(
    {
        "identifier": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}],
        "payload": ["1", "{", "2", "3"],
        "nr": [1, 2, 3, 4],
        "id": [None, "own", None, "own-4"],
        "refused": [None, None, {"field": "name", "error": "is too short"}, None],
    }
).to_batches()[0]


def test_receipts_are_in_the_order_of_the_rows_whatever_was_posted() -> None:
    """A row that is refused or no JSON is not posted, and moves no result to a neighbour."""
    encoder = Encoder(["identifier", "payload", "id"], event_type="a", scope="", geometry_field="polygon")
    lines = encoder.encode(ROWS.select(["identifier", "payload", "id"]))
    posted: list[bytes] = []

    def post(sent: list[bytes]) -> list[Result]:
        posted.extend(sent)
        return [
            Result(index=0, status="accepted", sequence=7, attempts=2),
            Result(index=1, status="rejected", field="name", message="no"),
        ]

    batch = with_receipts(ROWS, receipts_of(ROWS, lines, post))
    assert posted == [lines.data[0], lines.data[3]]
    assert batch.schema.names == [
        *("identifier", "payload", "nr"),
        *("id", "status", "sequence", "field", "error", "attempts"),
    ]
    first, second, third, fourth = batch.to_pylist()
    assert (first["status"], first["sequence"], first["attempts"], len(first["id"])) == ("accepted", 7, 2, 32)
    assert (second["status"], second["field"], second["id"], second["attempts"]) == (
        "rejected",
        "payload",
        "own",
        0,
    )
    assert (third["status"], third["error"], len(third["id"])) == ("rejected", "is too short", 32)
    assert (fourth["status"], fourth["error"], fourth["id"], fourth["nr"]) == ("rejected", "no", "own-4", 4)


def test_an_id_that_is_no_text_is_the_fault_of_its_row() -> None:
    """It has a receipt, without an id."""
    ids = pa.array([b"\xff", b"own"], pa.binary()).view(pa.string())
    batch = pa.record_batch({"identifier": pa.array([{"name": "a"}, {"name": "b"}]), "id": ids})
    lines = Encoder(["identifier", "id"], event_type="a", scope="", geometry_field="polygon").encode(batch)

    receipts = receipts_of(batch, lines, lambda sent: [Result(index=0, status="accepted")])

    assert [(receipt.id, receipt.status, receipt.field) for receipt in receipts] == [
        (None, "rejected", "id"),
        ("own", "accepted", None),
    ]


@pytest.mark.parametrize(
    ("seconds", "attempt", "given", "is_refused"),
    [
        (300, 1, {}, True),
        (5, 1, {}, False),
        # Its first attempt may be late, and posts nothing again.
        (300, 0, {}, False),
        (300, 1, {"acceptRepeats": "true"}, False),
    ],
)
def test_what_is_tried_again_after_the_duplicate_window_is_refused(
    avisod: Program, seconds: int, attempt: int, given: dict[str, str], is_refused: bool
) -> None:
    """The rows say since when they are posted."""
    begun = pa.array([datetime.now(UTC) - timedelta(seconds=seconds)], pa.timestamp("us", tz="Europe/Rome"))
    options = read_options({"url": avisod.url, **given}, "write")

    known = known_ids(
        Client(avisod.url), options, Task(attempt=attempt), pa.record_batch({BEGUN_COLUMN: begun})
    )

    assert (known is not None) == (attempt > 0 and not given)
    if known is not None:
        check = known.check_of([EVENT_TYPE])
        if is_refused:
            with pytest.raises(RepeatsPossible, match=r"begun 300 s ago.*'acceptRepeats'"):
                check()
        else:
            check()
