"""What becomes of the rows of one batch: some are posted, some never, and each has its receipt."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types

from pyspark_aviso.encode import Encoder
from pyspark_aviso.receipt_rows import receipts_of, with_receipts
from pyspark_aviso.transport import Result

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
