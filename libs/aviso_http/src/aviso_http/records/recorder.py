"""Making records: what every record of the process has, put together with what one place in the code has to say.

This is the hot part: a service writes a record for every notification. So a record is looked through for secrets only
as far as its values make it possible that there are any, the names of attributes are judged once for each place in the
code, and the time is spelt once a second.
"""

from __future__ import annotations

import threading
import time
import traceback
from typing import TYPE_CHECKING, Final

import msgspec

from aviso_core.errors import AvisoError
from aviso_http.records.context import ANONYMOUS, NO_REALM, request_context
from aviso_http.records.redaction import clean_text, is_sensitive, may_hide, redact_attributes
from aviso_http.records.severity import ERROR, WARN, severity_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aviso_http.records.context import RequestContext
    from aviso_http.records.counts import RecordCounts
    from aviso_http.records.export import RecordExport
    from aviso_http.records.output import LineWriter

_LONGEST_LINE_BYTES: Final = 256 * 1024
_LONGEST_TRACEBACK: Final = 16 * 1024
_LONGEST_CUT_TEXT: Final = 1024
_MOST_KNOWN: Final = 4096

_NO_REQUEST: Final[dict[str, object]] = {}
# Types whose values are text or numbers and nothing else; what is derived from them is looked at more closely.
_HARMLESS: Final = frozenset({bool, float, type(None)})


class Record(msgspec.Struct, omit_defaults=True, rename="camel"):
    """A record as it is written."""

    timestamp: str
    severity_text: str
    severity_number: int
    body: str
    resource: msgspec.Raw
    attributes: dict[str, object]
    trace_id: str = ""
    span_id: str = ""


_encoder: Final = msgspec.json.Encoder()


class Recorder:
    """Makes records and hands them to the output and, where there is one, to the export."""

    def __init__(
        self,
        *,
        resource: Mapping[str, str],
        output: LineWriter,
        counts: RecordCounts,
        export: RecordExport | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._resource = msgspec.Raw(_encoder.encode(resource))
        self._output = output
        self._counts = counts
        self._export = export
        self._clock = clock
        self._stamp = (-1, "")
        self._harmless_keys: set[tuple[str, ...]] = set()
        self._files: dict[str, str] = {}
        self._lock = threading.RLock()
        self._untold = 0

    def write(
        self,
        level: int,
        target: str,
        event: str,
        body: str,
        attributes: Mapping[str, object],
        filename: str,
        line_number: int,
        error: BaseException | None = None,
    ) -> None:
        """Make a record of what happened, and leave it to be written."""
        now = self._clock()
        if error is not None:
            attributes = {**attributes, **describe_error(error, with_traceback=level >= ERROR)}
        clean, found = self._clean(attributes)
        body = _clean(body)
        context = request_context.get()
        everything = {
            "event.name": event,
            **(_NO_REQUEST if context is None else _request_attributes(context)),
            **clean,
            "code.target": target,
            "code.filepath": self._files.get(filename) or self._short(filename),
            "code.lineno": line_number,
        }
        untold = self._take_untold()
        if untold:
            everything["log.dropped_records"] = untold
        line = self._line(now, level, body, everything, context)
        if not self._output.put(line, level >= WARN):
            self._drop(1, untold)
        if self._export is not None:
            self._send(now, level, target, body, everything, context, withheld=found, size=len(line))

    # --- attributes --------------------------------------------------------------------------------------

    def _clean(self, attributes: Mapping[str, object]) -> tuple[Mapping[str, object], bool]:
        """Return attributes without secrets, and whether anything had to be taken out of them."""
        keys = tuple(attributes)
        if keys not in self._harmless_keys:
            if any(map(is_sensitive, keys)) or any(map(may_hide, keys)):
                return redact_attributes(attributes)
            if len(self._harmless_keys) < _MOST_KNOWN:
                self._harmless_keys.add(keys)
        for value in attributes.values():
            kind = type(value)
            if kind is str:
                if may_hide(value):  # type: ignore[arg-type]  # the line above says what it is
                    return redact_attributes(attributes)
            elif kind is int:
                if not -(2**63) <= value < 2**63:  # type: ignore[operator]  # as above
                    return redact_attributes(attributes)
            elif kind not in _HARMLESS:
                return redact_attributes(attributes)
        return attributes, False

    def _short(self, filename: str) -> str:
        """Return the path of a file as it is in the sources, without where they are installed."""
        parts = filename.replace("\\", "/").split("/")
        folders = [index for index, part in enumerate(parts) if part in ("src", "site-packages")]
        short = "/".join(parts[folders[-1] + 1 :]) if folders else filename
        if len(self._files) < _MOST_KNOWN:
            self._files[filename] = short
        return short

    # --- the line ----------------------------------------------------------------------------------------

    def _line(
        self,
        now: float,
        level: int,
        body: str,
        attributes: dict[str, object],
        context: RequestContext | None,
    ) -> bytes:
        text, number = severity_of(level)
        record = Record(self._spelt(now), text, number, body, self._resource, attributes)
        if context is not None:
            record.trace_id = context.trace_id
            record.span_id = context.span_id
        line = _encoder.encode(record)
        if len(line) > _LONGEST_LINE_BYTES:
            record.body = body[:_LONGEST_CUT_TEXT]
            record.attributes = {key: _cut(value) for key, value in attributes.items()}
            record.attributes["log.cut_bytes"] = len(line)
            line = _encoder.encode(record)
        return line + b"\n"

    def _spelt(self, now: float) -> str:
        second, text = self._stamp
        if second != int(now):
            second = int(now)
            text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
            self._stamp = (second, text)
        return text

    def _send(
        self,
        now: float,
        level: int,
        target: str,
        body: str,
        attributes: dict[str, object],
        context: RequestContext | None,
        *,
        withheld: bool,
        size: int,
    ) -> None:
        assert self._export is not None
        if not self._export.wants(target):
            return
        if withheld:
            self._counts.add_withheld()
        elif not self._export.offer(now, severity_of(level), body, attributes, context, size=size):
            self._counts.add_export_failure()

    # --- what was dropped --------------------------------------------------------------------------------

    def _take_untold(self) -> int:
        if self._output.lost:
            self._drop(self._output.take_lost(), 0)
        if not self._untold:
            return 0
        with self._lock:
            untold, self._untold = self._untold, 0
        return untold

    def _drop(self, amount: int, told_in_vain: int) -> None:
        """Count dropped lines, and keep in mind that the next record is to say so."""
        with self._lock:
            self._untold += amount + told_in_vain
        self._counts.add_dropped(amount)


def _request_attributes(context: RequestContext) -> dict[str, object]:
    return {
        "request_id": context.request_id,
        "username": ANONYMOUS if context.username is None else _clean(context.username),
        "auth_realm": _clean(context.realm) if context.realm else NO_REALM,
    }


def _clean(text: str) -> str:
    return clean_text(text) if may_hide(text) else text


def describe_error(error: BaseException, *, with_traceback: bool) -> dict[str, object]:
    """Return the attributes of an error. One that nobody raised on purpose brings its traceback along."""
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    described: dict[str, object] = {
        "error.type": f"{module}{kind.__qualname__}",
        "exception.message": str(error),
    }
    if with_traceback and not isinstance(error, AvisoError):
        # The end of a traceback says more than its beginning.
        described["exception.stacktrace"] = "".join(traceback.format_exception(error))[-_LONGEST_TRACEBACK:]
    return described


def _cut(value: object) -> object:
    match value:
        case str():
            return value[:_LONGEST_CUT_TEXT]
        case dict() | list():
            return "…"
    return value
