"""Objects that tests put into an API server: the resource definition, event types, and users with exact rights."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubernetes.client import CoreV1Api, CustomObjectsApi, V1Namespace, V1ObjectMeta
from kubernetes.client.exceptions import ApiException

from aviso_core.schema.manifest_parts import API_VERSION, KIND
from aviso_operator.resources import GROUP, PLURAL, VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from support.apiserver import ApiServer

DEFINITION_FILE: Final = (
    Path(__file__).resolve().parents[2] / "charts" / "aviso" / "files" / "crds" / "eventschemas.yaml"
)

_PATIENCE_SECONDS: Final = 30.0
_BETWEEN_LOOKS_SECONDS: Final = 0.05


def install_definition(server: ApiServer, file: Path = DEFINITION_FILE) -> None:
    """Apply the resource definition and wait until objects of it are served."""
    ran = server.kubectl("apply", "--server-side", f"--filename={file}")
    assert ran.returncode == 0, ran.stderr
    objects = CustomObjectsApi(server.client())
    give_up = time.monotonic() + _PATIENCE_SECONDS
    looks = threading.Event()
    # Between the definition and what it defines the server has work to do, and tells nobody when it is done.
    while not _is_served(objects):
        assert time.monotonic() < give_up, "objects of the definition are not served"
        looks.wait(_BETWEEN_LOOKS_SECONDS)


def _is_served(objects: CustomObjectsApi) -> bool:
    try:
        objects.list_cluster_custom_object(GROUP, VERSION, PLURAL)
    except ApiException as refusal:
        if refusal.status != 404:
            raise
        return False
    return True


def make_namespace(server: ApiServer, name: str) -> str:
    """Make a namespace and return its name."""
    CoreV1Api(server.client()).create_namespace(V1Namespace(metadata=V1ObjectMeta(name=name)))
    return name


class EventSchemas:
    """The event types of one namespace, as the owner of a token sees them."""

    def __init__(self, server: ApiServer, namespace: str, *, token: str | None = None) -> None:
        self.namespace = namespace
        self._objects = CustomObjectsApi(server.client(token))
        self._place = (GROUP, VERSION, namespace, PLURAL)

    def create(self, name: str, spec: Mapping[str, object], *, dry_run: bool = False) -> dict[str, Any]:
        """Create one and return it as it is stored; unknown members are refused."""
        created = self._objects.create_namespaced_custom_object(
            *self._place, document(name, spec), field_validation="Strict", dry_run="All" if dry_run else None
        )
        return _mapping(created)

    def replace(self, body: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        """Replace one by a whole document."""
        replaced = self._objects.replace_namespaced_custom_object(
            *self._place,
            body["metadata"]["name"],
            body,
            field_validation="Strict",
            dry_run="All" if dry_run else None,
        )
        return _mapping(replaced)

    def patch(self, name: str, change: dict[str, Any]) -> dict[str, Any]:
        """Change members of one; a member that is None goes."""
        return _mapping(self._objects.patch_namespaced_custom_object(*self._place, name, change))

    def patch_status(self, name: str, status: Mapping[str, object]) -> dict[str, Any]:
        """Change members of the status of one."""
        patched = self._objects.patch_namespaced_custom_object_status(*self._place, name, {"status": status})
        return _mapping(patched)

    def get(self, name: str) -> dict[str, Any]:
        """Return one as it is stored."""
        return _mapping(self._objects.get_namespaced_custom_object(*self._place, name))

    def select(self, field_selector: str | None = None) -> list[dict[str, Any]]:
        """Return those whose members have the values that are asked for, or all."""
        listed = self._objects.list_namespaced_custom_object(*self._place, field_selector=field_selector)
        return [_mapping(item) for item in _mapping(listed)["items"]]

    def delete(self, name: str) -> None:
        """Delete one."""
        self._objects.delete_namespaced_custom_object(*self._place, name)


def document(name: str, spec: Mapping[str, object]) -> dict[str, Any]:
    """Return the manifest of an event type."""
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def refusal_of(refused: ApiException) -> dict[str, str]:
    """Return path → message of everything that the API server found wrong."""
    causes = json.loads(refused.body or "{}").get("details", {}).get("causes", [])
    return {cause["field"]: cause["message"] for cause in causes}


def service_account(
    server: ApiServer,
    namespace: str,
    name: str,
    *,
    rules: Sequence[Mapping[str, object]] = (),
    cluster_rules: Sequence[Mapping[str, object]] = (),
    audiences: Sequence[str] = (),
) -> str:
    """Make a user who may do exactly this, in the namespace or everywhere, and return a token of theirs."""
    metadata = {"name": name, "namespace": namespace}
    subject = {"kind": "ServiceAccount", **metadata}
    everywhere = {"name": f"{namespace}-{name}"}
    items: list[dict[str, object]] = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}]
    if rules:
        items += _rights("Role", metadata, rules, subject)
    if cluster_rules:
        items += _rights("ClusterRole", everywhere, cluster_rules, subject)
    ran = server.kubectl("apply", "--filename=-", given={"apiVersion": "v1", "kind": "List", "items": items})
    assert ran.returncode == 0, ran.stderr
    wanted = [f"--audience={audience}" for audience in audiences]
    ran = server.kubectl("create", "token", name, f"--namespace={namespace}", *wanted)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def _rights(
    kind: str,
    metadata: Mapping[str, str],
    rules: Sequence[Mapping[str, object]],
    subject: Mapping[str, str],
) -> list[dict[str, object]]:
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": kind, "name": metadata["name"]}
    of_role = {"apiVersion": f"{group}/v1", "metadata": metadata}
    return [
        {**of_role, "kind": kind, "rules": list(rules)},
        {**of_role, "kind": f"{kind}Binding", "roleRef": role, "subjects": [subject]},
    ]


def _mapping(value: object) -> dict[str, Any]:
    assert isinstance(value, dict)
    return value
