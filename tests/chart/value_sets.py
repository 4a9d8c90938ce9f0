"""The sets of values that the chart is rendered with: each switch at least once on and once off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from support.chart import RELEASE

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVICES: Final = ("ingest", "gateway", "schema")
COMPONENTS: Final = ("operator", *SERVICES, "edge", "nats")
DIGEST: Final = f"sha256:{'0a' * 32}"


class ValueSet(NamedTuple):
    """Values, and the release that they are given to."""

    values: Mapping[str, Any]
    release: str = RELEASE


def _every(components: tuple[str, ...], **values: Any) -> dict[str, Any]:
    return dict.fromkeys(components, values)


def external(**values: Any) -> dict[str, Any]:
    """Return values for a broker that is there already."""
    return {"nats": {"enabled": False}, "externalNats": {"url": "nats://broker.example:4222", **values}}


_JOB: Final = {
    "arguments": ["batch-notify", "--event-type", "runs"],
    "executors": 3,
    "driver": {"cores": 1, "coreRequest": "500m", "memory": "512m"},
    "executor": {"cores": 2, "coreRequest": "250m", "memory": "768m"},
    "retries": 1,
    "keepSeconds": 600,
    "sparkConf": {"spark.sql.shuffle.partitions": "4"},
    "env": [{"name": "LOGLEVEL", "value": "info"}],
    "volumes": [{"name": "tables", "persistentVolumeClaim": {"claimName": "tables"}}],
    "volumeMounts": [{"name": "tables", "mountPath": "/tables"}],
}

SETS: Final[Mapping[str, ValueSet]] = {
    "nothing given": ValueSet({}),
    "another name of the release": ValueSet({}, release="prod"),
    "names": ValueSet(
        {
            "fullnameOverride": "weather",
            "commonLabels": {"team": "forecast", "app.kubernetes.io/instance": "another"},
            "commonAnnotations": {"owner": "forecast@example.org"},
            "monitoring": {"dashboard": {"enabled": True}},
        }
    ),
    "half a name": ValueSet({"nameOverride": "events"}, release="prod"),
    "three servers": ValueSet({"nats": {"replicas": 3}}),
    "three servers, encrypted": ValueSet(
        {
            "nats": {
                "replicas": 3,
                "syncInterval": "always",
                "tls": {"enabled": True, "existingSecret": "broker-tls"},
                "auth": {"existingSecret": "broker-passwords"},
                "storage": {"className": "fast", "size": "100Gi", "maxStreams": "90Gi"},
            }
        }
    ),
    "a broker that takes everybody": ValueSet(external(replicas=3)),
    "a broker with a token": ValueSet(external(auth={"kind": "token", "existingSecret": "broker"})),
    "a broker with passwords": ValueSet(
        external(
            auth={"kind": "password", "existingSecret": "broker", "users": {"ingest": "writer"}},
            tls={"existingSecret": "broker-ca"},
        )
    ),
    "a broker with credentials": ValueSet(
        external(
            auth={"kind": "credentials", "existingSecret": "broker"},
            tls={"existingSecret": "broker-tls", "clientCertificate": True},
        )
    ),
    "an Ingress": ValueSet(
        {
            "ingress": {
                "enabled": True,
                "className": "public",
                "annotations": {"example.org/buffering": "off"},
                "hosts": ["aviso.example.org", "events.example.org"],
                "tls": [{"hosts": ["aviso.example.org"], "secretName": "aviso-tls"}],
            }
        }
    ),
    "an Ingress of any host": ValueSet({"baseUrl": "https://any.example", "ingress": {"enabled": True}}),
    "an HTTPRoute": ValueSet(
        {
            "httpRoute": {
                "enabled": True,
                "annotations": {"example.org/note": "yes"},
                "parentRefs": [{"name": "public", "namespace": "gateways"}],
                "hostnames": ["aviso.example.org"],
            }
        }
    ),
    "an HTTPRoute to the services, and the edge besides": ValueSet(
        {"edge": {"enabled": True}, "httpRoute": {"enabled": True, "parentRefs": [{"name": "public"}]}}
    ),
    "no edge": ValueSet({"edge": {"enabled": False}, "baseUrl": "https://aviso.example.org"}),
    "an edge on every node": ValueSet(
        {
            "edge": {
                "replicas": 3,
                "accessLog": True,
                "drainSeconds": 60,
                "service": {"type": "NodePort", "nodePort": 30080, "port": 8080},
            }
        }
    ),
    "closed networks": ValueSet(
        {
            "networkPolicy": {
                "enabled": True,
                "clients": [{"namespaceSelector": {"matchLabels": {"aviso-clients": "yes"}}}],
                "monitoring": [
                    {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
                ],
                "apiServer": [{"ipBlock": {"cidr": "10.0.0.0/24"}}],
                "dnsPorts": [53],
                "extraEgress": [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}],
            },
            "nats": {"replicas": 3},
            "spark": {"enabled": True, "namespaces": ["jobs"]},
        }
    ),
    "closed networks, open to everybody": ValueSet({"networkPolicy": {"enabled": True}}),
    "closed networks without edge and broker": ValueSet(
        {
            **external(),
            "networkPolicy": {
                "enabled": True,
                "externalNats": [{"ipBlock": {"cidr": "198.51.100.0/24"}}],
                "externalNatsPort": 4333,
            },
            "edge": {"enabled": False},
            "baseUrl": "https://aviso.example.org",
        }
    ),
    "as many pods as it takes": ValueSet(
        {
            "ingest": {"autoscaling": {"enabled": True}},
            "gateway": {"autoscaling": {"enabled": True, "streamsPerPod": 2000}},
            "schema": {"autoscaling": {"enabled": True}},
        }
    ),
    "as many gateways as the processor asks for": ValueSet({"gateway": {"autoscaling": {"enabled": True}}}),
    "watched": ValueSet(
        {
            "monitoring": {
                "serviceMonitor": {"enabled": True, "interval": "15s", "labels": {"release": "prometheus"}},
                "prometheusRule": {
                    "enabled": True,
                    "labels": {"release": "prometheus"},
                    "alertLabels": {"team": "forecast"},
                },
                "dashboard": {"enabled": True},
            }
        }
    ),
    "policies": ValueSet(
        {
            "admissionPolicies": {
                "openAccess": {"enabled": True, "allowedNamespaces": ["public"]},
                "quota": {"enabled": True, "maxRetention": "30d", "maxBytes": "5Gi"},
            }
        }
    ),
    "policies of the whole cluster": ValueSet(
        {
            "rbac": {"scope": "cluster"},
            "admissionPolicies": {"openAccess": {"enabled": True}, "quota": {"enabled": True}},
        }
    ),
    "jobs": ValueSet(
        {
            "spark": {
                "enabled": True,
                "namespaces": ["jobs", "more-jobs"],
                "jobs": {
                    "by-apache": {"runner": "apache", **_JOB},
                    "by-kubeflow": {"runner": "kubeflow", **_JOB},
                    "by-itself": {"runner": "client", **_JOB},
                    "elsewhere": {"runner": "apache", "namespace": "more-jobs"},
                },
            }
        }
    ),
    "jobs that say nothing": ValueSet(
        {
            "spark": {
                "enabled": True,
                "namespaces": ["jobs"],
                "jobs": {runner: {"runner": runner} for runner in ("apache", "kubeflow", "client")},
            }
        }
    ),
    "the whole cluster": ValueSet({"rbac": {"scope": "cluster"}}),
    "other namespaces": ValueSet({"operator": {"namespaces": ["forecast", "archive"]}}),
    "its own namespace and another": ValueSet({"operator": {"namespaces": ["aviso-system", "archive"]}}),
    "nobody is known": ValueSet({"auth": {"enabled": False}}),
    "an auth service": ValueSet(
        {
            "auth": {
                "mode": "direct",
                "authOTronUrl": "https://auth.example.org",
                "jwtSecret": {"existingSecret": "jwt"},
            }
        }
    ),
    "tokens of others": ValueSet(
        {
            "auth": {
                "adminRoles": {"staff": ["aviso-admin"]},
                "kubernetes": {"enabled": False},
                "issuers": [
                    {
                        "issuer": "https://login.example.org",
                        "audience": "aviso",
                        "jwks_url": "https://login.example.org/keys",
                        "realm": "staff",
                    }
                ],
            }
        }
    ),
    "a registry of one's own": ValueSet(
        {
            "global": {
                "imageRegistry": "registry.example/team/",
                "imagePullSecrets": [{"name": "registry"}],
            },
            **_every(COMPONENTS, image={"pullPolicy": "Always"}),
            "ingest": {"image": {"tag": "1.2.3", "digest": DIGEST, "pullPolicy": "Always"}},
            "spark": {
                "enabled": True,
                "namespaces": ["jobs"],
                "image": {"pullPolicy": "Always"},
                "jobs": {"push": {"runner": "client"}},
            },
        }
    ),
    "places": ValueSet(
        _every(
            COMPONENTS,
            nodeSelector={"disk": "fast"},
            tolerations=[{"key": "aviso", "operator": "Exists"}],
            affinity={"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
            topologySpreadConstraints=[
                {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "aviso"}},
                }
            ],
            priorityClassName="system-cluster-critical",
            podAnnotations={"example.org/note": "yes"},
            podLabels={"example.org/team": "forecast", "app.kubernetes.io/component": "another"},
            extraEnv=[{"name": "TZ", "value": "UTC"}],
            extraVolumes=[{"name": "more", "emptyDir": {}}],
            extraVolumeMounts=[{"name": "more", "mountPath": "/more"}],
        )
    ),
    "accounts that are there": ValueSet(
        {
            **_every(COMPONENTS, serviceAccount={"create": False, "name": "given"}),
            "rbac": {"create": False},
            "spark": {"enabled": True, "namespaces": ["aviso-system"], "allowReleaseNamespace": True},
        }
    ),
    "accounts by other names": ValueSet(
        {
            component: {
                "serviceAccount": {"name": f"of-{component}", "annotations": {"example.org/role": "x"}}
            }
            for component in COMPONENTS
        }
    ),
    "as little as possible": ValueSet(
        {
            "crds": {"install": False},
            "hooks": {"startupCheck": {"enabled": False}, "releaseFinalizers": {"enabled": False}},
            "tests": {"enabled": False},
            "rbac": {"aggregate": False},
            "admissionPolicies": {"deleteGuard": {"enabled": False}},
            **_every((*SERVICES, "edge", "nats"), pdb={"enabled": False}),
        }
    ),
    "a definition that goes": ValueSet({"crds": {"keep": False}}),
    "further objects": ValueSet(
        {
            "extraObjects": [
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}, "data": {"a": "b"}},
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-most\n",
            ]
        }
    ),
    "long ends": ValueSet(
        {
            "ingest": {"preStopSeconds": 0},
            "gateway": {
                "rollout": "rolling",
                "minReadySeconds": 30,
                "preStopSeconds": 20,
                "terminationGracePeriodSeconds": 3600,
                "stream": {"drainWindowSeconds": 600, "maxStreams": 123},
            },
        }
    ),
    "more configuration": ValueSet(
        {
            "logging": {"level": "debug"},
            "streams": {"maxMessages": 1000000, "maxBytes": 1073741824},
            "config": {"application": {"cors": {"allowed_origins": ["https://portal.example"]}}},
            "gateway": {
                "trustedProxyHops": 2,
                "config": {"streams": {"max_waiting_bytes": 65536}, "logging": {"level": "warn"}},
            },
        }
    ),
}
