"""Bodies: cut by bytes and by records, in order, nothing lost, and the same out of lines as out of a column."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]  # it brings no types
from hypothesis import given
from hypothesis import strategies as st

from pyspark_aviso.batches import cut_column, cut_lines

_lines = st.lists(
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12), max_size=40
)


@given(_lines, st.integers(1, 60), st.integers(1, 7))
def test_bodies_hold_every_line_once_in_order_and_no_more_than_they_may(
    texts: list[str], most_bytes: int, most_records: int
) -> None:
    """A line that is larger than a body may be goes alone."""
    lines = [f"{text}\n".encode() for text in texts]

    bodies = list(cut_lines(lines, most_bytes=most_bytes, most_records=most_records))

    assert b"".join(body.data for body in bodies) == b"".join(lines)
    for body in bodies:
        assert body.data.count(b"\n") == body.records <= most_records
        assert len(body.data) <= most_bytes or body.records == 1


@given(_lines, st.integers(1, 60), st.integers(1, 7), st.integers(0, 5))
def test_a_column_is_cut_like_its_lines_also_where_it_is_a_part_of_another(
    texts: list[str], most_bytes: int, most_records: int, skipped: int
) -> None:
    """What Spark hands over may begin within a buffer."""
    column = pa.array([f"{text}\n" for text in texts], pa.string()).slice(skipped)
    lines = [f"{text}\n".encode() for text in texts[skipped:]]

    found = list(cut_column(column, most_bytes=most_bytes, most_records=most_records))

    assert found == list(cut_lines(lines, most_bytes=most_bytes, most_records=most_records))
