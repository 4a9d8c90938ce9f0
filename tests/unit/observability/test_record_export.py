"""Export of records to a collector that really listens."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, cast

import pytest
from opentelemetry.sdk._logs.export import LogRecordExportResult

from aviso_core.settings.model import Logging, Otlp
from aviso_http.records.context import RequestContext, request_context
from aviso_http.records.counts import RecordCounts
from aviso_http.records.export import RecordExport
from aviso_http.records.log import Log
from aviso_http.records.severity import severity_of
from support.collectors import PROTOCOLS, Protocol, collector, plain
from support.records import RESOURCE, written_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.sdk._logs import ReadableLogRecord

log = Log("aviso_ingest.notify")

SECONDS = 20.0


def _exporting(endpoint: str, protocol: Protocol) -> Logging:
    return Logging(otlp=Otlp(enabled=True, endpoint=endpoint, protocol=protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_collector_gets_the_same_records_and_resource(protocol: Protocol) -> None:
    """What waits when the process ends is sent before it does."""
    counts = RecordCounts()
    context = RequestContext(request_id="r", username="ann", trace_id="a" * 32, span_id="b" * 16)
    with collector(protocol) as collected:
        with written_records(_exporting(collected.endpoint, protocol), counts=counts) as records:
            log.info("startup.done", "ready", port=8000)
            token = request_context.set(context)
            log.warning("e", "b", topic="t", nested={"list": [1, "two", None]}, none=None, big=2**70)
            request_context.reset(token)
        request = cast("ExportLogsServiceRequest", collected.next())
    (resource,) = request.resource_logs
    assert plain(iter(resource.resource.attributes)).items() >= RESOURCE.items()
    (scope,) = resource.scope_logs
    assert len(scope.log_records) == len(records) == 2
    for sent, written in zip(scope.log_records, records, strict=True):
        assert sent.body.string_value == written["body"]
        assert (sent.severity_text, sent.severity_number) == (
            written["severityText"],
            written["severityNumber"],
        )
        assert plain(iter(sent.attributes)) == written["attributes"]
        assert sent.trace_id.hex() == written.get("traceId", "")
        assert sent.span_id.hex() == written.get("spanId", "")
        assert sent.time_unix_nano > 1_600_000_000 * 10**9
    assert (counts.withheld, counts.export_failures) == (0, 0)


def test_records_with_something_secret_in_them_are_withheld_and_counted() -> None:
    """They are on standard output all the same. A body is cleaned and sent."""
    counts = RecordCounts()
    with collector("http") as collected:
        with written_records(_exporting(collected.endpoint, "http"), counts=counts) as records:
            log.info("e", "key", token="horse")
            log.info("e", "empty key", password=None)
            log.info("e", "url", address="https://ann:horse@host")
            log.info("e", "nested", settings={"a": [{"api_key": "horse"}]})
            log.info("e", "body of https://ann:horse@host")
        request = cast("ExportLogsServiceRequest", collected.next())
    sent = [record.body.string_value for record in request.resource_logs[0].scope_logs[0].log_records]
    assert sent == ["body of https://[REDACTED]@host"]
    assert len(records) == 5
    assert counts.withheld == 4
    assert b"horse" not in request.SerializeToString()


def test_what_sending_says_is_not_sent() -> None:
    """Otherwise a broken collector would make ever more records about itself."""
    with collector("http") as collected:
        with written_records(_exporting(collected.endpoint, "http")) as records:
            logging.getLogger("opentelemetry.exporter").warning("retrying")
            logging.getLogger("urllib3.connectionpool").warning("retrying")
            log.info("e", "ours")
        request = cast("ExportLogsServiceRequest", collected.next())
    assert len(records) == 3
    assert [r.body.string_value for r in request.resource_logs[0].scope_logs[0].log_records] == ["ours"]


def test_a_collector_that_refuses_is_counted() -> None:
    """And what the exporter says of it is a record as well, also when that is of the last batch."""
    counts = RecordCounts()
    with (
        collector("http", status=400) as collected,
        written_records(_exporting(collected.endpoint, "http"), counts=counts) as records,
    ):
        log.info("e", "b")
    assert counts.export_failures == 1
    assert records[0]["body"] == "b", "standard output has it all the same"
    assert records[-1]["attributes"]["code.target"].startswith("opentelemetry.")


class _Gate:
    """An exporter that waits to be let through."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.began = threading.Event()
        self.open = threading.Event()

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        self.began.set()
        self.open.wait(SECONDS)
        self.batches.append(len(batch))
        return LogRecordExportResult.SUCCESS

    def shutdown(self) -> None:
        self.open.set()


def _offer(export: RecordExport, *, size: int = 100) -> bool:
    return export.offer(0.0, severity_of(20), "b", {"a": 1}, None, size=size)


def test_nobody_waits_for_a_collector_that_is_stuck() -> None:
    """Beyond the bounds, in number and in bytes, records are refused; what was taken is sent when it goes on."""
    gate = _Gate()
    export = RecordExport(gate, resource={}, counts=RecordCounts(), linger_seconds=0.001)
    assert _offer(export)
    assert gate.began.wait(SECONDS)
    taken = sum(_offer(export) for _ in range(10_000))
    assert taken == 4096
    gate.open.set()
    assert export.close(seconds=SECONDS)
    assert sum(gate.batches) == 1 + 4096
    assert max(gate.batches) == 512
    assert not _offer(export), "nothing is taken after the end"


def test_large_records_fill_the_queue_sooner() -> None:
    gate = _Gate()
    export = RecordExport(gate, resource={}, counts=RecordCounts(), linger_seconds=3600)
    assert sum(_offer(export, size=1024 * 1024) for _ in range(100)) == 8
    gate.open.set()
    assert export.close(seconds=SECONDS)


def test_closing_gives_up_on_a_collector_that_is_stuck() -> None:
    gate = _Gate()
    export = RecordExport(gate, resource={}, counts=RecordCounts(), linger_seconds=0.001)
    for _ in range(3):
        _offer(export)
    assert gate.began.wait(SECONDS)
    export.close(seconds=0.01)
    assert gate.open.is_set(), "the attempt was cut off"


def test_an_exporter_that_breaks_is_counted_and_said_and_it_goes_on() -> None:
    class Broken(_Gate):
        def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
            self.batches.append(len(batch))
            if len(self.batches) == 1:
                raise ValueError("no encoding")
            return LogRecordExportResult.SUCCESS

    counts = RecordCounts()
    broken = Broken()
    with written_records() as records:
        export = RecordExport(broken, resource={}, counts=counts, linger_seconds=3600)
        for _ in range(513):
            _offer(export)
        assert export.close(seconds=SECONDS)
    assert broken.batches == [512, 1]
    assert counts.export_failures == 1
    assert records[0]["attributes"]["event.name"] == "logging.otlp.export.failed"


_NOT_INSTALLED = """
import sys
sys.modules["opentelemetry.exporter"] = None
from aviso_core.settings.model import Logging, Otlp, Tracing
from aviso_http.records.counts import RecordCounts
from aviso_http.records.open import open_records
from aviso_http.telemetry import open_traces

def logs(protocol):
    otlp = Otlp(enabled=True, endpoint="localhost:4317", protocol=protocol)
    return open_records(Logging(otlp=otlp), resource={}, counts=RecordCounts())

def spans(protocol):
    return open_traces(Tracing(enabled=True, endpoint="localhost:4317", protocol=protocol), resource={})

for opening in (logs, spans):
    for protocol in ("grpc", "http"):
        try:
            with opening(protocol):
                print("opened")
        except Exception as error:
            print(type(error).__name__, error)
with open_records(Logging(), resource={}, counts=RecordCounts()), open_traces(Tracing(), resource={}):
    pass
print("without export it starts", "opentelemetry.sdk" in sys.modules)
"""


def test_export_that_is_not_installed_is_refused_with_the_remedy() -> None:
    """Without it nothing of the SDK is even imported."""
    output = subprocess.run(
        [sys.executable, "-c", _NOT_INSTALLED],
        capture_output=True,
        timeout=60,
        check=True,
        text=True,
    ).stdout.splitlines()
    assert len(output) == 5
    for line, setting in zip(
        output[:4], ["logging.otlp.enabled"] * 2 + ["tracing.endpoint"] * 2, strict=True
    ):
        assert line.startswith(f"SettingsError {setting}: ")
        assert "install aviso-http[otlp]" in line
    assert output[4].startswith("without export it starts")


def _modules(body: str) -> list[str]:
    code = f"{body}\nimport sys\nprint(*sorted(sys.modules))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=True, text=True
    )
    return output.stdout.split()


def test_starting_without_export_imports_nothing_of_it() -> None:
    """Importing the SDK and its exporters takes longer than starting the rest."""
    modules = _modules("import aviso_http.records.open, aviso_http.records.log, aviso_http.telemetry")
    assert not [name for name in modules if name.split(".")[0] in {"opentelemetry", "grpc", "requests"}]
