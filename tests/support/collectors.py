"""Collectors of OpenTelemetry that really listen, over HTTP and over gRPC, and keep what they are sent."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import grpc  # type: ignore[import-untyped]  # it brings no types
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2_grpc as logs_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as traces_grpc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

Protocol: TypeAlias = Literal["grpc", "http"]
PROTOCOLS: tuple[Protocol, ...] = ("grpc", "http")

# A message as protobuf makes its class at run time.
Message: TypeAlias = Any

# Far more than any test needs.
_SECONDS = 20.0


class Collector(NamedTuple):
    """Where it listens, and the requests that it got."""

    endpoint: str
    received: SimpleQueue[Message]

    def next(self) -> Message:
        """Wait for a request and return it."""
        return self.received.get(timeout=_SECONDS)


@contextmanager
def collector(protocol: Protocol, *, status: int = 200) -> Iterator[Collector]:
    """Collect for as long as the block runs. Over HTTP the answer may be another than 200."""
    with _collect_grpc() if protocol == "grpc" else _collect_http(status) as running:
        yield running


@contextmanager
def _collect_http(status: int) -> Iterator[Collector]:
    received: SimpleQueue[Message] = SimpleQueue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kinds: dict[str, Any] = {
                "/v1/logs": logs.ExportLogsServiceRequest,
                "/v1/traces": traces.ExportTraceServiceRequest,
            }
            received.put(kinds[self.path].FromString(body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Collector(f"http://127.0.0.1:{server.server_port}", received)
        finally:
            server.shutdown()
            thread.join()


class _Logs(logs_grpc.LogsServiceServicer):
    def __init__(self, received: SimpleQueue[Message]) -> None:
        self._received = received

    def Export(self, request: Message, context: object) -> Message:  # noqa: N802 (the service's own name)
        self._received.put(request)
        return logs.ExportLogsServiceResponse()


class _Traces(traces_grpc.TraceServiceServicer):
    def __init__(self, received: SimpleQueue[Message]) -> None:
        self._received = received

    def Export(self, request: Message, context: object) -> Message:  # noqa: N802 (the service's own name)
        self._received.put(request)
        return traces.ExportTraceServiceResponse()


@contextmanager
def _collect_grpc() -> Iterator[Collector]:
    received: SimpleQueue[Message] = SimpleQueue()
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        logs_grpc.add_LogsServiceServicer_to_server(_Logs(received), server)  # type: ignore[no-untyped-call]  # generated
        traces_grpc.add_TraceServiceServicer_to_server(_Traces(received), server)  # type: ignore[no-untyped-call]  # generated
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield Collector(f"127.0.0.1:{port}", received)
        finally:
            server.stop(None).wait()


def plain(values: Iterator[KeyValue]) -> dict[str, object]:
    """Return attributes as they were before they were sent."""
    return {pair.key: _plain(pair.value) for pair in values}


def _plain(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_plain(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return plain(value.kvlist_value.values)
    return getattr(value, kind)
