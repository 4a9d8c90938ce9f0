"""What alerts and the dashboard ask for is what the services and the operator measure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from aviso_http.metrics.metrics import Metrics
from aviso_http.records.counts import RecordCounts
from aviso_operator.metrics import Metrics as OperatorMetrics
from aviso_stream_gateway.session import Cause
from chart.value_sets import SERVICES
from support.chart import CHART, NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.chart import Object, Rendered

# What Prometheus adds to every series that it reads through a ServiceMonitor.
ADDED: Final = {"namespace", "pod", "service", "container", "job", "instance", "endpoint"}
_SERIES: Final = re.compile(r"\b(aviso_[a-z_]+)(?:\{([^}]*)\})?")
_MATCHER: Final = re.compile(r'([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_BY: Final = re.compile(r"\bby\s*\(([^)]*)\)")


class Asked(NamedTuple):
    """A series that an expression asks for, with the labels that it names."""

    name: str
    matchers: tuple[tuple[str, str, str], ...]
    grouped_by: frozenset[str]


def measured() -> dict[str, list[dict[str, str]]]:
    """Return every series that there is from the start, and of streams that ended, by its name as Prometheus has it."""
    services = Metrics(version="1", backend="jetstream", records=RecordCounts())
    services.declare_event_types(["runs"])
    for cause in Cause:
        services.streams.open("/api/v1/watch", "runs", username=None).close(1, cause.value)
    operator = OperatorMetrics(version="1")
    operator.published("runs", 1)
    texts = (
        services.render().decode(),
        operator.render(ready={}, resync_age_seconds=0, requests=0).decode(),
    )
    found: dict[str, list[dict[str, str]]] = {
        family.name: [dict.fromkeys(family.labels, "")] for family in services.families()
    }
    for family in (family for text in texts for family in text_string_to_metric_families(text)):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


MEASURED: Final = measured()


def asked(expression: str) -> Iterator[Asked]:
    """Yield what an expression asks for."""
    grouped = frozenset(label.strip() for match in _BY.finditer(expression) for label in match[1].split(","))
    for match in _SERIES.finditer(expression):
        matchers = tuple((label, sign, value) for label, sign, value in _MATCHER.findall(match[2] or ""))
        yield Asked(match[1], matchers, grouped)


def faults(expression: str) -> Iterator[str]:
    """Yield what an expression asks for in vain."""
    everything = list(asked(expression))
    if not everything:
        yield f"nothing of ours: {expression}"
    for one in everything:
        samples = MEASURED.get(one.name) or MEASURED.get(one.name.removesuffix("_bucket"))
        if samples is None:
            yield f"no such series: {one.name}"
            continue
        labels = {label for sample in samples for label in sample} | ADDED
        labels |= {"le"} if one.name.endswith("_bucket") else set()
        yield from (f"{one.name} has no label {label}" for label in one.grouped_by - labels)
        yield from (f"{one.name}: {why}" for why in _unmatched(one.matchers, samples, labels))


def _unmatched(
    matchers: tuple[tuple[str, str, str], ...], samples: list[dict[str, str]], labels: set[str]
) -> Iterator[str]:
    for label, sign, value in matchers:
        if label not in labels:
            yield f"has no label {label}"
        elif label not in ADDED and sign in ("=", "=~") and label != "status_code":
            values = {sample.get(label, "") for sample in samples}
            if not any(re.fullmatch(value, known) for known in values):
                yield f"{label} is never {value}, but one of {sorted(values)}"


def alerts(release: Rendered) -> list[Object]:
    groups = release.one("PrometheusRule", "aviso")["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[Any]:
    dashboard = json.loads((CHART / "files" / "monitoring" / "dashboard.json").read_text(encoding="utf-8"))
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def test_alerts_ask_for_what_is_measured(releases: Mapping[str, Rendered]) -> None:
    """Names, labels, and values of labels: an alert on a series that nobody has never comes."""
    found = {rule["alert"]: list(faults(rule["expr"])) for rule in alerts(releases["watched"])}
    assert len(found) > 8
    assert {name: why for name, why in found.items() if why} == {}


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel["title"])
def test_a_panel_asks_for_what_is_measured(panel: Any) -> None:
    for target in panel["targets"]:
        expression = target["expr"].replace("$__rate_interval", "5m").replace("$namespace", "aviso")
        assert list(faults(expression)) == []


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("rate(aviso_notification_total[5m])", "no such series"),
        ('aviso_notifications_total{state="error"}', "no label state"),
        ('aviso_notifications_total{status="wrong"}', "never wrong"),
        ("sum by (topic) (aviso_notifications_total)", "no label topic"),
        ("up", "nothing of ours"),
    ],
)
def test_what_is_asked_in_vain_is_found(expression: str, fault: str) -> None:
    """These tests would see a series that is renamed."""
    (found,) = faults(expression)
    assert fault in found


def test_an_alert_says_how_bad_it_is_and_what_to_do(releases: Mapping[str, Rendered]) -> None:
    """And is about this release, where a cluster has more of them."""
    for rule in alerts(releases["watched"]):
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["labels"]["team"] == "forecast"
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"].endswith(".")
        for one in asked(rule["expr"]):
            assert ("namespace", "=", NAMESPACE) in one.matchers, rule["alert"]


def test_alerts_know_the_values_that_they_are_about(releases: Mapping[str, Rendered]) -> None:
    """The bounds of this installation, with nothing left to be filled in."""
    text = yaml.safe_dump(alerts(releases["watched"]))
    assert "@" not in re.sub(r"[\w.]+@[\w.]+", "", text)
    assert "0.9 * 20000" in text
    assert "> 900" in text


def test_what_is_shown_is_found_by_its_namespace() -> None:
    """A dashboard for all releases of a cluster, of which one is chosen."""
    for panel in panels():
        for target in panel["targets"]:
            for one in asked(target["expr"]):
                assert ("namespace", "=~", "$namespace") in one.matchers, panel["title"]


def test_the_dashboard_has_a_place_for_each_panel() -> None:
    """No two lie over each other, and each has a number of its own."""
    everything = panels()
    assert len({panel["id"] for panel in everything}) == len(everything)
    taken: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in everything):
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_series_are_read_where_they_are(releases: Mapping[str, Rendered]) -> None:
    """A ServiceMonitor selects the Services of its components, by a port that they have."""
    release = releases["watched"]
    selected: dict[str, str] = {}
    for monitor in release.all("ServiceMonitor"):
        spec = monitor["spec"]
        assert monitor["metadata"]["labels"]["release"] == "prometheus"
        assert spec["namespaceSelector"] == {"matchNames": [NAMESPACE]}
        (endpoint,) = spec["endpoints"]
        assert (endpoint["path"], endpoint["interval"]) == ("/metrics", "15s")
        for service in release.all("Service"):
            labels = service["metadata"]["labels"]
            if _selects(spec["selector"], labels):
                assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
                selected[labels["app.kubernetes.io/component"]] = endpoint["port"]
    assert selected == {**dict.fromkeys(SERVICES, "metrics"), "operator": "http"}


def test_nothing_of_it_is_there_by_itself(release: Rendered) -> None:
    """The resources of the Prometheus operator may be missing, and then nothing could be installed."""
    for kind in ("ServiceMonitor", "PrometheusRule"):
        assert release.all(kind) == []
    assert "aviso-dashboard" not in release.names("ConfigMap")


def test_the_dashboard_is_found_by_its_label(releases: Mapping[str, Rendered]) -> None:
    dashboard = releases["watched"].one("ConfigMap", "aviso-dashboard")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(dashboard["data"]["aviso.json"])["title"] == "Aviso"


def _selects(selector: Object, labels: Mapping[str, str]) -> bool:
    return selector["matchLabels"].items() <= labels.items() and all(
        labels.get(one["key"]) in one["values"] for one in selector["matchExpressions"]
    )
