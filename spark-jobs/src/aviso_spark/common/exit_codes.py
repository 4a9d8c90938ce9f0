"""What a job tells whoever started it."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every job."""

    DONE = 0
    FINDINGS = 1
    NOT_UNDERSTOOD = 2
    FAILED = 3
    STOPPED = 4


EXIT_CODES = """\
exit codes:
  0  done; a stream: stopped in good order
  1  done, and there is something to look at: rows that were rejected, sequences that are missing
  2  the arguments do not fit: an option, a column, an expression, the event type's schema
  3  it could not be done: no Java, no answer from the service, a failure in Spark
  4  stopped by SIGTERM or Ctrl-C before its end; started again within the event type's duplicate window, it
     sends nothing twice
"""
