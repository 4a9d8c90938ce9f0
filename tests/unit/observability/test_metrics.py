"""What is counted: the families of the contract, their labels, what is there from the start, what comes and goes."""

from __future__ import annotations

import itertools
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from aviso_core.eventlog.memory import MemoryLog
from aviso_core.registry.follower import Follower
from aviso_http.metrics.metrics import Metrics
from aviso_http.metrics.series import LATENCY_BUCKETS, Histogram, counters
from aviso_http.records.counts import RecordCounts

VERBS = {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}

# Name, type, labels: the table of the contract, and our own additions at its end.
FAMILIES = """
aviso_build_info gauge version
aviso_http_requests_total counter route method status_code
aviso_http_request_duration_seconds histogram route method
aviso_http_requests_in_flight gauge method
aviso_backend_operations_total counter backend operation outcome
aviso_backend_operation_duration_seconds histogram backend operation outcome
aviso_notifications_total counter event_type status
aviso_sse_connections_active gauge route event_type
aviso_sse_connections_total counter route event_type
aviso_sse_unique_users_active gauge route
aviso_sse_events_sent_total counter route event_type
aviso_sse_stream_errors_total counter route event_type
aviso_sse_connection_duration_seconds histogram route
aviso_auth_requests_total counter mode outcome
aviso_ecpds_cache_hits_total counter
aviso_ecpds_cache_misses_total counter
aviso_ecpds_cache_size gauge
aviso_ecpds_access_decisions_total counter outcome
aviso_ecpds_fetch_total counter outcome
aviso_otlp_export_failures_total counter
aviso_otlp_suppressed_log_records_total counter
process_cpu_seconds_total counter
process_max_fds gauge
process_open_fds gauge
process_resident_memory_bytes gauge
process_start_time_seconds gauge
process_threads gauge
process_virtual_memory_bytes gauge
aviso_log_records_dropped_total counter
aviso_backend_connected gauge backend
aviso_event_types gauge state
aviso_sse_connections_ended_total counter route cause
"""


def _metrics(*, records: RecordCounts | None = None) -> Metrics:
    return Metrics(version="1.2.3", backend="in_memory", records=records or RecordCounts())


def _samples(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def _value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return _samples(metrics).get((name, frozenset(labels.items())))


def _labels(metrics: Metrics, name: str) -> set[tuple[str, ...]]:
    """Return the values of the labels of all series of a name, in the order of the labels' names."""
    return {
        tuple(value for _, value in sorted(labels)) for sample, labels in _samples(metrics) if sample == name
    }


def _used() -> Metrics:
    """Return metrics with at least one series in each family."""
    metrics = _metrics()
    metrics.http.begin("GET")
    metrics.http.answer("/health", "GET", 200, 0.001)
    metrics.streams.open("/api/v1/watch", "mars", "ann").close(1.0, "finished")
    metrics.parts.ask(MemoryLog(), Follower(lambda _: None, strict=False))
    return metrics


# --- the table -------------------------------------------------------------------------------------------


def test_there_are_the_families_of_the_contract_and_no_others() -> None:
    text = _used().render().decode()
    told = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    assert sorted(told) == sorted(tuple(line.split()[:2]) for line in FAMILIES.strip().splitlines())


@pytest.mark.parametrize("line", FAMILIES.strip().splitlines())
def test_a_family_has_its_labels(line: str) -> None:
    name, kind, *labels = line.split()
    sample = f"{name}_count" if kind == "histogram" else name
    found = [{key for key, _ in labels} for other, labels in _samples(_used()) if other == sample]
    assert found
    assert all(keys == set(labels) for keys in found)


def test_every_family_says_what_it_is() -> None:
    text = _used().render().decode()
    assert len(re.findall(r"^# HELP \S+ \S.+$", text, re.MULTILINE)) == len(FAMILIES.strip().splitlines())


# --- at the start ----------------------------------------------------------------------------------------


def test_bounded_series_begin_at_zero() -> None:
    """An alert on a rate needs a series to begin with."""
    metrics = _metrics()
    metrics.declare_event_types(["mars", "dissemination"])
    assert _labels(metrics, "aviso_auth_requests_total") == set(
        itertools.product(
            ("direct", "trusted_proxy"), ("success", "unauthorized", "forbidden", "service_unavailable")
        )
    )
    operations = ("publish", "get_batch", "wipe_stream", "wipe_all", "delete_message")
    expected = set(itertools.product(("in_memory",), operations, ("ok", "error")))
    assert _labels(metrics, "aviso_backend_operations_total") == expected
    assert _labels(metrics, "aviso_backend_operation_duration_seconds_count") == expected
    assert _labels(metrics, "aviso_notifications_total") == {
        ("unknown", "error"),
        ("unknown", "rejected"),
        *itertools.product(("mars", "dissemination"), ("success", "error")),
    }
    routes = ("/api/v1/watch", "/api/v1/replay")
    for name in ("connections_active", "connections_total", "events_sent_total", "stream_errors_total"):
        assert _labels(metrics, f"aviso_sse_{name}") == set(
            itertools.product(("mars", "dissemination"), routes)
        )
    for name in ("unique_users_active", "connection_duration_seconds_count"):
        assert {route for (route,) in _labels(metrics, f"aviso_sse_{name}")} == set(routes)
    assert {outcome for (outcome,) in _labels(metrics, "aviso_ecpds_access_decisions_total")} == {
        "allow",
        "deny_destination",
        "deny_match_key_missing",
        "unavailable",
        "admin_bypass",
        "error",
    }
    assert {outcome for (outcome,) in _labels(metrics, "aviso_ecpds_fetch_total")} == {
        "success",
        "http_401",
        "http_403",
        "http_4xx",
        "http_5xx",
        "invalid_response",
        "unreachable",
    }
    ours = {key: value for key, value in _samples(metrics).items() if key[0].startswith("aviso_")}
    assert {key[0] for key, value in ours.items() if value} == {"aviso_build_info"}
    assert _value(metrics, "aviso_build_info", version="1.2.3") == 1


def test_two_of_them_count_for_themselves() -> None:
    one, other = _metrics(), _metrics()
    one.notification("unknown", "error")
    assert _value(one, "aviso_notifications_total", event_type="unknown", status="error") == 1
    assert _value(other, "aviso_notifications_total", event_type="unknown", status="error") == 0


# --- requests --------------------------------------------------------------------------------------------


def test_a_request_is_counted_while_it_lasts_and_when_it_is_answered() -> None:
    metrics = _metrics()
    route = "/api/v1/schema/{event_type}"
    metrics.http.begin("GET")
    metrics.http.begin("GET")
    metrics.http.answer(route, "GET", 404, 0.03)
    metrics.http.end("GET")
    assert _value(metrics, "aviso_http_requests_in_flight", method="GET") == 1
    assert _value(metrics, "aviso_http_requests_total", route=route, method="GET", status_code="404") == 1
    name = "aviso_http_request_duration_seconds"
    assert _value(metrics, f"{name}_sum", route=route, method="GET") == 0.03
    buckets = {
        dict(labels)["le"]: value
        for (sample, labels), value in _samples(metrics).items()
        if sample == f"{name}_bucket"
    }
    assert [float(bound) for bound in buckets] == [*LATENCY_BUCKETS, float("inf")]
    assert list(buckets.values()) == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]


@given(st.lists(st.text(min_size=1).filter(lambda text: text not in VERBS), max_size=20))
def test_methods_that_are_no_verbs_are_counted_together(methods: list[str]) -> None:
    """And nothing that somebody sends makes anything grow."""
    metrics = _metrics()
    for method in (*methods, "get", "BREW"):
        metrics.http.begin(method)
        metrics.http.answer("unmatched", method, 405, 0.1)
        metrics.http.end(method)
    assert _labels(metrics, "aviso_http_requests_in_flight") == {("other",)}
    assert _value(metrics, "aviso_http_requests_in_flight", method="other") == 0
    assert len(metrics.http._answers) == 1
    assert len(metrics.http._gauges) == 1
    expected = len(methods) + 2
    assert (
        _value(metrics, "aviso_http_requests_total", route="unmatched", method="other", status_code="405")
        == expected
    )


@given(st.lists(st.floats(0, 100)))
def test_a_histogram_counts_each_value_in_the_first_bucket_that_holds_it(values: list[float]) -> None:
    histogram = Histogram()
    for value in values:
        histogram.observe(value)
    assert sum(histogram.counts) == len(values)
    below = 0
    for bound, count in zip(LATENCY_BUCKETS, histogram.counts, strict=False):
        below += count
        assert below == sum(value <= bound for value in values)


# --- event types -----------------------------------------------------------------------------------------


def test_series_follow_the_catalog() -> None:
    """What left is gone, what stayed has kept its count, what came begins at zero."""
    metrics = _metrics()
    metrics.declare_event_types(["mars", "old"])
    metrics.notification("mars", "success", 5)
    metrics.notification("old", "success")
    metrics.declare_event_types(["mars", "new"])
    name = "aviso_notifications_total"
    assert {event_type for event_type, _ in _labels(metrics, name)} == {"unknown", "mars", "new"}
    assert _value(metrics, name, event_type="mars", status="success") == 5
    metrics.notification("mars", "success")
    assert _value(metrics, name, event_type="mars", status="success") == 6
    assert _value(metrics, name, event_type="new", status="success") == 0


def test_an_event_type_that_comes_back_begins_anew() -> None:
    metrics = _metrics()
    for names in (["mars"], [], ["mars"]):
        metrics.declare_event_types(names)
    metrics.notification("mars", "success")
    assert _value(metrics, "aviso_notifications_total", event_type="mars", status="success") == 1


@given(st.lists(st.text(), min_size=1))
def test_names_that_are_not_declared_are_counted_together(names: list[str]) -> None:
    """No text of a user becomes a label."""
    metrics = _metrics()
    metrics.declare_event_types(["mars"])
    undeclared = [name for name in names if name not in {"mars", "unknown", "generic"}]
    for name in undeclared:
        metrics.notification(name, "success")
        metrics.streams.open("/api/v1/watch", name, None).sent.add()
    labels = {event_type for event_type, _ in _labels(metrics, "aviso_notifications_total")}
    assert labels == {"unknown", "mars"} | ({"generic"} if undeclared else set())
    labels = {event_type for event_type, _ in _labels(metrics, "aviso_sse_events_sent_total")}
    assert labels == {"mars"} | ({"generic"} if undeclared else set())
    assert len(metrics.notifications._known) <= 1


# --- streams ---------------------------------------------------------------------------------------------


def test_a_stream_is_counted_in_and_out() -> None:
    metrics = _metrics()
    metrics.declare_event_types(["mars"])
    labels = {"route": "/api/v1/watch", "event_type": "mars"}
    stream = metrics.streams.open("/api/v1/watch", "mars", None)
    stream.sent.add(3)
    stream.errors.add()
    assert _value(metrics, "aviso_sse_connections_active", **labels) == 1
    stream.close(61.0)
    stream.close(61.0)
    assert _value(metrics, "aviso_sse_connections_active", **labels) == 0
    assert _value(metrics, "aviso_sse_connections_total", **labels) == 1
    assert _value(metrics, "aviso_sse_events_sent_total", **labels) == 3
    assert _value(metrics, "aviso_sse_stream_errors_total", **labels) == 1
    name = "aviso_sse_connection_duration_seconds"
    assert _value(metrics, f"{name}_count", route="/api/v1/watch") == 1
    bounds = [
        float(dict(labels)["le"])
        for sample, labels in _samples(metrics)
        if sample == f"{name}_bucket" and dict(labels)["route"] == "/api/v1/watch"
    ]
    assert bounds == [
        *(1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400),
        float("inf"),
    ]
    assert _value(metrics, "aviso_sse_unique_users_active", route="/api/v1/watch") == 0, "nobody was known"


@given(st.lists(st.tuples(st.sampled_from(["ann", "bob", None]), st.integers(0, 5)), max_size=15))
def test_users_are_counted_once_however_many_streams_they_have(story: list[tuple[str | None, int]]) -> None:
    """Streams open and close in any order."""
    metrics = _metrics()
    open_ones: list[tuple[str | None, object]] = []
    for username, action in story:
        if action < 3 or not open_ones:
            open_ones.append((username, metrics.streams.open("r", "mars", username)))
        else:
            _, stream = open_ones.pop(action % len(open_ones))
            stream.close(1.0)  # type: ignore[attr-defined]  # it is what was opened
        users = {name for name, _ in open_ones if name is not None}
        assert (_value(metrics, "aviso_sse_unique_users_active", route="r") or 0) == len(users)


def test_a_stream_of_an_event_type_that_left_can_still_be_closed() -> None:
    metrics = _metrics()
    metrics.declare_event_types(["mars"])
    stream = metrics.streams.open("r", "mars", "ann")
    metrics.declare_event_types([])
    stream.sent.add()
    stream.close(1.0)
    assert _labels(metrics, "aviso_sse_connections_active") == set()
    assert _value(metrics, "aviso_sse_unique_users_active", route="r") == 0


# --- the rest --------------------------------------------------------------------------------------------


def test_operations_are_counted_with_their_outcome_and_time() -> None:
    metrics = _metrics()
    metrics.operation("publish", is_ok=True, seconds=0.2)
    metrics.operation("wipe_all", is_ok=False, seconds=0.2)
    labels = {"backend": "in_memory", "operation": "publish", "outcome": "ok"}
    assert _value(metrics, "aviso_backend_operations_total", **labels) == 1
    assert _value(metrics, "aviso_backend_operation_duration_seconds_sum", **labels) == 0.2
    labels = {"backend": "in_memory", "operation": "wipe_all", "outcome": "error"}
    assert _value(metrics, "aviso_backend_operations_total", **labels) == 1


def test_access_is_counted() -> None:
    metrics = _metrics()
    metrics.access.counter("direct")("forbidden")
    metrics.ecpds.hit()
    metrics.ecpds.miss()
    metrics.ecpds.size(7)
    metrics.ecpds.decided("deny_destination")
    metrics.ecpds.fetched("http_4xx")
    assert _value(metrics, "aviso_auth_requests_total", mode="direct", outcome="forbidden") == 1
    assert _value(metrics, "aviso_ecpds_cache_hits_total") == 1
    assert _value(metrics, "aviso_ecpds_cache_misses_total") == 1
    assert _value(metrics, "aviso_ecpds_cache_size") == 7
    assert _value(metrics, "aviso_ecpds_access_decisions_total", outcome="deny_destination") == 1
    assert _value(metrics, "aviso_ecpds_fetch_total", outcome="http_4xx") == 1


def test_parts_are_asked_when_somebody_reads() -> None:
    """Before they are open there is nothing to tell."""
    metrics = _metrics()
    assert _labels(metrics, "aviso_backend_connected") == set()
    metrics.parts.ask(MemoryLog(), Follower(lambda _: None, strict=False))
    assert _value(metrics, "aviso_backend_connected", backend="in_memory") == 1
    assert _value(metrics, "aviso_event_types", state="served") == 0
    assert _value(metrics, "aviso_event_types", state="refused") == 0


def test_what_became_of_log_records_is_read_from_where_it_is_counted() -> None:
    """That happens in other threads, and no count is lost."""
    counts = RecordCounts()
    metrics = _metrics(records=counts)

    def count() -> None:
        for _ in range(1000):
            counts.add_dropped(2)
            counts.add_withheld()
            counts.add_export_failure()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _value(metrics, "aviso_log_records_dropped_total") == 8000
    assert _value(metrics, "aviso_otlp_suppressed_log_records_total") == 4000
    assert _value(metrics, "aviso_otlp_export_failures_total") == 4000


def test_a_series_is_asked_for_with_all_its_labels() -> None:
    with pytest.raises(AssertionError, match="route"):
        counters("name", "text", "route", "method").of("only one")
