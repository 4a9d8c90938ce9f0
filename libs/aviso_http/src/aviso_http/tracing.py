"""Spans that are recorded, with the SDK of OpenTelemetry. Imported only where tracing is switched on."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from aviso_http.extras import refuse_missing_exporter
from aviso_http.telemetry import VERBS, TraceParent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span as SdkSpan
    from opentelemetry.trace import Tracer

    from aviso_core.settings.model import Tracing

_CLOSE_SECONDS: Final = 3.0
_SCOPE: Final = "aviso_http"
# Nothing of the context that happens to be current may become a parent.
_NO_CONTEXT: Final = Context()


class RecordedSpan:
    """A span of ours."""

    __slots__ = ("_span", "parent")

    def __init__(self, span: SdkSpan) -> None:
        self._span = span
        context = span.get_span_context()
        self.parent: TraceParent | None = TraceParent(
            f"{context.trace_id:032x}", f"{context.span_id:016x}", int(context.trace_flags)
        )

    def end(self, status: int, error: BaseException | None = None) -> None:
        """End it. Only what went wrong here is an error: a request that was refused was served well."""
        self._span.set_attribute("http.response.status_code", status)
        if error is not None:
            self._span.set_attribute("error.type", type(error).__qualname__)
        if error is not None or status >= 500:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


class RecordedTraces:
    """Traces of an installation that records them."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def begin(self, parent: TraceParent | None, *, method: str, route: str) -> RecordedSpan:
        """Begin a span below the caller's, or a trace where the caller has none."""
        context = _NO_CONTEXT if parent is None else _context_of(parent)
        is_verb = method in VERBS
        return RecordedSpan(
            self._tracer.start_span(
                f"{method if is_verb else 'HTTP'} {route}",
                context,
                kind=SpanKind.SERVER,
                attributes={"http.request.method": method if is_verb else "_OTHER", "http.route": route},
            )
        )


def _context_of(parent: TraceParent) -> Context:
    remote = SpanContext(
        int(parent.trace_id, 16),
        int(parent.span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(parent.flags),
    )
    return set_span_in_context(NonRecordingSpan(remote), _NO_CONTEXT)


@contextmanager
def open_recording_traces(
    settings: Tracing, *, resource: Mapping[str, str], close_seconds: float = _CLOSE_SECONDS
) -> Iterator[RecordedTraces]:
    """Record as configured, with a provider of its own that nobody else finds."""
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(settings.sample_ratio)),
        resource=Resource.create(dict(resource)),
        shutdown_on_exit=False,
    )
    exporter = _exporter(settings)
    if exporter is not None:
        # The queue is bounded, and what finds it full is dropped by the SDK, which says so in the log.
        provider.add_span_processor(BatchSpanProcessor(exporter))
    try:
        yield RecordedTraces(provider.get_tracer(_SCOPE))
    finally:
        _shut_down(provider, exporter, seconds=close_seconds)


def _shut_down(provider: TracerProvider, exporter: SpanExporter | None, *, seconds: float) -> None:
    """Send what is waiting. The SDK's own patience is half a minute, which is too long for a process that ends."""
    ending = threading.Thread(target=provider.shutdown, name="traces-close", daemon=True)
    ending.start()
    ending.join(seconds)
    if exporter is not None and ending.is_alive():
        # This cuts off what is being sent at the moment.
        exporter.shutdown()


def _exporter(settings: Tracing) -> SpanExporter | None:
    target = settings.target
    if target is None:
        return None
    with refuse_missing_exporter("tracing.endpoint"):
        if settings.protocol == "grpc":
            from opentelemetry.exporter.otlp.proto.grpc import trace_exporter as grpc

            return grpc.OTLPSpanExporter(endpoint=target)
        from opentelemetry.exporter.otlp.proto.http import trace_exporter as http

        return http.OTLPSpanExporter(endpoint=target)
