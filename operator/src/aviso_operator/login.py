"""Which cluster is meant and how to get in: that of the pod, else that of the kubeconfig. kopf does it likewise."""

from __future__ import annotations

from kubernetes.client import Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from yaml import YAMLError

from aviso_core.errors import AvisoError


class NotConfigured(AvisoError):
    """It is not known which cluster is meant, or how to get in."""

    code = "NO_CLUSTER"


def find_cluster(*, connections: int) -> Configuration:
    """Return how the cluster is reached, by so many connections at once."""
    configuration = Configuration()
    try:
        _load(configuration)
    except (ConfigException, YAMLError, OSError) as error:
        raise NotConfigured(
            f"which cluster? Run in a pod with a ServiceAccount, or set KUBECONFIG ({error})"
        ) from error
    configuration.connection_pool_maxsize = connections
    # Who asks decides when to ask again.
    configuration.retries = False
    return configuration


def _load(configuration: Configuration) -> None:
    try:
        load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]  # it brings no types
    except ConfigException:
        load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]  # it brings no types
