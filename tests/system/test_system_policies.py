"""NetworkPolicies are right for the API server; whether they are obeyed is for the network of the cluster to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from support.installed import RELEASE_NAMESPACE

if TYPE_CHECKING:
    from support.installed import Installed

COMPONENTS: Final = {"operator", "ingest", "gateway", "schema", "edge", "nats"}


def test_each_component_has_one_when_they_are_on(event_types: Installed) -> None:
    event_types.upgrade("networkPolicy.enabled=true")
    policies = event_types.cluster.list("networkpolicies", RELEASE_NAMESPACE)
    chosen = {
        policy["spec"]["podSelector"]["matchLabels"].get("app.kubernetes.io/component") for policy in policies
    }
    assert chosen >= COMPONENTS
    event_types.upgrade("networkPolicy.enabled=false")
