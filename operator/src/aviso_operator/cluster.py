"""The API server, asked by the official client in a few threads of its own: it waits, and nobody here waits with it.

kopf follows the objects; what is asked here is the rest: everything at once now and then, writing a status, telling
people what happened, and what the cluster signs its tokens with.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import urllib3
from kubernetes.client import ApiClient, ApiException, Configuration

from aviso_core.errors import AvisoError, Unavailable
from aviso_operator.login import find_cluster
from aviso_operator.resources import GROUP, PLURAL, VERSION, Resource, read_resource
from aviso_operator.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from aviso_core.registry.base import Owner

_THREADS: Final = 8
_CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 30.0
_MERGE: Final = "application/merge-patch+json"
_PAGE: Final = 500
# One of so many pages may become too old while it is read.
_ATTEMPTS: Final = 3

_PAGE_TOO_OLD: Final = 410
_TOO_MANY: Final = 429


class Outdated(AvisoError):
    """The object has changed since it was seen."""

    code = "OUTDATED"


class Vanished(AvisoError):
    """The object is no more."""

    code = "VANISHED"


class ClusterRefused(AvisoError):
    """The API server understands and refuses: a right is missing, or the resource definition is."""

    code = "CLUSTER_REFUSED"

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Listing(NamedTuple):
    """Everything there was, at one resource version."""

    resources: tuple[Resource, ...]
    resource_version: str
    unreadable: tuple[str, ...] = ()


class _Answer(NamedTuple):
    status: int
    reason: str
    data: bytes


class Cluster:
    """Questions to the API server. Each raises `Unavailable` when there is no answer."""

    def __init__(self, configuration: Configuration, *, answer_seconds: float) -> None:
        self._threads = asyncio.Semaphore(_THREADS)
        self._client = ApiClient(configuration)
        self._patience = (_CONNECT_SECONDS, answer_seconds)
        self.requests = 0
        """How many were asked."""

    async def list_all(self, namespace: str | None) -> Listing:
        """Return all objects of a namespace, or of the cluster."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._read_pages(namespace)
            except ClusterRefused as error:
                if error.status != _PAGE_TOO_OLD:
                    raise
        return await self._read_pages(namespace)

    async def _read_pages(self, namespace: str | None) -> Listing:
        bodies: list[dict[str, Any]] = []
        more = ""
        while True:
            query = [("limit", str(_PAGE)), *([("continue", more)] if more else [])]
            answer = await self._ask("GET", _path(namespace), query=query)
            page = _page(answer)
            bodies += page.items
            more = page.metadata.more
            if not more:
                return _listing(bodies, page.metadata.resource_version)

    async def get(self, namespace: str, name: str) -> Resource:
        """Return an object as it is now, or raise `Vanished`."""
        return _resource(await self._ask("GET", _path(namespace, name)))

    async def find(self, owner: Owner) -> Resource | None:
        """Return an object as it is now, or None where there is none."""
        try:
            return await self.get(owner.namespace, owner.name)
        except Vanished:
            return None

    async def write_status(self, resource: Resource, status: Mapping[str, object]) -> Resource:
        """Write members of a status over an object as it was seen; `Outdated` where it has changed since."""
        body = {"metadata": {"resourceVersion": resource.resource_version}, "status": status}
        return _resource(await self._ask("PATCH", _path(resource.namespace, resource.name, "status"), body))

    async def write_finalizers(self, resource: Resource, finalizers: Sequence[str]) -> None:
        """Write the finalizers of an object as it was seen; `Outdated` where it has changed since."""
        metadata = {"resourceVersion": resource.resource_version, "finalizers": list(finalizers)}
        await self._ask("PATCH", _path(resource.namespace, resource.name), {"metadata": metadata})

    async def tell(self, namespace: str, event: Mapping[str, object]) -> None:
        """Store an event of the cluster, which people see with `kubectl describe`."""
        await self._ask("POST", f"/api/v1/namespaces/{namespace}/events", event)

    async def read(self, path: str) -> bytes:
        """Return the document at a path of the API server."""
        return await self._ask("GET", path)

    async def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        query: Sequence[tuple[str, str]] = (),
    ) -> bytes:
        self.requests += 1
        try:
            async with self._threads:
                status, reason, data = await in_thread(lambda: self._send(method, path, query, body))
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as error:
            raise Unavailable(f"the API server gives no answer: {error}") from error
        if not 200 <= status < 300:
            raise _refusal(status, _message(data) or reason)
        return data

    def _send(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]],
        body: Mapping[str, object] | None,
    ) -> _Answer:
        content = {"Content-Type": _MERGE if method == "PATCH" else "application/json"} if body else {}
        client: Any = self._client
        request = client.param_serialize(
            method,
            path,
            query_params=list(query),
            header_params={"Accept": "*/*", **content},
            body=body,
            auth_settings=["BearerToken"],
        )
        answer = client.call_api(*request, _request_timeout=self._patience)
        return _Answer(answer.status, str(answer.reason or ""), bytes(answer.read()))


class _PageMetadata(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(name="resourceVersion")
    more: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct, frozen=True):
    metadata: _PageMetadata
    items: list[dict[str, Any]]


class _Said(msgspec.Struct, frozen=True):
    message: str = ""


def _path(namespace: str | None, *more: str) -> str:
    within = "" if namespace is None else f"/namespaces/{namespace}"
    return "/".join((f"/apis/{GROUP}/{VERSION}{within}/{PLURAL}", *more))


def _page(data: bytes) -> _Page:
    try:
        return msgspec.json.decode(data, type=_Page)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(error) from error


def _resource(data: bytes) -> Resource:
    try:
        return read_resource(msgspec.json.decode(data, type=dict[str, object]))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> Unavailable:
    """Return what it means that somebody else seems to answer: it may pass, and it may be looked at."""
    return Unavailable(f"what the API server answers cannot be read: {error}")


def _listing(bodies: Sequence[Mapping[str, Any]], version: str) -> Listing:
    resources: list[Resource] = []
    unreadable: list[str] = []
    for body in bodies:
        try:
            resources.append(read_resource(body))
        except (ValueError, TypeError, KeyError) as error:
            unreadable.append(f"{body.get('metadata', {}).get('name')}: {error}")
    return Listing(tuple(resources), version, tuple(unreadable))


def _refusal(status: int, message: str) -> AvisoError:
    match status:
        case 404:
            return Vanished(message)
        case 409:
            return Outdated(message)
        case _ if status == _TOO_MANY or status >= 500:
            return Unavailable(f"the API server cannot answer: {message}")
        case _:
            return ClusterRefused(status, message)


def _message(data: bytes) -> str:
    try:
        return msgspec.json.decode(data, type=_Said).message
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


@asynccontextmanager
async def open_cluster(
    configuration: Configuration | None = None, *, answer_seconds: float = ANSWER_SECONDS
) -> AsyncIterator[Cluster]:
    """Talk to the cluster for as long as the block runs: that of the pod, or that of the kubeconfig."""
    found = configuration or find_cluster(connections=_THREADS)
    yield Cluster(found, answer_seconds=answer_seconds)
