"""Records that come through the standard library: its handler that makes ours of them.

Libraries only have texts. Code of ours that does without this package, such as the core, names its event and its
attributes the standard library's way: `extra={"event": …, "attributes": {…}}`, as `Log` itself does where there is no
handler of ours.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aviso_http.records.recorder import Recorder

_LIBRARY_EVENT: Final = "library.message"


class RecordHandler(logging.Handler):
    """Turns what a library logs into a record of ours."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def emit(self, record: logging.LogRecord) -> None:
        """Make a record of it."""
        self.recorder.write(
            record.levelno,
            record.name,
            _event_of(record),
            _message_of(record),
            _attributes_of(record),
            record.pathname,
            record.lineno,
            record.exc_info[1] if record.exc_info else None,
        )


def _event_of(record: logging.LogRecord) -> str:
    event = getattr(record, "event", None)
    return event if isinstance(event, str) else _LIBRARY_EVENT


def _attributes_of(record: logging.LogRecord) -> Mapping[str, object]:
    attributes = getattr(record, "attributes", None)
    return attributes if isinstance(attributes, Mapping) else {}


def _message_of(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (KeyError, TypeError, ValueError):
        # A text that does not fit its arguments is a library's mistake, and no reason to lose what it says.
        return f"{record.msg} {record.args!r}"
