"""What `--help` teaches. Lines are as wide as the reference page."""

from __future__ import annotations

from typing import Final

DESCRIPTION: Final = (
    "Makes EventSchema resources of a cluster live in the running services, and says so in their status."
)

MORE: Final = """\
examples:
  $ aviso-operator run --all-namespaces
  $ aviso-operator run --namespace weather --namespace ocean
  $ aviso-operator release-finalizers --namespace weather
  $ aviso-operator crd > eventschemas.yaml

The cluster is the one that the pod runs in, or else the current context of the kubeconfig ($KUBECONFIG).
The broker is that of the services' configuration: the usual files, AVISOSERVER_CONFIG_FILE, or variables
such as AVISOSERVER_NOTIFICATION_BACKEND__JETSTREAM__NATS_URL=nats://aviso-nats:4222.

environment variables, which flags override and which are as good as unset when empty:
  AVISO_OPERATOR_NAMESPACES          names separated by commas; * is the whole cluster
  AVISO_OPERATOR_LISTEN              as --listen
  AVISO_OPERATOR_RESYNC_SECONDS      as --resync-seconds
  AVISO_OPERATOR_WITHDRAWAL_SECONDS  as --withdrawal-seconds

others:
  KUBECONFIG    where the cluster is, outside of a pod
  K8S_POD_NAME  who says so in events and logs; else HOSTNAME

exit codes:
  0  stopped in good order
  1  could not start or go on: the reason is told
  2  the arguments were not understood
"""

RUN: Final = """\
Follows EventSchemas, brings streams and published schemas to what they say, and writes their status.
Stops in good order on SIGTERM and SIGINT; what it was doing then, the next one finds out by looking.
"""
RELEASE: Final = """\
Takes the finalizer aviso.dev/operator off all objects and prints which had it. Objects that were deleted are
gone then; their streams stay. Not beside an operator that runs: it puts finalizers on again.
"""
CRD: Final = "Prints the definition of EventSchema as YAML, for: kubectl apply --server-side --filename -"
VERSION: Final = "Prints the versions of the operator and of Python."
