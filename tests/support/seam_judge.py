"""The judgement of one stream, everything having come to rest: what it showed, how it ended, and whether it had to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.seam_truth import explain, is_legal
from support.seam_world import MOST_STREAMS

if TYPE_CHECKING:
    from support.seam_world import Session, World


def judge(world: World, session: Session) -> None:
    """Make sure that a stream showed what it had to, or was refused or closed for a reason."""
    reader, told = session.reader, f"stream {session.number} of {session.span}: {session.letters}"
    if reader.status != 200:
        assert reader.has_left or _may_refuse(world, session), f"{told}: {reader.status} {reader.refusal!r}"
        return
    has_start = not session.span.is_live_only
    assert is_legal(session.frames, is_watch=session.is_watch, has_start=has_start), told
    assert _is_within_limit(world, session), f"{told}: more history than there may be"
    if session.opened is not None:
        contradiction = explain(
            session.seen(),
            session.span,
            session.selects,
            _places(world, session),
            world.lives,
            session.number,
        )
        assert not contradiction, f"{told}: {contradiction}"
    if reader.is_over and not reader.has_left:
        _judge_end(world, session, told)
    if world.is_draining or session in world.must_end:
        assert not session.is_open, f"{told}: goes on"


def _places(world: World, session: Session) -> dict[int, range]:
    """Return where the log was, in each of its lives, while a stream was opened."""
    begin, opened = session.begin, session.opened
    assert opened is not None
    return {
        life: range(
            begin.last if life == begin.life else 0,
            (opened.most if life == opened.life else world.lives[life].last) + 1,
        )
        for life in range(begin.life, opened.life + 1)
    }


def _is_within_limit(world: World, session: Session) -> bool:
    shown = session.letters.count("r")
    return shown == world.most_history if "L" in session.letters else shown <= world.most_history


def _may_refuse(world: World, session: Session) -> bool:
    match session.reader.status:
        case 400:
            # An end before the start; whether it is one is another test's affair.
            return session.span.last_sequence is not None or session.span.last_instant is not None
        case 500 if b"made anew" in session.reader.refusal:
            return len(world.lives) > 1
        case 500:
            return world.has_failed_since(session.begin)
        case 503 if b"there is no stream" in session.reader.refusal:
            # It was asked for in the moment between its removal and its making.
            return len(world.lives) > 1
        case 503 if b"is changing" in session.reader.refusal:
            return world.has_failed_since(session.begin)
        case 503:
            return world.is_draining or len(world.sessions) > MOST_STREAMS
    return False


def _judge_end(world: World, session: Session, told: str) -> None:
    if session.reader.connection.was_cut:
        assert not session.reader.kept_up, f"{told}: cut, though its reader took everything"
        return
    assert session.letters.endswith("c"), f"{told}: ended without a reason"
    closing = session.frames[-1].data["reason"]
    assert closing != "server_shutdown" or world.is_draining, told
    is_finished = session.letters[-2] in ("Lx" if session.is_watch else "CLx")
    if closing == "end_of_stream" and not is_finished and session.reader.kept_up:
        assert world.has_failed_since(session.begin, until=session.heard_at), f"{told}: ended for nothing"
