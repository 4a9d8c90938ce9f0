"""Objects in the cluster, asked for by path, as the operator asks; every call waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import urllib3
from kubernetes.client import ApiClient, ApiException, Configuration

from aviso_core.errors import Unavailable
from aviso_operator.cluster import ClusterRefused
from aviso_operator.resources import GROUP, PLURAL, VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

_PATIENCE_SECONDS = (5.0, 30.0)
_NOT_FOUND = 404


class ApiServer:
    """The API server of the cluster."""

    def __init__(self, cluster: Configuration) -> None:
        self._client: Any = ApiClient(cluster)

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any] | None:
        """Return the answer, or None where there is nothing; `Unavailable` where there is no answer."""
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        request = self._client.param_serialize(
            method, path, header_params=headers, body=body, auth_settings=["BearerToken"]
        )
        try:
            answer = self._client.call_api(*request, _request_timeout=_PATIENCE_SECONDS)
            data = bytes(answer.read())
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as error:
            raise Unavailable(f"the API server gives no answer: {error}") from error
        if answer.status == _NOT_FOUND and body is None:
            return None
        if not 200 <= answer.status < 300:
            raise ClusterRefused(answer.status, f"{method} {path}: {data.decode(errors='replace')}")
        return msgspec.json.decode(data, type=dict[str, Any])


class OneObject:
    """The object of a name, there or not."""

    def __init__(self, cluster: Configuration, namespace: str, name: str) -> None:
        self._server = ApiServer(cluster)
        self._all = f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"
        self._one = f"{self._all}/{name}"

    def create(self, document: Mapping[str, object]) -> None:
        """Make it; what the cluster does not know of it is refused."""
        self._server.ask("POST", f"{self._all}?fieldValidation=Strict", document)

    def get(self) -> dict[str, Any] | None:
        """Return it as it is now, or None where it is not there."""
        return self._server.ask("GET", self._one)

    def delete(self) -> None:
        """Have it removed, which may take the operator a moment."""
        self._server.ask("DELETE", self._one)
