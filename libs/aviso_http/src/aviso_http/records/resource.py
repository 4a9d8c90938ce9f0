"""What logs and traces say about the process that they come from."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVICE_NAME: Final = "aviso-server"


def describe_process(environ: Mapping[str, str], *, version: str) -> dict[str, str]:
    """Return the resource: which service this is and, as far as the environment tells, in which pod."""
    resource = {"service.name": SERVICE_NAME, "service.version": version}
    namespace = environ.get("K8S_NAMESPACE_NAME")
    if namespace:
        resource["k8s.namespace.name"] = namespace
    pod = environ.get("K8S_POD_NAME") or environ.get("HOSTNAME")
    if pod:
        resource["k8s.pod.name"] = pod
    return resource


def describe_replica(environ: Mapping[str, str]) -> str:
    """Return a name that no other process of the service has: that of the pod, or of the machine and the process."""
    return environ.get("K8S_POD_NAME") or f"{platform.node() or 'host'}-{os.getpid()}"
