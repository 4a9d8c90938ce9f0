"""Whatever it is given, the chart makes objects that belong together."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest

from chart.value_sets import COMPONENTS, DIGEST, SERVICES, SETS
from support.chart import CHART, NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.chart import Chart, Object, Rendered

CLUSTER_WIDE: Final = (
    *("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
)
WORKLOADS: Final = ("Deployment", "StatefulSet")
# What the values name, and the cluster has by itself.
GIVEN: Final = {
    "Secret": {"broker", "broker-ca", "broker-passwords", "broker-tls", "jwt"},
    "ServiceAccount": {"default", "given"},
}


@pytest.mark.parametrize("name", ["nothing given", "watched", "jobs"])
def test_helm_finds_nothing_to_say_against_it(chart: Chart, name: str) -> None:
    """`helm lint --strict`; what it says of further values, it says when they are rendered."""
    ran = chart.helm.run("lint", "--strict", CHART, f"--values={chart.values_file(SETS[name].values)}")
    assert ran.code == 0, ran.output + ran.messages


def test_no_object_is_there_twice(releases: Mapping[str, Rendered]) -> None:
    found = [
        f"{name}: {twice}"
        for name, release in releases.items()
        for twice, count in Counter(_identity(one) for one in release.objects).items()
        if count > 1
    ]
    assert found == []


def test_every_object_says_whose_it_is(releases: Mapping[str, Rendered]) -> None:
    """By labels, and by its namespace where it has one."""
    found = []
    for name, release in releases.items():
        for one in release.objects:
            if name == "further objects" and one["metadata"]["name"] in ("more", "aviso-most"):
                continue
            labels = one["metadata"].get("labels", {})
            wanted = {"app.kubernetes.io/instance": SETS[name].release, "app.kubernetes.io/part-of": "aviso"}
            if not labels.items() >= wanted.items():
                found.append(f"{name}: {_identity(one)} has the labels {labels}")
            if ("namespace" in one["metadata"]) == (one["kind"] in CLUSTER_WIDE):
                found.append(f"{name}: {_identity(one)} has a namespace, or has none")
    assert found == []


def test_names_fit_wherever_kubernetes_puts_them(chart: Chart) -> None:
    """A name of the longest release still leaves room for what pods and labels add to it."""
    release = chart.render({"spark": {"enabled": True, "namespaces": ["jobs"]}}, release="r" * 53)
    named = [one["metadata"]["name"] for one in release.objects if one["kind"] not in CLUSTER_WIDE]
    assert [name for name in named if len(name) > 63] == []
    # A pod of a StatefulSet is a host name; one of a Deployment has two more parts of its own.
    assert [name for name in release.names("StatefulSet") if len(f"{name}-0") > 52] == []
    assert [name for name in release.names("Deployment") if len(name) > 57 - len("-abcde")] == []


def test_what_is_selected_is_what_runs(releases: Mapping[str, Rendered]) -> None:
    """Every Service and every disruption budget selects the pods of exactly one workload."""
    found = []
    for name, release in releases.items():
        workloads = [one for kind in WORKLOADS for one in release.all(kind)]
        for one in [*release.all("Service"), *release.all("PodDisruptionBudget")]:
            selector = one["spec"]["selector"]
            labels = selector.get("matchLabels", selector)
            selected = [
                workload["metadata"]["name"]
                for workload in workloads
                if labels.items() <= workload["spec"]["template"]["metadata"]["labels"].items()
            ]
            if len(selected) != 1:
                found.append(f"{name}: {_identity(one)} selects {selected}")
    assert found == []


def test_a_workload_selects_its_own_pods_by_what_never_changes(releases: Mapping[str, Rendered]) -> None:
    """A selector cannot be changed later: nothing of it may come from a value or a version."""
    wanted = {f"app.kubernetes.io/{key}" for key in ("name", "instance", "component")}
    for name, release in releases.items():
        for one in (one for kind in WORKLOADS for one in release.all(kind)):
            selector = one["spec"]["selector"]["matchLabels"]
            assert set(selector) == wanted, name
            assert selector.items() <= one["spec"]["template"]["metadata"]["labels"].items(), name


def test_labels_that_are_given_change_no_selector(releases: Mapping[str, Rendered]) -> None:
    """A pod that is not selected any more would be made again and again."""
    instances = {
        template["metadata"]["labels"]["app.kubernetes.io/instance"]
        for _, template in releases["names"].pod_templates()
        if "metadata" in template
    }
    assert instances == {"aviso"}
    for one in releases["names"].objects:
        assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == "aviso"
    for kind in WORKLOADS:
        for one in releases["places"].all(kind):
            labels = one["spec"]["template"]["metadata"]["labels"]
            assert labels["app.kubernetes.io/component"] in COMPONENTS


def test_ports_are_found_by_their_names(releases: Mapping[str, Rendered]) -> None:
    """A Service leads to a port that its pods have."""
    for name, release in releases.items():
        for service in release.all("Service"):
            (workload,) = [
                one
                for kind in WORKLOADS
                for one in release.all(kind)
                if service["spec"]["selector"].items()
                <= one["spec"]["template"]["metadata"]["labels"].items()
            ]
            ports = {port["name"] for port in workload["spec"]["template"]["spec"]["containers"][0]["ports"]}
            assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports, name


def test_what_a_pod_needs_is_made_or_given(releases: Mapping[str, Rendered]) -> None:
    """Accounts, configuration and secrets."""
    found = []
    for name, release in releases.items():
        for where, template in release.pod_templates():
            for kind, needed in _needs(template["spec"]):
                if needed not in release.names(kind) | GIVEN.get(kind, set()):
                    found.append(f"{name}: {where} needs the {kind} {needed}")
    assert found == []


def test_images_are_of_one_version(releases: Mapping[str, Rendered]) -> None:
    """None moves under a tag such as latest, and our own follow the chart where nothing else is said."""
    for name, release in releases.items():
        images = [container["image"] for _, container in _containers(release)]
        assert images, name
        assert not [image for image in images if not re.search(r":[\w.-]+(@sha256:[0-9a-f]{64})?$", image)]
        assert not [image for image in images if image.endswith(":latest")]


def test_a_registry_and_a_digest_go_into_the_image(releases: Mapping[str, Rendered]) -> None:
    release = releases["a registry of one's own"]
    assert release.container("Deployment", "aviso-ingest")["image"] == (
        f"registry.example/team/aviso/ingest:1.2.3@{DIGEST}"
    )
    assert release.container("Deployment", "aviso-edge")["image"].startswith("registry.example/team/nginx")
    assert [
        where
        for where, template in release.pod_templates()
        if template["spec"].get("imagePullSecrets") != [{"name": "registry"}]
    ] == []


def test_pods_say_what_they_take_and_whether_they_work(release: Rendered) -> None:
    """Requests, a bound on memory, and three probes, of which only readiness asks about others."""
    for kind in WORKLOADS:
        for one in release.all(kind):
            (container,) = one["spec"]["template"]["spec"]["containers"]
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
            assert "memory" in container["resources"]["limits"]
            assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys()
            named = {port["name"] for port in container["ports"]}
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                assert container[probe]["httpGet"]["port"] in named
    for service in SERVICES:
        container = release.container("Deployment", f"aviso-{service}")
        assert container["livenessProbe"]["httpGet"]["path"] == "/health"
        assert container["readinessProbe"]["httpGet"]["path"] == "/ready"


def test_placement_reaches_every_pod_of_every_component(releases: Mapping[str, Rendered]) -> None:
    release = releases["places"]
    for kind in WORKLOADS:
        for one in release.all(kind):
            template = one["spec"]["template"]
            spec = template["spec"]
            assert spec["nodeSelector"] == {"disk": "fast"}
            assert spec["tolerations"] == [{"key": "aviso", "operator": "Exists"}]
            assert "podAntiAffinity" in spec["affinity"]
            assert spec["topologySpreadConstraints"][0]["topologyKey"] == "topology.kubernetes.io/zone"
            assert spec["priorityClassName"] == "system-cluster-critical"
            assert template["metadata"]["annotations"]["example.org/note"] == "yes"
            assert template["metadata"]["labels"]["example.org/team"] == "forecast"
            (container,) = spec["containers"]
            assert {"name": "TZ", "value": "UTC"} in container["env"]
            assert {"name": "more", "mountPath": "/more"} in container["volumeMounts"]


def test_pods_spread_over_nodes_by_themselves(release: Rendered) -> None:
    for kind in WORKLOADS:
        for one in release.all(kind):
            (spread,) = one["spec"]["template"]["spec"]["topologySpreadConstraints"]
            assert spread["labelSelector"]["matchLabels"] == one["spec"]["selector"]["matchLabels"]


def test_labels_and_annotations_for_all_are_on_all(releases: Mapping[str, Rendered]) -> None:
    for one in releases["names"].objects:
        assert one["metadata"]["labels"]["team"] == "forecast"
        assert one["metadata"]["annotations"]["owner"] == "forecast@example.org"
        assert one["metadata"]["name"].startswith(("weather", "eventschemas.", f"{NAMESPACE}.weather"))


def test_a_changed_value_rolls_those_whom_it_concerns(chart: Chart, release: Rendered) -> None:
    """The sum of a pod's own configuration is on the pod; event types are no configuration."""
    changed = chart.render({"ingest": {"batch": {"maxRecords": 5000}}})
    assert _rolled(release, changed) == {"aviso-ingest"}
    assert _rolled(release, chart.render({"gateway": {"stream": {"heartbeatSeconds": 20}}})) == {
        "aviso-gateway"
    }
    assert _rolled(release, chart.render({"logging": {"level": "debug"}})) == {
        *("aviso-operator", "aviso-ingest", "aviso-gateway", "aviso-schema")
    }
    assert _rolled(release, chart.render({"nats": {"syncInterval": "2m"}})) == {"aviso-nats"}


def test_what_scales_itself_is_not_told_how_many(releases: Mapping[str, Rendered]) -> None:
    release = releases["as many pods as it takes"]
    for service in SERVICES:
        assert "replicas" not in release.one("Deployment", f"aviso-{service}")["spec"]
        scaler = release.one("HorizontalPodAutoscaler", f"aviso-{service}")["spec"]
        assert scaler["scaleTargetRef"]["name"] == f"aviso-{service}"
    assert release.names("HorizontalPodAutoscaler") == {f"aviso-{service}" for service in SERVICES}


def test_gateways_scale_by_streams_and_still_by_the_processor(releases: Mapping[str, Rendered]) -> None:
    """Two metrics, each of which works alone: where there is no metric of ours, the processor is left."""
    scaler = releases["as many pods as it takes"].one("HorizontalPodAutoscaler", "aviso-gateway")["spec"]
    cpu, streams = scaler["metrics"]
    assert cpu["resource"]["name"] == "cpu"
    assert streams["pods"]["metric"]["name"] == "aviso_sse_connections_active"
    assert streams["pods"]["target"] == {"type": "AverageValue", "averageValue": "2000"}
    down = scaler["behavior"]["scaleDown"]
    assert down["stabilizationWindowSeconds"] == 600
    assert down["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 60}]
    alone = releases["as many gateways as the processor asks for"]
    (only,) = alone.one("HorizontalPodAutoscaler", "aviso-gateway")["spec"]["metrics"]
    assert only["type"] == "Resource"


def test_disruption_is_bounded_where_there_is_something_to_lose(releases: Mapping[str, Rendered]) -> None:
    """There is one operator, and one server of NATS: a bound on either would keep its node from being emptied."""
    budgets = releases["three servers"].all("PodDisruptionBudget")
    assert {one["metadata"]["name"] for one in budgets} == {
        *("aviso", "aviso-ingest", "aviso-gateway", "aviso-schema", "aviso-nats")
    }
    for one in budgets:
        assert one["spec"]["maxUnavailable"] == 1
        assert one["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    assert "aviso-nats" not in releases["nothing given"].names("PodDisruptionBudget")
    assert releases["as little as possible"].all("PodDisruptionBudget") == []


def test_there_is_one_operator_at_a_time(release: Rendered) -> None:
    spec = release.one("Deployment", "aviso-operator")["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "Recreate"}


def test_pods_have_the_time_that_they_need_to_end(releases: Mapping[str, Rendered]) -> None:
    """Computed from what they have to do meanwhile, or what was set if that is enough."""

    def graces(release: Rendered) -> dict[str, int]:
        return {
            one["metadata"]["name"]: one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
            for one in release.all("Deployment")
        }

    assert graces(releases["nothing given"]) == {
        "aviso-operator": 30,
        "aviso-ingest": 5 + 20 + 10,
        "aviso-gateway": 5 + (60 + 5) + 10,
        "aviso-schema": 5 + 20 + 10,
        "aviso-edge": 5 + 30 + 10,
    }
    changed = graces(releases["long ends"])
    assert changed["aviso-gateway"] == 3600
    assert changed["aviso-ingest"] == 20 + 10


def test_gateways_roll_all_at_once_or_one_by_one(releases: Mapping[str, Rendered]) -> None:
    """At once: every client reconnects once. One by one: fewer pods, and a client may be sent on more than once."""
    surging = releases["nothing given"].one("Deployment", "aviso-gateway")["spec"]
    assert surging["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": "100%"}
    rolling = releases["long ends"].one("Deployment", "aviso-gateway")["spec"]
    assert rolling["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert rolling["minReadySeconds"] == 30
    # Two pods one after the other, each with its whole end.
    assert rolling["progressDeadlineSeconds"] >= 2 * (3600 + 30)


def test_pods_go_on_until_nobody_is_sent_to_them(releases: Mapping[str, Rendered]) -> None:
    gateway = releases["nothing given"].container("Deployment", "aviso-gateway")
    assert gateway["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}
    assert "lifecycle" not in releases["long ends"].container("Deployment", "aviso-ingest")


def test_further_objects_may_be_templates(releases: Mapping[str, Rendered]) -> None:
    release = releases["further objects"]
    assert release.one("ConfigMap", "more")["data"] == {"a": "b"}
    assert "aviso-most" in release.names("ConfigMap")


def test_the_definition_stays_unless_it_is_told_to_go(releases: Mapping[str, Rendered]) -> None:
    name, policy = "eventschemas.aviso.dev", "helm.sh/resource-policy"
    definition = releases["nothing given"].one("CustomResourceDefinition", name)
    assert definition["metadata"]["annotations"][policy] == "keep"
    going = releases["a definition that goes"].one("CustomResourceDefinition", name)
    assert policy not in going["metadata"].get("annotations", {})
    assert releases["as little as possible"].all("CustomResourceDefinition") == []


def test_hooks_and_tests_run_when_they_are_meant_to(releases: Mapping[str, Rendered]) -> None:
    """They are not part of the release, and clean up behind themselves."""
    release = releases["nothing given"]
    hooks = {
        _identity(one)[2]: one["metadata"]["annotations"]
        for one in release.objects
        if one["kind"] in ("Job", "Pod")
    }
    assert {name: one["helm.sh/hook"] for name, one in hooks.items()} == {
        "aviso-startup-check": "post-install,post-upgrade",
        "aviso-release-finalizers": "post-delete",
        "aviso-test-health": "test",
        "aviso-test-round-trip": "test",
    }
    assert all("before-hook-creation" in one["helm.sh/hook-delete-policy"] for one in hooks.values())
    left = releases["as little as possible"]
    assert left.all("Job") == left.all("Pod") == []


def test_the_startup_check_looks_at_every_workload_within_the_time_of_helm(
    releases: Mapping[str, Rendered],
) -> None:
    """Each workload of the release, for five minutes at the most, once, and with its words kept when it fails."""
    for name in ("nothing given", "an Ingress", "a broker that takes everybody"):
        release = releases[name]
        job = release.one("Job", "aviso-startup-check")
        assert job["spec"]["activeDeadlineSeconds"] <= 280
        assert job["spec"]["backoffLimit"] == 0
        assert job["metadata"]["annotations"]["helm.sh/hook-output-log-policy"] == "hook-failed"
        asked = {
            word.removeprefix("--workload=")
            for word in release.container("Job", "aviso-startup-check")["command"]
            if word.startswith("--workload=")
        }
        assert asked == {f"{kind.lower()}s/{one}" for kind in WORKLOADS for one in release.names(kind)}
        (role,) = [one for one in release.all("Role") if one["metadata"]["name"] == "aviso-startup-check"]
        allowed = {
            f"{plural}/{one}"
            for rule in role["rules"]
            for plural in rule["resources"]
            for one in rule["resourceNames"]
        }
        assert allowed == asked


def test_the_startup_check_asks_no_cluster_where_it_may_not(releases: Mapping[str, Rendered]) -> None:
    job = releases["accounts that are there"].one("Job", "aviso-startup-check")
    spec = job["spec"]["template"]["spec"]
    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("default", False)
    assert "--workload" not in str(spec["containers"][0]["command"])


def test_finalizers_are_taken_off_by_an_account_that_comes_with_the_hook(
    releases: Mapping[str, Rendered],
) -> None:
    """The operator's own is gone by then; whoever gives rights binds it by its name."""
    for name in ("nothing given", "accounts that are there"):
        account = releases[name].one("ServiceAccount", "aviso-release-finalizers")
        assert account["metadata"]["annotations"]["helm.sh/hook"] == "post-delete"
        job = releases[name].one("Job", "aviso-release-finalizers")
        spec = job["spec"]["template"]["spec"]
        assert spec["serviceAccountName"] == account["metadata"]["name"]


def test_a_round_trip_is_tried_where_its_event_type_is_allowed(chart: Chart) -> None:
    """It asks for a token where there is one; without, a policy may refuse it."""
    policy: dict[str, Any] = {"enabled": True}
    values = {"auth": {"enabled": False}, "admissionPolicies": {"openAccess": policy}}
    trial = "aviso-test-round-trip"
    assert trial in chart.render({"admissionPolicies": {"openAccess": policy}}).names("Pod")
    assert trial not in chart.render(_allowing(values, "other")).names("Pod")
    assert trial in chart.render(_allowing(values, NAMESPACE)).names("Pod")


def _allowing(values: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    policy = {"enabled": True, "allowedNamespaces": [namespace]}
    return {**values, "admissionPolicies": {"openAccess": policy}}


def test_large_numbers_are_written_out(chart: Chart) -> None:
    """What comes through a float has no exponent behind it."""
    release = chart.render(
        {
            "operator": {"resyncSeconds": 10_000_000},
            "gateway": {"autoscaling": {"enabled": True, "streamsPerPod": 2_000_000}},
        }
    )
    env = {one["name"]: one.get("value") for one in release.container("Deployment", "aviso-operator")["env"]}
    assert env["AVISO_OPERATOR_RESYNC_SECONDS"] == "10000000"
    _, streams = release.one("HorizontalPodAutoscaler", "aviso-gateway")["spec"]["metrics"]
    assert streams["pods"]["target"]["averageValue"] == "2000000"


def test_every_component_has_an_account_of_its_own(releases: Mapping[str, Rendered]) -> None:
    def accounts(release: Rendered) -> dict[str, str]:
        return {
            template["metadata"]["labels"]["app.kubernetes.io/component"]: template["spec"][
                "serviceAccountName"
            ]
            for kind in WORKLOADS
            for one in release.all(kind)
            for template in (one["spec"]["template"],)
        }

    own = accounts(releases["nothing given"])
    assert own == {component: f"aviso-{component}" for component in COMPONENTS}
    assert set(accounts(releases["accounts that are there"]).values()) == {"given"}
    assert accounts(releases["accounts by other names"]) == {
        component: f"of-{component}" for component in COMPONENTS
    }


def _identity(one: Object) -> tuple[str, str, str]:
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]


def _containers(release: Rendered) -> Iterator[tuple[str, Any]]:
    """Yield each container that names an image; Spark puts its own into its templates."""
    for where, template in release.pod_templates():
        for container in template["spec"]["containers"]:
            if not container["name"].startswith("spark-kubernetes-"):
                yield where, container


def _needs(spec: Object) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of what a pod cannot start without."""
    if "serviceAccountName" in spec:
        yield "ServiceAccount", spec["serviceAccountName"]
    for volume in spec.get("volumes", ()):
        if "configMap" in volume:
            yield "ConfigMap", volume["configMap"]["name"]
        if "secret" in volume:
            yield "Secret", volume["secret"]["secretName"]
    for container in spec["containers"]:
        for variable in container.get("env", ()):
            if "secretKeyRef" in variable.get("valueFrom", {}):
                yield "Secret", variable["valueFrom"]["secretKeyRef"]["name"]


def _rolled(before: Rendered, after: Rendered) -> set[str]:
    """Return the workloads whose pods are replaced by a change."""

    def templates(release: Rendered) -> dict[str, Object]:
        return {
            one["metadata"]["name"]: one["spec"]["template"]
            for kind in WORKLOADS
            for one in release.all(kind)
        }

    old, new = templates(before), templates(after)
    return {name for name in old | new if old.get(name) != new.get(name)}
