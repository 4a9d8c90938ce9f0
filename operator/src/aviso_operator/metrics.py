"""What the operator counts and measures. Every series whose labels are known is there from the start, at zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from aviso_core.schema.stream import StreamConfiguration

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

Result: TypeAlias = Literal["ready", "waiting", "refused", "failed", "removed"]

_RESULTS: Final[tuple[Result, ...]] = ("ready", "waiting", "refused", "failed", "removed")
_ACTIONS: Final = (
    *("CreateStream", "ChangeStream", "StampStream", "Publish", "Withdraw", "AwaitWithdrawn", "DeleteStream"),
)
_OPERATIONS: Final = ("STREAM.CREATE", "STREAM.DELETE", "STREAM.INFO", "STREAM.LIST", "STREAM.UPDATE")
_READY: Final = ("True", "False", "Unknown")
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The series, in a registry of their own."""

    def __init__(self, *, version: str) -> None:
        registry = self._registry = CollectorRegistry()
        Info("aviso_operator_build", "What runs here.", registry=registry).info({"version": version})
        self._looks = Counter(
            "aviso_operator_reconcile",
            "Looks at objects, by what came of them.",
            ["result"],
            registry=registry,
        )
        self._look_seconds = Histogram(
            "aviso_operator_reconcile_seconds",
            "How long a look at an object took, with what was done.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._actions = Counter(
            "aviso_operator_actions", "What was done about event types.", ["action"], registry=registry
        )
        self._drift = Counter(
            "aviso_operator_stream_drift",
            "Settings of streams that were not as wanted.",
            ["field"],
            registry=registry,
        )
        self._resync_age = Gauge(
            "aviso_operator_resync_age_seconds", "Since everything was looked at last.", registry=registry
        )
        self._objects = Gauge(
            "aviso_operator_eventschemas", "Objects, by Ready.", ["ready"], registry=registry
        )
        self._revision = Gauge(
            "aviso_operator_schema_revision", "The published revision.", ["event_type"], registry=registry
        )
        self._propagation = Histogram(
            "aviso_operator_propagation_lag_seconds",
            "From publishing a revision to the last acknowledgement of it.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._retries = Counter(
            "aviso_operator_retries", "Looks that failed and will come again.", registry=registry
        )
        self._requests = Gauge(
            "aviso_operator_cluster_requests",
            "Questions to the API server, without watching.",
            registry=registry,
        )
        self._asked = Counter(
            "aviso_operator_nats_requests",
            "Questions to the broker's API, by what was asked and what came of it: 0 is well, none that nobody "
            "answered, and any other number is the broker's own for why not.",
            ["op", "code"],
            registry=registry,
        )
        for operation in _OPERATIONS:
            self._asked.labels(operation, "0")
        for result in _RESULTS:
            self._looks.labels(result)
        for action in _ACTIONS:
            self._actions.labels(action)
        for ready in _READY:
            self._objects.labels(ready)
        for setting in StreamConfiguration.__struct_fields__:
            self._drift.labels(setting)

    def looked(self, result: Result, seconds: float) -> None:
        """Count a look at an object."""
        self._looks.labels(result).inc()
        self._look_seconds.observe(seconds)
        if result == "failed":
            self._retries.inc()

    def acted(self, action: str) -> None:
        """Count something that was done."""
        self._actions.labels(action).inc()

    def drifted(self, field: str) -> None:
        """Count a setting that was not as wanted."""
        self._drift.labels(field).inc()

    def published(self, event_type: str, revision: int) -> None:
        """Say which revision of an event type is published."""
        self._revision.labels(event_type).set(revision)

    def withdrawn(self, event_type: str) -> None:
        """Say that nothing is published of an event type any more."""
        self._revision.remove(event_type)

    def propagated(self, seconds: float) -> None:
        """Measure how long it took until everybody served a revision."""
        self._propagation.observe(seconds)

    def asked(self, subject: str, code: int | None) -> None:
        """Count a question to the broker's API, without the names in it: those of streams are not ours to bound."""
        words = subject.split(".")
        operation = ".".join(words[: 3 if words[1] == "MSG" else 2])
        self._asked.labels(operation, "none" if code is None else str(code)).inc()

    def render(self, *, ready: Mapping[str, int], resync_age_seconds: float, requests: int) -> bytes:
        """Return all series as they are scraped."""
        for status in _READY:
            self._objects.labels(status).set(ready.get(status, 0))
        self._resync_age.set(resync_age_seconds)
        self._requests.set(requests)
        return generate_latest(self._registry)
