"""What is read by which task, as values: every sequence that is asked for and held is in exactly one range."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_aviso.offsets import (
    NOTHING,
    LogBehind,
    LogReplaced,
    Mark,
    admit,
    between,
    check_log,
    decode,
    encode,
    is_behind,
)
from pyspark_aviso.positions import Held
from pyspark_aviso.ranges import MOST_PARTITIONS, Bounds, HistoryRemoved, Range, plan, split, split_all

EPOCH: Final = "a"


def held(first: int, last: int, *, epoch: str = EPOCH) -> Held:
    """Return what a log holds."""
    return Held(epoch=epoch, first=first, last=last, messages=last - first + 1)


def sequences(ranges: list[Range]) -> dict[str, list[int]]:
    """Return the sequences of ranges, in their order."""
    found: dict[str, list[int]] = {}
    for one in ranges:
        found.setdefault(one.event_type, []).extend(range(one.first, one.last + 1))
    return found


def refuse(error: Exception) -> None:
    """Take no loss."""
    raise error


# --- ranges ----------------------------------------------------------------------------------------------

_ends = st.none() | st.integers(1, 120)
_logs = st.builds(
    lambda first, size, epoch: held(first, first + size - 1, epoch=epoch),
    st.integers(1, 60),
    st.integers(0, 60),
    st.sampled_from(["a", "b"]),
)


@given(log=_logs, first=_ends, last=_ends, rows=st.integers(1, 50))
def test_ranges_are_what_is_asked_for_and_held_exactly_once(
    log: Held, first: int | None, last: int | None, rows: int
) -> None:
    """In order, none larger than allowed, none empty, and all in the log's own life."""
    bounds = {"maps": Bounds(first=first, last=last)}
    ranges = split_all(plan(bounds, {"maps": log}, fail_on_data_loss=False), rows)
    wanted = range(max(first or 1, log.first), min(last or log.last, log.last) + 1)
    assert sequences(ranges).get("maps", []) == list(wanted)
    assert all(1 <= one.size <= rows and one.epoch == log.epoch for one in ranges)
    sizes = [one.size for one in ranges]
    assert not sizes or max(sizes) - min(sizes) <= 1


@given(log=_logs, first=_ends, last=_ends)
def test_what_was_removed_is_told_exactly_where_some_of_it_was_asked_for(
    log: Held, first: int | None, last: int | None
) -> None:
    """Who names no beginning asks for whatever is held."""
    bounds = {"maps": Bounds(first=first, last=last)}
    end = min(last or log.last, log.last)
    is_missing = first is not None and first < log.first and first <= end
    if is_missing:
        with pytest.raises(
            HistoryRemoved, match=rf"from {first}, .* begins with {log.first}.*failOnDataLoss"
        ):
            plan(bounds, {"maps": log})
    else:
        plan(bounds, {"maps": log})


def test_an_event_type_without_a_log_has_no_ranges() -> None:
    """Nor has an empty log."""
    wanted = {"maps": Bounds(), "runs": Bounds(first=5)}
    assert split_all(plan(wanted, {"maps": None, "runs": held(1, 0)}), 10) == []


def test_parts_of_a_range_are_of_about_the_same_size() -> None:
    """Rather than all but the last full."""
    whole = Range(event_type="maps", epoch=EPOCH, first=5, last=15)
    assert [(one.first, one.last) for one in split(whole, 10)] == [(5, 9), (10, 15)]


def test_there_are_never_more_partitions_than_can_be_planned() -> None:
    """Nobody waits for a thousand million tasks: the parts are larger then, of about the same size again."""
    whole = [
        Range(event_type=name, epoch=EPOCH, first=1, last=last) for name, last in (("a", 10**9), ("b", 10))
    ]
    parts = split_all(whole, 1)
    assert MOST_PARTITIONS <= len(parts) <= MOST_PARTITIONS + len(whole)
    assert sum(part.size for part in parts) == 10**9 + 10
    assert max(part.size for part in parts) <= 10**9 // MOST_PARTITIONS + 1


# --- offsets ---------------------------------------------------------------------------------------------


def test_offsets_are_written_the_same_if_they_are_the_same() -> None:
    """Spark compares them as text."""
    offset = {"b": Mark("x", 2), "a": Mark("y", 1)}
    written = encode(offset)
    assert list(written) == ["a", "b"]
    assert written["a"] == {"epoch": "y", "sequence": 1}
    assert decode(written) == offset


_heads = st.dictionaries(st.sampled_from("abcd"), st.none() | _logs, min_size=1)


@st.composite
def _reads(draw: st.DrawFn, heads: dict[str, Held | None]) -> dict[str, Mark]:
    """Draw how far logs were read, each in its life, but not all of them."""
    found: dict[str, Mark] = {}
    for name, log in heads.items():
        if log is not None and draw(st.booleans()):
            found[name] = Mark(log.epoch, draw(st.integers(log.first - 1, log.last)))
    return found


@given(data=st.data(), heads=_heads, most=st.integers(1, 40))
def test_batches_of_limited_size_come_to_the_head_and_hold_everything_once(
    data: st.DataObject, heads: dict[str, Held | None], most: int
) -> None:
    """None is larger than allowed, none is empty before the head is reached."""
    start = data.draw(_reads(heads))
    offset, seen = start, dict[str, list[int]]()
    while (end := admit(offset, heads, most=most)) != offset:
        ranges = between(offset, end, heads, rows_per_partition=7, on_loss=refuse)
        count = sum(one.size for one in ranges)
        assert count <= most
        assert count > 0 or end.keys() > offset.keys()
        for name, found in sequences(ranges).items():
            seen.setdefault(name, []).extend(found)
        offset = end
    for name, log in heads.items():
        if log is not None:
            first = start[name].sequence + 1 if name in start else log.first
            assert seen.get(name, []) == list(range(first, log.last + 1)), name
            assert offset[name] == Mark(log.epoch, log.last) or log.last < log.first


def test_a_batch_is_shared_by_those_who_wait() -> None:
    """One for each, the others in proportion, and what is left of them to the one with most."""
    heads = {"a": held(1, 100), "b": held(1, 10), "c": held(1, 1)}
    start = dict.fromkeys(heads, Mark(EPOCH, 0))
    end = admit(start, heads, most=10)
    assert {name: mark.sequence for name, mark in end.items()} == {"a": 8, "b": 1, "c": 1}
    end = admit({**start, "a": Mark(EPOCH, 90)}, heads, most=10)
    assert {name: mark.sequence for name, mark in end.items()} == {"a": 95, "b": 4, "c": 1}


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=9),
    st.integers(1, 12),
    st.integers(0, 3000),
    st.integers(0, 10**6),
)
def test_whoever_waits_comes_on_within_a_bounded_number_of_batches(
    waiting: list[int], most: int, more: int, begin: int
) -> None:
    """However many others come meanwhile: all of them once around, and no batch larger than it may be."""
    names = [f"type-{number}" for number in range(len(waiting))]
    offset = {name: Mark(EPOCH, begin + place) for place, name in enumerate(names)}
    ends = {name: mark.sequence + count for (name, mark), count in zip(offset.items(), waiting, strict=True)}
    start, stalled = offset, [name for name, count in zip(names, waiting, strict=True) if count]
    for _ in range(-(-len(names) // most)):
        heads = {name: held(1, end) for name, end in ends.items()}
        after = admit(offset, heads, most=most)
        assert sum(after[name].sequence - offset[name].sequence for name in names) <= most
        offset, ends[names[0]] = after, ends[names[0]] + more
    assert all(offset[name].sequence > start[name].sequence for name in stalled)


@pytest.mark.parametrize("now", [held(1, 9, epoch="b"), None])
def test_another_log_under_the_same_name_is_told(now: Held | None) -> None:
    """One with another epoch, and none any more."""
    with pytest.raises(LogReplaced, match=r"EPOCH_CHANGED.*sequence 5.*failOnDataLoss"):
        check_log("maps", Mark(EPOCH, 5), now)


def test_a_log_that_ends_before_what_was_read_of_it_is_no_other_log() -> None:
    """Whoever says so may lag behind, so it can be asked again."""
    read = {"maps": Mark(EPOCH, 5), "runs": NOTHING}
    with pytest.raises(LogBehind, match=r"POSITIONS_BEHIND.*sequence 5.*ends with 4.*failOnDataLoss"):
        check_log("maps", read["maps"], held(1, 4))
    assert is_behind(read, {"maps": held(1, 4)})
    for now in (held(1, 5), held(1, 4, epoch="b"), None):
        assert not is_behind(read, {"maps": now, "runs": held(1, 0)})


@pytest.mark.parametrize("now", [None, held(1, 0), held(3, 9, epoch="b")])
def test_who_has_read_nothing_has_lost_nothing(now: Held | None) -> None:
    """There was no log yet."""
    check_log("maps", NOTHING, now)


def test_removed_history_between_two_offsets_is_told_and_then_left_out() -> None:
    """Where that is accepted, the batch holds what is still there."""
    lost: list[Exception] = []
    start, end = {"maps": Mark(EPOCH, 3)}, {"maps": Mark(EPOCH, 9)}
    with pytest.raises(HistoryRemoved, match=r"from 4, .* begins with 7"):
        between(start, end, {"maps": held(7, 20)}, rows_per_partition=10, on_loss=refuse)
    ranges = between(start, end, {"maps": held(7, 20)}, rows_per_partition=10, on_loss=lost.append)
    assert sequences(ranges) == {"maps": [7, 8, 9]}
    assert [type(one) for one in lost] == [HistoryRemoved]


def test_a_replaced_log_is_read_from_its_beginning_where_that_is_accepted() -> None:
    """What is left of the old one is nothing, and a batch that was to read it is empty."""
    lost: list[Exception] = []
    new = {"maps": held(1, 4, epoch="b")}
    start = {"maps": Mark("a", 50)}
    end = admit(start, new, most=None)
    assert end == {"maps": Mark("b", 4)}
    assert sequences(between(start, end, new, rows_per_partition=9, on_loss=lost.append)) == {
        "maps": [1, 2, 3, 4]
    }
    old_end = {"maps": Mark("a", 60)}
    assert between(start, old_end, new, rows_per_partition=9, on_loss=lost.append) == []
    assert {type(one) for one in lost} == {LogReplaced}


def test_of_a_replaced_log_of_which_nothing_was_read_the_new_one_is_kept() -> None:
    """Else a stream that has accepted the loss once could never again be one that fails on it."""
    start = {"read": Mark("a", 4), "unread": Mark("a", 0)}
    head = {"read": held(1, 4), "unread": held(1, 0, epoch="b")}
    end = admit(start, head, most=None)
    assert end == {"read": Mark("a", 4), "unread": Mark("b", 0)}
    lost: list[Exception] = []
    assert between(start, end, head, rows_per_partition=10, on_loss=lost.append) == []
    assert [type(one) for one in lost] == [LogReplaced]
    for name, mark in end.items():
        check_log(name, mark, head[name])


def test_an_event_type_that_appears_is_read_from_where_it_begins() -> None:
    """That its log has lost its beginning long ago concerns nobody."""
    log = {"maps": held(5, 8)}
    entered = admit({}, log, most=None)
    assert between({}, entered, log, rows_per_partition=9, on_loss=refuse) == []
    end = admit(entered, log, most=None)
    ranges = between(entered, end, log, rows_per_partition=9, on_loss=refuse)
    assert sequences(ranges) == {"maps": [5, 6, 7, 8]}


def test_a_batch_of_an_event_type_that_appeared_is_the_same_again_or_its_loss_is_told() -> None:
    """Its beginning may have been removed before the batch is done again."""
    later = {"maps": held(501, 1000)}
    entered = admit({}, {"maps": held(1, 1000)}, most=None)
    end = admit(entered, {"maps": held(1, 1000)}, most=None)
    assert between({}, entered, later, rows_per_partition=9, on_loss=refuse) == []
    with pytest.raises(HistoryRemoved, match=r"from 1, .* begins with 501"):
        between(entered, end, later, rows_per_partition=9, on_loss=refuse)
    with pytest.raises(HistoryRemoved, match=r"from 1, .* begins with 501"):
        between({}, end, later, rows_per_partition=9, on_loss=refuse)
