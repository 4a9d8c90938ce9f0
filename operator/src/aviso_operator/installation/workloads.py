"""Whether all pods of a workload are new ones: until then an address may be answered by those of before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aviso_core.errors import Unavailable
from aviso_operator.cluster import ClusterRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aviso_operator.installation.objects import ApiServer


def why_not_rolled_out(server: ApiServer, namespace: str, workload: str) -> str | None:
    """Return what is missing of a workload, such as deployments/aviso-ingest, or why nobody knows."""
    try:
        document = server.ask("GET", f"/apis/apps/v1/namespaces/{namespace}/{workload}")
    except (Unavailable, ClusterRefused) as error:
        return str(error)
    return "it is not there" if document is None else what_is_missing(document)


def what_is_missing(document: Mapping[str, Any]) -> str | None:
    """Return which pods of a Deployment or StatefulSet are missing or old, or None."""
    status = document.get("status", {})
    if status.get("observedGeneration", 0) < document["metadata"]["generation"]:
        return "its newest revision has not been seen by the cluster yet"
    wanted = document["spec"].get("replicas", 1)
    counts = {name: status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")}
    if set(counts.values()) == {wanted}:
        return None
    told = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f"of {wanted} pods: {told}"
