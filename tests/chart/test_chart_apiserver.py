"""A real API server takes what the chart renders: every field, every rule, and every pod under the restricted level."""

from __future__ import annotations

import json
import re
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest
import yaml

from aviso_operator.crd.definition import definition_text
from support.chart import CHART, NAMESPACE
from support.cluster_objects import DEFINITION_FILE, document, install_definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from support.apiserver import ApiServer
    from support.chart import Chart, Object, Rendered
    from support.helm import Helm

# What Kubernetes itself defines, and how it is called in a path.
PLURALS: Final = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "ConfigMap": "configmaps",
    "CustomResourceDefinition": "customresourcedefinitions",
    "Deployment": "deployments",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "Ingress": "ingresses",
    "Job": "jobs",
    "NetworkPolicy": "networkpolicies",
    "Pod": "pods",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Secret": "secrets",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "StatefulSet": "statefulsets",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
OTHERS: Final = {"HTTPRoute", "PrometheusRule", "ServiceMonitor", "SparkApplication"}
RESTRICTED: Final = {"pod-security.kubernetes.io/enforce": "restricted"}
_ACCOUNTS: Final = ("default", "aviso-spark")
_PATIENCE_SECONDS: Final = 30.0
_BETWEEN_LOOKS_SECONDS: Final = 0.1
SPEC: Final[dict[str, Any]] = {
    "topic": {"base": "alert", "keyOrder": ["region"]},
    "identifiers": [{"name": "region", "type": "String"}],
    "storage": {"retention": "7d", "maxBytes": "1Gi"},
}


class DryRun:
    """An API server that is asked what it would say."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._client = httpx.Client(
            base_url=server.url,
            verify=server.tls_context(),
            headers={"Authorization": f"Bearer {server.admin_token}"},
            params={"dryRun": "All", "fieldValidation": "Strict"},
            timeout=30,
        )
        self._namespaces: set[str] = set()

    def close(self) -> None:
        """Let go of its connections."""
        self._client.close()

    def fault(self, one: Object) -> str | None:
        """Return why an object would be refused; unknown fields are a reason."""
        namespace = one["metadata"].get("namespace")
        if namespace is not None and namespace not in self._namespaces:
            make_restricted_namespace(self._server, namespace)
            self._namespaces.add(namespace)
        group = one["apiVersion"]
        path = f"/api/{group}" if group == "v1" else f"/apis/{group}"
        within = f"/namespaces/{namespace}" if namespace is not None else ""
        answer = self._client.post(f"{path}{within}/{PLURALS[one['kind']]}", json=one)
        if answer.status_code == 409 and "already exists" in answer.text:
            return None
        warned = answer.headers.get("Warning")
        if answer.status_code == 201 and warned is None:
            return None
        return f"{answer.status_code} {warned or answer.json()['message']}"


def make_restricted_namespace(server: ApiServer, name: str) -> None:
    """Make a namespace that takes only restricted pods, with the accounts that some of them run as."""
    accounts = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": name}}
        for account in _ACCOUNTS
    ]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": RESTRICTED}}
    ran = server.kubectl(
        "apply", "--filename=-", given={"apiVersion": "v1", "kind": "List", "items": [namespace, *accounts]}
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def dry_run(server: ApiServer) -> Iterator[DryRun]:
    asked = DryRun(server)
    yield asked
    asked.close()


def test_every_object_is_one_that_kubernetes_knows(releases: Mapping[str, Rendered], dry_run: DryRun) -> None:
    """By every field; and what others define is not taken for one of its own."""
    seen: set[str] = set()
    found = []
    for name, release in releases.items():
        for one in release.objects:
            text = json.dumps(one, sort_keys=True)
            if text in seen or one["kind"] in OTHERS or one["kind"] == "Pod":
                continue
            seen.add(text)
            in_namespace = {**one, "metadata": {"namespace": NAMESPACE, **one["metadata"]}}
            asked = one if one["kind"] in _cluster_wide() else in_namespace
            fault = dry_run.fault(asked)
            if fault is not None:
                found.append(f"{name}: {one['kind']} {one['metadata']['name']}: {fault}")
    assert found == []


def test_every_pod_keeps_the_restricted_level(releases: Mapping[str, Rendered], dry_run: DryRun) -> None:
    """What workloads make, one by one: a namespace that enforces the level takes each of them."""
    seen: set[str] = set()
    found = []
    for name, release in releases.items():
        for where, template in release.pod_templates():
            spec = {**template["spec"], "serviceAccountName": "default"}
            if where.startswith("StatefulSet"):
                spec["volumes"] = [*spec["volumes"], {"name": "data", "emptyDir": {}}]
            text = json.dumps(spec, sort_keys=True)
            if text in seen:
                continue
            seen.add(text)
            for container in spec["containers"]:
                # Spark puts it into its templates.
                container.setdefault("image", "aviso/spark:0")
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "one", "namespace": NAMESPACE},
                "spec": spec,
            }
            fault = dry_run.fault(pod)
            if fault is not None:
                found.append(f"{name}: {where}: {fault}")
    assert len(seen) > 50
    assert found == []


def test_the_level_would_be_missed(release: Rendered, dry_run: DryRun) -> None:
    """The same pod without a word about its security is refused: it is the namespace that says so."""
    spec = dict(next(iter(release.pod_templates()))[1]["spec"], serviceAccountName="default")
    del spec["securityContext"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", "namespace": NAMESPACE},
        "spec": spec,
    }
    assert "restricted" in str(dry_run.fault(pod))


# --- policies --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def policed(server: ApiServer, releases: Mapping[str, Rendered]) -> ApiServer:
    """Have the policies of a release in force, and event types that they are about."""
    install_definition(server)
    for name in (NAMESPACE, "public", "unwatched"):
        make_restricted_namespace(server, name)
    objects = [
        one for one in releases["policies"].objects if one["kind"].startswith("ValidatingAdmissionPolicy")
    ]
    assert len(objects) == 6
    ran = server.kubectl(
        "apply", "--filename=-", given={"apiVersion": "v1", "kind": "List", "items": objects}
    )
    assert ran.returncode == 0, ran.stderr
    give_up, looks = time.monotonic() + _PATIENCE_SECONDS, threading.Event()
    # It takes the server a moment, and it tells nobody when they are in force.
    while not (_refused(server, auth={"required": False}) and _refused(server, retention="90d")):
        assert time.monotonic() < give_up, "the policies are not in force"
        looks.wait(_BETWEEN_LOOKS_SECONDS)
    return server


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"auth": {"required": False}}, "spec.auth.required: false is not allowed here"),
        ({"retention": "31d"}, "spec.storage.retention must be there, and at most 30d"),
        ({"retention": "5w"}, "at most 30d"),
        ({"retention": "721h"}, "at most 30d"),
        ({"maxBytes": "6Gi"}, "spec.storage.maxBytes must be there, and at most 5Gi"),
        ({"maxBytes": None}, "spec.storage.maxBytes must be there"),
        ({"retention": "30d"}, ""),
        ({"retention": "4w"}, ""),
        ({"maxBytes": "5Gi"}, ""),
        ({"maxBytes": 1073741824}, ""),
        ({"auth": {"required": True}}, ""),
    ],
)
def test_policies_refuse_what_they_are_about_and_nothing_else(
    policed: ApiServer, members: dict[str, Any], words: str
) -> None:
    refusal = _refused(policed, **members)
    assert (words in refusal) if words else refusal == ""


def test_policies_hold_where_the_operator_looks(policed: ApiServer) -> None:
    """Other namespaces are other people's."""
    assert _refused(policed, namespace="unwatched", auth={"required": False}) == ""


def test_what_was_there_before_a_policy_may_still_be_marked(policed: ApiServer) -> None:
    """Only a changed spec is looked at."""
    policies = [f"validatingadmissionpolicybinding/{NAMESPACE}.aviso-quota"]
    shown = policed.kubectl_json("get", *policies)
    assert policed.kubectl("delete", *policies).returncode == 0
    try:
        give_up, looks = time.monotonic() + _PATIENCE_SECONDS, threading.Event()
        while _refused(policed, retention="90d"):
            assert time.monotonic() < give_up, "the policy is still in force"
            looks.wait(_BETWEEN_LOOKS_SECONDS)
        made = document("old", _spec(retention="90d"))
        assert (
            policed.kubectl(f"--namespace={NAMESPACE}", "create", "--filename=-", given=made).returncode == 0
        )
    finally:
        shown["metadata"] = {key: shown["metadata"][key] for key in ("name", "labels")}
        assert policed.kubectl("create", "--filename=-", given=shown).returncode == 0
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while not _refused(policed, retention="90d"):
        assert time.monotonic() < give_up, "the policy is not in force again"
        looks.wait(_BETWEEN_LOOKS_SECONDS)
    marked = policed.kubectl(f"--namespace={NAMESPACE}", "label", "eventschema/old", "team=forecast")
    assert marked.returncode == 0, marked.stderr
    patch = json.dumps({"spec": {"description": "changed"}})
    changed = policed.kubectl(
        f"--namespace={NAMESPACE}", "patch", "eventschema/old", "--type=merge", f"--patch={patch}"
    )
    assert "at most 30d" in changed.stderr


def _spec(**members: Any) -> dict[str, Any]:
    """Return a spec with members of its storage, or of its top, set or left out."""
    spec = json.loads(json.dumps(SPEC))
    for name, value in members.items():
        into = spec if name == "auth" else spec["storage"]
        if value is None:
            del into[name]
        else:
            into[name] = value
    assert isinstance(spec, dict)
    return spec


def _refused(server: ApiServer, *, namespace: str = NAMESPACE, **members: Any) -> str:
    """Return the words with which an event type would be refused, or none."""
    ran = server.kubectl(
        f"--namespace={namespace}",
        *("create", "--dry-run=server", "--filename=-"),
        given=document("trial", _spec(**members)),
    )
    return "" if ran.returncode == 0 else ran.stderr


# --- a release's life ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def empty_server(server: ApiServer, policed: ApiServer) -> ApiServer:
    """Give the server without what other tests have put into it by hand."""
    for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
        assert policed.kubectl("delete", kind, "--all").returncode == 0
    ran = server.kubectl("delete", "--ignore-not-found", f"--filename={DEFINITION_FILE}")
    assert ran.returncode == 0, ran.stderr
    return server


def test_a_release_is_installed_upgraded_removed_and_comes_back(
    helm: Helm, chart: Chart, empty_server: ApiServer, tmp_path: Path
) -> None:
    """Passwords stay over an upgrade; event types stay over all of it, and the second install takes them on."""
    server, namespace = empty_server, "living"

    where = (f"--namespace={namespace}", f"--kubeconfig={server.kubeconfig}")

    def run(command: str, values: Mapping[str, Any]) -> None:
        # There are no nodes: nothing becomes ready, and nothing is waited for.
        given = chart.values_file(values)
        ran = helm.run(command, "aviso", CHART, *where, f"--values={given}", "--no-hooks")
        assert ran.code == 0, ran.messages

    make_restricted_namespace(server, namespace)
    run("install", {"nats": {"replicas": 3}})
    passwords = _passwords(server, namespace)
    assert len(set(passwords.values())) == 5
    _wait_served(server)
    made = document("alert", SPEC)
    assert server.kubectl(f"--namespace={namespace}", "create", "--filename=-", given=made).returncode == 0

    run("upgrade", {"nats": {"replicas": 3}, "gateway": {"replicas": 4}, "logging": {"level": "debug"}})
    assert _passwords(server, namespace) == passwords
    shown = server.kubectl_json(f"--namespace={namespace}", "get", "deployment/aviso-gateway")
    assert shown["spec"]["replicas"] == 4

    ran = helm.run("uninstall", "aviso", *where, "--no-hooks")
    assert ran.code == 0, ran.messages
    kept = server.kubectl_json(f"--namespace={namespace}", "get", "eventschemas")["items"]
    assert [one["metadata"]["name"] for one in kept] == ["alert"]
    assert server.kubectl_json(f"--namespace={namespace}", "get", "statefulsets")["items"] == []

    run("install", {"nats": {"replicas": 3}})
    (again,) = server.kubectl_json(f"--namespace={namespace}", "get", "eventschemas")["items"]
    assert again["metadata"]["uid"] == kept[0]["metadata"]["uid"]
    definition = server.kubectl_json("get", "customresourcedefinition/eventschemas.aviso.dev")
    generated = yaml.safe_load(definition_text())["spec"]["versions"][0]["schema"]
    assert definition["spec"]["versions"][0]["schema"] == generated


def test_another_number_of_servers_is_refused_while_there_are_disks(
    helm: Helm, chart: Chart, empty_server: ApiServer
) -> None:
    """By the chart, which asks the cluster; by the API server where it was not asked; and when only disks are left."""
    server, namespace = empty_server, "counting"
    where = (f"--namespace={namespace}", f"--kubeconfig={server.kubeconfig}")
    kubectl = f"--namespace={namespace}"

    def fault(command: str, replicas: int) -> str:
        given = chart.values_file({"crds": {"install": False}, "nats": {"replicas": replicas}})
        ran = helm.run(command, "aviso", CHART, *where, f"--values={given}", "--no-hooks", "--dry-run=server")
        return "" if ran.code == 0 else ran.messages

    make_restricted_namespace(server, namespace)
    stateful = chart.render({}, namespace=namespace).one("StatefulSet", "aviso-nats")
    assert server.kubectl("create", "--filename=-", given=stateful).returncode == 0
    refusal = fault("install", 3)
    assert "nats.replicas is 3, and there are disks of 1" in refusal
    assert "Leave nats.replicas at 1" in refusal

    other = chart.render({"nats": {"replicas": 3}}, namespace=namespace).one("StatefulSet", "aviso-nats")
    ran = server.kubectl("replace", "--dry-run=server", "--filename=-", given=other)
    assert "updates to statefulset spec" in ran.stderr

    assert server.kubectl(kubectl, "delete", "statefulset/aviso-nats").returncode == 0
    assert fault("install", 3) == ""
    (template,) = stateful["spec"]["volumeClaimTemplates"]
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": template["spec"]}
    metadata = {**template["metadata"], "name": "data-aviso-nats-0", "namespace": namespace}
    ran = server.kubectl("create", "--filename=-", given={**claim, "metadata": metadata})
    assert ran.returncode == 0, ran.stderr
    assert "there are disks of 1" in fault("install", 3)
    assert fault("install", 1) == ""


def test_a_changed_certificate_of_the_broker_replaces_pods(
    helm: Helm, chart: Chart, empty_server: ApiServer
) -> None:
    """Where the cluster is asked: servers and their clients read it when they start."""
    server, namespace = empty_server, "renewing"
    make_restricted_namespace(server, namespace)
    values = {"crds": {"install": False}, "nats": {"tls": {"enabled": True, "existingSecret": "broker"}}}

    def sums(certificate: str) -> set[str]:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "broker", "namespace": namespace},
            "stringData": {"tls.crt": certificate},
        }
        assert server.kubectl("apply", "--filename=-", given=secret).returncode == 0
        ran = helm.run(
            *("template", "aviso", CHART, f"--namespace={namespace}", f"--kubeconfig={server.kubeconfig}"),
            *(f"--values={chart.values_file(values)}", "--dry-run=server"),
        )
        assert ran.code == 0, ran.messages
        return set(re.findall(r"checksum/nats-tls: (\w+)", ran.output))

    first, second = sums("one"), sums("another")
    assert (len(first), len(second)) == (1, 1)
    assert first != second


def _passwords(server: ApiServer, namespace: str) -> dict[str, str]:
    data = server.kubectl_json(f"--namespace={namespace}", "get", "secret/aviso-nats-auth")["data"]
    assert isinstance(data, dict)
    return data


def _wait_served(server: ApiServer) -> None:
    waited = server.kubectl(
        "wait", "--for=condition=Established", "--timeout=30s", "crd/eventschemas.aviso.dev"
    )
    assert waited.returncode == 0, waited.stderr


def _cluster_wide() -> set[str]:
    return {kind for kind in PLURALS if kind.startswith(("Cluster", "Custom", "ValidatingAdmission"))}
