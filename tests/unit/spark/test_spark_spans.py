"""What an archive still lacks of each log."""

from __future__ import annotations

import pytest

from aviso_spark.common.problems import NotUnderstood
from aviso_spark.jobs.replay import check_epochs
from aviso_spark.spans import Span, span_to_fill, spans_to_archive
from pyspark_aviso.positions import Held


def held(first: int, last: int, epoch: str = "e1") -> Held:
    """Return what a log holds."""
    return Held(epoch=epoch, first=first, last=last)


def span(first: int, last: int, *, lost: int = 0, epoch: str = "e1") -> Span:
    """Return a part of the log."""
    return Span(event_type="a", epoch=epoch, first=first, last=last, lost=lost)


@pytest.mark.parametrize(
    ("log", "archived", "wanted"),
    [
        (held(1, 9), {}, [span(1, 9)]),
        (held(5, 9), {}, [span(5, 9)]),
        (held(1, 9), {("a", "e1"): 6}, [span(7, 9)]),
        (held(1, 9), {("a", "e1"): 9}, []),
        (held(8, 9), {("a", "e1"): 4}, [span(8, 9, lost=3)]),
        (held(10, 9), {("a", "e1"): 4}, []),
        (held(1, 3, "e2"), {("a", "e1"): 9}, [span(1, 3, epoch="e2")]),
        (None, {}, []),
    ],
    ids=[
        "all",
        "all that is held",
        "the rest",
        "nothing",
        "some is gone",
        "all is gone",
        "a new life",
        "no log",
    ],
)
def test_a_run_begins_behind_what_the_archive_has(
    log: Held | None, archived: dict[tuple[str, str], int], wanted: list[Span]
) -> None:
    """What retention took before it was archived is counted; what was before the first run is not."""
    assert spans_to_archive({"a": log}, archived) == wanted


def test_a_range_is_filled_as_far_as_it_is_held() -> None:
    """What of it is held no more is told."""
    assert span_to_fill("a", held(5, 9), first=3, last=7) == span(5, 7, lost=2)
    assert span_to_fill("a", held(5, 9), first=None, last=None) == span(5, 9)
    assert span_to_fill("a", held(5, 9), first=10, last=12) is None
    assert span_to_fill("a", held(1, 9), first=None, last=0) is None


def test_two_lives_of_one_log_are_not_replayed_together() -> None:
    """Their events have the same ids: the second's would be taken for the first's."""
    check_epochs([("a", "e1"), ("b", "e1")])
    with pytest.raises(NotUnderstood, match="--event-types a --epoch, of e1, e2"):
        check_epochs([("a", "e2"), ("a", "e1"), ("b", "e1")])
