"""What Spark says about the batches of a stream becomes sums and lines that people can read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aviso_spark.stream_progress import BatchProgress, Sum, behind, decode_progress, told


def progress(batch_id: int = 7, **more: Any) -> BatchProgress:
    """Return what Spark says about a batch of two seconds."""
    said = {
        "batchId": batch_id,
        "timestamp": "2030-01-01T00:00:00.000Z",
        "numInputRows": 10,
        "durationMs": {"addBatch": 1500, "triggerExecution": 2000},
        "observedMetrics": {"receipts": {"accepted": 7, "duplicate": 2, "rejected": 1}},
        **more,
    }
    return decode_progress(json.dumps(said))


def test_batches_are_added_up() -> None:
    """Outcomes come from the receipts themselves, not from what was read."""
    done = Sum().plus(progress()).plus(progress(8))
    assert done.counts() == {"batches": 2, "rows": 20, "accepted": 14, "duplicate": 4, "rejected": 2}
    assert (done.rows_per_second, done.minus(Sum().plus(progress())).rows) == (5.0, 10)


def test_a_look_that_found_nothing_is_no_batch() -> None:
    """Spark tells of those as well, under the number of the batch that will come."""
    looked = progress(durationMs={"latestOffset": 3, "triggerExecution": 3}, observedMetrics={})
    assert Sum().plus(looked) == Sum()


def test_the_line_tells_what_is_new_and_what_there_is_in_all() -> None:
    """Whoever sees one line alone knows whether it goes well."""
    line = told(
        "stream-notify",
        since=Sum().plus(progress()),
        whole=Sum().plus(progress()).plus(progress()),
        last=progress(),
        every_seconds=10,
    )
    assert line == "stream-notify: batch 7; 10 rows, 5.0 rows/s; 20 in all, 2 rejected"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ({"endOffset": {"logOffset": 3}, "latestOffset": None}, ""),
        ({"endOffset": 5, "latestOffset": 9}, "behind: 4 offsets"),
        (
            {"endOffset": {"t": {"0": 5, "1": 9}}, "latestOffset": {"t": {"0": 7, "1": 9}}},
            "behind: 2 offsets",
        ),
        (
            {
                "endOffset": {"a": {"epoch": "x", "sequence": 5}},
                "latestOffset": {"a": {"epoch": "x", "sequence": 8}, "b": {"epoch": "y", "sequence": 2}},
            },
            "behind: 5 offsets",
        ),
        ({"metrics": {"numFilesOutstanding": "12"}}, "behind: 12 files"),
        (
            {"metrics": {"maxOffsetsBehindLatest": "1200.0"}, "latestOffset": 1, "endOffset": 0},
            "behind: 1,200 messages",
        ),
    ],
)
def test_how_much_waits_is_told_as_far_as_the_source_says(source: dict[str, Any], line: str) -> None:
    """Sources say it each in its own way, and files not at all."""
    assert behind(progress(sources=[source]), every_seconds=10) == line


def test_batches_that_take_longer_than_they_may_are_told() -> None:
    """It is what can be known of a source that does not say how much waits."""
    late = progress(sources=[{}])
    assert behind(late, every_seconds=1) == "behind: a batch took 2 s and is to take 1 s"
    assert behind(late, every_seconds=0) == ""
