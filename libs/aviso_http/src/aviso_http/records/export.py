"""Export of records to an OpenTelemetry collector, beside standard output and never in its way.

Records wait in a queue that is bounded in number and bytes. A thread turns them into OpenTelemetry's form in batches
and has the official exporters send them, because those know the environment's variables for headers and certificates
and when to try again. What the collector does not take is counted, not kept: standard output has it all.

The exporters are an extra, and slow to import. Nothing imports this module unless export is configured.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from aviso_http.extras import refuse_missing_exporter
from aviso_http.records.log import Log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.context import Context

    from aviso_core.settings.model import Otlp
    from aviso_http.records.context import RequestContext
    from aviso_http.records.counts import RecordCounts
    from aviso_http.records.severity import Severity

_BATCH_RECORDS: Final = 512
_QUEUE_RECORDS: Final = 4096
_QUEUE_BYTES: Final = 8 * 1024 * 1024
_LINGER_SECONDS: Final = 1.0
CLOSE_SECONDS: Final = 3.0
_CUT_OFF_SECONDS: Final = 0.5
_TARGET: Final = "aviso_http.records.export"
# What sending says while it sends would have to be sent as well.
_NOT_EXPORTED: Final = (_TARGET, "opentelemetry", "grpc", "requests", "urllib3")

log = Log(_TARGET)


class Exporter(Protocol):
    """What the official exporters have in common."""

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        """Send a batch; this may take seconds."""

    def shutdown(self) -> None:
        """Stop sending, also in the middle of it."""


class _Waiting(NamedTuple):
    moment: float
    severity: Severity
    body: str
    attributes: Mapping[str, object]
    context: RequestContext | None
    size: int


class RecordExport:
    """The queue and the thread that empties it."""

    def __init__(
        self,
        exporter: Exporter,
        *,
        resource: Mapping[str, str],
        counts: RecordCounts,
        linger_seconds: float = _LINGER_SECONDS,
    ) -> None:
        self._exporter = exporter
        # The environment's own attributes, such as a collector's keys for routing, are merged in here.
        self._resource = Resource.create(dict(resource))
        self._scope = InstrumentationScope("aviso_http.records")
        self._counts = counts
        self._linger_seconds = linger_seconds
        self._lock = threading.RLock()
        self._queue: deque[_Waiting] = deque()
        self._queue_bytes = 0
        self._is_closed = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="records-export", daemon=True)
        self._thread.start()

    def wants(self, target: str) -> bool:
        """Return whether records of a module are exported at all."""
        return not target.startswith(_NOT_EXPORTED)

    def offer(
        self,
        moment: float,
        severity: Severity,
        body: str,
        attributes: Mapping[str, object],
        context: RequestContext | None,
        *,
        size: int,
    ) -> bool:
        """Leave a record to be sent; False if there is no room for it."""
        with self._lock:
            is_full = len(self._queue) >= _QUEUE_RECORDS or self._queue_bytes + size > _QUEUE_BYTES
            if is_full or self._is_closed:
                return False
            self._queue.append(_Waiting(moment, severity, body, attributes, context, size))
            self._queue_bytes += size
        return True

    def close(self, *, seconds: float) -> bool:
        """Send what is waiting and end; False if that did not happen in time, and then the rest is given up."""
        deadline = time.monotonic() + seconds
        with self._lock:
            self._is_closed = True
        self._wake.set()
        self._thread.join(seconds)
        with self._lock:
            given_up = len(self._queue)
            self._queue.clear()
        # This cuts off what is being sent at the moment, and then the thread ends.
        self._exporter.shutdown()
        self._thread.join(max(_CUT_OFF_SECONDS, deadline - time.monotonic()))
        return not given_up and not self._thread.is_alive()

    # --- the thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._is_closed:
            self._wake.wait(self._linger_seconds)
            self._send_all()
        self._send_all()

    def _send_all(self) -> None:
        while batch := self._take():
            try:
                result = self._exporter.export([self._record(waiting) for waiting in batch])
            except Exception as error:  # noqa: BLE001 (the top of the thread: said, counted, and it goes on)
                log.error("logging.otlp.export.failed", "a batch of records could not be sent", error=error)
                result = LogRecordExportResult.FAILURE
            if result is not LogRecordExportResult.SUCCESS:
                self._counts.add_export_failure()

    def _take(self) -> list[_Waiting]:
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(_BATCH_RECORDS, len(self._queue)))]
            self._queue_bytes -= sum(waiting.size for waiting in batch)
        return batch

    def _record(self, waiting: _Waiting) -> ReadableLogRecord:
        nanoseconds = int(waiting.moment * 1e9)
        record = LogRecord(
            timestamp=nanoseconds,
            observed_timestamp=nanoseconds,
            context=_trace_of(waiting.context),
            severity_text=waiting.severity.text,
            severity_number=SeverityNumber(waiting.severity.number),
            body=waiting.body,
            attributes=waiting.attributes,  # type: ignore[arg-type]  # plain values: redaction and JSON saw to it
        )
        return ReadableLogRecord(record, self._resource, self._scope)


def _trace_of(context: RequestContext | None) -> Context:
    trace_id = int(context.trace_id or "0", 16) if context else 0
    span_id = int(context.span_id or "0", 16) if context else 0
    span = SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.DEFAULT))
    return set_span_in_context(NonRecordingSpan(span))


def begin_export(settings: Otlp, *, resource: Mapping[str, str], counts: RecordCounts) -> RecordExport:
    """Export records as configured, until it is closed."""
    return RecordExport(_exporter(settings), resource=resource, counts=counts)


def _exporter(settings: Otlp) -> Exporter:
    with refuse_missing_exporter("logging.otlp.enabled"):
        if settings.protocol == "grpc":
            from opentelemetry.exporter.otlp.proto.grpc import _log_exporter as grpc

            return grpc.OTLPLogExporter(endpoint=settings.target)
        from opentelemetry.exporter.otlp.proto.http import _log_exporter as http

        return http.OTLPLogExporter(endpoint=settings.target)
