"""Every pod keeps the restricted level of Pod Security and more; a real API server says the first of it as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.chart import Object, Rendered

CONTAINER: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
# Who asks the cluster something, besides Spark's drivers, which make their executors.
_ASK_THE_CLUSTER: Final = ("-operator", "-release-finalizers", "-startup-check", "-test-round-trip")


def _pods(releases: Mapping[str, Rendered]) -> Iterator[tuple[str, Object]]:
    for name, release in releases.items():
        for where, template in release.pod_templates():
            yield f"{name}: {where}", template["spec"]


def test_no_pod_runs_as_anybody_who_may_more_than_it_has_to(releases: Mapping[str, Rendered]) -> None:
    """A numeric user who is not the superuser, and the system calls that the runtime lets through."""
    for where, spec in _pods(releases):
        security = spec["securityContext"]
        assert security["runAsNonRoot"] is True, where
        assert security["runAsUser"] >= 100, where
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}, where


def test_no_container_gains_rights_or_writes_where_its_program_is(releases: Mapping[str, Rendered]) -> None:
    for where, spec in _pods(releases):
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            assert container["securityContext"] == CONTAINER, where
            # What is read only has a place to write to.
            assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}, where  # noqa: S108
        assert not spec.get("hostNetwork"), where
        assert not [one for one in spec["volumes"] if "hostPath" in one], where


def test_services_hold_no_token_of_the_cluster(releases: Mapping[str, Rendered]) -> None:
    """Only who asks the cluster something has one; and no pod is told of all the services around it."""
    for where, spec in _pods(releases):
        assert spec["enableServiceLinks"] is False, where
        is_driver = "driver" in where or spec.get("serviceAccountName") == "aviso-spark"
        # Without rights the check asks addresses alone.
        asks = where.endswith(_ASK_THE_CLUSTER) and spec["serviceAccountName"] != "default"
        assert spec.get("automountServiceAccountToken", is_driver) is (is_driver or asks), where


def test_only_the_operator_and_the_hooks_have_one_in_the_release_by_itself(release: Rendered) -> None:
    holders = {
        where
        for where, template in release.pod_templates()
        if template["spec"]["automountServiceAccountToken"]
    }
    assert holders == {
        "Deployment aviso-operator",
        "Job aviso-release-finalizers",
        "Job aviso-startup-check",
        "Pod aviso-test-round-trip",
    }


def test_accounts_give_no_token_by_themselves(releases: Mapping[str, Rendered]) -> None:
    """Except to drivers, whose pods are made by others."""
    for name, release in releases.items():
        for account in release.all("ServiceAccount"):
            is_driver = account["metadata"]["name"] == "aviso-spark"
            assert account.get("automountServiceAccountToken", True) is is_driver, name


def test_passwords_stand_in_secrets_and_nowhere_else(release: Rendered) -> None:
    """The broker's own configuration reads them from its environment."""
    passwords = release.one("Secret", "aviso-nats-auth")["data"]
    assert set(passwords) == {
        f"{user}-password" for user in ("operator", "ingest", "gateway", "schema", "cluster")
    }
    assert len(set(passwords.values())) == len(passwords)
    shown = str([one for one in release.objects if one["kind"] != "Secret"])
    assert not [value for value in passwords.values() if value in shown]
    conf = release.one("ConfigMap", "aviso-nats")["data"]["nats.conf"]
    for line in conf.splitlines():
        _, has, word = line.partition("password: ")
        assert not has or word.startswith("$"), line


def test_tokens_of_jobs_are_made_for_the_service_alone(releases: Mapping[str, Rendered]) -> None:
    """Projected for its audience, for an hour, into a file of driver and executors."""
    for name in ("jobs", "jobs that say nothing"):
        templates = [
            template["spec"]
            for where, template in releases[name].pod_templates()
            if "spark" in str(template["spec"].get("volumes", ())) or "work" in _volumes(template["spec"])
        ]
        assert templates
        for spec in templates:
            (source,) = _volumes(spec)["token"]["projected"]["sources"]
            assert source["serviceAccountToken"]["audience"] == "aviso"
            for container in spec["containers"]:
                assert {"name": "AVISO_TOKEN_FILE", "value": "/run/aviso/token"} in container["env"]
                assert {"name": "token", "mountPath": "/run/aviso", "readOnly": True} in container[
                    "volumeMounts"
                ]


def _volumes(spec: Object) -> dict[str, Any]:
    return {volume["name"]: volume for volume in spec.get("volumes", ())}
