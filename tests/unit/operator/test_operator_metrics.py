"""What is measured: every series whose labels are known is there from the start, and moves with what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from aviso_core.planning.actions import Action
from aviso_core.schema.stream import StreamConfiguration
from aviso_operator.metrics import Metrics, Result
from aviso_operator.resources import ConditionStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

ASKED: Final = ("CREATE", "DELETE", "INFO", "LIST", "UPDATE")
PREFIX: Final = "aviso_operator_"
Series = dict[tuple[str, ...], float]


def series(metrics: Metrics, ready: Mapping[str, int] | None = None) -> Series:
    """Return each series by its name, without the prefix, and the values of its labels."""
    text = metrics.render(ready=ready or {}, resync_age_seconds=12.5, requests=7).decode()
    return {
        (sample.name.removeprefix(PREFIX), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_created"))
    }


def actions() -> set[str]:
    return {kind.__name__ for kind in get_args(Action)}


def test_every_series_that_can_be_known_is_there_from_the_start_at_zero() -> None:
    """An alert on a rate needs the zero before the first one."""
    expected: Series = {
        ("build_info", "1.2.3"): 1,
        ("reconcile_seconds_count",): 0,
        ("reconcile_seconds_sum",): 0,
        ("propagation_lag_seconds_count",): 0,
        ("propagation_lag_seconds_sum",): 0,
        ("retries_total",): 0,
        ("resync_age_seconds",): 12.5,
        ("cluster_requests",): 7,
        **{("reconcile_total", result): 0 for result in get_args(Result)},
        **{("actions_total", action): 0 for action in actions()},
        **{("eventschemas", status): 0 for status in get_args(ConditionStatus)},
        **{("stream_drift_total", setting): 0 for setting in StreamConfiguration.__struct_fields__},
        **{("nats_requests_total", "0", f"STREAM.{what}"): 0 for what in ASKED},
    }
    assert series(Metrics(version="1.2.3")) == expected


def test_what_happens_moves_its_series_and_no_other() -> None:
    metrics = Metrics(version="1.2.3")
    before = series(metrics)
    metrics.looked("failed", 0.5)
    metrics.looked("ready", 0.25)
    metrics.acted("Publish")
    metrics.drifted("max_messages")
    metrics.published("alert", 17)
    metrics.propagated(2.0)
    after = series(metrics, {"True": 3, "False": 1})
    assert {key: value for key, value in after.items() if before.get(key) != value} == {
        ("reconcile_total", "failed"): 1,
        ("reconcile_total", "ready"): 1,
        ("reconcile_seconds_count",): 2,
        ("reconcile_seconds_sum",): 0.75,
        ("retries_total",): 1,
        ("actions_total", "Publish"): 1,
        ("stream_drift_total", "max_messages"): 1,
        ("schema_revision", "alert"): 17,
        ("propagation_lag_seconds_count",): 1,
        ("propagation_lag_seconds_sum",): 2.0,
        ("eventschemas", "True"): 3,
        ("eventschemas", "False"): 1,
    }
    assert series(metrics)["eventschemas", "True"] == 0, "it is as many as there are now"


def test_an_event_type_that_was_withdrawn_has_no_revision() -> None:
    metrics = Metrics(version="1.2.3")
    metrics.published("alert", 17)
    metrics.withdrawn("alert")
    metrics.withdrawn("never published")
    assert ("schema_revision", "alert") not in series(metrics)


def test_settings_of_streams_are_few() -> None:
    """A label for each of them costs nothing."""
    assert 0 < len(msgspec.structs.fields(StreamConfiguration)) < 20


def test_questions_to_the_broker_are_counted_without_the_names_in_them() -> None:
    metrics = Metrics(version="1.2.3")
    metrics.asked("STREAM.INFO.ALERT", 0)
    metrics.asked("STREAM.INFO.INFO", 0)
    metrics.asked("STREAM.LIST", None)
    metrics.asked("STREAM.UPDATE.ALERT", 10052)
    metrics.asked("STREAM.MSG.GET.KV_aviso-schemas", 10037)
    counted = {key[1:]: value for key, value in series(metrics).items() if key[0] == "nats_requests_total"}
    assert {labels: value for labels, value in counted.items() if value} == {
        ("0", "STREAM.INFO"): 2,
        ("none", "STREAM.LIST"): 1,
        ("10052", "STREAM.UPDATE"): 1,
        ("10037", "STREAM.MSG.GET"): 1,
    }
