"""Who may talk to whom where networks are closed: what is needed, in both directions, and nothing else.

Whether a network obeys is the cluster's affair; that the policies are taken is tried on a real API server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from chart.value_sets import COMPONENTS, SERVICES
from support.chart import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.chart import Object, Rendered

# From, to, port: every conversation of an installation.
TALKS: Final = [
    *(("edge", service, 8000) for service in SERVICES),
    *((component, "nats", 4222) for component in ("operator", *SERVICES)),
    ("nats", "nats", 6222),
    *(("check", service, 8000) for service in SERVICES),
    ("check", "edge", 8080),
    ("check", "operator", 8080),
]
PORTS: Final = (4222, 6222, 8000, 8080, 8222, 9090)


class Network:
    """The policies of a release, asked about single conversations."""

    def __init__(self, release: Rendered) -> None:
        self._policies = {
            one["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]: one["spec"]
            for one in release.all("NetworkPolicy")
            if one["metadata"]["namespace"] == NAMESPACE
        }

    def may_talk(self, source: str, target: str, port: int) -> bool:
        """Return whether both ends allow it; to a component without a policy it is the other end alone."""
        return self._allows(source, "egress", "to", target, port) and self._allows(
            target, "ingress", "from", source, port
        )

    def _allows(self, component: str, direction: str, word: str, peer: str, port: int) -> bool:
        policy = self._policies.get(component)
        if policy is None:
            return True
        return any(
            ("ports" not in rule or port in [one["port"] for one in rule["ports"]])
            and (word not in rule or any(_is_pod(one, peer) for one in rule[word]))
            for rule in policy.get(direction, ())
        )

    def rules(self, component: str, direction: str) -> list[Any]:
        """Return the rules of a component."""
        found = self._policies[component].get(direction, [])
        assert isinstance(found, list)
        return found

    @property
    def components(self) -> set[str]:
        """Return who has a policy."""
        return set(self._policies)


def _is_pod(peer: Object, component: str) -> bool:
    """Return whether a peer is a component of the release."""
    for one in peer.get("podSelector", {}).get("matchExpressions", ()):
        if one["key"] == "app.kubernetes.io/component" and component in one["values"]:
            return True
    return False


def test_what_has_to_talk_may(releases: Mapping[str, Rendered]) -> None:
    network = Network(releases["closed networks"])
    assert [talk for talk in TALKS if not network.may_talk(*talk)] == []


def test_what_need_not_talk_may_not(releases: Mapping[str, Rendered]) -> None:
    """Of all pairs and ports, where everybody who comes from outside is named."""
    network = Network(releases["closed networks"])
    everybody = (*COMPONENTS, "check")
    found = [
        (source, target, port)
        for source in everybody
        for target in everybody
        for port in PORTS
        if network.may_talk(source, target, port)
    ]
    assert sorted(found) == sorted(TALKS)


@pytest.mark.parametrize("component", [*COMPONENTS, "check"])
def test_everybody_finds_names(releases: Mapping[str, Rendered], component: str) -> None:
    network = Network(releases["closed networks, open to everybody"])
    (names,) = [
        rule
        for rule in network.rules(component, "egress")
        if {one["port"] for one in rule["ports"]} == {53, 5353}
    ]
    assert "to" not in names
    assert {one["protocol"] for one in names["ports"]} == {"UDP", "TCP"}


def test_jobs_reach_ingest_and_the_edge(releases: Mapping[str, Rendered]) -> None:
    """And no broker, and neither of the other services directly."""
    network = Network(releases["closed networks"])

    def is_open_to_jobs(component: str) -> bool:
        return any(
            "jobs" in str(peer.get("namespaceSelector", {}).get("matchExpressions", ()))
            for rule in network.rules(component, "ingress")
            for peer in rule.get("from", ())
        )

    assert {one for one in COMPONENTS if is_open_to_jobs(one)} == {"ingest", "edge"}


def test_parts_of_a_job_talk_to_each_other_and_nobody_to_them(releases: Mapping[str, Rendered]) -> None:
    """By labels that Spark puts on them. What they read from is not the chart's to know."""
    release = releases["closed networks"]
    (policy,) = [one for one in release.all("NetworkPolicy") if one["metadata"]["namespace"] == "jobs"]
    labels = policy["spec"]["podSelector"]["matchLabels"]
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    ((peer,),) = [rule["from"] for rule in policy["spec"]["ingress"]]
    assert _is_pod(peer, "spark")
    assert "namespaceSelector" not in peer
    for job in releases["jobs"].all("SparkApplication"):
        for part in ("driver", "executor"):
            prefix = f"spark.kubernetes.{part}.label."
            conf = job["spec"]["sparkConf"]
            assert {key.removeprefix(prefix): conf[key] for key in conf if key.startswith(prefix)} == labels


def test_outsiders_are_those_who_are_named(releases: Mapping[str, Rendered]) -> None:
    """Clients, whoever reads metrics, the API server, and what else services talk to."""
    network = Network(releases["closed networks"])
    clients = {"namespaceSelector": {"matchLabels": {"aviso-clients": "yes"}}}
    monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    for component, port in (("edge", 8080), *((service, 8000) for service in SERVICES)):
        assert clients in _peers(network.rules(component, "ingress"), port)
    for component, port in (("operator", 8080), ("nats", 8222), *((service, 9090) for service in SERVICES)):
        assert monitoring in _peers(network.rules(component, "ingress"), port)
    for component in ("operator", "check"):
        (asked,) = [
            rule
            for rule in network.rules(component, "egress")
            if {"port": 6443, "protocol": "TCP"} in rule.get("ports", ())
        ]
        assert asked["to"] == [{"ipBlock": {"cidr": "10.0.0.0/24"}}]
    for component in (*COMPONENTS, "check"):
        assert {"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]} in network.rules(component, "egress")


def test_a_broker_outside_is_reached_where_it_is(releases: Mapping[str, Rendered]) -> None:
    network = Network(releases["closed networks without edge and broker"])
    assert network.components == {"operator", *SERVICES, "check"}
    wanted = {
        "to": [{"ipBlock": {"cidr": "198.51.100.0/24"}}],
        "ports": [{"port": 4333, "protocol": "TCP"}],
    }
    for component in ("operator", *SERVICES):
        assert wanted in network.rules(component, "egress")


def test_the_ports_of_policies_are_those_of_the_pods(releases: Mapping[str, Rendered]) -> None:
    release = releases["closed networks"]
    network = Network(release)
    for kind in ("Deployment", "StatefulSet"):
        for one in release.all(kind):
            component = one["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"]
            (container,) = one["spec"]["template"]["spec"]["containers"]
            listening = {port["containerPort"] for port in container["ports"]}
            allowed = {port["port"] for rule in network.rules(component, "ingress") for port in rule["ports"]}
            assert allowed <= listening
            # The health of the edge is asked by its node, which no policy keeps out.
            assert listening - allowed <= {8081}


def test_there_are_none_by_themselves(release: Rendered) -> None:
    assert release.all("NetworkPolicy") == []
    assert {one["metadata"]["namespace"] for one in release.all("Service")} == {NAMESPACE}


def _peers(rules: list[Any], port: int) -> list[Any]:
    return [
        peer
        for rule in rules
        if port in [one["port"] for one in rule["ports"]]
        for peer in rule.get("from", ())
    ]
