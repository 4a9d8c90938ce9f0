"""Who may do what in the cluster: the operator what its file says, hooks what they do, and nobody else anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from support.chart import NAMESPACE
from support.rights import operator_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.chart import Rendered

EVERYWHERE: Final = "*"
_SCHEMAS: Final = {"apiGroups": ["aviso.dev"], "resources": ["eventschemas"]}
RELEASING: Final = [{**_SCHEMAS, "verbs": ["get", "list", "patch"]}]
TRYING: Final = [{**_SCHEMAS, "verbs": ["create", "get", "delete"]}]
LOOKING: Final = [
    {
        "apiGroups": ["apps"],
        "resources": ["deployments"],
        "resourceNames": [f"aviso-{one}" for one in ("operator", "ingest", "gateway", "schema", "edge")],
        "verbs": ["get"],
    },
    {
        "apiGroups": ["apps"],
        "resources": ["statefulsets"],
        "resourceNames": ["aviso-nats"],
        "verbs": ["get"],
    },
]
DRIVING: Final = [
    {
        "apiGroups": [""],
        "resources": ["pods", "services", "configmaps", "persistentvolumeclaims"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"],
    }
]


class Holder(NamedTuple):
    """An account, and where it has rights."""

    account: str
    of: str
    where: str


def rights(release: Rendered) -> dict[Holder, Any]:
    """Return the rules of everybody who is bound to any."""
    held: dict[Holder, Any] = {}
    for kind in ("Role", "ClusterRole"):
        for binding in release.all(f"{kind}Binding"):
            where = binding["metadata"].get("namespace", EVERYWHERE)
            assert binding["roleRef"]["kind"] == kind
            (role,) = [
                one
                for one in release.all(kind)
                if one["metadata"]["name"] == binding["roleRef"]["name"]
                and one["metadata"].get("namespace", EVERYWHERE) == where
            ]
            for subject in binding["subjects"]:
                assert subject["kind"] == "ServiceAccount"
                holder = Holder(subject["name"], subject["namespace"], where)
                assert holder not in held
                held[holder] = role["rules"]
    return held


def of_release(name: str, where: str) -> Holder:
    return Holder(f"aviso-{name}", NAMESPACE, where)


@pytest.mark.parametrize(
    ("name", "watched"),
    [
        ("nothing given", [NAMESPACE]),
        ("other namespaces", ["forecast", "archive"]),
        ("its own namespace and another", [NAMESPACE, "archive"]),
        ("the whole cluster", [EVERYWHERE]),
    ],
)
def test_nobody_may_more_than_is_written_here(
    releases: Mapping[str, Rendered], name: str, watched: list[str]
) -> None:
    """In the namespaces that the operator watches, and in no other."""
    trial = NAMESPACE if {NAMESPACE, EVERYWHERE} & set(watched) else watched[0]
    assert rights(releases[name]) == {
        **{of_release("operator", where): operator_rules() for where in watched},
        **{of_release("release-finalizers", where): RELEASING for where in watched},
        of_release("test-round-trip", trial): TRYING,
        of_release("startup-check", NAMESPACE): LOOKING,
    }


def test_drivers_may_make_executors_and_executors_nothing(releases: Mapping[str, Rendered]) -> None:
    """Each in its own namespace."""
    held = rights(releases["jobs"])
    drivers = {holder: rules for holder, rules in held.items() if holder.account.startswith("aviso-spark")}
    assert drivers == {
        Holder("aviso-spark", namespace, namespace): DRIVING for namespace in ("jobs", "more-jobs")
    }
    accounts = {
        (one["metadata"]["namespace"], one["metadata"]["name"])
        for one in releases["jobs"].all("ServiceAccount")
    }
    assert {("jobs", "aviso-spark-executor"), ("more-jobs", "aviso-spark-executor")} <= accounts


def test_where_rights_are_given_by_others_the_chart_gives_none(releases: Mapping[str, Rendered]) -> None:
    release = releases["accounts that are there"]
    for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"):
        assert release.all(kind) == []


def test_the_administrator_of_notifications_may_nothing_in_the_cluster(release: Rendered) -> None:
    assert "aviso-admin" in release.names("ServiceAccount")
    assert "aviso-admin" not in {holder.account for holder in rights(release)}


def test_the_roles_of_the_cluster_get_rights_on_event_types(releases: Mapping[str, Rendered]) -> None:
    """Nobody gets to write a status, and who may only view may not change."""
    found = {}
    for role in releases["nothing given"].all("ClusterRole"):
        for label in role["metadata"]["labels"]:
            if label.startswith("rbac.authorization.k8s.io/aggregate-to-"):
                found[label.rpartition("-")[2]] = role["rules"]
    reading = ["get", "list", "watch"]
    writing = ["create", "update", "patch", "delete", "deletecollection"]
    assert found == {
        "view": [
            {
                "apiGroups": ["aviso.dev"],
                "resources": ["eventschemas", "eventschemas/status"],
                "verbs": reading,
            }
        ],
        "edit": [{**_SCHEMAS, "verbs": writing}],
        "admin": [{**_SCHEMAS, "verbs": writing}],
    }
    assert releases["as little as possible"].all("ClusterRole") == []


def test_objects_of_the_cluster_have_names_of_their_release(releases: Mapping[str, Rendered]) -> None:
    """No namespace has a dot: whatever two releases are called, they do not take each other's."""
    for name in ("the whole cluster", "policies of the whole cluster"):
        for kind in ("ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy"):
            assert all(one.startswith(f"{NAMESPACE}.aviso") for one in releases[name].names(kind))
