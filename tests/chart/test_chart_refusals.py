"""What the chart does not take, it refuses before anything is installed, and says where and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from chart.value_sets import external
from support.chart import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.chart import Chart

REFUSED: Final[Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]]] = {
    "an unknown key": ({"gatway": {}}, ("gatway",)),
    "an unknown key of a component": ({"ingest": {"replica": 3}}, ("ingest", "replica")),
    "an unknown key far below": ({"gateway": {"stream": {"drainWindow": 10}}}, ("drainWindow",)),
    "an unknown key of a container's image": ({"nats": {"image": {"name": "x"}}}, ("nats", "image", "name")),
    "another type": ({"ingest": {"replicas": "three"}}, ("ingest", "replicas")),
    "too few": ({"gateway": {"replicas": 0}}, ("gateway", "replicas")),
    "two servers": ({"nats": {"replicas": 2}}, ("nats", "replicas")),
    "no such mode": ({"auth": {"mode": "trusting"}}, ("auth", "mode")),
    "no such scope": ({"rbac": {"scope": "everything"}}, ("rbac", "scope")),
    "no such pull policy": ({"schema": {"image": {"pullPolicy": "Sometimes"}}}, ("schema", "pullPolicy")),
    "a digest that is none": ({"operator": {"image": {"digest": "sha256:12"}}}, ("digest",)),
    "a size that is none": ({"nats": {"storage": {"size": "10 GB"}}}, ("storage", "size")),
    "an interval that is none": ({"nats": {"syncInterval": "sometimes"}}, ("syncInterval",)),
    "a port that is none": ({"edge": {"service": {"port": 70000}}}, ("edge", "service", "port")),
    "a namespace that is none": ({"operator": {"namespaces": ["Forecast"]}}, ("operator", "namespaces")),
    "a runner that there is not": (
        {"spark": {"enabled": True, "jobs": {"push": {"runner": "yarn"}}}},
        ("push", "runner"),
    ),
    "a job that says nothing of its runner": (
        {"spark": {"enabled": True, "jobs": {"push": {}}}},
        ("runner",),
    ),
    "a job with an unknown key": (
        {"spark": {"enabled": True, "jobs": {"push": {"runner": "apache", "executor": {"core": 1}}}}},
        ("executor", "core"),
    ),
    "a volume without a name": ({"ingest": {"extraVolumes": [{"emptyDir": {}}]}}, ("extraVolumes", "name")),
    "less time to end than it takes": (
        {"gateway": {"terminationGracePeriodSeconds": 30}},
        (
            "gateway.terminationGracePeriodSeconds is 30",
            "need 80",
            "raise it, leave it away, or lower gateway.stream.drainWindowSeconds or gateway.preStopSeconds",
        ),
    ),
    "less time to end than ingest takes": (
        {"ingest": {"terminationGracePeriodSeconds": 10}},
        ("ingest.terminationGracePeriodSeconds is 10", "need 35", "ingest.preStopSeconds"),
    ),
    "less time to end than the edge takes": (
        {"edge": {"terminationGracePeriodSeconds": 44}},
        ("edge.terminationGracePeriodSeconds is 44", "need 45", "edge.drainSeconds"),
    ),
    "no broker": ({"nats": {"enabled": False}}, ("externalNats.url", "nats.enabled")),
    "a broker's password from nowhere": (
        {"nats": {"enabled": False}, "externalNats": {"url": "nats://b", "auth": {"kind": "password"}}},
        ("externalNats.auth.existingSecret", "password"),
    ),
    "encryption without a certificate": ({"nats": {"tls": {"enabled": True}}}, ("nats.tls.existingSecret",)),
    "an auth service from nowhere": (
        {"auth": {"mode": "direct", "jwtSecret": {"existingSecret": "jwt"}}},
        ("auth.authOTronUrl", "direct"),
    ),
    "an auth service without a key": (
        {"auth": {"mode": "direct", "authOTronUrl": "https://auth.example"}},
        ("auth.jwtSecret.existingSecret", "direct"),
    ),
    "nobody's tokens": (
        {"auth": {"kubernetes": {"enabled": False}, "adminRoles": {"a": ["b"]}}},
        ("auth.kubernetes.enabled", "auth.issuers", "auth.jwtSecret.existingSecret"),
    ),
    "no administrator": (
        {"auth": {"kubernetes": {"enabled": False}, "jwtSecret": {"existingSecret": "jwt"}}},
        ("auth.adminRoles",),
    ),
    "no address": ({"edge": {"enabled": False}}, ("baseUrl",)),
    "a route to nowhere": (
        {"baseUrl": "https://a.example", "httpRoute": {"enabled": True}},
        ("httpRoute.parentRefs",),
    ),
    "jobs that cannot find the service": (
        {
            "edge": {"enabled": False},
            "baseUrl": "https://a.example",
            "spark": {"enabled": True, "namespaces": ["jobs"], "jobs": {"push": {"runner": "apache"}}},
        },
        ("spark.url",),
    ),
    "a job where no account is": (
        {
            "spark": {
                "enabled": True,
                "namespaces": ["jobs"],
                "jobs": {"push": {"runner": "apache", "namespace": "elsewhere"}},
            }
        },
        ("spark.jobs.push.namespace is elsewhere", "spark.namespaces"),
    ),
    "jobs that run nowhere": ({"spark": {"enabled": True}}, ("spark.namespaces", "at least one")),
    "jobs beside the broker": (
        {"spark": {"enabled": True, "namespaces": ["jobs", NAMESPACE]}},
        (f"spark.namespaces has {NAMESPACE}", "spark.allowReleaseNamespace"),
    ),
    "a job by no name of an object": (
        {"spark": {"enabled": True, "namespaces": ["jobs"], "jobs": {"Push_It": {"runner": "apache"}}}},
        ("spark", "jobs", "Push_It"),
    ),
    "more for streams than disks have": (
        {"nats": {"storage": {"size": "10Gi", "maxStreams": "11Gi"}}},
        ("nats.storage.maxStreams is 11Gi", "have 10Gi", "80 %"),
    ),
    "a gateway without streams": ({"gateway": {"stream": {"maxStreams": 0}}}, ("maxStreams",)),
    "an address without a scheme": ({"baseUrl": "aviso.example.org"}, ("baseUrl",)),
    "more pods than the most": (
        {"ingest": {"autoscaling": {"enabled": True, "minReplicas": 7}}},
        ("ingest.autoscaling.minReplicas is 7", "maxReplicas is 6"),
    ),
    "a port on nodes that is none": ({"edge": {"service": {"nodePort": 70000}}}, ("nodePort",)),
    "a name that is none": ({"fullnameOverride": "My_Aviso"}, ("fullnameOverride",)),
    "half a name that is too long": ({"nameOverride": "a" * 41}, ("nameOverride",)),
    "a certificate from nowhere": (
        external(tls={"clientCertificate": True}),
        ("externalNats.tls.existingSecret", "externalNats.tls.clientCertificate"),
    ),
    "a policy that leaves nothing": (
        {"auth": {"enabled": False}, "admissionPolicies": {"openAccess": {"enabled": True}}},
        ("admissionPolicies.openAccess", "auth.enabled", "allowedNamespaces"),
    ),
    "a port that Services do not lead to": (
        {"config": {"application": {"port": 9000}}},
        ("config.application.port is 9000", "leave it away"),
    ),
    "a window that pods have no time for": (
        {"gateway": {"config": {"streams": {"drain_seconds": 0}}}},
        ("gateway.config.streams.drain_seconds is 0", "set gateway.stream.drainWindowSeconds instead"),
    ),
    "a block that is taken away": (
        {"schema": {"config": {"metrics": None}}},
        ("schema.config.metrics", "is null", "leave it away"),
    ),
}


@pytest.mark.parametrize(("values", "words"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_names_what_is_wrong(
    chart: Chart, values: Mapping[str, Any], words: tuple[str, ...]
) -> None:
    refusal = chart.refusal(values)
    assert [word for word in words if word not in refusal] == [], refusal


@pytest.mark.parametrize("component", ["ingest", "gateway", "schema", "edge"])
def test_exactly_the_time_that_is_needed_is_enough(chart: Chart, component: str) -> None:
    """What is refused and what is computed are one number."""
    name = f"aviso-{component}"
    needed = _grace(chart, {}, name)
    assert _grace(chart, {component: {"terminationGracePeriodSeconds": needed}}, name) == needed
    refusal = chart.refusal({component: {"terminationGracePeriodSeconds": needed - 1}})
    assert f"need {needed}" in refusal


def _grace(chart: Chart, values: Mapping[str, Any], name: str) -> int:
    spec = chart.render(values).one("Deployment", name)["spec"]["template"]["spec"]
    grace = spec["terminationGracePeriodSeconds"]
    assert isinstance(grace, int)
    return grace
