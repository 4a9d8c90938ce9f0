"""Traces: the header of the W3C read and written, passed on without tracing, and spans of our own with it."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SentSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from aviso_core.settings.model import Tracing
from aviso_http.telemetry import TraceParent, open_traces, parse_traceparent, read_traceparent
from aviso_http.tracing import open_recording_traces
from support.collectors import PROTOCOLS, Protocol, collector, plain
from support.records import RESOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    from aviso_http.telemetry import Span, Traces

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01"
CALLER = TraceParent(TRACE, SPAN, 1)


def _begin(traces: Traces, parent: TraceParent | None, method: str = "POST") -> Span:
    return traces.begin(parent, method=method, route="/api/v1/notification")


# --- the header ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (GOOD, 1),
        (f"00-{TRACE}-{SPAN}-00", 0),
        (f"00-{TRACE}-{SPAN}-03", 3),
        (f"01-{TRACE}-{SPAN}-ff", 1),
        (f"cc-{TRACE}-{SPAN}-01-what.the.future-holds", 1),
        (f"cc-{TRACE}-{SPAN}-00-", 0),
    ],
)
def test_a_header_is_read(text: str, flags: int) -> None:
    """Of later versions, what they share with ours."""
    assert parse_traceparent(text) == TraceParent(TRACE, SPAN, flags)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "00",
        GOOD.upper(),
        f" {GOOD}",
        f"{GOOD} ",
        f"{GOOD}\n",
        f"{GOOD}-",
        f"{GOOD}-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}0-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-0g",
        f"0x-{TRACE}-{SPAN}-01",
        f"01-{TRACE}-{SPAN}-01more",
        f"00_{TRACE}_{SPAN}_01",
        f"00-{TRACE[:-1]}\u0664-{SPAN}-01",
        f"cc-{TRACE}-{SPAN}-01-" + "a" * 300,
        f"{GOOD},{GOOD}",
    ],
)
def test_what_is_no_header_is_none(text: str | None) -> None:
    """It starts no trace, and is nobody's mistake."""
    assert parse_traceparent(text) is None


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], None),
        ([GOOD], CALLER),
        (["nonsense"], None),
        ([GOOD, GOOD], None),
        ([GOOD, "nonsense"], None),
        (["\xff"], None),
    ],
)
def test_one_header_says_it_or_none_does(values: list[str], found: TraceParent | None) -> None:
    """Two of them are none, also if they are the same: whoever sends that does not know what it says."""
    lines = [(b"traceparent", value.encode("latin-1")) for value in values]
    assert read_traceparent([(b"host", b"x"), *lines, (b"tracestate", b"a=b")]) == found


_hexadecimal = st.text("0123456789abcdef")


@given(
    st.one_of(
        st.text(),
        st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.{0,8})?", fullmatch=True),
        st.builds(lambda *parts: "-".join(parts), _hexadecimal, _hexadecimal, _hexadecimal, _hexadecimal),
    )
)
def test_what_is_read_is_what_the_sdk_reads(text: str) -> None:
    """We are stricter only about blanks around it and its length, and take the flags that we know."""
    ours = parse_traceparent(text)
    context = TraceContextTextMapPropagator().extract({"traceparent": text})
    theirs = trace.get_current_span(context).get_span_context()
    if ours is None:
        assert not theirs.is_valid or text != text.strip() or len(text) > 256 or "\n" in text
    else:
        assert (int(ours.trace_id, 16), int(ours.span_id, 16)) == (theirs.trace_id, theirs.span_id)
        assert ours.flags & 1 == theirs.trace_flags & 1


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.integers(0, 255))
def test_a_header_is_read_as_it_was_written(trace_id: int, span_id: int, flags: int) -> None:
    written = TraceParent(f"{trace_id:032x}", f"{span_id:016x}", flags)
    assert parse_traceparent(str(written)) == written


# --- without tracing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("parent", [CALLER, None])
def test_without_tracing_the_callers_trace_is_passed_on(parent: TraceParent | None) -> None:
    with open_traces(Tracing(), resource=RESOURCE) as traces:
        span = _begin(traces, parent)
        span.end(200)
    assert span.parent == parent


# --- with tracing ----------------------------------------------------------------------------------------


def test_a_span_of_ours_goes_out_in_the_callers_trace() -> None:
    """Without an address spans go nowhere, and traces go on all the same."""
    with open_traces(Tracing(enabled=True), resource=RESOURCE) as traces:
        span = _begin(traces, CALLER)
        assert span.parent is not None
        assert span.parent.trace_id == TRACE
        assert span.parent.span_id != SPAN
        assert span.parent.flags & 1
        assert parse_traceparent(str(span.parent)) == span.parent
        other = _begin(traces, None)
        assert other.parent is not None
        assert other.parent.trace_id != TRACE, "whoever has no trace gets a new one"


@pytest.mark.parametrize(
    ("parent", "ratio", "sampled"),
    [(None, 0.0, 0), (None, 1.0, 1), (CALLER, 0.0, 1), (TraceParent(TRACE, SPAN, 0), 1.0, 0)],
)
def test_the_caller_decides_what_is_recorded_and_else_the_share_does(
    parent: TraceParent | None, ratio: float, sampled: int
) -> None:
    with open_traces(Tracing(enabled=True, sample_ratio=ratio), resource=RESOURCE) as traces:
        span = _begin(traces, parent)
        assert span.parent is not None
        assert span.parent.flags & 1 == sampled
        span.end(200)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_collector_gets_spans(protocol: Protocol) -> None:
    """What waits when the process ends is sent before it does; what somebody sent is not."""
    with collector(protocol) as collected:
        settings = Tracing(enabled=True, endpoint=collected.endpoint, protocol=protocol)
        with open_traces(settings, resource=RESOURCE) as traces:
            good = _begin(traces, CALLER)
            good.end(200)
            _begin(traces, None, "HORSE").end(405)
            _begin(traces, None, "PUT").end(500, ValueError("horse"))
        request = cast("ExportTraceServiceRequest", collected.next())
    assert b"horse" not in request.SerializeToString().lower()
    (resource,) = request.resource_spans
    assert plain(iter(resource.resource.attributes)).items() >= RESOURCE.items()
    spans = {span.name: span for span in resource.scope_spans[0].spans}
    sent = spans["POST /api/v1/notification"]
    assert (sent.trace_id.hex(), sent.parent_span_id.hex()) == (TRACE, SPAN)
    assert good.parent is not None
    assert sent.span_id.hex() == good.parent.span_id
    assert sent.kind == SentSpan.SPAN_KIND_SERVER
    assert plain(iter(sent.attributes)) == {
        "http.request.method": "POST",
        "http.route": "/api/v1/notification",
        "http.response.status_code": 200,
    }
    codes = {name: span.status.code for name, span in spans.items()}
    assert codes == {
        "POST /api/v1/notification": Status.STATUS_CODE_UNSET,
        "HTTP /api/v1/notification": Status.STATUS_CODE_UNSET,
        "PUT /api/v1/notification": Status.STATUS_CODE_ERROR,
    }
    assert plain(iter(spans["PUT /api/v1/notification"].attributes))["error.type"] == "ValueError"


@contextmanager
def _of_no_use(*, listening: bool) -> Iterator[str]:
    """Give an address at which nobody is, or somebody who takes connections and says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if listening:
            listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nobody_waits_for_a_collector(protocol: Protocol, listening: bool) -> None:
    """More spans than wait at most: they cost what they always do, and the end comes when it is due."""
    with _of_no_use(listening=listening) as endpoint:
        settings = Tracing(enabled=True, endpoint=endpoint, protocol=protocol)
        with open_recording_traces(settings, resource=RESOURCE, close_seconds=0.1) as traces:
            took = []
            for _ in range(3000):
                began = time.perf_counter()
                _begin(traces, None).end(200)
                took.append(time.perf_counter() - began)
            ending = time.perf_counter()
    # A machine with other work may stall once; who waits for a collector waits for it with each span.
    assert sorted(took)[-2] < 1.0
    assert time.perf_counter() - ending < 1.0


def test_nothing_global_is_touched() -> None:
    """Two of them in one process know nothing of each other, nor does anybody else of either."""
    before = trace.get_tracer_provider()
    with (
        open_traces(Tracing(enabled=True), resource=RESOURCE) as one,
        open_traces(Tracing(enabled=True, sample_ratio=0.0), resource=RESOURCE) as other,
    ):
        assert trace.get_tracer_provider() is before
        span, quiet = _begin(one, None), _begin(other, None)
        assert not trace.get_current_span().get_span_context().is_valid
        assert span.parent is not None
        assert quiet.parent is not None
        assert (span.parent.flags & 1, quiet.parent.flags & 1) == (1, 0)
