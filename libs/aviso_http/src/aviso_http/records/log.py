"""How code says what happened: `log.info("api.notification.processed", "notification stored", topic=…)`.

A `Log` is only a name. Which level holds and where records go is the standard library's registry of loggers, because
the libraries that we use write there too and because it is the one thing of that kind that a process already has.
`open_records` puts our handler in it. A record goes from here to that handler directly: what the standard library
would make of it in between is most of what a record would cost. Without our handler, in a test or before anything is
configured, records are ordinary ones of the standard library.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

from aviso_http.records.handler import RecordHandler
from aviso_http.records.severity import DEBUG, ERROR, INFO, TRACE, WARN

# One level holds for everything of ours, and this is where it is kept.
_ROOT: Final = logging.root


class Log:
    """Where one module says what happened. The first argument is the name of the event, the second is for people."""

    __slots__ = ("_logger", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._logger = logging.getLogger(name)

    def trace(self, event: str, body: str, /, **attributes: object) -> None:
        """Say something that only who looks for one mistake wants to know."""
        if _ROOT.level <= TRACE:
            self._write(TRACE, event, body, None, attributes)

    def debug(self, event: str, body: str, /, **attributes: object) -> None:
        """Say something that only who looks for a mistake wants to know."""
        if _ROOT.level <= DEBUG:
            self._write(DEBUG, event, body, None, attributes)

    def info(self, event: str, body: str, /, **attributes: object) -> None:
        """Say what the service does."""
        if _ROOT.level <= INFO:
            self._write(INFO, event, body, None, attributes)

    def warning(
        self, event: str, body: str, /, *, error: BaseException | None = None, **attributes: object
    ) -> None:
        """Say what somebody else did wrong, or what was put right."""
        if _ROOT.level <= WARN:
            self._write(WARN, event, body, error, attributes)

    def error(
        self, event: str, body: str, /, *, error: BaseException | None = None, **attributes: object
    ) -> None:
        """Say what went wrong here. An error that was not raised on purpose brings its traceback."""
        if _ROOT.level <= ERROR:
            self._write(ERROR, event, body, error, attributes)

    def _write(
        self,
        level: int,
        event: str,
        body: str,
        error: BaseException | None,
        attributes: dict[str, object],
    ) -> None:
        frame = sys._getframe(2)
        for handler in _ROOT.handlers:
            if type(handler) is RecordHandler:
                handler.recorder.write(
                    level,
                    self.name,
                    event,
                    body,
                    attributes,
                    frame.f_code.co_filename,
                    frame.f_lineno,
                    error,
                )
                return
        extra = {"event": event, "attributes": attributes}
        self._logger.log(level, "%s", body, extra=extra, exc_info=error, stacklevel=3)
