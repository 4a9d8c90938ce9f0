"""Why a job does not go on, said so that somebody can act on it."""

from __future__ import annotations

from typing import Final

STOPPED_EARLY: Final = (
    "stopped before its end; start it again within the event type's duplicate window, and nothing is "
    "sent twice"
)


class JobError(Exception):
    """A job cannot be done; the message says what to do about it."""


class NotUnderstood(JobError):
    """What was asked for does not fit: an argument, a column, an expression."""


class Stopped(JobError):
    """Somebody asked the job to stop before its end."""
