"""Single stories of the seam: orders of things that are rare, and that once went wrong."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from support.seam_stage import Stage
from support.seam_truth import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_SLOW_SECONDS: Final = 2.0
_EVERYTHING: Final = Span(first_sequence=1)


@contextmanager
def _stage() -> Iterator[Stage]:
    """Keep a stage for a story, whose streams are judged in the end."""
    stage = Stage()
    try:
        yield stage
        stage.finish()
    finally:
        stage.close()


def test_a_watch_does_not_join_a_feed_of_another_life_of_the_log() -> None:
    """The feed has not heard yet that its stream is gone; its sequences would be taken for those of the new one."""
    with _stage() as stage:
        stage.open(Span())
        stage.pass_time(1)
        stage.world.troubles.longest_tail_seconds = _SLOW_SECONDS
        stage.world.troubles.most_entries = 1
        stage.run(stage.world.append([("od", 0)] * 30))
        stage.pass_time(_SLOW_SECONDS)
        stage.run(stage.world.begin_life(stage.new_log()))
        late = [stage.open(Span()), stage.open(_EVERYTHING)]
        stage.turn(30)
        assert {session.reader.status for session in late} <= {200, 500}
        stage.pass_time(3 * _SLOW_SECONDS)


def test_a_stream_that_is_set_up_while_the_process_begins_to_stop_ends_with_the_others() -> None:
    """It was let in before, and nobody would end it afterwards."""
    with _stage() as stage:
        stage.world.troubles.longest_seconds = _SLOW_SECONDS
        sessions = [stage.open(_EVERYTHING, is_handed_over=place % 2 == 0) for place in range(6)]
        stage.turn(5)
        stage.do(stage.world.drain)
        stage.pass_time(20)
        assert [session.letters[-1:] for session in sessions] == ["c"] * 6
        assert all(session.frames[-1].data["reason"] == "server_shutdown" for session in sessions)


def test_who_asks_after_a_change_of_schema_does_not_fail_with_those_who_asked_before() -> None:
    """Both wait for the same feed to begin, and only the former may have it."""
    with _stage() as stage:
        stage.world.troubles.longest_seconds = _SLOW_SECONDS
        before = stage.open(Span())
        stage.turn(3)
        stage.run(stage.world.change_schema(matters=True))
        after = stage.open(Span())
        stage.pass_time(5 * _SLOW_SECONDS)
        assert (before.reader.status, after.reader.status) == (503, 200)


def test_a_change_of_schema_that_changes_nothing_ends_no_stream() -> None:
    """Also where the feed was just about to begin."""
    with _stage() as stage:
        stage.world.troubles.longest_seconds = _SLOW_SECONDS
        first = stage.open(Span())
        stage.turn(3)
        stage.run(stage.world.change_schema(matters=False))
        second = stage.open(Span())
        stage.pass_time(5 * _SLOW_SECONDS)
        stage.run(stage.world.append([("od", 0)]))
        stage.pass_time(1)
        assert first.letters.endswith("l")
        assert second.letters.endswith("l")
        assert len(stage.world.troubles.tails) == 1


def test_history_for_a_watch_is_complete_behind_a_reader_that_stalls_for_a_while() -> None:
    """What comes meanwhile waits in the log, and not for the reader."""
    with _stage() as stage:
        stage.run(stage.world.append([("od", 0)] * 20, padding=40_000))
        session = stage.open(_EVERYTHING, is_handed_over=True, stalls=True)
        stage.pass_time(5)
        for _ in range(50):
            stage.run(stage.world.append([("rd", 1)], padding=10_000))
            stage.do(lambda: session.reader.take(30_000))
            stage.pass_time(1)
        assert session.is_open
