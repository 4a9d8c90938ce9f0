"""Jobs of Spark, for either operator and for none: what they say is what is obeyed, and no more.

The two definitions are a megabyte each and not ours; the fields below are those of `sparkoperator.k8s.io/v1beta2` and
`spark.apache.org/v1`. What their operators make of them is tried on a cluster.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from support.chart import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.chart import Chart, Object, Rendered

RUNNERS: Final = ("apache", "kubeflow", "client")
EDGE: Final = f"http://aviso.{NAMESPACE}.svc"
JOBS: Final = {"apache": "by-apache", "kubeflow": "by-kubeflow"}

# What each definition has of what we use. A field that is not there would be refused, or dropped in silence.
FIELDS: Final[Mapping[str, Any]] = {
    "spark.apache.org/v1": {
        "runtimeVersions": {"sparkVersion": None},
        "pyFiles": None,
        "driverArgs": None,
        "sparkConf": None,
        "driverSpec": {"podTemplateSpec": {"spec": None}},
        "executorSpec": {"podTemplateSpec": {"spec": None}},
        "applicationTolerations": {
            "resourceRetainPolicy": None,
            "ttlAfterStopMillis": None,
            "restartConfig": {
                "restartPolicy": None,
                "maxRestartAttempts": None,
                "restartBackoffMillis": None,
            },
        },
    },
    "sparkoperator.k8s.io/v1beta2": {
        "type": None,
        "mode": None,
        "sparkVersion": None,
        "image": None,
        "imagePullPolicy": None,
        "mainApplicationFile": None,
        "arguments": None,
        "restartPolicy": {
            "type": None,
            "onFailureRetries": None,
            "onFailureRetryInterval": None,
            "onSubmissionFailureRetries": None,
            "onSubmissionFailureRetryInterval": None,
        },
        "timeToLiveSeconds": None,
        "sparkConf": None,
        "driver": {
            "cores": None,
            "coreRequest": None,
            "memory": None,
            "serviceAccount": None,
            "template": {"spec": None},
        },
        "executor": {
            "instances": None,
            "cores": None,
            "coreRequest": None,
            "memory": None,
            "serviceAccount": None,
            "template": {"spec": None},
        },
    },
}


def unknown(spec: Any, fields: Any, path: str = "") -> Iterator[str]:
    """Yield what a job says that its definition does not have."""
    if fields is None:
        return
    for key, value in spec.items():
        if key in fields:
            yield from unknown(value, fields[key], f"{path}.{key}")
        else:
            yield f"{path}.{key}"


def submitted(job: Object) -> tuple[dict[str, str], list[str]]:
    """Return the settings of a job that is its own driver, and what its main file is given."""
    (container,) = job["spec"]["template"]["spec"]["containers"]
    command, *words = container["args"]
    assert command == "spark-submit"
    main = words.index("local:///opt/aviso/main.py")
    settings = [word.removeprefix("--conf=") for word in words[:main] if word.startswith("--conf=")]
    return dict(one.split("=", 1) for one in settings), words[main + 1 :]


@pytest.fixture
def own_job(releases: Mapping[str, Rendered]) -> Object:
    """Give the job that is its own driver."""
    (job,) = [one for one in releases["jobs"].all("Job") if one["metadata"]["name"].startswith("by-itself-")]
    return job


def test_a_job_says_nothing_that_its_operator_does_not_know(releases: Mapping[str, Rendered]) -> None:
    for name in ("jobs", "jobs that say nothing"):
        found = releases[name].all("SparkApplication")
        assert {one["apiVersion"] for one in found} == set(FIELDS)
        for one in found:
            assert list(unknown(one["spec"], FIELDS[one["apiVersion"]])) == []


def test_jobs_are_what_their_values_say(releases: Mapping[str, Rendered]) -> None:
    """The same values, by whichever operator."""
    release = releases["jobs"]
    apache = release.one("SparkApplication", JOBS["apache"])["spec"]
    kubeflow = release.one("SparkApplication", JOBS["kubeflow"])["spec"]
    assert apache["driverArgs"] == kubeflow["arguments"] == ["batch-notify", "--event-type", "runs"]
    assert apache["pyFiles"] == kubeflow["mainApplicationFile"] == "local:///opt/aviso/main.py"
    assert apache["runtimeVersions"]["sparkVersion"] == kubeflow["sparkVersion"] == "4.3.0"
    conf = apache["sparkConf"]
    assert conf["spark.kubernetes.container.image"] == kubeflow["image"]
    assert (conf["spark.executor.instances"], kubeflow["executor"]["instances"]) == ("3", 3)
    for part in ("driver", "executor"):
        assert conf[f"spark.{part}.cores"] == str(kubeflow[part]["cores"])
        assert conf[f"spark.{part}.memory"] == kubeflow[part]["memory"]
        assert conf[f"spark.kubernetes.{part}.request.cores"] == kubeflow[part]["coreRequest"]
    for settings in (conf, kubeflow["sparkConf"]):
        assert settings["spark.sql.shuffle.partitions"] == "4"
        assert all(isinstance(value, str) for value in settings.values())
    restarts = apache["applicationTolerations"]
    assert (
        restarts["restartConfig"]["maxRestartAttempts"] == kubeflow["restartPolicy"]["onFailureRetries"] == 1
    )
    assert restarts["ttlAfterStopMillis"] == 1000 * kubeflow["timeToLiveSeconds"] == 600_000


def test_a_job_without_an_operator_is_its_own_driver(own_job: Object) -> None:
    """It is told its own name and address, and ends as the job ends."""
    settings, arguments = submitted(own_job)
    assert (
        settings.items()
        >= {
            "spark.kubernetes.driver.pod.name": "$(POD_NAME)",
            "spark.driver.host": "$(POD_IP)",
            "spark.driver.bindAddress": "$(POD_IP)",
            "spark.kubernetes.namespace": "jobs",
            "spark.kubernetes.authenticate.executor.serviceAccountName": "aviso-spark-executor",
            "spark.executor.instances": "3",
            "spark.sql.shuffle.partitions": "4",
        }.items()
    )
    # Spark refuses it in a pod that is the driver.
    assert "spark.local.dir" not in settings
    assert arguments == ["batch-notify", "--event-type", "runs"]
    assert own_job["spec"]["backoffLimit"] == 1
    assert own_job["spec"]["ttlSecondsAfterFinished"] == 600


def test_executors_of_a_job_without_an_operator_follow_a_template(
    releases: Mapping[str, Rendered], own_job: Object
) -> None:
    settings, _ = submitted(own_job)
    (container,) = own_job["spec"]["template"]["spec"]["containers"]
    folder, _, file = settings["spark.kubernetes.executor.podTemplateFile"].rpartition("/")
    (mount,) = [one for one in container["volumeMounts"] if one["mountPath"] == folder]
    volumes = {one["name"]: one for one in own_job["spec"]["template"]["spec"]["volumes"]}
    template = releases["jobs"].one("ConfigMap", volumes[mount["name"]]["configMap"]["name"])["data"][file]
    spec = yaml.safe_load(template)["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert [one["name"] for one in spec["containers"]] == ["spark-kubernetes-executor"]


def test_a_changed_job_is_another_job(chart: Chart) -> None:
    """A Job cannot be changed where it is: Kubernetes would refuse the upgrade."""

    def names(*arguments: str) -> set[str]:
        job = {"runner": "client", "arguments": list(arguments)}
        return chart.render(
            {"spark": {"enabled": True, "namespaces": ["jobs"], "jobs": {"push": job}}}
        ).names("Job")

    assert names("a") != names("b")
    assert names("a") == names("a")


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_part_finds_the_service_and_proves_who_it_is(
    releases: Mapping[str, Rendered], runner: str
) -> None:
    """In its pod's template, which is what no operator ignores."""
    found = 0
    for where, template in releases["jobs that say nothing"].pod_templates():
        if f" {runner}" not in where:
            continue
        for container in template["spec"]["containers"]:
            found += 1
            env = {one["name"]: one.get("value") for one in container["env"]}
            assert env["AVISO_URL"] == EDGE
            assert env["AVISO_TOKEN_FILE"] == "/run/aviso/token"
    assert found == 2, "a driver and its executors"


def test_what_is_given_besides_is_in_both_parts(releases: Mapping[str, Rendered]) -> None:
    """Variables and volumes, in the templates."""
    for where, template in releases["jobs"].pod_templates():
        if "by-" not in where or "elsewhere" in where:
            continue
        assert "tables" in [one["name"] for one in template["spec"]["volumes"]], where
        for container in template["spec"]["containers"]:
            assert {"name": "LOGLEVEL", "value": "info"} in container["env"], where
            assert {"name": "tables", "mountPath": "/tables"} in container["volumeMounts"], where


def test_spark_runs_as_the_user_that_its_images_know(releases: Mapping[str, Rendered]) -> None:
    """Any other has no name there, and Spark does not start without one."""
    for where, template in releases["jobs"].pod_templates():
        if "by-" in where or "elsewhere" in where:
            assert template["spec"]["securityContext"]["runAsUser"] == 185, where


def test_no_job_makes_network_policies_of_its_own(releases: Mapping[str, Rendered], own_job: Object) -> None:
    """Neither operator may, by the rights that their charts give, and then nothing would be submitted."""
    step = "org.apache.spark.deploy.k8s.features.NetworkPolicyFeatureStep"
    settings = [one["spec"]["sparkConf"] for one in releases["jobs"].all("SparkApplication")]
    for conf in (*settings, submitted(own_job)[0]):
        assert conf["spark.kubernetes.driver.pod.excludedFeatureSteps"] == step


def test_a_job_runs_where_there_is_an_account_for_it(releases: Mapping[str, Rendered]) -> None:
    release = releases["jobs"]
    places = {
        one["metadata"]["name"]: one["metadata"]["namespace"] for one in release.all("SparkApplication")
    }
    assert places == {"by-apache": "jobs", "by-kubeflow": "jobs", "elsewhere": "more-jobs"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        *((words, words) for words in ("--filter region='north'", 'a "quoted" word', "a,b\\c", "0600")),
        (3, "3"),
        (10_000_000, "10000000"),
        (0.25, "0.25"),
    ],
)
def test_arguments_arrive_as_they_were_written(chart: Chart, given: str | float, words: str) -> None:
    """As texts, also where they are numbers: the definitions take no others."""
    jobs = {one: {"runner": one, "arguments": [given]} for one in RUNNERS}
    release = chart.render({"spark": {"enabled": True, "namespaces": ["jobs"], "jobs": jobs}})
    assert release.one("SparkApplication", "apache")["spec"]["driverArgs"] == [words]
    assert release.one("SparkApplication", "kubeflow")["spec"]["arguments"] == [words]
    (job,) = [one for one in release.all("Job") if one["metadata"]["name"].startswith("client-")]
    assert job["spec"]["template"]["spec"]["containers"][0]["args"][-1] == words


def test_there_is_nothing_of_it_by_itself(release: Rendered) -> None:
    assert not [one for one in release.objects if "spark" in one["metadata"]["name"]]
    assert shlex.join(sorted(release.names("Job"))) == "aviso-release-finalizers aviso-startup-check"
